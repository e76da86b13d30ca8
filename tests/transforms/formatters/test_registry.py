"""One object adds a formatter, and no module but a formatter's own knows its name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.documents import ROOT
from tests.transforms.formatters.trees import PRE_COMMIT, MemoryTree, hooks, stand_ins
from transforms.errors import Refusal
from transforms.formatters import registry, repository_formatters, versions
from transforms.formatters.arguments import options, read_arguments
from transforms.formatters.environments import ensure
from transforms.formatters.firstparty import find_stubs
from transforms.formatters.formatter import (
    BuiltIn,
    Formatter,
    Function,
    Manifest,
    Namespaces,
    Option,
    Program,
    Project,
    Stage,
    Tool,
    always,
)
from transforms.formatters.settings import Configuration, Schema, write_toml
from transforms.formatters.versions import Pin

SCHEMA = Schema("tidy", passed=frozenset({"depth"}), refused={"plugin": "runs code of a plugin"})


def prepare(tool: Tool, configuration: Configuration, paths: Sequence[str]) -> Stage:
    argv = [part for argument in read_arguments(tool.hook) for part in argument.argv()]
    source = configuration.find("tidy.toml")
    table = configuration.toml("tidy.toml") or {}
    configs = {source.path: write_toml({"": SCHEMA.vet(table, source)})} if source else {}
    return Stage(tool, frozenset(paths), tuple(argv), configs)


def tidy(runs: Project | BuiltIn) -> Formatter:
    """Describe a formatter that no one has heard of."""
    return Formatter(
        name="tidy",
        repositories={"someone/tidy": Manifest(ids=("tidy",), types=("python",), args=("--deep",))},
        options={
            **options({"deep": "--deep"}),
            **options({"talk": "--talk"}, effect="drop"),
            "--out": Option("out", effect="refuse", reason="writes files elsewhere"),
        },
        runs=runs,
        prepare=prepare,
        changes=lambda hook, _: "--talk" not in dict(hook.args),
        sorts=always,
        environment={"TIDY_CACHE": "{home}/tidy"},
        searched=("tidy.toml",),
        namespaces=Namespaces(frozenset({"flat.txt"}), re.compile(b"spread"), b"# spread\n"),
    )


BUILT_IN = BuiltIn(lambda stage, data: data.rstrip() + " ".join(stage.argv).encode() + b"\n")
FUNCTION = Project(
    "tidy",
    oldest="2.0",
    entry=Function("tidy", "main", "arguments of one file", {"standalone_mode": False}),
    needs={"2.1": {"helper": "1.0"}},
)
PROGRAM = Project("tidy", oldest="2.0", entry=Program("tidy"))
TABLE = """
[needs.tidy]
"2.1" = { "helper" = "1.0" }

[wheels.helper]
"1.0" = { "py3-none-any" = "00" }

