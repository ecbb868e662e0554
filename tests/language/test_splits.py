"""The tables hold what the papers print, and every entry survives being printed and read."""

import itertools

import pytest

from errands.language.instruction import Instruction, parse_instruction, parse_instructions
from errands.language.splits import (
    SCENARIOS,
    TRAINED_COUNTS,
    VOCABULARIES,
    groups,
    instructions,
    subtasks,
    vocabulary_of,
)
from errands.language.vocabulary import ALL

WORLDS = tuple(VOCABULARIES)


@pytest.mark.parametrize(
    ("world", "scenario", "trained", "unseen"),
    [
        ("grid", "independent", 30, 15),
        ("grid", "object-dependent", 55, 5),
        ("grid", "inter-extrapolation", 45 * 3, 45 * 4),
        ("block", "independent", 12, 6),
        ("block", "object-dependent", 22, 2),
        ("block", "inter-extrapolation", 18 * 3, 18 * 4),
    ],
)
def test_subtasks_are_counted(world: str, scenario: str, trained: int, unseen: int) -> None:
    train, held_out, everything = (
        set(subtasks(world, scenario, split)) for split in ("train", "unseen", "all")
    )
    assert len(subtasks(world, scenario, "train")) == len(train) == trained
    assert len(subtasks(world, scenario, "unseen")) == len(held_out) == unseen
    assert not train & held_out
    assert train | held_out == everything
    validation = subtasks(world, scenario, "validation")
    assert len(set(validation)) == len(validation)
    assert set(validation) & train
    assert set(validation) & held_out
    assert set(validation) <= everything


@pytest.mark.parametrize(
    ("world", "trained", "unseen", "trained_without_all", "unseen_without_all"),
    [("grid", 47, 23, 28, 14), ("block", 24, 11, 24, 11)],
)
def test_instructions_are_counted(
    world: str, trained: int, unseen: int, trained_without_all: int, unseen_without_all: int
) -> None:
    train, held_out = set(instructions(world, "train")), set(instructions(world, "unseen"))
    assert len(instructions(world, "train")) == len(train) == trained
    assert len(instructions(world, "unseen")) == len(held_out) == unseen
    assert not train & held_out
    assert instructions(world, "seen") == instructions(world, "train")
    assert len(instructions(world, "train", with_all=False)) == trained_without_all
    assert len(instructions(world, "unseen", with_all=False)) == unseen_without_all
    validation = set(instructions(world, "validation"))
    assert len(validation) == 10
    assert validation <= train | held_out
    assert validation & train
    assert validation & held_out


def test_with_all_drops_nothing_else() -> None:
    kept = instructions("grid", "train", with_all=False)
    assert kept == tuple(i for i in instructions("grid", "train") if i.quantity != ALL)


@pytest.mark.parametrize("split", ["train", "unseen", "validation"])
def test_events_are_never_asked_for(split: str) -> None:
    assert "enemy" not in {instruction.object for instruction in instructions("grid", split)}
    block = {instruction.object for instruction in instructions("block", split)}
    assert block.isdisjoint({"box", "ice"})


def test_some_entries() -> None:
    assert Instruction("pick up", "cow") in subtasks("grid", "independent", "unseen")
    assert Instruction("visit", "box") in subtasks("grid", "independent", "unseen")
    assert Instruction("transform", "rock", ALL) in instructions("grid", "train")
    assert Instruction("transform", "wood", ALL) in instructions("grid", "unseen")
    assert Instruction("interact with", "cat") in subtasks("block", "object-dependent", "unseen")
    assert Instruction("visit", "greenbot") in subtasks("block", "independent", "unseen")
    assert Instruction("pick up", "sheep", 3) in instructions("block", "unseen")
    assert Instruction("transform", "cat", 2) in instructions("block", "train")


def test_instructions_repeat_trained_subtasks() -> None:
    """A trained instruction asks only for trained subtasks, however often."""
    for world in WORLDS:
        trained = set(subtasks(world, "independent", "train"))
        asked = {Instruction(i.verb, i.object) for i in instructions(world, "train")}
        assert asked <= trained


@pytest.mark.parametrize("world", WORLDS)
def test_groups_cover_the_scenario(world: str) -> None:
    verb_of = groups(world)
    everything = subtasks(world, "object-dependent", "all")
    assert set(verb_of) == {subtask.object for subtask in everything}
    assert set(verb_of.values()) == {"pick up", "transform"}
    sizes = [list(verb_of.values()).count(verb) for verb in ("pick up", "transform")]
    assert abs(sizes[0] - sizes[1]) <= 1
    for split in ("train", "unseen"):
        interacted = {
            verb_of[subtask.object]
            for subtask in subtasks(world, "object-dependent", split)
            if subtask.verb == "interact with"
        }
        assert interacted == {"pick up", "transform"}


def test_trained_counts() -> None:
    counts = {s.quantity for s in subtasks("block", "inter-extrapolation", "train")}
    assert counts == set(TRAINED_COUNTS) == {1, 3, 5}
    counts = {s.quantity for s in subtasks("block", "inter-extrapolation", "unseen")}
    assert counts == {2, 4, 6, 7}


@pytest.mark.parametrize("world", WORLDS)
def test_every_instruction_round_trips(world: str) -> None:
    vocabulary = vocabulary_of(world)
    listed = [i for split in ("train", "unseen", "validation") for i in instructions(world, split)]
    listed += [
        subtask
        for scenario, split in itertools.product(SCENARIOS[:2], ("all", "validation"))
        for subtask in subtasks(world, scenario, split)
    ]
    for instruction in listed:
        assert parse_instruction(str(instruction), vocabulary) == instruction
        assert parse_instruction(instruction.words(vocabulary).upper(), vocabulary) == instruction
        assert Instruction.from_code(instruction.code(vocabulary), vocabulary) == instruction
        assert vocabulary.carries(instruction.verb, instruction.quantity)
    joined = ", then ".join(map(str, listed))
    assert parse_instructions(joined, vocabulary) == listed


@pytest.mark.parametrize("world", WORLDS)
def test_counted_subtasks_are_read_as_lists(world: str) -> None:
    vocabulary = vocabulary_of(world)
    for subtask in subtasks(world, "inter-extrapolation", "all"):
        read = parse_instructions(str(subtask), vocabulary)
        assert {(i.verb, i.object) for i in read} == {(subtask.verb, subtask.object)}
        assert sum(i.quantity for i in read) == subtask.quantity
        assert Instruction.from_code(subtask.code(vocabulary), vocabulary) == subtask


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: subtasks("gird", "independent", "train"),
            "unknown world 'gird'; did you mean grid",
        ),
        (lambda: subtasks("grid", "dependent", "train"), "unknown scenario 'dependent'"),
        (
            lambda: subtasks("grid", "independent", "seen"),
            "unknown split 'seen'; did you mean unseen",
        ),
        (lambda: instructions("grid", "all"), "unknown split 'all'"),
        (lambda: instructions("", "train"), "expected one of grid, block"),
        (lambda: groups("blok"), "did you mean block"),
    ],
)
def test_bad_names(call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert len(str(caught.value).splitlines()) == 1
