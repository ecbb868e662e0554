"""The tables in README.md and docs/: pure functions of the files in results/ and of the presets.

`python docs/tables.py` regenerates them, each between the two comments with its name, the line
numbers of links to code, and the model cards of shipped agents. What has not been measured yet is
shown as a dash, with a comment that says which command would measure it. `errands report` writes
all results; these are the excerpts that the pages show.
"""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gallery
from errands.agents.fast_hints import fast_hints
from errands.agents.hints import HINTS
from errands.agents.load import PRETRAINED, shipped_agents
from errands.agents.registry import AGENTS, FAVOURITE, designs, order_of_results
from errands.commands.bench import MEASURED
from errands.config import MetaTraining, SkillTraining, Stage
from errands.evaluation import bench_tables, published, seed_tables
from errands.evaluation.cards import CARD, write_cards
from errands.evaluation.claims import Evidence, over_seeds
from errands.evaluation.errata import deviation_table, preset_table
from errands.evaluation.in_short import agents_in_short, claims_in_short, shown
from errands.evaluation.list_tables import COLUMNS, Variant, find, variants
from errands.evaluation.tables import read_records
from errands.language.splits import SCENARIOS
from errands.presets import meta_training, skill_training
from errands.worlds.planner import NEAR_OPTIMAL
from errands.worlds.spec import WORLDS

REPOSITORY = Path(__file__).resolve().parent.parent
BENCH = REPOSITORY / "results" / "bench"
SPLITS = ("train", "seen", "unseen")
NOTHING = "-"
OPTIMIZERS = {"adam": "Adam", "rmsprop": "RMSProp"}
Record = dict[str, Any]


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Markdown; the first `left` columns are words, the others numbers."""
    ruler = ["---"] * left + ["---:"] * (len(headings) - left)
    return "\n".join(f"| {' | '.join(row)} |" for row in (headings, ruler, *rows))


def measured(value: Record, digits: int, scale: float = 1.0, unit: str = "") -> str:
    error = value["stderr"]
    shown = f"{value['mean'] * scale:.{digits}f}"
    return f"{shown}{unit}" if error is None else f"{shown} ± {error * scale:.{digits}f}{unit}"


def noted(text: str, how: str, *, complete: bool) -> str:
    """A table, with how to measure what is missing in it."""
    return text if complete else f"{text}\n\n<!-- numbers: {how} -->"


def paper_cells(record: Record) -> list[str]:
    """What the paper says of a planner's row: reward, success, steps."""
    agent, split, length = record["agent"], record["split"], record["length"]
    cell = (
        published.planner(record["world"], agent, length)
        if (split == "train") == (length == 4)
        else None
    )
    on_curve = agent == NEAR_OPTIMAL and split != "train"
    curve = {
        metric: (published.curve("grid", metric, NEAR_OPTIMAL, split) or {})[length]
        for metric in ("reward", "success", "steps")
    }
    if cell is None and on_curve:
        cell = published.Cell(curve["reward"], curve["success"])
    cells = [f"{cell.reward:.2f}", f"{cell.success:.1%}"] if cell else [NOTHING, NOTHING]
    return [*cells, f"{curve['steps']:.1f}" if on_curve else NOTHING]


def yardsticks(world: str) -> str:
    """The planners, beside what the paper prints of them on the grid."""
    records = [
        record
        for record in read_records(REPOSITORY / "results" / "planners")
        if record["world"] == world
    ]
    order = order_of_results().index, SPLITS.index
    records.sort(key=lambda r: (order[0](r["agent"]), order[1](r["split"]), r["length"]))
    rows = []
    for record in records:
        ours = [measured(record["reward"], 2), f"{record['success']['mean']:.2%}"]
        ours += [measured(record["steps"], 1)]
        beside = zip(ours, paper_cells(record), strict=True)
        cells = [cell for pair in beside for cell in pair] if world == "grid" else ours
        rows.append([record["agent"], record["split"], str(record["length"]), *cells])
    headings = ["policy", "split", "length"]
    for name in ("reward", "success", "steps"):
        headings += [name, f"{name}, paper"] if world == "grid" else [name]
    return table(headings, rows, left=2)


