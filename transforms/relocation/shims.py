"""What stays at an old path so that it can still be imported: one small module for each public one.

A module of `warn` gives its names through `__getattr__`, with a `DeprecationWarning` that names the
new home; one of `reexport` imports them. Type checkers see both as plain imports. Nothing is put
into `sys.modules` under another name: there is one module object, and the old path is another.
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator, Sequence

from transforms.document import Document
from transforms.kinds import is_main_guard

_WIDTH = 88


def public_names(document: Document) -> list[str]:
    """The names that a module offers: what `__all__` lists, else what it defines without `_`.

    An `__init__` also offers what it imports from its own package.
    """
    listed = [name for name, _ in document.symbols.all_names]
    if listed:
        return sorted(set(listed))
    names = {name for name in document.symbols.defined if not name.startswith("_")}
    if posixpath.basename(document.path).startswith("__init__."):
        names |= {
            name
            for name, bindings in document.symbols.imports.items()
            for binding in bindings
            if isinstance(binding.node, ast.ImportFrom)
            and not name.startswith("_")
            and name != "*"
            and _is_own(document, binding.node)
        }
    return sorted(names)


def _is_own(document: Document, node: ast.ImportFrom) -> bool:
    top = document.package.partition(".")[0]
    return node.level > 0 or (node.module or "").partition(".")[0] == top


def is_public(dotted: str) -> bool:
    """Whether no part of a module's name begins with an underscore."""
    return not any(part.startswith("_") for part in dotted.split("."))


def shim(document: Document, new: str, old: str, kept: str) -> str:
    """The text of the module at the old path. `kept` is `warn` or `reexport`."""
    names = public_names(document)
    runs = any(is_main_guard(node) for node in document.module.tree.body)
    make = _reexporting if kept == "reexport" else _warning
    return "\n".join(make(names, new, old, runs)) + "\n"


def _reexporting(names: Sequence[str], new: str, _: str, runs: bool) -> Iterator[str]:
    """Imports of every name; a module that can be run runs the new one before it is imported."""
    yield f'"""Moved to `{new}`."""'
    yield ""
    imports = [f"from {new} import {name} as {name}" for name in names]
    if runs:
        yield from _main(new)
        if imports:
            yield "else:"
            yield from (f"    {line}" for line in imports)
        yield ""
    elif imports:
        yield from (*imports, "")
    yield from _dunder_all(names)


def _warning(names: Sequence[str], new: str, old: str, runs: bool) -> Iterator[str]:
    """Names by `__getattr__`, each with a warning where it is asked for."""
    yield f'"""Moved to `{new}`, which gives the names of this module, with a warning."""'
    yield ""
    if names:
        yield from ("from typing import TYPE_CHECKING", "", "if TYPE_CHECKING:")
        yield from (f"    from {new} import {name} as {name}" for name in names)
        yield ""
    yield from _dunder_all(names)
    yield from (
        "",
        "",
        "def __getattr__(name: str) -> object:",
        '    if name.startswith("__"):',
        "        raise AttributeError(name)",
        "    import importlib",
        "    import warnings",
        "",
        f'    value: object = getattr(importlib.import_module("{new}"), name)',
        "    warnings.warn(",
        f'        f"`{old}.{{name}}` is now `{new}.{{name}}`",',
        "        DeprecationWarning,",
        "        stacklevel=2,",
        "    )",
        "    return value",
        "",
        "",
        "def __dir__() -> list[str]:",
        "    return list(__all__)",
    )
    if runs:
        yield from ("", "", *_main(new))


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
