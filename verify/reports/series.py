"""The report of `repot series`: a line for each step, and the sums."""

from __future__ import annotations

from transforms.errors import Place
from verify.chain.links import PROVED, Link
from verify.report.report import Finding, Report, Row, Section, Style, counted
from verify.reports.blame import beside
from verify.reports.chain import (
    Result,
    authored_count,
    certificate_words,
    link_data,
    link_marks,
    words,
)


def in_series(head: str, links: tuple[Link, ...], *, strict: bool = False) -> Report:
    """Report a series. `strict`: a proved move that breaks a reader fails it."""
    result = Result(links, strict=strict, reading=False)
    return Report(
        command="series",
        verdict=result.verdict,
        headline=f"{counted(len(links), 'claimed move')} up to {head}",
        sections=(Section("Steps, oldest first", tuple(map(_finding, links))),),
        summary=(total(links), result.words),
        marks=tuple(mark for link in links for mark in link_marks(link, strict=strict)),
        data={
            "steps": [link_data(link, strict=strict) for link in links],
            "colour": result.colour.value,
        },
        light=result.light,
        timings=tuple((link.plan or link.commit[:12], link.seconds) for link in links),
    )


def _finding(link: Link) -> Finding:
    if link.judgement.verdict != PROVED:
        rows = (Row.of("", words(link), Style.BAD),)
        return Finding(link.judgement.verdict, Place(link.commit[:12]), link.subject, rows)
    return Finding(PROVED, Place(link.commit[:12]), _line(link))


def _line(link: Link) -> str:
    judgement = link.judgement
    return (
        f"{link.plan}: {_moved(judgement.symbols, judgement.modules)}, "
        f"{counted(judgement.files, 'file')}, "
        f"{authored_count(judgement)}; "
        f"{judgement.traced}/{judgement.lines} lines traced, {judgement.strict} strict"
        f"{beside(judgement.derived)}; "
        f"{certificate_words(judgement)}"
    )


def _moved(symbols: int, modules: int) -> str:
    """Count what moved: symbols, and modules that went whole."""
    parts = [counted(symbols, "symbol")] if symbols or not modules else []
    return " and ".join([*parts, *([counted(modules, "module")] if modules else [])])


def total(links: tuple[Link, ...]) -> str:
    """Sum the steps up in a sentence."""
    each = [link.judgement for link in links]
    lines, traced = sum(j.lines for j in each), sum(j.traced for j in each)
    strict = sum(j.strict for j in each)
    words = (
        f"{counted(len(links), 'step')}: "
        f"{_moved(sum(j.symbols for j in each), sum(j.modules for j in each))}, "
        f"{counted(sum(j.authored_lines for j in each), 'authored line')}"
    )
    if not lines:
        return f"{words}."
    return (
        f"{words}; {traced:,} of {lines:,} lines traced past the move ({_percent(traced, lines)}), "
        f"{strict:,} to the files they left ({_percent(strict, lines)})"
        f"{beside(sum(j.derived for j in each))}."
    )


def _percent(part: int, whole: int) -> str:
    """Round down: a budget is not met by rounding."""
    return f"{part * 1000 // whole / 10:.1f} %"
