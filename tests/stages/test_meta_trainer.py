"""Learning to execute lists: three stages in order, whole runs, and going on exactly."""

import shutil
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from errands.agents.files import save_agent
from errands.agents.load import TrainedAgent, load, load_hierarchy
from errands.agents.meta import MetaController
from errands.agents.skill import Skill
from errands.config import MetaTraining, Preset, SkillTraining
from errands.stages.meta import MetaTrainer
from errands.stages.run import iterate, train
from twins.training import ITERATION, assert_same, everything, tiny, tiny_meta

STAGES = ["soft, forgiving"] * 2 + ["soft"] * 2 + ["hard"] * 2
LENGTH = len(STAGES)


@pytest.fixture(scope="module")
def block_skill(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of an untrained skill for the block world, with a map."""
    return save_skill(tmp_path_factory.mktemp("block"), tiny("block"))


@pytest.fixture(scope="module")
def lstm_skill(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The same, as the paper has it."""
    return save_skill(tmp_path_factory.mktemp("lstm"), tiny("block", preset="paper"))


def save_skill(folder: Path, training: SkillTraining) -> str:
    torch.manual_seed(0)
    description = {"kind": "skill", "network": asdict(training.network), "frames": 0}
    description |= {"seconds": 0.0, "training": asdict(training)}
    save_agent(folder / "skill", Skill(training.network), description)
    return str(folder / "skill")


def iterated(training: MetaTraining, iterations: int) -> MetaTrainer:
    trainer = MetaTrainer(training)
    for _ in range(iterations):
        iterate(trainer)
    return trainer


class Uninterrupted:
    """A whole run, what it was after every iteration, and its checkpoints."""

    def __init__(self, training: MetaTraining, folder: Path) -> None:
        self.trainer = MetaTrainer(training)
        self.folder = folder
        self.reports, self.states = [], [everything(self.trainer)]
        while not self.trainer.finished:
            self.reports.append(iterate(self.trainer))
            self.trainer.save(folder / str(self.trainer.iteration))
            self.states.append(everything(self.trainer))


@pytest.fixture(scope="module")
def dynamic(tmp_path_factory: pytest.TempPathFactory) -> Uninterrupted:
    return Uninterrupted(tiny_meta(), tmp_path_factory.mktemp("dynamic"))


@pytest.mark.parametrize("stop", range(1, LENGTH))
def test_stopped_and_resumed_is_the_same_as_never_stopped(
    dynamic: Uninterrupted, stop: int
) -> None:
    """Whether it stopped within a stage or between two of the three."""
    torch.manual_seed(99)  # whatever the new process has done before
    resumed = MetaTrainer(tiny_meta())
    assert resumed.resume(dynamic.folder / str(stop)) == []
    for k in range(stop, min(stop + 2, LENGTH)):
        assert_same_tensors(everything(resumed), dynamic.states[k])
        assert iterate(resumed).losses == dynamic.reports[k].losses
    assert_same_tensors(everything(resumed), dynamic.states[k + 1])


def assert_same_tensors(
    tensors: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]
) -> None:
    assert tensors.keys() == expected.keys()
    for key, value in expected.items():
        assert torch.equal(tensors[key], value), key


OTHERS: list[tuple[str, str, Preset]] = [
    ("grid", "long", "debug"),
    ("grid", "short", "debug"),
    ("grid", "flat", "debug"),
    ("block", "dynamic", "debug"),
    ("block", "flat", "debug"),
    ("block", "dynamic", "paper"),
]


@pytest.mark.parametrize(("world", "agent", "preset"), OTHERS)
def test_every_agent_goes_on_exactly(
    world: str, agent: str, preset: Preset, block_skill: str, lstm_skill: str, tmp_path: Path
) -> None:
    """Stopped within its hard stage, which comes at once here."""
    skill = {"grid": "", "block": lstm_skill if preset == "paper" else block_skill}[world]
    training = tiny_meta(world, agent, skill, preset=preset)
    soft, _, hard = training.stages
    stages = replace(soft, frames=ITERATION), replace(hard, frames=9 * ITERATION)
    training = replace(training, stages=stages, validate_every=100 * ITERATION)
    stopped = iterated(training, 2)
    stopped.save(tmp_path)
    before = everything(stopped)
    reports = [iterate(stopped)]
    resumed = MetaTrainer(training)
    resumed.resume(tmp_path)
    assert_same_tensors(everything(resumed), before)
    reports.append(iterate(resumed))
    assert_same(resumed, stopped)
    assert reports[0].losses == reports[1].losses
    assert ("analogy" in reports[0].losses) == (agent != "flat")
    assert ("updates" in reports[0].losses) == (agent == "dynamic")
    assert all(np.isfinite(value) for value in reports[0].losses.values())


