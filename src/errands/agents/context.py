"""Context: features and h_(t-1) become h~_t. Skills and meta controllers share these modules.

First `summarise` makes s_t of the features, which needs no memory: any number of steps can be one
batch. Then `context(s, h, memory, condition)` gives h~_t and the next memory. With an LSTM that is
its step; without one, as on the grid, h~_t = s_t. Only the module itself knows what its memory has
beside h. Shapes: B worlds (or worlds and steps), E size of the condition.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from errands.agents.layers import FactorisedLinear, FactorisedLSTM, Noise, SubtaskEmbedding
from errands.agents.memory import Memory, each
from errands.agents.products import Linear


class Context(nn.Module):
    """Features and a condition (B, E) to s_t (B, summary), with h_(t-1) to h~_t (B, size)."""

    recurrent: bool  # whether h~_t depends on h_(t-1)
    adds: bool  # whether hints can add to s_t
    summary: int
    size: int

    def initial_memory(self, worlds: int) -> Memory:
        return ()

    def summarise(self, x: Tensor, condition: Tensor, added: Tensor | None = None) -> Tensor:
        """s_t; what is `added` joins before the nonlinearity."""
        raise NotImplementedError

    def forward(
        self, s: Tensor, h: Tensor, memory: Memory, condition: Tensor
    ) -> tuple[Tensor, Memory]:
        """h~_t, and the memory beside it."""
        raise NotImplementedError


class FeedForward(Context):
    """The grid's: a layer whose weights are predicted, FC in the earlier version of the paper."""

    recurrent = False
    adds = True

    def __init__(
        self, size_in: int, size: int, condition: int, factors: int, narrow: int = 0
    ) -> None:
        super().__init__()
        self.size = self.summary = size
        self.fc = FactorisedLinear(size_in, size, condition, factors, narrow)

    def summarise(self, x: Tensor, condition: Tensor, added: Tensor | None = None) -> Tensor:
        x = self.fc(x, condition)
        return F.relu(x if added is None else x + added)

    def forward(
        self, s: Tensor, h: Tensor, memory: Memory, condition: Tensor
    ) -> tuple[Tensor, Memory]:
        return s, memory


class TwoLayers(FeedForward):
    """The same with a plain layer after it. Ours, for cells that were not pooled."""

    def __init__(
        self, size_in: int, size: int, condition: int, factors: int, narrow: int = 0
    ) -> None:
        super().__init__(size_in, size, condition, factors, narrow)
        self.mix = Linear(size, size)

    def summarise(self, x: Tensor, condition: Tensor, added: Tensor | None = None) -> Tensor:
        return F.relu(self.mix(super().summarise(x, condition, added)))


class Recurrent(Context):
    """The block world's: an LSTM whose weights are predicted. Its cell is the memory."""

    recurrent = True
    adds = False

    def __init__(
        self, size_in: int, size: int, condition: int, factors: int, narrow: int = 0
    ) -> None:
        super().__init__()
        self.summary, self.size = size_in, size
        self.lstm = FactorisedLSTM(size_in, size, condition, factors, narrow)

    def initial_memory(self, worlds: int) -> Memory:
        device = self.lstm.gates.out.bias.device
        return (torch.zeros(worlds, self.size, device=device),)

    def summarise(self, x: Tensor, condition: Tensor, added: Tensor | None = None) -> Tensor:
        assert added is None
        return x

    def forward(
        self, s: Tensor, h: Tensor, memory: Memory, condition: Tensor
    ) -> tuple[Tensor, Memory]:
        h_tilde, cell = self.lstm(s, condition, (h, *memory))
        return h_tilde, (cell,)


def kept(memory: Memory, keep: Tensor) -> Memory:
    """A memory that is forgotten where `keep` (B, 1) is 0."""
    return each(lambda item: item * keep, memory)


class JointCondition(nn.Module):
    """What a meta controller knows: phi(g_(t-1)), r_(t-1) and b_t in one layer (appendix E)."""

    def __init__(
        self,
        sizes: tuple[int, ...],
        embedding: int,
        sentence: int,
        condition: int,
        noise: Noise,
        *,
        around_one: bool,
        relu: bool,
    ) -> None:
        super().__init__()
        self.embedding = SubtaskEmbedding(sizes, embedding, around_one=around_one)
        self.joint = Linear(embedding + sentence + 1, condition)
        self.relu = relu
        self.noise = noise

    def forward(self, g: Tensor, r: Tensor, b: Tensor, keep: Tensor) -> Tensor:
        """`keep` (B, 1) is 0 where there is no last subtask."""
        phi = self.noise(self.embedding(g)) * keep
        joint: Tensor = self.joint(torch.cat((phi, self.noise(r), b[:, None]), dim=1))
        return F.relu(joint) if self.relu else joint


class FlatCondition(nn.Module):
    """Flat's: it has no subtask to remember, so two layers on r_(t-1) alone (appendix E)."""

    def __init__(self, sentence: int, condition: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            Linear(sentence, condition),
            nn.ReLU(),
            Linear(condition, condition),
            nn.ReLU(),
        )

    def forward(self, g: Tensor, r: Tensor, b: Tensor, keep: Tensor) -> Tensor:
        condition: Tensor = self.layers(r)
        return condition
