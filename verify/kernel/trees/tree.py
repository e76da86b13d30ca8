"""One of the two trees: its files, what Python would call them, and where an import leads."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from verify.kernel.trees import versions
from verify.kernel.trees.effects import BLANK
from verify.kernel.trees.source import OpaqueError, Source, is_python, parse
from verify.kernel.trees.words import raw

_IMPORT = re.compile(
    r"(?:^|[;:])[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]*import\b[ \t]*(\([^)]*\)|(?:[^\n\\]|\\\n)*)"
    r"|import[ \t]+((?:[^\n\\]|\\\n)*))",
    re.M,
)
_NAME = re.compile(r"[^\W\d][\w.]*")
_WORD = re.compile(r"""["']\.?([^\W\d]\w*)(?=["':])""")  # alone in a text, or its first
_QUOTED = re.compile(r"""["'](?:\w+://)?(\.?[^\W\d]\w*(?:[.:]\w+)+)["']""")
# Imports by a text: as it stands, or put together, so that any word may be a part of the name.
_CALLED = r"\b(?:import_module|__import__|locate|resolve_name|import_string)\s*\(\s*"
_CALLERS = ("import_module", "__import__", "locate", "resolve_name", "import_string")
_PLAIN = re.compile(_CALLED + r"""["']([\w.:]+)["']\s*[,)]""")
_COMPUTED = re.compile(
    rf"""{_CALLED}(?!["'][\w:][\w.:]*["']\s*[,)])|\blazy_loader\b"""
    rf"""|\b(?:{"|".join(_CALLERS)})\s+as\s|=\s*(?:\w+\.)?(?:{"|".join(_CALLERS)})\b(?!\s*\()"""
)
BUILT = (".pyx", ".pyi", ".c", ".cpp", ".cc", ".rs", ".so", ".pyd")
_PROJECT = ("pyproject.toml", "setup.py", "setup.cfg")  # what makes a folder a project
_PACKAGED = ("src", "python", "lib")  # folders of a project that its packages lie in
_BUILDING = (
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    ".gitignore",
    "meson.build",
    "hatch_build.py",
)
_PYTHON_FILE = re.compile(r"([^\W\d]\w*\.py)\b")
# Beside these, a lone word in a text may be a module as well.
_NAMING = ("patch", "sys.modules", "find_spec", "pydoc", "run_module", "loadTests", "exec(")
_ALONE = re.compile(r"""["']([^\W\d]\w*)["']""")
_PLUGINS = re.compile(r"^pytest_plugins\s*=\s*(.*(?:\n[ \t]+.*)*)", re.M)


@dataclass(frozen=True, slots=True)
class Found:
    """Where an import leads: a `module`, a `package` or a folder without `__init__`."""

    kind: str
    path: str
    folders: tuple[str, ...] = ()  # where its submodules are looked for


class Parsed:
    """Files as they parse, shared by both trees: most of their files are the same."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, bytes], Source | OpaqueError] = {}
        self._unknown: dict[str, Source] = {}
        self._spelled: dict[tuple[str, bytes, frozenset[str]], Spelled] = {}

    def read(self, path: str, data: bytes) -> Source:
        """Parse a file. Raises `OpaqueError`."""
        where = path, data
        if where not in self._known:
            try:
                self._known[where] = parse(path, data)
            except OpaqueError as error:
                self._known[where] = error
        found = self._known[where]
        if isinstance(found, OpaqueError):
            raise found.with_traceback(None)  # else it grows by all who have asked
        return found

    def unknown(self, path: str) -> Source:
        """Give a file of which nothing is known: it has whatever name it is asked for."""
        if path not in self._unknown:
            found = self._unknown[path] = parse(path, b"from _ import *")
            for node in found.tree.body:
                if isinstance(node, ast.ImportFrom):
                    node.module = f"{BLANK}.{dotted(path)}"
        return self._unknown[path]

    def spelled(self, path: str, data: bytes, own: frozenset[str]) -> Spelled:
        """Give the dotted names that a file imports or spells."""
        where = path, data, own
        if where not in self._spelled:
            self._spelled[where] = spelled(data.decode("utf-8", "replace"), own, path)
        return self._spelled[where]


@dataclass(frozen=True, slots=True)
class Spelled:
    """The dotted names that a file imports or spells in a text, read off its lines."""

    outer: frozenset[str]  # by imports that may stand outside of functions, for all that is seen
    inner: frozenset[str]  # by imports that are indented
    texts: frozenset[str]
    computed: bool  # whether it imports by a text that is put together


class Tree:
    """The files of one side."""

    def __init__(
        self,
        side: str,
        files: Mapping[str, bytes],
        parsed: Parsed,
        blank: Collection[str] = frozenset(),
    ) -> None:
        self.side = side
        self.blank = blank  # files of which nothing is known but that they are there
        self.before: Tree | None = None  # of the target: the base
        self.called: Mapping[str, str] = {}  # modules that moved whole: their names before, by path
        self.files = files
        self._parsed = parsed
        self._imports: dict[str, set[str]] = {}
        self._roots: dict[str, str] = {}
        self._leads: dict[str, tuple[str, ...]] = {}
        self._texts: dict[str, frozenset[str]] = {}
        self.folders = {""}
        for path in files:
            folder = path.rpartition("/")[0]
            while folder not in self.folders:
                self.folders.add(folder)
                folder = folder.rpartition("/")[0]

    def source(self, path: str) -> Source:
        """Parse a file. Raises `OpaqueError`."""
        if path in self.blank:
            return self._parsed.unknown(path)
        return self._parsed.read(path, self.files[path])

    def readable(self, path: str) -> Source | None:
        """Parse a file, or give nothing of one that Python, as it runs here, cannot read."""
        try:
            return self.source(path)
        except OpaqueError:
            return None

    def text(self, path: str) -> str:
        """Give a file as text, whatever its bytes."""
        return self.files[path].decode("utf-8", "replace")

    def is_blank(self, path: str) -> bool:
        """Tell whether a file stands here without what is in it."""
        return path in self.blank

    def python(self) -> list[str]:
        """List the files that are Python by their name or first line."""
        return [path for path, data in self.files.items() if is_python(path, data)]

    @cached_property
    def defers(self) -> bool:
        """Tell whether annotations wait here until somebody asks for them."""
        return versions.defers(versions.required(self.files))

    @cached_property
    def counts_calls(self) -> bool:
        """Tell whether somebody asks a cache how often it was used."""
        return any(b"cache_info" in d for p, d in self.files.items() if p.endswith(".py"))

    @cached_property
    def roots(self) -> frozenset[str]:
        """Give the folders above all topmost packages and lone modules."""
        return frozenset(self.root(path) for path in self.files if path.endswith(".py"))

    @cached_property
    def workspace(self) -> tuple[str, ...]:
        """Give the folders of the projects in this tree that hold packages: each finds the others.

        They are called `src`, or lie in a project that is no longer the whole tree.
        """
        return tuple(sorted(filter(self._holds_project, self.roots)))

    def _holds_project(self, root: str) -> bool:
        above, _, last = root.rpartition("/")
        homes = (root, above) if last in _PACKAGED else (root,)
        builds = any(f"{home}/{name}" in self.files for home in homes for name in _PROJECT if home)
        return root.endswith("/src") or builds

    def find(self, name: str, folders: Iterable[str]) -> Found | None:
        """Look for a module or package as Python does, in the order of the folders."""
        spaces = []
        for folder in folders:
            place = f"{folder}/{name}" if folder else name
            if f"{place}/__init__.py" in self.files:
                return Found("package", f"{place}/__init__.py", (place,))
            if f"{place}.py" in self.files:
                return Found("module", f"{place}.py")
            if place in self.folders:
                spaces.append(place)
        return Found("space", "", tuple(spaces)) if spaces else None

    def made(self, name: str, folders: Iterable[str]) -> bool:
        """Tell whether a module that is not here is made when the project is built.

        It was not here before either; its source in another language lies there, or what builds
        the project, or tells git what to leave out, names its file.
        """
        places = [f"{folder}/{name}" if folder else name for folder in folders]
        if self.before is not None and self.before.find(name, folders):
            return False
        return f"{name}.py" in self._built or any(
            f"{place}{ending}" in self.files for place in places for ending in BUILT
        )

    def makes(self, path: str) -> bool:
        """Tell whether a module may bring its own way to find modules, as `six` does."""
        return self.is_blank(path) or b"meta_path" in self.files[path]

    @cached_property
    def _built(self) -> frozenset[str]:
        """Give the Python files that are named by what builds the project."""
        texts = (self.text(path) for path in _BUILDING if path in self.files)
        return frozenset(name for text in texts for name in _PYTHON_FILE.findall(text))

    @cached_property
    def named(self) -> Mapping[str, tuple[str, ...]]:
        """Give the files that a dotted name may lead to, from whatever root."""
        found: dict[str, list[str]] = {}
        for path in self.files:
            if path.endswith(".py"):
                for name in self.names(path):
                    found.setdefault(name, []).append(path)
        return {name: tuple(paths) for name, paths in found.items()}

    def spelled(self, path: str) -> Spelled:
        """Give the dotted names that a file imports or spells."""
        own = self.names(path) - {dotted(path)} | {self.spaced(path)}
        return self._parsed.spelled(path, self.files[path], own)

    def imports(self, path: str) -> set[str]:
        """List the files that a file may import, wherever its statements stand."""
        if path in self.blank:
            return self.above(path)
        if path not in self._imports:
            told = self.spelled(path)
            found = self.leads(told.outer | told.inner | told.texts, path)
            if told.computed:
                found |= self.computed(path, found)
            self._imports[path] = found | self.above(path)
        return self._imports[path]

    def above(self, path: str) -> set[str]:
        """List the packages that a file lies in, which are imported first."""
        found = set()
        folder = path.rpartition("/")[0]
        while folder:
            if f"{folder}/__init__.py" in self.files:
                found.add(f"{folder}/__init__.py")
            folder = folder.rpartition("/")[0]
        return found - {path}

    def leads(self, names: Iterable[str], path: str) -> set[str]:
        """List the files that dotted names in a file may lead to, or go through."""
        found: set[str] = set()
        folders = self._around(path)
        for name in names:
            known = self._leads.get(name)
            if known is None:
                parts = name.split(".")
                ends = range(len(parts), 0, -1)
                paths = {p for end in ends for p in self.named.get(".".join(parts[:end]), ())}
                known = self._leads[name] = tuple(paths)
            found.update(known)
            if folders:
                first = name.partition(".")[0]
                for folder in folders:
                    if first in self._inside[folder]:
                        found.update(self._beside(name, folder))
        return found

    def _around(self, path: str) -> list[str]:
        """List the folders of and above a file, within a package, that may be searched as well."""
        root = self.root(path)
        found = []
        folder = path.rpartition("/")[0]
        while folder != root and f"{folder}/__init__.py" not in self.files:
            found.append(folder)
            folder = folder.rpartition("/")[0]
        return found

    @cached_property
    def _inside(self) -> Mapping[str, set[str]]:
        """Give the modules and packages in each folder."""
        found: dict[str, set[str]] = {folder: set() for folder in self.folders}
        for path in self.files:
            folder, _, name = path.rpartition("/")
            if name.endswith(".py"):
                found[folder].add(name[:-3])
        for folder in self.folders:
            found[folder.rpartition("/")[0]].add(folder.rpartition("/")[2])
        return found

    def inside(self, folders: Iterable[str]) -> set[str]:
        """List the modules and packages in folders."""
        return {name for folder in folders for name in self._inside.get(folder, ())}

    def _beside(self, name: str, folder: str) -> Iterator[str]:
        parts = name.split(".")
        for end in range(len(parts), 0, -1):
            place = "/".join((folder, *parts[:end]))
            yield from (p for p in (f"{place}.py", f"{place}/__init__.py") if p in self.files)

    def computed(self, path: str, beside: Iterable[str]) -> set[str]:
        """List what a computed import may lead to: the names stand in a table, or in one beside."""
        words = {word for at in (path, *beside) for word in self._words(at)}
        return {found for word in words & self.stems.keys() for found in self.stems[word]}

    def _words(self, path: str) -> frozenset[str]:
        if path not in self._texts:
            self._texts[path] = frozenset(_WORD.findall(self.text(path)))
        return self._texts[path]

    @cached_property
    def stems(self) -> Mapping[str, tuple[str, ...]]:
        """Give the files by the last word of their names."""
        found: dict[str, list[str]] = {}
        for name, paths in self.named.items():
            found.setdefault(name.rpartition(".")[2], []).extend(paths)
        return {name: tuple(paths) for name, paths in found.items()}

    def root(self, path: str) -> str:
        """Give the folder above the topmost package that a file lies in.

        A folder without `__init__` within a package is a part of it.
        """
        folder = path.rpartition("/")[0]
        if folder not in self._roots:
            found, at = folder, folder
            while at:
                if f"{at}/__init__.py" in self.files:
                    found = at.rpartition("/")[0]
                at = at.rpartition("/")[0]
            self._roots[folder] = found
        return self._roots[folder]

    def names(self, path: str) -> frozenset[str]:
        """Give the names that a file may be imported by, whoever imports it."""
        return frozenset({self.name(path), self.spaced(path), dotted(path)})

    def name(self, path: str) -> str:
        """Give a module's dotted name, as somebody would import it."""
        root = self.root(path)
        inner = path[len(root) + 1 :] if root else path
        return dotted(inner)

    def spaced(self, path: str) -> str:
        """Give a module's name counted from the top of the tree, or from `src`."""
        return dotted(path.removeprefix("src/"))


def dotted(path: str) -> str:
    """Turn a path into a dotted name."""
    stem = path.removesuffix(".py").removesuffix("/__init__")
    return stem.replace("/", ".")


def spelled(text: str, own: Iterable[str], path: str) -> Spelled:
    """Read off a file's lines the dotted names that it imports or spells in a text."""
    outer: set[str] = set()
    inner: set[str] = set()
    for match in _IMPORT.finditer(text) if "import" in text else ():
        source, names, modules = match.groups()
        found = inner if match[0][0] in " \t" else outer
        if modules is not None:
            found.update(_NAME.findall(modules))
            continue
        taken = _NAME.findall(names)
        for module in absolute(source, own, path):
            found.update(f"{module}.{name}" for name in taken)
            found.add(module)
    if any(name in text for name in _CALLERS):
        outer.update(match[1].replace(":", ".").strip(".") for match in _PLAIN.finditer(text))
    for match in _PLUGINS.finditer(text) if "pytest_plugins" in text else ():
        outer.update(_NAME.findall(match[1]))
    texts = {match[1].replace(":", ".").strip(".") for match in _QUOTED.finditer(text)}
    if any(name in text for name in _NAMING):
        texts |= set(_ALONE.findall(text))
    computed = any(name in text for name in (*_CALLERS, "lazy_loader"))
    computed = computed and bool(_COMPUTED.search(text))
    return Spelled(frozenset(outer), frozenset(inner), frozenset(texts), computed)


def absolute(source: str, own: Iterable[str], path: str) -> Iterator[str]:
    """Give what a `from` import names, for each name that its module may have."""
    module = source.lstrip(".")
    level = len(source) - len(module)
    if not level:
        yield module
        return
    for name in own:
        parts = name.split(".")
        if not path.endswith("__init__.py"):
            parts = parts[:-1]
        above = parts[: len(parts) - level + 1]
        yield ".".join([*above, *([module] if module else [])])


def reaching(tree: Tree, changed: Iterable[str]) -> set[str]:
    """List the files from which a changed one may be reached: they import it, or one that does.

    A text that spells a module's name counts as an import. Whoever imports a module imports the
    packages above it first.
    """
    users: dict[str, set[str]] = {}
    for path in tree.python():
        for other in tree.imports(path):
            users.setdefault(other, set()).add(path)
    found: set[str] = set()
    todo = [path for path in changed if path in tree.files]
    todo += through_packages(tree, todo, users)
    while todo:
        path = todo.pop()
        if path not in found:
            found.add(path)
            todo += users.get(path, ())
    return found


def through_packages(
    tree: Tree, changed: Iterable[str], users: Mapping[str, Iterable[str]]
) -> set[str]:
    """List who imports a package of which modules changed, and says one of them after a dot.

    Whoever else imports the module brings it to them.
    """
    inside: dict[str, list[str]] = {}
    for path in changed:
        folder, _, stem = path.removesuffix("/__init__.py").removesuffix(".py").rpartition("/")
        inside.setdefault(f"{folder}/__init__.py", []).append(stem)
    found: set[str] = set()
    for package, stems in inside.items():
        known = [raw(stem) for stem in stems]
        asked = re.compile(rb"\.\s*(?:" + b"|".join(sorted(map(re.escape, known))) + rb")\b")
        for user in users.get(package, ()):
            data = tree.files[user]
            if any(stem in data for stem in known) and asked.search(data):
                found.add(user)
    return found


def installed(tree: Tree, path: str) -> bool:
    """Tell whether a script uses packages of the tree that do not lie beside it."""
    folder = path.rpartition("/")[0]
    return any(
        not top or (tree.find(top, ["", "src", *tree.workspace]) and not tree.find(top, [folder]))
        for top in _tops(tree, path)
    )


def needs_beside(tree: Tree, path: str) -> bool:
    """Tell whether a script uses modules that are found only from the folder that it lies in."""
    folders = search_path(tree, path, script=False)
    folder = path.rpartition("/")[0]
    return any(
        top and tree.find(top, [folder]) and not tree.find(top, folders)
        for top in _tops(tree, path)
    )


def _tops(tree: Tree, path: str) -> Iterator[str]:
    """Give the first part of each name that a file imports: nothing, of a relative one."""
    for match in _IMPORT.finditer(tree.text(path) if path in tree.files else ""):
        source, _, modules = match.groups()
        for name in [source] if modules is None else _NAME.findall(modules):
            yield name.partition(".")[0]


def search_path(tree: Tree, path: str, *, script: bool) -> Sequence[str]:
    """Give the folders that Python searches when a file is what starts."""
    if script and not installed(tree, path):
        return [path.rpartition("/")[0]]
    # One in a package that it uses is run by `python -m`: what lies beside it hides nothing.
    folders = [tree.root(path)]
    for more in ("", "src", *tree.workspace):
        if more not in folders and more in tree.folders:
            folders.append(more)
    return folders
