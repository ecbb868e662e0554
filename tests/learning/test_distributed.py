"""Several processes on one run: alone nothing happens, together gradients are averaged."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from errands.learning import distributed

PROCESS = """
import hashlib, pathlib, sys
import torch
from torch import nn
from errands.learning import distributed
from errands.stages.skill import SkillTrainer
from twins.training import tiny

distributed.join()
rank = distributed.rank()
model = nn.Linear(2, 1)
model.weight.grad = torch.tensor([[1.0, 10.0]]) * (rank + 1)  # the bias has none
distributed.average_gradients(model)
assert model.bias.grad is None
print(rank, model.weight.grad.tolist())

folder = pathlib.Path(sys.argv[1])
trainer = SkillTrainer(tiny())
trainer.iterate()
if rank == 0:
    trainer.save(folder)
torch.distributed.barrier()
trainer = SkillTrainer(tiny())
trainer.resume(folder)
trainer.iterate()
for vector in (nn.utils.parameters_to_vector(trainer.skill.parameters()).detach().numpy(),
               trainer.rollout.worlds.images):
    print(hashlib.sha256(vector.tobytes()).hexdigest())
torch.distributed.destroy_process_group()
"""


def test_alone_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    distributed.join()
    assert not torch.distributed.is_initialized()
    assert distributed.rank() == 0
    model = nn.Linear(2, 1)
    model.weight.grad = torch.ones(1, 2)
    distributed.average_gradients(model)
    assert model.weight.grad.tolist() == [[1.0, 1.0]]
    assert model.bias.grad is None


def test_one_process_under_torchrun_is_alone_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "1")
    distributed.join()
    assert not torch.distributed.is_initialized()


@pytest.mark.slow
def test_two_processes_share_what_they_learn(tmp_path: Path) -> None:
    """Gradients become their mean; trained on different worlds, the weights stay the same.

    So they do when both go on from the one checkpoint that the first has written.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}
    paths = os.pathsep.join(path for path in sys.path if path)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, str(tmp_path)],
            env={
                **os.environ,
                **meeting,
                "RANK": str(rank),
                "PYTHONPATH": paths,
                "CUDA_VISIBLE_DEVICES": "",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        told = []
        for rank, process in enumerate(processes):
            said, complained = process.communicate(timeout=300)
            assert process.returncode == 0, complained
            gradients, weights, worlds = said.splitlines()
            assert gradients == f"{rank} [[1.5, 15.0]]"
            told.append((weights, worlds))
        assert told[0][0] == told[1][0]
        assert told[0][1] != told[1][1]
    finally:
        for process in processes:
            process.kill()
            process.wait()
