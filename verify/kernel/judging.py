"""The order of judgement: entries are run on both sides, compared, and read off."""

from __future__ import annotations

import ast
import re
from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property

from verify.kernel.disk import tests
from verify.kernel.edits import doctests, exports
from verify.kernel.edits.bodies import (
    Bodies,
    Probe,
    Reference,
    Resolved,
    asks_loaded,
    global_names,
    reaches,
    sets,
)
from verify.kernel.edits.conserve import symbol
from verify.kernel.edits.copies import Copies
from verify.kernel.edits.explain import Edits
from verify.kernel.edits.grasps import Alike
from verify.kernel.edits.needs import rows
from verify.kernel.edits.worlds import Worlds
from verify.kernel.machine import Machine
from verify.kernel.machine.statements import Definition
from verify.kernel.machine.units import Unit
from verify.kernel.machine.values import (
    Class,
    Function,
    Made,
    Module,
    ModuleValue,
    Outside,
    key,
)
from verify.kernel.pairs.asked import HOOKS
from verify.kernel.pairs.both import Both
from verify.kernel.pairs.near import near
from verify.kernel.reach import computed, subclasses, whereabouts
from verify.kernel.reach.getters import Getters
from verify.kernel.reach.heard import Heard
from verify.kernel.reach.held import Held
from verify.kernel.reach.lookups import Lookups
from verify.kernel.reach.standing import Standing
from verify.kernel.reach.writes import Writes
from verify.kernel.running import given
from verify.kernel.running.entries import Arrival, Entry, arrivals, entries, name_of
from verify.kernel.running.links import Links, owner
from verify.kernel.running.observed import Observed
from verify.kernel.running.runs import DONE, Run, Runs
from verify.kernel.running.traces import Comparison, Gains, covers, does, instead
from verify.kernel.texts import examples, shown, strings
from verify.kernel.trees import effects
from verify.kernel.trees.nodes import walk
from verify.kernel.trees.source import DEFINITIONS, is_main_guard
from verify.kernel.trees.tree import search_path
from verify.kernel.trees.words import raw
from verify.kernel.verdict import ASSUMED, BASE, BREAKS, OBSERVED, OPEN, TARGET, Place

# Whoever evaluates annotations: by asking for them, or as a framework that does.
_EVALUATES = re.compile(
    r"\b(?:get_type_hints|get_annotations|__annotations__|eval_str|cattrs|beartype|typeguard)\b"
)
_OF_FIELDS = re.compile(r"\.type\b")  # of a field of a dataclass
# Whoever shows them as they are kept: texts stay texts.
_SHOWS = re.compile(r"\bgetfullargspec\b|\bsignature\(")
_FRAMEWORKS = re.compile(
    r"\b(?:pydantic|fastapi|typer|msgspec|strawberry|injector|singledispatch|attrs)\b"
)
# Decorators that do not look at what a function is annotated with.
_KEEPING = frozenset(
    {f"builtins.{name}" for name in ("property", "staticmethod", "classmethod")}
    | {f"functools.{name}" for name in ("wraps", "cache", "lru_cache", "cached_property")}
    | {"contextlib.contextmanager", "contextlib.asynccontextmanager", "abc.abstractmethod"}
    | {f"typing.{name}" for name in ("overload", "final", "override")}
)
# What reads an attribute whose name it does not spell.
_LOOKS = re.compile(rb"\bvars\(|__dict__|\bgetattr\(|getmembers|\bdir\(|attrgetter|__getattr")
_READ_BY_DATACLASS = frozenset({"ClassVar", "InitVar", "KW_ONLY"})


def judge(both: Both) -> None:
    """Run every entry in both trees and report what differs."""
    Judge(both).run()


