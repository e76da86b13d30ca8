"""`repot series`: every claimed move of a history, replayed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from verify.commands.options import Repo, conclude, reporting
from verify.report.console import Output
from verify.report.progress import Working
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
  1  red: a claimed move is not proved, or a trailer is faulty; with --strict also
     a proved move that breaks a reader
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
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail on proved moves that break a reader, too.")
    ] = False,
    *,
    shown: Output,
) -> None:
    """Read the command line, then replay."""
    conclude("series", shown, lambda telling: _run(at, repo, jobs, telling, strict=strict))


def _run(at: str, repo: Path, jobs: int, telling: Working, *, strict: bool) -> Report:
    from verify.chain.series import judge_series
    from verify.reports.series import in_series

    telling.step("replaying")
    links = judge_series(repo, at, jobs=jobs, say=telling.commits)
    return in_series(at, links, strict=strict)
