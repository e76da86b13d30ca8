"""How modules come in: parents first, each once, names from submodules, stars where they stand."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from verify.kernel.effects import AT_HAND, NAMES_OF_BUILTINS, STANDARD
from verify.kernel.machine.state import Raised, State
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
from verify.kernel.source import OpaqueError
from verify.kernel.tree import Tree

Sites = Callable[[str, int], Hashable]
OWN = ("__package__", "__doc__", "__spec__", "__builtins__", "__loader__", "__cached__")


class Opening(tuple[str, str, str, int]):
    """A lookup that is decided at run time: what it does, whose names it reads, and where."""

    __slots__ = ()


@dataclass
class Span:
    """When a module was loaded: how many were before, what had acted, what had run."""

    first: int
    acted: int
    ran: int
    fresh: bool = True  # nothing was there that would not be if it were what starts
    last: int | None = None
    acted_last: int | None = None
    ran_last: int = 0

    def close(self, last: int, acted: int, ran: int) -> None:
        """Note that the module is done."""
        self.last, self.acted_last, self.ran_last = last, acted, ran


class Imports(State):
    """The part of the machine that knows modules and names."""

    def __init__(self, tree: Tree, sites: Sites, folders: Sequence[str]) -> None:
        super().__init__()
        self.tree = tree
        self.sites = sites
        self.folders = list(folders)
        self.replaced: dict[str, Value] = {}  # attributes of the outside that were written
        self.outside: dict[str, Value] = {}  # outside modules that were imported
        self.versions: dict[str, Value] = {}  # how often outside state was written
        self.homes: dict[str, tuple[Hashable, ...]] = {}  # which statement binds a module's name
        self.ran: dict[str, Hashable] = {}  # statements that were run
        self.only_imports = 0  # how many of the `try` around what runs hold imports alone
        self.spans: dict[str, Span] = {}  # modules, as they were loaded
        self.loading: list[str] = []
        self.order: list[Hashable] = []  # the statements that were run, of all paths
        self.acted: dict[str, bool] = {}  # statements that did more than bind names
        self.last = ("", 0)  # where an exception left a module
        self.openings: dict[Opening, None] = {}
        self.stack: list[Function] = []  # the functions of the tree that are running
        # who writes which module's name from outside of its top level, and where
        self.written: dict[tuple[Hashable, str, str], tuple[str, int]] = {}
        self.reads: Callable[[Module, str], None] | None = None

    # --- what the language above does ---

    def run(self, node: ast.stmt, scope: Scope) -> None:
        """Run one statement."""
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
        known = self.modules.get(name)
        if known is not None:
            self._met(name)
            return self.as_value(known)
        head, _, last = name.rpartition(".")
        folders: Sequence[str] = self.folders
        parent: Value | None = None
        if head:
            parent = self.load(head)
            if not isinstance(parent, ModuleValue):
                return self.load_outside(name)
            if name in self.modules:
                return self.as_value(self.modules[name])
            folders = parent.module.folders
        found = self.tree.find(last, folders)
        if found is None:
            if head:
                raise Raised("ModuleNotFoundError", name)
            return self.load_outside(name)
        module = Module(name, found.path, found.kind, found.folders, self.space())
        self.put(self.modules, name, module)
        if found.path:
            self.spans[name] = Span(len(self.spans), self.acting, len(self.order))
            self.loading.append(name)
            try:
                self.run_module(module)
            except Raised:
                self.remove(self.modules, name)
                raise
            finally:
                self.loading.pop()
                self.spans[name].close(len(self.spans), self.acting, len(self.order))
        now = self.as_value(self.modules.get(name, module))
        if isinstance(parent, ModuleValue):
            self.put(parent.module.names, last, now)
            self.put(self.homes, home(parent.module, last), ("submodule", name))
        return now

    def _met(self, name: str) -> None:
        """Note that what is loading finds a module that was there before it began."""
        here = self.spans.get(name)
        if here is None:
            return
        for above in reversed(self.loading):
            span = self.spans[above]
            if span.first <= here.first:
                break
            if not self._own(above, name, here):
                span.fresh = False

    def _own(self, above: str, name: str, here: Span) -> bool:
        """Tell whether a module would find another there too if it were what starts."""
        if above.startswith(f"{name}."):
            return True
        top = self.spans.get(above.partition(".")[0])
        if top is None or top is self.spans[above]:
            return False
        return top.first <= here.first and (top.last is None or here.first < top.last)

    def covered(self) -> list[str]:
        """List the modules that this run has loaded as if each were what starts."""
        found = []
        for name, span in self.spans.items():
            top = self.spans.get(name.partition(".")[0], span)
            inside = (top.acted_last or span.acted) - top.acted if top is not span else 0
            quiet = span.acted - min(inside, span.acted) == 0
            if span.fresh and top.fresh and quiet and name in self.modules:
                found.append(name)
        return found

    def as_value(self, known: object) -> Value:
        """Give what stands in `sys.modules` as a value."""
        if isinstance(known, Module):
            return ModuleValue(known)
        return known if isinstance(known, Value) else UNBOUND

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

    def run_module(self, module: Module) -> None:
        """Run a module's statements."""
        try:
            source = self.tree.source(module.path)
        except OpaqueError as error:
            raise Raised("SyntaxError", module.path) from error
        module.postponed = source.postponed
        scope = module.scope = Scope("module", module.names, None, module)
        self.at.append((module.path, 1))
        try:
            for index, statement in enumerate(source.tree.body):
                self.run_top(module, index, statement, scope)
        finally:
            self.last = self.at.pop()

    def run_top(self, module: Module, index: int, node: ast.stmt, scope: Scope) -> None:
        """Run one top-level statement, on every path."""
        before = self.site, self.counts, self.stack
        site = self.sites(module.path, index)

        def once() -> None:
            self.site, self.counts, self.stack = site, defaultdict(int), []
            self.run(node, scope)

        self.at[-1] = module.path, node.lineno
        self.put(self.ran, repr(site), site)
        self.order.append(site)
        events = len(self.trace)
        try:
            self.paths(once)
        finally:
            self.site, self.counts, self.stack = before
            if any(event.what[0] != "outside import" for event in self.trace[events:]):
                self.acted[repr((module.path, index))] = True

    # --- import statements ---

    def import_module(self, node: ast.Import, scope: Scope) -> None:
        """Run `import a.b as c`."""
        for alias in node.names:
            value = self.load(alias.name)
            if alias.asname:
                self.bind(alias.asname, value, scope, imported=True)
            else:
                top = alias.name.partition(".")[0]
                known = self.modules.get(top)
                value = self.as_value(known) if known is not None else Outside(top)
                self.bind(top, value, scope, imported=True)

    def import_from(self, node: ast.ImportFrom, scope: Scope) -> None:
        """Run `from a import b`."""
        if node.module == "__future__" and not node.level:
            return
        source = self.load(self.absolute(node, scope.module))
        for alias in node.names:
            if alias.name == "*":
                self.import_star(source, scope)
            else:
                value = self.taken(source, alias.name)
                self.bind(alias.asname or alias.name, value, scope, imported=True)

    def absolute(self, node: ast.ImportFrom, module: Module) -> str:
        """Give the full name of the module that a `from` import names."""
        name = node.module or ""
        if not node.level:
            return name
        if module.kind == "script":
            raise Raised("ImportError", "a relative import in a script")
        parts = module.name.split(".")
        if module.kind == "module":
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
        if value is not UNBOUND:
            return value
        full = f"{module.name}.{name}"
        if module.folders and self.tree.find(name, module.folders):
            return self.load(full)
        if full in self.modules:
            return self.as_value(self.modules[full])
        return self.missing(module, name, "ImportError")

    def named(self, module: Module, name: str) -> Value:
        """Give what a module has under a name, on this path, or `UNBOUND`."""
        value = module.names.get(name, UNBOUND)
        if isinstance(value, Choice) and any(leaf is UNBOUND for leaf in leaves(value)):
            value = self.pick(value)
        return value

    def missing(self, module: Module, name: str, error: str) -> Value:
        """Ask a module's `__getattr__`, or raise."""
        hook = module.names.get("__getattr__")
        if hook is not None and not name.startswith("__"):
            return self.call(self.pick(hook), [Constant(name)], {})
        if "*" in module.names:
            return Unknown(("star", key(module.names["*"]), name))
        raise Raised(error, f"{module.name}.{name}")

    def import_star(self, source: Value, scope: Scope) -> None:
        """Run `from a import *`."""
        if not isinstance(source, ModuleValue):
            self.put(scope.names, "*", source)
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
            return Unknown(("star", key(scope.module.names["*"]), name))
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
            **{own: (own,) for own in OWN},
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
        return self.replaced.get(full) or Outside(full)

    # --- attributes of what is outside ---

    def outside_attribute(self, source: Outside, name: str) -> Value:
        """Give an attribute of something outside."""
        full = f"{source.name}.{name}"
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


def home(module: Module, name: str) -> str:
    """Name a module's binding."""
    return f"{module.name}:{name}"
