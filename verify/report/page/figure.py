"""The picture of a move: files as boxes, and what flows from one to the other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from xml.etree.ElementTree import Element

from verify.report.exhibits import Figure, Flow
from verify.report.page.elements import Child, element, one_line
from verify.report.report import counted, width

_WIDTH, _BOX, _EDGE = 960, 330, 8  # pixels of the picture, of a box, of its margin
_LETTERS = 40  # columns of text in a box
_MOST_FLOWS = 14
_MOST_SYMBOLS = 8  # of one flow, by name
_ROW, _HEAD, _FOOT, _GAP = 18, 50, 12, 18


@dataclass(slots=True)
class _Box:
    """A file: its flows, and where it stands."""

    path: str
    flows: list[Flow]
    rows: list[str]
    height: int
    top: int = 0


def picture(figure: Figure) -> Element:
    """Draw the largest flows, and list all of them beneath."""
    flows = sorted(figure.flows, key=lambda flow: (-flow.lines, flow.source, flow.destination))
    drawn = [flow for flow in figure.flows if flow in flows[:_MOST_FLOWS]]
    left_out = len(flows) - len(drawn)
    more = f"The {len(drawn)} largest of {len(flows)} flows are drawn." if left_out else None
    return element(
        "div",
        element("div", _drawing(drawn, figure), class_="drawn"),
        _stacked(drawn, figure),
        element("p", more) if more else None,
        element("details", element("summary", "The same as a table"), _table(figure.flows)),
    )


def _stacked(flows: Sequence[Flow], figure: Figure) -> Element:
    """The same below each other, for a window too narrow for the picture."""
    parts: list[Child] = []
    by_source: dict[str, list[Flow]] = {}
    for flow in flows:
        by_source.setdefault(flow.source, []).append(flow)
    for source, found in by_source.items():
        parts.append(_stacked_box(source, "", element("p", _leaving(found))))
        for flow in found:
            names = ", ".join(flow.symbols[:_MOST_SYMBOLS])
            if len(flow.symbols) > _MOST_SYMBOLS:
                names += f", and {len(flow.symbols) - _MOST_SYMBOLS:,} more"
            new = " new" if flow.destination in figure.created else ""
            listed = element("p", element("code", one_line(names)))
            parts.append(element("p", f"\u2193 {_size(flow)}", class_="down"))
            parts.append(_stacked_box(flow.destination, new, listed))
    if figure.callers:
        parts.append(element("p", one_line(", ".join(figure.callers)), class_="down"))
    return element("div", *parts, class_="stacked")


def _stacked_box(path: str, remark: str, row: Element) -> Element:
    return element("div", element("p", _path(path), remark, class_="file"), row, class_="filebox")


def _path(path: str) -> Element:
    """A path that may go on in the next line after a slash, and nowhere else if that will do."""
    shown = one_line(path)
    pieces = re.split(r"(?<=[/_.])", shown)
    parts: list[Child] = []
    for piece in filter(None, pieces):
        parts += [piece, element("wbr")]
    return element("code", *parts[:-1])


def _size(flow: Flow) -> str:
    return f"{counted(len(flow.symbols), 'symbol')}, {counted(flow.lines, 'line')}"


def _leaving(flows: Sequence[Flow]) -> str:
    """`1 symbol leaves, 2 lines`."""
    symbols = sum(len(flow.symbols) for flow in flows)
    leaves = "leaves" if symbols == 1 else "leave"
    lines = counted(sum(flow.lines for flow in flows), "line")
    return f"{counted(symbols, 'symbol')} {leaves}, {lines}"


def _table(flows: Sequence[Flow]) -> Element:
    head = ("From", "To", "Symbols", "Lines")
    rows = [
        element(
            "tr",
            element("td", _path(flow.source), data_of="From"),
            element("td", _path(flow.destination), data_of="To"),
            element("td", f"{len(flow.symbols):,}", class_="number", data_of="Symbols"),
            element("td", f"{flow.lines:,}", class_="number", data_of="Lines"),
        )
        for flow in flows
    ]
    names = [element("th", name, scope="col") for name in head]
    return element(
        "table",
        element("caption", "What moved, by file"),
        element("thead", element("tr", *names)),
        element("tbody", *rows),
    )


def _drawing(flows: Sequence[Flow], figure: Figure) -> Element:
    sources = _boxes(flows, from_source=True)
    destinations = _boxes(flows, from_source=False)
    height = max(_stack(sources), _stack(destinations))
    for boxes in (sources, destinations):
        spare = (height - _stack(boxes)) // 2
        for box in boxes:
            box.top += spare
    below = _EDGE + height + _GAP
    parts: list[Child] = [
        element("title", f"{counted(sum(len(f.symbols) for f in flows), 'symbol')} moved"),
        element("desc", "; ".join(map(_words, flows))),
    ]
    starts, ends = _slots(sources), _slots(destinations)
    labels: list[Element] = []
    for flow in flows:
        parts.append(_ribbon(flow, starts[flow], ends[flow]))
        labels.append(_label(flow, ends[flow]))
    parts += labels
    for box in sources:
        parts += _drawn_box(box, _EDGE, new=False)
    for box in destinations:
        parts += _drawn_box(box, _WIDTH - _BOX - _EDGE, new=box.path in figure.created)
    if figure.callers:
        parts += _callers(figure.callers, max(b.top + b.height for b in destinations), below)
        height += _GAP + _callers_height(figure.callers)
    view = f"0 0 {_WIDTH} {height + 2 * _EDGE}"
    return element("svg", *parts, viewBox=view, role="img", xmlns="http://www.w3.org/2000/svg")


def _words(flow: Flow) -> str:
    return (
        f"{counted(len(flow.symbols), 'symbol')} from {one_line(flow.source)} "
        f"to {one_line(flow.destination)}"
    )


def _boxes(flows: Sequence[Flow], *, from_source: bool) -> list[_Box]:
    by_path: dict[str, list[Flow]] = {}
    for flow in flows:
        by_path.setdefault(flow.source if from_source else flow.destination, []).append(flow)
    boxes = []
    for path, found in by_path.items():
        symbols = [symbol for flow in found for symbol in flow.symbols]
        if from_source:
            rows = [_leaving(found)]
        else:
            rows = symbols[:_MOST_SYMBOLS]
            if len(symbols) > len(rows):
                rows.append(f"and {len(symbols) - len(rows):,} more")
        needed = sum(map(_slot_height, found)) + (_HEAD if from_source else 0)
        height = max(_HEAD + _ROW * len(rows) + _FOOT, needed + 2 * _FOOT)
        boxes.append(_Box(path, found, rows, height))
    return boxes


def _thickness(flow: Flow) -> int:
    return min(26, 3 + int(1.1 * sqrt(flow.lines)))


def _slot_height(flow: Flow) -> int:
    return _thickness(flow) + 20  # its label stands above it


def _stack(boxes: list[_Box]) -> int:
    """Put boxes below each other; gives the height that they need."""
    top = _EDGE
    for box in boxes:
        box.top = top
        top += box.height + _GAP
    return top - _GAP


def _slots(boxes: list[_Box]) -> dict[Flow, int]:
    """The height at which each flow meets its box, one below the other around its middle."""
    found = {}
    for box in boxes:
        at = box.top + (box.height - sum(map(_slot_height, box.flows))) // 2
        for flow in box.flows:
            found[flow] = at + _slot_height(flow) // 2
            at += _slot_height(flow)
    return found


def _ribbon(flow: Flow, start: int, end: int) -> Element:
    left, right = _EDGE + _BOX, _WIDTH - _EDGE - _BOX
    middle = (left + right) // 2
    curve = f"M{left} {start}C{middle} {start} {middle} {end} {right} {end}"
    return element("path", d=curve, class_="flow", stroke_width=_thickness(flow))


def _label(flow: Flow, end: int) -> Element:
    x, y = _WIDTH - _EDGE - _BOX - 8, end - _thickness(flow) // 2 - 4
    return element("text", _size(flow), x=x, y=y, text_anchor="end", class_="label")


def _drawn_box(box: _Box, left: int, *, new: bool) -> list[Child]:
    folder, _, name = box.path.rpartition("/")
    x = left + 12
    parts: list[Child] = [
        element("rect", x=left, y=box.top, width=_BOX, height=box.height, rx=6, class_="box"),
        element(
            "text", _tail(f"{folder}/" if folder else "./"), x=x, y=box.top + 20, class_="folder"
        ),
        element("text", _tail(name), x=x, y=box.top + 38, class_="file"),
    ]
    if new:
        at = left + _BOX - 12
        parts.append(
            element("text", "new", x=at, y=box.top + 38, text_anchor="end", class_="label")
        )
    for index, row in enumerate(box.rows):
        y = box.top + _HEAD + _ROW * (index + 1) - 4
        parts.append(element("text", _head(row), x=x, y=y, class_="row"))
    return parts


def _callers(callers: tuple[str, ...], above: int, top: int) -> list[Child]:
    """A box below the destinations: whoever imports from them."""
    left = _WIDTH - _BOX - _EDGE
    line = f"M{left + _BOX // 2} {top}V{above}"
    size = {"x": left, "y": top, "width": _BOX, "height": _callers_height(callers), "rx": 6}
    title, *rows = callers
    return [
        element("path", d=line, class_="use"),
        element("rect", **size, class_="box use"),
        element("text", _head(title), x=left + 12, y=top + 22, class_="file"),
        *(
            element("text", _head(row), x=left + 12, y=top + 22 + _ROW * index, class_="row")
            for index, row in enumerate(rows, 1)
        ),
    ]


def _callers_height(callers: tuple[str, ...]) -> int:
    return _ROW * len(callers) + 2 * _FOOT - 4


def _head(text: str) -> str:
    """As much of the beginning as a box is wide."""
    shown = one_line(text[: 2 * _LETTERS])
    kept = _fitting(shown)
    return shown if kept == len(shown) and len(text) <= 2 * _LETTERS else f"{shown[:kept]}..."


def _tail(text: str) -> str:
    """As much of the end: of a path it tells more."""
    shown = one_line(text[-2 * _LETTERS :])
    kept = _fitting(shown[::-1])
    whole = kept == len(shown) and len(text) <= 2 * _LETTERS
    return shown if whole else f"...{shown[len(shown) - kept :]}"


def _fitting(text: str) -> int:
    """Count the characters that fit into a box, with room for dots unless all do."""
    columns = 0
    for index, character in enumerate(text):
        columns += width(character)
        if columns > _LETTERS - 3 and sum(map(width, text)) > _LETTERS:
            return index
    return len(text)
