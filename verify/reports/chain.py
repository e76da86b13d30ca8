"""The report of `repot chain`: one verdict a commit, and for a red one where it differs."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path

from transforms.errors import Place, Refusal
from verify.chain.cache import VerdictCache
from verify.chain.how import How
from verify.chain.links import (
    FAULTY,
    MISDECLARED,
    NOT_LOOKED_AT,
    NOT_PROVED,
    PROVED,
    UNDECLARED,
    UNREAD,
    Judgement,
    Link,
    Say,
    judge_chain,
)
from verify.chain.looking import ADDED, OTHER_FILE, REMOVED, Spot
from verify.history.ranges import open_range
from verify.history.trailers import NONE, TRAILER
from verify.kernel.verdict import BREAKS, CERTIFIED
from verify.report.decision import NO_CLAIM, Level
from verify.report.escape import visible
from verify.report.marks import Mark, sided
from verify.report.report import (
    Finding,
    Report,
    Row,
    Section,
    Style,
    Verdict,
    counted,
    cut,
    listed,
    outside_ascii,
    shortened,
)
from verify.reports.blame import beside
from verify.reports.certify import MARKS

_MOST_SPOTS = 8
_TITLES = {"differs at": "not what the plan gives", "to read": "not part of the move"}
_SIGNS = {ADDED: Style.ADDED, REMOVED: Style.REMOVED}
_SHORT = 12


class Colour(Enum):
    """What a commit, or all that claim a move, come to at a glance.

    Red fails the check; amber leaves something to read. `NONE`: no commit claims a move.
    """

    GREEN = "green"
    AMBER = "amber"
    RED = "red"
    NONE = NO_CLAIM


def judge_range(
    repo: Path,
    base: str,
    head: str,
    how: How = How(),  # noqa: B008 - frozen
    *,
    cache: VerdictCache | None = None,
    say: Say | None = None,
) -> Report:
    """Judge the commits that lead from `base` to `head`, and report them. Raises `Refusal`."""
    try:
        before, after = open_range(repo, base, head)
    except Refusal as refusal:
        if refusal.kind != "nothing-to-judge":
            raise
        return empty_chain(base, head)
    links = judge_chain(
        repo, before, after, jobs=how.jobs, cache=cache, declare=how.declare, say=say
    )
    if cache is not None:
        cache.prune()
    return chained(before.commit, after.commit, links, strict=how.strict)


def chained(base: str, head: str, links: tuple[Link, ...], *, strict: bool) -> Report:
    """Report a chain. `strict`: a commit for human eyes fails it, and a move that breaks."""
    result = Result(links, strict=strict)
    findings = tuple(_finding(link, strict=strict) for link in links)
    counts = listed(Counter(link.judgement.verdict for link in links))
    total = f"{counted(len(links), 'commit')}: {counts}{_not_looked_at(links)}."
    return Report(
        command="chain",
        verdict=result.verdict,
        headline=f"{base} .. {head}",
        sections=(Section("Commits, oldest first", findings),),
        summary=(total, result.words),
        marks=tuple(mark for link in links for mark in link_marks(link, strict=strict)),
        data={
            "commits": [link_data(link, strict=strict) for link in links],
            "strict": strict,
            "colour": result.colour.value,
        },
        light=result.light,
        timings=tuple((link.commit[:_SHORT], link.seconds) for link in links),
    )


def empty_chain(base: str, head: str) -> Report:
    """Report a range without commits: nothing is wrong with it, and nothing was judged."""
    return Report(
        command="chain",
        verdict=Verdict.HOLDS,
        headline=f"{base} .. {head}",
        summary=("The range is empty: no commit was judged.",),
        data={"commits": [], "colour": Colour.NONE.value},
    )


def _not_looked_at(links: tuple[Link, ...]) -> str:
    number = sum(not link.judgement.looked for link in links)
    return f"; {number:,} {NOT_LOOKED_AT}" if number else ""


@dataclass(frozen=True)
class Result:
    """What all commits come to together. `strict`: more of them fail the chain.

    `reading`: a proved move that leaves something to read is amber, whatever it is.
    """

    links: tuple[Link, ...]
    strict: bool = False
    reading: bool = True

    @property
    def verdict(self) -> Verdict:
        """Give the verdict: unjudged if nothing else is wrong."""
        red = [link for link in self.links if colour_of(link, strict=self.strict) is Colour.RED]
        if red and all(link.judgement.unjudged for link in red):
            return Verdict.UNJUDGED
        return Verdict.DIFFERS if red else Verdict.HOLDS

    @property
    def colour(self) -> Colour:
        """Give the worst colour of what claims a move, or fails."""
        if self.verdict is not Verdict.HOLDS:
            return Colour.RED
        claims = [link for link in self.links if link.plan is not None]
        if not claims:
            return Colour.NONE
        amber = any(link.breaks or (self.reading and link.leaves_to_read) for link in claims)
        return Colour.AMBER if amber else Colour.GREEN

    @property
    def light(self) -> Level | None:
        """Give how much of a reader's time it asks for, where the verdict does not tell."""
        unread = any(link.judgement.verdict == UNREAD for link in self.links)
        reads = self.colour is Colour.AMBER or (self.colour is Colour.NONE and unread)
        return Level.AMBER if reads else None

    @property
    def words(self) -> str:
        """Word the verdict in one line."""
        red = [link for link in self.links if link.is_red]
        breaking = [link for link in self.links if link.breaks]
        unread = [link for link in self.links if link.judgement.verdict == UNREAD]
        if red:
            more = f" {_breaking_words(breaking)}" if breaking else ""
            return f"RED: {_names(red)}.{more}"
        if self.verdict is not Verdict.HOLDS:
            words = [f"{_breaking_words(breaking)}"] if breaking else []
            words += [f"{counted(len(unread), 'commit')} for human eyes."] if unread else []
            return f"RED by --strict: {' '.join(words)}"
        if self.colour is Colour.NONE:
            return f"NO CLAIM: no commit says that it is a move; {_rest(unread)}."
        if self.colour is Colour.GREEN:
            return "GREEN: every claimed move is proved."
        reading = [n for n in self.links if self.reading and n.leaves_to_read and not n.breaks]
        words = ["AMBER: every claimed move is proved."]
        words += [_breaking_words(breaking)] if breaking else []
        words += [f"To read in {_names(reading)}."] if reading else []
        return " ".join(words)


