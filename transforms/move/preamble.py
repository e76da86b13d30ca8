"""What moved code needs in its new module: the imports, guards and helper statements, and no more.

Imports are spelled in the destination as in the source (3,000 of 3,324 real bindings), relative
ones re-levelled. A name that the source takes from a package above the destination is imported
from the module that defines it, so that the destination does not depend on its own package.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property

from transforms.errors import Refusal
from transforms.imports.comments import leaving_comment
from transforms.imports.document import Document, Wanted
from transforms.imports.guards import (
    ShrinkOf,
    guard_text,
    holds_imports,
    is_preset,
    may_stand_twice,
    only_imports,
    stands_alone,
    suppresses,
)
from transforms.imports.rebased import moved_text, respelled
from transforms.imports.statement import ImportedName, Shrink
from transforms.move.copies import Copying
from transforms.move.needs import Needs, dotted_imports, reached_modules, refuse_run_time
from transforms.move.state import Group, Move, SourceState
from transforms.source.fixtures import finds, is_conftest, is_fixture_use
from transforms.source.imports import Site, checkers_run, is_type_checking
from transforms.source.module import Statement
from transforms.source.symbols import ImportedBinding, Symbols
from transforms.syntax.kinds import is_future
from transforms.tree.names import Located, relative_name, respelled_relative

MODULE_NAMES = frozenset(
    {"__name__", "__file__", "__doc__", "__package__", "__spec__", "__loader__", "__path__",
     "__builtins__", "__annotations__", "__dict__", "__debug__"}
)  # fmt: skip
BUILTINS = frozenset(dir(builtins)) | {"WindowsError", "reveal_type", "reveal_locals"}

_SWITCH = "TYPE_CHECKING"

Definer = Callable[[str, str], tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Piece:
    """A statement of the source as the destination gets it. `index`: where the source has it.

    `comment` stood above it and goes along, with its line end.
    """

    index: int
    text: str  # without the last line end
    is_import: bool
    binds: frozenset[str]
    comment: str = ""


@dataclass(slots=True)
class Preamble:
    """The head of a destination, from one source.

    `future` is the text of the source's `__future__` imports, `head` are imports and guards of
    imports, `tail` helper statements and the guards that depend on them, `wanted` names imported
    from where they now live. `names` is all that the moved code looks up.
    """

    future: str = ""
    head: list[Piece] = field(default_factory=list)
    tail: list[Piece] = field(default_factory=list)
    wanted: list[Wanted] = field(default_factory=list)
    names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Context:
    """What deriving a preamble asks others.

    `definer`: the module and name that a name of a module stands for after the move. `shrink`: how
    an import is laid out that loses names. `already`: whether the destination has a name, as the
    same thing. `leaving`: imports that leave a source, and take their comments along. `existing`:
    the destination, unless it is new.
    """

    move: Move
    definer: Definer
    shrink: ShrinkOf
    already: Callable[[str], bool]
    leaving: Callable[[SourceState], Set[str]]
    existing: Document | None = None


def derive(group: Group, context: Context) -> Preamble:
    """The preamble that `group` needs."""
    return _Deriver(group, context).run()


class _Deriver:
    def __init__(self, group: Group, context: Context) -> None:
        self.group, self.context, self.move = group, context, context.move
        self.source: SourceState = group.source
        self.symbols: Symbols = self.source.symbols
        self.document: Document = self.source.document
        self.destination: Located = group.located
        leave = set(filter(self._is_there, group.copied))
        self.needs = Needs(group, leave, self._guards_along, alone=self.move.plan.newer)
        self.result = Preamble(_future_text(self.symbols), names=frozenset(self.needs.names))
        self.plain: dict[int, list[ImportedBinding]] = {}
        self.guarded: dict[int, list[ImportedBinding]] = {}

    def run(self) -> Preamble:
        for name in sorted(self.needs.names):
            self._settle(name)
        helpers = sorted(self.needs.statements - set(self.group.body))
        helper_names = {name for index in helpers for name in self.symbols.binds(index)}
        for index in sorted({*helpers, *self.plain, *self.guarded}):
            statement = self.symbols.statements[index]
            if index in self.plain:
                self._plain_import(statement, self.plain[index])
            elif index in helpers:
                self._add_tail(statement)
            else:
                depends = bool(helper_names & set(self._test_names(statement)))
                self._guard(statement, self.guarded[index], depends=depends)
        self._check_apart()
        return self.result

    def _check_apart(self) -> None:
        """What the plan puts under TYPE_CHECKING is imported at all, and needed by no run."""
        apart = {item.name.asname or item.name.name for item in self.result.wanted if item.apart}
        existing = self.context.existing
        symbols = self.symbols if existing is None else existing.symbols
        for name in self.group.spec.type_checking:
            if name not in apart:
                raise Refusal(
                    "plan-schema",
                    f"`type_checking` lists `{name}`, which `{self.destination.dotted}` does not "
                    "import by name.",
                    next_step="List names that the moved code uses and that it takes from another "
                    "module.",
                    place=self.move.plan.place(self.group.spec.line),
                )
            uses = self.needs.names[name]
            refuse_run_time(name, uses, self.source, postponed=symbols.has_future_annotations)

    def _is_there(self, index: int) -> bool:
        """Whether the destination has a helper statement already, word for word."""
        changed = [n for n, indices in self.symbols.mutations.items() if index in indices]
        names = self.symbols.binds(index) or set(changed)
        return bool(names) and all(map(self.context.already, sorted(names)))

    def _settle(self, name: str) -> None:
        """Decide where the destination gets `name` from."""
        group = self.source.moved.get(name)
        if group is not None and group.located.path == self.destination.path:
            return
        if name in self.needs.bound or self._has_guard_of(name) or self.context.already(name):
            return
        if group is not None:
            if not self._finds_fixture(group, name):
                self._want(group.located.dotted, name)
        elif self._is_copied(name) or self._copies_import(name):
            return
        elif name in self.symbols.defined or name in self.symbols.imports:
            if not self._keeps_fixture(name):
                self._refuse_half_bound(name)
                self._want(self.source.after.dotted, name)
        elif name not in MODULE_NAMES and name not in BUILTINS:
            self._from_stars()

    def _finds_fixture(self, group: Group, name: str) -> bool:
        """Whether only tests ask for a fixture that lands in a `conftest.py` of theirs."""
        found = self.move.plan.newer and finds(group.located.path, self.destination.path)
        return found and all(map(is_fixture_use, self.needs.names[name]))

    def _keeps_fixture(self, name: str) -> bool:
        """Whether a fixture that stays in a `conftest.py` is found by those that leave it.

        The `conftest.py` imports them back, and by that they are its own, as before.
        """
        home, here = self.source.after.path, self.destination.path
        found = self.move.plan.newer and (
            finds(home, here) or (is_conftest(home) and not is_conftest(here))
        )
        return found and all(map(is_fixture_use, self.needs.names[name]))

    def _is_copied(self, name: str) -> bool:
        indices = set(self.symbols.defined.get(name, ()))
        if self.move.plan.newer:  # a copied guard brings what it imports
            indices |= {index for index, _ in self.symbols.bindings.get(name, ())}
        return not indices.isdisjoint(self.group.copied)

    def _has_guard_of(self, name: str) -> bool:
        """Whether only `if TYPE_CHECKING:` needs the name, and the destination has its own."""
        existing = self.context.existing
        return (
            existing is not None
            and self.needs.only_guards(name)
            and bool(existing.type_checking_guard())
        )

    def _guards_along(self, name: str) -> list[int]:
        """The guards of imports that the destination gets because moved code uses a name."""
        if name in self.source.moved or self._is_copied(name) or not self._can_copy(name):
            return []
        bindings = self._guarded(self.symbols.imports.get(name, []))
        found = [b.index for b in bindings] or self._flag_guards(name)
        return [] if found and self.context.already(name) else found

    def _can_copy(self, name: str) -> bool:
        """Whether the imports that bind `name` may be copied; else the source gives it."""
        bindings = self.symbols.imports.get(name, [])
        if not bindings:
            return bool(self._flag_guards(name))
        own = {binding.index for binding in bindings if binding.guards}
        if not set(self.symbols.defined.get(name, ())) <= own | {b.index for b in bindings}:
            return False  # bound otherwise, too, by a statement of its own
        return all(
            self._comes_whole(index)
            or all(self._stands_alone(b) for b in bindings if b.index == index)
            for index in own
        )

    def _comes_whole(self, index: int) -> bool:
        """Whether the new module may have a guard of imports with all that it sets."""
        node = self.symbols.statements[index].node
        if not self._may_stand_twice(node) or (suppresses(node) and not self.move.plan.newer):
            return False
        flags = self.symbols.binds(index) - self.symbols.imports.keys()
        return not self.move.plan.newer or all(map(self._is_set_by_guards, flags))

    def _refuse_half_bound(self, name: str) -> None:
        """A name that the source has only where an import succeeds cannot be imported from it."""
        places = self.symbols.bindings.get(name, ())
        indices = {index for index, _ in places}
        node = self.symbols.statements[min(indices)].node if len(indices) == 1 else None
        if node is None or not (
            self.move.plan.newer and _may_fail(node) and self._may_stand_twice(node)
        ):
            return
        bound = {id(binding.statement) for _, binding in places}
        for handler in node.handlers if isinstance(node, ast.Try) else [None]:
            body = [] if handler is None else handler.body
            inside = {id(child) for part in body for child in ast.walk(part)}
            if not (bound & inside or (body and isinstance(body[-1], ast.Raise))):
                raise self._half_bound(name, node, min(indices))

    def _half_bound(self, name: str, node: ast.stmt, index: int) -> Refusal:
        flags = self.symbols.binds(index) - self.symbols.imports.keys()
        changed = sorted(flag for flag in flags if not self._is_set_by_guards(flag))
        listed = ", ".join(f'"{flag}"' for flag in changed)
        refusal = Refusal(
            "unresolved-name",
            f"`{self.source.located.dotted}` has `{name}` only where this import succeeds, "
            f"so `{self.destination.dotted}` cannot take it from there.",
            next_step=f"Write `copy = [{listed}]` in the [[destination]] of "
            f"`{self.destination.dotted}` ({self.move.plan.place(self.group.spec.line)}), "
            "so that it gets the guard with all that changes what it sets.",
            place=self.source.place(node.lineno),
        )
        return self._copied_if_plain(refusal, changed)

    def _copied_if_plain(self, refusal: Refusal, flags: Sequence[str]) -> Refusal:
        """Where constants alone are set beside guards, copying them is what one would do."""
        symbols = self.symbols
        nodes = [symbols.statements[i].node for flag in flags for i in symbols.defined[flag]]
        plain = all(is_preset(n) or self._may_guard(n) for n in nodes)
        if not plain or any(f in symbols.rebound or f in symbols.mutations for f in flags):
            return refusal
        return Copying(refusal, {self.group.spec.line: tuple(flags)})

    def _stands_alone(self, binding: ImportedBinding) -> bool:
        """Whether an import can be taken out of its guard, whatever else that holds."""
        return self.move.plan.newer and stands_alone(binding.guards)

    def _flag_guards(self, name: str) -> list[int]:
        """The guards of imports that set `name` beside them, as `HAS_X` is set; none otherwise.

        The new module gets the guard, as it does for the imports: the flag is theirs.
        """
        symbols = self.symbols
        if not self.move.plan.newer or name in symbols.imports:
            return []
        indices = symbols.defined.get(name, [])
        along = {other for index in indices for other in symbols.binds(index)}
        return indices if all(map(self._is_set_by_guards, along)) else []

    def _is_set_by_guards(self, name: str) -> bool:
        """Whether nothing but guards of imports that may stand twice binds or changes a name."""
        symbols = self.symbols
        places = symbols.bindings.get(name, [])
        nodes = [symbols.statements[index].node for index, _ in places]
        changed = name in symbols.rebound or name in symbols.mutations
        return not changed and all(map(self._may_guard, nodes))

    def _may_guard(self, node: ast.stmt) -> bool:
        return holds_imports(node) and self._may_stand_twice(node)

    def _may_stand_twice(self, node: ast.stmt) -> bool:
        return may_stand_twice(node, newer=self.move.plan.newer)

    def _guarded(self, bindings: list[ImportedBinding]) -> list[ImportedBinding]:
        """Those under a guard, but for what type checkers see of a name imported plainly."""
        plain = any(not binding.guards for binding in bindings)
        return [b for b in bindings if b.guards and not (plain and b.is_type_checking)]

    def _copies_import(self, name: str) -> bool:
        """Record the import statements that bind `name`; false if only the source can give it."""
        if not self._can_copy(name):
            return False
        bindings = self.symbols.imports.get(name, [])
        plain = [binding for binding in bindings if not binding.guards]
        for index in self._flag_guards(name):
            self.guarded.setdefault(index, [])
        for binding in self._of_dotted(name, plain):
            self.plain.setdefault(binding.index, []).append(binding)
        for binding in self._guarded(bindings):
            self.guarded.setdefault(binding.index, []).append(binding)
        return True

    def _of_dotted(self, name: str, bindings: list[ImportedBinding]) -> list[ImportedBinding]:
        """Of `import a.b`, `import a.c`: those whose modules the uses of `a` reach."""
        if len(bindings) < 2 or not dotted_imports(bindings):
            return bindings
        return reached_modules(bindings, self.needs.names[name])

    def _want(self, target: str, name: str) -> None:
        existing = self.context.existing
        symbols = self.symbols if existing is None else existing.symbols
        postponed = symbols.has_future_annotations
        apart = name in self.group.spec.type_checking
        if target == self.source.after.dotted and self.move.plan.newer:
            target = "typing" if self._is_switch(name) else target
            apart = apart or self._is_for_checkers(name)
        annotates = apart or self.needs.only_annotates(name, postponed=postponed)
        pragma = "# noqa: F401" if all(map(is_fixture_use, self.needs.names[name])) else None
        self.result.wanted.append(
            Wanted(target, self._spell(target, None), ImportedName(name), annotates, pragma, apart)
        )

    def _is_for_checkers(self, name: str) -> bool:
        """Whether the source has a name for type checkers only, so that no run can import it."""
        places = self.symbols.bindings.get(name, ())
        guards = [(self.symbols.statements[index].node, b.statement) for index, b in places]
        return bool(guards) and all(checkers_run(node, part) for node, part in guards)

    def _is_switch(self, name: str) -> bool:
        """Whether the source sets `TYPE_CHECKING = False`, which type checkers know by its name."""
        nodes = [self.symbols.statements[i].node for i in self.symbols.defined.get(name, ())]
        return name == _SWITCH and bool(nodes) and all(map(is_preset, nodes))

    def _spell(self, target: str, like: ast.ImportFrom | None) -> str:
        """Absolute, unless `like`, or else most of the source, spells such imports with dots."""
        if like.level > 0 if like is not None else self._uses_relative():
            return relative_name(self.destination.package, target) or target
        return target

    def _uses_relative(self) -> bool:
        top = self.source.located.dotted.partition(".")[0]
        return self.document.spells_relatively(top)

    def _from_stars(self) -> None:
        """A name that the file binds nowhere may come from any star import.

        Without one it is undefined, or put there at run time: it stays as it was.
        """
        for statement in self.symbols.star_imports:
            node = statement.node
            if isinstance(node, ast.ImportFrom) and statement.index not in self.plain:
                binding = ImportedBinding("*", node.names[0], node, statement.index, ())
                self.plain[statement.index] = [binding]

    def _plain_import(self, statement: Statement, bindings: list[ImportedBinding]) -> None:
        """A module-level import, pruned to what is needed and rebased."""
        site = self.document.editor.site_of(statement.node)
        assert site is not None  # noqa: S101 - told by the caller
        needed = {binding.alias for binding in bindings}
        keep = [
            name
            for alias, name in zip(site.node.names, site.names, strict=True)
            if alias in needed and not self._elsewhere(site, name)
        ]
        if keep:
            names = frozenset(n.asname or n.name.partition(".")[0] for n in keep)
            text, comment = self._pruned(site, keep), self._comment(statement)
            self.result.head.append(Piece(statement.index, text, True, names, comment))

    def _comment(self, statement: Statement) -> str:
        """The comment that leaves the source with an import."""
        if statement.block_start == statement.start:
            return ""
        return leaving_comment(self.document.module, statement, self._emptied)

    @cached_property
    def _emptied(self) -> dict[ast.AST, Site]:
        """The import statements that leave the source, with their comments."""
        gone = self.context.leaving(self.source)
        return {
            site.node: site
            for site in self.document.editor.sites
            if not site.guards and site.alone and gone >= _bound(site)
        }

    def _elsewhere(self, site: Site, imported: ImportedName) -> bool:
        """Import the name from where it now lives, if that is not where the source says."""
        node, target, name = site.node, site.target, imported.name
        if not isinstance(node, ast.ImportFrom) or target is None or name == "*":
            self._refuse_itself(site, name)
            return False
        self._refuse_itself(site, f"{target}.{name}" if target else name)
        original = name
        home = self.move.home(target, name)
        if home is not None:
            target = home
        elif (self.destination.dotted + ".").startswith(target + "."):
            if self.move.names.path_of(f"{target}.{name}") is not None:
                return False  # a submodule
            target, original = self.context.definer(target, name)
        bound = imported.asname or name
        if target == self.destination.dotted:
            if bound != original:
                raise self._itself(site, f"imports `{original}` as `{bound}`")
            return True  # the destination defines it
        apart = bound in self.group.spec.type_checking
        if target == site.target and not apart:
            return False
        wanted = ImportedName(original, bound if bound != original else None)
        pragma = None if apart else self.document.editor.look(site).pragma
        self.result.wanted.append(
            Wanted(target, self._spell(target, node), wanted, apart, pragma, apart)
        )
        return True

    def _refuse_itself(self, site: Site, imported: str) -> None:
        """Moved code must not reach its new home through that module's own name."""
        if imported == self.destination.dotted:
            refusal = self._itself(site, "imports the destination as a module")
            names = (self.destination.dotted, self.destination.path)
            self.move.accepts.refuse(refusal, names)

    def _itself(self, site: Site, what: str) -> Refusal:
        return Refusal(
            "self-import",
            f"Moved code {what}; in `{self.destination.dotted}` it would import itself.",
            next_step="Let the code use the names themselves first, in a commit of its own.",
            place=self.source.place(site.line),
        )

    def _pruned(self, site: Site, keep: list[ImportedName]) -> str:
        statement = self.document.editor.statement(site)
        gone = [name for name in site.names if name not in keep]
        rule = self.context.shrink(self.destination.path, site.target)
        text = statement.text
        if gone:
            text = statement.without(gone, rule or Shrink.COLLAPSE) or ""
        elif rule is not None:
            text = statement.laid_out(rule)
        node = site.node
        if isinstance(node, ast.ImportFrom) and node.level and site.target is not None:
            spelled = respelled_relative(
                self.document.package, self.destination.package, node.level, node.module,
                site.target,
            )  # fmt: skip
            if spelled != statement.module:
                text = respelled(text, spelled, self.document)
        return text

    def _test_names(self, statement: Statement) -> list[str]:
        """Names that a guard's own conditions look up."""
        return [
            reference.name
            for reference in self.symbols.references[statement.index]
            if reference.access == "load" and reference.name not in self.symbols.imports
        ]

    def _add_tail(self, statement: Statement) -> None:
        binds = frozenset(self.symbols.binds(statement.index))
        documented = self.symbols.attribute_docstring(statement.index)
        indices = [statement.index] if documented is None else [statement.index, documented]
        for index in indices:
            if all(piece.index != index for piece in self.result.tail):
                part = self.symbols.statements[index]
                text = moved_text(self.document, part, self.destination)
                self.result.tail.append(Piece(index, text, False, binds))

    def _guard(
        self, statement: Statement, bindings: list[ImportedBinding], *, depends: bool
    ) -> None:
        """A guard with the imports that are needed; `depends`: its condition is a helper."""
        newer = self.move.plan.newer
        text = guard_text(
            self.document,
            statement,
            {binding.alias for binding in bindings},
            self.destination,
            self.context.shrink,
            alone=newer,
        )
        names = frozenset(binding.name for binding in bindings)
        if newer and not (only_imports(statement.node) or is_type_checking(statement.node)):
            names = frozenset(self.symbols.binds(statement.index))
            for name in sorted(names):
                self.context.already(name)  # refuses if the destination means something else
        piece = Piece(statement.index, text, not depends, names)
        (self.result.tail if depends else self.result.head).append(piece)


def _may_fail(node: ast.stmt) -> bool:
    return isinstance(node, ast.Try) or suppresses(node)


def _bound(site: Site) -> set[str]:
    """The names that a plain import statement binds."""
    return {
        name.asname or (name.name if site.is_from else name.name.partition(".")[0])
        for name in site.names
    }


def _future_text(symbols: Symbols) -> str:
    """The `__future__` imports of a module that postpones annotations, as it writes them."""
    if not symbols.has_future_annotations:
        return ""
    module = symbols.module
    texts = [
        module.text[statement.start : statement.end].rstrip()
        for statement in symbols.statements
        if is_future(statement.node) and not statement.shared
    ]
    return module.newline.join(texts) or "from __future__ import annotations"
