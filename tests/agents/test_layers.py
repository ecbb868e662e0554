"""Predicted layers against the paper's formulas as plain loops, and their gradients."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from errands.agents.layers import (
    FactorisedLinear,
    FactorisedLSTM,
    PredictedConv,
    SubtaskEmbedding,
    centre_on_agent,
    window_cells,
)

CONDITION = 3


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def randomised(layer: nn.Module) -> nn.Module:
    """In double precision, with every parameter drawn: biases that start at 0 or 1 take part."""
    layer.double()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.normal_()
    return layer


def linear(layer: nn.Linear, x: list[float]) -> list[float]:
    """W x + b, one number after another."""
    weight = layer.weight.tolist()
    bias = layer.bias.tolist() if layer.bias is not None else [0.0] * len(weight)
    sums = [sum(w * v for w, v in zip(row, x, strict=True)) for row in weight]
    return [total + b for total, b in zip(sums, bias, strict=True)]


def factorised(layer: FactorisedLinear, x: list[float], g: list[float]) -> list[float]:
    """W' diag(phi(g)) W x + b."""
    if isinstance(layer.narrow, nn.Linear):
        g = linear(layer.narrow, g)
    inner = [w * d for w, d in zip(linear(layer.into, x), linear(layer.diagonal, g), strict=True)]
    return linear(layer.out, inner)


