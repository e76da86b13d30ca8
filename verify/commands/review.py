"""`repot review`: everything that can be told of a change, and only the lines to read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from verify.commands.options import (
    RANGES,
    Commits,
    Repo,
    Staged,
    conclude,
    reporting,
    require_one,
)
from verify.report.console import Output
from verify.report.progress import Working
from verify.report.report import Report

HELP = f"""Review BASE..TARGET: the verdict, what moved, and only the lines to read.

The plan behind the change is found and replayed, the change is certified, and its ancestry is
measured. The range is one change; nothing in it is run. --html writes a page to read it by.

{RANGES}

\b
Examples:
  repot review                               what is not committed yet
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
    context: typer.Context,
    commits: Commits = None,
    *,
    staged: Staged = False,
    plan: Annotated[
        Path | None,
        typer.Option("--plan", metavar="PLAN", help="Replay this plan instead of finding one."),
    ] = None,
    repo: Repo = Path(),
    shown: Output,
) -> None:
    """Read the command line, then review."""
    require_one(commits, staged=staged, context=context)
    conclude("review", shown, lambda telling: _run(commits, repo, plan, telling, staged=staged))


def _run(
    commits: str | None, repo: Path, path: Path | None, telling: Working, *, staged: bool
) -> Report:
    from transforms.reading.load import load_plan
    from verify.history.revisions import opened
    from verify.reports.ranged import ranged
    from verify.reports.review import reviewed
    from verify.review.gather import review as judge

    plan = None if path is None else load_plan(path)
    telling.step("reading the change", 1, 5)
    with opened(repo, commits, staged=staged, say=telling.files) as change:
        found = judge(change.base, change.target, plan, say=telling.step)
        telling.step("wording", 5, 5)
        found = replace(found, target=change.target_name)
        return ranged(reviewed(found, change.base, change.target, change.home), change)
