"""Teachers side by side are the same as teachers one by one."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from errands.agents.eyes import BlockEyes, GridEyes
from errands.agents.mapping import MapWindow
from errands.agents.recogniser import MapNetwork
from errands.agents.teacher import GridTeachers, MapTeachers, Teachers, new_teachers

TASKS, PLANES = 5, 6
ACTIONS = {"grid": 13, "block": 9}
EYES = MapWindow(MapNetwork(largest=3), objects=2, actions=9)


def new(world: str) -> Teachers:
    torch.manual_seed(0)
    if world == "grid":
        return GridTeachers(TASKS, PLANES, channels=3, hidden=7)
    return MapTeachers(TASKS, EYES, channels=3, hidden=7)


@pytest.fixture(params=["grid", "block"])
def world(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def teachers(world: str) -> Teachers:
    return new(world)


def observations(world: str, *shape: int) -> Tensor:
    """Random planes with one agent each, or random windows on a map."""
    if world == "block":
        return torch.randint(0, 256, (*shape, EYES.size), dtype=torch.uint8)
    images = torch.randint(0, 2, (*shape, PLANES, 10, 10), dtype=torch.uint8)
    images[..., 0, :, :] = 0
    images[..., 0, 4, 7] = 1
    return images


def for_all(looked: Tensor) -> Tensor:
    """The same observations (n, ...) for each teacher."""
    return looked.expand(TASKS, *looked.shape)


def test_each_teacher_has_its_own_weights(world: str, teachers: Teachers) -> None:
    logits = teachers(for_all(observations(world, 3))).logits
    assert logits.shape == (TASKS, 3, ACTIONS[world])
    for k in range(1, TASKS):
        assert not torch.allclose(logits[0], logits[k])


def test_a_teacher_does_not_feel_the_others(world: str, teachers: Teachers) -> None:
    images = observations(world, TASKS, 4)
    before = teachers(images)
    with torch.no_grad():
        for parameter in teachers.parameters():
            parameter[2] += 1.0
    after = teachers(images)
    others = [0, 1, 3, 4]
    assert torch.equal(before.logits[others], after.logits[others])
    assert not torch.equal(before.logits[2], after.logits[2])


def test_what_is_known_of_one_direction_is_known_of_all() -> None:
    """A map that is turned to the left, its agent too: north becomes west, and so on."""
    teachers, images = new("grid"), observations("grid", TASKS, 3)
    told = teachers(images)
    turned = teachers(torch.rot90(images, 1, (3, 4)))
    north, south, west, east = 0, 1, 2, 3
    becomes = {north: west, west: south, south: east, east: north}
    torch.testing.assert_close(turned.value, told.value)
    torch.testing.assert_close(turned.logits[..., 0], told.logits[..., 0])
    for kind in (1, 5, 9):  # the first of the four moves, pick ups and transforms
        for before, after in becomes.items():
            torch.testing.assert_close(
                turned.logits[..., kind + after], told.logits[..., kind + before]
            )
    assert not torch.allclose(told.logits[..., 1], told.logits[..., 2])


def test_teachers_with_a_map_are_as_many_plain_networks() -> None:
    """Layer by layer and cell by cell, for each observation of each teacher."""
    teachers, looked = new("block"), observations("block", TASKS, 2)
    output = teachers(looked)
    window = EYES.network.window * EYES.channels
    for k in range(TASKS):
        cells, into, mix, policy, value = (
            (layer.weight[k].t(), layer.bias[k, 0])
            for layer in (
                teachers.cells,
                teachers.into,
                teachers.mix,
                teachers.policy,
                teachers.value,
            )
        )
        for i, features in enumerate(looked[k].float() / 255):
            seen = [F.linear(cell, *cells) for cell in features[:window].view(-1, EYES.channels)]
            x = torch.cat([*seen, features[2 * window :]])
            x = F.leaky_relu(F.linear(F.leaky_relu(F.linear(x, *into)), *mix))
            torch.testing.assert_close(output.logits[k, i], F.linear(x, *policy))
            torch.testing.assert_close(output.value[k, i], F.linear(x, *value)[0])


def test_advice_is_each_observations_own_teachers(world: str, teachers: Teachers) -> None:
    images = observations(world, 11)
    task = torch.tensor([3, 0, 0, 4, 3, 3, 1, 0, 4, 3, 3])  # nobody asks teacher 2
    advice = teachers.advise(images, task)
    assert torch.allclose(advice.sum(dim=1), torch.ones(11))
    for i in range(11):
        alone = teachers(for_all(images[i : i + 1])).logits[task[i], 0]
        assert torch.allclose(advice[i], torch.softmax(alone, dim=0), atol=1e-6)


def test_teachers_see_with_the_students_eyes() -> None:
    assert isinstance(new_teachers(2, EYES), MapTeachers)
    assert isinstance(new_teachers(2, GridEyes(10, objects=15)), GridTeachers)
    with pytest.raises(ValueError, match="need a student with a map: --preset fast"):
        new_teachers(2, BlockEyes(64, (16, 32), (8, 1), (4, 1)))
