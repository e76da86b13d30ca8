"""References in documentation that a tool looks up: Sphinx, MyST, mkdocstrings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from transforms.move.state import Move

# Bounded: in a long run of such characters each would be tried as the start.
_ROLE = re.compile(r"(?::[\w:+-]{1,80}:|\{[\w:+-]{1,80}\})`([^`]{1,400})`")
_DIRECTIVE = re.compile(
    r"(?m)^[ \t#>]*(?:\.\.[ \t]+[\w:+-]+::|:::|`{3,}\{[\w:+-]+\}|:{3,}\{[\w:+-]+\})[ \t]+([^\r\n]+)"
)
_AUTOREF = re.compile(r"\]\[([^\]\r\n]{1,400})\]")


class Roles:
    """Finds references to names of the given modules."""

    def __init__(self, modules: Iterable[str]) -> None:
        longest_first = sorted(modules, key=lambda name: (-len(name), name))
        self._names = re.compile(
            rf"(?<![\w.])({'|'.join(map(re.escape, longest_first))})\.([^\W\d]\w*)"
        )

    def find(
        self, text: str, start: int = 0, end: int | None = None, *, markdown: bool = False
    ) -> Iterator[re.Match[str]]:
        """Matches of `MODULE.NAME` inside references: group 1 is the module, group 2 the name."""
        stop = len(text) if end is None else end
        seen: set[int] = set()
        for pattern in (_ROLE, _DIRECTIVE, *([_AUTOREF] if markdown else [])):
            for reference in pattern.finditer(text, start, stop):
                for found in self._names.finditer(text, *reference.span(1)):
                    if found.start() not in seen:
                        seen.add(found.start())
                        yield found


class PartialRoles:
    """References that leave out the packages: `.orders.Money` or `orders.Money` in a role."""

    def __init__(self, move: Move) -> None:
        self._move = move
        self._wholes: dict[str, str] = {}
        for source in move.sources:
            parts = source.located.dotted.split(".")
            for first in range(1, len(parts)):
                self._wholes.setdefault(".".join(parts[first:]), source.located.dotted)
        ends = sorted(self._wholes, key=lambda name: (-len(name), name))
        joined = "|".join(map(re.escape, ends))
        self._part = re.compile(rf"(?<![\w.])~?(\.?)({joined})\.([^\W\d]\w*)") if ends else None

    def find(
        self, text: str, start: int = 0, end: int | None = None
    ) -> Iterator[tuple[int, int, str]]:
        """The stretches that name a module in part, and what they are to be instead."""
        if self._part is None:
            return
        for reference in _ROLE.finditer(text, start, len(text) if end is None else end):
            for found in self._part.finditer(text, *reference.span(1)):
                dotted = self._wholes[found[2]]
                home = self._move.named(dotted, found[3])
                if home is None or home == dotted:
                    continue
                left_out = dotted[: len(dotted) - len(found[2])]
                fits = home.startswith(left_out)
                new = found[1] + home[len(left_out) :] if fits else home
                yield found.start(1), found.end(2), new
