"""How agents are trained: one documented line a field, and the presets `paper`, `fast`, `debug`."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from errands.agents.hints import named_hints, without_hints
from errands.agents.mapping import MapNetwork
from errands.agents.meta import MetaNetwork
from errands.agents.registry import FAVOURITE, designs
from errands.agents.skill import SkillNetwork
from errands.learning.losses import AnalogyWeights

World = Literal["grid", "block"]
Scenario = Literal["independent", "object-dependent", "inter-extrapolation"]
Preset = Literal["fast", "paper", "debug"]
Teacher = Literal["planner", "rl", "none"]


@dataclass(frozen=True)
class Stage:
    """One stage of training."""

    frames: int  # how long
    learning_rate: float  # at its start
    final_rate: float  # at its end, reached linearly
    entropy: float = 0.0  # weight of the policy's entropy at the start, falling to zero half-way

    def rate(self, share: float) -> float:
        """The learning rate when so much of the stage is over."""
        return self.learning_rate + share * (self.final_rate - self.learning_rate)

    def entropy_weight(self, share: float) -> float:
        return self.entropy * max(0.0, 1.0 - 2.0 * share)


@dataclass(frozen=True)
class Training:
    """What every kind of training has. Defaults are the grid's `fast` presets."""

    world: World = "grid"
    analogy: bool = True  # whether the analogy-making objective is applied
    preset: Preset = "fast"
    seed: int = 0
    worlds: int = 512  # worlds a batch; paper: 16 threads x 8 episodes, meta controller 16 x 32
    steps: int = 16  # steps in each before an update; paper: whole episodes
    minibatch: int = 32  # worlds an update: frames that fit the cache; paper: all of them
    epochs: int = 1  # times a batch is used
    optimizer: Literal["adam", "rmsprop"] = "adam"  # paper: RMSProp, smoothing 0.97, epsilon 1e-6
    clip: float = 0.2  # of the policy's ratio, in actor-critic
    gradient_norm: float = 1.0  # larger gradients are scaled down
    averaging: float = 0.998  # validated and shipped are running means of the weights; paper: 0
    value: float = 0.5  # weight of the critic's error
    discount: float = 0.99  # gamma, as in the paper
    trace: float = 0.96  # lambda, as in the paper
    analogies: AnalogyWeights = field(default_factory=AnalogyWeights)
    validate_every: int = 250_000  # frames between looks at the validation split
    validation_episodes: int = 500

    @property
    def frames_per_iteration(self) -> int:
        return self.worlds * self.steps

    @property
    def first_rate(self) -> float:
        """The learning rate to begin with."""
        raise NotImplementedError


@dataclass(frozen=True)
class EyesTraining(Training):
    """Learning to name what a picture shows."""

    network: MapNetwork = field(default_factory=MapNetwork)
    recognise: Stage = field(default_factory=lambda: Stage(1_200_000, 2e-3, 2e-5))
    worlds: int = 4096  # views a batch
    steps: int = 1
    minibatch: int = 128
    gradient_norm: float = 1.0
    averaging: float = 0.995
    validate_every: int = 100_000
    validation_episodes: int = 4000  # views

    @property
    def first_rate(self) -> float:
        return self.recognise.learning_rate


