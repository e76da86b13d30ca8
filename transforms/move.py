"""A plan resolved against a tree: which statements leave which module for which other one.

Everything that can be refused by looking at the sources alone is refused here: unknown symbols,
names that are not top-level, definitions that would be torn apart, mutations left behind.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from transforms import plan as plans
from transforms.document import Document
from transforms.errors import Place, Refusal, nearest
from transforms.names import Located, Names
from transforms.symbols import Symbols, is_string


DocumentOpener = Callable[[str], Document]


@dataclass(eq=False, slots=True)
class SourceState:
    """A source under way. `after` is where what is left of it lies: elsewhere if it `becomes`."""

    spec: plans.Source
    located: Located
    after: Located
    document: Document
    moved: dict[str, Group] = field(default_factory=dict)
    cut: dict[int, Group] = field(default_factory=dict)  # top-level statement -> where it goes

    @property
    def symbols(self) -> Symbols:
        return self.document.symbols

    def place(self, line: int) -> Place:
        return self.document.module.place(line)


@dataclass(eq=False, slots=True)
class Group:
    """One `[[destination]]` table: symbols that land together in one module."""

    spec: plans.Destination
    source: SourceState
    located: Located
    body: list[int] = field(default_factory=list)  # statements, in the order they land
    carried: list[int] = field(default_factory=list)
    copied: list[int] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Move:
    """The resolved plan. `homes` answers where a moved name lives now."""

    plan: plans.Plan
    names: Names
    sources: list[SourceState]
    groups: list[Group]
    routes: dict[str, str]  # symbol -> dotted module that callers import it from
    open_document: DocumentOpener
    package_names: dict[str, set[str]] = field(default_factory=dict)  # what a new `__init__` binds

    def source_named(self, dotted: str) -> SourceState | None:
        return next((s for s in self.sources if s.located.dotted == dotted), None)

    def group_of(self, dotted: str, name: str) -> Group | None:
        """The destination of `name`, if it leaves the module called `dotted`."""
        source = self.source_named(dotted)
        return source.moved.get(name) if source else None

    def home(self, dotted: str, name: str) -> str | None:
        """The module that defines `name` after the move, if it stood in the source `dotted`."""
        source = self.source_named(dotted)
        if source is None:
            return None
        group = source.moved.get(name)
        if group is not None:
            return group.located.dotted
        if source.spec.becomes and (
            name in source.symbols.defined or name in source.symbols.imports
        ):
            return source.after.dotted
        return None

    def route(self, dotted: str, name: str) -> str | None:
        """The module that callers import `name` from, if it changes."""
        home = self.home(dotted, name)
        if home is None:
            return None
        if name in self.routes:
            return self.routes[name]
        if name in self.package_names.get(dotted, ()):
            return dotted  # the module became a package that still offers the name
        group = self.group_of(dotted, name)
        if group is not None and group.spec.import_from is not None:
            return self.names.locate_new(
                group.spec.import_from, self.plan.place(group.spec.line), package=True
            ).dotted
        return home


def resolve_move(plan: plans.Plan, names: Names, open_document: DocumentOpener) -> Move:
    """Find every module and statement that the plan names. Raises `Refusal`."""
    sources = [_source(spec, plan, names, open_document) for spec in plan.sources]
    move = Move(plan, names, sources, [], {}, open_document)
    for spec in plan.destinations:
        move.groups.append(_group(spec, move))
    for name, module in plan.import_from.items():
        located = names.locate_new(module, plan.place(1), package=True)
        move.routes[name] = located.dotted if not module.is_path else names.dotted(module.text)
    for group in move.groups:
        _claim(group, move)
    for group in move.groups:
        _order(group)
    for source in sources:
        _check_torn(source)
        _check_mutations(source)
        _check_rebinding(source)
    return move


def _source(
    spec: plans.Source, plan: plans.Plan, names: Names, open_document: DocumentOpener
) -> SourceState:
    place = plan.place(spec.line)
    located = names.locate(spec.module, place)
    after = located
    if spec.becomes is not None:
        after = names.locate_new(spec.becomes, place)
        if after.exists:
            raise _already_applied(f"`{after.dotted}` is there", place)
        if not after.dotted.startswith(located.dotted + "."):
            raise Refusal(
                "plan-schema",
                f'`becomes = "{after.dotted}"` does not lie in the package `{located.dotted}`.',
                next_step=f"Write a name such as `{located.dotted}.core`.",
                place=place,
            )
    return SourceState(spec, located, after, open_document(located.path))


def _group(spec: plans.Destination, move: Move) -> Group:
    place = move.plan.place(spec.line)
    source = _source_of(spec, move)
    located = move.names.locate_new(spec.module, place)
    if any(located.path == other.located.path for other in move.sources):
        raise Refusal(
            "plan-schema",
            f"`{located.dotted}` is both a source and a destination.",
            next_step="Move to another module; order inside a module is not Repot's to change.",
            place=place,
        )
    return Group(spec, source, located)


def _source_of(spec: plans.Destination, move: Move) -> SourceState:
    if spec.source is None:
        return move.sources[0]
    for source in move.sources:
        if str(spec.source) in (
            str(source.spec.module),
            source.located.dotted,
            source.located.path,
        ):
            return source
    raise Refusal(
        "plan-schema",
        f'`from = "{spec.source}"` is none of the plan\'s sources.',
        next_step="Valid here: " + ", ".join(f"`{s.spec.module}`" for s in move.sources) + ".",
        place=move.plan.place(spec.line),
    )


def _claim(group: Group, move: Move) -> None:
    """Give the statements that bind the group's symbols to the group."""
    source, spec = group.source, group.spec
    for name in (*spec.symbols, *spec.carry, *spec.copy):
        if name not in source.symbols.defined:
            raise _unknown_symbol(name, group, move)
    for name in spec.symbols:
        source.moved[name] = group
        for index in _statements_of(source, name):
            source.cut[index] = group
            if index not in group.body:
                group.body.append(index)
    for name in spec.carry:
        source.moved[name] = group
        for index in _statements_of(source, name):
            source.cut[index] = group
            if index not in group.carried:
                group.carried.append(index)
    for name in spec.copy:
        _check_copy(name, group)
        for index in source.symbols.defined[name]:
            if index not in group.copied:
                group.copied.append(index)