def skills() -> str:
    """Strict success of skills, over their seeds, beside the paper's."""
    cells: dict[tuple[str, str, bool, str], dict[str, dict[int, Record]]] = {}
    for record in read_records(REPOSITORY / "results" / "skills"):
        how = record["training"]
        teacher = how["teacher"] + (", in lists" if how.get("in_lists") else "")
        key = record["world"], record["scenario"], how["analogy"], teacher
        cells.setdefault(key, {}).setdefault(record["split"], {})[how["seed"]] = record
    wanted = [
        (world, scenario, analogy, "planner")
        for world in ("grid", "block")
        for scenario in SCENARIOS
        for analogy in (True, False)
    ]
    rows = []
    for key in [*wanted, *sorted(key for key in cells if key not in wanted)]:
        world, scenario, analogy, teacher = key
        row = [world, scenario, "yes" if analogy else "no", teacher]
        for split in ("train", "unseen"):
            ours = cells.get(key, {}).get(split, {})
            paper = published.skill(world, scenario, split, analogy=analogy)
            row.append(shown(over_seeds(list(ours.values()), "success")))
            row.append(f"{paper.success:.1%}" if paper else NOTHING)
        rows.append(row)
    headings = ["world", "scenario", "analogy", "teacher"]
    headings += ["trained", "trained, paper", "unseen", "unseen, paper"]
    text = table(headings, rows, left=4)
    lacking = [key for key in wanted if not {"train", "unseen"} <= cells.get(key, {}).keys()]
    how = (
        "errands evaluate skill, --split train and --split unseen, --json results/skills/NAME.json"
    )
    return noted(text, f"{len(lacking)} of {len(wanted)} rows: {how}", complete=not lacking)


def lists(world: str) -> str:
    """Success on lists of the paper's lengths, beside its own; every seed has a row."""
    measurements = read_records(REPOSITORY / "results" / "instructions")
    measurements += read_records(REPOSITORY / "results" / "planners")
    records = [record for record in measurements if record["world"] == world]
    found = [variant for variant in variants(records) if not variant.is_ablation]
    known = {variant.agent for variant in found}
    found += [Variant(world, agent) for agent in order_of_results() if agent not in known]
    rows = []
    for variant in sorted(found, key=lambda item: item.order):
        row = [variant.agent, NOTHING if variant.seed is None else str(variant.seed)]
        hours = NOTHING
        for split, length in COLUMNS:
            ours = find(records, variant, split, length)
            paper = published.lists(world, variant.agent, split)
            row.append(measured(ours["success"], 1, 100, "%") if ours else NOTHING)
            row.append(f"{paper.success:.1%}" if paper else NOTHING)
            if ours and "training" in ours:
                hours = f"{ours['training']['seconds'] / 3600:.1f}"
        rows.append([*row, hours])
    headings = ["agent", "seed"]
    for split, length in COLUMNS:
        headings += [f"{split}, {length}", "paper"]
    text = table([*headings, "hours"], rows)
    lacking = [agent for agent in order_of_results() if agent not in known]
    how = (
        f"{', '.join(lacking)}: errands evaluate instructions --world {world} --agent NAME "
        "--split S --length K, --json results/instructions/NAME-S-K.json"
    )
    return noted(text, how, complete=not lacking)


def additions() -> str:
    """What Dynamic loses without one of its parts."""
    found = seed_tables.additions(read_records(REPOSITORY / "results" / "instructions"))
    return found.markdown() if found else noted("", "errands sweep ablations.toml", complete=False)


def shipped() -> str:
    """The agents in the package, with what they say of themselves."""
    rows = []
    for name in shipped_agents():
        agent = json.loads((PRETRAINED / name / "agent.json").read_text())
        how = agent["training"]
        size = (PRETRAINED / name / "weights.safetensors").stat().st_size / 2**20
        teacher = how.get("teacher", "reward alone")
        card = f"[`{name}`](../src/errands/pretrained/{name}/{CARD})"
        row = [card, how["preset"], teacher, f"{agent['frames'] / 1e6:.1f} million"]
        rows.append([*row, f"{agent['seconds'] / 60:.0f}", f"{size:.1f} MB"])
    return table(["agent", "preset", "teacher", "frames", "minutes", "size"], rows, left=3)


def agents() -> str:
    """The agents that can be trained, and how they differ."""
    rows = [[f"`{name}`", design.decides, design.paper] for name, design in designs().items()]
    return table(["agent", "decides", "paper"], rows, left=3)


