"""Imports that a move entails: what code needs where it arrives, and no longer needs where it was.

Import statements are not paired. Each import is one row, by the name it binds, where that comes
from and the guards around it. A row that is new must be needed by something in its file; one that
is gone must have been needed by what left.
"""

from __future__ import annotations

import ast
import re
import symtable
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from verify.kernel.edits.bodies import references
from verify.kernel.pairs.both import Both
from verify.kernel.trees.effects import STANDARD
from verify.kernel.trees.nodes import walk
from verify.kernel.trees.source import (
    DEFINITIONS,
    IMPORTS,
    TRIES,
    Source,
    blocks,
    imports_only,
    stored,
)
from verify.kernel.trees.tree import Tree
from verify.kernel.trees.words import raw, words
from verify.kernel.verdict import BASE, EXPLAINED, TARGET, TEXT, Place

_WORD = re.compile(r"[^\W\d]\w*")
_TYPE_COMMENT = re.compile(r"#\s*type:(.*)")


# Whether a chain of names in a file of the base is what another is in one of the target.
Same = Callable[[str, tuple[str, ...], str, tuple[str, ...]], bool]
Plain = tuple[str, str, "str | None"]  # what an import binds, its module, and what of that


@dataclass(frozen=True, slots=True)
class Row:
    """One name that an import brings."""

    name: str
    module: str  # absolute where it can be told
    member: str | None
    guards: tuple[str, ...]

    @property
    def plain(self) -> Plain:
        """Give the row without its guards."""
        return self.name, self.module, self.member


# Modules of the standard library that one imports for what they do.
_ACTING = words("readline rlcompleter antigravity this encodings codecs site faulthandler")
# What a type checker alone reads may always be guarded: whether it was so, the machine sees.
_FOR_TYPES = {
    f"0 If {[ast.dump(ast.parse(text, mode='eval').body)]}"
    for text in ("TYPE_CHECKING", "typing.TYPE_CHECKING", "t.TYPE_CHECKING")
}


