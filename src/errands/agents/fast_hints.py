"""Which hints the preset `fast` adds to the paper's meta controller, in which world."""

from typing import Any

from errands.agents.hint import Numbers
from errands.agents.hints import named_hints

# Only the block world has counts ("3 pigs"), so only it has a tally.
GRID_HINTS = (
    "head-start",
    "promptness",
    "bookmark",
    "grounding",
    "reminder",
    "focus",
    "leftover",
    "glance",
    "briefing",
    "sighting",
    "pursuit",
)
BLOCK_HINTS = (
    "head-start",
    "promptness",
    "bookmark",
    "grounding",
    "reminder",
    "focus",
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
# Which agents have fewer. Long does not interrupt a subtask, whatever becomes of it, and its
# pointer moves only when one is finished. Short ignores boxes, and its pointer drifts little.
FAST_WITHOUT: tuple[tuple[dict[str, Any], tuple[str, ...]], ...] = (
    ({"kind": "grid", "interrupts": False}, ("pursuit",)),
    ({"kind": "block", "interrupts": False}, ("pursuit", "bookmark")),
    ({"kind": "block", "agent": "short"}, ("bookmark",)),
)


def fast_hints(kind: str, *, flat: bool) -> dict[str, Numbers]:
    """The hints of `fast`, with their numbers; for Flat those that do not ask about subtasks."""
    return named_hints(FAST_HINTS[kind, flat], flat=flat)
