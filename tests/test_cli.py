"""The command line as a whole: help, wrong input in one line, exit codes, interruption."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import errands
from errands import cli
from errands.agents.registry import AGENTS
from errands.cli import main
from errands.commands import parsing
from twins.terminal import started

TELLS_WHEN_AT_WORK = """
import sys
from errands.cli import main
from errands.worlds.vector import Worlds

step = Worlds.step

def first_step(*arguments, **options):
    Worlds.step = step
    print("at work", flush=True)
    return step(*arguments, **options)

Worlds.step = first_step
sys.exit(main())
"""
COMMAND = [sys.executable, "-c", "import sys; from errands.cli import main; sys.exit(main())"]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=120)


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line of standard error that a wrong command line gets."""
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("errands: ")
    assert said.err.count("\n") == 1
    return said.err


def test_help_lists_every_command_and_loads_nothing_slow() -> None:
    script = """
import sys
from errands.cli import main
for arguments in (["--help"], ["run", "--help"], ["evaluate", "instructions", "--help"]):
    assert main(arguments) == 0
print(sorted({"numba", "torch", "errands.worlds.vector"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"
    assert all(name in done.stdout for name in cli.COMMANDS)


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_teaches_with_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*name.split(), "--help"]) == 0
    assert f"\nexamples\n  errands {name}" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["run", "evaluate instructions"])
def test_help_names_every_agent(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*name.split(), "--help"]) == 0
    listed = capsys.readouterr().out.split("Which agent acts: ")[1].split("state.")[0]
    assert set(AGENTS) <= set(re.findall(r"[\w-]+", listed))


def test_help_of_a_shared_word_lists_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "--help"]) == 0
    said = capsys.readouterr().out
    assert "evaluate instructions" in said
    assert "errands play" not in said


def test_without_a_command_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "commands" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"errands {errands.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["rnu"], "did you mean run"),
        (["evaluate"], "evaluate instructions"),
        (["evaluate", "instuctions"], "did you mean evaluate instructions"),
        (["--verbose"], "a command is missing"),
        (["run"], "no instruction found"),
        (["run", "visit pig", "--wrold", "grid"], "did you mean --world"),
        (["run", "visit pig", "--world", "gird"], "grid"),
        (["run", "visit pig", "--seed", "many"], "--seed"),
        (["run", "visit pig", "--seed"], "--seed"),
        (["run", "visit", "pig", "pick", "up", "cow"], "put a comma before it"),
    ],
)
def test_wrong_command_lines_get_one_line(
    arguments: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hint in complaint(capsys, *arguments)


@pytest.mark.parametrize(
    "box",
    [
        "╭─ Bad ───╮\n│ No such │\n│ value.  │\n│ ─────── │\n│ See --help │\n╰─────────╯\n",
        "\x1b[31m╭─\x1b[0m \x1b[1mBad\x1b[0m ─╮\n\x1b[31m│\x1b[0m No such value. │\n╰──╯\n",
        " Bad  \n ----- \n  No such  \n  value.  \n  ------\n  See --help\n  \n",
    ],
)
def test_boxes_of_the_parser_become_a_line(box: str) -> None:
    """With frames, with colours, and as it looks where there are neither."""
    assert parsing._one_line(box) == "no such value"


def test_wrong_word_is_named_in_one_line_without_traceback() -> None:
    done = run("run", "visit the pgi")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "errands: instruction 1, word 3: 'pgi' is not an object; did you mean pig?\n"
    )


@pytest.mark.slow
def test_interruption_is_quiet_and_leaves_no_file(tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    arguments = ["evaluate", "instructions", "--episodes", "9999999", "--json", str(result)]
    command = [sys.executable, "-c", TELLS_WHEN_AT_WORK, *arguments]
    process = started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "at work\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []


def test_reader_that_stops_early_causes_no_traceback() -> None:
    done = subprocess.run(
        ["bash", "-c", '"$@" | true', "bash", *COMMAND, "--help"], capture_output=True, text=True
    )
    assert "Traceback" not in done.stderr


def test_the_package_is_a_command_too() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "errands", "--version"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, f"errands {errands.__version__}\n"), done.stderr
