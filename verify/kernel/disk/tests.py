"""Tests: which are collected, and what pytest brings to each by its name and place."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property, lru_cache

from verify.kernel.machine.scopes import parameters
from verify.kernel.machine.values import (
    Class,
    Collection,
    Constant,
    Function,
    Key,
    Made,
    Module,
    Product,
    Value,
    key,
    leaves,
)
from verify.kernel.pairs.both import Both
from verify.kernel.running.entries import name_of
from verify.kernel.running.runs import Runs
from verify.kernel.trees.commands import Commands, chosen, deselected
from verify.kernel.trees.nodes import children, walk
from verify.kernel.trees.settings import FILES, Discovery, collection, discovery
from verify.kernel.trees.source import DEFINITIONS, last, stored
from verify.kernel.trees.tree import Tree
from verify.kernel.trees.words import words
from verify.kernel.verdict import BREAKS, OPEN, Place

MOST_BASES = 30  # of one class, one above the other
MOST_SECTION = 2000  # characters of a list of entry points
MOST_FIXTURES = 200  # that one test needs, one through the other
_AROUND = (
    "pytestmark",
    "pytest_generate_tests",
    "load_tests",
    "setup_module",
    "teardown_module",
    "setup_function",
    "teardown_function",
    "setUpModule",
    "tearDownModule",
)


@dataclass(frozen=True, slots=True)
class Fixture:
    """A fixture as it is found: its name, whether it is used by itself, what it does."""

    name: str
    autouse: bool
    made: Hashable
    needs: tuple[str, ...]
    placed: bool = False  # whether it looks where its test lies


@dataclass(frozen=True, slots=True)
class Test:
    """A collected test, and what comes with it."""

    title: str
    place: Place
    around: tuple[Hashable, ...]  # marks, hooks, fixtures that are used by themselves
    fixtures: tuple[tuple[str, Hashable], ...]
    placed: tuple[str, ...] = ()  # hooks and fixtures that look where it lies


def check(both: Both, runs: Runs) -> None:
    """Compare the tests of both sides."""
    _names(both)
    _suites(both)
    _hooked(both)
    one_side, other_side = _Tests(both.base, both, runs), _Tests(both.target, both, runs)
    found = one_side.found(), other_side.found()
    ours, theirs = (_seen(side, runs) for side in found)
    commands = Commands(both.base)
    for made, tests in ours.items():
        now = theirs.get(made, [])
        if len(now) < len(tests):
            why = "pytest no longer collects this test"
            both.found.say(BREAKS, tests[0].title, why, *(test.place for test in tests))
        for one, two in zip(tests, now, strict=False):
            if one.place.path != two.place.path:
                _started(both, commands, one, two)
                for name in two.placed:
                    why = "it looks where a test lies or what is around it, and tests moved"
                    both.found.say(OPEN, name, why, two.place)
            if one.around != two.around:
                why = "other hooks, marks or fixtures are around this test"
                both.found.say(BREAKS, two.title, why, two.place)
            elif one.fixtures != two.fixtures:
                changed = [n for n, _ in {*one.fixtures} ^ {*two.fixtures}]
                why = f"the fixture `{min(changed)}` is another one or is not found"
                both.found.say(BREAKS, two.title, why, two.place)
    _unittest(both, one_side, other_side)
    for made, tests in theirs.items():
        if len(tests) > len(ours.get(made, [])):
            why = "pytest now collects this test here as well"
            for test in _added(ours.get(made, []), tests):
                both.found.say(BREAKS, test.title, why, test.place)


def _seen(found: dict[Made, list[Test]], runs: Runs) -> dict[Made, list[Test]]:
    """Leave out tests of files of which nobody can tell whether they load."""
    return {
        made: [test for test in tests if test.place.path not in runs.blind]
        for made, tests in found.items()
    }


def _added(before: list[Test], now: list[Test]) -> list[Test]:
    """Give the tests that are there once more, under their name and where they were not."""
    known = {(test.title, test.place.path) for test in before}
    had, has = (Counter(test.title for test in tests) for tests in (before, now))
    new = [test for test in now if (test.title, test.place.path) not in known]
    return [test for test in new if has[test.title] > had[test.title]] or now[-1:]


def _started(both: Both, commands: Commands, one: Test, two: Test) -> None:
    """Report a test that a command of the tree ran, or that settings chose, by its file."""
    before, after = one.place.path, two.place.path
    command = commands.lost(before, both.target, after)
    if command is not None:
        why = "what starts tests names others, so this one is no longer run"
        both.found.say(BREAKS, two.title, why, Place(command.path, command.line))
    for name in (n for n in FILES if n in both.target.files):
        text = both.target.text(name)
        word = chosen(text, before.lower(), after.lower()) if "-k" in text else ""
        left = [deselected(text, test.place.path, test.title) for test in (one, two)]
        if word or left[0] != left[1]:
            why = "settings choose tests by their files, and this one moved"
            both.found.say(BREAKS, two.title, why, Place(name, 1))


def _suites(both: Both) -> None:
    """Report who asks unittest by a text for all tests of a module that some have left."""
    left = {
        both.base.name(base[0]): both.place(both.target, target)
        for base, target in both.pairing.moved()
        if isinstance(both.statement(both.base, base).node, ast.ClassDef)
    }
    for path, data in sorted(both.target.files.items()) if left else ():
        if not path.endswith(".py") or b"loadTestsFromName" not in data:
            continue
        source = both.target.readable(path)
        for node in walk(source.tree) if source else ():
            if isinstance(node, ast.Constant) and node.value in left:
                why = "a suite asks for all tests of this module by its name, and some left"
                both.found.say(OPEN, str(node.value), why, Place(path, node.lineno))


def _hooked(both: Both) -> None:
    """Report hooks that make tests of what moved: what pytest collects itself is compared."""
    moved = [
        (base[0], target[0], getattr(node, "name", ""))
        for base, target in both.pairing.moved()
        if isinstance(node := both.statement(both.base, base).node, DEFINITIONS)
    ]
    for path in sorted(p for p in both.target.files if p.rpartition("/")[2] == "conftest.py"):
        source = both.target.readable(path) if moved else None
        folder = path.removesuffix("conftest.py")
        below = [m for m in moved if m[0].startswith(folder) or m[1].startswith(folder)]
        for node in source.tree.body if source and below else ():
            if getattr(node, "name", "") in _MAKING and _makes(node, [name for *_, name in below]):
                why = "it makes tests of what it finds, and what it may find moved"
                both.found.say(OPEN, getattr(node, "name", ""), why, Place(path, node.lineno))


def _makes(hook: ast.stmt, names: list[str]) -> bool:
    """Tell whether a hook may make a test of something that moved, by the texts that it says."""
    if not isinstance(hook, ast.FunctionDef):
        return True
    prose = {node.value for node in hook.body if isinstance(node, ast.Expr)}
    said = [n.value for n in walk(hook) if isinstance(n, ast.Constant) and n not in prose]
    told = {text for text in said if isinstance(text, str)}
    if hook.name == "pytest_pycollect_makeitem":
        words = [text for text in told if text.isidentifier()]
        return not words or any(name.startswith(word) for word in words for name in names)
    return not told or any(text.endswith(("py", "*")) for text in told)


def _unittest(both: Both, one: _Tests, two: _Tests) -> None:
    """Report tests that unittest finds no longer, where something in the tree starts it."""
    found = discovery(both.base)
    if found is None:
        return
    left, kept = one.cases(found), two.cases(found)
    for made, tests in left.items():
        if len(kept.get(made, [])) < len(tests):
            why = "unittest no longer finds this test"
            both.found.say(BREAKS, tests[0].title, why, *(test.place for test in tests))


def _names(both: Both) -> None:
    """Report test files that are new and have the module name of another."""
    settings = collection(both.base)
    if settings.importlib:
        return
    new = [p for p in both.changed - both.base.files.keys() if settings.takes(p)]
    for path in sorted(p for p in new if p in both.target.files):
        name = both.target.name(path)
        twins = [p for p in both.target.named.get(name, ()) if p != path and settings.takes(p)]
        if any(both.target.name(p) == name for p in twins):
            why = "pytest refuses two test files of one module name"
            both.found.say(BREAKS, name, why, Place(path, 1))


class _Tests:
    """The tests of one side, of files that the change can reach."""

    def __init__(self, tree: Tree, both: Both, runs: Runs) -> None:
        self.tree = tree
        self.runs = runs
        self.settings = collection(both.base)
        self.files = [path for path in sorted(tree.files) if self.settings.takes(path)]
        self.changed = both.changed
        self._fixtures: dict[str, dict[str, Fixture]] = {}

    def found(self) -> dict[Made, list[Test]]:
        """List the tests by the definition that makes them."""
        found: dict[Made, list[Test]] = {}
        for path in self.files:
            if not self._near(path) or self._ignored(path):
                continue
            module = self.runs.module(self.tree, path)
            if module is not None:
                for made, test in self._of(path, module):
                    found.setdefault(made, []).append(test)
        return found

    def cases(self, of: Discovery) -> dict[Made, list[Test]]:
        """List the tests that unittest finds."""
        found: dict[Made, list[Test]] = {}
        for path in sorted(self.tree.files):
            if path.endswith(".py") and of.takes(self.tree, path) and self._near(path):
                module = self.runs.module(self.tree, path)
                for made, test in self._of(path, module) if module is not None else ():
                    if "." in test.title:
                        found.setdefault(made, []).append(test)
        return found

    def _near(self, path: str) -> bool:
        """Tell whether the change can reach a test file, or a `conftest.py` above it."""
        return self._plugged or any(one in self.runs.near for one in (path, *self._chain(path)))

    @cached_property
    def _plugged(self) -> bool:
        """Tell whether the change can reach a plugin that the settings name."""
        names = (*self.settings.plugins, *plugins(self.tree))
        return any(p in self.runs.near for name in names for p in self.tree.named.get(name, ()))

    def _ignored(self, path: str) -> bool:
        """Tell whether a `conftest.py` above a file says to leave it out."""
        for above in self._chain(path):
            if above in self.tree.files and b"collect_ignore" in self.tree.files[above]:
                module = self.runs.module(self.tree, above)
                folder = above.rpartition("/")[0]
                inner = path[len(folder) :].strip("/")
                for name in ("collect_ignore", "collect_ignore_glob"):
                    listed = module.names.get(name) if module is not None else None
                    items = listed.items if isinstance(listed, Collection) else ()
                    for item in items:
                        pattern = str(item.value) if isinstance(item, Constant) else ""
                        if fnmatch(inner, pattern) or inner.startswith(f"{pattern.rstrip('/')}/"):
                            return True
        return False

    def _chain(self, path: str) -> list[str]:
        """List the `conftest.py` that a file sees, the nearest first."""
        found = []
        folder = path
        while "/" in folder:
            folder = folder.rpartition("/")[0]
            found.append(f"{folder}/conftest.py")
        return [*found, "conftest.py"]

    def _of(self, path: str, module: Module) -> Iterator[tuple[Made, Test]]:
        if _declines(module.names):
            return
        around = self._around(path, module)
        marked = self._marked(path)
        for name, value in module.names.items():
            for one in leaves(value):
                inner = _unwrapped(one)
                if isinstance(inner, Function) and self.settings.takes_name(name, of_class=False):
                    yield inner.name, self._test(path, inner, around, name, marked)
                elif isinstance(inner, Class) and self._collected(inner, name):
                    yield from self._methods(path, inner, around, marked)

    def _marked(self, path: str) -> tuple[str, ...]:
        """List the fixtures that a module's own marks name."""
        return self.settings.everywhere + tuple(
            name
            for node in self.tree.source(path).tree.body
            if isinstance(node, ast.Assign) and "pytestmark" in stored(node)
            for name in named_fixtures(node)
        )

    def _collected(self, of: Class, name: str) -> bool:
        classes = [*_above(of)]
        if _declines(dict(pair for one in classes[::-1] for pair in one.attributes.items())):
            return False
        if any("TestCase" in repr(key(base)) for one in classes for base in one.bases):
            return True
        made = any({"__init__", "__new__"} & one.attributes.keys() for one in classes)
        return self.settings.takes_name(name, of_class=True) and not made

    def _methods(
        self, path: str, of: Class, around: tuple[Hashable, ...], marked: tuple[str, ...]
    ) -> Iterator[tuple[Made, Test]]:
        found: dict[str, Value] = {}
        for one in reversed([*_above(of)]):
            found.update(one.attributes)
        named = (*marked, *(name for one in _above(of) for name in named_fixtures(one.node)))
        for name, value in found.items():
            inner = _unwrapped(value)
            if isinstance(inner, Function) and self.settings.takes_name(name, of_class=False):
                yield inner.name, self._test(path, inner, around, f"{of.title}.{name}", named)

    def _test(
        self,
        path: str,
        made: Function,
        around: tuple[Hashable, ...],
        title: str,
        named: Iterable[str] = (),
    ) -> Test:
        seen: dict[str, Hashable] = {}
        placed = self._placed(path)
        if "request" in _wanted(made.node) and _looks(made.node):
            placed.append(title)
        asked = self._asked_for(path, made.node)
        todo = [name for name in (*_wanted(made.node), *named, *asked) if name != "self"]
        while todo and len(seen) < MOST_FIXTURES:
            name = todo.pop()
            if name in seen:
                continue
            fixture = self._fixture(path, name)
            seen[name] = fixture.made if fixture else None
            placed += [name] if fixture and fixture.placed else []
            todo += fixture.needs if fixture else ()
        place = Place(path, self._line(path, made, title), self.tree.side)
        found = tuple(sorted(seen.items(), key=repr))
        return Test(title, place, around, found, tuple(sorted({*placed})))

    def _asked_for(self, path: str, node: ast.AST) -> list[str]:
        """List the fixtures that a test may ask for by a name that is no plain text there.

        They are those that it says in some text, or a part of their names; else all of its file.
        """
        if not _asks_for_fixtures(node):
            return []
        own = self._fixtures_of(path).keys()
        known = own | {n for source in self._chain(path) for n in self._fixtures_of(source)}
        texts = {t.value for t in walk(node) if isinstance(t, ast.Constant)} - {""}
        said = [text for text in texts if isinstance(text, str) and text.isidentifier()]
        parts = [text for text in said if text.startswith("_") or text.endswith("_")]
        named = known.intersection(said)
        named |= {n for n in known for part in parts if n.startswith(part) or n.endswith(part)}
        return sorted(named or own)

    def _line(self, path: str, made: Function, title: str) -> int:
        """Say where a test stands in the file that it is collected in.

        One that a class inherits, or that is imported, stands where the file has that.
        """
        if made.scope.module.path == path:
            return made.node.lineno
        first = title.partition(".")[0]
        for node in walk(self.tree.source(path).tree):
            if isinstance(node, ast.ImportFrom) and first in [alias.name for alias in node.names]:
                return node.lineno
            if isinstance(node, ast.ClassDef) and node.name == first:
                return node.lineno
        return 1

    def _placed(self, path: str) -> list[str]:
        """List the hooks and fixtures around all tests of a file that look where they lie."""
        found = []
        for source in (path, *self._chain(path)):
            found += [f.name for f in self._fixtures_of(source).values() if f.autouse and f.placed]
            if source != path and source in self.tree.files:
                for node in self.tree.source(source).tree.body:
                    if isinstance(node, ast.FunctionDef) and node.name.startswith("pytest_"):
                        given = node.name in _OF_FILES
                        found += [node.name] if given or _looks(node) else []
                found += self._computed(source)
        return found

    def _computed(self, path: str) -> list[str]:
        """List the names of a `conftest.py` that leave out files by what nobody can tell here."""
        if b"collect_ignore" not in self.tree.files[path]:
            return []
        module = self.runs.module(self.tree, path)
        found = []
        for name in ("collect_ignore", "collect_ignore_glob"):
            listed = module.names.get(name) if module is not None else None
            plain = isinstance(listed, Collection) and all(
                isinstance(item, Constant) for item in listed.items
            )
            found += [name] if listed is not None and not plain else []
        return found

    def _fixture(self, path: str, name: str) -> Fixture | None:
        for source in (path, *self._chain(path)):
            found = self._fixtures_of(source).get(name)
            if found is not None:
                return found
        return self._everywhere.get(name)

    @cached_property
    def _everywhere(self) -> dict[str, Fixture]:
        """Give the fixtures of plugins that the settings name."""
        found: dict[str, Fixture] = {}
        for name in (*self.settings.plugins, *plugins(self.tree)):
            for module in self._named(name):
                found.update(_fixtures(module))
        return found

    def _fixtures_of(self, path: str) -> dict[str, Fixture]:
        if path not in self._fixtures:
            found: dict[str, Fixture] = {}
            module = self.runs.module(self.tree, path) if path in self.tree.files else None
            if module is not None:
                for plugin in self._plugins(module):
                    found.update(_fixtures(plugin))
                found.update(_fixtures(module))
            self._fixtures[path] = found
        return self._fixtures[path]

    def _plugins(self, module: Module) -> Iterator[Module]:
        listed = module.names.get("pytest_plugins")
        names = listed.items if isinstance(listed, Collection) else [listed]
        for name in names:
            if isinstance(name, Constant) and isinstance(name.value, str):
                yield from self._named(name.value)

    def _named(self, name: str) -> Iterator[Module]:
        """Give the modules that a plugin's name may mean."""
        for path in self.tree.named.get(name, ()):
            plugin = self.runs.module(self.tree, path)
            if plugin is not None:
                yield plugin

    def _skipping(self, path: str) -> list[Hashable]:
        """List how a file may leave out all its tests by what it calls while it is imported."""
        body = self.tree.source(path).tree.body
        if not any(isinstance(n, ast.Expr) and isinstance(n.value, ast.Call) for n in body):
            return []
        run = self.runs.start(self.tree, path, name_of(self.tree, path), script=False)
        found = [event.what[:3] for event in run.trace if _may_skip(event.what)]
        self.runs.end(run)
        return list(found)

    def _around(self, path: str, module: Module) -> tuple[Hashable, ...]:
        found: list[Hashable] = [
            (name, key(module.names[name])) for name in _AROUND if name in module.names
        ]
        found += sorted(_skips(self.tree.source(path).tree))
        found += self._skipping(path)
        for source in (path, *self._chain(path)):
            fixtures = self._fixtures_of(source).values()
            found += sorted((f.made for f in fixtures if f.autouse), key=repr)
            above = self.runs.module(self.tree, source) if source in self.tree.files else None
            if above is not None and source != path:
                hooks = [n for n in above.names if n.startswith("pytest_")]
                found += [(n, key(above.names[n])) for n in sorted(hooks)]
        return tuple(found)


