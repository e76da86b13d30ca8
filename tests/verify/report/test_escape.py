from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.report.escape import visible, visible_lines

SHOWN = [
    pytest.param("\x1b[31mred", r"\x1b[31mred", id="an ANSI colour"),
    pytest.param("\x1b]8;;http://x\x07go", r"\x1b]8;;http://x\x07go", id="a terminal hyperlink"),
    pytest.param("\x9b2J", r"\x9b2J", id="an eight-bit control sequence"),
    pytest.param("a\u202eb", "a<U+202E>b", id="a right-to-left override"),
    pytest.param("a\u2066b\u2069", "a<U+2066>b<U+2069>", id="an isolate"),
    pytest.param("is\u200badmin", "is<U+200B>admin", id="a zero-width space"),
    pytest.param("\ufeffx", "<U+FEFF>x", id="a byte order mark"),
    pytest.param("x\U000e0041", "x<U+E0041>", id="a tag character"),
    pytest.param("x\ufe0f", "x<U+FE0F>", id="a variation selector"),
    pytest.param("a\u2028b", "a<U+2028>b", id="a line separator"),
    pytest.param("bad\udcff.py", r"bad\xff.py", id="a byte that is no UTF-8"),
    pytest.param("\ud800", "<U+D800>", id="a lone surrogate"),
    pytest.param("a\rb", r"a\rb", id="a carriage return"),
    pytest.param("a\x08b\x7f", r"a\x08b\x7f", id="a backspace and a delete"),
]

LEFT_ALONE = [
    pytest.param("[bold]x[/bold] :smile:", id="Rich markup, which only Rich would read"),
    pytest.param("naïve_变量_переменная", id="letters of any script"),
    pytest.param("a \u00a0 b", id="a space that has width"),
    pytest.param("🙂", id="an emoji"),
    pytest.param(r"C:\x1b", id="a backslash"),
]


@pytest.mark.parametrize(("text", "shown"), SHOWN)
def test_what_acts_on_a_reader_is_shown(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert visible_lines(text) == shown


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_what_is_only_read_is_left_alone(text: str) -> None:
    assert visible(text) == text


def test_line_breaks_and_tabs_are_kept_only_where_lines_are_shown() -> None:
    assert visible("a\n\tb") == r"a\n\tb"
    assert visible_lines("a\n\tb\r\n") == "a\n\tb\\r\n"


BIDIRECTIONAL = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@given(st.text(st.characters(codec=None)))
def test_no_text_keeps_a_control_or_a_surrogate(text: str) -> None:
    shown = visible(text)
    assert not {unicodedata.category(character) for character in shown} & {"Cc", "Cs", "Zl", "Zp"}
    assert not set(shown) & BIDIRECTIONAL
    assert visible(shown) == shown
    assert shown.encode().decode() == shown
