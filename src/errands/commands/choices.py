"""Options whose choices follow from a registry, read when a command line is parsed."""

from collections.abc import Callable, Iterable
from typing import Annotated

import tyro
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from errands.agents.registry import FAVOURITE, designs
from errands.worlds.kinds import KINDS
from errands.worlds.spec import WORLDS

REGISTRY = ConstructorRegistry()


class WorldName(str):
    """The name of a world that ships with the package."""


DEFAULT_WORLD = WorldName(next(iter(WORLDS)))
_WORLDS_SEEN = "; ".join(f"{name}, {KINDS[spec.kind].sight}" for name, spec in WORLDS.items())
WorldOption = Annotated[WorldName, tyro.conf.arg(help=f"Which world: {_WORLDS_SEEN}.")]


def eyes_of(world: str) -> str:
    """Which eyes an agent needs there: "grid" or "block"."""
    return KINDS[WORLDS[world].kind].eyes


class AgentName(str):
    """The name of an agent that can be trained."""


DEFAULT_AGENT = AgentName(FAVOURITE)
_DECIDES = "; ".join(f"{name} {design.decides}" for name, design in designs().items())
AgentOption = Annotated[AgentName, tyro.conf.arg(help=f"Which agent. They decide: {_DECIDES}.")]


def _one_of(name: type[str], read: Callable[[], Iterable[str]]) -> None:
    """Let an option of type `name` take the names in a registry."""

    @REGISTRY.primitive_rule
    def rule(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[str] | None:
        if info.type is not name:
            return None
        choices = tuple(read())
        return PrimitiveConstructorSpec(
            nargs=1,
            metavar=f"{{{','.join(choices)}}}",
            instance_from_str=lambda given: name(given[0]),
            is_instance=lambda given: isinstance(given, str),
            str_from_instance=lambda given: [given],
            choices=choices,
        )


_one_of(WorldName, lambda: WORLDS)
_one_of(AgentName, designs)
