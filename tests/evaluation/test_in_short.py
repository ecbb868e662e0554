"""What the first page says, from results that are made here."""

from typing import Any

import pytest

from errands.evaluation.claims import Evidence, Measured, claims
from errands.evaluation.in_short import agents_in_short, claims_in_short, shown
from twins.results import list_record


def unseen(agent: str, success: float, **changed: Any) -> dict[str, Any]:
    return list_record(agent, "unseen", 20, success={"mean": success, "stderr": 0.01}, **changed)


def test_an_agents_row_has_its_success_beside_the_papers() -> None:
    records = [unseen("dynamic", 0.8), unseen("dynamic", 0.9, seed=1), unseen("short", 0.7)]
    table = agents_in_short(Evidence(records, []))
    rows = {row[0]: dict(zip(table.headings, row, strict=True)) for row in table.rows}
    column = "grid, unseen lists of 20"
    assert rows["dynamic"][column] == "85.0 ± 5.0%, 2 seeds (paper: 40%)"
    assert rows["short"][column] == "70.0 ± 1.0% (paper: 11%)"
    assert rows["long"][column] == "-"  # neither measured nor published
    assert rows["dynamic"]["block, unseen lists of 20"] == "- (paper: 56%)"


@pytest.mark.parametrize(
    ("measured", "text"),
    [
        (None, "-"),
        (Measured(0.5, 0.01, 1), "50.0 ± 1.0%"),
        (Measured(0.5, 0.01, 3), "50.0 ± 1.0%, 3 seeds"),
    ],
)
def test_what_is_shown_of_a_measurement(measured: Measured | None, text: str) -> None:
    assert shown(measured) == text


def test_every_claim_has_a_line_with_its_verdict() -> None:
    records = [unseen("dynamic", 0.9), unseen("flat", 0.1)]
    table = claims_in_short(Evidence(records, []))
    assert [row[0] for row in table.rows] == [claim.text for claim in claims()]
    lines = {row[0]: row[1:] for row in table.rows}
    against_flat = lines["The hierarchy executes lists that a flat agent cannot"]
    assert against_flat[0] == "**held in part**"
    assert against_flat[1].startswith("grid, unseen 20, success: 90.0% against 10.0%; *but not* ")
    assert lines["Pre-training by distillation gives slightly better skills"][1] == ""
