"""What can be asked: words, instructions, the paper's splits, and analogies between subtasks."""

from errands.language.analogies import Analogies
from errands.language.completion import complete
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
from errands.language.splits import (
    SCENARIOS,
    TRAINED_COUNTS,
    VOCABULARIES,
    groups,
    instructions,
    subtasks,
    vocabulary_of,
)
from errands.language.vocabulary import (
    ALL,
    BLOCK_VOCABULARY,
    GRID_VOCABULARY,
    INTERACT,
    PICK_UP,
    SYNONYMS,
    TRANSFORM,
    VERBS,
    VISIT,
    Vocabulary,
)

__all__ = [
    "ALL",
    "BLOCK_VOCABULARY",
    "GRID_VOCABULARY",
    "INTERACT",
    "MAX_INSTRUCTIONS",
    "PICK_UP",
    "SCENARIOS",
    "SYNONYMS",
    "TRAINED_COUNTS",
    "TRANSFORM",
    "VERBS",
    "VISIT",
    "VOCABULARIES",
    "Analogies",
    "Instruction",
    "InstructionError",
    "Vocabulary",
    "canonical",
    "complete",
    "encode",
    "groups",
    "instructions",
    "parse_instruction",
    "parse_instructions",
    "subtasks",
    "understood_as",
    "vocabulary_of",
]
