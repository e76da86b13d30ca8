"""The benchmark's own parts: what is measured is what ran, and a passed budget is told."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.transforms.__main__ import HERE, Row, print_rows
from benchmarks.transforms.measure import CommandError, Measured, run
from benchmarks.transforms.subject import Subject, grown
from tests.transforms.checkouts import checkout, run_git

PYTHON = sys.executable


def test_a_run_counts_its_children_and_keeps_what_it_prints(tmp_path: Path) -> None:
    busy = "sum(range(3_000_000))"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', '{busy}'])"
    alone = run([PYTHON, "-c", "pass"], cwd=tmp_path)
    both = run([PYTHON, "-c", f"{child}; print('done')"], cwd=tmp_path)
    assert both.stdout == "done\n"
    assert both.wall > 0
    assert both.cpu > alone.cpu
    assert (both.memory, both.timed_out) == (0, False)


def test_memory_is_looked_at_over_all_processes(tmp_path: Path) -> None:
    hold = "import time; x = bytearray(b'x' * (60 << 20)); time.sleep(1)"
    child = f'import subprocess, sys; subprocess.run([sys.executable, "-c", "{hold}"])'
    assert run([PYTHON, "-c", child], cwd=tmp_path, memory=True).memory > 60 << 20


def test_what_takes_too_long_is_killed_and_said_so(tmp_path: Path) -> None:
    code = "import time; print('begun', flush=True); time.sleep(60)"
    done = run([PYTHON, "-c", code], cwd=tmp_path, limit=2)
    assert done.timed_out
    assert done.wall < 30
    assert done.stdout == "begun\n"


def test_a_command_that_fails_is_no_measurement(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no such"):
        run([PYTHON, "-c", "raise SystemExit('no such')"], cwd=tmp_path)


def test_every_python_file_is_parsed(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.py").write_bytes(b"x = 1\n")
    (tmp_path / "bad.py").write_bytes(b"x = (\n")
    (tmp_path / "c.txt").write_bytes(b"x = 1\n")
    (tmp_path / "link.py").symlink_to("bad.py")
    done = run([PYTHON, HERE / "parse_all.py", tmp_path], cwd=tmp_path)
    found = json.loads(done.stdout)
    assert (found["files"], found["bytes"]) == (2, 12)
    assert found["wall"] > 0


def subject(folder: Path, wanted: dict[str, bytes]) -> Subject:
    files = {"src/p/old.py": b"X = 1\n", "src/p/use.py": b"from p.old import X\n",
             "src/p/other.py": b"y = 2", "data.txt": b"old\n"}  # fmt: skip
    made = checkout(folder, files)
    moves = (("src/p/new.py", ("X",)),)
    return Subject("A tree", made, folder / "plan.toml", "src", "src/p/old.py", moves, wanted)


def test_only_files_right_to_the_byte_count(tmp_path: Path) -> None:
    found = subject(tmp_path / "tree", {"src/p/old.py": b"X = 2\n", "src/p/new.py": b""})
    assert found.right() == 0
    (found.checkout / "src/p/old.py").write_bytes(b"X = 2\n")
    assert found.right() == 1
    (found.checkout / "src/p/new.py").touch()
    assert found.right() == 2
    found.reset()
    assert found.right() == 0
    assert not (found.checkout / "src/p/new.py").exists()


def test_the_grown_tree_has_the_same_callers(tmp_path: Path) -> None:
    repository = grown(subject(tmp_path / "tree", {}), tmp_path, 3)

    def listed(commit: str) -> list[str]:
        return run_git(repository, "ls-tree", "-r", "--name-only", commit).decode().split()

    small, large = listed("small"), listed("large")
    assert small == ["data.txt", "src/p/old.py", "src/p/other.py", "src/p/use.py"]
    assert set(large) - set(small) == {"copy1/src/p/other.py", "copy2/src/p/other.py"}
    copies = [run_git(repository, "show", f"large:copy{n}/src/p/other.py") for n in (1, 2)]
    assert copies[0] != copies[1]
    assert all(ast.parse(data) for data in copies)
    subprocess.run(["git", "fsck", "--strict"], cwd=repository, check=True, capture_output=True)


class FakeBench:
    """What the table shows of a benchmark."""

    def __init__(self, about: Subject) -> None:
        self.subject, self.files, self.bytes = about, 3, 26


@pytest.mark.parametrize(
    ("cold", "warm", "memory", "kept"),
    [(0.5, 0.2, 300, True), (0.6, 0.2, 300, False), (0.5, 0.4, 300, False), (0.5, 0.2, 500, False)],
    ids=["all kept", "cold too slow", "warm too slow", "too much memory"],
)
def test_a_passed_budget_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cold: float, warm: float, memory: int,
    kept: bool,
) -> None:  # fmt: skip
    rows = {name: Row() for name in ("parse", "cold", "warm", "commit")}
    for name, wall in (("parse", 1.0), ("cold", cold), ("warm", warm), ("commit", 1.0)):
        rows[name].take(Measured(wall, wall, ""), {"search": wall / 2})
        rows[name].take(Measured(wall * 2, wall * 2, ""), {"search": wall})  # the least counts
    rows["cold"].memory = memory * 1_000_000
    bench = FakeBench(subject(tmp_path / "tree", {}))
    assert print_rows(bench, rows, 2) is kept  # type: ignore[arg-type]
    printed = capsys.readouterr().out
    assert ("FAIL" in printed) is not kept
    assert printed.count("PASS") + printed.count("FAIL") == 3
