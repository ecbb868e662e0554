"""An agent's files: both or neither, checked before anything is allocated, one line if damaged."""

import json
import os
import pickle
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from errands.agents.files import (
    AGENT,
    WEIGHTS,
    network_from,
    read_description,
    rebuild,
    save_agent,
)
from errands.agents.formats import FORMAT
from errands.agents.meta import MetaNetwork
from errands.agents.skill import SkillNetwork
from errands.files import DamagedFile
from errands.presets import meta_training


def line() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(2, 3)


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    save_agent(tmp_path / "agent", line(), {"kind": "line", "network": {}, "frames": 5})
    return tmp_path / "agent"


def cut_in_half(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def scramble(path: Path) -> None:
    path.write_bytes(np.random.default_rng(0).bytes(2000))


def flip_last_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))


def test_an_agent_comes_back(agent: Path) -> None:
    description = read_description(agent)
    assert len(description.pop("sha256")) == 64
    assert description == {"format": FORMAT, "kind": "line", "network": {}, "frames": 5}
    model = rebuild(agent, lambda: nn.Linear(2, 3), {})
    assert torch.equal(model.weight, line().weight)
    assert torch.equal(model.bias, line().bias)
    assert sorted(path.name for path in agent.iterdir()) == [AGENT, WEIGHTS]


@pytest.mark.parametrize("name", [WEIGHTS, AGENT])
def test_a_folder_without_an_agent_is_refused(name: str, agent: Path) -> None:
    (agent / name).unlink()
    with pytest.raises(FileNotFoundError, match=f"no {name} in .*is this the folder of an agent"):
        read_description(agent)


@pytest.mark.parametrize(
    ("name", "damage"),
    [(AGENT, cut_in_half), (AGENT, empty), (AGENT, scramble)]
    + [(WEIGHTS, damage) for damage in (cut_in_half, empty, scramble, flip_last_bit)],
)
def test_a_damaged_agent_is_refused_in_one_line(
    name: str, damage: Callable[[Path], None], agent: Path
) -> None:
    damage(agent / name)
    with pytest.raises(DamagedFile, match="is damaged") as refused:
        read_description(agent)
    assert str(agent) in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("content", ["[" * 100_000, "[]", "3", "null", '{"format": "two"}'])
def test_a_description_of_no_agent_is_refused_in_one_line(content: str, agent: Path) -> None:
    (agent / AGENT).write_text(content)
    with pytest.raises(DamagedFile) as refused:
        read_description(agent)
    assert "\n" not in str(refused.value)


def test_an_agent_of_a_newer_format_asks_for_a_newer_version(agent: Path) -> None:
    description = json.loads((agent / AGENT).read_text())
    (agent / AGENT).write_text(json.dumps(description | {"format": FORMAT + 1}))
    with pytest.raises(DamagedFile, match="a newer one is needed"):
        read_description(agent)


@pytest.mark.parametrize("calls", [0, 1, 2])
def test_a_crash_while_saving_never_leaves_a_wrong_pair(
    calls: int, agent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before the first or the second change of a name, which follow each other at once."""
    move, left = os.replace, calls

    def crash_later(*arguments: Any) -> None:
        nonlocal left
        if left == 0:
            raise KeyboardInterrupt
        left -= 1
        move(*arguments)

    monkeypatch.setattr(os, "replace", crash_later)
    try:
        save_agent(agent, nn.Linear(2, 3), {"kind": "line", "network": {}, "frames": 6})
    except KeyboardInterrupt:
        assert calls < 2
    monkeypatch.undo()
    assert sorted(path.name for path in agent.iterdir()) == [AGENT, WEIGHTS]
    if calls == 1:
        with pytest.raises(DamagedFile, match="checksum"):
            read_description(agent)
        return
    assert read_description(agent)["frames"] == (6 if calls == 2 else 5)


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (lambda: nn.Linear(2, 4), r"size mismatch: 'weight' is F32 \[3, 2\], not F32 \[4, 2\]"),
        (lambda: nn.Linear(2, 3, bias=False), "there is an unknown 'bias' among its weights"),
        (lambda: nn.ModuleDict({"one": nn.Linear(2, 3)}), "among its weights"),
        (lambda: nn.Linear(2, 10**12), "size mismatch"),
    ],
)
def test_sizes_are_compared_before_anything_is_allocated(
    build: Callable[[], nn.Module], reason: str, agent: Path
) -> None:
    """The last one would take 8 terabytes."""
    with pytest.raises(ValueError, match=reason) as refused:
        rebuild(agent, build, {})
    assert "\n" not in str(refused.value)


def test_weights_of_another_precision_are_refused(agent: Path) -> None:
    halved = {name: value.half() for name, value in load_file(agent / WEIGHTS).items()}
    save_file(halved, agent / WEIGHTS)
    with pytest.raises(ValueError, match=r"size mismatch: '.*' is F16"):
        rebuild(agent, lambda: nn.Linear(2, 3), {})


class Bomb:
    """Unpickling it would leave a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def test_nothing_is_unpickled(agent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in files of ours nor in a stranger's with our names."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("something is unpickled")

    bomb = tmp_path / "exploded"
    content = pickle.dumps(Bomb(bomb))
    for module, name in (
        (pickle, "load"),
        (pickle, "loads"),
        (pickle, "Unpickler"),
        (torch, "load"),
    ):
        monkeypatch.setattr(module, name, refuse)
    rebuild(agent, line, {})
    (agent / WEIGHTS).write_bytes(content)
    with pytest.raises(DamagedFile):
        rebuild(agent, line, {})
    assert not bomb.exists()


# Settings


@pytest.mark.parametrize(
    "network",
    [SkillNetwork(), MetaNetwork(gate="every-step"), meta_training("grid", "dynamic").network],
)
def test_settings_come_back_from_json(network: SkillNetwork | MetaNetwork) -> None:
    assert network_from(type(network), json.loads(json.dumps(asdict(network)))) == network


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"wings": 2}, "unknown setting 'wings'"),
        ({"hiden": 2}, "did you mean hidden"),
        ({"hidden": "eight"}, "'hidden' is 'eight'"),
        ({"hidden": 8.5}, "'hidden' is 8.5"),
        ({"hidden": True}, "'hidden' is True"),
        ({"hidden": 200_000}, "'hidden' is 200000"),
        ({"filters": [1] * 100}, "'filters' is"),
        ({"noise": float("nan")}, "'noise' is nan"),
        ({"gate": "sometimes"}, "'gate' is 'sometimes'"),
        ({"filters": [16, "x"]}, "'filters' is"),
        ({"filters": 16}, "'filters' is 16"),
        ({"noise": "x" * 1000}, "'noise' is 'x{40,60}$"),
        ({"flat": 0}, "'flat' is 0"),
        ({"hints": []}, "'hints' is"),
    ],
)
def test_settings_that_do_not_fit_are_refused(changes: dict[str, Any], reason: str) -> None:
    values = json.loads(json.dumps(asdict(MetaNetwork()))) | changes
    with pytest.raises(ValueError, match=reason):
        network_from(MetaNetwork, values)


def test_no_setting_may_be_missing() -> None:
    for name in asdict(MetaNetwork()):
        values = json.loads(json.dumps(asdict(MetaNetwork())))
        del values[name]
        with pytest.raises(ValueError, match=f"lacks the setting '{name}'"):
            network_from(MetaNetwork, values)
    with pytest.raises(ValueError, match="not a table of settings"):
        network_from(MetaNetwork, [])
