"""`repot verify`: whether a plan, applied to the base, gives the target's bytes and modes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from verify.commands.options import FormattersTable, Repo, conclude, reporting, with_table
from verify.report.console import Output
from verify.report.progress import Working
from verify.report.report import Report

HELP = """Replay PLAN on the base commit and compare every path with the target.

Both commits are read from git; nothing is checked out, run or written. A target of several
commits is judged as one change. The last line says PASS only if every byte and mode is equal.

\b
Examples:
  repot verify split.toml --base main --target HEAD
  repot verify split.toml --base e1955bf57ab3 --target 7e7e3820c26b --repo ../sglang.git

\b
Exit codes:
  0  PASS: transform reproduces the commit exactly.
  1  it differs: every hunk is listed, with the operation of the plan it belongs to
  2  it could not be judged: a refusal, missing history, an unreadable plan
  3  a fault of Repot
"""


@reporting
def verify(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="The plan, a TOML file.")],
    base: Annotated[str, typer.Option("--base", metavar="REV", help="The commit before the move.")],
    target: Annotated[str, typer.Option("--target", metavar="REV", help="The commit after it.")],
    repo: Repo = Path(),
    formatters_table: FormattersTable = None,
    *,
    shown: Output,
) -> None:
    """Read the command line, then replay."""
    conclude(
        "verify", shown, lambda telling: _run(plan, repo, base, target, telling, formatters_table)
    )


def _run(
    path: Path, repo: Path, base: str, target: str, telling: Working, table: Path | None
) -> Report:
    from transforms.reading.load import load_plan
    from verify.history.revisions import literal_commits
    from verify.proofs.prove import formatters_of
    from verify.proofs.replay import replay
    from verify.reports.verify import replayed

    plan = load_plan(path)
    telling.step("reading the commits", 1, 2)
    before, after = literal_commits(repo, base, target)
    telling.step("replaying", 2, 2)
    with with_table(table):
        done = replay(plan, before, after, formatters_of(plan.formatters, before))
    return replayed(str(path), plan.title, done)
