"""PPO in one file, in the style of CleanRL: `python docs/examples/cleanrl_ppo.py --help`.

It learns single subtasks on the grid from a batch of worlds, with nothing but their observations.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Categorical

import errands  # noqa: F401  (registers the ids)

WALLS, WATER, FIRST_OBJECT = 1, 2, 3  # planes of an observation; plane 0 shows the agent
REACH = 7  # cells to each side of the agent: from one end of the map to the other
ENVIRONMENT = "errands/GridSkill-v0"
TEST_SEED = 1_000_000


class Agent(nn.Module):
    """Walls, water and the object that the task names, around the agent; a policy and a value."""

    def __init__(self, space: gymnasium.spaces.Dict, actions: int) -> None:
        super().__init__()
        self.choices = space["task"].nvec.tolist()  # verb, object, count
        cells = 3 * (2 * REACH + 1) ** 2
        self.body = nn.Sequential(
            nn.Linear(cells + sum(self.choices), 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU()
        )
        self.policy, self.value = nn.Linear(256, actions), nn.Linear(256, 1)
        nn.init.orthogonal_(self.policy.weight, 0.01)

    def features(self, seen: dict[str, np.ndarray]) -> Tensor:
        """(worlds, cells + choices)"""
        image, task = seen["image"], torch.from_numpy(seen["task"])
        worlds = np.arange(len(image))
        target = image[worlds, FIRST_OBJECT + seen["task"][:, 1]]
        planes = np.stack([image[:, WALLS], image[:, WATER], target], axis=1)
        planes = np.pad(planes, ((0, 0), (0, 0), (REACH, REACH), (REACH, REACH)))
        _, row, column = image[:, 0].nonzero()  # of the agent: one in each world
        near = np.arange(2 * REACH + 1)
        rows, columns = row[:, None] + near, column[:, None] + near
        window = planes[worlds[:, None, None], :, rows[:, :, None], columns[:, None]]
        parts = zip(task.unbind(1), self.choices, strict=True)
        words = [nn.functional.one_hot(part, size).float() for part, size in parts]
        return torch.cat([torch.from_numpy(window).flatten(1).float(), *words], dim=1)

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


def success_of(act: Callable[[dict[str, np.ndarray]], np.ndarray], episodes: int) -> float:
    """Success rate in worlds that training does not use: the first episode of each."""
    envs = gymnasium.make_vec(ENVIRONMENT, num_envs=episodes, autoreset_mode="same-step")
    seen, _ = envs.reset(seed=TEST_SEED)
    success, pending = np.zeros(episodes, bool), np.ones(episodes, bool)
    while pending.any():
        seen, _, done, cut_off, _ = envs.step(act(seen))
        success |= done & pending
        pending &= ~(done | cut_off)
    return float(success.mean())


def main(arguments: Sequence[str] | None = None) -> list[tuple[int, float]]:
    """Returns the curve: steps, and the success rate over the episodes since the last point."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1_000_000, help="steps of all worlds together")
    parser.add_argument("--worlds", type=int, default=256, help="worlds in the batch")
    parser.add_argument("--rollout", type=int, default=32, help="steps of each world per update")
    parser.add_argument("--epochs", type=int, default=4, help="passes over each rollout")
    parser.add_argument("--minibatches", type=int, default=8)
    parser.add_argument("--learning-rate", type=float, default=1e-3, help="at first; 0 at the end")
    parser.add_argument("--gamma", type=float, default=0.97)
    parser.add_argument("--smoothing", type=float, default=0.95, help="lambda of GAE")
    parser.add_argument("--clip", type=float, default=0.2)
    parser.add_argument("--entropy", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--test", type=int, default=2000, help="episodes of each test")
    parser.add_argument("--log", type=Path, help="file for the curve and the tests, as JSON")
    args = parser.parse_args(arguments)

    torch.manual_seed(args.seed)
    envs = gymnasium.make_vec(ENVIRONMENT, num_envs=args.worlds, autoreset_mode="same-step")
    actions = envs.single_action_space.n
    agent = Agent(envs.single_observation_space, actions)

    def sampled(seen: dict[str, np.ndarray]) -> np.ndarray:
        with torch.no_grad():
            return agent(agent.features(seen))[0].sample().numpy()

    random = np.random.default_rng(args.seed)
    at_random = success_of(lambda _: random.integers(0, actions, args.test), args.test)
    print(f"random actions: success {at_random:.1%}")
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)
    batch = args.rollout * args.worlds
    updates = max(1, args.steps // batch)
    seen, _ = envs.reset(seed=args.seed)
    curve: list[tuple[int, float]] = []
    successes: list[bool] = []
    started = time.perf_counter()

    for update in range(1, updates + 1):
        optimizer.param_groups[0]["lr"] = args.learning_rate * (1 - (update - 1) / updates)

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
            if cut_off.any():  # the episode could have gone on: add the value of what was left
                last_seen = info["final_obs"][cut_off]
                final = {name: np.stack([one[name] for one in last_seen]) for name in seen}
                with torch.no_grad():
                    rewards[cut_off] += args.gamma * agent(agent.features(final))[1].numpy()
            step = x, action, policy.log_prob(action), value, torch.from_numpy(rewards).float()
            for name, item in zip(kept, (*step, torch.from_numpy(ended).float()), strict=True):
                kept[name].append(item)
        rollout = {name: torch.stack(items) for name, items in kept.items()}
        with torch.no_grad():
            _, last = agent(agent.features(seen))
        advantages = advantages_of(
            rollout["r"], rollout["v"], rollout["end"], last, args.gamma, args.smoothing
        )
        returns = (advantages + rollout["v"]).flatten()
        flat = {name: items.flatten(0, 1) for name, items in rollout.items()}
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

    seconds = time.perf_counter() - started
    learned = success_of(sampled, args.test)
    print(f"trained agent: success {learned:.1%} after {seconds / 60:.1f} minutes")
    if args.log:
        log = {"env": ENVIRONMENT, "steps": updates * batch, "seconds": round(seconds, 1)}
        log |= {"seed": args.seed, "episodes": args.test, "random": at_random, "trained": learned}
        args.log.write_text(json.dumps({**log, "curve": curve}, indent=2) + "\n")
    return curve


if __name__ == "__main__":
    main()
