"""Settings and overrides: metadata, conditions, order, and values in proportion to others."""

from dataclasses import dataclass, fields
from fractions import Fraction

import pytest

from errands.settings import Override, Share, meanings, overridden, paper_values, setting


@dataclass(frozen=True)
class Lamp:
    watts: int = setting(40, "how bright", paper=60)
    colour: str = setting("white", "which light")
    socket: str = "E27"  # follows from the room


@dataclass(frozen=True)
class Room:
    name: str = "hall"
    lamp: Lamp = Lamp()
    spares: tuple[Lamp, ...] = (Lamp(), Lamp(25))
    hours: int = setting(3, "of light a day", paper=5)
    notes: dict[str, int] = setting({}, "anything else")


def test_metadata_say_what_a_setting_means_and_what_the_paper_has() -> None:
    assert meanings(Lamp()) == {"watts": "how bright", "colour": "which light"}
    found = dict(paper_values(Room()))
    assert found == {"lamp.watts": 60, "lamp.colour": "white", "hours": 5, "notes": {}}
    assert Room().notes is not Room().notes
    assert [item.default for item in fields(Lamp)] == [40, "white", "E27"]


def test_overrides_apply_in_order_where_their_conditions_hold() -> None:
    overrides = (
        Override({}, {"hours": 4, "lamp.watts": 10}),
        Override({"season": "winter"}, {"hours": 9}),
        Override({"season": ("summer", "spring"), "late": True}, {"hours": 1}),
        Override({"late": True}, {"lamp.watts": 15, "lamp.colour": "red"}),
    )
    winter = overridden(Room(), overrides, {"season": "winter", "late": True})
    assert (winter.hours, winter.lamp) == (9, Lamp(15, "red"))
    spring = overridden(Room(), overrides, {"season": "spring", "late": True})
    assert spring.hours == 1
    early = overridden(Room(), overrides, {"season": "spring", "late": False})
    assert (early.hours, early.lamp) == (4, Lamp(10))
    assert Room() == Room("hall")  # the defaults are as they were


def test_items_are_named_by_number_or_all_at_once() -> None:
    override = Override({}, {"spares.*.colour": "blue", "spares.1.watts": 7})
    assert overridden(Room(), [override], {}).spares == (Lamp(40, "blue"), Lamp(7, "blue"))


def test_shares_are_of_the_values_before_their_override() -> None:
    both = ("hours", "lamp.watts")
    override = Override(
        {}, {"hours": Share(both, Fraction(1, 4)), "lamp.watts": Share(both, Fraction(2))}
    )
    changed = overridden(Room(), [override], {})
    assert (changed.hours, changed.lamp.watts) == (43 // 4, 86)


@pytest.mark.parametrize("name", ["minutes", "lamp.volts", "garden.hours"])
def test_a_setting_that_does_not_exist_is_an_error(name: str) -> None:
    with pytest.raises((TypeError, AttributeError), match=name.split(".")[-1] + "|garden"):
        overridden(Room(), [Override({}, {name: 1})], {})
    with pytest.raises(KeyError, match="season"):
        overridden(Room(), [Override({"season": "winter"}, {})], {})
