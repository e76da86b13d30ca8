"""Faults in imports and in what a module binds."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.verify.mutants.text import Edit, Text, kind


@kind("import dropped")
def _unimported(text: Text) -> Iterator[Edit]:
    for node in text.imports:
        if not text.indent(node).strip() and node in text.tree.body:
            yield *text.whole(node), ""


@kind("imported name dropped")
def _less(text: Text) -> Iterator[Edit]:
    for node in text.imports:
        for alias in node.names if len(node.names) > 1 else ():
            start, end = text.span(alias)
            comma = re.compile(r"\s*,").match(text.text, end)
            if comma:
                yield start, comma.end(), ""


@kind("import redirected")
def _redirected(text: Text) -> Iterator[Edit]:
    for node in text.imports:
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            for alias in node.names:
                name = alias.asname or alias.name
                if alias.name != "*":
                    yield *text.span(alias), f"{alias.name}_x as {name}"


@kind("import from elsewhere")
def _elsewhere(text: Text) -> Iterator[Edit]:
    for node in text.imports:
        if isinstance(node, ast.ImportFrom) and node.module and node.module != "__future__":
            start, _ = text.span(node)
            found = text.text.index(node.module, start)
            yield found, found + len(node.module), f"{node.module}_x"


@kind("import shadowed")
def _shadowed(text: Text) -> Iterator[Edit]:
    for node in text.imports:
        if node in text.tree.body and getattr(node, "module", "") != "__future__":
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                _, end = text.whole(node)
                yield end, end, f"from string import digits as {name}\n"


@kind("import for its effect")
def _effect(text: Text) -> Iterator[Edit]:
    for node in text.imports:
        if not text.indent(node).strip() and getattr(node, "module", "") != "__future__":
            _, end = text.whole(node)
            yield end, end, f"{text.indent(node)}import antigravity\n"


@kind("unused name imported")
def _unused(text: Text) -> Iterator[Edit]:
    for node in text.imports:
        if node in text.tree.body and getattr(node, "module", "") != "__future__":
            _, end = text.whole(node)
            yield end, end, "from string import digits as unused_digits\n"


@kind("import repeated")
def _twice(text: Text) -> Iterator[Edit]:
    for node in text.imports:
        if node in text.tree.body and getattr(node, "module", "") != "__future__":
            start, end = text.whole(node)
            yield end, end, text.text[start:end]


@kind("import for types only")
def _typing(text: Text) -> Iterator[Edit]:
    if "TYPE_CHECKING" not in text.text:
        return
    for node in text.imports:
        if node in text.tree.body and getattr(node, "module", "") not in {"__future__", "typing"}:
            start, end = text.whole(node)
            inner = "".join(f"    {line}\n" for line in text.text[start : end - 1].split("\n"))
            yield start, end, f"if TYPE_CHECKING:\n{inner}"


@kind("import guarded")
def _guarded(text: Text) -> Iterator[Edit]:
    for node in text.imports:
        if node in text.tree.body and getattr(node, "module", "") != "__future__":
            start, end = text.whole(node)
            inner = "".join(f"    {line}\n" for line in text.text[start : end - 1].split("\n"))
            yield start, end, f"try:\n{inner}except ImportError:\n    pass\n"


@kind("guard negated")
def _guard(text: Text) -> Iterator[Edit]:
    for node in text.tree.body:
        if isinstance(node, ast.If) and all(
            isinstance(n, (ast.Import, ast.ImportFrom)) for n in node.body
        ):
            yield *text.span(node.test), f"not ({text.of(node.test)})"


@kind("else behind a guard")
def _else(text: Text) -> Iterator[Edit]:
    for node in text.tree.body:
        if isinstance(node, ast.If) and not node.orelse:
            _, end = text.whole(node)
            yield end, end, "else:\n    import antigravity\n"


@kind("definition shadowed")
def _redefined(text: Text) -> Iterator[Edit]:
    for node in text.tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield len(text.text), len(text.text), f"\n\ndef {node.name}(*_):\n    pass\n"


@kind("definition rebound")
def _rebound(text: Text) -> Iterator[Edit]:
    for node in text.tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield len(text.text), len(text.text), f"\n{node.name} = {node.name}\n"


@kind("name deleted")
def _deleted(text: Text) -> Iterator[Edit]:
    for node in text.tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield len(text.text), len(text.text), f"\ndel {node.name}\n"


@kind("star import")
def _star(text: Text) -> Iterator[Edit]:
    for node in text.imports:
        if node in text.tree.body and getattr(node, "module", "") != "__future__":
            _, end = text.whole(node)
            yield end, end, "from string import *\n"


@kind("future dropped")
def _future(text: Text) -> Iterator[Edit]:
    for node in text.imports:
        if getattr(node, "module", "") == "__future__":
            yield *text.whole(node), ""


@kind("export changed")
def _export(text: Text) -> Iterator[Edit]:
    for node in text.tree.body:
        if isinstance(node, ast.Assign) and text.of(node.targets[0]) == "__all__":
            for element in getattr(node.value, "elts", []):
                yield *text.span(element), '"unknown"'
