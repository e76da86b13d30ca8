"""What hostile cases share: the real commands, a canary, and proof that nothing was written."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.verify.histories import AFTER, BEFORE, PLAN, PLAN_PATH, History
from verify import cli
from verify.reports.verify import PASS

TRAILER = f"Split\n\nMechanical-Move: {PLAN_PATH}"
HELD, DIFFERED, UNJUDGED = 0, 1, 2


@dataclass(frozen=True)
class Answer:
    """How one command ended: its exit code, what it printed, and its JSON report."""

    code: int
    out: str
    err: str
    data: dict[str, Any]

    @property
    def last(self) -> str:
        """The last line of the output."""
        return (self.out.rstrip("\n") or "\n").rsplit("\n", 1)[-1]

    @property
    def refusal(self) -> str:
        """The kind of the refusal; empty for none."""
        return str(self.data.get("refusal", {}).get("kind", ""))


class World:
    """A repository, a plan beside it, and a folder that the user named for reports."""

    def __init__(
        self, folder: Path, capfd: pytest.CaptureFixture[str], *, repo: str = "repo"
    ) -> None:
        self.folder = folder
        self.history = History(folder / repo)
        self.repo = self.history.folder
        self.plan = folder / "split.toml"
        self.plan.write_text(PLAN)
        self.canary = folder / "canary"
        self._capfd = capfd

    def moved(self) -> tuple[str, str]:
        """Commit the plan with the code, then the move that it describes."""
        base = self.history.commit({**BEFORE, PLAN_PATH: PLAN})
        return base, self.history.commit({**AFTER, PLAN_PATH: PLAN}, TRAILER)

    def trap(self) -> str:
        """Give a command that leaves the canary if anybody runs it."""
        script = self.folder / "trap"
        script.write_text(f"#!/bin/sh\necho ran >> {shlex.quote(str(self.canary))}\ncat\n")
        script.chmod(0o755)
        return str(script)

    def python_trap(self) -> str:
        """Give Python source that leaves the canary when it is imported."""
        return f"open({str(self.canary)!r}, 'a').write(__name__ + '\\n')\n"

    def repot(self, command: str, *arguments: str, repo: Path | None = None) -> Answer:
        """Run a command on the repository; its JSON goes to a file."""
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        self._capfd.readouterr()
        code = cli.run(
            [command, *arguments, "--repo", str(repo or self.repo), "--json", str(report)]
        )
        printed = self._capfd.readouterr()
        data = json.loads(report.read_text()) if report.exists() else {}
        return Answer(code, printed.out, printed.err, data)

    def verify(self, base: str, target: str, repo: Path | None = None) -> Answer:
        """Replay the plan beside the repository."""
        return self.repot("verify", str(self.plan), "--base", base, "--target", target, repo=repo)

    def chain(self, commits: str, *options: str, repo: Path | None = None) -> Answer:
        """Judge a range; a claimed move is replayed, certified and blamed."""
        return self.repot("chain", commits, "--no-cache", "--jobs=1", *options, repo=repo)

    def judge(self, base: str, target: str, repo: Path | None = None) -> dict[str, Answer]:
        """Run all four commands on a range."""
        commits = f"{base}..{target}"
        return {
            "verify": self.verify(base, target, repo),
            "certify": self.repot("certify", commits, repo=repo),
            "blame": self.repot("blame", commits, repo=repo),
            "chain": self.chain(commits, repo=repo),
        }

    def assert_moved(self, answers: dict[str, Answer]) -> None:
        """All four verdicts are those of the plain move."""
        assert {name: answer.code for name, answer in answers.items()} == dict.fromkeys(answers, 0)
        assert answers["verify"].last == PASS
        assert answers["certify"].last == "CERTIFIED: nothing but the move."
        assert answers["blame"].data["traced"] == answers["blame"].data["lines"] == 5
        self.assert_proved(answers["chain"])

    def assert_proved(self, answer: Answer) -> None:
        """A chain of the plain move is green, and all three verdicts on it are as they should."""
        assert answer.code == HELD, answer.out + answer.err
        (found,) = answer.data["commits"]
        assert (found["verdict"], found["certificate"]) == ("proved", "CERTIFIED")
        assert (found["lines"], found["traced"], found["strict"]) == (5, 5, 5)
        assert not self.canary.exists()


@pytest.fixture
def world(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> World:
    """Give a world of its own, with a cache of its own."""
    monkeypatch.setenv("REPOT_CACHE", str(tmp_path / "cache"))
    return World(tmp_path, capfd)
