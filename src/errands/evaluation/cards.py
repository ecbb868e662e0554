"""Model cards of the shipped agents: README.md beside the weights, in the format of Hugging Face.

A card is a pure function of the agent's own files and of the committed results. A result counts
only if it was measured with exactly these weights; what was not measured is said to be missing.
`python docs/tables.py` writes the cards of all shipped agents.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import safe_open

from errands.agents.files import WEIGHTS, read_description
from errands.agents.hints import HINTS
from errands.agents.load import PRETRAINED, shipped_agents
from errands.agents.registry import AGENTS, designs
from errands.evaluation import published
from errands.evaluation.card_limits import SKILL_ROWS, CardEvidence, limits
from errands.evaluation.document import Table
from errands.evaluation.estimates import share_interval
from errands.evaluation.list_tables import COLUMNS, Variant, caught
from errands.evaluation.tables import NOTHING, Record, read_records, with_error
from errands.files import write_atomically
from errands.language.splits import instructions, subtasks
from errands.worlds.spec import WORLDS

CARD = "README.md"
LICENCE = "mit"  # of the package, and so of the weights in it
NOT_MEASURED = "not measured"
# What `training.teacher` says, in each world.
TEACHERS = {
    ("grid", "planner"): "an exact planner that sees the whole state",
    ("block", "planner"): "a planner that goes only for targets that its agent could have seen",
    **dict.fromkeys(
        (("grid", "rl"), ("block", "rl")),
        "policies for single subtasks, trained by reinforcement learning first",
    ),
}
INTENDED = """Research on agents that follow instructions and generalise to ones that were never
trained: as a baseline, to look at decisions step by step, for teaching{or_as}. It acts in the
simulated `{world}` world of Errands, and nowhere else. It is not for robots, and not for any
decision outside these worlds: it has never seen anything else, and nothing about it has been tested
for safety."""
NUMBERS = """Success rates with 95% intervals (Wilson, over episodes; not over training seeds), and
rewards with standard errors, beside the paper's. Every episode takes place in a test world, which
neither training nor the choice of weights used."""
CITATION = """@inproceedings{oh2017zero,
  title     = {Zero-Shot Task Generalization with Multi-Task Deep Reinforcement Learning},
  author    = {Oh, Junhyuk and Singh, Satinder and Lee, Honglak and Kohli, Pushmeet},
  booktitle = {Proceedings of the 34th International Conference on Machine Learning},
  series    = {Proceedings of Machine Learning Research},
  volume    = {70},
  pages     = {2661--2670},
  year      = {2017}
}
"""


def write_cards(results: Path) -> None:
    """The card of every shipped agent, beside its weights."""
    for name in shipped_agents():
        write_atomically(PRETRAINED / name / CARD, card(name, PRETRAINED / name, results).encode())


def card(name: str, folder: Path, results: Path) -> str:
    """The card of the agent in a folder; `name` is what `errands.load` calls it."""
    description = read_description(folder)
    is_skill = description["kind"] == "skill"
    records = read_records(results / ("skills" if is_skill else "instructions"))
    planners = read_records(results / "planners")
    own = [record for record in records if is_of(description, record)]
    evidence = CardEvidence(description, own, records, planners)
    table = _skill_numbers(evidence) if is_skill else _list_numbers(evidence)
    parts = [
        _front_matter(name, evidence),
        f"# {name}",
        _summary(description),
        "## How to use it\n\n" + _use(name, is_skill=is_skill),
        "## Intended use\n\n" + _intended(description),
        "## How it was trained\n\n" + _data(description),
        _training_table(description, folder).markdown(),
        *_hints(description),
        "## Results\n\n" + _line(NUMBERS) + " " + _papers_numbers(evidence),
        table.markdown(),
        *_measured_by(name, evidence),
        "## Limits\n\n" + "\n".join(f"- {limit}" for limit in limits(evidence)),
        "## Licence and citation\n\nMIT, as the whole of Errands. `CITATION.cff` in the repository "
        f"names the software; the paper that it reimplements:\n\n```bibtex\n{CITATION}```",
    ]
    return "\n\n".join(parts) + "\n"


def is_of(description: Mapping[str, Any], record: Record) -> bool:
    """Whether a record was measured with these weights: all it says of their training is true.

    Frames and seconds together are as good as a fingerprint of a run.
    """
    learned = description["training"]
    facts = {**learned, "soft": bool(description.get("soft"))}
    facts |= {key: description[key] for key in ("frames", "seconds")}
    keys: tuple[str, ...] = ("preset", "analogy", "seed", "frames", "seconds")
    keys += ("agent", "soft") if description["kind"] == "meta" else ("teacher", "in_lists")
    if record["world"] != learned["world"] or "training" not in record:
        return False
    if record.get("scenario") != learned.get("scenario"):
        return False
    return all(record["training"].get(key, False) == facts.get(key, False) for key in keys)


def _intended(description: Mapping[str, Any]) -> str:
    or_as = ", or as the skill of a meta controller" if description["kind"] == "skill" else ""
    return _line(INTENDED.format(world=description["training"]["world"], or_as=or_as))


def _line(text: str) -> str:
    return " ".join(text.split())


def _front_matter(name: str, of: CardEvidence) -> str:
    """YAML; texts are quoted as in JSON, which YAML reads, too."""
    is_skill = of.description["kind"] == "skill"
    kind = "skill" if is_skill else "instruction-following"
    tags = ["reinforcement-learning", "zero-shot", "gymnasium", kind, of.spec.name]
    lines = [f"license: {LICENCE}", "library_name: errands"]
    lines += ["pipeline_tag: reinforcement-learning", f"tags: {json.dumps(tags)}"]
    results = [line for record in of.papers for line in _entry(record)]
    if results:
        lines += ["model-index:", f"- name: {json.dumps(name)}", "  results:", *results]
    return "\n".join(("---", *lines, "---"))


def _entry(record: Record) -> list[str]:
    """One measurement, for the index of models."""
    what = f"{record['split']} {record['length']}" if "length" in record else record["split"]
    kind = "Instructions" if "length" in record else "Skill"
    task = f"errands/{record['world'].capitalize()}{kind}-v0"
    reward = with_error(record["reward"], 2).replace("±", "+/- ")
    return [
        "  - task: {type: reinforcement-learning, name: reinforcement-learning}",
        f"    dataset: {{type: {json.dumps(task)}, name: {json.dumps(f'{task}, {what}')}}}",
        "    metrics:",
        f"    - {{type: mean_reward, value: {json.dumps(reward)}}}",
        f"    - {{type: success_rate, value: {record['success']['mean']:.4f}}}",
    ]


def _summary(description: Mapping[str, Any]) -> str:
    learned = description["training"]
    world = learned["world"]
    analogy = "" if learned["analogy"] else ", trained without the analogy-making objective"
    if description["kind"] == "skill":
        lists = " and in lists" if learned.get("in_lists") else ""
        return (
            f"A parameterized skill of the {world} world{analogy}: one network that does any "
            f"subtask of the scenario `{learned['scenario']}`, such as "
            f'"{subtasks(world, learned["scenario"], "train")[-1]}", and signals when it is '
            f"finished. It was trained on single subtasks{lists}."
        )
    design = designs()[learned["agent"]]
    soft = ", with soft updates only" if description.get("soft") else ""
    example = WORLDS[world].example
    parts = "primitive actions" if design.flat else "subtasks, which its skill carries out"
    return (
        f'An agent that executes lists of instructions in the {world} world, such as "{example}". '
        f"It is {design.paper} of the paper{analogy}{soft}: it chooses {parts}, and decides "
        f"{design.decides.partition(',')[0]}."
    )


def _use(name: str, *, is_skill: bool) -> str:
    world, _, short = name.partition("/")
    loaded = f'errands.load("{name}")'
    code = f"skill = {loaded}.skill" if is_skill else f"agent = {loaded}"
    text = f"```python\nimport errands\n\n{code}\n```"
    if is_skill:
        return f"{text}\n\n`docs/training.md` of Errands shows how to act with a skill."
    who = _who(name)
    words = WORLDS[world].example
    command = f'```sh\nerrands run "{words}" --world {world} {who}\n```'
    # `errands run` takes the agents of the registry; others can be evaluated by their folder.
    shown = f"\n\n{command}" if short in AGENTS else ""
    return f"{text}{shown}\n\n`docs/agents.md` of Errands shows how to act with an agent."


def _who(name: str) -> str:
    short = name.partition("/")[2]
    return f"--agent {short}" if short in AGENTS else f"--weights {_folder(name)}"


def _folder(name: str) -> str:
    """In a checkout."""
    return f"src/errands/{PRETRAINED.name}/{name}"


def _data(description: Mapping[str, Any]) -> str:
    learned = description["training"]
    world = learned["world"]
    if description["kind"] == "skill":
        counts = [len(subtasks(world, learned["scenario"], of)) for of in ("train", "unseen")]
        what = f"subtasks of the scenario `{learned['scenario']}`"
    else:
        counts = [len(instructions(world, of)) for of in ("train", "unseen")]
        what = "instructions"
    return (
        "There is no data set: episodes are generated, in worlds of training seeds. Of "
        f"{sum(counts)} {what}, {counts[0]} were trained and {counts[1]} held out. The weights are "
        "those that did best on the validation split."
    )


def _training_table(description: Mapping[str, Any], folder: Path) -> Table:
    learned = description["training"]
    planned = (
        sum(stage["frames"] for stage in learned["stages"])
        if description["kind"] == "meta"
        else learned["distill"]["frames"] + learned["finetune"]["frames"]
    )
    validation = description.get("validation")
    rows = [("preset", f"`{learned['preset']}`"), ("seed", str(learned["seed"]))]
    rows += _teaching(description)
    rows += [
        ("analogy-making objective", "yes" if learned["analogy"] else "no"),
        ("frames until these weights", f"{description['frames']:,}"),
        ("frames of the schedule", f"{planned:,}"),
        ("minutes until these weights", f"{description['seconds'] / 60:.0f}"),
        ("worlds, and steps in each before an update", f"{learned['worlds']}, {learned['steps']}"),
        ("success on the validation split", f"{validation['success']:.1%}" if validation else "-"),
        ("parameters", f"{_parameters(folder):,}"),
        ("size of the weights", f"{(folder / WEIGHTS).stat().st_size / 2**20:.1f} MB"),
        ("every other setting", "`agent.json`"),
    ]
    return Table(("setting", "value"), tuple(rows), words=2)


def _teaching(description: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What it learned from, and with."""
    learned, network = description["training"], description["network"]
    rows = []
    if description["kind"] == "skill":
        teacher = learned["teacher"]
        says = TEACHERS.get((learned["world"], teacher))
        rows.append(("teacher", f"`{teacher}`: {says}" if says else "none: reward alone"))
    else:
        rows.append(("teacher", "none: reward alone"))
        skill = "none" if network["flat"] else f"`{description['skill']}`, which stays fixed"
        rows += [("skill", skill), ("longest list", f"{learned['longest']} instructions")]
    if network["maps"]:
        eyes = "a recogniser, taught with labels from the world, that fills a map"
        rows.append(("eyes", eyes))
    return rows


