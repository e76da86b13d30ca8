"""Places in code that a reader should look at, and the forms in which a forge shows them there.

GitHub takes workflow commands out of a step's output, GitLab a file of "code quality".
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from transforms.errors import Place
from verify.report.escape import visible

_MOST = 10  # of each level; GitHub shows no more of a step
_LONGEST = 400  # characters of a message


@dataclass(frozen=True, slots=True)
class Mark:
    """One such place, by its path and line in the target; an empty path where it is no line.

    `commit` is the one it is about, where the report is about several, and `subject` its first
    line, by which a forge's reader knows it. `failing` tells an error, which is why the verdict is
    no better, from a mere notice.
    """

    place: Place
    title: str
    message: str
    failing: bool = True
    commit: str = ""
    subject: str = ""


def sided(path: str, line: int, side: str, why: str) -> tuple[Place, str]:
    """Give the place of what stands on one side, and the words for it.

    What is gone has no line in the target: its file is named, and the words say where it was.
    """
    if side == "target":
        return Place(path, line or None), why
    return Place(path), f"{why} (line {line} before it)"


def to_github(marks: Sequence[Mark]) -> str:
    """Render as GitHub's workflow commands: errors first, ten of each level at most."""
    lines = []
    for level, failing in (("error", True), ("notice", False)):
        found = [mark for mark in marks if mark.failing is failing]
        shown = found if len(found) <= _MOST else found[: _MOST - 1]
        lines += [_command(level, mark) for mark in shown]
        if len(found) > len(shown):
            rest = f"{len(found) - len(shown):,} more: the report lists all of them"
            lines.append(_command(level, Mark(Place(""), "more to read", rest)))
    return "".join(f"{line}\n" for line in lines)


def _command(level: str, mark: Mark) -> str:
    properties = {"title": f"Repot: {mark.title}"}
    if mark.place.path:
        properties = {"file": mark.place.path, "line": str(mark.place.line or 1), **properties}
    written = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{level} {written}::{_data(_message(mark))}"


def _message(mark: Mark) -> str:
    """Word a place. A commit's id says nothing at a file: its subject stands there."""
    text = visible(f"{mark.message} ({mark.subject})" if mark.subject else mark.message)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(visible(text)).replace(":", "%3A").replace(",", "%2C")


def to_gitlab(marks: Sequence[Mark]) -> str:
    """Render as GitLab's code quality report: ASCII, the same bytes for the same marks.

    A fingerprint does not hang on the line, so that a place is the same one after a rebase.
    """
    seen: Counter[tuple[str, ...]] = Counter()
    entries = []
    for mark in marks:
        key = (mark.place.path, mark.title, mark.message)
        seen[key] += 1
        name = "\0".join((*key, str(seen[key]))).encode("utf-8", "backslashreplace")
        entries.append(
            {
                "check_name": f"Repot: {mark.title}",
                "description": _message(mark),
                "fingerprint": hashlib.sha256(name).hexdigest(),
                "severity": "major" if mark.failing else "info",
                "location": {
                    "path": visible(mark.place.path) or ".",
                    "lines": {"begin": mark.place.line or 1},
                },
            }
        )
    return json.dumps(entries, indent=2, sort_keys=True).replace("##", "#\\u0023") + "\n"
