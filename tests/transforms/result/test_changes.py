from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.documents import ROOT
from tests.transforms.checkouts import checkout, lay_out, run_git, snapshot
from transforms.result.changes import EXECUTABLE, SYMLINK, Blob, Change, ChangeSet
from transforms.result.diff import edits, split_lines, unified

NUMBERS = b"".join(b"line %d\n" % n for n in range(40))

# What becomes of one path: before, after.
PAIRS = {
    "a file is created": (None, Blob(b"one\ntwo\n")),
    "a file is deleted": (Blob(b"one\ntwo\n"), None),
    "an empty file is created": (None, Blob(b"")),
    "an empty file is deleted": (Blob(b""), None),
    "a file is emptied": (Blob(b"one\n"), Blob(b"")),
    "a line changes": (Blob(b"one\ntwo\nthree\n"), Blob(b"one\n2\nthree\n")),
    "two hunks": (Blob(NUMBERS), Blob(NUMBERS.replace(b"line 3\n", b"").replace(b"36", b"x"))),
    "hunks whose context touches": (
        Blob(NUMBERS),
        Blob(NUMBERS.replace(b"line 10\n", b"").replace(b"line 17\n", b"")),
    ),
    "hunks one line further apart": (
        Blob(NUMBERS),
        Blob(NUMBERS.replace(b"line 10\n", b"").replace(b"line 18\n", b"")),
    ),
    "a newline at the end is lost": (Blob(b"one\ntwo\n"), Blob(b"one\ntwo")),
    "a newline at the end is added": (Blob(b"one\ntwo"), Blob(b"one\ntwo\n")),
    "neither side ends with a newline": (Blob(b"one\ntwo"), Blob(b"1\ntwo")),
    "the last line without newline changes": (Blob(b"one\ntwo"), Blob(b"one\n2")),
    "line ends are CRLF": (Blob(b"one\r\ntwo\r\n"), Blob(b"one\r\n2\r\n")),
    "carriage returns are no line ends": (Blob(b"one\rtwo\nx\n"), Blob(b"one\rtwo\ny\n")),
    "form feeds are no line ends": (Blob(b"one\x0ctwo\nx\n"), Blob(b"one\x0ctwo\ny\n")),
    "the mode changes": (Blob(b"one\n"), Blob(b"one\n", EXECUTABLE)),
    "mode and bytes change": (Blob(b"one\n", EXECUTABLE), Blob(b"two\n")),
    "a link is created": (None, Blob(b"target", SYMLINK)),
    "a link points elsewhere": (Blob(b"target", SYMLINK), Blob(b"other", SYMLINK)),
    "a file becomes a link": (Blob(b"one\n"), Blob(b"target", SYMLINK)),
    "a link becomes a file": (Blob(b"target", SYMLINK), Blob(b"one\n", EXECUTABLE)),
    "bytes are not UTF-8": (Blob(b"caf\xe9\n"), Blob(b"caf\xe9s\n")),
    "the heading is a definition": (
        Blob(b"class A:\n    pass\n\n\n" + b"    x = 1\n" * 9 + b"    y = 1\n"),
        Blob(b"class A:\n    pass\n\n\n" + b"    x = 1\n" * 9 + b"    y = 2\n"),
    ),
    "the heading is cut": (
        Blob(b"def " + b"f" * 200 + b":   \n" + b"    x\n" * 9 + b"    y\n"),
        Blob(b"def " + b"f" * 200 + b":   \n" + b"    x\n" * 9),
    ),
    "the heading has spaces at its end": (
        Blob(b"_private = 1  \t\n" + b"    x\n" * 9 + b"    y\n"),
        Blob(b"_private = 1  \t\n" + b"    x\n" * 9),
    ),
}

PATHS = {
    "plain": "package/module.py",
    "with a space": "a folder/a module.py",
    "with a quote": 'say "x".py',
    "with a backslash": "back\\slash.py",
    "with a tab and a newline": "tab\tand\nnewline.py",
    "with an accent": "caf\u00e9/na\u00efve.py",
    "that is not UTF-8": "latin\udce9.py",
    "with a control character": "bell\x07\x01.py",
    "with a DEL": "del\x7f.py",
}


