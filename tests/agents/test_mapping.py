"""Eyes that remember: if they name everything rightly, the map is the world as far as seen."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from errands.agents.map_kernels import EMPTY, FEW, WALL
from errands.agents.mapping import MapEyes, MapSight, MapWindow
from errands.agents.recogniser import MapNetwork, Recogniser
from errands.worlds.block import AHEAD_COLUMN, AHEAD_ROW
from errands.worlds.raycast import build_tables
from errands.worlds.scenes import count_pixels
from errands.worlds.spec import BLOCK, FIRST_OBJECT, MAP_SIZE
from errands.worlds.tasks import list_tasks
from errands.worlds.vector import Worlds
from twins import mapping as twin

NETWORK = MapNetwork()
AHEAD, ASIDE, SIDE, REACH = NETWORK.ahead, NETWORK.aside, NETWORK.side, NETWORK.reach
KINDS = len(BLOCK.objects)
ACTIONS = 9


class TrueNames(nn.Module):
    """A recogniser that is handed the truth: what a perfect one would say of these worlds."""

    def __init__(self, worlds):
        super().__init__()
        self.worlds = worlds
        self.conv1 = nn.Conv2d(1, 1, 1)

    def forward(self, images, pitch, cells):
        named = torch.full((len(images), AHEAD * ASIDE, 3 + KINDS), -50.0)
        tables = build_tables()
        for i, world in enumerate(self.worlds.privileged):
            assert int(pitch[i]) == world["pitch"] + 1
            shows, codes = np.empty((AHEAD, ASIDE), np.int32), np.empty((AHEAD, ASIDE), np.uint8)
            tiles = world["tiles"]
            elevated = int(tiles[world["row"], world["column"]] >= FIRST_OBJECT)
            starts = tables.starts[elevated, world["pitch"] + 1]
            where = world["row"], world["column"], world["heading"]
            count_pixels(tiles, *where, starts, tables.spans, shows, codes)
            codes = codes.astype(int)
            label = np.where(shows == 0, 0, np.where(codes < FIRST_OBJECT, codes + 1, codes))
            named[i, torch.arange(AHEAD * ASIDE), torch.from_numpy(label).flatten()] = 50.0
        return named[:, cells]


def _walk(steps, seed=0, count=6):
    """Random walks with perfect eyes; yields worlds, eyes, what was seen, memory, and the start."""
    worlds = Worlds(BLOCK, count, list_tasks(BLOCK, "train", (4, 4), step_limit=10_000))
    worlds.seed(seed)
    worlds.reset()
    eyes = MapEyes(NETWORK, KINDS, ACTIONS)
    eyes.recogniser = TrueNames(worlds)
    sight = eyes.initial_memory(count)
    random = np.random.default_rng(seed)
    acted, begins = torch.zeros(count, dtype=torch.int64), torch.ones(count, dtype=torch.bool)
    start = worlds.privileged[["row", "column", "heading"]].copy()
    for step in range(steps):
        if step:
            p = [0.15, 0.1, 0.05, 0.1, 0.4, 0.1, 0.05, 0.05, 0]
            action = random.choice(ACTIONS, count, p=p)
            worlds.step(action)
            acted, begins = torch.from_numpy(action), torch.zeros(count, dtype=torch.bool)
        seen, sight = eyes.look(torch.from_numpy(worlds.images), acted, begins, sight)
        yield worlds, eyes, seen, sight, start


def _numbers(eyes, seen):
    """The window now and before, and the body, as numbers from 0 to 1."""
    return tuple(part.float() / 255 for part in eyes.split(seen))


def _in_world(start, forward, right):
    heading = start["heading"]
    row = start["row"] + forward * AHEAD_ROW[heading] + right * AHEAD_ROW[(heading + 1) % 4]
    column = (
        start["column"] + forward * AHEAD_COLUMN[heading] + right * AHEAD_COLUMN[(heading + 1) % 4]
    )
    return row, column


def test_the_agent_knows_where_it_is_from_its_own_actions():
    for worlds, _, _, (_, pose, _), start in _walk(60):
        for i, world in enumerate(worlds.privileged):
            row, column, heading, pitch = (int(x) for x in pose[i])
            at = _in_world(start[i], SIDE // 2 - row, column - SIDE // 2)
            assert at == (world["row"], world["column"])
            assert (start[i]["heading"] + heading) % 4 == world["heading"]
            assert pitch == world["pitch"] + 1


def test_the_map_holds_what_was_seen_where():
    right = wrong = 0
    *_, (worlds, _, _, (cells, *_), start) = _walk(80)
    for i, world in enumerate(worlds.privileged):
        for row in range(SIDE):
            for column in range(SIDE):
                kinds = cells[i, row * SIDE + column, :-1]
                if kinds.sum() < 0.5:
                    continue
                r, c = _in_world(start[i], SIDE // 2 - row, column - SIDE // 2)
                tile = int(world["tiles"][r, c])
                expected = tile if tile < FIRST_OBJECT else tile - 1
                right += int(kinds.argmax()) == expected
                wrong += int(kinds.argmax()) != expected
    assert right > 100
    assert wrong <= 0.05 * right  # a box may have come or gone, or a target may have been supplied


def test_the_window_is_centred_on_the_agent_and_turned_its_way():
    for worlds, eyes, seen, _, _ in _walk(40, seed=1):
        now, _, body = _numbers(eyes, seen)
        for i, world in enumerate(worlds.privileged):
            here = _in_world(world, 0, 0)
            assert here == (world["row"], world["column"])
            ahead = world["tiles"][_in_world(world, 1, 0)]
            cell = now[i].view(2 * REACH + 1, 2 * REACH + 1, -1)[REACH - 1, REACH]
            if world["pitch"] == -1:  # looking down always shows the cell ahead
                expected = ahead if ahead < FIRST_OBJECT else ahead - 1
                assert int(cell[: eyes.named].argmax()) == expected
                assert cell[eyes.named] == 1.0  # fresh
            assert int(body[i, :3].argmax()) == world["pitch"] + 1


def test_unknown_is_what_was_not_seen_and_may_be_inside():
    *_, (worlds, eyes, seen, _, _) = _walk(60, seed=2)
    now, _, _ = _numbers(eyes, seen)
    known = now[..., : eyes.named].sum(dim=2)
    assert ((now[..., -1] > 0.5) <= (known < 0.5)).all()
    # Every open cell of the world that was never seen is unknown, never "outside".
    for i, world in enumerate(worlds.privileged):
        window = now[i].view(2 * REACH + 1, 2 * REACH + 1, -1)
        for forward in range(-REACH, REACH + 1):
            for right in range(-REACH, REACH + 1):
                r, c = _in_world(world, forward, right)
                if 0 < r < 9 and 0 < c < 9:
                    cell = window[REACH - forward, REACH + right]
                    assert cell[: eyes.named].sum() + cell[-1] == pytest.approx(1.0, abs=0.02)


def test_a_new_episode_forgets_the_map_of_its_world_alone():
    *_, (worlds, eyes, _, sight, _) = _walk(10)
    begins = torch.tensor([True, False, True, False, False, False])
    idle = torch.full((6,), 8)
    _, (cells, pose, _) = eyes.look(torch.from_numpy(worlds.images), idle, ~begins & begins, sight)
    images = torch.from_numpy(worlds.images)
    worlds.privileged["pitch"][[0, 2]] = 0  # where episodes begin, the gaze is level
    _, (after, at, _) = eyes.look(images, idle, begins, sight)
    assert (at[begins] == torch.tensor([SIDE // 2, SIDE // 2, 0, 1])).all()
    assert torch.equal(after[~begins], cells[~begins])
    assert torch.equal(at[~begins], pose[~begins])
    assert (after[begins].sum(dim=(1, 2)) < cells[begins].sum(dim=(1, 2))).all()


def test_a_batch_sees_what_each_of_its_worlds_sees():
    torch.manual_seed(0)
    eyes = MapEyes(NETWORK, KINDS, ACTIONS).eval()
    images = torch.randint(0, 256, (5, 64, 64, 3), dtype=torch.uint8)
    actions, begins = torch.tensor([3, 4, 2, 0, 4]), torch.tensor([True, False, False, False, True])
    cells, _, picture = eyes.initial_memory(5)
    poses = [[8, 8, 0, 1], [4, 9, 1, 0], [8, 8, 2, 1], [3, 3, 3, 2], [1, 1, 0, 0]]
    sight = torch.rand_like(cells), torch.tensor(poses), picture
    together, _ = eyes.look(images, actions, begins, sight)
    for i in range(5):
        one = slice(i, i + 1)
        alone, _ = eyes.look(images[one], actions[one], begins[one], tuple(x[one] for x in sight))
        assert (alone.int() - together[i : i + 1].int()).abs().max() <= 1
    assert together.shape == (5, eyes.size)
    assert eyes.size == 2 * NETWORK.window * eyes.channels + eyes.body


def test_a_wall_on_the_map_stops_a_step():
    eyes = MapEyes(NETWORK, KINDS, ACTIONS).eval()
    cells, pose, picture = eyes.initial_memory(2)
    pose[:] = torch.tensor([8, 8, 0, 0])
    cells[0, 7 * SIDE + 8, WALL] = 1.0
    cells[1, 7 * SIDE + 8, EMPTY] = 1.0
    begins = torch.zeros(2, dtype=torch.bool)
    seen, (_, after, _) = eyes.look(
        picture + 1, torch.tensor([4, 4]), begins, (cells, pose, picture)
    )
    assert after[:, 0].tolist() == [8, 7]
    assert _numbers(eyes, seen)[2][:, -1].tolist() == [0.0, 1.0]


def test_a_step_that_changes_nothing_in_sight_has_failed():
    eyes = MapEyes(NETWORK, KINDS, ACTIONS).eval()
    cells, pose, picture = eyes.initial_memory(2)
    pose[:] = torch.tensor([8, 8, 0, 0])
    images = picture.clone()
    images[1, 40:] = 200
    backward, begins = torch.tensor([5, 5]), torch.zeros(2, dtype=torch.bool)
    _, (_, after, _) = eyes.look(images, backward, begins, (cells, pose, picture))
    assert after[:, 0].tolist() == [8, 9]


def test_a_recogniser_keeps_the_order_of_its_pictures():
    torch.manual_seed(0)
    recogniser = Recogniser(NETWORK, KINDS).eval()
    images = torch.randint(0, 256, (6, 64, 64, 3), dtype=torch.uint8)
    pitch = torch.tensor([2, 0, 1, 0, 2, 1])
    together = recogniser(images, pitch)
    for i in range(6):
        alone = recogniser(images[i : i + 1], pitch[i : i + 1])
        torch.testing.assert_close(alone, together[i : i + 1], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("sure", "tried"), [(0.0, False), (0.7, False), (0.7, True)])
def test_maps_are_kept_as_the_slow_twin_keeps_them(sure, tried):
    """Step after step, on maps of its own: poses are the same, numbers up to the last bits."""
    worlds = Worlds(BLOCK, 8, list_tasks(BLOCK, "train", (4, 4), step_limit=20))
    worlds.seed(3)
    worlds.reset()
    torch.manual_seed(0)
    eyes = MapEyes(replace(NETWORK, sure=sure, tried=tried), KINDS, ACTIONS).eval()
    with torch.no_grad():
        eyes.recogniser.name.weight *= 20  # sure of most cells, and undecided about some
    memory = expected = eyes.initial_memory(8)
    random = np.random.default_rng(0)
    acted, begins = torch.zeros(8, dtype=torch.int64), torch.ones(8, dtype=torch.bool)
    walked = 0
    for _ in range(45):
        images = torch.from_numpy(worlds.images.copy())
        seen, memory = eyes.look(images, acted, begins, memory)
        windows, body, expected = twin.look(eyes, images, acted, begins, expected)
        numbers = torch.cat((windows.flatten(1), body), dim=1) * 255
        assert (seen - numbers).abs().max() < 0.501
        assert torch.equal(memory[1], expected[1])
        assert torch.equal(memory[2], expected[2])
        torch.testing.assert_close(memory[0], expected[0], rtol=1e-4, atol=1e-5)
        walked += int(body[:, -1].sum())
        begins = torch.from_numpy(worlds.status > 0)
        action = random.choice(ACTIONS, 8, p=[0.15, 0.1, 0.05, 0.1, 0.4, 0.1, 0.05, 0.05, 0])
        worlds.step(action, renew=True)
        acted = torch.from_numpy(action)
    assert walked > 20


def test_a_large_batch_is_what_small_ones_are():
    """All cores share a large one."""
    eyes = MapEyes(NETWORK, KINDS, ACTIONS)
    eyes.recogniser = Guesses(0.96)
    random, count = torch.Generator().manual_seed(0), 2 * FEW
    memory = eyes.initial_memory(count)
    parts = torch.arange(count).split(FEW)
    small = [eyes.initial_memory(FEW) for _ in parts]
    begins = torch.ones(count, dtype=torch.bool)
    for _ in range(8):
        images = torch.randint(0, 9, (count, 64, 64, 3), dtype=torch.uint8, generator=random)
        actions = torch.randint(0, ACTIONS, (count,), generator=random)
        seen, memory = eyes.look(images, actions, begins, memory)
        for k, part in enumerate(parts):
            each, small[k] = eyes.look(images[part], actions[part], begins[part], small[k])
            assert torch.equal(seen[part], each)
            assert torch.equal(eyes.kinds(seen)[part], eyes.kinds(each))
            for one, all_of_them in zip(small[k], memory, strict=True):
                assert torch.equal(one, all_of_them[part])
        begins = torch.rand(count, generator=random) < 0.1


def test_what_is_in_sight_is_summarised_as_the_slow_twin_does():
    eyes = MapWindow(MapNetwork(largest=4), KINDS, ACTIONS, near=2)
    features = torch.randint(0, 256, (7, eyes.size), dtype=torch.uint8)
    features[:, ::3] = 0
    torch.testing.assert_close(eyes.kinds(features), twin.kinds(eyes, features))


def test_looking_leaves_the_memory_as_it_was():
    eyes = MapEyes(NETWORK, KINDS, ACTIONS).eval()
    memory = eyes.initial_memory(2)
    memory[1][:] = torch.tensor([8, 8, 0, 1])
    kept = [item.clone() for item in memory]
    images = torch.full((2, 64, 64, 3), 9, dtype=torch.uint8)
    begins = torch.tensor([True, False])
    _, (*_, picture) = eyes.look(images, torch.tensor([4, 4]), begins, memory)
    assert all(map(torch.equal, memory, kept))
    images += 1  # worlds write their next picture over this one
    assert (picture == 9).all()


def test_a_skill_sees_both_windows_through_two_layers():
    torch.manual_seed(0)
    eyes = MapWindow(MapNetwork(largest=3), KINDS, ACTIONS)
    sight = MapSight(eyes, condition=5, conv1=3, conv2=4).double()
    features = torch.randint(0, 256, (2, 3, eyes.size), dtype=torch.uint8)
    phi, begins = torch.randn(2, 3, 5).double(), torch.zeros(2, 3, dtype=torch.bool)
    seen, memory = sight(features, phi, begins, ())
    assert memory == ()
    windows = features[..., : -eyes.body].double().view(2, 3, 2, -1, eyes.channels) / 255
    for t in range(2):
        for i in range(3):
            weight = sight.conv1.weight(phi[t, i]).view(eyes.channels, 3)
            now, before = (window @ weight + sight.conv1.bias for window in windows[t, i])
            cells = torch.relu(sight.conv2(torch.cat((now, before), dim=1)))
            body = features[t, i, -eyes.body :] / 255
            torch.testing.assert_close(seen[t, i], torch.cat((cells.flatten(), body.double())))


class Guesses(nn.Module):
    """A recogniser that takes every cell for a wall, more or less surely."""

    def __init__(self, probability):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 1, 1)
        named = torch.full((AHEAD * ASIDE, 3 + KINDS), (1 - probability) / (2 + KINDS))
        named[:, 1 + WALL] = probability
        self.named = named.log()

    def forward(self, images, pitch, cells):
        return self.named[cells].expand(len(images), -1, -1)


@pytest.mark.parametrize(("probability", "is_named"), [(0.85, False), (0.95, True)])
def test_a_guess_is_not_put_on_the_map(probability, is_named):
    eyes = MapEyes(NETWORK, KINDS, ACTIONS)
    eyes.recogniser = Guesses(probability)
    image = torch.zeros(1, 64, 64, 3, dtype=torch.uint8)
    begins = torch.ones(1, dtype=torch.bool)
    memory = eyes.initial_memory(1)
    _, (cells, _, _) = eyes.look(image, torch.zeros(1, dtype=torch.int64), begins, memory)
    named = cells[0, :-1, :-1].sum(dim=1)
    assert (named.max() > 0.9) == is_named
    assert (named.max() == 0) == (not is_named)


def test_the_cells_that_are_named_are_those_that_a_picture_can_show():
    wide = MapNetwork(aside=2 * MAP_SIZE - 1)
    starts = build_tables().starts  # [elevated, pitch, forward, right, surface]: spans of pixels
    shown = (starts[..., -1] > starts[..., 0]).any(axis=(0, 1))[: wide.ahead]
    assert list(wide.visible) == np.flatnonzero(shown).tolist()
    middle = slice(MAP_SIZE - 1 - ASIDE // 2, MAP_SIZE + ASIDE // 2)
    assert list(NETWORK.visible) == np.flatnonzero(shown[:, middle]).tolist()


def test_a_recogniser_names_the_same_when_asked_for_some_cells():
    torch.manual_seed(0)
    recogniser = Recogniser(NETWORK, KINDS).eval()
    images = torch.randint(0, 256, (5, 64, 64, 3), dtype=torch.uint8)
    pitch, cells = torch.tensor([2, 0, 1, 0, 2]), torch.tensor(NETWORK.visible)
    some, every = recogniser(images, pitch, cells), recogniser(images, pitch)
    torch.testing.assert_close(some, every[:, cells], rtol=1e-4, atol=1e-4)
