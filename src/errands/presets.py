"""The presets `fast`, `paper` and `debug`, as records that override settings.

Each table is read from top to bottom, and a later override wins. The order is: what the scenario or
the agent needs, what the world needs, the preset, and last what was asked for beside it (a teacher,
soft updates). `kind` is "grid" or "block", by the eyes that a world needs. Whatever follows from
the world, the scenario or the agent is no setting, and is derived at the end.
"""

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

from errands.agents.fast_hints import FAST_HINTS, FAST_WITHOUT, fast_hints
from errands.agents.hints import without_hints
from errands.agents.recogniser import MapNetwork
from errands.agents.registry import FAVOURITE, designs
from errands.config import (
    EyesTraining,
    MetaStage,
    MetaTraining,
    Preset,
    Scenario,
    SkillTraining,
    Stage,
    Teacher,
)
from errands.language.vocabulary import INTERACT, VERBS
from errands.settings import Override, Share, overridden, paper_values
from errands.worlds.kinds import KINDS
from errands.worlds.spec import WORLDS, WorldSpec
from errands.worlds.tasks import paper_world

OURS = ("fast", "debug")  # presets with our layers and hints
SKILL_FRAMES = 128 * 16  # of an iteration of a skill; the paper's is 128 episodes
META_FRAMES = 512 * 32  # of an iteration of a meta controller; the paper's is 512 episodes
BOTH_STAGES = ("distill.frames", "finetune.frames")
COUNTED = "inter-extrapolation"

SKILL_OVERRIDES = (
    # Chosen on the grid, on other assignments of verbs to objects than the one that is evaluated:
    # there they take unseen subtasks from 98.4% to 99.7% after 800,000 frames.
    Override({"scenario": "independent"}, {"network.noise": 0.4, "network.noise_at_first": True}),
    Override(
        {"scenario": COUNTED},
        {
            "network.narrow": 4,
            "distill": Stage(2_500_000, 1e-3, 2e-4),
            "finetune": Stage(1_500_000, 2e-4, 2e-5, entropy=0.003),
        },
    ),
    # In a list one target may be far away, behind walls. Where a target is always near, the way
    # around a wall is learned too rarely, and the skill walks to and fro in front of it. It has to
    # be practised, and a layer that plans knows it from few examples.
    Override(
        {"kind": "grid", "preset": OURS, "scenario": "independent"},
        {"walls": 0.25, "network.ways": 24},
    ),
    # An agent that does not know where to look finishes nothing, and sees little.
    Override({"kind": "block"}, {"worlds": 256, "guided": 0.5}),
    Override(
        {"kind": "block", "preset": OURS}, {"network.maps": MapNetwork(), "network.conv2": 12}
    ),
    # With a map, searching is learned in fewer frames than with an LSTM.
    Override(
        {"kind": "block", "scenario": ("independent", "object-dependent")},
        {"distill.frames": 1_000_000, "finetune.frames": 800_000},
    ),
    Override(
        {"kind": "block", "scenario": COUNTED},
        {"distill.frames": 1_500_000, "finetune.frames": 1_000_000},
    ),
    # Rewards teach better than a teacher what is worth remembering. The second predicted layer has
    # to know the verb, and four numbers are enough for that: with more, it learns which objects a
    # verb is never trained with, and is wrong about the end of what was never trained.
    Override(
        {"in_lists": True},
        {
            "crowd": 0.3,
            "contrast": 1.0,
            "network.narrow": 4,
            "network.ways": 24,
            "distill": Stage(1_600_000, 1e-3, 3e-4),
            "finetune": Stage(2_400_000, 3e-4, 2e-5, entropy=0.005),
        },
    ),
    Override(
        {"preset": "paper"},
        {
            **dict(paper_values(SkillTraining())),
            "distill": Stage(10_000 * SKILL_FRAMES, 1e-3, 1e-3),
            "finetune": Stage(10_000 * SKILL_FRAMES, 1e-4, 1e-4, entropy=0.01),
        },
    ),
    Override(
        {"preset": "paper", "kind": "block"},
        {
            "distill": Stage(15_000 * SKILL_FRAMES, 2.5e-4, 2.5e-4),
            "finetune": Stage(15_000 * SKILL_FRAMES, 1e-4, 1e-4, entropy=0.1),
        },
    ),
    Override(
        {"preset": "debug"},
        {
            "worlds": 64,
            "steps": 8,
            "minibatch": 32,
            "teachers": Stage(30_000, 1e-3, 1e-3, entropy=0.02),
            "teacher_worlds": 4,
            "distill": Stage(30_000, 1e-3, 1e-3),
            "finetune": Stage(10_000, 2e-4, 2e-4),
            "validate_every": 20_000,
            "validation_episodes": 64,
        },
    ),
    # Each teacher has its habits. After a long distillation they are the student's as well, and
    # unseen subtasks suffer: here teachers only give a start, and rewards do the rest.
    Override(
        {"teacher": "rl", "preset": "fast"},
        {
            "distill.frames": Share(BOTH_STAGES, Fraction(1, 12)),
            "finetune.frames": Share(BOTH_STAGES, Fraction(5, 4)),
            "finetune.learning_rate": 5e-4,
            "finetune.final_rate": 2e-5,
            "finetune.entropy": 0.02,
            "epochs": 2,
        },
    ),
    # All frames go to actor-critic, which then has to explore by itself.
    Override(
        {"teacher": "none"},
        {
            "distill.frames": 0,
            "finetune.frames": Share(BOTH_STAGES, Fraction(2)),
            "finetune.learning_rate": 5e-4,
            "finetune.final_rate": 2e-5,
            "finetune.entropy": 0.02,
            "epochs": 2,
            "curriculum": True,
        },
    ),
    # A skill that is trained already has nothing to learn from a teacher.
    Override({"is_new": False}, {"distill.frames": 0}),
    # The critic's gradient in the shared layers was five times as large as the policy's, which
    # hardly learned to tell verbs apart.
    Override({"teacher": "none", "kind": "block", "preset": OURS}, {"value": 0.1}),
)

