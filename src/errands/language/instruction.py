"""One instruction: the words people say, the tokens a network reads and the code a world checks."""

import difflib
import itertools
import operator
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from errands.language.vocabulary import (
    ALL,
    ARTICLES,
    FILLERS,
    JOINING_WORDS,
    NUMBER_WORDS,
    PRONOUN,
    QUANTITY_WORDS,
    REPEAT_WORDS,
    SPLIT_PARTICLE,
    TIMES,
    VERBS,
    Vocabulary,
    nearest,
    pluralize,
    quantity_word,
    suggest,
    verb_index,
)
from errands.language.words import Word, clauses

# Longest list that text may ask for once its counts are expanded ("pick up 5000 cows" is refused).
MAX_INSTRUCTIONS = 1000


class InstructionError(ValueError):
    """Text that is not an instruction: a message of one line, about text[start:end]."""

    def __init__(self, message: str, start: int = 0, end: int = 0) -> None:
        super().__init__(message)
        self.start = start
        self.end = end


@dataclass(frozen=True, order=True)
class Instruction:
    """A verb, an object and a quantity: a count from 1, or `ALL`.

    The same record describes the subtasks of a skill, whose counts an instruction may not have.
    """

    verb: str  # one of `VERBS`
    object: str  # its name
    quantity: int = 1  # how many; `ALL`, which is 0, for all

    def __post_init__(self) -> None:
        verb_index(self.verb)
        if not isinstance(self.object, str) or not self.object:
            raise ValueError(f"an instruction needs the name of an object, not {self.object!r}")
        object.__setattr__(self, "quantity", operator.index(self.quantity))
        if self.quantity < 0:
            raise ValueError(f"quantity must be ALL (0) or a count from 1, not {self.quantity}")

    def __str__(self) -> str:
        return self._sentence(pluralize(self.object))

    def words(self, vocabulary: Vocabulary) -> str:
        """Like `str`, with the vocabulary's own irregular plurals."""
        return self._sentence(vocabulary.plural(self.object))

    def _sentence(self, plural: str) -> str:
        if self.quantity == 1:
            return f"{self.verb} {self.object}"
        return f"{self.verb} {quantity_word(self.quantity)} {plural}"

    def code(self, vocabulary: Vocabulary) -> tuple[int, int, int]:
        """(verb, object, quantity): what a world checks."""
        return verb_index(self.verb), vocabulary.object_index(self.object), self.quantity

    def tokens(self, vocabulary: Vocabulary) -> tuple[int, int, int]:
        """Token ids [verb, quantity, object]: what a network reads. Quantity 1 is padding."""
        if not vocabulary.carries(self.verb, self.quantity):
            raise ValueError(f"'{self}' is not a single instruction of this world")
        return (
            vocabulary.verb_token(self.verb),
            vocabulary.quantity_token(self.quantity),
            vocabulary.object_token(self.object),
        )

    @classmethod
    def from_code(
        cls, code: Sequence[int] | NDArray[np.integer], vocabulary: Vocabulary
    ) -> "Instruction":
        """The instruction with that code (verb, object, quantity)."""
        verb, item, quantity = (int(part) for part in code)
        if not 0 <= verb < len(VERBS) or not 0 <= item < len(vocabulary.objects):
            raise ValueError(f"code {(verb, item, quantity)} is outside this vocabulary")
        return cls(VERBS[verb], vocabulary.objects[item], quantity)


def encode(
    instructions: Iterable[Instruction], vocabulary: Vocabulary
) -> tuple[NDArray[np.int16], NDArray[np.int64]]:
    """Codes int16[K, 3] and tokens int64[K, 3] of a list of instructions."""
    listed = list(instructions)
    codes = [instruction.code(vocabulary) for instruction in listed]
    tokens = [instruction.tokens(vocabulary) for instruction in listed]
    return (
        np.array(codes, dtype=np.int16).reshape(-1, 3),
        np.array(tokens, dtype=np.int64).reshape(-1, 3),
    )


def parse_instruction(text: str, vocabulary: Vocabulary) -> Instruction:
    """The one instruction of a text."""
    instructions = parse_instructions(text, vocabulary)
    if len(instructions) > 1:
        message = f"expected one instruction, but this is a list of {len(instructions)}"
        raise InstructionError(message, 0, len(text))
    return instructions[0]


def parse_instructions(text: str, vocabulary: Vocabulary) -> list[Instruction]:
    """All instructions of a text, in order.

    Punctuation, line ends, arrows, "then" and "and" separate instructions, and a run of them counts
    once. A verb carries over ("visit the cow, the pig"). A count that one instruction of this world
    cannot carry becomes several.
    """
    instructions: list[Instruction] = []
    for number, words in enumerate(filter(None, clauses(text)), start=1):
        instructions += _Reader(text, words, number, vocabulary, instructions).read()
    if not instructions:
        example = f"visit {vocabulary.objects[0]}"
        raise InstructionError(f"no instruction found; write one such as '{example}'", 0, len(text))
    return instructions


