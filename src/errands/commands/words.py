"""`errands words`: what can be said in a world."""

from dataclasses import dataclass

from errands.commands.choices import DEFAULT_WORLD, WorldOption
from errands.language.vocabulary import (
    ALL,
    FILLERS,
    QUANTITY_WORDS,
    REPEAT_WORDS,
    TIMES,
    VERBS,
    Vocabulary,
)
from errands.worlds.spec import WORLDS, WorldSpec
from errands.worlds.tasks import untrained_verbs


@dataclass(frozen=True)
class Words:
    """List the words that a world understands: verbs, quantities, objects, and their synonyms.

    examples
      errands words
      errands words --world block
    """

    world: WorldOption = DEFAULT_WORLD

    def execute(self) -> int:
        spec = WORLDS[self.world]
        rows = [
            *(("verb", verb, _about_verb(spec, verb)) for verb in VERBS),
            *_quantities(spec.vocabulary),
            *(("object", name, _about(spec, name)) for name in spec.objects),
            ("order", 'comma, new line, "then", "and", "->"', ""),
            ("ignored", f"articles, {', '.join(sorted(FILLERS))}", ""),
        ]
        said = ""
        for sort, word, note in rows:
            label = sort if sort != said else ""
            print(f"{label:8}  {word:15}  {note}".rstrip())
            said = sort
        print(f'example   errands run "{spec.example}"')
        return 0


def _synonyms(vocabulary: Vocabulary, meaning: str) -> str:
    other = [word for word, meant in vocabulary.synonyms.items() if meant == meaning]
    return f"also: {', '.join(other)}" if other else ""


def _about_verb(spec: WorldSpec, verb: str) -> str:
    notes = [_synonyms(spec.vocabulary, verb)]
    if verb in untrained_verbs(spec):
        notes.append("planners only: no trained agent learned it")
    return "; ".join(filter(None, notes))


def _quantities(vocabulary: Vocabulary) -> list[tuple[str, str, str]]:
    other = [word for word, quantity in QUANTITY_WORDS.items() if quantity == ALL][1:]
    rows = []
    if ALL in vocabulary.quantities:
        verbs = ", ".join(vocabulary.countable)
        rows.append(("quantity", "all", f"also: {', '.join(other)}; after {verbs}"))
    repeats = ", ".join((*REPEAT_WORDS, f"3 {TIMES}"))
    rows.append(("quantity", "2, 3, two, both", f"before the object; after it: {repeats}"))
    return rows


def _about(spec: WorldSpec, name: str) -> str:
    notes = [_synonyms(spec.vocabulary, name)]
    plural = spec.vocabulary.plural(name)
    if plural != name:
        notes.insert(0, plural)
    product = spec.transforms.get(name)
    if product not in (None, name):
        notes.append(f"transform makes it {product}")
    if spec.event is not None and spec.event.object == name:
        notes.append("appears on its own: transform it for a reward")
    return "; ".join(filter(None, notes))
