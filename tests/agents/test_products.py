"""Layers are the same with every kernel, forward and backward."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from errands.agents import products
from errands.agents.products import FEWEST, Linear, affine

LARGE, SMALL = (2048, 96, 64), (4, 8, 3)  # rows, in, out


def gradients_of(y: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
    return torch.autograd.grad((y * torch.linspace(-1, 1, y.numel()).view_as(y)).sum(), inputs)


def parts(shape: tuple[int, int, int], leading: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    rows, size_in, size_out = shape
    torch.manual_seed(0)
    x = torch.randn(leading, rows // leading, size_in, requires_grad=True)
    weight = torch.randn(size_out, size_in, requires_grad=True)
    return x, weight, torch.randn(size_out, requires_grad=True)


@pytest.mark.parametrize("shape", [LARGE, SMALL])
@pytest.mark.parametrize("leading", [1, 2])
def test_products_and_gradients_are_those_of_pytorch(
    shape: tuple[int, int, int], leading: int
) -> None:
    x, weight, bias = parts(shape, leading)
    ours, theirs = affine(x, weight, bias), F.linear(x, weight, bias)
    assert ours.shape == theirs.shape
    found = (ours, *gradients_of(ours, x, weight, bias))
    for one, other in zip(found, (theirs, *gradients_of(theirs, x, weight, bias)), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-3)
    with torch.no_grad():
        torch.testing.assert_close(affine(x, weight), F.linear(x, weight), rtol=1e-4, atol=1e-3)


def test_only_gradients_that_are_asked_for_are_computed() -> None:
    x, weight, bias = parts(LARGE)
    y = affine(x.detach(), weight)
    (only,) = gradients_of(y, weight)
    (theirs,) = gradients_of(F.linear(x, weight), weight)
    torch.testing.assert_close(only, theirs, rtol=1e-4, atol=1e-3)
    assert not affine(x.detach(), weight.detach(), bias.detach()).requires_grad


def test_a_build_without_onednn_computes_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    layer, x = Linear(*LARGE[1:]), torch.randn(*LARGE[:2])
    assert x.numel() * LARGE[2] >= FEWEST
    calls: list[int] = []
    multiplied = products._multiplied
    monkeypatch.setattr(products, "_multiplied", lambda *args: calls.append(1) or multiplied(*args))
    fast = layer(x)
    assert len(calls) == torch._C._has_mkldnn
    monkeypatch.setattr(products, "_HAS_ONEDNN", False)
    torch.testing.assert_close(layer(x), fast, rtol=1e-4, atol=1e-4)
    assert len(calls) == torch._C._has_mkldnn


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_precisions_are_left_to_pytorch(dtype: torch.dtype) -> None:
    x, weight, bias = (part.to(dtype) for part in parts(LARGE))
    assert torch.equal(affine(x, weight, bias), F.linear(x, weight, bias))
