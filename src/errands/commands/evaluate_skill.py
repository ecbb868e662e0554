"""`errands evaluate skill`: a skill's success on trained and unseen subtasks."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from errands.commands.choices import DEFAULT_WORLD, WorldOption
from errands.commands.files import STANDARD_OUTPUT, check_writable, write_json
from errands.commands.problem import MOST_EPISODES, Problem, check_range, check_seed


@dataclass(frozen=True)
class EvaluateSkill:
    """Evaluate a skill on the subtasks of a scenario.

    An episode is a success only if the subtask is finished and the termination signal was right on
    every observation; "finished" ignores the signal. Episode i takes place in test world number
    --seed + i, which training never uses. Without --weights the scenario's shipped skill is used.

    examples
      errands evaluate skill --scenario independent --split unseen
      errands evaluate skill --scenario object-dependent --no-analogy --episodes 5000
      errands evaluate skill --weights runs/independent --split unseen --json -
    """

    world: WorldOption = DEFAULT_WORLD
    scenario: Literal["independent", "object-dependent", "inter-extrapolation"] = "independent"
    """The set of subtasks."""
    split: Literal["train", "unseen", "validation"] = "unseen"
    """Trained subtasks, unseen ones, or those for validation."""
    no_analogy: bool = False
    """Take the shipped skill that was trained without the analogy-making objective."""
    weights: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None
    """The folder of your own run, instead of the shipped skill."""
    episodes: int = 1000
    """Number of episodes."""
    seed: int = 0
    """Number of the first test world."""
    device: str = "cpu"
    """Device of the network: cpu, cuda, ..."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """Write the result; "-" prints it, and nothing else, to standard output."""

    def execute(self) -> int:
        check_range("--episodes", self.episodes, 1, MOST_EPISODES)
        check_seed(self.seed, self.episodes)
        check_writable("--json", self.json)
        from errands.agents.load import TrainedSkill, load, skill_name
        from errands.commands.device import check_device
        from errands.commands.progress import progress
        from errands.evaluation.skills import SkillTest, evaluate_skill
        from errands.files import DamagedFile

        check_device(self.device)
        shipped = skill_name(self.world, self.scenario, analogy=not self.no_analogy)
        try:
            trained = load(self.weights if self.weights is not None else shipped, self.device)
        except (ValueError, FileNotFoundError, DamagedFile) as error:
            raise Problem(f"{error}; train one with errands train skill --out FOLDER") from None
        if not isinstance(trained, TrainedSkill):
            raise Problem(f"{self.weights} holds no skill: see errands evaluate instructions")
        learned = trained.description["training"]
        if self.weights is not None:
            self._check_weights(self.weights, learned)
        test = SkillTest(
            trained.name, self.world, self.scenario, self.split, self.episodes, self.seed
        )
        done = 0

        def advance(count: int) -> None:
            nonlocal done
            done += count
            show(done)

        with progress("episodes", self.episodes) as show:
            record = evaluate_skill(trained.skill, test, advance)
        record["training"] = {key: learned[key] for key in ("preset", "teacher", "analogy", "seed")}
        record["training"] |= {
            "in_lists": learned.get("in_lists", False),
            "frames": trained.description["frames"],
            "seconds": trained.description["seconds"],
        }
        self._tell(record)
        return 0

    def _check_weights(self, weights: Path, learned: dict[str, Any]) -> None:
        """Refuse options that contradict what the weights have learned."""
        from errands.commands.actors import check_world

        check_world(weights, learned["world"], self.world)
        if learned["scenario"] != self.scenario:
            raise Problem(
                f"{weights} was trained for --scenario {learned['scenario']}; ask for that one"
            )
        if self.no_analogy and learned["analogy"]:
            raise Problem(f"{weights} was trained with analogies; drop --no-analogy")

    def _tell(self, record: dict[str, Any]) -> None:
        if self.json is not None:
            write_json(self.json, record)
        if self.json == STANDARD_OUTPUT:
            return
        success, error = record["success"]["mean"], record["success"]["stderr"]
        spread = "" if error is None else f" ±{error:.2%}"
        termination = record["termination"]
        print(
            f"{record['agent']}, {self.split} subtasks, {self.episodes} episodes: "
            f"success {success:.2%}{spread}, finished {record['finished']['mean']:.2%}, "
            f"termination {termination['precision']:.2%} precise, {termination['recall']:.2%} "
            f"complete, reward {record['reward']['mean']:.2f}, steps {record['steps']['mean']:.1f}"
        )
        if self.json is not None:
            print(f"wrote {self.json}")
