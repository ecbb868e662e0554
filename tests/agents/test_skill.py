"""Skills: shapes, memory, and what beginning a new subtask forgets."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from errands.agents.eyes import GridSight
from errands.agents.mapping import MapEyes
from errands.agents.memory import Memory, leaves
from errands.agents.recogniser import MapNetwork
from errands.agents.skill import Skill, SkillMemory, SkillNetwork
from errands.config import Preset, Scenario
from errands.presets import skill_training
from errands.worlds.spec import WORLDS
from errands.worlds.tasks import skill_tasks
from errands.worlds.vector import Worlds

SMALL = SkillNetwork(embedding=6, conv1=3, conv2=4, conv3=5, hidden=8, factors=7, lstm=9)
BLOCK = replace(SMALL, world="block", objects=7, actions=9)
MAP = replace(BLOCK, maps=MapNetwork(largest=3))
NETWORKS = {
    "centred": SMALL,
    "pooled": replace(SMALL, view="pooled"),
    "own eyes": replace(SMALL, same_eyes=False, narrow=0),
    "noise at first": replace(SMALL, noise_at_first=True),
    "paper": replace(SMALL, view="pooled", same_eyes=False, narrow=0),
    "counted": replace(SMALL, counted=True),
    "pooled and counted": replace(SMALL, view="pooled", counted=True),
    "block": BLOCK,
    "block, one look": replace(BLOCK, looks=1),
    "block counted": replace(BLOCK, counted=True),
    "map": MAP,
    "map counted": replace(MAP, counted=True),
}
TIMES, WORLDS_IN_BATCH = 4, 3


@pytest.fixture(params=NETWORKS.values(), ids=NETWORKS.keys())
def skill(request: pytest.FixtureRequest) -> Skill:
    return randomised(request.param)


def randomised(network: SkillNetwork) -> Skill:
    """Heads start almost silent: louder ones make differences show. There is no noise."""
    torch.manual_seed(0)
    skill = Skill(network).eval()
    with torch.no_grad():
        skill.policy.weight.normal_()
    return skill


def images_of(skill: Skill, times: int = TIMES) -> Tensor:
    """Random observations; a grid's first plane shows the agent on one inner cell.

    Eyes that remember have looked already.
    """
    random = np.random.default_rng(1)
    if isinstance(skill.eyes, MapEyes):
        shape = times, WORLDS_IN_BATCH, skill.eyes.size
        return torch.from_numpy(random.integers(0, 256, shape, dtype=np.uint8))
    if skill.network.world == "block":
        pixels = random.integers(0, 256, (times, WORLDS_IN_BATCH, 64, 64, 3), dtype=np.uint8)
        return torch.from_numpy(pixels)
    planes = 3 + skill.network.objects
    shape = (times, WORLDS_IN_BATCH, planes, 10, 10)
    cells = (random.random(shape) < 0.2).astype(np.uint8)
    cells[:, :, 0] = 0
    for t in range(times):
        for world in range(WORLDS_IN_BATCH):
            row, column = random.integers(1, 9, 2)
            cells[t, world, 0, row, column] = 1
    return torch.from_numpy(cells)


def subtasks_of(times: int = TIMES) -> Tensor:
    """Each world keeps its subtask."""
    return torch.tensor([[0, 3, 2], [2, 5, 3], [1, 0, 1]]).expand(times, -1, -1)


def begins_at(*frames: tuple[int, int]) -> Tensor:
    begins = torch.zeros(TIMES, WORLDS_IN_BATCH, dtype=torch.bool)
    for t, world in frames:
        begins[t, world] = True
    return begins


def remembered(skill: Skill) -> Memory:
    """The memory after one step, so that forgetting it makes a difference."""
    everywhere = torch.ones(WORLDS_IN_BATCH, dtype=torch.bool)
    start = skill.initial_memory(WORLDS_IN_BATCH)
    return skill.step(images_of(skill).flip(0)[0], subtasks_of()[0], everywhere, start)[1]


def test_shapes(skill: Skill) -> None:
    memory = skill.initial_memory(WORLDS_IN_BATCH)
    images, subtasks, begins = images_of(skill), subtasks_of(), begins_at((0, 0), (0, 1), (0, 2))
    output, after = skill.unroll(images, subtasks, begins, memory)
    assert output.logits.shape == (TIMES, WORLDS_IN_BATCH, skill.network.actions)
    assert output.termination.shape == (TIMES, WORLDS_IN_BATCH)
    assert output.value.shape == (TIMES, WORLDS_IN_BATCH)
    assert shapes(after) == shapes(memory)
    assert all(torch.isfinite(part).all() for part in output)
    output, after = skill.step(images[0], subtasks[0], begins[0], memory)
    assert output.logits.shape == (WORLDS_IN_BATCH, skill.network.actions)
    assert output.termination.shape == output.value.shape == (WORLDS_IN_BATCH,)
    assert shapes(after) == shapes(memory)


def shapes(memory: Memory) -> dict[str, tuple[torch.Size, torch.dtype]]:
    return {name: (item.shape, item.dtype) for name, item in leaves(memory, "memory")}


def test_steps_one_by_one_are_the_same_as_unrolled(skill: Skill) -> None:
    images, subtasks, begins = images_of(skill), subtasks_of(), begins_at((0, 0), (2, 1), (3, 0))
    memory = remembered(skill)
    unrolled, last = skill.unroll(images, subtasks, begins, memory)
    for t in range(TIMES):
        output, memory = skill.step(images[t], subtasks[t], begins[t], memory)
        for one, part in zip(output, unrolled, strict=True):
            torch.testing.assert_close(one, part[t], rtol=1e-4, atol=1e-5)
    for (name, one), (_, item) in zip(leaves(memory, ""), leaves(last, ""), strict=True):
        torch.testing.assert_close(one, item, rtol=1e-4, atol=1e-5, msg=name)


def test_memory_matters_until_a_new_subtask_begins(skill: Skill) -> None:
    """World 0 begins at frame 2: from there on, what came before makes no difference."""
    images, subtasks, begins = images_of(skill), subtasks_of(), begins_at((2, 0))
    empty, _ = skill.unroll(images, subtasks, begins, skill.initial_memory(WORLDS_IN_BATCH))
    full, _ = skill.unroll(images, subtasks, begins, remembered(skill))
    for part, other in zip(empty, full, strict=True):
        if not isinstance(skill.eyes, MapEyes):  # they remember, and have looked already
            assert not torch.equal(part[0, 0], other[0, 0])
        torch.testing.assert_close(part[2:, 0], other[2:, 0])
    elsewhere = images.clone()
    elsewhere[:2, 0] = images[:2, 1]
    changed, _ = skill.unroll(elsewhere, subtasks, begins, remembered(skill))
    for part, other in zip(full, changed, strict=True):
        torch.testing.assert_close(part[2:, 0], other[2:, 0])
        torch.testing.assert_close(part[:, 1:], other[:, 1:])  # nor do worlds see one another


@pytest.mark.parametrize("view", ["centred", "pooled"])
def test_grid_skill_looks_at_exactly_two_observations(view: str) -> None:
    skill = randomised(replace(SMALL, view=view))
    images, subtasks = images_of(skill), subtasks_of()
    changed = images.clone()
    changed[0] = images[0].roll(1, dims=0)
    output, _ = skill.unroll(images, subtasks, begins_at(), remembered(skill))
    other, _ = skill.unroll(changed, subtasks, begins_at(), remembered(skill))
    assert not torch.equal(output.logits[1], other.logits[1])
    assert torch.equal(output.logits[2:], other.logits[2:])


def test_the_same_eyes_see_both_observations() -> None:
    """Of any cell, conv1 tells of the observation before what it would have told of it then."""
    skill = randomised(SMALL)
    sight = skill.sight
    assert isinstance(sight, GridSight)
    image, before, other = (skill.see(images) for images in images_of(skill)[:3])
    embedded = skill.embedding(subtasks_of()[0])
    both = sight._both(image, before, embedded)
    swapped = sight._both(before, image, embedded)
    channels = skill.network.conv1
    assert both.shape == (WORLDS_IN_BATCH, 100, 2 * channels)
    torch.testing.assert_close(both[..., :channels], swapped[..., channels:])
    torch.testing.assert_close(both[..., channels:], swapped[..., :channels])
    changed = sight._both(image, other, embedded)
    torch.testing.assert_close(both[..., :channels], changed[..., :channels])
    assert not torch.equal(both[..., channels:], changed[..., channels:])


def test_first_observation_stands_for_the_one_before_it() -> None:
    skill = randomised(SMALL)
    image, subtask = images_of(skill)[0], subtasks_of()[0]
    never, always = torch.tensor([False] * WORLDS_IN_BATCH), torch.tensor([True] * WORLDS_IN_BATCH)
    fresh, memory = skill.step(image, subtask, always, skill.initial_memory(WORLDS_IN_BATCH))
    again, _ = skill.step(image, subtask, never, memory)
    assert torch.equal(fresh.logits, again.logits)


def test_subtasks_change_what_is_done(skill: Skill) -> None:
    images, subtasks = images_of(skill), subtasks_of()
    memory = skill.initial_memory(WORLDS_IN_BATCH)
    begins = begins_at((0, 0), (0, 1), (0, 2))
    output, _ = skill.unroll(images, subtasks, begins, memory)
    for column in range(3 if skill.network.counted else 2):
        other_subtasks = subtasks.clone()
        other_subtasks[..., column] += 1
        other, _ = skill.unroll(images, other_subtasks, begins, memory)
        assert not torch.equal(output.termination, other.termination)


def test_noise_comes_while_training_alone(skill: Skill) -> None:
    images, subtasks, begins = images_of(skill), subtasks_of(), begins_at()
    memory = remembered(skill)

    def logits() -> Tensor:
        return skill.unroll(images, subtasks, begins, memory)[0].logits

    quiet = logits()
    assert torch.equal(quiet, logits())
    skill.train()
    assert not torch.equal(quiet, logits())


@pytest.mark.parametrize("network", [SMALL, BLOCK, MAP], ids=["grid", "block", "map"])
@pytest.mark.parametrize("alone", [False, True])
def test_noise_may_be_for_the_first_predicted_layer_alone(
    network: SkillNetwork, alone: bool
) -> None:
    skill = randomised(replace(network, noise=0.4, noise_at_first=alone)).train()
    layers = "sight.conv1.weight", "context.fc"  # what predicts weights, and a factorised layer
    if network.world == "block" and not network.maps:
        layers = "sight.conv3.weight", "context.lstm.gates"
    first, second = map(skill.get_submodule, layers)
    memory = remembered(skill)
    heard: dict[nn.Module, list[Tensor]] = {first: [], second: []}
    for layer in heard:
        layer.register_forward_hook(lambda layer, given, _: heard[layer].append(given[-1]))
    skill.unroll(images_of(skill), subtasks_of(), begins_at(), memory)
    at_first, at_second = heard[first][-1], torch.cat(heard[second])
    undisturbed = skill.embedding(subtasks_of().reshape(-1, 3))
    assert not torch.equal(at_first, undisturbed)
    assert torch.equal(at_second, undisturbed if alone else at_first)


def counted_by_hand(deeds: list[float], wanted: float, sharpness: float) -> list[float]:
    total, signals = 0.0, []
    for deed in deeds:
        total += deed
        signals.append(sharpness * (0.5 - (wanted - total)))
    return signals


def test_counter_of_a_counted_grid_skill() -> None:
    """The network is silenced: every frame's deed is half, phi(g) wants two."""
    skill = randomised(replace(SMALL, counted=True))
    assert skill.counter is not None
    with torch.no_grad():
        for head in (skill.termination, skill.counter.wanted, skill.value):
            head.weight.zero_()
            head.bias.zero_()
        skill.counter.wanted.bias.fill_(2.0)
        skill.counter.value_left.weight.fill_(10.0)
    memory = skill.initial_memory(WORLDS_IN_BATCH)
    memory = SkillMemory(*memory)._replace(counted=(torch.tensor([0.0, 1.0, 7.0]),))
    begins = begins_at((0, 2), (2, 1))
    output, after = skill.unroll(images_of(skill), subtasks_of(), begins, memory)
    (counter,) = SkillMemory(*after).counted
    sharpness = skill.counter.sharpness.item()
    half = [0.5] * TIMES
    told = output.termination.T.tolist()
    assert told[0] == pytest.approx(counted_by_hand(half, 2.0, sharpness))
    assert told[1][:2] == pytest.approx(counted_by_hand([1.5, 0.5], 2.0, sharpness))
    assert told[1][2:] == pytest.approx(counted_by_hand([0.5, 0.5], 2.0, sharpness))
    assert told[2] == pytest.approx(counted_by_hand(half, 2.0, sharpness))
    assert [[signal > 0 for signal in row] for row in told] == [
        [False, False, False, True],
        [False, True, False, False],
        [False, False, False, True],
    ]
    assert counter.tolist() == pytest.approx([2.0, 1.0, 2.0])
    left = [1.5, 1.0, 0.5, 0.0]
    assert output.value[:, 0].tolist() == pytest.approx([10.0 * item for item in left])


