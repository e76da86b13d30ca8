"""Which kernel judges: the second; of large trees the first, and the second what names the change.

It goes, and the first kernel with it, when the second is cheap enough for every tree:
`verify.kernel.certify` then stands in its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from verify import certificate as first
from verify import kernel
from verify.kernel.verdict import (
    ASSUMED,
    BREAKS,
    EXPLAINED,
    KINDS,
    NOT_READ,
    OBSERVED,
    OPEN,
    TEXT,
    Certificate,
    Finding,
    Moved,
    Place,
)
from verify.proofs.part import part

# Kinds of residuals in which a program would notice no difference. All others may be one.
_TEXT = frozenset({"added", "changed", "removed", "copied", "comment", "import", "link", "data"})
_COUNTS = (BREAKS, NOT_READ, OPEN)  # what counts in a part, the worst first
_NEAR = 12  # lines between the two sides of one change
_DERIVED = "it follows from the move"

# Bytes of Python in both trees together, up to which the second kernel judges. It reads all of
# them and runs what reaches the change: seconds here, minutes and gigabytes on the largest trees.
MOST = 1 << 20
WHY_FIRST = (
    f"A tree of more than {MOST >> 20} MiB of Python is judged by the first design, which looks "
    "for what is known to go wrong and does not run the imports of both trees."
)
WHY_PART = "The second design, which does, has looked at the change and at {} of {} other files."
PART_ALONE = "the change and {:,} of {:,} other Python files"


def certify(base: first.Files, target: first.Files, rest: first.Rest | None = None) -> Certificate:
    """Judge by the second kernel, or by both where the trees are too large for it.

    Of a large tree the second sees the part that names what changed. What it finds there to break,
    or to be open, is added to what the first finds in the whole; so it makes a verdict worse, never
    better. What is text, or follows from the move, the first one tells.
    """
    if not is_large(base, target, rest):
        return kernel.certify(base, target, rest)
    found = replace(adapted(first.certify(base, target, rest)), judge=WHY_FIRST)
    ours, theirs, others = _apart(base, target, rest)
    looked = part(ours, theirs, others)
    if looked is None:
        return found
    said = f"{WHY_FIRST} {WHY_PART.format(looked.read, looked.python)}"
    more = looked.judge(ours, theirs)
    return replace(_worse(found, more), judge=said)


def certify_part(base: first.Files, target: first.Files, rest: first.Rest) -> Certificate | None:
    """Judge by the second kernel alone what names the change in a tree that is too large for it.

    `base` and `target` hold what differs. `judge` says what was looked at; what is text, or follows
    from the move, is not told. Gives none where the change takes all the room.
    """
    looked = part(base, target, rest)
    if looked is None:
        return None
    found = looked.judge(base, target)
    said = tuple(finding for finding in found.findings if finding.kind in (*_COUNTS, ASSUMED))
    judge = PART_ALONE.format(looked.read, looked.python)
    return replace(found, findings=said, judge=judge)


def _apart(
    base: first.Files, target: first.Files, rest: first.Rest | None
) -> tuple[first.Files, first.Files, first.Rest]:
    """Give what differs on each side, and all else."""
    if rest is not None:
        return base, target, rest
    same = {path: file for path, file in base.items() if target.get(path) == file}
    ours, theirs = (
        {path: file for path, file in side.items() if path not in same} for side in (base, target)
    )
    return ours, theirs, first.Held(same)


def _worse(found: Certificate, more: Certificate) -> Certificate:
    """Add what breaks or is open in a part of the trees, but for what is told of a line already."""
    told: set[tuple[str, int]] = set()
    findings = list(found.findings)
    for kind in _COUNTS:
        told = told.union(*map(_lines, found.of(kind)))
        findings += [finding for finding in more.of(kind) if not told & _lines(finding)]
    order = list(KINDS)
    findings.sort(key=lambda finding: order.index(finding.kind))
    return replace(found, findings=tuple(findings))


def _lines(finding: Finding) -> set[tuple[str, int]]:
    return {(place.path, place.line) for place in finding.places}


def is_large(base: first.Files, target: first.Files, rest: first.Rest | None = None) -> bool:
    """Tell whether the Python files of both trees, equal ones once, hold more than `MOST` bytes.

    The first kernel judges then.
    """
    apart = {(path, *file) for side in (base, target) for path, file in side.items()}
    whole = sum(len(data) for path, data, _ in apart if path.endswith(".py"))
    if rest is not None:
        for some in _growing(path for path in rest.paths() if path.endswith(".py")):
            if whole > MOST:
                break  # without reading all of a large tree
            whole += sum(map(len, rest.read_many(some).values()))
    return whole > MOST


def _growing(paths: Iterable[str]) -> Iterator[list[str]]:
    """Cut into batches, each twice the last."""
    waiting, size = iter(paths), 64
    while some := list(islice(waiting, size)):
        yield some
        size *= 2


def adapted(old: first.Certificate) -> Certificate:
    """Give the same certificate in kinds of findings; places are kept."""
    order = list(KINDS)
    found = sorted(_findings(old), key=lambda finding: order.index(finding.kind))
    return Certificate(
        tuple(found),
        moved=tuple(map(_moved, old.moved)),
        copies=tuple(map(_moved, old.copies)),
        relocated=old.relocated,
        other_files=tuple(item.path for item in old.observables if item.kind == "file"),
        relaid=old.relaid,
    )


def _findings(old: first.Certificate) -> Iterator[Finding]:
    for unknown in old.unknowns:
        # What does not parse is told alone, without the search that finds the others.
        unread = unknown.why.endswith((" (base)", " (target)"))
        why = unknown.why.rpartition(" (")[0] if unread else unknown.why
        side = "base" if unknown.why.endswith(" (base)") else "target"
        place = Place(unknown.path, unknown.line, side)
        yield Finding(NOT_READ if unread else OPEN, "", why, (place,), unknown.needs)
    for group in _grouped(old.residuals):
        last = group[-1]
        kind = TEXT if last.kind in _TEXT else BREAKS
        whole = not any(item.text or item.lines for item in group)
        places = tuple(Place(r.path, r.line, r.side, r.lines) for r in group)
        why = "this statement was edited" if last.kind == "changed" else last.why
        yield Finding(kind, last.path if whole else "", why, places)
    for item in old.derived:
        place = Place(item.destination, item.destination_line)
        yield Finding(EXPLAINED, item.symbol, _DERIVED, (place,))
    for seen in old.observables:
        yield Finding(OBSERVED, "", seen.what, (Place(seen.path, seen.line),))


def _grouped(residuals: tuple[first.Residual, ...]) -> Iterator[tuple[first.Residual, ...]]:
    """Put the two sides of one changed statement together, base first."""
    waiting = list(residuals)
    while waiting:
        one = waiting.pop(0)
        twin = waiting[0] if waiting else one
        if (
            {one.side, twin.side} == {"base", "target"}
            and one.kind == twin.kind == "changed"
            and one.path == twin.path
            and twin.line - one.line <= _NEAR
        ):
            waiting.pop(0)
            yield (one, twin) if one.side == "base" else (twin, one)
        else:
            yield (one,)


def _moved(item: first.Moved) -> Moved:
    return Moved(
        item.symbol,
        item.source,
        item.source_line,
        item.destination,
        item.destination_line,
    )
