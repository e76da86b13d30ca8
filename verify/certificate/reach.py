"""What the rest of the tree sees of a move: what runs on import, what is read and patched."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from verify.certificate.conserve import Place
from verify.certificate.judge import Judge
from verify.certificate.names import (
    HARMLESS,
    HINT,
    NOW,
    PATH,
    constant,
    last_name,
    named,
    obscure,
    suspect,
    words,
)
from verify.certificate.resolve import Side
from verify.certificate.source import (
    FUNCTIONS,
    IMPORTS,
    TRY,
    Import,
    Module,
    OpaqueError,
    Unit,
    blocks,
    imports_of,
    is_python,
    is_text,
    only_imports,
    parse,
    stem_of,
)

Read = Callable[[Iterable[str]], Mapping[str, bytes]]
# A line that reaches into a module: by `import`, `star`, `read`, `write`, `patch` or `string`;
# the module's stem, and the name there.
Use = tuple[int, str, str, str]
Search = Callable[[re.Pattern[bytes], Iterable[str]], Iterable[str]]
_FROM = re.compile(r"\bfrom\s+([.\w]+)\s*\bimport\b\s*(?:([^\n;(]+)|\(([^)]*)\))")
_RUNS = re.compile(r"\b(?:exec|eval|__import__|import_module)\s*\(")
_PATCHES = {"setattr", "delattr", "object", "patch", "setitem"}
# Libraries whose decorators wrap and register nothing.
_WRAPPERS = re.compile(
    "(abc|attrs?|contextlib|dataclasses|enum|functools|jax|numba|torch|triton|typing|"
    "typing_extensions|unittest|warnings)\\b"
)
# What makes a value and does nothing else, where it comes from outside of the tree.
_MAKERS = re.compile(
    "getLogger|TypeVar|ParamSpec|TypeVarTuple|NewType|NamedTuple|namedtuple|TypedDict|Enum|IntEnum|"
    "compile|frozenset|set|dict|list|tuple|bytes|str|int|float|bool|object|range|len|min|max|sum|"
    "sorted|zip|enumerate|defaultdict|OrderedDict|Counter|deque|Lock|RLock|Condition|Event|local|"
    "Semaphore|ContextVar|Path|PurePath|partial|itemgetter|attrgetter|timedelta|Decimal|Fraction|"
    "cast|isinstance|getattr|join|format|split|strip|lower|upper|dedent|MappingProxyType|field|"
    "WeakKeyDictionary|WeakValueDictionary|WeakSet|SimpleNamespace|count|Literal"
)
_ACTIVE = (ast.Expr, ast.If, ast.For, ast.While, ast.With, ast.Delete, *TRY)


class Order:
    """Runs the changed modules of both trees, as far as the order of things goes."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.old = judge.stems
        self.new = {module.stem: module for module in judge.new.values()}
        self._active: dict[tuple[Side, str, int], bool] = {}

    def run(self) -> None:
        """Compare what loading the changed modules did, and does now."""
        faults = set()
        for stem in self.old:
            faults |= {fault[2:] for fault in _Run(self, self.judge.base, self.old, stem).faults}
        for stem in self.new:
            for module, line, *what in _Run(self, self.judge.target, self.new, stem).faults:
                if tuple(what) not in faults:
                    why = f"{what[1]} is not bound yet: {what[0].replace('/', '.')} is being loaded"
                    self.judge.residual("target", self.new[module].source, line, "cycle", why)
        for old in self.judge.old.values():
            self._effects(old)
        for old, before, new, after in self.judge.pairs:
            late = self._late(new, new.source.units[after])
            if late:
                for name in sorted(late - self._late(old, old.source.units[before])):
                    self._note(new, after, f"{name} is bound only below this")

    def _note(self, new: Module, index: int, why: str) -> None:
        line = new.source.units[index].first
        self.judge.residual("target", new.source, line, "order", why)

    # --- effects ---

    def _effects(self, old: Module) -> None:
        """Check that a module's effects still come with it, and in their order."""
        kept = {
            (old.path, before): (new, after)
            for module, before, new, after in self.judge.pairs
            if module is old and self.acts(self.judge.base, old, old.source.units[before])
        }
        entries = [old.stem] if old.stem in self.new else self._importers(old.stem)
        for entry in entries if kept else ():
            last = (old.path, -1)
            trace = [p for p in _Run(self, self.judge.target, self.new, entry).trace if p in kept]
            for place in trace:
                if place < last:
                    self._note(*kept[place], "this ran before what now runs first")
                last = max(last, place)
            for place in sorted(kept.keys() - set(trace)):
                why = f"importing {entry.replace('/', '.')} no longer runs this"
                self._note(*kept[place], why)
        for (_, before), (new, after) in kept.items():
            node = old.source.units[before].node
            if not isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Assign)):
                ours = {i.name: s.unit < before for s, i in reversed(old.imports())}
                theirs = {i.name: s.unit < after for s, i in reversed(new.imports())}
                for name in sorted(n for n in ours.keys() & theirs if ours[n] != theirs[n]):
                    self._note(new, after, f"the import of {name} stood on the other side of this")

    def _importers(self, stem: str) -> list[str]:
        """List the changed modules that imported one that is gone."""
        base = self.judge.base
        return [
            other
            for other, module in self.old.items()
            if other in self.new
            and any(stem in base.find(module.path, i.level, i.module) for _, i in module.imports())
        ]

    def acts(self, side: Side, module: Module, unit: Unit) -> bool:
        """Tell whether a top-level statement may do more than bind names."""
        place = (side, module.path, unit.index)
        if place not in self._active:
            self._active[place] = self._does(side, module, unit, unit.node)
        return self._active[place]

    def _does(self, side: Side, module: Module, unit: Unit, node: ast.stmt) -> bool:
        if only_imports(node) or is_text(node) or isinstance(node, (ast.Pass, *IMPORTS)):
            return False
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            if not all(self._wraps(side, module, unit, d) for d in node.decorator_list):
                return True
            if not isinstance(node, ast.ClassDef):
                return False
            meta = {last_name(keyword.value) for keyword in node.keywords}
            inner = (n for n in node.body if isinstance(n, _ACTIVE))
            return not meta <= {"ABCMeta", "EnumMeta"} or any(
                self._does(side, module, unit, n) for n in inner
            )
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            values = (
                [node.value]
                if node.value and not self._flag(module, node.value, targets[0])
                else []
            )
            plain = all(isinstance(n, (ast.Name, ast.Tuple)) for n in targets)
            return not plain or self._calls(side, module, unit, values)
        inside = list(blocks(node)) if isinstance(node, (ast.If, *TRY)) else []
        tests = [test for _, found, _ in inside for test in found]
        return (
            not inside
            or self._calls(side, module, unit, tests)
            or any(self._does(side, module, unit, inner) for _, _, body in inside for inner in body)
        )

    def _calls(self, side: Side, module: Module, unit: Unit, nodes: Iterable[ast.expr]) -> bool:
        """Tell whether expressions call what may have an effect."""
        found = self.judge.facts(module, unit).calls
        run = {id(call): ref for ref, call, when in found if when == NOW}
        for part in (part for node in nodes for part in ast.walk(node)):
            if isinstance(part, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)):
                return True
            ref = run.get(id(part))
            whats = side.resolve(module, ref).whats if ref else ()
            outside = all(what[0] in {"ext", "builtin"} for what, _ in whats)
            if id(part) in run and not (outside and _MAKERS.fullmatch(last_name(part))):
                return True
        return False

    def _flag(self, module: Module, node: ast.expr | None, target: ast.expr) -> bool:
        """Tell whether a call without arguments makes nothing but a condition."""
        if not isinstance(target, ast.Name) or not isinstance(node, ast.Call) or node.args:
            return False
        return all(r.condition and not r.attrs for _, r in self.judge.uses(module, target.id))

    def _wraps(self, side: Side, module: Module, unit: Unit, node: ast.expr) -> bool:
        """Tell whether a decorator does no more than wrap what it decorates."""
        if HARMLESS.fullmatch(last_name(node)):
            return True
        target = node.func if isinstance(node, ast.Call) else node
        for ref in self.judge.facts(module, unit, deep=False).refs:
            if ref.node is target:
                whats = [what for what, _ in side.resolve(module, ref).whats]
                outside = all(what[0] == "ext" for what in whats)
                return outside and all(_WRAPPERS.match(what[1]) for what in whats)
        return False

    # --- loading ---

    def _late(self, module: Module, unit: Unit) -> set[str]:
        """List the names that running a statement may reach before its module binds them."""
        shallow = self.judge.facts(module, unit, deep=False)
        now = [r.name for r in shallow.refs if r.when == NOW and not r.local]
        todo = now if shallow.calls else []
        seen, late = set[str](), set[str]()
        while todo:
            name = todo.pop()
            made = module.names.get(name, ()) if name not in seen else ()
            seen.add(name)
            if made and all(site.unit > unit.index for site in made):
                late.add(name)
            for site in made:
                inner = module.source.units[site.unit]
                if site.unit < unit.index and isinstance(inner.node, (*FUNCTIONS, ast.ClassDef)):
                    refs = self.judge.facts(module, inner).refs
                    todo.extend(r.name for r in refs if not r.local and r.when != HINT)
        return late


