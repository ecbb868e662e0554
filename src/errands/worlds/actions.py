"""What an agent can do in each kind of world."""

from enum import IntEnum


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
