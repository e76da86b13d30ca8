"""`repot certify`: whether a change is a move and nothing else, told without any plan."""

from __future__ import annotations

from pathlib import Path

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

HELP = f"""Judge whether BASE..TARGET is a move and nothing else; no plan is needed.

Every statement of the target must have been in the base and the other way round, and every name
in them must still mean the same definition. What is left is listed with file and line: that is
what a reviewer reads. The range is one change; nothing in it is run.

{RANGES}

\b
Examples:
  repot certify                              what is not committed yet
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
    context: typer.Context,
    commits: Commits = None,
    *,
    staged: Staged = False,
    repo: Repo = Path(),
    shown: Output,
) -> None:
    """Read the command line, then certify."""
    require_one(commits, staged=staged, context=context)
    conclude("certify", shown, lambda telling: _run(commits, repo, telling, staged=staged))


def _run(commits: str | None, repo: Path, telling: Working, *, staged: bool) -> Report:
    from verify.history.revisions import opened
    from verify.proofs.certify import certify_commits
    from verify.reports.certify import certified, residual_texts
    from verify.reports.ranged import ranged

    telling.step("reading the change", 1, 3)
    with opened(repo, commits, staged=staged, say=telling.files) as change:
        telling.step("certifying", 2, 3)
        certificate = certify_commits(change.base, change.target)
        telling.step("wording", 3, 3)
        texts = residual_texts(change.base, change.target, certificate)
        report = certified(change.base.commit, change.target_name, certificate, texts)
        return ranged(report, change)
