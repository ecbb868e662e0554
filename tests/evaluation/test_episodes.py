"""Episodes counted fairly: whatever the batches, each seed's episode counts once."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from errands.evaluation import episodes, published
from errands.evaluation.episodes import (
    InstructionTest,
    PlannerPolicy,
    agent_named,
    evaluate_instructions,
    mean_and_error,
    watch_episode,
)
from errands.evaluation.tables import read_records
from errands.seeds import TEST_SEEDS, VALIDATION_SEEDS
from errands.worlds.spec import WALL

RESULTS = Path(__file__).parents[2] / "results"
MEASURED = ("success", "reward", "steps", "completed", "events", "events_used")
TEST = InstructionTest("near-optimal", "grid", length=2, episodes=20, seed=3)


def measured(record: dict[str, Any]) -> dict[str, Any]:
    return {name: record[name] for name in MEASURED}


def test_seeds_of_training_validation_and_test_are_apart() -> None:
    assert 2**32 <= VALIDATION_SEEDS < VALIDATION_SEEDS + 2**32 <= TEST_SEEDS


@pytest.mark.parametrize("batch", [1, 7, 20])
def test_batches_make_no_difference(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = evaluate_instructions(TEST)
    monkeypatch.setattr(episodes, "BATCH", batch)
    assert measured(evaluate_instructions(TEST)) == measured(expected)


def test_long_episodes_count_like_short_ones() -> None:
    """The plain way: one world after another, each to its end."""
    rewards, steps = [], []
    for seed in range(TEST.seed, TEST.seed + TEST.episodes):
        worlds = TEST.worlds(1)
        worlds.seed(TEST_SEEDS + seed)
        worlds.reset()
        taken = list(watch_episode(worlds, PlannerPolicy("near-optimal")))
        rewards.append(sum(step.reward for step in taken))
        steps.append(len(taken))
    record = evaluate_instructions(TEST)
    assert record["steps"]["mean"] == np.mean(steps)
    assert record["reward"]["mean"] == pytest.approx(np.mean(rewards), abs=1e-5)


def test_failed_episodes_count_too() -> None:
    class Idle:
        def act(self, worlds: Any) -> Any:
            return np.zeros(worlds.count, np.int64)

    record = evaluate_instructions(TEST, make_policy=lambda worlds: Idle())
    assert record["success"] == {"mean": 0.0, "stderr": 0.0}
    assert record["steps"]["mean"] == record["step_limit"] == 60
    assert record["completed"]["mean"] == 0


def test_a_policy_is_made_for_each_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Agents with a memory begin every episode with an empty one."""
    made = []

    def make(worlds: Any) -> PlannerPolicy:
        made.append(worlds.count)
        return PlannerPolicy("shortest-path")

    monkeypatch.setattr(episodes, "BATCH", 8)
    evaluate_instructions(TEST, make_policy=make)
    assert made == [8, 8, 4]


def test_progress_is_told_up_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    monkeypatch.setattr(episodes, "BATCH", 8)
    evaluate_instructions(TEST, told.append)
    assert told == sorted(told)
    assert told[-1] == TEST.episodes


def test_records_say_how_to_repeat_them() -> None:
    record = evaluate_instructions(replace(TEST, with_all=False, forgiving=True))
    assert record["with_all"] is False
    assert record["forgiving"] is True
    assert record["seed"] == 3
    assert record["version"]
    assert record["seconds"] > 0


def test_the_committed_yardsticks_are_as_close_to_the_paper_as_calibration_promises() -> None:
    records = [r for r in read_records(RESULTS / "planners") if r["world"] == "grid"]
    assert all(r["episodes"] >= 5000 and r["success"]["mean"] >= 0.99 for r in records)
    compared = 0
    for r in records:
        theirs = published.planner(r["world"], r["agent"], r["length"])
        if theirs:
            tolerance = {4: 0.15, 20: 0.6}[r["length"]]
            assert r["reward"]["mean"] == pytest.approx(theirs.reward, abs=tolerance)
            compared += 1
    assert compared == 2 * (2 + 2 + 1)  # agents; seen and unseen at 4 and 20, train at 4
    steps = published.curve("grid", "steps", "near-optimal", "seen")
    assert steps is not None
    near = {r["length"]: r for r in records if (r["agent"], r["split"]) == ("near-optimal", "seen")}
    assert set(near) == {1, 4, 10, 20}
    for length, record in near.items():
        assert record["steps"]["mean"] == pytest.approx(steps[length], rel=0.1)


def test_planners_score_like_the_published_ones() -> None:
    """Loosely, with few episodes: that the code still is what was measured."""
    short = evaluate_instructions(InstructionTest("shortest-path", "grid", episodes=400))
    near = evaluate_instructions(InstructionTest("near-optimal", "grid", episodes=400))
    assert short["reward"]["mean"] == pytest.approx(-1.62, abs=0.25)
    assert near["reward"]["mean"] == pytest.approx(-1.34, abs=0.25)
    assert near["reward"]["mean"] > short["reward"]["mean"]
    assert near["events_used"]["mean"] > short["events_used"]["mean"]


def test_unknown_agents_get_a_suggestion() -> None:
    with pytest.raises(ValueError, match="did you mean near-optimal"):
        agent_named("near-optima")


def test_mean_and_error() -> None:
    assert mean_and_error(np.array([1.0, 3.0])) == {"mean": 2.0, "stderr": 1.0}
    assert mean_and_error(np.array([True])) == {"mean": 1.0, "stderr": None}


def test_sizes_are_drawn_from_the_whole_range() -> None:
    """Outside a map there are walls: where it is open shows how large it is, or a little less."""
    for smallest, largest in ((7, 10), (8, 8)):
        worlds = InstructionTest("shortest-path", "block", sizes=(smallest, largest)).worlds(200)
        worlds.reset()
        is_open = worlds.privileged["tiles"] != WALL
        spans = {int(np.ptp(np.flatnonzero(cells.any(axis=0)))) + 3 for cells in is_open}
        assert spans >= set(range(smallest, largest + 1))
        assert max(spans) == largest
