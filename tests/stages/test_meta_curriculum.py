"""The worlds of the stages: lists and maps that grow, events, steps, and credit for decisions."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from errands.config import MetaTraining
from errands.learning.advantages import assign_credit
from errands.learning.curriculum import ENOUGH, PATIENCE
from errands.presets import meta_training
from errands.stages.meta import MetaTrainer
from errands.stages.run import iterate
from errands.worlds.spec import GRID, MAP_SIZE, SMALLEST
from twins.training import tiny_meta


def succeed(trainer: MetaTrainer, success: float, caught: float = 0.0) -> None:
    """Make every batch's episodes count as done so often, and events as used."""
    collect = trainer.rollout.collect

    def flattered(*arguments: Any, **options: Any) -> Any:
        frames, statistics = collect(*arguments, **options)
        return frames, replace(statistics, success=success, caught=caught)

    trainer.rollout.collect = flattered  # type: ignore[method-assign]


def curious(**changes: Any) -> MetaTraining:
    """Long enough in its first stage for every list, and not at all busy."""
    few = {"steps": 2, "worlds": 4, "minibatch": 4, "epochs": 1, "validate_every": 10**9}
    training = tiny_meta(**few, **changes)
    frames = 8 * (3 * PATIENCE + 2), 16, 10**6
    pairs = zip(training.stages, frames, strict=True)
    return replace(training, stages=tuple(replace(stage, frames=n) for stage, n in pairs))


