"""The terms of the objectives on numbers that can be worked out by hand."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from errands.language.vocabulary import INTERACT
from errands.learning import losses
from errands.learning.losses import AnalogyLoss, AnalogyWeights, analogy_terms
from errands.worlds.spec import WORLDS
from errands.worlds.tasks import analogies as analogies_of

SCENARIOS = ("independent", "object-dependent", "inter-extrapolation")


def test_masked_mean_is_the_mean_of_what_is_marked() -> None:
    values = torch.tensor([[1.0, 2.0], [3.0, 100.0]])
    mask = torch.tensor([[True, True], [True, False]])
    assert losses.masked_mean(values, mask).item() == 2.0


def test_masked_mean_of_nothing_is_zero_and_teaches_nothing() -> None:
    values = torch.tensor([1.0, 2.0], requires_grad=True)
    mean = losses.masked_mean(values, torch.zeros(2, dtype=torch.bool))
    mean.backward()
    assert mean.item() == 0.0
    assert values.grad.tolist() == [0.0, 0.0]


def test_distillation_is_zero_for_equal_distributions() -> None:
    logits = torch.randn(5, 4, generator=torch.Generator().manual_seed(0)).double()
    mask = torch.ones(5, dtype=torch.bool)
    assert losses.distillation(logits.softmax(-1), logits, mask).item() == pytest.approx(
        0, abs=1e-9
    )


def test_distillation_is_torchs_kl() -> None:
    """With teachers that rule actions out, as the planner does."""
    random = torch.Generator().manual_seed(0)
    teacher = (torch.rand(3, 6, 5, generator=random) < 0.5).double()
    teacher[..., 0] = 1.0
    teacher /= teacher.sum(-1, keepdim=True)
    logits = torch.randn(3, 6, 5, generator=random).double()
    mask = torch.rand(3, 6, generator=random) < 0.5
    assert 0 < mask.sum() < mask.numel()
    divergence = losses.distillation(teacher, logits, mask)
    marked = F.kl_div(logits.log_softmax(-1)[mask], teacher[mask], reduction="batchmean")
    assert divergence.item() == pytest.approx(marked.item())
    assert divergence.item() > 0


def test_distillation_ignores_frames_without_a_teacher() -> None:
    """A teacher of zeros, as on an episode's last frame, stays finite even in the gradient."""
    logits = torch.randn(2, 3, requires_grad=True)
    teacher = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    losses.distillation(teacher, logits, torch.tensor([True, False])).backward()
    assert logits.grad[0].abs().sum() > 0
    assert logits.grad[1].tolist() == [0.0, 0.0, 0.0]


def test_termination_is_cross_entropy() -> None:
    logits, finished = torch.tensor([0.5, -2.0, 3.0]), torch.tensor([True, False, False])
    probability = [1 / (1 + math.exp(-logit)) for logit in logits.tolist()]
    terms = [-math.log(probability[0]), *(-math.log(1 - p) for p in probability[1:])]
    assert losses.termination(logits, finished).item() == pytest.approx(sum(terms) / 3, rel=1e-5)
    heavier = (5 * terms[0] + terms[1] + terms[2]) / 3
    weighed = losses.termination(logits, finished, positive_weight=5.0)
    assert weighed.item() == pytest.approx(heavier, rel=1e-5)


@pytest.mark.parametrize(
    ("ratio", "advantage", "expected", "learns"),
    [
        (1.0, 2.0, -2.0, True),  # nothing has changed yet: plain policy gradient
        (1.1, 2.0, -2.2, True),
        (1.5, 2.0, -2.4, False),  # likelier than before, and good: enough
        (0.5, 2.0, -1.0, True),  # unlikelier although it is good: back
        (0.5, -2.0, 1.6, False),  # unlikelier, and bad: enough
        (1.5, -2.0, 3.0, True),  # likelier although it is bad: back
    ],
)
def test_policy_gradient_is_clipped(
    ratio: float, advantage: float, expected: float, learns: bool
) -> None:
    before = torch.tensor([-1.3, -0.7], dtype=torch.float64)
    now = (before + math.log(ratio)).requires_grad_()
    mask = torch.tensor([True, False])
    loss = losses.policy_gradient(now, before, torch.tensor([advantage, 50.0]).double(), mask, 0.2)
    loss.backward()
    assert loss.item() == pytest.approx(expected)
    slope = -advantage * ratio if learns else 0.0
    assert now.grad.tolist() == pytest.approx([slope, 0.0])


def test_value_error() -> None:
    values, returns = torch.tensor([1.0, 5.0, 9.0]), torch.tensor([3.0, 5.0, 0.0])
    mask = torch.tensor([True, True, False])
    assert losses.value_error(values, returns, mask).item() == 2.0


def test_uncertainty() -> None:
    logits = torch.tensor([[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, -1e4, -1e4], [9.0, 1.0, 2.0, 3.0]])
    mask = torch.tensor([True, True, False])
    expected = (math.log(4) + math.log(2)) / 2
    assert losses.masked_mean(
        losses.uncertainty(logits.log_softmax(-1)), mask
    ).item() == pytest.approx(expected)


# Analogies. By hand: subtasks are (0, k, 1), and their embeddings are points of a table.

POINTS = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 2.0], [4.0, 2.0], [0.0, 9.0]])


def on_table(codes: Tensor) -> Tensor:
    return POINTS[codes[..., 1]]


def codes_of(*rows: tuple[int, ...]) -> Tensor:
    return torch.tensor([[(0, point, 1) for point in row] for row in rows])