def test_counter_learns_from_the_termination_signal_alone() -> None:
    """The value reads the counter but does not teach it; a batch's memory carries no gradient."""
    skill = randomised(replace(SMALL, counted=True))
    assert skill.counter is not None
    output, memory = skill.unroll(images_of(skill), subtasks_of(), begins_at(), remembered(skill))
    output.value.sum().backward(retain_graph=True)
    assert skill.counter.wanted.weight.grad is None
    assert skill.termination.weight.grad is None
    output.termination.sum().backward()
    assert skill.counter.wanted.weight.grad.abs().sum() > 0
    assert skill.termination.weight.grad.abs().sum() > 0
    assert not any(item.requires_grad for _, item in leaves(memory, ""))


@pytest.mark.parametrize("world", ["grid", "block"])
def test_memory_does_not_follow_the_worlds_buffers(world: str) -> None:
    """Worlds write their next observation over the last one: what is remembered must stay."""
    network = SMALL if world == "grid" else BLOCK
    skill = randomised(network)
    worlds = Worlds(WORLDS[world], 2, skill_tasks(WORLDS[world], "independent", "train"))
    worlds.reset()
    always = torch.ones(2, dtype=torch.bool)
    codes = torch.from_numpy(worlds.subtasks.astype(np.int64))
    with torch.no_grad():
        _, memory = skill.step(
            torch.from_numpy(worlds.images), codes, always, skill.initial_memory(2)
        )
        copies = [item.clone() for _, item in leaves(memory, "")]
        before = worlds.images.copy()
        for action in (4, 2, 1):
            worlds.step(np.full(2, action))
        assert (worlds.images != before).any()
    for (name, item), copy in zip(leaves(memory, ""), copies, strict=True):
        assert torch.equal(item, copy), name


@pytest.mark.parametrize("preset", ["fast", "paper", "debug"])
@pytest.mark.parametrize("scenario", ["independent", "object-dependent", "inter-extrapolation"])
@pytest.mark.parametrize("world", ["grid", "block"])
def test_every_preset_fits_its_world(world: str, scenario: Scenario, preset: Preset) -> None:
    spec = WORLDS[world]
    tasks = skill_tasks(spec, scenario, "all")
    worlds = Worlds(spec, 1, tasks)
    worlds.reset()
    skill = Skill(skill_training(world, scenario, preset).network)
    codes = torch.tensor([item.code(spec.vocabulary) for item in tasks.pool])
    images = torch.from_numpy(worlds.images).expand(len(codes), *worlds.images.shape[1:])
    begins = torch.ones(len(codes), dtype=torch.bool)
    idle, memory = torch.zeros(len(codes), dtype=torch.int64), skill.initial_memory(len(codes))
    with torch.no_grad():
        looked, _ = skill.eyes.look(images, idle, begins, skill.eyes.initial_memory(len(codes)))
        output, _ = skill.step(looked, codes, begins, memory)
    assert output.logits.shape == (len(codes), worlds.actions)
