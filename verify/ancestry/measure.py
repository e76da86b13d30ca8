"""Ancestry: how much of the moved code `git blame -C -C -C` still traces past the move.

The range is squashed to one commit onto its base, so that a move made in several commits is judged
as one, and blame is bounded at the base: past it no line changes its class. Two figures are given:
`traced` as upstream reports it, where any file of the base may be the origin, and `strict`, from a
repository that holds only the sources, so that only they are credited.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from transforms.errors import Place, Refusal
from transforms.paths import to_bytes
from transforms.tree import GitTree
from transforms.tree.git import GitError
from verify.ancestry.origins import irrelevant
from verify.history.scratch import Scratch

_HEADER = re.compile(rb"([0-9a-f]{40,64}) (\d+) (\d+)(?: \d+)?\Z")

# What explains a line that blame credits to the move itself: (path, 1-based line) -> words.
Explain = Callable[[str, int], str]


@dataclass(frozen=True, slots=True)
class Untraced:
    """A line that is new to git, and the operation that explains it."""

    line: int
    text: str
    operation: str


@dataclass(frozen=True, slots=True)
class FileAncestry:
    """One file of the target. `origins` counts its traced lines by the file of the base.

    `lines` are those that count; beside them are `derived`, imports of a module that moved whole
    that name another such module.
    """

    path: str
    lines: int
    traced: int
    strict: int
    origins: tuple[tuple[str, int], ...]
    untraced: tuple[Untraced, ...]
    derived: int = 0


@dataclass(frozen=True, slots=True)
class Ancestry:
    """The files, by path, and their sums."""

    files: tuple[FileAncestry, ...]

    @property
    def lines(self) -> int:
        """Lines of all files, but for what is derived."""
        return sum(file.lines for file in self.files)

    @property
    def derived(self) -> int:
        """Lines that are counted beside: imports of moved modules by moved modules."""
        return sum(file.derived for file in self.files)

    @property
    def traced(self) -> int:
        """Lines traced past the move, to any file of the base."""
        return sum(file.traced for file in self.files)

    @property
    def strict(self) -> int:
        """Lines traced to the sources, when nothing else is there."""
        return sum(file.strict for file in self.files)


def measure(
    base: GitTree,
    target: GitTree,
    sources: Sequence[str],
    destinations: Sequence[str],
    explain: Explain,
    *,
    jobs: int | None = None,
) -> Ancestry:
    """Blame every destination. Raises `Refusal` where history is missing."""
    with Scratch(target.repository) as scratch:
        apart = irrelevant(base, target, destinations)
        before, after = (scratch.tree(_without(apart, tree)) for tree in (base, target))
        scratch.unpack(before, after)
        squashed = scratch.commit(after, [scratch.commit(before)])
        wide = _Blame(scratch, squashed)
        narrow = _narrow(scratch, base, target, sources, destinations)
        workers = jobs or os.cpu_count() or 1
        with ThreadPoolExecutor(max_workers=workers) as pool:
            results = list(pool.map(wide.lines, destinations))
        strict = dict(zip(destinations, map(narrow, destinations), strict=True))
    contents = target.read_many(destinations)
    files = []
    for path, credited in zip(destinations, results, strict=True):
        files.append(_file(path, contents[path], credited, strict[path], explain))
    return Ancestry(tuple(sorted(files, key=lambda file: file.path)))


def explained(ancestry: Ancestry, explain: Explain, derived: str = "") -> Ancestry:
    """Give the same with another explanation of each line that is new to git.

    What is explained by the words `derived` is counted beside the other lines.
    """
    files = []
    for file in ancestry.files:
        lines = [replace(n, operation=explain(file.path, n.line)) for n in file.untraced]
        beside = sum(line.operation == derived for line in lines)
        count = file.lines - beside
        files.append(replace(file, untraced=tuple(lines), lines=count, derived=beside))
    return Ancestry(tuple(files))


def _without(apart: Container[str], tree: GitTree) -> Iterator[tuple[str, int, str]]:
    """Path, mode and id of everything in a commit but the files named."""
    ids = tree.ids()
    return ((path, mode, ids[path]) for path, mode in tree.entries().items() if path not in apart)


def _file(
    path: str, data: bytes, credited: Sequence[str | None], strict: int, explain: Explain
) -> FileAncestry:
    rows = data.decode("utf-8", "replace").split("\n")
    origins: dict[str, int] = {}
    untraced = []
    for number, origin in enumerate(credited, start=1):
        if origin is None:
            untraced.append(Untraced(number, rows[number - 1], explain(path, number)))
        else:
            origins[origin] = origins.get(origin, 0) + 1
    ordered = sorted(origins.items(), key=lambda item: (-item[1], item[0]))
    traced = len(credited) - len(untraced)
    return FileAncestry(path, len(credited), traced, strict, tuple(ordered), tuple(untraced))


@dataclass(frozen=True, slots=True)
class _Blame:
    """`git blame` of files of one squashed commit, bounded at its parent."""

    scratch: Scratch
    commit: str

    def lines(self, path: str) -> list[str | None]:
        """For each line the file of the base that it comes from; None if it is new."""
        try:
            printed = self.scratch.repository.run(
                "blame", "-C", "-C", "-C", "--line-porcelain", "--no-progress",
                f"{self.commit}^..{self.commit}", "--", os.fsdecode(to_bytes(path)),
            )  # fmt: skip
        except GitError as error:
            raise Refusal(
                "missing-history",
                f"`git blame` cannot read all of the base: {str(error) or 'an object is missing'}.",
                next_step="Bring the history here: `git fetch --unshallow`, or "
                "`git fetch --refetch --no-filter origin` in a partial clone.",
                place=Place(path),
            ) from None
        return list(_credits(printed, self.commit))


def _credits(printed: bytes, commit: str) -> Iterator[str | None]:
    """Read `--line-porcelain`: a header line, fields, then the line itself behind a tab."""
    name, new = b"", False
    for row in printed.split(b"\n"):
        found = _HEADER.match(row)
        if row.startswith(b"\t"):
            yield None if new else name.decode("utf-8", "surrogateescape")
        elif found:
            new = found[1].decode() == commit
        elif row.startswith(b"filename "):
            name = row.removeprefix(b"filename ")


def _narrow(
    scratch: Scratch,
    base: GitTree,
    target: GitTree,
    sources: Sequence[str],
    destinations: Sequence[str],
) -> Callable[[str], int]:
    """Count lines traced in a repository of just the sources, under names without folders."""
    names = {path: f"{index:06}.py" for index, path in enumerate([*sources, *destinations])}
    before = base.read_many([path for path in names if path in base.entries()])
    after = target.read_many([path for path in names if path in target.entries()])
    first = scratch.commit(scratch.flat_tree({names[path]: data for path, data in before.items()}))
    second = scratch.commit(
        scratch.flat_tree({names[path]: data for path, data in after.items()}), [first]
    )
    blame = _Blame(scratch, second)

    def count(path: str) -> int:
        return sum(origin is not None for origin in blame.lines(names[path]))

    return count
