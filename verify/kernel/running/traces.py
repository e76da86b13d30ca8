"""Two runs of one entry, compared: events in their order, what names are bound to, how it ends."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from itertools import takewhile

from verify.kernel.machine.units import BLANKED, FILL, OUTSIDE, Death, Event, Unit
from verify.kernel.machine.values import Module, ModuleValue, key
from verify.kernel.pairs.asked import HOOKS
from verify.kernel.pairs.both import Both
from verify.kernel.pairs.renames import Renames
from verify.kernel.running.entries import Entry
from verify.kernel.running.runs import DONE, LIMIT, RAISED, Run
from verify.kernel.trees import effects
from verify.kernel.trees.words import words
from verify.kernel.verdict import ASSUMED, BASE, BREAKS, OPEN, TARGET, Place

# Names that Python or a tool reads by itself, whoever else does.
READ_BY_TOOLS = words(
    """__getattr__ __dir__ __path__ __all__ __test__ __version__ load_tests pytestmark
    pytest_plugins collect_ignore collect_ignore_glob setup_module teardown_module setup_function
    teardown_function setUpModule tearDownModule"""
)


_MOST_WORLDS = 16  # that are looked through to see whether they are all
_SOME = "an outside call gives what it may"
# Values that are the tree's own, or plain.
_OF_THE_TREE = words(
    """function class definition object instance module own str bytes int float complex bool
    NoneType ellipsis"""
)
_SETUPS = {("call", "setuptools.setup"), ("call", "distutils.core.setup")}
# Built-in functions that do nothing but what their arguments do.
_WITHIN = {*effects.PLAIN, "setattr", "getattr", "delattr", "hasattr"}


@dataclass
class Gains:
    """What modules lost and gained, over all entries."""

    renames: Renames
    lost: dict[str, set[str]] = field(default_factory=dict)
    gained: dict[str, set[str]] = field(default_factory=dict)
    compared: set[tuple[int, int]] = field(default_factory=set)  # units, one of either side
    said: set[Hashable] = field(default_factory=set)

    def apart(self) -> set[str]:
        """Name the modules that have other names than before."""
        return {name for side in (self.lost, self.gained) for name in side if side[name]}

    def names(self, module: str) -> set[str]:
        """Give the names that a module lost or gained."""
        return self.lost.get(module, set()) | self.gained.get(module, set())


class Comparison:
    """Compares the runs of one entry."""

    def __init__(self, both: Both, entry: Entry, one: Run, two: Run, gains: Gains) -> None:
        self.both = both
        self.entry = entry
        self.one, self.two = one, two
        self.gains = gains
        self.compared = False  # whether both runs could be
        self.blank = one.blank or two.blank  # whether one loads what nothing is known of

    def run(self) -> bool:
        """Compare all there is. Tells whether the base's run has got to its end."""
        if self.one.ended == RAISED and self.one.failure and self.one.failure.outside:
            return False  # a world without what the base needs
        if LIMIT in (self.one.ended, self.two.ended):
            place = Place(self.entry.target, 1)
            self._say(OPEN, "it takes too many steps to be followed", place)
            return False
        self.compared = True
        failed = self._ends()
        self._deaths()
        self._events(failed=failed)
        self._modules()
        return self.one.ended == DONE

    def _say(self, kind: str, why: str, *places: Place) -> None:
        """Report what differs once, with the first entry in which it does."""
        if self._first((kind, why, places)) or not places:
            self.both.found.say(kind, str(self.entry), why, *places)

    def _first(self, told: Hashable) -> bool:
        """Tell whether this has not been said of an entry before, and note it."""
        known = told in self.gains.said
        self.gains.said.add(told)
        return not known

    def _ends(self) -> bool:
        """Compare how the runs end. Tells whether the target's fails where the base's did not."""
        one, two = self.one.failure, self.two.failure
        if two is not None and (one is None or (one.error, one.about) != (two.error, two.about)):
            about = two.about or two.outside
            self._say(BREAKS, f"importing it raises {two.error}: {about}", _at(self.two.at))
        elif one is not None and two is None:
            self._say(BREAKS, f"importing it no longer raises {one.error}: {one.about}")
        elif one is not None:
            about = f"{one.error} ({one.about or one.outside})"
            why = f"importing it raises {about}, so what comes after is not compared"
            self._say(OPEN, why, _at(self.one.at))
        return two is not None and one is None

    def _deaths(self) -> None:
        """Compare on which paths a run ends early; what is not installed, `Worlds` compares."""
        known = {_death(death) for death in self.one.deaths}
        for death in self.two.deaths:
            covered = covers(self.one.deaths, death.answers)
            if _death(death) not in known and not covered and not death.outside:
                why = f"where {_SOME}, importing it now raises {death.error}"
                self._say(BREAKS, why, Place(death.path, death.line))
        now = {_death(death) for death in self.two.deaths}
        for death in self.one.deaths:
            alike = [two for two in self.two.deaths if _death(two)[1:] == _death(death)[1:]]
            covered = covers(alike, death.answers)
            if _death(death) not in now and not covered and not death.outside:
                why = f"where {_SOME}, importing it no longer raises {death.error}"
                self._say(BREAKS, why, Place(death.path, death.line, BASE))

    def _events(self, *, failed: bool) -> None:
        """Compare what happens, in order. What a run that `failed` no longer does is no news."""
        one, two = self.one.trace, self.two.trace
        ours, theirs = _acting(_known(one)), _acting(_known(two))
        for a, b in zip(ours, theirs, strict=False):
            if a.what != b.what and not self._installs(a, b):
                self._differs(a, b)
                return
        if self.blank or (failed and len(ours) > len(theirs)):
            return
        if len(ours) != len(theirs):
            longer, side = (ours, BASE) if len(ours) > len(theirs) else (theirs, TARGET)
            event = longer[min(len(ours), len(theirs))]
            now = "no longer" if side == BASE else "now also"
            place = Place(event.path, event.line, side)
            self._say(BREAKS, f"importing it {now} {does(event)}", place)
            return
        self._outside(_imported(one), _imported(two))
        self._fills(_filled(one), _filled(two))

    def _installs(self, one: Event, two: Event) -> bool:
        """Tell whether `setup()` is given the same but for entry points that follow a move."""
        setups = {one.what[:2], two.what[:2]} <= _SETUPS
        return setups and self.gains.renames.same(one.what, two.what)

    def _fills(
        self, ours: dict[Hashable, list[Event]], theirs: dict[Hashable, list[Event]]
    ) -> None:
        """Compare how modules fill what they have made themselves."""
        for made in ours.keys() & theirs.keys():
            first, second = ours[made], theirs[made]
            if [event.what for event in first] != [event.what for event in second]:
                self._differs(first[0], second[0])

    def _differs(self, one: Event, two: Event) -> None:
        places = Place(one.path, one.line, BASE), Place(two.path, two.line)
        self._say(BREAKS, f"importing it {instead(one, two)}", *places)

    def _outside(self, ours: list[list[str]], theirs: list[list[str]]) -> None:
        """Outside imports may change places among themselves, an assumption, past no event."""
        first, second = _flat(ours), _flat(theirs)
        shared = set(first) & set(second)
        for name in dict.fromkeys([*first, *second]):
            if name in shared and _index(ours, name) != _index(theirs, name):
                why = "it is imported on the other side of something that acts outside of the tree"
                if self._first((BREAKS, name, why)):
                    self.both.found.say(BREAKS, name, why, Place(self.entry.target, 1))
        kept = [name for name in first if name in shared]
        if kept != [name for name in second if name in shared]:
            subject, why = "outside imports", "their order does not matter"
            if self._first((ASSUMED, subject, why)):
                self.both.found.say(ASSUMED, subject, why, Place(self.entry.path, 1))

    def _modules(self) -> None:
        """Compare the modules that are there: two units once, whoever loads them."""
        ours, theirs = self.one.by_root, self.two.by_root
        left = [unit for root, unit in ours.items() if not self._compared(unit, theirs.get(root))]
        right = [unit for root, unit in theirs.items() if not self._compared(ours.get(root), unit)]
        before = {name: module for unit in left for name, module in unit.modules.items()}
        after = {name: module for unit in right for name, module in unit.modules.items()}
        for name, module in before.items():
            other = after.get(name)
            if not isinstance(module, Module):
                continue
            if not isinstance(other, Module):
                self._apart(self.gains.lost, name)
                continue
            if "space" in (module.kind, other.kind) and module.kind != other.kind:
                now = "no longer" if other.kind == "space" else "now"
                self._say(BREAKS, f"{name} is {now} a package with an `__init__`")
            self._names(name, module, other)
        for name in after.keys() - before.keys():
            self._apart(self.gains.gained, name)
        for root, unit in ours.items():
            other_unit = theirs.get(root)
            if other_unit is not None and unit.modules.keys() == other_unit.modules.keys():
                self.gains.compared.add((unit.number, other_unit.number))

    def _compared(self, one: Unit | None, two: Unit | None) -> bool:
        if one is None or two is None:
            return False
        return (one.number, two.number) in self.gains.compared

    def _apart(self, side: dict[str, set[str]], name: str) -> None:
        """Note a submodule that only one side has."""
        if "." in name:
            parent, _, last = name.rpartition(".")
            side.setdefault(parent, set()).add(last)

    def _names(self, name: str, module: Module, other: Module) -> None:
        path = other.path or module.path
        title = self.both.name(path) if name == "__main__" else name
        lost = [n for n in module.names if n not in other.names]
        gained = [n for n in other.names if n not in module.names]
        self.gains.lost.setdefault(name, set()).update(lost)
        self.gains.gained.setdefault(name, set()).update(gained)
        vague = self.blank and path not in self.both.changed
        for one in module.names.keys() & other.names.keys():
            if one in self.both.asked.tables.get(path, ()):
                if one not in HOOKS:
                    gained.append(one)  # whoever lists or asks for it finds another
                self.gains.gained[name].add(one)
                continue
            if one == "__all__" or vague:
                continue
            ours, theirs = module.names[one], other.names[one]
            if isinstance(ours, ModuleValue) and isinstance(theirs, ModuleValue):
                continue  # what is read of a module is compared where it is read
            if key(ours) != key(theirs):
                self.both.found.say(
                    BREAKS,
                    f"{title}.{one}",
                    "whoever reads it finds something else than before",
                    Place(path, 1),
                )
        hooks = {n for n in (*lost, *gained) if n.startswith("pytest_") and "conftest" in name}
        for one in sorted(({*lost, *gained} & READ_BY_TOOLS) | hooks):
            if one == "__version__" and "." in title and not path.endswith("__init__.py"):
                continue  # tools ask the package, or are told by a text where it stands
            if one == "__getattr__" and one in gained and path in self.both.asked.kept:
                continue
            if one != "__all__" or one in lost:
                now = "is gone, and" if one in lost else "is new, and"
                self.both.found.say(
                    BREAKS, f"{title}.{one}", f"it {now} Python or a tool reads it", Place(path, 1)
                )


