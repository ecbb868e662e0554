"""Why an episode failed: every cause by hand, and agents whose only fault is known."""

import numpy as np
import pytest

from errands.evaluation.account import Account, Witnessed
from errands.evaluation.episodes import PlannerPolicy, run_episodes
from errands.evaluation.explain import Cause, Failure, explain, fatal_step
from errands.seeds import TEST_SEEDS
from errands.worlds.gym import instruction_worlds
from twins.accounts import Faulty, Step, by_hand

PIGS = [Step(0, "pick up pig"), Step(0, "pick up pig", deed="pick up pig")]


def why(account: Account) -> Failure:
    failure = explain(account)
    assert failure is not None
    return failure


def test_a_list_that_was_done_needs_no_explanation() -> None:
    steps = [Step(0, "visit cat", deed="visit cat"), Step(1, "pick up pig", deed="pick up pig")]
    assert explain(by_hand("visit cat, pick up pig", steps)) is None


def test_left_early_and_the_last_target_used_up() -> None:
    steps = [
        *PIGS,
        *PIGS,
        Step(1, "visit cat", deed="visit cat", signal=True, gate=True),
        Step(2, "transform pig", deed="transform pig", signal=True, gate=True),
        *[Step(2, "transform pig")] * 20,
    ]
    failure = why(by_hand("pick up 3 pigs, visit cat, transform pig", steps, left=0))
    assert (failure.cause, failure.instruction, failure.used_up) == (Cause.LEFT, 0, True)
    assert failure.sentence == (
        "It left 'pick up 3 pigs' after the second: the pointer moved on with 1 still to do; "
        "because of 'transform pig' at step 6, no pig was left for 'pick up 3 pigs'."
    )


def test_left_early_and_the_time_lost_after_a_false_alarm() -> None:
    steps = [
        Step(0, "visit cat", deed="visit cat"),
        *[Step(1, "pick up pig", signal=t == 0, gate=t == 0) for t in range(5)],
        *[Step(2, "visit sheep", signal=t == 0, gate=t == 0) for t in range(40)],
    ]
    failure = why(by_hand("visit cat, pick up pig, visit sheep", steps))
    assert (failure.cause, failure.instruction, failure.used_up) == (Cause.LEFT, 1, False)
    assert failure.sentence == (
        "It left 'pick up pig' before it was done: the signal said finished without a deed; "
        "40 steps were lost."
    )


def test_left_early_after_a_hunt() -> None:
    steps = [
        *[Step(0, "transform box")] * 3,
        Step(0, "transform box", deed="transform box"),
        *[Step(1, "visit cat", signal=t == 0, gate=t == 0) for t in range(30)],
    ]
    failure = why(by_hand("pick up pig, visit cat", steps))
    assert failure.cause == Cause.LEFT
    assert "the pointer moved on after 'transform box'; 30 steps" in failure.sentence


def test_left_for_no_reason_at_all() -> None:
    steps = [Step(0, "pick up pig"), *[Step(1, "visit cat", gate=True)] * 30]
    assert why(by_hand("pick up pig, visit cat", steps)).sentence == (
        "It left 'pick up pig' before it was done: the pointer moved on with nothing finished; "
        "30 steps were lost."
    )


def test_stayed_and_used_the_target_up_because_the_gate_stayed_shut() -> None:
    steps = [
        Step(0, "pick up cat", deed="pick up cat"),
        Step(0, "pick up cat", signal=True),
        Step(0, "pick up cat", deed="pick up cat"),
        *[Step(1, "visit cat", signal=t == 0, gate=t == 0) for t in range(9)],
    ]
    failure = why(by_hand("pick up cat, visit cat", steps, left=0))
    assert (failure.cause, failure.instruction, failure.used_up) == (Cause.STAYED, 0, True)
    assert failure.sentence == (
        "It stayed at 'pick up cat' after it was done: the signal came, but the gate stayed shut; "
        "because of 'pick up cat' at step 3, no cat was left for 'visit cat'."
    )


def test_stayed_until_the_time_was_up() -> None:
    steps = [
        Step(0, "visit cat", deed="visit cat"),
        *[Step(0, "visit cat", signal=t == 0, gate=t == 0) for t in range(20)],
    ]
    failure = why(by_hand("visit cat, pick up pig", steps))
    assert (failure.cause, failure.used_up) == (Cause.STAYED, False)
    assert failure.sentence == (
        "It stayed at 'visit cat' after it was done: the gate opened, but the pointer did not "
        "move; 20 steps were lost."
    )


