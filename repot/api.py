"""Repot for programs: apply a plan, certify a change, review one.

    from repot import api

    certificate = api.certify("main..HEAD", repo="path/to/clone")
    for finding in certificate.findings:
        print(finding.kind, finding.subject, finding.why, finding.places)

Each function runs the command of its name in a process of its own and reads its report. So nothing
of Repot's engine is imported here, and nothing of this program there. What was judged is a value,
whatever it says; only what kept Repot from judging is raised: `Refused` for an input that it will
not work on, `Fault` for a mistake of its own.

Paths in results are those of the judged tree, with `/`; lines count from 1. All values are frozen,
and stay what they are from release to release; fields may come to be added.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

from repot import launcher

__all__ = [
    "Ancestry", "Applied", "Certificate", "Conclusion", "Error", "Fault", "Finding", "Flow",
    "Judged", "Moved", "NotJudged", "Note", "Observable", "PathChange", "Place", "Refused",
    "Replay", "Residual", "Review", "Spot", "ToRead", "Unknown", "Verdict", "apply", "certify",
    "review",
]  # fmt: skip

StrPath = str | os.PathLike[str]

_SCHEMA = 1  # of the reports that are read here
_UNJUDGED, _INTERRUPTED = 2, 130  # exit codes


class Verdict(Enum):
    """What a command concludes, as its exit code says it: 0, 1 or 2."""

    HOLDS = "holds"
    DIFFERS = "differs"
    UNJUDGED = "unjudged"


class Conclusion(Enum):
    """What a review comes to. Only `CERTIFIED` leaves nothing to do."""

    CERTIFIED = "certified"
    NO_MOVE = "no move"
    RESIDUAL = "residual"
    UNKNOWN = "unknown"
    OTHER_FILES = "other files"
    NO_PLAN = "no plan"
    NOT_REPLAYED = "not replayed"


class Error(Exception):
    """What keeps Repot from giving a result."""


class Refused(Error):
    """The input is refused; nothing was judged or written.

    `kind` is a stable word (`unknown-symbol`, `dirty-file`, `unknown-revision`, ...; the page on
    plans lists them), `cause` says what is wrong and `next_step` what can be done. `path` and
    `line` say where, as far as there is a place.
    """

    def __init__(
        self, kind: str, cause: str, next_step: str, path: str | None, line: int | None
    ) -> None:
        super().__init__(kind, cause, next_step, path, line)
        self.kind = kind
        self.cause = cause
        self.next_step = next_step
        self.path = path
        self.line = line

    def __str__(self) -> str:
        where = ":".join(str(part) for part in (self.path, self.line) if part is not None)
        return (
            f"{where}: {self.cause} {self.next_step}" if where else f"{self.cause} {self.next_step}"
        )


class Fault(Error):
    """Repot itself failed: please report it. `details` is what it printed, a traceback mostly."""

    def __init__(self, message: str, details: str = "") -> None:
        super().__init__(message, details)
        self.message = message
        self.details = details

    def __str__(self) -> str:
        return f"{self.message}\n{self.details}".rstrip("\n")


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands."""

    path: str
    line: int


@dataclass(frozen=True, slots=True)
class PathChange:
    """What becomes of one path: `created`, `changed` or `deleted`, and its lines."""

    path: str
    change: Literal["created", "changed", "deleted"]
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class Note:
    """What a move leaves alone though a person should see it. `line` is absent for a whole file."""

    kind: str
    path: str
    line: int | None
    message: str


