"""Tests: which are collected, and what pytest brings to each by its name and place."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from verify.kernel.both import Both
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
from verify.kernel.runs import Runs
from verify.kernel.settings import collection
from verify.kernel.tree import Tree
from verify.kernel.verdict import BREAKS, Place

MOST_FIXTURES = 200  # that one test needs, one through the other
_AROUND = (
    "pytestmark",
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


@dataclass(frozen=True, slots=True)
class Test:
    """A collected test, and what comes with it."""

    title: str
    place: Place
    around: tuple[Hashable, ...]  # marks, hooks, fixtures that are used by themselves
    fixtures: tuple[tuple[str, Hashable], ...]


def check(both: Both, runs: Runs) -> None:
    """Compare the tests of both sides."""
    ours, theirs = _Tests(both.base, both, runs).found(), _Tests(both.target, both, runs).found()
    for made, tests in ours.items():
        now = theirs.get(made, [])
        if len(now) < len(tests):
            why = "pytest no longer collects this test"
            both.found.say(BREAKS, tests[0].title, why, *(test.place for test in tests))
        for one, two in zip(tests, now, strict=False):
            if one.around != two.around:
                why = "other hooks, marks or fixtures are around this test"
                both.found.say(BREAKS, two.title, why, two.place)
            elif one.fixtures != two.fixtures:
                changed = [n for n, _ in {*one.fixtures} ^ {*two.fixtures}]
                why = f"the fixture `{min(changed)}` is another one or is not found"
                both.found.say(BREAKS, two.title, why, two.place)
    for made, tests in theirs.items():
        if len(tests) > len(ours.get(made, [])):
            why = "pytest now collects this test here as well"
            both.found.say(BREAKS, tests[-1].title, why, tests[-1].place)


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
            if not self._near(path):
                continue
            module = self.runs.module(self.tree, path)
            if module is not None:
                for made, test in self._of(path, module):
                    found.setdefault(made, []).append(test)
        return found

    def _near(self, path: str) -> bool:
        """Tell whether the change can reach a test file, or a `conftest.py` above it."""
        return any(one in self.runs.near for one in (path, *self._chain(path)))

    def _chain(self, path: str) -> list[str]:
        """List the `conftest.py` that a file sees, the nearest first."""
        found = []
        folder = path
        while "/" in folder:
            folder = folder.rpartition("/")[0]
            found.append(f"{folder}/conftest.py")
        return [*found, "conftest.py"]

    def _of(self, path: str, module: Module) -> Iterator[tuple[Made, Test]]:
        around = self._around(path, module)
        for name, value in module.names.items():
            for one in leaves(value):
                inner = _unwrapped(one)
                if isinstance(inner, Function) and self.settings.takes_name(name, of_class=False):
                    yield inner.name, self._test(path, inner, around, name)
                elif isinstance(inner, Class) and self._collected(inner, name):
                    yield from self._methods(path, inner, around)

    def _collected(self, of: Class, name: str) -> bool:
        outer = [base for base in of.bases if "TestCase" in repr(key(base))]
        return bool(outer) or self.settings.takes_name(name, of_class=True)

    def _methods(
        self, path: str, of: Class, around: tuple[Hashable, ...]
    ) -> Iterator[tuple[Made, Test]]:
        for name, value in of.attributes.items():
            inner = _unwrapped(value)
            if isinstance(inner, Function) and self.settings.takes_name(name, of_class=False):
                yield inner.name, self._test(path, inner, around, f"{of.title}.{name}")

    def _test(self, path: str, made: Function, around: tuple[Hashable, ...], title: str) -> Test:
        seen: dict[str, Hashable] = {}
        todo = [name for name in _wanted(made.node) if name != "self"]
        while todo and len(seen) < MOST_FIXTURES:
            name = todo.pop()
            if name in seen:
                continue
            fixture = self._fixture(path, name)
            seen[name] = fixture.made if fixture else None
            todo += fixture.needs if fixture else ()
        place = Place(path, made.node.lineno, self.tree.side)
        return Test(title, place, around, tuple(sorted(seen.items(), key=repr)))

    def _fixture(self, path: str, name: str) -> Fixture | None:
        for source in (path, *self._chain(path)):
            found = self._fixtures_of(source).get(name)
            if found is not None:
                return found
        return None

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
                path = name.value.replace(".", "/") + ".py"
                plugin = self.runs.module(self.tree, path) if path in self.tree.files else None
                if plugin is not None:
                    yield plugin

    def _around(self, path: str, module: Module) -> tuple[Hashable, ...]:
        found: list[Hashable] = [
            (name, key(module.names[name])) for name in _AROUND if name in module.names
        ]
        for source in (path, *self._chain(path)):
            fixtures = self._fixtures_of(source).values()
            found += sorted((f.made for f in fixtures if f.autouse), key=repr)
            above = self.runs.module(self.tree, source) if source in self.tree.files else None
            if above is not None and source != path:
                hooks = [n for n in above.names if n.startswith("pytest_")]
                found += [(n, key(above.names[n])) for n in sorted(hooks)]
        return tuple(found)


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
                found[title] = Fixture(title, autouse, key(one.wraps), needs)
    return found


def _words(arguments: Key) -> Iterator[tuple[str, Key]]:
    """Give the keyword arguments that a fixture was made with."""
    first = arguments[0] if isinstance(arguments, tuple) and arguments else ()
    if isinstance(first, tuple) and len(first) == 2 and isinstance(first[1], tuple):
        for word in first[1]:
            if isinstance(word, tuple) and len(word) == 2 and isinstance(word[0], str):
                yield word[0], word[1]


def _unwrapped(value: Value) -> Value:
    while isinstance(value, Product) and value.wraps is not None:
        value = value.wraps
    return value


def _wanted(node: ast.AST) -> list[str]:
    """List the fixtures that a test or fixture asks for by its parameters."""
    spec = getattr(node, "args", None)
    optional = len(spec.defaults) if isinstance(spec, ast.arguments) else 0
    every = [arg.arg for arg in parameters(node)]
    return every[: len(every) - optional] if optional else every
