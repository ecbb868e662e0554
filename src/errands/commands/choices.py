"""Options whose choices follow from a registry, read when a command line is parsed."""

from collections.abc import Mapping
from typing import Annotated

import tyro
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from errands.worlds.kinds import KINDS
from errands.worlds.spec import WORLDS

REGISTRY = ConstructorRegistry()


class WorldName(str):
    """The name of a world that ships with the package."""


DEFAULT_WORLD = WorldName(next(iter(WORLDS)))
_WORLDS_SEEN = "; ".join(f"{name}, {KINDS[spec.kind].sight}" for name, spec in WORLDS.items())
WorldOption = Annotated[WorldName, tyro.conf.arg(help=f"Which world: {_WORLDS_SEEN}.")]


def _one_of(name: type[str], choices: Mapping[str, object]) -> None:
    """Let an option of type `name` take the keys of a registry."""

    @REGISTRY.primitive_rule
    def rule(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[str] | None:
        if info.type is not name:
            return None
        return PrimitiveConstructorSpec(
            nargs=1,
            metavar=f"{{{','.join(choices)}}}",
            instance_from_str=lambda given: name(given[0]),
            is_instance=lambda given: isinstance(given, str),
            str_from_instance=lambda given: [given],
            choices=tuple(choices),
        )


_one_of(WorldName, WORLDS)
