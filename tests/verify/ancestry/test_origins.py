"""What blame is spared: files that it compares in vain, and none that it would credit."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import examples
from tests.verify.histories import History
from transforms.tree import GitTree
from verify.ancestry import measure
from verify.ancestry.origins import irrelevant

_THIRTY_NINE = "x" * 39
_FORTY = "x" * 40


@pytest.mark.parametrize(
    ("shared", "other", "spared"),
    [
        pytest.param(f"{_FORTY}\n", f"a\n{_FORTY}\nb\n", False, id="a line of forty letters"),
        pytest.param(f"{_THIRTY_NINE}\n", f"a\n{_THIRTY_NINE}\n", True, id="one letter too few"),
        pytest.param("x" * 20 + "\n" + "y" * 20 + "\n", "x" * 20 + "\n" + "y" * 20 + "\n", False,
                     id="two lines together have forty"),
        pytest.param("x" * 20 + "\n" + "y" * 20 + "\n", "x" * 20 + "\nno\n" + "y" * 20 + "\n", True,
                     id="a line of its own between the two"),
        pytest.param("(" * 99 + "\n", "(" * 99 + "\n", True, id="brackets do not count"),
        pytest.param(f"{_FORTY}\r\n", f"{_FORTY}\n", True, id="another line ending"),
        pytest.param(f"{_FORTY}\n", f"{_FORTY}", False, id="no line ending at the end"),
        pytest.param(f"{_FORTY}\n", f" {_FORTY}\n", True, id="another indent is another line"),
    ],
)  # fmt: skip
def test_a_file_is_spared_only_if_it_shares_no_block(
    tmp_path: Path, shared: str, other: str, spared: bool
) -> None:
    history = History(tmp_path)
    base = history.commit({"old.py": f"{shared}rest\n", "other.py": other})
    target = history.commit({"old.py": "rest\n", "new.py": shared, "other.py": other})
    found = irrelevant(GitTree(tmp_path, base), GitTree(tmp_path, target), ["new.py"])
    assert ("other.py" in found) is spared
    assert "old.py" not in found  # it differs: git looks for renames among such


_LINES = st.sampled_from(
    ["a" * 14, "b" * 13, "c" * 20, "d" * 39, "e" * 40, "", "f", "(" * 40, "g" * 60]
)
_TEXTS = st.lists(_LINES, min_size=1, max_size=12).map(lambda lines: "\n".join([*lines, ""]))


@settings(max_examples=examples(12))
@given(st.lists(_TEXTS, min_size=1, max_size=5), _TEXTS, _TEXTS)
def test_blame_gives_the_same_origins_as_with_every_file(
    others: list[str], moved: str, rest: str
) -> None:
    same = {f"pkg/other_{number}.py": text for number, text in enumerate(others)}
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        history = History(Path(folder))
        base = history.commit({**same, "old.py": f"{rest}{moved}"})
        target = history.commit({**same, "old.py": rest, "new.py": f"h\n{moved}"})

        def measured() -> measure.Ancestry:
            before, after = (GitTree(Path(folder), commit) for commit in (base, target))
            return measure.measure(before, after, ["old.py"], ["new.py"], lambda *_: "")

        spared = measured()
        patch.setattr(measure, "irrelevant", lambda *_: ())
        assert spared == measured()
