"""How formatters are run: in order, cut off, within limits, and once. The tools are stand-ins."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.transforms.formatters.trees import PRE_COMMIT, MemoryTree, append, hooks, stand_ins, tree
from transforms.errors import Refusal
from transforms.formatters import Formatters, api, repository_formatters, running
from transforms.formatters.running import match
from transforms.result.changes import Blob
from transforms.tree import OverlayTree

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Let programs be stand-ins: `install(isort="...", black="...")` gives each its body."""
    monkeypatch.setenv("REPOT_CACHE", str(tmp_path / "cache"))
    return stand_ins(tmp_path, monkeypatch)


REPORT = """
import json, locale, os, sys, time
seen = {
    "cwd": os.getcwd(), "argv": argv, "path": [str(p) for p in sys.path], "env": dict(os.environ),
    "flags": [sys.flags.isolated, sys.flags.no_site, sys.flags.utf8_mode],
    "files": sorted(os.path.relpath(os.path.join(at, name))
                    for at, _, names in os.walk(".") for name in names),
    "folders": sorted(os.path.relpath(os.path.join(at, name))
                      for at, names, _ in os.walk(".") for name in names),
    "zone": time.tzname[0], "encoding": locale.getpreferredencoding(False),
    "home": os.listdir(os.path.expanduser("~")),
}
path.write_text(json.dumps(seen))
"""


def one(formatters: Formatters, after: MemoryTree, path: str = "package/module.py") -> str:
    return formatters.format({path: after.files[path]}, after)[path].data.decode()


def test_they_run_in_the_order_of_the_hooks(install: Install) -> None:
    install(isort=append("# isort\n"), black=append("# black\n"))
    for order in (["isort", "black"], ["black", "isort"]):
        after = tree(*order)
        formatters = repository_formatters(after)
        made = formatters.format({"package/module.py": b""}, after)["package/module.py"]
        assert made.data.decode() == "".join(f"# {name}\n" for name in order)
        assert made.changed_by == tuple(tool.label for tool in formatters.tools)


def test_only_who_changed_a_file_is_named(install: Install) -> None:
    install(isort="pass", black="if b'x' not in path.read_bytes(): return\n" + append("#\n"))
    files = {"a.py": b"x\n", "b.py": b"y\n", "c.txt": b"x\n"}
    after = MemoryTree({PRE_COMMIT: hooks("isort", "black"), **files})
    made = repository_formatters(after).format(files, after)
    assert list(made) == list(files)
    assert {path: one.changed_by for path, one in made.items()} == {
        "a.py": ("black 26.1.0",),
        "b.py": (),
        "c.txt": (),
    }


def test_an_earlier_one_sees_what_a_later_one_made(install: Install, tmp_path: Path) -> None:
    count = f"open({str(tmp_path / 'count')!r}, 'a').write(path.name[0])\n"
    install(
        isort=count + "if b'B' not in path.read_bytes(): return\n" + append("A"),
        black=count + "if b'x' not in path.read_bytes(): return\n" + append("B"),
    )
    files = {"a.py": b"x", "b.py": b"y"}
    after = MemoryTree({PRE_COMMIT: hooks("isort", "black"), **files})
    made = repository_formatters(after).format(files, after)
    assert {path: (one.data, one.changed_by) for path, one in made.items()} == {
        "a.py": (b"xBA", ("black 26.1.0", "isort 7.0.0")),
        "b.py": (b"y", ()),
    }
    assert sorted((tmp_path / "count").read_text()) == list("aaaabb")  # b.py was settled at once


def test_those_that_undo_one_another_are_refused(install: Install) -> None:
    swap = "path.write_bytes(path.read_bytes().replace(b'{}', b'{}'))"
    install(isort=swap.format("b", "a"), black=swap.format("a", "b"))
    after = tree("isort", "black", package__module_dot_py="a")
    with pytest.raises(Refusal, match=r"undo one another's changes: black 26\.1\.0, isort"):
        one(repository_formatters(after), after)


