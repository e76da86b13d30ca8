"""What is split: SGLang's tree before its split 5/N, from its history or from a release on PyPI."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE

import transforms
from transforms.reading.load import load_plan
from transforms.result.changes import EXECUTABLE, REGULAR
from transforms.tree import GitTree, WheelTree
from verify.history.made import Made, make
from verify.release.transform import PLAN, SAME_AS_NEXT, SETTINGS
from verify.release.wheels import AFTER, BEFORE, fetch_wheel

HISTORY = "bytedance-iaas-sglang.git"
LANDED = "ff1fc1fbdff315fe44b9431ca5aae00d7bd7f733"
_PLAN_5 = Path(transforms.__file__).parent / "plans" / "sglang" / "5.toml"


@dataclass(frozen=True, slots=True)
class Subject:
    """A clean checkout, the plan for it, and the files that must come out.

    `roots` is the folder in which dotted names start, `source` the module that is split, `moves`
    the other modules with their symbols, all by path; `wanted` are bytes by path.
    """

    title: str
    checkout: Path
    plan: Path
    roots: str
    source: str
    moves: tuple[tuple[str, tuple[str, ...]], ...]
    wanted: Mapping[str, bytes]

    @property
    def symbols(self) -> int:
        """How many symbols the plan moves."""
        return sum(len(symbols) for _, symbols in self.moves)

    def right(self) -> int:
        """How many of the wanted files the checkout now holds, byte for byte."""
        return sum(
            (self.checkout / path).is_file() and (self.checkout / path).read_bytes() == data
            for path, data in self.wanted.items()
        )

    def reset(self) -> None:
        """Make the checkout clean again."""
        git = Made(self.checkout).git
        git.reset("--quiet", "--hard")
        git.clean("--quiet", "-d", "--force", "-x")
        git.update_index("-q", "--refresh")


def prepare(folder: Path) -> Subject:
    """Make the checkout below an empty folder: of the history where that is at hand."""
    histories = os.environ.get("REPOT_HISTORIES")
    if histories and (Path(histories) / HISTORY).is_dir():
        return _from_history(Path(histories) / HISTORY, folder)
    return _from_release(folder)


def _from_history(repository: Path, folder: Path) -> Subject:
    checkout = folder / "sglang"
    base, target = GitTree(repository, f"{LANDED}^"), GitTree(repository, LANDED)
    made = make(checkout)
    made.alternates = [str(repository.resolve() / "objects")]
    made.git.checkout("--quiet", "--detach", base.commit)
    before, after = base.ids(), target.ids()
    changed = [path for path, name in after.items() if before.get(path) != name]
    return _subject(
        f"SGLang at {base.commit[:12]}", checkout, _PLAN_5, "python", target.read_many(changed)
    )


def _from_release(folder: Path) -> Subject:
    checkout = folder / "sglang"
    with WheelTree(fetch_wheel(BEFORE), BEFORE.sha256) as wheel:
        regular = [p for p, mode in wheel.entries().items() if mode in (REGULAR, EXECUTABLE)]
        files = {**wheel.read_many(regular), **SETTINGS}
    for path, data in files.items():
        target = checkout / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    made = make(checkout)
    made.git.add("--all", "--force")
    made.git.commit("--quiet", "--message", "The release")
    with WheelTree(fetch_wheel(AFTER), AFTER.sha256) as wheel:
        wanted = wheel.read_many(SAME_AS_NEXT)
    return _subject(f"SGLang {BEFORE.version} from PyPI", checkout, PLAN, "", wanted)


def _subject(
    title: str, checkout: Path, plan: Path, roots: str, wanted: Mapping[str, bytes]
) -> Subject:
    loaded = load_plan(plan)

    def path_of(dotted: str) -> str:
        return "/".join([*([roots] if roots else []), *dotted.split(".")]) + ".py"

    return Subject(
        title=title,
        checkout=checkout,
        plan=plan,
        roots=roots,
        source=path_of(str(loaded.sources[0].module)),
        moves=tuple((path_of(str(d.module)), d.symbols) for d in loaded.destinations),
        wanted=wanted,
    )


def grown(subject: Subject, folder: Path, times: int) -> Path:
    """A repository with the subject's tree as `small` and, as `large`, one `times` its size.

    What is added cannot matter: copies of its Python files that do not name the source, each made
    distinct, in folders of their own.
    """
    repository = folder / "grown.git"
    made = make(repository, bare=True)
    importing = made.git.fast_import("--quiet", "--depth=0", as_process=True, istream=PIPE)
    for piece in _commits(subject, times):
        importing.stdin.write(piece)
    importing.stdin.close()
    importing.wait()
    return repository


def _commits(subject: Subject, times: int) -> Iterator[bytes]:
    listing = Made(subject.checkout).git.ls_files("-z", stdout_as_string=False)
    last = Path(subject.source).stem.encode()
    identity = b"committer Benchmark <benchmark@repot.invalid> 0 +0000\n"
    yield b"commit refs/heads/small\nmark :1\n" + identity + _data(b"small")
    others = []
    for path in (os.fsdecode(raw) for raw in listing.split(b"\0")[:-1]):
        file = subject.checkout / path
        if file.is_symlink() or not file.is_file():
            continue
        data = file.read_bytes()
        yield b"M %s inline %s\n" % (
            b"100755" if os.access(file, os.X_OK) else b"100644",
            _quoted(path),
        ) + _data(data)
        if path.endswith(".py") and last not in data and last.decode() not in path:
            others.append((path, data))
    yield b"\ncommit refs/heads/large\n" + identity + _data(b"large") + b"from :1\n"
    for path, data in others:
        for number in range(1, times):
            head = b"M 100644 inline " + _quoted(f"copy{number}/{path}") + b"\n"
            yield head + _data(data + b"# copy %d\n" % number)


def _data(data: bytes) -> bytes:
    return b"data %d\n" % len(data) + data + b"\n"


def _quoted(path: str) -> bytes:
    raw = os.fsencode(path)
    escaped = raw.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"' + escaped + b'"'
