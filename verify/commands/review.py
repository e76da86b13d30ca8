"""`repot review`: everything that can be told of a change, and only the lines to read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from verify.commands.options import Repo, conclude, reporting
from verify.report import console
from verify.report.console import Output
from verify.report.report import Report

HELP = """Review BASE..TARGET: the verdict, what moved, and only the lines to read.

The plan behind the change is found and replayed, the change is certified, and its ancestry is
measured. The range is one change; nothing in it is run. --html writes a page to read it by.

\b
Examples:
  repot review main..HEAD
  repot review main..HEAD --html review.html
  repot review e1955bf57ab3..7e7e3820c26b --repo ../sglang.git

\b
Exit codes:
  0  a certified move, and a plan gives every byte of it
  1  there are lines to read: they are listed; or it is no move at all
  2  it could not be judged: dynamic code, newer syntax, no plan for a certified move, a refusal
  3  a fault of Repot
"""


@reporting
def review(
    commits: Annotated[str, typer.Argument(metavar="BASE..TARGET", help="The range of commits.")],
    plan: Annotated[
        Path | None,
        typer.Option("--plan", metavar="PLAN", help="Replay this plan instead of finding one."),
    ] = None,
    repo: Repo = Path(),
    *,
    shown: Output,
) -> None:
    """Read the command line, then review."""
    conclude("review", shown, lambda: _run(commits, repo, plan))


def _run(commits: str, repo: Path, path: Path | None) -> Report:
    from transforms.reading.load import load_plan
    from verify.history.ranges import open_range, parse_range
    from verify.reports.review import reviewed
    from verify.review.gather import review as judge

    base, target = open_range(repo, *parse_range(commits))
    plan = None if path is None else load_plan(path)
    with console.progress("reviewing"):
        return reviewed(judge(base, target, plan), base, target)
