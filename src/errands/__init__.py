"""Agents that execute lists of instructions, including ones they were never trained on."""

from typing import TYPE_CHECKING, Any

from errands.worlds.registration import register_environments

if TYPE_CHECKING:
    from errands.agents.load import load as load

__version__ = "0.1.0"
__all__ = ["__version__", "load"]

register_environments()


def __getattr__(name: str) -> Any:
    """`errands.load` brings in PyTorch, so it is looked up when it is used."""
    if name == "load":
        try:
            from errands.agents.load import load
        except ModuleNotFoundError as missing:
            what = f"errands.load needs {missing.name}: pip install 'errands[agents]'"
            raise ModuleNotFoundError(what, name=missing.name) from missing
        return load
    raise AttributeError(f"module 'errands' has no attribute '{name}'")
