"""The scripts in docs/examples run, here at a small size."""

import json
import re
import runpy
import shutil
from pathlib import Path
from typing import Any

import pytest

from errands.agents import load
from errands.evaluation.report import write_report
from errands.worlds.registration import environments
from notebooks import NOTEBOOKS, executed, read

EXAMPLES = Path(__file__).parent.parent / "docs" / "examples"


def main_of(script: str) -> Any:
    return runpy.run_path(str(EXAMPLES / script))["main"]


@pytest.mark.slow
@pytest.mark.parametrize("name", environments())
def test_stable_baselines3_trains_on_a_batch(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--steps", "360", "--worlds", "4", "--rollout", "90", "--test", "4"]
    curve = main_of("sb3_ppo.py")(["--env", name, *small])
    assert curve.points
    assert all(0 <= success <= 1 for _, success in curve.points)
    assert "random actions: success" in capsys.readouterr().out


def test_one_file_trains_in_the_style_of_cleanrl(tmp_path: Path) -> None:
    small = ["--steps", "960", "--worlds", "8", "--rollout", "60", "--epochs", "1", "--test", "8"]
    curve = main_of("cleanrl_ppo.py")([*small, "--log", str(tmp_path / "log.json")])
    assert [steps for steps, _ in curve] == [480, 960]
    log = json.loads((tmp_path / "log.json").read_text())
    assert log["curve"] == [list(point) for point in curve]
    assert all(0 <= success <= 1 for _, success in curve)


def test_numbers_of_the_learning_curves_are_those_of_the_logs(tmp_path: Path) -> None:
    text = (EXAMPLES.parent / "plugging-in.md").read_text()
    for script in ("cleanrl_ppo", "sb3_ppo"):
        path = EXAMPLES.parents[1] / "results" / "examples" / f"{script.replace('_', '-')}.json"
        log = json.loads(path.read_text())
        numbers = f"{log['seconds'] / 60:.1f} | {log['trained']:.1%} | {log['random']:.1%} |"
        assert f"| `{script}.py` | {log['steps']:,} | {numbers}" in text
    runpy.run_path(str(EXAMPLES.parent / "ppo_curves.py"))["main"](tmp_path / "ppo.png")
    assert (tmp_path / "ppo.png").stat().st_size > 10_000


def test_an_own_agent_has_a_row_in_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside ours; trained ones have a row for each seed."""
    monkeypatch.setattr(load, "PRETRAINED", tmp_path / "nowhere")  # no figures of shipped agents
    results = tmp_path / "results"
    (results / "instructions").mkdir(parents=True)
    measured = EXAMPLES.parents[1] / "results" / "instructions"
    for path in measured.glob("grid-dynamic-seed-0-*.json"):
        shutil.copy(path, results / "instructions")
    main = main_of("own_agent.py")
    small = ["--episodes", "2", "--results", str(results)]
    main(["--name", "mine", *small])
    assert "unseen, 20: success 0.0%" in capsys.readouterr().out
    learned = {"preset": "own", "analogy": True, "seed": 3, "frames": 1000, "seconds": 7200.0}
    monkeypatch.setitem(main.__globals__, "TRAINING", learned)
    main(["--name", "learner", *small])
    page, _ = write_report(results, tmp_path / "report")
    rows = [line for line in page.read_text().splitlines() if line.startswith("| grid |")]
    (mine,) = (row for row in rows if row.startswith("| grid | mine | - | - | - |"))
    assert mine.endswith("| 2 | - |")
    (learner,) = (row for row in rows if row.startswith("| grid | learner | own | 3 | - |"))
    assert learner.endswith("| 2 | 2.0 |")
    assert any(row.startswith("| grid | dynamic | fast | 0 |") for row in rows)


def outputs(notebook: Any) -> list[list[tuple[str, str]]]:
    """What each cell of code printed, and the kinds of pictures that it shows."""
    return [
        [
            ("text", output["text"]) if "text" in output else ("picture", kind)
            for output in cell["outputs"]
            for kind in ([""] if "text" in output else sorted(output["data"]))
        ]
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]


def words_and_numbers(cells: list[list[tuple[str, str]]]) -> tuple[list[str], list[float]]:
    """Words are always the same; numbers differ a little between processors."""
    text = " ".join(f"{kind} {content}" for cell in cells for kind, content in cell)
    number = r"\d[\d,]*(?:\.\d+)?"
    found = [float(item.replace(",", "")) for item in re.findall(number, text)]
    return re.sub(number, "#", text).split(), found


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run_from_top_to_bottom_and_show_what_they_say(path: Path) -> None:
    """If this fails, run `python tests/notebooks.py`, and look at what it wrote."""
    kept, fresh = (words_and_numbers(outputs(run(path))) for run in (read, executed))
    assert fresh[0] == kept[0]
    assert fresh[1] == pytest.approx(kept[1], rel=0.1, abs=0.02)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_small_and_were_executed_in_order(path: Path) -> None:
    assert path.stat().st_size < 500_000
    cells = [cell for cell in read(path)["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_of_notebooks_lead_somewhere(path: Path) -> None:
    text = "\n".join(cell["source"] for cell in read(path)["cells"])
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    assert links
    for link in links:
        assert (path.parent / link).exists(), link
