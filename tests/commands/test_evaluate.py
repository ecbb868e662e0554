"""`errands evaluate instructions`: its JSON, its table and its complaints."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from errands.agents import load as agents
from errands.agents.hierarchy import Hierarchy
from errands.cli import main
from errands.presets import meta_training
from twins.untrained import save_untrained, ship_untrained

FEW = ["evaluate", "instructions", "--episodes", "12", "--seed", "5"]


def check(record: dict[str, Any], length: int) -> None:
    for name in ("success", "reward", "steps", "completed", "events", "events_used"):
        assert set(record[name]) == {"mean", "stderr"}
    assert 0 <= record["success"]["mean"] <= 1
    assert record["episodes"] == 12
    assert record["seed"] == 5
    assert record["length"] == length
    assert record["agent"] == "shortest-path"
    assert record["split"] == "unseen"
    assert record["seconds"] >= 0


@pytest.mark.parametrize("world", ["grid", "block"])
def test_json_on_standard_output_is_all_there_is(
    world: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--world", world, "--agent", "shortest-path", "--split", "unseen", "--length", "2"]
    assert main([*FEW, *options, "--json", "-"]) == 0
    said = capsys.readouterr()
    record = json.loads(said.out)
    check(record, 2)
    assert record["world"] == world
    assert record["success"]["mean"] == 1


def test_several_lengths_make_a_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "result.json"
    path.write_text("what was there before")
    options = ["--agent", "shortest-path", "--split", "unseen", "--lengths", "1..2,4"]
    assert main([*FEW, *options, "--json", str(path)]) == 0
    records = json.loads(path.read_text())
    for record, length in zip(records, (1, 2, 4), strict=True):
        check(record, length)
    said = capsys.readouterr().out
    assert "success" in said
    assert f"wrote {path}" in said
    assert [entry.name for entry in tmp_path.iterdir()] == ["result.json"]


def test_maps_have_the_sizes_that_are_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "result.json"
    options = ["--agent", "shortest-path", "--length", "2"]
    steps = []
    for sizes, recorded in ((["--sizes", "7"], [7, 7]), (["--sizes", "10"], [10, 10]), ([], None)):
        assert main([*FEW, *options, *sizes, "--json", str(path)]) == 0
        record = json.loads(path.read_text())
        assert record["sizes"] == recorded
        assert (f"shortest-path, grid train, sizes {sizes[-1]}," if sizes else "train, 12") in (
            capsys.readouterr().out
        )
        steps.append(record["steps"])
    assert steps[0]["mean"] < steps[1]["mean"]
    assert steps[1] == steps[2]


def test_without_json_a_table_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*FEW, "--agent", "near-optimal", "--no-all", "--forgiving"]) == 0
    assert "100.00%" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["--agent", "shortest"], "did you mean short or shortest-path"),
        (["--agent", "near-optimal", "--soft"], "near-optimal is a planner"),
        (
            ["--agent", "near-optimal", "--explain"],
            "near-optimal is a planner; take --agent dynamic",
        ),
        (["--agent", "shortest-path", "--explain"], "--explain is for trained agents"),
        (["--weights", "nowhere"], "is this the folder of an agent"),
        (["--length", "0"], "--length 0"),
        (["--length", "2", "--lengths", "1..3"], "exclude each other"),
        (["--lengths", "3..1"], "write 1..3"),
        (["--lengths", "few"], "write 1..20"),
        (["--lengths", "1..2..3"], "write 1..20"),
        (["--lengths", ""], "write 1..20"),
        (["--sizes", "small"], "write 7..10 or 8"),
        (["--sizes", "10..7"], "write 7..10"),
        (["--sizes", "6..10"], "--sizes 6 is out of range; give a number from 7 to 10"),
        (["--sizes", "11"], "from 7 to 10"),
        (["--episodes", "0"], "--episodes 0"),
        (["--seed", "4294967296"], "--seed"),
        (["--split", "sean"], "seen"),
        (["--json", "nowhere/result.json"], "nowhere; create it first"),
    ],
)
def test_wrong_input_gets_one_line(
    arguments: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", "instructions", *arguments]) == 2
    said = capsys.readouterr()
    assert hint in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""


@pytest.mark.parametrize("agent", ["dynamic", "short", "long", "flat"])
def test_a_run_of_ones_own(agent: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_untrained(tmp_path, agent)
    assert main([*FEW, "--weights", str(tmp_path), "--length", "2", "--json", "-"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["agent"] == agent
    assert record["soft"] is False
    assert record["training"] == {
        "agent": agent,
        "preset": "debug",
        "analogy": True,
        "seed": 0,
        "soft": False,
        "frames": 1000,
        "seconds": 90.0,
        "hints": sorted(meta_training("grid", agent, "debug").network.hints),
        "total_frames": 3 * 10_240,
    }
    events = record["events"]["mean"]
    share = record["events_used"]["mean"] / events if events else None
    assert record["caught"] == (share if share is None else pytest.approx(share, abs=1e-5))


@pytest.mark.slow
def test_soft_updates_are_asked_for_or_what_an_agent_learned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    acted: list[bool] = []
    act = Hierarchy.act

    def noted(self: Hierarchy, *observed: Any, soft: bool, **options: Any) -> Any:
        acted.append(soft)
        return act(self, *observed, soft=soft, **options)

    monkeypatch.setattr(Hierarchy, "act", noted)
    save_untrained(tmp_path / "hard")
    save_untrained(tmp_path / "soft", soft=True)
    told = []
    for options, expected in ((["hard"], False), (["hard", "--soft"], True), (["soft"], True)):
        acted.clear()
        weights = str(tmp_path / options[0])
        assert main([*FEW, "--weights", weights, *options[1:], "--length", "1", "--json", "-"]) == 0
        record = json.loads(capsys.readouterr().out)
        told.append((record["agent"], record["soft"], record["training"]["soft"]))
        assert set(acted) == {expected}
    assert told == [
        ("dynamic", False, False),
        ("dynamic", True, False),
        ("dynamic-soft", True, True),
    ]


def test_shipped_agents_go_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ship_untrained(tmp_path, "short")
    monkeypatch.setattr(agents, "PRETRAINED", tmp_path)
    assert main([*FEW, "--agent", "short", "--length", "1"]) == 0
    said = capsys.readouterr().out
    assert "short, grid train" in said
    assert "caught" in said
    assert main([*FEW, "--agent", "dynamic"]) == 2
    said = capsys.readouterr().err
    assert "no agent 'dynamic' is shipped for --world grid" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (["--agent", "short"], "holds the agent 'dynamic', not 'short'"),
        (["--world", "block"], "was trained for --world grid"),
    ],
)
def test_weights_of_something_else(
    options: list[str], hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_untrained(tmp_path)
    assert main([*FEW, "--weights", str(tmp_path), *options]) == 2
    said = capsys.readouterr().err
    assert hint in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("world", ["grid", "block"])
def test_a_world_of_ones_own_is_measured_from_python(
    world: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    garden = asdict(meta_training("grid", "dynamic", "debug")) | {"world": "garden"}
    save_untrained(tmp_path, training=garden)
    assert main([*FEW, "--weights", str(tmp_path), "--world", world]) == 2
    said = capsys.readouterr().err
    assert "'garden', a world of your own" in said
    assert "docs/own-world.md" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("agent", ["dynamic", "flat"])
def test_decisions_are_explained(
    agent: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_untrained(tmp_path / "mine", agent)
    path = tmp_path / "result.json"
    options = ["--weights", str(tmp_path / "mine"), "--length", "2", "--explain"]
    assert main([*FEW, *options, "--json", str(path)]) == 0
    record = json.loads(path.read_text())
    explanation = record["explanation"]
    failed = round(12 * (1 - record["success"]["mean"]))
    assert explanation["failed"] == failed > 0
    assert sum(counts["lists"] or 0 for counts in explanation["causes"].values()) == failed
    said = capsys.readouterr().out
    assert f"Why {failed} lists failed" in said
    assert explanation["examples"][0]["sentence"] in said
    for words in explanation["instructions"]:
        assert words in said
    assert f"of {explanation['events']['events']} caught" in said
    assert ("Without a skill there is no signal" in said) == (agent == "flat")
    assert not set("\u2503\u2502") & set(said.split("Why ")[1])  # plain columns


@pytest.mark.slow
def test_explanations_of_several_lengths_are_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_untrained(tmp_path)
    options = ["--weights", str(tmp_path), "--lengths", "1,2", "--explain"]
    assert main([*FEW, *options]) == 0
    said = capsys.readouterr().out
    assert said.index("Lists of 1") < said.index("Lists of 2")
    assert main([*FEW, *options, "--json", "-"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert [record["explanation"]["failed"] > 0 for record in records] == [True, True]


def test_the_shipped_agent_is_explained_even_if_no_list_failed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = ["--agent", "dynamic", "--length", "1", "--episodes", "3", "--explain"]
    assert main(["evaluate", "instructions", *options]) == 0
    said = capsys.readouterr().out
    assert "100.00%" in said
    assert "No list failed." in said
    assert "Decisions, instruction by instruction" in said
