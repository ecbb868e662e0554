"""How the worlds' hot loops are compiled: Numba, cached on disk, released from the GIL.

Numba's own cache only looks at the file a function stands in, not at the files of the functions
that it calls. A changed rule could so leave an old step in the cache. Here the cache folder is
named after the content of every file that kernels depend on, so a change in one compiles all anew.
Nor does it look at how a function is compiled: what is parallel has a folder of its own, so that
the same function can be compiled for one core and for all.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

import numba

# Modules that no kernel depends on: what changes there compiles nothing anew.
WITHOUT_KERNELS = {"__init__", "art", "draw", "film", "gym", "kinds", "registration", "tasks"}
CONSTANTS = "language/vocabulary.py"  # kernels have its codes of verbs and quantities compiled in

Function = TypeVar("Function", bound=Callable[..., Any])


def _cache_folder() -> str:
    digest = hashlib.sha256()
    here = Path(__file__).parent
    sources = [source for source in here.glob("*.py") if source.stem not in WITHOUT_KERNELS]
    for source in (*sorted(sources), here.parent / CONSTANTS):
        digest.update(source.read_bytes())
    base = os.environ.get("NUMBA_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "errands"
    )
    return os.path.join(base, digest.hexdigest()[:16])


_CACHE_FOLDER = _cache_folder()


def kernel(*, parallel: bool = False) -> Callable[[Function], Function]:
    """Compile a function on first use; `parallel` lets `numba.prange` use every core."""

    def compile_lazily(function: Function) -> Function:
        # The folder is read when a function is decorated; other users of Numba in the same
        # process keep their own.
        settings: Any = numba.config
        folder = os.path.join(_CACHE_FOLDER, "parallel") if parallel else _CACHE_FOLDER
        previous, settings.CACHE_DIR = settings.CACHE_DIR, folder
        try:
            return cast(Function, numba.njit(cache=True, nogil=True, parallel=parallel)(function))
        finally:
            settings.CACHE_DIR = previous

    return compile_lazily


def specialised(function: Function, *, parallel: bool = False, **parts: Any) -> Function:
    """Compile a function with kernels of one's choice in place of some that it calls by name.

    So all kinds of world share one step, and each has it compiled around its own `act`. A kernel
    that is passed as an argument instead would be called through a pointer, and Numba could not
    keep the result in its cache. What is kept there goes by the function's name, so the name says
    which parts were put in.
    """
    plain = cast(FunctionType, function)
    filled = FunctionType(plain.__code__, {**plain.__globals__, **parts}, plain.__name__)
    digest = hashlib.sha256()
    for name in sorted(parts):
        part = parts[name].py_func
        digest.update(f"{name} {part.__module__}.{part.__qualname__}".encode())
        digest.update(Path(part.__code__.co_filename).read_bytes())
    filled.__qualname__ = f"{plain.__qualname__}_{digest.hexdigest()[:16]}"
    return kernel(parallel=parallel)(cast(Function, filled))


def bound_to(function: Callable[..., Any], *arguments: object) -> Callable[..., Any]:
    """The machine code of a kernel for arguments of these types: no other may be handed to it.

    A kernel looks at the types of all its arguments at every call. Where there are a dozen arrays
    that never change, that takes as long as to step a dozen worlds.
    """
    compiled: Callable[..., Any] = cast(Any, function).compile(tuple(map(numba.typeof, arguments)))
    return compiled
