"""The meta controller: which instruction am I on, which subtask next, and is it time to decide?

Paper, section 4. Symbols: x_t observation, M instruction memory, p_t pointer, r_t retrieved
instruction, h_t context, c_t update gate, l_t shift, g_t subtask, b_t termination of g_(t-1). One
architecture for all agents: Dynamic, Long and Short differ in their `gate` alone, and Flat chooses
primitive actions where the others choose the parameters of a subtask.
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple, cast

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
    with_noise,
)
from errands.agents.mapping import MapNetwork

Gate = Literal["learned", "at-termination", "every-step"]
SHIFTS = (-1, 0, 1)
STAY = 1  # index of shift 0
GATE_ENTROPY = 0.1  # weight of the gate in the entropy, beside the 1 of subtask and shift [O]


@dataclass(frozen=True)
class MetaNetwork:
    """How a meta controller is built. Defaults are the `fast` preset's; the paper's beside them."""

    world: Literal["grid", "block"] = "grid"
    gate: Gate = "learned"  # Dynamic; Long: at-termination; Short and Flat: every-step
    flat: bool = False  # choose primitive actions, without a skill
    eyes: Literal["own", "skill"] = "own"  # block: whose first two convolutions; paper: own
    maps: MapNetwork | None = None  # block: of the skill, whose map is seen instead; paper: none
    words: int = 21  # tokens of the vocabulary, padding included
    verbs: int = 3
    objects: int = 15
    actions: int = 13
    embedding: int = 64  # size of phi(g); the paper does not say
    around_one: bool = True  # start phi's factors near 1; paper preset: around 0
    noise: float = 0.1  # added to phi(g) and r while training; paper preset: none
    sentence: int = 128  # size of an instruction's embedding; paper: 256
    condition: int = 128  # joint embedding of g_(t-1), r_(t-1) and b_t; paper: 256
    joint: Literal["linear", "relu"] = "linear"  # what follows it; paper preset: relu
    view: Literal["centred", "pooled"] = "centred"  # grid: how cells become a vector; paper: pooled
    conv1: int = 4  # grid, predicted 1x1; paper: 3
    glance: bool = True  # grid: also see which kinds are there at all, and which near; paper: no
    told: bool = True  # grid: the condition also adds to the context; paper: multiplies only
    reminded: bool = True  # the shift reads r_(t-1) beside the context; paper: no
    tallies: bool = False  # shift and baseline know how often what is named was done; paper: no
    grounded: bool = True  # names of objects are tied to what is seen and chosen; paper: no
    hidden: int = 128  # context, and hidden layers of shift and goal; paper: 256
    factors: int = 128  # of factorised layers; the paper does not say
    low: int = 0  # units of the context that update every step (hierarchical RNN); paper: a switch
    slots: int = 4  # pointer positions that the baseline looks at: the longest list in training
    ends_open: bool = False  # the gate always opens where a subtask has finished; paper: no
    head_start: bool = True  # begin with "go on while a subtask runs, move on when it is finished"
    near: int = 4  # grid: steps that count as near, in a glance
    tally: int = 3  # highest count that the tally represents: the largest of an instruction
    tally_scale: float = 10.0  # few but decisive parameters: larger effective learning rate
    size: int = 10  # grid: cells a side of the map
    picture: int = 64  # block: pixels a side
    filters: tuple[int, ...] = (16, 32, 32)  # block: of the three convolutions, as in the paper
    kernels: tuple[int, ...] = (8, 1, 1)  # block: their sizes, as in the paper
    strides: tuple[int, ...] = (4, 1, 1)  # block: as in the paper
    pool: int = 5  # block: as in the paper

    @property
    def parameters(self) -> tuple[int, ...]:
        """How many values each thing has that is chosen: verb and object, or the action."""
        return (self.actions,) if self.flat else (self.verbs, self.objects)

    @property
    def ties_names(self) -> bool:
        """Whether names of objects are tied to the subtask: Flat has none."""
        return self.grounded and not self.flat


class MetaState(NamedTuple):
    """What a meta controller carries from step to step, (B, ...) each."""

    p: Tensor  # (B, K) pointer
    h: Tensor  # (B, H) context
    cell: Tensor  # (B, H) of the LSTM (block world)
    g: Tensor  # (B, parameters) what was chosen last
    seen: Tensor  # (B, ...) the observation before, for the grid's Flat; else empty
    tally: Tensor  # (B,) how often what is named was finished since the pointer last moved


class MetaInput(NamedTuple):
    """What a meta controller reads at one step."""

    image: Tensor  # (B, ...), or what the skill's eyes make of it
    bags: Tensor  # (B, K, words) how often each word stands in each instruction
    mask: Tensor  # (B, K) which instructions are there
    finished: Tensor  # (B,) b_t: the skill says that g_(t-1) is finished
    begins: Tensor  # (B,) first step of an episode: nothing earlier counts


class Decision(NamedTuple):
    """What was drawn at one step. Soft updates draw g_t alone."""

    c: Tensor  # (B,) bool
    shift: Tensor  # (B,) index into SHIFTS
    g: Tensor  # (B, parameters)


class Thought(NamedTuple):
    """One step of a meta controller, as learning and people want to see it."""

    decision: Decision
    log_probability: Tensor  # (B,) of the decision
    entropy: Tensor  # (B,) of what was open to decide
    value: Tensor  # (B,)
    update: Tensor  # (B,) probability of c_t = 1
    shift: Tensor  # (B, 3) probabilities of -1, 0, +1
    pointer: Tensor  # (B, K) p_t


def bags_of_words(tokens: Tensor, words: int) -> Tensor:
    """Instructions as words (B, K, 3) to (B, K, words); padding counts as nothing."""
    bags = torch.zeros(*tokens.shape[:2], words, device=tokens.device)
    bags.scatter_add_(2, tokens, torch.ones_like(tokens, dtype=bags.dtype))
    bags[..., 0] = 0.0
    return bags


def read(bags: Tensor, p: Tensor) -> Tensor:
    """The words (B, words) that a pointer (B, K) is on."""
    return torch.einsum("bk,bkw->bw", p, bags)


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

    They come to the same; told apart, they would be learned from noise alone, and whatever lists of
    one teach about them is wrong for longer ones.
    """
    # A pointer that soft updates have left behind may be a rounding error above one.
    back = l[:, 0] * (1.0 - p[:, 0]).clamp(min=0.0)
    forth = l[:, 2] * (1.0 - (p * last_of(mask.to(p.dtype))).sum(dim=1)).clamp(min=0.0)
    return torch.stack((back, l[:, 1] + (l[:, 0] - back) + (l[:, 2] - forth), forth), dim=1)