EYES = "block/skill-independent-in-lists"  # the shipped skill whose eyes others share


def skill_training(
    world: str,
    scenario: Scenario,
    preset: Preset = "fast",
    *,
    analogy: bool = True,
    teacher: Teacher = "planner",
    in_lists: bool = False,
    eyes: str = "",
    start: str = "",
    seed: int = 0,
) -> SkillTraining:
    """A preset for a skill, filled in for a world and a scenario.

    `teacher` says what distillation learns from. With `in_lists`, the skill also learns within
    lists, and remembers what it saw. `eyes` are trained eyes, for the block world. `start` is a
    trained skill to begin with: it only learns from rewards then.
    """
    options: dict[str, Any] = {
        "world": world,
        "scenario": scenario,
        "preset": preset,
        "analogy": analogy,
        "teacher": teacher,
        "in_lists": in_lists,
        "start": start,
        "seed": seed,
    }
    facts = {"kind": _eyes(WORLDS[world]), "is_new": not start}
    training = overridden(SkillTraining(**options), SKILL_OVERRIDES, options | facts)
    network = replace(training.network, counted=scenario == COUNTED, remembers=in_lists)
    training = replace(training, network=network, eyes=(eyes or EYES) if network.maps else "")
    return fitted(training, WORLDS[world])


EYES_OVERRIDES = (
    Override(
        {"preset": "debug"},
        {
            "recognise": Stage(8_192, 2e-3, 2e-3),
            "worlds": 1024,
            "validate_every": 4_000,
            "validation_episodes": 200,
        },
    ),
)


def eyes_training(world: str, preset: Preset = "fast", *, seed: int = 0) -> EyesTraining:
    """A preset for eyes; there is none in the paper."""
    options: dict[str, Any] = {"world": world, "preset": preset, "seed": seed}
    return overridden(EyesTraining(**options), EYES_OVERRIDES, options)


