"""`errands report`: the tables and figures, made anew from committed results."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from errands.commands.problem import Problem


@dataclass(frozen=True)
class Report:
    """Write the report: every table with the paper's numbers beside ours, and the figures.

    Everything in it follows from result files (JSON of `errands evaluate`, logs of `errands train`)
    and shipped agents, so that the same files always give the same report.

    examples
      errands report
      errands report --results results --out results
    """

    results: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("results")
    """Where planners/*.json, skills/*.json and logs/*.jsonl are."""
    out: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("results")
    """Where REPORT.md and figures/ go."""

    def execute(self) -> int:
        if not self.results.is_dir():
            raise Problem(f"--results {self.results}: there is no such folder; run in a checkout")
        from errands.evaluation.report import write_report

        path = write_report(self.results, self.out)
        print(f"wrote {path}")
        return 0
