"""Runs of one entry on both sides, and what is read off them.

A run is a machine that has imported an entry, with how it ended. Runs of the two sides are kept
side by side, so that what follows compares them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from verify.kernel.both import Both
from verify.kernel.entries import Entry
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
    seen: set[str] = field(default_factory=set)

    def start(self, tree: Tree, path: str, name: str, *, script: bool) -> Run:
        """Import one entry into an empty machine."""
        folders = search_path(tree, path, script=script)
        machine = Machine(tree, self.both.sites(tree), folders)
        run = Run(machine)
        try:
            if script:
                module = Module("__main__", path, "script")
                machine.modules["__main__"] = module
                machine.run_module(module)
            else:
                machine.load(name)
        except Raised as error:
            run.ended, run.failure, run.at = RAISED, error, machine.last
        except (TooMuchError, RecursionError):
            run.ended = LIMIT
        except (Returned, LeftError):
            run.ended = RAISED
        self.ran += len(machine.modules)
        return run

    def pair(self, entry: Entry) -> tuple[Run, Run]:
        """Run an entry on both sides."""
        base, target = self.both.base, self.both.target
        one = self.start(base, entry.path, entry.name, script=entry.script)
        two = self.start(target, entry.target, entry.target_name, script=entry.script)
        return one, two
