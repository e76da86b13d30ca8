"""Callers: every file that imports a moved symbol, or reaches it through its old module.

`from` imports change their module; star imports get the names they no longer bring. What is read
as `module.NAME` is for `transforms.callers.attributes`. A name that the caller reads through a
source and that does not move is reported back, so that the source keeps it.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from transforms.callers.attributes import rewrite_module_uses
from transforms.callers.context import Caller, CallerResult
from transforms.callers.detours import note_bare_import, note_detours
from transforms.callers.stars import rewrite_star
from transforms.imports.document import prune
from transforms.imports.placement import is_heading
from transforms.imports.statement import ImportedName
from transforms.move.state import SourceState
from transforms.result.outcome import Edit
from transforms.source.imports import Site, is_type_checking


def rewrite_caller(caller: Caller) -> CallerResult:
    """Record the edits of one file in its document."""
    for site in caller.sites():
        source = caller.sources.get(site.target or "") if site.is_from else None
        if source is None:
            continue
        if site.is_star:
            rewrite_star(caller, site, source)
        else:
            _FromImport(caller, site, source).run()
    followed = rewrite_module_uses(caller)
    _drop_empty_guards(caller)
    note_detours(caller, followed)
    for source in caller.sources.values():
        note_bare_import(caller, source)
    return caller.result


class _FromImport:
    """`from source import X, Y`: each moved name is imported from its route."""

    def __init__(self, caller: Caller, site: Site, source: SourceState) -> None:
        self.caller, self.site, self.source = caller, site, source
        self.editor = caller.document.editor

    def run(self) -> None:
        dotted = self.source.located.dotted
        routes: dict[ImportedName, str] = {}
        for name in self.site.names:
            if (name.asname or name.name) in self.caller.dropped and not self.site.is_local:
                continue
            route = self.caller.route(dotted, name.name)
            if route is None:
                self.caller.read(dotted, name.name, self.site.line)
            elif route != dotted:
                routes[name] = route
        here = [name for name, route in routes.items() if route == self.caller.dotted]
        if here and self.caller.document.path.endswith(".pyi"):
            message = "What moved into the module itself is still imported by its stub."
            self.caller.note("stub", self.site.line, message)
        elif here:
            for name in here:
                self._land(name)
        away = {name: route for name, route in routes.items() if name not in here}
        if away:
            self._send(away)

    def _land(self, name: ImportedName) -> None:
        """The symbol comes to live in this very file."""
        if name.asname not in (None, name.name):
            raise self.caller.clash(
                self.site.line, str(name.asname), "the symbol lands here by another name"
            )
        self.editor.remove(self.site, name)
        self.caller.result.edits.append(
            Edit(self.site.kind, self.site.line, self.caller.text(self.site), "")
        )

    def _send(self, routes: Mapping[ImportedName, str]) -> None:
        """Import names from elsewhere; a statement that loses all of them changes its module."""
        targets = list(dict.fromkeys(routes.values()))
        stays = self._renamed(targets) if len(routes) == len(self.site.names) else None
        if stays is not None:
            self.editor.rename(self.site, stays, self.caller.spell(self.site, stays))
        for name, target in routes.items():
            if target != stays:
                self.editor.remove(self.site, name)
                spelled = self.caller.spell(self.site, target)
                self.editor.add(self.site, target, spelled, name, self.site)
        for target in sorted(targets):
            self.caller.log(self.site, [n for n, t in routes.items() if t == target], target)

    def _renamed(self, targets: list[str]) -> str | None:
        """The target that takes the statement as it stands: one that none imports from yet.

        A statement with a comment of its own above it stays below it, and two statements from one
        module stay two.
        """
        if self.editor.gains(self.site):
            return None
        if self._has_comment_above():
            return targets[0]
        for target in targets:
            existing = self.editor.existing(self.site, target)
            if existing is None or existing.target == self.site.target:
                return target
        return None

    def _has_comment_above(self) -> bool:
        module, line = self.caller.document.module, self.site.line
        above = module.line_text(line - 1).lstrip(" \t\f") if line > 1 else ""
        return above.startswith("#") and not is_heading(above)


def _drop_empty_guards(caller: Caller) -> None:
    """An `if TYPE_CHECKING:` whose imports all went goes with them, and so does its own import."""
    document = caller.document
    dropped = 0
    for statement in document.symbols.statements:
        if is_type_checking(statement.node) and not caller.is_frozen(statement.node):
            dropped += prune(document, statement)
    if not dropped:
        return
    references = document.module.scopes.of(document.module.scopes.module, "TYPE_CHECKING")
    if len(references) > dropped:
        return
    name = ImportedName("TYPE_CHECKING")
    for site in document.editor.sites:
        if isinstance(site.node, ast.ImportFrom) and not site.guards and name in site.names:
            document.editor.remove(site, name)
