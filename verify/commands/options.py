"""Options that every subcommand takes, worded once, and the frame that each one runs in."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import wraps
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from transforms.errors import Refusal
from verify.commands.pythons import command_line, with_python
from verify.report.console import INTERRUPTED, STDOUT, Output, print_text
from verify.report.forms import render
from verify.report.progress import Working, working
from verify.report.report import Report, faulted, refused

Repo = Annotated[
    Path,
    typer.Option(
        "--repo",
        metavar="DIR",
        help="The repository, bare ones too; the current directory by default.",
        show_default=False,
    ),
]

# What certify, review and infer take: `verify.history.revisions` reads it.
Commits = Annotated[
    str | None,
    typer.Argument(
        metavar="[RANGE]",
        help="BASE..TARGET, BASE...TARGET or one commit; the uncommitted change by default.",
        show_default=False,
    ),
]
Staged = Annotated[
    bool, typer.Option("--staged", help="Judge the index against HEAD, not the working tree.")
]
RANGES = """\b
RANGE is one of:
  BASE..TARGET   the change from one commit to another; where BASE has moved on since,
                 from where the two parted, which is said
  BASE...TARGET  the change since the two parted
  COMMIT         its parent to it; a merge is judged against its first parent
  nothing        what is not committed yet, as git would store it, against HEAD"""


FormattersTable = Annotated[
    Path | None,
    typer.Option(
        "--formatters-table",
        metavar="FILE",
        help="A table of formatters' versions beside Repot's own, for newer ones.",
        show_default=False,
    ),
]


def with_table(table: Path | None) -> AbstractContextManager[None]:
    """Give the context in which the versions of a table that the user named are known, too."""
    if table is None:
        return nullcontext()
    from transforms.formatters.versions import beside

    return beside(table)


class UsageError(typer.TyperException):
    """Options that do not go together; the command's help is named to the user."""

    def __init__(self, message: str, context: typer.Context) -> None:
        super().__init__(message)
        self.ctx = context


def require_one(commits: str | None, *, staged: bool, context: typer.Context) -> None:
    """Refuse a range beside `--staged`, which is one by itself."""
    if staged and commits is not None:
        raise UsageError("--staged judges the index against HEAD: name no commits.", context)


def reporting(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of every report, in place of its parameter `shown`, an `Output`.

    Typer reads options from a signature; the one made here is the command's own, then the options
    of `_output`: so they are worded once.
    """
    own = inspect.signature(command, eval_str=True)
    options = inspect.signature(_output, eval_str=True).parameters
    parameters = {name: p for name, p in own.parameters.items() if name != "shown"}

    @wraps(command)
    def run(**given: Any) -> None:
        shown = _output(**{name: given[name] for name in options})
        command(**{name: given[name] for name in parameters}, shown=shown)

    together = {**parameters, **options}.values()
    by_keyword = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in together]
    run.__signature__ = own.replace(parameters=by_keyword)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in by_keyword}
    return run


def _output(
    context: typer.Context,
    json: Annotated[
        str | None,
        typer.Option("--json", metavar="FILE", help="Write the report as JSON; - is stdout."),
    ] = None,
    markdown: Annotated[
        str | None,
        typer.Option(
            "--markdown", metavar="FILE", help="The same as Markdown, as GitHub and GitLab show it."
        ),
    ] = None,
    html: Annotated[
        str | None,
        typer.Option("--html", metavar="FILE", help="The same as one self-contained page."),
    ] = None,
    github: Annotated[
        str | None,
        typer.Option(
            "--github", metavar="FILE", help="The places to read as GitHub's workflow commands."
        ),
    ] = None,
    gitlab: Annotated[
        str | None,
        typer.Option(
            "--gitlab", metavar="FILE", help="The places to read as GitLab's code quality report."
        ),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Add the seconds that each phase took.")
    ] = False,
    traceback: Annotated[
        bool,
        typer.Option(
            "--traceback",
            envvar="REPOT_TRACEBACK",
            help="Print Python's traceback when Repot itself fails.",
        ),
    ] = False,
) -> Output:
    """Gather the options. Two reports never share a file, nor stdout."""
    given = {"json": json, "markdown": markdown, "html": html, "github": github, "gitlab": gitlab}
    files = {name: file for name, file in given.items() if file is not None}
    for (first, one), (second, other) in combinations(files.items(), 2):
        if one == other:
            where = "print to stdout" if one == STDOUT else "write the same file"
            raise UsageError(
                f"--{first} and --{second} both {where}: give each a file of its own.", context
            )
    return Output(files, verbose=verbose, traceback=traceback, render=render)


def _timed(report: Report | None, telling: Working) -> Report | None:
    """Add what each phase took, before what a report knows of its own."""
    if report is None:
        return None
    return replace(report, timings=(*telling.seconds, *report.timings))


def conclude(command: str, output: Output, work: Callable[[Working], Report | None]) -> NoReturn:
    """Do the work of a command, show its report, and leave with the report's exit code.

    `work` is given what tells whoever waits, and times the phases. It gives `None` when it has
    printed its result by itself, which ends with 0.
    """
    report: Report | None
    try:
        output.check()
        with working() as telling:
            report = work(telling)
        report = _timed(report, telling)
    except Refusal as refusal:
        report = refused(command, with_python(refusal, command_line(command)))
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
        output.without_files().show(unwritable)
        raise typer.Exit(unwritable.exit_code) from None
    raise typer.Exit(report.exit_code)