@dataclass(frozen=True)
class SkillTraining(Training):
    """Learning a parameterized skill."""

    scenario: Scenario = "independent"
    teacher: Teacher = "planner"  # who labels in distillation
    network: SkillNetwork = field(default_factory=SkillNetwork)
    # RL teachers, in frames of all of them together; paper: 10,000 iterations each
    teachers: Stage = field(default_factory=lambda: Stage(3_000_000, 1e-3, 1e-4, entropy=0.02))
    teacher_worlds: int = 16  # worlds of each teacher
    teacher_epochs: int = 2  # times their batch is used
    distill: Stage = field(default_factory=lambda: Stage(1_600_000, 1e-3, 2e-4))
    finetune: Stage = field(default_factory=lambda: Stage(800_000, 2e-4, 2e-5, entropy=0.003))
    guided: float = 0.0  # steps the teacher takes as distillation begins; none a fifth on; paper: 0
    termination: float = 1.0  # alpha; paper: 0.1, too weak for so few frames
    positive_weight: float = 3.0  # of finished states in it, which are rare; paper: 1
    curriculum: bool = False  # begin with small worlds; not needed once an exact teacher labels
    eyes: str = ""  # trained eyes of a skill that builds a map; paper: none
    in_lists: bool = False  # every other batch is of lists, for a skill that remembers; paper: no

    @property
    def first_rate(self) -> float:
        return self.distill.learning_rate

    def guidance(self, share: float) -> float:
        """Share of steps that the teacher takes when so much of distillation is over."""
        return self.guided * max(0.0, 1.0 - 5.0 * share)


EYES = "block/skill-independent-in-lists"  # the shipped skill whose eyes others share


