"""How inner loops are compiled: by Numba, cached on disk, without the GIL.

Numba's own cache considers only the file that a function is in, not the files of the functions
that it calls, so after a change of a rule it could return an outdated step. Here the name of the
cache folder depends on the content of every file that the worlds' kernels use: a change in one of
them recompiles all. (The agents' kernels call none from another file.) Nor does the cache consider
compiler options: parallel kernels have a separate folder, so that the same function can be compiled
for one core and for all.
"""

import functools
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

import numba

# Modules of the worlds that no kernel depends on: a change in them recompiles nothing.
WITHOUT_KERNELS = {
    *("__init__", "art", "draw", "film", "gym", "gym_vector"),
    *("kinds", "registration", "tasks", "window"),
}
CONSTANTS = "language/vocabulary.py"  # its codes of verbs and quantities are compiled in

Function = TypeVar("Function", bound=Callable[..., Any])


def _cache_folder() -> str:
    digest = hashlib.sha256()
    here = Path(__file__).parent
    worlds = [file for file in here.glob("worlds/*.py") if file.stem not in WITHOUT_KERNELS]
    for source in (Path(__file__), *sorted(worlds), here / CONSTANTS):
        digest.update(source.read_bytes())
    base = os.environ.get("NUMBA_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "errands"
    )
    return os.path.join(base, digest.hexdigest()[:16])


_CACHE_FOLDER = _cache_folder()


def kernel(*, parallel: bool = False) -> Callable[[Function], Function]:
    """Compile a function on first use; `parallel` lets `numba.prange` use every core."""

    def compile_lazily(function: Function) -> Function:
        # Numba reads the folder when a function is decorated; other users of Numba in the same
        # process keep theirs.
        settings: Any = numba.config
        folder = os.path.join(_CACHE_FOLDER, "parallel") if parallel else _CACHE_FOLDER
        previous, settings.CACHE_DIR = settings.CACHE_DIR, folder
        try:
            return cast(Function, numba.njit(cache=True, nogil=True, parallel=parallel)(function))
        finally:
            settings.CACHE_DIR = previous

    return compile_lazily


def batched(few: int) -> Callable[[Function], Function]:
    """Compile a loop over the samples of its first argument for one core and for all.

    Up to `few` samples use one core: waking the others takes longer.
    """

    def compile_both(function: Function) -> Function:
        on_one, on_all = kernel()(function), kernel(parallel=True)(function)

        def run(samples: Any, *others: Any) -> Any:
            return (on_one if len(samples) <= few else on_all)(samples, *others)

        return cast(Function, functools.update_wrapper(run, function))

    return compile_both


def specialised(function: Function, *, parallel: bool = False, **parts: Any) -> Function:
    """Compile a function with given kernels in place of some that it calls by name.

    This lets all kinds of world share one step, each compiled with its own `act`. A kernel that is
    passed as an argument instead is called through a pointer, and the result cannot be cached. The
    cache uses the function's name as key, so the name is made to depend on the parts.
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
    """The machine code of a kernel for arguments of these types; others must not be passed to it.

    A kernel inspects the types of all its arguments at every call. With a dozen arrays that never
    change, this takes as long as stepping a dozen worlds.
    """
    compiled: Callable[..., Any] = cast(Any, function).compile(tuple(map(numba.typeof, arguments)))
    return compiled
