"""Equations 5, 6 and 8 on real frames: what each frame may and may not teach."""

from dataclasses import replace

import pytest
import torch

from errands.agents.meta import MetaController, MetaOutput
from errands.agents.skill import Skill
from errands.config import SkillTraining
from errands.learning import losses
from errands.learning.advantages import Credit, assign_credit, generalised_advantages
from errands.learning.meta_rollout import MetaFrames
from errands.learning.objectives import (
    CONTRAST_EVERY,
    actor_critic,
    contrast,
    distillation,
    meta_actor_critic,
)
from errands.learning.rollout import SkillFrames
from errands.stages.meta import MetaTrainer
from errands.stages.skill import SkillTrainer
from twins.training import tiny, tiny_meta


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


TRAINING = tiny(steps=12)
TERMINATION = {"alpha": 0.7, "positive_weight": 2.0}
WEIGHTS = {"discount": TRAINING.discount, "trace": TRAINING.trace}


@pytest.fixture(scope="module")
def batch() -> tuple[Skill, SkillFrames]:
    return batch_of(TRAINING)


def test_distillation_terms(batch: tuple[Skill, SkillFrames]) -> None:
    skill, frames = batch
    output, _ = skill.unroll(frames.images, frames.subtasks, frames.begins, frames.memory)
    terms = distillation(skill, frames, **TERMINATION)
    assert terms.keys() == {"kl", "termination"}
    kl = losses.distillation(frames.optimal, output.logits, frames.running)
    assert terms["kl"].item() == pytest.approx(kl.item(), rel=1e-5)
    told = losses.termination(output.termination, frames.finished, 2.0)
    assert terms["termination"].item() == pytest.approx(0.7 * told.item(), rel=1e-5)


@pytest.mark.parametrize(("world", "every"), [("grid", 1), ("block", CONTRAST_EVERY)])
def test_contrast_is_the_signal_for_what_was_not_asked(world: str, every: int) -> None:
    """Frame by frame: finished is what the last step did, whatever the skill was asked for."""
    skill, frames = batch_of(tiny(world=world, steps=12))
    others = frames.subtasks.flip(1)  # another world's
    did = frames.did.clone()
    did[0, 0] = others[0, 0, :2]
    told = contrast(skill, replace(frames, did=did), others, others[..., :2], positive_weight=2.0)
    some = slice(None, None, every)
    output, _ = skill.unroll(frames.images[some], others[some], frames.begins[some], frames.memory)
    finished = [
        [did[t, i].tolist() == others[t, i, :2].tolist() for i in range(did.shape[1])]
        for t in range(0, len(did), every)
    ]
    assert finished[0][0]
    assert not all(map(all, finished))
    expected = losses.termination(output.termination, torch.tensor(finished), 2.0)
    assert told.item() == pytest.approx(expected.item(), rel=1e-5)


def test_an_episodes_last_frame_teaches_no_action(batch: tuple[Skill, SkillFrames]) -> None:
    skill, frames = batch
    optimal = frames.optimal.clone()
    optimal[~frames.running] = torch.eye(13)[5]
    changed = replace(frames, optimal=optimal)
    before = distillation(skill, frames, **TERMINATION)["kl"]
    assert distillation(skill, changed, **TERMINATION)["kl"].item() == before.item()


def test_frames_without_a_way_teach_no_action(batch: tuple[Skill, SkillFrames]) -> None:
    """Where the target cannot be reached the planner marks nothing, which is no distribution."""
    skill, frames = batch
    lost = frames.running & (torch.rand(frames.running.shape) < 0.5)
    optimal = torch.where(lost[..., None], 0.0, frames.optimal)
    output, _ = skill.unroll(frames.images, frames.subtasks, frames.begins, frames.memory)
    expected = losses.distillation(frames.optimal, output.logits, frames.running & ~lost)
    kl = distillation(skill, replace(frames, optimal=optimal), **TERMINATION)["kl"]
    assert kl.item() == pytest.approx(expected.item(), rel=1e-5)
    nothing = replace(frames, optimal=torch.zeros_like(optimal))
    assert distillation(skill, nothing, **TERMINATION)["kl"].item() == 0.0


def test_termination_is_also_taught_on_last_frames(batch: tuple[Skill, SkillFrames]) -> None:
    skill, frames = batch
    changed = replace(frames, finished=frames.finished ^ ~frames.running)
    before = distillation(skill, frames, **TERMINATION)["termination"]
    assert distillation(skill, changed, **TERMINATION)["termination"].item() != before.item()


def test_counted_skills_are_told_of_deeds() -> None:
    training = tiny("grid", "inter-extrapolation", steps=12)
    skill, frames = batch_of(training)
    terms = distillation(skill, frames, **TERMINATION)
    output, _ = skill.unroll(frames.images, frames.subtasks, frames.begins, frames.memory)
    expected = 0.7 * losses.termination(output.deed, frames.deeds)
    assert terms["deed"].item() == pytest.approx(expected.item(), rel=1e-5)


def test_advantages_have_unit_variance_where_something_is_decided(
    batch: tuple[Skill, SkillFrames],
) -> None:
    _, frames = batch
    scaled, returns = assign_credit(frames, **WEIGHTS)
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
    _, before = assign_credit(frames, **WEIGHTS)
    _, after = assign_credit(replace(frames, rewards=rewards), **WEIGHTS)
    assert torch.equal(before[: t + 1, world], after[: t + 1, world])
    assert after[t + 2, world] > before[t + 2, world] + 50


