"""The report of `repot certify`: the verdict, and the findings in the order of their kinds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from transforms.errors import Place
from transforms.tree import GitTree
from verify.kernel.trees import versions
from verify.kernel.verdict import (
    ASSUMED,
    BASE,
    BREAKS,
    CERTIFIED,
    EXPLAINED,
    KINDS,
    NOT_READ,
    OBSERVED,
    OPEN,
    RESIDUAL,
    RESIDUALS,
    TARGET,
    TEXT,
    UNJUDGED,
    Certificate,
    Moved,
)
from verify.kernel.verdict import Finding as Found
from verify.kernel.verdict import Place as Spot
from verify.report.decision import Level
from verify.report.exhibits import Hunk, Sides, Text
from verify.report.hunks import added_lines, place_hunks
from verify.report.marks import Mark, sided
from verify.report.report import (
    MOST_FOLDED,
    Finding,
    Report,
    Row,
    Section,
    Verdict,
    counted,
    listed,
    outside_ascii,
    shortened,
)
from verify.review.moved_code import texts_at

_VERDICTS = {CERTIFIED: Verdict.HOLDS, RESIDUAL: Verdict.DIFFERS}
TITLES = {
    NOT_READ: "Not read: it names what moved and does not parse",
    BREAKS: "Breaks: behaviour differs",
    OPEN: "Open: a lookup at run time that can reach what moved",
    TEXT: "Text: not part of the move",
    ASSUMED: "Assumed: lookups at run time that name nothing that moved",
    EXPLAINED: "Explained: what the move entails",
    OBSERVED: "Observable, though no statement changed",
}
MARKS = {
    NOT_READ: "cannot be judged",
    BREAKS: "behaviour differs",
    OPEN: "cannot be judged",
    TEXT: "not part of the move",
}
_MOST_PLACES = 8  # of one finding

# The files of one side (`base` or `target`), for the findings that stand in them.
Texts = Mapping[tuple[str, str], Text]


def certified(base: str, target: str, certificate: Certificate, texts: Texts) -> Report:
    """Report a certificate."""
    return Report(
        command="certify",
        verdict=verdict_of(certificate),
        headline=f"{base} .. {target}",
        sections=tuple(s for s in sections(certificate, texts) if s.findings),
        summary=(totals(certificate), *scope_words(certificate), verdict_line(certificate)),
        marks=tuple(marks(certificate)),
        data=certificate_data(certificate, texts),
        light=level_of(certificate),
    )


def level_of(certificate: Certificate) -> Level:
    """Red is what breaks; what differs and breaks nothing, or cannot be judged, is to be read."""
    if certificate.of(BREAKS):
        return Level.RED
    return Level.GREEN if certificate.verdict == CERTIFIED else Level.AMBER


def verdict_of(certificate: Certificate) -> Verdict:
    """Give what a certificate comes to, as exit codes have it."""
    return _VERDICTS.get(certificate.verdict, Verdict.UNJUDGED)


def residual_texts(base: GitTree, target: GitTree, certificate: Certificate) -> Texts:
    """Read both sides of the files that hold what is to be read, by side and path."""
    texts = {}
    found = certificate.of(*RESIDUALS, *UNJUDGED)
    paths = sorted({place.path for finding in found for place in finding.places if place.path})
    for side, tree in ((BASE, base), (TARGET, target)):
        for path, text in texts_at(tree, paths).items():
            texts[side, path] = text
    return texts


def sections(certificate: Certificate, texts: Texts) -> Iterable[Section]:
    """The findings: what to read first, what is listed last."""
    for kind in (NOT_READ, BREAKS, OPEN, TEXT):
        yield Section(TITLES[kind], shown(certificate.of(kind), texts))
    yield assumed(certificate)
    yield Section("Modules that moved whole", _relocated(certificate), aside=True)
    yield Section("Moved", tuple(map(moved_finding, certificate.moved)), aside=True)
    yield Section("Copied", tuple(map(moved_finding, certificate.copies)), aside=True)
    yield from folded(certificate)


def assumed(certificate: Certificate) -> Section:
    """What the verdict takes for granted."""
    return Section(TITLES[ASSUMED], shown(certificate.assumptions), aside=True)


def folded(certificate: Certificate) -> Iterator[Section]:
    """What the move entails, and what a program could notice: counted, and listed where asked."""
    for kind in (EXPLAINED, OBSERVED):
        found = certificate.of(kind)
        reasons = Counter[str]()
        for finding in found:
            reasons[finding.why] += max(1, len(finding.places))
        is_long = len(found) > MOST_FOLDED and len(reasons) < len(found)
        total = f"In all: {listed(reasons)}." if is_long else ""
        yield Section(TITLES[kind], shown(found), total, aside=True, folded=True)


def shown(findings: Iterable[Found], texts: Texts | None = None) -> tuple[Finding, ...]:
    """Word findings, each with its places and, where `texts` has them, their lines."""
    return tuple(_shown(finding, texts or {}) for finding in findings)


def _shown(finding: Found, texts: Texts) -> Finding:
    first = finding.place
    hunks = finding_hunks(finding, texts)
    shown = {(hunk.path, row.number) for hunk in hunks for row in hunk.rows}
    rows = list(outside_ascii("\n".join(added_lines(hunks))))
    others = [p for p in finding.places if p != first and (p.path, p.line) not in shown]
    rows += spots_row(place for place in others if not place.lines)
    message = finding.sentence + (" (before the change)" if first.side == BASE else "")
    if finding.needs:
        message += f" (needs Python {finding.needs[0]}.{finding.needs[1]})"
    return Finding(finding.kind, _where(first), message, tuple(rows), hunks=hunks)


def finding_hunks(finding: Found, texts: Texts, looked: tuple[Spot, ...] = ()) -> tuple[Hunk, ...]:
    """Give what came and went at the places of a finding, and of others the line to look at.

    `looked` are these places, where they are not the finding's first one alone.

    Lines of one file that went, and of one other that came, are one statement that was edited as it
    moved.
    """
    lines: dict[str, dict[str, set[int]]] = {}
    for place in finding.places:
        lines.setdefault(place.path, {BASE: set(), TARGET: set()})[place.side] |= {*place.lines}
    went = [path for path, sides in lines.items() if sides[BASE] and not sides[TARGET]]
    came = [path for path, sides in lines.items() if sides[TARGET] and not sides[BASE]]
    pairs = [(path, path) for path in sorted(lines)]
    if len(went) == len(came) == 1:
        pairs = [p for p in pairs if p[0] not in (*went, *came)] + [(went[0], came[0])]
    spots = _spots(finding, texts, looked or (finding.place,))
    found: list[Hunk] = []
    for old_path, new_path in sorted(pairs):
        old = texts.get((BASE, old_path)) or Text(old_path, ())
        new = texts.get((TARGET, new_path)) or Text(new_path, ())
        gone, come = lines[old_path][BASE], lines[new_path][TARGET]
        at = [p.line for p in spots if p.path == new_path and p.side == TARGET]
        found += place_hunks(old, new, gone, come, at)
        before = [p.line for p in spots if p.path == old_path and p.side == BASE]
        found += place_hunks(old, old, (), (), before)
    return tuple(found)


def _spots(finding: Found, texts: Texts, looked: tuple[Spot, ...]) -> list[Spot]:
    """The places to look at where no line came or went, and that are no file as a whole."""
    lines = [p for p in looked if not p.lines and finding.subject != p.path]
    return [place for place in lines if (place.side, place.path) in texts]


def spots_row(places: Iterable[Spot]) -> tuple[Row, ...]:
    """List places that are shown no further."""
    every = [_spot(place) for place in places]
    if not every:
        return ()
    spots = every[:_MOST_PLACES]
    if len(every) > len(spots):
        spots.append(f"... {counted(len(every) - len(spots), 'more place')}")
    return (Row.of("also at", spots),)


def _where(place: Spot) -> Place:
    return Place(place.path, place.line or None)


def _spot(place: Spot) -> str:
    return f"{_where(place)}{' (before the change)' if place.side == BASE else ''}"


def marks(certificate: Certificate) -> Iterator[Mark]:
    """The same places for a forge. What is gone has no line in the target."""
    for finding in certificate.of(*MARKS):
        first = finding.place
        place, why = sided(first.path, first.line, first.side, finding.sentence)
        yield Mark(place, MARKS[finding.kind], why)


def _relocated(certificate: Certificate) -> tuple[Finding, ...]:
    return tuple(
        Finding("relocated", Place(old), f"-> {new}") for old, new in certificate.relocated
    )


def moved_finding(item: Moved, sides: Sides | None = None) -> Finding:
    """One statement that stands elsewhere now."""
    message = f"{item.symbol}, from {item.source}:{item.source_line}"
    place = Place(item.destination, item.destination_line)
    return Finding("moved", place, message, sides=sides)


def totals(certificate: Certificate) -> str:
    """One line of counts."""
    parts = {
        "moved": len(certificate.moved),
        "copied": len(certificate.copies),
        "laid out anew": certificate.relaid,
    }
    read = f"{counted(certificate.added_lines, 'added line')} and "
    read += f"{counted(certificate.removed_lines, 'removed line')} to read"
    return f"Statements: {listed({k: n for k, n in parts.items() if n}) or 'none moved'}; {read}."


def scope_words(certificate: Certificate) -> Iterator[str]:
    """Say for which Pythons the verdict holds, where the tree says which, and who else judged."""
    if certificate.pythons and not certificate.pythons.startswith(versions.EVERY):
        yield f"Judged for {certificate.pythons}."
    if certificate.judge:
        yield certificate.judge


def certified_words(certificate: Certificate) -> str:
    """Say that it is certified, and on how many assumptions."""
    number = len(certificate.assumptions)
    return f"CERTIFIED, on {counted(number, 'assumption')}" if number else "CERTIFIED"


def verdict_line(certificate: Certificate) -> str:
    """The verdict in words."""
    if certificate.verdict == CERTIFIED:
        others = len(certificate.other_files)
        words = f"{certified_words(certificate)}: nothing but the move"
        if not others:
            return f"{words}."
        return f"{words} in Python; {counted(others, 'other file')} changed."
    if certificate.verdict == RESIDUAL:
        places = counted(len(certificate.of(*RESIDUALS)), "place")
        return f"RESIDUAL: {places} to read{breaking(certificate)}."
    return f"UNKNOWN: {counted(len(certificate.of(*UNJUDGED)), 'place')} cannot be judged."


def breaking(certificate: Certificate) -> str:
    """Count among what is to be read where a program would notice."""
    number, whole = len(certificate.of(BREAKS)), len(certificate.of(*RESIDUALS))
    if not number:
        return ""
    return f", {f'{number:,} of them ' if number < whole else ''}where behaviour differs"


def certificate_data(certificate: Certificate, texts: Texts) -> dict[str, Any]:
    """The certificate for programs.

    `residuals`, `unknowns`, `observables` and `derived` say of each place what `findings` say by
    kind: programs of `schema` 1 read them.
    """

    def moved(items: Iterable[Moved]) -> list[dict[str, Any]]:
        return [
            {
                "symbol": item.symbol,
                "from": {"path": item.source, "line": item.source_line},
                "to": {"path": item.destination, "line": item.destination_line},
            }
            for item in items
        ]

    return {
        "certificate": certificate.verdict,
        "assumptions": len(certificate.assumptions),
        "findings": [_finding_data(finding) for finding in certificate.findings],
        "added_lines": certificate.added_lines,
        "removed_lines": certificate.removed_lines,
        "relaid": certificate.relaid,
        "pythons": certificate.pythons,
        "judge": certificate.judge,
        "relocated": [{"from": old, "to": new} for old, new in certificate.relocated],
        "other_files": list(certificate.other_files),
        "moved": moved(certificate.moved),
        "copies": moved(certificate.copies),
        "derived": moved(
            Moved(finding.subject, "", 0, place.path, place.line)
            for finding in certificate.of(EXPLAINED)
            for place in finding.places
            if place.side == TARGET
        ),
        "residuals": [
            {"path": p.path, "line": p.line, "side": p.side, "kind": f.kind, "why": f.sentence,
             "text": _excerpt(p, texts), "lines": list(p.lines)}
            for f, p in _each(certificate, *RESIDUALS)
        ],
        "unknowns": [
            {"path": p.path, "line": p.line, "why": f.sentence, "needs": f.needs}
            for f, p in _each(certificate, *UNJUDGED)
        ],
        "observables": [
            {"path": p.path, "line": p.line, "kind": f.kind, "what": f.sentence}
            for f, p in _each(certificate, OBSERVED)
        ],
        "counts": {kind: len(certificate.of(kind)) for kind in KINDS if certificate.of(kind)},
    }  # fmt: skip


def _each(certificate: Certificate, *kinds: str) -> Iterator[tuple[Found, Spot]]:
    for finding in certificate.of(*kinds):
        for place in finding.places or (finding.place,):
            yield finding, place


def _finding_data(finding: Found) -> dict[str, Any]:
    return {
        "kind": finding.kind,
        "subject": finding.subject,
        "why": finding.why,
        "needs": finding.needs,
        "places": [
            {"path": p.path, "line": p.line, "side": p.side, "lines": list(p.lines)}
            for p in finding.places
        ],
    }


def _excerpt(place: Spot, texts: Texts) -> str:
    text = texts.get((place.side, place.path))
    if text is None or not 0 < place.line <= len(text.lines):
        return ""
    return shortened(text.lines[place.line - 1].strip())
