"""Hints: what each adds to the paper's meta controller, and that nothing else is added."""

import json
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from errands.agents.deciding import Decision
from errands.agents.eyes import GridEyes
from errands.agents.fast_hints import FAST_HINTS, GRID_HINTS
from errands.agents.hint import Moment
from errands.agents.hints import (
    HINTS,
    Bookmark,
    Briefing,
    Leftover,
    Pursuit,
    named_hints,
    without_hints,
)
from errands.agents.instructions import STAY, bags_of_words
from errands.agents.memory import each
from errands.agents.meta import MetaController, MetaInput, MetaNetwork, MetaState
from errands.presets import meta_training
from twins.meta import (
    BLOCK,
    CERTAIN,
    MAP,
    PAPER,
    SMALL,
    carried,
    decided,
    flat,
    given,
    mask_of,
    randomised,
    replaced,
    without,
)

EYES = GridEyes(10, SMALL.objects, SMALL.near)


def about(network: MetaNetwork, named: int, *, last: int) -> tuple[MetaInput, MetaState]:
    """One world whose list names one object, after a subtask about an object."""
    torch.manual_seed(0)
    mask = mask_of((2,), 2)
    first_name = network.words - network.objects
    bags = bags_of_words(torch.tensor([[[1, first_name + named]] * 2]), network.words)
    step, state = given(network, mask=mask), carried(MetaController(network), mask, soft=False)
    return step._replace(bags=bags), replaced(state, g=torch.tensor([[0, last]]))


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
        meta.words[1, 0] = 1.0
        grounding: Any = meta.hints["grounding"]
        grounding.named_verb.weight.zero_()
        grounding.named_verb.weight[2, 0] = CERTAIN
        grounding.named_object.bias.fill_(CERTAIN)
    for named in range(SMALL.objects):
        step, state = about(SMALL, named, last=0)
        output, _ = meta.step(step._replace(begins=~step.begins), state, soft=False)
        assert output.decision.g.tolist() == [[2, named]]


def moment_of(thing: int, *, last: int, begins: bool = False) -> Moment:
    """The instruction is about `thing`, the last subtask about `last`.

    Object 4 is next to the agent, object 5 far from it, and object 6 is not there.
    """
    image = torch.zeros(1, 3 + SMALL.objects, 10, 10)
    image[0, 0, 1, 1] = 1  # the agent
    image[0, 3 + 4, 1, 2] = image[0, 3 + 5, 8, 8] = 1
    step, state = about(SMALL, thing, last=last)
    return Moment(
        begins=torch.tensor([begins]),
        keep=torch.full((1, 1), float(not begins)),
        b=torch.zeros(1),
        g=state.carried.g,
        words=step.bags[:, 0],
        r=torch.zeros(1, SMALL.sentence),
        condition=torch.zeros(1, SMALL.condition),
        kinds=EYES.kinds(EYES(image)),
    )


@pytest.mark.parametrize(("thing", "facts"), [(4, (1, 1, 1)), (5, (1, 0, 0)), (6, (0, 0, 0))])
def test_the_briefing_says_what_is_there_close_and_worked_on(
    thing: int, facts: tuple[int, ...]
) -> None:
    briefing = Briefing(SMALL, eyes=EYES, named=True)
    with torch.no_grad():  # pass on what is read
        briefing.layer.weight.copy_(torch.eye(*briefing.layer.weight.shape).flip(1))
        briefing.layer.bias.zero_()
    told = briefing.to_context(moment_of(thing, last=4))
    assert tuple(told[0, :3].flip(0).tolist()) == facts


@pytest.mark.parametrize(("last", "is_there"), [(4, True), (5, True), (6, False)])
def test_pursuit_ends_where_what_is_hunted_is_no_longer_there(last: int, is_there: bool) -> None:
    pursuit = Pursuit(SMALL, eyes=EYES)
    assert pursuit.opens(moment_of(7, last=last)).tolist() == [not is_there]
    # It does not concern what the instruction asks for, nor the start of an episode.
    assert pursuit.opens(moment_of(last, last=last)).tolist() == [False]
    assert pursuit.opens(moment_of(7, last=last, begins=True)).tolist() == [False]


@pytest.mark.parametrize(
    ("last", "ended", "may_move"),
    [(4, True, True), (4, False, False), (5, True, False), (5, False, False)],
)
def test_a_bookmark_stays_until_a_subtask_about_the_instruction_is_finished(
    last: int, ended: bool, may_move: bool
) -> None:
    bookmark = Bookmark(SMALL)
    moment = moment_of(4, last=last)._replace(b=torch.tensor([float(ended)]))
    logits = torch.tensor([[0.5, -2.0, 3.0]], requires_grad=True)
    changed = torch.softmax(bookmark.shift_logits(logits, moment, ()), dim=1)
    stays = torch.tensor([[0.0, 1.0, 0.0]])
    expected = torch.softmax(logits, dim=1) if may_move else stays
    torch.testing.assert_close(changed, expected)
    changed[0, 2].backward()
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()
    assert bool(logits.grad.any()) == may_move


