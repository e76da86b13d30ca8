"""Where a name is defined: re-exports followed through the tree, before and after the move."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from transforms.errors import Refusal
from transforms.imports.document import Document
from transforms.move.copies import is_copyable
from transforms.move.needs import dotted_imports
from transforms.move.preamble import Preamble
from transforms.move.state import Group, Move
from transforms.result.changes import Blob
from transforms.source.symbols import ImportedBinding
from transforms.syntax.parsing import parse
from transforms.tree import Tree
from transforms.tree.names import Names, resolve_import

_DEPTH = 20


class Definitions:
    """Follows `from m import n` from module to module. Files are parsed once, on demand."""

    def __init__(self, tree: Tree, names: Names, move: Move, authored: Mapping[str, Blob]) -> None:
        self._tree, self._names, self._move, self._authored = tree, names, move, authored
        self._bound: dict[str, dict[str, tuple[str, str] | None]] = {}

    def defining(self, dotted: str, name: str) -> tuple[str, str]:
        """The module and name that `name` of `dotted` stands for after the move."""
        for _ in range(_DEPTH):
            home = self._move.home(dotted, name)
            if home is not None:
                return home, name
            origin = self._imports(dotted).get(name)
            if origin is None:
                return dotted, name
            dotted, name = origin
        return dotted, name

    def _imports(self, dotted: str) -> dict[str, tuple[str, str] | None]:
        """Names that a module's top-level `from` imports bind; None where bound otherwise."""
        if dotted not in self._bound:
            self._bound[dotted] = self._read(dotted)
        return self._bound[dotted]

    def _read(self, dotted: str) -> dict[str, tuple[str, str] | None]:
        path, data = self._find(dotted)
        if data is None:
            return {}
        try:
            tree = parse(data, path)
        except Refusal:
            return {}
        package = self._names.package_of(path)
        found: dict[str, tuple[str, str] | None] = {}
        for node in tree.body:
            if isinstance(node, ast.ImportFrom):
                target = resolve_import(package, node.level, node.module)
                for alias in node.names:
                    bound = alias.asname or alias.name
                    origin = None if target is None or alias.name == "*" else (target, alias.name)
                    found[bound] = None if bound in found else origin
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found[node.name] = None
            elif isinstance(node, ast.Assign):
                for target_node in node.targets:
                    if isinstance(target_node, ast.Name):
                        found[target_node.id] = None
        return found

    def _find(self, dotted: str) -> tuple[str, bytes | None]:
        for path, blob in self._authored.items():
            if path.endswith(".py") and self._names.dotted(path) == dotted:
                return path, blob.data
        path_found = self._names.path_of(dotted)
        return (path_found, self._tree.read(path_found)) if path_found else ("", None)

    def same(self, document: Document, group: Group, name: str) -> bool:
        """Whether an existing destination binds `name` to what the source's `name` is.

        Refuses when it binds the name to something else, which moved code would read then, unless
        the plan accepts that.
        """
        places = document.symbols.bindings.get(name, [])
        if not places:
            return False
        source = group.source
        theirs = self._meaning(source.document, source.located.dotted, name)
        here = self._meaning(document, group.located.dotted, name)
        if theirs is not None and here is not None and theirs.what == here.what:
            if here.guard in ("", theirs.guard):
                return not _lacks_submodule(document, source.document, name)
            if here.guard == _CHECKERS:
                return False  # it is needed at run time now
        if _same_text(document, source.document, name):
            return True
        statement = document.symbols.statements[places[0][0]]
        whose = f"`{name}` of `{source.located.dotted}`" if theirs else f"the builtin `{name}`"
        refusal = Refusal(
            "clash",
            f"Moved code uses {whose}, and `{group.located.dotted}` binds another `{name}`.",
            next_step="Rename one of the two first, in a commit of its own.",
            place=document.module.place(statement.line),
        )
        modules = (group.located.dotted, group.located.path)
        self._move.accepts.refuse(refusal, modules, name)
        return True

    def check_agreement(self, groups: Sequence[Group], preambles: Sequence[Preamble]) -> None:
        """Refuse if code of two sources means different things by a name of their destination."""
        for number, (group, preamble) in enumerate(zip(groups, preambles, strict=True)):
            for other, others in zip(groups[:number], preambles[:number], strict=True):
                if other.source is not group.source:
                    for name in sorted(_names(group, preamble) & _names(other, others)):
                        self._check_agreement(name, group, other)

    def _check_agreement(self, name: str, group: Group, other: Group) -> None:
        one, two = group.source, other.source
        mine = self._meaning(one.document, one.located.dotted, name)
        its = self._meaning(two.document, two.located.dotted, name)
        twice = one.moved.get(name) is group and two.moved.get(name) is other
        if (mine and mine.what) == (its and its.what) and not twice:
            return
        if not twice and _same_text(one.document, two.document, name):
            return
        places = one.symbols.bindings.get(name) or two.symbols.bindings.get(name) or []
        owner = one if name in one.symbols.bindings else two
        raise Refusal(
            "clash",
            f"`{name}` of `{one.located.dotted}` and `{name}` of `{two.located.dotted}` are "
            f"different, and `{group.located.dotted}` would have one only.",
            next_step="Rename one of the two first, in a commit of its own.",
            place=owner.place(owner.symbols.statements[places[0][0]].line) if places else None,
        )

    def _meaning(self, document: Document, dotted: str, name: str) -> _Meaning | None:
        """What a module-level name stands for; None for one that is not bound there."""
        imported = document.symbols.imports.get(name)
        if not imported:
            bound = name in document.symbols.defined
            return _Meaning(frozenset({self.defining(dotted, name)}), "") if bound else None
        what: set[tuple[str, str]] = set()
        guards: set[str] = set()
        for binding in imported:
            alias = binding.alias
            if isinstance(binding.node, ast.ImportFrom):
                target = resolve_import(document.package, binding.node.level, binding.node.module)
                what.add(self.defining(target or "", alias.name))
            elif alias.asname is None:
                what.add(("", alias.name.partition(".")[0]))
            else:  # `import a.b as c` is `from a import b as c`
                parent, _, last = alias.name.rpartition(".")
                what.add(self.defining(parent, last) if parent else ("", last))
            guards.add(_guard_key(binding))
        return _Meaning(frozenset(what), min(guards))


