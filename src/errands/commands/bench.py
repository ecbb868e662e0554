"""`errands bench worlds`: the speed of the worlds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from errands.commands.files import STANDARD_OUTPUT, check_writable, write_json
from errands.commands.problem import check_range
from errands.worlds.spec import WORLDS

BATCHES = (64, 256, 1024, 4096, 16384)
BESIDE_PEERS = 1024  # the batch that peers are compared with, the size of the largest peer's
MEASURED = (
    "batch",
    "steps_per_second",
    "nanoseconds_per_step",
    "nanoseconds_on_one_core",
    "nanoseconds_one_a_call",
)
STEPS_A_CALL = 32  # as the largest peer; the cost of a call is measured separately
TURNS = 25  # a batch takes milliseconds, and a shared machine can be slow that long


@dataclass(frozen=True)
class BenchWorlds:
    """Measure steps a second of both worlds on all cores, and the cost of a step on one core.

    Actions are random; observations and the resets of finished episodes are included. A step should
    cost the same in a small batch and in a large one: this is measured with 32 steps per call, and
    again with one step per call. Single Gymnasium environments are measured as well. With --peers,
    Minigrid, XLand-MiniGrid and ViZDoom are measured in the same run, too
    (pip install 'errands[peers]').

    examples
      errands bench worlds
      errands bench worlds --peers --seconds 5 --json speed.json
    """

    peers: bool = False
    """Measure the worlds of other libraries as well."""
    seconds: float = 2.0
    """Seconds for each batch size in each of three ways, and for each peer."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """Write the result; "-" prints it, and nothing else, to standard output."""

    def execute(self) -> int:
        check_range("--seconds", self.seconds, 0.01, 3600)
        check_writable("--json", self.json)
        from errands.commands import peers
        from errands.commands.progress import activity
        from errands.commands.screen import compiling_notice

        if self.peers:
            peers.check_installed()
        with compiling_notice():
            for world in WORLDS:
                measure(world, (1,), seconds=0.001)
        import numba

        from errands.evaluation.episodes import origin

        cores = numba.get_num_threads()
        quiet = self.json == STANDARD_OUTPUT
        speeds: list[dict[str, Any]] = []
        others: list[dict[str, Any]] = []
        with activity("measuring") as say:
            for world in WORLDS:
                say(f"measuring {world} worlds")
                speeds += measure(world, BATCHES, self.seconds)
            say("measuring single environments")
            singles = measure_singles(self.seconds, with_peers=self.peers)
            for name in peers.PEERS if self.peers else ():
                say(f"measuring {peers.PEERS[name].title}")
                others.append(peers.measure_peer(name, self.seconds, cores))
        record = {"cores": cores, "seconds": self.seconds, "worlds": speeds, "singles": singles}
        record["peers"] = others
        if self.json is not None:
            write_json(self.json, {**record, **origin()})
        if not quiet:
            _print_tables(speeds, others, cores)
            _print_singles(singles)
            if self.json is not None:
                print(f"wrote {self.json}")
        return 0


def measure(world: str, batches: Sequence[int], seconds: float) -> list[dict[str, Any]]:
    """Steps a second of batches of worlds with lists of 4 and random actions."""
    import numba

    from errands.commands.timing import rates_in_turn

    together, singly = (
        [_stepping(world, batch, one_a_call=alone) for batch in batches] for alone in (False, True)
    )
    rates = rates_in_turn(together, seconds, turns=TURNS)
    single_rates = rates_in_turn(singly, seconds, turns=TURNS)
    cores = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        rates_on_one = rates_in_turn(together, seconds, turns=TURNS)
    finally:
        numba.set_num_threads(cores)
    return [
        {
            "world": world,
            "batch": batch,
            "steps_per_second": round(rate, 1),
            "nanoseconds_per_step": round(1e9 / rate, 1),
            "nanoseconds_on_one_core": round(1e9 / rate_on_one, 1),
            "nanoseconds_one_a_call": round(1e9 / single_rate, 1),
        }
        for batch, rate, rate_on_one, single_rate in zip(
            batches, rates, rates_on_one, single_rates, strict=True
        )
    ]


def measure_singles(seconds: float, *, with_peers: bool) -> list[dict[str, Any]]:
    """Microseconds of a reset and of a step (resets included) of environments with one world."""
    import importlib

    from errands.commands import peers
    from errands.commands.timing import rates_in_turn
    from errands.worlds.registration import environments, register_environments

    register_environments()  # those of worlds that were added later, too
    names = list(environments())
    for module, name in peers.SINGLE.items() if with_peers else ():
        importlib.import_module(module)
        names.append(name)
    measured = []
    for name in names:
        resets, steps = rates_in_turn(_single(name), seconds)
        measured.append(
            {
                "environment": name,
                "microseconds_per_reset": round(1e6 / resets, 1),
                "microseconds_per_step": round(1e6 / steps, 1),
            }
        )
    return measured


def _single(name: str) -> tuple[Callable[[], int], Callable[[], int]]:
    """Functions that reset an environment, and that take a random step in it."""
    import gymnasium

    env: gymnasium.Env[Any, Any] = gymnasium.make(name)
    env.action_space.seed(0)
    env.reset(seed=0)

    def reset() -> int:
        env.reset()
        return 1

    def step() -> int:
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()
        return 1

    return reset, step


def _stepping(world: str, batch: int, *, one_a_call: bool) -> Callable[[], int]:
    """A function that steps a batch of worlds: once, or STEPS_A_CALL times in one call."""
    import numpy as np

    from errands.worlds.gym import instruction_worlds

    worlds = instruction_worlds(world, batch)
    worlds.reset()
    draw = np.random.default_rng(0)
    # Episodes would otherwise all be truncated at the same step: each starts at a random point, so
    # that resets are spread evenly over the steps.
    worlds.privileged["steps"] = draw.integers(0, worlds.tasks.step_limit, batch)
    actions = draw.integers(0, worlds.actions, (STEPS_A_CALL, batch))
    turn = 0

    def advance() -> int:
        nonlocal turn
        if not one_a_call:
            worlds.follow(actions, renew=True)
            return STEPS_A_CALL * batch
        turn = (turn + 1) % STEPS_A_CALL
        worlds.step(actions[turn], renew=True)
        return batch

    return advance


def _print_tables(speeds: list[dict[str, Any]], others: list[dict[str, Any]], cores: int) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table(title=f"Errands on {cores} cores")
    for heading in ("world", "batch", "steps/s", "ns a step", "on one core", "one a call"):
        table.add_column(heading, justify="left" if heading == "world" else "right")
    for speed in speeds:
        table.add_row(speed["world"], *(f"{speed[column]:,.0f}" for column in MEASURED))
    console.print(table)
    if not others:
        return
    table = Table(title="Peers on the same cores, and how many times as fast ours is")
    for heading in ("peer", "steps/s", "ours", f"{BESIDE_PEERS:,} worlds", "best batch"):
        table.add_column(heading, justify="left" if heading in ("peer", "ours") else "right")
    for other in others:
        peer, kind = other["steps_per_second"], other["beside"]
        ours = {
            speed["batch"]: speed["steps_per_second"] for speed in speeds if speed["world"] == kind
        }
        times = [f"{rate / peer:,.1f}" for rate in (ours[BESIDE_PEERS], max(ours.values()))]
        table.add_row(other["title"], f"{peer:,.0f}", kind, *times)
    console.print(table)


def _print_singles(singles: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Single environments, microseconds")
    for heading in ("environment", "reset", "step"):
        table.add_column(heading, justify="left" if heading == "environment" else "right")
    for single in singles:
        name, *times = single.values()
        table.add_row(name, *(f"{value:,.1f}" for value in times))
    Console().print(table)