def test_promptness_leaves_the_gate_no_choice_where_a_subtask_has_terminated() -> None:
    """It opens, and neither its log-probability nor its entropy counts, nor is it penalised."""
    network = without(SMALL, "head-start")
    plain = randomised(network)
    prompt = randomised(replace(network, hints=dict(network.hints) | named_hints(["promptness"])))
    prompt.load_state_dict(plain.state_dict())
    step, choice = given(SMALL, finished=(0, 2)), decided(plain, True, 0)
    state = carried(prompt, soft=False)
    before, _ = plain.step(step, carried(plain, soft=False), soft=False, decided=choice)
    after, _ = prompt.step(step, state, soft=False, decided=choice)
    assert after.update.tolist() == [1, before.update[1].item(), 1]
    assert after.free.tolist() == [False, True, False]
    cost = torch.log(before.update)
    saved = torch.where(step.finished, cost, 0.0)
    torch.testing.assert_close(after.log_probability, before.log_probability - saved)
    assert torch.equal(after.entropy < before.entropy, step.finished)
    for soft in (True, False):
        output, _ = prompt.step(step, state, soft=soft, random=torch.Generator().manual_seed(0))
        assert output.decision.c[[0, 2]].all()


@pytest.mark.parametrize(("thing", "is_left"), [(4, True), (5, True), (6, False)])
def test_the_leftover_tells_the_shift_whether_anything_named_is_left(
    thing: int, is_left: bool
) -> None:
    """Words that name no object have a number for each case; objects have none."""
    leftover = Leftover(SMALL, eyes=EYES, scale=10.0)
    names = SMALL.words - SMALL.objects
    moment = moment_of(thing, last=thing)
    word = int(moment.words[0, :names].argmax())
    with torch.no_grad():
        leftover.enough.weight[STAY, word] = 0.3
        leftover.enough.weight[STAY + 1, names + word] = 0.2
    added = leftover.shift_logits(torch.zeros(1, 3), moment, ())
    expected = [[0.0, 3.0, 0.0]] if is_left else [[0.0, 0.0, 2.0]]
    torch.testing.assert_close(added, torch.tensor(expected))
    assert leftover.enough.in_features == 2 * names


def test_with_focus_the_shift_does_not_read_what_is_in_sight() -> None:
    """Other pictures, the same instruction and tally: the same chances of the shifts."""
    network = without(MAP, "bookmark")
    step = given(network, finished=(0, 2))
    other = step._replace(seen=torch.randint_like(step.seen, 0, 255))
    for name, is_same in (("focus", True), ("", False)):
        meta = randomised(network if name else without(network, "focus"))
        state = meta.initial_state(*step.mask.shape)
        begun = step._replace(begins=torch.zeros_like(step.begins))
        shifts = [
            meta.step(now._replace(begins=begun.begins), state, soft=False)[0].shift
            for now in (step, other)
        ]
        assert torch.equal(*shifts) == is_same


def finishing(meta: MetaController, times: int, *, of: int, thing: int) -> list[Tensor]:
    """Chances of the shifts while a subtask about `of` is finished again and again."""
    step, state = about(meta.network, thing, last=of)
    state = replaced(state, p=torch.tensor([[1.0, 0.0]]))
    state = state._replace(hints=each(torch.zeros_like, state.hints))
    shifts = []
    for _ in range(times):
        output, after = meta.step(
            step._replace(finished=~step.finished),
            state,
            soft=False,
            decided=Decision(torch.tensor([True]), torch.tensor([STAY]), state.carried.g),
        )
        shifts.append(output.shift[0])
        state = state._replace(hints=after.hints)
    return shifts


def test_the_tally_counts_what_was_done_since_the_pointer_moved() -> None:
    network = replace(SMALL, hints=named_hints(["tally"]))
    torch.manual_seed(0)
    meta = MetaController(network).eval()
    tally: Any = meta.hints["tally"]
    with torch.no_grad():  # after the third time, move on
        tally.enough.weight[2].view(network.words, 3)[1, 2] = CERTAIN
    assert [int(s.argmax()) == 2 for s in finishing(meta, 4, of=4, thing=4)] == [0, 0, 1, 1]
    assert not any(int(s.argmax()) == 2 for s in finishing(meta, 4, of=5, thing=4))
    step, state = about(network, 4, last=4)
    state = state._replace(hints=each(lambda item: torch.full_like(item, 2.0), state.hints))
    moved = Decision(torch.tensor([True]), torch.tensor([STAY + 1]), state.carried.g)
    start = replaced(state, p=torch.tensor([[1.0, 0.0]]))
    _, after = meta.step(step, start, soft=False, decided=moved)
    assert after.hints[0][0].item() == 0
    _, after = meta.step(step, start, soft=False, decided=moved._replace(c=torch.tensor([False])))
    assert after.hints[0][0].item() == 2


# What hints are


