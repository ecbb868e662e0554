"""Films for players of video: made by ffmpeg where it is installed, refused where it is not."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from errands.worlds import film
from errands.worlds.draw import Picture

# Stands in for ffmpeg: keeps what it was told and given beside the file that it should write.
RECORDER = """#!/bin/sh
for last; do :; done
echo "$@" > "{folder}/told"
cat > "{folder}/given"
echo film > "$last"
"""
FAILURE = "#!/bin/sh\necho 'nothing works' >&2\nexit 1\n"


def frames(count: int, height: int = 33, width: int = 47) -> list[Picture]:
    draw = np.random.default_rng(0)
    return [draw.integers(0, 256, (height, width, 3), np.uint8) for _ in range(count)]


def stand_in(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "ffmpeg"
    program.write_text(script)
    program.chmod(0o755)
    monkeypatch.setattr(film, "mp4_encoder", lambda: str(program))


def test_the_encoder_gets_every_frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, RECORDER.format(folder=tmp_path), monkeypatch)
    shown = frames(3)
    film.save_mp4(shown, tmp_path / "film.mp4", fps=4)
    assert (tmp_path / "film.mp4").read_text() == "film\n"
    told = (tmp_path / "told").read_text()
    assert "-s 47x33" in told
    assert "-framerate 4" in told
    # The last one stays in sight for a second.
    expected = [*shown, *[shown[-1]] * 3]
    assert (tmp_path / "given").read_bytes() == b"".join(frame.tobytes() for frame in expected)


def test_a_failed_encoder_leaves_the_old_film(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, FAILURE, monkeypatch)
    path = tmp_path / "film.mp4"
    path.write_text("old")
    with pytest.raises(ValueError, match="ffmpeg failed: nothing works"):
        film.save_mp4(frames(400), path)
    assert path.read_text() == "old"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["ffmpeg", "film.mp4"]


def test_an_encoder_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, "#!/bin/sh\nexec sleep 600\n", monkeypatch)
    monkeypatch.setattr(film, "LONGEST_ENCODING", 0.2)
    with pytest.raises(ValueError, match="ffmpeg failed"):
        film.save_mp4(frames(3), tmp_path / "film.mp4")
    assert [file.name for file in tmp_path.iterdir()] == ["ffmpeg"]


def test_without_an_encoder_a_gif_is_suggested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert film.mp4_encoder() is None
    with pytest.raises(ValueError, match="save a GIF instead"):
        film.save_mp4(frames(1), tmp_path / "film.mp4")


# In CI it must run: make browser installs ffmpeg.
@pytest.mark.skipif(
    shutil.which("ffprobe") is None and not os.environ.get("CI"), reason="ffmpeg is not installed"
)
def test_a_real_film_has_even_sides(tmp_path: Path) -> None:
    film.save_mp4(frames(5), tmp_path / "film.mp4", fps=5)
    ask = ["ffprobe", "-v", "error", "-count_frames", "-of", "csv=p=0"]
    ask += ["-show_entries", "stream=width,height,nb_read_frames", str(tmp_path / "film.mp4")]
    said = subprocess.run(ask, capture_output=True, text=True, check=True).stdout
    assert said.strip() == "48,34,9"
