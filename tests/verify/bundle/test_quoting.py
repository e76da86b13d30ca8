"""Literals: whatever the text, they are exact, end where they seem to, and hide nothing."""

from __future__ import annotations

import ast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from verify.bundle.quoting import quoted
from verify.report.escape import hides

# Text that is likely to end a literal, or to hide in one.
PIECES = st.sampled_from(
    ["'''", '"""', "'", '"', "\\", "\\\n", "\n", "\r", "\r\n", "\t", "\0", "\x1b[2J", "\x0c",
     " " * 90, "\u202e", "\u2066", "\u200b", "\U000e0041", "\ud800", "\ufeff", "\x85", "\u2028",
     "é", "ж",
     "\U0001f600", "{", "}", "{{", "%s", "\\N{DASH}", "\\u0041", "x = 1", "import os\n", "#",
     'LOCK = ""\n', "# ---- how ----\n", "a" * 170]
)  # fmt: skip
TEXTS = st.lists(PIECES | st.text(max_size=8), max_size=12).map("".join)


@given(TEXTS, st.booleans())
@example("", True)
@example("'''\"\"\"", True)
@example("ends in a backslash\\", True)
def test_a_literal_is_exact_and_ends_where_it_seems_to(text: str, strict: bool) -> None:
    source = f"PLAN = {quoted(text, strict=strict)}\n\nAFTER = 1\n"
    first, second = ast.parse(source.encode()).body
    assert isinstance(first, ast.Assign)
    assert ast.literal_eval(first.value) == text
    assert ast.unparse(second) == "AFTER = 1"
    assert not hides(source)


@given(TEXTS)
def test_text_of_strangers_is_plain_and_narrow(text: str) -> None:
    shown = quoted(text, strict=True)
    assert shown.isascii()
    assert all(character >= " " or character in "\n\t" for character in shown)
    for line in shown.split("\n"):
        assert len(line) <= 170
        assert " " * 100 not in line


CLEAR = {
    "plain text": "format = 1\n",
    "one kind of triple quotes": "text = '''\nx\n'''\n",
    "the other kind": 'text = """x"""\n',
    "backslashes": 'pattern = "\\\\d"\n',
}
ESCAPED = {
    "both kinds of triple quotes": "'''\"\"\"\n",
    "a last backslash": "x\\",
    "a carriage return": "x\r\n",
    "a null byte": "\0",
    "a bidirectional control": "x = 1 # \u202e\n",
    "a letter that looks like another": "p\u0430y\n",
    "blanks that push the rest out of sight": "x = 1" + " " * 80 + "; y\n",
    "a long line": "x" * 200,
}


@pytest.mark.parametrize("text", CLEAR.values(), ids=CLEAR.keys())
def test_is_shown_as_it_is(text: str) -> None:
    assert text in quoted(text, strict=True)


@pytest.mark.parametrize("text", ESCAPED.values(), ids=ESCAPED.keys())
def test_is_shown_escaped(text: str) -> None:
    assert quoted(text, strict=True).startswith('(\n    "')


def test_the_engine_may_hold_letters_of_any_script_and_long_lines() -> None:
    text = "é" + "x" * 300 + "\n"
    assert quoted(text, strict=False) == f"r'''{text}'''"
    assert quoted("\u202e\n", strict=False) == '(\n    "\\u202e\\n"\n)'
