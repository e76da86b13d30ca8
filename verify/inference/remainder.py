"""What no operation explains, as authored text: whole new files, and exact edits found once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace

from transforms.errors import Place, Refusal
from transforms.paths import ModuleName, safe_path
from transforms.reading.load import MAX_PLAN_BYTES
from transforms.reading.model import AuthoredEdit, AuthoredFile, Plan
from transforms.result.changes import EXECUTABLE, REGULAR
from transforms.result.diff import edits
from transforms.tree.automatic import refuse_automatic
from verify.history.ranges import Entry

_CRLF = "\r\n"


def authored(
    plan: Plan, given: dict[str, Entry | None], wanted: dict[str, Entry], off: dict[str, int]
) -> tuple[Plan, tuple[str, ...]]:
    """Add to a plan what its result still lacks; and name the paths that no plan can give."""
    room = MAX_PLAN_BYTES // 4  # an escaped character can take six
    files: list[AuthoredFile] = []
    changed: list[AuthoredEdit] = []
    left: list[str] = []
    for path in sorted(off):
        have, want = given.get(path), wanted.get(path)
        name = ModuleName(path, is_path=True)
        if want is None or want.mode not in (REGULAR, EXECUTABLE) or not _may_be_authored(path):
            left.append(path)
            continue
        text = text_of(want.data)
        if text is None or len(text) > room:
            left.append(path)
        elif have is None:
            room -= len(text)
            files.append(AuthoredFile(name, text, 0, executable=want.mode == EXECUTABLE))
        elif have.mode != want.mode or not (mine := text_of(have.data)):
            left.append(path)  # an edit quotes what it replaces
        elif _ends(mine) != _ends(text) and _CRLF in (_ends(mine), _ends(text)):
            left.append(path)
        else:
            if _ends(mine) == _CRLF:  # as an edit of such a file is written
                mine, text = mine.replace(_CRLF, "\n"), text.replace(_CRLF, "\n")
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


def _may_be_authored(path: str) -> bool:
    """Whether a plan may write there: not where machines run what they find."""
    try:
        refuse_automatic(safe_path(path), Place(path))
    except Refusal:
        return False
    return True


def _ends(text: str) -> str:
    """Give how all lines of a text end; "" where they differ."""
    if _CRLF in text and "\n" not in text.replace(_CRLF, ""):
        return _CRLF
    return "" if "\r" in text else "\n"


def text_of(data: bytes) -> str | None:
    """Give bytes as the text that a plan can hold; None if they are no such text."""
    try:
        text = data.decode("utf-8")
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
