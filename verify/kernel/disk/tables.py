"""Tables of texts: a module and one of its names, said together, for somebody who looks them up."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterable, Iterator

from verify.kernel.pairs.both import Both
from verify.kernel.trees.nodes import children, walk
from verify.kernel.trees.source import blocks
from verify.kernel.trees.words import raw, words
from verify.kernel.verdict import OPEN, Place

# Who turns texts into modules.
_LOADS = tuple(
    word.encode()
    for word in sorted(
        words(
            """import_module __import__ lazy_loader locate( resolve_name import_string sys.modules
            import_object import_from_string load_object load_class EntryPoint"""
        )
    )
)
# So does what runs code that imports what is put into it.
_COMPUTES = re.compile(rb"[\"' ](?:from|import) (?:%\(?\w*\)?s|\{)")
MOST_TEXT = 1 << 10  # characters of a name
PAIR, FEW_WORDS = 2, 4  # words: a module, a name, and what they are for
_PLAIN, _SPACE = re.compile(r"[\w.:]*"), re.compile(r"\s")
_NAME = re.compile(r"[A-Za-z_][\w.]*")


class Tables:
    """Looks for statements that say a module and a name that it no longer has."""

    def __init__(self, both: Both, lost: dict[str, set[str]]) -> None:
        self.both = both
        self.names: dict[str, set[str]] = {}  # modules, by a name that each lost
        for module, names in lost.items():
            for name in names:
                self.names.setdefault(name, set()).add(module)
        self._loads: dict[str, bool] = {}
        self._users: dict[str, list[str]] | None = None

    def file(self, path: str, tree: ast.Module) -> None:
        """Look at one file."""
        statements = [node for node in _simple(tree.body) if not _is_all(node)]
        told = [node for node in statements if any(True for _ in self._units(node))]
        sets = self._only_asked(path, tree) if told else frozenset[str]()
        found = [said for node in told if _fills(node) not in sets for said in self._units(node)]
        if found and self._reached(path):
            self._say(path, found)

    def _only_asked(self, path: str, tree: ast.Module) -> frozenset[str]:
        """Name the sets of texts that are asked for what is in them, and for nothing else.

        So nobody gets a text out of them, be it to look for a module or for a name in one.
        """
        nodes = walk(tree)
        used = {node for node in nodes if isinstance(node, ast.Name)}
        known: set[ast.AST] = set()
        for node in nodes:
            if _fills(node):
                known.update(
                    walk(node.targets[0] if isinstance(node, ast.Assign) else _filler(node))
                )
            elif isinstance(node, ast.Compare) and isinstance(node.ops[-1], (ast.In, ast.NotIn)):
                known.add(node.comparators[-1])
        made = {_fills(node) for node in tree.body if isinstance(node, ast.Assign)} - {""}
        names = made - {node.id for node in used if node not in known}
        others = [p for p in self.both.target.python() if p != path]
        return frozenset(
            name
            for name in names
            if not any(raw(name) in self.both.target.files[other] for other in others)
        )

    def data(self, path: str, text: str) -> None:
        """Look at a file of JSON, if somebody who turns texts into modules names it."""
        try:
            found = [*self._units(ast.parse(text.strip(), mode="eval"))]
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        if found and self.loaded(path):
            self._say(path, found)

    def loaded(self, path: str) -> bool:
        """Tell whether somebody who turns texts into modules names a file."""
        name = raw(path.rpartition("/")[2])
        files = self.both.target.files
        return any(name in files[p] and self._loading(p) for p in self.both.target.python())

    def _units(self, node: ast.AST) -> Iterator[tuple[str, str, int]]:
        for texts, line in _units(node):
            for module, name in self._said(texts):
                yield module, name, line

    def _say(self, path: str, found: Iterable[tuple[str, str, int]]) -> None:
        for module, name, line in found:
            why = f"a text names {name}, which is no longer there"
            self.both.found.say(OPEN, f"{module}.{name}", why, Place(path, line))

    def _said(self, texts: set[str]) -> Iterator[tuple[str, str]]:
        for several in map(_several, sorted(texts)):
            yield from self._together({*several})
        texts = {part for text in texts for part in _parts(text)}
        yield from self._together(texts)
        for text in sorted(texts):  # `.orders:Money`
            head, mark, name = text.rpartition(":")
            if not mark:
                head, mark, name = text.rpartition(".")
            if head.startswith(".") and name in self.names:
                for module in sorted(self.names[name]):
                    if _may_be(head, module):
                        yield module, name

    def _together(self, texts: set[str]) -> Iterator[tuple[str, str]]:
        """Give the names that are said beside what may be their module."""
        for name in sorted(texts & self.names.keys()):
            for module in sorted(self.names[name]):
                if any(_may_be(text, module) for text in texts if text != name):
                    yield module, name

    def _reached(self, path: str) -> bool:
        """Tell whether somebody beside a table turns texts into modules."""
        tree = self.both.target
        beside = [path, *tree.imports(path)]
        if any(map(self._loading, beside)):
            return True
        if self._users is None:
            self._users = {}
            for other in tree.python():
                if self._loading(other):
                    for used in tree.imports(other):
                        self._users.setdefault(used, []).append(other)
        return path in self._users

    def _loading(self, path: str) -> bool:
        if path not in self._loads:
            data = self.both.target.files[path]
            loads = any(word in data for word in _LOADS)
            loads = loads or (b"exec" in data and _COMPUTES.search(data) is not None)
            self._loads[path] = loads
        return self._loads[path]


def alone(tree: ast.Module, module: str, names: Container[str]) -> bool:
    """Tell whether an entry of a table says a module, and none of the names that it has."""
    statements = [node for node in _simple(tree.body) if not _is_all(node)]
    return any(
        module in texts and not any(text in names for text in texts)
        for node in statements
        for texts, _ in _units(node)
    )


def _filler(node: ast.AST) -> ast.AST:
    """Give what a statement calls a method of, if it is a call."""
    call = node.value if isinstance(node, ast.Expr) else node
    return getattr(getattr(call, "func", call), "value", call)


def _fills(node: ast.AST) -> str:
    """Name the set that a statement makes of texts, or gives more of them."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.value, ast.Set):
        return getattr(node.targets[0], "id", "")
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        func = node.value.func
        if isinstance(func, ast.Attribute) and func.attr in ("update", "add", "discard"):
            return getattr(func.value, "id", "")
    return ""


def _parts(text: str) -> Iterator[str]:
    """Give a text, and the names in one that says several: `shop.orders->Money`."""
    yield text
    if not _PLAIN.fullmatch(text) and not _SPACE.search(text):
        yield from _NAME.findall(text)
    elif len(both := text.split()) == PAIR and "." in both[0] and all(map(_NAME.fullmatch, both)):
        yield from both  # `shop.orders Money`


def _several(text: str) -> list[str]:
    """Give the names that a text says one after the other: `money orders Money`."""
    words = text.split()
    return words if PAIR <= len(words) <= FEW_WORDS and all(map(_NAME.fullmatch, words)) else []


def _may_be(text: str, module: str) -> bool:
    """Tell whether a text may mean a module: by its whole name, or by the end of it."""
    bare = text.lstrip(".")
    return bool(bare) and (module == bare or module.endswith(f".{bare}"))


_BLOCKS = (ast.stmt, ast.ExceptHandler, ast.match_case)


def _is_all(node: ast.AST) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets)


