"""A run that nothing interrupts, and a journal that does not wait."""

from pathlib import Path

import pytest

from errands.stages import journal
from errands.stages.skill import SkillTrainer
from twins.runs import run


@pytest.fixture
def always_due(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints and lines after every iteration, not by the clock."""
    monkeypatch.setattr(journal, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr(journal, "SECONDS_BETWEEN_LINES", 0.0)


@pytest.fixture(scope="session")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> tuple[SkillTrainer, Path]:
    folder = tmp_path_factory.mktemp("uninterrupted")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal, "SECONDS_BETWEEN_LINES", 0.0)
        patch.setattr(journal, "SECONDS_BETWEEN_CHECKPOINTS", 1000.0)
        return run(folder)[0], folder
