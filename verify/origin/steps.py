"""One step back in history for all lines of a file: up to the next claim, or past a proved one.

Between claims git goes by itself, as `git blame -C` does, and stops where somebody claims a move.
Such a commit is passed by its plan where that is proved; what the plan does not tell is then looked
for by `-C` once more. Where it is not proved only what stays in its file passes.

`-C` is given once: that looks at the files which a commit changed. Given three times git looks at
all there are, and credits the imports that head a new module to a test somewhere that has the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from transforms.errors import Refusal
from transforms.tree import GitTree
from transforms.tree.git import GitError, Repository
from verify.chain.cache import VerdictCache
from verify.history.commits import Commit
from verify.origin.blame import Row, blame
from verify.origin.claims import Claim, Claims, find_claims, history, judged, plan_of, read_claim
from verify.origin.claims import stops as stops_from
from verify.origin.kept import COPIED, MOVED, STAYED, Back, Step, folded, unfolded
from verify.origin.sealed import shallow_commits

_FOLDER = "origins"  # in the user's cache, beside that of the verdicts


class Steps:
    """Finds steps. `verdicts` are those that are kept; what is found is kept where they are.

    `say` is told of an installation. `judge` and `passing` parse: they are for one thread.
    """

    def __init__(
        self,
        head: GitTree,
        ours: Repository,
        verdicts: VerdictCache | None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.head, self.ours, self.verdicts, self.say = head, ours, verdicts, say
        self.kept = VerdictCache(_FOLDER) if verdicts is not None else None
        self._found = False
        shallow = shallow_commits(ours)
        self._begins = ",".join(sorted(shallow))  # another clone may have more of the history
        claims = self._find_claims()
        self.first = claims.first
        # A commit with which a shallow clone begins cannot be judged: what it changed is not here.
        self.claiming = frozenset(claims.commits) - shallow
        self._parents: dict[str, list[str]] | None = None
        self._claims: dict[str, Claim] = {}
        self._moves: dict[str, Mapping[str, Mapping[int, tuple[str, int]]]] = {}

    def _find_claims(self) -> Claims:
        key = self._key("claims up to", self.head.commit)
        data = self.kept.get(key) if self.kept is not None else None
        if data is not None:
            return Claims(data["commits"], data["first"])
        found = find_claims(self.head, self.ours)
        if self.kept is not None:
            self.kept.put(key, found)
        return found

    def stops(self, commit: str) -> tuple[str, ...]:
        """Give the claims at which the way back from a commit stops."""
        if commit == self.head.commit or not self.claiming:
            return tuple(self.first)
        if self._parents is None:
            self._parents = history(self.head, self.ours)
        return tuple(stops_from(commit, self._parents, self.claiming))

    def known(self, commit: str, path: str) -> Back | None:
        """Give the steps of a file that are kept."""
        data = self.kept.get(self._key(commit, path)) if self.kept is not None else None
        return unfolded(data) if data is not None else None

    def between(self, commit: str, path: str, stops: tuple[str, ...]) -> Back:
        """Go back from a commit that claims nothing, to the commits that a line is credited to.

        It works in git alone, so that several threads may. Raises `Refusal` for missing history.
        """
        rows = self._blame(commit, path, stops, copies=True)
        steps = ((line, _credited(row, path)) for line, row in sorted(rows.items()))
        return Back(folded(steps))

    def passing(self, commit: Commit, path: str) -> Back:
        """Go back past a commit that claims a move, or end there. Raises `Refusal`."""
        plain = self._blame(commit.id, path, commit.parents, copies=False)
        if all(row.commit != commit.id for row in plain.values()):
            return Back(folded(_passed(commit, plain, plain, {})))
        claim = self.claim(commit)
        wide = plain if claim.fault else self._blame(commit.id, path, commit.parents, copies=True)
        moved = {} if claim.fault else self._moved(claim, commit).get(path, {})
        steps = _passed(commit, plain, wide, moved)
        return Back(folded(steps), judged=True, fault=claim.fault)

    def keep(self, commit: str, path: str, back: Back) -> None:
        """Keep what can never change; a claim that could not be judged may be another day."""
        claim = self._claims.get(commit)
        if self.kept is not None and not (claim and claim.unjudged):
            self.kept.put(self._key(commit, path), back)
            self._found = True

    def _key(self, *parts: str) -> str:
        return " ".join([*parts, self._begins])

    def prune(self) -> None:
        """Remove what was used longest ago, where anything was added and there is too much."""
        if self.kept is not None and self._found:
            self.kept.prune()

    def claim(self, commit: Commit, fault: str | None = None) -> Claim:
        """Give what a commit claims, judged; `fault` is the verdict where that is known."""
        if commit.id not in self._claims:
            claim = read_claim(commit)
            if fault is not None:
                claim = replace(claim, fault=fault)
            elif not claim.fault:
                claim = judged(claim, commit, self.head, self.verdicts, self.say)
            self._claims[commit.id] = claim
        return self._claims[commit.id]

    def _moved(self, claim: Claim, commit: Commit) -> Mapping[str, Mapping[int, tuple[str, int]]]:
        from verify.origin.moves import moved_lines

        if commit.id not in self._moves:
            try:
                self._moves[commit.id] = moved_lines(*plan_of(claim, commit, self.head))
            except Refusal:  # it is proved, by another Python: git may tell what the plan does not
                self._moves[commit.id] = {}
        return self._moves[commit.id]

    def _blame(
        self, commit: str, path: str, stops: tuple[str, ...], *, copies: bool
    ) -> dict[int, Row]:
        try:
            return blame(self.ours, commit, path, stops, copies=copies)
        except GitError as error:
            raise _missing(self.head, error) from None


def _credited(row: Row, path: str) -> Step:
    kind = STAYED if row.path == path else COPIED
    return Step(kind, row.commit, row.path, row.line, not row.stopped, row.previous)


def _passed(
    commit: Commit,
    plain: Mapping[int, Row],
    wide: Mapping[int, Row],
    moved: Mapping[int, tuple[str, int]],
) -> Iterator[tuple[int, Step]]:
    """Give each line's step: what stays goes first, then the plan's word, then what git finds."""
    for line, row in sorted(plain.items()):
        found = wide[line]
        if row.commit != commit.id:
            yield line, Step(STAYED, row.commit, row.path, row.line)
        elif line in moved:
            path, at = moved[line]
            yield line, Step(MOVED, commit.parents[0], path, at)
        elif found.commit != commit.id:
            yield line, Step(COPIED, found.commit, found.path, found.line)
        else:
            previous = row.previous or found.previous
            yield line, Step(STAYED, row.commit, row.path, row.line, ends=True, previous=previous)


def _missing(head: GitTree, error: GitError) -> Refusal:
    """Word what git could not read."""
    refusal = head.repository.missing("A part of the history")
    return Refusal(
        refusal.kind,
        f"`git blame` cannot read all of the history: {str(error) or 'an object is missing'}.",
        next_step=refusal.next_step,
        place=refusal.place,
    )
