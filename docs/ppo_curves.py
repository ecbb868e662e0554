"""The figure of docs/plugging-in.md, from the logs in results/examples.

`python docs/ppo_curves.py` draws it to docs/images/ppo.png.
"""

import json
from pathlib import Path

from matplotlib.figure import Figure

ROOT = Path(__file__).resolve().parent.parent
LOGS = {"PPO in one file": "cleanrl-ppo.json", "Stable-Baselines3": "sb3-ppo.json"}
PICTURE = ROOT / "docs" / "images" / "ppo.png"


def main(picture: Path = PICTURE) -> None:
    figure = Figure(figsize=(5.5, 3), layout="constrained")
    axis = figure.subplots()
    logs = {name: json.loads((ROOT / "results/examples" / LOGS[name]).read_text()) for name in LOGS}
    for name, log in logs.items():
        steps, success = zip(*log["curve"], strict=True)
        axis.plot([each / 1e6 for each in steps], [100 * each for each in success], label=name)
    (at_random,) = {log["random"] for log in logs.values()}  # both: same test worlds, same actions
    axis.axhline(100 * at_random, color="0.5", linestyle="--", label="random actions")
    axis.set(xlabel="million steps", ylabel="success in training (%)", xlim=0, ylim=(0, 100))
    axis.legend()
    axis.grid(alpha=0.3)
    figure.savefig(picture, dpi=100)


if __name__ == "__main__":
    main()
