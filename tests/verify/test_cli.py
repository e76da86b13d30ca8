from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import types
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import transforms
from tests.transforms.checkouts import run_git
from tests.verify.samples import OUTCOME, UNCHANGED
from transforms.errors import Place, Refusal
from transforms.result.changes import Blob, Change, ChangeSet
from transforms.result.outcome import Destination, Outcome
from transforms.tree import Tree, WorkingTree
from verify import cli
from verify.commands import mcp

PLAN = """\
format = 1
title = "Take X out"

[[source]]
module = "old"

[[destination]]
module = "new"
symbols = ["X"]
"""

MOVE = Outcome(
    changes=ChangeSet(
        [
            Change("old.py", Blob(b"X = 1\nY = 2\n"), Blob(b"Y = 2\n")),
            Change("new.py", None, Blob(b"X = 1\n")),
        ]
    ),
    sources=(),
    destinations=(),
    callers=(),
    authored=(),
    notes=(),
    formatted=(),
)


class Mover:
    """A mover that gives what a test sets, and remembers how it was called."""

    def __init__(self) -> None:
        self.result: Outcome | BaseException = MOVE
        self.formatters: object = None
        self.tree: Tree | None = None

    def apply(self, plan: object, tree: Tree, *, formatters: object = None) -> Outcome:
        self.formatters, self.tree = formatters, tree
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result


@pytest.fixture(autouse=True)
def mover(monkeypatch: pytest.MonkeyPatch) -> Mover:
    mover = Mover()
    engine, formatters = types.ModuleType("engine"), types.ModuleType("formatters")
    vars(engine).update(apply=mover.apply)
    vars(formatters).update(
        no_formatters=lambda: "none", repository_formatters=lambda tree: "repository"
    )
    for name, module in (("engine", engine), ("formatters", formatters)):
        monkeypatch.setitem(sys.modules, f"transforms.{name}", module)
        monkeypatch.setattr(transforms, name, module, raising=False)
    return mover


