"""The kinds of findings, and the verdict that follows from them."""

from __future__ import annotations

import pytest

from tests.verify.kernel.trees import explain, judge
from verify.kernel import CERTIFIED, RESIDUAL, UNKNOWN
from verify.kernel.verdict import (
    ASSUMED,
    BREAKS,
    EXPLAINED,
    KINDS,
    NOT_READ,
    OBSERVED,
    OPEN,
    TEXT,
    Findings,
    Place,
)

F = "def f():\n    return 1\n"
G = "\n\ndef g():\n    return f()\n"
MOVED = {"a.py": f"from b import f\n{G}", "b.py": F}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_its_verdict(kind: str) -> None:
    found = Findings()
    found.say(kind, "m", "it is so", Place("m.py", 1))
    assert found.certificate().verdict == KINDS[kind]


def test_residual_outweighs_unknown_outweighs_certified() -> None:
    found = Findings()
    for kind, verdict in ((EXPLAINED, CERTIFIED), (OPEN, UNKNOWN), (TEXT, RESIDUAL)):
        found.say(kind, "m", "it is so")
        assert found.certificate().verdict == verdict


def test_findings_with_one_cause_are_one() -> None:
    found = Findings()
    for line in (3, 1, 3):
        found.say(BREAKS, "m", "it is so", Place("m.py", line))
    [finding] = found.certificate().findings
    assert [place.line for place in finding.places] == [1, 3]


def test_a_move_lists_what_it_moved_and_explains_its_imports() -> None:
    found = judge({"a.py": F + G}, MOVED)
    assert found.verdict == CERTIFIED, explain(found)
    assert [(m.symbol, m.source, m.destination) for m in found.moved] == [("f", "a.py", "b.py")]
    assert {finding.kind for finding in found.findings} == {EXPLAINED}


@pytest.mark.parametrize(
    ("what", "kind", "after"),
    [
        ("a body was edited", TEXT, {**MOVED, "b.py": F.replace("1", "2")}),
        ("a comment is new", TEXT, {**MOVED, "b.py": f"{F}\n\n# more\nX = 1\n"}),
        ("an import is needed by nothing", TEXT, {**MOVED, "b.py": f"import os\n\n\n{F}"}),
        ("an import is missing", BREAKS, {**MOVED, "a.py": G.lstrip()}),
        ("a file does not parse", NOT_READ, {**MOVED, "b.py": "def f(:\n"}),
        ("a mode of prose", OBSERVED, {**MOVED, "README.md": "# hi\n"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_found_has_its_kind(what: str, kind: str, after: dict[str, str]) -> None:
    found = judge({"a.py": F + G}, after)
    assert kind in {finding.kind for finding in found.findings}, f"{what}: {explain(found)}"


def test_a_lookup_that_names_nothing_that_moved_is_an_assumption() -> None:
    load = "import importlib\n\n\ndef load(name):\n    return importlib.import_module(name)\n"
    base = {"a.py": F + G + "\n\nZ = 1\n", "load.py": f"import a\n\n\n{load}"}
    found = judge(base, {**base, "a.py": f"{G.lstrip()}\n\nZ = 1\n".replace("f()", "Z"), "b.py": F})
    assert {*found.of(ASSUMED)} == {*found.assumptions}
