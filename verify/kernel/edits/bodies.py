"""What function bodies refer to, and what they do.

A body is judged twice. Every name and chain of attributes in it is resolved where it stands,
whatever path is taken; and it is run once on unknown arguments, for what it imports, writes and
calls, in that order.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial

from verify.kernel.edits import doctests
from verify.kernel.edits.grasps import Grasps
from verify.kernel.machine import Machine
from verify.kernel.machine.calls import Returned
from verify.kernel.machine.frames import asks
from verify.kernel.machine.objects import logger_name, names_one
from verify.kernel.machine.patches import is_patch_name, stands_for_patch
from verify.kernel.machine.scopes import INNER, binds, own_names, parameters, type_parameters
from verify.kernel.machine.state import MOST_STEPS, Raised, TooMuchError
from verify.kernel.machine.statements import LeftError
from verify.kernel.machine.units import Event
from verify.kernel.machine.values import (
    UNBOUND,
    Class,
    Constant,
    Function,
    Instance,
    Module,
    ModuleValue,
    Outside,
    Product,
    Scope,
    Unknown,
    Value,
    key,
)
from verify.kernel.trees.effects import PATCHING, targeted
from verify.kernel.trees.nodes import by_kind, children, fields, of_kind, walk
from verify.kernel.trees.source import (
    DEFINITIONS,
    IMPORTS,
    TRIES,
    dotted,
    imports_only,
    last,
    stored,
)
from verify.kernel.trees.words import words

MOST_STEPS_OF_BODY = 20_000
MOST_INNER = 50  # functions that one body makes


@dataclass(frozen=True, slots=True)
class Reference:
    """A name, or a chain of attributes that starts with one, as it stands in a body."""

    parts: tuple[str, ...]
    line: int
    note: bool  # in an annotation
    patched_by: tuple[str, ...] = ()  # the call that may replace a name of it; `""` is a local
    example: bool = False  # in one of a docstring, which has the names of the module
    asked: bool = False  # the last part is a text, which `getattr` or `hasattr` is given
    quoted: bool = False  # in an annotation that is a text


@dataclass(slots=True)
class Probe:
    """What a body does when it is run on unknown arguments."""

    events: list[Event] = field(default_factory=list)
    reads: set[tuple[str, str]] = field(default_factory=set)  # modules, and names in them
    limit: bool = False

    @property
    def acts(self) -> list[tuple[Hashable, ...]]:
        """Give what it does, in order; outside imports are looked at where they are needed."""
        return [event.what for event in self.events if event.acts]


@lru_cache(maxsize=1 << 15)
def references(node: ast.AST) -> tuple[Reference, ...]:
    """List the references to names of the module, or beyond, that a function or class makes."""
    found: list[Reference] = []
    _collect(node, frozenset(), found, note=False, top=True)
    tested = doctests.examples(node)
    own = len(found)
    for example in tested.body if tested else ():
        _collect(example, doctests.bound(tested) if tested else frozenset(), found, note=False)
    return (*found[:own], *(replace(reference, example=True) for reference in found[own:]))


def _collect(
    node: ast.AST,
    hidden: frozenset[str],
    found: list[Reference],
    *,
    note: bool,
    top: bool = False,
    of: str = "",
    local: bool = False,
) -> None:
    """Walk a node in the order of its text; `hidden` are names of the scopes in between."""
    node = _as_read(node, note=note, local=local) if note or local else node
    kind = node.__class__
    if kind in _LEAVES and _ends(node, hidden, found, note=note, of=of):
        return
    if kind in _MAY_IMPORT and imports_only(node):  # type: ignore[arg-type]
        return
    if isinstance(node, ast.Call):
        if _names_logger(node):
            _collect(node.func, hidden, found, note=note)
            return
        node = _patching(_asking(node, hidden, found, note=note), hidden, found, note=note)
    inner, defines = hidden, False
    if kind in _HIDING:
        inner, defines = _inside(node, hidden, top=top), kind in DEFINITIONS
        of = node.name if isinstance(node, ast.ClassDef) else of
        local = kind in _FUNCTIONS or (local and kind is not ast.ClassDef)
    for name in fields(node):
        outer = defines and name in _AROUND
        if top and outer:
            continue  # evaluated where the definition stands, when it is made
        outer = outer and (name == "decorator_list" or not type_parameters(node))
        within = note or name in ("annotation", "returns")
        value = getattr(node, name, None)
        for child in value if value.__class__ is list else (value,):
            if isinstance(child, ast.AST) and (within or child.__class__ is not ast.Constant):
                _collect(child, hidden if outer else inner, found, note=within, of=of, local=local)


def _ends(
    node: ast.AST, hidden: frozenset[str], found: list[Reference], *, note: bool, of: str
) -> bool:
    """Collect a chain of names, or a text. Tells whether nothing else is below."""
    if isinstance(node, ast.Constant):
        if note and isinstance(node.value, str):
            _collect_text(node, hidden, found)
        return True
    chain = dotted(node)
    if chain is None:
        return False
    first, parts = chain
    if isinstance(first.ctx, ast.Load) and first.id not in hidden:
        line = node.lineno  # type: ignore[attr-defined]
        found.append(Reference(_mangled(parts, of), line, note))
    return True


def _as_read(node: ast.AST, *, note: bool, local: bool) -> ast.AST:
    """Give what is read of a node: nobody evaluates what a local is annotated with."""
    if note:
        return _without_values(node)
    if not (local and isinstance(node, ast.AnnAssign)):
        return node
    nothing = ast.copy_location(ast.Constant(None), node.annotation)
    bare = ast.AnnAssign(node.target, nothing, node.value, node.simple)
    return ast.copy_location(bare, node)


def _asking(
    node: ast.Call, hidden: frozenset[str], found: list[Reference], *, note: bool
) -> ast.Call:
    """Collect what a call asks something for by a text. Gives what is left of the call."""
    if not (isinstance(node.func, ast.Name) and node.func.id in _BY_TEXT - hidden):
        return node
    if len(node.args) < 2 or not isinstance(node.args[1], ast.Constant):
        return node
    owner, name = dotted(node.args[0]), node.args[1].value
    if owner is None or owner[0].id in hidden or not isinstance(name, str):
        return node
    found.append(Reference((*owner[1], name), node.lineno, note, asked=True))
    return ast.copy_location(ast.Call(node.func, node.args[2:], node.keywords), node)


def _patching(
    node: ast.Call, hidden: frozenset[str], found: list[Reference], *, note: bool
) -> ast.Call:
    """Collect the module whose name a call may replace. Gives what is left of the call."""
    function = dotted(node.func)
    owner = dotted(targeted(node))
    if function is None or owner is None or function[1][-1] not in PATCHING:
        return node
    if owner[0].id in hidden or (len(function[1]) == 1 and function[0].id in hidden):
        return node
    by = ("", *function[1]) if function[0].id in hidden else function[1]
    found.append(Reference(owner[1], node.lineno, note, by))
    more = [word for word in node.keywords if node.args or word.arg != "target"]
    return ast.copy_location(ast.Call(node.func, node.args[1:], more), node)


def _without_values(node: ast.AST) -> ast.AST:
    """Give `Literal` for `Literal["red"]`: its texts are values, not names."""
    if isinstance(node, ast.Subscript):
        return node.value if last(node.value) == "Literal" else node
    return node


def _collect_text(node: ast.Constant, hidden: frozenset[str], found: list[Reference]) -> None:
    """Read an annotation that is a text."""
    try:
        inner = ast.parse(str(node.value), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for part in walk(inner):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            part.value = 0  # the text of a `Literal`, or an annotation within: read no further
    ast.copy_location(inner, node)
    ast.fix_missing_locations(inner)
    own = len(found)
    _collect(inner, hidden, found, note=True)
    found[own:] = [replace(reference, quoted=True) for reference in found[own:]]


def _mangled(parts: tuple[str, ...], of: str) -> tuple[str, ...]:
    """Give a chain as Python reads it in a class: names that begin with `__` are the class's."""
    first = parts[0]
    if of and first.startswith("__") and not first.endswith("__"):
        return f"_{of.lstrip('_')}{first}", *parts[1:]
    return parts


