"""Rollouts of lists: frames that line up, what is counted, going on, and nothing privileged."""

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, NoReturn

import numpy as np
import pytest
import torch
from torch import Tensor

from errands.agents.hierarchy import Hierarchy
from errands.agents.instructions import bags_of_words
from errands.agents.memory import each, leaves
from errands.agents.meta import MetaNetwork
from errands.agents.skill import Skill
from errands.learning.meta_rollout import MetaFrames, MetaRollout, MetaStatistics
from errands.worlds.spec import WORLDS
from errands.worlds.tasks import TaskSource, list_tasks
from errands.worlds.vector import Worlds
from twins.meta import FORMS, randomised, small_skill
from twins.story import walk

COUNT, STEPS, LIMIT, LONGEST, SEED = 6, 5, 7, 3, 1000


FORMS_THAT_ACT = ["dynamic", "long", "short", "flat", "block", "block, flat", "map"]


def agent_of(network: MetaNetwork) -> Hierarchy:
    """Untrained, with a skill that says "finished" now and then."""
    meta = randomised(network)
    torch.manual_seed(5)
    if network.flat:
        return Hierarchy(meta, None)
    skill = Skill(small_skill(network)).eval()
    with torch.no_grad():
        skill.termination.weight.normal_(std=3.0)
    return Hierarchy(meta, skill)


def tasks_of(world: str) -> TaskSource:
    return replace(list_tasks(WORLDS[world], "train", (1, LONGEST)), step_limit=LIMIT)


def rollout_of(agent: Hierarchy, seed: int = SEED, kind: type[Worlds] = Worlds) -> MetaRollout:
    spec = WORLDS[agent.meta.network.world]
    worlds = kind(spec, COUNT, tasks_of(spec.name), spec.forgiving)
    worlds.seed(seed)
    return MetaRollout(worlds, STEPS, agent)


class Sealed(Worlds):
    """Worlds that keep to themselves what no agent may see."""

    @property
    def privileged(self) -> NoReturn:
        raise AssertionError("the true state was looked at")

    privileged_goals = privileged

    def privileged_subtasks(self, *_: Any) -> NoReturn:
        raise AssertionError("the true instruction was looked at")

    plan_subtasks = plan_lists = privileged_subtasks


def nearly(one: Tensor, other: Tensor) -> bool:
    """Batches of another size are summed in another order."""
    return torch.allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("form", FORMS_THAT_ACT)
@torch.no_grad()
def test_a_batch_holds_what_a_network_needs_to_decide_again(form: str, soft: bool) -> None:
    """Stepped through the frames, from the state beside them, it says exactly what it said."""
    agent = agent_of(FORMS[form])
    rollout = rollout_of(agent, kind=Sealed)
    random = torch.Generator().manual_seed(0)
    for _ in range(3):
        frames, _ = rollout.collect(agent, random, soft=soft)
        some = frames.worlds(torch.tensor([4, 0]))
        for part, same in ((frames, torch.equal), (some, nearly)):
            state = each(lambda item: item[0], part.before)
            for t in range(STEPS):
                trees = part.before, part.given, part.decision
                before, given, decided = each(lambda item, t=t: item[t], trees)
                for (name, a), (_, b) in zip(leaves(state, ""), leaves(before, ""), strict=True):
                    assert same(a, b), name
                output, state = agent.meta.step(given, state, soft=soft, decided=decided)
                assert same(output.log_probability, part.log_probabilities[t])
                assert same(output.value, part.values[t])
        assert torch.equal(frames.next_values[:-1], frames.values[1:])
    assert frames.log_probabilities.min() < -0.1


class Story:
    """Several batches, with their frames one after another."""

    def __init__(self, batches: int = 5) -> None:
        agent = agent_of(FORMS["dynamic"])
        rollout = rollout_of(agent)
        random = torch.Generator().manual_seed(0)
        told = [rollout.collect(agent, random, soft=False) for _ in range(batches)]
        self.batches = [frames for frames, _ in told]
        self.statistics = [statistics for _, statistics in told]
        self.times = batches * STEPS

    def whole(self, name: str) -> Tensor:
        return torch.cat([getattr(frames, name) for frames in self.batches])

    def given(self, name: str) -> Tensor:
        return torch.cat([getattr(frames.given, name) for frames in self.batches])


@pytest.fixture(scope="module")
def story() -> Story:
    return Story()


