"""Which module a patch of a global must name after a move.

A patch replaces a name in one module, and takes effect for the code that looks the name up there.
After the move that code may lie in another module, or in two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from transforms.move.cut import Cut

ELSEWHERE = "patch of another global"
SHARED = "patch of a shared global"


@dataclass(frozen=True, slots=True)
class Patch:
    """`module`: which one to name instead (None: leave it), and a note's kind and message."""

    module: str | None = None
    kind: str = ""
    message: str = ""


class Patches:
    """Answers for the sources of one move."""

    def __init__(self, cuts: Sequence[Cut]) -> None:
        self._cuts = {cut.source.located.dotted: cut for cut in cuts}
        self._readers: dict[tuple[str, str], frozenset[str]] = {}

    def of(self, dotted: str, name: str, *, for_good: bool = False) -> Patch:
        """What becomes of a patch of `name` in the source `dotted`.

        `for_good`: it is assigned, and others may ask the source for it.
        """
        cut = self._cuts[dotted]
        stays = cut.source.after.dotted
        group = cut.source.moved.get(name)
        readers = self.readers(dotted, name)
        home = group.located.dotted if group is not None else stays
        if group is None:
            strangers = sorted(readers - {stays})
            if not strangers:
                return Patch(_unless(dotted, stays))
            if cut.move.plan.newer and readers == {strangers[0]} and not for_good:
                return Patch(strangers[0])
            return Patch(
                _unless(dotted, stays),
                ELSEWHERE,
                f"`{name}` is read by code that moved to `{strangers[0]}`; a patch here no longer "
                "reaches it.",
            )
        if len(readers) <= 1:
            return Patch(_unless(dotted, min(readers, default=home)))
        kept = stays if stays in readers else home
        others = " and ".join(f"`{reader}`" for reader in sorted(readers - {kept}))
        return Patch(
            _unless(dotted, kept),
            SHARED,
            f"`{name}` is now looked up in `{kept}` and in {others}; this reaches the first only.",
        )

    def readers(self, dotted: str, name: str) -> frozenset[str]:
        """Modules whose code looks the global `name` up at run time, after the move.

        What defines it is no reader of it.
        """
        key = (dotted, name)
        if key not in self._readers:
            self._readers[key] = frozenset(self._find_readers(self._cuts[dotted], name))
        return self._readers[key]

    def _find_readers(self, cut: Cut, name: str) -> set[str]:
        symbols, source = cut.symbols, cut.source
        found = set()
        for statement in symbols.statements:
            if name in symbols.binds(statement.index):
                continue
            references = symbols.uses([statement.index]).get(name, [])
            if all(r.annotation not in ("", "evaluated") for r in references):
                continue
            group = source.cut.get(statement.index)
            found.add(group.located.dotted if group is not None else source.after.dotted)
        return found


def _unless(old: str, new: str) -> str | None:
    return None if old == new else new
