"""Rollouts: what each frame means, what is counted, and going on from a snapshot."""

from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from torch import Tensor

from errands.agents.mapping import MapEyes
from errands.agents.memory import leaves
from errands.agents.skill import Skill
from errands.config import Preset, Scenario
from errands.language.instruction import Instruction
from errands.learning.rollout import SkillFrames, SkillRollout, sample
from errands.presets import skill_training
from errands.worlds.spec import BLOCK, GRID, NOTHING, WORLDS
from errands.worlds.tasks import TaskSource, given_list, list_tasks, skill_tasks
from errands.worlds.vector import Worlds
from twins.skills import Moment, ScriptedSkill, optimal_or_idle
from twins.story import walk

LIMIT, COUNT, SEED = 8, 12, 1000
TASKS = replace(skill_tasks(GRID, "independent", "train"), step_limit=LIMIT)
PER_WORLD = [field.name for field in fields(SkillFrames) if field.name != "memory"]


def worlds_of(tasks: TaskSource = TASKS, *, world: str = "grid", seed: int = SEED) -> Worlds:
    worlds = Worlds(WORLDS[world], COUNT, tasks, WORLDS[world].skill)
    worlds.seed(seed)
    return worlds


def wrong_now_and_then(moment: Moment) -> np.ndarray:
    """Misses some finished states, and calls some unfinished ones finished."""
    return moment.finished ^ (moment.steps % 3 == 2)


class Story:
    """Several batches by a scripted skill, with their frames one after another."""

    def __init__(self, batches: int = 3, steps: int = 14) -> None:
        self.skill = ScriptedSkill(optimal_or_idle, wrong_now_and_then)
        self.skill.worlds = worlds_of()
        rollout = SkillRollout(self.skill.worlds, steps, self.skill)
        random = torch.Generator().manual_seed(0)
        told = [rollout.collect(self.skill, random, teacher=True) for _ in range(batches)]
        self.batches = [frames for frames, _ in told]
        self.statistics = [statistics for _, statistics in told]
        self.times = batches * steps

    def whole(self, name: str) -> Tensor:
        return torch.cat([getattr(frames, name) for frames in self.batches])


@pytest.fixture(scope="module")
def story() -> Story:
    return Story()


def test_frames_tell_episodes_in_order(story: Story) -> None:
    """A plain walk through each world's frames: begin, run, end once, begin again."""
    begins, running, finished = (story.whole(name) for name in ("begins", "running", "finished"))
    done, ended = story.whole("done"), story.whole("ended")
    rewards, subtasks = story.whole("rewards"), story.whole("subtasks")
    assert (ended & done).any()
    assert (ended & ~done).any()
    assert begins.shape == (story.times, COUNT)
    for t, world, is_first, is_last in walk(begins, running, done, ended, rewards, LIMIT):
        assert finished[t, world] == (is_last and done[t - 1, world])
        if not is_first:
            assert torch.equal(subtasks[t, world], subtasks[t - 1, world])


def test_frames_are_what_single_worlds_go_through(story: Story) -> None:
    """Each world again by itself, driven by the recorded actions."""
    images, actions, rewards = (story.whole(name) for name in ("images", "actions", "rewards"))
    for world in range(COUNT):
        alone = Worlds(GRID, 1, TASKS, GRID.skill)
        alone.seed(SEED + world)
        alone.reset()
        for t in range(story.times):
            assert torch.equal(images[t, world], torch.from_numpy(alone.images[0]))
            assert story.whole("subtasks")[t, world].tolist() == alone.subtasks[0].tolist()
            if alone.status[0] > 0:
                assert not story.whole("running")[t, world]
                alone.reset()
                continue
            plan = alone.plan_subtasks().optimal[0]
            told = story.whole("optimal")[t, world].numpy()
            np.testing.assert_allclose(told, plan / plan.sum())
            alone.step(actions[t, world : world + 1].numpy())
            assert rewards[t, world].item() == pytest.approx(alone.rewards[0])


