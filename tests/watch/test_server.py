"""The server over real connections: it keeps its bounds, bears nonsense, and keeps pages apart."""

import contextlib
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from io import BytesIO
from itertools import cycle, islice
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from errands.watch import choices
from errands.worlds.vector import Worlds
from twins.malformed import MALFORMED
from twins.pages import CAST, PATIENCE, Page, opened, serving


def get(address: str, **headers: str) -> Any:
    request = urllib.request.Request(address, headers=headers)
    return urllib.request.urlopen(request, timeout=PATIENCE)


def test_the_page_and_its_files_are_served(server: str) -> None:
    with get(server) as answer:
        text = answer.read().decode()
        policy = answer.headers["Content-Security-Policy"]
    assert "<title>Errands</title>" in text
    assert "default-src 'self'" in policy
    assert "http://" not in text  # nothing is loaded from elsewhere
    assert "https://" not in text
    for name in ("style.css", "main.js", "stage.js", "icon.svg"):
        with get(server + name) as answer:
            assert answer.read()
    for world in ("grid", "block"):
        with get(f"{server}sprites/{world}.png") as answer:
            assert Image.open(BytesIO(answer.read())).height == 16


@pytest.mark.parametrize("path", ["nothing.js", "sprites/moon.png", "..%2fserver.py", "talk"])
def test_nothing_else_is_served(server: str, path: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        get(server + path)
    assert refused.value.code in (400, 404)
    refused.value.close()


def test_other_names_and_other_sites_are_refused(server: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        get(server, Host="evil.example")
    assert refused.value.code == 400
    refused.value.close()
    talk = server.replace("http", "ws") + "talk"
    with pytest.raises(InvalidStatus), connect(talk, origin="http://evil.example"):
        pass
    with connect(talk, origin=server.rstrip("/")) as connection:
        assert Page(connection).hello["version"]


def test_lists_are_checked_by_the_parser(page: Page) -> None:
    text = "visit the pgi, pick"
    said = page.ask("checked", "check", world="grid", text=text, number=8)
    assert said["number"] == 8
    assert said["mistake"]["message"].endswith("'pgi' is not an object; did you mean pig?")
    assert text[said["mistake"]["start"] : said["mistake"]["end"]] == "pgi"
    assert said["completions"] == ["pick"]
    said = page.ask("checked", "check", world="block", text="visit c", cursor=7)
    assert said["completions"] == ["cat"]
    said = page.ask("checked", "check", world="grid", text="visit pig, pick up all pigs")
    assert said["mistake"] is None
    assert [item["seen"] for item in said["items"]] == [True, False]
    said = page.ask("checked", "check", world="grid", text="visit pig," * 1000)
    assert said["mistake"]["message"] == "the list is too long; 8,000 characters are the most"
    said = page.ask("checked", "check", world="grid", text="visit pig," * 101)
    assert said["mistake"]["message"] == "a list of 101 is too long; 100 are the most"


@pytest.mark.parametrize("world", ["grid", "block"])
def test_an_episode_plays_to_its_end(page: Page, world: str) -> None:
    example = page.hello["worlds"][world]
    page.begin(world=world, agent="dynamic", list=example["example"], seed=example["seed"])
    frames = page.to_the_end()
    steps = [frame["step"] for frame in frames]
    assert steps == list(range(len(frames)))
    assert frames[-1]["outcome"] == "done"
    assert not frames[-1]["going"]
    assert frames[-1]["thought"]["pointer"]


def test_it_pauses_steps_and_goes_on(page: Page) -> None:
    page.begin(list="pick up 9 pigs")
    assert page.ask("frame", "step")["step"] == 1
    assert page.ask("frame", "step")["step"] == 2
    page.say("speed", rate=60)
    page.say("play")
    while page.hear("frame")["step"] < 5:
        pass
    page.say("pause")
    while (stopped := page.hear("frame"))["going"]:
        pass
    after = page.ask("frame", "step")
    assert after["step"] == stopped["step"] + 1
    assert not after["going"]


def test_links_reproduce_and_drops_are_told(page: Page) -> None:
    first = page.begin(agent="dynamic", list="visit pig, pick up all cows")
    tiles = first["tiles"]
    free = next(
        k for k in range(99) if tiles[k] == "0" and k != first["row"] * 10 + first["column"]
    )
    row, column = divmod(free, 10)
    dropped = page.ask("dropped", "drop", row=row, column=column, object="enemy")
    assert (dropped["step"], dropped["row"], dropped["column"]) == (0, row, column)
    assert page.hear("frame")["event"] > 0
    frames = page.to_the_end()[1:]
    link = f"0:{row}:{column}:enemy"
    page.begin(agent="dynamic", list="visit pig, pick up all cows", drops=link)
    assert page.to_the_end()[1:] == frames


def test_a_person_acts(page: Page) -> None:
    page.begin(agent="me")
    assert page.ask("frame", "act", action="move north")["action"] == "move north"
    page.say("act", action="fly")
    assert page.next() == {
        "kind": "notice",
        "message": "there is no action 'fly'",
        "about": "act",
    }


def test_films_are_saved(page: Page) -> None:
    page.begin()
    frames = page.to_the_end()
    saved = page.ask("saved", "save", format="gif", rate=10)
    content = page.connection.recv(timeout=PATIENCE)
    assert isinstance(content, bytes)
    assert len(content) == saved["size"]
    assert saved["name"] == "errand-grid-3.gif"
    with Image.open(BytesIO(content)) as film:
        assert 1 < getattr(film, "n_frames", 1) <= len(frames)
    page.say("save", format="avi")
    assert "films are saved as gif" in page.next()["message"]


def test_a_film_goes_only_to_the_page_that_asked_for_it(server: str) -> None:
    with opened(server) as one, opened(server) as other:
        one.begin()
        one.to_the_end()
        saved = one.ask("saved", "save", format="gif", rate=10)
        content = one.connection.recv(timeout=PATIENCE)
        other.say("save", format="gif", rate=10)
        assert other.next()["message"] == "no episode has begun"
        other.begin(seed=4)
        other.ask("saved", "save", format="gif", rate=10)
        assert other.connection.recv(timeout=PATIENCE) != content
    with pytest.raises(urllib.error.HTTPError) as refused:
        get(server + saved["name"])
    assert refused.value.code == 404
    refused.value.close()


def test_lists_are_drawn(page: Page) -> None:
    for sort in ("seen", "unseen", "long", "events"):
        drawn = page.ask("sampled", "sample", world="grid", sort=sort)
        assert page.begin(list=drawn["list"], seed=drawn["seed"])["step"] == 0


@pytest.mark.parametrize("kind", ["play", "pause", "step"])
def test_there_must_be_an_episode_first(page: Page, kind: str) -> None:
    page.say(kind)
    assert page.next() == {"kind": "notice", "message": "no episode has begun", "about": kind}


def test_ten_thousand_malformed_messages_leave_it_serving(server: str) -> None:
    """One page sends nothing but nonsense; another one's episode goes on as if alone."""
    small = [text.encode("utf-8", "ignore").decode() for text in MALFORMED if len(text) < 200]
    with opened(server) as quiet, opened(server) as noisy:
        quiet.begin(agent="dynamic", list="visit pig, pick up all cows")
        expected = quiet.to_the_end()[1:]
        quiet.begin(agent="dynamic", list="visit pig, pick up all cows")

        def shout() -> None:
            for text in islice(cycle(small), 10_000):
                noisy.connection.send(text)

        shouting = threading.Thread(target=shout)
        shouting.start()
        assert quiet.to_the_end()[1:] == expected
        for _ in range(10_000):
            answer = noisy.next()
            assert (answer["kind"], answer["about"]) == ("notice", "message")
        shouting.join(PATIENCE)
        for text in MALFORMED[-2:-1]:
            noisy.connection.send(text)
            assert "too long; 65,536 characters are the most" in noisy.next()["message"]
        noisy.connection.send(b"\x00\xff")
        assert noisy.next()["message"] == "messages are text, not bytes"
        assert noisy.begin()["step"] == 0


def test_a_message_of_megabytes_closes_that_page_alone(server: str) -> None:
    with opened(server) as quiet, opened(server, max_size=None) as huge:
        with contextlib.suppress(ConnectionClosed):  # hung up on in the middle of it
            huge.connection.send("x" * 3_000_000)
        with pytest.raises(ConnectionClosed) as closed:
            huge.next()
        # A server that hangs up while we are still sending may cut off its own last words.
        assert closed.value.rcvd is None or closed.value.rcvd.code == 1009
        assert quiet.begin()["step"] == 0


def test_pages_have_episodes_of_their_own(server: str) -> None:
    with opened(server) as one, opened(server) as other:
        one.begin(seed=1, list="visit pig, visit cow, visit duck")
        other.begin(seed=1, list="visit pig, visit cow, visit duck")
        ahead = [one.ask("frame", "step") for _ in range(3)]
        behind = [other.ask("frame", "step") for _ in range(3)]
        assert ahead == behind


class Faulty:
    """An agent that fails in its third step."""

    trace = None

    def __init__(self, worlds: Worlds) -> None:
        self._steps = 0

    def act(self, worlds: Worlds) -> NDArray[np.int64]:
        self._steps += 1
        if self._steps == 3:
            raise ZeroDivisionError("out of luck")
        return np.zeros(worlds.count, np.int64)


def test_an_agents_fault_is_told_and_reaches_nobody_else() -> None:
    cast = {"grid": {"faulty": Faulty, **CAST["grid"]}}
    with serving(cast) as server, opened(server) as unlucky, opened(server) as lucky:
        lucky.begin()
        unlucky.begin(agent="faulty")
        unlucky.say("speed", rate=60)
        unlucky.say("play")
        while (message := unlucky.next())["kind"] == "frame":
            pass
        assert message["message"] == "that failed on the server (out of luck)"
        assert lucky.to_the_end()[-1]["outcome"] == "done"
        assert unlucky.begin()["step"] == 0


def test_too_many_pages_are_refused_until_one_closes() -> None:
    with serving(most_sessions=2) as server, opened(server):
        with opened(server), connect(server.replace("http", "ws") + "talk") as third:
            said = json.loads(third.recv(timeout=PATIENCE))
            assert said["about"] == "server"
            assert said["message"].startswith("2 pages are open already")
            with pytest.raises(ConnectionClosed):
                third.recv(timeout=PATIENCE)
        wait_until(lambda: answers(server))


def test_idle_pages_are_let_go() -> None:
    with serving(idle_seconds=0.2) as server, opened(server) as page:
        said = page.next()
        assert said["about"] == "idle"
        with pytest.raises(ConnectionClosed) as closed:
            page.next()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1001


def answers(server: str) -> bool:
    with connect(server.replace("http", "ws") + "talk") as connection:
        return bool(json.loads(connection.recv(timeout=PATIENCE))["kind"] == "hello")


def wait_until(happens: Callable[[], bool]) -> None:
    """The server hears of a page that has gone a moment later."""
    for _ in range(1000):
        if happens():
            return
    raise AssertionError("it never happened")


def test_hello_says_all_that_can_be_chosen(page: Page) -> None:
    assert page.hello["worlds"].keys() == {"grid", "block"}
    names = [agent["name"] for agent in page.hello["worlds"]["grid"]["agents"]]
    assert names == ["dynamic", "near-optimal", "shortest-path", choices.ME]


def test_two_agents_share_a_clock(page: Page) -> None:
    page.say("begin", world="grid", agent="near-optimal", rival="dynamic", list="visit pig", seed=3)
    begun = [page.hear("begun") for _ in range(2)]
    assert [(each["lane"], each["agent"]) for each in begun] == [
        (0, "near-optimal"),
        (1, "dynamic"),
    ]
    assert begun[0]["items"] == begun[1]["items"]
    first = [page.hear("frame") for _ in range(2)]
    assert [each["lane"] for each in first] == [0, 1]
    assert first[0]["tiles"] == first[1]["tiles"]  # the same world
    page.say("step")
    assert [page.hear("frame")["step"] for _ in range(2)] == [1, 1]
    page.say("speed", rate=60)
    page.say("play")
    ended = [False, False]
    while not all(ended):
        frame = page.hear("frame")
        ended[frame["lane"]] = bool(frame["outcome"])
    assert not page.ask("frame", "pause")["going"]


def test_a_person_and_an_agent_step_together(page: Page) -> None:
    page.say("begin", world="grid", agent="near-optimal", rival="me", list="visit pig", seed=3)
    assert [page.hear("frame")["going"] for _ in range(2)] == [False, False]
    page.say("play")  # the clock waits for the person
    assert [page.hear("frame")["step"] for _ in range(2)] == [0, 0]
    page.say("act", action="no op")
    assert [page.hear("frame")["step"] for _ in range(2)] == [1, 1]


def test_an_object_is_dropped_for_both_agents(page: Page) -> None:
    page.say("begin", world="grid", agent="near-optimal", rival="dynamic", list="visit pig", seed=3)
    frame = page.hear("frame")
    page.hear("frame")
    cells = [divmod(k, 10) for k, tile in enumerate(frame["tiles"]) if tile == "0"]
    row, column = next(cell for cell in cells if cell != (frame["row"], frame["column"]))
    page.say("drop", row=row, column=column, object="enemy")
    assert page.hear("dropped")["step"] == 0
    assert all(page.hear("frame")["event"] > 0 for _ in range(2))


def test_an_agent_is_not_compared_with_itself(page: Page) -> None:
    page.say("begin", world="grid", agent="dynamic", rival="dynamic", list="visit pig", seed=3)
    assert "two different agents" in page.next()["message"]


def test_a_typed_list_comes_back_in_the_worlds_words(page: Page) -> None:
    checked = page.ask("checked", "check", world="grid", text="grab the egg, the heart")
    assert checked["reading"] == "pick up egg, pick up heart"
    assert page.ask("checked", "check", world="grid", text="visit the pig")["reading"] == ""
