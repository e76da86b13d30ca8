"""The pre-push hook: judges the commits that a push brings, as pre-commit names them.

    python -I -m repot.hook [--strict] [--declare] [--jobs N]

pre-commit gives the range in PRE_COMMIT_FROM_REF and PRE_COMMIT_TO_REF, as ids or as names. The
first is missing where a push makes a branch; then the remote's default branch is what it is
compared with, and where the remote has none, every claimed move of the history is judged.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from transforms.errors import Refusal
from transforms.tree import GitTree
from verify.chain.cache import VerdictCache
from verify.chain.how import How
from verify.chain.links import Say
from verify.history.ranges import common_ancestor
from verify.report.console import Output
from verify.report.progress import working
from verify.report.report import Report, Verdict, faulted, refused
from verify.reports.chain import judge_range

_ZEROS = re.compile(r"0{40}(?:0{24})?")  # how git writes a ref that is not there


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge a push and give the exit code."""
    parser = argparse.ArgumentParser(prog="repot.hook", description="Judge a push.")
    parser.add_argument("--strict", action="store_true", help="fail for commits to be read, too")
    parser.add_argument("--declare", action="store_true", help="each commit names a plan, or none")
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="processes; 0: one a core")
    options = parser.parse_args(arguments)
    shown = Output(traceback=bool(os.environ.get("REPOT_TRACEBACK")))
    try:
        how = How(jobs=options.jobs, strict=options.strict, declare=options.declare)
        with working("judging") as telling:
            report = judge_push(Path(), os.environ, how, say=telling.commits)
    except Refusal as refusal:
        report = refused("chain", refusal)
    except Exception as error:  # a fault is told like any other result
        report = faulted("chain", error)
        shown.show_traceback(error)
    shown.show(report)
    return report.exit_code


def judge_push(
    repo: Path, environment: Mapping[str, str], how: How, *, say: Say | None = None
) -> Report:
    """Judge what a push brings. Raises `Refusal`."""
    start, end = (environment.get(f"PRE_COMMIT_{name}_REF", "") for name in ("FROM", "TO"))
    if _ZEROS.fullmatch(end):
        return _nothing("The push deletes a branch: no commit is judged.")
    end = end or "HEAD"
    if not start or _ZEROS.fullmatch(start):
        start = _default_branch(repo, environment.get("PRE_COMMIT_REMOTE_NAME") or "origin")
    cache = VerdictCache()
    if not start:
        return _whole_history(repo, end, how, cache=cache, say=say)
    ancestor = common_ancestor(repo, start, end)
    return judge_range(repo, ancestor, end, how, cache=cache, say=say)


def _default_branch(repo: Path, remote: str) -> str:
    """Give the branch that a remote shows first; nothing where no branch of it is known."""
    ref = f"refs/remotes/{remote}/HEAD"
    try:
        return GitTree(repo, ref).commit
    except Refusal as refusal:
        if refusal.kind != "unknown-revision":
            raise
    return ""


def _whole_history(
    repo: Path, end: str, how: How, *, cache: VerdictCache, say: Say | None
) -> Report:
    from verify.chain.series import judge_series
    from verify.reports.series import in_series

    try:
        links = judge_series(repo, end, jobs=how.jobs, cache=cache, say=say)
        return in_series(end, links, strict=how.strict)
    except Refusal as refusal:
        if refusal.kind != "no-series":
            raise
    return _nothing("Nothing to compare with, and no commit claims a move: no commit is judged.")


def _nothing(why: str) -> Report:
    return Report("chain", Verdict.HOLDS, "a push", summary=(why,))


if __name__ == "__main__":
    sys.exit(main())
