"""Tries what a plan can say against the target, and keeps what comes nearer to it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from transforms import engine
from transforms.errors import Refusal
from transforms.formatters import Formatters
from transforms.paths import ModuleName
from transforms.reading.accepts import Acceptable
from transforms.reading.model import (
    FORMATS,
    Accept,
    AuthoredFile,
    Destination,
    Package,
    Plan,
    Relocation,
    ShrinkRule,
    Source,
)
from transforms.result.diff import edits
from transforms.result.outcome import Outcome
from transforms.tree import GitTree
from verify.history.ranges import Entry, differing, entries_at
from verify.inference.draft import Draft, imported
from verify.inference.evidence import Evidence
from verify.inference.remembered import RememberedTree

Edit = Callable[[Plan], Plan]
_MOST_TRIALS = 120  # each applies a whole plan
_DONE = "The change did so; nobody has said why."


@dataclass(frozen=True, slots=True)
class Change:
    """Another setting of a plan: its name, the file that it is for, and how to make it."""

    name: str
    path: str
    edit: Edit


@dataclass(frozen=True, slots=True)
class Trial:
    """What a plan gives: lines that differ from the target, by path; or why it is refused."""

    plan: Plan
    outcome: Outcome | None
    given: dict[str, Entry | None]
    off: dict[str, int]
    refusal: Refusal | None = None

    @property
    def exact(self) -> bool:
        """Whether the plan gives the target."""
        return self.outcome is not None and not self.off

    @property
    def cost(self) -> tuple[bool, int, int]:
        """Less is nearer: refused or not, lines that differ, then how much the plan says."""
        return self.outcome is None, sum(self.off.values()), _weight(self.plan)


class Search:
    """Trials against one target."""

    def __init__(
        self,
        draft: Draft,
        evidence: Evidence,
        formatters: Callable[[str], Formatters],
        tree: RememberedTree,
    ) -> None:
        self.base, self.target = draft.base, draft.target
        self.draft, self.evidence = draft, evidence
        self._formatters = formatters
        self._tree = tree
        self._changed = differing(self.base, self.target)
        self._had = entries_at(self.base, self._changed)
        self._wanted = entries_at(self.target, self._changed)
        self.trials = 0
        self._tried: dict[str, int] = {}  # a change by its name: how far off its file then was

    def attempt(self, plan: Plan, *, accepts: bool = True) -> Trial:
        """Apply a plan and compare; `accepts`: what it is refused for, a plan may accept."""
        self.trials += 1
        try:
            outcome = engine.apply(plan, self._tree, formatters=self._formatters(plan.formatters))
        except Refusal as refusal:
            accepting = _accepting(plan, refusal) if accepts else None
            found = self.attempt(accepting) if accepting is not None else None
            return found if found and found.outcome else Trial(plan, None, {}, {}, refusal)
        given = {path: Entry.of(blob) for path, blob in outcome.changes.after().items()}
        off = {}
        for path in sorted({*self._changed, *given}):
            have = given[path] if path in given else self._entry(self.base, self._had, path)
            want = self._entry(self.target, self._wanted, path)
            if have != want:
                off[path] = _distance(have, want)
        return Trial(plan, outcome, given, off)

    def _entry(self, tree: GitTree, known: dict[str, Entry], path: str) -> Entry | None:
        if path in known or path in self._changed:
            return known.get(path)
        return entries_at(tree, [path]).get(path)

    def best(self, plan: Plan) -> Trial:
        """Improve a plan one change at a time, until none brings it nearer."""
        best = self._improved(self.attempt(plan))
        if not best.exact and not plan.newer:
            newer = self.attempt(replace(best.plan, format=FORMATS[-1]))
            if newer.cost[:2] < best.cost[:2]:
                self._tried.clear()
                best = self._improved(newer)
        return self._least(best)

    def _improved(self, best: Trial) -> Trial:
        improved = True
        while improved and not best.exact and self.trials < _MOST_TRIALS:
            improved = False
            for group in self._changes(best):
                untried = [change for change in group if self._is_new(best, change)]
                better = self._together(best, untried) if untried else best
                if better is not best:
                    best, improved = better, True
                if best.exact or self.trials >= _MOST_TRIALS:
                    break
        return best

    def _is_new(self, best: Trial, change: Change) -> bool:
        """Whether a change was not tried yet with its file as it is now."""
        off = best.off.get(change.path, -1) if best.outcome is not None else -2
        name = f"{change.name} {change.path}"
        known = self._tried.get(name) == off
        self._tried[name] = off
        return not known

    def _together(self, best: Trial, changes: Sequence[Change]) -> Trial:
        """Try changes of several files at once, then those alone that brought their file nearer."""
        trial = self.attempt(_edited(best.plan, changes))
        if trial.outcome is None and len(changes) > 1:  # one of them is impossible
            for change in changes:
                best = self._together(best, [change])
            return best
        helped = [c for c in changes if trial.off.get(c.path, 0) < best.off.get(c.path, 0)]
        if helped and len(helped) < len(changes):
            trial = self.attempt(_edited(best.plan, helped))
        return trial if trial.cost < best.cost else best

    def _least(self, best: Trial) -> Trial:
        """Leave out what changes nothing."""
        exporting = [self._exporting(file) for file in best.plan.files]
        for smaller in (*exporting, *_smaller(best.plan)):
            # What is left out saves one setting, which an acceptance in its place would cost.
            trial = self.attempt(smaller(best.plan), accepts=False)
            if trial.cost < best.cost:
                best = trial
        return best

    def _changes(self, best: Trial) -> Iterator[list[Change]]:
        """Settings that could matter for the files that are off: together, if of several files."""
        refused = best.outcome is None
        for change in self._of_moves(best.plan):
            yield [change]
        for change in self._of_modules(best, refused=refused):
            yield [change]
        stray = [path for path in best.off if path in best.given and path not in self._changed]
        yield [Change("leave", path, _leaving(path)) for path in stray]
        layouts = (
            [
                Change(f"layout {number}", path, edit)
                for number, edit in enumerate(_layouts(path, self._statements(path)))
            ]
            for path in best.off
            if path in self.evidence.new and best.plan.sources
        )
        for together in zip_longest(*layouts):
            yield [change for change in together if change is not None]
        for file in best.plan.files:
            yield [Change(f"exports {file.file}", "", self._exporting(file))]
        if best.plan.formatters == "repository" and (best.off or refused):
            yield [Change("formatters", "", lambda plan: replace(plan, formatters="none"))]

    def _statements(self, path: str) -> list[str]:
        """The modules whose import the target lays out otherwise than the base."""
        sides: list[dict[str, bytes]] = []
        known = self.evidence.old.get(path, self.evidence.new[path])
        for file in (known, self.evidence.new[path]):
            rows = file.data.split(b"\n")
            sides.append(
                {
                    node.module: b"\n".join(rows[node.lineno - 1 : node.end_lineno])
                    for node in ast.walk(file.tree)
                    if isinstance(node, ast.ImportFrom) and node.module and not node.level
                }
            )
        old, new = sides
        is_new = path not in self.evidence.old  # then every import of it was laid out anew
        return sorted(n for n in old.keys() & new.keys() if is_new or old[n] != new[n])

    def _exporting(self, file: AuthoredFile) -> Edit:
        """Derive a new package's exports instead of writing them out."""
        homes = {m.name for m in self.evidence.moved}
        named, dotted = file.file.text, self.draft.names.dotted
        new = next((f for p, f in self.evidence.new.items() if named in (p, dotted(p))), None)
        names = {name for _, name in imported(new, self.draft.names)} if new else set()
        exports = Package(file.file, tuple(sorted(names & homes)), 0)
        return lambda plan: replace(
            plan,
            files=tuple(other for other in plan.files if other != file),
            packages=(*plan.packages, exports),
        )

    def _of_modules(self, best: Trial, *, refused: bool) -> Iterator[Change]:
        for source in best.plan.sources:
            path = self._path(source.module.text)
            if refused or path in best.off or source.becomes is not None:
                for number, edit in enumerate(self._of_source(source, path, refused=refused)):
                    yield Change(f"source {number} {source}", path, edit)
        for destination in best.plan.destinations:
            path = self._path(destination.module.text)
            if refused or path in best.off:
                for number, edit in enumerate(self._of_destination(destination)):
                    yield Change(f"destination {number} {destination.symbols}", path, edit)

    @staticmethod
    def _of_moves(plan: Plan) -> Iterator[Change]:
        """What may stay at the old path of a module that moved whole."""
        for move in plan.moves:
            for old in ("warn", "reexport", None):

                def change(plan: Plan, move: Relocation = move, old: str | None = old) -> Plan:
                    moves = (replace(m, old=old) if m == move else m for m in plan.moves)
                    return replace(plan, moves=tuple(moves))

                if move.old is not None and old != move.old:
                    yield Change(f"old {old} {move.module}", "", change)

    def _path(self, name: str) -> str:
        files = {**self.evidence.old, **self.evidence.new}
        return next((p for p in files if name in (p, self.draft.names.dotted(p))), name)

    def _of_source(self, source: Source, path: str, *, refused: bool) -> Iterator[Edit]:
        def having(**fields: object) -> Edit:
            def change(plan: Plan) -> Plan:
                sources = (
                    replace(s, **fields) if s.module == source.module else s  # type: ignore[arg-type]
                    for s in plan.sources
                )
                return replace(plan, sources=tuple(sources))

            return change

        if refused and source.emptied is not None:  # more went than what moved
            yield having(emptied=None)
        if source.imports_back == "sorted":
            yield having(imports_back="in place")
        if path in self.evidence.new:
            names = {name for _, name in imported(self.evidence.new[path], self.draft.names)}
            moved = {m.name for m in self.evidence.moved if m.source == path}
            if names & moved and not source.reexports:
                yield having(reexports=tuple(sorted(names & moved)))
        if source.becomes is not None and not source.docstring_first:
            yield having(docstring_first=True)

    def _of_destination(self, item: Destination) -> Iterator[Edit]:
        def having(**fields: object) -> Edit:
            def change(plan: Plan) -> Plan:
                destinations = (
                    replace(d, **fields) if _same(d, item) else d  # type: ignore[arg-type]
                    for d in plan.destinations
                )
                return replace(plan, destinations=tuple(destinations))

            return change

        if not item.licence and item.header is None:
            yield having(licence=True)
        helpers = tuple(
            name
            for name in item.symbols
            if any(m.name == name and m.is_helper for m in self.evidence.moved)
        )
        if helpers and set(helpers) != set(item.symbols):
            rest = tuple(name for name in item.symbols if name not in helpers)
            yield having(symbols=rest, carry=(*item.carry, *helpers))


