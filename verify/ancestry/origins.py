"""Which files of a commit `git blame -C -C -C` could credit with a line, and which it never can.

Blame compares a file with every file of the base, whatever is in it. It credits a block only if
the block has 40 letters and digits, so a file that shares no such run of lines cannot matter: to
leave it out changes no line's class, and most of a large tree is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from transforms.result.changes import EXECUTABLE, REGULAR
from transforms.tree import GitTree
from transforms.tree.git import GitError

# BLAME_DEFAULT_COPY_SCORE of git's blame.h: a block must score more, and a score starts at 1.
_LEAST = 40
_SCORED = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_OTHERS = bytes(set(range(256)) - _SCORED)


def irrelevant(base: GitTree, target: GitTree, destinations: Sequence[str]) -> Collection[str]:
    """List files, the same in both commits, that can be the origin of no line of `destinations`.

    None where they cannot all be read: then git itself says what is missing.
    """
    ids, new = base.ids(), target.ids()
    modes, new_modes = base.entries(), target.entries()
    by_id: dict[str, list[str]] = {}
    for path, mode in modes.items():
        if mode in (REGULAR, EXECUTABLE) and (mode, ids[path]) == (
            new_modes.get(path),
            new.get(path),
        ):
            by_id.setdefault(ids[path], []).append(path)
    scores = _scores(target.read_many(destinations).values())
    found: set[str] = set()
    try:
        for name, data in base.repository.blobs(by_id):
            if not _shares_a_block(data, scores):
                found.update(by_id[name])
    except GitError:
        return ()
    return found


def _scores(texts: Iterable[bytes]) -> dict[bytes, int]:
    """Give each line of the texts its letters and digits, as git counts them."""
    return {
        line: len(line.translate(None, _OTHERS)) for text in texts for line in text.split(b"\n")
    }


def _shares_a_block(data: bytes, scores: dict[bytes, int]) -> bool:
    """Whether lines that follow one another are all among those of `scores`, and score enough."""
    score_of, run = scores.get, 0
    for line in data.split(b"\n"):
        score = score_of(line)
        run = 0 if score is None else run + score
        if run >= _LEAST:
            return True
    return False