FILTERS = {
    "the hook's own files": ("isort, files: ^a/", "", ["a/x.py", "a/x.pyi"]),
    "the hook's own exclusions": ("isort, exclude: 'x[.]py$'", "", ["a/x.pyi", "b/y.py"]),
    "the whole configuration's files": ("isort", "files: ^b/", ["b/y.py"]),
    "the whole configuration's exclusions": ("isort", "exclude: ^a/", ["b/y.py"]),
    "both": ("isort, files: ^a/", "exclude: 'pyi$'", ["a/x.py"]),
    "a pattern over several lines": (
        "isort, exclude: '(?x)^(\n    a/.*\n    |nothing\n    )$'",
        "",
        ["b/y.py"],
    ),
    "types": ("isort, types_or: [pyi]", "", ["a/x.pyi"]),
    "types that are excluded": ("isort, exclude_types: [python]", "", ["a/x.pyi"]),
}


@pytest.mark.parametrize(("hook", "top", "formatted"), FILTERS.values(), ids=FILTERS.keys())
def test_files_are_chosen_by(install: Install, hook: str, top: str, formatted: list[str]) -> None:
    install(isort=append("#"))
    files = {"a/x.py": b"", "a/x.pyi": b"", "b/y.py": b"", "b/z.txt": b""}
    after = MemoryTree({PRE_COMMIT: hooks(hook, top=top), **files})
    made = repository_formatters(after).format(files, after)
    assert [path for path, one in made.items() if one.data] == formatted


