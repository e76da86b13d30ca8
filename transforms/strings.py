"""Names inside strings and documents: rewritten where a tool looks them up, reported elsewhere.

Rewritten are the first argument of `patch` and its kin, entry points (`module:symbol`) and Sphinx
roles. A string names where a symbol is *defined*, since that is where a patch takes effect.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from transforms.document import Document
from transforms.errors import Place
from transforms.move import Move, SourceState
from transforms.outcome import Edit, Note

# Called with a dotted name that is imported and looked up: unittest.mock, pytest's monkeypatch and
# importorskip, pkgutil.resolve_name, importlib.
_LOOKUPS = frozenset({"patch", "setattr", "delattr", "resolve_name", "import_string", "locate"})
_MODULE_LOOKUPS = frozenset({"import_module", "importorskip", "__import__", "run_module"})
ENTRY_POINT_SUFFIXES = (".toml", ".cfg", ".ini")
DOCUMENT_SUFFIXES = (".rst", ".md", ".txt")
OTHER_SUFFIXES = (".ipynb", ".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True)
class Target:
    """A dotted name in a string that starts with a source module's name."""

    source: SourceState
    symbol: str
    home: str | None  # where the symbol is defined after the move; None if it does not move


class Strings:
    """Finds and rewrites names in strings, for one resolved move."""

    def __init__(self, move: Move) -> None:
        self.move = move
        names = sorted((source.located.dotted for source in move.sources), key=len, reverse=True)
        joined = "|".join(map(re.escape, names))
        self._dotted = re.compile(rf"(?<![\w.])({joined})(?:([.:])([^\W\d]\w*))?(?![\w])")
        self._role = re.compile(
            rf"(:[\w:+-]+:`[^`]*?[~!.<]?|\.\. auto\w+:: *)(?<![\w.])({joined})\.([^\W\d]\w*)"
        )
        self._entry = re.compile(rf"(?<![\w.])({joined})(:)([^\W\d]\w*)")

    def target(self, dotted: str, symbol: str) -> Target:
        source = self.move.source_named(dotted)
        assert source is not None
        return Target(source, symbol, self.move.home(dotted, symbol))

    def in_module(
        self, document: Document, moved_uses: dict[str, set[str]]
    ) -> tuple[list[Edit], list[Note], set[tuple[str, str]]]:
        """Rewrite strings of a Python file. `moved_uses`: source -> globals that moved code reads.

        The last value is what strings look up in a source that does not move: (source, name).
        """
        edits: list[Edit] = []
        notes: list[Note] = []
        external: set[tuple[str, str]] = set()
        if not self._outside_imports(document.module.text):
            return edits, notes, external
        lookups = dict(_lookup_calls(document.module.tree))
        docstrings = set(map(id, _docstrings(document.module.tree)))
        for node in ast.walk(document.module.tree):
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
                continue
            if not self._dotted.search(node.value):
                continue
            if id(node) in docstrings:
                edits += self._docstring(document, node)
                continue
            called = lookups.get(id(node))
            found = self._dotted.match(node.value)
            if found and called:
                self._lookup(document, node, called, found, moved_uses, edits, notes, external)
            elif found and self._names_moved(found):
                notes.append(
                    self._note(
                        document, node, "string", "names what moved; nothing shows who reads it"
                    )
                )
        notes += self._f_strings(document)
        edits += self._comment_roles(document)
        return edits, notes, external

    def _outside_imports(self, text: str) -> bool:
        """Whether the text names a source anywhere but on the line of an import statement."""
        for found in self._dotted.finditer(text):
            line = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
            if line.strip() not in ("from", "import"):
                return True
        return False

    def _names_moved(self, found: re.Match[str]) -> bool:
        return bool(found[3]) and self.move.home(found[1], found[3]) is not None

    def _lookup(
        self, document: Document, node: ast.Constant, called: str, found: re.Match[str],
        moved_uses: dict[str, set[str]], edits: list[Edit], notes: list[Note],
        external: set[tuple[str, str]],
    ) -> None:  # fmt: skip
        if not found[3]:
            if called in _MODULE_LOOKUPS:
                notes.append(
                    self._note(
                        document,
                        node,
                        "dynamic import",
                        "imports a source by name; what is read from it is not known",
                    )
                )
            return
        target = self.target(found[1], found[3])
        if target.home is None:
            external.add((found[1], found[3]))
            if found[3] in moved_uses.get(found[1], ()):
                notes.append(
                    self._note(
                        document, node, "patch of another global",
                        f"`{found[3]}` is read by code that moved; patched here, it no longer reaches it",
                    )
                )  # fmt: skip
            return
        if target.home == found[1]:
            return
        if not self._replace(
            document, node, found[1] + found[2] + found[3], target.home + found[2] + found[3]
        ):
            notes.append(
                self._note(
                    document, node, "string", "names what moved, in pieces; it was left alone"
                )
            )
            return
        edits.append(
            Edit(
                "string",
                node.lineno,
                repr(node.value),
                repr(target.home + node.value[len(found[1]) :]),
            )
        )

    def _replace(self, document: Document, node: ast.Constant, old: str, new: str) -> bool:
        """Replace a dotted name within a literal as written; false if it is not there in one piece."""
        start, end = document.module.span(node)
        text = document.module.text[start:end]
        if text.count(old) != 1:
            return False
        at = start + text.index(old)
        document.edits.replace(at, at + len(old), new)
        return True

    def _docstring(self, document: Document, node: ast.Constant) -> list[Edit]:
        start, end = document.module.span(node)
        return self._roles(document, start, end)

    def _roles(self, document: Document, start: int, end: int) -> list[Edit]:
        edits = []
        for found in self._role.finditer(document.module.text, start, end):
            home = self.move.home(found[2], found[3])
            if home is None or home == found[2]:
                continue
            document.edits.replace(found.start(2), found.end(2), home)
            line = document.module.line_of(found.start(2))
            edits.append(
                Edit("documentation", line, f"{found[2]}.{found[3]}", f"{home}.{found[3]}")
            )
        return edits

    def _comment_roles(self, document: Document) -> list[Edit]:
        edits = []
        text = document.module.text
        for found in re.finditer(r"(?m)^[ \t]*#:?.*$", text):
            if self._dotted.search(found[0]):
                edits += self._roles(document, found.start(), found.end())
        return edits

    def _f_strings(self, document: Document) -> Iterator[Note]:
        for node in ast.walk(document.module.tree):
            if isinstance(node, ast.JoinedStr):
                for part in node.values:
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        found = self._dotted.search(part.value)
                        if found and self._names_moved(found):
                            yield self._note(
                                document,
                                node,
                                "string",
                                "an f-string names what moved; it was left alone",
                            )

    def _note(self, document: Document, node: ast.expr, kind: str, why: str) -> Note:
        return Note(kind, document.module.place(node.lineno), why[0].upper() + why[1:] + ".")

    def in_text(self, path: str, data: bytes) -> tuple[bytes, list[Edit], list[Note]]:
        """Rewrite entry points and Sphinx roles in a file that is not Python."""
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return data, [], []
        edits: list[Edit] = []
        pattern = self._entry if path.endswith(ENTRY_POINT_SUFFIXES) else self._role
        kind = "entry point" if pattern is self._entry else "documentation"
        group = 1 if pattern is self._entry else 2

        def replaced(found: re.Match[str]) -> str:
            dotted, symbol = found[group], found[3]
            home = self.move.home(dotted, symbol)
            if home is None or home == dotted:
                return found[0]
            line = text.count("\n", 0, found.start()) + 1
            joint = ":" if kind == "entry point" else "."
            edits.append(Edit(kind, line, dotted + joint + symbol, home + joint + symbol))
            whole, offset = found[0], found.start()
            return whole[: found.start(group) - offset] + home + whole[found.end(group) - offset :]

        rewritable = path.endswith(ENTRY_POINT_SUFFIXES + DOCUMENT_SUFFIXES)
        result = pattern.sub(replaced, text) if rewritable else text
        return result.encode("utf-8"), edits, list(self._text_notes(path, result))

    def _text_notes(self, path: str, text: str) -> Iterator[Note]:
        kind = "notebook" if path.endswith(".ipynb") else "text"
        for found in self._dotted.finditer(text):
            if not self._names_moved(found):
                continue
            line = text.count("\n", 0, found.start()) + 1
            yield Note(kind, Place(path, line, None, text.split("\n")[line - 1][:200]),
                       f"Names `{found[3]}` in its old module; it was left alone.")  # fmt: skip


def _lookup_calls(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """String constants that are the first argument of a call that looks names up, with its name."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        called = (
            node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        )
        first = node.args[0]
        if isinstance(first, ast.Constant) and called in _LOOKUPS | _MODULE_LOOKUPS:
            yield id(first), called
        elif isinstance(node.func, ast.Attribute) and called in ("dict", "multiple"):
            owner = node.func.value
            name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
            if name == "patch" and isinstance(first, ast.Constant):
                yield id(first), "patch"


def _docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    """Strings that stand alone as statements: docstrings, and those that document attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def text_paths(paths: Iterable[str]) -> list[str]:
    """Files other than Python in which a name may stand that a tool looks up."""
    suffixes = ENTRY_POINT_SUFFIXES + DOCUMENT_SUFFIXES + OTHER_SUFFIXES
    return [path for path in paths if posixpath.basename(path).lower().endswith(suffixes)]
