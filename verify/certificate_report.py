"""The report of `repot certify`: the verdict, and only the statements worth reading."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from transforms.errors import Place
from verify.certificate.findings import CERTIFIED, RESIDUAL, Certificate, Moved
from verify.report import Finding, Report, Row, Section, Style, Verdict, counted, listed

_VERDICTS = {CERTIFIED: Verdict.HOLDS, RESIDUAL: Verdict.DIFFERS}


def certified(base: str, target: str, certificate: Certificate) -> Report:
    """Report a certificate."""
    return Report(
        command="certify",
        verdict=_VERDICTS.get(certificate.verdict, Verdict.UNJUDGED),
        headline=f"{base} .. {target}",
        sections=tuple(section for section in sections(certificate) if section.findings),
        summary=(totals(certificate), verdict_line(certificate)),
        data=certificate_data(certificate),
    )


def sections(certificate: Certificate) -> Iterable[Section]:
    """The findings: what to read first, what is listed last."""
    yield Section(
        "Residual: not part of the move",
        tuple(
            Finding(
                r.kind,
                Place(r.path, r.line),
                f"{r.why} ({r.side})",
                (Row.of("", [r.text], Style.ADDED if r.side == "target" else Style.REMOVED),)
                if r.text
                else (),
            )
            for r in certificate.residuals
        ),
    )
    yield Section(
        "Unknown: cannot be judged",
        tuple(
            Finding(
                "unknown",
                Place(u.path, u.line),
                u.why + (f" (needs Python {u.needs[0]}.{u.needs[1]})" if u.needs else ""),
            )
            for u in certificate.unknowns
        ),
    )
    yield Section("Moved", tuple(map(_moved, certificate.moved)))
    yield Section("Copied", tuple(map(_moved, certificate.copies)))
    yield Section("Derived", tuple(map(_moved, certificate.derived)))
    yield Section(
        "Observable, though no statement changed",
        tuple(Finding(o.kind, Place(o.path, o.line), o.what) for o in certificate.observables),
    )


def _moved(item: Moved) -> Finding:
    source = f"{item.source}:{item.source_line}" if item.source else ""
    message = f"{item.symbol}, from {source}" if source else item.symbol
    return Finding("moved", Place(item.destination, item.destination_line), message)


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
        return "CERTIFIED: nothing but the move."
    if certificate.verdict == RESIDUAL:
        return f"RESIDUAL: {counted(len(certificate.residuals), 'statement')} to read."
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
        "verdict": certificate.verdict,
        "added_lines": certificate.added_lines,
        "removed_lines": certificate.removed_lines,
        "relaid": certificate.relaid,
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
