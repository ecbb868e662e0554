"""`errands run`: an agent carries out the instructions you type."""

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from errands.commands.files import STANDARD_OUTPUT, check_writable, write_json
from errands.commands.problem import (
    MOST_STEPS,
    Problem,
    check_instructions,
    check_range,
    check_seed,
)
from errands.language.splits import vocabulary_of
from errands.seeds import TEST_SEEDS

if TYPE_CHECKING:
    from errands.evaluation.episodes import Policy, Step
    from errands.worlds.vector import Worlds

MOST_FRAMES = 1000  # a longer film is thinned out: every second frame, every fourth, ...


@dataclass(frozen=True)
class Run:
    """Watch an agent carry out a list of instructions.

    Instructions are verbs (visit, pick up, transform, interact with), counts and objects, separated
    by commas, semicolons, lines or "then". In a terminal the world is shown live; elsewhere one
    line is printed for every instruction that was done. The exit code is 0 if all were done, 1 if
    not, 2 if something in the command was wrong.

    examples
      errands run "pick up the pig, visit the box, transform all cows"
      errands run "pick up 2 sheep then visit cat" --world block --gif errand.gif
      errands run "visit duck" --agent shortest-path --seed 3 --json -
    """

    instructions: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="INSTRUCTIONS")]
    """What to do, such as "visit pig, then pick up all eggs"."""
    world: Literal["grid", "block"] = "grid"
    """The grid, seen from above, or the block world, seen through the agent's eyes."""
    agent: Annotated[str, tyro.conf.arg(metavar="NAME")] = "near-optimal"
    """Who acts: near-optimal or shortest-path, planners that see the whole state."""
    seed: int = 0
    """Which world of the test worlds; the same seed gives the same episode."""
    length_limit: Annotated[
        int | None,
        tyro.conf.arg(metavar="STEPS", help_behavior_hint="(default: the paper's for such lists)"),
    ] = None
    """Most steps before giving up."""
    forgiving: bool = False
    """Put a target back whenever there is none left."""
    gif: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """Write the episode as an animated picture."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """Write the episode step by step; "-" prints it, and nothing else, to standard output."""
    fps: float = 8.0
    """Steps a second, in the terminal and in the GIF."""
    quiet: bool = False
    """Show and print nothing: only the exit code and the files tell."""

    def execute(self) -> int:
        self._check()
        from errands.commands.screen import compiling_notice
        from errands.evaluation.episodes import agent_named

        try:
            make_policy = agent_named(self.agent)
        except ValueError as error:
            raise Problem(str(error)) from None
        with compiling_notice():
            worlds = self._worlds()
            policy = make_policy(worlds)
            worlds.step(policy.act(worlds))  # a rehearsal, so that nothing compiles on stage
        worlds = self._worlds()
        return 0 if self._perform(worlds, make_policy(worlds)) else 1

    def _check(self) -> None:
        check_instructions(self.instructions, vocabulary_of(self.world))
        check_seed(self.seed)
        check_range("--fps", self.fps, 0.1, 60)
        if self.length_limit is not None:
            check_range("--length-limit", self.length_limit, 1, MOST_STEPS)
        check_writable("--gif", self.gif)
        check_writable("--json", self.json)

    def _worlds(self) -> "Worlds":
        from errands.worlds.gym import instruction_worlds

        worlds = instruction_worlds(
            self.world,
            1,
            instructions=self.instructions,
            forgiving=self.forgiving,
            step_limit=self.length_limit,
        )
        worlds.seed(TEST_SEEDS + self.seed)
        worlds.reset()
        return worlds

    def _perform(self, worlds: "Worlds", policy: "Policy") -> bool:
        """Run the episode and write the files; true if the whole list was done."""
        from rich.console import Console
        from rich.live import Live

        from errands.commands.screen import scene
        from errands.evaluation.episodes import watch_episode
        from errands.evaluation.film import EpisodeFilm
        from errands.worlds.film import save_gif

        console = Console()
        silent = self.quiet or self.json == STANDARD_OUTPUT
        film = EpisodeFilm(worlds, MOST_FRAMES) if self.gif else None
        steps: list[Step] = []
        if console.is_terminal and not silent:
            with Live(console=console, auto_refresh=False) as live:
                live.update(scene(worlds, console, [_status(steps)]), refresh=True)
                for step in watch_episode(worlds, policy):
                    steps.append(step)
                    time.sleep(1 / self.fps)
                    live.update(scene(worlds, console, [_status(steps)]), refresh=True)
                    if film:
                        film.add()
        else:
            for step in watch_episode(worlds, policy):
                steps.append(step)
                if film:
                    film.add()
        success = bool(worlds.done[0])
        if not silent:
            print(self._summary(worlds, steps, terminal=console.is_terminal))
        if film and self.gif:
            save_gif(film.frames, self.gif, self.fps)
            if not silent:
                print(f"wrote {self.gif}")
        if self.json:
            write_json(self.json, self._record(worlds, steps))
            if not silent:
                print(f"wrote {self.json}")
        return success

    def _summary(self, worlds: "Worlds", steps: "list[Step]", *, terminal: bool) -> str:
        """The outcome; where nothing was shown live, also when each instruction was done."""
        from errands.worlds.gym import listed

        instructions = listed(worlds)
        words = [instruction.words(worlds.spec.vocabulary) for instruction in instructions]
        lines = []
        done = 0
        for step in steps:
            if step.progress > done and not terminal:
                lines.append(f"step {step.step}: {words[done]}")
            done = step.progress
        outcome = "done" if done == len(words) else "gave up"
        reward = sum(step.reward for step in steps)
        count = f"{done} of {len(words)} instructions"
        lines.append(f"{outcome}: {count} in {len(steps)} steps, reward {reward:.2f}")
        return "\n".join(lines)

    def _record(self, worlds: "Worlds", steps: "list[Step]") -> dict[str, Any]:
        from errands.evaluation.episodes import origin
        from errands.worlds.gym import listed

        words = [instruction.words(worlds.spec.vocabulary) for instruction in listed(worlds)]
        return {
            "world": self.world,
            "agent": self.agent,
            "seed": self.seed,
            "forgiving": self.forgiving,
            "step_limit": worlds.tasks.step_limit,
            "instructions": words,
            "success": bool(worlds.done[0]),
            "reward": round(sum(step.reward for step in steps), 6),
            "steps": len(steps),
            "completed": steps[-1].progress,
            "trace": [asdict(step) for step in steps],
            **origin(),
        }


def _status(steps: "list[Step]") -> str:
    if not steps:
        return "step 0"
    reward = sum(step.reward for step in steps)
    return f"step {len(steps)}   reward {reward:.2f}   {steps[-1].action_name}"
