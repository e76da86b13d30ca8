"""Python as the judge: runs two trees, entry by entry, in children that are forked from here.

It is started as a script by `judge.py`, in an interpreter of its own that holds nothing but the
standard library, and speaks lines of JSON. A child runs the entries of one tree, and puts what an
interpreter holds back after each: a fork for each entry would be five times as dear. After an
entry both children say which definitions they hold, and call those that both hold, so that
function bodies are compared too.
"""

from __future__ import annotations

import ast
import asyncio
import builtins
import collections
import contextlib
import doctest
import enum
import functools
import gc
import importlib
import importlib.util
import inspect
import io
import json
import logging
import os
import pathlib
import pkgutil
import random
import re
import shutil
import signal
import sys
import tempfile
import traceback
import types
import typing
import unittest
import unittest.mock
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover - exercised on 3.10 only
    if __name__ == "__main__":  # started without the packages of its environment
        sys.path.extend(json.loads(sys.argv[2]))
    import tomli as tomllib

USED = (asyncio, collections, enum, pathlib, pkgutil, traceback, typing)  # warm for all children
PAIRS = 8  # pairs of entries, in some order
ORDERS = 4  # orders of all modules
DEPTH = 5  # how deep a value is looked into
SECONDS = 10
Step = tuple[str, str]
Entry = tuple[Step, ...]
Files = Mapping[str, str]


