"""The kinds of findings, and the verdict that follows from them."""

from __future__ import annotations

import pytest

from tests.verify.kernel.trees import explain, judge
from verify.kernel import CERTIFIED, RESIDUAL, UNKNOWN, certify
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
    assert {finding.kind for finding in found.findings} == {EXPLAINED, OBSERVED}
    [seen] = found.of(OBSERVED)
    assert (seen.subject, seen.places) == ("b", (Place("b.py", 1),))


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


def test_an_edit_has_its_lines_on_either_side() -> None:
    body = "def f():\n    one = 1\n    return one\n"
    found = judge(
        {"a.py": body}, {"a.py": "\n" + body.replace("one = 1", "one = 2\n    two = one")}
    )
    [text] = found.of(TEXT)
    assert text.places == (
        Place("a.py", 2, "base", (2,)),
        Place("a.py", 3, "target", (3, 4)),
    )
    assert (found.removed_lines, found.added_lines) == (1, 2)


def test_text_where_behaviour_breaks_is_said_once_with_its_lines() -> None:
    found = judge({"a.py": "x = 1\nprint(x)\n"}, {"a.py": "x = 1\nprint(x, 2)\n"})
    assert [finding.kind for finding in found.findings] == [BREAKS]
    assert {place.lines for place in found.findings[0].places} == {(2,)}
    body = "from decimal import Decimal\n\n\nclass Money:\n    cent = Decimal(1)\n"
    found = judge({"a.py": body}, {"a.py": body.replace("1", "2")})
    assert [finding.kind for finding in found.findings] == [BREAKS], explain(found)
    assert {(place.side, place.line) for place in found.findings[0].places} == {
        ("base", 5),
        ("target", 5),
    }


def test_what_breaks_for_several_entries_is_one_finding() -> None:
    found = Findings()
    for entry in ("till", "main", "shop.a", "shop.b"):
        found.say(BREAKS, entry, "print is called, with other values", Place("m.py", 1))
    [finding] = found.certificate().findings
    assert finding.subject == "main, shop.a and 2 more"


def test_a_module_that_moved_whole_is_told_with_what_went_along() -> None:
    base = {
        "shop/__init__.py": "",
        "shop/old/__init__.py": "from . import util\n",
        "shop/old/util.py": F,
        "shop/old/data.txt": "1\n",
        "notes.txt": "1\n",
    }
    target = {path.replace("/old/", "/new/"): text for path, text in base.items()}
    found = judge(base, {**target, "notes.txt": "2\n"})
    assert found.relocated == (
        ("shop/old/__init__.py", "shop/new/__init__.py"),
        ("shop/old/util.py", "shop/new/util.py"),
    )
    assert found.other_files == ("notes.txt",)
    assert "shop/old/data.txt went along" in explain(found)


def test_a_part_of_a_module_did_not_move_whole() -> None:
    assert judge({"a.py": F + G}, MOVED).relocated == ()


def test_what_does_not_parse_says_which_python_could() -> None:
    [found] = judge({"a.py": F}, {"a.py": f"{F}\n\nX = t'{{1}}'\nX = = 1\n"}).findings[:1]
    assert (found.kind, found.places[0].side) == (NOT_READ, "target")
    [newer] = judge({"a.py": F}, {"a.py": "def f[T = int](x): return x [\n"}).findings[:1]
    assert newer.needs == (3, 13)


def test_a_link_to_what_changed_is_another_name_for_it() -> None:
    base = {"a.py": ((F + G).encode(), 0o100644), "c.py": (b"a.py", 0o120000)}
    after = {path: (text.encode(), 0o100644) for path, text in MOVED.items()}
    found = certify(base, {**after, "c.py": base["c.py"]})
    assert [(f.kind, f.subject) for f in found.of(OPEN)] == [(OPEN, "c.py")], explain(found)
    assert certify({"c.py": base["c.py"]}, {"c.py": base["c.py"]}).findings == ()


