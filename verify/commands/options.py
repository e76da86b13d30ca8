"""Options that every subcommand takes, worded once, and the frame that each one runs in."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from transforms.errors import Refusal
from verify.console import INTERRUPTED, Output, print_text
from verify.report import Report, faulted, refused

Repo = Annotated[
    Path,
    typer.Option(
        "--repo",
        metavar="DIR",
        help="The repository, bare ones too; the current directory by default.",
        show_default=False,
    ),
]
Json = Annotated[
    str | None,
    typer.Option("--json", metavar="FILE", help="Write the report as JSON; - is stdout."),
]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Add the seconds that each phase took.")
]
Traceback = Annotated[
    bool,
    typer.Option(
        "--traceback",
        envvar="REPOT_TRACEBACK",
        help="Print Python's traceback when Repot itself fails.",
    ),
]


class UsageError(typer.TyperException):
    """Options that do not go together; the command's help is named to the user."""

    def __init__(self, message: str, context: typer.Context) -> None:
        super().__init__(message)
        self.ctx = context


def conclude(command: str, output: Output, work: Callable[[], Report | None]) -> NoReturn:
    """Do the work of a command, show its report, and leave with the report's exit code.

    `work` gives `None` when it has printed its result by itself, which ends with 0.
    """
    report: Report | None
    try:
        output.check()
        report = work()
    except Refusal as refusal:
        report = refused(command, refusal)
    except (typer.TyperException, typer.Exit):
        raise
    except KeyboardInterrupt as interrupt:
        print_text(f"Interrupted: {str(interrupt) or 'nothing was written'}.\n", sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    except Exception as error:  # the one place where a fault of any kind becomes a report
        report = faulted(command, error)
        output.show_traceback(error)
    if report is None:
        raise typer.Exit(0)
    try:
        output.show(report)
    except Refusal as refusal:  # only the report's own file, and the work is done
        unwritable = refused(command, refusal, untouched=False)
        replace(output, json=None).show(unwritable)
        raise typer.Exit(unwritable.exit_code) from None
    raise typer.Exit(report.exit_code)
