"""Model cards follow from agents' files and results, and say what is missing."""

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from errands import cli
from errands.agents.load import PRETRAINED, load, shipped_agents
from errands.agents.registry import AGENTS, designs
from errands.evaluation.cards import CARD, CITATION, card, is_of
from errands.evaluation.tables import read_records
from twins.untrained import save_untrained

REPOSITORY = Path(__file__).parents[2]
RESULTS = REPOSITORY / "results"
EVERY_AGENT = pytest.mark.parametrize("name", shipped_agents())


def shown(name: str) -> str:
    return (PRETRAINED / name / CARD).read_text(encoding="utf-8")


def description(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((PRETRAINED / name / "agent.json").read_text())
    return content


@EVERY_AGENT
def test_cards_follow_from_files_and_results(name: str) -> None:
    """If this fails, run `python docs/tables.py`."""
    assert card(name, PRETRAINED / name, RESULTS) == shown(name)


@EVERY_AGENT
def test_cards_have_what_hubs_of_models_read(name: str) -> None:
    _, front, text = shown(name).split("---\n", 2)
    about = yaml.safe_load(front)
    assert about["license"] == "mit"
    assert about["library_name"] == "errands"
    assert about["pipeline_tag"] in about["tags"]
    for result in about.get("model-index", [{}])[0].get("results", []):
        assert {metric["type"] for metric in result["metrics"]} == {"mean_reward", "success_rate"}
    titles = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    assert titles == [
        "How to use it",
        "Intended use",
        "How it was trained",
        "Results",
        "Limits",
        "Licence and citation",
    ]


@EVERY_AGENT
def test_commands_of_cards_are_understood(name: str) -> None:
    for block in re.findall(r"^```sh\n(.*?)^```$", shown(name), re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            words = shlex.split(line.removeprefix("errands "))
            command = next(
                " ".join(words[:n]) for n in (1, 2) if " ".join(words[:n]) in cli.COMMANDS
            )
            cli._parse(command, cli.COMMANDS[command], words[len(command.split()) :])


def test_what_was_not_measured_is_said(tmp_path: Path) -> None:
    text = card("grid/dynamic", PRETRAINED / "grid/dynamic", tmp_path)
    assert text.count("not measured") == 3
    assert "model-index" not in text
    assert "No committed result says what it does on any list." in text
    text = card("grid/skill-independent", PRETRAINED / "grid/skill-independent", tmp_path)
    assert text.count("| not measured |") == 2
    assert "How well it generalises has not been measured." in text


def test_results_of_other_weights_do_not_count(tmp_path: Path) -> None:
    """Not those of another seed, teacher or run of the same agent."""
    dynamic = description("grid/dynamic")
    records = [r for r in read_records(RESULTS / "instructions") if is_of(dynamic, r)]
    assert records
    assert {record["training"]["seed"] for record in records} == {0}
    assert {record["agent"] for record in records} == {"dynamic"}
    assert not any(is_of(dynamic | {"seconds": 1.0}, record) for record in records)
    skills = read_records(RESULTS / "skills")
    own = [record for record in skills if is_of(description("grid/skill-independent"), record)]
    assert sorted(record["split"] for record in own) == ["train", "unseen"]
    assert {record["training"]["teacher"] for record in own} == {"planner"}


def test_a_new_measurement_changes_the_card(tmp_path: Path) -> None:
    (tmp_path / "instructions").mkdir()
    path = RESULTS / "instructions" / "grid-dynamic-seed-0-train.json"
    (measured,) = json.loads(path.read_text())
    measured["success"]["mean"] = 0.5
    (tmp_path / "instructions" / "one.json").write_text(json.dumps(measured))
    text = card("grid/dynamic", PRETRAINED / "grid/dynamic", tmp_path)
    assert "| train, 4 instructions | 50.0% | 46.9 to 53.1% | 95.5% |" in text
    assert "behind the paper by success on train lists of 4 (50.0%, the paper's 95.5%)" in text
    assert text.count("not measured") == 2


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("grid/dynamic", 'It cannot do "interact with"'),
        ("grid/dynamic", "lists of at most 4 instructions"),
        ("grid/dynamic", "seed 1 did"),
        ("grid/long", "cannot interrupt a subtask for an event (enemy)"),
        ("grid/flat", "It has no skill"),
        ("block/dynamic", "Of 1,000 train lists of 4, 42 failed: 41 ran out of steps"),
        ("grid/skill-independent", 'It was never trained to "interact with"'),
        ("grid/skill-inter-extrapolation", "It counts up to 7; 1, 3, 5 were trained."),
        ("block/skill-object-dependent-no-analogy", "It does not generalise"),
    ],
)
def test_limits_are_named(name: str, limit: str) -> None:
    assert limit in shown(name)


@EVERY_AGENT
def test_every_card_says_where_it_does_not_belong(name: str) -> None:
    assert "It is not for robots" in shown(name)


def test_an_agent_without_a_row_in_the_table_has_a_card_too() -> None:
    """Such as a second seed: it is evaluated by its folder."""
    name = "grid/second-seed"
    assert name.partition("/")[2] not in AGENTS
    text = card(name, PRETRAINED / "grid/dynamic", RESULTS)
    assert f'errands.load("{name}")' in text
    assert f"--weights src/errands/pretrained/{name}" in text
    assert "errands run" not in text


@pytest.mark.parametrize("world", ["grid", "block"])
@pytest.mark.parametrize("agent", designs())
def test_any_agent_that_can_be_trained_can_have_a_card(
    world: str, agent: str, tmp_path: Path
) -> None:
    save_untrained(tmp_path, agent, world)
    text = card(f"{world}/{agent}", tmp_path, RESULTS)
    assert text.count("| not measured |") == 3
    assert f"It is {designs()[agent].paper} of the paper" in text
    assert ("| skill | none |" in text) == designs()[agent].flat


def test_a_card_is_never_read_when_an_agent_is_loaded(tmp_path: Path) -> None:
    shutil.copytree(PRETRAINED / "grid" / "flat", tmp_path / "agent")
    (tmp_path / "agent" / CARD).write_bytes(b"\xff\xfe not text")
    assert load(tmp_path / "agent").name == "grid/flat"


def test_the_readme_cites_the_same_paper() -> None:
    assert CITATION in (REPOSITORY / "README.md").read_text(encoding="utf-8")