def _behaviour() -> types.ModuleType:
    """Load the list of what is blanked without the kernel around it."""
    path = Path(__file__).parents[3] / "verify" / "kernel" / "behaviour.py"
    spec = importlib.util.spec_from_file_location("_behaviour", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["_behaviour"] = module
    spec.loader.exec_module(module)
    return module


def roots(files: Files) -> list[str]:
    """Give the folders that Python searches."""
    return ["", "src"] if any(path.startswith("src/") for path in files) else [""]


def modules(files: Files) -> list[str]:
    """List all modules by dotted name, but for tests and scripts."""
    found = []
    for path in sorted(files):
        inner = path.removeprefix("src/")
        parts = inner.removesuffix(".py").split("/")
        if not path.endswith(".py") or not all(part.isidentifier() for part in parts):
            continue
        if parts[0] == "tests" or parts[-1].startswith(("test_", "conftest", "main", "__main__")):
            continue
        found.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return [name for name in found if name]


def _points(files: Files) -> list[Entry]:
    """List what `pyproject.toml` starts, and what it takes of packages."""
    settings = tomllib.loads(files.get("pyproject.toml", ""))
    scripts = settings.get("project", {}).get("scripts", {})
    found: list[Entry] = [(("point", spec),) for _, spec in sorted(scripts.items())]
    packages = settings.get("tool", {}).get("setuptools", {}).get("packages")
    if packages:
        found.append((("installed", " ".join(packages)),))
    return found


def entries(base: Files, target: Files) -> list[tuple[Entry, Entry]]:
    """List what can be started, as the base and the target spell it."""
    both = [name for name in modules(base) if name in set(modules(target))]
    scripts = [p for p in sorted(base) if re.match(r"(main|run_)\w*\.py$", p) and p in target]
    found: list[Entry] = [(("script", path),) for path in scripts]
    found += [(("import", name),) for name in both]
    if any("test_" in path for path in base):
        found.append((("pytest", ""),))
    if any(">>>" in text for text in base.values()):
        found.append((("doctest", ""),))
    draw = random.Random(len(both))  # noqa: S311 - chance, not secrecy
    pairs: list[Entry] = [(("import", a), ("import", b)) for a in both for b in both if a != b]
    found += draw.sample(pairs, min(PAIRS, len(pairs)))
    for _ in range(ORDERS if len(both) > 2 else 0):
        found.append(tuple(("import", name) for name in draw.sample(both, len(both))))
    alike = [(entry, entry) for entry in found]
    return [*alike, *zip(_points(base), _points(target), strict=False)]


class Values:
    """Values as something that compares between two trees."""

    def __init__(self, folders: Sequence[str], blank: Any) -> None:
        self.folders, self.blank = folders, blank

    def text(self, text: str) -> str:
        return str(self.blank(text, self.folders))

    def ours(self, value: Any) -> bool:
        """Whether a function, a class or a module is one of the tree."""
        if isinstance(value, types.ModuleType):
            return str(getattr(value, "__file__", None) or "").startswith(self.folders[0])
        if isinstance(value, types.FunctionType):
            return value.__code__.co_filename.startswith(self.folders[0])
        module = sys.modules.get(getattr(value, "__module__", None) or "")
        return isinstance(value, type) and module is not None and self.ours(module)

    def of(self, value: Any, depth: int = DEPTH) -> Any:  # noqa: PLR0911 - a table of types
        """Give a value as JSON."""
        if value is None or isinstance(value, (bool, int, float, complex, bytes)):
            return repr(value)
        if isinstance(value, str):
            return repr(self.text(value))
        if depth == 0:
            return f"<{type(value).__name__}>"
        if isinstance(value, (list, tuple)):
            return [type(value).__name__, *(self.of(item, depth - 1) for item in value)]
        if isinstance(value, (set, frozenset)):
            return ["set", *sorted(str(self.of(item, depth - 1)) for item in value)]
        if isinstance(value, dict):
            pairs = [[self.of(k, depth - 1), self.of(v, depth - 1)] for k, v in value.items()]
            return [type(value).__name__, *pairs]
        return self._object(value, depth)

    def _object(self, value: Any, depth: int) -> Any:  # noqa: PLR0911 - a table of types
        if isinstance(value, types.ModuleType):
            return f"<module {value.__name__}>"
        if isinstance(value, types.FunctionType):
            marks = [c for c in value.__code__.co_consts if isinstance(c, (str, int))]
            return f"<def {value.__name__} {marks[:3]}>" if self.ours(value) else repr(value)
        if isinstance(value, type):
            return f"<class {value.__name__}>"
        if isinstance(value, logging.Logger):
            return ["<logger>", value.level, len(value.handlers), value.disabled]
        if isinstance(value, functools.partial):
            return ["<partial>", self.of(value.func, depth - 1), self.of(value.args, depth - 1)]
        if isinstance(value, BaseException):
            return [type(value).__name__, self.text(str(value))]
        inside = getattr(value, "__dict__", None)
        if isinstance(inside, dict) and self.ours(type(value)):
            return [f"<{type(value).__name__}>", self.of(dict(inside), depth - 1)]
        return f"<{type(value).__name__}>"


class State:
    """What an interpreter holds, to be put back."""

    def __init__(self) -> None:
        self._modules = dict(sys.modules)
        self._path, self._environment = list(sys.path), dict(os.environ)
        self._loggers = set(logging.root.manager.loggerDict)
        self._names = [(vars(m), dict(vars(m))) for m in (builtins, json, os, logging, re)]

    def restore(self) -> None:
        """Put it back."""
        unittest.mock.patch.stopall()
        for names, were in self._names:
            if names != were:
                names.clear()
                names.update(were)
        sys.modules.clear()
        sys.modules.update(self._modules)
        sys.path[:] = self._path
        sys.path_importer_cache.clear()
        os.environ.clear()
        os.environ.update(self._environment)
        for name in set(logging.root.manager.loggerDict) - self._loggers:
            del logging.root.manager.loggerDict[name]
        logging.root.handlers.clear()


class Child:
    """The entries of one tree, in a process of its own."""

    def __init__(self, folder: str, files: Files, blank: Any) -> None:
        self.folder, self.files = folder, files
        self.values = Values([folder], blank)
        self.out = io.StringIO()
        tops = {path.removeprefix("src/").split("/")[0].removesuffix(".py") for path in files}
        for name in [n for n in sys.modules if n.split(".")[0] in tops - EARLY]:
            del sys.modules[name]  # a module of the tree may hide one of Python's own
        sys.path[:0] = [str(Path(self.folder, root)) for root in roots(files)]
        self._state = State()

    def start(self, entry: Sequence[Step]) -> list[Any]:
        """Run an entry; give how each step ended."""
        self._state.restore()
        os.chdir(self.folder)
        self.out = sys.stdout = sys.stderr = io.StringIO()
        return [self._guarded(getattr(self, f"_{kind}"), what) for kind, what in entry]

    def _guarded(self, run: Any, *what: Any) -> Any:
        try:
            return ["done", self.values.of(run(*what))]
        except SystemExit as end:
            return ["exit", self.values.of(end.code)]
        except BaseException as end:  # whatever the tree raises is behaviour
            return ["raised", type(end).__name__, self.values.text(str(end))]

    def _import(self, name: str) -> None:
        importlib.import_module(name)

    def _script(self, path: str) -> None:
        module = types.ModuleType("__main__")
        module.__file__ = str(Path(self.folder, path))
        sys.modules["__main__"] = module
        exec(compile(self.files[path], module.__file__, "exec"), vars(module))  # noqa: S102

    def _point(self, spec: str) -> Any:
        name, _, attribute = spec.partition(":")
        return getattr(importlib.import_module(name.strip()), attribute.strip())()

    def _installed(self, packages: str) -> None:
        """Import all modules of what is installed; only listed packages are."""
        root = self.folder
        kept = tempfile.mkdtemp(prefix="pair-", dir=Path(self.folder).parent)
        self.values.folders = [root, kept]
        with contextlib.ExitStack() as after:
            after.callback(shutil.rmtree, kept)
            for path, text in self.files.items():
                inner = path.removeprefix("src/")
                if inner.rpartition("/")[0].replace("/", ".") in packages.split():
                    place = Path(kept, inner)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_text(text, encoding="utf-8")
            os.chdir(kept)
            sys.path[:] = [kept, *(p for p in sys.path if not p.startswith(root))]
            for name in packages.split():
                importlib.import_module(name)
                for found in pkgutil.iter_modules(sys.modules[name].__path__, f"{name}."):
                    importlib.import_module(found.name)

    def _pytest(self, _: str) -> Any:
        import pytest

        seen: list[str] = []

        class Recorder:
            def pytest_runtest_logreport(self, report: Any) -> None:
                if report.when == "call" or not report.passed:
                    said = report.longrepr or ""
                    said = said[2] if isinstance(said, tuple) else said  # path, line, reason
                    last = str(said).strip().splitlines()[-1:]
                    name = report.nodeid.rpartition("::")[2]
                    seen.append(f"{name} {report.when} {report.outcome} {last}")

            def pytest_collectreport(self, report: Any) -> None:
                if not report.passed:
                    seen.append(f"collect {report.outcome}")

        quiet = [
            "-q",
            "-p",
            "no:cacheprovider",
            "--assert=plain",
            "--tb=line",
            "--capture=no",
            "-p",
            "no:faulthandler",
            "-W",
            "ignore",
        ]
        code = pytest.main([*quiet, "--color=no"], plugins=[Recorder()])
        self.out.truncate(self.out.seek(0))  # what pytest prints is places and times
        return [int(code), *sorted(self.values.text(line) for line in seen)]

    def _doctest(self, _: str) -> Any:
        found = []
        for name in modules(self.files):
            if self.folder_of(name) in self.files and ">>>" in self.files[self.folder_of(name)]:
                module = importlib.import_module(name)
                for test in doctest.DocTestFinder().find(module):
                    if test.examples:
                        runner = doctest.DocTestRunner(verbose=False)
                        runner.run(test, out=lambda _: None)
                        found.append([test.name.rpartition(".")[2], runner.failures])
        return sorted(found)

    def folder_of(self, name: str) -> str:
        """Give the path of a module."""
        inner = name.replace(".", "/")
        ways = [r + i for r in ("", "src/") for i in (f"{inner}.py", f"{inner}/__init__.py")]
        return next((way for way in ways if way in self.files), "")

    def definitions(self) -> dict[str, Any]:
        """Give the functions and classes that are loaded, by name; no name that is two."""
        found: dict[str, Any] = {}
        twice = set()
        for module in [m for m in list(sys.modules.values()) if self.values.ours(m)]:
            for name, value in list(vars(module).items()):
                if isinstance(value, (types.FunctionType, type)) and self.values.ours(value):
                    if found.setdefault(name, value) is not value:
                        twice.add(name)
        return {name: value for name, value in sorted(found.items()) if name not in twice}

    def tables(self) -> dict[str, Any]:
        """Give what lists, sets and dictionaries at the top hold, by name; no name that is two."""
        found: dict[str, Any] = {}
        twice = set()
        for module in [m for m in list(sys.modules.values()) if self.values.ours(m)]:
            for name, value in list(vars(module).items()):
                if type(value) in (list, dict, set) and not name.startswith("__"):
                    if self._only_asked(module.__name__, name):
                        continue
                    if found.setdefault(name, value) is not value:
                        twice.add(name)
        return {n: self.values.of(v) for n, v in sorted(found.items()) if n not in twice}

    def _only_asked(self, module: str, name: str) -> bool:
        """Tell whether nothing but the `__getattr__` of its module reads a table."""
        path = self.folder_of(module)
        text = self.files.get(path, "")
        others = (other for at, other in self.files.items() if at != path)
        if "def __getattr__" not in text or any(name in other for other in others):
            return False
        tree = ast.parse(text)
        hooks = [n for n in ast.walk(tree) if getattr(n, "name", "") in ("__getattr__", "__dir__")]
        inside = {id(part) for hook in hooks for part in ast.walk(hook)}
        read = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == name]
        return all(id(n) in inside or isinstance(n.ctx, ast.Store) for n in read)

    def given(self) -> dict[str, Any]:
        """Give what modules with a `__getattr__` give for the names in tables that they have."""
        found: dict[str, Any] = {
            module.__name__: {} for module in list(sys.modules.values()) if self.values.ours(module)
        }
        asked = [
            (module, word)
            for module in [m for m in list(sys.modules.values()) if self.values.ours(m)]
            for name, value in list(vars(module).items())
            if type(value) is dict and not name.startswith("__") and "__getattr__" in vars(module)
            for word in sorted(_words(value))
        ]
        for module, word in asked:
            made = self._guarded(getattr, module, word)
            is_module = isinstance(vars(module).get(word), types.ModuleType)
            if made[:2] != ["raised", "AttributeError"] and not is_module:
                found[module.__name__][word] = made
        return found

    def probe(self, names: Sequence[str]) -> list[Any]:
        """Call what both trees hold, and what is in it."""
        mine = self.definitions()
        return [[name, self._called(mine[name])] for name in names if name in mine]

    def _called(self, value: Any) -> Any:
        if not _takes_nothing(value):
            return None
        made = self._guarded(_finished, value)
        if not isinstance(value, type) or made[0] != "done":
            return made
        with contextlib.suppress(Exception):
            instance = value()
            for name in sorted(
                {n for k in type(instance).__mro__ if self.values.ours(k) for n in vars(k)}
            ):
                if not name.startswith("__"):
                    made.append([name, self._guarded(_method, instance, name)])
        return made