def test_teacher_is_a_distribution_where_the_student_decides(story: Story) -> None:
    optimal, running = story.whole("optimal"), story.whole("running")
    assert optimal.shape == (story.times, COUNT, 13)
    torch.testing.assert_close(optimal.sum(-1)[running], torch.ones(int(running.sum())))


def test_what_the_last_step_did_is_kept_beside_what_was_asked(story: Story) -> None:
    """A finished subtask was done by the step before; an episode begins with nothing done."""
    did, finished, subtasks = (story.whole(name) for name in ("did", "finished", "subtasks"))
    assert torch.equal(did[finished], subtasks[finished][:, :2])
    assert (did[story.whole("begins")] == NOTHING).all()
    assert ((did != NOTHING).all(dim=-1) & ~finished).any()  # on the way it met something else


def test_deeds_of_a_finished_episode_add_up_to_its_count() -> None:
    skill = ScriptedSkill(counted=True)
    skill.worlds = worlds_of(skill_tasks(GRID, "inter-extrapolation", "train"))
    rollout = SkillRollout(skill.worlds, 60, skill)
    frames, _ = rollout.collect(skill, torch.Generator().manual_seed(0), teacher=False)
    wanted = set()
    for world in range(COUNT):
        deeds = 0
        for t in range(len(frames.begins)):
            if frames.begins[t, world]:
                deeds = 0
                assert not frames.deeds[t, world]
            deeds += int(frames.deeds[t, world])
            count = int(frames.subtasks[t, world, 2])
            assert frames.finished[t, world] == (deeds == count)
            if frames.finished[t, world]:
                wanted.add(count)
    assert len(wanted) > 2


@pytest.mark.parametrize("world", ["grid", "block"])
def test_in_lists_each_subtask_is_seen_to_be_done_before_the_next_is_told(world: str) -> None:
    """A plain walk through each world's list, subtask by subtask."""
    spec = WORLDS[world]
    skill = ScriptedSkill(signal=lambda _: rollout.deeds)
    tasks = list_tasks(spec, "train", (2, 3), step_limit=200)
    skill.worlds = Worlds(spec, COUNT, tasks, replace(spec.lists, event=False))
    skill.worlds.seed(SEED)
    rollout = SkillRollout(skill.worlds, 150, skill)
    lists = [list_of(skill.worlds, world) for world in range(COUNT)]
    frames, statistics = rollout.collect(skill, torch.Generator().manual_seed(0), teacher=False)
    assert statistics.episodes >= COUNT
    assert (statistics.success, statistics.precision, statistics.recall) == (1.0, 1.0, 1.0)
    for k in range(COUNT):
        wanted = lists[k]
        for t in range(150):
            if not wanted:  # the whole list was carried out
                assert frames.begins[t, k]
                break
            assert frames.begins[t, k] == (t == 0)
            told = tuple(frames.subtasks[t, k, :2].tolist())
            assert told == wanted[0][:2]
            finished = bool(frames.finished[t, k])
            assert finished == bool(t > 0 and frames.done[t - 1, k])
            assert frames.running[t, k] == (not finished)
            done = bool(frames.done[t, k])
            assert not (finished and done)  # nothing is done where nothing is decided
            assert done == bool(frames.ended[t, k])
            if not finished:
                paid = frames.rewards[t, k].item()
                assert paid in (pytest.approx(0.9 if done else -0.1), pytest.approx(-0.3))
            else:
                left = wanted[0][2] - 1
                wanted = ([(*told, left)] if left else []) + wanted[1:]


def list_of(worlds: Worlds, world: int) -> list[tuple[int, ...]]:
    """Verb, object and how often, of every instruction. All there are count as that often."""
    length = int(worlds.privileged["length"][world])
    goals = [tuple(goal[:3].tolist()) for goal in worlds.privileged_goals[world, :length]]
    counts = worlds.privileged["counts"][world]
    return [(verb, kind, count or int(counts[kind])) for verb, kind, count in goals]


