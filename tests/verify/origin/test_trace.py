"""Lines are followed through moves that replay exactly, by `-C` elsewhere, and past no other."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.transforms.checkouts import run_git
from tests.verify.histories import AFTER, BEFORE, PLAN, PLAN_PATH, History
from transforms.errors import Refusal
from verify.chain.cache import VerdictCache
from verify.chain.links import PROVED, judge_chain
from verify.origin.asked import asked
from verify.origin.trace import Origin, Traced, trace

CLAIM = f"Move Money\n\nMechanical-Move: {PLAN_PATH}\n"
# Two classes that end alike: only the plan tells whose lines are whose.
ORDERS = (
    "import decimal\n\n\n"
    "class Coin:\n    worth = 1\n\n    def pay(self):\n        return None\n\n\n"
    "class Money:\n    cent = decimal.Decimal(1)\n\n    def pay(self):\n        return None\n\n\n"
    "def pay():\n    return 'paid'\n"
)
MONEY = (
    "import decimal\n\n\n"
    "class Money:\n    cent = decimal.Decimal(1)\n\n    def pay(self):\n        return None\n"
)
FIRST = {
    **BEFORE,
    "shop/orders.py": ORDERS.replace("        return None\n\n\ndef", "        return 0\n\n\ndef"),
}
SECOND = {**FIRST, "shop/orders.py": ORDERS}
PLANNED = {**SECOND, PLAN_PATH: PLAN}
MOVED = {
    **AFTER,
    PLAN_PATH: PLAN,
    "shop/orders.py": (
        "class Coin:\n    worth = 1\n\n    def pay(self):\n        return None\n\n\n"
        "def pay():\n    return 'paid'\n"
    ),
    "shop/money.py": MONEY,
}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPOT_CACHE", str(tmp_path / "cache"))


def traced(history: History, file: str, rev: str = "HEAD", *, kept: bool = False) -> Traced:
    verdicts = VerdictCache() if kept else None
    (found,) = trace(asked(history.folder, [file], rev), verdicts=verdicts)
    check(history, found)
    return found


def check(history: History, found: Traced) -> None:
    """No line is credited to a place where its text is not."""
    texts: dict[tuple[str, str], list[bytes]] = {}
    for line in found.lines:
        at = line.commit, line.path
        if at not in texts:
            printed = run_git(history.folder, "cat-file", "blob", f"{line.commit}:{line.path}")
            texts[at] = printed.split(b"\n")
        assert texts[at][line.line - 1] == line.text


def places(found: Traced) -> list[tuple[str, str, int]]:
    return [(line.commit, line.path, line.line) for line in found.lines]


def by_git(history: History, *arguments: str) -> list[tuple[str, str, int]]:
    """What git itself credits each line to."""
    found = []
    commit, number = "", 0
    for row in run_git(history.folder, "blame", "--line-porcelain", *arguments).split(b"\n"):
        first, _, rest = row.partition(b" ")
        if first == b"filename":
            found.append((commit, rest.decode(), number))
        elif len(first) == 40:
            commit, number = first.decode(), int(rest.split()[0])
    return found


@pytest.fixture(scope="module")
def proved(tmp_path_factory: pytest.TempPathFactory) -> History:
    """Two commits of the module, the plan, and the move, which it gives."""
    history = History(tmp_path_factory.mktemp("proved") / "repo")
    for files, message in ((FIRST, "1"), (SECOND, "2"), (PLANNED, "plan"), (MOVED, CLAIM)):
        history.commit(files, message)
    return history


class TestMoves:
    @pytest.fixture
    def history(self, tmp_path: Path) -> History:
        return History(tmp_path / "repo")

    def test_each_line_is_that_of_its_own_statement(self, proved: History) -> None:
        first, second, _, move = proved.git("rev-list", "--reverse", "HEAD").split()
        found = traced(proved, "shop/money.py")
        assert {line.path for line in found.lines} == {"shop/orders.py"}
        by_text = {line.text: line for line in found.lines}
        assert by_text[b"class Money:"].line == 11
        assert by_text[b"class Money:"].commit == first
        assert by_text[b"        return None"].commit == second, (
            "git gives it to Coin's, of the first"
        )
        (passed,) = by_text[b"class Money:"].passed
        assert (passed.commit, passed.plan, passed.step.kind) == (move, PLAN_PATH, "moved")
        assert by_text[b"import decimal"].line == 1

    def test_a_claim_that_is_not_proved_is_followed_no_further(self, history: History) -> None:
        history.commit(FIRST)
        history.commit(PLANNED)
        move = history.commit({**MOVED, "till.py": "print()\n"}, CLAIM)
        found = traced(history, "shop/money.py", kept=True)
        assert {line.commit for line in found.lines} == {move}
        assert all(line.claim is not None for line in found.lines)
        (claim,) = found.claims
        assert claim.fault == "it differs from what its plan gives, first at till.py:1"
        assert traced(history, "shop/money.py", kept=True).lines == found.lines, "as it was kept"

    def test_a_whole_file_that_git_calls_renamed_is_no_way_past_such_a_claim(
        self, history: History
    ) -> None:
        history.commit({"a.py": MONEY, PLAN_PATH: PLAN})
        move = history.commit({"b.py": MONEY, PLAN_PATH: PLAN}, CLAIM)
        after = history.commit({"b.py": f"{MONEY}\n", PLAN_PATH: PLAN})
        found = traced(history, "b.py")
        assert [line.commit for line in found.lines] == [move] * 8 + [after]
        assert found.lines[0].claim is not None
        assert "its plan is refused" in found.lines[0].claim.fault
        assert found.lines[0].claim.unjudged

    @pytest.mark.parametrize(
        ("message", "fault"),
        [
            (f"{CLAIM}Mechanical-Move: another.toml\n", "2 Mechanical-Move trailers"),
            ("Move\n\nMechanical-Mvoe: plans/split.toml\n", "nearly Mechanical-Move"),
            ("Move\n\nMechanical-Move: plans/none.toml\n", "its parent has no plan"),
        ],
    )
    def test_a_faulty_trailer_claims_as_much(
        self, history: History, message: str, fault: str
    ) -> None:
        history.commit(PLANNED)
        move = history.commit(MOVED, message)
        found = traced(history, "shop/money.py")
        assert {line.commit for line in found.lines} == {move}
        assert fault in found.claims[0].fault

    def test_a_merge_that_claims_a_move_is_followed_no_further(self, history: History) -> None:
        history.commit(PLANNED)
        history.git("checkout", "--quiet", "-b", "side")
        history.commit({**PLANNED, "a.py": "a = 1\n"})
        history.git("checkout", "--quiet", "-")
        history.git("merge", "--quiet", "--no-ff", "--no-commit", "side")
        merge = history.commit({**MOVED, "a.py": "a = 1\n"}, CLAIM)
        found = traced(history, "shop/money.py")
        assert {line.commit for line in found.lines} == {merge}
        assert found.claims[0].fault == "a merge claims to be a mechanical move"
        assert traced(history, "a.py").claims == ()

    def test_a_first_commit_that_claims_a_move_is_where_history_ends(
        self, history: History
    ) -> None:
        first = history.commit(MOVED, CLAIM)
        (line,) = traced(history, "shop/money.py:1").lines
        assert (line.commit, line.boundary) == (first, True)
        assert line.claim is not None
        assert line.claim.fault == "a first commit claims to be a mechanical move"

    def test_a_claim_with_which_a_shallow_clone_begins_is_no_claim(
        self, history: History, tmp_path: Path
    ) -> None:
        history.commit(PLANNED)
        move = history.commit(MOVED, CLAIM)
        history.commit({**MOVED, "a.py": "a = 1\n"})
        whole = {line.commit for line in traced(history, "shop/money.py", kept=True).lines}
        assert move not in whole
        shallow = History.__new__(History)
        shallow.folder = tmp_path / "shallow"
        url = history.folder.as_uri()
        history.git("clone", "--quiet", "--depth=2", url, str(shallow.folder))
        found = traced(shallow, "shop/money.py", kept=True)
        assert all(line.boundary and line.claim is None for line in found.lines)
        assert {line.commit for line in found.lines} == {move}
        assert traced(shallow, "shop/money.py", move).lines == found.lines

    def test_what_stays_is_followed_past_any_claim(self, history: History) -> None:
        first = history.commit(FIRST)
        history.commit({**PLANNED, "till.py": "print()\n"})
        history.commit(MOVED, CLAIM)
        found = traced(history, "shop/orders.py")
        assert found.lines[0].commit == first
        assert found.claims == ()

    def test_a_whole_module_is_followed(self, history: History) -> None:
        plan = (
            'format = 2\nformatters = "none"\n[[move]]\nmodule = "shop.orders"\nto = "shop.sales"'
        )
        first = history.commit({**FIRST, PLAN_PATH: plan})
        after = {p: t for p, t in FIRST.items() if p != "shop/orders.py"}
        after |= {
            "shop/sales.py": FIRST["shop/orders.py"],
            "till.py": BEFORE["till.py"].replace("shop.orders", "shop.sales"),
        }
        history.commit({**after, PLAN_PATH: plan}, CLAIM)
        found = traced(history, "shop/sales.py")
        assert places(found) == [(first, "shop/orders.py", n) for n in range(1, 20)]
        assert all(line.passed[0].step.kind == "moved" for line in found.lines)

    def test_the_verdict_of_a_chain_is_taken(
        self, proved: History, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        history = proved
        (one,) = asked(history.folder, ["shop/money.py"], "HEAD")
        base = asked(history.folder, ["till.py"], "HEAD^")[0].head
        (link,) = judge_chain(history.folder, base, one.head, jobs=1, cache=VerdictCache())
        assert link.judgement.verdict == PROVED
        monkeypatch.setattr("verify.origin.claims._replayed", _never)
        assert traced(history, "shop/money.py", kept=True).through("moved") == 8
        monkeypatch.setattr("verify.origin.steps.judged", _never)
        monkeypatch.setattr("verify.origin.steps.blame", _never)
        assert traced(history, "shop/money.py", kept=True).through("moved") == 8, "all of it kept"

    def test_a_claim_that_changed_nothing_in_the_file_is_not_judged(
        self, history: History, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = history.commit({**PLANNED, "a.py": "a = 1\n"})
        history.commit({**MOVED, "a.py": "a = 1\n"}, CLAIM)
        last = history.commit({**MOVED, "a.py": "a = 1\nb = 2\n"})
        monkeypatch.setattr("verify.origin.steps.judged", _never)
        for kept in (True, True, False):
            found = traced(history, "a.py", kept=kept)
            assert [line.commit for line in found.lines] == [first, last]

    def test_a_line_alone_is_answered_as_in_the_whole_file(self, proved: History) -> None:
        history = proved
        whole = traced(history, "shop/money.py").lines
        for first, last in ((4, 4), (2, 5)):
            some = traced(history, f"shop/money.py:{first}-{last}", kept=True)
            assert some.lines == whole[first - 1 : last]


def _never(*_: object, **__: object) -> Iterator[None]:
    raise AssertionError("nothing is to be judged anew")


LONG = "".join(f"def number_{n}():\n    return 'the number {n} itself'\n\n\n" for n in range(9))


class TestWithoutClaims:
    """Where nobody claims a move it is `git blame -C`."""

    @pytest.fixture
    def history(self, tmp_path: Path) -> History:
        return History(tmp_path / "repo")

    def test_a_renamed_file(self, history: History) -> None:
        first = history.commit({"a.py": LONG})
        history.commit({"b.py": LONG.replace("number 4", "NUMBER 4")})
        found = traced(history, "b.py")
        assert {line.commit for line in found.lines} == {first, history.git("rev-parse", "HEAD")}
        assert places(found) == by_git(history, "-C", "HEAD", "b.py")

    def test_a_part_that_is_cut_out(self, history: History) -> None:
        history.commit({"a.py": LONG, "c.py": "c = 1\n"})
        rows = LONG.splitlines(keepends=True)
        history.commit({"a.py": "".join(rows[12:]), "c.py": "c = 1\n" + "".join(rows[:12])})
        found = traced(history, "c.py")
        assert places(found) == by_git(history, "-C", "HEAD", "c.py")
        assert found.through("copied") == 12

    def test_a_merge(self, history: History) -> None:
        history.commit({"a.py": LONG})
        history.git("checkout", "--quiet", "-b", "side")
        history.commit({"a.py": LONG.replace("number 2", "NUMBER 2")})
        history.git("checkout", "--quiet", "-")
        history.commit({"a.py": LONG.replace("number 7", "NUMBER 7")})
        history.git("merge", "--quiet", "--no-commit", "side")
        merged = LONG.replace("number 2", "NUMBER 2").replace("number 7", "NUMBER 7")
        history.commit({"a.py": f"{merged}# the merge's own\n"}, "Merge")
        found = traced(history, "a.py")
        assert places(found) == by_git(history, "-C", "HEAD", "a.py")
        assert len({line.commit for line in found.lines}) == 4

    def test_bytes_that_are_no_text_everybody_reads(self, history: History) -> None:
        data = b"a\r\nb\xff\r\n\x0c\rc\nno end"
        (history.folder / 'odd \u00e9\n"x".txt').write_bytes(data)
        history.git("add", "--all")
        history.git("commit", "--quiet", "-m", "one")
        found = traced(history, 'odd \u00e9\n"x".txt')
        assert [line.text for line in found.lines] == data.split(b"\n")
        assert {line.path for line in found.lines} == {'odd \u00e9\n"x".txt'}
        (history.folder / "other").write_bytes(data)
        history.git("rm", "--quiet", 'odd \u00e9\n"x".txt')
        history.git("add", "--all")
        history.git("commit", "--quiet", "-m", "two")
        assert traced(history, "other").lines[0].path == 'odd \u00e9\n"x".txt'

    def test_an_empty_file(self, history: History) -> None:
        history.commit({"a.py": ""})
        assert traced(history, "a.py").lines == ()

    def test_a_shallow_clone(self, history: History, tmp_path: Path) -> None:
        history.commit({"a.py": LONG})
        second = history.commit({"a.py": f"{LONG}# more\n"})
        third = history.commit({"a.py": f"{LONG}# more\n# and more\n"})
        folder = tmp_path / "shallow"
        url = history.folder.as_uri()
        subprocess.run(["git", "clone", "-q", "--depth=2", url, str(folder)], check=True)
        shallow = History.__new__(History)
        shallow.folder = folder
        found = traced(shallow, "a.py")
        assert {line.commit for line in found.lines} == {second, third}
        assert [line.boundary for line in found.lines[-2:]] == [True, False]
        assert found.shallow

    @pytest.mark.parametrize("kind", ["worktree", "bare", "sha256", "partial"])
    def test_any_kind_of_repository(self, history: History, tmp_path: Path, kind: str) -> None:
        other = History.__new__(History)
        other.folder = tmp_path / "other\n\u00e9"
        if kind == "sha256":
            other.folder.mkdir()
            other.git("init", "--quiet", "--object-format=sha256")
            history = other
        history.commit({"a.py": LONG})
        history.commit({"b.py": LONG, "a.py": "a = 1\n"})
        if kind == "worktree":
            history.git("worktree", "add", "--quiet", "--detach", str(other.folder))
        elif kind != "sha256":
            history.git("config", "uploadpack.allowFilter", "true")
            how = ["--bare"] if kind == "bare" else ["--filter=blob:none", "--no-checkout"]
            url = history.folder.as_uri()
            history.git("clone", "--quiet", *how, url, str(other.folder))
        if kind == "partial":
            with pytest.raises(Refusal, match="fetch --refetch --no-filter origin"):
                traced(other, "b.py")
            return
        found = traced(other, "b.py")
        assert found.through("copied") == 36

    def test_no_setting_of_the_repository_has_a_say(self, history: History, tmp_path: Path) -> None:
        history.commit({"a.py": LONG, ".gitattributes": "*.py diff=run\n"})
        second = history.commit({"a.py": f"{LONG}# more\n", ".gitattributes": "*.py diff=run\n"})
        before = traced(history, "a.py")
        witness = tmp_path / "ran"
        (history.folder / "ignored").write_text(f"{second}\n")
        for name, value in {
            "diff.run.textconv": f"touch {witness}; cat",
            "blame.ignoreRevsFile": str(history.folder / "ignored"),
            "diff.algorithm": "nonsense",
            "blame.coloring": "repeatedLines",
            "mailmap.file": str(history.folder / "ignored"),
        }.items():
            history.git("config", name, value)
        assert traced(history, "a.py").lines == before.lines
        assert not witness.exists()

    def test_names_are_mapped_as_the_commit_has_it(self, history: History) -> None:
        mapped = {".mailmap": "Her Name <tests@repot.invalid>\n", "a.py": "a = 1\n"}
        first = history.commit(mapped)
        (history.folder / ".mailmap").write_text("Nobody <tests@repot.invalid>\n")
        assert traced(history, "a.py").details[first][0] == b"author Her Name"


def test_lines_are_counted_as_they_are_traced(tmp_path: Path) -> None:
    history = History(tmp_path / "repo")
    history.commit({"a.py": LONG})
    told: list[tuple[int, int]] = []
    trace(asked(history.folder, ["a.py"], "HEAD"), say=lambda done, of: told.append((done, of)))
    assert told == [(36, 36)]


def test_an_origin_is_a_value() -> None:
    assert Origin(1, b"", "a", "b", 1) == Origin(1, b"", "a", "b", 1)
