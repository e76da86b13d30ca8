"""What a reviewer has to read of a change, and why: these lines, and no others.

Places with one cause are one finding; what breaks comes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from transforms.callers.patches import ELSEWHERE, SHARED
from transforms.errors import Place
from transforms.result.diff import CONTEXT, Edit, edits
from transforms.result.outcome import Authored, Note
from transforms.tree import GitTree
from verify.history.ranges import Entry, entries_at
from verify.kernel.verdict import BASE, BREAKS, CERTIFIED, NOT_READ, OPEN, TARGET, TEXT
from verify.kernel.verdict import Finding as Found
from verify.report.exhibits import Hunk, Text
from verify.report.hunks import added_lines, file_hunks, place_hunks, shown_once
from verify.report.report import Finding, Row, Style, counted, outside_ascii
from verify.reports.authored import authored_rows
from verify.reports.certify import Texts, finding_hunks, spots_row
from verify.reports.verify import hunk_finding
from verify.review.gather import Review
from verify.review.moved_code import texts_at

# Kinds of findings beside the certificate's own.
CLAIM, OTHER_FILE, HUNK, AUTHORED, LEFT = "claim", "file", "residual", "authored", "left"
LABELS = {
    BREAKS: "Breaks",
    NOT_READ: "Not judged",
    OPEN: "Not judged",
    TEXT: "Not the move",
}
# Notes of the mover on what no certificate vouches for: a patch that reaches nobody any more.
_ASSIGNED = "assignment to a moved global"
_DEAD = frozenset({ELSEWHERE, SHARED, _ASSIGNED})
_MOST_HUNKS = 20  # of one cause
_MOST_UNCHANGED = 3  # of these, where no line changed
_MOST_REASONS = 2  # beside the first, in one sentence
_MOST_NAMED = 3  # of those whom one reason is about
_LITERAL = "literal in the plan, since no rule derives it"


@dataclass(frozen=True, slots=True)
class Reading:
    """What is left to read: the findings, how many places they are, how many lines these hold."""

    findings: tuple[Finding, ...]
    places: int
    lines: int
    breaking: int


@dataclass(slots=True)
class _Shown:
    """What is shown by now, and counted: no hunk stands twice, no line counts twice."""

    hunks: set[tuple[object, ...]] = field(default_factory=set)
    marked: set[tuple[str, str, int]] = field(default_factory=set)
    places: int = 0
    breaking: int = 0

    def has(self, finding: Finding) -> bool:
        """Whether all lines of a finding that came or went are shown by now: it adds no place."""
        lines = {line for hunk in finding.hunks for line in hunk.marked}
        marks = {row.mark for hunk in finding.hunks for row in hunk.rows}
        return bool(lines) and ">" not in marks and lines <= self.marked

    def add(self, finding: Finding, spots: int = 0) -> Finding:
        """Show and count a finding; `spots` are the places of it that are no hunks."""
        hunks = shown_once(finding.hunks, self.hunks)
        for hunk in hunks:
            self.marked |= hunk.marked
        places = len(hunks) + spots or 1
        self.places += places
        if finding.kind == BREAKS:
            self.breaking += places
        rows = finding.rows
        if finding.hunks and not hunks:
            rows = (*rows, Row.of("", ("its lines are shown above",)))
        kept = tuple(_few(hunks))
        if len(hunks) > len(kept):
            more = counted(len(hunks) - len(kept), "more place")
            rows = (*rows, Row.of("", (f"... {more}",)))
        return replace(finding, hunks=kept, rows=rows)


def _few(hunks: Sequence[Hunk]) -> Iterator[Hunk]:
    """Leave out hunks past so many of one cause; a few do of those in which no line changed."""
    unchanged = 0
    for hunk in hunks[:_MOST_HUNKS]:
        unchanged += not hunk.marked
        if hunk.marked or unchanged <= _MOST_UNCHANGED:
            yield hunk


def to_read(done: Review, base: GitTree, target: GitTree, texts: Texts) -> Reading:
    """List what is left to read, what matters most first. `texts` are the residuals' files."""
    shown = _Shown()
    findings = [shown.add(finding) for finding in _claim(done)]
    for kind in LABELS:
        causes = (_cause(kind, c, texts) for c in _by_cause(done.certificate.of(kind)))
        findings += [shown.add(c) for c in causes if kind != TEXT or not shown.has(c)]
    findings += [shown.add(finding) for finding in _other_files(done.other_files, base, target)]
    findings += [_counted_hunk(shown, hunk) for hunk in _hunks(done)]
    authored = _authored(done, base, target, texts)
    findings += [shown.add(finding) for finding in authored if not shown.has(finding)]
    findings += [shown.add(finding) for finding in _left(done, base)]
    return Reading(tuple(findings), shown.places, len(shown.marked), shown.breaking)


def _claim(done: Review) -> Iterator[Finding]:
    if done.false_claim and done.claim is not None:
        message = f"the commit says that it is a move, and is not that one: {done.false_claim}"
        yield Finding(CLAIM, Place(done.claim.path), message)


