"""The hierarchy: one path of execution, when subtasks begin anew, and batches of any kind."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from errands.agents.deciding import Decision
from errands.agents.eyes import GridEyes
from errands.agents.hierarchy import Hierarchy, HierarchyState, Trace
from errands.agents.instructions import bags_of_words
from errands.agents.memory import Memory, leaves
from errands.agents.meta import MetaController, MetaInput, MetaNetwork, MetaOutput, MetaState
from errands.agents.skill import Skill, SkillNetwork, SkillOutput
from errands.worlds.spec import WORLDS
from errands.worlds.tasks import list_tasks
from errands.worlds.vector import Worlds
from twins.environments import make_vec
from twins.meta import (
    BLOCK,
    FORMS,
    MAP,
    PAPER,
    SMALL,
    SMALL_MAP,
    images_of,
    mask_of,
    randomised,
    replaced,
    small_skill,
    tokens_of,
)

COUNT, LONGEST, STEPS = 4, 3, 11
LENGTHS = (3, 1, 2, 3)
GRID_SKILL, BLOCK_SKILL = small_skill(SMALL), small_skill(BLOCK)


def decisive_skill(network: SkillNetwork) -> Skill:
    """Its likeliest action is certain, so draws tell nothing, and it often says "finished"."""
    torch.manual_seed(2)
    skill = Skill(network).eval()
    with torch.no_grad():
        skill.policy.weight.normal_(std=1e4)
        skill.termination.weight.normal_(std=5.0)
    return skill


def hierarchy_of(network: MetaNetwork) -> Hierarchy:
    skill = None if network.flat else decisive_skill(small_skill(network))
    meta = randomised(network)
    if network.flat:  # no draw is in doubt
        with torch.no_grad():
            for layer in (meta.updater.goals[0], meta.updater.shift[2]):
                layer.weight.normal_(std=1e5)
    return Hierarchy(meta, skill)


AGENTS = {
    name: FORMS[name]
    for name in (
        "dynamic",
        "long",
        "short",
        "flat",
        "paper",
        "hierarchical",
        "block",
        "block, with the skill's eyes",
        "block, flat",
        "map",
    )
}


@pytest.fixture(params=AGENTS)
def agent(request: pytest.FixtureRequest) -> Hierarchy:
    return hierarchy_of(AGENTS[request.param])


@cache
def observation(network: MetaNetwork, t: int) -> dict[str, Any]:
    mask = mask_of(LENGTHS, LONGEST)
    return {
        "image": images_of(replace(network, eyes="own", maps=None), COUNT, seed=t).numpy(),
        "tokens": tokens_of(network, mask).numpy(),
        "mask": mask.numpy(),
    }


def begins_at(t: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """World 2 begins anew at step 5, world 0 at step 9."""
    return np.array([t in (0, 9), t == 0, t in (0, 5), t == 0])


def plainly(agent: Hierarchy, world: int, *, soft: bool) -> list[dict[str, Any]]:
    """One world by itself, step by step: the skill tells, the meta controller decides, they act."""
    network, skill = agent.meta.network, agent.skill
    state = agent.meta.initial_state(1, LONGEST)
    memory = skill.initial_memory(1) if skill else ()
    remembered, action = agent.eyes.initial_memory(1), 0
    told = []
    for t in range(STEPS):
        seen = observation(network, t)
        image = torch.from_numpy(seen["image"][[world]])
        mask = torch.from_numpy(seen["mask"][[world]])
        bags = bags_of_words(torch.from_numpy(seen["tokens"][[world]]), network.words)
        begins = torch.tensor([bool(begins_at(t)[world])])
        finished, termination = torch.tensor([False]), 0.0
        acted = torch.tensor([action])
        looked, remembered = agent.eyes.look(image, acted, begins, remembered)
        if skill:
            said, going_on = skill.step(looked, state.carried.g, begins, memory)
            termination = torch.sigmoid(said.termination).item()
            finished = torch.tensor([termination > agent.meta.network.threshold]) & ~begins
        shown = skill.see(looked) if skill and network.shares_eyes else image
        given = MetaInput(shown, bags, mask, finished, begins)
        random = None if skill else torch.Generator().manual_seed(0)
        output, after = agent.meta.step(given, state, soft=soft, random=random)
        if skill:
            g = after.carried.g
            if begins or finished or not torch.equal(g, state.carried.g):
                said, going_on = skill.step(looked, g, torch.tensor([True]), memory)
            memory = going_on
            action = int(said.logits.argmax())
        else:
            action = int(after.carried.g)
        state = after
        told.append(
            {
                "output": output,
                "termination": termination,
                "finished": finished.item(),
                "action": action,
            }
        )
    return told


@pytest.mark.parametrize("soft", [True, False])
@torch.no_grad()
def test_acting_is_a_plain_loop_over_skill_and_meta_controller(
    agent: Hierarchy, soft: bool
) -> None:
    """A batch, with episodes that begin in its middle, against each of its worlds alone."""
    alone = [plainly(agent, world, soft=soft) for world in range(COUNT)]
    state: HierarchyState | None = None
    random = torch.Generator().manual_seed(3)
    ended = 0
    for t in range(STEPS):
        begins = None if t == 0 else begins_at(t)
        seen = observation(agent.meta.network, t)
        trace, state = agent.act(seen, state, begins=begins, random=random, soft=soft)
        for world in range(COUNT):
            expected = alone[world][t]
            output = expected["output"]
            assert trace.action[world] == expected["action"]
            assert trace.termination[world] == pytest.approx(expected["termination"], abs=1e-5)
            assert trace.finished[world] == expected["finished"]
            assert trace.update[world] == pytest.approx(output.update.item(), abs=1e-5)
            assert trace.updated[world] == output.decision.c.item()
            np.testing.assert_allclose(trace.shift[world], output.shift[0], atol=1e-5)
            np.testing.assert_allclose(trace.pointer[world], output.pointer[0], atol=1e-5)
            if agent.skill:
                assert trace.subtask[world].tolist() == [*output.decision.g[0].tolist(), 1]
            else:
                assert trace.subtask[world].tolist() == [-1, -1, -1]
        ended += int((trace.termination > 0.5).sum())
    assert ended > 0 or agent.skill is None


class UndecidedSkill(Skill):
    """Finds its first three actions likely in the proportion of 1 to 2 to 4."""

    def step_seen(
        self, seen: Tensor, subtasks: Tensor, begins: Tensor, memory: Memory
    ) -> tuple[SkillOutput, Memory]:
        logits = torch.full((len(seen), 13), -1e9)
        logits[:, :3] = torch.tensor([1.0, 2.0, 4.0]).log()
        never = torch.full((len(seen),), -5.0)
        return SkillOutput(logits, never, never, never), memory


@pytest.mark.parametrize("sharpness", [1.0, 2.0])
def test_actions_are_drawn_as_sharply_as_the_network_says(sharpness: float) -> None:
    agent = Hierarchy(
        randomised(replace(SMALL, sharpness=sharpness)), UndecidedSkill(SkillNetwork(embedding=1))
    )
    seen = {name: np.repeat(item, 1000, axis=0) for name, item in observation(SMALL, 0).items()}
    trace, _ = agent.act(seen, random=torch.Generator().manual_seed(0))
    powers = np.array([1.0, 2.0, 4.0]) ** sharpness
    shares = np.bincount(trace.action, minlength=3) / trace.action.size
    np.testing.assert_allclose(shares, powers / powers.sum(), atol=0.03)


# When a subtask begins anew


class CountingSkill(Skill):
    """Remembers how long its subtask has been running, and says "finished" when it is told to."""

    def __init__(self, *, remembers: bool = False) -> None:
        super().__init__(SkillNetwork(embedding=1, remembers=remembers))
        self.says = torch.zeros(COUNT, dtype=torch.bool)
        self.asked: list[Tensor] = []  # subtasks, one call a row

    def initial_memory(self, worlds: int) -> Memory:
        return (torch.full((worlds,), -9.0),)

    def step_seen(
        self, seen: Tensor, subtasks: Tensor, begins: Tensor, memory: Memory
    ) -> tuple[SkillOutput, Memory]:
        self.asked.append(subtasks)
        running = torch.where(begins, 0.0, memory[0] + 1.0)
        logits = torch.full((len(seen), 13), -1e9)
        logits[torch.arange(len(seen)), running.long() + 4 * subtasks[:, 0]] = 0.0
        says = torch.where(self.says, 5.0, -5.0) if len(seen) == COUNT else torch.zeros(())
        return SkillOutput(logits, says, running, says), (running,)


class ScriptedMeta(MetaController):
    """Chooses the subtasks that it is told to."""

    g = torch.zeros(COUNT, 2, dtype=torch.int64)

    def step(
        self, given: MetaInput, state: MetaState, **options: Any
    ) -> tuple[MetaOutput, MetaState]:
        output, after = super().step(given, state, **options)
        decision = Decision(output.decision.c, output.decision.shift, self.g)
        return output._replace(decision=decision), replaced(after, g=self.g)


def test_a_subtask_begins_anew_where_it_changed_or_was_finished_and_nowhere_else() -> None:
    """How long each has been running shows in its action: so many steps plus 4 times its verb."""
    skill = CountingSkill()
    meta = ScriptedMeta(SMALL).eval()
    agent = Hierarchy(meta, skill)
    script = [
        # subtasks, which are finished, which begin, how long each has then been running
        ([[0, 1], [0, 1], [0, 1], [0, 1]], (), None, [0, 0, 0, 0]),
        ([[0, 1], [0, 1], [0, 1], [0, 1]], (), (), [1, 1, 1, 1]),
        ([[0, 1], [1, 1], [0, 2], [0, 1]], (3,), (), [2, 0, 0, 0]),
        ([[0, 1], [1, 1], [0, 2], [0, 1]], (), (0,), [0, 1, 1, 1]),
        ([[2, 1], [1, 1], [0, 2], [1, 0]], (0, 2, 3), (), [0, 2, 0, 0]),
        ([[2, 1], [1, 1], [0, 2], [1, 0]], (1,), (1,), [1, 0, 1, 1]),
    ]
    state: HierarchyState | None = None
    before = torch.zeros(COUNT, 2, dtype=torch.int64)
    for t, (subtasks, finished, begins, running) in enumerate(script):
        skill.says = torch.tensor([world in finished for world in range(COUNT)])
        ScriptedMeta.g = torch.tensor(subtasks)
        new = None if begins is None else np.isin(np.arange(COUNT), begins)
        skill.asked.clear()
        trace, state = agent.act(observation(SMALL, t), state, begins=new)
        assert torch.equal(skill.asked[0], before)  # who says "finished" knows the old subtask
        assert trace.action.tolist() == [
            steps + 4 * verb for steps, (verb, _) in zip(running, subtasks, strict=True)
        ]
        assert state.skill[0].tolist() == running
        assert trace.subtask[:, :2].tolist() == subtasks
        before = ScriptedMeta.g


def test_a_skill_that_remembers_forgets_only_when_an_episode_begins() -> None:
    """It looks twice where a subtask begins anew: as asked before, and as asked now."""
    skill = CountingSkill(remembers=True)
    agent = Hierarchy(ScriptedMeta(SMALL).eval(), skill)
    script = [
        # objects, which are finished, which begin, how often each has then looked before
        ([1, 1, 1, 1], (), None, [0, 0, 0, 0]),
        ([1, 2, 1, 1], (), (), [1, 2, 1, 1]),
        ([1, 2, 3, 1], (3,), (), [2, 3, 3, 3]),
        ([1, 1, 3, 2], (), (0, 3), [0, 5, 4, 0]),
    ]
    state: HierarchyState | None = None
    for t, (objects, finished, begins, looked) in enumerate(script):
        skill.says = torch.tensor([world in finished for world in range(COUNT)])
        ScriptedMeta.g = torch.tensor([[0, kind] for kind in objects])
        new = None if begins is None else np.isin(np.arange(COUNT), begins)
        trace, state = agent.act(observation(SMALL, t), state, begins=new)
        assert trace.action.tolist() == looked
        assert state.skill[0].tolist() == looked


def test_a_finished_subtask_is_told_unless_an_episode_begins() -> None:
    skill = CountingSkill()
    agent = Hierarchy(randomised(FORMS["long"]), skill)
    skill.says = torch.tensor([True, True, False, False])
    _, state = agent.act(observation(SMALL, 0))
    trace, _ = agent.act(observation(SMALL, 1), state, begins=np.array([False, True, False, True]))
    assert (trace.termination > 0.5).tolist() == [True, True, False, False]
    assert trace.updated.tolist() == [True, True, False, True]
    assert trace.pointer[1].tolist() == [1, 0, 0]


# Eyes with a memory


class Diary(GridEyes):
    """Eyes that remember how many steps an episode has, and the agent's last action."""

    def initial_memory(self, worlds: int) -> Memory:
        return (torch.full((worlds,), -9),)

    def look(
        self, images: Tensor, actions: Tensor, begins: Tensor, memory: Memory
    ) -> tuple[Tensor, Memory]:
        steps = torch.where(begins, 0, memory[0] + 1)
        self.looks.append((steps, actions))
        return images + steps[:, None, None, None].to(images.dtype), (steps,)


