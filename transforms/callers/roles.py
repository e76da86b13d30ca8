"""References in documentation that a tool looks up: Sphinx, MyST, mkdocstrings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

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
