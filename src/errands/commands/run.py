"""`errands run`: an agent executes the instructions you type."""

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from errands.agents.registry import ALWAYS_THERE, named
from errands.commands.actors import DEFAULT_AGENT, WHO_ACTS
from errands.commands.choices import DEFAULT_WORLD, WorldOption
from errands.commands.files import STANDARD_OUTPUT, check_film, check_writable, write_json
from errands.commands.problem import (
    MOST_STEPS,
    Problem,
    check_instructions,
    check_range,
    check_seed,
)
from errands.language.instruction import understood_as
from errands.seeds import TEST_SEEDS
from errands.worlds.spec import WORLDS

if TYPE_CHECKING:
    from errands.commands.actors import Actor
    from errands.evaluation.episodes import WatchedStep
    from errands.evaluation.explain import Failure
    from errands.worlds.vector import Worlds

MOST_FRAMES = 1000  # a longer film is thinned out: every second frame, every fourth, ...


@dataclass(frozen=True)
class Run:
    """Watch an agent execute a list of instructions.

    Instructions are verbs (visit, pick up, transform, interact with), counts and objects, separated
    by commas or "then"; `errands words` lists them. Quotes are optional. In a terminal the world is
    shown live, with the decisions of a trained agent: its pointer, its subtask, and whether it
    updates them. Without a terminal one line is printed for every finished instruction. If not all
    were done, one sentence says why. The exit code is 0 if all were done, 1 if not, 2 for an error
    in the command.

    examples
      errands run visit the cow, grab the egg
      errands run "pick up the pig, visit the box, transform all cows"
      errands run "visit the cow, pick up all eggs" --agent dynamic --json trace.json
      errands run "pick up 2 sheep then visit cat" --world block --gif errand.gif
      errands run "visit duck" --agent shortest-path --seed 3 --json -
    """

    instructions: Annotated[
        tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="INSTRUCTIONS")
    ]
    """What to do, such as "visit pig, then pick up all eggs"."""
    world: WorldOption = DEFAULT_WORLD
    agent: Annotated[
        str | None,
        tyro.conf.arg(
            metavar="NAME",
            help=WHO_ACTS,
            help_behavior_hint=DEFAULT_AGENT,
        ),
    ] = None
    weights: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None
    """The folder of your own run (errands train meta), instead of a shipped agent."""
    seed: int = 0
    """Number of the test world; the same seed gives the same episode."""
    length_limit: Annotated[
        int | None,
        tyro.conf.arg(metavar="STEPS", help_behavior_hint="(default: the paper's limit)"),
    ] = None
    """Maximum number of steps."""
    forgiving: bool = False
    """Replace a target whenever none is left."""
    gif: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """Write the episode as a film: an animated GIF, or an MP4 if the name ends in .mp4."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """Write the episode step by step; "-" prints it, and nothing else, to standard output."""
    fps: float = 8.0
    """Steps a second, in the terminal and in the film."""
    quiet: bool = False
    """Print nothing; the exit code gives the outcome."""

    @property
    def text(self) -> str:
        """The list: in quotes, each instruction in quotes, or without any."""
        in_quotes = all(" " in part for part in self.instructions)
        return ("\n" if in_quotes else " ").join(self.instructions)

    def execute(self) -> int:
        self._check()
        from errands.commands.actors import choose_actor
        from errands.commands.screen import compiling_notice

        actor = choose_actor(self.world, self.agent, self.weights)
        with compiling_notice():
            worlds = self._worlds()
            policy = actor.make_policy(worlds)
            worlds.step(policy.act(worlds))  # compile before the episode is shown
        return 0 if self._perform(self._worlds(), actor) else 1

    def _check(self) -> None:
        check_instructions(self.text, WORLDS[self.world].vocabulary)
        check_seed(self.seed)
        check_range("--fps", self.fps, 0.1, 60)
        if self.length_limit is not None:
            check_range("--length-limit", self.length_limit, 1, MOST_STEPS)
        if self.gif == STANDARD_OUTPUT:
            raise Problem("--gif - is no file: a film is not printed; name one, such as errand.gif")
        check_writable("--gif", self.gif)
        check_film("--gif", self.gif)
        check_writable("--json", self.json)

    def _worlds(self) -> "Worlds":
        from errands.worlds.gym import instruction_worlds

        worlds = instruction_worlds(
            self.world,
            1,
            instructions=self.text,
            forgiving=self.forgiving,
            step_limit=self.length_limit,
        )
        worlds.seed(TEST_SEEDS + self.seed)
        worlds.reset()
        return worlds

    def _perform(self, worlds: "Worlds", actor: "Actor") -> bool:
        """Run the episode and write the files; true if the whole list was done."""
        from rich.console import Console
        from rich.live import Live

        from errands.commands.screen import scene
        from errands.evaluation.account import Witnessed
        from errands.evaluation.episodes import watch_episode
        from errands.evaluation.explain import explain
        from errands.evaluation.film import EpisodeFilm
        from errands.worlds.film import save_film

        policy = Witnessed(actor.make_policy(worlds))
        console = Console()
        silent = self.quiet or self.json == STANDARD_OUTPUT
        film = EpisodeFilm(worlds, MOST_FRAMES) if self.gif else None
        steps: list[WatchedStep] = []
        reading = understood_as(self.text, worlds.spec.vocabulary)
        if reading and not silent:
            print(f"understood as: {reading}")
        warning = self._warning(worlds, actor.name)
        if warning and not silent:
            print(warning)
        if console.is_terminal and not silent:
            with Live(console=console, auto_refresh=False) as live:
                live.update(scene(worlds, console, _notes(steps)), refresh=True)
                for step in watch_episode(worlds, policy):
                    steps.append(step)
                    time.sleep(1 / self.fps)
                    pointer = step.thought.pointer if step.thought else None
                    live.update(scene(worlds, console, _notes(steps), pointer), refresh=True)
                    if film:
                        film.add()
        else:
            for step in watch_episode(worlds, policy):
                steps.append(step)
                if film:
                    film.add()
        failure = explain(policy.witness.accounts(worlds)[0])
        if not silent:
            print(self._summary(worlds, steps, terminal=console.is_terminal))
            if failure:
                print(failure.sentence)
        if film and self.gif:
            save_film(film.frames, self.gif, self.fps)
            if not silent:
                print(f"wrote {self.gif}")
        if self.json:
            write_json(self.json, self._record(worlds, actor.name, steps, failure))
            if not silent:
                print(f"wrote {self.json}")
        return failure is None

    def _warning(self, worlds: "Worlds", agent: str) -> str:
        """What the agent cannot be expected to do with this list, if anything."""
        from errands.worlds.gym import listed
        from errands.worlds.tasks import untrained_verbs

        asked = {instruction.verb for instruction in listed(worlds)}
        unlearned = [f"'{verb}'" for verb in untrained_verbs(worlds.spec) if verb in asked]
        if not unlearned or agent in named("planner"):
            return ""
        return (
            f"{agent} never learned {' and '.join(unlearned)}, so expect this to fail; "
            f"planners can do it (--agent {ALWAYS_THERE})"
        )

    def _summary(self, worlds: "Worlds", steps: "list[WatchedStep]", *, terminal: bool) -> str:
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

    def _record(
        self, worlds: "Worlds", agent: str, steps: "list[WatchedStep]", failure: "Failure | None"
    ) -> dict[str, Any]:
        from errands.evaluation.episodes import origin
        from errands.worlds.gym import listed

        words = [instruction.words(worlds.spec.vocabulary) for instruction in listed(worlds)]
        return {
            "world": self.world,
            "agent": agent,
            "seed": self.seed,
            "forgiving": self.forgiving,
            "step_limit": worlds.tasks.step_limit,
            "instructions": words,
            "success": failure is None,
            "failure": failure and {"cause": failure.cause, "sentence": failure.sentence},
            "reward": round(sum(step.reward for step in steps), 6),
            "steps": len(steps),
            "completed": steps[-1].progress,
            "trace": [_told(step) for step in steps],
            **origin(),
        }


def _told(step: "WatchedStep") -> dict[str, Any]:
    """A step for the file; planners have no thoughts to record."""
    told = asdict(step)
    if step.thought is None:
        del told["thought"]
    return told


def _notes(steps: "list[WatchedStep]") -> list[str]:
    """Lines below the world: step, reward, action, and a trained agent's decisions."""
    if not steps:
        return ["step 0"]
    reward, thought = sum(step.reward for step in steps), steps[-1].thought
    lines = [f"step {len(steps)}   reward {reward:.2f}   {steps[-1].action_name}"]
    if thought is not None:
        decides = f"updates, pointer {thought.shifted:+d}" if thought.updated else "continues"
        lines.append(
            f"subtask {thought.subtask or '-'}   {decides}   update {thought.update:.2f}   "
            f"finished {thought.termination:.2f}"
        )
    return lines
