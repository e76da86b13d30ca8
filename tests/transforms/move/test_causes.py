"""A refused cycle gives lines that end it once they are pasted."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from tests.transforms.case import MemoryTree
from transforms.engine import apply
from transforms.errors import Refusal
from transforms.move.cycles import Cycles
from transforms.reading.load import parse_plan
from transforms.result.changes import Blob

PLAN = """format = 1
formatters = "none"

[[source]]
module = "pkg.mono"

[[destination]]
module = "pkg.core"
symbols = ["load"]
"""
MONO = "{helper}\n\n\ndef load(text):\n    return {use}\n\n\ndef main():\n    return load({use})\n"
HELPERS = {
    "a logger": ("import logging\n\nlog = logging.getLogger(__name__)", "log.info(1)"),
    "a flag": ("import sys\n\nWINDOWS = sys.platform == 'win32'", "WINDOWS"),
    "an optional import": (
        "try:\n    import fast\n    HAS = True\nexcept ImportError:\n    HAS = False",
        "HAS",
    ),
    "a function": ("def clean():\n    return 1", "clean()"),
    "a list": ("SEEN = []", "SEEN"),
    "a class": ("class Box:\n    pass", "Box()"),
}


def _refused(plan: str, files: Mapping[str, str]) -> Refusal | None:
    tree = MemoryTree({path: Blob(text.encode()) for path, text in files.items()})
    try:
        apply(parse_plan(plan.encode(), "plan.toml"), tree)
    except Refusal as refusal:
        return refusal
    return None


@pytest.mark.parametrize(("helper", "use"), HELPERS.values(), ids=HELPERS.keys())
def test_the_line_that_a_message_gives_ends_the_cycle(helper: str, use: str) -> None:
    files = {"pkg/__init__.py": "", "pkg/mono.py": MONO.format(helper=helper, use=use)}
    refusal = _refused(PLAN, files)
    assert isinstance(refusal, Cycles)
    line = re.search(r"Write `((copy|symbols) = [^`]*)`", refusal.next_step)
    assert line is not None, refusal.next_step
    kept = [row for row in PLAN.split("\n") if not row.startswith(line[2])]
    assert _refused("\n".join([*kept[:-1], line[1], ""]), files) is None


@pytest.mark.parametrize("kind", ["a logger", "an optional import"])
def test_format_2_copies_what_is_the_same_anywhere(kind: str) -> None:
    helper, use = HELPERS[kind]
    files = {"pkg/__init__.py": "", "pkg/mono.py": MONO.format(helper=helper, use=use)}
    assert _refused(PLAN.replace("format = 1", "format = 2"), files) is None


def test_a_helper_that_tests_of_two_destinations_need_goes_along_once() -> None:
    plan = PLAN + '\n[[destination]]\nmodule = "pkg.store"\nsymbols = ["main"]\n'
    text = MONO.format(helper="def clean():\n    return load", use="clean()")
    refusal = _refused(plan, {"pkg/__init__.py": "", "pkg/mono.py": text})
    assert isinstance(refusal, Cycles)
    assert refusal.next_step.count('"clean"') == 1