def staged_diff(directory: Path, before: Blob | None, after: Blob | None, path: str) -> bytes:
    """Print what git prints for the same change."""
    checkout(directory, {path: before} if before else {"unrelated": b""})
    Path(
        os.fsdecode(os.fsencode(directory) + b"/" + path.encode("utf-8", "surrogateescape"))
    ).unlink(missing_ok=True)
    lay_out(directory, {path: after} if after else {})
    run_git(directory, "add", "--all")
    options = ("--no-renames", "--full-index", "--no-color", "--patience")
    return run_git(directory, "diff", "--cached", *options)


@pytest.mark.parametrize(("before", "after"), PAIRS.values(), ids=PAIRS)
def test_diff_is_what_git_prints(tmp_path: Path, before: Blob | None, after: Blob | None) -> None:
    change = Change("folder/name.py", before, after)
    assert change.diff() == staged_diff(tmp_path / "repo", before, after, "folder/name.py")


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize("pair", ["a line changes", "a file is created", "a file is deleted"])
def test_paths_are_quoted_as_git_quotes_them(tmp_path: Path, path: str, pair: str) -> None:
    before, after = PAIRS[pair]
    change = Change(path, before, after)
    assert change.diff() == staged_diff(tmp_path / "repo", before, after, path)


@pytest.mark.parametrize(("before", "after"), PAIRS.values(), ids=PAIRS)
def test_git_applies_the_diff(tmp_path: Path, before: Blob | None, after: Blob | None) -> None:
    path = "folder/name.py"
    changes = ChangeSet.of({path: before}, {path: after})
    old = checkout(tmp_path / "old", {"x": b"", **({path: before} if before else {})})
    new = checkout(tmp_path / "new", {"x": b"", **({path: after} if after else {})})
    at_first = snapshot(old)
    run_git(old, "apply", "--whitespace=nowarn", "-", stdin=changes.diff())
    assert snapshot(old) == snapshot(new)
    run_git(old, "apply", "--whitespace=nowarn", "-", stdin=changes.inverted().diff())
    assert snapshot(old) == at_first


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_git_applies_a_diff_of_an_odd_path(tmp_path: Path, path: str) -> None:
    repo = checkout(tmp_path / "repo", {path: b"one\ntwo\n"})
    changes = ChangeSet.of({path: Blob(b"one\ntwo\n")}, {path: Blob(b"one\n2\n")})
    run_git(repo, "apply", "-", stdin=changes.diff())
    assert snapshot(repo)[path][1] == b"one\n2\n"


BINARY = {
    "created": (None, Blob(b"\0one")),
    "deleted": (Blob(b"\0one"), None),
    "changed": (Blob(b"one\n"), Blob(b"one\n\0")),
    "changed with its mode": (Blob(b"\0"), Blob(b"\0\0", EXECUTABLE)),
    "only its mode": (Blob(b"\0"), Blob(b"\0", EXECUTABLE)),
}


@pytest.mark.parametrize(("before", "after"), BINARY.values(), ids=BINARY)
def test_a_binary_file_is_named_and_not_shown(
    tmp_path: Path, before: Blob | None, after: Blob | None
) -> None:
    change = Change("a file.bin", before, after)
    assert change.diff() == staged_diff(tmp_path / "repo", before, after, "a file.bin")
    assert change.counts() == (0, 0)


def test_a_nul_past_the_window_leaves_a_file_text() -> None:
    assert not Blob(b"x" * 8000 + b"\0").binary
    assert Blob(b"x" * 7999 + b"\0").binary


def test_change_set_drops_equal_sides_and_sorts_as_git() -> None:
    same = Blob(b"same")
    changes = ChangeSet.of(
        {"b": Blob(b"1"), "same": same, "gone": Blob(b""), "\ue000": None, "\U0001f600": None},
        {"b": Blob(b"2"), "same": same, "a/new": Blob(b""), "\U0001f600": same, "\udcff": same},
    )
    assert list(changes) == ["a/new", "b", "gone", "\U0001f600", "\udcff"]
    assert [change.kind for change in changes.values()] == [
        "created",
        "changed",
        "deleted",
        "created",
        "created",
    ]


def test_change_set_is_a_value() -> None:
    sides: tuple[dict, dict] = ({"a": Blob(b"1"), "b": None}, {"a": None, "b": Blob(b"1")})
    changes = ChangeSet.of(*sides)
    assert changes == ChangeSet.of(*sides)
    assert len({changes, ChangeSet.of(*sides)}) == 1
    assert changes != changes.inverted()
    assert changes.inverted().inverted() == changes
    assert ChangeSet.of(changes.before(), changes.after()) == changes
    assert not ChangeSet()


