"""How modules are kept once they have loaded, and how an entry takes them over.

A module loads in a frame of its own: no answer, no `try` and no event of whoever imports it is seen
in there. If all it has met was done before, or was loaded by itself, what it did is a unit. Else it
is a part of what was loading around it. What depends on more than what it loads (a write to what
another module made, a submodule that somebody else imported) is never kept: it is run for each
entry that comes to it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

from verify.kernel.machine.state import MOST_STEPS, Path, Raised, State, TooMuchError
from verify.kernel.machine.units import (
    BLANKED,
    FILL,
    LOAD,
    OUTSIDE,
    Death,
    Event,
    Frame,
    Loaded,
    Unit,
)
from verify.kernel.machine.values import (
    NONE,
    UNBOUND,
    Choice,
    Function,
    Key,
    Module,
    ModuleValue,
    Outside,
    Unknown,
    Value,
    key,
)
from verify.kernel.trees.effects import STANDARD
from verify.kernel.trees.tree import Found, Tree

_UNWRITTEN: Key = key(NONE)
MOST_UNITS = 16  # that one module is of: the states that it can be loaded in


class Loads(State):
    """The part of the machine that knows what has loaded."""

    def __init__(self, tree: Tree, folders: Sequence[str]) -> None:
        super().__init__()
        self.tree = tree
        self.folders = list(folders)
        self.visible: dict[str, Unit] = {}  # the units that the present entry has come to
        self.index: dict[str, list[Unit]] = defaultdict(list)  # units by their modules
        self.units: list[Unit] = []
        self.modules: Loaded = Loaded(self.visible, self.index)
        self.frames = [self.frame]
        self.homes: dict[str, tuple[Hashable, ...]] = {}  # which statement binds a module's name
        self.replaced: dict[str, Value] = {}  # attributes of the outside that were written
        self.versions: dict[str, Value] = {}  # how often outside state was written
        self.outside: dict[str, Value] = {}  # outside modules that were imported
        self.ran: dict[str, Hashable] = {}  # statements that were run
        self.definitions: dict[object, object] = {}
        self.only_imports = 0  # how many of the `try` around what runs hold imports alone
        self.reads: Callable[[Module, str], None] | None = None
        self.reader: Function | None = None  # whose body is being read with unknown arguments
        self.inner: list[Function] | None = None  # what a body that is read makes
        self.yielded: list[Value] | None = None  # of the generator that runs, all at once
        self.changed = 0  # units whose modules the present entry has changed
        self.slots = 0  # how often a submodule was read off its package that another one imported
        self.loaded = 0  # modules that were run: what the work is measured by
        common = self.modules, self.visible, self.homes, self.versions, self.replaced
        self._common = {id(space) for space in common}
        self._bits: dict[str, int] = {}
        self._loading = 0  # the names of modules that are of no unit
        self._several = 0  # units of modules that are of several
        self._frame_of: dict[str, Frame] = {}
        self._started = 0
        self._endless: set[str] = set()
        self._replacing: dict[tuple[int, frozenset[str]], bool] = {}
        self._replacements: dict[Hashable, tuple[Mapping[str, Key], list[Value]]] = {}
        self._led: dict[tuple[int, tuple[str, ...]], bool] = {}
        self._blank: dict[int, bool] = {}  # units with modules of which nothing is known

    # --- entries ---

    def begin(self, folders: Sequence[str]) -> None:
        """Begin another entry: nothing is loaded, but what was kept is at hand."""
        self.folders = list(folders)

    def end(self) -> None:
        """Take an entry back. What it made itself stays as it is, for whoever holds it."""
        for space, name, old in reversed(self.log):
            holder = self._born.get(id(space))
            if id(space) in self._common or (holder and holder[2].top().unit is not None):
                if old is UNBOUND:
                    space.pop(name, None)
                else:
                    space[name] = old
        for made in self._new:
            if made in self._born and self._born[made][2].top().unit is None:
                del self._born[made]
        self._new.clear()
        self.log.clear()
        self.frame = Frame("", 0, 0)
        self.frames = [self.frame]
        self._frame_of.clear()
        self.trace, self.deaths, self.given, self.answers, self.at = [], [], {}, {}, [("", 0)]
        self.ran, self.definitions, self.outside = {}, {}, {}
        self.changed = self._loading = self.steps = self.tries = self.only_imports = 0
        dict.clear(self.modules)

    def script(self, module: Module) -> None:
        """Run a file as a script: it is a part of the entry."""
        self._sit("__main__", module, self.frame)
        self.run_module(module)

    def run_module(self, module: Module) -> None:
        """Run a module's statements."""
        raise NotImplementedError

    def rest(self) -> Unit:
        """Give what the present entry has loaded and nobody keeps."""
        self._started += 1
        loading = {name: self.modules[name] for name in self.modules.loading()}
        return Unit("", self._started, loading, self.ran, self.definitions)

    # --- frames ---

    def stain(self) -> None:
        """Note that what is loading depends on more than what it loads itself."""
        self.frame.low = 0

    def reached(self, space: dict[str, object], name: str) -> None:
        """Note that a change reaches what the module that is loading has not made."""
        if id(space) in self._common:
            if space is self.modules and name not in self.frame.names:
                self._installed(name)
            if space is self.replaced:
                self.frame.replaced.append(name)
            return
        holder = self._born.get(id(space))
        if holder is None:
            return  # the names of a body that is read
        frame = holder[2].top()
        if name == "(used)" and frame.unit is not None:
            return  # how often a logger was used: what is done to it is an event, which is kept
        if frame.unit is not None:
            self.changed |= 1 << frame.unit.place
            self.stain()
        elif frame is not self.frame:
            self.frame.low = min(self.frame.low, frame.number)

    def _installed(self, name: str) -> None:
        """Note that a module puts another one into `sys.modules`, as if that loaded within it.

        One that is there already, or that lies in a package of the tree, is not its own.
        """
        inside = "." in name and self.tree.find(name.partition(".")[0], self.folders) is not None
        if inside or name in self._frame_of or self.modules.unit(name) is not None:
            self.stain()
            return
        self._frame_of[name] = self.frame
        self._loading |= self.bit(name)
        self.frame.names.append(name)

    def bit(self, name: str) -> int:
        """Give the bit that stands for a module's name."""
        return self._bits.setdefault(name, 1 << len(self._bits))

    def met(self, name: str) -> None:
        """Note that what is loading finds a module that is there."""
        unit = None if dict.__contains__(self.modules, name) else self.modules.unit(name)
        if unit is not None:
            self._below(unit)
            return
        frame = self._frame_of.get(name)
        if frame is None:
            self.stain()
        elif frame.top() is not self.frame:
            self.frame.low = min(self.frame.low, frame.top().number)

    def _below(self, unit: Unit) -> None:
        frame = self.frame
        frame.mask |= unit.mask
        frame.under |= unit.under
        frame.over |= unit.names
        frame.reads |= unit.reads
        frame.tops.update(unit.tops)
        self.trace.append(Event((LOAD, unit), "", 0))

    def isolated(self, name: str, module: Module, action: Callable[[], None]) -> None:
        """Load a module, apart from whoever imports it."""
        if name in self._endless:
            raise TooMuchError
        self.loaded += 1
        self._started += 1
        frame = Frame(name, self._started, self._started)
        frame.written = {state: key(wrote) for state, wrote in self.versions.items()}
        frame.began = self._replaced_now()
        outer = self._away(frame)
        self._sit(name, module, frame)
        failed = True
        try:
            action()
            failed = False
        except TooMuchError:
            self._endless.add(name)
            raise
        finally:
            if failed:
                self._leave(name)
            try:
                self._back(frame, outer, failed=failed)
            except Raised:
                self._leave(name)
                raise

    def _sit(self, name: str, module: object, frame: Frame) -> None:
        self._frame_of[name] = frame
        self._loading |= self.bit(name)
        frame.names.append(name)
        self.rebind(self.modules, name, module)

    def _leave(self, name: str) -> None:
        self.rebind(self.modules, name, UNBOUND)

    _AWAY = (
        *("trace", "deaths", "given", "answers", "_asked", "tries", "only_imports", "probing"),
        *("reads", "reader", "inner", "outside", "ran", "definitions", "steps", "most_steps"),
        "yielded",
    )

    def _away(self, frame: Frame) -> tuple[dict[str, object], int, int, tuple[str, ...]]:
        kept = {name: getattr(self, name) for name in self._AWAY}
        mark = len(self.log), len(self._new)
        self.trace, self.deaths, self.given, self.answers, self._asked = [], [], {}, {}, None
        self.tries = self.only_imports = self.steps = 0
        self.probing, self.reads, self.reader, self.inner = False, None, None, None
        self.yielded = None
        self.outside, self.ran, self.definitions = {}, {}, {}
        self.most_steps = MOST_STEPS
        self.frames.append(frame)
        self.frame = frame
        for made in (self.outside, self.ran, self.definitions):
            self.space(made)  # type: ignore[arg-type]
        return kept, *mark, tuple(self.folders)

    def _back(
        self,
        frame: Frame,
        outer: tuple[dict[str, object], int, int, tuple[str, ...]],
        *,
        failed: bool,
    ) -> None:
        kept, log, new, folders = outer
        if tuple(self.folders) != folders:
            self.stain()
        done = self.trace, self.deaths, self.ran, self.definitions
        del self.frames[self.frames.index(frame) :]  # with what a stack that overflowed has left
        for name, value in kept.items():
            setattr(self, name, value)
        self.frame = self.frames[-1]
        if failed or frame.low < frame.number or not self._may_stay(frame):
            self._merge(frame, *done)
            return
        unit = self._keep(frame, log, new, *done)
        self.frame.taken.update((id(one), one) for one in (*done[0], *done[1]))
        self.rebind(self.visible, unit.root, unit)
        self._below(unit)
        try:
            self._follow(done[0], done[1])
        except Raised:
            self.rebind(self.visible, unit.root, UNBOUND)
            raise

    def _may_stay(self, frame: Frame) -> bool:
        """Tell whether what was loaded is the same for whoever comes to it."""
        if frame.mask & self.changed:
            return False
        return all(len(self.index[name]) < MOST_UNITS for name in frame.names)

    def _merge(
        self,
        frame: Frame,
        trace: list[Event],
        deaths: list[Death],
        ran: dict[str, Hashable],
        definitions: dict[object, object],
    ) -> None:
        """Make what was loaded a part of what loads around it."""
        around = self.frame
        frame.into = around
        around.low = min(around.low, frame.low if frame.low < frame.number else around.low)
        around.names += frame.names
        around.taken |= frame.taken
        around.tops.update(frame.tops)
        around.mask |= frame.mask
        around.blurred |= frame.blurred
        around.under |= frame.under
        around.over |= frame.over
        around.reads |= frame.reads
        around.attributes |= frame.attributes
        around.replaced += frame.replaced
        for at, site in ran.items():
            self.rebind(self.ran, at, site)
        for name, made in definitions.items():
            self.rebind(self.definitions, name, made)  # type: ignore[arg-type]
        self._follow(trace, deaths)

    def _keep(
        self,
        frame: Frame,
        log: int,
        new: int,
        trace: list[Event],
        deaths: list[Death],
        ran: dict[str, Hashable],
        definitions: dict[object, object],
    ) -> Unit:
        """Make a unit of what was loaded, and forget how it came about."""
        modules = {name: self.modules[name] for name in frame.names if name in self.modules}
        unit = Unit(frame.name, frame.number, modules, ran, definitions)
        unit.events = [event for event in trace if id(event) not in frame.taken]
        unit.deaths = [death for death in deaths if id(death) not in frame.taken]
        unit.place = len(self.units)
        self.units.append(unit)
        unit.mask = frame.mask | 1 << unit.place
        unit.blurred, unit.under = frame.blurred, frame.under
        unit.names = frame.over
        unit.reads, unit.tops = frame.reads, frame.tops
        unit.given = {state: frame.written.get(state, _UNWRITTEN) for state in frame.reads}
        unit.attributes, unit.began = frozenset(frame.attributes), frame.began
        kept = (name for name in frame.replaced if name in self.replaced)  # on some path
        unit.replaced = {name: self.replaced[name] for name in kept}
        frame.unit = unit
        frame.taken = {}
        for name in modules:
            unit.names |= self.bit(name)
            self._loading &= ~self.bit(name)
            dict.pop(self.modules, name, None)
            self._frame_of.pop(name, None)
            self.index[name].append(unit)
            head, _, last = name.rpartition(".")
            above = self.modules.get(head) if head and head not in modules else None
            if isinstance(above, Module):
                unit.binds.append((above, last))
            if len(self.index[name]) > 1:
                for other in self.index[name]:
                    self._several |= 1 << other.place
        del self._new[new:]
        self.log[log:] = [entry for entry in self.log[log:] if not self._own(entry[0], frame)]
        return unit

    def _own(self, space: dict[str, object], frame: Frame) -> bool:
        if space is self.visible or space is self.versions or space is self.replaced:
            return False  # of the entry
        holder = self._born.get(id(space))
        return id(space) in self._common or (holder is not None and holder[2].top() is frame)

    def forget(self, name: str) -> None:
        """Take a module out of what is there, with those that loaded with it."""
        unit = None if dict.__contains__(self.modules, name) else self.modules.unit(name)
        self.stain()
        if unit is not None:
            self.rebind(self.visible, unit.root, UNBOUND)
        else:
            self.remove(self.modules, name)

    # --- units ---

    def fitting(self, name: str) -> Unit | None:
        """Give the unit that begins with a module, if one fits what is there."""
        for unit in self.index.get(name, ()):
            if unit.root == name and self._fits(unit):
                return unit
        return None

    def _fits(self, unit: Unit) -> bool:
        if unit.mask & self.changed or (unit.names & self._loading and self._overlaps(unit)):
            return False
        if (self.replaced or unit.began) and self._reads_replaced(unit):
            return False
        if any(self._wrote(state) != wrote for state, wrote in unit.given.items()):
            return False
        if unit.mask & self._several and not self._apart(unit.mask):
            return False
        if unit.under and any(name in self.modules for name in self._modules_of(unit.under)):
            return False  # what they did there has been done here
        where = unit.number, tuple(self.folders)
        if where not in self._led:
            led = (self.top(name) == found for name, found in unit.tops.items())
            self._led[where] = all(led)
        return self._led[where]

    def _modules_of(self, mask: int) -> Iterable[str]:
        return (name for unit in self.below(mask) for name in unit.modules)

    def blurred(self, done: list[Path], events: list[Event]) -> None:
        """Note which units began on some path only: what they did is told by what loads them."""
        mask = 0
        for path in done:
            for event in path.trace:
                mask |= event.what[-1].mask if isinstance(event.what[-1], Unit) else 0
        begun = [unit for unit in self.below(mask) if self.visible.get(unit.root) is not unit]
        wrote = any(event.what[0] == "write outside" for event in events)
        if wrote or any(unit.replaced for unit in begun):
            self.stain()
            return
        for death in (death for path in done for death in path.deaths):
            self.frame.taken.pop(id(death), None)
        for unit in begun:
            self.frame.blurred |= 1 << unit.place
        self.frame.under |= self.frame.blurred

    def _overlaps(self, unit: Unit) -> bool:
        """Tell whether a module of a unit is there and of no unit, what was taken back left out."""
        self._loading = 0
        for name in self.modules.loading():
            self._loading |= self.bit(name)
        return bool(unit.names & self._loading)

    def _wrote(self, state: str) -> Key:
        """Give the writes to a state of the outside so far."""
        wrote = self.versions.get(state)
        return _UNWRITTEN if wrote is None else key(wrote)

    def _replaced_now(self) -> Mapping[str, Key]:
        """Give the attributes of the outside that were written so far, and with what."""
        where = tuple((name, id(value)) for name, value in self.replaced.items())
        if where not in self._replacements:
            keys = {name: key(value) for name, value in self.replaced.items()}
            self._replacements[where] = keys, [*self.replaced.values()]  # so that ids stay theirs
        return self._replacements[where][0]

    def top(self, name: str) -> Found | None:
        """Look for a module that is imported by one name."""
        found = self.tree.find(name, self.folders)
        if found is not None and found.kind == "space" and name in STANDARD:
            return None  # Python's own wins over a folder without `__init__`
        return found

    def _reads_replaced(self, unit: Unit) -> bool:
        """Tell whether a unit, or one below, reads what was not written as when it began."""
        now = self._replaced_now()
        if now == unit.began:
            return False
        names = frozenset(
            n for n in now.keys() | unit.began.keys() if now.get(n) != unit.began.get(n)
        )
        where = unit.place, names
        if where not in self._replacing:
            below = self.below(unit.mask)
            self._replacing[where] = any(not one.attributes.isdisjoint(names) for one in below)
        return self._replacing[where]

    def _apart(self, mask: int) -> bool:
        """Tell whether no module of some units is there as one of another unit."""
        for unit in self.below(mask & self._several):
            for name in unit.modules:
                if self.modules.unit(name) not in (None, unit):
                    return False
        return True

    def below(self, mask: int) -> Iterable[Unit]:
        """List the units of a mask."""
        while mask:
            low = mask & -mask
            yield self.units[low.bit_length() - 1]
            mask ^= low

    def blanks(self, events: Iterable[Event]) -> bool:
        """Tell whether a module of which nothing is known loads in the course of some events."""
        return any(
            event.what[0] == BLANKED or (event.what[0] == LOAD and self._is_blank(event.what[1]))  # type: ignore[arg-type]
            for event in events
        )

    def _is_blank(self, unit: Unit) -> bool:
        if unit.place not in self._blank:
            told = (event for one in self.below(unit.mask) for event in one.events)
            self._blank[unit.place] = any(event.what[0] == BLANKED for event in told)
        return self._blank[unit.place]

    def take(self, unit: Unit) -> None:
        """Do what a unit does as it loads, and what those below it do that are not there yet."""
        self._adopt(unit)
        self._below(unit)

    def _adopt(self, unit: Unit, *, quiet: bool = False) -> None:
        if self.visible.get(unit.root) is unit:
            return
        self.rebind(self.visible, unit.root, unit)
        for below in self.below(unit.blurred):
            self._adopt(below, quiet=True)
        events = [e for e in unit.events if (not e.acts and e.what[0] != FILL) or not quiet]
        try:
            self._follow(events, () if quiet else unit.deaths, unit)
        except Raised:
            self.rebind(self.visible, unit.root, UNBOUND)
            raise
        for name, written in unit.replaced.items():
            self.rebind(self.replaced, name, written)
        for package, last in unit.binds:
            value = unit.modules[f"{package.name}.{last}"]
            self.bind_submodule(package, last, value)

    def bind_submodule(self, package: Module, last: str, known: object) -> None:
        """Bind a module that has loaded in the package that it lies in."""
        full = f"{package.name}.{last}"
        self.rebind(package.names, last, self.as_value(known))
        self.rebind(self.homes, f"{package.name}:{last}", ("submodule", full))

    def as_value(self, known: object) -> Value:
        """Give what stands in `sys.modules` as a value."""
        if isinstance(known, Module):
            return ModuleValue(known)
        return known if isinstance(known, Value) else UNBOUND

    def _follow(
        self, events: Iterable[Event], deaths: Iterable[Death], taken: Unit | None = None
    ) -> None:
        """Let events happen that happened when something was loaded apart."""
        for event in events:
            if event.what[0] == LOAD:
                below = event.what[1]
                if taken and isinstance(below, Unit):
                    self._adopt(below)
                elif not taken and id(event) not in self.frame.taken:
                    self.trace.append(event)
                continue
            if event.what[0] == OUTSIDE:
                name = str(event.what[1])
                if name in self.outside:
                    continue
                asked: Key = "has", name.partition(".")[0]
                self.rebind(self.outside, name, Choice(asked, Outside(name), UNBOUND))
            if taken:
                self.frame.taken[id(event)] = event
                self._again(event, taken)
            self.trace.append(event)
        for death in deaths:
            if taken:
                self.frame.taken[id(death)] = death
            self._die_again(death)

    def _again(self, event: Event, unit: Unit) -> None:
        """Write state of the outside again."""
        wrote = event.what[0] == "write outside" and len(event.what) == 3
        if wrote and event.what[1] not in unit.replaced:
            name = str(event.what[1])
            before = key(self.versions[name]) if name in self.versions else ("NoneType", "None")
            self.rebind(self.versions, name, Unknown((before, event.what[2])))

    def _die_again(self, death: Death) -> None:
        if any(self.given.get(symbol, answer) != answer for symbol, answer in death.answers):
            return
        if self.probing:
            return
        if self.tries:
            if all(self.ask(symbol, not answer) == answer for symbol, answer in death.answers):
                raise Raised(death.error, death.about, death.outside)
            return
        answers = {**self.answers, **dict(death.answers)}
        if any(self.answers.get(symbol, answer) != answer for symbol, answer in death.answers):
            return
        told = frozenset(answers.items())
        again = death if told == death.answers else death._replace(answers=told)
        if again is not death and id(death) in self.frame.taken:
            self.frame.taken[id(again)] = again
        self.deaths.append(again)
        if len(answers) == 1:
            [(symbol, answer)] = answers.items()
            self.given[symbol] = not answer
