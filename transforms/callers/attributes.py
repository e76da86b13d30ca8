"""`module.NAME`: callers that import a source as a module and reach what moved through it.

Every use of a name that an import binds to a source, or to a package above one, is found by scope
analysis; the module in it is exchanged, and the import it needs is put beside the old one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from transforms.callers.context import Caller, kept_by
from transforms.callers.free_names import check_free, is_handed_on
from transforms.callers.handles import Handle, bring, exchange, find_handles, lies_under
from transforms.callers.lookups import (
    PATCH_OPTIONS,
    call_on,
    is_assignment,
    is_lookup,
    is_only_tested,
    is_patch,
    replaces,
)
from transforms.errors import Refusal
from transforms.imports.statement import ImportedName
from transforms.move.state import SourceState
from transforms.result.outcome import Edit
from transforms.scopes.types import Reference, Scope
from transforms.source.literals import annotation_spans

_ALL_NAMES = frozenset({"__dict__", "__getattribute__", "__dir__"})  # give any name of a module


@dataclass(frozen=True, slots=True, eq=False)
class _Use:
    """A use of a handle's name. `depth`: how many attributes spell the module `source`.

    `target` is the module to spell instead; None for a use that stays as it is.
    """

    reference: Reference
    source: SourceState | None
    depth: int
    target: str | None

    @property
    def line(self) -> int:
        return getattr(self.reference.node, "lineno", 1)


def rewrite_module_uses(caller: Caller) -> dict[tuple[Scope, str], str]:
    """Exchange the module in every `module.NAME` whose NAME moved.

    Gives the names that were looked at, by their scopes, with the modules that they mean.
    """
    groups: dict[tuple[Scope, str], list[Handle]] = {}
    for handle in find_handles(caller):
        groups.setdefault((handle.binding.scope, handle.binding.name), []).append(handle)
    for handles in groups.values():
        _Group(caller, handles).run()
    return {key: handles[0].module for key, handles in groups.items()}


class _Group:
    """All imports that bind one name of one scope."""

    def __init__(self, caller: Caller, handles: Sequence[Handle]) -> None:
        self.caller, self.handles = caller, handles
        self.module = caller.document.module
        self.binding = handles[0].binding
        self.bound = handles[0].module
        self._sources = sorted(
            (s for dotted, s in caller.sources.items() if lies_under(dotted, self.bound)),
            key=lambda source: -len(source.located.dotted),
        )
        self._spans: set[tuple[int, int]] = set()

    def run(self) -> None:
        uses = [
            self._use(reference)
            for reference in self.module.scopes.of(self.binding.scope, self.binding.name)
            if not self.caller.is_frozen(reference.node)
        ]
        moved = [use for use in uses if use.target is not None]
        if moved:
            self._refuse_ambiguous(moved)
        for source in self._sources:
            self._settle(source, uses)

    def _refuse_ambiguous(self, moved: Sequence[_Use]) -> None:
        """The name must mean this module wherever it is used."""
        known = {handle.binding.node for handle in self.handles}
        other: ast.AST | None = None
        for binding in self.binding.scope.bindings[self.binding.name]:
            if binding.node not in known and binding.kind not in ("delete", "bare annotation"):
                other = binding.node
        for handle in self.handles:
            if handle.module != self.bound:
                other = handle.site.node
        for use in moved:
            if use.reference.fallback is not None:
                other = use.reference.node
        if other is not None:
            raise Refusal(
                "ambiguous-name",
                f"`{self.binding.name}` is bound in several ways (also on line "
                f"{getattr(other, 'lineno', 0)}), so what it reaches here cannot be told.",
                next_step="Give the module a name of its own, or list the file under `leave`.",
                place=self.module.place(moved[0].line),
            )

    # What each use reaches

    def _use(self, reference: Reference) -> _Use:
        if reference.access == "load":
            for source in self._sources:
                prefix = self._prefix(source)
                if list(reference.attributes[: len(prefix)]) == prefix:
                    target = self._target(reference, source, len(prefix))
                    return _Use(reference, source, len(prefix), target)
        return _Use(reference, None, 0, None)

    def _prefix(self, source: SourceState) -> list[str]:
        """The attributes that lead from the bound module to a source."""
        rest = source.located.dotted[len(self.bound) + 1 :]
        return rest.split(".") if rest else []

    def _target(self, reference: Reference, source: SourceState, depth: int) -> str | None:
        """The module that a use should spell now; None if it is right as it is."""
        line = getattr(reference.node, "lineno", 1)
        if len(reference.attributes) == depth:
            return self._by_string(reference, source, line)
        name = reference.attributes[depth]
        if name in _ALL_NAMES:
            self.caller.read(source.located.dotted, "", line)
            self._note_value(reference.statement, reference.attribute_nodes[depth], source, line)
            return None
        if isinstance(reference.attribute_nodes[depth].ctx, (ast.Store, ast.Del)):
            return self._assigned(source, name, line)
        return self._read(source, name, line)

    def _assigned(self, source: SourceState, name: str, line: int) -> str | None:
        """`module.NAME = value`, for good: whoever takes NAME from elsewhere later, misses it."""
        module = self._patched(source, name, line, for_good=True)
        if name in source.moved:
            reached = module or source.located.dotted
            self.caller.note(
                "assignment to a moved global",
                line,
                f"`{name}` is assigned from outside; this reaches `{reached}` only.",
            )
        return module

    def _read(self, source: SourceState, name: str, line: int) -> str | None:
        dotted = source.located.dotted
        route = self.caller.route(dotted, name)
        if name in source.moved and replaces(self.module.text, name):
            # What this file puts in its place is seen where it is put, and nowhere else.
            route = self.caller.around.patches.of(dotted, name).module
        if route is None:
            self.caller.read(dotted, name, line)
        return None if route == dotted else route

    def _patched(
        self, source: SourceState, name: str, line: int, *, for_good: bool = False
    ) -> str | None:
        """Where a patch or an assignment of a global acts on the code that looks it up."""
        dotted = source.located.dotted
        patch = self.caller.around.patches.of(dotted, name, for_good=for_good)
        if patch.kind:
            self.caller.note(patch.kind, line, patch.message)
        if patch.module is None:
            self.caller.read(dotted, name, line)
        return patch.module

    def _by_string(self, reference: Reference, source: SourceState, line: int) -> str | None:
        """`patch.object(m, "X")`, `setattr(m, "X", ...)`: the module is looked up by a string."""
        outer = reference.attribute_nodes[-1] if reference.attribute_nodes else reference.node
        call = call_on(reference.statement, outer)
        if call is not None and call.called == "multiple":
            return self._multiple(call.node, source, line)
        if call is None or not (is_patch(call) or is_lookup(call)):
            self.caller.read(source.located.dotted, "", line)
            self._note_value(reference.statement, outer, source, line)
            return None
        if call.name is None:
            self.caller.read(source.located.dotted, "", line)
            self.caller.note(
                "dynamic lookup", line, "Looks a name up in a source; which one is not known."
            )
            return None
        if is_assignment(call):
            return self._assigned(source, call.name, line)
        if is_patch(call):
            return self._patched(source, call.name, line)
        return self._read(source, call.name, line)

    def _note_value(
        self, statement: ast.stmt, node: ast.AST, source: SourceState, line: int
    ) -> None:
        """Note a module that is handed on: what moved is no longer read through it."""
        dotted = source.located.dotted
        lost = self.caller.around.lost[dotted]
        if lost and not is_only_tested(statement, node):
            self.caller.note(
                "module as value",
                line,
                f"`{dotted}` is handed on here, and no longer has `{lost[0]}`: what is read from "
                f"it is not known. {kept_by(lost[0])}",
            )

    def _multiple(self, call: ast.Call, source: SourceState, line: int) -> str | None:
        """`patch.multiple(m, X=..., Y=...)`: all names must go to one module."""
        names = [k.arg for k in call.keywords if k.arg and k.arg not in PATCH_OPTIONS]
        modules = {self.caller.around.patches.of(source.located.dotted, n).module for n in names}
        if len(modules) == 1:
            for name in names:
                self._patched(source, name, line)
            return modules.pop()
        for name in names:
            self.caller.read(source.located.dotted, name, line)
        self.caller.note(
            "dynamic lookup", line, "Patches names of a source that are now in several modules."
        )
        return None

    # How the uses of one source are rewritten

    def _settle(self, source: SourceState, uses: Sequence[_Use]) -> None:
        moved: dict[str, list[_Use]] = {}
        for use in uses:
            if use.source is source and use.target is not None:
                moved.setdefault(use.target, []).append(use)
        explicit = [h for h in self.handles if h.imported == source.located.dotted]
        by_name = [target for target in sorted(moved) if self._is_hidden(target)]
        targets = [target for target in moved if target not in by_name]
        going = bool(moved) and self._may_go(source, explicit, uses, targets)
        if not going:
            for handle in explicit:
                self.caller.read(source.located.dotted, "", handle.site.line)
        for target in by_name:
            self._import_names(target, moved.pop(target), explicit, going=going and not moved)
        if by_name and not moved:
            return
        if going and self._keeps_alias(source, moved):
            target = next(iter(moved))
            for handle in explicit:
                exchange(self.caller, handle, target, self.binding.name)
            return
        brought: dict[str, str | None] = {}
        for target in sorted(moved):
            base, bound = self._base(source, target, moved[target])
            self._respell(target, base, moved[target])
            if bound is not None:
                brought[target] = bound or None
        if moved:
            beside = explicit or self.handles[:1]
            bring(self.caller, brought, beside, going=going and bool(explicit))

    def _is_hidden(self, target: str) -> bool:
        """Whether nothing that is spelled as a module reaches `target` after the move."""
        return target != self.caller.dotted and self.caller.around.hides(target)

    def _import_names(
        self, target: str, uses: Sequence[_Use], explicit: Sequence[Handle], *, going: bool
    ) -> None:
        """Import the names themselves: the package gives another thing by the module's name."""
        editor, scope = self.caller.document.editor, self.binding.scope
        symbols = dict.fromkeys(self._symbol(use, target) for use in uses)
        for symbol in symbols:
            references = [use.reference for use in uses if self._symbol(use, target) == symbol]
            check_free(self.caller, symbol, f"{target}.{symbol}", scope, references)
        lacking = [
            symbol
            for symbol in symbols
            if not is_handed_on(self.caller, symbol, f"{target}.{symbol}", scope)
        ]
        for handle in explicit or self.handles[:1]:
            site = handle.site
            for symbol in lacking:
                name = ImportedName(symbol)
                editor.add(site, target, self.caller.spell(site, target), name, None)
            if going and explicit:
                editor.remove(site, handle.name)
            if lacking:
                self.caller.log(site, [ImportedName(symbol) for symbol in lacking], target)
        for use in uses:
            self._spell(use, "")

    def _symbol(self, use: _Use, target: str) -> str:
        """The name that a use reads; one that asks for the module itself is refused."""
        reference, depth = use.reference, use.depth
        if len(reference.attributes) > depth:
            if isinstance(reference.attribute_nodes[depth].ctx, ast.Load):
                return reference.attributes[depth]
        raise self.caller.unreachable(use.line, target)

    def _keeps_alias(self, source: SourceState, moved: dict[str, list[_Use]]) -> bool:
        """An alias of the caller's own choice may stay; the old module's name would be wrong."""
        return (
            len(moved) == 1
            and self.caller.dotted not in moved
            and not any(map(self._known_as, moved))
            and not self.handles[0].is_root
            and self.bound == source.located.dotted
            and self.binding.name != source.located.last
        )

    def _may_go(
        self, source: SourceState, explicit: Sequence[Handle], uses: Sequence[_Use],
        targets: Iterable[str],
    ) -> bool:  # fmt: skip
        """Whether the imports of the old module have no other use left."""
        deleted = source.spec.emptied == "delete"
        if any(self._is_shown(handle, deleted=deleted) for handle in explicit):
            return False
        for use in uses:
            if use.source is source:
                if use.target is None:
                    return False
            elif use.reference.access != "load":
                return False
            elif use.target is None and not deleted:
                if self._needs_old(use.reference, source, targets):
                    return False
        return True

    def _is_shown(self, handle: Handle, *, deleted: bool) -> bool:
        """Whether an import may be there for others: listed, marked, or in an `__init__`."""
        if handle.site.is_local:
            return False
        if self.binding.name in {name for name, _ in self.caller.document.symbols.all_names}:
            return True
        pragma = self.caller.document.editor.look(handle.site).pragma or ""
        shown = "noqa" in pragma or self.module.path.endswith(("__init__.py", "__init__.pyi"))
        return shown and not deleted

    def _needs_old(self, reference: Reference, source: SourceState, targets: Iterable[str]) -> bool:
        """Whether another use of the bound name relies on what the old import loads."""
        chain = [*self.bound.split("."), *reference.attributes]
        names = self.caller.around.names
        while len(chain) > 1 and names.path_of(".".join(chain)) is None:
            chain.pop()
        module = ".".join(chain)
        others = [h.imported for h in self.handles if h.imported != source.located.dotted]
        return not any(lies_under(dotted, module) for dotted in (*others, *targets))

    def _respell(self, target: str, base: str, uses: Sequence[_Use]) -> None:
        """Let uses spell `target` as `base`, if that is free to mean it."""
        bound = base.partition(".")[0]
        if base and bound != self.binding.name:
            means = target if bound == base else bound
            references = [use.reference for use in uses]
            check_free(self.caller, bound, means, self.binding.scope, references)
        for use in uses:
            self._write(use, base)

    def _base(
        self, source: SourceState, target: str, uses: Sequence[_Use]
    ) -> tuple[str, str | None]:
        """How `target` is spelled at a use, and under which name it must be imported for that.

        Spelled "": the symbol lives in this very file. Imported as "": under its full name, as
        None: not at all.
        """
        last = target.rpartition(".")[2]
        if target == self.caller.dotted:
            return "", None
        explicit = any(h.imported == source.located.dotted for h in self.handles)
        loaded = not explicit and self.caller.around.is_loaded(source, target)
        if self.handles[0].is_root:
            if self._is_under_way(target) and not all(use.reference.deferred for use in uses):
                return last, last
            return target, None if loaded else ""
        if not explicit and target == self.bound:
            return self.binding.name, None
        if not explicit and loaded and lies_under(target, self.bound):
            return self.binding.name + target[len(self.bound) :], None
        known = self._known_as(target)
        return (known, None) if known else (last, last)

    def _known_as(self, target: str) -> str | None:
        """The name by which the run of the old import has the module `target` already."""
        editor = self.caller.document.editor
        if len(self.handles) > 1:
            return None
        for site in editor.sites:
            if site.block is not self.handles[0].site.block or editor.is_sent(site):
                continue
            if not editor.reaches(site, self.handles[0].site):
                continue
            for name in site.names:
                module = f"{site.target}.{name.name}" if site.is_from else name.name
                if module == target and (site.is_from or name.asname):
                    return name.asname or name.name
        return None

    def _is_under_way(self, target: str) -> bool:
        """Whether a package around both this file and `target`, below the root, may be loading.

        While `a.b` is being imported, `a` has no attribute `b` yet, though `a.b.c` is loaded.
        """
        mine, other = self.caller.dotted.split("."), target.split(".")
        return len(other) > 2 and mine[:2] == other[:2]

    def _write(self, use: _Use, base: str) -> None:
        """Write `base` in place of the module at one use; "" takes the module away."""
        reference, depth = use.reference, use.depth
        symbol = reference.attributes[depth] if len(reference.attributes) > depth else ""
        if not base:
            if not symbol:
                raise self.caller.clash(use.line, self.binding.name, "the symbol lands here")
            check_free(self.caller, symbol, None, self.module.scopes.module, [reference])
        self._spell(use, base)

    def _spell(self, use: _Use, base: str) -> None:
        reference, depth = use.reference, use.depth
        symbol = reference.attributes[depth] if len(reference.attributes) > depth else ""
        for start, end in self._places(use):
            stop = end if base else self.module.text.index(symbol, end)
            if (start, stop) in self._spans:
                continue
            self._spans.add((start, stop))
            before = "".join(self.module.text[start:end].split())
            self.caller.document.edits.replace(start, stop, base)
            self.caller.result.edits.append(
                Edit(
                    "qualified name",
                    self.module.line_of(start),
                    f"{before}.{symbol}".rstrip("."),
                    f"{base}.{symbol}".strip("."),
                )
            )

    def _places(self, use: _Use) -> list[tuple[int, int]]:
        """Where the module is spelled at a use."""
        reference = use.reference
        places: list[tuple[int, int]] = []
        if reference.annotation in ("string", "type comment"):
            places = annotation_spans(self.module, reference, use.depth)
        elif reference.exact:
            node = reference.attribute_nodes[use.depth - 1] if use.depth else reference.node
            places = [self.module.span(node)] if isinstance(node, ast.expr) else []
        if not places:
            raise Refusal(
                "inexact-position",
                f"`{reference.name}` stands inside a string, and where exactly cannot be told.",
                next_step="Write the string plainly, or take the name out of it.",
                place=self.module.place(use.line),
            )
        return places
