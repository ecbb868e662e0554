"""Tables of agents on lists of instructions: ours beside the paper's, every seed in its own row."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from errands.agents.registry import designs, order_of_results
from errands.config import MetaTraining, Preset
from errands.evaluation import published
from errands.evaluation.document import Table
from errands.evaluation.tables import NOTHING, Record, place_of_world, with_error
from errands.presets import meta_training
from errands.worlds.spec import WORLDS

TRAIN, TEST = 4, 20  # instructions of the paper's lists
COLUMNS = (("train", TRAIN), ("seen", TEST), ("unseen", TEST))


@dataclass(frozen=True)
class Variant:
    """What distinguishes one agent from another, whatever lists it is measured on."""

    world: str
    agent: str
    analogy: bool = True
    soft: bool = False  # it updates softly
    learned_soft: bool = False  # and was trained no further than that
    preset: str = ""  # of a trained agent
    seed: int | None = None  # of its training
    without: tuple[str, ...] = ()  # hints of the preset that were left out
    bare: bool = False  # all of them: it is the paper's architecture
    longer: int = 1  # times the preset's frames

    @classmethod
    def of(cls, record: Record) -> "Variant":
        training = record.get("training")
        if training is None:
            return cls(record["world"], record["agent"])
        return cls(
            record["world"],
            training["agent"],
            training["analogy"],
            bool(record.get("soft")),
            bool(training.get("soft")),
            training["preset"],
            training["seed"],
            _left_out(record["world"], training),
            training["preset"] != "paper" and training.get("hints") == [],
            _longer(record["world"], training),
        )

    @property
    def name(self) -> str:
        """As a reader calls it."""
        how = ("", ", hard but run softly", "", ", soft")[self.soft + 2 * self.learned_soft]
        left_out = f", without {' and '.join(self.without)}" if self.without else ""
        left_out = ", without hints" if self.bare else left_out
        longer = f", {self.longer} times the frames" if self.longer > 1 else ""
        return f"{self.agent}{'' if self.analogy else ', no analogy'}{how}{left_out}{longer}"

    @property
    def is_ablation(self) -> bool:
        return not self.analogy or self.soft or bool(self.without) or self.longer > 1

    def published(
        self, split: str, *, with_all: bool = True, forgiving: bool = False
    ) -> published.Cell | None:
        """The papers' cell. Their soft agent had not learned hard updates yet."""
        if self.soft and not self.learned_soft:
            return None
        return published.lists(
            self.world,
            self.agent,
            split,
            with_all=with_all,
            analogy=self.analogy,
            soft=self.soft,
            forgiving=forgiving,
        )

    @property
    def order(self) -> tuple[int, int, bool, bool, bool, tuple[str, ...], int, str, int]:
        order = order_of_results()
        place = order.index(self.agent) if self.agent in order else len(order)
        kind = self.analogy, not self.learned_soft, not self.soft
        how = self.without, self.longer, self.preset, self.seed or 0
        return place_of_world(self.world), place, *kind, *how


def _left_out(world: str, training: Mapping[str, Any]) -> tuple[str, ...]:
    """Hints of the preset that an agent does not have; older records do not name hints."""
    if training.get("hints") is None:
        return ()
    usual = _usual(world, training["agent"], training["preset"])
    return tuple(sorted(set(usual.network.hints) - set(training["hints"]))) if usual else ()


def _longer(world: str, training: Mapping[str, Any]) -> int:
    """How many times the preset's frames an agent was trained for, at least once."""
    usual = _usual(world, training["agent"], training["preset"])
    if usual is None or training.get("total_frames") is None:
        return 1
    frames: int = training["total_frames"]
    return max(1, round(frames / sum(at.frames for at in usual.stages)))


@cache
def _usual(world: str, agent: str, preset: Preset) -> MetaTraining | None:
    """The preset's training, if agent and world are the package's."""
    if world not in WORLDS or agent not in designs():
        return None
    return meta_training(world, agent, preset)


def variants(records: Iterable[Record]) -> list[Variant]:
    return sorted({Variant.of(record) for record in records}, key=lambda item: item.order)


def find(
    records: Iterable[Record],
    variant: Variant,
    split: str,
    length: int,
    *,
    with_all: bool = True,
    forgiving: bool = False,
) -> Record | None:
    """The measurement with most episodes, in worlds of full size."""
    wanted = (variant, split, length, with_all, forgiving, None)
    found = [
        record
        for record in records
        if wanted
        == (
            Variant.of(record),
            record["split"],
            record["length"],
            record["with_all"],
            record["forgiving"],
            record.get("sizes"),
        )
    ]
    return max(found, key=lambda record: int(record["episodes"]), default=None)


def lists_table(records: Sequence[Record]) -> Table:
    """The paper's table of instruction execution: reward, and success in parentheses."""
    plain = [record for record in records if record["with_all"] and not record["forgiving"]]
    headings: tuple[str, ...] = ("world", "agent", "preset", "seed")
    for split, length in COLUMNS:
        headings += (f"{split} {length}: paper", "ours")
    headings += ("episodes", "hours")
    rows = []
    for variant in variants(plain):
        if variant.is_ablation:
            continue  # the table of ablations has them
        cells: tuple[str, ...] = ()
        used = []
        for split, length in COLUMNS:
            record = find(plain, variant, split, length)
            cells += (_theirs(variant.published(split)), _ours(record))
            used += [record] if record else []
        if used:
            rows.append((*_about(variant), *cells, _episodes(used), _hours(used)))
    return Table(headings, tuple(rows), words=3)


