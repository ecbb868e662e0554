"""Lists in a real browser: typed, completed, corrected, drawn, and never taken for markup."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from twins.browser import ink, link_of, wait_for_end

pytestmark = pytest.mark.slow


def test_a_typed_list_is_carried_out(visit: Callable[..., Page]) -> None:
    page = visit()
    page.fill("#list", "visit the cow, pick up all eggs")
    expect(page.locator("#list-message")).to_have_text("2 instructions, trained")
    page.click("#run")
    expect(page.locator("#items li")).to_have_text([re.compile("visit cow"), re.compile("eggs")])
    wait_for_end(page)
    expect(page.locator("#items li[data-state=done]")).to_have_count(2)
    expect(page.locator("#errand-count")).to_have_text("2 of 2 done")
    assert link_of(page)["list"] == "visit the cow, pick up all eggs"
    assert ink(page, "#map") > 20


def test_a_wrong_word_shows_the_parsers_message(visit: Callable[..., Page]) -> None:
    page = visit()
    page.fill("#list", "visit the pgi, pick up egg")
    message = page.locator("#list-message")
    expect(message).to_have_text("instruction 1, word 3: 'pgi' is not an object; did you mean pig?")
    expect(page.locator("#mirror mark")).to_have_text("pgi")
    expect(page.locator("#list")).to_have_attribute("aria-invalid", "true")
    page.click("#run")  # says so, and begins nothing
    expect(message).to_contain_text("did you mean pig?")
    page.fill("#list", "visit the pig, pick up egg")
    expect(message).to_have_text("2 instructions, trained")
    expect(page.locator("#mirror mark")).to_have_count(0)


def test_words_are_completed_while_typing(visit: Callable[..., Page]) -> None:
    page = visit()
    page.fill("#list", "")
    page.locator("#list").press_sequentially("tr")
    words = page.locator("#words li")
    expect(words).to_have_text(["transform"])
    page.keyboard.press("Tab")
    expect(page.locator("#list")).to_have_value("transform ")
    expect(words.first).to_have_text("cow")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(words.nth(1)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page.locator("#list")).to_have_value("transform enemy ")
    page.keyboard.press("Escape")
    expect(page.locator("#words")).to_be_hidden()
    page.fill("#list", "visit d")
    page.locator("#words li", has_text="duck").click()
    expect(page.locator("#list")).to_have_value("visit duck ")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#items li")).to_have_text([re.compile("visit duck")])


def test_mistakes_are_shown_after_a_pause(visit: Callable[..., Page]) -> None:
    page = visit(list="visit pig", seed=3)
    page.fill("#list", "")
    page.locator("#list").press_sequentially("visit pgi and", delay=20)
    expect(page.locator("#editor.wrong")).to_have_count(0)
    expect(page.locator("#list-message")).to_contain_text("did you mean pig?")
    expect(page.locator("#editor.wrong")).to_have_count(1)
    page.locator("#list").press_sequentially(" ", delay=20)
    expect(page.locator("#editor.wrong")).to_have_count(0)  # typing goes on


def test_what_is_typed_is_what_runs(visit: Callable[..., Page]) -> None:
    page = visit(agent="near-optimal", list="visit pig", seed=3)
    wait_for_end(page)
    page.fill("#list", "visit duck")
    page.fill("#seed", "5")
    page.click("#run")
    expect(page).to_have_url(re.compile("list=visit\\+duck&seed=5"))
    page.fill("#list", "visit box")
    page.select_option("#agent", "shortest-path")
    expect(page).to_have_url(re.compile("agent=shortest-path&list=visit\\+box&seed=5"))
    page.fill("#list", "visit tree")
    page.click("#dice")
    expect(page).to_have_url(re.compile("list=visit\\+tree"))
    page.fill("#list", "visit cat")  # a word of the other world
    page.get_by_text("Block world", exact=True).click()
    expect(page).to_have_url(re.compile("world=block.*list=visit\\+cat"))
    page.fill("#list", "visit the cat, my own words")
    page.get_by_text("Grid", exact=True).click()
    expect(page).to_have_url(re.compile("world=grid"))
    expect(page.locator("#list")).to_have_value("visit the cat, my own words")
    expect(page.locator("#notice")).to_contain_text("words that this world does not know")
    page.fill("#seed", "-4")
    page.click("#run")
    expect(page.locator("#notice")).to_contain_text("The seed is a whole number")


def test_lists_in_other_words_and_verbs_that_nobody_learned(visit: Callable[..., Page]) -> None:
    page = visit(agent="dynamic", list="visit pig", seed=3)
    page.fill("#list", "grab both eggs, interact with the box")
    reading = "Understood as: pick up egg 2 times, interact with box"
    expect(page.locator("#list-reading")).to_have_text(reading)
    expect(page.locator("#list-warning")).to_contain_text("Dynamic never learned “interact with”")
    page.select_option("#agent", "near-optimal")
    expect(page.locator("#list-warning")).to_be_hidden()


def test_lists_are_drawn(visit: Callable[..., Page]) -> None:
    page = visit(agent="near-optimal")
    for name, count in (("4 unseen", 4), ("20 unseen", 20), ("With events", 6), ("4 trained", 4)):
        page.get_by_role("button", name=name, exact=True).click()
        expect(page.locator("#items li")).to_have_count(count)
        unseen = page.locator("#items .tag", has_text="unseen")
        expect(unseen).to_have_count(count if "unseen" in name else 0)
    before = link_of(page)["seed"]
    page.fill("#seed", str(int(before) + 1))
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"seed={int(before) + 1}"))


MARKUP = "<img src=x onerror='window.entered=1'><script>window.entered=1</script>"


@pytest.mark.parametrize("field", ["world", "agent", "rival", "list", "seed", "drops", "keys"])
def test_links_never_become_markup(field: str, visit: Callable[..., Page]) -> None:
    page = visit(**({"world": "grid", "list": "visit pig"} | {field: MARKUP}))
    page.wait_for_function("document.querySelector('#list').value !== ''")
    page.wait_for_timeout(500)
    assert page.evaluate("window.entered") is None
    assert page.locator("img[src=x]").count() == 0
    assert page.locator("body script").count() == page.locator("body script[src='main.js']").count()


def test_what_is_typed_never_becomes_markup(visit: Callable[..., Page]) -> None:
    page = visit()
    for text in (f"visit the {MARKUP}", f"{MARKUP}, visit pig", "visit <b>pig</b>"):
        page.fill("#list", text)
        expect(page.locator("#mirror")).to_contain_text(text[:20])
        expect(page.locator("#list-message")).to_contain_text("instruction 1")
        page.click("#run")
        assert page.evaluate("window.entered") is None
        assert (
            page.locator("#mirror img, #mirror b, #list-message img, #list-message b").count() == 0
        )