def _declines(names: Mapping[str, Value]) -> bool:
    """Tell whether a module or a class says that it is no test."""
    said = names.get("__test__")
    return isinstance(said, Constant) and not said.value


def _may_skip(what: tuple[Hashable, ...]) -> bool:
    return what[0] == "call" and str(what[1]) in (
        "pytest.skip",
        "pytest.importorskip",
        "pytest.exit",
    )


def _skips(tree: ast.Module) -> Iterator[str]:
    """List what may leave out all tests of a file while it is imported, by its text."""
    todo: list[ast.AST] = [*tree.body]
    while todo:
        node = todo.pop()
        if isinstance(node, (*DEFINITIONS, ast.Lambda)):
            continue
        if isinstance(node, ast.Call) and last(node.func) in ("importorskip", "skip", "exit"):
            mark = isinstance(node.func, ast.Attribute) and last(node.func.value) == "mark"
            if not mark:
                yield ast.unparse(node)
        elif isinstance(node, ast.Raise) and node.exc is not None and "Skip" in ast.dump(node.exc):
            yield ast.unparse(node)
        todo += children(node)


def _fixtures(module: Module) -> dict[str, Fixture]:
    found = {}
    for name, value in module.names.items():
        for one in leaves(value):
            if isinstance(one, Product) and one.maker == "pytest.fixture" and one.wraps:
                words = dict(_words(one.arguments))
                inner = _unwrapped(one.wraps)
                needs = tuple(_wanted(inner.node)) if isinstance(inner, Function) else ()
                given = words.get("name")
                title = str(given[1]).strip("'\"") if isinstance(given, tuple) else name
                autouse = words.get("autouse") == ("bool", "True")
                placed = isinstance(inner, Function) and _looks(inner.node)
                found[title] = Fixture(title, autouse, key(one.wraps), needs, placed)
    return found