class _Run:
    """An import of a module: `trace` is what acts, `faults` what is taken before it is bound."""

    def __init__(self, order: Order, side: Side, modules: dict[str, Module], entry: str) -> None:
        self.order, self.side, self.modules = order, side, modules
        self.trace: list[Place] = []
        self.faults: set[tuple[str, int, str, str]] = set()
        self._reached: dict[str, float] = {}
        self._load(entry)

    def _load(self, stem: str) -> None:
        parts = stem.split("/")
        for size in range(1, len(parts) + 1):
            part = "/".join(parts[:size])
            if part in self.modules and part not in self._reached:
                self._execute(self.modules[part])

    def _execute(self, module: Module) -> None:
        items: dict[int, list[Import]] = defaultdict(list)
        for site, item in module.imports():
            if self.side.guards(module, site.unit, site.guards, hint=False) is not None:
                items[site.unit].append(item)
        for unit in module.source.units:
            self._reached[module.stem] = unit.index
            for item in items[unit.index]:
                self._take(module, item)
            if self.order.acts(self.side, module, unit):
                self.trace.append(self.side.key(module, unit.index))
        self._reached[module.stem] = float("inf")

    def _take(self, module: Module, item: Import) -> None:
        for stem in self.side.find(module.path, item.level, item.module):
            self._load(stem)
            found = self.modules.get(stem)
            made = found.names.get(item.member or "", ()) if found else ()
            if made and all(site.unit >= self._reached[stem] for site in made):
                self.faults.add((module.stem, item.line, stem, str(item.member)))
            elif item.member and not made:
                self._load(f"{stem}/{item.member}")


