"""The sets of analogies against a slow twin written straight from the paper's definitions."""

import itertools
import time

import numpy as np
import pytest

from errands.language.analogies import ARITHMETIC_SHARE, Analogies, Code, Kind
from errands.language.instruction import Instruction, parse_instruction
from errands.language.splits import SCENARIOS, VOCABULARIES, subtasks
from errands.language.vocabulary import BLOCK_VOCABULARY, INTERACT

# Small enough to try every quadruple: 4 verbs x 3 objects, or 2 x 2 x 3 counts.
SMALL_SPACES = {
    "independent": Analogies((0, 1, 2), (0, 1, 2)),
    "object-dependent": Analogies((0, 1, 2, INTERACT), (0, 1, 2), (1,), {0: 1, 1: 2, 2: 1}),
    "inter-extrapolation": Analogies((0, 2), (0, 1), (1, 2, 3)),
    "three verbs with counts": Analogies((0, 1, 2), (0, 1), (1, 4)),
    "one task": Analogies((1,), (0,), (1, 2, 3)),
}


def twin(space: Analogies, kind: str, quadruple: tuple[Code, ...]) -> bool:
    """Whether the quadruple is in the set of this kind, one definition after the other."""
    a, b, c, d = quadruple
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
            return v != w == u and alike == (kind == "sim")
        return (v != w == u) if kind == "sim" else len({v, w, u}) == 3
    difference_ab, difference_cd = a[2] - b[2], c[2] - d[2]
    if a[:2] != b[:2] or c[:2] != d[:2] or 0 in (difference_ab, difference_cd):
        return False
    return (difference_ab == difference_cd) == (kind == "sim")


@pytest.mark.parametrize("name", SMALL_SPACES)
def test_sets_equal_the_twins(name: str) -> None:
    space = SMALL_SPACES[name]
    codes = [(int(v), int(x), int(n)) for v, x, n in space.codes]
    sim, dis = list(space.enumerate_sim()), list(space.enumerate_dis())
    sim_set, dis_set = set(sim), set(dis)
    assert len(sim) == len(sim_set)
    assert len(dis) == len(dis_set)
    for quadruple in itertools.product(codes, repeat=4):
        a, b, c, d = quadruple
        across = (a, c, b, d)
        assert (quadruple in sim_set) == twin(space, "sim", quadruple)
        assert (quadruple in dis_set) == twin(space, "dis", quadruple)
        similar = quadruple in sim_set or across in sim_set
        dissimilar = quadruple in dis_set or across in dis_set
        assert not (similar and dissimilar)
        assert space.is_similar(*quadruple) == similar
        assert space.is_dissimilar(*quadruple) == dissimilar
    pairs = set(space.enumerate_diff())
    assert pairs == {(a, b) for a, b in itertools.product(codes, repeat=2) if a != b}
    assert all(space.is_different(*pair) for pair in pairs)


def test_a_code_outside_the_space_takes_part_in_nothing() -> None:
    space = SMALL_SPACES["independent"]
    inside, outside = (0, 0, 1), (0, 0, 2)
    assert not space.is_different(inside, outside)
    assert not space.is_similar(inside, (0, 9, 1), (1, 0, 1), (1, 9, 1))


def code(text: str, count: int = 1) -> Code:
    named = parse_instruction(text, BLOCK_VOCABULARY)
    return Instruction(named.verb, named.object, count).code(BLOCK_VOCABULARY)


def test_examples_of_the_appendix() -> None:
    independent = Analogies.of("block", "independent")
    visits = code("visit pig"), code("visit cat")
    assert independent.is_similar(*visits, code("transform pig"), code("transform cat"))
    assert independent.is_dissimilar(*visits, code("transform pig"), code("pick up cat"))
    assert independent.is_different(*visits)

    dependent = Analogies.of("block", "object-dependent")
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
        assert dependent.is_similar(*quadruple) == alike
        assert dependent.is_dissimilar(*quadruple) != alike

    counted = Analogies.of("block", "inter-extrapolation")
    for verb, counts, alike in [
        ("pick up pig", (1, 6, 2, 7), True),
        ("transform cat", (3, 6, 4, 7), True),
        ("transform cat", (1, 3, 2, 3), False),
        ("transform cat", (2, 5, 3, 6), True),
    ]:
        a, b, c, d = counts
        quadruple = (code("pick up pig", a), code("pick up pig", b), code(verb, c), code(verb, d))
        assert counted.is_similar(*quadruple) == alike
        assert counted.is_dissimilar(*quadruple) != alike


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
    analogies = Analogies.of(world, scenario)
    assert sum(1 for _ in analogies.enumerate_sim()) == sim
    assert sum(1 for _ in analogies.enumerate_dis()) == dis


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("world", VOCABULARIES)
def test_samples_belong_to_their_sets(world: str, scenario: str) -> None:
    analogies = Analogies.of(world, scenario)
    vocabulary = VOCABULARIES[world]
    space = {subtask.code(vocabulary) for subtask in subtasks(world, scenario, "all")}
    assert {tuple(row) for row in analogies.codes.tolist()} == space
    rng = np.random.default_rng(1)
    kinds: tuple[Kind, ...] = ("sim", "dis", "diff")
    for kind in kinds:
        batch = analogies.sample(kind, 1500, rng)
        assert batch.dtype == np.int16
        assert batch.shape == (1500, 2 if kind == "diff" else 4, 3)
        for row in batch.tolist():
            codes: tuple[Code, ...] = tuple((v, x, n) for v, x, n in row)
            if kind == "diff":
                assert analogies.is_different(*codes)
            else:
                assert twin(analogies, kind, codes)
    assert analogies.sample("sim", 0, rng).shape == (0, 4, 3)


@pytest.mark.parametrize("kind", ["sim", "dis", "diff"])
def test_samples_are_uniform(kind: Kind) -> None:
    analogies = SMALL_SPACES["object-dependent"]
    members = list(getattr(analogies, f"enumerate_{kind}")())
    batch = analogies.sample(kind, 400 * len(members), np.random.default_rng(2))
    drawn, counts = np.unique(batch.reshape(len(batch), -1), axis=0, return_counts=True)
    assert len(drawn) == len(members)
    # Each count is close to 400 with deviation 20.
    assert np.abs(counts - 400).max() < 120


def test_counts_keep_their_share() -> None:
    analogies = Analogies.of("block", "inter-extrapolation")
    batch = analogies.sample("sim", 20_000, np.random.default_rng(3))
    arithmetic = batch[:, 0, 2] != batch[:, 1, 2]
    assert abs(arithmetic.mean() - ARITHMETIC_SHARE) < 0.02
    assert set(batch[~arithmetic][:, 0, 2].tolist()) == set(range(1, 8))


def test_samples_repeat_with_the_seed() -> None:
    analogies = Analogies.of("grid", "inter-extrapolation")
    first, second = (analogies.sample("dis", 64, np.random.default_rng(4)) for _ in range(2))
    assert np.array_equal(first, second)


def test_sampling_is_fast() -> None:
    """A batch of 256 takes well under a millisecond; the bound leaves room for a busy machine."""
    analogies = Analogies.of("grid", "inter-extrapolation")
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
