"""The sets of analogies against a slow twin written straight from the paper's definitions."""

import itertools
import time

import numpy as np
import pytest

from errands.language.analogies import ARITHMETIC_SHARE, Analogies, Code, Relation
from errands.language.instruction import Instruction, parse_instruction
from errands.language.splits import SCENARIOS, VOCABULARIES, subtasks
from errands.language.vocabulary import BLOCK_VOCABULARY, INTERACT
from errands.worlds.spec import WORLDS
from errands.worlds.tasks import analogies as analogies_of

RELATIONS: tuple[Relation, ...] = ("sim", "dis", "diff")
# Small enough to try every quadruple: 4 verbs x 3 objects, or 2 x 2 x 3 counts.
DRAWS = 60_000  # meet every member of the sets below
SMALL_SPACES = {
    "independent": Analogies((0, 1, 2), (0, 1, 2)),
    "object-dependent": Analogies((0, 1, 2, INTERACT), (0, 1, 2), (1,), {0: 1, 1: 2, 2: 1}),
    "inter-extrapolation": Analogies((0, 2), (0, 1), (1, 2, 3)),
    "three verbs with counts": Analogies((0, 1, 2), (0, 1), (1, 4)),
    "one task": Analogies((1,), (0,), (1, 2, 3)),
}


def twin(space: Analogies, relation: Relation, codes: tuple[Code, ...]) -> bool:
    """Whether the codes are in the set of this relation, one definition after the other."""
    if relation == "diff":
        return codes[0] != codes[1]
    a, b, c, d = codes
    v, x, n = a
    y = b[1]
    w = c[0]
    if a == c or b == d:
        return False
    if x != y:
        if b != (v, y, n) or c != (w, x, n) or d[1:] != (y, n):
            return False
        u = d[0]
        if INTERACT in (v, w, u):
            alike = space.group_of[x] == space.group_of[y]
            return v != w == u and alike == (relation == "sim")
        return (v != w == u) if relation == "sim" else len({v, w, u}) == 3
    difference_ab, difference_cd = a[2] - b[2], c[2] - d[2]
    if a[:2] != b[:2] or c[:2] != d[:2] or 0 in (difference_ab, difference_cd):
        return False
    return (difference_ab == difference_cd) == (relation == "sim")


def members(space: Analogies, relation: Relation) -> set[tuple[Code, ...]]:
    """The whole set, by trying every pair or quadruple."""
    codes = [(int(v), int(x), int(n)) for v, x, n in space.codes]
    every = itertools.product(codes, repeat=2 if relation == "diff" else 4)
    return {chosen for chosen in every if twin(space, relation, chosen)}


def sampled(space: Analogies, relation: Relation, count: int) -> set[tuple[Code, ...]]:
    batch = space.sample(relation, count, np.random.default_rng(count))
    return {tuple((v, x, n) for v, x, n in row) for row in batch.tolist()}


def relations_of(space: Analogies, quadruple: tuple[Code, ...]) -> set[str]:
    """Which samples a quadruple is among; read across, it is the same constraint."""
    a, b, c, d = quadruple
    found = set()
    for relation in RELATIONS[:2]:
        batch = space.sample(relation, DRAWS, np.random.default_rng(DRAWS))
        for reading in ((a, b, c, d), (a, c, b, d)):
            if (batch == np.array(reading)).all(axis=(1, 2)).any():
                found.add(relation)
    return found


@pytest.mark.parametrize("name", SMALL_SPACES)
def test_samples_are_the_twins_sets(name: str) -> None:
    """Enough draws meet every member, and nothing else."""
    space = SMALL_SPACES[name]
    sets = {relation: members(space, relation) for relation in RELATIONS}
    for relation, expected in sets.items():
        assert sampled(space, relation, 40 * len(expected)) == expected
    across = {(a, c, b, d) for a, b, c, d in sets["sim"]}
    assert not (sets["sim"] | across) & sets["dis"]


def code(text: str, count: int = 1) -> Code:
    named = parse_instruction(text, BLOCK_VOCABULARY)
    return Instruction(named.verb, named.object, count).code(BLOCK_VOCABULARY)


def test_examples_of_the_appendix() -> None:
    independent = analogies_of(WORLDS["block"], "independent")
    visits = code("visit pig"), code("visit cat")
    same, other = code("transform cat"), code("pick up cat")
    assert relations_of(independent, (*visits, code("transform pig"), same)) == {"sim"}
    assert relations_of(independent, (*visits, code("transform pig"), other)) == {"dis"}

    dependent = analogies_of(WORLDS["block"], "object-dependent")
    for first, second, alike in [
        ("sheep", "cat", True),
        ("sheep", "greenbot", False),
        ("horse", "greenbot", True),
    ]:
        quadruple = tuple(
            code(f"{verb} {name}")
            for verb in ("visit", "interact with")
            for name in (first, second)
        )
        assert relations_of(dependent, quadruple) == {"sim" if alike else "dis"}


