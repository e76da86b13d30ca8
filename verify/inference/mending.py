"""What a plan says otherwise where the mover refuses it: as much as the change itself shows.

What was done is done: a cycle, a clash is accepted, a file that does not parse is left alone, and a
symbol that the mover cannot move is none of the plan's; its lines then are authored text.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from transforms.errors import Refusal
from transforms.paths import ModuleName
from transforms.reading.accepts import Acceptable
from transforms.reading.model import Accept, Package, Plan
from transforms.tree import GitTree
from verify.inference.evidence import File

_DONE = "The change did so; nobody has said why."
_QUOTED = re.compile(r"`([^`]+)`")
_INIT = "__init__.py"
_UNREADABLE = ("syntax-error", "deep-input", "encoding")
_EMPTIED = ("not-empty", "still-read")


def mended(plan: Plan, refusal: Refusal, target: GitTree, old: Mapping[str, File]) -> Plan | None:
    """Give a plan that is not refused for this reason; None where none is known.

    `old` are the changed files of the base: a refusal names a line of one of them.
    """
    if isinstance(refusal, Acceptable):
        return _accepting(plan, refusal)
    if refusal.kind.startswith("formatter-"):
        return replace(plan, formatters="none")
    if refusal.kind in _EMPTIED:
        return _keeping(plan)
    if refusal.kind == "accept-unneeded":
        return _accepting_less(plan, refusal)
    if refusal.kind in _UNREADABLE and refusal.place:
        return _leaving(plan, refusal.place.path)
    return (
        _leaving_caller(plan, refusal)
        or _with_init(plan, refusal, target)
        or _without_copies(plan, refusal)
        or _without_route(plan, refusal)
        or _without_setting(plan, refusal)
        or _without_exports(plan, refusal)
        or _one_way(plan, refusal, old)
        or _without_named(plan, refusal, old)
        or _without_table(plan, refusal)
    )


def _accepting(plan: Plan, refusal: Acceptable) -> Plan | None:
    module = ModuleName(refusal.module, is_path="/" in refusal.module)
    item = Accept(refusal.kind, module, _DONE, 0, refusal.symbol)
    return None if item in plan.accepts else replace(plan, accepts=(*plan.accepts, item))


def _accepting_less(plan: Plan, refusal: Refusal) -> Plan | None:
    named = set(_named(refusal))
    accepts = tuple(a for a in plan.accepts if not {a.kind, str(a.module)} <= named)
    return replace(plan, accepts=accepts) if accepts != plan.accepts else None


def _keeping(plan: Plan) -> Plan | None:
    """More went than what moved: what is left of an emptied file is none of the plan's."""
    sources = tuple(replace(source, emptied=None) for source in plan.sources)
    return replace(plan, sources=sources)


def _with_init(plan: Plan, refusal: Refusal, target: GitTree) -> Plan | None:
    """Add an `__init__`: one that the target has, or else one that it lacks, which is left over."""
    if refusal.kind != "no-init":
        return None
    named = [path for path in _named(refusal) if "/" in path and " " not in path]
    inits = [path for path in named if posixpath.basename(path) == _INIT]
    inits += [f"{path}/{_INIT}" for path in named if not path.endswith(".py")]
    for path in sorted(inits, key=lambda path: path not in target.entries()):
        made = Package(ModuleName(path, is_path=True), (), 0)
        if made not in plan.packages:
            return replace(plan, packages=(*plan.packages, made))
    return None


def _leaving(plan: Plan, path: str) -> Plan | None:
    if path in plan.leave:
        return None
    return replace(plan, leave=tuple(sorted({*plan.leave, path})))


def _leaving_caller(plan: Plan, refusal: Refusal) -> Plan | None:
    """Leave a caller alone where that is what a refusal advises."""
    if refusal.place is None or "under `leave`" not in refusal.next_step:
        return None
    return _leaving(plan, refusal.place.path)


def _without_copies(plan: Plan, refusal: Refusal) -> Plan | None:
    if refusal.kind != "copy":
        return None
    gone = set(_named(refusal))
    destinations = tuple(
        replace(d, copy=tuple(name for name in d.copy if name not in gone))
        for d in plan.destinations
    )
    return replace(plan, destinations=destinations) if destinations != plan.destinations else None


def _without_route(plan: Plan, refusal: Refusal) -> Plan | None:
    """Let callers import a name from where it is, where they could not from where they do."""
    gone = set(_named(refusal)) if refusal.cause.startswith("`import_from`") else set[str]()
    routes = {name: module for name, module in plan.import_from.items() if name not in gone}
    return replace(plan, import_from=routes) if routes != plan.import_from else None


