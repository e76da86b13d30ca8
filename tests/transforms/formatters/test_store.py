"""The cache folder is the user's own, and an entry is trusted only if it is whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from transforms.errors import Refusal
from transforms.formatters.store import Results, cache_folder


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results(tmp_path / "results")


def entries(results: Results) -> list[Path]:
    return sorted(results.folder.iterdir())


def test_what_was_put_is_got(results: Results) -> None:
    results.put("a", b"1")
    results.put("b", b"")
    results.put("a", b"2")
    assert [results.get(key) for key in "abc"] == [b"2", b"", None]


DAMAGE = {
    "a byte changed": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    "cut short": lambda data: data[:-1],
    "longer": lambda data: data + b"x",
    "emptied": lambda data: b"",
    "only its head": lambda data: data[:15],
    "of another kind": lambda data: b"x" * len(data),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_an_entry_that_is_damaged_counts_as_absent(results: Results, damage: object) -> None:
    results.put("key", b"value")
    (entry,) = entries(results)
    entry.write_bytes(damage(entry.read_bytes()))  # type: ignore[operator]
    assert results.get("key") is None
    results.put("key", b"value")
    assert results.get("key") == b"value"


def test_an_entry_under_another_name_counts_as_absent(results: Results) -> None:
    results.put("one", b"1")
    (one,) = entries(results)
    data = one.read_bytes()
    one.unlink()
    results.put("two", b"2")
    (two,) = entries(results)
    two.write_bytes(data)
    assert results.get("two") is None


def test_the_entries_used_longest_ago_go_first(tmp_path: Path) -> None:
    results = Results(tmp_path / "results", entries=2)
    for age, key in enumerate("abc"):
        results.put(key, b"")
        for entry in entries(results):
            if entry.stat().st_mtime > 1000:
                os.utime(entry, (age, age))
    assert results.get("a") == b""  # now it is the one used last
    results.prune()
    assert [results.get(key) for key in "abc"] == [b"", None, b""]


def test_the_size_is_bounded(tmp_path: Path) -> None:
    results = Results(tmp_path / "results", size=2500)
    for key in "abcd":
        results.put(key, b"x" * 1000)
    results.prune()
    assert sum(entry.stat().st_size for entry in entries(results)) <= 2500
    assert len(entries(results)) == 2


def test_a_folder_that_cannot_be_made_stores_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    results = Results(tmp_path / "file" / "results")
    results.put("key", b"value")
    results.prune()
    assert results.get("key") is None


def test_the_cache_folder_is_where_the_user_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPOT_CACHE", str(tmp_path / "own"))
    folder = cache_folder()
    assert folder == tmp_path / "own" / "formatters"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert folder.parent.stat().st_mode & 0o777 == 0o700


def test_a_relative_cache_folder_of_the_desktop_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REPOT_CACHE", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    assert cache_folder() == tmp_path / ".cache" / "repot" / "formatters"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert cache_folder() == tmp_path / "cache" / "repot" / "formatters"


def test_a_folder_that_others_can_write_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPOT_CACHE", str(tmp_path))
    tmp_path.chmod(0o777)
    with pytest.raises(Refusal, match="Others can write") as refused:
        cache_folder()
    assert refused.value.kind == "formatter-cache"
    assert "REPOT_CACHE" in refused.value.next_step


def test_a_folder_that_is_a_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("REPOT_CACHE", str(tmp_path / "file"))
    with pytest.raises(Refusal, match="cannot be made"):
        cache_folder()
