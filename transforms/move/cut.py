"""The source after the move: statements cut, orphaned imports dropped, names imported back."""

from __future__ import annotations

import ast
from collections.abc import Collection

from transforms.errors import Place, Refusal
from transforms.imports.document import Document, Wanted
from transforms.imports.statement import ImportedName, render_import
from transforms.move.needs import is_for_checkers, refuse_run_time
from transforms.move.old_names import give_with_warning
from transforms.move.orphans import Orphans
from transforms.move.state import Group, Move, SourceState
from transforms.scopes.types import Reference
from transforms.source.edits import Block
from transforms.source.fixtures import finds, is_conftest, is_fixture_use, own_fixtures
from transforms.source.symbols import Symbols
from transforms.syntax.kinds import is_future, is_string
from transforms.tree.names import refuse_unimportable, relative_name

# What keeps a linter from taking away an import that nothing in the file uses.
UNUSED = "# noqa: F401"


class Cut:
    """What one source loses and gets."""

    def __init__(self, source: SourceState, move: Move) -> None:
        self.source, self.move = source, move
        self.symbols: Symbols = source.symbols
        self.document: Document = source.document
        self.orphans = Orphans(source.document, source.cut, newer=move.plan.newer)
        self.removed_imports: list[str] = []
        self.imports_back: list[str] = []

    @property
    def remaining(self) -> list[int]:
        """Statements that stay."""
        return self.orphans.staying

    def candidates(self) -> set[str]:
        """Imports that the move may orphan: moved code uses them, what stays does not."""
        return set(self.orphans.names)

    def _groups(self) -> list[Group]:
        return [group for group in self.move.groups if group.source is self.source]

    def apply(self, external: Collection[str]) -> None:
        """Record every edit in the source's document. `external`: names others read through it."""
        module = self.document.module
        for index in sorted(self.source.cut):
            statement = self.symbols.statements[index]
            self.document.edits.delete_lines(
                module.line_start(statement.block_start), module.after_line(statement.end)
            )
        checks = any(self.needed_back().values()) or bool(self.given_with_warning())
        newer = self.move.plan.newer
        read = {*external, *(self._offered_by_package() if newer else ())}
        self.orphans = Orphans(self.document, self.source.cut, read, checks=checks, newer=newer)
        self.removed_imports += self.orphans.drop()
        self._import_back()
        if given := self.given_with_warning():
            homes = {name: self._target(name) for name in given}
            give_with_warning(
                self.document,
                self.source.located.dotted,
                {name: target for name, (target, _) in homes.items()},
                dict(homes.values()),
            )

    def _offered_by_package(self) -> set[str]:
        """Names that the package takes from here into which this module turns."""
        return self.move.package_names.get(self.source.located.dotted, set())

    def given_with_warning(self) -> list[str]:
        """Moved names that can still be asked for here, though nothing here binds them."""
        if self.source.spec.old is None:
            return []
        back = self.needed_back()
        return [
            name
            for name in sorted(self.source.moved)
            if back.get(name, True) and (not name.startswith("_") or name in self._listed())
        ]

    def needed_back(self) -> dict[str, bool]:
        """Moved names that what stays looks up, or that stay importable; true: only annotations."""
        used = self.symbols.uses(self.remaining)
        listed = self._listed() if self.source.spec.old is None else set()
        wanted: dict[str, bool] = {}
        for name in sorted(self.source.moved):
            if self._is_found_anyway(name, used.get(name, ())) and name not in listed:
                continue
            if name in used or name in listed or self._is_offered(name):
                wanted[name] = name in self.source.spec.type_checking or (
                    name not in listed
                    and not self._is_offered(name)
                    and all(is_for_checkers(use, self.symbols) for use in used[name])
                )
        return wanted

    def lost(self) -> list[str]:
        """Moved names that nothing gives any longer to who asks the old module for them."""
        back = {name for name, annotates in self.needed_back().items() if not annotates}
        kept = self._offered_by_package()
        given = set(self.given_with_warning())
        return [name for name in self.source.moved if name not in back | kept | given]

    def _listed(self) -> set[str]:
        """Names in what stays of `__all__`."""
        return {
            name
            for name, node in self.symbols.all_names
            if self.symbols.statement_at(node).index in self.remaining
        }

    def _is_offered(self, name: str) -> bool:
        """Whether the plan keeps the name importable from here."""
        reexports = self.source.spec.reexports
        if self.move.plan.newer and self._is_for_tests_below(name):
            return True
        return not name.startswith("_") if reexports is None else name in reexports

    def _is_for_tests_below(self, name: str) -> bool:
        """Whether pytest asks this file for the name, for all tests below its folder."""
        fixtures = {fixture.node.name for fixture in own_fixtures(self.document.module.tree)}
        hook = name.startswith("pytest_")
        return is_conftest(self.source.located.path) and (hook or name in fixtures)

    def _is_found_anyway(self, name: str, uses: Collection[Reference]) -> bool:
        """Whether only tests ask for a fixture that now lies in a `conftest.py` of theirs."""
        home = self.source.moved[name].located.path
        if not (self.move.plan.newer and uses and finds(home, self.source.after.path)):
            return False
        return all(map(is_fixture_use, uses)) and not self._is_offered(name)

    def _pragma(self, name: str) -> str | None:
        """What an import back needs, so that a linter does not call it unused."""
        uses = self.symbols.uses(self.remaining).get(name, [])
        if name in self._listed() or not all(map(is_fixture_use, uses)):
            return None
        return UNUSED

    def _import_back(self) -> None:
        given = set(self.given_with_warning())
        wanted = {name: only for name, only in self.needed_back().items() if name not in given}
        self._check_apart(wanted)
        in_place: list[Wanted] = []
        for name, type_checking in wanted.items():
            pragma = None if type_checking else self._pragma(name)
            target, spelled = self._target(name)
            apart = name in self.source.spec.type_checking
            item = Wanted(target, spelled, ImportedName(name), type_checking, pragma, apart)
            self.imports_back.append(f"from {spelled} import {name}")
            if self.source.spec.imports_back == "in place" and not type_checking:
                if self.document.statement_from(target, self._first_cut(), pragma) is None:
                    in_place.append(item)
                    continue
            self.document.import_name(item, before=self._first_use(name))
        if in_place:
            self._insert_in_place(in_place)

    def _check_apart(self, wanted: Collection[str]) -> None:
        """What the plan puts under TYPE_CHECKING is imported back at all, and needed by no run."""
        used = self.symbols.uses(self.remaining)
        postponed = self.symbols.has_future_annotations
        for name in self.source.spec.type_checking:
            if name not in wanted:
                raise Refusal(
                    "plan-schema",
                    f"`type_checking` lists `{name}`, which `{self.source.located.dotted}` does "
                    "not import back.",
                    next_step="List moved symbols that what stays uses in annotations.",
                    place=self.move.plan.place(self.source.spec.line),
                )
            refuse_run_time(name, used.get(name, ()), self.source, postponed=postponed)

    def _target(self, name: str) -> tuple[str, str]:
        """The module to import `name` back from, and how it is spelled here."""
        dotted = self.source.located.dotted
        after = self.source.after
        target = self.move.route(dotted, name) or ""
        if (after.dotted + ".").startswith(target + "."):
            target = self.move.home(dotted, name) or target
        return target, self._spell(target)

    def _spell(self, target: str) -> str:
        top = self.source.located.dotted.partition(".")[0]
        if self.document.spells_relatively(top):
            return relative_name(self.source.after.package, target) or target
        return target

    def _first_use(self, name: str) -> int | None:
        """The offset of the first statement that looks the name up, wherever it runs."""
        for index in self.remaining:
            if name in self.symbols.uses([index]):
                return self.symbols.statements[index].block_start
        return None

    def _first_cut(self) -> int:
        return self.symbols.statements[min(self.source.cut)].block_start

    def _insert_in_place(self, wanted: list[Wanted]) -> None:
        """An import block in the middle of the file, where the first removed block stood."""
        newline = self.document.module.newline
        groups: dict[str, list[ImportedName]] = {}
        for item in wanted:
            refuse_unimportable(item.spelled, Place(self.document.path, 1))
            groups.setdefault(item.spelled, []).append(item.name)
        text = "".join(
            render_import(spelled, sorted(names, key=lambda n: n.name), style=self.document.style,
                          newline=newline) + newline
            for spelled, names in sorted(groups.items())
        )  # fmt: skip
        first = min(self.source.cut)
        offset = self.document.module.line_start(self._first_cut())
        below = next((i for i in self.remaining if i > first), None)
        after = 1
        if below is not None and self.symbols.statements[below].is_definition:
            after = 2
        self.document.edits.insert_block(offset, Block(text, 2, after))

    def leftovers(self) -> list[int]:
        """Remaining statements other than imports, strings, `__all__` and copied helpers."""
        copied = {index for group in self._groups() for index in group.copied}
        found = []
        for index in self.remaining:
            node = self.symbols.statements[index].node
            if isinstance(node, (ast.Import, ast.ImportFrom, ast.Pass)) or is_string(node):
                continue
            if index in copied or index in self.symbols.all_statements or _guards_imports(node):
                continue
            found.append(index)
        return found

    def fate(self) -> str:
        """`kept`, `deleted` or `renamed to PATH`. Refuses to delete a module that is not empty."""
        spec = self.source.spec
        if spec.becomes is not None:
            return f"renamed to {self.source.after.path}"
        left = self.leftovers()
        if spec.emptied == "delete":
            if left:
                statement = self.symbols.statements[left[0]]
                raise Refusal(
                    "not-empty",
                    f"`{self.source.located.path}` is to be deleted, but this statement "
                    "stays in it.",
                    next_step='Move it too, or drop `emptied = "delete"`.',
                    place=self.source.place(statement.line),
                )
            return "deleted"
        return "kept"


