"""The report: tables and figures put together, each only where there is something to show."""

from pathlib import Path

from errands.agents.load import load_skill, shipped_agents
from errands.evaluation import figures
from errands.evaluation.tables import planner_table, read_records, skill_table
from errands.learning.checkpoint import write_atomically

HEADER = """# Results

Made by `errands report` from the files beside it. Every cell has at least 1,000 episodes, in worlds
of test seeds that neither training nor the choice of weights has met; ± is the standard error.
"""
SKILLS = """## Parameterized skills

Success is strict: the task was finished *and* every termination prediction of the episode was
right. Weights were chosen on the validation split. `fast, planner` means: our own layers and
schedule, with the exact planner as teacher instead of RL teachers; docs/training.md lists every
difference. Minutes are of training, on a machine with two cores that did other work, too.
"""
PLANNERS = """## Hand-made policies

They see the whole state and depend on nothing but the world, so they show how near our worlds come
to the paper's. The paper gives one number for seen and unseen lists of 20.
"""


def write_report(results: Path, out: Path) -> Path:
    """Write REPORT.md and its figures; returns its path."""
    parts = [HEADER]
    skills = read_records(results / "skills")
    if skills:
        parts += [SKILLS, skill_table(skills)]
    parts += _figures(results, out)
    planners = read_records(results / "planners")
    if planners:
        parts += [PLANNERS, planner_table(planners)]
    path = out / "REPORT.md"
    write_atomically(path, "\n".join(parts).encode())
    return path


def _figures(results: Path, out: Path) -> list[str]:
    """Draw what can be drawn; returns the lines that show it."""
    lines = []
    if "grid/skill-independent" in shipped_agents():
        skill = load_skill("grid/skill-independent")
        figures.value_maps(skill, out / "figures" / "values.png")
        figures.embedding(skill, "grid", out / "figures" / "embedding.png")
        lines += ["![values of unseen subtasks](figures/values.png)\n"]
        lines += ["![subtask embedding](figures/embedding.png)\n"]
    logs = sorted((results / "logs").glob("*.jsonl"))
    if logs:
        figures.learning_curves(logs, out / "figures" / "learning.png")
        lines += ["![learning curves](figures/learning.png)\n"]
    return lines
