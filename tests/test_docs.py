"""The pages of the documentation are true: their code runs, their commands work, their links lead
somewhere, and their tables follow from the results."""

import importlib.util
import re
import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from errands import cli, presets
from errands.presets import meta_training, skill_training
from errands.stages.meta import MetaTrainer
from errands.stages.run import iterate
from errands.stages.skill import SkillTrainer
from errands.worlds.registration import environments
from errands.worlds.spec import BLOCK, GRID
from twins.training import tiny, tiny_meta

REPOSITORY = Path(__file__).parent.parent
DOCS = REPOSITORY / "docs"
PAGES = (
    *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md")),
    *sorted(DOCS.glob("*.md")),
)
EVERY_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
TUTORIAL = DOCS / "tutorial.md"  # is run as a whole, by test_tutorial.py
PAGES_WITH_EXAMPLES = pytest.mark.parametrize(
    "page", [page for page in PAGES if page != TUTORIAL], ids=lambda page: page.stem
)


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    text: str
    line: int  # where its text begins, counted from 1


def blocks(page: Path, *languages: str) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    fences = re.finditer(r"^```(\w*)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    found = [Block(m[1], m[2], text[: m.start(2)].count("\n") + 1) for m in fences]
    return [block for block in found if block.language in languages]


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    text = page.read_text(encoding="utf-8")
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def module_at(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def parse(words: list[str]) -> None:
    """Read a command line as `errands` would, without doing what it says."""
    if words == ["--version"] or words[-1:] == ["--help"]:
        assert cli.main(words) == 0
        return
    name = next((" ".join(words[:n]) for n in (1, 2) if " ".join(words[:n]) in cli.COMMANDS), "")
    assert name, f"no such command: {' '.join(words)}"
    cli._parse(name, cli.COMMANDS[name], words[len(name.split()) :])


def test_every_page_is_tested() -> None:
    names = {page.stem for page in PAGES}
    assert names >= {"README", "worlds", "gymnasium", "cli", "training", "design", "benchmarks"}
    assert names >= {"agents", "notebook", "own-agent", "own-world", "results", "errata"}
    assert names >= {"tutorial", "gallery", "api"}


def in_place_of_debug(shrunk: Any, world: str, what: str, preset: str, **options: Any) -> Any:
    """A smaller training than the preset `debug`, the only one that a page may run."""
    assert preset == "debug"
    return shrunk(world, what, **options)


@PAGES_WITH_EXAMPLES
def test_python_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a page share their names, from top to bottom. Training takes a few iterations."""
    monkeypatch.chdir(tmp_path)
    for name, shrunk in (("skill_training", tiny), ("meta_training", tiny_meta)):
        monkeypatch.setattr(presets, name, partial(in_place_of_debug, shrunk))
    names: dict[str, object] = {"__name__": page.stem}
    for block in blocks(page, "python"):
        # Leading lines make a traceback point into the page.
        exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), names)


@EVERY_PAGE
def test_commands_are_understood(page: Path) -> None:
    for block in blocks(page, "sh", "console"):
        for line in block.text.splitlines():
            said = re.search(r"(?:^|^\$ |--no-python )errands (.*)$", line)
            if said:
                parse(shlex.split(said[1], comments=True))


@EVERY_PAGE
def test_commands_in_sentences_exist(page: Path) -> None:
    for said in re.findall(r"`errands ([^`]+)`", prose(page)):
        words = said.split()
        if words[0] in ("COMMAND", "--help", "--version"):
            continue
        groups = {name.split()[0] for name in cli.COMMANDS}
        name = " ".join(word for word in words[:2] if re.fullmatch("[a-z]+", word))
        assert name in cli.COMMANDS or name in groups, said


@PAGES_WITH_EXAMPLES
def test_shown_output_is_what_is_printed(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("errands.commands.progress.PAUSE", 3600)  # on a slow machine, too
    from errands.commands.screen import COMPILING

    for block in blocks(page, "console"):
        command, *shown = block.text.splitlines()
        cli.main(shlex.split(command.removeprefix("$ errands ")))
        said = capsys.readouterr()
        lines = [line.rstrip() for line in (said.out + said.err).splitlines()]
        assert [line for line in lines if line != COMPILING] == shown


def headings(page: Path) -> set[str]:
    """What links can lead to within a page, spelled as GitHub does."""
    titles = re.findall(r"^#+ (.+)$", prose(page), flags=re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", title).strip().lower() for title in titles)
    return {title.replace(" ", "-") for title in plain}


@EVERY_PAGE
def test_links_lead_somewhere(page: Path) -> None:
    text = prose(page)
    targets = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'<img src="([^"]+)"', text)
    for target in targets:
        if re.match(r"https?://", target):
            continue
        path, _, anchor = target.partition("#")
        destination = (page.parent / path).resolve() if path else page
        assert destination.exists(), f"{page.name}: {target}"
        if destination.suffix == ".py" and anchor:  # a line, which the test below looks up
            assert f"]({target})" in "".join(match[0] for match in LINE_LINK.finditer(text)), target
        else:
            assert not anchor or anchor in headings(destination), f"{page.name}: {target}"


LINE_LINK = re.compile(r"\[`(?P<code>[^`]+)`\]\((?P<file>[\w./]+\.py)#L(?P<line>\d+)\)")


def linked_line(page: Path, link: re.Match[str]) -> str:
    """The line of source that a link such as [`c = ...`](../src/file.py#L12) leads to."""
    lines = (page.parent / link["file"]).read_text(encoding="utf-8").splitlines()
    return lines[int(link["line"]) - 1]


@EVERY_PAGE
def test_linked_lines_contain_the_code_that_is_quoted(page: Path) -> None:
    """If this fails, run `python docs/tables.py`, which finds the lines again."""
    for link in LINE_LINK.finditer(prose(page)):
        assert link["code"] in linked_line(page, link), f"{page.name}: {link[0]}"


# What a line that defines a symbol looks like, whatever the table quotes of it.
SYMBOLS = {
    "phi(g)": r"class SubtaskEmbedding\b",
    "beta": r"\bbeta = ",
    "L_sim": r'"sim": ',
    "L_dis": r'"dis": ',
    "L_diff": r'"diff": ',
    "s_t": r"\bs = ",
    "h_t": r"\bh, memory = ",
    "c_t": r"\bc = ",
    "l_t": r"\bl = ",
    "p_t": r"\bp = ",
    "r_t": r"\br_tilde = ",
    "M": r"\bM = ",
    "g_t": r"\bg, .* = ",
    "eta": r"\beta \* ",
    "baseline": r"\bvalue = ",
}


def misplaced_symbols(page: Path, text: str) -> set[str]:
    """The symbols of the paper whose row in a table is missing, or leads to no definition."""
    rows = dict(re.findall(r"^\| ([^|]+) \|[^|]*\| (\[`.*\)) \|$", text, flags=re.MULTILINE))
    wrong = set()
    for symbol, definition in SYMBOLS.items():
        link = LINE_LINK.fullmatch(rows.get(symbol, ""))
        if link is None or not re.search(definition, linked_line(page, link)):
            wrong.add(symbol)
    return wrong


def test_symbols_of_the_paper_are_defined_where_the_table_says() -> None:
    page = DOCS / "design.md"
    text = page.read_text(encoding="utf-8")
    assert misplaced_symbols(page, text) == set()
    moved = re.sub(r"#L(\d+)", lambda match: f"#L{int(match[1]) + 1}", text)
    assert misplaced_symbols(page, moved) == set(SYMBOLS)
    assert misplaced_symbols(page, text.replace("| c_t |", "| c |")) == {"c_t"}


def test_lines_are_found_again_when_code_moves() -> None:
    located = module_at(DOCS / "tables.py").located
    link = "[`def located(`](../docs/tables.py#L{})"
    found = re.search(r"#L(\d+)", located(link.format(1)))
    assert found is not None
    assert located(link.format(1)) == located(link.format(found[1])) == link.format(found[1])
    with pytest.raises(ValueError, match="stands on 0 lines"):
        located("[`no such code`](../docs/tables.py#L1)")


@EVERY_PAGE
def test_named_files_exist(page: Path) -> None:
    for path in re.findall(r"`((?:src|docs|tests)/[\w./-]+)`", prose(page)):
        assert (REPOSITORY / path).exists(), f"{page.name}: {path}"
    for path in re.findall(r"^python ((?:src|docs|tests)/\S+)", page.read_text(), re.MULTILINE):
        assert (REPOSITORY / path).exists(), f"{page.name}: {path}"


def test_file_tree_is_there() -> None:
    texts = [block.text for block in blocks(DOCS / "design.md", "text")]
    (tree,) = (text for text in texts if "src/errands/\n" in text)
    inside = False
    for line in tree.splitlines():
        entry = re.match(r"( {2})?(\S+?)(?:/)?(?: {2,}|$)", line)
        if entry is None:  # a description goes on
            continue
        inside = bool(entry[1])
        folder = REPOSITORY / "src" / "errands" if inside else REPOSITORY
        assert (folder / entry[2]).exists(), line


@EVERY_PAGE
def test_make_targets_exist(page: Path) -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    for block in blocks(page, "sh"):
        for target in re.findall(r"^make (\w+)", block.text, flags=re.MULTILINE):
            assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


@EVERY_PAGE
def test_tables_follow_from_the_results(page: Path) -> None:
    """If this fails, run `python docs/tables.py`."""
    text = page.read_text(encoding="utf-8")
    assert module_at(DOCS / "tables.py").refreshed(text) == text


def test_training_stays_a_how_to() -> None:
    """What was tried, and why, is in the notebook."""
    assert len((DOCS / "training.md").read_text().splitlines()) <= 200


def test_every_command_has_a_section() -> None:
    titles = headings(DOCS / "cli.md")
    assert {name.replace(" ", "-") for name in cli.COMMANDS} <= titles


def test_every_environment_is_named() -> None:
    text = (DOCS / "gymnasium.md").read_text()
    assert all(f"`{name}`" in text for name in environments())


@pytest.mark.slow
def test_every_curve_is_explained() -> None:
    text = (DOCS / "training.md").read_text()
    told: set[str] = set()
    for scenario, teacher in (("inter-extrapolation", "planner"), ("independent", "none")):
        training = skill_training("grid", scenario, "debug", teacher=teacher)
        trainer = SkillTrainer(replace(training, validation_episodes=2))
        report = iterate(trainer)
        told |= {f"losses/{name}" for name in report.losses}
        told |= {f"rollout/{name}" for name in report.rollout}
    told |= {f"validation/{name}" for name in trainer.validate(trainer.phase())}
    meta = MetaTrainer(replace(meta_training("grid", "dynamic", "debug"), validation_episodes=2))
    report = iterate(meta)
    told |= {f"losses/{name}" for name in report.losses}
    told |= {f"rollout/{name}" for name in report.rollout}
    told |= {f"validation/{name}" for name in meta.validate(meta.phase())}
    assert {name for name in told if f"`{name}`" not in text} == set()


def test_fields_in_the_notebook_exist() -> None:
    text = (DOCS / "notebook.md").read_text()
    training = skill_training("grid", "independent")
    named = re.findall(r"^- \*\*.*?\((`[^)]*`)\)", text, flags=re.MULTILINE)
    assert len(named) >= 5
    for name in re.findall(r"`([\w.]+)`", " ".join(named)):
        owner = training.network if name.startswith("network.") else training
        assert hasattr(owner, name.removeprefix("network.")), name


def test_numbers_of_the_worlds_are_those_of_the_code() -> None:
    text = (DOCS / "worlds.md").read_text()
    assert GRID.event is not None
    assert BLOCK.event is not None
    rows = (
        f"while there is none | {GRID.event.probability} [K] | {BLOCK.event.probability} [C]",
        f"leaves after | {GRID.event.lifetime} steps [C] | {BLOCK.event.lifetime} steps [C]",
        f"with a chance of {GRID.walks['enemy']} a step [K]",
        f"within {GRID.event.close} steps",
        f'"close"\nmeans {BLOCK.event.close} steps',
        f"| a subtask | {GRID.limits.skill} [O] | {BLOCK.limits.skill} [C] |",
        f"up to 4 instructions | {GRID.limits.train} [C] | {BLOCK.limits.train} [C] |",
        f"up to 7 | {GRID.limits.validation} [C] | {BLOCK.limits.validation} [O] |",
        f"up to 20 | {GRID.limits.test} [C] | {BLOCK.limits.test} [C] |",
        f'without "all" | {GRID.limits.test_without_all} [C]',
        f"| each step | {GRID.rewards.step} | [C] |",
        f"| a step that ends on water | {GRID.rewards.water}, in place",
        f"| transforming the event's object | +{GRID.rewards.event}, in place",
    )
    assert [row for row in rows if row not in text] == []
    shares = [
        f"{setting.objects[0]:g} to {setting.objects[1]:g} "
        for spec in (GRID, BLOCK)
        for setting in (spec.skill, spec.lists, spec.forgiving)
    ]
    (row,) = re.findall(r"^\| objects, share of open cells \|(.*)\|$", text, flags=re.MULTILINE)
    assert [cell.strip().split("[")[0] for cell in row.split("|")] == shares


def test_the_world_to_train_on_is_the_same_garden() -> None:
    names: dict[str, object] = {}
    shown = next(b.text for b in blocks(DOCS / "own-world.md", "python") if "GARDEN = " in b.text)
    exec(shown, names)
    assert names["GARDEN"] == module_at(DOCS / "examples" / "garden.py").GARDEN


def test_own_world_is_the_example_that_ships(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example = DOCS / "examples" / "garden.py"
    shown = next(b.text for b in blocks(DOCS / "worlds.md", "python") if "GARDEN = " in b.text)
    declaration = shown[shown.index("BEDS = ") :]
    assert declaration in example.read_text()
    module_at(example).main(tmp_path)
    assert capsys.readouterr().out.startswith("done in ")
    assert (tmp_path / "garden-before.png").exists()