class Imports:
    """Compares the imports of the changed files."""

    def __init__(self, both: Both, same: Same) -> None:
        self.both = both
        self._same = same
        self.origins: dict[str, set[str]] = {}
        for target, base in both.pairing.base_of.items():
            self.origins.setdefault(target[0], set()).add(base[0])
        self._names = {
            name
            for base, _ in both.pairing.moved()
            for name in stored(both.statement(both.base, base).node)
        }
        self._inside: dict[str, dict[int, set[Plain]]] = {}
        self._asked: dict[str, set[str]] = {}  # names that functions of a file have for parameters
        self._came = {new: old for old, new in both.relocated.items()}
        self._rows = {p.path: [*rows(both.base, p)] for p in both.sources(both.base)}
        self._plain = {row.plain for p in both.sources(both.base) for row in every(both.base, p)}
        self._led = {
            part for plain in self._plain for part in (plain[1], ".".join(filter(None, plain[1:])))
        }
        # `import a.b` binds and loads `a`.
        tops = {name for name, module, member in self._plain if member is None and "." in module}
        self._led |= {name for name in tops if file_of(both.target, name)}
        self._changed = {both.name(path) for path in both.changed}
        self._tops = {
            row.module.partition(".")[0]
            for p in both.sources(both.target)
            for row, _ in rows(both.target, p)
        }
        self._guards = {guard for p in both.sources(both.base) for guard in guards(p)} | _FOR_TYPES

    def check(self) -> None:
        """Report imports that nothing entails."""
        for source in self.both.sources(self.both.target):
            self._come(source)
        for source in self.both.sources(self.both.base):
            if source.path in self.both.target.files:
                self._gone(source)
        self._bound()

    def _bound(self) -> None:
        """Report names that code brings along and that nothing binds where it arrives."""
        known: dict[tuple[str, str], set[str]] = {}
        for tree, side in ((self.both.base, BASE), (self.both.target, TARGET)):
            for source in self.both.sources(tree):
                found = {name for node in source.tree.body for name in stored(node)}
                known[side, source.path] = found
        lost: dict[tuple[str, str], set[str]] = {}
        for at, base in self.both.pairing.base_of.items():
            where = base[0], at[0]
            if where not in lost:
                here = known[TARGET, at[0]]
                lost[where] = set() if "*" in here else known[BASE, base[0]] - here
            missing = lost[where]
            if missing:
                node = self.both.statement(self.both.target, at).node
                local = {n for p in walk(node) if isinstance(p, IMPORTS) for n in stored(p)}
                for reference in references(node):
                    if reference.parts[0] in missing and reference.parts[0] not in local:
                        place = Place(at[0], reference.line, TARGET)
                        why = "nothing here binds it, so code that uses it raises NameError"
                        self.both.found.say(TEXT, reference.parts[0], why, place)

    def _come(self, source: Source) -> None:
        path = source.path
        known = Counter(row for row, _ in self._rows.get(path, ()))
        before = self._before(path)
        here, seen = used(source), Counter[Row]()
        of_name = Counter(row.name for row in known.elements())
        brought = self._brought(source)
        found = [*rows(self.both.target, source)]
        names: dict[str, set[Plain]] = {}
        for row, _ in found:
            names.setdefault(row.name, set()).add(row.plain)
        plain = {row.plain for row in known}
        for row, line in found:
            seen[row] += 1
            if seen[row] <= known[row]:
                continue
            place = Place(path, line, TARGET, (line,))
            if (row.plain, line) in brought:
                self._say(EXPLAINED, row, "it came with the statement that it is part of", place)
                continue
            why = self._unneeded(row, path, here, before) or self.unknown(row, path)
            if why and self._tried_along(row, path, {r for r, _ in found}, here):
                why = ""
            again = seen[row] > max(1, of_name[row.name])
            if again or (row.plain in plain and row.name not in self._left_of(path)):
                why = why or "stands twice, or under another guard"
            elif any(guard not in self._guards for guard in row.guards):
                why = why or "stands under a guard that is new"
            elif self._tried_anew(row, path):
                why = why or "stands under another guard than before"
            elif row.member == "*" and not row.guards and self._meets(row, path):
                why = why or "brings a name that something else here binds"
            elif row.member != "*" and not row.guards and self._bound_anew(path, names[row.name]):
                why = why or "binds a name that another import binds"
            if why:
                self._say(TEXT, row, f"this import {why}", place)
            else:
                self._say(EXPLAINED, row, "code here needs this import", place)

    def _tried_anew(self, row: Row, path: str) -> bool:
        """Tell whether a file does without a name now, where it could not."""
        if not any(" Try" in guard for guard in row.guards):
            return False
        before = [old for old, _ in self._rows.get(path, ()) if old.name == row.name]
        return bool(before) and all(old.guards != row.guards for old in before)

    def _brought(self, source: Source) -> set[tuple[Plain, int]]:
        """List the imports that are part of a statement which did more, and came along with it."""
        return {
            (row.plain, line)
            for row, line, at in _inside(self.both.target, source)
            if (base := self.both.pairing.base_of.get((source.path, at))) is not None
            and row.plain in self._parts(base[0]).get(base[1], ())
        }

    def _parts(self, path: str) -> dict[int, set[Plain]]:
        """Give the imports within statements of the base that do more, by statement."""
        if path not in self._inside:
            found: dict[int, set[Plain]] = {}
            for row, _, at in _inside(self.both.base, self.both.base.source(path)):
                found.setdefault(at, set()).add(row.plain)
            self._inside[path] = found
        return self._inside[path]

    def _bound_anew(self, path: str, plain: set[Plain]) -> bool:
        """Tell whether imports bind one name twice, and did not where they come from."""
        return len(_apart(plain)) > 1 and not any(
            plain <= {row.plain for row, _ in self._rows.get(origin, ())}
            for origin in {path, *self.origins.get(path, ())}
        )

    def _meets(self, row: Row, path: str) -> bool:
        """Tell whether a star brings names that other imports or code of a file bind, too."""
        tree = self.both.target
        came = (self._rows.get(origin, ()) for origin in self.origins.get(path, ()))
        if any(row.plain == one.plain for rows_ in came for one, _ in rows_):
            return False  # it stood beside the same where that comes from
        home = file_of(tree, row.module)
        ours = public(tree, home) if home.endswith(".py") else set()
        source = tree.source(path)
        other = {n for node in source.tree.body for n in stored(node)} - {"*", "__all__"}
        for one, _ in rows(tree, source):
            inner = file_of(tree, one.module) if one.member == "*" else ""
            if one.plain != row.plain and inner.endswith(".py"):
                other |= public(tree, inner)
        return bool(ours & other)

    def _tried_along(self, row: Row, path: str, rows_: set[Row], here: set[str]) -> bool:
        """Tell whether a row came along with a `try` of several imports, of which one is needed."""
        if not any(" Try" in guard for guard in row.guards):
            return False
        origins = self.origins.get(path, set())
        known = any(row == old for origin in origins for old, _ in self._rows.get(origin, ()))
        return known and any(one.guards == row.guards and one.name in here for one in rows_)

    def _before(self, path: str) -> set[str]:
        """Give the names that a file had, or the module that it was."""
        for old in (path, path.replace("/__init__.py", ".py"), self._came.get(path, "")):
            if old in self.both.base.files:
                return brought(self.both.base, old)
        return set()

    def _left_of(self, path: str) -> set[str]:
        if path not in self.both.base.files:
            return set()
        return self._left(self.both.base.source(path))

    def _unneeded(self, row: Row, path: str, here: set[str], before: set[str]) -> str:
        if row.module == "__future__":
            return "" if self._carried(row, path) else "is new"
        if row.member == "*":
            return "" if self._leads_to_moved(row) else "is new"
        if row.name in here or row.name in before:
            return ""  # it is used, or what the file had is still found there
        if path not in self._asked:
            self._asked[path] = self._asked_for(path)
        if row.name in self._asked[path]:
            return ""
        handed_on = path.endswith("__init__.py") and row.name in self._names
        return "" if handed_on else "is needed by nothing"

    def _asked_for(self, path: str) -> set[str]:
        """Give the parameters of functions that came from files which had those names at their top.

        That is how pytest is asked for a fixture.
        """
        given: dict[str, set[str]] = {}  # by the file that the functions came from
        for at, base in self.both.pairing.base_of.items():
            node = self.both.statement(self.both.target, at).node if at[0] == path else None
            if isinstance(node, DEFINITIONS):
                told = {inner.arg for inner in walk(node) if isinstance(inner, ast.arg)}
                given.setdefault(base[0], set()).update(told)
        found = (names & brought(self.both.base, old) for old, names in given.items())
        return set().union(*found)

    def unknown(self, row: Row, importer: str = "") -> str:
        """Tell what is wrong with where an import leads, if anything is.

        `importer` is the file that it stands at the top of; none for one that runs later.
        """
        if row.plain in self._plain or row.module == "__future__":
            return ""
        if row.member == "TYPE_CHECKING" and row.module == "typing":
            return ""
        if "__init__" in row.module.split("."):
            return "loads the code of a package once more, as a module of its own"
        tree = self.both.target
        name = row.module if row.member in (None, "*") else f"{row.module}.{row.member}"
        path = file_of(tree, name) or file_of(tree, row.module)
        if path.endswith(".py") and self._second_name(row.module, tree.name(path)):
            return "names a module otherwise than anybody did"
        # What a file that was there loads when it is imported, the runs compare.
        strange = importer not in self.both.base.files and self._strange(path, row, name)
        if path and strange and not self._led_there(importer, row):
            return "leads to a module that nothing here led to before"
        there = file_of(tree, name) or self._binds(path, row.member)
        return "" if there else "leads to what nothing led to before"

    def _led_there(self, importer: str, row: Row) -> bool:
        """Tell whether an import takes from its home what code had by that name before."""
        path = file_of(self.both.target, row.module)
        body = self.both.target.source(path).tree.body if path.endswith(".py") else []
        bound = {name for node in body if not imports_only(node) for name in stored(node)}
        if row.member not in bound:
            return False
        origins = self.origins.get(importer, ())
        return any(self._same(at, (row.name,), importer, (row.name,)) for at in origins)

    def _binds(self, path: str, member: str | None) -> bool:
        """Tell whether a module of the target may bind a name."""
        if not path.endswith(".py"):
            return False
        body = self.both.target.source(path).tree.body
        bound = {n for node in body for n in stored(node)}
        return member in bound or "*" in bound

    def _strange(self, path: str, row: Row, name: str) -> bool:
        """Tell whether an import leads to a module that has no part in the move."""
        if path in self.both.changed or {row.module, name} & self._led:
            return False
        return not any(changed.startswith(f"{row.module}.") for changed in self._changed)

    def _second_name(self, module: str, name: str) -> bool:
        """Tell whether an import counts a module's name from another root than its own."""
        top = module.partition(".")[0]
        if top in (name.partition(".")[0], ""):
            return False
        if any(plain[1].partition(".")[0] == top for plain in self._plain):
            return False
        spelled = re.compile(raw(rf"^\s*(?:from|import)\s+{re.escape(top)}\b"), re.M)
        return not any(
            spelled.search(d) for p, d in self.both.base.files.items() if p[-3:] == ".py"
        )

    def _leads_to_moved(self, row: Row) -> bool:
        path = file_of(self.both.target, row.module)
        return row.plain in self._plain or (path in self.both.changed and bool(path))

    def _carried(self, row: Row, path: str) -> bool:
        """Tell whether a new file has what `from __future__` brings where its code comes from."""
        if path in self.both.base.files and annotated(self.both.base.source(path)):
            return False  # it was written without
        return any(
            row in {r for r, _ in rows(self.both.base, self.both.base.source(origin))}
            for origin in self.origins.get(path, ())
        )

    def _gone(self, source: Source) -> None:
        path = source.path
        after = self.both.target.source(path)
        known = Counter(row for row, _ in rows(self.both.target, after))
        plain = {row.plain for row in known}
        names = {row.name for row in known}
        here, before = used(after, prose=False), used(source, prose=False)
        left = self._left(source)
        own = {n for s in after.statements if not s.imports_only for n in stored(s.node)}
        referred = cache(lambda: free(after))
        for row, line in rows(self.both.base, source):
            if known[row] > 0:
                known[row] -= 1
                continue
            if row.plain in plain:
                continue  # told where it stands now
            place = Place(path, line, BASE, (line,))
            if row.name in left and (row.name not in here or row.name in names):
                self._say(EXPLAINED, row, "what needed this import has left", place)
            elif row.name in names:
                self._say(EXPLAINED, row, "the name comes from elsewhere now", place)
            elif row.name in own:
                self._say(EXPLAINED, row, "what it named is here now", place)
            elif row.name in left and row.name not in referred():
                self._say(EXPLAINED, row, "what needed this import has left", place)
            elif row.member == "*" and not row.guards and self._replaced(row, before & here, after):
                why = "the names that it brought come from elsewhere now"
                self._say(EXPLAINED, row, why, place)
            elif row.name not in before and self._inert(row):
                self._say(EXPLAINED, row, "nothing here used this import", place)
            else:
                self._say(TEXT, row, "this import is gone, though nothing that used it left", place)

    def _replaced(self, row: Row, used_names: set[str], after: Source) -> bool:
        """Tell whether what a file uses of a star of the tree is bound in it by other means."""
        path = file_of(self.both.base, row.module)
        if not path.endswith(".py"):
            return False
        bound = {name for node in after.tree.body for name in stored(node)}
        return not public(self.both.base, path) & used_names - bound

    def _inert(self, row: Row) -> bool:
        """Tell whether the machine sees all that an import does, or it is known to do nothing."""
        top = row.module.partition(".")[0]
        if row.guards or row.member == "*" or row.module == "__future__" or top in _ACTING:
            return False
        inner = bool(file_of(self.both.base, row.module))
        return inner or top in STANDARD or (row.member is not None and top in self._tops)

    def _left(self, source: Source) -> set[str]:
        """Give the words of the statements that left a file, or changed in it."""
        found: set[str] = set()
        kept = {s.text for s in self.both.target.source(source.path).statements}
        for statement in source.statements:
            if statement.imports_only and statement.text not in kept:
                found |= _tests(statement.node)
            at = source.path, statement.index
            now = self.both.pairing.becomes.get(at)
            moved = now is None or now[0] != source.path
            if moved or self.both.statement(self.both.target, now or at).text != statement.text:
                if not statement.imports_only:
                    found |= set(_WORD.findall(statement.text))
        return found

    def _say(self, kind: str, row: Row, why: str, place: Place) -> None:
        spelled = f"from {row.module} import {row.member}" if row.member else f"import {row.module}"
        self.both.found.say(kind, spelled, why, place)


