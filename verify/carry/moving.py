"""What is written to the user's repository: a stop, the end, the way back.

Until the end there are objects that nothing names, and at a stop a linked worktree and refs under
`refs/repot/carrying`. The branch is moved once, in one transaction with the ref that keeps where it
stood, and only if it still stands there.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from transforms.errors import Place, Refusal
from transforms.tree.git import GitError, Repository, require
from verify.carry import standing
from verify.carry.job import HEADS, Halt, Job, Progress, Way
from verify.carry.merging import OURS
from verify.carry.standing import Stop
from verify.history.own import Own
from verify.history.scratch import Scratch

_KEPT = "refs/repot/carried/"
_CARRYING = "refs/repot/carrying/"


@dataclass(frozen=True, slots=True)
class Carried:
    """A branch that was moved: its commits before and after, oldest first, and what is told.

    `merges` are merges of main that were left out, `signed` counts signatures that were dropped.
    """

    job: Job
    tip: str
    commits: tuple[tuple[str, str, str], ...]  # old id, new id, subject
    progress: Progress
    merges: tuple[str, ...]
    signed: int
    kept: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """A branch that waits for a person in a linked worktree."""

    stop: Stop
    halt: Halt | None  # None where the worktree is only laid out again
    subjects: dict[str, str]


class Mover:
    """Carries a branch of one repository."""

    def __init__(self, repo: Path) -> None:
        found = require(repo)
        self.folder = standing.folder_of(found)
        # From inside a linked worktree, which may be the stop's own, work is done from outside it.
        is_linked = found.git_dir.is_file()
        self.repository = Repository(self.folder.parents[1], None) if is_linked else found

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other runs off, and word what git refuses. Raises `Refusal`."""
        with standing.locked(self.folder), worded(self.repository):
            yield

    def tip_of(self, branch: str) -> str:
        """Give the commit of a local branch. Raises `Refusal`."""
        found = dict(refs(self.repository)).get(HEADS + branch)
        if found is None:
            raise Refusal(
                "unknown-branch",
                f"There is no local branch `{branch}`.",
                next_step="Name a branch of `git branch --list`; make one of a pull request first.",
                place=Place(branch),
            )
        return found

    def begin(self, job: Job, worktree: Path | None) -> Carried | Stopped:
        """Carry a branch from its beginning. Raises `Refusal`."""
        if standing.load(self.folder) is not None:
            raise Refusal(
                "carry-unfinished",
                "A branch of this repository is being carried already.",
                next_step="Go on with `repot carry --continue`, or give up with `--abort`.",
                place=Place(str(self.folder)),
            )
        self._refuse_checked_out(job.branch)
        folder = worktree.absolute() if worktree else standing.default_worktree(self.folder)
        self._clean(standing.default_worktree(self.folder))  # left by a run that was killed
        is_taken = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
        if worktree is not None and is_taken:
            raise Refusal(
                "carry-worktree",
                "A worktree would be made here, and something is here already.",
                next_step="Name an empty folder, or one that is not there, with `--worktree`.",
                place=Place(str(folder)),
            )
        with Scratch(self.repository) as scratch:
            way = Way(self.repository, job, scratch)
            return self._run(way, way.start(), folder)

    def go_on(self, puts: dict[str, str]) -> Carried | Stopped:
        """Go on from a stop with what a person made of it. Raises `Refusal`."""
        stop = self._stop()
        self._refuse_moved(stop)
        if not stop.laid:
            self._lay(stop)
            return Stopped(stop, None, {})
        tree = self._resolved(stop)
        job = replace(stop.job, puts={**stop.job.puts, **puts})
        with Scratch(self.repository) as scratch:
            way = Way(self.repository, job, scratch)
            progress = stop.progress.stepped(way.ours(stop.progress), tree)
            return self._run(way, progress, stop.worktree)

    def abort(self) -> Path:
        """Give up: remove the worktree and all that is kept; gives the worktree's folder."""
        try:
            stop = standing.load(self.folder)
        except Refusal:  # damaged: what is known without it is removed
            folder = standing.default_worktree(self.folder)
        else:
            stop = stop or self._stop()
            self._refuse_finished(stop)
            folder = stop.worktree
        self._clean(folder)
        return folder

    def _stop(self) -> Stop:
        stop = standing.load(self.folder)
        if stop is None:
            raise Refusal(
                "carry-nothing",
                "No branch of this repository is being carried.",
                next_step="Begin with `repot carry BRANCH --over COMMIT`.",
                place=Place(str(self.repository.directory)),
            )
        return stop

    # The way

    def _run(self, way: Way, progress: Progress, folder: Path) -> Carried | Stopped:
        progress, halt = way.run(progress)
        if halt is None:
            return self._finish(way, progress)
        stage = way.stages[progress.stage]
        head = [stage.commit, *way.written(progress.done, stage.commit)][-1]
        merge = halt.result.merge
        stop = Stop(way.job, progress, folder, head, merge.tree, merge.stages)
        own = Own(self.repository)
        keep = _keep(way.scratch, progress)
        blobs = {row.split(" ")[1] for row in merge.stages}
        own.bring(way.scratch.pack([head, keep, merge.tree, *sorted(blobs)], _had(way.job)))
        names = {"keep": keep, "head": head}
        lines = [f"update {_CARRYING}{name}\0{commit}\0\0" for name, commit in names.items()]
        own.change_refs(lines, "repot carry: stopped")
        standing.save(self.folder, stop)
        try:
            self._lay(stop)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                "the branch stands where it stood; `repot carry --continue` lays the stop out"
            ) from None
        subjects = {own.id: own.commit.subject for own in way.branch.commits}
        return Stopped(replace(stop, laid=True), halt, subjects)

    def _lay(self, stop: Stop) -> None:
        """Lay the stop out in its worktree, with what git could not merge in the index."""
        linked = self._linked(stop)
        if linked is not None:
            linked.call("update-ref", "--no-deref", "HEAD", stop.head)
        else:
            linked = Own(self.repository).linked(stop.worktree, stop.head)
        linked.call("read-tree", "--reset", "-u", stop.tree)
        gone = "0" * len(stop.tree)
        paths = dict.fromkeys(row.partition("\t")[2] for row in stop.stages)
        rows = [f"0 {gone}\t{path}\0" for path in paths]
        rows += [f"{row}\0" for row in stop.stages]
        data = "".join(rows).encode("utf-8", "surrogateescape")
        linked.call("update-index", "-z", "--index-info", data=data)
        standing.save(self.folder, replace(stop, laid=True))

    def _linked(self, stop: Stop) -> Own | None:
        """Open the worktree of a stop, if it is there. Refuses one of another repository."""
        link = stop.worktree / ".git"
        if not link.exists():
            return None
        here = Repository(link, stop.worktree)
        if standing.folder_of(here) != self.folder:
            raise standing.damaged(stop.worktree)
        return Own(here)

    def _resolved(self, stop: Stop) -> str:
        """Give the tree that a person made of a stop. Raises `Refusal` where it is not ready."""
        own = self._linked(stop)
        if own is None:
            raise Refusal(
                "carry-unresolved",
                "The worktree of the stop is not there any longer.",
                next_step="Give up with `repot carry --abort`, and begin again.",
                place=Place(str(stop.worktree)),
            )
        left = own.call("ls-files", "-z", "--unmerged").split("\0")
        unmerged = [row.partition("\t")[2] for row in left if row]
        with suppress(GitError):  # it says by its exit code what is asked for below
            own.call("update-index", "-q", "--really-refresh")
        changed = own.call("diff-files", "-z", "--name-only").split("\0")
        marked = [path for path in _conflicted(stop) if _has_markers(stop.worktree / path)]
        for paths, cause in (
            (unmerged, "is not resolved"),
            (changed, "was changed and not added"),
            (marked, "holds conflict markers"),
        ):
            found = sorted(filter(None, paths))
            if found:
                raise Refusal(
                    "carry-unresolved",
                    f"`{found[0]}` {cause}.",
                    next_step="Resolve it, `git add` it in that worktree, and run this again.",
                    place=Place(str(stop.worktree / found[0])),
                )
        return own.call("write-tree")

    # The end

    def _finish(self, way: Way, progress: Progress) -> Carried:
        """Move the branch, if it still stands where it stood."""
        job = way.job
        self._refuse_checked_out(job.branch)
        ids = way.written(progress.chain, job.onto)
        tip = ids[-1] if ids else job.onto
        own = Own(self.repository)
        if ids:
            own.bring(way.scratch.pack([tip], _had(job)))
        stop = standing.load(self.folder)
        if stop is not None:
            standing.save(self.folder, replace(stop, finished=tip))
        lines = [
            f"update {HEADS}{job.branch}\0{tip}\0{job.tip}\0",
            f"update {_KEPT}{job.branch}\0{job.tip}\0\0",
        ]
        own.change_refs(lines, f"repot carry: over {job.splits[-1].commit}")
        if stop is not None:
            try:
                self._clean(stop.worktree)
            except KeyboardInterrupt:
                raise KeyboardInterrupt(
                    "the branch was carried; `repot carry --continue` removes what is left"
                ) from None
        old = {own.id: own for own in way.branch.commits}
        origins = [step.origin for step in progress.chain]
        commits = tuple(
            (origin, new, old[origin].commit.subject)
            for origin, new in zip(origins, ids, strict=True)
        )
        signed = sum(item.signed for item in way.branch.commits)
        kept = _KEPT + job.branch
        return Carried(job, tip, commits, progress, way.branch.merges, signed, kept)

    def _refuse_moved(self, stop: Stop) -> None:
        """Refuse to go on for a branch that stands elsewhere by now."""
        job = stop.job
        stands = dict(refs(self.repository)).get(HEADS + job.branch)
        if stands == job.tip:
            return
        self._refuse_finished(stop)
        raise Refusal(
            "carry-moved",
            f"`{job.branch}` does not stand at {job.tip[:12]} any longer.",
            next_step="Give up with `repot carry --abort`, and carry the branch as it is now.",
            place=Place(job.branch),
        )

    def _refuse_finished(self, stop: Stop) -> None:
        """Say that a branch was carried, of which only the worktree was left to remove."""
        job = stop.job
        if stop.finished and dict(refs(self.repository)).get(HEADS + job.branch) == stop.finished:
            self._clean(stop.worktree)
            raise Refusal(
                "carry-nothing",
                f"`{job.branch}` had been carried already; what was left of the stop is removed.",
                next_step="Nothing is left to do.",
                place=Place(job.branch),
            )

    def _refuse_checked_out(self, branch: str) -> None:
        listed = self.repository.run("worktree", "list", "--porcelain", "-z")
        folder = ""
        for row in listed.decode("utf-8", "surrogateescape").split("\0"):
            if row.startswith("worktree "):
                folder = row.removeprefix("worktree ")
            if row == f"branch {HEADS}{branch}":
                raise Refusal(
                    "checked-out",
                    f"`{branch}` is checked out here, and its files would be left behind.",
                    next_step="Leave it with `git switch --detach`; afterwards `git switch` to it.",
                    place=Place(folder),
                )

    def _clean(self, worktree: Path) -> None:
        self._remove(worktree)
        names = [name for name, _ in refs(self.repository) if name.startswith(_CARRYING)]
        if names:
            lines = [f"delete {name}\0\0" for name in names]
            Own(self.repository).change_refs(lines, "repot carry: done")
        standing.forget(self.folder)

    def _remove(self, worktree: Path) -> None:
        """Remove a worktree of ours, whatever state it is in."""
        if not worktree.exists():
            return
        own = Own(self.repository)
        if (worktree / ".git").is_file():
            with suppress(GitError):
                own.call("worktree", "remove", "--force", "--force", "--", str(worktree))
        if worktree == standing.default_worktree(self.folder) and worktree.exists():
            shutil.rmtree(worktree)
        own.call("worktree", "prune")


