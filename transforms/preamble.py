"""What moved code needs in its new module: the imports, guards and helper statements, and no more.

Imports are spelled in the destination as in the source (3,000 of 3,324 real bindings), relative
ones re-levelled. A name that the source takes from a package above the destination is imported
from the module that defines it, so that the destination does not depend on its own package.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from transforms.document import Document, Wanted, is_empty_without
from transforms.edits import Edits
from transforms.errors import Refusal
from transforms.import_editor import ImportEditor
from transforms.import_sites import Site
from transforms.imports import ImportedName, Shrink
from transforms.module import Statement
from transforms.move import Group, Move, SourceState
from transforms.names import Located, relative_name
from transforms.scope_types import Reference
from transforms.symbols import ImportedBinding, Symbols, is_future

_MODULE_NAMES = frozenset(
    {"__name__", "__file__", "__doc__", "__package__", "__spec__", "__loader__", "__path__",
     "__builtins__", "__annotations__", "__dict__", "__debug__"}
)  # fmt: skip
_BUILTINS = frozenset(dir(builtins)) | {"WindowsError", "reveal_type", "reveal_locals"}
_PLAIN = (ast.Import, ast.ImportFrom, ast.Pass, ast.Raise)

Definer = Callable[[str, str], tuple[str, str]]
ShrinkOf = Callable[[str, str | None], Shrink | None]


@dataclass(frozen=True, slots=True)
class Piece:
    """A statement of the source as the destination gets it. `index`: where the source has it."""

    index: int
    text: str  # without the last line end
    is_import: bool
    binds: frozenset[str]


@dataclass(slots=True)
class Preamble:
    """The head of a destination, from one source.

    `head` are imports and guards of imports, `tail` helper statements and the guards that depend
    on them, `wanted` names imported from where they now live.
    """

    head: list[Piece] = field(default_factory=list)
    tail: list[Piece] = field(default_factory=list)
    wanted: list[Wanted] = field(default_factory=list)
    future: bool = False
    used_guards: set[int] = field(default_factory=set)


class Needs:
    """Names that the moved statements of one group look up, each with the places."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.symbols = group.source.symbols
        self.names: dict[str, list[Reference]] = {}
        self.statements = set(group.body) | set(group.carried) | set(group.copied)
        self._follow(sorted(self.statements))

    def _follow(self, indices: Iterable[int]) -> None:
        """Collect what the statements use; a helper that is copied brings what it uses itself."""
        pending = list(indices)
        done: set[int] = set()
        while pending:
            index = pending.pop(0)
            if index in done:
                continue
            done.add(index)
            for name, references in self.symbols.uses([index]).items():
                self.names.setdefault(name, []).extend(references)
                pending += [i for i in self._brought(name) if i not in done]

    def _brought(self, name: str) -> list[int]:
        """Statements that come along because `name` is used: copied helpers, guards of imports."""
        defined = self.symbols.defined.get(name, [])
        copied = [index for index in defined if index in self.group.copied]
        self.statements.update(copied)
        guards = [b.index for b in self.symbols.imports.get(name, []) if b.guards]
        return copied + ([] if defined and not guards else guards)

    def only_annotates(self, name: str) -> bool:
        """Whether no use of `name` needs it at run time."""
        return all(
            reference.annotation in ("postponed", "string", "type comment")
            for reference in self.names[name]
        )


def derive(
    group: Group, move: Move, definer: Definer, shrink: ShrinkOf, already: Callable[[str], bool]
) -> Preamble:
    """The preamble that `group` needs. `already(name)`: the destination has it, as the same thing."""
    return _Deriver(group, move, definer, shrink, already).run()


