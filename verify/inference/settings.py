"""What a plan can say otherwise, for the files in which it does not give the target yet."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import zip_longest

from transforms.errors import Refusal
from transforms.paths import ModuleName
from transforms.reading.model import (
    AuthoredFile,
    Destination,
    Package,
    Plan,
    Relocation,
    ShrinkRule,
    Source,
)
from transforms.result.diff import edits
from transforms.source.imports import is_type_checking
from transforms.syntax.comments import COOKIE
from verify.inference.draft import Draft, imported
from verify.inference.evidence import File, read_file
from verify.inference.remainder import text_of
from verify.inference.trials import Trial, Trials

Edit = Callable[[Plan], Plan]


@dataclass(frozen=True, slots=True)
class Change:
    """Another setting of a plan: its name, the file that it is for, and how to make it."""

    name: str
    path: str
    edit: Edit


class Settings:
    """The settings that could matter, from what a draft has read of both trees."""

    def __init__(self, draft: Draft, trials: Trials) -> None:
        self.draft, self.evidence, self.trials = draft, draft.evidence, trials

    def changes(self, best: Trial) -> Iterator[list[Change]]:
        """Give what to try next: changes of several files at once, one of each file in a list."""
        refused = best.outcome is None
        stray = [p for p in best.off if p in best.given and p not in self.trials.changed]
        if stray:
            yield [Change("leave", path, _leaving(path)) for path in stray]
        for change in _of_moves(best.plan):
            yield [change]
        by_file = (list(found) for found in self._by_module(best, refused=refused))
        yield from _side_by_side(by_file)
        yield from self._of_imports(best)
        for package in best.plan.packages:
            path = self._path(str(package.module), package=True)
            if path in best.off and path in self.evidence.new:
                yield [Change(f"as it is {path}", path, self._literally(package, path))]
        routes = {name: p.module for p in best.plan.packages for name in p.exports}
        routes |= best.plan.import_from
        if routes != best.plan.import_from and best.off:
            yield [Change("routes", "", lambda plan: replace(plan, import_from=routes))]
        if best.plan.import_from and best.off:  # callers that had the name from there still do
            yield [Change("no routes", "", lambda plan: replace(plan, import_from={}))]
        if best.plan.formatters == "repository" and (best.off or refused):
            yield [Change("formatters", "", lambda plan: replace(plan, formatters="none"))]

    def _of_imports(self, best: Trial) -> Iterator[list[Change]]:
        """How imports are laid out, and callers that still import from the old home."""
        off = [p for p in best.off if p in self.evidence.new and best.plan.sources]
        in_imports = [path for path in off if self._is_off_in_imports(path, best)]
        layouts = (
            [
                Change(f"layout {number}", path, edit)
                for number, edit in enumerate(_layouts(path, self._laid_out(path, best)))
            ]
            for path in in_imports
        )
        yield from _side_by_side(layouts)
        callers = set(in_imports) - {self._path(str(s.module)) for s in best.plan.sources}
        callers -= {self._path(str(d.module)) for d in best.plan.destinations}
        staying = (path for path in sorted(callers) if self._reads_old_home(path))
        yield [Change("leave", path, _leaving(path)) for path in staying]

    def _path(self, name: str, *, package: bool = False) -> str:
        files = {**self.evidence.old, **self.evidence.new}
        return next(
            (
                path
                for path in files
                if name in (path, self.draft.names.dotted(path))
                and (not package or path.endswith("__init__.py"))
            ),
            name,
        )

    def _new(self, path: str) -> File | None:
        """What the target has of a file, also where it went elsewhere."""
        place = self.draft.whole.get(path, self.draft.becomes.get(path, path))
        return self.evidence.new.get(place)

    # --- imports ---

    def _is_off_in_imports(self, path: str, best: Trial) -> bool:
        """Whether a line that differs belongs to an import, on either side."""
        given = best.given.get(path)
        want = self.evidence.new[path].data.split(b"\n")
        have = given.data.split(b"\n") if given else want
        lines = _import_lines(self.evidence.new[path])
        for edit in edits(have, want):
            if lines.intersection(range(edit.new_start + 1, edit.new_end + 1)):
                return True
            if any(b"import" in row for row in have[edit.old_start : edit.old_end]):
                return True
        return False

    def _laid_out(self, path: str, best: Trial) -> dict[str, str]:
        """The imports that the target only lays out otherwise, by module, and how it does."""
        given = best.given.get(path)
        if given is None:
            return {}
        with suppress(Refusal):
            mine = _from_imports(read_file(path, given.data))
            theirs = _from_imports(self.evidence.new[path])
            return {
                module: "explode" if b"\n" in text else "collapse"
                for (module, names), text in sorted(theirs.items())
                if mine.get((module, names), text) != text
            }
        return {}

    def _reads_old_home(self, path: str) -> bool:
        """Whether the target still imports a moved name from where it was."""
        homes = {(self.draft.names.dotted(m.source), m.name) for m in self.draft.moves}
        return not homes.isdisjoint(imported(self.evidence.new[path], self.draft.names))

    # --- packages ---

    def _literally(self, package: Package, path: str) -> Edit:
        """Write a new `__init__` as it is; export nothing of one that was there."""
        rest = text_of(self.evidence.new[path].data)
        made = (AuthoredFile(package.module, rest, 0),) if rest else ()
        if path in self.draft.before:
            made = ()
        return lambda plan: replace(
            plan,
            packages=tuple(other for other in plan.packages if other != package),
            files=(*plan.files, *made),
        )

    # --- sources and destinations ---

    def _by_module(self, best: Trial, *, refused: bool) -> Iterator[Iterator[Change]]:
        for source in best.plan.sources:
            path = self._path(str(source.module))
            place = self.draft.whole.get(path, self.draft.becomes.get(path, path))
            if refused or place in best.off or source.becomes is not None:
                yield _named(f"source {source.module}", place, self._of_source(source, path))
        for item in best.plan.destinations:
            path = self._path(str(item.module))
            place = self.draft.whole.get(path, path)
            if refused or place in best.off:
                name = f"destination {item.module} {item.symbols[:1]}"
                yield _named(name, place, self._of_destination(item, path, best))

    def _of_source(self, source: Source, path: str) -> Iterator[Edit]:
        def having(**fields: object) -> Edit:
            def change(plan: Plan) -> Plan:
                sources = (
                    replace(s, **fields) if s.module == source.module else s  # type: ignore[arg-type]
                    for s in plan.sources
                )
                return replace(plan, sources=tuple(sources))

            return change

        other = "sorted" if source.imports_back == "in place" else "in place"
        yield having(imports_back=other)
        new = self._new(path)
        moved = {m.name for m in self.draft.moves if m.source == path}
        if new is not None:
            offered = {name for _, name in imported(new, self.draft.names)} & moved
            if source.becomes is not None:
                init = self.evidence.new.get(f"{path[:-3]}/__init__.py")
                offered = {n for _, n in imported(init, self.draft.names)} if init else offered
            old = self.evidence.old.get(path)
            offered &= old.defined().keys() if old else set()
            if offered and not source.reexports:
                yield having(reexports=tuple(sorted(offered)))
            if (checked := _for_checkers(new) & moved) and source.old is None:
                yield having(type_checking=tuple(sorted(checked)))
            if source.old is not None:
                yield having(old=None)
        if source.becomes is not None and not source.docstring_first:
            yield having(docstring_first=True)

    def _of_destination(self, item: Destination, path: str, best: Trial) -> Iterator[Edit]:
        def having(**fields: object) -> Edit:
            def change(plan: Plan) -> Plan:
                destinations = (
                    replace(d, **fields) if _same(d, item) else d  # type: ignore[arg-type]
                    for d in plan.destinations
                )
                return replace(plan, destinations=tuple(destinations))

            return change

        new = self._new(path)
        if path not in self.draft.before and new is not None:
            if not item.licence and not best.plan.newer:
                yield having(licence=True, header=None)
            head = _head(new)
            if head is not None and head != item.header:
                yield having(header=head, licence=False)
        elif new is not None and item.before is None and item.after is None and item.at == "end":
            yield having(at="start")
        if new is not None and (checked := _for_checkers(new)):
            yield having(type_checking=tuple(sorted(checked)))
        if item.copy:
            yield having(copy=())
        helpers = tuple(
            name
            for name in item.symbols
            if any(m.name == name and m.is_helper for m in self.evidence.moved)
        )
        if helpers and set(helpers) != set(item.symbols):
            rest = tuple(name for name in item.symbols if name not in helpers)
            yield having(symbols=rest, carry=(*item.carry, *helpers))


def _side_by_side(by_file: Iterable[list[Change]]) -> Iterator[list[Change]]:
    for together in zip_longest(*by_file):
        yield [change for change in together if change is not None]


def _named(name: str, path: str, found: Iterator[Edit]) -> Iterator[Change]:
    for number, edit in enumerate(found):
        yield Change(f"{name} {number}", path, edit)


def _of_moves(plan: Plan) -> Iterator[Change]:
    """What may stay at the old path of a module that moved whole."""
    for move in plan.moves:
        for old in ("warn", "reexport", None):

            def change(plan: Plan, move: Relocation = move, old: str | None = old) -> Plan:
                moves = (replace(m, old=old) if m == move else m for m in plan.moves)
                return replace(plan, moves=tuple(moves))

            if move.old is not None and old != move.old:
                yield Change(f"old {old} {move.module}", "", change)


def _leaving(path: str) -> Edit:
    return lambda plan: replace(plan, leave=tuple(sorted({*plan.leave, path})))


def _layouts(path: str, statements: Mapping[str, str]) -> Iterator[Edit]:
    """How imports that lost names are laid out: in the whole file, then in one statement of it."""
    file = ModuleName(path, is_path=True)
    rules: list[tuple[str | None, str]] = []
    if statements:
        rules += [(None, "keep"), *((None, style) for style in sorted({*statements.values()}))]
    for module, style in statements.items():
        if not module.startswith("."):
            rules += [(module, style), (module, "keep")]
    for statement, style in rules:
        rule = ShrinkRule(file, style, 0, statement)

        def change(plan: Plan, rule: ShrinkRule = rule) -> Plan:
            key = rule.file, rule.statement
            others = tuple(r for r in plan.shrink if (r.file, r.statement) != key)
            return replace(plan, shrink=(*others, rule))

        yield change


def _from_imports(file: File) -> dict[tuple[str, frozenset[str]], bytes]:
    """The text of each `from` import, by module (with its dots) and names."""
    rows = file.data.split(b"\n")
    return {
        (
            "." * node.level + (node.module or ""),
            frozenset(f"{a.name} {a.asname or a.name}" for a in node.names),
        ): b"\n".join(rows[node.lineno - 1 : node.end_lineno])
        for node in ast.walk(file.tree)
        if isinstance(node, ast.ImportFrom)
    }


def _import_lines(file: File) -> set[int]:
    found: set[int] = set()
    for node in ast.walk(file.tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return found


def _for_checkers(file: File) -> set[str]:
    """What a file imports for type checkers only."""
    return {
        alias.name
        for node in file.tree.body
        if is_type_checking(node)
        for part in ast.walk(node)
        if isinstance(part, ast.ImportFrom)
        for alias in part.names
    }


def _head(file: File) -> str | None:
    """The comments and the docstring that a file begins with; "" for none, None for no header."""
    text = text_of(file.data)
    if text is None or "\r" in text:
        return None
    rows = text.split("\n")
    if any(COOKIE.match(row) for row in rows[:2]):
        return None
    last = 0
    while last < len(rows) and rows[last].startswith("#"):
        last += 1
    first = file.tree.body[0] if file.tree.body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        if isinstance(first.value.value, str):
            last = first.end_lineno or last
    return "\n".join(rows[:last])


def _same(one: Destination, other: Destination) -> bool:
    """Whether two tables are one, changed or not: nothing else moves the same first symbol."""
    first = {*one.symbols, *one.carry} & {*other.symbols, *other.carry}
    return one.module == other.module and bool(first)
