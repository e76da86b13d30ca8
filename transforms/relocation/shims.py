"""What stays at an old path so that it can still be imported: one small module for each public one.

A module of `warn` gives its names through `__getattr__`, with a `DeprecationWarning` that names the
new home; one of `reexport` imports them. Type checkers see both as plain imports. Nothing is put
into `sys.modules` under another name: there is one module object, and the old path is another.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from transforms.imports.document import Document
from transforms.move.old_names import warn_lines
from transforms.source.exports import dunder_all
from transforms.source.imports import is_type_checking
from transforms.syntax.kinds import is_main_guard
from transforms.tree.names import resolve_import

_WIDTH = 88
_HEADLINE = re.compile(rb'"""Moved to `([\w.]+)`\."""\r?\n')
_DEPTH = 20  # of star imports that are followed
# Names that a module has from Python itself, or that say what `import *` brings.
_PYTHONS = frozenset({"__all__", "__getattr__", "__dir__", "__path__"})

Opener = Callable[[str], "Document | None"]


@dataclass(frozen=True, slots=True)
class Offer:
    """What a module gives to others.

    `names` are always there, and `listed` are those that `import *` brings. `is_open`: more may be
    there, or fewer, than can be told without running it.
    """

    names: tuple[str, ...]
    listed: tuple[str, ...]
    is_open: bool
    runs: bool
    homes: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def dunders(self) -> tuple[str, ...]:
        """Names such as `__version__`."""
        return tuple(name for name in self.names if name.startswith("__"))


def headline(new: str) -> str:
    """The docstring by which such a module is known again."""
    return f'"""Moved to `{new}`."""'


def moved_to(data: bytes) -> str | None:
    """The new home that such a module names; None for any other file."""
    found = _HEADLINE.match(data)
    return found[1].decode() if found else None


def is_public(dotted: str, whole: str) -> bool:
    """Whether a module in what moves is for others: not private, no test, or named by the plan."""
    inside = dotted[len(whole) :].strip(".")
    return not any(
        (part.startswith("_") and part != "__main__")
        or part in ("tests", "conftest")
        or part.startswith("test_")
        or part.endswith("_test")
        for part in inside.split(".")
        if part
    )


def offer_of(document: Document, dotted: str, open_module: Opener, depth: int = 0) -> Offer:
    """What the module `dotted` offers: what `__all__` lists, else what it defines without `_`.

    An `__init__` also offers what it imports from its own package. `open_module` gives modules of
    the tree by dotted name.
    """
    symbols = document.symbols
    from_stars, is_open = _from_stars(document, open_module, depth)
    listed = dunder_all(document.module.tree)
    can = _bound(document) | from_stars.keys()
    maybe = {name for name in can if name not in from_stars and _is_conditional(document, name)}
    if listed is not None:
        lazy = is_open or "__getattr__" in symbols.bindings
        names = {
            name
            for name, _ in listed.names
            if name in can or lazy or open_module(f"{dotted}.{name}") is not None
        }
        is_open = is_open or listed.dynamic
        public = names
    else:
        names = {name for name in can if not name.startswith("_") and _is_offered(document, name)}
        names |= {name for name in from_stars if not name.startswith("_")}
        public = names
    dunders = {n for n in symbols.defined if n.startswith("__") and n.endswith("__")} - _PYTHONS
    is_open = is_open or bool(public & maybe)
    runs = dotted.endswith(".__main__") or any(map(is_main_guard, document.module.tree.body))
    homes = {} if listed is not None else {**from_stars, **_passed_on(document, open_module)}
    return Offer(
        tuple(sorted((names | dunders) - maybe)),
        tuple(sorted(public - maybe)),
        is_open,
        runs,
        homes,
    )


def _passed_on(document: Document, open_module: Opener) -> dict[str, tuple[str, str]]:
    """Where names come from that are imported and not marked as exported."""
    found = {}
    for name, bindings in document.symbols.imports.items():
        node, alias = bindings[0].node, bindings[0].alias
        if len(bindings) > 1 or not isinstance(node, ast.ImportFrom) or alias.asname == alias.name:
            continue
        target = resolve_import(document.package, node.level, node.module)
        other = open_module(target) if target else None
        if target and other is not None and alias.name in other.symbols.defined:
            found[name] = (target, alias.name)
    return found


def _from_stars(
    document: Document, open_module: Opener, depth: int
) -> tuple[dict[str, tuple[str, str]], bool]:
    """Names that star imports bring, with their homes; and whether some lead out of sight."""
    names: dict[str, tuple[str, str]] = {}
    is_open = False
    for statement in document.symbols.star_imports:
        node = statement.node
        target = None
        if isinstance(node, ast.ImportFrom):
            target = resolve_import(document.package, node.level, node.module)
        other = open_module(target) if target and depth < _DEPTH else None
        if other is None or target is None:
            is_open = True
            continue
        found = offer_of(other, target, open_module, depth + 1)
        names.update((name, found.homes.get(name, (target, name))) for name in found.listed)
        is_open = is_open or found.is_open
    return names, is_open


def _bound(document: Document) -> set[str]:
    """Names that the module has when it is loaded: neither deleted again nor for checkers only."""
    lazy = "__getattr__" in document.symbols.bindings
    return {
        name
        for name, places in document.symbols.bindings.items()
        if name != "*"
        and not any(binding.kind == "delete" for _, binding in places)
        and (lazy or not all(_is_for_checkers(document, index) for index, _ in places))
    }


def _is_for_checkers(document: Document, index: int) -> bool:
    return is_type_checking(document.symbols.statements[index].node)


def _is_conditional(document: Document, name: str) -> bool:
    """Whether a name is bound in one branch alone, so that it may be missing."""
    places = document.symbols.bindings[name]
    nodes = [document.symbols.statements[index].node for index, _ in places]
    return len(nodes) == 1 and isinstance(nodes[0], ast.If) and not is_type_checking(nodes[0])


def _is_offered(document: Document, name: str) -> bool:
    """Whether a name without `__all__` is the module's own, or passed on by it."""
    if name in document.symbols.defined:
        return True
    is_init = document.path.rpartition("/")[2].startswith("__init__.")
    for binding in document.symbols.imports.get(name, ()):
        if not isinstance(binding.node, ast.ImportFrom):
            continue
        top = document.package.partition(".")[0]
        own = binding.node.level > 0 or (binding.node.module or "").partition(".")[0] == top
        if binding.alias.asname == name == binding.alias.name or (is_init and own):
            return True
    return False


