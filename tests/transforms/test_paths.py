from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.errors import Refusal
from transforms.paths import contained, from_bytes, parents, quote, safe_path, to_bytes

ALLOWED = [
    "module.py",
    "package/sub/module.py",
    "a folder/caf\u00e9.py",
    ".github/workflow.yml",
    ".gitignore",
    ".gitmodules",
    "git/x.py",
    "x.git/y.py",
    "...",
    "a..b/c.py",
    "-option.py",
    "CON",
]
REFUSED = {
    "is empty": "",
    "is absolute": "/etc/passwd",
    "climbs": "../x.py",
    "climbs in the middle": "a/../../x.py",
    "has a dot segment": "a/./b.py",
    "is a dot": ".",
    "has an empty segment": "a//b.py",
    "ends with a slash": "a/",
    "has a backslash": "a\\b.py",
    "climbs by backslashes": "a\\..\\..\\b.py",
    "has a NUL": "a\0.py",
    "has a newline": "a\n.py",
    "has an escape sequence": "a\x1b[31m.py",
    "has a DEL": "a\x7f.py",
    "has a C1 control": "a\x9b.py",
    "reverses what is shown": "a\u202eyp.evil",
    "has an invisible character": "a\u200b.py",
    "has a line separator": "a\u2028.py",
    "is not Unicode": "a\udcff.py",
    "is the repository": ".git",
    "is in the repository": ".git/hooks/post-commit",
    "is in a nested repository": "a/.git/config",
    "is the repository in capitals": ".GIT/config",
    "is the repository by NTFS's short name": "GIT~1/config",
    "is the repository with a dot NTFS drops": ".git./config",
    "is the repository with spaces NTFS drops": ".git . /config",
    "is a stream of the repository": ".git::$INDEX_ALLOCATION/config",
    "is the repository to HFS+": ".g\u200cit/config",
    "is the repository to HFS+ at its end": ".git\ufeff/config",
}


@pytest.mark.parametrize("path", ALLOWED)
def test_plain_path_is_returned(path: str) -> None:
    assert safe_path(path) == path


@pytest.mark.parametrize("path", REFUSED.values(), ids=REFUSED)
def test_path_is_refused_that(path: str) -> None:
    with pytest.raises(Refusal) as caught:
        safe_path(path)
    assert caught.value.kind == "unsafe-path"
    assert caught.value.place is not None
    assert caught.value.place.path == path


@pytest.mark.parametrize("path", ["new\nline.py", "raw\udce9.py", "back\\slash.py", "a\u200b.py"])
def test_what_a_repository_already_holds_may_be_odd(path: str) -> None:
    assert contained(path) == path


@given(st.text())
def test_what_is_safe_stays_below_the_top(path: str) -> None:
    try:
        safe_path(path)
    except Refusal:
        return
    segments = path.split("/")
    assert not {"", ".", ".."} & set(segments)
    assert not any(segment.casefold().startswith(".git:") for segment in segments)
    assert contained(path) == path


@given(st.binary())
def test_bytes_of_a_path_come_back(raw: bytes) -> None:
    assert to_bytes(from_bytes(raw)) == raw


@given(st.binary(min_size=1).filter(lambda raw: b"\0" not in raw))
def test_quoting_is_printable_and_reversible(raw: bytes) -> None:
    quoted = quote(from_bytes(raw))
    assert quoted.isascii()
    assert quoted.isprintable()
    if quoted.startswith('"'):
        body = quoted[1:-1].encode()
        assert body.decode("unicode_escape").encode("latin-1") == raw
    else:
        assert quoted.encode() == raw


def test_parents_are_named_outermost_first() -> None:
    assert parents("a/b/c.py") == ["a", "a/b"]
    assert parents("c.py") == []
