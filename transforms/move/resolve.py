"""A plan resolved against a tree: every module and statement that it names, or a refusal."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from transforms.errors import Place, Refusal
from transforms.imports.document import Document
from transforms.move.claims import already_applied, claim_statements
from transforms.move.state import DocumentOpener, Group, Move, SourceState
from transforms.paths import ModuleName
from transforms.reading.accepts import Accepts
from transforms.reading.model import Destination, Package, Plan, Relocation, Source
from transforms.tree import Tree
from transforms.tree.automatic import refuse_automatic
from transforms.tree.names import Located, Names


def resolve_move(plan: Plan, names: Names, open_document: DocumentOpener, accepts: Accepts) -> Move:
    """Find every module and statement that the plan names. Raises `Refusal`."""
    sources = [_source(spec, plan, names, open_document) for spec in plan.sources]
    move = Move(plan, names, sources, [], {}, open_document, accepts)
    for spec in plan.destinations:
        move.groups.append(_group(spec, move))
    _refuse_automatic(move)
    for name, module in plan.import_from.items():
        located = names.locate_new(module, plan.place(1), package=True)
        move.routes[name] = located.dotted if not module.is_path else names.dotted(module.text)
    claim_statements(move)
    return move


def _refuse_automatic(move: Move) -> None:
    for source in move.sources:
        if source.spec.becomes is not None:
            refuse_automatic(source.after.path, move.plan.place(source.spec.line))
    for group in move.groups:
        refuse_automatic(group.located.path, move.plan.place(group.spec.line))
    for package in move.plan.packages:
        place = move.plan.place(package.line)
        refuse_automatic(move.names.locate_new(package.module, place, package=True).path, place)


def with_leaving(plan: Plan, tree: Tree) -> Plan:
    """A plan in which what `becomes` takes elsewhere moves whole, after its symbols have left."""
    away = _leaving(plan, tree) if any(source.becomes for source in plan.sources) else []
    moves = [Relocation(s.module, s.becomes, s.line) for s in away if s.becomes is not None]
    sources = tuple(replace(s, becomes=None) if s in away else s for s in plan.sources)
    return replace(plan, sources=sources, moves=(*plan.moves, *moves)) if away else plan


def with_exports(plan: Plan, tree: Tree) -> Plan:
    """A plan in which a package that a module becomes exports what the module is to offer still.

    Plans of `format = 1` offer it from the module inside that takes the rest.
    """
    if not plan.newer:
        return plan
    names = Names(tree, plan.roots)
    sources, packages = list(plan.sources), list(plan.packages)
    for place, spec in enumerate(plan.sources):
        if spec.becomes is None or spec.reexports == ():
            continue
        located = names.locate(spec.module, plan.place(spec.line))
        exports = spec.reexports if spec.reexports is not None else _public(located, tree)
        sources[place] = replace(spec, reexports=())
        own = [p for p in packages if _is_of(p, located, names, plan)]
        packages = [p for p in packages if p not in own]
        listed = [name for p in own for name in p.exports]
        exports = tuple(dict.fromkeys([*listed, *exports]))
        made = own[0] if own else Package(ModuleName(located.dotted, is_path=False), (), spec.line)
        packages.append(replace(made, exports=exports))
    return replace(plan, sources=tuple(sources), packages=tuple(packages))


def _public(located: Located, tree: Tree) -> tuple[str, ...]:
    """What a module offers: what its `__all__` lists, or all it defines without `_`."""
    data = tree.read(located.path)
    symbols = Document(located.path, data, located.package, sorter=False).symbols
    listed = [name for name, _ in symbols.all_names]
    return tuple(listed or (name for name in symbols.defined if not name.startswith("_")))


def _is_of(package: Package, located: Located, names: Names, plan: Plan) -> bool:
    place = plan.place(package.line)
    return names.locate_new(package.module, place, package=True).dotted == located.dotted


def _leaving(plan: Plan, tree: Tree) -> list[Source]:
    """Sources that `becomes` takes out of the package of their own name: they move whole."""
    names = Names(tree, plan.roots)
    found = []
    for spec in plan.sources:
        if spec.becomes is None:
            continue
        place = plan.place(spec.line)
        old, new = str(spec.module), str(spec.becomes)  # as written, where the module is gone
        with suppress(Refusal):
            old = names.locate(spec.module, place).dotted
            new = names.locate_new(spec.becomes, place).dotted
        if new == old:
            raise _is_itself(old, place)
        if not new.startswith(old + "."):
            found.append(spec)
    return found


def _is_itself(dotted: str, place: Place) -> Refusal:
    file = f"{dotted.replace('.', '/')}/__init__.py"
    return Refusal(
        "plan-schema",
        f"`becomes` names `{dotted}` itself.",
        next_step=f'Name the module inside that takes the rest, `becomes = "{dotted}.NAME"`. For '
        "the rest to stay in the package's `__init__`, turn the module into a package before, by a "
        f'plan of its own: a [[move]] of it `to` the path that ends in "{file}".',
        place=place,
    )


def _source(spec: Source, plan: Plan, names: Names, open_document: DocumentOpener) -> SourceState:
    place = plan.place(spec.line)
    located = names.locate(spec.module, place)
    after = located
    if spec.becomes is not None:
        after = names.locate_new(spec.becomes, place)
        if after.exists:
            raise already_applied(f"`{after.dotted}` is there", place)
    return SourceState(spec, located, after, open_document(located.path))


def _group(spec: Destination, move: Move) -> Group:
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


def _source_of(spec: Destination, move: Move) -> SourceState:
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
