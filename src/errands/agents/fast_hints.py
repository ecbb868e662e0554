"""Which hints the preset `fast` adds to the paper's meta controller, in which world."""

from errands.agents.hint import Numbers
from errands.agents.hints import named_hints

# Only the block world has counts ("3 pigs"), so only it has a tally. Its pointer hardly ever
# drifts, so it has no bookmark.
GRID_HINTS = (
    "head-start",
    "promptness",
    "bookmark",
    "grounding",
    "reminder",
    "glance",
    "briefing",
    "sighting",
    "pursuit",
)
BLOCK_HINTS = (
    "head-start",
    "promptness",
    "grounding",
    "reminder",
    "tally",
    "glance",
    "briefing",
    "sighting",
    "pursuit",
)
FAST_HINTS = {
    ("grid", False): GRID_HINTS,
    ("grid", True): GRID_HINTS,
    ("block", False): BLOCK_HINTS,
    ("block", True): ("reminder",),  # Flat has no map to read hints from
}


def fast_hints(kind: str, *, flat: bool) -> dict[str, Numbers]:
    """The hints of `fast`, with their numbers; for Flat those that do not ask about subtasks."""
    return named_hints(FAST_HINTS[kind, flat], flat=flat)
