"""Which statement of the target is which of the base.

Top-level statements of the changed files are matched whole: by their text, then by their syntax
without the imports in them, then, where they were edited, by the name that they define. Each
statement of the base is used once; what stands a second time is a copy.
"""

from __future__ import annotations

import ast
import copy
import re
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass, field

from verify.kernel.trees.nodes import walk
from verify.kernel.trees.source import DEFINITIONS, IMPORTS, Statement, dotted, imports_only, stored
from verify.kernel.trees.tree import Tree

At = tuple[str, int]  # a top-level statement: its path and index
Key = Callable[[Statement], Hashable]


@dataclass(frozen=True, slots=True)
class Edit:
    """A statement that changed, or whose imports did, and what it became."""

    base: At
    target: At
    differences: tuple[tuple[ast.AST | None, ast.AST | None], ...]


@dataclass
class Pairing:
    """The result. `gone` and `new` are statements, imports left out, that have no other side."""

    base_of: dict[At, At] = field(default_factory=dict)  # by the target's statement, copies too
    copies: set[At] = field(default_factory=set)
    edits: list[Edit] = field(default_factory=list)
    gone: list[At] = field(default_factory=list)
    new: list[At] = field(default_factory=list)
    becomes: dict[At, At] = field(default_factory=dict)  # by the base's statement

    def moved(self) -> Iterator[tuple[At, At]]:
        """List the statements that stand in another file, copies left out."""
        for target, base in self.base_of.items():
            if target[0] != base[0] and target not in self.copies:
                yield base, target


def pair(base: Tree, target: Tree, changed: Iterable[str]) -> Pairing:
    """Match the statements of the changed files. All of them must parse."""
    ours = dict(_statements(base, changed))
    theirs = dict(_statements(target, changed))
    found = Pairing()
    left, todo = dict(ours), dict(theirs)
    for key in (_text, _syntax):
        for same_file in (True, False):
            _match(left, todo, key, same_file, found)
    _edited(left, todo, found)
    _copied(ours, todo, found)
    found.gone = list(left)
    found.new = list(todo)
    found.becomes = {b: t for t, b in found.base_of.items() if t not in found.copies}
    for target_at, base_at in found.base_of.items():
        one, two = ours[base_at], theirs[target_at]
        if one.text != two.text:
            apart = tuple(differences(one.node, two.node))
            if not apart and _docs(one.node) != _docs(two.node):
                apart = ((None, None),)  # a string became a docstring, or no longer is one
            if apart:
                found.edits.append(Edit(base_at, target_at, apart))
    return found


def _statements(tree: Tree, paths: Iterable[str]) -> Iterator[tuple[At, Statement]]:
    for path in sorted(paths):
        if path in tree.files:
            for statement in tree.source(path).statements:
                if not statement.imports_only:
                    yield (path, statement.index), statement


def _match(
    left: dict[At, Statement],
    todo: dict[At, Statement],
    key: Key,
    same_file: bool,
    found: Pairing,
) -> None:
    """Pair what has the same key, first within a file, then with any other."""
    waiting: dict[Hashable, deque[At]] = defaultdict(deque)
    for at, statement in left.items():
        waiting[key(statement), at[0] if same_file else ""].append(at)
    for at, statement in list(todo.items()):
        queue = waiting.get((key(statement), at[0] if same_file else ""))
        if queue:
            twin = queue.popleft()
            found.base_of[at] = twin
            del left[twin], todo[at]


def _edited(left: dict[At, Statement], todo: dict[At, Statement], found: Pairing) -> None:
    """Pair what defines the same names: in the same file if it can be, else if there is but one."""
    waiting: dict[Hashable, list[At]] = defaultdict(list)
    for at, statement in left.items():
        if names := defined(statement.node):
            waiting[names].append(at)
    for same_file in (True, False):
        for at, statement in list(todo.items()):
            known = waiting.get(defined(statement.node), [])
            fitting = [k for k in known if k in left and (k[0] == at[0] or not same_file)]
            if len(fitting) == 1 or (fitting and same_file):
                twin = fitting[0]
                found.base_of[at] = twin
                del left[twin], todo[at]
    _match(left, todo, _blank, True, found)


def _text(statement: Statement) -> str:
    return statement.text


