"""A training run from top to bottom: rollout, advantages, objective, step, validate, save.

What is trained, in which worlds and by which objective is up to a `Trainer`: a skill's (skill.py)
or a meta controller's (meta.py).
"""

import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from errands.config import Training
from errands.files import remove_leftovers
from errands.interrupts import Interrupted, noted_signals
from errands.learning import distributed
from errands.stages.journal import Journal, claim, sole_use
from errands.stages.trainer import IterationReport, Trainer

T = TypeVar("T", bound=Trainer[Any, Any])


def train(
    make_trainer: Callable[[], T],
    training: Training,
    folder: Path,
    *,
    on_report: Callable[[T, IterationReport], None],
    on_message: Callable[[str], None],
) -> T:
    """Begin or resume a run in a folder, with what the trainer needs to resume and the best agent.

    `on_report` hears of every iteration, and `on_message` what a person should know. Ctrl-C and
    SIGTERM let the current iteration finish, and save it.
    """
    distributed.join()
    with sole_use(folder, on_message):
        claim(folder, training)
        remove_leftovers(folder)
        return _train(make_trainer, folder, on_report, on_message)


def _train(
    make_trainer: Callable[[], T],
    folder: Path,
    on_report: Callable[[T, IterationReport], None],
    on_message: Callable[[str], None],
) -> T:
    trainer = make_trainer()
    for complaint in trainer.resume(folder):
        on_message(f"{complaint}; resuming from the previous checkpoint")
    if trainer.frames:
        on_message(f"resuming from frame {trainer.frames:,}")
    journal = Journal(folder, trainer)
    whole = True  # half an iteration could not be resumed exactly, so it is never saved
    try:
        with noted_signals() as noted:
            while not trainer.finished:
                whole = False
                report = iterate(trainer)
                journal.write(report)
                whole = True
                on_report(trainer, report)
                if distributed.mean(len(noted)):  # any process's signal ends all of them together
                    raise Interrupted(noted[0] if noted else signal.SIGTERM)
    finally:
        journal.close(save=whole)
    return trainer


def iterate(trainer: Trainer[Any, Any]) -> IterationReport:
    """Collect one batch and learn from it."""
    if report := trainer.train_teachers():
        return report
    start = time.perf_counter()
    phase = trainer.phase()
    trainer.set_rate(phase.learning_rate)

    trainer.model.eval()
    frames, figures = trainer.collect(phase)
    credit = trainer.credit(frames, phase)

    trainer.model.train()
    terms = []
    for group in trainer.minibatches():
        part, earned = frames.worlds(group), credit and credit.worlds(group)
        objective = trainer.objective(part, earned, phase)
        terms.append(trainer.minimise(objective | trainer.analogy_term()))

    trainer.iteration += 1
    figures |= trainer.move_on(figures)
    validation = trainer.validate(phase) if trainer.is_time_to_validate() else None
    is_best = validation is not None and trainer.selection.takes(validation)
    trainer.seconds += time.perf_counter() - start
    return IterationReport(
        phase.name,
        trainer.frames,
        figures,
        _means(terms),
        phase.learning_rate,
        validation,
        is_best,
    )


def _means(steps: list[dict[str, float]]) -> dict[str, float]:
    """The mean of each term over the steps of the optimizer."""
    return {name: float(np.mean([step[name] for step in steps])) for name in sorted(steps[0])}