class _Deriver:
    def __init__(
        self, group: Group, move: Move, definer: Definer, shrink: ShrinkOf,
        already: Callable[[str], bool],
    ) -> None:  # fmt: skip
        self.group, self.move, self.definer, self.shrink = group, move, definer, shrink
        self.source: SourceState = group.source
        self.symbols: Symbols = self.source.symbols
        self.document: Document = self.source.document
        self.destination: Located = group.located
        self.already = already
        self.needs = Needs(group)
        self.result = Preamble(future=self.symbols.has_future_annotations)
        self.plain: dict[int, list[ImportedBinding]] = {}
        self.guarded: dict[int, list[ImportedBinding]] = {}

    def run(self) -> Preamble:
        for name in sorted(self.needs.names):
            self._settle(name)
        helpers = sorted(self.needs.statements - set(self.group.body))
        indices = sorted({*helpers, *self.plain, *self.guarded})
        helper_names = {name for index in helpers for name in self.symbols.binds(index)}
        for index in indices:
            statement = self.symbols.statements[index]
            if index in self.plain:
                self._plain_import(statement, self.plain[index])
            elif index in helpers:
                self._add_tail(statement)
            else:
                depends = bool(helper_names & set(self._test_names(statement)))
                self._guard(statement, self.guarded[index], depends)
        return self.result

    def _settle(self, name: str) -> None:
        """Decide where the destination gets `name` from."""
        group = self.source.moved.get(name)
        if group is not None and group.located.path == self.destination.path:
            return
        if self.already(name):
            return
        if group is not None:
            self._want(group.located.dotted, ImportedName(name), name)
        elif name in self.symbols.defined and any(
            index in self.group.copied for index in self.symbols.defined[name]
        ):
            return
        elif name in self.symbols.imports and self._copies_import(name):
            return
        elif name in self.symbols.defined or name in self.symbols.imports:
            self._check_stays(name)
            self._want(self.source.after.dotted, ImportedName(name), name)
        elif name not in _MODULE_NAMES and name not in _BUILTINS:
            self._from_stars(name)

    def _copies_import(self, name: str) -> bool:
        """Record the import statements that bind `name`; false if only the source can give it."""
        bindings = self.symbols.imports[name]
        plain = [binding for binding in bindings if not binding.guards]
        if plain:
            for binding in self._of_dotted(name, plain):
                self.plain.setdefault(binding.index, []).append(binding)
            return True
        for index in {binding.index for binding in bindings}:
            if not self._copyable(self.symbols.statements[index].node):
                return False
        for binding in bindings:
            self.guarded.setdefault(binding.index, []).append(binding)
        return True

    def _of_dotted(self, name: str, bindings: list[ImportedBinding]) -> list[ImportedBinding]:
        """Of `import a.b`, `import a.c`: those whose modules the uses of `a` reach."""
        dotted = [b for b in bindings if isinstance(b.node, ast.Import) and "." in b.alias.name
                  and b.alias.asname is None]  # fmt: skip
        if len(bindings) == 1 or not dotted:
            return bindings
        return reached_modules(bindings, self.needs.names[name])

    def _copyable(self, node: ast.stmt) -> bool:
        """A guard that only imports, or falls back to constants, may stand in two modules."""
        if isinstance(node, _PLAIN):
            return True
        if isinstance(node, ast.Assign):
            return isinstance(node.value, ast.Constant) and all(
                isinstance(target, ast.Name) for target in node.targets
            )
        if isinstance(node, ast.If):
            return all(map(self._copyable, [*node.body, *node.orelse]))
        if isinstance(node, ast.Try):
            handled = [child for handler in node.handlers for child in handler.body]
            return all(map(self._copyable, [*node.body, *handled, *node.orelse, *node.finalbody]))
        return False

    def _check_stays(self, name: str) -> None:
        if name in self.symbols.rebound:  # refused with the place in `move`
            return

    def _want(self, target: str, imported: ImportedName, name: str) -> None:
        self.result.wanted.append(
            Wanted(
                target, self._spell(target, None), imported, self.needs.only_annotates(name)
                and self.symbols.has_future_annotations
                or self._is_string_only(name),
            )
        )  # fmt: skip

    def _is_string_only(self, name: str) -> bool:
        return all(r.annotation in ("string", "type comment") for r in self.needs.names[name])

    def _spell(self, target: str, level_like: Site | ast.ImportFrom | None) -> str:
        """Absolute, unless the source spells its imports of the same package relatively."""
        if self._is_relative_here(level_like):
            return relative_name(self.destination.package, target) or target
        return target

    def _is_relative_here(self, node: Site | ast.ImportFrom | None) -> bool:
        if isinstance(node, ast.ImportFrom):
            return node.level > 0
        return self.uses_relative

    @property
    def uses_relative(self) -> bool:
        """Whether the source imports from its own package with dots, more often than by name."""
        top = self.source.located.dotted.partition(".")[0]
        relative = absolute = 0
        for site in self.document.editor.sites:
            if site.is_relative:
                relative += 1
            elif site.target and site.target.partition(".")[0] == top:
                absolute += 1
        return relative > absolute

    def _from_stars(self, name: str) -> None:
        stars = self.symbols.star_imports
        if not stars:
            return  # undefined, or put there at run time: it stays as it was
        for statement in stars:
            node = statement.node
            assert isinstance(node, ast.ImportFrom)
            binding = ImportedBinding("*", node.names[0], node, statement.index, ())
            self.plain.setdefault(statement.index, []).append(binding)

    def _plain_import(self, statement: Statement, bindings: list[ImportedBinding]) -> None:
        """A module-level import, pruned to what is needed and rebased."""
        sites = [s for s in self.document.editor.sites if s.node is statement.node]
        site = sites[0]
        keep: list[ImportedName] = []
        for alias in statement.node.names:  # type: ignore[attr-defined]
            if any(binding.alias is alias for binding in bindings):
                imported = ImportedName(alias.name, alias.asname)
                if not self._elsewhere(site, imported):
                    keep.append(imported)
        if keep:
            text = self._pruned(site, keep)
            names = frozenset(n.asname or n.name.partition(".")[0] for n in keep)
            self.result.head.append(Piece(statement.index, text, True, names))

    def _elsewhere(self, site: Site, imported: ImportedName) -> bool:
        """Import the name from where it now lives, if that is not where the source says."""
        if not site.is_from or site.target is None or imported.name == "*":
            return False
        name = imported.name
        target, original = site.target, name
        home = self.move.home(target, name)
        if home is not None:
            target = home
        elif (self.destination.dotted + ".").startswith(target + "."):
            target, original = self.definer(target, name)
        if target == self.destination.dotted:
            return True  # the destination defines it
        if target == site.target:
            return False
        bound = imported.asname or (name if name != original else None)
        wanted = ImportedName(original, bound if bound != original else None)
        spelled = self._spell(target, site.node if isinstance(site.node, ast.ImportFrom) else None)
        self.result.wanted.append(Wanted(target, spelled, wanted, False))
        return True

    def _pruned(self, site: Site, keep: list[ImportedName]) -> str:
        statement = self.document.editor.statement(site)
        gone = [name for name in site.names if name not in keep]
        rule = self.shrink(self.destination.path, site.target)
        text = statement.text
        if gone:
            text = statement.without(gone, rule or Shrink.COLLAPSE) or ""
        elif rule is not None:
            text = statement.laid_out(rule)
        if site.is_relative and site.target is not None:
            spelled = relative_name(self.destination.package, site.target) or site.target
            if spelled != statement.module:
                text = _respelled(text, spelled, self.document)
        return text

    def _test_names(self, statement: Statement) -> list[str]:
        """Names that a guard's own conditions look up."""
        imported = {name for names in self.symbols.imports for name in [names]}
        return [
            reference.name
            for reference in self.symbols.references[statement.index]
            if reference.access == "load" and reference.name not in imported
        ]

    def _add_tail(self, statement: Statement) -> None:
        text = self.document.module.text[statement.block_start : statement.end]
        self.result.tail.append(
            Piece(statement.index, text, False, frozenset(self.symbols.binds(statement.index)))
        )
        documented = self.symbols.attribute_docstring(statement.index)
        if documented is not None:
            below = self.symbols.statements[documented]
            text = self.document.module.text[below.start : below.end]
            self.result.tail.append(Piece(documented, text, False, frozenset()))

    def _guard(self, statement: Statement, bindings: list[ImportedBinding], depends: bool) -> None:
        """A guard with the imports that are needed; `depends`: its condition is a helper."""
        needed = {id(binding.alias) for binding in bindings}
        module = self.document.module
        edits = Edits(module.text, module.newline)
        editor = ImportEditor(module, self.document.package, lambda: self.document.style)
        inside = [s for s in editor.sites if s.guards and s.guards[0] is statement.node]
        if _only_imports(statement.node):
            for site in inside:
                for alias, name in zip(site.node.names, site.names, strict=True):
                    if id(alias) not in needed:
                        editor.remove(site, name)
        for site in inside:
            rule = self.shrink(self.destination.path, site.target)
            if rule is not None:
                editor.shrink[id(site.node)] = rule
            if site.is_relative and site.target is not None:
                spelled = relative_name(self.destination.package, site.target)
                current = "." * getattr(site.node, "level", 0) + (
                    getattr(site.node, "module", "") or ""
                )
                if spelled is not None and spelled != current:
                    editor.respell(site, spelled)
        self._drop_empty_branches(statement.node, editor, edits)
        editor.finish(edits)
        text = edits.apply_within(statement.start, statement.end)
        names = frozenset(binding.name for binding in bindings)
        piece = Piece(statement.index, text, not depends, names)
        (self.result.tail if depends else self.result.head).append(piece)

    def _drop_empty_branches(self, node: ast.stmt, editor: ImportEditor, edits: Edits) -> None:
        """Guards within the guard that would be empty go as a whole."""
        gone = {id(site.node) for site in editor.sites if editor.is_emptied(site)}
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.If, ast.Try)) and gone and is_empty_without(child, gone):
                inside = [s for s in editor.sites if child in s.guards]
                if any(id(s.node) in gone for s in inside):
                    editor.forget(inside)
                    module = self.document.module
                    start, end = module.span(child)
                    edits.delete_lines(module.line_start(start), module.after_line(end))


