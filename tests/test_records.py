"""Files of strangers, and damaged ones: refused in one line, whatever is wrong with them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from errands.agents.files import AGENT, WEIGHTS
from errands.agents.load import load
from errands.evaluation import list_tables, tables, tidy
from errands.evaluation.claims import Evidence, verdict_table
from errands.evaluation.learning_figures import _validations
from errands.files import DamagedFile
from errands.learning import checkpoint
from errands.records import Maybe, check_shape, one_line, parse_json, read_json
from errands.stages.journal import CONFIG, LOG, DifferentRun, _forget_lines_after, claim
from errands.sweep import work
from errands.sweep.plan import SweepRun
from twins.mutations import damaged_bytes, damaged_json
from twins.training import tiny
from twins.untrained import save_untrained, save_untrained_skill

RESULTS = Path(__file__).parent.parent / "results"
SHAPE = {"name": str, "sizes": [int], "rate": float, "sort": ("a", "b"), "on": Maybe(bool)}
RIGHT = {"name": "x", "sizes": [1, 2], "rate": 1, "sort": "a", "more": {}}


def test_what_fits_is_left_alone() -> None:
    for value in (RIGHT, RIGHT | {"on": None}, RIGHT | {"on": True, "rate": 0.5, "sizes": []}):
        check_shape(value, SHAPE)
        assert parse_json(json.dumps(value), SHAPE) == value


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"name": 3}, "name is 3, not a short text"),
        ({"name": "x" * 1000}, "name is 'xxxx"),
        ({"name": "a\nb"}, "not a short text"),
        ({"sizes": 3}, "sizes is 3, not a list"),
        ({"sizes": [1, 2.5]}, "sizes is 2.5, not a whole number"),
        ({"sizes": [True]}, "sizes is True"),
        ({"rate": None}, "rate is None, not a number"),
        ({"rate": float("nan")}, "rate is nan"),
        ({"rate": 10**30}, "rate is 1000"),
        ({"sort": "c"}, "sort is 'c', not one of a, b"),
        ({"sort": []}, "not one of"),
        ({"on": 1}, "on is 1, not true or false"),
    ],
)
def test_what_does_not_fit_is_named(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as refused:
        check_shape(RIGHT | changes, SHAPE)
    assert len(str(refused.value)) < 120


def test_what_is_missing_is_named_with_its_place() -> None:
    with pytest.raises(ValueError, match=r"^outer\.name is missing$"):
        check_shape({"outer": {}}, {"outer": {"name": str}})
    with pytest.raises(ValueError, match=r"^it is 3, not a table$"):
        check_shape(3, SHAPE)


def test_deep_nesting_and_huge_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_json("[" * 100_000)
    (tmp_path / "file").write_text('"' + 100 * "x" + '"')
    assert len(read_json(tmp_path / "file")) == 100
    monkeypatch.setattr("errands.records.LARGEST", 50)
    with pytest.raises(DamagedFile, match="larger"):
        read_json(tmp_path / "file")


def test_messages_have_one_line_and_no_escapes() -> None:
    assert one_line("a\n\tb \x1b[31mc") == "a b [31mc"


# Mutations: a few in every run, a thousand of each kind in the whole one.

COUNTS = [pytest.param(60, id="60"), pytest.param(1000, id="1000", marks=pytest.mark.slow)]
Read = Callable[[], object]


def survivors(
    path: Path, damage: Callable[[np.random.Generator], bytes], read: Read, count: int
) -> int:
    """How many damaged versions are read without complaint; every complaint has one line."""
    read_anyway = 0
    for seed in range(count):
        path.write_bytes(damage(np.random.default_rng(seed)))
        said = ""
        try:
            read()
            read_anyway += 1
        except (DamagedFile, DifferentRun, FileNotFoundError) as refusal:
            said = str(refusal)
        except BaseException:
            print(f"mutation {seed}: {path.read_bytes()[:500]!r}")
            raise
        assert said.isprintable(), seed  # which a line break is not
        assert len(said) < 1500, seed
    return read_anyway


@pytest.mark.parametrize("count", COUNTS)
def test_damaged_weights_are_never_loaded(count: int, tmp_path: Path) -> None:
    save_untrained_skill(tmp_path)
    path = tmp_path / WEIGHTS
    whole = path.read_bytes()
    assert survivors(path, lambda r: damaged_bytes(whole, r), lambda: load(tmp_path), count) == 0


@pytest.mark.parametrize("count", COUNTS)
def test_a_damaged_checkpoint_is_never_resumed_from(count: int, tmp_path: Path) -> None:
    import torch

    tensors = {"a": torch.arange(12.0).view(3, 4), "b": torch.arange(6, dtype=torch.uint8)}
    checkpoint.save_resume(tmp_path, tensors, {"iteration": 3, "curriculum": {"x": [1, 2]}})
    path = tmp_path / checkpoint.RESUME
    whole = path.read_bytes()

    def read() -> object:
        return checkpoint.load_resume(tmp_path)

    assert survivors(path, lambda r: damaged_bytes(whole, r), read, count) == 0


@pytest.mark.parametrize("save", [save_untrained, save_untrained_skill])
@pytest.mark.parametrize("count", COUNTS)
def test_an_odd_description_of_an_agent(
    count: int, save: Callable[[Path], None], tmp_path: Path
) -> None:
    save(tmp_path)
    path = tmp_path / AGENT
    whole = json.loads(path.read_text())

    def read() -> object:
        return load(tmp_path).name  # which says what it learned

    survivors(path, lambda r: damaged_json(whole, r).encode(), read, count)


@pytest.mark.parametrize("count", COUNTS)
def test_an_odd_configuration_of_a_run(count: int, tmp_path: Path) -> None:
    claim(tmp_path, tiny())
    path = tmp_path / CONFIG
    whole = json.loads(path.read_text())

    def read() -> None:
        claim(tmp_path, tiny())

    survivors(path, lambda r: damaged_json(whole, r).encode(), read, count)


@pytest.mark.parametrize("count", COUNTS)
def test_an_odd_log(count: int, tmp_path: Path) -> None:
    """The run goes on, the sweep's table shows it, and the curves name the damaged line."""
    path = tmp_path / work.RUNS / "x" / LOG
    path.parent.mkdir(parents=True)
    line = {"stage": "a", "frames": 5, "total_frames": 9, "seconds": 1.0}
    line |= {"validation": {"success": 0.5}}

    def damage(random: np.random.Generator) -> bytes:
        return "\n".join([json.dumps(line), damaged_json(line, random)]).encode()

    def read() -> None:
        work.progress(tmp_path, SweepRun("x", "skill", {}))
        _validations(path, "skills")

    def read_and_forget() -> None:
        try:
            read()
        finally:
            _forget_lines_after(path, 7)
            assert json.dumps(line) in path.read_text()

    survivors(path, damage, read_and_forget, count)


@pytest.mark.parametrize("folder", ["skills", "instructions", "planners"])
@pytest.mark.parametrize("count", COUNTS)
def test_odd_results(count: int, folder: str, tmp_path: Path) -> None:
    whole = json.loads(max((RESULTS / folder).glob("*.json"), key=lambda p: p.name).read_text())

    def read() -> None:
        records = tables.read_records(tmp_path)
        if folder == "skills":
            tables.skill_table(records)
            verdict_table(Evidence([], records))
        else:
            list_tables.lists_table(records)
            list_tables.ablation_table(records)
            list_tables.sizes_table(records)
            list_tables.caught_table(records)
            verdict_table(Evidence(records, []))
        if folder == "planners":
            tables.planner_table(records)
        tidy.tidy_rows(records)

    path = tmp_path / "result.json"
    survivors(path, lambda r: damaged_json(whole, r).encode(), read, count)
