"""Names that left a module and can still be asked for there, with a warning.

A module `__getattr__` imports the new home when it is asked, so nothing is loaded before; type
checkers see a plain import.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from transforms.imports.document import Document, Wanted
from transforms.imports.statement import ImportedName
from transforms.source.edits import Block


def warn_lines(old: str, new: str) -> tuple[str, ...]:
    """The call that warns whoever asks for a name: braces in `old` and `new` are filled in."""
    return (
        "warnings.warn(",
        f'    f"`{old}` is now `{new}`",',
        "    DeprecationWarning,",
        "    stacklevel=2,",
        ")",
    )


def give_with_warning(
    document: Document, module: str, homes: Mapping[str, str], spelled: Mapping[str, str]
) -> None:
    """Let `module` give names from their new homes, with a warning where one is asked for.

    `spelled` has the homes as imports of the file spell them.
    """
    test = "TYPE_CHECKING"
    guard = next(iter(document.type_checking_guard()), None)
    if guard is not None and isinstance(guard.guards[0], ast.If):
        test = ast.unparse(guard.guards[0].test)
    elif document.newer:
        test = document.spelled_checking()
    for name, home in sorted(homes.items()):
        name_as = ImportedName(name, name)
        document.import_name(Wanted(home, spelled[home], name_as, type_checking=True, apart=True))
    text = document.module.text
    newline = document.module.newline
    lines = _lines(module, homes, test, document.style.indent_unit)
    whole = "".join(line + newline for line in lines)
    document.edits.insert_block(len(text), Block(whole, 2, 0))


def _lines(module: str, homes: Mapping[str, str], test: str, indent: str) -> list[str]:
    rows = [
        "def __getattr__(name: str) -> object:",
        "    import importlib",
        "    import warnings",
        "",
        "    homes = {",
        *(f'        "{name}": "{home}",' for name, home in sorted(homes.items())),
        "    }",
        "    if name not in homes:",
        '        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")',
        "    value: object = getattr(importlib.import_module(homes[name]), name)",
        *(f"    {row}" for row in warn_lines(f"{module}.{{name}}", "{homes[name]}.{name}")),
        "    return value",
    ]
    inside = [f"    {row}" if row else "" for row in rows]
    return [_indented(row, indent) for row in [f"if not {test}:", "", *inside]]


def _indented(row: str, indent: str) -> str:
    """A line indented as the file indents."""
    bare = row.lstrip(" ")
    return indent * ((len(row) - len(bare)) // 4) + bare