def _parameters(folder: Path) -> int:
    with safe_open(folder / WEIGHTS, "pt") as file:
        return sum(file.get_tensor(name).numel() for name in file.keys())  # noqa: SIM118


def _hints(description: Mapping[str, Any]) -> list[str]:
    """What was added to the paper's meta controller."""
    if description["kind"] == "skill":
        return []
    found = description["network"]["hints"]
    if not found:
        return ["It has no hints: its architecture is the paper's."]
    rows = tuple((f"`{name}`", (HINTS[name].__doc__ or "").partition("\n")[0]) for name in found)
    return [
        "Hints, which the paper's agents do not have (`docs/agents.md`):",
        Table(("hint", "what it does"), rows, words=2).markdown(),
    ]


def _papers_numbers(of: CardEvidence) -> str:
    if of.description["kind"] == "skill":
        return "Ours are one run."
    if of.description.get("soft") or not of.learned["analogy"]:
        return (
            "The paper's, where there are any, are those of its earlier version; ours are one run."
        )
    if of.spec.name == "grid":
        return "The paper's are the mean of its 10 best of 20 runs; ours are one run."
    return "The paper's are apparently single runs, as ours are."


def _list_numbers(of: CardEvidence) -> Table:
    """The paper's three measurements first, then all others."""
    headings = ("lists", "success", "95% interval", "paper", "reward", "paper")
    rows, shown = [], []
    for split, length in COLUMNS:
        record = of.lists(split, length)
        if record is None:
            rows.append((f"{split}, {length} instructions", NOT_MEASURED, *[NOTHING] * 6))
        else:
            shown.append(record)
            rows.append(_list_row(record, of.description))
    others = [record for record in of.own if record not in shown]
    others.sort(key=lambda r: (_conditions(r, of.description), r["split"], r["length"]))
    rows += [_list_row(record, of.description) for record in others]
    return Table((*headings, "events used", "episodes"), tuple(rows))


