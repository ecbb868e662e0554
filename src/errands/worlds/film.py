"""Pictures into films: captions below the frames, and films written whole or not at all."""

import contextlib
import os
import shutil
import subprocess
import threading
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from errands.files import replacing
from errands.worlds.draw import BACKDROP, Colour, Picture, window

LAST_FRAME = 1000  # milliseconds that the last frame is shown before the film repeats
LONGEST_ENCODING = 120.0  # seconds, after which an encoder that hangs is ended
SHORTEST_FRAME = 20  # milliseconds; browsers slow anything shorter down to 100
PALETTE_SIZE = 255  # of 256: one is reserved for "unchanged", which keeps files small
SAMPLED_FRAMES = 32  # number of frames, spread over the film, that the palette is chosen from

TEXT: Colour = (172, 170, 184)
MARKED_TEXT: Colour = (255, 221, 85)
UNSEEN_TEXT: Colour = (120, 190, 255)
TICK: Colour = (110, 200, 120)
NOTE = "never trained"  # what an unseen line says of itself
TEXT_SIZE = 13
TEXT_SHADES = 6  # from none to full; a divisor of 255, plus one
LINE_HEIGHT = 18
MARGIN = 8
INDENT = 12  # room for the mark to the left of a line
LINES_BEFORE_COLUMNS = 5  # longer captions are set in columns, where the picture is wide enough
MOST_ROWS = 9  # if there are more, only the lines around the marked one are shown


