"""Who hears what moved code says, by the name of its module: loggers and filters of warnings.

A logger that is made of `__name__` has another name where its code has moved, which nobody minds
until somebody configures the one or the other by a text: by its own name, by that of a package
above it, in a table or in a file of settings. A filter of warnings may ask for the module that
warns.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from verify.kernel.edits.conserve import symbol
from verify.kernel.edits.needs import every
from verify.kernel.pairs.both import Both
from verify.kernel.pairs.flow import Flow
from verify.kernel.pairs.pairing import At
from verify.kernel.reach.computed import Pattern
from verify.kernel.reach.lookups import fits
from verify.kernel.running.entries import is_script
from verify.kernel.trees.nodes import children, walk
from verify.kernel.trees.source import DEFINITIONS, Source, last
from verify.kernel.trees.tree import Tree
from verify.kernel.trees.words import raw, words
from verify.kernel.verdict import OPEN, Place

# Calls that are given the name of a logger.
_BY_NAME = words(
    """getLogger get_logger getChild assertLogs assertNoLogs at_level set_level Filter startswith
    get_records removeprefix filter_records"""
)
_FOR_MODULES = words("setattr delattr patch import_module")  # calls that are given a module's name
_OF_LOGGERS = re.compile(
    rb"[lL]ogg|LOGG|caplog|assertLogs|assertNoLogs|record_tuples|dictConfig|\blog\b"
)
# A file of settings that configures loggers says so; one that merely names a `logger` does not.
_SETTINGS = re.compile(rb"\b(?:loggers|qualname|log[-_]disable)\b|\blogg(?:er|ing)[\w.]*\s*[:=\]]")
_PROSE = (".md", ".rst", ".html", ".ipynb", ".pyi", ".py")
_ONCE = words("simplefilter filterwarnings")
_SHOWN_OF_SCRIPTS = words("DeprecationWarning PendingDeprecationWarning")
_FILTERS = words("filterwarnings warn_explicit")
_SPEC = re.compile(rb"\b(?:error|ignore|default|always|all|module|once):[^:\n]*:[^:\n]*:([\w.]+)")
_CONFIGURES = re.compile(rb"\b(?:dictConfig|fileConfig)\s*\(")
_KEEPS = re.compile(rb"disable_existing_loggers[\"']?\s*[:=]\s*(?:False|false|0|no)\b")
_PLAIN = re.compile(r"(?:\w|\\?\.)*")  # of a regular expression, what stands for itself


class Heard:
    """Finds out by which names moved code is heard, and who listens to them."""

    def __init__(self, both: Both) -> None:
        self.both = both
        self._gone: dict[str, str] = {}  # names by which it is no longer heard: who was
        self._new: dict[str, str] = {}
        self._moved: dict[tuple[str, str], str] = {}  # modules that something left for others
        self._loggers_of: dict[str, set[str]] = {}  # names of loggers, by the file they stand in
        self._warning: list[str] = []  # what warns, of what moved
        self._logging: dict[tuple[str, str], str] = {}  # files that what logs left for others
        self._said: dict[tuple[str, str], dict[Place, None]] = {}

    def report(self) -> None:
        """Report whoever listens."""
        for base, target in self.both.pairing.moved():
            self._note(base, target)
        if self._gone or self._new:
            self._loggers()
        if self._logging:
            self._disabled()
        if self._moved:
            self._warnings()
        for (title, why), places in self._said.items():
            self.both.found.say(OPEN, title, why, *places)

    def _note(self, base: At, target: At) -> None:
        """Note what a statement that moved is heard by, on both sides."""
        node = self.both.statement(self.both.base, base).node
        ours, theirs = self.both.base.name(base[0]), self.both.target.name(target[0])
        title = f"{theirs}.{symbol(node)}"
        if isinstance(node, DEFINITIONS):
            self._moved.setdefault((ours, theirs), title)
            self._warns(node, base, target, title)
        source = self.both.base.source(base[0])
        if self._logs(node, source):
            one, two = _above(ours), _above(theirs)
            self._gone.update(dict.fromkeys(one - two, title))
            self._new.update(dict.fromkeys(two - one, title))
            if isinstance(node, DEFINITIONS) and ours != theirs:
                self._logging.setdefault((base[0], target[0]), title)

    def _disabled(self) -> None:
        """Look for who disables the loggers that are there, unless the new one is always there.

        A configuration does, if it does not say otherwise.
        """
        tree = self.both.target
        late = [t for (old, new), t in self._logging.items() if new not in _loads(tree, old)]
        found = [(p, _CONFIGURES.search(tree.files[p])) for p in sorted(tree.files) if late]
        places = [
            Place(path, tree.files[path].count(b"\n", 0, match.start()) + 1)
            for path, match in found
            if match and path.endswith(".py")
        ]
        if places and not any(_KEEPS.search(data) for data in tree.files.values()):
            why = "loggers that are there are disabled here, and its logger comes at another time"
            for title in late:
                self._said.setdefault((title, why), {}).update(dict.fromkeys(places))

    def _warns(self, node: ast.stmt, base: At, target: At, title: str) -> None:
        """Note what warns; Python shows a script's own warnings of what is deprecated."""
        calls = [n for n in walk(node) if isinstance(n, ast.Call) and last(n.func) == "warn"]
        if calls:
            self._warning.append(title)
        said = {last(part) for call in calls for part in walk(call)}
        if said & _SHOWN_OF_SCRIPTS and is_script(self.both.base, base[0]):
            why = "what it warns of was shown, since a script did, and is hidden by default now"
            self._said.setdefault((title, why), {})[self.both.place(self.both.target, target)] = (
                None
            )

    def _logs(self, node: ast.stmt, source: Source) -> bool:
        """Tell whether a statement logs by the name of its module, or uses what does."""
        if any(isinstance(inner, ast.Call) and _own_name(inner) for inner in walk(node)):
            return True
        known = self._loggers_of.get(source.path)
        if known is None:
            known = {name for other in source.statements for name in _logger(other.node)}
            self._loggers_of[source.path] = known
        return any(isinstance(name, ast.Name) and name.id in known for name in walk(node))

    def _loggers(self) -> None:
        for path in sorted(self.both.target.files):
            data = self.both.target.files[path]
            known = dict(self._gone)
            old = self.both.base.files.get(path, b"")
            known |= {name: who for name, who in self._new.items() if raw(name) in old}
            lasts = {raw(name.rpartition(".")[2]) for name in known}
            if path.endswith(".py"):
                if _OF_LOGGERS.search(data) and any(one in data for one in lasts):
                    self._python(path, known)
            elif not path.endswith(_PROSE) and _SETTINGS.search(data):
                self._settings(path, data, known)

    def _python(self, path: str, known: dict[str, str]) -> None:
        for name, line in named(self.both.target, path):
            if name in known:
                self._say(known[name], name, Place(path, line))
            elif "*" in name and name.strip("*."):
                for one, title in known.items():
                    if fits(name, one):
                        self._say(title, one, Place(path, line))

    def _settings(self, path: str, data: bytes, known: dict[str, str]) -> None:
        names = "|".join(sorted(map(re.escape, known), reverse=True))
        key = rf"(?:^|[\s\"'=\[,])({names})(?=[\"']?\s*(?:[:,\]=]|$))"
        for found in re.finditer(raw(key), data, re.M):
            name = found[1].decode("utf-8", "surrogateescape")
            self._say(known[name], name, Place(path, data[: found.start(1)].count(b"\n") + 1))

    def _say(self, title: str, name: str, place: Place) -> None:
        now = "no longer logs by" if name in self._gone else "now logs by"
        why = f"it {now} the logger `{name}`, which is asked for here by its name"
        self._said.setdefault((title, why), {})[place] = None

    def _warnings(self) -> None:
        """Look for filters that ask for the module which warns."""
        for path in sorted(self.both.target.files):
            data = self.both.target.files[path]
            if path.endswith(_PROSE[:-1]):
                continue
            if path.endswith(".py") and any(raw(word) in data for word in _FILTERS):
                for pattern, line in self._filters(path):
                    self._warned(pattern, Place(path, line))
            if path.endswith(".py") and self._warning and b"__warningregistry__" in data:
                line = data.count(b"\n", 0, data.index(b"__warningregistry__")) + 1
                why = "what it has warned of is looked up in its module"
                for title in self._warning:
                    self._said.setdefault((title, why), {})[Place(path, line)] = None
            if path.endswith(".py") and self._warning and raw("filter") in data:
                for line in self._once(path):
                    why = "what it warns of is shown once for each module"
                    for title in self._warning:
                        self._said.setdefault((title, why), {})[Place(path, line)] = None
            for found in _SPEC.finditer(data):
                line = data.count(b"\n", 0, found.start()) + 1
                self._warned(f"{found[1].decode()}$", Place(path, line))

    def _once(self, path: str) -> Iterator[int]:
        """List where a filter shows a warning once for each module."""
        source = self.both.target.readable(path)
        for call in walk(source.tree) if source else ():
            if isinstance(call, ast.Call) and last(call.func) in _ONCE:
                given = [*call.args[:1], *(w.value for w in call.keywords if w.arg == "action")]
                if any(isinstance(node, ast.Constant) and node.value == "module" for node in given):
                    yield call.lineno

    def _filters(self, path: str) -> Iterator[tuple[str, int]]:
        source = self.both.target.readable(path)
        for call in walk(source.tree) if source else ():
            if isinstance(call, ast.Call) and last(call.func) in _FILTERS:
                given = [word.value for word in call.keywords if word.arg == "module"]
                for node in [*given, *call.args[3:4]]:
                    text = node.value if isinstance(node, ast.Constant) else ".*"
                    if isinstance(text, str) and text:
                        yield text, call.lineno

    def _warned(self, pattern: str, place: Place) -> None:
        for (one, two), title in self._moved.items():
            if _matches(pattern, one) != _matches(pattern, two) or not _literal(pattern):
                why = "what it warns of is filtered here by the module that warns"
                self._said.setdefault((title, why), {})[place] = None


