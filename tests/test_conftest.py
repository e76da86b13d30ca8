from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent

TESTS = """\
import pytest

@pytest.mark.history
@pytest.mark.parametrize("n", range(3))
def test_history(n): pass

@pytest.mark.registry
def test_registry(): pass

@pytest.mark.system
def test_system(): pass

def test_plain(): pass
"""


def outcome(folder: Path, *options: str, **environment: str) -> tuple[int, list[str]]:
    """Run a suite with our conftest in an environment of its own; give what it closes with."""
    shutil.copy(HERE / "conftest.py", folder / "conftest.py")
    (folder / "test_all.py").write_text(TESTS)
    (folder / "pytest.ini").write_text(
        "[pytest]\nmarkers =\n history\n registry\n system\n thorough\n"
    )
    ours = ("REPOT_", "PYTEST_")  # what says that this process is one of several
    inherited = {name: text for name, text in os.environ.items() if not name.startswith(ours)}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options],
        check=False,
        cwd=folder,
        env={**inherited, **environment},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout.splitlines()[-2:]


def test_what_a_run_leaves_out_is_counted_with_the_reason(tmp_path: Path) -> None:
    code, (left_out, closing) = outcome(tmp_path, REPOT_REGISTRY="0")
    assert code == 0
    assert left_out == (
        "left out: 3 history (REPOT_HISTORIES not set), 1 registry (REPOT_REGISTRY=0), "
        "1 system (REPOT_SYSTEM not set)"
    )
    assert "1 passed, 5 deselected" in closing


def test_processes_that_share_the_tests_count_each_only_once(tmp_path: Path) -> None:
    code, (left_out, closing) = outcome(tmp_path, "--numprocesses=2", REPOT_REGISTRY="0")
    assert code == 0
    assert left_out.startswith("left out: 3 history (REPOT_HISTORIES not set), 1 registry")
    assert "1 passed" in closing


def test_a_machine_that_has_all_leaves_nothing_out(tmp_path: Path) -> None:
    code, lines = outcome(
        tmp_path, REPOT_REGISTRY="1", REPOT_SYSTEM="1", REPOT_HISTORIES=str(tmp_path)
    )
    assert code == 0
    assert "6 passed" in lines[-1]
    assert not any("left out" in line for line in lines)


def test_an_index_that_does_not_answer_is_not_waited_for(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # connects, and never says a word
        index = f"http://127.0.0.1:{silent.getsockname()[1]}/simple"
        code, (left_out, _) = outcome(tmp_path, PIP_INDEX_URL=index, PIP_CONFIG_FILE=os.devnull)
    assert code == 0
    assert "1 registry (the package index " in left_out


def test_tests_that_need_torch_are_left_out_where_there_is_none() -> None:
    program = (
        "import sys; sys.modules['torch'] = None\n"
        "import pytest; sys.exit(pytest.main(['tests/pool_host', '-p', 'no:cacheprovider']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        cwd=HERE.parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == pytest.ExitCode.NO_TESTS_COLLECTED, done.stdout
    modules = len(list((HERE / "pool_host").rglob("test_*.py")))
    assert f"left out: {modules} modules of pool_host (torch is not installed)" in done.stdout


def test_a_folder_of_histories_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    code, _ = outcome(tmp_path, REPOT_HISTORIES=str(tmp_path / "none"))
    assert code == 4
