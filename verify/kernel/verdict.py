"""What is found, and what follows from it.

A finding has one kind, and the kinds have an order: the verdict is that of the worst finding. All
text is as it stands in the tree; who prints it escapes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

CERTIFIED, RESIDUAL, UNKNOWN = "CERTIFIED", "RESIDUAL", "UNKNOWN"

NOT_READ = "not read"  # a file that names what moved and does not parse
BREAKS = "breaks"  # behaviour differs
OPEN = "open"  # a run-time lookup that can reach what moved
TEXT = "text"  # not the move, and no behaviour that the machine sees
ASSUMED = "assumed"  # it was there before, unchanged, and names nothing that moved
EXPLAINED = "explained"  # what a move entails
OBSERVED = "observed"  # `__module__`, pickles, names of loggers, modes, files that are not Python

KINDS: Mapping[str, str] = {
    NOT_READ: UNKNOWN,
    BREAKS: RESIDUAL,
    OPEN: UNKNOWN,
    TEXT: RESIDUAL,
    ASSUMED: CERTIFIED,
    EXPLAINED: CERTIFIED,
    OBSERVED: CERTIFIED,
}
BASE, TARGET = "base", "target"


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A line of one side, counted from 1."""

    path: str
    line: int
    side: str = TARGET


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a reviewer may have to read.

    `subject` is the module, name or file that it is about, spelled as somebody imports it; `why`
    is one sentence. Findings of one kind, subject and reason are one, with several places.
    """

    kind: str
    subject: str
    why: str
    places: tuple[Place, ...] = ()

    def __str__(self) -> str:
        at = ", ".join(f"{place.path}:{place.line}" for place in self.places[:3])
        return f"{self.kind}: {self.subject}: {self.why}" + (f" ({at})" if at else "")


@dataclass(frozen=True, slots=True, order=True)
class Moved:
    """A statement that stands in another file; `symbol` is what it defines, or its first words."""

    symbol: str
    source: str
    source_line: int
    destination: str
    destination_line: int


@dataclass(frozen=True, slots=True)
class Certificate:
    """What became of every statement of the changed files, and what was found on the way.

    `pythons` says for which Pythons that holds, and which one has read the files.
    """

    findings: tuple[Finding, ...]
    moved: tuple[Moved, ...] = ()
    copies: tuple[Moved, ...] = ()
    pythons: str = ""

    @property
    def verdict(self) -> str:
        """Give the overall verdict: RESIDUAL outweighs UNKNOWN outweighs CERTIFIED."""
        verdicts = {KINDS[finding.kind] for finding in self.findings}
        return next((v for v in (RESIDUAL, UNKNOWN) if v in verdicts), CERTIFIED)

    @property
    def assumptions(self) -> tuple[Finding, ...]:
        """List what the verdict takes for granted."""
        return self.of(ASSUMED)

    def of(self, *kinds: str) -> tuple[Finding, ...]:
        """List the findings of some kinds."""
        return tuple(finding for finding in self.findings if finding.kind in kinds)


@dataclass
class Findings:
    """A certificate in the making: what is said twice is kept once, with all its places."""

    _said: dict[tuple[str, str, str], dict[Place, None]] = field(default_factory=dict)
    moved: list[Moved] = field(default_factory=list)
    copies: list[Moved] = field(default_factory=list)

    def say(self, kind: str, subject: str, why: str, *places: Place) -> None:
        """Note a finding."""
        self._said.setdefault((kind, subject, why), {}).update(dict.fromkeys(places))

    def certificate(self) -> Certificate:
        """Give the certificate, findings in the order of their kinds."""
        order = list(KINDS)
        found = [Finding(*what, tuple(sorted(places))) for what, places in self._said.items()]
        found.sort(key=lambda f: (order.index(f.kind), f.subject, f.places, f.why))
        return Certificate(tuple(found), _sorted(self.moved), _sorted(self.copies))


def _sorted(moves: Iterable[Moved]) -> tuple[Moved, ...]:
    return tuple(sorted(set(moves)))
