"""How well a skill does its subtasks: every episode counted once, success as strict as the paper's.

A strict success finishes the task, and says so on its last observation and on no earlier one.
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from errands.agents.hierarchy import restart
from errands.agents.skill import Skill
from errands.evaluation.episodes import mean_and_error, origin
from errands.language.splits import MOST_REPEATS
from errands.learning.rollout import sample
from errands.seeds import TEST_SEEDS
from errands.worlds.spec import WORLDS, WorldSpec
from errands.worlds.tasks import TaskSource, skill_tasks
from errands.worlds.vector import Worlds

BATCH = 512  # worlds at a time


@dataclass(frozen=True)
class SkillEpisodes:
    """One row an episode."""

    success: NDArray[np.bool_]  # strict
    finished: NDArray[np.bool_]  # the task was done, whatever the termination signal said
    reward: NDArray[np.float64]
    steps: NDArray[np.int64]
    hits: int  # finished states that were called finished
    misses: int  # finished states that were not
    false_alarms: int  # unfinished states that were called finished

    @property
    def precision(self) -> float:
        return self.hits / max(self.hits + self.false_alarms, 1)

    @property
    def recall(self) -> float:
        return self.hits / max(self.hits + self.misses, 1)


def run_skill(
    skill: Skill,
    spec: WorldSpec,
    tasks: TaskSource,
    *,
    episodes: int,
    seed: int,
    progress: Callable[[int], None] | None = None,
) -> SkillEpisodes:
    """Run a number of episodes in worlds of seeds seed, seed + 1, ...; actions are sampled."""
    parts: list[SkillEpisodes] = []
    random = torch.Generator().manual_seed(seed % 2**63)
    done = 0
    while done < episodes:
        count = min(BATCH, episodes - done)
        parts.append(_run_batch(skill, spec, tasks, count, seed + done, random))
        done += count
        if progress:
            progress(count)
    return SkillEpisodes(
        success=np.concatenate([part.success for part in parts]),
        finished=np.concatenate([part.finished for part in parts]),
        reward=np.concatenate([part.reward for part in parts]),
        steps=np.concatenate([part.steps for part in parts]),
        hits=sum(part.hits for part in parts),
        misses=sum(part.misses for part in parts),
        false_alarms=sum(part.false_alarms for part in parts),
    )


def _run_batch(
    skill: Skill,
    spec: WorldSpec,
    tasks: TaskSource,
    count: int,
    seed: int,
    random: torch.Generator,
) -> SkillEpisodes:
    device = skill.policy.weight.device
    worlds = Worlds(spec, count, tasks, spec.skill)
    worlds.seed(seed)
    worlds.reset()
    memory, eyes = skill.initial_memory(count), skill.eyes.initial_memory(count)
    actions = torch.zeros(count, dtype=torch.int64)
    begins = np.ones(count, np.bool_)
    right = np.ones(count, np.bool_)  # every termination prediction so far
    judged = np.zeros(count, np.bool_)  # the episode's last observation has been evaluated
    hits = misses = false_alarms = 0
    while not judged.all():
        starts = torch.from_numpy(begins).to(device)
        with torch.no_grad():
            images = torch.from_numpy(worlds.images).to(device)
            looked, eyes = skill.eyes.look(images, actions.to(device), starts, eyes)
            subtasks = torch.from_numpy(worlds.subtasks.astype(np.int64)).to(device)
            output, memory = skill.step(looked, subtasks, starts, memory)
        says = (output.termination > 0).cpu().numpy() & ~judged
        finished = worlds.done & ~judged
        right &= (says == finished) | judged
        hits += int((says & finished).sum())
        misses += int((finished & ~says).sum())
        false_alarms += int((says & ~finished).sum())
        judged |= worlds.status > 0
        actions, _ = sample(output.logits.cpu(), random)
        if not judged.all():
            worlds.step(actions.numpy())
        begins = np.zeros(count, np.bool_)
    ended = worlds.finished()
    return SkillEpisodes(
        success=ended.success & right,
        finished=ended.success,
        reward=ended.reward,
        steps=ended.steps,
        hits=hits,
        misses=misses,
        false_alarms=false_alarms,
    )


def run_lists(skill: Skill, worlds: Worlds, *, seed: int) -> NDArray[np.bool_]:
    """Which lists a skill carries out if it is given the correct subtask at every step.

    As far as the skill goes: what it would do under a meta controller that is never wrong. Worlds
    stand at the beginning of their episodes.
    """
    device = skill.policy.weight.device
    random = torch.Generator().manual_seed(seed % 2**63)
    memory, eyes = skill.initial_memory(worlds.count), skill.eyes.initial_memory(worlds.count)
    actions = torch.zeros(worlds.count, dtype=torch.int64)
    begins = np.ones(worlds.count, np.bool_)
    done = np.zeros(worlds.count, np.int64)  # subtasks of each list
    told = _true_subtasks(worlds)
    while not worlds.status.all():
        starts = torch.from_numpy(begins).to(device)
        with torch.no_grad():
            images = torch.from_numpy(worlds.images).to(device)
            looked, eyes = skill.eyes.look(images, actions.to(device), starts, eyes)
            seen = skill.see(looked)
            output, memory = skill.step_seen(seen, told.to(device), starts, memory)
            told, before = _true_subtasks(worlds), done
            done = worlds.privileged["progress"] * MOST_REPEATS + worlds.privileged["achieved"]
            changed = torch.from_numpy(begins | (done != before)).to(device)
            logits, memory = restart(
                skill, seen, told.to(device), starts, changed, output.logits, memory
            )
        actions, _ = sample(logits.cpu(), random)
        worlds.step(actions.numpy())
        begins = np.zeros(worlds.count, np.bool_)
    return worlds.done


def _true_subtasks(worlds: Worlds) -> torch.Tensor:
    return torch.from_numpy(worlds.privileged_subtasks().astype(np.int64))


@dataclass(frozen=True)
class SkillTest:
    """Subtasks to measure a skill with."""

    agent: str  # the name it goes by in the result
    world: str  # "grid" or "block"
    scenario: str  # "independent", "object-dependent" or "inter-extrapolation"
    split: str  # which subtasks: "train", "unseen" or "validation"
    episodes: int = 1000  # subtasks
    seed: int = 0  # of the first test world


def evaluate_skill(
    skill: Skill, test: SkillTest, progress: Callable[[int], None] | None = None
) -> dict[str, Any]:
    """Measure a skill: episode i is the test world of seed + i, and every episode counts once."""
    started = time.perf_counter()
    spec = WORLDS[test.world]
    tasks = skill_tasks(spec, test.scenario, test.split)
    seed = TEST_SEEDS + test.seed
    ran = run_skill(skill, spec, tasks, episodes=test.episodes, seed=seed, progress=progress)
    measured = {
        name: mean_and_error(getattr(ran, name))
        for name in ("success", "finished", "reward", "steps")
    }
    termination = {"precision": round(ran.precision, 6), "recall": round(ran.recall, 6)}
    seconds = round(time.perf_counter() - started, 3)
    return {**measured, "termination": termination, **asdict(test), "seconds": seconds, **origin()}
