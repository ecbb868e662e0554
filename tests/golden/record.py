"""What every shipped agent answers to fixed observations, as it was when the agent was shipped.

`observations/*.npz` holds short episodes, the same for all agents of a world: its `dynamic` acted,
lists ended and new ones began. `grid/*.npz` and `block/*.npz` hold each agent's answers, step after
step with its memory. A new agent's answers are added, and a retrained agent's replaced, with

    python tests/golden/record.py grid/dynamic

Without a name, it records the agents that have no answers yet. Code that changes the answers of an
agent whose weights are the same is wrong: do not record them again for it.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from errands.agents.instructions import bags_of_words
from errands.agents.load import TrainedAgent, TrainedSkill, load, load_hierarchy, shipped_agents
from errands.language.splits import MOST_REPEATS
from errands.worlds.spec import WORLDS
from errands.worlds.tasks import list_tasks
from errands.worlds.vector import Worlds

GOLDEN = Path(__file__).parent
STEPS, COUNT, SEED = 24, 4, 2017
SUBTASK_STEPS = 6  # how long a skill has the same subtask
Arrays = dict[str, NDArray[Any]]


def path_of(name: str) -> Path:
    return GOLDEN / f"{name}.npz"


def read(name: str) -> Arrays:
    with np.load(path_of(name)) as file:
        return dict(file)


def write(name: str, arrays: Arrays) -> None:
    path_of(name).parent.mkdir(exist_ok=True)
    np.savez_compressed(path_of(name), **arrays)


def observe(world: str) -> Arrays:
    """Episodes of lists of one or two, (T, B, ...) each; and subtasks to give to skills."""
    spec = WORLDS[world]
    agent = load_hierarchy(f"{world}/dynamic")
    worlds = Worlds(spec, COUNT, list_tasks(spec, "train", (1, 2)))
    worlds.seed(SEED)
    worlds.reset()
    recorded: dict[str, list[NDArray[Any]]] = {}
    begins, state = np.ones(COUNT, np.bool_), None
    random = torch.Generator().manual_seed(SEED)
    for _ in range(STEPS):
        seen = {"image": worlds.images, "tokens": worlds.tokens, "mask": worlds.mask}
        for name, array in (seen | {"begins": begins}).items():
            recorded.setdefault(name, []).append(array.copy())
        trace, state = agent.act(seen, state, begins=begins, random=random)
        begins = worlds.status > 0
        worlds.step(trace.action, renew=True)
    sizes = 3, len(spec.objects), MOST_REPEATS
    chance = np.random.default_rng(SEED)
    given = [chance.integers(size, size=(STEPS // SUBTASK_STEPS, COUNT)) for size in sizes]
    subtasks = np.stack(given, axis=2)
    subtasks[..., 2] += 1
    return {name: np.stack(arrays) for name, arrays in recorded.items()} | {
        "subtasks": subtasks.repeat(SUBTASK_STEPS, axis=0)
    }


@torch.no_grad()
def answers_of_skill(skill: TrainedSkill, seen: Arrays) -> Arrays:
    """Memory begins again with every subtask and every episode; that of eyes, with episodes."""
    memory, remembered = skill.skill.initial_memory(COUNT), skill.skill.eyes.initial_memory(COUNT)
    action = torch.zeros(COUNT, dtype=torch.int64)
    answers: dict[str, list[NDArray[Any]]] = {}
    for t in range(STEPS):
        image, begins = (torch.from_numpy(seen[name][t]) for name in ("image", "begins"))
        looked, remembered = skill.skill.eyes.look(image, action, begins, remembered)
        given = torch.from_numpy(seen["subtasks"][t])
        starts = begins | (t % SUBTASK_STEPS == 0)
        output, memory = skill.skill.step(looked, given, starts, memory)
        action = output.logits.argmax(dim=1)
        for name, value in output._asdict().items():
            answers.setdefault(name, []).append(value.numpy())
    return {name: np.stack(values) for name, values in answers.items()}


def answers_of_agent(agent: TrainedAgent, seen: Arrays) -> Arrays:
    """Soft and hard updates; gates, shifts and subtasks are drawn in the second half."""
    answers: dict[str, list[NDArray[Any]]] = {}
    for update in ("soft", "hard"):
        state = agent.initial_state(COUNT, seen["mask"].shape[2])
        random = torch.Generator().manual_seed(SEED)
        for t in range(STEPS):
            tokens = torch.from_numpy(seen["tokens"][t].astype(np.int64))
            move = agent.think(
                torch.from_numpy(seen["image"][t]),
                bags_of_words(tokens, agent.meta.network.words),
                torch.from_numpy(seen["mask"][t]),
                torch.from_numpy(seen["begins"][t]),
                state,
                soft=update == "soft",
                random=random,
                greedy=t < STEPS // 2,
            )
            state = move.state
            output = move.output
            said = {
                "c": output.decision.c,
                "shifted": output.decision.shift,
                "g": output.decision.g,
                "action": move.actions,
                "termination": move.termination,
                "log_probability": output.log_probability,
                "entropy": output.entropy,
                "value": output.value,
                "update": output.update,
                "shift": output.shift,
                "pointer": output.pointer,
            }
            for name, value in said.items():
                answers.setdefault(f"{update}.{name}", []).append(value.numpy())
    return {name: np.stack(values) for name, values in answers.items()}


def answers_of(name: str) -> Arrays:
    """What the shipped agent of that name answers now."""
    seen = read(f"observations/{name.split('/')[0]}")
    agent = load(name)
    if isinstance(agent, TrainedSkill):
        return answers_of_skill(agent, seen)
    return answers_of_agent(agent, seen)


def main() -> None:
    for world in WORLDS:
        if not path_of(f"observations/{world}").exists():
            write(f"observations/{world}", observe(world))
    missing = [name for name in shipped_agents() if not path_of(name).exists()]
    for name in sys.argv[1:] or missing:
        write(name, answers_of(name))
        print(f"recorded {name}")


if __name__ == "__main__":
    main()
