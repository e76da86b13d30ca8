"""The report of `repot chain`: one verdict a commit, the red ones first to be seen."""

from __future__ import annotations

from collections import Counter

from transforms.errors import Place
from verify.chain import NOT_PROVED, UNREAD, Link
from verify.report import Finding, Report, Row, Section, Style, Verdict, counted, listed

_MOST_HUNKS = 5


def chained(base: str, head: str, links: tuple[Link, ...], *, strict: bool) -> Report:
    """Report a chain. `strict`: a commit for human eyes fails it too."""
    red = [link for link in links if link.is_red]
    unread = [link for link in links if link.verdict == UNREAD]
    verdict = Verdict.HOLDS
    if red:
        every_unjudged = all(link.unjudged for link in red)
        verdict = Verdict.UNJUDGED if every_unjudged else Verdict.DIFFERS
    elif strict and unread:
        verdict = Verdict.DIFFERS
    counts = listed(Counter(link.verdict for link in links))
    result = f"{counted(len(red), 'commit')} red." if red else "No commit is red."
    if not links:
        counts, result = "no commits", "The range is empty: there is nothing to judge."
    return Report(
        command="chain",
        verdict=verdict,
        headline=f"{base} .. {head}",
        sections=(Section("Commits", tuple(map(_finding, links))),) if links else (),
        summary=(f"{counted(len(links), 'commit')}: {counts}.", result),
        data={"commits": [_data(link) for link in links]},
    )


def _finding(link: Link) -> Finding:
    rows = []
    if link.verdict == NOT_PROVED and link.replay is not None:
        hunks = link.replay.hunks
        shown = [f"{hunk.path}:{hunk.line}: {hunk.operation}" for hunk in hunks[:_MOST_HUNKS]]
        if len(hunks) > _MOST_HUNKS:
            shown.append(f"... {counted(len(hunks) - _MOST_HUNKS, 'more hunk')}")
        rows.append(Row.of("differs at", shown, Style.BAD))
    message = f"{link.verdict}; {link.reason}"
    return Finding(
        link.verdict, Place(link.commit[:12]), f"{link.subject}: {message}", tuple(rows)
    )


def _data(link: Link) -> dict[str, object]:
    return {
        "commit": link.commit,
        "subject": link.subject,
        "verdict": link.verdict,
        "reason": link.reason,
        "plan": link.plan,
        "red": link.is_red,
        "hunks": [
            {"path": hunk.path, "line": hunk.line, "operation": hunk.operation}
            for hunk in (link.replay.hunks if link.replay else ())
        ],
    }
