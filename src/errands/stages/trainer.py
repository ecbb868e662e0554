"""What every training run has: a model and its running mean, an optimizer, random numbers, a state.

`Trainer` has what skills and meta controllers share, and names what each of them adds; run.py puts
the parts in order. A run can stop after any iteration and be resumed exactly: `save` and `resume`
cover everything that changes.
"""

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from errands.agents.files import save_agent
from errands.config import Stage, Training
from errands.language.analogies import Analogies
from errands.learning import checkpoint, distributed
from errands.learning.advantages import Credit
from errands.learning.losses import AnalogyLoss
from errands.learning.objectives import Terms
from errands.learning.old_runs import lift_checkpoint
from errands.seeds import training_seed
from errands.stages.selection import Selection

F = TypeVar("F")  # the frames of a batch; `worlds(index)` gives those of some of its worlds
S = TypeVar("S", bound=Stage)


@dataclass(frozen=True)
class IterationReport:
    """What one iteration has to say: for the progress bar, TensorBoard and the log."""

    stage: str
    frames: int  # since the run began
    rollout: Mapping[str, float]  # how the agent did while the batch was collected
    losses: Mapping[str, float]
    learning_rate: float
    validation: Mapping[str, float] | None = None  # only when there was one
    is_best: bool = False  # the weights that were validated replace those that were kept


@dataclass(frozen=True)
class Phase(Generic[S]):
    """The stage that an iteration belongs to, and the share of it that is over."""

    name: str
    stage: S
    share: float

    @property
    def learning_rate(self) -> float:
        return self.stage.rate(self.share)

    @property
    def entropy_weight(self) -> float:
        return self.stage.entropy_weight(self.share)


class Rollout(Protocol):
    """Worlds that an agent acts in, batch after batch."""

    def snapshot(self) -> dict[str, Tensor]: ...

    def restore(self, tensors: dict[str, Tensor]) -> None: ...


