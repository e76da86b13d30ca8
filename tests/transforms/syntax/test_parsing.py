"""Whatever the input, parsing ends in a tree or in a refusal that names the place."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.documents import ROOT
from transforms.errors import Refusal
from transforms.scopes.resolve import resolve
from transforms.syntax.parsing import parse, parse_expression, parse_function_type


def _refusal(data: bytes | str) -> Refusal:
    with pytest.raises(Refusal) as caught:
        parse(data, "pkg/m.py")
    assert caught.value.place is not None
    assert caught.value.place.path == "pkg/m.py"
    assert caught.value.next_step
    return caught.value


def _rows(*rows: tuple) -> list:
    return [pytest.param(*row[1:], id=row[0]) for row in rows]


# Source, kind, line, excerpt.
REFUSED = _rows(
    ("a statement cut short", b"a = 1\nb = (\n", "syntax-error", 2, "b = ("),
    ("a statement of Python 2", b"\nprint 'x'\n", "syntax-error", 2, "print 'x'"),
    ("a bad indent", b"if a:\nb\n", "syntax-error", 2, "b"),
    ("a null byte", b"a = 1\nb = \0\n", "syntax-error", 2, "b = \0"),
    ("bytes that are no UTF-8", b"a = 1\nb = '\xff'\n", "syntax-error", 2, None),
    ("an unknown encoding", b"# coding: klingon\n", "syntax-error", None, None),
    ("a lone surrogate", "a = '\ud800'", "syntax-error", None, None),
    ("a sum of 20,000 terms", b"\n" + b"1+" * 20_000 + b"1", "deep-input", 2, None),
    ("a thousand branches", b"if a: b\n" + b"elif a: b\n" * 1000, "deep-input", None, None),
    ("201 brackets", b"\n" + b"(" * 201 + b")" * 201, "deep-input", 2, None),
    (
        "101 indents",
        b"".join(b" " * i + b"if a:\n" for i in range(101)) + b" " * 101 + b"a",
        "deep-input",
        None,
        None,
    ),
)


@pytest.mark.parametrize(("source", "kind", "line", "excerpt"), REFUSED)
def test_source_is_refused(
    source: bytes | str, kind: str, line: int | None, excerpt: str | None
) -> None:
    refusal = _refusal(source)
    assert refusal.kind == kind
    assert refusal.place is not None
    if line is not None:
        assert refusal.place.line == line
    if excerpt is not None:
        assert refusal.place.excerpt == excerpt


def test_a_long_line_is_quoted_in_part() -> None:
    refusal = _refusal(b"a = 'x' " + b"y" * 5_000)
    assert refusal.place is not None
    assert refusal.place.excerpt is not None
    assert len(refusal.place.excerpt) < 200


# Source, the version that brought it, how the refusal calls it.
NEWER = _rows(
    ("except*", "try: a\nexcept* E: b\n", (3, 11), "`except*`"),
    ("a type statement", "type X = int\n", (3, 12), "`type` statement"),
    ("a generic type statement", "type X[T] = list[T]\n", (3, 12), "`type` statement"),
    ("a generic function", "def f[T](a: T): ...\n", (3, 12), "type parameters"),
    ("a generic class", "class C[T]: ...\n", (3, 12), "type parameters"),
    ("a quote in an f-string", "f'{a['b']}'\n", (3, 12), "f-string"),
    ("a template string", "a = t'{b}'\n", (3, 14), "template string"),
    ("except without parentheses", "try: a\nexcept A, B: b\n", (3, 14), "parentheses"),
)


@pytest.mark.parametrize(("source", "version", "words"), NEWER)
def test_syntax_newer_than_the_interpreter_is_named(
    source: str, version: tuple[int, int], words: str
) -> None:
    if sys.version_info >= version:
        assert isinstance(parse(source, "m.py"), ast.Module)
        return
    refusal = _refusal(source)
    wanted = ".".join(map(str, version))
    if "f-string" in words and wanted not in refusal.cause:
        assert refusal.kind == "syntax-error"  # 3.10 and 3.11 end the string at the quote
        return
    assert words in refusal.cause
    assert f"Python {wanted}" in refusal.next_step


def test_a_plain_error_is_not_blamed_on_the_version() -> None:
    refusal = _refusal("def f(:\n")
    assert "brought" not in refusal.cause


_LONG = ", ".join(f"a{i}" for i in range(400))
_EVERY_KIND = f"""
@a({_LONG})
class C({_LONG}, k=None): x: int = ({_LONG}); global y; import b as c
def f({_LONG}, *, d=1, **e): return lambda *b, c=1: ({_LONG})
match a, ({_LONG}):
    case None | True | False | -1 | 1.5j | "a" | b"b": ({_LONG})
    case [{_LONG}, *rest] if ({_LONG}): pass
    case D({_LONG}, k=None) | {{"k": True, **rest}} as e: pass
