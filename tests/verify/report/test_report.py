from __future__ import annotations

import json
from typing import Any

import pytest

from tests.verify.samples import OUTCOME, UNCHANGED
from transforms.errors import Place, Refusal
from transforms.result.changes import Blob, Change, ChangeSet
from transforms.result.outcome import Note, Outcome, SourceChange
from verify.report.report import (
    Finding,
    Report,
    Section,
    Verdict,
    counted,
    faulted,
    listed,
    refused,
    to_json,
    to_text,
)
from verify.reports.apply import Applied, applied


def report(outcome: Outcome = OUTCOME, mode: str = "preview", title: str = "") -> Report:
    return applied(Applied("split.toml", title, "working tree", mode, outcome))


PREVIEW = """\
repot apply: Take X out (split.toml) on working tree

Sources
  pkg/old.py: kept, 2 lines removed, 0 added
    no longer imports
      - import os

Destinations
  pkg/new.py: created, 3 lines
    receives
      X
    copies
      logger
    derived imports
      import os

Callers
  app.py: 1 import, 1 string
      @@ -1 +1 @@
      - from pkg.old import X
      + from pkg.new import X
  2 edits in 1 file: 1 import, 1 string

Authored, as the plan has it literally
  pkg/__init__.py: file, 7 lines
      + line 1
      + line 2
      + line 3
      + line 4
      + line 5
      + line 6
      + line 7

Left alone, for a person to look at
  tool.py:12: dynamic import: import_module() takes a variable
  1 note

Formatters
  isort 7.0.0, then black 26.1.0
  pkg/new.py: black

3 files: 2 changed, 1 created; 4 lines added, 3 removed. 7 authored lines.
Nothing was written: --write writes it, --diff shows it line by line.
"""

DATA: dict[str, Any] = {
    "schema": 1,
    "level": "green",
    "command": "apply",
    "verdict": "holds",
    "exit_code": 0,
    "headline": "Take X out (split.toml) on working tree",
    "summary": [
        "3 files: 2 changed, 1 created; 4 lines added, 3 removed. 7 authored lines.",
        "Nothing was written: --write writes it, --diff shows it line by line.",
    ],
    "plan": "split.toml",
    "title": "Take X out",
    "tree": "working tree",
    "mode": "preview",
    "written": False,
    "judgement": None,
    "unjudged": "",
    "authored_lines": 7,
    "authored": [
        {
            "path": "pkg/__init__.py",
            "lines": 7,
            "kind": "file",
            "added": [f"line {n}" for n in range(1, 8)],
            "removed": [],
        }
    ],
    "accepted": [],
    "files": [
        {
            "path": "app.py",
            "change": "changed",
            "mode_before": "100644",
            "mode_after": "100644",
            "added": 1,
            "removed": 1,
        },
        {
            "path": "pkg/new.py",
            "change": "created",
            "mode_before": None,
            "mode_after": "100644",
            "added": 3,
            "removed": 0,
        },
        {
            "path": "pkg/old.py",
            "change": "changed",
            "mode_before": "100644",
            "mode_after": "100644",
            "added": 0,
            "removed": 2,
        },
    ],
    "relocated": [],
    "sources": [
        {
            "path": "pkg/old.py",
            "module": "pkg.old",
            "fate": "kept",
            "removed_imports": ["import os"],
            "imports_back": [],
        }
    ],
    "destinations": [
        {
            "path": "pkg/new.py",
            "module": "pkg.new",
            "created": True,
            "symbols": ["X"],
            "copied": ["logger"],
            "imports": ["import os"],
            "lines": 3,
        }
    ],
    "callers": [
        {
            "path": "app.py",
            "edits": [
                {
                    "kind": "import",
                    "line": 1,
                    "before": "from pkg.old import X",
                    "after": "from pkg.new import X",
                },
                {"kind": "string", "line": 9, "before": '"pkg.old.X"', "after": '"pkg.new.X"'},
            ],
        }
    ],
    "edits_by_kind": {"import": 1, "string": 1},
    "notes": [
        {
            "kind": "dynamic import",
            "place": {"path": "tool.py", "line": 12, "column": None},
            "message": "import_module() takes a variable",
        }
    ],
    "formatters": {"ran": ["isort 7.0.0", "black 26.1.0"], "edits": {"pkg/new.py": ["black"]}},
}


