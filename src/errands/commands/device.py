"""Whether the device that a user names is available."""

from errands.commands.problem import Problem


def check_device(name: str) -> None:
    import torch

    try:
        torch.zeros(1, device=name)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise Problem(f"--device {name} cannot be used here ({reason}); try cpu") from None
