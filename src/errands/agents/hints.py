"""What we add to the paper's meta controller. Without hints it is the paper's, no more and no less.

Each hint is one class with a paragraph that says what it is for. It may let the context, the shift
or the critic read more than the paper lets them, add to the context or to the logits of update and
shift, open the gate, hold the pointer, change the logits of the subtask, and remember something of
its own. By default it does none
of that. `errands train meta --without NAME` leaves one out.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from errands.agents.hint import Aim, Hint, Moment, Numbers
from errands.agents.instructions import SHIFTS, STAY
from errands.agents.layers import Noise, undecided
from errands.agents.memory import Memory
from errands.agents.products import Linear
from errands.language.vocabulary import suggest

if TYPE_CHECKING:
    from errands.agents.eyes import Eyes
    from errands.agents.meta import MetaNetwork


class HeadStart(Hint):
    """Begins with "go on while a subtask runs, move on when it is finished".

    b_t alone adds to the logits of update and shift, by parameters that start with this rule and
    are learned like all others. Agents that start undecided update at random, the pointer drifts,
    and lists of two are learned late or never. With `named`, only a subtask about an object that
    the instruction names moves the pointer on: finishing another one does not finish it.
    """

    for_flat = False
    numbers: ClassVar[dict[str, Any]] = {
        "update": [-2.0, 4.0],  # while it runs, when it is finished
        "shift": [[-8.0, 3.0, -3.0], [-8.0, 0.0, 1.5]],  # the same for shifts of -1, 0, +1
        "named": True,
    }

    def __init__(
        self,
        network: "MetaNetwork",
        *,
        update: Sequence[float],
        shift: Sequence[Sequence[float]],
        named: bool,
        **_: Any,
    ) -> None:
        super().__init__()
        self.update = nn.Parameter(torch.tensor(update))
        self.shift = nn.Parameter(torch.tensor(shift))
        self.objects = _objects_to_name(network) if named else 0

    def update_logit(self, logit: Tensor, moment: Moment) -> Tensor:
        return logit + torch.lerp(self.update[0], self.update[1], moment.b)

    def shift_logits(self, logits: Tensor, moment: Moment, memory: Memory) -> Tensor:
        done = finished(moment, self.objects)[:, None]
        return logits + torch.lerp(self.shift[0], self.shift[1], done)


class Promptness(Hint):
    """Opens the gate wherever the last subtask has terminated.

    There is nothing to go on with, so this is no decision: it is not drawn, not penalised, and not
    learned, and only interruptions are left to the gate. A gate that has to learn it as well stays
    shut now and then, above all in lists that are longer than those of training; the agent then
    does the same subtask once more, and uses up what a later instruction needs.
    """

    for_flat = False

    def __init__(self, network: "MetaNetwork", **_: Any) -> None:
        super().__init__()

    def opens(self, moment: Moment) -> Tensor:
        return moment.b > 0


class Bookmark(Hint):
    """Lets the pointer move only when a subtask about what the instruction names is finished.

    Nothing else can have done an instruction: neither a subtask that still runs nor an enemy that
    was hunted. If this has to be learned, the pointer drifts a little whenever the gate opens for
    an interruption. How much depends on the seed, and long lists do not forgive it. Whether to
    stay or to move on after such a subtask ("all", "3 pigs") is still learned. With soft updates it
    holds less: any weight on an instruction that names the object releases it.
    """

    for_flat = False
    elsewhere: Tensor

    def __init__(self, network: "MetaNetwork", **_: Any) -> None:
        super().__init__()
        self.objects = _objects_to_name(network)
        self.register_buffer("elsewhere", torch.arange(len(SHIFTS)) != STAY, persistent=False)

    def shift_logits(self, logits: Tensor, moment: Moment, memory: Memory) -> Tensor:
        held = finished(moment, self.objects)[:, None] == 0
        return logits.masked_fill(held & self.elsewhere, -torch.inf)


class Grounding(Hint):
    """Ties the names of objects to the subtask that is chosen.

    The object that the instruction names is preferred by a weight that all objects share, and its
    verb is linear in the words alone: both hold for pairs that were never trained. Any other object
    has verbs of its own, chosen after it: drawn independently, verb and object rarely change
    together, and one without the other ("visit enemy") only costs time.
    """

    for_flat = False

    def __init__(self, network: "MetaNetwork", *, noise: Noise, **_: Any) -> None:
        super().__init__()
        self.objects = _objects_to_name(network)
        self.noise = noise
        self.named_object = undecided(Linear(network.hidden, 1))
        self.named_verb = undecided(Linear(network.sentence, network.verbs))

    def goal_logits(
        self, logits: Tensor, aim: Aim, chosen: Sequence[Tensor], moment: Moment
    ) -> Tensor:
        named = aim.words[:, -self.objects :]
        if not chosen:  # the object, which comes first
            preferred: Tensor = self.named_object(aim.hidden) * named
            return logits + preferred
        is_named = named.gather(1, chosen[0][:, None])
        return torch.lerp(logits, self.named_verb(self.noise(aim.r)), is_named)


class Reminder(Hint):
    """Lets the shift read r_(t-1) beside the context.

    Whether to stay depends on a single word, "all", which the context hardly keeps.
    """

    def __init__(self, network: "MetaNetwork", *, noise: Noise, **_: Any) -> None:
        super().__init__()
        self.noise = noise
        self.shift_inputs = network.sentence

    def for_shift(self, moment: Moment) -> Tensor:
        reminder: Tensor = self.noise(moment.r)
        return reminder


class Focus(Hint):
    """Keeps the context from the shift: it decides by the instruction and what other hints count.

    The tally, or what is left in sight ("all"), is all that staying depends on. Long lists fill the
    world with what transformations leave, as no agent has seen it in training; a shift that reads
    the context leaves "transform 2 pigs" after the first, or "all stones" while there are some.
    """

    for_flat = False
    blinds_shift = True

    def __init__(self, network: "MetaNetwork", **_: Any) -> None:
        super().__init__()


class Tally(Hint):
    """Counts how often the subtask was finished since the pointer last moved.

    "Pick up 3 pigs" is three subtasks, and an LSTM that sees one picture at a time does not learn
    to count them. The shift gets logits for each pair of a word and a count, up to `most`, and the
    critic reads the count. With `named`, only subtasks about an object that is named are counted.
    The parameters are few but decisive: `scale` gives them a larger effective learning rate.
    """

    for_flat = False
    numbers: ClassVar[dict[str, Any]] = {"most": 3, "scale": 10.0, "named": True}

    def __init__(
        self, network: "MetaNetwork", *, most: int, scale: float, named: bool, **_: Any
    ) -> None:
        super().__init__()
        self.scale = scale
        self.objects = _objects_to_name(network) if named else 0
        self.critic_inputs = most
        self.enough = Linear(network.words * most, 3, bias=False)
        nn.init.zeros_(self.enough.weight)

    def initial_memory(self, worlds: int, device: torch.device) -> Memory:
        return (torch.zeros(worlds, device=device),)

    def notice(self, moment: Moment, memory: Memory) -> Memory:
        (tally,) = memory
        return (tally * moment.keep.squeeze(1) + finished(moment, self.objects),)

    def settle(self, memory: Memory, moved: Tensor) -> Memory:
        (tally,) = memory
        return (tally * (1 - moved),)

    def shift_logits(self, logits: Tensor, moment: Moment, memory: Memory) -> Tensor:
        pairs = moment.words[:, :, None] * self.for_critic(memory)[:, None, :]  # (B, words, most)
        added: Tensor = self.scale * self.enough(pairs.flatten(1))
        return logits + added

    def for_critic(self, memory: Memory) -> Tensor:
        """At least one, two, three? (B, most)"""
        tally: Tensor = memory[0]
        counts = torch.arange(self.critic_inputs, device=tally.device)
        return (tally[:, None] - counts).clamp(0.0, 1.0)


class Leftover(Hint):
    """Lets the shift read directly whether anything that the instruction names is left in sight.

    "All" is done when nothing is left. The context is told, too, but through layers that know each
    object by itself: which instructions that were never trained are left too early, or too late,
    then depends on the seed. This is a table for the words that name no object, so what it learns
    holds for every object. The parameters are few but decisive: `scale` gives them a larger
    effective learning rate.
    """

    for_flat = False
    reads_kinds = True
    numbers: ClassVar[dict[str, Any]] = {"scale": 10.0}

    def __init__(self, network: "MetaNetwork", *, eyes: "Eyes", scale: float, **_: Any) -> None:
        super().__init__()
        self.scale = scale
        self.objects = _objects_to_name(network)
        self.shown = eyes.object_channels
        self.enough = nn.Linear(2 * (network.words - self.objects), 3, bias=False)
        nn.init.zeros_(self.enough.weight)

    def shift_logits(self, logits: Tensor, moment: Moment, memory: Memory) -> Tensor:
        others, named = moment.words.tensor_split([-self.objects], dim=1)
        left = (named * moment.kinds[:, 0, self.shown]).sum(dim=1, keepdim=True)
        added: Tensor = self.scale * self.enough(torch.cat((others * left, others * (1 - left)), 1))
        return logits + added


class Glance(Hint):
    """Lets the context read which kinds of thing are in sight at all, and which are close.

    Whether an enemy is there is one number of this, and has to be learned from hundreds of cells
    without it.
    """

    reads_kinds = True

    def __init__(self, network: "MetaNetwork", *, eyes: "Eyes", **_: Any) -> None:
        super().__init__()
        self.context_inputs = eyes.views * eyes.channels

    def for_context(self, moment: Moment) -> Tensor:
        return moment.kinds.flatten(1)


class Briefing(Hint):
    """Adds the condition to the context, which it only multiplies in the paper.

    What matters for the pointer is the condition itself: the last subtask, the instruction and
    whether it has terminated. With `named`, it also says of what the instruction names: is it in
    sight, is it close, and is the last subtask about it?
    """

    reads_kinds = True
    adds_to_context = True
    numbers: ClassVar[dict[str, Any]] = {"named": True}

    def __init__(self, network: "MetaNetwork", *, eyes: "Eyes", named: bool, **_: Any) -> None:
        super().__init__()
        self.objects = _objects_to_name(network) if named else 0
        self.shown = eyes.object_channels
        known = network.condition + (eyes.views + 1 if named else 0)
        self.layer = Linear(known, network.hidden)

    def to_context(self, moment: Moment) -> Tensor:
        known = moment.condition
        if self.objects:
            named = moment.words[:, -self.objects :]
            shown = (named[:, None] * moment.kinds[..., self.shown]).sum(dim=2)  # (B, views)
            known = torch.cat((known, shown, about_named(moment, self.objects)), dim=1)
        added: Tensor = self.layer(known)
        return added


class Sighting(Hint):
    """Lets the gate and the choice of the object read directly which kinds of object are in sight.

    Whether to interrupt a subtask depends on one thing: is there a box, and is it close? Through
    the context this is learned too late: by the time that instructions are followed, a box is
    hardly ever chosen, and a gate that opens for one gains nothing. Here it is a few numbers for
    each kind of object, and `scale` gives them a larger effective learning rate.
    """

    for_flat = False
    reads_kinds = True
    numbers: ClassVar[dict[str, Any]] = {"scale": 10.0}

    def __init__(self, network: "MetaNetwork", *, eyes: "Eyes", scale: float, **_: Any) -> None:
        super().__init__()
        objects = _objects_to_name(network)
        self.scale = scale
        self.shown = eyes.object_channels
        self.gate = Linear(eyes.views * objects, 1, bias=False)
        nn.init.zeros_(self.gate.weight)
        self.goal = nn.Parameter(torch.zeros(eyes.views, objects))

    def update_logit(self, logit: Tensor, moment: Moment) -> Tensor:
        shown = moment.kinds[..., self.shown].flatten(1)
        added: Tensor = self.scale * self.gate(shown).squeeze(1)
        return logit + added

    def goal_logits(
        self, logits: Tensor, aim: Aim, chosen: Sequence[Tensor], moment: Moment
    ) -> Tensor:
        if chosen:  # the object comes first, and its verb does not depend on where it is
            return logits
        return logits + self.scale * (moment.kinds[..., self.shown] * self.goal).sum(dim=1)


class Pursuit(Hint):
    """Opens the gate wherever the agent is after something unnamed that is not in sight.

    A box may vanish on the way to it. The skill then searches for another one and never ends, so
    the gate has to; it learns to do so at every eighth step, and an agent that takes what it finds
    likeliest never does. Like promptness, this is not drawn, penalised or learned.
    """

    for_flat = False
    reads_kinds = True

    def __init__(self, network: "MetaNetwork", *, eyes: "Eyes", **_: Any) -> None:
        super().__init__()
        self.objects = _objects_to_name(network)
        self.shown = eyes.object_channels

    def opens(self, moment: Moment) -> Tensor:
        in_sight = moment.kinds[:, 0, self.shown].gather(1, moment.g[:, 1:]) > 0.5
        named = about_named(moment, self.objects) > 0
        return ~(in_sight | named).squeeze(1) & ~moment.begins


def _objects_to_name(network: "MetaNetwork") -> int:
    if network.flat:
        raise ValueError("a hint asks what a subtask is about, and a flat agent has no subtasks")
    return network.objects


def about_named(moment: Moment, objects: int) -> Tensor:
    """1 where the last subtask is about an object that the instruction names: (B, 1)."""
    # The names of objects are the last words of the vocabulary.
    return moment.words[:, -objects:].gather(1, moment.g[:, 1:]) * moment.keep


def finished(moment: Moment, objects: int) -> Tensor:
    """1 where the last subtask has terminated, and with `objects` is about one that is named."""
    return moment.b * about_named(moment, objects).squeeze(1) if objects else moment.b


HINTS: dict[str, type[Hint]] = {
    "head-start": HeadStart,
    "promptness": Promptness,
    "bookmark": Bookmark,
    "grounding": Grounding,
    "reminder": Reminder,
    "focus": Focus,
    "tally": Tally,
    "leftover": Leftover,
    "glance": Glance,
    "briefing": Briefing,
    "sighting": Sighting,
    "pursuit": Pursuit,
}


def named_hints(names: Iterable[str], *, flat: bool = False) -> dict[str, Numbers]:
    """Hints with their usual numbers; for Flat those that do not ask about subtasks."""
    usual = {name: dict(HINTS[name].numbers) for name in names}
    if not flat:
        return dict(usual)
    return {
        name: numbers | {"named": False} if "named" in numbers else numbers
        for name, numbers in usual.items()
        if HINTS[name].for_flat
    }


def without_hints(hints: Mapping[str, Numbers], names: Iterable[str]) -> dict[str, Numbers]:
    """The hints that remain; an error for a name that is not among them lists them."""
    for name in names:
        if name not in hints:
            known = suggest(name, tuple(hints)) if hints else "this agent has none"
            raise ValueError(f"there is no hint '{name}' to leave out; {known}")
    return {name: numbers for name, numbers in hints.items() if name not in set(names)}
