"""Files that code reads or runs by their path, and folders that it lists."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch

from verify.kernel.edits.needs import every
from verify.kernel.pairs.both import Both
from verify.kernel.pairs.flow import Flow, Part
from verify.kernel.trees.settings import is_settings
from verify.kernel.trees.source import last
from verify.kernel.trees.words import raw, words
from verify.kernel.verdict import ASSUMED, BREAKS, OPEN, Place

_READING = words(
    """open read_text read_bytes run Popen call check_call check_output system popen run_path
    getline getlines spec_from_file_location SourceFileLoader load_source getsize getmtime stat
    exists isfile is_file copy copy2 copyfile copytree move rename runpytest runpytest_subprocess
    main run_module execv execvp execl spawnv spawnl create_subprocess_exec
    create_subprocess_shell get_data get_source open_text open_binary read_binary"""
)
_LISTING = words("iter_modules walk_packages listdir scandir walk glob iglob rglob iterdir")
_CALLS = (*(f"{word}(".encode() for word in sorted(_LISTING - {"walk"})), b"os.walk", b".walk(")
_RECURSIVE = words("walk_packages walk rglob")
_LOADING = re.compile(
    rb"import_module|__import__|spec_from_file|load_module|find_module|\bexec\b|run_path|import_string"
)
_BY_NAME = (b'"-m"', b"'-m'", b"run_module")
_QUOTED = re.compile(rb"""([\w-]+\.py)["']""")
_SAID = re.compile(r"([\w./-]+\.py)\b")
_STARTED = re.compile(r"\bpython[\d.]*\s(?:-\w+\s+)*-m\s+([\w.]+)")
_RUNS = ("Makefile", "Dockerfile", "Procfile", ".sh", ".bash", ".yml", ".yaml")
LONELY = 3  # parts of a call without arguments
_Wanted = dict[str, list[str]]  # paths by the names of their files
TOP = "the top of the tree"
LISTED = "a folder is listed, and a module came to it or left it"
LOADED = "what a folder holds is loaded and looked through, and code came to it or left it"
_BY_PATH = re.compile(rb"spec_from_file|run_path|SourceFileLoader|load_source|\bexec\(")
_ASKING = re.compile(rb"\bvars\(|\bdir\(|\bgetattr\(|__dict__|getmembers|\.items\(")


def check(both: Both, gone: list[str], come: list[str]) -> None:
    """Report files that are read or run by their path, and folders that are listed."""
    moved = {at[0] for pair in both.pairing.moved() for at in pair if at[0] in both.base.files}
    wanted = {path for path in {*moved, *gone} if path.endswith(".py")}
    read, named = _Read(both, wanted), _by_name(wanted & set(gone))
    listed = _Listed(both, [p for p in (*gone, *come) if p.endswith(".py")])
    loaded = _Listed(both, [p for p in moved if p.endswith(".py")], LOADED)
    for path in sorted(both.base.files.keys() & both.target.files.keys()):
        if path.endswith(".py"):
            read.file(path)
            listed.file(path)
            if _BY_PATH.search(both.base.files[path]) and _ASKING.search(both.base.files[path]):
                loaded.file(path)  # for what it finds there by names that are put together
        elif path.endswith(_RUNS) or is_settings(path):
            _named(both, path, named)


def _by_name(paths: Iterable[str]) -> _Wanted:
    found: _Wanted = defaultdict(list)
    for path in paths:
        found[path.rpartition("/")[2]].append(path)
    return found


def _named(both: Both, path: str, gone: _Wanted) -> None:
    """Look for files that are gone in what tools run."""
    data = both.base.files[path]
    if not gone or not (b".py" in data or b"-m " in data):
        return
    text = both.base.text(path)
    names = {both.base.name(one): one for paths in gone.values() for one in paths}
    follow = _following(both, path)
    for match in _STARTED.finditer(text):
        if match[1] in names:
            number = text.count("\n", 0, match.start()) + 1
            why = f"{names[match[1]]} is gone, and is run by its name"
            if number not in follow:
                both.found.say(BREAKS, match[1], why, Place(path, number))
    for match in _SAID.finditer(text):
        for read in _meant(match[1], gone, path, set()):
            number = text.count("\n", 0, match.start()) + 1
            why = f"{read} is gone, and is named by its path"
            if number not in follow:
                both.found.say(BREAKS, read, why, Place(path, number))