# Hooks that are given files, whatever they look at.
_OF_FILES = words(
    """pytest_ignore_collect pytest_collect_file pytest_collect_directory pytest_collectstart
    pytest_pycollect_makemodule pytest_make_collect_report"""
)
# Of these, and of hooks that are given what a file has, those that may make tests of it.
_MAKING = words(
    """pytest_collect_file pytest_pycollect_makemodule pytest_pycollect_makeitem
    pytest_collect_directory"""
)
# What tells hooks and fixtures where a test lies, or gives them its module.
_PLACES = words("fspath path nodeid location module parent listchain reportinfo")


@lru_cache(maxsize=1 << 12)
def _looks(node: ast.AST) -> bool:
    """Tell whether a hook or fixture looks where a test lies."""
    return any(
        isinstance(inner, ast.Attribute)
        and inner.attr in _PLACES
        and not (isinstance(inner.value, ast.Name) and inner.value.id in ("os", "sys", "config"))
        for inner in walk(node)
    )


def _words(arguments: Key) -> Iterator[tuple[str, Key]]:
    """Give the keyword arguments that a fixture was made with."""
    first = arguments[0] if isinstance(arguments, tuple) and arguments else ()
    if isinstance(first, tuple) and len(first) == 2 and isinstance(first[1], tuple):
        for word in first[1]:
            if isinstance(word, tuple) and len(word) == 2 and isinstance(word[0], str):
                yield word[0], word[1]


