"""What a name means in one of the two trees: the definition behind imports, aliases and stars.

A meaning is a tuple of alternatives, one for each place that may have bound the name last. A
definition is named after the base's statement that holds it, so meanings compare across trees.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from verify.certificate.names import HINT, Ref
from verify.certificate.source import (
    Guard,
    Import,
    OpaqueError,
    Site,
    Source,
    is_text,
    only_imports,
    parse,
    sites,
)

Key = tuple[str, int]  # a statement: its path in the base (or `+path` if only the target has it)
What = tuple[Any, ...]  # ("def", key, name, ordinal), ("mod", stem), ("ext", dotted), ...
_BUILTINS = frozenset(dir(builtins))
_SPECIAL = frozenset(
    "__name__ __file__ __package__ __spec__ __path__ __loader__ __doc__ __dict__ "
    "__annotations__ __builtins__ __cached__".split()
)


class Alternative(NamedTuple):
    """One definition a name may have. `rest` are the attributes that no module answered."""

    guards: tuple[Any, ...]
    what: What
    rest: tuple[str, ...] = ()


class Meaning(NamedTuple):
    """All definitions a name may have. `snapshot` says that one was copied by a `from` import;
    `loaded` is how much of a dotted name an `import a.b` has surely loaded.
    """

    alternatives: tuple[Alternative, ...]
    snapshot: bool = False
    loaded: object = None

    @property
    def whats(self) -> frozenset[tuple[What, tuple[str, ...]]]:
        """Give the definitions, whatever their conditions."""
        return frozenset((a.what, a.rest) for a in self.alternatives)

    @property
    def sure(self) -> bool:
        """Tell whether the module binds the name at all."""
        return self.alternatives[0].what[0] not in {"free", "builtin"}

    @property
    def rebound(self) -> bool:
        """Tell whether a function assigns the name through `global`."""
        return any(a.what[0] == "later" for a in self.alternatives)


class Module:
    """A file of one tree, with the places that bind its names."""

    def __init__(self, source: Source, *, changed: bool) -> None:
        self.source = source
        self.stem = stem_of(source.path)
        self.changed = changed
        self.package = self.stem != source.path.removesuffix(".py")
        self.names: dict[str, list[Site]] = defaultdict(list)
        self.stars: list[Site] = []
        for unit in source.units:
            for site in sites(unit):
                (self.stars if site.name == "*" else self.names[site.name]).append(site)
        for found in self.names.values():
            found.sort(key=lambda site: site.what == "later")

    def in_unit(self, unit: int) -> list[Site]:
        """List what a statement binds."""
        return [s for found in self.names.values() for s in found if s.unit == unit]

    def imports(self) -> list[Site]:
        """List what the module's own imports bring, in order."""
        found = [s for sites in self.names.values() for s in sites if s.imported]
        return sorted((*self.stars, *found), key=lambda s: (s.unit, s.line))

    def outside(self, name: str) -> str | None:
        """Give the dotted name that a plain import gives a name, if nothing else binds it."""
        found = {
            None if s.imported is None or s.imported.level or s.guards else s.imported
            for s in self.names.get(name, ())
        }
        item = found.pop() if len(found) == 1 else None
        return item and (f"{item.module}.{item.member}" if item.member else item.module)


def stem_of(path: str) -> str:
    """Give what a module's path and its package's path have in common: `a/b` for `a/b.py`."""
    stem = path.removesuffix(".py")
    return stem.removesuffix("/__init__") if path.endswith("/__init__.py") else stem


