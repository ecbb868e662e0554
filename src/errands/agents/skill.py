"""The parameterized skill: (observation, subtask) to action, termination and value (paper, 3)."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from errands.agents.context import Context, FeedForward, Recurrent, TwoLayers, kept
from errands.agents.eyes import (
    BlockEyes,
    BlockSight,
    Centred,
    Eyes,
    GridEyes,
    GridSight,
    Pooled,
    Sight,
    keep_variance,
)
from errands.agents.layers import SubtaskEmbedding, undecided
from errands.agents.mapping import MapEyes, MapSight
from errands.agents.memory import Memory, each
from errands.agents.products import Linear
from errands.agents.recogniser import MapNetwork
from errands.language.splits import MOST_REPEATS
from errands.settings import setting


@dataclass(frozen=True)
class SkillNetwork:
    """How a skill is built. Defaults are the `fast` preset's; the paper's are beside them."""

    # What follows from the world and the scenario.
    world: str = "grid"  # whose eyes
    objects: int = 15  # kinds of object
    actions: int = 13
    verbs: int = 4
    counted: bool = False  # subtasks carry a count (inter/extrapolation)
    remembers: bool = False  # block: the memory outlasts a subtask; the paper does not say
    repeats: int = setting(MOST_REPEATS, "the largest count")
    size: int = setting(10, "grid: cells a side of the map")
    picture: int = setting(64, "block: pixels a side")
    filters: tuple[int, ...] = setting((16, 32, 32, 32), "block: filters of the four convolutions")
    kernels: tuple[int, ...] = setting((8, 1, 1, 5), "block: their sizes")
    strides: tuple[int, ...] = setting((4, 1, 1, 2), "block: their strides")
    embedding: int = setting(64, "size of phi(g); the paper does not say")
    around_one: bool = setting(True, "initialise phi's factors near 1, not 0", paper=False)
    noise: float = setting(0.1, "added to phi(g) during training", paper=0.0)
    noise_at_first: bool = setting(False, "only the first predicted layer gets the noise")
    view: Literal["centred", "pooled"] = setting(
        "centred", "grid: how cells become a vector", paper="pooled"
    )
    conv1: int = setting(8, "grid or map: filters of the predicted 1x1 convolution", paper=3)
    activation: Literal["relu", "none"] = setting("none", "grid: what follows conv1", paper="relu")
    same_eyes: bool = setting(
        True, "grid: conv1 has the same weights for both observations", paper=False
    )
    conv2: int = setting(16, "grid or map: filters of the second 1x1 convolution", paper=64)
    conv3: int = setting(128, "grid, pooled view only: filters of the 3x3 convolution")
    ways: int = setting(0, "grid or map: steps that ways are planned ahead; 0: they are not")
    hidden: int = setting(256, "grid or map: units of the fully-connected layer")
    factors: int = setting(256, "rank of factorised layers; the paper does not say")
    narrow: int = setting(0, "numbers of phi(g) that reach the factorised layer; 0 is all")
    lstm: int = setting(128, "block: units of the LSTM, where there is no map", paper=64)
    looks: int = setting(2, "block: observations that the LSTM reads at once", paper=1)
    maps: MapNetwork | None = setting(None, "block: how pictures become a map")


class SkillOutput(NamedTuple):
    """What a skill says of each observation; leading dimensions as they came in."""

    logits: Tensor  # (..., actions) of the policy
    termination: Tensor  # (...) logit of beta, that the subtask is finished
    value: Tensor  # (...) the critic's estimate
    deed: Tensor  # (...) logit that it was just done once; without counts, the termination


class SkillMemory(NamedTuple):
    """What a skill carries from step to step."""

    sight: Memory
    h: Tensor  # (B, lstm); (B, 0) without an LSTM
    context: Memory
    counted: Memory


class Skill(nn.Module):
    """Eyes and context as the world needs them, and three heads: actions, termination, value."""

    def __init__(self, network: SkillNetwork) -> None:
        super().__init__()
        self.network = network
        sizes = [network.verbs, network.objects] + [network.repeats + 1] * network.counted
        self.embedding = SubtaskEmbedding(
            sizes, network.embedding, around_one=network.around_one, noise=network.noise
        )
        self.eyes: Eyes
        self.sight: Sight
        self.context: Context
        if network.maps:
            build = _build_for_map
        else:
            build = _build_for_grid if network.world == "grid" else _build_for_block
        self.eyes, self.sight, self.context = build(network)
        features = self.context.size
        self.policy = undecided(Linear(features, network.actions))
        self.termination = Linear(features, 1)
        self.value = Linear(features, 1)
        # An LSTM can count by itself.
        counts = network.counted and not self.context.recurrent
        self.counter = Counter(network.embedding) if counts else None

    def initial_memory(self, worlds: int) -> Memory:
        """What a batch of skills remembers before the first step: nothing."""
        device = self.policy.weight.device
        carried = self.context.size if self.context.recurrent else 0
        return SkillMemory(
            sight=self.sight.initial_memory(worlds),
            h=torch.zeros(worlds, carried, device=device),
            context=self.context.initial_memory(worlds),
            counted=(torch.zeros(worlds, device=device),) if self.counter else (),
        )

    def see(self, looked: Tensor) -> Tensor:
        """What observations (B, ...) show whatever the subtask is: features (B, P, C)."""
        features: Tensor = self.eyes(looked)
        return features

    def unroll(
        self, looked: Tensor, subtasks: Tensor, begins: Tensor, memory: Memory
    ) -> tuple[SkillOutput, Memory]:
        """Time steps of a batch: observations (T, B, ...), subtasks (T, B, 3), begins (T, B).

        Observations are as `eyes.look` leaves them. `begins` is true where nothing earlier is
        remembered: where a new subtask starts, or if the skill `remembers` a new episode.
        """
        seen = self.see(looked.flatten(0, 1))
        seen = seen.view(*begins.shape, *seen.shape[1:])  # (T, B, P, C)
        return self.unroll_seen(seen, subtasks, begins, memory)

    def unroll_seen(
        self, seen: Tensor, subtasks: Tensor, begins: Tensor, memory: Memory
    ) -> tuple[SkillOutput, Memory]:
        """The same for features (T, B, P, C)."""
        before = SkillMemory(*memory)
        at_first, phi = self._phi(subtasks)  # (T, B, E) each
        x, sight = self.sight(seen, at_first, begins, before.sight)
        s = self.context.summarise(x.flatten(0, 1), phi.flatten(0, 1)).view(*begins.shape, -1)
        features, h, context = self._unroll_context(s, phi, begins, before)
        logits, value = self.policy(features), self.value(features).squeeze(-1)
        signal = self.termination(features).squeeze(-1)
        output = SkillOutput(logits, signal, value, signal)
        counted = before.counted
        if self.counter is not None:
            output, counted = self.counter(output, phi, begins, counted)
        return output, SkillMemory(sight, h, context, counted)

    def _unroll_context(
        self, s: Tensor, phi: Tensor, begins: Tensor, before: SkillMemory
    ) -> tuple[Tensor, Tensor, Memory]:
        """h of every step (T, B, H), and what is carried on."""
        h, memory = before.h, before.context
        if not self.context.recurrent:
            return s, h, memory
        features = []
        for t in range(len(s)):
            h, memory = kept((h, memory), (~begins[t])[:, None])
            h, memory = self.context(s[t], h, memory, phi[t])
            features.append(h)
        return torch.stack(features), h.detach(), each(torch.detach, memory)

    def step(
        self, looked: Tensor, subtasks: Tensor, begins: Tensor, memory: Memory
    ) -> tuple[SkillOutput, Memory]:
        """One time step of a batch: observations (B, ...), subtasks (B, 3), begins (B,)."""
        return self.step_seen(self.see(looked), subtasks, begins, memory)

    def step_seen(
        self, seen: Tensor, subtasks: Tensor, begins: Tensor, memory: Memory
    ) -> tuple[SkillOutput, Memory]:
        """The same for features (B, P, C)."""
        output, memory = self.unroll_seen(seen[None], subtasks[None], begins[None], memory)
        return SkillOutput(*(part[0] for part in output)), memory

    def _phi(self, subtasks: Tensor) -> tuple[Tensor, Tensor]:
        """phi(g) for the first predicted layer, and for the one after it.

        A verb's weights would learn which objects it is never trained with, and not see them:
        strong noise leaves the first layer only what it needs, which is to know the target. The
        second one has to know the verb, and gets it undisturbed, or the first would help it.
        """
        noisy = self.embedding.noisy(subtasks)
        return noisy, self.embedding(subtasks) if self.network.noise_at_first else noisy


class Counter(nn.Module):
    """Finishes subtasks that are to be done several times.

    Two observations cannot tell how often a subtask was done: each step's deed is added to a count,
    and the subtask is finished when the count reaches what phi(g) wants.
    """

    def __init__(self, embedding: int) -> None:
        super().__init__()
        self.wanted = Linear(embedding, 1)
        self.sharpness = nn.Parameter(torch.tensor(4.0))
        self.value_left = Linear(1, 1, bias=False)

    def forward(
        self, output: SkillOutput, phi: Tensor, begins: Tensor, memory: Memory
    ) -> tuple[SkillOutput, Memory]:
        """What the skill says of each deed (T, B), to what it says of the whole subtask."""
        (count,) = memory
        deeds = torch.sigmoid(output.deed)
        totals = []
        for t in range(len(begins)):
            count = torch.where(begins[t], 0.0, count) + deeds[t]
            totals.append(count)
        left = self.wanted(phi).squeeze(-1) - torch.stack(totals)
        value = output.value + self.value_left(left.detach()[..., None]).squeeze(-1)
        termination = self.sharpness * (0.5 - left)
        return output._replace(termination=termination, value=value), (count.detach(),)


def _build_for_grid(network: SkillNetwork) -> tuple[Eyes, Sight, Context]:
    """The last two observations, and no memory beside them (earlier version of the paper)."""
    eyes = GridEyes(network.size, network.objects)
    channels = (2 if network.same_eyes else 1) * network.conv1
    view: Centred | Pooled
    context: type[FeedForward]
    if network.view == "centred":
        view, context = Centred(network.size, channels, network.conv2, network.ways), TwoLayers
    else:
        view, context = Pooled(network.size, channels, network.conv2, network.conv3), FeedForward
    sight = GridSight(
        eyes,
        condition=network.embedding,
        conv1=network.conv1,
        looks=2,
        view=view,
        same_weights=network.same_eyes,
        linear=network.activation == "none",
    )
    sizes = sight.size, network.hidden, network.embedding, network.factors, network.narrow
    return eyes, sight, context(*sizes)


def _build_for_map(network: SkillNetwork) -> tuple[Eyes, Sight, Context]:
    """The block world with a map: as the grid's, seen from where the agent stands. Ours."""
    assert network.maps is not None
    eyes = MapEyes(network.maps, network.objects, network.actions)
    sight = MapSight(
        eyes,
        condition=network.embedding,
        conv1=network.conv1,
        conv2=network.conv2,
        ways=network.ways,
    )
    sizes = sight.size, network.hidden, network.embedding, network.factors, network.narrow
    return eyes, sight, TwoLayers(*sizes)