def _by_cause(found: Sequence[Found]) -> list[list[Found]]:
    """Gather findings that say the same, and those whose lines would stand in one hunk."""
    home: dict[int, int] = {}

    def root(number: int) -> int:
        while home.setdefault(number, number) != number:
            number = home[number]
        return number

    def join(one: int, other: int) -> None:
        first, second = sorted((root(one), root(other)))
        home[second] = first

    said: dict[str, int] = {}
    spots = []
    for number, finding in enumerate(found):
        join(said.setdefault(finding.why, number), number)
        for place in finding.places:
            lines = place.lines or ((place.line,) if place == finding.place else ())
            spots += [(place.path, place.side, line, number) for line in lines]
    spots.sort()
    for one, other in pairwise(spots):
        if one[:2] == other[:2] and other[2] - one[2] <= 2 * CONTEXT + 1:
            join(one[3], other[3])
    causes: dict[int, list[Found]] = {}
    for number, finding in enumerate(found):
        causes.setdefault(root(number), []).append(finding)
    return list(causes.values())


def _cause(kind: str, found: Sequence[Found], texts: Texts) -> Finding:
    first = found[0]
    paths = {place.path for finding in found for place in finding.places}
    reasons: dict[str, list[str]] = {}
    for finding in found:
        names = [name for name in finding.subjects if name and name not in paths]
        reasons.setdefault(finding.why, []).extend(names)
    # What keeps the whole module from being imported is what the others follow from.
    ordered = sorted(
        reasons.items(), key=lambda item: not item[0].startswith("importing it raises")
    )
    said = [_said(why, names) for why, names in ordered]
    subjects = sorted({name for names in reasons.values() for name in names})
    rows: list[Row] = []
    if len(said) == 1 and len(found) > 1:
        said = [first.why]
        rows += [Row.of("about", subjects)] if subjects else []
    message = f"{LABELS[kind]}: {said[0]}"
    if first.needs:
        message += f" (needs Python {first.needs[0]}.{first.needs[1]})"
    message += "".join(f"; {text}" for text in said[1 : 1 + _MOST_REASONS])
    if said[1 + _MOST_REASONS :]:
        rows.append(Row.of("and there", said[1 + _MOST_REASONS :]))
    hunks = list(_hunks_of(found, texts))
    shown = {(hunk.path, row.number) for hunk in hunks for row in hunk.rows}
    rows += spots_row([p for f in found for p in f.places if (p.path, p.line) not in shown])
    rows += outside_ascii("\n".join(added_lines(hunks)))
    spot = first.place
    place = Place(spot.path, spot.line or None)
    if spot.side == BASE:
        message += " (before the change)"
    return Finding(kind, place, message, tuple(rows), hunks=tuple(hunks))


def _said(why: str, names: Sequence[str]) -> str:
    """Say a reason once, of all whom it is about."""
    unique = list(dict.fromkeys(names))
    if not unique:
        return why
    shown = ", ".join(unique[:_MOST_NAMED])
    more = f" and {len(unique) - _MOST_NAMED:,} more" if len(unique) > _MOST_NAMED else ""
    return f"{shown}{more}: {why}"


def _hunks_of(found: Sequence[Found], texts: Texts) -> Iterator[Hunk]:
    """Give the hunks of a cause; those of one file, or of one and the other, together."""
    together: dict[frozenset[str], list[Found]] = {}
    for finding in found:
        together.setdefault(frozenset(p.path for p in finding.places), []).append(finding)
    for group in together.values():
        places = tuple(dict.fromkeys(place for finding in group for place in finding.places))
        looked = tuple(dict.fromkeys(finding.place for finding in group))
        yield from finding_hunks(replace(group[0], places=places), texts, looked)


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
        hunks = file_hunks(old_texts.get(path, empty), new_texts.get(path, empty))
        rows = outside_ascii("\n".join(added_lines(hunks)))
        line = hunks[0].line if hunks and new is not None else None
        yield Finding(OTHER_FILE, Place(path, line), why, rows, hunks=hunks)


def _binary(entry: Entry | None) -> bool:
    return entry is not None and entry.binary


def _hunks(done: Review) -> Iterator[Finding]:
    """What the plan does not give, where the certificate lists nothing in its place."""
    if done.replay is not None and done.certificate.verdict == CERTIFIED:
        known = set(done.other_files)
        yield from (hunk_finding(hunk) for hunk in done.replay.hunks if hunk.path not in known)


def _counted_hunk(shown: _Shown, finding: Finding) -> Finding:
    """Count the lines that the target has and the plan does not give."""
    extra = [text for row in finding.rows for text, style in row.values if style is Style.ADDED]
    first = finding.place.line or 1
    shown.marked |= {(TARGET, finding.place.path, first + n) for n in range(len(extra))}
    return shown.add(finding)


