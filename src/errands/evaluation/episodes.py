"""Whole episodes by any agent, one at a time to watch or many at once to measure.

The seed that a user names is an offset into the test seeds (errands.seeds), so a test never shows a
world that was trained on.
"""

import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

import errands
from errands.agents.registry import AGENTS
from errands.evaluation.account import Witnessed
from errands.evaluation.decisions import Explanation
from errands.language.instruction import Instruction
from errands.language.vocabulary import suggest
from errands.seeds import TEST_SEEDS
from errands.worlds.gym import instruction_worlds
from errands.worlds.planner import first_optimal
from errands.worlds.spec import NOTHING
from errands.worlds.vector import EpisodeStatistics, Worlds

if TYPE_CHECKING:
    from errands.agents.hierarchy import Trace

BATCH = 2048  # worlds stepped at once: enough to fill the cores, few enough to stay in the cache


class Policy(Protocol):
    """An agent or a planner, for one batch of worlds, from the start of its episodes."""

    def act(self, worlds: Worlds) -> NDArray[np.int64]:
        """An action for every world, also for those whose episode has ended (it is ignored)."""


@dataclass(frozen=True)
class PlannerPolicy:
    """A hand-made policy that sees the whole state."""

    name: str  # "near-optimal" or "shortest-path"

    def act(self, worlds: Worlds) -> NDArray[np.int64]:
        return first_optimal(worlds.plan_lists(self.name)).astype(np.int64)


def _planner(name: str, worlds: Worlds) -> Policy:
    return PlannerPolicy(name)


def _trained(name: str, worlds: Worlds) -> Policy:
    """A shipped agent; PyTorch is only loaded when one is asked for."""
    from errands.agents.load import load_hierarchy
    from errands.evaluation.hierarchies import HierarchyPolicy

    agent = load_hierarchy(f"{worlds.spec.name}/{name}")
    return HierarchyPolicy(agent, soft=bool(agent.description.get("soft")))


def agent_named(name: str) -> Callable[[Worlds], Policy]:
    """A function that makes the agent's policy, with a fresh memory, for a batch of worlds.

    That of a trained agent refuses (ValueError) a world that none was trained for.
    """
    if name not in AGENTS:
        raise ValueError(f"unknown agent '{name}'; {suggest(name, tuple(AGENTS))}")
    return partial(_planner if AGENTS[name].sort == "planner" else _trained, name)


@dataclass(frozen=True)
class Thought:
    """Why a trained agent took a step: its trace of one world, for people."""

    pointer: tuple[float, ...]  # over the instructions of the list
    shift: tuple[float, ...]  # probabilities of -1, 0, +1
    shifted: int  # which it was
    update: float  # probability of an update, c_t
    updated: bool  # whether it did
    subtask: str  # such as "pick up pig"; nothing for an agent without a skill
    termination: float  # probability that the subtask before was finished


@dataclass(frozen=True)
class WatchedStep:
    """What one step of a watched world did."""

    step: int
    action: int
    action_name: str
    reward: float
    progress: int  # instructions done
    achieved: int  # of the current instruction's count
    row: int
    column: int
    heading: int
    event: bool  # whether the event's object is there
    thought: Thought | None = None  # why, where a trained agent acts


def watch_episode(worlds: Worlds, policy: Policy) -> Iterator[WatchedStep]:
    """Step the first world, already reset, until its episode ends."""
    while not worlds.status[0]:
        actions = policy.act(worlds)
        worlds.step(actions)
        thought = describe_thought(worlds, getattr(policy, "trace", None))
        yield describe_step(worlds, int(actions[0]), thought)


def describe_thought(worlds: Worlds, trace: "Trace | None") -> Thought | None:
    """What the agent of the first world thought in its last step; nothing for planners."""
    if trace is None:
        return None
    verb, kind, quantity = (int(part) for part in trace.subtask[0])
    words = worlds.spec.vocabulary
    subtask = "" if verb < 0 else str(Instruction.from_code((verb, kind, quantity), words))
    length = int(worlds.privileged[0]["length"])
    return Thought(
        pointer=_rounded(trace.pointer[0, :length]),
        shift=_rounded(trace.shift[0]),
        shifted=int(trace.shifted[0]),
        update=_rounded(trace.update)[0],
        updated=bool(trace.updated[0]),
        subtask=subtask,
        termination=_rounded(trace.termination)[0],
    )


def _rounded(values: NDArray[np.float32]) -> tuple[float, ...]:
    return tuple(round(float(value), 4) for value in values)


def describe_step(worlds: Worlds, action: int, thought: Thought | None = None) -> WatchedStep:
    """The step that the first world has just taken."""
    world = worlds.privileged[0]
    return WatchedStep(
        step=int(world["steps"]),
        action=action,
        action_name=worlds.kind.action_name(action),
        reward=round(float(worlds.rewards[0]), 6),
        progress=int(world["progress"]),
        achieved=int(world["achieved"]),
        row=int(world["row"]),
        column=int(world["column"]),
        heading=int(world["heading"]),
        event=bool(world["event_cell"] != NOTHING),
        thought=thought,
    )


