"""The school of RL teachers: it learns, advises each world rightly, and goes on exactly."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from errands.config import SkillTraining, Stage
from errands.learning import curriculum
from errands.presets import skill_training
from errands.stages.run import iterate
from errands.stages.skill import SkillTrainer
from errands.stages.teacher import School
from errands.worlds.spec import GRID
from errands.worlds.tasks import skill_tasks
from errands.worlds.vector import EpisodeStatistics, Worlds
from twins.own_world import own_world


@pytest.fixture
def training() -> SkillTraining:
    base = skill_training("grid", "independent", "debug", teacher="rl")
    frames = 30 * 2 * base.steps  # of one iteration of 30 teachers with 2 worlds each
    return replace(
        base, teacher_worlds=2, teachers=Stage(2 * frames, 1e-3, 1e-3, 0.01), worlds=8, minibatch=4
    )


def test_an_iteration_moves_every_teacher(training: SkillTraining) -> None:
    school = School(GRID, training, seed=0)
    before = school.teachers.into.weight.detach().clone()
    losses, statistics = school.iterate(torch.Generator().manual_seed(0), 1e-3, 0.01)
    moved = (school.teachers.into.weight - before).abs().sum(dim=(1, 2))
    assert (moved > 0).all()
    assert set(losses) == {"policy", "value", "entropy"}
    assert 0.0 <= statistics.success <= 1.0


def test_the_worlds_of_a_teacher_grow_as_it_succeeds(
    training: SkillTraining, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curriculum, "GROW_AT", 0.0)  # every batch is a good one
    school = School(GRID, training, seed=0)
    assert {worlds.setting.sizes for worlds in school.worlds} == {(7, 7)}
    school.curricula[3].restore({"largest": 7, "good_batches": curriculum.PATIENCE - 1})
    school.iterate(torch.Generator().manual_seed(0), 1e-3, 0.01)
    restored = School(GRID, training, seed=0)
    restored.restore(school.snapshot())
    for grown in (school, restored):
        assert [worlds.setting.sizes for worlds in grown.worlds[2:5]] == [(7, 7), (7, 8), (7, 7)]


def test_a_teacher_explores_until_its_worlds_have_grown(training: SkillTraining) -> None:
    """The stage's weight of entropy has fallen to nothing; the first teacher alone is done."""
    training = replace(
        training, teachers=replace(training.teachers, entropy=100.0), teacher_epochs=1
    )
    school = School(GRID, training, seed=0)
    school.curricula[0].largest = 10
    with torch.no_grad():
        school.teachers.policy.bias[:, 0, 0] = 5.0  # all are rather sure to do nothing
    before = school.teachers.policy.bias[:, 0, 0].clone()
    for _ in range(3):
        school.iterate(torch.Generator().manual_seed(0), 1e-2, 0.0)
    less_sure = before - school.teachers.policy.bias[:, 0, 0]
    assert (less_sure[1:] > 0.05).all()
    assert less_sure[0] < 0.05


def test_a_teacher_that_fails_counts_as_much_as_one_that_succeeds(training: SkillTraining) -> None:
    def ended(success: list[bool], reward: float) -> EpisodeStatistics:
        count = len(success)
        zeros = np.zeros(count, np.int64)
        rewards = np.full(count, reward)
        return EpisodeStatistics(zeros, rewards, zeros, zeros, np.array(success), zeros, zeros)

    school = School(GRID, training, seed=0)
    nothing = [[ended([], 0.0)]] * 28
    statistics = school._look_back(
        [[ended([True] * 9, 0.5)], [ended([], 0.0), ended([False], -5.0)], *nothing]
    )
    assert (statistics.success, statistics.reward, statistics.episodes) == (0.5, -2.25, 10)


def test_worlds_are_advised_by_the_teacher_of_their_subtask(training: SkillTraining) -> None:
    school = School(GRID, training, seed=0)
    worlds = Worlds(GRID, 40, skill_tasks(GRID, "independent", "train"), GRID.skill)
    worlds.reset()
    advice = school.advise(worlds)
    assert advice.shape == (40, 13)
    for i in range(0, 40, 7):
        (task,) = np.flatnonzero((school.codes == worlds.subtasks[i]).all(axis=1))
        image = torch.from_numpy(worlds.images[i]).expand(30, 1, -1, -1, -1)
        with torch.no_grad():
            alone = torch.softmax(school.teachers(image).logits[task, 0], dim=0)
        assert np.allclose(advice[i], alone.numpy(), atol=1e-6)


@pytest.mark.slow
def test_a_run_with_teachers_goes_on(training: SkillTraining, tmp_path: Path) -> None:
    """Stopped once among the teachers and once after them."""
    whole = SkillTrainer(training)
    stages = [iterate(whole).stage for _ in range(5)]
    assert stages == ["teachers", "teachers", "distill", "distill", "distill"]

    parts = SkillTrainer(training)
    for until in (1, 3, 5):
        while parts.lessons + parts.iteration < until:
            iterate(parts)
        parts.save(tmp_path)
        parts = SkillTrainer(training)
        assert parts.resume(tmp_path) == []
    assert whole.school is not None
    assert parts.school is not None
    for mine, other in ((whole.skill, parts.skill), (whole.school.teachers, parts.school.teachers)):
        for ours, theirs in zip(mine.parameters(), other.parameters(), strict=True):
            # Not to the last bit: the teachers' batched products differ there between two runs that
            # were never stopped, too.
            torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_in_a_world_of_ones_own_every_subtask_has_a_teacher(training: SkillTraining) -> None:
    trainer = SkillTrainer(training, spec=own_world("grid"))
    assert trainer.school is not None
    asked = {item.code(trainer.spec.vocabulary) for item in trainer.rollout.worlds.tasks.pool}
    assert {tuple(code) for code in trainer.school.codes.tolist()} == asked
    trainer.rollout.collect(trainer.skill, trainer.sampling, teacher=True)


def test_the_advice_reaches_the_student(training: SkillTraining) -> None:
    trainer = SkillTrainer(training)
    assert trainer.school is not None
    frames, _ = trainer.rollout.collect(trainer.skill, trainer.sampling, teacher=True)
    assert torch.allclose(frames.optimal.sum(-1), torch.ones(()), atol=1e-5)
    assert (frames.optimal > 0).all()  # the planner would rule actions out
