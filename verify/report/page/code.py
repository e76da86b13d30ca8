"""Code on a page: coloured by Pygments, numbered, cut to what a reader needs, never changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from xml.etree.ElementTree import Element

from transforms.result.diff import CONTEXT, edits
from verify.report.exhibits import Excerpt, Hunk, Sides, Text
from verify.report.page.elements import element
from verify.report.report import counted

_LONGEST = 400  # characters of a line that are shown
_LONGEST_COLOURED = 2_000  # characters; beyond it a file is no code that anyone wrote
_MOST_COLOURED = 2 << 20  # characters of a file
_MOST_ALIKE = 60  # lines of a body that is the same on both sides; of longer ones the two ends
_ENDS = (40, 8)
_MOST_LINES = 400  # of one excerpt
_MOST_ROWS = 6_000  # of moved code on one page
_MOST_BLANK = 3

Spans = tuple[tuple[str, str], ...]  # a class of the style, or none, and its text
_CLASSES = {
    "Token.Keyword": "k",
    "Token.Operator.Word": "k",
    "Token.Literal.String": "s",
    "Token.Literal.Number": "n",
    "Token.Comment": "c",
    "Token.Name.Function": "d",
    "Token.Name.Class": "d",
    "Token.Name.Decorator": "d",
    "Token.Name.Builtin": "b",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a block.

    `mark` is `+`, `-`, a space, `>` for one to look at, `@` for the line above a hunk, or empty for
    a remark: these two have no number.
    """

    mark: str
    number: int | None
    spans: Spans


class _Coloured:
    """The lines of one file as spans, coloured only as far down as they are asked for."""

    def __init__(self, text: Text) -> None:
        self._text = text
        self._done: list[Spans] = []
        self._coming = _lexed("\n".join(text.lines)) if _is_code(text) else iter(())

    def line(self, number: int) -> Spans:
        """Give a line by its 1-based number: coloured, if that leaves its text as it is."""
        self._done += islice(self._coming, max(0, number - len(self._done)))
        line = self._text.lines[number - 1]
        spans = self._done[number - 1] if number <= len(self._done) else ()
        if len(line) > _LONGEST or "".join(piece for _, piece in spans) != line:
            return (("", _shortened(line)),)
        return spans


class Painter:
    """Colours code; each file once. It also keeps account of how much the page holds by now."""

    def __init__(self) -> None:
        self._known: dict[Text, _Coloured] = {}
        self._room = _MOST_ROWS

    def lines(self, excerpt: Excerpt, mark: str = " ") -> list[Line]:
        """Give the lines of an excerpt, each with its mark."""
        if excerpt.text not in self._known:
            self._known[excerpt.text] = _Coloured(excerpt.text)
        coloured = self._known[excerpt.text]
        return [Line(mark, number, coloured.line(number)) for number in excerpt.numbers]

    def hunk(self, hunk: Hunk) -> list[Line]:
        """Give the lines of a hunk, each as its own side has it."""
        found = []
        for row in hunk.rows:
            excerpt = Excerpt(hunk.text_of(row), (row.number,))
            found += self.lines(excerpt, row.mark)
        return found

    def values(self, values: Iterable[str], mark: str) -> list[Line]:
        """Give lines that are known by their text alone."""
        rows = tuple(row for value in values for row in value.split("\n"))
        coloured = _Coloured(Text("fragment.py", rows))
        return [Line(mark, None, coloured.line(number)) for number in range(1, len(rows) + 1)]

    def sides(self, sides: Sides) -> tuple[list[Line], list[Line]]:
        """Give both sides, a line beside its counterpart; what is the same and long is cut."""
        new = self.lines(sides.new)
        if sides.alike:  # one side is coloured for both: the old file is often the larger
            numbers = zip(sides.old.numbers, new, strict=True)
            old = [replace(line, number=number) for number, line in numbers]
            pairs = list(zip(old, new, strict=True))
            if len(pairs) > _MOST_ALIKE:
                pairs = _folded(pairs, *_ENDS)
        else:
            pairs = list(_aligned(self.lines(sides.old), new, sides))
        if len(pairs) > self._room:
            pairs = [*pairs[: self._room], *_remark(len(pairs) - self._room, "left out")]
        self._room = max(0, self._room - len(pairs))
        return [left for left, _ in pairs], [right for _, right in pairs]


def _is_code(text: Text) -> bool:
    """Whether a file is Python, and of a size that somebody may have written."""
    longest = max(map(len, text.lines), default=0)
    size = sum(map(len, text.lines))
    is_sane = size <= _MOST_COLOURED and longest <= _LONGEST_COLOURED
    return text.path.endswith((".py", ".pyi")) and is_sane


