"""Which statements leave with which group, in which order, and what cannot be cut.

Everything that can be refused by looking at the sources alone is refused here: unknown symbols,
names that are not top-level, definitions that would be torn apart, changes left behind.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable

from transforms.errors import Place, Refusal, nearest
from transforms.move.copies import refuse_copy
from transforms.move.state import Group, Move, SourceState
from transforms.reading.accepts import Accepts
from transforms.reading.writer import quote
from transforms.syntax.kinds import is_string

_KEEP = "Keep the order of the source"
# Names that mean something to the import system in the module that binds them.
_HOOKS = frozenset(
    {"__all__", "__getattr__", "__dir__", "__path__", "__doc__", "__name__", "__file__"}
    | {"__package__", "__spec__", "__loader__", "__annotations__", "__builtins__", "__dict__"}
)


def claim_statements(move: Move) -> None:
    """Give every group its statements. Raises `Refusal`."""
    for group in move.groups:
        _claim(group, move)
    for source in move.sources:
        _check_reexports(source, move)
    for group in move.groups:
        _arrange(group)
    for source in move.sources:
        _check_torn(source)
        _check_mutations(source)
        _check_rebinding(source, move.accepts)
        _check_histories(source)
    by_path: dict[str, list[Group]] = {}
    for group in move.groups:
        by_path.setdefault(group.located.path, []).append(group)
    for groups in by_path.values():
        _check_positions(groups)


def _claim(group: Group, move: Move) -> None:
    """Find the statements that bind the group's symbols."""
    source, spec = group.source, group.spec
    for name in (*spec.symbols, *spec.carry, *spec.copy):
        if name not in source.symbols.defined:
            raise _unknown_symbol(name, group, move)
        _refuse_hook(name, group)
    for name in (*spec.symbols, *spec.carry):
        source.moved[name] = group
        for index in _statements_of(source, name):
            source.cut[index] = group
    for name in spec.copy:
        refuse_copy(name, source, move.accepts)
        group.copied += [
            index
            for index in sorted({*source.symbols.defined[name], *_changes(source, name)})
            if index not in group.copied
        ]
    group.copied.sort()


def _check_reexports(source: SourceState, move: Move) -> None:
    _check_old(source, move)
    if source.spec.emptied == "delete" and source.spec.reexports != ():
        raise Refusal(
            "plan-schema",
            f"`{source.located.dotted}` is to be deleted, and to offer names that moved.",
            next_step="Drop `emptied` or `reexports`.",
            place=move.plan.place(source.spec.line),
        )
    for name in source.spec.reexports or ():
        if name not in source.moved:
            close = nearest(name, source.moved)
            hint = f"Did you mean `{close[0]}`? " if close else ""
            raise Refusal(
                "plan-schema",
                f"`reexports` lists `{name}`, which does not move.",
                next_step=f"{hint}List moved symbols only; what stays is there anyway.",
                place=move.plan.place(source.spec.line),
            )


def _check_old(source: SourceState, move: Move) -> None:
    """A module that is to warn of moved names stays, and has no `__getattr__` of its own."""
    if source.spec.old is None:
        return
    place = move.plan.place(source.spec.line)
    if source.spec.emptied == "delete" or source.spec.becomes is not None:
        raise Refusal(
            "plan-schema",
            f"`{source.located.dotted}` will not be there to offer names that moved.",
            next_step="Drop `old`, or leave the module; one that moves whole has a `[[move]]`.",
            place=place,
        )
    if "__getattr__" in source.symbols.bindings:
        raise Refusal(
            "clash",
            f"`{source.located.dotted}` has a `__getattr__` of its own, and `old` would add one.",
            next_step="Let that one give the names, by an edit under [[author]], and drop `old`.",
            place=place,
        )


def _refuse_hook(name: str, group: Group) -> None:
    source = group.source
    places = source.symbols.bindings[name]
    plain = [index for index, _ in places if source.symbols.statements[index].is_import]
    if name not in _HOOKS and not plain:
        return
    why = "acts on the module that binds it" if not plain else "is also bound by an import"
    line = source.symbols.statements[plain[0] if plain else places[0][0]].line
    raise Refusal(
        "not-movable",
        f"`{name}` {why}; it cannot move.",
        next_step="Take it off the list; it stays in the source.",
        place=source.place(line),
    )


