"""The page on bundles shows what is printed."""

from __future__ import annotations

import sys

import pytest

from tests.documents import ROOT, commands, fences, is_printed
from tests.verify.bundle.rig import World, finish
from tests.verify.histories import PLAN, PLAN_PATH
from verify import cli


def test_shows_what_is_printed(
    warm: World, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(warm.clone.folder)
    plan = warm.clone.folder / PLAN_PATH
    plan.parent.mkdir()
    plan.write_text(PLAN, encoding="utf-8")
    page = (ROOT / "docs" / "bundle.md").read_text(encoding="utf-8")
    consoles = [fence for fence in fences(page) if fence.language == "console"]
    assert len(consoles) == 3
    for fence in consoles:
        for command, wanted in commands(fence.text):
            program, *arguments = command.split()
            if program == "python3":
                done = finish([sys.executable, *arguments], warm.clone.folder, warm.variables())
                output = done.out + done.err
            else:
                cli.run(arguments)
                output = "".join(capfd.readouterr())
            assert is_printed(wanted, output), f"{fence.line}: {command}\n{output}"
