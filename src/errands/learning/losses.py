"""The terms of the learning objectives, each with the paper's name for it (appendix D)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from errands.language.analogies import Analogies, Relation
from errands.settings import setting


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean over where the mask is true; zero when it is nowhere."""
    return (values * mask).sum() / mask.sum().clamp(min=1)


def distillation(teacher: Tensor, logits: Tensor, mask: Tensor) -> Tensor:
    """KL(teacher || student): the teacher's distribution (..., A) and the student's logits."""
    entropy = torch.special.entr(teacher).sum(-1)
    cross = -(teacher * F.log_softmax(logits, dim=-1)).sum(-1)
    return masked_mean(cross - entropy, mask)


def termination(logits: Tensor, finished: Tensor, positive_weight: float = 1.0) -> Tensor:
    """Cross-entropy of the termination signal; rare finished states may weigh more."""
    weight = torch.tensor(positive_weight, device=logits.device)
    return F.binary_cross_entropy_with_logits(logits, finished.float(), pos_weight=weight)


def policy_gradient(
    log_probabilities: Tensor, before: Tensor, advantages: Tensor, mask: Tensor, clip: float
) -> Tensor:
    """-log pi(a) A, in the clipped form that lets one batch serve several updates."""
    ratio = torch.exp(log_probabilities - before)
    bounded = ratio.clamp(1.0 - clip, 1.0 + clip)
    return masked_mean(-torch.minimum(ratio * advantages, bounded * advantages), mask)


def value_error(values: Tensor, returns: Tensor, mask: Tensor) -> Tensor:
    return masked_mean((values - returns).square(), mask)


def uncertainty(log_probabilities: Tensor) -> Tensor:
    """Entropy of each distribution (..., choices)."""
    return -(log_probabilities.exp() * log_probabilities).sum(dim=-1)


@dataclass(frozen=True)
class AnalogyWeights:
    """The papers give the thresholds, but not the weights."""

    total: float = setting(0.1, "xi, weight of the analogy-making objective")
    dissimilar: float = setting(1.0, "rho1, weight of L_dis in it")
    different: float = setting(1.0, "rho2, weight of L_diff in it")
    threshold: float = setting(3.0, "tau_dis and tau_diff")
    samples: int = setting(256, "analogies of each kind for an update")


def analogy_terms(
    embed: Callable[[Tensor], Tensor],
    similar: Tensor,
    dissimilar: Tensor,
    different: Tensor,
    threshold: float,
) -> dict[str, Tensor]:
    """L_sim, L_dis and L_diff on tuples of subtasks: (N, 4, 3), (N, 4, 3) and (N, 2, 3)."""

    def parallelogram(quadruples: Tensor) -> Tensor:
        a, b, c, d = embed(quadruples).unbind(1)
        return (a - b) - (c - d)

    a, b = embed(different).unbind(1)
    return {
        "sim": parallelogram(similar).square().sum(-1).mean(),
        "dis": F.relu(threshold - parallelogram(dissimilar).norm(dim=-1)).square().mean(),
        "diff": F.relu(threshold - (a - b).norm(dim=-1)).square().mean(),
    }


class AnalogyLoss:
    """L_AM on fresh samples of a scenario's analogies."""

    def __init__(self, analogies: Analogies, weights: AnalogyWeights) -> None:
        self.analogies = analogies
        self.weights = weights

    def __call__(
        self, embed: Callable[[Tensor], Tensor], random: np.random.Generator, device: torch.device
    ) -> Tensor:
        def draw(relation: Relation) -> Tensor:
            codes = self.analogies.sample(relation, self.weights.samples, random)
            return torch.from_numpy(codes.astype(np.int64)).to(device)

        terms = analogy_terms(embed, draw("sim"), draw("dis"), draw("diff"), self.weights.threshold)
        weighted = (
            terms["sim"]
            + self.weights.dissimilar * terms["dis"]
            + self.weights.different * terms["diff"]
        )
        return self.weights.total * weighted
