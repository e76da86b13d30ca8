"""The JSON Schemas in `docs/schema` hold for what commands write, and know every field of it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from repot.server.schema import RESULT
from tests.documents import ROOT
from tests.verify.histories import AFTER, BEFORE, PLAN, PLAN_PATH, History
from verify import cli
from verify.report.report import faulted, to_json

FOLDER = ROOT / "docs" / "schema"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))
EDIT = '\n[[author]]\nfile = "shop/orders.py"\nold = "def pay():"\nnew = "def paid():"\n'
ACCEPT = '\n[[accept]]\nkind = "breaks"\nmodule = "till"\nreason = "till goes next week"\n'
BROKEN = {**AFTER, "shop/orders.py": AFTER["shop/orders.py"].replace("def pay", "def paid")}


def loaded(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.json").read_bytes())


def closed(schema: Any) -> Any:
    """Let a schema know no field but its own: one that reports come to have is to be in it."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: closed(value) for key, value in schema.items()}
    if "properties" in found and found.get("description") != "What every report has.":
        found["unevaluatedProperties"] = False
    return found


@cache
def validator(name: str) -> Draft202012Validator:
    documents = [(f"{n}.json", Resource.from_contents(closed(loaded(n)))) for n in NAMES]
    registry: Registry[Any] = Registry().with_resources(documents)
    return Draft202012Validator(closed(loaded(name)), registry=registry)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    """Plans that hold, break and are wrong, with branches that carry, stop and are refused."""
    made = History(tmp_path_factory.mktemp("schemas") / "repo")
    extra = {"notes.md": "See shop.orders.Money.\n", "data.txt": "x\n"}
    plans = {PLAN_PATH: PLAN, "plans/broken.toml": PLAN + EDIT + ACCEPT}
    plans["plans/wrong.toml"] = PLAN.replace('"Money"', '"Mony"')
    before = {**BEFORE, **extra, **plans}
    made.commit(before, "Plan it")
    made.git("tag", "planned")
    for name, line in (("clean", "def pay():\n    return 'paid!'\n"), ("stops", "")):
        made.git("checkout", "--quiet", "-b", name, "planned")
        money = "    cent = decimal.Decimal(2)\n" if name == "stops" else None
        orders = BEFORE["shop/orders.py"].replace("def pay():\n    return 'paid'\n", line)
        if money:
            orders = BEFORE["shop/orders.py"].replace("    cent = decimal.Decimal(1)\n", money)
        made.commit({**before, "shop/orders.py": orders}, f"Branch {name}")
    made.git("checkout", "--quiet", "-b", "main2", "planned")
    made.commit({**AFTER, **extra, **plans}, f"Move\n\nMechanical-Move: {PLAN_PATH}")
    made.git("tag", "moved")
    after = {**AFTER, **extra, **plans}
    after["shop/money.py"] = AFTER["shop/money.py"].replace("Decimal(1)", "Decimal(3)")
    made.commit(after, "Change what moved")
    made.git("checkout", "--quiet", "-b", "bad", "planned")
    broken = {**BROKEN, **extra, **plans, "data.txt": "y\n"}
    made.commit(broken, "Move\n\nMechanical-Move: plans/broken.toml")
    made.git("tag", "broken")
    made.git("checkout", "--quiet", "-b", "worse", "planned")
    made.commit({**AFTER, **extra, **plans}, "Move\n\nMechanical-Move: plans/wrong.toml")
    made.git("tag", "wrong")
    # A lookup that may reach what moves; definitions that use each other; a module that goes whole.
    made.git("checkout", "--quiet", "-b", "open", "planned")
    looks = "import shop.orders\n\nprint(vars(shop.orders))\nprint(shop.orders.pay())\n"
    pair = "import logging\n\nlog = logging.getLogger('x')\n\n\ndef a():\n    return b()\n\n\n"
    pair += "def b():\n    return a()\n\n\ndef c():\n    return log.name, a()\n"
    more = {**extra, **plans, "look.py": looks, "pair.py": pair}
    more["plans/whole.toml"] = 'format = 2\n\n[[move]]\nmodule = "till"\nto = "register"\n'
    made.commit({**BEFORE, **more}, "Look at it")
    made.commit({**AFTER, **more}, "Move by hand")
    made.git("tag", "opened")
    whole = {**AFTER, **more, "register.py": AFTER["till.py"]}
    del whole["till.py"]
    made.commit(whole, "Rename till")
    made.git("tag", "whole")
    (made.folder / "pair.py").write_text(pair.replace("return b()", "return 1"))
    return made


