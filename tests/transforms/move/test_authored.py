"""Text that a plan brings: where whole files and edits land."""

from __future__ import annotations

import pytest

from tests.transforms.case import MemoryTree
from transforms.engine import apply
from transforms.errors import Refusal
from transforms.reading.load import parse_plan
from transforms.result.changes import Blob
from transforms.result.outcome import Outcome

HEAD = """\
format = 1
formatters = "none"
[[source]]
module = "pkg.mono"
[[destination]]
module = "pkg.core"
symbols = ["X"]
"""
FILES = {
    "pkg/__init__.py": Blob(b""),
    "pkg/mono.py": Blob(b"X = 1\nY = 2\n"),
    "README.md": Blob(b"Read\r\nme.\r\n"),
    "LICENSE": Blob(b"Free.\n"),
}


def applied(body: str) -> Outcome:
    return apply(parse_plan((HEAD + body).encode(), "plan.toml"), MemoryTree(FILES))


LANDS = {
    "a dotted name is a package's __init__": ('file = "pkg.sub"', "pkg/sub/__init__.py"),
    "a path is itself": ('file = "pkg/sub/data.txt"', "pkg/sub/data.txt"),
    "a file at the top by path": ('path = "NOTES"', "NOTES"),
    "a file at the top with a suffix by path": ('path = "notes.md"', "notes.md"),
}


@pytest.mark.parametrize(("name", "path"), LANDS.values(), ids=LANDS.keys())
def test_a_whole_file_lands(name: str, path: str) -> None:
    outcome = applied(f"[[author]]\n{name}\ntext = 'a'\nexecutable = true\n")
    assert outcome.changes[path].after == Blob(b"a", 0o100755)
    assert [(item.path, item.lines, item.kind) for item in outcome.authored] == [(path, 1, "file")]


EDITED = {
    "by dotted name, after the move": ('file = "pkg.mono"', "Y = 2", "pkg/mono.py", b"z\n"),
    "a new module, by dotted name": ('file = "pkg.core"', "X = 1", "pkg/core.py", b"z\n"),
    "by path": ('path = "LICENSE"', "Free.", "LICENSE", b"z\n"),
    "by a path that could be a dotted name": (
        'file = "README.md"', "me.", "README.md", b"Read\r\nz\r\n",
    ),
    "with the line ends of the file": ('path = "README.md"', "Read\\nme.", "README.md", b"z\r\n"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "old", "path", "data"), EDITED.values(), ids=EDITED.keys())
def test_an_edit_lands(name: str, old: str, path: str, data: bytes) -> None:
    outcome = applied(f'[[author]]\n{name}\nold = "{old}"\nnew = "z"\n')
    assert outcome.changes[path].after == Blob(data)


REFUSED = {
    "a path that reads as a module of a package that is not there": (
        "file = 'notes.md'\ntext = ''", "unknown-module", 'write `path = "notes.md"`',
    ),
    "a file that exists": ("path = 'LICENSE'\ntext = ''", "clash", "Author an edit of it instead"),
    "a file that the move creates": ("file = 'pkg/core.py'\ntext = ''", "clash", "an edit"),
    "an edit of nothing": ("path = 'none'\nold = 'a'\nnew = 'b'", "unknown-file", "with `text`"),
    "an edit of what is not there": (
        "path = 'LICENSE'\nold = 'z'\nnew = 'b'", "edit-not-unique", "Quote the text exactly",
    ),
    "an edit of what is there twice": (
        "path = 'LICENSE'\nold = 'e'\nnew = 'b'", "edit-not-unique", "is found 2 times",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("body", "kind", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_text_that_cannot_land_is_refused_at_its_table(body: str, kind: str, words: str) -> None:
    with pytest.raises(Refusal) as caught:
        applied(f"[[author]]\n{body}\n")
    assert caught.value.kind == kind
    assert words in str(caught.value)
    assert caught.value.place is not None
    assert caught.value.place.path == "plan.toml"


def test_one_file_under_two_names_is_refused() -> None:
    table = "[[author]]\n{}\ntext = ''\n"
    twice = table.format("file = 'pkg.sub'") + table.format("path = 'pkg/sub/__init__.py'")
    with pytest.raises(Refusal, match="authored twice"):
        applied(twice)
