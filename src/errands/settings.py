"""Settings as data: what each one means, the paper's value, and records that override some of them.

A setting is a field of a frozen dataclass. Its default, its meaning and the paper's value stand in
one place, and tables in the docs are made from them. Presets are lists of `Override`s, of which a
later one wins over an earlier one.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar, cast

T = TypeVar("T")
_SAME = object()


def setting(default: T, meaning: str, *, paper: Any = _SAME) -> T:
    """A field of a dataclass; `paper` is its value in the `paper` preset, if not the default."""
    metadata = {"meaning": meaning, "paper": default if paper is _SAME else paper}
    made: Any = (
        field(default_factory=default.copy, hash=False, metadata=metadata)
        if isinstance(default, dict)  # which is mutable: each record gets its own
        else field(default=default, metadata=metadata)
    )
    return cast(T, made)


def meanings(record: Any) -> dict[str, str]:
    """What each setting of a dataclass means."""
    items = fields(record)
    return {item.name: item.metadata["meaning"] for item in items if "meaning" in item.metadata}


def paper_values(record: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The paper's value of every setting of a dataclass, and of those within it, by dotted name."""
    for item in fields(record):
        if "paper" in item.metadata:
            yield prefix + item.name, item.metadata["paper"]
        elif is_dataclass(inner := getattr(record, item.name)):
            yield from paper_values(inner, f"{prefix}{item.name}.")


@dataclass(frozen=True)
class Share:
    """A number in proportion to the sum of others, as they are before an override."""

    of: tuple[str, ...]  # dotted names
    times: Fraction

    def among(self, record: Any) -> int:
        return int(self.times * sum(_value(record, name) for name in self.of))


@dataclass(frozen=True)
class Override:
    """Settings that change under some conditions."""

    when: Mapping[str, Any]  # options that must have this value, or one of a tuple of values
    settings: Mapping[str, Any]  # by dotted name, such as "network.noise"; "*" is every item

    def applies(self, options: Mapping[str, Any]) -> bool:
        return all(
            options[name] in (wanted if isinstance(wanted, tuple) else (wanted,))
            for name, wanted in self.when.items()
        )


def overridden(record: T, overrides: Iterable[Override], options: Mapping[str, Any]) -> T:
    """The record with every override that applies, in their order."""
    for override in overrides:
        if override.applies(options):
            values = {
                name: value.among(record) if isinstance(value, Share) else value
                for name, value in override.settings.items()
            }
            for name, value in values.items():
                record = _changed(record, name, value)
    return record


def _value(record: Any, name: str) -> Any:
    for part in name.split("."):
        record = getattr(record, part)
    return record


def _changed(record: Any, name: str, value: Any) -> Any:
    """A copy in which the field of that dotted name has another value."""
    first, _, rest = name.partition(".")
    if isinstance(record, tuple):
        return tuple(
            _changed(item, rest, value) if first in ("*", str(k)) else item
            for k, item in enumerate(record)
        )
    if rest:
        value = _changed(getattr(record, first), rest, value)
    return replace(record, **{first: value})
