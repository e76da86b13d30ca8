"""What the rest of the tree sees of a move: what it reads, writes, patches or names."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from posixpath import dirname
from typing import NamedTuple
from unicodedata import is_normalized, normalize

from verify.certificate.along import TESTS
from verify.certificate.conserve import named
from verify.certificate.dynamic import ATTRIBUTES, CODINGS, SPELLED, SUSPECT, hidden, runs_code
from verify.certificate.imports import imports_in
from verify.certificate.judge import Judge
from verify.certificate.meaning import Look
from verify.certificate.names import (
    PATH,
    all_words,
    arguments,
    as_bytes,
    constant,
    last_name,
    words,
)
from verify.certificate.resolve import Side
from verify.certificate.source import (
    FUNCTIONS,
    Module,
    Unit,
    decode,
    imports_of,
    is_python,
    parse,
    stem_of,
)
from verify.kernel.trees.nodes import walk
from verify.kernel.trees.source import OpaqueError

Read = Callable[[Iterable[str]], Mapping[str, bytes]]
# A line that reaches into a module: by `import`, `star`, `read`, `write`, `patch` or `string`;
# the module's stem, and the name there.
Use = tuple[int, str, str, str]
Search = Callable[[re.Pattern[bytes], Iterable[str]], Iterable[str]]
_LOADS = {"import_module", "__import__", "run_module"}
_PATCHES = {"setattr", "delattr", "object", "patch", "setitem"}


class _Sought(NamedTuple):
    """What is looked for: names by their module, the last names of these, and how one is spelled.

    `there` are names that somebody reaches without the name of their module.
    """

    names: Mapping[str, set[str]]
    tails: set[str]
    there: frozenset[str]
    path: re.Pattern[str]


class Reach:
    """Looks from every file of the tree at the changed modules."""

    def __init__(self, judge: Judge, paths: Iterable[str], read: Read, search: Search) -> None:
        self.judge, self.found = judge, judge.found
        self.base, self.target = judge.base, judge.target
        self.read, self.search = read, search
        self.python = [
            p for p in paths if p.endswith((".py", ".pyw")) or "." not in p.rpartition("/")[2]
        ]
        self.fresh = {module.stem: module for module in judge.new.values()}
        self.lost: dict[str, set[str]] = defaultdict(set)  # by module: gone or something else now
        self.gained: dict[str, set[str]] = defaultdict(set)  # what a star import brings as well now
        self.settled: set[str] = set()  # modules that moved with every name that they had
        self.watched: dict[str, set[str]] = defaultdict(set)  # what moved code read there or is

    def run(self) -> None:
        """Check every file that may reach a name that a changed module lost."""
        self._survey()
        for module in self.judge.new.values():
            self._report(module)
            for name in sorted(self.lost.get(module.stem, set()) & (module.listed() or set())):
                if self.gone(module.stem, name):
                    why = f"__all__ lists {name}, which is no longer here"
                    line = module.names["__all__"][0].line
                    self.judge.residual("target", module.source, line, "reach", why)
        for module in (*self.judge.old.values(), *self.judge.new.values()):
            self._dynamic(module)
        self._unchanged()

    def _survey(self) -> None:
        moved = set()
        for old, before, new, _ in self.judge.pairs:
            if old.path != new.path:
                moved |= {old.path, new.path}
                refs = self.judge.facts(old, old.source.units[before]).refs
                names = {r.name for r in refs if not r.local and r.name in old.names}
                self.watched[old.stem] |= names | {s.name for s in old.in_unit(before)}
                self._pytest(old, before, new)
        whole = {path for pair in self.judge.whole.paths.items() for path in pair}
        for (path, _), name in self.judge.frozen:
            self.watched[stem_of(path)].add(name)
        self.stirred = (moved | (self.judge.old.keys() ^ self.judge.new.keys())) - whole
        for old, new in self.judge.moved.items():
            if self.judge.differing(old, new):
                self.stirred |= {old.path, new.path}
            else:
                self.settled |= {old.stem, new.stem}
        for old in self.judge.old.values():
            self._compare(old)

    def _compare(self, old: Module) -> None:
        """Find the names that a module lost, or that a star import of it brings as well now."""
        twin = self.fresh.get(old.stem)
        differing = frozenset(old.names) if twin is None else self.judge.differing(old, twin)
        hint = twin is not None and self.target.is_left(twin)
        for name in differing:
            if self.base.lookup(old, name).sure or self.base.exists(f"{old.stem}/{name}"):
                if twin is None or not self.judge.same(old, twin, name, hint=hint):
                    self.lost[old.stem].add(name)
            elif twin is not None and name in (self.target.exported(old.stem) or {name}):
                self.gained[old.stem].add(name)
        if differing and old not in self.judge.moved:
            self.stirred.add(old.path)
        if not self.target.exists(old.stem):
            parent, _, tail = old.stem.rpartition("/")
            self.lost[parent].add(tail)

    def _pytest(self, old: Module, before: int, new: Module) -> None:
        """Report what pytest finds by its place: a fixture, a test, a parameter's fixture."""
        twin = self.judge.new.get(old.path)
        for site in old.in_unit(before) if TESTS.search(old.path) else ():
            kept = twin is not None and self.judge.same(old, twin, site.name, hint=False)
            hook = site.name.startswith("pytest_")
            folders = self.judge.whole.folders
            along = not hook and folders.get(dirname(new.path), "") == dirname(old.path)
            # A test's own fixture is seen in its module alone, wherever that lies.
            own = bool(TESTS.search(new.path)) and not old.path.endswith("conftest.py")
            along |= not hook and own and self.judge.moved.get(old) is new
            placed = hook or _is_fixture(old, site.name)
            lost = placed and not along and not _sees(old.path, new.path)
            lost |= site.name.lower().startswith("test") and not TESTS.search(new.path)
            if lost and not kept:
                why = f"pytest no longer finds {site.name} where it did"
                self.judge.residual("target", new.source, 1, "reach", why)
        for node in walk(old.source.units[before].node):
            given = arguments(node.args) if isinstance(node, FUNCTIONS) else []
            for name in sorted({g.arg for g in given if _is_fixture(old, g.arg)}):
                homes = {m.path for m in self.judge.new.values() if _is_fixture(m, name)}
                if not any(_sees(new.path, home) for home in homes):
                    why = f"pytest gives no {name} here"
                    self.judge.residual("target", new.source, 1, "reach", why)

    def gone(self, stem: str, name: str) -> bool:
        """Tell whether a module of the target has lost a name."""
        module = self.target.module(stem)
        if self.target.exists(f"{stem}/{name}".lstrip("/")):
            return False
        return module is None or not self.target.lookup(module, name).sure

    # --- files ---

    def _unchanged(self) -> None:
        """Look at the files that are the same in both trees; star imports hand losses on."""
        looked: dict[str, int] = {}
        new = self._new()
        while True:
            stems = {*self.lost, *self.watched, *self.gained}
            sizes = {stem: len(self.lost.get(stem, ())) for stem in stems}
            fresh = {stem for stem, size in sizes.items() if looked.get(stem) != size}
            if not fresh and not new:
                return
            looked = sizes
            taken, tails = (
                [
                    as_bytes(re.escape(t))
                    for t in sorted({stem.rpartition("/")[2] for stem in every})
                ]
                for every in (new, fresh | new)
            )
            found = set(self.search(re.compile(b"|".join((*tails, *CODINGS))), self.python))
            found.update(self.search(SPELLED, self.python))
            inner = [p for p in self.python if any(p.startswith(f"{stem}/") for stem in fresh)]
            found.update(self.search(re.compile(rb"\bfrom\s*\."), inner) if inner else ())
            takes = re.compile(rb"\b(?:%s)\b" % b"|".join(taken))
            for path, data in sorted(self.read(found).items()):
                captured = new and _imports_any(data, takes)
                module = self._open(path, data) if captured or self._concerned(path, data) else None
                if module is not None:
                    self._report(module)
                    self._obscure(module, {*self.lost, *self.watched})
                    self._captured(module, new)
            new = set()

    def _new(self) -> set[str]:
        """List the modules that only the target has, outside of packages."""
        new = {stem for stem in self.target.files if stem not in self.base.files}
        homes = {stem: self.target.files.get(stem.rpartition("/")[0], "") for stem in new}
        return {stem for stem in new if not homes[stem].endswith("__init__.py")}

    def _captured(self, module: Module, new: set[str]) -> None:
        """Report imports that a new module takes from another one."""
        for unit in module.source.units if new else ():
            for item in self.judge.facts(module, unit).imports if "import" in unit.text else ():
                now = self.target.find(module.path, item.level, item.module)
                if set(now) & new - set(self.base.find(module.path, item.level, item.module)):
                    why = f"`{item.module}` is a new module here"
                    self.judge.residual("target", module.source, item.line, "reach", why)

    def _open(self, path: str, data: bytes) -> Module | None:
        """Read a file that is the same in both trees."""
        module = self.target.module(stem_of(path)) if is_python(path, data) else None
        if is_python(path, data) and (module is None or module.path != path):
            try:
                return Module(parse(path, data), changed=False)
            except OpaqueError as error:
                why = f"it names a changed module, but {error.why}"
                self.found.unknown(path, error.line, why, error.needs)
        return module

    def _concerned(self, path: str, data: bytes) -> bool:
        """Tell whether a file may reach what changed; one that may not need not be parsed."""
        try:
            text = decode(data).replace("\\\n", " ")
        except OpaqueError:
            return True
        found = all_words(text)
        stems = {*self.lost, *self.watched, *self.gained}
        inside = {stem for stem in stems if stem and path.startswith(f"{stem}/")}
        stems = {s for s in stems if not s or s in inside or s.rpartition("/")[2] in found}
        if not text.isascii() and not is_normalized("NFKC", text):
            text = f"{text}\n{normalize('NFKC', text)}"
        imports = imports_in(text) if stems else []
        if not stems or imports is None:
            return bool(stems)
        runs = runs_code(text, found)
        for stem in stems:
            parent, _, tail = stem.rpartition("/")
            lost = self.lost.get(stem, set())
            if ((not stem or stem in inside) and found & lost) or (tail in found and runs):
                return True
            beside = path.startswith(f"{parent}/") or self.base.starts(parent)
            home = parent.rpartition("/")[2]
            for above, below, star in imports:
                named = tail in above or stem in inside
                taken = tail in below and (beside or home in above or home in below)
                if taken or (named and (star or below & lost)):
                    return True
            names = lost | self.watched.get(stem, set())
            spelled = rf"([\"'.])\s*{re.escape(tail)}\b(?!\s+import\b)(?:\s*[.:]\s*(\w+))?"
            known = tail and (parent.rpartition("/")[2] in found or not parent)
            for match in re.finditer(spelled, text) if known else ():
                if match[2] is None or match[2] in names:
                    return True
        return False

    def _report(self, module: Module) -> None:
        """Report what one file reaches that is gone or that a patch no longer hits."""
        names = self._sought.names
        side = self.target if module.changed else self.base  # what is meant, not what is found
        for line, how, stem, name in self._uses(side, module) if names else ():
            lost, dotted, why = self.lost.get(stem, set()), f"{stem.replace('/', '.')}.{name}", ""
            if how == "value":
                why = f"no one can tell what is read from {stem.replace('/', '.')}"
                self.found.unknown(module.path, line, why)
                why = ""
            elif how == "star":
                self._hand_on(module, lost & (self.base.exported(stem) or lost))
                more = self.gained.get(stem, set()) & all_words(module.source.text)
                if more and not module.changed:
                    why = f"this now brings {', '.join(sorted(more))} as well"
            elif name in lost:
                gone = self.gone(stem, name)
                why = f"{dotted} is {'no longer there' if gone else 'something else now'}"
            elif name in self.watched.get(stem, ()) and how == "write":
                why = f"code that moved no longer sees what is written to {dotted}"
            elif name in self.watched.get(stem, ()) and how in {"patch", "string"}:
                what = f"{dotted} is patched here, where code that moved no longer reads it"
                self.found.observe(module.path, line, "patch", what)
            if why:
                self.judge.residual("target", module.source, line, "reach", why)

    def _hand_on(self, module: Module, names: set[str]) -> None:
        """Treat an unchanged module as one that lost what its star import no longer brings."""
        lost = {n for n in names if n not in module.names} if not module.changed else set()
        if lost:
            self.lost[module.stem] |= lost
            self.__dict__.pop("_sought", None)  # looked for anew from here on
        for name in sorted(lost):
            for _, ref in self.judge.uses(module, name):
                why = f"a star import no longer brings {name}"
                self.judge.residual("target", module.source, ref.line, "reach", why)

    @cached_property
    def _sought(self) -> _Sought:
        """Give what is looked for in each file."""
        stems = {*self.lost, *self.watched, *self.gained}
        names = {s: self.lost.get(s, set()) | self.watched.get(s, set()) for s in stems}
        tails = {stem.rpartition("/")[2] for stem in names}
        # Of a module that is gone, nothing is reached but through its name.
        there = frozenset().union(*(self.lost.get(stem, ()) for stem in stems - self.settled))
        path = re.compile(rf"[.\"'}}:\\]\s*(?:{'|'.join(map(re.escape, sorted(tails)))})\b")
        return _Sought(names, tails, there, path)

    def _uses(self, side: Side, module: Module) -> Iterator[Use]:
        """List what a file reaches of the names that are looked for, by module."""
        names, tails, there, path = self._sought
        # What was only read there is reached through the module: by a name of it, or its path.
        wanted = {name for name in module.names if self._leads(side, module, name, names)} | there
        for unit in module.source.units:
            if not _may_use(unit, wanted, tails, path):
                continue
            found = self.judge.facts(module, unit)
            for item in dict.fromkeys([*found.imports, *imports_of(unit.node)]):
                for stem in side.find(module.path, item.level, item.module):
                    if item.member:
                        how = "star" if item.member == "*" else "import"
                        yield item.line, how, stem, item.member
                    yield from self._way(item.line, stem)
            plain = {id(call.args[0]) for _, call, _ in found.calls if self._names(module, call)}
            for ref in (*found.refs, *found.guards):
                attrs = ref.attrs[:-1] if ref.attrs[-1:] == ("__dict__",) else ref.attrs
                for stem in side.modules(module, ref._replace(attrs=attrs)):
                    if self.lost.get(stem) and id(ref.node) not in plain:
                        yield ref.line, "value", stem, "__dict__"
                for size, attr in enumerate(ref.attrs):
                    stored = ref.action != "load" and size == len(ref.attrs) - 1
                    for stem in side.modules(module, ref._replace(attrs=ref.attrs[:size])):
                        yield ref.line, "write" if stored else "read", stem, attr
            yield from self._spelled(side, module, unit, tails)

    def _way(self, line: int, stem: str) -> Iterator[Use]:
        """List what an import takes on its way, `b` from `a`, but for modules that are there."""
        for size in range(stem.count("/") + 1):
            parent, _, name = stem.rsplit("/", size)[0].rpartition("/")
            if not self.target.exists(f"{parent}/{name}".lstrip("/")):
                yield line, "import", parent, name

    @staticmethod
    def _leads(side: Side, module: Module, name: str, stems: Mapping[str, object]) -> bool:
        """Tell whether a name of a file may be one of these modules."""
        looks = (side.lookup(module, name, Look(hint)).whats for hint in (False, True))
        return any(
            what[0] == "mod" and side.place(what[1]) in stems
            for whats in looks
            for what, _ in whats
        )

    @staticmethod
    def _names(module: Module, call: ast.Call) -> list[str]:
        """List the names that a call spells, of the module that is its first argument."""
        if last_name(call) == "multiple" and call.args:
            return [keyword.arg for keyword in call.keywords if keyword.arg]
        name = constant(module, call.args[1]) if len(call.args) > 1 else None
        return [name] if name else []

    def _spelled(self, side: Side, module: Module, unit: Unit, tails: set[str]) -> Iterator[Use]:
        """List the names of modules that a statement spells as strings."""
        found = self.judge.facts(module, unit)
        loaders = {item.name for _, item in module.imports() if item.member in _LOADS}
        for _, call, _ in found.calls:
            first = constant(module, call.args[0]) if call.args else None
            names, last = self._names(module, call), last_name(call)
            if first and (last in _LOADS or last in loaders):
                package = [constant(module, k.value) for k in call.keywords if k.arg == "package"]
                named_by = next(filter(None, [*package, *names]), "")
                homes = side.find("", 0, named_by) if first[0] == "." else []
                for home in [f"{stem}/__init__.py" for stem in homes] or [module.path]:
                    yield from self._loads(side, module, call.lineno, home, first)
            stems = side.find("", 0, first) if first and last == "multiple" else []
            for ref in found.refs if names else ():
                stems += side.modules(module, ref) if ref.node is call.args[0] else ()
            plain = isinstance(call.func, ast.Name) and last in {"setattr", "delattr"}
            how = "write" if plain else "patch" if {last} & {*_PATCHES, "multiple"} else "read"
            yield from ((call.lineno, how, stem, name) for stem in stems for name in names)
        if not (tails & words(unit.text) or re.search(r"\b[fF][\"']", unit.text)):
            return
        for node in walk(unit.node):
            line = getattr(node, "lineno", 0)
            if isinstance(node, ast.Subscript) and last_name(node.value) == "modules":
                key = constant(module, node.slice) or ""
                yield from self._loads(side, module, line, module.path, key)
            text = constant(module, node) if line else None
            for stem, attr, _ in named(side, text) if text and PATH.fullmatch(text) else ():
                yield line, "string", stem, attr
            exact = isinstance(node, ast.Constant) and text and "." in text
            if text and exact and re.fullmatch(r"\.*\w+(\.\w+)*", text):
                bare = text.lstrip(".")
                for stem in side.find(module.path, len(text) - len(bare), bare):
                    if self.lost.get(stem, set()) & self._said(module):
                        yield line, "value", stem, "__dict__"

    def _loads(
        self, side: Side, module: Module, line: int, path: str, dotted: str
    ) -> Iterator[Use]:
        """List what may be read from a module that is loaded by its name."""
        bare = dotted.lstrip(".")
        for stem in side.find(path, len(dotted) - len(bare), bare) if bare else ():
            parent, _, tail = stem.rpartition("/")
            yield line, "read", parent, tail
            for name in sorted(self.lost.get(stem, set()) & all_words(module.source.text)):
                yield line, "read", stem, name

    @staticmethod
    def _said(module: Module) -> frozenset[str]:
        """List the words in a file's strings, but for those that only describe."""
        parts = [part for unit in module.source.units for part in walk(unit.node)]
        idle = {id(part.value) for part in parts if isinstance(part, ast.Expr)}
        texts = [p.value for p in parts if isinstance(p, ast.Constant) and id(p) not in idle]
        return frozenset().union(*(words(text) for text in texts if isinstance(text, str)))

    # --- dynamic code ---

    def _obscure(self, module: Module, named: set[str] | None) -> None:
        """Note dynamic code: all of it, or what has to do with the modules `named`."""
        side = self.target if module in self.judge.new.values() else self.base
        spelled = {stem.rpartition("/")[2] for stem in named or ()}
        suspects = SUSPECT | {i.name for _, i in module.imports() if i.member in SUSPECT}
        units = [unit for unit in module.source.units if words(unit.text) & suspects]
        runs = [unit for unit in units if not words(unit.text) & suspects <= ATTRIBUTES]
        said = self._said(module) if named and runs else frozenset()
        told = bool(said) and self._told(said, named or set())
        for _, item in module.imports() if named and units else ():
            if any(what[0] == "mod" for what, _ in side.follow(module, item).whats):
                spelled.add(item.name)
        for unit in units:
            if named is None or told or words(unit.text) & spelled:
                found = self.judge.facts(module, unit)
                for line, why in hidden(side, module, found, named, told, self.settled):
                    self.found.unknown(module.path, line, why)

    def _told(self, said: frozenset[str], named: set[str]) -> bool:
        """Tell whether a file's strings may speak of what these modules lost.

        A module that is gone with all its names is spoken of by its whole name.
        """
        there = named - self.settled
        lost = {name for stem in there for name in self.lost.get(stem, ())}
        if said & lost and said & {stem.rpartition("/")[2] for stem in there}:
            return True
        return any(
            said.issuperset(stem.split("/")) and said & self.lost.get(stem, set())
            for stem in named & self.settled
        )

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
            for node in walk(unit.node) if "modules" in words(unit.text) else ():
                if isinstance(node, ast.Subscript) and last_name(node.value) == "modules":
                    if not isinstance(node.ctx, ast.Load):
                        self.found.unknown(module.path, node.lineno, "`sys.modules` is written to")


