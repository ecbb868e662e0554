"""Shipped agents answer fixed observations as they did when they were shipped."""

import numpy as np
import pytest

from errands.agents.load import shipped_agents
from golden.record import GOLDEN, answers_of, read

# Another processor, or another order of sums, changes the last bits of a float32: a difference may
# be this share of the largest number of its kind.
CLOSE = 2e-6
# A map is kept in bytes: where a probability lies half-way between two of them, the last bits say
# which, and one feature then differs by 1/255.
CLOSE_WITH_MAP = 1e-4


def test_every_shipped_agent_has_its_answers_and_no_other() -> None:
    found = [path.relative_to(GOLDEN).with_suffix("") for path in GOLDEN.glob("*/*.npz")]
    agents = [path.as_posix() for path in found if path.parts[0] != "observations"]
    assert sorted(agents) == list(shipped_agents())


@pytest.mark.parametrize("name", shipped_agents())
def test_a_shipped_agent_answers_as_when_it_was_shipped(name: str) -> None:
    expected, answers = read(name), answers_of(name)
    close = CLOSE_WITH_MAP if name.startswith("block/") else CLOSE
    assert answers.keys() == expected.keys()
    for part, value in expected.items():
        answer = answers[part]
        assert (answer.shape, answer.dtype) == (value.shape, value.dtype), part
        if value.dtype.kind == "f":
            allowed = close * max(1.0, float(np.abs(value).max()))
            np.testing.assert_allclose(answer, value, rtol=0.0, atol=allowed, err_msg=part)
        else:
            np.testing.assert_array_equal(answer, value, err_msg=part)


def test_the_answers_are_worth_comparing() -> None:
    """Episodes begin and end, gates open and close, pointers move, subtasks are finished."""
    for world in ("grid", "block"):
        begins = read(f"observations/{world}")["begins"]
        assert begins[0].all()
        assert begins[1:].any()
        answers = read(f"{world}/dynamic")
        for update in ("soft", "hard"):
            finished = answers[f"{update}.termination"] > 0.5
            assert finished.any()
            assert not finished.all()
            c = answers[f"{update}.c"]
            assert c[1:].any()
            assert not c[1:].all()
            assert (answers[f"{update}.pointer"][..., 1] > 0.5).any()