def _simple(body: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    """List the statements that hold no others, and what stands in the heads of those that do."""
    todo = [*body]
    while todo:
        node = todo.pop()
        inner = [*blocks(node)]
        if inner:
            for block in inner:
                todo += block
            yield from (n for n in children(node) if not isinstance(n, _BLOCKS))
        else:
            yield node


def _units(node: ast.AST) -> Iterator[tuple[set[str], int]]:
    """List the texts that belong together: those of an entry of a table, or of a statement."""
    todo: list[tuple[ast.AST, frozenset[str]]] = [(node, frozenset())]
    while todo:
        at, around = todo.pop()
        own, tables = _texts(at)
        texts = around | own
        if not tables:
            yield set(texts), getattr(at, "lineno", 1)
        for table in tables:
            if isinstance(table, ast.Dict):
                if record := _record(table):
                    yield {*texts, *record}, table.lineno
                for name, value in zip(table.keys, table.values, strict=True):
                    said = _texts(name)[0] if name is not None else frozenset()
                    todo.append((value, texts | said))
            else:
                todo += [(item, texts) for item in getattr(table, "elts", ())]


def _record(table: ast.Dict) -> set[str]:
    """Give the texts that the fields of a record are, one of which is a module's name."""
    values = [value.value for value in table.values if isinstance(value, ast.Constant)]
    texts = {text.strip() for text in values if isinstance(text, str) and len(text) < MOST_TEXT}
    keys = (key.value for key in table.keys if isinstance(key, ast.Constant))
    modules = any("module" in str(key).lower() for key in keys)
    dotted = [text for text in texts if "." in text]
    known = modules or 0 < len(dotted) < len(texts)  # not a table that gives modules for names
    return texts if known and len(texts) > 1 else set()


def _texts(node: ast.AST) -> tuple[frozenset[str], list[ast.AST]]:
    """Give the texts in a node, and the tables in it, whose entries are read one by one."""
    texts: set[str] = set()
    tables: list[ast.AST] = []
    todo = [node]
    while todo:
        at = todo.pop()
        entries = getattr(at, "elts", ()) if isinstance(at, (ast.List, ast.Tuple, ast.Set)) else ()
        if isinstance(at, ast.Dict) or any(isinstance(entry, _ENTRIES) for entry in entries):
            tables.append(at)
        elif isinstance(at, ast.Constant) and isinstance(at.value, str):
            if len(at.value) < MOST_TEXT:
                texts.add(at.value.strip())
        else:
            todo += children(at)
    return frozenset(texts), tables


_ENTRIES = (ast.Dict, ast.List, ast.Tuple, ast.Set, ast.Call)
