"""A third kind of world, added in a few lines: everything that lists kinds or worlds knows it."""

from collections.abc import Iterator
from dataclasses import replace
from enum import IntEnum
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from numpy.typing import NDArray

from errands.cli import main
from errands.commands import bench
from errands.commands.play import choose
from errands.evaluation.episodes import InstructionTest, agent_named, evaluate_instructions
from errands.evaluation.film import EpisodeFilm
from errands.evaluation.tables import place_of_world
from errands.kernel import kernel
from errands.watch import choices
from errands.watch.episode import Episode
from errands.watch.protocol import Begin
from errands.worlds import grid
from errands.worlds.gym import instruction_worlds, render
from errands.worlds.kinds import KINDS
from errands.worlds.mechanics import Mechanics
from errands.worlds.planner import PLANNERS
from errands.worlds.registration import environments, register_environments
from errands.worlds.spec import GRID, WORLDS, Rules
from errands.worlds.state import World

# The kind: the grid, acted on in a mirror. To act to the west is to act on what is east.
WAYS = ("NORTH", "SOUTH", "WEST", "EAST")
NAMES = ["WAIT", *(f"{verb}_{way}" for verb in ("GO", "TAKE", "CHANGE") for way in WAYS)]
MirrorAction = IntEnum("MirrorAction", {name: k for k, name in enumerate(NAMES)})  # type: ignore[misc]
MIRRORED = np.array([0, 1, 2, 4, 3, 5, 6, 8, 7, 9, 10, 12, 11])


@kernel()
def act(world: World, action: int, rules: Rules) -> None:
    grid.act(world, MIRRORED[action], rules)


@kernel()
def plan(world: World, verb: int, target: int, water_cost: int, optimal: NDArray[np.bool_]) -> int:
    cost = grid.plan(world, verb, target, water_cost, optimal)
    optimal[:] = optimal[MIRRORED]
    return cost


MIRROR = replace(
    KINDS["grid"],
    sight="seen in a mirror",
    actions=MirrorAction,
    idle=MirrorAction(0),
    keys={"left": "go west", "right": "go east", "t left": "change west", "space": "wait"},
    buttons={"left": "West", "right": "East", "t": "Change", "space": "Wait"},
    load_mechanics=lambda: Mechanics(act, grid.observe, plan, few=32),
)


@pytest.fixture(autouse=True)
def mirror(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The kind, and a world of it: two entries."""
    monkeypatch.setitem(KINDS, "mirror", MIRROR)  # type: ignore[arg-type]
    monkeypatch.setitem(WORLDS, "mirror", replace(GRID, name="mirror", kind="mirror"))  # type: ignore[arg-type]
    yield
    for name in [name for name in gymnasium.registry if "Mirror" in name]:
        del gymnasium.registry[name]


def test_planners_solve_its_lists() -> None:
    for agent in PLANNERS:
        test = InstructionTest(agent, "mirror", split="unseen", length=3, episodes=30)
        record = evaluate_instructions(test)
        assert record["success"]["mean"] == 1.0
    assert record["world"] == "mirror"


def test_worlds_act_and_observe_as_it_says() -> None:
    worlds = instruction_worlds("mirror", 40)
    worlds.reset()
    assert worlds.images.shape[1:] == GRID.image_shape
    assert (worlds.actions, worlds.idle_action) == (13, 0)
    before = worlds.privileged["column"].copy()
    worlds.step(np.full(40, MirrorAction["GO_EAST"]))
    moved = worlds.privileged["column"] - before
    assert set(np.unique(moved)) == {-1, 0}  # to the left, or against a wall


def test_gymnasium_makes_it() -> None:
    assert "errands/MirrorSkill-v0" in environments()
    register_environments()
    for name in ("errands/MirrorSkill-v0", "errands/MirrorInstructions-v0"):
        env = gymnasium.make(name)
        seen, _ = env.reset(seed=1)
        assert env.observation_space.contains(seen)
        env.step(env.action_space.sample())
        env.close()


@pytest.mark.parametrize(
    "command", ["run", "play", "evaluate skill", "evaluate instructions", "bench watch"]
)
def test_every_command_with_a_world_offers_it(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command.split(), "--help"]) == 0
    assert "{grid,block,mirror}" in capsys.readouterr().out


def test_commands_run_in_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    film = tmp_path / "errand.gif"
    arguments = ["--world", "mirror", "--agent", "near-optimal", "--gif", str(film)]
    assert main(["run", "visit pig, pick up box", *arguments]) == 0
    assert "done: 2 of 2 instructions" in capsys.readouterr().out
    assert film.read_bytes().startswith(b"GIF89a")
    assert main(["run", "visit pig", "--world", "moon"]) == 2
    assert "'mirror'" in capsys.readouterr().err


def test_the_benchmark_measures_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured: list[str] = []

    def measure(world: str, *_: Any, **__: Any) -> list[dict[str, Any]]:
        measured.append(world)
        return []

    monkeypatch.setattr(bench, "measure", measure)
    monkeypatch.setattr(bench, "measure_singles", lambda *_, **__: [])
    assert main(["bench", "worlds", "--json", "-"]) == 0
    assert set(measured) == {"grid", "block", "mirror"}


def test_it_is_drawn_and_filmed() -> None:
    worlds = instruction_worlds("mirror", 1, instructions="visit pig")
    worlds.reset()
    picture = render(worlds, 0, "rgb_array")
    assert isinstance(picture, np.ndarray)
    assert picture.shape == (320, 320, 3)
    assert "@" in str(render(worlds, 0, "ansi"))
    assert EpisodeFilm(worlds, most_frames=2).frames[0].shape[1] == 320


def test_the_page_offers_it_and_a_person_acts_there() -> None:
    cast = {"mirror": {"near-optimal": agent_named("near-optimal")}}
    offered = choices.hello(cast).worlds["mirror"]
    assert offered.keys["left"] == "go west"
    assert offered.actions[3] == "go west"
    assert not offered.first_person
    episode = Episode(Begin("mirror", "me", offered.example, offered.seed), cast)
    episode.act("go west")
    assert episode.frame(going=False).action == "go west"
    assert choose(MIRROR, "a", "t") == ("change west", "")


def test_tables_list_it_after_the_others() -> None:
    assert sorted(["mirror", "block", "grid"], key=place_of_world) == ["grid", "block", "mirror"]
