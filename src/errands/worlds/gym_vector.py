"""Batches of worlds as vector environments: `gymnasium.make_vec`."""

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from errands.worlds.gym import (
    METADATA,
    Info,
    Observation,
    checked_render_mode,
    end_of_episode,
    instruction_worlds,
    observation_space,
    observed,
    render,
    skill_worlds,
)
from errands.worlds.vector import EpisodeStatistics, Worlds, check_seeds

AUTORESET_MODES = {
    "next-step": AutoresetMode.NEXT_STEP,
    "same-step": AutoresetMode.SAME_STEP,
    "disabled": AutoresetMode.DISABLED,
}
RENDER_MODES = ["rgb_array", "ansi"]  # many worlds have no window


def checked_autoreset_mode(mode: AutoresetMode | str) -> AutoresetMode:
    if isinstance(mode, AutoresetMode):
        return mode
    if mode not in AUTORESET_MODES:
        raise ValueError(f"no autoreset mode '{mode}'; there are {', '.join(AUTORESET_MODES)}")
    return AUTORESET_MODES[mode]


class ErrandsVectorEnv(gymnasium.vector.VectorEnv[Observation, NDArray[np.int64], NDArray[Any]]):
    """A batch of worlds in one process; `gymnasium.make_vec` makes it.

    `autoreset_mode` says how the next episode begins. "next-step", as everywhere in Gymnasium: the
    step after an episode's last one ignores its action and returns the next episode's first
    observation. "same-step": the last step itself does, and has the last observation in its info.
    "disabled": `reset` with a mask. Without `copy`, the next step overwrites all observations.
    """

    def __init__(
        self,
        worlds: Worlds,
        *,
        skill: bool,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
    ) -> None:
        self._worlds = worlds
        self._skill = skill
        self._begun = False
        self._copy = copy
        self.autoreset_mode = checked_autoreset_mode(autoreset_mode)
        self.metadata = METADATA | {
            "render_modes": RENDER_MODES,
            "autoreset_mode": self.autoreset_mode,
        }
        self.render_mode = checked_render_mode(render_mode, RENDER_MODES)
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
        """Begin episodes, in every world or where `options["reset_mask"]` is true.

        World i gets seed + i, or seed i of a sequence; where that is None, or without a seed, it
        continues with the next episode.
        """
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
        return self._observations(), {}

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[Observation, NDArray[Any], NDArray[np.bool_], NDArray[np.bool_], Info]:
        """Act once in every world: observations, rewards, lists done, time is up, infos."""
        if self.closed:
            raise gymnasium.error.ClosedEnvironmentError("step() after close(): make another one")
        if not self._begun:
            raise gymnasium.error.ResetNeeded("call reset() before the first step()")
        worlds, mode = self._worlds, self.autoreset_mode
        if mode is AutoresetMode.DISABLED and worlds.status.any():
            over = ", ".join(map(str, np.flatnonzero(worlds.status)))
            raise gymnasium.error.ResetNeeded(f"reset the worlds whose episode has ended: {over}")
        worlds.step(actions, renew=mode is AutoresetMode.NEXT_STEP)
        rewards = worlds.rewards.astype(np.float64)
        done, cut_off = worlds.done, worlds.cut_off
        info: Info = {}
        if worlds.status.any():
            ended = worlds.finished()
            where = done | cut_off
            info = self._batched(end_of_episode(ended), where)
            if mode is AutoresetMode.SAME_STEP:
                last = {"final_obs": self._last_observations(ended), "_final_obs": where}
                info = last | {"final_info": info, "_final_info": where}
                worlds.reset(where)
        return self._observations(), rewards, done, cut_off, info

    def render(self) -> Any:
        """A picture or text of each world."""
        if self.render_mode is None:
            return None
        return tuple(render(self._worlds, i, self.render_mode) for i in range(self.num_envs))

    def privileged_worlds(self) -> Worlds:
        """The true state, for planners and teachers only."""
        return self._worlds

    def _observations(self) -> Observation:
        seen = observed(self._worlds, skill=self._skill)
        return {name: values.copy() for name, values in seen.items()} if self._copy else seen

    def _last_observations(self, ended: EpisodeStatistics) -> NDArray[Any]:
        """What was observed at the end of the episodes that have ended, None elsewhere."""
        seen = observed(self._worlds, skill=self._skill)
        rows = {name: values[ended.world] for name, values in seen.items()}
        last = np.full(self.num_envs, None, object)
        for k, i in enumerate(ended.world):
            last[i] = {name: values[k] for name, values in rows.items()}
        return last

    def _batched(self, values: dict[str, NDArray[Any]], where: NDArray[np.bool_]) -> Info:
        """Infos of some worlds as Gymnasium writes them: "name" for all, "_name" says whose."""
        info: Info = {}
        for name, given in values.items():
            info[name] = np.zeros(self.num_envs, given.dtype)
            info[name][where] = given
            info[f"_{name}"] = where
        return info


def make_vector_env(
    world: str,
    skill: bool,
    num_envs: int = 1,
    render_mode: str | None = None,
    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    copy: bool = True,
    **options: Any,
) -> ErrandsVectorEnv:
    """Entry point of `gymnasium.make_vec`."""
    build = skill_worlds if skill else instruction_worlds
    return ErrandsVectorEnv(
        build(world, num_envs, **options),
        skill=skill,
        render_mode=render_mode,
        autoreset_mode=autoreset_mode,
        copy=copy,
    )
