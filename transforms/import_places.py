"""Where a new import statement goes beside another one, when no formatter sorts afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from transforms.import_runs import (
    SECTION_COMMENT,
    Lines,
    groups,
    module_of,
    orders_followed,
    statement_key,
)
from transforms.import_sites import Site
from transforms.import_types import ImportStyle
from transforms.module import Module


@dataclass(frozen=True, slots=True)
class Place:
    """Right below `site`, or above it; with an `offset`, at the start of the line there."""

    site: Site
    above: bool = False
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """The import statements of one block, and what each will import from (None: no change)."""

    module: Module
    sites: Sequence[Site]
    spelled: Callable[[Site], str | None]
    style: ImportStyle

    def place_beside(self, site: Site, name: str, *, plain: bool, first: str = "") -> Place:
        """Where an import of `name` (`import name` if `plain`) goes that `site` makes necessary.

        `first` is the first name that it takes: it orders statements that share a module.

        In a group of statements that is sorted it goes to its sorted place; in any other right
        below `site`.
        """
        group = self._group(site)
        orders = orders_followed([member.node for member in group])
        if not orders or not all(member.alone for member in group):
            return Place(site)
        if len(group) == 1 and not self.style.sorted_statements:
            return Place(site)
        wanted = (self.style.statement_order, self.style.ignore_module_case)
        order, ignore = wanted if wanted in orders else orders[0]
        new = statement_key(name, plain=plain, order=order, ignore_case=ignore)
        keys = [
            statement_key(
                self.spelled(member) or module_of(member.node),
                plain=not member.is_from,
                order=order,
                ignore_case=ignore,
            )
            for member in group
        ]
        before = [
            member
            for member, key in zip(group, keys, strict=True)
            if key < new or (key == new and not _comes_first(first, member))
        ]
        return Place(before[-1]) if before else self._above(group)

    def new_place(self, site: Site, name: str) -> Place | None:
        """Where the statement at `site` goes once it imports from `name`; None if it may stay."""
        group = self._group(site)
        orders = orders_followed([member.node for member in group])
        others = [m for m in group if m is not site and self.spelled(m) is None]
        if not orders or not others or not all(member.alone for member in group):
            return None
        if module_of(site.node).startswith(".") != name.startswith("."):
            return None  # another section, which a sorted group does not hold
        if site.line > 1 and self.module.line_text(site.line - 1).lstrip(" \t\f").startswith("#"):
            return None  # its comment would come to stand above another
        wanted = (self.style.statement_order, self.style.ignore_module_case)
        order, ignore = wanted if wanted in orders else orders[0]
        keys = [
            statement_key(
                self.spelled(member) or module_of(member.node),
                plain=not member.is_from,
                order=order,
                ignore_case=ignore,
            )
            for member in others
        ]
        new = statement_key(name, plain=False, order=order, ignore_case=ignore)
        first = site.names[0].name if len(site.names) == 1 else ""
        rank = sum(
            key < new or (key == new and not _comes_first(first, member))
            for member, key in zip(others, keys, strict=True)
        )
        if rank == sum(m in others for m in group[: group.index(site)]):
            return None
        return Place(others[rank - 1]) if rank else self._above(others)

    def _group(self, site: Site) -> list[Site]:
        """The statements around `site` that no other statement and no blank line divides off."""
        by_node = {id(member.node): member for member in self.sites}
        block = list(site.block)
        start = stop = block.index(site.node)
        while start > 0 and id(block[start - 1]) in by_node:
            start -= 1
        while stop + 1 < len(block) and id(block[stop + 1]) in by_node:
            stop += 1
        nodes = [by_node[id(node)].node for node in block[start : stop + 1]]
        for group in groups(Lines(self.module.text), nodes):
            if any(node is site.node for node in group):
                return [by_node[id(node)] for node in group]
        return [site]

    def _above(self, group: Sequence[Site]) -> Place:
        """Above the first statement and the comment that speaks of it, below a heading."""
        first, module = group[0], self.module
        line = first.line
        while line > 1 and module.line_text(line - 1).lstrip(" \t\f").startswith("#"):
            above = module.line_text(line - 1)
            heading = len(group) > 1 and is_heading(above)
            if heading or (line == 2 and above.startswith("#!")):
                break
            line -= 1
        if line in (1, first.line):  # a comment that heads the file stays its head
            return Place(first, above=True)
        return Place(first, above=True, offset=module.line_starts[line - 1])


def _comes_first(name: str, site: Site) -> bool:
    """Whether `name` stands before the names of a statement of the same module."""
    return bool(name) and len(site.names) == 1 and name.lower() < site.names[0].name.lower()


def is_heading(comment: str) -> bool:
    """Whether a comment heads a section of imports: `# third party`, `# local imports`."""
    return SECTION_COMMENT.search(comment) is not None
