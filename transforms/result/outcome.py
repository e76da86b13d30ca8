"""What applying a plan gives: the change set, and a summary that a report can show.

Plain frozen data. The mover fills it, `verify.report.report` words it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from transforms.errors import Place
from transforms.result.changes import ChangeSet

DELETION = "deletion"  # kind of what a plan authors: a file that goes


@dataclass(frozen=True, slots=True)
class Destination:
    """One module that receives symbols."""

    path: str
    module: str
    created: bool
    symbols: tuple[str, ...]
    copied: tuple[str, ...]  # helper statements that also stay in the source
    imports: tuple[str, ...]  # derived import statements, one line each
    lines: int  # lines of the whole module after the move


@dataclass(frozen=True, slots=True)
class Edit:
    """One change in a file that imports or names what moved.

    `kind` is one of: `import`, `local import` (inside a function or class), `type-checking import`,
    `guarded import`, `qualified name`, `string`, `entry point`, `documentation`, `star import`,
    `configuration` (settings, packaging lists and commands that name a module or its file).
    """

    kind: str
    line: int  # 1-based, in the file before the change
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Caller:
    """A file outside the sources and destinations that the move changed."""

    path: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Note:
    """Something the mover leaves alone and a person should see."""

    kind: str  # `dynamic import`, `string`, `patch of another global`, `notebook`, ...
    place: Place
    message: str


@dataclass(frozen=True, slots=True)
class SourceChange:
    """What a source module lost and what it now imports back."""

    path: str
    module: str
    fate: str  # `kept`, `deleted`, `renamed to PATH`
    removed_imports: tuple[str, ...]
    imports_back: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Relocated:
    """A whole module or package that went elsewhere: one file or one folder.

    `kept` says what stays at the old path: None, `reexport` or `warn`.
    """

    old_path: str
    new_path: str
    old_module: str
    new_module: str
    files: int
    kept: str | None = None


@dataclass(frozen=True, slots=True)
class Authored:
    """Literal text that the plan brings: the lines that it adds, and those that it takes away."""

    path: str
    kind: str  # `header`, `file`, `edit` or `deletion`
    added: tuple[str, ...]
    removed: tuple[str, ...] = ()

    @property
    def deletes(self) -> bool:
        """Whether the whole file goes."""
        return self.kind == DELETION

    @property
    def lines(self) -> int:
        """Count the added lines; of a file that goes what it held, at least one line."""
        return max(1, len(self.removed)) if self.deletes else len(self.added)


@dataclass(frozen=True, slots=True)
class Accepted:
    """What the plan accepts though it would else be refused, and why; `symbol` may be empty."""

    kind: str
    module: str
    symbol: str
    reason: str


@dataclass(frozen=True, slots=True)
class Phase:
    """Wall-clock seconds of one phase: `search`, `parse`, `resolve`, `format`, `write`."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of `transforms.engine.apply`."""

    changes: ChangeSet
    sources: tuple[SourceChange, ...]
    destinations: tuple[Destination, ...]
    callers: tuple[Caller, ...]
    authored: tuple[Authored, ...]
    notes: tuple[Note, ...]
    formatted: tuple[str, ...]  # each by name and version, in the order they ran; empty for none
    formatter_edits: dict[str, tuple[str, ...]] = field(default_factory=dict)
    phases: tuple[Phase, ...] = ()
    relocated: tuple[Relocated, ...] = ()
    accepted: tuple[Accepted, ...] = ()

    @property
    def authored_lines(self) -> int:
        """Lines of literal text that the plan brings, and lines of the files that it deletes."""
        return sum(item.lines for item in self.authored)

    @property
    def unwritten_lines(self) -> int:
        """Lines that authored edits take away and put no line in the place of."""
        return sum(max(0, len(item.removed) - item.lines) for item in self.authored)

    @property
    def deleted_lines(self) -> int:
        """Those of the authored lines that are lines of files which the plan deletes."""
        return sum(item.lines for item in self.authored if item.deletes)
