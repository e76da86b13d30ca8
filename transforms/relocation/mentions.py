"""Where a text names what moves: by dotted name, or by path."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from transforms.relocation.targets import Targets

_PARTS = r"(?:\.[^\W\d]\w*)*"


@dataclass(frozen=True, slots=True)
class Mention:
    """One place that names a moved module, something in it, or its file.

    `start` to `end` are the characters to replace by `new`; `module` is the moved module; `rest`
    are the names behind it, up to the first that could be an attribute. `kind` is `dotted` or
    `path`.
    """

    kind: str
    start: int
    end: int
    old: str
    new: str
    module: str
    rest: str


class Mentions:
    """Finds mentions of everything that changes its name or its path."""

    def __init__(self, targets: Targets) -> None:
        self._targets = targets
        renames = targets.renames
        tops = [whole.old for whole in targets.wholes if whole.old in renames]
        packages = {old.rpartition(".")[0] for old in renames} - {"", *renames}
        self._taken = _pattern(
            sorted(packages), r"\bfrom[ \t]+({})[ \t]+import[ \t]+\(?([^\n]{{0,400}})"
        )
        self._dotted = _pattern(tops, r"(?<![\w./-])({})(" + _PARTS + r")(?!\w)(?!/)")
        paths = {old: new for old, new in targets.paths.items() if old != new}
        self._folders = {
            whole.folders[0]: whole.folders[1]
            for whole in targets.wholes
            if whole.folders is not None and whole.folders[0] != whole.folders[1]
        }
        self._paths = paths
        files = [path for path in paths if not any(path.startswith(f + "/") for f in self._folders)]
        self._path = _pattern(
            [*files, *self._folders],
            r"(?<![\w./-])((?:\./)?)({})((?:/[\w.*-]+)*/?)(?![\w-])(?!\.\w)",
        )

    def find(self, text: str, start: int = 0, end: int | None = None) -> Iterator[Mention]:
        """Every mention in a stretch of a text, in order."""
        stop = len(text) if end is None else end
        found = [*self._find_dotted(text, start, stop), *self._find_paths(text, start, stop)]
        yield from sorted(found, key=lambda mention: mention.start)

    def _find_dotted(self, text: str, start: int, stop: int) -> Iterator[Mention]:
        if self._dotted is None:
            return
        for match in self._dotted.finditer(text, start, stop):
            name = match[1] + match[2]
            module = self._targets.moved_in(name)
            if module is None or module not in self._targets.renames:
                continue
            new = self._targets.modules[module]
            rest = name[len(module) :].lstrip(".")
            if not rest and text[match.end() : match.end() + 1] == ":":
                word = re.compile(r":([^\W\d]\w*)").match(text, match.end())
                rest = word[1] if word else ""
            first = match.start()
            yield Mention("dotted", first, first + len(module), module, new, module, rest)

    def _find_paths(self, text: str, start: int, stop: int) -> Iterator[Mention]:
        if self._path is None:
            return
        for match in self._path.finditer(text, start, stop):
            stem, rest = match[2], match[3]
            new = self._new_path(stem, rest)
            if new is not None:
                yield Mention("path", *match.span(2), stem, new, "", rest)

    def _new_path(self, stem: str, rest: str) -> str | None:
        if stem in self._folders:
            whole = stem + rest
            if whole in self._paths and not self._paths[whole].startswith(self._folders[stem]):
                return None  # this one goes elsewhere than its folder
            return self._folders[stem]
        return None if rest else self._paths[stem]

    def taken_from_packages(self, text: str) -> Iterator[tuple[int, str]]:
        """Where `from PACKAGE import MODULE` takes a module that moves, and which."""
        if self._taken is None:
            return
        for match in self._taken.finditer(text):
            for name in re.findall(r"[^\W\d]\w*", match[2]):
                if f"{match[1]}.{name}" in self._targets.renames:
                    yield match.start(), f"{match[1]}.{name}"

    def searching(self) -> Callable[[str], bool]:
        """Whether a text names anything at all, told quickly."""
        patterns = [pattern for pattern in (self._dotted, self._path) if pattern is not None]
        return lambda text: any(pattern.search(text) for pattern in patterns)


def _pattern(names: list[str], shape: str) -> re.Pattern[str] | None:
    if not names:
        return None
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    return re.compile(shape.format("|".join(map(re.escape, longest_first))))