def kinds_in_sight(image: Tensor, reach: int) -> Tensor:
    """Planes (B, P, size, size) to (B, 2 P): is there any, and is one within `reach` steps?"""
    size = image.shape[-1]
    agent = image[:, 0].flatten(1).argmax(dim=1)
    row = torch.arange(size, device=image.device)
    down = (row[None] - torch.div(agent, size, rounding_mode="floor")[:, None]).abs()
    right = (row[None] - (agent % size)[:, None]).abs()
    near = (down[:, :, None] + right[:, None, :] <= reach).to(image.dtype)  # (B, size, size)
    return torch.cat((image.amax(dim=(2, 3)), (image * near[:, None]).amax(dim=(2, 3))), dim=1)


@cache
def near_the_middle(reach: int, near: int) -> Tensor:
    """Which cells (window,) of a window of so many cells each way are near the agent."""
    away = (torch.arange(2 * reach + 1) - reach).abs()
    return (away[:, None] + away[None, :] <= near).flatten().float()


class MetaController(nn.Module):
    """(observation, instructions, last subtask, its termination) to the next subtask."""

    def __init__(self, network: MetaNetwork) -> None:
        super().__init__()
        self.network = network
        hidden = network.hidden
        self.words = nn.Parameter(torch.randn(network.words, network.sentence) * 0.5)  # W^m
        if network.flat:
            # Flat has no subtask to remember: its layers are predicted from r_(t-1) alone.
            self.condition: nn.Module = nn.Sequential(
                nn.Linear(network.sentence, network.condition),
                nn.ReLU(),
                nn.Linear(network.condition, network.condition),
                nn.ReLU(),
            )
        else:
            sizes = [network.verbs, network.objects]
            self.embedding = SubtaskEmbedding(
                sizes, network.embedding, around_one=network.around_one
            )
            known = network.embedding + network.sentence + 1
            joint = nn.Linear(known, network.condition)
            linear = network.joint == "linear"
            self.condition = joint if linear else nn.Sequential(joint, nn.ReLU())
        self._build_eyes()
        self.update = nn.Linear(self.summary_size + hidden, 1)
        told = network.tally if network.tallies else 0
        known = hidden + (network.sentence if network.reminded else 0)
        self.shift = nn.Sequential(nn.Linear(known, hidden), nn.ReLU(), nn.Linear(hidden, 3))
        if network.tallies:  # for each word, and each number of times, how likely a shift is
            self.enough = nn.Linear(network.words * network.tally, 3, bias=False)
        self.goal_hidden = nn.Linear(network.sentence + hidden, hidden)
        self.goals = nn.ModuleList(nn.Linear(hidden, size) for size in network.parameters)
        if network.ties_names:
            self.named_object = nn.Linear(hidden, 1)
            self.named_verb = nn.Linear(network.sentence, network.verbs)
        self.baseline = nn.Linear(2 * network.slots + hidden + told, 1)
        # What b_t adds to the logits of the update and of the shifts, beside what they compute.
        self.update_start = nn.Parameter(torch.zeros(2))
        self.shift_start = nn.Parameter(torch.zeros(2, 3))
        self._start()

    def _build_eyes(self) -> None:
        network = self.network
        self.recurrent = network.world == "block" and network.maps is None
        self.sees_two = network.flat and not self.recurrent  # as the grid's skill does
        if self.recurrent:
            filters, kernels, strides = network.filters, network.kernels, network.strides
            self.side = (network.picture - kernels[0]) // strides[0] + 1  # 64 -> 15
            if network.eyes == "own":
                eyes = nn.Conv2d(3, filters[0], kernels[0], stride=strides[0])
                self.conv1: nn.Module = eyes
                self.conv2 = nn.Conv2d(filters[0], filters[1], kernels[1], stride=strides[1])
                for conv in (eyes, self.conv2):
                    nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
                    assert conv.bias is not None
                    nn.init.zeros_(conv.bias)
            self.conv3 = PredictedConv(filters[1], filters[2], network.condition)
            self.summary_size = filters[2] * (self.side // network.pool) ** 2
            self.context: nn.Module = FactorisedLSTM(
                self.summary_size, network.hidden, network.condition, network.factors
            )
            self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
            return
        self.mapped = network.maps is not None
        planes = (4 if self.mapped else 3) + network.objects
        self.conv1 = PredictedConv(planes, network.conv1, network.condition)
        channels = network.conv1 * (2 if network.flat else 1)  # Flat sees the last two observations
        # Pooled: kernels of 1x1 with a padding of 1 give 12 cells a side, Pool 2 leaves 6.
        pooled = ((network.size + 2) // 2) ** 2
        cells = window_cells(network.size) if network.view == "centred" else pooled
        self.summary_size = network.hidden
        seen = (3 if self.mapped else 2) * planes if network.glance else 0
        self.context = FactorisedLinear(
            cells * channels + seen, network.hidden, network.condition, network.factors
        )
        if network.told:
            named = (4 if self.mapped else 3) * network.ties_names
            self.told = nn.Linear(network.condition + named, network.hidden)

    def _start(self) -> None:
        """Begin undecided about subtasks, and with a head start about when to move on."""
        with torch.no_grad():
            for layer in self.heads():
                layer.weight *= 0.1
                layer.bias.zero_()
            if self.network.tallies:
                self.enough.weight.zero_()
            if self.network.head_start and not self.network.flat:
                self.update_start.copy_(torch.tensor((-2.0, 4.0)))
                self.shift_start.copy_(torch.tensor(((-8.0, 3.0, -3.0), (-8.0, 0.0, 1.5))))

    def heads(self) -> list[nn.Linear]:
        """The layers that logits come from."""
        heads = [*self.goals, self.shift[2], self.update]
        if self.network.ties_names:
            heads += [self.named_object, self.named_verb]
        return cast(list[nn.Linear], heads)

    def initial_state(self, worlds: int, longest: int) -> MetaState:
        """Placeholders: a step that `begins` looks at none of it."""
        network, device = self.network, self.words.device
        planes = (3 + network.objects, network.size, network.size) if self.sees_two else (0,)
        return MetaState(
            p=torch.zeros(worlds, longest, device=device),
            h=torch.zeros(worlds, network.hidden, device=device),
            cell=torch.zeros(worlds, network.hidden if self.recurrent else 0, device=device),
            g=torch.zeros(worlds, len(network.parameters), dtype=torch.int64, device=device),
            seen=torch.zeros(worlds, *planes, dtype=torch.uint8, device=device),
            tally=torch.zeros(worlds, device=device),
        )

    def step(
        self,
        given: MetaInput,
        state: MetaState,
        *,
        soft: bool,
        decided: Decision | None = None,
        random: torch.Generator | None = None,
    ) -> tuple[Thought, MetaState]:
        """One step of Algorithm 2. Without `decided`, draw; without `random` either, take the best.

        `soft` weighs update and copy by c_t and shifts by l_t, and draws only g_t; otherwise c_t
        and l_t are drawn, too, and the same lines merge with weights of 0 and 1.
        """
        begins = given.begins
        keep = (~begins).to(state.p.dtype)[:, None]
        first = torch.zeros_like(state.p)
        first[:, 0] = 1.0
        p_before = torch.where(begins[:, None], first, state.p)
        heard_before = read(given.bags, p_before)
        r_before = heard_before @ self.words
        h_before, cell_before = state.h * keep, state.cell * keep[:, : state.cell.shape[1]]
        finished = (given.finished & ~begins).to(keep.dtype)

        condition = self._condition(state.g, keep, r_before, finished)
        named_before = self._named(heard_before)
        as_told = self._as_told(named_before, state.g) * keep
        s, h, cell = self._look(
            given, state, condition, named_before, as_told, h_before, cell_before
        )
        c_logit = self._update_logit(s, h_before, finished)
        done = finished * as_told.squeeze(1)
        tally = state.tally * keep.squeeze(1) + done
        l_logits = self._shift_logits(h, r_before, done)
        if self.network.tallies:
            l_logits = l_logits + self._enough(heard_before, tally)
        update = self._gate(c_logit, finished, begins)
        stay = F.one_hot(torch.full_like(begins, STAY, dtype=torch.int64), 3)
        shift = torch.where(begins[:, None], stay.to(h.dtype), torch.softmax(l_logits, dim=1))
        if not soft:
            shift = within_list(shift, p_before, given.mask)
        c_drawn, l_drawn = _draw(update, shift, decided, random)
        c = update if soft else c_drawn.to(h.dtype)
        l = shift if soft else F.one_hot(l_drawn, 3).to(h.dtype)  # noqa: E741

        weight = c[:, None]
        p_new = shift_pointer(p_before, l, given.mask)
        heard = read(given.bags, p_new)
        r_new = heard @ self.words
        hidden = self._goal_hidden(r_new, h)
        p = weight * p_new + (1 - weight) * p_before
        merged = self._merge(weight, h, h_before)
        merged_cell = self._merge(weight, cell, cell_before) if self.recurrent else cell

        decided_g = None if decided is None else decided.g
        named = self._named(heard)
        g, log_goals, open_goals = self._choose(hidden, r_new, named, c, state.g, decided_g, random)
        log_probability, entropy = log_goals, c.detach() * open_goals
        if not soft:
            certain = finished > 0.5 if self.network.ends_open else torch.zeros_like(begins)
            log_hard, open_hard = self._hard_terms(
                c_logit, shift, c_drawn, l_drawn, begins, certain
            )
            log_probability = log_goals + log_hard
            entropy = entropy + open_hard
        value = self._value(p_before, given.mask, self._goal_hidden(r_before, h), tally)
        decision = Decision(c_drawn, l_drawn, g)
        thought = Thought(decision, log_probability, entropy, value, update, shift, p)
        seen = given.image.clone() if self.sees_two else state.seen
        moved = (p - p_before).abs().sum(dim=1) / 2  # how much of the pointer is elsewhere
        tally = tally * (1 - moved)
        return thought, MetaState(p, merged, merged_cell, g, seen, tally)

    def retrieve(self, bags: Tensor, p: Tensor) -> Tensor:
        """r = M p (eq. 2), where M holds a bag of words for each instruction."""
        return read(bags, p) @ self.words

    def _named(self, words: Tensor) -> Tensor:
        """Which objects (B, objects) are among words (B, words): their names are the last."""
        return words[:, -self.network.objects :]

    def _as_told(self, named: Tensor, g: Tensor) -> Tensor:
        """Whether a subtask (B, parameters) is about an object that is named: (B, 1)."""
        if not self.network.ties_names:
            return torch.ones_like(named[:, :1])
        return named.gather(1, g[:, 1:])

    def _condition(self, g: Tensor, keep: Tensor, r: Tensor, finished: Tensor) -> Tensor:
        if self.network.flat:
            return self.condition(r)  # type: ignore[no-any-return]
        phi = self._noisy(self.embedding(g)) * keep
        known = torch.cat((phi, self._noisy(r), finished[:, None]), dim=1)
        return self.condition(known)  # type: ignore[no-any-return]

    def _noisy(self, x: Tensor) -> Tensor:
        return with_noise(x, self.network.noise * self.training)

    def _look(
        self,
        given: MetaInput,
        state: MetaState,
        condition: Tensor,
        named: Tensor,
        as_told: Tensor,
        h: Tensor,
        cell: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """s_t, and the context and cell if it were updated."""
        context: Tensor
        if self.recurrent:
            seen = given.image
            if self.network.eyes == "own":
                x = scaled_pixels(given.image, h.dtype)
                x = F.relu(self.conv2(F.relu(self.conv1(x))))  # (B, 32, 15, 15)
                seen = x.movedim(1, -1).flatten(1, 2)
            x = F.relu(self.conv3(seen, condition))
            x = x.view(-1, self.side, self.side, x.shape[2]).movedim(-1, 1)
            s = F.max_pool2d(x, self.network.pool).flatten(1)
            context, cell = self.context(s, condition, (h, cell))
            return s, context, cell
        if self.mapped:
            return self._look_at_map(given, condition, named, as_told, cell)
        now = given.image.flatten(2).transpose(1, 2).to(h.dtype)  # (B, cells, planes)
        x = self.conv1(now, condition)
        if self.network.flat:
            before = torch.where(given.begins[:, None, None, None], given.image, state.seen)
            then = before.flatten(2).transpose(1, 2).to(h.dtype)
            x = torch.cat((x, self.conv1(then, condition)), dim=2)
        if self.network.view == "centred":
            agent = given.image[:, 0].flatten(1).argmax(dim=1)
            x = centre_on_agent(F.relu(x), agent, self.network.size).flatten(1)
        else:
            x = F.relu(x).transpose(1, 2)
            x = x.reshape(*x.shape[:2], self.network.size, self.network.size)
            x = F.max_pool2d(F.pad(x, (1, 1, 1, 1)), 2).flatten(1)
        kinds = x[:, :0]
        if self.network.glance or self.network.ties_names:
            kinds = kinds_in_sight(given.image, self.network.near).to(x.dtype)
        if self.network.glance:
            x = torch.cat((x, kinds), dim=1)
        context = self.context(x, condition)
        if self.network.told:
            context = context + self.told(self._told(condition, kinds, named, as_told))
        context = F.relu(context)
        return context, context, cell

    def _look_at_map(
        self, given: MetaInput, condition: Tensor, named: Tensor, as_told: Tensor, cell: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        assert self.network.maps is not None
        planes, window = 4 + self.network.objects, self.network.maps.window
        now = given.image[:, : window * planes].view(-1, window, planes).to(condition.dtype) / 255.0
        x = F.relu(self.conv1(now, condition)).flatten(1)
        near = near_the_middle(self.network.maps.reach, self.network.near)
        near = near.to(now.device)[None, :, None]
        fresh = now[..., -2:-1]
        views = (now, now * near, now * fresh)
        kinds = torch.stack([view.amax(dim=1) for view in views], dim=1)  # (B, 3, planes)
        if self.network.glance:
            x = torch.cat((x, kinds.flatten(1)), dim=1)
        context = self.context(x, condition)
        if self.network.told:
            told = condition
            if self.network.ties_names:
                objects = kinds[..., 2 : 2 + self.network.objects]
                told = torch.cat((told, (named[:, None] * objects).sum(dim=2), as_told), dim=1)
            context = context + self.told(told)
        context = F.relu(context)
        return context, context, cell

    def _told(self, condition: Tensor, kinds: Tensor, named: Tensor, as_told: Tensor) -> Tensor:
        """The condition, and of what the instruction names: is it there, near, and at work on?"""
        if not self.network.ties_names:
            return condition
        objects = kinds.view(len(kinds), 2, -1)[..., -self.network.objects :]
        return torch.cat((condition, (named[:, None] * objects).sum(dim=2), as_told), dim=1)

    def _update_logit(self, s: Tensor, h: Tensor, finished: Tensor) -> Tensor:
        logit: Tensor = self.update(torch.cat((s, h), dim=1)).squeeze(1)
        return logit + self._by(finished, self.update_start[:, None]).squeeze(1)

    def _shift_logits(self, h: Tensor, r: Tensor, done: Tensor) -> Tensor:
        # Whether to stay hangs on a single word, "all", which the context hardly keeps.
        known = torch.cat((h, self._noisy(r)), dim=1) if self.network.reminded else h
        logits: Tensor = self.shift(known)
        return logits + self._by(done, self.shift_start)

    def _enough(self, heard: Tensor, tally: Tensor) -> Tensor:
        """Logits of the shifts by words (B, words) and how often what they name was done."""
        pairs = heard[:, :, None] * self._tallied(tally)[:, None, :]  # (B, words, 3)
        logits: Tensor = self.network.tally_scale * self.enough(pairs.flatten(1))
        return logits

    def _tallied(self, tally: Tensor) -> Tensor:
        """At least one, two, three? (B, 3); (B, 0) where nothing is tallied."""
        told = self.network.tally if self.network.tallies else 0
        return (tally[:, None] - torch.arange(told, device=tally.device)).clamp(0.0, 1.0)

    @staticmethod
    def _by(finished: Tensor, start: Tensor) -> Tensor:
        """Row 0 of `start` where the subtask goes on, row 1 where it is finished: (B, ...)."""
        return torch.lerp(start[0], start[1], finished[:, None])

    def _gate(self, logit: Tensor, finished: Tensor, begins: Tensor) -> Tensor:
        """Probability of an update; an episode always begins with one."""
        if self.network.gate == "learned":
            update = torch.sigmoid(logit)
            if self.network.ends_open:
                update = torch.where(finished > 0.5, torch.ones_like(update), update)
        elif self.network.gate == "at-termination":
            update = finished
        else:
            update = torch.ones_like(logit)
        return torch.where(begins, torch.ones_like(update), update)

    def _merge(self, weight: Tensor, new: Tensor, old: Tensor) -> Tensor:
        """c new + (1 - c) old; of a hierarchical RNN's units the low ones are always new."""
        low = self.network.low
        merged = weight * new + (1 - weight) * old
        return torch.cat((new[:, :low], merged[:, low:]), dim=1) if low else merged

    def _choose(
        self,
        hidden: Tensor,
        r: Tensor,
        named: Tensor,
        c: Tensor,
        before: Tensor,
        decided: Tensor | None,
        random: torch.Generator | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """g_t from c pi + (1 - c) g_(t-1), parameter by parameter; log-probability; entropy of pi.

        The object comes first; `named` (B, objects) tells which the instruction names. An action
        (Flat) is not carried on: the gate is always open there.
        """
        chosen: list[Tensor] = []
        log_probability, entropy = torch.zeros_like(c), torch.zeros_like(c)
        for k in reversed(range(len(self.goals))):
            logits = self.goals[k](hidden)
            if self.network.ties_names:
                logits = self._grounded(logits, chosen, hidden, r, named)
            log_pi = F.log_softmax(logits, dim=1)
            pi = log_pi.exp()
            copied = F.one_hot(before[:, k], pi.shape[1]).to(pi.dtype)
            mixed = c[:, None] * pi + (1 - c)[:, None] * copied
            g = decided[:, k] if decided is not None else draw(mixed, random)
            chosen.append(g)
            taken = mixed.gather(1, g[:, None]).squeeze(1)
            log_probability = log_probability + torch.log(taken.clamp(min=1e-8))
            entropy = entropy - (pi * log_pi).sum(1)
        return torch.stack(chosen[::-1], dim=1), log_probability, entropy

    def _grounded(
        self, logits: Tensor, chosen: list[Tensor], hidden: Tensor, r: Tensor, named: Tensor
    ) -> Tensor:
        """Logits of the object, or once it is `chosen` of its verb, as the instruction has it.

        The object that is named is preferred by a weight that all objects share, and its verb is
        linear in the words alone: both hold for pairs never trained. Any other object gets a verb
        of its own: drawn apart, verb and object rarely change together, and one without the other,
        "visit enemy", only costs time.
        """
        if not chosen:
            preferred: Tensor = self.named_object(hidden) * named
            return logits + preferred
        is_named = named.gather(1, chosen[0][:, None])
        return torch.lerp(logits, self.named_verb(self._noisy(r)), is_named)

    def _hard_terms(
        self,
        c_logit: Tensor,
        shift: Tensor,
        c: Tensor,
        shifted: Tensor,
        begins: Tensor,
        certain: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """log P(c_t) + c_t log P(l_t), and their entropy, where there was something to draw."""
        log_shift = torch.log(shift.clamp(min=1e-8))
        free = (~begins).to(shift.dtype)
        updates = c.to(shift.dtype) * free
        log_probability = updates * log_shift.gather(1, shifted[:, None]).squeeze(1)
        entropy = -updates * (shift * log_shift).sum(1)
        if self.network.gate == "learned":
            free = free * (~certain).to(shift.dtype)
            signed = torch.where(c, c_logit, -c_logit)
            log_probability = log_probability + free * F.logsigmoid(signed)
            q = torch.sigmoid(c_logit)
            open_gate = -(q * F.logsigmoid(c_logit) + (1 - q) * F.logsigmoid(-c_logit))
            entropy = entropy + GATE_ENTROPY * free * open_gate
        return log_probability, entropy

    def _goal_hidden(self, r: Tensor, h: Tensor) -> Tensor:
        return F.relu(self.goal_hidden(torch.cat((self._noisy(r), h), dim=1)))

    def _value(self, p: Tensor, mask: Tensor, hidden: Tensor, tally: Tensor) -> Tensor:
        """Linear in pointer, mask, tally and the goal's hidden layer; as far as trained lists go.

        All as they are before the decision: a baseline that knows which shift was drawn takes the
        credit for it, and the shift learns nothing.
        """
        slots = self.network.slots
        missing = max(0, slots - p.shape[1])
        where = F.pad(p[:, :slots], (0, missing))
        present = F.pad(mask[:, :slots].to(p.dtype), (0, missing))
        known = torch.cat((where, present, hidden, self._tallied(tally)), dim=1)
        return self.baseline(known).squeeze(1)  # type: ignore[no-any-return]


def _draw(
    update: Tensor, shift: Tensor, decided: Decision | None, random: torch.Generator | None
) -> tuple[Tensor, Tensor]:
    """c_t and the index of l_t: as decided before, drawn, or the likeliest."""
    if decided is not None:
        return decided.c, decided.shift
    gates = torch.stack((1 - update, update), dim=1)
    return draw(gates, random).bool(), draw(shift, random)


def draw(probabilities: Tensor, random: torch.Generator | None) -> Tensor:
    """Indices (B,) drawn from rows (B, N) on the CPU, or without `random` the likeliest."""
    if random is None:
        return probabilities.argmax(dim=1)
    drawn = torch.multinomial(probabilities.detach().cpu(), 1, generator=random)
    return drawn[:, 0].to(probabilities.device)
