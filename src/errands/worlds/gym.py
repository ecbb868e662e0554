"""The worlds as Gymnasium environments: `gymnasium.make`. Batches are in `gym_vector`.

Observations are dictionaries: `image`, and `task` (verb, object, quantity) for a skill, or `tokens`
and `mask` for a list. Neither observations nor infos reveal the progress through the list before
the episode has ended; `privileged_worlds` is for planners and teachers.
"""

from collections.abc import Sequence
from typing import Any, SupportsIndex, cast

import gymnasium
import numpy as np
from numpy.typing import NDArray

from errands.language.instruction import Instruction, parse_instructions
from errands.language.splits import MOST_REPEATS
from errands.language.vocabulary import VERBS
from errands.worlds.art import load_art
from errands.worlds.draw import ansi, side_by_side, top_down
from errands.worlds.spec import WORLDS, Setting, WorldSpec
from errands.worlds.tasks import given_list, list_lengths, list_tasks, skill_tasks
from errands.worlds.vector import EpisodeStatistics, Worlds
from errands.worlds.window import Window

Observation = dict[str, NDArray[Any]]
Info = dict[str, Any]
METADATA: dict[str, Any] = {"render_modes": ["human", "rgb_array", "ansi"], "render_fps": 8}


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
    """Worlds that each ask for one subtask.

    `scenario` and `split` say which subtasks. A `spec` of your own takes the place of `world`.
    """
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
    """Worlds that ask for a list: sampled from a split, or the one given as `instructions`.

    `length` is the number of instructions, or a range to sample it from. Without `with_all`, no
    sampled instruction says "all". A `forgiving` world replaces missing targets. The default of
    `step_limit` is that of the split. A `spec` of your own takes the place of `world`.
    """
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
    # In one row, which is the only form of MultiDiscrete that Stable-Baselines3 takes.
    tokens = gymnasium.spaces.MultiDiscrete([spec.vocabulary.token_count] * 3 * worlds.longest)
    mask = gymnasium.spaces.MultiBinary(worlds.longest)
    return gymnasium.spaces.Dict({"image": image, "tokens": tokens, "mask": mask})


def observed(worlds: Worlds, *, skill: bool) -> Observation:
    """What the agents of a batch observe now: views of the worlds' own arrays where possible."""
    if skill:
        return {"image": worlds.images, "task": worlds.subtasks.astype(np.int64)}
    return {
        "image": worlds.images,
        "tokens": worlds.tokens.reshape(worlds.count, -1),
        "mask": worlds.mask.view(np.int8),
    }


def listed(worlds: Worlds, i: int = 0) -> list[Instruction]:
    """The instructions of world i, for people to read."""
    length = int(worlds.privileged[i]["length"])
    codes = worlds.privileged_goals[i, :length, :3]
    return [Instruction.from_code(code, worlds.spec.vocabulary) for code in codes]


def render(worlds: Worlds, i: int, mode: str) -> NDArray[np.uint8] | str:
    """World i for people: from above, and the agent's own view beside it if it has one.

    `mode` is "rgb_array", for a picture, or "ansi", for text with the colours of a terminal.
    """
    spec, world = worlds.spec, worlds.privileged[i]
    heading = int(world["heading"]) if worlds.kind.first_person else None
    where = world["tiles"], int(world["row"]), int(world["column"]), spec.objects
    if mode == "ansi":
        return ansi(*where, heading=heading)
    picture = top_down(*where, load_art(spec.art_name), heading=heading)
    return picture if heading is None else side_by_side(worlds.images[i], picture)


def checked_render_mode(mode: str | None, known: Sequence[str]) -> str | None:
    if mode is not None and mode not in known:
        raise ValueError(f"no render mode '{mode}'; there are {', '.join(known)}")
    return mode


def end_of_episode(ended: EpisodeStatistics) -> dict[str, NDArray[Any]]:
    """What the info of an episode's last step contains, for all episodes that have ended.

    The key "episode" is reserved for Gymnasium's own RecordEpisodeStatistics, which requires it.
    """
    return {
        "reward": ended.reward,
        "steps": ended.steps,
        "success": ended.success,
        "completed": ended.completed,
        "events": ended.events,
        "events_used": ended.events_used,
    }


class ErrandsEnv(gymnasium.Env[Observation, np.int64]):
    """One world; `gymnasium.make` makes it. Observations, infos and options: docs/gymnasium.md."""

    metadata = METADATA

    def __init__(self, worlds: Worlds, *, skill: bool, render_mode: str | None = None) -> None:
        self._worlds = worlds
        self._skill = skill
        self._seeded = False
        self._closed = False
        self.render_mode = checked_render_mode(render_mode, METADATA["render_modes"])
        self._window = Window(METADATA["render_fps"]) if render_mode == "human" else None
        self.observation_space = cast(
            gymnasium.Space[Observation], observation_space(worlds, skill=skill)
        )
        self.action_space = gymnasium.spaces.Discrete(worlds.actions)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Begin an episode. With a seed it is always the same one; without, the next one."""
        super().reset(seed=seed)
        if seed is not None or not self._seeded:
            self._worlds.seed(seed if seed is not None else int(self.np_random.integers(2**62)))
            self._seeded = True
        self._worlds.reset()
        self._show()
        return self._observation(), {}

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, Info]:
        """Act once: observation, reward, whether the list is done, whether time is up, info.

        The info is empty until the last step of an episode, which has its statistics.
        """
        if self._closed:
            raise gymnasium.error.ClosedEnvironmentError("step() after close(): make another one")
        if not self._seeded:
            raise gymnasium.error.ResetNeeded("call reset() before the first step()")
        worlds = self._worlds
        worlds.step(np.array([action]))
        done, cut_off = bool(worlds.done[0]), bool(worlds.cut_off[0])
        info: Info = {}
        if done or cut_off:
            ended = end_of_episode(worlds.finished())
            info = {name: values[0].item() for name, values in ended.items()}
        self._show()
        return self._observation(), float(worlds.rewards[0]), done, cut_off, info

    def render(self) -> Any:
        """A picture or text; a window shows every step by itself."""
        if self.render_mode is None or self._window is not None:
            return None
        return render(self._worlds, 0, self.render_mode)

    def close(self) -> None:
        """Close the window, if there is one. A closed environment cannot be stepped."""
        self._closed = True
        if self._window is not None:
            self._window.close()

    def privileged_worlds(self) -> Worlds:
        """The true state, for planners and teachers only."""
        return self._worlds

    def _observation(self) -> Observation:
        batch = observed(self._worlds, skill=self._skill)
        return {name: values[0].copy() for name, values in batch.items()}

    def _show(self) -> None:
        if self._window is not None:
            self._window.show(cast(NDArray[np.uint8], render(self._worlds, 0, "rgb_array")))


def make_env(world: str, skill: bool, render_mode: str | None = None, **options: Any) -> ErrandsEnv:
    """Entry point of `gymnasium.make`."""
    build = skill_worlds if skill else instruction_worlds
    return ErrandsEnv(build(world, 1, **options), skill=skill, render_mode=render_mode)
