"""What an agent thinks from step to step, and whether it interrupts its work for an event."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from errands.agents.hierarchy import Hierarchy, Trace
from errands.evaluation.hierarchies import HierarchyPolicy
from errands.language.instruction import Instruction
from errands.language.vocabulary import TRANSFORM
from errands.seeds import TEST_SEEDS
from errands.worlds.gym import instruction_worlds, listed
from errands.worlds.spec import MAP_SIZE, NOTHING
from errands.worlds.vector import Worlds

EPISODES = 64  # recorded, to find an instructive one
NEAR = 3  # cells between agent and event, straight on and aside together


@dataclass(frozen=True)
class Timeline:
    """One episode, a row a step."""

    instructions: list[str]
    pointer: NDArray[np.float32]  # (T, K)
    shift: NDArray[np.float32]  # (T, 3) probabilities of -1, 0, +1
    update: NDArray[np.float32]  # (T,) probability
    updated: NDArray[np.bool_]  # (T,)
    subtasks: list[str]
    progress: NDArray[np.int64]  # (T,) the instruction that really is next
    event: NDArray[np.bool_]  # (T,) the event's object is there
    caught: NDArray[np.bool_]  # (T,) and this step transformed it
    success: bool


@dataclass(frozen=True)
class Interruptions:
    """How a batch of agents met events."""

    near: int  # steps with an event within NEAR cells
    turned: float  # share of them in which the subtask was to transform it
    stayed: float  # of the steps with that subtask, the share in which the pointer did not move
    caught: float  # share of all events that were transformed


class Recording:
    """A batch of episodes with everything their agent thought, from beginning to end."""

    def __init__(self, worlds: Worlds, agent: Hierarchy, *, soft: bool = False) -> None:
        policy = HierarchyPolicy(agent, soft=soft)
        self._worlds = worlds
        self._lists = [listed(worlds, i) for i in range(worlds.count)]
        self._traces: list[Trace] = []
        kept: dict[str, list[NDArray[np.int64]]] = {
            name: [] for name in ("row", "column", "event_cell", "progress", "used", "running")
        }
        while not worlds.status.all():
            world = worlds.privileged
            for name in ("row", "column", "event_cell", "progress"):
                kept[name].append(world[name].astype(np.int64))
            kept["running"].append((worlds.status == 0).astype(np.int64))
            before = world["events_used"].astype(np.int64)
            actions = policy.act(worlds)
            assert policy.trace is not None
            self._traces.append(policy.trace)
            worlds.step(actions)
            kept["used"].append(worlds.privileged["events_used"] - before)
        self._kept = {name: np.stack(values) for name, values in kept.items()}  # (T, B)

    def most_telling(self) -> Timeline:
        """The shortest episode that caught an event and did its list, or what comes nearest."""
        caught = self._kept["used"].sum(axis=0) > 0
        steps = self._kept["running"].sum(axis=0)
        order = np.lexsort((steps, ~self._worlds.done, ~caught))
        return self.timeline(int(order[0]))

    def timeline(self, i: int) -> Timeline:
        steps = int(self._kept["running"][:, i].sum())
        traces, vocabulary = self._traces[:steps], self._worlds.spec.vocabulary
        codes = [[int(part) for part in trace.subtask[i]] for trace in traces]
        return Timeline(
            instructions=[item.words(vocabulary) for item in self._lists[i]],
            pointer=np.stack([trace.pointer[i, : len(self._lists[i])] for trace in traces]),
            shift=np.stack([trace.shift[i] for trace in traces]),
            update=np.array([trace.update[i] for trace in traces], np.float32),
            updated=np.array([trace.updated[i] for trace in traces], np.bool_),
            subtasks=[
                "" if verb < 0 else str(Instruction.from_code((verb, kind, count), vocabulary))
                for verb, kind, count in codes
            ],
            progress=self._kept["progress"][:steps, i],
            event=self._kept["event_cell"][:steps, i] != NOTHING,
            caught=self._kept["used"][:steps, i] > 0,
            success=bool(self._worlds.done[i]),
        )

    def interruptions(self) -> Interruptions | None:
        """None in a world without events."""
        event = self._worlds.spec.event
        if event is None:
            return None
        kept = self._kept
        running = kept["running"] > 0
        there = (kept["event_cell"] != NOTHING) & running
        away = abs(kept["event_cell"] // MAP_SIZE - kept["row"])
        away += abs(kept["event_cell"] % MAP_SIZE - kept["column"])
        near = there & (away <= NEAR)
        wanted = np.array([TRANSFORM, self._worlds.spec.vocabulary.object_index(event.object)])
        after_it = np.stack(
            [(trace.subtask[:, :2] == wanted).all(axis=1) for trace in self._traces]
        )
        at = np.stack([trace.pointer.argmax(axis=1) for trace in self._traces])
        unmoved = np.concatenate((np.ones_like(near[:1]), at[1:] == at[:-1]))
        statistics = self._worlds.finished()
        return Interruptions(
            near=int(near.sum()),
            turned=_share(after_it & near, near),
            stayed=_share(unmoved & after_it & running, after_it & running),
            caught=float(statistics.events_used.sum() / max(int(statistics.events.sum()), 1)),
        )


def _share(some: NDArray[np.bool_], of: NDArray[np.bool_]) -> float:
    return float(some.sum() / max(int(of.sum()), 1))


def record(
    agent: Hierarchy,
    world: str,
    *,
    split: str = "unseen",
    length: int = 10,
    episodes: int = EPISODES,
    soft: bool = False,
) -> Recording:
    """Episodes of the first test worlds."""
    worlds = instruction_worlds(world, episodes, split=split, length=length)
    worlds.seed(TEST_SEEDS)
    worlds.reset()
    return Recording(worlds, agent, soft=soft)
