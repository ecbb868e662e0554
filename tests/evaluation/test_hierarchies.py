"""Trained agents as policies: state is handed on, chance is seeded, and the shipped one works."""

import numpy as np
import pytest
import torch

import errands
from errands.agents.hierarchy import Hierarchy, HierarchyState
from errands.agents.memory import each
from errands.agents.skill import Skill, SkillNetwork
from errands.evaluation.episodes import (
    InstructionTest,
    evaluate_instructions,
    run_episodes,
    watch_episode,
)
from errands.evaluation.hierarchies import HierarchyPolicy
from errands.language.vocabulary import VERBS
from errands.worlds.gym import instruction_worlds
from errands.worlds.vector import Worlds
from twins.meta import FORMS, randomised


def agent_of(form: str = "dynamic") -> Hierarchy:
    """Untrained; it finishes hardly anything."""
    meta = randomised(FORMS[form])
    torch.manual_seed(1)
    network = SkillNetwork(embedding=6, conv1=3, conv2=4, hidden=8, factors=7)
    return Hierarchy(meta, None if meta.network.flat else Skill(network).eval())


def worlds_of(count: int = 3) -> Worlds:
    worlds = instruction_worlds("grid", count, length=2, step_limit=12)
    worlds.seed(0)
    worlds.reset()
    return worlds


def test_a_policy_hands_the_agents_state_on() -> None:
    agent, worlds = agent_of(), worlds_of()
    policy = HierarchyPolicy(agent, seed=4)
    assert policy.trace is None
    state: HierarchyState | None = None
    random = torch.Generator().manual_seed(4)
    for _ in range(6):
        seen = {"image": worlds.images, "tokens": worlds.tokens, "mask": worlds.mask}
        expected, state = agent.act(seen, state, random=random)
        actions = policy.act(worlds)
        assert policy.trace is not None
        for one, other in zip(policy.trace, expected, strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(actions, expected.action)
        worlds.step(actions)


class Ending:
    """Worlds whose episodes end when a test says so."""

    def __init__(self, worlds: Worlds) -> None:
        self._worlds = worlds
        self.status = np.zeros(worlds.count, np.int8)

    def __getattr__(self, name: str) -> object:
        return getattr(self._worlds, name)


@pytest.mark.parametrize("form", ["dynamic", "flat"])
def test_worlds_that_have_ended_are_left_out_and_the_others_go_on_the_same(form: str) -> None:
    agent = agent_of(form)
    worlds, few = worlds_of(6), np.array([1, 2, 4])
    ending = Ending(worlds)
    policy = HierarchyPolicy(agent, seed=4)
    rows: list[int] = []
    act = agent.act

    def counted(seen: dict[str, np.ndarray], *others: object, **options: object) -> object:
        rows.append(len(seen["mask"]))
        return act(seen, *others, **options)  # type: ignore[arg-type]

    agent.act = counted  # type: ignore[method-assign, assignment]
    worlds.step(policy.act(ending))  # type: ignore[arg-type]
    trace, state = policy.trace, policy._state
    assert trace is not None
    assert state is not None
    ending.status[[0, 3, 5]] = 1
    random = torch.Generator()
    random.set_state(policy._random.get_state())
    seen = {"image": worlds.images, "tokens": worlds.tokens, "mask": worlds.mask}
    kept = each(lambda item: item[torch.from_numpy(few)], state)
    expected, _ = act({k: v[few] for k, v in seen.items()}, kept, random=random)
    actions = policy.act(ending)  # type: ignore[arg-type]
    assert rows == [6, 3]
    assert actions.shape == (6,)
    assert policy.trace is not None
    for now, before, among in zip(policy.trace, trace, expected, strict=True):
        np.testing.assert_array_equal(now[few], among)
        np.testing.assert_array_equal(now[[0, 3, 5]], before[[0, 3, 5]])


def test_a_policy_still_answers_when_all_have_ended() -> None:
    ending = Ending(worlds_of(2))
    policy = HierarchyPolicy(agent_of())
    policy.act(ending)  # type: ignore[arg-type]
    ending.status[:] = 1
    assert policy.act(ending).shape == (2,)  # type: ignore[arg-type]


@pytest.mark.parametrize("form", ["dynamic", "flat"])
def test_episodes_run_to_their_end_and_again_the_same(form: str) -> None:
    agent = agent_of(form)
    ran, again, other = (
        run_episodes(worlds_of(8), HierarchyPolicy(agent, seed=seed)) for seed in (0, 0, 1)
    )
    assert (ran.steps <= 12).all()
    np.testing.assert_array_equal(ran.reward, again.reward)
    assert not np.array_equal(ran.reward, other.reward)


def test_soft_updates_are_there_for_comparison() -> None:
    for soft in (True, False):
        policy, worlds = HierarchyPolicy(agent_of(), soft=soft), worlds_of()
        for _ in range(4):
            worlds.step(policy.act(worlds))
        assert policy.trace is not None
        between = (policy.trace.pointer > 0) & (policy.trace.pointer < 1)
        assert between.any() == soft


def test_what_an_agent_thinks_is_told_step_by_step() -> None:
    steps = list(watch_episode(worlds_of(1), HierarchyPolicy(agent_of())))
    assert len(steps) == 12 or steps[-1].progress == 2
    for step in steps:
        assert step.thought is not None
        assert len(step.thought.pointer) == 2
        assert step.thought.subtask.split()[0] in ("visit", "pick", "transform")


def test_the_shipped_agent_executes_lists_of_four_and_uses_events() -> None:
    test = InstructionTest("dynamic", "grid", split="train", length=4, episodes=200)
    measured = evaluate_instructions(test)
    assert measured["success"]["mean"] >= 0.95
    assert measured["events_used"]["mean"] > 0.4 * measured["events"]["mean"]


@pytest.mark.slow
def test_the_shipped_agent_executes_long_lists_of_instructions_it_was_never_trained_on() -> None:
    test = InstructionTest("dynamic", "grid", split="unseen", length=20, episodes=100)
    assert evaluate_instructions(test)["success"]["mean"] >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["long", "short", "dynamic-no-analogy", "dynamic-soft"])