async def g():
    async with a as ({_LONG}): yield [x async for x in ({_LONG}) if not x]
    try: del ({_LONG})
    except (A, {_LONG}) as e: raise E({_LONG}) from e
    print(f"{{a!r:>{{b}}}}", {_LONG}, *a, **b, c=a[1:2, ::3], d={{**e, 1: 2}}, g=(y := {{1, 2}}))
    assert a < b <= c is not d in e and f or await g({_LONG}), "x" "y"
""".encode()

ACCEPTED = _rows(
    ("an empty file", b""),
    ("a byte order mark", b"\xef\xbb\xbfa = 1\n"),
    ("a byte order mark in text", "\ufeffa = 1\n"),
    ("an encoding cookie", "# coding: latin-1\na = 'é'\n".encode("latin-1")),
    ("CRLF and a form feed", b"a = 1\r\n\x0c\r\nb = 2\r\n"),
    ("an encoding that writes its own line ends", b"# coding: utf-7\na = 1+AAo-b = 2+AAo-c = 3\n"),
    ("a flat list of 100,000 numbers", b"a = [" + b"1,\n" * 100_000 + b"]"),
    ("negative numbers by the thousand", b"a = [" + b"-1.5,\n" * 30_000 + b"]"),
    ("a table of 8,000 calls", b"a = [" + b"f(-1, b.c),\n" * 8_000 + b"]"),
    ("a string in 100,000 parts", b"a = (" + b"'b'\n" * 100_000 + b")"),
    ("a comparison of 20,000 terms", b"1<" * 20_000 + b"1"),
    ("900 operators", b"1+" * 900 + b"1"),
    ("199 brackets", b"(" * 199 + b"1" + b")" * 199),
    ("20,000 decorators", b"@a\n" * 20_000 + b"def f(): ...\n"),
    ("long statements of every kind", _EVERY_KIND),
    ("30,000 statements on a line", b"a;" * 30_000),
)


@pytest.mark.parametrize("source", [pytest.param(*row.values, id=row.id) for row in ACCEPTED])
def test_source_is_accepted(source: bytes | str) -> None:
    assert isinstance(parse(source, "m.py"), ast.Module)


def test_warnings_about_the_source_are_not_ours() -> None:
    source = "a = '\\d'\nb = 1is 2\nassert (c, 'd')\n"
    assert len(parse(source, "m.py").body) == 3  # warnings are errors in this run


def test_type_comments_are_attached() -> None:
    (statement,) = parse("a = []  # type: list[int]\n", "m.py").body
    assert statement.type_comment == "list[int]"  # type: ignore[attr-defined]


def test_a_misplaced_type_comment_costs_only_the_comments() -> None:
    first, second = parse("a = [  # type: int\n]\nb = 1  # type: int\n", "m.py").body
    assert first.type_comment is None  # type: ignore[attr-defined]
    assert second.type_comment is None  # type: ignore[attr-defined]


def _parsed_or_refused(data: bytes | str) -> None:
    try:
        tree = parse(data, "m.py")
    except Refusal:
        return
    resolve(tree, source_text=data if isinstance(data, str) else None)


@given(st.one_of(st.binary(max_size=80), st.text(max_size=80)))
def test_arbitrary_input_is_parsed_or_refused(data: bytes | str) -> None:
    _parsed_or_refused(data)


@given(st.text(alphabet="()[]{}:,.=+-*'\"\\\n fr#ab1", max_size=60))
def test_code_like_input_is_parsed_or_refused(data: str) -> None:
    _parsed_or_refused(data)


def test_expressions_are_read_as_types_or_not_at_all() -> None:
    assert isinstance(parse_expression("list[int]"), ast.Subscript)
    assert isinstance(parse_expression("  a |\n b  # either"), ast.BinOp)
    for text in ("", "a b", "a = 1", "\0", "\ud800", "+".join("a" * 5_000), "(" * 300):
        assert parse_expression(text) is None
    assert parse_function_type("(int, str) -> a") is not None
    assert parse_function_type("int") is None


# What may take an interpreter down, each many times the size that any parser reads.
_KILLERS = {
    "parentheses": "'(' * 5000 + ')' * 5000",
    "terms": "'1+' * 20_000 + '1'",
    "half a million terms": "'1+' * 500_000 + '1'",
    "terms within an f-string": "'f\"{' + 'a+' * 200_000 + 'a}\"'",
    "terms on lines of their own": "'(' + 'a +\\n' * 200_000 + 'a)'",
    "minus signs": "'-' * 50_000 + '1'",
    "attributes": "'a' + '.a' * 200_000",
    "attributes of a pattern": "'match x:\\n case ' + 'a.' * 200_000 + 'b: ...'",
    "calls": "'a' + '()' * 100_000",
    "calls with arguments": "'a' + '(b, c)' * 30_000",
    "brackets": "'[' * 1000 + ']' * 1000",
    "subscripts": "'a[' * 5000 + '1' + ']' * 5000",
    "nested f-strings": "\"f'{\" * 1000 + 'x' + \"}'\" * 1000",
    "nested format specs": "\"f'\" + '{x:' * 1000 + '}' * 1000 + \"'\"",
    "indents": "''.join(' ' * i + 'if 1:\\n' for i in range(300)) + ' ' * 300 + '1'",
    "lambdas": "'lambda: ' * 20_000 + '1'",
    "conditions": "'x if y else ' * 20_000 + 'z'",
    "negations": "'not ' * 50_000 + 'z'",
    "awaits": "'async def f():\\n await ' + 'await ' * 20_000 + 'z'",
    "powers": "'2**' * 20_000 + '1'",
    "branches": "'if x: 1\\n' + 'elif x: 1\\n' * 20_000",
    "decorators": "'@d\\n' * 20_000 + 'def f(): ...'",
    "adjacent strings": "'(' + \"'a'\\n\" * 100_000 + ')'",
    "added strings": "'(' + \"'a' +\\n\" * 100_000 + \"'a')\"",
    "unclosed brackets": "'{' * 5000",
    "unclosed quotes": "'a = \"' * 100_000",
    "stars": "'f(' + '*' * 100_000 + 'a)'",
    "targets": "'x = ' * 20_000 + '1'",
    "loops of a comprehension": "'[x ' + 'for x in y ' * 5000 + ']'",
}
_CHILD = """
import sys
from transforms.errors import Refusal
from transforms.syntax.parsing import parse
from transforms.scopes.resolve import resolve
source = eval(sys.stdin.read())
try:
    resolve(parse(source, "deep.py"), source_text=source)
    print("resolved")
except Refusal as refusal:
    print("refused", refusal.kind)
"""


@pytest.mark.parametrize("expression", _KILLERS.values(), ids=_KILLERS)
def test_no_depth_kills_the_interpreter(expression: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _CHILD],
        input=expression,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in ("resolved", "refused deep-input", "refused syntax-error")
