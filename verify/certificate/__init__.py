"""The kernel: judges without a plan whether a change is a move and nothing else.

`certify` takes the files that differ, from both trees, and looks into the others as needed. It
stands on the standard library alone and shares no code with the mover: it is a second opinion.

along     what goes along with a module that moved whole
both      the two trees side by side: what each of the following asks
comments  comments that belong to no statement
conserve  which statement of one side is which of the other
cycles    what importing a module runs, and imports that close a circle
dynamic   code that reaches what no one can tell
findings  what a certificate says, and one in the making
imports   whether each import is there for a reason
judge     whether a pair of statements means the same; copies, what is left
literals  values that are written down
meaning   what a name may mean: definitions, each on its conditions
names     what statements bind and use, read in their scopes
order     what runs when a module is imported, and in which order
pieces    statements as trees of pieces, compared down to the innermost
place     what code makes of its own place: `__name__`, `__file__`
reach     what the other files read, write, patch or name
resolve   which definition a name means, through imports, re-exports and stars
source    a file as statements, their tokens and comments
whole     which file is which, where modules moved whole
"""

from __future__ import annotations
import __future__

import re
import sys
import warnings
from collections.abc import Collection, Iterable, Mapping
from posixpath import normpath
from typing import Protocol

from verify.certificate.along import Along
from verify.certificate.comments import Comments
from verify.certificate.conserve import named, pair
from verify.certificate.cycles import cycles
from verify.certificate.findings import (
    CERTIFIED,
    RESIDUAL,
    UNKNOWN,
    Certificate,
    Findings,
    Moved,
    Observable,
    Residual,
    Unknown,
)
from verify.certificate.judge import Judge
from verify.certificate.names import PATH, as_bytes
from verify.certificate.order import Order
from verify.certificate.pieces import Shapes
from verify.certificate.reach import Reach
from verify.certificate.resolve import Side
from verify.certificate.source import (
    Module,
    Source,
    is_python,
    parse,
    stem_of,
)
from verify.kernel.trees.source import OpaqueError

__all__ = [
    "CERTIFIED",
    "RESIDUAL",
    "UNKNOWN",
    "Certificate",
    "Files",
    "Moved",
    "Observable",
    "Residual",
    "Rest",
    "Unknown",
    "certify",
]

Files = Mapping[str, tuple[bytes, int]]  # path -> bytes and mode, as git has them
_REGULAR = {0o100644, 0o100755}
_LINK = 0o120000
_BINARY = (".so", ".pyd", ".pyc", ".pth")  # Python imports or runs these
_CONFIGURATION = ("pyproject.toml", ".cfg", ".ini")  # entry points live there
_PROSE = (".toml", ".md", ".rst", ".txt", ".yaml", ".yml", ".json", ".sh", ".pyi", ".ipynb")
# What every Python that can read the code has anyway.
_SETTLED = {
    name
    for name in __future__.all_feature_names
    if (getattr(__future__, name).getMandatoryRelease() or (9,)) <= (3, 8)
}


class Rest(Protocol):
    """The files that both trees share."""

    def paths(self) -> Collection[str]:
        """List all of them."""

    def read_many(self, paths: Iterable[str]) -> Mapping[str, bytes]:
        """Read some of them."""

    def search(self, needle: re.Pattern[bytes], paths: Iterable[str]) -> Iterable[str]:
        """List those among `paths` whose bytes match."""

    def links(self) -> Mapping[str, bytes]:
        """Give the symbolic links, and where each leads."""


class Held:
    """Shared files that are in memory anyway."""

    def __init__(self, files: Files) -> None:
        self._files = {path: data for path, (data, mode) in files.items() if mode in _REGULAR}
        self._links = {path: data for path, (data, mode) in files.items() if mode == _LINK}

    def paths(self) -> Collection[str]:
        """List all of them."""
        return self._files.keys()

    def read_many(self, paths: Iterable[str]) -> Mapping[str, bytes]:
        """Read some of them."""
        return {path: self._files[path] for path in paths}

    def search(self, needle: re.Pattern[bytes], paths: Iterable[str]) -> Iterable[str]:
        """List those among `paths` whose bytes match."""
        return [path for path in paths if needle.search(self._files[path])]

    def links(self) -> Mapping[str, bytes]:
        """Give the symbolic links, and where each leads."""
        return self._links