def _words(value: Any) -> set[str]:
    """Give the texts in a table that may be names."""
    if isinstance(value, str):
        return {value} if value.isidentifier() else set()
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    parts = value if isinstance(value, (list, tuple, set)) else ()
    return {word for part in parts for word in _words(part)}


def _takes_nothing(value: Any) -> bool:
    try:
        wanted = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return False
    loose = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return all(p.default is not p.empty or p.kind in loose for p in wanted)


def _finished(value: Any) -> Any:
    made = value()
    if inspect.iscoroutine(made):
        return asyncio.run(made)
    return list(made) if inspect.isgenerator(made) else made


def _method(instance: Any, name: str) -> Any:
    value = getattr(instance, name)
    return _finished(value) if callable(value) and _takes_nothing(value) else value


class Run:
    """A child, as its parent sees it."""

    def __init__(self, folder: str, files: Files, blank: Any) -> None:
        asked, ask = os.pipe()
        said, says = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(ask)
            os.close(said)
            _child(folder, files, blank, (asked, says))
        os.close(asked)
        os.close(says)
        self._ask, self._said = os.fdopen(ask, "wb"), os.fdopen(said, encoding="utf-8")

    def ask(self, *question: Any) -> None:
        """Ask for something, without waiting."""
        with contextlib.suppress(OSError):
            self._ask.write((json.dumps(question) + "\n").encode())
            self._ask.flush()

    def hear(self) -> Any:
        """Wait for the answer."""
        line = self._said.readline()
        return json.loads(line) if line else ["died"]

    def end(self) -> None:
        """Let the child go."""
        self.ask("end", None)
        with contextlib.suppress(OSError):
            self._ask.close()
        self._said.close()
        os.waitpid(self._pid, 0)