class Judge:
    """Everything that is known from all entries."""

    def __init__(self, both: Both) -> None:
        self.both = both
        self.runs = Runs(both)
        self.gains = Gains(both.renames)
        self.writes = Writes(both)
        self.lookups = Lookups(both, self.gains)
        self.copies = Copies(both)
        self.observed = Observed(both)
        self.edits = Edits(both)
        self.standing = Standing(both)
        self.worlds = Worlds(both)
        self._probes: set[tuple[Made, int]] = set()
        self._readers: dict[str, Bodies] = {}
        self._links = Links(both)
        edited = {edit.base for edit in both.pairing.edits}
        self._same = both.pairing.becomes.keys() - edited  # statements that are what they were
        self._read_units: set[tuple[int, int]] = set()  # those whose bodies were read
        # definitions that read a submodule which somebody else imports: by the units they are of
        self._loose: dict[tuple[int, int], list[Made]] = {}
        self._blank = False  # whether the present run loads modules of which nothing is known
        self._as_written = False  # whether it makes a difference if these are texts
        self.evaluated = False  # whether somebody who reaches the change evaluates annotations
        self.shown = False  # or shows them as they are kept

    def run(self) -> None:
        """Judge all entries."""
        self.runs.near = near(self.both)
        self.worlds.near = self.runs.near
        files = self.both.base.files.keys() & self.runs.near
        self.runs.lists_subclasses = subclasses.listed(self.both.base)
        self.evaluated = any(_EVALUATES.search(self.both.base.text(path)) for path in files)
        self._as_written = any(_as_written(self.both.base.text(path)) for path in files)
        self.shown = any(_SHOWS.search(self.both.base.text(path)) for path in files)
        for entry in entries(self.both.base, self.both.target, self.runs.near):
            self._entry(entry)
        for arrival in arrivals(self.both):
            self._arrival(arrival)
        for point in strings.points(self.both):
            self._point(point)
        tests.check(self.both, self.runs)
        doctests.check(self.both)
        examples.check(self.both)
        exports.check(self.both, self.runs)
        given.check(self.both, self.runs)
        strings.check(self.both)
        computed.check(self.both, self.runs.near)
        lost = strings.lost(self.both)
        computed.evaluated(self.both, lost)
        computed.replaced(self.both)
        computed.sought(self.both)
        computed.looked_at(self.both, lost)
        computed.loaded(self.both)
        self._values(lost)
        for tree in (self.both.base, self.both.target):
            machine = self.runs.machine(tree)
            self.writes.note(machine)
            self.lookups.note(machine)
            self.observed.note(machine)
            self.edits.note(machine)
            self.standing.note(machine)
        self.writes.report()
        self.writes.report_unknown(self.runs.near)
        self.lookups.report()
        self.observed.report()
        self.edits.report()
        self.standing.report()
        self.worlds.report()
        Heard(self.both).report()
        shown.check(self.both, self.runs.near)
        whereabouts.check(self.both, self.runs.near)

    def _values(self, lost: Mapping[str, set[str]]) -> None:
        """Look for modules that are values, and for reads of what they lost."""
        held = Held(self.both, self.both.target, kept=True)
        values = held.modules(lost, sorted(self.runs.near))
        self.lookups.handed |= values
        Getters(self.both, lost, held).report(values)

    def _entry(self, entry: Entry) -> None:
        one, two = self.runs.pair(entry)
        if entry.guessed and one.ended != DONE:
            self.runs.end(two, one)
            return
        if entry.by_name:
            why = "they are run by `python -m`, or where their packages are installed"
            self.both.found.say(ASSUMED, "scripts", why, Place(entry.target, 1))
        if not (one.blind or two.blind or self._lost(entry, one, two)):
            done = self._compared(entry, one, two, self.gains)
            self.observed.entry(str(entry), one, two, done=done)
            self._read(one, two)
        self.runs.end(two, one)

    def _lost(self, entry: Entry, one: Run, two: Run) -> bool:
        """Report a script that finds a package of its own tree no longer: the rest follows."""
        target = self.both.target
        folders = search_path(target, entry.target, script=False) if entry.script else []
        for death in two.deaths:
            top = death.outside.partition(".")[0]
            if top and target.find(top, folders) and not covers(one.deaths, death.answers):
                why = f"run by its path it does not find {top}, which does not lie beside it"
                place = Place(death.path, death.line)
                self.both.found.say(BREAKS, str(entry), why, place)
                return True
        return False

    def _compared(self, entry: Entry, one: Run, two: Run, gains: Gains) -> bool:
        """Compare two runs, and note what they need.

        Tells whether the base's got to its end, and nothing that it loads is unknown.
        """
        comparison = Comparison(self.both, entry, one, two, gains)
        done = comparison.run()
        if comparison.compared and not comparison.blank:
            self.worlds.entry(entry, one, two)
        return done and not comparison.blank

    def _point(self, point: strings.Point) -> None:
        """Start what an entry point names, where it names another module than before."""
        base, target = self.both.base, self.both.target
        ours, theirs = (
            next(iter(tree.named.get(name, ())), "")
            for tree, name in ((base, point.base[0]), (target, point.target[0]))
        )
        if not ours:
            return
        place, spelled = Place(point.path, point.line), ".".join(point.target)
        if not theirs:
            self.both.found.say(BREAKS, spelled, "an entry point names no module", place)
            return
        entry = Entry(ours, theirs, base.name(ours), target.name(theirs))
        one, two = self.runs.pair(entry)
        self._compared(entry, one, two, Gains(self.gains.renames))
        found = [
            module.names.get(name[1]) if isinstance(module, Module) else None
            for module, name in (
                (one.machine.modules.get(entry.name), point.base),
                (two.machine.modules.get(entry.target_name), point.target),
            )
        ]
        if found[0] is not None and (found[1] is None or key(found[0]) != key(found[1])):
            self.both.found.say(BREAKS, spelled, "an entry point starts something else", place)

    def _arrival(self, arrival: Arrival) -> None:
        """Look at code where it arrives, beside where it comes from, whoever else loads it."""
        one, two = self.runs.together(arrival)
        if two.ended != DONE and one.ended == DONE and two.failure and not two.blind:
            about = two.failure.about or two.failure.outside
            why = f"importing it raises {two.failure.error}: {about}"
            name = self.both.name(arrival.path)
            self.both.found.say(BREAKS, name, why, Place(*two.at))
        self.observed.guards(one, two)
        self._read(one, two)
        self.runs.end(two, one)
        self._namesakes(arrival)
        if arrival.path not in self.both.base.files:
            self._beside(arrival)
            self._hidden(arrival.path)

    def _beside(self, arrival: Arrival) -> None:
        """Look for what a file found beside itself, and finds nowhere from where it lies now."""
        base, target, path = self.both.base, self.both.target, arrival.path
        tops = {
            row.module.partition(".")[0]: row.module
            for row, _ in rows(target, target.source(path))
            if not row.guards and row.module
        }
        now = search_path(target, path, script=False)
        for origin in arrival.origins:
            if origin in target.files:
                continue
            folders = search_path(base, origin, script=False)
            # pytest searches the folder of each `conftest.py`
            before = [f for f in folders if f"{f}/conftest.py" not in target.files]
            for top, module in tops.items():
                if base.find(top, before) and not target.find(top, now):
                    why = f"it is no longer found from {path}, which lay beside it"
                    self.both.found.say(BREAKS, module, why, Place(path, 1))

    def _namesakes(self, arrival: Arrival) -> None:
        """Look for imports of what arrived that lead to another module of the name from there."""
        base, target, path = self.both.base, self.both.target, arrival.path
        at = [two for _, two in self.both.pairing.moved() if two[0] == path]
        nodes = [self.both.statement(target, two).node for two in at]
        if path not in base.files:
            nodes = [*target.source(path).tree.body]
        tops = {
            name.partition(".")[0]: part.lineno
            for node in nodes
            for part in walk(node)
            if isinstance(part, (ast.Import, ast.ImportFrom)) and not getattr(part, "level", 0)
            for name in (
                [alias.name for alias in part.names]
                if isinstance(part, ast.Import)
                else [part.module or ""]
            )
        }
        now = search_path(target, path, script=False)
        for origin in arrival.origins:
            before = search_path(base, origin, script=False)
            for top, line in tops.items():
                one, two = base.find(top, before), target.find(top, now)
                if one is None or two is None or "" in (one.path, two.path):
                    continue
                there = one.path in target.files
                if one.path != two.path and there and two.path in base.files:
                    why = f"it was {one.path}, and from {path} it is {two.path}"
                    self.both.found.say(BREAKS, top, why, Place(path, line))

    def _hidden(self, path: str) -> None:
        """Look for what a new module hides in its package as soon as somebody imports it."""
        target = self.both.target
        stem = path.removesuffix("/__init__.py").removesuffix(".py")
        folder, _, last = stem.rpartition("/")
        above = f"{folder}/__init__.py"
        if above not in target.files:
            return
        package = name_of(target, above)
        run = self.runs.start(target, above, package, script=False)
        module, loaded = (
            run.machine.modules.get(package),
            f"{package}.{last}" in run.machine.modules,
        )
        held = module.names.get(last) if isinstance(module, Module) else None
        self.runs.end(run)
        if held is not None and not loaded and run.ended == DONE:
            why = f"whoever imports {package}.{last} puts the module in place of what this was"
            self.both.found.say(BREAKS, f"{package}.{last}", why, Place(path, 1))

    def _read(self, one: Run, two: Run) -> None:
        self._blank = one.blank or two.blank
        self.copies.check(two)
        ours, theirs = self._bodies(one.machine), self._bodies(two.machine)
        self._links.enter(two)
        for unit in one.units:
            for other in self._links.of(unit, two):
                self._units(ours, theirs, unit, other)

    @cached_property
    def _alike(self) -> Alike:
        return Alike(self.runs.machine(self.both.base), self.runs.machine(self.both.target))

    def _bodies(self, machine: Machine) -> Bodies:
        """Give what reads the bodies of one side."""
        side = machine.tree.side
        if side not in self._readers:
            self._readers[side] = Bodies(machine)
        return self._readers[side]

    def _units(self, ours: Bodies, theirs: Bodies, one: Unit, two: Unit) -> None:
        """Compare the definitions of two units: once, but for those that see who else is there."""
        pair = one.number, two.number
        altered = one.mask & ours.machine.changed or two.mask & theirs.machine.changed
        if pair in self._read_units and not altered:
            for name in self._loose.get(pair, ()):
                self._pair(name, (ours, one), (theirs, two))
            return
        if not altered:  # what somebody wrote there later, others may not find
            self._read_units.add(pair)
        loose = []
        for name in sorted(one.definitions.keys() & two.definitions.keys(), key=repr):
            slots = ours.machine.slots + theirs.machine.slots
            self._pair(name, (ours, one), (theirs, two))
            asks = asks_loaded(one.definitions[name].value.node)
            if asks or ours.machine.slots + theirs.machine.slots > slots:
                loose.append(name)
        self._loose[pair] = loose
        self._tops(ours, theirs, one, two)

    def _pair(self, name: Made, one: tuple[Bodies, Unit], two: tuple[Bodies, Unit]) -> None:
        """Compare a definition as it is on both sides."""
        (ours, unit), (theirs, other) = one, two
        first, second = unit.definitions[name], other.definitions[name]
        a, b = first.value, second.value
        _note_globals(ours.machine, a)
        _note_globals(theirs.machine, b)
        if not {a.scope.module.path, b.scope.module.path} & self.runs.near:
            return  # nothing that changed can be reached from here
        self._made(first, second)
        self.standing.inherited(ours.machine, a)
        self.standing.inherited(theirs.machine, b)
        means = self._definition(name, (ours, a), (theirs, b))
        for bodies, made in ((ours, a), (theirs, b)):
            asked = asks_loaded(made.node)
            means = hash((means, frozenset(m for m in asked if m in bodies.machine.modules)))
        if (name, means) in self._probes:
            return  # read before, with the same meaning of every name
        self._probes.add((name, means))
        if self._gives(b):
            return
        if isinstance(a, Function) and isinstance(b, Function):
            above, of = owner(unit, a), owner(other, b)
            if self._runs(name, (ours, a, above), (theirs, b, of)):
                p, q = ours.probe(a, above), theirs.probe(b, of)
                blank = ours.machine.blanks(p.events) or theirs.machine.blanks(q.events)
                self._probed(name, b, p, q, blank=blank)

    def _gives(self, made: Function | Class) -> bool:
        """Tell whether a function answers for a module out of tables that changed."""
        path = made.scope.module.path
        asked = self.both.asked
        answers = path in asked.tables or path in asked.makers
        return getattr(made.node, "name", "") in HOOKS and answers

    def _runs(
        self,
        name: Made,
        one: tuple[Bodies, Function, Class | None],
        two: tuple[Bodies, Function, Class | None],
    ) -> bool:
        """Tell whether a body has to be run: where it was edited, or may reach modules.

        Of one that is what it was, all that it names is compared, and what it calls is read itself.
        """
        a, b = one[1], two[1]
        if {a.scope.module.path, b.scope.module.path} & self.both.changed:
            if name[0][1] not in self._same:  # type: ignore[index]
                return True
        if reaches(a.node) or sets(a.node) or one[0].reaching():
            return True
        (ours, _, above), (theirs, _, of) = one, two
        held, now = ours.grasps.by(a, above), theirs.grasps.by(b, of)
        if held is None or now is None or not self._alike.all(held, now):
            return True
        for side, made, modules in ((BASE, a, held), (TARGET, b, now)):
            self._through(name, side, made, modules)
        return False

    def _through(self, name: Made, side: str, made: Function, modules: Iterable[Module]) -> None:
        """Note what a body that is not run may read of modules that it gets hold of."""
        if modules:
            spelled = {getattr(node, "attr", "") for node in walk(made.node)}
            reads = {(m.name, word) for m in modules for word in spelled & m.names.keys()}
            self.writes.read(side, name, _title(made), reads)

    def _made(self, one: Definition, two: Definition) -> None:
        """Compare what was evaluated when a definition was made, and what a class holds."""
        where = Place(two.value.scope.module.path, two.value.node.lineno)
        title = _title(two.value)
        if self._vague(where.path):
            return
        if one.parts != two.parts:
            why = "it is made with other defaults, decorators or bases than before"
            self.both.found.say(BREAKS, title, why, where)
        elif (one.notes or ()) != (two.notes or ()):
            self._annotations(one, two, title, where)
        if isinstance(one.value, Function) and isinstance(two.value, Function):
            self._inner_as_texts(one.value, two.value, title, where)
        if isinstance(one.value, Class) and isinstance(two.value, Class):
            self._fields_as_texts(one.value, two.value, title, where)
            apart = self._modules_held(one.value, two.value)
            ours, theirs = (
                {name: key(held) for name, held in side.attributes.items() if name not in apart}
                for side in (one.value, two.value)
            )
            if ours != theirs:
                why = "the class is made with other attributes than before"
                self.both.found.say(BREAKS, title, why, where)

    def _inner_as_texts(self, one: Function, two: Function, title: str, where: Place) -> None:
        """Compare whether what is annotated within a function is evaluated when that runs."""
        if one.scope.module.postponed == two.scope.module.postponed or not _notes_inside(two.node):
            return
        why = "what it annotates within is evaluated where that was text, or the other way round"
        read = self._as_written or self.evaluated or self.shown
        self.both.found.say(BREAKS if read else OBSERVED, title, why, where)

    def _fields_as_texts(self, one: Class, two: Class, title: str, where: Place) -> None:
        """Compare whether what a class's fields are annotated with is evaluated."""
        noted = any(isinstance(node, ast.AnnAssign) for node in two.node.body)
        if noted and one.scope.module.postponed != two.scope.module.postponed:
            why = "its annotations are evaluated where they were texts, or the other way round"
            self.both.found.say(BREAKS if self._as_written else OBSERVED, title, why, where)

    def _modules_held(self, one: Class, two: Class) -> set[str]:
        """Name attributes that are other modules now, where all who read them are of the class.

        What these read of the module is compared where they read it.
        """
        found = set()
        for name, held in one.attributes.items():
            now = two.attributes.get(name)
            if isinstance(held, ModuleValue) and isinstance(now, ModuleValue):
                if key(held) != key(now) and self._read_within(name, two):
                    found.add(name)
        return found

    def _read_within(self, name: str, of: Class) -> bool:
        """Tell whether an attribute is read by the methods of a class alone."""
        tree, path = self.both.target, of.scope.module.path
        said = re.compile(rb"\b" + re.escape(raw(name)) + rb"\b")
        others = (p for p in tree.python() if p != path)
        near = (tree.files[p] for p in self.runs.near if p in tree.files)
        if any(said.search(tree.files[p]) for p in others) or any(map(_LOOKS.search, near)):
            return False
        return all(
            isinstance(node.value, ast.Name) and node.value.id in ("self", "cls", of.title)
            for node in walk(tree.source(path).tree)
            if isinstance(node, ast.Attribute) and node.attr == name
        )

    def _annotations(self, one: Definition, two: Definition, title: str, where: Place) -> None:
        """Compare what a function is annotated with: values on both sides, or texts on one."""
        texts = one.notes is None or two.notes is None
        paths = (one.value.scope.module.path, self.both.base), (where.path, self.both.target)
        read = self.evaluated or self.shown
        read = read or any(_FRAMEWORKS.search(tree.text(path)) for path, tree in paths)
        plain = len(getattr(two.value.node, "decorator_list", ())) == sum(map(_keeps, two.parts))
        if texts and not read and plain:
            why = "its annotations are evaluated where they were texts, or the other way round"
            self.both.found.say(OBSERVED, title, why, where)
        else:
            why = "it is made with other annotations than before"
            self.both.found.say(BREAKS, title, why, where)

    def _tops(self, ours: Bodies, theirs: Bodies, one: Unit, two: Unit) -> None:
        """Compare what compound statements refer to, whatever branch the runs take."""
        for base, target in self._links.compound(one, two):
            first = ours.top(*base, set())
            second = theirs.top(*target, set())
            if first is not None and second is not None:
                name = (("top", base, ""), 0)
                node = self.both.statement(self.both.target, target).node
                if is_main_guard(node):  # it has one answer, whatever the module is called
                    first, second = _without_name(first), _without_name(second)
                title = f"{self.both.name(target[0])}: {symbol(node)}"
                self._compare(name, title, target[0], first, second)

    def _definition(
        self,
        name: Made,
        one: tuple[Bodies, Function | Class],
        two: tuple[Bodies, Function | Class],
    ) -> int:
        title = _title(two[1])
        found = []
        for bodies, value in (one, two):
            reads: set[tuple[str, str]] = set()
            found.append(bodies.resolve(value, reads))
            self.writes.read(bodies.machine.tree.side, name, title, reads)
        texts = one[1].scope.module.postponed and not two[1].scope.module.postponed
        self._references(name, found[0], found[1], two[1], evaluated=texts)
        return hash(tuple(means for side in found for _, means in side))

    def _probed(self, name: Made, made: Function, one: Probe, two: Probe, *, blank: bool) -> None:
        title = _title(made)
        for side, probe in ((BASE, one), (TARGET, two)):
            self.writes.read(side, name, title, probe.reads)
        if one.limit or two.limit:
            place = Place(made.scope.module.path, made.node.lineno)
            self.both.found.say(
                OPEN, title, "calling it takes too many steps to be followed", place
            )
        elif blank:
            return  # who knows what else is loaded then
        elif one.acts != two.acts:
            place = Place(made.scope.module.path, made.node.lineno)
            self.both.found.say(BREAKS, title, f"calling it {_apart(one, two)}", place)
        else:
            self.observed.body(title, one.events, two.events)

    def _references(
        self,
        name: Made,
        first: Resolved,
        second: Resolved,
        b: Function | Class,
        *,
        evaluated: bool,
    ) -> None:
        title = _title(b)
        self._compare(name, title, b.scope.module.path, first, second, b)
        for reference, means in second if evaluated else ():
            unbound = isinstance(means, tuple) and means[0] == "unbound"
            if reference.note and not reference.quoted and unbound:
                subject = f"{b.scope.module.name}.{'.'.join(reference.parts)}"
                why = "nothing binds it, and annotations that were texts are evaluated now"
                place = Place(b.scope.module.path, reference.line)
                self.both.found.say(BREAKS, subject, why, place)

    def _compare(
        self,
        name: Made,
        title: str,
        path: str,
        first: Resolved,
        second: Resolved,
        made: Function | Class | None = None,
    ) -> None:
        if len(first) != len(second):
            first, second = _aligned(first, second), _aligned(second, first)
        for (one, means), (two, now) in zip(first, second, strict=False):
            if two.parts[0] in self.both.asked.tables.get(path, ()):
                continue  # what is given for each name is compared
            if means == now:
                self.edits.same(name, one.parts, two.parts)
                if one.asked and two.asked:
                    self.edits.same(name, one.parts[:-1], two.parts[:-1])
                self._standing(name, title, now, two, path)
                continue
            kept = self.both.target.source(path).postponed
            read = self.evaluated or (self.shown and not kept)
            read = read or not _READ_BY_DATACLASS.isdisjoint({*one.parts, *two.parts})
            if two.note and not read and not _FRAMEWORKS.search(self.both.target.text(path)):
                self._fields(title, made, Place(path, two.line))
                why = "an annotation in it names what only a type checker finds"
                self.both.found.say(OBSERVED, title, why, Place(path, two.line))
                continue
            if self._vague(path) and not (isinstance(now, tuple) and now[0] == "unbound"):
                continue
            subject = f"{self.both.name(path)}.{'.'.join(two.parts)}"
            was = f"`{'.'.join(one.parts)}` was"
            why = f"code that uses it finds something else than {was}"
            if isinstance(now, tuple) and now[0] == "unbound":
                why = f"nothing binds it, so code that uses it raises {now[1]} when it runs"
            self.both.found.say(BREAKS, subject, why, Place(path, two.line))

    def _vague(self, path: str) -> bool:
        """Tell whether what a file has may hang on modules of which nothing is known."""
        return self._blank and path not in self.both.changed

    def _fields(self, title: str, made: Function | Class | None, place: Place) -> None:
        """A base from outside may evaluate what the fields of a class are annotated with."""
        if not isinstance(made, Class):
            return
        lines = {node.lineno for node in made.node.body if isinstance(node, ast.AnnAssign)}
        machine = self.runs.machine(self.both.target)
        for base in machine.outer_bases(made) if place.line in lines else ():
            name = base.name if isinstance(base, Outside) else ""
            if not (name in effects.BASES or name.startswith("builtins.")):
                why = f"`{name or 'its base'}` does not evaluate the annotations of its fields"
                self.both.found.say(ASSUMED, title, why, place)

    def _standing(
        self, name: Made, title: str, means: Hashable, reference: Reference, path: str
    ) -> None:
        """Report moved code that sees where it stands."""
        origin = name[0][1] if isinstance(name[0], tuple) else None
        if not isinstance(origin, tuple) or origin[0] == path:
            return
        inner = means[0] if isinstance(means, tuple) and means else None
        outside = isinstance(inner, tuple) and inner[0] == "outside" and inner[1]
        if outside == "sys._getframe" and whereabouts.of_callers(
            self.both.target, path, reference.line
        ):
            return  # whose frame that is is noted where it runs
        if outside in effects.STANDING or reference.parts[-1] in ("__globals__", "__code__"):
            spelled = ".".join(reference.parts)
            why = f"when it runs, `{spelled}` sees the names or the frame of another module"
            self.both.found.say(OPEN, title, why, Place(path, reference.line))


