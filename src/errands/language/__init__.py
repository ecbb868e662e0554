"""What can be asked: words, instructions, the paper's splits, and analogies between subtasks."""

from errands.language.analogies import Analogies
from errands.language.instruction import (
    MAX_INSTRUCTIONS,
    Instruction,
    InstructionError,
    complete,
    encode,
    parse_instruction,
    parse_instructions,
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
    "TRAINED_COUNTS",
    "TRANSFORM",
    "VERBS",
    "VISIT",
    "VOCABULARIES",
    "Analogies",
    "Instruction",
    "InstructionError",
    "Vocabulary",
    "complete",
    "encode",
    "groups",
    "instructions",
    "parse_instruction",
    "parse_instructions",
    "subtasks",
    "vocabulary_of",
]
