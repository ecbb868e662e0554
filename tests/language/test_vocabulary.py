"""What a vocabulary derives from its words, and what it refuses."""

import dataclasses
import json
import pickle

import pytest

from errands.language.vocabulary import (
    ALL,
    BLOCK_VOCABULARY,
    GRID_VOCABULARY,
    VERBS,
    Vocabulary,
    pluralize,
    suggest,
)


def test_token_tables_of_both_worlds() -> None:
    assert GRID_VOCABULARY.token_words == (
        *("<pad>", "visit", "pick up", "transform", "interact with", "all"),
        *("cow", "enemy", "pig", "rock", "tree", "candy", "diamond", "milk", "meat", "wood"),
        *("box", "duck", "egg", "heart", "stone"),
    )
    assert GRID_VOCABULARY.token_count == 21
    assert BLOCK_VOCABULARY.token_words == (
        *("<pad>", "visit", "pick up", "transform", "interact with", "2", "3"),
        *("pig", "sheep", "greenbot", "horse", "cat", "box", "ice"),
    )


@pytest.mark.parametrize("vocabulary", [GRID_VOCABULARY, BLOCK_VOCABULARY])
def test_tokens_look_up_their_words(vocabulary: Vocabulary) -> None:
    words = vocabulary.token_words
    assert len(set(words)) == vocabulary.token_count
    assert [words[vocabulary.verb_token(verb)] for verb in VERBS] == list(VERBS)
    for index, name in enumerate(vocabulary.objects):
        assert vocabulary.object_index(name) == index
        assert words[vocabulary.object_token(name)] == name
    for quantity in vocabulary.quantities:
        word = {1: "<pad>", ALL: "all"}.get(quantity, str(quantity))
        assert words[vocabulary.quantity_token(quantity)] == word


def test_what_one_instruction_carries() -> None:
    assert GRID_VOCABULARY.carries("pick up", ALL)
    assert not GRID_VOCABULARY.carries("visit", ALL)
    assert not GRID_VOCABULARY.carries("pick up", 2)
    assert BLOCK_VOCABULARY.carries("transform", 3)
    assert not BLOCK_VOCABULARY.carries("transform", 4)
    assert BLOCK_VOCABULARY.carries("visit", 1)


@pytest.mark.parametrize(
    ("name", "plural"),
    [
        ("cow", "cows"),
        ("box", "boxes"),
        ("candy", "candies"),
        ("enemy", "enemies"),
        ("sheep", "sheep"),
        ("milk", "milk"),
        ("meat", "meat"),
        ("wood", "wood"),
        ("ice", "ice"),
        ("horse", "horses"),
        ("monkey", "monkeys"),
        ("torch", "torches"),
        ("dish", "dishes"),
        ("red candy", "red candies"),
        ("black sheep", "black sheep"),
    ],
)
def test_plurals(name: str, plural: str) -> None:
    assert pluralize(name) == plural


def test_own_words() -> None:
    vocabulary = Vocabulary(("red mouse", "oven"), (1, ALL, 2), {"red mouse": "red mice"})
    assert vocabulary.plural("red mouse") == "red mice"
    assert vocabulary.plural("oven") == "ovens"
    assert vocabulary.token_words[5:] == ("all", "2", "red mouse", "oven")
    assert hash(vocabulary) == hash(Vocabulary(**dataclasses.asdict(vocabulary)))
    assert pickle.loads(pickle.dumps(vocabulary)) == vocabulary
    assert Vocabulary(**json.loads(json.dumps(dataclasses.asdict(vocabulary)))) == vocabulary


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"objects": ()}, "at least one object"),
        ({"objects": "cow"}, "not the single string 'cow'"),
        ({"objects": ("cow", "cow")}, "'cow' is listed twice"),
        ({"objects": ("Cow",)}, "lower case: 'cow'"),
        ({"objects": ("",)}, "must be words of letters"),
        ({"objects": ("red  box",)}, "one space"),
        ({"objects": ("cow,pig",)}, "must be words of letters"),
        ({"objects": ("7up",)}, "starting with a letter"),
        ({"objects": (3,)}, "must be a string"),
        ({"objects": ("all",)}, "reserved word 'all'"),
        ({"objects": ("three kings",)}, "reserved word 'three'"),
        ({"objects": ("the cow",)}, "reserved word 'the'"),
        ({"objects": ("visit card",)}, "reserved word 'visit'"),
        ({"objects": ("salt and pepper",)}, "contains 'and'"),
        ({"objects": ("glass", "glasses")}, "plural of 'glass' reads 'glasses'"),
        ({"objects": ("cow",), "quantities": (2, 3)}, "must contain 1"),
        ({"objects": ("cow",), "quantities": (1, 1)}, "repeat"),
        ({"objects": ("cow",), "quantities": (1, -1)}, "counts from 1"),
        ({"objects": ("cow",), "quantities": (1, 40000)}, "counts from 1"),
        ({"objects": ("cow",), "quantities": (1, 2.5)}, "must be integers"),
        ({"objects": ("cow",), "plurals": {"cwo": "cows"}}, "did you mean cow"),
        ({"objects": ("cow",), "plurals": {"cow": "all cows"}}, "reserved word 'all'"),
        ({"objects": ("cow",), "countable": ("pickup",)}, "did you mean pick up"),
        ({"objects": ("cow",), "synonyms": {"bull": "cwo"}}, "'bull' means unknown 'cwo'; did you"),
        ({"objects": ("cow", "pig"), "synonyms": {"cow": "pig"}}, "reads like object 'cow'"),
        ({"objects": ("cow",), "synonyms": {"the bull": "cow"}}, "reserved word 'the'"),
        ({"objects": ("cow",), "synonyms": {"": "visit"}}, "one or more other words"),
        ({"objects": ("cow",), "synonyms": {"pick up": "visit"}}, "one or more other words"),
        ({"objects": ("use car",)}, "starts with 'use', another word for 'interact with'"),
    ],
)
def test_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        Vocabulary(**arguments)  # type: ignore[arg-type]
    assert len(str(caught.value).splitlines()) == 1


def test_unknown_words_are_named() -> None:
    with pytest.raises(ValueError, match="unknown object 'cwo'; did you mean cow"):
        GRID_VOCABULARY.object_index("cwo")
    with pytest.raises(ValueError, match="quantity 3 has no token here; known: 1, all"):
        GRID_VOCABULARY.quantity_token(3)
    with pytest.raises(ValueError, match="unknown verb 'visti'; did you mean visit"):
        GRID_VOCABULARY.verb_token("visti")


def test_suggestions_are_near_or_complete() -> None:
    assert suggest("PGI", ("pig", "cow")) == "did you mean pig?"
    assert suggest("zzz", ("pig", "cow")) == "expected one of pig, cow"
    assert suggest("every", ("enemy",)) == "expected one of enemy"
    assert suggest("grba", ("pig",), also=("grab",)) == "did you mean grab?"
    assert suggest("eery", ("enemy",), also=("every",)) == "did you mean every?"
    assert suggest("enmey", ("enemy",), also=("every",)) == "did you mean enemy?"
    assert suggest("?", [f"thing{n}" for n in range(40)]).endswith("thing14, ...")
