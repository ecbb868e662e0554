"""`errands train skill`: what it says, what it refuses in one line, and going on."""

import json
import signal
from pathlib import Path
from typing import Any

import numba
import pytest
import torch

from errands import presets
from errands.cli import main
from errands.commands import train
from errands.commands.train import choose_device
from errands.files import lock
from errands.learning.checkpoint import PREVIOUS, RESUME
from errands.stages import journal, run
from errands.stages.skill import SkillTrainer
from twins.training import ITERATION, LENGTH, tiny

TRAIN = ["train", "skill", "--preset", "debug"]


@pytest.fixture(autouse=True)
def small_and_quick(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Every run is a tiny one; returns what was asked for."""
    asked: list[Any] = []

    def preset(*arguments: Any, **options: Any) -> Any:
        asked.append((*arguments, options))
        changes = {name: options[name] for name in ("analogy", "seed", "teacher")}
        return tiny(arguments[0], arguments[1], **changes)

    monkeypatch.setattr(presets, "skill_training", preset)
    monkeypatch.setattr(journal, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    return asked


@pytest.fixture
def threads(every_thread: None) -> Any:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line of standard error that a wrong command line gets."""
    assert main([*TRAIN, *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("errands: ")
    assert said.err.count("\n") == 1
    return said.err


def test_help_says_what_every_option_is_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "skill", "--help"]) == 0
    said = capsys.readouterr().out
    for option in ("--world", "--scenario", "--no-analogy", "--teacher", "--preset", "--seed"):
        assert option in said
    for option in ("--out", "--device", "--threads", "inter-extrapolation", "TensorBoard"):
        assert option in said


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["--seed", "-1"], "--seed -1 is out of range; give a number from 0 to 255"),
        (["--seed", "256"], "from 0 to 255"),
        (["--seed", "few"], "--seed"),
        (["--threads", "-2"], "--threads -2"),
        (["--device", "toaster"], "--device toaster cannot be used here"),
        (["--device", "cuda:99"], "try cpu"),
        (["--scenario", "dependent"], "independent"),
        (["--world", "sphere"], "grid"),
        (["--preset", "slow"], "fast"),
        (["--teacher", "nobody"], "planner"),
        (["--in-lists"], "--in-lists needs --world block"),
        (["--world", "block", "--in-lists", "--teacher", "rl"], "--teacher planner or none"),
        (["--world", "block", "--teacher", "rl", "--preset", "paper"], "use --preset fast"),
        (["--start", "grid/skill-independent", "--teacher", "rl"], "leave out --teacher rl"),
    ],
)
def test_wrong_input_gets_one_line(
    arguments: list[str], hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    assert hint in complaint(capsys, "--out", str(folder), *arguments)
    assert not folder.exists()


def test_a_folder_must_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--out" in complaint(capsys)


def test_a_file_is_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    assert f"--out {file} is a file; name a folder" in complaint(capsys, "--out", str(file))
    assert str(file) in complaint(capsys, "--out", str(file / "run"))
    assert file.read_text() == "mine"


@pytest.mark.parametrize("option", ["--start", "--eyes"])
def test_parts_that_are_not_there_leave_no_folder(
    option: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()  # the preset as it is
    folder = tmp_path / "run"
    said = complaint(capsys, "--world", "block", option, "nosuch", "--out", str(folder))
    assert f"{option} cannot be used: " in said
    assert "'nosuch'" in said
    assert not folder.exists()


def test_trains_tells_and_leaves_an_agent(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    small_and_quick: list[tuple[Any, ...]],
    threads: None,
) -> None:
    folder = tmp_path / "runs" / "mine"
    options = ["--scenario", "object-dependent", "--no-analogy", "--seed", "3", "--threads", "1"]
    assert main([*TRAIN, *options, "--out", str(folder)]) == 0
    asked = {"analogy": False, "teacher": "planner", "in_lists": False, "seed": 3}
    asked |= {"eyes": "", "start": ""}
    assert small_and_quick == [("grid", "object-dependent", "debug", asked)]
    *looks, last = capsys.readouterr().err.splitlines()
    assert [line.split()[0] for line in looks] == ["distill", "finetune", "finetune"]
    assert all("  validation " in line for line in looks)
    assert last.startswith(f"done: {LENGTH * ITERATION:,} frames")
    assert "best validation success" in last
    agent = json.loads((folder / "agent.json").read_text())
    assert agent["training"]["seed"] == 3
    assert agent["training"]["analogy"] is False


def test_teachers_of_the_block_world_come_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train, "LINES_APART", 0.0)
    assert main([*TRAIN, "--world", "block", "--teacher", "rl", "--out", str(tmp_path)]) == 0
    *looks, last = capsys.readouterr().err.splitlines()
    stages = [line.split()[0] for line in looks]
    assert stages == ["teachers"] * 2 + ["distill"] * 3 + ["finetune"] * 3
    assert last.startswith(f"done: {2 * 12 * 4 + LENGTH * ITERATION:,} frames")  # of 12 teachers
    assert json.loads((tmp_path / "agent.json").read_text())["training"]["teacher"] == "rl"


def test_threads_are_those_of_the_network_and_of_the_worlds(threads: None) -> None:
    """Of which Numba has no more than it started with."""
    most = numba.get_num_threads()
    for wanted in (most + 1, 1):
        choose_device("cpu", wanted)
        assert torch.get_num_threads() == wanted
        assert numba.get_num_threads() == min(wanted, most)


def test_ctrl_c_saves_and_the_same_command_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    iterate = run.iterate

    def interrupted(trainer: SkillTrainer) -> Any:
        if trainer.iteration == 2:
            raise KeyboardInterrupt
        return iterate(trainer)

    monkeypatch.setattr(run, "iterate", interrupted)
    command = [*TRAIN, "--out", str(tmp_path / "run")]
    assert main(command) == 130
    assert "run the same command again to resume" in " ".join(capsys.readouterr().err.split())
    monkeypatch.setattr(run, "iterate", iterate)
    assert main(command) == 0
    assert f"resuming from frame {2 * ITERATION:,}" in capsys.readouterr().err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signals_save_and_end_with_the_usual_code(
    number: int,
    code: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    iterate = run.iterate

    def signalled(trainer: SkillTrainer) -> Any:
        signal.raise_signal(number)
        return iterate(trainer)

    monkeypatch.setattr(run, "iterate", signalled)
    usual = signal.signal(number, signal.SIG_DFL)  # under nohup, SIGHUP would be ignored
    try:
        assert main([*TRAIN, "--out", str(tmp_path)]) == code
    finally:
        signal.signal(number, usual)
    assert "run the same command again to resume" in " ".join(capsys.readouterr().err.split())
    assert (tmp_path / RESUME).exists()


def test_a_folder_in_use_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with lock(tmp_path / journal.LOCK):
        assert "wait for it to end, or choose another" in complaint(capsys, "--out", str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == [journal.LOCK]


def test_another_run_in_the_same_folder_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*TRAIN, "--out", str(tmp_path)]) == 0
    capsys.readouterr()
    said = complaint(capsys, "--out", str(tmp_path), "--seed", "1", "--no-analogy")
    assert f"'{tmp_path}' contains a run with another analogy, seed; choose another --out" in said


def test_damaged_checkpoints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One is told of and passed over; with two the run is refused. Brackets are no markup."""
    folder = tmp_path / "[bold]run"
    command = [*TRAIN, "--out", str(folder)]
    assert main(command) == 0
    capsys.readouterr()
    (folder / RESUME).write_bytes(b"")
    assert main(command) == 0
    lines = capsys.readouterr().err.splitlines()
    (told,) = (line for line in lines if "is damaged" in line)
    assert str(folder / RESUME) in told
    assert told.endswith("resuming from the previous checkpoint")
    for name in (RESUME, PREVIOUS):
        (folder / name).write_bytes(b"")
    said = complaint(capsys, "--out", str(folder))
    assert str(folder / PREVIOUS) in said
    assert "start again" in said
