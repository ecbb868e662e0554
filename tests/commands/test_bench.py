"""`errands bench`: the records and the tables, measured for moments only."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numba
import pytest
import torch

from errands import presets
from errands.cli import main
from errands.commands import bench, bench_training, peers, timing
from errands.commands.timing import rates_in_turn, steps_per_second
from errands.worlds.registration import environments
from twins.training import ITERATION, tiny, tiny_meta


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "BATCHES", (2, 3))
    monkeypatch.setattr(bench, "BESIDE_PEERS", 3)


@pytest.mark.usefixtures("every_thread")
def test_both_worlds_are_measured_at_every_batch_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "speed.json"
    assert main(["bench", "worlds", "--seconds", "0.02", "--json", str(path)]) == 0
    record = json.loads(path.read_text())
    measured = [(speed["world"], speed["batch"]) for speed in record["worlds"]]
    assert measured == [("grid", 2), ("grid", 3), ("block", 2), ("block", 3)]
    for speed in record["worlds"]:
        assert speed["steps_per_second"] * speed["nanoseconds_per_step"] == pytest.approx(1e9, 0.01)
        assert speed["nanoseconds_on_one_core"] > 0
        assert speed["nanoseconds_one_a_call"] > 0
    assert numba.get_num_threads() == numba.config.NUMBA_NUM_THREADS  # one core only for a while
    assert record["peers"] == []
    assert [single["environment"] for single in record["singles"]] == list(environments())
    for single in record["singles"]:
        assert 0 < single["microseconds_per_reset"] < 1e6
        assert 0 < single["microseconds_per_step"] < 1e6
    said = capsys.readouterr().out
    assert "steps/s" in said
    assert "errands/BlockSkill-v0" in said


def test_missing_peers_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    absent = peers.Peer("Absent", peers.minigrid, ("no_such_world",), "grid")
    monkeypatch.setitem(peers.PEERS, "absent", absent)
    assert main(["bench", "worlds", "--peers"]) == 2
    said = capsys.readouterr().err
    assert "no_such_world" in said
    assert "pip install 'errands[peers]'" in said
    assert said.count("\n") == 1


def test_peers_are_set_beside_our_worlds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measured(name: str, seconds: float, cores: int) -> dict[str, object]:
        beside = peers.PEERS[name].beside
        return {"title": f"peer {name}", "beside": beside, "steps_per_second": 10.0}

    monkeypatch.setattr(peers, "check_installed", lambda: None)
    monkeypatch.setattr(peers, "measure_peer", measured)
    monkeypatch.setattr(peers, "SINGLE", {"gymnasium": "CartPole-v1"})
    assert main(["bench", "worlds", "--peers", "--seconds", "0.02"]) == 0
    said = capsys.readouterr().out
    assert all(f"peer {name}" in said for name in peers.PEERS)
    assert "CartPole-v1" in said


def test_a_peer_that_fails_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        peers.PEERS, "unknown", peers.Peer("Unknown", peers.minigrid, (), "grid", every_core=True)
    )
    with pytest.raises(peers.Problem, match="Unknown does not run: KeyError"):
        peers.measure_peer("unknown", 0.01, cores=2)


def test_the_clock_counts_steps() -> None:
    calls = 0

    def advance() -> int:
        nonlocal calls
        calls += 1
        return 1000

    assert steps_per_second(advance, 0.01) > 1000
    assert calls > 6


def test_what_is_compared_takes_turns() -> None:
    order: list[str] = []

    def named(name: str, steps: int) -> Callable[[], int]:
        def advance() -> int:
            order.append(name)
            return steps

        return advance

    slow, quick = rates_in_turn((named("a", 1), named("b", 1_000_000)), 1e-9)
    assert quick > slow  # each has its own rate, in the order given
    assert order == ["a", "a", "b", "b"] + ["a", "b"] * 5  # warmed up, then in turn


@pytest.mark.parametrize("stage", ["skill", "meta"])
def test_training_is_measured_beside_its_network(
    stage: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each loop is run once; the clock is not tested here."""

    def rates(loops: Sequence[Callable[[], int]], seconds: float) -> list[float]:
        assert [advance() for advance in loops] == [ITERATION, ITERATION]
        return [30.0, 40.0]

    monkeypatch.setattr(timing, "rates_in_turn", rates)
    monkeypatch.setattr(presets, "skill_training", partial(tiny, validate_every=10**9))
    monkeypatch.setattr(presets, "meta_training", partial(tiny_meta, validate_every=10**9))
    assert main(["bench", "training", "--stage", stage, "--json", "-"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["stage"] == stage
    assert (record["whole_loop"], record["network_only"], record["ratio"]) == (30.0, 40.0, 0.75)


def test_a_meta_controller_needs_a_skill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from errands.agents import load

    monkeypatch.setattr(load, "PRETRAINED", tmp_path)
    assert main(["bench", "training", "--stage", "meta"]) == 2
    said = capsys.readouterr().err
    assert "needs the world's skill" in said
    assert said.count("\n") == 1


def earlier_checkout(folder: Path, printed: str) -> Path:
    """A checkout whose command prints the same whatever it is asked."""
    package = folder / "src" / "errands"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "cli.py").write_text(f"print({printed!r})")
    return folder


@pytest.fixture
def quick_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_training.BenchTraining, "_loops", lambda _: (None, None))
    monkeypatch.setattr(timing, "rates_in_turn", lambda *_: [30.0, 40.0])


@pytest.mark.usefixtures("quick_training")
def test_training_is_measured_beside_an_earlier_checkout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = {"whole_loop": 12.0, "threads": torch.get_num_threads(), "commit": "abc"}
    folder = earlier_checkout(tmp_path, json.dumps(record))
    command = ["bench", "training", "--stage", "meta", "--earlier", str(folder)]
    assert main([*command, "--json", "-"]) == 0
    measured = json.loads(capsys.readouterr().out)
    assert measured["earlier"] == {"whole_loop": 12.0, "commit": "abc"}
    assert measured["speedup"] == 2.5
    assert main(command) == 0
    assert "2.5 times as fast" in capsys.readouterr().out


@pytest.mark.usefixtures("quick_training")
@pytest.mark.parametrize(
    ("printed", "said"), [("oops", "cannot be measured"), ('{"threads": 999}', "OMP_NUM_THREADS")]
)
def test_an_earlier_checkout_that_cannot_be_compared_is_named(
    printed: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = earlier_checkout(tmp_path, printed)
    assert main(["bench", "training", "--earlier", str(folder)]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(f"errands: --earlier {folder}")
    assert said in last
