"""The report of `repot review`: the verdict, what moved, the lines to read; then all the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import Any

from transforms.errors import Place, Refusal
from transforms.tree import GitTree
from verify.kernel.verdict import CERTIFIED, RESIDUALS, UNJUDGED, Certificate, Moved
from verify.proofs.replay import Replay
from verify.report.exhibits import Figure, Flow, Sides, Text
from verify.report.marks import Mark
from verify.report.report import Finding, Report, Row, Section, Verdict, counted, place_data
from verify.reports.apply import (
    callers_section,
    formatters_section,
    notes_section,
)
from verify.reports.authored import (
    accepted_section,
    authored_data,
    authored_section,
    authored_words,
)
from verify.reports.blame import ancestry_data, ancestry_section, total
from verify.reports.certify import (
    Texts,
    assumed,
    breaking,
    certificate_data,
    certified_words,
    folded,
    marks,
    moved_finding,
    residual_texts,
    scope_words,
    totals,
    verdict_line,
)
from verify.reports.reading import AUTHORED, HUNK, OTHER_FILE, to_read
from verify.reports.verify import PASS, hunk_finding
from verify.review.gather import Conclusion, Review
from verify.review.moved_code import flows_of, moved_sides, texts_at

_VERDICTS = {
    Conclusion.CERTIFIED: Verdict.HOLDS,
    Conclusion.UNKNOWN: Verdict.UNJUDGED,
    Conclusion.NO_PLAN: Verdict.UNJUDGED,
}
_TITLES = {
    OTHER_FILE: "no Python: nothing vouches for it",
    HUNK: "in no plan",
    AUTHORED: "literal in the plan",
}
_SCREEN = 78  # columns
_MOST_FLOWS = 6
_MOST_ROWS = 2  # of names, for one flow
_MOST_KINDS = 4  # of callers' edits, in the picture
_SHORT_ID = 12


@dataclass(frozen=True, slots=True)
class Code:
    """The files that a page shows code of, and what of it moved."""

    before: Mapping[str, Text]
    after: Mapping[str, Text]
    moved: list[Sides | None]
    copied: list[Sides | None]

    @classmethod
    def read(cls, base: GitTree, target: GitTree, done: Review) -> Code:
        """Read what the certificate speaks of."""
        items = (*done.certificate.moved, *done.certificate.copies)
        before = texts_at(base, [item.source for item in items if item.source])
        after = texts_at(target, [item.destination for item in items])
        moved = moved_sides(done.certificate.moved, before, after)
        copied = moved_sides(done.certificate.copies, before, after)
        return cls(before, after, moved, copied)


def reviewed(done: Review, base: GitTree, target: GitTree) -> Report:
    """Report a review."""
    texts = residual_texts(base, target, done.certificate)
    reading = to_read(done, base, target, texts)
    code = Code.read(base, target, done)
    flows = flows_of(done.certificate.moved, code.moved)
    lead = (_verdict_words(done), _replay_words(done))
    sections = (
        _moved(flows, frozenset(done.certificate.relocated)),
        Section("To read", reading),
        *_rest(done, code),
    )
    return Report(
        command="review",
        verdict=_VERDICTS.get(done.conclusion, Verdict.DIFFERS),
        headline=f"{done.base[:_SHORT_ID]} .. {done.target[:_SHORT_ID]}",
        sections=tuple(section for section in sections if section.findings),
        summary=(*_figures(done), _reading_words(reading), _verdict_words(done)),
        marks=tuple(_marks(done, reading)),
        data=_data(done, flows, reading, texts),
        lead=(*lead, _reading_words(reading)),
        figure=_figure(done, flows, base) if flows else None,
    )


def _marks(done: Review, reading: tuple[Finding, ...]) -> Iterator[Mark]:
    """Places to read, beside the code. Text that is certified all the same is no error."""
    yield from marks(done.certificate)
    for item in reading:
        if item.kind in _TITLES:
            failing = item.kind != AUTHORED
            yield Mark(item.place, _TITLES[item.kind], item.message, failing=failing)


def _verdict_words(done: Review) -> str:
    """The verdict in one sentence; its first word is enough."""
    if done.conclusion is Conclusion.RESIDUAL:
        return _residual_words(done)
    word = certified_words(done.certificate)
    words = {
        Conclusion.CERTIFIED: f"{word}: nothing but the move, and a plan gives every byte of it.",
        Conclusion.NO_MOVE: "NO MOVE: nothing left one file for another; read it as any change.",
        Conclusion.OTHER_FILES: f"{word} in Python; "
        f"{counted(len(done.other_files), 'other file')} changed, for which nothing vouches.",
        Conclusion.NO_PLAN: f"{word}: nothing but the move; but no plan, so no replay.",
        Conclusion.NOT_REPLAYED: f"{word}: no statement changed; but its plan leaves bytes over.",
    }
    return words.get(done.conclusion) or verdict_line(done.certificate)


def _residual_words(done: Review) -> str:
    """Count what is not part of the move. That all else is can be said only if all was judged."""
    places = len(done.certificate.of(*RESIDUALS))
    words = f"RESIDUAL: {counted(places, 'place')} not part of the move"
    words += breaking(done.certificate)
    unknown, others = len(done.certificate.of(*UNJUDGED)), len(done.other_files)
    if unknown:
        words += f", {unknown:,} not judged"
    if others:
        words += f", {counted(others, 'file')} no Python"
    return f"{words}." if unknown or others else f"{words}; all else is."


def _replay_words(done: Review) -> str:
    if done.replay is None:
        return f"No plan: {done.no_plan.cause if done.no_plan else ''}"
    outcome = done.replay.outcome
    if done.replay.reproduces:
        files = counted(len(outcome.changes), "file")
        return f"Replay: a plan gives {files} byte for byte; {authored_words(outcome)}."
    left = counted(len(done.replay.hunks), "hunk")
    return f"Replay: {left} of {counted(done.replay.changed, 'file')} left over by the plan."


def _reading_words(reading: tuple[Finding, ...]) -> str:
    if not reading:
        return "Nothing is left to read."
    return f"{counted(len(reading), 'place')} to read, listed under To read."


def _figures(done: Review) -> Iterator[str]:
    yield f"Base {done.base}, target {done.target}."
    yield totals(done.certificate)
    yield from scope_words(done.certificate)
    if isinstance(done.ancestry, Refusal):
        yield f"Ancestry: not measured. {done.ancestry.cause}"
    else:
        yield total(done.ancestry)
    yield PASS if done.replay is not None and done.replay.reproduces else _replay_words(done)


def _moved(flows: tuple[Flow, ...], whole: frozenset[tuple[str, str]]) -> Section:
    """What moved, in as many lines as leave room for what is to be read.

    `whole` are modules that moved with all that is in them: they need no list of it.
    """
    folder = _common_folder([path for flow in flows for path in (flow.source, flow.destination)])
    shown = flows[:_MOST_FLOWS]
    rows = 2 if len(flows) <= _MOST_FLOWS // 2 else 1
    findings = [
        _flow(flow, folder, 0 if (flow.source, flow.destination) in whole else rows)
        for flow in shown
    ]
    if len(flows) > len(shown):
        left = flows[len(shown) :]
        symbols = counted(sum(len(flow.symbols) for flow in left), "symbol")
        words = f"... {counted(len(left), 'more file')} with {symbols}, listed under Moved code"
        findings.append(Finding("flow", Place(""), words))
    symbols = counted(sum(len(flow.symbols) for flow in flows), "symbol")
    lines = counted(sum(flow.lines for flow in flows), "line")
    inside = f", in {folder}" if folder else ""
    modules = f"{counted(len(whole), 'whole module')}, " if whole else ""
    return Section(f"Moved: {modules}{symbols}, {lines}{inside}", tuple(findings), drawn=True)


def _flow(flow: Flow, folder: str, rows: int) -> Finding:
    source, destination = (path.removeprefix(folder) for path in (flow.source, flow.destination))
    size = counted(len(flow.symbols), "symbol")
    message = f"{source} -> {destination}: {size if rows else f'whole, {size}'}"
    names = (Row.of("", _names(flow.symbols, rows)),) if rows else ()
    return Finding("flow", Place(""), message, names)


def _names(symbols: tuple[str, ...], rows: int) -> list[str]:
    """As many names as fit into so many rows."""
    shown = len(symbols)
    while True:
        more = f", and {len(symbols) - shown:,} more" if shown < len(symbols) else ""
        lines = wrap(", ".join(symbols[:shown]) + more, _SCREEN - 6, break_on_hyphens=False)
        if len(lines) <= rows or shown <= 1:
            return lines[:rows]
        shown -= 1


def _common_folder(paths: list[str]) -> str:
    """The folder that all of them lie in, with its slash; empty for the top."""
    if not paths:
        return ""
    parts = [path.split("/")[:-1] for path in paths]
    common = []
    for names in zip(*parts, strict=False):
        if len(set(names)) > 1:
            break
        common.append(names[0])
    return "/".join([*common, ""]) if common else ""


def _rest(done: Review, found: Code) -> Iterator[Section]:
    """What is listed to be looked up."""
    for title, items, sides in (
        ("Moved code", done.certificate.moved, found.moved),
        ("Copied code", done.certificate.copies, found.copied),
    ):
        ordered = sorted(
            zip(items, sides, strict=True),
            key=lambda pair: (pair[0].destination, pair[0].destination_line),
        )
        findings = tuple(_with_sides(item, code) for item, code in ordered)
        yield Section(title, findings, aside=True)
    yield assumed(done.certificate)
    yield from folded(done.certificate)
    if not isinstance(done.ancestry, Refusal) and done.ancestry.files:
        yield replace(ancestry_section(done.ancestry), aside=True)
    if done.replay is not None:
        outcome = done.replay.outcome
        yield callers_section(outcome)
        yield replace(authored_section(outcome), aside=True)
        yield replace(accepted_section(outcome), aside=True)
        yield formatters_section(outcome)
        yield notes_section(outcome)
        yield _left_over(done.replay, done.certificate)
    yield Section(
        "Not certain in the plan",
        tuple(Finding("ambiguous", Place(""), note) for note in done.notes),
        aside=True,
    )
    if done.no_plan is not None:
        yield _why_no_plan(done.no_plan)


def _left_over(replay: Replay, certificate: Certificate) -> Section:
    """What the plan does not give, where the residuals are to be read and not this."""
    hunks = () if certificate.verdict == CERTIFIED else replay.hunks
    return Section("Not given by the plan", tuple(map(hunk_finding, hunks)), aside=True)


def _with_sides(item: Moved, sides: Sides | None) -> Finding:
    found = moved_finding(item, sides)
    if sides is None:
        return found
    lines = counted(len(sides.new.numbers), "line")
    same = "the same" if sides.alike else "laid out anew"
    return replace(found, message=f"{found.message}; {lines}, {same}")


def _why_no_plan(refusal: Refusal) -> Section:
    place = refusal.place or Place("")
    rows = (Row.of("", (refusal.next_step,)),)
    finding = Finding(refusal.kind, place, refusal.cause, rows)
    return Section("Why there is no plan", (finding,), aside=True)


def _figure(done: Review, flows: tuple[Flow, ...], base: GitTree) -> Figure:
    created = {flow.destination for flow in flows} - base.entries().keys()
    callers: tuple[str, ...] = ()
    if done.replay is not None and done.replay.outcome.callers:
        found = done.replay.outcome.callers
        kinds = Counter(edit.kind for caller in found for edit in caller.edits)
        ranked = sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
        rows = [f"{number:,} {kind}" for kind, number in ranked[:_MOST_KINDS]]
        callers = (counted(len(found), "caller"), *rows)
    return Figure(flows, frozenset(created), callers)


def _data(
    done: Review, flows: tuple[Flow, ...], reading: tuple[Finding, ...], texts: Texts
) -> dict[str, Any]:
    refusal = done.no_plan
    replayed = None
    if done.replay is not None:
        replayed = {
            "reproduces": done.replay.reproduces,
            "files": len(done.replay.outcome.changes),
            "hunks": len(done.replay.hunks),
            **authored_data(done.replay.outcome),
        }
    return {
        "base": done.base,
        "target": done.target,
        "conclusion": done.conclusion.value,
        "certificate": certificate_data(done.certificate, texts),
        "ancestry": None if isinstance(done.ancestry, Refusal) else ancestry_data(done.ancestry),
        "replay": replayed,
        "no_plan": None if refusal is None else {"kind": refusal.kind, "cause": refusal.cause},
        "plan": done.plan or None,
        "notes": list(done.notes),
        "flows": [
            {
                "from": flow.source,
                "to": flow.destination,
                "symbols": list(flow.symbols),
                "lines": flow.lines,
            }
            for flow in flows
        ],
        "to_read": [
            {"kind": item.kind, "place": place_data(item.place), "why": item.message}
            for item in reading
        ],
    }
