"""`errands evaluate instructions`: an agent's success over many episodes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from errands.commands.actors import DEFAULT_AGENT, WHO_ACTS
from errands.commands.choices import DEFAULT_WORLD, WorldOption
from errands.commands.files import STANDARD_OUTPUT, check_writable, write_json
from errands.commands.problem import (
    MOST_EPISODES,
    Problem,
    check_range,
    check_seed,
    parse_lengths,
    parse_sizes,
)
from errands.language.instruction import MAX_INSTRUCTIONS

DEFAULT_LENGTH = 4


@dataclass(frozen=True)
class EvaluateInstructions:
    """Evaluate an agent on lists of instructions.

    Episode i takes place in test world --seed + i, which training never uses, and every episode
    counts once. Success, reward, steps and completed instructions are given with standard errors;
    "caught" is the share of all events (enemies, boxes) that the agent used. The step limit is the
    paper's for the split: 60 for "train" on the grid, 250 for "seen" and "unseen" (80 and 600 in
    the block world), growing in proportion for longer lists.

    examples
      errands evaluate instructions --agent shortest-path --split train --length 4
      errands evaluate instructions --agent dynamic --split unseen --length 20 --episodes 5000
      errands evaluate instructions --weights runs/dynamic --split seen --json result.json
      errands evaluate instructions --world block --lengths 1..20 --json -
      errands evaluate instructions --world block --agent dynamic --length 4 --sizes 7..10
      errands evaluate instructions --agent dynamic --split seen --length 20 --explain
    """

    world: WorldOption = DEFAULT_WORLD
    agent: Annotated[
        str | None,
        tyro.conf.arg(metavar="NAME", help=WHO_ACTS, help_behavior_hint=DEFAULT_AGENT),
    ] = None
    weights: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None
    """The folder of your own run (errands train meta), instead of a shipped agent."""
    soft: bool = False
    """Use soft updates, weighted by gate and shift, with an agent that was trained with hard ones
    last."""
    split: Literal["train", "seen", "unseen", "validation"] = "train"
    """The split that lists are sampled from; "seen" is "train" with the step limits of tests."""
    length: Annotated[int | None, tyro.conf.arg(help_behavior_hint="(default: 4)")] = None
    """Number of instructions in a list."""
    lengths: Annotated[
        str | None, tyro.conf.arg(metavar="FROM..TO", help_behavior_hint="(instead of --length)")
    ] = None
    """Several lengths, such as 1..20 or 1,4,10: the result is a list of records."""
    sizes: Annotated[
        str | None, tyro.conf.arg(metavar="FROM..TO", help_behavior_hint="(default: 10)")
    ] = None
    """Cells per side of the map, border included, drawn for every episode: 7..10 are all sizes that
    the paper trains in."""
    no_all: bool = False
    """Exclude instructions with "all"."""
    forgiving: bool = False
    """Replace a target whenever none is left."""
    episodes: int = 1000
    """Number of episodes (of each length)."""
    seed: int = 0
    """Number of the first test world."""
    explain: bool = False
    """Also show which decisions of a trained agent are wrong, and why lists fail."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """Write the result; "-" prints it, and nothing else, to standard output."""

    def execute(self) -> int:
        lengths, sizes = self._check()
        from errands.commands.actors import choose_actor
        from errands.commands.progress import progress
        from errands.commands.screen import compiling_notice
        from errands.evaluation.episodes import InstructionTest, evaluate_instructions

        actor = choose_actor(self.world, self.agent, self.weights, soft=self.soft)
        if self.explain and actor.training is None:
            raise Problem(
                f"--explain is for trained agents, and {actor.name} is a planner; "
                "take --agent dynamic or --weights FOLDER"
            )
        tests = [
            InstructionTest(
                agent=actor.name,
                world=self.world,
                split=self.split,
                length=length,
                with_all=not self.no_all,
                forgiving=self.forgiving,
                episodes=self.episodes,
                seed=self.seed,
                soft=actor.soft,
                sizes=sizes,
            )
            for length in lengths
        ]
        with compiling_notice():
            rehearsal = InstructionTest(actor.name, self.world, length=1, episodes=1)
            evaluate_instructions(rehearsal, make_policy=actor.make_policy)
        records = []
        with progress("episodes", self.episodes * len(tests)) as show:
            for k, test in enumerate(tests):
                report = partial(_show_after, show, k * self.episodes)
                record = evaluate_instructions(
                    test, report, actor.make_policy, explain=self.explain
                )
                records.append(record | ({"training": actor.training} if actor.training else {}))
        self._tell(records)
        return 0

    def _check(self) -> tuple[tuple[int, ...], tuple[int, int] | None]:
        """The list lengths and map sizes to measure, once everything is known to be in order."""
        if self.length is not None and self.lengths is not None:
            raise Problem("--length and --lengths exclude each other; drop one of them")
        if self.lengths is not None:
            lengths = parse_lengths(self.lengths)
        else:
            lengths = (DEFAULT_LENGTH if self.length is None else self.length,)
            check_range("--length", lengths[0], 1, MAX_INSTRUCTIONS)
        check_range("--episodes", self.episodes, 1, MOST_EPISODES)
        check_seed(self.seed, self.episodes)
        check_writable("--json", self.json)
        if self.sizes is None:
            return lengths, None
        from errands.worlds.spec import MAP_SIZE, SMALLEST

        return lengths, parse_sizes(self.sizes, (SMALLEST, MAP_SIZE))

    def _tell(self, records: list[dict[str, Any]]) -> None:
        if self.json is not None:
            write_json(self.json, records if self.lengths is not None else records[0])
        if self.json == STANDARD_OUTPUT:
            return
        from rich.console import Console
        from rich.table import Table

        from errands.commands.explanation import print_explanation

        name = records[0]["agent"] + (", soft" if self.soft else "")
        where = f"{self.world} {self.split}" + (f", sizes {self.sizes}" if self.sizes else "")
        table = Table(title=f"{name}, {where}, {self.episodes} episodes")
        for heading in ("length", "success", "reward", "steps", "completed", "caught"):
            table.add_column(heading, justify="right")
        for record in records:
            caught = record["caught"]
            table.add_row(
                str(record["length"]),
                _shown(record["success"], scale=100, unit="%"),
                *(_shown(record[name]) for name in ("reward", "steps", "completed")),
                "-" if caught is None else f"{caught:.1%}",
            )
        console = Console()
        console.print(table)
        for record in records if self.explain else ():
            if len(records) > 1:
                console.print(f"\nLists of {record['length']}", highlight=False)
            print_explanation(record["explanation"], console)
        if self.json is not None:
            print(f"wrote {self.json}")


def _show_after(show: Callable[[int], None], before: int, ended: int) -> None:
    show(before + ended)


def _shown(measured: dict[str, float | None], scale: float = 1, unit: str = "") -> str:
    mean, error = measured["mean"], measured["stderr"]
    assert mean is not None
    shown = f"{mean * scale:.2f}{unit}"
    return shown if error is None else f"{shown} ±{error * scale:.2f}"
