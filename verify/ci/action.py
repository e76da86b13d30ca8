"""What the Action does once it is installed: judge a range, then tell the runner.

All it is told comes in the environment, and is data: ids are checked before git sees them. What it
tells goes into the files that the runner names, and to the log, where no line of the judged
repository is obeyed.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from transforms.errors import Place, Refusal
from verify.chain.how import How
from verify.history.memory import collect_less_often
from verify.history.ranges import common_ancestor
from verify.report.console import Output, print_text
from verify.report.html import to_html
from verify.report.markdown import to_markdown
from verify.report.marks import to_github
from verify.report.progress import working
from verify.report.report import Report, faulted, refused, to_json, to_text
from verify.reports.chain import judge_range

ROOT = Path(__file__).resolve().parent.parent.parent
_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_NOBODY = re.compile(r"0+")  # the id of what is not there, in a push that makes a branch
_TRUE, _FALSE = {"true", "1", "yes"}, {"false", "0", "no", ""}


@dataclass(frozen=True, slots=True)
class Request:
    """What to judge: two full commit ids of a repository, and how."""

    repo: Path
    base: str
    head: str
    how: How


def main() -> None:
    """Be the Action: judge, tell, and leave with the report's exit code."""
    collect_less_often()
    sys.exit(run(os.environ))


def run(environment: Mapping[str, str]) -> int:
    """Judge what the environment asks for and give the exit code."""
    try:
        request = read_request(environment)
        start = common_ancestor(request.repo, request.base, request.head)
        with working("judging") as telling:
            report = judge_range(
                request.repo, start, request.head, request.how, say=telling.commits
            )
    except Refusal as refusal:
        report = refused("chain", refusal)
    except Exception as error:  # a fault is told like any other result
        report = faulted("chain", error)
        Output(traceback=True).show_traceback(error)
    tell(report, environment)
    return report.exit_code


def read_request(environment: Mapping[str, str]) -> Request:
    """Read the Action's inputs; the event names the commits that they leave open.

    Raises `Refusal` for what is no full commit id, and where the judge lies in what it judges.
    """
    workspace = Path(environment.get("GITHUB_WORKSPACE") or ".")
    repo = (workspace / environment.get("REPOT_REPOSITORY", "")).resolve()
    if ROOT.is_relative_to(repo):
        raise Refusal(
            "judge-in-repository",
            "Repot itself lies in the repository that it is to judge, which may have changed it.",
            next_step="Use the Action by its repository and commit id, or check the base out into "
            "a folder beside the one that is judged.",
            place=Place(str(ROOT)),
        )
    base, head = _event_ids(environment)
    jobs = environment.get("REPOT_JOBS") or "0"
    return Request(
        repo=repo,
        base=_id("base", environment.get("REPOT_BASE") or base),
        head=_id("head", environment.get("REPOT_HEAD") or head),
        how=How(
            jobs=int(jobs) if re.fullmatch("[0-9]{1,3}", jobs) else _bad("jobs", jobs),
            strict=_flag("strict", environment.get("REPOT_STRICT", "")),
            declare=_flag("declare", environment.get("REPOT_DECLARE", "")),
        ),
    )


def _event_ids(environment: Mapping[str, str]) -> tuple[str, str]:
    """Give the commits that the event is about: a pull request's, a merge group's, a push's."""
    try:
        event = json.loads(Path(environment["GITHUB_EVENT_PATH"]).read_bytes())
        if "pull_request" in event:
            pull = event["pull_request"]
            return str(pull["base"]["sha"]), str(pull["head"]["sha"])
        if "merge_group" in event:
            group = event["merge_group"]
            return str(group["base_sha"]), str(group["head_sha"])
        before, after = str(event["before"]), str(event["after"])
        return ("" if _NOBODY.fullmatch(before) else before), after
    except (KeyError, OSError, TypeError, ValueError):
        return "", ""


def _id(name: str, text: str) -> str:
    if not _ID.fullmatch(text):
        raise Refusal(
            "bad-input",
            f"The input `{name}` is no full commit id: `{text}`."
            if text
            else f"The input `{name}` is not given, and the event names no commit for it.",
            next_step="Give 40 hexadecimal digits, such as those of "
            "`github.event.pull_request.base.sha`.",
        )
    return text


def _flag(name: str, text: str) -> bool:
    if text.lower() not in _TRUE | _FALSE:
        _bad(name, text)
    return text.lower() in _TRUE


def _bad(name: str, text: str) -> NoReturn:
    raise Refusal(
        "bad-input",
        f"The input `{name}` cannot be `{text}`.",
        next_step="See `action.yml` for what each input takes.",
    )


def tell(report: Report, environment: Mapping[str, str]) -> None:
    """Give the report to the runner: log, annotations, job summary, files and outputs."""
    # The log's lines are inert already; that the runner stands still meanwhile is a second lock.
    token = secrets.token_hex(16)
    print_text(f"::stop-commands::{token}\n{to_text(report)}\n::{token}::\n", sys.stdout)
    print_text(to_github(report.marks), sys.stdout)
    folder = Path(environment["RUNNER_TEMP"])
    page = to_markdown(report)
    files = {
        "markdown": (folder / "repot.md", page),
        "html": (folder / "repot.html", to_html(report)),
        "json": (folder / "repot.json", to_json(report)),
    }
    for path, text in files.values():
        path.write_bytes(text.encode("utf-8", "backslashreplace"))
    outputs = {"verdict": report.verdict.value, "exit-code": str(report.exit_code)}
    outputs.update((name, str(path)) for name, (path, _) in files.items())
    _append(environment.get("GITHUB_STEP_SUMMARY"), page)
    _append(environment.get("GITHUB_OUTPUT"), "".join(f"{k}={v}\n" for k, v in outputs.items()))


def _append(path: str | None, text: str) -> None:
    if path:
        with open(path, "ab") as file:
            file.write(text.encode("utf-8", "backslashreplace"))
