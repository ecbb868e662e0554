"""What a training run needs to resume: written whole or not at all, checked when read.

`resume.safetensors` is the newest state and `resume.previous.safetensors` the one before. The agent
itself has files of its own (errands.agents.files).
"""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from errands.files import DamagedFile, write_atomically
from errands.records import parse_json

# The older one did not cover types and shapes; files with it can still be resumed from.
CHECKSUM, OLD_CHECKSUM = "sha256", "checksum"
RESUME, PREVIOUS = "resume.safetensors", "resume.previous.safetensors"


def save_json(path: Path, content: Any) -> None:
    write_atomically(path, (json.dumps(content, indent=1) + "\n").encode())


def save_resume(folder: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """Everything needed to resume, with a checksum; the file before becomes the previous one."""
    tensors = {name: value.contiguous() for name, value in tensors.items()}
    told = json.dumps(dict(facts))
    content = save(tensors, {"facts": told, CHECKSUM: _checksum(tensors, told)})
    if _is_whole(folder / RESUME):  # a damaged one must not take the previous one's place
        os.replace(folder / RESUME, folder / PREVIOUS)
    write_atomically(folder / RESUME, content)


def load_resume(folder: Path) -> tuple[dict[str, Tensor], dict[str, Any], list[str]] | None:
    """The newest state that is whole, and a line about each file that is not; None at the start."""
    complaints: list[str] = []
    for name in (RESUME, PREVIOUS):
        path = folder / name
        if not path.exists():
            continue
        try:
            tensors, facts = _read_resume(path)
        except DamagedFile as error:
            complaints.append(str(error))
            continue
        return tensors, facts, complaints
    if complaints:
        raise DamagedFile(
            f"{'; '.join(complaints)}; delete '{folder}' to start again, or choose another --out"
        )
    return None


def _read_resume(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        name = CHECKSUM if CHECKSUM in metadata else OLD_CHECKSUM
        facts = metadata.get("facts", "")
        if metadata.get(name) != _checksum(tensors, facts, with_shapes=name == CHECKSUM):
            raise ValueError("its checksum is wrong")
        found = parse_json(facts, {})
    except (SafetensorError, ValueError, RuntimeError, OSError) as error:
        raise DamagedFile(f"'{path}' is damaged ({error})") from error
    return tensors, found


def _is_whole(path: Path) -> bool:
    try:
        _read_resume(path)
    except DamagedFile:
        return False
    return True


def _checksum(tensors: Mapping[str, Tensor], facts: str, *, with_shapes: bool = True) -> str:
    digest = hashlib.sha256(facts.encode())
    for name in sorted(tensors):
        digest.update(name.encode())
        if with_shapes:
            digest.update(f" {tensors[name].dtype} {tuple(tensors[name].shape)} ".encode())
        digest.update(tensors[name].contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """An optimizer's moments by parameter number: {"3.exp_avg": ...}."""
    state = optimizer.state_dict()["state"]
    return {
        f"{number}.{name}": torch.as_tensor(value)
        for number, moments in state.items()
        for name, value in moments.items()
    }


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        number, name = key.split(".", 1)
        state.setdefault(int(number), {})[name] = value
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": state, "param_groups": groups})


def generator_facts(random: np.random.Generator) -> str:
    return json.dumps(random.bit_generator.state)


def restore_generator(random: np.random.Generator, facts: str) -> None:
    random.bit_generator.state = json.loads(facts)
