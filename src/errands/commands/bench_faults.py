"""`errands bench faults`: kill training at random, resume it, and compare what it learned."""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from errands.commands.files import check_writable, tell
from errands.commands.problem import Problem, check_range

PROGRAM = (sys.executable, "-P", "-m", "errands.cli")
TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--no-python")
PROCESSES = "two processes"
SECONDS_TO_END = 120.0  # that torchrun may take to end the other workers

Kind = Literal["skill", "meta"]


@dataclass(frozen=True)
class Kill:
    """A run that is killed again and again: what is trained, where, and by how many processes."""

    stage: Kind
    world: str
    shared: bool = False  # two processes under torchrun, of which one worker is killed

    @property
    def name(self) -> str:
        return f"{self.stage}, {self.world}" + (f", {PROCESSES}" if self.shared else "")

    def command(self, out: Path, longer: float) -> list[str]:
        options = ["--preset", "debug", "--longer", f"{longer:g}", "--threads", "1"]
        train = ["train", self.stage, "--world", self.world, *options, "--out", str(out)]
        return [*(TORCHRUN if self.shared else ()), *PROGRAM, *train]


EVERYTHING = (
    *(Kill(stage, world) for stage in ("skill", "meta") for world in ("grid", "block")),
    Kill("skill", "grid", shared=True),
)


@dataclass
class FaultTally:
    """What happened to the runs of one kind."""

    kills: int = 0
    finished: int = 0
    bit_equal: int = 0  # of the finished ones
    lost: int = 0  # runs that could not be resumed
    complaints: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class BenchFaults:
    """Kill training runs at random moments, resume them, and compare what they learned.

    Runs of skills and meta controllers in both worlds are ended with SIGKILL, and started again by
    the same command until they are finished, with checkpoints as far apart as always. Their weights
    and checkpoints must then be, bit for bit, those of a run that nobody disturbed. Under torchrun,
    one worker is killed; such runs must finish, but are not compared, because on resuming all
    processes but the first begin with new worlds.

    examples
      errands bench faults --json results/bench/faults.json
      errands bench faults --kills 5 --longer 0.1 --seconds 20      (minutes)
    """

    kills: int = 100
    """How many kills, in turn over all kinds of runs."""
    longer: float = 12.0
    """Multiplies the frames of the runs, which have the preset debug."""
    seconds: float = 150.0
    """The longest time between a start and its kill."""
    seed: int = 0
    """Seed of the moments."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """Write the tally as JSON (- for standard output)."""

    def execute(self) -> int:
        check_range("--kills", self.kills, 1, 100_000)
        check_range("--longer", self.longer, 0.01, 1000)
        check_range("--seconds", self.seconds, 0.1, 100_000)
        check_writable("--json", self.json)
        from errands.commands.progress import progress
        from errands.evaluation.episodes import origin

        began = time.monotonic()
        with (
            tempfile.TemporaryDirectory(prefix="errands-faults-") as scratch,
            progress("kills", self.kills) as show,
        ):
            campaign = Campaign(Path(scratch), self.longer, self.seconds, self.seed)
            for done in range(self.kills):
                campaign.kill_once(EVERYTHING[done % len(EVERYTHING)])
                show(done + 1)
            campaign.finish_all()
        record: dict[str, Any] = {
            "kills": self.kills,
            "longer": self.longer,
            "longest_until_kill": self.seconds,
            "kinds": {kind.name: asdict(tally) for kind, tally in campaign.tallies.items()},
            "seed": self.seed,
            "seconds": round(time.monotonic() - began, 1),
            "cores": os.cpu_count(),
            **origin(),
        }
        said = []
        for kind, tally in campaign.tallies.items():
            said.append(f"{kind.name}: {_said(kind, tally)}")
            said += [f"  {complaint}" for complaint in tally.complaints]
        tell(self.json, record, *said)
        return 0 if campaign.is_flawless else 1


def _said(kind: Kill, tally: FaultTally) -> str:
    equal = "not compared" if kind.shared else f"{tally.bit_equal} of them bit-equal"
    return f"tried {tally.kills}, lost {tally.lost}; {tally.finished} runs finished, {equal}"


class Campaign:
    """Runs of all kinds, one of each at a time."""

    def __init__(self, scratch: Path, longer: float, seconds: float, seed: int) -> None:
        self._scratch = scratch
        self._longer = longer
        self._seconds = seconds
        self._random = random.Random(seed)
        self._folders: dict[Kill, Path] = {}
        self.tallies: dict[Kill, FaultTally] = {}

    @property
    def is_flawless(self) -> bool:
        return all(
            tally.lost == 0 and (kind.shared or tally.bit_equal == tally.finished)
            for kind, tally in self.tallies.items()
        )

    def kill_once(self, kind: Kill) -> None:
        """Go on with this kind's run, or begin another one, and kill it before it is finished."""
        tally = self.tallies.setdefault(kind, FaultTally())
        while True:
            after = self._random.uniform(0.0, self._seconds)
            code, said = self._carried_on(kind, after)
            if code is None:
                tally.kills += 1
                return
            self._ended(kind, code, said)
            if tally.lost > tally.kills + 3:
                raise Problem(f"{kind.name} does not even start: {said}")

    def finish_all(self) -> None:
        """Let the runs that were killed last come to their end."""
        for kind in list(self._folders):
            code, said = self._carried_on(kind, None)
            assert code is not None
            self._ended(kind, code, said)

    def _carried_on(self, kind: Kill, after: float | None) -> tuple[int | None, str]:
        """Start a run and kill it after so many seconds; its code, or None if it was killed."""
        if kind not in self._folders:
            number = sum(tally.finished + tally.lost for tally in self.tallies.values())
            self._folders[kind] = self._scratch / f"run-{number}-{kind.name.replace(', ', '-')}"
        with tempfile.TemporaryFile() as output:
            process = _started(kind.command(self._folders[kind], self._longer), output)
            try:
                code: int | None = process.wait(after)
            except subprocess.TimeoutExpired:
                _kill(process, worker=kind.shared)
                code = None
            output.seek(0)
            lines = output.read().decode(errors="replace").strip().splitlines()
        return code, lines[-1] if lines else ""

    def _ended(self, kind: Kill, code: int, said: str) -> None:
        """Judge a run that has come to its end by itself."""
        folder, tally = self._folders.pop(kind), self.tallies[kind]
        if code != 0:
            tally.lost += 1
            tally.complaints.append(f"exit code {code}: {said}")
            return
        tally.finished += 1
        if not kind.shared:
            difference = differences(folder, self._undisturbed(kind))
            tally.bit_equal += not difference
            tally.complaints += [difference] if difference else []

    def _undisturbed(self, kind: Kill) -> Path:
        """A run of this kind that nobody disturbed, made when it is first needed."""
        folder = self._scratch / f"undisturbed-{kind.name.replace(', ', '-')}"
        if not folder.exists():
            with tempfile.TemporaryFile() as output:
                if _started(kind.command(folder, self._longer), output).wait():
                    raise Problem(f"{kind.name} fails without any kill; try it alone to see why")
        return folder


