"""Lookups that are decided at run time: open if they can reach what moved, else assumed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress

from verify.kernel.disk import paths
from verify.kernel.disk.tables import alone
from verify.kernel.machine import Machine
from verify.kernel.machine.calls import OF_MODULE
from verify.kernel.machine.imports import ANNOTATIONS, Opening
from verify.kernel.pairs.asked import HOOKS
from verify.kernel.pairs.both import Both
from verify.kernel.pairs.pairing import At
from verify.kernel.running.traces import Gains
from verify.kernel.trees.nodes import walk
from verify.kernel.trees.source import IMPORTS, OpaqueError, stored
from verify.kernel.trees.tree import Tree
from verify.kernel.trees.words import raw, words
from verify.kernel.verdict import ASSUMED, OPEN, Place

_EVERY_MODULE = words("__name__ __doc__ __file__ __path__ __package__ __spec__ __loader__ __all__")


class Lookups:
    """Collects the lookups of all runs and judges them by what they can reach."""

    def __init__(self, both: Both, gains: Gains) -> None:
        self.both = both
        self.gains = gains
        self._seen: dict[Opening, str] = {}
        self.handed: set[str] = set()
        self._users: dict[str, list[str]] = {}  # who imports a file in which a lookup stands

    def note(self, *machines: Machine) -> None:
        """Collect what runs have met."""
        for machine in machines:
            for opening in machine.openings:
                self._seen.setdefault(opening, machine.tree.side)
                if opening[0] == "handed on":
                    self.handed.add(opening[1])

    def report(self) -> None:
        """Judge each."""
        for opening, side in self._seen.items():
            what, whose, path, line = opening
            if path in self.both.asked.makers and self._answers(path, line):
                continue  # what it gives for each name is compared
            place = Place(path, line, side)
            reached = sorted(self._reached(what, whose, path))
            if reached and what == "lists the folder":
                self.both.found.say(OPEN, whose or paths.TOP, paths.LISTED, place)
            elif reached:
                why = f"it {_says(what)}, and can reach {', '.join(reached[:3])}"
                named = whose if whose.strip("*.") else reached[0]
                self.both.found.say(OPEN, named, why, place)
            elif what.startswith(("asks", "imports")):
                apart = sorted(self.gains.apart())
                if apart:
                    why = f"nobody passes what moved to a lookup that {_says(what)}"
                    self.both.found.say(ASSUMED, "lookups", why, place)

    def _answers(self, path: str, line: int) -> bool:
        """Tell whether a line is of a `__getattr__` that a function makes for modules."""
        source = self.both.target.readable(path)
        return any(
            isinstance(node, ast.FunctionDef)
            and node.name in HOOKS
            and node.lineno <= line <= (node.end_lineno or 0)
            for node in (walk(source.tree) if source else ())
        )

    def _reached(self, what: str, whose: str, path: str) -> Iterator[str]:
        kind, _, wanted = what.partition(" ")
        apart = self.gains.apart()
        if kind == "asks":
            modules = [whose] if whose else sorted(self.handed & apart)
            of = wanted.removeprefix(f"{OF_MODULE} ")
            there = self._names_of(of) if of != wanted else None
            for module in modules:
                for name in self.gains.names(module):
                    if fits(wanted, name) if there is None else name in there:
                        yield f"{module}.{name}"
        elif kind == "lists" and wanted.startswith("all but "):
            begins, *kept = wanted.split()[2:]
            taken = (n in kept or not fits(begins, n) for n in self.gains.names(whose))
            if whose in apart and any(taken):
                yield whose
        elif kind == "lists" and wanted.endswith("*"):
            if whose in apart and any(fits(wanted, n) for n in self.gains.names(whose)):
                yield whose
        elif kind == "imports":
            yield from self._imported(whose, path)
        elif what == "lists the folder":
            yield from _listed(self.both.base, self.both.target, whose)
        elif whose in self._minding(what):
            yield whose

    def _names_of(self, module: str) -> set[str] | None:
        """Give all names that a module may have, nothing if nobody can tell."""
        found = {*self.gains.names(module), *_EVERY_MODULE}
        for tree in (self.both.base, self.both.target):
            for path in tree.named.get(module, ()):
                source = tree.readable(path)
                nodes = walk(source.tree) if source is not None else ()
                if any(isinstance(n, IMPORTS) and n.names[0].name == "*" for n in nodes):
                    return None
                found |= {bound for node in nodes for bound in _binds(node)}
            found |= {n.rpartition(".")[2] for n in tree.named if n.startswith(f"{module}.")}
        known = module in self.both.target.named and not self._filled(module)
        return found if known else None

    def _filled(self, module: str) -> bool:
        """Tell whether somebody may give a module more names while a program runs."""
        stem = re.escape(raw(module.rpartition(".")[2]))
        sets = re.compile(
            rb"\b" + stem + rb"\s*\.\s*\w+\s*=(?!=)|\b(?:setattr|vars)\(\s*[\w.]*\b" + stem + rb"\b"
            rb"|\b" + stem + rb"\.__dict__|\b(?:setattr|patch|update)\([^()]*\b" + stem + rb"\b"
        )
        lists = re.compile(rb"\bvars\([\w.]*\b" + stem + rb"\)\.(?:items|keys)\(\)")
        names = (*self.both.base.named.get(module, ()), *self.both.target.named.get(module, ()))
        own = {path for path in names if path in self.both.target.files}
        tree = self.both.target
        return any(b"globals()" in tree.files[path] for path in own) or any(
            sets.search(lists.sub(b"", tree.files[path])) for path in tree.python()
        )

    def _minding(self, what: str) -> set[str]:
        """Name the modules whose change such a lookup sees."""
        apart = self.gains.apart()
        if what == "reloads":
            return apart | self._moved()
        if what == ANNOTATIONS:
            return self._annotated()
        return apart if what in ("lists", "handed on", "runs text") else set()

    def _moved(self) -> set[str]:
        """Name the modules that statements left or came to."""
        return {self.both.name(at[0]) for pair in self.both.pairing.moved() for at in pair}

    def _annotated(self) -> set[str]:
        """Name the modules that annotated names left or came to."""
        pairs = [pair for pair in self.both.pairing.moved() if self._notes(pair[0])]
        return {self.both.name(at[0]) for pair in pairs for at in pair}

    def _notes(self, base: At) -> bool:
        return isinstance(self.both.statement(self.both.base, base).node, ast.AnnAssign)

    def _imported(self, wanted: str, path: str) -> Iterator[str]:
        gone = {
            tree.name(path)
            for tree, other in (
                (self.both.base, self.both.target),
                (self.both.target, self.both.base),
            )
            for path in self.both.changed
            if path in tree.files and path not in other.files and path.endswith(".py")
        }
        lost = {name for name, names in self.gains.lost.items() if names}
        if wanted.strip("*"):
            yield from (name for name in gone | lost if fits(wanted, name))
        else:
            yield from (n for n in gone | lost if n in self.handed or self._spelled(n, path))

    def _spelled(self, name: str, path: str) -> bool:
        """Tell whether a text beside a lookup is a module's name, or one of who imports that."""
        tree = self.both.base
        if name.rpartition(".")[2] == "__main__":
            return False
        if path not in self._users:
            self._users[path] = [p for p in tree.python() if path in tree.imports(p)]
        quoted = raw(f'"{name}"'), raw(f"'{name}'")
        for at in [path, *(self._users[path] if "." in name else ())]:
            if any(text in tree.files.get(at, b"") for text in quoted):
                with suppress(OpaqueError):
                    if alone(tree.source(at).tree, name, self._bound(name)):
                        return True
        return False

    def _bound(self, name: str) -> set[str]:
        """Give the names that a module binds in the base."""
        tree = self.both.base
        bodies = [tree.source(path).tree.body for path in tree.named.get(name, ())]
        return {bound for body in bodies for node in body for bound in stored(node)}


def _binds(node: ast.AST) -> set[str]:
    """Give the names that a statement binds, wherever it stands."""
    return set(stored(node)) if isinstance(node, ast.stmt) else set()


def fits(wanted: str, name: str) -> bool:
    """Tell whether a name may be what a pattern with stars asks for."""
    parts = (re.escape(part) for part in re.split(r"\*|%s|%r|\{\w*\}", wanted))
    return bool(re.fullmatch(".*".join(parts), name))


def _listed(base: Tree, target: Tree, folder: str) -> Iterator[str]:
    for path in base.files.keys() ^ target.files.keys():
        if path.rpartition("/")[0] == folder and path.endswith(".py"):
            yield path


def _says(what: str) -> str:
    if what.startswith("asks"):
        return "asks a module for a name that is put together"
    if what.startswith("lists "):
        what = "lists"
    return {
        "imports": "imports a module whose name is put together",
        "lists": "lists a module's names",
        "handed on": "hands a module on as a value",
        "runs text": "runs text as code",
    }.get(what, what)