def assert_close(actual: Tensor, expected: list[Any]) -> None:
    torch.testing.assert_close(actual.detach(), torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize("sizes", [(4, 5), (4, 5, 8)])
def test_subtask_embedding_multiplies_its_factors(sizes: tuple[int, ...]) -> None:
    embedding = SubtaskEmbedding(sizes, 6, around_one=False).double()
    codes = torch.stack([torch.randint(size, (7, 2)) for size in (4, 5, 8)], dim=-1)
    expected = []
    for row in codes.tolist():
        expected.append([])
        for code in row:
            units = []
            for unit in range(6):
                product = 1.0
                for factor, index in zip(embedding.factors, code, strict=False):
                    product *= factor[index, unit].item()
                units.append(max(0.0, product))
            expected[-1].append(units)
    assert_close(embedding(codes), expected)
    assert (embedding(codes) == 0).any()
    assert (embedding(codes) > 0).any()


def test_subtask_embedding_without_counts_ignores_them() -> None:
    embedding = SubtaskEmbedding((4, 5), 6, around_one=True)
    once, thrice = torch.tensor([[2, 3, 1], [2, 3, 3]])
    assert torch.equal(embedding(once), embedding(thrice))


@pytest.mark.parametrize(("around_one", "mean", "deviation"), [(True, 1.0, 0.3), (False, 0.0, 1.0)])
def test_subtask_embedding_starts_around(around_one: bool, mean: float, deviation: float) -> None:
    embedding = SubtaskEmbedding((50, 50), 64, around_one=around_one)
    for factor in embedding.factors:
        assert factor.mean().item() == pytest.approx(mean, abs=0.05)
        assert factor.std().item() == pytest.approx(deviation, abs=0.05)


def test_subtask_embedding_is_noisy_only_while_training() -> None:
    embedding = SubtaskEmbedding((4, 5), 50, around_one=True, noise=0.2)
    codes = torch.tensor([[1, 2]]).expand(200, 2)
    difference = embedding.noisy(codes) - embedding(codes)
    assert difference.mean().item() == pytest.approx(0.0, abs=0.01)
    assert difference.std().item() == pytest.approx(0.2, abs=0.01)
    assert torch.equal(embedding.eval().noisy(codes), embedding(codes))
    silent = SubtaskEmbedding((4, 5), 50, around_one=True)
    assert torch.equal(silent.noisy(codes), silent(codes))


def test_predicted_convolution_is_a_loop_over_cells_and_channels() -> None:
    layer = randomised(PredictedConv(4, 5, CONDITION))
    x, g = torch.randn(2, 6, 4).double(), torch.randn(2, CONDITION).double()
    expected = []
    for cells, condition in zip(x.tolist(), g.tolist(), strict=True):
        weight = linear(layer.weight, condition)  # channel in by channel out
        expected.append(
            [
                [
                    layer.bias[out].item() + sum(cell[i] * weight[i * 5 + out] for i in range(4))
                    for out in range(5)
                ]
                for cell in cells
            ]
        )
    assert_close(layer(x, g), expected)


def test_predicted_convolution_is_a_1x1_convolution() -> None:
    layer = randomised(PredictedConv(4, 5, CONDITION))
    x, g = torch.randn(1, 6, 4).double(), torch.randn(1, CONDITION).double()
    kernel = layer.weight(g).view(4, 5).T[:, :, None, None]  # (out, in, 1, 1)
    image = x.transpose(1, 2).reshape(1, 4, 2, 3)
    expected = nn.functional.conv2d(image, kernel, layer.bias).flatten(2).transpose(1, 2)
    torch.testing.assert_close(layer(x, g), expected)


@pytest.mark.parametrize("narrow", [0, 2])
def test_factorised_linear_is_the_papers_product(narrow: int) -> None:
    layer = randomised(FactorisedLinear(4, 5, CONDITION, 6, narrow))
    x, g = torch.randn(2, 4).double(), torch.randn(2, CONDITION).double()
    expected = [factorised(layer, *both) for both in zip(x.tolist(), g.tolist(), strict=True)]
    assert_close(layer(x, g), expected)
    matrix = layer.out.weight @ torch.diag(layer.diagonal(layer.narrow(g[0]))) @ layer.into.weight
    torch.testing.assert_close(layer(x, g)[0], matrix @ x[0] + layer.out.bias)


def test_factorised_linear_starts_near_a_plain_layer() -> None:
    layer = FactorisedLinear(4, 5, CONDITION, 6)
    x = torch.randn(2, 4)
    torch.testing.assert_close(layer(x, torch.zeros(2, CONDITION)), layer.out(layer.into(x)))


def test_a_narrow_condition_moves_the_diagonal_in_few_directions() -> None:
    layer = randomised(FactorisedLinear(4, 5, 8, 6, narrow=2))
    conditions = torch.randn(50, 8).double()
    diagonals = layer.diagonal(layer.narrow(conditions))
    assert torch.linalg.matrix_rank(diagonals - diagonals.mean(0)).item() == 2


def test_factorised_lstm_is_an_lstm_with_predicted_gates() -> None:
    hidden = 2
    layer = randomised(FactorisedLSTM(3, hidden, CONDITION, 5))
    x, g = torch.randn(2, 3).double(), torch.randn(2, CONDITION).double()
    h, c = torch.randn(2, 2, hidden).double()
    next_h, next_c = layer(x, g, (h, c))

    def sigmoid(value: float) -> float:
        return 1.0 / (1.0 + math.exp(-value))

    for b in range(2):
        gates = factorised(layer.gates, x[b].tolist() + h[b].tolist(), g[b].tolist())
        for unit in range(hidden):
            i, f, new, o = (gates[k * hidden + unit] for k in range(4))
            cell = sigmoid(f) * c[b, unit].item() + sigmoid(i) * math.tanh(new)
            assert next_c[b, unit].item() == pytest.approx(cell)
            assert next_h[b, unit].item() == pytest.approx(sigmoid(o) * math.tanh(cell))


def test_factorised_lstm_starts_out_remembering() -> None:
    layer = FactorisedLSTM(3, 2, CONDITION, 5)
    assert layer.gates.out.bias[2:4].tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (PredictedConv(2, 3, CONDITION), (2, 4, 2)),
        (FactorisedLinear(4, 2, CONDITION, 3), (2, 4)),
        (FactorisedLinear(4, 2, CONDITION, 3, narrow=1), (2, 4)),
    ],
)
def test_gradients_of_predicted_layers(layer: nn.Module, shape: tuple[int, ...]) -> None:
    randomised(layer)
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    g = torch.randn(2, CONDITION, dtype=torch.float64, requires_grad=True)
    names = [name for name, _ in layer.named_parameters()]
    weights = tuple(parameter.detach().requires_grad_() for parameter in layer.parameters())

    def call(x: Tensor, g: Tensor, *weights: Tensor) -> Tensor:
        return torch.func.functional_call(layer, dict(zip(names, weights, strict=True)), (x, g))

    assert torch.autograd.gradcheck(call, (x, g, *weights))


