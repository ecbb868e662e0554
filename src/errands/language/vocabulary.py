"""The words a world understands: verbs, objects, and the quantities one instruction can carry.

A world declares a `Vocabulary` once; printing, parsing, tokens and codes all follow from it.
"""

import difflib
import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

VERBS = ("visit", "pick up", "transform", "interact with")
VISIT, PICK_UP, TRANSFORM, INTERACT = range(4)

# Quantity code of "all"; a quantity q >= 1 means q times.
ALL = 0
ALL_WORD = "all"
PAD_WORD = "<pad>"

ARTICLES = frozenset({"a", "an", "the", "this", "that", "these", "those", "any", "another"})
JOINING_WORDS = frozenset({"then", "and"})
# Words that may open or close an instruction and change nothing about it.
FILLERS = frozenset(
    {"first", "firstly", "second", "secondly", "third", "thirdly", "next", "now", "also"}
    | {"finally", "lastly", "afterwards", "please", "just"}
)
PRONOUN = "it"  # the last object that was named
_COUNTING = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen twenty"
)
NUMBER_WORDS = {word: number for number, word in enumerate(_COUNTING.split())}
# Quantities with a word of their own before the object, and after it.
QUANTITY_WORDS = {ALL_WORD: ALL, "every": ALL, "each": ALL, "both": 2}
REPEAT_WORDS = {"once": 1, "twice": 2, "thrice": 3}
TIMES = "times"  # "three times"

# What people say for the verbs. A vocabulary may have a table of its own, for objects, too.
SYNONYMS = {
    **dict.fromkeys(("go to", "walk to", "move to", "head to", "find", "reach"), "visit"),
    **dict.fromkeys(("pick", "get", "grab", "take", "collect", "gather", "fetch"), "pick up"),
    **dict.fromkeys(("change", "turn", "convert", "smash", "break", "kill"), "transform"),
    "use": "interact with",
}
SPLIT_PARTICLE = "up"  # may follow the object: "pick the egg up"

# Nouns of our worlds that do not change in the plural. A vocabulary adds its own in `plurals`.
UNCHANGED_PLURALS = frozenset({"sheep", "milk", "meat", "wood", "ice"})

# Words that determine how a sentence is parsed, so no object's name may start with one.
RESERVED_WORDS = frozenset(
    {*ARTICLES, *JOINING_WORDS, *FILLERS, *NUMBER_WORDS, *QUANTITY_WORDS, PRONOUN, "of"}
    | {word for verb in VERBS for word in verb.split()}
)

# One word of an object's name: a letter, then letters, digits, apostrophes or hyphens.
_NAME_WORD = re.compile(r"[^\W\d_](?:[^\W_]|['-])*")
_LARGEST_QUANTITY = 2**15 - 1  # codes are int16
_NEAR = 0.65  # likeness from which a word is suggested: "cwo" and "cow" have 0.67


def pluralize(name: str) -> str:
    """The plural of an English noun by the regular rules; only its last word changes."""
    last = name.rsplit(" ", 1)[-1]
    if last in UNCHANGED_PLURALS:
        return name
    if last.endswith(("s", "x", "z", "ch", "sh")):
        return name + "es"
    if last.endswith("y") and last[-2:-1] not in tuple("aeiou"):
        return name[:-1] + "ies"
    return name + "s"


def nearest(word: str, choices: Sequence[str]) -> list[str]:
    """Up to three choices that the word may be a misspelling of, the most similar first."""
    return difflib.get_close_matches(word[:40].casefold(), choices, n=3, cutoff=_NEAR)


def suggest(word: str, choices: Sequence[str], also: Sequence[str] = ()) -> str:
    """A one-line hint for a wrong word: the nearest choices, or all of them when none is near.

    Words in `also` are suggested when they are near, but not listed.
    """
    closest = nearest(word, (*choices, *also))[:1]
    if closest:
        near = nearest(word, choices if closest[0] in choices else also)
        return f"did you mean {' or '.join(near)}?"
    shown = ", ".join(choices[:15]) + (", ..." if len(choices) > 15 else "")
    return f"expected one of {shown}"


