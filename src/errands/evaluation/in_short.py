"""What a newcomer reads first: five agents, and the paper's claims, in a line each."""

from errands.evaluation import published
from errands.evaluation.claims import (
    OUTCOMES,
    WORLD_NAMES,
    Evidence,
    Lists,
    Measured,
    claims,
    judge,
)
from errands.evaluation.document import Table
from errands.evaluation.seed_tables import shown_share

AGENTS_IN_SHORT = ("flat", "short", "long", "dynamic", "near-optimal")
LISTS_IN_SHORT = {"train": "training lists of 4", "unseen": "unseen lists of 20"}


def agents_in_short(evidence: Evidence) -> Table:
    """Success of each agent on training lists of 4 and unseen lists of 20, beside the paper's."""
    columns = [(world, split) for world in WORLD_NAMES for split in LISTS_IN_SHORT]
    headings = ("agent", *(f"{world}, {LISTS_IN_SHORT[split]}" for world, split in columns))
    rows = tuple(
        (agent, *(_success(evidence, Lists(world, agent, split)) for world, split in columns))
        for agent in AGENTS_IN_SHORT
    )
    return Table(headings, rows)


def _success(evidence: Evidence, cell: Lists) -> str:
    """Ours, with the paper's in parentheses."""
    ours, theirs = evidence.measure(cell), published.lists(cell.world, cell.agent, cell.split)
    return shown(ours) + (f" (paper: {theirs.success:.0%})" if theirs else "")


def shown(measured: Measured | None) -> str:
    """A success rate with its error; over several seeds, with their number."""
    seeds = measured.seeds if measured else 0
    return shown_share(measured) + (f", {seeds} seeds" if seeds > 1 else "")


def claims_in_short(evidence: Evidence) -> Table:
    """Every claim with its verdict, and the first numbers for it and against it."""
    rows = []
    for claim in claims():
        found = judge(claim, evidence)
        firsts = [(how, said[0]) for how, said in found.numbers.items() if said]
        mixed = len(firsts) > 1
        numbers = "; ".join((OUTCOMES[how] if mixed else "") + said for how, said in firsts)
        rows.append((claim.text, f"**{found.verdict}**", numbers))
    return Table(("the paper's claim", "here", "for example"), tuple(rows), words=3)
