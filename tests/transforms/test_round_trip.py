"""Moving a symbol away and back restores every byte; the order of what has no order is no input."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transforms.case import MemoryTree
from transforms.engine import apply
from transforms.errors import Refusal
from transforms.reading.load import parse_plan
from transforms.result.changes import Blob
from transforms.source.edits import Edits
from transforms.source.module import Module

MODULES = ("abc", "json", "os", "re", "string")
HEAD = 'format = 1\nformatters = "none"\n'


@dataclass(frozen=True)
class Symbol:
    """One top-level definition of a generated module."""

    name: str
    kind: str
    uses: tuple[str, ...]
    comment: bool
    wanted: bool  # another definition uses it

    def text(self) -> str:
        above = f"# What {self.name} is for.\n" if self.comment else ""
        names = ", ".join([*self.uses, "1"])
        if self.kind == "class":
            return f"{above}class {self.name}:\n    uses = ({names},)\n"
        return f"{above}def {self.name}(given=None):\n    return ({names}, given)\n"


@st.composite
def modules(draw: st.DrawFn) -> list[Symbol]:
    count = draw(st.integers(2, 5))
    return [
        Symbol(
            name=f"part_{number}",
            kind=draw(st.sampled_from(["class", "function"])),
            uses=tuple(sorted(draw(st.sets(st.sampled_from(MODULES), max_size=3)))),
            comment=draw(st.booleans()),
            wanted=draw(st.booleans()),
        )
        for number in range(count)
    ]


def written(symbols: list[Symbol], moved: int) -> str:
    """The module; its last definition uses what is wanted of the moved one."""
    used = sorted({name for symbol in symbols for name in symbol.uses})
    imports = "".join(f"import {name}\n" for name in used)
    body = "\n\n".join(symbol.text() for symbol in symbols)
    tail = ""
    if symbols[moved].wanted:
        tail = f"\n\ndef last():\n    return {symbols[moved].name}\n"
    else:
        tail = "\n\ndef last():\n    return None\n"
    return f"{imports}\n\n{body}{tail}" if imports else f"{body}{tail}"


def there(name: str) -> str:
    return (
        f'{HEAD}[[source]]\nmodule = "pkg.mono"\n'
        f'[[destination]]\nmodule = "pkg.away"\nsymbols = ["{name}"]\n'
    )


def back(name: str, anchor: str) -> str:
    return (
        f'{HEAD}[[source]]\nmodule = "pkg.away"\nemptied = "delete"\n'
        f'[[destination]]\nmodule = "pkg.mono"\nsymbols = ["{name}"]\n{anchor}\n'
    )


def applied(plan: str, files: dict[str, Blob]) -> dict[str, Blob]:
    outcome = apply(parse_plan(plan.encode(), "plan.toml"), MemoryTree(files))
    after = {**files, **outcome.changes.after()}
    return {path: blob for path, blob in after.items() if blob is not None}


@given(modules(), st.data())
def test_there_and_back_again_is_where_it_was(symbols: list[Symbol], data: st.DataObject) -> None:
    moved = data.draw(st.integers(0, len(symbols) - 1))
    name = symbols[moved].name
    files = {
        "pkg/__init__.py": Blob(b""),
        "pkg/mono.py": Blob(written(symbols, moved).encode()),
        "app.py": Blob(f"from pkg.mono import {name}\n\nprint({name})\n".encode()),
    }
    away = applied(there(name), files)
    assert away["app.py"].data.startswith(b"from pkg.away import")
    neighbour = f'after = "{symbols[moved - 1].name}"'
    anchor = neighbour if moved else f'before = "{symbols[1].name}"'
    assert applied(back(name, anchor), away) == files


@given(modules(), st.data())
def test_the_order_of_files_changes_nothing(symbols: list[Symbol], data: st.DataObject) -> None:
    moved = data.draw(st.integers(0, len(symbols) - 1))
    name = symbols[moved].name
    files = {"pkg/__init__.py": Blob(b""), "pkg/mono.py": Blob(written(symbols, moved).encode())}
    for number in range(4):
        files[f"caller_{number}.py"] = Blob(f"from pkg.mono import {name}, last\n".encode())
    order = data.draw(st.permutations(sorted(files)))
    shuffled = {path: files[path] for path in order}
    assert applied(there(name), shuffled) == applied(there(name), files)


@given(modules(), st.integers(0, 4))
def test_statements_cover_a_module_without_overlap(symbols: list[Symbol], moved: int) -> None:
    text = written(symbols, moved % len(symbols))
    module = Module("mono.py", text.encode())
    assert module.encode(module.text) == text.encode()
    assert Edits(module.text, module.newline).apply() == text
    position = 0
    for statement in module.statements:
        assert position <= statement.block_start <= statement.start < statement.end
        assert not text[position : statement.block_start].strip()
        position = statement.end
    assert not text[position:].strip()


def test_a_move_that_was_made_is_not_made_again() -> None:
    files = {"pkg/__init__.py": Blob(b""), "pkg/mono.py": Blob(b"def a():\n    pass\n\n\nb = 1\n")}
    away = applied(there("a"), files)
    with pytest.raises(Refusal, match="already applied"):
        applied(there("a"), away)
