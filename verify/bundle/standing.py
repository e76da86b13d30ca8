"""Whether the commits of a bundle are here, and what the target is to what is checked out.

A PASS for a commit that the reader does not have in hand would be read as one for what they have.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from transforms.errors import Place, Refusal
from transforms.tree import GitTree
from verify.history.commits import count_between, read_commits
from verify.history.ranges import is_ancestor, require_range
from verify.report.report import Finding, Row, Section, Style, counted


def open_commits(repo: Path, base: str, target: str) -> tuple[GitTree, GitTree]:
    """Open both commits, by full ids. Raises `Refusal`: for a missing one with what fetches it."""
    trees = [_open(repo, name, commit) for name, commit in (("base", base), ("target", target))]
    before, after = trees
    require_range(before, after, base, target)
    return before, after


def _open(repo: Path, name: str, commit: str) -> GitTree:
    try:
        found = GitTree(repo, commit)
    except Refusal as refusal:
        if refusal.kind != "unknown-revision":
            raise
        raise _missing(repo, name, commit) from None
    if found.commit != commit:
        raise _missing(repo, name, commit)
    return found


def standing(repo: Path, base: GitTree, target: GitTree, named: str | None) -> Section:
    """Describe the two commits, and how the target stands to HEAD.

    Raises `Refusal` where it is neither HEAD nor before it, unless the reader has named it.
    """
    if named is not None:
        _require_same(repo, target, named)
        stands = f"named on the command line: {named}"
    else:
        stands = _before_head(repo, target)
    within = count_between(base, target)
    commits = dict(
        zip(("base", "target"), read_commits(target, [base.commit, target.commit]), strict=True)
    )
    between = "the target's parent" if within == 1 else f"{counted(within, 'commit')} before it"
    rows = {"base": between, "target": stands}
    findings = tuple(
        Finding(
            "commit",
            Place(name),
            commit.id,
            (Row.of("", [commit.subject, rows[name]], Style.QUIET),),
        )
        for name, commit in commits.items()
    )
    return Section("Commits, as git has them; the working tree is not looked at", findings)


def _before_head(repo: Path, target: GitTree) -> str:
    try:
        head = GitTree(repo, "HEAD")
    except Refusal as refusal:
        if refusal.kind != "unknown-revision":
            raise
        raise _elsewhere(target, "HEAD is no commit yet") from None
    if head.commit == target.commit:
        return "HEAD"
    if not is_ancestor(target, head):
        raise _elsewhere(target, f"HEAD ({head.commit[:12]}) does not hold it")
    return f"{counted(count_between(target, head), 'commit')} before HEAD; they are not judged here"


def _require_same(repo: Path, target: GitTree, named: str) -> None:
    other = GitTree(repo, named)
    if other.commit != target.commit:
        raise Refusal(
            "other-target",
            f"`{named}` is {other.commit}, and this is about {target.commit}.",
            next_step="Get the file that was made for that commit, or name this one.",
            place=Place(named),
        )


def _elsewhere(target: GitTree, why: str) -> Refusal:
    return Refusal(
        "target-elsewhere",
        f"The target is {target.commit}; {why}. A verdict on it would say nothing of what you "
        "have here.",
        next_step=f"Check it out, or judge it all the same by adding: --target {target.commit}",
        place=Place(target.commit[:12]),
    )


def _missing(repo: Path, name: str, commit: str) -> Refusal:
    """Word what brings a commit: nothing is ever fetched from here."""
    from transforms.tree import git

    found = git.find(repo)
    urls = found.settings(r"^remote\..*\.url$") if found else []
    remotes = [key.removeprefix("remote.").removesuffix(".url") for key, _ in urls]
    remote = "origin" if "origin" in remotes or not remotes else remotes[0]
    shallow = " --unshallow" if found is not None and found.is_shallow() else ""
    command = f"git -C {shlex.quote(str(repo))} fetch{shallow} {shlex.quote(remote)} {commit}"
    return Refusal(
        "unknown-revision",
        f"The {name}, {commit}, is not in this repository.",
        next_step=f"Bring it with: {command}",
        place=Place(commit[:12]),
    )
