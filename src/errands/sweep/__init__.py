"""Many runs in one command: what to train and evaluate, and where.

plan.py     a TOML file, or options, become runs
work.py     one run: the commands that train and evaluate it, and its progress
worker.py   these commands, one after the other, in processes
local.py    as many runs at once as this machine has cores
cluster.py  the same runs on a Ray cluster
live_table.py  a live table of all runs
"""
