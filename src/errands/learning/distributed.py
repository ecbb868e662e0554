"""One training run in several processes: each has its own worlds, all share the same gradients.

The success rates that curricula and stages depend on are averaged, too: otherwise processes would
be in different stages and no longer take the same steps.

Start it with `torchrun --nproc-per-node N --no-python errands train skill ...`.
"""

import os

import torch
from torch import distributed


def own_device(device: str) -> str:
    """The device of this process: of several on one machine, each takes a GPU of its own."""
    if _is_one_of_several() and device == "cuda":
        return f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
    return device


def join(device: str = "cpu") -> None:
    """Meet the other processes, if torchrun has started any; `device` is this process's."""
    if not _is_one_of_several() or distributed.is_initialized():
        return
    if torch.device(device).type == "cuda":
        torch.cuda.set_device(device)
        distributed.init_process_group("nccl")
    else:
        distributed.init_process_group("gloo")


def _is_one_of_several() -> bool:
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


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
    """Every process takes the same step: the mean of all gradients, in one message."""
    if not distributed.is_initialized():
        return
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    if not gradients:
        return
    bucket = torch.cat([gradient.flatten() for gradient in gradients])
    distributed.all_reduce(bucket)
    bucket /= processes()
    parts = torch.split(bucket, [gradient.numel() for gradient in gradients])
    for gradient, part in zip(gradients, parts, strict=True):
        gradient.copy_(part.view_as(gradient))
