"""PPO in one file, in the style of CleanRL: `python docs/examples/cleanrl_ppo.py --help`.

It learns single subtasks on the grid from a batch of worlds. An episode that is cut off ends like
one that is done: the value of its last observation is not estimated, to keep the script short.
"""

import argparse
from collections.abc import Sequence

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Categorical

import errands  # noqa: F401  (registers the ids)


class Agent(nn.Module):
    """Looks at the planes of the map and at the task, one-hot; a policy and a value."""

    def __init__(self, space: gymnasium.spaces.Dict, actions: int) -> None:
        super().__init__()
        self.choices = space["task"].nvec.tolist()  # verb, object, count
        pixels = int(np.prod(space["image"].shape))
        self.body = nn.Sequential(
            nn.Linear(pixels + sum(self.choices), 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU()
        )
        self.policy, self.value = nn.Linear(256, actions), nn.Linear(256, 1)
        nn.init.orthogonal_(self.policy.weight, 0.01)

    def features(self, seen: dict[str, np.ndarray]) -> Tensor:
        """(worlds, pixels + choices)"""
        image = torch.from_numpy(seen["image"]).flatten(1).float()
        parts = zip(torch.from_numpy(seen["task"]).unbind(1), self.choices, strict=True)
        task = [nn.functional.one_hot(part, size).float() for part, size in parts]
        return torch.cat([image, *task], dim=1)

    def forward(self, features: Tensor) -> tuple[Categorical, Tensor]:
        hidden = self.body(features)
        return Categorical(logits=self.policy(hidden)), self.value(hidden).squeeze(-1)


def advantages_of(
    rewards: Tensor, values: Tensor, ends: Tensor, last: Tensor, gamma: float, smoothing: float
) -> Tensor:
    """Generalised advantage estimation, backwards over the steps (steps, worlds)."""
    found = torch.zeros_like(rewards)
    running = torch.zeros_like(last)
    for t in reversed(range(len(rewards))):
        following = values[t + 1] if t + 1 < len(rewards) else last
        going_on = 1 - ends[t]
        error = rewards[t] + gamma * following * going_on - values[t]
        running = error + gamma * smoothing * going_on * running
        found[t] = running
    return found


def main(arguments: Sequence[str] | None = None) -> list[tuple[int, float]]:
    """Returns the curve: steps, and the success rate over the episodes since the last point."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=3_000_000, help="steps of all worlds together")
    parser.add_argument("--worlds", type=int, default=256, help="worlds in the batch")
    parser.add_argument("--rollout", type=int, default=32, help="steps of each world per update")
    parser.add_argument("--epochs", type=int, default=4, help="passes over each rollout")
    parser.add_argument("--minibatches", type=int, default=8)
    parser.add_argument("--learning-rate", type=float, default=5e-4)
    parser.add_argument("--gamma", type=float, default=0.97)
    parser.add_argument("--smoothing", type=float, default=0.95, help="lambda of GAE")
    parser.add_argument("--clip", type=float, default=0.2)
    parser.add_argument("--entropy", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(arguments)

    torch.manual_seed(args.seed)
    envs = gymnasium.make_vec(
        "errands/GridSkill-v0", num_envs=args.worlds, autoreset_mode="same-step"
    )
    agent = Agent(envs.single_observation_space, envs.single_action_space.n)
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)
    batch = args.rollout * args.worlds
    updates = max(1, args.steps // batch)
    seen, _ = envs.reset(seed=args.seed)
    curve: list[tuple[int, float]] = []
    successes: list[bool] = []

    for update in range(1, updates + 1):
        # Act.
        kept: dict[str, list[Tensor]] = {name: [] for name in ("x", "a", "logp", "v", "r", "end")}
        for _ in range(args.rollout):
            x = agent.features(seen)
            with torch.no_grad():
                policy, value = agent(x)
            action = policy.sample()
            seen, rewards, done, cut_off, info = envs.step(action.numpy())
            ended = done | cut_off
            if ended.any():
                successes += info["final_info"]["success"][ended].tolist()
            step = x, action, policy.log_prob(action), value, torch.from_numpy(rewards).float()
            for name, item in zip(kept, (*step, torch.from_numpy(ended).float()), strict=True):
                kept[name].append(item)
        told = {name: torch.stack(items) for name, items in kept.items()}
        with torch.no_grad():
            _, last = agent(agent.features(seen))
        advantages = advantages_of(
            told["r"], told["v"], told["end"], last, args.gamma, args.smoothing
        )
        returns = (advantages + told["v"]).flatten()
        flat = {name: items.flatten(0, 1) for name, items in told.items()}
        advantages = advantages.flatten()

        # Learn.
        for _ in range(args.epochs):
            for rows in torch.randperm(batch).chunk(args.minibatches):
                policy, value = agent(flat["x"][rows])
                ratio = (policy.log_prob(flat["a"][rows]) - flat["logp"][rows]).exp()
                weight = advantages[rows]
                weight = (weight - weight.mean()) / (weight.std() + 1e-8)
                clipped = ratio.clamp(1 - args.clip, 1 + args.clip)
                loss = -torch.min(ratio * weight, clipped * weight).mean()
                loss = loss + 0.5 * (value - returns[rows]).square().mean()
                loss = loss - args.entropy * policy.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()

        # Report, twenty times in all.
        if successes and (update % max(1, updates // 20) == 0 or update == updates):
            curve.append((update * batch, float(np.mean(successes))))
            print(f"{curve[-1][0]:>10,} steps  success {curve[-1][1]:.1%}", flush=True)
            successes = []
    return curve


if __name__ == "__main__":
    main()