def run_episodes(
    worlds: Worlds, policy: Policy, on_progress: Callable[[int], None] | None = None
) -> EpisodeStatistics:
    """Run every world, already reset, to the end of its episode; one row each, in their order.

    Worlds that are done wait for the others: counting whichever episodes end first would count too
    many short ones. `on_progress` hears how many have ended.
    """
    while True:
        worlds.step(policy.act(worlds))
        ended = int(np.count_nonzero(worlds.status))
        if on_progress is not None:
            on_progress(ended)
        if ended == worlds.count:
            return worlds.finished()


@dataclass(frozen=True)
class InstructionTest:
    """Lists of instructions to measure an agent with."""

    agent: str  # its name, as `--agent` takes it
    world: str  # "grid" or "block"
    split: str = "train"  # which instructions: "train", "seen", "unseen" or "validation"
    length: int = 4  # instructions in a list
    with_all: bool = True  # whether instructions with "all" are sampled
    forgiving: bool = False  # whether missing targets are replaced
    episodes: int = 1000  # lists
    seed: int = 0  # of the first test world
    soft: bool = False  # whether a trained agent updates softly
    sizes: tuple[int, int] | None = None  # smallest and largest map, border included; None: full

    def worlds(self, count: int) -> Worlds:
        """A batch of worlds with such lists."""
        worlds = instruction_worlds(
            self.world,
            count,
            split=self.split,
            length=self.length,
            with_all=self.with_all,
            forgiving=self.forgiving,
        )
        if self.sizes is not None:
            worlds.change_setting(replace(worlds.setting, sizes=self.sizes))
        return worlds


def evaluate_instructions(
    test: InstructionTest,
    on_progress: Callable[[int], None] | None = None,
    make_policy: Callable[[Worlds], Policy] | None = None,
    *,
    explain: bool = False,
) -> dict[str, Any]:
    """Measure an agent: episode i is the test world of seed + i, and every episode counts once.

    `make_policy` is for agents that are not to be found by their name. With `explain` the result
    says which decisions of a trained agent went wrong, and is otherwise the same.
    """
    make_policy = make_policy or agent_named(test.agent)
    explanation = Explanation() if explain else None
    started = time.perf_counter()
    batches: list[EpisodeStatistics] = []
    worlds = test.worlds(min(BATCH, test.episodes))
    for first in range(0, test.episodes, BATCH):
        left = test.episodes - first
        if left < worlds.count:
            worlds = test.worlds(left)
        worlds.seed(TEST_SEEDS + test.seed + first)
        worlds.reset()
        report = None if on_progress is None else partial(_report, on_progress, first)
        policy = make_policy(worlds)
        if explanation is None:
            batches.append(run_episodes(worlds, policy, report))
        else:
            witnessed = Witnessed(policy)
            batches.append(run_episodes(worlds, witnessed, report))
            explanation.add(witnessed.witness.accounts(worlds), test.seed + first)
    measured = {
        name: mean_and_error(np.concatenate([getattr(batch, name) for batch in batches]))
        for name in ("success", "reward", "steps", "completed", "events", "events_used")
    }
    facts = {
        "caught": _share([b.events_used for b in batches], [b.events for b in batches]),
        **asdict(test),
        "step_limit": worlds.tasks.step_limit,
        "seconds": round(time.perf_counter() - started, 3),
    }
    explained = {} if explanation is None else {"explanation": explanation.record()}
    return {**measured, **facts, **origin(), **explained}


def _share(some: list[NDArray[np.int64]], of: list[NDArray[np.int64]]) -> float | None:
    """How many of all there were, in all episodes together; nothing of nothing."""
    everything = sum(int(counts.sum()) for counts in of)
    return round(sum(int(counts.sum()) for counts in some) / everything, 6) if everything else None


def _report(on_progress: Callable[[int], None], before: int, ended: int) -> None:
    on_progress(before + ended)


def mean_and_error(values: NDArray[Any]) -> dict[str, float | None]:
    """The mean and its standard error, which a single value does not have."""
    values = values.astype(np.float64)
    error = None
    if values.size > 1:
        error = round(float(values.std(ddof=1) / np.sqrt(values.size)), 6)
    return {"mean": round(float(values.mean()), 6), "stderr": error}


def origin() -> dict[str, str]:
    """Which code made a result: the version, and the commit if this is a checkout."""
    made_by = {"version": errands.__version__}
    checkout = Path(errands.__file__).parents[2]
    if (checkout / ".git").exists():
        describe = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
        try:
            said = subprocess.run(
                describe, cwd=checkout, capture_output=True, text=True, timeout=10, check=True
            )
        except (OSError, subprocess.SubprocessError):
            return made_by
        made_by["commit"] = said.stdout.strip()
    return made_by
