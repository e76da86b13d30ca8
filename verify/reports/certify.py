"""The report of `repot certify`: the verdict, and only the statements worth reading."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from transforms.errors import Place
from transforms.tree import GitTree
from verify.certificate import CERTIFIED, RESIDUAL, Certificate, Moved, Residual
from verify.report.exhibits import Excerpt, Sides, Text
from verify.report.marks import Mark, sided
from verify.report.report import (
    Finding,
    Report,
    Row,
    Section,
    Style,
    Verdict,
    counted,
    cut,
    listed,
    outside_ascii,
)
from verify.review.moved_code import texts_at

_VERDICTS = {CERTIFIED: Verdict.HOLDS, RESIDUAL: Verdict.DIFFERS}
_NEAR = 12  # lines between the two sides of one change

# The files of one side (`base` or `target`), for the residuals that stand in them.
Texts = Mapping[tuple[str, str], Text]


def certified(base: str, target: str, certificate: Certificate, texts: Texts) -> Report:
    """Report a certificate."""
    return Report(
        command="certify",
        verdict=_VERDICTS.get(certificate.verdict, Verdict.UNJUDGED),
        headline=f"{base} .. {target}",
        sections=tuple(s for s in sections(certificate, texts) if s.findings),
        summary=(totals(certificate), verdict_line(certificate)),
        marks=tuple(marks(certificate)),
        data=certificate_data(certificate),
    )


def residual_texts(base: GitTree, target: GitTree, certificate: Certificate) -> Texts:
    """Read the lines of the files that hold residuals, by side and path."""
    texts = {}
    for side, tree in (("base", base), ("target", target)):
        paths = sorted({r.path for r in certificate.residuals if r.side == side and r.lines})
        for path, text in texts_at(tree, paths).items():
            texts[side, path] = text
    return texts


def sections(certificate: Certificate, texts: Texts) -> Iterable[Section]:
    """The findings: what to read first, what is listed last."""
    yield Section("Residual: not part of the move", residual_findings(certificate, texts))
    yield Section("Unknown: cannot be judged", unknown_findings(certificate))
    yield Section("Modules that moved whole", _relocated(certificate), aside=True)
    yield Section("Moved", tuple(map(moved_finding, certificate.moved)), aside=True)
    yield Section("Copied", tuple(map(moved_finding, certificate.copies)), aside=True)
    yield Section("Derived", tuple(map(moved_finding, certificate.derived)), aside=True)
    yield observed(certificate)


def residual_findings(certificate: Certificate, texts: Texts) -> tuple[Finding, ...]:
    """What is not part of the move, each with its lines."""
    return tuple(_residual(group, texts) for group in grouped(certificate.residuals))


def unknown_findings(certificate: Certificate) -> tuple[Finding, ...]:
    """What keeps a certificate from being given."""
    return tuple(
        Finding(
            "unknown",
            Place(u.path, u.line),
            u.why + (f" (needs Python {u.needs[0]}.{u.needs[1]})" if u.needs else ""),
        )
        for u in certificate.unknowns
    )


def observed(certificate: Certificate) -> Section:
    """What a program could notice."""
    return Section(
        "Observable, though no statement changed",
        tuple(Finding(o.kind, Place(o.path, o.line), o.what) for o in certificate.observables),
        aside=True,
    )


def grouped(residuals: tuple[Residual, ...]) -> Iterator[tuple[Residual, ...]]:
    """Put the two sides of one changed statement together, base first."""
    waiting = list(residuals)
    while waiting:
        first = waiting.pop(0)
        twin = waiting[0] if waiting else first
        if (
            {first.side, twin.side} == {"base", "target"}
            and first.kind == twin.kind == "changed"
            and first.path == twin.path
            and twin.line - first.line <= _NEAR
        ):
            waiting.pop(0)
            yield (first, twin) if first.side == "base" else (twin, first)
        else:
            yield (first,)


def _residual(group: tuple[Residual, ...], texts: Texts) -> Finding:
    """One residual: what is gone, what came, and why it is no move."""
    last = group[-1]
    rows = []
    for item in group:
        style = Style.ADDED if item.side == "target" else Style.REMOVED
        text = texts.get((item.side, item.path))
        excerpt = None
        if text is not None and item.lines:
            excerpt = Excerpt(text, tuple(n for n in item.lines if 0 < n <= len(text.lines)))
        shown = (excerpt.lines if excerpt else []) or [item.text]
        if any(shown):
            rows.append(Row.of("", cut(shown), style, excerpt))
        if item.side == "target":
            rows += outside_ascii("\n".join(shown))
    side = "" if len(group) > 1 else f" ({last.side})"
    return Finding(last.kind, Place(last.path, last.line), f"{last.why}{side}", tuple(rows))


def marks(certificate: Certificate) -> Iterator[Mark]:
    """The same places for a forge. What is gone has no line in the target."""
    for *_, last in grouped(certificate.residuals):
        place, why = sided(last.path, last.line, last.side, last.why)
        yield Mark(place, "not part of the move", why)
    for unknown in certificate.unknowns:
        yield Mark(Place(unknown.path, unknown.line), "cannot be judged", unknown.why)


def _relocated(certificate: Certificate) -> tuple[Finding, ...]:
    return tuple(
        Finding("relocated", Place(old), f"-> {new}") for old, new in certificate.relocated
    )


def moved_finding(item: Moved, sides: Sides | None = None) -> Finding:
    """One statement that stands elsewhere now."""
    source = f"{item.source}:{item.source_line}" if item.source else ""
    message = f"{item.symbol}, from {source}" if source else item.symbol
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


def verdict_line(certificate: Certificate) -> str:
    """The verdict in words."""
    if certificate.verdict == CERTIFIED:
        others = sum(o.kind == "file" for o in certificate.observables)
        if not others:
            return "CERTIFIED: nothing but the move."
        return (
            f"CERTIFIED: nothing but the move in Python; {counted(others, 'other file')} changed."
        )
    if certificate.verdict == RESIDUAL:
        places = sum(1 for _ in grouped(certificate.residuals))
        return f"RESIDUAL: {counted(places, 'place')} to read."
    return f"UNKNOWN: {counted(len(certificate.unknowns), 'place')} cannot be judged."


def certificate_data(certificate: Certificate) -> dict[str, Any]:
    """The certificate for programs."""

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
        "added_lines": certificate.added_lines,
        "removed_lines": certificate.removed_lines,
        "relaid": certificate.relaid,
        "relocated": [{"from": old, "to": new} for old, new in certificate.relocated],
        "moved": moved(certificate.moved),
        "copies": moved(certificate.copies),
        "derived": moved(certificate.derived),
        "residuals": [
            {"path": r.path, "line": r.line, "side": r.side, "kind": r.kind, "why": r.why,
             "text": r.text, "lines": list(r.lines)}
            for r in certificate.residuals
        ],
        "unknowns": [
            {"path": u.path, "line": u.line, "why": u.why, "needs": u.needs}
            for u in certificate.unknowns
        ],
        "observables": [
            {"path": o.path, "line": o.line, "kind": o.kind, "what": o.what}
            for o in certificate.observables
        ],
        "counts": dict(certificate.counts),
    }  # fmt: skip
