"""The real formatters, against themselves run plainly in a whole checkout. Needs the registry."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.transforms.checkouts import run_git
from tests.transforms.formatters.trees import PRE_COMMIT, Link, MemoryTree, hooks
from transforms.errors import Refusal
from transforms.formatters import Formatters, repository_formatters
from transforms.formatters.environments import ensure
from transforms.formatters.store import cache_folder
from transforms.formatters.versions import pins
from transforms.result.changes import SUBMODULE

pytestmark = pytest.mark.registry

PLAIN = {
    "isort": "from isort.main import main; main()",
    "black": "from black import patched_main; patched_main()",
    "usort": "from usort.cli import main; main(['format', *sys.argv[1:]])",
}


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Install each formatter once for all tests, unless the user's own cache is named."""
    os.environ.setdefault("REPOT_CACHE", str(tmp_path_factory.mktemp("repot-cache")))


def check_out(tree: MemoryTree, top: Path) -> None:
    """Write the whole tree, links and all, as a clone would."""
    for path, mode in tree.entries().items():
        target = top / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if mode == SUBMODULE:
            target.mkdir()
        elif isinstance(tree.texts[path], Link):
            target.symlink_to(tree.files[path].decode())
        else:
            target.write_bytes(tree.files[path])
    run_git(top, "init", "--quiet")


