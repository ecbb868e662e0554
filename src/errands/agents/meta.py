"""The meta controller: which instruction am I on, which subtask next, and is it time to decide?

Paper, section 4. Symbols: x_t observation, M instruction memory, p_t pointer, r_t retrieved
instruction, s_t summary, h_t context, c_t update gate, l_t shift, g_t subtask, b_t termination of
g_(t-1). Eyes, context, updater and hints have files of their own; here they are put together.
Dynamic, Long and Short differ in their gate alone, and Flat chooses primitive actions where the
others choose the parameters of a subtask. Without hints it is the paper's architecture.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from errands.agents.advice import Advice, Hints
from errands.agents.context import (
    Context,
    FeedForward,
    FlatCondition,
    JointCondition,
    Recurrent,
    kept,
)
from errands.agents.deciding import Choice, Decision, Gate
from errands.agents.eyes import (
    BlockEyes,
    BlockSight,
    Centred,
    Eyes,
    GridEyes,
    GridSight,
    Pooled,
    SharedEyes,
    Sight,
    side_after,
)
from errands.agents.hint import Moment, Numbers
from errands.agents.instructions import Instructions
from errands.agents.layers import Noise, SubtaskEmbedding
from errands.agents.mapping import MapSight, MapWindow
from errands.agents.memory import Memory, each
from errands.agents.products import Linear
from errands.agents.recogniser import MapNetwork
from errands.agents.updater import Carried, SubtaskUpdater, UpdateContext
from errands.settings import setting


@dataclass(frozen=True)
class MetaNetwork:
    """How a meta controller is built. Defaults are the paper's, for Dynamic on the grid."""

    # What follows from the world and the agent.
    world: str = "grid"  # whose eyes
    gate: Gate = "learned"  # Dynamic; Long: at-termination; Short and Flat: every-step
    flat: bool = False  # choose primitive actions, without a skill
    words: int = 21  # tokens of the vocabulary, padding included
    verbs: int = 3
    objects: int = 15
    actions: int = 13
    eyes: Literal["own", "skill"] = setting("own", "block: whose first two convolutions")
    maps: MapNetwork | None = setting(None, "block: the skill's map, which is seen instead")
    embedding: int = setting(64, "size of phi(g); the paper does not say")
    around_one: bool = setting(False, "initialise phi's factors near 1, not 0")
    noise: float = setting(0.0, "added to phi(g) and r during training")
    sentence: int = setting(256, "size of an instruction's embedding")
    condition: int = setting(256, "size of the joint embedding of g_(t-1), r_(t-1) and b_t")
    joint: Literal["linear", "relu"] = setting("relu", "activation of the joint embedding")
    view: Literal["centred", "pooled"] = setting("pooled", "grid: how cells become a vector")
    conv1: int = setting(3, "grid or map: filters of the predicted 1x1 convolution")
    hidden: int = setting(256, "units of the context, and of the hidden layers of shift and goal")
    factors: int = setting(256, "rank of factorised layers; the paper does not say")
    low: int = setting(0, "units of the context that update every step (hierarchical RNN)")
    slots: int = setting(4, "pointer positions that the baseline reads: the longest training list")
    near: int = setting(4, "grid or map: steps that count as close by, for hints")
    # A signal that is missed costs more than one that comes too early, which is rarer.
    threshold: float = setting(0.5, "probability of termination above which b_t = 1")
    opens: float = setting(0.5, "chance above which the gate opens, where it is not drawn")
    # One wrong action in a thousand uses up what a later instruction needs.
    sharpness: float = setting(
        1.0, "power of the probabilities that a skill's actions are drawn by"
    )
    size: int = setting(10, "grid: cells a side of the map")
    picture: int = setting(64, "block: pixels a side")
    filters: tuple[int, ...] = setting((16, 32, 32), "block: filters of the three convolutions")
    kernels: tuple[int, ...] = setting((8, 1, 1), "block: their sizes")
    strides: tuple[int, ...] = setting((4, 1, 1), "block: their strides")
    pool: int = setting(5, "block: size of the pooling")
    hints: Mapping[str, Numbers] = setting({}, "what is added to the paper's architecture")

    @property
    def shares_eyes(self) -> bool:
        """Whether it sees with the skill's eyes."""
        return self.eyes == "skill" or self.maps is not None

    @property
    def parameters(self) -> tuple[int, ...]:
        """How many values each thing has that is chosen: verb and object, or the action."""
        return (self.actions,) if self.flat else (self.verbs, self.objects)


