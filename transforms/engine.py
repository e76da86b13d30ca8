"""The whole move: a plan and a tree in, an `Outcome` out. Nothing is written here.

The order matters: sources are resolved and composed first, then the files that can matter are
found by a search of bytes, then callers, and the sources last, since only then is it known what
other files read through them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from transforms.callers.candidates import find_candidates
from transforms.callers.run import CallerRun, CallersResult
from transforms.errors import Place, Refusal
from transforms.formatters import Formatters, no_formatters
from transforms.formatters.touched import format_touched
from transforms.imports.document import Document
from transforms.imports.statement import Shrink
from transforms.move.arrival import extend
from transforms.move.authored import apply_edits, authored_blobs, path_of_new
from transforms.move.copies import Copying
from transforms.move.cut import Cut, docstring_first, rebase_relative
from transforms.move.cycles import Cycles, check_cycles
from transforms.move.definitions import Definitions
from transforms.move.deleted import deleted
from transforms.move.destination import compose
from transforms.move.exports import export_names
from transforms.move.intent import check_roots, check_targets
from transforms.move.landing import refuse_anchors, refuse_blocked, refuse_without_init
from transforms.move.preamble import Context, Preamble, derive
from transforms.move.remarks import remarks
from transforms.move.resolve import resolve_move, with_exports, with_leaving
from transforms.move.scans import folder_scans
from transforms.move.soundness import check_module
from transforms.move.state import Group, SourceState
from transforms.reading.accepts import Accepts
from transforms.reading.model import CYCLE, OF_THE_MOVER, Plan
from transforms.relocation import refuse_applied, relocate
from transforms.result.changes import EXECUTABLE, REGULAR, Blob, ChangeSet
from transforms.result.outcome import (
    Accepted,
    Authored,
    Caller,
    Destination,
    Edit,
    Note,
    Outcome,
    Phase,
    SourceChange,
)
from transforms.tree import OverlayTree, Tree
from transforms.tree.names import Names

_MISSING = ("unknown-file", "unknown-module", "unknown-symbol")  # which a second run meets


def apply(
    plan: Plan, tree: Tree, *, formatters: Formatters | None = None, cycles: bool = True
) -> Outcome:
    """Apply a plan to a tree. Raises `Refusal` with the place and the next step.

    Without `cycles` nobody looks for import cycles, which can mean to parse all that is imported.
    """
    formatters = formatters or no_formatters()
    if plan.deletions:
        return _apply_deleting(plan, tree, formatters, cycles=cycles)
    plan = with_exports(with_leaving(plan, tree), tree)
    accepts = Accepts(plan, cycles=cycles)
    if plan.moves:
        outcome = _apply_whole(plan, tree, formatters, accepts)
    else:
        outcome = _moved(plan, tree, formatters, accepts)
    accepts.refuse_unneeded([kind for kind in OF_THE_MOVER if cycles or kind != CYCLE])
    accepted = (Accepted(a.kind, str(a.module), a.symbol, a.reason) for a in plan.accepts)
    return replace(outcome, accepted=tuple(accepted))


def _apply_deleting(plan: Plan, tree: Tree, formatters: Formatters, *, cycles: bool) -> Outcome:
    """Apply a plan that deletes files; where they are gone, so may be what the rest would move."""
    try:
        gone = deleted(plan, tree)
        return gone.finished(apply(gone.plan, gone.tree, formatters=formatters, cycles=cycles))
    except Refusal as missing:
        if missing.kind in _MISSING:
            try:
                apply(replace(plan, deletions=()), tree, formatters=formatters, cycles=cycles)
            except Refusal as refusal:
                if refusal.kind == "already-applied":
                    raise refusal from None
        raise


def _moved(plan: Plan, tree: Tree, formatters: Formatters, accepts: Accepts) -> Outcome:
    """Move symbols. Helpers that are the same anywhere are copied where that helps."""
    try:
        return _Engine(plan, tree, formatters, accepts).run()
    except (Cycles, Copying) as first:
        if not (plan.newer and first.helpers):
            raise
        copied = tuple(
            replace(d, copy=tuple(dict.fromkeys((*d.copy, *first.helpers.get(d.line, ())))))
            for d in plan.destinations
        )
        if copied == plan.destinations:
            raise
        try:
            return _moved(replace(plan, destinations=copied), tree, formatters, accepts)
        except Refusal as refusal:
            if refusal.kind in ("copy", first.kind):
                raise first from None
            raise


def _apply_whole(plan: Plan, tree: Tree, formatters: Formatters, accepts: Accepts) -> Outcome:
    """Whole modules move after the symbols of the same plan, in the tree that those leave."""
    symbols = _empty_outcome()
    packages = () if plan.sources else plan.packages
    rest = replace(plan, sources=(), destinations=(), packages=packages)
    if plan.sources:
        alone = replace(plan, moves=(), edits=(), files=(), title="")
        try:
            symbols = _moved(alone, tree, no_formatters(), accepts)
        except Refusal:
            refuse_applied(rest, tree)  # the source is gone because it has moved
            raise
    between = OverlayTree(tree, symbols.changes.after()) if symbols.changes else tree
    start = time.perf_counter()
    run = relocate(rest, between, formatters, accepts)
    moved = time.perf_counter()
    for path, blob in symbols.changes.after().items():
        run.after.setdefault(path, blob)
    changed = run.finish()
    phases = (Phase("resolve", moved - start), Phase("format", time.perf_counter() - moved))
    callers = {caller.path: caller.edits for caller in symbols.callers}
    for path, edits in run.edits.items():
        callers[path] = (*callers.get(path, ()), *edits)
    return replace(
        symbols,
        changes=ChangeSet.of({path: tree.blob(path) for path in run.after}, run.after),
        callers=_callers(callers),
        authored=(*symbols.authored, *_authored_text(plan, run.names)),
        notes=_in_order([*symbols.notes, *run.notes, *_unrun(formatters)]),
        formatted=tuple(str(tool) for tool in formatters.tools),
        formatter_edits=changed,
        phases=(*symbols.phases, *phases),
        relocated=run.relocated,
    )


def _empty_outcome() -> Outcome:
    return Outcome(ChangeSet(), (), (), (), (), (), ())


def _callers(edits: Mapping[str, Sequence[Edit]]) -> tuple[Caller, ...]:
    return tuple(
        Caller(path, tuple(sorted(found, key=lambda e: (e.line, e.kind, e.after))))
        for path, found in sorted(edits.items())
    )


def _in_order(notes: Iterable[Note]) -> tuple[Note, ...]:
    def key(note: Note) -> tuple[str, int, str, str]:
        return note.place.path, note.place.line or 0, note.kind, note.message

    return tuple(sorted(notes, key=key))


def _unrun(formatters: Formatters) -> Iterator[Note]:
    """Hooks of the repository that rewrite code, which a person runs on what the move touched."""
    for hook in formatters.unrun:
        message = f"`{hook.name}` rewrites code, and was not run on what the move touches."
        yield Note("hook", hook.place, message)


def _authored_text(plan: Plan, names: Names) -> Iterator[Authored]:
    """What a plan has literally of whole files and of edits."""
    for file in plan.files:
        yield Authored(path_of_new(file, plan, names), "file", file.rows())
    for edit in plan.edits:
        removed, added = edit.sides()
        yield Authored(str(edit.file), "edit", added, removed)


@dataclass(slots=True)
class _Summary:
    sources: list[SourceChange] = field(default_factory=list)
    destinations: list[Destination] = field(default_factory=list)
    callers: dict[str, list[Edit]] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)


class _Engine:
    def __init__(self, plan: Plan, tree: Tree, formatters: Formatters, accepts: Accepts) -> None:
        self.plan, self.tree, self.formatters = plan, tree, formatters
        self.accepts = accepts
        self.names = Names(tree, plan.roots)
        self.sorter = any(tool.sorts for tool in formatters.tools)
        self.documents: dict[str, Document] = {}
        self.after: dict[str, Blob | None] = {}
        self.created: dict[str, str] = {}  # new module's dotted name -> source's
        self.summary = _Summary()
        self.phases: dict[str, float] = {}

    def run(self) -> Outcome:
        with self._phase("parse"):
            check_roots(self.plan, self.tree)
            self.move = resolve_move(self.plan, self.names, self.open, self.accepts)
            self.authored = authored_blobs(self.plan, self.names, self.tree)
            self._note_packages()
        with self._phase("resolve"):
            self._settle_sources()
            self.cuts = [Cut(source, self.move) for source in self.move.sources]
            self.definitions = Definitions(self.tree, self.names, self.move, self.authored)
            self._compose_destinations()
        with self._phase("search"):
            callers = find_candidates(self.tree, self.move)
        with self._phase("resolve"):
            self._finish_sources(self._rewrite_callers(callers))
            self._finish_documents()
            self._set_authored()
            check_targets(self.plan, self.move, self.tree, self.after)
            self._check_packages()
            checked = self._check_modules()
            modules = [document.module for document in (*self.documents.values(), *checked)]
            parsed = {module.data: module.tree for module in modules}
            check_cycles(self.move, self.tree, self.after, self.created, self.names, parsed)
        changed = self._format()
        self._apply_authored_edits()
        return self._outcome(changed)

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.phases[name] = self.phases.get(name, 0.0) + time.perf_counter() - start

    def open(self, path: str) -> Document:
        """The document of a file of the tree; each file is parsed once."""
        if path not in self.documents:
            if self.tree.entries().get(path) not in (REGULAR, EXECUTABLE):
                raise Refusal(
                    "symlink",
                    f"`{path}` is a symbolic link or a submodule, not a file of this tree.",
                    next_step="Name the file that it points to.",
                    place=Place(path),
                )
            document = self._document(path, self.tree.read(path))
            self._set_shrink(document)
            self.documents[path] = document
        return self.documents[path]

    def _document(self, path: str, data: bytes) -> Document:
        package = self.names.package_of(path)
        return Document(path, data, package, sorter=self.sorter, newer=self.plan.newer)

    def _shrink_of(self, path: str, target: str | None) -> Shrink | None:
        """The plan's choice for imports of `target` in a file; a rule for the statement wins."""
        found: Shrink | None = None
        for rule in self.plan.shrink:
            if str(rule.file) not in (path, self.names.dotted(path)):
                continue
            if rule.statement is None:
                found = found or Shrink(rule.style)
            elif rule.statement == target:
                return Shrink(rule.style)
        return found

    def _statement_rule(self, path: str, target: str | None) -> Shrink | None:
        for rule in self.plan.shrink:
            if rule.statement == target and str(rule.file) in (path, self.names.dotted(path)):
                return Shrink(rule.style)
        return None

    def _set_shrink(self, document: Document) -> None:
        for site in document.editor.sites:
            rule = self._shrink_of(document.path, site.target)
            if rule is not None:
                document.editor.shrink[site] = rule

    def _settle_sources(self) -> None:
        """Let code that will move name other moved symbols by their new homes, before it moves."""
        cuts = [Cut(source, self.move) for source in self.move.sources]
        run = CallerRun(self.plan, self.tree, self.names, self.move, cuts, self.open)
        changed = False
        for source in self.move.sources:
            data = run.settle(source)
            if data is not None:
                path = source.located.path
                self.documents[path] = self._document(path, data)
                self._set_shrink(self.documents[path])
                changed = True
        self.settled = run.result
        if changed:
            packages = self.move.package_names
            self.move = resolve_move(self.plan, self.names, self.open, self.accepts)
            self.move.package_names.update(packages)

    def _note_packages(self) -> None:
        """Names that a module turned package still offers, so that callers need no change."""
        for source in self.move.sources:
            if source.spec.becomes is None:
                continue
            names: set[str] = set()
            path = source.after.path.rpartition("/")[0] + "/__init__.py"
            if path in self.authored:
                names |= self.definitions_of(self.authored[path].data)
            for package in self.plan.packages:
                located = self.names.locate_new(
                    package.module, self.plan.place(package.line), package=True
                )
                if located.dotted == source.located.dotted:
                    names |= set(package.exports)
            self.move.package_names[source.located.dotted] = names

    def definitions_of(self, data: bytes) -> set[str]:
        document = Document("__init__.py", data, "", sorter=False)
        return set(document.symbols.bindings)

    # Destinations

    def _compose_destinations(self) -> None:
        by_path: dict[str, list[Group]] = {}
        for group in self.move.groups:
            by_path.setdefault(group.located.path, []).append(group)
        for path, groups in by_path.items():
            if path in self.authored:
                raise Refusal(
                    "clash",
                    f"`{path}` is both authored whole and a destination.",
                    next_step="Author an edit of the destination, or drop one of the two.",
                    place=self.plan.place(groups[0].spec.line),
                )
            if groups[0].located.exists:
                self._extend(path, groups)
            else:
                self._create(path, groups)

    def _derive(self, group: Group, document: Document | None) -> Preamble:
        def already(name: str) -> bool:
            return document is not None and self.definitions.same(document, group, name)

        context = Context(
            self.move,
            self.definitions.defining,
            self._statement_rule,
            already,
            self._leaving,
            document,
        )
        return derive(group, context)

    def _leaving(self, source: SourceState) -> set[str]:
        """Names whose imports leave a source with their comments: none in plans of old."""
        if not self.plan.newer:
            return set()
        return next(cut.candidates() for cut in self.cuts if cut.source is source)

    def _create(self, path: str, groups: list[Group]) -> None:
        refuse_blocked(groups[0], self.move, self.tree)
        refuse_anchors(groups, self.move)
        preambles = [self._derive(group, None) for group in groups]
        self.definitions.check_agreement(groups, preambles)
        self.after[path] = Blob(
            compose(groups, preambles, sorter=self.sorter, newer=self.plan.newer), REGULAR
        )
        self.created[groups[0].located.dotted] = groups[0].source.located.dotted
        self._describe(path, groups, preambles, created=True)

    def _extend(self, path: str, groups: list[Group]) -> None:
        document = self.open(path)
        preambles = [self._derive(group, document) for group in groups]
        self.definitions.check_agreement(groups, preambles)
        extend(document, groups, preambles, self.accepts)
        self._describe(path, groups, preambles, created=False)

    def _describe(
        self, path: str, groups: list[Group], preambles: list[Preamble], *, created: bool
    ) -> None:
        imports: list[str] = []
        for preamble in preambles:
            imports += [" ".join(piece.text.split()) for piece in preamble.head]
            imports += [f"from {item.spelled} import {item.name}" for item in preamble.wanted]
        copied = {
            name
            for group in groups
            for index in group.copied
            for name in group.source.symbols.binds(index)
            if any(index == piece.index for p in preambles for piece in p.tail)
        }
        self.summary.destinations.append(
            Destination(
                path=path,
                module=groups[0].located.dotted,
                created=created,
                symbols=tuple(n for g in groups for n in (*g.spec.carry, *g.spec.symbols)),
                copied=tuple(sorted(copied)),
                imports=tuple(imports),
                lines=0,
            )
        )

    # Callers

    def _rewrite_callers(self, files: Mapping[str, bytes]) -> CallersResult:
        run = CallerRun(self.plan, self.tree, self.names, self.move, self.cuts, self.open)
        run.result.external.update(self.settled.external)
        result = run.run(files)
        for path, edits in self.settled.edits.items():
            result.edits[path] = [*edits, *result.edits.get(path, [])]
        self.summary.callers = result.edits
        told = {(note.kind, note.message, note.place.excerpt) for note in self.settled.notes}
        later = [
            note
            for note in result.notes
            if (note.kind, note.message, note.place.excerpt) not in told
        ]
        self.summary.notes = [*self.settled.notes, *later, *remarks(self.move, self.cuts)]
        created = [d.path for d in self.summary.destinations if d.created]
        self.summary.notes += folder_scans(created, self.tree, self.names)
        for path, data in result.texts.items():
            self.after[path] = Blob(data, self.tree.entries()[path])
        return result

    # Sources

    def _finish_sources(self, callers: CallersResult) -> None:
        for cut in self.cuts:
            source = cut.source
            fate = cut.fate()
            if fate == "deleted":
                self._refuse_readers(source, callers)
                self.after[source.located.path] = None
            else:
                cut.apply(callers.read_through(source.located.dotted))
                if source.spec.docstring_first:
                    docstring_first(source)
                if source.spec.becomes is not None:
                    rebase_relative(source)
            self.summary.sources.append(
                SourceChange(
                    path=source.located.path,
                    module=source.located.dotted,
                    fate=fate,
                    removed_imports=tuple(cut.removed_imports),
                    imports_back=tuple(cut.imports_back),
                )
            )

    def _refuse_readers(self, source: SourceState, callers: CallersResult) -> None:
        dotted = source.located.dotted
        for (read, name), place in sorted(callers.external.items(), key=_names_first):
            if read == dotted:
                what = f"`{name}` is read through it here" if name else "this needs it"
                raise Refusal(
                    "still-read",
                    f"`{dotted}` is to be deleted, but {what}.",
                    next_step="Import from where it is defined first, or leave the emptied module.",
                    place=place,
                )

    def _finish_documents(self) -> None:
        for package in self.plan.packages:
            made = export_names(package, self.move, self.after, sorter=self.sorter)
            if made is not None:
                self.created.setdefault(made, self.move.sources[0].located.dotted)
        for path, document in sorted(self.documents.items()):
            if path in self.after and self.after[path] is None:
                continue
            data = document.finish()
            mode = self.tree.entries()[path]
            source = next((s for s in self.move.sources if s.located.path == path), None)
            if source is not None and source.spec.becomes is not None:
                self.after[path] = None
                self.after[source.after.path] = Blob(data, mode)
                self.created[source.after.dotted] = source.located.dotted
            elif data != document.module.data:
                self.after[path] = Blob(data, mode)

    def _check_packages(self) -> None:
        """New modules lie in packages: destinations, and what a source becomes."""
        made = {item.path for item in self.summary.destinations if item.created}
        found = {g.located.path: g.spec.line for g in reversed(self.move.groups)}
        places = [(path, line) for path, line in found.items() if path in made]
        places += [(s.after.path, s.spec.line) for s in self.move.sources if s.spec.becomes]
        for path, line in places:
            self.summary.notes += refuse_without_init(
                path, self.names.root or "", self.tree, self.after, self.plan.place(line)
            )

    def _check_modules(self) -> list[Document]:
        """Every source and destination as the move leaves it, which can still be imported."""
        originals: dict[str, list[Document]] = {}
        for source in self.move.sources:
            originals.setdefault(source.after.path, []).append(source.document)
        for group in self.move.groups:
            found = originals.setdefault(group.located.path, [])
            if group.located.path in self.documents:
                found.append(self.documents[group.located.path])
            found.append(group.source.document)
        checked = []
        for path, documents in sorted(originals.items()):
            blob = self.after.get(path)
            if blob is not None:
                document = self._document(path, blob.data)
                check_module(document, documents)
                checked.append(document)
        return checked

    # Authored text and formatters

    def _set_authored(self) -> None:
        for path, blob in self.authored.items():
            self.after[path] = blob
            if path.endswith(".py") and path not in self.tree.entries():
                self.created.setdefault(
                    self.names.dotted(path), self.move.sources[0].located.dotted
                )

    def _format(self) -> dict[str, tuple[str, ...]]:
        with self._phase("format"):
            return format_touched(self.after, self.authored.keys(), self.tree, self.formatters)

    def _apply_authored_edits(self) -> None:
        apply_edits(self.plan, self.names, self.tree, self.after)

    def _outcome(self, formatter_edits: dict[str, tuple[str, ...]]) -> Outcome:
        before = {path: self.tree.blob(path) for path in self.after}
        changes = ChangeSet.of(before, self.after)
        return Outcome(
            changes=changes,
            sources=tuple(self.summary.sources),
            destinations=tuple(
                replace(item, lines=_line_count(self.after.get(item.path)))
                for item in self.summary.destinations
            ),
            callers=_callers(self.summary.callers),
            authored=tuple(self._authored()),
            notes=_in_order([*self._standing_notes(), *_unrun(self.formatters)]),
            formatted=tuple(str(tool) for tool in self.formatters.tools),
            formatter_edits=formatter_edits,
            phases=tuple(Phase(name, seconds) for name, seconds in self.phases.items()),
        )

    def _authored(self) -> Iterator[Authored]:
        headed: set[str] = set()  # of several headers for one module the first is written
        for group in self.move.groups:
            rows = group.spec.header_rows()
            if rows and group.located.path not in headed:
                headed.add(group.located.path)
                yield Authored(group.located.path, "header", rows)
        yield from _authored_text(self.plan, self.names)

    def _standing_notes(self) -> Iterator[Note]:
        """Notes whose line an authored edit has not since replaced."""
        edited = {str(edit.file) for edit in self.plan.edits}
        for note in self.summary.notes:
            blob = self.after.get(note.place.path)
            named = {note.place.path, self.names.dotted(note.place.path)}
            if blob is not None and note.place.excerpt and named & edited:
                if note.place.excerpt.encode() not in blob.data:
                    continue
            yield note


def _names_first(item: tuple[tuple[str, str], Place]) -> tuple[bool, str, str]:
    """A name that is read says more than the module that is needed: its name is empty."""
    (dotted, name), _ = item
    return not name, dotted, name


def _line_count(blob: Blob | None) -> int:
    return 0 if blob is None else len(blob.data.splitlines())
