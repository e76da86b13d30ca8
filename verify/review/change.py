"""What a change says of itself, and how large it is as git counts."""

from __future__ import annotations

from dataclasses import dataclass

from transforms.errors import Refusal
from transforms.tree import GitTree
from transforms.tree.git import GitError, Repository
from verify.history.commits import Commit, count_between, read_commits
from verify.history.trailers import Trailer, read_trailer
from verify.report.decision import About

# What marks each sort of line, so that none but changed lines begin with these.
_COLOURS = {
    "old": "red",
    "new": "green",
    "oldMoved": "bold red",
    "oldMovedAlternative": "bold red",
    "oldMovedDimmed": "bold red",
    "oldMovedAlternativeDimmed": "bold red",
    "newMoved": "bold green",
    "newMovedAlternative": "bold green",
    "newMovedDimmed": "bold green",
    "newMovedAlternativeDimmed": "bold green",
    "context": "normal",
    "meta": "blue",
    "frag": "blue",
    "func": "blue",
}
_PLAIN = (b"\x1b[31m-", b"\x1b[32m+")
_MOVED = (b"\x1b[1;31m-", b"\x1b[1;32m+")
_OPTIONS = (
    "-p",
    "-r",
    "-M",
    "--no-ext-diff",
    "--no-textconv",
    "--diff-algorithm=myers",
    "--indent-heuristic",
    "--unified=0",
    "--color=always",
    "--color-moved=zebra",
    "--color-moved-ws=no",
)


@dataclass(frozen=True, slots=True)
class Size:
    """How many lines a change adds and removes, and how many of them git does not see moved."""

    changed: int
    uncoloured: int | None


def size_of(base: GitTree, target: GitTree) -> Size:
    """Count as `git diff --color-moved` does, whatever the repository configures."""
    pairs = [("-c", f"color.diff.{name}={colour}") for name, colour in _COLOURS.items()]
    colours = [word for pair in pairs for word in pair]
    try:
        # Named by its git directory alone: a checkout's attributes would have a say.
        repository = Repository(base.repository.absolute_git_dir(), None)
        printed = repository.run(*colours, "diff-tree", *_OPTIONS, base.commit, target.commit)
    except GitError:
        return Size(0, None)
    lines = printed.split(b"\n")
    plain = sum(line.startswith(_PLAIN) for line in lines)
    return Size(plain + sum(line.startswith(_MOVED) for line in lines), plain)


def commit_of(base: GitTree, target: GitTree) -> Commit | None:
    """Give the commit that a range is, if it is one: its only parent is the base."""
    found = next(read_commits(target, [target.commit]))
    return found if found.parents == (base.commit,) else None


def trailer_of(base: GitTree, target: GitTree) -> Trailer:
    """Read what the commit claims; a range of several claims nothing as a whole."""
    commit = commit_of(base, target)
    return Trailer() if commit is None else read_trailer(commit.message)


def about_change(base: GitTree, target: GitTree, home: Repository | None = None) -> About:
    """Say who changed what: of several commits how many, and the last one's subject.

    `home` is the repository, where the trees lie in one of our own.
    """
    commit = next(read_commits(target, [target.commit]))
    subject = commit.subject
    if commit.parents != (base.commit,):
        number = _commits(base, target)
        if number > 1:
            subject = f"{number:,} commits, the last: {subject}"
    return About(subject, commit.author, repository_name(home or target.repository))


def _commits(base: GitTree, target: GitTree) -> int:
    try:
        return count_between(base, target)
    except Refusal:
        return 0


def repository_name(repository: Repository) -> str:
    """Name a repository as its people do: by the end of where it came from, or by its folder.

    Of an address only the path is taken: a password stands before it.
    """
    try:
        url = repository.run("config", "--get", "remote.origin.url").decode("utf-8", "replace")
    except GitError:
        url = ""
    path = url.strip().rpartition("://")[2].removesuffix("/")
    if "://" in url:
        path = path.partition("/")[2]
    elif ":" in path:
        path = path.rpartition(":")[2]
    parts = [part for part in path.removesuffix(".git").split("/") if part]
    if parts and path and not path.startswith(("/", ".")):
        return "/".join(parts[-2:])
    folder = repository.top or repository.directory.resolve()
    return folder.name.removesuffix(".git")
