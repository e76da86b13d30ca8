"""Of what the mover makes of its own cases, inference finds a plan that is as literal as theirs.

The table that comes out is what inference is worked on by: each cause of a failure is a kind.
"""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.effort import FULL
from tests.transforms.case import MemoryTree, load_cases
from tests.transforms.checkouts import run_git
from transforms.engine import apply
from transforms.errors import Refusal
from transforms.reading.load import parse_plan
from transforms.reading.model import FORMATS, Plan
from transforms.result.changes import Blob
from transforms.tree import GitTree
from verify.inference.infer import infer

Files = Mapping[str, Blob]
_SHARE = 1 if FULL else 9  # of the cases, one in so many
_AS_LITERAL = "no more literal than its plan"

# Shapes that no case of the mover has, with what went wrong on each of them once.
OWN = {
    "a caller that is an __init__ exports nothing": (
        {
            "shop/__init__.py": "",
            "shop/things.py": "import os\n\n\ndef real(path):\n    return os.path.realpath(path)\n"
            "\n\ndef two():\n    return 2\n",
            "shop/run/__init__.py": "from shop.things import real\n\n\nclass Runner:\n"
            "    home = real('.')\n",
        },
        '[[source]]\nmodule = "shop.things"\n'
        '[[destination]]\nmodule = "shop.places"\nsymbols = ["real"]\n',
    ),
    "what keeps the docstring takes the rest, however little that is": (
        {
            "shop/__init__.py": "",
            "shop/rules.py": '"""Rules.\n\nWhat they are, and\nhow they are read.\n"""\n'
            "\nimport re\n\n\nclass Rule:\n    sign = ''\n\n    def fits(self, text):\n"
            "        return re.match(self.sign, text)\n\n\nclass Plus(Rule):\n    sign = '[+]'\n\n"
            "    def all(self):\n        return [self.fits(sign) for sign in '+-']\n\n\n"
            "def read(text):\n    return Plus().fits(text)\n",
            "shop/use.py": "from shop.rules import read\n\nprint(read('+'))\n",
        },
        '[[source]]\nmodule = "shop.rules"\nbecomes = "shop.rules.reading"\n'
        '[[destination]]\nmodule = "shop.rules.kinds"\nsymbols = ["Rule", "Plus"]\n'
        '[[package]]\nmodule = "shop.rules"\nexports = ["read"]\n',
    ),
    "a logger of a function of the tree is copied": (
        {
            "shop/__init__.py": "",
            "shop/notes.py": "import logging\n\n\ndef logger_of(name):\n"
            "    return logging.getLogger(name)\n",
            "shop/a.py": "from shop import notes\n\nlog = notes.logger_of(__name__)\n\n\n"
            "def went(x):\n    log.info('went')\n    return x + 1\n\n\n"
            "def stays(x):\n    log.info('stays')\n    return went(x)\n",
        },
        '[[source]]\nmodule = "shop.a"\n'
        '[[destination]]\nmodule = "shop.b"\nsymbols = ["went"]\ncopy = ["log"]\n',
    ),
    "a package without __all__ exports without one": (
        {
            "shop/__init__.py": '"""A shop."""\n',
            "shop/a.py": "def went(x):\n    return x + 1\n\n\ndef stays(x):\n    return x\n",
        },
        '[[source]]\nmodule = "shop.a"\n'
        '[[destination]]\nmodule = "shop.b"\nsymbols = ["went"]\n'
        '[[package]]\nmodule = "shop"\nexports = ["went"]\nall = false\n',
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Made:
    """What a plan made: the commits before and after it, by their branches."""

    name: str
    plan: Plan
    base: str
    target: str


class Import:
    """A stream for `git fast-import`: all commits by one process."""

    def __init__(self) -> None:
        self.rows: list[bytes] = []
        self.number = 0

    def commit(self, files: Files, parent: str = "") -> str:
        self.number += 1
        branch = f"refs/heads/c{self.number}"
        self.rows.append(f"commit {branch}\ncommitter a <a@b> 0 +0000\ndata 0\n".encode())
        self.rows.append(f"from {parent}\n".encode() if parent else b"")
        self.rows.append(b"deleteall\n")
        for path, blob in files.items():
            quoted = path.replace("\\", "\\\\").replace('"', '\\"')
            self.rows.append(f'M {blob.mode:o} inline "{quoted}"\ndata {len(blob.data)}\n'.encode())
            self.rows += [blob.data, b"\n"]
        return branch


def plans() -> Iterator[tuple[str, str, Files]]:
    for case in load_cases():
        if case.refused is None:
            head = "" if case.plan.startswith("format") else "format = 1\n"
            yield case.id, head + case.plan, case.before
    for name, (files, plan) in OWN.items():
        yield name, f"format = 2\n{plan}", {p: Blob(text.encode()) for p, text in files.items()}


def made(stream: Import) -> Iterator[Made]:
    """Apply the plans in every format that gives something else."""
    for name, text, before in plans():
        if zlib.crc32(name.encode()) % _SHARE and name not in OWN:
            continue
        seen: list[dict[str, Blob]] = []
        for number in FORMATS:
            plan = replace(parse_plan(text.encode(), "plan.toml"), format=number)
            try:
                changes = apply(plan, MemoryTree(before)).changes.after()
            except Refusal:
                continue
            blobs = {**before, **changes}
            after = {path: blob for path, blob in blobs.items() if blob is not None}
            if after not in seen:
                seen.append(after)
                base = stream.commit(before)
                yield Made(f"{name} {number}", plan, base, stream.commit(after, base))


def outcome(item: Made, folder: Path) -> tuple[str, bool]:
    """How an inference comes out, in the words of the table; and whether in the newest format."""
    try:
        found = infer(GitTree(folder, item.base), GitTree(folder, item.target))
    except Refusal as refusal:
        return f"refused: {refusal.kind}", False
    newest = found.plan.newer
    if not found.holds:
        return "left over" if found.left else "not moved by operations", newest
    lines = found.plan.authored_lines - item.plan.authored_lines
    deleted = len(found.plan.deletions) - len(item.plan.deletions)
    if lines > 0 or deleted > 0 or (found.plan.edits and not item.plan.edits):
        return f"literal: {lines} more lines", newest
    return _AS_LITERAL, newest


def test_a_plan_of_the_mover_is_found_again_without_a_literal_line(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "--quiet", "--bare")
    stream = Import()
    items = list(made(stream))
    run_git(tmp_path, "fast-import", "--quiet", stdin=b"".join(stream.rows))
    table: dict[str, list[str]] = defaultdict(list)
    formats: Counter[bool] = Counter()
    for item in items:
        cause, newest = outcome(item, tmp_path)
        table[cause].append(item.name)
        formats[newest] += 1
    assert {cause: names for cause, names in table.items() if cause != _AS_LITERAL} == {}
    assert len(table[_AS_LITERAL]) == len(items) >= 370 // _SHARE - 20
    # Only where the newer defaults cannot give the bytes is a plan of the older format written.
    assert formats[False] <= len(items) // 8


@pytest.mark.parametrize("name", OWN)
def test_the_shapes_of_its_own_are_made(name: str) -> None:
    files, plan = OWN[name]
    tree = MemoryTree({path: Blob(text.encode()) for path, text in files.items()})
    assert apply(parse_plan(f"format = 2\n{plan}".encode(), "plan.toml"), tree).changes
