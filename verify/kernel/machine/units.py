"""Modules as they load, kept for every entry that comes to them.

A module is run once for each state that it can be loaded in. Whatever loads together, a module or
a cycle of them, is one unit; what its run does is kept as a list, and an entry that comes to it
does what stands there.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from verify.kernel.machine.values import Class, Key, Made, Module, Value

# What a trace holds besides what acts: it may change places. A module fills what it has made
# itself, before anybody else runs: nobody can tell when, only in which order.
OUTSIDE, LOAD, FILL = "outside import", "load", "fill"
# A module of which nothing is known has loaded: nobody can tell what else is there from here on.
BLANKED = "blank"
Logged = tuple[dict[str, Any], str, Any]


class Event(NamedTuple):
    """What a statement does beyond binding names, and where."""

    what: tuple[Key, ...]
    path: str
    line: int

    @property
    def acts(self) -> bool:
        """Tell whether it is more than that a module is there now."""
        return self.what[0] not in (OUTSIDE, LOAD, FILL, BLANKED)


class Death(NamedTuple):
    """A path on which a run ends early: the answers that lead there, and what is raised."""

    answers: frozenset[tuple[Key, bool]]
    error: str
    about: str
    outside: str
    path: str
    line: int


@dataclass(eq=False, slots=True)
class Unit:
    """What loads together, and what that does. `mask` is the unit and all units below it."""

    root: str
    number: int
    modules: dict[str, Any]
    ran: dict[str, Hashable]
    definitions: dict[Any, Any]
    events: list[Event] = field(default_factory=list)  # its own; units below, as they are met
    deaths: list[Death] = field(default_factory=list)
    binds: list[tuple[Module, str]] = field(default_factory=list)  # in packages above
    tops: dict[str, object] = field(default_factory=dict)  # where the search path led
    place: int = -1
    mask: int = 0
    names: int = 0  # the modules of all of them
    reads: frozenset[str] = frozenset()  # state of the outside, which others may write
    given: dict[str, Key] = field(default_factory=dict)  # the writes to it, as the unit began
    attributes: frozenset[str] = frozenset()  # of the outside, that it reads itself
    replaced: dict[str, Value] = field(default_factory=dict)  # those that it writes
    began: Mapping[str, Key] = field(default_factory=dict)  # those that were written before it
    blurred: int = 0  # units below that began within it on some path, and did what it does
    under: int = 0  # the same, of all units below
    owners: dict[Made, Class] | None = None  # the classes that functions are methods of


@dataclass(eq=False, slots=True)
class Frame:
    """A module that is being loaded, until it is a unit or a part of another one."""

    name: str
    number: int
    low: int  # the first frame whose modules it has met before they were done
    names: list[str] = field(default_factory=list)
    taken: dict[int, object] = field(default_factory=dict)  # events of units below, by identity
    tops: dict[str, object] = field(default_factory=dict)
    mask: int = 0
    over: int = 0  # names of modules below
    reads: frozenset[str] = frozenset()
    written: dict[str, Key] = field(default_factory=dict)  # state of the outside, as it began
    attributes: set[str] = field(default_factory=set)  # of the outside, that it reads
    replaced: list[str] = field(default_factory=list)  # those that it writes
    began: Mapping[str, Key] = field(default_factory=dict)  # those that were written before it
    blurred: int = 0
    under: int = 0
    into: Frame | None = None
    unit: Unit | None = None

    def top(self) -> Frame:
        """Give the frame that this one has become a part of."""
        found = self
        while found.into is not None:
            found = found.into
        at = self
        while at.into is not None:
            at.into, at = found, at.into
        return found


class Loaded(dict[str, Any]):
    """The modules that are there: those of the units in sight, and those that are loading."""

    def __init__(self, visible: Mapping[str, Unit], index: Mapping[str, list[Unit]]) -> None:
        super().__init__()
        self._visible = visible
        self._index = index
        self._taken: set[str] = set()  # of units, and taken out of `sys.modules`

    def unit(self, name: str) -> Unit | None:
        """Give the unit in sight that a module is of, unless somebody took it out since."""
        if name in self._taken:
            return None
        for unit in self._index.get(name, ()):
            if self._visible.get(unit.root) is unit:
                return unit
        return None

    def loading(self) -> list[str]:
        """List the modules that are of no unit."""
        return [*super().keys()]

    def get(self, name: str, default: Any = None) -> Any:
        """Give a module, if it is there."""
        if super().__contains__(name):
            return super().__getitem__(name)
        unit = self.unit(name)
        return default if unit is None else unit.modules[name]

    def __getitem__(self, name: str) -> Any:
        found = self.get(name)
        if found is None:
            raise KeyError(name)
        return found

    def __setitem__(self, name: str, module: Any) -> None:
        self._taken.discard(name)
        unit = self.unit(name)
        if unit is None or unit.modules[name] is not module:
            super().__setitem__(name, module)

    def __delitem__(self, name: str) -> None:
        if super().__contains__(name):
            super().__delitem__(name)
        if self.unit(name) is not None:
            self._taken.add(name)

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (isinstance(name, str) and bool(self.unit(name)))

    def __iter__(self) -> Iterator[str]:
        units = sorted(self._visible.values(), key=lambda unit: unit.number)
        own = [*super().__iter__()]
        apart = {*own, *self._taken}
        yield from (name for unit in units for name in unit.modules if name not in apart)
        yield from own

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def keys(self) -> Any:
        """List the names."""
        return [*self]

    def values(self) -> Any:
        """List the modules."""
        return [self[name] for name in self]

    def items(self) -> Any:
        """List the names with their modules."""
        return [(name, self[name]) for name in self]