def _rest(unread: list[Link]) -> str:
    return f"{len(unread):,} to be read" if unread else "nothing is left to read"


def _breaking_words(links: list[Link]) -> str:
    one = len(links) == 1
    what = "A proved move breaks a reader" if one else f"{len(links):,} proved moves break readers"
    return f"{what}: {_names(links)}."


def _names(links: list[Link]) -> str:
    return ", ".join(link.commit[:_SHORT] for link in links)


def colour_of(link: Link, *, strict: bool = False) -> Colour:
    """Give the colour of one commit; that of one which claims nothing is none but red or amber."""
    unread = link.judgement.verdict == UNREAD
    if link.is_red or (strict and (link.breaks or unread)):
        return Colour.RED
    if link.breaks or link.leaves_to_read or unread:
        return Colour.AMBER
    return Colour.GREEN


def _finding(link: Link, *, strict: bool) -> Finding:
    judgement = link.judgement
    is_red = colour_of(link, strict=strict) is Colour.RED
    rows = [Row.of("", words(link), Style.BAD if is_red else Style.PLAIN)]
    label, spots = _to_read(judgement)
    rows += _spots(label, spots)
    if judgement.could_have:
        plan = cut(judgement.could_have.rstrip("\n").split("\n"))
        rows.append(Row.of("the plan that it could have had", plan))
    command = next_command(link, strict=strict)
    if command:
        rows.append(Row.of("next", (command,)))
    return Finding(judgement.verdict, Place(link.commit[:_SHORT]), link.subject, tuple(rows))


def _to_read(judgement: Judgement) -> tuple[str, tuple[Spot, ...]]:
    """The places of a claimed move that its plan does not explain; else those that are no move."""
    if judgement.verdict == NOT_PROVED and judgement.differs:
        return "differs at", judgement.differs
    return "to read", judgement.to_read or (
        judgement.residuals if judgement.verdict in (PROVED, NOT_PROVED) else ()
    )


def _spots(label: str, spots: tuple[Spot, ...]) -> Iterator[Row]:
    """Each place with its lines, under one label."""
    for spot in spots[:_MOST_SPOTS]:
        lines = [(shortened(line), _SIGNS.get(sign, Style.PLAIN)) for sign, line in spot.lines]
        more = [(f"... {counted(spot.more, 'more line')}", Style.PLAIN)] if spot.more else []
        where = f"{Place(spot.path, spot.line or None)}: {spot.why}"
        yield Row(label, ((where, Style.PLAIN), *lines, *more))
        yield from outside_ascii("\n".join(line for sign, line in spot.lines if sign == ADDED))
        label = ""
    if len(spots) > _MOST_SPOTS:
        yield Row.of("", (f"... {counted(len(spots) - _MOST_SPOTS, 'more place')}",))