def _notes_inside(function: ast.AST) -> bool:
    """Tell whether a function makes others, or classes, that are annotated."""
    return any(
        isinstance(inner, DEFINITIONS)
        and inner is not function
        and any(getattr(n, "annotation", None) or getattr(n, "returns", None) for n in walk(inner))
        for inner in walk(function)
    )


def _as_written(text: str) -> bool:
    """Tell whether a file asks for annotations as they are, be they values or texts."""
    fields = "fields" in text and _OF_FIELDS.search(text) is not None
    return fields or "__annotations__" in text or "get_annotations" in text


def _title(made: Function | Class) -> str:
    """Name a definition as somebody imports it."""
    return f"{made.scope.module.name}.{getattr(made.node, 'name', 'lambda')}"


def _apart(one: Probe, two: Probe) -> str:
    """Say where what a body does begins to differ."""
    ours, theirs = ([event for event in probe.events if event.acts] for probe in (one, two))
    for before, after in zip(ours, theirs, strict=False):
        if before.what != after.what:
            return instead(before, after)
    longer, now = (ours, "no longer") if len(ours) > len(theirs) else (theirs, "now also")
    rest = longer[min(len(ours), len(theirs)) :]
    return f"{now} {does(rest[0])}" if rest else "loads other modules, or in another order"


def _keeps(part: Hashable) -> bool:
    """Tell whether something that a definition is made with is a decorator that reads no types."""
    return isinstance(part, tuple) and part[:1] == ("outside",) and part[1] in _KEEPING


def _note_globals(machine: Machine, made: Function | Class) -> None:
    """Note the names of its module that a body may bind, on whatever path."""
    module = made.scope.module
    for name in global_names(made.node):
        where = module.path, made.node.lineno
        machine.written.setdefault((("body", made.name), module.name, name), where)


def _without_name(found: Resolved) -> Resolved:
    return [(reference, means) for reference, means in found if reference.parts != ("__name__",)]


def _aligned(found: Resolved, other: Resolved) -> Resolved:
    """Keep one of each spelling that both have, where a body's imports changed what it has."""
    shared = {reference.parts for reference, _ in other}
    kept = {reference.parts: (reference, means) for reference, means in found}
    return [kept[parts] for parts in sorted(kept) if parts in shared]
