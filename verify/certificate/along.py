"""What goes along with a module that moved whole, and what meets it at its new place.

Files that are no Python go along with their package, fixtures are seen from where tests stand, and
a package on the way to the new place runs when the module is imported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from posixpath import basename, dirname

from verify.certificate.judge import Judge
from verify.certificate.names import last_name, words
from verify.certificate.order import Order
from verify.certificate.resolve import Side
from verify.certificate.source import Module, imports_of, is_python, only_imports
from verify.kernel.trees.nodes import walk

Files = Mapping[str, tuple[bytes, int]]
TESTS = re.compile(r"(^|/)(test_[^/]*|[^/]*_test|conftest)\.py$")
_NAMED = {"__main__.py", "conftest.py"}
_PLACED = {"setup.py", "noxfile.py", "sitecustomize.py", "usercustomize.py"}
_EXAMPLE = re.compile(r"\s*(?:>>>|\.\.\. )")
_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)+")
_MOST_LOADED = 2_000  # modules that a package may load before nobody looks any further


class Along:
    """Looks at the surroundings of what moved. `base` and `target` are the files that differ."""

    def __init__(self, judge: Judge, order: Order, base: Files, target: Files) -> None:
        self.judge, self.order, self.found = judge, order, judge.found
        self.base, self.target = base, target
        self.gone = {old.stem for old, new in judge.moved.items() if old.stem != new.stem}

    def run(self, rest: Iterable[str]) -> None:
        """Report what did not go along. `rest` are the files that both trees have."""
        self._data(set(rest))
        if self.gone:
            self._doctests()
        for old, new in self.judge.moved.items():
            if old.stem != new.stem:
                self._packages(old, new)
                self._names(old, new)
                self._beside(old, new)
                self._fixtures(old, new)

    # --- files that are no Python ---

    def _data(self, rest: set[str]) -> None:
        packages = {
            dirname(old.path): dirname(new.path)
            for old, new in self.judge.moved.items()
            if old.package and new.package and old.path not in self.target
        }
        packages.update({old: new for new, old in self.judge.whole.folders.items()})
        outer = {old for old in packages if not any(p in packages for p in _above(old))}
        for path in sorted({*self.base, *rest} if packages else ()):
            old = next((folder for folder in _above(path) if folder in outer), None)
            if old is None or path.endswith(".py"):
                continue
            new = packages[old] + path[len(old) :]
            if path in rest or path in self.target:
                why = f"its package moved to {packages[old]}, and this file stayed"
                self.found.residual("base", path, 1, "data", why)
            elif not is_python(path, self.base[path][0]):
                self._went(path, new)
        for old_module, new_module in self.judge.moved.items():
            stub, goal = f"{old_module.path}i", f"{new_module.path}i"
            if stub in self.base and stub not in self.target and goal in self.target:
                self._went(stub, goal)

    def _went(self, path: str, new: str) -> None:
        """Compare a file with the one at its new place."""
        if new not in self.target:
            self.found.residual("base", path, 1, "data", "its package moved without it")
            return
        ours, theirs = (files[p][0] for files, p in ((self.base, path), (self.target, new)))
        texts = [data.decode("utf-8", "replace") for data in (ours, theirs)]
        plain = self._stub(*texts) if path.endswith(".pyi") else self._same(*texts)
        if ours != theirs and not plain:
            why = f"it is not what {path} was"
            self.found.residual("target", new, 1, "data", why)
        else:
            self.found.goes(path, new)

    def _same(self, old: str, new: str) -> bool:
        return self.judge.whole.same(old, new, prose=True)

    def _stub(self, old: str, new: str) -> bool:
        """Tell whether two stubs say the same, wherever their imports are from."""
        ours, theirs = _declared(old), _declared(new)
        if ours is None or theirs is None or len(ours) != len(theirs):
            return False
        return all(map(self._same, ours, theirs))

    # --- files that tools find by name ---

    def _names(self, old: Module, new: Module) -> None:
        """Report a file that a tool finds by its name, and no longer does, or does now."""
        ours, theirs = basename(old.path), basename(new.path)
        if (ours != theirs and {ours, theirs} & _NAMED) or ours in _PLACED:
            why = f"what looks for {old.path} by its name does not find this"
            self.judge.residual("target", new.source, 1, "reach", why)
        if TESTS.search(new.path) and not TESTS.search(old.path):
            for name in sorted(n for n in new.names if n.lower().startswith("test")):
                why = f"pytest finds {name} here now"
                self.judge.residual("target", new.source, new.names[name][0].line, "reach", why)

    def _beside(self, old: Module, new: Module) -> None:
        """Report a script that no longer lies beside what it imports.

        Where somebody imports it, its folder is one that imports start from, wherever it lies.
        """
        base, target = self.judge.base, self.judge.target
        folder, goal = dirname(old.path), dirname(new.path)
        if not folder or folder == goal or old.package or folder in base.files:
            return
        for other in self.judge.old.values():
            for _, item in other.imports():
                if old.stem in base.find(other.path, item.level, item.module):
                    return
        for _, item in new.imports():
            top = item.module.partition(".")[0]
            near = f"{goal}/{top}".lstrip("/")
            if not item.level and base.exists(f"{folder}/{top}"):
                if not target.exists(near) or target.called(near) != f"{folder}/{top}":
                    why = f"{top} lay beside this, where a script finds it"
                    self.judge.residual("target", new.source, item.line, "import", why)

    def _doctests(self) -> None:
        """Report the examples in docstrings that name a module which is gone."""
        base, target = self.judge.base, self.judge.target
        for module in self.judge.new.values():
            for number, line in enumerate(module.source.text.split("\n"), 1):
                for dotted in _DOTTED.findall(line) if _EXAMPLE.match(line) else ():
                    gone = [s for s in base.find("", 0, dotted) if s in self.gone]
                    if gone and not target.find("", 0, dotted):
                        why = f"this example names {dotted}, which is no longer there"
                        self.judge.residual("target", module.source, number, "reach", why)

    # --- packages on the way ---

    def _packages(self, old: Module, new: Module) -> None:
        """Report a package that loading a module runs at its new place, and did not before."""
        target = self.judge.target
        fresh = [stem for stem in _above(new.stem) if stem in target.files]
        fresh = [stem for stem in fresh if self.judge.base.exists(target.called(stem))]
        known = self._loaded(self.judge.base, [old.stem]) if fresh else set()
        fresh = [stem for stem in fresh if target.called(stem) not in known]
        ran = self._loaded(target, fresh) if fresh else set()
        for stem in sorted(ran):
            module = target.module(stem)
            if module is not None and target.called(stem) not in known and stem != new.stem:
                for unit in module.source.units:
                    if self.order.acts(target, module, unit):
                        why = f"loading this runs {module.path}:{unit.first} as well now"
                        self.judge.residual("target", new.source, 1, "order", why)
                        break

    @staticmethod
    def _loaded(side: Side, stems: Iterable[str]) -> set[str]:
        """List the modules that loading some of them loads: packages first, then what they name."""
        found, todo = set[str](), [*stems]
        while todo and len(found) < _MOST_LOADED:
            stem = todo.pop()
            if stem in found:
                continue
            found.add(stem)
            module = side.module(stem)
            todo.extend(above for above in _above(stem) if above in side.files)
            for site, item in module.imports() if module else ():
                if module and side.guards(module, site.unit, site.guards, hint=False) is not None:
                    for below in side.find(module.path, item.level, item.module):
                        todo.extend(s for s in (below, f"{below}/{item.member}") if side.exists(s))
        return found

    # --- fixtures ---

    def _fixtures(self, old: Module, new: Module) -> None:
        """Report fixtures that tests no longer get, or get unasked, at their new place."""
        if not TESTS.search(new.path):
            return
        folders = self.judge.whole.folders
        had = {f"{stem}/conftest".lstrip("/") for stem in (*_above(old.stem), "")}
        has = {f"{stem}/conftest".lstrip("/"): stem for stem in (*_above(new.stem), "")}
        kept = {self.judge.target.called(stem) for stem in has}
        for stem in sorted(had - kept):
            module = self.judge.base.module(stem)
            for name, always in _given(module) if module else ():
                if always or name in words(new.source.text):
                    why = f"pytest gives no {name} of {module.path} here" if module else ""
                    self.judge.residual("target", new.source, 1, "reach", why)
        for stem, folder in sorted(has.items()):
            module = self.judge.target.module(stem)
            known = self.judge.target.called(stem) in had or folder in folders
            for name, always in _given(module) if module and not known else ():
                if always or name in words(new.source.text):
                    why = f"pytest gives {name} of {module.path} here now" if module else ""
                    self.judge.residual("target", new.source, 1, "reach", why)


def _above(path: str) -> Iterator[str]:
    """List the folders that a file or a module lies in, but for the topmost."""
    path = dirname(path)
    while path:
        yield path
        path = dirname(path)


def _declared(text: str) -> list[str] | None:
    """Give the statements of a stub, and the names that it imports; None if it does not parse."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    names = {item.name for node in body for part in walk(node) for item in imports_of(part)}
    return [*sorted(names), *(ast.unparse(node) for node in body if not only_imports(node))]


def _given(module: Module) -> Iterator[tuple[str, bool]]:
    """List the fixtures and hooks of a `conftest.py`, and whether a test gets them unasked."""
    for unit in module.source.units:
        name = getattr(unit.node, "name", "")
        marks = [d for d in getattr(unit.node, "decorator_list", ()) if last_name(d) == "fixture"]
        asked = [k.arg for d in marks for k in getattr(d, "keywords", ())]
        if marks or name.startswith("pytest_"):
            yield name, "autouse" in asked or not marks
