"""One table of agents: a row more, and everything that lists agents knows it."""

import importlib
import pkgutil
import re
import sys
from pathlib import Path

import pytest

from errands import cli
from errands.agents import load
from errands.agents.registry import (
    AGENTS,
    ALWAYS_THERE,
    FAVOURITE,
    AgentEntry,
    Design,
    designs,
    named,
    order_of_results,
)
from errands.commands.watch import Watch
from errands.evaluation.episodes import InstructionTest, agent_named, evaluate_instructions
from errands.evaluation.list_figures import length_curves
from errands.evaluation.list_tables import lists_table
from errands.presets import meta_training
from errands.stages.meta import MetaTrainer
from errands.stages.run import iterate
from errands.watch.choices import hello
from errands.worlds.planner import PLANNERS
from test_docs import DOCS, module_at
from twins.results import list_record
from twins.training import tiny_meta
from twins.untrained import ship_untrained

TOY = AgentEntry(
    "toy",
    "Toy",
    "Trained. Decides when a subtask is finished, and has a name of its own.",
    design=Design("at-termination", "like a toy", "Toy"),
    colour="#123456",
)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The agent is in the table, and an untrained one is shipped; commands are imported again."""
    monkeypatch.setitem(AGENTS, "toy", TOY)
    ship_untrained(tmp_path / "package", "toy")
    monkeypatch.setattr(load, "PRETRAINED", tmp_path / "package")
    package = importlib.import_module("errands.commands")
    names = [found.name for found in pkgutil.iter_modules(package.__path__)]
    modules = {name: importlib.import_module(f"errands.commands.{name}") for name in names}
    for name in ("actors", "choices", "parsing", "run", "evaluate", "train"):
        monkeypatch.setattr(package, name, modules[name])  # put back what imports replace
        monkeypatch.delitem(sys.modules, modules[name].__name__)


def test_planners_of_the_table_are_those_of_the_worlds() -> None:
    assert named("planner") == PLANNERS
    assert ALWAYS_THERE in PLANNERS
    assert FAVOURITE in designs()


def test_the_agent_that_results_are_about_comes_last() -> None:
    order = order_of_results()
    assert order == ("shortest-path", "near-optimal", "flat", "long", "short", "dynamic")


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize("command", ["run", "evaluate instructions", "train meta"])
def test_help_names_a_new_agent(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*command.split(), "--help"]) == 0
    assert re.search(r"\btoy\b", capsys.readouterr().out)


@pytest.mark.usefixtures("toy")
def test_a_new_agent_is_evaluated_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["evaluate", "instructions", "--agent", "toy", "--length", "1"]
    assert cli.main([*words, "--episodes", "2", "--json", "-"]) == 0
    assert '"agent": "toy"' in capsys.readouterr().out
    record = evaluate_instructions(InstructionTest("toy", "grid", length=1, episodes=2))
    assert record["episodes"] == 2
    with pytest.raises(ValueError, match=r"did you mean toy\?"):
        agent_named("toyy")


@pytest.mark.usefixtures("toy")
def test_a_new_agent_can_be_trained(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "run"
    out.write_text("")
    assert cli.main(["train", "meta", "--agent", "toy", "--out", str(out)]) == 2
    assert "name a folder" in capsys.readouterr().err  # and no complaint about the agent
    fast = meta_training("grid", "toy")
    assert (fast.network.gate, fast.network.flat) == ("at-termination", False)
    assert {stage.events for stage in fast.stages} == {1.0}  # it cannot interrupt
    trainer = MetaTrainer(tiny_meta(agent="toy"))
    assert iterate(trainer).losses.keys() == {"policy", "value", "entropy", "analogy"}


@pytest.mark.usefixtures("toy")
def test_the_page_offers_a_new_agent() -> None:
    offered = hello(Watch()._cast()).worlds["grid"].agents
    shown = [(agent.name, agent.title, agent.note, agent.sort) for agent in offered]
    assert ("toy", "Toy", TOY.note, "trained") in shown


@pytest.mark.usefixtures("toy")
def test_tables_and_figures_show_a_new_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [
        list_record(agent, "seen", length) for agent in ("dynamic", "toy") for length in (1, 4, 20)
    ]
    assert [row[1] for row in lists_table(records).rows] == ["toy", "dynamic"]
    drawn = []
    plot = "matplotlib.axes.Axes.plot"
    monkeypatch.setattr(plot, lambda *_, **how: drawn.append(how["color"]))
    assert length_curves(records, "grid", tmp_path / "curves.png")
    assert not length_curves(records, "block", tmp_path / "none.png")
    assert {TOY.colour, AGENTS["dynamic"].colour} == set(drawn)


@pytest.mark.usefixtures("toy")
def test_docs_list_a_new_agent() -> None:
    tables = module_at(DOCS / "tables.py")
    assert "| `toy` | like a toy | Toy |" in tables.agents()
    assert "| `toy` | Toy |" in tables.named_agents()
    assert "\n| toy |" in tables.lists("grid")