def _imports_any(data: bytes, names: re.Pattern[bytes]) -> bool:
    """Tell whether a line has one of the names behind the keyword of an import."""
    keywords = ((n, re.search(rb"\b(?:import|from)\b", n)) for n in data.split(b"\n"))
    return any(found and names.search(line, found.end()) for line, found in keywords)


def _may_use(unit: Unit, names: set[str], tails: set[str], path: re.Pattern[str]) -> bool:
    """Tell whether a statement spells one of the names, or a module: in an import, or by a path."""
    found = words(unit.text)
    if found & names or ("import" in found and "*" in unit.text):
        return True
    loose = "import" in found or not unit.text.isascii()
    return bool(found & tails) and (loose or path.search(unit.text) is not None)


def _is_fixture(module: Module, name: str) -> bool:
    """Tell whether a module makes a fixture of pytest's."""
    nodes = [module.source.units[site.unit].node for site in module.names.get(name, ())]
    found = [d for node in nodes for d in getattr(node, "decorator_list", ())]
    return any(last_name(decorator) == "fixture" for decorator in found)


def _sees(path: str, home: str) -> bool:
    """Tell whether the tests of one file get the fixtures of another."""
    folder = home.removesuffix("conftest.py")
    return path == home or (folder != home and path.startswith(folder))
