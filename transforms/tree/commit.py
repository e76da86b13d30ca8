"""A commit as a tree, read from git's object store; nothing is checked out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from pathlib import Path
from types import MappingProxyType

from transforms.errors import Place, Refusal
from transforms.tree import git
from transforms.tree.base import Tree, listed

_SHORT = 12
_MOST_KEPT = 32 << 20  # bytes of files that were read, so that reading them again costs no process


class GitTree(Tree):
    """The files of one commit of any repository: bare, linked worktree, shallow or partial clone.

    The revision is resolved once; `commit` is its full id, and what it names later does not
    matter. Bytes are those that git stores: no line ending, filter or attribute is applied.
    """

    def __init__(self, repo: Path | str, rev: str) -> None:
        found = git.require(Path(repo))
        self._open(found, found.resolve(rev))

    @classmethod
    def known(cls, repository: git.Repository, commit: str) -> GitTree:
        """Open a commit by its full id, which the repository is known to have."""
        tree = cls.__new__(cls)
        tree._open(repository, commit)
        return tree

    def _open(self, repository: git.Repository, commit: str) -> None:
        self.repository, self.commit = repository, commit
        self.label = f"commit {self.commit[:_SHORT]}"
        self._ids: dict[str, str] = {}
        self._modes: dict[str, int] | None = None  # until it is listed
        self._kept: dict[str, bytes] = {}
        self._kept_bytes = 0

    def again(self) -> GitTree:
        """Give the same commit for another thread: an instance keeps what it reads."""
        twin = copy(self)
        twin._ids, twin._kept = dict(self._ids), dict(self._kept)
        return twin

    def entries(self) -> Mapping[str, int]:
        """Give each path's mode in the commit."""
        if self._modes is None:
            self._modes = self._list()
        return MappingProxyType(self._modes)

    def ids(self) -> Mapping[str, str]:
        """Give each path's object id: two commits hold equal bytes where these are equal."""
        self.entries()
        return MappingProxyType(self._ids)

    def _list(self) -> dict[str, int]:
        try:
            listing = self.repository.run("ls-tree", "-r", "-z", "--full-tree", self.commit)
        except git.MissingObjectError:
            raise self.repository.missing(f"A directory of {self.label}") from None
        except git.GitError as error:
            raise self._malformed(f"Git says: {error}.") from None
        modes: dict[str, int] = {}
        for path, mode, name in listed(listing):
            if path in modes:
                raise self._malformed(f"It lists `{path}` twice.")
            modes[path] = mode
            self._ids[path] = name
        return modes

    def _stream(self, paths: list[str]) -> Iterator[tuple[str, bytes]]:
        by_id: dict[str, list[str]] = {}
        for path in paths:
            by_id.setdefault(self._ids[path], []).append(path)
        for name in self._kept.keys() & by_id.keys():
            for path in by_id.pop(name):
                yield path, self._kept[name]
        try:
            for name, data in self.repository.blobs(by_id) if by_id else ():
                for path in by_id[name]:
                    yield path, data
        except git.MissingObjectError as missing:
            names = by_id.get(str(missing)) or paths
            raise self.repository.missing(f"`{names[0]}` of {self.label}") from None
        except git.GitError as error:
            raise self._malformed(f"Git says: {error}.") from None

    def _keep(self, path: str, data: bytes) -> None:
        name = self._ids[path]
        if name not in self._kept and self._kept_bytes + len(data) <= _MOST_KEPT:
            self._kept[name] = data
            self._kept_bytes += len(data)

    def _malformed(self, cause: str) -> Refusal:
        return Refusal(
            "malformed-repository",
            f"The {self.label} cannot be read. {cause}",
            next_step="Run `git fsck` in the repository.",
            place=Place(str(self.repository.git_dir)),
        )
