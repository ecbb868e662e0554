"""What agents carry from step to step: tensors (B, ...) in tuples, which may be nested.

Only the module that made a memory knows what is in it. Everyone else passes it on, and does the
same to each of its tensors: pick worlds, stack steps, save, restore.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar, cast

from torch import Tensor

Memory = tuple[Any, ...]  # of tensors, or of such tuples
Tree = TypeVar("Tree")


def each(function: Callable[..., Tensor], *trees: Tree) -> Tree:
    """The same nested tuples, with the function of the tensors at each place."""
    first: Any = trees[0]
    if isinstance(first, Tensor):
        return cast(Tree, function(*trees))
    parts = [each(function, *items) for items in zip(*cast(Any, trees), strict=True)]
    return cast(Tree, type(first)(*parts) if hasattr(first, "_fields") else tuple(parts))


def leaves(tree: Any, name: str) -> Iterator[tuple[str, Tensor]]:
    """Each tensor with its place, such as "meta.p" or "skill.0"."""
    if isinstance(tree, Tensor):
        yield name, tree
        return
    for field, item in zip(getattr(tree, "_fields", range(len(tree))), tree, strict=True):
        yield from leaves(item, f"{name}.{field}")


def restored(tree: Tree, tensors: Mapping[str, Tensor], name: str) -> Tree:
    """The same nested tuples, with the tensors that `leaves` gave.

    What was not carried when they were saved, by earlier code, stays as it begins.
    """
    found = iter([tensors.get(key, old).to(old.device) for key, old in leaves(tree, name)])
    return each(lambda _: next(found), tree)
