"""Code that asks where something stands, which is what a move changes.

`__module__`, the file, the source or the frame of what moved is another than before. A machine
notes who asks for them, and of what; what did not move has them as it had.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Hashable
from functools import cached_property

from verify.kernel.edits.conserve import symbol
from verify.kernel.machine import Machine
from verify.kernel.machine.frames import WARNED, WARNED_AS_SCRIPT, asks
from verify.kernel.machine.values import Class, Function, Product
from verify.kernel.pairs.both import Both
from verify.kernel.pairs.pairing import At
from verify.kernel.reach.whereabouts import MODULE, ModuleNames, asks_own, said_only
from verify.kernel.running.entries import is_script
from verify.kernel.trees.nodes import children, walk
from verify.kernel.trees.words import words
from verify.kernel.verdict import OPEN, Place

# Who catches warnings, who reads where one came from, who shows them otherwise or once a module.
_CATCHES = re.compile(
    rb"\bcatch_warnings\b|\brecwarn\b|\bwarns\b|\bdeprecated_call\b|\bassertWarns|WarningMessage"
)
_READS = re.compile(rb"\.\s*(?:filename|lineno)\b|[\"'](?:filename|lineno)[\"']")
_SHOWS = re.compile(
    rb"\b(?:showwarning|formatwarning|_showwarnmsg|captureWarnings|__warningregistry__)\b"
    rb"|\b(?:simplefilter|filterwarnings)\((?![\"'](?:error|ignore|always|default|once|all)[\"'])"
    rb"|\bwarnings\.filters\b|\bfilters\.insert\b|\bwarnoptions\b"
)
_SETTINGS = (".toml", ".ini", ".cfg")
_BY_MODULE = re.compile(rb"\bmodule:[^:\n]*:|\bW\s*[\"']?module\b")
_SAME_FILE = words("abspath realpath normpath fspath str Path PurePath resolve absolute")
_FOLDER = words("dirname parent parents with_name")


class Standing:
    """Collects who asks where what moved stands."""

    def __init__(self, both: Both) -> None:
        self.both = both
        self._moved = dict(both.pairing.moved())
        self._names = ModuleNames(both)
        self._left = {both.name(at[0]) for pair in self._moved.items() for at in pair}
        self._said: dict[tuple[str, str], dict[Place, None]] = {}

    def note(self, machine: Machine) -> None:
        """Collect what the runs of a side have asked for."""
        for what, whose, path, line in machine.asked:
            title = self._title(whose)
            if title and what in (WARNED, WARNED_AS_SCRIPT):
                if self._minds_warnings or (what != WARNED and self._may_be_script(whose)):
                    self._say(what, title, Place(path, line, machine.tree.side))
            elif title and not (
                what == MODULE and said_only(self._names, machine.tree, path, line)
            ):
                self._say(what, title, Place(path, line, machine.tree.side))

    @cached_property
    def _minds_warnings(self) -> bool:
        """Tell whether anybody reads where a warning came from, or shows it in another way.

        Else Python prints the file and the line, which are no behaviour.
        """
        tree = self.both.target
        texts = [tree.files[path] for path in tree.python()]
        caught = any(map(_CATCHES.search, texts))
        settings = (data for path, data in tree.files.items() if path.endswith(_SETTINGS))
        shows = any(map(_SHOWS.search, texts)) or any(map(_BY_MODULE.search, settings))
        return shows or (caught and any(map(_READS.search, texts)))

    def _may_be_script(self, whose: Hashable) -> bool:
        """Tell whether what moved stands, or stood, in a file that may be run by itself."""
        while isinstance(whose, tuple) and whose and whose not in self._moved:
            whose = whose[1] if whose[0] == "definition" else whose[0]
        if whose not in self._moved:
            return True
        base, target = whose, self._moved[whose]
        sides = (self.both.base, base[0]), (self.both.target, target[0])
        return any(
            is_script(tree, path) or path.rpartition("/")[0] + "/__init__.py" not in tree.files
            for tree, path in sides
        )

    def report(self) -> None:
        """Report who asks."""
        for target in self._moved.values():
            self._file(target)
        for (what, title), places in self._said.items():
            why = f"code that runs asks for {what}, and the move changes the answer"
            self.both.found.say(OPEN, title, why, *places)

    def _say(self, what: str, title: str, place: Place) -> None:
        self._said.setdefault((what, title), {})[place] = None

    def _title(self, whose: Hashable) -> str:
        """Give the name of a definition, statement or module, if it is no longer what it was."""
        if isinstance(whose, str):
            return whose if whose in self._left else ""
        while isinstance(whose, tuple) and whose and whose not in self._moved:
            whose = whose[1] if whose[0] == "definition" else whose[0]
        if whose in self._moved:
            return self._called(whose)
        return ""

    def _called(self, base: At) -> str:
        """Name a statement of the base as somebody imports it now."""
        node = self.both.statement(self.both.base, base).node
        return f"{self.both.name(self._moved[base][0])}.{symbol(node)}"

    def inherited(self, machine: Machine, made: Function | Class) -> None:
        """A class that moved has methods of classes that may ask their object for its module."""
        title = self._title(made.name) if isinstance(made, Class) else ""
        for of in machine.above(made) if title else ():
            for held in of.attributes.values():
                method = held.wraps if isinstance(held, Product) else held
                if isinstance(method, Function) and _asks_own(method.node):
                    place = Place(method.scope.module.path, method.node.lineno, machine.tree.side)
                    self._say("the `__module__` of its object", title, place)

    def _file(self, at: At) -> None:
        """Moved code that reads the path of its file, and more of it than the folder."""
        node = self.both.statement(self.both.target, at).node
        above = {child: parent for parent in walk(node) for child in children(parent)}
        for name in walk(node):
            if isinstance(name, ast.Name) and name.id == "__file__" and not _folder(name, above):
                title = f"{self.both.name(at[0])}.{symbol(node)}"
                self._say("`__file__`", title, Place(at[0], name.lineno))


def _asks_own(method: ast.AST) -> bool:
    return bool(asks(method) & {"__module__"}) and asks_own(method)


def _folder(name: ast.AST, above: dict[ast.AST, ast.AST]) -> bool:
    """Tell whether of a path nothing but the folder is used."""
    at = above.get(name)
    while at is not None:
        called = at.func if isinstance(at, ast.Call) else at
        last = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if last in _FOLDER:
            return True
        if last not in _SAME_FILE:
            return False
        at = above.get(at)
    return False
