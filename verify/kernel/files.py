"""Files as such: what is run or read by its path, packages that come and go, what hides what."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from posixpath import normpath

from verify.kernel.both import Both
from verify.kernel.effects import STANDARD
from verify.kernel.entries import became, is_script
from verify.kernel.settings import is_settings
from verify.kernel.verdict import BASE, BREAKS, OBSERVED, OPEN, TARGET, TEXT, Place
from verify.kernel.whole import along, relocated

LOADED = (".so", ".pyd", ".pyc", ".pth")  # Python imports or runs these
_READING = re.compile(
    r"\b(open|read_text|read_bytes|subprocess|exec|runpy|run_path|check_output)\b"
)
_QUOTED = re.compile(r"""['"]([^'"\n]*\.py)['"]""")
_LISTED = re.compile(r"packages\s*=\s*\[([^\]]*)\]")
_RUNS = ("Makefile", "Dockerfile", "Procfile", "tox.ini")


def check(both: Both, modes: Mapping[str, tuple[int | None, int | None]]) -> None:
    """Report what changed of files as such. `modes` are those of the files that differ."""
    moved = relocated(both)
    both.found.relocated.update(moved.items())
    went = dict(along(both, moved))
    for path, (old, new) in sorted(modes.items()):
        if path in went and modes[went[path]] == (None, old):
            why = f"{path} went along with its package"
            both.found.say(OBSERVED, went[path], why, Place(went[path], 1))
        elif path not in went.values():
            _mode(both, path, old, new)
    gone = sorted(both.base.files.keys() - both.target.files.keys())
    come = sorted(both.target.files.keys() - both.base.files.keys())
    for path in gone:
        _gone(both, path)
    for path in come:
        _new(both, path)
    for path in sorted(both.changed & both.base.files.keys() & both.target.files.keys()):
        if is_script(both.base, path) and not is_script(both.target, path):
            both.found.say(BREAKS, path, "it can no longer be run", Place(path, 1))
    _by_path(both, gone)
    _packaging(both, come)
    for path in sorted(both.base.files.keys() & both.target.files.keys()):
        if is_settings(path) and path not in both.changed:
            _settings(both, path)


def links(both: Both, found: Mapping[str, bytes]) -> None:
    """Look for links that give what changed a second name, under which nobody has looked."""
    for path, data in sorted(found.items()):
        place = normpath(f"{path}/../{data.decode('utf-8', 'replace')}")
        ends = (f"./{place}/", f"{place}/")
        if any(f"./{changed}/".startswith(ends) for changed in both.changed):
            why = "a link leads to what changed, so it has another name as well"
            both.found.say(OPEN, path, why, Place(path, 1))


def _mode(both: Both, path: str, old: int | None, new: int | None) -> None:
    regular = (0o100644, 0o100755, None)
    if old not in regular or new not in regular:
        both.found.say(TEXT, path, "a link or a submodule changed", Place(path, 1))
    elif path.endswith(LOADED):
        both.found.say(BREAKS, path, "a file that Python loads or runs changed", Place(path, 1))
    elif old and new and old != new:
        both.found.say(OBSERVED, path, f"its mode {old:o} became {new:o}", Place(path, 1))
    elif path not in both.changed:
        state = "is new" if old is None else "is gone" if new is None else "changed"
        side = BASE if new is None else TARGET
        both.found.say(OBSERVED, path, f"a file that is no Python {state}", Place(path, 1, side))
        both.found.other_files.add(path)


def _gone(both: Both, path: str) -> None:
    if not path.endswith(".py"):
        if path in both.changed:
            both.found.say(BREAKS, path, "a script is gone", Place(path, 1, BASE))
        return
    if is_script(both.base, path):
        both.found.say(BREAKS, path, "a file that can be run is gone", Place(path, 1, BASE))
    folder = path.rpartition("/")[0]
    if (
        path.endswith("/__init__.py")
        and folder in both.target.folders
        and not became(path, both.target)
    ):
        if any(p.startswith(f"{folder}/") and p.endswith(".py") for p in both.target.files):
            why = "a package loses its `__init__`"
            both.found.say(BREAKS, both.base.name(path), why, Place(path, 1, BASE))


def _new(both: Both, path: str) -> None:
    if not path.endswith(".py"):
        return
    folder, _, name = path.rpartition("/")
    if path.endswith("/__init__.py") and folder in both.base.folders:
        if any(p.rpartition("/")[0] == folder and p.endswith(".py") for p in both.base.files):
            why = "a folder of modules becomes a package, so its modules get other names"
            both.found.say(OPEN, both.target.name(path), why, Place(path, 1))
    word = name[:-3]
    root = both.target.root(path) == folder
    if root and word in {*STANDARD, "sitecustomize", "usercustomize"}:
        why = f"it hides Python's own module `{word}` from what is run beside it"
        both.found.say(BREAKS, word, why, Place(path, 1))


def _by_path(both: Both, gone: list[str]) -> None:
    """Look for files that are run or read by their path."""
    left = {base[0] for base, _ in both.pairing.moved()} | {at[0] for at in both.pairing.gone}
    wanted = {path for path in {*left, *gone} if path.endswith(".py")}
    if not wanted:
        return
    for path in sorted(both.base.files):
        name = path.rpartition("/")[2]
        if path not in both.target.files:
            continue
        if path.endswith(".py") and _READING.search(both.base.text(path)):
            for number, said in _mentions(both.base.text(path), _QUOTED):
                for read in _meant(said, wanted, path):
                    why = f"{read} is read or run by its path"
                    both.found.say(OPEN, read, why, Place(path, number))
        elif name in _RUNS or path.endswith((".sh", ".yml", ".yaml", ".toml", ".cfg", ".ini")):
            for number, said in _mentions(both.base.text(path), re.compile(r"([\w./-]+\.py)\b")):
                for read in _meant(said, {p for p in wanted if p in gone}, path):
                    why = f"{read} is gone, and is named by its path"
                    both.found.say(BREAKS, read, why, Place(path, number))


def _mentions(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    for match in pattern.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match[1]


def _meant(said: str, wanted: set[str], path: str) -> Iterator[str]:
    """Give the files that a text may mean: from the top, or from where it stands."""
    folder = path.rpartition("/")[0]
    plain = re.sub(r"^(\./|\.\./)+", "", said)
    for option in {plain, f"{folder}/{plain}" if folder else plain}:
        if option in wanted:
            yield option


def _packaging(both: Both, new: list[str]) -> None:
    """Look for lists of packages that miss a new one."""
    packages = {both.target.name(p) for p in new if p.endswith("/__init__.py")}
    for path in ("setup.py", "setup.cfg", "pyproject.toml"):
        listed = _LISTED.search(both.target.text(path)) if path in both.target.files else None
        if not listed or not packages:
            continue
        names = set(re.findall(r"['\"]([\w.]+)['\"]", listed[1]))
        for package in sorted(packages - names):
            if package.rpartition(".")[0] in names:
                number = both.target.text(path).count("\n", 0, listed.start()) + 1
                why = "the list of packages to install does not have this new one"
                both.found.say(BREAKS, package, why, Place(path, number))


def _settings(both: Both, path: str) -> None:
    """Settings may follow a move: a dotted path whose last name stays."""
    if both.base.files[path] == both.target.files[path]:
        return
    one, two = both.base.text(path).split("\n"), both.target.text(path).split("\n")
    if len(one) != len(two) or any(_bare(a) != _bare(b) for a, b in zip(one, two, strict=True)):
        both.found.say(TEXT, path, "settings that tools read changed", Place(path, 1))


def _bare(line: str) -> str:
    return re.sub(r"[\w.]+(?=\s*[.:]\s*\w+)", "", line)