def _statements_of(source: SourceState, name: str) -> Iterable[int]:
    """The statements that bind a symbol, with the string that documents it."""
    for index in source.symbols.defined[name]:
        yield index
        documented = source.symbols.attribute_docstring(index)
        if documented is not None:
            yield documented


def _order(group: Group) -> None:
    """Put statements that mutate a moved name behind it, and behind all they use of the group."""
    symbols = group.source.symbols
    members = set(group.body)
    for name in group.spec.symbols:
        for index in symbols.mutations.get(name, []):
            if index in members or not _travels(index, name, group):
                continue
            needed = [
                member
                for member in group.body
                if symbols.binds(member) & set(symbols.uses([index]))
            ]
            group.body.insert(
                group.body.index(needed[-1]) + 1 if needed else len(group.body), index
            )
            members.add(index)
            group.source.cut[index] = group


def _travels(index: int, name: str, group: Group) -> bool:
    """Whether a statement that mutates `name` can go along: it binds nothing that stays."""
    symbols = group.source.symbols
    statement = symbols.statements[index]
    bound = {
        item for item in symbols.binds(index) if item != "_" and symbols.defined[item] != [index]
    }
    own = {item for item in symbols.binds(index) if item not in bound and item != "_"}
    moved = group.source.moved
    others = {other for other in symbols.mutations if index in symbols.mutations[other]} - {name}
    stays = [item for item in sorted(own | bound | others) if moved.get(item) is not group]
    if not stays:
        return True
    raise Refusal(
        "mutation",
        f"The statement changes `{name}`, which moves, and `{stays[0]}`, which does not.",
        next_step=f"Move `{stays[0]}` to the same module, or split the statement first.",
        place=group.source.place(statement.line),
    )


def _check_copy(name: str, group: Group) -> None:
    symbols = group.source.symbols
    for index in symbols.defined[name]:
        statement = symbols.statements[index]
        if not isinstance(statement.node, (ast.Assign, ast.AnnAssign, ast.If, ast.Try)):
            raise Refusal(
                "copy",
                f"`{name}` is a definition; a second copy would be another object.",
                next_step=f"List `{name}` under `symbols` to move it, or leave it to be imported.",
                place=group.source.place(statement.line),
            )
    if name in symbols.rebound:
        reference = symbols.rebound[name]
        raise Refusal(
            "copy",
            f"`{name}` is re-bound through `global`; a copy would not follow.",
            next_step=f"Move `{name}` with the functions that re-bind it.",
            place=group.source.place(getattr(reference.node, "lineno", 1)),
        )


