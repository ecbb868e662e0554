"""The meta controller as a whole: its state, what it reads, gradients, and batches in time."""

from itertools import product

import pytest
import torch
from torch import Tensor

from errands.agents.context import Recurrent
from errands.agents.deciding import Choice
from errands.agents.hierarchy import Hierarchy
from errands.agents.instructions import SHIFTS, bags_of_words
from errands.agents.load import load_skill
from errands.agents.memory import each, leaves
from errands.agents.meta import MetaController, MetaInput, MetaOutput, MetaState
from errands.agents.registry import designs
from errands.agents.skill import Skill
from errands.config import Preset
from errands.presets import meta_training, skill_training
from errands.worlds.spec import WORLDS
from errands.worlds.tasks import list_tasks
from errands.worlds.vector import Worlds
from twins.meta import (
    BLOCK,
    FORMS,
    LENGTHS,
    LONGEST,
    SMALL,
    assert_equal,
    carried,
    decided,
    doubled,
    flags,
    generator,
    given,
    images_of,
    mask_of,
    randomised,
    replaced,
    tokens_of,
)

COUNT = len(LENGTHS)


@pytest.mark.parametrize("soft", [True, False])
def test_a_step_that_begins_ignores_the_state(meta: MetaController, soft: bool) -> None:
    """World 1 begins in the middle of a batch; the others go on."""
    step, choice = given(meta.network, begins=(1,)), decided(meta, True, 0)
    one = meta.step(step, carried(meta, seed=3), soft=soft, decided=choice)
    other = meta.step(step, carried(meta, seed=4), soft=soft, decided=choice)
    assert_equal(one[0], other[0], 1)
    assert_equal(one[1], other[1], 1)
    for world in (0, 2):
        assert not torch.equal(one[0].value[world], other[0].value[world])
    fresh = meta.step(step, meta.initial_state(COUNT, LONGEST), soft=soft, decided=choice)
    assert_equal(one[0], fresh[0], 1)
    assert_equal(one[1], fresh[1], 1)
    finished = step._replace(finished=flags(1))
    again = meta.step(finished, carried(meta, seed=3), soft=soft, decided=choice)
    assert_equal(one[0], again[0])


def test_the_state_keeps_its_shapes(meta: MetaController) -> None:
    start = meta.initial_state(COUNT, LONGEST)
    step = given(meta.network, begins=(0, 1, 2))
    _, state = meta.step(step, start, soft=True, random=generator())
    for (name, old), (_, new) in zip(leaves(start, "state"), leaves(state, "state"), strict=True):
        assert (old.shape, old.dtype) == (new.shape, new.dtype), name


@pytest.mark.parametrize("soft", [True, False])
def test_padding_is_never_attended(meta: MetaController, soft: bool) -> None:
    """Whatever words stand after the list's end change nothing."""
    network, mask = meta.network, mask_of()
    tokens = tokens_of(network, mask)
    scribbled = torch.where(mask[..., None], tokens, network.words - 1)
    states = [meta.initial_state(COUNT, LONGEST) for _ in range(2)]
    for t in range(6):
        step = given(network, finished=(t % 3,), begins=(0, 1, 2) if t == 0 else (), seed=t)
        told = []
        for k, words in enumerate((tokens, scribbled)):
            bags = bags_of_words(words, network.words)
            output, states[k] = meta.step(
                step._replace(bags=bags),
                states[k],
                soft=soft,
                random=torch.Generator().manual_seed(t),
            )
            told.append(output)
        assert_equal(told[0], told[1])
        assert_equal(states[0], states[1])


def test_more_padding_changes_nothing() -> None:
    meta = randomised(SMALL)
    state, step = carried(meta), given(SMALL, finished=(1,))
    more = 5
    wide_state = replaced(state, p=torch.nn.functional.pad(state.carried.p, (0, more)))
    wide = step._replace(
        bags=torch.nn.functional.pad(step.bags, (0, 0, 0, more)),
        mask=torch.nn.functional.pad(step.mask, (0, more)),
    )
    choice = decided(meta, True, 1)
    output, _ = meta.step(step, state, soft=True, decided=choice)
    other, _ = meta.step(wide, wide_state, soft=True, decided=choice)
    torch.testing.assert_close(other.pointer[:, :LONGEST], output.pointer)
    assert not other.pointer[:, LONGEST:].any()
    torch.testing.assert_close(other.log_probability, output.log_probability)
    torch.testing.assert_close(other.value, output.value)


def test_the_baseline_does_not_know_what_is_decided(meta: MetaController) -> None:
    """A baseline that changes with the drawn gate and shift would take the credit for them."""
    step, state = given(meta.network, finished=(0, 2)), carried(meta, soft=False)
    choices = product([False, True], SHIFTS, [3, 4])
    outputs = [
        meta.step(step, state, soft=False, decided=decided(meta, c, shift, seed))[0]
        for c, shift, seed in choices
    ]
    assert len({tuple(output.pointer.flatten().tolist()) for output in outputs}) == 3
    for output in outputs:
        assert torch.equal(output.value, outputs[0].value)


