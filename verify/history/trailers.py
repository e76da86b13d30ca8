"""`Mechanical-Move: PLAN` trailers: how a commit names the plan that it claims to be.

A trailer is data from a stranger: it names a path inside the commit's parent, and everything about
it that could mislead is a fault of its own. So is a line that a reader takes for such a trailer and
that is none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from transforms.errors import Refusal
from transforms.paths import safe_path

TRAILER = "Mechanical-Move"
NONE = "none"  # what a commit says that is no move; a plan file of that name is `./none`
_WANTED = TRAILER.casefold()
# Anywhere in the message, since a squash adds paragraphs below; never in a quotation, which is
# indented or marked.
_LINE = re.compile(rf"(?im)^{TRAILER}[ \t]*:(.*)$")
_LONGEST = 64  # characters at the head of a line in which such a word can stand
_MOST_EDITS = 2
# What parts lines for some reader and not for git, which knows `\n` alone.
_OTHER_BREAKS = re.compile("[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_HYPHENS = dict.fromkeys(map(ord, "\u00ad\u02d7\u058a\u2043\u2212\u30fb\ufe58\ufe63\uff0d_"), "-")
_COLONS = dict.fromkeys(map(ord, "\u02d0\u02f8\u0589\u05c3\u2236\ua789\ufe13\ufe55\uff1a"), ":")
# Letters of other scripts that look like those of the word.
_LETTERS = str.maketrans(
    "\u043c\u0435\u0441\u04bb\u0430\u0578\u0456\u04cf\u043e\u0475"
    "\u03bf\u03b1\u03b9\u03bd\u1d0d\u217c\u0131",
    "mechanilovoaivmli",
)
_VALUE = re.compile(r"\S*/\S+|\S+\.\w+|none", re.IGNORECASE)  # a path or `none`, no sentence
_PARTS = ("mecha", "nical", "move")  # two edits leave one of them whole


@dataclass(frozen=True, slots=True)
class Trailer:
    """What a message claims: a plan's path, or why the claim is faulty.

    `none`: it says that the commit is no move. Nothing of all this: it says nothing.
    """

    path: str | None = None
    fault: str | None = None
    none: bool = False

    @property
    def claims(self) -> bool:
        """Whether the commit says that it is a mechanical move."""
        return self.path is not None or self.fault is not None

    @property
    def declares(self) -> bool:
        """Whether the commit says anything of it."""
        return self.claims or self.none


def read_trailer(message: str) -> Trailer:
    """Read what a commit message claims."""
    lines = message.replace("\r\n", "\n")
    found = [value.strip(" \t") for value in _LINE.findall(lines)]
    near = next(_near_misses(lines), None)
    if near is not None:
        return Trailer(fault=near)
    if len(found) > 1:
        return Trailer(fault=f"it has {len(found)} {TRAILER} trailers; a commit is one move")
    return _read(found[0]) if found else Trailer()


def _read(value: str) -> Trailer:
    if not value:
        return Trailer(fault=f"its {TRAILER} trailer names no plan")
    if value.casefold() == NONE:
        return Trailer(none=True)
    try:
        return Trailer(path=safe_path(value.removeprefix("./")))
    except Refusal as refusal:
        return Trailer(fault=f"its {TRAILER} trailer names no path in the tree: {refusal.cause}")


def _near_misses(text: str) -> Iterator[str]:
    """Say of each line that a reader takes for the trailer, and that is none, what is wrong."""
    for line in text.split("\n"):
        first, *others = _OTHER_BREAKS.split(line)
        if not _LINE.match(line):
            why = _why_near(first)
            if why:
                yield why
        for rest in others:
            if _LINE.match(rest) or _why_near(rest):
                yield f"a line break that is none for git stands before its {TRAILER} trailer"


def _why_near(line: str) -> str:
    """Say why a line is no such trailer though it looks like one; nothing where it does not."""
    if line[:1] in {" ", "\t", ">"}:
        return ""  # a quotation
    head = line[:_LONGEST]
    if head.isascii() and not any(part in head.casefold() for part in _PARTS):
        return ""
    plain = _folded(head)
    key, colon, value = plain.partition(":")
    if colon and _is_near(key.rstrip()):
        if not re.search(r"\s", key.strip()) or _is_value(value):
            return _worded(key.rstrip(), head)
    # Without a colon: the word, or two, and then just what could be a plan.
    words = plain.split()
    for count in (1, 2):
        key, rest = "-".join(words[:count]).rstrip(";=,."), words[count:]
        if len(rest) in {1, 2} and _is_near(key) and _is_value(" ".join(rest).lstrip(":;=- ")):
            return f"its {TRAILER} trailer has no colon: `{TRAILER}: PLAN`"
    return ""


def _is_value(text: str) -> bool:
    return _VALUE.fullmatch(text.strip()) is not None


def _folded(text: str) -> str:
    """Give what a reader sees: without hidden characters, with plain hyphens, colons, letters."""
    shown = []
    for character in unicodedata.normalize("NFKD", text.translate(_HYPHENS).translate(_COLONS)):
        category = unicodedata.category(character)
        if category == "Pd":
            shown.append("-")
        elif category == "Zs":
            shown.append(" ")
        elif category not in {"Cf", "Cc", "Mn", "Me"}:
            shown.append(character)
    return "".join(shown).casefold().translate(_LETTERS).lstrip()


def _worded(key: str, head: str) -> str:
    if key == _WANTED:
        return f"its {TRAILER} trailer holds hidden or look-alike characters"
    if key.replace(" ", "-") == _WANTED:
        return f"its {TRAILER} trailer has a blank for its hyphen: `{TRAILER}: PLAN`"
    written = head.partition(":")[0].strip()
    return f"`{written}` is nearly {TRAILER}, and no such trailer"


def _is_near(key: str) -> bool:
    """Whether two letters at most part a word from the trailer's name, in any case."""
    if abs(len(key) - len(_WANTED)) > _MOST_EDITS:
        return False
    row = list(range(len(_WANTED) + 1))
    for number, letter in enumerate(key, 1):
        before, row = row, [number]
        for index, wanted in enumerate(_WANTED, 1):
            same = before[index - 1] + (letter != wanted)
            row.append(min(same, before[index] + 1, row[-1] + 1))
        if min(row) > _MOST_EDITS:
            return False
    return row[-1] <= _MOST_EDITS
