"""Uses that may reach a source in a way that cannot be followed: they are noted, never changed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise

from transforms.callers.context import Caller
from transforms.callers.handles import lies_under
from transforms.imports.order import STANDARD_LIBRARY
from transforms.move.state import SourceState
from transforms.scopes.types import Reference, Scope
from transforms.source.imports import Site


def note_detours(caller: Caller, followed: Mapping[tuple[Scope, str], str]) -> None:
    """Note `other.source.NAME`, where another module hands the source on, for a NAME that moved.

    `followed` are the names, by scope, that mean a source or a package above one.
    """
    text = caller.document.module.text
    for source in caller.sources.values():
        if not re.search(rf"\b{re.escape(source.located.last)}[ \t]*\.", text):
            continue
        for reference in caller.document.module.scopes.references:
            if _is_followed(reference, source, followed):
                continue
            if _reaches(caller, reference, source):
                line = getattr(reference.node, "lineno", 1)
                caller.note(
                    "detour",
                    line,
                    f"This may reach `{source.located.dotted}` through another module; "
                    "it was left alone.",
                )


def _is_followed(
    reference: Reference, source: SourceState, followed: Mapping[tuple[Scope, str], str]
) -> bool:
    """Whether it spells the source itself, which `transforms.callers.attributes` has seen to."""
    if reference.owner is None or (reference.owner, reference.name) not in followed:
        return False
    module = followed[reference.owner, reference.name]
    return lies_under(".".join([module, *reference.attributes]), source.located.dotted)


def _reaches(caller: Caller, reference: Reference, source: SourceState) -> bool:
    """Whether `a.source.NAME` starts with an imported name and is no other module of the tree."""
    chain = (reference.name, *reference.attributes)
    for place, (part, name) in enumerate(pairwise(chain)):
        if part == source.located.last and caller.move.home(source.located.dotted, name):
            return _is_handed_on(caller, reference, chain[: place + 1])
    return False


def _is_handed_on(caller: Caller, reference: Reference, chain: tuple[str, ...]) -> bool:
    owner = reference.owner
    if owner is None:
        return "*" in caller.document.module.scopes.module.bindings
    names = caller.around.names
    for site in caller.document.editor.sites:
        for name in site.names:
            bound = name.asname or (name.name if site.is_from else name.name.partition(".")[0])
            if bound != reference.name:
                continue
            base = f"{site.target}.{name.name}" if site.is_from and site.target else name.name
            if not site.is_from and name.asname is None:
                base = bound
            root = base.partition(".")[0]
            if names.path_of(".".join([base, *chain[1:]])) is None and is_ours(caller, root):
                return True
    return False


def is_ours(caller: Caller, root: str) -> bool:
    """Whether a top-level name is a module or package of the tree."""
    names = caller.around.names
    tops = {dotted.partition(".")[0] for dotted in caller.sources}
    return root in tops or names.path_of(root) is not None


def note_bare_import(caller: Caller, source: SourceState) -> None:
    """`import source` by its last name alone, as a script beside it would: it cannot be proved."""
    last, dotted = source.located.last, source.located.dotted
    if last == dotted or last in STANDARD_LIBRARY:
        return
    if caller.around.names.path_of(last) is not None:
        return  # another module has that very name
    for site in caller.document.editor.sites:
        if _imports_moved(caller, site, source):
            caller.note(
                "import by bare name",
                site.line,
                f"This may mean `{dotted}`, run from its own folder; it was left alone.",
            )


def _imports_moved(caller: Caller, site: Site, source: SourceState) -> bool:
    last, dotted = source.located.last, source.located.dotted
    if site.is_from:
        moved = any(caller.move.home(dotted, name.name) for name in site.names)
        return not site.is_relative and site.target == last and (moved or site.is_star)
    for name in site.names:
        if name.name != last:
            continue
        bound = re.escape(name.asname or last)
        reached = re.findall(rf"\b{bound}\.(\w+)", caller.document.module.text)
        if any(caller.move.home(dotted, attribute) for attribute in reached):
            return True
    return False
