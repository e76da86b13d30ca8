"""Somebody else's objects under a configuration of ours.

`git blame` obeys much of a repository's configuration: lists of commits to ignore, drivers that run
a command for each file, name maps anywhere on the disk, how lines are compared. A repository in
which nobody but Repot has written shuts that out, as `verify.history.scratch` does where objects
are made. Nothing is made here, so five small files do, in place of a process and of GitPython,
which together take longer than all of a blame.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from transforms.paths import from_bytes, quote
from transforms.tree.git import Repository

_SHALLOW = "shallow"
_CONFIGURATION = """\
[core]
\trepositoryformatversion = 1
\tbare = true
[extensions]
\tobjectformat = {kind}
[diff]
\talgorithm = myers
\tindentHeuristic = true
"""  # both pinned: they change which lines blame gives to whom


@contextmanager
def sealed(judged: Repository, mailmap: str = "") -> Iterator[Repository]:
    """Give a repository that sees the objects of `judged`, for the block; it is shallow if that is.

    `mailmap` is the id of the file by which names of authors are mapped, if there is one.
    """
    printed = judged.run("rev-parse", "--show-object-format", "--git-common-dir")
    kind, _, common = printed.removesuffix(b"\n").partition(b"\n")
    git_dir = (judged.directory / os.fsdecode(common)).resolve()
    with tempfile.TemporaryDirectory(prefix="repot-") as name:
        folder = Path(name)
        for part in ("objects/info", "refs"):
            (folder / part).mkdir(parents=True)
        (folder / "HEAD").write_text("ref: refs/heads/main\n", encoding="ascii")
        settings = _CONFIGURATION.format(kind=kind.decode("ascii"))
        if mailmap:
            settings += f"[mailmap]\n\tblob = {mailmap}\n"
        (folder / "config").write_text(settings, encoding="ascii")
        # Quoted, since a folder may be named with a line break; git reads C escapes here.
        objects = quote(from_bytes(os.fsencode(git_dir / "objects")))
        (folder / "objects/info/alternates").write_text(f"{objects}\n", encoding="ascii")
        if (git_dir / _SHALLOW).is_file():
            (folder / _SHALLOW).write_bytes((git_dir / _SHALLOW).read_bytes())
        yield Repository(folder, None)


def shallow_commits(ours: Repository) -> frozenset[str]:
    """Give the commits of such a repository with which a shallow clone begins."""
    file = ours.git_dir / _SHALLOW
    return frozenset(file.read_text(encoding="ascii").split()) if file.is_file() else frozenset()