def test_the_text_shows_all_that_a_move_changes() -> None:
    assert to_text(report(title="Take X out")) == PREVIEW


def test_the_json_keeps_its_schema() -> None:
    assert json.loads(to_json(report(title="Take X out"))) == DATA


def test_the_json_is_the_same_bytes_each_time_and_has_no_timings_unless_asked() -> None:
    assert to_json(report()) == to_json(report())
    assert "seconds" not in json.loads(to_json(report()))
    assert json.loads(to_json(report(), timings=True))["seconds"] == {"search": 0.25, "parse": 1.5}


def test_seconds_by_phase_are_shown_only_when_asked() -> None:
    assert "Seconds" not in to_text(report())
    assert "\nSeconds\n  search      0.250\n  parse       1.500\n" in to_text(
        report(), timings=True
    )


@pytest.mark.parametrize(
    ("outcome", "mode", "code"),
    [
        pytest.param(OUTCOME, "preview", 0, id="a preview holds"),
        pytest.param(OUTCOME, "write", 0, id="a written move holds"),
        pytest.param(OUTCOME, "diff", 0, id="a diff holds"),
        pytest.param(OUTCOME, "check", 1, id="a check differs where something would change"),
        pytest.param(UNCHANGED, "check", 0, id="a check holds where nothing would change"),
    ],
)
def test_the_exit_code_follows_from_mode_and_changes(
    outcome: Outcome, mode: str, code: int
) -> None:
    assert report(outcome, mode).exit_code == code


@pytest.mark.parametrize("mode", ["preview", "check", "write"])
@pytest.mark.parametrize("outcome", [OUTCOME, UNCHANGED], ids=["a move", "nothing to do"])
def test_every_summary_counts_the_authored_lines(outcome: Outcome, mode: str) -> None:
    assert f"{outcome.authored_lines} authored lines." in to_text(report(outcome, mode))


def test_each_verdict_has_its_own_exit_code() -> None:
    assert {verdict.name: verdict.exit_code for verdict in Verdict} == {
        "HOLDS": 0,
        "DIFFERS": 1,
        "UNJUDGED": 2,
        "FAULT": 3,
    }


REFUSAL = Refusal(
    "unknown-symbol",
    "`HostCahe` is not defined at the top level.",
    next_step="Did you mean `HostCache`?",
    place=Place("split.toml", 7, 12, 'symbols = ["HostCahe"]'),
)


def test_a_refusal_shows_place_excerpt_cause_and_next_step() -> None:
    assert to_text(refused("apply", REFUSAL)) == (
        "repot apply: refused (unknown-symbol)\n"
        "\n"
        "  split.toml:7:12: `HostCahe` is not defined at the top level.\n"
        '        7 | symbols = ["HostCahe"]\n'
        "          |            ^\n"
        "\n"
        "Did you mean `HostCache`?\n"
        "Nothing was written.\n"
    )


def test_a_refusal_has_its_own_json() -> None:
    assert json.loads(to_json(refused("apply", REFUSAL))) == {
        "schema": 1,
        "command": "apply",
        "level": "amber",
        "verdict": "unjudged",
        "exit_code": 2,
        "headline": "refused (unknown-symbol)",
        "summary": ["Did you mean `HostCache`?", "Nothing was written."],
        "refusal": {
            "kind": "unknown-symbol",
            "cause": "`HostCahe` is not defined at the top level.",
            "next_step": "Did you mean `HostCache`?",
            "place": {"path": "split.toml", "line": 7, "column": 12},
            "excerpt": 'symbols = ["HostCahe"]',
        },
    }


