"""Orders of imported names: which one a list follows, and where a new name goes in it.

`isort` is the order that isort and Ruff call order-by-type: constants, classes, the rest, each
without regard to case and with numbers compared as numbers.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from transforms.import_types import ImportedName, NameOrder

Key = tuple[Any, ...]

_NUMBER = re.compile(r"(\d+)")
ORDERS: tuple[NameOrder, ...] = ("isort", "case-sensitive", "case-insensitive")


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
