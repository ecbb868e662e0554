"""Every agent that can be named, in one table.

Whatever lists agents reads it: command-line choices and help, presets, the page, tables, figures
and docs. To add an agent, add a row. Nothing slow is imported here: `errands --help` reads it, too.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from errands.agents.deciding import Gate

Sort = Literal["trained", "planner"]


@dataclass(frozen=True)
class Design:
    """How an agent that `errands train meta` can train differs from the others."""

    gate: "Gate"  # when it may choose another subtask
    decides: str  # the same in words, after "it decides"
    paper: str  # what the paper calls it
    flat: bool = False  # it chooses primitive actions itself, without a skill
    # Whether it can leave an unfinished subtask for an event. One that cannot never uses enough
    # events for their frequency in training to fall to the world's own.
    interrupts: bool = False


@dataclass(frozen=True)
class AgentEntry:
    """One row of the table."""

    name: str  # on the command line, in result files and in `errands.load("WORLD/NAME")`
    title: str  # on the page
    note: str  # what the page says about it
    sort: Sort = "trained"
    design: Design | None = None  # None: a planner, or an ablation of an agent with a design
    colour: str = ""  # of its curves; figures leave out agents without one


# The order is that of every list of choices. Tables and figures of results have it reversed, so
# that the agent they are about comes last.
_ENTRIES = (
    AgentEntry(
        "dynamic",
        "Dynamic",
        "Trained. Learns when to look at its list again.",
        design=Design("learned", "when it has learned to", "Hierarchical-Dynamic", interrupts=True),
        colour="#1f5fa8",
    ),
    AgentEntry(
        "short",
        "Short",
        "Trained. Looks at its list in every step.",
        design=Design("every-step", "at every step", "Hierarchical-Short", interrupts=True),
        colour="#e07a1f",
    ),
    AgentEntry(
        "long",
        "Long",
        "Trained. Looks at its list when a subtask is finished.",
        design=Design("at-termination", "when a subtask is finished", "Hierarchical-Long"),
        colour="#8e5ea2",
    ),
    AgentEntry(
        "flat",
        "Flat",
        "Trained. Acts from the list directly, without subtasks.",
        design=Design(
            "every-step",
            "at every step, and chooses primitive actions: it has no skill",
            "Flat",
            flat=True,
        ),
        colour="#7a9a01",
    ),
    AgentEntry(
        "dynamic-no-analogy", "Dynamic, no analogies", "Trained without the analogies' objective."
    ),
    AgentEntry("dynamic-soft", "Dynamic, soft updates", "Trained. Blends old and new subtasks."),
    AgentEntry(
        "near-optimal",
        "Near-optimal planner",
        "Sees everything, goes for events that are close.",
        sort="planner",
        colour="0.45",
    ),
    AgentEntry(
        "shortest-path",
        "Shortest-path planner",
        "Sees everything, ignores events.",
        sort="planner",
    ),
)
AGENTS = {entry.name: entry for entry in _ENTRIES}
FAVOURITE = _ENTRIES[0].name  # the default, and the one that reports look at most closely
ALWAYS_THERE = "near-optimal"  # a planner: it acts where the favourite is not shipped


def designs() -> dict[str, Design]:
    """The agents that `errands train meta` can train."""
    return {name: entry.design for name, entry in AGENTS.items() if entry.design}


def named(sort: Sort) -> tuple[str, ...]:
    """The agents of one sort."""
    return tuple(name for name, entry in AGENTS.items() if entry.sort == sort)


def order_of_results() -> tuple[str, ...]:
    """Agents as tables and figures show them, without ablations, which belong to their agent."""
    shown = (name for name, entry in AGENTS.items() if entry.design or entry.sort == "planner")
    return tuple(reversed(tuple(shown)))
