"""What a certificate says, and the list it is gathered in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

CERTIFIED, RESIDUAL, UNKNOWN = "CERTIFIED", "RESIDUAL", "UNKNOWN"
_MOST_TEXT = 160  # characters of an excerpt


@dataclass(frozen=True, slots=True, order=True)
class Residual:
    """A line that is not part of the move. `side` is `base` or `target`; `lines` are all the lines
    of that side that the statement adds or takes away, empty where no line differs.
    """

    path: str
    line: int
    side: str
    kind: str
    why: str
    text: str = ""
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class Observable:
    """What a program could notice though no statement changed."""

    path: str
    line: int
    kind: str
    what: str


@dataclass(frozen=True, slots=True, order=True)
class Unknown:
    """What keeps a certificate from being given. `needs` is the Python version that could."""

    path: str
    line: int
    why: str
    needs: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, order=True)
class Moved:
    """A statement that stands in another file; `symbol` is what it defines, or its kind."""

    symbol: str
    source: str
    source_line: int
    destination: str
    destination_line: int


@dataclass(frozen=True, slots=True)
class Certificate:
    """What became of every statement of the changed files."""

    verdict: str
    moved: tuple[Moved, ...]
    copies: tuple[Moved, ...]
    derived: tuple[Moved, ...]
    residuals: tuple[Residual, ...]
    observables: tuple[Observable, ...]
    unknowns: tuple[Unknown, ...]
    relaid: int
    counts: tuple[tuple[str, int], ...]

    @property
    def added_lines(self) -> int:
        """Count the lines of the target that are not part of the move."""
        return self._lines("target")

    @property
    def removed_lines(self) -> int:
        """Count the lines of the base that are neither kept nor moved."""
        return self._lines("base")

    def _lines(self, side: str) -> int:
        return len({(r.path, n) for r in self.residuals if r.side == side for n in r.lines})


@dataclass
class Findings:
    """A certificate in the making."""

    residuals: set[Residual] = field(default_factory=set)
    observables: set[Observable] = field(default_factory=set)
    unknowns: set[Unknown] = field(default_factory=set)
    moved: list[Moved] = field(default_factory=list)
    copies: list[Moved] = field(default_factory=list)
    derived: list[Moved] = field(default_factory=list)
    relaid: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    def residual(
        self,
        side: str,
        path: str,
        line: int,
        kind: str,
        why: str,
        text: str = "",
        lines: Iterable[int] = (),
    ) -> None:
        """Note a residual."""
        excerpt = text.strip()[:_MOST_TEXT]
        self.residuals.add(Residual(path, line, side, kind, why, excerpt, tuple(lines)))

    def observe(self, path: str, line: int, kind: str, what: str) -> None:
        """Note an observable."""
        self.observables.add(Observable(path, line, kind, what))

    def unknown(
        self, path: str, line: int, why: str, needs: tuple[int, int] | None = None
    ) -> None:
        """Note what cannot be judged."""
        self.unknowns.add(Unknown(path, line, why, needs))

    def certificate(self) -> Certificate:
        """Give the verdict: what differs outweighs what cannot be judged."""
        verdict = CERTIFIED
        if self.unknowns:
            verdict = UNKNOWN
        if self.residuals:
            verdict = RESIDUAL
        return Certificate(
            verdict,
            tuple(sorted(self.moved)),
            tuple(sorted(self.copies)),
            tuple(sorted(self.derived)),
            tuple(sorted(self.residuals)),
            tuple(sorted(self.observables)),
            tuple(sorted(self.unknowns, key=lambda u: (u.path, u.line, u.why, u.needs or (0, 0)))),
            self.relaid,
            tuple(sorted(self.counts.items())),
        )
