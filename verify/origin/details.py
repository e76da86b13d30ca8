"""What `git blame --porcelain` says of a commit: who, when, and the first line of the message."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from transforms.tree.git import Repository

_WHO = ("author", "committer")
_FIELDS = ("%H", "%aN", "%aE", "%at", "%ad", "%cN", "%cE", "%ct", "%cd", "%B")


def details_of(repository: Repository, commits: Iterable[str]) -> dict[str, tuple[bytes, ...]]:
    """Give the rows of each commit. Names are mapped as the repository's settings say."""
    names = sorted(commits)
    if not names:
        return {}
    printed = repository.run(
        "log", "--no-walk=unsorted", "--no-show-signature", "-z", "--date=format:%z",
        f"--format=tformat:{'%x00'.join(_FIELDS)}", "--stdin",
        data="".join(f"{name}\n" for name in names).encode(),
    )  # fmt: skip
    parts = printed.split(b"\0")[:-1]  # no name and no message has a NUL
    each = (parts[start : start + len(_FIELDS)] for start in range(0, len(parts), len(_FIELDS)))
    return {row[0].decode(): tuple(_rows(row)) for row in each}


def _rows(parts: list[bytes]) -> Iterator[bytes]:
    commit, *people, message = parts
    for who, (name, mail, time, zone) in zip(_WHO, (people[:4], people[4:]), strict=True):
        yield f"{who} ".encode() + name
        yield f"{who}-mail <".encode() + mail + b">"
        yield f"{who}-time ".encode() + time
        yield f"{who}-tz ".encode() + zone
    summary = next((line for line in message.split(b"\n") if line.strip()), b"(" + commit + b")")
    yield b"summary " + summary