META_OVERRIDES = (
    # An agent that cannot interrupt a subtask would never see events as rare as they are.
    Override({"interrupts": False}, {"stages.*.events": 1.0}),
    # Flat has to learn every subtask as well, and longer lists much later.
    Override({"flat": True}, {"stages.*.curriculum": True}),
    # Targets have to be searched for: one list in eight takes longer than the world's steps, even
    # if it is done perfectly. A frame takes five times as long as the grid's.
    Override(
        {"kind": "block"},
        {
            "skill": "block/skill-independent-in-lists",
            "patience": 2.0,
            "validate_every": 250_000,
            "stages.*.frames": 900_000,
        },
    ),
    # A box is easier to catch than an enemy: if it came ten times as often, waiting for the next
    # one would pay better than the list.
    Override(
        {"kind": "block", "interrupts": True}, {"stages.0.events": 6.0, "stages.1.events": 3.0}
    ),
    # Smaller layers than the paper's, another start, and hints.
    Override(
        {"preset": OURS},
        {
            "network.around_one": True,
            "network.noise": 0.1,
            "network.sentence": 128,
            "network.condition": 128,
            "network.joint": "linear",
            "network.view": "centred",
            "network.conv1": 4,
            "network.hidden": 128,
            "network.factors": 128,
        },
    ),
    *(
        Override(
            {"preset": OURS, "kind": kind, "flat": flat},
            {"network.hints": fast_hints(kind, flat=flat)},
        )
        for kind, flat in FAST_HINTS
    ),
    *(
        Override(
            {"preset": OURS, "flat": False, **agents},
            {"network.hints": without_hints(fast_hints(agents["kind"], flat=False), names)},
        )
        for agents, names in FAST_WITHOUT
    ),
    # The skill's eyes have looked already, and remember where everything is.
    Override({"preset": OURS, "kind": "block", "flat": False}, {"network.maps": MapNetwork()}),
    # About one deed in 550 gives a termination signal below a half.
    Override({"preset": OURS, "flat": False}, {"network.threshold": 0.1}),
    # With a bookmark the pointer does not drift while the gate is open: lists are learned in a
    # third of the frames, and a lower penalty lets more enemies be caught.
    Override(
        {"preset": OURS, "kind": "grid", "flat": False},
        {"network.sharpness": 2.0, "stages.*.update_penalty": 2e-2, "stages.*.frames": 600_000},
    ),
    # The default penalty, 0.05, keeps an agent from leaving a subtask for a box; with 0.005 it
    # depends on the seed whether the gate stays open so often that the pointer drifts.
    # Lists of 20 begin with many more objects than lists of 4, and leave ice behind.
    Override({"preset": OURS, "kind": "block"}, {"stages.*.update_penalty": 2e-2, "crowd": 0.6}),
    # With a bookmark the gate may be open more often here, too.
    Override(
        {"preset": OURS, "kind": "block", "agent": FAVOURITE}, {"stages.*.update_penalty": 1e-2}
    ),
    # For an interruption it opens with a small chance at each step, and soon does where decisions
    # are drawn. Where the likeliest were taken, half of the boxes would never be hunted.
    Override({"preset": "fast", "kind": "block", "agent": FAVOURITE}, {"network.opens": 0.05}),
    Override({"preset": OURS, "kind": "block", "flat": False}, {"stages.*.frames": 600_000}),
    # A list of 4 takes 57 steps, twice the grid's, and pays at its end. Batches contain whole
    # lists: otherwise the cost of leaving an instruction early falls into a later batch.
    Override(
        {"preset": "fast", "kind": "block"},
        {"worlds": 128, "steps": 128, "minibatch": 16, "credit": "decision"},
    ),
    # A third pass over a batch teaches nothing more where most of the time goes into recognising
    # its pictures.
    Override({"preset": "fast", "kind": "block", "flat": False}, {"epochs": 2, "half_eyes": True}),
    Override(
        {"preset": "paper"},
        {
            **dict(paper_values(MetaTraining())),
            "stages": (
                MetaStage(
                    150_000 * META_FRAMES, 2.5e-4, 2.5e-4, 0.015, forgiving=True, curriculum=True
                ),
                MetaStage(25_000 * META_FRAMES, 1e-4, 1e-4),
                MetaStage(25_000 * META_FRAMES, 1e-4, 1e-4, soft=False),
            ),
            "stages.*.update_penalty": 1e-4,
        },
    ),
    Override(
        {"preset": "paper", "kind": "block"},
        {
            "stages.0.frames": 15_000 * META_FRAMES,
            "stages.1.frames": 5_000 * META_FRAMES,
            "stages.2.frames": 5_000 * META_FRAMES,
            "stages.*.update_penalty": 1e-3,
            "validate_every": 250_000,
        },
    ),
    Override(
        {"preset": "debug"},
        {
            "worlds": 64,
            "steps": 16,
            "minibatch": 32,
            "stages": (
                MetaStage(10_240, 5e-4, 5e-4, 0.03, forgiving=True, curriculum=True),
                MetaStage(10_240, 4e-4, 3e-4, 0.01),
                MetaStage(10_240, 3e-4, 2e-5, 0.01, soft=False),
            ),
            "validate_every": 10_000,
            "validation_episodes": 32,
        },
    ),
    Override({"soft": True}, {"stages.*.soft": True}),
)


def meta_training(
    world: str,
    agent: str,
    preset: Preset = "fast",
    *,
    analogy: bool = True,
    soft: bool = False,
    seed: int = 0,
    skill: str = "",
    without: Iterable[str] = (),
) -> MetaTraining:
    """A preset for a meta controller, filled in for a world and an agent.

    With `soft`, all updates are soft; hints that are named in `without` are left out. `skill` is
    the skill that it commands: a shipped one, or the folder of a run.
    """
    design = designs()[agent]
    options: dict[str, Any] = {
        "world": world,
        "agent": agent,
        "preset": preset,
        "analogy": analogy,
        "seed": seed,
    }
    facts = {
        "kind": _eyes(WORLDS[world]),
        "flat": design.flat,
        "interrupts": design.interrupts,
        "soft": soft,
    }
    training = MetaTraining(**options, skill=f"{world}/skill-independent")
    training = overridden(training, META_OVERRIDES, options | facts)
    left = without_hints(training.network.hints, tuple(without))
    network = replace(training.network, gate=design.gate, flat=design.flat, hints=left)
    training = replace(training, network=network, skill=skill or training.skill)
    return fitted(training, WORLDS[world])


def _eyes(spec: WorldSpec) -> str:
    """Which eyes an agent needs there."""
    return KINDS[spec.kind].eyes


T = TypeVar("T", SkillTraining, MetaTraining)


def fitted(training: T, spec: WorldSpec) -> T:
    """The training in a world: its name, and a network for its words, objects and actions."""
    sizes: dict[str, Any] = {
        "world": _eyes(spec),
        "objects": len(spec.objects),
        "actions": len(KINDS[spec.kind].actions),
    }
    interacts = bool(spec.interact)
    if isinstance(training, MetaTraining):
        sizes["words"] = spec.vocabulary.token_count
        interacts &= paper_world(spec) is None  # lists of the paper never use that verb
    sizes["verbs"] = len(VERBS) if interacts else INTERACT
    return replace(training, world=spec.name, network=replace(training.network, **sizes))