@dataclass(frozen=True)
class Vocabulary:
    """What can be said in one world. Object k of the world is `objects[k]`."""

    # Names in lower case, in the order of their codes; a name may have several words.
    objects: tuple[str, ...]
    # What a single instruction can carry: 1, and any of ALL, 2, 3, ...
    quantities: tuple[int, ...] = (1, ALL)
    # Irregular plurals, such as {"mouse": "mice"}; the rest follow `pluralize`.
    plurals: Mapping[str, str] = field(default_factory=dict, hash=False)
    # Verbs that take a quantity other than 1.
    countable: tuple[str, ...] = ("pick up", "transform", "interact with")
    # Other words for verbs and objects, such as {"grab": "pick up", "monster": "enemy"}.
    synonyms: Mapping[str, str] = field(default_factory=lambda: dict(SYNONYMS), hash=False)

    def __post_init__(self) -> None:
        for name in ("objects", "quantities", "countable"):
            value = getattr(self, name)
            if isinstance(value, str):
                raise ValueError(f"{name} must be a sequence, not the single string {value!r}")
            object.__setattr__(self, name, tuple(value))
        object.__setattr__(self, "plurals", dict(self.plurals))
        object.__setattr__(self, "synonyms", dict(self.synonyms))
        self._check_names()
        self._check_synonyms()
        self._check_quantities()
        for verb in self.countable:
            if verb not in VERBS:
                raise ValueError(f"unknown countable verb {verb!r}; {suggest(str(verb), VERBS)}")
        # Fills the table of readable forms, and so finds forms that would be ambiguous.
        for form, name in self.forms.items():
            for phrase in self.verb_phrases:
                if form[: len(phrase)] == phrase:
                    raise ValueError(
                        f"object {name!r} starts with {' '.join(phrase)!r}, another word for "
                        f"{self.verb_phrases[phrase]!r}; give synonyms without it"
                    )

    def _check_names(self) -> None:
        if not self.objects:
            raise ValueError("a vocabulary needs at least one object")
        for name in self.objects:
            _check_name(name)
            if self.objects.count(name) > 1:
                raise ValueError(f"object {name!r} is listed twice")
        for name, plural in self.plurals.items():
            if name not in self.objects:
                hint = suggest(str(name), self.objects)
                raise ValueError(f"plural given for unknown object {name!r}; {hint}")
            _check_name(plural)

    def _check_synonyms(self) -> None:
        for phrase, meaning in self.synonyms.items():
            if meaning not in (*VERBS, *self.objects):
                hint = suggest(str(meaning), (*VERBS, *self.objects))
                raise ValueError(f"synonym {phrase!r} means unknown {meaning!r}; {hint}")
            if meaning in self.objects:
                _check_name(phrase)
            elif phrase in VERBS or not all(map(_NAME_WORD.fullmatch, phrase.split(" "))):
                raise ValueError(f"synonym {phrase!r} of a verb must be one or more other words")

    def _check_quantities(self) -> None:
        try:
            quantities = tuple(operator.index(quantity) for quantity in self.quantities)
        except TypeError:
            raise ValueError(f"quantities must be integers, not {self.quantities!r}") from None
        object.__setattr__(self, "quantities", quantities)
        if 1 not in quantities:
            raise ValueError("quantities must contain 1: every world can do a thing once")
        if len(set(quantities)) < len(quantities):
            raise ValueError(f"quantities repeat a value: {quantities!r}")
        if not all(0 <= quantity <= _LARGEST_QUANTITY for quantity in quantities):
            raise ValueError(f"quantities must be ALL (0) or counts from 1, not {quantities!r}")

    @cached_property
    def token_words(self) -> tuple[str, ...]:
        """The word of every token id: padding, verbs, quantities other than 1, objects."""
        quantity_words = tuple(quantity_word(quantity) for quantity in self._spoken_quantities)
        return (PAD_WORD, *VERBS, *quantity_words, *self.objects)

    @property
    def token_count(self) -> int:
        return len(self.token_words)

    @cached_property
    def forms(self) -> Mapping[tuple[str, ...], str]:
        """Object by the case-folded words of its singular or plural."""
        forms: dict[tuple[str, ...], str] = {}
        for name in self.objects:
            if forms.setdefault(_folded(name), name) != name:
                raise ValueError(f"object {name!r} reads the same as {forms[_folded(name)]!r}")
        for name in self.objects:
            plural = self.plural(name)
            other = forms.setdefault(_folded(plural), name)
            if other != name:
                raise ValueError(
                    f"the plural of {name!r} reads {plural!r}, like object {other!r}; "
                    f"give another in plurals"
                )
        # The regular plural is what str(instruction) prints, so it is read even when irregular.
        for name in self.objects:
            forms.setdefault(_folded(pluralize(name)), name)
        for phrase, name in self.synonyms.items():
            for said in (phrase, pluralize(phrase)) if name in self.objects else ():
                other = forms.setdefault(_folded(said), name)
                if other != name:
                    raise ValueError(f"synonym {phrase!r} of {name!r} reads like object {other!r}")
        return forms

    @cached_property
    def verb_phrases(self) -> Mapping[tuple[str, ...], str]:
        """Verb by the case-folded words of all its names, those of most words first."""
        phrases = {_folded(verb): verb for verb in VERBS}
        for said, meaning in self.synonyms.items():
            if meaning in VERBS:
                phrases[_folded(said)] = meaning
        return dict(sorted(phrases.items(), key=lambda item: -len(item[0])))

    def plural(self, name: str) -> str:
        return self.plurals.get(name) or pluralize(name)

    def object_index(self, name: str) -> int:
        if name not in self.objects:
            raise ValueError(f"unknown object {name!r}; {suggest(str(name), self.objects)}")
        return self.objects.index(name)

    def carries(self, verb: str, quantity: int) -> bool:
        """Whether one instruction of this world can ask for the verb this many times."""
        return quantity == 1 or (verb in self.countable and quantity in self.quantities)

    def verb_token(self, verb: str) -> int:
        return 1 + verb_index(verb)

    def quantity_token(self, quantity: int) -> int:
        """Token id of a quantity; 1 has no word, so it gives padding."""
        if quantity == 1:
            return 0
        if quantity not in self.quantities:
            said = ", ".join(quantity_word(known) for known in self.quantities)
            raise ValueError(f"quantity {quantity_word(quantity)} has no token here; known: {said}")
        return 1 + len(VERBS) + self._spoken_quantities.index(quantity)

    def object_token(self, name: str) -> int:
        return 1 + len(VERBS) + len(self._spoken_quantities) + self.object_index(name)

    @cached_property
    def _spoken_quantities(self) -> tuple[int, ...]:
        return tuple(quantity for quantity in self.quantities if quantity != 1)


