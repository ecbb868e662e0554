"""One training run in several processes: each has its own worlds, all share the same gradients.

The success rates that curricula and stages depend on are averaged, too: otherwise processes would
be in different stages and no longer take the same steps.

Start it with `torchrun --nproc-per-node N --no-python errands train skill ...`.
"""

import os

import torch
from torch import distributed


def join() -> None:
    """Meet the other processes, if torchrun has started any."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1 and not distributed.is_initialized():
        distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")


def rank() -> int:
    return distributed.get_rank() if distributed.is_initialized() else 0


def processes() -> int:
    return distributed.get_world_size() if distributed.is_initialized() else 1


def mean(value: float) -> float:
    """The mean over all processes of what each has measured."""
    if not distributed.is_initialized():
        return value
    device = "cuda" if distributed.get_backend() == "nccl" else "cpu"
    total = torch.tensor(value, dtype=torch.float64, device=device)
    distributed.all_reduce(total)
    return float(total) / processes()


def average_gradients(model: torch.nn.Module) -> None:
    """Every process takes the same step: the mean of all gradients."""
    if not distributed.is_initialized():
        return
    for parameter in model.parameters():
        if parameter.grad is not None:
            distributed.all_reduce(parameter.grad)
            parameter.grad /= processes()