def _above(of: Class, depth: int = 0) -> Iterator[Class]:
    """List a class and the classes of the tree above it."""
    yield of
    for base in of.bases if depth < MOST_BASES else ():
        if isinstance(base, Class):
            yield from _above(base, depth + 1)


def plugins(tree: Tree) -> list[str]:
    """List the modules that are pytest's plugins by the tree's own entry points."""
    found: list[str] = []
    for path in ("pyproject.toml", "setup.cfg", "setup.py"):
        text = tree.text(path) if path in tree.files else ""
        section = text.partition("pytest11")[2][:MOST_SECTION].split("\n[")[0]
        found += re.findall(r"=\s*['\"]?([A-Za-z_][\w.]*)", section)
    return found


def _unwrapped(value: Value) -> Value:
    while isinstance(value, Product) and value.wraps is not None:
        value = value.wraps
    return value


def _wanted(node: ast.AST) -> list[str]:
    """List the fixtures that a test or fixture asks for by its parameters."""
    spec = getattr(node, "args", None)
    optional = len(spec.defaults) if isinstance(spec, ast.arguments) else 0
    every = [arg.arg for arg in parameters(node)]
    return [*(every[: len(every) - optional] if optional else every), *named_fixtures(node)]


@lru_cache(maxsize=1 << 14)
def _asks_for_fixtures(node: ast.AST) -> bool:
    """Tell whether a test asks for a fixture by a name that is no plain text there."""
    return any(
        isinstance(inner, ast.Call)
        and getattr(inner.func, "attr", "") == "getfixturevalue"
        and any(not isinstance(given, ast.Constant) for given in inner.args)
        for inner in walk(node)
    )


@lru_cache(maxsize=1 << 14)
def named_fixtures(node: ast.AST) -> tuple[str, ...]:
    """List the fixtures that a definition names in texts, be it in a mark or in its body."""
    return tuple(
        given.value
        for inner in walk(node)
        if isinstance(inner, ast.Call)
        and getattr(inner.func, "attr", "") in ("usefixtures", "getfixturevalue", "lazy_fixture")
        for given in inner.args
        if isinstance(given, ast.Constant) and isinstance(given.value, str)
    )
