import numpy as np
import pytest

from errands.worlds.art import load_art, parse_art

ROW = "r" + "." * 14 + "g"
GOOD = "\n".join(
    ["# two colours", "palette", "r ff0000", "g 00ff7f", "", "picture flag"] + [ROW] * 16
)


def test_a_picture_is_read_with_its_colours_and_transparency() -> None:
    flag = parse_art(GOOD)["flag"]
    assert flag.shape == (16, 16, 4)
    assert flag.dtype == np.uint8
    assert flag[3, 0].tolist() == [255, 0, 0, 255]
    assert flag[3, 15].tolist() == [0, 255, 127, 255]
    assert not flag[:, 1:15].any()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("r ff0000", r"bad\.txt, line 1: expected 'palette'"),
        ("palette\nr red", r"bad\.txt, line 2: expected '<char> <rrggbb>'"),
        ("palette\nr ff0000\nr 00ff00", r"bad\.txt, line 3: the palette has 'r'"),
        ("palette\n. ff0000", r"bad\.txt, line 2: the palette has '\.'"),
        (GOOD + "\n" + ROW, r"bad\.txt, line 23: picture flag needs 16 rows"),
        (GOOD[:-17], r"bad\.txt, line 21: picture flag has 15 rows"),
        (GOOD.replace(ROW, ROW + "r", 1), r"bad\.txt, line 7: picture flag needs 16 rows"),
        (GOOD.replace(ROW, "x" + ROW[1:], 1), r"bad\.txt, line 7: not in the palette: x"),
        (GOOD + "\npicture flag", r"bad\.txt, line 23: the name flag is taken"),
    ],
)
def test_a_mistake_is_reported_with_file_and_line(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_art(text, "bad.txt")


@pytest.mark.parametrize("name", ["block", "grid"])
def test_shipped_art_is_read_and_is_the_callers_to_change(name: str) -> None:
    first = load_art(name)
    assert first
    for picture in first.values():
        picture[:] = 0
    assert all(picture.any() for picture in load_art(name).values())


@pytest.mark.parametrize("name", ["watercolour", "", "../art/grid", "grid.txt"])
def test_unknown_art_is_refused_with_what_there_is(name: str) -> None:
    with pytest.raises(ValueError, match=f"there is no art '{name}'; there are block, grid"):
        load_art(name)
