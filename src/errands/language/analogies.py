"""The analogies between subtasks that a skill learns from: G_sim, G_dis and G_diff of the paper.

They range over every subtask of a space, the unseen ones too: that is the prior knowledge which
lets a skill generalize. A subtask is its code (verb, object, count).

Two patterns make all of them, written [verb, object, count] with v, w, u verbs and X != Y objects:

- parallel, at one count n:
  [v,X,n] : [v,Y,n] :: [w,X,n] : [w,Y,n] with v != w, and
  [v,X,n] : [v,Y,n] != [w,X,n] : [u,Y,n] with v, w, u different.
  With "interact with" among the verbs only the first line applies, and it is :: if X and Y belong
  to the same group, != if they do not.
- arithmetic, where there are counts:
  [v,X,a] : [v,X,b] :: [w,Y,c] : [w,Y,d] if a - b == c - d, else !=; a != b, c != d.
  Here [v,X] and [w,Y] may be the same.

A quadruple with A == C or B == D is left out: it is trivial, or equivalent to a pair of G_diff.
Read across, A : C :: B : D is the same constraint as A : B :: C : D, since both say that
A - B - C + D is zero; only the reading above is sampled.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from errands.language.vocabulary import INTERACT

Code = tuple[int, int, int]
Quadruple = tuple[Code, Code, Code, Code]
Relation = Literal["sim", "dis", "diff"]

# Where there are counts, the share of sampled quadruples that are arithmetic. Ours: the paper's
# examples for that scenario are all arithmetic, but the parallel ones are valid there, too.
ARITHMETIC_SHARE = 0.75


class Analogies:
    """All analogies over verbs x objects x counts; "interact with" needs the objects' groups."""

    def __init__(
        self,
        verbs: Sequence[int],
        objects: Sequence[int],
        counts: Sequence[int] = (1,),
        group_of: Mapping[int, int] | None = None,
    ) -> None:
        self.verbs = tuple(verbs)
        self.objects = tuple(objects)
        self.counts = tuple(counts)
        self.group_of = dict(group_of or {})
        if INTERACT in self.verbs and not set(self.objects) <= self.group_of.keys():
            raise ValueError("analogies with 'interact with' need the group of every object")
        for name in ("verbs", "objects", "counts"):
            values = getattr(self, name)
            if not values or len(set(values)) < len(values):
                raise ValueError(f"{name} must be different and at least one, not {values}")

    @cached_property
    def codes(self) -> NDArray[np.int16]:
        """Every subtask of the space, int16[N, 3]."""
        space = itertools.product(self.verbs, self.objects, self.counts)
        return np.array(list(space), dtype=np.int16)

    def _parallel(self, v: int, w: int, x: int, y: int) -> Literal["sim", "dis"]:
        """Whether [v,X] : [v,Y] and [w,X] : [w,Y] are similar."""
        if INTERACT in (v, w) and self.group_of[x] != self.group_of[y]:
            return "dis"
        return "sim"

    def _parallel_quadruples(self, relation: Literal["sim", "dis"], n: int) -> Iterator[Quadruple]:
        for x, y in itertools.permutations(self.objects, 2):
            for v, w in itertools.permutations(self.verbs, 2):
                if self._parallel(v, w, x, y) == relation:
                    yield (v, x, n), (v, y, n), (w, x, n), (w, y, n)
            if relation == "dis":
                for v, w, u in itertools.permutations(self.verbs, 3):
                    if INTERACT not in (v, w, u):
                        yield (v, x, n), (v, y, n), (w, x, n), (u, y, n)

    def _count_rows(self, relation: Literal["sim", "dis"]) -> list[tuple[int, int, int, int]]:
        """Counts (a, b, c, d) with equal differences, or with unequal ones."""
        steps = list(itertools.permutations(self.counts, 2))
        # With one task alone, rows with a == c or b == d always repeat a subtask.
        alone = len(self.verbs) * len(self.objects) == 1
        return [
            (a, b, c, d)
            for (a, b), (c, d) in itertools.product(steps, repeat=2)
            if (a - b == c - d) == (relation == "sim") and not (alone and (a == c or b == d))
        ]

    def sample(self, relation: Relation, count: int, rng: np.random.Generator) -> NDArray[np.int16]:
        """Samples with replacement: int16[count, 4, 3] of "sim" and "dis", [count, 2, 3] of "diff".

        Uniform over the set, except for the `ARITHMETIC_SHARE` where there are counts.
        """
        if relation == "diff":
            return self._sample_pairs(count, rng)
        if relation not in ("sim", "dis"):
            raise ValueError(
                f"unknown kind of analogy {relation!r}; expected one of sim, dis, diff"
            )
        parallel, count_rows = self._tables[relation]
        if not len(parallel) and not len(count_rows):
            raise ValueError(f"this space of subtasks has no analogies of kind {relation!r}")
        share = ARITHMETIC_SHARE if len(parallel) else 1.0
        arithmetic = int(rng.binomial(count, share)) if len(count_rows) else 0
        batch = np.empty((count, 4, 3), dtype=np.int16)
        if arithmetic < count:
            rows = rng.integers(len(parallel), size=count - arithmetic)
            batch[arithmetic:] = parallel[rows]
            if len(self.counts) > 1:
                shared = rng.choice(np.array(self.counts, dtype=np.int16), size=count - arithmetic)
                batch[arithmetic:, :, 2] = shared[:, None]
        if arithmetic:
            batch[:arithmetic] = self._sample_arithmetic(count_rows, arithmetic, rng)
        return batch

    @cached_property
    def _tables(self) -> dict[str, tuple[NDArray[np.int16], NDArray[np.int16]]]:
        """Parallel quadruples at the first count [N, 4, 3], and rows of counts [M, 4]."""
        return {
            relation: (
                np.array(
                    list(self._parallel_quadruples(relation, self.counts[0])), dtype=np.int16
                ).reshape(-1, 4, 3),
                np.array(self._count_rows(relation), dtype=np.int16).reshape(-1, 4),
            )
            for relation in ("sim", "dis")
        }

    def _sample_pairs(self, count: int, rng: np.random.Generator) -> NDArray[np.int16]:
        size = len(self.codes)
        if size < 2:
            raise ValueError("this space has a single subtask, which differs from no other")
        first = rng.integers(size, size=count)
        second = (first + rng.integers(1, size, size=count)) % size
        return self.codes[np.stack([first, second], axis=1)]

    def _sample_arithmetic(
        self, count_rows: NDArray[np.int16], count: int, rng: np.random.Generator
    ) -> NDArray[np.int16]:
        """Two tasks and a row of counts each, sampled again where they would repeat a subtask."""
        tasks = self._tasks
        first, second = rng.integers(len(tasks), size=(2, count))
        rows = count_rows[rng.integers(len(count_rows), size=count)]
        while True:
            repeats = (first == second) & ((rows[:, 0] == rows[:, 2]) | (rows[:, 1] == rows[:, 3]))
            again = np.flatnonzero(repeats)
            if not len(again):
                break
            first[again], second[again] = rng.integers(len(tasks), size=(2, len(again)))
            rows[again] = count_rows[rng.integers(len(count_rows), size=len(again))]
        batch = np.empty((count, 4, 3), dtype=np.int16)
        batch[:, :2, :2] = tasks[first][:, None]
        batch[:, 2:, :2] = tasks[second][:, None]
        batch[:, :, 2] = rows
        return batch

    @cached_property
    def _tasks(self) -> NDArray[np.int16]:
        """Verbs and objects without counts, int16[N, 2]."""
        return np.array(list(itertools.product(self.verbs, self.objects)), dtype=np.int16)
