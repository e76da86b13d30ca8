"""The user's own repository, written to through GitPython: where `repot carry` moves a branch.

What the user configured there can run nothing all the same: no hook, no filter of files, no watcher
of the file system. Whatever is only read is read by `transforms.tree.git`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import git

from transforms.tree.git import OVERRIDES, GitError, Repository
from verify.history.made import SealedGit, under, unset


class _Git(SealedGit):
    """Adds settings that win over every file to each command line."""

    overrides: tuple[str, ...] = ()

    def execute(
        self,
        command: Sequence[str],
        *arguments: Any,
        env: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Any:
        """Run a command line of git. Raises `GitError` with the first line of its message."""
        line = [command[0], *self.overrides, "--literal-pathspecs", *command[1:]]
        try:
            return super().execute(line, *arguments, env=env, **options)
        except git.GitCommandError as error:
            told = str(error.stderr or error).replace("\n  stderr: ", "\n").strip(" '\n")
            lines = [row for row in told.split("\n") if row and not row.startswith("hint:")]
            raise GitError(lines[0] if lines else "git failed without a message") from None


class Own(git.Repo):
    """A repository of the user's, or a linked worktree of it."""

    config_level = ("repository",)  # type: ignore[assignment]  # all four, by its type
    GitCommandWrapperType = _Git

    def __init__(self, repository: Repository) -> None:
        with under(unset()):
            super().__init__(repository.directory, expand_vars=False)  # it may be named `$x`
        self.git.update_environment(GIT_DIR=str(repository.git_dir))
        if repository.top is not None:
            self.git.update_environment(GIT_WORK_TREE=str(repository.top))
        settings = [*OVERRIDES, *_no_filters(repository), "gc.auto=0"]
        options = tuple(part for setting in settings for part in ("-c", setting))
        cast("_Git", self.git).overrides = options

    def call(self, *arguments: str, data: bytes = b"") -> str:
        """Run one git command, fed `data`; gives what it prints. Raises `GitError`."""
        with tempfile.TemporaryFile() as stream:
            stream.write(data)
            stream.seek(0)
            printed: str = self.git.execute(["git", *arguments], istream=stream)
            return printed

    def bring(self, pack: bytes) -> None:
        """Take in the objects of a pack."""
        self.call("unpack-objects", "-q", data=pack)

    def change_refs(self, commands: Iterable[str], reason: str) -> None:
        """Change refs in one transaction, all or none, by lines of `git update-ref --stdin -z`.

        Raises `GitError` where one does not stand where its line says that it stands.
        """
        data = "".join(commands).encode("utf-8", "surrogateescape")
        self.call("update-ref", "-m", reason, "--stdin", "-z", data=data)

    def linked(self, folder: Path, commit: str) -> Own:
        """Add a linked worktree in which a commit is checked out by name alone, without files."""
        options = ("--detach", "--no-checkout", "--force")
        self.call("worktree", "add", *options, "--", str(folder), commit)
        return Own(Repository(folder / ".git", folder))


def _no_filters(repository: Repository) -> list[str]:
    """Settings under which no filter that the repository configures is run."""
    found = []
    names = {name.rpartition(".")[0] for name, _ in repository.settings(r"^filter\..*")}
    for name in sorted(names):
        if "=" not in name and "\n" not in name:
            ends = ("smudge=", "clean=", "process=", "required=false")
            found += [f"{name}.{end}" for end in ends]
    return found
