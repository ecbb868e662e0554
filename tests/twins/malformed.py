"""Messages that no page should send."""

from errands.watch.protocol import MOST_CHARACTERS

# Each is wrong in its own way.
MALFORMED = (
    "",
    "nonsense",
    "{",
    '{"kind": "step"',
    "null",
    "[]",
    "[" * 30_000,
    '"step"',
    "7",
    "{}",
    '{"kind": null}',
    '{"kind": ["step"]}',
    '{"kind": "explode"}',
    '{"kind": "hello"}',
    '{"kind": "step", "more": 1}',
    '{"kind": "speed"}',
    '{"kind": "speed", "rate": "fast"}',
    '{"kind": "speed", "rate": true}',
    '{"kind": "speed", "rate": NaN}',
    '{"kind": "speed", "rate": Infinity}',
    '{"kind": "speed", "rate": 1e999}',
    '{"kind": "speed", "rate": ' + "9" * 5000 + "}",
    '{"kind": "drop", "row": 1.0, "column": 1, "object": "pig"}',
    '{"kind": "drop", "row": 1, "column": 1, "object": 3}',
    '{"kind": "begin", "world": "grid", "agent": "me", "list": {}}',
    '{"kind": "check", "world": "grid", "text": null}',
    "x" * (MOST_CHARACTERS + 1),
    "\x00\ud800",
)
