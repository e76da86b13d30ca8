"""What the kernel stands on: the standard library alone, and nothing that differs between runs."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import verify.certificate
from verify.kernel import trees

FOLDER = Path(verify.certificate.__file__).parent
MODULES = sorted(FOLDER.glob("*.py"))
PROGRAM = """
import sys
from tests.verify.certificate.samples import AFTER, BEFORE
from tests.verify.certificate.trees import edited, judge
print(judge(BEFORE, AFTER))
print(judge(BEFORE, edited(AFTER, "pkg/core.py", "LIMIT = 10", "LIMIT = 11")))
print(judge(AFTER, {**BEFORE, "pkg/new.py": "def f():\\n    pass\\n"}))
"""


def test_it_is_small_modules_behind_an_interface() -> None:
    assert len(MODULES) == 20
    assert "__init__.py" in {path.name for path in MODULES}
    assert all(len(path.read_text("utf-8").splitlines()) <= 500 for path in MODULES)


def test_it_imports_the_standard_library_itself_and_the_ground_of_the_second() -> None:
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0
                names = [str(node.module)]
            for name in names:
                top = name.partition(".")[0]
                known = name.startswith((verify.certificate.__name__, trees.__name__))
                assert top in sys.stdlib_module_names or known


def test_it_neither_runs_nor_writes_anything() -> None:
    forbidden = {"exec", "eval", "compile", "__import__", "open", "system", "write_text"}
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                regular = isinstance(node.func, ast.Attribute) and name == "compile"
                assert name not in forbidden or regular, f"{path.name}:{node.lineno}"
            if isinstance(node, ast.Import):
                names = {alias.name for alias in node.names}
                assert not names & {"os", "subprocess", "shutil", "importlib"}


def test_a_certificate_does_not_depend_on_the_run() -> None:
    outputs = set()
    for seed in ("0", "1", "12345"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": "C", "TZ": "Asia/Tokyo"},
            cwd=Path(__file__).resolve().parents[3],
            capture_output=True,
            check=True,
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1
