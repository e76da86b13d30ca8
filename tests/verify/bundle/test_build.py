"""The file: the same for everybody, its engine unchanged, its code nothing but what stands here."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import ClassVar

import pytest

from tests.verify.histories import PLAN
from transforms.formatters import versions
from verify.bundle import VERSION
from verify.bundle.build import Subject, build, pieces
from verify.bundle.engine import (
    ROOT,
    carried_digest,
    carried_files,
    dependencies,
    engine_files,
    in_table,
    lock_text,
)
from verify.bundle.lock import NEEDED

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

BASE, TARGET = "0123456789" * 4, "abcdef0123" * 4
SUBJECT = Subject(PLAN, BASE, TARGET)


@cache
def built() -> bytes:
    return build(SUBJECT)


@cache
def parsed() -> ast.Module:
    return ast.parse(built())


def constants(tree: ast.Module) -> dict[str, object]:
    """What the file assigns to its constants, read and not run."""
    found: dict[str, object] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            (target,) = node.targets if isinstance(node, ast.Assign) else [node.target]
            name = ast.unparse(target)
            if name in {"BASE", "TARGET", "PLAN", "FORMATTERS", "LOCK", "ENGINE"}:
                assert name not in found
                found[name] = ast.literal_eval(node.value)
    return found


def test_holds_the_plan_the_commits_the_lock_and_the_engine_as_they_are() -> None:
    assert constants(parsed()) == {
        "BASE": BASE,
        "TARGET": TARGET,
        "PLAN": PLAN,
        "FORMATTERS": "",
        "LOCK": lock_text(),
        "ENGINE": dict(carried_files(())),
    }
    for path, text in engine_files().items():
        assert text.encode() == (ROOT / path).read_bytes(), path


def test_the_plan_stands_in_clear_on_the_first_screens() -> None:
    text = built().decode()
    assert PLAN in text
    assert text[: text.index(PLAN)].count("\n") < 50
    assert text.index(TARGET) < text.index(PLAN)


def test_the_first_statements_choose_where_imports_come_from() -> None:
    first, second, third = parsed().body[:3]
    assert ast.unparse(first) == "import sys"
    assert ast.unparse(second).startswith("sys.path[:] = ")
    assert ast.unparse(third).startswith("BASE = ")
    imported = {
        (alias.name if isinstance(node, ast.Import) else node.module or "").partition(".")[0]
        for node in ast.walk(parsed())
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert imported <= sys.stdlib_module_names - {"__future__"}


def test_the_header_asks_for_no_dependency() -> None:
    # As PEP 723 says how to find it.
    pattern = r"(?m)^# /// (?P<type>[a-zA-Z0-9-]+)$\s(?P<content>(^#(| .*)$\s)+)^# ///$"
    (block,) = re.finditer(pattern, built().decode())
    content = "".join(
        line[2:] if line.startswith("# ") else line[1:]
        for line in block["content"].splitlines(keepends=True)
    )
    assert block["type"] == "script"
    assert tomllib.loads(content) == {"requires-python": ">=3.10", "dependencies": []}


def test_what_runs_can_be_read_in_one_sitting() -> None:
    code = [text for part, text in pieces(SUBJECT) if part in {"the head", "the code that runs"}]
    assert sum(text.count("\n") for text in code) < 350


HOSTILE = {
    "a constant of the script": 'LOCK = ""\n\nENGINE: dict[str, str] = {}\n',
    "the end of a literal": "'''\n\"\"\"\nimport os\n",
    "a placeholder": "# @VERSION@\n",
}


@pytest.mark.parametrize("plan", HOSTILE.values(), ids=HOSTILE.keys())
def test_no_plan_changes_the_rest_of_the_file(plan: str) -> None:
    tree = ast.parse(build(Subject(plan, BASE, TARGET)))
    assert constants(tree) == {**constants(parsed()), "PLAN": plan}
    rest = [ast.dump(node) for node in tree.body if "PLAN" not in ast.unparse(node)[:5]]
    assert rest == [ast.dump(node) for node in parsed().body if "PLAN" not in ast.unparse(node)[:5]]


def test_commits_are_named_by_full_ids_alone() -> None:
    for base in ("main", BASE[:12], f"{BASE}\n", f'{BASE[:39]}"'):
        with pytest.raises(ValueError, match="full id"):
            Subject(PLAN, base, TARGET)


SETTINGS = {
    "another locale": {"LC_ALL": "C", "PYTHONUTF8": "0"},
    "another hash seed": {"PYTHONHASHSEED": "7"},
    "another time zone": {"TZ": "Pacific/Auckland"},
}


def built_by(python: str, env: dict[str, str], cwd: Path) -> bytes:
    code = (
        f"import os, sys; os.umask(0o077); sys.path.insert(0, {str(ROOT)!r})\n"
        "from verify.bundle.build import Subject, build\n"
        f"sys.stdout.buffer.write(build(Subject({PLAN!r}, {BASE!r}, {TARGET!r})))"
    )
    done = subprocess.run(
        [python, "-B", "-S", "-c", code], env=env, cwd=cwd, capture_output=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize("env", SETTINGS.values(), ids=SETTINGS.keys())
def test_is_the_same_under(env: dict[str, str], tmp_path: Path) -> None:
    assert built_by(sys.executable, env, tmp_path) == built()


def test_every_interpreter_here_builds_the_same(
    interpreters: dict[str, str], tmp_path: Path
) -> None:
    assert interpreters
    for version, python in interpreters.items():
        assert built_by(python, {}, tmp_path) == built(), version


class TestTable:
    """A bundle holds just those versions of formatters that its plan needs."""

    TOOLS: ClassVar = {
        "none": (),
        "one that needs nothing": (("isort", "5.12.0"),),
        "one that needs others": (("black", "26.1.0"),),
        "an old one, with what only it needs": (("isort", "5.0.0"), ("black", "22.1.0")),
        "two that need others": (("black", "22.1.0"), ("ruff", "0.11.0")),
        "two versions of one": (("black", "22.1.0"), ("black", "26.1.0"), ("usort", "1.0.8")),
    }

    @pytest.mark.parametrize("tools", TOOLS.values(), ids=TOOLS.keys())
    def test_holds_what_is_installed_and_no_more(
        self, tools: tuple[tuple[str, str], ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        wanted = {tool: versions.pins(*tool) for tool in tools}
        pinned = {(pin.project, pin.version) for pins in wanted.values() for pin in pins}
        installs = tuple(sorted(f"{project} {version}" for project, version in pinned))
        text = carried_files(installs)["transforms/formatters/versions.toml"]
        table = tmp_path / "versions.toml"
        table.write_text(text, encoding="utf-8")
        wheels = tomllib.loads(text).get("wheels", {})
        assert {(name, at) for name, rows in wheels.items() for at in rows} == pinned
        monkeypatch.setattr(versions, "TABLE", table)
        assert {tool: versions.pins(*tool) for tool in tools} == wanted
        assert set(in_table(installs)) == set(installs)

    def test_stands_in_the_file_by_what_it_lists(self) -> None:
        subject = replace(SUBJECT, installs=("isort 5.12.0",))
        found = constants(ast.parse(build(subject)))
        assert found["FORMATTERS"] == "isort 5.12.0"
        assert found["ENGINE"] == dict(carried_files(("isort 5.12.0",)))
        assert len(build(subject)) - len(built()) < 1000

    def test_is_small(self) -> None:
        assert len(carried_files(())["transforms/formatters/versions.toml"]) < 200


class TestEngine:
    def test_needs_what_the_lock_names(self) -> None:
        modules = {"GitPython": "git", "gitdb": "gitdb"}  # as they are imported
        modules |= {"libcst": "libcst", "PyYAML": "yaml", "tomli": "tomli"}
        ours = {modules[project] for project in NEEDED if project in modules}
        assert dependencies() - {"rich"} == ours  # Rich only colours, and a bundle has no colour

    def test_leaves_out_what_only_the_command_needs(self) -> None:
        files = set(engine_files())
        assert {"verify/bundle/inside.py", "transforms/engine.py", "verify/__init__.py"} <= files
        unneeded = ("verify/commands/", "verify/cli", "verify/html", "verify/report/page/")
        assert not any(path.startswith(unneeded) for path in files)
        assert not any("/plans/" in path or path.startswith("tests/") for path in files)

    def test_its_digest_is_the_one_that_names_the_cache(self) -> None:
        names: dict[str, object] = {"__name__": "bundle"}
        path = list(sys.path)
        try:
            exec(compile(built(), "bundle", "exec"), names)  # noqa: S102
        finally:
            sys.path[:] = path
        digest = names["digest"]
        assert callable(digest)
        assert digest() == carried_digest(())


def test_the_version_is_the_projects() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == VERSION
