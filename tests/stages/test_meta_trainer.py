"""Learning to execute lists: three stages in order, their worlds, and going on exactly."""

import shutil
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from errands.agents.files import save_agent
from errands.agents.hints import named_hints
from errands.agents.load import TrainedAgent, load, load_hierarchy
from errands.agents.meta import MetaController
from errands.agents.skill import Skill
from errands.config import MetaTraining, Preset, SkillTraining
from errands.learning.advantages import assign_credit
from errands.learning.curriculum import ENOUGH, PATIENCE
from errands.presets import meta_training, skill_training
from errands.stages.meta import MetaTrainer
from errands.stages.run import iterate, train
from errands.worlds.spec import GRID, MAP_SIZE, SMALLEST
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


# Worlds of the stages


def succeed(trainer: MetaTrainer, success: float, caught: float = 0.0) -> None:
    """Make every batch's episodes count as done so often, and events as used."""
    collect = trainer.rollout.collect

    def flattered(*arguments: Any, **options: Any) -> Any:
        frames, statistics = collect(*arguments, **options)
        return frames, replace(statistics, success=success, caught=caught)

    trainer.rollout.collect = flattered  # type: ignore[method-assign]


def curious(**changes: Any) -> MetaTraining:
    """Long enough in its first stage for every list, and not at all busy."""
    few = {"steps": 2, "worlds": 4, "minibatch": 4, "epochs": 1, "validate_every": 10**9}
    training = tiny_meta(**few, **changes)
    frames = 8 * (3 * PATIENCE + 2), 16, 10**6
    pairs = zip(training.stages, frames, strict=True)
    return replace(training, stages=tuple(replace(stage, frames=n) for stage, n in pairs))