def named(tree: Tree, path: str) -> Iterator[tuple[str, int]]:
    """List the texts of a file that may name a logger, `*` for what is put together."""
    source = tree.readable(path)
    if source is None:
        return
    flow, pattern = Flow(source), Pattern(tree, path)
    rows = [*every(tree, source)]
    modules = {row.module.rpartition(".")[2]: row for row in rows if not row.member}
    modules |= {row.name: row for row in rows}
    for call, within in flow.calls:
        if last(call.func) in _BY_NAME:
            for node in (*call.args, *(word.value for word in call.keywords)):
                row = modules.get(last(node.value)) if isinstance(node, ast.Attribute) else None
                if row is not None and last(node) == "__name__":
                    yield f"{row.module}.{row.member}" if row.member else row.module, node.lineno
                if isinstance(node, (ast.JoinedStr, ast.BinOp)):
                    text = pattern.text(node, within)
                    if "*" in text:
                        yield text, node.lineno
    patched = _patched(source.tree)
    for node, above in _texts(source.tree):
        called = last(above.func) if isinstance(above, ast.Call) else ""
        if above in patched:
            continue
        if (not called or called in _BY_NAME) and not isinstance(above, ast.Expr):
            yield str(node.value), node.lineno


def _patched(tree: ast.Module) -> set[ast.AST]:
    """List the lists of texts that name modules for patches and imports, and for nobody else.

    Each is bound once, and all who read it are loops that hand its texts to such a call, first.
    """
    nodes = walk(tree)
    names = [node for node in nodes if isinstance(node, ast.Name)]
    loops = {node.iter: node for node in nodes if isinstance(node, ast.For)}
    calls = [node for node in nodes if isinstance(node, ast.Call) and node.args]
    given = {part for c in calls if last(c.func) in _FOR_MODULES for part in walk(c.args[0])}
    found: set[ast.AST] = set()
    for node in tree.body if loops and given else ():
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(target, ast.Name) and isinstance(node, ast.Assign):
            uses = [name for name in names if name.id == target.id and name is not target]
            if uses and all(use in loops and _hands(loops[use], tree, given) for use in uses):
                found.add(node.value)
    return found


