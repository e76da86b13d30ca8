"""A plan as it fits a tree of the branch: without symbols that went, with those that came.

A symbol that the branch deleted or renamed is dropped. One that it added stays with its neighbours:
it goes where those above and below it go. Where they part it goes with whoever uses it, if those
are in one place, and else it stays; where the source itself goes, a person says where. A source
that the branch renamed is followed where its bytes are the same.

What is decided for one commit of the branch holds for those after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from transforms.errors import Place, Refusal
from transforms.imports.document import Document
from transforms.paths import ModuleName
from transforms.reading.model import Destination, Plan, Source
from transforms.source.symbols import Symbols
from transforms.tree import GitTree
from transforms.tree.names import Names
from verify.carry.merging import exact_renames

_SPECIAL = re.compile(r"__\w+__")  # such as `__all__`: part of its module, wherever code goes
Fate = int | None  # the number of a plan's destination; None stays in the source


@dataclass(frozen=True, slots=True)
class Told:
    """Something that a person is told of the plan, and where: `dropped`, `added`, `skipped`, ..."""

    kind: str
    path: str
    message: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Fit:
    """The plan for one tree, and what was done to it. `why` says what makes it fit nowhere.

    `made`: the tree has the move already.
    """

    plan: Plan
    told: tuple[Told, ...] = ()
    why: Refusal | None = None
    made: bool = False


@dataclass(slots=True)
class _Module:
    """One source: where it lies now, what it had, and where each of its symbols goes."""

    number: int
    spec: Source
    path: str
    fates: dict[str, Fate]
    known: frozenset[str]


class Fitting:
    """Fits a plan to the trees of a branch, which follow one another.

    `puts` says of added symbols where they go: the name of a module, as the plan has it, or of the
    source itself.
    """

    def __init__(self, plan: Plan, parent: GitTree, puts: Mapping[str, str]) -> None:
        self._plan, self._puts = plan, dict(puts)
        self._names = Names(parent, plan.roots)
        self._before = parent
        self._modules = [
            self._module(number, spec, parent) for number, spec in enumerate(plan.sources)
        ]

    def _module(self, number: int, spec: Source, parent: GitTree) -> _Module:
        path = self._names.locate(spec.module, self._plan.place(spec.line)).path
        symbols = _symbols(parent, path, newer=self._plan.newer)
        fates: dict[str, Fate] = dict.fromkeys(symbols.defined)
        for place, item in enumerate(self._plan.destinations):
            if self._is_from(item, number, spec, path):
                fates.update(dict.fromkeys((*item.symbols, *item.carry), place))
        return _Module(number, spec, path, fates, frozenset(symbols.defined))

    def _is_from(self, item: Destination, number: int, spec: Source, path: str) -> bool:
        if item.source is None:
            return number == 0
        return str(item.source) in (str(spec.module), path, self._names.dotted(path))

    def fit(self, tree: GitTree) -> Fit:
        """Fit the plan to the next tree. Raises `Refusal("carry-where")` to ask a person."""
        renamed = exact_renames(self._before, tree)
        self._before = tree
        told: list[Told] = []
        plan = self._plan
        for module in self._modules:
            if module.path not in tree.entries():
                new = renamed.get(module.path)
                if new is None:
                    return Fit(plan, tuple(told), self._gone(module))
                module.path = new
            try:
                symbols = _symbols(tree, module.path, newer=plan.newer)
            except Refusal as refusal:
                return Fit(plan, tuple(told), refusal)
            added = self._place_added(module, symbols)
            gone = [n for n in sorted(module.known) if n not in symbols.defined]
            plan = _without(plan, module, gone, told)
            plan = _with(plan, module, symbols, added, told)
            plan = self._renamed(plan, module, told)
        plan = self._anchored(plan, tree)
        return Fit(plan, tuple(told), _emptied(plan, self._plan) or _named_still(plan, told))

    def _gone(self, module: _Module) -> Refusal:
        return Refusal(
            "carry-source",
            f"The branch has no `{module.path}`, whose code the split moves, and no file with the "
            "same bytes that came instead.",
            next_step="Make this commit's change on what the split left, by hand.",
            place=Place(module.path),
        )

    # Symbols that came

    def _place_added(self, module: _Module, symbols: Symbols) -> list[str]:
        """Say where the branch's own symbols go; gives those that move, in the module's order."""
        order = _order(symbols)
        for run, above, below in _runs(order, module.fates):
            for name in run:
                module.fates[name] = self._fate(module, symbols, name, above, below)
        return [
            name
            for name in order
            if name not in module.known and module.fates.get(name) is not None
        ]

    def _fate(
        self, module: _Module, symbols: Symbols, name: str, above: str | None, below: str | None
    ) -> Fate:
        if name in self._puts:
            return self._put(module, name)
        beside = {module.fates[other] for other in (above, below) if other is not None}
        if len(beside) == 1:
            (fate,) = beside
        else:
            users = _users(symbols, name, module.fates)
            fate = users.pop() if len(users) == 1 else None
        if fate is None and module.spec.emptied == "delete":
            raise self._ask(module, symbols, name)
        return fate

    def _put(self, module: _Module, name: str) -> Fate:
        wanted = self._puts[name]
        if wanted in (str(module.spec.module), module.path):
            return None
        for place, item in enumerate(self._plan.destinations):
            if wanted == str(item.module) and self._is_from(
                item, module.number, module.spec, module.path
            ):
                return place
        raise Refusal(
            "carry-where",
            f"`--put {name}={wanted}` names no module to which code of `{module.spec.module}` "
            "goes.",
            next_step=f"Name one of {self._homes(module)}.",
            place=Place(module.path),
        )

    def _ask(self, module: _Module, symbols: Symbols, name: str) -> Refusal:
        statement = symbols.statements[symbols.defined[name][0]]
        return Refusal(
            "carry-where",
            f"The branch adds `{name}` to `{module.spec.module}`, which goes with the split; its "
            "neighbours do not say where it belongs.",
            next_step=f"Say it with `--put {name}=MODULE`: {self._homes(module)}.",
            place=Place(module.path, statement.line),
        )

    def _homes(self, module: _Module) -> str:
        homes = dict.fromkeys(
            str(item.module)
            for item in self._plan.destinations
            if self._is_from(item, module.number, module.spec, module.path)
        )
        own = [] if module.spec.emptied == "delete" else [str(module.spec.module)]
        return ", ".join(f"`{home}`" for home in [*homes, *own])

    # The rest of the plan

    def _renamed(self, plan: Plan, module: _Module, told: list[Told]) -> Plan:
        """Let the plan name a source by the path that the branch gave it."""
        old = self._names.locate(module.spec.module, plan.place(module.spec.line)).path
        if module.path == old:
            return plan
        told.append(Told("renamed", old, f"the branch renamed it to {module.path}"))
        new = ModuleName(module.path, is_path=True)
        sources = tuple(
            replace(spec, module=new) if number == module.number else spec
            for number, spec in enumerate(plan.sources)
        )
        destinations = tuple(
            replace(item, source=new)
            if item.source is not None and self._is_from(item, module.number, module.spec, old)
            else item
            for item in plan.destinations
        )
        shrink = tuple(
            replace(rule, file=new)
            if str(rule.file) in (old, str(module.spec.module), self._names.dotted(old))
            else rule
            for rule in plan.shrink
        )
        return replace(plan, sources=sources, destinations=destinations, shrink=shrink)

    def _anchored(self, plan: Plan, tree: GitTree) -> Plan:
        """Let code land at the end of a module whose symbol beside it the branch deleted."""
        names = Names(tree, plan.roots)
        for spec in plan.sources:
            names.locate(spec.module, plan.place(spec.line))
        found = []
        for item in plan.destinations:
            anchor = item.before or item.after
            if anchor:
                path = names.locate_new(item.module, plan.place(item.line)).path
                here = _symbols(tree, path, newer=plan.newer) if path in tree.entries() else None
                if here is not None and anchor not in here.bindings:
                    item = replace(item, before=None, after=None)  # noqa: PLW2901
            found.append(item)
        return replace(plan, destinations=tuple(found))


def _symbols(tree: GitTree, path: str, *, newer: bool) -> Symbols:
    return Document(path, tree.read(path), "", sorter=False, newer=newer).symbols


def _order(symbols: Symbols) -> list[str]:
    """The names that a module defines, as they first stand in it."""
    named = {n: places[0] for n, places in symbols.defined.items() if not _SPECIAL.fullmatch(n)}
    return sorted(named, key=lambda name: (named[name], name))


def _runs(
    order: Sequence[str], fates: Mapping[str, Fate]
) -> Iterator[tuple[list[str], str | None, str | None]]:
    """Names whose place nobody knows, as far as they stand together, with those around them."""
    run: list[str] = []
    above: str | None = None
    for name in order:
        if name not in fates:
            run.append(name)
            continue
        if run:
            yield run, above, name
            run = []
        above = name
    if run:
        yield run, above, None


def _users(symbols: Symbols, name: str, fates: Mapping[str, Fate]) -> set[Fate]:
    """Where the code goes that uses a name."""
    found: set[Fate] = set()
    for statement in symbols.statements:
        if not statement.is_import and name in symbols.uses([statement.index]):
            binds = symbols.binds(statement.index) - {name}
            found |= {fates[other] for other in binds if other in fates} or {None}
    return found


def _without(plan: Plan, module: _Module, gone: Sequence[str], told: list[Told]) -> Plan:
    """Take symbols off the plan that the branch has no longer."""
    listed = {name for name in gone if module.fates.get(name) is not None}
    copied = {n for item in plan.destinations for n in item.copy}
    gone = [name for name in gone if name in listed | copied]
    what = "is gone in the branch: the plan goes without it"
    told += [Told("dropped", module.path, f"`{name}` {what}", name) for name in gone]
    if not gone:
        return plan

    def left(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in names if name not in gone)

    destinations = [
        replace(
            item,
            symbols=left(item.symbols),
            carry=left(item.carry),
            copy=left(item.copy),
            type_checking=left(item.type_checking),
        )
        for item in plan.destinations
    ]
    sources = [
        replace(
            spec,
            reexports=None if spec.reexports is None else left(spec.reexports),
            type_checking=left(spec.type_checking),
        )
        if number == module.number
        else spec
        for number, spec in enumerate(plan.sources)
    ]
    packages = [
        replace(item, exports=tuple(n for n in item.exports if n not in listed))
        for item in plan.packages
    ]
    routes = {name: home for name, home in plan.import_from.items() if name not in listed}
    return replace(
        plan,
        destinations=tuple(destinations),
        sources=tuple(sources),
        packages=tuple(packages),
        import_from=routes,
    )


def _with(
    plan: Plan, module: _Module, symbols: Symbols, added: Sequence[str], told: list[Told]
) -> Plan:
    """Put the branch's own symbols beside their neighbours."""
    order = _order(symbols)
    destinations = list(plan.destinations)
    for name in added:
        place = module.fates[name]
        if place is None:
            continue
        item = destinations[place]
        above = [other for other in order[: order.index(name)] if other in item.symbols]
        below = [other for other in order[order.index(name) :] if other in item.symbols]
        if above:
            at = item.symbols.index(above[-1]) + 1
        else:
            at = item.symbols.index(below[0]) if below else len(item.symbols)
        names = (*item.symbols[:at], name, *item.symbols[at:])
        destinations[place] = replace(item, symbols=names)
        where = str(item.module)
        told.append(Told("added", module.path, f"`{name}` of the branch goes to {where}"))
    told += [
        Told("added", module.path, f"`{name}` of the branch stays in {module.spec.module}")
        for name in order
        if name not in module.known and name not in added
    ]
    return replace(plan, destinations=tuple(destinations))