@pytest.mark.parametrize(
    ("excerpt", "column", "lines"),
    [
        pytest.param("\tx = 1", 2, ["    x = 1", "    ^"], id="after a tab"),
        pytest.param("a\x1b[1mb", 6, [r"a\x1b[1mb", "        ^"], id="after an escape sequence"),
        pytest.param("変数 = 1", 4, ["変数 = 1", "     ^"], id="after wide characters"),
        pytest.param("x = (", 6, ["x = (", "     ^"], id="past the end of the line"),
        pytest.param("x\r\n", 1, ["x", "^"], id="with the line's own end"),
    ],
)
def test_the_caret_stands_below_its_column(excerpt: str, column: int, lines: list[str]) -> None:
    refusal = Refusal("x", "no", next_step="", place=Place("a.py", 1, column, excerpt))
    shown = to_text(refused("apply", refusal)).split("\n")[3:5]
    assert [line.partition("| ")[2] for line in shown] == lines


def test_a_line_of_megabytes_is_shown_around_its_column_only() -> None:
    place = Place("a.py", 1, 500_001, "x" * 500_000 + "!" + "x" * 500_000)
    text = to_text(refused("apply", Refusal("x", "no", next_step="", place=place)))
    excerpt, caret = text.split("\n")[3:5]
    assert len(text) < 1_000
    assert excerpt[caret.index("^")] == "!"


def test_so_it_is_for_programs() -> None:
    place = Place("a.py", 1, 1, "x" * 5_000_000 + "\ny = 1")
    data = json.loads(to_json(refused("apply", Refusal("x", "no", next_step="", place=place))))
    assert len(data["refusal"]["excerpt"]) < 3_000
    assert data["refusal"]["excerpt"].endswith("\ny = 1")


def test_an_excerpt_of_several_lines_is_numbered() -> None:
    place = Place("a.py", 9, None, "a = (\n    1)\n")
    text = to_text(refused("apply", Refusal("x", "no", next_step="", place=place)))
    assert "        9 | a = (\n       10 |     1)\n" in text


def test_a_fault_names_our_own_line_and_asks_for_a_report() -> None:
    try:
        listed(None)  # type: ignore[arg-type]
    except AttributeError as error:
        shown = faulted("apply", error)
    assert shown.exit_code == 3
    text = to_text(shown)
    assert "verify/report/report.py:" in text
    assert "AttributeError" in text
    assert "This is a fault of Repot" in text
    assert "--traceback" in text


HOSTILE = "[red]x[/red]\x1b[2J\u202e\r::error::"
INERT = r"[red]x[/red]\x1b[2J<U+202E>\r::error::"


def test_text_of_a_repository_is_inert_wherever_it_stands() -> None:
    hostile = Outcome(
        changes=ChangeSet([Change(HOSTILE, None, Blob(b"x"))]),
        sources=(SourceChange(HOSTILE, HOSTILE, HOSTILE, (HOSTILE,), (HOSTILE,)),),
        destinations=(),
        callers=(),
        authored=(),
        notes=(Note(HOSTILE, Place(HOSTILE, 1, 1, HOSTILE), HOSTILE),),
        formatted=(HOSTILE,),
        formatter_edits={HOSTILE: (HOSTILE,)},
    )
    shown = report(hostile, title=HOSTILE)
    text = to_text(shown)
    assert text.count(INERT) >= 10
    assert not set(text) & {"\x1b", "\u202e", "\r"}
    assert to_json(shown).isascii()
    assert json.loads(to_json(shown))["notes"][0]["message"] == HOSTILE


def test_a_line_break_in_a_path_starts_no_line_of_its_own() -> None:
    finding = Finding("x", Place("a\nrepot apply: fine"), "")
    shown = Report("apply", Verdict.DIFFERS, "x", (Section("Notes", (finding,)),))
    assert "\nrepot apply: fine" not in to_text(shown)


def test_counts_are_worded() -> None:
    assert counted(0, "file") == "0 files"
    assert counted(1, "file") == "1 file"
    assert counted(1_234, "copy", "copies") == "1,234 copies"
    assert listed({"string": 2, "import": 7, "guarded import": 2}) == (
        "7 import, 2 guarded import, 2 string"
    )