def _accepting(plan: Plan, refusal: Refusal) -> Plan | None:
    """Give a plan that accepts what the change did, if that is a judgement."""
    if not isinstance(refusal, Acceptable):
        return None
    module = ModuleName(refusal.module, is_path="/" in refusal.module)
    item = Accept(refusal.kind, module, _DONE, 0, refusal.symbol)
    return None if item in plan.accepts else replace(plan, accepts=(*plan.accepts, item))


def _edited(plan: Plan, changes: Iterable[Change]) -> Plan:
    for change in changes:
        plan = change.edit(plan)
    return plan


def _leaving(path: str) -> Edit:
    return lambda plan: replace(plan, leave=tuple(sorted({*plan.leave, path})))


def _layouts(path: str, statements: list[str]) -> Iterator[Edit]:
    """How imports that lost names are laid out: in the whole file, then in one statement of it."""
    file = ModuleName(path, is_path=True)
    for statement in (None, *statements):
        for style in ("keep", "explode", "collapse"):
            rule = ShrinkRule(file, style, 0, statement)

            def change(plan: Plan, rule: ShrinkRule = rule) -> Plan:
                key = rule.file, rule.statement
                others = tuple(r for r in plan.shrink if (r.file, r.statement) != key)
                return replace(plan, shrink=(*others, rule))

            yield change


