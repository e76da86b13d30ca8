"""Where a new import statement goes beside another one, when no formatter sorts afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from transforms.import_runs import Lines, groups, insertion_point, orders_followed
from transforms.import_sites import Site
from transforms.import_types import ImportStyle
from transforms.module import Module


@dataclass(frozen=True, slots=True)
class Place:
    """Right below `site`, or above it; with an `offset`, at the start of the line there."""

    site: Site
    above: bool = False
    offset: int | None = None


def place_beside(
    module: Module, run: Sequence[Site], site: Site, name: str, style: ImportStyle, *, plain: bool
) -> Place:
    """Where an import of `name` (`import name` if `plain`) goes that `site` makes necessary.

    In a group of statements that is sorted it goes to its sorted place; in any other right below
    `site`. `run` holds the import statements of the same block.
    """
    group = _group(module, run, site)
    nodes = [member.node for member in group]
    if not all(member.alone for member in group) or not orders_followed(nodes):
        return Place(site)
    if len(group) == 1 and not style.sorted_statements:
        return Place(site)
    point = insertion_point(module.text, module.tree, name, style, block=nodes, plain=plain)
    above = [member for member in group if module.line_of(member.end) < point.line]
    if above:
        return Place(above[-1])
    first = group[0]
    if point.offset == module.line_start(first.start):
        return Place(first, above=True)
    return Place(first, above=True, offset=point.offset)


def _group(module: Module, run: Sequence[Site], site: Site) -> list[Site]:
    """The statements around `site` that no other statement and no blank line divides from it."""
    by_node = {id(member.node): member for member in run}
    block = list(site.block)
    start = stop = block.index(site.node)
    while start > 0 and id(block[start - 1]) in by_node:
        start -= 1
    while stop + 1 < len(block) and id(block[stop + 1]) in by_node:
        stop += 1
    nodes = [by_node[id(node)].node for node in block[start : stop + 1]]
    for group in groups(Lines(module.text), nodes):
        if any(node is site.node for node in group):
            return [by_node[id(node)] for node in group]
    return [site]
