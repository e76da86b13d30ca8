"""The gate of `repot apply`: what it is about to write is judged, and what breaks stops it.

What lies in the plan's own authored lines, or is a copy that the plan lists, is accepted by
standing there; what these lines break elsewhere is not. All else has to be accepted by the plan, by
kind, module and symbol. This changes what is written, never a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from transforms.reading.accepts import Accepts, pasted
from transforms.reading.model import OF_THE_VERDICT, Plan
from transforms.result.changes import Blob
from transforms.result.outcome import Outcome
from transforms.tree import Tree
from transforms.tree.names import Names
from verify.kernel.verdict import BREAKS, NOT_READ, OPEN, TARGET, Certificate, Finding, Place
from verify.proofs.certify import certify_changes

STOPPING = (NOT_READ, BREAKS, OPEN)  # kinds of findings that stop a move


@dataclass(frozen=True, slots=True)
class Gate:
    """What was judged, and what of it stops a move from being written.

    `standing` lies in authored lines or is a listed copy, `accepted` is accepted by the plan;
    `paste` are the tables that would accept what is in `stops`.
    """

    certificate: Certificate
    standing: tuple[Finding, ...]
    accepted: tuple[Finding, ...]
    stops: tuple[Finding, ...]
    paste: tuple[str, ...]

    @property
    def part(self) -> str:
        """What alone was judged of a tree that is too large to be judged as a whole, in words."""
        return self.certificate.judge

    @property
    def breaks(self) -> bool:
        """Tell whether behaviour would differ, which is worse than what cannot be told."""
        return any(finding.kind == BREAKS for finding in self.stops)


def gate(plan: Plan, tree: Tree, outcome: Outcome) -> Gate | None:
    """Judge what a plan gives, or give none of a change that is too large for that.

    Raises `Refusal` for an [[accept]] that nothing needs, where the whole tree is judged.
    """
    certificate = certify_changes(tree, outcome.changes)
    if certificate is None:
        return None
    accepts = Accepts(plan)
    found = weighed(plan, tree, outcome, certificate, accepts)
    if not found.part:
        accepts.refuse_unneeded(OF_THE_VERDICT)
    return found


def weighed(
    plan: Plan,
    tree: Tree,
    outcome: Outcome,
    certificate: Certificate,
    accepts: Accepts | None = None,
) -> Gate:
    """Tell what of a certificate a plan accepts, and what it does not."""
    accepts, names = accepts or Accepts(plan), Names(tree, plan.roots)
    own = _Own(plan, outcome, certificate)
    standing: list[Finding] = []
    accepted: list[Finding] = []
    stops: list[Finding] = []
    paste: dict[str, None] = {}
    for finding in certificate.of(*STOPPING):
        modules, symbol = _named(finding, names)
        if own.has(finding):
            standing.append(finding)
        elif modules and accepts.covers(finding.kind, modules, symbol):
            accepted.append(finding)
        else:
            stops.append(finding)
            if modules and finding.kind in OF_THE_VERDICT:
                paste[pasted(finding.kind, modules[0], symbol)] = None
    return Gate(certificate, tuple(standing), tuple(accepted), tuple(stops), tuple(paste))


def _named(finding: Finding, names: Names) -> tuple[list[str], str]:
    """Give the modules that a finding may be accepted by, and the symbol."""
    paths = list(dict.fromkeys([finding.place.path, *(place.path for place in finding.places)]))
    modules = [names.dotted(path) for path in paths if path.endswith(".py")]
    modules += [path for path in paths if path]
    symbol = finding.subjects[0]
    return modules, "" if symbol in modules else symbol


class _Own:
    """The lines that a plan brings or takes away literally, and the copies that it lists."""

    def __init__(self, plan: Plan, outcome: Outcome, certificate: Certificate) -> None:
        self._changes = outcome.changes
        # Where an old name is kept by a module of warnings, the plan has asked for that module.
        self._kept = tuple(item.old_path for item in outcome.relocated if item.kept)
        asked = {str(source.module) for source in plan.sources if source.old}
        self._asked = {s.path for s in outcome.sources if {s.path, s.module} & asked}
        listed = {(item.path, name) for item in outcome.destinations for name in item.copied}
        # What is done to a copied name at once (`logger.addHandler(...)`) is copied with it.
        self._copies = {
            (copy.destination, copy.destination_line)
            for copy in certificate.copies
            if (copy.destination, re.split(r"\W", copy.symbol, maxsplit=1)[0]) in listed
        }
        self._lines: dict[tuple[str, bool], set[str]] = {}
        for item in outcome.authored:
            for is_new, rows in ((True, item.added), (False, item.removed)):
                known = self._lines.setdefault((item.path, is_new), {""})
                known.update(row.strip() for row in rows)

    def has(self, finding: Finding) -> bool:
        """Tell whether a finding lies in these lines and copies, with all its places."""
        return bool(finding.places) and all(
            (place.side == TARGET and (place.path, place.line) in self._copies)
            or self._keeps(place.path, finding)
            or set(self._text(place)) <= self._lines.get((place.path, place.side == TARGET), set())
            for place in finding.places
        )

    def _keeps(self, path: str, finding: Finding) -> bool:
        """Tell whether a finding is of a module, or a hook in one, that keeps old names."""
        if any(path == kept or path.startswith(f"{kept}/") for kept in self._kept):
            return True
        names = {subject.rpartition(".")[2] for subject in finding.subjects}
        return path in self._asked and names <= {"__getattr__", "__dir__"}

    def _text(self, place: Place) -> Iterator[str]:
        change = self._changes.get(place.path)
        blob = None if change is None else change.after if place.side == TARGET else change.before
        rows = _rows(blob)
        for number in place.lines or (place.line,):
            yield rows[number - 1].strip() if 0 < number <= len(rows) else "\0"


def _rows(blob: Blob | None) -> list[str]:
    return blob.data.decode("utf-8", "backslashreplace").splitlines() if blob else []
