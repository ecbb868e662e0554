"""Small meta controllers and what they read, and Algorithm 2 number by number on plain lists."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from errands.agents.meta import (
    SHIFTS,
    MetaController,
    MetaInput,
    MetaNetwork,
    MetaState,
    bags_of_words,
)

SMALL = MetaNetwork(embedding=5, sentence=6, condition=7, conv1=2, hidden=8, factors=7)
BLOCK = replace(SMALL, world="block", words=14, objects=7, actions=9)
FORMS = {
    "dynamic": SMALL,
    "long": replace(SMALL, gate="at-termination"),
    "short": replace(SMALL, gate="every-step"),
    "flat": replace(SMALL, gate="every-step", flat=True),
    "paper": replace(
        SMALL,
        joint="relu",
        view="pooled",
        around_one=False,
        head_start=False,
        glance=False,
        told=False,
        reminded=False,
        grounded=False,
    ),
    "hierarchical": replace(SMALL, low=3),
    "tallying": replace(SMALL, tallies=True),
    "block": BLOCK,
    "block, hierarchical": replace(BLOCK, low=3),
    "block, flat": replace(BLOCK, gate="every-step", flat=True),
}
LENGTHS = (3, 1, 4)  # of the lists, one a world
LONGEST = 4
VERB = 0  # index of the parameter
CERTAIN = 1000.0  # a logit that leaves no doubt


def randomised(network: MetaNetwork) -> MetaController:
    """Heads start almost silent: louder ones make differences show. There is no noise."""
    torch.manual_seed(0)
    meta = MetaController(network).eval()
    with torch.no_grad():
        for layer in meta.heads():
            layer.weight.normal_()
            layer.bias.normal_()
    return meta


def certain(meta: MetaController, *, c: bool | None = None, shift: int | None = None) -> None:
    """Leave the gate or the shift no choice, whatever is seen."""
    with torch.no_grad():
        for layer, start in ((meta.update, meta.update_start), (meta.shift[2], meta.shift_start)):
            wanted = c if layer is meta.update else shift
            if wanted is None:
                continue
            for parameter in (layer.weight, layer.bias, start):
                parameter.zero_()
        if c is not None:
            meta.update.bias.fill_(CERTAIN if c else -CERTAIN)
        if shift is not None:
            meta.shift[2].bias[SHIFTS.index(shift)] = CERTAIN


def images_of(network: MetaNetwork, worlds: int, seed: int = 1) -> Tensor:
    """Random observations; a grid's first plane shows the agent on one inner cell."""
    random = np.random.default_rng(seed)
    if network.world == "block":
        return torch.from_numpy(random.integers(0, 256, (worlds, 64, 64, 3), dtype=np.uint8))
    cells = (random.random((worlds, 3 + network.objects, 10, 10)) < 0.2).astype(np.uint8)
    cells[:, 0] = 0
    for world in range(worlds):
        row, column = random.integers(1, 9, 2)
        cells[world, 0, row, column] = 1
    return torch.from_numpy(cells)


def tokens_of(network: MetaNetwork, mask: Tensor, seed: int = 2) -> Tensor:
    """Three words an instruction, the last one missing now and then; nothing on padding."""
    random = np.random.default_rng(seed)
    tokens = random.integers(1, network.words, (*mask.shape, 3))
    tokens[..., 2] *= random.random(mask.shape) < 0.5
    return torch.from_numpy(tokens) * mask[..., None]


def mask_of(lengths: tuple[int, ...] = LENGTHS, longest: int = LONGEST) -> Tensor:
    return torch.arange(longest)[None, :] < torch.tensor(lengths)[:, None]


def flags(*worlds: int, count: int = len(LENGTHS)) -> Tensor:
    """True for these worlds alone."""
    return torch.tensor([world in worlds for world in range(count)])


def given(
    network: MetaNetwork,
    *,
    finished: tuple[int, ...] = (),
    begins: tuple[int, ...] = (),
    seed: int = 1,
    mask: Tensor | None = None,
) -> MetaInput:
    """One step's input for three worlds; the lists stay the same from seed to seed."""
    mask = mask_of() if mask is None else mask
    count = len(mask)
    bags = bags_of_words(tokens_of(network, mask), network.words)
    image = images_of(network, count, seed)
    told = flags(*finished, count=count), flags(*begins, count=count)
    return MetaInput(image, bags, mask, *told)


