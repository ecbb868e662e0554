"""Records: declared once, read by NumPy and by kernels."""

from typing import Annotated

import numpy as np
import pytest
from numpy.typing import NDArray

from errands.kernel import kernel
from errands.worlds.record import new_records, record_dtype
from errands.worlds.spec import MAP_SIZE, MOST_OBJECTS
from errands.worlds.state import World


class Shelf:
    books: Annotated[NDArray[np.int16], "i2", 2, 3]
    height: Annotated[float, "f8"]
    locked: Annotated[bool, "?"]


@kernel()
def fill(shelf: Shelf) -> None:
    shelf.height += 1.5
    shelf.books[1, 2] = 7
    shelf.locked = True


def test_fields_have_the_declared_type_and_shape() -> None:
    dtype = record_dtype(Shelf)
    assert dtype.names == ("books", "height", "locked")
    assert dtype["books"].shape == (2, 3)
    assert dtype["books"].base == np.int16
    assert dtype["height"] == np.float64
    assert dtype["locked"] == np.bool_
    assert dtype.isalignedstruct


def test_new_records_are_zero() -> None:
    shelves = new_records(Shelf, 3)
    assert shelves.shape == (3,)
    assert not shelves["books"].any()
    assert not shelves["locked"].any()


def test_a_kernel_writes_into_the_record_it_is_given() -> None:
    shelves = new_records(Shelf, 2)
    fill(shelves[1])
    fill(shelves[1])
    assert shelves["height"].tolist() == [0.0, 3.0]
    assert shelves["books"][:, 1, 2].tolist() == [0, 7]
    assert shelves["locked"].tolist() == [False, True]


def test_a_field_must_say_how_it_is_stored() -> None:
    class Loose:
        width: int

    with pytest.raises(TypeError, match=r"Loose\.width does not say how it is stored"):
        record_dtype(Loose)


def test_a_world_is_small_enough_to_stay_in_the_cache() -> None:
    dtype = record_dtype(World)
    assert dtype["tiles"].shape == (MAP_SIZE, MAP_SIZE)
    assert dtype["counts"].shape == (MOST_OBJECTS,)
    assert dtype.itemsize <= 256
