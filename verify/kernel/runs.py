"""Runs of one entry on both sides, and what is read off them.

A run is a machine that has imported an entry, with how it ended. Runs of the two sides are kept
side by side, so that what follows compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from verify.kernel.both import Both
from verify.kernel.entries import Arrival, Entry, name_of
from verify.kernel.machine import Machine
from verify.kernel.machine.calls import Returned
from verify.kernel.machine.state import Raised, TooMuchError
from verify.kernel.machine.statements import LeftError
from verify.kernel.machine.values import Module
from verify.kernel.tree import Tree, search_path

DONE, RAISED, LIMIT = "done", "raised", "limit"


@dataclass
class Run:
    """One side's run of one entry."""

    machine: Machine
    ended: str = DONE
    failure: Raised | None = None
    at: tuple[str, int] = ("", 0)


@dataclass
class Runs:
    """What is known from all runs of both sides."""

    both: Both
    ran: int = 0  # modules
    lists_subclasses: frozenset[str] = frozenset()  # classes that are asked for those below them
    near: set[str] = field(default_factory=set)  # files from which the change can be reached
    _modules: dict[tuple[str, str], Module | None] = field(default_factory=dict)

    def start(self, tree: Tree, path: str, name: str, *, script: bool) -> Run:
        """Import one entry into an empty machine."""
        folders = search_path(tree, path, script=script)
        machine = Machine(tree, self.both.sites(tree), folders)
        machine.near = self.near
        machine.lists_subclasses = self.lists_subclasses
        run = Run(machine)
        if script:
            module = Module("__main__", path, "script")
            machine.modules["__main__"] = module
            self._follow(run, lambda: machine.run_module(module))
        else:
            self._follow(run, lambda: machine.load(name))
        self.ran += len(machine.modules)
        found = machine.modules.get(name)
        if not script and run.ended == DONE and isinstance(found, Module):
            self._modules.setdefault((tree.side, path), found)
        return run

    def module(self, tree: Tree, path: str) -> Module | None:
        """Give a module as it is when it is what starts, if that run gets to its end."""
        if (tree.side, path) not in self._modules:
            self.start(tree, path, name_of(tree, path), script=False)
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
        run = Run(Machine(tree, self.both.sites(tree), folders))
        run.machine.near = self.near
        run.machine.lists_subclasses = self.lists_subclasses
        for path in paths:
            self._follow(run, partial(run.machine.load, name_of(tree, path)))
        return run

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
        one = self.start(base, entry.path, entry.name, script=entry.script)
        two = self.start(target, entry.target, entry.target_name, script=entry.script)
        return one, two
