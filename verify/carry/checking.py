"""Which of many branches would carry clean: nothing is written, so a bare repository will do."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from transforms.errors import Place, Refusal
from transforms.tree import GitTree
from transforms.tree.git import Repository
from verify.carry.job import HEADS, Halt, Job, Shared, Way, plan_job
from verify.carry.moving import refs, worded
from verify.carry.splits import Split
from verify.history.scratch import Scratch

_PATTERN = frozenset("*?[")
_REMOTES = ("refs/heads/", "refs/remotes/", "refs/tags/", "refs/")


@dataclass(frozen=True, slots=True)
class Checked:
    """What would become of one branch: it carries clean, stops at `halt`, or is refused."""

    name: str
    commits: int
    halt: Halt | None = None
    subject: str = ""
    refusal: Refusal | None = None

    @property
    def clean(self) -> bool:
        """Whether the branch would carry without a person."""
        return self.halt is None and self.refusal is None


def chosen(repository: Repository, wanted: Sequence[str]) -> list[tuple[str, str]]:
    """Give the refs that names and patterns choose, in git's order: full name and commit.

    In a pattern `*` stands for any characters; it is held against the whole name of a ref, and what
    is left of it without `refs/heads/` and the like. Raises `Refusal` for what chooses none.
    """
    known = refs(repository)
    found: dict[str, str] = {}
    for text in wanted:
        is_pattern = not _PATTERN.isdisjoint(text)
        names = [
            (name, commit)
            for name, commit in known
            if (
                any(fnmatch.fnmatchcase(short, text) for short in _shorts(name))
                if is_pattern
                else text in _shorts(name)
            )
        ]
        if not names:
            raise Refusal(
                "unknown-branch",
                f"No ref fits `{text}`.",
                next_step="Name a branch or a ref; `git for-each-ref` lists them.",
                place=Place(text),
            )
        found.update(names if is_pattern else names[:1])
    return list(found.items())


def _shorts(name: str) -> list[str]:
    ends = [name.removeprefix(start) for start in _REMOTES if name.startswith(start)]
    return [name, *ends]


def check_all(
    repository: Repository,
    branches: Sequence[tuple[str, str]],
    splits: Sequence[Split],
    onto: Callable[[str], GitTree],
    puts: Mapping[str, str],
) -> tuple[Checked, ...]:
    """Carry each branch in a scratch repository of its own accord, as far as it goes.

    `onto` gives the commit of main for a branch.
    """
    found = []
    shared = Shared(repository)
    with Scratch(repository) as scratch:
        for name, commit in branches:
            short = name.removeprefix(HEADS)
            try:
                with worded(repository):
                    job = plan_job((short, commit), onto(name), splits, puts)
                    found.append(_checked(Way(repository, job, scratch, shared), job))
            except Refusal as refusal:
                found.append(Checked(short, 0, refusal=refusal))
    return tuple(found)


def _checked(way: Way, job: Job) -> Checked:
    commits = len(way.branch.commits)
    _, halt = way.run(way.start())
    subject = "" if halt is None else way.commits[halt.step.origin].commit.subject
    return Checked(job.branch, commits, halt, subject)
