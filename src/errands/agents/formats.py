"""Agent files of earlier formats, lifted to the format of today.

1: without a number. Several settings were constants of the code, others came later and were
   defaults; the weights had no checksum.
2: every number that shapes an agent is in its file, and the checksum of its weights.
3: what is added to the paper's meta controller are named hints, each with its own numbers.

Weights have had other names. Those say by themselves which they are, so weights need no number.
"""

from collections.abc import Mapping
from typing import Any

FORMAT = 3

# What the code put in where a file of format 1 was silent.
_SKILL_1: dict[str, Any] = {
    "noise_at_first": False,
    "activation": "none",
    "looks": 2,
    "remembers": False,
    "maps": None,
    "repeats": 7,
    "size": 10,
    "picture": 64,
    "filters": [16, 32, 32, 32],
    "kernels": [8, 1, 1, 5],
    "strides": [4, 1, 1, 2],
}
_META_1: dict[str, Any] = {
    "eyes": "own",
    "maps": None,
    "tallies": False,
    "lures": False,
    "ends_open": False,
    "near": 4,
    "tally": 3,
    "tally_scale": 10.0,
    "size": 10,
    "picture": 64,
    "filters": [16, 32, 32],
    "kernels": [8, 1, 1],
    "strides": [4, 1, 1],
    "pool": 5,
}
# A map's numbers were constants, and its switch was a yes or no.
_MAPS_1: dict[str, Any] = {
    "picture": 64,
    "filters": [24, 48],
    "places": 4,
    "hidden": 64,
    "ahead": 9,
    "aside": 9,
    "largest": 8,
    "fade": 0.9,
    "sure": 0.0,
    "tried": False,
}
# The first maps took every name, however improbable, and forgot at once where they had looked.
_FIRST_MAPS = {"sure": 0.0, "tried": False}
# Skills had no layer that plans.
_FIRST_SKILL = {"ways": 0}
# The first agents took signals and actions as their skill gave them.
_FIRST_COMMAND = {"threshold": 0.5, "opens": 0.5, "sharpness": 1.0}
_SILENT_1 = {"skill": _SKILL_1, "meta": _META_1, "eyes": _MAPS_1}
_TRAINING_1: dict[str, dict[str, Any]] = {
    "skill": {
        "in_lists": False,
        "eyes": "",
        "start": "",
        "crowd": 0.0,
        "contrast": 0.0,
        "walls": 0.0,
    },
    "meta": {"credit": "step", "crowd": 0.0, "half_eyes": False},
    "eyes": {"crowd": 0.0},
}
_SWITCHES_2 = (
    "glance",
    "told",
    "reminded",
    "tallies",
    "grounded",
    "head_start",
    "lures",
    "ends_open",
)
_NUMBERS_2 = ("tally", "tally_scale")
# Where b_t had its parameters without a head start, as in the `paper` preset and in Flat.
_NO_START = {"update": [0.0, 0.0], "shift": [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]}
_HEAD_START = {"update": [-2.0, 4.0], "shift": [[-8.0, 3.0, -3.0], [-8.0, 0.0, 1.5]]}


def lift(description: Mapping[str, Any]) -> dict[str, Any]:
    """The content of an `agent.json` of any format, as today's code would have written it."""
    found = description.get("format") or 1
    if not isinstance(found, int) or not 1 <= found <= FORMAT:
        raise ValueError(
            f"its format is {found!r:.60}, and this version reads 1 to {FORMAT}: a newer one is "
            "needed"
        )
    lifted = dict(description)
    if "network" in description:
        lifted["network"] = lift_network(str(description.get("kind")), description["network"])
    if isinstance(description.get("training"), dict):
        lifted["training"] = lift_training(description["training"])
    return lifted | {"format": FORMAT}


def lift_training(training: Mapping[str, Any]) -> dict[str, Any]:
    """A run's configuration of any format, as it is in `config.json` and in `agent.json`."""
    kind = "meta" if "agent" in training else "skill" if "scenario" in training else "eyes"
    lifted = _TRAINING_1.get(kind, {}) | dict(training)
    if "network" in lifted:
        lifted["network"] = lift_network(kind, lifted["network"])
    return lifted


