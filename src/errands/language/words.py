"""A text as the words of its instructions, before anything is known about their meaning."""

import re
from typing import NamedTuple

from errands.language.vocabulary import FILLERS, JOINING_WORDS


class Word(NamedTuple):
    """A word of a text, which stands at text[start:end]."""

    text: str  # case-folded
    start: int
    end: int


_ARROW = r"[-=\u2013\u2014]*>|[\u2192\u21d2]"
# A period between digits belongs to the word, so that "2.5" is named whole when it is refused.
_TOKEN = re.compile(
    rf"(?P<separator>[,;:!?&\n\r\v\f\x1c-\x1e\x85\u2028\u2029]|(?<![0-9])\.|\.(?![0-9])|{_ARROW})"
    rf"|(?P<word>(?:(?!{_ARROW})[^\s,;:!?&.]|(?<=[0-9])\.(?=[0-9]))+)"
)
# "1." or "(2)" or a dash before an instruction, as in a list of lines.
_BULLET = re.compile(r"\(?[0-9]+[.):](?![0-9])|[-*+\u2022\u2013\u2014](?![0-9>])")


def clauses(text: str) -> list[list[Word]]:
    """The words of each instruction, without separators, bullets and opening fillers.

    The last one may have no words; the others have some.
    """
    found: list[list[Word]] = [[]]
    position = 0
    while position < len(text):
        bullet = None if found[-1] else _BULLET.match(text, position)
        match = bullet or _TOKEN.match(text, position)
        if match is None:  # a space
            position += 1
            continue
        position = match.end()
        if bullet:
            continue
        folded = match.group().casefold()
        if match["word"] and folded not in JOINING_WORDS:
            if found[-1] or folded not in FILLERS:
                found[-1].append(Word(folded, match.start(), match.end()))
        elif found[-1]:
            found.append([])
    return found


def last_word(text: str) -> int:
    """Where the last word of the text begins, which is its end if a space or separator is there."""
    start = 0
    for match in re.finditer(rf"\s|{_TOKEN.pattern}", text):
        start = match.start() if match["word"] else match.end()
    return start
