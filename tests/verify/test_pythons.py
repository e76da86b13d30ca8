"""Where syntax is newer than this Python: which one here would do, and the line to type."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from transforms.errors import Place, Refusal
from verify.commands import pythons
from verify.commands.pythons import newest_python, with_python

NEWER = Refusal(
    "syntax-error",
    "The file uses a `type` statement, which Python 3.12 brought; this is Python 3.11.7.",
    next_step="Run Repot on Python 3.12 or newer.",
    place=Place("a.py", 1),
)
TYPED = ["repot", "apply", "my plan.toml"]


def laid(path: Path, mode: int = 0o755) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
    path.chmod(mode)
    return str(path)


PLACES = {
    "on the path": ("bin/python3.13", "bin", 13),
    "the newest of several": ("bin/python3.14", "bin", 14),
    "where pyenv keeps it": (".pyenv/versions/3.13.0/bin/python3.13", "", 13),
    "where uv keeps it": (
        ".local/share/uv/python/cpython-3.12.4-linux-x86_64-gnu/bin/python3.12", "", 12,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("path", "folder", "minor"), PLACES.values(), ids=PLACES)
def test_an_interpreter_is_found_by_its_file(
    path: str, folder: str, minor: int, tmp_path: Path
) -> None:
    laid(tmp_path / "bin/python3.11")
    found = laid(tmp_path / path)
    environment = {"PATH": str(tmp_path / folder) if folder else ""}
    assert newest_python(12, environment, tmp_path) == (minor, found)


def test_what_is_none_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    laid(tmp_path / "python3.13")
    laid(tmp_path / "shims/python3.13")
    laid(tmp_path / "bin/python3.13", 0o644)
    (tmp_path / "dir/python3.13").mkdir(parents=True)
    path = f".:{tmp_path}/shims:{tmp_path}/bin:{tmp_path}/dir:"
    assert newest_python(12, {"PATH": path}, tmp_path) is None


LINES = {
    "uv": "`uv tool run --python /p/python3.13 repot apply 'my plan.toml'`",
    "pipx": "`pipx run --python /p/python3.13 repot apply 'my plan.toml'`",
    "": "`/p/python3.13 -m venv ~/.repot-3.13 && ~/.repot-3.13/bin/pip install repot && "
    "~/.repot-3.13/bin/repot apply 'my plan.toml'`",
}


@pytest.mark.parametrize(("tool", "line"), LINES.items(), ids=["uv", "pipx", "neither"])
def test_the_line_to_type(tool: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pythons, "newest_python", lambda *_: (13, "/p/python3.13"))
    monkeypatch.setattr(shutil, "which", lambda name: name if name == tool else None)
    said = with_python(NEWER, TYPED)
    assert said.next_step == (
        f"Run Repot on Python 3.12 or newer. This machine has Python 3.13: {line}."
    )
    assert (said.kind, said.cause, said.place) == (NEWER.kind, NEWER.cause, NEWER.place)


def test_where_there_is_none_uv_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pythons, "newest_python", lambda *_: None)
    said = with_python(NEWER, TYPED)
    assert said.next_step.endswith(
        "`uv tool run --python 3.12 repot apply 'my plan.toml'` gets one."
    )


def test_other_refusals_stay() -> None:
    other = Refusal("syntax-error", "It does not parse.", next_step="Correct the file.")
    assert with_python(other, TYPED) is other
