"""Formatters are installed by hash, whole or not at all, and a machine offline says so."""

from __future__ import annotations

import hashlib
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.transforms.formatters.trees import PRE_COMMIT, MemoryTree, hooks
from transforms.errors import Refusal
from transforms.formatters import environments, repository_formatters
from transforms.formatters.environments import ensure
from transforms.formatters.versions import Pin


@pytest.fixture(autouse=True)
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Point pip at one folder, and nowhere else. Returns the folder."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    (tmp_path / "pip.conf").write_text("", encoding="utf-8")
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    return wheels


def wheel(folder: Path, project: str, version: str, text: str = "x = 1\n") -> Pin:
    """Write a wheel of one module and give its pin."""
    path = folder / f"{project}-{version}-py3-none-any.whl"
    info = f"{project}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{project}.py", text)
        archive.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {project}\nVersion: {version}\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(
            f"{info}/RECORD",
            f"{project}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n",
        )
    return Pin(project, version, (hashlib.sha256(path.read_bytes()).hexdigest(),))


def quiet(_: str) -> None:
    """Say nothing."""


def test_a_version_is_installed_once(tmp_path: Path, offline: Path) -> None:
    pins = (wheel(offline, "tool", "1.0"), wheel(offline, "need", "2.0"))
    said: list[str] = []
    places = [ensure(tmp_path, "tool 1.0", pins, said.append) for _ in range(2)]
    assert places[0] == places[1]
    assert said == ["installing tool 1.0"]
    assert {path.name for path in places[0].glob("*.py")} == {"tool.py", "need.py"}
    assert [path.name for path in (tmp_path / "installed").iterdir()] == [places[0].name]


def test_two_runs_at_the_same_time_agree(tmp_path: Path, offline: Path) -> None:
    pins = (wheel(offline, "tool", "1.0"),)
    with ThreadPoolExecutor(2) as pool:
        places = set(pool.map(lambda _: ensure(tmp_path, "tool 1.0", pins, quiet), range(2)))
    assert len(places) == 1
    assert [path.name for path in (tmp_path / "installed").iterdir()] == [places.pop().name]


