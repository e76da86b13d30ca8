"""Edits that a move entails, derived again: a name spelled otherwise that means the same.

A statement that was edited is explained if every place that differs is a name or a chain of
attributes that leads to the same thing, a patch's target that follows its reader, or the text of an
annotation. Whatever else differs is text.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import replace

from verify.kernel.edits.conserve import computed, exported, symbol
from verify.kernel.edits.needs import file_of, rows
from verify.kernel.edits.spelled import Parts, Spelled, chain
from verify.kernel.machine import Machine
from verify.kernel.machine.values import Made
from verify.kernel.pairs.both import Both
from verify.kernel.pairs.pairing import At, Edit
from verify.kernel.trees.effects import PATCHING, targeted
from verify.kernel.trees.nodes import children, walk
from verify.kernel.trees.source import DEFINITIONS, is_docstring, stored
from verify.kernel.verdict import BASE, EXPLAINED, TARGET, TEXT


class Edits:
    """The edits, and what the runs say of them."""

    def __init__(self, both: Both) -> None:
        self.both = both
        self.spelled = Spelled(both)
        self._same: dict[Hashable, set[tuple[Parts, Parts]]] = defaultdict(set)
        self._ran: dict[str, set[str]] = {}
        self._patched: dict[str, dict[str, Hashable]] = {}

    def same(self, name: Made, one: Parts, two: Parts) -> None:
        """Note that two spellings in a definition mean the same."""
        if one != two:
            site = name[0][1] if isinstance(name[0], tuple) else None
            self._same[site].add((one, two))

    def note(self, machine: Machine) -> None:
        """Note which statements a side has run, and what is patched."""
        self._ran[machine.tree.side] = machine.every
        self._patched[machine.tree.side] = machine.patched

    def report(self) -> None:
        """Report each edit as explained or as text."""
        for edit in self.both.pairing.edits:
            node = self.both.statement(self.both.target, edit.target).node
            place = self.both.place(self.both.target, edit.target)
            types = _types(node)
            if all(self._explained(edit, node, types, one, two) for one, two in edit.differences):
                why = "what it names is spelled otherwise and means the same"
                places = self.both.edited(edit.base, edit.target)
                there = [spot for spot in places if spot.side == TARGET]
                self.both.found.say(EXPLAINED, symbol(node), why, *(there or [place]))
            else:
                places = self.both.edited(edit.base, edit.target)
                self.both.found.say(TEXT, symbol(node), "this statement was edited", *places)
                for tree, at in ((self.both.base, edit.base), (self.both.target, edit.target)):
                    first = self.both.place(tree, at)
                    named = replace(first, line=self.both.statement(tree, at).node.lineno)
                    for place in places:
                        if place.side == first.side:
                            self.both.found.edited(place, first, named)

    def _explained(
        self,
        edit: Edit,
        node: ast.stmt,
        types: set[ast.AST],
        one: ast.AST | None,
        two: ast.AST | None,
    ) -> bool:
        if {symbol(node), *stored(node)} & self.both.asked.tables.get(edit.target[0], frozenset()):
            return True
        if _exports(node):
            return self._exported(edit, node)
        if one is None or two is None:
            return False
        ours, theirs = chain(one), chain(two)
        if ours and theirs:
            return self._chains(edit, node, two, ours, theirs, of_type=two in types)
        before, after = _text(one), _text(two)
        if before is None or after is None:
            return False
        return self._texts(edit, node, types, two, before, after)

    def _texts(
        self, edit: Edit, node: ast.stmt, types: set[ast.AST], two: ast.AST, before: str, after: str
    ) -> bool:
        """Tell whether two texts mean the same: targets of patches, descriptions, types."""
        if _patches(node, two):
            return self._follows(before, after)
        if self._sets_up(edit.target[0], node):
            return self.both.renames.follow(before, after)
        if _describes(node, two) or (is_docstring(node) and self._unread(edit.target)):
            return self.both.renames.follow_partly(before, after)
        path, now = edit.base[0], edit.target[0]
        is_type = two in types or self._cast(now, node, two)
        return is_type and self.spelled.same_texts(path, before, now, after)

    def _unread(self, at: At) -> bool:
        """Tell whether a text that stands alone is read by nobody: it describes, no more."""
        return at[1] > 0 or not any(
            b"__doc__" in data
            for tree in (self.both.base, self.both.target)
            for path, data in tree.files.items()
            if path.endswith(".py")
        )

    def _sets_up(self, path: str, node: ast.stmt) -> bool:
        """Tell whether a statement is the call of `setup()`, whose entry points are texts."""
        call = node.value if isinstance(node, ast.Expr) else None
        if not isinstance(call, ast.Call):
            return False
        found = self.spelled.leads(self.both.target, path, chain(call.func) or ("",))
        return found in _SETUPS

    def _chains(
        self, edit: Edit, node: ast.stmt, at: ast.AST, one: Parts, two: Parts, *, of_type: bool
    ) -> bool:
        """Tell whether two chains of names mean the same."""
        path, now = edit.base[0], edit.target[0]
        if (one, two) in self._same[edit.base]:
            return self._imported(now, two)
        if of_type and self.spelled.same(path, one, now, two):
            return True
        ran = all(repr(edit.base) in ran for ran in self._ran.values()) and _at_top(node, at)
        return ran and self._imported(now, two)

    def _follows(self, one: str, two: str) -> bool:
        """Tell whether a patch's target is of the same kind as before: whom it reaches is judged.

        That of a module follows its reader; what is not of a module is the same as it was.
        """
        before, after = self._patched[BASE].get(one), self._patched[TARGET].get(two)
        return before is not None and before == after

    def _cast(self, path: str, node: ast.stmt, text: ast.AST) -> bool:
        """Tell whether a text is the type of `typing.cast`."""
        return any(
            isinstance(call, ast.Call)
            and call.args
            and call.args[0] is text
            and self.spelled.leads(self.both.target, path, chain(call.func) or ("",)) in _CASTS
            for call in walk(node)
        )

    def _exported(self, edit: Edit, node: ast.stmt) -> bool:
        """Tell whether an `__all__` changed as the names of its module did."""
        if computed(self.both, edit.target):
            return True  # what it comes to is compared when it has run
        if not exported(self.both, edit.target):
            return False
        before = _listed(self.both.statement(self.both.base, edit.base).node)
        source = self.both.target.source(edit.target[0])
        bound = {name for statement in source.tree.body for name in stored(statement)}
        return not (before - _listed(node)) & bound

    def _imported(self, path: str, parts: Parts) -> bool:
        """Tell whether a file imports the module that a chain goes through."""
        source = self.both.target.source(path)
        plain = [row for row, _ in rows(self.both.target, source) if row.name == parts[0]]
        if not plain or any(row.member is not None or row.name == "*" for row in plain):
            return True
        modules = {row.module for row in plain}
        if any(row.module.partition(".")[0] != parts[0] for row in plain):
            return True  # `import a.b as c`
        for end in range(len(parts) - 1, 0, -1):
            name = ".".join(parts[:end])
            if file_of(self.both.target, name):
                led = any(m == name or m.startswith(f"{name}.") for m in modules)
                return led or self._brings(parts[0], name)
        return True

    def _brings(self, package: str, module: str) -> bool:
        """Tell whether a package imports one of its modules itself."""
        tree = self.both.target
        path = file_of(tree, package)
        return path.endswith(".py") and any(
            module in (row.module, f"{row.module}.{row.member}")
            for row, _ in rows(tree, tree.source(path))
            if not row.guards
        )


def _describes(node: ast.stmt, text: ast.AST) -> bool:
    """Tell whether a text is the docstring of a definition."""
    return any(
        isinstance(inner, DEFINITIONS)
        and is_docstring(inner.body[0])
        and getattr(inner.body[0], "value", None) is text
        for inner in walk(node)
    )


def _listed(node: ast.stmt) -> set[object]:
    value = getattr(node, "value", None)
    return {item.value for item in getattr(value, "elts", ()) if isinstance(item, ast.Constant)}


def _exports(node: ast.stmt) -> bool:
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    return isinstance(target, ast.Name) and target.id == "__all__"


_CASTS = (("outside", "typing.cast"), ("outside", "typing_extensions.cast"))
_SETUPS = (("outside", "setuptools.setup"), ("outside", "distutils.core.setup"))


def _text(node: ast.AST) -> str | None:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) else None


def _types(node: ast.AST) -> set[ast.AST]:
    """List all that stands in the annotations of a statement."""
    found: set[ast.AST] = set()
    for inner in walk(node):
        for name in ("annotation", "returns"):
            note = getattr(inner, name, None)
            if isinstance(note, ast.AST):
                found.update(walk(note))
    return found


def _at_top(node: ast.stmt, part: ast.AST) -> bool:
    """Tell whether a part of a statement is evaluated when the statement runs."""
    return any(part is inner for inner in _evaluated(node))


def _evaluated(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        spec = node.args
        inner = [*spec.defaults, *spec.kw_defaults, *getattr(node, "decorator_list", ())]
        for part in inner:
            if part is not None:
                yield from _evaluated(part)
        return
    for child in children(node):
        if child is not getattr(node, "annotation", None):
            yield from _evaluated(child)


def _patches(node: ast.stmt, text: ast.AST) -> bool:
    """Tell whether a text is the target of a patch."""
    for call in walk(node):
        if isinstance(call, ast.Call) and targeted(call) is text:
            func = call.func
            last = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
            if last in PATCHING:
                return True
    return False