def differences(folder: Path, other: Path) -> str:
    """What distinguishes two finished runs, but for the clock; "" if nothing does."""
    from errands.agents.files import WEIGHTS
    from errands.learning.checkpoint import load_resume

    if (folder / WEIGHTS).read_bytes() != (other / WEIGHTS).read_bytes():
        return "other weights"
    one, two = load_resume(folder), load_resume(other)
    if one is None or two is None:
        return "" if one is two else "a checkpoint is missing"
    for name in one[0].keys() | two[0].keys():
        if name not in one[0] or name not in two[0] or not one[0][name].equal(two[0][name]):
            return f"another '{name}' in the checkpoint"
    facts = [
        {key: fact for key, fact in found[1].items() if key != "seconds"} for found in (one, two)
    ]
    return "" if facts[0] == facts[1] else "other facts in the checkpoint"


def _started(command: list[str], output: Any) -> "subprocess.Popen[bytes]":
    """In its own session, so that all its processes can be ended together."""
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
    )


def _kill(process: "subprocess.Popen[bytes]", *, worker: bool) -> None:
    """SIGKILL for the run; or for one of its workers, whereupon torchrun ends the others."""
    workers = _workers(process.pid) if worker else []
    if workers:
        os.kill(random.choice(workers), signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(SECONDS_TO_END)
    for left in _workers(process.pid):  # which are in sessions of their own
        os.kill(left, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _workers(process: int) -> list[int]:
    """The processes that a process has started, on Linux."""
    try:
        text = Path(f"/proc/{process}/task/{process}/children").read_text()
    except FileNotFoundError:  # it has ended
        return []
    return [int(number) for number in text.split()]
