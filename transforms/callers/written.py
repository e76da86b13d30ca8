"""What a text that is not Python says of what moved, written anew by the grammar of its file."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from transforms.callers.context import Surroundings
from transforms.callers.grammars import (
    DOCTESTS,
    IMPORTS,
    LISTS,
    NAMES,
    REFERENCES,
    Grammar,
)
from transforms.callers.prompts import laid_out, listed
from transforms.callers.roles import PartialRoles, Roles
from transforms.move.state import Move, SourceState

_NAME = r"[^\W\d]\w*"
_ITEM = rf"{_NAME}(?:[ \t]+as[ \t]+{_NAME})?"
_INCLUDED = re.compile(
    r"literalinclude::[ \t]+(\S{1,400})[^\n]*\n(?:[ \t]+:[^\n]*\n){0,20}?"
    rf"[ \t]+:pyobject:[ \t]+({_NAME})"
)
_ARRAY_KEY = re.compile(r"""[ \t]*["']?([\w-]+)["']?[ \t]*=[ \t]*\Z""")
_LINES_KEY = re.compile(r"([\w-]+)[ \t]*=")
_TABLE = re.compile(r"(?m)^[ \t]*\[+[ \t]*([^\]\n]+?)[ \t]*\]+")
_LISTING_TABLES = frozenset({"tool.setuptools", "options"})
_LINE = 400  # characters of a line that are looked at beside a mention
_WINDOW = 20_000  # and of a file, for the array and the table around it
_MOST = 100  # mentions of one file in one list
_SHIPPING = frozenset(
    {"include", "only-include", "py-modules", "sources", "files", "force-include"}
)


@dataclass(frozen=True, slots=True)
class Change:
    """A stretch of a text to replace, with the words for a report."""

    start: int
    end: int
    new: str
    kind: str
    before: str
    after: str


class Written:
    """Finds the changes of one move."""

    def __init__(self, around: Surroundings) -> None:
        self._around, self._move = around, around.move
        names = sorted(around.sources, key=lambda name: (-len(name), name))
        joined = "|".join(map(re.escape, names))
        self._symbol = re.compile(rf"(?<![\w./-])({joined})([.:])({_NAME})(?![\w-])")
        items = rf"({_ITEM}(?:[ \t]*,[ \t]*{_ITEM}){{0,80}})"
        self._import = re.compile(rf"\bfrom[ \t]+({joined})[ \t]+import[ \t]+{items}")
        self._long = re.compile(rf"\bfrom[ \t]+({joined})[ \t]+import[ \t]*\(([^()]{{1,4000}})\)")
        self._whole = re.compile(rf"\bimport[ \t]+(?:[\w.]+,[ \t]*)*({joined})(?![\w.])")
        self._roles, self._partial = Roles(names), PartialRoles(around.move)

    def changes(self, path: str, text: str, grammar: Grammar) -> list[Change]:
        """The changes of one file, in order; none overlaps another."""
        found: list[Change] = []
        if NAMES in grammar.forms:
            found += self._names(path, text)
        if IMPORTS in grammar.forms:
            found += self.imports(text, "configuration", doctests=False)
        if DOCTESTS in grammar.forms:
            found += self.imports(text, "documentation", doctests=True)
        if REFERENCES in grammar.forms:
            found += self._references(path, text)
        if LISTS in grammar.forms:
            found += self._lists(path, text, grammar)
        kept: list[Change] = []
        for change in sorted(found, key=lambda change: (change.start, change.end)):
            if not kept or change.start >= kept[-1].end:
                kept.append(change)
        return kept

    def _home(self, dotted: str, name: str) -> str | None:
        home = self._move.named(dotted, name)
        return None if home == dotted else home

    def _names(self, path: str, text: str) -> Iterator[Change]:
        """`shop.orders.Money`; not where the module is imported to reach it by: but in quotes."""
        imported = {found[1] for found in self._whole.finditer(text)}
        for found in self._symbol.finditer(text):
            home = self._home(found[1], found[3])
            around = _before(text, found.start()) + found[0] + _behind(text, found.end())
            quoted = text[found.start() - 1 : found.start()] in ("'", '"')
            reached = found[1] in imported and not quoted
            if home is not None and not reached and not self._whole.search(around):
                kind = "entry point" if found[2] == ":" else "configuration"
                after = f"{home}{found[2]}{found[3]}"
                yield Change(found.start(1), found.end(1), home, kind, found[0], after)

    def imports(self, text: str, kind: str, *, doctests: bool) -> Iterator[Change]:
        """`from shop.orders import Money, Order`: split where the names part."""
        for found in self._import.finditer(text):
            lead = _before(text, found.start())
            prompt = lead.strip()
            if doctests != (prompt == ">>>") or text[found.end() : found.end() + 1] == "(":
                continue
            homes = self._homes(found[1], [part.strip() for part in found[2].split(",")])
            if list(homes) == [found[1]]:
                continue
            rest = _behind(text, found.end()).strip()
            joint = "\n" + lead if prompt in ("", ">>>") and not rest else "; "
            rows = [f"from {home} import {', '.join(homes[home])}" for home in sorted(homes)]
            yield Change(*found.span(), joint.join(rows), kind, found[0], "; ".join(rows))
        if doctests:
            yield from self._long_imports(text, kind)

    def _long_imports(self, text: str, kind: str) -> Iterator[Change]:
        """The same at a prompt, where the names stand in parentheses, on several lines."""
        for found in self._long.finditer(text):
            lead = _before(text, found.start())
            items = listed(found[2], lead) if lead.strip() == ">>>" else None
            homes = self._homes(found[1], items or [])
            if not items or list(homes) == [found[1]] or _behind(text, found.end()).strip():
                continue
            rows = [laid_out(home, homes[home], lead) for home in sorted(homes)]
            said = "; ".join(
                f"from {home} import {', '.join(homes[home])}" for home in sorted(homes)
            )
            before = f"from {found[1]} import {', '.join(items)}"
            yield Change(*found.span(), f"\n{lead}".join(rows), kind, before, said)

    def _homes(self, dotted: str, items: Sequence[str]) -> dict[str, list[str]]:
        """Where names that are imported from a source are now, in their order."""
        homes: dict[str, list[str]] = {}
        for item in items:
            homes.setdefault(self._home(dotted, item.split()[0]) or dotted, []).append(item)
        return homes

    def _references(self, path: str, text: str) -> Iterator[Change]:
        kind = "documentation"
        for found in self._roles.find(text, markdown=path.lower().endswith(".md")):
            home = self._home(found[1], found[2])
            if home is not None:
                yield Change(*found.span(1), home, kind, found[0], f"{home}.{found[2]}")
        for start, end, new in self._partial.find(text):
            yield Change(start, end, new, kind, text[start:end], new)
        for found in _INCLUDED.finditer(text):
            source = self._source_at(path, found[1])
            group = source.moved.get(found[2]) if source is not None else None
            if source is not None and group is not None:
                way = posixpath.relpath(group.located.path, posixpath.dirname(source.located.path))
                new = posixpath.normpath(posixpath.join(posixpath.dirname(found[1]), way))
                yield Change(*found.span(1), new, kind, found[1], new)

    def _source_at(self, path: str, written: str) -> SourceState | None:
        """The source whose file a document names, from its own folder."""
        full = posixpath.normpath(posixpath.join(posixpath.dirname(path), written))
        return next((s for s in self._move.sources if s.located.path == full), None)

    def _lists(self, path: str, text: str, grammar: Grammar) -> Iterator[Change]:
        """A list of files that has a source gets the new modules that come from it."""
        folder = posixpath.dirname(path)
        for old, new in modules_listed(self._around) if grammar.tables else ():
            yield from self._module_lists(text, grammar, old, new)
        for source in self._move.sources:
            made = new_files(self._move, source)
            for old in dict.fromkeys(_spellings(source.located.path, folder)):
                spelled = re.compile(rf"(?<![\w./-]){re.escape(old)}(?![\w./-])")
                for found in islice(spelled.finditer(text), _MOST):
                    if grammar.tables and not _ships(text[: found.start()], grammar):
                        continue
                    news = [_spelled(new, old, source.located.path) for new in made]
                    news = [new for new in news if not _is_listed(text, new)]
                    if news:
                        yield beside(text, *found.span(), news)

    def _module_lists(self, text: str, grammar: Grammar, old: str, new: str) -> Iterator[Change]:
        """A list of modules, or of packages without what lies below, that has `old`."""
        is_package = (self._around.names.path_of(old) or "").endswith("__init__.py")
        key = "packages" if is_package else "py.modules"
        word = re.compile(rf"(?<![\w./-]){re.escape(old)}(?![\w./-])")
        for found in islice(word.finditer(text), _MOST):
            before = text[max(0, found.start() - _WINDOW) : found.start()]
            tables = _TABLE.findall(before)
            if not tables or tables[-1] not in _LISTING_TABLES or _is_listed(text, new):
                continue
            if re.fullmatch(key, _array_key(before) or _lines_key(before)):
                yield beside(text, *found.span(), [new])


def modules_listed(around: Surroundings) -> Iterator[tuple[str, str]]:
    """New modules and new packages, each with the one beside which a list has to name it."""
    move = around.move
    folders = {posixpath.dirname(path) for path in around.tree.entries()}
    for group in move.groups:
        old, new = group.source.located.dotted, group.located.dotted
        package = move.names.package_of(group.located.path)
        if not group.located.exists:
            yield old, new
            if package and posixpath.dirname(group.located.path) not in folders:
                yield package.rpartition(".")[0], package


def new_files(move: Move, source: SourceState) -> list[str]:
    """The files that come from a source: new modules, and the `__init__` of new packages."""
    made = {
        group.located.path: None
        for group in move.groups
        if group.source is source and not group.located.exists
    }
    folders = {posixpath.dirname(path) for path in made}
    for package in move.plan.packages:
        place = move.plan.place(package.line)
        located = move.names.locate_new(package.module, place, package=True)
        if not located.exists and posixpath.dirname(located.path) in folders:
            made[located.path] = None
    return list(made)


def _spellings(path: str, folder: str) -> list[str]:
    """A path as a file in `folder` may write it: from there, or from the top."""
    inside = path.startswith(folder + "/") if folder else True
    return [posixpath.relpath(path, folder or ".")] if inside else [path]


def _spelled(new: str, old: str, source: str) -> str:
    """A new path, written from where `old` writes `source`."""
    base = source[: len(source) - len(old)].rstrip("/")
    return posixpath.relpath(new, base or ".")


def _is_listed(text: str, path: str) -> bool:
    return re.search(rf"(?<![\w./-]){re.escape(path)}(?![\w./-])", text) is not None


def _ships(before: str, grammar: Grammar) -> bool:
    """Whether a text so far has opened an array of what is shipped, in a table of such a tool."""
    before = before[-_WINDOW:]
    tables = _TABLE.findall(before)
    shipping = _array_key(before) in _SHIPPING
    return shipping and bool(tables) and any(word in tables[-1] for word in grammar.tables)


def _array_key(before: str) -> str:
    """The key whose array a text so far has opened; "" if none is open."""
    opened = before.rfind("[")
    if opened < 0 or before.rfind("]") > opened:
        return ""
    found = _ARRAY_KEY.match(before[before.rfind("\n", 0, opened) + 1 : opened])
    return found[1] if found else ""


def _lines_key(before: str) -> str:
    """The key of an INI file under which the line at the end of a text stands; "" if none."""
    for line in reversed(before.split("\n")):
        if line[:1] not in ("", " ", "\t"):
            found = _LINES_KEY.match(line)
            return found[1] if found else ""
    return ""


def beside(text: str, start: int, end: int, news: list[str]) -> Change:
    """New elements behind the one that is there, quoted and on lines of their own as it is."""
    quote = text[start - 1 : start] if text[start - 1 : start] in ("'", '"') else ""
    if quote and text[end : end + 1] == quote:
        end += 1
    first = text.rfind("\n", 0, start) + 1
    lead = text[first : start - len(quote)]
    comma = "," if quote else ""
    behind = _behind(text, end).strip()
    elements = [f"{quote}{new}{quote}" for new in news]
    if behind in ("", ",") and (not lead.strip() or lead.split()[:1] == ["include"]):
        added = "".join(f"{comma}\n{lead}{element}" for element in elements)
    else:
        added = "".join(f"{comma} {element}" for element in elements)
    before = text[start - len(quote) : end]
    return Change(end, end, added, "configuration", before, " ".join([before, *elements]))


def _before(text: str, at: int) -> str:
    """What stands before a place on its line, or the end of it where that is very long."""
    return text[max(text.rfind("\n", 0, at) + 1, at - _LINE) : at]


def _behind(text: str, at: int) -> str:
    """What stands behind a place on its line, or the beginning of it where that is very long."""
    end = text.find("\n", at, at + _LINE)
    return text[at : end if end >= 0 else at + _LINE]
