"""Worlds, planners and Gymnasium environments work without PyTorch, and so do their commands."""

import subprocess
import sys

import pytest

WITHOUT = """
import sys

from errands.cli import OF_AGENTS


class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in OF_AGENTS:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)


assert not OF_AGENTS & set(sys.modules)
sys.meta_path.insert(0, Missing())
"""

ENVIRONMENTS = """
import gymnasium

import errands
from errands.worlds.planner import first_optimal
from errands.worlds.registration import environments

for name in environments():
    env = gymnasium.make(name)
    env.reset(seed=0)
    worlds = env.unwrapped.privileged_worlds()
    done = cut_off = False
    while not (done or cut_off):
        *_, done, cut_off, info = env.step(first_optimal(worlds.plan_lists("near-optimal"))[0])
    assert info["success"]
    envs = gymnasium.make_vec(name, num_envs=3)
    envs.reset(seed=0)
    envs.step(envs.action_space.sample())
try:
    errands.load("grid/dynamic")
except ModuleNotFoundError as missing:
    print(missing)
"""

COMMANDS = """
from errands.cli import main

assert main(["words"]) == 0
assert main(["run", "visit", "cow", "--agent", "shortest-path"]) == 0
assert main(["evaluate", "instructions", "--agent", "near-optimal", "--episodes", "2"]) == 0
for needs_agents in (["run", "visit", "cow"], ["agents"], ["train", "skill", "--out", "never"]):
    assert main(needs_agents) == 2, needs_agents
"""


@pytest.mark.parametrize(
    ("script", "complaints"),
    [
        (ENVIRONMENTS, ["errands.load needs torch: pip install 'errands[agents]'"]),
        (COMMANDS, ["errands: this needs torch: pip install 'errands[agents]'"] * 3),
    ],
    ids=["environments", "commands"],
)
def test_what_needs_no_agent_works_without_pytorch(script: str, complaints: list[str]) -> None:
    command = [sys.executable, "-c", WITHOUT + script]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    told = [line for line in (run.stdout + run.stderr).splitlines() if "errands[agents]" in line]
    assert told == complaints