def refs(repository: Repository) -> list[tuple[str, str]]:
    """List the refs of a repository that name commits: full name and commit, tags followed."""
    form = "--format=%(refname)%00%(objecttype)%00%(objectname)%00%(*objecttype)%00%(*objectname)"
    found = []
    listed = repository.run("for-each-ref", form).decode("utf-8", "surrogateescape")
    for row in listed.splitlines():
        name, kind, commit, tagged, target = row.split("\0")
        if "commit" in (kind, tagged):
            found.append((name, commit if kind == "commit" else target))
    return found


@contextmanager
def worded(repository: Repository) -> Iterator[None]:
    """Turn what git refuses to do into a `Refusal`."""
    try:
        yield
    except GitError as error:
        raise Refusal(
            "carry-git",
            f"Git refuses: {str(error).removeprefix('fatal: ').rstrip('.')}.",
            next_step="The branch stands where it stood.",
            place=Place(str(repository.directory)),
        ) from None


def _had(job: Job) -> Sequence[str]:
    """The commits that the user's repository has, with all that leads to them."""
    return [job.tip, job.onto]


def _keep(scratch: Scratch, progress: Progress) -> str:
    """Make commits that keep the trees of all steps from git's own clearing up."""
    kept: list[str] = []
    for step in (*progress.chain, *progress.done):
        for tree in (step.base, step.tree):
            kept = [scratch.commit(tree, kept)]
    return kept[0]


def _conflicted(stop: Stop) -> list[str]:
    return list(dict.fromkeys(row.partition("\t")[2] for row in stop.stages))


def _has_markers(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    return f"\n<<<<<<< {OURS}\n".encode() in b"\n" + path.read_bytes()