def _names_logger(node: ast.Call) -> bool:
    """Tell whether a call names a logger after its module, as moved code does in its new one."""
    chain = dotted(node.func)
    named = len(node.args) == 1 and not node.keywords and isinstance(node.args[0], ast.Name)
    return (
        chain is not None
        and named
        and getattr(node.args[0], "id", "") == "__name__"
        and "logger" in chain[1][-1].lower()
    )


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_BY_TEXT = frozenset({"getattr", "hasattr"})
_LEAVES = frozenset({ast.Attribute, ast.Name, ast.Constant})
_MAY_IMPORT = frozenset({*IMPORTS, ast.If, *TRIES})
_AROUND = ("decorator_list", "bases", "keywords")
_HIDING = (  # what has names that are seen within it alone
    *DEFINITIONS,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
    getattr(ast, "TypeAlias", ast.Lambda),
)


def _inside(node: ast.AST, hidden: frozenset[str], *, top: bool) -> frozenset[str]:
    """Give the names that are hidden within a node."""
    hidden |= type_parameters(node)
    if isinstance(node, ast.ClassDef):
        return hidden
    if isinstance(node, (*DEFINITIONS, ast.Lambda)):
        bound = binds(node)
        own = bound.locals - (imported(node) if top else frozenset())
        return (hidden | own) - bound.globals
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return hidden | _targets(node)
    return hidden


