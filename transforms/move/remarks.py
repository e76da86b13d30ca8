"""What a person should see about moved code: what it may do differently in its new module."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from transforms.move.cut import Cut
from transforms.move.examples import example_names
from transforms.move.registries import class_registrations
from transforms.move.state import Group, Move, SourceState
from transforms.result.outcome import Note
from transforms.scopes.types import Reference
from transforms.source.fixtures import finds, is_conftest, own_fixtures
from transforms.source.mutations import decorator_roots
from transforms.source.symbols import Symbols
from transforms.syntax.called import called_name, decorating, last_name
from transforms.syntax.kinds import is_main_guard

_MARK = "pytestmark"
_SHOWN = 3  # names that a message lists
_OWN_PLACE = frozenset({"__file__", "__path__", "__package__", "__spec__", "__loader__"})
# Functions that look up files or modules from the name of a module.
_FROM_NAME = frozenset(
    {"files", "open_text", "open_binary", "read_text", "read_binary", "contents", "get_data"}
    | {"resource_filename", "resource_string", "resource_stream", "import_module", "path"}
)
_REGISTERING = frozenset({"register", "route", "command", "group", "task", "subscribe", "on"})


def remarks(move: Move, cuts: Sequence[Cut]) -> Iterator[Note]:
    """Notes on the code that moves, and on what stays behind of its surroundings."""
    for group in move.groups:
        for index in sorted({*group.body, *group.carried, *group.copied}):
            yield from _own_module(group, index)
            yield from _registrations(group, index)
        back = _is_imported_back(group.source.symbols, group)
        if not (back or _is_exported_above(group, move)):
            yield from class_registrations(group, move)
        yield from _prepared_imports(group)
        yield from _marks(group)
    for source in move.sources:
        yield from _calls_that_stay(source)
    for cut in cuts:
        yield from _own_names(cut)
        yield from _fixtures(cut)
        yield from example_names(cut)


def _note(source: SourceState, kind: str, node: ast.AST, message: str) -> Note:
    return Note(kind, source.place(getattr(node, "lineno", 1)), message)


def _own_module(group: Group, index: int) -> Iterator[Note]:
    """Code that asks where its module lies, or for all that the module holds."""
    source = group.source
    folder = source.located.path.rpartition("/")[0]
    moves_away = group.located.path.rpartition("/")[0] != folder
    for reference in source.symbols.references[index]:
        if reference.owner is not None:
            continue
        name = reference.name
        if name in _OWN_PLACE and moves_away:
            yield _note(source, "own module", reference.node, f"`{name}` is another one there.")
        elif name == "globals" or (name == "vars" and _is_bare_call(reference)):
            yield _note(
                source, "own module", reference.node, f"`{name}()` holds other names there."
            )
        elif name == "__name__" and looks_up_by_name(reference):
            yield _note(
                source,
                "own module",
                reference.node,
                "`__name__` is used to look something up, and is another one there.",
            )


def _own_names(cut: Cut) -> Iterator[Note]:
    """What stays asks its module for all its names, or for one by a text: some are gone."""
    lost = cut.lost()
    if not lost:
        return
    source = cut.source
    shown = ", ".join(f"`{name}`" for name in lost[:_SHOWN]) + (", ..." * (len(lost) > _SHOWN))
    keep = f'`reexports = ["{lost[0]}"]` in the [[source]] keeps a name'
    for statement in source.symbols.statements:
        if statement.index in source.cut:
            continue
        for reference in source.symbols.references[statement.index]:
            if reference.owner is None and (
                _asks_for_names(reference) or _runs_text(reference, lost)
            ):
                message = f"`{reference.name}` no longer leads to {shown} here; {keep}."
                yield _note(source, "own module", reference.node, message)


def _fixtures(cut: Cut) -> Iterator[Note]:
    """Fixtures that come to be around more tests, or that old plans part from their tests."""
    source, lost = cut.source, set(cut.lost())
    for fixture in own_fixtures(source.document.module.tree):
        name = fixture.node.name
        group = source.moved.get(name)
        if group is None:
            continue
        home = group.located.path
        if fixture.autouse and is_conftest(home):
            message = f"`{name}` is around every test below the folder of `{home}` from now on."
            yield _note(source, "fixture", fixture.node, message)
        elif name in lost and not cut.move.plan.newer:
            special = fixture.autouse or fixture.name != name or is_conftest(source.located.path)
            if special and not finds(home, source.located.path):
                message = (
                    f"Tests no longer find `{fixture.name}`; `format = 2` imports it back, and so "
                    f'does `reexports = ["{name}"]` in the [[source]].'
                )
                yield _note(source, "fixture", fixture.node, message)


def _marks(group: Group) -> Iterator[Note]:
    """`pytestmark` marks every test of its module, and none that has left it."""
    source, symbols = group.source, group.source.symbols
    indices = symbols.defined.get(_MARK, ())
    if not indices or set(indices) & {*group.body, *group.carried, *group.copied}:
        return
    tests = [name for name in group.spec.symbols if name.startswith(("test", "Test"))]
    if tests:
        message = (
            f'`{_MARK}` no longer marks `{tests[0]}`; `copy = ["{_MARK}"]` in the '
            f"[[destination]] of `{group.located.dotted}` lets it."
        )
        yield _note(source, "fixture", symbols.statements[indices[0]].node, message)


def _asks_for_names(reference: Reference) -> bool:
    """`globals()`, `vars()`, `dir()`, and `__name__` by which a module is looked up."""
    if reference.name in ("globals", "vars", "dir", "locals"):
        deferred = reference.deferred and reference.name != "globals"
        return _is_bare_call(reference) and not deferred
    return reference.name == "__name__" and looks_up_by_name(reference)


def _runs_text(reference: Reference, lost: Sequence[str]) -> bool:
    """`eval("Money")`: a text is run that names what left, or that nobody knows."""
    if reference.name not in ("eval", "exec"):
        return False
    for node in ast.walk(reference.statement):
        if isinstance(node, ast.Call) and node.func is reference.node and node.args:
            first = node.args[0]
            if len(node.args) > 1:
                return False  # among other names
            if not isinstance(first, ast.Constant):
                return True
            return any(re.search(rf"\b{re.escape(name)}\b", str(first.value)) for name in lost)
    return False


def _is_bare_call(reference: Reference) -> bool:
    return any(
        isinstance(node, ast.Call) and node.func is reference.node and not node.args
        for node in ast.walk(reference.statement)
    )


def looks_up_by_name(reference: Reference) -> bool:
    """`sys.modules[__name__]`, `importlib.resources.files(__name__)` and the like."""
    for node in ast.walk(reference.statement):
        if isinstance(node, ast.Subscript) and node.slice is reference.node:
            return True
        if isinstance(node, ast.Call) and reference.node in node.args:
            if called_name(node) in _FROM_NAME:
                return True
    return False


def _registrations(group: Group, index: int) -> Iterator[Note]:
    """A decorator that adds what it decorates to a registry works once its module is imported."""
    source = group.source
    if _is_imported_back(source.symbols, group):
        return
    node = source.symbols.statements[index].node
    for name, decorator in decorator_roots(node):
        target = decorating(decorator)
        last = last_name(target) or name
        moved = source.moved.get(name)
        if (last in _REGISTERING or last.startswith("register")) and moved is not group:
            yield _note(
                source,
                "registration",
                decorator,
                f"`{ast.unparse(target)}` registers when `{group.located.dotted}` is imported, "
                "which nothing that stays does.",
            )


def _is_imported_back(symbols: Symbols, group: Group) -> bool:
    """Whether what stays imports anything of the group when it is imported itself."""
    offered = group.source.spec.reexports
    if offered is None or set(offered) & {*group.spec.symbols, *group.spec.carry}:
        return True
    staying = [s.index for s in symbols.statements if s.index not in group.source.cut]
    used = symbols.uses(staying)
    return any(
        reference.annotation in ("", "evaluated")
        for name in (*group.spec.symbols, *group.spec.carry)
        for reference in used.get(name, ())
    )


def _is_exported_above(group: Group, move: Move) -> bool:
    """Whether a package above the source imports something of the group for who asks for it."""
    names = {*group.spec.symbols, *group.spec.carry}
    for package in move.plan.packages:
        if names & set(package.exports):
            place = move.plan.place(package.line)
            above = move.names.locate_new(package.module, place, package=True).dotted
            if group.source.located.dotted.startswith(f"{above}."):
                return True
    return False


def _calls_that_stay(source: SourceState) -> Iterator[Note]:
    """A call at module level that is handed a moved symbol runs only where it stays."""
    for statement in source.symbols.statements:
        node = statement.node
        if statement.index in source.cut or is_main_guard(node) or not isinstance(node, ast.Expr):
            continue
        if not isinstance(node.value, ast.Call):
            continue
        handed = {
            argument.id
            for argument in [*node.value.args, *(item.value for item in node.value.keywords)]
            if isinstance(argument, ast.Name)
        }
        for name in sorted(handed & set(source.moved)):
            yield _note(
                source,
                "registration",
                node,
                f"This is handed `{name}` when `{source.located.dotted}` is imported; who imports "
                f"`{source.moved[name].located.dotted}` alone does not run it.",
            )


def _prepared_imports(group: Group) -> Iterator[Note]:
    """A statement that acts above an import may have to run before it in the new module, too."""
    source = group.source
    symbols = source.symbols
    used = symbols.uses([*group.body, *group.carried])
    imported = [
        binding.index
        for name in used
        for binding in symbols.imports.get(name, [])
        if not binding.guards
    ]
    last = max(imported, default=0)
    for statement in symbols.statements[:last]:
        if statement.index in source.cut or not _prepares(statement.node):
            continue
        yield _note(
            source,
            "prepared import",
            statement.node,
            f"This runs before an import that `{group.located.dotted}` has now, too; it does not "
            "run there.",
        )


def _prepares(node: ast.stmt) -> bool:
    """`sys.path.insert(...)`, `os.environ[...] = ...`: a call, or a store into an object."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call)
    if isinstance(node, ast.Assign):
        return any(isinstance(target, (ast.Attribute, ast.Subscript)) for target in node.targets)
    return False
