"""Callers: every file that imports a moved symbol, or reaches it through its old module.

`from` imports change their module; `module.NAME` changes its base, with the import it needs; star
imports get the names they no longer bring. A name that the caller reads through a source and that
does not move is reported back, so that the source keeps it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from transforms.document import Document
from transforms.errors import Place, Refusal
from transforms.import_sites import Site
from transforms.imports import ImportedName
from transforms.move import Move, SourceState
from transforms.names import relative_name
from transforms.outcome import Edit, Note
from transforms.scope_types import Binding, Reference, Scope

_BY_NAME = frozenset({"object", "setattr", "delattr", "getattr", "hasattr"})


@dataclass(slots=True)
class CallerResult:
    """What rewriting one file gave."""

    edits: list[Edit] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    external: set[tuple[str, str]] = field(default_factory=set)  # (source, name) read, not moved


def rewrite_caller(document: Document, dotted: str, move: Move) -> CallerResult:
    """Record the edits of one file. `dotted` is its own module name."""
    return _Caller(document, dotted, move).run()


class _Caller:
    def __init__(self, document: Document, dotted: str, move: Move) -> None:
        self.document, self.dotted, self.move = document, dotted, move
        self.module = document.module
        self.editor = document.editor
        self.result = CallerResult()
        self._sources = {source.located.dotted: source for source in move.sources}

    def run(self) -> CallerResult:
        for site in self.editor.sites:
            if site.is_from:
                self._from_import(site)
            else:
                self._plain_import(site)
        return self.result

    def _from_import(self, site: Site) -> None:
        source = self._sources.get(site.target or "")
        if source is not None:
            if site.is_star:
                self._star(site, source)
            else:
                self._names(site, source)
        if site.target is not None and not site.is_star:
            for name in site.names:
                dotted = f"{site.target}.{name.name}" if site.target else name.name
                if dotted in self._sources:
                    self._module_name(site, name, self._sources[dotted])

    def _names(self, site: Site, source: SourceState) -> None:
        """`from source import X, Y`: each moved name is imported from its route."""
        routes: dict[ImportedName, str] = {}
        for name in site.names:
            route = self.move.route(source.located.dotted, name.name)
            if route is None:
                self.result.external.add((source.located.dotted, name.name))
            elif route != source.located.dotted:
                routes[name] = route
        if not routes:
            return
        targets = set(routes.values())
        if (
            len(routes) == len(site.names)
            and len(targets) == 1
            and self._can_rename(site, *targets)
        ):
            target = targets.pop()
            self.editor.rename(site, self._spell(site, target))
            self._log(site, list(routes), target)
            return
        for name, target in routes.items():
            self.editor.remove(site, name)
            if target == self.dotted:
                if name.asname not in (None, name.name):
                    raise self._clash(
                        site, name.asname or "", "the symbol lands here by another name"
                    )
                continue
            self.editor.add(site, target, self._spell(site, target), name, site)
        for target in sorted(targets):
            self._log(site, [n for n, t in routes.items() if t == target], target)

    def _can_rename(self, site: Site, target: str) -> bool:
        return target != self.dotted and self.editor.existing(site, target) is None

    def _spell(self, site: Site, target: str) -> str:
        """Relative where the statement was relative, if the two share a package."""
        if site.is_relative:
            return relative_name(self.document.package, target) or target
        return target

    def _star(self, site: Site, source: SourceState) -> None:
        """A star import brings what the source still binds; the rest is imported by name."""
        kept = set(source_keeps(source, self.move))
        missing = [
            name
            for name in sorted(source.moved)
            if name not in kept and self._star_brings(source, name) and self._needs_star(name)
        ]
        for name in missing:
            target = self.move.route(source.located.dotted, name)
            if target is None or target == self.dotted:
                continue
            self.editor.add(site, target, self._spell(site, target), ImportedName(name), site)
            self.result.edits.append(
                Edit("star import", site.line, self._text(site), f"from {target} import {name}")
            )

    def _star_brings(self, source: SourceState, name: str) -> bool:
        listed = {item for item, _ in source.symbols.all_names}
        return name in listed if listed else not name.startswith("_")

    def _needs_star(self, name: str) -> bool:
        """Whether this file uses the name, or may pass it on to others."""
        if self.module.path.endswith(("__init__.py", "__init__.pyi")):
            return True
        scope = self.module.scopes.module
        if name in scope.bindings:
            return False
        return any(
            reference.name == name and reference.owner is None
            for reference in self.module.scopes.references
        ) or any(name == listed for listed, _ in self.document.symbols.all_names)

    def _plain_import(self, site: Site) -> None:
        """`import a.b.source`, `import a.b.source as m`."""
        for name in site.names:
            source = self._sources.get(name.name)
            if source is not None:
                self._module_name(site, name, source)

    def _module_name(self, site: Site, name: ImportedName, source: SourceState) -> None:
        """The statement binds the source module itself: rewrite `m.X` for every X that moved."""
        binding = self._binding(site, name)
        if binding is None:
            return
        prefix = [] if site.is_from or name.asname else name.name.split(".")[1:]
        moved: dict[str, list[Reference]] = {}
        others = 0
        for reference in self.module.scopes.of(binding.scope, binding.name):
            if reference.node is binding.node or reference.access != "load":
                continue
            target = self._reached(reference, prefix, source)
            if target is None:
                others += self._touches(reference, prefix)
            else:
                moved.setdefault(target, []).append(reference)
        for target in sorted(moved):
            self._qualify(site, name, binding, target, moved[target], prefix)
        if moved and not others and self._is_free_to_go(site, name, binding):
            self.editor.remove(site, name)

    def _binding(self, site: Site, name: ImportedName) -> Binding | None:
        alias = site.node.names[list(site.names).index(name)]
        for scope in self.module.scopes.scopes:
            for bindings in scope.bindings.values():
                for binding in bindings:
                    if binding.node is alias:
                        return binding
        return None

    def _touches(self, reference: Reference, prefix: list[str]) -> bool:
        """Whether another use of the name needs this very module."""
        chain = list(reference.attributes[: len(prefix)])
        return chain == prefix[: len(chain)]

    def _reached(self, reference: Reference, prefix: list[str], source: SourceState) -> str | None:
        """The module that a use of the old module's name should reach now; None if unchanged."""
        chain = reference.attributes
        if list(chain[: len(prefix)]) != prefix:
            return None
        if len(chain) == len(prefix):
            return self._by_string(reference, source)
        symbol = chain[len(prefix)]
        route = self.move.route(source.located.dotted, symbol)
        if route is None:
            self.result.external.add((source.located.dotted, symbol))
            return None
        if route == source.located.dotted:
            return None
        if self._is_stored(reference, len(prefix)):
            self.result.notes.append(
                Note(
                    "assignment to a moved global",
                    self.module.place(reference.node.lineno),  # type: ignore[attr-defined]
                    f"`{symbol}` is assigned from outside; the assignment now reaches "
                    f"`{self.move.home(source.located.dotted, symbol)}`.",
                )
            )
            return self.move.home(source.located.dotted, symbol)
        return route

    def _is_stored(self, reference: Reference, depth: int) -> bool:
        node = reference.attribute_nodes[depth]
        return isinstance(node.ctx, (ast.Store, ast.Del))

    def _by_string(self, reference: Reference, source: SourceState) -> str | None:
        """`patch.object(m, "X")`, `setattr(m, "X", ...)`: the module is looked up by a string."""
        outer = reference.attribute_nodes[-1] if reference.attribute_nodes else reference.node
        for node in ast.walk(reference.statement):
            if not isinstance(node, ast.Call) or len(node.args) < 2 or node.args[0] is not outer:
                continue
            called = (
                node.func.attr
                if isinstance(node.func, ast.Attribute)
                else getattr(node.func, "id", "")
            )
            literal = node.args[1]
            if (
                called in _BY_NAME
                and isinstance(literal, ast.Constant)
                and isinstance(literal.value, str)
            ):
                home = self.move.home(source.located.dotted, literal.value)
                if home is not None:
                    return home
                self.result.external.add((source.located.dotted, literal.value))
        return None

    def _qualify(
        self, site: Site, name: ImportedName, binding: Binding, target: str,
        references: list[Reference], prefix: list[str],
    ) -> None:  # fmt: skip
        """Make the references go through `target`, and import it beside the old import."""
        last = target.rpartition(".")[2]
        parent = target.rpartition(".")[0]
        if prefix or (not site.is_from and not name.asname):
            base = target
            self._check_free(site, target.partition(".")[0], binding, references)
            self.editor.add_plain(site, ImportedName(target))
        else:
            base = last
            self._check_free(site, base, binding, references)
            if site.is_from and parent:
                self.editor.add(site, parent, self._spell(site, parent), ImportedName(last), site)
            else:
                self.editor.add_plain(site, ImportedName(target, last if parent else None))
        for reference in references:
            node: ast.expr = (
                reference.attribute_nodes[len(prefix) - 1] if prefix else reference.node
            )  # type: ignore[assignment]
            if not reference.exact:
                raise Refusal(
                    "inexact-position",
                    f"`{binding.name}` stands in an f-string, whose inside this Python cannot locate.",
                    next_step="Run Repot on Python 3.12 or newer, or take the name out of the f-string.",
                    place=self.module.place(node.lineno),
                )
            start, end = self.module.span(node)
            before = self.module.text[start:end]
            self.document.edits.replace(start, end, base)
            symbol = ".".join(reference.attributes[len(prefix) :])
            self.result.edits.append(
                Edit(
                    "qualified name",
                    node.lineno,
                    f"{before}.{symbol}".rstrip("."),
                    f"{base}.{symbol}".rstrip("."),
                )
            )

    def _check_free(
        self, site: Site, name: str, binding: Binding, references: list[Reference]
    ) -> None:
        """The name of the new module must not mean something else where it is used."""
        scopes: list[Scope] = [binding.scope]
        for reference in references:
            scope: Scope | None = reference.scope
            while scope is not None and scope not in scopes:
                scopes.append(scope)
                scope = scope.parent
        for scope in scopes:
            for other in scope.bindings.get(name, []):
                if other is not binding and not self._is_module(other, name):
                    raise self._clash(
                        site, name, f"line {getattr(other.node, 'lineno', 0)} binds it"
                    )

    def _is_module(self, binding: Binding, name: str) -> bool:
        """A plain `import a...` that binds the same root package."""
        return (
            binding.kind == "import"
            and isinstance(binding.node, ast.alias)
            and (binding.node.asname is None and binding.node.name.partition(".")[0] == name)
        )

    def _is_free_to_go(self, site: Site, name: ImportedName, binding: Binding) -> bool:
        pragma = self.editor.statement(site).pragma or ""
        listed = {item for item, _ in self.document.symbols.all_names}
        return "noqa" not in pragma and binding.name not in listed

    def _clash(self, site: Site, name: str, why: str) -> Refusal:
        return Refusal(
            "clash",
            f"`{name}` already has a meaning in this file: {why}.",
            next_step="Rename it first, or list the file under `leave`.",
            place=self.module.place(site.line),
        )

    def _text(self, site: Site) -> str:
        return " ".join(self.module.text[site.start : site.end].split())

    def _log(self, site: Site, names: list[ImportedName], target: str) -> None:
        after = f"from {self._spell(site, target)} import {', '.join(map(str, names))}"
        self.result.edits.append(Edit(site.kind, site.line, self._text(site), after))


def source_keeps(source: SourceState, move: Move) -> Iterator[str]:
    """Moved names that the source binds all the same, since it imports them back."""
    from transforms.cut import Cut

    if source.spec.emptied == "delete":
        return
    for name, type_checking in Cut(source, move).needed_back().items():
        if not type_checking:
            yield name


def bare_import_note(document: Document, source: SourceState) -> list[Note]:
    """`import source` by its last name alone, as a script beside it would: it cannot be proved."""
    notes = []
    for site in document.editor.sites:
        names = [site.target] if site.is_from else [name.name for name in site.names]
        if source.located.last in names and source.located.dotted != source.located.last:
            notes.append(
                Note(
                    "import by bare name",
                    Place(document.path, site.line, None, document.module.line_text(site.line)),
                    f"This may mean `{source.located.dotted}`, run from its own folder; it was left alone.",
                )
            )
    return notes
