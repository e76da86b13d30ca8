"""What a module's `__getattr__` is for: tables that it alone reads, and old names that it keeps."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from verify.kernel.pairs.pairing import At
from verify.kernel.trees.nodes import children, walk
from verify.kernel.trees.source import IMPORTS, Source, blocks
from verify.kernel.trees.tree import Tree, absolute
from verify.kernel.trees.words import raw, words

HOOKS = ("__getattr__", "__dir__")
# What sees the keys of a table alone.
_OF_KEYS = words("list sorted tuple set frozenset")


@dataclass
class Asked:
    """By the path of a module: names of such tables, and the old names that are kept."""

    tables: dict[str, frozenset[str]] = field(default_factory=dict)
    kept: dict[str, frozenset[str]] = field(default_factory=dict)
    makers: set[str] = field(default_factory=set)  # files whose functions make a `__getattr__`


def asked(base: Tree, target: Tree, changed: frozenset[str], new: list[At]) -> Asked:
    """Look for them in the changed files that are there on both sides."""
    found = Asked()
    both = (path for path in changed if path in base.files and path in target.files)
    for path in sorted(path for path in both if b"__getattr__" in target.files[path]):
        ours, theirs = base.readable(path), target.readable(path)
        if ours is None or theirs is None:
            continue
        names = _tables(ours, theirs)
        tables = frozenset(n for n in names if not _elsewhere((base, target), path, n))
        if _made_alike(ours, theirs):
            tables |= set(HOOKS)
            found.makers |= _from(target, theirs)
        kept = _kept(theirs, [at[1] for at in new if at[0] == path])
        if tables:
            found.tables[path] = tables
        if kept and not [*hooks(ours.tree)]:
            found.kept[path] = kept
    return found


def texts(source: Source, name: str) -> set[str]:
    """Give the names that a table of a module says."""
    table = tables(source.tree).get(name)
    if name in HOOKS:
        table = _made(source)  # type: ignore[assignment]
    parts = walk(table) if table is not None else ()
    values = (part.value for part in parts if isinstance(part, ast.Constant))
    return {value for value in values if isinstance(value, str) and value.isidentifier()}


def _made(source: Source) -> ast.Call | None:
    """Give the call that makes a module's `__getattr__`, be it one of several that it makes."""
    for node in source.tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            names = {part.id for part in walk(node.targets[0]) if isinstance(part, ast.Name)}
            if "__getattr__" in names and len(node.targets) == 1:
                return node.value
    return None


def _made_alike(ours: Source, theirs: Source) -> bool:
    """Tell whether both sides make it by one call, of which nothing but tables of texts differ."""
    one, two = _made(ours), _made(theirs)
    if one is None or two is None or [*hooks(ours.tree)] or [*hooks(theirs.tree)]:
        return False
    return ast.dump(one) != ast.dump(two) and _without(one) == _without(two)


def _without(call: ast.Call) -> str:
    """Give a call without its tables of texts."""
    shown = [_blank(part) for part in (*call.args, *(word.value for word in call.keywords))]
    return f"{ast.dump(call.func)} {shown} {[word.arg for word in call.keywords]}"


def _blank(node: ast.expr) -> str:
    table = isinstance(node, (ast.Dict, ast.List, ast.Tuple, ast.Set))
    plain = all(isinstance(part, (*_PARTS, ast.expr_context)) for part in walk(node))
    return type(node).__name__ if table and plain else ast.dump(node)


def _from(tree: Tree, source: Source) -> set[str]:
    """Give the files from which the function may come that makes a `__getattr__`."""
    call = _made(source)
    words = {part.id for part in walk(call.func) if isinstance(part, ast.Name)} if call else set()
    found: set[str] = set()
    for node in source.tree.body:
        for alias in node.names if isinstance(node, ast.ImportFrom) else ():
            if (alias.asname or alias.name) in words:
                spelled = "." * getattr(node, "level", 0) + (getattr(node, "module", "") or "")
                for module in absolute(spelled, tree.names(source.path), source.path):
                    found.update(tree.named.get(module, ()))
    return found


