"""On generated programs, our scopes are the compiler's."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from tests.transforms.symtable_scopes import differences
from transforms.parsing import parse
from transforms.scopes import resolve

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
    _join("{}: {} = {}", _NAMES, _EXPRESSIONS, _EXPRESSIONS),
    _join("{}: {}", _NAMES, _EXPRESSIONS),
    _join("({}): {}", _NAMES, _NAMES),
    _join("{} += {}", _NAMES, _EXPRESSIONS),
    _join("{}.b[{}] = {}", _NAMES, _EXPRESSIONS, _EXPRESSIONS),
    _join("del {}", _NAMES),
    _join("import {}.x", _NAMES),
    _join("import x.y as {}", _NAMES),
    _join("from x import b as {}, c", _NAMES),
    _join("global {}", _NAMES),
    _join("nonlocal {}", _NAMES),
)
Block = list[Any]  # of statements: text, or a header with its block


def _blocks(inner: st.SearchStrategy[Block]) -> st.SearchStrategy[Block]:
    headers = st.one_of(
        _join("def {}({}) -> {}:", _NAMES, _PARAMETERS, _EXPRESSIONS),
        _join("async def {}({}):", _NAMES, _PARAMETERS),
        _join("class {}({}):", _NAMES, _EXPRESSIONS),
        _join("class {}:", _NAMES),
        _join("for {} in {}:", _NAMES, _EXPRESSIONS),
        _join("with {} as {}:", _EXPRESSIONS, _NAMES),
        _join("if {}:", _EXPRESSIONS),
        _join("try: {}\nexcept {} as {}:", _SIMPLE, _NAMES, _NAMES),
        _join("match {}:\n case {{'k': {}, **c}} | [b, {}]:", _EXPRESSIONS, _NAMES, _NAMES),
        _join("match {}:\n case {}(x=b) as c if {}:", _EXPRESSIONS, _NAMES, _EXPRESSIONS),
    )
    decorated = st.tuples(_EXPRESSIONS, headers).map(
        lambda pair: f"@{pair[0]}\n{pair[1]}" if pair[1][:3] in ("def", "cla") else pair[1]
    )
    return st.lists(st.one_of(_SIMPLE, st.tuples(decorated, inner)), min_size=1, max_size=4)


_PROGRAMS = st.recursive(st.lists(_SIMPLE, min_size=1, max_size=4), _blocks, max_leaves=8)


def _written(block: Block, indent: str = "") -> str:
    text = ""
    for statement in block:
        header, body = statement if isinstance(statement, tuple) else (statement, None)
        lines = header.split("\n")
        text += "".join(f"{indent}{line}\n" for line in lines)
        if body is not None:
            nested = indent + ("    " if lines[-1].startswith(" ") else "  ")
            text += _written(body, nested)
    return text


@settings(max_examples=400, suppress_health_check=list(HealthCheck))
@given(_PROGRAMS)
def test_generated_program_has_the_compilers_scopes(program: Block) -> None:
    source = _written(program).replace("¶", "\n")
    scopes = resolve(parse(source, "generated.py"), source_text=source)
    try:
        found = differences(source, scopes)
    except SyntaxError:
        reject()  # such as a global declaration after a use
    assert found == []
