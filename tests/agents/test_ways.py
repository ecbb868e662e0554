import heapq

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from errands.agents.ways import AT_A_TIME, NEIGHBOURS, Ways, bordered, follow

SIDE = 6
FAR = SIDE * SIDE  # no way is longer
CORNER = 0


def values(worth: NDArray[np.float64], cost: NDArray[np.float64]) -> NDArray[np.float64]:
    """What a shortest-path search says of each cell: the best worth, less the costs on the way."""
    value = worth.copy()
    queue = [(-value[row, column], row, column) for row, column in np.ndindex(*worth.shape)]
    heapq.heapify(queue)
    while queue:
        negative, row, column = heapq.heappop(queue)
        if -negative < value[row, column]:
            continue
        for down, right in NEIGHBOURS:
            r, c = row + down, column + right
            if 0 <= r < SIDE and 0 <= c < SIDE:
                offer = value[row, column] - cost[row, column]
                if offer > value[r, c]:
                    value[r, c] = offer
                    heapq.heappush(queue, (-offer, r, c))
    return value


def batch(worth: NDArray[np.float64], cost: NDArray[np.float64]) -> tuple[torch.Tensor, ...]:
    """Maps (S, S) as the layer has them: (S + 2, S + 2, 1)."""
    maps = (torch.from_numpy(item)[..., None] for item in (worth, cost))
    return tuple(bordered(item, edge) for item, edge in zip(maps, (-1e4, 0.0), strict=True))


@given(st.integers(0, 2**32 - 1), st.floats(0.0, 0.9))
def test_values_are_those_of_a_shortest_path_search(seed: int, walls: float) -> None:
    random = np.random.default_rng(seed)
    worth = np.where(random.random((SIDE, SIDE)) < 0.1, random.normal(0, 3, (SIDE, SIDE)), -50.0)
    cost = np.where(random.random((SIDE, SIDE)) < walls, 40.0, random.random((SIDE, SIDE)))
    maps = batch(worth, cost)
    cells = (np.arange(SIDE)[:, None] + 1) * (SIDE + 2) + np.arange(SIDE) + 1
    starts = torch.from_numpy(cells.reshape(-1, 1))
    found = follow(*maps, starts, FAR)
    expected = values(worth, cost) - cost
    np.testing.assert_allclose(found.view(SIDE, SIDE).numpy(), expected, atol=1e-9)


def test_samples_do_not_depend_on_each_other() -> None:
    """They are planned for several at a time, and the last few are fewer."""
    count = 2 * AT_A_TIME + 3
    ways = Ways(SIDE, 2, FAR)
    x, agents = 9 * torch.randn(count, SIDE * SIDE, 2), torch.arange(count) % (SIDE * SIDE)
    together = ways(x, agents)
    for k in (0, AT_A_TIME - 1, AT_A_TIME, count - 1):
        alone = ways(x[k : k + 1], agents[k : k + 1])
        torch.testing.assert_close(together[k : k + 1], alone)


def test_it_sees_no_further_than_it_plans() -> None:
    worth, cost = np.full((SIDE, SIDE), -50.0), np.ones((SIDE, SIDE))
    worth[0, SIDE - 1] = 0.0
    maps = batch(worth, cost)
    start = torch.tensor([[SIDE + 3]])  # the corner at the left
    near, far = (follow(*maps, start, k).item() for k in (SIDE - 2, SIDE - 1))
    assert near == -51.0  # it stays
    assert far == -float(SIDE)  # all cells of the row are paid for


def room(*rows: str) -> torch.Tensor:
    """A drawing as cells (1, P, 2): whether there is a wall, and whether there is a target."""
    drawn = "".join(rows)
    marks = [[cell == "#", cell == "T"] for cell in drawn]
    return torch.tensor(marks, dtype=torch.float32)[None]


@pytest.fixture
def planner() -> Ways:
    """It knows what walls and targets are."""
    ways = Ways(SIDE, 2, FAR)
    with torch.no_grad():
        ways.cells.weight.copy_(torch.tensor([[0.0, 30.0], [30.0, 0.0]]))
        ways.cells.bias.copy_(torch.tensor([-30.0, 0.0]))
    return ways


STAY, UP, DOWN, LEFT, RIGHT = range(5)


@pytest.mark.parametrize(
    ("rows", "way"),
    [
        (("A....T", "......", "......", "......", "......", "......"), RIGHT),
        (("A#...T", ".#....", ".####.", "......", "......", "......"), DOWN),
        (("A.####", ".#...T", ".#.#..", "..#...", "#.#...", "......"), DOWN),
        (("A...##", ".##...", ".####.", "#...#.", "###.#.", "T....."), RIGHT),
        (("A...##", ".##...", ".####.", "....#.", "###.#.", "T....."), DOWN),
    ],
)
def test_it_finds_the_way_around_walls(planner: Ways, rows: tuple[str, ...], way: int) -> None:
    said = planner(room(*rows), torch.tensor([CORNER])).detach()
    assert said.shape == (1, Ways.size)
    assert said[0, :5].argmax() == way
    assert said[0, :5].sum() == pytest.approx(1.0)


def test_it_stays_on_a_target(planner: Ways) -> None:
    at_target = room("T.....", *["......"] * 5)
    assert planner(at_target, torch.tensor([CORNER]))[0, :5].argmax() == STAY


def test_the_agent_is_in_the_middle_of_its_own_map() -> None:
    ways = Ways(5, 3, 10)
    x = torch.randn(4, 25, 3)
    assert torch.equal(ways(x), ways(x, torch.full((4,), 12)))


def test_gradients_are_those_of_the_definition(planner: Ways) -> None:
    """The way is found without gradients; those of its cells must be all there are."""
    planner.double()
    random = torch.Generator().manual_seed(0)
    x = torch.randn(3, SIDE * SIDE, 2, generator=random, dtype=torch.float64, requires_grad=True)
    agent = torch.tensor([0, 14, 35])
    with torch.no_grad():
        planner.cells.weight.mul_(0.02)
    assert torch.autograd.gradcheck(lambda cells: planner(cells, agent), (x,), eps=1e-6)