@lru_cache(maxsize=1 << 15)
def imported(node: ast.AST) -> frozenset[str]:
    """Give the names of a function that nothing but an import in it binds."""
    bound = {name for statement in own_imports(node) for name in stored(statement)}
    if not bound:
        return frozenset()
    other: set[str] = {arg.arg for arg in parameters(node)}
    todo: list[ast.AST] = list(getattr(node, "body", ()))
    while todo:
        at = todo.pop()
        if isinstance(at, ast.stmt) and imports_only(at):
            continue
        other |= own_names(at)
        if not isinstance(at, (*DEFINITIONS, *INNER)):
            todo.extend(children(at))
    return frozenset(bound - other)


@lru_cache(maxsize=1 << 15)
def own_imports(node: ast.AST) -> tuple[ast.stmt, ...]:
    """List the import statements of a function, with the guards that hold nothing else."""
    found: list[ast.stmt] = []
    body = getattr(node, "body", ())
    if by_kind(node).keys().isdisjoint(IMPORTS):
        return ()
    todo: list[ast.AST] = list(reversed(body)) if isinstance(body, list) else []
    while todo:
        at = todo.pop()
        if isinstance(at, ast.stmt) and imports_only(at):
            found.append(at)
        elif not isinstance(at, (*DEFINITIONS, *INNER)):
            todo.extend(reversed([*children(at)]))
    return tuple(found)


def _targets(node: ast.AST) -> frozenset[str]:
    return frozenset(
        name.id
        for part in getattr(node, "generators", ())
        for name in walk(part.target)
        if isinstance(name, ast.Name)
    )


Resolved = list[tuple[Reference, Hashable]]


def _spelled(statement: ast.stmt, scope: Scope) -> None:
    """Bind what an import that fails would bring, by how it is spelled."""
    for node in walk(statement):
        if isinstance(node, IMPORTS):
            source = f"{node.level}{node.module}" if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                scope.names[name] = Unknown(("import", source, alias.name))


# Names by which a body may reach modules that it does not name.
_REACHING = words(
    """patch monkeypatch setattr delattr import_module __import__ globals locals vars exec eval
    reload sys mock getattr hasattr dir __dict__ locate find_spec os"""
)


@lru_cache(maxsize=1 << 15)
def asks_loaded(node: ast.AST) -> frozenset[str]:
    """Give the texts of a body that asks which modules are loaded."""
    named = (part.id for part in of_kind(node, ast.Name))
    if "modules" not in named and all(p.attr != "modules" for p in of_kind(node, ast.Attribute)):
        return frozenset()
    texts = (part.value for part in of_kind(node, ast.Constant))
    return frozenset(text for text in texts if isinstance(text, str))


