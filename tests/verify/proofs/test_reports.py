"""What a report makes of a certificate: kinds in their order, each finding with its places."""

from __future__ import annotations

from verify.chain.links import PROVED, Judgement, Link
from verify.chain.looking import Spot
from verify.kernel.verdict import (
    ASSUMED,
    BREAKS,
    EXPLAINED,
    OPEN,
    TEXT,
    Certificate,
    Finding,
    Findings,
    Place,
)
from verify.report.report import Verdict, to_text
from verify.reports.certify import certified, certified_words
from verify.reports.chain import link_marks, words

HERE = Place("shop/money.py", 4)


def made(*found: Finding) -> Certificate:
    findings = Findings()
    for item in found:
        findings.say(item.kind, item.subject, item.why, *item.places)
    return findings.certificate()


def text(certificate: Certificate) -> str:
    return to_text(certified("a", "b", certificate, {}))


def test_assumptions_are_counted_in_the_verdict_and_listed() -> None:
    load = Finding(ASSUMED, "shop.load", "nobody passes it `shop.orders`", (HERE,))
    tell = Finding(ASSUMED, "shop.tell", "nobody passes it `shop.orders`", (HERE,))
    assert certified_words(made(load)) == "CERTIFIED, on 1 assumption"
    found = made(load, tell)
    assert certified("a", "b", found, {}).verdict is Verdict.HOLDS
    assert text(found).endswith("\nCERTIFIED, on 2 assumptions: nothing but the move.\n")
    assert "  shop/money.py:4: shop.load: nobody passes it `shop.orders`\n" in text(found)


def test_the_worst_kind_comes_first() -> None:
    found = made(
        Finding(TEXT, "pay", "this statement was edited", (HERE,)),
        Finding(OPEN, "shop.load", "it may ask for Money", (HERE,)),
        Finding(BREAKS, "shop.orders", "importing it raises NameError: Money", (HERE,)),
    )
    said = text(found)
    order = [said.index(word) for word in ("Breaks: ", "Open: ", "Text: ")]
    assert order == sorted(order)
    assert said.endswith("RESIDUAL: 2 places to read, 1 of them where behaviour differs.\n")


def test_one_cause_is_one_finding_with_its_places() -> None:
    places = [Place("till.py", line) for line in range(1, 21)]
    said = text(made(Finding(BREAKS, "Money", "it is bound to nothing", (HERE, *places))))
    assert (
        "  shop/money.py:4: Money: it is bound to nothing\n    also at\n      till.py:1\n" in said
    )
    assert "      ... 12 more places\n" in said
    assert "RESIDUAL: 1 place to read" in said


def test_what_is_gone_says_so_and_a_file_is_not_named_twice() -> None:
    gone = Place("shop/orders.py", 3, "base", (3,))
    said = text(
        made(
            Finding(TEXT, "pay", "this statement is gone", (gone,)),
            Finding(TEXT, "run.sh", "a link changed", (Place("run.sh", 1),)),
        )
    )
    assert "  shop/orders.py:3: pay: this statement is gone (before the change)\n" in said
    assert "  run.sh:1: a link changed\n" in said
    assert "0 added lines and 1 removed line to read." in said


def test_a_long_list_of_what_is_explained_is_folded() -> None:
    found = [
        Finding(EXPLAINED, f"import m{n}", "code here needs this import", (HERE,)) for n in range(9)
    ]
    said = text(made(*found))
    assert said.count("import m") == 6
    assert "  ... 3 more, which --json, --html and --markdown list\n" in said
    assert "  In all: 9 code here needs this import.\n" in said


def test_programs_get_findings_and_each_place_by_itself() -> None:
    lost = Place("shop/orders.py", 3, "base", (3, 4))
    found = made(Finding(TEXT, "pay", "this statement was edited", (HERE, lost)))
    data = certified("a", "b", found, {}).data
    (finding,) = data["findings"]
    assert (finding["kind"], finding["subject"]) == (TEXT, "pay")
    assert {"path": "shop/orders.py", "line": 3, "side": "base", "lines": [3, 4]} in finding[
        "places"
    ]
    assert [(r["path"], r["line"], r["side"]) for r in data["residuals"]] == [
        ("shop/money.py", 4, "target"),
        ("shop/orders.py", 3, "base"),
    ]


def test_a_chain_counts_assumptions_and_tells_what_breaks_from_text() -> None:
    spots = (
        Spot("till.py", 3, "target", "till: print is called, with other values", BREAKS),
        Spot("till.py", 9, "base", "pay: this statement is gone", TEXT),
    )
    proved = Judgement(PROVED, "it is", certificate="CERTIFIED", assumptions=2, accepted=1)
    link = Link("a" * 40, "Move it", "plan.toml", proved)
    assert list(words(link))[1:] == [
        "plan.toml: 1 accepted finding, 0 authored lines",
        "CERTIFIED, on 2 assumptions: 0 added lines and 0 removed lines beside the move",
    ]
    red = Judgement(PROVED, "it is", certificate="RESIDUAL", residuals=spots)
    marks = list(link_marks(Link("a" * 40, "Move it", "plan.toml", red)))
    assert [(mark.place.line, mark.title) for mark in marks] == [
        (3, "behaviour differs"),
        (None, "not part of the move"),
    ]
