"""What an installed copy of the package promises: its version, its types and its tested pins."""

import re
from importlib import metadata, resources
from pathlib import Path

import errands

REPOSITORY = Path(__file__).parent.parent


def test_version_is_the_same_in_code_metadata_and_citation() -> None:
    citation = (REPOSITORY / "CITATION.cff").read_text()
    assert metadata.version("errands") == errands.__version__
    assert f"\nversion: {errands.__version__}\n" in citation


def test_types_are_shipped() -> None:
    assert resources.files("errands").joinpath("py.typed").is_file()


def test_constraints_pin_every_runtime_requirement_exactly() -> None:
    lines = (REPOSITORY / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in pins)
    pinned = {pin.split("==")[0].lower() for pin in pins}
    required = {
        re.split(r"[<>=;~! ]", requirement)[0]
        for requirement in metadata.requires("errands") or []
        if "extra ==" not in requirement
    }
    assert required <= pinned
