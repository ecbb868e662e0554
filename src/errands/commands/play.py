"""`errands play`: a person executes the instructions, with the keyboard."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from errands.commands.keys import Keyboard
from errands.commands.problem import check_instructions, check_range, check_seed
from errands.language.instruction import MAX_INSTRUCTIONS
from errands.language.splits import vocabulary_of
from errands.seeds import TEST_SEEDS

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live

    from errands.worlds.vector import Worlds

_WAYS = {"up": "north", "down": "south", "left": "west", "right": "east"}
_ARROWS = {"w": "up", "s": "down", "a": "left", "d": "right"}
_DEEDS = {"p": "pick up", "t": "transform"}
_BLOCK_KEYS = {
    "up": "move forward",
    "down": "move backward",
    "left": "look left",
    "right": "look right",
    "u": "look up",
    "j": "look down",
    "p": "pick up",
    "t": "transform",
    "space": "no op",
}
HELP = {
    "grid": "arrows or wasd move, p or t and an arrow pick up or transform, space waits, q quits",
    "block": "arrows move and turn, u j look up and down, p picks up, t transforms, space, q quits",
}


@dataclass(frozen=True)
class Play:
    """Execute a list of instructions yourself, in the terminal.

    On the grid: arrows or wasd move; p or t, then a direction, picks up or transforms what is
    there. In the block world: up and down move, left and right turn, u and j look up and down, p
    and t act on what is in front of you. Space waits, q quits, and after an episode n starts
    another.

    examples
      errands play
      errands play --world block --instructions "visit cat, pick up 2 pigs"
      errands play --split unseen --length 8 --seed 5
    """

    world: Literal["grid", "block"] = "grid"
    """The grid, seen from above, or the block world, seen in first person."""
    instructions: Annotated[str | None, tyro.conf.arg(help_behavior_hint="(default: drawn)")] = None
    """What to do, such as "visit pig, then pick up all eggs"."""
    split: Literal["train", "seen", "unseen", "validation"] = "train"
    """The split that instructions are sampled from, if none are given."""
    length: int = 4
    """Number of sampled instructions."""
    seed: int = 0
    """Number of the first test world."""

    def execute(self) -> int:
        if self.instructions is not None:
            check_instructions(self.instructions, vocabulary_of(self.world))
        check_range("--length", self.length, 1, MAX_INSTRUCTIONS)
        check_seed(self.seed)
        keyboard = Keyboard()
        from rich.console import Console
        from rich.live import Live

        from errands.commands.screen import compiling_notice
        from errands.worlds.gym import instruction_worlds

        with compiling_notice():
            worlds = instruction_worlds(
                self.world,
                1,
                split=self.split,
                length=self.length,
                instructions=self.instructions,
            )
            worlds.seed(TEST_SEEDS + self.seed)
            worlds.reset()
        console = Console()
        with keyboard, Live(console=console, screen=True, auto_refresh=False) as live:
            last = _Game(worlds, console, live, keyboard).play()
        print(last)
        return 0


def choose(world: str, key: str, deed: str) -> tuple[str, str]:
    """The name of the action that a key asks for, and the deed that still needs a direction."""
    key = _ARROWS.get(key, key)
    if world == "block":
        return _BLOCK_KEYS.get(key, ""), ""
    if key in _WAYS:
        return f"{deed or 'move'} {_WAYS[key]}", ""
    if key in _DEEDS:
        return "", _DEEDS[key]
    return ("no op" if key == "space" else ""), ""


class _Game:
    """Episodes one after another until the player quits."""

    def __init__(
        self, worlds: "Worlds", console: "Console", live: "Live", keyboard: Keyboard
    ) -> None:
        from errands.evaluation.episodes import action_name

        self._worlds = worlds
        self._console = console
        self._live = live
        self._keyboard = keyboard
        self._actions = {action_name(worlds, k): k for k in range(worlds.actions)}
        self._begin()

    def _begin(self) -> None:
        self._reward = 0.0
        self._message = ""

    def play(self) -> str:
        """Returns the state of the last episode, as text."""
        deed = ""
        while True:
            self._draw(deed)
            key = self._keyboard.read()
            if key == "q":
                return self._standing()
            if self._worlds.status[0]:
                if key == "n":
                    self._worlds.reset()
                    self._begin()
                continue
            name, deed = choose(self._worlds.spec.kind, key, deed)
            if name:
                self._act(name)

    def _act(self, name: str) -> None:
        import numpy as np

        self._worlds.step(np.array([self._actions[name]], np.int64))
        self._reward += float(self._worlds.rewards[0])
        self._message = name

    def _draw(self, deed: str) -> None:
        from errands.commands.screen import scene

        ended = bool(self._worlds.status[0])
        prompt = f"{deed}: which way?" if deed else self._message
        notes = [f"{self._standing()}   {prompt}", HELP[self._worlds.spec.kind]]
        if ended:
            notes[1] = "n starts another episode   q quits"
        self._live.update(scene(self._worlds, self._console, notes), refresh=True)

    def _standing(self) -> str:
        world = self._worlds.privileged[0]
        outcome = "all done" if self._worlds.done[0] else ""
        if self._worlds.cut_off[0]:
            outcome = "out of steps"
        count = f"{world['progress']} of {world['length']} instructions"
        steps = f"step {world['steps']} of {world['step_limit']}"
        standing = f"{count}   {steps}   reward {self._reward:.2f}"
        return f"{outcome}: {standing}" if outcome else standing
