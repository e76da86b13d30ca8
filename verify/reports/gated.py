"""The verdict on what `repot apply` is about to write, as its report shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from transforms.errors import Place
from transforms.result.changes import ChangeSet
from transforms.tree import Tree
from verify.kernel.verdict import BASE, CERTIFIED, TARGET, UNKNOWN
from verify.proofs.adapter import MOST
from verify.proofs.gate import STOPPING, Gate
from verify.proofs.part import ROOM
from verify.report.exhibits import Text
from verify.report.report import Finding, Row, Section, Verdict, counted
from verify.reports.certify import (
    Texts,
    assumed,
    certificate_data,
    shown,
    verdict_line,
)

NOT_JUDGED = "Not judged (--no-certify), so nothing can be written."
TOO_LARGE = (
    f"Not judged: too large. The tree holds more than {MOST >> 20} MiB of Python, and the files "
    f"that change more than {ROOM >> 10} KiB."
)
_LINE_END = re.compile(r"\r\n|\r|\n")  # where Python ends a line


def gate_verdict(gate: Gate) -> Verdict:
    """Give what stops a move from being written, as exit codes have it."""
    if not gate.stops:
        return Verdict.HOLDS
    return Verdict.DIFFERS if gate.breaks else Verdict.UNJUDGED


def gate_sections(gate: Gate, texts: Texts, plan: str) -> Iterator[Section]:
    """What stops the move and the lines that would accept it; what is taken for granted."""
    yield Section("Stops the move", shown(gate.stops, texts))
    tables = [line for table in gate.paste for line in ("", *table.split("\n"))][1:]
    paste = (Finding("paste", Place(plan), "", (Row.of("", tables),)),) if tables else ()
    yield Section("To accept, once looked at: paste into the plan, with a reason", paste)
    yield Section("In authored lines, or a listed copy", shown(gate.standing, texts), aside=True)
    yield Section("Accepted by the plan", shown(gate.accepted, texts), aside=True)
    yield assumed(gate.certificate)


def gate_line(gate: Gate) -> str:
    """The verdict in words, with what of it is accepted."""
    words = f"Verdict: {verdict_line(gate.certificate).rstrip('.')}"
    if gate.part:
        number = len(gate.certificate.of(*STOPPING))
        what = f"{counted(number, 'finding')} there" if number else "nothing there breaks"
        words = f"Judged in part, {gate.part}: {what}"
    taken = {
        "in authored lines or listed copies": len(gate.standing),
        "accepted by the plan": len(gate.accepted),
    }
    words += "".join(f"; {number:,} {how}" for how, number in taken.items() if number)
    if gate.stops:
        words += f"; {counted(len(gate.stops), 'finding')} to accept or to mend"
    return f"{words}."


def gate_data(gate: Gate, texts: Texts) -> dict[str, Any]:
    """The verdict for programs; a part in which nothing breaks certifies nothing."""
    told = gate.certificate.verdict
    return {
        **certificate_data(gate.certificate, texts),
        "certificate": UNKNOWN if gate.part and told == CERTIFIED else told,
        "standing": len(gate.standing),
        "accepted": len(gate.accepted),
        "stops": len(gate.stops),
        "paste": list(gate.paste),
    }


def gate_texts(gate: Gate, tree: Tree, changes: ChangeSet) -> Texts:
    """Read the lines of what stops the move, on both sides of it."""
    found = {}
    for finding in (*gate.stops, *gate.standing, *gate.accepted):
        for place in finding.places:
            key = place.side, place.path
            data = _data(tree, changes, *key)
            if key not in found and data is not None:
                lines = _LINE_END.split(data.decode("utf-8", "backslashreplace"))
                found[key] = Text(place.path, tuple(lines if lines[-1] else lines[:-1]))
    return found


def _data(tree: Tree, changes: ChangeSet, side: str, path: str) -> bytes | None:
    change = changes.get(path)
    if change is not None:
        blob = {BASE: change.before, TARGET: change.after}[side]
        return blob.data if blob is not None else None
    return tree.read(path) if path in tree.entries() else None
