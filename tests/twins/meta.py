"""Small meta controllers of every form, and what they read."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from errands.agents.deciding import Decision
from errands.agents.hints import HINTS, named_hints
from errands.agents.instructions import SHIFTS, bags_of_words
from errands.agents.mapping import MapWindow
from errands.agents.memory import each, leaves
from errands.agents.meta import MetaController, MetaInput, MetaNetwork, MetaState
from errands.agents.recogniser import MapNetwork
from errands.agents.skill import SkillNetwork
from errands.agents.updater import Carried
from errands.presets import meta_training

SIZES: dict[str, Any] = {"embedding": 5, "sentence": 6, "condition": 7, "hidden": 8, "factors": 7}
FAST = replace(meta_training("grid", "dynamic").network, conv1=2, **SIZES)
# Without the rules that leave gate and pointer no choice: every decision can be looked at.
RULES = ("promptness", "bookmark", "pursuit")
SMALL = replace(FAST, hints={name: FAST.hints[name] for name in FAST.hints if name not in RULES})
PAPER = MetaNetwork(conv1=2, **SIZES)
# The block world with its skill's map, small enough for the slow twin.
SMALL_MAP = MapNetwork(largest=3)
MAP = replace(meta_training("block", "dynamic").network, maps=SMALL_MAP, conv1=2, **SIZES)
# The paper's eyes and LSTM in the block world, with the hints that an LSTM has a place for.
LSTM_HINTS = ("head-start", "grounding", "reminder", "tally")
BLOCK = replace(MAP, maps=None, filters=(4, 3, 3), hints=named_hints(LSTM_HINTS))


def without(network: MetaNetwork, *hints: str) -> MetaNetwork:
    left = {name: numbers for name, numbers in network.hints.items() if name not in hints}
    return replace(network, hints=left)


def flat(network: MetaNetwork) -> MetaNetwork:
    hints = named_hints(network.hints, flat=True)
    return replace(network, gate="every-step", flat=True, hints=hints)


# The shipped Flat has parameters for b_t, which is always 0 there.
STARTED = {"head-start": dict(HINTS["head-start"].numbers) | {"named": False}}
FORMS = {
    "dynamic": SMALL,
    "long": replace(SMALL, gate="at-termination"),
    "short": replace(SMALL, gate="every-step"),
    "flat": flat(SMALL),
    "flat, as shipped": replace(flat(SMALL), hints=STARTED | dict(flat(SMALL).hints)),
    "fast": FAST,
    "fast, long": replace(without(FAST, "pursuit"), gate="at-termination"),
    "fast, short": replace(FAST, gate="every-step"),
    "paper": PAPER,
    "paper, long": replace(PAPER, gate="at-termination"),
    "paper, flat": flat(PAPER),
    "soft, as shipped": without(SMALL, "sighting", "leftover", "focus"),
    "hierarchical": replace(SMALL, low=3),
    "tallying": replace(SMALL, hints=dict(SMALL.hints) | named_hints(["tally"])),
    "block": BLOCK,
    "block, with the skill's eyes": replace(BLOCK, eyes="skill"),
    "block, hierarchical": replace(BLOCK, low=3),
    "block, flat": flat(BLOCK),
    "block, paper": replace(
        PAPER, world="block", words=14, objects=7, actions=9, filters=(4, 3, 3)
    ),
    "map": MAP,
    "map, long": replace(without(MAP, "pursuit", "bookmark"), gate="at-termination"),
    "map, short": replace(without(MAP, "bookmark"), gate="every-step"),
    **{f"without {name}": without(SMALL, name) for name in SMALL.hints},
    **{f"fast, without {name}": without(FAST, name) for name in FAST.hints},
    **{f"block, without {name}": without(BLOCK, name) for name in BLOCK.hints},
    **{f"map, without {name}": without(MAP, name) for name in MAP.hints},
    "tallying, whatever is named": replace(
        without(SMALL, "grounding"),
        hints={"tally": dict(HINTS["tally"].numbers) | {"named": False}} | STARTED,
    ),
}


def small_skill(network: MetaNetwork) -> SkillNetwork:
    """A small skill that this meta controller can command: of its world, and with its map."""
    return SkillNetwork(
        world=network.world,
        objects=network.objects,
        actions=network.actions,
        maps=network.maps,
        embedding=6,
        conv1=3,
        conv2=4,
        filters=(4, 3, 3, 3),
        hidden=8,
        factors=7,
        lstm=9,
    )


LENGTHS = (3, 1, 4)  # of the lists, one a world
LONGEST = 4
CERTAIN = 1000.0  # a logit that leaves no doubt


def heads(meta: MetaController) -> list[Any]:
    """The layers that logits come from."""
    updater: Any = meta.updater
    found = [*updater.goals, updater.shift[2], updater.update]
    if "grounding" in meta.hints:
        grounding: Any = meta.hints["grounding"]
        found += [grounding.named_object, grounding.named_verb]
    return found


def randomised(network: MetaNetwork) -> MetaController:
    """Heads start almost silent: louder ones make differences show. There is no noise."""
    torch.manual_seed(0)
    meta = MetaController(network).eval()
    with torch.no_grad():
        for layer in heads(meta):
            layer.weight.normal_()
            layer.bias.normal_()
        if "tally" in meta.hints:
            tally: Any = meta.hints["tally"]
            tally.enough.weight.normal_(std=0.1)
        if "leftover" in meta.hints:
            leftover: Any = meta.hints["leftover"]
            leftover.enough.weight.normal_(std=0.1)
        if "sighting" in meta.hints:
            sighting: Any = meta.hints["sighting"]
            sighting.gate.weight.normal_(std=0.1)
            sighting.goal.normal_(std=0.1)
    return meta


def certain(meta: MetaController, *, c: bool | None = None, shift: int | None = None) -> None:
    """Leave the gate or the shift no choice, whatever is seen and hinted."""
    updater: Any = meta.updater
    hints: Any = dict(meta.hints.items())
    with torch.no_grad():
        if c is not None:
            updater.update.weight.zero_()
            updater.update.bias.fill_(CERTAIN if c else -CERTAIN)
        if shift is not None:
            updater.shift[2].weight.zero_()
            updater.shift[2].bias.zero_()
            updater.shift[2].bias[SHIFTS.index(shift)] = CERTAIN
        for start in (hints[name] for name in hints if name == "head-start"):
            start.update *= c is None
            start.shift *= shift is None


def images_of(network: MetaNetwork, worlds: int, seed: int = 1) -> Tensor:
    """Random observations, or features where the skill's eyes have looked already.

    A grid's first plane shows the agent on one inner cell.
    """
    random = np.random.default_rng(seed)
    if network.maps:
        window = MapWindow(network.maps, network.objects, network.actions)
        return torch.from_numpy(random.integers(0, 256, (worlds, window.size), dtype=np.uint8))
    if network.eyes == "skill":
        return torch.from_numpy(random.random((worlds, 15 * 15, network.filters[1]), np.float32))
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
    seen = images_of(network, count, seed)
    signals = flags(*finished, count=count), flags(*begins, count=count)
    return MetaInput(seen, bags, mask, *signals)


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
    features = (meta.eyes(images_of(network, count, seed)),)
    return MetaState(
        carried=Carried(
            p=p / p.sum(1, keepdim=True),
            h=torch.rand(start.carried.h.shape, generator=random),
            memory=each(
                lambda item: torch.randn(item.shape, generator=random), start.carried.memory
            ),
            g=torch.stack(g, dim=1),
        ),
        sight=features if start.sight else (),
        hints=each(
            lambda item: torch.randint(4, item.shape, generator=random).float(), start.hints
        ),
    )


def doubled(values: Any) -> Any:
    """The same with every float tensor in double precision."""
    return each(lambda item: item.double() if item.is_floating_point() else item, values)


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def decided(meta: MetaController, c: bool, shift: int, seed: int = 7) -> Decision:
    """The same gate and shift in all worlds, and any subtasks."""
    random = torch.Generator().manual_seed(seed)
    sizes, count = meta.network.parameters, len(LENGTHS)
    g = torch.stack([torch.randint(size, (count,), generator=random) for size in sizes], dim=1)
    return Decision(torch.full((count,), c), torch.full((count,), SHIFTS.index(shift)), g)


def assert_equal(one: Any, other: Any, *worlds: int) -> None:
    """Bit by bit, in these worlds or in all."""
    pairs = zip(leaves(one, "one"), leaves(other, "one"), strict=True)
    for (name, a), (_, b) in pairs:
        chosen = list(worlds or range(len(a)))
        assert torch.equal(a[chosen], b[chosen]), name


def replaced(state: MetaState, **changes: Any) -> MetaState:
    """The same state, with other p, h, memory or g."""
    return state._replace(carried=state.carried._replace(**changes))
