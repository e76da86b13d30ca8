"""Texts that show where something stood: what Python prints of a class or names it by.

The module of what moved is no behaviour until somebody compares it: with the text of a class, with
the report of an exception in an example, or by a name that a text asks for.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from verify.kernel.pairs.both import Both
from verify.kernel.pairs.pairing import At
from verify.kernel.trees.nodes import walk
from verify.kernel.trees.source import DEFINITIONS, last, stored
from verify.kernel.trees.words import raw, words
from verify.kernel.verdict import OPEN, Place

_COMPARED = words(
    "startswith endswith assertEqual assertIn assertRegex match search fullmatch find"
)
_ASKED = re.compile(r"\b__(?:module|globals|code|file)__\b")
_BY_TEXT = words("attrgetter format methodcaller")


def check(both: Both, near: Collection[str]) -> None:
    """Report such texts of what moved."""
    shown: dict[str, set[str]] = {}
    for base, target in both.pairing.moved():
        node = both.statement(both.base, base).node
        if isinstance(node, ast.ClassDef):
            _by_name(both, node, target)
        if isinstance(node, DEFINITIONS) and both.base.name(base[0]) != both.target.name(target[0]):
            shown.setdefault(both.base.name(base[0]), set()).update(stored(node))
    if shown:
        _Shown(both, shown, near).check()


def _by_name(both: Both, node: ast.ClassDef, target: At) -> None:
    """Look for objects that are pickled by a name, which is looked up where their class stands."""
    bound = {n for other in both.target.source(target[0]).tree.body for n in stored(other)}
    for method in node.body:
        if getattr(method, "name", "") in ("__reduce__", "__reduce_ex__"):
            for inner in walk(method):
                text = inner.value if isinstance(inner, ast.Return) else None
                if isinstance(text, ast.Constant) and text.value in bound:
                    continue
                if isinstance(text, (ast.Constant, ast.Attribute, ast.JoinedStr)):
                    why = "its objects may be pickled by a name, which is looked up in its module"
                    both.found.say(
                        OPEN,
                        f"{both.name(target[0])}.{node.name}",
                        why,
                        both.place(both.target, target),
                    )


class _Shown:
    """Looks through the files for texts that show names of modules."""

    def __init__(self, both: Both, shown: dict[str, set[str]], near: Collection[str]) -> None:
        self.both = both
        self.near = near
        self.shown = shown
        self._words = [raw(module) for module in shown]

    def check(self) -> None:
        """Look at each file that has the name of such a module, or asks for one by a text."""
        for path, data in sorted(self.both.target.files.items()):
            named = any(word in data for word in self._words)
            asks = path in self.near and b"__" in data
            if not path.endswith(".py") or not (named or asks):
                continue
            source = self.both.target.readable(path)
            found = self._found(source.tree, near=path in self.near) if source else ()
            for why, node in found:
                self.both.found.say(OPEN, path, why, Place(path, getattr(node, "lineno", 1)))

    def _found(self, tree: ast.AST, *, near: bool) -> Iterator[tuple[str, ast.AST]]:
        for node in walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                if self._printed(node.value):
                    yield "a text has what Python prints of something by its old module", node
            elif isinstance(node, (ast.Compare, ast.Call)):
                yield from self._compared(node)
                if near and isinstance(node, ast.Call) and _asks_by_text(node):
                    yield (
                        "it asks by a text where something stands, and the move changes that",
                        node,
                    )
            elif isinstance(node, ast.FunctionDef) and node.name == "find_class":
                for inner in walk(node):
                    if isinstance(inner, ast.Constant) and inner.value in self.shown:
                        yield "it knows what is pickled by its old module", inner

    def _compared(self, node: ast.Compare | ast.Call) -> Iterator[tuple[str, ast.AST]]:
        """Look at texts that are compared, and name something by its module among other words."""
        if isinstance(node, ast.Call) and last(node.func) not in _COMPARED:
            return
        parts = [node.left, *node.comparators] if isinstance(node, ast.Compare) else node.args
        for part in parts:
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                if re.search(r"[^\w.:]", part.value) and self._names(part.value):
                    yield "a text that is compared names something by its old module", part

    def _names(self, text: str) -> bool:
        return any(
            found[2] in self.shown.get(found[1], ())
            for found in re.finditer(r"(?<![\w.])([A-Za-z_][\w.]*)\.([A-Za-z_]\w*)", text)
        )

    def _printed(self, text: str) -> bool:
        """Tell whether a text has a class, an object or an exception as Python prints it."""
        if "<" not in text and "Traceback" not in text:
            return False
        for found in re.finditer(r"<(?:class '|enum '|)([A-Za-z_][\w.]*?)\.(\w*)", text):
            names = self.shown.get(found[1], ())
            if found[2] in names or (names and not found[2]):
                return True
        if "Traceback" in text:
            lines = re.finditer(r"^\s*([A-Za-z_][\w.]*)\.(\w+)(?::|\s*$)", text, re.M)
            return any(found[2] in self.shown.get(found[1], ()) for found in lines)
        return False


def _asks_by_text(call: ast.Call) -> bool:
    """Tell whether a call names an attribute that tells where something stands in a text."""
    name = last(call.func)
    if name not in _BY_TEXT:
        return False
    owner = call.func.value if name == "format" and isinstance(call.func, ast.Attribute) else None
    return any(
        isinstance(part, ast.Constant) and isinstance(part.value, str) and _ASKED.search(part.value)
        for part in (owner, *call.args)
    )