def hooks(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """List the functions by which a module answers for names that it does not have."""
    todo: list[ast.stmt] = [*tree.body]
    for node in todo:
        if isinstance(node, ast.FunctionDef) and node.name in HOOKS:
            yield node
        elif isinstance(node, (ast.If, ast.Try)):
            for block in blocks(node):
                todo += block


def tables(tree: ast.Module) -> dict[str, ast.Dict]:
    """Give the dicts of texts that stand at the top of a module."""
    found = {}
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if isinstance(targets[0], ast.Name) and len(targets) == 1 and isinstance(value, ast.Dict):
            if all(isinstance(part, (*_PARTS, ast.expr_context)) for part in walk(value)):
                found[targets[0].id] = value
    return found


_PARTS = (ast.Dict, ast.List, ast.Tuple, ast.Set, ast.Constant)


def _tables(ours: Source, theirs: Source) -> set[str]:
    """Give the tables that differ, where the functions that read them do not."""
    before, after = ([ast.dump(hook) for hook in hooks(side.tree)] for side in (ours, theirs))
    if not before or before != after:
        return set()
    one, two = tables(ours.tree), tables(theirs.tree)
    return {
        name
        for name in one.keys() & two.keys()
        if ast.dump(one[name]) != ast.dump(two[name])
        and _only_asked(ours.tree, name)
        and _only_asked(theirs.tree, name)
    }


def _only_asked(tree: ast.Module, name: str) -> bool:
    """Tell whether nothing but such a function reads more of a table than its keys."""
    inside = {id(part) for hook in hooks(tree) for part in walk(hook)}
    stores = 0
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.Global, ast.Nonlocal)) and name in node.names:
            return False
        if isinstance(node, ast.Name) and node.id == name:
            stores += isinstance(node.ctx, ast.Store)
            if not isinstance(node.ctx, ast.Store) and id(node) not in inside:
                return False
            continue
        todo += (child for child in children(node) if not _keys(node, child, name))
    return stores == 1


def _keys(node: ast.AST, child: ast.AST, name: str) -> bool:
    """Tell whether a node reads of a table, its child, the keys alone."""
    if not (isinstance(child, ast.Name) and child.id == name):
        return False
    if isinstance(node, ast.Call):
        return child in node.args and getattr(node.func, "id", "") in _OF_KEYS
    return isinstance(node, ast.Starred)


def _elsewhere(trees: tuple[Tree, Tree], path: str, name: str) -> bool:
    """Tell whether any other file of Python says the name of a table."""
    word = re.compile(rb"\b" + re.escape(raw(name)) + rb"\b")
    return any(
        other != path and other.endswith(".py") and word.search(data) is not None
        for tree in trees
        for other, data in tree.files.items()
    )


def _kept(source: Source, new: list[int]) -> frozenset[str]:
    """Give the names that a new `__getattr__` gives, if it does nothing else."""
    nodes = [source.statements[at].node for at in new]
    found = [n for n in nodes if isinstance(n, ast.FunctionDef) and n.name == "__getattr__"]
    if len(found) != 1 or len([*hooks(source.tree)]) != 1 or found[0].decorator_list:
        return frozenset()
    *cases, last = found[0].body
    given = [arg.arg for arg in found[0].args.args]
    if len(given) != 1 or not isinstance(last, ast.Raise) or "AttributeError" not in _raised(last):
        return frozenset()
    names: set[str] = set()
    for case in cases:
        wanted = _wanted(case, given[0])
        if not wanted:
            return frozenset()
        names |= wanted
    return frozenset(names)


def _raised(node: ast.Raise) -> str:
    call = node.exc
    return getattr(call.func if isinstance(call, ast.Call) else call, "id", "")


def _wanted(case: ast.stmt, name: str) -> set[str]:
    """Give the names that one case gives: `if name == "f": from b import f; return f`."""
    if not isinstance(case, ast.If) or case.orelse or not isinstance(case.test, ast.Compare):
        return set()
    test, (*before, last) = case.test, case.body
    plain = isinstance(test.left, ast.Name) and test.left.id == name and len(test.ops) == 1
    if not (plain and isinstance(last, ast.Return) and all(isinstance(n, IMPORTS) for n in before)):
        return set()
    other = test.comparators[0]
    if isinstance(test.ops[0], ast.Eq):
        parts: list[ast.expr] = [other]
    elif isinstance(test.ops[0], ast.In):
        parts = list(getattr(other, "elts", ()))
    else:
        return set()
    values = {part.value for part in parts if isinstance(part, ast.Constant)}
    return {str(value) for value in values} if len(values) == len(parts) else set()
