"""`repot carry`: an open branch, brought over a split that main has made meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from verify.commands.options import Repo, UsageError, conclude, reporting
from verify.report.console import Output
from verify.report.progress import Working
from verify.report.report import Report

if TYPE_CHECKING:  # loaded where they are used: `repot carry --help` is fast
    from transforms.tree import GitTree
    from verify.carry.moving import Carried, Mover, Stopped
    from verify.carry.splits import Split

HELP = """Carry BRANCH over a split: its changes follow the code that moved.

The branch is brought to the split's parent as a rebase does it. Then each of its commits becomes
what the split's plan makes of it, on top of the split, and at last of main. Authors, dates and
messages stay. The branch is moved once, at the end; refs/repot/carried/BRANCH keeps where it stood.

Where that needs a person it stops in a linked worktree with ordinary conflict markers.

\b
Examples:
  repot carry feature --over 1a2b3c4d
  repot carry feature --over main~3 --over main~1 --onto main
  repot carry --continue
  repot carry --check 'feature/*' 'refs/pull/*/head' --over split

\b
Exit codes:
  0  the branch is carried; with --check: every branch would carry clean
  1  it stopped: resolve what the report lists, then --continue or --abort;
     with --check: a branch would stop
  2  it could not be done, and nothing changed: a refusal
  3  a fault of Repot
"""


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asks for."""

    branches: tuple[str, ...]
    over: tuple[str, ...]
    plans: tuple[Path, ...]
    onto: str | None
    puts: dict[str, str]
    worktree: Path | None
    repo: Path
    mode: str


@reporting
def carry(
    context: typer.Context,
    branches: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[BRANCH]...", help="The branch; with --check several, or patterns of refs."
        ),
    ] = None,
    over: Annotated[
        list[str] | None,
        typer.Option(
            "--over",
            metavar="COMMIT",
            help="The commit that made the split; again for each further one, in their order.",
        ),
    ] = None,
    plan: Annotated[
        list[Path] | None,
        typer.Option(
            "--plan",
            metavar="PLAN",
            help="Its plan, once for each --over; by default its trailer's, or an inferred one.",
        ),
    ] = None,
    onto: Annotated[
        str | None,
        typer.Option(
            "--onto",
            metavar="REV",
            help="The commit of main to end on; by default where the branch's upstream, the "
            "remote's default branch, main or master stands, the first that has the split.",
        ),
    ] = None,
    put: Annotated[
        list[str] | None,
        typer.Option(
            "--put",
            metavar="NAME=MODULE",
            help="Where a symbol goes that the branch added, if Repot asks.",
        ),
    ] = None,
    worktree: Annotated[
        Path | None,
        typer.Option(
            "--worktree",
            metavar="DIR",
            help="Where a stop is laid out; by default in git's own folder.",
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Only tell which branches would carry clean.")
    ] = False,
    go_on: Annotated[
        bool, typer.Option("--continue", help="Go on from a stop that is resolved.")
    ] = False,
    abort: Annotated[bool, typer.Option("--abort", help="Give a stop up.")] = False,
    repo: Repo = Path(),
    *,
    shown: Output,
) -> None:
    """Read the command line, then carry."""
    modes = [n for n, on in (("check", check), ("continue", go_on), ("abort", abort)) if on]
    if len(modes) > 1:
        flags = " and ".join(f"--{name}" for name in modes)
        raise UsageError(f"{flags} exclude each other: give one of them.", context)
    request = Request(
        branches=tuple(branches or ()),
        over=tuple(over or ()),
        plans=tuple(plan or ()),
        onto=onto,
        puts=dict(_put(text, context) for text in put or ()),
        worktree=worktree,
        repo=repo,
        mode=modes[0] if modes else "carry",
    )
    _require(request, context)
    conclude("carry", shown, lambda telling: _run(request, telling))


def _put(text: str, context: typer.Context) -> tuple[str, str]:
    name, _, module = text.partition("=")
    if not name.isidentifier() or not module:
        raise UsageError(f"--put {text}: write NAME=MODULE, such as Money=shop.money.", context)
    return name, module


def _require(request: Request, context: typer.Context) -> None:
    """Refuse a command line that says too little, or what its mode has no use for."""
    if request.mode in ("continue", "abort"):
        if request.branches or request.over or request.plans or request.onto or request.worktree:
            message = f"--{request.mode} goes by what was said before: it takes no branch and no "
            raise UsageError(f"{message}--over, --plan, --onto or --worktree.", context)
        return
    if not request.branches:
        raise UsageError("Missing argument 'BRANCH'.", context)
    if not request.over:
        raise UsageError("Missing option '--over': which commit made the split?", context)
    if request.mode == "carry" and len(request.branches) > 1:
        raise UsageError("One branch is carried at a time; --check takes several.", context)


def _run(request: Request, telling: Working) -> Report:
    from verify.carry.moving import Carried, Mover
    from verify.reports.carry import aborted, carried, stopped

    if request.mode == "check":
        return _check(request, telling)
    mover = Mover(request.repo)
    telling.step("carrying")
    with mover.alone():
        if request.mode == "abort":
            return aborted(mover.abort())
        goes_on = request.mode == "continue"
        found = mover.go_on(request.puts) if goes_on else _begin(mover, request)
    return carried(found) if isinstance(found, Carried) else stopped(found)


def _begin(mover: Mover, request: Request) -> Carried | Stopped:
    from verify.carry.job import HEADS, plan_job
    from verify.carry.splits import read_splits

    (name,) = request.branches
    name = name.removeprefix(HEADS)
    tip = mover.tip_of(name)
    splits = read_splits(request.repo, request.over, request.plans)
    main = _onto(request, splits, HEADS + name)
    return mover.begin(plan_job((name, tip), main, splits, request.puts), request.worktree)


def _onto(request: Request, splits: Sequence[Split], ref: str) -> GitTree:
    """Give the commit of main that a branch ends on."""
    from transforms.tree import GitTree
    from verify.carry.job import main_of

    if request.onto is not None:
        return GitTree(request.repo, request.onto)
    return main_of(ref, GitTree(request.repo, splits[-1].commit))


def _check(request: Request, telling: Working) -> Report:
    from transforms.tree import GitTree
    from verify.carry.checking import check_all, chosen
    from verify.carry.splits import read_splits
    from verify.reports.carry import checked

    telling.step("checking")
    splits = read_splits(request.repo, request.over, request.plans)
    repository = GitTree(request.repo, splits[0].commit).repository
    branches = chosen(repository, request.branches)
    found = check_all(
        repository,
        branches,
        splits,
        lambda ref: _onto(request, splits, ref),
        request.puts,
    )
    return checked(found)
