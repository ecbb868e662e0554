"""Which of the weights that a run validates are kept."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

UNKNOWN = -1e9  # less than any reward
NORMAL_95 = 1.96  # standard errors to each side


@dataclass
class Choice:
    """Those with the best success on the validation split.

    Lists are judged by reward as well. Weights whose success is within the 95% interval of the best
    are as good, as far as the validation split can tell; of these, the ones that earn most are
    kept. `episodes` is how many were validated with, and 0 where success alone counts.
    """

    episodes: int = 0
    best: float = -1.0  # success so far
    kept: tuple[float, float] = (-1.0, UNKNOWN)  # success, and reward

    def takes(self, validation: Mapping[str, float]) -> bool:
        """Whether the weights of this validation replace those that are kept."""
        success = validation["success"]
        new = success, validation["reward"] if self.episodes else success
        self.best = max(self.best, success)
        least = self.best - self._margin()
        if success < least or (self.kept[0] >= least and self.kept[1] > new[1]):
            return False
        self.kept = new
        return True

    def _margin(self) -> float:
        """From the best success to the lower end of its interval. With two more successes and
        failures, as Agresti and Coull recommend, it is not 0 where all episodes succeeded."""
        if not self.episodes:
            return 0.0
        trials = self.episodes + 4
        mean = (self.best * self.episodes + 2) / trials
        return NORMAL_95 * float((mean * (1 - mean) / trials) ** 0.5)

    def facts(self) -> dict[str, Any]:
        return {"best": self.best, "kept": list(self.kept)}

    def restore(self, facts: Mapping[str, Any]) -> None:
        """From `facts`. Runs of earlier versions say their best success alone."""
        self.best = facts["best"]
        success, reward = facts.get("kept", (self.best, UNKNOWN if self.episodes else self.best))
        self.kept = success, reward
