"""The grid world: seen from above as binary planes, acted on in four directions."""

from enum import IntEnum

import numba
import numpy as np
from numpy.typing import NDArray

from errands.language.vocabulary import PICK_UP, TRANSFORM
from errands.worlds.events import COLUMN_STEPS, ROW_STEPS
from errands.worlds.kernel import kernel
from errands.worlds.layout import Pool, begin_world
from errands.worlds.record import Records
from errands.worlds.spec import MAP_SIZE, Rules
from errands.worlds.state import World
from errands.worlds.step import RUNNING, act_on, are_within, forget_deed, is_over, live_on, move_to

# Up to so many worlds are stepped on one core: to wake the second takes as long as they do.
FEW = 32
AGENT_PLANE = 0  # the planes are the tile codes, with the agent in the place of EMPTY


class GridAction(IntEnum):
    """Paper, appendix C: no-operation, and three things to do in each direction."""

    NO_OP = 0
    MOVE_NORTH = 1
    MOVE_SOUTH = 2
    MOVE_WEST = 3
    MOVE_EAST = 4
    PICK_UP_NORTH = 5
    PICK_UP_SOUTH = 6
    PICK_UP_WEST = 7
    PICK_UP_EAST = 8
    TRANSFORM_NORTH = 9
    TRANSFORM_SOUTH = 10
    TRANSFORM_WEST = 11
    TRANSFORM_EAST = 12


MOVE, PICK, CHANGE = (  # first action of each kind, as plain integers for the kernels
    int(GridAction.MOVE_NORTH),
    int(GridAction.PICK_UP_NORTH),
    int(GridAction.TRANSFORM_NORTH),
)
ACTIONS = len(GridAction)


def planes(objects: int) -> int:
    """Planes of an observation: agent, block, water, and one for each kind of object."""
    return 3 + objects


@kernel()
def act(world: World, action: int, rules: Rules) -> None:
    """The agent's own part of a step."""
    forget_deed(world)
    if action < MOVE:
        return
    direction = (action - MOVE) % 4
    row = world.row + ROW_STEPS[direction]
    column = world.column + COLUMN_STEPS[direction]
    if action < PICK:
        move_to(world, row, column)
    else:
        act_on(world, row, column, PICK_UP if action < CHANGE else TRANSFORM, rules)


@kernel()
def observe(world: World, out: NDArray[np.uint8]) -> None:
    """Write the planes of what is where."""
    out[:] = 0
    for row in range(MAP_SIZE):
        for column in range(MAP_SIZE):
            # Written without a branch: an empty cell writes to the agent's plane, cleared below.
            out[world.tiles[row, column], row, column] = 1
    out[AGENT_PLANE] = 0
    out[AGENT_PLANE, world.row, world.column] = 1


@kernel(parallel=True)
def begin_all(
    chosen: NDArray[np.int64],
    returns: NDArray[np.float64],
    worlds: Records,
    goals: NDArray[np.int16],
    rules: Records,
    ranges: Records,
    tasks: Records,
    pool: Pool,
    tokens: NDArray[np.int64],
    mask: NDArray[np.bool_],
    images: NDArray[np.uint8],
) -> None:
    """Begin new episodes in the chosen worlds and observe them."""
    for k in numba.prange(chosen.size):
        i = chosen[k]
        returns[i] = 0.0
        begin_world(worlds[i], goals[i], rules[0], ranges[0], tasks[0], pool, tokens[i], mask[i])
        observe(worlds[i], images[i])


def _step(
    actions: NDArray[np.int64],
    renew: bool,
    rewards: NDArray[np.float32],
    status: NDArray[np.uint8],
    returns: NDArray[np.float64],
    worlds: Records,
    goals: NDArray[np.int16],
    rules: Records,
    ranges: Records,
    tasks: Records,
    pool: Pool,
    tokens: NDArray[np.int64],
    mask: NDArray[np.bool_],
    images: NDArray[np.uint8],
) -> bool:
    """Take every world through its actions (steps, worlds), and observe it after each.

    With `renew`, where an episode has ended, the next step begins another. An action that there is
    not leaves all worlds as they are, and the answer is false.
    """
    if not are_within(actions, ACTIONS):
        return False
    for i in numba.prange(actions.shape[1]):
        for t in range(actions.shape[0]):
            if renew and is_over(worlds[i]):
                begin_world(
                    worlds[i], goals[i], rules[0], ranges[0], tasks[0], pool, tokens[i], mask[i]
                )
                rewards[t, i], status[t, i], returns[i] = 0.0, RUNNING, 0.0
            else:
                if not is_over(worlds[i]):
                    act(worlds[i], actions[t, i], rules[0])
                rewards[t, i], status[t, i] = live_on(worlds[i], goals[i], rules[0], ranges[0])
                returns[i] += rewards[t, i]
            observe(worlds[i], images[i])
    return True


step_many, step_few = kernel(parallel=True)(_step), kernel()(_step)
