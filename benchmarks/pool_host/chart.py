"""The results as a picture: an SVG, written without a plotting library."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from benchmarks.pool_host.jobs import OURS, ChurnResult, ReleaseResult

WIDTH, ROW, LEFT, RIGHT = 720, 22, 190, 90
INK, OTHER, MINE = "#24292f", "#8c959f", "#0969da"

Bar = tuple[str, float]


def chart(churned: ChurnResult, released: ReleaseResult) -> str:
    """Draw allocation times, runs and release times, each a group of bars; times logarithmic."""
    slots = churned.slots
    ours = [(f"{size:,} slots", value) for size, value in released.flat.items()]
    eager = [(f"eager, {n} slots of {6_611_072:,}", value) for n, value in released.eager.items()]
    groups: list[tuple[str, Sequence[Bar], bool]] = [
        ("allocation p50, microseconds", [(n, f.alloc_p50) for n, f in slots.items()], True),
        ("allocation p99, microseconds", [(n, f.alloc_p99) for n, f in slots.items()], True),
        ("runs per allocation", [(n, f.runs_mean) for n, f in slots.items()], False),
        ("release p50, microseconds, by size of pool", [*ours, *eager], True),
    ]
    parts, top = [], 10
    for title, bars, logarithmic in groups:
        words = f"{title} (logarithmic)" if logarithmic else title
        parts.append(_text(10, top + 14, words, "start", "bold"))
        top += ROW
        for name, value in bars:
            parts += _bar(top, name, value, _share(value, bars, logarithmic))
            top += ROW
        top += ROW // 2
    style = 'font-family="sans-serif" font-size="12"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{top}" {style}>'
    paper = f'<rect width="{WIDTH}" height="{top}" fill="white"/>'
    return "\n".join([head, paper, *parts, "</svg>\n"])


def _share(value: float, bars: Sequence[Bar], logarithmic: bool) -> float:
    """Give how long a bar is, 0 to 1; a logarithmic one starts at a tenth of the least value."""
    values = [each for _, each in bars if each > 0]
    if not values or value <= 0:
        return 0.0
    if not logarithmic:
        return value / max(values)
    least = min(values) / 10
    return math.log(value / least) / math.log(max(values) / least)


def _bar(top: int, name: str, value: float, share: float) -> list[str]:
    mine = name == OURS or name.endswith(" slots")
    width = share * (WIDTH - LEFT - RIGHT)
    return [
        _text(LEFT - 8, top + 14, name, "end"),
        f'<rect x="{LEFT}" y="{top + 3}" width="{width:.1f}" height="{ROW - 8}" '
        f'fill="{MINE if mine else OTHER}"/>',
        _text(LEFT + width + 6, top + 14, f"{value:,.1f}", "start"),
    ]


def _text(x: float, y: float, words: str, anchor: str, weight: str = "normal") -> str:
    return (
        f'<text x="{x:.1f}" y="{y}" fill="{INK}" text-anchor="{anchor}" font-weight="{weight}">'
        f"{escape(words)}</text>"
    )