def lift_network(kind: str, network: Any) -> Any:
    """A network's settings; whatever is no such thing stays as it is, to be refused later."""
    if isinstance(network, dict) and isinstance(network.get("maps"), dict):
        network = network | {"maps": _FIRST_MAPS | network["maps"]}
    if isinstance(network, dict) and kind == "meta":
        network = _FIRST_COMMAND | network
    if isinstance(network, dict) and kind == "skill":
        network = _FIRST_SKILL | network
    if not isinstance(network, dict) or kind not in _SILENT_1 or "hints" in network:
        return network
    silent = {name: value for name, value in _SILENT_1[kind].items() if name not in network}
    lifted = network | silent
    if isinstance(lifted.get("maps"), bool):
        lifted["maps"] = _MAPS_1 if lifted["maps"] else None
    if kind == "meta" and all(name in lifted for name in ("world", "flat", *_SWITCHES_2)):
        hints = _hints(lifted)
        for name in (*_SWITCHES_2, *_NUMBERS_2):
            del lifted[name]
        lifted["hints"] = hints
    return lifted


def _hints(network: Mapping[str, Any]) -> dict[str, Any]:
    """What the switches of format 2 amounted to."""
    shows_kinds = network["world"] == "grid" or network["maps"]
    named = network["grounded"] and not network["flat"]
    started = network["head_start"] and not network["flat"]
    hints: dict[str, Any] = {
        "head-start": (_HEAD_START if started else _NO_START) | {"named": named}
    }
    if network["ends_open"]:
        hints["promptness"] = {}
    if named:
        hints["grounding"] = {}
    if network["reminded"]:
        hints["reminder"] = {}
    if network["tallies"]:
        numbers = {"most": network["tally"], "scale": network["tally_scale"]}
        hints["tally"] = numbers | {"named": named}
    if network["glance"] and shows_kinds:
        hints["glance"] = {}
    if network["told"] and shows_kinds:
        hints["briefing"] = {"named": named}
    if network["lures"]:
        hints["sighting"] = {"scale": 10.0}
    return hints


# The names of weights in formats 1 and 2, or in a part before a dot, and what they are called now.
_META_NAMES = {
    "update_start": "hints.head-start.update",
    "shift_start": "hints.head-start.shift",
    "embedding": "condition.embedding",
    "condition.weight": "condition.joint.weight",
    "condition.bias": "condition.joint.bias",
    "conv3": "sight.conv3",
    "context.into": "context.fc.into",
    "context.diagonal": "context.fc.diagonal",
    "context.out": "context.fc.out",
    "context.gates": "context.lstm.gates",
    "told": "hints.briefing.layer",
    "update": "updater.update",
    "shift": "updater.shift",
    "enough": "hints.tally.enough",
    "lure_gate": "hints.sighting.gate",
    "lure_goal": "hints.sighting.goal",
    "goal_hidden": "updater.goal_hidden",
    "goals": "updater.goals",
    "named_object": "hints.grounding.named_object",
    "named_verb": "hints.grounding.named_verb",
}
_FLAT_NAMES = {f"condition.{k}": f"condition.layers.{k}" for k in (0, 2)}
_JOINT_NAMES = {"condition.0": "condition.joint"}
_SKILL_NAMES = {
    "sharpness": "counter.sharpness",
    "mix": "context.mix",
    "conv4": "sight.last",
    "fc": "context.fc",
    "lstm": "context.lstm",
    "count_wanted": "counter.wanted",
    "value_left": "counter.value_left",
}
_CONVOLUTIONS = {
    ("meta", "grid"): {"conv1": "sight.conv1"},
    ("meta", "block"): {"conv1": "eyes.conv1", "conv2": "eyes.conv2"},
    ("skill", "grid"): {
        "conv1": "sight.conv1",
        "conv2": "sight.view.conv2",
        "conv3": "sight.view.conv3",
    },
    ("skill", "block"): {
        "conv1": "eyes.conv1",
        "conv2": "eyes.conv2",
        "conv3": "sight.conv3",
    },
    ("meta", "map"): {"conv1": "sight.conv1"},
    ("skill", "map"): {"conv1": "sight.conv1", "conv2": "sight.conv2"},
}


def names_of_weights(kind: str, network: Mapping[str, Any]) -> dict[str, str]:
    """What weights of formats 1 and 2 were called, and are called now, in such a network."""
    names = dict(_SKILL_NAMES if kind == "skill" else _META_NAMES)
    if kind == "meta":
        names |= _FLAT_NAMES if network["flat"] else _JOINT_NAMES
    return names | _CONVOLUTIONS[kind, "map" if network["maps"] else network["world"]]


def renamed(name: str, names: Mapping[str, str]) -> str:
    """A weight's name today; names of today stay as they are."""
    for old, new in names.items():
        if name == old or name.startswith(f"{old}."):
            return new + name.removeprefix(old)
    return name
