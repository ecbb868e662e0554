"""What training can be set to: every setting with its meaning and the paper's value.

Defaults are those of the grid's `fast` preset; presets.py has the presets. A value that follows
from the world, the scenario or the agent (sizes of networks, the gate) is no setting: presets.py
derives it.
"""

from dataclasses import dataclass, field
from typing import Literal

from errands.agents.meta import MetaNetwork
from errands.agents.recogniser import MapNetwork
from errands.agents.registry import FAVOURITE
from errands.agents.skill import SkillNetwork
from errands.learning.losses import AnalogyWeights
from errands.settings import setting

Scenario = Literal["independent", "object-dependent", "inter-extrapolation"]
Preset = Literal["fast", "paper", "debug"]
Teacher = Literal["planner", "rl", "none"]


@dataclass(frozen=True)
class Stage:
    """One stage of training: a schedule, which every preset states in full."""

    frames: int  # how long
    learning_rate: float  # at its start
    final_rate: float  # at its end, reached linearly
    entropy: float = 0.0  # weight of the policy's entropy at its start

    def rate(self, share: float) -> float:
        """The learning rate when this share of the stage is over."""
        return self.learning_rate + share * (self.final_rate - self.learning_rate)

    def entropy_weight(self, share: float) -> float:
        """It falls to zero in the first half of the stage."""
        return self.entropy * max(0.0, 1.0 - 2.0 * share)


@dataclass(frozen=True)
class Training:
    """What every kind of training has."""

    world: str = "grid"  # name of the world
    analogy: bool = True  # whether the analogy-making objective is applied
    preset: Preset = "fast"  # name of the preset
    seed: int = 0  # of weights, worlds and choices
    worlds: int = setting(512, "worlds in a batch; the paper: 16 threads of 8 episodes", paper=128)
    steps: int = setting(16, "steps in each world before an update; the paper: whole episodes")
    minibatch: int = setting(32, "worlds in a minibatch; frames should fit the cache", paper=128)
    epochs: int = setting(1, "how often a batch is used")
    optimizer: Literal["adam", "rmsprop"] = setting(
        "adam", "the paper: RMSProp, smoothing 0.97, epsilon 1e-6", paper="rmsprop"
    )
    clip: float = setting(0.2, "bound of the policy's ratio in actor-critic")
    gradient_norm: float = setting(1.0, "larger gradients are scaled down to this norm")
    averaging: float = setting(
        0.998, "decay of the running mean of the weights, which is validated and kept", paper=0.0
    )
    value: float = setting(0.5, "weight of the critic's error")
    discount: float = setting(0.99, "gamma")
    trace: float = setting(0.96, "lambda")
    analogies: AnalogyWeights = field(default_factory=AnalogyWeights)  # weights of that objective
    crowd: float = setting(
        0.0, "largest share of cells with objects in lists; 0: as the world has them"
    )
    validate_every: int = setting(250_000, "frames between validations")
    validation_episodes: int = setting(500, "episodes of a validation")

    @property
    def frames_per_iteration(self) -> int:
        """Frames of a batch."""
        return self.worlds * self.steps

    @property
    def first_rate(self) -> float:
        """The learning rate to begin with."""
        raise NotImplementedError


@dataclass(frozen=True)
class EyesTraining(Training):
    """Learning to name what a picture shows. The paper has nothing like it."""

    network: MapNetwork = field(default_factory=MapNetwork)
    recognise: Stage = Stage(1_200_000, 2e-3, 2e-5)
    worlds: int = setting(4096, "views in a batch")
    steps: int = setting(1, "views are drawn one by one")
    minibatch: int = setting(128, "views in a minibatch")
    averaging: float = setting(
        0.995, "decay of the running mean of the weights, which is validated and kept"
    )
    validate_every: int = setting(100_000, "views between validations")
    validation_episodes: int = setting(4000, "views of a validation")

    @property
    def first_rate(self) -> float:
        return self.recognise.learning_rate