def git(*arguments: str) -> None:
    run_git(Path(), *arguments)


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a committed module, as the working directory; the plan lies beside it."""
    (tmp_path / "plan.toml").write_text(PLAN)
    repo = tmp_path / "repo"
    repo.mkdir()
    monkeypatch.chdir(repo)
    (repo / "old.py").write_text("X = 1\nY = 2\n")
    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "start")
    return repo


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> tuple[int, str, str]:
        code = cli.run(arguments)
        return (code, *capsys.readouterr())

    return call


def files(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


UNTOUCHED = {"old.py": "X = 1\nY = 2\n"}
MOVED = {"old.py": "Y = 2\n", "new.py": "X = 1\n"}


class TestUsage:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            pytest.param(["apply"], "Missing argument 'PLAN'", id="no plan"),
            pytest.param(["appyl"], "No such command 'appyl'", id="a mistyped command"),
            pytest.param(["apply", "p", "--wirte"], "--write", id="a mistyped option"),
            pytest.param(["apply", "p", "q"], "unexpected extra argument", id="two plans"),
            pytest.param(["apply", "p", "--at"], "requires an argument", id="no revision"),
            pytest.param(
                ["apply", "p", "--formatters", "black"], "'none'", id="an unknown formatter"
            ),
            pytest.param(
                ["apply", "p", "--diff", "--write"],
                "--diff and --write exclude each other",
                id="diff and write",
            ),
            pytest.param(
                ["apply", "p", "--diff", "--check", "--write"],
                "--diff and --check and --write exclude each other",
                id="all three modes",
            ),
            pytest.param(
                ["apply", "p", "--write", "--at", "HEAD"],
                "--write changes the working tree and --at names a commit",
                id="write to a commit",
            ),
            pytest.param(
                ["apply", "p", "--diff", "--json", "-"],
                "both print to stdout",
                id="two results on stdout",
            ),
            pytest.param(
                ["apply", "p", "--diff", "--html", "-"],
                "--diff and --html - both print to stdout",
                id="a diff and a page on stdout",
            ),
            pytest.param(
                ["apply", "p", "--markdown", "-", "--html", "-"],
                "--markdown and --html both print to stdout",
                id="two reports on stdout",
            ),
            pytest.param(
                ["apply", "p", "--json", "x", "--markdown", "x"],
                "--json and --markdown both write the same file",
                id="two reports in one file",
            ),
            pytest.param(["--bogus"], "No such option", id="an unknown global option"),
        ],
    )
    def test_wrong_usage_is_two_and_says_what_and_where_to_read(
        self, run: Run, arguments: list[str], message: str
    ) -> None:
        code, out, err = run(*arguments)
        assert code == 2
        assert not out
        assert message in err
        assert re.search(r"Try `repot( apply)? --help`\.\n\Z", err)

    def test_no_command_is_two_and_prints_the_help(self, run: Run) -> None:
        code, out, err = run()
        assert (code, out) == (2, "")
        assert "Examples:" in err

    def test_what_was_typed_is_inert_in_the_message(self, run: Run) -> None:
        _, _, err = run("apply", "p", "--\x1b[2J[red]")
        assert r"--\x1b[2J[red]" in err
        assert "\x1b" not in err

    def test_every_help_teaches_by_an_example(self, run: Run) -> None:
        names = [command.name for command in cli.app.registered_commands]
        assert names
        for arguments in ([], *([name] for name in names if name)):
            code, out, _ = run(*arguments, "--help")
            assert code == 0
            command = " ".join(["repot", *arguments])
            assert re.search(rf"Examples:\n  {command}\s", out.replace("\n    ", "\n  ")), command

    def test_the_version_is_that_of_the_distribution(self, run: Run) -> None:
        code, out, _ = run("--version")
        assert code == 0
        assert re.fullmatch(r"repot \d+\.\d+\.\d+\n", out)


class TestCompletion:
    @pytest.mark.parametrize(
        ("line", "word"),
        [("repot revi", "review"), ("repot review --ht", "--html"), ("repot apply --un", "--undo")],
    )
    def test_a_shell_is_given_the_words_that_fit(
        self,
        line: str,
        word: str,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.setenv("_REPOT_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
        with pytest.raises(SystemExit):
            cli.run([])
        assert capsys.readouterr().out.split() == [word]

    def test_the_script_for_a_shell_is_what_the_readme_says(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        readme = (Path(cli.__file__).parent.parent / "README.md").read_text(encoding="utf-8")
        assert 'eval "$(_REPOT_COMPLETE=source_bash repot)"' in readme
        monkeypatch.setenv("_REPOT_COMPLETE", "source_bash")
        with pytest.raises(SystemExit):
            cli.run([])
        assert "_REPOT_COMPLETE=complete_bash" in capsys.readouterr().out


class TestApply:
    def test_without_a_mode_the_summary_is_shown_and_nothing_written(
        self, run: Run, repo: Path
    ) -> None:
        code, out, err = run("apply", "../plan.toml")
        assert (code, err) == (0, "")
        assert out.startswith("repot apply: Take X out (../plan.toml) on working tree\n")
        assert "0 authored lines." in out
        assert "Nothing was written" in out
        assert files(repo) == UNTOUCHED

    def test_write_writes_the_move(self, run: Run, repo: Path) -> None:
        code, out, _ = run("apply", "../plan.toml", "--write")
        assert code == 0
        assert "\nWritten: 2 files.\nNext: put the plan into the repository and commit it" in out
        assert files(repo) == MOVED

    @pytest.mark.parametrize("committed", [True, False])
    def test_after_write_stands_how_to_commit_it_and_how_to_undo_it(
        self, run: Run, repo: Path, committed: bool
    ) -> None:
        (repo / "plan.toml").write_text(PLAN)
        if committed:
            git("add", "plan.toml")
            git("commit", "-q", "-m", "plan")
        _, out, _ = run("apply", "plan.toml", "--write")
        first = "The plan is committed" if committed else "Next: commit the plan first, by itself"
        assert f"\nWritten: 2 files.\n{first}" in out
        assert "this trailer: `Mechanical-Move: plan.toml`\n" in out
        assert "`repot apply --undo plan.toml`, while no file that was written has changed" in out
        code, out, _ = run("apply", "--undo", "plan.toml")
        assert (code, out) == (
            0,
            "repot apply: plan.toml: undone\n\nAs before the move\n  new.py\n  old.py\n\n"
            "Undone: 2 files as before the move.\n",
        )
        assert files(repo) == {**UNTOUCHED, "plan.toml": PLAN}
        code, _, err = run("apply", "--undo", "plan.toml")
        assert code == 2
        assert "No move is kept here that could be undone." in err

    def test_undo_works_without_git_and_refuses_what_was_edited_since(
        self, run: Run, repo: Path
    ) -> None:
        shutil.rmtree(repo / ".git")
        _, out, _ = run("apply", "../plan.toml", "--write")
        assert "Mechanical-Move" not in out
        (repo / "new.py").write_text("X = 2\n")
        code, _, err = run("apply", "--undo", "../plan.toml")
        assert code == 2
        assert "new.py: It no longer has the bytes that were written" in err
        (repo / "new.py").write_text("X = 1\n")
        assert run("apply", "--undo", "../plan.toml")[0] == 0
        assert files(repo) == UNTOUCHED
        assert not (repo / ".repot-journal").exists()

    def test_write_finds_the_repository_by_option(
        self, run: Run, repo: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(repo.parent)
        assert run("apply", "plan.toml", "--repo", "repo", "--write")[0] == 0
        assert files(repo) == MOVED

    def test_check_differs_where_something_would_change(
        self, run: Run, repo: Path, mover: Mover
    ) -> None:
        assert run("apply", "../plan.toml", "--check")[0] == 1
        assert files(repo) == UNTOUCHED
        mover.result = UNCHANGED
        assert run("apply", "../plan.toml", "--check")[0] == 0

    def test_diff_is_a_patch_that_git_applies(
        self, repo: Path, capfdbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        assert cli.run(["apply", "../plan.toml", "--diff"]) == 0
        patch = capfdbinary.readouterr().out
        assert patch == MOVE.changes.diff()
        run_git(Path(), "apply", stdin=patch)
        assert files(repo) == MOVED

    def test_a_commit_is_read_without_a_working_tree(
        self, run: Run, repo: Path, tmp_path: Path, mover: Mover
    ) -> None:
        git("clone", "-q", "--bare", str(repo), str(tmp_path / "bare"))
        code, out, _ = run("apply", "../plan.toml", "--repo", "../bare", "--at", "HEAD")
        assert code == 0
        assert re.match(r"repot apply: .* on commit [0-9a-f]{12}\n", out)
        assert mover.tree is not None

    def test_a_bare_repository_cannot_be_written(
        self, run: Run, repo: Path, tmp_path: Path
    ) -> None:
        git("clone", "-q", "--bare", str(repo), str(tmp_path / "bare"))
        code, _, err = run("apply", "../plan.toml", "--repo", "../bare", "--write")
        assert code == 2
        assert "no working tree" in err

    def test_a_dirty_file_is_refused_by_name(self, run: Run, repo: Path, mover: Mover) -> None:
        (repo / "old.py").write_text("X = 1\nY = 3\n")
        mover.result = Outcome(
            ChangeSet([Change("old.py", Blob(b"X = 1\nY = 3\n"), Blob(b"Y = 3\n"))]),
            *((),) * 6,
        )
        code, out, err = run("apply", "../plan.toml", "--write")
        assert (code, out) == (2, "")
        assert "old.py" in err
        assert "Nothing was written." in err
        assert files(repo) == {"old.py": "X = 1\nY = 3\n"}

    @pytest.mark.parametrize(
        ("plan", "option", "used"),
        [
            pytest.param("", [], "repository", id="the plan's default"),
            pytest.param('formatters = "none"\n', [], "none", id="as the plan says"),
            pytest.param("", ["--formatters", "none"], "none", id="the option wins over none"),
            pytest.param(
                'formatters = "none"\n',
                ["--formatters", "repository"],
                "repository",
                id="the option wins over the plan",
            ),
        ],
    )
    def test_the_formatters_are_the_options_then_the_plans(
        self, run: Run, repo: Path, mover: Mover, plan: str, option: list[str], used: str
    ) -> None:
        (repo.parent / "plan.toml").write_text(plan + PLAN)
        assert run("apply", "../plan.toml", *option)[0] == 0
        assert mover.formatters == used

    def test_a_stopped_run_is_recovered_first_and_said(
        self, run: Run, repo: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from transforms.write import journal

        monkeypatch.setattr(
            journal, "recover", lambda root: journal.Recovery("finished", ("old.py", "new.py"))
        )
        code, out, err = run("apply", "../plan.toml")
        assert code == 0
        assert err == "An interrupted run is finished now: 2 files written.\n  old.py\n  new.py\n"
        assert "interrupted" not in out


class TestOutcomes:
    def test_a_refusal_is_two_on_stderr(self, run: Run, repo: Path, mover: Mover) -> None:
        mover.result = Refusal(
            "cycle", "a imports b.", next_step="Move X too.", place=Place("a.py", 3)
        )
        code, out, err = run("apply", "../plan.toml")
        assert (code, out) == (2, "")
        assert err == (
            "repot apply: refused (cycle)\n\n  a.py:3: a imports b.\n\nMove X too.\n"
            "Nothing was written.\n"
        )

    def test_a_missing_plan_is_a_refusal(self, run: Run, repo: Path) -> None:
        code, _, err = run("apply", "nowhere.toml")
        assert code == 2
        assert "nowhere.toml" in err

    @pytest.mark.parametrize(
        "error",
        [
            pytest.param(KeyError("x"), id="an error"),
            pytest.param(RecursionError("too deep"), id="a recursion"),
            pytest.param(AssertionError(), id="an error without words"),
            pytest.param(BrokenPipeError(32, "Broken pipe"), id="a pipe of a child"),
        ],
    )
    def test_a_fault_is_three_without_a_traceback(
        self, run: Run, repo: Path, mover: Mover, error: Exception
    ) -> None:
        mover.result = error
        code, out, err = run("apply", "../plan.toml")
        assert (code, out) == (3, "")
        assert type(error).__name__ in err
        assert "This is a fault of Repot" in err
        assert "Traceback" not in err

    @pytest.mark.parametrize("way", ["option", "environment"])
    def test_a_traceback_is_printed_when_asked_for(
        self, run: Run, repo: Path, mover: Mover, monkeypatch: pytest.MonkeyPatch, way: str
    ) -> None:
        mover.result = KeyError("\x1b[2J")
        if way == "environment":
            monkeypatch.setenv("REPOT_TRACEBACK", "1")
        code, _, err = run("apply", "../plan.toml", *(["--traceback"] if way == "option" else []))
        assert code == 3
        assert "Traceback (most recent call last)" in err
        assert "\x1b" not in err

    def test_an_interrupt_is_130_and_nothing_is_written(
        self, run: Run, repo: Path, mover: Mover
    ) -> None:
        mover.result = KeyboardInterrupt()
        code, out, err = run("apply", "../plan.toml", "--write")
        assert (code, out, err) == (130, "", "Interrupted: nothing was written.\n")
        assert files(repo) == UNTOUCHED

    @pytest.mark.parametrize(
        ("before", "message", "left"),
        [
            pytest.param(True, "nothing was written", UNTOUCHED, id="before the first file"),
            pytest.param(False, "the move had been written", MOVED, id="after the last file"),
        ],
    )
    def test_an_interrupt_while_writing_says_what_became_of_the_files(
        self,
        run: Run,
        repo: Path,
        monkeypatch: pytest.MonkeyPatch,
        before: bool,
        message: str,
        left: dict[str, str],
    ) -> None:
        from transforms.write import journal

        write = journal.write

        def interrupted(tree: WorkingTree, changes: ChangeSet, *, keep: str) -> None:
            if not before:
                write(tree, changes)
            raise KeyboardInterrupt

        monkeypatch.setattr(journal, "write", interrupted)
        code, out, err = run("apply", "../plan.toml", "--write")
        assert (code, out, err) == (130, "", f"Interrupted: {message}.\n")
        assert files(repo) == left

    def test_hostile_titles_and_paths_are_inert(self, run: Run, repo: Path, mover: Mover) -> None:
        (repo.parent / "plan.toml").write_text(PLAN.replace("Take X out", "[red]Take :smile: out"))
        path = "[red]\x1b]0;owned\x07\u202e"
        mover.result = Outcome(
            ChangeSet([Change(path, None, Blob(b"x"))]),
            (),
            (Destination(path, path, True, (path,), (), (path,), 1),),
            *((),) * 4,
        )
        code, out, err = run("apply", "../plan.toml")
        assert (code, err) == (0, "")
        assert out.startswith("repot apply: [red]Take :smile: out (")
        assert out.count(r"[red]\x1b]0;owned\x07<U+202E>") == 3
        assert not set(out) & {"\x1b", "\x07", "\u202e"}

    def test_a_hostile_plan_is_inert_where_it_is_refused(self, run: Run, repo: Path) -> None:
        (repo.parent / "plan.toml").write_text(f"{PLAN}\n[[source]]\n\x1b[2J\u202e[red] = 1\n")
        code, _, err = run("apply", "../plan.toml")
        assert code == 2
        assert r"\x1b[2J<U+202E>[red]" in err
        assert not set(err) & {"\x1b", "\u202e"}


class TestJson:
    def test_a_file_gets_the_report_beside_the_text(self, run: Run, repo: Path) -> None:
        code, out, _ = run("apply", "../plan.toml", "--json", "../report.json")
        written = json.loads((repo.parent / "report.json").read_text())
        assert (code, written["exit_code"]) == (0, 0)
        assert [change["path"] for change in written["files"]] == ["new.py", "old.py"]
        assert "seconds" not in written
        assert out

    def test_stdout_gets_the_report_in_place_of_the_text(self, run: Run, repo: Path) -> None:
        code, out, _ = run("apply", "../plan.toml", "--check", "--json", "-")
        assert code == 1
        assert json.loads(out)["verdict"] == "differs"

    def test_a_refusal_and_a_fault_are_reported_too(
        self, run: Run, repo: Path, mover: Mover
    ) -> None:
        mover.result = Refusal("cycle", "no", next_step="x")
        assert json.loads(run("apply", "../plan.toml", "--json", "-")[1])["verdict"] == "unjudged"
        mover.result = KeyError("x")
        assert json.loads(run("apply", "../plan.toml", "--json", "-")[1])["verdict"] == "fault"

    def test_diff_writes_its_report_to_a_file(self, run: Run, repo: Path) -> None:
        code, out, _ = run("apply", "../plan.toml", "--diff", "--json", "../report.json")
        assert code == 0
        assert out.startswith("diff --git ")
        assert json.loads((repo.parent / "report.json").read_text())["mode"] == "diff"

    @pytest.mark.parametrize("file", ["none/report.json", "."])
    @pytest.mark.parametrize(
        ("option", "name"),
        [("--json", "JSON report"), ("--markdown", "Markdown report"), ("--html", "page")],
    )
    def test_an_unwritable_file_is_refused_before_anything_is_done(
        self, run: Run, repo: Path, file: str, option: str, name: str
    ) -> None:
        code, out, err = run("apply", "../plan.toml", "--write", option, file)
        assert (code, out) == (2, "")
        assert f"{file}: The {name} cannot be written" in err
        assert files(repo) == UNTOUCHED

    def test_every_form_may_be_written_at_once_and_one_of_them_to_stdout(
        self, run: Run, repo: Path
    ) -> None:
        wanted = ["--markdown", "-", "--html", "../page.html", "--json", "../report.json"]
        code, out, _ = run("apply", "../plan.toml", *wanted)
        assert code == 0
        assert "repot apply" in out
        assert "<title>repot apply: " in (repo.parent / "page.html").read_text()
        assert json.loads((repo.parent / "report.json").read_text())["exit_code"] == 0

    @pytest.mark.parametrize(
        "command",
        ["apply", "blame", "bundle", "certify", "chain", "infer", "origin", "series", "verify"],
    )
    def test_every_command_has_every_form(self, run: Run, command: str) -> None:
        _, out, _ = run(command, "--help")
        for option in ("--repo DIR", "--json FILE", "--markdown FILE", "--html FILE"):
            assert option in out
        assert {"--verbose", "--traceback"} <= set(out.split())

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
    def test_a_file_that_fails_late_does_not_deny_the_move(self, run: Run, repo: Path) -> None:
        code, out, err = run("apply", "../plan.toml", "--write", "--json", "/dev/full")
        assert code == 2
        assert "Written: 2 files." in out
        assert "The JSON report cannot be written" in err
        assert "Nothing was written" not in err
        assert files(repo) == MOVED

    def test_seconds_are_added_when_asked_for(self, run: Run, repo: Path, mover: Mover) -> None:
        mover.result = OUTCOME
        written = json.loads(run("apply", "../plan.toml", "--json", "-", "-v")[1])
        own = {"parse": 1.5, "search": 0.25}
        assert {name: written["seconds"].pop(name) for name in own} == own
        assert set(written["seconds"]) == {"applying", "judging", "wording"}


def _heed_interrupts() -> None:
    """Undo what a test run in the background inherits: that Ctrl-C is ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def python(code: str, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        check=False,
        text=True,
        capture_output=True,
        **options,
    )


