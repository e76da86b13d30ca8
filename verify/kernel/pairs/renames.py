"""What moved, by the names that texts give it: `shop.orders:Money`, `shop.orders.Money`."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping

from verify.kernel.pairs.pairing import At
from verify.kernel.trees.source import stored
from verify.kernel.trees.tree import Tree

_NAMED = re.compile(r"(?<![\w.])([A-Za-z_][\w.]*)(\s*[:.]\s*)([A-Za-z_]\w*)")


class Renames:
    """The new names of what moved, and texts that differ by these alone."""

    def __init__(
        self, base: Tree, target: Tree, moved: Iterable[tuple[At, At]], whole: Mapping[str, str]
    ) -> None:
        self._homes: dict[tuple[str, str], str] = {}
        for was, now in moved:
            old, new = base.name(was[0]), target.name(now[0])
            for name in stored(base.source(was[0]).statements[was[1]].node):
                self._homes[old, name] = new
        # Modules that moved whole, by their paths and their names.
        self._whole = dict(whole)
        for one, two in whole.items():
            self._whole[base.name(one)] = target.name(two)
        names = sorted(map(re.escape, self._whole), key=len, reverse=True)
        modules = r"(?<![\w./-])(?:" + "|".join(names) + r")(?![\w/-])"
        self._modules = re.compile(modules) if names else None

    def follow(self, before: str, after: str) -> bool:
        """Tell whether a text became another one by the new names of what moved, and no more."""
        return before == after or _NAMED.sub(self._renamed, before) == after

    def follow_partly(self, before: str, after: str) -> bool:
        """Tell the same where some of the old names may stay: of a text that only describes."""
        whole = self._modules
        told = re.compile(f"(?P<whole>{whole.pattern})|{_NAMED.pattern}") if whole else _NAMED
        return _becomes(before, after, told, self._option)

    def relocated(self, before: str, after: str) -> bool:
        """Tell whether a text became another one by what modules that moved whole are called."""
        whole = self._modules
        return whole is not None and _becomes(before, after, whole, lambda m: self._whole[m[0]])

    def _option(self, match: re.Match[str]) -> str:
        if match.groupdict().get("whole"):
            return self._whole[match[0]]
        again = _NAMED.match(match[0])
        return self._renamed(again) if again else match[0]

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


def _becomes(
    before: str, after: str, told: re.Pattern[str], option: Callable[[re.Match[str]], str]
) -> bool:
    """Tell whether a text is what another one becomes if some of its names are spelled anew."""
    pattern, end = "", 0
    for match in told.finditer(before):
        options = sorted({match[0], option(match)})
        pattern += re.escape(before[end : match.start()])
        pattern += "(?:" + "|".join(map(re.escape, options)) + ")"
        end = match.end()
    return bool(re.fullmatch(pattern + re.escape(before[end:]), after))