def carried(
    meta: MetaController, mask: Tensor | None = None, seed: int = 3, *, soft: bool = True
) -> MetaState:
    """A state as an episode might leave it; after hard updates, pointers are on one instruction."""
    network, mask = meta.network, mask_of() if mask is None else mask
    count = len(mask)
    random = torch.Generator().manual_seed(seed)
    start = meta.initial_state(*mask.shape)
    p = torch.rand(mask.shape, generator=random) * mask
    if not soft:
        p = torch.nn.functional.one_hot(p.argmax(1), p.shape[1]).float()
    g = [torch.randint(size, (count,), generator=random) for size in network.parameters]
    return MetaState(
        p=p / p.sum(1, keepdim=True),
        h=torch.rand(start.h.shape, generator=random),
        cell=torch.randn(start.cell.shape, generator=random),
        g=torch.stack(g, dim=1),
        seen=images_of(network, count, seed) if start.seen.numel() else start.seen,
        tally=torch.randint(4, (count,), generator=random).float(),
    )


def doubled(values: Any) -> Any:
    """The same with every float tensor in double precision."""
    return type(values)(*(v.double() if v.is_floating_point() else v for v in values))


Vector = list[float]


@dataclass
class SlowThought:
    """What one world's step comes to."""

    c: float
    l: Vector  # noqa: E741
    p: Vector
    r: Vector
    h: Vector
    log_probability: float
    value: float