@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("form", ["dynamic", "paper", "flat", "block", "map"])
def test_gradients_of_a_step(form: str, soft: bool) -> None:
    """Along a random direction of every parameter and of what is carried: a tiny step each way."""
    meta = randomised(FORMS[form]).double()
    for name, value in meta.named_parameters():
        if "conv" in name and name.endswith(".bias"):
            value.data.normal_()  # at 0, where it starts, empty cells are at the ReLU's kink
    step, state = doubled(given(meta.network, finished=(0,), begins=(1,))), doubled(carried(meta))
    choice = decided(meta, True, 1)
    if not soft:  # world 2 goes on with its subtask
        choice = choice._replace(c=flags(0, 1))
        g = torch.where(choice.c[:, None], choice.g, state.carried.g)
        choice = choice._replace(g=g)
    inputs = {name: getattr(state.carried, name).requires_grad_() for name in ("p", "h")}
    inputs |= dict(meta.named_parameters())
    random = torch.Generator().manual_seed(5)

    def outcome() -> Tensor:
        """Everything that learning looks at and that is carried on, each with its own weight."""
        output, after = meta.step(step, state, soft=soft, decided=choice)
        told = output.log_probability, output.value, output.update, output.shift
        shares = torch.Generator().manual_seed(6)
        return torch.stack(
            [
                (part * torch.randn(part.shape, generator=shares, dtype=part.dtype)).sum()
                for part in (*told, after.carried.p, after.carried.h)
            ]
        ).sum()

    outcome().backward()
    reached = 0
    for name, value in inputs.items():
        direction = torch.randn(value.shape, generator=random, dtype=value.dtype)
        ends = []
        with torch.no_grad():
            for distance in (1e-6, -2e-6):
                value += distance * direction
                ends.append(outcome().item())
            value += 1e-6 * direction
        slope = 0.0 if value.grad is None else (value.grad * direction).sum().item()
        assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(slope, rel=1e-4, abs=1e-6), name
        reached += slope != 0
    assert reached > len(inputs) / 2


def test_the_block_worlds_context_is_an_lstm_and_the_grids_has_no_memory() -> None:
    for network, remembers in ((BLOCK, True), (SMALL, False)):
        meta = randomised(network)
        with torch.no_grad():
            meta.updater.update.weight *= 0.1  # louder, the gate is nothing but open or closed
        assert isinstance(meta.context, Recurrent) == remembers
        step, state = given(network), carried(meta)
        h, memory = each(lambda item: item.flip(0), (state.carried.h, state.carried.memory))
        other = replaced(state, h=h, memory=memory)
        shift, moved = (meta.step(step, s, soft=True)[0].shift for s in (state, other))
        assert torch.equal(shift, moved) != remembers
        gate, changed = (meta.step(step, s, soft=True)[0].update for s in (state, other))
        assert not torch.equal(gate, changed)  # which looks at h_(t-1) in both worlds


def test_flat_sees_the_last_two_observations_and_remembers_no_subtask() -> None:
    meta = randomised(FORMS["flat"])
    step, state = given(meta.network, begins=(1,)), carried(meta)
    choice = decided(meta, True, 0)
    output, after = meta.step(step, state, soft=True, decided=choice)
    assert output.decision.g.shape == (COUNT, 1)
    (last,) = after.sight
    assert torch.equal(last, meta.eyes(step.seen))
    assert last.data_ptr() != step.seen.data_ptr()
    elsewhere = state._replace(sight=(meta.eyes(images_of(meta.network, COUNT, 99)),))
    changed, _ = meta.step(step, elsewhere, soft=True, decided=choice)
    assert (output.value != changed.value).tolist() == [True, False, True]
    acted = replaced(state, g=(state.carried.g + 1) % meta.network.actions)
    again, _ = meta.step(step, acted, soft=True, decided=choice)
    assert_equal(output, again)


@pytest.mark.parametrize("what", ["seen", "finished", "bags", "g", "p"])
def test_everything_that_is_read_makes_a_difference(what: str) -> None:
    meta = randomised(SMALL)
    step, state = given(SMALL), carried(meta)
    output, _ = meta.step(step, state, soft=True, decided=decided(meta, True, 0))
    if what in MetaInput._fields:
        value = getattr(step, what)
        step = step._replace(**{what: ~value if what == "finished" else value.flip(0)})
    else:
        state = replaced(state, **{what: getattr(state.carried, what).flip(0)})
    other, _ = meta.step(step, state, soft=True, decided=decided(meta, True, 0))
    assert not torch.equal(output.log_probability, other.log_probability)
    assert not torch.equal(output.value, other.value)


def test_noise_comes_while_training_alone(meta: MetaController) -> None:
    step, state, choice = given(meta.network), carried(meta), decided(meta, True, 0)

    def value() -> Tensor:
        return meta.step(step, state, soft=True, decided=choice)[0].value

    quiet = value()
    assert torch.equal(quiet, value())
    meta.train()
    assert torch.equal(quiet, value()) == (meta.network.noise == 0)


