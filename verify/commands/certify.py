"""`repot certify`: whether a change is a move and nothing else, told without any plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from verify.commands.options import Repo, conclude, reporting
from verify.report import console
from verify.report.console import Output
from verify.report.report import Report

HELP = """Judge whether BASE..TARGET is a move and nothing else; no plan is needed.

Every statement of the target must have been in the base and the other way round, and every name
in them must still mean the same definition. What is left is listed with file and line: that is
what a reviewer reads. The range is one change; nothing in it is run.

\b
Examples:
  repot certify main..HEAD
  repot certify HEAD^..HEAD --json certificate.json
  repot certify e1955bf57ab3..7e7e3820c26b --repo ../sglang.git

\b
Exit codes:
  0  CERTIFIED: nothing but the move
  1  RESIDUAL: what is not part of the move is listed
  2  UNKNOWN: dynamic code or newer syntax keeps it from being judged; or a refusal
  3  a fault of Repot
"""


@reporting
def certify(
    commits: Annotated[str, typer.Argument(metavar="BASE..TARGET", help="The range of commits.")],
    repo: Repo = Path(),
    *,
    shown: Output,
) -> None:
    """Read the command line, then certify."""
    conclude("certify", shown, lambda: _run(commits, repo))


def _run(commits: str, repo: Path) -> Report:
    from verify.history.ranges import open_range, parse_range
    from verify.proofs.certify import certify_commits
    from verify.reports.certify import certified, residual_texts

    base, target = open_range(repo, *parse_range(commits))
    with console.progress("certifying"):
        certificate = certify_commits(base, target)
        texts = residual_texts(base, target, certificate)
    return certified(base.commit, target.commit, certificate, texts)
