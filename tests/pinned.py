"""Which installed packages are not the ones that were tested, after `make setup`."""

from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

CONSTRAINTS = Path(__file__).parent.parent / "constraints.txt"


def pins(text: str) -> Iterator[tuple[str, str]]:
    """Names and versions in a file of constraints."""
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, _, version = line.partition("==")
            yield name, version


def different(wanted: Iterable[tuple[str, str]]) -> list[str]:
    """What is installed in another version; what is not installed does not matter."""
    found = []
    for name, version in wanted:
        try:
            installed = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
        if installed.partition("+")[0] != version:  # torch names its build after a plus
            found.append(f"{name} {installed} instead of {version}")
    return found


if __name__ == "__main__":
    others = different(pins(CONSTRAINTS.read_text(encoding="utf-8")))
    if others:
        print(f"setup: not as tested: {', '.join(others)}")
    else:
        print("setup: every package has the version that was tested")
