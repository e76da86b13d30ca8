"""What an expression may be made of, within one file: names are followed to what they are given.

Nothing is run. A name stands for all that is ever assigned to it in its scope, a parameter for all
that calls in the same file hand to it, a call of a function of the file for what it returns.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from verify.kernel.machine.scopes import parameters
from verify.kernel.trees.nodes import children, walk
from verify.kernel.trees.source import Source, last

MOST_PARTS = 2000  # of one expression

Functions = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(eq=False, slots=True)
class Within:
    """A function's names, or those of the module: what each is given, and where that stands."""

    of: Functions | None
    above: Within | None
    given: dict[str, list[Part]] = field(default_factory=lambda: defaultdict(list))
    takes: frozenset[str] = frozenset()  # its parameters
    title: str = ""  # of a class


Part = tuple[ast.AST, Within]


class Flow:
    """What the names of one file are given."""

    def __init__(self, source: Source) -> None:
        self.calls: list[tuple[ast.Call, Within]] = []
        self.scopes: list[Within] = []
        self._functions: dict[str, list[tuple[Functions, Within]]] = defaultdict(list)
        self._returned: dict[str, list[Part]] = defaultdict(list)
        self._attributes: dict[str, list[Part]] = defaultdict(list)
        self.top = top = Within(None, None)
        todo: list[Part] = [(node, top) for node in source.tree.body]
        while todo:
            node, within = todo.pop()
            inner = self._read(node, within)
            todo += [(child, inner) for child in children(node)]
        for call, within in self.calls:
            self._hand_over(call, within)

    def _read(self, node: ast.AST, within: Within) -> Within:
        """Note what a node gives to whom. Gives the scope of what is in it."""
        if isinstance(node, Functions):
            inner = Within(node, within, takes=frozenset(a.arg for a in parameters(node)))
            self._functions[node.name].append((node, inner))
            self.scopes.append(inner)
            for arg, value in _defaults(node):
                inner.given[arg].append((value, within))
            return inner
        if isinstance(node, ast.ClassDef):
            return Within(within.of, within, title=node.name)
        if isinstance(node, ast.Call):
            self.calls.append((node, within))
        elif isinstance(node, ast.Return) and node.value is not None and within.of is not None:
            self._returned[within.of.name].append((node.value, within))
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self._assign(target, node.value, within)
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and node.value:
            self._assign(node.target, node.value, within)
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            self._assign(node.target, node.iter, within)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            self._assign(node.optional_vars, node.context_expr, within)
        return within

    def _assign(self, target: ast.expr, value: ast.expr, within: Within) -> None:
        indices = (walk(n.slice) for n in walk(target) if isinstance(n, ast.Subscript))
        asked = {inner for nodes in indices for inner in nodes}  # read, and given nothing
        for node in walk(target):
            if node in asked:
                continue
            if isinstance(node, ast.Name):
                within.given[node.id].append((value, within))
            elif isinstance(node, ast.Attribute):
                self._attributes[node.attr].append((value, within))

    def _hand_over(self, call: ast.Call, within: Within) -> None:
        """Give a function's parameters what a call hands to them."""
        for node, inner in self._functions.get(last(call.func), ()):
            names = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args)]
            if isinstance(call.func, ast.Attribute) and names[:1] in (["self"], ["cls"]):
                names = names[1:]
            for number, value in enumerate(call.args):
                more = node.args.vararg
                name = names[number] if number < len(names) else more.arg if more else ""
                inner.given[name].append((value, within))
            for word in call.keywords:
                inner.given[word.arg or ""].append((word.value, within))

    def parts(self, *nodes: Part) -> Iterator[Part]:
        """List the nodes that expressions are made of, names followed to what they are given."""
        seen: set[ast.AST] = set()
        todo = [*nodes]
        while todo and len(seen) < MOST_PARTS:
            node, within = todo.pop()
            if node in seen or isinstance(node, (ast.Lambda, *_CONTEXTS)):
                continue
            seen.add(node)
            yield node, within
            if isinstance(node, ast.Name):
                todo += _found(node.id, within)
                continue
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                if node.value.id in ("self", "cls"):
                    todo += self._attributes.get(node.attr, ())
            if isinstance(node, ast.Call):
                todo += self._returned.get(last(node.func), ())
            todo += [(child, within) for child in children(node)]

    def texts(self, *nodes: Part) -> Iterator[tuple[str, int]]:
        """List the texts that expressions are made of, with their lines."""
        for node, _ in self.parts(*nodes):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value, node.lineno


_CONTEXTS = (ast.expr_context, ast.operator, ast.boolop, ast.unaryop, ast.cmpop)


def _found(name: str, within: Within) -> list[Part]:
    at: Within | None = within
    while at is not None:
        if name in at.given or name in at.takes:
            return at.given.get(name, [])
        at = at.above
    return []


def _defaults(node: Functions) -> Iterator[tuple[str, ast.expr]]:
    spec = node.args
    names = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
    yield from zip(names[len(names) - len(spec.defaults) :], spec.defaults, strict=True)
    for arg, value in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
        if value is not None:
            yield arg.arg, value