def test_eyes_look_once_a_step_and_know_the_last_action() -> None:
    """What they make of it is what the skill sees; it begins again with each episode."""
    skill = decisive_skill(GRID_SKILL)
    diary = Diary(10, SMALL.objects)
    diary.looks = []
    skill.eyes = diary
    shown: list[Tensor] = []
    skill.eyes.register_forward_pre_hook(lambda _, looked: shown.append(looked[0]))
    agent = Hierarchy(randomised(SMALL), skill)
    state: HierarchyState | None = None
    acted: list[Any] = []
    for t in range(4):
        begins = None if t == 0 else np.isin(np.arange(COUNT), [1] if t == 2 else [])
        trace, state = agent.act(observation(SMALL, t), state, begins=begins)
        image = torch.from_numpy(observation(SMALL, t)["image"])
        steps, actions = diary.looks[t]
        assert len(diary.looks) == len(shown) == t + 1
        assert steps.tolist() == [t, t if t < 2 else t - 2, t, t]
        assert torch.equal(shown[t], image + steps[:, None, None, None].to(image.dtype))
        if t:
            assert actions.tolist() == acted[-1]
        acted.append(trace.action.tolist())


# Batches of any kind


def test_nothing_but_actions_is_left_to_chance() -> None:
    torch.manual_seed(0)
    agent = Hierarchy(randomised(SMALL), Skill(GRID_SKILL).eval())
    one, other, again = (
        agent.act(observation(SMALL, 0), random=torch.Generator().manual_seed(seed))[0]
        for seed in (0, 1, 0)
    )
    for name in set(Trace._fields) - {"action"}:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(one.action, again.action)
    actions = {
        tuple(
            agent.act(observation(SMALL, 0), random=torch.Generator().manual_seed(seed))[0].action
        )
        for seed in range(8)
    }
    assert len(actions) > 1


