"""Modules that are used as values: handed on, held, returned, or got by their name."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator

from verify.kernel.edits.needs import every, file_of
from verify.kernel.edits.spelled import Parts, Spelled, chain
from verify.kernel.pairs.both import Both
from verify.kernel.pairs.flow import Within
from verify.kernel.reach.computed import Pattern
from verify.kernel.trees.effects import PATCHING
from verify.kernel.trees.nodes import children
from verify.kernel.trees.source import IMPORTS, last, stored
from verify.kernel.trees.tree import Tree
from verify.kernel.trees.words import words

_ALL = re.compile(r"\bsys\.modules\s*\.\s*(?:values|items|copy)\b|\blist\(\s*sys\.modules")
# What gives a module for its name.
_GIVING = words(
    """importlib.import_module importlib.__import__ pkgutil.resolve_name pydoc.locate
    importlib.reload pytest.importorskip sys.modules.get importlib.util.find_spec"""
)
_LASTS = words("import_module __import__ importorskip resolve_name locate")
# Calls that do not give back what they are handed, nor keep it.
_ASKING = words(
    """print isinstance issubclass type id repr str hasattr getattr setattr delattr vars dir help
    callable hash bool format reload getsource getfile getmembers signature getdoc getmodule
    iter_modules walk_packages"""
)


class Held:
    """Finds such modules in the files of one side."""

    def __init__(self, both: Both, tree: Tree, *, kept: bool = False) -> None:
        self.tree = tree
        self._kept = kept  # whether what an outside call is handed may come back from it
        self._spelled = Spelled(both)
        self._inner: dict[str, dict[str, set[str]]] = {}

    def modules(self, wanted: Collection[str], paths: Iterable[str]) -> set[str]:
        """Name those of some modules that are values anywhere in some files."""
        found: set[str] = set()
        if not wanted:
            return found
        lasts = re.compile("|".join(re.escape(m.rpartition(".")[2]) for m in sorted(wanted)))
        for path in paths:
            if path not in self.tree.files:
                continue
            text = self.tree.text(path)
            if _ALL.search(text):
                found |= set(wanted)
            named = lasts.search(text) or (self._kept and "ModuleType" in text)
            if named and path.endswith(".py"):
                found |= set(self._values(path)).intersection(wanted)
        return found

    def leads(self, path: str, parts: Parts) -> Hashable | None:
        """Give what a chain of names is in a file, by imports of its functions, too."""
        return self._spelled.leads(self.tree, path, parts)

    def brought(self, path: str, parts: Parts) -> set[str]:
        """Give the modules that a chain of names is by what functions of a file import."""
        found = set()
        for name in self._imports(path).get(parts[0], ()):
            module = ".".join((name, *parts[1:]))
            if file_of(self.tree, module):
                found.add(module)
        return found

    def taken(self, path: str, parts: Parts) -> list[Hashable | None]:
        """Give all that a chain of names may be by the imports of a file, nothing if by none."""
        return [
            self._spelled.of_module(self.tree, name.partition(".")[0], (*rest, *parts[1:]))
            for name in sorted(self._imports(path).get(parts[0], ()))
            for rest in [tuple(name.split(".")[1:])]
        ]

    def _imports(self, path: str) -> dict[str, set[str]]:
        if path not in self._inner:
            found: dict[str, set[str]] = defaultdict(set)
            for row in every(self.tree, self.tree.source(path)):
                top = row.member is None and row.module.partition(".")[0] == row.name
                module = row.name if top else row.module
                found[row.name].add(f"{module}.{row.member}" if row.member else module)
            self._inner[path] = found
        return self._inner[path]

    def _values(self, path: str) -> Iterator[str]:
        source = self.tree.readable(path)
        todo: list[ast.AST] = [source.tree] if source else []
        while todo:
            node = todo.pop()
            if isinstance(node, IMPORTS):
                continue
            parts = chain(node)
            if parts:
                yield from self._of(path, parts)
                continue
            if isinstance(node, ast.ClassDef) and self._kept:
                yield from self._in_class(path, node)
                if any(last(base) == "ModuleType" for base in node.bases):
                    yield self.tree.name(path)  # it may be the class of its own module
            if isinstance(node, ast.Call):
                yield from self._got(path, node)
                if self._outer(path, node):
                    todo += [child for child in node.args if not chain(child)]
                    todo += node.keywords
                    continue
            if isinstance(node, ast.Subscript) and chain(node.value)[-2:] == ("sys", "modules"):
                yield from _text(node.slice)
            todo.extend(children(node))

    def _in_class(self, path: str, node: ast.ClassDef) -> Iterator[str]:
        """Give the modules that imports in the body of a class make its attributes."""
        for statement in node.body:
            if isinstance(statement, IMPORTS):
                for name in stored(statement):
                    yield from self.brought(path, (name,))

    def _of(self, path: str, parts: Parts) -> Iterator[str]:
        found = self.leads(path, parts)
        if isinstance(found, tuple) and found[0] == "module":
            yield str(found[1])
        if self._kept:
            yield from self.brought(path, parts)

    def _got(self, path: str, call: ast.Call) -> Iterator[str]:
        """Give the module that a call imports by its name, as far as that is a text."""
        if not (self._kept and call.args):
            return
        found = self.leads(path, chain(call.func)) if chain(call.func) else None
        named = found[1] if isinstance(found, tuple) and found[0] == "outside" else ""
        if named in _GIVING or last(call.func) in _LASTS:
            pattern = Pattern(self.tree, path)
            wanted = pattern.of(call.args[0], Within(None, None))
            text = call.args[0].value if isinstance(call.args[0], ast.Constant) else ""
            if str(text).startswith(".") and len(call.args) > 1:
                package = pattern.text(call.args[1], Within(None, None))
                wanted = f"{package}.{str(text).lstrip('.')}"
            yield wanted.replace(":", ".")

    def _outer(self, path: str, node: ast.Call) -> bool:
        """Tell whether a call keeps what it is handed to itself, or is known to replace a name."""
        parts = chain(node.func)
        if not parts or parts[-1] in PATCHING:
            return bool(parts)
        if self._kept:
            return parts[-1] in _ASKING
        found = self.leads(path, parts)
        return isinstance(found, tuple) and found[0] in ("outside", "builtin")


def _text(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