def _apart(plain: set[Plain]) -> set[tuple[str, str | None]]:
    """Give what an import binds; `import a.b` and `import a.c` bind the same `a`."""
    return {
        (module.partition(".")[0] if member is None and module.startswith(name) else module, member)
        for name, module, member in plain
    }


@lru_cache(maxsize=1 << 14)
def file_of(tree: Tree, name: str) -> str:
    """Give the file or folder that a dotted name leads to, from the top, `src` or any root.

    None for a package's `__init__` by its own name: that is a second module of the same code.
    """
    if "__init__" in name.split("."):
        return ""
    inner = name.replace(".", "/")
    for root in ("", "src/", *(f"{r}/" for r in tree.roots if r)):
        for path in (f"{root}{inner}/__init__.py", f"{root}{inner}.py"):
            if path in tree.files:
                return path
        if f"{root}{inner}" in tree.folders:
            return f"{root}{inner}"
    return ""


def brought(tree: Tree, path: str, above: frozenset[str] = frozenset()) -> set[str]:
    """Give the names that a file binds at its top, and those that its stars bring from the tree."""
    source = tree.source(path)
    found = {name for node in source.tree.body for name in stored(node)}
    for row, _ in rows(tree, source) if "*" in found else ():
        other = file_of(tree, row.module) if row.member == "*" else ""
        if other.endswith(".py") and other not in above:
            found |= public(tree, other, above | {path})
    return found


