"""Work in processes beside this one: what comes back, and where they stand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from transforms.errors import Place, Refusal
from verify.history.workers import meanwhile, shared


def folder_of(word: str) -> tuple[str, str]:
    return word, str(Path.cwd())


def process_of(_: object) -> int:
    return os.getpid()


def refuse(path: str) -> None:
    raise Refusal("unreadable", "It cannot be read.", next_step="Bring it.", place=Place(path, 3))


def test_work_is_done_in_another_process_and_stands_in_the_folder_of_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    with meanwhile(folder_of, "a") as beside, meanwhile(process_of, None) as process:
        assert Path.cwd() == tmp_path
        assert beside.result() == ("a", str(tmp_path))
        assert process.result() != os.getpid()
    assert shared(folder_of, ["a", "b"], 2) == [("a", str(tmp_path)), ("b", str(tmp_path))]


def test_on_one_core_it_is_done_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    with meanwhile(process_of, None) as beside:
        assert beside.result() == os.getpid()


def test_little_work_is_done_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    with meanwhile(process_of, None, first=True) as beside:
        assert beside.done()
        assert beside.result() == os.getpid()


def test_a_refusal_comes_back_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    with meanwhile(refuse, "a.py") as beside, pytest.raises(Refusal) as caught:
        beside.result()
    assert (caught.value.kind, caught.value.place) == ("unreadable", Place("a.py", 3))
    assert str(caught.value) == "a.py:3: It cannot be read. Bring it."


def test_nothing_in_the_folder_runs_when_a_process_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    for name in ("multiprocessing", "sitecustomize", "signal", "json", "verify"):
        (tmp_path / f"{name}.py").write_text("open('it-ran', 'w')\n")
    with meanwhile(folder_of, "a") as beside:
        beside.result()
    assert not (tmp_path / "it-ran").exists()
