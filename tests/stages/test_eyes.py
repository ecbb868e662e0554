"""Eyes learn to name what a picture shows, and a run resumes exactly."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from errands.agents.load import load_eyes
from errands.config import EyesTraining, Stage
from errands.stages.eyes import EyesTrainer
from errands.stages.run import iterate

SMALL = replace(
    EyesTraining(world="block"),
    worlds=256,
    minibatch=64,
    recognise=Stage(256 * 6, 2e-3, 2e-3),
    validate_every=256 * 3,
    validation_episodes=60,
)


@pytest.mark.slow
def test_eyes_learn_and_are_kept(tmp_path: Path) -> None:
    trainer = EyesTrainer(SMALL)
    reports = []
    while not trainer.finished:
        reports.append(iterate(trainer))
    losses = [report.losses["recognition"] for report in reports]
    assert losses[-1] < 0.5 * losses[0]
    validations = [report.validation for report in reports if report.validation]
    assert len(validations) == 2
    assert set(validations[0]) == {"success", "close_objects", "far_objects", "hidden"}
    trainer.save_agent(tmp_path, validations[-1])
    kept = load_eyes(tmp_path)
    for name, value in trainer.average.state_dict().items():
        assert torch.equal(kept.state_dict()[name], value)


@pytest.mark.slow
def test_a_run_resumes_exactly(tmp_path: Path) -> None:
    straight = EyesTrainer(SMALL)
    for _ in range(3):
        iterate(straight)
    straight.save(tmp_path)
    expected = iterate(straight)
    resumed = EyesTrainer(SMALL)
    assert resumed.resume(tmp_path) == []
    again = iterate(resumed)
    assert again.losses == expected.losses
    assert again.frames == expected.frames
    for a, b in zip(straight.model.parameters(), resumed.model.parameters(), strict=True):
        assert torch.equal(a, b)


def test_only_eyes_that_build_a_map_are_taken() -> None:
    for name in ("grid/skill-independent", "runs/nothing"):
        with pytest.raises(ValueError, match="errands train eyes"):
            load_eyes(name)
