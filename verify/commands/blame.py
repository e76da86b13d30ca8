"""`repot blame`: how much of the moved code git still traces to where it came from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from verify.commands.options import Repo, conclude, reporting
from verify.report.console import Output
from verify.report.progress import Working
from verify.report.report import Report

HELP = """Measure the ancestry of the code that BASE..TARGET moved.

Counts the lines of each file that received moved names and that git blame -C -C -C traces past
the move, and, more strictly, those traced to the files they left. Every other line is explained.
The range is squashed to one change; git runs in a repository of Repot's own.

\b
Examples:
  repot blame main..HEAD
  repot blame e1955bf57ab3..7e7e3820c26b --repo ../sglang.git

\b
Exit codes:
  0  measured
  2  it could not be measured: a refusal, missing history
  3  a fault of Repot
"""


@reporting
def blame(
    commits: Annotated[str, typer.Argument(metavar="BASE..TARGET", help="The range of commits.")],
    repo: Repo = Path(),
    *,
    shown: Output,
) -> None:
    """Read the command line, then measure."""
    conclude("blame", shown, lambda telling: _run(commits, repo, telling))


def _run(commits: str, repo: Path, telling: Working) -> Report:
    from verify.history.ranges import open_range
    from verify.history.revisions import literal_range
    from verify.proofs.certify import certify_commits
    from verify.proofs.moved_names import measure_move
    from verify.reports.blame import blamed

    telling.step("reading the change", 1, 3)
    base, target = open_range(repo, *literal_range(repo, commits))
    telling.step("blaming", 2, 3)

    ancestry = measure_move(base, target, lambda: certify_commits(base, target))
    telling.step("wording", 3, 3)
    return blamed(base.commit, target.commit, ancestry)
