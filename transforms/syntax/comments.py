"""Whose a comment is: the file's, a section's, a tool's, or the statement's that it touches."""

from __future__ import annotations

import re
from collections.abc import Sequence

LICENCE = re.compile(r"(?i)copyright|licen[sc]e|spdx")
COOKIE = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")

# Lines that speak to a tool or an editor about the whole file.
_ABOUT_FILE = re.compile(
    r"#[ \t]*(?:"
    r"ruff:[ \t]*noqa|flake8:[ \t]*noqa|mypy:|pyright:|pyre-|pylint:[ \t]*(?:skip-file|disable)"
    r"|isort:[ \t]*skip_file|type:[ \t]*ignore|-\*-|vim?:|ex:|Local Variables:|yapf:|pytype:"
    r")"
)
_MODELINE = re.compile(r"#.*?(?:\b(?:vim?|ex):|Local Variables:|End:)|#[ \t]*-\*-")
_RULE = re.compile(r"#[ \t]*(?:([-=*#~_+/\\.])\1{2,}|[─━═]{2,})|##")
# Comments that act on what follows, wherever it goes: never taken away with an import below them.
_DIRECTIVE = re.compile(
    r"#[ \t]*(?:isort|ruff|pylint|mypy|pyright|flake8|type|fmt|yapf|noqa|pragma|nosec|pyre)\b[ :-]"
)


def header_length(lines: Sequence[str]) -> int:
    """How many of the comment lines that open a file are the file's own, not the first symbol's.

    A block that speaks of a licence is the file's as a whole.
    """
    if any(LICENCE.search(line) for line in lines):
        return len(lines)
    own = 0
    for number, line in enumerate(lines):
        if line.startswith("#!") or COOKIE.match(line) or _ABOUT_FILE.match(line):
            own = number + 1
    return own


def is_banner(line: str) -> bool:
    """Whether a comment line is drawn rather than written: `# ------`, `####`."""
    return _RULE.match(line) is not None


def is_modeline(line: str) -> bool:
    """Whether a comment is for an editor, which looks for it at the end of a file."""
    return _MODELINE.match(line) is not None


def is_directive(line: str) -> bool:
    """Whether a comment is for a tool, and acts on the lines below it."""
    return _DIRECTIVE.match(line.lstrip(" \t\f")) is not None