def hints() -> str:
    """What `fast` adds to the paper's meta controller."""
    rows = []
    for name, hint in HINTS.items():
        summary = (hint.__doc__ or "").partition("\n")[0]
        having = [
            ", ".join(world for world in WORLDS if name in fast_hints(world, flat=flat)) or NOTHING
            for flat in (False, True)
        ]
        rows.append([f"`{name}`", *having, summary])
    return table(["hint", "`fast` has it in", "for Flat in", "what it does"], rows, left=4)


def named_agents() -> str:
    """Everything that `--agent` can name."""
    rows = [[f"`{entry.name}`", entry.title, entry.note] for entry in AGENTS.values()]
    return table(["name", "on the page", "what it is"], rows, left=3)


HOW_TO_MEASURE = "errands bench worlds --peers --json results/bench/worlds.json"


def benchmark() -> Record:
    """The measurement of the worlds' speed that is kept, if there is one."""
    path = BENCH / "worlds.json"
    found: Record = json.loads(path.read_text()) if path.exists() else {"worlds": [], "peers": []}
    return found


def speed() -> str:
    rows = [
        [item["world"], *(f"{item[column]:,.0f}" for column in MEASURED)]
        for item in benchmark()["worlds"]
    ]
    headings = ["world", "worlds a batch", "steps a second", "ns a step"]
    headings += ["ns on one core", "ns, each step a call"]
    return noted(table(headings, rows), HOW_TO_MEASURE, complete=bool(rows))


def peers() -> str:
    run = benchmark()
    rows = []
    for peer in run["peers"]:
        ours = {
            item["batch"]: item["steps_per_second"]
            for item in run["worlds"]
            if item["world"] == peer["beside"]
        }
        theirs = peer["steps_per_second"]
        row = [peer["title"], peer["beside"], str(peer["processes"]), f"{theirs:,.0f}"]
        rows.append(row + [f"{rate / theirs:,.1f}" for rate in (ours[1024], max(ours.values()))])
    headings = ["peer", "beside our", "processes", "its steps a second"]
    headings += ["how many times as fast ours is, 1,024 worlds", "the same, best batch"]
    return noted(table(headings, rows, left=2), HOW_TO_MEASURE, complete=bool(rows))


def stage(of: Stage) -> str:
    falls = f" to {of.final_rate:g}" if of.final_rate != of.learning_rate else ""
    return f"{of.frames:,} at {of.learning_rate:g}{falls}"


def presets() -> str:
    """How the presets train, in each world; counted subtasks have a column where they differ."""
    columns = {
        "`fast`, grid": skill_training("grid", "independent", "fast"),
        "`fast`, grid, counted": skill_training("grid", "inter-extrapolation", "fast"),
        "`fast`, block": skill_training("block", "independent", "fast"),
        "`paper`, grid": skill_training("grid", "independent", "paper"),
        "`paper`, block": skill_training("block", "independent", "paper"),
        "`debug`": skill_training("grid", "independent", "debug"),
    }

    lines: dict[str, Callable[[SkillTraining], str]] = {
        "worlds, and steps in each before an update": lambda t: f"{t.worlds}, {t.steps}",
        "worlds a minibatch": lambda t: str(t.minibatch),
        "optimizer": lambda t: OPTIMIZERS[t.optimizer],
        "RL teachers: frames, learning rate": lambda t: (
            stage(t.teachers) if t.world == "grid" or t.network.maps else NOTHING
        ),
        "distill: frames, learning rate": lambda t: stage(t.distill),
        "fine-tune: frames, learning rate": lambda t: stage(t.finetune),
        "entropy, falling to 0 half-way": lambda t: f"{t.finetune.entropy:g}",
        "weight of termination": lambda t: f"{t.termination:g}",
        "curriculum": lambda t: "yes" if t.curriculum else "no",
        "frames between validations": lambda t: f"{t.validate_every:,}",
    }
    rows = [[name, *map(say, columns.values())] for name, say in lines.items()]
    return table(["", *columns], rows, left=1 + len(columns))


