"""What a model card says against its agent: limits that follow from its files and its results."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from errands.agents.registry import ALWAYS_THERE, designs
from errands.evaluation import published
from errands.evaluation.estimates import NORMAL, share_interval
from errands.evaluation.list_tables import COLUMNS, Variant, caught, find, variants
from errands.evaluation.tables import Record
from errands.language.splits import COUNTS, TRAINED_COUNTS, subtasks
from errands.language.vocabulary import VERBS, quantity_word
from errands.worlds.spec import MAP_SIZE, SMALLEST, WORLDS, WorldSpec

CAUSES = {  # of failed lists, in the words of a sentence
    "left early": "left an instruction before it was done",
    "stayed too long": "stayed at an instruction that was done",
    "missed signal": "missed the signal that an instruction was done",
    "another verb or object": "did another subtask than asked",
    "clock": "ran out of steps",
}
SKILL_ROWS = {"train": "trained", "unseen": "never trained"}  # splits that the paper measures
LOST = 0.02  # of success on unseen subtasks, from which a card says that it does not generalise


@dataclass(frozen=True)
class CardEvidence:
    """What limits follow from."""

    description: Mapping[str, Any]  # the agent's JSON
    own: Sequence[Record]  # measured with its weights
    records: Sequence[Record]  # of all agents of its kind
    planners: Sequence[Record]

    @property
    def learned(self) -> Mapping[str, Any]:
        training: Mapping[str, Any] = self.description["training"]
        return training

    @property
    def spec(self) -> WorldSpec:
        return WORLDS[self.learned["world"]]

    @property
    def variant(self) -> Variant | None:
        """The agent as tables call it, run as it was trained; None if that was not measured."""
        soft = bool(self.description.get("soft"))
        run = (record for record in self.own if bool(record.get("soft")) == soft)
        return next(map(Variant.of, run), None)

    @property
    def papers(self) -> list[Record]:
        """The measurements that the paper has as well."""
        if self.description["kind"] == "skill":
            found = [self.subtasks(split) for split in SKILL_ROWS]
        else:
            found = [self.lists(split, length) for split, length in COLUMNS]
        return [record for record in found if record]

    def lists(self, split: str, length: int) -> Record | None:
        """A measurement under the paper's conditions."""
        return find(self.own, self.variant, split, length) if self.variant else None

    def subtasks(self, split: str) -> Record | None:
        return next((record for record in self.own if record["split"] == split), None)


def limits(of: CardEvidence) -> list[str]:
    """One sentence or two each."""
    particular = _skill_limits if of.description["kind"] == "skill" else _list_limits
    return [*_world(of), *particular(of), *_seeds(of), *_worse(of)]


def _world(of: CardEvidence) -> Iterator[str]:
    spec = of.spec
    yield (
        f"It knows the {len(spec.objects)} kinds of object of the {spec.name} world "
        f"({', '.join(spec.objects)}), and maps of at most {MAP_SIZE} by {MAP_SIZE} cells, border "
        f"included. Other words are refused."
    )


def _list_limits(of: CardEvidence) -> Iterator[str]:
    yield _lengths(of)
    lacking = [f'"{verb}"' for verb in VERBS[of.description["network"]["verbs"] :]]
    if lacking:
        yield f"It cannot do {' or '.join(lacking)}, which no list of the paper has."
    spoken = [f'"{quantity_word(one)}"' for one in of.spec.vocabulary.quantities if one != 1]
    yield (
        f"An instruction can ask for {' or '.join(spoken)} of a kind; any other number becomes "
        "several instructions."
    )
    yield from _events(of)
    yield from _failures(of)
    if not of.learned["analogy"]:
        yield "Its embedding of subtasks was trained without analogies: it is here for comparison."
    if of.description.get("soft"):
        yield (
            "It blends old and new decisions in every step, so its pointer can be between two "
            "instructions."
        )
    if of.description["network"]["flat"]:
        yield "It has no skill: it had to learn every subtask within the same frames."
        yield "It samples its actions, so the same list can go differently."
    else:
        yield "Its skill samples actions, so the same list can go differently."
    if of.variant and of.variant.without:
        absent = " and ".join(f"`{name}`" for name in of.variant.without)
        yield f"It does not have the hint {absent}, which its preset has now."
    if of.description["network"]["hints"]:
        yield (
            "Its hints are priors that the paper's agents do not have, so a better number than the "
            "paper's does not show a better learning rule."
        )


def _lengths(of: CardEvidence) -> str:
    longest = of.learned["longest"]
    said = (
        f"It was trained on lists of at most {longest} instructions, on maps that grow from "
        f"{SMALLEST} to {MAP_SIZE} cells a side"
    )
    measured = [record["length"] for record in of.own]
    if not measured:
        return f"{said}. No committed result says what it does on any list."
    return f"{said}, and measured on lists of at most {max(measured)}; longer ones are untested."


def _events(of: CardEvidence) -> Iterator[str]:
    event = of.spec.event
    if event is None:
        return
    said = ""
    design = designs()[of.learned["agent"]]
    if not design.interrupts and not design.flat:
        said = f"It cannot interrupt a subtask for an event ({event.object}). "
    shares = []
    for split, length in COLUMNS:
        ours = of.lists(split, length)
        best = find(of.planners, Variant(of.spec.name, ALWAYS_THERE), split, length)
        if ours and best:
            used, possible = caught(ours), caught(best)
            shares.append(f"{used:.0%} in {split} lists of {length} (the planner: {possible:.0%})")
    if shares:
        said += (
            f"Events ({event.object}) that it used, beside a planner that goes for those that are "
            f"close: {'; '.join(shares)}."
        )
    if said:
        yield said


