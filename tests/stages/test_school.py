"""The school of RL teachers: it learns, advises each world rightly, and goes on exactly."""

import copy
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
from errands.worlds.spec import BLOCK, WORLDS, WorldSpec
from errands.worlds.vector import EpisodeStatistics
from twins.own_world import own_world

TEACHERS = {"grid": 30, "block": 12}


def training_in(world: str) -> SkillTraining:
    base = skill_training(world, "independent", "debug", teacher="rl")
    frames = TEACHERS[world] * 2 * base.steps  # of one iteration, with 2 worlds for each teacher
    return replace(
        base, teacher_worlds=2, teachers=Stage(2 * frames, 1e-3, 1e-3, 0.01), worlds=8, minibatch=4
    )


@pytest.fixture
def training() -> SkillTraining:
    return training_in("grid")


def school_for(training: SkillTraining, spec: WorldSpec | None = None) -> School:
    skill = SkillTrainer(training).skill  # with trained eyes, in the block world
    return School(spec or WORLDS[training.world], training, skill, seed=0)


@pytest.mark.parametrize("world", TEACHERS)
def test_an_iteration_moves_every_teacher(world: str) -> None:
    school = school_for(training_in(world))
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
    school = school_for(training)
    assert {worlds.setting.sizes for worlds in school.worlds} == {(7, 7)}
    school.curricula[3].restore({"largest": 7, "good_batches": curriculum.PATIENCE - 1})
    school.iterate(torch.Generator().manual_seed(0), 1e-3, 0.01)
    restored = school_for(training)
    restored.restore(school.snapshot())
    for grown in (school, restored):
        assert [worlds.setting.sizes for worlds in grown.worlds[2:5]] == [(7, 7), (7, 8), (7, 7)]


def test_a_teacher_explores_until_its_worlds_have_grown(training: SkillTraining) -> None:
    """The stage's weight of entropy has fallen to nothing; the first teacher alone is done."""
    training = replace(
        training, teachers=replace(training.teachers, entropy=100.0), teacher_epochs=1
    )
    school = school_for(training)
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

    school = school_for(training)
    nothing = [[ended([], 0.0)]] * 28
    statistics = school._look_back(
        [[ended([True] * 9, 0.5)], [ended([], 0.0), ended([False], -5.0)], *nothing]
    )
    assert (statistics.success, statistics.reward, statistics.episodes) == (0.5, -2.25, 10)


@pytest.mark.parametrize("world", TEACHERS)
def test_students_are_advised_by_the_teacher_of_their_subtask(world: str) -> None:
    """Who sees what they see: in the block world, their own map."""
    trainer = SkillTrainer(training_in(world))
    school = trainer.school
    assert school is not None
    with torch.no_grad():
        school.teachers.policy.weight.mul_(10)  # they differ clearly
    frames, _ = trainer.rollout.collect(trainer.skill, trainer.sampling, teacher=True)
    for t in (0, 3, 6):
        for i in range(trainer.training.worlds):
            (task,) = np.flatnonzero((school.codes == frames.subtasks[t, i].numpy()).all(axis=1))
            looked = frames.images[t, i].expand(TEACHERS[world], 1, *frames.images.shape[2:])
            with torch.no_grad():
                alone = torch.softmax(school.teachers(looked).logits[task, 0], dim=0)
            assert torch.allclose(frames.optimal[t, i], alone, atol=1e-5)


def test_teachers_see_a_map_of_their_own_episode() -> None:
    """What a plain loop sees with the same eyes, over worlds that begin again and again."""
    spec = replace(BLOCK, limits=replace(BLOCK.limits, skill=3))
    training = training_in("block")
    school = school_for(training, spec)
    batch, _ = school._collect(torch.Generator().manual_seed(0))
    assert batch["ended"].any()
    again = school_for(training, spec).worlds
    for k in (0, 7):
        worlds, begins = again[k], torch.ones(2, dtype=torch.bool)
        memory = school.eyes.initial_memory(2)
        acted = torch.zeros(2, dtype=torch.int64)
        for t in range(training.steps):
            images = torch.from_numpy(worlds.images.copy())
            looked, memory = school.eyes.look(images, acted, begins, memory)
            assert torch.equal(batch["looked"][t, k], looked)
            acted = batch["actions"][t, k]
            worlds.step(acted.numpy())
            ended = worlds.status > 0
            assert np.array_equal(batch["ended"][t, k].numpy(), ended)
            worlds.reset(ended)
            begins = torch.from_numpy(ended)


@pytest.mark.parametrize("world", TEACHERS)
def test_a_school_goes_on_exactly(world: str) -> None:
    """From its own snapshot, or on the grid from that of earlier code, which had no eyes in it."""
    training, random = training_in(world), torch.Generator().manual_seed(0)
    school = school_for(training)
    school.iterate(random, 1e-3, 0.01)
    snapshot = copy.deepcopy(school.snapshot())
    state = random.get_state()
    school.iterate(random, 1e-3, 0.01)
    expected = school.snapshot()
    earlier = {name: value for name, value in snapshot.items() if not name.startswith("eyes.")}
    for saved in (snapshot, earlier) if world == "grid" else (snapshot,):
        resumed = school_for(training)
        resumed.restore(copy.deepcopy(saved))
        random.set_state(state)
        resumed.iterate(random, 1e-3, 0.01)
        for name, tensor in resumed.snapshot().items():
            assert torch.equal(tensor, expected[name]), name


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
