"""The `errands` command: finds the requested subcommand and loads only that one."""

import importlib
import io
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import errands
from errands.commands.problem import Problem
from errands.files import DamagedFile
from errands.interrupts import exit_code
from errands.language.vocabulary import suggest

BAD_INPUT = 2  # exit code, as argparse uses it
OF_AGENTS = {"matplotlib", "safetensors", "tensorboard", "torch"}  # worlds and planners need none


@dataclass(frozen=True)
class Entry:
    """Where a command is defined, and its line in the list of commands."""

    module: str
    name: str
    summary: str


COMMANDS = {
    "run": Entry("run", "Run", "watch an agent execute the instructions you type"),
    "play": Entry("play", "PlayWithKeys", "act yourself, with the keyboard"),
    "watch": Entry("watch", "Watch", "watch an agent, and its decisions, in the browser"),
    "words": Entry("words", "Words", "list the words that can be used in instructions"),
    "agents": Entry("agents", "Agents", "list the agents, and the worlds they can act in"),
    "train eyes": Entry("train", "TrainEyes", "train the eyes of the block world's agents"),
    "train skill": Entry("train", "TrainSkill", "train a skill for all subtasks of a scenario"),
    "train meta": Entry("train", "TrainMeta", "train a meta controller that executes lists"),
    "evaluate skill": Entry(
        "evaluate_skill", "EvaluateSkill", "evaluate a skill on trained and unseen subtasks"
    ),
    "evaluate instructions": Entry(
        "evaluate", "EvaluateInstructions", "evaluate an agent on lists of instructions"
    ),
    "sweep": Entry("sweep", "Sweep", "train, evaluate and collect many runs"),
    "report": Entry("report", "Report", "write tables and figures from committed results"),
    "bench worlds": Entry("bench", "BenchWorlds", "measure the speed of the worlds"),
    "bench training": Entry(
        "bench_training", "BenchTraining", "measure the speed of training, and of its network alone"
    ),
    "bench watch": Entry(
        "bench_watch", "BenchWatch", "measure the frame rate of many web pages at once"
    ),
    "bench faults": Entry("bench_faults", "BenchFaults", "kill training at random, and resume it"),
    "bench soak": Entry(
        "bench_soak", "BenchSoak", "use the web page for long, and watch its memory"
    ),
}

EXAMPLES = (
    "errands run visit the cow, pick up all eggs",
    'errands run "pick up the pig, visit the box, transform all cows"',
    "errands words --world block",
    "errands play --world block",
    "errands watch",
    "errands evaluate instructions --agent shortest-path --length 4 --episodes 1000",
    "errands train skill --scenario independent --out runs/independent",
    "errands train meta --agent dynamic --out runs/dynamic",
    "errands sweep --agent dynamic,short --seeds 0..4 --out runs/lists",
    "errands bench worlds --peers",
    "errands run --help",
    "errands --version",
)


class Command(Protocol):
    def execute(self) -> int:
        """Do it; returns the exit code."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a character shows "?"
            stream.reconfigure(errors="replace")
    try:
        return _dispatch(arguments)
    except (Problem, DamagedFile) as problem:
        print(f"errands: {problem}", file=sys.stderr)
        return BAD_INPUT
    except SystemExit as exit:  # how the parser ends after --help
        return int(exit.code or 0)
    except KeyboardInterrupt as interrupt:
        print(file=sys.stderr)
        return exit_code(interrupt)
    except BrokenPipeError:  # the reader of our output has stopped, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.split(".")[0] not in OF_AGENTS:
            raise
        print(f"errands: this needs {missing.name}: pip install 'errands[agents]'", file=sys.stderr)
        return BAD_INPUT
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"errands: {where}{error.strerror or error}", file=sys.stderr)
        return BAD_INPUT


def _dispatch(arguments: list[str]) -> int:
    if arguments[:1] == ["--version"]:
        print(f"errands {errands.__version__}")
        return 0
    words = [word for word in arguments if not word.startswith("-")]
    for count in (1, 2):
        name = " ".join(arguments[:count])
        if name in COMMANDS:
            return _parse(name, COMMANDS[name], arguments[count:]).execute()
    group = words[0] if words and any(key.startswith(f"{words[0]} ") for key in COMMANDS) else ""
    asks_help = not arguments or arguments[-1] in ("-h", "--help")
    if asks_help and len(words) == (1 if group else 0):
        print(_list_of_commands(group))
        return 0
    raise Problem(_wrong_command(words, group))


def _list_of_commands(group: str) -> str:
    """The help of `errands` itself, or of a word that several commands share."""
    shown = {name: entry for name, entry in COMMANDS.items() if name.startswith(group)}
    width = max(len(name) for name in shown)
    usage = f"usage: errands {f'{group} WHAT' if group else 'COMMAND'} [--help] [OPTIONS]"
    lines = [usage, "", f"{errands.__doc__}", "", "commands"]
    lines += [f"  {name:{width}}  {entry.summary}" for name, entry in shown.items()]
    lines += ["", "examples"]
    lines += [f"  {example}" for example in EXAMPLES if example.startswith(f"errands {group}")]
    return "\n".join(lines)


def _wrong_command(words: list[str], group: str) -> str:
    choices = [name for name in COMMANDS if name.startswith(group)]
    if group and len(words) == 1:
        return f"'{group}' needs one more word; {suggest('', choices)}"
    if not words:
        return f"a command is missing; {suggest('', choices)}"
    said = " ".join(words[:2]) if group else words[0]
    return f"'{said}' is not a command; {suggest(said, choices)}"


def _parse(name: str, entry: Entry, arguments: list[str]) -> Command:
    """The command with its options filled in; errors in them become a message of one line."""
    from errands.commands.parsing import parse

    module = importlib.import_module(f"errands.commands.{entry.module}")
    command: Command = parse(getattr(module, entry.name), f"errands {name}", arguments)
    return command


if __name__ == "__main__":
    sys.exit(main())
