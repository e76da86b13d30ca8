"""`repot infer`: the plan behind a change that came without one."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from verify.commands.options import (
    RANGES,
    Commits,
    Repo,
    Staged,
    UsageError,
    conclude,
    reporting,
    require_one,
)
from verify.report import console
from verify.report.console import STDOUT, Output
from verify.report.progress import Working
from verify.report.report import Report

HELP = f"""Find the plan behind BASE..TARGET.

Which names moved is read from the two commits; what a plan can say is tried against the target, and
what no operation explains becomes authored text, counted. The plan that is found is replayed.

Without -o the plan is printed, and what there is to say of it goes to stderr.

{RANGES}

\b
Examples:
  repot infer > split.toml                   of what is not committed yet
  repot infer main..HEAD > split.toml
  repot infer main..HEAD -o split.toml
  repot infer e1955bf57ab3..7e7e3820c26b --repo ../sglang.git

\b
Exit codes:
  0  the plan reproduces the change exactly, and moves what moved
  1  it does not: what is left over, or only written out, is listed
  2  no plan was found: nothing moved, or a refusal
  3  a fault of Repot
"""


@reporting
def infer(
    context: typer.Context,
    commits: Commits = None,
    *,
    staged: Staged = False,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="PLAN", help="Write the plan there; - is stdout."),
    ] = None,
    title: Annotated[str, typer.Option("--title", help="The plan's title.")] = "",
    repo: Repo = Path(),
    shown: Output,
) -> None:
    """Read the command line, then infer."""
    require_one(commits, staged=staged, context=context)
    if output == STDOUT and shown.stdout is not None:
        message = f"--output and --{shown.stdout} both print to stdout: give one of them a file."
        raise UsageError(message, context)
    if output is None and shown.stdout is None:
        output = STDOUT
    shown = replace(shown, aside=output == STDOUT)
    conclude(
        "infer",
        shown,
        lambda telling: _run(commits, repo, output, title, telling, staged=staged),
    )


def _run(
    commits: str | None,
    repo: Path,
    output: str | None,
    title: str,
    telling: Working,
    *,
    staged: bool,
) -> Report:
    from verify.history.revisions import opened
    from verify.inference.infer import infer as find
    from verify.inference.infer import write_plan
    from verify.reports.infer import inferred
    from verify.reports.ranged import ranged

    telling.step("reading the change", 1, 2)
    with opened(repo, commits, staged=staged, say=telling.files) as change:
        telling.step("finding the plan", 2, 2)
        found = find(change.base, change.target, title)
        telling.end()
        if output == STDOUT:
            console.print_exactly(found.text, sys.stdout)
        elif output is not None:
            write_plan(found.text, Path(output))
        report = inferred(change.base.commit, change.target_name, found, output)
        return ranged(report, change)
