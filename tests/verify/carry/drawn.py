"""Modules, splits of them and edits of both sides, drawn by Hypothesis; and histories of them.

A module is functions in an order; what is drawn is small enough to shrink, and wide enough that
edits meet: in one line, in neighbouring lines, in code that moves, in imports.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hypothesis import strategies as st

from transforms.reading.load import parse_plan
from transforms.reading.model import Plan

HOMES = ("pkg.one", "pkg.two")
_LINES = 4


@dataclass(frozen=True)
class Module:
    """Functions by name, each with its lines; what the module imports; other files."""

    functions: tuple[tuple[str, tuple[str, ...]], ...]
    imports: tuple[str, ...] = ("import os",)
    callers: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def files(self) -> dict[str, str]:
        """Render the tree."""
        bodies = [
            "\n".join([f"def {name}(x):", *(f"    {line}" for line in lines)])
            for name, lines in self.functions
        ]
        text = "\n\n\n".join(["\n".join(self.imports), *bodies]) + "\n"
        found = {"pkg/__init__.py": "", "pkg/big.py": text}
        for path, names in self.callers:
            listed = ", ".join(sorted(names))
            found[path] = f"from pkg.big import {listed}\n\nprint({listed})\n"
        return found

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.functions]


@dataclass(frozen=True)
class Edit:
    """One edit: `kind` says which numbers it takes."""

    kind: str
    where: int
    line: int
    value: int

    def applied(self, module: Module) -> Module:
        """Give the module with the edit; as it was where the edit has no place in it."""
        functions = module.functions
        at = self.where % (len(functions) + (self.kind == "add"))
        if self.kind == "add":
            name = f"new_{self.value}_{self.line}"
            new = (name, (f"a = {self.value}", "return x + a"))
            put = (*functions[:at], new, *functions[at:])
            return module if name in module.names else replace(module, functions=put)
        name, lines = functions[at]
        if self.kind == "delete":
            left = (*functions[:at], *functions[at + 1 :])
            return module if self._is_needed(module, name) else replace(module, functions=left)
        if self.kind == "caller":
            path = f"use_{self.value}.py"
            callers = (*module.callers, (path, (name,)))
            return module if path in dict(module.callers) else replace(module, callers=callers)
        body = (name, self._changed(lines))
        imports = module.imports
        if self.kind == "import":
            imports = tuple(dict.fromkeys(("import json", *imports)))
        put = (*functions[:at], body, *functions[at + 1 :])
        return replace(module, functions=put, imports=imports)

    def _is_needed(self, module: Module, name: str) -> bool:
        used = any(f"{name}(" in line for _, body in module.functions for line in body)
        called = any(name in names for _, names in module.callers)
        return used or called or len(module.functions) < 3

    def _changed(self, lines: tuple[str, ...]) -> tuple[str, ...]:
        place = self.line % len(lines)
        if self.kind == "line":
            line = lines[place].rpartition("#")[0] or f"{lines[place]}  "
            return (*lines[:place], f"{line}# {self.value}", *lines[place + 1 :])
        value = f"json.loads('{self.value}')" if self.kind == "import" else f"{self.value}"
        return (*lines[:place], f"x += {value}", *lines[place:])


@dataclass(frozen=True)
class Case:
    """A module, where its functions go, what main does before and after, and a branch's commits."""

    module: Module
    fates: Mapping[str, str | None] = field(hash=False)
    earlier: tuple[Edit, ...]
    later: tuple[Edit, ...]
    branch: tuple[tuple[Edit, ...], ...]

    @property
    def before(self) -> Module:
        """The module as the split finds it."""
        return edited(self.module, self.earlier)

    def plan(self, module: Module) -> Plan:
        """The split of a module that has lost and got functions: these stay with those around."""
        fates = dict(self.fates)
        for name in module.names:
            if name not in fates:
                fates[name] = self._beside(module.names, name)
        tables = [
            f'[[destination]]\nmodule = "{home}"\nsymbols = {_array(names)}\n'
            for home in HOMES
            if (names := [n for n in module.names if fates[n] == home])
        ]
        return parse_plan("\n".join([_HEAD, *tables]).encode(), "split.toml")

    def text(self) -> str:
        """The plan as main has it."""
        from transforms.reading.load import dump_plan

        return dump_plan(self.plan(self.before))

    def _beside(self, names: Sequence[str], name: str) -> str | None:
        at = names.index(name)
        known = dict(self.fates)
        above = [n for n in names[:at] if n in known][-1:]
        below = [n for n in names[at:] if n in known][:1]
        around = {known[n] for n in above + below}
        return around.pop() if len(around) == 1 else None


_HEAD = 'format = 2\nformatters = "none"\n\n[[source]]\nmodule = "pkg.big"\n'


def _array(names: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


def edited(module: Module, edits: Sequence[Edit]) -> Module:
    """Apply edits, one after another."""
    for edit in edits:
        module = edit.applied(module)
    return module


def _edits(*kinds: str) -> st.SearchStrategy[Edit]:
    small = st.integers(0, 9)
    return st.builds(Edit, st.sampled_from(kinds), small, small, small)


_MAIN = _edits("line", "line", "insert", "caller")
_BRANCH = _edits("line", "line", "insert", "import", "caller", "add", "delete")


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a case. Functions that stay may call those that move; no others call any."""
    count = draw(st.integers(3, 7))
    homes = draw(
        st.lists(st.sampled_from([*HOMES, None]), min_size=count, max_size=count).filter(any)
    )
    functions = []
    for number, home in enumerate(homes):
        lines = [f"y{line} = x + {number}" for line in range(_LINES)]
        moving = [f"f{n}" for n, other in enumerate(homes) if other is not None]
        if home is None and draw(st.booleans()):
            lines.append(f"y = {draw(st.sampled_from(moving))}(x)")
        if draw(st.integers(0, 3)) == 0:
            lines.append("os.getcwd()")
        functions.append((f"f{number}", (*lines, "return x")))
    fates = {f"f{number}": home for number, home in enumerate(homes)}
    return Case(
        Module(tuple(functions), callers=(("till.py", ("f0", f"f{count - 1}")),)),
        fates,
        tuple(draw(st.lists(_MAIN, max_size=2))),
        tuple(draw(st.lists(_MAIN, max_size=2))),
        tuple(draw(st.lists(st.lists(_BRANCH, min_size=1, max_size=2).map(tuple),
                            min_size=1, max_size=2))),
    )  # fmt: skip


Line = Sequence[tuple[str, Mapping[str, str]]]  # commits of a branch: message and all files


def imported(folder: Path, branches: Mapping[str, tuple[str | None, Line]]) -> None:
    """Make a repository in one go: each branch, the one that it was begun on, and its commits."""
    subprocess.run(["git", "init", "--quiet", "--bare", str(folder)], check=True)
    parts: list[str] = []
    for name, (start, line) in branches.items():
        if start is not None:
            parts.append(f"reset refs/heads/{name}\nfrom refs/heads/{start}\n\n")
        for message, files in line:
            who = "Ann <ann@repot.invalid> 1700000000 +0000"
            parts.append(f"commit refs/heads/{name}\nauthor {who}\ncommitter {who}\n")
            parts.append(f"data {len(message)}\n{message}\ndeleteall\n")
            for path, text in files.items():
                parts.append(f"M 100644 inline {path}\ndata {len(text)}\n{text}\n")
    subprocess.run(
        ["git", "--git-dir", str(folder), "fast-import", "--quiet", "--force"],
        input="".join(parts).encode(), check=True,
    )  # fmt: skip