def public(tree: Tree, path: str, above: frozenset[str] = frozenset()) -> set[str]:
    """Give the names that a star brings from a file."""
    listed = [node for node in tree.source(path).tree.body if _is_all(node)]
    found = brought(tree, path, above)
    if not listed:
        return {name for name in found if name[:1] not in ("_", "*")}
    texts = (part.value for node in listed for part in walk(node) if isinstance(part, ast.Constant))
    plain = all(isinstance(getattr(node, "value", None), (ast.List, ast.Tuple)) for node in listed)
    more = () if plain else (name for name in found if name[:1] not in ("_", "*"))
    return {*map(str, texts), *more}


def rows(tree: Tree, source: Source) -> Iterator[tuple[Row, int]]:
    """List the imports of a module, outside of functions, with their lines."""
    package = package_of(tree, source.path)
    todo: list[tuple[ast.stmt, tuple[str, ...]]] = [(n, ()) for n in source.tree.body]
    for node, guards in todo:
        if isinstance(node, IMPORTS):
            for row in rows_of(node, package, guards):
                yield row, node.lineno
        elif isinstance(node, (ast.If, *TRIES, ast.With)):
            for number, block in enumerate(blocks(node)):
                said = _said(node)
                todo.extend((inner, (*guards, f"{number} {said}")) for inner in block)


