"""Decisions are counted as they were: by hand, by agents with a known fault, by a shipped one."""

import json

import numpy as np
import pytest

from errands.evaluation.account import Account, Witnessed
from errands.evaluation.decisions import EXAMPLES, Explanation
from errands.evaluation.episodes import (
    InstructionTest,
    Policy,
    evaluate_instructions,
    run_episodes,
)
from errands.evaluation.explain import Cause
from errands.seeds import TEST_SEEDS
from errands.worlds.gym import instruction_worlds
from errands.worlds.vector import Worlds
from twins.accounts import Faulty, Step, by_hand
from twins.thinker import Thinker


def explained(*accounts: Account) -> Explanation:
    explanation = Explanation()
    explanation.add(accounts)
    return explanation


def test_what_follows_a_finished_instruction_is_counted() -> None:
    steps = [
        Step(0, "pick up cat", deed="pick up cat"),
        Step(0, "pick up cat", signal=True),  # the gate stays shut
        Step(1, "visit pig", gate=True),
        Step(1, "visit pig", deed="visit pig"),
        Step(2, "pick up cat", signal=True, gate=True),
        Step(2, "pick up cat", deed="pick up cat"),
        Step(3, "visit sheep", gate=True),  # and the signal is missed
    ]
    told = explained(by_hand("pick up cat, visit pig, pick up cat, visit sheep", steps)).tallies
    cat, pig, sheep = (told[words] for words in ("pick up cat", "visit pig", "visit sheep"))
    assert (cat.begun, cat.finished, cat.judged) == (2, 2, 2)
    assert (cat.signal, cat.gate, cat.pointer) == (1, 1, 1)
    assert (pig.begun, pig.finished, pig.judged) == (1, 1, 1)
    assert (pig.signal, pig.gate, pig.pointer) == (1, 1, 1)
    assert (sheep.begun, sheep.finished, sheep.failed) == (1, 0, 1)
    assert not any(tally.left_early or tally.false_alarms for tally in told.values())


def test_after_the_last_instruction_nothing_is_decided() -> None:
    told = explained(by_hand("visit pig", [Step(0, "visit pig", deed="visit pig")]))
    tally = told.tallies["visit pig"]
    assert (tally.begun, tally.finished, tally.judged) == (1, 1, 0)
    assert told.record()["failed"] == 0


def test_what_was_finished_by_accident_is_not_held_against_the_skill() -> None:
    steps = [Step(0, "transform box", deed="visit pig"), *[Step(0, "visit pig")] * 3]
    tally = explained(by_hand("visit pig, visit cat", steps)).tallies["visit pig"]
    assert (tally.finished, tally.by_accident, tally.judged) == (1, 1, 0)


def test_leaving_early_and_false_alarms_count_once_for_each_time_begun() -> None:
    steps = [
        Step(0, "pick up pig", deed="pick up pig"),
        Step(0, "pick up pig", signal=True),
        Step(0, "pick up pig", signal=True),  # a false alarm
        Step(1, "visit cat", signal=True, gate=True),  # another, and it leaves
        Step(0, "pick up pig", gate=True),
        Step(1, "visit cat", gate=True),  # it leaves again
    ]
    tally = explained(by_hand("pick up 3 pigs, visit cat", steps)).tallies["pick up 3 pigs"]
    assert (tally.begun, tally.left_early, tally.false_alarms) == (1, 1, 1)
    assert (tally.partly, tally.partly_signal) == (1, 1)


def test_a_signal_after_a_hunt_is_no_false_alarm_of_the_instruction() -> None:
    steps = [
        Step(0, "transform box", deed="transform box"),
        Step(0, "visit cat", signal=True, gate=True),
        Step(0, "visit cat"),
    ]
    assert explained(by_hand("visit cat", steps)).tallies["visit cat"].false_alarms == 0


def test_hunts_are_counted_with_the_step_that_ends_them() -> None:
    hunt = [Step(0, "visit cat"), Step(0, "transform box"), Step(0, "transform box")]
    steps = [
        *hunt,
        Step(0, "transform box", deed="transform box"),
        Step(0, "visit cat", signal=True, gate=True),  # the pointer stays
        *hunt,
        Step(1, "visit pig", signal=True, gate=True),  # it moves on
        Step(0, "transform box", gate=True),  # back, to the right place
    ]
    events = explained(by_hand("visit cat, visit pig", steps)).events
    assert (events.hunts, events.hunts_stayed, events.hunts_caught) == (3, 2, 1)
    assert (events.events, events.caught) == (1, 1)


def test_what_the_list_asks_for_is_no_hunt() -> None:
    account = by_hand("transform box", [Step(0, "transform box")] * 3)
    assert explained(account).events.hunts == 0


