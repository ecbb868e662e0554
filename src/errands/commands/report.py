"""`errands report`: the tables and figures, generated from committed results."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from errands.commands.problem import Problem


@dataclass(frozen=True)
class Report:
    """Write the report: the paper's claims with verdicts, every table beside the paper's, errata.

    REPORT.md is for reading in the repository; report.html is the same as a single page with its
    figures; results.csv has a row for each measurement. All are generated from result files (JSON
    of `errands evaluate`, logs of `errands train`) and shipped agents; apart from date and commit,
    the same files always give the same report.

    examples
      errands report
      errands report --results results --out results
    """

    results: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("results")
    """The folder with instructions/*.json, skills/*.json, planners/*.json and logs/*.jsonl."""
    out: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("results")
    """The folder for REPORT.md, report.html, results.csv and figures/."""

    def execute(self) -> int:
        if not self.results.is_dir():
            raise Problem(f"--results {self.results}: there is no such folder; run in a checkout")
        from errands.commands.progress import activity
        from errands.evaluation.report import write_report
        from errands.evaluation.tidy import write_tidy
        from errands.files import DamagedFile

        try:
            with activity("drawing tables and figures"):
                pages = write_report(self.results, self.out)
                table = write_tidy(self.results, self.out)
        except DamagedFile as error:
            raise Problem(str(error)) from None
        for path in (*pages, table):
            print(f"wrote {path}")
        return 0
