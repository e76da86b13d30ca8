"""The answer as `git blame` prints it: the table for people, and `--porcelain` for programs.

Both are bytes, as the file and the commits have them. The table has one mark that git's has not:
`!` before a commit that claims a move which is not proved.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from unicodedata import combining, east_asian_width

from transforms.paths import quote, to_bytes
from transforms.tree.git import Repository
from verify.origin.trace import Origin, Traced

CLAIMED, BOUNDARY = b"!", b"^"
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_BAD_DATE = b"1970-01-01 00:00:00 +0000"  # what git prints for a time that is none


def field_of(details: Sequence[bytes], name: str) -> bytes:
    """Give what git says of a commit under a name, such as `author-mail`; empty if nothing."""
    head = name.encode() + b" "
    return next((row[len(head) :] for row in details if row.startswith(head)), b"")


def date_of(details: Sequence[bytes]) -> bytes:
    """Give the author's date in their own time zone: no locale and no other zone has a say."""
    try:
        stamp, zone = (int(field_of(details, f"author-{name}")) for name in ("time", "tz"))
        minutes = (abs(zone) // 100 * 60 + abs(zone) % 100) * (1 if zone >= 0 else -1)
        local = _EPOCH + timedelta(seconds=stamp, minutes=minutes)
    except (ValueError, OverflowError):
        return _BAD_DATE
    return f"{local:%Y-%m-%d %H:%M:%S} {'-' if zone < 0 else '+'}{abs(zone):04d}".encode()


def table(traced: Traced, repository: Repository) -> Iterator[tuple[bytes, bytes]]:
    """Give each line as git's table has it: what stands before the text, and the text.

    Ids are as short as git makes them in the repository.
    """
    lines = traced.lines
    if not lines:
        return
    short = _abbreviated(repository, {line.commit for line in lines})
    width = max(map(len, short.values())) + 1
    authors = {name: field_of(traced.details[name], "author") for name in short}
    widest = max(map(_width, authors.values()))
    paths = {line.path: to_bytes(line.path) for line in lines}
    longest = max(map(len, paths.values()))
    digits = len(str(lines[-1].number))
    for line in lines:
        parts = [_id(line, width)]
        if set(paths) != {traced.asked.path}:
            parts.append(paths[line.path].ljust(longest))
        author = authors[line.commit]
        author += b" " * (widest - _width(author))
        date = date_of(traced.details[line.commit])
        parts.append(b"(%s %s %*d)" % (author, date, digits, line.number))
        yield b" ".join(parts), line.text


def _id(line: Origin, width: int) -> bytes:
    mark = CLAIMED if line.claim is not None else BOUNDARY if line.boundary else b""
    return mark + line.commit[: width - len(mark)].encode()


def _abbreviated(repository: Repository, commits: Iterable[str]) -> dict[str, str]:
    """Shorten ids as git does, by how many objects there are."""
    names = sorted(commits)
    printed = repository.run(
        "-c", "core.abbrev=auto", "rev-list", "--no-walk=unsorted", "--abbrev-commit", "--stdin",
        data="".join(f"{name}\n" for name in names).encode(),
    )  # fmt: skip
    return dict(zip(names, printed.decode("ascii").split(), strict=True))


def _width(name: bytes) -> int:
    """Count the columns that a name takes."""
    text = name.decode("utf-8", "replace")
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def porcelain(traced: Traced) -> bytes:
    """Print what `git blame --porcelain` prints of such an answer."""
    entries = list(_entries(traced.lines))
    paths = defaultdict(set)
    for entry in entries:
        paths[entry[0].commit].add(entry[0].path)
    told: set[str] = set()
    rows: list[bytes] = []
    for entry in entries:
        first = entry[0]
        for line in entry:
            numbers = f"{line.commit} {line.line} {line.number}"
            rows.append((f"{numbers} {len(entry)}" if line is first else numbers).encode())
            if line is first:
                new = first.commit not in told
                if new:
                    rows += traced.details[first.commit]
                    rows += [b"boundary"] if first.boundary else []
                if new or len(paths[first.commit]) > 1:
                    if first.previous:
                        before, path = first.previous
                        rows.append(f"previous {before} ".encode() + _quoted(path))
                    rows.append(b"filename " + _quoted(first.path))
                told.add(first.commit)
            rows.append(b"\t" + line.text)
    return b"".join(row + b"\n" for row in rows)


def _entries(lines: Sequence[Origin]) -> Iterator[list[Origin]]:
    """Put lines together that follow each other here and at their origin."""
    entry = list(lines[:1])
    for before, line in pairwise(lines):
        if (line.commit, line.path, line.line) != (before.commit, before.path, before.line + 1):
            yield entry
            entry = []
        entry.append(line)
    if entry:
        yield entry


def _quoted(path: str) -> bytes:
    return quote(path).encode("utf-8", "surrogateescape")
