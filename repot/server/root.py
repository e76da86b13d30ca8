"""The one folder that is served: a repository's top, and which paths lie in it.

Git finds a repository by looking upwards, and goes where a `.git` file or link points. So both are
looked at before each call: what is served is this folder, and never the repository around it or one
elsewhere that a tree was made to point at.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from repot.server.refusals import Refusal, bad_argument

_MOST_CHARACTERS = 4096  # of a path
_MOST_BYTES = 4 << 20  # of a plan; the engine takes no larger one
_LINK = b"gitdir:"


@dataclass(frozen=True, slots=True)
class Root:
    """The folder, as a real path."""

    folder: Path

    @classmethod
    def of(cls, given: str) -> Root:
        """Take the folder that the command line names. Raises `Refusal` for what is not served."""
        folder = Path(given)
        if not folder.is_dir():
            raise Refusal(
                "no-such-directory",
                "There is no such directory.",
                next_step="Name the top of a repository with `--root`.",
                path=given,
            )
        root = cls(folder.resolve())
        root.check()
        return root

    def check(self) -> None:
        """Refuse unless this folder is the top of a checkout, or a bare repository, by itself."""
        place = self.folder / ".git"
        try:
            mode = place.lstat().st_mode
        except OSError:
            if _is_git_dir(self.folder):
                self._without_common(self.folder)
                return
            raise self._no_repository("It is not the top of a git repository.") from None
        if stat.S_ISDIR(mode):
            if not _is_git_dir(place):  # git would look for one further up
                raise self._no_repository("Its `.git` is no git directory.")
            self._without_common(place)
        elif stat.S_ISREG(mode):
            self._linked(place)
        else:
            raise self._no_repository("Its `.git` is a link, which may lead to any repository.")

    def plan(self, given: str) -> str:
        """Give the path of a plan from the root: a file, reached through no link.

        Raises `Refusal` for what lies outside, in `.git`, behind a link, or is no plain file.
        """
        parts = self._parts(given)
        place = self.folder
        for name in parts:
            place = place / name
            try:
                mode = place.lstat().st_mode
            except OSError as error:
                raise _unreadable(given, f"{error.strerror or 'no such file'}") from None
            if stat.S_ISLNK(mode):
                raise _outside(given, "A symbolic link is on the way to it.")
        found = place.lstat()
        if not stat.S_ISREG(found.st_mode):
            raise _unreadable(given, "it is no plain file")
        if found.st_size > _MOST_BYTES:
            raise Refusal(
                "plan-size",
                f"It has {found.st_size:,} bytes; a plan has at most {_MOST_BYTES:,}.",
                next_step="Move fewer symbols at once.",
                path=given,
            )
        return "/".join(parts)

    def _parts(self, given: str) -> list[str]:
        if len(given) > _MOST_CHARACTERS or any(ord(c) < 32 or c == "\x7f" for c in given):
            raise bad_argument("A path is too long, or holds a control character.")
        text = given
        if text.startswith("/"):
            top = f"{self.folder}/"
            if not text.startswith(top):
                raise _outside(given, "It lies outside the folder that is served.")
            text = text[len(top) :]
        parts = [part for part in text.split("/") if part not in ("", ".")]
        if ".." in parts:
            raise _outside(given, "It has the segment `..`.")
        if not parts or any(part.casefold() == ".git" for part in parts):
            raise _outside(given, "It names no file of the tree.")
        return parts

    def _without_common(self, git_dir: Path) -> None:
        """Refuse a git directory that says that another one has its objects and branches."""
        if os.path.lexists(git_dir / "commondir"):
            raise self._no_repository("Its git directory leads to another one (`commondir`).")

    def _linked(self, link: Path) -> None:
        """Refuse a `.git` file unless it is a linked worktree's, and its repository says so too."""
        try:
            text = link.read_bytes()[:_MOST_CHARACTERS]
            git_dir = self.folder / os.fsdecode(text.removeprefix(_LINK).strip())
            back = git_dir / os.fsdecode((git_dir / "gitdir").read_bytes().strip())
            knows = back.name == ".git" and back.parent.resolve() == self.folder
        except (OSError, ValueError):
            knows = False
        if not knows or not text.startswith(_LINK):
            raise self._no_repository(
                "Its `.git` file leads to a repository that does not know of this worktree."
            )

    def _no_repository(self, cause: str) -> Refusal:
        return Refusal(
            "no-repository",
            cause,
            next_step="Name the top of a checkout that has its own `.git`, or a bare repository.",
            path=str(self.folder),
        )


def _is_git_dir(path: Path) -> bool:
    return (path / "HEAD").is_file() and all((path / name).is_dir() for name in ("objects", "refs"))


def _outside(path: str, cause: str) -> Refusal:
    return Refusal(
        "outside-root",
        cause,
        next_step="Name a file of the tree by its path from the root, such as `plans/split.toml`.",
        path=path,
    )


def _unreadable(path: str, why: str) -> Refusal:
    return Refusal(
        "unreadable-plan",
        f"The plan cannot be read: {why}.",
        next_step="Name a plan that lies in the tree, or give its text.",
        path=path,
    )
