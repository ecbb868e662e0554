"""The pipeline: what is trained (teacher, skill, meta), and a run (run, trainer, journal)."""
