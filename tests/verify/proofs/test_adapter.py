"""Which kernel judges; the first one's certificate in kinds of findings: nothing is lost."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

import pytest

from tests.verify.certificate.trees import F, files
from verify import certificate as first
from verify import kernel
from verify.kernel.verdict import BREAKS, EXPLAINED, NOT_READ, OBSERVED, OPEN, TEXT, Moved, Place
from verify.proofs import adapter
from verify.proofs.adapter import MOST, adapted, certify
from verify.reports.certify import certified

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


class Held:
    """Shared files in memory, which notes what is read of them."""

    def __init__(self, files: first.Files) -> None:
        self._files = files
        self.read: set[str] = set()

    def paths(self) -> Collection[str]:
        return self._files

    def read_many(self, paths: Iterable[str]) -> Mapping[str, bytes]:
        wanted = list(paths)
        self.read.update(wanted)
        return {path: self._files[path][0] for path in wanted}

    def search(self, needle: re.Pattern[bytes], paths: Iterable[str]) -> Iterable[str]:
        return [path for path in paths if needle.search(self._files[path][0])]

    def links(self) -> Mapping[str, bytes]:
        return {}


BEFORE, AFTER = files({"m.py": F}), files({"n.py": F})
CHANGED = 2 * len(F)  # bytes on both sides


def beside(size: int) -> Held:
    """Give a shared file of so many bytes of Python, and a large one that is no Python."""
    return Held(files({"x.py": "#" * (size - 1) + "\n", "data.txt": "x" * 2 * MOST}))


def test_the_second_kernel_judges_up_to_a_size_and_the_first_beyond() -> None:
    found = certify(BEFORE, AFTER, beside(MOST - CHANGED))
    assert found == kernel.certify(BEFORE, AFTER, beside(MOST - CHANGED))
    assert found.judge == ""
    found = certify(BEFORE, AFTER, beside(MOST - CHANGED + 1))
    assert found.judge == f"{adapter.WHY_FIRST} {adapter.WHY_PART.format(0, 1)}"


def test_whole_trees_count_what_they_share_once() -> None:
    shared = files({"x.py": "#" * (MOST - CHANGED - 1) + "\n"})
    assert not certify({**BEFORE, **shared}, {**AFTER, **shared}).judge
    more = files({"x.py": "#" * (MOST - CHANGED) + "\n"})
    assert certify({**BEFORE, **more}, {**AFTER, **more}).judge


def test_a_large_tree_is_not_read_to_measure_it() -> None:
    rest = Held(files({f"x{number}.py": "#" * 20_000 + "\n" for number in range(1000)}))
    assert adapter.is_large(BEFORE, AFTER, rest)
    assert len(rest.read) < 200


@pytest.mark.parametrize("size", [10, MOST])
def test_the_report_says_that_the_first_judged(size: int) -> None:
    report = certified("a", "b", certify(BEFORE, AFTER, beside(size)), {})
    said = [line for line in report.summary if "judged by the first design" in line]
    assert len(said) == (size == MOST)
    assert report.data["judge"] == "".join(said)
