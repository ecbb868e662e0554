"""The report follows from result files and shipped agents alone."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import errands
from errands.agents import load as agents
from errands.commands.problem import Problem
from errands.commands.report import Report
from errands.evaluation.document import Figure, Heading, Paragraph, Table, to_html, to_markdown
from errands.evaluation.errata import DEVIATIONS, deviation_table, preset_table
from errands.evaluation.list_tables import lists_table
from errands.evaluation.report import write_report
from errands.evaluation.tables import planner_table, read_records, skill_table
from twins.results import list_record
from twins.untrained import ship_untrained


def skill_record(**changed: Any) -> dict[str, Any]:
    training = {"analogy": True, "preset": "fast", "teacher": "planner", "seconds": 630.0}
    training |= {"seed": 0, "frames": 2_000_000}
    return {
        "world": "grid",
        "agent": "grid/skill-independent",
        "seed": 0,
        "steps": {"mean": 6.0, "stderr": 0.1},
        "scenario": "independent",
        "split": "unseen",
        "success": {"mean": 0.987, "stderr": 0.002},
        "finished": {"mean": 0.999, "stderr": 0.001},
        "reward": {"mean": 0.49, "stderr": 0.01},
        "episodes": 5000,
        "training": training,
        **changed,
    }


def test_a_skill_stands_beside_the_papers() -> None:
    row = skill_table([skill_record()]).markdown().splitlines()[-1]
    for shown in ("99.6% (+0.55)", "98.7% ±0.2%", "+0.49", "5,000", "fast, planner", "10 |"):
        assert shown in row


def test_what_the_paper_does_not_have_is_a_dash() -> None:
    row = skill_table([skill_record(scenario="inter-extrapolation")]).markdown().splitlines()[-1]
    assert "| - | 98.7%" in row


PLANNER = {
    "world": "block",
    "agent": "near-optimal",
    "split": "seen",
    "length": 20,
    "reward": {"mean": -13.24, "stderr": 0.04},
    "success": {"mean": 1.0, "stderr": 0.0},
    "steps": {"mean": 178.3, "stderr": 0.3},
    "episodes": 2000,
}


def test_planners_of_the_block_world_have_no_counterpart() -> None:
    assert "| - | -13.24 ±0.04 |" in planner_table([PLANNER]).markdown()
    assert "| -10.30 (99.3%) | -13.24" in planner_table([PLANNER | {"world": "grid"}]).markdown()


def test_a_single_episode_has_no_error() -> None:
    single = {name: {"mean": 1.0, "stderr": None} for name in ("reward", "success", "steps")}
    for table in (
        planner_table([PLANNER | single]),
        lists_table([list_record("dynamic", "seen", 20, seed=3) | single]),
        skill_table([skill_record(**single)]),
    ):
        assert "±" not in table.markdown()


def test_records_come_one_a_file_or_in_lists(tmp_path: Path) -> None:
    one, two, three = (list_record("dynamic", "seen", k) for k in (1, 2, 3))
    (tmp_path / "a.json").write_text(json.dumps(one))
    (tmp_path / "b.json").write_text(json.dumps([two, three]))
    assert [record["length"] for record in read_records(tmp_path)] == [1, 2, 3]


@pytest.mark.slow
def test_a_report_shows_what_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without results and agents only claims and errata are left; then everything appears."""
    monkeypatch.setattr(agents, "PRETRAINED", tmp_path / "nowhere")
    results = tmp_path / "results"
    results.mkdir()
    page, site = write_report(results, tmp_path / "empty")
    titles = [line for line in page.read_text().splitlines() if line.startswith("#")]
    assert titles[:3] == ["# Results", "## The paper's claims", "## Errata"]
    assert titles[3:] == ["### Skills", "### Meta controller"]
    assert not (tmp_path / "empty" / "figures").exists()

    monkeypatch.undo()
    ship_untrained(tmp_path / "package", "dynamic")
    monkeypatch.setattr(agents, "PRETRAINED", tmp_path / "package")
    lengths, seeds = (1, 4, 20), (3, 4)
    records = [list_record("dynamic", "seen", k, seed=seed) for k in lengths for seed in seeds]
    for folder, content in (("skills", skill_record()), ("instructions", records)):
        (results / folder).mkdir()
        (results / folder / "one.json").write_text(json.dumps(content))
    (results / "logs").mkdir()
    for name, validation in (("skill", {"success": 0.5}), ("list", {"success": 1, "completed": 2})):
        line = {"frames": 1_000_000, "validation": validation}
        (results / "logs" / f"{name}.jsonl").write_text(json.dumps(line) + "\n")
    page, site = write_report(results, tmp_path / "out")
    text, html = page.read_text(), site.read_text()
    assert "98.7% ±0.2%" in text
    assert f"{date.today().year}, version {errands.__version__}" in text
    assert "Verdicts on the paper's 13 claims: " in text
    assert "-11.30 (81.3%)" in text
    assert "| grid | dynamic | seen 20 | 2 | 81.3% | 90.0% | 90.0% (90.0 to 90.0)" in text
    assert "held | grid, ours: 90.0% (2 seeds) against 81.3%" in text
    names = ("values", "embedding", "learning", "learning-lists", "lengths-grid", "timeline-grid")
    for name in names:
        assert f"figures/{name}.png" in text
        assert (tmp_path / "out" / "figures" / f"{name}.png").stat().st_size > 5000
    assert html.count("data:image/png;base64,") == len(names)
    for shown in (text, html):
        assert "Interruptions" in shown
        assert "the subtask is to transform enemy" in shown
    assert "http" not in html  # nothing is fetched


