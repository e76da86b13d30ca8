"""Code on a page: its text is never changed, only coloured and cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.report.exhibits import Excerpt, Sides, Text
from verify.report.page.code import Line, Painter, block
from verify.report.page.elements import written

CODE = '''\
@cached
class Money:
    """A sum
    of money."""

    cent = 1  # the least

    def pay(self, name="x"):
        return not len(name)
'''


def shown(line: Line) -> str:
    return "".join(text for _, text in line.spans)


def whole(text: Text) -> Excerpt:
    return Excerpt.of(text, 1, len(text.lines))


def classes(line: Line) -> dict[str, str]:
    return {text.strip(): name for name, text in line.spans if name}


def test_code_is_coloured_by_what_it_is() -> None:
    lines = Painter().lines(whole(Text("a.py", tuple(CODE.splitlines()))))
    assert classes(lines[0]) == {"@cached": "d"}
    assert classes(lines[1]) == {"class": "k", "Money": "d"}
    assert classes(lines[5]) == {"1": "n", "# the least": "c"}
    assert classes(lines[8]) == {"return": "k", "not": "k", "len": "b"}


def test_a_line_inside_a_string_is_a_string_though_only_it_is_shown() -> None:
    excerpt = Excerpt(Text("a.py", tuple(CODE.splitlines())), (4,))
    (line,) = Painter().lines(excerpt)
    assert [name for name, _ in line.spans if name] == ["s"]


ODD = {
    "a byte order mark": "\ufeffimport os",
    "a form feed": "x = 1\x0cy = 2",
    "a string that never ends": "x = 'abc",
    "no Python at all": "<<< ??? $$$",
    "a carriage return within": "x = 1\rz",
    "a null": "x = \0",
}


@pytest.mark.parametrize("code", ODD.values(), ids=ODD)
def test_colour_leaves_odd_text_as_it_is(code: str) -> None:
    text = Text("a.py", tuple(code.split("\n")))
    assert [shown(line) for line in Painter().lines(whole(text))] == list(text.lines)


@given(st.text(max_size=200))
def test_colour_leaves_any_text_as_it_is(code: str) -> None:
    text = Text("a.py", tuple(code.split("\n")))
    assert [shown(line) for line in Painter().lines(whole(text))] == list(text.lines)


def test_lines_asked_for_in_any_order_are_the_same() -> None:
    text = Text("a.py", tuple(CODE.splitlines()))
    backwards, forwards = Painter(), Painter()
    last = backwards.lines(Excerpt(text, (9,)))
    assert [*backwards.lines(Excerpt.of(text, 1, 8)), *last] == forwards.lines(whole(text))


def test_what_is_no_python_is_plain() -> None:
    (line,) = Painter().lines(whole(Text("a.toml", ("class = 1",))))
    assert line.spans == (("", "class = 1"),)


def numbered(count: int, start: int = 0) -> list[str]:
    return [f"x{n} = {n}" for n in range(start, start + count)]


def sides(old: list[str], new: list[str]) -> tuple[list[Line], list[Line]]:
    left, right = Text("a.py", tuple(old)), Text("b.py", tuple(new))
    return Painter().sides(Sides(whole(left), whole(right)))


def test_the_same_code_keeps_its_own_numbers_on_each_side() -> None:
    text, other = Text("a.py", tuple(numbered(9))), Text("b.py", tuple(numbered(3, 4)))
    left, right = Painter().sides(Sides(Excerpt.of(text, 5, 7), Excerpt.of(other, 1, 3)))
    assert [line.number for line in left] == [5, 6, 7]
    assert [line.number for line in right] == [1, 2, 3]
    assert list(map(shown, left)) == list(map(shown, right))


def test_of_a_long_body_that_is_the_same_the_middle_is_counted() -> None:
    left, right = sides(numbered(500), numbered(500))
    assert len(left) == len(right) < 60
    assert "... 452 lines, the same on both sides" in map(shown, left)


def test_a_difference_far_down_a_long_body_is_shown() -> None:
    old = numbered(500)
    new = [*old[:400], "y = 1", "z = 2", *old[401:]]
    left, right = sides(old, new)
    assert len(left) == len(right) < 60
    assert [shown(line) for line in left if line.mark == "-"] == ["x400 = 400"]
    assert [shown(line) for line in right if line.mark == "+"] == ["y = 1", "z = 2"]


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
def test_each_line_stands_beside_its_counterpart(old: list[str], new: list[str]) -> None:
    left, right = sides(old, new)
    assert len(left) == len(right)
    for one, other in zip(left, right, strict=True):
        if one.mark == other.mark == " " and one.number and other.number:
            assert shown(one) == shown(other)
    assert [shown(line) for line in left if line.mark == "-"] == [
        shown(line) for line in left if line.mark == "-" and line.number
    ]


def test_blank_lines_are_counted_so_that_none_pushes_code_out_of_sight() -> None:
    lines = Painter().lines(whole(Text("a.py", ("a = 1", *[""] * 500, "b = 2"))))
    page = written(block(lines, "code"))
    assert "... 500 blank lines" in page
    assert len(page) < 1_000


def test_a_page_has_room_for_so_many_lines_of_moved_code_and_no_more() -> None:
    text = Text("a.py", tuple(numbered(60)))
    painter = Painter()
    rows = [painter.sides(Sides(whole(text), whole(text)))[0] for _ in range(200)]
    assert sum(map(len, rows)) < 6_400
    assert shown(rows[-1][-1]) == "... 60 lines, left out"
