"""`repot plan`: a first plan for a module, from what hangs together in it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from verify.commands.options import Repo, UsageError, conclude, reporting
from verify.report import console
from verify.report.console import Output
from verify.report.progress import Working
from verify.report.report import Report

HELP = """Write a first plan for MODULE, a dotted name or a path.

It lists the module's definitions with their sizes, and who uses whom. What hangs together stands
below as destinations, commented out, each with the import cycle that its cut would make. Nothing is
moved: which of them leave, and where to, is for you to say.

\b
Examples:
  repot plan shop.orders -o split.toml
  repot plan src/shop/orders.py
  repot plan sglang.srt.mem_cache.memory_pool_host --repo ../sglang.git --at v0.5.13

\b
Exit codes:
  0  the plan is printed, or written
  2  a refusal: there is no such module, or it does not parse
  3  a fault of Repot
"""


@reporting
def plan(
    context: typer.Context,
    module: Annotated[str, typer.Argument(metavar="MODULE", help="The module, by name or path.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="PLAN", help="Write the plan to this file."),
    ] = None,
    repo: Repo = Path(),
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="REV", help="A commit, instead of the working tree."),
    ] = None,
    *,
    shown: Output,
) -> None:
    """Read the command line, then look at the module."""
    if output is None and shown.stdout:
        option = f"--{shown.stdout}"
        message = f"The plan and {option} - both print to stdout: give one of them a file."
        raise UsageError(message, context)
    conclude("plan", shown, lambda telling: _run(module, repo, at, output, shown, telling))


def _run(
    name: str,
    repo: Path,
    at: str | None,
    output: Path | None,
    shown: Output,
    telling: Working,
) -> Report | None:
    from transforms.outline.text import outlined
    from transforms.tree import open_tree
    from verify.inference.infer import write_plan
    from verify.reports.plan import planned

    telling.step("reading")
    found = outlined(open_tree(repo, at), name)
    report = planned(found, None if output is None else str(output))
    if output is not None:
        write_plan(found.text, output)
        return report
    console.print_text(found.text, sys.stdout)
    shown.write(report)
    return None
