"""Of whatever the mover moves, inference finds a plan that gives the same bytes."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import assume, event, given, settings

from tests.effort import examples
from tests.transforms.test_whole_moves import Files, moved, moves
from tests.verify.histories import History
from tests.verify.proofs.test_certified_moves import SETTINGS, result
from transforms.errors import Refusal
from transforms.tree import GitTree
from verify.inference.infer import Inferred, infer


def inferred(before: Files, after: Files) -> Inferred | None:
    """The plan behind a change; None where no name left a file for another."""
    with tempfile.TemporaryDirectory() as folder:
        history = History(Path(folder))
        commits = [
            history.commit({path: data.decode() for path, data in files.items()})
            for files in (before, after)
        ]
        base, target = (GitTree(history.folder, commit) for commit in commits)
        try:
            return infer(base, target)
        except Refusal as refusal:
            if refusal.kind != "nothing-moved":
                raise
            return None


@given(moves())
@settings(SETTINGS, max_examples=examples(25))
def test_a_plan_that_replays_is_found_for_what_the_mover_moves(move: tuple[Files, str]) -> None:
    after = result(move)
    assume(after is not None)
    found = inferred(move[0], after or {})
    event("nothing moved" if found is None else f"{found.plan.authored_lines > 0=}")
    if found is not None:
        assert found.replay.reproduces, found.text
        assert found.left == ()


def test_what_only_the_newer_format_gives_is_inferred_as_such() -> None:
    source = (
        "import typing as T\n\nif T.TYPE_CHECKING:\n    Names = list[str]\n\n\n"
        'def small(x: "Names"):\n    return x\n\n\ndef stays(x: "Names"):\n    return [x]\n'
    )
    files: Files = {"pkg/__init__.py": b"", "pkg/mono.py": source.encode()}
    plan = '[[source]]\nmodule = "pkg.mono"\n[[destination]]\nmodule = "pkg.core"\n'
    after, _ = moved(files, f'format = 2\n{plan}symbols = ["small"]\n')
    found = inferred(files, after)
    assert found is not None
    assert found.text.startswith("format = 2\n")
    assert found.plan.authored_lines == 0
    assert found.replay.reproduces


@given(moves())
@settings(SETTINGS, max_examples=examples(10))
def test_an_edit_beside_the_move_is_authored_and_no_line_more(move: tuple[Files, str]) -> None:
    files = {**move[0], "beside.py": b"RATE = 1\n\n\ndef rate():\n    return RATE\n"}
    after = result((files, move[1]))
    assume(after is not None and after.get("beside.py") == files["beside.py"])
    pure = inferred(files, after or {})
    edited = {**(after or {}), "beside.py": files["beside.py"].replace(b"RATE = 1", b"RATE = 2")}
    found = inferred(files, edited)
    if found is not None and pure is not None:
        assert found.replay.reproduces, found.text
        assert found.plan.authored_lines == pure.plan.authored_lines + 1


def test_symbols_that_all_left_for_another_module_are_seen_beside_an_edit() -> None:
    names = ["first", "second", "third"]
    body = "".join(f"    x += {line}\n" for line in range(20))
    source = "\n\n".join(f"def {name}(x):\n{body}    return x\n" for name in names)
    files: Files = {
        "pkg/__init__.py": b"",
        "pkg/mono.py": source.encode(),
        "beside.py": b"RATE = 1\n",
    }
    source_table = '[[source]]\nmodule = "pkg.mono"\nreexports = true\n'
    destination = f'[[destination]]\nmodule = "pkg.core"\nsymbols = {names}\n'
    after, _ = moved(files, f"format = 2\n{source_table}{destination}")
    found = inferred(files, {**after, "beside.py": b"RATE = 2\n"})
    assert found is not None
    assert found.replay.reproduces
    assert found.plan.authored_lines == 1
