"""What no operation explains, as authored text: whole files, exact edits found once, deletions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace

from transforms.errors import Place, Refusal
from transforms.paths import ModuleName, safe_path
from transforms.reading.load import MAX_PLAN_BYTES
from transforms.reading.model import AuthoredDeletion, AuthoredEdit, AuthoredFile, Plan
from transforms.result.changes import EXECUTABLE, REGULAR
from transforms.result.diff import edits
from transforms.tree.automatic import refuse_automatic
from verify.history.ranges import Entry

_CRLF = "\r\n"


@dataclass(frozen=True, slots=True)
class Lack:
    """A path in which a plan does not give the target: before, as the plan has it, and wanted."""

    path: str
    had: Entry | None
    have: Entry | None
    want: Entry | None


def authored(plan: Plan, lacks: Iterable[Lack]) -> tuple[Plan, tuple[str, ...]]:
    """Add to a plan what its result still lacks; and name the paths that no plan can give."""
    room = MAX_PLAN_BYTES // 4  # an escaped character can take six
    left: list[str] = []
    for lack in lacks:
        found = _said(lack, room)
        if found is None:
            left.append(lack.path)
            continue
        room -= sum(len(item.text) for item in found.files)
        plan = replace(
            plan,
            files=(*plan.files, *found.files),
            edits=(*plan.edits, *found.edits),
            deletions=(*plan.deletions, *found.deletions),
        )
    return plan, tuple(left)


@dataclass(frozen=True, slots=True)
class _Said:
    files: tuple[AuthoredFile, ...] = ()
    edits: tuple[AuthoredEdit, ...] = ()
    deletions: tuple[AuthoredDeletion, ...] = ()


def _said(lack: Lack, room: int) -> _Said | None:
    """Say one path in authored text: made, edited, deleted, or deleted and made anew."""
    path, have, want = lack.path, lack.have, lack.want
    name = ModuleName(path, is_path=True)
    gone = (AuthoredDeletion(name, 0),) if lack.had is not None and have is not None else ()
    if not may_be_authored(path):
        return None
    if want is None:
        return _Said(deletions=gone) if gone else None
    text = text_of(want.data)
    if want.mode not in (REGULAR, EXECUTABLE) or text is None or len(text) > room:
        return None
    if have is not None and have.data == want.data:
        return None  # the whole file anew would give its mode, and hide that nothing else changed
    edited = _edits(name, have, want.mode, text)
    if edited is not None:
        return _Said(edits=edited)
    whole = (AuthoredFile(name, text, 0, executable=want.mode == EXECUTABLE),)
    return _Said(files=whole, deletions=gone) if gone or have is None else None


def _edits(
    name: ModuleName, have: Entry | None, mode: int, text: str
) -> tuple[AuthoredEdit, ...] | None:
    """Say a change of a file as edits; None where it has no text, other line ends or a mode."""
    if have is None or have.mode != mode or not (mine := text_of(have.data)):
        return None  # an edit quotes what it replaces
    if _ends(mine) != _ends(text) and _CRLF in (_ends(mine), _ends(text)):
        return None
    if _ends(mine) == _CRLF:  # as an edit of such a file is written
        mine, text = mine.replace(_CRLF, "\n"), text.replace(_CRLF, "\n")
    return tuple(AuthoredEdit(name, old, new, 0) for old, new in exact_edits(mine, text))


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


def may_be_authored(path: str) -> bool:
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
        while first - before == last + after or not _is_found(
            lines, first - before, last + after, text
        ):
            grown = False
            if first - before > 0:
                before, grown = before + 1, True
            if last + after < len(lines) and not (
                grown and _is_found(lines, first - before, last + after, text)
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


def _is_found(lines: list[str], first: int, last: int, text: str) -> bool:
    """Whether some lines of a text are found once in it, and there: two blank ones may overlap."""
    wanted = "".join(lines[first:last])
    return text.count(wanted) == 1 and text.find(wanted) == len("".join(lines[:first]))