def _list_row(record: Record, description: Mapping[str, Any]) -> tuple[str, ...]:
    split, length, share = record["split"], record["length"], caught(record)
    theirs = None
    if (split, length) in COLUMNS and not record.get("sizes"):
        how = {name: record[name] for name in ("with_all", "forgiving")}
        theirs = Variant.of(record).published(split, **how)
    about = f"{split}, {length} instruction{'s' if length > 1 else ''}"
    used = NOTHING if share is None else f"{share:.1%}"
    about += _conditions(record, description)
    return about, *_cells(record, theirs), used, f"{record['episodes']:,}"


def _conditions(record: Record, description: Mapping[str, Any]) -> str:
    """What is not as usual."""
    said = "" if record["with_all"] else ', without "all"'
    said += ", forgiving world" if record["forgiving"] else ""
    said += ", run softly" if bool(record.get("soft")) != bool(description.get("soft")) else ""
    sizes = record.get("sizes")
    return said + (f", maps of {sizes[0]} to {sizes[1]} cells a side" if sizes else "")


def _skill_numbers(of: CardEvidence) -> Table:
    headings = ("subtasks", "success", "95% interval", "paper", "reward", "paper")
    analogy = of.learned["analogy"]
    rows = []
    for split, about in SKILL_ROWS.items():
        record = of.subtasks(split)
        if record is None:
            rows.append((about, NOT_MEASURED, *[NOTHING] * 6))
            continue
        theirs = published.skill(of.spec.name, of.learned["scenario"], split, analogy=analogy)
        finished = f"{record['finished']['mean']:.1%}"
        rows.append((about, *_cells(record, theirs), finished, f"{record['episodes']:,}"))
    return Table((*headings, "finished, whatever the signal", "episodes"), tuple(rows))


