"""The worlds as Gymnasium environments: `gymnasium.make` and `gymnasium.make_vec`.

Observations are dictionaries: `image`, and `task` (verb, object, quantity) for a skill, or `tokens`
and `mask` for a list. Neither observations nor infos reveal the progress through the list before
the episode has ended; `privileged_worlds` is for planners and teachers.
"""

from collections.abc import Sequence
from typing import Any, SupportsIndex, cast

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from errands.language.instruction import Instruction, parse_instructions
from errands.language.splits import MOST_REPEATS
from errands.language.vocabulary import VERBS
from errands.worlds.art import load_art
from errands.worlds.draw import ansi, side_by_side, top_down
from errands.worlds.spec import WORLDS, Setting, WorldSpec
from errands.worlds.tasks import given_list, list_lengths, list_tasks, skill_tasks
from errands.worlds.vector import EpisodeStatistics, Worlds, check_seeds

Observation = dict[str, NDArray[Any]]
Info = dict[str, Any]
METADATA: dict[str, Any] = {"render_modes": ["rgb_array", "ansi"], "render_fps": 8}


def world_spec(name: str) -> WorldSpec:
    """A world that ships with the package, by name."""
    if name not in WORLDS:
        raise ValueError(f"no world '{name}'; there are {', '.join(WORLDS)}")
    return WORLDS[name]


def skill_worlds(
    world: str,
    count: int,
    *,
    scenario: str = "independent",
    split: str = "train",
    spec: WorldSpec | None = None,
) -> Worlds:
    """Worlds that each ask for one subtask."""
    spec = spec or world_spec(world)
    return Worlds(spec, count, skill_tasks(spec, scenario, split), spec.skill)


def instruction_worlds(
    world: str,
    count: int,
    *,
    split: str = "train",
    length: SupportsIndex | Sequence[SupportsIndex] = 4,
    instructions: str | None = None,
    with_all: bool = True,
    forgiving: bool = False,
    step_limit: int | None = None,
    spec: WorldSpec | None = None,
) -> Worlds:
    """Worlds that ask for a list: sampled from a split, or the one given as `instructions`."""
    spec = spec or world_spec(world)
    setting: Setting = spec.forgiving if forgiving else spec.lists
    if instructions is not None:
        wanted = parse_instructions(instructions, spec.vocabulary)
        tasks = given_list(spec, wanted, step_limit)
    else:
        lengths = list_lengths(length)
        tasks = list_tasks(spec, split, lengths, with_all=with_all, step_limit=step_limit)
    return Worlds(spec, count, tasks, setting)


def observation_space(worlds: Worlds, *, skill: bool) -> gymnasium.spaces.Dict:
    """What an agent observes of one world."""
    spec = worlds.spec
    image = gymnasium.spaces.Box(0, worlds.kind.brightest, spec.image_shape, np.uint8)
    if skill:
        ranges = [len(VERBS), len(spec.objects), MOST_REPEATS + 1]
        return gymnasium.spaces.Dict(
            {"image": image, "task": gymnasium.spaces.MultiDiscrete(ranges)}
        )
    most = np.full((worlds.longest, 3), spec.vocabulary.token_count)
    tokens = gymnasium.spaces.MultiDiscrete(most)
    mask = gymnasium.spaces.MultiBinary(worlds.longest)
    return gymnasium.spaces.Dict({"image": image, "tokens": tokens, "mask": mask})


def observations(worlds: Worlds, *, skill: bool) -> Observation:
    """What the agents of a batch observe now, as copies."""
    if skill:
        return {"image": worlds.images.copy(), "task": worlds.subtasks.astype(np.int64)}
    return {
        "image": worlds.images.copy(),
        "tokens": worlds.tokens.copy(),
        "mask": worlds.mask.astype(np.int8),
    }


def listed(worlds: Worlds, i: int = 0) -> list[Instruction]:
    """The instructions of world i, for people to read."""
    length = int(worlds.privileged[i]["length"])
    codes = worlds.privileged_goals[i, :length, :3]
    return [Instruction.from_code(code, worlds.spec.vocabulary) for code in codes]


def render(worlds: Worlds, i: int, mode: str) -> NDArray[np.uint8] | str:
    """World i for people: from above, and the agent's own view beside it if it has one."""
    spec, world = worlds.spec, worlds.privileged[i]
    heading = int(world["heading"]) if worlds.kind.first_person else None
    where = world["tiles"], int(world["row"]), int(world["column"]), spec.objects
    if mode == "ansi":
        return ansi(*where, heading=heading)
    picture = top_down(*where, load_art(spec.art_name), heading=heading)
    return picture if heading is None else side_by_side(worlds.images[i], picture)


def checked_render_mode(mode: str | None) -> str | None:
    known = METADATA["render_modes"]
    if mode is not None and mode not in known:
        raise ValueError(f"no render mode '{mode}'; there are {', '.join(known)}")
    return mode


def end_of_episode(ended: EpisodeStatistics, k: int) -> Info:
    """The info of an episode's last step.

    The key "episode" is reserved for Gymnasium's own RecordEpisodeStatistics, which requires it.
    """
    return {
        "reward": float(ended.reward[k]),
        "steps": int(ended.steps[k]),
        "success": bool(ended.success[k]),
        "completed": int(ended.completed[k]),
        "events": int(ended.events[k]),
        "events_used": int(ended.events_used[k]),
    }


