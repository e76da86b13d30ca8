"""Reports in pages: what counts on the first one, then rows, a page at a time, nothing left out.

A report may hold thousands of findings. Whatever is short stands in its head; a list is counted
there and given row by row, and a text that is longer than a row goes on in the next one. What the
plan accepts comes before all else.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from repot.server.refusals import Refusal

ROOM = 16_000  # characters of the rows of one page, as JSON
_ROW = 4_000  # of one row; what is longer goes on in the next
_SHORT = 400  # of what stands in the head
_SENTENCES = 20
_SENTENCE = 2_000
_ACCEPTED = 10  # that stand before all else; the rows have all
_KEPT = 8  # results whose further pages can be asked for
# What is about the report itself, and stands elsewhere in a page.
_ELSEWHERE = frozenset({"schema", "command", "verdict", "summary", "headline", "refusal", "fault"})
# Parts of a report that have lists of their own, and whose single facts are worth a look.
_OPENED = frozenset({"judgement", "certificate", "replay", "ancestry", "range", "decision"})

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Result:
    """A report, parted: `first` is said once, `pages` are the rows."""

    key: str
    first: Mapping[str, Any]
    pages: tuple[tuple[Row, ...], ...]

    def page(self, number: int) -> dict[str, Any]:
        """Give one page, counted from 1; the first has what is said once."""
        more = number < len(self.pages)
        return {
            **(self.first if number == 1 else {"command": self.first["command"]}),
            "rows": list(self.pages[number - 1]),
            "page": number,
            "pages": len(self.pages),
            "next": f"{self.key}:{number + 1}" if more else None,
        }


class Shelf:
    """The last results, for whoever asks for their further pages."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Result] = OrderedDict()

    def keep(self, result: Result) -> None:
        """Keep a result, and drop the one that nobody has asked about for longest."""
        self._kept[result.key] = result
        self._kept.move_to_end(result.key)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)

    def page(self, cursor: str) -> dict[str, Any]:
        """Give the page that the cursor names. Raises `Refusal` where it is not kept."""
        key, _, number = cursor.partition(":")
        result = self._kept.get(key)
        if result is None or not number.isdecimal() or not 1 <= int(number) <= len(result.pages):
            raise Refusal(
                "unknown-page",
                "No such page is kept: the last results alone are.",
                next_step="Call the tool again; its `next` names the page after the first.",
            )
        self._kept.move_to_end(key)
        return result.page(int(number))


def paged(report: Mapping[str, Any], first: Sequence[str] = ()) -> Result:
    """Part a report. `first` are the lists whose rows come first, after what the plan accepts."""
    head: dict[str, Any] = {}
    lists: dict[str, list[Row]] = {}
    for name, value in report.items():
        if name not in _ELSEWHERE:
            _sort(name, value, head, lists, frozenset(first))
    accepted = _accepted(report)
    order = [name for name in ("accepted", "replay.accepted", *first) if name in lists]
    order += [name for name in lists if name not in order]
    rows = [row for name in order for row in lists[name]]
    said = [_cut(str(sentence)) for sentence in report.get("summary", ())][:_SENTENCES]
    once: dict[str, Any] = {
        "accepted": _bounded(accepted[:_ACCEPTED]),
        "command": report.get("command", ""),
        "verdict": report.get("verdict", "fault"),
        "headline": _cut(str(report.get("headline", ""))),
        "summary": said,
        "refusal": _bounded(report.get("refusal")),
        "fault": _bounded(report.get("fault")),
        "head": head,
        "counts": {name: len(lists[name]) for name in order},
    }
    text = json.dumps([once, rows], sort_keys=True)
    key = hashlib.sha256(text.encode()).hexdigest()[:12]
    return Result(key, once, tuple(_pages(rows)))


def _accepted(report: Mapping[str, Any]) -> list[Any]:
    replay = report.get("replay")
    found = replay if isinstance(replay, dict) else report
    accepted = found.get("accepted")
    return accepted if isinstance(accepted, list) else []


def _sort(
    name: str,
    value: Any,
    head: dict[str, Any],
    lists: dict[str, list[Row]],
    listed: frozenset[str],
) -> None:
    """Put a value of a report where it belongs: into the head, or a list by its name.

    What is `listed` is a list however short it is: then one always finds it there.
    """
    if isinstance(value, list) and value:
        lists[name] = [row for item in value for row in _rows(name, {"value": item})]
    elif isinstance(value, dict) and name in _OPENED:
        for key, item in value.items():
            _sort(f"{name}.{key}", item, head, lists, listed)
    elif _size(value) <= _SHORT and not (value and name in listed):
        head[name] = value
    elif isinstance(value, dict):
        lists[name] = [
            row for key, item in value.items() for row in _rows(name, {"key": key, "value": item})
        ]
    else:
        lists[name] = list(_rows(name, {"value": value}))


def _rows(name: str, content: Row) -> Iterator[Row]:
    """Give one row, or several where it is long: then the JSON of `value` in parts."""
    if _size(content) <= _ROW:
        yield {"list": name, **content}
        return
    value = content["value"]
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    kind = "text" if isinstance(value, str) else "json"
    parts = [text[start : start + _ROW] for start in range(0, len(text), _ROW)]
    others = {key: _cut(str(item)) for key, item in content.items() if key != "value"}
    for number, part in enumerate(parts, 1):
        yield {"list": name, **others, "part": number, "parts": len(parts), kind: part}


def _pages(rows: Sequence[Row]) -> Iterator[tuple[Row, ...]]:
    page: list[Row] = []
    room = ROOM
    for row in rows:
        size = _size(row)
        if page and size > room:
            yield tuple(page)
            page, room = [], ROOM
        page.append(row)
        room -= size
    yield tuple(page)


def _size(value: Any) -> int:
    return len(json.dumps(value))


def _bounded(value: Any) -> Any:
    """Give the same with long texts cut: a line that a refusal shows may be megabytes."""
    if isinstance(value, str):
        return _cut(value)
    if isinstance(value, list):
        return [_bounded(item) for item in value]
    if isinstance(value, dict):
        return {key: _bounded(item) for key, item in value.items()}
    return value


def _cut(text: str) -> str:
    left = len(text) - _SENTENCE
    return text if left <= 0 else f"{text[:_SENTENCE]} ... {left:,} more characters"


def readable(value: Any) -> Any:
    """Give the same with what no UTF-8 can hold, bytes of a path, spelled as escapes."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, list):
        return [readable(item) for item in value]
    if isinstance(value, dict):
        return {readable(key): readable(item) for key, item in value.items()}
    return value
