"""What `errands evaluate instructions --explain` prints: which decisions went wrong."""

from typing import Any

from rich.box import HEAVY_HEAD
from rich.console import Console
from rich.table import Table

NOTHING_TO_SAY = "-"  # unknown, or a share of nothing
NO_SKILL = "Without a skill there is no signal, and no subtask to compare with the instruction."


def print_explanation(explanation: dict[str, Any], console: Console) -> None:
    """The tables of an `Explanation.record`; without a terminal, plain columns."""
    if explanation["failed"]:
        _print(_causes(explanation), console)
    else:
        console.print("\nNo list failed.", highlight=False)
    shown = set()
    for example in explanation["examples"]:
        if example["cause"] not in shown:
            shown.add(example["cause"])
            line = f"{example['cause']}, seed {example['seed']}: {example['sentence']}"
            console.print(line, highlight=False, soft_wrap=True)
    _print(_instructions(explanation["instructions"]), console)
    console.print(_events(explanation["events"]), highlight=False, soft_wrap=True)
    if not explanation["has_skill"]:
        console.print(NO_SKILL, highlight=False, soft_wrap=True)


def _print(table: Table, console: Console) -> None:
    table.box = HEAVY_HEAD if console.is_terminal else None
    table.pad_edge, table.collapse_padding = console.is_terminal, not console.is_terminal
    console.print()
    console.print(table)


def _causes(explanation: dict[str, Any]) -> Table:
    failed = explanation["failed"]
    table = Table(title=f"Why {failed} {'list' if failed == 1 else 'lists'} failed")
    table.add_column("cause")
    for heading in ("lists", "share", "targets used up"):
        table.add_column(heading, justify="right")
    for cause, counts in explanation["causes"].items():
        table.add_row(
            cause,
            _number(counts["lists"]),
            _share(counts["lists"], failed),
            _number(counts["used_up"]),
        )
    return table


def _instructions(tallies: dict[str, dict[str, Any]]) -> Table:
    """Those that lists failed by come first."""
    table = Table(title="Decisions, instruction by instruction")
    table.add_column("instruction")
    for heading in ("failed", "begun", "done", "signal", "gate", "pointer", "left", "alarms"):
        table.add_column(heading, justify="right", no_wrap=True)
    for words, tally in sorted(tallies.items(), key=lambda item: (-item[1]["failed"], item[0])):
        table.add_row(
            words,
            str(tally["failed"]),
            str(tally["begun"]),
            _share(tally["finished"], tally["begun"]),
            *(_share(tally[name], tally["judged"]) for name in ("signal", "gate", "pointer")),
            _share(tally["left_early"], tally["begun"]),
            _share(tally["false_alarms"], tally["begun"]),
        )
    return table


def _events(events: dict[str, Any]) -> str:
    caught = f"Events: {events['caught']} of {events['events']} caught"
    caught += f" ({_share(events['caught'], events['events'])})"
    if not events["hunts"]:
        return caught + ("." if events["hunts"] is None else "; no hunt.")
    stayed = _share(events["hunts_stayed"], events["hunts"])
    return f"{caught}; {events['hunts']} hunts, in {stayed} of them the pointer stayed."


def _number(count: int | None) -> str:
    return NOTHING_TO_SAY if count is None else str(count)


def _share(some: int | None, of: int) -> str:
    if some is None or not of:
        return NOTHING_TO_SAY
    return "100%" if some == of else f"{some / of:.1%}"
