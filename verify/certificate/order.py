"""What runs when the changed modules are imported, and in which order."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import partial

from verify.certificate.cycles import Run, Step, outside
from verify.certificate.judge import Judge
from verify.certificate.literals import LITERALS, OF_LITERALS, is_literal
from verify.certificate.meaning import Look, What, outer
from verify.certificate.names import HARMLESS, HINT, NOW, arguments, last_name
from verify.certificate.pieces import Place
from verify.certificate.place import is_main_guard
from verify.certificate.resolve import Side
from verify.certificate.source import (
    FUNCTIONS,
    IMPORTS,
    TRY,
    Import,
    Module,
    Unit,
    blocks,
    imports_of,
    is_text,
    only_imports,
    stem_of,
)
from verify.kernel.trees import effects
from verify.kernel.trees.nodes import children, walk

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
_STATELESS = re.compile("(abc|collections|dataclasses|enum|functools|typing|typing_extensions)\\b")
_MOST_KEPT = 1_000  # loads of modules; each is as long as the modules that it loads
_MOST_FOLLOWED = 300  # functions that one statement may call on import
_OPERATORS = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript, ast.FormattedValue)
_DEEDS = (ast.Global, ast.Nonlocal, ast.Await, ast.Yield, ast.YieldFrom, ast.ClassDef)


class Order:
    """Runs the changed modules of both trees, as far as the order of things goes."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.old = judge.stems
        self.new = {module.stem: module for module in judge.new.values()}
        self._active: dict[tuple[Side, str, int], bool] = {}
        self._runs: dict[tuple[Side, str], Run] = {}
        self._touched: dict[Place, frozenset[object]] = {}
        self._imports: dict[tuple[Side, str], dict[int, list[tuple[Import, list[str]]]]] = {}
        self._steps: dict[tuple[Side, str], list[Step]] = {}
        self._importing: dict[str, dict[str, None]] | None = None

    def run(self) -> None:
        """Compare what loading the changed modules did, and does now."""
        faults = set()
        for stem in self.old:
            faults |= {fault[2:] for fault in self._run(self.judge.base, stem).faults}
        for stem in self.new:
            for module, line, *what in self._run(self.judge.target, stem).faults:
                if (self.judge.target.called(what[0]), what[1]) not in faults:
                    why = f"{what[1]} is not bound yet: {what[0].replace('/', '.')} is being loaded"
                    self.judge.residual("target", self.new[module].source, line, "cycle", why)
        for new in self.judge.new.values():
            self._loads(new)
        for old in self.judge.old.values():
            self._effects(old)
        if self.judge.moved:
            self._exchanged()
        for old, before, new, after in self.judge.pairs:
            late = self._late(new, new.source.units[after])
            if late:
                for name in sorted(late - self._late(old, old.source.units[before])):
                    self._note(new, after, f"{name} is bound only below this")

    def _run(self, side: Side, entry: str) -> Run:
        """Load a module; what that does is told once."""
        run = self._runs.get((side, entry))
        if run is None:
            run = Run(partial(self.steps, side), self._modules(side), entry)
            if len(self._runs) < _MOST_KEPT:
                self._runs[side, entry] = run
        return run

    def _modules(self, side: Side) -> dict[str, Module]:
        """Give the modules of a side that are looked at, by their stems."""
        return self.old if side is self.judge.base else self.new

    def _exchanged(self) -> None:
        """Check that modules that moved whole still act before and after the same others."""
        base, target = self.judge.base, self.judge.target
        moved = {old.path for old in self.judge.moved}
        acting = {
            (old.path, unit.index): (old, unit)
            for old in self.judge.old.values()
            for unit in old.source.units
            if not is_main_guard(unit.node) and self.acts(base, old, unit)
        }
        if len({place[0] for place in acting}) < 2 or not {path for path, _ in acting} & moved:
            return
        said = set[tuple[str, str]]()
        for entry in sorted(self.new):
            if target.called(entry) not in self.old:
                continue
            was = [p for p in self._run(base, target.called(entry)).trace if p in acting]
            rank = {place: at for at, place in enumerate(was)}
            now = [p for p in self._run(target, entry).trace if p in rank]
            if now == sorted(now, key=rank.__getitem__):
                continue
            for at, other in enumerate(now):
                for one in (p for p in now[:at] if rank[p] > rank[other]):
                    paths = one[0], other[0]
                    if paths in said or paths[0] == paths[1] or not moved.intersection(paths):
                        continue
                    if self._clash(acting[one], acting[other]):
                        said.add(paths)
                        names = [stem_of(path).replace("/", ".") for path in paths]
                        why = f"{names[0]} acts before {names[1]} now, where this is loaded"
                        self.judge.residual("target", self.new[entry].source, 1, "order", why)

    def _clash(self, one: tuple[Module, Unit], other: tuple[Module, Unit]) -> bool:
        """Tell whether it may matter which of two statements of two modules runs first."""
        if not any(self._defines(unit.node) for _, unit in (one, other)):
            return True
        ours, theirs = self.touched(*one), self.touched(*other)
        return None in ours | theirs or any(what[0][0] != "ext" for what in ours & theirs)  # type: ignore[index]

    def _loads(self, new: Module) -> None:
        """Check that what a module's imports load was loaded before, or is what they bring."""
        base, target = self.judge.base, self.judge.target
        homes = [self.judge.old[path] for path in sorted(self.judge.sources[new.path])]
        loaded = set[str]()
        for home in (*homes, *filter(None, [self.old.get(new.stem)])):
            for unit in (unit for unit in home.source.units if "import" in unit.text):
                items = (item for part in walk(unit.node) for item in imports_of(part))
                for level, name in {item[1:3] for item in items}:
                    loaded.update(base.find(home.path, level, name))
        for site, item in new.imports():
            if target.guards(new, site.unit, site.guards, hint=False) is None:
                continue
            stems = [s for s in target.find(new.path, item.level, item.module) if s in target.files]
            stems = [s for s in stems if not target.is_changed(s)]
            if not all(any(f"{known}/".startswith(f"{s}/") for known in loaded) for s in stems):
                whole = target.follow(new, item, Look(True, True)).whats
                own = {stem_of(what[1][0]) for what, _ in whole if what[0] in {"def", "later"}}
                if not all(any(f"{k}/".startswith(f"{s}/") for k in loaded | own) for s in stems):
                    why = f"`{item.spelled}` loads what was not loaded here before"
                    self.judge.residual("target", new.source, item.line, "import", why, [item.line])

    def imports(self, side: Side, module: Module) -> Mapping[int, list[tuple[Import, list[str]]]]:
        """List what loading a module imports, by statement, with the modules that it may name."""
        place = side, module.path
        if place not in self._imports:
            found = self._imports[place] = defaultdict(list)
            for site, item in module.imports():
                if side.guards(module, site.unit, site.guards, hint=False) is not None:
                    stems = side.find(module.path, item.level, item.module)
                    found[site.unit].append((item, stems))
        return self._imports[place]

    def steps(self, side: Side, module: Module) -> list[Step]:
        """List what loading a module runs: each statement, with what it imports first."""
        place = side, module.path
        if place not in self._steps:
            items, known = self.imports(side, module), self._modules(side)
            self._steps[place] = [
                (
                    unit.index,
                    side.key(module, unit.index),
                    [(item, stems, outside(known, item, stems)) for item, stems in taken],
                )
                for unit in module.source.units
                for taken in [items.get(unit.index, ())]
            ]
        return self._steps[place]

    def _note(self, new: Module, index: int, why: str) -> None:
        line = new.source.units[index].first
        self.judge.residual("target", new.source, line, "order", why)

    # --- effects ---

    def _effects(self, old: Module) -> None:
        """Check that a module's effects still come with it, and in their order."""
        base = self.judge.base
        kept = {
            (old.path, before): (new, after)
            for module, before, new, after in self.judge.pairs
            if module is old
        }
        acting = {place for place in kept if self.acts(base, old, old.source.units[place[1]])}
        for entry in self._entries(old) if acting else ():
            done: list[Place] = []
            top = (old.path, -1)
            now = self._run(self.judge.target, entry)
            for place in (place for place in now.trace if place in kept):
                for other in done if place < top else ():
                    both = place in acting and other in acting
                    if place < other and (both or self._meet(old, place, other, acting)):
                        self._note(*kept[place], "this ran before what now runs first")
                        break
                done.append(place)
                top = max(top, place)
            for place in sorted(acting - set(done)):
                why = f"importing {entry.replace('/', '.')} no longer runs this"
                self._note(*kept[place], why)
            was = self._run(base, entry if entry in self.old else old.stem)
            for place in sorted(acting & set(done)):
                for name in sorted(was.before(place, now) ^ now.before(place, was)):
                    if not self._defines(old.source.units[place[1]].node):
                        why = f"the import of {name} stood on the other side of this"
                        self._note(*kept[place], why)
        self._gained(old, acting, kept)

    def _entries(self, old: Module) -> list[str]:
        """List what a module's effects are looked for from: itself, or else what imported it."""
        entries = [old.stem] if old.stem in self.new else self._importers(old.stem)
        if old in self.judge.moved:
            entries = [self.judge.moved[old].stem, *(e for e in entries if e != old.stem)]
        return entries

    def _gained(
        self, old: Module, acting: set[Place], kept: dict[Place, tuple[Module, int]]
    ) -> None:
        """Check that no module that was there has got an effect of another one."""
        base = self.judge.base
        for place in sorted(acting) if old not in self.judge.moved else ():
            new, after = kept[place]
            if new.path != old.path and new.stem in self.old:
                known = place in self._run(base, new.stem).trace
                if not known and not base.path({}, new.stem, old.stem):
                    self._note(new, after, f"importing {new.stem.replace('/', '.')} runs this now")

    @staticmethod
    def _defines(node: ast.stmt) -> bool:
        """Tell whether a statement only binds names, so that imports may come after it."""
        targets = node.targets if isinstance(node, ast.Assign) else []
        plain = bool(targets) and all(isinstance(n, (ast.Name, ast.Tuple)) for n in targets)
        return plain or isinstance(node, (*FUNCTIONS, ast.ClassDef))

    def _meet(self, old: Module, one: Place, other: Place, acting: set[Place]) -> bool:
        """Tell whether one of two statements may change what the other reads."""
        if one not in acting and other not in acting:
            return False
        ours, theirs = (self.touched(old, old.source.units[index]) for _, index in (one, other))
        return bool(ours and theirs and (None in ours | theirs or not ours.isdisjoint(theirs)))

    def touched(self, module: Module, unit: Unit) -> frozenset[object]:
        """List what running a statement may read or change, through functions it calls as well.

        Nothing, for one that looks at no value: a function, an alias, a literal.
        """
        place, side = (module.path, unit.index), self.judge.base
        if place not in self._touched:
            looks = (ast.Subscript, ast.Attribute, ast.Call, ast.BinOp, ast.Compare, ast.IfExp)
            shallow = self.judge.facts(module, unit, deep=False)
            found = set[object]()
            active = self.acts(side, module, unit)
            if active or any(isinstance(part, looks) for part in walk(unit.node)):
                nodes = list(walk(unit.node))
                run = {id(call.func) for _, call, when in shallow.calls if when == NOW}
                run |= {id(d) for node in nodes for d in getattr(node, "decorator_list", ())}
                todo = [
                    (module, ref, id(ref.node) in run) for ref in shallow.refs if ref.when == NOW
                ]
                seen = set[object]()
                while todo and len(seen) < _MOST_FOLLOWED:
                    where, ref, runs = todo.pop()
                    for what, rest in side.resolve(where, ref, deep=True).whats:
                        home = self._home(what)
                        if home is None or not isinstance(home[1].node, (*FUNCTIONS, ast.ClassDef)):
                            if what[0] != "builtin" and not _STATELESS.match(str(what[1])):
                                found.add((what, rest[:1] if what[0] == "ext" else ()))
                        elif active and runs and what not in seen:
                            refs = self.judge.facts(*home).refs
                            todo.extend((home[0], r, True) for r in refs if r.when != HINT)
                            seen.add(what)
                if todo:
                    found.add(None)  # too much to follow, so it may change anything
            self._touched[place] = frozenset(found)
        return self._touched[place]

    def _home(self, what: tuple[object, ...]) -> tuple[Module, Unit] | None:
        """Find the statement that makes a definition."""
        key = what[1] if what[0] == "def" else None
        if not isinstance(key, tuple) or key[0].startswith("+"):
            return None
        module = self.judge.base.module(stem_of(key[0]))
        return (module, module.source.units[key[1]]) if module else None

    def _importers(self, stem: str) -> list[str]:
        """List the changed modules that imported one that is gone."""
        if self._importing is None:
            self._importing = {}
            for other, module in self.old.items():
                for items in self.imports(self.judge.base, module).values():
                    for known in (stem for _, stems in items for stem in stems):
                        self._importing.setdefault(known, {})[other] = None
        return [other for other in self._importing.get(stem, ()) if other in self.new]

    def acts(self, side: Side, module: Module, unit: Unit) -> bool:
        """Tell whether a top-level statement may do more than bind names."""
        place = (side, module.path, unit.index)
        if place not in self._active:
            self._active[place] = False  # what leads back here adds nothing
            self._active[place] = self._does(side, module, unit, unit.node)
        return self._active[place]

    def _does(self, side: Side, module: Module, unit: Unit, node: ast.stmt) -> bool:
        idle = only_imports(node) or is_text(node) or isinstance(node, (ast.Pass, *IMPORTS))
        if isinstance(node, ast.Delete) and node is not unit.node:
            idle = all(isinstance(target, ast.Name) for target in node.targets)
        if idle:
            return False
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            if not all(self._wraps(side, module, unit, d) for d in node.decorator_list):
                return True
            if isinstance(node, ast.ClassDef):
                return (
                    self._hooked(side, module, unit, node)
                    or self._calls(side, module, unit, node.bases)
                    or any(self._does(side, module, unit, inner) for inner in node.body)
                )
            hints = [argument.annotation for argument in arguments(node.args)]
            parts = [*node.args.defaults, *node.args.kw_defaults, *hints, node.returns]
            return self._calls(side, module, unit, [part for part in parts if part])
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            values = [node.annotation] if isinstance(node, ast.AnnAssign) else []
            if node.value and not self._flag(module, node.value, targets[0]):
                values.append(node.value)
            plain = all(isinstance(n, (ast.Name, ast.Tuple)) for n in targets)
            return not plain or self._calls(side, module, unit, values)
        inside = list(blocks(node)) if isinstance(node, (ast.If, ast.For, *TRY)) else []
        tests = [test for _, found, _ in inside for test in found]
        tests += [node.iter] if isinstance(node, ast.For) else []
        return (
            not inside
            or self._calls(side, module, unit, tests)
            or any(self._does(side, module, unit, inner) for _, _, body in inside for inner in body)
        )

    def _hooked(self, side: Side, module: Module, unit: Unit, node: ast.ClassDef) -> bool:
        """Tell whether a class is made by code of its metaclass, or of a class that it extends."""
        if not {last_name(keyword.value) for keyword in node.keywords} <= {"ABCMeta", "EnumMeta"}:
            return True
        for ref in self.judge.facts(module, unit, deep=False).refs:
            if any(ref.node is base for base in node.bases):
                for what, _ in side.resolve(module, ref, deep=True).whats:
                    home = self._home(what)
                    if home and isinstance(home[1].node, ast.ClassDef) and home[1] is not unit:
                        names = {getattr(part, "name", "") for part in home[1].node.body}
                        hooked = self._hooked(self.judge.base, *home, home[1].node)
                        if hooked or "__init_subclass__" in names:
                            return True
        return False

    def _calls(self, side: Side, module: Module, unit: Unit, nodes: Iterable[ast.AST]) -> bool:
        """Tell whether expressions call what may have an effect."""
        found = self.judge.facts(module, unit, deep=False).calls
        run = {id(call): ref for ref, call, when in found if when == NOW}
        for part in (part for node in nodes for part in walk(node)):
            if isinstance(part, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)):
                return True
            ref = run.get(id(part))
            whats = side.resolve(module, ref).whats if ref else ()
            outside = all(what[0] in {"ext", "builtin"} for what, _ in whats)
            makes = _MAKERS.fullmatch(last_name(part)) or (
                isinstance(part, ast.Call) and whats and self._makes(side, module, unit, part)
            )
            if id(part) in run and not (outside and makes):
                return True
            negates = isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not)
            operates = isinstance(part, _OPERATORS) and not negates
            if operates and self._operates(side, module, unit, part):
                return True
        return False

    def _makes(self, side: Side, module: Module, unit: Unit, call: ast.Call) -> bool:
        """Tell whether a call of the outside makes a value of literals, and of names of such."""
        refs = self.judge.facts(module, unit, deep=False).by_node

        def meant(node: ast.AST) -> frozenset[tuple[What, tuple[str, ...]]] | None:
            ref = refs.get(node)
            return None if ref is None else side.resolve(module, ref, deep=True).whats

        def literal(node: ast.AST) -> bool:
            homes = [None if attrs else self._home(what) for what, attrs in meant(node) or ()]
            return bool(homes) and all(home and is_literal(home[1].node) for home in homes)

        made = meant(call.func)
        if made is None or not {outer(*what) for what in made} <= OF_LITERALS:
            return False
        given = [*call.args, *(word.value for word in call.keywords)]
        parts = (part for arg in given for part in walk(arg))
        return all(isinstance(part, LITERALS) or literal(part) for part in parts)

    def _operates(self, side: Side, module: Module, unit: Unit, node: ast.AST) -> bool:
        """Tell whether an operand is an object that code of the tree made: its class may act."""
        operands = set(map(id, children(node)))
        for ref in self.judge.facts(module, unit, deep=False).refs:
            if id(ref.node) in operands:
                for what, _ in side.resolve(module, ref, deep=True).whats:
                    home = self._home(what)
                    assigned = home and isinstance(home[1].node, (ast.Assign, ast.AnnAssign))
                    if home and assigned and self.acts(self.judge.base, *home):
                        return True
        return False

    def _flag(self, module: Module, node: ast.expr | None, target: ast.expr) -> bool:
        """Tell whether a call without arguments makes nothing but a condition."""
        if not isinstance(target, ast.Name) or not isinstance(node, ast.Call) or node.args:
            return False
        uses = [ref for _, ref in self.judge.uses(module, target.id) if ref.action == "load"]
        return bool(uses) and all(ref.condition and not ref.attrs for ref in uses)

    def _wraps(self, side: Side, module: Module, unit: Unit, node: ast.expr) -> bool:
        """Tell whether a decorator does no more than wrap what it decorates."""
        target = node.func if isinstance(node, ast.Call) else node
        given = [*node.args, *node.keywords] if isinstance(node, ast.Call) else []
        if self._calls(side, module, unit, given):
            return False
        for ref in self.judge.facts(module, unit, deep=False).refs:
            if ref.node is target:
                meaning = side.resolve(module, ref, deep=True)
                called = isinstance(node, ast.Call)
                return all(
                    self._plain(what, called) or outer(what, attrs).startswith(effects.MARKS)
                    for what, attrs in meaning.whats
                )
        return bool(HARMLESS.fullmatch(last_name(node)))

    def _plain(self, what: tuple[object, ...], called: bool) -> bool:
        """Tell whether what decorates registers nothing: by its library, or by its code."""
        if what[0] in {"ext", "builtin"}:
            name = str(what[1])
            return bool(HARMLESS.fullmatch(name.rpartition(".")[2]) or _WRAPPERS.match(name))
        home = self._home(what)
        if home is None or not isinstance(home[1].node, FUNCTIONS):
            return False
        todo: list[ast.AST] = [*home[1].node.body]
        while todo:
            part = todo.pop()
            if isinstance(part, FUNCTIONS):
                todo.extend(part.decorator_list)
                todo.extend(part.body if called else ())
                called = False
            elif isinstance(part, _DEEDS) or isinstance(getattr(part, "ctx", None), ast.Del):
                return False
            elif isinstance(part, ast.Call) and not _MAKERS.fullmatch(last_name(part)):
                if not HARMLESS.fullmatch(last_name(part)):
                    return False
            if not isinstance(part, (*FUNCTIONS, ast.Lambda)):
                if isinstance(getattr(part, "ctx", None), ast.Store) and not hasattr(part, "id"):
                    return False
                todo.extend(children(part))
        return True

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