@dataclass(frozen=True)
class SkillTraining(Training):
    """Learning a parameterized skill."""

    scenario: Scenario = "independent"  # which subtasks are trained
    teacher: Teacher = "planner"  # what labels in distillation
    in_lists: bool = False  # every other batch is of lists, for a skill that remembers
    eyes: str = ""  # trained eyes of a skill that builds a map
    start: str = ""  # a trained skill whose weights it begins with; "": new weights
    network: SkillNetwork = field(default_factory=SkillNetwork)
    teachers: Stage = Stage(3_000_000, 1e-3, 1e-4, entropy=0.02)  # all RL teachers together
    teacher_worlds: int = setting(16, "worlds of each RL teacher")
    teacher_epochs: int = setting(2, "how often an RL teacher's batch is used")
    distill: Stage = Stage(1_600_000, 1e-3, 2e-4)
    finetune: Stage = Stage(800_000, 2e-4, 2e-5, entropy=0.003)
    guided: float = setting(
        0.0, "share of steps that the teacher takes at the start of distillation"
    )
    termination: float = setting(
        1.0,
        "alpha, weight of the termination signal's loss; 0.1 is too weak for so few frames",
        paper=0.1,
    )
    contrast: float = setting(
        0.0, "weight of the termination signal's loss for trained subtasks that were not given"
    )
    positive_weight: float = setting(
        3.0, "weight of finished states in the termination loss; they are rare", paper=1.0
    )
    curriculum: bool = setting(
        False, "begin with small worlds; not needed with an exact teacher", paper=True
    )
    walls: float = setting(
        0.0, "largest share of walls in maps of single subtasks; 0: as the world has them"
    )

    @property
    def first_rate(self) -> float:
        return self.distill.learning_rate

    def guidance(self, share: float) -> float:
        """Share of steps that the teacher takes; none after the first fifth of distillation."""
        return self.guided * max(0.0, 1.0 - 5.0 * share)


@dataclass(frozen=True)
class MetaStage(Stage):
    """One stage of learning to execute lists."""

    soft: bool = setting(True, "soft updates (Algorithm 2); otherwise c_t and l_t are sampled")
    forgiving: bool = setting(False, "a missing target of the current instruction is replaced")
    curriculum: bool = setting(False, "lists grow from length 1 with the success rate")
    leaves_early: bool = setting(
        False, "the stage ends as soon as the longest lists are learned; the last one gets the rest"
    )
    # An agent that never meets an event cannot learn its value.
    events: float = setting(
        1.0, "multiplies the probability of events while the agent uses none of them"
    )
    # Advantages have unit variance here. A gate that is often open ends every hunt for an enemy
    # before it pays, and lets the pointer drift.
    update_penalty: float = setting(5e-2, "eta", paper=1e-4)

    def entropy_weight(self, share: float) -> float:
        return self.entropy * (1.0 - share)


# With the head start, hard updates learn from the first frame on. Soft ones, with which the paper
# begins, learn lists of one as fast, but then let the pointer drift (docs/notebook.md).
HARD_STAGES = (
    MetaStage(
        2_000_000, 1e-3, 7e-4, 0.02, soft=False, curriculum=True, leaves_early=True, events=10.0
    ),
    MetaStage(2_000_000, 7e-4, 3e-5, 0.01, soft=False),
)


@dataclass(frozen=True)
class MetaTraining(Training):
    """Learning to execute lists with a fixed skill."""

    agent: str = FAVOURITE  # "dynamic", "short", "long" or "flat"
    skill: str = "grid/skill-independent"  # the skill that it commands; Flat has none
    network: MetaNetwork = field(default_factory=MetaNetwork)
    worlds: int = setting(512, "worlds in a batch; the paper: 16 threads of 32 episodes")
    steps: int = setting(32, "steps in each world before an update; the paper: whole episodes")
    minibatch: int = setting(64, "worlds in a minibatch; frames should fit the cache", paper=512)
    epochs: int = setting(3, "how often a batch is used", paper=1)
    gradient_norm: float = setting(0.5, "larger gradients are scaled down to this norm")
    averaging: float = setting(
        0.995, "decay of the running mean of the weights, which is validated and kept", paper=0.0
    )
    stages: tuple[MetaStage, ...] = HARD_STAGES  # one after the other
    credit: Literal["step", "decision"] = setting(
        "step", "where traces fade: at every step, or only where the next step updates"
    )
    half_eyes: bool = setting(
        False, "recognise pictures in bfloat16 while acting, where the processor computes in it"
    )
    longest: int = setting(4, "instructions of a training list")
    patience: float = setting(1.0, "multiplies the step limit during training")
    validate_every: int = setting(500_000, "frames between validations")

    @property
    def first_rate(self) -> float:
        return self.stages[0].learning_rate
