"""Which names other files read through a module: asked where a star import may pass names on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from transforms.errors import Refusal
from transforms.imports.document import Document
from transforms.tree import Tree
from transforms.tree.names import Names

_PYTHON = (".py", ".pyi")


class Readers:
    """Answers for the modules of one tree; a search and a few parses for each question."""

    def __init__(self, tree: Tree, names: Names, open_document: Callable[[str], Document]) -> None:
        self._tree, self._names, self._open = tree, names, open_document
        self._known: dict[tuple[str, frozenset[str]], frozenset[str]] = {}

    def through(self, dotted: str, wanted: Iterable[str]) -> frozenset[str]:
        """Those of the `wanted` names that some file imports or reaches through `dotted`."""
        key = (dotted, frozenset(wanted))
        if not key[1]:
            return frozenset()
        if key not in self._known:
            self._known[key] = frozenset(self._find(dotted, key[1]))
        return self._known[key]

    def _find(self, dotted: str, wanted: frozenset[str]) -> set[str]:
        last = re.escape(dotted.rpartition(".")[2].encode())
        imports = re.compile(
            rb"\bimport\b[^\n]{0,400}?\b" + last + rb"\b"
            rb"|\bfrom[ \t]+(?:[\w.]*\b" + last + rb"|\.+)[ \t]+import\b"
        )
        any_name = b"|".join(re.escape(name.encode()) for name in sorted(wanted))
        names = re.compile(rb"\b(?:" + any_name + rb")\b")
        python = [path for path in self._tree.entries() if path.endswith(_PYTHON)]
        found: set[str] = set()
        for path, data in self._tree.read_many(self._tree.search(imports, python)).items():
            if names.search(data) and self._names.dotted(path) != dotted:
                found |= self._read(path, dotted, wanted)
        return found

    def _read(self, path: str, dotted: str, wanted: frozenset[str]) -> set[str]:
        try:
            document = self._open(path)
        except Refusal:
            return set()
        last = dotted.rpartition(".")[2]
        found: set[str] = set()
        for site in document.editor.sites:
            if site.is_from and site.target == dotted:
                found |= set(wanted) if site.is_star else {n.name for n in site.names} & wanted
                continue
            for name in site.names:
                imported = f"{site.target}.{name.name}" if site.is_from else name.name
                if imported == dotted:
                    bound = re.escape(name.asname or last)
                    reached = re.findall(rf"\b{bound}[ \t]*\.[ \t]*(\w+)", document.module.text)
                    found |= set(reached) & wanted
        return found
