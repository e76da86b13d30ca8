"""Where a name leads by what stands in the files, whatever runs: what a type checker would find.

Types in texts, comments and annotations are never looked up when the program runs, or only by who
asks for them; imports that stand under `TYPE_CHECKING` count here as all others do.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Hashable

from verify.kernel.edits.needs import file_of, rows
from verify.kernel.pairs.both import Both
from verify.kernel.pairs.pairing import differences
from verify.kernel.trees.nodes import walk
from verify.kernel.trees.source import IMPORTS, dotted, stored
from verify.kernel.trees.tree import Tree

Parts = tuple[str, ...]
MOST_STEPS = 30  # from one module to the next
_WORDS = re.compile(r"[^\W\d][\w.]*")
_TYPE = re.compile(r"#\s*type:\s*(?!ignore\b)")


class Spelled:
    """Follows names through the files of both sides."""

    def __init__(self, both: Both) -> None:
        self.both = both
        self._bound: dict[tuple[str, str], dict[str, Hashable]] = {}

    def same(self, path: str, one: Parts, now: str, two: Parts) -> bool:
        """Tell whether a name in a file of the base is what another is in one of the target."""
        before = self.leads(self.both.base, path, one)
        return before is not None and before == self.leads(self.both.target, now, two)

    def same_texts(self, path: str, one: str, now: str, two: str) -> bool:
        """Tell whether two types that are written as texts are the same."""
        try:
            ours, theirs = (ast.parse(text.strip(), mode="eval").body for text in (one, two))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
        for left, right in differences(ours, theirs):
            first, second = chain(left), chain(right)
            if not (first and second and self.same(path, first, now, second)):
                return False
        return True

    def same_comments(self, path: str, one: str, now: str, two: str) -> bool:
        """Tell whether two type comments name the same types."""
        if not (_TYPE.match(one) and _TYPE.match(two)):
            return False
        if _WORDS.sub("", one) != _WORDS.sub("", two):
            return False
        pairs = zip(_WORDS.findall(one), _WORDS.findall(two), strict=True)
        return all(
            a == b or self.same(path, tuple(a.split(".")), now, tuple(b.split(".")))
            for a, b in pairs
        )

    def leads(self, tree: Tree, path: str, parts: Parts, steps: int = 0) -> Hashable | None:
        """Give what a chain of names is in a file, or None where that cannot be told."""
        if steps > MOST_STEPS or not path.endswith(".py") or tree.readable(path) is None:
            return None
        found = self._names(tree, path).get(parts[0])
        if found is None:
            return ("builtin", parts) if hasattr(builtins, parts[0]) else None
        if not (isinstance(found, tuple) and found[0] == "import"):
            return found, parts[1:]
        _, module, member = found
        if member is not None:
            return self._member(tree, module, (member, *parts[1:]), steps)
        if module.partition(".")[0] == parts[0]:  # `import a.b`, or `import a`
            return self._member(tree, parts[0], parts[1:], steps)
        return self._member(tree, module, parts[1:], steps)

    def of_module(self, tree: Tree, module: str, parts: Parts) -> Hashable | None:
        """Give what a chain of names is in a module, or None where that cannot be told."""
        return self._member(tree, module, parts, 0)

    def _member(self, tree: Tree, module: str, parts: Parts, steps: int) -> Hashable | None:
        """Give what a chain of names is in a module."""
        while parts and file_of(tree, f"{module}.{parts[0]}"):
            module, parts = f"{module}.{parts[0]}", parts[1:]
        path = file_of(tree, module)
        if not path:
            return "outside", ".".join((module, *parts))
        if not parts:
            return "module", module
        return self.leads(tree, path, parts, steps + 1)

    def _names(self, tree: Tree, path: str) -> dict[str, Hashable]:
        """List what the names of a file are bound to: a statement, or an import."""
        if (tree.side, path) not in self._bound:
            source = tree.source(path)
            found: dict[str, Hashable] = {}
            for row, _ in rows(tree, source):
                found[row.name] = "import", row.module, row.member
            site = self.both.sites(tree)
            for statement in source.statements:
                if not statement.imports_only:
                    for name in _defined(statement.node):
                        found[name] = site(path, statement.index), name
            self._bound[tree.side, path] = found
        return self._bound[tree.side, path]


def _defined(node: ast.stmt) -> set[str]:
    """Give what a statement binds but by imports."""
    brought = {name for inner in walk(node) if isinstance(inner, IMPORTS) for name in stored(inner)}
    return set(stored(node)) - brought


def chain(node: ast.AST | None) -> Parts:
    """Give `a.b.c` as its parts, or nothing if the node is no such chain."""
    found = dotted(node)
    return found[1] if found else ()
