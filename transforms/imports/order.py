"""Orders: of the names in a statement, and of the statements in a group.

Which one a list follows, and where a new name goes in it.

`isort` is the order that isort and Ruff call order-by-type: constants, classes, the rest, each
without regard to case and with numbers compared as numbers.
"""

from __future__ import annotations

import bisect
import re
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from transforms.imports.names import ImportedName, ImportStyle, NameOrder, StatementOrder

Key = tuple[Any, ...]

_NUMBER = re.compile(r"(\d+)")
ORDERS: tuple[NameOrder, ...] = ("isort", "case-sensitive", "case-insensitive")
_STATEMENT_ORDERS: tuple[StatementOrder, ...] = ("straight first", "from first", "by module")

# Where interpreters differ, a module counts as standard if any of 3.10 to 3.14 has it, so that the
# result does not depend on the interpreter that runs Repot.
_SOMETIMES_STANDARD = frozenset(
    {"aifc", "annotationlib", "asynchat", "asyncore", "audioop", "binhex", "cgi", "cgitb", "chunk"}
    | {"compression", "crypt", "distutils", "imghdr", "imp", "lib2to3", "mailcap", "msilib", "nis"}
    | {"nntplib", "ossaudiodev", "pipes", "smtpd", "sndhdr", "spwd", "sunau", "telnetlib"}
    | {"tomllib", "uu", "xdrlib"}
)
STANDARD_LIBRARY = frozenset(sys.stdlib_module_names) | _SOMETIMES_STANDARD


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """A key that compares runs of digits as numbers: `a2` before `a10`."""
    return tuple(
        (0, int(part), part) if part.isdecimal() else (1, 0, part)
        for part in _NUMBER.split(text)
        if part
    )


def kind_of(name: str) -> int:
    """What isort takes a name for: 0 a constant, 1 a class, 2 anything else."""
    if name.isupper() and len(name) > 1:
        return 0
    return 1 if name[:1].isupper() else 2


def _isort_key(name: str) -> Key:
    return (kind_of(name), natural(name.lower()), name)


def _case_insensitive_key(name: str) -> Key:
    return (name.lower(), name)


def _case_sensitive_key(name: str) -> Key:
    return (name,)


_KEYS: dict[NameOrder, Callable[[str], Key]] = {
    "isort": _isort_key,
    "case-sensitive": _case_sensitive_key,
    "case-insensitive": _case_insensitive_key,
}


def name_key(order: NameOrder) -> Callable[[ImportedName], Key]:
    """The sort key of an order. Equal names are ordered by their alias, the bare one first."""
    key = _KEYS[order]
    return lambda name: (key(name.name), name.asname or "")


def is_sorted(keys: Sequence[Key]) -> bool:
    """Whether the keys never fall."""
    return all(left <= right for left, right in pairwise(keys))


def orders_of(names: Sequence[ImportedName]) -> tuple[NameOrder, ...]:
    """The orders that the names follow; all of them for fewer than two names."""
    return tuple(order for order in ORDERS if is_sorted([name_key(order)(n) for n in names]))


def position(names: Sequence[ImportedName], new: ImportedName, order: NameOrder | None) -> int:
    """Where `new` goes among names that follow an order: after equal ones.

    Among names without an order it goes to the end, or to the end of its kind if the names stand
    kind by kind, as in `List, Any, Optional, cast, overload`.
    """
    if order is None:
        kinds = [kind_of(name.name) for name in names]
        changes = sum(left != right for left, right in pairwise(kinds))
        mine = kind_of(new.name)
        if changes == len(set(kinds)) - 1 and mine in kinds:
            return len(kinds) - kinds[::-1].index(mine)
        return len(names)
    key = name_key(order)
    return bisect.bisect_right([key(name) for name in names], key(new))


def section_of(module: str, first_party: Collection[str] = ()) -> int:
    """0 `__future__`, 1 standard library, 2 third party, 3 first party, 4 relative."""
    if module.startswith("."):
        return 4
    root = module.partition(".")[0]
    if root == "__future__":
        return 0
    if root in STANDARD_LIBRARY:
        return 1
    return 3 if root in first_party else 2


def statement_key(module: str, *, plain: bool, order: StatementOrder, ignore_case: bool) -> Key:
    """The sort key of a statement among those of its section."""
    dots = len(module) - len(module.lstrip("."))
    # isort and Ruff put `..a` before `.a`, and these before what is absolute.
    spelled = f"{module[:dots]}_{module[dots:]}" if dots else module
    by_name = (natural(spelled.lower() if ignore_case else spelled), spelled)
    if order == "by module":
        return (by_name, not plain)
    return (plain == (order == "from first"), by_name)


@dataclass(frozen=True, slots=True)
class Sorting:
    """An order of statements: the words of `ImportStyle`, and what comes first in the key."""

    order: StatementOrder
    ignore_case: bool
    first: Callable[[str], int]

    def key(self, module: str, *, plain: bool) -> Key:
        """The sort key of a statement that imports from `module` (imports it, if `plain`)."""
        rest = statement_key(module, plain=plain, order=self.order, ignore_case=self.ignore_case)
        return (self.first(module), *rest)

    def is_followed(self, statements: Sequence[tuple[str, bool]]) -> bool:
        """Whether statements, each a module and whether it is a plain import, stand in order."""
        return is_sorted([self.key(module, plain=plain) for module, plain in statements])


def sorting_of(statements: Sequence[tuple[str, bool]], style: ImportStyle) -> Sorting | None:
    """The order that statements follow, the style's own if they do; None if they follow none.

    Each is a module as spelled and whether it is a plain import. In a group without blank lines
    relative imports may come last, or one section after the other.
    """
    wanted = (style.statement_order, style.ignore_module_case)
    orders = sorted(
        ((order, ignore) for order in _STATEMENT_ORDERS for ignore in (True, False)),
        key=lambda item: item != wanted,
    )
    for first in (_is_relative, _nothing, section_of):
        for order, ignore in orders:
            sorting = Sorting(order, ignore, first)
            if sorting.is_followed(statements):
                return sorting
    return None


def orders_followed(
    statements: Sequence[tuple[str, bool]],
) -> list[tuple[StatementOrder, bool]]:
    """The orders (and whether they ignore case) in which the statements are sorted."""
    return [
        (order, ignore_case)
        for order in _STATEMENT_ORDERS
        for ignore_case in (True, False)
        if Sorting(order, ignore_case, _nothing).is_followed(statements)
    ]


def _is_relative(module: str) -> int:
    return int(module.startswith("."))


def _nothing(module: str) -> int:
    return 0
