"""Episodes are what their links say, whoever acts, and films repeat them."""

from typing import Any

import numpy as np
import pytest

from errands.evaluation.episodes import agent_named, watch_episode
from errands.language.splits import subtasks
from errands.seeds import TEST_SEEDS
from errands.watch import episode as episodes
from errands.watch.episode import Episode, Replay
from errands.watch.protocol import LONGEST_LIST, LONGEST_TEXT, MOST_DROPS, Begin, Frame, Refused
from errands.worlds.gym import instruction_worlds, render
from twins.accounts import Faulty
from twins.pages import CAST

LISTS = {
    "grid": "pick up the pig, visit the box, transform all cows",
    "block": "visit the cat, pick up 2 pigs, transform the sheep",
}
BOTH = pytest.mark.parametrize("world", ["grid", "block"])


def episode(world: str = "grid", agent: str = "near-optimal", **changes: Any) -> Episode:
    choice = {"list": LISTS[world], "seed": 7} | changes
    return Episode(Begin(world, agent, **choice), CAST)


def finish(watched: Episode) -> Episode:
    while watched.advance():
        pass
    return watched


def next_frame(watched: Episode) -> Frame:
    """Take one step; the frame says whether another one can follow."""
    advanced = watched.advance()
    return watched.frame(going=advanced and not watched.over)


def free_cell(watched: Episode, *, nearest: bool = False) -> tuple[int, int]:
    """An empty cell as far from the agent as can be, or next to it."""
    frame = watched.frame(going=False)
    cells = [divmod(k, 10) for k, tile in enumerate(frame.tiles) if tile == "0"]
    here = frame.row, frame.column
    away = {cell: abs(cell[0] - here[0]) + abs(cell[1] - here[1]) for cell in cells if cell != here}
    return (min if nearest else max)(away, key=lambda cell: away[cell])


@BOTH
def test_an_episode_is_the_one_that_run_shows(world: str) -> None:
    worlds = instruction_worlds(world, 1, instructions=LISTS[world])
    worlds.seed(TEST_SEEDS + 7)
    worlds.reset()
    shown = [step.action for step in watch_episode(worlds, agent_named("near-optimal")(worlds))]
    watched = finish(episode(world))
    assert watched.log.actions == shown
    assert watched.frame(going=True).outcome == "done"
    assert not watched.advance()


@BOTH
def test_frames_tell_the_state(world: str) -> None:
    watched = episode(world)
    begun = watched.begun()
    assert begun.items[0].words == LISTS[world].split(",")[0].replace("the ", "")
    frame = next_frame(watched)
    state = watched._worlds.privileged[0]
    assert [int(tile, 36) for tile in frame.tiles] == state["tiles"].ravel().tolist()
    assert (frame.row, frame.column) == (state["row"], state["column"])
    assert frame.step == 1
    assert frame.reward == frame.total == pytest.approx(-0.1)
    assert frame.going
    assert bool(frame.view) == (world == "block")
    assert frame.thought is None


def test_instructions_and_subtasks_say_whether_they_are_trained() -> None:
    watched = episode(agent="dynamic", list="pick up pig, visit cow")
    assert [item.seen for item in watched.begun().items] == [False, True]
    frame = next_frame(watched)
    trained = {str(subtask) for subtask in subtasks("grid", "independent", "train")}
    assert frame.subtask_seen == (frame.subtask in trained)
    finish(watched)
    assert watched.frame(going=False).outcome == "done"


def test_a_trained_agent_tells_what_it_thinks() -> None:
    watched = episode(agent="dynamic")
    assert watched.begun().traced
    assert not episode().begun().traced
    assert watched.frame(going=False).thought is None  # it has not thought yet
    frame = next_frame(watched)
    assert frame.thought is not None
    assert len(frame.thought.pointer) == 3
    assert sum(frame.thought.pointer) == pytest.approx(1, abs=1e-3)
    assert np.argmax(frame.thought.pointer) == 0
    assert frame.thought.shift == (0.01, 0.97, 0.02)
    assert 0 <= frame.thought.update <= 1
    assert 0 <= frame.thought.termination <= 1


@BOTH
def test_a_dropped_event_interrupts_the_agent_and_the_link_repeats_it(world: str) -> None:
    name = {"grid": "enemy", "block": "box"}[world]
    watched = episode(world, agent="dynamic")
    watched.advance()
    row, column = free_cell(watched)
    dropped = watched.drop(row, column, name)
    assert dropped.step == 1
    frame = watched.frame(going=False)
    assert frame.event > 0
    assert frame.tiles != next_frame(episode(world, agent="dynamic")).tiles
    assert next_frame(watched).subtask == f"transform {name}"
    finish(watched)

    link = f"1:{row}:{column}:{name}"
    again = finish(episode(world, agent="dynamic", drops=link))
    assert again.log == watched.log
    assert again.frame(going=False) == watched.frame(going=False)
    assert finish(episode(world, agent="dynamic")).log != watched.log


def test_the_shipped_agent_leaves_its_subtask_for_a_dropped_enemy_and_returns_to_its_list() -> None:
    """In most of twelve episodes; chance has a hand in its actions."""
    shipped = {"grid": {"dynamic": agent_named("dynamic")}}
    returned = 0
    for seed in range(12):
        watched = Episode(Begin("grid", "dynamic", list=LISTS["grid"], seed=seed), shipped)
        watched.advance()
        watched.drop(*free_cell(watched, nearest=True), "enemy")
        hunt, after = next_frame(watched), next_frame(watched)
        assert after.thought is not None
        caught = hunt.subtask == "transform enemy" and hunt.reward == pytest.approx(0.9)
        returned += caught and "pig" in after.subtask and np.argmax(after.thought.pointer) == 0
    assert returned >= 8


