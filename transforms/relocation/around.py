"""What the rewriting of one file knows of the move and of the tree."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from transforms.errors import Refusal
from transforms.imports.document import Document
from transforms.relocation.targets import Targets
from transforms.result.outcome import Edit, Note
from transforms.tree.names import Names, resolve_import


@dataclass(slots=True)
class Around:
    """The targets, and answers about modules of the tree as it is before the move.

    `read_names` are pairs of module and name that some file takes from that module: a name that is
    bound to a moved module may not change where others read it.
    """

    targets: Targets
    names: Names
    open_document: Callable[[str], Document]
    read_names: set[tuple[str, str]] = field(default_factory=set)
    _hidden: dict[str, bool] = field(default_factory=dict)

    def document_of(self, dotted: str) -> Document | None:
        """The module of that name, if the tree has it and it parses."""
        path = self.names.path_of(dotted)
        try:
            return None if path is None else self.open_document(path)
        except Refusal:
            return None

    def defines(self, dotted: str, name: str) -> bool:
        """Whether a module binds a name at its top level, or is a package with that submodule."""
        if f"{dotted}.{name}" in self.targets.modules:
            return True
        document = self.document_of(dotted)
        return document is not None and name in document.symbols.bindings

    def is_module(self, dotted: str) -> bool:
        """Whether `from PACKAGE import LAST` gives the module, not another thing of that name."""
        if dotted not in self._hidden:
            self._hidden[dotted] = self._is_hidden(dotted)
        return not self._hidden[dotted]

    def _is_hidden(self, dotted: str) -> bool:
        package, _, last = dotted.rpartition(".")
        document = self.document_of(package) if package else None
        if document is None or posixpath.basename(document.path) != "__init__.py":
            return False
        for _, binding in document.symbols.bindings.get(last, []):
            if not isinstance(binding.node, ast.alias):
                return True
            statement = binding.statement
            if isinstance(statement, ast.ImportFrom):
                target = resolve_import(document.package, statement.level, statement.module)
                if f"{target}.{binding.node.name}" != dotted:
                    return True
        return False

    def is_read(self, dotted: str, name: str) -> bool:
        """Whether another file takes `name` from the module `dotted`."""
        return (dotted, name) in self.read_names


@dataclass(slots=True)
class FileResult:
    """What rewriting one file gave."""

    data: bytes
    edits: list[Edit] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)


def collect_readings(texts: Mapping[str, str]) -> set[tuple[str, str]]:
    """Pairs of the last part of a module and a name that some text reads from it.

    By the look of the text, so too many rather than too few: `from .a import b` and `x.a.b`.
    """
    found: set[tuple[str, str]] = set()
    for text in texts.values():
        for match in _FROM.finditer(text):
            last = match[1].rpartition(".")[2]
            found.update((last, name) for name in _WORD.findall(match[2] or match[3]))
        found.update((match[1], match[2]) for match in _CHAIN.finditer(text))
    return found


_FROM = re.compile(
    r"(?m)^[ \t]*from[ \t]+([.\w]+)[ \t]+import[ \t]*(?:\(([^)]{0,20000})\)|([^\n(]{0,2000}))"
)
_WORD = re.compile(r"[^\W\d]\w*")
_CHAIN = re.compile(r"\b([^\W\d]\w*)(?=\.([^\W\d]\w*))")