def _syntax(statement: Statement) -> str:
    return shape(statement.node)


def _blank(statement: Statement) -> str:
    """Give a statement's syntax without its names and texts; `a.b.c` is one name."""
    text = _NAMES.sub("", shape(statement.node))
    while (fewer := _CHAIN.sub(r"Name(, \1)", text)) != text:
        text = fewer
    return text


def _copied(ours: dict[At, Statement], todo: dict[At, Statement], found: Pairing) -> None:
    wanted = {_kind(statement.node) for statement in todo.values()}
    first: dict[str, At] = {}
    for at, statement in ours.items():
        if _kind(statement.node) in wanted:
            first.setdefault(shape(statement.node), at)
    for at, statement in list(todo.items()):
        twin = first.get(shape(statement.node))
        if twin is not None:
            found.base_of[at] = twin
            found.copies.add(at)
            del todo[at]


def _kind(node: ast.stmt) -> tuple[type, object]:
    """Give what statements of one shape have in common, at no cost."""
    return type(node), getattr(node, "name", None)


def defined(node: ast.stmt) -> tuple[str, ...]:
    """Give what kind of statement it is and the names it defines, if any."""
    names = tuple(sorted(set(stored(node))))
    return (type(node).__name__, *names) if names else ()


_NAMES = re.compile(r"(?:id|attr|value)='[^']*'")
_CHAIN = re.compile(r"Attribute\(value=Name\([ ,]*(?:ctx=Load\(\))?\)[ ,]*((?:ctx=\w+\(\))?)\)")
_SHAPES: dict[ast.stmt, str] = {}


def shape(node: ast.stmt) -> str:
    """Give a statement's syntax without the imports in it, and which of its strings are docs."""
    if node not in _SHAPES:
        bare: ast.AST = node
        if any(isinstance(inner, IMPORTS) for inner in walk(node)):
            bare = _Bare().visit(copy.deepcopy(node))
        _SHAPES[node] = ast.dump(bare) + repr(_docs(node))
        if len(_SHAPES) > 1 << 17:
            _SHAPES.clear()
            return shape(node)
    return _SHAPES[node]


def _docs(node: ast.AST) -> list[bool]:
    return [
        ast.get_docstring(inner, clean=False) is not None
        for inner in walk(node)
        if isinstance(inner, DEFINITIONS)
    ]


class _Bare(ast.NodeTransformer):
    """Takes imports out of a statement, and blocks that hold nothing else."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for name, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                kept = [item for item in value if not imports_only(item)]
                setattr(node, name, kept)
        return super().generic_visit(node)


def differences(one: ast.AST, two: ast.AST) -> Iterator[tuple[ast.AST | None, ast.AST | None]]:
    """List the innermost places where two statements differ, imports in them left out.

    A place that only one side has is paired with None. Chains of attributes are one place.
    """
    if type(one) is not type(two) or _chain(one) != _chain(two):
        yield one, two
        return
    if _chain(one):
        return
    for name in one._fields:
        yield from _fields(one, two, getattr(one, name, None), getattr(two, name, None))


def _fields(
    one: ast.AST, two: ast.AST, left: object, right: object
) -> Iterator[tuple[ast.AST | None, ast.AST | None]]:
    if isinstance(left, ast.AST) and isinstance(right, ast.AST):
        yield from differences(left, right)
    elif isinstance(left, list) and isinstance(right, list):
        ours, theirs = _bare(left), _bare(right)
        if len(ours) != len(theirs):
            yield one, two
        else:
            for a, b in zip(ours, theirs, strict=True):
                yield from _fields(one, two, a, b)
    elif type(left) is not type(right) or left != right:
        if not isinstance(left, ast.expr_context):
            yield one, two


def _bare(items: Collection[object]) -> list[object]:
    """Leave out imports, and what stands for a block that had nothing else."""
    if len(items) == 1 and all(isinstance(item, ast.Pass) for item in items):
        return []
    return [item for item in items if not (isinstance(item, ast.stmt) and imports_only(item))]


def _chain(node: ast.AST) -> tuple[str, ...]:
    """Give `a.b.c` as its parts and how it is used, or nothing if the node is no such chain."""
    found = dotted(node)
    return (type(found[0].ctx).__name__, *found[1]) if found else ()