def _without_setting(plan: Plan, refusal: Refusal) -> Plan | None:
    """Import nothing for type checkers alone that cannot be."""
    if "`type_checking`" not in f"{refusal.cause} {refusal.next_step}":
        return None
    gone = set(_named(refusal))

    def kept(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in names if name not in gone)

    better = replace(
        plan,
        sources=tuple(replace(s, type_checking=kept(s.type_checking)) for s in plan.sources),
        destinations=tuple(
            replace(d, type_checking=kept(d.type_checking)) for d in plan.destinations
        ),
    )
    return better if better != plan else None


def _without_exports(plan: Plan, refusal: Refusal) -> Plan | None:
    """Export nothing that the package binds already."""
    if refusal.kind not in ("clash", "unknown-symbol"):
        return None
    gone = set(_named(refusal))
    packages = tuple(
        replace(p, exports=tuple(name for name in p.exports if name not in gone))
        if str(p.module) in gone or len(plan.packages) == 1
        else p
        for p in plan.packages
    )
    return replace(plan, packages=packages) if packages != plan.packages else None


def _without_named(plan: Plan, refusal: Refusal, old: Mapping[str, File]) -> Plan | None:
    """Move none of the symbols that a refusal names, or whose line it names, or that use those.

    A helper statement is first carried along.
    """
    there = {name for d in plan.destinations for name in (*d.symbols, *d.carry)}
    file = old.get(refusal.place.path) if refusal.place else None
    line = refusal.place.line if refusal.place else None
    bound = set(file.names_at(line or 0)) if file else set[str]()
    for names in (set(_named(refusal)) & there, bound & there):
        if names:
            return _carrying(plan, names, old) or without(plan, names)
    if file is None:
        return None
    for names in (bound, set(_named(refusal))):
        users = {n for n, item in file.defined().items() if n in there}
        users = {name for name in users if names & file.mentions(file.defined()[name])}
        if users:
            return without(plan, users)
    return None


def _carrying(plan: Plan, names: set[str], old: Mapping[str, File]) -> Plan | None:
    helpers = {
        name
        for file in old.values()
        for name, item in file.defined().items()
        if name in names and item.is_helper
    }
    destinations = tuple(
        replace(
            d,
            symbols=tuple(name for name in d.symbols if name not in helpers),
            carry=(*d.carry, *(name for name in d.symbols if name in helpers)),
        )
        for d in plan.destinations
    )
    return replace(plan, destinations=destinations) if destinations != plan.destinations else None


def _one_way(plan: Plan, refusal: Refusal, old: Mapping[str, File]) -> Plan | None:
    """Of what a module gives and what it gets in one change, move the larger part."""
    if "both a source and a destination" not in refusal.cause:
        return None
    module = next(iter(_named(refusal)))
    lines = {name: d.lines for file in old.values() for name, d in file.defined().items()}
    sides: list[set[str]] = [set(), set()]
    for item in plan.destinations:
        source = str(item.source or plan.sources[0].module)
        for side, there in zip(sides, (str(item.module), source), strict=True):
            side.update((*item.symbols, *item.carry) if there == module else ())
    less = min(sides, key=lambda names: sum(lines.get(name, 0) for name in names))
    return without(plan, less)


def _without_table(plan: Plan, refusal: Refusal) -> Plan | None:
    """Leave a table out that a refusal names by its line or by its module."""
    named = set(_named(refusal))
    line = refusal.place.line if refusal.place and refusal.place.path == plan.path else None
    for item in plan.destinations:
        if item.line == line or str(item.module) in named:
            return without(plan, (*item.symbols, *item.carry))
    for move in plan.moves:
        if {str(move.module), str(move.to)} & named and (len(plan.moves) > 1 or plan.sources):
            return replace(plan, moves=tuple(m for m in plan.moves if m != move))
    return None


def numbered(plan: Plan) -> Plan:
    """Give each table a line of its own, by which a refusal names it."""
    return replace(
        plan,
        sources=tuple(replace(s, line=-1) for s in plan.sources),
        destinations=tuple(replace(d, line=n + 1) for n, d in enumerate(plan.destinations)),
    )


def without(plan: Plan, names: Iterable[str]) -> Plan | None:
    """Move none of these symbols. None where nothing is left that moves."""
    gone = set(names)
    destinations = tuple(
        replace(
            d,
            symbols=tuple(name for name in d.symbols if name not in gone),
            carry=tuple(name for name in d.carry if name not in gone),
        )
        for d in plan.destinations
    )
    destinations = tuple(d for d in destinations if d.symbols or d.carry)
    used = {d.source or plan.sources[0].module for d in destinations}
    sources = tuple(s for s in plan.sources if s.becomes or s.module in used)
    if not sources and not plan.moves:
        return None
    return replace(
        plan,
        sources=sources,
        destinations=destinations,
        packages=tuple(
            replace(p, exports=tuple(name for name in p.exports if name not in gone))
            for p in plan.packages
        ),
        import_from={n: m for n, m in plan.import_from.items() if n not in gone},
    )


def _named(refusal: Refusal) -> list[str]:
    return [name for text in (refusal.cause, refusal.next_step) for name in _QUOTED.findall(text)]
