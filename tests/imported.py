"""What the repository's own modules import, each parsed once a run."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


@cache
def imports(path: Path) -> tuple[tuple[int, str, tuple[str, ...]], ...]:
    """Give line, module and names of every import of a file; `import a.b` has no names."""
    found = list[tuple[int, str, tuple[str, ...]]]()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name, ()) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            found.append((node.lineno, node.module or "", names))
    return tuple(found)
