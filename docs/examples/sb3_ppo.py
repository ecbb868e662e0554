"""PPO of Stable-Baselines3 on a batch of worlds: `python docs/examples/sb3_ppo.py --help`.

On `errands/GridSkill-v0` the network sees the target from the agent's position. The other
environments run with the features of `MultiInputPolicy`; how well they learn was not measured.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import Tensor, nn

from errands.sb3 import make_vec_env

AGENT, WALLS, WATER, FIRST_OBJECT = range(4)  # planes of an observation of the grid
REACH = 7  # cells to each side of the agent: from one end of the map to the other
TEST_SEED = 1_000_000


class AroundAgent(BaseFeaturesExtractor):
    """Walls, water and the object that the task names, as seen from the agent; and the task."""

    def __init__(self, space: gymnasium.spaces.Dict) -> None:
        self.choices = space["task"].nvec.tolist()  # verb, object, count
        super().__init__(space, 3 * (2 * REACH + 1) ** 2 + sum(self.choices))

    def forward(self, seen: dict[str, Tensor]) -> Tensor:
        """(worlds, cells + choices)"""
        image, task = seen["image"], seen["task"]  # as floats, and one-hot
        _, wanted, _ = task.split(self.choices, dim=1)
        target = (image[:, FIRST_OBJECT:] * wanted[:, :, None, None]).sum(1)
        planes = torch.stack([image[:, WALLS], image[:, WATER], target], dim=1)
        planes = nn.functional.pad(planes, [REACH] * 4)
        cell = image[:, AGENT].flatten(1).argmax(1)
        near = torch.arange(2 * REACH + 1)
        rows = cell[:, None] // image.shape[-1] + near
        columns = cell[:, None] % image.shape[-1] + near
        worlds = torch.arange(len(image))[:, None, None]
        window = planes[worlds, :, rows[:, :, None], columns[:, None]]
        return torch.cat([window.flatten(1), task], dim=1)


class SuccessCurve(BaseCallback):
    """Prints the success rate over the episodes of each interval, and keeps it."""

    def __init__(self, interval: int) -> None:
        super().__init__()
        self.interval = interval
        self.points: list[tuple[int, float]] = []  # steps, success rate
        self._ended: list[bool] = []

    def _on_step(self) -> bool:
        self._ended += [info["is_success"] for info in self.locals["infos"] if "episode" in info]
        if self._ended and self.num_timesteps >= self.interval * (len(self.points) + 1):
            self.points.append((self.num_timesteps, float(np.mean(self._ended))))
            print(f"{self.num_timesteps:>10,} steps  success {self.points[-1][1]:.1%}", flush=True)
            self._ended = []
        return True


def success_of(name: str, act: Callable[[Any], np.ndarray], episodes: int) -> float:
    """Success rate in worlds that training does not use: the first episode of each."""
    envs = make_vec_env(name, episodes, seed=TEST_SEED)
    seen = envs.reset()
    success: dict[int, bool] = {}
    while len(success) < episodes:
        seen, _, ended, infos = envs.step(act(seen))
        for i in np.flatnonzero(ended):
            success.setdefault(i, infos[i]["is_success"])
    return float(np.mean(list(success.values())))


def main(arguments: Sequence[str] | None = None) -> SuccessCurve:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", default="errands/GridSkill-v0", help="id of an environment")
    parser.add_argument("--steps", type=int, default=1_000_000, help="steps of all worlds together")
    parser.add_argument("--worlds", type=int, default=256, help="worlds in the batch")
    parser.add_argument("--rollout", type=int, default=32, help="steps of each world per update")
    parser.add_argument("--test", type=int, default=2000, help="episodes of each test")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", type=Path, help="file for the curve and the tests, as JSON")
    chosen = parser.parse_args(arguments)

    envs = make_vec_env(chosen.env, chosen.worlds, seed=chosen.seed)
    suited = chosen.env.endswith("GridSkill-v0")
    features = {"features_extractor_class": AroundAgent} if suited else {}
    agent = PPO(
        "MultiInputPolicy",
        envs,
        n_steps=chosen.rollout,
        batch_size=min(1024, chosen.rollout * chosen.worlds),
        n_epochs=4,
        learning_rate=lambda left: 1e-3 * left,
        ent_coef=0.01,
        gamma=0.97,
        policy_kwargs={"net_arch": [256, 256], "activation_fn": nn.ReLU, **features},
        seed=chosen.seed,
    )
    random, actions = np.random.default_rng(chosen.seed), envs.action_space.n
    at_random = success_of(
        chosen.env, lambda _: random.integers(0, actions, chosen.test), chosen.test
    )
    print(f"random actions: success {at_random:.1%}")

    curve = SuccessCurve(interval=max(chosen.rollout * chosen.worlds, chosen.steps // 20))
    started = time.perf_counter()
    agent.learn(chosen.steps, callback=curve)
    seconds = time.perf_counter() - started
    learned = success_of(chosen.env, lambda seen: agent.predict(seen)[0], chosen.test)
    print(f"trained agent: success {learned:.1%} after {seconds / 60:.1f} minutes")
    if chosen.log:
        log = {"env": chosen.env, "steps": agent.num_timesteps, "seconds": round(seconds, 1)}
        log |= {"seed": chosen.seed, "episodes": chosen.test}
        log |= {"random": at_random, "trained": learned, "curve": curve.points}
        chosen.log.write_text(json.dumps(log, indent=2) + "\n")
    return curve


if __name__ == "__main__":
    main()
