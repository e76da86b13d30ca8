"""A repository of our own over somebody else's objects: git runs here, never in the judged one.

It is a fresh bare repository in a temporary folder whose alternates name the judged repository's
objects. Its configuration is ours alone: no hook, filter, attribute, graft, replacement, ignore
list or promisor of the judged repository is in force, and nothing is written there.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from transforms.paths import from_bytes, quote, to_bytes
from transforms.result.changes import Blob
from transforms.tree.git import GitError, Repository
from verify.history.made import make

_NOBODY = "Repot <repot@repot.invalid> 0 +0000"
_FOLDER = 0o40000
_MOST_UNPACKED = 1 << 30  # bytes of disk, for as long as blame runs


class Scratch:
    """A temporary bare repository that sees the objects of `judged`; a context manager."""

    def __init__(self, judged: Repository) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="repot-"))
        printed = judged.run("rev-parse", "--show-object-format", "--git-path", "objects")
        kind, _, objects = printed.removesuffix(b"\n").partition(b"\n")
        self._made = make(self._folder, bare=True, sha256=kind == b"sha256")
        with self._made.config_writer() as settings:
            # Pinned, since it changes which lines `git blame` gives to whom (from git 2.53 on).
            settings.set_value("diff", "algorithm", "myers")
        shared = (judged.absolute_git_dir() / os.fsdecode(objects)).resolve()
        # Quoted, since a folder may be named with a line break; git reads C escapes here.
        line = quote(from_bytes(os.fsencode(shared)))
        (self._folder / "objects/info/alternates").write_text(f"{line}\n", encoding="ascii")
        self.repository = Repository(self._folder, None)

    def __enter__(self) -> Scratch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def commit(self, tree: str, parents: Iterable[str] = (), subject: str = "Repot") -> str:
        """Make a commit of a tree; the same of all three gives the same id everywhere."""
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
        text = "\n".join([*lines, f"author {_NOBODY}", f"committer {_NOBODY}", "", subject, ""])
        return self._made.store("commit", text.encode())

    def blob(self, data: bytes) -> str:
        """Keep a file's bytes, as they are, and give their id."""
        return self._made.store("blob", data)

    @property
    def folder(self) -> Path:
        """Give the folder of the repository."""
        return self._folder

    def store(self, kind: str, data: bytes) -> str:
        """Write a blob or a commit, and give its id."""
        return self._made.store(kind, data)

    def changed(self, tree: str, files: Mapping[str, Blob | None]) -> str:
        """Make a tree from another one, with some files replaced or added, or removed (`None`)."""
        gone = "0" * len(tree)
        rows = [
            b"0 %s\t%s\0" % (gone.encode(), to_bytes(path))
            for path, blob in files.items()
            if blob is None
        ]
        for path, blob in files.items():
            if blob is not None:
                name = self.blob(blob.data)
                rows.append(b"%o %s\t%s\0" % (blob.mode, name.encode(), to_bytes(path)))
        index = ("-c", "core.protectNTFS=false", "-c", "core.protectHFS=false")
        self.repository.run(*index, "read-tree", tree)
        self.repository.run(*index, "update-index", "-z", "--index-info", data=b"".join(rows))
        return self._run("write-tree", "--missing-ok", data=b"")

    def merge(
        self, base: str, ours: tuple[str, str], theirs: tuple[str, str], *, renames: bool
    ) -> bytes:
        """Merge two trees that come from a third, as git does; gives what `git merge-tree` prints.

        Each side is a tree and the label that conflict markers get. `renames`: whether git looks
        for files that one side renamed. The format is that of `git merge-tree --write-tree -z`.
        """
        start = self.commit(base)
        sides = [(label, self.commit(tree, [start])) for tree, label in (ours, theirs)]
        setting = f"merge.renames={'true' if renames else 'false'}"
        command = ("-c", setting, "merge-tree", "--write-tree", "-z")
        printed = self.repository.run(*command, *(name for _, name in sides), codes=(0, 1))
        if printed.count(b"\0") == 1:
            return printed
        for label, name in sides:  # markers have what a commit was named by
            self.repository.run("update-ref", f"refs/heads/{label}", name)
        return self.repository.run(*command, *(label for label, _ in sides), codes=(0, 1))

    def pack(self, wanted: Iterable[str], without: Iterable[str]) -> bytes:
        """Pack all objects that lead to `wanted`, apart from those that lead to `without`."""
        names = [*wanted, *(f"^{name}" for name in without)]
        data = "".join(f"{name}\n" for name in names).encode()
        return self.repository.run("pack-objects", "--quiet", "--revs", "--stdout", data=data)

    def flat_tree(self, files: Mapping[str, bytes]) -> str:
        """Make a tree of files without folders; names may not hold a slash."""
        rows = [
            f"100644 blob {self._made.store('blob', data)}\t{name}\n"
            for name, data in sorted(files.items())
        ]
        return self._run("mktree", data="".join(rows).encode())

    def tree(self, entries: Iterable[tuple[str, int, str]]) -> str:
        """Make a tree of objects that are there already: path, mode and id of each.

        Not by `git write-tree`: of trees that the judged repository has it would note there, by
        their files' times, that somebody wants them.
        """
        folders: dict[bytes, dict[bytes, tuple[int, str]]] = {b"": {}}
        for path, mode, name in entries:
            folder, _, last = to_bytes(path).rpartition(b"/")
            while folder not in folders:
                folders[folder] = {}
                folder = folder.rpartition(b"/")[0]
            folders[to_bytes(path).rpartition(b"/")[0]][last] = mode, name
        # Deeper ones first: each is an entry of the one that it lies in.
        for folder in sorted(folders, key=lambda name: (name.count(b"/"), name), reverse=True):
            rows = sorted(folders[folder].items(), key=_as_git_sorts)
            data = b"".join(b"%o %s\0%s" % (m, n, bytes.fromhex(i)) for n, (m, i) in rows)
            kept = self._made.store("tree", data)
            if not folder:
                return kept
            above, _, last = folder.rpartition(b"/")
            folders[above][last] = _FOLDER, kept
        raise AssertionError("the top is one of them")

    def unpack(self, *trees: str) -> None:
        """Keep the files of these trees here as they are, without deltas and compression.

        Blame reads every file of the base once for each file that it is asked about; this halves
        what that costs. Where it cannot be done, the judged repository's own packs serve.
        """
        with suppress(GitError):
            if sum(map(self._size, trees)) > _MOST_UNPACKED:
                return
            self._run(
                "pack-objects", "--quiet", "--revs", "--window=0", "--compression=0",
                "--no-reuse-delta", "--no-reuse-object", str(self._folder / "objects/pack/files"),
                data="".join(f"{tree}\n" for tree in trees).encode(),
            )  # fmt: skip

    def _size(self, tree: str) -> int:
        """Sum the bytes of a tree's files."""
        listed = self._run("ls-tree", "-r", "-l", tree, data=b"").split("\n")
        sizes = (row.partition("\t")[0].rpartition(" ")[2] for row in listed)
        return sum(int(size) for size in sizes if size.isdigit())

    def _run(self, *arguments: str, data: bytes) -> str:
        return self.repository.run(*arguments, data=data).decode().strip()


def _as_git_sorts(row: tuple[bytes, tuple[int, str]]) -> bytes:
    """Sort a folder as if its name ended with a slash."""
    name, (mode, _) = row
    return name + b"/" if mode == _FOLDER else name
