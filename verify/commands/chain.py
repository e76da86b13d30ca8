"""`repot chain`: every commit of a range, each judged by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from verify.commands.options import Repo, conclude, reporting
from verify.report import console
from verify.report.console import Output
from verify.report.report import Report

HELP = """Judge every commit of BASE..HEAD.

A commit with a `Mechanical-Move: PLAN` trailer is replayed against its own parent, with the plan
read from that parent, then certified and blamed. One without is certified by itself, and listed
for human eyes if it is no pure move. Nothing from the range is run.

\b
Examples:
  repot chain main..HEAD
  repot chain origin/main..HEAD --strict --jobs 4

\b
Exit codes:
  0  every claimed move is proved; commits that claim none are listed
  1  red: a claimed move is not proved, or a trailer is faulty; with --strict also
     a commit for human eyes
  2  it could not be judged: a refusal, missing history
  3  a fault of Repot
"""


@reporting
def chain(
    commits: Annotated[str, typer.Argument(metavar="BASE..HEAD", help="The range of commits.")],
    repo: Repo = Path(),
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=0, metavar="N", help="Processes; 0 is one a core.")
    ] = 0,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail on commits that are for human eyes, too.")
    ] = False,
    cache: Annotated[
        bool, typer.Option("--cache/--no-cache", help="Keep verdicts in the user's cache folder.")
    ] = True,
    *,
    shown: Output,
) -> None:
    """Read the command line, then judge."""
    conclude("chain", shown, lambda: _run(commits, repo, jobs, strict=strict, cache=cache))


def _run(commits: str, repo: Path, jobs: int, *, strict: bool, cache: bool) -> Report:
    from verify.chain.cache import VerdictCache
    from verify.history.ranges import parse_range
    from verify.reports.chain import judge_range

    base, head = parse_range(commits)
    with console.progress("judging"):
        kept = VerdictCache() if cache else None
        return judge_range(repo, base, head, jobs=jobs, strict=strict, cache=kept)
