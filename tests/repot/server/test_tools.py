"""What a call becomes: every argument is held against the schema, and none becomes an option."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from repot.server.process import Job
from repot.server.refusals import Refusal
from repot.server.root import Root
from repot.server.tools import TOOLS, known
from tests.verify.histories import PLAN, PLAN_PATH, History


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Root:
    history = History(tmp_path_factory.mktemp("tools"))
    history.commit({PLAN_PATH: PLAN})
    return Root.of(str(history.folder))


def job(root: Root, name: str, given: Any) -> Job:
    tool = known(name)
    return tool.job(root, tool.take(given))


JOBS: list[tuple[str, Any, Job]] = [
    ("symbols", {"module": "--help"}, Job("plan", (), ("--help",), prints=True)),
    ("symbols", {"module": "a", "at": "-x"}, Job("plan", ("--at=-x",), ("a",), prints=True)),
    ("plan", {"plan": PLAN_PATH}, Job("apply", ("--no-recover", "--no-certify"), (PLAN_PATH,))),
    ("plan", {"text": ""}, Job("apply", ("--no-recover", "--no-certify"), text="")),
    ("apply", {"text": "x", "at": "HEAD"}, Job("apply", ("--at=HEAD", "--no-recover"), text="x")),
    ("apply", {"plan": PLAN_PATH, "write": False}, Job("apply", ("--no-recover",), (PLAN_PATH,))),
    (
        "apply",
        {"plan": PLAN_PATH, "write": True},
        Job("apply", ("--no-recover", "--write", "--clean"), (PLAN_PATH,), writes=True),
    ),
    ("certify", None, Job("certify")),
    ("certify", {"range": "--write"}, Job("certify", (), ("--write",))),
    ("review", {"staged": True}, Job("review", ("--staged",))),
    ("infer", {"range": "a..b"}, Job("infer", (), ("a..b",))),
    (
        "carry_check",
        {"branches": ["x/*", "--abort"], "over": ["-c"], "onto": "main"},
        Job("carry", ("--check", "--over=-c", "--onto=main"), ("x/*", "--abort")),
    ),
]


@pytest.mark.parametrize(("name", "given", "wanted"), JOBS, ids=lambda value: str(value)[:40])
def test_becomes_a_command_line(root: Root, name: str, given: Any, wanted: Job) -> None:
    assert job(root, name, given) == wanted


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("symbols", None),
        ("symbols", {"module": ["a"]}),
        ("symbols", {"module": "a\nb"}),
        ("symbols", {"module": "x" * 1001}),
        ("symbols", {"module": "a", "repo": "/"}),
        ("plan", {}),
        ("plan", {"plan": PLAN_PATH, "text": "x"}),
        ("plan", {"text": "x" * (1 << 21)}),
        ("apply", {"plan": PLAN_PATH, "write": "yes"}),
        ("apply", {"text": "x", "write": True}),
        ("apply", {"plan": PLAN_PATH, "at": "HEAD", "write": True}),
        ("certify", {"range": "a..b", "staged": True}),
        ("certify", {"range": "a\x00b"}),
        ("certify", {"range": "a\ud800b"}),
        ("plan", {"text": "x = '\ud800'"}),
        ("carry_check", {"branches": ["a\udfff"], "over": ["a"]}),
        ("carry_check", {"branches": [], "over": ["a"]}),
        ("carry_check", {"branches": ["a"] * 101, "over": ["a"]}),
        ("carry_check", {"branches": ["a"], "over": ["a"], "continue": True}),
        ("chain", {}),
    ],
)
def test_what_a_tool_does_not_take_is_refused(root: Root, name: str, given: Any) -> None:
    with pytest.raises(Refusal) as found:
        job(root, name, given)
    assert found.value.kind == "bad-argument"
    assert len(found.value.cause) < 1_000


@pytest.mark.parametrize("name", TOOLS)
def test_every_schema_is_one(name: str) -> None:
    Draft202012Validator.check_schema(TOOLS[name].schema)
    assert TOOLS[name].schema["additionalProperties"] is False


def test_who_uses_a_definition_is_told() -> None:
    report = {
        "definitions": [
            {"names": ["A"], "line": 1, "lines": 2, "uses": ["b"]},
            {"names": ["b"], "line": 4, "lines": 1, "uses": []},
        ]
    }
    one, other = TOOLS["symbols"].view(report)["definitions"]
    assert (one["used_by"], other["used_by"]) == ([], ["A"])
    assert TOOLS["symbols"].view({"refusal": 1}) == {"refusal": 1}
