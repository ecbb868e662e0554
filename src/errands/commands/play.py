"""`errands play`: a person executes the instructions, with the keyboard."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from errands.commands.choices import DEFAULT_WORLD, WorldOption
from errands.commands.keys import Keyboard
from errands.commands.problem import check_instructions, check_range, check_seed
from errands.language.instruction import MAX_INSTRUCTIONS
from errands.seeds import TEST_SEEDS
from errands.worlds.kinds import Kind
from errands.worlds.spec import WORLDS

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live

    from errands.worlds.vector import Worlds

_ARROWS = {"w": "up", "s": "down", "a": "left", "d": "right"}


@dataclass(frozen=True)
class PlayWithKeys:
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

    world: WorldOption = DEFAULT_WORLD
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
            check_instructions(self.instructions, WORLDS[self.world].vocabulary)
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


def choose(kind: Kind, key: str, before: str) -> tuple[str, str]:
    """The name of the action that a key asks for, or else the key if it waits for a second one.

    `before` is the key that waits for this one.
    """
    key = _ARROWS.get(key, key)
    for keys in (f"{before} {key}", key):
        if keys in kind.keys:
            return kind.keys[keys], ""
    return "", key if any(keys.startswith(f"{key} ") for keys in kind.keys) else ""


class _Game:
    """Episodes one after another until the player quits."""

    def __init__(
        self, worlds: "Worlds", console: "Console", live: "Live", keyboard: Keyboard
    ) -> None:
        self._worlds = worlds
        self._console = console
        self._live = live
        self._keyboard = keyboard
        self._actions = {worlds.kind.action_name(k): k for k in range(worlds.actions)}
        self._begin()

    def _begin(self) -> None:
        self._reward = 0.0
        self._message = ""

    def play(self) -> str:
        """Returns the state of the last episode, as text."""
        first = ""  # a key that waits for a second one
        while True:
            self._draw(first)
            key = self._keyboard.read()
            if key == "q":
                return self._standing()
            if self._worlds.status[0]:
                if key == "n":
                    self._worlds.reset()
                    self._begin()
                continue
            name, first = choose(self._worlds.kind, key, first)
            if name:
                self._act(name)

    def _act(self, name: str) -> None:
        import numpy as np

        self._worlds.step(np.array([self._actions[name]], np.int64))
        self._reward += float(self._worlds.rewards[0])
        self._message = name

    def _draw(self, first: str) -> None:
        from errands.commands.screen import scene

        ended = bool(self._worlds.status[0])
        kind = self._worlds.kind
        prompt = f"{kind.buttons[first].lower()}: which way?" if first else self._message
        notes = [f"{self._standing()}   {prompt}", kind.help]
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
