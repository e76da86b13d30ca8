r"""Text from a judged repository, made safe for where it goes.

A path, a symbol or a line of code may hold anything: escape sequences that repaint a terminal,
bidirectional controls that reorder what a reviewer reads, characters that have no width at all.
None of it may act on the reader; all of it must be seen. So such characters are shown, not
dropped: ASCII and Latin-1 controls as `\x1b`, undecodable bytes as `\xff`, others as `<U+202E>`.

Text that a machine would obey is shown too: a log of GitHub or Azure runs `##[...]` anywhere in a
line, and `::...` at its start. A run of blanks that could push code out of sight is counted.

The set is written out and not asked of `unicodedata`, which differs between Python versions: a
report is the same text under each.
"""

from __future__ import annotations

import re

# C0 and C1 controls, DEL, the soft hyphen, then Unicode's default-ignorable characters (directional
# controls, zero-width ones, variation selectors, tags), its line and paragraph separators, fillers
# that have width and no ink, and lone surrogates (which stand for bytes that were no UTF-8).
_HIDDEN = (
    "\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_BLANK = r" \xa0\u1680\u2000-\u200a\u202f\u205f\u3000"
_COMMAND = r"##(?=\w*\[)"
_ONE_LINE = re.compile(f"[{_HIDDEN}]|{_COMMAND}|[{_BLANK}]{{200,}}|^[{_BLANK}]*::")
_MANY_LINES = re.compile(
    rf"(?![\n\t])[{_HIDDEN}]|{_COMMAND}|[\t{_BLANK}]{{200,}}|(?m:^[\t{_BLANK}]*::)"
)
_CODE = re.compile(rf"(?![\n\t])[{_HIDDEN}]|[\t{_BLANK}]{{200,}}")

_UNSEEN = re.compile(rf"(?![\n\t])[{_HIDDEN}]")
_MOST_FOREIGN = 12

_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def visible(text: str) -> str:
    """Show `text` on one line: no character of the result moves, hides or colours another."""
    return _ONE_LINE.sub(_show, text)


def visible_lines(text: str) -> str:
    r"""Show `text` with its own line breaks (`\n` alone) and tabs, all else as `visible` does."""
    return _MANY_LINES.sub(_show, text)


def hides(text: str) -> bool:
    """Tell whether a text holds a character that acts on what displays it, or is not seen."""
    return _UNSEEN.search(text) is not None


def visible_code(text: str) -> str:
    """Show `text` as `visible_lines` does, but for a page: no log reads that, so `::` stays."""
    return _CODE.sub(_show, text)


def foreign(text: str) -> list[str]:
    """Name the characters outside ASCII, each once: one may look like another and be none.

    A dozen at most; they are told apart by their numbers, which no font can disguise.
    """
    found = sorted({character for character in text if character > "\x7f"})
    named = [f"{visible(c)} is U+{ord(c):04X}" if c.isprintable() else visible(c) for c in found]
    return named if len(named) <= _MOST_FOREIGN else [*named[:_MOST_FOREIGN], "and others"]


def _show(match: re.Match[str]) -> str:
    text = match.group()
    if len(text) > 1:
        return _show_run(text)
    if text in _SHORT:
        return _SHORT[text]
    code = ord(text)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    if 0xDC80 <= code <= 0xDCFF:  # `surrogateescape` keeps an undecodable byte so
        return f"\\x{code - 0xDC00:02x}"
    return f"<U+{code:04X}>"


def _show_run(text: str) -> str:
    """Show what is no single character: the start of a command, or a run of blanks."""
    if text.endswith("::"):
        return f"{text[:-2]}\\x3a:"
    return "#\\x23" if text == "##" else f" <{len(text):,} blanks> "
