"""`repot series`: every claimed move of a history, replayed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from verify.commands.options import Repo, conclude, reporting
from verify.report import console
from verify.report.console import Output
from verify.report.report import Report

HELP = """Replay every mechanical move of this history.

The commits are found by their `Mechanical-Move: PLAN` trailers. Each is replayed against its own
parent, with the plan read from that parent, then certified and blamed.

\b
Examples:
  repot series
  repot series --at v1.0 --repo ../pool_host --verbose

\b
Exit codes:
  0  every claimed move is proved
  1  red: a claimed move is not proved, or a trailer is faulty
  2  it could not be judged: a refusal, a shallow clone, no move at all
  3  a fault of Repot
"""


@reporting
def series(
    at: Annotated[
        str, typer.Option("--at", metavar="REV", help="The commit that the series leads up to.")
    ] = "HEAD",
    repo: Repo = Path(),
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=0, metavar="N", help="Processes; 0 is one a core.")
    ] = 0,
    *,
    shown: Output,
) -> None:
    """Read the command line, then replay."""
    conclude("series", shown, lambda: _run(at, repo, jobs))


def _run(at: str, repo: Path, jobs: int) -> Report:
    from verify.chain.series import judge_series
    from verify.reports.series import in_series

    with console.progress("replaying"):
        links = judge_series(repo, at, jobs=jobs)
    return in_series(at, links)
