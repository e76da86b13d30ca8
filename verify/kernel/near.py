"""Which files a change can be reached from.

In a small tree, every import counts, wherever it stands, and every text that spells a module. In a
large one nearly everything reaches everything that way, by imports within functions. There, a file
is near if a changed one is imported while it is: by its own top level, or by a function of its own
that is called there. What only its functions import is an entry of its own; the file is looked at
if it says a name that has moved.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator

from verify.kernel.both import Both
from verify.kernel.source import DEFINITIONS, IMPORTS, OpaqueError, Statement, stored
from verify.kernel.tree import Tree, absolute, reaching, through_packages
from verify.kernel.words import words

MOST_FILES = 400  # that reach a change, before imports within functions are told apart


def near(both: Both) -> set[str]:
    """List the files from which a change can be reached, on either side."""
    found: set[str] = set()
    for tree in (both.base, both.target):
        reached = reaching(tree, both.changed)
        if len(reached) > MOST_FILES:
            reached = _Loading(tree, both).found()
        found |= reached
    return found


def said(both: Both) -> frozenset[str]:
    """Give the names by which what changed may be told.

    They are those of statements that are not what and where they were, and of files that are new or
    gone.
    """
    found: set[str] = set()
    edited = {edit.base for edit in both.pairing.edits}
    for tree in (both.base, both.target):
        other = both.target if tree is both.base else both.base
        for path in both.changed:
            if path not in tree.files:
                continue
            if path not in other.files:
                found.add(tree.name(path).rpartition(".")[2])
            after = {s.text for s in other.source(path).statements} if path in other.files else ()
            for statement in tree.source(path).statements:
                if statement.text not in after or (path, statement.index) in edited:
                    found |= _stored(tree, path, statement)
    return frozenset(found)


def _stored(tree: Tree, path: str, statement: Statement) -> set[str]:
    """Give the names that a statement binds, but for what it imports from the outside."""
    if not isinstance(statement.node, IMPORTS):
        return set(stored(statement.node))
    if not tree.leads(_named(statement.node, tree.names(path), path), path):
        return set()
    return set(stored(statement.node)) - {"*"}


class Words:
    """Tells whether texts say one of some names."""

    def __init__(self, names: Collection[str]) -> None:
        parts = sorted(re.escape(name) for name in names)
        self._names = re.compile(rf"\b(?:{'|'.join(parts)})\b") if parts else None

    def __call__(self, text: str) -> bool:
        """Tell whether a text says one of the names."""
        return self._names is not None and bool(self._names.search(text))


# Lookups whose names are put together, and lists of what is there.
_LOOKUPS = words(
    """getattr hasattr setattr delattr import_module __import__ locate resolve_name import_string
    globals locals vars eval exec reload modules __dict__ dir getmembers __subclasses__ patch
    monkeypatch listdir scandir walk glob rglob iterdir iter_modules walk_packages files"""
)


class Untouched:
    """Knows the definitions in files that did not change for which nothing can have changed.

    Such a definition says no name of what moved or changed, or is written to by what did, hands on
    no module that changed, and looks nothing up by a name that is put together; nor does it say
    what was made, at the top level or in a class, by a statement that does.
    """

    def __init__(self, both: Both, files: Iterable[str]) -> None:
        self.both = both
        trees = both.base, both.target
        told = {
            tree.name(p).rpartition(".")[2]
            for tree in trees
            for p in both.changed & tree.files.keys()
        }
        told |= {*said(both), *_written(both), *_LOOKUPS}
        self._words = self._spread(
            told, [p for p in files if p in both.base.files.keys() - both.changed]
        )
        self._files: dict[str, bool] = {}
        self._known: dict[tuple[str, int], bool] = {}

    def _spread(self, told: set[str], files: list[str]) -> Words:
        """Add the names that are made of those that are told, in whatever file."""
        every, new = set(told), Words(told)
        while True:
            more: set[str] = set()
            for path in files:
                if new(self.both.base.text(path)):
                    more |= self._made(path, new)
            if more <= every:
                return Words(every)
            new = Words(more - every)
            every |= more

    def _made(self, path: str, says: Words) -> set[str]:
        try:
            statements = self.both.base.source(path).statements
        except OpaqueError:
            return set()
        found: set[str] = set()
        for statement in statements:
            if says(statement.text):
                found |= _made(statement.node)
        return found

    def __call__(self, path: str, site: Hashable) -> bool:
        """Tell whether what a top-level statement defines need not be read."""
        if path in self.both.changed or not isinstance(site, tuple) or site[0] != path:
            return False
        if path not in self._files:
            self._files[path] = self._words(self.both.base.text(path))
        if not self._files[path]:
            return True
        if site not in self._known:
            text = self.both.base.source(path).statements[site[1]].text
            self._known[site] = not self._words(text)
        return self._known[site]


def _made(node: ast.stmt) -> set[str]:
    """Give the names by which what a statement makes is got hold of, but for its definitions."""
    if isinstance(node, IMPORTS):
        return {alias.asname for alias in node.names if alias.asname}
    if not isinstance(node, DEFINITIONS):
        return set(stored(node)) - {"*"}
    found: set[str] = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store):
            found.add(inner.attr)
        elif isinstance(inner, ast.ClassDef):
            for part in inner.body:
                if not isinstance(part, DEFINITIONS):
                    found |= set(stored(part))
    return found


def _written(both: Both) -> set[str]:
    """Give the names that what moved or changed may write to modules."""
    found: set[str] = set()
    sites = [(both.target, at) for at in both.pairing.new]
    sites += [(both.base, at) for at in both.pairing.gone]
    sites += [(both.base, base) for base, _ in both.pairing.moved()]
    for edit in both.pairing.edits:
        sites += [(both.base, edit.base), (both.target, edit.target)]
    for tree, at in sites:
        for node in ast.walk(both.statement(tree, at).node):
            if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
                found.add(node.attr)
            elif isinstance(node, ast.Global):
                found.update(node.names)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                if re.fullmatch(r"[\w.:]+", node.value):
                    found.add(re.split("[.:]", node.value)[-1])
    return found - {""}


class _Loading:
    """Follows what is imported while a file is imported, on one side."""

    def __init__(self, tree: Tree, both: Both) -> None:
        self.tree = tree
        self.both = both
        self.outer: dict[str, set[str]] = defaultdict(set)
        self.inner: dict[str, set[str]] = defaultdict(set)
        self.texts: dict[str, set[str]] = defaultdict(set)
        for path in tree.python():
            told = tree.spelled(path)
            outer = tree.leads(told.outer, path)
            for other in outer | tree.above(path):
                self.outer[other].add(path)
            for other in tree.leads(told.inner, path):
                self.inner[other].add(path)
            for other in tree.leads(told.texts, path):
                self.texts[other].add(path)
            if told.computed:
                for other in tree.computed(path, outer):
                    self.texts[other].add(path)

    def found(self) -> set[str]:
        """List the files."""
        found: set[str] = set()
        aside: set[str] = set()  # files that import it in functions, or spell it
        todo = [path for path in self.both.changed if path in self.tree.files]
        for users in (self.outer, self.inner):
            aside |= through_packages(self.tree, todo, users)
        while todo:
            path = todo.pop()
            if path in found:
                continue
            found.add(path)
            todo += self.outer.get(path, ())
            for user in self.inner.get(path, set()) - found:
                if self._loads(user, path):
                    todo.append(user)
                    continue
                aside.add(user)
            aside |= self.texts.get(path, set())
        says = Words(said(self.both))
        return found | {path for path in aside - found if says(self.tree.text(path))}

    def _loads(self, user: str, path: str) -> bool:
        """Tell whether a file may run one of its indented imports of another as it is imported."""
        try:
            body = self.tree.source(user).tree.body
        except OpaqueError:
            return True
        own = self.tree.names(user)
        within: set[str] = set()
        for node, around in _imports(body, ()):
            if path not in self.tree.leads(_named(node, own, user), user):
                continue
            if not around:
                return True
            within.update(around)
        return bool(within) and _called(body, within)


def _imports(
    body: Iterable[ast.stmt], around: tuple[str, ...]
) -> Iterator[tuple[ast.Import | ast.ImportFrom, tuple[str, ...]]]:
    """List import statements with the functions that they stand in, and the classes of these."""
    todo: list[tuple[ast.AST, tuple[str, ...], bool]] = [(node, around, False) for node in body]
    while todo:
        node, names, inside = todo.pop()
        if isinstance(node, IMPORTS):
            yield node, names if inside else ()
        elif isinstance(node, ast.If) and _last(node.test) == "TYPE_CHECKING":
            todo += [(child, names, inside) for child in node.orelse]
        elif isinstance(node, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            if isinstance(node, DEFINITIONS):
                names = (*names, node.name)
                inside = inside or not isinstance(node, ast.ClassDef)
            todo += [(child, names, inside) for child in ast.iter_child_nodes(node)]


def _named(node: ast.Import | ast.ImportFrom, own: Iterable[str], path: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    for module in absolute("." * node.level + (node.module or ""), own, path):
        yield module
        yield from (f"{module}.{alias.name}" for alias in node.names)


def _called(body: Iterable[ast.stmt], names: set[str]) -> bool:
    """Tell whether one of some functions is called, or decorates, where a module is imported."""
    todo: list[ast.AST] = [*body]
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if any(_last(decorator) in names for decorator in node.decorator_list):
                return True
            todo += [*node.decorator_list, *node.args.defaults]
            continue
        if isinstance(node, ast.ClassDef):
            if any(_last(part) in names for part in (*node.decorator_list, *node.bases)):
                return True
        if isinstance(node, ast.If) and _is_main(node):
            continue
        if isinstance(node, ast.Call) and _last(node.func) in names:
            return True
        todo.extend(ast.iter_child_nodes(node))
    return False


def _last(node: ast.AST) -> str:
    return str(getattr(node, "attr", "") or getattr(node, "id", ""))


def _is_main(node: ast.If) -> bool:
    return "'__main__'" in ast.dump(node.test)
