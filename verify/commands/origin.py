"""`repot origin`: git's blame seen through moves."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from verify.commands.options import Repo, UsageError, conclude, reporting
from verify.report import console
from verify.report.console import Output
from verify.report.progress import Working
from verify.report.report import Report

HELP = """Show the commit and author that each line of FILE comes from, seen through moves.

It is git blame that follows code into the modules that a split made: through each commit with a
`Mechanical-Move: PLAN` trailer whose plan reproduces it exactly, by that plan, and as -C does
elsewhere. A commit that claims a move and is not reproduced is marked ! and followed no further.
Verdicts of chain and series are used; what is found is kept, so that asking again is quick.

\b
Examples:
  repot origin shop/money.py              every line, as git blame has it
  repot origin shop/money.py:40-60        some of them
  repot origin shop/money.py v1.0         as of a tag
  repot origin shop/money.py:12 --json -  one line, for a program

\b
Exit codes:
  0  the table is printed, also where a line is marked !
  2  a refusal: no such file, line or commit; a file without lines; missing history
  3  a fault of Repot
"""


@reporting
def origin(
    context: typer.Context,
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="The file, or lines: FILE:10 or FILE:10-20."),
    ],
    rev: Annotated[
        str, typer.Argument(metavar="[REV]", help="The commit that has it.", show_default=True)
    ] = "HEAD",
    porcelain: Annotated[
        bool, typer.Option("--porcelain", help="Print what git blame --porcelain prints.")
    ] = False,
    repo: Repo = Path(),
    cache: Annotated[
        bool,
        typer.Option("--cache/--no-cache", help="Keep what is found in the user's cache folder."),
    ] = True,
    *,
    shown: Output,
) -> None:
    """Read the command line, then trace."""
    if porcelain and shown.stdout:
        option = f"--{shown.stdout}"
        raise UsageError(f"--porcelain and {option} - both print to stdout.", context)
    aside = replace(shown, aside=True)

    def work(telling: Working) -> Report | None:
        return _run(file, rev, repo, aside, telling, porcelain=porcelain, cache=cache)

    conclude("origin", aside, work)


def _run(
    file: str,
    rev: str,
    repo: Path,
    shown: Output,
    telling: Working,
    *,
    porcelain: bool,
    cache: bool,
) -> Report | None:
    from verify.chain.cache import VerdictCache
    from verify.origin import shown as printing
    from verify.origin.asked import asked
    from verify.origin.trace import trace
    from verify.reports.origin import originated, says_more

    telling.step("tracing")
    (traced,) = trace(
        asked(repo, [file], rev),
        verdicts=VerdictCache() if cache else None,
        say=lambda done, of: telling.count(done, of, "lines"),
    )
    telling.hush()
    if not shown.stdout:
        if porcelain:
            console.print_rows([(b"", printing.porcelain(traced))], sys.stdout)
        else:
            rows = printing.table(traced, traced.asked.head.repository)
            console.print_rows([(head + b" ", text + b"\n") for head, text in rows], sys.stdout)
    if shown.verbose or says_more(traced):
        return originated(traced)
    if shown.files:
        shown.write(originated(traced))
    return None
