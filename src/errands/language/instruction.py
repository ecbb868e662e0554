"""One instruction: the words people say, the tokens a network reads and the code a world checks."""

import difflib
import operator
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.language.vocabulary import (
    ALL,
    ALL_WORD,
    ARTICLES,
    JOINING_WORDS,
    NUMBER_WORDS,
    VERBS,
    Vocabulary,
    pluralize,
    quantity_word,
    suggest,
    verb_index,
)

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

    verb: str
    object: str
    quantity: int = 1

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

    Commas, semicolons, periods, line ends, "then" and "and" separate instructions, and a run of
    them counts once. A count that one instruction of this world cannot carry becomes several.
    """
    instructions: list[Instruction] = []
    for number, words in enumerate(filter(None, _clauses(text)), start=1):
        instructions += _Reader(text, words, number, vocabulary).read(len(instructions))
    if not instructions:
        example = f"visit {vocabulary.objects[0]}"
        raise InstructionError(f"no instruction found; write one such as '{example}'", 0, len(text))
    return instructions


class _Word(NamedTuple):
    text: str  # case-folded
    start: int
    end: int


# A period between digits belongs to the word, so that "2.5" is named whole when it is refused.
_TOKEN = re.compile(
    r"(?P<separator>[,;\n\r\v\f\x1c-\x1e\x85\u2028\u2029]|(?<![0-9])\.|\.(?![0-9]))"
    r"|(?P<word>(?:[^\s,;.]|(?<=[0-9])\.(?=[0-9]))+)"
)
# "1." or "2)" or a dash before an instruction, as in a list of lines.
_BULLET = re.compile(r"[0-9]+[.)](?![0-9])|[-*+\u2022\u2013\u2014](?![0-9])")


def _clauses(text: str) -> list[list[_Word]]:
    """The words of each instruction, without separators and bullets; the last may have none."""
    clauses: list[list[_Word]] = [[]]
    position = 0
    while position < len(text):
        bullet = None if clauses[-1] else _BULLET.match(text, position)
        match = bullet or _TOKEN.match(text, position)
        if match is None:  # a space
            position += 1
            continue
        position = match.end()
        if bullet:
            continue
        folded = match.group().casefold()
        if match["word"] and folded not in JOINING_WORDS:
            clauses[-1].append(_Word(folded, match.start(), match.end()))
        elif clauses[-1]:
            clauses.append([])
    return clauses


def _shown(word: str) -> str:
    """A word as an error names it: short, and with unprintable characters escaped."""
    return repr(word if len(word) <= 30 else word[:27] + "...")


def _likeness(phrase: str, names: Sequence[str]) -> float:
    return max(difflib.SequenceMatcher(None, phrase, name).ratio() for name in names)


class _Reader:
    """Reads one clause from left to right: verb, quantity, object, and nothing more."""

    def __init__(self, text: str, words: list[_Word], number: int, vocabulary: Vocabulary) -> None:
        self.text = text
        self.words = words
        self.number = number
        self.vocabulary = vocabulary
        self.at = 0

    def read(self, already: int) -> list[Instruction]:
        """The clause's instructions; the text had `already` this many before it."""
        verb = self._verb()
        quantity, quantity_at = self._quantity(verb)
        name = self._object(plural=quantity != 1)
        self._end()
        carried = [
            known
            for known in sorted(self.vocabulary.quantities, reverse=True)
            if known != ALL and self.vocabulary.carries(verb, known)
        ]
        counts = [ALL] if quantity == ALL else []
        for known in carried:  # largest first: 5 becomes 3 + 2
            repeats, quantity = divmod(quantity, known)
            # A count may be in the millions, so it is cut off where the list is certainly too long.
            counts += [known] * min(repeats, MAX_INSTRUCTIONS + 1)
        if already + len(counts) > MAX_INSTRUCTIONS:
            message = f"makes the list longer than {MAX_INSTRUCTIONS} instructions"
            raise self._error(quantity_at, f"{{}} {message}")
        return [Instruction(verb, name, count) for count in counts]

    def _peek(self) -> str:
        return self.words[self.at].text if self.at < len(self.words) else ""

    def _error(self, first: int, message: str, last: int | None = None) -> InstructionError:
        """An error about words first..last; `{}` in the message stands for them."""
        start, end = self.words[first].start, self.words[first if last is None else last].end
        place = f"instruction {self.number}, word {first + 1}"
        # Words of an object's name may stand on both sides of odd spaces; show one.
        named = " ".join(self.text[start:end].split())
        return InstructionError(f"{place}: {message.replace('{}', _shown(named))}", start, end)

    def _verb(self) -> str:
        for verb in VERBS:
            first, *rest = verb.split()
            if self._peek() != first:
                continue
            self.at += 1
            for word in rest:
                if self._peek() != word and self.at < len(self.words):
                    raise self._error(self.at, f"{{}} after '{first}'; did you mean {verb}?")
                if self._peek() != word:
                    raise self._error(self.at - 1, f"{{}} is unfinished; did you mean {verb}?")
                self.at += 1
            return verb
        raise self._error(0, f"{{}} is not a verb; {suggest(self._peek(), VERBS)}")

    def _quantity(self, verb: str) -> tuple[int, int]:
        """The quantity, 1 if there is none, and the place of its word."""
        self._skip(ARTICLES)
        at = self.at
        word = self._peek()
        if word == ALL_WORD:
            self._check_all(verb)
            quantity = ALL
        elif word in NUMBER_WORDS or re.fullmatch(r"[+-]?[0-9.]*[0-9]", word):
            quantity = self._count(word)
        else:
            return 1, max(at - 1, 0)
        self.at += 1
        self._skip({"of"})
        self._skip(ARTICLES)
        return quantity, at

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

    def _object(self, plural: bool) -> str:
        vocabulary = self.vocabulary
        rest = [word.text for word in self.words[self.at :]]
        names = [vocabulary.plural(name) if plural else name for name in vocabulary.objects]
        if not rest:
            examples = ", ".join(names[:3])
            raise self._error(self.at - 1, f"an object is missing after {{}}, such as {examples}")
        longest = min(len(rest), max(len(form) for form in vocabulary.forms))
        for length in range(longest, 0, -1):
            name = vocabulary.forms.get(tuple(rest[:length]))
            if name is not None:
                self.at += length
                return name
        # Report as many words as together come closest to a name; the first word if in doubt.
        phrases = [" ".join(rest[:length])[:40] for length in range(1, longest + 1)]
        nearest = max(phrases, key=lambda phrase: _likeness(phrase, names))
        last = self.at + phrases.index(nearest)
        raise self._error(self.at, f"{{}} is not an object; {suggest(nearest, names)}", last)

    def _end(self) -> None:
        if self.at == len(self.words):
            return
        word = self._peek()
        if any(word == verb.split()[0] for verb in VERBS):
            raise self._error(self.at, "{} starts another instruction; put a comma before it")
        hint = suggest(word, sorted(JOINING_WORDS, reverse=True))
        raise self._error(self.at, f"{{}} was not expected after a whole instruction; {hint}")

    def _skip(self, words: Iterable[str]) -> None:
        if self._peek() in words:
            self.at += 1


def complete(text: str, vocabulary: Vocabulary, cursor: int | None = None) -> list[str]:
    """Words that can stand in place of the last, perhaps empty, word before the cursor."""
    before = text[:cursor]
    start = max((match.end() for match in re.finditer(r"[\s,;.]", before)), default=0)
    begun = before[start:].casefold()
    said = [word.text for word in _clauses(before[:start])[-1]]
    said = [word for word in said if word not in ARTICLES and word != "of"]
    said = [str(NUMBER_WORDS.get(word, word)) for word in said]
    typed = {int(word) for word in said if re.fullmatch(r"[1-9][0-9]{0,3}", word)}

    found: dict[str, None] = {}  # a set that keeps its order
    for verb in VERBS:
        for quantity in dict.fromkeys((*vocabulary.quantities, *sorted(typed))):
            if quantity not in typed and not vocabulary.carries(verb, quantity):
                continue
            for name in vocabulary.objects:
                sentence = Instruction(verb, name, quantity).words(vocabulary).split()
                if [word.casefold() for word in sentence[: len(said)]] != said:
                    continue
                following = [*sentence, "then"][len(said)]
                if following.casefold().startswith(begun):
                    found[following] = None
    return list(found)
