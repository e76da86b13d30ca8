"""Files that cannot be read as Python, files that are none, and hostile ones."""

from __future__ import annotations

import sys

import pytest

from tests.verify.certificate.trees import BOTH, F, Tree, X, explain, files, judge, moved
from verify.certificate import CERTIFIED, RESIDUAL, UNKNOWN, certify

OPAQUE: dict[str, tuple[bytes, int, str]] = {
    "a null byte": (b"x = 1\n\0\n", 2, "a null byte"),
    "bytes that are no UTF-8": (b"x = 1\ny = '\xff'\n", 2, "bytes that are not utf-8"),
    "an unknown encoding": (b"# coding: klingon\nx = 1\n", 1, "no encoding that Python knows"),
    "no Python": (b"x = 1\n)\n", 2, "it does not parse"),
    "a chain of operators": (b"x = " + b"-" * 100_000 + b"1\n", 1, "nests too deeply"),
    "a long sum": (b"x = " + b"+".join([b"a"] * 100_000) + b"\n", 1, "nests too deeply"),
    "many attributes": (b"x = a" + b".b" * 100_000 + b"\n", 1, "nests too deeply"),
    "many brackets": (b"x = " + b"(" * 5000 + b")" * 5000 + b"\n", 1, "it does not parse"),
    "many branches": (b"if a:\n pass\n" + b"elif b:\n pass\n" * 20_000, 1, "nests too deeply"),
    "too many bytes": (b"#" * (9 << 20) + b"\n", 1, "larger than 8 MiB"),
}


@pytest.mark.parametrize("what", OPAQUE)
@pytest.mark.parametrize("side", ["base", "target"])
def test_a_changed_file_is_not_judged_with(what: str, side: str) -> None:
    data, line, why = OPAQUE[what]
    good, bad = {"m.py": (F.encode(), 0o100644)}, {"m.py": (data, 0o100644)}
    found = certify(bad, good) if side == "base" else certify(good, bad)
    assert found.verdict == UNKNOWN
    assert [(u.path, u.line) for u in found.unknowns] == [("m.py", line)]
    assert why in found.unknowns[0].why


def test_a_deep_but_readable_file_is_not_judged_or_seen_to_differ() -> None:
    deep = "x = " + "+".join(["a"] * 2000) + "\n"
    assert judge({"m.py": F}, {"m.py": deep}).verdict in {UNKNOWN, RESIDUAL}


NEWER = {
    "try:\n    pass\nexcept* ValueError:\n    pass\n": (3, 11),
    "type X = int\n": (3, 12),
    "def f[T](x: T): ...\n": (3, 12),
    "class A[T]: ...\n": (3, 12),
    "x = f'{'a'}'\n": (3, 12),
    "def f[T = int](x: T): ...\n": (3, 13),
    "x = t'{a}'\n": (3, 14),
}


@pytest.mark.parametrize("text", NEWER)
def test_newer_syntax_says_which_python_reads_it(text: str) -> None:
    found = judge({"m.py": F}, {"m.py": text})
    if NEWER[text] <= sys.version_info[:2]:
        assert found.unknowns == ()
    else:
        assert found.verdict == UNKNOWN
        assert [u.needs for u in found.unknowns] == [NEWER[text]]


WHOLE: dict[str, tuple[Tree, Tree, str, str]] = {
    "a link changed": ({"l!l": "a"}, {"l!l": "b"}, RESIDUAL, "link"),
    "a file became a link": ({"m.py": F}, {"m.py!l": "b"}, RESIDUAL, "link"),
    "a submodule changed": ({"s!s": ""}, {"s!s": "x"}, RESIDUAL, "link"),
    "a compiled module came": ({}, {"m.so": "x"}, RESIDUAL, "binary"),
    "a mode changed": ({"m.py": F}, {"m.py!x": F}, CERTIFIED, "mode"),
    "a stub changed": ({"m.pyi": "x"}, {"m.pyi": "y"}, CERTIFIED, "file"),
    "a document changed": ({"a.md": "x"}, {"a.md": "y"}, CERTIFIED, "file"),
    "an empty module came": ({}, {"m.py": ""}, CERTIFIED, "module"),
}


@pytest.mark.parametrize("what", WHOLE)
def test_of_whole_files(what: str) -> None:
    before, after, verdict, kind = WHOLE[what]
    found = judge(before, after)
    assert found.verdict == verdict, explain(found)
    noted = [r.kind for r in found.residuals] + [o.kind for o in found.observables]
    assert kind in noted


def test_a_script_without_a_suffix_is_python() -> None:
    found = judge(
        {"run": "#!/usr/bin/env python3\nx = 1\n"}, {"run": "#!/usr/bin/env python3\nx = 2\n"}
    )
    assert found.verdict == RESIDUAL


def test_moving_between_encodings_keeps_the_text() -> None:
    code = "def f():\n    return 'é'\n"
    base = {"m.py": (f"# coding: latin-1\n\n{code}\n\n{X}".encode("latin-1"), 0o100644)}
    target = {
        "m.py": (f"# coding: latin-1\n\n{X}".encode("latin-1"), 0o100644),
        "n.py": (code.encode(), 0o100644),
    }
    found = certify(base, target)
    assert found.verdict == CERTIFIED, explain(found)


def test_whole_trees_and_what_differs_give_the_same_certificate() -> None:
    before, after = moved(BOTH, F, X, u_py="import m\n\nm.f()\n")
    base, target = files(before), files(after)

    class Rest:
        def paths(self) -> list[str]:
            return ["u.py"]

        def read_many(self, paths: object) -> dict[str, bytes]:
            return {path: base[path][0] for path in paths}  # type: ignore[attr-defined]

        def search(self, needle: object, paths: object) -> list[str]:
            return [path for path in paths if needle.search(base[path][0])]  # type: ignore[attr-defined]

        def links(self) -> dict[str, bytes]:
            return {}

    less = {path: file for path, file in base.items() if path != "u.py"}
    more = {path: file for path, file in target.items() if path != "u.py"}
    assert certify(base, target) == certify(less, more, Rest())


def test_nothing_changed() -> None:
    found = judge({"m.py": F}, {"m.py": F})
    assert (found.verdict, found.moved) == (CERTIFIED, ())


LONG = 200_000
COSTLY = {
    "a word": "a" * LONG,
    "a path that ends oddly": "a." * LONG + "!",
    "a path of colons": "a:" * LONG,
    "imports in one line": "import a " * LONG,
    "dots and blanks": ". " * LONG,
}


@pytest.mark.parametrize("text", COSTLY.values(), ids=COSTLY)
def test_a_long_text_costs_no_more_than_its_length(text: str) -> None:
    """Were it the square of that, this would not end."""
    code = f"def f():\n    return '{text}'\n"
    rest = {"pyproject.toml": f"x = '{text}'\n", "u.py": f"V = '{text} m n f'\nimport n.f\n"}
    before = {"m.py": f"{code}\n\n{X}", **rest}
    found = judge(before, {"n.py": code.replace("return '", "return 'b"), "m.py": X, **rest})
    assert found.verdict in {RESIDUAL, UNKNOWN}, explain(found)