def reached_modules(
    bindings: list[ImportedBinding], references: list[Reference]
) -> list[ImportedBinding]:
    """Of several `import a...` that bind one root, those that the uses reach by attribute.

    A use that reaches none of them by its full name may mean any: then all are needed.
    """
    reached: set[int] = set()
    for reference in references:
        chain = (reference.name, *reference.attributes)
        lengths = {
            id(binding): len(parts)
            for binding in bindings
            if (parts := binding.alias.name.split(".")) == list(chain[: len(parts)])
        }
        if not lengths:
            return bindings
        longest = max(lengths.values())
        reached |= {key for key, length in lengths.items() if length == longest}
    return [binding for binding in bindings if id(binding) in reached]


def _only_imports(node: ast.stmt) -> bool:
    if isinstance(node, (ast.Import, ast.ImportFrom, ast.Pass)):
        return True
    return isinstance(node, ast.If) and all(map(_only_imports, [*node.body, *node.orelse]))


def _respelled(text: str, spelled: str, document: Document) -> str:
    from transforms.imports import ImportStatement

    statement = ImportStatement.parse(
        text, newline=document.module.newline, indent="", style=document.style
    )
    return statement.renamed(spelled)


def refuse_future(group: Group, destination: Document) -> None:
    """An existing destination evaluates annotations that the source postpones: refuse if it fails."""
    source = group.source.symbols
    if not source.has_future_annotations or destination.symbols.has_future_annotations:
        return
    for index in [*group.body, *group.carried]:
        for reference in source.references[index]:
            if reference.annotation != "postponed":
                continue
            bindings = source.imports.get(reference.name, [])
            if bindings and all(binding.is_type_checking for binding in bindings):
                raise Refusal(
                    "future-annotations",
                    f"`{group.located.dotted}` lacks `from __future__ import annotations`, and the "
                    f"annotation `{reference.name}` would be evaluated there, where it is not bound.",
                    next_step="Add the `__future__` import to the destination in a commit of its own.",
                    place=group.source.place(getattr(reference.node, "lineno", 1)),
                )


__all__ = ["Needs", "Piece", "Preamble", "derive", "is_future", "reached_modules", "refuse_future"]