@pytest.mark.parametrize("form", ["dynamic", "flat"])
def test_gymnasiums_batches(form: str) -> None:
    env = make_vec("errands/GridInstructions-v0", 3, length=3, step_limit=9)
    agent = hierarchy_of(FORMS[form])
    seen, _ = env.reset(seed=5)
    state, begins, episodes = None, None, 0
    for _ in range(50):
        trace, state = agent.act(seen, state, begins=begins)
        first = np.ones(3, np.bool_) if begins is None else begins
        assert trace.updated[first].all()
        assert (trace.pointer[first, 0] == 1).all()
        assert_shapes(trace, worlds=3, longest=3)
        assert env.action_space.contains(trace.action)
        if form == "dynamic":
            assert ((trace.subtask >= 0) & (trace.subtask < (3, 15, 2))).all()
        seen, _, done, cut_off, _ = env.step(trace.action)
        begins = done | cut_off
        episodes += int(begins.sum())
    assert episodes >= 3 * (50 // 9)


def assert_shapes(trace: Trace, *, worlds: int, longest: int) -> None:
    shapes = {
        "pointer": ((worlds, longest), np.float32),
        "shift": ((worlds, 3), np.float32),
        "shifted": ((worlds,), np.int64),
        "update": ((worlds,), np.float32),
        "updated": ((worlds,), np.bool_),
        "subtask": ((worlds, 3), np.int64),
        "termination": ((worlds,), np.float32),
        "finished": ((worlds,), np.bool_),
        "action": ((worlds,), np.int64),
    }
    for name, value in trace._asdict().items():
        assert (value.shape, value.dtype) == shapes[name], name
    np.testing.assert_allclose(trace.pointer.sum(1), 1.0, rtol=1e-5)
    np.testing.assert_allclose(trace.shift.sum(1), 1.0, rtol=1e-5)
    assert set(trace.shifted.tolist()) <= {-1, 0, 1}


@pytest.mark.parametrize("form", ["flat", "block", "map"])
def test_what_is_remembered_does_not_follow_the_worlds_buffers(form: str) -> None:
    """Observations may be the worlds' own memory, and a list may have a hundred instructions."""
    agent, spec = hierarchy_of(FORMS[form]), WORLDS[FORMS[form].world]
    worlds = Worlds(spec, 2, list_tasks(spec, "seen", (100, 100)))
    worlds.reset()
    state: HierarchyState | None = None
    for _ in range(3):
        seen = {"image": worlds.images, "tokens": worlds.tokens, "mask": worlds.mask}
        trace, state = agent.act(seen, state)
        kept = [item.clone() for _, item in leaves(state, "state")]
        worlds.step(trace.action)
        for (name, item), copy in zip(leaves(state, "state"), kept, strict=True):
            assert torch.equal(item, copy), name
    assert trace.pointer.shape == (2, 100)


def test_gradients_are_not_kept() -> None:
    trace, state = hierarchy_of(SMALL).act(observation(SMALL, 0))
    assert not any(item.requires_grad for _, item in leaves(state, "state"))
    assert isinstance(trace.update, np.ndarray)


# What does not fit together


def test_who_needs_a_skill() -> None:
    skill = Skill(GRID_SKILL)
    with pytest.raises(ValueError, match="a flat agent has no skill"):
        Hierarchy(MetaController(FORMS["flat"]), skill)
    with pytest.raises(ValueError, match="every other needs one"):
        Hierarchy(MetaController(SMALL), None)


def test_eyes_that_cannot_be_shared() -> None:
    with pytest.raises(ValueError, match="no eyes to share"):
        MetaController(replace(PAPER, eyes="skill"))
    other = Skill(replace(BLOCK_SKILL, filters=(4, 5, 3, 3)))
    with pytest.raises(ValueError, match="the skill's eyes show 5 channels, not 3"):
        Hierarchy(MetaController(FORMS["block, with the skill's eyes"]), other)


def test_maps_that_the_skill_does_not_build() -> None:
    for skill in (BLOCK_SKILL, replace(small_skill(MAP), maps=replace(SMALL_MAP, largest=4))):
        with pytest.raises(ValueError, match="a map that the skill does not build"):
            Hierarchy(MetaController(MAP), Skill(skill))
    surer = replace(small_skill(MAP), maps=replace(SMALL_MAP, sure=0.5))
    for meta, builds in ((MAP, surer), (BLOCK, small_skill(MAP))):  # or it has eyes of its own
        Hierarchy(MetaController(meta), Skill(builds))


def test_skills_that_cannot_be_commanded() -> None:
    with pytest.raises(ValueError, match="a skill of the block world cannot act in the grid"):
        Hierarchy(MetaController(SMALL), Skill(BLOCK_SKILL))
    with pytest.raises(ValueError, match="a skill that counts"):
        Hierarchy(MetaController(SMALL), Skill(replace(GRID_SKILL, counted=True)))