def test_one_sentence_says_why_an_episode_failed() -> None:
    cast: Any = {"grid": {"hasty": lambda worlds: Faulty(worlds, "hasty")}}
    begin = Begin("grid", "hasty", list="pick up all pigs, visit cow, visit tree", seed=0)
    watched = Episode(begin, cast)
    while watched.advance():
        assert watched.over or watched.frame(going=True).why == ""
    frame = watched.frame(going=False)
    assert frame.outcome == "out of steps"
    assert frame.why.startswith(
        "It left 'pick up all pigs' after the first: the pointer moved on with some still to do; "
    )
    assert finish(episode()).frame(going=False).why == ""


def test_a_person_who_fails_is_told_where() -> None:
    watched = episode(agent="me", list="visit cow")
    while not watched.over:
        watched.act("no op")
    why = watched.frame(going=False).why
    assert why == "Time ran out at 'visit cow', number 1 of 1, after 250 steps at it."


def test_a_person_acts_and_the_link_repeats_it() -> None:
    watched = episode(agent="me")
    assert watched.by_person
    assert not watched.advance()  # waits for the person
    for action in ("move north", "no op", "pick up west", "move south"):
        watched.act(action)
    again = finish(episode(agent="me", keys="1072"))
    assert again.log == watched.log
    assert again.frame(going=False) == watched.frame(going=False)
    again.act("move east")  # and goes on from there
    assert len(again.log.actions) == 5


def test_a_person_who_acts_puts_an_end_to_the_links_keys() -> None:
    watched = episode(agent="me", keys="1111")
    watched.advance()
    watched.act("no op")
    assert not watched.advance()
    assert watched.log.actions == [1, 0]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"world": "moon"}, "there is no world 'moon'"),
        ({"agent": "nobody"}, "there is no agent 'nobody' here; there are dynamic, near-optimal"),
        ({"list": ""}, "no instruction found"),
        ({"list": "visit the pgi"}, "did you mean pig?"),
        ({"list": "visit pig " * (LONGEST_TEXT // 5)}, "the list is too long; 8,000 characters"),
        ({"list": f"pick up {LONGEST_LIST + 1} pigs"}, "a list of 101 is too long; 100 are"),
        ({"list": "pick up 99999999 pigs"}, "longer than 1000 instructions"),
        ({"seed": -1}, "the seed is out of range"),
        ({"seed": 2**32}, "the seed is out of range"),
        ({"keys": "z"}, "the keys in this link are not understood"),
        ({"keys": "1" * 10_001}, "the keys in this link are not understood"),
        ({"drops": "1:2:3"}, "the drops in this link are not understood"),
        ({"drops": "a:b:c:pig"}, "the drops in this link are not understood"),
        ({"drops": ",".join(["1:1:1:pig"] * (MOST_DROPS + 1))}, "the drops in this link"),
    ],
)
def test_links_that_make_no_sense_are_refused(changes: dict[str, Any], why: str) -> None:
    choice = {"world": "grid", "agent": "near-optimal", "list": "visit pig"} | changes
    with pytest.raises(Refused, match=why.replace("?", r"\?")):
        Episode(Begin(**choice), CAST)


def test_drops_that_no_longer_fit_are_left_out() -> None:
    watched = finish(episode(drops="0:0:0:pig,1:99:-4:pig,2:3:3:unicorn,7000:3:3:pig"))
    assert watched.log == finish(episode()).log


def test_what_cannot_be_done_is_refused() -> None:
    watched = episode()
    with pytest.raises(Refused, match="the agent acts here"):
        watched.act("move north")
    with pytest.raises(Refused, match="there is no action 'fly'"):
        episode(agent="me").act("fly")
    with pytest.raises(Refused, match="an empty cell inside the walls"):
        watched.drop(0, 0, "pig")
    row, column = free_cell(watched)
    for _ in range(MOST_DROPS):  # an enemy that is there already gives way
        watched.drop(row, column, "enemy")
        row, column = free_cell(watched)
    with pytest.raises(Refused, match="200 objects are enough"):
        watched.drop(row, column, "enemy")
    finish(watched)
    with pytest.raises(Refused, match="the episode has ended"):
        watched.drop(row, column, "enemy")


@BOTH
def test_a_film_shows_what_happened(world: str) -> None:
    watched = episode(world, agent="dynamic")
    watched.advance()
    watched.drop(*free_cell(watched), "pig")
    finish(watched)
    replay = Replay(watched)
    while replay.advance(4):
        pass
    assert len(replay.frames) == len(watched.log.actions) + 1
    last = render(watched._worlds, 0, "rgb_array")
    np.testing.assert_array_equal(replay.frames[-1][: len(last)], last)


def test_a_long_film_is_thinned_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(episodes, "FILM_FRAMES", 40)
    watched = episode(agent="me", list="pick up 60 pigs")
    for _ in range(41):
        watched.act("no op")
    assert not watched.over
    replay = Replay(watched)
    assert not replay.advance(41)
    assert len(replay.frames) <= 21