class Reach:
    """Looks from every file of the tree at the changed modules."""

    def __init__(self, judge: Judge, paths: Iterable[str], read: Read, search: Search) -> None:
        self.judge, self.found = judge, judge.found
        self.base, self.target = judge.base, judge.target
        self.paths, self.read, self.search = list(paths), read, search
        self.fresh = {module.stem: module for module in judge.new.values()}
        self.lost: dict[str, set[str]] = defaultdict(set)  # by module: gone or something else now
        self.gained: dict[str, set[str]] = defaultdict(set)  # what a star import brings as well now
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
        self.stirred = moved | (self.judge.old.keys() ^ self.judge.new.keys())
        for old in self.judge.old.values():
            twin = self.fresh.get(old.stem)
            differing = frozenset(old.names) if twin is None else self.judge.differing(old, twin)
            for name in differing:
                if self.base.lookup(old, name).sure or self.base.exists(f"{old.stem}/{name}"):
                    if twin is None or not self.judge.same(old, twin, name, hint=False):
                        self.lost[old.stem].add(name)
                elif twin is not None and name in (self.target.exported(old.stem) or {name}):
                    self.gained[old.stem].add(name)
            if differing:
                self.stirred.add(old.path)
            if not self.target.exists(old.stem):
                parent, _, tail = old.stem.rpartition("/")
                self.lost[parent].add(tail)

    def gone(self, stem: str, name: str) -> bool:
        """Tell whether a module of the target has lost a name."""
        module = self.target.module(stem)
        if self.target.exists(f"{stem}/{name}".lstrip("/")):
            return False
        return module is None or not self.target.lookup(module, name).sure

    # --- files ---

    def _unchanged(self) -> None:
        """Look at the files that are the same in both trees; star imports hand losses on."""
        python = [p for p in self.paths if p.endswith(".py") or "." not in p.rpartition("/")[2]]
        looked: dict[str, int] = {}
        while True:
            stems = {*self.lost, *self.watched, *self.gained}
            sizes = {stem: len(self.lost.get(stem, ())) for stem in stems}
            tails = {s.rpartition("/")[2] for s, size in sizes.items() if looked.get(s) != size}
            if not tails:
                return
            looked = sizes
            pattern = re.compile("|".join(sorted(map(re.escape, tails))).encode())
            for path, data in sorted(self.read(self.search(pattern, python)).items()):
                if not is_python(path, data) or not self._concerned(data):
                    continue
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
        for stem in {*self.lost, *self.watched, *self.gained}:
            parent, _, tail = (re.escape(part) for part in stem.rpartition("/"))
            lost, watched = self.lost.get(stem, set()), self.watched.get(stem, set())
            if stem.rpartition("/")[2] not in text:
                continue
            if _RUNS.search(text) and re.search(rf"\b{tail}\b", text):
                return True
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
        stems = {*self.lost, *self.watched, *self.gained}
        names = {s: self.lost.get(s, set()) | self.watched.get(s, set()) for s in stems}
        side = self.target if module.changed else self.base  # what is meant, not what is found
        for line, how, stem, name in self._uses(side, module, names) if names else ():
            lost, dotted, why = self.lost.get(stem, set()), f"{stem.replace('/', '.')}.{name}", ""
            if how == "star":
                self._hand_on(module, lost & (self.base.exported(stem) or lost))
                more = self.gained.get(stem, set()) & words(module.source.text)
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
        for name in sorted(lost):
            for _, ref in self.judge.uses(module, name):
                why = f"a star import no longer brings {name}"
                self.judge.residual("target", module.source, ref.line, "reach", why)

    def _uses(self, side: Side, module: Module, names: Mapping[str, set[str]]) -> Iterator[Use]:
        """List what a file reaches of these names, by module."""
        tails = {stem.rpartition("/")[2] for stem in names}
        wanted = {name for found in names.values() for name in found} | tails
        for unit in module.source.units:
            if not words(unit.text) & wanted and "*" not in unit.text:
                continue
            found = self.judge.facts(module, unit)
            for item in dict.fromkeys([*found.imports, *imports_of(unit.node)]):
                for stem in side.find(module.path, item.level, item.module):
                    if item.member:
                        yield (
                            item.line,
                            "star" if item.member == "*" else "import",
                            stem,
                            item.member,
                        )
                    for size in range(stem.count("/") + 1):  # `import a.b` takes `b` from `a`
                        parent, _, name = stem.rsplit("/", size)[0].rpartition("/")
                        yield item.line, "import", parent, name
            for ref in (*found.refs, *found.guards):
                for size, attr in enumerate(ref.attrs):
                    stored = ref.action != "load" and size == len(ref.attrs) - 1
                    for stem in side.modules(module, ref._replace(attrs=ref.attrs[:size])):
                        yield ref.line, "write" if stored else "read", stem, attr
            yield from self._spelled(side, module, unit, tails)

    def _spelled(self, side: Side, module: Module, unit: Unit, tails: set[str]) -> Iterator[Use]:
        """List the names of modules that a statement spells as strings."""
        found = self.judge.facts(module, unit)
        for _, call, _ in found.calls:
            path = constant(module, call.args[0]) if call.args else None
            loads = last_name(call) in {"import_module", "__import__"}
            dotted = (path or "").lstrip(".") if loads else ""
            for stem in (
                side.find(module.path, len(path or "") - len(dotted), dotted) if dotted else ()
            ):
                for name in sorted(self.lost.get(stem, set()) & words(module.source.text)):
                    yield call.lineno, "read", stem, name
            text = constant(module, call.args[1]) if len(call.args) > 1 else None
            how = "patch" if last_name(call) in _PATCHES else "read"
            for ref in found.refs if text else ():
                for stem in side.modules(module, ref) if ref.node is call.args[0] else ():
                    yield call.lineno, how, stem, str(text)
        if tails & words(unit.text) or re.search(r"\b[fF][\"']", unit.text):
            for node in ast.walk(unit.node):
                text = constant(module, node) if hasattr(node, "lineno") else None
                for stem, attr in named(side, text) if text and PATH.fullmatch(text) else ():
                    yield node.lineno, "string", stem, attr  # type: ignore[attr-defined]

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
