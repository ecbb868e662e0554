"""What a run goes on from survives: a crash in the middle, damage, and strangers' files."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save
from torch import Tensor, nn

from errands.files import DamagedFile
from errands.learning import checkpoint
from errands.learning.checkpoint import PREVIOUS, RESUME


def state(number: float) -> dict[str, Tensor]:
    return {
        "weights": torch.full((3, 4), number),
        "image": torch.arange(6, dtype=torch.uint8).view(2, 3),
        "flags": torch.tensor([True, False]),
        "steps": torch.tensor(number, dtype=torch.float64),
        "nothing": torch.zeros(0, 2),
    }


def saved_twice(folder: Path) -> None:
    """An older state and a newer one, as after two checkpoints."""
    checkpoint.save_resume(folder, state(1.0), {"iteration": 1})
    checkpoint.save_resume(folder, state(2.0), {"iteration": 2})


def loaded(folder: Path) -> tuple[dict[str, Tensor], dict[str, Any], list[str]]:
    found = checkpoint.load_resume(folder)
    assert found is not None
    return found


def cut_in_half(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def flip_last_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))


def flip_a_digit_of_the_facts(path: Path) -> None:
    content = path.read_bytes()
    assert content.count(b'iteration\\": ') == 1
    path.write_bytes(content.replace(b'iteration\\": ', b'iteration\\":9'))


def change_a_type(path: Path) -> None:
    content = path.read_bytes()
    assert content.count(b'"U8"') == 1
    path.write_bytes(content.replace(b'"U8"', b'"I8"'))


def change_a_shape(path: Path) -> None:
    content = path.read_bytes()
    assert content.count(b"[3,4]") == 1
    path.write_bytes(content.replace(b"[3,4]", b"[4,3]"))


def empty(path: Path) -> None:
    path.write_bytes(b"")


def scramble(path: Path) -> None:
    path.write_bytes(np.random.default_rng(0).bytes(2000))


def without_checksum(path: Path) -> None:
    path.write_bytes(save({"weights": torch.zeros(1)}))


DAMAGES = [
    cut_in_half,
    flip_last_bit,
    flip_a_digit_of_the_facts,
    change_a_type,
    change_a_shape,
    empty,
    scramble,
    without_checksum,
]


def test_resume_gives_back_what_was_saved(tmp_path: Path) -> None:
    assert checkpoint.load_resume(tmp_path) is None
    saved_twice(tmp_path)
    tensors, facts, complaints = loaded(tmp_path)
    assert (facts, complaints) == ({"iteration": 2}, [])
    assert tensors.keys() == state(2.0).keys()
    for name, value in state(2.0).items():
        assert torch.equal(tensors[name], value)
        assert tensors[name].dtype == value.dtype
    assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted((RESUME, PREVIOUS))


def test_tensors_of_any_layout_come_back(tmp_path: Path) -> None:
    """Views, shared memory and channels-last: what models and optimizers hold."""
    base = torch.randn(2, 3, 4, 5)
    tensors = {
        "transposed": base.transpose(0, 3),
        "last": base.contiguous(memory_format=torch.channels_last),
        "slice": base[:, 1],
        "same": base,
    }
    checkpoint.save_resume(tmp_path, tensors, {})
    for name, value in loaded(tmp_path)[0].items():
        assert torch.equal(value, tensors[name])


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_falls_back_to_the_previous_one(
    damage: Callable[[Path], None], tmp_path: Path
) -> None:
    saved_twice(tmp_path)
    damage(tmp_path / RESUME)
    tensors, facts, complaints = loaded(tmp_path)
    assert facts == {"iteration": 1}
    assert torch.equal(tensors["weights"], state(1.0)["weights"])
    (complaint,) = complaints
    assert str(tmp_path / RESUME) in complaint
    assert "damaged" in complaint
    assert "\n" not in complaint


@pytest.mark.parametrize("damage", DAMAGES)
def test_two_damaged_checkpoints_are_refused_in_one_line(
    damage: Callable[[Path], None], tmp_path: Path
) -> None:
    saved_twice(tmp_path)
    for name in (RESUME, PREVIOUS):
        damage(tmp_path / name)
    with pytest.raises(DamagedFile) as refused:
        checkpoint.load_resume(tmp_path)
    message = str(refused.value)
    assert all(part in message for part in (RESUME, PREVIOUS, "start again"))
    assert "\n" not in message


@pytest.mark.parametrize("calls", [0, 1, 2, 3])
def test_a_crash_while_saving_always_leaves_a_whole_state(
    calls: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before the first, second, ... change of a name."""
    saved_twice(tmp_path)
    replace, left = os.replace, calls

    def crash_later(*arguments: Any) -> None:
        nonlocal left
        if left == 0:
            raise KeyboardInterrupt
        left -= 1
        replace(*arguments)

    monkeypatch.setattr(os, "replace", crash_later)
    try:
        checkpoint.save_resume(tmp_path, state(3.0), {"iteration": 3})
    except KeyboardInterrupt:
        expected = 2
    else:
        expected = 3
    monkeypatch.undo()
    _, facts, complaints = loaded(tmp_path)
    assert (facts, complaints) == ({"iteration": expected}, [])
    assert expected == (3 if calls >= 2 else 2)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_never_takes_the_place_of_a_whole_one(
    damage: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Resumed from the previous file, then killed while the next one is saved."""
    saved_twice(tmp_path)
    damage(tmp_path / RESUME)
    assert loaded(tmp_path)[1] == {"iteration": 1}

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint, "write_atomically", crash)
    with pytest.raises(KeyboardInterrupt):
        checkpoint.save_resume(tmp_path, state(3.0), {"iteration": 3})
    monkeypatch.undo()
    assert loaded(tmp_path)[1] == {"iteration": 1}
    checkpoint.save_resume(tmp_path, state(3.0), {"iteration": 3})
    assert loaded(tmp_path)[1:] == ({"iteration": 3}, [])


class Bomb:
    """Unpickling it would leave a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    """Not even in a stranger's file with our name."""
    saved_twice(tmp_path)
    bomb = tmp_path / "exploded"
    torch.save({"weights": Bomb(bomb)}, tmp_path / RESUME)
    assert loaded(tmp_path)[1] == {"iteration": 1}
    assert not bomb.exists()


# What is in a checkpoint


def trained(optimizer: torch.optim.Optimizer, model: nn.Module, steps: int) -> None:
    for step in range(steps):
        optimizer.zero_grad()
        model(torch.full((1, 4), float(step))).square().sum().backward()
        optimizer.step()


@pytest.mark.parametrize(
    "make", [lambda p: torch.optim.Adam(p, lr=0.1), lambda p: torch.optim.RMSprop(p, alpha=0.97)]
)
def test_an_optimizer_goes_on_from_its_tensors(
    make: Callable[[Any], torch.optim.Optimizer], tmp_path: Path
) -> None:
    torch.manual_seed(0)
    model, other = nn.Linear(4, 2), nn.Linear(4, 2)
    optimizer, fresh = make(model.parameters()), make(other.parameters())
    trained(optimizer, model, 3)
    checkpoint.save_resume(tmp_path, checkpoint.optimizer_tensors(optimizer), {})
    other.load_state_dict(model.state_dict())
    checkpoint.restore_optimizer(fresh, loaded(tmp_path)[0])
    trained(optimizer, model, 3)
    trained(fresh, other, 3)
    assert torch.equal(model.weight, other.weight)
    assert torch.equal(model.bias, other.bias)


def test_an_optimizer_that_has_not_stepped_comes_back_empty() -> None:
    optimizer = torch.optim.Adam(nn.Linear(4, 2).parameters())
    assert checkpoint.optimizer_tensors(optimizer) == {}
    checkpoint.restore_optimizer(optimizer, {})
    assert not optimizer.state_dict()["state"]


def test_a_generator_goes_on_from_its_facts() -> None:
    random, other = np.random.default_rng(1), np.random.default_rng(2)
    random.permutation(100)
    facts = json.loads(json.dumps(checkpoint.generator_facts(random)))
    checkpoint.restore_generator(other, facts)
    assert np.array_equal(random.permutation(100), other.permutation(100))


def test_a_checkpoint_with_the_older_checksum_is_resumed_from(tmp_path: Path) -> None:
    """Which did not cover types and shapes."""
    tensors, facts = state(2.0), json.dumps({"iteration": 2})
    older = checkpoint._checksum(tensors, facts, with_shapes=False)
    content = save(tensors, {"facts": facts, "checksum": older})
    (tmp_path / RESUME).write_bytes(content)
    assert loaded(tmp_path)[1:] == ({"iteration": 2}, [])
    flip_last_bit(tmp_path / RESUME)
    with pytest.raises(DamagedFile, match="checksum is wrong"):
        checkpoint.load_resume(tmp_path)