def test_success_makes_lists_longer_and_maps_larger_and_stages_change_the_world() -> None:
    trainer = MetaTrainer(curious())
    succeed(trainer, 1.0)
    worlds = trainer.rollout.worlds
    assert worlds.longest == 4
    told: list[tuple[Any, ...]] = []
    names = []
    for _ in range(3 * PATIENCE + 6):
        tasks = worlds.tasks
        told.append((tasks.lengths, tasks.step_limit, worlds.setting.sizes))
        assert worlds.setting.forgiving == (len(told) <= 3 * PATIENCE + 2)
        names.append(iterate(trainer).stage)
    lessons = [told[k] for k in range(0, 3 * PATIENCE + 1, PATIENCE)]
    limit = GRID.step_limit(4, "train")
    assert lessons == [
        ((1, 1), 2 * limit // 5, (SMALLEST, SMALLEST)),
        ((1, 2), 3 * limit // 5, (SMALLEST, SMALLEST + 1)),
        ((1, 3), 4 * limit // 5, (SMALLEST, SMALLEST + 2)),
        ((1, 4), limit, (SMALLEST, MAP_SIZE)),
    ]
    for k in range(3 * PATIENCE):
        assert told[k] == lessons[k // PATIENCE]
    assert names[-4:] == ["soft", "soft", "hard", "hard"]
    assert told[-4:] == [((4, 4), limit, GRID.lists.sizes)] * 4
    assert worlds.setting == GRID.lists


def test_patience_gives_training_lists_more_steps_and_the_block_worlds_need_them() -> None:
    plain, patient = (MetaTrainer(curious(patience=k)).rollout.worlds.tasks for k in (1.0, 2.5))
    assert plain.lengths == patient.lengths == (1, 1)
    assert (plain.step_limit, patient.step_limit) == (24, 60)
    patience = {
        (world, preset): meta_training(world, "dynamic", preset).patience
        for world in ("grid", "block")
        for preset in ("fast", "paper")
    }
    own = dict.fromkeys(patience, 1.0)
    assert patience == own | {("block", "fast"): 2.0}


def test_events_come_more_often_until_the_agent_uses_them(tmp_path: Path) -> None:
    training = curious()
    first, *others = training.stages
    eager = replace(training, stages=(replace(first, events=5.0), *others))
    trainer = MetaTrainer(eager)
    assert often(trainer) == pytest.approx(5.0)
    succeed(trainer, 0.5, caught=ENOUGH / 2)
    for _ in range(3 * PATIENCE):
        iterate(trainer)
    assert trainer.begun == [0]
    assert often(trainer) == pytest.approx(3.0, abs=0.1)
    trainer.save(tmp_path)
    resumed = MetaTrainer(eager)
    resumed.resume(tmp_path)
    assert often(resumed) == often(trainer)
    while trainer.begun == [0]:
        iterate(trainer)
    assert often(trainer) == pytest.approx(1.0)


def often(trainer: MetaTrainer) -> float:
    """How many times the world's own chance events have."""
    assert GRID.event is not None
    return float(trainer.rollout.worlds.rules["event_probability"][0]) / GRID.event.probability


def test_without_success_lists_stay_short_until_the_stage_is_over() -> None:
    trainer = MetaTrainer(curious())
    succeed(trainer, 0.5)
    while trainer.stage.curriculum:
        assert trainer.rollout.worlds.tasks.lengths == (1, 1)
        iterate(trainer)
    assert trainer.rollout.worlds.tasks.lengths == (4, 4)


def test_a_stage_may_leave_as_soon_as_the_longest_lists_are_learned(tmp_path: Path) -> None:
    """The last stage gets its frames, and rates fall over all of those."""
    training = curious()
    first, *others = training.stages
    eager = replace(training, stages=(replace(first, leaves_early=True, frames=10**4), *others))
    trainer = MetaTrainer(eager)
    succeed(trainer, 1.0)
    for _ in range(4 * PATIENCE):
        assert trainer.begun == [0]
        iterate(trainer)
    assert trainer.begun == [0, trainer.frames]
    iterate(trainer)
    iterate(trainer)
    assert trainer.begun == [0, trainer.frames - 16, trainer.frames]
    iterate(trainer)
    assert trainer.in_last_stage
    assert trainer.phase().share == pytest.approx(8 / (trainer.total_frames - trainer.begun[2]))
    trainer.save(tmp_path)
    resumed = MetaTrainer(eager)
    resumed.resume(tmp_path)
    assert resumed.phase() == trainer.phase()
    assert resumed.rollout.worlds.tasks == trainer.rollout.worlds.tasks


def test_the_curriculum_goes_on_too(tmp_path: Path) -> None:
    trainer = MetaTrainer(curious())
    succeed(trainer, 1.0)
    for _ in range(PATIENCE + 1):
        iterate(trainer)
    trainer.save(tmp_path)
    resumed = MetaTrainer(curious())
    assert resumed.rollout.worlds.tasks.lengths == (1, 1)
    resumed.resume(tmp_path)
    assert resumed.curriculum.facts() == {"reached": 2, "mastered": False, "good_batches": 1}
    assert resumed.rollout.worlds.tasks == trainer.rollout.worlds.tasks
    assert resumed.rollout.worlds.setting == trainer.rollout.worlds.setting


def test_lists_of_the_first_episodes_are_as_short_as_the_curriculum_wants() -> None:
    trainer = MetaTrainer(tiny_meta())
    assert (trainer.rollout.worlds.mask.sum(axis=1) == 1).all()


@pytest.mark.parametrize("soft", [True, False])
def test_credit_is_assigned_by_decision_where_updates_are_hard(soft: bool) -> None:
    stage = replace(tiny_meta().stages[-1], soft=soft)
    training = tiny_meta(stages=(stage,), steps=12, credit="decision")
    trainer = MetaTrainer(training)
    phase = trainer.phase()
    frames, _ = trainer.collect(phase)
    assert frames.decision.c.float().mean() < 1
    found = trainer.credit(frames, phase)
    weights = {"discount": training.discount, "trace": training.trace}
    by_decision = assign_credit(frames, **weights, decides=frames.decision.c)
    by_step = assign_credit(frames, **weights)
    expected, other = (by_step, by_decision) if soft else (by_decision, by_step)
    assert torch.equal(found.advantages, expected.advantages)
    assert not torch.equal(found.advantages, other.advantages)