def test_a_formatter_sees_nothing_but_its_scratch_tree(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(isort="pass", black=REPORT)
    monkeypatch.setenv("SECRET", "value")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    monkeypatch.setenv("LC_ALL", "C")
    after = MemoryTree(
        {
            PRE_COMMIT: hooks("isort", "black, args: [--preview]"),
            "pyproject.toml": "[tool.black]\nline-length = 9\nexclude = 'x'\n",
            "package/module.py": "import own, other",
            "own/__init__.py": "real text",
            "unrelated.py": "",
        }
    )
    seen = json.loads(one(repository_formatters(after), after))
    assert seen["argv"] == ["--preview"]
    assert seen["files"] == ["own/__init__.py", "package/module.py", "pyproject.toml"]
    assert seen["folders"] == [".git", "own", "package"]
    assert seen["flags"] == [1, 1, 1]
    assert seen["home"] == []
    assert (seen["zone"], seen["encoding"].lower()) == ("UTC", "utf-8")
    assert "SECRET" not in seen["env"]
    assert not [p for p in seen["path"] if p in ("", seen["cwd"]) or "site-packages" in p]
    assert seen["path"][-1] == str(tmp_path / "installed" / "black")
    assert not Path(seen["cwd"]).exists()


HOSTILE_MODULES = ("black.py", "isort.py", "isort/main.py", "json.py", "sitecustomize.py", "os.py")


@pytest.mark.parametrize("name", HOSTILE_MODULES)
def test_a_module_of_the_tree_is_never_run(install: Install, name: str, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    evil = f"open({str(mark)!r}, 'w')\nraise SystemExit(7)\n"
    install(isort=append("# isort\n"), black=append("# black\n"))
    after = MemoryTree({PRE_COMMIT: hooks("isort", "black"), name: evil, "conftest.py": evil})
    files = {name: evil.encode(), "conftest.py": evil.encode()}
    made = repository_formatters(after).format(files, after)
    assert all(one.data.endswith(b"# isort\n# black\n") for one in made.values())
    assert not mark.exists()


def test_the_configuration_is_gone_before_the_next_tool(install: Install) -> None:
    install(isort="pass", black=REPORT)
    after = tree("isort", "black", tox_dot_ini="[isort]\nskip=a\n")
    assert json.loads(one(repository_formatters(after), after))["files"] == ["package/module.py"]


def test_results_are_kept(install: Install, tmp_path: Path) -> None:
    count = f"open({str(tmp_path / 'count')!r}, 'a').write('.')\n"
    install(isort=count + append("#"))
    after = tree("isort", package__b_dot_py="b")
    files = {path: after.files[path] for path in ("package/module.py", "package/b.py")}

    def runs() -> int:
        formatters = repository_formatters(after)
        assert [one.data for one in formatters.format(files, after).values()] == [b"#", b"b#"]
        return len((tmp_path / "count").read_text())

    assert [runs(), runs()] == [2, 2]
    for entry in (tmp_path / "cache" / "formatters" / "results").iterdir():
        entry.write_bytes(entry.read_bytes()[:-1] + b"?")
    assert [runs(), runs()] == [4, 4]  # what was damaged is made again


MATTERS = {
    "the bytes": ({"package/module.py": "x"}, "isort"),
    "the configuration": ({"tox.ini": "[isort]\nskip=a\n"}, "isort"),
    "the arguments": ({}, "isort, args: [--tc]"),
    "a first-party module": ({"own.py": ""}, "isort"),
}


@pytest.mark.parametrize(("change", "hook"), MATTERS.values(), ids=MATTERS.keys())
def test_a_result_is_made_again_with(
    install: Install, tmp_path: Path, change: dict[str, str], hook: str
) -> None:
    install(isort=f"open({str(tmp_path / 'count')!r}, 'a').write('.')\n")
    base = {"package/module.py": "import own"}
    for files, line in ((base, "isort"), (base, "isort"), ({**base, **change}, hook)):
        after = MemoryTree({PRE_COMMIT: hooks(line), **files})
        one(repository_formatters(after), after)
    assert (tmp_path / "count").read_text() == ".."


def test_what_does_not_matter_is_not_asked_again(install: Install, tmp_path: Path) -> None:
    install(isort=f"open({str(tmp_path / 'count')!r}, 'a').write('.')\n")
    others: list[dict[str, str]] = [
        {},
        {"unrelated.py": "x"},
        {"README.md": "x"},
        {"a/tox.ini": "[isort]\nskip=a"},
    ]
    for more in others:
        after = MemoryTree({PRE_COMMIT: hooks("isort"), "package/module.py": "", **more})
        one(repository_formatters(after), after)
    assert (tmp_path / "count").read_text() == "."


def test_the_tree_after_the_move_decides(install: Install) -> None:
    install(isort=REPORT)
    base = tree("isort")
    made = OverlayTree(base, {"package/new.py": Blob(b"import package", 0o100644)})
    formatters = repository_formatters(base)
    data = formatters.format({"package/new.py": b"import module"}, made)["package/new.py"].data
    assert json.loads(data)["files"] == ["package/new.py"]


def test_shares_do_not_change_the_result(
    install: Install, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(isort=append("# isort\n"), black=append("# black\n"))
    files = {f"m{number}.py": b"x" * (number + 1) for number in range(7)}
    after = MemoryTree({PRE_COMMIT: hooks("isort", "black"), **files})
    made = []
    for number, size in enumerate((1_000_000, 1)):
        monkeypatch.setenv("REPOT_CACHE", str(tmp_path / f"cache{number}"))
        monkeypatch.setattr(api, "_SHARE", size)
        monkeypatch.setattr(api, "_usable_processors", lambda: 3)
        made.append(repository_formatters(after).format(files, after))
    assert made[0] == made[1]


FAILURES = {
    "with an exit code": ("import sys; sys.stderr.write('error: no\\n'); sys.exit(3)", "error: no"),
    "with an exception": ("raise ValueError('bad thing')", "ValueError: bad thing"),
    "by a signal": ("import os; os.kill(os.getpid(), 11)", "was stopped by signal 11"),
    "with bytes that are no text": (
        "import sys; sys.stderr.buffer.write(b'error \\xff'); sys.exit(1)",
        "error \ufffd",
    ),
}


@pytest.mark.parametrize(("body", "cause"), FAILURES.values(), ids=FAILURES.keys())
def test_a_tool_that_fails_is_a_refusal(install: Install, body: str, cause: str) -> None:
    install(black=body)
    after = tree("black")
    with pytest.raises(Refusal) as refused:
        one(repository_formatters(after), after)
    assert refused.value.kind == "formatter-failed"
    assert cause in refused.value.cause
    assert refused.value.cause.startswith("black 26.1.0 ")
    assert refused.value.place is not None
    assert refused.value.place.path == "package/module.py"


def test_a_tool_says_where_it_fails(install: Install) -> None:
    body = "import sys; sys.stderr.write(f'error: cannot format {path}: 12:3: no'); sys.exit(123)"
    install(black=f"if path.name == 'b.py': {body}")
    files = {"a.py": b"", "b.py": b"", "c.py": b""}
    after = MemoryTree({PRE_COMMIT: hooks("black"), **files})
    with pytest.raises(Refusal) as refused:
        repository_formatters(after).format(files, after)
    assert str(refused.value.place) == "b.py:12"


def test_a_tool_that_does_not_end_is_a_refusal(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "LIMIT", 0.5)
    install(black="while True: pass")
    after = tree("black")
    with pytest.raises(Refusal, match=r"more than 0\.5 seconds"):
        one(repository_formatters(after), after)


def test_nothing_is_kept_of_a_run_that_failed(install: Install, tmp_path: Path) -> None:
    install(isort=append("#"), black="raise ValueError")
    after = tree("isort", "black")
    with pytest.raises(Refusal):
        one(repository_formatters(after), after)
    kept = list((tmp_path / "cache" / "formatters" / "results").iterdir())
    assert len(kept) == 1  # which files the patterns let through


def test_patterns_are_searched_as_pre_commit_does() -> None:
    paths = ["a/b.py", "b.py", "a/c.py"]
    pairs = [("", "^$"), ("^a/", "c"), ("b", "^b"), ("(?i)B[.]PY", "^$")]
    assert match(pairs, paths) == [paths, ["a/b.py"], ["a/b.py"], ["a/b.py", "b.py"]]


def test_a_pattern_that_takes_for_ever_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_MATCH_LIMIT", 0.5)
    with pytest.raises(Refusal, match=r"more than 0\.5 seconds") as refused:
        match([("(a+)+$", "^$")], ["a" * 60 + "!.py"])
    assert refused.value.kind == "formatter-configuration"


BAD_PATTERNS = {
    "an open group": "(",
    "a huge repetition": "a{99999999999999999999}",
    "groups within groups": "(" * 5000 + ")" * 5000,
}


@pytest.mark.parametrize("pattern", BAD_PATTERNS.values(), ids=BAD_PATTERNS.keys())
def test_a_pattern_that_is_none_is_refused(pattern: str) -> None:
    with pytest.raises(Refusal) as refused:
        match([(pattern, "^$")], ["a.py"])
    assert refused.value.kind == "formatter-configuration"


def test_a_configuration_above_the_scratch_tree_is_refused(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(black="pass")
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    after = tree("black")
    with pytest.raises(Refusal, match="Set TMPDIR"):
        one(repository_formatters(after), after)


def test_a_path_that_looks_like_an_option_is_a_path(install: Install) -> None:
    install(isort=append("# isort\n"), black=append("# black\n"))
    files = {"-x.py": b"", "--help.py": b""}
    after = MemoryTree({PRE_COMMIT: hooks("isort", "black"), **files})
    made = repository_formatters(after).format(files, after)
    assert [one.data for one in made.values()] == [b"# isort\n# black\n"] * 2


def test_a_path_that_is_no_text_is_formatted(install: Install) -> None:
    install(isort=append("#"))
    path = os.fsdecode(b"caf\xe9.py")
    after = MemoryTree({PRE_COMMIT: hooks("isort"), path: b""})
    assert repository_formatters(after).format({path: b""}, after)[path].data == b"#"


def test_the_result_does_not_depend_on_the_process(install: Install, tmp_path: Path) -> None:
    install(isort=append("# isort\n"), black=append("# black\n"))
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from tests.transforms.formatters.trees import tree\n"
        "from transforms.formatters import api, repository_formatters\n"
        f"installed = Path({str(tmp_path / 'installed')!r})\n"
        "api.ensure = lambda folder, label, pins, say: installed / pins[0].project\n"
        "after = tree('isort', 'black', package__b_dot_py='import a, b', a_dot_py='')\n"
        "files = {path: after.files[path] for path in sys.argv[1:]}\n"
        "made = repository_formatters(after).format(files, after)\n"
        "print(sorted((p, one.data, one.changed_by) for p, one in made.items()))\n"
    )
    said = set()
    for seed, zone, language, order in (
        ("0", "UTC", "C", 1),
        ("1", "Asia/Kathmandu", "C.UTF-8", -1),
        ("2", "America/New_York", "POSIX", 1),
    ):
        cache = tmp_path / f"cache{seed}"
        environment = {
            **os.environ, "PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": language,
            "REPOT_CACHE": str(cache),
        }  # fmt: skip
        command = [sys.executable, "-c", script, *["package/module.py", "package/b.py"][::order]]
        done = subprocess.run(command, env=environment, capture_output=True, check=True)
        entries = sorted(entry.name for entry in (cache / "formatters" / "results").iterdir())
        said.add((done.stdout, tuple(entries)))
    assert len(said) == 1
