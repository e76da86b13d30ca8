"""What is installed: whether the lists of packages, modules and sources take what is new.

A file is missed if code came to it from one that is installed, and it is not. Only settings that
say what to take are read; a tool that finds all by itself misses nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatch

from verify.kernel.pairs.both import Both
from verify.kernel.pairs.flow import Flow
from verify.kernel.trees.nodes import walk
from verify.kernel.trees.source import last
from verify.kernel.trees.tree import Tree
from verify.kernel.trees.words import raw
from verify.kernel.verdict import BREAKS, OPEN, Place

_LISTS = ("meson.build", "BUILD", "BUILD.bazel", "TARGETS", "BUCK", "CMakeLists.txt")
_IMAGES = ("Dockerfile", "Containerfile")
_COPIES = re.compile(r"^\s*(?:COPY|ADD)\s+(.*)$", re.M)
_TEXT = re.compile(r"""['"]([^'"\n]*)['"]""")
_GLOBS = re.compile(r"glob\w*\s*\(|GLOB")
Takes = Callable[[str], bool]  # whether a file is installed, by its path


def check(both: Both, new: list[str]) -> None:
    """Report new files that are not installed, though what their code comes from is."""
    files = sorted(path for path in new if path.endswith(".py"))
    if not files:
        return
    origins: dict[str, set[str]] = {path: set() for path in files}
    for base, target in both.pairing.moved():
        if target[0] in origins:
            origins[target[0]].add(base[0])
    rules = [*_rules(both.target)] or [*_discovered(both)]
    for path in files:
        # What a file of settings says in several places adds up.
        taken = {where for where, _, takes in rules if takes(path)}
        for where, line, takes in rules:
            if any(map(takes, origins[path])) and where not in taken:
                why = "what is installed does not have this new one"
                both.found.say(BREAKS, both.target.name(path), why, Place(where, line))
    for path in files:
        _listed(both, path, origins[path])
    _handed(both, origins)


def _rules(tree: Tree) -> Iterator[tuple[str, int, Takes]]:
    """Give each setting that says what is installed: its place, and what it takes."""
    if "setup.py" in tree.files:
        yield from _setup(tree)
    if "setup.cfg" in tree.files:
        yield from _cfg(tree)
    if "pyproject.toml" in tree.files:
        yield from _toml(tree)


def _discovered(both: Both) -> Iterator[tuple[str, int, Takes]]:
    """Give what setuptools takes by itself: what lies in `src`, or the one package at the top."""
    text = both.target.text("pyproject.toml") if "pyproject.toml" in both.target.files else ""
    if not re.search(r"^\[project\]", text, re.M) or "setuptools" not in text:
        return
    if {"setup.py", "setup.cfg"} & both.target.files.keys() or "[tool.setuptools.packages" in text:
        return

    def takes(path: str) -> bool:
        if "src" in both.base.folders:
            return path.startswith("src/")
        top = path.partition("/")[0]
        return top in both.base.folders or path in both.base.files

    yield "pyproject.toml", _line(text, "[project]"), takes


# --- setuptools ---


def _setup(tree: Tree) -> Iterator[tuple[str, int, Takes]]:
    source = tree.readable("setup.py")
    if source is None:
        return
    body, flow = source.tree, Flow(source)
    for node in walk(body):
        if not isinstance(node, ast.Call) or last(node.func) != "setup":
            continue
        given = {word.arg: word.value for word in node.keywords if word.arg}
        packages, modules = _given(body, given.get("packages")), given.get("py_modules")
        modules = _given(body, modules)
        named = _strings(modules)
        if isinstance(packages, (ast.List, ast.Tuple)):
            yield "setup.py", packages.lineno, _by_list(tree, _strings(packages), named)
        elif isinstance(packages, ast.Call) and "find" in last(packages.func):
            words = {word.arg: _strings(word.value) for word in packages.keywords}
            where = [
                *words.get("where", []),
                *_strings(packages.args[0] if packages.args else None),
            ]
            spaces = "namespace" in last(packages.func)
            takes = _by_finding(
                tree, where, words.get("include", []), words.get("exclude", []), spaces=spaces
            )
            yield "setup.py", packages.lineno, _either(takes, _by_list(tree, [], named))
        elif packages is not None and _calls_lister(body, packages):
            yield "setup.py", packages.lineno, _by_finding(tree, [], [], [], spaces=False)
        elif packages is not None and not _calls_finder(packages):
            said = [text for text, _ in flow.texts((packages, flow.top))]
            yield "setup.py", packages.lineno, _by_list(tree, said, named)
        elif packages is None and named and modules is not None:
            yield "setup.py", modules.lineno, _by_list(tree, [], named)


def _calls_finder(node: ast.expr) -> bool:
    """Tell whether an expression asks for all packages that are there."""
    return any("find" in last(n.func) for n in walk(node) if isinstance(n, ast.Call))


def _calls_lister(body: ast.Module, node: ast.expr) -> bool:
    """Tell whether an expression is a call of a function here that looks for `__init__.py`."""
    called = last(node.func) if isinstance(node, ast.Call) else ""
    for statement in body.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == called:
            inner = [*walk(statement)]
            calls = {last(one.func) for one in inner if isinstance(one, ast.Call)}
            said = (one.value for one in inner if isinstance(one, ast.Constant))
            named = any(isinstance(text, str) and "__init__.py" in text for text in said)
            return named and not calls.isdisjoint({"glob", "rglob", "walk", "iglob"})
    return False


def _given(body: ast.Module, node: ast.expr | None) -> ast.expr | None:
    """Give what a name was assigned at the top of a file."""
    for statement in body.body:
        if isinstance(statement, ast.Assign) and isinstance(node, ast.Name):
            if any(isinstance(t, ast.Name) and t.id == node.id for t in statement.targets):
                return statement.value
    return node


def _cfg(tree: Tree) -> Iterator[tuple[str, int, Takes]]:
    text = tree.text("setup.cfg")
    options = _section(text, "options")
    packages, modules = _words(options, "packages"), _words(options, "py_modules")
    line = _line(text, "packages" if packages else "py_modules")
    if packages[:1] in (["find:"], ["find_namespace:"]):
        find = _section(text, "options.packages.find")
        where, include, exclude = (_words(find, key) for key in ("where", "include", "exclude"))
        spaces = packages == ["find_namespace:"]
        takes = _by_finding(tree, where, include, exclude, spaces=spaces)
        yield "setup.cfg", line, _either(takes, _by_list(tree, [], modules))
    elif packages or modules:
        yield "setup.cfg", line, _by_list(tree, packages, modules)


def _by_list(tree: Tree, packages: list[str], modules: list[str]) -> Takes:
    def takes(path: str) -> bool:
        name = tree.name(path)
        return _package(path, name) in packages or name in modules

    return takes


def _by_finding(
    tree: Tree, where: list[str], include: list[str], exclude: list[str], *, spaces: bool
) -> Takes:
    roots = [root.strip("./") for root in where] or [""]

    def takes(path: str) -> bool:
        for root in roots:
            folder = path.rpartition("/")[0]
            if folder == root or (root and not folder.startswith(f"{root}/")):
                continue
            parts = folder[len(root) :].strip("/").split("/")
            above = [f"{root}/{'/'.join(parts[:n])}".strip("/") for n in range(1, len(parts) + 1)]
            whole = spaces or all(f"{one}/__init__.py" in tree.files for one in above)
            name = ".".join(parts)
            wanted = not include or any(fnmatch(name, one) for one in include)
            if whole and wanted and not any(fnmatch(name, one) for one in exclude):
                return True
        return False

    return takes


# --- pyproject.toml ---


def _toml(tree: Tree) -> Iterator[tuple[str, int, Takes]]:
    text = tree.text("pyproject.toml")
    tools = _section(text, "tool.setuptools")
    for key in ("packages", "py-modules"):
        if re.search(rf"^{key}\s*=\s*\[", tools, re.M):
            names = [_words(tools, one) for one in ("packages", "py-modules")]
            yield "pyproject.toml", _line(text, key), _by_list(tree, names[0], names[1])
            break
    if "[tool.setuptools.packages.find]" in text:
        find = _section(text, "tool.setuptools.packages.find")
        where, include, exclude = (_words(find, key) for key in ("where", "include", "exclude"))
        spaces = not re.search(r"^namespaces\s*=\s*false", find, re.M)
        takes = _by_finding(tree, where, include, exclude, spaces=spaces)
        yield "pyproject.toml", _line(text, "[tool.setuptools.packages.find]"), takes
    wheel = _section(text, "tool.hatch.build.targets.wheel")
    taken = [*_words(wheel, "packages"), *_words(wheel, "include"), *_words(wheel, "only-include")]
    left = _words(wheel, "exclude")
    if taken or left:
        line = _line(text, "[tool.hatch.build.targets.wheel]")
        yield "pyproject.toml", line, _below(taken, left)
    poetry = re.search(r"^packages\s*=\s*\[(.*?)\]\s*$", _section(text, "tool.poetry"), re.M | re.S)
    if poetry:
        yield "pyproject.toml", _line(text, "packages"), _below([*_included(poetry[1])], [])
    flit = re.search(r"""^name\s*=\s*['"]([\w.]+)""", _section(text, "tool.flit.module"), re.M)
    if flit:
        module = flit[1].replace(".", "/")
        whole = [module, f"src/{module}", f"{module}.py", f"src/{module}.py"]
        yield "pyproject.toml", _line(text, "[tool.flit.module]"), _below(whole, [])


def _included(text: str) -> Iterator[str]:
    for entry in re.findall(r"\{([^}]*)\}", text):
        said = dict(re.findall(r"""(\w+)\s*=\s*['"]([^'"]*)['"]""", entry))
        yield f"{said.get('from', '')}/{said.get('include', '')}".strip("/")


def _below(taken: list[str], left: list[str]) -> Takes:
    def fits(path: str, patterns: list[str]) -> bool:
        plain = [
            pattern.strip("/").removesuffix("/**/*").removesuffix("/**") for pattern in patterns
        ]
        return any(path == p or path.startswith(f"{p}/") or _globs(path, p) for p in plain)

    def takes(path: str) -> bool:
        return (not taken or fits(path, taken)) and not fits(path, left)

    return takes


def _globs(path: str, pattern: str) -> bool:
    """Tell whether a pattern fits a path, or a folder above it: `*` stays within a folder."""
    if "/" not in pattern:
        return any(fnmatch(part, pattern) for part in path.split("/"))
    parts, wanted = path.split("/"), pattern.split("/")
    ends = {0}  # how many parts of the path are taken so far
    for one in wanted:
        if one == "**":
            ends = set(range(min(ends, default=len(parts) + 1), len(parts) + 1))
        else:
            ends = {at + 1 for at in ends if at < len(parts) and fnmatch(parts[at], one)}
    return bool(ends)


# --- lists of sources ---


def _listed(both: Both, path: str, origins: set[str]) -> None:
    """Look for a list of sources that has the files beside a new one, or those it comes from."""
    folder = path.rpartition("/")[0]
    while True:
        for name in (*_LISTS, *_IMAGES):
            where = f"{folder}/{name}" if folder else name
            if where in both.target.files:
                _missed(both, path, origins, where, folder)
        if not folder:
            return
        folder = folder.rpartition("/")[0]


def _handed(both: Both, origins: Mapping[str, set[str]]) -> None:
    """Look for lists of files in code that have what code came from, and not the new file."""
    names = {raw(one.rpartition("/")[2]) for ones in origins.values() for one in ones}
    for where, data in sorted(both.target.files.items()) if names else ():
        if not where.endswith(".py") or not any(name in data for name in names):
            continue
        source = both.target.readable(where)
        every = walk(source.tree) if source else ()
        compared = {c for node in every if isinstance(node, ast.Compare) for c in node.comparators}
        for node in every:
            if isinstance(node, (ast.List, ast.Tuple)) and node not in compared:
                listed = [e.value for e in node.elts if isinstance(e, ast.Constant)]
                texts = {str(one) for one in listed if str(one).endswith(".py")}
                if not texts or len(texts) != len(node.elts):
                    continue
                for path, ones in origins.items():
                    if texts & ones and path not in texts:
                        why = "a list of files has those that its code came from, and not this one"
                        both.found.say(OPEN, path, why, Place(where, node.lineno))


def _missed(both: Both, path: str, origins: set[str], where: str, folder: str) -> None:
    text = both.target.text(where)
    if where.endswith(_IMAGES):  # one that copies a folder, or a pattern, copies all that is there
        copied = [match[1] for match in _COPIES.finditer(text)]
        words = [word for line in copied for word in line.split()[:-1] if word[:2] != "--"]
        if any("*" in word or not word.endswith(".py") for word in words):
            return
        text = "\n".join(copied)
    if ".py" not in text or (_GLOBS.search(text) and "*.py" in text):
        return
    said = {match[1].lstrip(":"): match.start() for match in _TEXT.finditer(text)}
    said.update((match[0], match.start()) for match in re.finditer(r"[\w./-]+\.py\b", text))

    def inner(one: str) -> str:
        return one[len(folder) :].strip("/") if one.startswith(folder) else one

    known = [said[inner(one)] for one in origins if inner(one) in said]
    if known and inner(path) not in said:
        number = text.count("\n", 0, min(known)) + 1
        why = "the list of sources does not have this new one"
        both.found.say(BREAKS, both.target.name(path), why, Place(where, number))


# --- reading ---


def _package(path: str, name: str) -> str:
    return name if path.endswith("/__init__.py") else name.rpartition(".")[0]


def _either(one: Takes, two: Takes) -> Takes:
    return lambda path: one(path) or two(path)


def _strings(node: ast.AST | None) -> list[str]:
    every = walk(node) if node is not None else ()
    return [n.value for n in every if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def _section(text: str, name: str) -> str:
    """Give what stands under a head in brackets."""
    found = re.search(rf"^\[{re.escape(name)}\][^\n]*\n(.*?)(?=^\[|\Z)", text, re.M | re.S)
    return found[1] if found else ""


def _words(body: str, key: str) -> list[str]:
    """Give the words of a setting, be it a list of TOML or lines of an ini file."""
    found = re.search(
        rf"^{re.escape(key)}\s*=\s*(\[[^\]]*\]|[^\n]*(?:\n[ \t]+[^\n]*)*)", body, re.M
    )
    return re.findall(r"[\w./*?:-]+", found[1]) if found else []


def _line(text: str, word: str) -> int:
    return text.count("\n", 0, max(text.find(word), 0)) + 1
