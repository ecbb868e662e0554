"""`errands bench faults`: it notices runs that learn something else after a kill, or are lost."""

import json
import random
import sys
from pathlib import Path

import pytest

from errands.cli import main
from errands.commands import bench_faults
from errands.commands.bench_faults import Campaign, Kill, differences
from errands.learning.checkpoint import save_resume

# Trains for a second, is saved after every step, and resumes.
STAND_IN = """
import os, pathlib, sys, time
out = pathlib.Path(sys.argv[sys.argv.index("--out") + 1])
out.mkdir(parents=True, exist_ok=True)
starts = out / f"starts-{os.environ.get('RANK', 0)}"
with open(starts, "a") as file:
    file.write("x")
again = len(starts.read_text()) > 1
if again and MODE == "breaks":
    sys.exit("errands: nothing can be read")
done = int((out / "state").read_text()) if (out / "state").exists() else 0
while done < 10:
    time.sleep(0.12)
    done += 1
    (out / f"new-{os.getpid()}").write_text(str(done))
    os.replace(out / f"new-{os.getpid()}", out / "state")
(out / "weights.safetensors").write_bytes(b"other" if again and MODE == "drifts" else b"same")
"""
# Two of them, in sessions of their own; when one is killed, it ends the other, and fails.
SHARED = """
import os, subprocess, sys
workers = [
    subprocess.Popen(sys.argv[1:], start_new_session=True, env=os.environ | {"RANK": str(rank)})
    for rank in range(2)
]
codes = [workers[0].poll(), workers[1].poll()]
while None in codes:
    if any(code for code in codes):
        for worker in workers:
            worker.kill()
    codes = [worker.poll() for worker in workers]
sys.exit(int(any(codes)))
"""


@pytest.fixture(params=["exact", "drifts", "breaks"])
def mode(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, text in (("train.py", STAND_IN), ("torchrun.py", SHARED)):
        (tmp_path / name).write_text(f"MODE = {request.param!r}\n{text}")
    train, torchrun = str(tmp_path / "train.py"), str(tmp_path / "torchrun.py")
    monkeypatch.setattr(bench_faults, "PROGRAM", (sys.executable, train))
    monkeypatch.setattr(bench_faults, "TORCHRUN", (sys.executable, torchrun))
    return str(request.param)


@pytest.mark.slow
def test_what_becomes_of_runs_that_are_killed(
    mode: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    kinds = (Kill("skill", "grid"), Kill("skill", "grid", shared=True))
    monkeypatch.setattr(bench_faults, "EVERYTHING", kinds)
    monkeypatch.setattr(random.Random, "uniform", lambda _, least, most: most)  # never at once
    path = tmp_path / "faults.json"
    options = ["--kills", "4", "--seconds", "0.8", "--json", str(path)]
    assert main(["bench", "faults", *options]) == (0 if mode == "exact" else 1)
    record = json.loads(path.read_text())
    assert record["kills"] == sum(kind["kills"] for kind in record["kinds"].values()) == 4
    assert record["kinds"].keys() == {"skill, grid", "skill, grid, two processes"}
    skill = record["kinds"]["skill, grid"]
    assert skill["kills"] == 2
    if mode == "exact":
        assert skill["lost"] == 0
        assert skill["bit_equal"] == skill["finished"] > 0
    elif mode == "drifts":
        assert skill["bit_equal"] < skill["finished"]
        assert "other weights" in skill["complaints"]
    else:
        assert skill["lost"] > 0
        assert "exit code 1: errands: nothing can be read" in skill["complaints"]
    assert "skill, grid: tried 2, lost " in capsys.readouterr().out


def test_a_run_that_never_starts_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_faults, "PROGRAM", (sys.executable, "-c", "raise SystemExit('no')"))
    with pytest.raises(bench_faults.Problem, match="skill, grid does not even start: no"):
        Campaign(tmp_path, 1.0, 30.0, 0).kill_once(Kill("skill", "grid"))


def test_checkpoints_are_compared_but_for_the_clock(tmp_path: Path) -> None:
    import torch

    one, other = tmp_path / "one", tmp_path / "other"
    for folder, seconds in ((one, 1.5), (other, 2.5)):
        folder.mkdir()
        (folder / "weights.safetensors").write_bytes(b"same")
        save_resume(folder, {"a": torch.ones(2)}, {"iteration": 3, "seconds": seconds})
    assert differences(one, other) == ""
    save_resume(other, {"a": torch.ones(2)}, {"iteration": 4, "seconds": 1.5})
    assert differences(one, other) == "other facts in the checkpoint"
    save_resume(other, {"a": torch.zeros(2)}, {"iteration": 3, "seconds": 1.5})
    assert differences(one, other) == "another 'a' in the checkpoint"
    (other / "weights.safetensors").write_bytes(b"other")
    assert differences(one, other) == "other weights"


@pytest.mark.slow
def test_real_runs_learn_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    """Killed before their first checkpoint or not at all: the long version kills later, too."""
    options = ["--kills", "1", "--longer", "0.05", "--seconds", "30"]
    assert main(["bench", "faults", *options]) == 0
    said = capsys.readouterr().out
    assert "skill, grid: tried 1, lost 0" in said
