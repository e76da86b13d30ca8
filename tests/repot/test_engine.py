"""`repot bundle` works with the engine that was installed, and with no other."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.repot.rig import Installation, packages, record, whole
from tests.verify.bundle.rig import World
from tests.verify.histories import PLAN
from transforms.errors import Refusal
from verify.bundle.engine import ROOT
from verify.bundle.installed import doubts, require_installed, require_recorded


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    world = World(tmp_path_factory.mktemp("world"))
    (world.folder / "split.toml").write_text(PLAN, encoding="utf-8")
    return world


def test_the_file_is_the_same_as_from_the_checkout(
    installed: Installation, world: World, tmp_path: Path
) -> None:
    """Though packages with the names of ours are everywhere."""
    users = packages(tmp_path / "user", "transforms", "verify")
    more = {"PYTHONPATH": ".", "CANARY": str(tmp_path / "CANARY")}
    asked = ["--base", "HEAD^", "--target", "HEAD", "--repo", str(world.clone.folder)]
    written = [installed.script, "bundle", str(world.folder / "split.toml"), *asked, "-o", "out.py"]
    done = installed.run(*written, cwd=users, more=more)
    assert done.returncode == 0, done.stderr
    assert (users / "out.py").read_bytes() == world.file.read_bytes()
    done = installed.run(installed.script, "bundle", "--check", "out.py", cwd=users, more=more)
    assert done.returncode == 0, done.stderr
    assert "SAME" in done.stdout
    assert "hold the engine's digest" not in done.stdout
    assert not (tmp_path / "CANARY").exists()


def change(engine: Path) -> None:
    with (engine / "transforms" / "engine.py").open("a") as file:
        file.write("# changed\n")


def replace(engine: Path) -> None:
    (engine / "verify" / "cli.py").write_text("raise SystemExit(0)\n")


def add(engine: Path) -> None:
    (engine / "json.py").write_text("\n")


def remove(engine: Path) -> None:
    (engine / "transforms" / "plans" / "01-base.toml").unlink()


def alter_data(engine: Path) -> None:
    (engine / "verify" / "bundle" / "lock.txt").write_text("x==1\n")


OTHERS: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "a line more": (change, "transforms/engine.py", "not as it was installed"),
    "another's file": (replace, "verify/cli.py", "not as it was installed"),
    "a file more": (add, "json.py", "was not installed with it"),
    "a file less": (remove, "transforms/plans/01-base.toml", "is gone"),
    "data": (alter_data, "verify/bundle/lock.txt", "not as it was installed"),
}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return whole(tmp_path_factory.mktemp("own") / "env", sys.executable)


@pytest.mark.parametrize(("alter", "path", "why"), OTHERS.values(), ids=OTHERS.keys())
def test_an_engine_that_is_not_the_one_that_was_installed_is_refused(
    own: Installation, alter: Callable[[Path], None], path: str, why: str
) -> None:
    require_recorded(own.engine)
    file = own.engine / path
    before = file.read_bytes() if file.exists() else None
    alter(own.engine)
    try:
        with pytest.raises(Refusal, match=why) as refused:
            require_recorded(own.engine)
    finally:
        file.unlink(missing_ok=True)
        if before is not None:
            file.write_bytes(before)
    assert (refused.value.kind, str(refused.value.place)) == ("foreign-engine", path)
    require_recorded(own.engine)


def test_both_commands_refuse_it(own: Installation, world: World, tmp_path: Path) -> None:
    lock = own.engine / "verify" / "bundle" / "lock.txt"
    before = lock.read_bytes()
    alter_data(own.engine)
    asked = ["--base", "HEAD^", "--target", "HEAD", "--repo", str(world.clone.folder)]
    for arguments in (
        [str(world.folder / "split.toml"), *asked, "-o", "out.py"],
        ["--check", str(world.file)],
    ):
        done = own.run(own.script, "bundle", *arguments, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert "foreign-engine" in done.stderr
    assert not (tmp_path / "out.py").exists()
    lock.write_bytes(before)


class TestRecord:
    def test_what_python_or_an_installer_compiled_is_no_file_more(self, own: Installation) -> None:
        cache = own.engine / "verify" / "__pycache__"
        cache.mkdir(exist_ok=True)
        (cache / "x.pyc").write_bytes(b"x")
        (row,) = own.site.glob("repot-*.dist-info/RECORD")
        lines = [*record(own), "repot/_engine/verify/__pycache__/x.pyc,,"]
        row.write_text("".join(f"{line}\n" for line in lines))
        require_recorded(own.engine)

    def test_without_one_the_check_says_so(self, own: Installation, world: World) -> None:
        for row in own.site.glob("repot-*.dist-info/RECORD"):
            row.unlink()
        require_recorded(own.engine)
        done = own.run(own.script, "bundle", "--check", str(world.file))
        assert "This Repot has no record of what was installed: hold" in done.stdout

    def test_a_checkout_is_what_lies_in_it(self) -> None:
        require_installed()
        assert doubts(ROOT) == "This Repot is a working copy"


def test_a_module_that_was_loaded_from_elsewhere_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    packages(tmp_path, "verify", text="\n")
    foreign = type(sys)("verify.other")
    foreign.__file__ = str(tmp_path / "verify" / "__init__.py")
    monkeypatch.setitem(sys.modules, "verify.other", foreign)
    with pytest.raises(Refusal, match=r"`verify\.other` was loaded from elsewhere"):
        require_installed()