def test_stages_follow_one_another(dynamic: Uninterrupted) -> None:
    reports = dynamic.reports
    assert [report.stage for report in reports] == STAGES
    assert [report.frames for report in reports] == [k * ITERATION for k in range(1, LENGTH + 1)]
    looked = [report.frames // ITERATION for report in reports if report.validation]
    assert looked == [3, 6]
    for report in reports:
        assert {"policy", "value", "entropy", "updates", "analogy"} == set(report.losses)
        assert report.rollout["longest"] == 1
    expected = [
        stage.rate(share) for stage in dynamic.trainer.training.stages for share in (0, 0.5)
    ]
    assert [report.learning_rate for report in reports] == pytest.approx(expected)


def test_saving_and_validating_change_nothing(dynamic: Uninterrupted) -> None:
    plain = iterated(tiny_meta(validate_every=100 * ITERATION), 4)
    assert_same_tensors(everything(plain), dynamic.states[4])


def test_seeds_make_the_difference(dynamic: Uninterrupted) -> None:
    other = everything(MetaTrainer(tiny_meta(seed=1)))
    assert_same_tensors(everything(MetaTrainer(tiny_meta())), dynamic.states[0])
    for key in ("model words", "rollout worlds.images"):
        assert not torch.equal(other[key], dynamic.states[0][key])


def test_the_skill_is_fixed() -> None:
    trainer = MetaTrainer(tiny_meta())
    assert trainer.skill is not None
    before = {key: value.clone() for key, value in trainer.skill.state_dict().items()}
    iterate(trainer)
    assert not trainer.skill.training
    assert all(torch.equal(before[key], v) for key, v in trainer.skill.state_dict().items())
    optimized = {id(p) for group in trainer.optimizer.param_groups for p in group["params"]}
    assert not optimized & {id(p) for p in trainer.skill.parameters()}


def test_without_analogy_there_is_no_such_term() -> None:
    assert "analogy" not in iterated_once(tiny_meta(analogy=False))
    assert "analogy" in iterated_once(tiny_meta())


def iterated_once(training: MetaTraining) -> Any:
    return iterate(MetaTrainer(training)).losses


# Whole runs


def run(training: MetaTraining, folder: Path) -> MetaTrainer:
    return train(
        lambda: MetaTrainer(training),
        training,
        folder,
        on_report=lambda trainer, report: None,
        on_message=lambda text: None,
    )


@pytest.mark.slow
def test_the_block_worlds_debug_preset_runs_end_to_end(block_skill: str, tmp_path: Path) -> None:
    """Only shorter and smaller: three stages, a validation, and an agent that acts."""
    training = tiny_meta("block", "dynamic", block_skill, validate_every=10**9)
    assert training.stages[-1].soft is False
    trainer = run(training, tmp_path)
    assert trainer.iteration == LENGTH
    agent = load_hierarchy(tmp_path)
    assert agent.description["soft"] is False
    assert agent.meta.network == training.network
    worlds = trainer.rollout.worlds
    seen = {"image": worlds.images, "tokens": worlds.tokens, "mask": worlds.mask}
    trace, _ = agent.act(seen)
    assert trace.action.shape == (8,)
    assert trace.action.max() < worlds.actions


def test_what_is_kept_says_how_it_was_validated(tmp_path: Path) -> None:
    """The last iteration of a soft stage is still soft, though what comes next is hard."""
    training = tiny_meta(validate_every=10**9)
    _, soft, hard = training.stages
    training = replace(training, stages=(replace(soft, frames=ITERATION), hard))
    trainer = MetaTrainer(training)
    for is_soft in (True, False):
        iterate(trainer)
        assert trainer.description()["soft"] == is_soft
    description = trainer.description()
    assert (description["kind"], description["skill"]) == ("meta", "grid/skill-independent")
    save_agent(tmp_path, trainer.average, description)
    again = load(tmp_path)
    assert isinstance(again.meta, MetaController)
    assert again.meta.network == training.network


def test_an_own_skill_is_kept_with_the_agent(tmp_path: Path, block_skill: str) -> None:
    own = tmp_path / "my-skill"
    shutil.copytree(block_skill, own)
    trainer = MetaTrainer(tiny_meta("block", skill=str(own)))
    shutil.rmtree(own)  # moved, or trained on
    trainer.save_agent(tmp_path / "run", {"success": 0.5})
    (tmp_path / "run").rename(tmp_path / "elsewhere")
    agent = load(tmp_path / "elsewhere")
    assert isinstance(agent, TrainedAgent)
    assert agent.description["validation"] == {"success": 0.5}
    assert agent.skill is not None
    assert trainer.skill is not None
    for mine, theirs in zip(agent.skill.parameters(), trainer.skill.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_flat_names_no_skill() -> None:
    assert MetaTrainer(tiny_meta(agent="flat")).description()["skill"] is None
