"""Your own agent as a row of the report: copy this file, and replace what `OwnAgent` does.

python docs/examples/own_agent.py --name mine
errands report
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from errands.evaluation.episodes import InstructionTest, evaluate_instructions
from errands.worlds.vector import Worlds

LISTS = (("train", 4), ("seen", 20), ("unseen", 20))  # the paper's, and the report's columns


class OwnAgent:
    """Acts at random: put your own here. One object acts in one batch, from its beginning."""

    def __init__(self, worlds: Worlds) -> None:
        self.random = np.random.default_rng(0)  # and whatever your agent remembers of each world

    def act(self, worlds: Worlds) -> NDArray[np.int64]:
        """An action for every world. Where an episode has ended, the action is ignored.

        An agent may see `worlds.images`, `worlds.tokens` and `worlds.mask`, and nothing else.
        """
        return self.random.integers(worlds.actions, size=worlds.count)


# How a learned agent was trained: then each seed has its own row. None for one that was not.
# {"preset": "own", "analogy": True, "seed": 0, "frames": 1_000_000, "seconds": 60.0}
# `analogy` is false for ablations of our objective, which have a table of their own.
TRAINING: dict[str, Any] | None = None


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", default="mine", help="of the agent; none of the package's")
    parser.add_argument("--world", default="grid", choices=("grid", "block"))
    parser.add_argument("--episodes", type=int, default=1000, help="of each kind of list")
    parser.add_argument("--seed", type=int, default=0, help="number of the first test world")
    parser.add_argument("--results", type=Path, default=Path("results"), help="the report's folder")
    chosen = parser.parse_args(arguments)
    folder = chosen.results / "instructions"
    folder.mkdir(parents=True, exist_ok=True)
    for split, length in LISTS:
        test = InstructionTest(
            chosen.name, chosen.world, split, length, episodes=chosen.episodes, seed=chosen.seed
        )
        record = evaluate_instructions(test, make_policy=OwnAgent)
        if TRAINING is not None:
            record["training"] = {"agent": chosen.name, **TRAINING}
        path = folder / f"{chosen.world}-{chosen.name}-{split}-{length}.json"
        path.write_text(json.dumps(record, indent=2) + "\n")
        print(f"{split}, {length}: success {record['success']['mean']:.1%}, wrote {path}")


if __name__ == "__main__":
    main()
