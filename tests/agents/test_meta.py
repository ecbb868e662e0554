"""The meta controller: pointer, gates, soft and hard updates, and what each decision costs."""

import math
from dataclasses import replace
from itertools import product

import pytest
import torch
from hypothesis import given as examples
from hypothesis import strategies as st
from torch import Tensor

from errands.agents.layers import FactorisedLSTM, PredictedConv
from errands.agents.meta import (
    SHIFTS,
    STAY,
    Decision,
    MetaController,
    MetaInput,
    MetaNetwork,
    MetaState,
    Thought,
    bags_of_words,
    draw,
    kinds_in_sight,
    shift_pointer,
    within_list,
)
from errands.agents.registry import designs
from errands.agents.skill import build_skill
from errands.config import Preset, World, meta_training, skill_training
from errands.worlds.spec import WORLDS
from errands.worlds.tasks import list_tasks
from errands.worlds.vector import Worlds
from twins.meta import (
    BLOCK,
    CERTAIN,
    FORMS,
    LENGTHS,
    LONGEST,
    SMALL,
    SlowUpdater,
    carried,
    certain,
    doubled,
    flags,
    given,
    images_of,
    mask_of,
    randomised,
    tokens_of,
)

COUNT = len(LENGTHS)


@pytest.fixture(params=FORMS.values(), ids=FORMS.keys())
def meta(request: pytest.FixtureRequest) -> MetaController:
    return randomised(request.param)


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def decided(meta: MetaController, c: bool, shift: int, seed: int = 7) -> Decision:
    """The same gate and shift in all worlds, and any subtasks."""
    random = torch.Generator().manual_seed(seed)
    sizes = meta.network.parameters
    g = torch.stack([torch.randint(size, (COUNT,), generator=random) for size in sizes], dim=1)
    index = torch.full((COUNT,), SHIFTS.index(shift))
    return Decision(torch.full((COUNT,), c), index, g)


def assert_equal(one: tuple[Tensor, ...], other: tuple[Tensor, ...], *worlds: int) -> None:
    """Bit by bit, in these worlds or in all."""
    chosen = list(worlds or range(COUNT))
    for a, b in zip(one, other, strict=True):
        assert torch.equal(a[chosen], b[chosen])


def parts(thought: Thought) -> tuple[Tensor, ...]:
    return (*thought.decision, *thought[1:])


def unchosen(thought: Thought) -> tuple[Tensor, ...]:
    """What was found likely and good, apart from what was drawn."""
    return thought.value, thought.update, thought.shift, thought.pointer


# Words


def test_bags_count_words_and_not_padding() -> None:
    bags = bags_of_words(torch.tensor([[[3, 1, 0], [2, 2, 0], [0, 0, 0]]]), 4)
    assert bags.tolist() == [[[0, 1, 0, 1], [0, 0, 2, 0], [0, 0, 0, 0]]]


def test_what_is_retrieved_is_the_sum_of_the_instructions_words() -> None:
    meta = randomised(SMALL)
    bags = bags_of_words(torch.tensor([[[3, 1, 0], [2, 2, 5]]]), SMALL.words)
    w = meta.words
    torch.testing.assert_close(meta.retrieve(bags, torch.tensor([[1.0, 0.0]]))[0], w[3] + w[1])
    half = meta.retrieve(bags, torch.tensor([[0.5, 0.5]]))[0]
    torch.testing.assert_close(half, (w[3] + w[1] + 2 * w[2] + w[5]) / 2)


# The pointer

WEIGHTS = st.floats(0, 1)


@st.composite
def pointers(draw: st.DrawFn) -> tuple[list[float], list[float], int]:
    """A pointer over a list, shifts, and a length for the list with its padding."""
    length = draw(st.integers(1, 6))
    p = draw(st.lists(WEIGHTS, min_size=length, max_size=length).filter(lambda p: sum(p) > 0.01))
    shift = draw(st.lists(WEIGHTS, min_size=3, max_size=3).filter(lambda x: sum(x) > 0.01))
    return [x / sum(p) for x in p], [x / sum(shift) for x in shift], draw(st.integers(length, 9))