def verb_index(verb: str) -> int:
    if verb not in VERBS:
        raise ValueError(f"unknown verb {verb!r}; {suggest(str(verb), VERBS)}")
    return VERBS.index(verb)


def quantity_word(quantity: int) -> str:
    return ALL_WORD if quantity == ALL else str(quantity)


def _folded(name: str) -> tuple[str, ...]:
    return tuple(word.casefold() for word in name.split(" "))


def _check_name(name: str) -> None:
    if not isinstance(name, str):
        raise ValueError(f"an object's name must be a string, not {name!r}")
    words = name.split(" ")
    if not all(_NAME_WORD.fullmatch(word) for word in words):
        raise ValueError(
            f"object name {name!r} must be words of letters, digits, hyphens and apostrophes, "
            f"each starting with a letter, with one space between them"
        )
    if name != name.lower():
        raise ValueError(f"object name {name!r} must be in lower case: {name.lower()!r}")
    if words[0].casefold() in RESERVED_WORDS:
        raise ValueError(f"object name {name!r} starts with the reserved word {words[0]!r}")
    joining = [word for word in words if word.casefold() in JOINING_WORDS]
    if joining:
        raise ValueError(f"object name {name!r} contains {joining[0]!r}, which joins instructions")


GRID_VOCABULARY = Vocabulary(
    objects=(
        *("cow", "enemy", "pig", "rock", "tree"),
        *("candy", "diamond", "milk", "meat", "wood"),
        *("box", "duck", "egg", "heart", "stone"),
    ),
    quantities=(1, ALL),
    synonyms={
        **SYNONYMS,
        **dict.fromkeys(("attack", "fight", "defeat"), "transform"),
        **{"monster": "enemy", "gem": "diamond", "sweet": "candy"},
    },
)

BLOCK_VOCABULARY = Vocabulary(
    objects=("pig", "sheep", "greenbot", "horse", "cat", "box", "ice"),
    quantities=(1, 2, 3),
    synonyms={**SYNONYMS, "freeze": "transform", "robot": "greenbot", "green bot": "greenbot"},
)
