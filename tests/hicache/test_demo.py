from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from hicache import cli
from hicache.demo import CACHED, Demonstration, demonstrate
from hicache.machine import Taken
from hicache.storage.file import page_files
from tests.documents import ROOT


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Demonstration:
    return demonstrate(tmp_path_factory.mktemp("pages"))


class TestRuns:
    def test_every_tier_gives_the_same_tokens(self, shown: Demonstration) -> None:
        *others, flipped = shown.runs
        assert len({run.tokens for run in others}) == 1
        assert shown.holds
        assert flipped.changed

    def test_every_tier_was_used(self, shown: Demonstration) -> None:
        size = CACHED // 16 * shown.page_bytes
        assert [run.taken for run in shown.runs] == [
            Taken(computed=65),
            Taken(computed=65),
            Taken(device=64),
            Taken(host=64, loaded_bytes=size),
            Taken(files=64, loaded_bytes=size, read_bytes=size),
            Taken(files=16, computed=49, loaded_bytes=size // 4, read_bytes=size // 4, refused=1),
            Taken(host=64, loaded_bytes=size),
        ]

    def test_one_byte_of_a_host_page_changes_the_tokens(self, shown: Demonstration) -> None:
        assert shown.runs[-1].tokens != shown.runs[0].tokens

    def test_a_run_that_did_otherwise_is_a_fault(self, shown: Demonstration) -> None:
        last = shown.runs[-1]
        for wrong, words in (
            (dataclasses.replace(last, tokens=shown.runs[0].tokens), "expected other tokens"),
            (dataclasses.replace(last, changed=False), "expected the same tokens"),
            (dataclasses.replace(last, taken=Taken()), "expected Taken(device=0, host=64"),
        ):
            faulty = dataclasses.replace(shown, runs=(*shown.runs[:-1], wrong))
            assert not faulty.holds
            assert (faulty.fault(wrong) or "").startswith(words)


class TestCommand:
    def test_it_prints_the_same_each_time(self, capfd: pytest.CaptureFixture[str]) -> None:
        printed = []
        for _ in range(2):
            assert cli.run(["demo", "--attention", "mla"]) == 0
            printed.append(capfd.readouterr())
        assert printed[0] == printed[1]
        assert printed[0].err == ""
        lines = printed[0].out.splitlines()
        assert lines[-1].startswith("PASS: ")
        assert [line for line in lines if line.startswith("evicted from the device ")]

    def test_its_files_can_be_checked(
        self, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        folder = tmp_path / "pages"
        assert cli.run(["demo", "--folder", str(folder), "--attention", "dsa"]) == 0
        capfd.readouterr()
        assert cli.run(["check", str(folder)]) == 0
        assert capfd.readouterr().out == "4 whole, 0 bad\n"
        first, second, third, fourth = (path for path, _ in page_files(folder))
        first.write_bytes(first.read_bytes()[:-1])
        second.rename(second.with_name("other.page"))
        fourth.write_bytes(third.read_bytes())
        assert cli.run(["check", str(folder)]) == 1
        lines = capfd.readouterr().out.splitlines()
        assert lines[-1] == "1 whole, 3 bad"
        assert [line.rpartition(": ")[2].split(" ")[0] for line in lines[:-1]] == [
            "10943",
            "page",
            "not",
        ]

    def test_pages_of_no_known_format_are_bad(
        self, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "x").mkdir()
        (tmp_path / "x" / f"{'0' * 64}.page").write_bytes(b"")
        assert cli.run(["check", str(tmp_path)]) == 1
        assert "format.json is missing or unreadable" in capfd.readouterr().out

    @pytest.mark.parametrize(
        ("line", "words"),
        [
            (["check", "nowhere"], "nowhere: no such folder"),
            (["check", "docs"], "docs: no page files in it, so nothing was checked"),
            (["demo", "--folder", "."], "--folder .: expected a new or empty folder"),
            (["demo", "--attention", "linear"], "'linear' is not one of 'mha', 'mla', 'dsa'"),
            (["demo", "--attention", "mla", "--layout", "page_head"], "Unsupported layout: page_h"),
            (["show"], "No such command 'show'"),
            ([], "Usage: hicache"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_what_cannot_be_done_is_said(
        self,
        line: list[str],
        words: str,
        monkeypatch: pytest.MonkeyPatch,
        capfd: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.chdir(ROOT)
        assert cli.run(line) == 2
        captured = capfd.readouterr()
        assert words in captured.err
        assert captured.out == ""

    def test_too_little_memory_is_said(self, capfd: pytest.CaptureFixture[str]) -> None:
        with mock.patch("pool_host.common.available_host_bytes", return_value=1000):
            assert cli.run(["demo"]) == 2
        assert "Not enough host memory available" in capfd.readouterr().err

    @pytest.mark.parametrize("command", ["demo", "check"])
    def test_help_shows_examples_and_exit_codes(
        self, command: str, capfd: pytest.CaptureFixture[str]
    ) -> None:
        assert cli.run([command, "--help"]) == 0
        printed = capfd.readouterr().out
        assert "Examples:\n    hicache demo" in printed
        assert "Exit codes:\n    0" in printed

    def test_a_reader_who_leaves_changes_no_exit_code(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "x").mkdir()
        (tmp_path / "x" / "bad.page").touch()
        reading, writing = os.pipe()
        os.close(reading)
        with os.fdopen(writing, "w") as closed:
            monkeypatch.setattr(sys, "stdout", closed)
            assert cli.run(["check", str(tmp_path)]) == 1

    def test_a_fault_ends_without_a_traceback(
        self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        def broken(*_: object, **__: object) -> None:
            raise ZeroDivisionError("oh")

        monkeypatch.setattr("hicache.demo.demonstrate", broken)
        assert cli.run(["demo"]) == 3
        assert capfd.readouterr().err == "a fault of hicache: ZeroDivisionError: oh\n"


WITHOUT_TORCH = """\
import sys
sys.modules["torch"] = None
from hicache.cli import run
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.parametrize("line", [["demo"], ["check", "."]], ids=" ".join)
def test_without_torch_it_says_what_to_install(line: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, *line], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == (
        "hicache needs torch, which is not installed here. It comes with the extra `pool`:\n"
        "  pip install 'repot[pool]'\n"
    )


def test_help_needs_no_torch() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, "demo", "--help"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "hicache demo --attention mla" in done.stdout