def test_success_makes_lists_longer_and_maps_larger_and_stages_change_the_world() -> None:
    trainer = MetaTrainer(curious())
    succeed(trainer, 1.0)
    worlds = trainer.rollout.worlds
    assert worlds.longest == 4
    told: list[tuple[Any, ...]] = []
    names = []
    for _ in range(3 * PATIENCE + 6):
        tasks = worlds.tasks
        told.append((tasks.lengths, tasks.step_limit, worlds.setting.sizes))
        assert worlds.setting.forgiving == (len(told) <= 3 * PATIENCE + 2)
        names.append(iterate(trainer).stage)
    lessons = [told[k] for k in range(0, 3 * PATIENCE + 1, PATIENCE)]
    limit = GRID.step_limit(4, "train")
    assert lessons == [
        ((1, 1), 2 * limit // 5, (SMALLEST, SMALLEST)),
        ((1, 2), 3 * limit // 5, (SMALLEST, SMALLEST + 1)),
        ((1, 3), 4 * limit // 5, (SMALLEST, SMALLEST + 2)),
        ((1, 4), limit, (SMALLEST, MAP_SIZE)),
    ]
    for k in range(3 * PATIENCE):
        assert told[k] == lessons[k // PATIENCE]
    assert names[-4:] == ["soft", "soft", "hard", "hard"]
    assert told[-4:] == [((4, 4), limit, GRID.lists.sizes)] * 4
    assert worlds.setting == GRID.lists


def test_patience_gives_training_lists_more_steps_and_the_block_worlds_need_them() -> None:
    plain, patient = (MetaTrainer(curious(patience=k)).rollout.worlds.tasks for k in (1.0, 2.5))
    assert plain.lengths == patient.lengths == (1, 1)
    assert (plain.step_limit, patient.step_limit) == (24, 60)
    patience = {
        (world, preset): meta_training(world, "dynamic", preset).patience
        for world in ("grid", "block")
        for preset in ("fast", "paper")
    }
    own = dict.fromkeys(patience, 1.0)
    assert patience == own | {("block", "fast"): 2.0}


def test_events_come_more_often_until_the_agent_uses_them(tmp_path: Path) -> None:
    training = curious()
    first, *others = training.stages
    eager = replace(training, stages=(replace(first, events=5.0), *others))
    trainer = MetaTrainer(eager)
    assert often(trainer) == pytest.approx(5.0)
    succeed(trainer, 0.5, caught=ENOUGH / 2)
    for _ in range(3 * PATIENCE):
        iterate(trainer)
    assert trainer.begun == [0]
    assert often(trainer) == pytest.approx(3.0, abs=0.1)
    trainer.save(tmp_path)
    resumed = MetaTrainer(eager)
    resumed.resume(tmp_path)
    assert often(resumed) == often(trainer)
    while trainer.begun == [0]:
        iterate(trainer)
    assert often(trainer) == pytest.approx(1.0)


def often(trainer: MetaTrainer) -> float:
    """How many times the world's own chance events have."""
    assert GRID.event is not None
    return float(trainer.rollout.worlds.rules["event_probability"][0]) / GRID.event.probability


def test_without_success_lists_stay_short_until_the_stage_is_over() -> None:
    trainer = MetaTrainer(curious())
    succeed(trainer, 0.5)
    while trainer.stage.curriculum:
        assert trainer.rollout.worlds.tasks.lengths == (1, 1)
        iterate(trainer)
    assert trainer.rollout.worlds.tasks.lengths == (4, 4)


def test_a_stage_may_leave_as_soon_as_the_longest_lists_are_learned(tmp_path: Path) -> None:
    """The last stage gets its frames, and rates fall over all of those."""
    training = curious()
    first, *others = training.stages
    eager = replace(training, stages=(replace(first, leaves_early=True, frames=10**4), *others))
    trainer = MetaTrainer(eager)
    succeed(trainer, 1.0)
    for _ in range(4 * PATIENCE):
        assert trainer.begun == [0]
        iterate(trainer)
    assert trainer.begun == [0, trainer.frames]
    iterate(trainer)
    iterate(trainer)
    assert trainer.begun == [0, trainer.frames - 16, trainer.frames]
    iterate(trainer)
    assert trainer.in_last_stage
    assert trainer.phase().share == pytest.approx(8 / (trainer.total_frames - trainer.begun[2]))
    trainer.save(tmp_path)
    resumed = MetaTrainer(eager)
    resumed.resume(tmp_path)
    assert resumed.phase() == trainer.phase()
    assert resumed.rollout.worlds.tasks == trainer.rollout.worlds.tasks


def test_the_curriculum_goes_on_too(tmp_path: Path) -> None:
    trainer = MetaTrainer(curious())
    succeed(trainer, 1.0)
    for _ in range(PATIENCE + 1):
        iterate(trainer)
    trainer.save(tmp_path)
    resumed = MetaTrainer(curious())
    assert resumed.rollout.worlds.tasks.lengths == (1, 1)
    resumed.resume(tmp_path)
    assert resumed.curriculum.facts() == {"reached": 2, "mastered": False, "good_batches": 1}
    assert resumed.rollout.worlds.tasks == trainer.rollout.worlds.tasks
    assert resumed.rollout.worlds.setting == trainer.rollout.worlds.setting


def test_lists_of_the_first_episodes_are_as_short_as_the_curriculum_wants() -> None:
    trainer = MetaTrainer(tiny_meta())
    assert (trainer.rollout.worlds.mask.sum(axis=1) == 1).all()


@pytest.mark.parametrize("soft", [True, False])
def test_credit_is_assigned_by_decision_where_updates_are_hard(soft: bool) -> None:
    stage = replace(tiny_meta().stages[-1], soft=soft)
    training = tiny_meta(stages=(stage,), steps=12, credit="decision")
    trainer = MetaTrainer(training)
    phase = trainer.phase()
    frames, _ = trainer.collect(phase)
    assert frames.decision.c.float().mean() < 1
    found = trainer.credit(frames, phase)
    weights = {"discount": training.discount, "trace": training.trace}
    by_decision = assign_credit(frames, **weights, decides=frames.decision.c)
    by_step = assign_credit(frames, **weights)
    expected, other = (by_step, by_decision) if soft else (by_decision, by_step)
    assert torch.equal(found.advantages, expected.advantages)
    assert not torch.equal(found.advantages, other.advantages)


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


# Presets


@pytest.mark.parametrize("preset", ["fast", "paper", "debug"])
def test_soft_training_never_goes_over_to_hard_updates(preset: Preset) -> None:
    soft, plain = (meta_training("grid", "dynamic", preset, soft=soft) for soft in (True, False))
    assert all(stage.soft for stage in soft.stages)
    assert not plain.stages[-1].soft
    assert [at.frames for at in soft.stages] == [at.frames for at in plain.stages]


@pytest.mark.parametrize("world", ["grid", "block"])
def test_the_papers_preset_keeps_the_papers_numbers(world: str) -> None:
    paper = meta_training(world, "dynamic", "paper")
    assert (paper.discount, paper.trace, paper.optimizer) == (0.99, 0.96, "rmsprop")
    assert paper.worlds == paper.minibatch == 16 * 32
    assert (paper.epochs, paper.averaging, paper.network.noise) == (1, 0.0, 0.0)
    network = paper.network
    assert (network.hidden, network.sentence, network.condition) == (256, 256, 256)
    assert (network.conv1, network.view, network.hints) == (3, "pooled", {})
    rates = [(stage.learning_rate, stage.entropy) for stage in paper.stages]
    assert rates == [(2.5e-4, 0.015), (1e-4, 0.0), (1e-4, 0.0)]
    assert [stage.soft for stage in paper.stages] == [True, True, False]
    assert [stage.forgiving for stage in paper.stages] == [True, False, False]
    iterations = [stage.frames // paper.frames_per_iteration for stage in paper.stages]
    expected = [150_000, 25_000, 25_000] if world == "grid" else [15_000, 5_000, 5_000]
    assert iterations == expected
    penalty = 1e-4 if world == "grid" else 1e-3
    assert [stage.update_penalty for stage in paper.stages] == [penalty] * 3


def test_flat_goes_on_to_the_longest_lists_only_when_it_has_learned_the_others() -> None:
    for agent, to_the_end in (("dynamic", False), ("long", False), ("flat", True)):
        first, last = meta_training("grid", agent).stages
        assert first.curriculum
        assert last.curriculum == to_the_end


def test_the_block_worlds_agents_see_their_skills_map_if_they_have_one() -> None:
    networks = {
        (world, agent, preset): meta_training(world, agent, preset).network
        for world in ("grid", "block")
        for agent in ("dynamic", "long", "short", "flat")
        for preset in ("fast", "paper")
    }
    shared = {("block", agent, "fast") for agent in ("dynamic", "long", "short")}
    assert {key for key, network in networks.items() if network.shares_eyes} == shared
    skill = skill_training("block", "independent", in_lists=True)
    assert {networks[key].maps for key in shared} == {skill.network.maps}


def test_agents_differ_in_their_gate_and_flat_in_what_it_chooses() -> None:
    networks = {
        agent: meta_training("grid", agent).network
        for agent in ("dynamic", "long", "short", "flat")
    }
    dynamic = networks["dynamic"]
    assert networks["long"] == replace(dynamic, gate="at-termination")
    assert networks["short"] == replace(dynamic, gate="every-step")
    hints = named_hints(("reminder", "glance", "briefing"), flat=True)
    assert networks["flat"] == replace(dynamic, gate="every-step", flat=True, hints=hints)
    assert {meta_training("grid", agent).skill for agent in networks} == {"grid/skill-independent"}
