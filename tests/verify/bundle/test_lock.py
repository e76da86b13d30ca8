"""The lock: complete, pinned as the project is, and what the index says."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from verify.bundle import lock
from verify.bundle.engine import LOCK, ROOT, lock_text
from verify.bundle.lock import NEEDED, pins


def entries() -> dict[str, tuple[str, str, list[str]]]:
    """Each project of the lock: version, marker and hashes."""
    found = {}
    for entry in re.findall(r"(?m)^[^#\s][^\\\n]*(?:\\\n[^\\\n]*)*", lock_text()):
        head, *hashes = (row.strip() for row in entry.split("\\\n"))
        requirement, _, marker = head.partition(";")
        project, version = requirement.strip().split("==")
        found[project] = (version, marker.strip(), hashes)
    return found


def test_pins_what_the_project_pins() -> None:
    pinned = pins((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    assert {name: (entry[0], entry[1]) for name, entry in entries().items()} == {
        name: (pinned[name], marker) for name, marker in NEEDED.items()
    }


def test_every_entry_has_hashes_and_nothing_else() -> None:
    for project, (_, _, hashes) in entries().items():
        assert hashes, project
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", row) for row in hashes), project
        assert hashes == sorted(set(hashes)), project


PAGE = [
    ("libcst-1.0-cp310-cp310-macosx_11_0_arm64.whl", "c"),
    ("libcst-1.0-cp313-cp313t-win_amd64.whl", "a"),
    ("libcst-1.0-cp39-abi3-manylinux_2_28_x86_64.whl", "b"),
    ("libcst-1.0-py3-none-any.whl", "d"),
    ("libcst-1.0-cp39-cp39-win_amd64.whl", "older Python"),
    ("libcst-1.0-pp310-pypy310_pp73-win_amd64.whl", "PyPy"),
    ("libcst-1.0.tar.gz", "a source archive"),
    ("libcst-1.0.1-py3-none-any.whl", "another version"),
]


def test_takes_every_wheel_that_may_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "index_page", lambda _: PAGE)
    monkeypatch.setattr(lock, "NEEDED", {"libcst": "python_version < '4'"})
    monkeypatch.setattr(lock, "pins", lambda _: {"libcst": "1.0"})
    text = "".join(lock.locked())
    assert text.startswith("# ")
    assert text.endswith(
        "libcst==1.0 ; python_version < '4' \\\n"
        "    --hash=sha256:a \\\n    --hash=sha256:b \\\n    --hash=sha256:c \\\n"
        "    --hash=sha256:d\n"
    )


def test_a_lock_that_is_out_of_date_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = LOCK.read_bytes()
    monkeypatch.setattr(lock, "locked", lambda: ["other\n"])
    assert lock.main(["--check"]) == 1
    assert "lock.txt is not" in capsys.readouterr().err
    assert LOCK.read_bytes() == before


@pytest.mark.registry
def test_is_what_the_index_gives() -> None:
    # In a process of its own: what pip loads to read an index warns of its own parts.
    command = [sys.executable, "-m", "verify.bundle.lock", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
