"""What a bundle runs once its environment is there: the two commits judged, in one report.

It is started by `script` in a process of its own, reads one request from standard input (`script`
has its keys) and exits with 100 more than the report's exit code. The step `prove` needs what the
lock names; `certify`, and `look`, which finds the commits and prints nothing if all is well, need
Python's own library and git.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from transforms.errors import Refusal
from transforms.tree import GitTree
from verify.bundle.standing import open_commits, standing
from verify.history.memory import collect_less_often
from verify.report.console import INTERRUPTED, Output, print_text
from verify.report.report import Report, faulted, refused

_CODE = 100
_COMMAND = "bundle"


def main() -> NoReturn:
    """Judge what standard input asks for, print the report and leave with its code."""
    collect_less_often()
    request: dict[str, Any] = json.load(sys.stdin)
    output = Output({"json": request["json"]} if request["json"] else {})
    report: Report | None
    try:
        output.check()
        report = judge(request)
        if report is None:
            sys.exit(_CODE)
    except Refusal as refusal:
        report = refused(_COMMAND, _worded(refusal))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:  # a fault of any kind becomes a report
        report = faulted(_COMMAND, error)
    try:
        output.show(report)
    except Refusal as refusal:  # only the report's own file
        report = refused(_COMMAND, refusal)
        Output().show(report)
    sys.exit(_CODE + report.exit_code)


def judge(request: dict[str, Any]) -> Report | None:
    """Find the commits, see that they concern the reader, and judge them. Raises `Refusal`.

    Gives nothing where all that was wanted is a look.
    """
    repo = Path(request["repo"])
    base, target = open_commits(repo, request["base"], request["target"])
    commits = standing(repo, base, target, request["named"])
    if request["step"] == "look":
        return None
    if request["step"] == "certify":
        report = _certified(base, target)
    else:
        report = _proved(request["plan"], base, target)
    return replace(
        report,
        command=_COMMAND,
        sections=(commits, *report.sections),
        data={**report.data, "base": base.commit, "target": target.commit},
    )


def _certified(base: GitTree, target: GitTree) -> Report:
    from verify.proofs.certify import certify_commits
    from verify.reports.certify import certified, residual_texts

    certificate = certify_commits(base, target)
    texts = residual_texts(base, target, certificate)
    report = certified(base.commit, target.commit, certificate, texts)
    last = "The plan was not replayed (--certify-only)."
    return replace(report, summary=(last, *report.summary))


def _proved(plan_text: str, base: GitTree, target: GitTree) -> Report:
    from transforms.reading.load import parse_plan
    from verify.bundle.proving import proved
    from verify.proofs.prove import prove

    plan = parse_plan(plan_text.encode(), "PLAN")
    return proved(plan, prove(plan, base, target, say=_say), base, target)


def _say(message: str) -> None:
    print_text(f"repot: {message}\n", sys.stderr)


def _worded(refusal: Refusal) -> Refusal:
    """Word the way out for a reader who has this file and no Repot."""
    if refusal.kind != "formatter-unavailable":
        return refusal
    return Refusal(
        refusal.kind,
        refusal.cause,
        next_step="The repository formats its code, so the replay needs its formatters, once: run "
        "this with the package index in reach, or with --index-url URL or --find-links DIR. With "
        "--certify-only nothing is installed.",
        place=refusal.place,
    )
