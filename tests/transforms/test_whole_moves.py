"""Properties of whole moves, on generated programs that run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from tests.effort import examples
from tests.transforms.case import MemoryTree
from tests.transforms.programs import BESIDE, Draw, Program, programs, run
from transforms.engine import apply
from transforms.errors import Refusal
from transforms.reading.load import parse_plan
from transforms.result.changes import Blob
from transforms.result.outcome import Outcome
from transforms.source.edits import Block, Edits
from transforms.source.module import Module

Files = dict[str, bytes]
EXISTING = (
    b"import json\n\nBASE = 3\n\n\ndef own(x):\n    return json.dumps(x)\n\n\nLAST = own(BASE)\n"
)
HEAD = 'formatters = "none"\n'
SETTINGS = settings(
    max_examples=examples(40),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def tree_of(program: Program, form: int) -> Files:
    return {
        **BESIDE,
        "pkg/__init__.py": b"",
        "pkg/mono.py": program.text.encode(),
        "app.py": program.caller(form).encode(),
    }


def moved(files: Mapping[str, bytes], plan: str) -> tuple[Files, Outcome]:
    tree = MemoryTree({path: Blob(data) for path, data in files.items()})
    head = HEAD if plan.startswith("format") else f"format = 1\n{HEAD}"
    outcome = apply(parse_plan((head + plan).encode(), "plan.toml"), tree)
    after = dict(files)
    for path, change in outcome.changes.items():
        if change.after is None:
            del after[path]
        else:
            after[path] = change.after.data
    return after, outcome


def names(symbols: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in symbols) + "]"


def runs(files: Files) -> bool:
    try:
        run(files)
    except Exception:  # a generated program that does not run is no input
        return False
    return True


@st.composite
def moves(draw: Draw) -> tuple[Files, str]:
    """A program, its caller, perhaps a module that is there already, and a plan."""
    program: Program = draw(programs())  # type: ignore[assignment]
    symbols = program.symbols
    assume(symbols)
    chosen: list[str] = draw(  # type: ignore[assignment]
        st.lists(st.sampled_from(symbols), min_size=1, max_size=5, unique=True)
    )
    closure = draw(st.sampled_from(["", "what they use", "what uses them"]))
    _close(program, chosen, str(closure))
    if draw(st.booleans()):
        chosen.sort(key=symbols.index)
    plan = '[[source]]\nmodule = "pkg.mono"\n'
    plan += str(
        draw(st.sampled_from(["", "", 'imports_back = "in place"\n', "reexports = true\n"]))
    )
    files = tree_of(program, draw(st.integers(0, 2)))  # type: ignore[arg-type]
    anchor = ""
    if draw(st.integers(0, 2)) == 0:
        files["pkg/core.py"] = EXISTING
        anchor = str(
            draw(st.sampled_from(["", 'at = "start"\n', 'before = "own"\n', 'after = "BASE"\n']))
        )
    cut: int = draw(st.integers(1, len(chosen)))  # type: ignore[assignment]
    plan += f'[[destination]]\nmodule = "pkg.core"\nsymbols = {names(chosen[:cut])}\n{anchor}'
    if chosen[cut:]:
        plan += f'[[destination]]\nmodule = "pkg.extra"\nsymbols = {names(chosen[cut:])}\n'
    return files, str(draw(st.sampled_from(["", "format = 2\n"]))) + plan


def _close(program: Program, chosen: list[str], closure: str) -> None:
    """Add what the chosen symbols use, or what uses them, so that more plans are accepted."""
    texts = {
        name: " ".join(part.text for part in program.parts if name in part.names)
        for name in program.symbols
    }
    grown = bool(closure)
    while grown:
        grown = False
        for other in program.symbols:
            pairs = [
                (texts[name], other) if closure == "what they use" else (texts[other], name)
                for name in chosen
            ]
            if other not in chosen and any(re.search(rf"\b{n}\b", text) for text, n in pairs):
                chosen.append(other)
                grown = True


class TestWholeMoves:
    @given(moves())
    @SETTINGS
    def test_a_moved_program_gives_what_it_gave(self, move: tuple[Files, str]) -> None:
        files, plan = move
        assume(runs(files))
        try:
            after, _ = moved(files, plan)
        except Refusal as refusal:
            event(f"refused: {refusal.kind}")
            return
        event("moved")
        assert run(after) == run(files)
        for path in after:
            if path.startswith(("pkg/mono", "pkg/core", "pkg/extra")):
                run(after, path.removesuffix(".py").replace("/", "."))

    @given(moves())
    @SETTINGS
    def test_a_plan_is_refused_the_second_time(self, move: tuple[Files, str]) -> None:
        files, plan = move
        try:
            after, _ = moved(files, plan)
        except Refusal:
            return
        try:
            moved(after, plan)
        except Refusal as refusal:
            event(refusal.kind)
        else:
            raise AssertionError("the plan was applied twice")


class TestThereAndBack:
    @given(programs(tight=False), st.integers(1, 5), st.integers(0, 2))
    @SETTINGS
    def test_moving_the_last_symbols_there_and_back_restores_the_source(
        self, program: Program, count: int, form: int
    ) -> None:
        last, rest = program.parts[-count:], program.parts[:-count]
        symbols = list(dict.fromkeys(name for part in last for name in part.names))
        assume(symbols and not set(symbols) & {name for part in rest for name in part.names})
        assume(" as one" not in program.text)  # a guard that lost a name does not get it back
        files = tree_of(program, form)
        plan = '[[source]]\nmodule = "pkg.mono"\n[[destination]]\nmodule = "pkg.core"\n'
        back = '[[source]]\nmodule = "pkg.core"\nemptied = "delete"\n'
        back += '[[destination]]\nmodule = "pkg.mono"\n'
        try:
            there, _ = moved(files, f"{plan}symbols = {names(symbols)}\n")
            again, _ = moved(there, f"{back}symbols = {names(symbols)}\n")
        except Refusal as refusal:
            event(f"refused: {refusal.kind}")
            return
        event("restored")
        assert again["pkg/mono.py"].decode() == files["pkg/mono.py"].decode()
        assert set(again) == set(files)


class TestOrderHasNoSay:
    @given(moves(), st.randoms(use_true_random=False))
    @SETTINGS
    def test_files_of_the_tree_and_tables_of_the_plan_in_any_order(
        self, move: tuple[Files, str], chance: object
    ) -> None:
        files, plan = move
        extra = {f"use{n}.py": files["app.py"] for n in range(3)}
        everything = {**files, **extra}
        try:
            after, outcome = moved(everything, plan)
        except Refusal as refusal:
            event(f"refused: {refusal.kind}")
            return
        paths = list(everything)
        chance.shuffle(paths)  # type: ignore[attr-defined]
        source, *tables = plan.split("[[destination]]\n")
        chance.shuffle(tables)  # type: ignore[attr-defined]
        shuffled = source + "".join("[[destination]]\n" + table for table in tables)
        again, other = moved({path: everything[path] for path in paths}, shuffled)
        assert again == after
        assert other.callers == outcome.callers
        assert other.notes == outcome.notes


class TestModule:
    @given(programs())
    @SETTINGS
    def test_statements_cover_all_but_blank_lines_and_comments(self, program: Program) -> None:
        module = Module("m.py", program.text.encode())
        position = 0
        for statement in module.statements:
            between = module.text[position : statement.block_start]
            assert all(not line.strip() or line.startswith("#") for line in between.split("\n"))
            assert position <= statement.block_start <= statement.start < statement.end
            position = statement.end
        assert not module.text[position:].strip()
        assert module.encode(module.text) == module.data


class TestEdits:
    @given(programs(), st.data())
    @SETTINGS
    def test_what_is_not_deleted_stays_in_order(
        self, program: Program, data: st.DataObject
    ) -> None:
        module = Module("m.py", program.text.encode())
        edits = Edits(module.text, module.newline)
        expected = []
        for statement in module.statements:
            start, end = statement.block_start, module.after_line(statement.end)
            choice = data.draw(st.sampled_from(["keep", "delete", "before"]))
            if choice == "before":
                block = f"new{statement.index} = 1\n"
                edits.insert_block(start, Block(block, data.draw(st.integers(0, 2)), 1))
                expected.append(block.strip())
            if choice == "delete":
                edits.delete_lines(start, end)
            else:
                expected.append(module.text[start : statement.end])
        result = Module("m.py", edits.apply().encode())
        found = [result.text[s.block_start : s.end] for s in result.statements]
        assert found == expected
        assert edits or result.text == module.text