def test_a_new_file_of_comments_alone_is_no_part_of_a_move() -> None:
    found = judge({"a.py": F + G}, {**MOVED, "b.py": f"# Ours.\n\n\n{F}", "c.py": "# import a\n"})
    assert [(f.subject, f.places[0].path) for f in found.of(TEXT)] == [("# import a", "c.py")]


def test_what_is_installed_is_said_in_several_places() -> None:
    found = '[tool.setuptools.packages.find]\ninclude = ["p*"]\n'
    settings = f'[tool.setuptools]\npy-modules = ["a"]\n\n{found}'
    base = {"pyproject.toml": settings, "a.py": F + G, "p/__init__.py": ""}
    after = {**base, "a.py": f"from p.b import f\n{G}", "p/b.py": F}
    judged = judge(base, after)
    assert judged.verdict == CERTIFIED, explain(judged)
    loose = {**base, "a.py": f"from b import f\n{G}", "b.py": F}
    assert judge(base, loose).of(BREAKS)


SPY = "from a import g\n\nprint('loaded')\n"
LATE = "def f():\n    return g()\n"


def test_an_import_that_comes_along_leads_where_some_import_led() -> None:
    base = {"a.py": f"def g():\n    return 1\n\n\n{LATE}", "spy.py": SPY}
    left = "def g():\n    return 1\n"
    honest = {**base, "a.py": left, "b.py": f"from a import g\n\n\n{LATE}"}
    assert judge(base, honest).verdict == CERTIFIED
    through = {**honest, "b.py": f"from spy import g\n\n\n{LATE}"}
    [text] = judge(base, through).of(TEXT)
    assert text.why == "this import leads to a module that nothing here led to before"
    late = LATE.replace("return", "from a import g\n\n    return")
    assert judge(base, {**honest, "b.py": late}).verdict == CERTIFIED
    for line, why in (
        ("import spy", "this import is needed by nothing"),
        ("from spy import g", "this import leads to a module that nothing here led to before"),
    ):
        hidden = LATE.replace("return", f"{line}\n\n    return")
        found = judge(base, {**honest, "b.py": f"from a import g\n\n\n{hidden}"})
        assert why in {finding.why for finding in found.of(TEXT)}, explain(found)


@pytest.mark.parametrize("guard", ["", "\n\nif __name__ == '__main__':\n    print(f())\n"])
def test_a_module_that_moved_whole_is_the_same_module(guard: str) -> None:
    base = {
        "shop/__init__.py": "",
        "shop/orders.py": F + guard,
        "till.py": "from shop import orders\n\n\ndef pay():\n    return orders.f()\n",
    }
    after = {
        "shop/__init__.py": "",
        "shop/sales/__init__.py": "",
        "shop/sales/orders.py": base["shop/orders.py"],
        "till.py": base["till.py"].replace("from shop", "from shop.sales"),
    }
    found = judge(base, after)
    gone = ["a file that can be run is gone"] if guard else []
    assert [finding.why for finding in found.of(BREAKS, OPEN, TEXT)] == gone, explain(found)


FIELD = """from __future__ import annotations


from z import Model


class A:
    x: int


class B({}):
    a: A
"""
TYPED = """from __future__ import annotations

from typing import TYPE_CHECKING

from z import Model

if TYPE_CHECKING:
    from n import A


class B({}):
    a: A
"""


@pytest.mark.parametrize(("base", "kinds"), [("Model", {ASSUMED}), ("Exception", {OBSERVED})])
def test_a_base_from_outside_is_assumed_to_leave_annotations_alone(
    base: str, kinds: set[str]
) -> None:
    gone = "from __future__ import annotations\n\n\nclass A:\n    x: int\n"
    found = judge({"m.py": FIELD.format(base)}, {"m.py": TYPED.format(base), "n.py": gone})
    assert found.verdict == CERTIFIED, explain(found)
    said = {finding.kind for finding in found.findings if finding.subject == "m.B"}
    assert kinds <= said
    assert (ASSUMED in said) == (ASSUMED in kinds)
