"""What a commit holds that claims no move: how much of it is one, and what is to be read.

It is what `repot review` knows without a plan. A commit gets some seconds; one that takes longer is
not looked at, and counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from transforms.errors import Refusal
from transforms.result.diff import edits
from transforms.tree import GitTree
from verify.history.patience import TooLongError, within
from verify.history.ranges import entries_at
from verify.inference.infer import infer
from verify.kernel.verdict import BASE, RESIDUALS, TARGET, UNJUDGED, Certificate, Finding
from verify.proofs.certify import certify_commits
from verify.report.exhibits import Text
from verify.review.moved_code import flows_of, moved_sides, texts_at

PATIENCE = 5.0  # seconds of work for one commit
MOST_LINES = 20  # of one place
SMALLEST_MOVE = 20  # lines; of fewer nobody is asked to write a plan
ADDED, REMOVED, PLAIN = "+", "-", " "
OTHER_FILE = "file"


@dataclass(frozen=True, slots=True)
class Spot:
    """A place that a reader should look at, and why. `side`: where the path and line hold.

    `kind` is that of the certificate's finding, if it is one. `lines` are what stands, came or went
    there: a sign (`+`, `-` or a blank) and the line; `more` of them are left out.
    """

    path: str
    line: int
    side: str
    why: str
    kind: str = ""
    lines: tuple[tuple[str, str], ...] = ()
    more: int = 0

    @classmethod
    def of(
        cls, path: str, line: int, side: str, why: str, lines: list[tuple[str, str]], kind: str = ""
    ) -> Spot:
        """Make one, with as many of its lines as anybody reads."""
        more = max(0, len(lines) - MOST_LINES)
        return cls(path, line, side, why, kind, tuple(lines[:MOST_LINES]), more)

    @classmethod
    def kept(cls, data: Mapping[str, Any]) -> Spot:
        """Give one that was kept as plain values."""
        return cls(**{**data, "lines": tuple((sign, line) for sign, line in data["lines"])})


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen. `symbols` and `lines` have moved; `plan` would give the commit, if one does.

    Of a change in which nothing moved all is to be read, as of any: `to_read` lists nothing.
    """

    certificate: Certificate
    symbols: int
    lines: int
    to_read: tuple[Spot, ...]
    plan: str = ""


def look(base: GitTree, target: GitTree, *, planning: bool = False) -> Look | None:
    """Look at a change for some seconds; `None` if that is not enough.

    `planning`: find the plan that it could have had, if a move in it is large enough for one.
    """
    try:
        with within(PATIENCE):
            return _look(base, target, planning=planning)
    except TooLongError:
        return None


def _look(base: GitTree, target: GitTree, *, planning: bool) -> Look:
    certificate = certify_commits(base, target)
    before = texts_at(base, [item.source for item in certificate.moved if item.source])
    after = texts_at(target, [item.destination for item in certificate.moved])
    flows = flows_of(certificate.moved, moved_sides(certificate.moved, before, after))
    symbols, lines = sum(len(flow.symbols) for flow in flows), sum(flow.lines for flow in flows)
    plan = ""
    if planning and lines >= SMALLEST_MOVE:
        plan = _plan(base, target)
    to_read: tuple[Spot, ...] = ()
    if certificate.moved or certificate.relocated:
        others = _other_files(base, target, certificate.other_files)
        to_read = (*places_to_read(base, target, certificate), *others)
    return Look(certificate, symbols, lines, to_read, plan)


def _plan(base: GitTree, target: GitTree) -> str:
    """Give the text of a plan that reproduces the change exactly, if there is one."""
    try:
        found = infer(base, target)
    except Refusal:
        return ""
    return found.text if found.replay.reproduces else ""


def places_to_read(base: GitTree, target: GitTree, certificate: Certificate) -> Iterator[Spot]:
    """Give what is no move, or cannot be told, with its lines."""
    found = certificate.of(*UNJUDGED, *RESIDUALS)
    paths = [place.path for finding in found for place in finding.places]
    trees = {BASE: base, TARGET: target}
    texts = {side: texts_at(tree, paths) for side, tree in trees.items()}
    for finding in found:
        place = finding.place
        lines = [
            line
            for at in sorted(finding.places, key=lambda p: (p.side, p.path, p.line))
            for line in _code(finding, at.side, texts[at.side].get(at.path), at.lines)
        ]
        if not lines:
            text = texts[place.side].get(place.path)
            lines = list(_code(finding, "", text, (place.line,)))
        yield Spot.of(
            place.path, place.line, place.side, finding.sentence, lines, kind=finding.kind
        )


def _code(
    finding: Finding, side: str, text: Text | None, numbers: tuple[int, ...]
) -> Iterator[tuple[str, str]]:
    if text is None or (not side and finding.subject == text.path):
        return
    sign = {TARGET: ADDED, BASE: REMOVED}.get(side, PLAIN)
    for number in numbers:
        if 0 < number <= len(text.lines):
            yield sign, text.lines[number - 1]


def _other_files(base: GitTree, target: GitTree, paths: tuple[str, ...]) -> Iterator[Spot]:
    """Files that are no Python: nothing vouches for them."""
    sides = [entries_at(tree, list(paths)) for tree in (base, target)]
    before, after = texts_at(base, paths), texts_at(target, paths)
    for path in paths:
        old, new = before.get(path, Text(path, ())), after.get(path, Text(path, ()))
        state = "is new" if path not in before else "is gone" if path not in after else "changed"
        lines: list[tuple[str, str]] = []
        changes = edits(old.lines, new.lines)
        if not any(path in side and side[path].binary for side in sides):
            for change in changes:
                lines += [(REMOVED, n) for n in old.lines[change.old_start : change.old_end]]
                lines += [(ADDED, n) for n in new.lines[change.new_start : change.new_end]]
        side = TARGET if path in after else BASE
        line = changes[0].new_start + 1 if changes and side == TARGET else 0
        why = f"a file that is no Python {state}"
        yield Spot.of(path, line, side, why, lines, kind=OTHER_FILE)
