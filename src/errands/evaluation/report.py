"""The report: tables and figures put together, each only where there is something to show."""

from pathlib import Path

from errands.agents.load import load_hierarchy, load_skill, shipped_agents
from errands.agents.registry import FAVOURITE
from errands.evaluation import errata, figures, list_figures, list_tables
from errands.evaluation.document import Figure, Heading, Paragraph, Part, to_html, to_markdown
from errands.evaluation.tables import Record, planner_table, read_records, skill_table
from errands.evaluation.timeline import EPISODES, NEAR, record
from errands.files import write_atomically
from errands.worlds.spec import WORLDS

TITLE = "Results"
HEADER = """Made by `errands report` from the files beside it. Episodes take place in worlds of
test seeds, which neither training nor the choice of weights has met; ± is the standard error."""
FEWEST = "Every cell has at least {episodes:,} episodes."
LISTS = """Reward, and success in parentheses, of whole lists: training lists of 4 instructions,
and seen and unseen ones of 20, five times as long as any that was trained. Every agent but flat
commands the same skill. Each run that was measured has a row of its own; the paper's numbers on
the grid are the mean of the 10 best of 20 runs. Weights were chosen on the validation split.
Hours are of training, on two cores."""
ABLATIONS = """What the parts are worth, on lists of 20: analogies in the meta controller, hard
updates (a soft agent weighs everything by gate and shift, and decides nothing for good), and
instructions with "all", which are loops. "Soft" had learned no hard updates yet; "hard but run
softly" had. The paper's numbers are those of its earlier version where the paper itself has
none."""
FORGIVING = """The same in the forgiving world, which puts a target back whenever it is
missing."""
CURVES = """By the length of the list, ours as solid lines, the paper's dashed (the first seed of
each agent; the paper's near-optimal policy does not tell seen from unseen)."""
CAUGHT = """An enemy (in the block world: a box) appears at random, is not mentioned by any
instruction, and is worth a detour. The share of all of them that each agent transformed; the
near-optimal policy shows how many can be had."""
SKILLS = """Success is strict: the task was finished *and* every termination prediction of the
episode was right. Weights were chosen on the validation split. `fast, planner` means: our own
layers and schedule, with the exact planner as teacher instead of RL teachers. Minutes are of
training, on a machine with two cores that did other work, too."""
PLANNERS = """They see the whole state and depend on nothing but the world, so they show how near
our worlds come to the paper's. The paper gives one number for seen and unseen lists of 20."""
ERRATA = """Every point in which this differs from the paper, or fills in what it leaves open
("the papers" are the paper and its earlier version)."""
PRESETS = """Fields in which the preset `fast`, which the shipped agents were trained with,
differs from `paper` on the grid, schedules aside."""


def write_report(results: Path, out: Path) -> tuple[Path, Path]:
    """Write REPORT.md, its figures and report.html; returns the paths of both pages."""
    planners, lists, skills = (
        read_records(results / name) for name in ("planners", "instructions", "skills")
    )
    episodes = [record["episodes"] for record in (*planners, *lists, *skills)]
    fewest = FEWEST.format(episodes=min(episodes)) if episodes else ""
    parts: list[Part] = [Heading(TITLE, 1), _paragraph(f"{HEADER} {fewest}")]
    parts += _lists(lists, planners, results, out)
    parts += _skills(skills, results, out)
    if planners:
        parts += [Heading("Hand-made policies"), _paragraph(PLANNERS), planner_table(planners)]
    parts += _errata()
    page, site = out / "REPORT.md", out / "report.html"
    write_atomically(page, to_markdown(parts).encode())
    write_atomically(site, to_html(f"Errands: {TITLE.lower()}", parts, out).encode())
    return page, site


def _paragraph(text: str) -> Paragraph:
    return Paragraph(" ".join(text.split()))


def _lists(trained: list[Record], planners: list[Record], results: Path, out: Path) -> list[Part]:
    """Agents that execute lists, with the hand-made policies among them."""
    if not trained:
        return []
    worlds = {record["world"] for record in trained}
    records = [*(record for record in planners if record["world"] in worlds), *trained]
    parts: list[Part] = [Heading("Lists of instructions"), _paragraph(LISTS)]
    parts.append(list_tables.lists_table(records))
    if list_figures.has_curves(records):
        list_figures.length_curves(records, out / "figures" / "lengths.png")
        says = "Reward, success, steps and instructions completed by the length of the list"
        parts += [_paragraph(CURVES), Figure("figures/lengths.png", says)]
    logs = sorted((results / "logs").glob("*.jsonl"))
    if figures.learning_curves(logs, out / "figures" / "learning-lists.png", of="lists"):
        says = "Success on the validation lists while agents learn"
        parts.append(Figure("figures/learning-lists.png", says))
    parts += [Heading("Ablations", 3), _paragraph(ABLATIONS), list_tables.ablation_table(records)]
    forgiving = list_tables.forgiving_table(records)
    if forgiving:
        parts += [_paragraph(FORGIVING), forgiving]
    parts += _interruptions(records, out)
    return parts


def _interruptions(records: list[Record], out: Path) -> list[Part]:
    parts: list[Part] = [Heading("Interruptions", 3)]
    table = list_tables.caught_table(records)
    if table:
        parts += [_paragraph(CAUGHT), table]
    for world, spec in WORLDS.items():
        name = f"{world}/{FAVOURITE}"
        if name not in shipped_agents() or spec.event is None:
            continue
        agent = load_hierarchy(name)
        recording = record(agent, world, soft=bool(agent.description.get("soft")))
        met = recording.interruptions()
        path = f"figures/timeline-{world}.png"
        list_figures.policy_timeline(recording.most_telling(), spec.event.object, out / path)
        says = (
            f"What {name} does and thinks, step by step, over a list of unseen instructions: of "
            f"{EPISODES} episodes the shortest that did the whole list and caught one, or what "
            "comes nearest to that"
        )
        parts.append(Figure(path, says))
        if met:
            said = f"""In all {EPISODES} episodes, one is within {NEAR} cells in {met.near:,} steps;
                in {met.turned:.0%} of them the subtask is to transform {spec.event.object}. While
                that is the subtask the pointer stays where it is in {met.stayed:.1%} of the steps,
                and {met.caught:.0%} of all are caught."""
            parts.append(_paragraph(said))
    return parts if len(parts) > 1 else []


def _skills(records: list[Record], results: Path, out: Path) -> list[Part]:
    parts: list[Part] = []
    if records:
        parts += [_paragraph(SKILLS), skill_table(records)]
    if "grid/skill-independent" in shipped_agents():
        skill = load_skill("grid/skill-independent").skill
        figures.value_maps(skill, out / "figures" / "values.png")
        figures.embedding(skill, "grid", out / "figures" / "embedding.png")
        parts.append(Figure("figures/values.png", "What the critic expects of unseen subtasks"))
        parts.append(Figure("figures/embedding.png", "The embedding of every subtask"))
    logs = sorted((results / "logs").glob("*.jsonl"))
    if figures.learning_curves(logs, out / "figures" / "learning.png", of="skills"):
        says = "Strict success on the validation subtasks while skills learn"
        parts.append(Figure("figures/learning.png", says))
    return [Heading("Parameterized skills"), *parts] if parts else []


def _errata() -> list[Part]:
    return [
        Heading("Errata"),
        _paragraph(ERRATA),
        errata.deviation_table(),
        _paragraph(PRESETS),
        Heading("Skills", 3),
        errata.preset_table("skill"),
        Heading("Meta controller", 3),
        errata.preset_table("meta"),
    ]
