"""The pictures and tables of docs/gallery.md, by the drawing code of the worlds themselves.

`python docs/gallery.py` draws the pictures in docs/images/gallery; `python docs/tables.py` brings
the tables in the page up to date.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from errands.evaluation.document import Table
from errands.worlds.art import PICTURE_SIZE, load_art
from errands.worlds.block import LOWEST, view_tables
from errands.worlds.draw import sprite_sheet
from errands.worlds.gym import listed
from errands.worlds.kinds import KINDS, VIEW_SIZE
from errands.worlds.raycast import RayTables, render_view
from errands.worlds.registration import environments
from errands.worlds.spec import EMPTY, FIRST_OBJECT, MAP_SIZE, WALL, WORLDS, WorldSpec

FOLDER = Path(__file__).resolve().parent / "images" / "gallery"
SCALE = 4  # pixels on the page for each pixel of a sprite
VIEW_SCALE = 2  # and for each pixel of a view
SEED = 7  # of the episodes that are shown
TERRAIN = {  # where the sprite sheet has it, and what it is
    "floor": (0, "Empty floor: the agent can walk there."),
    "wall": (2, "A wall: nothing can enter it. The border of every map is wall."),
    "water": (3, "Water: the agent can walk there, but the step costs more."),
    "agent": (-3, "The agent."),
}
BLOCK_AGENT = (-2, "The agent on the map, as an arrow in the direction of its view.")
TASKS = {True: "One subtask", False: "A list of instructions"}
Picture = NDArray[np.uint8]


def pictures() -> Iterator[tuple[str, Picture]]:
    """Every picture of the page, by its file's name."""
    for world, spec in WORLDS.items():
        sprites = sprite_sheet(spec.objects, load_art(spec.art_name))
        for name, (place, _) in terrain(spec).items():
            yield f"{world}-{name}.png", on_floor(sprites, place)
        for k, name in enumerate(spec.objects):
            yield f"{world}-{name}.png", on_floor(sprites, len(TERRAIN) + k)
        if KINDS[spec.kind].first_person:
            for name in ("floor", "wall", *spec.objects):
                yield f"{world}-{name}-view.png", view(spec, name)
    for name in environments():
        with gymnasium.make(name, render_mode="rgb_array") as env:
            env.reset(seed=SEED)
            yield picture_of(name), np.asarray(env.render())


def terrain(spec: WorldSpec) -> dict[str, tuple[int, str]]:
    """What a world has besides objects: the place of its sprite, and what it is."""
    if not KINDS[spec.kind].first_person:
        return TERRAIN
    without_water = {name: about for name, about in TERRAIN.items() if name != "water"}
    return without_water | {"agent": BLOCK_AGENT}


def on_floor(sprites: Picture, place: int) -> Picture:
    """A sprite of a sheet as it is seen on the map."""
    count = sprites.shape[1] // PICTURE_SIZE
    floor, sprite = (sprite_at(sprites, index % count) for index in (0, place))
    picture = np.asarray(Image.alpha_composite(floor, sprite).convert("RGB"))
    return picture.repeat(SCALE, axis=0).repeat(SCALE, axis=1)


def sprite_at(sprites: Picture, index: int) -> Image.Image:
    left = index * PICTURE_SIZE
    return Image.fromarray(sprites[:, left : left + PICTURE_SIZE])


def view(spec: WorldSpec, name: str) -> Picture:
    """What an agent on an empty map sees two cells ahead of it when it looks down."""
    tiles = np.full((MAP_SIZE, MAP_SIZE), WALL, np.uint8)
    tiles[1:-1, 1:-1] = EMPTY
    row = column = MAP_SIZE // 2
    if name != "floor":
        code = WALL if name == "wall" else FIRST_OBJECT + spec.objects.index(name)
        tiles[row - 2, column] = code
    picture = np.zeros((VIEW_SIZE, VIEW_SIZE, 3), np.uint8)
    tables = view_tables(spec)
    render_view(tiles, row, column, 0, LOWEST, RayTables(*tables[:4]), tables.atlas, picture)
    return picture.repeat(VIEW_SCALE, axis=0).repeat(VIEW_SCALE, axis=1)


