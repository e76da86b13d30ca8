"""Compares name resolution with LibCST's own scope analysis, reference by reference.

Both sides are brought to one form: for each place, the scope a name stands in and the scope whose
binding it finds. Where the two differ, a class of difference must explain it; those are the
classes in which LibCST 1.9.0 departs from Python's rules:

- it orders bindings and uses of one scope by their text, also where the use runs later:
  a forward reference in a string, a postponed annotation, a second loop of a comprehension,
  a walrus in the condition of `x if (x := f()) else y`;
- it reads strings only in some of the places where types stand (`list["Later"]` within a `Union`,
  `typing.List["Later"]`, calls of `typing_extensions`), and reads some that are no types
  (`Annotated[int, "unit"]`, strings in calls in an annotation);
- it takes the captures and keywords of `match` patterns for uses, not for bindings;
- it does not mangle the private names of a class;
- it binds a walrus inside the comprehension that it stands in, not around it.
"""

from __future__ import annotations

import ast
import bisect
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst
from libcst import metadata
from libcst.metadata.scope_provider import LocalScope

from transforms.scopes.resolve import Binding, Reference, Scope, ScopeKind, Scopes

Key = tuple[str | int, ...]
Place = tuple[int, int]

_OUTSIDE: Key = ("outside the file",)
_BEFORE_A_NAME = re.compile(r"(?:[ \t\f\r\n(]|\\\r?\n|#[^\r\n]*)*")
_LINE_END = re.compile(r"\r\n|\r|\n")
_KEYWORDS = ("True", "False", "None")  # names to LibCST's grammar, not to Python's


@dataclass(frozen=True)
class Found:
    """What LibCST says of one use of a name."""

    within: Key
    owners: frozenset[Key]
    string: bool


@dataclass(frozen=True)
class Difference:
    """One place that the two sides see differently; `reason` is empty if nothing explains it."""

    place: Place
    text: str
    reason: str


class LibcstScopes:
    """LibCST's scopes of a file, in the common form."""

    def __init__(self, data: bytes) -> None:
        wrapper = metadata.MetadataWrapper(cst.parse_module(data), unsafe_skip_copy=True)
        self._positions = wrapper.resolve(metadata.PositionProvider)
        by_node = wrapper.resolve(metadata.ScopeProvider)
        self._scopes = {scope for scope in by_node.values() if scope is not None}
        self._text = data.decode("utf-8-sig")
        self._starts = [0, *(found.end() for found in _LINE_END.finditer(self._text))]
        self._keys: dict[metadata.Scope, Key] = {}

    def uses(self) -> dict[Place, list[Found]]:
        """Every access, by the place of its first name or of the string that holds it."""
        found: dict[Place, list[Found]] = defaultdict(list)
        for scope in self._scopes:
            for access in scope.accesses:
                node: cst.CSTNode = access.node
                while isinstance(node, cst.Attribute):
                    node = node.value
                if isinstance(node, cst.Name) and node.value in _KEYWORDS:
                    continue
                owners = frozenset(self._key(referent.scope) for referent in access.referents)
                string = not isinstance(node, cst.Name)
                use = Found(self._key(access.scope), owners or frozenset({_OUTSIDE}), string)
                found[self._place(node)].append(use)
        return found

    def bindings(self) -> dict[Key, set[str]]:
        """The names that each scope binds."""
        found: dict[Key, set[str]] = defaultdict(set)
        for scope in self._scopes:
            for assignment in scope.assignments:
                key = self._key(assignment.scope)
                if key != _OUTSIDE:
                    found[key].add(assignment.name.partition(".")[0])
        return found

    def _key(self, scope: metadata.Scope) -> Key:
        if scope not in self._keys:
            self._keys[scope] = self._new_key(scope)
        return self._keys[scope]

    def _new_key(self, scope: metadata.Scope) -> Key:
        if isinstance(scope, metadata.BuiltinScope):
            return _OUTSIDE
        if not isinstance(scope, LocalScope):
            return ("module",)
        node = scope.node
        if isinstance(scope, metadata.ComprehensionScope) and isinstance(node, cst.BaseComp):
            return ("comprehension", *self._place(_first_name(node.for_in.target)))
        if isinstance(node, cst.Lambda):
            return ("lambda", *self._place(node))
        kind = "type parameters"
        if isinstance(scope, metadata.ClassScope):
            kind = "class"
        elif isinstance(scope, metadata.FunctionScope):
            kind = "function"
        name = node.name  # type: ignore[attr-defined]
        return (kind, name.value, self._positions[name].start.line)

    def _place(self, node: cst.CSTNode) -> Place:
        """Line and UTF-8 column of a node, without the parentheses that LibCST counts to it."""
        start = self._positions[node].start
        skipped = _BEFORE_A_NAME.match(self._text, self._starts[start.line - 1] + start.column)
        offset = skipped.end() if skipped else 0
        line = bisect.bisect_right(self._starts, offset)
        return line, len(self._text[self._starts[line - 1] : offset].encode())


