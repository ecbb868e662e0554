"""Whole runs of a tiny skill, with the folder that they write."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from errands.config import SkillTraining
from errands.stages.journal import LOG
from errands.stages.run import train
from errands.stages.skill import SkillTrainer
from errands.stages.trainer import IterationReport
from twins.training import tiny


def ignore(trainer: SkillTrainer, report: IterationReport) -> None:
    pass


def run(
    folder: Path,
    training: SkillTraining | None = None,
    on_report: Callable[[SkillTrainer, IterationReport], None] = ignore,
) -> tuple[SkillTrainer, list[str]]:
    messages: list[str] = []
    wanted = training or tiny()
    trainer = train(
        lambda: SkillTrainer(wanted),
        wanted,
        folder,
        on_report=on_report,
        on_message=messages.append,
    )
    return trainer, messages


def stop_after(iterations: int) -> Callable[[SkillTrainer, IterationReport], None]:
    """As if Ctrl-C were pressed then."""

    def watch(trainer: SkillTrainer, report: IterationReport) -> None:
        if trainer.iteration == iterations:
            raise KeyboardInterrupt

    return watch


def lines_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / LOG).read_text().splitlines()]
