"""The changed modules of two trees side by side, and what may be asked of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from verify.certificate.conserve import Pairing
from verify.certificate.findings import Findings
from verify.certificate.meaning import Look, What
from verify.certificate.names import Facts, Ref, facts, words
from verify.certificate.resolve import CHECKING, Side
from verify.certificate.source import Module, Source, Unit


class Both:
    """What each part of the judgement asks of the two trees, and where it notes what it finds."""

    def __init__(self, base: Side, target: Side, pairing: Pairing, found: Findings) -> None:
        self.base, self.target, self.pairing, self.found = base, target, pairing, found
        self.old, self.new = ({m.path: m for m in side.changed()} for side in (base, target))
        self.stems = {module.stem: module for module in self.old.values()}
        self.whole = pairing.whole
        self.moved = {self.old[old]: self.new[new] for new, old in self.whole.paths.items()}
        self.sources: dict[str, set[str]] = defaultdict(set)  # where a file's statements were
        for (new, _), (old, _) in pairing.pairs.items():
            self.sources[new].add(old)
        for old_module, new_module in self.moved.items():
            self.sources[new_module.path].add(old_module.path)
        self.gone = set(self.whole.called.values())
        self._facts: dict[tuple[int, int, bool], Facts] = {}

    def facts(self, module: Module, unit: Unit, *, deep: bool = True) -> Facts:
        """Give what a statement refers to."""
        place = (id(module.source), unit.index, deep)
        if place not in self._facts:
            lazy = "annotations" in module.source.futures
            checking = module.outside("TYPE_CHECKING") in CHECKING
            self._facts[place] = facts(unit.node, lazy_hints=lazy, checking=checking, deep=deep)
        return self._facts[place]

    def uses(self, module: Module, name: str) -> Iterator[tuple[Unit, Ref]]:
        """List the uses of a module's name within the module."""
        for unit in module.source.units:
            if name in words(unit.text):
                found = self.facts(module, unit)
                for ref in (*found.refs, *found.guards):
                    if ref.name == name and ref.local is None:
                        yield unit, ref

    def same(self, old: Module, new: Module, name: str, *, hint: bool) -> bool:
        """Tell whether a name means the same in two modules, one of each tree."""
        for deep in (False, True):
            look = Look(hint, deep)
            ours, theirs = self.base.lookup(old, name, look), self.target.lookup(new, name, look)
            if ours.equals(theirs, hint=hint):
                return True
        return False

    def residual(
        self, side: str, source: Source, line: int, kind: str, why: str, lines: Iterable[int] = ()
    ) -> None:
        """Note a residual with the text of its line."""
        text = source.line_text(line)
        self.found.residual(side, source.path, line, kind, why, text, lines)

    def went(self, what: What) -> bool:
        """Tell whether a meaning is a module that moved whole."""
        return what[0] == "mod" and what[1] in self.gone
