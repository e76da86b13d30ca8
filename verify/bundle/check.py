"""Whether a file is what this Repot makes of the plan and the commits that stand in it.

The file is read and parsed, never run. Nothing is taken from its code but four constants; from
them the file is built anew, and every byte is compared. So no trick of syntax can hide anything:
whatever is not what this Repot writes is a difference.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from transforms.errors import Place, Refusal
from transforms.result.diff import edits
from transforms.syntax.parsing import parse
from verify.bundle.build import Subject, build, pieces
from verify.bundle.engine import in_table

_CONSTANTS = ("PLAN", "BASE", "TARGET", "FORMATTERS")
_MOST = 32 << 20  # bytes; a bundle has about one million


@dataclass(frozen=True, slots=True)
class Difference:
    """A stretch of lines that is not what Repot writes. `line` is 1-based in the file."""

    line: int
    part: str
    missing: tuple[str, ...]
    extra: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found in a file: its subject, and where it is not what `build` gives for that."""

    subject: Subject
    differences: tuple[Difference, ...]

    @property
    def is_ours(self) -> bool:
        """Whether all but the plan and the commits is what this Repot writes."""
        return not self.differences


def check(path: Path) -> Checked:
    """Check a file. Raises `Refusal` for one that is no bundle at all."""
    try:
        with path.open("rb") as stream:
            data = stream.read(_MOST + 1)
    except OSError as error:
        raise _no_bundle(path, f"It cannot be read: {error.strerror}.") from None
    if len(data) > _MOST:
        raise _no_bundle(path, f"It is larger than {_MOST >> 20} MiB.")
    subject = _subject(data, path)
    wanted = build(subject)
    if wanted == data:
        return Checked(subject, ())
    return Checked(subject, _differences(subject, wanted, data))


def _subject(data: bytes, path: Path) -> Subject:
    """Read the constants, each from the first statement of the file's top level that has it."""
    found: dict[str, str] = {}
    for node in parse(data, str(path)).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name in _CONSTANTS and isinstance(node.value, ast.Constant):
                found.setdefault(name, str(node.value.value))
    try:
        # What this Repot does not know is a difference then. Too few only stop a replay.
        installs = sorted(set(in_table(found.get("FORMATTERS", "").split(", "))))
        return Subject(found["PLAN"], found["BASE"], found["TARGET"], tuple(installs))
    except (KeyError, ValueError):
        raise _no_bundle(path, "It has no plan, or no base and target by their full ids.") from None


def _differences(subject: Subject, wanted: bytes, data: bytes) -> tuple[Difference, ...]:
    ours, theirs = _lines(wanted), _lines(data)
    parts = [part for part, text in pieces(subject) for _ in range(text.count("\n"))]
    found = tuple(
        Difference(
            edit.new_start + 1,
            parts[min(edit.old_start, len(parts) - 1)],
            tuple(ours[edit.old_start : edit.old_end]),
            tuple(theirs[edit.new_start : edit.new_end]),
        )
        for edit in edits(ours, theirs)
    )
    # Bytes that no line shows: two that decode alike.
    return found or (Difference(1, "the bytes of a character", (), ()),)


def _lines(data: bytes) -> list[str]:
    """Split at line feeds alone: what else may end a line is a character of it, and shown."""
    return data.decode("utf-8", "backslashreplace").split("\n")


def _no_bundle(path: Path, cause: str) -> Refusal:
    return Refusal(
        "no-bundle",
        cause,
        next_step="Name a file that `repot bundle` wrote.",
        place=Place(str(path)),
    )