@lru_cache(maxsize=1 << 15)
def reaches(node: ast.AST) -> bool:
    """Tell whether a body imports, writes to its module, or may reach others by a lookup."""
    if asks(node) or not by_kind(node).keys().isdisjoint((*IMPORTS, ast.Global)):
        return True
    return any(part.id in _REACHING for part in of_kind(node, ast.Name)) or any(
        part.attr in _REACHING for part in of_kind(node, ast.Attribute)
    )


@lru_cache(maxsize=1 << 15)
def global_names(node: ast.AST) -> frozenset[str]:
    """Give the names that a body declares to be its module's, and so may bind."""
    return frozenset(name for part in of_kind(node, ast.Global) for name in part.names)


_SETTING = ("builtins.setattr", "builtins.delattr")


@lru_cache(maxsize=1 << 15)
def sets(node: ast.AST) -> bool:
    """Tell whether a body sets attributes of what is not its own."""
    own = binds(node).locals
    for inner in of_kind(node, ast.Attribute):
        if not isinstance(inner.ctx, ast.Load):
            chain = dotted(inner)
            if chain is None or chain[0].id not in own:
                return True
    return False


class Bodies:
    """Reads the bodies of one side."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._met: list[Value] = []  # what was resolved last leads to
        self.grasps = Grasps(machine, self.met)
        self._later: dict[str, Mapping[str, list[ast.stmt]]] = {}

    def met(self, made: Function | Class) -> list[Value]:
        """List what the references in a body lead to."""
        self.resolve(made, set())
        return self._met

    def resolve(self, made: Function | Class, reads: set[tuple[str, str]]) -> Resolved:
        """Give what each reference in a body leads to, at this moment, and note what it reads."""
        self.machine.reads = lambda module, name: reads.update(_read(module, name))
        known: dict[tuple[tuple[str, ...], bool], Hashable] = {}
        found = []
        self._met = []
        with self._quietly():
            scope = self._with_imports(made)
            top = made.scope
            while top.above is not None:
                top = top.above
            for reference in references(made.node):
                where = reference.parts, reference.example
                if where not in known:
                    known[where] = self._meaning(reference.parts, top if where[1] else scope)
                found.append((reference, known[where]))
                if reference.patched_by and self._replaces(reference, scope):
                    found[-1] = reference, ("module whose names are replaced",)
        self.machine.reads = None
        return found

    def reaching(self) -> bool:
        """Tell whether what was resolved last leads to what may reach modules by a lookup."""
        names = (value.name for value in self._met if isinstance(value, Outside))
        return any(not _REACHING.isdisjoint(name.split(".")[1:]) for name in names)

    def _replaces(self, reference: Reference, scope: Scope) -> bool:
        """Tell whether a call replaces a name of a module: who reads that is judged elsewhere."""
        machine, by = self.machine, reference.patched_by
        try:
            for parts in (reference.parts, by):
                if not parts[0]:
                    return is_patch_name(".".join(parts)) or parts[1] in ("m", "mp")
                value = machine.look_up(parts[0], scope)
                for part in parts[1:]:
                    value = machine.attribute(value, part)
                if parts is reference.parts and not isinstance(value, ModuleValue):
                    return False
        except Raised:
            return False
        plain = isinstance(value, Outside) and value.name in _SETTING
        return plain or stands_for_patch(machine.pick(value))

    def _with_imports(self, made: Function | Class) -> Scope:
        """Give the scope of a body in which its own imports were done."""
        names = imported(made.node)
        if not names:
            return made.scope
        machine, trace = self.machine, len(self.machine.trace)
        scope = Scope("function", {}, made.scope, made.scope.module, (), names)
        machine.probing = False
        machine.at.append((made.scope.module.path, made.node.lineno))
        for statement in own_imports(made.node):
            with suppress(Raised, TooMuchError):
                machine.paths(partial(machine.run, statement, scope))
                continue
            _spelled(statement, scope)
        machine.at.pop()
        machine.probing = True
        del machine.trace[trace:]
        return scope

    def top(self, path: str, index: int, reads: set[tuple[str, str]]) -> Resolved | None:
        """Resolve a top-level statement as a whole, in its module as it is now."""
        module = next(
            (m for m in self.machine.modules.values() if getattr(m, "path", "") == path), None
        )
        if module is None or module.scope is None:
            return None
        node = self.machine.tree.source(path).statements[index].node
        self.machine.reads = lambda module, name: reads.update(_read(module, name))
        known: dict[tuple[str, ...], Hashable] = {}
        found = []
        with self._quietly():
            for reference in references(node):
                if reference.parts not in known:
                    known[reference.parts] = self._meaning(reference.parts, module.scope)
                found.append((reference, known[reference.parts]))
        self.machine.reads = None
        return found

    def _meaning(self, parts: tuple[str, ...], scope: Scope) -> Hashable:
        """Give what a chain of names leads to, also if it is there once somebody else loads it."""
        means, brought = self._leads_to(parts, scope), ""
        if parts[0] in self._imported_later(scope.module):
            brought = self._import_later(parts[0], scope)
        elif means == ("unbound", "AttributeError"):
            brought = self._bring(parts, scope)
        if not brought:
            return means
        later = self._leads_to(parts, scope)
        return means if later == means or _unbound(later) else ("brought", means, later)

    def _imported_later(self, module: Module) -> Mapping[str, list[ast.stmt]]:
        """Give the names of a module that its functions import for it, and these imports."""
        if module.path not in self._later:
            source = self.machine.tree.source(module.path) if module.path else None
            there = source is not None and "global " in source.text
            self._later[module.path] = _global_imports(source.tree) if source and there else {}
        return self._later[module.path]

    def _import_later(self, name: str, scope: Scope) -> str:
        """Import a name as a function of its module does that declares it `global`."""
        machine, module = self.machine, scope.module
        if module.scope is None or name in scope.locals:
            return ""
        trace, machine.probing = len(machine.trace), False
        machine.at.append((module.path, 1))
        for statement in self._imported_later(module)[name]:
            with suppress(Raised, TooMuchError):
                machine.paths(partial(machine.run, statement, module.scope))
        machine.at.pop()
        machine.probing = True
        del machine.trace[trace:]
        return name

    def _bring(self, parts: tuple[str, ...], scope: Scope) -> str:
        """Load the submodules that a chain of names goes through and that nobody has loaded."""
        machine, brought = self.machine, ""
        with suppress(Raised):
            value = machine.look_up(parts[0], scope)
            for part in parts[1:]:
                if not isinstance(value, ModuleValue):
                    break
                module = value.module
                if machine.named(module, part) is UNBOUND:
                    if not module.folders or not machine.tree.find(part, module.folders):
                        break
                    brought = f"{module.name}.{part}"
                    machine.bring(brought)
                value = machine.attribute(value, part)
        return brought

    def _leads_to(self, parts: tuple[str, ...], scope: Scope) -> Hashable:
        machine = self.machine
        try:
            value = machine.look_up(parts[0], scope)
            for index, part in enumerate(parts[1:], 1):
                if isinstance(value, ModuleValue):
                    if part not in value.module.names and "__getattr__" in value.module.names:
                        owner, value = value, self._given(value, part)
                        if isinstance(value, (Function, Class, Constant, ModuleValue)):
                            continue
                        self._met.append(owner)
                        return ("asked", owner.module.name, parts[index:])
                    value = machine.attribute(value, part)
                elif isinstance(value, Outside):
                    value = machine.attribute(value, part)
                else:
                    self._met.append(value)
                    return (meaning(value), parts[index:])
        except Raised as error:
            return ("unbound", error.error)
        self._met.append(value)
        return (meaning(value), ())

    def _given(self, owner: ModuleValue, name: str) -> Value:
        """Give what a module's `__getattr__` gives for a name, and take back what it did."""
        machine, trace = self.machine, len(self.machine.trace)
        try:
            return machine.attribute(owner, name)
        except (TooMuchError, LeftError):
            return Unknown(("asked", name))
        finally:
            del machine.trace[trace:]

    def probe(self, made: Function, owner: Class | None = None) -> Probe:
        """Run a body on unknown arguments, and take back what it did."""
        machine, found = self.machine, Probe()

        def reads(module: Module, name: str) -> None:
            if len(machine.stack) <= 1:  # what it calls reads for itself
                found.reads.update(_read(module, name))

        before = len(machine.trace)
        kept = machine.site, machine.counts, machine.stack, machine.steps
        machine.site = ("body", made.name)
        machine.counts, machine.stack, machine.steps = defaultdict(int), [], 0
        machine.most_steps = MOST_STEPS_OF_BODY
        with self._quietly():
            machine.reads = reads
            machine.reader = made
            machine.inner = []
            try:
                with suppress(Returned, LeftError):
                    self._run(made, owner)
                self._inner(machine)
            except Raised as error:
                machine.event("raises", error.error, error.about, error.outside)
            except (Returned, LeftError):
                pass
            except (TooMuchError, RecursionError):
                found.limit = True
            finally:
                machine.reads = machine.reader = machine.inner = None
                found.events = machine.trace[before:]
                del machine.trace[before:]
                machine.site, machine.counts, machine.stack, machine.steps = kept
                machine.most_steps = MOST_STEPS
        return found

    def _run(self, made: Function, owner: Class | None) -> None:
        machine, node = self.machine, made.node
        bound = binds(node)
        names: dict[str, Value] = {
            arg.arg: Unknown(("argument", made.name, arg.arg)) for arg in parameters(node)
        }
        names |= {  # so what the body reads of a module or class is looked up
            name: default
            for name, default in made.defaults.items()
            if isinstance(default, (ModuleValue, Class))
        }
        first = next(iter(parameters(node)), None)
        if owner is not None and first is not None and not isinstance(node, ast.Lambda):
            names[first.arg] = self._instance(made, owner)
        module = made.scope.module
        scope = Scope("function", names, made.scope, module, bound.globals, bound.locals)
        machine.stack = [made]
        machine.at.append((module.path, node.lineno))
        try:
            if isinstance(node, ast.Lambda):
                machine.value(node.body, scope)
            else:
                machine.block(node.body, scope)
        finally:
            machine.at.pop()

    def _inner(self, machine: Machine) -> None:
        """Run the functions that a body makes, too, as whoever gets them will."""
        made = machine.inner or []
        for at in range(MOST_INNER):
            if at >= len(made):
                break
            machine.reader = made[at]
            try:
                self._run(made[at], None)
            except Raised as error:
                machine.event("raises", error.error, error.about, error.outside)
            except (Returned, LeftError):
                continue

    def _instance(self, made: Function, owner: Class) -> Instance:
        """Make the object that a method is called on, with what `__init__` gives it."""
        machine = self.machine
        found = Instance(("self", 0), owner, {})
        start = machine.in_class(owner, "__init__")
        if isinstance(start, Function) and start is not made:
            trace, machine.reader = len(machine.trace), start
            with suppress(Raised, Returned, LeftError, TooMuchError):
                machine.call(start, [found], {})
            machine.reader = made
            del machine.trace[trace:]
        return found

    @contextmanager
    def _quietly(self) -> Iterator[None]:
        """Read without leaving a trace in the run."""
        machine = self.machine
        mark, probing, changed = len(machine.log), machine.probing, machine.changed
        machine.probing = True
        try:
            yield
        finally:
            machine.probing, machine.changed = probing, changed
            machine.undo(mark)


def _read(module: Module, name: str) -> Iterator[tuple[str, str]]:
    """Give what is read with a name of a module: a logger of some name is one for all."""
    yield module.name, name
    value = module.names.get(name)
    if isinstance(value, Product) and names_one(value):
        yield logger_name(value)


def _unbound(means: Hashable) -> bool:
    return isinstance(means, tuple) and means[0] == "unbound"


def _global_imports(tree: ast.AST) -> Mapping[str, list[ast.stmt]]:
    found: dict[str, list[ast.stmt]] = defaultdict(list)
    for node in walk(tree):
        wanted = global_names(node) if isinstance(node, DEFINITIONS) else frozenset()
        for inner in walk(node) if wanted else ():
            if isinstance(inner, IMPORTS):
                for name in wanted.intersection(stored(inner)):
                    found[name].append(inner)
    return found


def meaning(value: Value) -> Hashable:
    """Give what a reference means: of a module or an object who it is, not what it holds."""
    if isinstance(value, Instance):
        return "instance", value.made
    if isinstance(value, Constant | Outside | Function | Class | ModuleValue):
        return key(value)
    if value is UNBOUND:
        return ("unbound",)
    return key(value)
