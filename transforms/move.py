"""A plan resolved against a tree: which statements leave which module for which other one.

`transforms.claims` gives the statements to their groups, and refuses what cannot be cut.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from transforms import plan as plans
from transforms.automatic import refuse_automatic
from transforms.document import Document
from transforms.errors import Place, Refusal
from transforms.names import Located, Names
from transforms.order import Order
from transforms.symbols import Symbols

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
    order: Order = field(init=False)

    def __post_init__(self) -> None:
        self.order = Order(self.document.symbols)

    @property
    def symbols(self) -> Symbols:
        """What its top-level statements bind and use."""
        return self.document.symbols

    def place(self, line: int) -> Place:
        """A line of the source, for a message."""
        return self.document.module.place(line)


@dataclass(eq=False, slots=True)
class Group:
    """One `[[destination]]` table: symbols that land together in one module.

    `body` are their statements in the order they land; `carried` and `copied` are helper
    statements, in the source's order.
    """

    spec: plans.Destination
    source: SourceState
    located: Located
    body: list[int] = field(default_factory=list)
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
        """The source of that dotted name."""
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
    _refuse_automatic(move)
    for name, module in plan.import_from.items():
        located = names.locate_new(module, plan.place(1), package=True)
        move.routes[name] = located.dotted if not module.is_path else names.dotted(module.text)
    from transforms.claims import claim_statements

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


def _source(
    spec: plans.Source, plan: plans.Plan, names: Names, open_document: DocumentOpener
) -> SourceState:
    place = plan.place(spec.line)
    located = names.locate(spec.module, place)
    after = located
    if spec.becomes is not None:
        after = names.locate_new(spec.becomes, place)
        if after.exists:
            raise already_applied(f"`{after.dotted}` is there", place)
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


def already_applied(cause: str, place: Place) -> Refusal:
    """The refusal of a plan whose symbols are where it would move them."""
    return Refusal(
        "already-applied",
        f"The plan was already applied: {cause}.",
        next_step="Nothing is left to do; to see what it did, name the commit before with `--at`.",
        place=place,
    )