def objects(world: str) -> str:
    """Every object of a world: its pictures, and what transforming it does."""
    spec = WORLDS[world]
    rows = (
        (*shown(spec, name), name, transformed(spec, name), event_note(spec, name))
        for name in spec.objects
    )
    return words((*columns(spec), "object", "transforming it", "event"), rows)


def other_things(world: str) -> str:
    """What is on the map besides objects."""
    spec = WORLDS[world]
    rows = ((*shown(spec, name), name, about) for name, (_, about) in terrain(spec).items())
    return words((*columns(spec), "terrain", "what it is"), rows)


def words(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table without numbers."""
    return Table(headings, tuple(rows), words=len(headings)).markdown()


def columns(spec: WorldSpec) -> tuple[str, ...]:
    return ("on the map", "in first person")[: 1 + KINDS[spec.kind].first_person]


def shown(spec: WorldSpec, name: str) -> list[str]:
    """The cells with a thing's pictures."""
    side = PICTURE_SIZE * SCALE
    cells = [image(f"{spec.name}-{name}.png", f"{name}, from above", side)]
    if KINDS[spec.kind].first_person:
        seen = image(f"{spec.name}-{name}-view.png", f"{name}, ahead", VIEW_SIZE * VIEW_SCALE)
        cells.append(seen if name != "agent" else "-")
    return cells


def transformed(spec: WorldSpec, name: str) -> str:
    product = spec.transforms.get(name)
    if product is None:
        return "it disappears"
    return "nothing changes" if product == name else f"turns it into {product}"


def event_note(spec: WorldSpec, name: str) -> str:
    if spec.event is None or spec.event.object != name:
        return "-"
    return f"appears at random; transforming it pays {spec.rewards.event:+g}"


def every_environment() -> str:
    """Every registered environment: a picture, how to make it, what it shows and what it takes."""
    return "\n\n".join(section(*item) for item in environments().items())


def section(name: str, made_of: tuple[str, bool]) -> str:
    world, is_skill = made_of
    with gymnasium.make(name) as env:
        env.reset(seed=SEED)
        task = ", ".join(map(str, listed(env.unwrapped.privileged_worlds())))
        spaces: dict[str, Any] = dict(env.observation_space)
    kind = KINDS[WORLDS[world].kind]
    rows = [(f"observes `{key}`", f"`{space_text(space)}`") for key, space in spaces.items()]
    names = ", ".join(kind.action_name(action) for action in kind.actions)
    rows += [("actions", f"`Discrete({len(kind.actions)})`: {names}")]
    rows += [(f"the picture (seed {SEED})", f'"{task}"')]
    alt = f"{name}: an episode as it is rendered"
    parts = [
        f"### {name}",
        f"{TASKS[is_skill]} in the {world} world.",
        image(picture_of(name), alt, 642 if kind.first_person else 320),
        words(("make it", f'`gymnasium.make("{name}")`'), rows),
    ]
    return "\n\n".join(parts)


def space_text(space: Any) -> str:
    """A space in one line; one with many equal ranges says how many."""
    if isinstance(space, gymnasium.spaces.MultiDiscrete) and len(set(space.nvec)) == 1:
        return f"MultiDiscrete([{space.nvec[0]}] * {len(space.nvec)})"
    return repr(space).replace("[ ", "[").replace("  ", " ")


def picture_of(name: str) -> str:
    """The file with an environment's picture."""
    return f"{name.partition('/')[2]}.png"


def image(file: str, alt: str, width: int) -> str:
    return f'<img src="images/gallery/{file}" alt="{alt}" width="{width}">'


TABLES: dict[str, Callable[[], str]] = {
    "grid objects": lambda: objects("grid"),
    "grid terrain": lambda: other_things("grid"),
    "block objects": lambda: objects("block"),
    "block terrain": lambda: other_things("block"),
    "environments": every_environment,
}

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for file, picture in pictures():
        Image.fromarray(picture).save(FOLDER / file, optimize=True)
