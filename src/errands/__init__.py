"""Agents that carry out lists of instructions they were never trained on."""

from errands.worlds.registration import register_environments

__version__ = "0.1.0"

register_environments()
