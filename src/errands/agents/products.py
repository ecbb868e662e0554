"""Matrix products by the fastest kernel that computes them in full precision.

PyTorch leaves float32 products on a CPU to MKL, which uses half of the vector units of some
processors (AMD's with AVX-512). oneDNN, which PyTorch takes for convolutions, uses all of them:
layers are then twice as fast, forward and backward. The operator is the one that PyTorch's own
compiler calls; where a build has none, and on other devices, this is `F.linear`.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

# Below so many multiplications what a call costs beside them decides.
FEWEST = 2**20

_HAS_ONEDNN = torch._C._has_mkldnn and hasattr(torch.ops.mkldnn, "_linear_pointwise")


class Linear(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return affine(x, self.weight, self.bias)


def affine(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """y = x W' + b for (..., in), (out, in) and (out,)."""
    large = x.numel() * len(weight) >= FEWEST
    if not (large and _HAS_ONEDNN and x.device.type == "cpu" and x.dtype == torch.float32):
        return F.linear(x, weight, bias)
    if not torch.is_grad_enabled():
        return _multiplied(x, weight, bias)
    y: Tensor = _Affine.apply(x.reshape(-1, x.shape[-1]), weight, bias)  # type: ignore[no-untyped-call]
    return y.view(*x.shape[:-1], len(weight))


class _Affine(torch.autograd.Function):
    """oneDNN's operator has no gradients of its own: both are products as well."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _multiplied(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        for_x, for_weight, for_bias = ctx.needs_input_grad
        return (
            _multiplied(gradient, weight.t()) if for_x else None,
            _multiplied(gradient.t(), x.t()) if for_weight else None,
            gradient.sum(dim=0) if for_bias else None,
        )


def _multiplied(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    y: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return y