def certify(base: Files, target: Files, rest: Rest | None = None) -> Certificate:
    """Judge a change from the files of two trees.

    `base` and `target` may be whole trees, or just what differs, with `rest` for all else. Never
    runs what it reads, and never raises for what it finds there.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is parsed may be worth a warning, but not to us
        return _certify(base, target, rest)


def _certify(base: Files, target: Files, rest: Rest | None) -> Certificate:
    shared = {p: base[p] for p in base.keys() & target.keys() if base[p] == target[p]}
    found = Findings()
    for path in sorted((base.keys() | target.keys()) - shared.keys()):
        _file(path, base.get(path), target.get(path), found)
    ours, theirs = (
        _sources({p: f for p, f in files.items() if p not in shared}, side, found)
        for side, files in (("base", base), ("target", target))
    )
    if found.opaque:
        return found.certificate()  # without every changed file, nothing else can be told
    try:
        _judge(ours, theirs, rest if rest is not None else Held(shared), found, (base, target))
    except RecursionError:
        found.unknown(min((*ours, *theirs)), 1, "a statement nests too deeply")
    return found.certificate()


def _sources(files: Files, side: str, found: Findings) -> dict[str, Source]:
    sources = {}
    for path, (data, mode) in sorted(files.items()):
        if mode not in _REGULAR or not is_python(path, data):
            continue
        try:
            sources[path] = parse(path, data)
        except OpaqueError as error:
            found.unknown(path, error.line, f"{error.why} ({side})", error.needs)
    return sources


def _file(
    path: str, old: tuple[bytes, int] | None, new: tuple[bytes, int] | None, found: Findings
) -> None:
    """Judge what can be told of a changed file without reading it as Python."""
    for side, file in (("base", old), ("target", new)):
        if file is not None and file[1] not in _REGULAR:
            found.residual(side, path, 1, "link", "a link or a submodule changed")
        elif file is not None and path.endswith(_BINARY):
            found.residual(side, path, 1, "binary", "a file that Python loads changed")
    if old and new and old[1] != new[1]:
        found.observe(path, 1, "mode", f"the mode {old[1]:o} became {new[1]:o}")
    if not any(is_python(path, file[0]) for file in (old, new) if file is not None):
        state = "is new" if old is None else "is gone" if new is None else "changed"
        found.observe(path, 1, "file", f"a file that is no Python {state}")
    elif old is None or new is None:
        found.observe(path, 1, "module", f"a module {'is new' if old is None else 'is gone'}")


def _judge(
    ours: Mapping[str, Source],
    theirs: Mapping[str, Source],
    rest: Rest,
    found: Findings,
    files: tuple[Files, Files],
) -> None:
    cache: dict[str, bytes] = {}

    def read(paths: Iterable[str]) -> Mapping[str, bytes]:
        wanted = list(paths)
        missing = [path for path in wanted if path not in cache]
        if missing:
            cache.update(rest.read_many(missing))
        return {path: cache[path] for path in wanted if path in cache}

    for path, data in sorted(rest.links().items()):
        place = normpath(f"{path}/../{data.decode('utf-8', 'replace')}")
        if any(
            f"./{known}/".startswith((f"./{place}/", f"{place}/")) for known in (*ours, *theirs)
        ):
            found.unknown(path, 1, "a link leads to what changed, so it has another name as well")
    shapes = Shapes()
    unchanged = sorted(p for p in rest.paths() if p not in ours and p not in theirs)
    ours, theirs = (
        _visible(s, unchanged, files, found) for s, files in (("base", ours), ("target", theirs))
    )
    pairing = pair(ours, theirs, shapes)
    parsed: dict[str, Module | OpaqueError] = {}
    base = Side([*unchanged, *ours], ours, read, parsed, lambda path, index: (path, index))
    both = {*rest.paths()}
    pairing.whole.add_folders(both.union(files[0]), both.union(files[1]))
    called = pairing.whole.called
    target = Side([*unchanged, *theirs], theirs, read, parsed, pairing.key, called)
    pairing.whole.roots = base.starts
    found.relocated.update((old, new) for new, old in pairing.whole.paths.items())
    python = [path for path in unchanged if path.endswith(".py")]
    judge = Judge(base, target, pairing, shapes, found, lambda n: rest.search(n, python))
    judge.run()
    for module in judge.new.values():
        _futures(judge, module)
    _shadows(base, target, found)
    Comments(judge, shapes).run()
    order = Order(judge)
    order.run()
    Along(judge, order, *files).run(rest.paths() if judge.moved else ())
    cycles(judge)
    reach = Reach(judge, unchanged, read, rest.search)
    reach.run()
    _mentions(reach, rest, found)


def _mentions(reach: Reach, rest: Rest, found: Findings) -> None:
    """Look for the paths of lost names in files that are no Python."""
    tails = {".".join(stem.split("/")[-2:]) for stem in reach.lost}
    paths = [path for path in rest.paths() if path.endswith((*_CONFIGURATION, *_PROSE))]
    needle = re.compile(as_bytes("|".join(sorted(map(re.escape, tails)))))
    texts = rest.read_many(rest.search(needle, paths)) if tails else {}
    for path, data in sorted(texts.items()):
        for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
            for stem, name, _ in (n for p in PATH.findall(line) for n in named(reach.base, p)):
                if name in reach.lost.get(stem, ()) and reach.gone(stem, name):
                    what = f"{name} is no longer in {stem.replace('/', '.')}"
                    if path.endswith(_CONFIGURATION):
                        found.residual("target", path, number, "reach", what, line)
                    else:
                        found.observe(path, number, "mention", what)


def _futures(judge: Judge, new: Module) -> None:
    """Check that what `from __future__` brings is in force where it was, and nowhere else."""
    theirs, known = new.source.futures, set[str]()
    for old, _, module, index in judge.pairs:
        if module is new:
            known |= old.source.futures
            unit = new.source.units[index]
            joins = new.path in judge.old and old is not judge.old[new.path]
            for name in sorted(old.source.futures ^ theirs):
                state = "is now" if name in theirs else "is no longer"
                why = f"`from __future__ import {name}` {state} in force here"
                if name in _SETTLED:
                    judge.found.observe(new.path, unit.first, "future", f"{why}, for Python 2")
                elif name not in theirs and joins and not judge.facts(new, unit).annotated:
                    judge.found.observe(new.path, unit.first, "future", f"{why}, unused")
                elif name not in theirs or judge.facts(new, unit).annotated:
                    judge.residual("target", new.source, unit.first, "future", why)
    if new.path in judge.old:
        known = set(judge.old[new.path].source.futures)
    for name in sorted(theirs - known - _SETTLED):
        line = new.source.units[0].first
        why = f"`from __future__ import {name}` is new"
        judge.residual("target", new.source, line, "future", why, [line])


def _shadows(old: Side, new: Side, found: Findings) -> None:
    """Refuse new modules that hide one of Python's own from scripts beside them, or a name."""
    for module in new.changed():
        folder, _, name = module.stem.rpartition("/")
        package = new.module(folder)
        if old.exists(module.stem):
            continue
        if package is None and name in {*sys.stdlib_module_names, "sitecustomize", "usercustomize"}:
            why = f"it hides Python's own module `{name}` from what is run beside it"
            found.residual("target", module.path, 1, "hidden", why)
        for item in [site.imported for site in package.names.get(name, ())] if package else ():
            stems = new.find(package.path, item.level, item.module) if package and item else []
            own = {f"{stem}/{item.member}" for stem in stems} if item else set()
            if not any(f"{stem}/".startswith(f"{module.stem}/") for stem in {*stems, *own}):
                why = f"it hides what `{name}` is in its package"
                found.residual("target", module.path, 1, "hidden", why)


def _visible(
    side: str, unchanged: list[str], files: Mapping[str, Source], found: Findings
) -> dict[str, Source]:
    """Leave out modules that a package of the same name hides from every import."""
    packages = {stem_of(p) for p in (*unchanged, *files) if p.endswith("/__init__.py")}
    seen = {}
    for path, source in files.items():
        if path == f"{stem_of(path)}.py" and stem_of(path) in packages:
            found.residual(side, path, 1, "hidden", "a package of the same name hides this module")
        else:
            seen[path] = source
    return seen
