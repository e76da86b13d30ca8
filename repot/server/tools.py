"""The tools: what each takes, and the command line of the engine that a call becomes.

Whatever a client gives is held against the tool's schema before anything is done with it. It
becomes `--option=value`, or stands behind `--`: no value is ever taken for an option.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from repot.server.process import Job
from repot.server.refusals import Refusal, bad_argument
from repot.server.root import Root

Arguments = Mapping[str, Any]
Schema = dict[str, Any]

_WORD = {"type": "string", "minLength": 1, "maxLength": 1000, "pattern": r"^[^\x00-\x1f\x7f]+$"}
_RANGE = {
    **_WORD,
    "description": "BASE..TARGET, BASE...TARGET or one commit (its parent to it). Without it: what "
    "is not committed yet, against HEAD.",
}
_STAGED = {"type": "boolean", "description": "Judge the index, not the working tree."}
_AT = {**_WORD, "description": "A commit, in place of the working tree."}
_PLAN = {**_WORD, "description": "A plan that lies in the tree, by its path from the root."}
_TEXT = {"type": "string", "maxLength": 1 << 20, "description": "A plan's text, in place of that."}
_BRANCHES = {"type": "array", "minItems": 1, "maxItems": 100, "items": _WORD}


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool. `job` makes a call's command line, `view` what its report is turned into.

    `first` are the lists of the report that come first in pages.
    """

    name: str
    description: str
    properties: Schema
    job: Callable[[Root, Arguments], Job]
    required: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    writes: bool = False
    view: Callable[[dict[str, Any]], dict[str, Any]] = field(default=lambda report: report)

    @property
    def schema(self) -> Schema:
        """The JSON Schema of what it takes."""
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": self.properties,
            "required": list(self.required),
            "additionalProperties": False,
        }

    def take(self, given: Any) -> Arguments:
        """Give the arguments of a call. Raises `Refusal` where they do not fit the schema."""
        for error in _validator(self.name).iter_errors(given or {}):
            where = "/".join(map(str, error.absolute_path))
            said = error.message if len(error.message) <= 300 else f"{error.message[:300]} ..."
            raise bad_argument(f"{where}: {said}" if where else said)
        arguments: Arguments = given or {}
        if not all(map(_is_writable, _strings(arguments))):
            raise bad_argument("A text holds half a character, which no file and no name can.")
        return arguments


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, Mapping) else ():
        yield from _strings(item)
    for item in value if isinstance(value, list) else ():
        yield from _strings(item)


def _is_writable(text: str) -> bool:
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


@cache
def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(TOOLS[name].schema)


def _symbols(_root: Root, given: Arguments) -> Job:
    return Job("plan", _at(given), (given["module"],), prints=True)


def _check(root: Root, given: Arguments) -> Job:
    return _applied(root, given, "--no-recover", "--no-certify")


def _apply(root: Root, given: Arguments) -> Job:
    if not given.get("write"):
        return _applied(root, given, "--no-recover")
    if "plan" not in given or "at" in given:
        raise bad_argument(
            "`write` makes the move of a plan that is committed, in the working tree: give `plan`, "
            "and neither `text` nor `at`."
        )
    return _applied(root, given, "--no-recover", "--write", "--clean")


def _applied(root: Root, given: Arguments, *options: str) -> Job:
    if ("plan" in given) == ("text" in given):
        raise bad_argument("Give `plan`, a path in the tree, or `text`, and not both.")
    where = _at(given)
    writes = "--write" in options
    if "text" in given:
        return Job("apply", (*where, *options), text=given["text"], writes=writes)
    return Job("apply", (*where, *options), (root.plan(given["plan"]),), writes=writes)


def _at(given: Arguments) -> tuple[str, ...]:
    return (f"--at={given['at']}",) if "at" in given else ()


def _ranged(command: str) -> Callable[[Root, Arguments], Job]:
    def job(_root: Root, given: Arguments) -> Job:
        if given.get("staged") and "range" in given:
            raise bad_argument("`staged` judges the index against HEAD: name no range.")
        staged = ("--staged",) if given.get("staged") else ()
        return Job(command, staged, (given["range"],) if "range" in given else ())

    return job


def _carry(_root: Root, given: Arguments) -> Job:
    over = tuple(f"--over={commit}" for commit in given["over"])
    onto = (f"--onto={given['onto']}",) if "onto" in given else ()
    return Job("carry", ("--check", *over, *onto), tuple(given["branches"]))


def _with_users(report: dict[str, Any]) -> dict[str, Any]:
    """Add to each definition who uses it."""
    users: dict[str, list[str]] = {}
    for item in report.get("definitions", ()):
        for name in item["uses"]:
            users.setdefault(name, []).append(item["names"][0])
    definitions = [
        {**item, "used_by": users.get(item["names"][0], []) if item["names"] else []}
        for item in report.get("definitions", ())
    ]
    return {**report, "definitions": definitions} if definitions else report


TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            "symbols",
            "Look at a module before it is split: its definitions with their sizes, whom each uses "
            "and who uses it, the groups that hang together, and whether a group taken out alone "
            "makes an import cycle. Has a first plan as text.",
            {
                "module": {**_WORD, "description": "The module, by dotted name or path."},
                "at": _AT,
            },
            _symbols,
            required=("module",),
            first=("groups", "definitions", "plan"),
            view=_with_users,
        ),
        Tool(
            "plan",
            "Check a plan against the tree, without judging the result and without writing: what "
            "it would change, or the refusal with place, cause and next step.",
            {"plan": _PLAN, "text": _TEXT, "at": _AT},
            _check,
            first=("notes", "destinations", "sources"),
        ),
        Tool(
            "apply",
            "Make the move of a plan and judge it. Dry unless `write` is true, which needs a plan "
            "in the tree and nothing uncommitted anywhere. What would break is not written.",
            {
                "plan": _PLAN,
                "text": _TEXT,
                "at": _AT,
                "write": {"type": "boolean", "description": "Write the files. False by default."},
            },
            _apply,
            first=("judgement.paste", "judgement.findings", "notes", "destinations", "sources"),
            writes=True,
        ),
        Tool(
            "certify",
            "Judge whether a change is a move and nothing else, without any plan.",
            {"range": _RANGE, "staged": _STAGED},
            _ranged("certify"),
            first=("findings", "residuals", "unknowns"),
        ),
        Tool(
            "review",
            "Review a change: its verdict, what moved, and only the lines that are to be read.",
            {"range": _RANGE, "staged": _STAGED},
            _ranged("review"),
            first=("to_read", "flows", "certificate.findings"),
        ),
        Tool(
            "infer",
            "Find the plan behind a change that came without one; it is replayed.",
            {"range": _RANGE, "staged": _STAGED},
            _ranged("infer"),
            first=("plan", "notes", "left"),
        ),
        Tool(
            "carry_check",
            "Tell which open branches would carry clean over a split. Nothing is written.",
            {
                "branches": {**_BRANCHES, "description": "Branches, or patterns of refs with `*`."},
                "over": {
                    **_BRANCHES,
                    "description": "The commit that made the split; several in their order.",
                },
                "onto": {**_WORD, "description": "The commit of main to end on."},
            },
            _carry,
            required=("branches", "over"),
            first=("branches",),
        ),
    )
}


def known(name: str) -> Tool:
    """Give a tool by its name. Raises `Refusal` for another one."""
    if name not in TOOLS:
        raise Refusal(
            "bad-argument",
            "There is no such tool.",
            next_step=f"There are {', '.join(TOOLS)} and page.",
        )
    return TOOLS[name]
