"""Verdicts follow from results alone, and what was not measured has none."""

from typing import Any

import pytest

from errands.agents.fast_hints import GRID_HINTS
from errands.evaluation.claims import (
    Claim,
    Comparison,
    Evidence,
    Lists,
    Measured,
    Skills,
    claims,
    judge,
    verdict_table,
)
from twins.results import list_record

DYNAMIC, SHORT = Lists("grid", "dynamic"), Lists("grid", "short")


def measured(agent: str, success: float, error: float = 0.01, **changed: Any) -> dict[str, Any]:
    score = {"mean": success, "stderr": error}
    return list_record(agent, "unseen", 20, success=score, **changed)


def skill(success: float, **changed: Any) -> dict[str, Any]:
    training = {"analogy": True, "preset": "fast", "teacher": "planner", "seed": 0}
    training |= {name: changed.pop(name) for name in list(changed) if name in training}
    about = {"world": "grid", "scenario": "independent", "split": "unseen", "episodes": 100}
    score = {"mean": success, "stderr": 0.001}
    return about | {"success": score, "training": training} | changed


def test_one_seed_has_the_error_of_its_episodes_and_several_that_of_seeds() -> None:
    one = Evidence([measured("dynamic", 0.9, 0.02)], [])
    assert one.measure(DYNAMIC) == Measured(0.9, 0.02, 1)
    several = [measured("dynamic", 0.8 + 0.1 * seed, seed=seed) for seed in range(2)]
    found = Evidence(several, []).measure(DYNAMIC)
    assert found == Measured(pytest.approx(0.85), pytest.approx(0.05), 2)


def test_a_seed_counts_once_with_most_episodes() -> None:
    records = [measured("dynamic", value, episodes=n) for value, n in ((0.1, 10), (0.9, 1000))]
    found = Evidence(records, []).measure(DYNAMIC)
    assert found is not None
    assert (found.value, found.seeds) == (0.9, 1)


@pytest.mark.parametrize(
    "changed",
    [
        {"analogy": False},
        {"soft": True},
        {"run_soft": True},
        {"preset": "paper"},
        {"forgiving": True},
        {"with_all": False},
        {"sizes": [7, 10]},
        {"world": "block"},
    ],
)
def test_only_what_a_cell_names_counts(changed: dict[str, Any]) -> None:
    assert Evidence([measured("dynamic", 0.9, **changed)], []).measure(DYNAMIC) is None
    for split, length in (("seen", 20), ("unseen", 10)):
        assert Evidence([list_record("dynamic", split, length)], []).measure(DYNAMIC) is None


def test_an_agent_without_a_hint_is_another() -> None:
    record = measured("dynamic", 0.9)
    every = sorted(GRID_HINTS)
    whole = record | {"training": record["training"] | {"hints": every}}
    part = record | {"training": record["training"] | {"hints": every[1:]}}
    assert Evidence([whole], []).measure(DYNAMIC) is not None
    assert Evidence([part], []).measure(DYNAMIC) is None


@pytest.mark.parametrize(
    ("mine", "theirs", "outcome"),
    [(0.9, 0.8, "held"), (0.82, 0.8, "unclear"), (0.7, 0.8, "failed")],
)
def test_a_difference_must_exceed_two_standard_errors(
    mine: float, theirs: float, outcome: str
) -> None:
    evidence = Evidence([measured("dynamic", mine, 0.02), measured("short", theirs, 0.01)], [])
    found = Comparison("here", DYNAMIC, SHORT).outcome(evidence)
    assert found == (outcome, f"here: {mine:.1%} against {theirs:.1%}")


def test_a_difference_that_cannot_matter_does_not_hold() -> None:
    """However certain it is: 99.3% without analogies does not show that they are needed."""
    check = Comparison(
        "", Skills("grid", "independent"), Skills("grid", "independent", analogy=False)
    )
    small = Evidence([], [skill(0.998), skill(0.993, analogy=False)])
    assert check.outcome(small) == ("held", ": 99.8% against 99.3%")
    assert judge(claims()[0], small).verdict == "did not hold"
    large = Evidence([], [skill(0.998), skill(0.5, analogy=False)])
    assert judge(claims()[0], large).verdict == "held"
    none = Evidence([], [skill(0.998), skill(0.998, analogy=False)])
    assert check.outcome(none) == ("failed", ": 99.8% against 99.8%")


def test_a_number_of_the_paper_is_reached_or_not() -> None:
    check = Comparison("", DYNAMIC, 0.403)
    assert check.outcome(Evidence([measured("dynamic", 0.9)], [])) == (
        "held",
        ": 90.0% against 40.3%",
    )
    failed = check.outcome(Evidence([measured("dynamic", 0.3)], []))
    assert failed is not None
    assert failed[0] == "failed"
    below = Comparison("", DYNAMIC, 0.5, is_below=True)
    failed = below.outcome(Evidence([measured("dynamic", 0.9)], []))
    assert failed is not None
    assert failed[0] == "failed"


@pytest.mark.parametrize(
    ("scores", "verdict"),
    [
        ({}, "not measured yet"),
        ({"dynamic": 0.9}, "not measured yet"),
        ({"dynamic": 0.9, "short": 0.1, "long": 0.1}, "held"),
        ({"dynamic": 0.9, "short": 0.1}, "held"),
        ({"dynamic": 0.5, "short": 0.1, "long": 0.9}, "held in part"),
        ({"dynamic": 0.5, "short": 0.1, "long": 0.5}, "held in part"),
        ({"dynamic": 0.5, "short": 0.5}, "unclear"),
        ({"dynamic": 0.5, "short": 0.5, "long": 0.9}, "did not hold"),
    ],
)
def test_verdicts(scores: dict[str, float], verdict: str) -> None:
    claim = Claim("", tuple(Comparison(a, DYNAMIC, Lists("grid", a)) for a in ("short", "long")))
    evidence = Evidence([measured(agent, value) for agent, value in scores.items()], [])
    found = judge(claim, evidence)
    assert found.verdict == verdict
    if "long" not in scores:
        assert "long" in found.missing


def test_the_table_has_every_claim_and_says_what_was_not_measured() -> None:
    nothing = verdict_table(Evidence([], []))
    assert len(nothing.rows) == len(claims())
    assert all(row[1:] == ("not measured yet", "", "") for row in nothing.rows)
    evidence = Evidence([measured("dynamic", 0.9), measured("short", 0.1)], [])
    rows = {row[0]: row for row in verdict_table(evidence).rows}
    _, verdict, numbers, _ = rows["Learning when to update is better than updating at every step"]
    assert verdict == "held in part"  # their rewards are the same
    assert numbers.startswith("grid, unseen 20, success: 90.0% against 10.0%. *but not* grid")
    assert "*not measured yet:* grid, seen 20, success" in numbers


def test_every_check_of_a_claim_has_a_name_of_its_own() -> None:
    for claim in claims():
        names = [check.about for check in claim.checks]
        assert len(set(names)) == len(names) > 0


def test_events_are_compared_by_the_share_that_was_used() -> None:
    long = measured("long", 0.9, events_used={"mean": 0.5, "stderr": 0.01})
    evidence = Evidence([measured("dynamic", 0.9), long], [])
    (claim,) = (claim for claim in claims() if "interrupts" in claim.text)
    assert judge(claim, evidence).numbers["held"] == (
        "grid, share of events used: 40.0% against 10.0%",
    )
