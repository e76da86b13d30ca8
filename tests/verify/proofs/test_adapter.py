"""The first kernel's certificate, said in kinds of findings: nothing is lost on the way."""

from __future__ import annotations

from verify import certificate as first
from verify.kernel.verdict import BREAKS, EXPLAINED, NOT_READ, OBSERVED, OPEN, TEXT, Moved, Place
from verify.proofs.adapter import adapted

OLD = first.Certificate(
    verdict=first.RESIDUAL,
    moved=(first.Moved("f", "a.py", 1, "b.py", 2),),
    copies=(first.Moved("log", "a.py", 3, "b.py", 4),),
    derived=(first.Moved("__all__", "b.py", 9, "b.py", 9),),
    residuals=(
        first.Residual("a.py", 5, "base", "changed", "this statement was changed", "x", (5,)),
        first.Residual("a.py", 6, "target", "changed", "this statement was changed", "y", (6, 7)),
        first.Residual("c.py", 1, "target", "cycle", "it imports itself"),
    ),
    observables=(
        first.Observable("b.py", 1, "module", "a module is new"),
        first.Observable("x.sh", 1, "file", "a file that is no Python is new"),
    ),
    unknowns=(
        first.Unknown("d.py", 3, "newer syntax (target)", (3, 14)),
        first.Unknown("e.py", 4, "`exec` runs code"),
    ),
    counts={"relaid": 2},
    relocated=(("a.py", "b.py"),),
)


def test_every_item_becomes_a_finding_of_its_kind() -> None:
    found = adapted(OLD)
    said = [
        (f.kind, f.sentence, [f"{p.path}:{p.line} {p.side}" for p in f.places])
        for f in found.findings
    ]
    assert said == [
        (NOT_READ, "newer syntax", ["d.py:3 target"]),
        (BREAKS, "it imports itself", ["c.py:1 target"]),
        (OPEN, "`exec` runs code", ["e.py:4 target"]),
        (TEXT, "this statement was edited", ["a.py:5 base", "a.py:6 target"]),
        (EXPLAINED, "__all__: it follows from the move", ["b.py:9 target"]),
        (OBSERVED, "a module is new", ["b.py:1 target"]),
        (OBSERVED, "a file that is no Python is new", ["x.sh:1 target"]),
    ]
    assert found.findings[0].needs == (3, 14)


def test_the_rest_is_kept() -> None:
    found = adapted(OLD)
    assert found.verdict == OLD.verdict
    assert (found.added_lines, found.removed_lines) == (OLD.added_lines, OLD.removed_lines)
    assert found.moved == (Moved("f", "a.py", 1, "b.py", 2),)
    assert found.copies == (Moved("log", "a.py", 3, "b.py", 4),)
    assert (found.relocated, found.other_files, found.relaid) == (OLD.relocated, ("x.sh",), 2)


def test_a_finding_is_looked_at_in_the_target_first() -> None:
    text = adapted(OLD).of(TEXT)[0]
    assert text.place == Place("a.py", 6, "target", (6, 7))
