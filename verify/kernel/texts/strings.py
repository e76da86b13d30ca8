"""Names that stand in texts: entry points, settings, tables, documents."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import cached_property
from textwrap import dedent

from verify.kernel.disk.tables import Tables
from verify.kernel.edits import doctests
from verify.kernel.edits.needs import every
from verify.kernel.pairs import asked
from verify.kernel.pairs.both import Both
from verify.kernel.pairs.flow import Flow
from verify.kernel.reach.computed import Pattern
from verify.kernel.running.entries import became, is_script, lone_scripts
from verify.kernel.trees.nodes import walk
from verify.kernel.trees.settings import is_settings
from verify.kernel.trees.source import Source, last, stored
from verify.kernel.trees.tree import Tree, dotted, search_path
from verify.kernel.trees.words import raw, words
from verify.kernel.verdict import BREAKS, OBSERVED, OPEN, Place

# `a.b:c`, `a.b.c`, `a.b : c`: a path of names, with the last one apart or not.
_PATH = re.compile(r"(?<![\w./-])(?=([A-Za-z_]\w*(?:\.\w+)*)(?:\s*:\s*|\.)([A-Za-z_]\w*)(?!\w))")
FEW = 64  # words that are looked for one by one
MOST_CODE = 1 << 16  # characters of code in a text
MOST_TEXT = 1 << 12  # characters of a name
_HANDLER = re.compile(r"(?<![\w./-])((?:\w+/)+\w+)[.:](\w+)")
_VALUE = re.compile(r"""[=:]\s*["']?([A-Za-z_][\w.]*)["']?\s*,?\s*$""", re.M)
_FROM = re.compile(r"\bfrom\s+[\"']?([\w.]+)[\"']?\s+c?import\s+\(?([\w, \t]+)")
_NAME = re.compile(r"[^\W\d]\w*")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
_PUT_IN = re.compile(r"(?:%\(\w+\)s|\$\{[\w:.]+\}|\{\{?[ \w.]+\}\}?)[.:](\w+)")
_SCHEME = re.compile(r"(?<!\w)(?:ext|cfg|py|python)://")  # before what settings look up
_RUN = ("Makefile", "Dockerfile", "Procfile", "Jenkinsfile", ".sh", ".bash", ".yml", ".yaml", ".mk")
_WORDS = re.compile(rb"\w+")
_NAMES_ALONE = re.compile(r"[\w.:=\s\[\],-]+")
_CHECKERS = re.compile(r"mypy|ruff|pyright|coverage|isort|pylint|flake8|importlinter")
_FORMAT = re.compile(r"\A(?:#.*\n|\s)*format\s*=\s*\d+\s*$", re.M)
_PLAN = re.compile(r"^\[\[(?:source|move)\]\]\s*$", re.M)
# What nobody looks a name up in: prose, notes of versions, drawings, what other tools have made.
_PROSE = words(
    """md mdx rst txt adoc org tex html htm ipynb log diff patch po pot lock svg css bib"""
)
_TALE = words("license licence copying authors contributors changelog changes news history todo")
_STUB = re.compile(rb"(?<!\*)\.pyi[\"']")  # the ending of one file, not a pattern of many
HEAD = 1000  # bytes that tell text from data


def lost(both: Both) -> dict[str, set[str]]:
    """Give the names that modules no longer have, by the module's name, read off the text."""
    found: dict[str, set[str]] = {}
    for path in sorted(both.changed):
        if path not in both.base.files or not path.endswith(".py"):
            continue
        before = _bound(both.base, path)
        after: set[str] = set()
        for twin in (path, f"{path[:-3]}/__init__.py", path.replace("/__init__.py", ".py")):
            if twin in both.target.files:
                after |= _bound(both.target, twin)
        if "*" in after:
            continue
        if "__getattr__" in after:
            after |= _given(both, path)
        for name in {both.base.name(path), both.base.spaced(path), dotted(path)}:
            above, dot, last = name.rpartition(".")
            if dot and became(path, both.target) is None and not _offers(both, path, last):
                found.setdefault(above, set()).add(last)
        if before - after:
            for name in {both.base.name(path), both.base.spaced(path), dotted(path)}:
                found.setdefault(name, set()).update(before - after)
    return found


def _given(both: Both, path: str) -> set[str]:
    """Give the names for which a module's `__getattr__` is asked on both sides."""
    found = set(both.asked.kept.get(path, ()))
    for name in both.asked.tables.get(path, ()):
        found |= asked.texts(both.target.source(path), name)
    return found


def _offers(both: Both, path: str, name: str) -> bool:
    """Tell whether a package binds itself what one of its modules that is gone was called."""
    folder = path.removesuffix("/__init__.py").rpartition("/")[0]
    package = f"{folder}/__init__.py"
    sides = (both.base, both.target)
    return all(package in tree.files and name in _bound(tree, package) for tree in sides)


def _bound(tree: Tree, path: str) -> set[str]:
    return {name for node in tree.source(path).tree.body for name in stored(node)}


def check(both: Both) -> None:
    """Report texts that name what a module lost."""
    gone = lost(both)
    if gone:
        _Texts(both, gone).check()


class _Texts:
    """Looks through all files for what is no longer where they say."""

    def __init__(self, both: Both, gone: dict[str, set[str]]) -> None:
        self.both = both
        self.gone = gone
        self.tables = Tables(both, gone)
        self._stems = sorted({raw(name.rpartition(".")[2]) for name in gone})
        self._names = {raw(name) for names in gone.values() for name in names}

    def check(self) -> None:
        """Look at each file that may say something."""
        scripts = set(lone_scripts(self.both.target))
        for path in sorted(self.both.target.files):
            script = path in scripts
            data = self.both.target.files[path]
            if b"\0" in data[:HEAD] or not self._says(data):
                continue
            if script or path.endswith((".py", ".pyi")):
                self._python(path)
            else:
                self._text(path)

    def _says(self, data: bytes) -> bool:
        """Tell whether a file has the words of a module and of what it lost."""
        if not any(stem in data for stem in self._stems):
            return False
        if len(self._names) <= FEW:
            return any(name in data for name in self._names)
        return not self._names.isdisjoint(_WORDS.findall(data))

    def _text(self, path: str) -> None:
        text = self.both.target.text(path)
        if ">>>" in text:
            collected = fnmatch(path.rpartition("/")[2], "test*.txt")
            self._examples(path, 1, text, BREAKS if collected or self._runs else OBSERVED)
        section, prose = "", _is_prose(path) or _is_plan(path, text)
        if not prose:
            self._lines(path, text)
        for number, line in enumerate(text.split("\n"), 1):
            section = line if line.startswith("[") else section
            paths = [] if prose or "/" not in line else [*_handled(line, self.gone)]
            for module, name in (*_named(line, self.gone), *paths):
                settings = is_settings(path) and not _CHECKERS.search(section)
                started = re.search(rf"{re.escape(module)}\s*:\s*{name}\b", line)
                run = path.endswith(_RUN) and ("python" in line or started)
                tale = prose or is_settings(path) or _CHECKERS.search(section)
                kind = BREAKS if settings or run else OBSERVED if tale else OPEN
                why = f"this names {name}, which is no longer there"
                self._say(kind, module, name, why, Place(path, number))
            for module, name in _imports(line, self.gone):
                runs = path.endswith(_RUN) or (is_settings(path) and "python" in line)
                kind = BREAKS if runs else OBSERVED if prose else OPEN
                why = f"this imports {name}, which is no longer there"
                self._say(kind, module, name, why, Place(path, number))
        if not prose:
            self._interpolated(path, text)
        if not prose or (
            path.endswith(".txt") and path.rpartition("/")[2][:-4].lower() not in _TALE
        ):
            self._rows(path, text)
        if path.endswith(".ipynb"):
            self._cells(path, text)
        if path.endswith(".json"):
            self.tables.data(path, text)

    def _rows(self, path: str, text: str) -> None:
        """Look for a line with a module and a name of it, for who turns texts into modules."""
        if not self.tables.loaded(path):
            return
        for number, line in enumerate(text.split("\n"), 1):
            words = set(_DOTTED.findall(line)) if len(line) < MOST_TEXT else set()
            for module in sorted(words & self.gone.keys()):
                for name in sorted(self.gone[module] & words):
                    why = f"this names {name}, which is no longer there"
                    self._say(OPEN, module, name, why, Place(path, number))

    def _interpolated(self, path: str, text: str) -> None:
        """Look for a name behind a part that is put in, in a text that says its module as well."""
        for found in _PUT_IN.finditer(text):
            for module, names in sorted(self.gone.items()):
                if found[1] in names and re.search(rf"(?<![\w.]){re.escape(module)}(?!\w)", text):
                    why = f"this names {found[1]}, which is no longer there"
                    number = text.count("\n", 0, found.start()) + 1
                    self._say(OPEN, module, found[1], why, Place(path, number))

    def _lines(self, path: str, text: str) -> None:
        """Look for a line that says a module, and one that says a name of it, as settings do."""
        said = {found[1]: found.start() for found in _VALUE.finditer(text)}
        for module in sorted(said.keys() & self.gone.keys()):
            for name in sorted(self.gone[module] & said.keys()):
                line = text.count("\n", 0, said[name]) + 1
                why = f"this names {name}, which is no longer there"
                self._say(OPEN, module, name, why, Place(path, line))

    def _cells(self, path: str, text: str) -> None:
        """Look at the code of a notebook."""
        for code in cells(text):
            for module, name in doctests.named(code, self.gone):
                why = f"a cell takes {name} from where it no longer is"
                self._say(BREAKS, module, name, why, Place(path, 1))

    def _python(self, path: str) -> None:
        source = self.both.target.readable(path)
        if source is None:
            return
        stub = path.endswith(".pyi")
        attached = b"attach_stub" in self.both.target.files.get(path[:-1], b"")
        if stub and not (attached or self._stubs_read):
            return
        unchanged = self.both.base.files.get(path) == self.both.target.files[path]
        if unchanged:
            named = replace(source, path=path.removesuffix("i")) if stub else source
            for row in every(self.both.target, named):
                if row.member and row.member in self.gone.get(row.module, ()):
                    raised = f"importing it raises ImportError: {row.module}.{row.member}"
                    if self.both.found.said(BREAKS, raised):
                        continue  # a run has come to it
                    why = f"this imports {row.member}, which is no longer there"
                    kind = OPEN if stub and not attached else BREAKS
                    self._say(kind, row.module, row.member, why, Place(path, 1))
        self._foreign(path, source)
        packaging = path.rpartition("/")[2] == "setup.py"
        if packaging:
            self._made(path, source)
        prose = {node.value for node in walk(source.tree) if isinstance(node, ast.Expr)}
        for node in walk(source.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                kind = BREAKS if packaging else OPEN
                if node in prose and " " in node.value.strip():
                    kind = OBSERVED
                self._constant(path, node, node.value, kind)
            elif isinstance(node, ast.Constant) and isinstance(node.value, bytes):
                self._pickled(path, node.lineno, node.value)
        self.tables.file(path, source.tree)

    def _made(self, path: str, source: Source) -> None:
        """Look at texts that are put together, as entry points may be."""
        pattern = Pattern(self.both.target, path)
        flow = Flow(source)
        for call, within in flow.calls:
            for node in ast.walk(call) if last(call.func) == "setup" else ():
                if isinstance(node, (ast.JoinedStr, ast.BinOp)):
                    for module, name in _named(pattern.text(node, within), self.gone):
                        why = f"a text names {name}, which is no longer there"
                        self._say(BREAKS, module, name, why, Place(path, node.lineno))

    def _foreign(self, path: str, source: Source) -> None:
        """Look at what a file takes from projects that are found only where they are installed."""
        tree = self.both.target
        folders = search_path(tree, path, script=is_script(tree, path))
        for module, name in doctests.named(source.tree, self.gone):
            found = [tree.root(p) for p in self.both.base.named.get(module, ())]
            if found and not {*found} & {*folders}:
                why = f"this takes {name} from where it no longer is"
                self._say(BREAKS, module, name, why, Place(path, 1))

    def _constant(self, path: str, node: ast.Constant, text: str, kind: str) -> None:
        if ">>>" in text:
            self._examples(path, node.lineno, text, BREAKS if self._runs else OPEN)
        elif "import " in text and len(text) < MOST_CODE:
            self._code(path, node.lineno, text)
        if len(text) > MOST_TEXT or ("\n" in text.strip() and kind != BREAKS):
            return
        if kind == BREAKS or _NAMES_ALONE.fullmatch(_SCHEME.sub("", text)):
            for module, name in _named(text, self.gone):
                why = f"a text names {name}, which is no longer there"
                self._say(kind, module, name, why, Place(path, node.lineno))

    def _pickled(self, path: str, line: int, data: bytes) -> None:
        """Look at bytes, which may be a pickle that names a class and its module."""
        for module, names in self.gone.items() if len(data) < MOST_CODE else ():
            for name in sorted(names) if raw(module) in data else ():
                if re.search(rb"(?<![\w.])c?" + raw(re.escape(module)) + rb"[^\w.]", data):
                    if re.search(rb"(?<!\w)" + raw(re.escape(name)) + rb"(?!\w)", data):
                        why = f"bytes name {name}, which is no longer there"
                        self._say(OPEN, module, name, why, Place(path, line))

    def _examples(self, path: str, line: int, text: str, kind: str) -> None:
        """Look at the examples of a docstring or a text."""
        for module, name in doctests.named(doctests.parsed(text), self.gone):
            why = f"an example takes {name} from where it no longer is"
            self._say(kind, module, name, why, Place(path, line))

    def _code(self, path: str, line: int, text: str) -> None:
        """Look at a text that is code."""
        try:
            code = ast.parse(dedent(text).strip())
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        for module, name in doctests.named(code, self.gone):
            why = f"a text with code takes {name} from where it no longer is"
            self._say(OPEN, module, name, why, Place(path, line))
        for node in walk(code):
            if isinstance(node, ast.ImportFrom) and node.module in self.gone:
                if any(alias.name == "*" for alias in node.names):
                    why = "a text with code takes all that is there, which is no longer all"
                    self.both.found.say(OPEN, node.module, why, Place(path, line))

    @cached_property
    def _stubs_read(self) -> bool:
        """Tell whether code of the tree may read stubs while it runs."""
        tree = self.both.target
        code = (p for p in tree.python() if p.rpartition("/")[2] != "setup.py")
        return any(_STUB.search(tree.files[path]) for path in code)

    @cached_property
    def _runs(self) -> bool:
        return doctests.runs(self.both.base)

    def _say(self, kind: str, module: str, name: str, why: str, place: Place) -> None:
        self.both.found.say(kind, f"{module}.{name}", why, place)


def _is_plan(path: str, text: str) -> bool:
    """Tell whether a file is a plan of a move: it says where names lay, and nobody looks there."""
    return path.endswith(".toml") and bool(_FORMAT.search(text)) and bool(_PLAN.search(text))


def _is_prose(path: str) -> bool:
    """Tell whether a file is for people, or for tools that look nothing up."""
    stem, _, ending = path.rpartition("/")[2].lower().rpartition(".")
    return ending in (_PROSE if stem else _TALE) or stem in _TALE


def cells(text: str) -> Iterator[ast.Module]:
    """Give the code cells of a notebook that parse, what only a notebook knows left out."""
    try:
        notebook = json.loads(text)
        found = [cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return
    whole = ["".join(source) for source in found if isinstance(source, (str, list))]
    lines = [line for code in whole for line in f"{code}\n".split("\n")]
    plain = [line for line in lines if not line.lstrip().startswith(("%", "!", "?"))]
    try:
        yield ast.parse("\n".join(plain))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return


def _imports(line: str, gone: dict[str, set[str]]) -> Iterator[tuple[str, str]]:
    """List what a line of some other language imports from where it no longer is."""
    for match in _FROM.finditer(line):
        for name in _NAME.findall(match[2]):
            if name in gone.get(match[1], ()):
                yield match[1], name


# An entry point: what it is called, the module, and what in it is called.
_POINT = re.compile(
    r"""^\s*(?:['"]?([\w.-]+)['"]?\s*=\s*)?['"]?([A-Za-z_][\w.]*)\s*:\s*([A-Za-z_]\w*)""", re.M
)


@dataclass(frozen=True, slots=True)
class Point:
    """An entry point that leads elsewhere than before: a module and a name in it, on both sides."""

    path: str
    line: int
    base: tuple[str, str]
    target: tuple[str, str]


def points(both: Both) -> list[Point]:
    """List the entry points of settings that name another module now."""
    found = []
    for path in sorted(both.base.files.keys() & both.target.files.keys()):
        if is_settings(path) and both.base.files[path] != both.target.files[path]:
            ours, theirs = _points(both.base.text(path)), _points(both.target.text(path))
            for name, (line, now) in theirs.items():
                if name in ours and ours[name][1] != now:
                    found.append(Point(path, line, ours[name][1], now))
    return found


def _points(text: str) -> dict[str, tuple[int, tuple[str, str]]]:
    found = {}
    for match in _POINT.finditer(text):
        line = text.count("\n", 0, match.start(2)) + 1
        found[match[1] or match[3]] = line, (match[2], match[3])
    return found


def _handled(line: str, gone: dict[str, set[str]]) -> Iterator[tuple[str, str]]:
    """List the names that a line says after the path of their module: `shop/orders.handle`."""
    for match in _HANDLER.finditer(line):
        module = match[1].replace("/", ".")
        if match[2] in gone.get(module, ()):
            yield module, match[2]


def _named(text: str, gone: dict[str, set[str]]) -> Iterator[tuple[str, str]]:
    for match in _PATH.finditer(_SCHEME.sub("", text)):
        module, name = match[1], match[2]
        while module:
            if name in gone.get(module, ()):
                yield module, name
                break
            module, _, name = module.rpartition(".")