@pytest.mark.parametrize("preset", ["fast", "paper", "debug"])
@pytest.mark.parametrize("agent", designs())
@pytest.mark.parametrize("world", ["grid", "block"])
def test_every_preset_fits_its_world(world: str, agent: str, preset: Preset) -> None:
    spec = WORLDS[world]
    network = meta_training(world, agent, preset).network
    assert network.words == spec.vocabulary.token_count
    worlds = Worlds(spec, 2, list_tasks(spec, "train", (1, 4)))
    worlds.reset()
    meta = MetaController(network).eval()
    every = torch.ones(2, dtype=torch.bool)
    bags = bags_of_words(torch.from_numpy(worlds.tokens), network.words)
    shown = torch.from_numpy(worlds.images)
    with torch.no_grad():
        if network.shares_eyes:
            skill = Skill(skill_training(world, "independent", preset).network)
            nothing = torch.zeros(2, dtype=torch.int64)
            looked, _ = skill.eyes.look(shown, nothing, every, skill.eyes.initial_memory(2))
            shown = skill.see(looked)
        step = MetaInput(shown, bags, torch.from_numpy(worlds.mask), ~every, every)
        output, state = meta.step(step, meta.initial_state(2, 4), soft=False, random=generator())
        output, _ = meta.step(step._replace(begins=~every), state, soft=False, random=generator())
    assert network.flat == (agent == "flat")
    assert network.parameters == ((worlds.actions,) if agent == "flat" else (3, len(spec.objects)))
    assert torch.isfinite(output.log_probability).all()


@pytest.mark.parametrize("preset", ["fast", "paper", "debug"])
@pytest.mark.parametrize("agent", [name for name, design in designs().items() if not design.flat])
@pytest.mark.parametrize("world", ["grid", "block"])
def test_every_preset_can_command_its_skill(world: str, agent: str, preset: Preset) -> None:
    training = meta_training(world, agent, preset)
    Hierarchy(MetaController(training.network), load_skill(training.skill).skill)


# Decisions taken before, reconsidered


def steps_of(meta: MetaController, *, soft: bool) -> tuple[MetaInput, MetaState, list[MetaOutput]]:
    """Seven steps of three worlds, one of which begins again: (T, B, ...)."""
    state, random = carried(meta, soft=soft), generator()
    given_at, before, outputs = [], [], []
    for t in range(7):
        begins = (1,) if t == 4 else ()
        step = given(meta.network, finished=(t % 3,), begins=begins, seed=t)
        given_at.append(step)
        before.append(state)
        with torch.no_grad():
            output, state = meta.step(step, state, soft=soft, random=random)
        outputs.append(output)
    stacked = (each(lambda *items: torch.stack(items), *trees) for trees in (given_at, before))
    return *stacked, outputs


@pytest.mark.parametrize("soft", [True, False])
def test_a_batch_in_time_is_as_good_as_step_by_step(meta: MetaController, soft: bool) -> None:
    """Outputs, and gradients of every parameter, though only an LSTM goes step by step."""
    steps, before, outputs = doubled(steps_of(meta, soft=soft))
    meta = meta.double()
    decisions = each(lambda *items: torch.stack(items), *(output.decision for output in outputs))
    batch = meta.reconsider(steps, before, decisions, soft=soft)
    state, one_by_one = each(lambda item: item[0], before), []
    for t in range(len(outputs)):
        at, choice = each(lambda item, t=t: item[t], (steps, decisions))
        if not (soft or meta.context.recurrent):  # where no gradient passes on
            state = each(lambda item, t=t: item[t], before)
        output, state = meta.step(at, state, soft=soft, decided=choice)
        one_by_one.append(output)
    expected = each(lambda *items: torch.stack(items), *one_by_one)
    for (name, a), (_, b) in zip(leaves(batch, "it"), leaves(expected, "it"), strict=True):
        torch.testing.assert_close(a, b, msg=name)
    slopes = []
    for output in (batch, expected):
        meta.zero_grad()
        parts = output.log_probability, output.value, output.entropy, output.update
        torch.autograd.backward(sum(part.mul(k + 1).sum() for k, part in enumerate(parts)))
        slopes.append({name: p.grad for name, p in meta.named_parameters() if p.grad is not None})
    assert slopes[0].keys() == slopes[1].keys()
    for name, slope in slopes[0].items():
        torch.testing.assert_close(slope, slopes[1][name], msg=name)


@pytest.mark.parametrize(
    ("opens", "expected"), [(0.5, [False, False, True]), (0.05, [False, True, True])]
)
def test_a_gate_that_is_not_drawn_opens_above_a_chance(opens: float, expected: list[bool]) -> None:
    chances = torch.tensor([0.04, 0.3, 0.6])
    assert Choice(None, None, opens).of_gate(chances).tolist() == expected
    drawn = Choice(None, torch.Generator().manual_seed(0), opens).of_gate(chances.repeat(2000))
    shares = drawn.view(2000, 3).float().mean(dim=0)
    torch.testing.assert_close(shares, chances, atol=0.04, rtol=0.0)