def shim(offer: Offer, new: str, old: str, kept: str, renamed: Callable[[str], str]) -> str:
    """The text of the module at the old path. `kept` is `warn` or `reexport`.

    `renamed` gives what a module is called after the move.
    """
    if old.endswith(".__main__"):
        home = new.removesuffix(".__main__")
        return "\n".join([headline(new), "", *_main(home)]) + "\n"
    make = _reexporting if kept == "reexport" else _warning
    return "\n".join(make(offer, new, old, _typed(offer, new, renamed))) + "\n"


def _reexporting(offer: Offer, new: str, _: str, imports: Sequence[str]) -> Iterator[str]:
    """Imports of every name; a module that can be run runs the new one before it is imported."""
    yield headline(new)
    yield ""
    if offer.runs:
        yield from _main(new)
        if imports:
            yield "else:"
            yield from (f"    {line}" for line in imports)
        yield ""
    elif imports:
        yield from (*imports, "")
    if not offer.is_open:
        yield from _dunder_all(offer.listed)


def _typed(offer: Offer, new: str, renamed: Callable[[str], str]) -> list[str]:
    rows = []
    for name in offer.names:
        home, original = offer.homes.get(name, ("", name))
        rows.append(f"from {renamed(home) if home else new} import {original} as {name}")
    return [f"from {new} import *  # noqa: F403", *rows] if offer.is_open else rows


def _warning(offer: Offer, new: str, old: str, typed: Sequence[str]) -> Iterator[str]:
    """Names by `__getattr__`, each with a warning where it is asked for."""
    yield from (headline(new), "", "from typing import TYPE_CHECKING", "")
    if typed:
        yield "if TYPE_CHECKING:"
        yield from (f"    {line}" for line in typed)
        yield "else:"
    else:
        yield "if not TYPE_CHECKING:"
    yield from ("", *(f"    {line}" if line else "" for line in _getattr(offer, new, old)))
    if not offer.is_open:
        yield from ("", "", *_dunder_all(offer.listed))
    if offer.runs:
        yield from ("", *_main(new))


def _getattr(offer: Offer, new: str, old: str) -> Iterator[str]:
    dunders = ", ".join(f'"{name}"' for name in offer.dunders)
    test = 'name.startswith("__")' + (f" and name not in ({dunders},)" if dunders else "")
    yield from (
        "def __getattr__(name: str) -> object:",
        "    import importlib",
        "    import warnings",
        "",
        f'    module = importlib.import_module("{new}")',
    )
    if offer.is_open:  # what `import *` brings is asked of the module itself
        yield from (
            '    if name == "__all__":',
            '        public = [item for item in vars(module) if not item.startswith("_")]',
            '        return getattr(module, "__all__", public)',
        )
    yield from (
        f"    if {test}:",
        '        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")',
        "    value: object = getattr(module, name)",
        *(f"    {line}" for line in warn_lines(f"{old}.{{name}}", f"{new}.{{name}}")),
        "    return value",
        "",
        "def __dir__() -> list[str]:",
        f'    return dir(__import__("importlib").import_module("{new}"))'
        if offer.is_open
        else "    return list(__all__)",
    )


def _dunder_all(names: Sequence[str]) -> Iterator[str]:
    line = "__all__ = [" + ", ".join(f'"{name}"' for name in names) + "]"
    if not names:
        yield "__all__: list[str] = []"
    elif len(line) <= _WIDTH:
        yield line
    else:
        yield "__all__ = ["
        yield from (f'    "{name}",' for name in names)
        yield "]"


def _main(new: str) -> tuple[str, ...]:
    return (
        'if __name__ == "__main__":',
        "    import runpy",
        "",
        f'    runpy.run_module("{new}", run_name="__main__", alter_sys=True)',
    )
