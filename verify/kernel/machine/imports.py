"""How modules come in: parents first, each once, names from submodules, stars where they stand."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from functools import partial

from verify.kernel.machine.loads import Loads
from verify.kernel.machine.state import Raised, TooMuchError
from verify.kernel.machine.units import BLANKED
from verify.kernel.machine.values import (
    UNBOUND,
    Choice,
    Collection,
    Constant,
    Function,
    Key,
    Module,
    ModuleValue,
    Outside,
    Scope,
    Unknown,
    Value,
    key,
    leaves,
)
from verify.kernel.trees.effects import AT_HAND, BLANK, NAMES_OF_BUILTINS, STANDARD
from verify.kernel.trees.nodes import walk
from verify.kernel.trees.source import OpaqueError, is_main_guard
from verify.kernel.trees.tree import Found, Tree

Sites = Callable[[str, int], Hashable]
ANNOTATIONS = "reads the annotations of a module"
OWN = ("__spec__", "__loader__", "__cached__")  # each tells the name of its module


class Opening(tuple[str, str, str, int]):
    """A lookup that is decided at run time: what it does, whose names it reads, and where."""

    __slots__ = ()


class Imports(Loads):
    """The part of the machine that knows modules and names."""

    def __init__(self, tree: Tree, sites: Sites, folders: Sequence[str]) -> None:
        super().__init__(tree, folders)
        self.sites = sites
        self.every: set[str] = set()  # statements that were run, for whatever entry
        self.imported = 0  # how often something was imported
        self.tops: dict[Hashable, int] = {}  # the same, as each statement of what is loading began
        self.acted: dict[str, bool] = {}  # statements that did more than bind names
        self.last = ("", 0)  # where an exception left a module
        self.openings: dict[Opening, None] = {}
        self.stack: list[Function] = []  # the functions of the tree that are running
        # who writes which module's name from outside of its top level, and where
        self.written: dict[tuple[Hashable, str, str], tuple[str, int]] = {}

    # --- what the language above does ---

    def run(self, node: ast.stmt, scope: Scope) -> None:
        """Run one statement."""
        raise NotImplementedError

    def read_main(self, node: ast.stmt, scope: Scope) -> None:
        """Run what a script does when it is what starts, as a body is run."""
        raise NotImplementedError

    def call(self, function: Value, given: list[Value], named: dict[str, Value]) -> Value:
        """Call something."""
        raise NotImplementedError

    def open(self, what: str, whose: str) -> None:
        """Note a lookup that is decided at run time."""
        self.openings[Opening((what, whose, *self.at[-1]))] = None

    # --- modules ---

    def load(self, name: str) -> Value:
        """Import a module by its full name, its parents first."""
        self.imported += 1
        known = self.modules.get(name)
        if known is not None:
            self.met(name)
            return self.as_value(known)
        head, _, last = name.rpartition(".")
        folders: Sequence[str] = self.folders
        parent: Value | None = None
        if head:
            parent = self.load(head)
            if not isinstance(parent, ModuleValue):
                return self.load_outside(name)
            if name in self.modules:
                self.met(name)
                return self.as_value(self.modules[name])
            folders = parent.module.folders
        found = self.tree.find(last, folders) if head else self.top(last)
        if not head:
            self.frame.tops[last] = found
        if found is None:
            if isinstance(parent, ModuleValue):
                return self._made(name, parent.module)
            return self.load_outside(name)
        unit = self.fitting(name)
        if unit is not None:
            self.take(unit)
        else:
            self._load(name, found, head)
        now = self.modules.get(name)
        if unit is None and isinstance(parent, ModuleValue) and now is not None:
            self.bind_submodule(parent.module, last, now)
        return self.as_value(now) if now is not None else UNBOUND

    def _made(self, name: str, package: Module) -> Value:
        """Import a module that is there once the project is built, or another has made it."""
        last = name.rpartition(".")[2]
        makes = not package.folders and bool(package.path) and self.tree.makes(package.path)
        if not makes and not self.tree.made(last, package.folders):
            raise Raised("ModuleNotFoundError", name)
        if not self.ask(("has", name)):
            raise Raised("ModuleNotFoundError", "", outside=name)
        return Outside(name)

    def _load(self, name: str, found: Found, head: str) -> None:
        """Run a module for the first time in the state that it is loaded in."""
        module = Module(name, found.path, found.kind, found.folders)
        module.same = self.tree.called.get(found.path, "")

        def action() -> None:
            self.space(module.names)
            if head:
                self.met(head)
            else:
                self.frame.tops[name] = found  # another file may have this name, for others
            if found.path:
                self.run_module(module)

        self.isolated(name, module, action)

    def load_outside(self, name: str) -> Value:
        """Import a module that the tree does not have."""
        if self.pick(self.outside.get(name, UNBOUND)) is not UNBOUND:
            return Outside(name)  # on other paths it may not have come in
        top = name.partition(".")[0]
        if self.probing and self.tries > self.only_imports:
            self.event("may be missing", name)
        if top in STANDARD:
            self.put(self.outside, name, Outside(name))
            return Outside(name)
        if top not in AT_HAND:
            wanted = [top] if not self.tries or top == name else [top, name]
            for part in wanted:
                if not self.ask(("has", part)):
                    raise Raised("ModuleNotFoundError", "", outside=part)
        self.put(self.outside, name, Outside(name))
        if top not in AT_HAND:
            self.event("outside import", name)
        return Outside(name)

    def bring(self, name: str) -> None:
        """Load a module that a body reads, as somebody else will have done before it runs."""
        trace, probing = len(self.trace), self.probing
        self.probing = False
        with suppress(Raised, TooMuchError):
            self.paths(partial(self._bring, name))
        self.probing = probing
        del self.trace[trace:]

    def _bring(self, name: str) -> None:
        self.load(name)

    def run_module(self, module: Module) -> None:
        """Run a module's statements."""
        try:
            source = self.tree.source(module.path)
        except OpaqueError as error:
            raise Raised("SyntaxError", module.path) from error
        module.postponed = source.postponed or self.tree.defers
        scope = module.scope = Scope("module", module.names, None, module)
        self.at.append((module.path, 1))
        outer, self.tops = self.tops, {}
        try:
            for index, statement in enumerate(source.tree.body):
                self.run_top(module, index, statement, scope)
        finally:
            self.last = self.at.pop()
            self.tops = outer

    def run_top(self, module: Module, index: int, node: ast.stmt, scope: Scope) -> None:
        """Run one top-level statement, on every path."""
        before = self.site, self.counts, self.stack
        site = self.sites(module.path, index)

        def once() -> None:
            self.site, self.counts, self.stack = site, defaultdict(int), []
            self.run(node, scope)

        def main() -> None:
            self.site, self.counts, self.stack = site, defaultdict(int), []
            self.read_main(node, scope)

        self.at[-1] = module.path, node.lineno
        said = repr(site)
        self.every.add(said)
        self.tops[site] = self.imported
        self.put(self.ran, said, site)
        events = len(self.trace)
        try:
            if module.kind == "script" and is_main_guard(node):
                main()
            else:
                self.paths(once)
        finally:
            self.site, self.counts, self.stack = before
            if any(event.acts for event in self.trace[events:]):
                self.acted[repr((module.path, index))] = True

    # --- import statements ---

    def import_module(self, node: ast.Import, scope: Scope) -> None:
        """Run `import a.b as c`."""
        for alias in node.names:
            value = self.load(alias.name)
            if alias.asname:
                value = self._by_attributes(alias.name, value)
                self.bind(alias.asname, value, scope, imported=True)
            else:
                top = alias.name.partition(".")[0]
                known = self.modules.get(top)
                value = self.as_value(known) if known is not None else Outside(top)
                self.bind(top, value, scope, imported=True)

    def _by_attributes(self, name: str, value: Value) -> Value:
        """Give what `import a.b as c` binds: the package's attribute, be it the module or not."""
        parts = name.split(".")
        for end in range(1, len(parts)):
            above = self.modules.get(".".join(parts[:end]))
            held = self.named(above, parts[end]) if isinstance(above, Module) else UNBOUND
            if held is not UNBOUND and not isinstance(held, ModuleValue):
                return held
        return value

    def import_from(self, node: ast.ImportFrom, scope: Scope) -> None:
        """Run `from a import b`."""
        if node.module == "__future__" and not node.level:
            self._feature(node, scope)
            return
        if scope.module.path and self.tree.is_blank(scope.module.path):
            source: Value = Outside(str(node.module))
        else:
            source = self.load(self.absolute(node, scope.module))
        for alias in node.names:
            if alias.name == "*":
                self.import_star(source, scope)
            else:
                value = self.taken(source, alias.name)
                self.bind(alias.asname or alias.name, value, scope, imported=True)

    def _feature(self, node: ast.ImportFrom, scope: Scope) -> None:
        """Bind a feature that somebody uses as a value; of most, nobody knows that they are one."""
        source = self.tree.readable(scope.module.path) if scope.module.path else None
        nodes = walk(source.tree) if source is not None else ()
        for alias in node.names:
            name = alias.asname or alias.name
            if name == "annotations":
                continue  # for the compiler alone, in nearly every file
            if any(isinstance(n, ast.Name) and n.id == name for n in nodes):
                self.bind(name, Outside(f"__future__.{alias.name}"), scope, imported=True)

    def absolute(self, node: ast.ImportFrom, module: Module) -> str:
        """Give the full name of the module that a `from` import names."""
        name = node.module or ""
        if not node.level:
            return name
        script = module.kind == "script"  # one in a package is run by `python -m`
        parts = (self.tree.name(module.path) if script else module.name).split(".")
        package = module.path.endswith("__init__.py") or module.kind not in ("module", "script")
        if script and len(parts) == 1 and not package:
            raise Raised("ImportError", "a relative import in a script")
        if not package:
            parts = parts[:-1]
        if len(parts) < node.level:
            raise Raised("ImportError", "a relative import beyond the top")
        parts = parts[: len(parts) - node.level + 1]
        return ".".join([*parts, *([name] if name else [])])

    def taken(self, source: Value, name: str) -> Value:
        """Give what `from source import name` brings."""
        source = self.pick(source)
        if not isinstance(source, ModuleValue):
            if isinstance(source, Outside):
                return self.outside_attribute(source, name)
            return self.attribute(source, name)
        module = source.module
        if self.reads:
            self.reads(module, name)
        value = self.named(module, name)
        full = f"{module.name}.{name}"
        if value is not UNBOUND:
            if module.folders and self._is_submodule(module, name):
                self.met(full)
            return value
        if module.folders and (
            self.tree.find(name, module.folders) or self.tree.made(name, module.folders)
        ):
            return self.load(full)
        if full in self.modules:
            self.stain()
            return self.as_value(self.modules[full])
        return self.missing(module, name, "ImportError")

    def named(self, module: Module, name: str) -> Value:
        """Give what a module has under a name, on this path, or `UNBOUND`."""
        value = module.names.get(name, UNBOUND)
        if isinstance(value, Choice) and any(leaf is UNBOUND for leaf in leaves(value)):
            value = self.pick(value)
        return value

    def _is_submodule(self, module: Module, name: str) -> bool:
        home_of = self.homes.get(home(module, name))
        return home_of is not None and home_of[0] == "submodule"

    def slot(self, module: Module, name: str, value: Value) -> None:
        """Note that a submodule is read off its package: it is there if somebody imported it."""
        if not module.folders:
            return
        full = f"{module.name}.{name}"
        if value is UNBOUND:
            if self.tree.find(name, module.folders) is None:
                return
        elif not self._is_submodule(module, name):
            return
        elif dict.__contains__(self.modules, full):
            self.met(full)
            return
        unit = self.modules.unit(full)
        if unit is None or not self.frame.mask >> unit.place & 1:
            self.slots += 1
            self.stain()

    def missing(self, module: Module, name: str, error: str) -> Value:
        """Ask a module's `__getattr__`, or raise."""
        hook = module.names.get("__getattr__")
        if hook is not None and not name.startswith("__"):
            return self.call(self.pick(hook), [Constant(name)], {})
        if "*" in module.names:
            return self.starred(module, name)
        raise Raised(error, f"{module.name}.{name}")

    def starred(self, module: Module, name: str) -> Value:
        """Give what a module may have under a name by a star import from outside."""
        source = module.names["*"]
        if isinstance(source, Outside) and is_blank(source):
            return self.outside_attribute(source, name)
        return Unknown(("star", key(source), name))

    def import_star(self, source: Value, scope: Scope) -> None:
        """Run `from a import *`."""
        if not isinstance(source, ModuleValue):
            self.put(scope.names, "*", source)
            if is_blank(source):
                self.event(BLANKED, key(source))
            return
        module = source.module
        listed = module.names.get("__all__")
        if isinstance(listed, Collection):
            names = [str(item.value) for item in listed.items if isinstance(item, Constant)]
        else:
            names = [name for name in module.names if not name.startswith("_")]
        for name in names:
            if name == "*":
                self.put(scope.names, "*", module.names["*"])
            else:
                self.bind(name, self.taken(source, name), scope, imported=True)

    # --- names ---

    def bind(self, name: str, value: Value, scope: Scope, *, imported: bool = False) -> None:
        """Bind a name where a scope binds it."""
        while scope.kind == "inner" and scope.above is not None:
            scope = scope.above
        if name in scope.globals:
            self.write(scope.module, name, value)
            return
        if scope.kind == "function" and name not in scope.locals:
            above = scope.above
            while above is not None and above.kind != "module":
                if name in above.names:
                    self.put(above.names, name, value)
                    return
                above = above.above
        self.put(scope.names, name, value)
        if scope.kind == "module":
            module = scope.module
            at = ("import", module.name, name) if imported else (self.site, name)
            self.put(self.homes, home(module, name), at)

    def write(self, module: Module, name: str, value: Value) -> None:
        """Bind a module's name from somewhere else than its own top level."""
        where = self.homes.get(home(module, name), ("written", name))
        self.put(module.names, name, value)
        self.note_write(module, name)
        # Whose binding of that name it is, is compared by who reads it: `Writes`.
        self.event("write", name, key(value))
        self.changes[where].add(self.site)

    def note_write(self, module: Module, name: str) -> None:
        """Note that the present statement or body writes a module's name."""
        self.written.setdefault((self.site, module.name, name), self.at[-1])

    def look_up(self, name: str, scope: Scope) -> Value:
        """Give what a name is bound to, by Python's rules."""
        at: Scope | None = scope
        first = True
        while at is not None:
            if at.kind == "module":
                found = self.module_name(at.module, name)
                if found is not UNBOUND:
                    return found
                break
            if name in at.globals:
                at, first = at.module.scope, False
                continue
            if first or at.kind != "class":
                found = self.local(name, at)
                if found is not UNBOUND:
                    return found
            first = False
            at = at.above
        if "*" in scope.module.names:
            return self.starred(scope.module, name)
        if name in NAMES_OF_BUILTINS:
            return self.builtin(name)
        raise Raised("NameError", name)

    def local(self, name: str, scope: Scope) -> Value:
        """Give what a scope below the module's has under a name."""
        value = scope.names.get(name, UNBOUND)
        if isinstance(value, Choice) and any(leaf is UNBOUND for leaf in leaves(value)):
            value = self.pick(value)
        if value is UNBOUND and scope.kind == "function" and name in scope.locals:
            if self.probing:
                return Unknown(("local", name))
            raise Raised("UnboundLocalError", name)
        return value

    def module_name(self, module: Module, name: str) -> Value:
        """Give what a module has under a name, its own special names included."""
        if self.reads:
            self.reads(module, name)
        value = self.named(module, name)
        self.slot(module, name, value)
        if value is not UNBOUND:
            self.observe(module, name)
            return value
        return self.own_name(module, name)

    def own_name(self, module: Module, name: str) -> Value:
        """Give one of the names that a module has from the start, or `UNBOUND`."""
        if name == "__name__":
            shown = "__main__" if module.kind == "script" else module.name
            return Constant(shown, own=True)
        if name == "__package__":
            package = module.name if module.folders else module.name.rpartition(".")[0]
            return Constant(package)
        told: dict[str, Key] = {
            "__file__": ("__file__", module.path.rpartition("/")[0]),
            "__path__": ("__path__", module.path.rpartition("/")[0]),
            "__builtins__": ("__builtins__",),
            **{own: (own, module.name) for own in OWN},
        }
        if name == "__doc__":
            return Unknown((name, ast.get_docstring(self.tree.source(module.path).tree)))
        return Unknown(told[name]) if name in told else UNBOUND

    def observe(self, module: Module, name: str) -> None:
        """Note that a statement reads a binding of another."""
        where = self.homes.get(home(module, name))
        if where is not None and where[0] != self.site:
            self.sees[where].add(self.site)

    def builtin(self, name: str) -> Value:
        """Give one of Python's own names."""
        if name in ("True", "False", "None"):
            return Constant({"True": True, "False": False, "None": None}[name])
        full = f"builtins.{name}"
        self.frame.attributes.add(full)
        return self.replaced.get(full) or Outside(full)

    # --- attributes of what is outside ---

    def outside_attribute(self, source: Outside, name: str) -> Value:
        """Give an attribute of something outside."""
        full = f"{source.name}.{name}"
        self.frame.attributes.add(full)
        if full in self.replaced:
            return self.replaced[full]
        if full in ("typing.TYPE_CHECKING", "typing_extensions.TYPE_CHECKING"):
            return Constant(False)
        if full in self.modules and source.name == "sys.modules":
            return self.as_value(self.modules[full])
        return Outside(full)

    def attribute(self, owner: Value, name: str, default: Value | None = None) -> Value:
        """Give an attribute of anything."""
        raise NotImplementedError


def is_blank(value: Value) -> bool:
    """Tell whether something comes from a file of which nothing is known."""
    return isinstance(value, Outside) and value.name.partition(".")[0] == BLANK


def home(module: Module, name: str) -> str:
    """Name a module's binding."""
    return f"{module.name}:{name}"
