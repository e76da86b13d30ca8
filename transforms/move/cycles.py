"""Import cycles that a move would make: found on what modules import when they are loaded.

Imports under TYPE_CHECKING and inside functions load nothing. A module depends on its own package
only if it takes a name from that `__init__`; a new module counts as the module it came from.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from transforms.errors import Place, Refusal
from transforms.move.causes import Causes, Need, told
from transforms.move.state import Move
from transforms.reading.accepts import Acceptable
from transforms.result.changes import Blob
from transforms.source.imports import is_type_checking
from transforms.syntax.parsing import once, parse
from transforms.tree import Tree
from transforms.tree.names import Names, resolve_import

Edges = dict[str, int]  # module -> line of the import

_MAX_MODULES = 4000


def check_cycles(
    move: Move,
    tree: Tree,
    after: Mapping[str, Blob | None],
    created: Mapping[str, str],
    names: Names,
    parsed: Mapping[bytes, ast.Module],
) -> None:
    """Refuse a move that closes an import cycle. Only modules reached from its edges are parsed.

    `created` maps a new module's dotted name to its source's; `parsed` holds the trees of files
    that were parsed already, by their bytes.
    """
    if not move.accepts.cycles:
        return
    loading = Loading(tree, after, names, parsed)
    family = {*created, *(source.after.dotted for source in move.sources)}
    found = _find_cycles(
        sorted(loading.new_paths),
        lambda dotted: dotted in family or loading.is_imported(dotted),
        Graph(loading.before_edges),
        Graph(loading.after_edges),
        created,
    )
    cycles: dict[frozenset[str], Cycle] = {}
    for cycle in found:
        around = (*cycle.chain, *(loading.place(name, 1).path for name in cycle.chain))
        if not move.accepts.covers("cycle", around):
            cycles.setdefault(frozenset(cycle.chain), cycle)
    if cycles:
        raise _refusal(list(cycles.values()), Causes(move), loading)


class Loading:
    """What modules load, before the move and after it."""

    def __init__(
        self,
        tree: Tree,
        after: Mapping[str, Blob | None],
        names: Names,
        parsed: Mapping[bytes, ast.Module],
    ) -> None:
        self.tree, self.after, self.names = tree, after, names
        self._parsed: dict[bytes, ast.Module | None] = dict(parsed)
        paths = sorted(path for path in after if path.endswith(".py"))
        self.new_paths = {names.dotted(path): path for path in paths if after[path] is not None}
        self._old_paths = {names.dotted(path): path for path in paths if path in tree.entries()}
        gone = {names.dotted(path) for path in paths if after[path] is None}
        self._gone = gone - set(self.new_paths)

    def before_edges(self, dotted: str) -> Edges:
        """What a module loads before the move."""
        path = self._path_before(dotted)
        if path is None:
            return {}
        return self._edges(self.tree.read(path), path, dotted, self._existed)

    def after_edges(self, dotted: str) -> Edges:
        """What a module loads after it."""
        path = self.new_paths.get(dotted)
        blob = self.after[path] if path else None
        if path and blob is not None:
            return self._edges(blob.data, path, dotted, self._exists)
        path = self.names.path_of(dotted)
        if path is None or dotted in self._gone:
            return {}
        return self._edges(self.tree.read(path), path, dotted, self._exists)

    def place(self, dotted: str, line: int) -> Place:
        """A line of a module as the move leaves it."""
        path = self.new_paths.get(dotted, self.names.path_of(dotted) or dotted)
        blob = self.after.get(path)
        text = blob.data.decode("utf-8", "replace").split("\n") if blob else []
        return Place(path, line, None, text[line - 1] if 0 < line <= len(text) else None)

    def is_imported(self, dotted: str) -> bool:
        """Whether any import can close a cycle over a module: tests and scripts have none."""
        path = self.names.path_of(dotted)
        if path is None:
            return False  # outside the root: no import of the tree is resolved to it
        last = re.escape(dotted.rpartition(".")[2]).encode()
        spelled = re.compile(
            rb"(?m)^[ \t]*(?:from|import)\b[^\n]*\b" + last + rb"\b|^[ \t]+" + last + rb","
        )
        python = [p for p in self.tree.entries() if p.endswith(".py") and p != path]
        mentions = self.tree.read_many(self.tree.search(re.compile(last), python))
        return any(spelled.search(data) for data in mentions.values())

    def _path_before(self, dotted: str) -> str | None:
        return self.names.path_of(dotted) or self._old_paths.get(dotted)

    def _existed(self, dotted: str) -> bool:
        return self._path_before(dotted) is not None

    def _exists(self, dotted: str) -> bool:
        return dotted in self.new_paths or (self._existed(dotted) and dotted not in self._gone)

    def _edges(self, data: bytes, path: str, dotted: str, exists: Callable[[str], bool]) -> Edges:
        if data not in self._parsed:
            try:
                self._parsed[data] = parse(data, path)
            except Refusal:
                self._parsed[data] = None  # a file that does not parse loads nothing
        module = self._parsed[data]
        package = self.names.package_of(path)
        if module is None:
            return {}
        loaded = once((_loaded, data), lambda: list(_loaded(module.body)))
        return _imports_of(loaded, dotted, package, exists)


def _imports_of(
    loaded: Iterable[ast.Import | ast.ImportFrom],
    dotted: str,
    package: str,
    exists: Callable[[str], bool],
) -> Edges:
    """The modules that loading `dotted` loads, each with the line that asks for it.

    `from p import n` asks for the module `p.n` if there is one, else for a name in `p`.
    """
    edges: Edges = {}
    for node in loaded:
        if isinstance(node, ast.Import):
            wanted = [alias.name for alias in node.names]
        else:
            base = resolve_import(package, node.level, node.module)
            if base is None:
                continue
            wanted = []
            for alias in node.names:
                submodule = f"{base}.{alias.name}" if base else alias.name
                wanted.append(submodule if exists(submodule) else base)
        for name in wanted:
            for part in _with_packages(name, dotted):
                if exists(part):
                    edges.setdefault(part, node.lineno)
    edges.pop(dotted, None)
    return edges


def _with_packages(name: str, importer: str) -> Iterable[str]:
    """A module and the packages that are loaded before it, apart from the importer's own."""
    parts = name.split(".")
    for length in range(1, len(parts)):
        package = ".".join(parts[:length])
        if not (importer + ".").startswith(package + "."):
            yield package
    yield name