def ablation_table(records: Sequence[Record]) -> Table:
    """What analogies, hard updates and instructions with "all" are worth, on lists of 20."""
    columns = [("seen", True), ("unseen", True), ("seen", False), ("unseen", False)]
    headings: tuple[str, ...] = ("world", "agent", "seed")
    for split, with_all in columns:
        headings += (f"{split}{'' if with_all else ', without all'}: paper", "ours")
    rows = []
    usual = [record for record in records if not record["forgiving"]]
    worlds = {published.ABLATION_WORLD}
    worlds |= {variant.world for variant in variants(usual) if variant.is_ablation}
    for variant in (variant for variant in variants(usual) if variant.world in worlds):
        cells: tuple[str, ...] = ()
        found = []
        for split, with_all in columns:
            record = find(usual, variant, split, TEST, with_all=with_all)
            found += [record] if record else []
            theirs = variant.published(split, with_all=with_all)
            cells += (_theirs(theirs), _ours(record))
        if found:
            rows.append((variant.world, variant.name, _seed(variant), *cells))
    return Table(headings, tuple(rows), words=2)


def forgiving_table(records: Sequence[Record]) -> Table | None:
    """The world that puts missing targets back; None if nothing was measured there."""
    there = [r for r in records if r["world"] == published.ABLATION_WORLD and not r.get("sizes")]
    forgiving = [r for r in there if r["forgiving"] and r["with_all"]]
    headings: tuple[str, ...] = ("agent", "seed")
    for split, length in COLUMNS:
        headings += (f"{split} {length}: paper", "ours")
    rows = []
    for variant in variants(forgiving):
        cells: tuple[str, ...] = ()
        for split, length in COLUMNS:
            theirs = variant.published(split, forgiving=True)
            ours = find(forgiving, variant, split, length, forgiving=True)
            cells += (_theirs(theirs), _ours(ours))
        rows.append((variant.name, _seed(variant), *cells))
    return Table(headings, tuple(rows)) if rows else None


def sizes_table(records: Sequence[Record]) -> Table | None:
    """Lists in worlds of several sizes beside the full size; None if nothing was measured there."""
    headings = ("world", "agent", "seed", "lists", "sizes", "ours", "full size: ours", "episodes")
    several = [record for record in records if record.get("sizes")]
    rows = []
    for variant in variants(several):
        for record in several:
            if Variant.of(record) != variant:
                continue
            about = {name: record[name] for name in ("with_all", "forgiving")}
            full = find(records, variant, record["split"], record["length"], **about)
            lists = f"{record['split']} {record['length']}"
            sizes = "..".join(map(str, record["sizes"]))
            cells = lists, sizes, _ours(record), _ours(full), f"{record['episodes']:,}"
            rows.append((variant.world, variant.name, _seed(variant), *cells))
    return Table(headings, tuple(rows), words=5) if rows else None


def caught_table(records: Sequence[Record]) -> Table | None:
    """Which share of the events each agent used, beside the near-optimal policy's."""
    plain = [r for r in records if r["with_all"] and not r["forgiving"]]
    headings: tuple[str, ...] = ("world", "agent", "seed")
    headings += tuple(f"{split} {length}" for split, length in COLUMNS)
    rows = []
    for variant in variants(plain):
        found = [find(plain, variant, split, length) for split, length in COLUMNS]
        shares = [caught(record) if record else None for record in found]
        if any(share is not None for share in shares):
            said = (NOTHING if share is None else f"{share:.1%}" for share in shares)
            rows.append((variant.world, variant.name, _seed(variant), *said))
    return Table(headings, tuple(rows), words=2) if rows else None


def caught(record: Record) -> float | None:
    """The share of all events that were used; nothing of nothing."""
    events: float = record["events"]["mean"]
    return float(record["events_used"]["mean"]) / events if events else None


def _about(variant: Variant) -> tuple[str, str, str, str]:
    return variant.world, variant.agent, variant.preset or NOTHING, _seed(variant)


def _seed(variant: Variant) -> str:
    return NOTHING if variant.seed is None else str(variant.seed)


def _theirs(cell: published.Cell | None) -> str:
    return f"{cell.reward:.2f} ({cell.success:.1%})" if cell else NOTHING


def _ours(record: Record | None) -> str:
    if record is None:
        return NOTHING
    reward, success = with_error(record["reward"], 2), with_error(record["success"], 1, 100)
    return f"{reward} ({success}%)"


def _episodes(records: Sequence[Record]) -> str:
    """How many a cell has, at least."""
    return f"{min(record['episodes'] for record in records):,}"


def _hours(records: Sequence[Record]) -> str:
    """How long the agent was trained; planners are not."""
    training = records[0].get("training")
    return f"{training['seconds'] / 3600:.1f}" if training else NOTHING
