"""Properties of moves of whole modules and packages, on generated programs that run."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.effort import examples
from tests.transforms.case import MemoryTree
from tests.transforms.shop_programs import CALLERS, Maker, run, run_one
from transforms.engine import apply
from transforms.errors import Refusal
from transforms.reading.load import parse_plan
from transforms.result.changes import REGULAR, Blob
from transforms.result.outcome import Outcome

Files = Mapping[str, str]
Moves = Sequence[tuple[str, str]]
INSIDE: list[Moves] = [
    [("shop.store", "shop.cellar.store")],
    [("shop.store", "shop.cellar.crate")],
    [("shop.store", "shop.vault")],
    [("shop/store.py", "shop/store/__init__.py")],
    [("shop", "mart")],
    [("shop.inner", "shop.cellar.inner")],
    [("shop.store", "shop.cellar.store"), ("shop.till", "shop.cellar.till"),
     ("shop.inner", "shop.nook")],
]  # fmt: skip
# Dots do not reach over the top, so what is relative comes back by its whole name.
ELSEWHERE: list[Moves] = [[("shop.store", "depot")], [("shop.inner", "outer")]]
WIDTH = 66  # no import of such a program is longer, and none gets too long for its line


def plan_of(moves: Moves, extra: str = "") -> str:
    tables = [
        f"[[move]]\n{'path' if '/' in old else 'module'} = '{old}'\nto = '{new}'\n{extra}"
        for old, new in moves
    ]
    return "format = 1\nformatters = 'none'\n" + "".join(tables)


def moved(files: Files, plan: str) -> tuple[dict[str, str], Outcome]:
    blobs = {path: Blob(text.encode(), REGULAR) for path, text in files.items()}
    outcome = apply(parse_plan(plan.encode(), "plan.toml"), MemoryTree(blobs))
    after = dict(files)
    for path, change in outcome.changes.items():
        if change.after is None:
            del after[path]
        else:
            after[path] = change.after.data.decode()
    return after, outcome


def path_after(path: str, outcome: Outcome) -> str:
    for item in outcome.relocated:
        if path == item.old_path:
            return item.new_path
        if path.startswith(item.old_path + "/"):
            return item.new_path + path[len(item.old_path) :]
    return path


def short_program(seed: int) -> dict[str, str]:
    files = Maker(seed).program()
    lines = [line for text in files.values() for line in text.splitlines()]
    assume(not any("import" in line and len(line) > WIDTH for line in lines))
    return files


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(0, 1 << 30), st.sampled_from([*INSIDE, *ELSEWHERE]))
def test_programs_give_what_they_gave(seed: int, moves: Moves) -> None:
    files = Maker(seed).program()
    after, outcome = moved(files, plan_of(moves))
    found = {path: run_one(after, path_after(path, outcome)) for path in CALLERS}
    assert found == run(files)


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(0, 1 << 30), st.sampled_from(INSIDE))
def test_there_and_back_restores_every_byte(seed: int, moves: Moves) -> None:
    files = short_program(seed)
    there, _ = moved(files, plan_of(moves))
    again, _ = moved(there, plan_of([(new, old) for old, new in reversed(moves)]))
    assert again == files


@settings(max_examples=examples(15), deadline=None)
@given(st.integers(0, 1 << 30), st.sampled_from(INSIDE), st.sampled_from(["warn", "reexport"]))
def test_the_way_back_over_what_stayed_at_the_old_path_restores_it(
    seed: int, moves: Moves, kept: str
) -> None:
    files = short_program(seed)
    there, _ = moved(files, plan_of(moves, f"old = '{kept}'\n"))
    again, _ = moved(there, plan_of([(new, old) for old, new in reversed(moves)]))
    assert again == files


@settings(max_examples=examples(15), deadline=None)
@given(st.integers(0, 1 << 30), st.sampled_from([*INSIDE, *ELSEWHERE]), st.booleans())
def test_a_second_run_says_that_it_was_applied(seed: int, moves: Moves, warns: bool) -> None:
    plan = plan_of(moves, "old = 'warn'\n" if warns else "")
    there, _ = moved(Maker(seed).program(), plan)
    with pytest.raises(Refusal) as refused:
        moved(there, plan)
    assert refused.value.kind == "already-applied"


@settings(max_examples=examples(15), deadline=None)
@given(st.integers(0, 1 << 30), st.integers(0, 99), st.sampled_from([*INSIDE, *ELSEWHERE]))
def test_neither_the_order_of_files_nor_that_of_the_tables_matters(
    seed: int, shuffle: int, moves: Moves
) -> None:
    files = Maker(seed).program()
    after, outcome = moved(files, plan_of(moves))
    chance = random.Random(shuffle)  # noqa: S311 - an order, not a secret
    paths, tables = list(files), list(moves)
    chance.shuffle(paths)
    chance.shuffle(tables)
    again, other = moved({path: files[path] for path in paths}, plan_of(tables))
    assert (again, other.callers, other.notes) == (after, outcome.callers, outcome.notes)


@pytest.mark.parametrize("moves", [*INSIDE, *ELSEWHERE], ids=lambda moves: moves[0][1])
def test_a_program_runs_in_a_process_of_its_own(moves: Moves, tmp_path: Path) -> None:
    files = Maker(7).program()
    after, outcome = moved(files, plan_of(moves))
    given_by = []
    for number, (tree, caller) in enumerate(
        [(files, "shop/till.py"), (after, path_after("shop/till.py", outcome))]
    ):
        for path, text in tree.items():
            file = tmp_path / str(number) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        name = caller.removesuffix(".py").replace("/", ".")
        done = subprocess.run(
            [sys.executable, "-c", f"import json, {name} as m; print(json.dumps(m.run()))"],
            cwd=tmp_path / str(number),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        given_by.append(json.loads(done.stdout))
    assert given_by[0] == given_by[1] != []