def test_a_seeker_remembers_while_the_subtask_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """It forgets what it has seen where another one is told, or an episode begins."""
    skill = ScriptedSkill()
    words = (Instruction("transform", "pig", 2), Instruction("visit", "cat"))
    skill.worlds = Worlds(BLOCK, COUNT, given_list(BLOCK, words), replace(BLOCK.lists, event=False))
    rollout = SkillRollout(skill.worlds, 100, skill)
    forgotten: list[np.ndarray] = []
    monkeypatch.setattr(rollout.teacher, "forget", lambda mask: forgotten.append(mask.copy()))
    frames, _ = rollout.collect(skill, torch.Generator().manual_seed(0), teacher=True)
    kinds = frames.subtasks[:, :, 1]
    changed = torch.zeros_like(frames.begins)
    changed[1:] = kinds[1:] != kinds[:-1]
    assert torch.equal(torch.from_numpy(np.stack(forgotten)), frames.begins | changed)
    assert (changed & ~frames.begins).any()


def test_values_and_what_follows_them(story: Story) -> None:
    """The scripted value counts an episode's frames, so it shows whose value is whose."""
    values, next_values, begins = (story.whole(key) for key in ("values", "next_values", "begins"))
    assert (values[begins] == 0).all()
    assert torch.equal(next_values[:-1], values[1:])
    running = story.whole("running")
    assert torch.equal(next_values[running], values[running] + 1)


def test_log_probabilities_are_of_the_actions_taken(story: Story) -> None:
    running = story.whole("running")
    allowed = (story.whole("optimal")[running] > 0).sum(-1) + 1  # idling is never optimal
    chosen = story.whole("log_probabilities")[running]
    torch.testing.assert_close(chosen, -torch.log(allowed.float()))


def test_statistics_count_every_episode_once(story: Story) -> None:
    returns = torch.zeros(COUNT)
    said = torch.from_numpy(np.array(story.skill.said))
    # Besides the steps of each batch, the skill is asked once more for the value that follows it.
    said = said.view(len(story.batches), -1, COUNT)[:, :-1]
    for frames, statistics, signals in zip(story.batches, story.statistics, said, strict=True):
        rewards = []
        for t in range(len(frames.begins)):
            returns = torch.where(frames.begins[t], 0.0, returns) + frames.rewards[t]
            rewards += returns[frames.ended[t]].tolist()
        assert statistics.episodes == len(rewards) > 0
        assert statistics.reward == pytest.approx(np.mean(rewards))
        assert statistics.success == pytest.approx(frames.done.sum().item() / len(rewards))
        hits = (signals & frames.finished).sum().item()
        assert statistics.precision == pytest.approx(hits / signals.sum().item())
        assert statistics.recall == pytest.approx(hits / frames.finished.sum().item())
        assert 0 < statistics.precision < 1
        assert 0 < statistics.success < 1


def test_a_batch_without_an_ended_episode_has_statistics() -> None:
    skill = ScriptedSkill(lambda optimal: np.arange(13) == 0 * optimal)
    skill.worlds = worlds_of()
    rollout = SkillRollout(skill.worlds, 2, skill)
    frames, statistics = rollout.collect(skill, torch.Generator().manual_seed(0), teacher=False)
    assert not frames.ended.any()
    assert statistics.episodes == 0
    assert (statistics.success, statistics.reward) == (0.0, 0.0)
    assert (statistics.precision, statistics.recall) == (0.0, 0.0)


def test_without_a_teacher_there_are_no_labels() -> None:
    skill = network_for("grid", "independent")
    rollout = SkillRollout(worlds_of(), 2, skill)
    frames, _ = rollout.collect(skill, torch.Generator().manual_seed(0), teacher=False)
    assert not frames.optimal.any()


def network_for(world: str, scenario: Scenario, preset: Preset = "debug") -> Skill:
    torch.manual_seed(0)
    network = skill_training(world, scenario, preset).network
    small = replace(network, embedding=6, conv2=4, hidden=8, factors=7, lstm=9)
    return Skill(small).eval()


FORMS: list[tuple[str, Scenario, Preset]] = [
    ("grid", "independent", "debug"),
    ("grid", "inter-extrapolation", "debug"),
    ("block", "independent", "debug"),
    ("block", "independent", "paper"),
]


