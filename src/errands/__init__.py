"""Agents that carry out lists of instructions, including ones they were never trained on."""

__version__ = "0.1.0"
