"""Files as such: what is run or read by its path, packages that come and go, what hides what."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from verify.kernel.disk import packaging, paths
from verify.kernel.pairs.both import Both
from verify.kernel.pairs.pairing import At
from verify.kernel.pairs.whole import along
from verify.kernel.running.entries import acts, became, is_script
from verify.kernel.trees.effects import STANDARD
from verify.kernel.trees.settings import is_settings
from verify.kernel.trees.source import stored
from verify.kernel.trees.words import raw
from verify.kernel.verdict import BASE, BREAKS, OBSERVED, OPEN, TARGET, TEXT, Place

_PATH = re.compile(r"(?<![\w.])([A-Za-z_][\w.]*)\s*[.:]\s*(\w+)")
# Puts a finder before those that are there, or takes these away; whoever has the list by another
# name may. One at the end is asked last, and for a name that nothing had before it is a name that
# is given otherwise now.
_FINDS = re.compile(
    rb"\b(?:meta_path|path_hooks)\s*"
    rb"(?:\.\s*(?:insert|clear|pop|remove|reverse|sort|__setitem__)\b|\[[^\]\n]*\]\s*=[^=]|=[^=])"
    rb"|=\s*(?:\w+\.)*(?:meta_path|path_hooks)[ \t]*(?=[\n;#]|$)"
    rb"|(?<!list)(?<!tuple)(?<!len)(?<!iter)(?<!enumerate)(?<!reversed)"
    rb"\(\s*(?:\w+\.)*(?:meta_path|path_hooks)\s*[,)]"
    rb"|\bdel\s+(?:\w+\.)*(?:meta_path|path_hooks)\s*\[\s*:\s*\]"
)
# Without one of these a file has none of the lists, whatever it calls by their names.
_LISTS = re.compile(
    rb"[.\"']\s*(?:meta_path|path_hooks)\b|\bfrom\s+sys\s+import\s*\*"
    rb"|\bfrom\s+[\w.]+\s+import\b(?:\s*\([^)]*|[^\n(]*)\b(?:meta_path|path_hooks)\b"
)
# A test that takes its finder away again, and never says that a module is not there.
_BACK = re.compile(rb"\b(?:meta_path|path_hooks)\s*(?:\.\s*(?:remove|pop)\b|\[\s*:\s*\]\s*=)")
_BARS = re.compile(rb"\braise\s+(?:[\w.]*\.)?(?:Import|ModuleNotFound)Error\b")
# Stands in the way of every import, or hears of it. What a test does so it takes back.
_IMPORTS = re.compile(
    rb"\bbuiltins\s*\.\s*__import__\s*=[^=]|\b__builtins__\s*\[\s*[\"']__import__[\"']\s*\]\s*="
    rb"|\bsetattr\(\s*(?:__)?builtins(?:__)?\s*,\s*[\"']__import__[\"']|\baddaudithook\s*\("
    rb"|\b(?:SourceFileLoader|SourcelessFileLoader|SourceLoader|FileLoader|FileFinder|PathFinder"
    rb"|importlib|_bootstrap|_bootstrap_external)\s*\.\s*\w+\s*=[^=]"
)
_OF_IMPORTS = (b"__import__", b"addaudithook", b"Loader", b"Finder", b"_bootstrap", b"importlib")
_TEST = re.compile(r"(?:^|/)(?:tests?/|test_[^/]*$|[^/]*_test\.py$|conftest\.py$)")
# Puts a folder before the others that Python searches.
_SEARCHED = re.compile(
    rb"\bsys\.path\s*(?:\.\s*(?:insert|reverse|sort|__setitem__)\b|\[[^\]\n]*\]\s*=[^=]|=[^=])"
    rb"|=\s*sys\.path[ \t]*(?=[\n;#]|$)|\bfrom\s+sys\s+import\b[^\n]*\bpath\b|\bPYTHONPATH\b"
)
LOADED = (".so", ".pyd", ".pyc", ".pth")  # Python imports or runs these


def check(both: Both, modes: Mapping[str, tuple[int | None, int | None]]) -> None:
    """Report what changed of files as such. `modes` are those of the files that differ."""
    moved = both.relocated
    both.found.relocated.update(moved.items())
    went = dict(along(both.base, both.target, moved))
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
    seekers = [*_seekers(both)] if any(path.endswith(".py") for path in come) else []
    for path in come:
        _new(both, path)
        for place, why in seekers if path.endswith(".py") else ():
            both.found.say(OPEN, both.target.name(path), why, place)
    for path in sorted(both.changed & both.base.files.keys() & both.target.files.keys()):
        if is_script(both.base, path) and not is_script(both.target, path):
            both.found.say(BREAKS, path, "it can no longer be run", Place(path, 1))
    paths.check(both, gone, come)
    packaging.check(both, come)
    for path in sorted(both.base.files.keys() & both.target.files.keys()):
        if is_settings(path) and path not in both.changed:
            _settings(both, path)


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
    elif path.rpartition("/")[2] == "setup.py":
        why = "what builds or installs the project no longer finds its `setup.py`"
        both.found.say(BREAKS, path, why, Place(path, 1, BASE))
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
    _instead(both, path)
    if name == "__init__.py":
        folder, _, name = folder.rpartition("/")
    _hides(both, path)
    word = name.removesuffix(".py")
    root = both.target.root(path) == folder
    if root:
        _two_roots(both, path, folder, word)
    if root and word in {*STANDARD, "sitecustomize", "usercustomize"}:
        why = f"it hides Python's own module `{word}` from what is run beside it"
        both.found.say(BREAKS, word, why, Place(path, 1))
    elif word in STANDARD:
        _beside_scripts(both, path, folder, word)


def _beside_scripts(both: Both, path: str, folder: str, word: str) -> None:
    """Look for scripts in a package beside a new file that is called as a module of Python's."""
    tree = both.target
    beside = [p for p in tree.files if p.rpartition("/")[0] == folder and p.endswith(".py")]
    used: set[str] | None = None
    for other in sorted(beside):
        source = tree.readable(other) if other != path else None
        if (
            source is None
            or other.endswith(("__main__.py", "__init__.py"))
            or _relative(source.tree)
        ):
            continue
        if not source.asks_main:
            if not acts(source.tree.body):
                continue
            if used is None:
                used = {found for p in tree.python() for found in tree.imports(p) if found != p}
            if other in used:
                continue
        why = f"run by its path, {other} finds it in place of Python's own module `{word}`"
        both.found.say(OPEN, word, why, Place(path, 1))
        return


