"""The worlds of other libraries, timed like ours: `python -m errands.commands.peers NAME SECONDS`.

Each peer runs in separate processes, so that threads do not disturb each other. A peer that uses a
single core gets one process per core, and the rates are added.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from errands.commands.problem import Problem
from errands.commands.timing import steps_per_second

XLAND_WORLDS, XLAND_STEPS = 1024, 32


# Worlds of peers that Gymnasium makes one at a time, by the module that registers them.
SINGLE = {"minigrid": "MiniGrid-DoorKey-8x8-v0"}


def minigrid() -> Callable[[], int]:
    """One Minigrid world: a key, a door and a goal in 8x8 cells."""
    import gymnasium

    importlib.import_module("minigrid")
    world: Any = gymnasium.make(SINGLE["minigrid"])
    world.action_space.seed(0)
    world.reset(seed=0)

    def advance() -> int:
        _, _, terminated, truncated, _ = world.step(world.action_space.sample())
        if terminated or truncated:
            world.reset()
        return 1

    return advance


def xland() -> Callable[[], int]:
    """Many XLand-MiniGrid worlds, compiled by JAX for all cores; several steps a call."""
    jax: Any = importlib.import_module("jax")
    xminigrid: Any = importlib.import_module("xminigrid")
    wrappers: Any = importlib.import_module("xminigrid.wrappers")
    world, parameters = xminigrid.make("XLand-MiniGrid-R1-9x9")
    world = wrappers.GymAutoResetWrapper(world)
    key = jax.random.key(0)
    drawn = XLAND_STEPS, XLAND_WORLDS
    actions = jax.random.randint(key, drawn, 0, world.num_actions(parameters))
    keys = jax.random.split(key, XLAND_WORLDS)
    now = jax.vmap(world.reset, in_axes=(None, 0))(parameters, keys)

    def step(now: Any, chosen: Any) -> Any:
        return jax.vmap(world.step, in_axes=(None, 0, 0))(parameters, now, chosen), None

    roll = jax.jit(lambda now: jax.lax.scan(step, now, actions)[0])

    def advance() -> int:
        nonlocal now
        now = jax.block_until_ready(roll(now))
        return XLAND_STEPS * XLAND_WORLDS

    return advance


def vizdoom() -> Callable[[], int]:
    """One ViZDoom game at 160x120 in colour, a picture every step."""
    import random

    doom: Any = importlib.import_module("vizdoom")
    game = doom.DoomGame()
    game.load_config(os.path.join(doom.scenarios_path, "basic.cfg"))
    game.set_screen_resolution(doom.ScreenResolution.RES_160X120)
    game.set_screen_format(doom.ScreenFormat.RGB24)
    game.set_window_visible(False)
    game.init()
    buttons = game.get_available_buttons_size()
    choices = [[k == chosen for k in range(buttons)] for chosen in range(buttons)]
    draw = random.Random(0)

    def advance() -> int:
        game.make_action(draw.choice(choices))
        if game.is_episode_finished():
            game.new_episode()
        assert game.get_state().screen_buffer is not None
        return 1

    return advance


@dataclass(frozen=True)
class Peer:
    """A world to compare with, and which of ours it is compared to."""

    title: str
    start: Callable[[], Callable[[], int]]
    needs: tuple[str, ...]  # modules
    beside: str  # our world of the same kind
    every_core: bool = False  # it uses all cores by itself


PEERS = {
    "minigrid": Peer("Minigrid DoorKey 8x8", minigrid, ("minigrid",), "grid"),
    "xland": Peer(
        f"XLand-MiniGrid R1 9x9, {XLAND_WORLDS} worlds",
        xland,
        ("jax", "xminigrid"),
        "grid",
        every_core=True,
    ),
    "vizdoom": Peer("ViZDoom basic, 160x120", vizdoom, ("vizdoom",), "block"),
}


def check_installed() -> None:
    """All peers must be installed: none is skipped silently."""
    needed = sorted({module for peer in PEERS.values() for module in peer.needs})
    missing = [module for module in needed if importlib.util.find_spec(module) is None]
    if missing:
        raise Problem(f"--peers needs {', '.join(missing)}; pip install 'errands[peers]'")


def measure_peer(name: str, seconds: float, cores: int) -> dict[str, Any]:
    """The peer's steps a second on all cores."""
    peer = PEERS[name]
    processes = 1 if peer.every_core else cores
    command = [sys.executable, "-m", "errands.commands.peers", name, str(seconds)]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    rates = []
    with tempfile.TemporaryDirectory() as folder:  # ViZDoom leaves a file where it runs
        running = [
            subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environment,
                cwd=folder,
            )
            for _ in range(processes)
        ]
        try:
            for process in running:
                said, complaint = process.communicate()
                if process.returncode != 0:
                    reason = (complaint.strip().splitlines() or ["no message"])[-1]
                    raise Problem(f"{peer.title} does not run: {reason}")
                rates.append(float(json.loads(said.strip().splitlines()[-1])))
        finally:
            for process in running:
                process.kill()
                process.wait()
    return {
        "peer": name,
        "title": peer.title,
        "beside": peer.beside,
        "processes": processes,
        "steps_per_second": round(sum(rates), 1),
    }


if __name__ == "__main__":
    print(json.dumps(steps_per_second(PEERS[sys.argv[1]].start(), float(sys.argv[2]))))