def _inside(tree: Tree, source: Source) -> Iterator[tuple[Row, int, int]]:
    """List imports within statements that do more, with their lines and the statements."""
    within = {
        line: statement.index
        for statement in source.statements
        if isinstance(statement.node, (ast.If, *TRIES, ast.With)) and not statement.imports_only
        for line in range(statement.first, statement.last + 1)
    }
    for row, line in rows(tree, source) if within else ():
        if line in within:
            yield row, line, within[line]


def every(tree: Tree, source: Source) -> Iterator[Row]:
    """List all imports of a file, those in functions too, guards aside."""
    package = package_of(tree, source.path)
    for node in walk(source.tree):
        if isinstance(node, IMPORTS):
            yield from rows_of(node, package, ())


def guards(source: Source) -> Iterator[str]:
    """List the guards of a file, in functions too, one for each of their branches."""
    for node in walk(source.tree):
        if isinstance(node, (ast.If, *TRIES, ast.With)):
            said = _said(node)
            yield from (f"{number} {said}" for number, _ in enumerate(blocks(node)))


def _said(node: ast.AST) -> str:
    """Give what a guard depends on, as text."""
    test = getattr(node, "test", None)
    caught = [handler.type for handler in getattr(node, "handlers", ())]
    told = [ast.dump(part) for part in (test, *caught) if part is not None]
    return f"{type(node).__name__} {told}"


