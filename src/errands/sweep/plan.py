"""What a sweep runs: groups of options, of which every combination is a run.

A group has a stage ("eyes", "skill" or "meta") and options of `errands train STAGE`, written
without leading dashes. Where options have several values, the runs are all combinations of them:

    [evaluate]
    episodes = 2000
    lengths = "1,4,10,20"

    [[runs]]
    stage = "skill"
    scenario = ["independent", "object-dependent"]
    no-analogy = [false, true]
    seed = "0..2"

    [[runs]]
    stage = "meta"
    agent = ["dynamic", "short"]
    skill = "grid-skill-independent-seed-{seed}"
    seed = "0..2"

A `skill` (or `eyes`) that is the name of a run of the same sweep means the agent of that run, which
is trained first; {seed} and the other options of the run can be part of that name. Hints in one
`without` are joined by "+". `hours` ends training that takes longer; the best agent is evaluated.
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

from errands.language.vocabulary import suggest

Value = str | int | float | bool
STAGES = ("eyes", "skill", "meta")
FROM_RUNS = ("skill", "eyes", "start")  # options that can name a run of the sweep
OF_THE_SWEEP = ("out", "threads", "hours", "stage")  # not passed on to `errands train`
WITHOUT, JOINT = "without", "+"
MOST_RUNS = 10_000


class BadPlan(Exception):
    """The file or the options cannot be used; the message is one line."""


@dataclass(frozen=True)
class Evaluation:
    """How every trained agent is evaluated."""

    episodes: int = 1000  # of each cell
    seed: int = 500_000  # number of the first test world
    lengths: str = "20"  # of seen and unseen lists; training lists have 4 instructions


@dataclass(frozen=True)
class SweepRun:
    """One agent to train and evaluate."""

    name: str  # of its folder and of its results
    stage: str
    options: Mapping[str, Value]  # of `errands train STAGE`
    needs: tuple[str, ...] = ()  # names of runs whose agents it uses
    hours: float | None = None  # of training, at most

    def option(self, name: str, default: str) -> str:
        return str(self.options.get(name, default))


@dataclass(frozen=True)
class SweepPlan:
    """The runs of a sweep, in the order in which they begin."""

    runs: tuple[SweepRun, ...]
    evaluation: Evaluation = Evaluation()

    def only(self, names: Iterable[str]) -> "SweepPlan":
        """Some of the runs, and those that they need."""
        by_name = {run.name: run for run in self.runs}
        wanted, unseen = set(), list(names)
        while unseen:
            wanted.add(name := unseen.pop())
            unseen += by_name[name].needs
        return replace(self, runs=tuple(run for run in self.runs if run.name in wanted))


def read_plan(path: Path) -> SweepPlan:
    """The plan in a TOML file."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadPlan(f"{path} cannot be read: {error}") from None
    _check_keys(str(path), content, ("evaluate", "runs"))
    groups = content.get("runs", [])
    if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
        raise BadPlan(f"{path}: write [[runs]] above each group of runs")
    return make_plan(groups, content.get("evaluate", {}))


