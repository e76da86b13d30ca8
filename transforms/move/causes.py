"""Why two modules of one move import each other: who needs what of whom, and what would end it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from transforms.errors import Place, Refusal
from transforms.imports.guards import holds_imports, may_stand_twice
from transforms.move.copies import refuse_copy
from transforms.move.needs import is_for_checkers
from transforms.move.state import Group, Move, SourceState
from transforms.reading.writer import quote
from transforms.scopes.types import Reference
from transforms.source.symbols import Symbols
from transforms.syntax.called import called_name

_SHOWN = 3  # needs that a message tells of one import
_PLATFORM = frozenset({"sys.platform", "sys.version_info", "sys.version_info[0]", "os.name"})
_TYPE_VARIABLES = frozenset({"TypeVar", "ParamSpec", "TypeVarTuple"})


@dataclass(frozen=True, slots=True)
class Need:
    """A statement that uses a name. `group`: where the statement goes; None if it stays."""

    user: str
    name: str
    place: Place
    source: SourceState
    group: Group | None

    def __str__(self) -> str:
        return f"{self.user} uses `{self.name}` ({self.place.path}:{self.place.line})"


class Causes:
    """Answers for the sources of one move."""

    def __init__(self, move: Move) -> None:
        self._move = move

    def needs(self, importer: str, target: str) -> list[Need]:
        """Why `importer` imports from `target` after the move, in the order of the sources."""
        found: list[Need] = []
        for source in self._move.sources:
            seen: set[str] = set()
            for index, group in self._within(source, importer):
                for name, uses in source.symbols.uses([index]).items():
                    if name not in seen and self._home(source, name, group) == target:
                        if not self._for_checkers(uses, source.symbols):
                            seen.add(name)
                            line = getattr(uses[0].node, "lineno", 1)
                            user = _user(source, index, group)
                            found.append(Need(user, name, source.place(line), source, group))
        return found

    def _within(self, source: SourceState, module: str) -> Iterator[tuple[int, Group | None]]:
        """The statements of a source that lie in a module after the move."""
        for statement in source.symbols.statements:
            group = source.cut.get(statement.index)
            home = group.located.dotted if group is not None else source.after.dotted
            if home == module and not statement.is_import:
                yield statement.index, group

    def _home(self, source: SourceState, name: str, user: Group | None) -> str | None:
        group = source.moved.get(name)
        if group is not None:
            return group.located.dotted
        if user is not None and name in user.spec.copy:
            return user.located.dotted
        return source.after.dotted if name in source.symbols.defined else None

    def _for_checkers(self, uses: Iterable[Reference], symbols: Symbols) -> bool:
        return all(is_for_checkers(use, symbols) for use in uses)

    def remedies(self, needs: Iterable[Need]) -> list[str]:
        """Lines to paste into tables of the plan, so that new modules need less of a source."""
        lists: dict[tuple[int, str], list[str]] = {}
        groups: dict[int, Group] = {}
        taken: dict[tuple[str, str], int] = {}
        for need in needs:
            group = need.group
            if group is None or need.name in need.source.moved:
                continue
            groups[group.spec.line] = group
            found, names = _remedy(need)
            for name in names:
                key = (group.spec.line, found)
                if found in ("symbols", "carry"):  # it goes along once
                    key = (taken.setdefault((need.source.located.dotted, name), key[0]), found)
                known = lists.setdefault(key, [])
                known += [] if name in known else [name]
        said = [
            f"`{key} = {_listed(_ordered(groups[line], key, names))}` in the "
            f"[[destination]] of `{groups[line].located.dotted}` ({self._where(line)})"
            for (line, key), names in lists.items()
        ]
        return said or self._together(needs)

    def _together(self, needs: Iterable[Need]) -> list[str]:
        """Two new modules that need one another: what one needs of the other goes along with it."""
        for need in needs:
            here, there = need.group, need.source.moved.get(need.name)
            if here is None or there is None or here is there or need.name in here.spec.symbols:
                continue
            rest = tuple(name for name in there.spec.symbols if name != need.name)
            put = _listed(_ordered(here, "symbols", [need.name]))
            gone = (
                f"`symbols = {_listed(rest)}` in that" if rest or there.spec.carry else "drop that"
            )
            return [
                f"`symbols = {put}` in the [[destination]] of `{here.located.dotted}` "
                f"({self._where(here.spec.line)}), and {gone} of `{there.located.dotted}` "
                f"({self._where(there.spec.line)})"
            ]
        return []

    def _where(self, line: int) -> str:
        place = self._move.plan.place(line)
        return f"{place.path}:{place.line}"

    def helpers(self, needs: Iterable[Need]) -> Mapping[int, tuple[str, ...]]:
        """Helpers by which the needs would end if they stood in both modules; empty if none would.

        They are the same wherever they stand: a logger of its module, a type variable, a constant,
        a flag of an optional import. The keys are the lines of their destinations.
        """
        found: dict[int, list[str]] = {}
        for need in needs:
            if need.group is not None and need.name not in need.source.moved:
                if not is_same_anywhere(need):
                    return {}
                names = found.setdefault(need.group.spec.line, [])
                names += [] if need.name in names else [need.name]
        return {line: tuple(names) for line, names in found.items()}


def _listed(names: tuple[str, ...]) -> str:
    """An array on one line, as a message can hold it."""
    return "[" + ", ".join(map(quote, names)) + "]"


def told(needs: list[Need]) -> str:
    """The needs behind one import in words; "" if none are known."""
    shown = [str(need) for need in needs[:_SHOWN]]
    more = len(needs) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _user(source: SourceState, index: int, group: Group | None) -> str:
    names = sorted(source.symbols.binds(index))
    where = "stays" if group is None else "moves"
    return f"`{names[0]}`, which {where}," if names else f"a statement that {where}"


def _ordered(group: Group, key: str, names: Iterable[str]) -> tuple[str, ...]:
    """A list of the plan with more names: above the others where these need them at import."""
    known: tuple[str, ...] = getattr(group.spec, key)
    symbols = group.source.symbols
    new = sorted(set(names) - set(known), key=lambda name: min(symbols.defined.get(name, [0])))
    uses = symbols.uses([index for name in known for index in symbols.defined.get(name, ())])
    early = any(not use.deferred for name in new for use in uses.get(name, ()))
    return (*new, *known) if early else (*known, *new)


def _remedy(need: Need) -> tuple[str, list[str]]:
    """The key under which names would have to stand in the destination's table, and which.

    What only the moved code of one table uses goes along; else it is copied, if it may be, with
    what it is made of.
    """
    uses = need.source.symbols.uses(
        [i for i, group in need.source.cut.items() if group is need.group]
    )
    if all(use.annotation in ("postponed", "string", "type comment") for use in uses[need.name]):
        return "type_checking", [need.name]
    symbols = need.source.symbols
    elsewhere = [
        s.index for s in symbols.statements if need.source.cut.get(s.index) is not need.group
    ]
    own = set(symbols.defined[need.name])
    names = _made_of(need)
    if need.name not in symbols.uses([index for index in elsewhere if index not in own]):
        nodes = [symbols.statements[index].node for index in own]
        is_helper = all(isinstance(n, (ast.Assign, ast.AnnAssign)) for n in nodes)
        return ("carry", [need.name]) if is_helper else ("symbols", names)
    with suppress(Refusal):
        for name in names:
            refuse_copy(name, need.source)
        return "copy", names
    return "symbols", names


def _made_of(need: Need) -> list[str]:
    """A name, and those of its module that it needs when it is imported, for they stay there."""
    symbols, found = need.source.symbols, [need.name]
    for name in found:
        for other, uses in symbols.uses(symbols.defined[name]).items():
            stays = other in symbols.defined and other not in need.source.moved
            if stays and other not in found and not all(use.deferred for use in uses):
                found.append(other)
    return found


def is_same_anywhere(need: Need) -> bool:
    """Whether two copies of a helper cannot be told apart but by where they stand.

    What is named like `__version__` says something of its own module, and is kept in one place.
    """
    symbols = need.source.symbols
    name = need.name
    if name.startswith("__") and name.endswith("__"):
        return False
    if name in symbols.rebound or name in symbols.mutations:
        return False
    nodes = [symbols.statements[index].node for index in symbols.defined[name]]
    if len(nodes) == 1 and isinstance(nodes[0], (ast.Assign, ast.AnnAssign)):
        return _is_same(nodes[0].value)
    return all(holds_imports(node) and may_stand_twice(node) for node in nodes)


def _is_same(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Call):
        return _is_same_call(value)
    if isinstance(value, (ast.Tuple, ast.UnaryOp)):
        inner = [child for child in ast.iter_child_nodes(value) if isinstance(child, ast.expr)]
        return all(map(_is_same, inner))
    if isinstance(value, ast.Compare):  # which platform, which Python
        return all(
            _is_same(side) or _asks_platform(side) for side in (value.left, *value.comparators)
        )
    return isinstance(value, ast.Constant)


def _is_same_call(call: ast.Call) -> bool:
    """A type variable, a logger of its module, a set or a pattern that never changes."""
    called = called_name(call)
    if called in _TYPE_VARIABLES:
        return True
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if (
        called == "frozenset"
        and len(given) == 1
        and isinstance(given[0], (ast.Set, ast.List, ast.Tuple))
    ):
        return all(map(_is_same, given[0].elts))
    if isinstance(call.func, ast.Attribute) and ast.unparse(call.func) == "re.compile":
        return all(_is_same(item) or ast.unparse(item).startswith("re.") for item in given)
    return len(given) == 1 and isinstance(given[0], ast.Name) and given[0].id == "__name__"


def _asks_platform(node: ast.expr) -> bool:
    return ast.unparse(node) in _PLATFORM