def test_frames_tell_episodes_in_order(story: Story) -> None:
    """A plain walk through each world's frames: begin, run, end once, begin again."""
    begins, masks, bags = story.given("begins"), story.given("mask"), story.given("bags")
    finished = story.given("finished")
    running, done, ended = (story.whole(name) for name in ("running", "done", "ended"))
    rewards = story.whole("rewards")
    assert ended.any()
    assert finished.any()
    assert begins.shape == (story.times, COUNT)
    for t, world, is_first, _ in walk(begins, running, done, ended, rewards, LIMIT):
        if is_first:
            assert not finished[t, world]
        else:  # the list stays the same
            assert torch.equal(masks[t, world], masks[t - 1, world])
            assert torch.equal(bags[t, world], bags[t - 1, world])


def test_frames_are_what_single_worlds_go_through(story: Story) -> None:
    """Each world again by itself: lists and pictures of every episode's first frame."""
    images, begins, bags = (story.given(name) for name in ("seen", "begins", "bags"))
    for world in range(COUNT):
        alone = Worlds(WORLDS["grid"], 1, tasks_of("grid"), WORLDS["grid"].forgiving)
        alone.seed(SEED + world)
        alone.reset()
        assert begins[0, world]
        assert torch.equal(images[0, world], torch.from_numpy(alone.images[0]))
        words = bags_of_words(torch.from_numpy(alone.tokens), FORMS["dynamic"].words)
        assert torch.equal(bags[0, world], words[0])


def test_statistics_count_every_episode_once(story: Story) -> None:
    returns = torch.zeros(COUNT)
    for frames, statistics in zip(story.batches, story.statistics, strict=True):
        rewards = []
        for t in range(STEPS):
            returns = torch.where(frames.given.begins[t], 0.0, returns) + frames.rewards[t]
            rewards += returns[frames.ended[t]].tolist()
        assert statistics.episodes == len(rewards)
        if rewards:
            assert statistics.reward == pytest.approx(np.mean(rewards), abs=1e-5)
            assert statistics.success == pytest.approx(frames.done.sum().item() / len(rewards))
        for name in ("success", "completed", "caught", "updates", "updates_at_end", "stays"):
            assert 0 <= getattr(statistics, name) <= 1
    assert sum(statistics.episodes for statistics in story.statistics) >= COUNT


def test_a_batch_without_an_ended_episode_has_statistics() -> None:
    agent = agent_of(FORMS["long"])
    frames, statistics = rollout_of(agent).collect(agent, torch.Generator(), soft=True)
    assert not frames.ended.any()
    assert (statistics.episodes, statistics.success, statistics.reward) == (0, 0.0, 0.0)
    assert (statistics.completed, statistics.caught) == (0.0, 0.0)
    assert statistics.updates == 0.0  # Long's gate is closed while a subtask runs
    assert statistics.updates_at_end in (0.0, 1.0)


def frames_equal(one: MetaFrames, other: MetaFrames) -> None:
    for (name, a), (_, b) in zip(tensors_of(one), tensors_of(other), strict=True):
        assert torch.equal(a, b), name


def tensors_of(frames: MetaFrames) -> Iterator[tuple[str, Tensor]]:
    for field in fields(frames):
        yield from leaves(getattr(frames, field.name), field.name)


@pytest.mark.parametrize("form", ["dynamic", "flat", "block", "block, flat", "map"])
def test_a_snapshot_goes_on_exactly(form: str) -> None:
    agent = agent_of(FORMS[form])
    rollout, random = rollout_of(agent), torch.Generator().manual_seed(0)
    for _ in range(2):
        rollout.collect(agent, random, soft=False)
    snapshot, state = rollout.snapshot(), random.get_state()
    expected: list[tuple[MetaFrames, MetaStatistics]] = [
        rollout.collect(agent, random, soft=False) for _ in range(2)
    ]
    other = rollout_of(agent, seed=77)
    other.restore(snapshot)
    random.set_state(state)
    for frames, statistics in expected:
        again, counted = other.collect(agent, random, soft=False)
        assert counted == statistics
        frames_equal(again, frames)


def test_some_worlds_of_a_batch(story: Story) -> None:
    frames, index = story.batches[1], torch.tensor([4, 0])
    part = frames.worlds(index)
    for (name, some), (_, every) in zip(tensors_of(part), tensors_of(frames), strict=True):
        assert torch.equal(some, every[:, [4, 0]]), name


def test_frames_keep_what_was_seen_and_not_the_worlds_buffers(story: Story) -> None:
    images = story.given("seen")
    assert len({image.numpy().tobytes() for image in images[:, 0]}) > 3