def covers(deaths: Iterable[Death], answers: frozenset[tuple[Hashable, bool]]) -> bool:
    """Tell whether a run ends early in every world that has these answers."""
    known = dict(answers)
    return _fill_all(
        [
            death.answers - answers
            for death in deaths
            if all(known.get(symbol, answer) == answer for symbol, answer in death.answers)
        ]
    )


def _fill_all(worlds: list[frozenset[tuple[Hashable, bool]]]) -> bool:
    """Tell whether some worlds are all that there are."""
    if not all(worlds) or not worlds:
        return bool(worlds)  # one of them asks nothing more, or there is none
    asked = {symbol for world in worlds for symbol, _ in world}
    if len(worlds) > _MOST_WORLDS or len(asked) > _MOST_WORLDS:
        return False
    symbol = min(asked, key=repr)
    return all(
        _fill_all([w - {(symbol, answer)} for w in worlds if (symbol, not answer) not in w])
        for answer in (True, False)
    )


def _death(death: Death) -> tuple[Hashable, ...]:
    return death.answers, death.error, death.about, death.outside


def _known(trace: Iterable[Event]) -> list[Event]:
    """List the events before a module loads of which nothing is known."""
    return list(takewhile(lambda event: event.what[0] != BLANKED, trace))


def _acting(trace: Iterable[Event]) -> list[Event]:
    return [event for event in trace if event.acts]


