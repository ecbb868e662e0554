"""Stage: eyes. A recogniser learns to name what stands on each cell that a picture shows.

Plain supervised learning on views of random maps. The labels come from the world, as those of the
termination signal do; at run time the recogniser sees pictures alone.
"""

import time
from dataclasses import asdict
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from errands.agents.mapping import Recogniser
from errands.config import EyesTraining
from errands.learning import distributed
from errands.seeds import VALIDATION_SEEDS
from errands.stages.trainer import Report, Trainer, mean_terms
from errands.worlds.scenes import HIDDEN, NOTHING_THERE, UNCLEAR, Scenes, Views
from errands.worlds.spec import WORLDS, WorldSpec

FIRST_OBJECT_LABEL = NOTHING_THERE + 2
CLOSE = 4  # cells ahead that count as close in what is reported


class NoRollout:
    """Views are drawn one by one: nothing goes on from one batch to the next."""

    def snapshot(self) -> dict[str, Tensor]:
        return {}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        assert not tensors


class NoCurriculum:
    def facts(self) -> dict[str, int]:
        return {}

    def restore(self, facts: dict[str, int]) -> None:
        assert not facts


class EyesTrainer(Trainer):
    """Everything that changes while eyes learn."""

    training: EyesTraining
    average: Recogniser

    def __init__(
        self, training: EyesTraining, device: str = "cpu", spec: WorldSpec | None = None
    ) -> None:
        self.spec = spec or WORLDS[training.world]
        torch.manual_seed(training.seed)
        network = training.network
        super().__init__(training, Recogniser(network, len(self.spec.objects)), device, None)
        self.scenes = Scenes(self.spec, network.ahead, network.aside)
        self.rollout, self.curriculum = NoRollout(), NoCurriculum()
        self.unseen = self.scenes.draw(
            training.validation_episodes, np.random.default_rng(VALIDATION_SEEDS)
        )

    @property
    def total_frames(self) -> int:
        return self.training.recognise.frames

    def iterate(self) -> Report:
        start = time.perf_counter()
        rate = self.training.recognise.rate(self.frames / self.total_frames)
        self.set_rate(rate)
        views = self.scenes.draw(self.training.frames_per_iteration, self.shuffling)
        steps, right, shown = [], 0, 0
        for part in torch.split(torch.arange(len(views.images)), self.training.minibatch):
            named, labels = self._name(cast(Recogniser, self.model), views, part)
            loss = F.cross_entropy(named.flatten(0, 1), labels.flatten(), ignore_index=UNCLEAR)
            steps.append(self.minimise({"recognition": loss}))
            visible = labels > HIDDEN
            right += int((named.argmax(dim=2) == labels)[visible].sum())
            shown += int(visible.sum())
        self.iteration += 1
        validation = self._validate() if self.is_time_to_validate() else None
        self.seconds += time.perf_counter() - start
        rollout = {"success": distributed.mean(right / max(shown, 1))}
        return Report("eyes", self.frames, rollout, mean_terms(steps), rate, validation)

    def _name(self, eyes: Recogniser, views: Views, part: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (B, cells, classes) and labels (B, cells) of some of the views."""
        images, pitch, labels = (torch.from_numpy(item)[part].to(self.device) for item in views)
        return eyes(images, pitch), labels

    @torch.no_grad()
    def _validate(self) -> dict[str, float]:
        """Share of the cells shown that are named rightly, and of all objects, close and far."""
        named, labels = [], []
        for part in torch.split(torch.arange(len(self.unseen.images)), self.training.minibatch):
            logits, truth = self._name(self.average, self.unseen, part)
            named.append(logits.argmax(dim=2))
            labels.append(truth)
        right, truth = torch.cat(named) == torch.cat(labels), torch.cat(labels)
        cell = torch.arange(truth.shape[1], device=truth.device)
        close = (cell < CLOSE * self.training.network.aside).expand_as(truth)
        objects = truth >= FIRST_OBJECT_LABEL
        groups = {
            "success": truth > HIDDEN,
            "close_objects": objects & close,
            "far_objects": objects & ~close,
            "hidden": truth == HIDDEN,
        }
        return {name: float(right[where].float().mean()) for name, where in groups.items()}

    def description(self) -> dict[str, Any]:
        return {
            "kind": "eyes",
            "network": {"objects": len(self.spec.objects), **asdict(self.training.network)},
            **super().description(),
        }
