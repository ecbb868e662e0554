"""Plans of sweeps: every combination is a run, and what is wrong is said in one line."""

from pathlib import Path

import pytest

from errands.cli import main
from errands.sweep.plan import BadPlan, Evaluation, make_plan, parse_seeds, read_plan


def names(*groups: dict[str, object]) -> list[str]:
    return [run.name for run in make_plan(groups, {}).runs]


def test_every_combination_is_a_run() -> None:
    assert names({"stage": "meta", "agent": ["dynamic", "short"], "seed": "0..1"}) == [
        "grid-dynamic-seed-0",
        "grid-dynamic-seed-1",
        "grid-short-seed-0",
        "grid-short-seed-1",
    ]


def test_a_name_has_what_is_not_usual() -> None:
    skill = {"stage": "skill", "world": "block", "scenario": "object-dependent", "seed": 2}
    assert names(
        skill | {"no-analogy": [False, True]},
        {"agent": "flat", "preset": "paper", "without": "glance+briefing", "soft": True},
        {"stage": "eyes"},
    ) == [
        "block-skill-object-dependent-seed-2",
        "block-skill-object-dependent-no-analogy-seed-2",
        "grid-flat-without-glance+briefing-soft-paper-seed-0",
        "block-eyes-seed-0",
    ]


def test_a_run_needs_the_run_whose_skill_it_names(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    groups = [
        {"stage": "skill", "seed": "0..1"},
        {"skill": "grid-skill-independent-seed-{seed}", "seed": "0..1"},
        {"skill": "grid/skill-independent", "agent": "short"},
        {"skill": str(tmp_path / "x" / ".." / "mine"), "agent": "long"},
    ]
    (tmp_path / "x").mkdir()
    runs = {run.name: run for run in make_plan(groups, {}).runs}
    assert runs["grid-dynamic-seed-1"].needs == ("grid-skill-independent-seed-1",)
    assert runs["grid-short-seed-0"].needs == ()
    assert runs["grid-short-seed-0"].options["skill"] == "grid/skill-independent"
    assert runs["grid-long-seed-0"].options["skill"] == str((tmp_path / "mine").resolve())


def test_some_runs_bring_those_that_they_need() -> None:
    groups = [{"stage": "skill", "seed": "0..1"}, {"skill": "grid-skill-independent-seed-1"}]
    plan = make_plan(groups, {}).only(["grid-dynamic-seed-0"])
    assert [run.name for run in plan.runs] == [
        "grid-skill-independent-seed-1",
        "grid-dynamic-seed-0",
    ]


def test_seeds() -> None:
    assert parse_seeds("0..2,7") == [0, 1, 2, 7]


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(
        '[evaluate]\nepisodes = 7\nlengths = "1,20"\n[[runs]]\nseed = [0, 3]\nhours = 0.5\n'
    )
    plan = read_plan(path)
    assert plan.evaluation == Evaluation(episodes=7, lengths="1,20")
    assert [run.name for run in plan.runs] == ["grid-dynamic-seed-0", "grid-dynamic-seed-3"]
    assert plan.runs[0].hours == 0.5
    assert "hours" not in plan.runs[0].options


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("[[runs]\n", "cannot be read"),
        ("[[run]]\nseed = 0\n", "did you mean runs"),
        ("runs = 3\n", "write [[runs]]"),
        ("", "there are no runs"),
        ("[evaluate]\nepisode = 3\n[[runs]]\n", "did you mean episodes"),
        ('[evaluate]\nepisodes = "3"\n[[runs]]\n', "must be like 1000"),
        ('[[runs]]\nstage = "skil"\n', "did you mean skill"),
        ('[[runs]]\nseed = "few"\n', "write 0..4"),
        ("[[runs]]\nseed = []\n", "'seed' must be a value"),
        ("[[runs]]\nseed = [[0]]\n", "'seed' must be a value"),
        ('[[runs]]\nout = "x"\n', "'out' is chosen by the sweep"),
        ("[[runs]]\nhours = -1\n", "not a number of hours"),
        ('[[runs]]\nskill = "{sead}"\n', "'{sead}' is not understood"),
        ("[[runs]]\n[[runs]]\n", "grid-dynamic-seed-0 is there twice"),
        ('[[runs]]\nskill = "grid-dynamic-seed-0"\n', "cannot use grid-dynamic-seed-0"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(text: str, hint: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(text)
    with pytest.raises(BadPlan) as raised:
        read_plan(path)
    assert hint in str(raised.value)
    assert "\n" not in str(raised.value)


FILES = sorted((Path(__file__).parent.parent.parent / "results" / "sweeps").glob("*.toml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_files_of_the_repository_are_understood(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", str(path), "--list"]) == 0
    assert f"# {len(read_plan(path).runs) - 1}  " in capsys.readouterr().out


def test_the_grid_has_the_seeds_that_are_asked_for() -> None:
    names = [run.name for run in read_plan(FILES[0].with_name("grid.toml")).runs]
    for agent, seeds in (("dynamic", 5), ("short", 5), ("long", 5), ("flat", 3)):
        assert sum(name.startswith(f"grid-{agent}-seed") for name in names) == seeds
    assert sum("skill" in name for name in names) == 3 * 2 * 3
