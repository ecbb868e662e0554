"""`errands words` and `errands agents`: what can be said, and by which agent it can be done."""

import re

import pytest

from errands.agents import load
from errands.agents.registry import AGENTS
from errands.cli import main
from errands.language.instruction import parse_instruction
from errands.language.vocabulary import VERBS
from errands.worlds.spec import WORLDS


@pytest.mark.parametrize("world", WORLDS)
def test_every_word_of_a_world_is_listed(world: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["words", "--world", world]) == 0
    said = capsys.readouterr().out
    words = WORLDS[world].vocabulary
    for word in (*VERBS, *words.objects, *words.synonyms):
        assert re.search(rf"\b{word}\b", said), word
    assert ("all  " in said) == (world == "grid")
    assert WORLDS[world].example in said


def test_listed_synonyms_are_understood(capsys: pytest.CaptureFixture[str]) -> None:
    main(["words"])
    also = re.search(r"pick up +also: (.*)", capsys.readouterr().out)
    assert also is not None
    words = WORLDS["grid"].vocabulary
    for verb in also[1].split(", "):
        assert parse_instruction(f"{verb} the egg", words).verb == "pick up"


@pytest.mark.parametrize("world", WORLDS)
def test_verbs_that_no_agent_learned_say_so(world: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["words", "--world", world])
    rows = capsys.readouterr().out.splitlines()
    unlearned = [row for row in rows if "planners only" in row]
    assert len(unlearned) == 1
    assert "interact with" in unlearned[0]


def test_agents_are_listed_with_their_worlds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "shipped_agents", lambda: ("grid/dynamic", "block/flat"))
    assert main(["agents"]) == 0
    rows = [re.split(r"  +", line) for line in capsys.readouterr().out.splitlines()]
    listed = {name: where for name, where, _ in rows}
    assert listed == {
        "dynamic": "grid (default)",
        "flat": "block",
        "near-optimal": "grid, block (default)",
        "shortest-path": "grid, block",
    }
    assert all(note == AGENTS[name].note for name, _, note in rows)
