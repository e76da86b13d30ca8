"""What a module's code makes of its own place: of `__name__`, `__package__` and `__file__`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from posixpath import dirname
from typing import NamedTuple

from verify.certificate.both import Both
from verify.certificate.names import last_name, logger_name, words
from verify.certificate.source import Module, Unit, bound
from verify.kernel.trees.nodes import children, walk

NAMES = {"__name__", "__package__", "__file__"}
CLIMBING = re.compile(r"\bparents?\b|\bdirname\b|\bpardir\b|(?<=[\"'/\\])\.\.(?=[\"'/\\])")
_SAME = {"Path", "PurePath", "resolve", "absolute", "abspath", "realpath", "fspath", "str"}


class Use(NamedTuple):
    """A use of such a name.

    `handed` is one that a call or `sys.modules` is given as it is, `main` a comparison that only
    asks whether the module is the program. `climbs` counts the folders up from the file, 0 where
    that cannot be told; `kept` are the names that what is found from there is bound to.
    """

    name: str
    node: ast.Name
    handed: bool
    main: bool
    climbs: int
    kept: frozenset[str]


def judge_place(both: Both, old: Module, new: Module, after: Unit) -> None:
    """Look at what the code of a module that moved whole makes of its own place."""
    if old.stem == new.stem or "__" not in after.text:
        return
    exempt = {logger_name(ref, call) for ref, call, _ in both.facts(new, after).calls}
    for use in own_place(after.node):
        if id(use.node) in exempt or (
            use.name == "__file__" and _along(both, old, new, after, use)
        ):
            continue
        now, was = (m.stem.replace("/", ".") for m in (new, old))
        said = f"`{use.name}` is handed on, and names {now} now; it was {was}"
        if use.name != "__file__" and use.handed:
            both.found.observe(new.path, use.node.lineno, "name", said)
        elif use.name != "__name__" or not use.main:
            why = f"{use.name} is that of {now} now; it was that of {was}"
            both.residual("target", new.source, use.node.lineno, "binding", why)


def _along(both: Both, old: Module, new: Module, after: Unit, use: Use) -> bool:
    """Tell whether what is found from a module's path went along: its folder moved whole."""
    folders = [new.path, old.path]
    for _ in range(use.climbs + _climbs_on(both, use, after)):
        folders = [dirname(folder) for folder in folders]
    return use.climbs > 0 and both.whole.folders.get(folders[0]) == folders[1]


def _climbs_on(both: Both, use: Use, after: Unit) -> int:
    """Count at most how far up the paths are followed that a statement gives a name to."""
    own = len(CLIMBING.findall(after.text))
    count = 0 if own == use.climbs else own
    for module in both.new.values() if use.kept else ():
        own_module = any(unit is after for unit in module.source.units)
        for unit in module.source.units:
            if unit is not after and (own_module or _taken(module, unit, use.kept)):
                if words(unit.text) & use.kept:
                    count += len(CLIMBING.findall(unit.text))
    return count


def _taken(module: Module, unit: Unit, names: frozenset[str]) -> bool:
    """Tell whether a statement may reach a name of another module: imported, or as an attribute."""
    if "import" in unit.text or names & module.names.keys():
        return True
    return any(re.search(rf"\.\s*{re.escape(name)}\b", unit.text) for name in sorted(names))


def own_place(node: ast.AST) -> Iterator[Use]:
    """List what a statement makes of its module's place."""
    todo: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(node, ())]
    while todo:
        part, above = todo.pop()
        if isinstance(part, ast.Name) and part.id in NAMES and isinstance(part.ctx, ast.Load):
            kept = (
                frozenset(name for name, _ in bound([node]))
                if part.id == "__file__"
                else frozenset()
            )
            climbs = _climbs(part, above)
            yield Use(part.id, part, _handed(part, above), _main(above), climbs, kept)
        todo.extend((child, (part, *above)) for child in children(part))


def is_main_guard(node: ast.AST) -> bool:
    """Tell whether a statement runs only where its module is the program."""
    test = node.test if isinstance(node, ast.If) and not node.orelse else None
    name = test.left if isinstance(test, ast.Compare) else None
    equal = isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq)
    return equal and last_name(name or node) == "__name__" and _main((test or node,))


def _handed(node: ast.AST, above: tuple[ast.AST, ...]) -> bool:
    parent = above[0]
    if isinstance(parent, ast.keyword):
        return True
    if isinstance(parent, ast.Subscript):
        return last_name(parent.value) == "modules"
    if isinstance(parent, ast.Assign):
        return all(getattr(n, "attr", getattr(n, "id", "")) == "__module__" for n in parent.targets)
    return isinstance(parent, ast.Call) and node is not parent.func


def _main(above: tuple[ast.AST, ...]) -> bool:
    parent = above[0]
    plain = isinstance(parent, ast.Compare) and len(parent.comparators) == 1
    sides = [parent.left, *parent.comparators] if isinstance(parent, ast.Compare) else []
    return plain and any(isinstance(s, ast.Constant) and s.value == "__main__" for s in sides)


def _climbs(node: ast.AST, above: tuple[ast.AST, ...]) -> int:
    """Count the folders between a file's path and what is made of it; 0 for anything unclear."""
    count, part = 0, node
    for index, parent in enumerate(above):
        name = last_name(parent)
        if isinstance(parent, ast.Attribute) and name in {"resolve", "absolute"}:
            pass
        elif isinstance(parent, ast.Attribute) and name == "parent":
            count += 1
        elif isinstance(parent, ast.Attribute) and name == "parents":
            at = above[index + 1] if index + 1 < len(above) else None
            step = at.slice if isinstance(at, ast.Subscript) else None
            if not isinstance(step, ast.Constant) or not isinstance(step.value, int):
                return 0
            return 0 if _leaves(above[index + 2 :]) else count + step.value + 1
        elif isinstance(parent, ast.Attribute) and name in {"with_name", "joinpath"}:
            return 0 if _leaves(above[index + 1 :]) else max(count, 1)
        elif isinstance(parent, ast.Call) and part is parent.func:
            pass
        elif isinstance(parent, ast.Call) and name == "dirname":
            count += 1
        elif not (isinstance(parent, ast.Call) and name in _SAME):
            return 0 if _leaves(above[index:]) else count
        part = parent
    return count


def _leaves(above: tuple[ast.AST, ...]) -> bool:
    """Tell whether a path may lead up again: by `..`, or by one more `parent`."""
    for part in above:
        if isinstance(part, ast.stmt):
            break
        for inner in walk(part):
            if isinstance(inner, ast.Constant) and ".." in str(inner.value):
                return True
            if getattr(inner, "attr", "") in {"parents", "pardir"}:
                return True
    return False