def canonical(instructions: Iterable[Instruction], vocabulary: Vocabulary) -> str:
    """A list in the world's own words; repeated instructions are counted."""
    parts = []
    for instruction, repeats in itertools.groupby(instructions):
        count = len(list(repeats))
        repeated = "" if count == 1 else f" {count} {TIMES}"
        parts.append(instruction.words(vocabulary) + repeated)
    return ", ".join(parts)


def understood_as(text: str, vocabulary: Vocabulary) -> str:
    """The canonical form of a text, or "" if the text says the same in the same words."""
    instructions = parse_instructions(text, vocabulary)
    said = [word.text for clause in clauses(text) for word in clause]
    said = [word for word in said if word not in {*ARTICLES, *FILLERS, "of"}]
    words = " ".join(each.words(vocabulary) for each in instructions).split()
    same = said == [word.casefold() for word in words]
    return "" if same else canonical(instructions, vocabulary)


def _shown(word: str) -> str:
    """A word as an error names it: short, and with unprintable characters escaped."""
    return repr(word if len(word) <= 30 else word[:27] + "...")


def _likeness(phrase: str, names: Sequence[str]) -> float:
    return max(difflib.SequenceMatcher(None, phrase, name).ratio() for name in names)


_NUMBER = re.compile(r"[+-]?[0-9.]*[0-9]")