def compare(ours: Scopes, theirs: LibcstScopes) -> tuple[int, list[Difference]]:
    """Compare every use and every scope's bindings; give the number of uses that agree."""
    agreed = 0
    differences: list[Difference] = []
    left = theirs.uses()
    patterns = [node for node in ast.walk(ours.module.node) if isinstance(node, ast.pattern)]
    mine: dict[Place, list[Reference]] = defaultdict(list)
    for reference in ours.references:
        if reference.access != "store":  # LibCST does not count stores as uses
            mine[reference.node.lineno, reference.node.col_offset].append(reference)  # type: ignore[attr-defined]
    for place, references in mine.items():
        found = left.pop(place, [])
        for reference in references:
            owner = _OUTSIDE if reference.owner is None else _key(reference.owner)
            string = reference.annotation == "string"
            wanted = Found(_key(reference.scope), frozenset({owner}), string)
            if wanted in found:
                agreed += 1
            else:
                text = f"{reference.name}: {wanted}, LibCST has {found}"
                differences.append(Difference(place, text, _why(reference, found)))
    for place, found in left.items():
        reason = ""
        if all(use.string for use in found):
            reason = "a string that is no type"
        elif any(_begins(pattern) <= place < _ends(pattern) for pattern in patterns):
            reason = "a capture or a keyword of a match pattern"
        differences.append(Difference(place, f"only LibCST has {found}", reason))
    differences += _binding_differences(ours, theirs)
    return agreed, differences


def _why(reference: Reference, found: list[Found]) -> str:
    """Name the class of a difference in how one use is seen."""
    if reference.annotation == "string" and not any(use.string for use in found):
        return "a string in a place for types that LibCST does not read"
    owner = reference.owner
    if owner is None:
        return ""
    bindings = owner.bindings.get(reference.name, [])
    first = min((binding.statement.lineno for binding in bindings), default=0)
    own = reference.scope is owner
    later = first >= reference.statement.lineno
    classes = {
        "a walrus in a comprehension": any(_leaves_comprehension(it) for it in bindings),
        "a capture or a keyword of a match pattern": any(it.kind == "match" for it in bindings),
        "an annotation that names what is bound later": later
        and reference.annotation in ("string", "postponed"),
        "a comprehension that reads the target of its inner loop": own
        and owner.kind is ScopeKind.COMPREHENSION,
        "a local name that is read above its first binding": own
        and owner.kind is ScopeKind.FUNCTION
        and later,
    }
    return next((words for words, true in classes.items() if true), "")


def _binding_differences(ours: Scopes, theirs: LibcstScopes) -> Iterator[Difference]:
    mine: dict[Key, set[str]] = defaultdict(set)
    walruses: set[str] = set()
    captures: set[str] = set()
    for scope in ours.scopes:
        mine[_key(scope)] |= scope.bindings.keys() - {"*"}
        for name, bindings in scope.bindings.items():
            if any(_leaves_comprehension(binding) for binding in bindings):
                walruses.add(name)
            if any(binding.kind == "match" for binding in bindings):
                captures.add(name)
    others = theirs.bindings()
    for key in mine.keys() | others.keys():
        names, other = mine.get(key, set()), others.get(key, set())
        if names != other:
            text = f"{key} binds {sorted(names - other)}, for LibCST {sorted(other - names)}"
            reason = ""
            if names ^ other <= walruses:
                reason = "a walrus in a comprehension"
            elif names - other <= captures and not other - names:
                reason = "a capture or a keyword of a match pattern"
            elif key[0] == "class" and names - other == {
                f"_{str(key[1]).lstrip('_')}{name}" for name in other - names
            }:
                reason = "a private name of a class"
            yield Difference((0, 0), text, reason)


def _leaves_comprehension(binding: Binding) -> bool:
    return binding.kind == "walrus" and binding.within.kind is ScopeKind.COMPREHENSION


def _begins(node: ast.pattern) -> Place:
    return node.lineno, node.col_offset


def _ends(node: ast.pattern) -> Place:
    return node.end_lineno, node.end_col_offset


def _key(scope: Scope) -> Key:
    node = scope.node
    if isinstance(node, ast.Module):
        return ("module",)
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        target = node.generators[0].target
        names = [part for part in ast.walk(target) if isinstance(part, ast.Name)]
        return ("comprehension", *min((name.lineno, name.col_offset) for name in names))
    if isinstance(node, ast.Lambda):
        return ("lambda", node.lineno, node.col_offset)
    name, line = node.name, node.lineno  # type: ignore[attr-defined]
    return (scope.kind.value, name.id if isinstance(name, ast.Name) else name, line)


def _first_name(node: cst.CSTNode) -> cst.Name:
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, cst.Name):
            return part
        waiting += reversed(part.children)
    raise ValueError("a comprehension's target holds no name")
