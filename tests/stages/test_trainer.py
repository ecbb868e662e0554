"""Learning a skill: the stages in order, what they lower, and going on exactly."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from errands.agents.skill import Skill
from errands.config import SkillTraining, Stage
from errands.learning.losses import analogy_terms
from errands.presets import skill_training
from errands.stages.run import iterate
from errands.stages.skill import SkillTrainer
from errands.worlds.spec import BLOCK, SMALLEST, WORLDS
from errands.worlds.tasks import analogies as analogies_of
from twins.training import ITERATION, LENGTH, assert_same, everything, tiny

PAPER = {
    "network": replace(
        tiny().network, view="pooled", around_one=False, noise=0.0, same_eyes=False, narrow=0
    ),
    "optimizer": "rmsprop",
    "minibatch": 8,
    "curriculum": True,
}
RUNS = {
    "grid": tiny(),
    "grid, object-dependent": tiny("grid", "object-dependent"),
    "grid, counted": tiny("grid", "inter-extrapolation"),
    "block": tiny("block", "independent"),
    "block, in lists": tiny("block", in_lists=True),
    "block, counted": tiny("block", "inter-extrapolation"),
    "block, paper": tiny("block", preset="paper"),
    "paper": tiny(**PAPER),
    "block, reward alone": tiny(
        "block", teacher="none", distill=Stage(0, 1e-3, 1e-3), curriculum=True
    ),
    "reward alone": tiny(
        teacher="none", distill=Stage(0, 1e-3, 1e-3), epochs=2, curriculum=True, analogy=False
    ),
}


def iterated(training: SkillTraining, iterations: int) -> SkillTrainer:
    trainer = SkillTrainer(training)
    for _ in range(iterations):
        iterate(trainer)
    return trainer


@pytest.mark.parametrize("training", RUNS.values(), ids=RUNS.keys())
def test_stopped_and_resumed_is_the_same_as_never_stopped(
    training: SkillTraining, tmp_path: Path
) -> None:
    """Whether it stopped within the first stage or between the two."""
    never_stopped = SkillTrainer(training)
    for stop in (1, 3):
        while never_stopped.iteration < stop:
            iterate(never_stopped)
        never_stopped.save(tmp_path)
        noise = torch.get_rng_state()  # of the process, so it is shared by both
        torch.manual_seed(99)  # whatever the new process has done before
        resumed = SkillTrainer(training)
        assert resumed.resume(tmp_path) == []
        assert_same(resumed, never_stopped)
        reports = [iterate(resumed) for _ in range(2)]
        torch.set_rng_state(noise)
        assert reports == [iterate(never_stopped) for _ in range(2)]
        assert_same(resumed, never_stopped)
        assert reports[-1].frames == (stop + 2) * ITERATION


def test_saving_and_validating_change_nothing(tmp_path: Path) -> None:
    plain = iterated(tiny(validate_every=100 * ITERATION), 3)
    watched = SkillTrainer(tiny(validate_every=ITERATION))
    for _ in range(3):
        assert iterate(watched).validation is not None
        watched.save(tmp_path)
    assert_same(watched, plain)


def test_the_curriculum_goes_on_too(tmp_path: Path) -> None:
    training = tiny(curriculum=True)
    trainer = iterated(training, 1)
    trainer.curriculum.restore({"largest": SMALLEST + 2, "good_batches": 3})
    trainer.save(tmp_path)
    resumed = SkillTrainer(training)
    assert resumed.rollout.worlds.setting.sizes == (SMALLEST, SMALLEST)
    resumed.resume(tmp_path)
    assert resumed.rollout.worlds.setting.sizes == (SMALLEST, SMALLEST + 2)
    assert resumed.curriculum.facts() == trainer.curriculum.facts()


def test_every_other_batch_is_of_lists_where_that_is_wanted() -> None:
    trainer = SkillTrainer(tiny("block", in_lists=True))
    assert trainer.in_lists is not None
    assert trainer.in_lists.worlds.longest == BLOCK.limits.train_length
    assert trainer.in_lists.worlds.setting.event  # they happen, and pay no more than any step
    assert trainer.in_lists.worlds.rules["reward_event"] == BLOCK.rewards.step
    rollouts = {"subtasks": trainer.rollout, "lists": trainer.in_lists}
    stepped: list[str] = []
    for name, rollout in rollouts.items():

        def collect(
            *arguments: Any, _name: str = name, _plain: Any = rollout.collect, **options: Any
        ) -> Any:
            stepped.append(_name)
            return _plain(*arguments, **options)

        rollout.collect = collect  # type: ignore[method-assign]
    reports = [iterate(trainer) for _ in range(4)]
    assert stepped == ["subtasks", "lists"] * 2
    validations = [report.validation for report in reports if report.validation]
    assert all(0.0 <= said["lists"] <= 1.0 for said in validations)
    assert SkillTrainer(tiny("block")).in_lists is None
    remembering = skill_training("block", "independent", in_lists=True)
    assert remembering.in_lists
    assert remembering.network.remembers
    assert not skill_training("block", "independent").network.remembers


def test_nothing_to_resume_is_a_start(tmp_path: Path) -> None:
    trainer = SkillTrainer(tiny())
    before = everything(trainer)
    assert trainer.resume(tmp_path) == []
    assert trainer.iteration == 0
    assert all(torch.equal(before[key], value) for key, value in everything(trainer).items())


def test_seeds_make_the_difference() -> None:
    same, other = iterated(tiny(), 1), iterated(tiny(seed=1), 1)
    assert_same(iterated(tiny(), 1), same)
    assert not torch.equal(same.skill.policy.weight, other.skill.policy.weight)
    assert not np.array_equal(same.rollout.worlds.images, other.rollout.worlds.images)


def test_stages_follow_one_another_and_rates_fall() -> None:
    trainer = SkillTrainer(tiny())
    reports = []
    while not trainer.finished:
        reports.append(iterate(trainer))
        assert trainer.optimizer.param_groups[0]["lr"] == reports[-1].learning_rate
    assert [report.stage for report in reports] == ["distill"] * 3 + ["finetune"] * 3
    assert [report.frames for report in reports] == [k * ITERATION for k in range(1, LENGTH + 1)]
    falling = [1e-2, 1e-2 - 5e-3 / 3, 1e-2 - 10e-3 / 3]
    assert [report.learning_rate for report in reports] == pytest.approx(falling * 2)
    assert reports[0].losses.keys() == {"kl", "termination", "analogy"}
    assert reports[3].losses.keys() == {"policy", "value", "entropy", "termination", "analogy"}
    assert reports[3].losses["entropy"] < 0  # its weight falls to zero half-way
    assert reports[5].losses["entropy"] == 0
    looked = [report.frames // ITERATION for report in reports if report.validation]
    assert looked == [2, 4, 6]


def test_the_last_iteration_is_validated_whatever_the_interval() -> None:
    trainer = SkillTrainer(tiny(validate_every=5 * ITERATION))
    looked = [iterate(trainer).validation is not None for _ in range(LENGTH)]
    assert looked == [False, False, False, False, True, True]


def test_without_analogy_there_is_no_such_term() -> None:
    assert "analogy" not in iterate(SkillTrainer(tiny(analogy=False))).losses


@pytest.mark.parametrize("world", ["grid", "block"])
def test_the_papers_preset_keeps_the_papers_numbers(world: str) -> None:
    paper = skill_training(world, "independent", "paper")
    assert (paper.discount, paper.trace, paper.termination) == (0.99, 0.96, 0.1)
    assert paper.analogies.threshold == 3
    assert paper.worlds == paper.minibatch == 16 * 8
    assert (paper.network.noise, paper.averaging, paper.positive_weight) == (0.0, 0.0, 1.0)
    rates = paper.distill.learning_rate, paper.finetune.learning_rate, paper.finetune.entropy
    assert rates == ((1e-3, 1e-4, 0.01) if world == "grid" else (2.5e-4, 1e-4, 0.1))
    optimizer = SkillTrainer(replace(paper, worlds=8)).optimizer
    assert isinstance(optimizer, torch.optim.RMSprop)
    assert (optimizer.defaults["alpha"], optimizer.defaults["eps"]) == (0.97, 1e-6)


def test_a_description_rebuilds_the_network() -> None:
    trainer = SkillTrainer(tiny("grid", "inter-extrapolation"))
    description = trainer.description()
    network = type(trainer.training.network)(**description["network"])
    Skill(network).load_state_dict(trainer.skill.state_dict())
    assert description["training"]["scenario"] == "inter-extrapolation"


def weights_of(skill: Skill) -> torch.Tensor:
    return torch.nn.utils.parameters_to_vector(skill.parameters()).detach()


def test_what_is_validated_and_shipped_is_a_running_mean() -> None:
    """With one update an iteration: the first is taken as it is, and the decay grows from there."""
    trainer = SkillTrainer(tiny(minibatch=8, averaging=0.6))
    mean = torch.zeros(())
    for decay in (0.0, 0.5, 0.6, 0.6):
        iterate(trainer)
        mean = decay * mean + (1 - decay) * weights_of(trainer.skill)
        torch.testing.assert_close(weights_of(trainer.average), mean, rtol=1e-4, atol=1e-6)
    plain = iterated(tiny(averaging=0.0), 2)
    assert torch.equal(weights_of(plain.average), weights_of(plain.skill))


# What the debug preset learns in a few iterations

SAMPLED = 512


def similarity(trainer: SkillTrainer) -> float:
    """L_sim on analogies drawn once and for all."""
    analogies, random = analogies_of(WORLDS["grid"], "independent"), np.random.default_rng(0)
    similar, dissimilar, different = (
        torch.from_numpy(analogies.sample(kind, SAMPLED, random).astype(np.int64))
        for kind in ("sim", "dis", "diff")
    )
    with torch.no_grad():
        terms = analogy_terms(trainer.skill.embedding, similar, dissimilar, different, 3.0)
    return terms["sim"].item()


@pytest.mark.slow
def test_distillation_lowers_kl_and_analogies_lower_their_loss() -> None:
    trainer = SkillTrainer(skill_training("grid", "independent", "debug"))
    before = similarity(trainer)
    divergences = [iterate(trainer).losses["kl"] for _ in range(40)]
    first, last = np.mean(divergences[:5]), np.mean(divergences[-5:])
    assert last < 0.8 * first
    assert similarity(trainer) < 0.9 * before


def test_without_the_objective_analogies_do_not_come_by_themselves() -> None:
    trainer = SkillTrainer(skill_training("grid", "independent", "debug", analogy=False))
    before = similarity(trainer)
    for _ in range(5):
        iterate(trainer)
    assert similarity(trainer) > 0.98 * before


def test_a_skill_begins_with_the_weights_of_a_trained_one(tmp_path: Path) -> None:
    first = SkillTrainer(skill_training("grid", "independent", "debug"))
    iterate(first)
    first.save_agent(tmp_path, {"success": 0.0})
    training = skill_training("grid", "independent", "debug", start=str(tmp_path), seed=1)
    second = SkillTrainer(training)
    taken, given = second.skill.state_dict(), first.average.state_dict()
    assert all(torch.equal(taken[name], given[name]) for name in given)
    assert second.phase().name == "finetune"  # nothing is left to distil
    assert second.total_frames == training.finetune.frames


def test_a_skill_begins_with_no_skill_of_another_kind() -> None:
    training = skill_training("grid", "independent", "debug", start="block/skill-independent")
    with pytest.raises(ValueError, match="not built like the one to train"):
        SkillTrainer(training)
