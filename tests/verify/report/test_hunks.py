"""Hunks: what git shows of a file, and of places the lines to be read with those around them."""

from __future__ import annotations

from transforms.result.changes import Blob, Change
from verify.report.exhibits import Hunk, Text
from verify.report.hunks import change_hunks, file_hunks, place_hunks, shown_once

OLD = ("import a", "", "", "class Money:", "    def spend(self):", "        return 1", "", "x = 1")
NEW = (*OLD[:5], "        return 2", *OLD[6:])


def lines(hunk: Hunk) -> list[str]:
    return [f"{row.mark}{hunk.line_of(row)}" for row in hunk.rows]


def test_the_hunks_of_a_file_are_those_of_its_diff() -> None:
    change = Change("a.py", Blob("\n".join(OLD).encode()), Blob("\n".join(NEW).encode()))
    (hunk,) = change_hunks(change)
    diff = change.diff().decode().splitlines()
    at = next(number for number, line in enumerate(diff) if line.startswith("@@"))
    assert lines(hunk) == [line for line in diff[at + 1 :] if not line.startswith("\\")]
    assert hunk.head == "@@ -3,6 +3,6 @@ class Money > def spend"


def test_a_file_that_is_new_or_gone_or_binary() -> None:
    (come,) = change_hunks(Change("a.txt", None, Blob(b"x\ny\n")))
    assert (come.head, lines(come)) == ("@@ -0,0 +1,2 @@", ["+x", "+y"])
    (gone,) = change_hunks(Change("a.txt", Blob(b"x\n"), None))
    assert (gone.head, lines(gone), gone.path) == ("@@ -1 +0,0 @@", ["-x"], "a.txt")
    assert change_hunks(Change("a.bin", None, Blob(b"\0"))) == ()


def test_what_moved_away_between_is_no_line_of_a_place() -> None:
    old = Text("old.py", ("import a", "class Gone:", "    y = 1", "x = 1", "z = 1"))
    new = Text("old.py", ("import a", "x = 2", "z = 1"))
    (hunk,) = place_hunks(old, new, {4}, {2})
    assert lines(hunk) == [" import a", "-x = 1", "+x = 2", " z = 1"]
    assert hunk.head == "@@ +1,3 @@"
    assert hunk.marked == {("base", "old.py", 4), ("target", "old.py", 2)}


def test_what_was_edited_as_it_moved_has_two_files() -> None:
    old, new = Text("a.py", OLD), Text("b.py", NEW[3:6])
    (hunk,) = place_hunks(old, new, {6}, {3})
    assert lines(hunk)[-2:] == ["-        return 1", "+        return 2"]
    assert (hunk.path, hunk.line) == ("b.py", 3)


def test_a_line_that_did_not_change_is_pointed_at() -> None:
    text = Text("a.py", OLD)
    (hunk,) = place_hunks(text, text, (), (), (6, 99))
    assert lines(hunk)[3] == ">        return 1"
    assert hunk.heading == "class Money > def spend"
    assert hunk.marked == frozenset()


def test_a_line_to_look_at_that_was_another_is_shown_with_it() -> None:
    """`>` says that a line is as it was: of what git shows as changed it would be untrue."""
    old = Text("a.py", ("import b", "", "x = shop.orders.pay(", "    1,", ")", "y = 1"))
    new = Text("a.py", ("import a", "import b", "", "x = shop.money.pay(", *old.lines[3:]))
    (hunk,) = place_hunks(old, new, (), (), (1, 4, 7))
    assert lines(hunk) == [
        "+import a", " import b", " ", "-x = shop.orders.pay(", "+x = shop.money.pay(", "     1,",
        " )", ">y = 1",
    ]  # fmt: skip
    assert hunk.marked == {("target", "a.py", 1), ("base", "a.py", 3), ("target", "a.py", 4)}


def test_an_import_that_brings_less_is_shown_as_it_is_now() -> None:
    old = Text("a.py", ("import b", "from . import one, two", "", "x = 1", "y = 1"))
    new = Text("a.py", ("import b", "from . import two", "", "completely(different)", "y = 1"))
    (hunk,) = place_hunks(old, new, {2, 4}, ())
    assert [line for line in lines(hunk) if line[0] != " "] == [
        "-from . import one, two", "+from . import two", "-x = 1",
    ]  # fmt: skip


def test_code_that_came_from_elsewhere_is_as_it_was() -> None:
    old = Text("a.py", ("import b", "x = 1"))
    new = Text("a.py", ("import b", "def pay():", "    import c", "    return log.debug", "x = 1"))
    (hunk,) = place_hunks(old, new, (), (), (2, 4))
    assert [line[0] for line in lines(hunk)] == [" ", ">", " ", ">", " "]
    (hunk,) = place_hunks(Text("b.py", ()), new, (), (), (1,))
    assert lines(hunk)[0] == ">import b"


def test_places_near_each_other_are_one_hunk_and_far_ones_are_two() -> None:
    text = Text("a.txt", tuple(map(str, range(40))))
    assert len(place_hunks(text, text, (), (), (5, 12))) == 1
    assert len(place_hunks(text, text, (), (), (5, 13))) == 2


def test_a_file_that_does_not_parse_has_hunks_without_a_heading() -> None:
    old, new = Text("a.py", ("def f(:", "    x")), Text("a.py", ("def f(:", "    y"))
    assert [hunk.heading for hunk in file_hunks(old, new)] == [""]


def test_a_hunk_is_shown_once() -> None:
    text, seen = Text("a.txt", ("x",)), set[tuple[object, ...]]()
    assert len(shown_once(place_hunks(text, text, (), {1}), seen)) == 1
    assert shown_once(place_hunks(text, text, (), {1}), seen) == ()