def caption(
    frame: Picture,
    lines: Sequence[str],
    *,
    marked: int | None = None,
    title: str = "",
    unseen: Collection[int] = (),
) -> Picture:
    """The frame with lines of text below it, the marked one bright with an arrow before it.

    Lines before the marked one are ticked, and `unseen` ones say so. A `title` stands above them. A
    long list is reduced to the lines around the marked one, and a line that gives their range; a
    `marked` beyond the end shows the last ones. The strip has the same height whichever line is
    marked, so all frames of a film have one size.
    """
    if not lines:
        return frame
    width = frame.shape[1]
    note = _text_width(NOTE) + MARGIN
    widest = max(_text_width(line) + (note if i in unseen else 0) for i, line in enumerate(lines))
    columns = -(-len(lines) // LINES_BEFORE_COLUMNS)
    columns = max(1, min(columns, (width - MARGIN) // (INDENT + widest + MARGIN)))
    rows = min(MOST_ROWS, -(-len(lines) // columns))
    column_width = (width - MARGIN) // columns
    first, last = window(len(lines), marked or 0, rows * columns)
    top = LINE_HEIGHT if title else 0

    strip = Image.new("RGB", (width, top + rows * LINE_HEIGHT + 2 * MARGIN), BACKDROP)
    strip.paste(TEXT, (MARGIN, MARGIN), _text(title))

    def place(i: int) -> tuple[int, int]:
        column, row = divmod(i - first, rows)
        return MARGIN + column * column_width, MARGIN + top + row * LINE_HEIGHT

    for i in range(first, last):
        x, y = place(i)
        room = column_width - INDENT - MARGIN - (note if i in unseen else 0)
        text = _text(_shortened(lines[i], room))
        _mark(strip, x, y, i, marked)
        strip.paste(MARKED_TEXT if i == marked else TEXT, (x + INDENT, y), text)
        if i in unseen:
            strip.paste(UNSEEN_TEXT, (x + INDENT + text.width + MARGIN, y), _text(NOTE))
    if last - first < len(lines):
        x, y = place(last)
        strip.paste(TEXT, (x + INDENT, y), _text(f"{first + 1} to {last} of {len(lines)}"))
    return np.concatenate([frame, np.asarray(strip)], axis=0)


def _mark(strip: Image.Image, x: int, y: int, i: int, marked: int | None) -> None:
    """A tick before a line that is done, an arrow before the marked one."""
    if marked is None or i > marked:
        return
    middle, pen = y + LINE_HEIGHT // 2, ImageDraw.Draw(strip)
    if i == marked:
        pen.polygon([(x, middle - 4), (x, middle + 4), (x + 5, middle)], fill=MARKED_TEXT)
    else:
        pen.line([(x, middle), (x + 3, middle + 3), (x + 8, middle - 4)], fill=TICK, width=2)


def save_gif(frames: Iterable[Picture], path: str | os.PathLike[str], fps: float = 8) -> None:
    """Write a GIF that repeats. All frames share one palette, which prevents flicker.

    The file appears under its name only when it is complete; after a failure an older file is
    unchanged. Consecutive equal frames are stored as one that is shown for longer.
    """
    pictures, path = _checked(frames, path, fps)
    images = _with_shared_palette(pictures)
    durations = [max(SHORTEST_FRAME, round(1000 / fps))] * (len(images) - 1) + [LAST_FRAME]
    with replacing(path) as unfinished:
        images[0].save(
            unfinished,
            format="GIF",
            save_all=True,
            append_images=images[1:],
            duration=durations,
            loop=0,
            optimize=True,  # stores only what changed since the previous frame
        )


def mp4_encoder() -> str | None:
    """The program that `save_mp4` needs, if this machine has it."""
    return shutil.which("ffmpeg")


def save_mp4(frames: Iterable[Picture], path: str | os.PathLike[str], fps: float = 8) -> None:
    """Write a film that does not repeat, with ffmpeg. Like a GIF, it appears only when complete."""
    encoder = mp4_encoder()
    if encoder is None:
        raise ValueError("an MP4 needs ffmpeg, which is not installed; save a GIF instead")
    pictures, path = _checked(frames, path, fps)
    height, width, _ = pictures[0].shape
    # Players need even sizes, and colours in the one format that all of them support.
    shape = "pad=ceil(iw/2)*2:ceil(ih/2)*2,format=yuv420p"
    command = [encoder, "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24"]
    command += ["-s", f"{width}x{height}", "-framerate", str(fps), "-i", "-", "-vf", shape]
    command += ["-movflags", "+faststart", "-f", "mp4", "-y"]
    held = [pictures[-1]] * max(0, round(fps * LAST_FRAME / 1000) - 1)
    with replacing(path) as unfinished:
        pipe = subprocess.PIPE
        with subprocess.Popen([*command, str(unfinished)], stdin=pipe, stderr=pipe) as running:
            assert running.stdin is not None
            too_long = threading.Timer(LONGEST_ENCODING, running.kill)
            too_long.start()
            try:
                with contextlib.suppress(BrokenPipeError):  # it stopped; why is reported below
                    for frame in (*pictures, *held):
                        running.stdin.write(frame.tobytes())
                _, said = running.communicate()
            finally:
                too_long.cancel()
        if running.returncode:
            reasons = said.decode(errors="replace").strip().splitlines() or ["it gave no reason"]
            raise ValueError(f"ffmpeg failed: {reasons[-1]}")


# How a film is written, by the ending of its name.
FILM_WRITERS = {".gif": save_gif, ".mp4": save_mp4}


def save_film(frames: Iterable[Picture], path: str | os.PathLike[str], fps: float = 8) -> None:
    """Write a GIF or an MP4, whichever the file's name ends in."""
    FILM_WRITERS[Path(path).suffix.lower()](frames, path, fps)


def _checked(
    frames: Iterable[Picture], path: str | os.PathLike[str], fps: float
) -> tuple[list[Picture], Path]:
    """Checked frames of a film, and its checked path."""
    pictures = [np.ascontiguousarray(frame) for frame in frames]
    if not pictures:
        raise ValueError("a film needs at least one frame")
    for frame in pictures:
        if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3:
            raise ValueError(f"expected uint8 RGB frames, not {frame.dtype} of shape {frame.shape}")
        if frame.shape != pictures[0].shape:
            raise ValueError(f"frames differ in shape: {pictures[0].shape} and {frame.shape}")
    if not fps > 0:
        raise ValueError(f"{fps} frames a second cannot be shown")

    path = Path(path).resolve()  # a link stays a link
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is not a file, and a film would take its place")
    return pictures, path


def _with_shared_palette(frames: Sequence[Picture]) -> list[Image.Image]:
    """Frames as palette images: exact while there are few enough colours, else the nearest ones."""
    seen = np.zeros(1 << 24, np.bool_)
    for frame in frames:
        seen[_packed(frame)] = True
    colours = np.flatnonzero(seen)
    rgb = _unpacked(colours)
    if len(colours) <= PALETTE_SIZE:
        palette, nearest = rgb, np.arange(len(colours))
    else:
        palette = _adaptive_palette(frames)
        nearest = _nearest(rgb, palette)
    index = np.zeros(1 << 24, np.uint8)  # a packed colour's place in the palette
    index[colours] = nearest

    images = []
    for frame in frames:
        image = Image.fromarray(index[_packed(frame)])
        image.putpalette(palette.astype(np.uint8).tobytes())
        images.append(image)
    return images


def _adaptive_palette(frames: Sequence[Picture]) -> NDArray[np.int64]:
    """(up to PALETTE_SIZE, 3) colours for all frames, chosen from some of them."""
    sample = np.linspace(0, len(frames) - 1, min(len(frames), SAMPLED_FRAMES)).astype(int)
    packed, counts = np.unique([_packed(frames[i]) for i in sample], return_counts=True)
    colours = _unpacked(packed[np.argsort(-counts, kind="stable")])  # (colours, 3), commonest first
    if len(colours) <= PALETTE_SIZE:  # only frames that were not sampled have more
        return colours
    # Pixel art has few colours with many pixels each: these stay exact. Shades share the rest.
    exact, others = np.split(colours, [PALETTE_SIZE // 2])
    image = Image.fromarray(others[None].astype(np.uint8))
    quantized = image.quantize(PALETTE_SIZE - len(exact), Image.Quantize.MEDIANCUT, kmeans=1)
    return np.concatenate([exact, np.array(quantized.getpalette()).reshape(-1, 3)])[:PALETTE_SIZE]


def _nearest(colours: NDArray[np.int64], palette: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each colour, the index of the palette's closest; in pieces, to bound the memory."""
    pieces = np.array_split(colours, -(-len(colours) // 4096))
    differences = (piece[:, None] - palette for piece in pieces)  # (piece, palette, 3)
    return np.concatenate([np.square(difference).sum(2).argmin(1) for difference in differences])


def _packed(frame: Picture) -> NDArray[np.int32]:
    """(height, width, 3) bytes -> (height, width) numbers 0xrrggbb."""
    wide = frame.astype(np.int32)
    return wide[..., 0] << 16 | wide[..., 1] << 8 | wide[..., 2]


def _unpacked(colours: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """(colours,) -> (colours, 3)"""
    return np.stack([colours >> 16, colours >> 8 & 255, colours & 255], axis=1)


@cache
def _font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(TEXT_SIZE)


def _text(text: str) -> Image.Image:
    """A line of text as a mask, with few shades so that it leaves the palette to the picture."""
    mask = Image.new("L", (max(1, _text_width(text)), LINE_HEIGHT))
    ImageDraw.Draw(mask).text((0, LINE_HEIGHT // 2), text, fill=255, font=_font(), anchor="lm")
    step = 255 // (TEXT_SHADES - 1)
    return mask.point([round(value / step) * step for value in range(256)])


def _text_width(text: str) -> int:
    return round(_font().getlength(text))


def _shortened(text: str, width: int) -> str:
    if _text_width(text) <= width:
        return text
    while text and _text_width(f"{text}...") > width:
        text = text[:-1]
    return f"{text.rstrip()}..."
