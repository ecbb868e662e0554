"""Instructions as words, tokens and codes; and what happens to text that is not quite one."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from errands.language.instruction import (
    MAX_INSTRUCTIONS,
    Instruction,
    InstructionError,
    complete,
    encode,
    parse_instruction,
    parse_instructions,
)
from errands.language.splits import instructions
from errands.language.vocabulary import (
    ALL,
    BLOCK_VOCABULARY,
    GRID_VOCABULARY,
    VERBS,
    Vocabulary,
)

OWN_VOCABULARY = Vocabulary(
    objects=("red box", "blue box", "mouse", "box"),
    quantities=(1, 2, ALL),
    plurals={"mouse": "mice"},
)
ALL_VOCABULARIES = (GRID_VOCABULARY, BLOCK_VOCABULARY, OWN_VOCABULARY)


def read(text: str, vocabulary: Vocabulary = GRID_VOCABULARY) -> list[str]:
    return [str(instruction) for instruction in parse_instructions(text, vocabulary)]


def refused(text: str, vocabulary: Vocabulary = GRID_VOCABULARY) -> InstructionError:
    with pytest.raises(InstructionError) as caught:
        parse_instructions(text, vocabulary)
    check_error(caught.value, text)
    return caught.value


def check_error(error: InstructionError, text: str) -> None:
    assert len(str(error).splitlines()) == 1
    assert str(error).isprintable()
    assert 0 <= error.start <= error.end <= len(text)


@pytest.mark.parametrize(
    ("instruction", "words"),
    [
        (Instruction("visit", "pig"), "visit pig"),
        (Instruction("pick up", "sheep", 3), "pick up 3 sheep"),
        (Instruction("transform", "cow", ALL), "transform all cows"),
        (Instruction("pick up", "candy", 2), "pick up 2 candies"),
        (Instruction("transform", "enemy", ALL), "transform all enemies"),
        (Instruction("interact with", "box", ALL), "interact with all boxes"),
        (Instruction("pick up", "milk", ALL), "pick up all milk"),
        (Instruction("visit", "box"), "visit box"),
    ],
)
def test_words(instruction: Instruction, words: str) -> None:
    assert str(instruction) == words


def test_own_plurals() -> None:
    instruction = Instruction("pick up", "mouse", ALL)
    assert instruction.words(OWN_VOCABULARY) == "pick up all mice"
    assert parse_instruction("pick up all mice", OWN_VOCABULARY) == instruction
    assert parse_instruction(str(instruction), OWN_VOCABULARY) == instruction


def test_codes_and_tokens() -> None:
    instruction = Instruction("transform", "pig", ALL)
    assert instruction.code(GRID_VOCABULARY) == (2, 2, ALL)
    assert instruction.tokens(GRID_VOCABULARY) == (3, 5, 8)
    assert Instruction("visit", "cow").tokens(GRID_VOCABULARY) == (1, 0, 6)
    assert Instruction("pick up", "sheep", 3).tokens(BLOCK_VOCABULARY) == (2, 6, 8)
    assert Instruction("pick up", "sheep", 7).code(BLOCK_VOCABULARY) == (1, 1, 7)
    code = np.array([1, 1, 7], dtype=np.int16)
    assert Instruction.from_code(code, BLOCK_VOCABULARY) == Instruction("pick up", "sheep", 7)


def test_encode() -> None:
    listed = parse_instructions("visit cow, pick up all stones", GRID_VOCABULARY)
    codes, tokens = encode(listed, GRID_VOCABULARY)
    assert codes.dtype == np.int16
    assert tokens.dtype == np.int64
    assert codes.tolist() == [[0, 0, 1], [1, 14, 0]]
    assert tokens.tolist() == [[1, 0, 6], [2, 5, 20]]
    assert [part.shape for part in encode([], GRID_VOCABULARY)] == [(0, 3), (0, 3)]


def test_bad_records() -> None:
    with pytest.raises(ValueError, match="unknown verb 'vist'; did you mean visit"):
        Instruction("vist", "cow")
    with pytest.raises(ValueError, match="name of an object"):
        Instruction("visit", "")
    with pytest.raises(ValueError, match="count from 1, not -1"):
        Instruction("visit", "cow", -1)
    with pytest.raises(ValueError, match="outside this vocabulary"):
        Instruction.from_code((4, 0, 1), GRID_VOCABULARY)
    with pytest.raises(ValueError, match="unknown object 'sheep'"):
        Instruction("visit", "sheep").code(GRID_VOCABULARY)
    for instruction in (Instruction("pick up", "cow", 2), Instruction("visit", "cow", ALL)):
        with pytest.raises(ValueError, match="is not a single instruction of this world"):
            instruction.tokens(GRID_VOCABULARY)


@pytest.mark.parametrize(
    "text",
    [
        "visit pig, pick up cow, transform all boxes",
        "Visit the PIG then Pick Up a cow then Transform all the boxes.",
        "visit pig\npick up cow\r\ntransform all of the boxes\n",
        "visit pig; pick up one cow; and then transform all box",
        "visit a pig, then pick up 1 cow, and transform all boxes",
        "1. visit pig\n2. pick up cow\n3. transform all boxes",
        "1) visit pig\n2) pick up cow\n3) transform all boxes.",
        "- visit pig\n* pick up cow\n\u2022 transform all boxes",
        "Visit pig. Pick up cow. Transform all boxes...",
        "  then visit pig,, and,then pick up the cow \n\n and transform   all boxes , ",
        "visit pigs and pick up the cows and transform all the boxes",
    ],
)
def test_ways_to_write_a_list(text: str) -> None:
    assert read(text) == ["visit pig", "pick up cow", "transform all boxes"]


def test_counts_are_expanded() -> None:
    assert read("pick up 3 cows") == ["pick up cow"] * 3
    assert read("pick up three of the cows") == ["pick up cow"] * 3
    assert read("visit twenty pigs") == ["visit pig"] * 20
    assert read("pick up 3 pigs", BLOCK_VOCABULARY) == ["pick up 3 pigs"]
    assert read("pick up 5 pigs", BLOCK_VOCABULARY) == ["pick up 3 pigs", "pick up 2 pigs"]
    assert read("transform 007 cats", BLOCK_VOCABULARY) == [
        *("transform 3 cats", "transform 3 cats", "transform cat")
    ]
    assert read("visit 3 pigs", BLOCK_VOCABULARY) == ["visit pig"] * 3
    assert read("pick up 5 mice", OWN_VOCABULARY) == [
        *("pick up 2 mouses", "pick up 2 mouses", "pick up mouse")
    ]


def test_the_longest_list() -> None:
    assert len(read(f"visit {MAX_INSTRUCTIONS} cows")) == MAX_INSTRUCTIONS
    assert len(read("visit cow," * MAX_INSTRUCTIONS)) == MAX_INSTRUCTIONS
    assert len(read("pick up 3000 pigs", BLOCK_VOCABULARY)) == MAX_INSTRUCTIONS
    for text in (
        f"visit {MAX_INSTRUCTIONS + 1} cows",
        "visit 1" + "0" * 10_000 + " cows",
        "visit 600 cows, pick up 401 pigs",
        "visit cow," * (MAX_INSTRUCTIONS + 1),
        "pick up all cows," * (MAX_INSTRUCTIONS + 1),
        "visit 1000 cows, pick up all cows",
    ):
        assert "longer than 1000 instructions" in str(refused(text))


def test_names_of_several_words() -> None:
    assert read("visit the Red  Box, pick up all blue boxes, visit box", OWN_VOCABULARY) == [
        *("visit red box", "pick up all blue boxes", "visit box")
    ]
    error = refused("visit rde box", OWN_VOCABULARY)
    assert str(error).startswith("instruction 1, word 2: 'rde box' is not an object; did you mean")
    assert (error.start, error.end) == (6, 13)


@pytest.mark.parametrize(
    ("text", "blamed", "message"),
    [
        ("visit pgi", "pgi", "instruction 1, word 2: 'pgi' is not an object; did you mean pig?"),
        (
            "visit pig, pick up all cwos",
            "cwos",
            "instruction 2, word 4: 'cwos' is not an object; did you mean cows?",
        ),
        ("Vist pig", "Vist", "instruction 1, word 1: 'Vist' is not a verb; did you mean visit?"),
        ("pickup pig", "pickup", "'pickup' is not a verb; did you mean pick up?"),
        ("jump", "jump", "expected one of visit, pick up, transform, interact with"),
        ("pick the pig", "the", "word 2: 'the' after 'pick'; did you mean pick up?"),
        ("visit pig, pick", "pick", "instruction 2, word 1: 'pick' is unfinished"),
        ("visit", "visit", "word 1: an object is missing after 'visit', such as cow, enemy, pig"),
        ("pick up all", "all", "word 3: an object is missing after 'all'"),
        ("visit all pigs", "all", "'visit' takes no 'all'; name one object: 'visit cow'"),
        ("pick up 0 cows", "0", "word 3: '0' is not a count; expected a whole number from 1"),
        ("pick up zero cows", "zero", "'zero' is not a count"),
        ("pick up -2 cows", "-2", "'-2' is not a count"),
        ("pick up 2.5 cows", "2.5", "'2.5' is not a count"),
        ("visit pig pick up cow", "pick", "'pick' starts another instruction; put a comma"),
        ("visit pig now", "now", "word 3: 'now' was not expected after a whole instruction"),
        ("visit pig thn visit cow", "thn", "did you mean then?"),
        ("visit \x00\x1b[31m", "\x00\x1b[31m", r"'\x00\x1b[31m' is not an object"),
        ("visit \ud800", "\ud800", r"'\ud800' is not an object"),
        ("visit " + "x" * 5000, "x" * 5000, "x...' is not an object"),
    ],
)
def test_errors_name_the_word_and_its_place(text: str, blamed: str, message: str) -> None:
    error = refused(text)
    assert message in str(error)
    assert text[error.start : error.end] == blamed


def test_all_where_it_is_not_understood() -> None:
    error = refused("pick up all sheep", BLOCK_VOCABULARY)
    assert "'all' is not understood in this world; give a count such as 2 or 3" in str(error)
    assert (error.start, error.end) == (8, 11)


@pytest.mark.parametrize("text", ["", "   ", ",;.\n", "then and then", "1. \n2. ", "-"])
def test_nothing_said(text: str) -> None:
    error = refused(text)
    assert str(error) == "no instruction found; write one such as 'visit cow'"
    assert (error.start, error.end) == (0, len(text))


def test_parse_instruction_wants_one() -> None:
    assert parse_instruction("visit the pig.", GRID_VOCABULARY) == Instruction("visit", "pig")
    with pytest.raises(InstructionError, match="expected one instruction, but this is a list of 3"):
        parse_instruction("pick up 3 cows", GRID_VOCABULARY)


def test_errors_can_be_pickled() -> None:
    error = refused("visit pgi")
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.start, copy.end) == (str(error), error.start, error.end)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["visit", "pick", "transform", "interact"]),
        ("vi", ["visit"]),
        ("pick ", ["up"]),
        ("visit p", ["pig"]),
        ("Pick up the C", ["cow", "candy"]),
        ("pick up a", ["all"]),
        ("pick up all c", ["cows", "candies"]),
        ("pick up five c", ["cows", "candies"]),
        ("visit a", []),
        ("visit pig ", ["then"]),
        ("visit pig, tr", ["transform"]),
        ("visit pig then tr", ["transform"]),
        ("1. visit pig\n2. i", ["interact"]),
        ("visit p\n", ["visit", "pick", "transform", "interact"]),
        ("nonsense ", []),
    ],
)
def test_completion(text: str, words: list[str]) -> None:
    assert complete(text, GRID_VOCABULARY) == words


def test_completion_at_the_cursor_and_inside_names() -> None:
    assert complete("visit p, transform cow", GRID_VOCABULARY, cursor=7) == ["pig"]
    assert complete("visit red b", OWN_VOCABULARY) == ["box"]
    assert complete("pick up ", BLOCK_VOCABULARY)[-2:] == ["2", "3"]


# Pieces of sentences, valid and not, which Hypothesis strings together.
PIECES = (
    *(word for verb in VERBS for word in verb.split()),
    *("cow", "pigs", "sheep", "box", "red", "red box", "mice", "candies", "all", "the", "of", "a"),
    *("0", "1", "3", "007", "99999", "-1", "2.5", "\u00b2", "\u0663", "three", "twenty", "zero"),
    *(",", ";", ".", "\n", "then", "and", "and then", "1.", "2)", "-", "*", "..", "'", '"', "{}"),
    *("vsit", "cwo", "ALL", "\u0130", "\u00df", "\x00", "\u2028", "\x85", "\t", "%s", "\ud83d"),
)
VALID = tuple(
    str(each)
    for world in ("grid", "block")
    for split in ("train", "unseen")
    for each in instructions(world, split)
)


@st.composite
def mutated_sentences(draw: st.DrawFn) -> str:
    """A valid sentence with a stretch of it cut out and something else put there."""
    sentence = draw(st.sampled_from(VALID))
    start = draw(st.integers(0, len(sentence)))
    end = draw(st.integers(start, min(start + 4, len(sentence))))
    return sentence[:start] + draw(st.sampled_from(PIECES)) + sentence[end:]


ODD_TEXT = st.one_of(
    st.text(max_size=30),
    st.lists(st.sampled_from(PIECES), max_size=8).map(" ".join),
    st.lists(st.sampled_from(PIECES), max_size=6).map("".join),
    st.lists(mutated_sentences(), min_size=1, max_size=3).map(", ".join),
)


# Twenty texts to an example, 10,000 in all: drawing an example costs more than reading a text.
@settings(max_examples=500, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(texts=st.lists(ODD_TEXT, min_size=20, max_size=20))
def test_any_text_is_read_or_refused(texts: list[str]) -> None:
    for text, vocabulary in zip(texts, itertools.cycle(ALL_VOCABULARIES), strict=False):
        try:
            listed = parse_instructions(text, vocabulary)
        except InstructionError as error:
            check_error(error, text)
            continue
        assert 1 <= len(listed) <= MAX_INSTRUCTIONS
        assert all(vocabulary.carries(each.verb, each.quantity) for each in listed)
        printed = "\n".join(each.words(vocabulary) for each in listed)
        assert parse_instructions(printed, vocabulary) == listed
        encode(listed[:3], vocabulary)


@settings(max_examples=300, deadline=None, database=None)
@given(text=ODD_TEXT, cursor=st.none() | st.integers(0, 40))
def test_any_text_is_completed(text: str, cursor: int | None) -> None:
    assert all(isinstance(word, str) for word in complete(text, GRID_VOCABULARY, cursor))
