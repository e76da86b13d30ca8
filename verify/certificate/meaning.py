"""What a name may mean: the definitions behind it, each on its conditions.

A definition is named after the base's statement that holds it, so meanings compare across trees.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from typing import Any, NamedTuple

Key = tuple[str, int]  # a statement: its path in the base (or `+path` if only the target has it)
What = tuple[Any, ...]  # ("def", key, name, ordinal), ("mod", stem), ("ext", dotted), ...

# What a module has without binding it.
BUILTINS = frozenset(dir(builtins))
SPECIAL = {
    *("__name__", "__file__", "__package__", "__spec__", "__path__", "__loader__", "__doc__"),
    *("__dict__", "__annotations__", "__builtins__", "__cached__", "__module__"),
}
# Of these, what a module has wherever it stands; `__file__` is looked at where it is used.
GOES_ALONG = {"__path__", "__dict__", "__annotations__", "__builtins__", "__file__"}


class Look(NamedTuple):
    """How to look a name up."""

    hint: bool = False  # also under TYPE_CHECKING
    deep: bool = False  # into unchanged modules as well
    limit: int | None = None  # only at what this statement and those above it bind


RUN = Look()


class Alternative(NamedTuple):
    """One definition a name may have. `rest` are the attributes that no module answered."""

    guards: tuple[Any, ...]
    what: What
    rest: tuple[str, ...] = ()

    def under(self, guards: tuple[Any, ...]) -> Alternative:
        """Give the same on further conditions."""
        return self._replace(guards=(*guards, *self.guards)) if guards else self


class Meaning(NamedTuple):
    """All definitions a name may have."""

    alternatives: tuple[Alternative, ...]
    snapshot: int = 0  # a `from` import has copied one of them: 1 on loading, 2 on each call
    loaded: object = None  # what loads a dotted name outside of the tree, or fails to within

    @property
    def whats(self) -> frozenset[tuple[What, tuple[str, ...]]]:
        """Give the definitions, whatever their conditions."""
        return frozenset((a.what, a.rest) for a in self.alternatives)

    @property
    def sure(self) -> bool:
        """Tell whether the module binds the name at all."""
        return self.alternatives[0].what[0] not in {"free", "builtin"}

    def equals(self, other: Meaning, *, hint: bool) -> bool:
        """Tell whether a meaning in the other tree is the same.

        A name that a function rebinds must also be read the same way: live, or as it once was.
        """
        if hint:
            return self.whats == other.whats
        rebound = any(a.what[0] in {"later", "at"} for a in self.alternatives)
        return self.alternatives == other.alternatives and (
            self.snapshot == other.snapshot or not rebound
        )

    def __str__(self) -> str:
        """Name the meaning for a reader."""
        words = []
        for guards, what, rest in self.alternatives:
            kind, parts = what[0], [str(what[1]), *rest]
            if kind in {"def", "later", "del"}:
                words.append(f"{'.'.join((what[2], *rest))} of {what[1][0].removeprefix('+')}")
            elif kind in {"at", "missing", "dynamic"}:
                words.append(".".join([*map(str, what[1:3]), *rest]))
                words[-1] += ", which is missing" if kind == "missing" else ""
            else:
                words.append("nothing" if kind == "free" else ".".join(parts))
            words[-1] += " of Python" if kind == "builtin" else ""
            words[-1] += " on a condition" if guards else ""
        return " or ".join(dict.fromkeys(words))


def one(*what: Any) -> Meaning:
    """Give the meaning that is one thing for sure."""
    return Meaning((Alternative((), what),))


def either(meanings: list[Meaning]) -> Meaning:
    """Give what may be any of several."""
    whole = tuple(a for meaning in meanings for a in meaning.alternatives)
    several = Meaning(whole, max(meaning.snapshot for meaning in meanings))
    return meanings[0] if len(meanings) == 1 else several


def distinct(found: list[Alternative]) -> tuple[Alternative, ...]:
    """Drop repeated imports of one thing, also those on a condition where one has none."""
    sure = {a.what for a in found if not a.guards and a.what[0] not in {"def", "later", "del"}}
    return tuple(dict.fromkeys(a for a in found if not (a.guards and a.what in sure)))


def outer(what: What, attrs: Iterable[str]) -> str:
    """Give the full name of something outside, and an empty one of anything else."""
    return ".".join((str(what[1]), *attrs)) if what[0] == "ext" else ""