def _authored(done: Review, base: GitTree, target: GitTree, texts: Texts) -> Iterator[Finding]:
    """Literal text of the plan that is not listed above already."""
    if done.replay is None:
        return
    others = set(done.other_files)
    items = [item for item in done.replay.outcome.authored if item.path not in others]
    items = [item for item in items if not _is_listed(item, done, texts)]
    paths = [item.path for item in items]
    before, after = texts_at(base, paths), texts_at(target, paths)
    used: set[tuple[Text, int]] = set()
    vouched = "; certified all the same" if done.certificate.verdict == CERTIFIED else ""
    for item in items:
        size = counted(item.lines, "authored line")
        if not item.added:
            size = f"{counted(len(item.removed), 'line')} taken away"
        message = f"{item.kind}, {size}: {_LITERAL}{vouched}"
        line, hunks = _placed(item, before, after, used)
        rows = outside_ascii("\n".join(item.added)) if hunks else authored_rows(item)
        yield Finding(AUTHORED, Place(item.path, line), message, rows, hunks=hunks)


def _placed(
    item: Authored,
    before: Mapping[str, Text],
    after: Mapping[str, Text],
    used: set[tuple[Text, int]],
) -> tuple[int | None, tuple[Hunk, ...]]:
    """Where authored lines stand in the target, and the hunks of them; none if not found."""
    empty = Text(item.path, ())
    old, new = before.get(item.path, empty), after.get(item.path, empty)
    changes = edits(old.lines, new.lines)
    put = {n + 1 for edit in changes for n in range(edit.new_start, edit.new_end)}
    taken = {n + 1 for edit in changes for n in range(edit.old_start, edit.old_end)}
    come = (
        range(1, len(new.lines) + 1) if item.kind == "file" else _found(item.added, new, put, used)
    )
    gone = _found(item.removed, old, taken, used)
    if item.kind == "file" and old.lines:
        return 1, file_hunks(old, new)
    if not come:
        is_whole = not item.added and len(gone) == len(item.removed)
        return None, place_hunks(old, new, gone, ()) if is_whole else ()
    # What it takes away may be lines that the plan itself has made: then those that were there.
    near = [edit for edit in changes if _touches(edit, come)]
    there = [n + 1 for edit in near for n in range(edit.old_start, edit.old_end)]
    return come[0], place_hunks(old, new, gone or (there if item.removed else ()), come)


def _touches(edit: Edit, numbers: range) -> bool:
    return edit.new_start + 1 < numbers.stop and numbers.start <= edit.new_end


def _found(
    lines: Sequence[str], text: Text, changed: set[int], used: set[tuple[Text, int]]
) -> range:
    """The numbers of some lines in a row: where they stand once, or first among what changed.

    Edits that say the same are told by the places that are `used` by now.
    """
    size = len(lines)
    if not size:
        return range(0)
    found = [
        range(start + 1, start + 1 + size)
        for start in range(len(text.lines) - size + 1)
        if text.lines[start] == lines[0] and text.lines[start : start + size] == tuple(lines)
    ]
    if len(found) > 1:
        found = [numbers for numbers in found if not changed.isdisjoint(numbers)]
    for numbers in found:
        spots = {(text, number) for number in numbers}
        if used.isdisjoint(spots):
            used |= spots
            return numbers
    return range(0)


def _is_listed(item: Authored, done: Review, texts: Texts) -> bool:
    """Whether each line of it stands among the residuals of its file."""
    for side, lines in ((TARGET, item.added), (BASE, item.removed)):
        text = texts.get((side, item.path))
        listed = {
            text.lines[number - 1].strip()
            for finding in done.certificate.of(BREAKS, TEXT)
            for place in finding.places
            if text is not None and (place.side, place.path) == (side, item.path)
            for number in place.lines
            if 0 < number <= len(text.lines)
        }
        if not {line.strip() for line in lines} - {""} <= listed:
            return False
    return bool(item.added or item.removed)


def dead(note: Note) -> bool:
    """Whether a note is of a patch or an assignment that may reach nobody any more."""
    return note.kind in _DEAD


def _left(done: Review, base: GitTree) -> Iterator[Finding]:
    """Patches that no longer reach who read what they replace, unless the certificate has them."""
    if done.replay is None:
        return
    certified = {
        (place.path, place.line)
        for finding in done.certificate.of(*LABELS)
        for place in finding.places
    }
    causes: dict[str, list[Note]] = {}
    for note in filter(dead, done.replay.outcome.notes):
        if (note.place.path, note.place.line) not in certified:
            causes.setdefault(note.kind, []).append(note)
    for kind, notes in causes.items():
        texts = texts_at(base, [note.place.path for note in notes])
        hunks = [hunk for note in notes for hunk in _at(note, texts)]
        message = f"{kind}: {notes[0].message}"
        rows = tuple(Row.of("", (f"{n.place}: {n.message}",)) for n in notes[1:])
        place = replace(notes[0].place, excerpt=None, column=None)
        yield Finding(LEFT, place, message, rows, hunks=tuple(hunks))


def _at(note: Note, texts: Mapping[str, Text]) -> tuple[Hunk, ...]:
    text = texts.get(note.place.path)
    if text is None or note.place.line is None:
        return ()
    return place_hunks(text, text, (), (), (note.place.line,))
