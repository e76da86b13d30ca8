"""All callers of a move: Python files, the sources themselves, and texts that name what moved."""

from __future__ import annotations

import ast
import fnmatch
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from transforms.callers.candidates import PYTHON
from transforms.callers.context import Caller, Readings, Surroundings
from transforms.callers.from_imports import rewrite_caller
from transforms.callers.strings import Strings
from transforms.callers.texts import Texts
from transforms.errors import Place, Refusal
from transforms.imports.document import Document
from transforms.move.cut import Cut
from transforms.move.state import Move, SourceState
from transforms.reading.model import Plan
from transforms.result.outcome import Edit, Note
from transforms.tree import Tree
from transforms.tree.names import Names

_SHEBANG = re.compile(rb"#!.*\bpython")


@dataclass(slots=True)
class CallersResult:
    """What rewriting all callers gave.

    `external`: what is read through a source and does not move, with the first place that reads
    it. `spared`: the same for files under `leave`, which nobody has promised to keep working.
    `texts`: new bytes of files that are not Python.
    """

    edits: dict[str, list[Edit]] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    external: Readings = field(default_factory=dict)
    spared: set[tuple[str, str]] = field(default_factory=set)
    texts: dict[str, bytes] = field(default_factory=dict)

    def read_through(self, dotted: str) -> set[str]:
        """Names that any file reads through a source."""
        return {name for source, name in [*self.external, *self.spared] if source == dotted}


class CallerRun:
    """Rewrites the callers of one move, in the documents that `open_document` gives."""

    def __init__(
        self, plan: Plan, tree: Tree, names: Names, move: Move, cuts: Sequence[Cut],
        open_document: Callable[[str], Document],
    ) -> None:  # fmt: skip
        self.plan, self.tree, self.names, self.cuts = plan, tree, names, cuts
        self.open = open_document
        self.around = Surroundings(move, cuts, names, tree)
        self.texts = Texts(self.around)
        self.result = CallersResult()

    def run(self, files: Mapping[str, bytes]) -> CallersResult:
        """Rewrite the files given, and then what stays in the sources."""
        for path, data in sorted(files.items()):
            python = path.endswith(PYTHON) or _SHEBANG.match(data) is not None
            if self._is_left(path):
                if python:
                    self._look_at_left(path, data)
            elif python:
                self._rewrite(self._caller(path, self.open(path)), path)
            else:
                self._rewrite_text(path, data)
        for cut in self.cuts:
            self._note_stub(cut)
            self._rewrite_source(cut)
        return self.result

    def settle(self, source: SourceState) -> bytes | None:
        """A source as a caller of all sources, itself included, before anything leaves it.

        So code that will move names what moves with it, or elsewhere, by its new home already.
        Gives the new bytes; None if nothing changes.
        """
        module = source.document.module
        path = source.located.path
        if not any(other.located.last in module.text for other in self.around.move.sources):
            return None
        document = Document(
            path, module.data, source.document.package, sorter=source.document.sorter
        )
        caller = self._caller(path, document)
        rewrite_caller(caller)
        Strings(caller).rewrite()
        data = document.finish()
        if data == module.data:
            return None
        self._log(path, caller)
        return data

    def _note_stub(self, cut: Cut) -> None:
        path = cut.source.located.path
        stub = path.removesuffix(".py") + ".pyi"
        elsewhere = f"/{cut.source.located.dotted.replace('.', '/')}.pyi"
        for other in self.tree.entries():
            if (path.endswith(".py") and other == stub) or other.endswith(elsewhere):
                message = "The source has a stub; what moved stands in it still."
                self.result.notes.append(Note("stub", Place(other, 1), message))

    def _is_left(self, path: str) -> bool:
        return any(path == item or fnmatch.fnmatchcase(path, item) for item in self.plan.leave)

    def _caller(self, path: str, document: Document) -> Caller:
        root = self.names.root or ""
        foreign = bool(root) and not path.startswith(root + "/")
        return Caller(document, self.names.dotted(path), self.around, is_foreign=foreign)

    def _rewrite(self, caller: Caller, path: str) -> None:
        rewrite_caller(caller)
        Strings(caller).rewrite()
        self._log(path, caller)

    def _log(self, path: str, caller: Caller) -> None:
        if caller.result.edits:
            self.result.edits.setdefault(path, []).extend(caller.result.edits)
        self.result.notes += caller.result.notes
        for key, place in caller.result.external.items():
            self.result.external.setdefault(key, place)

    def _look_at_left(self, path: str, data: bytes) -> None:
        """A file under `leave` is read, so that a person sees what it will lack."""
        try:
            document = Document(path, data, self.names.package_of(path), sorter=True)
            caller = self._caller(path, document)
            rewrite_caller(caller)
        except Refusal as refusal:
            place = refusal.place or Place(path)
            self.result.notes.append(Note("left alone", place, refusal.cause))
            return
        self.result.spared |= caller.result.external.keys()
        lines = {edit.line for edit in caller.result.edits}
        for (dotted, _), place in caller.result.external.items():
            if self.around.sources[dotted].spec.emptied == "delete" and place.line is not None:
                lines.add(place.line)
        for line in sorted(lines):
            place = document.module.place(line)
            message = "Needs the old module for what moved, and is under `leave`."
            self.result.notes.append(Note("left alone", place, message))

    def _rewrite_text(self, path: str, data: bytes) -> None:
        result = self.texts.rewrite(path, data)
        if result.edits:
            self.result.edits.setdefault(path, []).extend(result.edits)
        self.result.notes += result.notes
        for key, place in result.external.items():
            self.result.external.setdefault(key, place)
        if result.data != data:
            self.result.texts[path] = result.data

    def _rewrite_source(self, cut: Cut) -> None:
        """What stays in a source is a caller, too: of other sources, and of itself by name."""
        source = cut.source
        leaving = set(source.cut)

        def is_frozen(node: ast.AST) -> bool:
            return source.symbols.statement_at(node).index in leaving

        caller = self._caller(source.located.path, source.document)
        kept = self.result.read_through(source.located.dotted)
        caller.is_frozen, caller.package = is_frozen, source.after.package
        caller.dropped = frozenset(cut.candidates() - kept)
        if cut.fate() != "deleted":
            self._rewrite(caller, source.after.path)


__all__ = ["CallerRun", "CallersResult"]