@examples(pointers())
def test_any_shift_of_any_pointer_is_a_distribution_over_the_list(
    case: tuple[list[float], list[float], int],
) -> None:
    p, l, padded = case  # noqa: E741
    length = len(p)
    expected = [0.0] * padded
    for k, share in enumerate(p):
        for chance, shift in zip(l, SHIFTS, strict=True):
            expected[min(max(k + shift, 0), length - 1)] += chance * share
    before = torch.tensor([p + [0.0] * (padded - length)], dtype=torch.float64)
    mask = mask_of((length,), padded)
    after = shift_pointer(before, torch.tensor([l], dtype=torch.float64), mask)
    torch.testing.assert_close(after, torch.tensor([expected], dtype=torch.float64))
    assert (after >= 0).all()
    assert not after[~mask].any()
    assert after.sum().item() == pytest.approx(1.0)


@examples(pointers(), st.booleans())
def test_shifts_that_would_leave_the_list_count_as_staying(
    case: tuple[list[float], list[float], int], one_hot: bool
) -> None:
    """The same pointer follows, and chances stay chances."""
    p, l, padded = case  # noqa: E741
    length = len(p)
    if one_hot:
        p = [float(k == p.index(max(p))) for k in range(length)]
    before = torch.tensor([p + [0.0] * (padded - length)])
    mask, shift = mask_of((length,), padded), torch.tensor([l])
    folded = within_list(shift, before, mask)
    assert (folded >= 0).all()
    assert folded.sum().item() == pytest.approx(1.0, abs=1e-6)
    if one_hot:
        at = p.index(1.0)
        assert folded[0, 0] == (0 if at == 0 else shift[0, 0])
        assert folded[0, 2] == (0 if at == length - 1 else shift[0, 2])
        moved = shift_pointer(before, shift, mask), shift_pointer(before, folded, mask)
        torch.testing.assert_close(*moved)


@pytest.mark.parametrize("soft", [True, False])
def test_pointer_stays_a_distribution_over_the_list(meta: MetaController, soft: bool) -> None:
    state, random = meta.initial_state(COUNT, LONGEST), generator()
    for t in range(12):
        step = given(meta.network, finished=(t % 3,), begins=(0, 1, 2) if t == 0 else (), seed=t)
        thought, state = meta.step(step, state, soft=soft, random=random)
        assert (thought.pointer >= 0).all()
        assert not thought.pointer[~step.mask].any()
        torch.testing.assert_close(thought.pointer.sum(1), torch.ones(COUNT))
        assert torch.equal(thought.pointer, state.p)
        torch.testing.assert_close(thought.shift.sum(1), torch.ones(COUNT))
        if not soft:
            assert set(thought.pointer.unique().tolist()) <= {0.0, 1.0}


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
            thought, state = meta.step(step, state, soft=soft)
        step = step._replace(begins=flags(count=1))
        at = min(max(at + shift * (t > 0), 0), 99)
        assert thought.pointer[0].argmax() == at
        assert thought.pointer[0, at] == 1
        assert torch.isfinite(thought.value).all()


def test_a_list_of_one_has_nowhere_to_go() -> None:
    meta = randomised(SMALL)
    mask = mask_of((1,), 1)
    state = meta.initial_state(1, 1)
    for t in range(5):
        step = given(SMALL, begins=(0,) if t == 0 else (), seed=t, mask=mask)
        thought, state = meta.step(step, state, soft=True, random=generator())
        assert thought.pointer.item() == pytest.approx(1.0)


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
            thought, states[k] = meta.step(
                step._replace(bags=bags),
                states[k],
                soft=soft,
                random=torch.Generator().manual_seed(t),
            )
            told.append(thought)
        assert_equal(parts(told[0]), parts(told[1]))
        assert_equal(states[0], states[1])


