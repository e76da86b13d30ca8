"""What happens on import: effects keep their order, nothing is taken too early, no new cycle."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable

from verify.certificate.conserve import Place
from verify.certificate.judge import Judge
from verify.certificate.names import HARMLESS, HINT, NOW, last_name
from verify.certificate.resolve import Look, Side, What
from verify.certificate.source import (
    FUNCTIONS,
    IMPORTS,
    TRY,
    Import,
    Module,
    Unit,
    blocks,
    is_text,
    only_imports,
    stem_of,
)

# Libraries whose decorators wrap and register nothing.
_WRAPPERS = set(
    "abc attr attrs contextlib dataclasses enum functools jax numba torch triton typing "
    "typing_extensions unittest warnings".split()
)
# What makes a value and does nothing else, where it comes from outside of the tree.
_MAKERS = set(
    "getLogger TypeVar ParamSpec TypeVarTuple NewType NamedTuple namedtuple TypedDict Enum IntEnum "
    "compile frozenset set dict list tuple bytes str int float bool object range len min max sum "
    "sorted zip enumerate defaultdict OrderedDict Counter deque Lock RLock Condition Event "
    "Semaphore ContextVar Path PurePath partial itemgetter attrgetter timedelta Decimal Fraction "
    "cast isinstance getattr join format split strip lower upper dedent local MappingProxyType "
    "WeakKeyDictionary WeakValueDictionary WeakSet SimpleNamespace field count Literal".split()
)
_ACTIVE = (ast.Expr, ast.If, ast.For, ast.While, ast.With, ast.Delete, *TRY)


class Order:
    """Runs the changed modules of both trees, as far as the order of things goes."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.old = judge.stems
        self.new = {module.stem: module for module in judge.new.values()}
        self._active: dict[tuple[Side, str, int], bool] = {}
        self.home = self._homes()

    def run(self) -> None:
        """Compare what loading the changed modules did, and does now."""
        faults = set()
        for stem in self.old:
            faults |= {fault[2:] for fault in self._load(self.judge.base, self.old, stem)[1]}
        for stem in self.new:
            for module, line, *what in self._load(self.judge.target, self.new, stem)[1]:
                if tuple(what) not in faults:
                    why = f"{what[1]} is not bound yet: {what[0].replace('/', '.')} is being loaded"
                    self.judge.residual("target", self.new[module].source, line, "cycle", why)
        for old in self.judge.old.values():
            self._effects(old)
        for old, before, new, after in self.judge.pairs:
            late = self._late(new, new.source.units[after])
            if late:
                for name in sorted(late - self._late(old, old.source.units[before])):
                    self._note((new.path, after), f"{name} is bound only below this")
        self._cycles()

    def _note(self, place: Place, why: str) -> None:
        source = self.judge.new[place[0]].source
        self.judge.residual("target", source, source.units[place[1]].first, "order", why)

    # --- effects ---

    def _effects(self, old: Module) -> None:
        """Check that a module's effects still come with it, and in their order."""
        kept = {
            (old.path, before): (new, after)
            for module, before, new, after in self.judge.pairs
            if module is old and self._acts(self.judge.base, old, old.source.units[before])
        }
        gone = old.stem not in self.new
        entries = [
            other
            for other, module in self.old.items()
            if other in self.new
            and (other == old.stem or (gone and self._imports(module, old.stem)))
        ]
        for entry in entries if kept else ():
            last = (old.path, -1)
            trace = [p for p in self._load(self.judge.target, self.new, entry)[0] if p in kept]
            for place in trace:
                if place < last:
                    self._note(
                        (kept[place][0].path, kept[place][1]), "this ran before what now runs first"
                    )
                last = max(last, place)
            for place in sorted(kept.keys() - set(trace)):
                why = f"importing {entry.replace('/', '.')} no longer runs this"
                self._note((kept[place][0].path, kept[place][1]), why)
        for (_, before), (new, after) in kept.items():
            if not isinstance(
                old.source.units[before].node, (*FUNCTIONS, ast.ClassDef, ast.Assign)
            ):
                ours, theirs = _above(old, before), _above(new, after)
                for name in sorted(n for n in ours.keys() & theirs if ours[n] != theirs[n]):
                    why = f"the import of {name} stood on the other side of this"
                    self._note((new.path, after), why)

    def _imports(self, module: Module, stem: str) -> bool:
        finds = (self.judge.base.find(module.path, i.level, i.module) for _, i in module.imports())
        return any(stem in found for found in finds)

    def _acts(self, side: Side, module: Module, unit: Unit) -> bool:
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
            if isinstance(node, ast.ClassDef):
                inner = (n for n in node.body if isinstance(n, _ACTIVE))
                return self._registers(side, module, node, 0) or any(
                    self._does(side, module, unit, n) for n in inner
                )
            return False
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if not all(isinstance(n, (ast.Name, ast.Tuple)) for n in targets):
                return True
            return node.value is not None and self._calls(
                side, module, unit, [node.value], targets[0]
            )
        if isinstance(node, (ast.If, *TRY)):
            inside = list(blocks(node))
            return self._calls(
                side, module, unit, [t for _, tests, _ in inside for t in tests]
            ) or any(self._does(side, module, unit, n) for _, _, body in inside for n in body)
        return True

    def _calls(
        self,
        side: Side,
        module: Module,
        unit: Unit,
        nodes: Iterable[ast.expr],
        target: ast.expr | None = None,
    ) -> bool:
        """Tell whether expressions call what may have an effect; a flag's function has none."""
        run = {
            id(call): ref for ref, call, when in self.judge.facts(module, unit).calls if when == NOW
        }
        for node in nodes:
            flag = isinstance(target, ast.Name) and isinstance(node, ast.Call) and not node.args
            if flag and all(
                r.condition and not r.attrs for _, r in self.judge.uses(module, target.id)
            ):  # type: ignore[union-attr]
                continue
            for part in ast.walk(node):
                if isinstance(part, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)):
                    return True
                if id(part) in run:
                    ref = run[id(part)]
                    whats = side.resolve(module, ref).whats if ref else ()
                    outside = all(what[0] in {"ext", "builtin"} for what, _ in whats)
                    if not outside or last_name(part) not in _MAKERS:
                        return True
        return False

    def _wraps(self, side: Side, module: Module, unit: Unit, node: ast.expr) -> bool:
        """Tell whether a decorator does no more than wrap what it decorates."""
        target = node.func if isinstance(node, ast.Call) else node
        for ref in self.judge.facts(module, unit, deep=False).refs:
            if ref.node is target:
                roots = {
                    str(w[1]).partition(".")[0] if w[0] == "ext" else w[0]
                    for w, _ in side.resolve(module, ref).whats
                }
                return last_name(node) in HARMLESS or roots <= _WRAPPERS
        return last_name(node) in HARMLESS

    def _registers(self, side: Side, module: Module, node: ast.ClassDef, depth: int) -> bool:
        """Tell whether a metaclass or a base class may take note of a class."""
        if any(last_name(k.value) not in {"ABCMeta", "EnumMeta"} for k in node.keywords):
            return True
        for name in (base.id for base in node.bases if isinstance(base, ast.Name) and depth < 9):
            for what, _ in side.lookup(module, name, Look(deep=True)).whats:
                home, base = self._definition(side, what)
                if home is not None and isinstance(base, ast.ClassDef):
                    names = {getattr(n, "name", "") for n in base.body}
                    if "__init_subclass__" in names or self._registers(side, home, base, depth + 1):
                        return True
        return False

    def _definition(self, side: Side, what: What) -> tuple[Module | None, ast.stmt | None]:
        if what[0] != "def":
            return None, None
        path, index = what[1]
        known = self.judge.new.get(path[1:]) if path[:1] == "+" else self.judge.old.get(path)
        home = known or side.module(stem_of(path))
        return home, home.source.units[index].node if home else None

    # --- loading ---

    def _load(
        self, side: Side, modules: dict[str, Module], entry: str
    ) -> tuple[list[Place], set[tuple[str, int, str, str]]]:
        """Import a module: give what acts, in order, and what is taken before it is bound."""
        trace: list[Place] = []
        faults: set[tuple[str, int, str, str]] = set()
        reached: dict[str, float] = {}

        def load(stem: str) -> None:
            parts = stem.split("/")
            for size in range(1, len(parts) + 1):
                part = "/".join(parts[:size])
                if part in modules and part not in reached:
                    execute(modules[part])

        def take(module: Module, item: Import) -> None:
            for stem in side.find(module.path, item.level, item.module):
                load(stem)
                made = modules[stem].names.get(item.member or "", ()) if stem in modules else ()
                if made and all(site.unit >= reached[stem] for site in made):
                    faults.add((module.stem, item.line, stem, str(item.member)))
                elif item.member and not made:
                    load(f"{stem}/{item.member}")

        def execute(module: Module) -> None:
            items: dict[int, list[Import]] = defaultdict(list)
            for site, item in module.imports():
                if side.guards(module, site.unit, site.guards, hint=False) is not None:
                    items[site.unit].append(item)
            for unit in module.source.units:
                reached[module.stem] = unit.index
                for item in items[unit.index]:
                    take(module, item)
                if self._acts(side, module, unit):
                    trace.append(side.key(module, unit.index))
            reached[module.stem] = float("inf")

        load(entry)
        return trace, faults

    def _late(self, module: Module, unit: Unit) -> set[str]:
        """List the names that running a statement may reach before its module binds them."""
        shallow = self.judge.facts(module, unit, deep=False)
        todo = (
            [r.name for r in shallow.refs if r.when == NOW and not r.local] if shallow.calls else []
        )
        seen: set[str] = set()
        late = set()
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

    # --- cycles ---

    def _homes(self) -> dict[str, str]:
        """Say which module each new one came from: it counts as that one in a cycle."""
        flow: dict[str, Counter[str]] = defaultdict(Counter)
        for old, _, new, _ in self.judge.pairs:
            for stem in (new.stem, new.stem.rpartition("/")[0]):
                if stem not in self.old:
                    flow[stem][old.stem] += 1
        return {s: min(c, key=lambda o: (-c[o], o)) for s, c in flow.items() if s in self.new}

    def _cycles(self) -> None:
        """Report each import that closes a circle which the base did not have."""
        base, target = self.judge.base, self.judge.target
        known = {(m.stem, stem) for m in self.old.values() for stem, _ in base.edges(m)}
        for module in self.judge.new.values():
            for stem, line in sorted(target.edges(module)):
                one, other = self.home.get(module.stem, module.stem), self.home.get(stem, stem)
                if one == other or (one, other) in known or base.path({}, one, other):
                    continue  # it was loaded from here before, perhaps by a longer way
                back = target.path(self.home, other, one)
                if back:
                    circle = " -> ".join(s.replace("/", ".") for s in (one, *back))
                    why = f"this closes an import cycle: {circle}"
                    self.judge.residual("target", module.source, line, "cycle", why)


def _above(module: Module, unit: int) -> dict[str, bool]:
    """Tell of each imported name whether it stands above a statement."""
    return {item.name: site.unit < unit for site, item in reversed(module.imports())}
