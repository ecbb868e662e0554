"""Stage: eyes. A recogniser learns to name what stands on each cell that a picture shows.

Plain supervised learning on views of random maps. The labels come from the world, as those of the
termination signal do; at run time the recogniser sees pictures alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from errands.agents.recogniser import Recogniser
from errands.config import EyesTraining, Stage
from errands.learning import distributed
from errands.learning.advantages import Credit
from errands.learning.objectives import Terms
from errands.seeds import VALIDATION_SEEDS
from errands.stages.trainer import Phase, Trainer
from errands.worlds.scenes import HIDDEN, NOTHING_THERE, UNCLEAR, Scenes, Views
from errands.worlds.spec import WORLDS, WorldSpec

FIRST_OBJECT_LABEL = NOTHING_THERE + 2
CLOSE = 4  # cells ahead that count as close in what is reported


class NoRollout:
    """Views are drawn one by one: no state is carried from one batch to the next."""

    def snapshot(self) -> dict[str, Tensor]:
        return {}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        assert not tensors


class NoCurriculum:
    def facts(self) -> dict[str, int]:
        return {}

    def restore(self, facts: dict[str, int]) -> None:
        assert not facts


class LabelledViews(NamedTuple):
    """What a batch teaches."""

    images: Tensor  # (B, ...)
    pitch: Tensor  # (B,)
    labels: Tensor  # (B, cells)

    @classmethod
    def of(cls, views: Views) -> "LabelledViews":
        return cls(*map(torch.from_numpy, views))

    def worlds(self, index: Tensor) -> "LabelledViews":
        return LabelledViews(*(item[index] for item in self))


class EyesTrainer(Trainer[LabelledViews, Stage]):
    """Eyes that learn: the network, its views, and everything else that changes."""

    training: EyesTraining
    average: Recogniser

    def __init__(
        self, training: EyesTraining, device: str = "cpu", spec: WorldSpec | None = None
    ) -> None:
        """`spec` is a user's own world, instead of the one that `training` names."""
        self.spec = spec or WORLDS[training.world]
        torch.manual_seed(training.seed)
        network = training.network
        super().__init__(training, Recogniser(network, len(self.spec.objects)), device, None)
        self.scenes = Scenes(self.spec, network.ahead, network.aside)
        self.rollout, self.curriculum = NoRollout(), NoCurriculum()
        random = np.random.default_rng(VALIDATION_SEEDS)
        self.unseen = LabelledViews.of(self.scenes.draw(training.validation_episodes, random))
        self._right = self._shown = 0  # cells of the batch so far

    @property
    def total_frames(self) -> int:
        return self.training.recognise.frames

    def phase(self) -> Phase[Stage]:
        return Phase("eyes", self.training.recognise, self.frames / self.total_frames)

    def collect(self, phase: Phase[Stage]) -> tuple[LabelledViews, dict[str, float]]:
        self._right = self._shown = 0
        views = self.scenes.draw(self.training.frames_per_iteration, self.shuffling)
        return LabelledViews.of(views), {}

    def minibatches(self) -> Iterator[Tensor]:
        """In the order in which they were drawn, which is random already."""
        every = torch.arange(self.training.frames_per_iteration)
        yield from torch.split(every, self.training.minibatch)

    def objective(self, frames: LabelledViews, credit: Credit | None, phase: Phase[Stage]) -> Terms:
        """Cross-entropy of the cells that are shown, or hidden for certain."""
        named, labels = self._name(cast(Recogniser, self.model), frames)
        visible = labels > HIDDEN
        self._right += int((named.argmax(dim=2) == labels)[visible].sum())
        self._shown += int(visible.sum())
        loss = F.cross_entropy(named.flatten(0, 1), labels.flatten(), ignore_index=UNCLEAR)
        return {"recognition": loss}

    def move_on(self, figures: Mapping[str, float]) -> dict[str, float]:
        return {"success": distributed.mean(self._right / max(self._shown, 1))}

    def _name(self, eyes: Recogniser, views: LabelledViews) -> tuple[Tensor, Tensor]:
        """Logits (B, cells, classes) and labels (B, cells)."""
        images, pitch, labels = (item.to(self.device) for item in views)
        return eyes(images, pitch), labels

    @torch.no_grad()
    def validate(self, phase: Phase[Stage]) -> dict[str, float]:
        """Share of the cells shown that are named rightly, and of all objects, close and far."""
        named, labels = [], []
        for part in torch.split(torch.arange(len(self.unseen.images)), self.training.minibatch):
            logits, truth = self._name(self.average, self.unseen.worlds(part))
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