class ErrandsEnv(gymnasium.Env[Observation, np.int64]):
    """One world."""

    metadata = METADATA

    def __init__(self, worlds: Worlds, *, skill: bool, render_mode: str | None = None) -> None:
        self._worlds = worlds
        self._skill = skill
        self._seeded = False
        self._closed = False
        self.render_mode = checked_render_mode(render_mode)
        self.observation_space = cast(
            gymnasium.Space[Observation], observation_space(worlds, skill=skill)
        )
        self.action_space = gymnasium.spaces.Discrete(worlds.actions)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        super().reset(seed=seed)
        if seed is not None or not self._seeded:
            self._worlds.seed(seed if seed is not None else int(self.np_random.integers(2**62)))
            self._seeded = True
        self._worlds.reset()
        return self._observation(), {}

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, Info]:
        if self._closed:
            raise gymnasium.error.ClosedEnvironmentError("step() after close(): make another one")
        if not self._seeded:
            raise gymnasium.error.ResetNeeded("call reset() before the first step()")
        worlds = self._worlds
        worlds.step(np.array([action]))
        done, cut_off = bool(worlds.done[0]), bool(worlds.cut_off[0])
        info = end_of_episode(worlds.finished(), 0) if done or cut_off else {}
        return self._observation(), float(worlds.rewards[0]), done, cut_off, info

    def render(self) -> Any:
        if self.render_mode is None:
            return None
        return render(self._worlds, 0, self.render_mode)

    def close(self) -> None:
        self._closed = True

    def privileged_worlds(self) -> Worlds:
        """The true state, for planners and teachers only."""
        return self._worlds

    def _observation(self) -> Observation:
        batch = observations(self._worlds, skill=self._skill)
        return {name: values[0] for name, values in batch.items()}


class ErrandsVectorEnv(gymnasium.vector.VectorEnv[Observation, NDArray[np.int64], NDArray[Any]]):
    """A batch of worlds in one process; after an episode's last step it observes the next one."""

    metadata = METADATA | {"autoreset_mode": AutoresetMode.SAME_STEP}

    def __init__(self, worlds: Worlds, *, skill: bool, render_mode: str | None = None) -> None:
        self._worlds = worlds
        self._skill = skill
        self._begun = False
        self.render_mode = checked_render_mode(render_mode)
        self.num_envs = worlds.count
        self.single_observation_space = observation_space(worlds, skill=skill)
        self.single_action_space = gymnasium.spaces.Discrete(worlds.actions)
        self.observation_space = batch_space(self.single_observation_space, worlds.count)
        self.action_space = batch_space(self.single_action_space, worlds.count)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observation, Info]:
        mask = (options or {}).get("reset_mask")
        if not self._begun:  # no world has an episode yet that a mask could leave alone
            mask = None
            self._worlds.seed(int(self.np_random.integers(2**62)))
        if seed is not None:
            given = seed if isinstance(seed, Sequence | np.ndarray) else [seed]
            check_seeds(given)
            for each in given:
                if each is not None and each < 0:
                    raise gymnasium.error.Error(f"a seed must be at least 0, not {each}")
            self._worlds.seed(seed, mask)
        self._worlds.reset(mask)
        self._begun = True
        return observations(self._worlds, skill=self._skill), {}

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[Observation, NDArray[Any], NDArray[np.bool_], NDArray[np.bool_], Info]:
        if self.closed:
            raise gymnasium.error.ClosedEnvironmentError("step() after close(): make another one")
        if not self._begun:
            raise gymnasium.error.ResetNeeded("call reset() before the first step()")
        worlds = self._worlds
        worlds.step(actions)
        rewards = worlds.rewards.astype(np.float64)
        done, cut_off = worlds.done, worlds.cut_off
        info: Info = {}
        ended = worlds.finished()
        if ended.world.size:
            last = observations(worlds, skill=self._skill)
            for k, i in enumerate(ended.world):
                final = {name: values[i] for name, values in last.items()}
                final_info = {"final_obs": final, "final_info": end_of_episode(ended, k)}
                info = self._add_info(info, final_info, int(i))
            worlds.reset(done | cut_off)
        return observations(worlds, skill=self._skill), rewards, done, cut_off, info

    def render(self) -> Any:
        if self.render_mode is None:
            return None
        return tuple(render(self._worlds, i, self.render_mode) for i in range(self.num_envs))

    def privileged_worlds(self) -> Worlds:
        """The true state, for planners and teachers only."""
        return self._worlds


def make_env(world: str, skill: bool, render_mode: str | None = None, **options: Any) -> ErrandsEnv:
    """Entry point of `gymnasium.make`."""
    build = skill_worlds if skill else instruction_worlds
    return ErrandsEnv(build(world, 1, **options), skill=skill, render_mode=render_mode)


def make_vector_env(
    world: str, skill: bool, num_envs: int = 1, render_mode: str | None = None, **options: Any
) -> ErrandsVectorEnv:
    """Entry point of `gymnasium.make_vec`."""
    build = skill_worlds if skill else instruction_worlds
    return ErrandsVectorEnv(build(world, num_envs, **options), skill=skill, render_mode=render_mode)
