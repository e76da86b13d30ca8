"""An open branch, carried over a split: what follows the code, what is told, what is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.verify.carry.branches import (
    BASE,
    EARLIER,
    LATER,
    MOVE,
    ORDERS,
    SPLIT,
    TWO,
    Story,
)
from tests.verify.histories import AFTER, BEFORE, PLAN, PLAN_PATH
from verify import cli


@pytest.fixture
def story(tmp_path: Path) -> Story:
    return Story(tmp_path / "repo")


class TestWhatFollows:
    def test_edits_follow_the_code_and_new_callers_get_the_new_import(self, story: Story) -> None:
        old = [
            story.commit(TWO, "Two"),
            story.commit({"shop/orders.py": TWO["shop/orders.py"].replace("(2)", "(3)")}, "Three"),
            story.commit({"new.py": "from shop.orders import Money, pay\n\nprint(Money, pay)\n"}),
            story.commit({"till.py": BASE["till.py"] + "print(1)\n", "notes.txt": "a\r\nb"}),
        ]
        code, data = story.over()
        assert (code, data["outcome"]) == (0, "carried")
        new = story.git("rev-list", "--reverse", "main..feature").split()
        assert data["commits"] == [
            {"old": before, "new": after} for before, after in zip(old, new, strict=True)
        ]
        assert story.git("log", "--format=%s", "main..feature") == "Work\nWork\nThree\nTwo"
        assert story.git("rev-parse", "feature~4") == story.main == data["onto"]
        assert story.changed("feature~3") == {"shop/money.py"}
        for rev, cents in (("feature~3", "(2)"), ("feature", "(3)")):
            text = AFTER["shop/money.py"].replace("(1)", cents)
            assert story.text("shop/money.py", rev) == text
        assert story.text("new.py") == AFTER["till.py"]
        assert story.text("till.py") == AFTER["till.py"] + "print(1)\n"
        assert story.git("cat-file", "blob", "feature:notes.txt") == "a\r\nb"
        assert story.changed() == {"shop/money.py", "new.py", "till.py", "notes.txt"}

    def test_the_plan_may_be_inferred(self, tmp_path: Path) -> None:
        story = Story(tmp_path / "repo", BEFORE, AFTER, "Move money, by hand")
        story.commit(TWO)
        assert story.over()[0] == 0
        assert story.changed() == {"shop/money.py"}

    def test_the_plan_may_be_given(self, tmp_path: Path) -> None:
        story = Story(tmp_path / "repo", BEFORE, AFTER, "Move money, by hand")
        (tmp_path / "own.toml").write_text(PLAN)
        story.commit(TWO)
        assert story.over("--plan", str(tmp_path / "own.toml"))[0] == 0
        assert story.changed() == {"shop/money.py"}

    def test_a_file_that_the_split_deletes_is_asked_for_where_the_branch_changed_it(
        self, tmp_path: Path
    ) -> None:
        plan = f'{PLAN}\n[[author]]\nfile = "old.py"\ndelete = true\n'
        before = {**BASE, PLAN_PATH: plan, "old.py": "OLD = 1\n"}
        story = Story(tmp_path / "repo", before, {**SPLIT, PLAN_PATH: plan})
        story.commit(TWO, "Beside it")
        assert story.over()[0] == 0
        assert "old.py" not in story.files()
        story.git("branch", "--force", "feature", story.start)
        story.state = dict(before)
        story.commit({"old.py": None, "till.py": BEFORE["till.py"] + "print(1)\n"}, "Gone as well")
        assert story.over()[0] == 0
        assert story.changed() == {"till.py"}
        story.git("branch", "--force", "feature", story.start)
        story.state = dict(before)
        story.commit({"old.py": "OLD = 2\n", **TWO}, "Changed")
        code, data = story.over()
        assert (code, data["outcome"]) == (1, "stopped")
        assert "DU old.py" in story.git("-C", data["worktree"], "status", "--porcelain")
        assert story.carry("--abort")[0] == 0

    def test_several_splits_are_passed_in_their_order(self, story: Story) -> None:
        second = PLAN.replace('"shop.orders"', '"till"').replace("shop.money", "shop.keys")
        second = second.replace('"Money"', '"KEY"')
        story.git("switch", "--quiet", "--detach", story.start)
        before = {**BASE, "till.py": BASE["till.py"] + "KEY = 1\n", "plans/keys.toml": second}
        after = {**SPLIT, "till.py": AFTER["till.py"], "plans/keys.toml": second}
        moved = {**after, "till.py": after["till.py"] + "KEY = 1\n"}
        story.state = dict(before)
        story.git("branch", "--force", "feature", story.history.commit(before, "Start"))
        one = story.history.commit(moved, MOVE)
        two = story.history.commit(
            {**after, "shop/keys.py": "KEY = 1\n"}, "Keys\n\nMechanical-Move: plans/keys.toml"
        )
        story.git("switch", "--quiet", "--force", "main")
        story.commit({**TWO, "till.py": before["till.py"].replace("KEY = 1", "KEY = 2")})
        code, data = story.carry("feature", "--over", one, "--over", two, "--onto", two)
        assert code == 0, data
        assert story.changed("feature", two) == {"shop/money.py", "shop/keys.py"}
        assert story.text("shop/keys.py") == "KEY = 2\n"

    def test_it_ends_on_the_commit_that_is_named(self, story: Story) -> None:
        story.commit(TWO)
        assert story.over("--onto", story.split)[0] == 0
        assert story.git("rev-parse", "feature~") == story.split

    def test_a_renamed_source_is_followed_where_its_bytes_are_equal(self, story: Story) -> None:
        till = BASE["till.py"].replace("shop.orders", "shop.sales")
        renamed = {"shop/orders.py": None, "shop/sales.py": ORDERS, "till.py": till}
        story.commit(renamed, "Rename")
        story.commit({"shop/sales.py": TWO["shop/orders.py"]}, "Two")
        code, data = story.over()
        assert code == 0, data
        files = story.files()
        assert "shop/orders.py" not in files
        assert files["shop/sales.py"] == AFTER["shop/orders.py"]
        assert files["shop/money.py"] == AFTER["shop/money.py"].replace("(1)", "(2)")
        assert files["till.py"] == AFTER["till.py"].replace("orders", "sales")

    def test_a_renamed_and_changed_source_stops(self, story: Story) -> None:
        renamed = {"shop/orders.py": None, "shop/sales.py": TWO["shop/orders.py"]}
        story.commit(renamed)
        code, data = story.over()
        assert (code, data["refusal"]["kind"]) == (1, "carry-source")

    def test_a_file_that_the_branch_renamed_is_followed_where_the_split_changed_more(
        self, tmp_path: Path
    ) -> None:
        more = AFTER["till.py"] + "print('more')\n"
        story = Story(tmp_path / "repo", after={**SPLIT, "till.py": more})
        story.commit({"till.py": None, "cash.py": BASE["till.py"]}, "Rename")
        code, data = story.over()
        assert code == 0, data
        assert "till.py" not in story.files()
        assert story.text("cash.py") == more

    def test_a_move_with_a_trailer_is_carried_by_its_own_plan(self, story: Story) -> None:
        own = PLAN.replace("shop.money", "shop.paying").replace('"Money"', '"pay"')
        story.commit({"plans/own.toml": own}, "Plan")
        paid = "def pay():\n    return 'paid'\n"
        emptied = ORDERS.replace("\n\n\n" + paid, "\n")
        till = "from shop.orders import Money\nfrom shop.paying import pay\n\nprint(Money, pay)\n"
        moved = {"shop/orders.py": emptied, "shop/paying.py": paid, "till.py": till}
        story.commit(moved, "Move pay\n\nMechanical-Move: plans/own.toml")
        code, data = story.over()
        assert code == 0, data
        assert story.text("shop/paying.py") == paid
        assert story.text("till.py") == till.replace("shop.orders", "shop.money")
        assert cli.run(["chain", "main..feature", "--repo", str(story.folder), "--no-cache"]) == 0

    def test_a_module_that_went_elsewhere_whole_takes_its_edits_along(self, tmp_path: Path) -> None:
        plan = {PLAN_PATH: 'format = 2\n\n[[move]]\nmodule = "shop.orders"\nto = "shop.sales"\n'}
        till = BASE["till.py"].replace("shop.orders", "shop.sales")
        after = {path: text for path, text in BASE.items() if path != "shop/orders.py"}
        after |= {"shop/sales.py": ORDERS, "till.py": till, **plan}
        story = Story(tmp_path / "repo", {**BASE, **plan}, after)
        story.commit({**TWO, "new.py": BASE["till.py"]})
        code, data = story.over()
        assert code == 0, data
        assert story.changed() == {"shop/sales.py", "new.py"}
        assert story.text("shop/sales.py") == TWO["shop/orders.py"]
        assert story.text("new.py") == till

    def test_a_branch_that_made_the_same_move_keeps_what_it_did_then(self, story: Story) -> None:
        story.commit({"a.txt": "a\n"}, "Before")
        moved = {path: SPLIT[path] for path in ("shop/orders.py", "shop/money.py", "till.py")}
        story.commit(moved, MOVE)
        two = SPLIT["shop/money.py"].replace("(1)", "(2)")
        story.commit({"shop/money.py": two}, "Two")
        code, data = story.over()
        assert code == 0, data
        assert story.git("log", "--format=%s", "main..feature") == "Two\nBefore"
        assert story.changed() == {"a.txt", "shop/money.py"}
        assert story.text("shop/money.py") == two


class TestSymbols:
    def test_one_that_the_branch_deleted_is_dropped_and_told(self, story: Story) -> None:
        plan = PLAN.replace('["Money"]', '["Money", "Coin"]')
        story = with_coin(story.folder.parent / "coin", plan)
        till = BASE["till.py"].replace("Money, pay", "pay")
        story.commit({"shop/orders.py": without_money(), "till.py": till})
        code, data = story.over()
        assert code == 0, data
        assert [n["kind"] for n in data["notes"]] == ["dropped"]
        assert "Money" in data["notes"][0]["message"]
        assert story.text("shop/money.py") == "class Coin:\n    pass\n"

    def test_one_that_was_renamed_stays_with_its_neighbours(self, tmp_path: Path) -> None:
        story = with_coin(tmp_path / "coin", PLAN.replace('["Money"]', '["Money", "Coin"]'))
        till = BASE["till.py"].replace("Money", "Cash")
        orders = coined().replace("class Money", "class Cash")
        story.commit({"shop/orders.py": orders, "till.py": till})
        code, data = story.over()
        assert code == 0, data
        assert {n["kind"] for n in data["notes"]} == {"dropped", "added"}
        assert story.text("shop/money.py").count("class ") == 2
        assert "from shop.money import Cash" in story.text("till.py")

    @pytest.mark.parametrize(
        ("above", "home"),
        [("class Coin", "shop/money.py"), ("def pay", "shop/orders.py")],
        ids=["between two that move it moves", "between one that moves and one that stays, stays"],
    )
    def test_one_that_was_added_goes_where_those_around_it_go(
        self, above: str, home: str, tmp_path: Path
    ) -> None:
        story = with_coin(tmp_path / "coin", PLAN.replace('["Money"]', '["Money", "Coin"]'))
        orders = coined().replace(above, f"def count():\n    return 1\n\n\n{above}")
        story.commit({"shop/orders.py": orders})
        code, data = story.over()
        assert code == 0, data
        assert story.changed() == {home}
        assert "def count" in story.text(home)
        assert [n["kind"] for n in data["notes"]] == ["added"]

    def test_one_that_was_added_between_the_two_goes_with_who_uses_it(self, tmp_path: Path) -> None:
        story = Story(tmp_path / "repo")
        orders = TWO["shop/orders.py"].replace("(2)", "(two())")
        orders = orders.replace("def pay", "def two():\n    return 2\n\n\ndef pay")
        orders = orders.replace("    cent = d", "    def cent(self):\n        return d")
        story.commit({"shop/orders.py": orders})
        code, data = story.over()
        assert code == 0, data
        assert story.changed() == {"shop/money.py"}
        assert "def two" in story.text("shop/money.py")

    def test_where_the_source_goes_a_person_is_asked(self, tmp_path: Path) -> None:
        plan = PLAN.replace("[[destination]]", 'emptied = "delete"\n\n[[destination]]')
        plan += '\n[[destination]]\nmodule = "shop.paying"\nsymbols = ["pay"]\n'
        gone = {path: text for path, text in SPLIT.items() if path != "shop/orders.py"}
        till = "from shop.money import Money\nfrom shop.paying import pay\n\nprint(Money, pay)\n"
        paying = {"shop/paying.py": "def pay():\n    return 'paid'\n", "till.py": till}
        story = Story(
            tmp_path / "r", {**BASE, PLAN_PATH: plan}, {**gone, **paying, PLAN_PATH: plan}
        )
        tip = story.commit(
            {"shop/orders.py": ORDERS.replace("def pay", "def count():\n    return 1\n\n\ndef pay")}
        )
        code, data = story.over()
        assert (code, data["refusal"]["kind"]) == (2, "carry-where")
        assert "--put count=MODULE" in data["refusal"]["next_step"]
        assert story.git("rev-parse", "feature") == tip
        assert not story.left()
        code, data = story.over("--put", "count=shop.paying")
        assert code == 0, data
        assert story.changed() == {"shop/paying.py"}
        assert story.over("--put", "count=nowhere")[0] == 2


def coined() -> str:
    coin = "class Coin:\n    pass\n\n\n"
    return ORDERS.replace("def pay", f"{coin}def pay")


def without_money() -> str:
    return "class Coin:\n    pass\n\n\ndef pay():\n    return 'paid'\n"


def with_coin(folder: Path, plan: str) -> Story:
    money = AFTER["shop/money.py"] + "\n\nclass Coin:\n    pass\n"
    before = {**BASE, "shop/orders.py": coined(), PLAN_PATH: plan}
    return Story(folder, before, {**SPLIT, "shop/money.py": money, PLAN_PATH: plan})


class TestLiteralText:
    EDIT = (
        "\n[[author]]\nfile = \"shop/orders.py\"\nold = '''\n    return 'paid'\n'''\n"
        "new = '''\n    return 'paid!'\n'''\n"
    )

    def story(self, folder: Path) -> Story:
        plan = PLAN + self.EDIT
        orders = AFTER["shop/orders.py"].replace("'paid'", "'paid!'")
        after = {**SPLIT, "shop/orders.py": orders, PLAN_PATH: plan}
        return Story(folder, {**BASE, PLAN_PATH: plan}, after)

    def test_it_is_left_out_where_it_does_not_fit(self, tmp_path: Path) -> None:
        story = self.story(tmp_path / "r")
        again = "def twice():\n    if pay():\n        return 2\n    return 'paid'\n\n\n"
        story.commit({"shop/orders.py": ORDERS.replace("def pay", f"{again}def pay")})
        code, data = story.over()
        assert code == 0, data
        assert {n["kind"] for n in data["notes"]} == {"skipped", "added"}
        assert story.text("shop/orders.py") == again + AFTER["shop/orders.py"].replace("d'", "d!'")

    def test_it_stops_where_the_branch_touched_it(self, tmp_path: Path) -> None:
        story = self.story(tmp_path / "r")
        story.commit({"shop/orders.py": ORDERS.replace("'paid'", "'PAID'")})
        code, data = story.over()
        assert (code, data["outcome"]) == (1, "stopped")
        assert [c["path"] for c in data["conflicts"]] == ["shop/orders.py"]


class TestWhatIsKept:
    def test_author_committer_dates_encoding_and_message(
        self, story: Story, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for who in ("AUTHOR", "COMMITTER"):
            monkeypatch.setenv(f"GIT_{who}_NAME", f"Ann {who}")
            monkeypatch.setenv(f"GIT_{who}_DATE", "1234567890 +0530")
        story.git("config", "i18n.commitEncoding", "latin-1")
        old = story.commit(TWO, "Zwei Pfennig\n\nDie Münze\n\n\nSigned-off-by: Ann")
        assert story.over()[0] == 0
        one, two = (
            story.git("cat-file", "commit", rev).split("\n", 2)[2] for rev in (old, "feature")
        )
        assert one == two
        assert "Ann COMMITTER" in two

    def test_the_old_tip_and_the_same_branch_gives_the_same_ids(self, story: Story) -> None:
        tips = []
        old = story.commit(TWO)
        for _ in range(2):
            assert story.over()[1]["kept"] == "refs/repot/carried/feature"
            assert story.git("rev-parse", "refs/repot/carried/feature") == old
            tips.append(story.git("rev-parse", "feature"))
            story.git("branch", "--force", "feature", old)
        assert tips[0] == tips[1] != old

    def test_signatures_are_dropped_and_counted(self, story: Story) -> None:
        story.commit(TWO)
        raw = story.git("cat-file", "commit", "feature")
        head, _, message = raw.partition("\n\n")
        head += "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n signed\n -----END PGP SIGNATURE-----"
        signed = _stored(story, f"{head}\n\n{message}\n")
        story.git("update-ref", "refs/heads/feature", signed)
        code, data = story.over()
        assert (code, data["signatures_dropped"]) == (0, 1)
        assert "gpgsig" not in story.git("cat-file", "commit", "feature")
        assert "\n signed" not in story.git("cat-file", "commit", "feature")

    def test_an_empty_commit_stays_and_one_that_main_has_is_dropped(self, story: Story) -> None:
        story.commit({}, "Nothing")
        story.commit(LATER, "The same as main's later commit")
        story.commit(TWO, "Two")
        code, data = story.over()
        assert code == 0, data
        assert story.git("log", "--format=%s", "main..feature") == "Two\nNothing"
        assert len(data["dropped"]) == 1

    def test_merges_of_main_are_left_out(self, story: Story) -> None:
        story.commit(TWO, "Two")
        story.git("switch", "--quiet", "feature")
        story.git("merge", "--quiet", "--no-edit", story.parent)
        story.git("switch", "--quiet", "main")
        story.state.update(EARLIER)
        story.commit({"a.txt": "a\n"}, "A")
        code, data = story.over()
        assert (code, len(data["merges"])) == (0, 1)
        assert story.git("log", "--format=%s", "main..feature") == "A\nTwo"
        assert story.changed() == {"shop/money.py", "a.txt"}


def _stored(story: Story, raw: str) -> str:
    file = story.folder.parent / "raw"
    file.write_text(raw)
    return story.git("hash-object", "-t", "commit", "-w", str(file))


class TestRefusals:
    def refused(self, story: Story, *arguments: str) -> dict[str, str]:
        tip = story.git("rev-parse", "feature")
        code, data = story.carry(*arguments)
        assert code == 2
        assert story.git("rev-parse", "feature") == tip
        assert not story.left()
        found: dict[str, str] = data["refusal"]
        return found

    def test_a_merge_of_another_branch(self, story: Story) -> None:
        story.commit({"a.txt": "a\n"})
        story.git("switch", "--quiet", "--create", "other", story.start)
        story.history.commit({**BASE, "b.txt": "b\n"}, "Other")
        story.git("switch", "--quiet", "feature")
        story.git("merge", "--quiet", "--no-edit", "other")
        merge = story.git("rev-parse", "HEAD")
        story.git("switch", "--quiet", "main")
        refusal = self.refused(story, "feature", "--over", story.split)
        assert refusal["kind"] == "merged-branch"
        assert merge in refusal["cause"]

    def test_what_there_is_nothing_to_do_for(self, story: Story) -> None:
        for _ in range(2):
            assert self.refused(story, "feature", "--over", story.split)["kind"] == "carry-nothing"
            story.git("branch", "--force", "feature", "main")

    def test_what_is_no_branch_or_no_split(self, story: Story) -> None:
        story.commit(TWO)
        for arguments, kind in (
            (("none", "--over", story.split), "unknown-branch"),
            (("feature", "--over", "none"), "unknown-revision"),
            (("feature", "--over", story.start), "carry-over"),
            (("feature", "--over", story.main), "nothing-moved"),
            (("feature", "--over", story.split, "--over", story.parent), "carry-over"),
            (("feature", "--over", story.split, "--onto", story.parent), "carry-over"),
        ):
            assert self.refused(story, *arguments)["kind"] == kind

    def test_a_branch_that_is_checked_out(self, story: Story) -> None:
        story.commit(TWO)
        story.git("switch", "--quiet", "feature")
        assert self.refused(story, "feature", "--over", story.split)["kind"] == "checked-out"

    def test_options_that_do_not_go_together(self, capsys: pytest.CaptureFixture[str]) -> None:
        for arguments in (
            ("--continue", "--abort"),
            ("feature", "--continue"),
            ("--over", "x"),
            ("feature",),
            ("a", "b", "--over", "x"),
            ("a", "--over", "x", "--put", "nothing"),
        ):
            assert cli.run(["carry", *arguments]) == 2
            assert "repot carry --help" in capsys.readouterr().err

    @pytest.mark.parametrize("mode", ["--continue", "--abort"])
    def test_nothing_to_go_on_with(self, mode: str, story: Story) -> None:
        assert self.refused(story, mode)["kind"] == "carry-nothing"
