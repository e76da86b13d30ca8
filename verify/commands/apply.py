"""`repot apply`: make the move that a plan describes, or show what it would be."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from verify.commands.options import (
    FormattersTable,
    Repo,
    UsageError,
    conclude,
    reporting,
    with_table,
)
from verify.report import console
from verify.report.console import Output
from verify.report.escape import visible
from verify.report.progress import Working
from verify.report.report import Report, counted

if TYPE_CHECKING:
    from transforms.reading.model import Plan
    from transforms.result.changes import ChangeSet
    from transforms.tree import Tree
    from verify.reports.apply import Applied

HELP = """Make the move that PLAN describes.

Without --write nothing is written: the summary says what the move would change, and which lines
of it the plan brings literally. With --write all files are written, or none: files with
uncommitted changes are refused by name, and an interrupted run is finished or undone by the next.
What is about to be written is judged first: what would break, or what cannot be told, is not
written until it is mended or the plan accepts it ([[accept]]).

\b
Examples:
  repot apply split.toml                      what would change here
  repot apply split.toml --write              make the move
  repot apply --undo split.toml               take it back, while its files are as it wrote them
  repot apply split.toml --at HEAD~3 --diff   the move on another commit, as a patch
  repot apply split.toml --check              exit code 1 if it would change anything

\b
Exit codes:
  0  done, or nothing is wrong
  1  --check, and the plan would change something; --write, and behaviour would differ
  2  refused: the message says where, why and what to do next; --write, and it cannot be told
  3  a fault of Repot
"""


class Formatters(str, Enum):
    """Whose formatters run on what the move touches."""

    REPOSITORY = "repository"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asked for; `mode` is `preview`, `check`, `diff` or `write`."""

    plan: Path
    repo: Path
    at: str | None
    mode: str
    formatters: str | None
    table: Path | None = None
    certify: bool = True
    recover: bool = True
    clean: bool = False


@reporting
def apply(
    context: typer.Context,
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="The plan, a TOML file.")],
    repo: Repo = Path(),
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="REV", help="A commit, instead of the working tree."),
    ] = None,
    diff: Annotated[bool, typer.Option("--diff", help="Print the move as a unified diff.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Exit 1 if the plan would change anything.")
    ] = False,
    write: Annotated[bool, typer.Option("--write", help="Write the move.")] = False,
    formatters: Annotated[
        Formatters | None,
        typer.Option(
            "--formatters", help="The repository's own, or none; as the plan says by default."
        ),
    ] = None,
    formatters_table: FormattersTable = None,
    undo: Annotated[
        bool,
        typer.Option("--undo", help="Take back what --write wrote last: all or nothing."),
    ] = False,
    no_certify: Annotated[
        bool, typer.Option("--no-certify", help="Do not judge the result; it cannot be written.")
    ] = False,
    no_recover: Annotated[
        bool,
        typer.Option("--no-recover", help="Refuse where a run was stopped, and leave it as it is."),
    ] = False,
    clean: Annotated[
        bool,
        typer.Option("--clean", help="With --write: refuse where anything is not committed."),
    ] = False,
    *,
    shown: Output,
) -> None:
    """Read the command line, then apply."""
    request = Request(
        plan=plan,
        repo=repo,
        at=at,
        mode=_mode(context, diff=diff, check=check, write=write, undo=undo),
        formatters=formatters.value if formatters else None,
        certify=not no_certify,
        table=formatters_table,
        recover=not no_recover,
        clean=clean,
    )
    if clean and not write:
        raise UsageError("--clean is about what --write may overwrite: give both.", context)
    if write and no_certify:
        raise UsageError(
            "--write writes what was judged, and --no-certify judges nothing: give one.", context
        )
    if (write or undo) and at is not None:
        option = "--write" if write else "--undo"
        raise UsageError(
            f"{option} changes the working tree and --at names a commit: give one of them.", context
        )
    if undo:
        conclude("apply", shown, lambda _telling: _undo(request))
    if diff and shown.stdout:
        option = f"--{shown.stdout}"
        message = f"--diff and {option} - both print to stdout: give {option} a file."
        raise UsageError(message, context)
    conclude("apply", shown, lambda telling: _run(request, shown, telling))


def _mode(context: typer.Context, **modes: bool) -> str:
    given = [name for name, on in modes.items() if on]
    if len(given) > 1:
        flags = " and ".join(f"--{name}" for name in given)
        raise UsageError(f"{flags} exclude each other: give one of them.", context)
    return given[0] if given else "preview"