def next_command(link: Link, *, strict: bool = False) -> str:
    """Give what to type next for a commit that is red or leaves something to read; else nothing."""
    name, judgement = link.commit[:_SHORT], link.judgement
    plan = shlex.quote(visible(link.plan)) if link.plan else ""
    if judgement.verdict == NOT_PROVED and judgement.unjudged:
        return f"repot apply {plan} --at {name}^"
    if judgement.verdict == NOT_PROVED:
        return f"repot verify {plan} --base {name}^ --target {name}"
    if judgement.verdict in {FAULTY, UNDECLARED}:
        wanted = f"`{TRAILER}: PLAN`" + (f" or `{TRAILER}: {NONE}`" if not link.plan else "")
        return f"git rebase --interactive {name}^   (reword it; it needs one line {wanted})"
    if judgement.verdict == MISDECLARED:
        return f"repot infer {name} -o split.toml"
    if judgement.to_read or not judgement.looked:
        return f"repot review {name}"
    return f"repot review {name}" if colour_of(link, strict=strict) is Colour.RED else ""


def link_marks(link: Link, *, strict: bool = False) -> Iterator[Mark]:
    """The places of one commit to look at: errors where it is red, else notices.

    A forge shows them at files, so a commit without a place is shown at the first file it changes.
    """
    judgement = link.judgement
    name = link.commit[:_SHORT]
    is_red = colour_of(link, strict=strict) is Colour.RED
    label, spots = _to_read(judgement)
    for spot in spots:
        place, why = sided(spot.path, spot.line, spot.side, spot.why)
        title = _KINDS.get(spot.kind, _TITLES[label])
        # Of a proved move that fails by what it breaks, the rest is only to be read.
        failing = is_red and (link.judgement.verdict != PROVED or spot.kind == BREAKS)
        yield Mark(place, title, why, failing, name, link.subject)
    alone = judgement.verdict == UNREAD or link.is_red
    if (alone and not spots) or judgement.verdict in _BY_ITS_MESSAGE:
        title, first = judgement.verdict, Place(judgement.first)
        yield Mark(first, title, judgement.reason, is_red, name, link.subject)


_BY_ITS_MESSAGE = frozenset({FAULTY, UNDECLARED, MISDECLARED})
_KINDS = {**MARKS, OTHER_FILE: "no Python: nothing vouches for it"}


def words(link: Link) -> Iterator[str]:
    """The verdict, why, and what was measured."""
    judgement = link.judgement
    yield f"{judgement.verdict}: {judgement.reason}"
    if link.plan is None and judgement.looked and (judgement.symbols or judgement.modules):
        yield f"{moved_words(judgement)}; {counted(len(judgement.to_read), 'place')} to read"
    if link.breaks:
        yield f"it breaks a reader: {counted(judgement.breaks, 'place')} where behaviour differs"
    if link.plan and judgement.certificate:
        yield f"{link.plan}: {authored_count(judgement)}"
        yield (
            f"{certificate_words(judgement)}: {counted(judgement.added_lines, 'added line')} and "
            f"{counted(judgement.removed_lines, 'removed line')} beside the move"
        )
    if judgement.lines:
        yield (
            f"{judgement.traced}/{judgement.lines} lines traced past the move, "
            f"{judgement.strict} to the files they left{beside(judgement.derived)}"
        )


def moved_words(judgement: Judgement) -> str:
    """Count what moved in a commit that claims nothing: `7 symbols, 188 lines moved`."""
    modules = f"{counted(judgement.modules, 'whole module')}, " if judgement.modules else ""
    symbols, lines = counted(judgement.symbols, "symbol"), counted(judgement.moved_lines, "line")
    return f"{modules}{symbols}, {lines} moved"


def authored_count(judgement: Judgement) -> str:
    """Count what a plan accepts, and what it has literally."""
    words = counted(judgement.authored_lines, "authored line")
    return (
        f"{counted(judgement.accepted, 'accepted finding')}, {words}"
        if judgement.accepted
        else words
    )


def certificate_words(judgement: Judgement) -> str:
    """Give the certificate's verdict, and how many assumptions it takes."""
    if judgement.certificate != CERTIFIED or not judgement.assumptions:
        return judgement.certificate
    return f"{CERTIFIED}, on {counted(judgement.assumptions, 'assumption')}"


def link_data(link: Link, *, strict: bool = False) -> dict[str, object]:
    """Give a commit and its judgement for programs."""
    return {
        "commit": link.commit,
        "subject": link.subject,
        "plan": link.plan,
        "red": link.is_red,
        "colour": colour_of(link, strict=strict).value,
        "said": list(words(link)),
        "next": next_command(link, strict=strict) or None,
        **asdict(link.judgement),
    }
