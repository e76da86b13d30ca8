"""A chain of commits, each judged by itself: claimed moves are proved, the others are looked at.

A commit that names its plan is replayed against its own parent, with the plan read from that
parent: so proofs survive a rebase, and a commit cannot choose what it is judged by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from transforms.changes import EXECUTABLE, REGULAR
from transforms.errors import Refusal
from transforms.formatters import no_formatters, repository_formatters
from transforms.plan import parse_plan
from transforms.tree import GitTree
from verify.replay import Replay, replay
from verify.trailers import read_trailer

PROVED = "proved"  # a claimed move that its plan reproduces
NOT_PROVED = "not proved"  # a claimed move that differs, or that could not be judged
FAULTY = "faulty trailer"
PURE = "certified"  # no claim, and a pure move all the same
MERGE = "merge"
EMPTY = "empty"
UNREAD = "for human eyes"
RED = frozenset({NOT_PROVED, FAULTY})


@dataclass(frozen=True, slots=True)
class Link:
    """One commit of the chain and its verdict. `unjudged`: a claim could not be judged at all."""

    commit: str
    subject: str
    verdict: str
    reason: str
    plan: str | None = None
    replay: Replay | None = None
    certificate: object | None = None
    unjudged: bool = False

    @property
    def is_red(self) -> bool:
        """Whether the commit fails the chain."""
        return self.verdict in RED


@dataclass(frozen=True, slots=True)
class Commit:
    """What a commit says of itself."""

    id: str
    parents: tuple[str, ...]
    message: str

    @property
    def subject(self) -> str:
        """The first line of the message."""
        return self.message.strip("\n").split("\n", 1)[0]


Certify = Callable[[GitTree, GitTree], tuple[bool, object]]


def judge_chain(
    repo: Path, base: GitTree, head: GitTree, certify: Certify | None, *, jobs: int = 1
) -> tuple[Link, ...]:
    """Judge every commit that leads from `base` to `head`, oldest first."""
    listed = head.repository.run(
        "rev-list", "--reverse", "--topo-order", f"{base.commit}..{head.commit}"
    )
    ids = listed.decode().split()

    def judge(commit: str) -> Link:
        return judge_commit(repo, read_commit(head, commit), certify)

    if jobs <= 1:
        return tuple(map(judge, ids))
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        return tuple(pool.map(judge, ids))


def read_commit(tree: GitTree, commit: str) -> Commit:
    """Read a commit object: parents and message, no replacement and no encoding guessed."""
    raw = tree.repository.run("cat-file", "commit", commit)
    head, _, message = raw.partition(b"\n\n")
    parents = tuple(
        line.removeprefix(b"parent ").decode()
        for line in head.split(b"\n")
        if line.startswith(b"parent ")
    )
    return Commit(commit, parents, message.decode("utf-8", "replace"))


def judge_commit(repo: Path, commit: Commit, certify: Certify | None) -> Link:
    """Judge one commit against its parent."""

    def link(verdict: str, reason: str, **more: object) -> Link:
        return Link(commit.id, commit.subject, verdict, reason, **more)  # type: ignore[arg-type]

    trailer = read_trailer(commit.message)
    if len(commit.parents) != 1:
        what = "a merge" if commit.parents else "a first commit"
        if trailer.claims:
            return link(FAULTY, f"{what} claims to be a mechanical move", plan=trailer.path)
        return link(MERGE if commit.parents else UNREAD, f"{what}: read what it resolves")
    if trailer.fault is not None:
        return link(FAULTY, trailer.fault)
    parent, tree = GitTree(repo, commit.parents[0]), GitTree(repo, commit.id)
    if trailer.path is not None:
        return _judge_claim(parent, tree, trailer.path, link, certify)
    if parent.tree_id() == tree.tree_id():
        return link(EMPTY, "it changes nothing")
    if certify is not None:
        pure, certificate = certify(parent, tree)
        if pure:
            return link(PURE, "a pure move, by its certificate", certificate=certificate)
        return link(UNREAD, "it claims no move", certificate=certificate)
    return link(UNREAD, "it claims no move")


def _judge_claim(
    parent: GitTree,
    tree: GitTree,
    path: str,
    link: Callable[..., Link],
    certify: Certify | None,
) -> Link:
    fault = _plan_fault(parent, tree, path)
    if fault is not None:
        return link(FAULTY, fault, plan=path)
    try:
        plan = parse_plan(parent.read(path), path)
        formatters = (
            no_formatters() if plan.formatters == "none" else repository_formatters(parent)
        )
        done = replay(plan, parent, tree, formatters)
    except Refusal as refusal:
        return link(NOT_PROVED, f"its plan is refused: {refusal}", plan=path, unjudged=True)
    certificate = certify(parent, tree)[1] if certify is not None else None
    authored = f"{done.outcome.authored_lines} authored lines"
    if done.reproduces:
        reason = f"the plan reproduces it exactly; {authored}"
        return link(PROVED, reason, plan=path, replay=done, certificate=certificate)
    reason = f"{len(done.hunks)} hunks differ from the plan; {authored}"
    return link(NOT_PROVED, reason, plan=path, replay=done, certificate=certificate)


def _plan_fault(parent: GitTree, tree: GitTree, path: str) -> str | None:
    """Why the plan that a commit names is none: it is judged by what its parent holds."""
    mode = parent.entries().get(path)
    if mode is None:
        here = " (it is there in the commit itself)" if path in tree.entries() else ""
        return f"its parent has no plan `{path}`{here}; commit the plan before the move"
    if mode not in (REGULAR, EXECUTABLE):
        return f"`{path}` is a symbolic link or a submodule, not a plan"
    if parent.ids()[path] != tree.ids().get(path):
        return f"it changes the plan that it names, `{path}`"
    return None


def reds(links: tuple[Link, ...]) -> Iterator[Link]:
    """The commits that fail the chain."""
    return (item for item in links if item.is_red)
