"""Records: typed fields in one piece of memory, which kernels pass around as one pointer.

A record is declared once, as a class whose annotations carry the field's NumPy type and shape;
kernels use the class as a type, and the memory is laid out from the same annotations.
"""

from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

Records = NDArray[np.void]


def record_dtype(declared: type) -> np.dtype[np.void]:
    """The memory layout of a record: every field is Annotated[type, dtype, *shape]."""
    fields: list[Any] = []
    for name, hint in get_type_hints(declared, include_extras=True).items():
        if get_origin(hint) is not Annotated:
            raise TypeError(f"{declared.__name__}.{name} does not say how it is stored")
        _, dtype, *shape = get_args(hint)
        fields.append((name, dtype, tuple(shape)))
    return np.dtype(fields, align=True)


def new_records(declared: type, count: int) -> Records:
    """A number of records of zeros. Parallel kernels take even a single one as an array."""
    return np.zeros(count, record_dtype(declared))