class Trainer(Generic[F, S]):
    """Everything that changes while an agent learns."""

    rollout: Rollout
    curriculum: Any

    def __init__(
        self, training: Training, model: torch.nn.Module, device: str, analogies: Analogies | None
    ) -> None:
        self.training = training
        self.device = torch.device(device)
        self.model = model.to(self.device)
        self.average = copy.deepcopy(self.model).eval()  # what is validated and shipped
        self._weights: list[Tensor] = [p for p in self.model.parameters() if p.requires_grad]
        self._means: list[Tensor] = [p for p in self.average.parameters() if p.requires_grad]
        self.optimizer = _optimizer(training, self.model)
        self.analogy = (
            AnalogyLoss(analogies, training.analogies) if training.analogy and analogies else None
        )
        rank_seed = training_seed(training.seed, distributed.rank())
        self.sampling = torch.Generator().manual_seed(rank_seed)
        self.shuffling = np.random.default_rng(rank_seed)
        self.iteration = 0
        self.seconds = 0.0
        self.selection = Selection()

    @property
    def frames(self) -> int:
        """Frames so far, of all processes."""
        return self.iteration * self.frames_per_iteration

    @property
    def frames_per_iteration(self) -> int:
        return self.training.frames_per_iteration * distributed.processes()

    @property
    def total_frames(self) -> int:
        raise NotImplementedError

    @property
    def finished(self) -> bool:
        return self.frames >= self.total_frames

    # What a skill's trainer and a meta controller's trainer add, in the order of an iteration.

    def train_teachers(self) -> IterationReport | None:
        """One iteration of the teachers, as long as there are any that have to learn first."""
        return None

    def phase(self) -> Phase[S]:
        """The stage that the next iteration belongs to."""
        raise NotImplementedError

    def collect(self, phase: Phase[S]) -> tuple[F, dict[str, float]]:
        """A batch of frames, and how the agent did in it."""
        raise NotImplementedError

    def credit(self, frames: F, phase: Phase[S]) -> Credit | None:
        """What each decision of the batch was worth, unless something else than reward teaches."""
        return None

    def objective(self, frames: F, credit: Credit | None, phase: Phase[S]) -> Terms:
        """What is minimised on some of the worlds of a batch, analogies aside."""
        raise NotImplementedError

    def embedding(self) -> Callable[[Tensor], Tensor] | None:
        """phi(g), which analogies shape, of a model that has one."""
        return None

    def move_on(self, figures: Mapping[str, float]) -> dict[str, float]:
        """Let curricula and stages follow the batch; returns figures to report beside its own."""
        raise NotImplementedError

    def validate(self, phase: Phase[S]) -> dict[str, float]:
        """`success` on the validation split, by which weights are kept (selection.py), and more."""
        raise NotImplementedError

    # What they share.

    def minibatches(self) -> Iterator[Tensor]:
        """Groups of worlds, one for each step of the optimizer: every world `epochs` times."""
        for _ in range(self.training.epochs):
            order = torch.from_numpy(self.shuffling.permutation(self.training.worlds))
            yield from torch.split(order, self.training.minibatch)

    def analogy_term(self) -> Terms:
        """xi L_AM (equations 7 and 9), unless the training or the agent goes without it."""
        embed = self.embedding()
        if self.analogy is None or embed is None:
            return {}
        return {"analogy": self.analogy(embed, self.shuffling, self.device)}

    def set_rate(self, rate: float) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    def minimise(self, terms: Terms) -> dict[str, float]:
        """One step of the optimizer on the sum of the terms; returns what each was."""
        self.optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(torch.stack(list(terms.values())).sum())
        distributed.average_gradients(self.model)
        torch.nn.utils.clip_grad_norm_(self._weights, self.training.gradient_norm)
        self.optimizer.step()
        # The running mean follows; early in a run it forgets faster.
        decay = min(self.training.averaging, 1.0 - 1.0 / (1.0 + self.iteration))
        with torch.no_grad():
            torch._foreach_lerp_(self._means, self._weights, 1.0 - decay)
        return {key: float(value.detach()) for key, value in terms.items()}

    def is_time_to_validate(self) -> bool:
        every = max(1, self.training.validate_every // self.frames_per_iteration)
        return self.iteration % every == 0 or self.finished

    def description(self) -> dict[str, Any]:
        """The JSON beside the weights: what rebuilds the agent, and where it comes from."""
        return {
            "training": asdict(self.training),
            "frames": self.frames,
            "seconds": round(self.seconds, 1),
        }

    def save_agent(self, folder: Path, validation: Mapping[str, float]) -> None:
        """The agent as it is now, with the figures of its validation."""
        description = self.description() | {"validation": dict(validation)}
        save_agent(folder, self.average, description)

    def save(self, folder: Path) -> None:
        """Everything that is needed to resume exactly here."""
        parts = {
            "model": self.model.state_dict(),
            "average": self.average.state_dict(),
            "optimizer": checkpoint.optimizer_tensors(self.optimizer),
            "rollout": self.rollout.snapshot(),
            "random": {"sampling": self.sampling.get_state(), "noise": torch.get_rng_state()},
            **self.own_tensors(),
        }
        tensors = {
            f"{part}.{k}": v.cpu() for part, named in parts.items() for k, v in named.items()
        }
        facts = {
            "iteration": self.iteration,
            "seconds": self.seconds,
            **self.selection.facts(),
            "shuffling": checkpoint.generator_facts(self.shuffling),
            "curriculum": self.curriculum.facts(),
            **self.own_facts(),
        }
        checkpoint.save_resume(folder, tensors, facts)

    def resume(self, folder: Path) -> list[str]:
        """Resume from what `save` wrote, if anything; returns complaints about damaged files."""
        found = checkpoint.load_resume(folder)
        if found is None:
            return []
        tensors, facts, complaints = found
        parts: dict[str, dict[str, Tensor]] = {}
        for key, value in tensors.items():
            part, _, name = key.partition(".")
            parts.setdefault(part, {})[name] = value
        parts = lift_checkpoint(parts, self.model)
        self.model.load_state_dict(parts["model"])
        self.average.load_state_dict(parts["average"])
        checkpoint.restore_optimizer(self.optimizer, parts.get("optimizer", {}))
        torch.set_rng_state(parts["random"]["noise"])
        self.curriculum.restore(facts["curriculum"])
        self.iteration, self.seconds = facts["iteration"], facts["seconds"]
        self.selection.restore(facts)
        self.restore_own(parts, facts)
        if distributed.rank() == 0:  # the process that wrote it; the others keep their worlds
            self.rollout.restore(parts.get("rollout", {}))
            self.sampling.set_state(parts["random"]["sampling"])
            checkpoint.restore_generator(self.shuffling, facts["shuffling"])
        return complaints

    def own_tensors(self) -> dict[str, dict[str, Tensor]]:
        """What a subclass keeps beside this, by part."""
        return {}

    def own_facts(self) -> dict[str, Any]:
        return {}

    def restore_own(self, parts: dict[str, dict[str, Tensor]], facts: dict[str, Any]) -> None:
        """Restore what `own_tensors` and `own_facts` gave, and what follows from the facts."""


def _optimizer(training: Training, model: torch.nn.Module) -> torch.optim.Optimizer:
    if training.optimizer == "adam":
        return torch.optim.Adam(model.parameters(), lr=training.first_rate)
    return torch.optim.RMSprop(model.parameters(), lr=training.first_rate, alpha=0.97, eps=1e-6)