def _guards_imports(node: ast.stmt) -> bool:
    if isinstance(node, (ast.Import, ast.ImportFrom, ast.Pass)):
        return True
    if isinstance(node, ast.If):
        return all(map(_guards_imports, [*node.body, *node.orelse]))
    if isinstance(node, ast.Try):
        handled = [child for handler in node.handlers for child in handler.body]
        return all(map(_guards_imports, [*node.body, *node.orelse, *handled]))
    return False


def rebase_relative(source: SourceState) -> None:
    """A module that became part of a package of its own name: its relative imports gain a level."""
    document = source.document
    for site in document.editor.sites:
        if site.is_relative and site.target is not None and not document.editor.is_sent(site):
            spelled = relative_name(source.after.package, site.target)
            if spelled is not None:
                document.editor.respell(site, spelled)


def docstring_first(source: SourceState) -> None:
    """Put the leading string above the `__future__` import that stands before it."""
    document, statements = source.document, source.symbols.statements
    futures = [s for s in statements if is_future(s.node)]
    texts = [s for s in statements if is_string(s.node)]
    if (
        not futures
        or not texts
        or futures[0].index > texts[0].index
        or futures[-1].index + 1 != texts[0].index
    ):
        return
    module = document.module
    block = module.text[futures[0].block_start : futures[-1].end]
    document.edits.delete_lines(
        module.line_start(futures[0].block_start), module.after_line(futures[-1].end)
    )
    end = module.after_line(texts[0].end)
    document.edits.insert_block(
        end, Block(block + module.newline, 1, module.blank_lines_after(texts[0].end))
    )


__all__ = ["Cut", "docstring_first", "rebase_relative"]
