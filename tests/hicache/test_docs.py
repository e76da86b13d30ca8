from __future__ import annotations

import pytest

from hicache import cli
from tests.documents import ROOT, coded, commands, fences, is_printed, rows

PAGE = (ROOT / "docs" / "hicache.md").read_text(encoding="utf-8")
SHOWN = [
    shown for fence in fences(PAGE) if fence.language == "console" for shown in commands(fence.text)
]


@pytest.mark.parametrize(("command", "wanted"), SHOWN, ids=[command for command, _ in SHOWN])
def test_a_command_prints_what_the_page_shows(
    command: str, wanted: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(command.split()[1:]) == 0
    printed = capfd.readouterr().out
    assert is_printed(wanted, printed), printed


def test_the_map_lists_every_module() -> None:
    listed = [coded(row[0]) for row in rows(PAGE)]
    modules = (path for path in (ROOT / "hicache").rglob("*.py") if path.name != "__init__.py")
    assert sorted(listed) == sorted(str(path.relative_to(ROOT)) for path in modules)
