"""The picture of a move: every flow counted, the largest drawn, no text wider than its box."""

from __future__ import annotations

import re

from tests.verify.page.pages import Read
from verify.report.exhibits import Figure, Flow
from verify.report.page.elements import written
from verify.report.page.figure import picture

ONE = Flow("shop/orders.py", "shop/money.py", ("Money", "CENT"), 12)


def drawn(figure: Figure) -> Read:
    return Read(written(picture(figure)))


def texts(page: str) -> list[str]:
    return re.findall(r"<text [^>]*>([^<]*)</text>", page)


def test_a_flow_leads_from_its_source_to_its_destination() -> None:
    page = written(picture(Figure((ONE,), frozenset({"shop/money.py"}), ("2 callers", "3 import"))))
    assert texts(page) == [
        "2 symbols, 12 lines", "shop/", "orders.py", "2 symbols leave, 12 lines",
        "shop/", "money.py", "new", "Money", "CENT", "2 callers", "3 import",
    ]  # fmt: skip


def test_who_cannot_see_it_is_told_the_same() -> None:
    text = drawn(Figure((ONE,), frozenset())).text
    assert "2 symbols from shop/orders.py to shop/money.py" in text
    assert "What moved, by file" in text


def test_the_largest_flows_are_drawn_and_all_are_listed() -> None:
    flows = tuple(Flow("a.py", f"b{n:02}.py", (f"N{n}",), n) for n in range(40))
    read = drawn(Figure(flows, frozenset()))
    curves = [found for tag, found in read.tags if tag == "path"]
    assert len(curves) == 14
    assert "The 14 largest of 40 flows are drawn." in read.text
    assert all(f"b{n:02}.py" in read.text for n in range(40))


def test_many_symbols_are_counted() -> None:
    flow = Flow("a.py", "b.py", tuple(f"N{n}" for n in range(1_000)), 5_000)
    page = written(picture(Figure((flow,), frozenset())))
    assert "and 992 more" in texts(page)
    assert len(page) < 10_000


def test_text_is_cut_to_the_width_of_its_box() -> None:
    long = "x" * 500
    flow = Flow(f"{long}/{long}.py", "\u8a9e" * 90 + ".py", (long, "\u8a9e" * 90), 1)
    for text in texts(written(picture(Figure((flow,), frozenset(), (long, long))))):
        wide = len(re.findall(r"&#\d+;", text))
        assert len(re.sub(r"&#\d+;", "", text)) + 2 * wide <= 40, text


def test_the_end_of_a_path_is_kept_and_the_beginning_of_a_name() -> None:
    flow = Flow("deep/" * 20 + "end/orders.py", "b.py", ("begin" + "x" * 90,), 1)
    found = texts(written(picture(Figure((flow,), frozenset()))))
    assert any(text.startswith("...") and text.endswith("/end/") for text in found)
    assert any(text.startswith("beginxxx") and text.endswith("...") for text in found)
