"""The kinds of world: how an agent acts and what it sees, one record each.

A world (`spec.WORLDS`) names its kind. Nothing here loads Numba: `mechanics` brings the compiled
functions when worlds are made. A new kind is a record in `KINDS`, and a module with three kernels:
`act`, `observe` and `plan`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING

from errands.worlds.actions import BlockAction, GridAction

if TYPE_CHECKING:
    from errands.worlds.mechanics import Mechanics

VIEW_SIZE = 64  # pixels a side of the block world's view [C]


@dataclass(frozen=True)
class Kind:
    """Everything that differs between kinds of world, for agents, kernels and people."""

    sight: str  # how the world is seen, in help texts
    actions: type[IntEnum]
    idle: IntEnum  # the action without effect
    eyes: str  # which of an agent's eyes read the observations
    image_shape: Callable[[int, int], tuple[int, ...]]  # of one observation: kinds of object, cells
    brightest: int  # the largest number in an observation
    first_person: bool  # the agent has a heading, and a view that is shown beside the map
    art: str  # pixel art for worlds without their own
    keys: Mapping[str, str]  # names of actions by key; "p up" is p, then up
    buttons: Mapping[str, str]  # labels, on the page, of the keys that come first
    help: str  # the keys explained in one line
    load_mechanics: Callable[[], "Mechanics"]

    @cached_property
    def mechanics(self) -> "Mechanics":
        return self.load_mechanics()

    def action_name(self, action: int) -> str:
        """Such as "pick up north"."""
        return self.actions(action).name.lower().replace("_", " ")


def planes_shape(objects: int, cells: int) -> tuple[int, ...]:
    """A plane for the agent, one for walls, one for water, and one for each kind of object."""
    return 3 + objects, cells, cells


def view_shape(objects: int, cells: int) -> tuple[int, ...]:
    """The pixels of a picture."""
    return VIEW_SIZE, VIEW_SIZE, 3


def grid_mechanics() -> "Mechanics":
    from errands.worlds import grid
    from errands.worlds.mechanics import Mechanics

    return Mechanics(grid.act, grid.observe, grid.plan, few=32)


def block_mechanics() -> "Mechanics":
    from errands.worlds import block
    from errands.worlds.mechanics import Mechanics
    from errands.worlds.seeker import Seekers

    kernels = block.act, block.observe, block.plan
    return Mechanics(*kernels, tables=block.view_tables, teacher=Seekers)


_WAYS = {"up": "north", "down": "south", "left": "west", "right": "east"}
_DEEDS = {"p": "pick up", "t": "transform"}

_GRID = Kind(
    sight="seen from above",
    actions=GridAction,
    idle=GridAction.NO_OP,
    eyes="grid",
    image_shape=planes_shape,
    brightest=1,
    first_person=False,
    art="grid",
    keys={
        **{key: f"move {way}" for key, way in _WAYS.items()},
        **{
            f"{first} {key}": f"{deed} {way}"
            for first, deed in _DEEDS.items()
            for key, way in _WAYS.items()
        },
        "space": "no op",
    },
    buttons={
        **{"up": "↑", "down": "↓", "left": "←", "right": "→"},
        **{"p": "Pick up", "t": "Transform", "space": "Wait"},
    },
    help="arrows or wasd move, p or t and an arrow pick up or transform, space waits, q quits",
    load_mechanics=grid_mechanics,
)

_BLOCK = Kind(
    sight="seen in first person",
    actions=BlockAction,
    idle=BlockAction.NO_OP,
    eyes="block",
    image_shape=view_shape,
    brightest=255,
    first_person=True,
    art="block",
    keys={
        "up": "move forward",
        "down": "move backward",
        "left": "look left",
        "right": "look right",
        "u": "look up",
        "j": "look down",
        **_DEEDS,
        "space": "no op",
    },
    buttons={
        **{"up": "Forward", "left": "↶ Left", "right": "Right ↷", "down": "Back"},
        **{"u": "Look up", "j": "Look down"},
        **{"p": "Pick up", "t": "Transform", "space": "Wait"},
    },
    help="arrows move and turn, u j look up and down, p picks up, t transforms, space, q quits",
    load_mechanics=block_mechanics,
)

KINDS: Mapping[str, Kind] = {"grid": _GRID, "block": _BLOCK}
