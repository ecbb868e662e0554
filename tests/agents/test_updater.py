"""The subtask updater: Algorithm 2, its gates, soft and hard updates, and what decisions cost."""

import math
from dataclasses import replace
from functools import partial
from itertools import product

import pytest
import torch
from torch import Tensor

from errands.agents.deciding import Decision, draw
from errands.agents.instructions import SHIFTS, STAY
from errands.agents.load import TrainedAgent, load, shipped_agents
from errands.agents.memory import each
from errands.agents.meta import MetaController, MetaInput, MetaNetwork, MetaOutput, MetaState
from twins.meta import (
    BLOCK,
    FORMS,
    LENGTHS,
    LONGEST,
    SIZES,
    SMALL,
    SMALL_MAP,
    assert_equal,
    carried,
    certain,
    decided,
    doubled,
    flags,
    flat,
    generator,
    given,
    mask_of,
    randomised,
    tokens_of,
    without,
)
from twins.updater import SlowMeta

COUNT = len(LENGTHS)

# What is in sight is a number of single precision, whatever the network's is.
approx = partial(pytest.approx, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_steps_are_algorithm_2(form: str, soft: bool) -> None:
    """Six steps against the paper's lines on plain lists, the pointers' padding cut off."""
    meta = randomised(FORMS[form]).double()
    network, mask = meta.network, mask_of()
    tokens = tokens_of(network, mask)
    twins = [SlowMeta(meta) for _ in LENGTHS]
    state, random = doubled(meta.initial_state(COUNT, LONGEST)), generator()
    for t in range(6):
        begins = {0: (0, 1, 2), 3: (1,)}.get(t, ())
        step = doubled(given(network, finished=(t % 3, 1), begins=begins, seed=t))
        output, state = meta.step(step, state, soft=soft, random=random)
        for world, (length, twin) in enumerate(zip(LENGTHS, twins, strict=True)):
            if world in begins:
                twin.begin(tokens[world, :length].tolist())
            drawn = bool(output.decision.c[world]), int(output.decision.shift[world])
            expected = twin.step(
                step.seen[world],
                bool(step.finished[world]),
                output.decision.g[world].tolist(),
                None if soft else drawn,
            )
            assert output.update[world].item() == approx(expected.c)
            assert output.shift[world].tolist() == approx(expected.l)
            assert output.pointer[world, :length].tolist() == approx(expected.p)
            assert state.carried.h[world].tolist() == approx(expected.h)
            assert output.log_probability[world].item() == approx(expected.log_probability)
            assert output.value[world].item() == approx(expected.value)


def shrunk(network: MetaNetwork) -> MetaNetwork:
    """The same architecture, as small as the forms above, whatever the head start begins with."""
    maps = SMALL_MAP if network.maps else None
    hints = {name: dict(numbers) for name, numbers in network.hints.items()}
    for begins_with in ("update", "shift"):
        hints.get("head-start", {}).pop(begins_with, None)
    heard = {"threshold": 0.5, "opens": 0.5, "sharpness": 1.0}  # outside of the updater
    return replace(network, **SIZES, **heard, conv1=2, filters=(4, 3, 3), maps=maps, hints=hints)


def test_the_twin_runs_every_shipped_combination() -> None:
    shipped = [agent for agent in map(load, shipped_agents()) if isinstance(agent, TrainedAgent)]
    assert {agent.meta.network.world for agent in shipped} == {"grid", "block"}
    forms = [shrunk(network) for network in FORMS.values()]
    assert [agent for agent in shipped if shrunk(agent.meta.network) not in forms] == []


# The pointer


@pytest.mark.parametrize("soft", [True, False])
def test_pointer_stays_a_distribution_over_the_list(meta: MetaController, soft: bool) -> None:
    state, random = meta.initial_state(COUNT, LONGEST), generator()
    for t in range(12):
        step = given(meta.network, finished=(t % 3,), begins=(0, 1, 2) if t == 0 else (), seed=t)
        output, state = meta.step(step, state, soft=soft, random=random)
        assert (output.pointer >= 0).all()
        assert not output.pointer[~step.mask].any()
        torch.testing.assert_close(output.pointer.sum(1), torch.ones(COUNT))
        assert torch.equal(output.pointer, state.carried.p)
        torch.testing.assert_close(output.shift.sum(1), torch.ones(COUNT))
        if not soft:
            assert set(output.pointer.unique().tolist()) <= {0.0, 1.0}


@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("shift", SHIFTS)
def test_pointer_walks_a_list_of_a_hundred_and_waits_at_its_ends(shift: int, soft: bool) -> None:
    meta = randomised(SMALL)
    certain(meta, c=True, shift=shift)
    step = given(SMALL, begins=(0,), mask=mask_of((100,), 100))
    state = meta.initial_state(1, 100)
    at = 0
    for t in range(103):
        with torch.no_grad():
            output, state = meta.step(step, state, soft=soft)
        step = step._replace(begins=flags(count=1))
        at = min(max(at + shift * (t > 0), 0), 99)
        assert output.pointer[0].argmax() == at
        assert output.pointer[0, at] == 1
        assert torch.isfinite(output.value).all()


def test_a_list_of_one_has_nowhere_to_go() -> None:
    meta = randomised(SMALL)
    mask = mask_of((1,), 1)
    state = meta.initial_state(1, 1)
    for t in range(5):
        step = given(SMALL, begins=(0,) if t == 0 else (), seed=t, mask=mask)
        output, state = meta.step(step, state, soft=True, random=generator())
        assert output.pointer.item() == pytest.approx(1.0)


# Gates


def run(
    meta: MetaController, steps: int, *, soft: bool
) -> list[tuple[MetaInput, MetaOutput, MetaState]]:
    """What was given at each step, and the output and the state that it led to."""
    state, random = carried(meta, soft=soft), generator()
    told = []
    for t in range(steps):
        finished = ((t // 2) % 3,) if t % 2 else ()
        step = given(meta.network, finished=finished, begins=(1,) if t == 5 else (), seed=t)
        output, state = meta.step(step, state, soft=soft, random=random)
        told.append((step, output, state))
    return told


@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("form", ["long", "short", "flat", "block, flat"])
def test_fixed_gates_open_when_they_should(form: str, soft: bool) -> None:
    """Long: when a subtask is finished and as an episode begins. Short and Flat: always."""
    for step, output, _ in run(randomised(FORMS[form]), 10, soft=soft):
        due = step.finished | step.begins if form == "long" else torch.ones(COUNT, dtype=torch.bool)
        assert torch.equal(output.decision.c, due)
        assert torch.equal(output.update, due.float())


@pytest.mark.parametrize("soft", [True, False])
def test_while_the_gate_is_closed_everything_stays(soft: bool) -> None:
    meta = randomised(FORMS["long"])
    before = carried(meta, soft=soft)
    opened = 0
    for step, output, state in run(meta, 12, soft=soft):
        closed = (~output.decision.c).nonzero()[:, 0].tolist()
        assert_equal(before, state, *closed)
        free = output.decision.c & ~step.begins
        opened += int((state.carried.h != before.carried.h).any(1)[free].sum())
        before = state
    assert opened


def test_an_episode_begins_with_an_update_on_the_first_instruction() -> None:
    """Even if the gate would rather stay closed and the pointer move."""
    meta = randomised(SMALL)
    certain(meta, c=False, shift=1)
    step = given(SMALL, begins=(1,), finished=(1, 2))
    output, _ = meta.step(step, carried(meta), soft=False, random=generator())
    assert output.decision.c.tolist() == [False, True, False]
    assert output.pointer[1].tolist() == [1, 0, 0, 0]
    assert output.shift[1].tolist() == [0, 1, 0]
    output, _ = meta.step(step, carried(meta), soft=True, random=generator())
    assert output.update.tolist() == [0, 1, 0]


@pytest.mark.parametrize("network", [SMALL, BLOCK], ids=["grid", "block"])
def test_low_units_update_at_every_step_and_high_ones_with_the_gate(network: MetaNetwork) -> None:
    low = 3
    meta, plain = (randomised(replace(network, low=units)) for units in (low, 0))
    step, state = given(network), carried(plain)
    _, new = plain.step(step, state, soft=False, decided=decided(plain, True, 0))

    def contexts(of: MetaState) -> list[Tensor]:
        return [of.carried.h, *of.carried.memory]

    for k, (old, updated) in enumerate(zip(contexts(state), contexts(new), strict=True)):
        for c in (False, True):
            _, after = meta.step(step, state, soft=False, decided=decided(meta, c, 0))
            assert torch.equal(contexts(after)[k][:, :low], updated[:, :low])
            assert torch.equal(contexts(after)[k][:, low:], (updated if c else old)[:, low:])
        _, closed = plain.step(step, state, soft=False, decided=decided(plain, False, 0))
        assert torch.equal(contexts(closed)[k], old)


# Soft and hard updates

SETTLED = ["dynamic", "paper", "hierarchical", "tallying", "block", "map, without promptness"]


@pytest.mark.parametrize(("c", "shift"), list(product([False, True], SHIFTS)))
@pytest.mark.parametrize("form", SETTLED)
def test_soft_equals_hard_where_nothing_is_in_doubt(form: str, c: bool, shift: int) -> None:
    """c_t in {0, 1} and l_t one-hot, over several steps with a beginning among them."""
    meta = randomised(FORMS[form])
    certain(meta, c=c, shift=shift)
    states = [carried(meta, soft=False)] * 2
    for t in range(4):
        step = given(meta.network, finished=(2,), begins=(1,) if t == 2 else (), seed=t)
        seeds = [torch.Generator().manual_seed(t) for _ in range(2)]
        soft, states[0] = meta.step(step, states[0], soft=True, random=seeds[0])
        hard, states[1] = meta.step(step, states[1], soft=False, random=seeds[1])
        assert (hard.decision.c == (c | step.begins)).all()
        assert torch.equal(soft.decision.g, hard.decision.g)
        for name in ("value", "update", "pointer"):
            assert torch.equal(getattr(soft, name), getattr(hard, name)), name
        assert_equal(states[0], states[1])
        torch.testing.assert_close(soft.log_probability, hard.log_probability)
        torch.testing.assert_close(soft.entropy, hard.entropy)


TINY = replace(without(SMALL, "head-start"), verbs=2, objects=2, actions=3, slots=2)
TINY_FORMS = {
    "dynamic": TINY,
    "long": replace(TINY, gate="at-termination"),
    "short": replace(TINY, gate="every-step"),
    "flat": flat(TINY),
}


def outcomes(meta: MetaController, *, soft: bool) -> list[tuple[bool, int, tuple[int, ...]]]:
    """Everything that can be decided, once each: without an update, no shift is looked at."""
    subtasks = list(product(*map(range, meta.network.parameters)))
    if soft:
        return [(False, STAY, g) for g in subtasks]
    updates = [(True, shift, g) for shift in range(3) for g in subtasks]
    return updates + [(False, STAY, g) for g in subtasks]


@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("world", [0, 1, 2], ids=["goes on", "begins", "has finished"])
@pytest.mark.parametrize("form", TINY_FORMS.keys())
def test_log_probabilities_against_enumeration(form: str, world: int, soft: bool) -> None:
    """Over all (c, l, g) they add up to one, and each is the share of draws that came to it."""
    meta = randomised(TINY_FORMS[form])
    step = given(meta.network, finished=(2,), begins=(1,))
    state = carried(meta, soft=soft)
    cases = outcomes(meta, soft=soft)
    choice = Decision(*(torch.tensor(column) for column in zip(*cases, strict=True)))

    def batch(times: int) -> tuple[MetaInput, MetaState]:
        return each(lambda item: item[[world] * times], (step, state))

    draws = 4000
    with torch.no_grad():
        output, _ = meta.step(*batch(len(cases)), soft=soft, decided=choice)
        drawn, _ = meta.step(*batch(draws), soft=soft, random=generator())
    chances = possible(output, cases, soft=soft)
    assert sum(chances) == pytest.approx(1.0, abs=1e-5)
    if meta.network.gate == "learned" and world != 1 and not soft:
        assert sum(chance > 1e-3 for chance in chances) > 4
    said = list(zip(*(item.tolist() for item in drawn.decision), strict=True))
    plain = [(c, shift if c else STAY, tuple(g)) for c, shift, g in said]
    if soft:
        plain = [(False, STAY, g) for _, _, g in plain]
    for case, chance in zip(cases, chances, strict=True):
        assert plain.count(case) / draws == pytest.approx(chance, abs=0.035)
    of_draws = dict(zip(cases, chances, strict=True))
    expected = [math.log(of_draws[case]) for case in plain[:50]]
    assert drawn.log_probability[:50].tolist() == pytest.approx(expected, abs=1e-4)


def possible(
    output: MetaOutput, cases: list[tuple[bool, int, tuple[int, ...]]], *, soft: bool
) -> list[float]:
    """Chances of the cases. What the gate or a beginning rules out is never drawn: it has none."""
    chances = output.log_probability.exp().tolist()
    if soft:
        return chances
    update, shift = output.update.tolist(), output.shift.tolist()
    return [
        chance * ((update[k] > 0 and shift[k][shifted] > 0) if c else update[k] < 1)
        for k, (chance, (c, shifted, _)) in enumerate(zip(chances, cases, strict=True))
    ]


def test_without_an_update_the_shift_costs_nothing_and_the_subtask_is_kept() -> None:
    meta = randomised(SMALL)
    step, state = given(SMALL), carried(meta)
    told = []
    for shift in SHIFTS:
        choice = decided(meta, False, shift)._replace(g=state.carried.g)
        output, after = meta.step(step, state, soft=False, decided=choice)
        torch.testing.assert_close(output.log_probability, torch.log(1 - output.update))
        assert_equal(state.carried, after.carried)
        told.append(output)
    for name in ("update", "shift", "pointer"):
        assert torch.equal(getattr(told[0], name), getattr(told[1], name))
    assert torch.equal(told[0].log_probability, told[2].log_probability)
    another = decided(meta, False, 0)._replace(g=(state.carried.g + 1) % 3)
    output, _ = meta.step(step, state, soft=False, decided=another)
    assert (output.log_probability < -15).all()  # as good as impossible


def test_without_random_numbers_the_likeliest_is_taken(meta: MetaController) -> None:
    step, state = given(meta.network, finished=(0,)), carried(meta)
    output, after = meta.step(step, state, soft=False)
    assert torch.equal(output.decision.c, output.update > meta.network.opens)
    assert torch.equal(output.decision.shift, output.shift.argmax(1))
    again, _ = meta.step(step, state, soft=False, decided=output.decision)
    assert_equal(output, again)
    closed = (~output.decision.c).nonzero()[:, 0].tolist()
    assert torch.equal(after.carried.g[closed], state.carried.g[closed])


def test_draws_follow_the_probabilities() -> None:
    chances = torch.tensor([0.5, 0.0, 0.3, 0.2])
    drawn = draw(chances.expand(20_000, 4), generator())
    shares = (torch.bincount(drawn, minlength=4) / len(drawn)).tolist()
    assert shares == pytest.approx(chances.tolist(), abs=0.02)
    assert draw(chances[None], None).item() == 0