def _emptied(plan: Plan, whole: Plan) -> Refusal | None:
    """Refuse where the branch has nothing left of what the plan moves."""
    if plan.moves or any(item.symbols or item.carry for item in plan.destinations):
        return None
    if not whole.destinations:
        return None
    return Refusal(
        "carry-source",
        "The branch has nothing left of what the split moves.",
        next_step="Make this commit's change on what the split left, by hand.",
        place=Place(str(whole.sources[0].module)),
    )


def _named_still(plan: Plan, told: Sequence[Told]) -> Refusal | None:
    """Refuse where literal text of the plan names a symbol that the branch has no longer."""
    gone = [item.name for item in told if item.kind == "dropped"]
    if not gone:
        return None
    word = re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, gone)) + r")(?!\w)")
    texts = [(str(f.file), f.text) for f in plan.files]
    texts += [(str(e.file), e.new) for e in plan.edits]
    for file, text in texts:
        found = word.search(text)
        if found:
            return Refusal(
                "carry-authored",
                f"Literal text of the split, in `{file}`, names `{found[0]}`, which the branch "
                "deleted or renamed.",
                next_step="Make this commit's change on what the split left, by hand.",
                place=Place(file),
            )
    return None


def without_empty(plan: Plan) -> Plan:
    """Leave out tables that move nothing any longer."""
    destinations = tuple(item for item in plan.destinations if item.symbols or item.carry)
    return replace(plan, destinations=destinations)
