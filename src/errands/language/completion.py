"""Words that can follow while somebody types a list."""

import re

from errands.language.instruction import Instruction
from errands.language.vocabulary import (
    ALL,
    ARTICLES,
    NUMBER_WORDS,
    QUANTITY_WORDS,
    VERBS,
    Vocabulary,
    quantity_word,
)
from errands.language.words import clauses, last_word

OFFERED_COUNTS = (2, 3)  # in every world: what one instruction cannot carry becomes several


def complete(text: str, vocabulary: Vocabulary, cursor: int | None = None) -> list[str]:
    """Words that can stand in place of the last, perhaps empty, word before the cursor."""
    before = text[:cursor]
    start = last_word(before)
    begun = before[start:].casefold()
    *earlier, clause = clauses(before[:start])
    said = _canonical([word.text for word in clause], vocabulary)
    typed = {int(word) for word in said if re.fullmatch(r"[1-9][0-9]{0,3}", word)}
    carried_over = bool(earlier) and bool(said or begun)

    found: dict[str, None] = {}  # a set that keeps its order
    for verb in VERBS:
        for quantity in dict.fromkeys((*vocabulary.quantities, *OFFERED_COUNTS, *sorted(typed))):
            if quantity == ALL and not vocabulary.carries(verb, ALL):
                continue
            for name in vocabulary.objects:
                sentence = Instruction(verb, name, quantity).words(vocabulary).split()
                sentences = [sentence, sentence[len(verb.split()) :]]
                for words in sentences if carried_over else sentences[:1]:
                    if [word.casefold() for word in words[: len(said)]] != said:
                        continue
                    following = [*words, "then"][len(said)]
                    if following.casefold().startswith(begun):
                        found[following] = None
    if found or said:
        return list(found)
    # Nothing of ours begins like this; perhaps a synonym does.
    firsts = (phrase[0] for phrase in vocabulary.verb_phrases)
    return list(dict.fromkeys(word for word in firsts if begun and word.startswith(begun)))


def _canonical(words: list[str], vocabulary: Vocabulary) -> list[str]:
    """The words of an unfinished instruction, without articles, in the world's own terms."""
    for phrase, verb in vocabulary.verb_phrases.items():
        if tuple(words[: len(phrase)]) == phrase and verb.split()[:1] != list(phrase):
            words = [*verb.split(), *words[len(phrase) :]]
            break
    kept = [word for word in words if word not in ARTICLES and word != "of"]
    numbers = {word: str(number) for word, number in NUMBER_WORDS.items()}
    numbers |= {word: quantity_word(quantity) for word, quantity in QUANTITY_WORDS.items()}
    return [numbers.get(word, word) for word in kept]