def _hands(loop: ast.For, tree: ast.Module, given: set[ast.AST]) -> bool:
    """Tell whether what a loop takes goes nowhere but there, in the function that it stands in."""
    target = loop.target
    around = [node for node in walk(tree) if isinstance(node, DEFINITIONS) and loop in walk(node)]
    return isinstance(target, ast.Name) and all(
        name in given
        for name in walk(around[-1] if around else tree)
        if isinstance(name, ast.Name) and name.id == target.id and name is not target
    )


def _texts(tree: ast.AST) -> Iterator[tuple[ast.Constant, ast.AST]]:
    """List the texts of a file, each with what it stands in."""
    for above in walk(tree):
        for child in children(above):
            node = child.value if isinstance(child, ast.keyword) else child
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                if not isinstance(above, ast.keyword):
                    yield node, above


def _own_name(call: ast.Call) -> bool:
    """Tell whether a call is handed the name of its module."""
    return any(
        isinstance(inner, ast.Name) and inner.id in ("__name__", "__package__", "__spec__")
        for value in (*call.args, *(word.value for word in call.keywords))
        for inner in walk(value)
    )


def _logger(node: ast.stmt) -> set[str]:
    """Give the names that a statement binds to what is made of its module's name."""
    if isinstance(node, DEFINITIONS):
        return set()
    if any(isinstance(inner, ast.Call) and _own_name(inner) for inner in walk(node)):
        return {
            name.id
            for name in walk(node)
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
        }
    return set()


def _loads(tree: Tree, path: str) -> set[str]:
    """List the files that a module imports as soon as it is loaded, for all that is seen."""
    if path not in tree.files:
        return set()
    return tree.leads(tree.spelled(path).outer, path)


def _above(name: str) -> set[str]:
    """Give a logger's name and those of the loggers above it."""
    parts = name.split(".")
    return {".".join(parts[:end]) for end in range(1, len(parts) + 1)}


def _literal(pattern: str) -> str:
    """Give what a regular expression begins with, as far as it stands for itself."""
    found = _PLAIN.match(pattern.removeprefix("^").removeprefix("(?:"))
    return found[0].replace("\\", "") if found else ""


def _matches(pattern: str, name: str) -> bool:
    """Tell whether a pattern may stand for a name; it is never run, since it may be hostile."""
    start = _literal(pattern)
    whole = pattern.rstrip("$\\Z") == start or pattern.rstrip("$\\Z").replace("\\", "") == start
    if whole and pattern[-1:] in "$Z":
        return name == start
    return name.startswith(start.rstrip("."))