def _cells(record: Record, theirs: published.Cell | None) -> tuple[str, ...]:
    success: float = record["success"]["mean"]
    low, high = share_interval(success, record["episodes"])
    return (
        f"{success:.1%}",
        f"{100 * low:.1f} to {100 * high:.1f}%",
        f"{theirs.success:.1%}" if theirs else NOTHING,
        with_error(record["reward"], 2),
        f"{theirs.reward:.2f}" if theirs else NOTHING,
    )


def _measured_by(name: str, of: CardEvidence) -> list[str]:
    """Commands that repeat the paper's measurements."""
    lines = []
    for record in of.papers:
        about = f"--split {record['split']} --episodes {record['episodes']} --seed {record['seed']}"
        where = f"--world {record['world']}"
        if "length" in record:
            who = f"{_who(name)} --length {record['length']}"
            lines.append(f"errands evaluate instructions {where} {who} {about}")
        else:
            who = f"--scenario {record['scenario']} --weights {_folder(name)}"
            lines.append(f"errands evaluate skill {where} {who} {about}")
    if not lines:
        return []
    commits = sorted({record["commit"][:7] for record in of.papers if "commit" in record})
    said = f" (measured at {', '.join(commits)})" if commits else ""
    first = f"the first {len(lines)} rows" if len(lines) > 1 else "the first row"
    return [f"To repeat {first}{said}, in a checkout:\n\n```sh\n" + "\n".join(lines) + "\n```"]