def test_more_padding_changes_nothing() -> None:
    meta = randomised(SMALL)
    state, step = carried(meta), given(SMALL, finished=(1,))
    more = 5
    wide_state = state._replace(p=torch.nn.functional.pad(state.p, (0, more)))
    wide = step._replace(
        bags=torch.nn.functional.pad(step.bags, (0, 0, 0, more)),
        mask=torch.nn.functional.pad(step.mask, (0, more)),
    )
    choice = decided(meta, True, 1)
    thought, _ = meta.step(step, state, soft=True, decided=choice)
    other, _ = meta.step(wide, wide_state, soft=True, decided=choice)
    torch.testing.assert_close(other.pointer[:, :LONGEST], thought.pointer)
    assert not other.pointer[:, LONGEST:].any()
    torch.testing.assert_close(other.log_probability, thought.log_probability)
    torch.testing.assert_close(other.value, thought.value)


# Gates


def run(
    meta: MetaController, steps: int, *, soft: bool
) -> list[tuple[MetaInput, Thought, MetaState]]:
    """What was given at each step, and the thought and the state that it led to."""
    state, random = carried(meta, soft=soft), generator()
    told = []
    for t in range(steps):
        finished = ((t // 2) % 3,) if t % 2 else ()
        step = given(meta.network, finished=finished, begins=(1,) if t == 5 else (), seed=t)
        thought, state = meta.step(step, state, soft=soft, random=random)
        told.append((step, thought, state))
    return told


@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("form", ["long", "short", "flat", "block, flat"])
def test_fixed_gates_open_when_they_should(form: str, soft: bool) -> None:
    """Long: when a subtask is finished and as an episode begins. Short and Flat: always."""
    for step, thought, _ in run(randomised(FORMS[form]), 10, soft=soft):
        due = step.finished | step.begins if form == "long" else torch.ones(COUNT, dtype=torch.bool)
        assert torch.equal(thought.decision.c, due)
        assert torch.equal(thought.update, due.float())


@pytest.mark.parametrize("soft", [True, False])
def test_while_the_gate_is_closed_everything_stays(soft: bool) -> None:
    meta = randomised(FORMS["long"])
    before = carried(meta, soft=soft)
    opened = 0
    for step, thought, state in run(meta, 12, soft=soft):
        closed = (~thought.decision.c).nonzero()[:, 0].tolist()
        assert_equal(before, state, *closed)
        free = thought.decision.c & ~step.begins
        opened += int((state.h != before.h).any(1)[free].sum())
        before = state
    assert opened


def test_an_episode_begins_with_an_update_on_the_first_instruction() -> None:
    """Even if the gate would rather stay closed and the pointer move."""
    meta = randomised(SMALL)
    certain(meta, c=False, shift=1)
    step = given(SMALL, begins=(1,), finished=(1, 2))
    thought, _ = meta.step(step, carried(meta), soft=False, random=generator())
    assert thought.decision.c.tolist() == [False, True, False]
    assert thought.pointer[1].tolist() == [1, 0, 0, 0]
    assert thought.shift[1].tolist() == [0, 1, 0]
    thought, _ = meta.step(step, carried(meta), soft=True, random=generator())
    assert thought.update.tolist() == [0, 1, 0]


@pytest.mark.parametrize("soft", [True, False])
def test_a_step_that_begins_ignores_the_state(meta: MetaController, soft: bool) -> None:
    """World 1 begins in the middle of a batch; the others go on."""
    step, choice = given(meta.network, begins=(1,)), decided(meta, True, 0)
    one = meta.step(step, carried(meta, seed=3), soft=soft, decided=choice)
    other = meta.step(step, carried(meta, seed=4), soft=soft, decided=choice)
    assert_equal(parts(one[0]), parts(other[0]), 1)
    assert_equal(one[1], other[1], 1)
    for world in (0, 2):
        assert not torch.equal(one[0].value[world], other[0].value[world])
    fresh = meta.step(step, meta.initial_state(COUNT, LONGEST), soft=soft, decided=choice)
    assert_equal(parts(one[0]), parts(fresh[0]), 1)
    assert_equal(one[1], fresh[1], 1)
    finished = step._replace(finished=flags(1))
    again = meta.step(finished, carried(meta, seed=3), soft=soft, decided=choice)
    assert_equal(parts(one[0]), parts(again[0]))


def test_the_state_keeps_its_shapes(meta: MetaController) -> None:
    start = meta.initial_state(COUNT, LONGEST)
    step = given(meta.network, begins=(0, 1, 2))
    _, state = meta.step(step, start, soft=True, random=generator())
    for name, before, after in zip(MetaState._fields, start, state, strict=True):
        assert (before.shape, before.dtype) == (after.shape, after.dtype), name


def about(network: MetaNetwork, named: int, *, last: int) -> tuple[MetaInput, MetaState]:
    """One world whose list names one object, after a subtask about an object."""
    torch.manual_seed(0)
    mask = mask_of((2,), 2)
    first_name = network.words - network.objects
    bags = bags_of_words(torch.tensor([[[1, first_name + named]] * 2]), network.words)
    step, state = given(network, mask=mask), carried(MetaController(network), mask, soft=False)
    return step._replace(bags=bags), state._replace(g=torch.tensor([[0, last]]))


def test_the_head_start_goes_on_while_a_subtask_runs_and_moves_on_when_it_is_finished() -> None:
    torch.manual_seed(0)
    meta = MetaController(SMALL).eval()
    step, state = about(SMALL, 4, last=4)
    running, _ = meta.step(step, state, soft=True)
    ended, _ = meta.step(step._replace(finished=~step.finished), state, soft=True)
    assert running.update < 0.5
    assert ended.update > 0.5
    assert running.shift.argmax() == STAY
    assert ended.shift[0, STAY + 1] > running.shift[0, STAY + 1] + 0.2
    plain = MetaController(replace(SMALL, head_start=False))
    assert not plain.update_start.any()
    assert not plain.shift_start.any()


def test_the_head_start_stays_when_something_else_was_finished() -> None:
    torch.manual_seed(0)
    meta = MetaController(SMALL).eval()
    step, state = about(SMALL, 4, last=5)
    ended, _ = meta.step(step._replace(finished=~step.finished), state, soft=True)
    assert ended.update > 0.5
    assert ended.shift[0, STAY] > 0.8


def test_a_verb_never_trained_with_an_object_is_chosen_all_the_same() -> None:
    # The verb word decides alone: whatever is seen, and whichever object is named.
    torch.manual_seed(0)
    meta = MetaController(SMALL).eval()
    with torch.no_grad():
        meta.words.zero_()
        meta.named_verb.weight.zero_()
        meta.words[1, 0] = 1.0
        meta.named_verb.weight[2, 0] = CERTAIN
        meta.named_object.bias.fill_(CERTAIN)
    for named in range(SMALL.objects):
        step, state = about(SMALL, named, last=0)
        thought, _ = meta.step(step._replace(begins=~step.begins), state, soft=False)
        assert thought.decision.g.tolist() == [[2, named]]


@pytest.mark.parametrize(("named", "told"), [(4, (1, 1, 1)), (5, (1, 0, 0)), (6, (0, 0, 0))])
def test_it_is_told_whether_what_is_named_is_there_near_and_at_work_on(
    named: int, told: tuple[int, ...]
) -> None:
    image = torch.zeros(1, 3 + SMALL.objects, 10, 10)
    image[0, 0, 1, 1] = 1  # the agent
    image[0, 3 + 4, 1, 2] = image[0, 3 + 5, 8, 8] = 1
    meta = MetaController(SMALL)
    step, state = about(SMALL, named, last=4)
    names = meta._named(step.bags[:, 0])
    kinds = kinds_in_sight(image, SMALL.near)
    condition = torch.zeros(1, SMALL.condition)
    known = meta._told(condition, kinds, names, meta._as_told(names, state.g))
    assert tuple(known[0, SMALL.condition :].tolist()) == told


# Soft and hard updates


@pytest.mark.parametrize(("c", "shift"), list(product([False, True], SHIFTS)))
@pytest.mark.parametrize("form", ["dynamic", "paper", "hierarchical", "tallying", "block"])
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


@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("form", ["dynamic", "long", "short", "hierarchical", "tallying"])
def test_steps_are_algorithm_2(form: str, soft: bool) -> None:
    """Six steps against the paper's lines on plain lists, the pointers' padding cut off."""
    meta = randomised(FORMS[form]).double()
    network, mask = meta.network, mask_of()
    tokens = tokens_of(network, mask)
    twins = [SlowUpdater(meta) for _ in LENGTHS]
    state, random = doubled(meta.initial_state(COUNT, LONGEST)), generator()
    for t in range(6):
        begins = {0: (0, 1, 2), 3: (1,)}.get(t, ())
        step = doubled(given(network, finished=(t % 3, 1), begins=begins, seed=t))
        thought, state = meta.step(step, state, soft=soft, random=random)
        for world, (length, twin) in enumerate(zip(LENGTHS, twins, strict=True)):
            if world in begins:
                twin.begin(tokens[world, :length].tolist())
            drawn = bool(thought.decision.c[world]), int(thought.decision.shift[world])
            expected = twin.step(
                step.image[world],
                bool(step.finished[world]),
                thought.decision.g[world].tolist(),
                None if soft else drawn,
            )
            assert thought.update[world].item() == pytest.approx(expected.c)
            assert thought.shift[world].tolist() == pytest.approx(expected.l)
            assert thought.pointer[world, :length].tolist() == pytest.approx(expected.p)
            retrieved = meta.retrieve(step.bags, state.p)[world]
            assert retrieved.tolist() == pytest.approx(expected.r)
            assert state.h[world].tolist() == pytest.approx(expected.h)
            assert thought.log_probability[world].item() == pytest.approx(expected.log_probability)
            assert thought.value[world].item() == pytest.approx(expected.value)


def test_the_baseline_does_not_know_what_is_decided() -> None:
    """A baseline that changes with the drawn gate and shift would take the credit for them."""
    meta = randomised(SMALL)
    step, state = given(SMALL, finished=(0, 2)), carried(meta, soft=False)
    choices = product([False, True], SHIFTS, [3, 4])
    thoughts = [
        meta.step(step, state, soft=False, decided=decided(meta, c, shift, seed))[0]
        for c, shift, seed in choices
    ]
    assert len({tuple(thought.pointer.flatten().tolist()) for thought in thoughts}) == 3
    for thought in thoughts:
        assert torch.equal(thought.value, thoughts[0].value)


TINY = replace(SMALL, verbs=2, objects=2, actions=3, slots=2, head_start=False)
TINY_FORMS = {
    "dynamic": TINY,
    "long": replace(TINY, gate="at-termination"),
    "short": replace(TINY, gate="every-step"),
    "flat": replace(TINY, gate="every-step", flat=True),
}


def repeated(values: tuple[Tensor, ...], world: int, times: int) -> list[Tensor]:
    return [value[[world] * times] for value in values]


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
        return (
            MetaInput(*repeated(step, world, times)),
            MetaState(*repeated(state, world, times)),
        )

    draws = 4000
    with torch.no_grad():
        thought, _ = meta.step(*batch(len(cases)), soft=soft, decided=choice)
        drawn, _ = meta.step(*batch(draws), soft=soft, random=generator())
    chances = possible(thought, cases, soft=soft)
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
    thought: Thought, cases: list[tuple[bool, int, tuple[int, ...]]], *, soft: bool
) -> list[float]:
    """Chances of the cases. What the gate or a beginning rules out is never drawn: it has none."""
    chances = thought.log_probability.exp().tolist()
    if soft:
        return chances
    update, shift = thought.update.tolist(), thought.shift.tolist()
    return [
        chance * ((update[k] > 0 and shift[k][shifted] > 0) if c else update[k] < 1)
        for k, (chance, (c, shifted, _)) in enumerate(zip(chances, cases, strict=True))
    ]


def test_without_an_update_the_shift_costs_nothing_and_the_subtask_is_kept() -> None:
    meta = randomised(SMALL)
    step, state = given(SMALL), carried(meta)
    told = []
    for shift in SHIFTS:
        choice = decided(meta, False, shift)._replace(g=state.g)
        thought, after = meta.step(step, state, soft=False, decided=choice)
        torch.testing.assert_close(thought.log_probability, torch.log(1 - thought.update))
        assert_equal((state.p, state.h, state.g), (after.p, after.h, after.g))
        told.append(thought)
    assert_equal(unchosen(told[0])[1:], unchosen(told[1])[1:])
    assert torch.equal(told[0].log_probability, told[2].log_probability)
    another = decided(meta, False, 0)._replace(g=(state.g + 1) % 3)
    thought, _ = meta.step(step, state, soft=False, decided=another)
    assert (thought.log_probability < -15).all()  # as good as impossible


def test_without_random_numbers_the_likeliest_is_taken(meta: MetaController) -> None:
    step, state = given(meta.network, finished=(0,)), carried(meta)
    thought, after = meta.step(step, state, soft=False)
    assert torch.equal(thought.decision.c, thought.update > 0.5)
    assert torch.equal(thought.decision.shift, thought.shift.argmax(1))
    again, _ = meta.step(step, state, soft=False, decided=thought.decision)
    assert_equal(parts(thought), parts(again))
    closed = (~thought.decision.c).nonzero()[:, 0].tolist()
    assert torch.equal(after.g[closed], state.g[closed])


def test_draws_follow_the_probabilities() -> None:
    chances = torch.tensor([0.5, 0.0, 0.3, 0.2])
    drawn = draw(chances.expand(20_000, 4), generator())
    shares = (torch.bincount(drawn, minlength=4) / len(drawn)).tolist()
    assert shares == pytest.approx(chances.tolist(), abs=0.02)
    assert draw(chances[None], None).item() == 0


@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("form", ["dynamic", "paper", "flat", "block"])
def test_gradients_of_a_step(form: str, soft: bool) -> None:
    """Along a random direction of every parameter and of what is carried: a tiny step each way."""
    meta = randomised(FORMS[form]).double()
    if meta.network.world == "grid":
        assert isinstance(meta.conv1, PredictedConv)
        meta.conv1.bias.data.normal_()  # at 0, where it starts, empty cells are at the ReLU's kink
    step, state = doubled(given(meta.network, finished=(0,), begins=(1,))), doubled(carried(meta))
    choice = decided(meta, True, 1)
    if not soft:  # world 2 goes on with its subtask
        choice = choice._replace(c=flags(0, 1))
        choice = choice._replace(g=torch.where(choice.c[:, None], choice.g, state.g))
    inputs = {name: getattr(state, name).requires_grad_() for name in ("p", "h")}
    inputs |= dict(meta.named_parameters())
    random = torch.Generator().manual_seed(5)

    def outcome() -> Tensor:
        """Everything that learning looks at and that is carried on, each with its own weight."""
        thought, after = meta.step(step, state, soft=soft, decided=choice)
        told = thought.log_probability, thought.value, thought.update, thought.shift
        shares = torch.Generator().manual_seed(6)
        return torch.stack(
            [
                (part * torch.randn(part.shape, generator=shares, dtype=part.dtype)).sum()
                for part in (*told, after.p, after.h)
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


# Forms


@pytest.mark.parametrize("network", [SMALL, BLOCK], ids=["grid", "block"])
def test_low_units_update_at_every_step_and_high_ones_with_the_gate(network: MetaNetwork) -> None:
    low = 3
    meta, plain = (randomised(replace(network, low=units)) for units in (low, 0))
    step, state = given(network), carried(plain)
    _, new = plain.step(step, state, soft=False, decided=decided(plain, True, 0))
    for name in ("h", "cell") if network.world == "block" else ("h",):
        old, updated = getattr(state, name), getattr(new, name)
        for c in (False, True):
            _, after = meta.step(step, state, soft=False, decided=decided(meta, c, 0))
            assert torch.equal(getattr(after, name)[:, :low], updated[:, :low])
            assert torch.equal(getattr(after, name)[:, low:], (updated if c else old)[:, low:])
        _, closed = plain.step(step, state, soft=False, decided=decided(plain, False, 0))
        assert torch.equal(getattr(closed, name), old)


def test_the_block_worlds_context_is_an_lstm_and_the_grids_has_no_memory() -> None:
    for network, remembers in ((BLOCK, True), (SMALL, False)):
        meta = randomised(network)
        with torch.no_grad():
            meta.update.weight *= 0.1  # louder, the gate is nothing but open or closed
        assert isinstance(meta.context, FactorisedLSTM) == remembers
        step, state = given(network), carried(meta)
        other = state._replace(h=state.h.flip(0), cell=state.cell.flip(0))
        shift, moved = (meta.step(step, s, soft=True)[0].shift for s in (state, other))
        assert torch.equal(shift, moved) != remembers
        gate, changed = (meta.step(step, s, soft=True)[0].update for s in (state, other))
        assert not torch.equal(gate, changed)  # which looks at h_(t-1) in both worlds


def test_flat_sees_the_last_two_observations_and_remembers_no_subtask() -> None:
    meta = randomised(FORMS["flat"])
    step, state = given(meta.network, begins=(1,)), carried(meta)
    choice = decided(meta, True, 0)
    thought, after = meta.step(step, state, soft=True, decided=choice)
    assert thought.decision.g.shape == (COUNT, 1)
    assert torch.equal(after.seen, step.image)
    assert after.seen.data_ptr() != step.image.data_ptr()
    elsewhere = state._replace(seen=images_of(meta.network, COUNT, 99))
    changed, _ = meta.step(step, elsewhere, soft=True, decided=choice)
    assert (thought.value != changed.value).tolist() == [True, False, True]
    acted = state._replace(g=(state.g + 1) % meta.network.actions)
    again, _ = meta.step(step, acted, soft=True, decided=choice)
    assert_equal(parts(thought), parts(again))


@pytest.mark.parametrize("what", ["image", "finished", "bags", "g", "p"])
def test_everything_that_is_read_makes_a_difference(what: str) -> None:
    meta = randomised(SMALL)
    step, state = given(SMALL), carried(meta)
    thought, _ = meta.step(step, state, soft=True, decided=decided(meta, True, 0))
    if what in MetaInput._fields:
        value = getattr(step, what)
        step = step._replace(**{what: ~value if what == "finished" else value.flip(0)})
    else:
        state = state._replace(**{what: getattr(state, what).flip(0)})
    other, _ = meta.step(step, state, soft=True, decided=decided(meta, True, 0))
    assert not torch.equal(thought.log_probability, other.log_probability)
    assert not torch.equal(thought.value, other.value)


def test_the_baseline_knows_what_was_retrieved_before_and_not_what_is_decided(
    meta: MetaController,
) -> None:
    step, state = given(meta.network), carried(meta, soft=False)
    thoughts = [
        meta.step(step, state, soft=False, decided=decided(meta, c, shift))[0]
        for c, shift in ((True, -1), (True, 1), (False, 0))
    ]
    assert not torch.equal(thoughts[0].pointer, thoughts[1].pointer)
    assert torch.equal(thoughts[0].value, thoughts[1].value)
    assert torch.equal(thoughts[0].value, thoughts[2].value)


def test_noise_comes_while_training_alone(meta: MetaController) -> None:
    step, state, choice = given(meta.network), carried(meta), decided(meta, True, 0)

    def value() -> Tensor:
        return meta.step(step, state, soft=True, decided=choice)[0].value

    quiet = value()
    assert torch.equal(quiet, value())
    meta.train()
    assert not torch.equal(quiet, value())


@pytest.mark.parametrize("preset", ["fast", "paper", "debug"])
@pytest.mark.parametrize("agent", designs())
@pytest.mark.parametrize("world", ["grid", "block"])
def test_every_preset_fits_its_world(world: World, agent: str, preset: Preset) -> None:
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
        if network.eyes == "skill" or network.maps:
            skill = build_skill(skill_training(world, "independent", preset).network)
            nothing = torch.zeros(2, dtype=torch.int64)
            shown, _ = skill.look(shown, nothing, every, skill.initial_sight(2))
            shown = skill.see(shown)
        step = MetaInput(shown, bags, torch.from_numpy(worlds.mask), ~every, every)
        thought, state = meta.step(step, meta.initial_state(2, 4), soft=False, random=generator())
        thought, _ = meta.step(step._replace(begins=~every), state, soft=False, random=generator())
    assert network.flat == (agent == "flat")
    assert network.parameters == ((worlds.actions,) if agent == "flat" else (3, len(spec.objects)))
    assert torch.isfinite(thought.log_probability).all()
