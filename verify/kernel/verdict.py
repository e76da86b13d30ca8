"""What is found, and what follows from it.

A finding has one kind, and the kinds have an order: the verdict is that of the worst finding. All
text is as it stands in the tree; who prints it escapes it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

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
RESIDUALS = (BREAKS, TEXT)  # what is not part of the move
UNJUDGED = (NOT_READ, OPEN)  # what keeps a certificate from being given
BASE, TARGET = "base", "target"
_MOST_SUBJECTS = 3  # of one finding


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A line of one side, counted from 1; `lines` are all that came or went there, if any did."""

    path: str
    line: int
    side: str = TARGET
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a reviewer may have to read.

    `subject` is the module, name or file that it is about, spelled as somebody imports it; `why`
    is one sentence. Findings of one kind, subject and reason are one, with several places. `needs`
    is the Python version that could tell more, where one could.
    """

    kind: str
    subject: str
    why: str
    places: tuple[Place, ...] = ()
    needs: tuple[int, int] | None = None
    together: tuple[str, ...] = ()  # all that it is about, where `subject` names several

    @property
    def subjects(self) -> tuple[str, ...]:
        """List what it is about."""
        return self.together or (self.subject,)

    @property
    def sentence(self) -> str:
        """Say it: whom it is about, unless that is the file it stands in, and what."""
        if not self.subject or self.subject in {place.path for place in self.places}:
            return self.why
        return f"{self.subject}: {self.why}"

    @property
    def place(self) -> Place:
        """Give the place to look at first: in the target, where there is one."""
        there = [place for place in self.places if place.side == TARGET]
        return next(iter((*there, *self.places)), Place("", 0))

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

    `relocated` are the modules that moved whole, by their old and new path. `other_files` are files
    that changed and are not Python: nothing vouches for them. `relaid` counts the statements that
    have the same tokens in another layout. `pythons` says for which Pythons all that holds, and
    which one has read the files. `judge` says who judged, where that was not this kernel.
    """

    findings: tuple[Finding, ...]
    moved: tuple[Moved, ...] = ()
    copies: tuple[Moved, ...] = ()
    relocated: tuple[tuple[str, str], ...] = ()
    other_files: tuple[str, ...] = ()
    relaid: int = 0
    pythons: str = ""
    judge: str = ""

    @property
    def verdict(self) -> str:
        """Give the overall verdict: RESIDUAL outweighs UNKNOWN outweighs CERTIFIED."""
        verdicts = {KINDS[finding.kind] for finding in self.findings}
        return next((v for v in (RESIDUAL, UNKNOWN) if v in verdicts), CERTIFIED)

    @property
    def assumptions(self) -> tuple[Finding, ...]:
        """List what the verdict takes for granted."""
        return self.of(ASSUMED)

    @property
    def added_lines(self) -> int:
        """Count the lines of the target that are not part of the move."""
        return self._lines(TARGET)

    @property
    def removed_lines(self) -> int:
        """Count the lines of the base that are neither kept nor moved."""
        return self._lines(BASE)

    def _lines(self, side: str) -> int:
        places = [place for finding in self.of(*RESIDUALS) for place in finding.places]
        return len({(p.path, line) for p in places if p.side == side for line in p.lines})

    def of(self, *kinds: str) -> tuple[Finding, ...]:
        """List the findings of some kinds."""
        return tuple(finding for finding in self.findings if finding.kind in kinds)


@dataclass
class Findings:
    """A certificate in the making: what is said twice is kept once, with all its places."""

    _said: dict[tuple[str, str, str], dict[Place, None]] = field(default_factory=dict)
    _needs: dict[tuple[str, str, str], tuple[int, int] | None] = field(default_factory=dict)
    moved: list[Moved] = field(default_factory=list)
    copies: list[Moved] = field(default_factory=list)
    relocated: set[tuple[str, str]] = field(default_factory=set)
    other_files: set[str] = field(default_factory=set)
    relaid: int = 0
    _edited: dict[tuple[str, str, int], tuple[int, ...]] = field(default_factory=dict)

    def say(
        self,
        kind: str,
        subject: str,
        why: str,
        *places: Place,
        needs: tuple[int, int] | None = None,
    ) -> None:
        """Note a finding."""
        self._said.setdefault((kind, subject, why), {}).update(dict.fromkeys(places))
        self._needs[kind, subject, why] = needs

    def said(self, kind: str, why: str) -> bool:
        """Tell whether something is said of whatever subject."""
        return any(known[0] == kind and known[2] == why for known in self._said)

    def edited(self, place: Place, *known: Place) -> None:
        """Note where a statement was edited, by the places that others know it by."""
        for at in known:
            self._edited[at.path, at.side, at.line] = place.lines

    def certificate(self) -> Certificate:
        """Give the certificate, findings in the order of their kinds."""
        order = list(KINDS)
        found = [
            Finding(*what, tuple(sorted(places)), self._needs[what])
            for what, places in self._said.items()
        ]
        found = list(_with_one_cause([*_first_that_fits(found, self._edited)]))
        found.sort(key=lambda f: (order.index(f.kind), f.subject, f.places, f.why))
        return Certificate(
            tuple(found),
            _sorted(self.moved),
            _sorted(self.copies),
            tuple(sorted(self.relocated)),
            tuple(sorted(self.other_files)),
            self.relaid,
        )


def _with_one_cause(found: list[Finding]) -> Iterator[Finding]:
    """Make one of findings that say the same of the same places, of several entries mostly."""
    alike: dict[Hashable, list[Finding]] = {}
    for number, finding in enumerate(found):
        told = finding.kind in (BREAKS, OPEN) and finding.places
        key = (finding.kind, finding.why, finding.places) if told else number
        alike.setdefault(key, []).append(finding)
    for first, *others in alike.values():
        every = sorted({first.subject, *(other.subject for other in others)})
        shown = every
        if len(every) > _MOST_SUBJECTS:
            left = len(every) - _MOST_SUBJECTS + 1
            shown = [*every[: _MOST_SUBJECTS - 1], f"{left} more"]
        yield replace(first, subject=_and(shown), together=tuple(every) if others else ())


def _and(words: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _first_that_fits(
    found: list[Finding], edited: Mapping[tuple[str, str, int], tuple[int, ...]]
) -> Iterator[Finding]:
    """Leave out text that stands where behaviour breaks: that says it, and gets its places."""
    lines = dict(edited)
    texts: dict[tuple[str, str, tuple[int, ...]], list[int]] = {}
    for number, finding in enumerate(found):
        for place in finding.places if finding.kind == TEXT else ():
            lines |= {(place.path, place.side, line): place.lines for line in place.lines}
            texts.setdefault((place.path, place.side, place.lines), []).append(number)
    told: set[int] = set()
    for finding in found:
        if finding.kind == BREAKS:
            places = [_with_lines(place, lines) for place in finding.places]
            same = {n for p in places if p.lines for n in texts.get((p.path, p.side, p.lines), ())}
            places += [place for number in same for place in found[number].places]
            told |= same
            yield replace(finding, places=tuple(sorted(set(places))))
    for number, finding in enumerate(found):
        if finding.kind != BREAKS and number not in told:
            yield finding


def _with_lines(place: Place, lines: Mapping[tuple[str, str, int], tuple[int, ...]]) -> Place:
    """Give a place with the lines of the statement there, if that was edited."""
    found = place.lines or lines.get((place.path, place.side, place.line), ())
    return replace(place, line=found[0], lines=found) if found else place


def _sorted(moves: Iterable[Moved]) -> tuple[Moved, ...]:
    return tuple(sorted(set(moves)))