@dataclass(frozen=True, slots=True)
class Applied:
    """A plan, applied: what changes, and whether it was written.

    `authored_lines` counts what the plan brings literally, `notes` are for a person to look at.
    `report` is the whole report as `repot apply --json` gives it.
    """

    verdict: Verdict
    written: bool
    paths: tuple[PathChange, ...]
    authored_lines: int
    notes: tuple[Note, ...]
    summary: tuple[str, ...]
    report: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class NotJudged:
    """A file of which nobody knows what git would store, and why."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Judged:
    """Which two trees were judged, and how what was typed was read.

    `base` and `target` are full commit ids. Where it was the working tree or the index, `place`
    says which, `tree` is the id of the tree that git would make of it, and `target` is absent.
    `read_as` says in words what was not named literally: a merge base, a parent, the working tree.
    """

    typed: str | None
    read_as: str | None
    base: str
    target: str | None
    place: Literal["working tree", "index"] | None
    tree: str | None
    not_judged: tuple[NotJudged, ...]


@dataclass(frozen=True, slots=True)
class Moved:
    """A statement that stands elsewhere; `symbol` is what it defines, or what sort it is.

    `source` is absent for an import or the like that follows from the move and came from nowhere.
    """

    symbol: str
    source: Place | None
    destination: Place


@dataclass(frozen=True, slots=True)
class Spot:
    """A line of one side, `base` or `target`; `lines` are all that went or came there, if any."""

    path: str
    line: int
    side: Literal["base", "target"]
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """What a certificate says of one thing: `why` in a sentence, at one or more places.

    `kind` is, in this order, `not read`, `breaks` (behaviour differs), `open` (a lookup at run time
    that can reach what moved), `text` (not the move, and no behaviour is seen to differ),
    `assumed`, `explained` (what the move entails) or `observed`. `subject` is the module, name or
    file that it is about, empty where the place says it. `needs` is the Python version that could
    tell more.
    """

    kind: str
    subject: str
    why: str
    needs: tuple[int, int] | None
    places: tuple[Spot, ...]


@dataclass(frozen=True, slots=True)
class Residual:
    """A place of a finding that `breaks`, or is `text`: the lines to read.

    `side` is `base` for what is gone and `target` for what came; `text` is an excerpt; `lines` are
    all the lines of that side which it takes away or adds.
    """

    path: str
    line: int
    side: Literal["base", "target"]
    kind: str
    why: str
    text: str
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Unknown:
    """A place of a finding that is `not read` or `open`: why no certificate is given.

    `needs` is the Python version that could tell.
    """

    path: str
    line: int
    why: str
    needs: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Observable:
    """A place of a finding that is `observed`: what a program could notice."""

    path: str
    line: int
    kind: str
    what: str


@dataclass(frozen=True, slots=True)
class Certificate:
    """Whether a change is a move and nothing else.

    `verdict` is `HOLDS` for CERTIFIED, `DIFFERS` for RESIDUAL (then `residuals` are to be read)
    and `UNJUDGED` for UNKNOWN (then `unknowns` say why). `findings` are all that was found, the
    worst kind first: each assumption of the verdict is one that is `assumed`. `judged` names the
    two trees. `report` is the whole report as `repot certify --json` gives it, or its part of a
    review's.
    """

    verdict: Verdict
    moved: tuple[Moved, ...]
    copies: tuple[Moved, ...]
    derived: tuple[Moved, ...]
    residuals: tuple[Residual, ...]
    unknowns: tuple[Unknown, ...]
    observables: tuple[Observable, ...]
    added_lines: int
    removed_lines: int
    findings: tuple[Finding, ...]
    judged: Judged
    report: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Replay:
    """Whether a plan gives the bytes of the change: `hunks` of them are left over."""

    reproduces: bool
    files: int
    hunks: int
    authored_lines: int


@dataclass(frozen=True, slots=True)
class Ancestry:
    """How many of the moved code's lines `git blame -C -C -C` traces past the move.

    `strict` counts those that it traces to the sources of the move alone.
    """

    lines: int
    traced: int
    strict: int


@dataclass(frozen=True, slots=True)
class Flow:
    """What went from one file to another; `lines` counts the moved code."""

    source: str
    destination: str
    symbols: tuple[str, ...]
    lines: int


@dataclass(frozen=True, slots=True)
class ToRead:
    """A place that is left to read. `line` is absent for a whole file."""

    kind: str
    path: str
    line: int | None
    why: str


@dataclass(frozen=True, slots=True)
class Review:
    """All that can be told of a change, and what is left to read of it.

    `base` is a full commit id, and so is `target`, or it says that it is the working tree or the
    index; `judged` has all that is known of both. `plan` is the text of the plan that was found,
    absent where one was given or none was found; `notes` say what was ambiguous in finding it.
    `replay` is absent without a plan, `ancestry` where history is missing. `report` is the whole
    report as `repot review --json` gives it.
    """

    verdict: Verdict
    conclusion: Conclusion
    base: str
    target: str
    certificate: Certificate
    replay: Replay | None
    ancestry: Ancestry | None
    plan: str | None
    notes: tuple[str, ...]
    flows: tuple[Flow, ...]
    to_read: tuple[ToRead, ...]
    summary: tuple[str, ...]
    judged: Judged
    report: Mapping[str, Any] = field(repr=False, compare=False)


def apply(
    plan: StrPath,
    *,
    repo: StrPath = ".",
    at: str | None = None,
    write: bool = False,
    formatters: Literal["repository", "none"] | None = None,
) -> Applied:
    """Make the move that the plan in a file describes, or tell what it would change.

    The tree is the working tree of `repo` or, for `at`, a commit. With `write` all files are
    written, or none, also where the verdict on the result stops it: then `written` is false and
    `verdict` says why. `formatters` says whose run, in place of what the plan says. Raises
    `Refused` where it cannot be done safely, `ValueError` for `write` and `at` together.
    """
    if write and at is not None:
        raise ValueError("`write` changes the working tree and `at` names a commit: give one")
    options = [
        f"--repo={os.fspath(repo)}",
        *(["--write"] if write else []),
        *([f"--at={at}"] if at is not None else []),
        *([f"--formatters={formatters}"] if formatters is not None else []),
    ]
    report = _report("apply", options, os.fspath(plan))
    return Applied(
        verdict=Verdict(report["verdict"]),
        written=report["written"],
        paths=tuple(
            PathChange(item["path"], item["change"], item["added"], item["removed"])
            for item in report["files"]
        ),
        authored_lines=report["authored_lines"],
        notes=tuple(
            Note(item["kind"], item["place"]["path"], item["place"]["line"], item["message"])
            for item in report["notes"]
        ),
        summary=tuple(report["summary"]),
        report=report,
    )


def certify(
    commits: str | None = None, *, repo: StrPath = ".", staged: bool = False
) -> Certificate:
    """Judge whether a change is a move and nothing else; no plan is needed.

    `commits` is what the command takes: `BASE..TARGET`, `BASE...TARGET` for the change since the
    two parted, one revision for its parent to it. Without it the working tree is judged against
    HEAD, or with `staged` the index. Raises `Refused` for what cannot be read, or where nothing
    has changed, `ValueError` for `commits` and `staged` together.
    """
    report = _report("certify", *_range(commits, repo, staged=staged))
    return _certificate(report, Verdict(report["verdict"]), _judged(report["range"]))


def review(
    commits: str | None = None,
    *,
    repo: StrPath = ".",
    staged: bool = False,
    plan: StrPath | None = None,
) -> Review:
    """Review a change: find and replay its plan, certify it, measure its ancestry.

    `commits` and `staged` are those of `certify`. A `plan` in a file is replayed in place of one
    that is found. Raises `Refused` and `ValueError` as `certify` does.
    """
    options, argument = _range(commits, repo, staged=staged)
    if plan is not None:
        options.append(f"--plan={os.fspath(plan)}")
    report = _report("review", options, argument)
    judged = _judged(report["range"])
    certificate = report["certificate"]
    replay, ancestry = report["replay"], report["ancestry"]
    return Review(
        verdict=Verdict(report["verdict"]),
        conclusion=Conclusion(report["conclusion"]),
        base=report["base"],
        target=report["target"],
        certificate=_certificate(certificate, _CERTIFICATES[certificate["certificate"]], judged),
        replay=replay and Replay(**_only(Replay, replay)),
        ancestry=ancestry and Ancestry(**_only(Ancestry, ancestry)),
        plan=report["plan"],
        notes=tuple(report["notes"]),
        flows=tuple(
            Flow(item["from"], item["to"], tuple(item["symbols"]), item["lines"])
            for item in report["flows"]
        ),
        to_read=tuple(
            ToRead(item["kind"], item["place"]["path"], item["place"]["line"], item["why"])
            for item in report["to_read"]
        ),
        summary=tuple(report["summary"]),
        judged=judged,
        report=report,
    )


def _range(commits: str | None, repo: StrPath, *, staged: bool) -> tuple[list[str], str | None]:
    """Give the options and the argument that say what is judged."""
    if staged and commits is not None:
        raise ValueError("`staged` judges the index against HEAD: name no commits")
    return [f"--repo={os.fspath(repo)}", *(["--staged"] if staged else [])], commits


def _judged(data: Mapping[str, Any]) -> Judged:
    left_out = (NotJudged(**_only(NotJudged, item)) for item in data["not_judged"])
    return Judged(**{**_only(Judged, data), "not_judged": tuple(left_out)})


_CERTIFICATES = {
    "CERTIFIED": Verdict.HOLDS,
    "RESIDUAL": Verdict.DIFFERS,
    "UNKNOWN": Verdict.UNJUDGED,
}


def _certificate(data: Mapping[str, Any], verdict: Verdict, judged: Judged) -> Certificate:
    return Certificate(
        verdict=verdict,
        moved=_moved(data["moved"]),
        copies=_moved(data["copies"]),
        derived=_moved(data["derived"]),
        residuals=tuple(
            Residual(**{**_only(Residual, item), "lines": tuple(item["lines"])})
            for item in data["residuals"]
        ),
        unknowns=tuple(
            Unknown(**{**_only(Unknown, item), "needs": item["needs"] and tuple(item["needs"])})
            for item in data["unknowns"]
        ),
        observables=tuple(Observable(**_only(Observable, item)) for item in data["observables"]),
        added_lines=data["added_lines"],
        removed_lines=data["removed_lines"],
        findings=tuple(map(_finding, data["findings"])),
        judged=judged,
        report=data,
    )


def _finding(item: Mapping[str, Any]) -> Finding:
    spots = (Spot(**{**_only(Spot, at), "lines": tuple(at["lines"])}) for at in item["places"])
    changed = {"needs": item["needs"] and tuple(item["needs"]), "places": tuple(spots)}
    return Finding(**{**_only(Finding, item), **changed})


def _moved(items: Sequence[Mapping[str, Any]]) -> tuple[Moved, ...]:
    return tuple(
        Moved(
            item["symbol"],
            Place(item["from"]["path"], item["from"]["line"]) if item["from"]["path"] else None,
            Place(item["to"]["path"], item["to"]["line"]),
        )
        for item in items
    )


def _only(kind: type, data: Mapping[str, Any]) -> dict[str, Any]:
    """Take what a dataclass has; reports may come to say more."""
    return {name: data[name] for name in kind.__dataclass_fields__}  # type: ignore[attr-defined]


def _report(command: str, options: Sequence[str], argument: str | None) -> dict[str, Any]:
    """Run a command of the engine and give its report; raise what is none."""
    named = [] if argument is None else ["--", argument]
    arguments = [command, "--json=-", "--traceback", *options, *named]
    done = subprocess.run(
        launcher.command(launcher.COMMAND, arguments),
        env=launcher.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    said = done.stderr.decode("utf-8", "replace")
    if done.returncode == _INTERRUPTED:
        raise KeyboardInterrupt
    if done.returncode == _UNJUDGED and not done.stdout:  # not even understood
        raise ValueError(said)
    try:
        report: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise Fault(
            f"`repot {command}` gave no report (exit code {done.returncode}).", said
        ) from None
    if report.get("schema") != _SCHEMA:
        raise Fault(f"`repot {command}` gave a report of another schema.", said)
    if "refusal" in report:
        refusal = report["refusal"]
        place = refusal["place"] or {"path": None, "line": None}
        raise Refused(
            refusal["kind"],
            refusal["cause"],
            refusal["next_step"],
            place["path"] or None,
            place["line"],
        )
    if "fault" in report:
        raise Fault(f"{report['fault']['error']}: {report['fault']['message']}", said)
    return report
