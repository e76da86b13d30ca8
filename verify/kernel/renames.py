"""What moved, by the names that texts give it: `shop.orders:Money`, `shop.orders.Money`."""

from __future__ import annotations

import re
from collections.abc import Hashable

from verify.kernel.both import Both
from verify.kernel.source import stored

_NAMED = re.compile(r"(?<![\w.])([A-Za-z_][\w.]*)(\s*[:.]\s*)([A-Za-z_]\w*)")


class Renames:
    """The new names of what moved, and texts that differ by these alone."""

    def __init__(self, both: Both) -> None:
        self._homes: dict[tuple[str, str], str] = {}
        for base, target in both.pairing.moved():
            old, new = both.base.name(base[0]), both.target.name(target[0])
            for name in stored(both.statement(both.base, base).node):
                self._homes[old, name] = new

    def follow(self, before: str, after: str) -> bool:
        """Tell whether a text became another one by the new names of what moved, and no more."""
        return before == after or _NAMED.sub(self._renamed, before) == after

    def follow_partly(self, before: str, after: str) -> bool:
        """Tell the same where some of the old names may stay: of a text that only describes."""
        pattern, end = "", 0
        for match in _NAMED.finditer(before):
            options = {match[0], self._renamed(match)}
            pattern += re.escape(before[end : match.start()])
            pattern += "(?:" + "|".join(map(re.escape, sorted(options))) + ")"
            end = match.end()
        return bool(re.fullmatch(pattern + re.escape(before[end:]), after))

    def _renamed(self, match: re.Match[str]) -> str:
        module, mark, name = match.groups()
        parts = [*module.split("."), name]
        if mark.strip() == ":":
            home = self._homes.get((module, name))
            return f"{home}{mark}{name}" if home else match[0]
        for end in range(len(parts) - 1, 0, -1):  # `a.b.C.method`: the symbol is followed by more
            home = self._homes.get((".".join(parts[:end]), parts[end]))
            if home:
                return ".".join([home, *parts[end:]])
        return match[0]

    def same(self, before: Hashable, after: Hashable) -> bool:
        """Tell whether two keys of values are the same but for texts that follow."""
        if before == after:
            return True
        if not (isinstance(before, tuple) and isinstance(after, tuple)):
            return False
        if len(before) == len(after) == 2 and before[0] == after[0] == "str":
            return self.follow(str(before[1]), str(after[1]))
        return len(before) == len(after) and all(map(self.same, before, after))