def _loaded(body: Iterable[ast.stmt]) -> Iterable[ast.Import | ast.ImportFrom]:
    stack = list(reversed(list(body)))
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or is_type_checking(node):
            continue
        else:
            children = [
                child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)
            ]
            for handler in getattr(node, "handlers", []):
                children += handler.body
            stack.extend(reversed(children))


class Graph:
    """Import edges, read lazily: only modules that a search reaches are parsed."""

    def __init__(self, edges_of: Callable[[str], Edges]) -> None:
        self._edges_of = edges_of
        self._known: dict[str, Edges] = {}

    def edges(self, dotted: str) -> Edges:
        """What a module imports when it is loaded."""
        if dotted not in self._known:
            self._known[dotted] = self._edges_of(dotted)
        return self._known[dotted]

    def path(
        self, start: str, goal: str, same: Mapping[str, str], within: set[str] | None = None
    ) -> list[str] | None:
        """A shortest chain of imports from `start` to `goal`.

        `same` maps a module to its stand-in; `within` are the only modules to go through.
        """

        def stand_in(name: str) -> str:
            return same.get(name, name)

        parents: dict[str, str | None] = {start: None}
        queue = [start]
        for current in queue:
            if len(parents) > _MAX_MODULES:
                return None
            for following in sorted(self.edges(current)):
                if following in parents or (within is not None and following not in within):
                    continue
                parents[following] = current
                if stand_in(following) == stand_in(goal):
                    chain = [following]
                    while parents[chain[-1]] is not None:
                        chain.append(parents[chain[-1]] or "")
                    return chain[::-1]
                queue.append(following)
        return None


@dataclass(frozen=True, slots=True)
class Cycle:
    """Modules that load each other in a circle, and the line of each import of the next one.

    The last module is the first again, or one that stood for it before the move.
    """

    chain: tuple[str, ...]
    lines: tuple[int, ...]


