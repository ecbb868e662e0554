"""An agent's two files: `weights.safetensors`, and `agent.json` that rebuilds the model around it.

Nothing in them is executed, and nothing large is allocated before their sizes were compared: files
of strangers are safe to read. Whatever is wrong with them is said in one line.
"""

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import nn

from errands.agents.formats import FORMAT, lift, renamed
from errands.files import DamagedFile, write_together
from errands.language.vocabulary import suggest
from errands.records import Maybe, check_shape, one_line, read_json

WEIGHTS, AGENT = "weights.safetensors", "agent.json"
LARGEST_SIZE, MOST_ITEMS = 2**16, 64  # of a network's settings; ours are far below
# What an agent's JSON says beside its network, which `network_from` reads.
DESCRIPTION = {"kind": str, "network": {}, "frames": int, "sha256": Maybe(str)}
_LEARNED = {"world": str, "analogy": bool, "preset": str, "seed": int}
SHAPES: dict[str, Any] = {
    "skill": {
        "seconds": float,
        "training": _LEARNED | {"scenario": str, "teacher": str, "in_lists": Maybe(bool)},
    },
    "meta": {
        "seconds": float,
        "skill": Maybe(str),
        "soft": Maybe(bool),
        "training": _LEARNED | {"agent": str, "stages": [{"frames": int}]},
    },
}

Network = TypeVar("Network")
Model = TypeVar("Model", bound=nn.Module)


def save_agent(folder: Path, model: nn.Module, description: Mapping[str, Any]) -> None:
    """The weights and the JSON that rebuilds the model around them, both or neither."""
    weights = {name: value.contiguous().cpu() for name, value in model.state_dict().items()}
    content = save(weights)
    described = {"format": FORMAT, **description, "sha256": hashlib.sha256(content).hexdigest()}
    text = json.dumps(described, indent=1) + "\n"
    write_together({folder / WEIGHTS: content, folder / AGENT: text.encode()})


def read_description(folder: Path) -> dict[str, Any]:
    """The agent's JSON in today's format, once its weights are known to be the ones it is about."""
    for name in (WEIGHTS, AGENT):
        if not (folder / name).is_file():
            raise FileNotFoundError(f"no {name} in '{folder}': is this the folder of an agent?")
    found = read_json(folder / AGENT, {"format": Maybe(int)})
    try:
        description = lift(found)
        check_shape(description, DESCRIPTION)
        check_shape(description, SHAPES.get(description["kind"], {}))
    except (ValueError, RecursionError) as error:
        reason = one_line(str(error))
        raise DamagedFile(f"the agent in '{folder}' cannot be rebuilt: {reason}") from error
    if (found.get("format") or 1) > 1:  # before, there was no checksum
        with open(folder / WEIGHTS, "rb") as file:
            checksum = hashlib.file_digest(file, "sha256").hexdigest()
        if checksum != description.get("sha256"):
            raise DamagedFile(
                f"the agent in '{folder}' is damaged: {WEIGHTS} is not the file that {AGENT} was "
                "written with (its checksum is another)"
            )
    return description


def rebuild(folder: Path, build: Callable[[], Model], names: Mapping[str, str]) -> Model:
    """A model with the weights in the folder, if their names and sizes are the model's.

    `names` are those that weights had in earlier formats, and have now.
    """
    with torch.device("meta"):  # shapes without memory
        expected = build().state_dict()
    try:
        with safe_open(folder / WEIGHTS, "pt") as file:
            found = {renamed(name, names): file.get_slice(name) for name in file.keys()}  # noqa: SIM118
            for name in expected.keys() ^ found.keys():
                where = "there is no" if name in expected else "there is an unknown"
                raise ValueError(f"{where} '{name}' among its weights")
            for name, value in expected.items():
                shape, kind = found[name].get_shape(), found[name].get_dtype()
                if shape != list(value.shape) or kind != "F32":
                    raise ValueError(
                        f"size mismatch: '{name}' is {kind} {shape}, not F32 {list(value.shape)}"
                    )
        model = build()
        weights = load_file(folder / WEIGHTS)
        model.load_state_dict({renamed(name, names): value for name, value in weights.items()})
    except SafetensorError as error:
        raise DamagedFile(f"the agent in '{folder}' is damaged: {error}") from error
    return model


def network_from(kind: type[Network], values: Any) -> Network:
    """Settings (a dataclass) from an agent's JSON: all of them, each of its type, and no other."""
    if not isinstance(values, dict):
        raise ValueError(f"its network is {values!r:.60}, not a table of settings")
    types = get_type_hints(kind)
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    for name in values:
        if name not in known:
            raise ValueError(f"its network has an unknown setting '{name}'; {suggest(name, known)}")
    for name in known:
        if name not in values:
            raise ValueError(f"its network lacks the setting '{name}'")
        if not _fits(values[name], types[name]):
            raise ValueError(f"its network's '{name}' is {values[name]!r:.60}")
    return kind(**{name: _read(value, types[name]) for name, value in values.items()})


def _read(value: Any, kind: Any) -> Any:
    """A field's value from JSON, which has neither tuples nor dataclasses."""
    if isinstance(value, dict) and _part(kind) is not None:
        return network_from(_part(kind), value)
    return tuple(value) if isinstance(value, list) else value


def _part(kind: Any) -> Any:
    """The dataclass of a field that may have one or None; None for other fields."""
    return next((part for part in get_args(kind) if is_dataclass(part)), None)


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value that was read from JSON is of a field's type."""
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if _part(kind) is not None:  # what is in it is looked at when it is read
        return value is None or isinstance(value, dict)
    if get_origin(kind) is tuple:
        item = get_args(kind)[0]
        is_short = isinstance(value, list) and len(value) <= MOST_ITEMS
        return is_short and all(_fits(element, item) for element in value)
    if get_origin(kind) is Mapping:  # hints, which are checked where they are built
        return isinstance(value, dict)
    if kind is float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and math.isfinite(value)
    if kind is int:
        is_number = isinstance(value, int) and not isinstance(value, bool)
        return is_number and abs(value) <= LARGEST_SIZE
    return isinstance(value, kind)