def _unknown_symbol(name: str, group: Group, move: Move) -> Refusal:
    source, place = group.source, move.plan.place(group.spec.line)
    symbols, where = source.symbols, source.located
    if group.located.exists and name in move.open_document(group.located.path).symbols.defined:
        return _already_applied(
            f"`{name}` is not defined in `{where.dotted}`, but in `{group.located.dotted}`", place
        )
    if name in symbols.imports:
        imported = symbols.imports[name][0]
        return Refusal(
            "not-defined-here",
            f"`{name}` is imported by `{where.dotted}`, not defined in it.",
            next_step="Move it from the module that defines it.",
            place=source.place(imported.node.lineno),
        )
    nested = _nested(symbols.module.tree, name)
    if nested is not None:
        return Refusal(
            "not-top-level",
            f"`{name}` is not a top-level symbol of `{where.dotted}`.",
            next_step="Move the definition around it; a method cannot move on its own.",
            place=source.place(nested),
        )
    close = nearest(name, symbols.defined)
    hint = "Did you mean " + " or ".join(f"`{item}`" for item in close) + "? " if close else ""
    return Refusal(
        "unknown-symbol",
        f"`{where.dotted}` ({where.path}) defines no `{name}`.",
        next_step=f"{hint}The name is looked up among the module's top-level symbols.",
        place=place,
    )


def _already_applied(cause: str, place: Place) -> Refusal:
    return Refusal(
        "already-applied",
        f"The plan was already applied: {cause}.",
        next_step="Nothing is left to do; to see what it did, name the commit before with `--at`.",
        place=place,
    )


def _nested(tree: ast.Module, name: str) -> int | None:
    for node in ast.walk(tree):
        if (
            isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            and node.name == name
        ):
            return node.lineno
    return None


def _check_torn(source: SourceState) -> None:
    """A statement goes whole: every name that it binds has the same destination."""
    symbols = source.symbols
    for index, group in source.cut.items():
        statement = symbols.statements[index]
        if statement.shared:
            raise Refusal(
                "shared-line",
                "Another statement stands on the same line, behind a semicolon.",
                next_step="Put each statement on a line of its own first.",
                place=source.place(statement.line),
            )
        for name in sorted(symbols.binds(index)):
            if name == "_" or source.moved.get(name) is group:
                continue
            if is_string(statement.node) or name in symbols.imports and name not in symbols.defined:
                if not is_string(statement.node):
                    _refuse_guarded_import(source, index, name)
                continue
            raise Refusal(
                "torn-definition",
                f"The statement also binds `{name}`, which does not move to `{group.located.dotted}`.",
                next_step=f"Add `{name}` to the same `symbols`, or split the statement first.",
                place=source.place(statement.line),
            )


def _refuse_guarded_import(source: SourceState, index: int, name: str) -> None:
    statement = source.symbols.statements[index]
    raise Refusal(
        "torn-definition",
        f"The statement defines a moved symbol and imports `{name}` in one guard.",
        next_step="Split the guard first, or move another symbol.",
        place=source.place(statement.line),
    )


def _check_mutations(source: SourceState) -> None:
    """What moves is not changed at import time by what stays."""
    symbols = source.symbols
    for name, group in source.moved.items():
        for index in symbols.mutations.get(name, []):
            if source.cut.get(index) is not group:
                statement = symbols.statements[index]
                raise Refusal(
                    "mutation",
                    f"The statement changes `{name}` at import time, and it would stay behind.",
                    next_step=f"Leave `{name}` here, or move all that this statement binds with it.",
                    place=source.place(statement.line),
                )


def _check_rebinding(source: SourceState) -> None:
    """A global that a function re-binds lives in one module, with every function that does."""
    symbols = source.symbols
    for name, reference in sorted(symbols.rebound.items()):
        index = symbols.statement_at(reference.node).index
        owner, writer = source.moved.get(name), source.cut.get(index)
        readers = {
            source.cut.get(other)
            for other in range(len(symbols.statements))
            if name in symbols.uses([other])
        }
        if owner is writer and readers <= {owner}:
            continue
        where = "moves" if owner else "stays"
        raise Refusal(
            "rebinding",
            f"`{name}` {where}, but it is re-bound through `global` here and used across the cut; "
            "an import would see the old value.",
            next_step=f"Move `{name}` together with every function that uses it.",
            place=source.place(getattr(reference.node, "lineno", 1)),
        )
