"""What a certificate says, and one in the making."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

CERTIFIED, RESIDUAL, UNKNOWN = "CERTIFIED", "RESIDUAL", "UNKNOWN"
_MOST_TEXT = 160  # characters of an excerpt


@dataclass(frozen=True, slots=True, order=True)
class Residual:
    """A statement that is not part of the move.

    `side` is `base` or `target`; `lines` are all the lines that the statement adds to that side or
    takes away, empty where no line differs.
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


@dataclass(frozen=True, slots=True)
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
    """What became of every statement of the changed files.

    RESIDUAL outweighs UNKNOWN: what differs is certain, whatever else cannot be judged.
    """

    verdict: str
    moved: tuple[Moved, ...]
    copies: tuple[Moved, ...]
    derived: tuple[Moved, ...]
    residuals: tuple[Residual, ...]
    observables: tuple[Observable, ...]
    unknowns: tuple[Unknown, ...]
    counts: Mapping[str, int]
    relocated: tuple[tuple[str, str], ...] = ()  # modules that moved whole: old path and new

    @property
    def relaid(self) -> int:
        """Count the statements that have the same tokens in another layout."""
        return self.counts.get("relaid", 0)

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


class Findings:
    """A certificate in the making."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.relocated: set[tuple[str, str]] = set()
        self._residuals: set[Residual] = set()
        self._observables: set[Observable] = set()
        self._unknowns: set[Unknown] = set()
        self._moves: dict[str, set[Moved]] = {"moved": set(), "copies": set(), "derived": set()}

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
        self._residuals.add(Residual(path, line, side, kind, why, excerpt, tuple(lines)))

    def observe(self, path: str, line: int, kind: str, what: str) -> None:
        """Note an observable."""
        self._observables.add(Observable(path, line, kind, what))

    def goes(self, path: str, new: str) -> None:
        """Note a file that is no Python and went along with its package."""
        known = {o for o in self._observables if o.kind == "file" and o.path in {path, new}}
        self._observables -= known
        self.observe(new, 1, "along", f"{path} went along with its package")

    def unknown(self, path: str, line: int, why: str, needs: tuple[int, int] | None = None) -> None:
        """Note what cannot be judged."""
        self._unknowns.add(Unknown(path, line, why, needs))

    @property
    def opaque(self) -> bool:
        """Tell whether a changed file could not be read."""
        return bool(self._unknowns)

    def move(self, how: str, *what: str | int) -> None:
        """Note a statement that moved, was copied or was derived: see `Moved`."""
        self._moves[how].add(Moved(*what))  # type: ignore[arg-type]

    def certificate(self) -> Certificate:
        """Give the certificate."""
        verdict = RESIDUAL if self._residuals else UNKNOWN if self._unknowns else CERTIFIED
        moves = {how: tuple(sorted(found)) for how, found in self._moves.items()}
        return Certificate(
            verdict,
            moved=moves["moved"],
            copies=moves["copies"],
            derived=moves["derived"],
            residuals=tuple(sorted(self._residuals)),
            observables=tuple(sorted(self._observables)),
            unknowns=tuple(sorted(self._unknowns, key=lambda u: (u.path, u.line, u.why))),
            counts=dict(sorted(self.counts.items())),
            relocated=tuple(sorted(self.relocated)),
        )
