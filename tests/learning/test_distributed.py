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
from errands.config import Stage
from errands.learning import distributed
from errands.stages.meta import MetaTrainer
from errands.stages.run import iterate
from errands.stages.skill import SkillTrainer
from twins.training import tiny, tiny_meta

def tell(trainer):
    for vector in (nn.utils.parameters_to_vector(trainer.model.parameters()).detach().numpy(),
                   trainer.rollout.worlds.images):
        print(hashlib.sha256(vector.tobytes()).hexdigest())
    print(trainer.frames)

def write_down(curriculum):
    learn = curriculum.learn
    def learn_and_tell(success):
        print("learned from", success)
        return learn(success)
    curriculum.learn = learn_and_tell

distributed.join()
rank = distributed.rank()
model = nn.Sequential(nn.Linear(2, 1), nn.Linear(1, 2))
model[0].weight.grad = torch.tensor([[1.0, 10.0]]) * (rank + 1)  # the bias has none
model[1].weight.grad = torch.tensor([[2.0], [20.0]]) * (rank + 1)
messages, send = [], torch.distributed.all_reduce
torch.distributed.all_reduce = lambda tensor: messages.append(tensor.numel()) or send(tensor)
distributed.average_gradients(model)
torch.distributed.all_reduce = send
assert messages == [4], messages
assert model[0].bias.grad is None
assert model[1].weight.grad.tolist() == [[3.0], [30.0]]
print(rank, model[0].weight.grad.tolist(), distributed.mean(rank))

folder = pathlib.Path(sys.argv[1])
taught = tiny(teacher="rl", teachers=Stage(1, 1e-2, 1e-2), teacher_worlds=2)
for training in (tiny(), taught):
    trainer = SkillTrainer(training)
    iterate(trainer)
    if rank == 0:
        trainer.save(folder)
    torch.distributed.barrier()
    trainer = SkillTrainer(training)
    trainer.resume(folder)
    iterate(trainer)
    tell(trainer)
teachers = nn.utils.parameters_to_vector(trainer.school.teachers.parameters())
print(hashlib.sha256(teachers.detach().numpy().tobytes()).hexdigest())

trainer = MetaTrainer(tiny_meta(agent="flat"))
write_down(trainer.curriculum)
write_down(trainer.events)
for _ in range(2):
    iterate(trainer)
tell(trainer)
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


@pytest.mark.parametrize(
    ("device", "own", "backend"),
    [("cpu", "cpu", "gloo"), ("cuda", "cuda:3", "nccl"), ("cuda:1", "cuda:1", "nccl")],
)
def test_the_device_decides_how_processes_meet(
    device: str, own: str, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not whether there is a GPU: processes on CPUs meet on machines with GPUs, too."""
    met: list[str] = []
    monkeypatch.setenv("WORLD_SIZE", "8")
    monkeypatch.setenv("LOCAL_RANK", "3")
    monkeypatch.setattr(torch.cuda, "set_device", met.append)
    monkeypatch.setattr(torch.distributed, "init_process_group", met.append)
    assert distributed.own_device(device) == own
    distributed.join(own)
    assert met == ([backend] if own == "cpu" else [own, backend])


def test_alone_the_device_is_the_one_that_was_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert distributed.own_device("cuda") == "cuda"


@pytest.mark.slow
def test_two_processes_share_what_they_learn(tmp_path: Path) -> None:
    """Gradients become their mean; trained on different worlds, the weights stay the same.

    So they do when both go on from the one checkpoint that the first has written. Curricula learn
    from the success of all, and the frames of all count.
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
            first, *lines = said.splitlines()
            assert first == f"{rank} [[1.5, 15.0]] 0.5"
            told.append(lines)
        differ = [k for k, (mine, yours) in enumerate(zip(*told, strict=True)) if mine != yours]
        assert differ == [1, 4, 11]  # the worlds of each of the three runs, and nothing else
        assert [told[0][k] for k in (2, 12)] == ["128", "128"]  # two iterations of both
    finally:
        for process in processes:
            process.kill()
            process.wait()