def skill_training(
    world: World,
    scenario: Scenario,
    preset: Preset = "fast",
    *,
    analogy: bool = True,
    teacher: Teacher = "planner",
    in_lists: bool = False,
    eyes: str = "",
    seed: int = 0,
) -> SkillTraining:
    """A preset, filled in for a world and a scenario."""
    counted = scenario == "inter-extrapolation"
    network = SkillNetwork(counted=counted, remembers=in_lists)
    if world == "block":
        network = replace(network, world="block", objects=7, actions=9)
    base = SkillTraining(
        world=world,
        scenario=scenario,
        analogy=analogy,
        teacher=teacher,
        in_lists=in_lists,
        preset=preset,
        seed=seed,
        network=network,
    )
    if scenario == "independent":
        # Chosen on the grid, on other assignments of verbs to objects than the one that is judged:
        # there they take unseen subtasks from 98.4% to 99.7% after 800,000 frames.
        base = replace(base, network=replace(network, noise=0.4, noise_at_first=True))
    if counted and world == "grid":
        base = replace(
            base,
            network=replace(network, narrow=4),
            distill=Stage(2_500_000, 1e-3, 2e-4),
            finetune=Stage(1_500_000, 2e-4, 2e-5, entropy=0.003),
        )
    if world == "block":
        base = replace(
            base,
            worlds=256,
            # An agent that does not know where to look finishes nothing, and sees little.
            guided=0.9,
            eyes=(eyes or EYES) if network.maps else "",
        )
    if in_lists:  # what is worth remembering, rewards teach better than the seeker
        base = replace(base, finetune=Stage(3_200_000, 3e-4, 2e-5, entropy=0.005))
    if preset == "paper":
        base = replace(
            base,
            network=replace(
                network,
                around_one=False,
                noise=0.0,
                activation="relu",
                same_eyes=False,
                view="pooled",
                conv1=3,
                conv2=64,
                lstm=64,
                looks=1,
            ),
            optimizer="rmsprop",
            worlds=128,
            minibatch=128,
            distill=Stage(10_000 * 128 * 16, 1e-3, 1e-3),
            finetune=Stage(10_000 * 128 * 16, 1e-4, 1e-4, entropy=0.01),
            guided=0.0,
            termination=0.1,
            positive_weight=1.0,
            averaging=0.0,
            curriculum=True,
        )
        if world == "block":
            base = replace(
                base,
                distill=Stage(15_000 * 128 * 16, 2.5e-4, 2.5e-4),
                finetune=Stage(15_000 * 128 * 16, 1e-4, 1e-4, entropy=0.1),
            )
    if preset == "debug":
        base = replace(
            base,
            worlds=64,
            steps=8,
            minibatch=32,
            teachers=Stage(30_000, 1e-3, 1e-3, entropy=0.02),
            teacher_worlds=4,
            distill=Stage(30_000, 1e-3, 1e-3),
            finetune=Stage(10_000, 2e-4, 2e-4),
            validate_every=20_000,
            validation_episodes=64,
        )
    if teacher == "rl" and preset == "fast":
        # Each teacher has habits of its own. Distilled for long, they become the student's, and
        # unseen subtasks suffer: here teachers give a start, and rewards do the rest.
        frames = base.distill.frames + base.finetune.frames
        base = replace(
            base,
            distill=replace(base.distill, frames=frames // 12),
            finetune=Stage(5 * frames // 4, 5e-4, 2e-5, entropy=0.02),
            epochs=2,
        )
    if teacher == "none":
        # All frames go to actor-critic, which then has to explore for itself.
        frames = 2 * (base.distill.frames + base.finetune.frames)
        base = replace(
            base,
            distill=replace(base.distill, frames=0),
            finetune=Stage(frames, 5e-4, 2e-5, entropy=0.02),
            epochs=2,
            curriculum=True,
        )
    return base


@dataclass(frozen=True)
class MetaStage(Stage):
    """One stage of learning to execute lists."""

    soft: bool = True  # soft update (Algorithm 2), or c_t and l_t drawn
    forgiving: bool = False  # put a target back whenever it is missing
    curriculum: bool = False  # lists from length 1 on, growing with the success rate
    # End as soon as the longest are learned; the last stage gets the frames left over. Paper: no
    leaves_early: bool = False
    # How often events happen while the agent uses none, times the world's own chance, which they
    # fall to as it uses more: who never meets one does not learn what it is worth. Paper: 1
    events: float = 1.0
    # eta, beside advantages of unit variance: a gate that is often open ends every hunt for an
    # enemy before it pays, and lets the pointer drift. Paper: 1e-4
    update_penalty: float = 5e-2

    def entropy_weight(self, share: float) -> float:
        return self.entropy * (1.0 - share)


# What `fast` adds to the paper's meta controller: on the grid, and in the block world, where the
# skill's eyes do not tell kinds of object apart and instructions are to be done up to three times.
FAST_HINTS: dict[World, tuple[str, ...]] = {
    "grid": ("head-start", "grounding", "reminder", "glance", "briefing"),
    "block": ("head-start", "grounding", "reminder", "tally"),
}


def fast_network(world: World = "grid", agent: str = FAVOURITE) -> MetaNetwork:
    """Smaller layers than the paper's, another start, and hints."""
    design = designs()[agent]
    network = MetaNetwork(
        world=world,
        gate=design.gate,
        flat=design.flat,
        around_one=True,
        noise=0.1,
        sentence=128,
        condition=128,
        joint="linear",
        view="centred",
        conv1=4,
        hidden=128,
        factors=128,
        hints=named_hints(FAST_HINTS[world], flat=design.flat),
    )
    if world == "block":
        network = replace(network, words=14, objects=7, actions=9)
        if not design.flat:  # the skill's eyes know all objects, and have looked already
            network = replace(network, eyes="skill")
    return network


def paper_network(world: World, agent: str) -> MetaNetwork:
    """The paper's architecture, whose sizes are the defaults."""
    design = designs()[agent]
    network = MetaNetwork(world=world, gate=design.gate, flat=design.flat)
    return replace(network, words=14, objects=7, actions=9) if world == "block" else network


@dataclass(frozen=True)
class MetaTraining(Training):
    """Learning to execute lists with a fixed skill."""

    agent: str = FAVOURITE
    skill: str = "grid/skill-independent"  # the shipped skill that it commands; Flat has none
    network: MetaNetwork = field(default_factory=fast_network)
    steps: int = 32
    minibatch: int = 64
    epochs: int = 3
    gradient_norm: float = 0.5
    averaging: float = 0.995
    # With the head start, hard updates learn from the first frame on. Soft ones, which the paper
    # begins with, learn lists of one as fast, but then let the pointer drift (docs/training.md);
    # the paper preset keeps the paper's order.
    stages: tuple[MetaStage, ...] = (
        MetaStage(
            2_000_000,
            1e-3,
            7e-4,
            0.02,
            soft=False,
            curriculum=True,
            leaves_early=True,
            events=10.0,
        ),
        MetaStage(2_000_000, 7e-4, 3e-5, 0.01, soft=False),
    )
    # Whether traces fade at every step, or only where the next step updates: credit then reaches
    # the decision that earned it, however long its subtask takes. Paper: step
    credit: Literal["step", "decision"] = "step"
    longest: int = 4  # instructions of a training list, as in the paper
    patience: float = 1.0  # training lists get so many times the world's steps; paper: 1
    validate_every: int = 500_000

    @property
    def first_rate(self) -> float:
        return self.stages[0].learning_rate


# The shipped skill that agents command: in the block world one that has learned in lists.
SKILLS: dict[World, str] = {
    "grid": "grid/skill-independent",
    "block": "block/skill-independent-in-lists",
}


def meta_training(
    world: World,
    agent: str,
    preset: Preset = "fast",
    *,
    analogy: bool = True,
    soft: bool = False,
    seed: int = 0,
    skill: str = "",
    without: Iterable[str] = (),
) -> MetaTraining:
    """A preset, filled in for a world and an agent.

    `soft` never goes over to hard updates; hints that are named in `without` are left out.
    """
    design = designs()[agent]
    base = MetaTraining(
        world=world,
        agent=agent,
        analogy=analogy,
        preset=preset,
        seed=seed,
        skill=skill or SKILLS[world],
        network=fast_network(world, agent),
    )
    if world == "block":
        # Targets have to be looked for: one list in eight takes longer than the world's own steps,
        # however well it is done. A box is easier to catch than an enemy: if it came ten times as
        # often, waiting for the next would pay better. Frames take five times the grid's.
        base = replace(base, patience=2.0, validate_every=250_000)
        base = _in_every_stage(base, frames=900_000)
        learning, settled = base.stages
        base = replace(base, stages=(replace(learning, events=6.0), settled))
        if preset == "fast":
            # A list of 4 takes 57 steps, twice the grid's, and is paid for at its end. A batch
            # contains whole lists: else leaving an instruction early is paid for beyond it.
            base = replace(base, worlds=128, steps=128, minibatch=16, credit="decision")
    if not design.interrupts:
        base = _in_every_stage(base, events=1.0)
    if design.flat:  # which has to learn every subtask as well, and longer lists much later
        base = _in_every_stage(base, curriculum=True)
    if preset == "paper":
        # An iteration is 512 episodes there; here, as many worlds times 32 steps.
        frames = 512 * 32
        lengths = (150_000, 25_000, 25_000) if world == "grid" else (15_000, 5_000, 5_000)
        base = replace(
            base,
            network=paper_network(world, agent),
            optimizer="rmsprop",
            minibatch=512,
            epochs=1,
            averaging=0.0,
            patience=1.0,
            stages=(
                MetaStage(
                    lengths[0] * frames, 2.5e-4, 2.5e-4, 0.015, forgiving=True, curriculum=True
                ),
                MetaStage(lengths[1] * frames, 1e-4, 1e-4),
                MetaStage(lengths[2] * frames, 1e-4, 1e-4, soft=False),
            ),
        )
        base = _in_every_stage(base, update_penalty=1e-4 if world == "grid" else 1e-3)
    if preset == "debug":
        base = replace(
            base,
            worlds=64,
            steps=16,
            minibatch=32,
            stages=(
                MetaStage(10_240, 5e-4, 5e-4, 0.03, forgiving=True, curriculum=True),
                MetaStage(10_240, 4e-4, 3e-4, 0.01),
                MetaStage(10_240, 3e-4, 2e-5, 0.01, soft=False),
            ),
            validate_every=10_000,
            validation_episodes=32,
        )
    if soft:
        base = _in_every_stage(base, soft=True)
    left = without_hints(base.network.hints, tuple(without))
    return replace(base, network=replace(base.network, hints=left))


def _in_every_stage(training: MetaTraining, **changes: Any) -> MetaTraining:
    return replace(training, stages=tuple(replace(at, **changes) for at in training.stages))