def _following(both: Both, path: str) -> set[int]:
    """Give the lines of a file that name modules which moved whole, and follow them."""
    ours, theirs = both.base.text(path).split("\n"), both.target.text(path).split("\n")
    if ours == theirs or len(ours) != len(theirs):
        return set()
    pairs = enumerate(zip(ours, theirs, strict=True), 1)
    return {at for at, (one, two) in pairs if one != two and both.renames.relocated(one, two)}


def _meant(said: str, wanted: _Wanted, path: str, around: set[str]) -> Iterator[str]:
    """Give the files that a text may mean: from the top, from where it stands, or joined."""
    folder = path.rpartition("/")[0]
    plain = re.sub(r"^(\./|\.\./)+", "", said)
    for read in sorted(wanted.get(plain.rpartition("/")[2], ())):
        if read in (plain, f"{folder}/{plain}"):
            yield read
        elif read.endswith(f"/{plain}"):
            above = read.removesuffix(f"/{plain}").removeprefix(f"{folder}/").split("/")
            if set(above) <= around:
                yield read


class _Read:
    """Looks for calls that read or run a file which is named by a text."""

    def __init__(self, both: Both, wanted: Iterable[str]) -> None:
        self.both = both
        self.wanted = _by_name(wanted)
        self.names = {raw(name) for name in self.wanted}
        self.modules: dict[str, str] = {}  # files by the names that they are run by
        for one in (path for paths in self.wanted.values() for path in paths):
            whole = both.base.name(one)
            self.modules.update({whole: one, whole.removesuffix(".__main__"): one})
        self.full = {raw(name) for name in self.modules}
        self.stems = {raw(name.rpartition(".")[2]) + b".__file__" for name in self.modules}

    def file(self, path: str) -> None:
        """Look at one file."""
        data = self.both.base.files[path]
        quoted = b'.py"' in data or b".py'" in data
        by_path = quoted and not self.names.isdisjoint(_QUOTED.findall(data))
        started = any(word in data for word in _BY_NAME) and any(n in data for n in self.full)
        by_name = started or (b".__file__" in data and any(s in data for s in self.stems))
        flow = _flow(self.both, path) if by_path or by_name else None
        for call, within in flow.calls if flow is not None else ():
            if flow is not None and self._reads(call, path):
                texts = [*flow.texts((call, within))]
                self._by_path(path, texts)
                if by_name:
                    self._by_name(path, call, texts, [*flow.parts((call, within))])

    def _by_path(self, path: str, texts: list[tuple[str, int]]) -> None:
        around = {part for text, _ in texts for part in text.split("/")}
        for text, line in texts:
            if text.endswith(".py"):
                for read in _meant(text, self.wanted, path, around):
                    self._say(read, path, line)

    def _by_name(
        self, path: str, call: ast.Call, texts: list[tuple[str, int]], parts: list[Part]
    ) -> None:
        """Look for a module that is run by its name, or read by its own `__file__`."""
        if last(call.func) == "run_module" or any(text == "-m" for text, _ in texts):
            for text, line in texts:
                if text in self.modules:
                    self._say(self.modules[text], path, line)
        asked = {last(p.value) for p, _ in parts if isinstance(p, ast.Attribute) and _file(p)}
        tree = self.both.base
        for row in every(tree, tree.source(path)) if asked else ():
            name = f"{row.module}.{row.member}" if row.member else row.module
            if row.name in asked or row.module.rpartition(".")[2] in asked:
                for module in (name, row.module):
                    if module in self.modules:
                        self._say(self.modules[module], path, call.lineno)

    def _say(self, read: str, path: str, line: int) -> None:
        why = f"{read} is read or run by its path"
        self.both.found.say(OPEN, read, why, Place(path, line))

    def _reads(self, call: ast.Call, path: str) -> bool:
        """Tell whether a call reads a file, by itself or as a function of the tree."""
        name = last(call.func)
        if name in _READING:
            return not _lists_by_git(call)
        texts = [a for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        if not name or not any(str(text.value).endswith(".py") for text in texts):
            return False
        tree = self.both.base
        for row in every(tree, tree.source(path)):
            if row.name == name or isinstance(call.func, ast.Attribute):
                for where in tree.named.get(row.module, ()):
                    flow = _flow(self.both, where)
                    if flow is not None and _reader(flow, name):
                        return True
        return False


def _lists_by_git(call: ast.Call) -> bool:
    """Tell whether a call asks git for the names of files: it neither reads nor runs them."""
    command = call.args[0] if call.args else None
    words = command.elts[:2] if isinstance(command, (ast.List, ast.Tuple)) else ()
    return [word.value for word in words if isinstance(word, ast.Constant)] == ["git", "ls-files"]


def _file(node: ast.Attribute) -> bool:
    return node.attr == "__file__"


def _reader(flow: Flow, name: str) -> bool:
    """Tell whether a function of a file reads what it is handed."""
    return any(
        within.of is not None and within.of.name == name and isinstance(part, ast.Name)
        for call, where in flow.calls
        if last(call.func) in _READING
        for part, within in flow.parts((call, where))
    )


def _flow(both: Both, path: str) -> Flow | None:
    source = both.base.readable(path)
    return Flow(source) if source else None


class _Listed:
    """Looks for calls that list a folder in which modules come or go."""

    def __init__(self, both: Both, files: Iterable[str], why: str = LISTED) -> None:
        self.both = both
        self._why = why
        self.folders: dict[str, list[str]] = defaultdict(list)
        for path in sorted(files):
            self.folders[path.rpartition("/")[0]].append(path.rpartition("/")[2])
        self.words = {raw(folder.rpartition("/")[2]) for folder in self.folders}

    def file(self, path: str) -> None:
        """Look at one file."""
        data = self.both.base.files[path]
        folder = path.rpartition("/")[0]
        own = any(f == folder or f.startswith(f"{folder}/") or not folder for f in self.folders)
        if not (own or any(word in data for word in self.words)):
            return
        if not any(word in data for word in _CALLS):
            return
        flow = _flow(self.both, path)
        for call, within in flow.calls if flow else ():
            name = last(call.func)
            if name in _LISTING and flow is not None and ast.unparse(call.func) != "ast.walk":
                parts = [*flow.parts((call, within))]
                texts = [p.value for p, _ in parts if isinstance(p, ast.Constant)]
                self._call(path, call, parts, [t for t in texts if isinstance(t, str)])

    def _call(self, path: str, call: ast.Call, parts: list[Part], texts: list[str]) -> None:
        patterns = [t.rpartition("/")[2] for t in texts if "*" in t or "?" in t]
        recursive = last(call.func) in _RECURSIVE or any("**" in text for text in texts)
        said = {part for text in texts for part in re.split(r"[/\\.]", text)} - {""}
        place = Place(path, call.lineno)
        for base, exact in self._bases(path, parts, texts):
            for folder, taken in self.folders.items():
                if patterns and not any(fnmatch(f, p) for f in taken for p in patterns):
                    continue
                inner = _below(folder, base)
                if inner is None:
                    continue
                if set(inner) <= said and (inner or exact):
                    self.both.found.say(OPEN, folder or TOP, self._why, place)
                elif recursive and exact:
                    self._deep(path, folder, place)

    def _deep(self, path: str, folder: str, place: Place) -> None:
        """Judge a call that lists all below some folder: a package's own, or a tool's."""
        own = "/" in path and path.partition("/")[0] == folder.partition("/")[0]
        if own or _LOADING.search(self.both.base.files[path]):
            self.both.found.say(OPEN, folder or TOP, self._why, place)
        else:
            why = "nobody who lists a whole tree minds a module that came or left"
            self.both.found.say(ASSUMED, "lookups", why, place)

    def _bases(self, path: str, parts: list[Part], texts: list[str]) -> Iterator[tuple[str, bool]]:
        """List the folders that a path may start from, and whether it may be that folder itself."""
        ups = sum(last(p) in ("dirname", "parent", "parents") for p, _ in parts)
        ups += sum(text.count("..") for text in texts)
        own = {p.id for p, _ in parts if isinstance(p, ast.Name)}
        if own & {"__file__", "__path__", "__name__", "__package__"}:
            folder, up = path.rpartition("/")[0], 0
            while True:
                yield folder, up < ups + ("__file__" not in own)
                if not folder:
                    break
                folder, up = folder.rpartition("/")[0], up + 1
            return
        modules = {
            last(p.value)
            for p, _ in parts
            if isinstance(p, ast.Attribute) and p.attr in ("__path__", "__file__")
        }
        tree = self.both.base
        for row in every(tree, tree.source(path)) if modules else ():
            if row.name in modules:
                for name in (row.module, f"{row.module}.{row.member}"):
                    for found in tree.named.get(name, ()):
                        yield found.rpartition("/")[0], True
        if not modules:
            for root in sorted({"", *tree.roots}):
                yield root, "." in texts or len(parts) <= LONELY


def _below(folder: str, base: str) -> list[str] | None:
    """Give the parts of a path from one folder to another below it."""
    if folder == base:
        return []
    if base and not folder.startswith(f"{base}/"):
        return None
    return folder[len(base) :].strip("/").split("/")
