"""Presets: what overrides what, what is derived, and that `paper` has the paper's values."""

from dataclasses import fields, replace
from typing import Any

import pytest

from errands.agents.hints import named_hints, without_hints
from errands.agents.skill import Skill
from errands.config import EyesTraining, MetaTraining, Preset, Scenario, SkillTraining
from errands.presets import fitted, meta_training, skill_training
from errands.settings import meanings, paper_values
from errands.worlds.spec import BLOCK, GRID, WorldSpec
from twins.own_world import own_world


@pytest.mark.parametrize("world", ["grid", "block"])
@pytest.mark.parametrize("scenario", ["independent", "inter-extrapolation"])
def test_rl_teachers_give_a_start_and_rewards_do_the_rest(world: str, scenario: Scenario) -> None:
    plain = skill_training(world, scenario)
    taught = skill_training(world, scenario, teacher="rl")
    assert taught.distill.frames < plain.distill.frames / 5
    assert taught.finetune.frames > plain.distill.frames + plain.finetune.frames
    assert taught.teachers.frames == 3_000_000


@pytest.mark.parametrize("world", ["grid", "block"])
def test_without_a_teacher_nothing_is_distilled(world: str) -> None:
    plain, alone = (skill_training(world, "independent", teacher=t) for t in ("planner", "none"))
    assert alone.distill.frames == 0
    assert alone.finetune.frames == 2 * (plain.distill.frames + plain.finetune.frames)
    assert (alone.epochs, alone.curriculum) == (2, True)
    assert (plain.value, alone.value) == (0.5, {"grid": 0.5, "block": 0.1}[world])


def test_the_papers_teacher_takes_no_step() -> None:
    fast, paper = (skill_training("block", "independent", preset) for preset in ("fast", "paper"))
    assert (fast.guided, paper.guided) == (0.5, 0.0)
    assert (fast.guidance(0.0), fast.guidance(0.1), fast.guidance(0.2)) == (0.5, 0.25, 0.0)


def test_batches_of_the_block_world_contain_whole_lists_and_credit_decisions() -> None:
    fast = meta_training("block", "dynamic")
    assert (fast.worlds, fast.steps, fast.minibatch, fast.credit) == (128, 128, 16, "decision")
    assert fast.frames_per_iteration == meta_training("grid", "dynamic").frames_per_iteration
    for world, preset in (("grid", "fast"), ("grid", "paper"), ("block", "paper")):
        plain = meta_training(world, "dynamic", preset)
        assert (plain.worlds, plain.steps, plain.credit) == (512, 32, "step")


SKILLS = [("grid", "independent"), ("grid", "inter-extrapolation"), ("block", "independent")]
METAS = [("grid", "dynamic"), ("grid", "flat"), ("block", "dynamic"), ("block", "long")]
# What differs in the block world, though the paper's value is the grid's.
OWN_TO_THE_BLOCK_WORLD = {"validate_every"}


@pytest.mark.parametrize(("world", "scenario"), SKILLS)
def test_paper_has_the_papers_value_of_every_setting_of_a_skill(world: str, scenario: Any) -> None:
    training = skill_training(world, scenario, "paper")
    for name, value in paper_values(training):
        assert value_of(training, name) == value, name


@pytest.mark.parametrize(("world", "agent"), METAS)
def test_paper_has_the_papers_value_of_every_setting_of_a_meta_controller(
    world: str, agent: str
) -> None:
    training = meta_training(world, agent, "paper")
    for name, value in paper_values(training):
        if world == "grid" or name not in OWN_TO_THE_BLOCK_WORLD:
            assert value_of(training, name) == value, name
    assert training.network.hints == {}
    for stage in training.stages:
        papers = dict(paper_values(stage))
        assert (stage.events, stage.leaves_early) == (papers["events"], papers["leaves_early"])
        if world == "grid":
            assert stage.update_penalty == papers["update_penalty"]


def value_of(record: Any, name: str) -> Any:
    for part in name.split("."):
        record = getattr(record, part)
    return record


def test_every_field_is_explained_or_follows_from_what_is_asked_for() -> None:
    """Or is a schedule, which has a table of its own."""
    asked_for = {"world", "analogy", "preset", "seed", "scenario", "teacher", "in_lists", "agent"}
    asked_for |= {"skill", "eyes", "start", "network", "analogies"}
    schedules = {"recognise", "teachers", "distill", "finetune", "stages"}
    derived = {"world", "objects", "actions", "verbs", "words", "counted", "remembers"}
    derived |= {"gate", "flat"}
    for training in (SkillTraining(), MetaTraining(), EyesTraining()):
        plain = {field.name for field in fields(training)} - meanings(training).keys()
        assert plain <= asked_for | schedules
        network = training.network
        assert {field.name for field in fields(network)} - meanings(network).keys() <= derived
        assert all(meanings(training).values())


@pytest.mark.parametrize("kind", ["grid", "block"])
def test_networks_take_their_sizes_from_the_world(kind: str) -> None:
    spec = own_world(kind)
    skill = fitted(skill_training(kind, "independent", "debug"), spec)
    assert skill.world == "cellar"
    assert (skill.network.world, skill.network.objects, skill.network.verbs) == (kind, 5, 4)
    meta = fitted(meta_training(kind, "dynamic", "debug"), spec)
    assert meta.network.words == spec.vocabulary.token_count
    assert meta.network.actions == {"grid": 13, "block": 9}[kind]
    assert meta.network.verbs == 4
    assert Skill(skill.network).network.actions == meta.network.actions


@pytest.mark.parametrize("spec", [GRID, BLOCK], ids=lambda spec: spec.name)
def test_presets_are_fitted_to_the_papers_worlds(spec: WorldSpec) -> None:
    skill, meta = skill_training(spec.name, "independent"), meta_training(spec.name, "dynamic")
    assert fitted(skill, spec) == skill
    assert fitted(meta, spec) == meta
    assert (skill.network.verbs, meta.network.verbs) == (4, 3)  # no list has "interact with"
    assert skill.network.objects == meta.network.objects == len(spec.objects)


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
    kept = without_hints(dynamic.hints, ["pursuit"])
    assert networks["long"] == replace(dynamic, gate="at-termination", hints=kept)
    assert networks["short"] == replace(dynamic, gate="every-step")
    hints = named_hints(("reminder", "glance", "briefing"), flat=True)
    plain = replace(dynamic, threshold=0.5, sharpness=1.0)  # there is no skill
    assert networks["flat"] == replace(plain, gate="every-step", flat=True, hints=hints)
    assert {meta_training("grid", agent).skill for agent in networks} == {"grid/skill-independent"}


@pytest.mark.parametrize("world", ["grid", "block"])
def test_only_agents_that_can_interrupt_a_subtask_end_a_pursuit(world: str) -> None:
    has_it = {
        agent: "pursuit" in meta_training(world, agent).network.hints
        for agent in ("dynamic", "short", "long", "flat")
    }
    assert has_it == {"dynamic": True, "short": True, "long": False, "flat": False}
