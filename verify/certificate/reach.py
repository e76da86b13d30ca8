"""What the rest of the tree sees of a move: names it reads or patches, and dynamic code."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from verify.certificate.judge import Judge
from verify.certificate.names import last_name, modules_in, obscure, suspect, words
from verify.certificate.resolve import Side
from verify.certificate.source import (
    Module,
    OpaqueError,
    Unit,
    imports_of,
    is_python,
    parse,
    stem_of,
)

Read = Callable[[Iterable[str]], Mapping[str, bytes]]
Search = Callable[[re.Pattern[bytes], Iterable[str]], Iterable[str]]
_PATH = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*[.:][^\W\d]\w*(?:\.[^\W\d]\w*)*")
_FROM = re.compile(r"\bfrom\s+([.\w]+)\s*\bimport\b\s*(?:([^\n;(]+)|\(([^)]*)\))")
_PATCHES = {"setattr", "delattr", "object", "patch", "setitem"}
_CONFIGURATION = (".toml", ".cfg", ".ini")  # entry points live there
_PROSE = (".md", ".rst", ".txt", ".yaml", ".yml", ".json", ".sh", ".pyi", ".ipynb")


class Use(NamedTuple):
    """A place that reaches into a module of the tree."""

    line: int
    how: str  # `import`, `star`, `read`, `write`, `patch` or `string`
    stem: str
    name: str


class Reach:
    """Looks from every file of the tree at the changed modules."""

    def __init__(self, judge: Judge, paths: Iterable[str], read: Read, search: Search) -> None:
        self.judge, self.found = judge, judge.found
        self.base, self.target = judge.base, judge.target
        self.paths, self.read, self.search = list(paths), read, search
        self.fresh = {module.stem: module for module in judge.new.values()}
        self.lost: dict[str, set[str]] = defaultdict(set)  # by module: gone or something else now
        self.watched: dict[str, set[str]] = defaultdict(set)  # what moved code read there or is
        self.arrived: dict[str, set[str]] = defaultdict(set)  # what moved there

    def run(self) -> None:
        """Check every file that may reach a name that a changed module lost."""
        self._survey()
        for module in self.judge.new.values():
            self._report(module)
            for name in sorted(
                (module.listed() or frozenset()) & self.lost.get(module.stem, set())
            ):
                if self._gone(module.stem, name):
                    why = f"__all__ lists {name}, which is no longer here"
                    line = module.names["__all__"][0].line
                    self.judge.residual("target", module.source, line, "reach", why)
        for module in (*self.judge.old.values(), *self.judge.new.values()):
            self._dynamic(module)
        self._unchanged()
        self._others()

    def _survey(self) -> None:
        moved = set()
        for old, before, new, after in self.judge.pairs:
            if old.path != new.path:
                self.arrived[new.stem] |= {s.name for s in new.in_unit(after)}
                moved |= {old.path, new.path}
                refs = self.judge.facts(old, old.source.units[before]).refs
                names = {r.name for r in refs if not r.local and r.name in old.names}
                self.watched[old.stem] |= names | {s.name for s in old.in_unit(before)}
        self.stirred = moved | (self.judge.old.keys() ^ self.judge.new.keys())
        for old in self.judge.old.values():
            new = self.fresh.get(old.stem)
            names = (
                set(old.names) if new is None else self.judge.differing(old, new) & old.names.keys()
            )
            for name in names:
                if self.base.lookup(old, name).sure:
                    if new is None or not self.judge.same(old, new, name, hint=False):
                        self.lost[old.stem].add(name)
            if names:
                self.stirred.add(old.path)
            parent, _, tail = old.stem.rpartition("/")
            if not self.target.exists(old.stem):
                self.lost[parent].add(tail)

    def _gone(self, stem: str, name: str) -> bool:
        module = self.target.module(stem)
        if self.target.exists(f"{stem}/{name}".lstrip("/")):
            return False
        return module is None or not self.target.lookup(module, name).sure

    # --- files ---

    def _unchanged(self) -> None:
        """Look at the files that are the same in both trees; star imports hand losses on."""
        looked: set[str] = set()
        seen: set[str] = set()
        python = [p for p in self.paths if p.endswith(".py") or "." not in p.rpartition("/")[2]]
        while tails := {s.rpartition("/")[2] for s in (*self.lost, *self.watched)} - looked:
            looked |= tails
            pattern = re.compile("|".join(sorted(map(re.escape, tails))).encode())
            for path, data in sorted(self.read(self.search(pattern, python)).items()):
                if path in seen or not is_python(path, data) or not self._concerned(data):
                    continue
                seen.add(path)
                module = self.target.module(stem_of(path))
                if module is None or module.path != path:
                    try:
                        module = Module(parse(path, data), changed=False)
                    except OpaqueError as error:
                        why = f"it names a changed module, but {error.why}"
                        self.found.unknown(path, error.line, why, error.needs)
                        continue
                self._report(module)
                self._obscure(module, {*self.lost, *self.watched})

    def _concerned(self, data: bytes) -> bool:
        """Tell whether a file may reach what changed, by its imports and dotted paths alone."""
        text = re.sub(r"#[^\n]*", "", data.decode("utf-8", "replace")).replace("\\\n", " ")
        for stem in {*self.lost, *self.watched}:
            parent, _, tail = stem.rpartition("/")
            lost, watched = self.lost.get(stem, set()), self.watched.get(stem, set())
            if tail not in text:
                continue
            for module, plain, several in _FROM.findall(text):
                names = set(re.findall(r"\w+|\*", plain or several))
                here = module.rpartition(".")[2] == tail and (names & lost or "*" in names)
                if here or tail in names:
                    return True
            if re.search(rf"^\s*import\b[^\n]*\b{tail}\b|[\"']\.*{tail}\b", text, re.MULTILINE):
                return True
            dotted = rf"\b{parent.rpartition('/')[2]}\.{tail}\b(?:[.:](\w+))?(?!\s+import\b)"
            for match in re.finditer(dotted, text) if parent else ():
                if match[1] is None or match[1] in lost | watched:
                    return True
        return False

    def _report(self, module: Module) -> None:
        """Report what one file reaches that is gone or that a patch no longer hits."""
        stems = {*self.lost, *self.watched, *(self.arrived if module.changed else ())}
        names = {
            s: self.lost.get(s, set()) | self.watched.get(s, set()) | self.arrived.get(s, set())
            for s in stems
        }
        side = self.target if module.changed else self.base  # what is meant, not what is found
        for use in uses(side, module, self.judge, names) if names else ():
            lost = self.lost.get(use.stem, set())
            dotted = f"{use.stem.replace('/', '.')}.{use.name}"
            why = ""
            if use.how == "star":
                self._hand_on(module, lost & (self.base.exported(use.stem) or lost))
            elif use.name in lost and self._gone(use.stem, use.name):
                why = f"{dotted} is no longer there"
            elif use.name in lost:
                why = f"{dotted} is something else now"
            elif use.name in self.watched.get(use.stem, ()):
                if use.how == "write":
                    why = f"code that moved no longer sees what is written to {dotted}"
                elif use.how in {"patch", "string"}:
                    what = f"{dotted} is patched here, where code that moved no longer reads it"
                    self.found.observe(module.path, use.line, "patch", what)
            elif use.how == "write" and use.name in self.arrived.get(use.stem, ()):
                if self._taken(use.stem, use.name):
                    why = f"who imports {use.name} by name does not see what is written to {dotted}"
            if why:
                self.judge.residual("target", module.source, use.line, "reach", why)

    def _taken(self, stem: str, name: str) -> bool:
        return any(
            item.member == name and stem in self.target.find(module.path, item.level, item.module)
            for module in self.judge.new.values()
            for _, item in module.imports()
        )

    def _hand_on(self, module: Module, names: set[str]) -> None:
        """Treat an unchanged module as one that lost what its star import no longer brings."""
        lost = {n for n in names if n not in module.names} if not module.changed else set()
        if lost:
            self.lost[module.stem] |= lost
        for name in sorted(lost):
            for _, ref in self.judge.uses(module, name):
                why = f"a star import no longer brings {name}"
                self.judge.residual("target", module.source, ref.line, "reach", why)

    def _others(self) -> None:
        """Look for the paths of lost names in files that are no Python."""
        dotted = {stem.replace("/", ".") for stem in self.lost}
        tails = {".".join(d.split(".")[-2:]) for d in dotted}
        paths = [path for path in self.paths if path.endswith((*_CONFIGURATION, *_PROSE))]
        pattern = re.compile("|".join(sorted(map(re.escape, tails))).encode())
        for path, data in sorted(self.read(self.search(pattern, paths)).items()) if tails else ():
            for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
                for stem, name in (
                    n for found in _PATH.findall(line) for n in _named(self.base, found)
                ):
                    if name in self.lost.get(stem, ()) and self._gone(stem, name):
                        what = f"{name} is no longer in {stem.replace('/', '.')}"
                        if path.endswith(_CONFIGURATION):
                            self.found.residual("target", path, number, "reach", what, line)
                        else:
                            self.found.observe(path, number, "mention", what)

    # --- dynamic code ---

    def _obscure(self, module: Module, named: set[str] | None) -> None:
        """Note dynamic code: all of it, or what has to do with the modules `named`."""
        side = self.target if module in self.judge.new.values() else self.base
        spelled = {stem.rpartition("/")[2] for stem in named or ()}
        for _, item in module.imports() if named else ():
            if any(what[0] == "mod" for what, _ in side.follow(module, item).whats):
                spelled.add(item.name)
        for unit in module.source.units:
            if suspect(unit.text) and (named is None or words(unit.text) & spelled):
                found = self.judge.facts(module, unit)
                for line, why in obscure(side, module, found, named):
                    self.found.unknown(module.path, line, why)

    def _dynamic(self, module: Module) -> None:
        """Refuse to judge a changed module that reaches names no one can list.

        Where nothing moved and every name means what it meant, such code finds what it found.
        """
        stirred = module.path in self.stirred
        if stirred and "__getattr__" in module.names:
            line = module.names["__getattr__"][0].line
            self.found.unknown(module.path, line, "`__getattr__` answers for any name")
        self._obscure(module, None if stirred else {*self.lost, *self.watched})
        for unit in module.source.units if stirred else ():
            for node in ast.walk(unit.node) if "modules" in words(unit.text) else ():
                if isinstance(node, ast.Subscript) and last_name(node.value) == "modules":
                    if not isinstance(node.ctx, ast.Load):
                        self.found.unknown(module.path, node.lineno, "`sys.modules` is written to")


def uses(side: Side, module: Module, judge: Judge, names: Mapping[str, set[str]]) -> Iterator[Use]:
    """List what a file reaches of these names, by module."""
    tails = {stem.rpartition("/")[2] for stem in names}
    wanted = {name for found in names.values() for name in found} | tails
    for unit in module.source.units:
        if not words(unit.text) & wanted and "*" not in unit.text:
            continue
        found = judge.facts(module, unit)
        for item in dict.fromkeys([*found.imports, *imports_of(unit.node)]):
            for stem in side.find(module.path, item.level, item.module):
                if item.member:
                    how = "star" if item.member == "*" else "import"
                    yield Use(item.line, how, stem, item.member)
                for size in range(stem.count("/") + 1):  # `import a.b` takes `b` from `a`
                    whole = stem.rsplit("/", size)[0]
                    yield Use(
                        item.line, "import", whole.rpartition("/")[0], whole.rpartition("/")[2]
                    )
        for ref in (*found.refs, *found.guards):
            for size, attr in enumerate(ref.attrs):
                for what, rest in side.resolve(module, ref._replace(attrs=ref.attrs[:size])).whats:
                    if what[0] == "mod" and not rest:
                        stored = ref.action != "load" and size == len(ref.attrs) - 1
                        yield Use(ref.line, "write" if stored else "read", what[1], attr)
        for _, call, _ in found.calls:
            name = call.args[1] if len(call.args) > 1 else None
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                how = "patch" if last_name(call) in _PATCHES else "read"
                for stem in modules_in(side, module, found, call.args[0]):
                    yield Use(call.lineno, how, stem, name.value)
        if tails & words(unit.text) or re.search(r"\b[fF][\"']", unit.text):
            for node in ast.walk(unit.node):
                text = _constant(module, node) if hasattr(node, "lineno") else None
                for stem, attr in _named(side, text) if text and _PATH.fullmatch(text) else ():
                    yield Use(node.lineno, "string", stem, attr)  # type: ignore[attr-defined]


def _named(side: Side, dotted: str) -> Iterator[tuple[str, str]]:
    """List the modules, and the name in each, that a dotted path may mean."""
    parts = re.split("[.:]", dotted)
    for size in range(1, len(parts)):
        for stem in side.find("", 0, ".".join(parts[:size])):
            yield stem, parts[size]


def _constant(module: Module, node: ast.AST) -> str | None:
    """Work out a string, also an f-string whose names are constants of the module."""
    if isinstance(node, ast.JoinedStr):
        parts = [_constant(module, part) for part in node.values]
        return None if None in parts else "".join(map(str, parts))
    if isinstance(node, ast.FormattedValue) and isinstance(node.value, ast.Name):
        found = module.names.get(node.value.id, [])
        owner = module.source.units[found[0].unit].node if len(found) == 1 else None
        node = getattr(owner, "value", node)
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) else None