class MetaState(NamedTuple):
    """What a meta controller carries from step to step."""

    carried: Carried
    sight: Memory
    hints: Memory


class MetaInput(NamedTuple):
    """What a meta controller reads at one step."""

    seen: Tensor  # (B, ...) the observation, or the features that the skill's eyes made of it
    bags: Tensor  # (B, K, words) how often each word stands in each instruction
    mask: Tensor  # (B, K) which instructions are there
    finished: Tensor  # (B,) b_t: the skill says that g_(t-1) is finished
    begins: Tensor  # (B,) first step of an episode: nothing earlier counts


class MetaOutput(NamedTuple):
    """One step of a meta controller, as learning and people want to see it."""

    decision: Decision
    log_probability: Tensor  # (B,) of the decision
    entropy: Tensor  # (B,) of what was open to decide
    value: Tensor  # (B,)
    update: Tensor  # (B,) probability of c_t = 1
    free: Tensor  # (B,) whether that was left to the gate
    shift: Tensor  # (B, 3) probabilities of -1, 0, +1
    pointer: Tensor  # (B, K) p_t


class MetaController(nn.Module):
    """(observation, instructions, last subtask, its termination) to the next subtask."""

    def __init__(self, network: MetaNetwork) -> None:
        super().__init__()
        self.network = network
        noise = Noise(network.noise)
        self.words = nn.Parameter(torch.randn(network.words, network.sentence) * 0.5)  # W^m
        self.condition = _condition(network, noise)
        self.eyes = _eyes(network)
        self.sight = _sight(network, self.eyes)
        self.hints = Hints(network, self.eyes, noise)
        self.context = _context(network, self.sight.size + self.hints.context_inputs)
        if self.hints.adds_to_context and not self.context.adds:
            raise ValueError("a hint adds to the context, which an LSTM has no place for")
        self.updater = SubtaskUpdater(
            noise,
            summary=self.context.summary,
            context=self.context.size,
            shift_inputs=self.context.size + self.hints.shift_inputs,
            sentence=network.sentence,
            hidden=network.hidden,
            parameters=network.parameters,
            gate=network.gate,
            low=network.low,
        )
        known = 2 * network.slots + network.hidden + self.hints.critic_inputs
        self.baseline = Linear(known, 1)

    @property
    def embedding(self) -> SubtaskEmbedding:
        """phi(g), which analogies are made of."""
        assert isinstance(self.condition, JointCondition)
        return self.condition.embedding

    def initial_state(self, worlds: int, longest: int) -> MetaState:
        """Placeholders: a step that `begins` looks at none of it."""
        network, device = self.network, self.words.device
        carried = Carried(
            p=torch.zeros(worlds, longest, device=device),
            h=torch.zeros(worlds, network.hidden, device=device),
            memory=self.context.initial_memory(worlds),
            g=torch.zeros(worlds, len(network.parameters), dtype=torch.int64, device=device),
        )
        hints = self.hints.initial_memory(worlds, device)
        return MetaState(carried, self.sight.initial_memory(worlds), hints)

    def step(
        self,
        given: MetaInput,
        state: MetaState,
        *,
        soft: bool,
        decided: Decision | None = None,
        random: torch.Generator | None = None,
    ) -> tuple[MetaOutput, MetaState]:
        """One step of a batch. Without `decided`, draw; without `random` either, take the best."""
        known = self._know(given, state)

        def context(s: Tensor, h: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
            return self.context(s, h, memory, known.moment.condition)  # type: ignore[no-any-return]

        return self._decide(known, context, Choice(decided, random, self.network.opens), soft=soft)

    def reconsider(
        self, given: MetaInput, before: MetaState, decided: Decision, *, soft: bool
    ) -> MetaOutput:
        """What it thinks now of decisions that it took: everything is (T, B, ...).

        Soft updates are differentiated through time, step by step. In hard ones all that is carried
        on is known, but for the memory of an LSTM: the LSTM alone goes step by step, and everything
        before and after it is one batch.
        """
        if soft:
            return self._reconsider_in_order(given, before, decided)
        times, worlds = given.begins.shape
        known = self._know(each(_one_batch, given), each(_one_batch, before))
        h_tilde = known.s
        if self.context.recurrent:
            h_tilde, h = self._unroll(known, before.carried, decided.c)
            known = known._replace(before=known.before._replace(h=h, memory=()))
        memory = known.before.memory
        choice = Choice(each(_one_batch, decided), None)
        output, _ = self._decide(known, lambda *_: (h_tilde, memory), choice, soft=False)
        return each(lambda item: item.view(times, worlds, *item.shape[1:]), output)

    def _reconsider_in_order(
        self, given: MetaInput, before: MetaState, decided: Decision
    ) -> MetaOutput:
        """Soft updates, step by step from the state before the first."""
        state = each(lambda item: item[0], before)
        outputs = []
        for t in range(len(given.begins)):
            at = partial(torch.select, dim=0, index=t)
            output, state = self.step(each(at, given), state, soft=True, decided=each(at, decided))
            outputs.append(output)
        return each(lambda *items: torch.stack(items), *outputs)

    def _unroll(self, known: "Known", before: Carried, c: Tensor) -> tuple[Tensor, Tensor]:
        """h~_t and h_(t-1) of T steps (T B, H) in which c (T, B) was decided."""
        times, worlds = c.shape
        s, condition, keep = (
            item.view(times, worlds, -1)
            for item in (known.s, known.moment.condition, known.moment.keep)
        )
        h, memory = each(lambda item: item[0], (before.h, before.memory))
        tilde, old = [], []
        for t in range(times):
            h, memory = kept((h, memory), keep[t])
            old.append(h)
            new = self.context(s[t], h, memory, condition[t])
            tilde.append(new[0])
            h, memory = self.updater.merge_context(c[t].to(h.dtype), new, (h, memory))
        return torch.cat(tilde), torch.cat(old)

    def _know(self, given: MetaInput, state: MetaState) -> "Known":
        """All that is known before anything is decided, of any number of worlds and steps."""
        begins, carried = given.begins, state.carried
        keep = (~begins).to(carried.p.dtype)[:, None]
        first = torch.zeros_like(carried.p)
        first[:, 0] = 1.0
        p = torch.where(begins[:, None], first, carried.p)
        M = Instructions(given.bags, given.mask, self.words)
        words = M.read(p)
        r = M.retrieve(words)
        b = (given.finished & ~begins).to(keep.dtype)
        condition = self.condition(carried.g, r, b, keep)
        features = self.eyes(given.seen)
        reads = self.hints.reads_kinds
        kinds = self.eyes.kinds(features).to(keep.dtype) if reads else keep[:, :0, None]
        moment = Moment(begins, keep, b, carried.g, words, r, condition, kinds)
        x, sight = self.sight(features[None], condition[None], begins[None], state.sight)
        added = self.hints.to_context(moment) if self.hints.adds_to_context else None
        s = self.context.summarise(self.hints.for_context(x[0], moment), condition, added)
        before = Carried(p, carried.h * keep, kept(carried.memory, keep), carried.g)
        return Known(M, before, moment, s, sight, self.hints.notice(moment, state.hints))

    def _decide(
        self, known: "Known", context: UpdateContext, choice: Choice, *, soft: bool
    ) -> tuple[MetaOutput, MetaState]:
        """Algorithm 2, and what the critic makes of the moment before it."""
        M, before, moment, s, sight, hinted = known
        advice = Advice(self.hints, moment, hinted)
        update = self.updater(s, before, M, context, advice, choice, soft=soft)
        hidden = self.updater.hidden(moment.r, update.h_tilde)
        value = self._value(before.p, M.mask, hidden, advice)
        output = MetaOutput(
            update.decision,
            update.log_probability,
            update.entropy,
            value,
            update.chance,
            update.free,
            update.shift,
            update.carried.p,
        )
        moved = (update.carried.p - before.p).abs().sum(dim=1) / 2  # share that is elsewhere
        return output, MetaState(update.carried, sight, self.hints.settle(hinted, moved))

    def _value(self, p: Tensor, mask: Tensor, hidden: Tensor, advice: Advice) -> Tensor:
        """Linear in pointer, mask and the goal's hidden layer (appendix E), as far as lists train.

        All as they are before the decision: a baseline that knows which shift was drawn takes the
        credit for it, and the shift learns nothing.
        """
        slots = self.network.slots
        missing = max(0, slots - p.shape[1])
        where = F.pad(p[:, :slots], (0, missing))
        present = F.pad(mask[:, :slots].to(p.dtype), (0, missing))
        known = advice.for_critic(torch.cat((where, present, hidden), dim=1))
        return self.baseline(known).squeeze(1)  # type: ignore[no-any-return]


def _one_batch(item: Tensor) -> Tensor:
    """Steps and worlds (T, B, ...) as (T B, ...)."""
    return item.flatten(0, 1)


class Known(NamedTuple):
    """What a meta controller knows at a step before it decides."""

    M: Instructions
    before: Carried
    moment: Moment
    s: Tensor  # (B, summary)
    sight: Memory  # as it is after this step
    hints: Memory  # as it is in this step


def _condition(network: MetaNetwork, noise: Noise) -> nn.Module:
    if network.flat:
        return FlatCondition(network.sentence, network.condition)
    return JointCondition(
        network.parameters,
        network.embedding,
        network.sentence,
        network.condition,
        noise,
        around_one=network.around_one,
        relu=network.joint == "relu",
    )


def _eyes(network: MetaNetwork) -> Eyes:
    """Its own, or what its skill's have seen."""
    if network.shares_eyes and network.world == "grid":
        raise ValueError("on the grid there are no eyes to share: the map is seen as it is")
    if network.maps:
        return MapWindow(network.maps, network.objects, network.actions, network.near)
    if network.eyes == "skill":
        return SharedEyes()
    if network.world == "grid":
        return GridEyes(network.size, network.objects, network.near)
    return BlockEyes(network.picture, network.filters, network.kernels, network.strides)


def _sight(network: MetaNetwork, eyes: Eyes) -> Sight:
    if isinstance(eyes, MapWindow):
        return MapSight(eyes, condition=network.condition, conv1=network.conv1)
    if isinstance(eyes, GridEyes):
        looks = 2 if network.flat else 1  # Flat sees what the grid's skill sees
        view = Centred if network.view == "centred" else Pooled
        return GridSight(
            eyes,
            condition=network.condition,
            conv1=network.conv1,
            looks=looks,
            view=view(network.size, looks * network.conv1),
        )
    return BlockSight(
        side_after(network.picture, network.kernels[0], network.strides[0]),
        network.filters[1:3],
        condition=network.condition,
        last=nn.MaxPool2d(network.pool),
    )


def _context(network: MetaNetwork, size_in: int) -> Context:
    kind = FeedForward if network.world == "grid" or network.maps else Recurrent
    return kind(size_in, network.hidden, network.condition, network.factors)
