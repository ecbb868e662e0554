"""Instructions for the subtask updater: the memory M, and a pointer into it (section 4.1)."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

SHIFTS = (-1, 0, 1)
STAY = SHIFTS.index(0)


def bags_of_words(tokens: Tensor, words: int) -> Tensor:
    """Instructions as words (B, K, 3) to (B, K, words); padding counts as nothing."""
    bags = torch.zeros(*tokens.shape[:2], words, device=tokens.device)
    bags.scatter_add_(2, tokens, torch.ones_like(tokens, dtype=bags.dtype))
    bags[..., 0] = 0.0
    return bags


class Instructions(NamedTuple):
    """M (eq. 1): each sentence is embedded as the sum of its words' embeddings."""

    bags: Tensor  # (B, K, words) how often each word stands in each instruction
    mask: Tensor  # (B, K) which instructions are there
    embedding: Tensor  # (words, sentence) W^m

    def read(self, p: Tensor) -> Tensor:
        """The words (B, words) that a pointer (B, K) is on."""
        return torch.einsum("bk,bkw->bw", p, self.bags)

    def retrieve(self, words: Tensor) -> Tensor:
        """r = M p (eq. 2), from the words that the pointer is on."""
        return words @ self.embedding


def last_of(present: Tensor) -> Tensor:
    """1 at the last instruction of each list (B, K) that is there, else 0."""
    return present * (1.0 - F.pad(present[:, 1:], (0, 1)))


def shift_pointer(p: Tensor, l: Tensor, mask: Tensor) -> Tensor:  # noqa: E741
    """l * p (eq. 3): pointer (B, K) moved by shifts (B, 3). What would leave the list stays."""
    present = mask.to(p.dtype)
    back = F.pad(p[:, 1:], (0, 1)) + F.pad(p[:, :1], (0, p.shape[1] - 1))
    forth = F.pad(p[:, :-1], (1, 0)) * present + p * last_of(present)
    return l[:, :1] * back + l[:, 1:2] * p + l[:, 2:] * forth


def within_list(l: Tensor, p: Tensor, mask: Tensor) -> Tensor:  # noqa: E741
    """Shifts (B, 3) that lead out of the list count as staying, from a pointer (B, K) of ones.

    They have the same effect. As separate decisions they would be learned from noise alone, and
    whatever lists of one teach about them is wrong for longer ones.
    """
    # A pointer that soft updates have left behind may be a rounding error above one.
    back = l[:, 0] * (1.0 - p[:, 0]).clamp(min=0.0)
    forth = l[:, 2] * (1.0 - (p * last_of(mask.to(p.dtype))).sum(dim=1)).clamp(min=0.0)
    return torch.stack((back, l[:, 1] + (l[:, 0] - back) + (l[:, 2] - forth), forth), dim=1)