CASES: dict[str, list[list[str]]] = {
    "apply": [
        [PLAN_PATH, "--at", "planned"],
        ["plans/broken.toml", "--at", "planned", "--check"],
        ["plans/broken.toml", "--at", "planned", "--no-certify", "-v"],
        [PLAN_PATH, "--at", "opened^"],
        ["plans/whole.toml", "--at", "opened"],
    ],
    "certify": [["moved"], ["moved..main2"], ["planned..broken"], ["opened"], ["whole"], []],
    "review": [["moved"], ["moved..main2"], ["broken"], ["wrong"], ["opened"]],
    "infer": [["moved"], ["broken"], ["whole"]],
    "chain": [["planned..main2"], ["planned..broken"], ["planned..wrong"], ["moved..moved"]],
    "plan": [["shop.orders", "--at", "planned"], ["pair"]],
    "carry-check": [["clean", "stops", "moved", "--over", "moved", "--onto", "main2"]],
    "refusal": [
        ["certify", "planned..planned"],
        ["apply", "plans/wrong.toml", "--at", "planned"],
        ["infer", "moved..main2"],
    ],
}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [(name, arguments) for name, runs in CASES.items() for arguments in runs],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_holds_for_what_a_command_writes(
    name: str,
    arguments: list[str],
    history: History,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REPOT_CACHE", str(history.folder.parent / "cache"))
    command = {"carry-check": ["carry", "--check"], "refusal": []}.get(name, [name])
    plans = [str(tmp_path / word) if word.startswith("plans/") else word for word in arguments]
    for word in arguments:
        if word.startswith("plans/"):
            (tmp_path / "plans").mkdir(exist_ok=True)
            (tmp_path / word).write_text(history.git("show", f"whole:{word}") + "\n")
    file = tmp_path / "report.json"
    chain = ["-j1", "--no-cache"] if name == "chain" else []
    cli.run([*command, *plans, *chain, "--repo", str(history.folder), "--json", str(file)])
    report = json.loads(file.read_bytes())
    validator(name).validate(report)
    assert not validator("fault").is_valid(report)
    assert validator("refusal").is_valid(report) == (name == "refusal")


def test_a_fault_has_one_too() -> None:
    validator("fault").validate(json.loads(to_json(faulted("apply", ValueError("x")))))


@pytest.mark.parametrize("name", NAMES)
def test_each_is_a_schema_and_leads_somewhere(name: str) -> None:
    schema = loaded(name)
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"{name}.json"
    assert name == "parts" or schema["type"] == "object"
    if name != "parts":  # what it refers to is there, also where no report has it
        assert list(validator(name).iter_errors({"schema": 1}))


def test_a_field_that_no_schema_has_is_noticed_here_and_nowhere_else(
    history: History, tmp_path: Path
) -> None:
    file = tmp_path / "report.json"
    cli.run(["certify", "moved", "--repo", str(history.folder), "--json", str(file)])
    for change in ({"new": 1}, {"range": {"new": 1}}, {"findings": [{"new": 1}]}):
        report = json.loads(file.read_bytes())
        for key, value in change.items():
            if isinstance(value, dict):
                report[key] |= value
            elif isinstance(value, list):
                report[key][0] |= value[0]
            else:
                report[key] = value
        assert not validator("certify").is_valid(report), change
        documents = [(f"{n}.json", Resource.from_contents(loaded(n))) for n in NAMES]
        registry: Registry[Any] = Registry().with_resources(documents)
        Draft202012Validator(loaded("certify"), registry=registry).validate(report)


def test_that_of_the_server_is_what_its_tools_say() -> None:
    assert loaded("mcp") == {"$id": "mcp.json", **RESULT}


def test_the_page_names_each() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    for name in NAMES:
        assert f"](schema/{name}.json)" in page