_CHECKERS = "TYPE_CHECKING"


@dataclass(frozen=True, slots=True)
class _Meaning:
    """Modules and names, ("", module) for a module itself, and under which guard they are bound."""

    what: frozenset[tuple[str, str]]
    guard: str


def _guard_key(binding: ImportedBinding) -> str:
    """The guard of an import as text, equal where the conditions are; "" without one."""
    if binding.is_type_checking:
        return _CHECKERS
    return " ".join(
        ast.dump(guard.test if isinstance(guard, ast.If) else guard) for guard in binding.guards
    )


def _names(group: Group, preamble: Preamble) -> set[str]:
    spec = group.spec
    return {*preamble.names, *spec.symbols, *spec.carry, *spec.copy}


def _lacks_submodule(document: Document, source: Document, name: str) -> bool:
    """Whether the source does `import a.b`, and the document loads only something else of `a`."""
    wanted = {b.alias.name for b in dotted_imports(source.symbols.imports.get(name, []))}
    here = {
        b.alias.name
        for b in document.symbols.imports.get(name, [])
        if isinstance(b.node, ast.Import) and b.alias.asname is None and not b.guards
    }
    return not all(any((have + ".").startswith(want + ".") for have in here) for want in wanted)


def _same_text(document: Document, source: Document, name: str) -> bool:
    """A helper that both modules have, word for word: a logger, a flag, a guard."""
    mine = document.symbols.bindings.get(name, [])
    theirs = source.symbols.bindings.get(name, [])
    here = {ast.dump(document.symbols.statements[i].node) for i, _ in mine}
    there = {ast.dump(source.symbols.statements[i].node) for i, _ in theirs}
    copyable = all(is_copyable(document.symbols.statements[i].node) for i, _ in mine)
    return bool(mine) and here == there and copyable
