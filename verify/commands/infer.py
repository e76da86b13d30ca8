"""`repot infer`: the plan behind a change that came without one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from verify.commands.options import Repo, conclude, reporting
from verify.report import console
from verify.report.console import Output
from verify.report.report import Report

HELP = """Find the plan behind BASE..TARGET.

Which names moved is read from the two commits; what a plan can say is tried against the target, and
what no operation explains becomes authored text, counted. The plan that is found is replayed.

\b
Examples:
  repot infer main..HEAD -o split.toml
  repot infer e1955bf57ab3..7e7e3820c26b --repo ../sglang.git

\b
Exit codes:
  0  the plan reproduces the change exactly
  1  it does not: what is left over is listed
  2  no plan was found: nothing moved, or a refusal
  3  a fault of Repot
"""


@reporting
def infer(
    commits: Annotated[str, typer.Argument(metavar="BASE..TARGET", help="The range of commits.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="PLAN", help="Write the plan to this file."),
    ] = None,
    title: Annotated[str, typer.Option("--title", help="The plan's title.")] = "",
    repo: Repo = Path(),
    *,
    shown: Output,
) -> None:
    """Read the command line, then infer."""
    conclude("infer", shown, lambda: _run(commits, repo, output, title))


def _run(commits: str, repo: Path, output: Path | None, title: str) -> Report:
    from verify.history.ranges import open_range, parse_range
    from verify.inference.infer import infer as find
    from verify.inference.infer import write_plan
    from verify.reports.infer import inferred

    base, target = open_range(repo, *parse_range(commits))
    with console.progress("inferring"):
        found = find(base, target, title)
    if output is not None:
        write_plan(found.text, output)
    return inferred(base.commit, target.commit, found, output)
