"""Executes the docs' notebooks: `python tests/notebooks.py` writes their outputs anew."""

from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

NOTEBOOKS = sorted((Path(__file__).parent.parent / "docs" / "examples").glob("*.ipynb"))
PATIENCE = 300  # seconds for one cell


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def executed(path: Path) -> NotebookNode:
    """The notebook with the outputs of a fresh kernel, from top to bottom."""
    notebook = read(path)
    # Times of execution would be different every time.
    NotebookClient(notebook, timeout=PATIENCE, kernel_name="python3", record_timing=False).execute()
    notebook.metadata["language_info"] = {"name": "python"}  # and so would the version of Python
    return notebook


if __name__ == "__main__":
    for path in NOTEBOOKS:
        nbformat.write(executed(path), path)
