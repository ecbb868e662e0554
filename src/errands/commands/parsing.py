"""A command line read into a command, with errors in one line."""

import contextlib
import io
import re
from typing import TypeVar

import tyro

from errands.commands.choices import REGISTRY
from errands.commands.problem import Problem

BAD_USAGE = 2  # exit code of the parser
C = TypeVar("C")


def parse(command: type[C], program: str, arguments: list[str]) -> C:
    """The command with its options filled in; errors in them become a message of one line."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return tyro.cli(
                command,
                prog=program,
                args=arguments,
                config=(tyro.conf.FlagCreatePairsOff,),
                registry=REGISTRY,
            )
    except SystemExit as exit:
        if exit.code == BAD_USAGE:
            raise Problem(f"{_one_line(said.getvalue())} (see {program} --help)") from None
        raise


def _one_line(box: str) -> str:
    """What the parser says in a box of several lines, without its frame and its repeated help."""
    title, *rows = re.sub(r"\x1b\[[0-9;]*m", "", box).splitlines()
    parts = [""]
    for row in (row.strip(" │╭╮╰╯|+") for row in rows):
        if row.strip("─-"):
            parts[-1] = f"{parts[-1]} {row}".strip()
        elif parts[-1]:  # a rule between two parts
            parts.append("")
    message = parts[0] or title.strip(" ─╭╮|+-")
    for part in parts[1:]:
        if part.startswith("Perhaps you meant"):
            message += f"; did you mean {part.split(':')[1].split()[0]}?"
    return message[:1].lower() + message[1:].rstrip(".")
