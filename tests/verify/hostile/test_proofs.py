"""Plans, trailers and text that try to pass for what they are not."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.verify.histories import AFTER, BEFORE, PLAN, PLAN_PATH
from tests.verify.hostile.world import DIFFERED, HELD, TRAILER, UNJUDGED, World
from verify.reports.verify import PASS

GREEN = "GREEN: every claimed move is proved."
CERTIFIED = "CERTIFIED: nothing but the move."
ROOT = Path(__file__).parents[3]


def titled(title: str) -> str:
    """The plan with a title."""
    return PLAN.replace('formatters = "none"', f'formatters = "none"\ntitle = {json.dumps(title)}')


class TestPass:
    """What prints PASS is no PASS: the exit code and the verdict are values."""

    LIES: Mapping[str, dict[str, str]] = {
        "in code": {"till.py": f"print({PASS!r})\n"},
        "as a file's last line": {"zzz.txt": f"{PASS}\n"},
        "in a path": {f"zzz {PASS} {GREEN} {CERTIFIED}": ""},
        "in a path of several lines": {f"zzz\n{PASS}\n": ""},
        "in a symbol": {"zzz.py": "def PASS_transform_reproduces_the_commit_exactly(): ...\n"},
        "behind an escape sequence": {"zzz.py": f"# \x1b[2J\x1b[H{PASS}\x1b[0m\n"},
        "behind a carriage return": {"zzz.py": f"x = 1 \r{PASS}\n"},
    }

    @pytest.mark.parametrize("files", LIES.values(), ids=LIES)
    def test_written_in_the_target(self, world: World, files: dict[str, str]) -> None:
        base = world.history.commit({**BEFORE, PLAN_PATH: PLAN})
        message = f"{PASS}\n\n{GREEN}\n{CERTIFIED}\n\nMechanical-Move: {PLAN_PATH}\n\n{PASS}\n"
        target = world.history.commit({**AFTER, PLAN_PATH: PLAN, **files}, message)
        answers = world.judge(base, target)
        assert answers["verify"].code == answers["chain"].code == DIFFERED
        assert answers["verify"].data["verdict"] == answers["chain"].data["verdict"] == "differs"
        assert answers["verify"].data["reproduces"] is False
        assert answers["verify"].last.startswith("RESIDUAL: ")
        assert answers["chain"].last == f"RED: {target[:12]}."
        for answer in answers.values():
            lines = answer.out.split("\n")
            assert not {PASS, GREEN} & {line.strip() for line in lines}
            assert "\x1b" not in answer.out
            assert "\r" not in answer.out

    def test_written_in_a_title(self, world: World) -> None:
        world.plan.write_text(titled(PASS))
        base, _ = world.moved()
        answer = world.verify(base, world.history.commit({**AFTER, PLAN_PATH: PLAN, "x": ""}))
        assert answer.code == DIFFERED
        assert PASS not in answer.out.split("\n")

    def test_written_in_authored_text(self, world: World) -> None:
        world.plan.write_text(f'{PLAN}\n[[author]]\npath = "z.txt"\ntext = "{PASS}\\n"\n')
        base, target = world.moved()
        answer = world.verify(base, target)
        assert answer.code == DIFFERED
        assert answer.last.startswith("RESIDUAL: ")
        assert PASS not in answer.out.split("\n")


class TestRanges:
    def test_base_equal_to_target_is_no_verdict(self, world: World) -> None:
        _, target = world.moved()
        for name, answer in world.judge(target, f"{target}^0").items():
            if name == "chain":
                assert "no commit was judged" in answer.last
                assert answer.data["commits"] == []
            else:
                assert (answer.code, answer.refusal) == (UNJUDGED, "nothing-to-judge")

    def test_a_base_that_is_no_ancestor_is_no_verdict(self, world: World) -> None:
        base, target = world.moved()
        world.history.git("checkout", "--quiet", "--orphan", "other")
        other = world.history.commit({**BEFORE, PLAN_PATH: PLAN}, "unrelated")
        for one, two in ((target, base), (other, target)):
            for answer in world.judge(one, two).values():
                assert (answer.code, answer.refusal) == (UNJUDGED, "no-ancestor")

    def test_a_merge_that_adds_code_is_for_human_eyes(self, world: World) -> None:
        base, _ = world.moved()
        world.history.git("checkout", "--quiet", "-b", "side", base)
        world.history.commit({**BEFORE, PLAN_PATH: PLAN, "note.txt": "x\n"})
        world.history.git("checkout", "--quiet", "main")
        world.history.git("merge", "--quiet", "--no-commit", "--no-ff", "side")
        (world.repo / "till.py").write_text("evil = 1\n")
        world.history.git("commit", "--quiet", "--all", "-m", "Merge")
        answer = world.chain(f"{base}..HEAD", "--strict")
        assert answer.code == DIFFERED
        assert answer.data["commits"][-1]["verdict"] == "for human eyes"
        assert "adds to its parents" in answer.data["commits"][-1]["reason"]


def link(world: World, path: str, target: str) -> None:
    (world.repo / path).parent.mkdir(parents=True, exist_ok=True)
    (world.repo / path).unlink(missing_ok=True)
    (world.repo / path).symlink_to(target)


class TestTrailers:
    """A trailer names a plan that the parent has, as a file, and that the commit leaves alone."""

    def claim(self, world: World, base: str, plan: str, files: dict[str, str]) -> None:
        target = world.history.commit(files, f"Split\n\nMechanical-Move: {plan}")
        answer = world.chain(f"{base}..{target}")
        assert answer.code == DIFFERED
        assert [c["verdict"] for c in answer.data["commits"]] == ["faulty trailer"]
        assert answer.last == f"RED: {target[:12]}."

    @pytest.mark.parametrize(
        "plan",
        ["../split.toml", "/etc/passwd", ".git/config", "plans/../plans/split.toml", "plans"],
    )
    def test_that_points_at_no_file_of_the_tree(self, world: World, plan: str) -> None:
        base = world.history.commit({**BEFORE, PLAN_PATH: PLAN})
        self.claim(world, base, plan, {**AFTER, PLAN_PATH: PLAN})

    def test_that_points_at_a_symbolic_link(self, world: World) -> None:
        world.history.commit({**BEFORE, PLAN_PATH: PLAN})
        link(world, "plans/link.toml", "split.toml")
        world.history.git("add", "--all")
        world.history.git("commit", "--quiet", "-m", "link")
        base = world.history.git("rev-parse", "HEAD")
        (world.repo / "shop/money.py").write_text(AFTER["shop/money.py"])
        (world.repo / "shop/orders.py").write_text(AFTER["shop/orders.py"])
        (world.repo / "till.py").write_text(AFTER["till.py"])
        world.history.git("add", "--all")
        world.history.git("commit", "--quiet", "-m", "x\n\nMechanical-Move: plans/link.toml")
        answer = world.chain(f"{base}..HEAD")
        assert (answer.code, answer.data["commits"][0]["verdict"]) == (DIFFERED, "faulty trailer")
        assert "symbolic link" in answer.data["commits"][0]["reason"]

    def test_that_points_at_a_submodule(self, world: World) -> None:
        first = world.history.commit({**BEFORE, PLAN_PATH: PLAN})
        entry = f"160000,{first},plans/sub.toml"
        world.history.git("update-index", "--add", "--cacheinfo", entry)
        world.history.git("commit", "--quiet", "-m", "sub")
        base = world.history.git("rev-parse", "HEAD")
        tree = world.history.git("write-tree")
        world.history.git("update-index", "--cacheinfo", f"160000,{base},plans/sub.toml")
        tree = world.history.git("write-tree")
        message = "x\n\nMechanical-Move: plans/sub.toml"
        target = world.history.git("commit-tree", "-p", base, "-m", message, tree)
        answer = world.chain(f"{base}..{target}")
        assert (answer.code, answer.data["commits"][0]["verdict"]) == (DIFFERED, "faulty trailer")

    def test_that_points_at_a_plan_changed_in_the_same_commit(self, world: World) -> None:
        base = world.history.commit({**BEFORE, PLAN_PATH: PLAN.replace("Money", "pay")})
        self.claim(world, base, PLAN_PATH, {**AFTER, PLAN_PATH: PLAN})

    def test_that_points_at_a_plan_removed_in_the_same_commit(self, world: World) -> None:
        base = world.history.commit({**BEFORE, PLAN_PATH: PLAN})
        self.claim(world, base, PLAN_PATH, AFTER)

    def test_that_points_at_a_plan_added_in_the_same_commit(self, world: World) -> None:
        base = world.history.commit(BEFORE)
        self.claim(world, base, PLAN_PATH, {**AFTER, PLAN_PATH: PLAN})

    def test_that_points_at_a_plan_in_another_case(self, world: World) -> None:
        base = world.history.commit({**BEFORE, PLAN_PATH: PLAN})
        self.claim(world, base, "plans/Split.toml", {**AFTER, PLAN_PATH: PLAN})

    def test_a_plan_that_becomes_a_link_is_no_proof(self, world: World) -> None:
        base = world.history.commit({**BEFORE, PLAN_PATH: PLAN})
        blob = world.history.git("rev-parse", f"HEAD:{PLAN_PATH}")
        world.history.commit({**AFTER, PLAN_PATH: PLAN}, TRAILER)
        world.history.git("update-index", "--cacheinfo", f"120000,{blob},{PLAN_PATH}")
        world.history.git("commit", "--quiet", "--amend", "--no-edit")
        answer = world.chain(f"{base}..HEAD")
        assert answer.code == DIFFERED


def test_no_encoding_hides_a_claim_from_the_series(world: World) -> None:
    _, target = world.moved()
    for key in ("i18n.logOutputEncoding", "i18n.commitEncoding"):
        world.history.git("config", key, "UTF-16")
    world.history.git("config", "grep.patternType", "fixed")
    raw = world.history.git("cat-file", "commit", target).encode() + b"\n"
    raw = raw.replace(b"\n\n", b"\nencoding UTF-16\n\n", 1)
    (world.folder / "commit").write_bytes(raw)
    forged = world.history.git("hash-object", "-t", "commit", "-w", str(world.folder / "commit"))
    for head in (target, forged):
        answer = world.repot("series", "--at", head)
        assert (answer.code, [step["commit"] for step in answer.data["steps"]]) == (HELD, [head])


MACHINES = [
    ".github/workflows/ci.yml", ".GitHub/Workflows/ci.yml", "sub/.github/actions/a/action.yml",
    ".gitlab-ci.yml", ".circleci/config.yml", ".husky/pre-commit", ".githooks/pre-push",
    "Jenkinsfile", "ci/JENKINSFILE", "azure-pipelines.yml", ".travis.yml",
    ".pre-commit-config.yaml", ".gitattributes", "shop/.gitattributes", ".gitmodules",
    ".gitattributes.", "GITATT~1", "sitecustomize.py", "zzz.pth",
]  # fmt: skip


class TestMachines:
    """No plan writes where a machine runs what it finds."""

    @pytest.mark.parametrize("path", MACHINES)
    def test_a_file_may_not_be_authored(self, world: World, path: str) -> None:
        world.plan.write_text(f'{PLAN}\n[[author]]\npath = "{path}"\ntext = "x"\n')
        base, target = world.moved()
        answer = world.verify(base, target)
        assert (answer.code, answer.refusal) == (UNJUDGED, "runs-by-itself")
        answer = world.repot("apply", str(world.plan), "--at", base)
        assert (answer.code, answer.refusal) == (UNJUDGED, "runs-by-itself")

    def test_an_edit_may_not_be_authored(self, world: World) -> None:
        world.plan.write_text(
            f'{PLAN}\n[[author]]\npath = ".github/workflows/ci.yml"\nold = "a"\nnew = "b"\n'
        )
        base = world.history.commit({**BEFORE, ".github/workflows/ci.yml": "a\n"})
        target = world.history.commit({**AFTER, ".github/workflows/ci.yml": "b\n"})
        assert world.verify(base, target).refusal == "runs-by-itself"

    @pytest.mark.parametrize(
        "plan",
        [
            PLAN.replace('module = "shop.money"', 'path = ".github/actions/money.py"'),
            PLAN.replace('module = "shop.money"', 'path = ".githooks/money.py"'),
            PLAN.replace('module = "shop.money"', 'path = "sitecustomize.py"'),
            f'{PLAN}\n[[package]]\npath = ".husky/__init__.py"\n',
        ],
    )
    def test_no_module_lands_there(self, world: World, plan: str) -> None:
        world.plan.write_text(plan)
        base, target = world.moved()
        assert world.verify(base, target).refusal == "runs-by-itself"

    @pytest.mark.parametrize("path", [".git/hooks/pre-commit", ".GIT/config", "a/git~1/x", ".git"])
    def test_the_repository_itself_is_no_place(self, world: World, path: str) -> None:
        world.plan.write_text(f'{PLAN}\n[[author]]\npath = "{path}"\ntext = "x"\n')
        base, target = world.moved()
        answer = world.verify(base, target)
        assert (answer.code, answer.refusal) == (UNJUDGED, "plan-schema")


class TestHidden:
    """Code that comes along with a move is counted and seen."""

    def test_code_in_a_header_is_refused(self, world: World) -> None:
        world.plan.write_text(f"{PLAN}header = 'import os'\n")
        base, target = world.moved()
        assert world.verify(base, target).refusal == "plan-schema"

    def test_a_header_counts_as_authored(self, world: World) -> None:
        world.plan.write_text(f"{PLAN}header = '# noqa: all'\n")
        money = "# noqa: all\n\n" + AFTER["shop/money.py"]
        base = world.history.commit(BEFORE)
        answer = world.verify(base, world.history.commit({**AFTER, "shop/money.py": money}))
        assert answer.last == PASS, answer.out
        assert answer.data["authored_lines"] == 1
        assert "# noqa: all" in answer.out

    def test_a_route_to_another_class_of_that_name_is_refused(self, world: World) -> None:
        world.plan.write_text(
            PLAN.replace("[[source]]", '[import_from]\nMoney = "fake"\n[[source]]')
        )
        files = {"fake.py": "class Money: ...\n"}
        base = world.history.commit({**BEFORE, **files})
        till = AFTER["till.py"].replace("shop.money", "fake")
        answer = world.verify(base, world.history.commit({**AFTER, **files, "till.py": till}))
        assert (answer.code, answer.refusal) == (UNJUDGED, "clash")

    def authored(self, world: World, text: str) -> str:
        """What `verify` prints of a plan that authors a file."""
        world.plan.write_text(
            f'{PLAN}\n[[author]]\npath = "extra.py"\ntext = {json.dumps(text)}\n', "utf-8"
        )
        base = world.history.commit(BEFORE)
        answer = world.verify(base, world.history.commit({**AFTER, "extra.py": text}))
        assert (answer.code, answer.last) == (HELD, PASS), answer.out + answer.err
        assert answer.data["authored_lines"] == len(text.splitlines())
        return answer.out

    def test_authored_code_behind_blank_lines(self, world: World) -> None:
        out = self.authored(world, "x = 1\n" + "\n" * 5000 + "evil()\n" + " \n" * 3000)
        assert "evil()" in out
        assert "... 5,000 blank lines" in out
        assert out.count("\n") < 40

    def test_authored_code_far_down(self, world: World) -> None:
        out = self.authored(world, "".join(f"x = {n}\n" for n in range(300)) + "evil()\n")
        assert "      + evil()\n" in out

    def test_authored_code_far_to_the_right(self, world: World) -> None:
        out = self.authored(world, "x = 1" + " " * 5000 + "; evil()\n")
        assert "<5,000 blanks> ; evil()" in out

    def test_authored_code_in_other_letters(self, world: World) -> None:
        out = self.authored(world, "p\u0430y = 1\n")
        assert "\u0430 is U+0430" in out

    def test_authored_code_in_another_direction(self, world: World) -> None:
        out = self.authored(world, "x = 'a'  # \u202e\u2066 evil \u200b\n")
        assert "<U+202E><U+2066> evil <U+200B>" in out
        assert "\u202e" not in out

    def test_a_destination_in_other_letters_is_named(self, world: World) -> None:
        world.plan.write_text(PLAN.replace('"shop.money"', '"shop.m\u043eney"'), "utf-8")
        base = world.history.commit(BEFORE)
        files = {**AFTER, "shop/m\u043eney.py": AFTER["shop/money.py"]}
        files["till.py"] = AFTER["till.py"].replace("shop.money", "shop.m\u043eney")
        del files["shop/money.py"]
        answer = world.verify(base, world.history.commit(files))
        assert "\u043e is U+043E" in answer.out + answer.err

    def test_residual_code_in_other_letters_and_directions(self, world: World) -> None:
        base = world.history.commit(BEFORE)
        target = world.history.commit(
            {**AFTER, "till.py": AFTER["till.py"] + "\n" * 4000 + "p\u0430y = '\u202e'\n"}
        )
        answers = world.judge(base, target)
        assert {answers[name].code for name in ("verify", "certify")} == {DIFFERED}
        for name in ("verify", "certify"):
            assert "p\u0430y = '<U+202E>'" in answers[name].out, name
            assert len(answers[name].out) < 4000
        assert "\u0430 is U+0430" in answers["certify"].out
        assert "\u0430 is U+0430" in answers["verify"].out


MARKUP = {
    "escape sequences": "\x1b[31mred\x1b]0;title\x07\x9b2J",
    "markup": "[bold red]x[/] [link=http://evil]y[/link] :smile:",
    "fences": "```\n# heading\n~~~",
    "HTML": "<script>alert(1)</script><!-- --> &lt;",
    "commands of GitHub": "::error file=a,line=1::all is well%0A::set-output name=x::y",
    "commands of Azure": "##[error]x ##vso[task.setvariable variable=a]b ##teamcity[x]",
    "line ends": "a\rb\x0bc\x0cd\x85e\u2028f",
}


def inert(printed: str) -> None:
    """No line acts on a terminal, on a log's reader or on its annotations."""
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u202e]", printed)
    assert not re.search(r"(?m)^\s*::", printed)
    assert not re.search(r"##\w*\[", printed)


