"""Case files: one move a file, as text. The only way in which moves are tested against golden text.

A case is a header and sections. The header is prose: what the case shows. Then come

    === plan                       the plan; `format = 1` and `formatters = "none"` are added
    === before PATH [FLAGS]        a file of the tree
    === after PATH [FLAGS]         the same file, or a new one, after the move
    === deleted PATH               a file that the move deletes
    === refused KIND               instead of `after`: the refusal's kind; the text below must
                                   stand in its message
    === notes                      one a line: KIND PATH:LINE
    === edits                      one a line: KIND PATH:LINE (optional: only if given)

A file that has `before` and neither `after` nor `deleted` must stay as it is. FLAGS: `crlf` (line
ends), `bom`, `no-newline` (at the end), `executable`, `latin-1`, `raw` (Python escapes such as
\\x0c).
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from transforms.engine import apply
from transforms.errors import Refusal
from transforms.reading.load import parse_plan
from transforms.result.changes import Blob
from transforms.result.outcome import Outcome
from transforms.tree import Tree

_SECTION = re.compile(r"=== (plan|before|after|deleted|refused|notes|edits)(?: (.*))?\Z")


class MemoryTree(Tree):
    """A tree of given files."""

    label = "case"

    def __init__(self, files: Mapping[str, Blob]) -> None:
        self._files = dict(sorted(files.items()))
        self._entries = {path: blob.mode for path, blob in self._files.items()}

    def entries(self) -> Mapping[str, int]:
        return self._entries

    def _stream(self, paths: list[str]) -> Iterator[tuple[str, bytes]]:
        for path in paths:
            yield path, self._files[path].data


@dataclass
class Case:
    """A parsed case file."""

    path: Path
    title: str = ""
    plan: str = ""
    before: dict[str, Blob] = field(default_factory=dict)
    after: dict[str, Blob | None] = field(default_factory=dict)
    refused: str | None = None
    message: str = ""
    notes: list[str] | None = None
    edits: list[str] | None = None

    @property
    def id(self) -> str:
        return str(self.path.relative_to(CASES).with_suffix(""))


CASES = Path(__file__).parents[1] / "cases"


def load_cases(folder: str = "") -> Iterable[Case]:
    """Every case below a folder of `tests/cases`, in order."""
    return [load_case(path) for path in sorted((CASES / folder).rglob("*.case"))]


def load_case(path: Path) -> Case:
    case = Case(path)
    kind, argument, lines = "title", "", []
    for line in [*path.read_bytes().decode("utf-8").split("\n"), "=== plan"]:
        found = _SECTION.match(line)
        if not found:
            lines.append(line)
            continue
        _add(case, kind, argument, lines)
        kind, argument, lines = found[1], found[2] or "", []
    return case


def _add(case: Case, kind: str, argument: str, lines: list[str]) -> None:
    text = "\n".join(lines)
    text = text.rstrip("\n") + "\n" if text.strip("\n") else ""
    if kind == "title":
        case.title = text.strip()
    elif kind == "plan":
        case.plan = case.plan or text
    elif kind in ("before", "after"):
        path, *flags = argument.split(" ")
        getattr(case, kind)[path] = _blob(text, flags)
    elif kind == "deleted":
        case.after[argument] = None
    elif kind == "refused":
        case.refused, case.message = argument, text.strip()
    else:
        setattr(case, kind, [line for line in text.split("\n") if line])


def _blob(text: str, flags: list[str]) -> Blob:
    if "raw" in flags:
        text = text.encode("latin-1", "backslashreplace").decode("unicode_escape")
    if "no-newline" in flags:
        text = text.removesuffix("\n")
    if "crlf" in flags:
        text = text.replace("\n", "\r\n")
    data = text.encode("latin-1" if "latin-1" in flags else "utf-8")
    if "bom" in flags:
        data = codecs.BOM_UTF8 + data
    return Blob(data, 0o100755 if "executable" in flags else 0o100644)


def run_case(case: Case) -> Outcome | Refusal:
    """Apply the case's plan to its files."""
    head = "" if case.plan.startswith("format") else "format = 1\n"
    if "formatters" not in case.plan:
        head += 'formatters = "none"\n'
    try:
        return apply(parse_plan((head + case.plan).encode(), "plan.toml"), MemoryTree(case.before))
    except Refusal as refusal:
        return refusal


def check_case(case: Case) -> None:
    """The whole contract of a case: bytes, modes, notes, the refusal, and a second run."""
    result = run_case(case)
    if case.refused is not None:
        assert isinstance(result, Refusal), f"not refused; changed {sorted(result.changes)}"
        assert (result.kind, case.message in str(result)) == (case.refused, True), str(result)
        assert result.next_step, "a refusal says what to do next"
        return
    if isinstance(result, Refusal):
        raise AssertionError(f"refused ({result.kind}): {result}")
    got = {path: change.after for path, change in result.changes.items()}
    for path in sorted({*got, *case.after}):
        assert path in got, f"{path} did not change"
        assert path in case.after, f"{path} changed:\n{_shown(got[path])}"
        assert got[path] == case.after[path], (
            f"{path}:\n--- expected\n{_shown(case.after[path])}\n--- found\n{_shown(got[path])}"
        )
    for path, blob in got.items():
        if blob is not None and path.endswith(".py"):
            compile(blob.data, path, "exec", dont_inherit=True)
    if case.notes is not None:
        assert sorted(f"{n.kind} {n.place.path}:{n.place.line}" for n in result.notes) == sorted(
            case.notes
        )
    if case.edits is not None:
        edits = [f"{e.kind} {c.path}:{e.line}" for c in result.callers for e in c.edits]
        assert sorted(edits) == sorted(case.edits)
    _check_second_run(case, got)


def _check_second_run(case: Case, got: Mapping[str, Blob | None]) -> None:
    """Applied to its own result, the plan is refused: it never changes anything twice."""
    files = {path: blob for path, blob in {**case.before, **got}.items() if blob is not None}
    again = run_case(Case(case.path, plan=case.plan, before=files))
    assert isinstance(again, Refusal), f"a second run changed {sorted(again.changes)}"
    if "[[source]]" not in case.plan:
        assert again.kind == "already-applied", str(again)


def _shown(blob: Blob | None) -> str:
    return (
        "(deleted)"
        if blob is None
        else f"{oct(blob.mode)} {blob.data.decode('utf-8', 'backslashreplace')!s}"
    )
