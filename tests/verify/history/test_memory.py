"""Memory at the end of a process: nobody goes through it, and what must be done still is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
KNOT = """
import sys
sys.path.insert(0, sys.argv[1])
from verify.history.memory import collect_less_often
class Knot:
    def __del__(self):
        print("taken apart")
knot = Knot()
knot.itself = knot
"""
CARE = """
import tempfile
collect_less_often()
folder = tempfile.TemporaryDirectory()
print(folder.name)
"""


def test_what_is_knotted_is_left_to_the_system_and_folders_still_go() -> None:
    command = [sys.executable, "-I", "-S", "-c"]
    plain, spared = (
        subprocess.run([*command, text, ROOT], capture_output=True, text=True, check=True).stdout
        for text in (f"{KNOT}del knot", f"{KNOT}{CARE}del knot")
    )
    assert plain.split("\n") == ["taken apart", ""]
    folder, end = spared.split("\n")
    assert end == ""
    assert not Path(folder).exists()