class Side:
    """One tree: its modules, and what names mean in them.

    `read` gives unchanged files; `key` names the statements of changed ones.
    """

    def __init__(
        self,
        paths: Iterable[str],
        changed: Mapping[str, Source],
        read: Callable[[str], bytes | None],
        key: Callable[[str, int], Key],
    ) -> None:
        self._read = read
        self._key = key
        self.files: dict[str, str] = {}
        self._folders: set[str] = set()
        self._tops: dict[str, set[str]] = defaultdict(set)
        self._modules: dict[str, Module | None] = {}
        self._cache: dict[Any, Meaning] = {}
        self._cycles = 0
        self.opaque: dict[str, OpaqueError] = {}
        for path in sorted(paths):
            if path.endswith(".py"):
                self._enter(path)
        for path, source in changed.items():
            module = Module(source, changed=True)
            if self.files.setdefault(module.stem, path) == path:
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
        packages = {stem for stem, path in self.files.items() if path.endswith("/__init__.py")}
        for stem in (*self.files, *self._folders):
            parts = stem.split("/")
            for depth in range(len(parts)):
                folder = "/".join(parts[:depth])
                if folder in packages:
                    break
                self._tops[parts[depth]].add(folder)

    # --- modules ---

    def exists(self, stem: str) -> bool:
        """Tell whether a module, a package or a folder of modules has this stem."""
        return stem in self.files or stem in self._folders

    def changed(self) -> list[Module]:
        """List the modules that differ between the trees."""
        found = [m for m in self._modules.values() if m is not None and m.changed]
        return sorted(found, key=lambda m: m.source.path)

    def is_changed(self, stem: str) -> bool:
        """Tell whether the module differs between the trees."""
        module = self._modules.get(stem)
        return module is not None and module.changed

    def module(self, stem: str) -> Module | None:
        """Give a module; None for a folder, or a file that cannot be read (see `opaque`)."""
        if stem not in self._modules:
            path = self.files.get(stem)
            data = self._read(path) if path is not None else None
            self._modules[stem] = None
            if path is not None and data is not None:
                try:
                    self._modules[stem] = Module(parse(path, data), changed=False)
                except OpaqueError as error:
                    self.opaque[path] = error
        return self._modules[stem]

    def find(self, importer: str, level: int, dotted: str) -> list[str]:
        """Give the stems that an import in the file `importer` may name; none if it is outside."""
        parts = dotted.split(".") if dotted else []
        folder = stem_of(importer)
        if not importer.endswith("__init__.py"):
            folder = folder.rpartition("/")[0]
        if level:
            for _ in range(level - 1):
                folder = folder.rpartition("/")[0]
            stem = "/".join([*filter(None, [folder]), *parts])
            return [stem] if self.exists(stem) or not parts else []
        top = parts[0]
        found = []
        for root in sorted({*self._tops.get(top, ()), folder}):
            stem = "/".join([*filter(None, [root]), *parts])
            if not self.exists(stem):
                continue
            if top in sys.stdlib_module_names and len(parts) == 1 and root != folder:
                continue
            if root == folder and root not in self._tops.get(top, ()) and level == 0:
                if any(self.exists(f"{r}/{top}" if r else top) for r in self._tops.get(top, ())):
                    continue
                if top in sys.stdlib_module_names or stem not in self.files:
                    continue
            found.append(stem)
        return found

    # --- names ---

    def lookup(
        self,
        module: Module,
        name: str,
        *,
        hint: bool = False,
        limit: int | None = None,
        deep: bool = False,
    ) -> Meaning:
        """Tell what a name of a module means.

        With `hint`, bindings under TYPE_CHECKING count; with `limit`, only what that statement
        and those above it bind. Without `deep`, unchanged modules are not looked into.
        """
        cached = (module.source.path, name, hint, limit, deep)
        if cached not in self._cache:
            cycles = self._cycles
            meaning = self._lookup(module, name, hint, limit, deep, frozenset())
            if self._cycles != cycles:
                return meaning
            self._cache[cached] = meaning
        return self._cache[cached]

    def _lookup(
        self,
        module: Module,
        name: str,
        hint: bool,
        limit: int | None,
        deep: bool,
        seen: frozenset[tuple[str, str]],
    ) -> Meaning:
        here = (module.stem, name)
        if here in seen:
            self._cycles += 1
            return Meaning((Alternative((), ("cycle", *here)),))
        seen = seen | {here}
        found: list[Alternative] = []
        snapshot = False
        for site in module.names.get(name, ()):
            if limit is not None and site.unit > limit and site.what != "later":
                continue
            guards = self.guards(module, site.unit, site.guards, hint)
            if guards is None:
                continue
            if site.imported is None:
                kind = site.what if site.what in {"later", "del"} else "def"
                key = self.key(module, site.unit)
                found.append(Alternative(guards, (kind, key, name, site.ordinal)))
                continue
            meaning = self.follow(module, site.imported, hint, deep, seen)
            snapshot |= meaning.snapshot or (
                site.imported.member is not None
                and any(a.what[0] != "mod" for a in meaning.alternatives)
            )
            found.extend(a._replace(guards=(*guards, *a.guards)) for a in meaning.alternatives)
        found.extend(self._starred(module, name, hint, deep, seen))
        return Meaning(_distinct(found), snapshot) if found else self._unbound(module, name)

    def starred(self, module: Module) -> list[str]:
        """List the modules of the tree that a module imports a star from."""
        items = [site.imported for site in module.stars if site.imported]
        return [s for i in items for s in self.find(module.source.path, i.level, i.module)]

    def _starred(
        self, module: Module, name: str, hint: bool, deep: bool, seen: frozenset[tuple[str, str]]
    ) -> list[Alternative]:
        found: list[Alternative] = []
        for site in module.stars:
            guards = self.guards(module, site.unit, site.guards, hint)
            if guards is None or site.imported is None:
                continue
            for stem in self.find(module.source.path, site.imported.level, site.imported.module):
                if name in (self.exported(stem) or ()):
                    meaning = self._attribute(stem, name, hint, deep, seen)
                    found.extend(
                        a._replace(guards=(*guards, *a.guards)) for a in meaning.alternatives
                    )
        return found

    def _unbound(self, module: Module, name: str) -> Meaning:
        if name in _SPECIAL:
            return Meaning((Alternative((), ("special", name, self._special(module, name))),))
        outside = self.outside_stars(module)
        kind = "builtin" if name in _BUILTINS else "free"
        return Meaning((Alternative((), (kind, name, outside)),))

    def _special(self, module: Module, name: str) -> object:
        if name == "__name__":
            return module.stem
        if name == "__doc__":
            first = module.source.units[:1]
            return self.key(module, 0) if first and is_text(first[0].node) else None
        return (module.stem, module.package)

    def outside_stars(self, module: Module) -> tuple[str, ...]:
        """List the star imports whose names cannot be listed."""
        found = set()
        for site in module.stars:
            if site.imported is not None:
                stems = self.find(module.source.path, site.imported.level, site.imported.module)
                if not stems or any(self.exported(stem) is None for stem in stems):
                    found.add("." * site.imported.level + site.imported.module)
        return tuple(sorted(found))

    def exported(self, stem: str, seen: frozenset[str] = frozenset()) -> frozenset[str] | None:
        """List what `from module import *` brings; None if that cannot be told."""
        module = self.module(stem)
        if module is None or stem in seen:
            return frozenset() if stem in seen or stem in self._folders else None
        if "__all__" in module.names:
            return listed(module)
        names = {name for name in module.names if not name.startswith("_")}
        for site in module.stars:
            imported = site.imported
            stems = (
                self.find(module.source.path, imported.level, imported.module) if imported else []
            )
            for inner in [self.exported(s, seen | {stem}) for s in stems] or [None]:
                if inner is None:
                    return None
                names |= inner
        return frozenset(names)

    def follow(
        self,
        module: Module,
        item: Import,
        hint: bool = False,
        deep: bool = False,
        seen: frozenset[tuple[str, str]] = frozenset(),
    ) -> Meaning:
        """Tell what an import brings."""
        dotted = item.module
        if item.member is None and item.name == dotted.partition(".")[0]:
            dotted = item.name  # `import a.b` binds `a`
        stems = self.find(module.source.path, item.level, dotted)
        if not stems:
            outside = "." * item.level + dotted + (f".{item.member}" if item.member else "")
            kind = "missing" if item.level else "ext"
            return Meaning((Alternative((), (kind, outside)),))
        if item.member is None:
            return _either([Meaning((Alternative((), ("mod", stem)),)) for stem in stems])
        return _either([self._attribute(s, item.member, hint, deep, seen) for s in stems])

    def _attribute(
        self, stem: str, name: str, hint: bool, deep: bool, seen: frozenset[tuple[str, str]]
    ) -> Meaning:
        """Tell what an attribute of a module means."""
        inner = f"{stem}/{name}" if stem else name
        if not deep and stem in self.files and not self.is_changed(stem):
            if not (self.exists(inner) and not self._mentions(stem, name)):
                return Meaning((Alternative((), ("at", stem, name)),))
            return Meaning((Alternative((), ("mod", inner)),))
        module = self.module(stem)
        meaning = None
        if module is not None:
            meaning = self._lookup(module, name, hint, None, deep, seen)
            if meaning.alternatives[0].what[0] not in {"builtin", "free"}:
                return meaning
        if self.exists(inner):
            return Meaning((Alternative((), ("mod", inner)),))
        kind = "dynamic" if module is not None and "__getattr__" in module.names else "missing"
        outside = meaning.alternatives[0].what[2] if meaning is not None else ()
        return Meaning((Alternative((), (kind, stem, name, *outside)),))

    def _mentions(self, stem: str, name: str) -> bool:
        data = self._read(self.files[stem])
        return data is None or name.encode() in data or b"*" in data

    def resolve(
        self, module: Module, ref: Ref, *, limit: int | None = None, deep: bool = False
    ) -> Meaning:
        """Tell what a reference means, attributes of modules included."""
        hint = ref.when == HINT
        if ref.local is not None:
            found = [self.follow(module, item, hint, deep) for item in ref.local]
            root = _either(found)._replace(snapshot=any(i.member for i in ref.local))
        else:
            root = self.lookup(module, ref.name, hint=hint, limit=limit, deep=deep)
        alternatives: list[Alternative] = []
        snapshot = root.snapshot
        for alternative in root.alternatives:
            meaning = self._descend(alternative, ref.attrs, hint, deep)
            if alternative.what[0] == "mod" and ref.attrs:
                snapshot = meaning.snapshot
            alternatives.extend(meaning.alternatives)
        return Meaning(tuple(alternatives), snapshot, self._loaded(module, ref))

    def _descend(
        self, start: Alternative, attrs: tuple[str, ...], hint: bool, deep: bool
    ) -> Meaning:
        if start.what[0] != "mod" or not attrs:
            return Meaning((start._replace(rest=attrs),))
        found = self._attribute(start.what[1], attrs[0], hint, deep, frozenset())
        ends: list[Alternative] = []
        snapshot = found.snapshot
        for alternative in found.alternatives:
            guards = (*start.guards, *alternative.guards)
            end = self._descend(alternative._replace(guards=guards), attrs[1:], hint, deep)
            snapshot |= end.snapshot
            ends.extend(end.alternatives)
        return Meaning(tuple(ends), snapshot)

    def _loaded(self, module: Module, ref: Ref) -> object:
        """Tell the longest part of a dotted name that some `import a.b` loads."""
        if not ref.attrs:
            return None
        whole = ".".join((ref.name, *ref.attrs)) + "."
        items = ref.local or [s.imported for s in module.names.get(ref.name, ()) if s.imported]
        fitting = [
            item.module
            for item in items
            if item.member is None and whole.startswith(item.module + ".")
        ]
        return max(fitting, key=len, default=None)

    # --- statements and conditions ---

    def key(self, module: Module, unit: int) -> Key:
        """Name a statement alike in both trees."""
        path = module.source.path
        return self._key(path, unit) if module.changed else (path, unit)

    def guards(
        self, module: Module, unit: int, guards: tuple[Guard, ...], hint: bool
    ) -> tuple[Any, ...] | None:
        """Describe conditions alike in both trees; None for what is never run (unless `hint`)."""
        found: list[Any] = []
        owned = bool(guards) and not only_imports(module.source.units[unit].node)
        for guard in guards:
            holds = self.static(module, guard)
            if holds is False and not hint:
                return None
            if holds is None:
                tests = () if owned else tuple(self.test(module, t) for t in guard.tests)
                found.append((guard.branch, tests))
        if owned and found:
            found.insert(0, self.key(module, unit))
        return tuple(found)

    def static(self, module: Module, guard: Guard) -> bool | None:
        """Tell whether a branch surely runs (True), or only for a type checker (False)."""
        if guard.branch not in {"if", "else"} or not isinstance(guard.owner, ast.If):
            return None
        value = self._truth(module, guard.tests[0])
        return value if value is None or guard.branch == "if" else not value

    def _truth(self, module: Module, test: ast.expr) -> bool | None:
        if isinstance(test, ast.Constant) and isinstance(test.value, (bool, int)):
            return bool(test.value)
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            value = self._truth(module, test.operand)
            return None if value is None else not value
        if isinstance(test, ast.BoolOp):
            values = [self._truth(module, part) for part in test.values]
            decisive = isinstance(test.op, ast.Or)
            return decisive if decisive in values else None
        return False if self._type_checking(module, test) else None

    def _type_checking(self, module: Module, test: ast.expr) -> bool:
        dotted = None
        if isinstance(test, ast.Name):
            dotted = module.outside(test.id)
        elif isinstance(test, ast.Attribute) and isinstance(test.value, ast.Name):
            dotted = f"{module.outside(test.value.id)}.{test.attr}"
        typing = {"typing.TYPE_CHECKING", "typing_extensions.TYPE_CHECKING"}
        return dotted in typing and not self.find(module.source.path, 0, "typing")

    def test(self, module: Module, test: ast.expr) -> Any:
        """Describe a condition by its shape and what its names mean."""
        names = [n.id for n in ast.walk(test) if isinstance(n, ast.Name)]
        return (ast.dump(test), tuple(self.lookup(module, n).whats for n in names))


