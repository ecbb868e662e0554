"""Episodes in a real browser: what people do with them, and what they see."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from PIL import Image
from playwright.sync_api import Browser, BrowserContext, Page, expect

from twins.browser import FASTEST, LIST, counts, heard, ink, link_of, set_speed, wait_for_end
from twins.pages import CAST, PATIENCE, serving

pytestmark = pytest.mark.slow


def test_the_page_says_why_an_episode_failed(visit: Callable[..., Page]) -> None:
    page = visit(world="grid", agent="me", list="visit cow", seed=3, keys="0" * 250)
    wait_for_end(page, "Out of steps")
    why = "Time ran out at 'visit cow', number 1 of 1, after 250 steps at it."
    expect(page.locator("#why:visible")).to_have_text(why)
    expect(page.locator("#announce")).to_contain_text(why)
    at_the_end = page.locator("#transport").bounding_box()
    page.click("#back")
    expect(page.locator("#why")).to_be_hidden()
    assert page.locator("#transport").bounding_box() == at_the_end  # buttons stay under the hand
    page.click("#step")
    page.select_option("#agent", "near-optimal")
    wait_for_end(page)
    expect(page.locator("#why")).to_be_hidden()


def test_thoughts_are_shown(visit: Callable[..., Page]) -> None:
    page = visit(agent="dynamic", list=LIST, seed=7)
    wait_for_end(page)
    expect(page.locator("#meters")).to_be_visible()
    expect(page.locator("#items .number").last).to_have_text(re.compile(r"0\.\d\d"))
    expect(page.locator("#timeline-labels li")).to_have_count(4)
    assert ink(page, "#timeline-canvas") > 5
    expect(page.locator("#map-tag")).to_have_text("the agent's input")
    page.select_option("#agent", "near-optimal")
    expect(page.locator("#meters")).to_be_hidden()
    expect(page.locator("#mind-note")).to_contain_text("A planner sees the whole world")


def test_a_dropped_enemy_interrupts_and_the_link_repeats_it(visit: Callable[..., Page]) -> None:
    page = visit(agent="dynamic", list=LIST, seed=7)
    wait_for_end(page)
    set_speed(page, 0)
    page.click("#restart")
    page.click("#play[data-going]")  # pauses
    expect(page.locator("#play:not([data-going])")).to_be_visible()
    drop_somewhere(page)
    assert re.fullmatch(r"\d+:\d:\d:enemy", link_of(page)["drops"])
    page.click("#step")
    expect(page.locator("#subtask-words")).to_have_text("transform enemy")
    expect(page.locator("#subtask-tag")).to_have_text("trained subtask")
    set_speed(page, FASTEST)
    page.click("#play")
    wait_for_end(page)
    ended = counts(page)
    page.reload()
    set_speed(page, FASTEST)
    page.click("#play")
    wait_for_end(page)
    assert counts(page) == ended


def drop_somewhere(page: Page) -> None:
    """Click on an empty cell that is far from the agent."""
    frame = json.loads(heard[page][-1])
    cells = [divmod(k, 10) for k, tile in enumerate(frame["tiles"]) if tile == "0"]
    agent = frame["row"], frame["column"]
    row, column = max(cells, key=lambda cell: abs(cell[0] - agent[0]) + abs(cell[1] - agent[1]))
    box = page.locator("#map").bounding_box()
    assert box is not None
    middle = {"x": box["width"] * (column + 0.5) / 10, "y": box["height"] * (row + 0.5) / 10}
    page.click("#map", position=middle)
    expect(page).to_have_url(re.compile(f"drops=.*{row}%3A{column}%3Aenemy"))


def test_a_link_reproduces_an_episode_in_both_worlds(visit: Callable[..., Page]) -> None:
    page = visit()
    for world in ("Block world", "Grid"):
        page.get_by_text(world, exact=True).click()
        expect(page).to_have_url(re.compile(f"world={world.split()[0].lower()}"))
        wait_for_end(page)
        ended, link = counts(page), link_of(page)
        other = visit(**link)
        wait_for_end(other)
        assert counts(other) == ended
        assert link_of(other) == link
        other.close()


def test_the_block_world_shows_the_agents_input(visit: Callable[..., Page]) -> None:
    page = visit(world="block", agent="dynamic", list="visit the cat", seed=2)
    wait_for_end(page)
    expect(page.locator("#view")).to_be_visible()
    expect(page.locator("#view-tag")).to_contain_text("the agent's input")
    expect(page.locator("#map-tag")).to_have_text("for you; the agent never sees it")
    assert ink(page, "#view") > 5
    box = page.locator("#view").bounding_box()
    assert box is not None
    assert box["width"] % 64 == 0  # each of its pixels is a whole number of the screen's


def test_films_are_downloaded(visit: Callable[..., Page], tmp_path: Path) -> None:
    page = visit(agent="near-optimal", list="visit pig", seed=3)
    wait_for_end(page)
    with page.expect_download() as download:
        page.click("[data-format=gif]")
    path = tmp_path / "film.gif"
    download.value.save_as(path)
    assert download.value.suggested_filename == "errand-grid-3.gif"
    with Image.open(path) as film:
        assert film.format == "GIF"
        assert getattr(film, "n_frames", 1) > 1
    expect(page.locator("#keep-note")).to_contain_text("Saved errand-grid-3.gif")


def test_two_pages_at_once(visit: Callable[..., Page]) -> None:
    one = visit(agent="near-optimal", list="visit pig", seed=3)
    other = visit(world="block", agent="dynamic", list="visit cat", seed=4)
    wait_for_end(one)
    wait_for_end(other)
    expect(one.locator("#items li")).to_have_text([re.compile("visit pig")])
    expect(other.locator("#items li")).to_have_text([re.compile("visit cat")])


def test_a_person_acts_with_keys_and_buttons(visit: Callable[..., Page]) -> None:
    page = visit(agent="me", list="visit pig", seed=3)
    expect(page.locator("#pad")).to_be_visible()
    action = page.locator("#count-action")
    page.keyboard.press("ArrowUp")
    expect(action).to_have_text("move north")
    page.keyboard.press("p")
    page.keyboard.press("ArrowLeft")
    expect(action).to_have_text("pick up west")
    page.get_by_role("button", name="Transform").click()
    page.get_by_role("button", name="move east").click()
    expect(action).to_have_text("transform east")
    page.keyboard.press("n")
    expect(action).to_have_text("no op")
    assert link_of(page)["keys"] == "17c0"
    page.reload()  # and the link does it again
    page.click("#play")
    expect(page.locator("#count-step")).to_have_text("4 / 250")
    expect(action).to_have_text("no op")
    page.close()

    page = visit(world="block", agent="me", list="visit pig", seed=3)
    action = page.locator("#count-action")
    expect(page.locator("#pad")).to_be_visible()
    page.keyboard.press("w")
    expect(action).to_have_text("move forward")
    page.keyboard.press("ArrowRight")
    expect(action).to_have_text("look right")


def test_everything_can_be_reached_with_the_keyboard(visit: Callable[..., Page]) -> None:
    page = visit(agent="near-optimal", list=LIST, seed=7)
    wait_for_end(page)  # steps are announced, too: while there are any, they may talk over the map
    page.focus("#map")
    page.keyboard.press("Enter")  # nothing chosen yet
    page.keyboard.press("ArrowDown")
    expect(page.locator("#announce")).to_have_text(re.compile(r"row \d, column \d: \w+"))
    page.click("#restart")
    page.focus("#map")
    page.keyboard.press("Space")
    reached = set()
    page.evaluate("document.activeElement.blur()")
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.value"))
    wanted = {
        "map",
        "restart",
        "play",
        "speed",
        "drop-object",
        "grid",
        "agent",
        "list",
        "seed",
        "run",
    }
    assert wanted <= reached


def test_a_newcomer_sees_two_agents_and_a_large_play(
    server_with_flat: str, context: BrowserContext
) -> None:
    page = context.new_page()
    page.goto(server_with_flat)
    expect(page.locator("#story")).to_contain_text("Look at the ticks")
    expect(page.locator(".lane-title strong")).to_have_text(["Dynamic", "Flat"])
    expect(page.locator("#count-step")).to_have_text("0 / 250")  # paused
    for lane in ("#lane-0", "#lane-1"):
        box = page.locator(f"{lane} .map").bounding_box()
        assert box is not None
        assert box["width"] >= 320
    set_speed(page, FASTEST)
    page.click("#big-play")
    expect(page.locator("#big-play")).to_be_hidden()
    expect(page.locator("#lane-0 .outcome")).to_contain_text("Done")
    expect(page.locator("#lane-1 .outcome")).to_contain_text("Done")
    expect(page.locator("#lane-1 .items li[data-state=done]")).to_have_count(3)
    assert link_of(page)["rival"] == "flat"
    page.select_option("#rival", "")
    expect(page.locator("#lane-1")).to_be_hidden()
    expect(page.locator("#story")).to_be_hidden()


@pytest.fixture(scope="module")
def server_with_flat() -> Iterator[str]:
    with serving({"grid": {**CAST["grid"], "flat": CAST["grid"]["near-optimal"]}}) as running:
        yield running


def test_people_go_back_to_any_step(visit: Callable[..., Page]) -> None:
    page = visit(agent="dynamic", list=LIST, seed=7)
    wait_for_end(page)
    step, scrub = page.locator("#count-step"), page.locator("#scrub")
    last = int(scrub.input_value())
    assert last > 5
    page.click("#back")
    expect(step).to_have_text(f"{last - 1} / 250")
    expect(page.locator("#outcome")).to_be_hidden()
    page.keyboard.press(",")
    expect(step).to_have_text(f"{last - 2} / 250")
    page.keyboard.press(".")
    expect(step).to_have_text(f"{last - 1} / 250")
    scrub.fill("0")
    expect(step).to_have_text("0 / 250")
    expect(page.locator("#items li[data-state=done]")).to_have_count(0)
    page.locator("#timeline-canvas").click(position={"x": 7 * 2 + 3, "y": 10})  # the third bar
    expect(step).to_have_text("3 / 250")
    page.click("#map")  # an object is dropped at the last step only
    expect(page.locator("#notice")).to_contain_text("This is an earlier step")
    said = len(heard[page])
    page.click("#play")  # what is recorded is shown again, without the server
    wait_for_end(page)
    expect(step).to_have_text(f"{last} / 250")
    assert len(heard[page]) == said


def test_thoughts_are_beside_the_map(server: str, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(f"{server}?{urlencode({'agent': 'dynamic', 'list': LIST, 'seed': 7})}")
    expect(page.locator("#items li")).to_have_count(3)
    for name in ("#meters", "#timeline-canvas", "#play", "#run"):
        box = page.locator(name).bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 800, name
    context.close()


def test_notices_go_away(visit: Callable[..., Page]) -> None:
    page = visit(world="moon", agent="nobody", list="visit pig", seed=3)
    notice = page.locator("#notice")
    expect(notice).to_contain_text("There is no world 'moon' here, and there is no agent 'nobody'")
    expect(notice).to_be_hidden()  # after a while, by itself
    wait_for_end(page)
    set_speed(page, 0)
    page.click("#restart")
    page.click("#play[data-going]")
    page.locator("#map").click(position={"x": 3, "y": 3})  # the wall
    expect(notice).to_contain_text("An object needs an empty cell")
    page.locator("#notice button").dispatch_event("click")
    expect(notice).to_be_hidden()


def test_a_negative_reward_is_explained(visit: Callable[..., Page]) -> None:
    page = visit(agent="me", list="visit cow", seed=3, keys="0" * 250)
    wait_for_end(page, "Out of steps")
    expect(page.locator("#reward-note")).to_contain_text("Each step costs 0.1")


def test_a_phone_has_the_keys_beside_the_view(server: str, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    for world, name in (("grid", "#map"), ("block", "#view")):
        page.goto(f"{server}?{urlencode({'world': world, 'agent': 'me'})}")
        expect(page.locator("#pad button").first).to_be_visible()
        picture, pad = (page.locator(place).bounding_box() for place in (name, "#pad"))
        assert picture is not None
        assert pad is not None
        assert 0 <= pad["y"] - picture["y"] - picture["height"] < 30
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()


@pytest.mark.parametrize("world", ["grid", "block"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_in_light_and_dark(
    server: str, browser: Browser, world: str, scheme: str
) -> None:
    options = {"width": 390, "height": 844}
    context = browser.new_context(viewport=options, color_scheme=scheme, device_scale_factor=2)
    context.set_default_timeout(1000 * PATIENCE)
    page = context.new_page()
    page.goto(f"{server}?{urlencode({'world': world, 'agent': 'dynamic'})}")
    set_speed(page, FASTEST)
    page.click("#big-play")
    wait_for_end(page)
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 19, 27)"
    assert dark == (scheme == "dark")
    map_box = page.locator("#map").bounding_box()
    assert map_box is not None
    assert map_box["width"] >= 300
    context.close()


def test_the_page_says_when_the_server_has_gone(context: BrowserContext) -> None:
    with serving() as short_lived:
        page = context.new_page()
        page.goto(short_lived)
        expect(page.locator("#connection")).to_have_text("connected")
    expect(page.locator("#connection")).to_have_attribute(
        "data-state", re.compile("closed|waiting")
    )