@pytest.mark.parametrize("world", ["grid", "block"])
def test_the_paper_preset_has_no_hints_and_fast_names_its_own(world: Any) -> None:
    assert meta_training(world, "dynamic", "paper").network.hints == {}
    paper = meta_training(world, "dynamic", "paper").network
    follows = {name: getattr(paper, name) for name in ("world", "words", "objects", "actions")}
    assert paper == MetaNetwork(**follows)
    assert tuple(meta_training(world, "dynamic").network.hints) == FAST_HINTS[world, False]
    for numbers in meta_training(world, "dynamic").network.hints.values():
        assert json.loads(json.dumps(numbers)) == numbers


def test_without_hints_only_the_papers_parameters_are_left() -> None:
    parts = {name.split(".")[0] for name, _ in MetaController(PAPER).named_parameters()}
    assert parts == {"words", "condition", "sight", "context", "updater", "baseline"}
    shapes = {k: tuple(v.shape) for k, v in MetaController(PAPER).updater.named_parameters()}
    hidden, sentence = PAPER.hidden, PAPER.sentence
    assert shapes["update.weight"] == (1, 2 * hidden)
    assert shapes["shift.0.weight"] == (hidden, hidden)
    assert shapes["goal_hidden.weight"] == (hidden, sentence + hidden)


CASES = [(network, name) for network in (SMALL, MAP, BLOCK) for name in network.hints]


@pytest.mark.parametrize(("network", "name"), CASES)
def test_each_hint_makes_a_difference_and_can_be_left_out(network: MetaNetwork, name: str) -> None:
    if "bookmark" in network.hints and name in ("reminder", "focus", "tally", "leftover"):
        network = without(network, "bookmark")  # which may hold the pointer here
    full, less = (randomised(n) for n in (network, without(network, name)))
    assert set(full.hints) - set(less.hints) == {name}
    kept = less.state_dict()
    for key, value in full.state_dict().items():  # the same weights, where they have the same size
        if key in kept and kept[key].shape == value.shape:
            kept[key].copy_(value)
    step = given(network, finished=(0, 2))
    if name == "leftover":  # what is said has words that name no object
        step = step._replace(bags=torch.ones_like(step.bags))
    if name == "pursuit":  # nothing is in sight, and nothing has ended
        nothing = torch.zeros_like(step.seen), torch.zeros_like(step.finished)
        step = step._replace(seen=nothing[0], finished=nothing[1])
    outputs = []
    for meta in (full, less):
        state = carried(meta, soft=False)
        if name == "tally":
            state = state._replace(hints=each(torch.ones_like, state.hints))
        outputs.append(meta.step(step, state, soft=False, decided=decided(meta, True, 1))[0])
    assert not torch.allclose(outputs[0].log_probability, outputs[1].log_probability)


def test_hints_to_leave_out_are_known_by_name() -> None:
    hints = named_hints(GRID_HINTS)
    assert set(without_hints(hints, ["glance", "reminder"])) == set(hints) - {"glance", "reminder"}
    with pytest.raises(ValueError, match="no hint 'glanse' to leave out; did you mean glance"):
        without_hints(hints, ["glanse"])
    with pytest.raises(ValueError, match="no hint 'tally' to leave out; expected"):
        without_hints(hints, ["tally"])
    with pytest.raises(ValueError, match="this agent has none"):
        without_hints({}, ["tally"])


@pytest.mark.parametrize(
    ("hints", "reason"),
    [
        ({"head-stat": {}}, "unknown hint 'head-stat'; did you mean head-start"),
        ({"tally": {}}, "the hint 'tally' has these numbers: most, scale, named"),
        ({"glance": {"near": 3}}, "the hint 'glance' has these numbers: none"),
        ({"glance": 3}, "the hint 'glance' has these numbers: none"),
        ({"tally": {"most": 2.5, "scale": 1.0, "named": True}}, "most of the hint 'tally' is 2.5"),
        ({"tally": {"most": 2, "scale": "x", "named": True}}, "scale of the hint 'tally' is 'x'"),
        ({"tally": {"most": 2, "scale": 1, "named": 1}}, "named of the hint 'tally' is 1"),
        ({"head-start": {"update": [1.0], "shift": [], "named": True}}, "update of the hint"),
    ],
)
def test_wrong_hints_are_refused_in_one_line(hints: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as refused:
        MetaController(replace(SMALL, hints=hints))
    assert "\n" not in str(refused.value)


def test_hints_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="'glance' needs eyes that tell kinds of object apart"):
        MetaController(replace(BLOCK, hints=named_hints(["glance"])))
    for name in ("grounding", "tally", "head-start", "leftover", "briefing", "sighting", "pursuit"):
        with pytest.raises(ValueError, match="a flat agent has no subtasks"):
            MetaController(replace(flat(SMALL), hints=named_hints([name])))


def test_every_hint_says_what_it_is_for() -> None:
    for name, hint in HINTS.items():
        summary, _, why = (hint.__doc__ or "").partition("\n\n")
        assert summary.endswith("."), name
        assert len(why) > 80, name