def _changes(source: SourceState, name: str) -> list[int]:
    return source.symbols.mutations.get(name, [])


def _statements_of(source: SourceState, name: str) -> Iterable[int]:
    """The statements that bind a symbol, with the strings that document it."""
    for index in source.symbols.defined[name]:
        yield from _with_docstring(source, index)


def _with_docstring(source: SourceState, index: int) -> list[int]:
    documented = source.symbols.attribute_docstring(index)
    return [index] if documented is None else [index, documented]


def _arrange(group: Group) -> None:
    """Put the symbols in the plan's order, and what binds or changes them later behind them.

    Where the plan's order is that of the source, every statement keeps it.
    """
    source = group.source
    for name in (*group.spec.symbols, *group.spec.carry):
        for index in _changes(source, name):
            if index not in source.cut and _travels(index, name, group):
                source.cut[index] = group
    carried = {index for name in group.spec.carry for index in source.order.events(name)}
    group.carried = sorted(
        member
        for index in carried
        if source.cut.get(index) is group
        for member in _with_docstring(source, index)
    )
    later: set[int] = set()
    for name in group.spec.symbols:
        bound = source.symbols.defined[name]
        first = source.order.events(name)[0]
        _append(group, [index for index in bound if index <= first] or bound[:1])
        later.update(bound, _changes(source, name))
    in_order = group.body == sorted(group.body)
    for index in sorted(later):
        if source.cut.get(index) is group and index not in group.carried:
            _append_behind(group, index)
    if in_order:
        group.body.sort()


def _append(group: Group, indices: Iterable[int]) -> None:
    for index in indices:
        for member in _with_docstring(group.source, index):
            if member not in group.body and member not in group.carried:
                group.body.append(member)


def _append_behind(group: Group, index: int) -> None:
    """Put a later binding or change of a symbol behind what it needs and what it must not reach."""
    if index in group.body:
        return
    source = group.source
    touched = {
        name
        for name in source.moved
        if source.moved[name] is group and index in source.order.events(name)
    }
    needed = set(source.symbols.uses([index]))
    position = 0
    for place, member in enumerate(group.body):
        if (
            source.symbols.binds(member) & needed
            or (member < index and any(member in source.order.effects(n) for n in needed | touched))
            or (member < index and source.order.read_at_import(member) & touched)
        ):
            position = place + 1
    while position < len(group.body) and is_string(
        source.symbols.statements[group.body[position]].node
    ):
        position += 1
    group.body[position:position] = _with_docstring(source, index)


def _travels(index: int, name: str, group: Group) -> bool:
    """Whether a statement that changes `name` can go along: it touches nothing that stays."""
    source = group.source
    symbols = source.symbols
    others = {other for other in symbols.mutations if index in symbols.mutations[other]} - {name}
    own = {item for item in symbols.binds(index) if item != "_"}
    stays = [item for item in sorted(own | others) if not _is_free(item, index, group)]
    if not stays:
        return True
    statement = symbols.statements[index]
    raise Refusal(
        "mutation",
        f"The statement changes `{name}`, which moves, and `{stays[0]}`, which does not.",
        next_step=f"Move `{stays[0]}` to the same module, or split the statement first.",
        place=source.place(statement.line),
    )


def _is_free(name: str, index: int, group: Group) -> bool:
    """Whether a name moves along, or is a loop's own and used nowhere else."""
    source = group.source
    if source.moved.get(name) is group:
        return True
    node = source.symbols.statements[index].node
    if not isinstance(node, (ast.For, ast.AsyncFor, ast.With, ast.AsyncWith)):
        return False
    elsewhere = [i for i in range(len(source.symbols.statements)) if i != index]
    return source.symbols.defined.get(name) == [index] and name not in source.symbols.uses(
        elsewhere
    )


