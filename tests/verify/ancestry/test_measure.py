"""Ancestry: what blame traces past a move, in a repository of our own, and the stricter figure."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.verify.histories import AFTER, BEFORE, History
from transforms.tree import GitTree
from verify import cli
from verify.ancestry.explain import explainer
from verify.ancestry.measure import Ancestry, measure
from verify.proofs.certify import certify_commits
from verify.proofs.moved_names import find_moved, measure_move
from verify.reports.blame import total

_LONG = "\n".join(f"    value_{n} = 'a line that git can follow, number {n}'" for n in range(12))
_CLASS = f"class Money:\n{_LONG}\n"


def measured(repo: Path, base: str, target: str, sources: list[str], moved: list[str]) -> Ancestry:
    before, after = GitTree(repo, base), GitTree(repo, target)
    explain = explainer(after.read_many(moved), lambda: certify_commits(before, after))
    return measure(before, after, sources, moved, explain, jobs=2)


def moved_class(history: History) -> tuple[str, str]:
    moving = f"{_CLASS}    kind = re\n"
    orders = f"import os\nimport re\n\n\n{moving}\n\nx = os\n"
    base = history.commit({**BEFORE, "shop/orders.py": orders})
    target = history.commit(
        {
            **AFTER,
            "shop/orders.py": "import os\n\nx = os\n",
            "shop/money.py": f"import re\n{moving}",
        }
    )
    return base, target


def test_moved_lines_are_traced_and_the_others_explained(tmp_path: Path) -> None:
    history = History(tmp_path)
    base, target = moved_class(history)
    found = measured(tmp_path, base, target, ["shop/orders.py"], ["shop/money.py"])
    file = found.files[0]
    assert (file.lines, file.traced, file.strict) == (15, 14, 14)
    assert file.origins == (("shop/orders.py", 14),)
    assert [(line.line, line.operation) for line in file.untraced] == [(1, "derived import")]


def test_nothing_is_written_to_the_judged_repository(tmp_path: Path) -> None:
    history = History(tmp_path)
    base, target = moved_class(history)
    before = sorted(str(path) for path in (tmp_path / ".git").rglob("*"))
    measured(tmp_path, base, target, ["shop/orders.py"], ["shop/money.py"])
    assert sorted(str(path) for path in (tmp_path / ".git").rglob("*")) == before


def test_configuration_and_ignored_revisions_of_the_repository_change_nothing(
    tmp_path: Path,
) -> None:
    history = History(tmp_path)
    base, target = moved_class(history)
    plain = measured(tmp_path, base, target, ["shop/orders.py"], ["shop/money.py"])
    (tmp_path / "ignored").write_text(f"{target}\n")
    history.git("config", "blame.ignoreRevsFile", str(tmp_path / "ignored"))
    history.git("config", "diff.algorithm", "patience")
    history.git("config", "blame.showEmail", "true")
    history.git("replace", target, base)
    assert measured(tmp_path, base, target, ["shop/orders.py"], ["shop/money.py"]) == plain


def test_several_commits_are_squashed(tmp_path: Path) -> None:
    history = History(tmp_path)
    base = history.commit({**BEFORE, "shop/orders.py": f"{_CLASS}"})
    history.commit({**BEFORE, "shop/half.py": _CLASS})
    target = history.commit({**BEFORE, "shop/orders.py": "", "shop/money.py": _CLASS})
    found = measured(tmp_path, base, target, ["shop/orders.py"], ["shop/money.py"])
    assert (found.lines, found.traced) == (13, 13)


def test_files_too_large_to_unpack_are_blamed_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, target = moved_class(History(tmp_path))
    plain = measured(tmp_path, base, target, ["shop/orders.py"], ["shop/money.py"])
    monkeypatch.setattr("verify.history.scratch._MOST_UNPACKED", 0)
    assert measured(tmp_path, base, target, ["shop/orders.py"], ["shop/money.py"]) == plain


@pytest.mark.history
@pytest.mark.parametrize(
    ("repository", "base", "target", "names", "figures", "strict"),
    [
        (
            "alphabetc1-sglang.git",
            "e1955bf57ab39a4de7f7daf9a619e4f68f952ed9",
            "7e7e3820c26ba0609f017b99358172a9776197de",
            ["base", "common", "hisparse"],
            {"base": (171, 176), "common": (86, 93), "hisparse": (69, 71)},
            313,
        ),
        (
            "bytedance-iaas-sglang.git",
            "108a183f6b^",
            "108a183f6b",
            ["base", "mha"],
            {"base": (268, 270), "mha": (1227, 1233)},
            None,
        ),
        (
            "bytedance-iaas-sglang.git",
            "9dd57ef8c4^",
            "9dd57ef8c4",
            ["mla"],
            {"mla": (570, 573)},
            None,
        ),
    ],
    ids=["#27273", "6/N", "7/N"],
)
def test_the_figures_of_the_real_series(
    repository: str,
    base: str,
    target: str,
    names: list[str],
    figures: dict[str, tuple[int, int]],
    strict: int | None,
) -> None:
    folder = "python/sglang/srt/mem_cache"
    paths = [f"{folder}/pool_host/{name}.py" for name in names]
    repo = Path(os.environ["REPOT_HISTORIES"]) / repository
    found = measured(repo, base, target, [f"{folder}/memory_pool_host.py"], paths)
    got = {Path(file.path).stem: (file.traced, file.lines) for file in found.files}
    assert got == figures
    assert strict is None or found.strict == strict


def test_the_command_finds_the_files_and_prints_both_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base, target = moved_class(History(tmp_path))
    assert cli.run(["blame", f"{base}..{target}", "--repo", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "shop/money.py: 14/15 traced, 14 to the files they left" in out
    assert "line 1: derived import" in out


@pytest.mark.parametrize("commits", ["HEAD", "a...b", "..", "x..y..z"])
def test_a_range_that_is_none_is_refused(
    tmp_path: Path, commits: str, capsys: pytest.CaptureFixture[str]
) -> None:
    moved_class(History(tmp_path))
    code = cli.run(["blame", commits, "--repo", str(tmp_path)])
    assert (code, capsys.readouterr().out) == (2, "")


def test_a_change_that_moves_nothing_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    history = History(tmp_path)
    base = history.commit(BEFORE)
    target = history.commit({**BEFORE, "till.py": "print(1)\n"})
    assert cli.run(["blame", f"{base}..{target}", "--repo", str(tmp_path)]) == 0
    assert "No Python file received moved code." in capsys.readouterr().out


def test_imports_of_moved_modules_by_moved_modules_are_counted_beside(tmp_path: Path) -> None:
    history = History(tmp_path)
    money = f"import re\n\n{_CLASS}    kind = re\n"
    orders = f"from shop.money import Money\nfrom shop import far\n\n{_CLASS.replace('Mon', 'Ord')}"
    till = "from shop.orders import Ordey\n"
    shop = {"shop/__init__.py": "", "shop/far.py": "FAR = 1\n", "till.py": till}
    base = history.commit({**shop, "shop/money.py": money, "shop/orders.py": orders})
    target = history.commit(
        {
            **shop,
            "shop/new/__init__.py": "",
            "shop/new/money.py": money,
            "shop/new/orders.py": orders.replace("shop.money", "shop.new.money"),
            "till.py": till.replace("shop.orders", "shop.new.orders"),
        }
    )
    before, after = GitTree(tmp_path, base), GitTree(tmp_path, target)
    assert find_moved(before, after).destinations == ("shop/new/money.py", "shop/new/orders.py")
    found = measure_move(before, after, lambda: certify_commits(before, after))
    assert [(file.lines, file.traced, file.derived) for file in found.files] == [
        (16, 16, 0),
        (15, 15, 1),
    ]
    assert (found.lines, found.traced, found.strict, found.derived) == (31, 31, 31, 1)
    assert "; beside them 1 derived import line of moved modules." in total(found)


def test_a_module_that_defines_nothing_is_measured_where_it_went(tmp_path: Path) -> None:
    history = History(tmp_path)
    text = "".join(f"from shop.parts import a_name_long_enough_{n}\n" for n in range(5))
    base = history.commit({"shop/__init__.py": text})
    target = history.commit({"store/__init__.py": text.replace("_0", "_9")})
    moved = find_moved(GitTree(tmp_path, base), GitTree(tmp_path, target))
    assert (moved.sources, moved.destinations) == (("shop/__init__.py",), ("store/__init__.py",))
