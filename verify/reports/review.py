"""The report of `repot review`: the verdict, what moved, the lines to read; then all the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from textwrap import wrap
from typing import Any

from transforms.errors import Place, Refusal
from transforms.result.outcome import Outcome
from transforms.tree import GitTree
from transforms.tree.git import Repository
from verify.kernel.verdict import CERTIFIED, Certificate, Moved
from verify.proofs.replay import Replay
from verify.report.decision import Decision
from verify.report.exhibits import Figure, Flow, Hunk, HunkRow, Sides, Text
from verify.report.marks import Mark
from verify.report.report import (
    Finding,
    Report,
    Row,
    Section,
    Verdict,
    counted,
    kinds_words,
    place_data,
    refusal_data,
    shortened,
)
from verify.reports.apply import (
    callers_section,
    formatters_section,
    notes_section,
)
from verify.reports.authored import (
    accepted_first,
    accepted_section,
    authored_data,
    authored_words,
)
from verify.reports.blame import ancestry_data, ancestry_section, total
from verify.reports.certify import (
    Texts,
    assumed,
    certificate_data,
    folded,
    marks,
    residual_texts,
    scope_words,
    totals,
)
from verify.reports.decide import beside_words, decided, replay_words, verdict_words
from verify.reports.reading import (
    AUTHORED,
    CLAIM,
    HUNK,
    LEFT,
    OTHER_FILE,
    Reading,
    dead,
    to_read,
)
from verify.reports.verify import PASS, hunk_finding
from verify.review.change import about_change
from verify.review.gather import Conclusion, Review, Source
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
    CLAIM: "not the move that it claims",
    LEFT: "a patch that may reach nobody",
}
_SCREEN = 78  # columns
_MOST_FLOWS = 6
_MOST_ROWS = 2  # of names, for one flow
_MOST_KINDS = 4  # of callers' edits, in the picture


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


def reviewed(
    done: Review, base: GitTree, target: GitTree, home: Repository | None = None
) -> Report:
    """Report a review; `home` is the repository, where the trees lie in one of our own."""
    texts = residual_texts(base, target, done.certificate)
    reading = to_read(done, base, target, texts)
    code = Code.read(base, target, done)
    flows = flows_of(done.certificate.moved, code.moved)
    made = decided(done, reading, about_change(base, target, home))
    accepted = () if done.replay is None else accepted_first(done.replay.outcome)
    sections = (
        *((accepted_section(done.replay.outcome),) if done.replay is not None else ()),
        Section("To read", reading.findings),
        _plan(done),
        _moved(flows, frozenset(done.certificate.relocated)),
        *((_why_no_plan(done.no_plan),) if done.no_plan is not None else ()),
        *(replace(section, aside=True, closed=True) for section in _rest(done, code)),
    )
    verdict = _VERDICTS.get(done.conclusion, Verdict.DIFFERS)
    return Report(
        command="review",
        verdict=Verdict.DIFFERS if done.false_claim else verdict,
        headline=str(made.about),
        sections=tuple(section for section in sections if section.findings),
        summary=(*accepted, *_figures(done), verdict_words(done), made.sentence),
        marks=tuple(_marks(done, reading.findings)),
        data=_data(done, made, flows, reading, texts),
        lead=(
            made.sentence,
            *accepted,
            *beside_words(made),
            verdict_words(done),
            replay_words(done),
        ),
        figure=_figure(done, flows, base) if flows else None,
        decision=made,
    )


def _marks(done: Review, reading: tuple[Finding, ...]) -> Iterator[Mark]:
    """Places to read, beside the code. Text that is certified all the same is no error."""
    yield from marks(done.certificate)
    for item in reading:
        if item.kind in _TITLES:
            failing = item.kind not in (AUTHORED, LEFT)
            yield Mark(item.place, _TITLES[item.kind], item.message, failing=failing)


def _plan(done: Review) -> Section:
    """The plan as it stands, authored lines and all."""
    if not done.plan:
        return Section("The plan", ())
    path = done.claim.path if done.source is Source.NAMED and done.claim else ""
    text = Text(path or "plan.toml", tuple(done.plan.rstrip("\n").split("\n")))
    rows = tuple(HunkRow(" ", number) for number in range(1, len(text.lines) + 1))
    words = {
        Source.NAMED: "named by the commit, as its parent has it",
        Source.GIVEN: "as it was given",
        Source.INFERRED: "found in the change",
    }[done.source]
    if done.replay is not None:
        words += f"; {authored_words(done.replay.outcome)}"
    hunk = Hunk(text, text, rows)
    return Section("The plan", (Finding("plan", Place(path or text.path), words, hunks=(hunk,)),))


def _figures(done: Review) -> Iterator[str]:
    yield f"Base {done.base}, target {done.target}."
    yield totals(done.certificate)
    yield from scope_words(done.certificate)
    if done.without:
        yield f"Nothing was formatted, since the base's formatters cannot be had: {done.without}"
    if isinstance(done.ancestry, Refusal):
        yield f"Ancestry: not measured. {done.ancestry.cause}"
    else:
        yield total(done.ancestry)
    yield PASS if done.replay is not None and done.replay.reproduces else replay_words(done)


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
        yield Section(title, tuple(_by_flow(items, sides)))
    yield assumed(done.certificate)
    yield from folded(done.certificate)
    if not isinstance(done.ancestry, Refusal) and done.ancestry.files:
        yield ancestry_section(done.ancestry)
    if done.replay is not None:
        outcome = done.replay.outcome
        yield callers_section(outcome)
        yield formatters_section(outcome)
        yield _elsewhere(outcome)
        yield _left_over(done.replay, done.certificate)
    yield Section(
        "Not certain in the plan",
        tuple(Finding("ambiguous", Place(""), note) for note in done.notes),
    )


def _by_flow(items: Sequence[Moved], sides: Sequence[Sides | None]) -> Iterator[Finding]:
    """What left one file for another, under the two paths, in the order it stands there."""
    ordered = sorted(
        zip(items, sides, strict=True),
        key=lambda p: (p[0].destination, p[0].source, p[0].destination_line),
    )
    for (destination, source), group in groupby(
        ordered, key=lambda pair: (pair[0].destination, pair[0].source)
    ):
        yield Finding("flow", Place(""), f"{source} -> {destination}")
        yield from (_with_sides(item, code) for item, code in group)


def _elsewhere(outcome: Outcome) -> Section:
    """What names the moved code elsewhere; of patches that may be dead the reading has all."""
    section = notes_section(outcome)
    kept = tuple(note for note in outcome.notes if not dead(note))
    shown = notes_section(replace(outcome, notes=kept))
    return replace(shown, title="Names of it elsewhere, left as they were", total=section.total)


def _left_over(replay: Replay, certificate: Certificate) -> Section:
    """What the plan does not give, where the residuals are to be read and not this."""
    hunks = () if certificate.verdict == CERTIFIED else replay.hunks
    return Section("Not given by the plan", tuple(map(hunk_finding, hunks)), aside=True)


def _with_sides(item: Moved, sides: Sides | None) -> Finding:
    message = f"{item.symbol}: line {item.source_line} -> line {item.destination_line}"
    if sides is not None:
        lines = counted(len(sides.new.numbers), "line")
        message += f"; {lines}, {'the same' if sides.alike else 'laid out anew'}"
    return Finding("moved", Place(""), message, sides=sides)


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
        rows = [kinds_words({kind: number}) for kind, number in ranked[:_MOST_KINDS]]
        callers = (counted(len(found), "caller"), *rows)
    return Figure(flows, frozenset(created), callers)


def _data(
    done: Review, made: Decision, flows: tuple[Flow, ...], reading: Reading, texts: Texts
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
        "no_ancestry": refusal_data(done.ancestry) if isinstance(done.ancestry, Refusal) else None,
        "no_formatters": refusal_data(done.without) if done.without else None,
        "replay": replayed,
        "no_plan": None if refusal is None else refusal_data(refusal),
        "plan": done.plan if done.plan and done.source is Source.INFERRED else None,
        "plan_text": done.plan or None,
        "plan_source": done.source.value if done.plan else None,
        "claim": None
        if done.claim is None
        else {"plan": done.claim.path or None, "false": done.false_claim or None},
        "decision": _decision_data(made),
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
            {
                "kind": item.kind,
                "place": place_data(item.place),
                "why": item.message,
                "hunks": [_hunk_data(hunk) for hunk in item.hunks],
            }
            for item in reading.findings
        ],
    }


def _decision_data(made: Decision) -> dict[str, Any]:
    return {
        "level": made.level.value,
        "sentence": made.sentence,
        "subject": made.about.subject,
        "author": made.about.author,
        "repository": made.about.repository,
        "places": made.places,
        "breaking": made.breaking,
        "lines": made.lines,
        "changed_lines": made.changed,
        "uncoloured_lines": made.uncoloured,
    }


def _hunk_data(hunk: Hunk) -> dict[str, Any]:
    return {
        "path": hunk.path,
        "line": hunk.line,
        "head": hunk.head,
        "lines": [f"{row.mark}{shortened(hunk.line_of(row))}" for row in hunk.rows],
    }
