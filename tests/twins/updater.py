"""The meta controller again, for one world, number by number on plain lists: slow and obvious.

Every form runs here: the paper's, every hint, every gate, Flat, and both worlds. Only the two plain
convolutions of the block world's eyes are PyTorch's.
"""

import math
from dataclasses import dataclass

from torch import Tensor, nn

from errands.agents.eyes import Centred
from errands.agents.hints import Briefing, Grounding, HeadStart, Leftover, Sighting, Tally
from errands.agents.instructions import SHIFTS
from errands.agents.layers import FactorisedLinear, PredictedConv
from errands.agents.meta import MetaController

Vector = list[float]
VERB, OBJECT = 0, 1  # indices of the parameters


@dataclass
class SlowOutput:
    """What one world's step comes to."""

    c: float
    l: Vector  # noqa: E741
    p: Vector
    r: Vector
    h: Vector
    log_probability: float
    value: float


class SlowMeta:
    """Algorithm 2 and all around it, for one world."""

    def __init__(self, meta: MetaController) -> None:
        self.meta = meta
        self.network = meta.network
        self.hints = dict(meta.hints.items())
        self.words: list[Vector] = meta.words.tolist()

    def begin(self, tokens: list[list[int]]) -> None:
        """A new episode: the pointer is on the first instruction, and nothing ran before."""
        self.sentences = [[word for word in words if word] for words in tokens]
        self.p = [1.0] + [0.0] * (len(tokens) - 1)
        self.h = [0.0] * self.network.hidden
        self.cell = [0.0] * self.network.hidden
        self.g: list[int] | None = None
        self.before: list[Vector] | None = None  # the observation before, for Flat
        self.tally = 0.0

    def step(
        self, seen: Tensor, finished: bool, g: list[int], hard: tuple[bool, int] | None = None
    ) -> SlowOutput:
        """Decide for g; in a hard update, also for this gate and this index of a shift."""
        first = self.g is None
        b = float(finished and not first)
        r = self.retrieve(self.p)
        condition = self.condition(r, b)
        self.tally += self.done(b, "tally")
        s = self.summary(seen, condition)
        c_logit = linear(self.meta.updater.update, [*s, *self.h])[0]
        if isinstance(start := self.hints.get("head-start"), HeadStart):
            c_logit += start.update[int(b)].item()
        if isinstance(sighting := self.hints.get("sighting"), Sighting):
            shown = [value for view in self.objects_in_sight for value in view]
            c_logit += sighting.scale * linear(sighting.gate, shown)[0]
        c = self.gate(c_logit, b)
        h_tilde, cell_tilde = self.context(s, condition)
        l = softmax(self.shift_logits(h_tilde, r, b))  # noqa: E741
        if first:
            c, l = 1.0, [0.0, 1.0, 0.0]  # noqa: E741
        value = self.value(r, h_tilde)
        weight, moves, log_probability = c, l, 0.0
        if hard is not None:
            l = self.within(l)  # noqa: E741
            weight, moves = float(hard[0]), [float(k == hard[1]) for k in range(3)]
            log_probability += math.log(c if hard[0] else 1 - c)
            log_probability += math.log(l[hard[1]]) if hard[0] else 0.0
        p_tilde = self.shifted(moves)
        log_probability += self.log_of_goal(g, h_tilde, p_tilde, weight)
        p = mixed(weight, p_tilde, self.p)
        moved = sum(max(0.0, new - old) for new, old in zip(p, self.p, strict=True))
        self.tally *= 1 - moved
        low = self.network.low
        self.p = p
        self.h = h_tilde[:low] + mixed(weight, h_tilde, self.h)[low:]
        self.cell = cell_tilde[:low] + mixed(weight, cell_tilde, self.cell)[low:]
        self.g = g
        return SlowOutput(c, l, p, self.retrieve(p), self.h, log_probability, value)

    # What is known

    def retrieve(self, p: Vector) -> Vector:
        """r: the embeddings of all words that the pointer is on."""
        r = [0.0] * self.network.sentence
        for share, sentence in zip(p, self.sentences, strict=True):
            for word in sentence:
                r = [total + share * part for total, part in zip(r, self.words[word], strict=True)]
        return r

    def said(self, p: Vector, word: int) -> float:
        """How much of what the pointer is on is this word."""
        pairs = zip(p, self.sentences, strict=True)
        return sum(share * sentence.count(word) for share, sentence in pairs)

    def named(self, p: Vector, thing: int) -> float:
        """How much of what the pointer is on names this object: its words are the last ones."""
        return self.said(p, self.network.words - self.network.objects + thing)

    def about_named(self) -> float:
        return 0.0 if self.g is None else self.named(self.p, self.g[OBJECT])

    def done(self, b: float, hint: str) -> float:
        """Whether a subtask was finished, as far as the hint is concerned."""
        if hint not in self.hints:
            return 0.0
        return b * (self.about_named() if self.network.hints[hint]["named"] else 1.0)

    def condition(self, r: Vector, b: float) -> Vector:
        modules = self.meta.condition
        if self.network.flat:
            return relu(linear(modules.layers[2], relu(linear(modules.layers[0], r))))
        phi = [0.0] * self.network.embedding
        if self.g is not None:
            verb, thing = (modules.embedding.factors[k][self.g[k]].tolist() for k in range(2))
            phi = relu([x * y for x, y in zip(verb, thing, strict=True)])
        joint = linear(modules.joint, [*phi, *r, b])
        return relu(joint) if self.network.joint == "relu" else joint

    # What is seen

    def summary(self, seen: Tensor, condition: Vector) -> Vector:
        """s_t"""
        features: list[Vector] = self.meta.eyes(seen[None])[0].double().tolist()
        if self.network.maps:
            return self.with_hints(*self.window(features, condition), condition)
        if self.network.world == "block":
            return self.pooled(predicted(self.meta.sight.conv3, features, condition), features)
        x = predicted(self.meta.sight.conv1, features, condition)
        if self.network.flat:
            before = features if self.before is None else self.before
            then = predicted(self.meta.sight.conv1, before, condition)
            x = [now + old for now, old in zip(x, then, strict=True)]
            self.before = features
        view = self.centred if isinstance(self.meta.sight.view, Centred) else self.pooled
        return self.with_hints(view(x, features), self.kinds(features), condition)

    def with_hints(self, read: Vector, kinds: list[Vector], condition: Vector) -> Vector:
        """s_t of what is seen, and which kinds are in sight."""
        first = self.meta.eyes.object_channels.start
        self.objects_in_sight = [view[first : first + self.network.objects] for view in kinds]
        if "glance" in self.hints:
            read = read + [value for view in kinds for value in view]
        s = factorised(self.meta.context.fc, read, condition)
        if isinstance(briefing := self.hints.get("briefing"), Briefing):
            known = list(condition)
            if self.network.hints["briefing"]["named"]:
                objects = range(self.network.objects)
                at = self.meta.eyes.object_channels.start
                known += [
                    sum(self.named(self.p, o) * view[at + o] for o in objects) for view in kinds
                ]
                known.append(self.about_named())
            s = [x + y for x, y in zip(s, linear(briefing.layer, known), strict=True)]
        return relu(s)

    def window(self, seen: list[float], condition: Vector) -> tuple[Vector, list[Vector]]:
        """Bytes of the skill's map: the window as it is now comes first, cell by cell."""
        maps, channels = self.network.maps, 4 + self.network.objects
        assert maps is not None
        cells = [
            [value / 255 for value in seen[k * channels : (k + 1) * channels]]
            for k in range(maps.window)
        ]
        there, close, fresh = ([0.0] * channels for _ in range(3))
        for k, cell in enumerate(cells):
            row, column = divmod(k, 2 * maps.reach + 1)
            near = abs(row - maps.reach) + abs(column - maps.reach) <= self.network.near
            for channel, value in enumerate(cell):
                there[channel] = max(there[channel], value)
                close[channel] = max(close[channel], value * near)
                fresh[channel] = max(fresh[channel], value * cell[-2])
        x = predicted(self.meta.sight.conv1, cells, condition)
        return [value for cell in x for value in cell], [there, close, fresh]

    def at(self, features: list[Vector]) -> tuple[int, int]:
        """Row and column of the agent."""
        cell = max(range(len(features)), key=lambda cell: features[cell][0])
        return divmod(cell, self.network.size)

    def kinds(self, features: list[Vector]) -> list[Vector]:
        """Of each plane: is there anything on it, and is there anything close by?"""
        row, column = self.at(features)
        there, close = [0.0] * len(features[0]), [0.0] * len(features[0])
        for cell, planes in enumerate(features):
            y, x = divmod(cell, self.network.size)
            near = abs(y - row) + abs(x - column) <= self.network.near
            for plane, value in enumerate(planes):
                there[plane] = max(there[plane], value)
                close[plane] = max(close[plane], value * near)
        return [there, close]

    def centred(self, x: list[Vector], features: list[Vector]) -> Vector:
        """The cells of a window around the agent, row by row; nothing where the map has ended."""
        size, (row, column) = self.network.size, self.at(features)
        reach = size - 3
        read: Vector = []
        for down in range(-reach, reach + 1):
            for right in range(-reach, reach + 1):
                y, z = row + down, column + right
                inside = 0 <= y < size and 0 <= z < size
                read += x[y * size + z] if inside else [0.0] * len(x[0])
        return read

    def pooled(self, x: list[Vector], features: list[Vector]) -> Vector:
        """Channel by channel: the largest of each square. The grid has a border of padding."""
        side = math.isqrt(len(x))
        border, square = (1, 2) if self.network.world == "grid" else (0, self.network.pool)
        places = range((side + 2 * border) // square)
        read: Vector = []
        for channel in range(len(x[0])):
            for down in places:
                for right in places:
                    inside = [
                        x[y * side + z][channel]
                        for y in range(down * square - border, (down + 1) * square - border)
                        for z in range(right * square - border, (right + 1) * square - border)
                        if 0 <= y < side and 0 <= z < side
                    ]
                    read.append(max([0.0, *inside]))
        return read

    def context(self, s: Vector, condition: Vector) -> tuple[Vector, Vector]:
        """h~_t, and the cell of an LSTM."""
        if self.network.world == "grid" or self.network.maps:
            return s, self.cell
        size = self.network.hidden
        gates = factorised(self.meta.context.lstm.gates, [*s, *self.h], condition)
        i, f, new, o = (gates[k * size : (k + 1) * size] for k in range(4))
        cell = [
            sigmoid(f[k]) * self.cell[k] + sigmoid(i[k]) * math.tanh(new[k]) for k in range(size)
        ]
        return [sigmoid(o[k]) * math.tanh(cell[k]) for k in range(size)], cell

    # What is decided

    def gate(self, logit: float, b: float) -> float:
        if b and "promptness" in self.hints:
            return 1.0
        if self.g is not None and "pursuit" in self.hints:
            in_sight = self.objects_in_sight[0][self.g[OBJECT]] > 0.5
            if not in_sight and not self.about_named():
                return 1.0
        if self.network.gate == "learned":
            return sigmoid(logit)
        return 1.0 if self.network.gate == "every-step" else b

    def shift_logits(self, h_tilde: Vector, r: Vector, b: float) -> Vector:
        shift = self.meta.updater.shift
        seen = [0.0] * len(h_tilde) if "focus" in self.hints else h_tilde
        read = [*seen, *r] if "reminder" in self.hints else seen
        logits = linear(shift[2], relu(linear(shift[0], read)))
        if isinstance(start := self.hints.get("head-start"), HeadStart):
            runs, ended = start.shift.tolist()
            added = mixed(self.done(b, "head-start"), ended, runs)
            logits = [x + y for x, y in zip(logits, added, strict=True)]
        if isinstance(tally := self.hints.get("tally"), Tally):
            words = range(self.network.words)
            pairs = [self.said(self.p, word) * k for word in words for k in self.counts()]
            added = linear(tally.enough, pairs)
            logits = [x + tally.scale * y for x, y in zip(logits, added, strict=True)]
        if isinstance(leftover := self.hints.get("leftover"), Leftover):
            names = self.network.words - self.network.objects
            kinds = self.objects_in_sight[0]
            left = sum(self.said(self.p, names + k) * kind for k, kind in enumerate(kinds))
            others = [self.said(self.p, word) for word in range(names)]
            read = [*(word * left for word in others), *(word * (1 - left) for word in others)]
            added = linear(leftover.enough, read)
            logits = [x + leftover.scale * y for x, y in zip(logits, added, strict=True)]
        if "bookmark" in self.hints and not b * self.about_named():
            return [-math.inf, 0.0, -math.inf]
        return logits

    def counts(self) -> Vector:
        """At least one, two, three?"""
        if "tally" not in self.hints:
            return []
        most = self.network.hints["tally"]["most"]
        return [min(max(self.tally - k, 0.0), 1.0) for k in range(most)]

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

    def log_of_goal(self, g: list[int], h_tilde: Vector, p: Vector, weight: float) -> float:
        """log of c pi(g) + (1 - c) [g = g_(t-1)], added up over the parameters."""
        r = self.retrieve(p)
        hidden = relu(linear(self.meta.updater.goal_hidden, [*r, *h_tilde]))
        total = 0.0
        for k, head in enumerate(self.meta.updater.goals):
            logits = linear(head, hidden)
            if isinstance(grounding := self.hints.get("grounding"), Grounding):
                if k == VERB:
                    of_words = linear(grounding.named_verb, r)
                    logits = mixed(self.named(p, g[OBJECT]), of_words, logits)
                else:
                    weighed = linear(grounding.named_object, hidden)[0]
                    logits = [x + weighed * self.named(p, o) for o, x in enumerate(logits)]
            if k == OBJECT and isinstance(sighting := self.hints.get("sighting"), Sighting):
                for view, weights in zip(
                    self.objects_in_sight, sighting.goal.tolist(), strict=True
                ):
                    logits = [
                        x + sighting.scale * weights[o] * view[o] for o, x in enumerate(logits)
                    ]
            copied = 0.0 if self.g is None else float(self.g[k] == g[k])
            total += math.log(weight * softmax(logits)[g[k]] + (1 - weight) * copied)
        return total

    def value(self, r: Vector, h_tilde: Vector) -> float:
        slots = self.network.slots
        where = (self.p + [0.0] * slots)[:slots]
        present = [float(k < len(self.p)) for k in range(slots)]
        hidden = relu(linear(self.meta.updater.goal_hidden, [*r, *h_tilde]))
        return linear(self.meta.baseline, [*where, *present, *hidden, *self.counts()])[0]


def linear(layer: nn.Module, x: Vector) -> Vector:
    """W x + b."""
    assert isinstance(layer, nn.Linear)
    rows = layer.weight.tolist()
    bias = layer.bias.tolist() if layer.bias is not None else [0.0] * len(rows)
    return [
        b + sum(w * v for w, v in zip(row, x, strict=True))
        for row, b in zip(rows, bias, strict=True)
    ]


def factorised(layer: FactorisedLinear, x: Vector, condition: Vector) -> Vector:
    """W' diag(phi(g)) W x + b."""
    pairs = zip(linear(layer.into, x), linear(layer.diagonal, condition), strict=True)
    return linear(layer.out, [a * b for a, b in pairs])


def predicted(conv: PredictedConv, cells: list[Vector], condition: Vector) -> list[Vector]:
    """ReLU(phi(g) x + b) in each cell."""
    weights, bias = linear(conv.weight, condition), conv.bias.tolist()
    outs = range(len(bias))
    return [
        relu(
            [
                bias[o] + sum(v * weights[i * len(bias) + o] for i, v in enumerate(cell))
                for o in outs
            ]
        )
        for cell in cells
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