def _filled(trace: Iterable[Event]) -> dict[Hashable, list[Event]]:
    """List how each object is filled by the module that makes it."""
    found: dict[Hashable, list[Event]] = {}
    for event in trace:
        if event.what[0] == FILL:
            found.setdefault(event.what[1], []).append(event)
    return found


def _imported(trace: Iterable[Event]) -> list[list[str]]:
    """List the outside imports, those between two events that reach the outside together.

    What acts on objects of the tree alone does nothing that an outside module could see.
    """
    found: list[list[str]] = [[]]
    for event in trace:
        if event.what[0] == OUTSIDE:
            found[-1].append(str(event.what[1]))
        elif event.acts and _reaches_outside(event.what):
            found.append([])
    return found


def _reaches_outside(what: Hashable) -> bool:
    """Tell whether an event calls, changes or is handed anything from outside the tree."""
    if isinstance(what, str):
        name = what.removeprefix("builtins.")
        return "." in what and name.partition(".")[0] not in _WITHIN and not what.startswith(".")
    if not isinstance(what, (tuple, frozenset)):
        return False
    if isinstance(what, frozenset) or not what:
        return any(map(_reaches_outside, what))
    if what[0] in _OF_THE_TREE or _is_site(what):
        return False
    held = what[2:] if what[0] in ("list", "tuple", "set", "dict") else what
    return any(map(_reaches_outside, held))