class Cycles(Acceptable):
    """A refusal of import cycles. `helpers`: what would end them by standing in both modules."""

    def __init__(
        self, refusal: Refusal, module: str, helpers: Mapping[int, tuple[str, ...]]
    ) -> None:
        super().__init__(refusal, module, "")
        self.helpers = helpers


def _refusal(cycles: list[Cycle], causes: Causes, loading: Loading) -> Cycles:
    """All cycles at once, with who needs what of whom, and the lines that would end them."""
    texts, needs, place = [], list[Need](), None
    for cycle in cycles:
        said = []
        for (module, target), line in zip(pairwise(cycle.chain), cycle.lines, strict=True):
            found = causes.needs(module, target)
            needs += found
            where = loading.place(module, line)
            place = place or (found[0].place if found else where)
            imports = f"`{module}` imports `{target}` ({where.path}:{where.line})"
            said.append(told(found) or imports)
        texts.append(f"{' -> '.join(cycle.chain)}: {'; '.join(said)}")
    what = "an import cycle" if len(texts) == 1 else f"{len(texts)} import cycles"
    remedies = causes.remedies(needs)
    general = (
        "Move what both sides need into a module of its own, or list a helper under `copy`; an "
        "import used only in annotations can stand under TYPE_CHECKING."
    )
    refusal = Refusal(
        "cycle",
        f"The move would make {what}: {'. And '.join(texts)}.",
        next_step=f"Write {' and '.join(remedies)}." if remedies else general,
        place=place,
    )
    return Cycles(refusal, cycles[0].chain[0], causes.helpers(needs))


def _find_cycles(
    changed: Iterable[str],
    is_imported: Callable[[str], bool],
    before: Graph,
    after: Graph,
    stand_ins: Mapping[str, str],
) -> Iterator[Cycle]:
    """Every import of a changed module that closes a cycle that was not there.

    `stand_ins` maps each new module to the source it came from. Among a source and the modules
    made from it there may be no cycle at all, since before they were one module without any.
    """
    family = {*stand_ins, *stand_ins.values()}
    for module in changed:
        for target in sorted(after.edges(module)):
            if module in family and target in family:
                back = _cycle_within(family, after, module, target)
            elif _was_loaded(before, stand_ins, module, target):
                continue
            elif not is_imported(module):
                break
            else:
                back = _new_cycle(before, after, stand_ins, module, target)
            if back is not None:
                chain = (module, *back)
                yield Cycle(chain, tuple(after.edges(one)[other] for one, other in pairwise(chain)))


def _cycle_within(family: set[str], after: Graph, module: str, target: str) -> list[str] | None:
    """The way back from `target`, by modules that were one before: none of them may be there."""
    back = after.path(target, module, {}, family)
    return None if back is None or _is_package_of_new(module, target, back) else back


def _new_cycle(
    before: Graph, after: Graph, stand_ins: Mapping[str, str], module: str, target: str
) -> list[str] | None:
    """The way back from `target` by any module, unless the two were in a cycle already."""
    back = after.path(target, module, stand_ins)
    return None if back is None or _was_cyclic(before, stand_ins, module, target) else back


def _was_loaded(before: Graph, stand_ins: Mapping[str, str], module: str, target: str) -> bool:
    """Whether the module loaded `target` before the move: by itself, or through its source."""
    old = before.edges(stand_ins.get(module, module))
    if target in old or stand_ins.get(target) in old or stand_ins.get(target) == module:
        return True
    sources = set(old) & {*stand_ins, *stand_ins.values()}
    return any(target in before.edges(source) for source in sources)


def _was_cyclic(before: Graph, stand_ins: Mapping[str, str], module: str, target: str) -> bool:
    one, other = stand_ins.get(module, module), stand_ins.get(target, target)
    if one == other:
        return True
    there = before.path(one, other, {})
    return there is not None and before.path(other, one, {}) is not None


def _is_package_of_new(module: str, target: str, back: list[str]) -> bool:
    """A package that imports its own new submodule, which does not take a name from it."""
    return (target + ".").startswith(module + ".") and len(back) > 1 and back[-2] == module