@pytest.mark.parametrize(
    ("text", "counts", "alike"),
    [
        ("pick up pig", (1, 6, 2, 7), True),
        ("transform cat", (3, 6, 4, 7), True),
        ("transform cat", (1, 3, 2, 3), False),
        ("transform cat", (2, 5, 3, 6), True),
    ],
)
def test_examples_with_counts(text: str, counts: tuple[int, int, int, int], alike: bool) -> None:
    """In a space of no more verbs and objects than they name: the whole one is too large."""
    a, b, c, d = counts
    quadruple = code("pick up pig", a), code("pick up pig", b), code(text, c), code(text, d)
    verbs, objects, _ = (sorted(set(values)) for values in zip(*quadruple, strict=True))
    space = Analogies(verbs, objects, range(1, 8))
    assert relations_of(space, quadruple) == {"sim" if alike else "dis"}


@pytest.mark.parametrize(
    ("world", "scenario", "sim", "dis"),
    [
        ("grid", "independent", 15 * 14 * 6, 15 * 14 * 6),
        # Groups of 8 and 7: 98 ordered pairs within one, 112 across; 6 pairs of verbs interact.
        ("grid", "object-dependent", 210 * 6 + 98 * 6, 210 * 6 + 112 * 6),
        ("block", "independent", 6 * 5 * 6, 6 * 5 * 6),
        ("block", "object-dependent", 30 * 6 + 12 * 6, 30 * 6 + 18 * 6),
    ],
)
def test_sets_are_counted(world: str, scenario: str, sim: int, dis: int) -> None:
    analogies = analogies_of(WORLDS[world], scenario)
    assert len(sampled(analogies, "sim", DRAWS)) == sim
    assert len(sampled(analogies, "dis", DRAWS)) == dis


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("world", VOCABULARIES)
def test_samples_belong_to_their_sets(world: str, scenario: str) -> None:
    analogies = analogies_of(WORLDS[world], scenario)
    vocabulary = VOCABULARIES[world]
    space = {subtask.code(vocabulary) for subtask in subtasks(world, scenario, "all")}
    assert {tuple(row) for row in analogies.codes.tolist()} == space
    rng = np.random.default_rng(1)
    for relation in RELATIONS:
        batch = analogies.sample(relation, 1500, rng)
        assert batch.dtype == np.int16
        assert batch.shape == (1500, 2 if relation == "diff" else 4, 3)
        for row in batch.tolist():
            assert twin(analogies, relation, tuple((v, x, n) for v, x, n in row))
    assert analogies.sample("sim", 0, rng).shape == (0, 4, 3)


@pytest.mark.parametrize("relation", RELATIONS)
def test_samples_are_uniform(relation: Relation) -> None:
    analogies = SMALL_SPACES["object-dependent"]
    expected = members(analogies, relation)
    batch = analogies.sample(relation, 400 * len(expected), np.random.default_rng(2))
    drawn, counts = np.unique(batch.reshape(len(batch), -1), axis=0, return_counts=True)
    assert len(drawn) == len(expected)
    # Each count is close to 400 with deviation 20.
    assert np.abs(counts - 400).max() < 120


def test_counts_keep_their_share() -> None:
    analogies = analogies_of(WORLDS["block"], "inter-extrapolation")
    batch = analogies.sample("sim", 20_000, np.random.default_rng(3))
    arithmetic = batch[:, 0, 2] != batch[:, 1, 2]
    assert abs(arithmetic.mean() - ARITHMETIC_SHARE) < 0.02
    assert set(batch[~arithmetic][:, 0, 2].tolist()) == set(range(1, 8))


def test_samples_repeat_with_the_seed() -> None:
    analogies = analogies_of(WORLDS["grid"], "inter-extrapolation")
    first, second = (analogies.sample("dis", 64, np.random.default_rng(4)) for _ in range(2))
    assert np.array_equal(first, second)


def test_sampling_is_fast() -> None:
    """A batch of 256 takes well under a millisecond; the bound leaves room for a busy machine."""
    analogies = analogies_of(WORLDS["grid"], "inter-extrapolation")
    rng = np.random.default_rng(5)
    durations = []
    for _ in range(50):
        start = time.perf_counter()
        analogies.sample("dis", 256, rng)
        durations.append(time.perf_counter() - start)
    assert min(durations) < 1e-3


def test_spaces_without_analogies() -> None:
    rng = np.random.default_rng(6)
    with pytest.raises(ValueError, match="no analogies of kind 'dis'"):
        Analogies((0, 1), (0, 1)).sample("dis", 4, rng)
    with pytest.raises(ValueError, match="no analogies of kind 'sim'"):
        Analogies((0,), (0,), (1, 2)).sample("sim", 4, rng)
    with pytest.raises(ValueError, match="single subtask"):
        Analogies((0,), (0,)).sample("diff", 4, rng)
    with pytest.raises(ValueError, match="expected one of sim, dis, diff"):
        Analogies((0, 1), (0, 1)).sample("same", 4, rng)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="group of every object"):
        Analogies((0, INTERACT), (0, 1), (1,), {0: 1})
    with pytest.raises(ValueError, match="verbs must be different"):
        Analogies((0, 0), (0, 1))
