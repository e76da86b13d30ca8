"""What a name means in one of the two trees: the definition behind imports, aliases and stars.

A meaning is a tuple of alternatives, one for each place that may have bound the name last. A
definition is named after the base's statement that holds it, so meanings compare across trees.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from verify.certificate.meaning import (
    BUILTINS,
    GOES_ALONG,
    RUN,
    SPECIAL,
    Alternative,
    Key,
    Look,
    Meaning,
    distinct,
    either,
    one,
)
from verify.certificate.names import HINT, Ref
from verify.certificate.source import (
    Guard,
    Import,
    Module,
    Source,
    is_text,
    only_imports,
    parse,
    stem_of,
)
from verify.certificate.whole import LEFT
from verify.kernel.trees.source import OpaqueError

_Seen = frozenset[tuple[str, str]]
CHECKING = {"typing.TYPE_CHECKING", "typing_extensions.TYPE_CHECKING"}
_AS_IT_IS: Mapping[str, str] = {}


class Side:
    """One tree: its modules, and what names mean in them.

    `read` gives unchanged files, `parsed` keeps what became of them for both trees, `key` names
    the statements of changed ones, and `called` the modules that had another stem.
    """

    def __init__(
        self,
        paths: Iterable[str],
        changed: Mapping[str, Source],
        read: Callable[[Iterable[str]], Mapping[str, bytes]],
        parsed: dict[str, Module | OpaqueError],
        key: Callable[[str, int], Key],
        called: Mapping[str, str] = _AS_IT_IS,
    ) -> None:
        self._read, self._parsed, self._key = read, parsed, key
        self._called, self._places = called, {name: stem for stem, name in called.items()}
        self.files: dict[str, str] = {}
        self._folders: set[str] = set()
        self._tops: dict[str, set[str]] = defaultdict(set)
        self._modules: dict[str, Module | None] = {}
        self._cache: dict[tuple[str, str, Look], Meaning] = {}
        self._found: dict[tuple[str, int, str], tuple[str, ...]] = {}
        self._beside: dict[str, str] = {}
        self._exported: dict[str, frozenset[str] | None] = {}
        self._listing, self._cut = set[str](), 0  # whose names are being listed
        self._edges: dict[str, set[tuple[str, int]]] = {}
        self._named: dict[tuple[object, ...], tuple[str, ...]] = {}
        self._cycles = 0
        for path in sorted(paths):
            if path.endswith(".py"):
                self._enter(path)
        for path, source in changed.items():
            module = Module(source, changed=True)
            self.files.setdefault(module.stem, path)
            self._modules[module.stem] = module
        self._roots()

    def _enter(self, path: str) -> None:
        stem = stem_of(path)
        if stem not in self.files or path.endswith("/__init__.py"):
            self.files[stem] = path  # a package hides a module of its name
        folder = path.rpartition("/")[0]
        while folder and folder not in self._folders:
            self._folders.add(folder)
            folder = folder.rpartition("/")[0]

    def _roots(self) -> None:
        """Find the folders that absolute imports may start from: outside of every package."""
        self._packages = {s for s, path in self.files.items() if path.endswith("/__init__.py")}
        for stem in (*self.files, *self._folders):
            parts = stem.split("/")
            for depth in range(len(parts)):
                folder = "/".join(parts[:depth])
                if folder in self._packages:
                    break
                self._tops[parts[depth]].add(folder)

    # --- modules ---

    def called(self, stem: str) -> str:
        """Give the name that a module has in both trees: its stem in the base."""
        return self._called.get(stem, stem)

    def starts(self, folder: str) -> bool:
        """Tell whether absolute imports may start from a folder."""
        return not folder or any(folder in roots for roots in self._tops.values())

    def place(self, name: str) -> str:
        """Give the stem of a module by its name."""
        return self._places.get(name, name)

    def is_left(self, module: Module) -> bool:
        """Tell whether this stands where a module left, and gives names by `__getattr__`.

        Its imports for type checkers say which. It is new text in any case, and read by a person.
        """
        left = module.changed and self.called(module.stem).endswith(LEFT)
        return left and "__getattr__" in module.names

    def exists(self, stem: str) -> bool:
        """Tell whether a module, a package or a folder of modules has this stem."""
        return stem in self.files or stem in self._folders

    def changed(self) -> list[Module]:
        """List the modules that differ between the trees."""
        found = [m for m in self._modules.values() if m is not None and m.changed]
        return sorted(found, key=lambda m: m.path)

    def is_changed(self, stem: str) -> bool:
        """Tell whether the module differs between the trees."""
        module = self._modules.get(stem)
        return module is not None and module.changed

    def module(self, stem: str) -> Module | None:
        """Give a module; None for a folder, or for a file that cannot be read."""
        if stem not in self._modules:
            path = self.files.get(stem, "")
            if path and path not in self._parsed:
                for data in self._read([path]).values():
                    try:
                        self._parsed[path] = Module(parse(path, data), changed=False)
                    except OpaqueError as error:
                        self._parsed[path] = error
            found = self._parsed.get(path)
            self._modules[stem] = found if isinstance(found, Module) else None
        return self._modules[stem]

    def find(self, importer: str, level: int, dotted: str) -> list[str]:
        """Give the stems that an import in the file `importer` may name; none if it is outside."""
        folder = self._beside.get(importer)
        if folder is None:
            home = stem_of(importer)
            folder = home if importer.endswith("__init__.py") else home.rpartition("/")[0]
            self._beside[importer] = folder
        asked = folder, level, dotted
        if asked not in self._found:
            self._found[asked] = tuple(self._find(*asked))
        return list(self._found[asked])

    def _find(self, folder: str, level: int, dotted: str) -> list[str]:
        parts = dotted.split(".") if dotted else []
        if level:
            for _ in range(level - 1):
                folder = folder.rpartition("/")[0]
            stem = "/".join([*filter(None, [folder]), *parts])
            return [stem] if self.exists(stem) or not parts else []
        roots = self._tops.get(dotted.partition(".")[0], set())
        found = []
        for root in sorted({*roots, folder}) if parts else ():
            stem = "/".join([*filter(None, [root]), *parts])
            script = root == folder and root not in roots  # a script finds what lies beside it
            known = parts[0] in sys.stdlib_module_names and (script or root != folder)
            if not self.exists(stem) or (known and len(parts) == 1):
                continue
            if script and (known or stem not in self.files or roots or folder in self._packages):
                continue
            found.append(stem)
        return found

    # --- names ---

    def lookup(self, module: Module, name: str, look: Look = RUN) -> Meaning:
        """Tell what a name of a module means."""
        cached = (module.path, name, look)
        if cached not in self._cache:
            cycles = self._cycles
            meaning = self._lookup(module, name, look, frozenset())
            if self._cycles != cycles:
                return meaning  # cut short somewhere: true only for who asked first
            self._cache[cached] = meaning
        return self._cache[cached]

    def _lookup(self, module: Module, name: str, look: Look, seen: _Seen) -> Meaning:
        here = (module.stem, name)
        if here in seen:
            self._cycles += 1
            return one("cycle", self.called(module.stem), name)
        seen |= {here}
        found: list[Alternative] = []
        snapshot = 0
        for site in module.names.get(name, ()):
            if look.limit is not None and site.unit > look.limit and site.what != "later":
                continue
            guards = self.guards(module, site.unit, site.guards, hint=look.hint)
            if guards is None:
                continue
            if site.imported is None:
                key = self.key(module, site.unit)
                found.append(Alternative(guards, (site.what, key, name, site.ordinal)))
                continue
            meaning = self.follow(module, site.imported, look, seen)
            taken = any(a.what[0] != "mod" for a in meaning.alternatives)
            snapshot |= meaning.snapshot | (taken and site.imported.member is not None)
            found.extend(a.under(guards) for a in meaning.alternatives)
        for stem, guards in self.starred(module, look.hint):
            if name in (self.exported(stem) or ()):
                meaning = self._attribute(stem, name, look, seen)
                found.extend(a.under(guards) for a in meaning.alternatives)
        return Meaning(distinct(found), snapshot) if found else self._unbound(module, name)

    def _unbound(self, module: Module, name: str) -> Meaning:
        if name not in SPECIAL:
            kind = "builtin" if name in BUILTINS else "free"
            return one(kind, name, self.outside_stars(module))
        return one("special", name, self._own(module, name))

    def _own(self, module: Module, name: str) -> Any:
        """Tell what Python itself gives a module under a name, alike in both trees."""
        stem = self.called(module.stem)
        if name == "__doc__":
            texts = [unit for unit in module.source.units[:1] if is_text(unit.node)]
            return self.key(module, 0) if texts else None
        if name == "__name__":
            return stem
        if name == "__package__":
            home = module.stem if module.package else module.stem.rpartition("/")[0]
            return (stem, module.package, self.called(home))
        return (stem if name in GOES_ALONG else module.stem, module.package)

    def starred(self, module: Module, hint: bool = True) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """List the modules of the tree that a module imports a star from, with conditions."""
        for site in module.stars:
            guards = self.guards(module, site.unit, site.guards, hint=hint)
            item = site.imported
            if guards is not None and item is not None:
                for stem in self.find(module.path, item.level, item.module):
                    yield stem, guards

    def outside_stars(self, module: Module) -> tuple[str, ...]:
        """List the star imports whose names cannot be listed."""
        found = set()
        for item in (site.imported for site in module.stars if site.imported):
            stems = self.find(module.path, item.level, item.module)
            if not stems or any(self.exported(stem) is None for stem in stems):
                found.add("." * item.level + item.module)
        return tuple(sorted(found))

    def exported(self, stem: str) -> frozenset[str] | None:
        """List what `from module import *` brings; None if that cannot be told."""
        if stem not in self._exported:
            module, cut = self.module(stem), self._cut
            if module is None or stem in self._listing:
                self._cut += stem in self._listing  # its names are told by who asked for it first
                return frozenset() if stem in self._listing or stem in self._folders else None
            self._listing.add(stem)
            found = self._brought(module)
            self._listing.remove(stem)
            if self._listing and self._cut != cut:
                return found
            self._exported[stem] = found
        return self._exported[stem]

    def _brought(self, module: Module) -> frozenset[str] | None:
        if "__all__" in module.names:
            return module.listed()
        names = {name for name in module.names if not name.startswith("_")}
        for item in (site.imported for site in module.stars if site.imported):
            stems = self.find(module.path, item.level, item.module)
            for brought in map(self.exported, stems) if stems else [None]:
                if brought is None:
                    return None
                names |= brought
        return frozenset(names)

    def follow(
        self, module: Module, item: Import, look: Look = RUN, seen: _Seen = frozenset()
    ) -> Meaning:
        """Tell what an import brings."""
        dotted = item.module
        if item.member is None and item.name == dotted.partition(".")[0]:
            dotted = item.name  # `import a.b` binds `a`
        stems = self.find(module.path, item.level, dotted)
        if not stems:
            outside = "." * item.level + dotted + (f".{item.member}" if item.member else "")
            return one("missing" if item.level else "ext", outside)
        if item.member is None:
            return either([one("mod", self.called(stem)) for stem in stems])
        look = look._replace(limit=None)
        return either([self._attribute(stem, item.member, look, seen) for stem in stems])

    def _attribute(self, stem: str, name: str, look: Look, seen: _Seen) -> Meaning:
        """Tell what an attribute of a module means."""
        inner = f"{stem}/{name}" if stem else name
        if not look.deep and stem in self.files and not self.is_changed(stem):
            data = self._read([self.files[stem]]).get(self.files[stem], b"*")
            if self.exists(inner) and name.encode() not in data and b"*" not in data:
                return one("mod", self.called(inner))
            return one("at", self.called(stem), name)
        module = self.module(stem)
        meaning = self._lookup(module, name, look, seen) if module is not None else None
        if meaning is not None and meaning.sure:
            return meaning
        if module is not None and self.is_left(module):
            promised = self._lookup(module, name, look._replace(hint=True), seen)
            if promised.sure:
                return promised
        if self.exists(inner):
            return one("mod", self.called(inner))
        outside = meaning.alternatives[0].what[2] if meaning is not None else ()
        kind = "dynamic" if module is not None and "__getattr__" in module.names else "missing"
        return one(kind, self.called(stem), name, *outside)

    def resolve(
        self, module: Module, ref: Ref, *, limit: int | None = None, deep: bool = False
    ) -> Meaning:
        """Tell what a reference means, attributes of modules included."""
        found = self._meaning(module, ref, Look(ref.when == HINT, deep, limit))
        return found._replace(loaded=self._loaded(module, ref, found.alternatives))

    def _meaning(self, module: Module, ref: Ref, look: Look) -> Meaning:
        if ref.local is None:
            return self._descend(self.lookup(module, ref.name, look), ref.attrs, look)
        root = either([self.follow(module, item, look) for item in ref.local])
        snapshot = 2 * any(item.member for item in ref.local)
        return self._descend(root._replace(snapshot=snapshot), ref.attrs, look)

    def modules(self, module: Module, ref: Ref) -> Sequence[str]:
        """Give the modules of the tree that a reference names."""
        asked = module.path, ref.name, ref.attrs, ref.when == HINT, ref.local
        if asked not in self._named:
            ends = self._meaning(module, ref, Look(ref.when == HINT)).whats
            found = (self.place(what[1]) for what, rest in ends if what[0] == "mod" and not rest)
            self._named[asked] = tuple(sorted(found))
        return self._named[asked]

    def _descend(self, start: Meaning, attrs: tuple[str, ...], look: Look) -> Meaning:
        ends: list[Alternative] = []
        snapshot = start.snapshot
        for alternative in start.alternatives:
            if alternative.what[0] != "mod" or not attrs:
                ends.append(alternative._replace(rest=attrs))
                continue
            inner = look._replace(limit=None)
            found = self._attribute(self.place(alternative.what[1]), attrs[0], inner, frozenset())
            end = self._descend(found, attrs[1:], look)
            snapshot = end.snapshot
            ends.extend(a.under(alternative.guards) for a in end.alternatives)
        return Meaning(tuple(ends), snapshot)

    def _loaded(self, module: Module, ref: Ref, ends: tuple[Alternative, ...]) -> object:
        """Give the longest `import` that loads a dotted name; within the tree, what is missing."""
        whole = (ref.name, *ref.attrs, "")
        items: list[tuple[Import, Any]] = [(item, ()) for item in ref.local or ()]
        for site in module.names.get(ref.name, ()) if ref.local is None else ():
            guards = self.guards(module, site.unit, site.guards, hint=ref.when == HINT)
            if site.imported and guards is not None:
                items.append((site.imported, guards))
        loads = [(item.module, guards) for item, guards in items if item.member is None]
        fitting = [load for load in loads if ".".join(whole).startswith(f"{load[0]}.")]
        longest = max(fitting, key=lambda load: (len(load[0]), not load[1]), default=None)
        plain = any(name.partition(".")[0] == ref.name for name, _ in loads)
        if not ref.attrs or not plain or ends[0].what[0] == "ext":
            return longest if ref.attrs else None
        size = len(ref.attrs) - len(ends[0].rest) + (ends[0].what[0] == "mod")
        if longest is None or longest[0].count(".") + 1 < size:
            return self._as_was(module, ".".join(whole[:size]))
        return longest[1] or None

    def _as_was(self, module: Module, dotted: str) -> str:
        """Give the dotted name of a module of the tree as it is called in both trees."""
        for stem in self.find(module.path, 0, dotted) if self._called else ():
            if self.called(stem) != stem:
                root = stem.removesuffix(dotted.replace(".", "/"))
                return self.called(stem).removeprefix(root).replace("/", ".")
        return dotted

    # --- what loads what ---

    def edges(self, module: Module) -> set[tuple[str, int]]:
        """List what importing a module imports, with the lines, packages on the way included.

        Its own package counts only if a name is taken from it.
        """
        if module.path not in self._edges:
            self._edges[module.path] = self._edges_of(module)
        return self._edges[module.path]

    def _edges_of(self, module: Module) -> set[tuple[str, int]]:
        found = set()
        for site, item in module.imports():
            if self.guards(module, site.unit, site.guards, hint=False) is None:
                continue
            for stem in self.find(module.path, item.level, item.module):
                inner = f"{stem}/{item.member}"
                taken = item.member is not None
                if self.exists(inner):
                    package = self.module(stem)
                    taken = package is not None and item.member in package.names
                whole = stem if taken or item.member is None else inner
                parts = whole.split("/")
                for size in range(1, len(parts) + 1):
                    part = "/".join(parts[:size])
                    own = module.stem.startswith(f"{part}/") and not (part == stem and taken)
                    if part in self.files and part != module.stem and not own:
                        found.add((part, item.line))
        return found

    def path(self, home: Mapping[str, str], start: str, end: str) -> list[str] | None:
        """Give the modules that importing one loads until it loads another.

        `home` says which modules count as which others.
        """
        above: dict[str, str] = {start: ""}
        known, unread = [start], list[str]()
        while known or unread:
            level, known = known, []
            if not level:  # what changed is at hand; the others are read only if need be
                level, unread = unread, []
                self._read([self.files[s] for s in level if s in self.files])
            for stem in level:
                members = [stem, *(new for new, origin in home.items() if origin == stem)]
                modules = [m for m in map(self.module, members) if m is not None]
                for edge in sorted({below for m in modules for below, _ in self.edges(m)}):
                    below = home.get(edge, edge)
                    if below not in above:
                        above[below] = stem
                        (known if self.is_changed(below) else unread).append(below)
            if end in above:
                found = [end]
                while found[0] != start:
                    found.insert(0, above[found[0]])
                return found
        return None

    # --- statements and conditions ---

    def key(self, module: Module, unit: int) -> Key:
        """Name a statement alike in both trees."""
        return self._key(module.path, unit) if module.changed else (module.path, unit)

    def guards(
        self, module: Module, unit: int, guards: tuple[Guard, ...], *, hint: bool
    ) -> tuple[Any, ...] | None:
        """Describe conditions alike in both trees; None if never run, or read by a type checker."""
        if not guards:
            return ()
        found: list[Any] = []
        owned = not only_imports(module.source.units[unit].node)
        for guard in guards:
            if (holds := self._holds(module, guard, hint)) is False:
                return None
            if holds is None:
                tests = () if owned else tuple(self._test(module, t) for t in guard.tests)
                found.append((guard.branch, tests))
        return (self.key(module, unit), *found) if owned and found else tuple(found)

    def _holds(self, module: Module, guard: Guard, hint: bool) -> bool | None:
        """Tell whether a branch surely runs, or surely does not; with `hint`, is read."""
        if guard.branch not in {"if", "else"} or not isinstance(guard.owner, ast.If):
            return None
        value = self._truth(module, guard.tests[0], hint)
        return value if value is None or guard.branch == "if" else not value

    def _truth(self, module: Module, test: ast.expr, hint: bool) -> bool | None:
        if isinstance(test, ast.Constant) and isinstance(test.value, int):
            return bool(test.value)
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            value = self._truth(module, test.operand, hint)
            return None if value is None else not value
        if isinstance(test, ast.BoolOp):
            decisive = isinstance(test.op, ast.Or)
            values = [self._truth(module, part, hint) for part in test.values]
            return decisive if decisive in values else None
        dotted = module.outside(test.id) if isinstance(test, ast.Name) else None
        if isinstance(test, ast.Attribute) and isinstance(test.value, ast.Name):
            dotted = f"{module.outside(test.value.id)}.{test.attr}"
        return hint if dotted in CHECKING and not self.find("", 0, "typing") else None

    def _test(self, module: Module, test: ast.expr) -> Any:
        """Describe a condition by its shape and what its names mean."""
        names = [n.id for n in ast.walk(test) if isinstance(n, ast.Name)]
        return (ast.dump(test), tuple(self.lookup(module, n).whats for n in names))
