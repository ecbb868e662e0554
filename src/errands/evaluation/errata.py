"""Every point in which this differs from the paper, or decides what the paper leaves open.

This is the only list of them: the report and docs/errata.md are generated from it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from typing import Any, Literal, NamedTuple

from errands.agents.registry import FAVOURITE
from errands.config import MetaTraining, Preset, SkillTraining
from errands.evaluation.document import Table
from errands.presets import meta_training, skill_training
from errands.settings import meanings
from errands.worlds.spec import WORLDS

PRESETS: tuple[Preset, Preset] = ("fast", "paper")
Area = Literal["worlds", "skills", "lists", "numbers"]


class Deviation(NamedTuple):
    """One point."""

    area: Area
    point: str
    paper: str  # what the papers say; "open" where they say nothing
    ours: str


DEVIATIONS = (
    Deviation(
        "worlds",
        "enemies",
        "appear at random, move, leave after 10 steps",
        "a chance of 0.035 a step, one at a time, moving with a chance of 0.5: calibrated",
    ),
    Deviation(
        "worlds",
        '"close", for the near-optimal policy',
        "open",
        "within 3 steps on the grid (calibrated), 6 in the block world",
    ),
    Deviation("worlds", 'instructions with "all"', "open", "find at least two targets: calibrated"),
    Deviation(
        "worlds",
        "whether an episode can be solved",
        "open",
        "always: what a list needs is present, or appears when the list gets there",
    ),
    Deviation(
        "worlds",
        "-0.3 on water, +0.9 for an event",
        "not said whether net",
        "replace the step's -0.1",
    ),
    Deviation(
        "worlds",
        "visiting",
        "on the target's cell",
        "arriving on it; an agent that already stands there has to come back",
    ),
    Deviation("worlds", "events while a skill is trained or tested", "open", "none"),
    Deviation(
        "worlds",
        "step limits of subtasks on the grid",
        "open",
        "the block world's: 50, and 70 for counted ones",
    ),
    Deviation("worlds", "step limit of the block world's validation lists", "open", "210"),
    Deviation("worlds", "order of the grid's planes", "open", "agent, walls, water, objects"),
    Deviation(
        "worlds",
        "counts on the grid",
        "no such instructions",
        'read as repeated instructions: "pick up 2 eggs" is two',
    ),
    Deviation(
        "worlds",
        "the block world's pictures",
        "Minecraft",
        "its camera and proportions (70 degrees, 1.62 blocks), our own textures, walls of "
        "three blocks",
    ),
    Deviation("worlds", "looking up and down", "open", "changes only the view"),
    Deviation(
        "worlds",
        "object-dependent subtasks on the grid",
        "groups not given",
        "our own groups and held-out objects",
    ),
    Deviation("worlds", "counted subtasks on the grid", "block world only", "both worlds"),
    Deviation(
        "worlds",
        "validation sets",
        "given for the grid's independent subtasks and lists",
        "those, and our own for all others",
    ),
    Deviation(
        "skills",
        "teachers",
        "a policy for each subtask, trained by reinforcement learning",
        "an exact planner; in the block world one that knows only what its agent has seen. "
        "`--teacher rl` is the paper's method, with layers like those of the `fast` skill",
    ),
    Deviation("skills", "batches", "whole episodes", "a fixed number of steps of all worlds"),
    Deviation(
        "skills",
        "policy gradient",
        "plain actor-critic",
        "clipped (ratio 0.2), advantages scaled to unit variance, gradient norm bounded",
    ),
    Deviation("skills", "weights of analogies (xi, rho1, rho2)", "not given", "0.1, 1 and 1"),
    Deviation("skills", "sizes of embedding and factors", "not given", "64 and 256"),
    Deviation(
        "skills",
        "eyes and memory, block world",
        "four convolutions and an LSTM",
        "`fast`: a recogniser names what stands on each cell in view, and a map that the agent's "
        "own actions move keeps what was seen where. It is trained before, with labels from the "
        "world (`errands train eyes`), and stays fixed",
    ),
    Deviation(
        "skills",
        "counted subtasks on the grid",
        "none",
        "a counter sums each step's signal that the subtask was done once",
    ),
    Deviation(
        "skills",
        "the weights that are kept",
        "open",
        "running means of the weights, the best on the validation split",
    ),
    Deviation(
        "lists",
        "when to move on, at the start of training",
        "no prior",
        "a head start: continue while a subtask runs, move on when it is finished. A prior that "
        "training can unlearn, for all agents but Flat; only reward teaches",
    ),
    Deviation(
        "lists",
        "first step of an episode",
        "open",
        "an update without a shift, with the pointer on the first instruction",
    ),
    Deviation("lists", "shifts beyond the ends of a list", "open", "count as staying"),
    Deviation(
        "lists",
        "policy gradient",
        "plain actor-critic over whole episodes",
        "clipped, each batch used several times, through a fixed number of steps",
    ),
    Deviation("lists", "entropy of the gate", "open", "a tenth of the weight of subtask and shift"),
    Deviation(
        "lists",
        "what the shift reads",
        "the context",
        "`fast`: also the instruction retrieved before",
    ),
    Deviation(
        "lists",
        "verb and object of a subtask",
        "sampled independently",
        "`fast`: the object first; the verb for the object that the instruction names is linear "
        "in its words, for any other object it comes from the hidden layer",
    ),
    Deviation(
        "lists",
        "names of objects",
        "words and planes whose relation is learned",
        "`fast`: connected (the hint `grounding`). The context reads whether the named object is "
        "present, is near, and was the last subtask's, whose end is the only reason to move on; "
        "and one weight that all objects share prefers the named one",
    ),
    Deviation(
        "lists",
        "baseline",
        "reads the pointer and the choice of the subtask, after the shift",
        "reads the same before the shift: otherwise it hides the advantage of sampled shifts",
    ),
    Deviation(
        "lists",
        "order of the stages",
        "soft and forgiving, soft, hard",
        "`fast`: hard from the start, in the original world; soft updates take twice the time, "
        "and the forgiving world teaches to move on late",
    ),
    Deviation(
        "lists",
        "penalty on updates",
        "in the hard objective only",
        "also in soft stages, where the gate is learned",
    ),
    Deviation(
        "lists",
        "curriculum",
        "lists and maps grow, thresholds not given",
        "lists grow from 1 to 4 at 85% success, maps from 7 to 10 with them; short lists get "
        "fewer steps",
    ),
    Deviation(
        "lists",
        "events while lists are learned",
        "as in the original world",
        "more often while the agent uses less than half of them (`events` of a stage); as in the "
        "original world in the last stage",
    ),
    Deviation(
        "lists",
        "eyes and context, block world",
        "convolutions and an LSTM",
        "`fast`: reads the skill's map, and is feed-forward; only Flat, which has no skill, is as "
        "in the paper",
    ),
    Deviation(
        "lists",
        "update after a subtask has terminated",
        "left to the gate",
        "`fast`: always (the hint `promptness`), and where an enemy or a box that it hunts is gone "
        "(`pursuit`); the gate learns when to interrupt",
    ),
    Deviation(
        "lists",
        "when the pointer may move",
        "whenever the gate is open",
        "`fast`: only when a subtask about the named object is finished (`bookmark`; in the block "
        "world Dynamic's alone); this is a rule, and not learned",
    ),
    Deviation(
        "lists",
        "when a subtask counts as finished",
        "open",
        "`fast`: from a termination probability of 0.1 on",
    ),
    Deviation(
        "lists",
        "what gate and choice of the object read",
        "the context",
        "`fast`: also which kinds of object are in sight, and which are close (`sighting`)",
    ),
    Deviation(
        "lists",
        "counting, block world",
        "left to the LSTM",
        "`fast`: a tally of the subtasks that the skill signals as finished, and a learned table "
        "of words and tallies that adds to the logits of the shift",
    ),
    Deviation(
        "lists",
        "steps while lists are learned, block world",
        "80",
        "`fast`: 160 for lists of 4; evaluated with 80",
    ),
    Deviation(
        "lists",
        "credit, block world",
        "traces fade at every step (lambda)",
        "`fast`: only where there is an update, in batches that contain whole lists",
    ),
    Deviation(
        "lists",
        "the skill's memory between subtasks",
        "open",
        "cleared wherever the subtask is new or was finished; in the block world, whose skill was "
        "trained in lists (`--in-lists`), only where an episode begins",
    ),
    Deviation(
        "lists",
        "acting in a test",
        "open",
        "the meta controller takes the most likely value; the skill and Flat sample, and on the "
        "grid the skill's probabilities are squared (`sharpness`)",
    ),
    Deviation(
        "lists",
        "Flat's pre-training",
        "separately, on the training subtasks",
        "in the same run: the curriculum begins with lists of one instruction",
    ),
    Deviation(
        "numbers",
        "which runs are reported",
        "grid: the 10 best of 20",
        "single runs, each in its own row",
    ),
    Deviation(
        "numbers",
        "success of hand-made policies",
        "99.3 to 99.7%",
        "100%, since every episode can be solved",
    ),
    Deviation(
        "numbers",
        "the paper's curves by length",
        "a figure",
        "read from it; it calls the near-optimal policy Shortest",
    ),
)


def deviation_table() -> Table:
    rows = tuple((item.area, item.point, item.paper, item.ours) for item in DEVIATIONS)
    return Table(("about", "point", "the papers", "ours"), rows, words=4)


def preset_table(kind: Literal["skill", "meta"]) -> Table:
    """Every setting in which `fast` is not `paper`, in the worlds of the paper; schedules aside."""
    fast, paper = ({world: _training(kind, world, name) for world in WORLDS} for name in PRESETS)
    networks = ({world: of.network for world, of in each.items()} for each in (fast, paper))
    rows = (*_different("network.", *networks), *_different("", fast, paper))
    ours = (f"`fast`, {world}" for world in WORLDS)
    return Table(("setting", *ours, "`paper`", "what it means"), rows, words=3 + len(WORLDS))


def _training(kind: str, world: str, preset: Preset) -> SkillTraining | MetaTraining:
    if kind == "skill":
        return skill_training(world, "independent", preset)
    return meta_training(world, FAVOURITE, preset)


def _different(
    prefix: str, ours: Mapping[str, Any], theirs: Mapping[str, Any]
) -> Iterator[tuple[str, ...]]:
    """A row for each setting that has another value in `theirs`, in any world."""
    for name, meaning in meanings(next(iter(ours.values()))).items():
        only = meaning.partition(":")[0]  # a world, for some settings
        worlds = [world for world in ours if only == world or only not in ours]
        values = {world: _shown(getattr(ours[world], name)) for world in worlds}
        papers = {world: _shown(getattr(theirs[world], name)) for world in worlds}
        if values != papers:
            shown = (values.get(world, "-") for world in ours)
            yield (
                f"`{prefix}{name}`",
                *shown,
                " or ".join(dict.fromkeys(papers.values())),
                meaning,
            )


def _shown(value: Any) -> str:
    """A setting's value in a table; of hints, their names; of a network within, its class."""
    if isinstance(value, dict):
        return ", ".join(value) or "none"
    if is_dataclass(value):
        return type(value).__name__
    return "none" if value is None else str(value)
