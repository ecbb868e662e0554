"""What an installed copy of the package promises: its version, its types and its tested pins."""

import re
import subprocess
import sys
import tomllib
from importlib import metadata, resources
from pathlib import Path

import errands
from pinned import CONSTRAINTS, different, pins

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


def test_every_range_of_versions_has_both_ends() -> None:
    """A next major version may break what depends on it."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    for requirement in (*project["dependencies"], *(item for extra in extras for item in extra)):
        assert re.fullmatch(r"[\w.-]+>=[\d.]+,<\d+", requirement), requirement


def test_the_tested_versions_are_within_the_ranges() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    tested = {
        name.lower().replace("_", "-"): version for name, version in pins(CONSTRAINTS.read_text())
    }
    extras = project["optional-dependencies"].values()
    for requirement in (*project["dependencies"], *(item for extra in extras for item in extra)):
        name, _, bounds = requirement.partition(">=")
        if name in tested:  # the libraries that speeds are compared with are not pinned
            least, most = bounds.split(",<")
            assert numbers(least) <= numbers(tested[name]) < numbers(most), requirement


def test_a_package_index_shows_no_broken_link_and_no_broken_picture() -> None:
    render = [sys.executable, "-m", "hatch_fancy_pypi_readme"]
    done = subprocess.run(render, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    shown, source = done.stdout, (REPOSITORY / "README.md").read_text()
    targets = re.findall(r"\]\(([^)]*)\)|src=\"([^\"]*)\"", shown)
    assert [target for pair in targets for target in pair if target and "://" not in target] == []
    assert "<!--" not in shown
    headings = [line for line in source.splitlines() if line.startswith("#")]
    assert [line for line in shown.splitlines() if line.startswith("#")] == headings
    assert "page on which you type any list" in " ".join(shown.split())


def test_the_paper_is_among_the_projects_links() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert project["urls"]["Paper"].startswith("https://")


def numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def test_other_versions_than_the_tested_ones_are_named() -> None:
    installed = metadata.version("numpy")
    assert different([("numpy", installed), ("no-such-package", "1.0")]) == []
    assert different([("numpy", "0.1")]) == [f"numpy {installed} instead of 0.1"]