def plainly(formatters: Formatters, top: Path, home: Path, paths: list[str]) -> dict[str, bytes]:
    """Run the tools as their hooks would in a checkout, on all the paths."""
    for tool in formatters.tools:
        project = tool.formatter.project
        assert project is not None
        installed = ensure(
            cache_folder(), tool.label, pins(project.name, tool.version), lambda _: None
        )
        arguments = [argument for argument, _ in tool.hook.args]
        if tool.name in PLAIN:
            start = f"import sys; sys.path[:1] = [{str(installed)!r}]; {PLAIN[tool.name]}"
            command = [sys.executable, "-c", start]
        else:
            verb = "check" if tool.name == "ruff" else "format"
            command = [str(installed / "bin" / "ruff"), verb, "--force-exclude"]
        done = subprocess.run(
            [*command, *arguments, *paths],
            cwd=top,
            env={"HOME": str(home), "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
            capture_output=True,
            check=False,
        )
        assert done.returncode in {0, 1}, done.stderr
    return {path: (top / path).read_bytes() for path in paths}


LAYOUT: dict[str, str] = {
    "own.py": "",
    "pkg/__init__.py": "",
    "pkg/part.py": "",
    "pkg/sub/__init__.py": "",
    "pkg/sub/deep.py": "",
    "src/inner/__init__.py": "",
    "src/inner/leaf.py": "",
    "src/plain.py": "",
    "space/one/__init__.py": "",
    "space/two/three/four.py": "",
    "mixed/one/__init__.py": "",
    "mixed/1st.py": "",
    "declared/__init__.py": "__path__ = __import__('pkgutil').extend_path(__path__, __name__)\n",
    "declared/real/__init__.py": "",
    "data/rows.csv": "",
    "libs/first/src/liba/__init__.py": "",
    "libs/second/src/libb.py": "",
    "linked": Link("libs/first/src/liba"),
    "stub.pyi": "",
}
NAMES = [
    "own", "pkg", "pkg.part", "pkg.sub.deep", "pkg.gone", "inner", "inner.leaf", "plain", "space",
    "space.one", "space.two.three.four", "space.gone", "mixed.one", "mixed.gone", "declared.real",
    "declared.gone", "data", "data.rows", "liba", "libb", "linked", "linked.x", "stub", "module",
    "os", "sys.path", "numpy", "attr", "third.party", "src", "libs", "src.plain",
]  # fmt: skip


def shuffled(seed: int, *, whole: bool = True) -> str:
    """Import names of every module, and where `whole` each module itself, in a random order."""
    chance = random.Random(seed)  # noqa: S311 - a reproducible order, no secret
    names = NAMES if whole else [name for name in NAMES if "." not in name]
    lines = [f"from {name} import b{at}, a{at}" for at, name in enumerate(names)]
    lines += ["from . import x", "from .y import z"]
    if whole:
        lines += [f"import {name}" for name in names]
    chance.shuffle(lines)
    used = f"\n\n\ndef use( ):\n    return [a0, b1, x, z, {', '.join(names[:9])}]\n"
    return "import __future__\n" + "\n".join(lines) + used


CONFIGURED: dict[str, tuple[list[str], dict[str, str]]] = {
    "isort as it is": (["isort"], {}),
    "isort of old": (["isort, args: [--profile, black]"], {}),
    "isort with source folders": (
        ["isort"],
        {".isort.cfg": "[settings]\nsrc_paths = src,libs/*/src,pkg\nfrom_first = 1\n"},
    ),
    "isort configured in a folder": (
        ["isort"],
        {"pkg/setup.cfg": "[isort]\nlines_after_imports=3\n"},
    ),
    "isort configured for editors": (
        ["isort"],
        {
            ".editorconfig": "root = true\n[*]\nindent_style = space\nindent_size = 2\n"
            "max_line_length = 60\n"
        },
    ),
    "isort with namespaces": (
        ["isort, args: [--fss]"],
        {"pyproject.toml": "[tool.isort]\nnamespace_packages = ['space', 'pkg']\n"},
    ),
    "ruff as it is": (["ruff, args: [--fix, --select=I]", "ruff-format"], {}),
    "ruff with source folders": (
        ["ruff, args: [--fix]"],
        {"ruff.toml": "src = ['src', 'libs/*/src', '.']\nlint.select = ['I', 'F401', 'TCH']\n"},
    ),
    "ruff that extends": (
        ["ruff, args: [--fix]", "ruff-format"],
        {
            "pkg/ruff.toml": "extend = '../base.toml'\n[format]\nquote-style = 'single'\n",
            "base.toml": "line-length = 60\nsrc = ['src']\n[lint]\nextend-select = ['I']\n",
            "pyproject.toml": "[project]\nname = 'x'\nrequires-python = '>=3.10'\n",
        },
    ),
    "ruff with the oldest Python": (
        ["ruff, args: [--fix, '--select=I,UP,FA']"],
        {"pyproject.toml": "[project]\nname = 'x'\nversion = '1'\nrequires-python = '>=3.12'\n"},
    ),
    "black at a root within": (
        ["black"],
        {
            "pkg/pyproject.toml": "[tool.black]\nline-length = 40\n",
            "pyproject.toml": "[tool.black]\n",
        },
    ),
    "all of them": (["isort, args: [--profile=black]", "ruff, args: [--fix]", "black"], {}),
    "usort": (["usort", "black"], {"pyproject.toml": "[tool.usort]\nmerge_imports = false\n"}),
}  # fmt: skip
TOUCHED = ("pkg/module.py", "pkg/sub/module.py", "main.py")


@pytest.mark.parametrize(("lines", "files"), CONFIGURED.values(), ids=CONFIGURED.keys())
def test_the_scratch_tree_gives_what_a_whole_checkout_gives(
    tmp_path: Path, lines: list[str], files: Mapping[str, str]
) -> None:
    # usort stops with a KeyError where a package is imported beside its own modules.
    whole = "usort" not in lines
    touched = {path: shuffled(seed, whole=whole) for seed, path in enumerate(TOUCHED)}
    everything = {PRE_COMMIT: hooks(*lines), **LAYOUT, **files, **touched}
    tree = MemoryTree(everything, {"submodule": SUBMODULE})
    formatters = repository_formatters(tree)
    made = formatters.format({path: tree.files[path] for path in touched}, tree)
    (tmp_path / "home").mkdir()
    check_out(tree, tmp_path / "checkout")
    paths = sorted(touched)
    expected = plainly(formatters, tmp_path / "checkout", tmp_path / "home", paths)
    assert {path: made[path].data for path in paths} == expected
    assert all(made[path].changed_by for path in paths)
    again = formatters.format({path: made[path].data for path in paths}, tree)
    assert not any(one.changed_by for one in again.values())


def test_a_module_of_the_tree_is_never_run(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    evil = f"open({str(mark)!r}, 'w')\n"
    names = ("black.py", "isort/__init__.py", "isort/main.py", "click.py", "sitecustomize.py")
    files = dict.fromkeys(names, evil)
    tree = MemoryTree({PRE_COMMIT: hooks("isort", "black"), **files})
    made = repository_formatters(tree).format({name: tree.files[name] for name in names}, tree)
    assert all(f'"{mark}"'.encode() in one.data for one in made.values())  # black was black
    assert not mark.exists()


FAILING = {
    "black": ("black", "def f(:\n", "black 26.1.0 failed with exit code 123", 1),
    "ruff's formatter": ("ruff-format", "x = 1\ndef f(:\n", "failed with exit code 2", 2),
    "usort": ("usort", "def f(:\n", "usort 1.0.8 failed", 1),
}


@pytest.mark.parametrize(("hook", "source", "cause", "line"), FAILING.values(), ids=FAILING.keys())
def test_what_does_not_parse_is_refused_with_its_place(
    hook: str, source: str, cause: str, line: int
) -> None:
    tree = MemoryTree({PRE_COMMIT: hooks(hook), "good.py": "", "bad.py": source})
    with pytest.raises(Refusal) as refused:
        repository_formatters(tree).format({p: tree.files[p] for p in ("good.py", "bad.py")}, tree)
    assert refused.value.kind == "formatter-failed"
    assert cause in refused.value.cause
    assert str(refused.value.place) == f"bad.py:{line}"


def test_a_file_that_crashes_a_formatter_is_refused() -> None:
    tree = MemoryTree({PRE_COMMIT: hooks("ruff-format"), "deep.py": "(" * 30_000 + ")" * 30_000})
    with pytest.raises(Refusal, match=r"deep\.py") as refused:
        repository_formatters(tree).format({"deep.py": tree.files["deep.py"]}, tree)
    assert refused.value.kind == "formatter-failed"


def test_the_result_does_not_depend_on_the_process(tmp_path: Path) -> None:
    script = (
        "import hashlib\n"
        "from tests.transforms.formatters.test_tools import *\n"
        "lines = ['isort, args: [--profile=black]', 'ruff, args: [--fix]', 'black']\n"
        "touched = {path: shuffled(seed) for seed, path in enumerate(TOUCHED)}\n"
        "tree = MemoryTree({PRE_COMMIT: hooks(*lines), **LAYOUT, **touched})\n"
        "files = {path: tree.files[path] for path in touched}\n"
        "results = cache_folder() / 'results'\n"
        "for entry in results.iterdir() if results.exists() else ():\n"
        "    entry.unlink()\n"
        "made = repository_formatters(tree).format(files, tree)\n"
        "print(hashlib.sha256(repr(sorted(made.items())).encode()).hexdigest())\n"
    )
    said = set()
    for seed, zone, language in (("0", "UTC", "C"), ("1", "Asia/Tokyo", "C.UTF-8"), ("2", "", "C")):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": language}
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, check=True
        )
        said.add(done.stdout)
    assert len(said) == 1
    assert len(said.pop().strip()) == hashlib.sha256().digest_size * 2