def test_a_change_of_nothing_and_an_impossible_mode_are_faults() -> None:
    with pytest.raises(ValueError, match="equal"):
        Change("a", Blob(b""), Blob(b""))
    with pytest.raises(ValueError, match="160000"):
        Blob(b"", 0o160000)
    with pytest.raises(ValueError, match="two changes"):
        ChangeSet([Change("a", None, Blob(b"")), Change("a", Blob(b""), None)])


def test_counts_are_those_of_the_diff() -> None:
    changes = ChangeSet.of(
        {"a": Blob(NUMBERS), "link": Blob(b"one\ntwo", SYMLINK)},
        {"a": Blob(NUMBERS.replace(b"line 3\n", b"3\nthree\n")), "link": Blob(b"one\n")},
    )
    assert (changes["a"].added, changes["a"].removed) == (2, 1)
    assert changes["link"].counts() == (1, 2)
    assert changes.counts() == (3, 3)


def test_a_block_is_cut_where_a_reader_would_cut() -> None:
    old = b"def a():\n    x\n\n\ndef c():\n    x\n"
    new = b"def a():\n    x\n\n\ndef b():\n    x\n\n\ndef c():\n    x\n"
    printed = ChangeSet.of({"m.py": Blob(old)}, {"m.py": Blob(new)}).diff()
    added = [line for line in printed.splitlines() if re.match(rb"\+[^+]|\+$", line)]
    assert added == [b"+def b():", b"+    x", b"+", b"+"]


def test_a_large_file_without_a_common_line_is_replaced_in_little_time() -> None:
    old = [b"a\n", b"b\n"] * 20_000
    new = [b"c\n", b"d\n"] * 20_000
    found = edits(old, new)
    assert [(e.old_start, e.old_end, e.new_start, e.new_end) for e in found] == [
        (0, 40_000, 0, 40_000)
    ]


LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"  c\n", b"\n", b"d\n", b"e"]), max_size=30)


def texts() -> st.SearchStrategy[bytes]:
    return LINES.map(b"".join)


@given(texts(), texts())
def test_edits_turn_one_text_into_the_other(old: bytes, new: bytes) -> None:
    before, after = split_lines(old), split_lines(new)
    result: list[bytes] = []
    at = 0
    for edit in edits(before, after):
        assert edit.old_start >= at
        result += before[at : edit.old_start]
        assert len(result) == edit.new_start
        result += after[edit.new_start : edit.new_end]
        at = edit.old_end
    assert result + before[at:] == after
    assert b"".join(before) == old


@given(texts(), texts())
def test_hunks_hold_the_edit_and_nothing_without_cause(old: bytes, new: bytes) -> None:
    before, after = split_lines(old), split_lines(new)
    hunks = unified(before, after)
    assert bool(hunks) == (old != new)
    for head, body in re.findall(rb"@@ ([^@]*) @@[^\n]*\n((?:[ +\-\\][^\n]*\n)*)", hunks):
        counts = [int(n or 1) for n in re.findall(rb"[-+]\d+(?:,(\d+))?", head)]
        marks = [line[:1] for line in body.splitlines(keepends=True)]
        assert counts == [
            marks.count(b" ") + marks.count(b"-"),
            marks.count(b" ") + marks.count(b"+"),
        ]
        assert b"+" in marks or b"-" in marks


def test_the_diff_depends_on_nothing_around_it(tmp_path: Path) -> None:
    program = (
        "from transforms.result.changes import Blob, ChangeSet\n"
        "import sys\n"
        "names = ['b', 'a/c', 'caf\\u00e9', 'a b']\n"
        "sides = [{n: Blob(b) for n in names} for b in (b'1\\n', b'2\\n')]\n"
        "changes = ChangeSet.of(*sides)\n"
        "sys.stdout.buffer.write(changes.diff())\n"
    )
    printed = set()
    for seed, locale, zone in [
        ("0", "C", "UTC"),
        ("1", "C.UTF-8", "Asia/Tokyo"),
        ("2", "POSIX", ""),
    ]:
        environment = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "LC_ALL": locale,
            "TZ": zone,
            "PYTHONPATH": str(ROOT),
        }
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            check=True,
        )
        printed.add(done.stdout)
    assert len(printed) == 1