def test_going_back_is_staying() -> None:
    steps = [
        Step(0, "visit cat", deed="visit cat"),
        Step(1, "pick up pig", gate=True),  # without a signal, which is no fault here
        *[Step(0, "visit cat", gate=t == 0) for t in range(20)],
    ]
    failure = why(by_hand("visit cat, pick up pig", steps))
    assert failure.cause == Cause.STAYED
    assert failure.sentence == ("It went back to 'visit cat', which was done; 20 steps were lost.")


def test_a_missed_signal() -> None:
    steps = [Step(0, "visit cat", deed="visit cat"), *[Step(0, "visit cat")] * 20]
    failure = why(by_hand("visit cat, pick up pig", steps))
    assert (failure.cause, failure.instruction, failure.used_up) == (Cause.MISSED, 0, False)
    assert failure.sentence == (
        "It did not notice that 'visit cat' was done: the signal did not come; 20 steps were lost."
    )


def test_a_signal_is_missed_if_an_instruction_is_done_by_accident() -> None:
    steps = [Step(0, "transform box", deed="visit cat"), *[Step(0, "visit cat")] * 20]
    failure = why(by_hand("visit cat, pick up pig", steps))
    assert failure.cause == Cause.MISSED
    assert "the signal did not come during 'transform box'; 20 steps" in failure.sentence


def test_a_signal_that_came_too_late_was_missed() -> None:
    steps = [
        Step(0, "pick up cat", deed="pick up cat"),
        Step(0, "pick up cat", deed="pick up cat"),
        *[Step(1, "visit cat", signal=t == 0, gate=t == 0) for t in range(9)],
    ]
    failure = why(by_hand("pick up cat, visit cat", steps, left=0))
    assert (failure.cause, failure.used_up) == (Cause.MISSED, True)


def test_another_verb_that_was_chosen() -> None:
    steps = [Step(0, "transform pig", deed="transform pig"), *[Step(0, "pick up pig")] * 9]
    failure = why(by_hand("pick up 2 pigs", steps, left=1))
    assert (failure.cause, failure.instruction, failure.used_up) == (Cause.OTHER, 0, True)
    assert failure.sentence == (
        "Asked to 'pick up 2 pigs', it chose 'transform pig'; "
        "because of 'transform pig' at step 1, too few pigs were left for 'pick up 2 pigs'."
    )


def test_another_object_that_cost_the_time() -> None:
    steps = [Step(0, "visit cat", deed="visit cat"), *[Step(1, "pick up sheep")] * 20]
    failure = why(by_hand("visit cat, pick up pig", steps))
    assert (failure.cause, failure.instruction, failure.used_up) == (Cause.OTHER, 1, False)
    assert failure.sentence == (
        "Asked to 'pick up pig', it chose 'pick up sheep'; 20 steps were lost."
    )


def test_another_verb_that_the_skill_did() -> None:
    steps = [Step(0, "pick up pig", deed="transform pig"), *[Step(0, "pick up pig")] * 9]
    failure = why(by_hand("pick up pig", steps, left=0))
    assert failure.cause == Cause.OTHER
    assert failure.sentence.startswith("The skill was at 'pick up pig' and did 'transform pig';")


def test_the_clock_when_every_decision_was_right() -> None:
    steps = [
        Step(0, "visit cat", deed="visit cat"),
        *[Step(1, "pick up pig", signal=t == 0, gate=t == 0) for t in range(20)],
    ]
    failure = why(by_hand("visit cat, pick up pig, visit cat", steps))
    assert (failure.cause, failure.instruction, failure.used_up) == (Cause.CLOCK, 1, False)
    assert failure.sentence == (
        "Time ran out at 'pick up pig', number 2 of 3, after 20 steps at it; "
        "no steps were lost by wrong decisions."
    )


