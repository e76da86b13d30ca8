"""Examples at a prompt, in docstrings and documents: imports of several lines, and other names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

_LINE = re.compile(r"(?m)^([ \t#*]*)(?:>>>|\.\.\.)[ \t]+(.*)$")
_NAME = r"[^\W\d]\w*"
_WIDTH = 88  # of a line that an import may fill


def aliased(text: str, lost: Mapping[str, Collection[str]]) -> Iterator[tuple[int, str, str]]:
    """Find examples that read what a source lost through a name which an example gave it.

    Gives the line (1-based), the source and the name: `import shop.orders as o`, and `o.Money`.
    """
    known: dict[str, str] = {}
    for found in _LINE.finditer(text):
        known.update(_bound(found[2], lost))
        for name, dotted in known.items():
            for read in re.finditer(rf"(?<![\w.]){re.escape(name)}\.({_NAME})", found[2]):
                if read[1] in lost[dotted]:
                    yield text.count("\n", 0, found.start(2)) + 1, dotted, read[1]


def _bound(code: str, lost: Mapping[str, Collection[str]]) -> Iterator[tuple[str, str]]:
    for dotted in lost:
        package, _, last = dotted.rpartition(".")
        plain = re.search(rf"\bimport[ \t]+{re.escape(dotted)}[ \t]+as[ \t]+({_NAME})", code)
        if plain:
            yield plain[1], dotted
        taken = re.search(
            rf"\bfrom[ \t]+{re.escape(package)}[ \t]+import[ \t]+"
            rf"(?:[\w, \t]{{0,400}},[ \t]*)?{re.escape(last)}(?:[ \t]+as[ \t]+({_NAME}))?(?![\w.])",
            code,
        )
        if package and taken:
            yield taken[1] or last, dotted


def listed(text: str, lead: str) -> list[str] | None:
    """Give the names of an import of several lines, without prompts; None if it holds more."""
    rows = text.split("\n")
    prompt = lead.strip()
    if prompt and any(not row.lstrip().startswith("...") for row in rows[1:]):
        return None
    joined = " ".join(row.lstrip().removeprefix("...") if prompt else row for row in rows)
    items = [" ".join(item.split()) for item in joined.split(",")]
    items = [item for item in items if item]
    fits = all(re.fullmatch(rf"{_NAME}(?: as {_NAME})?", item) for item in items)
    return items if items and fits else None


def laid_out(home: str, items: Sequence[str], lead: str) -> str:
    """An import of names at a prompt: on one line where it fits, else a name a line."""
    row = f"from {home} import {', '.join(items)}"
    if len(lead) + len(row) <= _WIDTH:
        return row
    inner = f"{lead.replace('>>>', '...')}    "
    names = "".join(f"{inner}{item},\n" for item in items)
    return f"from {home} import (\n{names}{lead.replace('>>>', '...')})"