class SlowUpdater:
    """Algorithm 2 for one world of the grid, one number after another."""

    def __init__(self, meta: MetaController) -> None:
        assert meta.network.world == "grid"
        assert not meta.network.flat
        self.meta = meta
        self.words: list[Vector] = meta.words.tolist()

    def begin(self, tokens: list[list[int]]) -> None:
        """A new episode: the pointer is on the first instruction, and nothing ran before."""
        self.sentences = [[word for word in words if word] for words in tokens]
        self.p = [1.0] + [0.0] * (len(tokens) - 1)
        self.r = self.retrieve(self.p)
        self.h = [0.0] * self.meta.network.hidden
        self.g: list[int] | None = None
        self.tally = 0.0

    def retrieve(self, p: Vector) -> Vector:
        r = [0.0] * self.meta.network.sentence
        for share, sentence in zip(p, self.sentences, strict=True):
            for word in sentence:
                r = [total + share * part for total, part in zip(r, self.words[word], strict=True)]
        return r

    def heard(self, p: Vector) -> Vector:
        """How much of each word the pointer is on."""
        pairs = list(zip(p, self.sentences, strict=True))
        words = range(self.meta.network.words)
        return [sum(share * said.count(word) for share, said in pairs) for word in words]

    def named(self, p: Vector, thing: int) -> float:
        """How much of what the pointer is on names this object: its words are the last ones."""
        word = self.meta.network.words - self.meta.network.objects + thing
        pairs = zip(p, self.sentences, strict=True)
        return sum(share * sentence.count(word) for share, sentence in pairs)

    def shifted(self, l: Vector) -> Vector:  # noqa: E741
        """l * p: what would leave the list stays where it is."""
        p = [0.0] * len(self.p)
        for k, share in enumerate(self.p):
            for chance, shift in zip(l, SHIFTS, strict=True):
                p[min(max(k + shift, 0), len(p) - 1)] += chance * share
        return p

    def within(self, l: Vector) -> Vector:  # noqa: E741
        """In hard updates, shifts that lead out of the list count as staying."""
        at = self.p.index(1.0)
        back, forth = l[0] * (at > 0), l[2] * (at < len(self.p) - 1)
        return [back, 1.0 - back - forth, forth]

    def step(
        self, image: Tensor, finished: bool, g: list[int], hard: tuple[bool, int] | None = None
    ) -> SlowThought:
        """Decide for g; in a hard update, also for this gate and this index of a shift."""
        meta, network = self.meta, self.meta.network
        first = self.g is None
        finished = finished and not first
        phi = [0.0] * network.embedding
        if self.g is not None:
            verb, thing = (meta.embedding.factors[k][self.g[k]].tolist() for k in range(2))
            phi = [max(0.0, a * b) for a, b in zip(verb, thing, strict=True)]
        condition = linear(meta.condition, [*phi, *self.r, float(finished)])
        named = [self.named(self.p, thing) for thing in range(network.objects)]
        as_told = named[self.g[1]] if self.g is not None and network.grounded else float(not first)
        h = self.look(image, condition, named, as_told)
        c = sigmoid(linear(meta.update, [*h, *self.h])[0] + meta.update_start[int(finished)].item())
        tally = self.tally + finished * as_told
        tallied = [min(max(tally - k, 0.0), 1.0) for k in range(3)] if network.tallies else []
        heard = [*h, *self.r] if network.reminded else h
        logits = linear(meta.shift[2], relu(linear(meta.shift[0], heard)))
        started = (meta.shift_start[k].tolist() for k in (1, 0))
        starts = mixed(finished * as_told, *started)
        if network.tallies:
            pairs = [share * k for share in self.heard(self.p) for k in tallied]
            starts = [a + 10 * b for a, b in zip(starts, linear(meta.enough, pairs), strict=True)]
        l = softmax([a + b for a, b in zip(logits, starts, strict=True)])  # noqa: E741
        if network.gate != "learned":
            c = float(finished or network.gate == "every-step")
        if first:
            c, l = 1.0, [0.0, 1.0, 0.0]  # noqa: E741
        weight, log_probability = c, 0.0
        moves = l
        if hard is not None:
            l = self.within(l)  # noqa: E741
            weight, moves = float(hard[0]), [float(k == hard[1]) for k in range(3)]
            log_probability += math.log(c if hard[0] else 1 - c)
            log_probability += math.log(l[hard[1]]) if hard[0] else 0.0
        slots = network.slots
        where = (self.p + [0.0] * slots)[:slots]
        present = [float(k < len(self.p)) for k in range(slots)]
        undecided = relu(linear(meta.goal_hidden, [*self.r, *h]))
        value = linear(meta.baseline, [*where, *present, *undecided, *tallied])[0]
        p_new = self.shifted(moves)
        r_new = self.retrieve(p_new)
        hidden = relu(linear(meta.goal_hidden, [*r_new, *h]))
        for k, head in enumerate(meta.goals):
            logits = linear(head, hidden)
            if k == VERB and network.grounded:
                logits = mixed(self.named(p_new, g[1]), linear(meta.named_verb, r_new), logits)
            elif network.grounded:
                weighed = linear(meta.named_object, hidden)[0]
                logits = [x + weighed * self.named(p_new, o) for o, x in enumerate(logits)]
            copied = 0.0 if self.g is None else float(self.g[k] == g[k])
            chance = weight * softmax(logits)[g[k]] + (1 - weight) * copied
            log_probability += math.log(chance)
        p_after = mixed(weight, p_new, self.p)
        moved = sum(max(0.0, new - old) for new, old in zip(p_after, self.p, strict=True))
        self.tally = tally * (1 - moved)
        self.p, self.r = p_after, mixed(weight, r_new, self.r)
        self.h = h[: network.low] + mixed(weight, h, self.h)[network.low :]
        self.g = g
        return SlowThought(c, l, self.p, self.r, self.h, log_probability, value)

    def look(self, image: Tensor, condition: Vector, named: Vector, as_told: float) -> Vector:
        """h~_t, which is s_t as well: the network's own eyes, whose layers have twins elsewhere."""
        nowhere = torch.zeros(1, 0)
        step = MetaInput(image[None], nowhere, nowhere, flags(count=1), flags(count=1))
        state = MetaState(*[nowhere] * len(MetaState._fields))
        parts = (torch.tensor([part], dtype=self.meta.words.dtype) for part in (condition, named))
        before = torch.tensor([self.h], dtype=self.meta.words.dtype)
        told = torch.tensor([[as_told]], dtype=self.meta.words.dtype)
        _, context, _ = self.meta._look(step, state, *parts, told, before, nowhere)
        return context[0].tolist()


def linear(layer: nn.Module, x: Vector) -> Vector:
    """W x + b."""
    assert isinstance(layer, nn.Linear)
    rows = layer.weight.tolist()
    bias = layer.bias.tolist() if layer.bias is not None else [0.0] * len(rows)
    return [
        b + sum(w * v for w, v in zip(row, x, strict=True))
        for row, b in zip(rows, bias, strict=True)
    ]


def relu(x: Vector) -> Vector:
    return [max(0.0, value) for value in x]


def sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


def softmax(x: Vector) -> Vector:
    powers = [math.exp(value - max(x)) for value in x]
    return [power / sum(powers) for power in powers]


def mixed(weight: float, new: Vector, old: Vector) -> Vector:
    return [weight * a + (1 - weight) * b for a, b in zip(new, old, strict=True)]
