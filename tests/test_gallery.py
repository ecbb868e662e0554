"""docs/gallery.md shows what there is: every object, every environment, as they look now."""

import re

import numpy as np
import pytest
from PIL import Image

import gallery
from errands.worlds.registration import environments
from errands.worlds.spec import WORLDS
from test_docs import DOCS

PAGE = DOCS / "gallery.md"


def table(name: str) -> str:
    text = PAGE.read_text(encoding="utf-8")
    return text.split(f"<!-- table: {name} -->")[1].split("<!-- end of table")[0]


@pytest.mark.parametrize("world", WORLDS)
def test_it_has_exactly_the_objects_of_a_world(world: str) -> None:
    shown = re.findall(rf'src="images/gallery/{world}-(\w+)\.png"', table(f"{world} objects"))
    assert tuple(shown) == WORLDS[world].objects


def test_it_has_exactly_the_environments_that_are_registered() -> None:
    text = table("environments")
    assert re.findall(r"^### (.+)$", text, re.MULTILINE) == list(environments())
    assert re.findall(r'`gymnasium\.make\("(.+)"\)`', text) == list(environments())


@pytest.mark.slow
def test_pictures_are_drawn_as_the_worlds_look_now() -> None:
    """If this fails, run `python docs/gallery.py`."""
    drawn = dict(gallery.pictures())
    assert {path.name for path in gallery.FOLDER.iterdir()} == drawn.keys()
    for file, picture in drawn.items():
        with Image.open(gallery.FOLDER / file) as kept:
            assert np.array_equal(np.asarray(kept.convert("RGB")), picture), file


def test_every_picture_is_on_the_page() -> None:
    shown = re.findall(r'src="images/gallery/([^"]+)"', PAGE.read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(path.name for path in gallery.FOLDER.iterdir())
