"""Teachers side by side are the same as teachers one by one."""

import pytest
import torch
from torch import Tensor

from errands.agents.teacher import GridTeachers

TASKS, PLANES, ACTIONS = 5, 6, 13


@pytest.fixture
def teachers() -> GridTeachers:
    torch.manual_seed(0)
    return GridTeachers(TASKS, PLANES, channels=3, hidden=7)


def observations(*shape: int) -> Tensor:
    """Random planes with one agent each."""
    images = torch.randint(0, 2, (*shape, PLANES, 10, 10), dtype=torch.uint8)
    images[..., 0, :, :] = 0
    images[..., 0, 4, 7] = 1
    return images


def test_each_teacher_has_its_own_weights(teachers: GridTeachers) -> None:
    images = observations(1, 3).expand(TASKS, -1, -1, -1, -1)
    logits = teachers(images).logits
    assert logits.shape == (TASKS, 3, ACTIONS)
    for k in range(1, TASKS):
        assert not torch.allclose(logits[0], logits[k])


def test_a_teacher_does_not_feel_the_others(teachers: GridTeachers) -> None:
    images = observations(TASKS, 4)
    before = teachers(images)
    with torch.no_grad():
        for parameter in teachers.parameters():
            parameter[2] += 1.0
    after = teachers(images)
    others = [0, 1, 3, 4]
    assert torch.equal(before.logits[others], after.logits[others])
    assert not torch.equal(before.logits[2], after.logits[2])


def test_what_is_known_of_one_direction_is_known_of_all(teachers: GridTeachers) -> None:
    """A map that is turned to the left, its agent too: north becomes west, and so on."""
    images = observations(TASKS, 3)
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


def test_advice_is_each_observations_own_teachers(teachers: GridTeachers) -> None:
    images = observations(11)
    task = torch.tensor([3, 0, 0, 4, 3, 3, 1, 0, 4, 3, 3])  # nobody asks teacher 2
    advice = teachers.advise(images, task)
    assert torch.allclose(advice.sum(dim=1), torch.ones(11))
    for i in range(11):
        alone = teachers(images[i].expand(TASKS, 1, -1, -1, -1)).logits[task[i], 0]
        assert torch.allclose(advice[i], torch.softmax(alone, dim=0), atol=1e-6)
