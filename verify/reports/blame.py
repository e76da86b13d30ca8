"""The report of `repot blame`: a table of traced lines, and what explains each of the others."""

from __future__ import annotations

from itertools import groupby

from transforms.errors import Place
from verify.ancestry.measure import Ancestry, FileAncestry, Untraced
from verify.report.report import Finding, Report, Row, Section, Style, Verdict, counted


def blamed(base: str, target: str, ancestry: Ancestry) -> Report:
    """Report an ancestry."""
    return Report(
        command="blame",
        verdict=Verdict.HOLDS,
        headline=f"{base} .. {target}",
        sections=(ancestry_section(ancestry),) if ancestry.files else (),
        summary=(total(ancestry),),
        data=ancestry_data(ancestry),
    )


def ancestry_section(ancestry: Ancestry) -> Section:
    """Each file that received code, how much of it is traced, and what explains the rest."""
    return Section("Ancestry", tuple(map(_file, ancestry.files)))


def total(ancestry: Ancestry) -> str:
    """The two figures in one line."""
    if not ancestry.files:
        return "No Python file received moved code."
    return (
        f"{ancestry.traced}/{ancestry.lines} lines traced past the move "
        f"(git blame -C -C -C); {ancestry.strict} to the files they left"
        f"{beside(ancestry.derived)}."
    )


def beside(derived: int) -> str:
    """Word the count of lines that stand beside the figures."""
    if not derived:
        return ""
    return f"; beside them {counted(derived, 'derived import line')} of moved modules"


def _file(file: FileAncestry) -> Finding:
    untraced = [f"line {_span(lines)}: {operation}" for operation, lines in _runs(file.untraced)]
    origins = [f"{path}: {counted(lines, 'line')}" for path, lines in file.origins]
    rows = [Row.of("from", origins)] if origins else []
    if untraced:
        rows.append(Row.of("new to git", untraced, Style.QUIET))
    message = f"{file.traced}/{file.lines} traced, {file.strict} to the files they left"
    share = file.traced, file.lines
    return Finding("ancestry", Place(file.path), message, tuple(rows), share=share)


def _runs(untraced: tuple[Untraced, ...]) -> list[tuple[str, list[int]]]:
    """Neighbouring lines with one explanation, together."""
    keyed = [(line.line - index, line.operation, line.line) for index, line in enumerate(untraced)]
    return [
        (operation, [line for _, _, line in run])
        for (_, operation), run in groupby(keyed, key=lambda item: item[:2])
    ]


def _span(lines: list[int]) -> str:
    return str(lines[0]) if len(lines) == 1 else f"{lines[0]}-{lines[-1]}"


def ancestry_data(ancestry: Ancestry) -> dict[str, object]:
    """The ancestry for programs."""
    return {
        "lines": ancestry.lines,
        "traced": ancestry.traced,
        "strict": ancestry.strict,
        "derived": ancestry.derived,
        "files": [
            {
                "path": file.path,
                "lines": file.lines,
                "traced": file.traced,
                "strict": file.strict,
                "derived": file.derived,
                "origins": dict(file.origins),
                "untraced": [
                    {"line": line.line, "text": line.text, "operation": line.operation}
                    for line in file.untraced
                ],
            }
            for file in ancestry.files
        ],
    }
