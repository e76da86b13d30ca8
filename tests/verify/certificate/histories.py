"""The public series that the kernel is tried on, read from bare clones."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from transforms.tree import GitTree
from verify.certificate import CERTIFIED, RESIDUAL, Files, Rest

LANDED = "bytedance-iaas-sglang.git"


@dataclass(frozen=True)
class Step:
    """A commit of the series, and what a certificate says of it."""

    verdict: str
    added: int | None
    removed: int | None
    target: str
    base: str = ""
    clone: str = LANDED


SERIES = {
    "27273": Step(
        CERTIFIED,
        0,
        0,
        "7e7e3820c26ba0609f017b99358172a9776197de",
        "e1955bf57ab39a4de7f7daf9a619e4f68f952ed9",
        "alphabetc1-sglang.git",
    ),
    "1/N": Step(RESIDUAL, 1, 0, "c06220159b"),
    "2/N": Step(CERTIFIED, 0, 0, "1af53f67b2"),
    "3/N": Step(CERTIFIED, 0, 0, "66076f2409"),
    "4/N": Step(RESIDUAL, None, None, "e57323cae9"),
    "5/N": Step(CERTIFIED, 0, 0, "ff1fc1fbdf"),
    "6/N": Step(RESIDUAL, 9, 8, "108a183f6b"),
    "7/N": Step(RESIDUAL, 16, 13, "9dd57ef8c4"),
    "8/N": Step(RESIDUAL, 0, 2, "0077f84d37"),
    "9/N": Step(RESIDUAL, 4, 1, "8ff9c2b227"),
}


class Shared:
    """The files that two commits share; what was read or searched once is kept."""

    def __init__(self, tree: GitTree, paths: Collection[str]) -> None:
        self._tree, self._paths = tree, paths
        self._read: dict[str, bytes] = {}
        self._found: dict[tuple[bytes, int], list[str]] = {}

    def paths(self) -> Collection[str]:
        return self._paths

    def read_many(self, paths: Iterable[str]) -> Mapping[str, bytes]:
        wanted = list(paths)
        self._read.update(self._tree.read_many(p for p in wanted if p not in self._read))
        return {path: self._read[path] for path in wanted}

    def search(self, needle: re.Pattern[bytes], paths: Iterable[str]) -> Iterable[str]:
        among = list(paths)
        key = (needle.pattern, len(among))
        if key not in self._found:
            self._found[key] = self._tree.search(needle, among)
        return self._found[key]

    def links(self) -> Mapping[str, bytes]:
        modes = self._tree.entries()
        return self._tree.read_many(path for path in sorted(modes) if modes[path] == 0o120000)


def load(name: str) -> tuple[Files, Files, Rest]:
    """Read what differs in one step of the series, and offer all else."""
    step = SERIES[name]
    clone = Path(os.environ["REPOT_HISTORIES"]) / step.clone
    base = GitTree(clone, step.base or f"{step.target}^")
    target = GitTree(clone, step.target)
    ours, theirs = (
        {path: (name, tree.entries()[path]) for path, name in tree.ids().items()}
        for tree in (base, target)
    )
    differing = {path for path in {*ours, *theirs} if ours.get(path) != theirs.get(path)}
    shared = [p for p in theirs if p not in differing and theirs[p][1] in {0o100644, 0o100755}]
    return _files(base, differing), _files(target, differing), Shared(target, shared)


def _files(tree: GitTree, paths: set[str]) -> Files:
    modes = tree.entries()
    read = tree.read_many(sorted(path for path in paths if path in modes))
    return {path: (data, modes[path]) for path, data in read.items()}
