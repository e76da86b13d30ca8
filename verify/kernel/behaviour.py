"""What is behaviour and what is not: the list that the page and the generator's judge share.

Two trees behave alike if, for each entry, the same events happen in the same order on equal
values, the same is printed, the run ends in the same way, and every name that somebody in the tree
reads is bound to an equal value. What stands below is no behaviour: it is blanked on both sides
before anything is compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Blank:
    """Something that is blanked: what it is called, why, and how it looks in printed text."""

    name: str
    why: str
    printed: str = ""  # a regular expression; what its groups hold stays


BLANKED = (
    Blank(
        "`__module__` and `__qualname__` of what moved, and what is printed of them",
        "a move changes where a definition stands, and nothing else of it",
        r"(<(?:class|enum|function|bound method|member) '?)(?:\w+\.)+(?:<locals>\.)?(?=\w)",
    ),
    Blank(
        "the module in the text of an object",
        "it is the `__module__` of its class",
        r"(<)(?:\w+\.)+(?=\w+ object)",
    ),
    Blank("addresses", "they differ from run to run", r"\b0x[0-9a-fA-F]+"),
    Blank(
        "`__file__` and paths of files of the tree, also in records of logs",
        "a file that moved has another path",
        r"(?:/[\w.\-]+)+/[\w.\-]+\.pyc?\b",
    ),
    Blank("line numbers", "a move changes them", r"(\bline )\d+"),
    Blank("tracebacks", "they are made of files and lines"),
    Blank("`sys.modules` beyond the names imported", "a move may load more modules, or fewer"),
    Blank("the name of a logger that is made of `__name__`", "it is the name of its module"),
    Blank(
        "a table that nothing but its module's `__getattr__` reads",
        "what is given for each name is compared",
    ),
    Blank("time", "it differs from run to run"),
)
_PRINTED = tuple(re.compile(blank.printed) for blank in BLANKED if blank.printed)


def blank(text: str, roots: Iterable[str] = ()) -> str:
    """Blank what is no behaviour in a printed text; `roots` are folders of the tree."""
    for root in roots:
        text = text.replace(root, "")
    for pattern in _PRINTED:
        text = pattern.sub(lambda found: "".join(part or "" for part in found.groups()), text)
    return text