def test_examples_are_few_for_each_cause_and_name_their_seed() -> None:
    late = by_hand("visit cat", [Step(0, "visit cat")] * 3)
    other = by_hand("visit cat", [Step(0, "visit pig")] * 3)
    explanation = Explanation()
    explanation.add([late] * 9, first_seed=100)
    explanation.add([other], first_seed=200)
    record = explanation.record()
    assert record["failed"] == 10
    assert record["causes"]["clock"] == {"lists": 9, "used_up": 0}
    seeds = [(told["cause"], told["seed"]) for told in record["examples"]]
    assert seeds == [(Cause.OTHER, 200), *((Cause.CLOCK, 100 + k) for k in range(EXAMPLES))]
    assert record["instructions"]["visit cat"]["failed"] == 10
    json.dumps(record, allow_nan=False)


def test_of_flat_nothing_is_said_that_is_not_known() -> None:
    steps = [Step(0, deed="visit cat", gate=True), *[Step(1, gate=True)] * 3]
    record = explained(by_hand("visit cat, visit pig", steps)).record()
    assert not record["has_skill"]
    assert record["causes"]["missed signal"] == {"lists": None, "used_up": None}
    tally = record["instructions"]["visit cat"]
    assert (tally["judged"], tally["gate"], tally["pointer"]) == (1, 1, 1)
    assert tally["signal"] is tally["false_alarms"] is tally["partly_signal"] is None
    assert record["events"]["hunts"] is None


def test_decisions_of_planners_cannot_be_explained() -> None:
    with pytest.raises(ValueError, match="trained agents"):
        explained(by_hand("visit cat", [Step(0)], traced=False))


@pytest.mark.parametrize("fault", ["hasty", "stubborn", "deaf"])
def test_a_known_fault_shows_where_it_is(fault: str) -> None:
    worlds = instruction_worlds("block", 12, instructions="pick up 2 pigs, visit cat, visit sheep")
    worlds.seed(TEST_SEEDS)
    worlds.reset()
    policy = Witnessed(Faulty(worlds, fault))
    run_episodes(worlds, policy)
    pigs = explained(*policy.witness.accounts(worlds)).tallies["pick up 2 pigs"]
    assert pigs.begun == 12
    if fault == "hasty":
        assert pigs.left_early == pigs.partly == pigs.partly_signal == 12
    else:
        assert (pigs.left_early, pigs.finished, pigs.judged) == (0, 12, 12)
        assert (pigs.signal, pigs.gate, pigs.pointer) == (12 * (fault == "stubborn"), 0, 0)


def test_an_agent_without_faults_has_none() -> None:
    """It hunts every enemy, and its pointer stays."""

    def thinker(worlds: Worlds) -> Policy:
        return Thinker(worlds)

    test = InstructionTest("thinker", "grid", split="seen", length=5, episodes=20)
    record = evaluate_instructions(test, make_policy=thinker, explain=True)
    plain = evaluate_instructions(test, make_policy=thinker)
    explanation = record.pop("explanation")
    assert {**record, "seconds": 0} == {**plain, "seconds": 0}
    assert explanation["failed"] == 0
    tallies = explanation["instructions"].values()
    assert sum(tally["begun"] for tally in tallies) == 100
    assert all(tally["signal"] == tally["pointer"] == tally["judged"] for tally in tallies)
    assert not any(tally["left_early"] or tally["false_alarms"] for tally in tallies)
    events = explanation["events"]
    assert events["hunts"] == events["hunts_stayed"] > 0
    assert events["caught"] == events["hunts_caught"] == round(20 * record["events_used"]["mean"])


@pytest.mark.parametrize("world", ["grid", "block"])
def test_the_shipped_agent_is_explained(world: str) -> None:
    test = InstructionTest("dynamic", world, split="seen", length=3, episodes=10)
    record = evaluate_instructions(test, explain=True)
    explanation = record["explanation"]
    failed = round(10 * (1 - record["success"]["mean"]))
    assert explanation["failed"] == failed
    assert sum(counts["lists"] for counts in explanation["causes"].values()) == failed
    tallies = explanation["instructions"].values()
    finished = sum(tally["finished"] for tally in tallies)
    assert finished == round(10 * record["completed"]["mean"])
    judged = sum(tally["judged"] for tally in tallies)
    assert judged > 10
    assert sum(tally["signal"] for tally in tallies) > 0.9 * judged


def test_accounts_agree_with_what_the_worlds_say() -> None:
    worlds = instruction_worlds("grid", 8, split="seen", length=4)
    worlds.seed(TEST_SEEDS + 5)
    worlds.reset()
    policy = Witnessed(Thinker(worlds))
    ran = run_episodes(worlds, policy)
    accounts = policy.witness.accounts(worlds)
    assert [account.steps for account in accounts] == ran.steps.tolist()
    assert [account.success for account in accounts] == ran.success.tolist()
    assert [account.events for account in accounts] == ran.events.tolist()
    assert [int(account.caught.sum()) for account in accounts] == ran.events_used.tolist()
    for account in accounts:
        assert account.decisions is not None
        assert np.array_equal(account.decisions.pointer, account.progress[:-1])
        assert account.counted.sum() >= account.done
        finishing = account.begins[1:] - 1  # the step whose deed finished each instruction
        assert np.array_equal(account.deeds[finishing], account.asked[: account.done])