def test_gradients_of_the_lstm_through_two_steps() -> None:
    layer = randomised(FactorisedLSTM(2, 2, CONDITION, 3))
    x, h, c = (torch.randn(2, 2, dtype=torch.float64, requires_grad=True) for _ in range(3))
    g = torch.randn(2, CONDITION, dtype=torch.float64, requires_grad=True)

    def call(x: Tensor, g: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        return layer(x, g, layer(x, g, (h, c)))

    assert torch.autograd.gradcheck(call, (x, g, h, c))


def test_gradients_of_the_embedding() -> None:
    embedding = SubtaskEmbedding((2, 3, 4), 5, around_one=True).double()
    codes = torch.tensor([[0, 1, 3], [1, 2, 3], [1, 2, 0]])
    weights = tuple(factor.detach().requires_grad_() for factor in embedding.factors)
    names = [name for name, _ in embedding.named_parameters()]

    def call(*weights: Tensor) -> Tensor:
        return torch.func.functional_call(
            embedding, dict(zip(names, weights, strict=True)), (codes,)
        )

    assert torch.autograd.gradcheck(call, weights)


def inner_cells(size: int) -> list[tuple[int, int]]:
    return [(row, column) for row in range(1, size - 1) for column in range(1, size - 1)]


@pytest.mark.parametrize("size", [5, 10])
def test_window_is_a_shifted_copy_of_the_map(size: int) -> None:
    """From every inner cell: a loop over the window, zeros where it leaves the map."""
    cells = inner_cells(size)
    x = torch.rand(len(cells), size * size, 2)
    agent = torch.tensor([row * size + column for row, column in cells])
    window = centre_on_agent(x, agent, size)
    reach = size - 3
    side = 2 * reach + 1
    assert window.shape == (len(cells), side * side, 2)
    assert window_cells(size) == side * side
    expected = torch.zeros(len(cells), side, side, 2)
    for k, (row, column) in enumerate(cells):
        for down in range(-reach, reach + 1):
            for right in range(-reach, reach + 1):
                r, c = row + down, column + right
                if 0 <= r < size and 0 <= c < size:
                    expected[k, down + reach, right + reach] = x[k, r * size + c]
    assert torch.equal(window.view(len(cells), side, side, 2), expected)


@pytest.mark.parametrize("size", [5, 10])
def test_window_shows_every_inner_cell_from_every_inner_cell(size: int) -> None:
    cells = inner_cells(size)
    numbers = torch.arange(1.0, size * size + 1).view(1, -1, 1).expand(len(cells), -1, 1)
    agent = torch.tensor([row * size + column for row, column in cells])
    window = centre_on_agent(numbers, agent, size)
    inside = {float(row * size + column + 1) for row, column in cells}
    for k in range(len(cells)):
        shown = window[k, :, 0].tolist()
        assert inside <= set(shown)
        assert shown[len(shown) // 2] == agent[k] + 1  # the agent's own cell is in the middle


def test_gradient_of_the_window() -> None:
    x = torch.randn(3, 25, 2, dtype=torch.float64, requires_grad=True)
    agent = torch.tensor([6, 12, 18])
    assert torch.autograd.gradcheck(lambda x: centre_on_agent(x, agent, 5), (x,))