def _is_site(what: tuple[Hashable, ...] | frozenset[Hashable]) -> bool:
    """Tell whether this says which statement of a file acts: the path is no dotted name."""
    if isinstance(what, frozenset) or len(what) != len(("path", "index")):
        return False
    return isinstance(what[0], str) and isinstance(what[1], int)


def _flat(groups: list[list[str]]) -> list[str]:
    return [name for group in groups for name in group]


def _index(groups: list[list[str]], name: str) -> int:
    return next(index for index, group in enumerate(groups) if name in group)


def _at(where: tuple[str, int]) -> Place:
    return Place(*where)


def instead(one: Event, two: Event) -> str:
    """Say what happens now, where something else happened before."""
    was, now = does(one), does(two)
    return f"{now}, with other values than before" if was == now else f"{now} where it {was} before"


_DOES = {
    "change": "changes an object that others may see",
    FILL: "fills a table of its own",
    "class": "makes a class whose base or metaclass acts",
    "set": "sets an attribute of an object",
    "set item": "sets an item of an object",
    "delete": "deletes a name or an attribute",
    "delete item": "deletes an item of an object",
    "unload": "takes a module out of `sys.modules`",
    "reload": "runs a module again",
    "exec": "runs text as code",
    "leaves": "returns",
    "operation": "calls a method of an operator",
    "paths": "acts on some condition",
    "with": "enters a context manager",
    "descriptor": "calls a descriptor",
    "new": "calls `__new__`",
    "create": "makes an object whose base acts",
    "names": "calls `__set_name__`",
    "asks": "asks a module for a name that it lost or gained",
    "not loaded": "asks for a module that is not loaded",
    "many paths": "acts on more conditions than can be followed",
}


def does(event: Event) -> str:
    """Say in words what an event does."""
    kind, about = str(event.what[0]), event.what[1] if len(event.what) > 1 else ""
    if kind in ("call", "method"):
        return f"calls `{_subject(about)}`"
    if kind in ("write", "write outside"):
        return f"sets `{_subject(about)}`"
    if kind == "raises":
        return f"raises {about}"
    if kind == "may be missing":
        return f"needs {about}, which may not be installed"
    return _DOES.get(kind, f"acts ({kind})")


def _subject(about: Hashable) -> str:
    if isinstance(about, str):
        return about.removeprefix("builtins.")
    if isinstance(about, tuple):
        for part in reversed(about):
            if isinstance(part, str) and part:
                return part.lstrip(".")
            if isinstance(part, tuple):
                return _subject(part)
    return "something"
