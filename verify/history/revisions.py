"""What people type for a change: two revisions, one, or none, and which two trees are meant.

`certify`, `review` and `infer` take all of it, and say how they read what was not literal. Commands
whose word is a proof take `BASE..TARGET` alone: `literal_range`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from transforms.errors import Place, Refusal
from transforms.tree import GitTree, git
from transforms.tree.git import Repository
from verify.history.commits import read_commits
from verify.history.ranges import common_ancestor, is_ancestor, open_range, require_range
from verify.history.scratch import Scratch
from verify.history.snapshot import of_index, of_working_tree, with_its_index

WORKING_TREE, INDEX = "working tree", "index"
_SHORT = 12
_Say = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Change:
    """Two trees that are judged as one change, and how what was typed was read.

    `place` is where the target lies if it is no commit; its tree is then in a repository of our
    own. `said` is empty where the two commits were named literally. `unjudged` are files of which
    nobody knows what git would store: path and why.
    """

    base: GitTree
    target: GitTree
    typed: str
    said: str = ""
    place: str = ""
    tree: str = ""
    unjudged: tuple[tuple[str, str], ...] = ()
    home: Repository | None = None  # the judged repository, where the trees lie in one of our own

    @property
    def target_name(self) -> str:
        """Name the target: by its id, or where it lies."""
        return self.place or self.target.commit


def literal_range(repo: Path, text: str) -> tuple[str, str]:
    """Split `BASE..TARGET`; an empty side is HEAD, as git has it.

    Raises `Refusal` for every other form, with what to type in its place.
    """
    base, dots, target = text.partition("..")
    if dots and not target.startswith(".") and ".." not in target:
        return base or "HEAD", target or "HEAD"
    form = "BASE..TARGET, such as `main..HEAD`"
    with suppress(Refusal):
        if not dots:
            form = f"`{_parent(GitTree(repo, text))[0][:_SHORT]}..{text}`"
        elif ".." not in target[1:]:
            base, target = base or "HEAD", target[1:] or "HEAD"
            form = f"`{common_ancestor(repo, base, target)[:_SHORT]}..{target}`"
    raise Refusal(
        "bad-range",
        f"`{text}` does not name a base and a target.",
        next_step=f"Type {form}.",
    )


@contextmanager
def opened(
    repo: Path, typed: str | None, *, staged: bool = False, say: _Say = lambda _done, _of: None
) -> Iterator[Change]:
    """Open what was typed: a range, one revision, or nothing for the working tree against HEAD.

    With `staged` it is the index in its place. `say` is told how many of how many files are read.
    Raises `Refusal` where there is nothing to judge, or where it hangs on a choice.
    """
    if typed is not None:
        yield _two(repo, typed) if ".." in typed else _one(repo, typed)
        return
    head = GitTree(repo, "HEAD") if _has_head(repo) else None
    judged = git.find(repo)
    if head is None or judged is None or judged.top is None:
        raise Refusal(
            "no-working-tree",
            "There is no working tree with a commit to compare it with.",
            next_step="Name the commits to judge, such as `main..HEAD`.",
            place=Place(str(repo)),
        )
    judged = with_its_index(judged)
    with Scratch(judged) as scratch, _as_of(judged, scratch.repository):
        yield _uncommitted(judged, scratch, head, say, staged=staged)


def _has_head(repo: Path) -> bool:
    try:
        GitTree(repo, "HEAD")
    except Refusal as refusal:
        if refusal.kind != "unknown-revision":
            raise
        return False
    return True


def _uncommitted(
    judged: Repository, scratch: Scratch, head: GitTree, say: _Say, *, staged: bool
) -> Change:
    if staged:
        place, found = INDEX, of_index(judged, scratch)
    else:
        place, found = WORKING_TREE, of_working_tree(judged, scratch, head, say)
    if judged.resolve("HEAD") != head.commit:
        raise Refusal(
            "changed-while-read",
            "HEAD moved while the working tree was read.",
            next_step="Run this again.",
            place=Place(head.commit[:_SHORT]),
        )
    folder = scratch.repository.directory
    base = GitTree(folder, head.commit)
    subject = f"The {place}, not committed yet"
    target = GitTree(folder, scratch.commit(found.tree, [head.commit], subject))
    target.label = place
    if dict(base.ids()) == dict(target.ids()) and base.entries() == target.entries():
        left_out = "".join(f" Not judged: `{path}` ({why})." for path, why in found.unjudged)
        raise Refusal(
            "nothing-to-judge",
            f"The {place} is what HEAD is.{left_out}",
            next_step="Name the commits to judge, such as `main..HEAD`.",
            place=Place(head.commit[:_SHORT]),
        )
    named = " that GIT_INDEX_FILE names" if staged and judged.index else ""
    said = f"the {place}{named} against HEAD"
    return Change(base, target, "", said, place, found.tree, found.unjudged, judged)


@contextmanager
def _as_of(judged: Repository, ours: Repository) -> Iterator[None]:
    """Word what is missing in our repository as missing in the judged one, whose objects it has."""
    try:
        yield
    except Refusal as refusal:
        if refusal.kind == "missing-object" and refusal.place == Place(str(ours.directory)):
            what = refusal.cause.partition(" is not in this repository")[0]
            raise judged.missing(what) from None
        raise


def _two(repo: Path, typed: str) -> Change:
    base, _, target = typed.partition("..")
    from_merge_base = target.startswith(".")
    base, target = base or "HEAD", target.removeprefix(".") or "HEAD"
    if ".." in target or target.startswith("."):
        raise Refusal(
            "bad-range",
            f"`{typed}` is no range of commits.",
            next_step="Type BASE..TARGET, such as `main..HEAD`, or one commit.",
        )
    before, after = GitTree(repo, base), GitTree(repo, target)
    if before.commit == after.commit or (not from_merge_base and is_ancestor(before, after)):
        require_range(before, after, base, target)
        return Change(before, after, typed)
    if is_ancestor(after, before):
        raise Refusal(
            "no-ancestor",
            f"`{target}` ({after.commit[:_SHORT]}) holds nothing that `{base}` "
            f"({before.commit[:_SHORT]}) lacks.",
            next_step=f"Type `{target}..{base}` for the change the other way round.",
            place=Place(before.commit[:_SHORT]),
        )
    merge_base = _the_merge_base(before, after, base, target)
    if from_merge_base:
        said = f"from the merge base of `{base}` and `{target}`"
    else:
        said = f"`{base}` has moved on: from the merge base"
    return Change(GitTree(repo, merge_base), after, typed, f"{said}, {merge_base[:_SHORT]}")


def _the_merge_base(before: GitTree, after: GitTree, base: str, target: str) -> str:
    """Give where two branches parted. Raises `Refusal` where they did more than once, or never."""
    try:
        printed = after.repository.run("merge-base", "--all", before.commit, after.commit)
    except git.GitError:
        require_range(before, after, base, target)
        raise
    found = printed.decode().split()
    if len(found) > 1:
        names = ", ".join(f"`{name[:_SHORT]}..{target}`" for name in found)
        raise Refusal(
            "several-merge-bases",
            f"`{base}` and `{target}` have {len(found)} merge bases: they were merged crosswise.",
            next_step=f"Choose one: {names}.",
            place=Place(before.commit[:_SHORT]),
        )
    return found[0]


def _one(repo: Path, typed: str) -> Change:
    after = GitTree(repo, typed)
    parent, parents = _parent(after)
    try:
        before = GitTree(repo, parent)
    except Refusal as refusal:
        if refusal.kind != "unknown-revision":
            raise
        raise after.repository.missing(f"The parent of {after.commit[:_SHORT]}") from None
    said = f"`{typed}` against its parent"
    if parents > 1:
        said = f"`{typed}` is a merge: against its first parent"
    require_range(before, after, f"{typed}^", typed)
    return Change(before, after, typed, f"{said}, {parent[:_SHORT]}")


def _parent(after: GitTree) -> tuple[str, int]:
    """Give a commit's first parent, and how many it has."""
    (commit,) = read_commits(after, [after.commit])
    if not commit.parents:
        raise Refusal(
            "no-parent",
            "A first commit has no parent: all of it is new.",
            next_step="Name a later commit, or two: `main..HEAD`.",
            place=Place(commit.id[:_SHORT]),
        )
    return commit.parents[0], len(commit.parents)


def literal_commits(repo: Path, base: str, target: str) -> tuple[GitTree, GitTree]:
    """Open `--base` and `--target`. Raises `Refusal`: for a range in one of them, with the form."""
    for given in (base, target):
        first, dots, second = given.partition("..")
        if dots:
            second = second.removeprefix(".")
            raise Refusal(
                "bad-range",
                f"`{given}` is a range, where one commit is asked for.",
                next_step=f"Type `--base {first or 'HEAD'} --target {second or 'HEAD'}`.",
            )
    return open_range(repo, base, target, form="--base {base} --target {target}")
