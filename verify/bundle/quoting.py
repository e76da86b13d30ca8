r"""Text as Python literals: byte exact, readable where that is safe, and hiding nothing anywhere.

A reader must see where a literal ends and all that is in it. So text is shown as it is (in raw
triple quotes) only if no character of it can end the literal, act on what displays it, or push the
rest out of sight. Any other text is written a line at a time, in ASCII, with what is odd escaped.

Nothing here asks `unicodedata` or `repr`: both differ between versions of Python, and the file
must not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from verify.report.escape import hides

_WIDE = 160  # columns that a reader sees without scrolling far
_ROW = 88  # characters of one escaped literal
_BLANKS = re.compile(r"[ \t]{60,}\S")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_ESCAPES = {"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t"}


def quoted(text: str, *, strict: bool) -> str:
    """Give the literal. `strict` shows nothing outside ASCII as it is, and no long lines.

    That is for text of strangers: a letter that looks like another one is then escaped.
    """
    for quote in ("'''", '"""'):
        if _is_clear(text, quote, strict=strict):
            return f"r{quote}{text}{quote}"
    return "(\n" + "".join(f"    {row}\n" for row in _rows(text)) + ")"


def _is_clear(text: str, quote: str, *, strict: bool) -> bool:
    if quote in text or text.endswith(("\\", quote[0])) or hides(text):
        return False
    is_narrow = all(len(line) <= _WIDE for line in text.split("\n"))
    return not strict or (text.isascii() and is_narrow and not _BLANKS.search(text))


def _rows(text: str) -> Iterator[str]:
    """Give literals that Python joins, each on one row; a long line takes several."""
    for line in _LINES.findall(text) or [""]:
        row = ""
        for piece in map(_escaped, line):
            if len(row) + len(piece) > _ROW:
                yield f'"{row}"'
                row = ""
            row += piece
        yield f'"{row}"'


def _escaped(character: str) -> str:
    code = ord(character)
    if character in _ESCAPES:
        return _ESCAPES[character]
    if 0x20 <= code < 0x7F:
        return character
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