def make_plan(groups: Sequence[Mapping[str, Any]], evaluate: Mapping[str, Any]) -> SweepPlan:
    """The plan of groups of options; each value may be a list of values."""
    _check_keys("[evaluate]", evaluate, [field.name for field in fields(Evaluation)])
    for field in fields(Evaluation):
        if not isinstance(evaluate.get(field.name, field.default), type(field.default)):
            raise BadPlan(f"[evaluate] {field.name} must be like {field.default!r}")
    options = [chosen for group in groups for chosen in _combinations(group)]
    if not options:
        raise BadPlan("there are no runs; name some in [[runs]], or with --stage")
    if len(options) > MOST_RUNS:
        raise BadPlan(f"there are {len(options):,} runs; {MOST_RUNS:,} are the most")
    runs = _with_needs([_run(chosen) for chosen in options])
    names = [run.name for run in runs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BadPlan(f"the run {twice} is there twice; give them different options")
    _check_order(runs)
    return SweepPlan(runs, Evaluation(**evaluate))


def _check_keys(where: str, table: Mapping[str, Any], known: Sequence[str]) -> None:
    for key in table:
        if key not in known:
            raise BadPlan(f"{where} has an unknown '{key}'; {suggest(key, known)}")


def _combinations(group: Mapping[str, Any]) -> Iterable[dict[str, Value]]:
    """Every combination of a group's values, the last option changing fastest."""
    choices: list[list[Value]] = []
    for name, given in group.items():
        if name == "seed" and isinstance(given, str):
            given = parse_seeds(given)
        values = given if isinstance(given, list) else [given]
        if not values or not all(isinstance(value, Value) for value in values):
            raise BadPlan(f"'{name}' must be a value or a list of values, not {given!r:.40}")
        choices.append(values)
    for chosen in product(*choices):
        yield dict(zip(group, chosen, strict=True))


def parse_seeds(text: str) -> list[int]:
    """Seeds from "0..4", "0,3" or a mixture of both."""
    seeds: list[int] = []
    for part in text.split(","):
        first, dots, last = part.partition("..")
        try:
            seeds += range(int(first), int(last if dots else first) + 1)
        except ValueError:
            raise BadPlan(f"seed '{text}' is not understood; write 0..4 or 0,1,2") from None
    return seeds


def _run(chosen: Mapping[str, Value]) -> SweepRun:
    stage = chosen.get("stage", "meta")
    if stage not in STAGES:
        raise BadPlan(f"there is no stage '{stage}'; {suggest(str(stage), STAGES)}")
    hours = chosen.get("hours")
    if hours is not None and (isinstance(hours, bool | str) or hours <= 0):
        raise BadPlan(f"hours = {hours!r} is not a number of hours; write 2 or 0.5")
    for name in ("out", "threads"):
        if name in chosen:
            raise BadPlan(f"'{name}' is chosen by the sweep; remove it from [[runs]]")
    options = {name: value for name, value in chosen.items() if name not in OF_THE_SWEEP}
    for name in FROM_RUNS:
        if name in options:
            try:
                options[name] = str(options[name]).format(**chosen)
            except (KeyError, IndexError, ValueError) as error:
                raise BadPlan(f"'{options[name]}' is not understood: {error}") from None
    options = {name: value for name, value in options.items() if value != "" and value is not False}
    if options.get("longer") == 1:
        del options["longer"]
    return SweepRun(_name(str(stage), options), str(stage), options, hours=hours)


def _name(stage: str, options: Mapping[str, Value]) -> str:
    """What tells a run from the others: "grid-dynamic-no-analogy-seed-1"."""
    rest = dict(options)
    world = rest.pop("world", "block" if stage == "eyes" else "grid")
    agent, scenario = rest.pop("agent", "dynamic"), rest.pop("scenario", "independent")
    kind = {"eyes": "eyes", "skill": f"skill-{scenario}", "meta": agent}[stage]
    seed, preset = rest.pop("seed", 0), rest.pop("preset", "fast")
    for name in FROM_RUNS:
        rest.pop(name, None)
    parts = [name if value is True else f"{name}-{value}" for name, value in rest.items()]
    parts += [] if preset == "fast" else [str(preset)]
    name = "-".join((str(world), str(kind), *parts, "seed", str(seed)))
    return "".join(letter if letter.isalnum() or letter in "-+." else "-" for letter in name)


def _with_needs(runs: Sequence[SweepRun]) -> tuple[SweepRun, ...]:
    """The runs, each with those that it needs. Folders of other agents become absolute paths."""
    names = {run.name for run in runs}
    found = []
    for run in runs:
        options, needs = dict(run.options), []
        for option in FROM_RUNS:
            used = str(options.get(option, ""))
            if used in names:
                needs.append(used)
            elif used and Path(used).is_dir():  # commands run in the sweep's folder
                options[option] = str(Path(used).resolve())
        found.append(replace(run, options=options, needs=tuple(needs)))
    return tuple(found)


def _check_order(runs: Sequence[SweepRun]) -> None:
    """A run needs only those of earlier stages, so that none waits for itself."""
    stages = {run.name: STAGES.index(run.stage) for run in runs}
    for run in runs:
        for name in run.needs:
            if stages[name] >= stages[run.name]:
                raise BadPlan(f"{run.name} cannot use {name}, which is no earlier stage")
