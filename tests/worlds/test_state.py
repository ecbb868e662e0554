"""The worlds' random numbers, and where things can be put."""

import numpy as np
import pytest

from errands.worlds.record import new_records
from errands.worlds.spec import GRID, NOTHING, WALL
from errands.worlds.state import World, below, is_free, place_somewhere, set_tile, uniform
from errands.worlds.tasks import skill_tasks
from errands.worlds.vector import Worlds
from twins.generator import Generator
from twins.scene import scene, thing_at
from twins.world import INSIDE

# The first numbers of splitmix64 from 1234567, as other implementations print them.
PUBLISHED = (
    *(6457827717110365317, 3203168211198807973, 9817491932198370423),
    *(4593380528125082431, 16408922859458223821),
)


def test_numbers_are_those_of_splitmix64() -> None:
    world = new_records(World, 1)[0]
    world["random"] = 1234567
    generator = Generator(1234567)
    for word in PUBLISHED:
        assert uniform(world) == (word >> 11) / 2**53
        assert generator.word() == word


@pytest.mark.parametrize("seed", [0, 1, 2**63, 2**64 - 1])
def test_kernel_and_twin_draw_the_same(seed: int) -> None:
    world = new_records(World, 1)[0]
    world["random"] = seed
    generator = Generator(seed)
    for bound in range(1, 200):
        assert uniform(world) == generator.uniform()
        number = below(world, bound)
        assert number == generator.below(bound)
        assert 0 <= number < bound


@pytest.mark.parametrize("seed", [0, 7, -1, 2**64 + 3])
def test_seeds_become_states_far_apart(seed: int) -> None:
    worlds = Worlds(GRID, 4, skill_tasks(GRID, "independent", "train"), GRID.skill)
    worlds.seed(seed)
    expected = [Generator.from_seed(seed + i).state for i in range(4)]
    assert worlds.privileged["random"].tolist() == expected
    # Streams of neighbouring seeds must not be one stream, shifted: no state may be a few steps on.
    for one in expected:
        generator = Generator(one)
        for _ in range(1000):
            generator.word()
            assert generator.state not in expected


def test_numbers_are_spread_evenly() -> None:
    world = new_records(World, 1)[0]
    counts = np.bincount([below(world, 10) for _ in range(20_000)], minlength=10)
    assert abs(counts - 2000).max() < 4 * np.sqrt(2000)


def test_tiles_keep_their_counts() -> None:
    world = new_records(World, 1)[0]
    for row, column, tile in [(1, 1, 5), (1, 2, 5), (1, 1, 6), (1, 1, 0), (1, 2, WALL), (3, 3, 6)]:
        set_tile(world, row, column, tile)
        present = np.bincount(world["tiles"].ravel(), minlength=35)[3:]
        assert world["counts"].tolist() == present[:32].tolist()


def test_free_is_where_nothing_and_nobody_stands() -> None:
    worlds = scene(GRID, "visit cow", {(1, 1): "cow", (1, 2): "water", (1, 3): "wall"})
    free = {cell for cell in INSIDE if is_free(worlds.privileged[0], *cell)}
    assert free == set(INSIDE) - {(1, 1), (1, 2), (1, 3), (5, 5)}


def test_things_are_placed_on_every_free_cell_until_the_map_is_full() -> None:
    worlds = scene(GRID, "visit cow", {})
    placed = [int(place_somewhere(worlds.privileged[0], 3, True)) for _ in range(65)]
    assert placed[-2:] == [NOTHING, NOTHING]  # the agent's own cell stays empty
    assert {divmod(cell, 10) for cell in placed[:-2]} == set(INSIDE) - {(5, 5)}
    assert thing_at(worlds, (5, 5)) == ""


def test_things_can_be_placed_out_of_reach() -> None:
    worlds = scene(GRID, "visit cow", {})
    placed = [int(place_somewhere(worlds.privileged[0], 3, False)) for _ in range(60)]
    assert placed[-1] == NOTHING
    within_reach = {(5, 5), (4, 5), (6, 5), (5, 4), (5, 6)}
    assert {divmod(cell, 10) for cell in placed[:-1]} == set(INSIDE) - within_reach