def _relative(tree: ast.Module) -> bool:
    """Tell whether a file cannot be run by its path: it imports from what it lies in."""
    return any(isinstance(node, ast.ImportFrom) and node.level for node in tree.body)


def _hides(both: Both, path: str) -> None:
    """Look for a module of the same name elsewhere, in a package that looks there, too."""
    stem = path.removesuffix("/__init__.py").removesuffix(".py")
    folder, _, name = stem.rpartition("/")
    above = both.target.files.get(f"{folder}/__init__.py", b"")
    if not folder or b"__path__" not in above:
        return
    for other in _called(both, path, name):
        home = other.removesuffix("/__init__.py").rpartition("/")[0].rpartition("/")[2]
        if home == folder.rpartition("/")[2] or (home and raw(home) in above):
            why = (
                f"its package looks in other folders, too, and this may hide {other}, or be hidden"
            )
            both.found.say(OPEN, both.target.name(path), why, Place(path, 1))


def _called(both: Both, path: str, name: str) -> list[str]:
    """List other files of the base that are the module or the package of a name."""
    ends = (f"/{name}.py", f"/{name}/__init__.py")
    return sorted(o for o in both.base.files if f"/{o}".endswith(ends) and o != path)


def _two_roots(both: Both, path: str, root: str, name: str) -> None:
    """Look for a module of the same name in a folder that somebody puts first in the search."""
    others = {at: o for o in _called(both, path, name) if (at := both.base.root(o)) != root}
    for editor in sorted(both.target.files) if others else ():
        data = both.target.files[editor]
        for found in [*_SEARCHED.finditer(data)][:1]:
            own = editor.rpartition("/")[0]
            for at, other in sorted(others.items()):
                if other not in both.target.files:
                    continue
                above = [f for f in (at, root) if f"{own}/".startswith(f"{f}/") and f]
                named = [f for f in (at, root) if f and raw(f.rpartition("/")[2]) in data]
                if above or named:
                    why = f"it is new, and {other} is found by that name as well"
                    line = data.count(b"\n", 0, found.start()) + 1
                    both.found.say(OPEN, both.target.name(path), why, Place(editor, line))