@pytest.mark.parametrize(("lost", "cause"), [(9, Cause.CLOCK), (10, Cause.LEFT)])
def test_lost_steps_count_if_the_rest_could_have_been_done_in_them(lost: int, cause: Cause) -> None:
    """Ten steps for the first instruction: the second would have taken as many."""
    steps = [
        *[Step(0, "visit cat")] * 4,
        *[Step(1, "visit pig", gate=True)] * lost,
        *[Step(0, "visit cat", gate=True)] * 4,
        Step(0, "visit cat", deed="visit cat"),
        Step(1, "visit pig", signal=True, gate=True),
    ]
    assert why(by_hand("visit cat, visit pig", steps)).cause == cause


def test_the_cause_is_what_cost_most() -> None:
    steps = [
        *[Step(1, "visit pig", gate=True)] * 3,
        Step(0, "visit cat", deed="visit cat"),
        *[Step(0, "visit cat", signal=True)] * 20,
    ]
    failure = why(by_hand("visit cat, visit pig", steps))
    assert failure.cause == Cause.STAYED
    assert "20 steps were lost" in failure.sentence


def test_the_instruction_to_blame_is_the_one_with_which_it_began() -> None:
    """Ahead since the first, the agent is lucky once; behind since the first, once, too."""
    ahead = [
        *PIGS,
        Step(1, "visit cat", signal=True, gate=True),
        Step(2, "pick up pig", deed="pick up pig", gate=True),  # which counts for the first
        *[Step(2, "pick up pig")] * 30,
    ]
    failure = why(by_hand("pick up 2 pigs, visit cat, pick up pig", ahead))
    assert (failure.cause, failure.instruction) == (Cause.LEFT, 0)
    assert failure.sentence.startswith("It left 'pick up 2 pigs' after the first: the pointer")
    behind = [
        Step(0, "visit cat", deed="visit cat"),
        Step(0, "visit cat", signal=True, deed="visit pig"),
        *[Step(1, "visit pig", signal=t == 0, gate=t == 0) for t in range(30)],
    ]
    failure = why(by_hand("visit cat, visit pig, visit sheep", behind))
    assert (failure.cause, failure.instruction) == (Cause.STAYED, 0)


def test_hunts_are_not_lost_steps() -> None:
    steps = [Step(0, "visit cat", deed="visit cat"), *[Step(1, "transform box")] * 30]
    assert why(by_hand("visit cat, visit pig", steps)).cause == Cause.CLOCK


def test_a_subtask_that_fits_is_no_fault_wherever_the_pointer_is() -> None:
    steps = [
        Step(0, "pick up pig", deed="pick up pig"),
        *[Step(0, "pick up pig", signal=t == 0) for t in range(20)],
    ]
    assert why(by_hand("pick up pig, pick up 2 pigs", steps)).cause == Cause.CLOCK


def test_interact_with_is_the_verb_that_the_object_makes_of_it() -> None:
    """A duck of the grid is picked up: that fits, and it is the deed."""
    steps = [Step(0, "pick up duck"), Step(0, "pick up duck", deed="pick up duck")]
    account = by_hand(
        "interact with duck, visit cow", [*steps, *[Step(1, "visit cow")] * 9], world="grid"
    )
    assert account.done == 1
    assert account.fits.all()


def test_the_fatal_deed_is_the_one_after_which_there_were_too_few() -> None:
    """Of three wasted pigs the first was to spare: two were needed, and none is left."""
    steps = [
        Step(1, "transform pig", deed="transform pig"),
        Step(0, "transform pig", deed="transform pig"),
        Step(1, "transform pig", deed="transform pig"),
        *[Step(0, "pick up pig")] * 9,
    ]
    account = by_hand("pick up 2 pigs, transform pig", steps, left=0)
    assert fatal_step(account) == 1
    assert why(account).cause == Cause.OTHER
    account = by_hand("pick up 2 pigs, transform pig", steps, left=1)
    assert fatal_step(account) == 2
    assert why(account).cause == Cause.LEFT


def test_all_of_none_is_impossible_and_transforming_ice_uses_none_up() -> None:
    steps = [
        Step(0, "pick up pig", deed="pick up pig"),
        Step(0, "transform pig", deed="transform pig"),
        Step(0, "pick up pig"),
    ]
    assert fatal_step(by_hand("pick up all pigs", steps, left=0, world="grid")) == 1
    steps = [Step(0, "visit ice", deed="transform ice"), Step(0, "visit ice")]
    assert fatal_step(by_hand("visit ice", steps, left=0)) is None


