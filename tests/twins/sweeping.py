"""A program in place of `errands` for tests of sweeps: it trains in a second, and learns nothing.

It keeps what matters to a sweep: a run is saved after every frame and at Ctrl-C, resumes where it
was, writes the same log, and leaves an agent that evaluation needs. The option `--without` makes it
misbehave: "fails" ends with an error, "crash" kills itself once, half-way.
"""

import argparse
import json
import os
import signal
import sys
import time
from pathlib import Path

FRAMES = 10
SECONDS = 0.02  # of each frame


def train(options: argparse.Namespace) -> int:
    folder = Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    if "fails" in options.without:
        print("errands: it cannot be trained", file=sys.stderr)
        return 2
    if options.skill and not (Path(options.skill) / "agent.json").exists():
        print(f"errands: there is no {options.skill}", file=sys.stderr)
        return 2
    interrupted: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: interrupted.append(number))
    saved = folder / "resume.json"
    frames = json.loads(saved.read_text()) if saved.exists() else 0
    is_first = frames == 0
    with open(folder / "starts.txt", "a") as starts:
        starts.write(f"{frames}\n")
    while frames < FRAMES:
        time.sleep(float(os.environ.get("SECONDS_A_FRAME", SECONDS)))
        frames += 1
        if frames == FRAMES // 2 and "crash" in options.without and is_first:
            saved.write_text(json.dumps(frames))
            os.kill(os.getpid(), signal.SIGKILL)
        saved.write_text(json.dumps(frames))
        (folder / "agent.json").write_text("{}")
        line = {"frames": frames, "total_frames": FRAMES, "seconds": 60.0 * frames}
        with open(folder / "log.jsonl", "a") as log:
            log.write(json.dumps(line | {"validation": {"success": frames / FRAMES}}) + "\n")
        if interrupted:
            return 130
    return 0


def evaluate(options: argparse.Namespace) -> int:
    assert (Path(options.weights) / "agent.json").exists()
    record = {"world": options.world, "agent": "dynamic", "split": options.split, "length": 20}
    record |= {"episodes": options.episodes, "seed": options.seed}
    metrics = ("success", "reward", "steps", "completed", "events", "events_used")
    record |= {name: {"mean": 0.5, "stderr": 0.1} for name in metrics}
    training = {"agent": "dynamic", "preset": "fast", "analogy": True, "seed": 3}
    training |= {"hints": ["a", "b"], "frames": FRAMES, "seconds": 60.0 * FRAMES}
    record |= {"with_all": True, "forgiving": False, "training": training}
    Path(options.json).write_text(json.dumps([record]))
    return 0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("command")
    parser.add_argument("what")
    for name in ("out", "skill", "weights", "world", "split", "json"):
        parser.add_argument(f"--{name}", default="")
    for name in ("episodes", "seed"):
        parser.add_argument(f"--{name}", type=int, default=0)
    parser.add_argument("--without", action="append", default=[])
    options, _ = parser.parse_known_args()
    return train(options) if options.command == "train" else evaluate(options)


if __name__ == "__main__":
    sys.exit(main())
