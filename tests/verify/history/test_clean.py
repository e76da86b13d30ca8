"""A tree in which nothing is uncommitted, and every way in which something is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.verify.histories import BEFORE, PLAN, PLAN_PATH, History
from transforms.errors import Refusal
from verify import cli
from verify.history.clean import require_clean

FILES = {**BEFORE, PLAN_PATH: PLAN, ".gitignore": "*.log\n"}
Change = Callable[[History], object]


@pytest.fixture
def history(tmp_path: Path) -> History:
    made = History(tmp_path / "repo")
    made.commit(FILES)
    return made


def staged_and_taken_back(history: History) -> None:
    (history.folder / "till.py").write_text("x = 1\n")
    history.git("add", "till.py")
    (history.folder / "till.py").write_text(BEFORE["till.py"])


UNCLEAN: dict[str, tuple[Change, str]] = {
    "changed": (lambda h: (h.folder / "till.py").write_text("x = 1\n"), "till.py"),
    "gone": (lambda h: (h.folder / "till.py").unlink(), "till.py"),
    "new": (lambda h: (h.folder / "new.txt").write_text("x\n"), "new.txt"),
    "new in a folder": (lambda h: (h.folder / "shop/new.py").write_text("x\n"), "shop/new.py"),
    "executable": (lambda h: (h.folder / "till.py").chmod(0o755), "till.py"),
    "staged and taken back": (staged_and_taken_back, "till.py"),
    "removed from the index": (lambda h: h.git("rm", "-q", "--cached", "till.py"), "till.py"),
    "a link": (lambda h: (h.folder / "to").symlink_to("till.py"), "to"),
}


@pytest.mark.parametrize(("change", "path"), UNCLEAN.values(), ids=UNCLEAN)
def test_what_is_not_committed_is_named(history: History, change: Change, path: str) -> None:
    require_clean(history.folder)
    change(history)
    with pytest.raises(Refusal) as refused:
        require_clean(history.folder)
    assert refused.value.kind == "unclean-tree"
    assert refused.value.place is not None
    assert refused.value.place.path == path


def test_what_git_ignores_is_nobodys_business(history: History) -> None:
    (history.folder / "x.log").write_text("x\n")
    require_clean(history.folder)


def test_what_only_a_filter_could_tell_is_in_doubt(history: History) -> None:
    (history.folder / ".git/info/attributes").write_text("*.py filter=x\n")
    history.git("config", "filter.x.clean", "false")
    (history.folder / "till.py").write_text("x = 1\n")
    with pytest.raises(Refusal, match=r"till\.py") as refused:
        require_clean(history.folder)
    assert refused.value.kind == "unclean-tree"


def test_many_are_counted(history: History) -> None:
    for number in range(9):
        (history.folder / f"new{number}.txt").write_text("x\n")
    with pytest.raises(Refusal, match=r"`new4\.txt` and 4 more\."):
        require_clean(history.folder)


def test_a_bare_repository_has_nothing_to_be_clean(history: History, tmp_path: Path) -> None:
    history.git("clone", "--quiet", "--bare", ".", str(tmp_path / "bare"))
    with pytest.raises(Refusal) as refused:
        require_clean(tmp_path / "bare")
    assert refused.value.kind == "bare-repository"


def test_write_asks_for_it(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    plan = str(history.folder / PLAN_PATH)
    command = ["apply", plan, "--repo", str(history.folder), "--clean"]
    assert cli.run(command) == 2
    assert "--clean is about what --write may overwrite" in capsys.readouterr().err
    (history.folder / "new.txt").write_text("x\n")
    assert cli.run([*command, "--write"]) == 2
    assert "refused (unclean-tree)" in capsys.readouterr().err
    assert not (history.folder / "shop/money.py").exists()
    (history.folder / "new.txt").unlink()
    assert cli.run([*command, "--write"]) == 0
    assert (history.folder / "shop/money.py").exists()
