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
    canonical,
    encode,
    parse_instruction,
    parse_instructions,
    understood_as,
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


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        ("go to the cow", "visit cow"),
        ("walk to a pig then find the duck", "visit pig, visit duck"),
        *((f"{verb} the egg", "pick up egg") for verb in ("get", "grab", "take", "collect")),
        ("fetch all eggs", "pick up all eggs"),
        ("pick the egg up", "pick up egg"),
        ("pick all eggs up, please", "pick up all eggs"),
        ("pick an egg", "pick up egg"),
        *((f"{verb} the rock", "transform rock") for verb in ("change", "turn", "smash")),
        ("kill the enemy", "transform enemy"),
        ("kill the monsters", "transform enemy"),
        ("use the box", "interact with box"),
        ("pick up every egg", "pick up all eggs"),
        ("smash each of the rocks", "transform all rocks"),
        ("get both eggs", "pick up egg 2 times"),
        ("get both the egg and the heart", "pick up egg, pick up heart"),
        ("visit the cow twice", "visit cow 2 times"),
        ("visit the cow three times", "visit cow 3 times"),
        ("get 2 eggs 2 times", "pick up egg 4 times"),
        ("pick up all eggs twice", "pick up all eggs 2 times"),
        (
            "pick up the egg, the heart and the candy",
            "pick up egg, pick up heart, pick up candy",
        ),
        ("transform rock, 2 trees & all cows", "transform rock, transform tree 2 times, "
         "transform all cows"),
        ("go to the egg and pick it up", "visit egg, pick up egg"),
        ("First, visit the cow; finally, please get the pig!", "visit cow, pick up pig"),
        ("visit cow -> pig => duck \u2192 egg", "visit cow, visit pig, visit duck, visit egg"),
        ("visit cow->get pig&egg", "visit cow, pick up pig, pick up egg"),
        ("(1) visit cow (2) get pig", None),
        ("(1) visit cow\n(2) get pig", "visit cow, pick up pig"),
        ("1: visit cow\n2: get pig", "visit cow, pick up pig"),
        ("Please visit this cow now", "visit cow"),
    ],
)  # fmt: skip
def test_what_people_type(text: str, reading: str | None) -> None:
    if reading is None:
        refused(text)
        return
    listed = parse_instructions(text, GRID_VOCABULARY)
    assert canonical(listed, GRID_VOCABULARY) == reading
    assert parse_instructions(reading, GRID_VOCABULARY) == listed


def test_twice_is_a_count_where_one_instruction_carries_it() -> None:
    assert read("take the pig twice", BLOCK_VOCABULARY) == ["pick up 2 pigs"]
    assert read("freeze both robots", BLOCK_VOCABULARY) == ["transform 2 greenbots"]


def test_the_reading_is_given_where_it_is_in_other_words() -> None:
    for text in ("visit the pig, then pick up all of the eggs", "1. Visit pig.\n2. Visit cow."):
        assert understood_as(text, GRID_VOCABULARY) == ""
    assert understood_as("get the egg, the cow", GRID_VOCABULARY) == "pick up egg, pick up cow"
    assert understood_as("pick up 3 cows", GRID_VOCABULARY) == "pick up cow 3 times"
    assert understood_as("pick up 3 pigs", BLOCK_VOCABULARY) == ""


def test_a_world_has_its_own_synonyms() -> None:
    garden = Vocabulary(("seed", "goose"), plurals={"goose": "geese"}, synonyms={
        "plant": "transform", "pip": "seed", "bird": "goose",
    })  # fmt: skip
    assert read("plant all pips, visit the birds", garden) == ["transform all seeds", "visit goose"]
    assert "did you mean plant?" in str(refused("plnat seed", garden))
    assert "'grab' is not a verb; expected one of" in str(refused("grab seed", garden))


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
        ("interact the pig", "the", "word 2: 'the' after 'interact'; did you mean interact with?"),
        ("go cow", "cow", "word 2: 'cow' after 'go'; did you mean go to?"),
        ("visit pig, walk", "walk", "instruction 2, word 1: 'walk' is unfinished"),
        ("visit pig, pick", "pick", "instruction 2, word 1: an object is missing after 'pick'"),
        ("garb the pig", "garb", "'garb' is not a verb; did you mean grab?"),
        ("pick up egg, haert", "haert", "'haert' is not a verb; did you mean heart?"),
        ("the pig", "the", "a verb is missing before 'the'; expected one of visit"),
        ("visit it", "it", "'it' is not an object"),
        ("pick up evry cow", "evry", "'evry' is not an object; did you mean every?"),
        ("pick up eery pig", "eery", "'eery' is not an object; did you mean every?"),
        ("visit evry pig", "evry", "'evry' is not an object; expected one of cow"),
        ("visit bth pigs", "bth", "'bth' is not an object; did you mean both?"),
        ("pick up pig 0 times", "0", "word 4: '0' is not a count"),
        ("visit every pig", "every", "'visit' takes no 'every'"),
        ("visit", "visit", "word 1: an object is missing after 'visit', such as cow, enemy, pig"),
        ("pick up all", "all", "word 3: an object is missing after 'all'"),
        ("visit all pigs", "all", "'visit' takes no 'all'; name one object: 'visit cow'"),
        ("pick up 0 cows", "0", "word 3: '0' is not a count; expected a whole number from 1"),
        ("pick up zero cows", "zero", "'zero' is not a count"),
        ("pick up -2 cows", "-2", "'-2' is not a count"),
        ("pick up 2.5 cows", "2.5", "'2.5' is not a count"),
        ("visit pig pick up cow", "pick", "'pick' starts another instruction; put a comma"),
        ("visit pig soon", "soon", "word 3: 'soon' was not expected after a whole instruction"),
        ("visit pig grab cow", "grab", "'grab' starts another instruction; put a comma before it"),
        ("turn the cow into milk", "into", "'into' was not expected after a whole instruction"),
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


# Pieces of sentences, valid and not, which Hypothesis strings together.
PIECES = (
    *(word for verb in VERBS for word in verb.split()),
    *("cow", "pigs", "sheep", "box", "red", "red box", "mice", "candies", "all", "the", "of", "a"),
    *("0", "1", "3", "007", "99999", "-1", "2.5", "\u00b2", "\u0663", "three", "twenty", "zero"),
    *(",", ";", ".", "\n", "then", "and", "and then", "1.", "2)", "-", "*", "..", "'", '"', "{}"),
    *("get", "grab", "go", "to", "twice", "times", "both", "every", "it", "first", "please"),
    *("->", "=>", "&", ":", "!", "up"),
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
@pytest.mark.slow
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
        assert parse_instructions(canonical(listed, vocabulary), vocabulary) == listed
        encode(listed[:3], vocabulary)
