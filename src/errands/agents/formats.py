"""What older agent files leave out, and how they are lifted to the format of today.

1: without a number. Several settings were constants of the code, others came later and were
   defaults; the weights had no checksum.
2: every number that shapes an agent is in its file, and the checksum of its weights.
"""

from collections.abc import Mapping
from typing import Any

FORMAT = 2

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
}
_META_1: dict[str, Any] = {
    "eyes": "own",
    "maps": None,
    "tallies": False,
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
_NETWORKS_1 = {"skill": _SKILL_1, "meta": _META_1, "eyes": _MAPS_1}
_TRAINING_1 = {"in_lists": False, "eyes": ""}


def lift(description: Mapping[str, Any]) -> dict[str, Any]:
    """The content of an `agent.json` of any format, as today's code would have written it."""
    found = description.get("format", 1)
    if not isinstance(found, int) or not 1 <= found <= FORMAT:
        raise ValueError(
            f"its format is {found!r}, and this version reads 1 to {FORMAT}: a newer one is needed"
        )
    lifted = dict(description)
    if found == 1:
        kind = description.get("kind")
        if kind in _NETWORKS_1:
            lifted["network"] = lift_network(kind, description.get("network"))
        if isinstance(description.get("training"), dict):
            lifted["training"] = lift_training(description["training"])
    return lifted | {"format": FORMAT}


def lift_training(training: Mapping[str, Any]) -> dict[str, Any]:
    """A run's configuration of format 1, as it is in `config.json` and in `agent.json`."""
    kind = "meta" if "agent" in training else "skill"
    lifted = dict(training)
    if kind == "skill":
        lifted = _TRAINING_1 | lifted
    if "network" in lifted:
        lifted["network"] = lift_network(kind, lifted["network"])
    return lifted


def lift_network(kind: str, network: Any) -> Any:
    if not isinstance(network, dict):
        return network
    lifted = {**network, **_only_new(kind, network)}
    if isinstance(lifted.get("maps"), bool):
        lifted["maps"] = _MAPS_1 if lifted["maps"] else None
    return lifted


def _only_new(kind: str, network: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in _NETWORKS_1[kind].items() if name not in network}
