"""Repositories that Repot makes and writes to, through GitPython, cut off from what is around them.

The head of `transforms.tree.git` says what GitPython does by itself. Here it reads no configuration
but the repository's own, which Repot wrote; the git that it runs is the one that Repot runs, never
one of the current folder, and is told nothing by the user's environment. There are no hooks, since
no template is laid down.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import Any

from transforms.errors import Refusal
from transforms.tree.git import SHIELD, executable

_CHANGING = Lock()


@contextmanager
def under(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Set variables of this process for a moment, or take them away; nothing else here reads them.

    GitPython reads some as it is imported, others as it opens a repository.
    """
    with _CHANGING:
        before = {name: os.environ.get(name) for name in variables}
        _set(variables)
        try:
            yield
        finally:
            _set(before)


def unset() -> dict[str, str | None]:
    """Name the variables that speak to git, as `under` takes them away."""
    return {name: None for name in os.environ if name.startswith("GIT_")}


def _set(variables: Mapping[str, str | None]) -> None:
    for name, text in variables.items():
        if text is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = text


def _git_or_none() -> str:
    """Name the git that Repot runs. Where there is none, whoever needs it says so later."""
    try:
        return executable()
    except Refusal:
        return os.devnull


with under({"GIT_PYTHON_GIT_EXECUTABLE": _git_or_none(), "GIT_PYTHON_REFRESH": "quiet"}):
    import git
    from gitdb import IStream, LooseObjectDB

_IDENTITY = {
    f"GIT_{who}_{what}": text
    for who in ("AUTHOR", "COMMITTER")
    for what, text in (("NAME", "Repot"), ("EMAIL", "repot@repot.invalid"))
}


class SealedGit(git.Git):
    """Runs git under the variables that `transforms.tree.git` gives it, and none besides."""

    def execute(
        self,
        command: Sequence[str],
        *arguments: Any,
        env: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Any:
        """Run a command line of git. GitPython only adds variables: `env` takes some away first."""
        ours = {**SHIELD, **_IDENTITY, **self.environment(), **(env or {})}
        theirs = [name for name in os.environ if name.startswith("GIT_") and name not in ours]
        unset = ["/usr/bin/env", *(part for name in theirs for part in ("-u", name))]
        line = [*(unset if theirs else []), executable(), *command[1:]]
        return super().execute(line, *arguments, env=ours, **options)


class Made(git.Repo):
    """A repository that Repot made. What it offers beyond `store` is GitPython's."""

    config_level = ("repository",)  # type: ignore[assignment]  # all four, by its type
    GitCommandWrapperType = SealedGit

    def __init__(self, folder: Path, *, bare: bool = False, sha256: bool = False) -> None:
        with under(unset()):
            super().__init__(folder, expand_vars=False)  # a folder may be named `$x`
        self.git.update_environment(GIT_DIR=str(self.git_dir))  # not any that it finds by itself
        if not bare:
            self.git.update_environment(GIT_WORK_TREE=str(folder))
        objects = str(Path(self.git_dir) / "objects")
        # In this process, where a call of git takes some milliseconds; but it knows SHA-1 alone.
        self._objects = self.odb if sha256 else LooseObjectDB(objects)

    def store(self, kind: str, data: bytes) -> str:
        """Write a blob, a tree or a commit as git keeps it, and give its id."""
        stream = self._objects.store(IStream(kind.encode(), len(data), BytesIO(data)))
        return bytes(stream.hexsha).decode()


def make(folder: Path, *, bare: bool = False, sha256: bool = False) -> Made:
    """Make a repository in a folder, which may be there. Raises `Refusal` where git is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    options = ["--bare"] * bare + ["--object-format=sha256"] * sha256
    SealedGit(folder).execute(
        ["git", "init", "--quiet", "--template=", "--initial-branch=main", *options]
    )
    return Made(folder, bare=bare, sha256=sha256)
