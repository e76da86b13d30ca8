"""What holds for every statement: properties over generated texts."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transforms.imports.cases import (
    COLLAPSE,
    KEEP,
    imported,
    look_at,
    named,
)
from tests.transforms.imports.texts import (
    MODULES,
    from_statements,
    name_comments,
    name_lists,
    statements,
)
from transforms.imports.rows import parse_body
from transforms.imports.statement import (
    ImportedName,
    ImportStatement,
    ImportStyle,
    Layout,
    NameComments,
    Shrink,
    render_import,
)
from transforms.imports.tokens import read


def comments_in(text: str) -> list[str]:
    return re.findall(r"#[^\r\n]*", text)


styles = st.builds(
    ImportStyle,
    width=st.sampled_from((40, 79, 88)),
    wrap=st.sampled_from(("exploded", "grid", "hanging", "backslash")),
    trailing_comma=st.booleans(),
    closing_on_own_line=st.booleans(),
    one_name_per_statement=st.booleans(),
    sorted_names=st.booleans(),
)


def lost(before: str, after: str, *travelled: NameComments) -> list[str]:
    """The comments of `before` that neither `after` nor the travelling ones hold."""
    texts = [after, *(line for found in travelled for line in (*found.above, found.trailing or ""))]
    return [c for c in comments_in(before) if not any(c.strip() in text for text in texts)]


@given(statements)
def test_a_statement_that_is_not_edited_keeps_every_byte(text: str) -> None:
    statement = ImportStatement.parse(text)
    assert (statement.module, statement.names) == imported(text)
    assert statement.without([], COLLAPSE) == text
    assert statement.with_names(statement.names) == text
    commas_stand_apart = re.search(r"(?m)^[ \t\f]*,", text)
    assert statement.replacing(named("?"), named("?")) == text or commas_stand_apart


@given(statements)
def test_libcst_gives_every_byte_back(text: str) -> None:
    reading = read(text)
    assert reading.code == text == "".join(token.text for token in reading.tokens)


@given(statements)
def test_a_look_sees_what_libcst_reads(text: str) -> None:
    seen, body = look_at(text).body, parse_body(text)
    assert seen.prefix == body.prefix
    assert replace(seen, lead=body.lead, module=body.module, head=body.head) == body


@given(st.text("from .aim\n\r\t\f ()#,;\\\u00e9=as", max_size=20))
def test_libcst_reads_what_python_reads(end: str) -> None:
    for text in (f"from a import (b{end}", f"from a import ({end})", f"from{end} import (b)"):
        if not is_one_statement(text):
            with pytest.raises(ValueError, match="statement"):
                ImportStatement.parse(text)
            continue
        statement = ImportStatement.parse(text)
        assert (statement.module, statement.names) == imported(text)
        assert look_at(text).body.names == statement.names


def is_one_statement(text: str) -> bool:
    """Whether a text is one import statement and perhaps its comment."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return False
    if len(body) != 1 or not isinstance(body[0], (ast.Import, ast.ImportFrom)):
        return False
    found = ast.get_source_segment(text, body[0])
    rest = text[len(found) :] if found and text.startswith(found) else "?"
    return re.fullmatch(r"[ \t\f]*(#[^\r\n]*)?", rest) is not None


@given(statements, styles, st.sampled_from(Shrink), st.data())
def test_names_leave_and_nothing_else(
    text: str, style: ImportStyle, shrink: Shrink, data: st.DataObject
) -> None:
    statement = ImportStatement.parse(text, style=style)
    gone = data.draw(st.sets(st.sampled_from(statement.names)))
    kept = tuple(name for name in statement.names if name not in gone)
    left = statement.without(gone, shrink)
    if left is None:
        assert not kept
        return
    assert imported(left) == (statement.module, kept)
    assert not lost(text, left, *statement.removed_comments(gone).values())
    again = ImportStatement.parse(left, style=style, indent=statement.indent)
    assert again.without(gone, shrink) == left


@given(statements, name_lists, styles, st.data())
def test_names_come_and_nothing_leaves(
    text: str, names: list[ImportedName], style: ImportStyle, data: st.DataObject
) -> None:
    statement = ImportStatement.parse(text, style=style)
    new = [name for name in names if name not in statement.names]
    comments = {}
    if statement.module is not None:
        comments = {name: data.draw(name_comments) for name in new if data.draw(st.booleans())}
    merged = statement.with_names(names, comments=comments)
    module, found = imported(merged)
    assert module == statement.module
    assert [name for name in found if name not in new] == list(statement.names)
    assert sorted(map(str, found)) == sorted(map(str, [*statement.names, *new]))
    assert not lost(text, merged)
    for own in comments.values():
        assert all(line in merged for line in (*own.above, own.trailing or ""))
    again = ImportStatement.parse(merged, style=style, indent=statement.indent)
    assert again.with_names(names) == merged
    if statement.order and style.sorted_names:
        assert again.order


@given(from_statements, st.sampled_from(MODULES), styles)
def test_another_module_for_the_same_names(text: str, module: str, style: ImportStyle) -> None:
    statement = ImportStatement.parse(text, style=style)
    renamed = statement.renamed(module)
    assert imported(renamed) == (module, statement.names)
    assert not lost(text, renamed)
    again = ImportStatement.parse(renamed, style=style, indent=statement.indent)
    assert again.renamed(module) == renamed


@given(st.lists(st.sampled_from("abcdefgh"), min_size=2, unique=True), st.data())
def test_a_name_that_leaves_an_exploded_statement_and_comes_back(
    letters: list[str], data: st.DataObject
) -> None:
    text = "from m import (\n" + "".join(f"    {x},\n" for x in sorted(letters)) + ")"
    name = named(data.draw(st.sampled_from(letters)))
    left = ImportStatement.parse(text).without([name], KEEP)
    assert left is not None
    if len(letters) == 2 and left.count("\n") == 2:
        assert ImportStatement.parse(left).layout is Layout.EXPLODED
    assert ImportStatement.parse(left).with_names([name]) == text


@given(
    st.one_of(st.none(), st.sampled_from(MODULES)),
    name_lists,
    styles,
    st.sampled_from((None, "# noqa", "# why")),
    st.data(),
)
def test_a_new_statement_imports_its_names(
    module: str | None,
    names: list[ImportedName],
    style: ImportStyle,
    comment: str | None,
    data: st.DataObject,
) -> None:
    comments = {name: data.draw(name_comments) for name in names if data.draw(st.booleans())}
    text = render_import(
        module, names, style=style, indent="    ", comment=comment, comments=comments
    )
    nodes = ast.parse(f"if x:\n    {text}\n").body[0].body  # type: ignore[attr-defined]
    found = [named(ast.unparse(alias)) for node in nodes for alias in node.names]
    assert sorted(map(str, found)) == sorted(map(str, names))
    assert comment is None or comment in text
    for own in comments.values():
        assert all(line in text for line in (*own.above, own.trailing or ""))
