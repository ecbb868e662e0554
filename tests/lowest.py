"""Prints the lowest versions that pyproject.toml allows of what the worlds and their tests need."""

import tomllib
from pathlib import Path

TOOLS = ("pytest", "hypothesis")  # of the extra "dev"


def lowest_versions() -> list[str]:
    """Such as "gymnasium==1.1", for pip."""
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())[
        "project"
    ]
    extras = project["optional-dependencies"]
    tools = [name for name in extras["dev"] if name.split(">=")[0] in TOOLS]
    wanted = [*project["dependencies"], *extras["human"], *tools]
    return [requirement.split(",")[0].replace(">=", "==") for requirement in wanted]


if __name__ == "__main__":
    print(*lowest_versions())