def _run(request: Request, shown: Output, telling: Working) -> Report | None:
    """Apply the plan; print the diff if that was asked for, else give the report."""
    # Loaded here: LibCST and the formatters' tables take longer than `repot apply --help` may.
    from transforms import engine, formatters
    from transforms.reading.load import load_plan
    from transforms.tree import open_tree
    from verify.reports.apply import Applied, applied
    from verify.reports.gated import NOT_JUDGED, gate_line

    if request.at is None:
        _prepare(request)  # first of all: the plan may be among the files
    plan = load_plan(request.plan)
    telling.step("applying", 1, 3)
    tree = open_tree(request.repo, request.at)
    with with_table(request.table):
        if (request.formatters or plan.formatters) == Formatters.NONE.value:
            chosen = formatters.no_formatters()
        else:
            chosen = formatters.repository_formatters(tree)
        outcome = engine.apply(plan, tree, formatters=chosen)
    telling.step("judging", 2, 3)
    done = Applied(
        plan=str(request.plan),
        title=plan.title,
        tree=tree.label,
        mode=request.mode,
        outcome=outcome,
    )
    done = _judged(done, plan, tree) if request.certify else replace(done, unjudged=NOT_JUDGED)
    telling.step("wording", 3, 3)
    report = applied(done)
    if request.mode == "write":
        return report if done.stopped else _write(tree, outcome.changes, request.plan, report)
    if request.mode != "diff":
        return report
    telling.hush()
    console.print_diff(outcome.changes.diff(), sys.stdout)
    line = done.unjudged if done.gate is None else gate_line(done.gate)
    console.print_text(f"{visible(line)}\n", sys.stderr)
    shown.write(report)
    return None


def _judged(done: Applied, plan: Plan, tree: Tree) -> Applied:
    """Judge what is about to be written, where the tree is not too large for that."""
    from verify.proofs.gate import gate
    from verify.reports.gated import TOO_LARGE, gate_texts

    found = gate(plan, tree, done.outcome)
    if found is None:
        return replace(done, unjudged=TOO_LARGE)
    texts = gate_texts(found, tree, done.outcome.changes)
    return replace(done, gate=found, texts=texts)


def _prepare(request: Request) -> None:
    """Deal with a run that was stopped; then see to it that nothing is uncommitted, if asked."""
    from transforms.write import journal

    if request.recover:
        _recover(request.repo)
    else:
        journal.require_none(request.repo)
    if request.clean:
        from verify.history.clean import require_clean

        require_clean(request.repo)


def _recover(repo: Path) -> None:
    """Finish or undo a run that was stopped while it wrote, and say so."""
    from transforms.write import journal

    recovery = journal.recover(repo)
    if recovery is None:
        return
    files = counted(len(recovery.paths), "file")
    if not recovery.paths:
        said = "An interrupted run had changed nothing yet; its journal is removed."
    elif recovery.outcome == "finished":
        said = f"An interrupted run is finished now: {files} written."
    else:
        said = f"An interrupted run is undone now: {files} as before it."
    lines = [said, *(f"  {visible(path)}" for path in recovery.paths)]
    console.print_text("".join(f"{line}\n" for line in lines), sys.stderr)


def _undo(request: Request) -> Report:
    """Take back the last move."""
    from transforms.tree import WorkingTree
    from transforms.write.undo import undo
    from verify.reports.written import undone

    _recover(request.repo)
    plan, _ = _named(request.plan, WorkingTree(request.repo).root)
    return undone(plan, undo(request.repo, plan))


def _named(plan: Path, root: Path) -> tuple[str, bool]:
    """Name a plan by its path in the tree, and tell whether it lies in it."""
    whole = plan.resolve()
    if whole.is_relative_to(root.resolve()):
        return whole.relative_to(root.resolve()).as_posix(), True
    return str(whole), False


def _write(tree: Tree, changes: ChangeSet, plan: Path, report: Report) -> Report:
    """Write all files or none; the report, made before, gets the time that took.

    An interrupt is answered with what became of the files: they are as before, or all written.
    """
    from transforms.tree import WorkingTree
    from transforms.write import journal
    from verify.reports.written import Written, next_steps

    if not isinstance(tree, WorkingTree):
        raise TypeError(f"{tree.label} cannot be written")
    start = time.perf_counter()
    name, inside = _named(plan, tree.root)
    try:
        journal.write(tree, changes, keep=name)
    except KeyboardInterrupt:
        journal.recover(tree.root)
        if all(tree.on_disk(path) == change.after for path, change in changes.items()):
            raise KeyboardInterrupt("the move had been written") from None
        raise
    timings = (*report.timings, ("write", time.perf_counter() - start))
    if not changes:
        return replace(report, timings=timings)
    is_committed = None
    if tree.repository is not None:
        is_committed = inside and not tree.dirty([name])
    steps = next_steps(Written(name, inside, is_committed))
    return replace(report, summary=(*report.summary, *steps), timings=timings)
