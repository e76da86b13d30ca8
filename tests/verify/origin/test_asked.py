"""What can be asked for: a file, a line, a stretch of lines; and what is refused, plainly."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.verify.histories import History
from transforms.errors import Refusal
from verify.origin.asked import Asked, asked

FILES = {
    "shop/orders.py": "a = 1\nb = 2\nc = 3\n",
    "shop/odd:2": "one\ntwo\n",
    "shop/empty.py": "",
    "shop/none": "no end",
}


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    history = History(tmp_path_factory.mktemp("asked") / "repo")
    for name, data in (("binary", b"\0\1"), ("link", None)):
        path = history.folder / name
        if data is None:
            path.symlink_to("shop/orders.py")
        else:
            path.write_bytes(data)
    for name, text in FILES.items():
        (history.folder / name).parent.mkdir(exist_ok=True)
        (history.folder / name).write_text(text)
    history.git("add", "--all")
    empty = history.git("mktree")
    module = history.git("commit-tree", empty, "-m", "elsewhere")
    history.git("update-index", "--add", "--cacheinfo", f"160000,{module},module")
    history.git("commit", "--quiet", "-m", "one")
    (history.folder / "shop" / "new.py").write_text("new = 1\n")
    return history


def one(history: History, text: str, folder: str = "", rev: str = "HEAD") -> Asked:
    (found,) = asked(history.folder / folder, [text], rev)
    return found


@pytest.mark.parametrize(
    ("text", "folder", "expected"),
    [
        ("shop/orders.py", "", ("shop/orders.py", 1, 3)),
        ("shop/orders.py:2", "", ("shop/orders.py", 2, 2)),
        ("shop/orders.py:2-3", "", ("shop/orders.py", 2, 3)),
        ("orders.py:1", "shop", ("shop/orders.py", 1, 1)),
        ("../shop/./orders.py", "shop", ("shop/orders.py", 1, 3)),
        ("shop/odd:2", "", ("shop/odd:2", 1, 2)),
        ("shop/odd:2:2", "", ("shop/odd:2", 2, 2)),
        ("shop/empty.py", "", ("shop/empty.py", 1, 0)),
        ("shop/none", "", ("shop/none", 1, 1)),
    ],
)
def test_is_read(history: History, text: str, folder: str, expected: tuple[str, int, int]) -> None:
    found = one(history, text, folder)
    assert (found.path, found.first, found.last) == expected


def test_a_file_by_its_whole_path(history: History) -> None:
    assert one(history, f"{history.folder}/shop/orders.py:3").path == "shop/orders.py"


def test_a_bare_repository(history: History, tmp_path: Path) -> None:
    history.git("clone", "--quiet", "--bare", ".", str(tmp_path / "bare.git"))
    (found,) = asked(tmp_path / "bare.git", ["shop/orders.py:2"], "HEAD")
    assert found.rows == (b"a = 1", b"b = 2", b"c = 3")


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("shop/orders.py:4", "no-such-line", "The file has 3 lines in commit"),
        ("shop/orders.py:0", "no-such-line", "The file has 3 lines"),
        ("shop/orders.py:0-2", "no-such-line", "Name lines from 1 to 3."),
        ("shop/orders.py:3-2", "no-such-line", "Type `shop/orders.py:2-3`."),
        ("shop/none:2", "no-such-line", "The file has 1 line in"),
        ("shop/empty.py:1", "no-such-line", "The file is empty in commit"),
        ("shop", "not-lines", "It is a directory."),
        ("shop/", "not-lines", "It is a directory."),
        (".", "not-lines", "It is a directory."),
        ("binary", "not-lines", "The file is binary"),
        ("link", "not-lines", "It is a symbolic link"),
        ("module", "not-lines", "It is a submodule"),
        ("shop/new.py", "no-such-file", "The file lies in the working tree, and not in commit"),
        ("shop/new.py:1", "no-such-file", "name a commit that has it"),
        ("shop/ordres.py", "no-such-file", "Did you mean `shop/orders.py`"),
        ("orders.py", "no-such-file", "Did you mean `shop/orders.py`?"),
        ("../elsewhere.py", "no-such-file", "has no such file"),
        ("", "not-lines", "It is a directory."),
        ("a\0b", "no-such-file", "has no such file"),
    ],
)
def test_is_refused(history: History, text: str, kind: str, said: str) -> None:
    with pytest.raises(Refusal) as caught:
        one(history, text)
    assert caught.value.kind == kind
    assert said in str(caught.value)


def test_no_such_commit_is_refused(history: History) -> None:
    with pytest.raises(Refusal, match="No commit `nowhere`"):
        one(history, "shop/orders.py", rev="nowhere")


def test_a_name_that_is_no_text(history: History, tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff.py")
    other = History(tmp_path / "repo")
    (other.folder / name).write_text("a = 1\n")
    other.git("add", "--all")
    other.git("commit", "--quiet", "-m", "one")
    assert one(other, f"{name}:1").path == "\udcff.py"
