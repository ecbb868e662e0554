"""Training runs of a few iterations, small enough to repeat them in every test."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import torch

from errands.config import MetaStage, MetaTraining, Preset, Scenario, SkillTraining, Stage
from errands.learning import checkpoint
from errands.presets import meta_training, skill_training
from errands.stages.trainer import Trainer

ITERATION = 8 * 4  # frames
LENGTH = 6  # iterations


def tiny(
    world: str = "grid",
    scenario: Scenario = "independent",
    preset: Preset = "debug",
    **changes: Any,
) -> SkillTraining:
    """A preset shrunk further: 3 iterations of distillation and 3 of fine-tuning."""
    full = skill_training(world, scenario, preset)
    small = replace(
        full,
        network=replace(full.network, embedding=6, conv2=4, conv3=4, hidden=8, factors=7, lstm=9),
        worlds=8,
        steps=4,
        minibatch=4,
        teachers=Stage(2 * ITERATION, 1e-2, 5e-3, entropy=0.01),
        teacher_worlds=1,
        distill=Stage(3 * ITERATION, 1e-2, 5e-3),
        finetune=Stage(3 * ITERATION, 1e-2, 5e-3, entropy=0.01),
        analogies=replace(full.analogies, samples=8),
        validate_every=2 * ITERATION,
        validation_episodes=4,
    )
    return replace(small, **changes)


def tiny_meta(
    world: str = "grid",
    agent: str = "dynamic",
    skill: str = "",
    without: Iterable[str] = (),
    preset: Preset = "debug",
    **changes: Any,
) -> MetaTraining:
    """A preset shrunk further: 2 iterations of each of the paper's three stages."""
    stage = MetaStage(2 * ITERATION, 1e-2, 5e-3, entropy=0.01)
    full = meta_training(world, agent, preset, skill=skill, without=without)
    sizes = {"embedding": 5, "sentence": 6, "condition": 7, "hidden": 8, "factors": 7}
    small = replace(
        full,
        network=replace(full.network, **sizes),
        worlds=8,
        steps=4,
        minibatch=4,
        epochs=2,
        stages=(
            replace(stage, forgiving=True, curriculum=True, events=3.0),
            stage,
            replace(stage, soft=False),
        ),
        analogies=replace(full.analogies, samples=8),
        validate_every=3 * ITERATION,
        validation_episodes=2,
    )
    return replace(small, **changes)


def everything(trainer: Trainer) -> dict[str, torch.Tensor]:
    """All that a run consists of, copied."""
    tensors = {f"model {key}": value for key, value in trainer.model.state_dict().items()}
    means = trainer.average.state_dict()
    tensors |= {f"average {key}": value for key, value in means.items()}
    moments = checkpoint.optimizer_tensors(trainer.optimizer)
    tensors |= {f"optimizer {key}": value for key, value in moments.items()}
    tensors |= {f"rollout {key}": value for key, value in trainer.rollout.snapshot().items()}
    for part, named in trainer.own_tensors().items():
        tensors |= {f"{part} {key}": value for key, value in named.items()}
    tensors["sampling"] = trainer.sampling.get_state()
    return {key: value.detach().clone() for key, value in tensors.items()}


def assert_same(trainer: Trainer, other: Trainer) -> None:
    """Bit by bit."""
    assert trainer.iteration == other.iteration
    tensors, expected = everything(trainer), everything(other)
    assert tensors.keys() == expected.keys()
    for key, value in expected.items():
        assert torch.equal(tensors[key], value), key
    assert trainer.shuffling.bit_generator.state == other.shuffling.bit_generator.state
    assert trainer.curriculum.facts() == other.curriculum.facts()
