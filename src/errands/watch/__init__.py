"""Seeing it: a page in the browser that shows an agent at work and what it thinks."""
