"""The tokens of a bracketed from-import, found without LibCST: most that span lines are plain.

They are the pieces that LibCST gives, for a hundredth of the time. What this is not sure of is left
to LibCST: backslashes, names that are not ASCII, anything that may be no Python.
"""

from __future__ import annotations

import keyword
import re

from transforms.import_rows import Token
from transforms.import_types import ImportedName

_NAME = r"[A-Za-z_][A-Za-z_0-9]*"
_HEAD = re.compile(
    rf"(from[ \t]+)(\.*{_NAME}(?:\.{_NAME})*|\.+)([ \t]+import[ \t]*)\((?!\))", re.ASCII
)
_BLANK = re.compile(r"(?:[ \t\f\r\n]|#[^\r\n]*)*")
_ITEM = re.compile(rf"({_NAME})(?:[ \t]+as[ \t]+({_NAME}))?")
_TAIL = re.compile(r"[ \t]*(?:#[^\r\n]*)?\Z")
_WORD = re.compile(_NAME)


def bracketed_tokens(text: str) -> list[Token] | None:
    """Every piece of the statement in order, or `None` for a text that LibCST should read."""
    head = _HEAD.match(text)
    if head is None or any(map(keyword.iskeyword, _WORD.findall(head[2]))):
        return None
    found = [Token("lead", head[1]), Token("module", head[2]), Token("head", head[3])]
    found.append(Token("(", "("))
    position = _take_blank(text, head.end(), found)
    while not text.startswith(")", position):
        item = _ITEM.match(text, position)
        if item is None or any(keyword.iskeyword(word) for word in item.groups() if word):
            return None
        found.append(Token("name", item[0], ImportedName(item[1], item[2])))
        position = _take_blank(text, item.end(), found)
        if text.startswith(",", position):
            found.append(Token(",", ","))
            position = _take_blank(text, position + 1, found)
        elif not text.startswith(")", position):
            return None
    tail = _TAIL.match(text, position + 1)
    if tail is None or found[-2].kind == "(":
        return None
    return [*found, Token(")", ")"), Token("tail", tail[0])]


def _take_blank(text: str, position: int, found: list[Token]) -> int:
    blank = _BLANK.match(text, position)
    end = blank.end() if blank else position
    found.append(Token("blank", text[position:end]))
    return end
