"""Half the precision: it changes hardly anything of what eyes see, and nothing outside."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from errands.agents.load import load_skill
from errands.agents.mapping import MapEyes
from errands.agents.precision import half_eyes, multiplies_bfloat16
from errands.worlds.spec import BLOCK
from errands.worlds.tasks import list_tasks
from errands.worlds.vector import Worlds

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def eyes() -> MapEyes:
    found = load_skill("block/skill-independent-in-lists").skill.eyes
    assert isinstance(found, MapEyes)
    return found


def walk(eyes: MapEyes, *, half: bool) -> list[Tensor]:
    """What eyes see on a random walk; whatever this processor computes in."""
    worlds = Worlds(BLOCK, 32, list_tasks(BLOCK, "train", (4, 4), step_limit=1000))
    worlds.seed(3)
    worlds.reset()
    random = np.random.default_rng(0)
    memory = eyes.initial_memory(32)
    action, begins, seen = np.zeros(32, np.int64), torch.ones(32, dtype=torch.bool), []
    for _ in range(20):
        eyes.in_bfloat16 = half
        looked, memory = eyes.look(
            torch.from_numpy(worlds.images.copy()), torch.from_numpy(action), begins, memory
        )
        eyes.in_bfloat16 = False
        seen.append(looked)
        action = random.integers(0, 6, 32)
        worlds.step(action)
        begins = torch.zeros(32, dtype=torch.bool)
    return seen


def test_the_map_is_nearly_the_same(eyes: MapEyes) -> None:
    whole, half = (torch.stack(walk(eyes, half=half)).int() for half in (False, True))
    assert not torch.equal(whole, half)
    named = (whole > 127) | (half > 127)
    differ = (whole > 127) != (half > 127)
    assert differ.sum() / named.sum() < 0.005


def test_eyes_are_halved_only_where_the_processor_multiplies_so(
    eyes: MapEyes, monkeypatch: pytest.MonkeyPatch
) -> None:
    for can in (True, False):
        monkeypatch.setattr("errands.agents.precision.multiplies_bfloat16", lambda _, can=can: can)
        with half_eyes(eyes, wanted=True):
            assert eyes.in_bfloat16 is can
        assert not eyes.in_bfloat16
        with half_eyes(eyes, wanted=False):
            assert not eyes.in_bfloat16


def test_eyes_are_whole_again_after_an_error(
    eyes: MapEyes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("errands.agents.precision.multiplies_bfloat16", lambda _: True)
    with pytest.raises(KeyboardInterrupt), half_eyes(eyes, wanted=True):
        raise KeyboardInterrupt
    assert not eyes.in_bfloat16


def test_other_eyes_have_nothing_to_halve() -> None:
    with half_eyes(nn.Identity(), wanted=True):
        pass


def test_a_build_that_cannot_tell_computes_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(multiplies_bfloat16(CPU), bool)
    monkeypatch.delattr(torch.cpu, "_is_avx512_bf16_supported", raising=False)
    assert not multiplies_bfloat16(CPU)