def short_tasks(world: str, scenario: str) -> TaskSource:
    return replace(skill_tasks(WORLDS[world], scenario, "train"), step_limit=4)


@pytest.mark.parametrize(("world", "scenario", "preset"), FORMS)
def test_a_batch_holds_what_a_network_needs_to_see_it_again(
    world: str, scenario: Scenario, preset: Preset
) -> None:
    """Unrolled over the frames, from the memory beside them, it says what it said in the worlds."""
    skill = network_for(world, scenario, preset)
    rollout = SkillRollout(worlds_of(short_tasks(world, scenario), world=world), 3, skill)
    random = torch.Generator().manual_seed(0)
    for _ in range(3):
        frames, _ = rollout.collect(skill, random, teacher=False)
        for part in (frames, frames.worlds(torch.tensor([7, 2, 3]))):
            output, _ = skill.unroll(part.images, part.subtasks, part.begins, part.memory)
            chosen = output.logits.log_softmax(-1).gather(-1, part.actions[..., None]).squeeze(-1)
            torch.testing.assert_close(chosen, part.log_probabilities, rtol=1e-4, atol=1e-5)
            torch.testing.assert_close(output.value, part.values, rtol=1e-4, atol=1e-5)


def test_some_worlds_of_a_batch(story: Story) -> None:
    frames, index = story.batches[1], torch.tensor([4, 0])
    part = frames.worlds(index)
    for name in PER_WORLD:
        assert torch.equal(getattr(part, name), getattr(frames, name)[:, [4, 0]])
    assert torch.equal(part.memory[0], frames.memory[0][[4, 0]])


@pytest.mark.parametrize(("world", "scenario", "preset"), FORMS)
def test_a_snapshot_goes_on_exactly(world: str, scenario: Scenario, preset: Preset) -> None:
    skill, tasks = network_for(world, scenario, preset), short_tasks(world, scenario)
    rollout = SkillRollout(worlds_of(tasks, world=world), 3, skill)
    random = torch.Generator().manual_seed(0)
    for _ in range(2):
        rollout.collect(skill, random, teacher=False)
    snapshot, state = rollout.snapshot(), random.get_state()
    expected = [rollout.collect(skill, random, teacher=True) for _ in range(2)]
    other = SkillRollout(worlds_of(tasks, world=world, seed=77), 3, skill)
    other.restore(snapshot)
    random.set_state(state)
    for frames, statistics in expected:
        again, counted = other.collect(skill, random, teacher=True)
        assert counted == statistics
        for name in PER_WORLD:
            assert torch.equal(getattr(again, name), getattr(frames, name)), name
        for (name, one), (_, same) in zip(
            leaves(frames.memory, "memory"), leaves(again.memory, "memory"), strict=True
        ):
            assert torch.equal(one, same), name


def test_sampling_follows_the_logits() -> None:
    logits = torch.log(torch.tensor([0.5, 0.3, 0.2])).expand(20_000, 3)
    actions, log_probabilities = sample(logits, torch.Generator().manual_seed(0))
    shares = torch.bincount(actions) / len(actions)
    assert shares.tolist() == pytest.approx([0.5, 0.3, 0.2], abs=0.02)
    torch.testing.assert_close(log_probabilities, logits[0][actions])
    again, _ = sample(logits, torch.Generator().manual_seed(0))
    assert torch.equal(actions, again)


@pytest.mark.parametrize("preset", ["debug", "paper"])
def test_block_worlds_have_their_own_actions(preset: Preset) -> None:
    """And frames keep what the eyes have made of pictures, if they remember, or the pictures."""
    skill = network_for("block", "independent", preset)
    rollout = SkillRollout(
        worlds_of(skill_tasks(BLOCK, "independent", "train"), world="block"), 1, skill
    )
    frames, _ = rollout.collect(skill, torch.Generator().manual_seed(0), teacher=True)
    assert frames.optimal.shape == (1, COUNT, 9)
    shown = (skill.eyes.size,) if isinstance(skill.eyes, MapEyes) else (64, 64, 3)
    assert frames.images.shape == (1, COUNT, *shown)
    assert isinstance(skill.eyes, MapEyes) == (preset == "debug")
