"""What the rewriting of one caller knows, and what it gives."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from transforms.callers.patches import Patches
from transforms.callers.readers import Readers
from transforms.errors import Place, Refusal
from transforms.imports.document import Document
from transforms.imports.statement import ImportedName
from transforms.move.cut import Cut
from transforms.move.state import Move, SourceState
from transforms.result.outcome import Edit, Note
from transforms.scopes.types import Scope
from transforms.source.imports import Site
from transforms.tree import Tree
from transforms.tree.names import Names, relative_name

# What files read through a source and what does not move: (source, name) -> the first place. The
# empty name stands for the module itself.
Readings = dict[tuple[str, str], Place]


@dataclass(slots=True)
class CallerResult:
    """What rewriting one file gave."""

    edits: list[Edit] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    external: Readings = field(default_factory=dict)


class Surroundings:
    """What is known about the move and the tree beside the file at hand."""

    def __init__(self, move: Move, cuts: Sequence[Cut], names: Names, tree: Tree) -> None:
        self.move, self.names, self.tree = move, names, tree
        self.readers = Readers(tree, names, move.open_document)
        self.patches = Patches(cuts)
        self.sources = {source.located.dotted: source for source in move.sources}
        self.bound_back: dict[str, frozenset[str]] = {
            cut.source.located.dotted: _bound_back(cut) for cut in cuts
        }
        self.lost = {cut.source.located.dotted: cut.lost() for cut in cuts}
        self.orphans: dict[str, frozenset[str]] = {
            cut.source.located.dotted: frozenset(cut.candidates()) for cut in cuts
        }
        self._shadowed: dict[str, bool] = {}
        self._hidden: dict[str, bool] = {}

    def init_of(self, dotted: str) -> Document | None:
        """The `__init__` of a package of the tree, if it has one that parses."""
        path = self.names.path_of(dotted)
        if path is None or not path.endswith("/__init__.py"):
            return None
        try:
            return self.move.open_document(path)
        except Refusal:
            return None

    def is_module(self, dotted: str) -> bool:
        """Whether `from PACKAGE import LAST` gives the module, not another thing of that name.

        A package that runs `from .pool import pool` hides its submodule `pool`.
        """
        if dotted not in self._shadowed:
            self._shadowed[dotted] = self._is_shadowed(dotted)
        return not self._shadowed[dotted]

    def _is_shadowed(self, dotted: str) -> bool:
        package, _, last = dotted.rpartition(".")
        document = self.init_of(package) if package else None
        if document is None:
            return False
        for _, binding in document.symbols.bindings.get(last, []):
            node = binding.node
            if not isinstance(node, ast.alias):
                return True
            site = document.editor.site_of(binding.statement)
            if site is not None and site.is_from and f"{site.target}.{node.name}" != dotted:
                return True
        return False

    def hides(self, dotted: str) -> bool:
        """Whether the package above a module gives another thing by the module's name, after all.

        A package that runs `from .money import money` gives the function, whoever imports the
        module by `from package import money` or reaches it as `package.money`.
        """
        package, _, last = dotted.rpartition(".")
        if not package:
            return False
        if dotted not in self._hidden:
            self._hidden[dotted] = (
                last in self.move.package_names.get(package, ())
                or self._will_export(package, last)
                or self._binds_at_run_time(package, last, dotted)
            )
        return self._hidden[dotted]

    def _will_export(self, package: str, name: str) -> bool:
        plan = self.move.plan
        for item in plan.packages:
            if name in item.exports:
                place = plan.place(item.line)
                if self.names.locate_new(item.module, place, package=True).dotted == package:
                    return True
        return False

    def _binds_at_run_time(self, package: str, name: str, dotted: str) -> bool:
        """Whether an `__init__` binds the name to what is no module, or gets it by a star."""
        document = self.init_of(package)
        if document is None:
            return False
        for site in document.editor.sites:
            if site.is_type_checking or site.is_local or not site.is_from:
                continue
            if site.is_star and self.move.home(site.target or "", name) is not None:
                return not name.startswith("_")
            for item in site.names:
                if (item.asname or item.name) == name and f"{site.target}.{item.name}" != dotted:
                    return True
        return name in document.symbols.defined

    def is_loaded(self, source: SourceState, target: str) -> bool:
        """Whether a file that reaches `source` through a package finds `target` loaded, too."""
        dotted = source.located.dotted
        kept = self.bound_back[dotted] if source.spec.emptied != "delete" else frozenset()
        if any(self.move.home(dotted, name) == target for name in kept):
            return True
        document = self.init_of(target.rpartition(".")[0])
        if document is None:
            return False
        for site in document.editor.sites:
            if site.guards:
                continue
            if site.target == target:
                return True
            if site.target == dotted and any(
                self.move.home(dotted, name.name) == target for name in site.names
            ):
                return True
        return False


def _bound_back(cut: Cut) -> frozenset[str]:
    """Moved names that the source binds all the same at run time, since it imports them back."""
    return frozenset(name for name, annotates in cut.needed_back().items() if not annotates)


@dataclass(slots=True)
class Caller:
    """One file under rewriting. `dotted` is its own module name.

    `is_frozen` tells which nodes stand in code that leaves the file; they are left to it.
    """

    document: Document
    dotted: str
    around: Surroundings
    is_foreign: bool = False  # outside the root in which the sources lie: dots mean something else
    is_frozen: Callable[[ast.AST], bool] = lambda node: False
    dropped: frozenset[str] = frozenset()  # bound names whose imports leave with moved code
    package: str | None = None  # where its relative imports start after the move, if that changes
    introduced: list[tuple[Scope, str, str]] = field(default_factory=list)  # modules by new names
    result: CallerResult = field(default_factory=CallerResult)

    @property
    def move(self) -> Move:
        """The resolved plan."""
        return self.around.move

    @property
    def sources(self) -> Mapping[str, SourceState]:
        """The plan's sources by dotted name."""
        return self.around.sources

    def sites(self) -> list[Site]:
        """The import statements to look at."""
        return [
            site
            for site in self.document.editor.sites
            if not (site.is_relative and self.is_foreign) and not self.is_frozen(site.node)
        ]

    def route(self, dotted: str, name: str) -> str | None:
        """Where this file imports a name of a source from; None if it does not move.

        From inside a package the name's own module is named, never the package.
        """
        route = self.move.route(dotted, name)
        home = self.move.home(dotted, name)
        if route is not None and route != home and (self.dotted + ".").startswith(route + "."):
            return home
        return route

    def spell(self, site: Site, target: str) -> str:
        """Relative where the statement was relative, if the two share a package."""
        if site.is_relative:
            package = self.document.package if self.package is None else self.package
            return relative_name(package, target) or target
        return target

    def read(self, dotted: str, name: str, line: int) -> None:
        """Record that this file reads something through a source."""
        self.result.external.setdefault((dotted, name), self.document.module.place(line))

    def note(self, kind: str, line: int, message: str) -> None:
        """Record something that a person should see."""
        self.result.notes.append(Note(kind, self.document.module.place(line), message))

    def log(self, site: Site, names: Sequence[ImportedName], target: str) -> None:
        """Record that names of a statement are now imported from `target`."""
        listed = ", ".join(str(name) for name in names)
        after = f"from {self.spell(site, target)} import {listed}"
        self.result.edits.append(Edit(site.kind, site.line, self.text(site), after))

    def through(self, dotted: str) -> str:
        """Say that what is read through a source is not known, what it lost, and what keeps it."""
        lost = self.around.lost.get(dotted, ())
        said = "what is read through it is not known"
        return (
            f"{said}, and it no longer has `{lost[0]}`. {kept_by(lost[0])}" if lost else f"{said}."
        )

    def text(self, site: Site) -> str:
        """A statement on one line."""
        return " ".join(self.document.module.text[site.start : site.end].split())

    def unreachable(self, line: int, target: str) -> Refusal:
        """The refusal of a use that would need a module which its own package hides."""
        package, _, last = target.rpartition(".")
        return Refusal(
            "clash",
            f"This needs the module `{target}`, and `{package}` gives another `{last}`: what its "
            "`__init__` binds by that name.",
            next_step=f'Give the new module another name, such as `module = "{package}._{last}"`, '
            "or list the file under `leave`.",
            place=self.document.module.place(line),
        )

    def clash(self, line: int, name: str, why: str) -> Refusal:
        """The refusal for a name that is taken."""
        return Refusal(
            "clash",
            f"`{name}` already has a meaning in this file: {why}.",
            next_step="Rename it first, or list the file under `leave`.",
            place=self.document.module.place(line),
        )


def kept_by(name: str) -> str:
    """Say which key of a plan keeps a name where it was."""
    return f'`reexports = ["{name}"]` in the [[source]] keeps a name.'