def terms_of(
    similar: tuple[tuple[int, ...], ...] = ((0, 1, 2, 3),),
    dissimilar: tuple[tuple[int, ...], ...] = ((0, 1, 2, 4),),
    different: tuple[tuple[int, ...], ...] = ((0, 5),),
) -> dict[str, float]:
    tuples = codes_of(*similar), codes_of(*dissimilar), codes_of(*different)
    return {key: term.item() for key, term in analogy_terms(on_table, *tuples, 3.0).items()}


def test_similar_pairs_make_parallelograms() -> None:
    assert terms_of(similar=((0, 1, 2, 3),))["sim"] == 0.0
    assert terms_of(similar=((0, 1, 2, 4),))["sim"] == 9.0  # (-1, 0) against (-4, 0)
    assert terms_of(similar=((0, 3, 5, 2),))["sim"] == (1 + 0) ** 2 + (2 + 7) ** 2
    assert terms_of(similar=((0, 1, 2, 3), (0, 1, 2, 4)))["sim"] == 4.5


def test_dissimilar_pairs_are_kept_apart() -> None:
    assert terms_of(dissimilar=((0, 1, 2, 3),))["dis"] == 9.0  # a parallelogram: all of 3 squared
    assert terms_of(dissimilar=((0, 1, 2, 4),))["dis"] == 0.0  # exactly 3 apart
    assert terms_of(dissimilar=((0, 1, 0, 5),))["dis"] == 0.0  # farther still
    assert terms_of(dissimilar=((0, 1, 0, 0),))["dis"] == 4.0  # 1 apart, so 2 too near


def test_different_subtasks_are_kept_apart() -> None:
    assert terms_of(different=((0, 0),))["diff"] == 9.0
    assert terms_of(different=((0, 2),))["diff"] == 1.0
    assert terms_of(different=((0, 5),))["diff"] == 0.0
    assert terms_of(different=((0, 2), (0, 5)))["diff"] == 0.5


def test_gradients_of_analogy_terms() -> None:
    random = torch.Generator().manual_seed(0)
    points = torch.randn(6, 3, generator=random).double().requires_grad_()
    tuples = codes_of((0, 1, 2, 3)), codes_of((0, 1, 2, 4)), codes_of((0, 5), (2, 3))

    def call(points: Tensor) -> tuple[Tensor, ...]:
        return tuple(analogy_terms(lambda codes: points[codes[..., 1]], *tuples, 3.0).values())

    assert torch.autograd.gradcheck(call, (points,))


def test_coinciding_embeddings_still_have_a_gradient() -> None:
    """The norm has no slope at zero; where both differences agree it must not become NaN."""
    points = torch.zeros(6, 3, requires_grad=True)
    tuples = codes_of((0, 1, 2, 3)), codes_of((0, 1, 2, 4)), codes_of((0, 5))
    terms = analogy_terms(lambda codes: points[codes[..., 1]], *tuples, 3.0)
    sum(terms.values()).backward()
    assert torch.isfinite(points.grad).all()


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("world", ["grid", "block"])
def test_analogy_loss_weighs_its_terms(world: str, scenario: str) -> None:
    analogies = analogies_of(WORLDS[world], scenario)
    table = torch.randn(4, 15, 8, 5, generator=torch.Generator().manual_seed(1)).double()

    def embed(codes: Tensor) -> Tensor:
        return table[codes[..., 0], codes[..., 1], codes[..., 2]]

    def loss(**weights: float) -> float:
        random = np.random.default_rng(7)
        weighted = AnalogyLoss(analogies, AnalogyWeights(**weights, samples=32))
        return weighted(embed, random, torch.device("cpu")).item()

    random = np.random.default_rng(7)
    tuples = [
        torch.from_numpy(analogies.sample(kind, 32, random).astype(np.int64))
        for kind in ("sim", "dis", "diff")
    ]
    sim, dis, diff = (term.item() for term in analogy_terms(embed, *tuples, 3.0).values())
    assert min(sim, dis, diff) > 0
    assert loss(total=0.5, dissimilar=2.0, different=3.0) == pytest.approx(
        0.5 * (sim + 2.0 * dis + 3.0 * diff)
    )
    assert loss(total=1.0, dissimilar=0.0, different=0.0) == pytest.approx(sim)
    assert loss(total=0.0) == 0.0


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_additive_embeddings_satisfy_every_analogy(scenario: str) -> None:
    """phi = verb + object + count * step is what L_sim asks for, so there it is zero.

    In the object-dependent scenario "interact with" has to be a verb for each group instead.
    """
    analogies = analogies_of(WORLDS["grid"], scenario)
    random = torch.Generator().manual_seed(1)
    verbs, objects = torch.randn(4, 5, generator=random), torch.randn(15, 5, generator=random)
    of_group, step = torch.randn(4, 5, generator=random), torch.randn(5, generator=random)

    def embed(codes: Tensor) -> Tensor:
        verb, item, count = codes.unbind(-1)
        group = torch.tensor([analogies.group_of[k] for k in range(15)])[item]
        named = torch.where((verb == INTERACT)[..., None], of_group[group], verbs[verb])
        return named + objects[item] + count[..., None] * step

    codes = analogies.sample("sim", 200, np.random.default_rng(0)).astype(np.int64)
    similar = torch.from_numpy(codes)
    assert analogy_terms(embed, similar, similar, similar[:, :2], 3.0)["sim"].item() < 1e-9
