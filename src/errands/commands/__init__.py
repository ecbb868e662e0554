"""One file for each command of `errands`: a frozen dataclass whose fields are the options.

These modules load for every `--help`, so Numba, torch and the worlds are imported by what runs a
command, never by the modules themselves.
"""
