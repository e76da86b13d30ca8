"""What a reviewer has to read of a change, and why: these lines, and no others."""

from __future__ import annotations

from collections.abc import Iterator

from transforms.errors import Place
from transforms.result.diff import edits
from transforms.result.outcome import Authored
from transforms.tree import GitTree
from verify.history.ranges import Entry, entries_at
from verify.kernel.verdict import CERTIFIED, RESIDUALS, UNJUDGED
from verify.report.exhibits import Excerpt, Text
from verify.report.report import Finding, Row, Style, counted, cut, outside_ascii
from verify.reports.authored import authored_rows
from verify.reports.certify import Texts, shown
from verify.reports.verify import hunk_finding
from verify.review.gather import Review
from verify.review.moved_code import texts_at

# Kinds of findings beside the certificate's own.
OTHER_FILE, HUNK, AUTHORED = "file", "residual", "authored"
_MOST_HUNKS = 20  # of one file
_LITERAL = "literal in the plan, since no rule derives it"


def to_read(done: Review, base: GitTree, target: GitTree, texts: Texts) -> tuple[Finding, ...]:
    """List what is left to read, what matters most first. `texts` are the residuals' files."""
    return (
        *shown(done.certificate.of(*UNJUDGED, *RESIDUALS), texts),
        *_other_files(done.other_files, base, target),
        *_hunks(done),
        *_authored(done, target, texts),
    )


def _other_files(paths: list[str], base: GitTree, target: GitTree) -> Iterator[Finding]:
    """Files that are no Python, hunk by hunk: nothing vouches for them."""
    had, has = entries_at(base, paths), entries_at(target, paths)
    old_texts, new_texts = texts_at(base, paths), texts_at(target, paths)
    for path in paths:
        old, new = had.get(path), has.get(path)
        state = "is new" if old is None else "is gone" if new is None else "changed"
        why = f"a file that is no Python {state}"
        if _binary(old) or _binary(new):
            yield Finding(OTHER_FILE, Place(path), f"{why}; it is binary")
            continue
        empty = Text(path, ())
        before, after = old_texts.get(path, empty), new_texts.get(path, empty)
        changes = edits(before.lines, after.lines)
        rows: list[Row] = []
        for change in changes[:_MOST_HUNKS]:
            gone = Excerpt.of(before, change.old_start + 1, change.old_end)
            come = Excerpt.of(after, change.new_start + 1, change.new_end)
            rows += _side(gone, Style.REMOVED)
            rows += _side(come, Style.ADDED)
        if len(changes) > _MOST_HUNKS:
            left_out = counted(len(changes) - _MOST_HUNKS, "more change")
            rows.append(Row.of("", (f"... {left_out}",)))
        line = changes[0].new_start + 1 if changes and new is not None else None
        yield Finding(OTHER_FILE, Place(path, line), why, tuple(rows))


def _binary(entry: Entry | None) -> bool:
    return entry is not None and entry.binary


def _side(excerpt: Excerpt, style: Style) -> Iterator[Row]:
    if excerpt.numbers:
        yield Row.of("", cut(excerpt.lines), style, excerpt)
        if style is Style.ADDED:
            yield from outside_ascii("\n".join(excerpt.lines))


def _hunks(done: Review) -> Iterator[Finding]:
    """What the plan does not give, where the certificate lists nothing in its place."""
    if done.replay is not None and done.certificate.verdict == CERTIFIED:
        known = set(done.other_files)
        yield from (hunk_finding(hunk) for hunk in done.replay.hunks if hunk.path not in known)


def _authored(done: Review, target: GitTree, texts: Texts) -> Iterator[Finding]:
    """Literal text of the plan that is not listed above already."""
    if done.replay is None:
        return
    others = set(done.other_files)
    items = [item for item in done.replay.outcome.authored if item.path not in others]
    items = [item for item in items if not _is_listed(item, done, texts)]
    files = texts_at(target, [item.path for item in items])
    vouched = "; certified all the same" if done.certificate.verdict == CERTIFIED else ""
    for item in items:
        line = _line_of(item, files.get(item.path))
        size = counted(item.lines, "authored line")
        if not item.added:
            size = f"{counted(len(item.removed), 'line')} taken away"
        message = f"{item.kind}, {size}: {_LITERAL}{vouched}"
        yield Finding(AUTHORED, Place(item.path, line), message, authored_rows(item))


def _is_listed(item: Authored, done: Review, texts: Texts) -> bool:
    """Whether each line of it stands among the residuals of its file."""
    for side, lines in (("target", item.added), ("base", item.removed)):
        text = texts.get((side, item.path))
        listed = {
            text.lines[number - 1].strip()
            for finding in done.certificate.of(*RESIDUALS)
            for place in finding.places
            if text is not None and (place.side, place.path) == (side, item.path)
            for number in place.lines
            if 0 < number <= len(text.lines)
        }
        if not {line.strip() for line in lines} - {""} <= listed:
            return False
    return bool(item.added or item.removed)


def _line_of(item: Authored, text: Text | None) -> int | None:
    """Where authored lines stand in the target; none unless found there once."""
    if item.kind == "file":
        return 1
    if text is None or not item.added:
        return None
    size = len(item.added)
    found = [
        start + 1
        for start in range(len(text.lines) - size + 1)
        if text.lines[start] == item.added[0] and text.lines[start : start + size] == item.added
    ]
    return found[0] if len(found) == 1 else None
