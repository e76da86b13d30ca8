"""`repot chain`: every commit of a range, each judged by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from verify.chain.how import How
from verify.commands.options import Repo, conclude, reporting
from verify.report.console import Output
from verify.report.progress import Working
from verify.report.report import Report

HELP = """Judge every commit of BASE..HEAD.

A commit with a `Mechanical-Move: PLAN` trailer is replayed against its own parent, with the plan
read from that parent, then certified and blamed. One without is looked at for five seconds: how
much of it moved, and what is to be read. Nothing from the range is run.

\b
Examples:
  repot chain main..HEAD
  repot chain origin/main..HEAD --strict --jobs 4
  repot chain origin/main..HEAD --declare    each says `Mechanical-Move: PLAN` or `none`

\b
Exit codes:
  0  every claimed move is proved; commits that claim none are listed
  1  red: a claimed move is not proved, or a trailer is faulty or nearly one; with
     --strict also a commit for human eyes, or a proved move that breaks a reader;
     with --declare also a commit that says nothing, or says none of a move
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
    declare: Annotated[
        bool,
        typer.Option("--declare", help="Each commit must name its plan, or say `none`."),
    ] = False,
    cache: Annotated[
        bool, typer.Option("--cache/--no-cache", help="Keep verdicts in the user's cache folder.")
    ] = True,
    *,
    shown: Output,
) -> None:
    """Read the command line, then judge."""
    how = How(jobs=jobs, strict=strict, declare=declare)
    conclude("chain", shown, lambda telling: _run(commits, repo, how, telling, cache=cache))


def _run(commits: str, repo: Path, how: How, telling: Working, *, cache: bool) -> Report:
    from verify.chain.cache import VerdictCache
    from verify.history.revisions import literal_range
    from verify.reports.chain import judge_range

    telling.step("judging")
    base, head = literal_range(repo, commits)
    kept = VerdictCache() if cache else None
    return judge_range(repo, base, head, how, cache=kept, say=telling.commits)