[wheels.tidy]
"2.0" = { "py3-none-any" = "01" }
"2.1" = { "py3-none-any" = "02" }
"""
# What the stand-in for its function writes: the environment it is run in.
REPORT = """
import json, os
facts = {"argv": argv, "cache": os.environ["TIDY_CACHE"] == os.environ["HOME"] + "/tidy"}
facts["settings"] = Path("tidy.toml").read_text()
path.write_text(json.dumps(facts) + chr(10))
"""

Add = Callable[[Project | BuiltIn], None]


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Add]:
    """List the formatter and put its releases in the table: nothing else may need to know."""
    monkeypatch.setenv("REPOT_CACHE", str(tmp_path / "cache"))
    table = tmp_path / "versions.toml"
    table.write_text(versions.TABLE.read_text(encoding="utf-8") + TABLE, encoding="utf-8")
    monkeypatch.setattr(versions, "TABLE", table)
    yield lambda runs: monkeypatch.setattr(
        registry, "FORMATTERS", (*registry.FORMATTERS, tidy(runs))
    )
    for cached in (versions._lines, versions._pin, versions._needs):
        cached.cache_clear()


def hooked(version: str = "2.1", hook: str = "tidy", **files: str) -> MemoryTree:
    """Make a tree whose hooks run the formatter, and after it one that Repot has."""
    text = (
        "repos:\n- repo: https://github.com/Someone/tidy\n"
        f"  rev: v{version}\n  hooks: [{{id: {hook}}}]\n"
    )
    text += hooks("end-of-file-fixer").removeprefix("repos:\n")
    named = {name.replace("_dot_", "."): content for name, content in files.items()}
    return MemoryTree({PRE_COMMIT: text, "a.py": "", **named})


def formatted(tree: MemoryTree, text: str = "x") -> tuple[str, tuple[str, ...]]:
    made = repository_formatters(tree).format({"a.py": text.encode()}, tree)["a.py"]
    return made.data.decode(), made.changed_by


def names(tree: MemoryTree) -> list[str]:
    return [tool.name for tool in repository_formatters(tree).tools]


REFUSED = {
    "another version": ({"version": "2.4"}, "tidy 2.4 is not in Repot's table of versions."),
    "an argument": ({"hook": "tidy, args: [--out]"}, "argument `--out` writes files elsewhere"),
    "an unknown argument": ({"hook": "tidy, args: [--dep]"}, "`--dep` is no tidy argument"),
    "a key of its hook": ({"hook": "tidy, entry: x"}, "The tidy hook sets `entry`."),
}


class TestAMadeUpFormatter:
    def test_is_one_where_it_is_listed(self, add: Add) -> None:
        assert names(hooked()) == ["end-of-file-fixer"]
        add(BUILT_IN)
        ours, ending = repository_formatters(hooked()).tools
        assert (ours.label, ours.sorts) == ("tidy 2.1", True)
        assert (ending.name, ending.sorts) == ("end-of-file-fixer", False)

    def test_is_left_alone_where_its_hook_only_complains(self, add: Add) -> None:
        add(BUILT_IN)
        assert names(hooked(hook="tidy, args: [--talk]")) == ["end-of-file-fixer"]

    def test_may_be_built_in(self, add: Add) -> None:
        add(BUILT_IN)
        assert formatted(hooked()) == ("x--deep\n", ("tidy 2.1",))
        assert formatted(hooked(version="head"))[1] == ("tidy vhead",)

    def test_may_be_a_function(
        self, add: Add, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        add(FUNCTION)
        stand_ins(tmp_path, monkeypatch)(tidy=REPORT)
        text, changed_by = formatted(hooked(tidy_dot_toml="depth = 3\n"))
        assert changed_by == ("tidy 2.1",)
        facts = {"argv": ["--deep"], "cache": True, "settings": '"depth" = 3\n'}
        assert json.loads(text) == facts

    def test_may_be_a_function_that_gives_results(
        self, add: Add, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        entry = Function("tidy", "of_path", "path", {"deep": True}, "{path} is untidy: {error}")
        add(Project("tidy", oldest="2.0", entry=entry))
        stand_ins(tmp_path, monkeypatch)(tidy="pass")
        module = tmp_path / "installed" / "tidy" / "tidy" / "__init__.py"
        module.write_text(
            "from types import SimpleNamespace\n"
            "def of_path(path, deep):\n"
            "    path.write_text(f'{deep}\\n')\n"
            "    yield SimpleNamespace(error=None)\n"
            "    if path.name == 'b.py': yield SimpleNamespace(error='{no}')\n"
        )
        assert formatted(hooked()) == ("True\n", ("tidy 2.1",))
        tree = hooked()
        with pytest.raises(Refusal, match=r"exit code 1: b\.py is untidy: \{no\}\."):
            repository_formatters(tree).format({"b.py": b""}, tree)

    def test_may_be_a_program(
        self, add: Add, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        add(PROGRAM)
        stand_ins(tmp_path, monkeypatch)(tidy="pass")
        program = tmp_path / "installed" / "tidy" / "bin" / "tidy"
        program.parent.mkdir()
        program.write_text('#!/bin/sh\necho "$@" > "$3"\n')
        program.chmod(0o755)
        assert formatted(hooked()) == ("--deep -- a.py\n", ("tidy 2.1",))

    def test_is_taken_from_beside_repot_if_it_is_a_program(
        self, add: Add, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        program = tmp_path / "bin" / "tidy"
        program.parent.mkdir()
        program.write_text("#!/bin/sh\necho tidy 2.1\n")
        program.chmod(0o755)
        monkeypatch.setattr("sysconfig.get_path", lambda name: str(program.parent))
        add(PROGRAM)
        assert ensure(tmp_path, "tidy 2.1", (Pin("tidy", "2.1", ()),), lambda _: None) == tmp_path

    @pytest.mark.parametrize(("changes", "cause"), REFUSED.values(), ids=REFUSED.keys())
    def test_is_refused(self, add: Add, changes: dict[str, str], cause: str) -> None:
        add(FUNCTION)
        with pytest.raises(Refusal) as refused:
            repository_formatters(hooked(**changes))
        assert cause in refused.value.cause

    def test_is_refused_where_a_setting_is(self, add: Add) -> None:
        add(BUILT_IN)
        with pytest.raises(Refusal, match="tidy setting `plugin` runs code of a plugin"):
            formatted(hooked(tidy_dot_toml="plugin = 1\n"))

    def test_is_refused_from_a_repository_that_no_one_knows(self, add: Add) -> None:
        tree = MemoryTree({PRE_COMMIT: "repos: [{repo: x, rev: v1.0, hooks: [{id: tidy}]}]\n"})
        assert names(tree) == []
        add(FUNCTION)
        with pytest.raises(Refusal, match="The hook `tidy` comes from `x`"):
            repository_formatters(tree)

    def test_never_sees_its_configuration_above_the_scratch_tree(
        self, add: Add, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        add(BUILT_IN)
        (tmp_path / "tidy.toml").touch()
        (tmp_path / "temporary").mkdir()
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
        with pytest.raises(Refusal, match=r"tidy\.toml` lies above the temporary folder"):
            formatted(hooked())

    def test_has_its_say_in_what_is_a_namespace(self, add: Add) -> None:
        files = {"own/flat.txt": "", "far/__init__.py": "spread = 1\n", "a.py": ""}
        before = find_stubs(MemoryTree(files), [""], (), frozenset({"own", "far"}), ["a.py"])
        assert before.files == {"far/__init__.py": b""}
        add(BUILT_IN)
        after = find_stubs(MemoryTree(files), [""], (), frozenset({"own", "far"}), ["a.py"])
        assert after.files == {"far/__init__.py": b"# spread\n", "own/flat.txt": b""}


# The modules that may name a formatter though they are none, and why.
EXCEPTIONS = {
    "transforms/formatters/__init__.py": "says what each module of the room is for",
    "verify/release/__init__.py": "says what each module of the room is for",
    "transforms/syntax/comments.py": "comments that speak to tools, as code has them",
    "transforms/source/module.py": "comments that speak to tools, as code has them",
    "transforms/tree/disk.py": "a comment that speaks to this repository's own linter",
    "transforms/imports/order.py": "an order of names is called after the tool that it comes from",
    "transforms/imports/runs.py": "says after which tools an order is modelled",
    "transforms/imports/names.py": "comments that speak to tools; an order's name",
    "verify/bundle/lock.py": "says which dependencies of Repot a bundle leaves out",
    "verify/kernel/texts/strings.py": "sections that only checkers read, by their tools",
    "verify/release/linting.py": "runs a linter, which Repot depends on, for its own checks",
    "verify/release/transform.py": "the configuration of a repository that releases are tried on",
}


def test_no_other_module_names_a_formatter() -> None:
    own = {formatter.prepare.__module__ for formatter in registry.FORMATTERS}
    manifests = [m for one in registry.FORMATTERS for m in one.repositories.values()]
    told = {*registry.projects(), *(identity for one in manifests for identity in one.ids)}
    assert {"isort", "black", "ruff", "usort", "trailing-whitespace"} < told
    word = re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, told)))})\b", re.IGNORECASE)
    found = {
        path.relative_to(ROOT).as_posix()
        for package in ("transforms", "verify")
        for path in (ROOT / package).rglob("*.py")
        if word.search(path.read_text(encoding="utf-8"))
    }
    others = found - {f"{name.replace('.', '/')}.py" for name in own}
    assert others <= set(EXCEPTIONS)
    assert {path for path in EXCEPTIONS if (ROOT / path).exists()} <= others
