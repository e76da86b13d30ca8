"""Reports in pages: what counts first, and nothing is left out, however long it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from repot.server.pages import ROOM, Shelf, paged, readable
from repot.server.refusals import Refusal
from repot.server.schema import RESULT

ACCEPTED = {"kind": "cycle", "module": "a", "symbol": "", "reason": "It is late."}
REPORT: Mapping[str, Any] = {
    "schema": 1, "command": "apply", "verdict": "holds", "headline": "it", "summary": ["One."],
    "exit_code": 0, "accepted": [ACCEPTED], "judgement": {"certificate": "CERTIFIED",
    "findings": [{"kind": "text", "why": "so"}]}, "files": [{"path": f"f{n}"} for n in range(900)],
    "plan": "x = 1\n" * 3000,
}  # fmt: skip


def rows_of(report: Mapping[str, Any], *first: str) -> list[dict[str, Any]]:
    """All rows, page by page, as a client asks for them."""
    shelf = Shelf()
    result = paged(report, first)
    shelf.keep(result)
    page = result.page(1)
    rows = list(page["rows"])
    while page["next"]:
        page = shelf.page(page["next"])
        Draft202012Validator(RESULT).validate(page)
        assert len(json.dumps(page["rows"])) < 2 * ROOM
        rows += page["rows"]
    assert page["page"] == page["pages"]
    return rows


def whole(rows: list[dict[str, Any]], name: str) -> list[Any]:
    """What a list was, put together again."""
    found: list[Any] = []
    for row in (row for row in rows if row["list"] == name):
        if "value" in row:
            found.append(row["value"])
            continue
        if row["part"] == 1:
            found.append("")
        found[-1] += row.get("text", row.get("json"))
        if row["part"] == row["parts"] and "json" in row:
            found[-1] = json.loads(found[-1])
    return found


def test_what_is_accepted_comes_before_all_else() -> None:
    page = paged(REPORT, ("files",)).page(1)
    assert next(iter(page)) == "accepted"
    assert page["accepted"] == [ACCEPTED]
    assert page["rows"][0] == {"list": "accepted", "value": ACCEPTED}
    assert page["rows"][1]["list"] == "files"
    review = {"command": "review", "replay": {"accepted": [ACCEPTED], "hunks": 0}}
    assert paged(review).page(1)["accepted"] == [ACCEPTED]


def test_short_facts_stand_in_the_head_and_lists_are_counted() -> None:
    page = paged(REPORT).page(1)
    assert page["head"] == {"exit_code": 0, "judgement.certificate": "CERTIFIED"}
    assert page["counts"]["files"] == 900
    assert (page["verdict"], page["summary"]) == ("holds", ["One."])
    Draft202012Validator(RESULT).validate(page)


def test_all_of_it_can_be_had() -> None:
    rows = rows_of(REPORT)
    assert whole(rows, "files") == REPORT["files"]
    assert whole(rows, "plan") == [REPORT["plan"]]
    assert whole(rows, "judgement.findings") == REPORT["judgement"]["findings"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.text("ab\n\x1b\u202e", min_size=900),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.lists(VALUES, min_size=1, max_size=8), st.integers(1, 200))
def test_whatever_a_list_holds_comes_back(items: list[Any], times: int) -> None:
    items = [readable(item) for item in items * times]
    rows = rows_of({"command": "x", "verdict": "holds", "items": items})
    assert whole(rows, "items") == items


@given(VALUES)
def test_no_head_outgrows_a_page(value: Any) -> None:
    first = dict(paged({"command": "x", "verdict": "holds", "it": value}).page(1))
    assert len(json.dumps(first)) < 3 * ROOM


def test_a_refusal_that_shows_a_line_of_megabytes_is_cut() -> None:
    refusal = {"kind": "x", "cause": "c", "next_step": "n", "place": None, "excerpt": "y" * 9**7}
    page = paged({"command": "x", "verdict": "unjudged", "refusal": refusal}).page(1)
    assert len(json.dumps(page)) < 5_000
    assert page["refusal"]["excerpt"].endswith(" more characters")


def test_bytes_that_no_utf8_holds_are_spelled_as_escapes() -> None:
    assert readable({"\udcff": ["a\udc80", 1]}) == {"\\udcff": ["a\\udc80", 1]}


def test_pages_of_the_last_results_alone_are_kept() -> None:
    shelf = Shelf()
    results = [paged({"command": str(n), "x": ["y" * 3000] * 9}) for n in range(12)]
    for result in results:
        shelf.keep(result)
    assert shelf.page(f"{results[-1].key}:2")["page"] == 2
    for cursor in (f"{results[0].key}:2", f"{results[-1].key}:99", f"{results[-1].key}:0", "", "x"):
        with pytest.raises(Refusal) as found:
            shelf.page(cursor)
        assert found.value.kind == "unknown-page"