def _lexed(code: str) -> Iterator[Spans]:
    """Give the lines of `code` as spans."""
    from pygments.lexers.python import PythonLexer

    line: list[tuple[str, str]] = []
    # Unprocessed, since what prepares text for a lexer drops a byte order mark.
    for _, token, value in PythonLexer().get_tokens_unprocessed(code):
        name = _class_of(str(token)) if value.strip() else ""
        first, *rest = value.split("\n")
        line.append((name, first))
        for piece in rest:
            yield _merged(line)
            line = [(name, piece)]
    yield _merged(line)


def _class_of(token: str) -> str:
    while token not in _CLASSES and "." in token:
        token = token.rpartition(".")[0]
    return _CLASSES.get(token, "")


def _merged(pieces: list[tuple[str, str]]) -> Spans:
    runs = groupby(pieces, key=lambda piece: piece[0])
    joined = ((name, "".join(text for _, text in run)) for name, run in runs)
    return tuple((name, text) for name, text in joined if text)


def _shortened(line: str) -> str:
    if len(line) <= _LONGEST:
        return line
    left_out = counted(len(line) - _LONGEST, "character")
    return f"{line[: _LONGEST - 80]} ... {left_out} ... {line[-80:]}"


def _remark(number: int, what: str) -> list[tuple[Line, Line]]:
    words = Line("", None, (("", f"... {counted(number, 'line')}, {what}"),))
    return [(words, words)]


def _folded(pairs: list[tuple[Line, Line]], first: int, last: int) -> list[tuple[Line, Line]]:
    """Keep the two ends of lines that are the same on both sides."""
    if len(pairs) <= first + last + 1:
        return pairs
    middle = _remark(len(pairs) - first - last, "the same on both sides")
    return [*pairs[:first], *middle, *pairs[len(pairs) - last :]]


def _aligned(old: Sequence[Line], new: Sequence[Line], sides: Sides) -> Iterator[tuple[Line, Line]]:
    gap = Line(" ", None, ())
    old_at = new_at = 0
    changes = edits(sides.old.lines, sides.new.lines)
    for change in changes:
        same = list(
            zip(old[old_at : change.old_start], new[new_at : change.new_start], strict=True)
        )
        yield from _folded(same, CONTEXT if old_at else 0, CONTEXT) if same else ()
        gone, come = old[change.old_start : change.old_end], new[change.new_start : change.new_end]
        for index in range(max(len(gone), len(come))):
            left = Line("-", gone[index].number, gone[index].spans) if index < len(gone) else gap
            right = Line("+", come[index].number, come[index].spans) if index < len(come) else gap
            yield left, right
        old_at, new_at = change.old_end, change.new_end
    same = list(zip(old[old_at:], new[new_at:], strict=True))
    yield from _folded(same, CONTEXT, 0)


def block(lines: Sequence[Line], label: str) -> Element:
    """Give a block of code; `label` tells who cannot see it what it is."""
    shown: list[Element | str] = []
    for line in _shown(lines):
        shown += [_row(line), "\n"]
    return element("pre", *shown, class_="code", aria_label=label, role="group")


def _shown(lines: Sequence[Line]) -> Iterator[Line]:
    """Keep the first lines, and count blank ones in a row."""
    kept = 0
    for is_blank, run in groupby(
        lines, key=lambda line: line.mark not in ("", "@") and not _text(line).strip()
    ):
        together = list(run)
        if is_blank and len(together) > _MOST_BLANK and together[0].number is not None:
            words = f"... {counted(len(together), 'blank line')}"
            together = [Line("", None, (("", words),))]
        room = _MOST_LINES - kept
        if len(together) > room:
            yield from together[:room]
            left_out = len(lines) - _MOST_LINES
            yield Line("", None, (("", f"... {counted(left_out, 'more line')}"),))
            return
        kept += len(together)
        yield from together


def _is_blank(line: Line) -> bool:
    return line.mark not in ("", "@") and not _text(line).strip()


def _text(line: Line) -> str:
    return "".join(text for _, text in line.spans)


def _row(line: Line) -> Element:
    if line.mark in ("", "@"):
        return element("span", _text(line), class_="hunk" if line.mark else "skip")
    tag = {"+": "ins", "-": "del"}.get(line.mark, "span")
    number = "" if line.number is None else str(line.number)
    pieces = [element("span", text, class_=name) if name else text for name, text in line.spans]
    gutter = element("i", f"{number} {line.mark.strip()}".strip())
    return element(
        tag, gutter, element("code", *pieces), class_="l at" if line.mark == ">" else "l"
    )