def package_of(tree: Tree, path: str) -> list[str]:
    """Give the package that a file is in, by its parts."""
    parts = tree.name(path).split(".")
    return parts if path.endswith("__init__.py") else parts[:-1]


def rows_of(
    node: ast.Import | ast.ImportFrom, package: list[str], guards: tuple[str, ...]
) -> Iterator[Row]:
    """List the names that an import brings."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            yield Row(name, alias.name, None, guards)
        return
    module = node.module or ""
    if node.level:
        above = package[: len(package) - node.level + 1]
        module = ".".join([*above, *([module] if module else [])])
    for alias in node.names:
        yield Row(alias.asname or alias.name, module, alias.name, guards)


def annotated(source: Source) -> bool:
    """Tell whether a file has annotations."""
    return any(
        isinstance(node, ast.AnnAssign)
        or getattr(node, "annotation", None) is not None
        or getattr(node, "returns", None) is not None
        for node in walk(source.tree)
    )


def _tests(node: ast.AST) -> set[str]:
    """Give the names in the conditions of a guard."""
    return {
        name.id
        for inner in walk(node)
        for name in walk(getattr(inner, "test", None) or ast.Pass())
        if isinstance(name, ast.Name)
    }


def _is_all(node: ast.stmt) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets)


def free(source: Source) -> set[str]:
    """Give the names of the module, or beyond, that its code refers to, and the words of texts.

    As the compiler sees them: a parameter or a local of the same name is another thing.
    """
    found = _words(source, source.tree.body, prose=False)
    try:
        todo = [symtable.symtable(source.text, source.path, "exec")]
    except (SyntaxError, ValueError, RecursionError):
        return found | used(source)
    for table in todo:
        todo.extend(table.get_children())
        top = table.get_type() == "module"
        for symbol in table.get_symbols():
            if symbol.is_referenced() and (top or symbol.is_global()):
                found.add(symbol.get_name())
    return found


def used(source: Source, *, prose: bool = True) -> set[str]:
    """Give the words of a file that may be uses of names: all but those in its imports.

    `prose` tells whether texts count that are no expression, as those that a linter reads.
    """
    body = [node for node in source.tree.body if not _is_all(node)]
    names = {n.id for n in walk(source.tree) if isinstance(n, ast.Name)}
    return names | _words(source, body, prose=prose)


def _words(source: Source, body: Iterable[ast.stmt], *, prose: bool) -> set[str]:
    """Give the words of texts and of type comments, in which names may be read."""
    found: set[str] = set()
    for node in (part for statement in body for part in walk(statement)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if len(node.value) < 1 << 12 and (prose or _expression(node.value)):
                found |= set(_WORD.findall(node.value))
    for text in _TYPE_COMMENT.findall(source.text) if "type:" in source.text else ():
        found |= set(_WORD.findall(text))
    return found


def _expression(text: str) -> bool:
    """Tell whether a text may be an annotation or a name."""
    try:
        ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
