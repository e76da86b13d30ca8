"""The report as Markdown, for a job summary or a comment."""

from __future__ import annotations

import re

from verify.report import Report, to_text


def to_markdown(report: Report) -> str:
    """Render as one block of code, which no text inside it can end."""
    text = to_text(report)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}{fence}\n"