def meta_presets() -> str:
    """How the presets train a meta controller: each stage in a line of its own."""
    presets = {
        "`fast`, grid": meta_training("grid", FAVOURITE, "fast"),
        "`fast`, block": meta_training("block", FAVOURITE, "fast"),
        "`paper`, grid": meta_training("grid", FAVOURITE, "paper"),
        "`debug`": meta_training("grid", FAVOURITE, "debug"),
    }
    most = max(len(training.stages) for training in presets.values())

    def say(training: MetaTraining, k: int) -> str:
        if k >= len(training.stages):
            return NOTHING
        at = training.stages[k]
        kind = ["soft" if at.soft else "hard"]
        kind += ["forgiving"] * at.forgiving + ["curriculum"] * at.curriculum
        kind += ["until the longest lists are learned"] * at.leaves_early
        kind += [f"events up to {at.events:g} times as often"] * (at.events != 1)
        weights = f"entropy {at.entropy:g}, penalty on updates {at.update_penalty:g}"
        return f"{', '.join(kind)}: {stage(at)}, {weights}"

    lines: dict[str, Callable[[MetaTraining], str]] = {
        "worlds, and steps in each before an update": lambda t: f"{t.worlds}, {t.steps}",
        "worlds a minibatch, times a batch is used": lambda t: f"{t.minibatch}, {t.epochs}",
        "traces fade": lambda t: {"step": "at every step", "decision": "at updates"}[t.credit],
        "optimizer": lambda t: OPTIMIZERS[t.optimizer],
        "frames between validations": lambda t: f"{t.validate_every:,}",
    }
    rows = [[name, *map(tell, presets.values())] for name, tell in lines.items()]
    for k in range(most):
        rows.insert(4 + k, [f"stage {k + 1}", *(say(each, k) for each in presets.values())])
    return table(["", *presets], rows, left=1 + len(presets))


def evidence() -> Evidence:
    """All committed results."""
    folders = ("planners", "instructions", "skills")
    planners, lists, skills = (read_records(REPOSITORY / "results" / name) for name in folders)
    return Evidence([*planners, *lists], skills)


TABLES: dict[str, Callable[[], str]] = {
    "grid yardsticks": lambda: yardsticks("grid"),
    "block yardsticks": lambda: yardsticks("block"),
    "skills": skills,
    "shipped agents": shipped,
    "agents": agents,
    "hints": hints,
    "named agents": named_agents,
    "presets": presets,
    "differences": lambda: preset_table("skill").markdown(),
    "meta presets": meta_presets,
    "meta differences": lambda: preset_table("meta").markdown(),
    "errata": lambda: deviation_table().markdown(),
    "additions": additions,
    "lists": lambda: lists("grid"),
    "block lists": lambda: lists("block"),
    "agents in short": lambda: agents_in_short(evidence()).markdown(),
    "claims in short": lambda: claims_in_short(evidence()).markdown(),
    "speed": speed,
    "peers": peers,
    "training speed": lambda: bench_tables.training_speed(BENCH).markdown(),
    "single environments": lambda: bench_tables.single_environments(BENCH).markdown(),
    "pages at once": lambda: bench_tables.pages_at_once(BENCH).markdown(),
    "greedy pages": lambda: bench_tables.greedy_pages(BENCH).markdown(),
    "faults": lambda: bench_tables.faults(BENCH).markdown(),
    "soak": lambda: bench_tables.soak(BENCH).markdown(),
    **gallery.TABLES,
}


def located(text: str) -> str:
    """A page whose links into the source name the line on which their code stands."""

    def find(match: re.Match[str]) -> str:
        code, file = match["code"], match["file"]
        lines = (REPOSITORY / file.removeprefix("../")).read_text(encoding="utf-8").splitlines()
        found = [number for number, line in enumerate(lines, 1) if code in line]
        if len(found) != 1:
            raise ValueError(f"{file}: `{code}` stands on {len(found)} lines; quote a unique one")
        return f"[`{code}`]({file}#L{found[0]})"

    return re.sub(r"\[`(?P<code>[^`]+)`\]\((?P<file>[\w./]+\.py)#L\d+\)", find, text)


def refreshed(text: str) -> str:
    """A page with its tables and its links to lines of code brought up to date."""

    def rewrite(match: re.Match[str]) -> str:
        name = match["name"]
        return f"<!-- table: {name} -->\n\n{TABLES[name]()}\n\n<!-- end of table: {name} -->"

    pattern = r"<!-- table: (?P<name>[\w ]+) -->.*?<!-- end of table: (?P=name) -->"
    return located(re.sub(pattern, rewrite, text, flags=re.DOTALL))


def pages() -> list[Path]:
    return [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]


if __name__ == "__main__":
    write_cards(REPOSITORY / "results")
    for page in pages():
        page.write_text(refreshed(page.read_text(encoding="utf-8")), encoding="utf-8")