def _build_for_block(network: SkillNetwork) -> tuple[Eyes, Sight, Context]:
    """Four convolutions and an LSTM (paper, appendix E)."""
    filters, kernels, strides = network.filters, network.kernels, network.strides
    eyes = BlockEyes(network.picture, filters, kernels, strides)
    conv4 = nn.Conv2d(filters[2], filters[3], kernels[3], stride=strides[3])  # 15 -> 6
    sight = BlockSight(
        eyes.side,
        filters[1:3],
        condition=network.embedding,
        last=conv4,
        looks=network.looks,
    )
    sizes = sight.size, network.lstm, network.embedding, network.factors, network.narrow
    context = Recurrent(*sizes)
    # Keep the variance of what is seen from layer to layer. With the usual start it fades: the LSTM
    # sees nearly the same whatever is on the screen, and after 300,000 frames the skill still knows
    # no more than which actions are common.
    keep_variance(conv4)
    gates = context.lstm.gates
    for layer in (gates.into, gates.out):
        nn.init.kaiming_normal_(layer.weight, nonlinearity="linear")
    with torch.no_grad():
        phi = network.embedding**0.5  # how long phi(g) is when its factors start near 1
        predicted = sight.conv3.weight.weight
        predicted *= (2.0 / filters[1]) ** 0.5 / (predicted.std() * phi)
    return eyes, sight, context
