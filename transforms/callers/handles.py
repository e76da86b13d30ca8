"""The imports behind `module.NAME`: which names they bind to which module, and their exchange."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from transforms.callers.context import Caller
from transforms.imports.statement import ImportedName
from transforms.result.outcome import Edit
from transforms.scopes.types import Binding
from transforms.source.imports import Site


@dataclass(frozen=True, slots=True, eq=False)
class Handle:
    """A name that an import binds to `module`; the statement imports the module `imported`."""

    site: Site
    name: ImportedName
    binding: Binding
    module: str
    imported: str

    @property
    def is_root(self) -> bool:
        """`import a.b` binds `a`, and `a.b` is how the module is spelled."""
        return not self.site.is_from and self.name.asname is None


def lies_under(dotted: str, module: str) -> bool:
    """Whether `dotted` is the module or lies in it."""
    return (dotted + ".").startswith(module + ".")


def find_handles(caller: Caller) -> Iterator[Handle]:
    """Every name through which the file can reach a source as a module."""
    wanted: list[tuple[ast.alias, Site, ImportedName, str, str]] = []
    reached = _reached(caller)
    for site in caller.sites():
        if site.is_star or (site.is_from and site.target is None):
            continue
        for alias, name in zip(site.node.names, site.names, strict=True):
            imported = f"{site.target}.{name.name}" if site.is_from and site.target else name.name
            is_root = name.asname is None and not site.is_from
            module = imported.partition(".")[0] if is_root else imported
            under = [dotted for dotted in caller.sources if lies_under(dotted, module)]
            if any(lies_under(imported, dotted) or dotted in reached for dotted in under):
                if not site.is_from or caller.around.is_module(imported):
                    wanted.append((alias, site, name, module, imported))
    bindings = _bindings(caller) if wanted else {}
    for alias, site, name, module, imported in wanted:
        binding = bindings.get(alias)
        if binding is not None and binding.name not in caller.dropped:
            yield Handle(site, name, binding, module, imported)


def _reached(caller: Caller) -> set[str]:
    """The sources that the text may reach by attributes: none where no dot stands before the name.

    Which names mean what is found by reading all scopes of a file; most have no such use.
    """
    text, found = caller.document.module.text, set()
    for dotted, source in caller.sources.items():
        for match in re.finditer(rf"\.\s*{re.escape(source.located.last)}(?!\w)", text):
            line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()].lstrip()
            if not line.startswith(("from ", "import ", "from\t", "import\t")):
                found.add(dotted)
                break
    return found


def _bindings(caller: Caller) -> dict[ast.alias, Binding]:
    return {
        binding.node: binding
        for scope in caller.document.module.scopes.scopes
        for bindings in scope.bindings.values()
        for binding in bindings
        if isinstance(binding.node, ast.alias)
    }


def bring(
    caller: Caller, targets: Mapping[str, str | None], beside: Iterable[Handle], *, going: bool
) -> None:
    """Import modules, under the names given, beside each handle, or instead of it if `going`."""
    for handle in beside:
        if going and len(targets) == 1:
            for target, asname in targets.items():
                exchange(caller, handle, target, asname)
            continue
        for target, asname in targets.items():
            _import_beside(caller, handle, target, asname, going=going)
        if going:
            caller.document.editor.remove(handle.site, handle.name)


def exchange(caller: Caller, handle: Handle, target: str, asname: str | None) -> None:
    """Let a handle import `target` instead, under its own last name or as `asname`."""
    editor, site = caller.document.editor, handle.site
    parent = target.rpartition(".")[0]
    new = _imported(handle, target, asname)
    in_place = not site.is_from or (parent == site.target and not _is_sorted_list(caller, site))
    known = editor.has_from(site, parent, new) if site.is_from else editor.has_plain(site, new)
    if known:
        editor.remove(site, handle.name)
    elif in_place:
        editor.replace(site, handle.name, new)
    elif parent and _may_rename(caller, site, parent):
        editor.rename(site, parent, caller.spell(site, parent))
        editor.replace(site, handle.name, new)
    else:
        editor.remove(site, handle.name)
        if parent:
            editor.add(site, parent, caller.spell(site, parent), new, site)
        else:
            editor.add_plain(site, new)
    _log(caller, handle, target, asname)


def _may_rename(caller: Caller, site: Site, parent: str) -> bool:
    """Whether the statement imports this one name, and no other imports from its new package."""
    editor = caller.document.editor
    alone = len(site.names) == 1 and not editor.gains(site)
    return alone and editor.existing(site, parent) is None


def _is_sorted_list(caller: Caller, site: Site) -> bool:
    """Whether a name in another's place could break the order of the names."""
    return len(site.names) > 1 and caller.document.editor.look(site).is_sorted


def _imported(handle: Handle, target: str, asname: str | None) -> ImportedName:
    """How a statement like the handle's names `target`."""
    parent, _, last = target.rpartition(".")
    if handle.site.is_from and parent:
        return ImportedName(last, asname if asname != last else None)
    if handle.is_root and asname is None:
        return ImportedName(target)
    bound = asname or last
    return ImportedName(target, bound if bound != target else None)


def _import_beside(
    caller: Caller, handle: Handle, target: str, asname: str | None, *, going: bool
) -> None:
    editor, site = caller.document.editor, handle.site
    parent = target.rpartition(".")[0]
    new = _imported(handle, target, asname)
    if site.is_from and parent:
        spelled = caller.spell(site, parent)
        editor.add(site, parent, spelled, new, site if going else None)
    else:
        editor.add_plain(site, new)
    _log(caller, handle, target, asname)


def _log(caller: Caller, handle: Handle, target: str, asname: str | None) -> None:
    site = handle.site
    parent, _, last = target.rpartition(".")
    if site.is_from and parent:
        after = f"from {caller.spell(site, parent)} import {last}"
    else:
        after = f"import {target}"
    if asname is not None and asname != last:
        after += f" as {asname}"
    caller.result.edits.append(Edit(site.kind, site.line, caller.text(site), after))
