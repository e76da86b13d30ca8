"""A move under way: which statements leave which module for which other one.

`transforms.move.resolve` makes it, from a plan and a tree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from transforms.errors import Place
from transforms.imports.document import Document
from transforms.reading.accepts import Accepts
from transforms.reading.model import Destination, Plan, Source
from transforms.source.order import Order
from transforms.source.symbols import Symbols
from transforms.tree.names import Located, Names

DocumentOpener = Callable[[str], Document]


@dataclass(eq=False, slots=True)
class SourceState:
    """A source under way. `after` is where what is left of it lies: elsewhere if it `becomes`."""

    spec: Source
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

    spec: Destination
    source: SourceState
    located: Located
    body: list[int] = field(default_factory=list)
    carried: list[int] = field(default_factory=list)
    copied: list[int] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Move:
    """The resolved plan. `homes` answers where a moved name lives now."""

    plan: Plan
    names: Names
    sources: list[SourceState]
    groups: list[Group]
    routes: dict[str, str]  # symbol -> dotted module that callers import it from
    open_document: DocumentOpener
    accepts: Accepts
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

    def named(self, dotted: str, name: str) -> str | None:
        """The module by which texts name what moved: its home, or a package that still offers it.

        None for what did not move. Patches are no texts: they follow who looks the name up.
        """
        home = self.home(dotted, name)
        offered = self.plan.newer and name in self.package_names.get(dotted, ())
        return dotted if home is not None and offered else home

    def offers_all(self, dotted: str) -> bool:
        """Whether a module that became a package still offers all that was public in it."""
        source = self.source_named(dotted)
        if source is None or not self.plan.newer or source.spec.becomes is None:
            return False
        public = {name for name in source.symbols.defined if not name.startswith("_")}
        return public <= self.package_names.get(dotted, set())

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
