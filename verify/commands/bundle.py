"""`repot bundle`: a claimed move as one file that anybody can run, and the check of such a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from verify.commands.options import Repo, UsageError, conclude, reporting
from verify.report.console import Output
from verify.report.progress import Working
from verify.report.report import Report

HELP = """Write one Python file that checks a move in any clone, or check such a file.

The file holds the plan in clear, the ids of both commits and Repot's own sources. It needs git and
CPython, and nothing installed. The plan is replayed first: a file that would not say PASS is not
written. With --check, a file is parsed and not run; all but its plan must be, byte for byte, what
this Repot writes. An engine that is not as it was installed is refused either way.

\b
Examples:
  repot bundle split.toml --base main --target HEAD -o check_split.py
  repot bundle --check check_split.py

\b
Exit codes:
  0  written; or, with --check, the same as this Repot writes
  1  the plan does not reproduce the target; or the file differs, and where is said
  2  it could not be judged: a refusal, missing history, an unreadable plan, no bundle
  3  a fault of Repot
"""


@reporting
def bundle(
    context: typer.Context,
    plan: Annotated[Path | None, typer.Argument(metavar="PLAN", help="The plan.")] = None,
    base: Annotated[
        str | None, typer.Option("--base", metavar="REV", help="The commit before the move.")
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", metavar="REV", help="The commit after it.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE.py", help="The file to write.")
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option("--check", metavar="FILE.py", help="Check this file instead of writing one."),
    ] = None,
    repo: Repo = Path(),
    *,
    shown: Output,
) -> None:
    """Read the command line, then write or check."""
    if check is not None:
        if any(given is not None for given in (plan, base, target, output)):
            raise UsageError("--check takes nothing but the file.", context)
        conclude("bundle", shown, lambda telling: _check(check, telling))
    if plan is None or base is None or target is None or output is None:
        raise UsageError("Give PLAN, --base, --target and -o, or --check FILE.py.", context)
    conclude("bundle", shown, lambda telling: _write(plan, repo, base, target, output, telling))


def _check(path: Path, telling: Working) -> Report:
    from verify.bundle.check import check
    from verify.bundle.installed import require_installed
    from verify.bundle.reports import checked

    telling.step("checking the engine", 1, 2)
    require_installed()
    telling.step("checking the file", 2, 2)
    return checked(path, check(path))


def _write(
    path: Path, repo: Path, base: str, target: str, output: Path, telling: Working
) -> Report:
    from transforms.reading.load import parse_plan, plan_text
    from verify.bundle.build import Subject, build, write
    from verify.bundle.installed import require_installed
    from verify.bundle.reports import written
    from verify.history.revisions import literal_commits
    from verify.proofs.prove import formatters_of
    from verify.proofs.replay import replay

    telling.step("checking the engine", 1, 3)
    require_installed()
    text = plan_text(path)
    plan = parse_plan(text.encode(), str(path))
    telling.step("replaying", 2, 3)
    before, after = literal_commits(repo, base, target)
    formatters = formatters_of(plan.formatters, before)
    done = replay(plan, before, after, formatters)
    telling.step("writing", 3, 3)
    data = build(Subject(text, before.commit, after.commit, formatters.installs))
    if done.reproduces:
        write(data, output)
    return written(output, path, plan.title, data, done)
