"""Tables of lists: every seed in its row, each cell beside the paper's."""

from errands.agents.fast_hints import GRID_HINTS
from errands.evaluation.list_tables import (
    Variant,
    ablation_table,
    caught_table,
    find,
    forgiving_table,
    lists_table,
    sizes_table,
    variants,
)
from errands.evaluation.tables import planner_table
from twins.results import list_record

PAPERS = (("train", 4), ("seen", 20), ("unseen", 20))


def test_every_seed_has_a_row_of_its_own() -> None:
    records = [
        list_record("dynamic", split, length, seed=seed)
        for seed in (1, 0)
        for split, length in PAPERS
    ]
    records += [list_record("near-optimal", split, length) for split, length in PAPERS]
    table = lists_table(records)
    assert [row[1:4] for row in table.rows] == [
        ("near-optimal", "-", "-"),
        ("dynamic", "fast", "0"),
        ("dynamic", "fast", "1"),
    ]
    dynamic = table.rows[1]
    assert dynamic[4:6] == ("-1.26 (95.5%)", "-2.00 ±0.02 (90.0 ±1.0%)")
    assert dynamic[-2:] == ("1,000", "2.0")
    assert table.rows[0][-1] == "-"
    assert len(dynamic) == len(table.headings)


def test_hints_that_were_left_out_and_longer_training_make_another_agent() -> None:
    """The main table leaves both out; records of before did not name them."""
    record = list_record("dynamic", "seen", 20)
    every = sorted(GRID_HINTS)
    usual = {"hints": every, "total_frames": 1_200_000}
    names = {}
    for changes in ({}, {"hints": every[2:]}, {"total_frames": 3_600_000}):
        changed = record | {"training": record["training"] | usual | changes}
        variant = Variant.of(changed)
        names[variant.name] = len(lists_table([changed]).rows)
    assert names == {
        "dynamic": 1,
        "dynamic, without bookmark and briefing": 0,
        "dynamic, 3 times the frames": 0,
    }
    assert Variant.of(record).name == "dynamic"


def test_the_main_table_is_without_ablations() -> None:
    records = [
        list_record("dynamic", "seen", 20, analogy=False),
        list_record("dynamic", "seen", 20, soft=True),
        list_record("dynamic", "seen", 20, forgiving=True),
        list_record("dynamic", "seen", 20, with_all=False),
        list_record("dynamic", "seen", 10),
    ]
    assert lists_table(records).rows == ()


def test_most_episodes_win() -> None:
    records = [list_record("short", "seen", 20, episodes=n) for n in (1000, 5000, 2000)]
    found = find(records, Variant.of(records[0]), "seen", 20)
    assert found is records[1]
    assert find(records, Variant.of(records[0]), "seen", 19) is None


def test_variants_are_told_apart_by_how_they_were_trained() -> None:
    training = list_record("dynamic", "seen", 20, soft=True)["training"]
    records = [
        list_record("dynamic-soft", "seen", 20, training=training, soft=True),
        list_record("dynamic", "seen", 20, run_soft=True),
        list_record("dynamic", "seen", 20, analogy=False),
        list_record("dynamic", "seen", 20),
        list_record("shortest-path", "seen", 20),
    ]
    names = [variant.name for variant in variants(records)]
    assert names == [
        "shortest-path",
        "dynamic, no analogy",
        "dynamic, soft",
        "dynamic, hard but run softly",
        "dynamic",
    ]


def test_ablations_stand_beside_the_earlier_version() -> None:
    records = [
        list_record("dynamic", "unseen", 20, soft=True),
        list_record("dynamic", "unseen", 20, with_all=False),
    ]
    soft, hard = ablation_table(records).rows
    assert soft[1] == "dynamic, soft"
    assert soft[5:7] == ("-16.24 (22.0%)", "-10.00 ±0.02 (90.0 ±1.0%)")
    assert hard[5:7] == ("-14.75 (40.3%)", "-")
    (run_softly,) = ablation_table([list_record("dynamic", "unseen", 20, run_soft=True)]).rows
    assert run_softly[5] == "-"  # theirs had learned nothing but soft updates
    assert hard[9:] == ("-9.51 (73.9%)", "-10.00 ±0.02 (90.0 ±1.0%)")
    block = list_record("dynamic", "unseen", 20, world="block")
    assert {row[0] for row in ablation_table([*records, block]).rows} == {"grid"}
    left_out = list_record("dynamic", "unseen", 20, world="block", analogy=False)
    both = [row[:2] for row in ablation_table([*records, block, left_out]).rows[2:]]
    assert both == [("block", "dynamic, no analogy"), ("block", "dynamic")]


def test_the_forgiving_world_has_its_table_if_it_was_measured() -> None:
    assert forgiving_table([list_record("dynamic", "seen", 20)]) is None
    table = forgiving_table([list_record("dynamic", "seen", 20, forgiving=True)])
    assert table is not None
    assert table.rows[0][4] == "-11.06 (86.2%)"


def test_other_sizes_stand_beside_the_full_size_and_nowhere_else() -> None:
    full = list_record("dynamic", "train", 4)
    assert sizes_table([full]) is None
    better = {"mean": 0.95, "stderr": 0.01}
    small = list_record("dynamic", "train", 4, sizes=[7, 10], success=better, episodes=5000)
    other = list_record("short", "train", 4, sizes=[7, 10], forgiving=True)
    table = sizes_table([full, small, other])
    assert table is not None
    ours = "-2.00 ±0.02 (90.0 ±1.0%)"
    assert [row[1:] for row in table.rows] == [
        ("short", "0", "train 4", "7..10", ours, "-", "1,000"),
        ("dynamic", "0", "train 4", "7..10", "-2.00 ±0.02 (95.0 ±1.0%)", ours, "5,000"),
    ]
    assert len(table.headings) == len(table.rows[0])
    assert find([full, small], Variant.of(full), "train", 4) is full
    assert lists_table([small]).rows == ()
    assert forgiving_table([other]) is None
    planners = [
        list_record("shortest-path", "train", 4, **size) for size in ({}, {"sizes": [7, 7]})
    ]
    assert len(planner_table(planners).rows) == 1


def test_caught_events_also_in_older_records() -> None:
    records = [list_record("near-optimal", "seen", 20), list_record("long", "unseen", 20)]
    del records[0]["caught"]
    nothing = {"mean": 0.0, "stderr": 0.0}
    records.append(list_record("short", "seen", 20, events=nothing, events_used=nothing))
    table = caught_table(records)
    assert table is not None
    assert [row[1:] for row in table.rows] == [
        ("near-optimal", "-", "-", "40.0%", "-"),
        ("long", "0", "-", "-", "40.0%"),
    ]