def _failures(of: CardEvidence) -> Iterator[str]:
    """Which decisions went wrong, where that was recorded."""
    explained = False
    for split, length in COLUMNS:
        record = of.lists(split, length)
        if record is None or not record.get("explanation"):
            continue
        explained = True
        found = record["explanation"]
        causes = sorted(found["causes"].items(), key=lambda item: -(item[1]["lists"] or 0))
        told = [f"{counts['lists']} {CAUSES[name]}" for name, counts in causes if counts["lists"]]
        said = f"Of {record['episodes']:,} {split} lists of {length}, {found['failed']} failed"
        said += f": {', '.join(told)}." if told else "."
        worst = causes[0][0]
        example = next((e for e in found["examples"] if e["cause"] == worst), None)
        yield said + (
            f" An example (seed {example['seed']}): {example['sentence']}" if example else ""
        )
    if of.own and not explained:
        yield (
            "Which of its decisions go wrong has not been recorded (`errands evaluate instructions "
            "--explain` shows it)."
        )


def _skill_limits(of: CardEvidence) -> Iterator[str]:
    world, scenario = of.learned["world"], of.learned["scenario"]
    trained = {item.verb for item in subtasks(world, scenario, "train")}
    known = VERBS[: of.description["network"]["verbs"]]
    lacking = " or ".join(f'"{verb}"' for verb in known if verb not in trained)
    if lacking:
        yield f"It was never trained to {lacking}, although its network takes that verb."
    if of.description["network"]["counted"]:
        yield (
            f"It counts up to {COUNTS[-1]}; {', '.join(map(str, TRAINED_COUNTS))} were trained. "
            "No meta controller uses it."
        )
    else:
        yield 'It does a subtask once. Counting and "all" are left to a meta controller.'
    if not of.learned.get("in_lists"):
        yield (
            "It was trained on single subtasks that begin with an episode, without events. A "
            "subtask of a list begins where the last one ended."
        )
    unseen = of.subtasks("unseen")
    if unseen and unseen.get("termination"):
        wrong, missed = (1 - unseen["termination"][name] for name in ("precision", "recall"))
        yield (
            f"On unseen subtasks, {wrong:.2%} of its signals that a subtask is finished are wrong, "
            f"and it misses {missed:.2%} of the finished ones."
        )
    yield from _generalisation(of)


def _generalisation(of: CardEvidence) -> Iterator[str]:
    by_split = {record["split"]: record["success"]["mean"] for record in of.own}
    if not {"train", "unseen"} <= by_split.keys():
        yield "How well it generalises has not been measured."
    elif by_split["train"] - by_split["unseen"] > LOST:
        why = "" if of.learned["analogy"] else ", for want of analogies: it is here for comparison"
        yield (
            f"It does not generalise{why}. It does {by_split['train']:.1%} of trained subtasks and "
            f"{by_split['unseen']:.1%} of unseen ones."
        )


def _seeds(of: CardEvidence) -> Iterator[str]:
    """How other seeds of the same training did."""
    others = _other_skills(of) if of.description["kind"] == "skill" else _other_agents(of)
    told = [f"seed {seed} did {', '.join(cells)}" for seed, cells in others.items() if cells]
    said = f"It is one training run, seed {of.learned['seed']}; runs differ"
    yield f"{said}: {'; '.join(told)}." if told else f"{said}, and no other seed was measured."


def _other_agents(of: CardEvidence) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for other in variants(of.records):
        if other.seed not in (None, of.learned["seed"]) and of.variant:
            if replace(other, seed=of.variant.seed) != of.variant:
                continue
            assert other.seed is not None
            found[other.seed] = [
                f"{record['success']['mean']:.1%} of {split} lists of {length}"
                for split, length in COLUMNS
                if (record := find(of.records, other, split, length))
            ]
    return found


def _other_skills(of: CardEvidence) -> dict[int, list[str]]:
    def key(scenario: str, training: Mapping[str, Any]) -> tuple[Any, ...]:
        how = (training[name] for name in ("preset", "teacher", "analogy"))
        return scenario, *how, bool(training.get("in_lists"))

    mine = key(of.learned["scenario"], of.learned)
    found: dict[int, list[str]] = {}
    for record in of.records:
        seed = record["training"]["seed"]
        alike = key(record["scenario"], record["training"]) == mine
        if alike and record["world"] == of.spec.name and seed != of.learned["seed"]:
            said = f"{record['success']['mean']:.1%} of {record['split']} subtasks"
            found.setdefault(seed, []).append(said)
    return found


def _worse(of: CardEvidence) -> Iterator[str]:
    """Where the paper's number is certainly higher."""
    found = []
    if of.description["kind"] == "skill":
        for record in of.own:
            theirs = published.skill(
                record["world"], record["scenario"], record["split"], analogy=of.learned["analogy"]
            )
            found += _behind(record, theirs, f"{record['split']} subtasks")
    else:
        for split, length in COLUMNS:
            own = of.lists(split, length)
            if own:
                theirs = Variant.of(own).published(split)
                found += _behind(own, theirs, f"{split} lists of {length}")
    if found:
        yield f"It is behind the paper by {'; '.join(found)}."


def _behind(record: Record, theirs: published.Cell | None, where: str) -> list[str]:
    if theirs is None:
        return []
    success, reward = record["success"]["mean"], record["reward"]
    said = []
    if share_interval(success, record["episodes"])[1] < theirs.success:
        said.append(f"success on {where} ({success:.1%}, the paper's {theirs.success:.1%})")
    if reward["mean"] + NORMAL * (reward["stderr"] or 0) < theirs.reward:
        said.append(f"reward on {where} ({reward['mean']:.2f}, the paper's {theirs.reward:.2f})")
    return said
