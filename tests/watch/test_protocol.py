"""What pages send is checked, field by field; what the server answers is JSON."""

import json
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.watch.protocol import (
    REQUESTS,
    Begin,
    Checked,
    Item,
    Mistake,
    Refused,
    Speed,
    Step,
    read,
    spell,
)
from twins.malformed import MALFORMED


@pytest.mark.parametrize("text", MALFORMED, ids=lambda text: text[:30] or "nothing")
def test_malformed_messages_are_refused_in_one_line(text: str) -> None:
    with pytest.raises(Refused) as refusal:
        read(text)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 200


def test_requests_are_read() -> None:
    assert read('{"kind": "step"}') == Step()
    assert read('{"kind": "speed", "rate": 4}') == Speed(4.0)
    said = {"kind": "begin", "world": "grid", "agent": "me", "list": "visit pig", "seed": 5}
    assert read(json.dumps(said)) == Begin("grid", "me", "visit pig", 5)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
names = sorted({field.name for kind in REQUESTS.values() for field in fields(kind)})


@given(
    kind=st.sampled_from(sorted(REQUESTS)) | st.text(),
    content=st.dictionaries(st.sampled_from(names), anything, max_size=6),
)
def test_whatever_comes_is_read_or_refused(kind: str, content: dict[str, Any]) -> None:
    try:
        request = read(json.dumps({"kind": kind, **content}))
    except Refused:
        return
    for field in fields(request):
        assert type(getattr(request, field.name)) in (str, int, float)


def test_answers_name_their_kind_and_what_is_in_them() -> None:
    answer = Checked(3, (Item("visit pig", True),), Mistake("no\ud800", 1, 2), ("pig",))
    assert json.loads(spell(answer)) == {
        "kind": "checked",
        "number": 3,
        "items": [{"words": "visit pig", "seen": True}],
        "mistake": {"message": "no\ud800", "start": 1, "end": 2},
        "completions": ["pig"],
        "reading": "",
    }
