"""The parameterized skill: (observation, subtask) to action, termination and value (paper, 3)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from errands.agents.layers import (
    FactorisedLinear,
    FactorisedLSTM,
    PredictedConv,
    SubtaskEmbedding,
    centre_on_agent,
    scaled_pixels,
    window_cells,
)
from errands.agents.mapping import MapEyes, MapNetwork, Sight
from errands.language.splits import MOST_REPEATS

Memory = tuple[Tensor, ...]  # what a skill carries from step to step, (B, ...) each
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "none": lambda x: x,
}


@dataclass(frozen=True)
class SkillNetwork:
    """How a skill is built. Defaults are the `fast` preset's; the paper's sizes beside them."""

    world: Literal["grid", "block"] = "grid"
    objects: int = 15  # kinds of object in the world
    actions: int = 13
    verbs: int = 4
    counted: bool = False  # subtasks carry a count (inter/extrapolation)
    repeats: int = MOST_REPEATS  # the largest count
    size: int = 10  # grid: cells a side of the map
    picture: int = 64  # block: pixels a side
    filters: tuple[int, ...] = (16, 32, 32, 32)  # block: of the four convolutions, as in the paper
    kernels: tuple[int, ...] = (8, 1, 1, 5)  # block: their sizes, as in the paper
    strides: tuple[int, ...] = (4, 1, 1, 2)  # block: as in the paper
    embedding: int = 64  # size of phi(g); the paper does not say
    around_one: bool = True  # start phi's factors near 1; paper preset: around 0
    noise: float = 0.1  # added to phi(g) while training; paper preset: none
    noise_at_first: bool = False  # the noise is for the first predicted layer alone
    view: Literal["centred", "pooled"] = "centred"  # grid: how cells become a vector; paper: pooled
    conv1: int = 8  # grid, predicted 1x1; paper: 3
    activation: Literal["relu", "none"] = "none"  # grid: what follows conv1; paper preset: relu
    same_eyes: bool = True  # grid: conv1 sees both observations with the same weights; paper: no
    conv2: int = 16  # grid, 1x1; paper: 64
    conv3: int = 128  # grid, pooled view only, 3x3
    hidden: int = 256  # grid: FC; paper: 256
    factors: int = 256  # of factorised layers; the paper does not say
    narrow: int = 0  # numbers of phi(g) that reach the factorised layer; 0: all, as in the paper
    lstm: int = 128  # block; paper: 64
    looks: int = 2  # block: of how many observations the LSTM is told at once; paper: 1
    remembers: bool = False  # block: memory outlasts a subtask; the paper does not say
    maps: MapNetwork | None = None  # block: pictures become a map; paper: none


class SkillOutput(NamedTuple):
    """What a skill says of each observation; leading dimensions as they came in."""

    logits: Tensor  # (..., actions)
    termination: Tensor  # (...) logit that the subtask is finished
    value: Tensor  # (...)
    deed: Tensor  # (...) logit that it was just done once; without counts, the termination


class Skill(nn.Module):
    """What both worlds' skills share: the embedding, the three heads, and the way to call them."""

    def __init__(self, network: SkillNetwork, features: int) -> None:
        super().__init__()
        self.network = network
        sizes = [network.verbs, network.objects] + [network.repeats + 1] * network.counted
        self.embedding = SubtaskEmbedding(
            sizes, network.embedding, around_one=network.around_one, noise=network.noise
        )
        self.policy = nn.Linear(features, network.actions)
        self.termination = nn.Linear(features, 1)
        self.value = nn.Linear(features, 1)
        with torch.no_grad():  # begin undecided
            self.policy.weight *= 0.1
            self.policy.bias.zero_()

    def initial_memory(self, worlds: int) -> Memory:
        raise NotImplementedError

    def initial_sight(self, worlds: int) -> Sight:
        """What eyes with a memory of their own begin with."""
        return ()

    def look(
        self, images: Tensor, actions: Tensor, begins: Tensor, sight: Sight
    ) -> tuple[Tensor, Sight]:
        """What fixed eyes make of observations (B, ...) and of the actions that led to them."""
        return images, sight

    def see(self, images: Tensor) -> Tensor:
        """What observations (B, ...) show whatever the subtask is: (B, ...)."""
        return images

    def unroll(
        self, images: Tensor, subtasks: Tensor, begins: Tensor, memory: Memory
    ) -> tuple[SkillOutput, Memory]:
        """Time steps of a batch: images (T, B, ...), subtasks (T, B, 3), begins (T, B).

        `begins` is true where nothing earlier is remembered: where a new subtask starts, or if the
        skill `remembers` a new episode.
        """
        seen = self.see(images.flatten(0, 1))
        seen = seen.view(*begins.shape, *seen.shape[1:])  # (T, B, ...)
        return self.unroll_seen(seen, subtasks, begins, memory)

    def unroll_seen(
        self, seen: Tensor, subtasks: Tensor, begins: Tensor, memory: Memory
    ) -> tuple[SkillOutput, Memory]:
        """The same for what has been seen already: (T, B, ...)."""
        raise NotImplementedError

    def step(
        self, images: Tensor, subtasks: Tensor, begins: Tensor, memory: Memory
    ) -> tuple[SkillOutput, Memory]:
        """One time step of a batch: images (B, ...), subtasks (B, 3), begins (B,)."""
        return self.step_seen(self.see(images), subtasks, begins, memory)

    def step_seen(
        self, seen: Tensor, subtasks: Tensor, begins: Tensor, memory: Memory
    ) -> tuple[SkillOutput, Memory]:
        """The same for what has been seen already: (B, ...)."""
        output, memory = self.unroll_seen(seen[None], subtasks[None], begins[None], memory)
        return SkillOutput(*(part[0] for part in output)), memory

    def _phi(self, subtasks: Tensor) -> tuple[Tensor, Tensor]:
        """phi(g) as the first predicted layer hears it, and as the one after it does.

        A verb's weights would learn which objects it is never trained with, and not see them:
        strong noise leaves the first layer only what it needs, which is to know the target. The
        second one has to know the verb, and hears it undisturbed, or the first would help it.
        """
        noisy = self.embedding.noisy(subtasks)
        return noisy, self.embedding(subtasks) if self.network.noise_at_first else noisy


