"""What runs on import: statements with effects keep their order, no import comes too early."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from verify.certificate.conserve import Place
from verify.certificate.judge import Judge
from verify.certificate.names import HARMLESS, NOW, Ref, last_name
from verify.certificate.resolve import Module, Side
from verify.certificate.source import FUNCTIONS, IMPORTS, Unit, blocks, is_text, only_imports

# Libraries whose decorators wrap and register nothing.
_WRAPPERS = set(
    "abc attr attrs contextlib dataclasses enum functools jax numba torch triton typing "
    "typing_extensions unittest warnings".split()
)
# What makes a value and does nothing else; called by one of these names outside of the tree.
_MAKERS = set(
    "getLogger TypeVar ParamSpec TypeVarTuple NewType NamedTuple namedtuple TypedDict Enum IntEnum "
    "compile frozenset set dict list tuple bytes str int float bool object range len min max sum "
    "sorted zip enumerate defaultdict OrderedDict Counter deque Lock RLock Condition Event "
    "Semaphore ContextVar Path PurePath partial itemgetter attrgetter timedelta Decimal Fraction "
    "cast isinstance getattr join format split strip lower upper dedent local MappingProxyType "
    "WeakKeyDictionary WeakValueDictionary WeakSet SimpleNamespace field count Literal".split()
)


class Order:
    """Runs the top-level statements of the changed modules, as far as order goes."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.old = {module.stem: module for module in judge.old.values()}
        self.new = {module.stem: module for module in judge.new.values()}
        self._acts: dict[Place, bool] = {}

    def run(self) -> None:
        """Compare what loading each module of the base did, and does now."""
        faults = set()
        for stem in sorted(self.old):
            faults |= {fault[1:] for fault in self._run(self.judge.base, self.old, stem)[1]}
        for stem in sorted(self.new):
            for line, importer, stem_of_name, name in self._run(self.judge.target, self.new, stem)[
                1
            ]:
                if (importer, stem_of_name, name) not in faults:
                    why = f"{name} is not yet bound when this runs: the modules import each other"
                    self.judge.residual("target", self.new[importer].source, line, "cycle", why)
        for module in self.judge.old.values():
            self._effects(module)
        for path in sorted(self.judge.new):
            self._late(self.judge.new[path])

    # --- effects ---

    def _effects(self, old: Module) -> None:
        acting = {
            (old.source.path, unit.index)
            for unit in old.source.units
            if self.acts(self.judge.base, old, unit)
        }
        kept = {ours: theirs for theirs, ours in self.judge.pairing.pairs.items() if ours in acting}
        if not kept:
            return
        entries = [old.stem] if old.stem in self.new else self._importers(old.stem)
        for entry in entries:
            last = (old.source.path, -1)
            trace = [p for p in self._run(self.judge.target, self.new, entry)[0] if p in kept]
            for place in trace:
                if place < last:
                    self._note(kept[place], "order", "it ran after what now runs before it")
                last = max(last, place)
            for place in sorted(kept.keys() - set(trace)):
                why = f"{entry.replace('/', '.')} no longer runs this when it is imported"
                self._note(kept[place], "order", why)
        self._around(old, kept)

    def _importers(self, stem: str) -> list[str]:
        """List the changed modules that imported one that is gone."""
        found = []
        for other, module in self.old.items():
            if other in self.new and other != stem:
                for site in module.imports():
                    if stem in _reached(self.judge.base, module, site.imported):
                        found.append(other)
                        break
        return found

    def _around(self, old: Module, kept: dict[Place, Place]) -> None:
        """Check that imports stay on their side of a bare call, such as one that sets a path."""
        for ours, theirs in kept.items():
            new = self.judge.new[theirs[0]]
            if isinstance(old.source.units[ours[1]].node, (*FUNCTIONS, ast.ClassDef, ast.Assign)):
                continue
            before, after = _imported(old, ours[1]), _imported(new, theirs[1])
            names = before.keys() & after.keys()
            for name in sorted(n for n in names if before[n] != after[n]):
                self._note(theirs, "order", f"the import of {name} stood on the other side of this")

    def _note(self, place: Place, kind: str, why: str) -> None:
        source = self.judge.new[place[0]].source
        self.judge.residual("target", source, source.units[place[1]].first, kind, why)

    def acts(self, side: Side, module: Module, unit: Unit) -> bool:
        """Tell whether a top-level statement may do more than bind names."""
        place = (
            module.source.path if side is self.judge.base else f"+{module.source.path}",
            unit.index,
        )
        if place not in self._acts:
            self._acts[place] = self._does(side, module, unit.node, unit)
        return self._acts[place]

    def _does(self, side: Side, module: Module, node: ast.stmt, unit: Unit) -> bool:
        if only_imports(node) or is_text(node) or isinstance(node, (ast.Pass, *IMPORTS)):
            return False
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            if not all(self._wraps(side, module, d, unit) for d in node.decorator_list):
                return True
            if not isinstance(node, ast.ClassDef):
                return False
            inner = [n for n in node.body if not isinstance(n, (ast.Assign, ast.AnnAssign))]
            return self._registers(side, module, node, 0) or any(
                self._does(side, module, n, unit) for n in inner
            )
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            plain = all(isinstance(n, (ast.Name, ast.Tuple)) for n in targets)
            return not plain or (
                node.value is not None
                and self._calls(side, module, node.value, unit)
                and not self._flag(side, module, node)
            )
        if isinstance(node, (ast.If, ast.Try)):
            return any(
                self._calls(side, module, t, unit) for _, tests, _ in blocks(node) for t in tests
            ) or any(self._does(side, module, n, unit) for _, _, body in blocks(node) for n in body)
        return True

    def _flag(self, side: Side, module: Module, node: ast.Assign | ast.AnnAssign) -> bool:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if not isinstance(target, ast.Name) or not isinstance(node.value, ast.Call):
            return False
        uses = [ref for _, ref in self.judge.uses(module, target.id)]
        return not node.value.args and all(ref.condition and not ref.attrs for ref in uses)

    def _calls(self, side: Side, module: Module, node: ast.expr, unit: Unit) -> bool:
        """Tell whether an expression calls what may have an effect."""
        refs = {
            id(call): ref for ref, call, when in self.judge.facts(module, unit).calls if when == NOW
        }
        for part in ast.walk(node):
            if isinstance(part, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)):
                return True
            if isinstance(part, ast.Call) and id(part) in refs:
                ref = refs[id(part)]
                outside = ref is None or self._outside(side, module, ref)
                if not outside or last_name(part) not in _MAKERS:
                    return True
        return False

    @staticmethod
    def _outside(side: Side, module: Module, ref: Ref) -> bool:
        return all(what[0] in {"ext", "builtin"} for what, _ in side.resolve(module, ref).whats)

    def _wraps(self, side: Side, module: Module, node: ast.expr, unit: Unit) -> bool:
        """Tell whether a decorator does no more than wrap what it decorates."""
        if last_name(node) in HARMLESS:
            return True
        target = node.func if isinstance(node, ast.Call) else node
        for ref in self.judge.facts(module, unit, deep=False).refs:
            if ref.node is target:
                for what, rest in side.resolve(module, ref, deep=True).whats:
                    if what[0] == "ext" and str(what[1]).partition(".")[0] in _WRAPPERS:
                        continue
                    found = self._definition(side, what) if not rest else None
                    if not isinstance(found, FUNCTIONS) or not _plain(
                        found, isinstance(node, ast.Call)
                    ):
                        return False
                return True
        return False

    def _registers(self, side: Side, module: Module, node: ast.ClassDef, depth: int) -> bool:
        """Tell whether a base class takes note of its subclasses."""
        if any(last_name(k.value) not in {"ABCMeta", "EnumMeta"} for k in node.keywords):
            return True
        for base in node.bases:
            if isinstance(base, ast.Name) and depth < 9:
                for what, _ in side.lookup(module, base.id, deep=True).whats:
                    found = self._definition(side, what)
                    if isinstance(found, ast.ClassDef):
                        home = self._home(side, what)
                        if any(getattr(n, "name", "") == "__init_subclass__" for n in found.body):
                            return True
                        if home is not None and self._registers(side, home, found, depth + 1):
                            return True
        return False

    def _home(self, side: Side, what: tuple[object, ...]) -> Module | None:
        path = str(what[1][0]).removeprefix("+")  # type: ignore[index]
        return (
            self.judge.old.get(path)
            or self.judge.new.get(path)
            or side.module(path.removesuffix(".py").removesuffix("/__init__"))
        )

    def _definition(self, side: Side, what: tuple[object, ...]) -> ast.stmt | None:
        home = self._home(side, what) if what[0] == "def" else None
        return home.source.units[what[1][1]].node if home else None  # type: ignore[index]

    # --- loading ---

    def _run(
        self, side: Side, modules: dict[str, Module], entry: str
    ) -> tuple[list[Place], set[tuple[int, str, str, str]]]:
        """Import a module: give what acts, in order, and what is taken before it is bound."""
        trace: list[Place] = []
        faults: set[tuple[int, str, str, str]] = set()
        reached: dict[str, float] = {}

        def load(stem: str) -> None:
            parts = stem.split("/")
            for size in range(1, len(parts) + 1):
                part = "/".join(parts[:size])
                if part in modules and part not in reached:
                    execute(modules[part])

        def execute(module: Module) -> None:
            imports = defaultdict(list)
            for site in module.imports():
                if side.guards(module, site.unit, site.guards, hint=False) is not None:
                    imports[site.unit].append(site.imported)
            for unit in module.source.units:
                reached[module.stem] = unit.index
                for item in imports[unit.index]:
                    for stem in side.find(module.source.path, item.level, item.module):
                        load(stem)
                        found = modules[stem].names.get(item.member, ()) if stem in modules else ()
                        if found and all(s.unit >= reached[stem] for s in found):
                            faults.add((item.line, module.stem, stem, item.member))
                        elif item.member and not found:
                            load(f"{stem}/{item.member}")
                if self.acts(side, module, unit):
                    trace.append(side.key(module, unit.index))
            reached[module.stem] = float("inf")

        load(entry)
        return trace, faults

    def _late(self, new: Module) -> None:
        """Check that what a call on import reaches in its own module is bound by then."""
        pairs = self.judge.pairing.pairs
        if all(
            p[0] == new.source.path == o[0]
            for p, o in pairs.items()
            if new.source.path in {p[0], o[0]}
        ):
            return
        for unit in new.source.units:
            origin = pairs.get((new.source.path, unit.index))
            if origin is None:
                continue
            old = self.judge.old[origin[0]]
            late = self._unbound(old, old.source.units[origin[1]])
            for name in sorted(self._unbound(new, unit) - late):
                self._note(
                    (new.source.path, unit.index), "order", f"{name} is bound only below this"
                )

    def _unbound(self, module: Module, unit: Unit) -> set[str]:
        """List the names that running a statement may reach before the module binds them."""
        facts = self.judge.facts(module, unit, deep=False)
        todo = [r.name for r in facts.refs if r.when == NOW and not r.local] if facts.calls else []
        seen: set[str] = set()
        late = set()
        while todo:
            name = todo.pop()
            found = module.names.get(name, ())
            if name in seen or not found:
                continue
            seen.add(name)
            if all(site.unit > unit.index for site in found):
                late.add(name)
            for site in found:
                node = module.source.units[site.unit].node
                if site.unit < unit.index and isinstance(node, (*FUNCTIONS, ast.ClassDef)):
                    inner = self.judge.facts(module, module.source.units[site.unit])
                    todo.extend(r.name for r in inner.refs if not r.local and r.when != "hint")
        return late


def _reached(side: Side, module: Module, item: object) -> Iterator[str]:
    yield from side.find(module.source.path, item.level, item.module)  # type: ignore[attr-defined]


def _imported(module: Module, unit: int) -> dict[str, bool]:
    """Tell of each imported name whether it stands above a statement."""
    return {s.name: s.unit < unit for s in reversed(module.imports()) if s.imported}


def _plain(node: ast.FunctionDef | ast.AsyncFunctionDef, factory: bool) -> bool:
    """Tell whether a decorator's body only defines functions and returns one."""
    for part in node.body:
        if isinstance(part, FUNCTIONS):
            if factory and not _plain(part, False):
                return False
        elif not (is_text(part) or isinstance(part, (ast.Return, *IMPORTS))):
            return False
    return True