def read_to_end(terminal: int) -> Iterator[str]:
    """What was written to a terminal whose other side is closed; it comes in pieces."""
    with open(terminal, "rb", buffering=0) as stream, suppress(OSError):  # EIO is its end
        while piece := stream.read(10_000):
            yield piece.decode()


class TestProcess:
    @pytest.fixture(autouse=True)
    def importable(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nothing that is installed has these names, and a test stands in a folder of its own."""
        monkeypatch.setenv("PYTHONPATH", str(Path(transforms.__file__).parents[1]))

    def test_help_loads_nothing_that_is_slow(self) -> None:
        done = python(
            """
            import sys
            from verify import cli
            assert cli.run(["apply", "--help"]) == 0
            slow = {"libcst", "git", "yaml", "rich", "torch", "numpy", "transforms.engine"}
            slow |= {"multiprocessing", "concurrent.futures", "verify.kernel"}
            print("loaded:", sorted(slow & set(sys.modules)))
            """
        )
        assert done.stdout.endswith("loaded: []\n"), done.stderr

    def test_a_reader_who_leaves_early_changes_nothing(self, repo: Path) -> None:
        code = """
            import os, sys
            import verify.report.console as console
            from verify.report.report import Style
            lines = [((("x" * 1000), Style.PLAIN),)] * 1000
            console.print_lines(lines, sys.stdout)
            console.print_diff(b"x" * 1_000_000, sys.stdout)
            sys.stderr.write("fine")
            """
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)],
            check=False,
            stdout=write,
            stderr=subprocess.PIPE,
        )
        os.close(write)
        assert (done.returncode, done.stderr) == (0, b"fine")

    def test_a_stream_that_lacks_a_character_gets_it_escaped(self) -> None:
        done = python(
            """
            import sys
            from verify.report.console import print_lines
            from verify.report.report import Style
            print_lines([(("caf\\u00e9 \\u2192", Style.PLAIN),)], sys.stdout)
            """,
            env={**os.environ, "PYTHONIOENCODING": "ascii"},
        )
        assert done.stdout == "caf\\xe9 \\u2192\n"

    @pytest.mark.parametrize(
        ("environment", "coloured"),
        [
            pytest.param({"TERM": "xterm"}, True, id="a terminal"),
            pytest.param({"TERM": "xterm", "NO_COLOR": "1"}, False, id="NO_COLOR"),
            pytest.param({"TERM": "dumb"}, False, id="a dumb terminal"),
        ],
    )
    def test_colour_is_for_terminals_that_want_it(
        self, environment: dict[str, str], coloured: bool
    ) -> None:
        code = """
            import sys
            from verify.report.console import print_diff, print_lines
            from verify.report.report import Style
            print_lines([(("[red]a", Style.TITLE), (" :smile:", Style.PLAIN))], sys.stdout)
            print_diff(b"+\\x1b[2J\\r\\n", sys.stdout)
            """
        parent, child = pty.openpty()
        process = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)],
            check=True,
            stdout=child,
            env={**os.environ, **environment},
        )
        os.close(child)
        shown = "".join(read_to_end(parent))
        assert process.returncode == 0
        assert ("\x1b[" in shown) is coloured
        plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
        assert plain == "[red]a :smile:\r\n+\\x1b[2J\\r\r\n"

    def test_no_colour_is_forced_into_a_pipe(self) -> None:
        done = python(
            """
            import sys
            from verify.report.console import print_lines
            from verify.report.report import Style
            print_lines([(("a", Style.TITLE),)], sys.stdout)
            """,
            env={**os.environ, "FORCE_COLOR": "1", "CLICOLOR_FORCE": "1", "GITHUB_ACTIONS": "1"},
        )
        assert done.stdout == "a\n"

    def test_a_signal_ends_the_real_process_with_130(self, repo: Path) -> None:
        code = """
            import os, signal, sys, types
            import transforms
            engine = types.ModuleType("engine")
            engine.apply = lambda plan, tree, formatters: os.kill(os.getpid(), signal.SIGINT)
            formatters = types.ModuleType("formatters")
            formatters.repository_formatters = lambda tree: None
            for name, module in (("engine", engine), ("formatters", formatters)):
                sys.modules["transforms." + name] = module
                setattr(transforms, name, module)
            from verify import cli
            sys.argv = ["repot", "apply", "../plan.toml", "--write"]
            cli.main()
            """
        done = python(
            code, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler)
        )
        assert done.stderr == "Interrupted: nothing was written.\n"
        assert done.returncode == 130
        assert files(repo) == UNTOUCHED


class TestMcp:
    def test_without_the_sdk_it_says_what_to_install(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(mcp, "find_spec", lambda _name: None)
        code, _, err = run("mcp", "--root", ".")
        assert code == 2
        assert "repot mcp: refused (no-extra)" in err
        assert "pip install 'repot[mcp]'" in err

    def test_with_it_the_launcher_would_have_started_it(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(mcp, "find_spec", lambda _name: object())
        code, _, err = run("mcp", "--root", ".")
        assert code == 2
        assert "started by the installed command" in err
