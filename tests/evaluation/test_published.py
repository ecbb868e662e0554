"""The papers' numbers are found under our names for things."""

import pytest

from errands.evaluation import published
from errands.evaluation.published import Cell


def cell(reward: float, success: float) -> Cell:
    """Success as it comes out of a table of percents."""
    return Cell(reward, round(success * 100, 1) / 100)


def test_skills() -> None:
    assert published.skill("grid", "independent", "unseen", analogy=True) == cell(0.55, 0.996)
    collapse = published.skill("block", "object-dependent", "unseen", analogy=False)
    assert collapse == pytest.approx((-5.0, 0.022))
    assert published.skill("grid", "inter-extrapolation", "unseen", analogy=True) is None


def test_planners() -> None:
    assert published.planner("grid", "near-optimal", 20) == cell(-10.3, 0.993)
    assert published.planner("grid", "shortest-path", 7) is None


def test_lists() -> None:
    assert published.lists("grid", "dynamic", "train") == cell(-1.26, 0.955)
    assert published.lists("grid", "dynamic", "unseen") == cell(-14.75, 0.403)
    assert published.lists("block", "long", "train") == cell(-5.8, 0.31)
    assert published.lists("grid", "long", "train") is None
    for split in ("seen", "unseen"):
        assert published.lists("grid", "near-optimal", split) == cell(-10.3, 0.993)


def test_ablations() -> None:
    lists = published.lists
    assert lists("grid", "dynamic", "seen", with_all=False) == cell(-8.24, 0.855)
    assert lists("grid", "dynamic", "seen", soft=True) == cell(-11.8, 0.748)
    assert lists("grid", "dynamic", "unseen", with_all=False, soft=True) == cell(-9.53, 0.726)
    assert lists("grid", "dynamic", "seen", analogy=False) == cell(-12.96, 0.629)
    assert lists("grid", "short", "unseen", analogy=False) == cell(-17.66, 0.069)
    assert lists("grid", "short", "unseen", with_all=False) == cell(-10.66, 0.577)
    assert lists("grid", "near-optimal", "unseen", with_all=False) == cell(-7.62, 0.994)
    assert lists("grid", "flat", "seen", forgiving=True) == cell(-14.53, 0.659)
    assert lists("grid", "shortest-path", "unseen", forgiving=True) == cell(-11.94, 0.991)


@pytest.mark.parametrize(
    ("world", "agent", "options"),
    [
        ("block", "dynamic", {"with_all": False}),
        ("grid", "short", {"soft": True}),
        ("grid", "dynamic", {"soft": True, "forgiving": True}),
        ("grid", "long", {"forgiving": True}),
        ("grid", "dynamic", {"soft": True, "analogy": False}),
    ],
)
def test_what_the_papers_do_not_have(world: str, agent: str, options: dict[str, bool]) -> None:
    assert published.lists(world, agent, "seen", **options) is None


def test_training_lists_without_all_are_not_published() -> None:
    assert published.lists("grid", "dynamic", "train", with_all=False) is None


def test_curves() -> None:
    ours = published.curve("grid", "completed", "dynamic", "unseen")
    assert ours is not None
    assert list(ours) == list(range(1, 21))
    assert ours[20] == 12.774
    assert published.curve("grid", "steps", "near-optimal", "unseen") == published.curve(
        "grid", "steps", "near-optimal", "seen"
    )
    short = published.curve("grid", "success", "short", "seen", analogy=False)
    assert short is not None
    assert short[1] == 0.973
    assert published.curve("grid", "reward", "long", "seen") is None


def test_the_paper_has_no_curves_of_the_block_world() -> None:
    assert published.curve("block", "success", "dynamic", "seen") is None