class TestMarkup:
    """Text of a stranger is shown and never obeyed: in titles, paths, subjects and code."""

    def everywhere(self, world: World, text: str) -> tuple[str, str]:
        """Put a text wherever a stranger may write one, and commit it as a claimed move."""
        plain = text.replace("/", "").replace("\n", " ")
        comment = "".join(f"# {line}\n{line!r}\n" for line in re.split(r"[\r\n\x0b\x0c]", text))
        head = titled(plain) if plain.isprintable() else PLAN  # a title is one plain line
        plan = f"{head}\n[[author]]\npath = 'extra.txt'\ntext = {json.dumps(text)}\n"
        world.plan.write_text(plan, "utf-8")
        base = world.history.commit({**BEFORE, PLAN_PATH: plan, plain: ""})
        files = {**AFTER, PLAN_PATH: plan, "extra.txt": text, f"::x {plain}.py": comment}
        files["till.py"] = AFTER["till.py"] + comment
        message = f"{plain}\n\n{text}\n\nMechanical-Move: {PLAN_PATH}"
        return base, world.history.commit(files, message)

    @pytest.mark.parametrize("text", MARKUP.values(), ids=MARKUP)
    def test_in_a_pipe_and_in_json(self, world: World, text: str) -> None:
        base, target = self.everywhere(world, text)
        for name, answer in world.judge(base, target).items():
            assert answer.code in (HELD, DIFFERED, UNJUDGED), answer.err
            inert(answer.out)
            inert(answer.err)
            report = (world.folder / "report.json").read_text()
            assert report.isascii()
            inert(report)
            if name == "chain":
                assert answer.code != HELD
                subject = text.replace("/", "").replace("\n", " ")
                assert answer.data["commits"][0]["subject"] == subject

    def test_on_a_terminal(self, world: World) -> None:
        text = "".join(text[:24] for text in MARKUP.values()).replace("\n", " ").replace("/", "")
        base, target = self.everywhere(world, text)
        script = "import sys; from verify.cli import run; sys.exit(run())"
        for command in (
            ["verify", str(world.plan), "--base", base, "--target", target],
            ["chain", f"{base}..{target}", "--no-cache", "--jobs=1"],
        ):
            printed = on_terminal([sys.executable, "-P" if sys.version_info >= (3, 11) else "-s",
                                   "-c", script, *command, "--repo", str(world.repo)])  # fmt: skip
            colours = re.sub(r"\x1b\[[0-9;]*m", "", printed)
            assert colours != printed
            inert(colours.replace("\r\n", "\n"))
            assert "[bold red]x" in colours
            assert "https" not in re.sub(r"http://evil", "", colours)


def on_terminal(command: list[str]) -> str:
    """Run a command on a terminal of its own, and give what it writes there."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "4000"}
    child = subprocess.Popen(
        command, stdout=theirs, stderr=subprocess.DEVNULL, stdin=theirs, env=environment, cwd=ROOT
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:
            break
        if not piece:
            break
        written += piece
    child.wait()
    os.close(ours)
    return written.decode("utf-8", "replace")
