"""A first plan as TOML: it names the source, and shows as comments what could leave it."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from textwrap import wrap

from transforms.errors import Place
from transforms.outline.graph import Graph, Node, graph_of, names_of
from transforms.outline.groups import Group, groups_of
from transforms.paths import ModuleName, looks_like_path
from transforms.reading.writer import array, quote
from transforms.source.module import Module
from transforms.tree import Tree
from transforms.tree.names import Names

_WIDTH = 100
_MOST_NAMES = 8
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z0-9]+")


@dataclass(frozen=True, slots=True)
class Outline:
    """A module's first plan, and what it was made from."""

    name: str
    path: str
    text: str
    graph: Graph
    groups: tuple[Group, ...]


def outlined(tree: Tree, text: str) -> Outline:
    """Read a module, named by path or dotted name, and write its first plan.

    Raises `Refusal`: there is no such module, or it cannot be read. The same module gives the same
    text.
    """
    name = ModuleName(text, is_path=looks_like_path(text))
    names = Names(tree)
    located = names.locate(name, Place(text))
    module = Module(located.path, tree.read(located.path))
    graph = graph_of(module)
    groups = groups_of(graph)
    lines = [*_head(graph, module, name), "format = 2", "", "[[source]]"]
    lines.append(f"module = {quote(str(name))}")
    homes = _Homes(tree, names, name, module)
    for group in groups:
        lines += ["", *_group(graph, group, homes, is_all=len(groups) == 1)]
    return Outline(text, located.path, "\n".join(lines) + "\n", graph, groups)


def _head(graph: Graph, module: Module, name: ModuleName) -> Iterator[str]:
    size = f"{len(module.statements):,} statements, {_counted(len(graph.nodes), 'definition')}"
    lines = _counted(module.text.count("\n"), "line")
    yield from _comment(
        f"A first plan for {quote(str(name))}: {lines}, {size}. "
        "It moves nothing yet. Each group below hangs together; take away the `# ` before what is "
        "to leave, join and name the modules as you like, and delete the rest."
    )
    yield "#"
    yield from _table(graph)
    if graph.resting:
        yield "#"
        where = ", ".join(map(str, graph.resting[:_MOST_NAMES]))
        more = ", ..." if len(graph.resting) > _MOST_NAMES else ""
        number = _counted(len(graph.resting), "statement")
        yield from _comment(f"What binds no name stays: {number}, line {where}{more}.")
    yield ""


def _table(graph: Graph) -> Iterator[str]:
    """The definitions: how large, whom they use, who uses them."""
    users: dict[int, list[int]] = {node.number: [] for node in graph.nodes}
    for number, used in graph.uses.items():
        for other in used:
            users[other].append(number)
    yield "#  line  lines  what it is"
    for node in graph.nodes:
        yield f"# {node.line:>5}  {node.lines:>5}  {', '.join(node.names[:_MOST_NAMES])}"
        if node.is_copied:
            yield f"#{'':15}copied to whoever uses it"
        for words, found in (("uses", graph.uses[node.number]), ("used by", users[node.number])):
            if found:
                yield f"#{'':15}{words} {_some(list(names_of(graph, found)))}"


def _group(graph: Graph, group: Group, homes: _Homes, *, is_all: bool) -> Iterator[str]:
    nodes = [graph.nodes[number] for number in group.members]
    symbols = [name for node in nodes for name in node.names]
    words = f"Group {group.number}: {_counted(len(symbols), 'symbol')}, "
    yield from _comment(f"{words}{_counted(group.lines, 'line')}. {_cut(graph, group)}")
    if is_all:
        yield from _comment("It is all that the module has: a module of its own would be the same.")
    copies = sorted({name for number in group.members for name in graph.copied[number]})
    fields = [
        "[[destination]]",
        f"module = {quote(homes.name(nodes, 'constants' if group.is_constants else ''))}",
        f"symbols = {array(tuple(symbols))}",
    ]
    if copies:
        fields.append(f"copy = {array(tuple(copies))}")
    for line in "\n".join(fields).split("\n"):
        yield f"# {line}"


def _cut(graph: Graph, group: Group) -> str:
    """Say what the cut around a group costs."""
    needs = _some(list(names_of(graph, group.needs)))
    needed_by = list(names_of(graph, group.needed_by))
    if group.stays_need:
        needed_by.append("what cannot leave")
    if group.makes_cycle:
        others = _some([str(number) for number in group.with_groups])
        word = "group" if len(group.with_groups) == 1 else "groups"
        return (
            f"Alone it makes a cycle: it uses {needs}, which would stay behind, and is used there "
            f"by {_some(needed_by)}. Taken out with {word} {others}, it makes none."
        )
    if group.needs:
        return f"It imports {needs} from its old home, where nothing needs it."
    if needed_by:
        return f"Its old home imports it back, for {_some(needed_by)}. It uses nothing from there."
    return "It uses nothing of the rest, and nothing there uses it."


class _Homes:
    """Names for new modules: beside the source, after the largest thing in each; none twice."""

    def __init__(self, tree: Tree, names: Names, name: ModuleName, module: Module) -> None:
        self._by_path = name.is_path
        self._tree, self._names = tree, names
        text = str(name)
        self._folder = text.rpartition("/" if name.is_path else ".")[0]
        if not name.is_path and module.path.endswith("/__init__.py"):
            self._folder = text
        self._taken: set[str] = set()

    def name(self, nodes: Sequence[Node], given: str = "") -> str:
        """Name the module for some nodes, by their largest unless a name is given."""
        largest = max(nodes, key=lambda node: (node.is_definition, node.lines, -node.number))
        stem = given or "_".join(_WORD.findall(largest.names[0])).lower().strip("_") or "part"
        if not stem.isidentifier() or keyword.iskeyword(stem):
            stem = f"part_{stem}" if f"part_{stem}".isidentifier() else "part"
        for number in count(1):
            shown = self._whole(stem if number == 1 else f"{stem}_{number}")
            if shown not in self._taken and not self._is_there(shown):
                self._taken.add(shown)
                return shown
        raise AssertionError("unreachable")

    def _whole(self, stem: str) -> str:
        if self._by_path:
            return f"{self._folder}/{stem}.py" if self._folder else f"{stem}.py"
        return f"{self._folder}.{stem}" if self._folder else stem

    def _is_there(self, shown: str) -> bool:
        if self._by_path:
            entries = self._tree.entries()
            return shown in entries or f"{shown[:-3]}/__init__.py" in entries
        return self._names.path_of(shown) is not None


def _some(names: list[str]) -> str:
    shown = names[:_MOST_NAMES]
    left = len(names) - len(shown)
    if left > 0:
        return f"{', '.join(shown)} and {left:,} more"
    return f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else "".join(shown)


def _comment(text: str) -> Iterator[str]:
    yield from (f"# {line}" for line in wrap(text, _WIDTH - 2, break_on_hyphens=False))


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
