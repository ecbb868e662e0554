"""The two stages' losses on real frames: what each frame may and may not teach."""

from dataclasses import replace

import pytest
import torch

from errands.agents.skill import Skill
from errands.config import SkillTraining
from errands.learning import losses
from errands.learning.advantages import advantages_and_returns, generalised_advantages
from errands.learning.rollout import SkillFrames
from errands.stages.distill import distillation_losses
from errands.stages.finetune import actor_critic_losses
from errands.stages.skill import SkillTrainer
from twins.training import tiny


def batch_of(training: SkillTraining) -> tuple[Skill, SkillFrames]:
    """Frames among which some end episodes: the step limit is met soon."""
    trainer = SkillTrainer(training)
    worlds = trainer.rollout.worlds
    worlds.change_tasks(replace(worlds.tasks, step_limit=3))
    worlds.reset()
    skill = trainer.skill.eval()  # without noise, as in training
    frames, _ = trainer.rollout.collect(skill, trainer.sampling, teacher=True)
    assert not frames.running.all()
    return skill, frames


TRAINING = tiny(steps=12, termination=0.7, positive_weight=2.0, value=0.3)
WEIGHTS = {"discount": TRAINING.discount, "trace": TRAINING.trace}


@pytest.fixture(scope="module")
def batch() -> tuple[Skill, SkillFrames]:
    return batch_of(TRAINING)


def test_distillation_terms(batch: tuple[Skill, SkillFrames]) -> None:
    skill, frames = batch
    output, _ = skill.unroll(frames.images, frames.subtasks, frames.begins, frames.memory)
    terms = distillation_losses(skill, frames, TRAINING)
    assert terms.keys() == {"kl", "termination"}
    kl = losses.distillation(frames.optimal, output.logits, frames.running)
    assert terms["kl"].item() == pytest.approx(kl.item(), rel=1e-5)
    told = losses.termination(output.termination, frames.finished, 2.0)
    assert terms["termination"].item() == pytest.approx(0.7 * told.item(), rel=1e-5)


def test_an_episodes_last_frame_teaches_no_action(batch: tuple[Skill, SkillFrames]) -> None:
    skill, frames = batch
    optimal = frames.optimal.clone()
    optimal[~frames.running] = torch.eye(13)[5]
    changed = replace(frames, optimal=optimal)
    before = distillation_losses(skill, frames, TRAINING)["kl"]
    assert distillation_losses(skill, changed, TRAINING)["kl"].item() == before.item()


def test_frames_without_a_way_teach_no_action(batch: tuple[Skill, SkillFrames]) -> None:
    """Where the target cannot be reached the planner marks nothing, which is no distribution."""
    skill, frames = batch
    lost = frames.running & (torch.rand(frames.running.shape) < 0.5)
    optimal = torch.where(lost[..., None], 0.0, frames.optimal)
    output, _ = skill.unroll(frames.images, frames.subtasks, frames.begins, frames.memory)
    expected = losses.distillation(frames.optimal, output.logits, frames.running & ~lost)
    kl = distillation_losses(skill, replace(frames, optimal=optimal), TRAINING)["kl"]
    assert kl.item() == pytest.approx(expected.item(), rel=1e-5)
    nothing = replace(frames, optimal=torch.zeros_like(optimal))
    assert distillation_losses(skill, nothing, TRAINING)["kl"].item() == 0.0


def test_termination_is_also_taught_on_last_frames(batch: tuple[Skill, SkillFrames]) -> None:
    skill, frames = batch
    changed = replace(frames, finished=frames.finished ^ ~frames.running)
    before = distillation_losses(skill, frames, TRAINING)["termination"]
    assert distillation_losses(skill, changed, TRAINING)["termination"].item() != before.item()


def test_counted_skills_are_told_of_deeds() -> None:
    training = tiny("grid", "inter-extrapolation", steps=12)
    skill, frames = batch_of(training)
    terms = distillation_losses(skill, frames, training)
    output, _ = skill.unroll(frames.images, frames.subtasks, frames.begins, frames.memory)
    expected = training.termination * losses.termination(output.deed, frames.deeds)
    assert terms["deed"].item() == pytest.approx(expected.item(), rel=1e-5)


def test_advantages_have_unit_variance_where_something_is_decided(
    batch: tuple[Skill, SkillFrames],
) -> None:
    _, frames = batch
    scaled, returns = advantages_and_returns(frames, **WEIGHTS)
    decided = scaled[frames.running]
    assert decided.mean().item() == pytest.approx(0, abs=1e-5)
    assert decided.std().item() == pytest.approx(1, abs=1e-4)
    plain = generalised_advantages(
        frames.rewards,
        frames.values,
        frames.next_values,
        frames.done,
        frames.ended,
        **WEIGHTS,
    )
    expected = (plain + frames.values)[frames.running]
    torch.testing.assert_close(returns[frames.running], expected)


def test_episodes_do_not_leak_into_one_another(batch: tuple[Skill, SkillFrames]) -> None:
    """A fortune in the next episode leaves the return of this one as it was."""
    _, frames = batch
    (t, world), *_ = torch.nonzero(frames.ended[:-3]).tolist()
    rewards = frames.rewards.clone()
    rewards[t + 2 :, world] += 100.0
    _, before = advantages_and_returns(frames, **WEIGHTS)
    _, after = advantages_and_returns(replace(frames, rewards=rewards), **WEIGHTS)
    assert torch.equal(before[: t + 1, world], after[: t + 1, world])
    assert after[t + 2, world] > before[t + 2, world] + 50


def test_actor_critic_terms(batch: tuple[Skill, SkillFrames]) -> None:
    skill, frames = batch
    advantages, returns = advantages_and_returns(frames, **WEIGHTS)
    terms = actor_critic_losses(skill, frames, advantages, returns, TRAINING, 0.5)
    output, _ = skill.unroll(frames.images, frames.subtasks, frames.begins, frames.memory)
    running = frames.running
    # The network is still the one that acted: every ratio is 1, and the mean advantage 0.
    assert terms["policy"].item() == pytest.approx(0, abs=1e-4)
    error = (output.value - returns)[running].square().mean()
    assert terms["value"].item() == pytest.approx(0.3 * error.item(), rel=1e-4)
    spread = torch.distributions.Categorical(logits=output.logits[running]).entropy().mean()
    assert terms["entropy"].item() == pytest.approx(-0.5 * spread.item(), rel=1e-4)
    told = losses.termination(output.termination, frames.finished, 2.0)
    assert terms["termination"].item() == pytest.approx(0.7 * told.item(), rel=1e-5)


def test_policy_gradient_makes_good_actions_likelier(batch: tuple[Skill, SkillFrames]) -> None:
    skill, frames = batch
    advantages, returns = advantages_and_returns(frames, **WEIGHTS)
    terms = actor_critic_losses(skill, frames, advantages, returns, TRAINING, 0.0)
    (gradient,) = torch.autograd.grad(terms["policy"], skill.policy.bias)
    output, _ = skill.unroll(frames.images, frames.subtasks, frames.begins, frames.memory)
    chosen = torch.nn.functional.one_hot(frames.actions, 13) - output.logits.softmax(-1)
    by_hand = -(chosen * advantages[..., None])[frames.running].mean(0)  # -grad log pi(a) A
    torch.testing.assert_close(gradient, by_hand.detach(), rtol=1e-3, atol=1e-5)
