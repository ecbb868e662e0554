"""PPO of Stable-Baselines3 on a batch of worlds: `python docs/examples/sb3_ppo.py --help`."""

import argparse
from collections.abc import Sequence

import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

from errands.sb3 import ErrandsVecEnv, make_vec_env


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


def success_of_random_actions(envs: ErrandsVecEnv, steps: int = 100) -> float:
    """What an agent achieves without learning anything."""
    envs.reset()
    ended: list[bool] = []
    random = np.random.default_rng(0)
    for _ in range(steps):
        *_, infos = envs.step(random.integers(0, envs.action_space.n, envs.num_envs))
        ended += [info["is_success"] for info in infos if "episode" in info]
    return float(np.mean(ended))


def main(arguments: Sequence[str] | None = None) -> SuccessCurve:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--env", default="errands/GridSkill-v0", help="id of an environment")
    parser.add_argument("--steps", type=int, default=3_000_000, help="steps of all worlds together")
    parser.add_argument("--worlds", type=int, default=256, help="worlds in the batch")
    parser.add_argument("--rollout", type=int, default=32, help="steps of each world per update")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)

    envs = make_vec_env(chosen.env, chosen.worlds, seed=chosen.seed)
    print(f"random actions: success {success_of_random_actions(envs):.1%}")
    agent = PPO(
        "MultiInputPolicy",
        envs,
        n_steps=chosen.rollout,
        batch_size=min(1024, chosen.rollout * chosen.worlds),
        n_epochs=4,
        learning_rate=5e-4,
        ent_coef=0.01,
        gamma=0.97,
        policy_kwargs={"net_arch": [256, 256]},
        seed=chosen.seed,
    )
    curve = SuccessCurve(interval=max(chosen.rollout * chosen.worlds, chosen.steps // 20))
    agent.learn(chosen.steps, callback=curve)
    return curve


if __name__ == "__main__":
    main()
