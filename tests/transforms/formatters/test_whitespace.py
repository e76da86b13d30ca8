"""The two whitespace fixers: trailing white space, and the end of a file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transforms.formatters.trees import MemoryTree, hooks, tree
from transforms.formatters import repository_formatters
from transforms.formatters.whitespace import end_with_newline, strip_lines

STRIPPED = {
    "blanks and tabs at the end of a line": (b"a \t\nb\n", b"a\nb\n"),
    "a line of blanks": (b"a\n   \nb\n", b"a\n\nb\n"),
    "a form feed": (b"a\f\nb\n", b"a\nb\n"),
    "the last line without its ending": (b"a\nb  ", b"a\nb"),
    "line endings of Windows stay": (b"a \r\nb\r\n", b"a\r\nb\r\n"),
    "a second carriage return goes": (b"a\r\r\n", b"a\r\n"),
    "blanks inside a line stay": (b" a  b\n", b" a  b\n"),
    "what is within a string goes too": (b'"""a \n"""\n', b'"""a\n"""\n'),
    "bytes beyond ASCII stay": ("a\u00a0\n".encode(), "a\u00a0\n".encode()),
    "an empty file": (b"", b""),
}
ENDED = {
    "a line without its ending": (b"a", b"a\n"),
    "one ending stays": (b"a\n", b"a\n"),
    "more than one go": (b"a\n\n\n", b"a\n"),
    "the ending of Windows stays": (b"a\r\n", b"a\r\n"),
    "more of them go": (b"a\r\n\r\n", b"a\r\n"),
    "a mixture keeps its first": (b"a\n\r\n", b"a\n"),
    "an ending of old": (b"a\r\r", b"a\r"),
    "nothing but endings becomes empty": (b"\n\n", b""),
    "an empty file": (b"", b""),
    "a blank is no ending": (b"a\n \n", b"a\n \n"),
}


@pytest.mark.parametrize(("before", "after"), STRIPPED.values(), ids=STRIPPED.keys())
def test_stripped_is(before: bytes, after: bytes) -> None:
    assert strip_lines(before) == after


@pytest.mark.parametrize(("before", "after"), ENDED.values(), ids=ENDED.keys())
def test_ended_is(before: bytes, after: bytes) -> None:
    assert end_with_newline(before) == after


SOURCE = st.lists(st.sampled_from([b"a", b" ", b"\t", b"\r", b"\n", b"\r\n", b"\f"])).map(b"".join)


@given(SOURCE)
def test_a_second_run_changes_nothing(data: bytes) -> None:
    assert strip_lines(strip_lines(data)) == strip_lines(data)
    assert end_with_newline(end_with_newline(data)) == end_with_newline(data)


@given(SOURCE)
def test_stripping_keeps_every_line(data: bytes) -> None:
    stripped = strip_lines(data)
    assert stripped.count(b"\n") == data.count(b"\n")
    assert stripped.split() == data.split()


def test_only_the_named_characters_are_stripped() -> None:
    assert strip_lines(b"a; \nb;\n", b";") == b"a; \nb\n"


def test_both_run_as_their_hooks_say(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPOT_CACHE", str(tmp_path_factory.mktemp("cache")))
    formatters = repository_formatters(
        tree("trailing-whitespace, exclude: ^kept/", "end-of-file-fixer")
    )
    files = {"a.py": b"x = 1  \n\n", "kept/b.py": b"x = 1  \n\n", "c.py": b"x = 1\n"}
    after = MemoryTree(files)
    made = formatters.format(files, after)
    assert {path: (one.data, one.changed_by) for path, one in made.items()} == {
        "a.py": (b"x = 1\n", ("trailing-whitespace 6.0.0", "end-of-file-fixer 6.0.0")),
        "kept/b.py": (b"x = 1  \n", ("end-of-file-fixer 6.0.0",)),
        "c.py": (b"x = 1\n", ()),
    }
    assert hooks("end-of-file-fixer")  # a page beside the code is left to its author
    page = formatters.format({"a.md": b"x  \n\n"}, MemoryTree({"a.md": ""}))
    assert page["a.md"].data == b"x  \n\n"
