"""The block world: seen through the agent's own eyes, acted on straight ahead."""

from enum import IntEnum

import numba
import numpy as np
from numpy.typing import NDArray

from errands.language.vocabulary import PICK_UP, TRANSFORM
from errands.worlds.kernel import kernel
from errands.worlds.layout import Pool, begin_world
from errands.worlds.raycast import RayTables, render_view
from errands.worlds.record import Records
from errands.worlds.spec import Rules
from errands.worlds.state import World
from errands.worlds.step import RUNNING, act_on, are_within, forget_deed, is_over, live_on, move_to

# North, east, south, west: the order of headings, clockwise.
AHEAD_ROW = np.array([-1, 0, 1, 0])
AHEAD_COLUMN = np.array([0, 1, 0, -1])


class BlockAction(IntEnum):
    """Paper, section 3.3. Looking up or down changes only what is seen."""

    LOOK_LEFT = 0
    LOOK_RIGHT = 1
    LOOK_UP = 2
    LOOK_DOWN = 3
    MOVE_FORWARD = 4
    MOVE_BACKWARD = 5
    PICK_UP = 6
    TRANSFORM = 7
    NO_OP = 8


LEFT, RIGHT, UP, DOWN, FORWARD, BACKWARD, PICK, CHANGE, _NO_OP = map(int, BlockAction)
ACTIONS = len(BlockAction)
LOWEST, HIGHEST = -1, 1  # pitch of the gaze


@kernel()
def act(world: World, action: int, rules: Rules) -> None:
    """The agent's own part of a step."""
    forget_deed(world)
    heading = world.heading
    if action == LEFT:
        world.heading = (heading + 3) % 4
    elif action == RIGHT:
        world.heading = (heading + 1) % 4
    elif action == UP:
        world.pitch = min(world.pitch + 1, HIGHEST)
    elif action == DOWN:
        world.pitch = max(world.pitch - 1, LOWEST)
    row, column = world.row, world.column
    ahead_row, ahead_column = row + AHEAD_ROW[heading], column + AHEAD_COLUMN[heading]
    if action == FORWARD:
        move_to(world, ahead_row, ahead_column)
    elif action == BACKWARD:
        move_to(world, row - AHEAD_ROW[heading], column - AHEAD_COLUMN[heading])
    elif action == PICK:
        act_on(world, ahead_row, ahead_column, PICK_UP, rules)
    elif action == CHANGE:
        act_on(world, ahead_row, ahead_column, TRANSFORM, rules)


@kernel()
def observe(
    world: World, tables: RayTables, atlas: NDArray[np.uint8], out: NDArray[np.uint8]
) -> None:
    """Render what the agent sees."""
    render_view(
        world.tiles,
        world.row,
        world.column,
        world.heading,
        world.pitch,
        tables,
        atlas,
        out,
    )


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
    tables: RayTables,
    atlas: NDArray[np.uint8],
    tokens: NDArray[np.int64],
    mask: NDArray[np.bool_],
    images: NDArray[np.uint8],
) -> None:
    """Begin new episodes in the chosen worlds and render them."""
    for k in numba.prange(chosen.size):
        i = chosen[k]
        returns[i] = 0.0
        begin_world(worlds[i], goals[i], rules[0], ranges[0], tasks[0], pool, tokens[i], mask[i])
        observe(worlds[i], tables, atlas, images[i])


@kernel(parallel=True)
def step_all(
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
    tables: RayTables,
    atlas: NDArray[np.uint8],
    tokens: NDArray[np.int64],
    mask: NDArray[np.bool_],
    images: NDArray[np.uint8],
) -> bool:
    """Take every world through its actions (steps, worlds), and render it after each.

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
            observe(worlds[i], tables, atlas, images[i])
    return True