def test_a_missing_folder_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="no such folder"):
        Report(results=tmp_path / "nowhere").execute()


@pytest.mark.parametrize(
    ("name", "content", "hint"),
    [
        ("planners/a.json", '{"world": "grid"', "is damaged"),
        ("skills/a.json", "ÿ", "is damaged"),
        ("instructions/a.json", "[1, 2]", "something else than records"),
        ("logs/a.jsonl", '{"frames": 1}\n{"frames": 2, "valid', "damaged in line 2"),
        ("logs/a.jsonl", '{"validation": {}}', "damaged in line 1"),
        ("logs/a.jsonl", "3", "damaged in line 1"),
    ],
)
def test_a_damaged_file_is_named_in_one_line(
    name: str, content: str, hint: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.parent.mkdir()
    path.write_text(content, encoding="latin-1")
    with pytest.raises(Problem, match=hint) as refused:
        Report(results=tmp_path, out=tmp_path / "out").execute()
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_documents_are_the_same_in_both_forms(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"picture")
    parts = (
        Heading("One & two"),
        Paragraph("See `x < y`, *this* and [that](other.md)."),
        Table(("name", "n"), (("a|b".replace("|", "/"), "1"),)),
        Figure("a.png", "A picture"),
    )
    assert to_markdown(parts) == (
        "## One & two\n\nSee `x < y`, *this* and [that](other.md).\n\n"
        "| name | n |\n| --- | ---: |\n| a/b | 1 |\n\n![A picture](a.png)\n"
    )
    html = to_html("Title", parts, tmp_path)
    for shown in (
        '<h2 id="one--two">One &amp; two</h2>',
        '<code>x &lt; y</code>, <em>this</em> and <a href="other.md">that</a>',
        '<td>a/b</td><td class="number">1</td>',
        'alt="A picture" src="data:image/png;base64,cGljdHVyZQ=="',
        "prefers-color-scheme: dark",
    ):
        assert shown in html


def test_errata_have_no_empty_or_repeated_points() -> None:
    points = [(item.area, item.point) for item in DEVIATIONS]
    assert len(set(points)) == len(points)
    assert all(all(item) for item in DEVIATIONS)
    assert len(deviation_table().rows) == len(DEVIATIONS)


@pytest.mark.parametrize("kind", ["skill", "meta"])
def test_presets_differ_in_what_the_code_explains(kind: Any) -> None:
    """In both worlds; what one of them does not have is a dash there."""
    rows = {row[0]: row[1:] for row in preset_table(kind).rows}
    assert all(len(row) == 4 and all(row) for row in rows.values())
    assert rows["`optimizer`"][:3] == ("adam", "adam", "rmsprop")
    assert rows["`network.view`"][:3] == ("centred", "-", "pooled")
    assert rows["`network.maps`"][:3] == ("-", "MapNetwork", "none")
