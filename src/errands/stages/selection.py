"""Which of the weights that a run validates are kept."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

NORMAL_95 = 1.96  # standard errors to each side


@dataclass
class Selection:
    """Those with the best success on the validation split; of equally good ones the latest.

    `episodes` is how many were validated with. Then success within the 95% interval of the best
    counts as equally good: the validation split cannot tell them apart, and reward still grows when
    success no longer does. With 0, only the same success does.
    """

    episodes: int = 0
    best: float = -1.0  # success so far

    def takes(self, validation: Mapping[str, float]) -> bool:
        """Whether the weights of this validation replace those that are kept."""
        self.best = max(self.best, validation["success"])
        return validation["success"] >= self.best - self._margin()

    def _margin(self) -> float:
        """From the best success to the lower end of its interval. With two more successes and
        failures, as Agresti and Coull recommend, it is not 0 where all episodes succeeded."""
        if not self.episodes:
            return 0.0
        trials = self.episodes + 4
        mean = (self.best * self.episodes + 2) / trials
        return NORMAL_95 * float((mean * (1 - mean) / trials) ** 0.5)

    def facts(self) -> dict[str, Any]:
        return {"best": self.best}

    def restore(self, facts: Mapping[str, Any]) -> None:
        self.best = facts["best"]