def already_applied(cause: str, place: Place) -> Refusal:
    """The refusal of a plan whose symbols are where it would move them."""
    return Refusal(
        "already-applied",
        f"The plan was already applied: {cause}.",
        next_step="Nothing is left to do; to see what it did, name the commit before with `--at`.",
        place=place,
    )


def _unknown_symbol(name: str, group: Group, move: Move) -> Refusal:
    source, place = group.source, move.plan.place(group.spec.line)
    symbols, where = source.symbols, source.located
    if group.located.exists and name in move.open_document(group.located.path).symbols.defined:
        return already_applied(
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


def _nested(tree: ast.Module, name: str) -> int | None:
    for node in ast.walk(tree):
        if (
            isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            and node.name == name
        ):
            return node.lineno
    return None


def _check_torn(source: SourceState) -> None:
    """A statement goes whole: every name that it binds or deletes has the same destination."""
    symbols = source.symbols
    bound: dict[int, set[str]] = {}
    for name, places in symbols.bindings.items():
        for index, _ in places:
            bound.setdefault(index, set()).add(name)
    for index, group in sorted(source.cut.items()):
        statement = symbols.statements[index]
        if statement.shared:
            raise Refusal(
                "shared-line",
                "Another statement stands on the same line, behind a semicolon.",
                next_step="Put each statement on a line of its own first.",
                place=source.place(statement.line),
            )
        for name in sorted(bound.get(index, ())):
            if name != "_" and not _is_free(name, index, group):
                _refuse_torn(source, index, name, group)


def _refuse_torn(source: SourceState, index: int, name: str, group: Group) -> None:
    imported = name in source.symbols.imports and name not in source.symbols.defined
    raise Refusal(
        "torn-definition",
        f"The statement defines a moved symbol and imports `{name}` in one guard."
        if imported
        else f"The statement also binds `{name}`, which does not move to `{group.located.dotted}`.",
        next_step="Split the guard first, or move another symbol."
        if imported
        else f"Add `{name}` to the same `symbols`, or split the statement first.",
        place=source.place(source.symbols.statements[index].line),
    )


def _check_mutations(source: SourceState) -> None:
    """What moves is not changed at import by what stays, nor what stays by what moves."""
    symbols = source.symbols
    for name, indices in sorted(symbols.mutations.items()):
        owner = source.moved.get(name)
        for index in indices:
            mover = source.cut.get(index)
            if mover is owner:
                continue
            why = (
                f"The statement changes `{name}` at import time, and it would stay behind."
                if mover is None
                else f"The statement moves, and changes `{name}` at import time, which "
                + ("stays." if owner is None else "moves elsewhere.")
            )
            raise Refusal(
                "mutation",
                why,
                next_step=f"Leave `{name}` and this statement together, or move both.",
                place=source.place(symbols.statements[index].line),
            )


def _check_rebinding(source: SourceState, accepts: Accepts) -> None:
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
        refusal = Refusal(
            "rebinding",
            f"`{name}` {where}, but it is re-bound through `global` here and used across the cut; "
            "an import would see the old value.",
            next_step=f"Move `{name}` together with every function that uses it"
            f"{_whole(source, name, readers)}.",
            place=source.place(getattr(reference.node, "lineno", 1)),
        )
        accepts.refuse(refusal, (source.located.dotted, source.located.path), name)


def _whole(source: SourceState, name: str, sides: Collection[Group | None]) -> str:
    """What to write so that a name and all that uses it land together; "" where it is unclear."""
    groups = [group for group in sides if group is not None]
    symbols = source.symbols
    users = {
        user
        for other in range(len(symbols.statements))
        if name in symbols.uses([other])
        for user in symbols.binds(other)
    }
    if len(groups) != 1 or not users:
        return ""
    (group,) = groups
    wanted = {*group.spec.symbols, name, *users}
    return f": {_in_order(group, wanted)} in the [[destination]] of `{group.located.dotted}`"


def _check_histories(source: SourceState) -> None:
    """A statement that reads a name at import sees it in the state that it saw before the move.

    The module that has the name runs as a whole before one that imports it from there.
    """
    symbols, order = source.symbols, source.order
    readers = order.readers()
    for name in sorted(symbols.defined):
        effects = order.effects(name)
        sides = {source.cut.get(index) for index in effects}
        if len(effects) < 2 or len(sides | {source.cut.get(i) for i in readers.get(name, [])}) < 2:
            continue
        for index in readers.get(name, []):
            side = source.cut.get(index)
            for other in sorted(sides - {side}, key=lambda group: group is None):
                if not (_has_copy(side, name) or _has_copy(other, name)):
                    parted = [e for e in effects[1:] if source.cut.get(e) is other]
                    _check_parted(source, name, index, parted, other)
    for name, places in sorted(symbols.bindings.items()):
        for index, binding in places:
            if binding.kind == "delete" and index == order.events(name)[-1]:
                _check_deleted(source, name, index)


def _check_parted(
    source: SourceState, name: str, index: int, effects: list[int], other: Group | None
) -> None:
    """Refuse if what changes a name lands in another module than a reader, and in another order."""
    owner, side = source.moved.get(name), source.cut.get(index)
    for effect in effects:
        if owner is other and effect < index:
            continue  # it ran before, and the reader now imports the module where it does
        if owner is side and owner is not other and index < effect:
            continue
        _refuse_history(source, name, index, effect, "bound or changed")


def _check_deleted(source: SourceState, name: str, deleting: int) -> None:
    """What a module deletes again cannot be imported from it."""
    owner = source.moved.get(name)
    for statement in source.symbols.statements:
        index = statement.index
        side = source.cut.get(index)
        if side is not owner and not _has_copy(side, name) and name in source.symbols.uses([index]):
            _refuse_history(source, name, index, deleting, "deleted")


def _refuse_history(source: SourceState, name: str, index: int, event: int, what: str) -> None:
    line = source.symbols.statements[event].line
    raise Refusal(
        "order",
        f"`{name}` is {what} on line {line}; this statement reads it when the module is imported, "
        "and across the cut it would not see it as it did.",
        next_step=f"Move `{name}` and all that reads and changes it together, or leave them.",
        place=source.place(source.symbols.statements[index].line),
    )


def _has_copy(group: Group | None, name: str) -> bool:
    return group is not None and name in group.spec.copy


def _check_positions(groups: list[Group]) -> None:
    """Where a moved statement reads a moved name at import, it sees what it saw in the source."""
    landing = [(group, index) for group in groups for index in group.carried]
    landing += [(group, index) for group in groups for index in group.body]
    position = {(id(group.source), index): place for place, (group, index) in enumerate(landing)}
    for place, (group, index) in enumerate(landing):
        source = group.source
        for name in sorted(source.order.read_at_import(index)):
            for event in source.order.effects(name):
                there = position.get((id(source), event))
                if there is None or event == index or (event < index) == (there < place):
                    continue
                if event < index or source.order.effects(name)[0] < index:
                    _refuse_position(group, index, name, above=event < index)


def _in_order(group: Group, symbols: Iterable[str] = ()) -> str:
    """The `symbols` of a table, or others, in the order of the source, as a plan has them."""
    defined = group.source.symbols.defined
    names = sorted(symbols or group.spec.symbols, key=lambda name: min(defined[name]))
    return f"`symbols = [{', '.join(map(quote, names))}]`"


def _refuse_position(group: Group, index: int, name: str, *, above: bool) -> None:
    source = group.source
    together = source.moved.get(name) is group
    own = sorted(source.symbols.binds(index) & set(source.moved)) or ["this statement"]
    mine = f"`{own[0]}`" if own[0] in source.moved else own[0]
    raise Refusal(
        "order",
        f"{mine.capitalize() if mine == own[0] else mine} needs `{name}` when the module is "
        f"imported, and would land {'above' if above else 'below'} what it read.",
        next_step=(f"Put `{name}` before {mine} in the plan" if above else _KEEP)
        + (f": {_in_order(group)}." if together else "."),
        place=source.place(source.symbols.statements[index].line),
    )