class GridSkill(Skill):
    """The grid's skill: looks at the last two observations (earlier version of the paper)."""

    def __init__(self, network: SkillNetwork) -> None:
        super().__init__(network, network.hidden)
        self.planes = 3 + network.objects
        condition = network.embedding
        if network.same_eyes:
            # What tells an object in one observation tells it in the other: a skill that was only
            # trained to visit an object can then see, too, that it has just disappeared.
            self.conv1 = PredictedConv(self.planes, network.conv1, condition)
            self.conv2 = nn.Linear(2 * network.conv1, network.conv2)
        else:
            self.conv1 = PredictedConv(2 * self.planes, network.conv1, condition)
            self.conv2 = nn.Linear(network.conv1, network.conv2)
        if network.view == "centred":
            flat = window_cells(network.size) * network.conv2
            self.mix = nn.Linear(network.hidden, network.hidden)
        else:
            # Kernels of 1x1 with a padding of 1, as the earlier version lists them: 12, 14, then 7.
            self.conv3 = nn.Conv2d(network.conv2, network.conv3, 3, padding=1)
            flat = ((network.size + 4) // 2) ** 2 * network.conv3
        self.fc = FactorisedLinear(flat, network.hidden, condition, network.factors, network.narrow)
        if network.counted:
            self.count_wanted = nn.Linear(condition, 1)
            self.sharpness = nn.Parameter(torch.tensor(4.0))
            self.value_left = nn.Linear(1, 1, bias=False)

    def initial_memory(self, worlds: int) -> Memory:
        device = self.policy.weight.device
        size = self.network.size
        seen = torch.zeros(worlds, self.planes, size, size, dtype=torch.uint8)
        return seen.to(device), torch.zeros(worlds, device=device)

    def unroll_seen(
        self, seen: Tensor, subtasks: Tensor, begins: Tensor, memory: Memory
    ) -> tuple[SkillOutput, Memory]:
        images = seen
        last, counter = memory
        times, worlds = begins.shape
        before = torch.cat((last[None], images[:-1]))
        before = torch.where(begins[..., None, None, None], images, before)
        last = images[-1].clone()  # worlds write their next observation into the same memory
        flat = subtasks.reshape(times * worlds, -1)
        at_first, embedded = self._phi(flat)
        x = self._tell_apart(images.flatten(0, 1), before.flatten(0, 1), at_first)
        features = self._features(x, images.flatten(0, 1), embedded)
        output, counter = self._say(features, embedded, begins, counter)
        return output, (last, counter)

    def _say(
        self, features: Tensor, embedded: Tensor, begins: Tensor, counter: Tensor
    ) -> tuple[SkillOutput, Tensor]:
        """The heads, and the counter after the last step."""
        times, worlds = begins.shape
        logits = self.policy(features).view(times, worlds, -1)
        signal = self.termination(features).view(times, worlds)
        value = self.value(features).view(times, worlds)
        if not self.network.counted:
            return SkillOutput(logits, signal, value, signal), counter
        # Two observations cannot tell how often a subtask was done: each step's deed is added to
        # a counter, and the subtask is finished when the counter reaches what phi(g) wants.
        deeds = torch.sigmoid(signal)
        wanted = self.count_wanted(embedded).view(times, worlds)
        totals = []
        for t in range(times):
            counter = torch.where(begins[t], 0.0, counter) + deeds[t]
            totals.append(counter)
        left = wanted - torch.stack(totals)
        value = value + self.value_left(left.detach()[..., None]).squeeze(-1)
        output = SkillOutput(logits, self.sharpness * (0.5 - left), value, signal)
        return output, counter.detach()

    def _features(self, x: Tensor, image: Tensor, embedded: Tensor) -> Tensor:
        """What conv1 told apart, the observation and phi(g) to (B, hidden)."""
        if self.network.view == "centred":
            agent = image[:, 0].flatten(1).argmax(dim=1)
            x = F.relu(self.conv2(x))
            x = centre_on_agent(x, agent, self.network.size).flatten(1)
            return F.relu(self.mix(F.relu(self.fc(x, embedded))))
        size = self.network.size
        x = x.transpose(1, 2)
        x = F.pad(x.reshape(*x.shape[:2], size, size), (1, 1, 1, 1))
        x = F.relu(self.conv2(x.movedim(1, -1))).movedim(-1, 1)
        x = F.max_pool2d(F.pad(x, (1, 1, 1, 1)), 2)
        return F.relu(self.fc(F.relu(self.conv3(x)).flatten(1), embedded))

    def _tell_apart(self, image: Tensor, before: Tensor, embedded: Tensor) -> Tensor:
        """Conv1 on both observations, (B, planes, size, size) each: (B, cells, channels)."""
        now, then = (
            planes.flatten(2).transpose(1, 2).to(embedded.dtype) for planes in (image, before)
        )
        if not self.network.same_eyes:
            told = self.conv1(torch.cat((now, then), dim=2), embedded)
        else:
            both = self.conv1(torch.cat((now, then), dim=1), embedded)  # (B, 2 * cells, channels)
            told = torch.cat(both.chunk(2, dim=1), dim=2)
        return ACTIVATIONS[self.network.activation](told)


class MapSkill(GridSkill):
    """The block world's skill with a map: as the grid's, seen from where the agent stands."""

    def __init__(self, network: SkillNetwork) -> None:
        Skill.__init__(self, network, network.hidden)
        assert network.maps is not None
        self.eyes = MapEyes(network.maps, network.objects, network.actions)
        self.eyes.requires_grad_(False)
        condition = network.embedding
        self.conv1 = PredictedConv(self.eyes.planes, network.conv1, condition)
        self.conv2 = nn.Linear(2 * network.conv1, network.conv2)
        flat = network.maps.window * network.conv2 + self.eyes.body
        self.mix = nn.Linear(network.hidden, network.hidden)
        self.fc = FactorisedLinear(flat, network.hidden, condition, network.factors, network.narrow)
        if network.counted:
            self.count_wanted = nn.Linear(condition, 1)
            self.sharpness = nn.Parameter(torch.tensor(4.0))
            self.value_left = nn.Linear(1, 1, bias=False)

    def initial_memory(self, worlds: int) -> Memory:
        return (torch.zeros(worlds, device=self.policy.weight.device),)

    def initial_sight(self, worlds: int) -> Sight:
        return self.eyes.initial(worlds)

    def look(
        self, images: Tensor, actions: Tensor, begins: Tensor, sight: Sight
    ) -> tuple[Tensor, Sight]:
        return self.eyes.look(images, actions, begins, sight)

    def unroll_seen(
        self, seen: Tensor, subtasks: Tensor, begins: Tensor, memory: Memory
    ) -> tuple[SkillOutput, Memory]:
        at_first, embedded = self._phi(subtasks.flatten(0, 1))
        now, before, body = self.eyes.split(seen.flatten(0, 1), embedded.dtype)
        both = self.conv1(torch.cat((now, before), dim=1), at_first)
        x = F.relu(self.conv2(torch.cat(both.chunk(2, dim=1), dim=2))).flatten(1)
        x = F.relu(self.fc(torch.cat((x, body), dim=1), embedded))
        output, counter = self._say(F.relu(self.mix(x)), embedded, begins, memory[0])
        return output, (counter,)


class BlockSkill(Skill):
    """The block world's skill (paper, appendix E): four convolutions and an LSTM."""

    def __init__(self, network: SkillNetwork) -> None:
        super().__init__(network, network.lstm)
        filters, kernels, strides = network.filters, network.kernels, network.strides
        self.side = (network.picture - kernels[0]) // strides[0] + 1  # 64 -> 15
        self.conv1 = nn.Conv2d(3, filters[0], kernels[0], stride=strides[0])
        self.conv2 = nn.Conv2d(filters[0], filters[1], kernels[1], stride=strides[1])
        self.conv3 = PredictedConv(filters[1], filters[2], network.embedding)
        self.conv4 = nn.Conv2d(filters[2], filters[3], kernels[3], stride=strides[3])  # 15 -> 6
        # Numbers that the convolutions make of an observation.
        self.seen = filters[3] * ((self.side - kernels[3]) // strides[3] + 1) ** 2
        self.lstm = FactorisedLSTM(
            network.looks * self.seen,
            network.lstm,
            network.embedding,
            network.factors,
            network.narrow,
        )
        self._start()
        # Twice to three times as fast on a CPU as the default layout.
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def _start(self) -> None:
        """Keep the variance of what is seen from layer to layer.

        With the usual start it fades: the LSTM sees nearly the same whatever is on the screen, and
        after 300,000 frames the skill still knows no more than which actions are common.
        """
        gates = self.lstm.gates
        for conv in (self.conv1, self.conv2, self.conv4):
            nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
            assert conv.bias is not None
            nn.init.zeros_(conv.bias)
        for layer in (gates.into, gates.out):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="linear")
        with torch.no_grad():
            phi = self.network.embedding**0.5  # how long phi(g) is when its factors start near 1
            predicted = self.conv3.weight.weight
            predicted *= (2.0 / self.conv3.shape[0]) ** 0.5 / (predicted.std() * phi)

    def initial_memory(self, worlds: int) -> Memory:
        device = self.policy.weight.device
        h = torch.zeros(worlds, self.network.lstm, device=device)
        before = torch.zeros(worlds, (self.network.looks - 1) * self.seen, device=device)
        return h, h.clone(), before

    def see(self, images: Tensor) -> Tensor:
        """(B, 64, 64, 3) pixels to (B, 225, 32): places of the picture, and what is there."""
        x = scaled_pixels(images, self.conv1.weight.dtype)
        x = F.relu(self.conv2(F.relu(self.conv1(x))))  # (B, 32, 15, 15)
        return x.movedim(1, -1).flatten(1, 2)

    def unroll_seen(
        self, seen: Tensor, subtasks: Tensor, begins: Tensor, memory: Memory
    ) -> tuple[SkillOutput, Memory]:
        times, worlds = begins.shape
        at_first, embedded = self._phi(subtasks)  # (T, B, E) each
        x = self._look(seen.flatten(0, 1), at_first.flatten(0, 1)).view(times, worlds, -1)
        h, c, before = memory
        if self.network.looks == 2:
            # Who stands on an object does not see it: what was in front a step ago tells which.
            earlier = torch.cat((before[None], x[:-1]))
            before = x[-1].detach()
            x = torch.cat((x, torch.where(begins[..., None], x, earlier)), dim=2)
        outputs = []
        for t in range(times):
            keep = (~begins[t])[:, None]
            h, c = self.lstm(x[t], embedded[t], (h * keep, c * keep))
            outputs.append(h)
        features = torch.stack(outputs)
        finished = self.termination(features).squeeze(-1)
        value = self.value(features).squeeze(-1)
        output = SkillOutput(self.policy(features), finished, value, finished)
        return output, (h.detach(), c.detach(), before)

    def _look(self, seen: Tensor, embedded: Tensor) -> Tensor:
        """What was seen (B, 225, 32) and phi(g) to (B, 1152)."""
        x = F.relu(self.conv3(seen, embedded))
        x = x.view(-1, self.side, self.side, x.shape[2]).movedim(-1, 1)
        return F.relu(self.conv4(x)).flatten(1)


def build_skill(network: SkillNetwork) -> Skill:
    if network.maps:
        return MapSkill(network)
    return GridSkill(network) if network.world == "grid" else BlockSkill(network)
