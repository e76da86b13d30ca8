"""The report of `repot chain`: one verdict a commit, and for a red one where it differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from transforms.errors import Place, Refusal
from verify.chain.cache import VerdictCache
from verify.chain.links import NOT_PROVED, PROVED, UNREAD, Judgement, Link, Spot, judge_chain
from verify.history.ranges import open_range
from verify.kernel.verdict import CERTIFIED
from verify.report.marks import Mark, sided
from verify.report.report import Finding, Report, Row, Section, Style, Verdict, counted, listed
from verify.reports.blame import beside
from verify.reports.certify import MARKS

_MOST_SPOTS = 8
_TITLES = {"differs at": "not what the plan gives", "to read": "not part of the move"}


def judge_range(
    repo: Path,
    base: str,
    head: str,
    *,
    jobs: int = 0,
    strict: bool = False,
    cache: VerdictCache | None = None,
) -> Report:
    """Judge the commits that lead from `base` to `head`, and report them. Raises `Refusal`."""
    try:
        before, after = open_range(repo, base, head)
    except Refusal as refusal:
        if refusal.kind != "nothing-to-judge":
            raise
        return empty_chain(base, head)
    links = judge_chain(repo, before, after, jobs=jobs, cache=cache)
    if cache is not None:
        cache.prune()
    return chained(before.commit, after.commit, links, strict=strict)


def chained(base: str, head: str, links: tuple[Link, ...], *, strict: bool) -> Report:
    """Report a chain. `strict`: a commit for human eyes fails it too."""
    red = [link for link in links if link.is_red]
    unread = [link for link in links if link.judgement.verdict == UNREAD]
    counts = listed(Counter(link.judgement.verdict for link in links))
    total = f"{counted(len(links), 'commit')}: {counts}."
    return Report(
        command="chain",
        verdict=chain_verdict(red, unread if strict else []),
        headline=f"{base} .. {head}",
        sections=(Section("Commits, oldest first", tuple(map(_finding, links))),),
        summary=(total, result_words(red, unread if strict else [])),
        marks=tuple(mark for link in links for mark in link_marks(link, strict=strict)),
        data={"commits": [link_data(link) for link in links], "strict": strict},
    )


def empty_chain(base: str, head: str) -> Report:
    """Report a range without commits: nothing is wrong with it, and nothing was judged."""
    return Report(
        command="chain",
        verdict=Verdict.HOLDS,
        headline=f"{base} .. {head}",
        summary=("The range is empty: no commit was judged.",),
        data={"commits": []},
    )


def chain_verdict(red: list[Link], unread: list[Link]) -> Verdict:
    """Unjudged if nothing else is wrong; `unread` are commits that count as red."""
    if red and all(link.judgement.unjudged for link in red) and not unread:
        return Verdict.UNJUDGED
    return Verdict.DIFFERS if red or unread else Verdict.HOLDS


def result_words(red: list[Link], unread: list[Link]) -> str:
    """Word the verdict."""
    if red:
        return f"RED: {', '.join(link.commit[:12] for link in red)}."
    if unread:
        return f"RED by --strict: {counted(len(unread), 'commit')} for human eyes."
    return "GREEN: every claimed move is proved."


def _finding(link: Link) -> Finding:
    judgement = link.judgement
    rows = [Row.of("", words(link), Style.BAD if link.is_red else Style.PLAIN)]
    label, spots = _to_read(judgement)
    if spots:
        rows.append(Row.of(label, _spots(spots)))
    return Finding(judgement.verdict, Place(link.commit[:12]), link.subject, tuple(rows))


def _to_read(judgement: Judgement) -> tuple[str, tuple[Spot, ...]]:
    """The places of a claimed move that its plan does not explain; else those that are no move."""
    if judgement.verdict == NOT_PROVED and judgement.differs:
        return "differs at", judgement.differs
    return "to read", judgement.residuals if judgement.verdict in (PROVED, NOT_PROVED) else ()


def link_marks(link: Link, *, strict: bool = False) -> Iterator[Mark]:
    """The places of one commit to look at: errors where it is red, else notices."""
    judgement = link.judgement
    name = link.commit[:12]
    label, spots = _to_read(judgement)
    for spot in spots:
        place, why = sided(spot.path, spot.line, spot.side, spot.why)
        title = MARKS.get(spot.kind, _TITLES[label])
        yield Mark(place, title, why, link.is_red, name)
    if link.is_red and not spots:
        yield Mark(Place(""), judgement.verdict, judgement.reason, True, name)
    elif judgement.verdict == UNREAD:
        message = f"{judgement.reason}: {link.subject}"
        yield Mark(Place(""), UNREAD, message, strict, name)


def words(link: Link) -> Iterator[str]:
    """The verdict, why, and what was measured."""
    judgement = link.judgement
    yield f"{judgement.verdict}: {judgement.reason}"
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


def authored_count(judgement: Judgement) -> str:
    """Count what a plan has literally, and what it accepts."""
    words = counted(judgement.authored_lines, "authored line")
    return words + (
        f", {counted(judgement.accepted, 'accepted finding')}" if judgement.accepted else ""
    )


def certificate_words(judgement: Judgement) -> str:
    """Give the certificate's verdict, and how many assumptions it takes."""
    if judgement.certificate != CERTIFIED or not judgement.assumptions:
        return judgement.certificate
    return f"{CERTIFIED}, on {counted(judgement.assumptions, 'assumption')}"


def _spots(spots: tuple[Spot, ...]) -> list[str]:
    shown = [f"{Place(spot.path, spot.line or None)}: {spot.why}" for spot in spots[:_MOST_SPOTS]]
    if len(spots) > _MOST_SPOTS:
        shown.append(f"... {counted(len(spots) - _MOST_SPOTS, 'more place')}")
    return shown


def link_data(link: Link) -> dict[str, object]:
    """Give a commit and its judgement for programs."""
    return {
        "commit": link.commit,
        "subject": link.subject,
        "plan": link.plan,
        "red": link.is_red,
        **asdict(link.judgement),
    }
