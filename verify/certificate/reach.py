"""What the rest of the tree sees of a move: names it reads or patches, and dynamic code."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from verify.certificate.judge import Judge, words
from verify.certificate.names import NOW, Facts, Ref, last_name
from verify.certificate.resolve import Module, Side, listed
from verify.certificate.source import OpaqueError, Unit, imports_of, parse

Names = Mapping[str, set[str]]  # names by module
Read = Callable[[Iterable[str]], Mapping[str, bytes]]
Search = Callable[[re.Pattern[bytes], Iterable[str]], Iterable[str]]
_PATH = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*[.:][^\W\d]\w*(?:\.[^\W\d]\w*)*")
_PATCHES = {"setattr", "delattr", "object", "patch", "setitem"}
_LOADS = re.compile(
    r"builtins\.__import__|importlib\.(import_module|__import__)|pkgutil\.resolve_name"
)
_FROM = re.compile(r"\bfrom\s+([.\w\s]+?)(\s|(?<=\.))import\b\s*(?:([^\n;(]+)|\(([^)]*)\))")
_SUSPECT = frozenset(
    "exec eval __import__ import_module resolve_name globals vars getattr setattr delattr modules".split()
)
_CONFIGURATION = (".toml", ".cfg", ".ini")  # entry points live there
_PROSE = (".md", ".rst", ".txt", ".yaml", ".yml", ".json", ".sh")


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
        self.lost = self._lost()
        self.watched = self._watched()
        stirred = {p[0] for t, o in judge.pairing.pairs.items() if t[0] != o[0] for p in (t, o)}
        self.calm = {
            path
            for path in judge.old.keys() & judge.new.keys() - stirred
            if not judge.differing(judge.old[path], judge.new[path])
        }

    def run(self) -> None:
        """Check every file that may reach a name that a changed module lost."""
        for module in self.judge.new.values():
            self._report(module)
            self._all(module)
        for module in (*self.judge.old.values(), *self.judge.new.values()):
            self._dynamic(module)
        self._unchanged()
        self._others()

    def _lost(self) -> dict[str, set[str]]:
        """List, by module, the names that are gone or mean something else at run time."""
        found: dict[str, set[str]] = {}
        fresh = {module.stem: module for module in self.judge.new.values()}
        for old in self.judge.old.values():
            new = fresh.get(old.stem)
            names = old.names if new is None else old.names.keys() & self.judge.differing(old, new)
            for name in names:
                if self.base.lookup(old, name).sure:
                    if new is None or not self.judge.same(old, new, name, hint=False):
                        found.setdefault(old.stem, set()).add(name)
        return found

    def _watched(self) -> dict[str, set[str]]:
        """List, by module, the globals that moved code reads or is: a patch may miss it now."""
        found: dict[str, set[str]] = defaultdict(set)
        for theirs, ours in self.judge.pairing.pairs.items():
            if theirs[0] != ours[0]:
                old = self.judge.old[ours[0]]
                refs = self.judge.facts(old, old.source.units[ours[1]]).refs
                found[old.stem] |= {r.name for r in refs if not r.local and r.name in old.names}
                found[old.stem] |= {s.name for s in old.in_unit(ours[1])}
        return found

    def _gone(self, stem: str, name: str) -> bool:
        module = self.target.module(stem)
        if self.target.exists(f"{stem}/{name}"):
            return False
        return module is None or not self.target.lookup(module, name).sure

    def _all(self, module: Module) -> None:
        for name in sorted(listed(module) or ()) if "__all__" in module.names else ():
            if name in self.lost.get(module.stem, ()) and self._gone(module.stem, name):
                line = module.names["__all__"][0].line
                why = f"__all__ lists {name}, which is no longer here"
                self.judge.residual("target", module.source, line, "reach", why)

    # --- Python files ---

    def _unchanged(self) -> None:
        """Look at the files that are the same in both trees; star imports hand losses on."""
        looked: set[str] = set()
        seen: set[str] = set()
        while True:
            tails = {s.rpartition("/")[2] for s in (*self.lost, *self.watched)} - looked
            if not tails:
                return
            looked |= tails
            pattern = re.compile("|".join(sorted(map(re.escape, tails))).encode())
            python = [p for p in self.paths if p.endswith(".py")]
            contents = self.read(self.search(pattern, python))
            for path in sorted(contents):
                if path in seen or not self._concerned(contents[path]):
                    continue
                seen.add(path)
                try:
                    module = Module(parse(path, contents[path]), changed=False)
                except OpaqueError as error:
                    why = f"it names a changed module, but {error.why}"
                    self.found.unknown(path, error.line, why, error.needs)
                    continue
                self._report(module)
                self._naming(module)

    def _concerned(self, data: bytes) -> bool:
        """Tell whether a file may reach what changed, by its imports and dotted paths alone."""
        text = re.sub(r"#[^\n]*", "", data.decode("utf-8", "replace")).replace("\\\n", " ")
        for stem in {*self.lost, *self.watched}:
            parent, _, tail = stem.replace("/", ".").rpartition(".")
            if tail not in text:
                continue
            lost = self.lost.get(stem, set())
            for module, _, plain, listed_names in _FROM.findall(text):
                names = set(re.findall(r"\w+|\*", plain or listed_names))
                if tail in names or (
                    module.rpartition(".")[2] == tail and (names & lost or "*" in names)
                ):
                    return True
            near = rf"\b{parent.rpartition('.')[2]}\.{tail}\b" if parent else rf"[\"']{tail}\b"
            if re.search(rf"^\s*import\b[^\n]*\b{tail}\b|[\"']\.*{tail}\b", text, re.MULTILINE):
                return True
            for match in re.finditer(rf"{near}(?:[.:](\w+))?(?!\s+import\b)", text):
                if match[1] is None or match[1] in lost or match[1] in self.watched.get(stem, ()):
                    return True
        return False

    def _report(self, module: Module) -> None:
        """Report what one file reaches that is gone or that a patch no longer hits."""
        names = {
            s: self.lost.get(s, set()) | self.watched.get(s, set())
            for s in (*self.lost, *self.watched)
        }
        for use in uses(self.target, module, self.judge, names):
            lost = self.lost.get(use.stem, set())
            if use.how == "star":
                exported = self.base.exported(use.stem) or lost
                names = {n for n in lost & exported if n not in module.names}
                if names and not module.changed and self.lost.get(module.stem) != names:
                    self.lost.setdefault(module.stem, set()).update(names)
            elif use.name in lost:
                self._reached(module, use)
            elif use.name in self.watched.get(use.stem, ()):
                dotted = f"{use.stem.replace('/', '.')}.{use.name}"
                if use.how in {"patch", "string"}:
                    what = f"{dotted} is patched here, where code that moved no longer reads it"
                    self.found.observe(module.source.path, use.line, "patch", what)
                elif use.how == "write":
                    why = f"code that moved no longer sees what is written to {dotted}"
                    self.judge.residual("target", module.source, use.line, "reach", why)

    def _reached(self, module: Module, use: Use) -> None:
        dotted = use.stem.replace("/", ".")
        why = f"{use.name} of {dotted} is something else now"
        if self._gone(use.stem, use.name):
            why = f"{use.name} is no longer in {dotted}"
        elif module.changed and use.how in {"import", "read"}:
            return  # judged where the name is used
        self.judge.residual("target", module.source, use.line, "reach", why)

    def _others(self) -> None:
        """Look for the paths of lost names in files that are not Python."""
        dotted = {stem.replace("/", "."): names for stem, names in self.lost.items()}
        short = {name[i:] for name in dotted for i in range(len(name)) if name[i - 1 : i] == "."}
        tails = {name for name in (*dotted, *short) if "." in name}
        paths = [p for p in self.paths if p.endswith((*_CONFIGURATION, *_PROSE))]
        if not tails or not paths:
            return
        pattern = re.compile("|".join(sorted(map(re.escape, tails))).encode())
        for path, data in sorted(self.read(self.search(pattern, paths)).items()):
            for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
                for name in _PATH.findall(line):
                    self._mentioned(path, number, line, re.split("[.:]", name))

    def _mentioned(self, path: str, number: int, line: str, parts: list[str]) -> None:
        for size in range(1, len(parts)):
            for stem in self.base.find("", 0, ".".join(parts[:size])):
                if parts[size] in self.lost.get(stem, ()) and self._gone(stem, parts[size]):
                    what = f"{parts[size]} is no longer in {'.'.join(parts[:size])}"
                    if path.endswith(_CONFIGURATION):
                        self.found.residual("target", path, number, "reach", what, line)
                    else:
                        self.found.observe(path, number, "mention", what)

    # --- dynamic code ---

    def _dynamic(self, module: Module) -> None:
        """Refuse to judge a changed module that reaches names no one can list.

        Where every name means what it meant and nothing moved, such code finds what it found.
        """
        path = module.source.path
        if path in self.calm:
            self._naming(module)
            return
        if "__getattr__" in module.names:
            line = module.names["__getattr__"][0].line
            self.found.unknown(path, line, "a module's `__getattr__` answers for any name")
        for unit in module.source.units:
            for line, why in self._obscure(module, unit, None):
                self.found.unknown(path, line, why)

    def _naming(self, module: Module) -> None:
        """Refuse to judge where dynamic code of an unchanged file names a changed module."""
        stems = {stem for stem in (*self.lost, *self.watched)}
        for unit in module.source.units:
            for line, why in self._obscure(module, unit, stems):
                self.found.unknown(module.source.path, line, why)

    def _obscure(
        self, module: Module, unit: Unit, named: set[str] | None
    ) -> Iterator[tuple[int, str]]:
        """List the dynamic code of a statement: all, or what has to do with the modules `named`."""
        if not words(unit.text) & _SUSPECT:
            return
        side = (
            self.target if self.judge.new.get(module.source.path, module) is module else self.base
        )
        found = self.judge.facts(module, unit)
        tails = named and {stem.rpartition("/")[2] for stem in named}
        for ref, call, when in found.calls:
            last = last_name(call)
            if last not in _SUSPECT:
                continue
            texts = [n.value for n in ast.walk(call) if isinstance(n, ast.Constant)]
            about = tails is None or any(isinstance(t, str) and words(t) & tails for t in texts)
            dotted = self._dotted(side, module, ref)
            literal = bool(call.args) and isinstance(call.args[0], ast.Constant)
            if dotted in {"builtins.exec", "builtins.eval"} and about:
                yield call.lineno, f"`{last}` runs code that no one can see"
            elif _LOADS.fullmatch(dotted) and not literal and about:
                yield call.lineno, f"`{last}` loads a module that no one can name"
            elif dotted == "builtins.globals" or (dotted == "builtins.vars" and not call.args):
                if named is None and (when == NOW or last == "globals"):
                    yield call.lineno, f"`{last}()` reaches any name of the module"
            elif last in {"getattr", "setattr", "delattr", "vars"} and call.args:
                computed = last == "vars" or not isinstance(
                    (call.args[1:2] or [None])[0], ast.Constant
                )
                for stem in _modules(side, module, found, call.args[0]) if computed else ():
                    if named is None or stem in named:
                        yield call.lineno, f"`{last}` reaches any name of a module"
        for node in ast.walk(unit.node) if "modules" in words(unit.text) else ():
            if (
                named is None
                and isinstance(node, ast.Subscript)
                and last_name(node.value) == "modules"
            ):
                if not isinstance(node.ctx, ast.Load):
                    yield node.lineno, "`sys.modules` is written to"

    def _dotted(self, side: Side, module: Module, ref: Ref | None) -> str:
        for what, rest in side.resolve(module, ref).whats if ref else ():
            if what[0] in {"builtin", "ext"}:
                return ".".join(
                    ["builtins" if what[0] == "builtin" else "", what[1], *rest]
                ).lstrip(".")
        return ""


def uses(side: Side, module: Module, judge: Judge, names: Names) -> Iterator[Use]:
    """List what a file reaches of these names, by module."""
    tails = {stem.rpartition("/")[2] for stem in names}
    wanted = {name for found in names.values() for name in found} | tails
    for unit in module.source.units:
        if not words(unit.text) & wanted and "*" not in unit.text:
            continue
        found = judge.facts(module, unit)
        for item in dict.fromkeys([*found.imports, *imports_of(unit.node)]):
            for stem in side.find(module.source.path, item.level, item.module):
                if item.member is not None:
                    how = "star" if item.member == "*" else "import"
                    yield Use(item.line, how, stem, item.member)
        for ref in (*found.refs, *found.guards):
            for size, attr in enumerate(ref.attrs):
                for what, rest in side.resolve(module, ref._replace(attrs=ref.attrs[:size])).whats:
                    if what[0] == "mod" and not rest:
                        stored = ref.action != "load" and size == len(ref.attrs) - 1
                        yield Use(ref.line, "write" if stored else "read", what[1], attr)
        for _, call, _ in found.calls:
            yield from _patched(side, module, call, found)
        if tails & words(unit.text) or re.search(r"\b[fF][\"']", unit.text):
            yield from _strings(side, module, unit)


def _patched(side: Side, module: Module, call: ast.Call, found: Facts) -> Iterator[Use]:
    """List `setattr(module, "name")` and its like, as mocks and tests spell it."""
    name = call.args[1] if len(call.args) > 1 else None
    if isinstance(name, ast.Constant) and isinstance(name.value, str):
        how = "patch" if last_name(call) in _PATCHES else "read"
        for stem in _modules(side, module, found, call.args[0]):
            yield Use(call.lineno, how, stem, name.value)


def _modules(side: Side, module: Module, found: Facts, node: ast.expr) -> Iterator[str]:
    """Give the modules that an expression names."""
    for ref in found.refs:
        if ref.node is node:
            for what, rest in side.resolve(module, ref).whats:
                if what[0] == "mod" and not rest:
                    yield what[1]


def _strings(side: Side, module: Module, unit: Unit) -> Iterator[Use]:
    """List strings that spell the path of a name in a module."""
    for node in ast.walk(unit.node):
        if not isinstance(node, (ast.Constant, ast.JoinedStr)):
            continue
        text = _constant(module, node)
        if text is not None and _PATH.fullmatch(text):
            parts = re.split("[.:]", text)
            for size in range(1, len(parts)):
                for stem in side.find(module.source.path, 0, ".".join(parts[:size])):
                    yield Use(node.lineno, "string", stem, parts[size])  # type: ignore[attr-defined]


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
