"""Made-up measurements in the form of `errands evaluate instructions`."""

from typing import Any


def list_record(agent: str, split: str, length: int, **changed: Any) -> dict[str, Any]:
    """One record; `seed`, `analogy`, `preset` and `hints` go to the training of a trained agent.

    `soft` is an agent that learned nothing else, `run_soft` one that did and is run softly.
    """
    soft = changed.pop("soft", False)
    run_soft = changed.pop("run_soft", False)
    of_training = ("seed", "analogy", "preset", "hints")
    facts = {name: changed.pop(name) for name in of_training if name in changed}
    trained = agent not in ("near-optimal", "shortest-path")
    record = {
        "success": {"mean": 0.9, "stderr": 0.01},
        "reward": {"mean": -0.5 * length, "stderr": 0.02},
        "steps": {"mean": 7.0 * length, "stderr": 0.1},
        "completed": {"mean": 0.95 * length, "stderr": 0.01},
        "events": {"mean": 0.25 * length, "stderr": 0.01},
        "events_used": {"mean": 0.1 * length, "stderr": 0.01},
        "caught": 0.4,
        "agent": agent,
        "world": "grid",
        "split": split,
        "length": length,
        "with_all": True,
        "forgiving": False,
        "soft": soft or run_soft,
        "episodes": 1000,
        "seed": 0,
    }
    training = {"agent": agent, "preset": "fast", "analogy": True, "seed": 0, "soft": soft}
    training |= {"frames": 12_000_000, "seconds": 7200.0, **facts}
    return record | ({"training": training} if trained else {}) | changed
