"""Checkpoints of runs that began with earlier code, lifted to what today's code resumes from.

Weights have had other names (`errands.agents.formats`), which changes the order of parameters that
an optimizer counts them by; and what agents carry from step to step was a flat list.
"""

from collections.abc import Mapping
from dataclasses import asdict

from torch import Tensor, nn

from errands.agents.formats import names_of_weights, renamed
from errands.agents.meta import MetaController
from errands.agents.skill import Skill

Parts = dict[str, dict[str, Tensor]]  # of a checkpoint: "model", "optimizer", "rollout", ...

# The order in which models of formats 1 and 2 registered their weights, by the names of that time.
_ORDER = {
    "meta": (
        *("words", "update_start", "shift_start", "embedding", "condition", "conv1", "conv2"),
        *("conv3", "context", "told", "update", "shift", "enough", "goal_hidden", "goals"),
        *("named_object", "named_verb", "baseline"),
    ),
    "skill": (
        *("sharpness", "embedding", "policy", "termination", "value", "eyes", "conv1", "conv2"),
        *("mix", "conv3", "conv4", "fc", "lstm", "count_wanted", "value_left"),
    ),
}
_CARRIED = {"p": "carried.p", "h": "carried.h", "cell": "carried.memory.0", "g": "carried.g"}


def lift_checkpoint(parts: Parts, model: nn.Module) -> Parts:
    """The parts of a checkpoint of any format, for today's model."""
    if not isinstance(model, MetaController | Skill):
        return parts
    kind = "meta" if isinstance(model, MetaController) else "skill"
    names = names_of_weights(kind, asdict(model.network))
    if all(renamed(name, names) == name for name in parts["model"]):
        return parts
    lifted = dict(parts)
    for part in ("model", "average"):
        lifted[part] = {renamed(name, names): value for name, value in parts[part].items()}
    lifted["optimizer"] = _in_todays_order(parts.get("optimizer", {}), kind, model, names)
    if isinstance(model, MetaController):
        lifted["rollout"] = _agent_state(parts["rollout"], model)
        return lifted
    for part in ("rollout", "in_lists"):
        if part in parts:
            lifted[part] = _skill_rollout(parts[part], model)
    return lifted


def _in_todays_order(
    moments: Mapping[str, Tensor], kind: str, model: nn.Module, names: Mapping[str, str]
) -> dict[str, Tensor]:
    """An optimizer's moments, which carry the number of their parameter."""
    before = {new: old for old, new in names.items()}
    today = [name for name, _ in model.named_parameters()]

    def place(name: str) -> int:
        return _ORDER[kind].index(renamed(name, before).split(".")[0])

    then = sorted(today, key=place)  # stable: the order within a part has not changed
    number = {str(k): str(today.index(name)) for k, name in enumerate(then)}
    moved = {}
    for key, value in moments.items():
        k, _, moment = key.partition(".")
        moved[f"{number[k]}.{moment}"] = value
    return moved


def _agent_state(tensors: Mapping[str, Tensor], model: MetaController) -> dict[str, Tensor]:
    """What a hierarchy carried: the meta controller, the skill, eyes, the last action."""
    lifted = {}
    carried = {f"meta.{old}": f"agent.meta.{new}" for old, new in _CARRIED.items()}
    tally = list(model.hints).index("tally") if "tally" in model.hints else None
    memory = {}
    for key, value in tensors.items():
        if key in carried:
            lifted[carried[key]] = value
        elif key == "meta.seen":
            lifted["agent.meta.sight.0"] = _cells(value)
        elif key == "meta.tally":
            lifted[f"agent.meta.hints.{tally}.0"] = value
        elif key.startswith("skill."):
            memory[key.removeprefix("skill.")] = value
        elif key.startswith("sight."):
            lifted[f"agent.eyes.{key.removeprefix('sight.')}"] = value
        elif key == "action":
            lifted["agent.action"] = value
        else:
            lifted[key] = value
    return lifted | _skill_memory(memory, "agent.skill")


def _skill_rollout(tensors: Mapping[str, Tensor], model: Skill) -> dict[str, Tensor]:
    """What a skill carried, and its eyes."""
    lifted, memory = {}, {}
    for key, value in tensors.items():
        if key.startswith("memory."):
            memory[key.removeprefix("memory.")] = value
        else:
            lifted[key.replace("sight.", "eyes.")] = value
    return lifted | _skill_memory(memory, "memory")


def _skill_memory(items: Mapping[str, Tensor], name: str) -> dict[str, Tensor]:
    """h, cell and last summary of an LSTM; last observation and count without; count with a map."""
    if len(items) == 3:
        places = {"0": "h", "1": "context.0", "2": "sight.0"}
    elif len(items) == 2:
        places = {"0": "sight.0", "1": "counted.0"}
    else:
        places = {"0": "counted.0"}
    return {
        f"{name}.{places[key]}": _cells(value) if places[key] == "sight.0" else value
        for key, value in items.items()
    }


def _cells(value: Tensor) -> Tensor:
    """A map's planes (B, planes, size, size) as features (B, cells, planes)."""
    return value.flatten(2).transpose(1, 2).contiguous() if value.dim() == 4 else value