def _smaller(plan: Plan) -> Iterator[Edit]:
    for name in plan.import_from:
        yield lambda p, name=name: replace(  # type: ignore[misc]
            p, import_from={n: m for n, m in p.import_from.items() if n != name}
        )
    for item in plan.destinations:
        for copied in item.copy:
            yield lambda p, item=item, copied=copied: replace(  # type: ignore[misc]
                p,
                destinations=tuple(
                    replace(d, copy=tuple(c for c in d.copy if c != copied))
                    if _same(d, item)
                    else d
                    for d in p.destinations
                ),
            )


def _same(one: Destination, other: Destination) -> bool:
    """Whether two tables are one, changed or not: nothing else moves the same first symbol."""
    first = {*one.symbols, *one.carry} & {*other.symbols, *other.carry}
    return one.module == other.module and bool(first)


def _weight(plan: Plan) -> int:
    settings = (
        len(plan.accepts)
        + plan.authored_lines
        + len(plan.import_from)
        + len(plan.shrink)
        + len(plan.leave)
    )
    for source in plan.sources:
        settings += (source.imports_back != "sorted") + bool(source.reexports)
        settings += source.docstring_first
    for item in plan.destinations:
        settings += len(item.copy) + len(item.carry) + item.licence
    return settings


def _distance(have: Entry | None, want: Entry | None) -> int:
    """Lines that differ, at least one."""
    mine = have.data.splitlines() if have else []
    theirs = want.data.splitlines() if want else []
    if not mine or not theirs:
        return max(1, len(mine) + len(theirs))
    changes = edits(mine, theirs)
    off = sum(c.old_end - c.old_start + c.new_end - c.new_start for c in changes)
    return max(1, off)
