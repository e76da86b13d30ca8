"""On generated programs, our scopes are the compiler's."""

from __future__ import annotations

from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from tests.effort import examples
from tests.transforms.scopes.symtable_scopes import differences
from transforms.scopes.resolve import resolve
from transforms.syntax.parsing import parse

# Every scope in an expression gets a line of its own (`¶`), so that the two sides can be paired.
_NAMES = st.sampled_from(["a", "b", "c", "__d", "a", "b"])


def _join(template: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map(lambda values: template.format(*values))


def _grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        _join("({} + {})", inner, inner),
        _join("{}.b", inner),
        _join("{}[{}]", inner, inner),
        _join("{}({}, a={})", inner, inner, inner),
        _join("(¶lambda {}, *b: {})", _NAMES, inner),
        _join("(¶lambda {}={}: {})", _NAMES, inner, inner),
        _join("(¶[{} for {} in {} if {}])", inner, _NAMES, inner, inner),
        _join(
            "{{{}: {} for {}, c in {} for {} in {}}}", inner, inner, _NAMES, inner, _NAMES, inner
        ),
        _join("(¶({} for {} in {}))", inner, _NAMES, inner),
        _join("({} := {})", _NAMES, inner),
        _join("f'{{{}}}'", _NAMES),
        _join("({} if {} else {})", inner, inner, inner),
    )


_EXPRESSIONS = st.recursive(_NAMES, _grow, max_leaves=6)
_PARAMETERS = st.one_of(
    st.just(""),
    _join("{}", _NAMES),
    _join("{}: {} = {}", _NAMES, _EXPRESSIONS, _EXPRESSIONS),
    _join("*{}, x={}", _NAMES, _EXPRESSIONS),
)
_SIMPLE = st.one_of(
    _join("{}", _EXPRESSIONS),
    _join("{} = {}", _NAMES, _EXPRESSIONS),
    _join("{}, (b, *c) = {}", _NAMES, _EXPRESSIONS),
    _join("{}: {} = {}", _NAMES, _NAMES, _EXPRESSIONS),
    _join("{}: {}", _NAMES, _NAMES),
    _join("({}): {}", _NAMES, _NAMES),
    _join("{} += {}", _NAMES, _EXPRESSIONS),
    _join("{}.b[{}] = {}", _NAMES, _EXPRESSIONS, _EXPRESSIONS),
    _join("del {}", _NAMES),
    _join("import {}.x", _NAMES),
    _join("import x.y as {}", _NAMES),
    _join("from x import b as {}, c", _NAMES),
)
_HEADERS = st.one_of(
    _join("def {}({}) -> {}:", _NAMES, _PARAMETERS, _EXPRESSIONS),
    _join("async def {}({}):", _NAMES, _PARAMETERS),
    _join("@{}\ndef {}({}):", _EXPRESSIONS, _NAMES, _PARAMETERS),
    _join("class {}({}):", _NAMES, _EXPRESSIONS),
    _join("@{}\nclass {}:", _EXPRESSIONS, _NAMES),
    _join("for {} in {}:", _NAMES, _EXPRESSIONS),
    _join("with {} as {}:", _EXPRESSIONS, _NAMES),
    _join("if {}:", _EXPRESSIONS),
    _join("try: {}\nexcept {} as {}:", _SIMPLE, _NAMES, _NAMES),
    _join("match {}:\n case {{'k': {}, **c}} | [b, {}]:", _EXPRESSIONS, _NAMES, _NAMES),
    _join("match {}:\n case {}(x=b) as c if {}:", _EXPRESSIONS, _NAMES, _EXPRESSIONS),
)
_DECLARATIONS = st.sampled_from(["", "", "global {}", "nonlocal {}"])


@st.composite
def _programs(draw: st.DrawFn, depth: int = 0) -> list[str]:
    """Lines of a block; those of the blocks in it are indented."""
    lines = []
    for _ in range(draw(st.integers(1, 3))):
        if depth == 4 or draw(st.booleans()):
            lines.append(draw(_SIMPLE))
            continue
        header = draw(_HEADERS).split("\n")
        indent = "    " if header[-1].startswith(" ") else "  "
        lines += header
        if "def " in header[-1]:
            declaration = draw(_DECLARATIONS)
            lines.append(indent + declaration.format(draw(_NAMES)))
        lines += [indent + line for line in draw(_programs(depth + 1))]
    return lines


@settings(max_examples=examples(150), suppress_health_check=list(HealthCheck))
@given(_programs())
def test_generated_program_has_the_compilers_scopes(program: list[str]) -> None:
    source = "\n".join(program).replace("¶", "\n") + "\n"
    scopes = resolve(parse(source, "generated.py"), source_text=source)
    try:
        found = differences(source, scopes)
    except SyntaxError:
        reject()  # such as a global declaration after a use
    assert found == []