def describe(meaning: Meaning) -> str:
    """Name a meaning for a reader."""
    words = []
    for guards, what, rest in meaning.alternatives:
        name = ".".join([str(what[2] if what[0] in {"def", "later", "del"} else what[1]), *rest])
        if what[0] in {"def", "later", "del"}:
            name += f" of {what[1][0].removeprefix('+')}"
        elif what[0] in {"at", "missing", "dynamic"}:
            name = ".".join([*map(str, what[1:3]), *rest]) + (
                ", which is missing" if what[0] == "missing" else ""
            )
        elif what[0] == "free":
            name = "nothing"
        elif what[0] == "builtin":
            name += " of Python"
        words.append(name + (" on a condition" if guards else ""))
    return " or ".join(dict.fromkeys(words))


def listed(module: Module) -> frozenset[str] | None:
    """Give the names of a plain `__all__`; None if it is anything else."""
    found = module.names["__all__"]
    node = module.source.units[found[0].unit].node
    value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
    if len(found) != 1 or found[0].guards or not isinstance(value, (ast.List, ast.Tuple)):
        return None
    names = [e.value if isinstance(e, ast.Constant) else None for e in value.elts]
    return frozenset(map(str, names)) if all(isinstance(n, str) for n in names) else None


def _either(meanings: list[Meaning]) -> Meaning:
    if len(meanings) == 1:
        return meanings[0]
    return Meaning(
        tuple(a for meaning in meanings for a in meaning.alternatives),
        any(meaning.snapshot for meaning in meanings),
    )


def _distinct(found: list[Alternative]) -> tuple[Alternative, ...]:
    """Drop repeated imports of one thing, also those on a condition where one has none."""
    sure = {a.what for a in found if not a.guards and a.what[0] not in {"def", "later", "del"}}
    kept = (a for a in found if not (a.guards and a.what in sure))
    return tuple(dict.fromkeys(kept))