def _child(folder: str, files: Files, blank: Any, pipes: tuple[int, int]) -> None:
    try:
        signal.alarm(SECONDS)
        child = Child(folder, files, blank)
        with os.fdopen(pipes[0], "rb") as ask, os.fdopen(pipes[1], "w", encoding="utf-8") as says:
            for line in ask:
                kind, what = json.loads(line)
                said: list[Any] = []
                if kind == "end":
                    break
                if kind == "start":
                    ended = child.start([tuple(step) for step in what])
                    said = [ended, list(child.definitions()), child.tables()]
                elif kind == "probe":
                    said = [child.probe(what), child.given()]
                    said.append(child.values.text(child.out.getvalue()))
                print(json.dumps(said), file=says, flush=True)
    finally:
        os._exit(0)


@contextlib.contextmanager
def _laid(files: Files) -> Iterator[str]:
    shared = "/dev/shm"  # noqa: S108 - a folder that is made anew, in memory
    folder = tempfile.mkdtemp(prefix="pair-", dir=shared if Path(shared).is_dir() else None)
    try:
        for path, text in files.items():
            place = Path(folder, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        yield folder
    finally:
        shutil.rmtree(folder)


def compare(base: Files, target: Files, blank: Any) -> dict[str, Any]:
    """Say how two trees differ, with the first entry that shows it; and whether the base runs."""
    sound = 0
    with _laid(base) as before, _laid(target) as after:
        runs = [Run(before, base, blank), Run(after, target, blank)]
        try:
            for ours, theirs in entries(base, target):
                one, two = _both(runs, ["start", ours], ["start", theirs])
                if one != ["died"] and two != ["died"]:
                    for name in one[2].keys() ^ two[2].keys():
                        one[2].pop(name, None)
                        two[2].pop(name, None)
                if one[0] == two[0] and one != ["died"] and one[2] == two[2]:
                    shared = [name for name in one[1] if name in set(two[1])]
                    sound += all(step[0] == "done" for step in one[0])
                    one, two = _both(runs, ["probe", shared], ["probe", shared])
                    for name in one[1].keys() ^ two[1].keys() if len(one) == len(two) == 3 else ():
                        one[1].pop(name, None)  # a module that one side has not loaded
                        two[1].pop(name, None)
                if one != two:
                    return {"differs": True, "entry": ours, "base": one, "target": two}
        finally:
            for run in runs:
                run.end()
    return {"differs": False, "sound": sound}


def _both(runs: Sequence[Run], *questions: Sequence[Any]) -> list[Any]:
    for run, question in zip(runs, questions, strict=True):
        run.ask(*question)
    return [run.hear() for run in runs]


def main() -> None:
    """Answer each line with one."""
    gc.disable()
    gc.freeze()
    blank = _behaviour().blank
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    for line in sys.stdin:
        asked = json.loads(line)
        if any("test_" in path for path in asked["base"]):
            import pytest  # noqa: F401 - warm for all children from now on

            gc.freeze()
        try:
            said = compare(asked["base"], asked["target"], blank)
        except Exception:  # told to who asked
            said = {"fault": traceback.format_exc()}
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    EARLY = set(json.loads(sys.argv[1]))
    sys.path.extend(json.loads(sys.argv[2]))
    main()