def test_the_other_shipped_agents_execute_lists_of_four(agent: str) -> None:
    test = InstructionTest(agent, "grid", split="train", length=4, episodes=100)
    assert evaluate_instructions(test)["success"]["mean"] >= 0.9


@pytest.mark.slow
def test_the_block_worlds_agent_executes_lists_of_four_and_uses_events() -> None:
    test = InstructionTest("dynamic", "block", split="train", length=4, episodes=200)
    measured = evaluate_instructions(test)
    assert measured["success"]["mean"] >= 0.9
    assert measured["events_used"]["mean"] > 0.3 * measured["events"]["mean"]


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["long", "short"])
def test_the_block_worlds_other_agents_execute_lists_of_four(agent: str) -> None:
    test = InstructionTest(agent, "block", split="train", length=4, episodes=100)
    assert evaluate_instructions(test)["success"]["mean"] >= 0.9


def test_flat_as_shipped_executes_single_instructions() -> None:
    test = InstructionTest("flat", "grid", split="train", length=1, episodes=100)
    assert evaluate_instructions(test)["success"]["mean"] >= 0.8


def test_the_shipped_agent_keeps_its_place_in_the_list_while_it_hunts() -> None:
    """From the first step of "transform enemy" to the first one of what comes after it."""
    worlds = instruction_worlds("grid", 200, split="seen", length=10)
    worlds.seed(0)
    worlds.reset()
    agent = errands.load("grid/dynamic")
    policy = HierarchyPolicy(agent)
    hunted = np.array([VERBS.index("transform"), worlds.spec.vocabulary.object_index("enemy")])
    before, place = np.zeros(200, np.bool_), np.zeros(200, np.int64)
    hunts = kept = 0
    for _ in range(60):
        worlds.step(policy.act(worlds))
        assert policy.trace is not None
        pointer = policy.trace.pointer.argmax(axis=1)
        hunting = (policy.trace.subtask[:, :2] == hunted).all(axis=1)
        back = before & ~hunting & (worlds.status == 0)
        hunts, kept = hunts + int(back.sum()), kept + int((pointer == place)[back].sum())
        place = np.where(hunting & before, place, pointer)
        before = hunting
    assert hunts > 100
    assert kept > 0.9 * hunts
