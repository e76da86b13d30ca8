"""Plans as files: the only reader and writer of their formats.

A plan is TOML. It is read and checked against a fixed schema, and never run.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

from transforms.errors import Place, Refusal
from transforms.reading.model import Plan
from transforms.reading.reader import read
from transforms.reading.schema import MOST_DOTS, Reader, clipped, deepest_key, locate_keys

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover - exercised on 3.10 only
    import tomli as tomllib

MAX_PLAN_BYTES = 4 << 20


def load_plan(path: Path | str) -> Plan:
    """Read a plan from a file. Raises `Refusal` when it cannot be read or breaks the schema."""
    return parse_plan(_read(path), str(path))


def plan_text(path: Path | str) -> str:
    r"""Give the text of a plan's file, with `\n` for line ends. Raises `Refusal` as `load_plan`."""
    return decode_plan(_read(path), str(path))


def _read(path: Path | str) -> bytes:
    """Give the bytes of a file, and one more than a plan may have where there are more."""
    try:
        with open(path, "rb") as stream:
            return stream.read(MAX_PLAN_BYTES + 1)
    except OSError as error:
        raise Refusal(
            "unreadable-plan",
            f"The plan cannot be read: {error.strerror}.",
            next_step="Name a plan file that exists; `repot plan MODULE` writes a first one.",
            place=Place(str(path)),
        ) from error


def parse_plan(data: bytes, path: str) -> Plan:
    """Parse the bytes of a plan; `path` is for messages. Raises `Refusal` with line and key."""
    text = decode_plan(data, path)
    dots, line = deepest_key(text)
    if dots > MOST_DOTS:
        raise _too_deep(Place(path, line))
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(str(error), text, path) from None
    except ValueError:  # CPython converts no number of thousands of digits
        raise Refusal(
            "plan-syntax",
            "The plan holds a number that is too long to read.",
            next_step="The only number in a plan is its `format`.",
            place=Place(path),
        ) from None
    except RecursionError:
        raise _too_deep(Place(path)) from None
    return read(Reader(path, text, document, locate_keys(text)))


def decode_plan(data: bytes, path: str) -> str:
    r"""Give the text of a plan's bytes, with `\n` for line ends. Raises `Refusal`."""
    if len(data) > MAX_PLAN_BYTES:
        raise Refusal(
            "plan-size",
            f"The plan is larger than {MAX_PLAN_BYTES >> 20} MiB.",
            next_step="Move fewer symbols at once, or author less text.",
            place=Place(path),
        )
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise Refusal(
            "plan-syntax",
            "The plan is not UTF-8.",
            next_step="Save it as UTF-8, as TOML requires.",
            place=Place(path, line),
        ) from None


def _syntax_error(message: str, text: str, path: str) -> Refusal:
    """What the TOML parser says, with the line that it means."""
    lines = text.split("\n")
    found = re.search(r" \(at line (\d+), column (\d+)\)\Z", message)
    line, column = (int(found[1]), int(found[2])) if found else (len(lines), None)
    said = clipped(message[: found.start()] if found else message.partition(" (at end")[0])
    where = "" if found else " at its end"
    return Refusal(
        "plan-syntax",
        f"The plan is no valid TOML: {said[:1].lower()}{said[1:]}{where}.",
        next_step="Correct the line; docs/plans.md in Repot's repository has every table.",
        place=Place(path, line, column, clipped(lines[line - 1].rstrip())),
    )


def _too_deep(place: Place) -> Refusal:
    return Refusal(
        "plan-syntax",
        "The plan nests arrays or tables too deeply.",
        next_step="A plan needs no nesting: docs/plans.md in Repot's repository has every table.",
        place=place,
    )


def dump_plan(plan: Plan, comments: Mapping[str, str] | None = None) -> str:
    """Write a plan as `parse_plan` reads it, in the schema's order.

    `comments` maps a table's first value (a module, a file) to a line of comment above the table.
    """
    from transforms.reading.writer import write

    return write(plan, comments or {})
