"""Small trees before and after a change, as the case files write them down, and their verdict."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from verify.kernel import Certificate, Files, certify

Tree = Mapping[str, str]
REGULAR, LINK = 0o100644, 0o120000
CASES = Path(__file__).parent / "cases"


class Link(str):
    """Where a symbolic link leads; case files write it after an arrow."""

    __slots__ = ()


@dataclass(frozen=True)
class Case:
    """A change: whether Python tells the two trees apart was found by running both."""

    name: str
    certified: bool
    base: Tree
    target: Tree


def cases() -> Iterator[Case]:
    """Read all case files; a name like `_3_12` is the first Python that can read them."""
    for path in sorted(CASES.glob("*.txt")):
        since = re.search(r"_(\d+)_(\d+)$", path.stem)
        if since and sys.version_info < (int(since[1]), int(since[2])):
            continue
        for part in re.split(r"^=== ", path.read_text(encoding="utf-8"), flags=re.M)[1:]:
            yield _case(f"{path.stem}: ", part)


def _case(prefix: str, part: str) -> Case:
    head, *files = re.split(r"^--- ", part, flags=re.M)
    name, expected = head.strip().split("\n")
    sides: dict[str, dict[str, str]] = {"base": {}, "target": {}}
    for file in files:
        title, _, text = file.partition("\n")
        title, arrow, leads = title.partition(" -> ")
        side, _, path = title.rpartition(" ")
        text = Link(leads) if arrow else text
        for one in [side] if side else ["base", "target"]:
            sides[one][path] = text
    certified = expected == "expect: CERTIFIED"
    return Case(prefix + name, certified, sides["base"], sides["target"])


def files(tree: Tree) -> Files:
    """Give a tree of texts as the kernel takes it."""
    return {
        path: (text.encode("utf-8", "surrogateescape"), LINK if isinstance(text, Link) else REGULAR)
        for path, text in tree.items()
    }


def judge(before: Tree, after: Tree) -> Certificate:
    """Certify a change between two small trees."""
    return certify(files(before), files(after))


def explain(found: Certificate) -> str:
    """Say what a certificate found, for a failing test."""
    return "\n".join([found.verdict, *map(str, found.findings)])
