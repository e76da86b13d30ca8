"""What the rest of the tree sees of a move: names read or patched, load order, import cycles."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from verify.certificate.binding import Judge, describe
from verify.certificate.names import LATER, NOW, Facts, Ref
from verify.certificate.resolve import Meaning, Module, Side, stem_of
from verify.certificate.source import (
    FUNCTIONS,
    IMPORTS,
    Import,
    OpaqueError,
    Source,
    Unit,
    blocks,
    imports_of,
    is_text,
    only_imports,
    parse,
)

Search = Callable[["re.Pattern[bytes]"], Iterable[str]]
_PATCHES = {"getattr", "setattr", "hasattr", "delattr", "object", "patch", "setitem"}


class Use(NamedTuple):
    """A place that reaches into a module: by import, attribute, string or patch."""

    line: int
    how: str  # `import`, `star`, `read`, `write`, `patch`, `string`
    stem: str
    name: str


class Reach:
    """Looks from the other files of the tree at the changed modules."""

    def __init__(self, judge: Judge, read: Callable[[Iterable[str]], Mapping[str, bytes]], search: Search) -> None:
        self.judge = judge
        self.found = judge.found
        self.base, self.target = judge.base, judge.target
        self._read, self._search = read, search

    def run(self) -> None:
        """Check every file that may reach a name that a changed module lost."""
        lost = self._lost()
        watched = self._watched()
        for module in self.judge.new.values():
            self._own(module, lost, watched)
        self._unchanged(lost, watched)

    def _lost(self) -> dict[str, set[str]]:
        """List, by module, the names that are gone or mean something else at run time."""
        found: dict[str, set[str]] = {}
        for stem, old in self.judge.old.items():
            new = self.judge.new.get(stem)
            names = set()
            for name in old.names:
                ours = self.base.lookup(old, name)
                if ours.alternatives[0].what[0] in {"free", "builtin"}:
                    continue
                if new is None or (name in self.judge.differing.get(stem, ()) and not self.judge.means_same(old, new, name, False)):
                    names.add(name)
            if names:
                found[stem] = names
        return found

    def _watched(self) -> dict[str, set[str]]:
        """List, by module, the globals that moved code reads or is: a patch may miss it now."""
        found: dict[str, set[str]] = defaultdict(set)
        for theirs, ours in self.judge.pairing.pairs.items():
            old = self.judge.old[stem_of(ours[0])]
            if stem_of(theirs[0]) == old.stem:
                continue
            unit = old.source.units[ours[1]]
            refs = self.judge.facts(old.source, unit).refs
            found[old.stem] |= {r.name for r in refs if r.local is None and r.name in old.names}
            found[old.stem] |= {s.name for s in old.in_unit(unit.index)}
        return found

    def _own(self, module: Module, lost: Mapping[str, set[str]], watched: Mapping[str, set[str]]) -> None:
        self._report(module, lost, watched, self.target)
        exported = module.names.get("__all__")
        old = self.judge.old.get(module.stem)
        if exported and old is not None:
            from verify.certificate.resolve import listed
            for name in sorted(listed(module) or ()):
                if name in lost.get(module.stem, ()) and self._gone(module.stem, name):
                    line = exported[0].line
                    self.found.residual("target", module.source.path, line, "reach", f"__all__ lists {name}, which is no longer here", module.source.line_text(line))

    def _gone(self, stem: str, name: str) -> bool:
        module = self.target.module(stem)
        if module is None:
            return not self.target.exists(f"{stem}/{name}")
        what = self.target.lookup(module, name).alternatives[0].what[0]
        return what in {"free", "builtin", "missing"} and not self.target.exists(f"{stem}/{name}")

    def _unchanged(self, lost: Mapping[str, set[str]], watched: Mapping[str, set[str]]) -> None:
        affected = {stem: set(names) for stem, names in lost.items()}
        looked: set[str] = set()
        done: set[str] = set()
        while True:
            tails = {stem.rpartition("/")[2] for stem in (*affected, *watched)} - looked
            if not tails:
                return
            looked |= tails
            pattern = re.compile("|".join(sorted(map(re.escape, tails))).encode())
            paths = [p for p in self._search(pattern) if p not in done]
            for path, data in sorted(self._read(paths).items()):
                if not self._may_use(data, affected, watched):
                    continue
                done.add(path)
                try:
                    module = Module(parse(path, data), stem_of(path), changed=False)
                except OpaqueError as error:
                    self.found.unknown(path, error.line, f"names a changed module, and {error.why}", error.needs)
                    continue
                for stem, names in self._report(module, affected, watched, self.target).items():
                    affected.setdefault(stem, set()).update(names)

    @staticmethod
    def _may_use(data: bytes, lost: Mapping[str, set[str]], watched: Mapping[str, set[str]]) -> bool:
        for stem in {*lost, *watched}:
            if stem.rpartition("/")[2].encode() not in data:
                continue
            if b"import *" in data and stem in lost:
                return True
            if any(name.encode() in data for name in lost.get(stem, ())):
                return True
            if b"patch" in data or b"setattr" in data:
                if any(name.encode() in data for name in watched.get(stem, ())):
                    return True
        return False

    def _report(self, module: Module, lost: Mapping[str, set[str]], watched: Mapping[str, set[str]], side: Side) -> dict[str, set[str]]:
        """Report what one file reaches that is gone; give what it hands on by a star import."""
        handed: dict[str, set[str]] = {}
        path = module.source.path
        for use in uses(side, module, self.judge.facts):
            if use.how == "star":
                names = lost.get(use.stem, set()) & set(self.base.exported(use.stem) or lost.get(use.stem, ()))
                names = {n for n in names if n not in module.names}
                if names and not module.changed:
                    handed.setdefault(module.stem, set()).update(names)
                continue
            text = module.source.line_text(use.line)
            dotted = use.stem.replace("/", ".")
            if use.name in lost.get(use.stem, ()):
                if self._gone(use.stem, use.name):
                    why = f"{use.name} is no longer in {dotted}"
                elif module.changed and use.how in {"import", "read"}:
                    continue  # judged where the name is used
                else:
                    why = f"{use.name} of {dotted} is something else now"
                self.found.residual("target", path, use.line, "reach", why, text)
            elif use.name in watched.get(use.stem, ()):
                if use.how in {"patch", "string"}:
                    self.found.observe(path, use.line, "patch", f"{dotted}.{use.name} is patched here; code that moved away no longer reads it there")
                elif use.how == "write":
                    self.found.residual("target", path, use.line, "reach", f"code that moved away no longer sees {dotted}.{use.name}", text)
        return handed


def uses(side: Side, module: Module, facts_of: Callable[[Source, Unit], Facts]) -> Iterator[Use]:
    """List what a file reaches in modules of the tree."""
    path = module.source.path
    for unit in module.source.units:
        found = facts_of(module.source, unit)
        items = [item.imported for item in found.locals]
        items += [i for node in ast.walk(unit.node) if isinstance(node, IMPORTS) for i in imports_of(node)]
        for item in dict.fromkeys(items):
            for stem in side.find(path, item.level, item.module):
                if item.member is not None:
                    yield Use(item.line, "star" if item.member == "*" else "import", stem, item.member)
        for ref in (*found.refs, *found.guards):
            for stem, name in _attributes(side, module, ref):
                how = "read" if ref.action == "load" or name != ref.attrs[-1] else "write"
                yield Use(ref.line, how, stem, name)
        for _, call, _ in found.calls:
            yield from _patched(side, module, call, found)
        yield from _strings(side, module, unit)


def _attributes(side: Side, module: Module, ref: Ref) -> Iterator[tuple[str, str]]:
    """List the module attributes that a dotted reference goes through."""
    for size in range(len(ref.attrs)):
        meaning = side.resolve(module, ref._replace(attrs=ref.attrs[:size]))
        for what, rest in meaning.whats:
            if what[0] == "mod" and not rest:
                yield what[1], ref.attrs[size]


def _patched(side: Side, module: Module, call: ast.Call, found: Facts) -> Iterator[Use]:
    """List `setattr(module, "name")` and its like, as mocks and tests spell it."""
    if len(call.args) < 2:
        return
    name = call.args[1]
    if not (isinstance(name, ast.Constant) and isinstance(name.value, str)):
        return
    last = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if last not in _PATCHES:
        return
    for ref in found.refs:
        if ref.node is call.args[0]:
            for what, rest in side.resolve(module, ref).whats:
                if what[0] == "mod" and not rest:
                    how = "read" if last in {"getattr", "hasattr"} else "patch"
                    yield Use(call.lineno, how, what[1], name.value)


def _strings(side: Side, module: Module, unit: Unit) -> Iterator[Use]:
    """List strings that spell the path of a name in a module."""
    for node in ast.walk(unit.node):
        text = None
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        elif isinstance(node, ast.JoinedStr):
            text = _constant(module, node)
        if text is None or not re.fullmatch(r"\w+(?:\.\w+)*[.:]\w+(?:\.\w+)*", text):
            continue
        parts = re.split("[.:]", text)
        for size in range(1, len(parts)):
            for stem in side.find(module.source.path, 0, ".".join(parts[:size])):
                yield Use(node.lineno, "string", stem, parts[size])


def _constant(module: Module, node: ast.JoinedStr) -> str | None:
    """Work out an f-string whose names are constants of the module."""
    parts = []
    for value in node.values:
        if isinstance(value, ast.FormattedValue) and isinstance(value.value, ast.Name):
            found = module.names.get(value.value.id, [])
            owner = module.source.units[found[0].unit].node if len(found) == 1 else None
            value = getattr(owner, "value", None)  # type: ignore[assignment]
        if not isinstance(value, ast.Constant):
            return None
        parts.append(str(value.value))
    return "".join(parts)
