"""Why blame traces a line no further: the operation of the move that a line is part of.

A line that is new to git is layout, a derived import, a copy, or not part of the move at all; the
certificate says which. What is left was moved: git follows no block so short.
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from transforms.errors import Refusal
from transforms.source.module import first_line
from transforms.syntax.parsing import parse
from transforms.tree.names import resolve_import
from verify.ancestry.measure import Explain
from verify.kernel.verdict import EXPLAINED, RESIDUALS, TARGET, Certificate, Finding, Moved

LAYOUT = "layout"
IMPORT = "derived import"
RELOCATED = "derived import of a moved module"
COPY = "copied helper"
DERIVED = "derived exports"
ENTAILED = "spelled as the move asks"
SHORT = "moved; git follows no block so short"
RESIDUAL = "not part of the move"


def explainer(texts: Mapping[str, bytes], certificate: Callable[[], Certificate]) -> Explain:
    """Give the function that explains lines of `texts`, files of the target.

    The certificate is asked for once, and only if a line needs it.
    """
    return _Explainer(texts, certificate).explain


class _Explainer:
    def __init__(self, texts: Mapping[str, bytes], certificate: Callable[[], Certificate]) -> None:
        self.rows = {path: data.split(b"\n") for path, data in texts.items()}
        self.spans = {path: list(_spans(data)) for path, data in texts.items()}
        self.texts = texts
        self._certificate = certificate
        self._imports: dict[str, set[int]] = {}

    @cached_property
    def certificate(self) -> Certificate:
        return self._certificate()

    @cached_property
    def residual(self) -> set[tuple[str, int]]:
        return {at for finding in self.certificate.of(*RESIDUALS) for at in _lines(finding)}

    @cached_property
    def entailed(self) -> dict[tuple[str, int], str]:
        """What is explained, and what it is about."""
        return {
            at: DERIVED if finding.subject == "__all__" else ENTAILED
            for finding in self.certificate.of(EXPLAINED)
            for at in _lines(finding)
        }

    def explain(self, path: str, line: int) -> str:
        rows = self.rows[path]
        if line > len(rows) or not rows[line - 1].strip():
            return LAYOUT
        if (path, line) in self.residual:
            return RESIDUAL
        if line in self._relocated(path):
            return RELOCATED
        return self._by_statement(path, line)

    def _by_statement(self, path: str, line: int) -> str:
        first, last, is_import = self._span(path, line)
        if self._holds(self.certificate.copies, path, first, last):
            return COPY
        if is_import:
            return IMPORT
        if self.entailed.get((path, first)) == DERIVED:
            return DERIVED
        return self.entailed.get((path, line), SHORT)

    @cached_property
    def moved(self) -> dict[str, str]:
        """The paths of modules that moved whole, by what an absolute import may call them."""
        return {_dotted(new): new for _, new in self.certificate.relocated}

    def _relocated(self, path: str) -> set[int]:
        """The lines of a moved module that import another one."""
        if path not in self._imports:
            own = _dotted(path)
            others = [] if self.moved.get(own) != path else [d for d in self.moved if d != own]
            ends = {f".{dotted}" for dotted in others}
            found = _naming(self.texts[path], path, ends) if ends else iter(())
            self._imports[path] = set(found)
        return self._imports[path]

    def _span(self, path: str, line: int) -> tuple[int, int, bool]:
        """The statement at a line, with the comments that touch it from above."""
        for first, last, is_import in self.spans[path]:
            if line <= last:
                above = range(line, first)
                touches = all(self.rows[path][n - 1].lstrip().startswith(b"#") for n in above)
                return (first, last, is_import) if line >= first or touches else (line, line, False)
        return line, line, False

    def _holds(self, items: tuple[Moved, ...], path: str, first: int, last: int) -> bool:
        return any(
            item.destination == path and first <= item.destination_line <= last for item in items
        )


def _lines(finding: Finding) -> Iterator[tuple[str, int]]:
    """The lines of the target that a finding is about."""
    for place in finding.places:
        if place.side == TARGET:
            yield from ((place.path, line) for line in place.lines or (place.line,))


def _dotted(path: str) -> str:
    """A module's path with dots, from the top of the tree."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _naming(data: bytes, path: str, modules: set[str]) -> Iterator[int]:
    """The lines of imports that name one of these modules, in whatever folder imports start."""
    try:
        tree = parse(data, "")
    except Refusal:
        return
    package = posixpath.dirname(path).replace("/", ".")
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            home = resolve_import(package, node.level, node.module) or ""
            names = [home, *(f"{home}.{alias.name}" for alias in node.names)]
        else:
            continue
        if any(_ends(name, modules) for name in names):
            yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _ends(name: str, modules: set[str]) -> bool:
    return f".{name}" in modules or any(m.endswith(f".{name}") for m in modules if "." in name)


def _spans(data: bytes) -> Iterator[tuple[int, int, bool]]:
    """First and last line of each statement at top level, and whether it is an import."""
    try:
        body = parse(data, "").body
    except Refusal:
        return
    for node in body:
        guards = isinstance(node, (ast.If, ast.Try)) and _imports_only(node)
        is_import = guards or isinstance(node, (ast.Import, ast.ImportFrom))
        yield first_line(node), node.end_lineno or node.lineno, is_import


def _imports_only(node: ast.stmt) -> bool:
    """Whether a guard holds imports and nothing else."""
    inner = [child for child in ast.walk(node) if isinstance(child, ast.stmt) and child is not node]
    return all(isinstance(n, (ast.Import, ast.ImportFrom, ast.Pass, ast.Raise)) for n in inner)