def _instead(both: Both, path: str) -> None:
    """Look for a module that a new package of its name hides, and for a folder of modules."""
    if path.endswith("/__init__.py"):
        other = f"{path.removesuffix('/__init__.py')}.py"
        hidden = [other] if other in both.base.files and other in both.target.files else []
    else:
        folder = f"{path.removesuffix('.py')}/"
        package = f"{folder}__init__.py" in both.target.files
        modules = (p for p in both.base.files if p.startswith(folder) and p.endswith(".py"))
        hidden = [] if package else sorted(p for p in modules if p in both.target.files)
    for other in hidden[:1]:
        why = f"it hides {other}, which Python no longer finds by that name"
        both.found.say(BREAKS, both.target.name(path), why, Place(path, 1))


def _seekers(both: Both) -> Iterator[tuple[Place, str]]:
    """List who is asked for a module before Python looks for its file, or stands in the way."""
    for path in both.target.python():
        data = both.target.files[path]
        found, why = None, "it is new, and a finder of modules is asked for it first"
        if (b"meta_path" in data or b"path_hooks" in data) and _LISTS.search(data):
            found = next((f for f in _FINDS.finditer(data) if not _in_a_test(path, data, f)), None)
        if found is None and any(word in data for word in _OF_IMPORTS) and not _TEST.search(path):
            found = _IMPORTS.search(data)
            why = (
                "it is new, and code of the tree stands in the way of every import, or hears of it"
            )
        if found:
            yield Place(path, data.count(b"\n", 0, found.start()) + 1), why


def _in_a_test(path: str, data: bytes, found: re.Match[bytes]) -> bool:
    """Tell whether a function of a test gives modules of its own for a while, and bars none."""
    start = data.rfind(b"\n", 0, found.start()) + 1
    indented = data[start : start + 1] in (b" ", b"\t")
    taken_back = indented and _BACK.search(data) is not None
    return bool(_TEST.search(path)) and taken_back and not _BARS.search(data)


def _settings(both: Both, path: str) -> None:
    """Settings may follow a move: a dotted path whose last name stays."""
    if both.base.files[path] == both.target.files[path]:
        return
    one, two = both.base.text(path).split("\n"), both.target.text(path).split("\n")
    if len(one) == len(two):  # what names a module that moved whole follows it
        pairs = zip(one, two, strict=True)
        kept = [(a, b) for a, b in pairs if a == b or not both.renames.relocated(a, b)]
        one, two = [a for a, _ in kept], [b for _, b in kept]
    if len(one) != len(two) or any(_bare(a) != _bare(b) for a, b in zip(one, two, strict=True)):
        both.found.say(TEXT, path, "settings that tools read changed", Place(path, 1))
        return
    for number, (before, after) in enumerate(zip(one, two, strict=True), 1):
        if before != after and not _follows(both, before, after):
            why = "it leads to something else than before, or to nothing"
            both.found.say(BREAKS, after.strip(), why, Place(path, number))


def _follows(both: Both, before: str, after: str) -> bool:
    """Tell whether each path that a line spells otherwise leads to what the old one led to."""
    ours, theirs = (
        [(match[1], match[2]) for match in _PATH.finditer(line)] for line in (before, after)
    )
    if len(ours) != len(theirs):
        return False
    return all(one == two or _led(both, one, two) for one, two in zip(ours, theirs, strict=True))


def _led(both: Both, one: tuple[str, str], two: tuple[str, str]) -> bool:
    old, new = both.base.named.get(one[0], ()), both.target.named.get(two[0], ())
    if one[1] != two[1]:
        return False
    return any(
        base[0] in old and target[0] in new and one[1] in stored(_node(both, base))
        for base, target in both.pairing.moved()
    )


def _node(both: Both, at: At) -> ast.stmt:
    return both.statement(both.base, at).node


def _bare(line: str) -> str:
    return re.sub(r"[\w.]+(?=\s*[.:]\s*\w+)", "", line)