def test_actor_critic_terms(batch: tuple[Skill, SkillFrames]) -> None:
    skill, frames = batch
    earned = assign_credit(frames, **WEIGHTS)
    terms = actor_critic(
        skill, frames, earned, **TERMINATION, clip=0.2, value_weight=0.3, entropy_weight=0.5
    )
    output, _ = skill.unroll(frames.images, frames.subtasks, frames.begins, frames.memory)
    running = frames.running
    # The network is still the one that acted: every ratio is 1, and the mean advantage 0.
    assert terms["policy"].item() == pytest.approx(0, abs=1e-4)
    error = (output.value - earned.returns)[running].square().mean()
    assert terms["value"].item() == pytest.approx(0.3 * error.item(), rel=1e-4)
    spread = torch.distributions.Categorical(logits=output.logits[running]).entropy().mean()
    assert terms["entropy"].item() == pytest.approx(-0.5 * spread.item(), rel=1e-4)
    told = losses.termination(output.termination, frames.finished, 2.0)
    assert terms["termination"].item() == pytest.approx(0.7 * told.item(), rel=1e-5)


def test_policy_gradient_makes_good_actions_likelier(batch: tuple[Skill, SkillFrames]) -> None:
    skill, frames = batch
    earned = assign_credit(frames, **WEIGHTS)
    terms = actor_critic(
        skill, frames, earned, **TERMINATION, clip=0.2, value_weight=0.3, entropy_weight=0.0
    )
    (gradient,) = torch.autograd.grad(terms["policy"], skill.policy.bias)
    output, _ = skill.unroll(frames.images, frames.subtasks, frames.begins, frames.memory)
    chosen = torch.nn.functional.one_hot(frames.actions, 13) - output.logits.softmax(-1)
    by_hand = -(chosen * earned.advantages[..., None])[frames.running].mean(0)  # -grad log pi(a) A
    torch.testing.assert_close(gradient, by_hand.detach(), rtol=1e-3, atol=1e-5)


# The meta controller's


@pytest.fixture(scope="module")
def batches() -> dict[str, tuple[MetaTrainer, MetaFrames]]:
    told = {}
    for agent in ("dynamic", "long", "flat"):
        trainer = MetaTrainer(tiny_meta(agent=agent, steps=6))
        trainer.meta.eval()
        for _ in range(3):
            frames, _ = trainer.rollout.collect(trainer.hierarchy, trainer.sampling, soft=False)
        told[agent] = trainer, frames
    return told


@pytest.mark.parametrize("agent", ["dynamic", "long", "flat"])
def test_decisions_that_are_reconsidered_at_once_are_as_likely_as_they_were(
    batches: dict[str, tuple[MetaTrainer, MetaFrames]], agent: str
) -> None:
    trainer, frames = batches[agent]
    with torch.no_grad():
        output = reconsidered(trainer.meta, frames, soft=False)
    torch.testing.assert_close(output.log_probability, frames.log_probabilities)
    torch.testing.assert_close(output.value, frames.values)
    assert output.pointer.shape == (6, 8, 4)


def reconsidered(meta: MetaController, frames: MetaFrames, *, soft: bool) -> MetaOutput:
    return meta.reconsider(frames.given, frames.before, frames.decision, soft=soft)


@pytest.mark.parametrize("soft", [True, False])
def test_terms_of_the_objective_on_the_batch_that_was_just_met(soft: bool) -> None:
    """Nothing has changed yet, so the policy's ratio is one everywhere."""
    training = tiny_meta(steps=40)
    trainer = MetaTrainer(training)
    meta = trainer.meta.eval()
    frames, _ = trainer.rollout.collect(trainer.hierarchy, trainer.sampling, soft=soft)
    running = frames.running
    assert not running.all()
    random = torch.Generator().manual_seed(0)
    advantages, returns = (torch.randn(running.shape, generator=random) for _ in range(2))
    weights = {"eta": 0.3, "clip": 0.2, "value_weight": 0.7, "entropy_weight": 0.5}
    terms = meta_actor_critic(meta, frames, Credit(advantages, returns), soft=soft, **weights)
    output = reconsidered(meta, frames, soft=soft)
    expected = {
        "policy": -advantages[running].mean(),
        "value": 0.7 * (frames.values - returns)[running].square().mean(),
        "entropy": -0.5 * output.entropy[running].mean(),
        "updates": 0.3 * output.update[running & output.free].mean(),
    }
    assert terms.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(terms[name], value, rtol=1e-4, atol=1e-5)
    # Where nothing was decided, nothing counts.
    noise = torch.where(running, 0.0, 99.0)
    noisy = Credit(advantages + noise, returns + noise)
    for name, value in meta_actor_critic(meta, frames, noisy, soft=soft, **weights).items():
        torch.testing.assert_close(value, terms[name])


def test_what_paid_becomes_likelier() -> None:
    """Actor-critic on one batch, where an advantage is given to one verb."""
    training = tiny_meta(network=replace(tiny_meta().network, noise=0.0))
    trainer = MetaTrainer(training)
    frames, _ = trainer.rollout.collect(trainer.hierarchy, trainer.sampling, soft=True)
    verbs = frames.decision.g[..., 0]
    advantages = torch.where(verbs == 1, 1.0, -1.0)

    def chance() -> float:
        with torch.no_grad():
            return reconsidered(trainer.meta, frames, soft=True).log_probability[verbs == 1].mean()

    before = chance()
    trainer.set_rate(1e-2)
    for _ in range(5):
        terms = trainer.objective(frames, Credit(advantages, frames.values), trainer.phase())
        trainer.minimise({"policy": terms["policy"]})
    assert chance() > before
