"""Runs of one entry on both sides, and what is read off them.

A run is a machine that has imported an entry, with how it ended. There is one machine for each
side, which keeps what has loaded; a run is read while it is there, and then taken back. What is
read off a unit, or off two of them that belong together, is read once.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from verify.kernel.machine import Machine
from verify.kernel.machine.calls import Returned
from verify.kernel.machine.state import Raised, TooMuchError
from verify.kernel.machine.statements import LeftError
from verify.kernel.machine.units import Death, Event, Unit
from verify.kernel.machine.values import Module
from verify.kernel.pairs.both import Both
from verify.kernel.running.entries import Arrival, Entry, name_of
from verify.kernel.trees.source import DEFINITIONS, IMPORTS, stored
from verify.kernel.trees.tree import Tree, search_path
from verify.kernel.trees.words import words

DONE, RAISED, LIMIT = "done", "raised", "limit"
_PARTIAL = words("ImportError AttributeError NameError")  # where a module is not done


@dataclass
class Run:
    """One side's run of one entry."""

    machine: Machine
    ended: str = DONE
    failure: Raised | None = None
    at: tuple[str, int] = ("", 0)
    units: list[Unit] = field(default_factory=list)  # what is loaded
    trace: list[Event] = field(default_factory=list)
    deaths: list[Death] = field(default_factory=list)

    def read(self) -> Run:
        """Read off what the machine has done."""
        self.units = [*self.machine.visible.values(), self.machine.rest()]
        self.trace, self.deaths = self.machine.trace, self.machine.deaths
        return self

    @cached_property
    def blank(self) -> bool:
        """Tell whether it loads a module of which nothing is known."""
        return self.machine.blanks(self.trace)

    @cached_property
    def blind(self) -> bool:
        """Tell whether it ends for want of a name that a module binds further down.

        What loads first in a cycle of imports hangs on files of which nothing is known.
        """
        failure = self.failure
        if failure is None or failure.error not in _PARTIAL or not self.blank:
            return False
        module, _, name = failure.about.rpartition(".")
        tree = self.machine.tree
        return any(
            name in stored(statement)
            for path in tree.named.get(module, ())
            for statement in tree.source(path).tree.body
            if isinstance(statement, (*DEFINITIONS, *IMPORTS, ast.Assign))
        )

    @cached_property
    def by_root(self) -> dict[str, Unit]:
        """Give the units by the module that each begins with."""
        return {unit.root: unit for unit in self.units}


@dataclass
class Runs:
    """What is known from all runs of both sides."""

    both: Both
    lists_subclasses: frozenset[str] = frozenset()  # classes that are asked for those below them
    blind: set[str] = field(default_factory=set)  # files whose runs end so on one of the sides
    near: set[str] = field(default_factory=set)  # files from which the change can be reached
    _modules: dict[tuple[str, str], Module | None] = field(default_factory=dict)
    _machines: dict[str, Machine] = field(default_factory=dict)

    @property
    def ran(self) -> int:
        """Give how many modules were run."""
        return sum(machine.loaded for machine in self._machines.values())

    def machine(self, tree: Tree) -> Machine:
        """Give the machine of one side."""
        if tree.side not in self._machines:
            machine = Machine(tree, self.both.sites(tree), [""])
            machine.near = self.near
            machine.lists_subclasses = self.lists_subclasses
            self._machines[tree.side] = machine
        return self._machines[tree.side]

    def start(
        self,
        tree: Tree,
        path: str,
        name: str,
        *,
        script: bool,
        folders: Sequence[str] | None = None,
    ) -> Run:
        """Import one entry into an empty machine. `folders` are where Python searches, if told."""
        machine = self.machine(tree)
        known = self.both.base if script and path in self.both.base.files else tree
        machine.begin(search_path(known, path, script=script) if folders is None else folders)
        run = Run(machine)
        if script:
            module = Module("__main__", path, "script")
            self._follow(run, lambda: machine.script(module))
        else:
            self._follow(run, lambda: machine.load(name))
        found = machine.modules.get(name)
        if not script and run.ended == DONE and isinstance(found, Module):
            self._modules.setdefault((tree.side, path), found)
        run.read()
        if run.blind:
            self.blind.add(path)
        return run

    def end(self, *runs: Run) -> None:
        """Take runs back."""
        for run in runs:
            run.machine.end()

    def module(self, tree: Tree, path: str) -> Module | None:
        """Give a module as it is when it is what starts, if that run gets to its end."""
        if (tree.side, path) not in self._modules:
            self.end(self.start(tree, path, name_of(tree, path), script=False))
        return self._modules.setdefault((tree.side, path), None)

    def together(self, arrival: Arrival) -> tuple[Run, Run]:
        """Load where code comes from and, in the target, where it arrives."""
        base, target = self.both.base, self.both.target
        one, two = self._load(base, arrival.origins), self._load(target, arrival.now)
        return one, two

    def _load(self, tree: Tree, paths: Sequence[str]) -> Run:
        folders: list[str] = []
        for path in paths:
            folders += [f for f in search_path(tree, path, script=False) if f not in folders]
        machine = self.machine(tree)
        machine.begin(folders)
        run = Run(machine)
        for path in paths:
            self._follow(run, partial(run.machine.load, name_of(tree, path)))
        return run.read()

    def _follow(self, run: Run, action: Callable[[], object]) -> None:
        try:
            action()
        except Raised as error:
            run.ended, run.failure, run.at = RAISED, error, run.machine.last
        except (TooMuchError, RecursionError):
            run.ended = LIMIT
        except (Returned, LeftError):
            run.ended = RAISED

    def pair(self, entry: Entry) -> tuple[Run, Run]:
        """Run an entry on both sides."""
        base, target = self.both.base, self.both.target
        script = entry.script
        folders = search_path(base, entry.path, script=False) if entry.by_name else None
        one = self.start(base, entry.path, entry.name, script=script, folders=folders)
        two = self.start(target, entry.target, entry.target_name, script=script, folders=folders)
        return one, two