def test_where_nothing_may_be_installed_only_what_is_there_is_used(
    tmp_path: Path, offline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pins = (wheel(offline, "tool", "1.0"),)
    monkeypatch.setenv("REPOT_OFFLINE", "1")
    with pytest.raises(Refusal, match=r"tool 1\.0 is not installed") as refused:
        ensure(tmp_path, "tool 1.0", pins, pytest.fail)
    assert refused.value.kind == "formatter-unavailable"
    assert not (tmp_path / "installed").exists()
    monkeypatch.delenv("REPOT_OFFLINE")
    place = ensure(tmp_path, "tool 1.0", pins, quiet)
    monkeypatch.setenv("REPOT_OFFLINE", "1")
    assert ensure(tmp_path, "tool 1.0", pins, pytest.fail) == place


def test_one_that_was_left_half_is_made_again(tmp_path: Path, offline: Path) -> None:
    pins = (wheel(offline, "tool", "1.0"),)
    place = ensure(tmp_path, "tool 1.0", pins, quiet)
    (place / "repot.json").unlink()
    (place / "tool.py").unlink()
    assert ensure(tmp_path, "tool 1.0", pins, quiet) == place
    assert (place / "tool.py").exists()


def test_another_hash_is_another_installation(tmp_path: Path, offline: Path) -> None:
    first = ensure(tmp_path, "tool 1.0", (wheel(offline, "tool", "1.0"),), quiet)
    second = ensure(tmp_path, "tool 1.0", (wheel(offline, "tool", "1.0", "x = 2\n"),), quiet)
    assert first != second
    assert (second / "tool.py").read_text() == "x = 2\n"


def test_a_wheel_with_another_hash_is_refused(tmp_path: Path, offline: Path) -> None:
    pin = wheel(offline, "tool", "1.0")
    wheel(offline, "tool", "1.0", "import evil\n")
    with pytest.raises(Refusal, match=r"tool 1\.0 is not installed") as refused:
        ensure(tmp_path, "tool 1.0", (pin,), quiet)
    assert refused.value.kind == "formatter-unavailable"
    assert list((tmp_path / "installed").iterdir()) == []


def test_a_source_distribution_is_never_built(tmp_path: Path, offline: Path) -> None:
    archive = offline / "tool-1.0.tar.gz"
    archive.write_bytes(b"")
    pin = Pin("tool", "1.0", (hashlib.sha256(b"").hexdigest(),))
    with pytest.raises(Refusal, match="No matching distribution"):
        ensure(tmp_path, "tool 1.0", (pin,), quiet)


def test_a_machine_offline_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPOT_CACHE", str(tmp_path / "cache"))
    after = MemoryTree({PRE_COMMIT: hooks("isort"), "a.py": "import b, a"})
    with pytest.raises(Refusal) as refused:
        repository_formatters(after).format({"a.py": b"import b, a"}, after)
    assert refused.value.kind == "formatter-unavailable"
    assert "isort 7.0.0 is not installed, and pip could not" in refused.value.cause
    assert "`--formatters none`" in refused.value.next_step


def test_the_folder_that_repot_runs_in_has_no_say(
    tmp_path: Path, offline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin = wheel(offline, "tool", "1.0")
    here = tmp_path / "repository"
    (here / "pip").mkdir(parents=True)
    (here / "pip" / "__main__.py").write_text("raise SystemExit(9)\n", encoding="utf-8")
    for name in ("setup.cfg", "pip.conf", "pip.ini"):
        (here / name).write_text("[install]\nno-deps = maybe\n", encoding="utf-8")
    monkeypatch.chdir(here)
    monkeypatch.setenv("PYTHONPATH", str(here))
    monkeypatch.setenv("PIP_NO_BINARY", ":all:")
    monkeypatch.setenv("PIP_CONSTRAINT", str(here / "absent.txt"))
    assert (ensure(tmp_path, "tool 1.0", (pin,), quiet) / "tool.py").exists()


def test_an_interpreter_without_pip_uses_the_one_it_brings(
    tmp_path: Path, offline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ensurepip")
    pin = wheel(offline, "tool", "1.0")
    monkeypatch.setattr(
        environments, "find_spec", lambda name: None if name == "pip" else find_spec(name)
    )
    command = environments._pip()
    if not command[-1].endswith(".whl"):
        pytest.skip("this interpreter's ensurepip was emptied")
    assert (ensure(tmp_path, "tool 1.0", (pin,), quiet) / "tool.py").exists()


def test_an_interpreter_without_any_pip_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "find_spec", lambda name: None)
    with pytest.raises(Refusal, match="this interpreter has none"):
        environments._pip()


def test_pip_that_does_not_end_is_a_refusal(
    tmp_path: Path, offline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments, "_LIMIT", 0.2)
    monkeypatch.setattr(environments, "_pip", lambda: [sys.executable, "-c", "while True: pass"])
    with pytest.raises(Refusal, match=r"did not install tool 1\.0 within"):
        ensure(tmp_path, "tool 1.0", (wheel(offline, "tool", "1.0"),), quiet)
    assert list((tmp_path / "installed").iterdir()) == []


class TestOwnRuff:
    """Ruff comes with Repot: where a repository pins that version, no index is needed."""

    def scripts(self, folder: Path, monkeypatch: pytest.MonkeyPatch, says: str) -> Path:
        binary = folder / "bin" / "ruff"
        binary.parent.mkdir()
        binary.write_text(f"#!/bin/sh\necho '{says}'\n")
        binary.chmod(0o755)
        monkeypatch.setattr("sysconfig.get_path", lambda name: str(binary.parent))
        return folder

    def test_the_same_version_is_taken(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        own = self.scripts(tmp_path, monkeypatch, "ruff 1.2.3")
        pins = (Pin("ruff", "1.2.3", ("0" * 64,)),)
        assert ensure(tmp_path, "ruff 1.2.3", pins, quiet) == own

    @pytest.mark.parametrize(
        ("says", "projects"),
        [("ruff 1.2.4", ["ruff"]), ("ruff 1.2.3", ["black"]), ("ruff 1.2.3", ["ruff", "black"])],
        ids=["another version", "another tool", "more than ruff"],
    )
    def test_anything_else_is_installed_by_its_hash(
        self,
        tmp_path: Path,
        offline: Path,
        monkeypatch: pytest.MonkeyPatch,
        says: str,
        projects: list[str],
    ) -> None:
        self.scripts(tmp_path, monkeypatch, says)
        pins = tuple(Pin(project, "1.2.3", ("0" * 64,)) for project in projects)
        with pytest.raises(Refusal, match="not installed"):
            ensure(tmp_path, "tools", pins, quiet)
