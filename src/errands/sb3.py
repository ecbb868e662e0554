"""Batches of worlds for Stable-Baselines3: `pip install 'errands[sb3]'`.

`make_vec_env("errands/GridSkill-v0", 256)` steps all worlds in one process, in compiled code. It
takes the place of `DummyVecEnv` and `SubprocVecEnv`, which step single worlds one by one.
"""

import time
from collections.abc import Iterable
from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv

from errands.worlds.gym_vector import ErrandsVectorEnv

Indices = None | int | Iterable[int]


class ErrandsVecEnv(VecEnv):
    """A batch of worlds. Each episode's last info has its statistics, as from a `Monitor`."""

    def __init__(self, envs: ErrandsVectorEnv) -> None:
        if envs.autoreset_mode is not AutoresetMode.SAME_STEP:
            raise ValueError("Stable-Baselines3 needs autoreset_mode='same-step'")
        self._envs = envs
        self._actions = np.zeros(envs.num_envs, np.int64)
        self._started = time.perf_counter()
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)

    def reset(self) -> dict[str, NDArray[Any]]:
        seeded = any(seed is not None for seed in self._seeds)
        seen, _ = self._envs.reset(seed=self._seeds if seeded else None)
        self._reset_seeds()
        self._reset_options()
        return seen

    def step_async(self, actions: NDArray[Any]) -> None:
        self._actions = actions

    def step_wait(
        self,
    ) -> tuple[dict[str, NDArray[Any]], NDArray[Any], NDArray[np.bool_], list[dict[str, Any]]]:
        seen, rewards, terminated, truncated, told = self._envs.step(self._actions)
        ended = terminated | truncated
        infos: list[dict[str, Any]] = [{"TimeLimit.truncated": False} for _ in range(self.num_envs)]
        for i in np.flatnonzero(ended):
            final = {name: values[i].item() for name, values in told["final_info"].items()}
            infos[i] = {name: value for name, value in final.items() if not name.startswith("_")}
            infos[i] |= {
                "terminal_observation": told["final_obs"][i],
                "TimeLimit.truncated": bool(truncated[i]),
                "is_success": final["success"],
                "episode": {
                    "r": final["reward"],
                    "l": final["steps"],
                    "t": round(time.perf_counter() - self._started, 6),
                },
            }
        return seen, rewards.astype(np.float32), ended, infos

    def close(self) -> None:
        self._envs.close()

    def get_images(self) -> tuple[NDArray[np.uint8], ...]:
        return cast("tuple[NDArray[np.uint8], ...]", self._envs.render())

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """An attribute of the batch, once for each world."""
        return [getattr(self._envs, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        raise AttributeError("worlds of a batch have no attributes of their own")

    def env_method(
        self, method_name: str, *method_args: Any, indices: Indices = None, **method_kwargs: Any
    ) -> list[Any]:
        raise AttributeError(f"worlds of a batch have no method '{method_name}' of their own")

    def env_is_wrapped(
        self, wrapper_class: type[gymnasium.Wrapper[Any, Any, Any, Any]], indices: Indices = None
    ) -> list[bool]:
        """Infos are those of a `Monitor`; there are no other wrappers."""
        return [issubclass(wrapper_class, Monitor)] * len(list(self._get_indices(indices)))


def make_vec_env(
    name: str, n_envs: int = 1, *, seed: int | None = None, **options: Any
) -> ErrandsVecEnv:
    """A batch of worlds by its Gymnasium id, with the options of `gymnasium.make_vec`."""
    envs = gymnasium.make_vec(name, num_envs=n_envs, autoreset_mode="same-step", **options)
    batch = ErrandsVecEnv(cast(ErrandsVectorEnv, envs.unwrapped))
    if seed is not None:
        batch.seed(seed)
    return batch
