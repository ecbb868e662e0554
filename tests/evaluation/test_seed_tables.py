"""Tables over seeds: a row for every agent that has several."""

from typing import Any

from errands.evaluation.seed_tables import (
    additions,
    improvements,
    lists_over_seeds,
    skills_over_seeds,
)
from errands.presets import meta_training
from twins.results import list_record


def runs(agent: str, successes: list[float], **changed: Any) -> list[dict[str, Any]]:
    """One run for each success, on unseen lists of 20."""
    return [
        list_record(agent, "unseen", 20, seed=k, success={"mean": value, "stderr": 0.01}, **changed)
        for k, value in enumerate(successes)
    ]


def test_a_row_has_the_mean_the_iqm_the_better_half_and_the_worst() -> None:
    records = runs("dynamic", [0.9, 0.5, 0.8, 0.7, 0.6]) + runs("short", [0.3])
    table = lists_over_seeds(records)
    assert table is not None
    (row,) = table.rows
    assert row[:6] == ("grid", "dynamic", "unseen 20", "5", "40.3%", "80.0%")
    assert row[6].startswith("70.0% (")
    assert row[7].startswith("70.0% (")
    assert row[8] == "50.0%"
    assert len(row) == len(table.headings)


def test_seeds_of_different_agents_are_not_mixed() -> None:
    records = runs("dynamic", [0.9, 0.8]) + runs("dynamic", [0.1, 0.2], analogy=False)
    records += runs("dynamic", [0.3, 0.4], preset="paper")
    table = lists_over_seeds(records)
    assert table is not None
    assert [(row[1], row[3], row[8]) for row in table.rows] == [
        ("dynamic, no analogy", "2", "10.0%"),
        ("dynamic", "2", "80.0%"),
        ("dynamic, paper", "2", "30.0%"),
    ]


def test_single_seeds_have_no_table() -> None:
    records = runs("dynamic", [0.9]) + runs("short", [0.3])
    assert lists_over_seeds(records) is None
    assert improvements(records) is None
    assert skills_over_seeds([]) is None


def test_improvement_over_every_other_agent_of_the_world() -> None:
    records = runs("dynamic", [0.9, 0.8]) + runs("short", [0.1, 0.85]) + runs("flat", [0.1])
    records += runs("long", [0.1, 0.2], world="block")
    table = improvements(records)
    assert table is not None
    assert table.rows == (
        ("grid", "dynamic over short", "75.0% (0.0 to 100.0)", "50.0% (50.0 to 50.0)"),
    )


def every_list(successes: list[float], **changed: Any) -> list[dict[str, Any]]:
    """Runs of Dynamic that were measured on all of the paper's lists."""
    return [
        list_record("dynamic", *lists, seed=k, success={"mean": value, "stderr": 0.01}, **changed)
        for lists in (("train", 4), ("seen", 20), ("unseen", 20))
        for k, value in enumerate(successes)
    ]


def test_what_each_part_carries() -> None:
    hints = list(meta_training("grid", "dynamic").network.hints)
    records = every_list([0.9, 0.8]) + every_list([0.3], preset="paper")
    records += every_list([0.1], hints=[]) + every_list([0.6, 0.4], hints=hints[1:])
    records += every_list([0.5], analogy=False) + runs("dynamic", [0.2], soft=True)
    records += every_list([0.7], forgiving=True) + every_list([0.7], with_all=False)
    records += every_list([0.9], world="block")
    table = additions(records)
    assert table is not None
    assert [(*row[:3], row[5]) for row in table.rows] == [
        ("grid", "dynamic", "2", "85.0 ± 5.0%"),
        ("grid", "dynamic, no analogy", "1", "50.0 ± 1.0%"),
        ("grid", "dynamic, preset paper", "1", "30.0 ± 1.0%"),
        ("grid", "dynamic, without hints", "1", "10.0 ± 1.0%"),
        ("grid", f"dynamic, without {hints[0]}", "2", "50.0 ± 10.0%"),
    ]
    assert table.rows[0][6:] == ("-10.00 ± 0.00", "40.0 ± 0.0%")
    assert len(table.rows[0]) == len(table.headings)


def test_without_reduced_agents_there_is_nothing_to_compare() -> None:
    assert additions(every_list([0.9, 0.8])) is None


def skill(seed: int, success: float, **training: Any) -> dict[str, Any]:
    about = {"analogy": True, "preset": "fast", "teacher": "planner", "seed": seed}
    return {
        "world": "grid",
        "scenario": "independent",
        "split": "unseen",
        "success": {"mean": success, "stderr": 0.01},
        "training": about | training,
    }


def test_skills_over_seeds() -> None:
    records = [skill(seed, 0.9 + 0.05 * seed) for seed in range(2)]
    records += [skill(seed, 0.5, analogy=False) for seed in range(3)]
    records += [skill(0, 0.1, teacher="rl")]
    table = skills_over_seeds(records)
    assert table is not None
    assert [(*row[2:6], row[-1]) for row in table.rows] == [
        ("no", "fast, planner", "unseen", "3", "50.0%"),
        ("yes", "fast, planner", "unseen", "2", "90.0%"),
    ]