def test_nothing_is_used_up_where_targets_are_put_back() -> None:
    steps = [Step(0, "transform pig", deed="transform pig"), *[Step(0, "pick up pig")] * 9]
    assert fatal_step(by_hand("pick up pig", steps, left=0, forgiving=True)) is None


def test_of_planners_and_people_only_deeds_are_known() -> None:
    steps = [Step(0, deed="transform pig"), Step(0), Step(0)]
    failure = why(by_hand("visit cat, pick up pig", steps, left=1, traced=False))
    assert failure.sentence == ("Time ran out at 'visit cat', number 1 of 2, after 3 steps at it.")
    failure = why(by_hand("pick up pig, visit cat", steps, left=0, traced=False))
    assert failure.sentence == (
        "Because of 'transform pig' at step 1, no pig was left for 'pick up pig'."
    )


def test_flat_is_judged_by_its_pointer() -> None:
    """It has no skill: what it was at is unknown, and there is no signal to miss."""
    stays = [Step(0, deed="visit cat", gate=True), *[Step(0, gate=True)] * 20]
    failure = why(by_hand("visit cat, pick up pig", stays))
    assert failure.cause == Cause.STAYED
    assert failure.sentence == (
        "It stayed at 'visit cat' after it was done: the pointer did not move; 20 steps were lost."
    )
    assert why(by_hand("visit cat, pick up pig", [Step(0, gate=True)] * 20)).cause == Cause.CLOCK
    wrong = [Step(0, deed="transform pig", gate=True), *[Step(0, gate=True)] * 20]
    failure = why(by_hand("pick up pig", wrong, left=0))
    assert failure.cause == Cause.OTHER
    assert failure.sentence.startswith("Asked to 'pick up pig', it did 'transform pig';")


LISTS = {
    "hasty": "pick up all pigs, transform cow, visit tree",
    "stubborn": "pick up pig, visit pig, visit tree",
    "deaf": "pick up pig, visit tree",
    "contrary": "visit tree, pick up heart",
    "idle": "pick up pig, visit tree",
}
BLOCK_LISTS = {
    "hasty": "pick up 3 pigs, transform cat, visit sheep",
    "stubborn": "pick up pig, visit pig, visit sheep",
    "deaf": "pick up pig, visit sheep",
    "contrary": "visit sheep, pick up pig",
    "idle": "pick up pig, visit sheep",
}
CAUSES = {
    "hasty": Cause.LEFT,
    "stubborn": Cause.STAYED,
    "deaf": Cause.MISSED,
    "contrary": Cause.OTHER,
    "idle": Cause.CLOCK,
}


@pytest.mark.parametrize(("world", "lists"), [("grid", LISTS), ("block", BLOCK_LISTS)])
@pytest.mark.parametrize("fault", CAUSES)
def test_agents_with_one_fault_fail_by_it(fault: str, world: str, lists: dict[str, str]) -> None:
    worlds = instruction_worlds(world, 12, instructions=lists[fault], step_limit=120)
    worlds.seed(TEST_SEEDS)
    worlds.reset()
    policy = Witnessed(Faulty(worlds, fault))
    ran = run_episodes(worlds, policy)
    failures = [explain(account) for account in policy.witness.accounts(worlds)]
    assert [failure is None for failure in failures] == ran.success.tolist()
    failed = [failure for failure in failures if failure is not None]
    assert len(failed) > 6
    assert {failure.cause for failure in failed} == {CAUSES[fault]}
    assert all(failure.used_up for failure in failed) == (fault in ("stubborn", "contrary"))


def test_a_planner_can_be_witnessed_as_well() -> None:
    worlds = instruction_worlds("grid", 4, split="train", length=2, step_limit=5)
    worlds.seed(TEST_SEEDS)
    worlds.reset()
    policy = Witnessed(PlannerPolicy("shortest-path"))
    ran = run_episodes(worlds, policy)
    accounts = policy.witness.accounts(worlds)
    assert [account.steps for account in accounts] == ran.steps.tolist()
    assert [account.done for account in accounts] == ran.completed.tolist()
    assert all(account.decisions is None for account in accounts)
    told = [failure.sentence for failure in map(explain, accounts) if failure]
    assert len(told) == np.count_nonzero(~ran.success) > 0
    assert all(sentence.startswith("Time ran out at '") for sentence in told)
