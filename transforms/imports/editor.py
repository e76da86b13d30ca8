"""Edits of a module's import statements that fit together.

One statement can lose names to a move, gain names from another, and get a new neighbour in the
same run; `ImportEditor` collects these and renders each statement once.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from transforms.errors import Refusal
from transforms.imports.looks import Look
from transforms.imports.names import LongName
from transforms.imports.placement import Place, Run
from transforms.imports.statement import (
    ImportedName,
    ImportStatement,
    ImportStyle,
    NameComments,
    Shrink,
    render_import,
)
from transforms.source.edits import Edits
from transforms.source.imports import Site, find_sites
from transforms.source.module import Module
from transforms.tree.names import refuse_unimportable

_BLANK_LINE = re.compile(r"[ \t\f]*(?:\r\n|\r|\n)")
# What flake8 says of a star import alone: it does not go with a name that is imported instead.
_STAR_CODES = frozenset({"F403", "F405"})


@dataclass(slots=True)
class _New:
    """A statement to be made. `target` is its absolute module; None for a plain import."""

    target: str | None
    module: str | None
    names: list[ImportedName]
    comments: dict[ImportedName, NameComments]
    comment: str | None
    text: str | None = None  # as it is written, for a statement that changes its place


@dataclass(slots=True)
class _Changes:
    removed: list[ImportedName] = field(default_factory=list)
    added: list[ImportedName] = field(default_factory=list)
    added_comments: dict[ImportedName, NameComments] = field(default_factory=dict)
    replaced: dict[ImportedName, ImportedName] = field(default_factory=dict)
    module: str | None = None  # as it will be spelled, if that changes
    target: str | None = None  # and the absolute module, if that changes
    above: list[_New] = field(default_factory=list)
    below: list[_New] = field(default_factory=list)
    moved_to: Place | None = None  # the whole statement goes to another place in its run


class ImportEditor:
    """Collects edits of the import statements of one module and renders them into `Edits`.

    `sorter`: a formatter sorts the imports afterwards, so a new statement may stand anywhere.
    """

    def __init__(
        self,
        module: Module,
        package: str,
        style: Callable[[], ImportStyle],
        *,
        sorter: bool = False,
        sites: Sequence[Site] | None = None,
    ) -> None:
        self.module = module
        self.package = package
        self.sorter = sorter
        self._style = style  # asked for late: most files are read and never changed
        self.sites = find_sites(module, package) if sites is None else sites
        self.shrink: dict[Site, Shrink] = {}
        self.default_shrink = Shrink.COLLAPSE
        self.coming: dict[Site, str] = {}  # how `rename` will spell them
        self._changes: dict[Site, _Changes] = {}
        self._made: list[tuple[Site, _New]] = []  # new statements, and whose run they are in
        self._inserted: list[tuple[int, str, _New]] = []  # those above a comment: offset, indent

    def anew(self) -> ImportEditor:
        """An editor of the same statements that has collected nothing."""
        return ImportEditor(
            self.module, self.package, self._style, sorter=self.sorter, sites=self.sites
        )

    @cached_property
    def _by_node(self) -> dict[ast.AST, Site]:
        return {site.node: site for site in self.sites}

    def site_of(self, node: ast.AST | None) -> Site | None:
        """The site of an import statement; None for any other node."""
        return self._by_node.get(node) if node is not None else None

    @property
    def style(self) -> ImportStyle:
        """The file's import style; inferred when first asked for."""
        return self._style()

    def statement(self, site: Site) -> ImportStatement:
        """The statement as text, with its trailing comment if it has its line for itself."""
        return self._parse(site, self._text(site))

    def look(self, site: Site) -> Look:
        """What the statement shows to who only looks at it."""
        return Look(self._text(site), site.indent, site.node)

    def _text(self, site: Site) -> str:
        return self.module.text[site.start : self._end(site)]

    def _parse(self, site: Site, text: str) -> ImportStatement:
        try:
            return ImportStatement.parse(
                text, newline=self.module.newline, indent=site.indent, style=self.style
            )
        except LongName:
            raise Refusal(
                "deep-input",
                "This import statement, which changes, has a name of more parts than can be read.",
                next_step="Shorten the name, or leave the file out.",
                place=self.module.place(site.line),
            ) from None

    def _of(self, site: Site) -> _Changes:
        return self._changes.setdefault(site, _Changes())

    def removed(self, site: Site) -> list[ImportedName]:
        """Names that leave a statement."""
        changes = self._changes.get(site)
        return changes.removed if changes else []

    def gains(self, site: Site) -> bool:
        """Whether names have come to a statement from elsewhere."""
        changes = self._changes.get(site)
        return changes is not None and bool(changes.added)

    def is_emptied(self, site: Site) -> bool:
        """Whether every name has left the statement and none has come."""
        changes = self._changes.get(site)
        return bool(
            changes
            and len(set(changes.removed)) == len(set(site.names))
            and not (changes.added or changes.above or changes.below)
        )

    def target_of(self, site: Site) -> str | None:
        """The absolute module that a `from` import will name."""
        changes = self._changes.get(site)
        return site.target if changes is None or changes.target is None else changes.target

    def imports(self, target: str, bound: str) -> bool:
        """Whether some statement will import from `target` what is called `bound` here or there."""
        for site in self.sites:
            if self.target_of(site) == target:
                changes = self._changes.get(site) or _Changes()
                left = [name for name in site.names if name not in changes.removed]
                if any(bound in (n.name, n.asname) for n in [*left, *changes.added]):
                    return True
        return any(
            new.target == target and any(bound in (n.name, n.asname) for n in new.names)
            for _, new in self._made
        )

    def is_sent(self, site: Site) -> bool:
        """Whether the statement imports from another module than it did."""
        changes = self._changes.get(site)
        return changes is not None and changes.target is not None

    def forget(self, sites: Sequence[Site]) -> None:
        """Drop what was collected for statements that go with the guard around them."""
        for site in sites:
            self._changes.pop(site, None)

    # What is asked for

    def remove(self, site: Site, name: ImportedName) -> None:
        """Take a name out of a statement."""
        removed = self._of(site).removed
        if name not in removed:
            removed.append(name)

    def replace(self, site: Site, old: ImportedName, new: ImportedName) -> None:
        """Spell one name of a statement otherwise, in its place."""
        self._check(site, new.name)
        self._of(site).replaced[old] = new

    def rename(self, site: Site, target: str, spelled: str) -> None:
        """The statement imports from another module: its layout and comments stay.

        Where its run is sorted and nothing will sort it afterwards, it takes its new place.
        """
        self._check(site, spelled)
        changes = self._of(site)
        changes.module, changes.target = spelled, target
        if not self.sorter and site.alone:
            changes.moved_to = self._run(site).new_place(site, spelled)

    def respell(self, site: Site, spelled: str) -> None:
        """The statement names its module otherwise; the module is the same."""
        self._of(site).module = spelled

    def add(
        self, site: Site, target: str, spelled: str, name: ImportedName, origin: Site | None
    ) -> None:
        """Import `name` from `target` in the run of `site`.

        In a statement that imports from there, else in a new one near `site`. `origin` is the
        statement that the name leaves.
        """
        self._check(site, spelled)
        self._check(site, name.name)
        comments: Mapping[ImportedName, NameComments] = {}
        pragma = None
        if origin is not None:
            comments = self.statement(origin).removed_comments([name])
            pragma = self._pragma(origin)
        existing = self.existing(site, target, pragma if origin is not None else "")
        if existing is not None:
            changes = self._of(existing)
            if name in existing.names and name not in changes.removed:
                return
            if name not in changes.added:
                changes.added.append(name)
                changes.added_comments.update(comments)
            return
        if self._is_made(site, target, name):
            return
        made = self._made_for(site, target)
        if made is None:
            self._make(site, _New(target, spelled, [name], dict(comments), pragma))
        elif name not in made.names:
            made.names.append(name)
            made.comments.update(comments)
            made.comment = made.comment or pragma

    def add_plain(self, site: Site, name: ImportedName) -> None:
        """`import NAME` near `site`, unless its run has it."""
        self._check(site, name.name)
        if not self.has_plain(site, name):
            self._make(site, _New(None, None, [name], {}, None))

    def _check(self, site: Site, dotted: str) -> None:
        if dotted != "*":
            refuse_unimportable(dotted, self.module.place(site.line))

    def has_plain(self, site: Site, name: ImportedName) -> bool:
        """Whether the run of `site` has `import NAME`, or will have."""
        for other in self.sites:
            if other.block is site.block and not other.is_from:
                changes = self._changes.get(other) or _Changes()
                stays = name not in changes.removed and name not in changes.replaced
                if name in changes.replaced.values() or (name in other.names and stays):
                    return True
        return any(
            new.target is None and name in new.names
            for other, new in self._made
            if other.block is site.block
        )

    def has_from(self, site: Site, target: str, name: ImportedName) -> bool:
        """Whether another statement of the run of `site` imports `name` from `target`."""
        for other in self.sites:
            if other is site or other.block is not site.block or not self._gives(other, target):
                continue
            changes = self._changes.get(other) or _Changes()
            gone = name in changes.removed or name in changes.replaced
            if name in changes.added or (name in other.names and not gone):
                if self.reaches(other, site):
                    return True
        return False

    def existing(self, site: Site, target: str, pragma: str | None = "") -> Site | None:
        """A statement of the same run that imports names from `target`.

        One that carries another `# noqa` than `pragma` is no place for the name; "" is any.
        """
        if self.style.one_name_per_statement or self.has_one_each(site.block, target):
            return None
        for other in self.sites:
            if other.block is not site.block or other.is_star or not self._gives(other, target):
                continue
            if pragma and self._pragma(other) != pragma:
                continue
            if not self.is_emptied(other) and self.reaches(other, site):
                return other
        return None

    def has_one_each(self, block: Sequence[ast.stmt], target: str) -> bool:
        """Whether a block gives each name that it takes from `target` a statement of its own."""
        own = [s for s in self.sites if s.block is block and s.target == target]
        return len(own) > 1 and all(len(s.names) == 1 for s in own)

    def _gives(self, site: Site, target: str) -> bool:
        """Whether the statement, as changed so far, imports from `target` and will go on to."""
        leaves = site in self.coming and not self.is_sent(site)
        return site.is_from and not leaves and self.target_of(site) == target

    def reaches(self, other: Site, site: Site) -> bool:
        """Whether a name imported at `other` is bound wherever it is at `site`.

        `other` stands before it, or only imports stand between.
        """
        block = list(site.block)
        here, there = block.index(site.node), block.index(other.node)
        between = block[here + 1 : there]
        return there <= here or all(
            isinstance(node, (ast.Import, ast.ImportFrom)) for node in between
        )

    def _is_made(self, site: Site, target: str, name: ImportedName) -> bool:
        return any(
            other.block is site.block and new.target == target and name in new.names
            and self.reaches(other, site)
            for other, new in self._made
        )  # fmt: skip

    def _made_for(self, site: Site, target: str) -> _New | None:
        if self.style.one_name_per_statement or self.has_one_each(site.block, target):
            return None
        for other, new in self._made:
            if other.block is site.block and new.target == target and self.reaches(other, site):
                return new
        return None

    def _pragma(self, site: Site) -> str | None:
        """The statement's comment for tools, without what speaks of its star alone."""
        pragma = self.look(site).pragma
        if pragma is None or not site.is_star:
            return pragma
        head, colon, codes = pragma.partition(":")
        if "noqa" not in head or not colon:
            return pragma
        left = [code for code in codes.replace(",", " ").split() if code not in _STAR_CODES]
        return f"{head}: {', '.join(left)}" if left else None

    def _make(self, site: Site, new: _New) -> None:
        """Put a new statement where the run of `site` would have it."""
        self._made.append((site, new))
        place = Place(site)
        if not self.sorter and site.alone:
            plain = new.module is None
            name = new.module or new.names[0].name
            first = new.names[0].name
            place = self._run(site).place_beside(site, name, plain=plain, first=first)
        self._put(place, site.indent, new)

    def _put(self, place: Place, indent: str, new: _New) -> None:
        if place.offset is not None:
            self._inserted.append((place.offset, indent, new))
        elif place.above:
            self._of(place.site).above.append(new)
        else:
            self._of(place.site).below.append(new)

    def _run(self, site: Site) -> Run:
        sites = [other for other in self.sites if other.block is site.block]
        return Run(self.module, sites, self._spelled, self.style)

    def _spelled(self, site: Site) -> str | None:
        changes = self._changes.get(site)
        return (changes.module if changes else None) or self.coming.get(site)

    # How it is written

    def finish(self, edits: Edits) -> None:
        """Render every changed statement. Statements that lost all names are deleted."""
        for site in self.sites:
            changes = self._changes.get(site)
            if changes is not None and changes.moved_to is not None:
                text = self._remaining(site, changes)
                new = _New(changes.target, changes.module, list(site.names), {}, None, text)
                self._put(changes.moved_to, site.indent, new)
        for offset, indent, new in self._inserted:
            edits.insert(offset, indent + self._new(indent, new) + self.module.newline)
        for site in self.sites:
            changes = self._changes.get(site)
            if changes is not None:
                self._render(site, changes, edits)

    def _render(self, site: Site, changes: _Changes, edits: Edits) -> None:
        lines = [self._new(site.indent, new) for new in _in_order(changes.above)]
        remaining = None if changes.moved_to else self._remaining(site, changes)
        lines += [] if remaining is None else [remaining]
        lines += [self._new(site.indent, new) for new in _in_order(changes.below)]
        if lines:
            joint = self.module.newline + site.indent if site.alone else "; "
            edits.replace(site.start, self._end(site), joint.join(lines))
        elif self._is_sole(site):
            edits.replace(site.start, site.end, "pass")
        elif site.alone:
            edits.delete_lines(self.module.line_start(site.start), self._after(site))
        else:
            self._delete_small(site, edits)

    def _end(self, site: Site) -> int:
        if not site.alone:
            return site.end
        text = self.module.text[site.start : site.line_end]
        return site.start + len(text.rstrip(" \t\f"))

    def _remaining(self, site: Site, changes: _Changes) -> str | None:
        """The statement with its edits, None if no name is left."""
        text = self._text(site)
        if len(set(changes.removed)) == len(set(site.names)) and not changes.added:
            return None
        if changes.added:
            text = self._parse(site, text).with_names(
                changes.added, comments=changes.added_comments
            )
        for old, new in changes.replaced.items():
            text = self._parse(site, text).replacing(old, new)
        if changes.removed:
            shrink = self.shrink.get(site, self.default_shrink)
            text = self._parse(site, text).without(changes.removed, shrink) or ""
        if changes.module is not None:
            text = self._parse(site, text).renamed(changes.module)
        return text

    def _new(self, indent: str, new: _New) -> str:
        if new.text is not None:
            return new.text
        return render_import(
            new.module,
            new.names,
            style=self.style,
            indent=indent,
            newline=self.module.newline,
            comment=new.comment,
            comments=new.comments,
        )

    def _is_sole(self, site: Site) -> bool:
        """Whether the deleted statement would leave its suite without any statement."""
        if not site.guards or site.node is not site.block[-1]:
            return False
        return all(node is site.node or self._is_gone(node) for node in site.block)

    def _is_gone(self, node: ast.stmt) -> bool:
        site = self.site_of(node)
        return site is not None and self.is_emptied(site)

    def _after(self, site: Site) -> int:
        """The end of a deleted statement's lines; a suite does not begin with a gap instead."""
        after = self.module.after_line(site.line_end)
        before = site.block[: list(site.block).index(site.node)]
        if site.guards and all(self._is_gone(node) for node in before):
            while found := _BLANK_LINE.match(self.module.text, after):
                after = found.end()
        return after

    def _beside(self, site: Site, step: int) -> Site:
        """The last of the sites before or behind one, on its line, that all go with it."""
        number = list(site.block).index(site.node) + step
        while 0 <= number < len(site.block):
            other = self.site_of(site.block[number])
            if other is None or other.alone or not self._goes(other):
                break
            pair = (other, site) if step < 0 else (site, other)
            if self.module.line_start(pair[1].start) != self.module.line_start(pair[0].end):
                break
            site, number = other, number + step
        return site

    def _goes(self, site: Site) -> bool:
        return self.is_emptied(site) and not self._is_sole(site)

    def _delete_small(self, site: Site, edits: Edits) -> None:
        """Take a statement out of a line of several, and with it those beside it that go, too."""
        first, last = self._beside(site, -1), self._beside(site, 1)
        if first is not site:
            return
        text, start, end = self.module.text, site.start, last.end
        behind = _skip_blanks(text, end)
        above = text[self.module.line_start(start) : start]
        if not above.strip() and text[behind : behind + 1] in ("", "#", "\r", "\n"):
            edits.delete_lines(self.module.line_start(start), self._after(last))
            return
        if text[behind : behind + 1] == ";":
            behind = _skip_blanks(text, behind + 1)
            if text[behind : site.line_end].strip() and not text[behind:].startswith("#"):
                edits.replace(start, behind, "")
                return
        before = text[self.module.line_start(start) : start].rstrip(" \t")
        cut = self.module.line_start(start) + len(before)
        edits.replace(cut - 1 if before.endswith(";") else cut, end, "")


def _in_order(made: list[_New]) -> Iterator[_New]:
    yield from sorted(made, key=lambda new: (new.module or "", *_folded(new.names[0].name)))


def _folded(name: str) -> tuple[str, str]:
    return name.lower(), name


def _skip_blanks(text: str, offset: int) -> int:
    while text[offset : offset + 1] in (" ", "\t"):
        offset += 1
    return offset
