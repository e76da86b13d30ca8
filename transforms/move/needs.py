"""Names that moved code looks up, with what they bring along, and who reads an annotation."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable

from transforms.errors import Refusal
from transforms.move.state import Group, SourceState
from transforms.scopes.types import Reference, ScopeKind
from transforms.source.imports import is_type_checking
from transforms.source.symbols import ImportedBinding, Symbols
from transforms.syntax.called import bare, last_name

# Bases that do not look at the annotations of their subclasses' fields.
_PLAIN_BASES = frozenset({"object", "ABC", "Generic", "Protocol", "Exception", "type"})
# Decorators that do not look at the annotations of what they decorate.
_PLAIN_DECORATORS = frozenset(
    {"staticmethod", "classmethod", "property", "setter", "getter", "deleter", "abstractmethod"}
    | {"overload", "override", "final", "wraps", "lru_cache", "cache", "cached_property"}
    | {"contextmanager", "asynccontextmanager", "no_grad", "inference_mode", "total_ordering"}
)


class Needs:
    """Names that the moved statements of one group look up, each with the places.

    `statements` are those of the group and what is copied, but for the copies to `leave`; `bound`
    are the names that only they bind. `guards_of` gives the guards of imports that come along for
    a name: what their conditions look up is needed, too. `alone`: of `if TYPE_CHECKING:` nothing
    comes but the imports.
    """

    def __init__(
        self,
        group: Group,
        leave: Collection[int],
        guards_of: Callable[[str], Collection[int]],
        *,
        alone: bool,
    ) -> None:
        self.group = group
        self._alone = alone
        self.symbols = group.source.symbols
        self.names: dict[str, list[Reference]] = {}
        self.statements = {*group.body, *group.carried, *group.copied} - set(leave)
        self.bound = {
            name
            for index in (*group.body, *group.carried)
            for name in self.symbols.binds(index)
            if set(self.symbols.defined.get(name, ())) <= self.statements
        }
        self._only_by_checkers: dict[str, bool] = {}
        pending = sorted(self.statements)
        done: set[int] = set()
        while pending:
            index = pending.pop(0)
            if index not in done:
                done.add(index)
                for name in self._collect(index):
                    pending += [] if name in self.bound else sorted(guards_of(name))

    def _collect(self, index: int) -> list[str]:
        """Take what a statement uses. Returns the names that are new."""
        node = self.symbols.statements[index].node
        guard = is_type_checking(node)
        new = []
        for name, found in self.symbols.uses([index]).items():
            references = found
            if guard and self._alone and index not in self.statements and isinstance(node, ast.If):
                inside = set(ast.walk(node.test))
                references = [item for item in found if item.node in inside]
            if not references:
                continue
            if name not in self.names:
                new.append(name)
            self.names.setdefault(name, []).extend(references)
            self._only_by_checkers[name] = guard and self._only_by_checkers.get(name, True)
        return new

    def only_guards(self, name: str) -> bool:
        """Whether `name` is only needed by the condition of `if TYPE_CHECKING:`."""
        return self._only_by_checkers[name]

    def only_annotates(self, name: str, *, postponed: bool) -> bool:
        """Whether no use of `name` needs it at run time.

        `postponed`: the module that the code lands in postpones its annotations.
        """
        return all(
            is_for_checkers(reference, self.symbols)
            and (postponed or reference.annotation != "postponed")
            for reference in self.names[name]
        )


def is_for_checkers(reference: Reference, symbols: Symbols) -> bool:
    """Whether only type checkers read a use of a name.

    The annotations of a dataclass's fields, or of a function that a framework decorates, are often
    evaluated at run time after all: these are not.
    """
    if reference.annotation not in ("postponed", "string", "type comment"):
        return False
    if reference.annotation == "type comment":
        return True
    statement = reference.statement
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return all(last_name(bare(item)) in _PLAIN_DECORATORS for item in statement.decorator_list)
    if isinstance(statement, ast.AnnAssign) and reference.scope.kind is ScopeKind.CLASS:
        owner = reference.scope.node
        return not isinstance(owner, ast.ClassDef) or (
            not owner.decorator_list
            and all(last_name(bare(base)) in _PLAIN_BASES for base in owner.bases)
        )
    return True


def refuse_run_time(
    name: str, uses: Iterable[Reference], source: SourceState, *, postponed: bool
) -> None:
    """Refuse to import a name for type checkers only if a run looks it up."""
    read_by_checkers = {"string", "type comment", *(["postponed"] if postponed else [])}
    for use in uses:
        if use.annotation not in read_by_checkers:
            raise Refusal(
                "unresolved-name",
                f"`{name}` is to be imported for type checkers only, and is looked up at run time "
                "here.",
                next_step=f"Take `{name}` off `type_checking`, or quote the annotation first.",
                place=source.place(getattr(use.node, "lineno", 1)),
            )


def dotted_imports(bindings: Iterable[ImportedBinding]) -> list[ImportedBinding]:
    """Those that bind a package's first part, as `import a.b` does."""
    return [
        binding
        for binding in bindings
        if isinstance(binding.node, ast.Import)
        and "." in binding.alias.name
        and binding.alias.asname is None
    ]


def reached_modules(
    bindings: list[ImportedBinding], references: list[Reference]
) -> list[ImportedBinding]:
    """Of several `import a...` that bind one root, those that the uses reach by attribute.

    A use that reaches none of them by its full name may mean any: then all are needed.
    """
    reached: set[ImportedBinding] = set()
    for reference in references:
        chain = (reference.name, *reference.attributes)
        lengths = {
            binding: len(parts)
            for binding in bindings
            if (parts := binding.alias.name.split(".")) == list(chain[: len(parts)])
        }
        if not lengths:
            return bindings
        longest = max(lengths.values())
        reached |= {key for key, length in lengths.items() if length == longest}
    return [binding for binding in bindings if binding in reached]