class _Reader:
    """Reads one clause from left to right: verb, quantity, object, how often, and nothing more."""

    def __init__(
        self,
        text: str,
        words: list[Word],
        number: int,
        vocabulary: Vocabulary,
        before: Sequence[Instruction],
    ) -> None:
        self.text = text
        self.words = words
        self.number = number
        self.vocabulary = vocabulary
        self.before = before  # the instructions of the clauses before this one
        self.at = 0
        self.particle = ""  # what may follow the object: the end of a verb that is split around it

    def read(self) -> list[Instruction]:
        verb = self._verb()
        quantity, quantity_at = self._quantity(verb)
        name = self._object(verb, plural=quantity != 1)
        if self.words[quantity_at].text == "both" and self.words[self.at - 1].text == name:
            quantity = 1  # "both the egg and the heart"
        self._skip({self.particle})
        times = self._times()
        self._end()
        counts = [ALL] * min(times, MAX_INSTRUCTIONS + 1) if quantity == ALL else []
        quantity *= times
        carried = [
            known
            for known in sorted(self.vocabulary.quantities, reverse=True)
            if known != ALL and self.vocabulary.carries(verb, known)
        ]
        for known in carried:  # largest first: 5 becomes 3 + 2
            repeats, quantity = divmod(quantity, known)
            # A count may be in the millions, so it is cut off where the list is certainly too long.
            counts += [known] * min(repeats, MAX_INSTRUCTIONS + 1)
        if len(self.before) + len(counts) > MAX_INSTRUCTIONS:
            message = f"makes the list longer than {MAX_INSTRUCTIONS} instructions"
            raise self._error(quantity_at, f"{{}} {message}")
        return [Instruction(verb, name, count) for count in counts]

    def _peek(self, ahead: int = 0) -> str:
        return self.words[self.at + ahead].text if self.at + ahead < len(self.words) else ""

    def _error(self, first: int, message: str, last: int | None = None) -> InstructionError:
        """An error about words first..last; `{}` in the message stands for them."""
        start, end = self.words[first].start, self.words[first if last is None else last].end
        place = f"instruction {self.number}, word {first + 1}"
        # Words of an object's name may stand on both sides of odd spaces; show one.
        named = " ".join(self.text[start:end].split())
        return InstructionError(f"{place}: {message.replace('{}', _shown(named))}", start, end)

    def _verb(self) -> str:
        """The verb, or that of the instruction before if this one begins with an object."""
        phrases = self.vocabulary.verb_phrases
        said = tuple(word.text for word in self.words)
        for phrase, verb in phrases.items():
            if said[: len(phrase)] == phrase:
                self.at += len(phrase)
                self.particle = SPLIT_PARTICLE if (*phrase, SPLIT_PARTICLE) in phrases else ""
                return verb
        for phrase in phrases:
            if said[0] == phrase[0]:
                right = " ".join(phrase)
                if len(said) == 1:
                    raise self._error(0, f"{{}} is unfinished; did you mean {right}?")
                raise self._error(1, f"{{}} after '{said[0]}'; did you mean {right}?")
        if self._starts_object():
            if self.before:
                return self.before[-1].verb
            raise self._error(0, f"a verb is missing before {{}}; {suggest('', VERBS)}")
        also = [" ".join(phrase) for phrase in phrases]
        also += self.vocabulary.objects if self.before else ()
        raise self._error(0, f"{{}} is not a verb; {suggest(said[0], VERBS, also)}")

    def _starts_object(self) -> bool:
        word = self._peek()
        known = {*ARTICLES, *QUANTITY_WORDS, *NUMBER_WORDS, PRONOUN}
        return word in known or bool(_NUMBER.fullmatch(word)) or self._form() is not None

    def _quantity(self, verb: str) -> tuple[int, int]:
        """The quantity, 1 if there is none, and the place of its word."""
        self._skip(ARTICLES)
        at = self.at
        word = self._peek()
        if word in QUANTITY_WORDS:
            quantity = QUANTITY_WORDS[word]
            if quantity == ALL:
                self._check_all(verb)
        elif word in NUMBER_WORDS or _NUMBER.fullmatch(word):
            quantity = self._count(word)
        else:
            return 1, max(at - 1, 0)
        self.at += 1
        self._skip({"of"})
        self._skip(ARTICLES)
        return quantity, at

    def _quantity_words(self, verb: str) -> list[str]:
        """Those that the verb takes in this world."""
        takes_all = self.vocabulary.carries(verb, ALL)
        return [word for word, count in QUANTITY_WORDS.items() if count != ALL or takes_all]

    def _check_all(self, verb: str) -> None:
        if verb not in self.vocabulary.countable:
            example = f"{verb} {self.vocabulary.objects[0]}"
            raise self._error(self.at, f"'{verb}' takes no {{}}; name one object: '{example}'")
        if ALL not in self.vocabulary.quantities:
            counts = [str(count) for count in sorted(self.vocabulary.quantities) if count > 1]
            hint = f"give a count such as {' or '.join(counts[:3] or ['2'])}"
            raise self._error(self.at, f"{{}} is not understood in this world; {hint}")

    def _count(self, word: str) -> int:
        if word in NUMBER_WORDS:
            count = NUMBER_WORDS[word]
        elif re.fullmatch(r"[0-9]+", word):
            # More digits are out of bounds all the same, and int() refuses very long numbers.
            count = int(word.lstrip("0")[:9] or "0")
        else:
            count = 0
        if count == 0:
            raise self._error(self.at, "{} is not a count; expected a whole number from 1")
        return count

    def _form(self) -> tuple[str, int] | None:
        """The object that is named here, and in how many words."""
        forms = self.vocabulary.forms
        rest = tuple(word.text for word in self.words[self.at :])
        if self.before and rest[:1] == (PRONOUN,):
            return self.before[-1].object, 1
        for length in range(min(len(rest), max(map(len, forms))), 0, -1):
            if rest[:length] in forms:
                return forms[rest[:length]], length
        return None

    def _object(self, verb: str, plural: bool) -> str:
        vocabulary = self.vocabulary
        found = self._form()
        if found is not None:
            self.at += found[1]
            return found[0]
        names = [vocabulary.plural(name) if plural else name for name in vocabulary.objects]
        rest = [word.text for word in self.words[self.at :]]
        if not rest:
            examples = ", ".join(names[:3])
            raise self._error(self.at - 1, f"an object is missing after {{}}, such as {examples}")
        # Blame as many words as together come nearest to a name, the first word if in doubt.
        longest = min(len(rest), max(map(len, vocabulary.forms)))
        phrases = [" ".join(rest[:length])[:40] for length in range(1, longest + 1)]
        blamed = max(phrases, key=lambda phrase: _likeness(phrase, names))
        last = self.at + phrases.index(blamed)
        hint = suggest(blamed, names, self._quantity_words(verb))
        raise self._error(self.at, f"{{}} is not an object; {hint}", last)

    def _times(self) -> int:
        """How often: "twice", "three times"; once if nothing is said."""
        word = self._peek()
        if word in REPEAT_WORDS:
            self.at += 1
            return REPEAT_WORDS[word]
        if self._peek(1) == TIMES and (word in NUMBER_WORDS or _NUMBER.fullmatch(word)):
            count = self._count(word)
            self.at += 2
            return count
        return 1

    def _end(self) -> None:
        while self._peek() in FILLERS:
            self.at += 1
        if self.at == len(self.words):
            return
        word = self._peek()
        if any(word == phrase[0] for phrase in self.vocabulary.verb_phrases):
            raise self._error(self.at, "{} starts another instruction; put a comma before it")
        near = nearest(word, sorted(JOINING_WORDS, reverse=True))
        hint = f"did you mean {near[0]}?" if near else "leave it out, or put a comma before it"
        raise self._error(self.at, f"{{}} was not expected after a whole instruction; {hint}")

    def _skip(self, words: Iterable[str]) -> None:
        if self.at < len(self.words) and self._peek() in words:
            self.at += 1
