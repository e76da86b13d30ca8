"""What no operation explains, as authored text: whole new files, and exact edits found once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace

from transforms.errors import Refusal
from transforms.paths import ModuleName, safe_path
from transforms.reading.model import AuthoredEdit, AuthoredFile, Plan
from transforms.result.changes import EXECUTABLE, REGULAR
from transforms.result.diff import edits
from verify.history.ranges import Entry


def authored(
    plan: Plan, given: dict[str, Entry | None], wanted: dict[str, Entry], off: dict[str, int]
) -> tuple[Plan, tuple[str, ...]]:
    """Add to a plan what its result still lacks; and name the paths that no plan can give."""
    files: list[AuthoredFile] = []
    changed: list[AuthoredEdit] = []
    left: list[str] = []
    for path in sorted(off):
        have, want = given.get(path), wanted.get(path)
        name = ModuleName(path, is_path=True)
        if want is None or want.mode not in (REGULAR, EXECUTABLE) or why_unsayable(path):
            left.append(path)
            continue
        text = _text(want)
        if text is None:
            left.append(path)
        elif have is None:
            files.append(AuthoredFile(name, text, 0, executable=want.mode == EXECUTABLE))
        elif have.mode != want.mode or (mine := _text(have)) is None:
            left.append(path)
        else:
            changed += [AuthoredEdit(name, old, new, 0) for old, new in exact_edits(mine, text)]
    plan = replace(plan, files=(*plan.files, *files), edits=(*plan.edits, *changed))
    return plan, tuple(left)


def why_unsayable(path: str) -> str:
    """Say why no plan can name a path: one that is no UTF-8, for example; nothing where it can."""
    try:
        safe_path(path)
    except Refusal as refusal:
        return refusal.cause
    return ""


def named_paths(part: object) -> Iterator[str]:
    """Give every path by which a plan, or a part of one, names a module or a file."""
    if isinstance(part, ModuleName):
        if part.is_path:
            yield part.text
    elif isinstance(part, tuple):
        for item in part:
            yield from named_paths(item)
    elif is_dataclass(part) and not isinstance(part, type):
        for item in fields(part):
            yield from named_paths(getattr(part, item.name))


def _text(entry: Entry) -> str | None:
    """The text that TOML can hold: it knows no carriage return in a literal line end."""
    try:
        text = entry.data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def exact_edits(old: str, new: str) -> Iterator[tuple[str, str]]:
    """Cut a change into edits, each with as many lines around it as make its old text unique.

    They apply one after the other: the old text of each is found once in what those before it left.
    """
    mine, theirs = old.splitlines(keepends=True), new.splitlines(keepends=True)
    text = old
    shift = 0  # lines by which what is done has moved what is to come
    for edit in edits(mine, theirs):
        lines = text.splitlines(keepends=True)
        first, last = edit.old_start + shift, edit.old_end + shift
        put = theirs[edit.new_start : edit.new_end]
        before, after = 0, 0
        while text.count("".join(lines[first - before : last + after])) != 1 or (
            first - before == last + after
        ):
            grown = False
            if first - before > 0:
                before, grown = before + 1, True
            if last + after < len(lines) and (
                text.count("".join(lines[first - before : last + after])) != 1 or not grown
            ):
                after, grown = after + 1, True
            if not grown:
                break
        head, tail = lines[first - before : first], lines[last : last + after]
        was = "".join(lines[first - before : last + after])
        becomes = "".join([*head, *put, *tail])
        yield was, becomes
        text = "".join([*lines[:first], *put, *lines[last:]])
        shift += len(put) - (edit.old_end - edit.old_start)
