"""The script as a stranger runs it, without network: verdicts, what it refuses, what it trusts."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.verify.bundle.rig import Done, World, finish, litter
from tests.verify.histories import AFTER, PLAN
from verify.bundle.engine import engine_files

OLDER = next(
    (
        str(path)
        for version in ("3.9", "3.8", "3.7")
        for path in (Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python")
    ),
    None,
)


def littered(world: World) -> Path:
    """Put hostile modules at the top of the clone; give the file that shows whether one ran."""
    mark = world.folder / "mark"
    litter(world.clone.folder, mark)
    return mark


def without_venv(world: World) -> list[str]:
    """The command in a Python that has no `ensurepip`, as on Debian, which ships it apart."""
    code = (
        "import importlib.util as u, sys; find = u.find_spec; "
        "u.find_spec = lambda name, *more: None if name == 'ensurepip' else find(name, *more); "
        f"exec(compile(open({str(world.file)!r}).read(), 'bundle', 'exec'))"
    )
    return [sys.executable, "-c", code]


@pytest.fixture(scope="module")
def without_wheels(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, Done]:
    """A run that finds no environment, no wheel for one, and hostile settings of pip's."""
    world = World(tmp_path_factory.mktemp("without-wheels"))
    (world.clone.folder / "pip.conf").write_text("[global]\nindex-url = http://127.0.0.1:9/c\n")
    more = {"PIP_CONFIG_FILE": "pip.conf", "PIP_INDEX_URL": "http://127.0.0.1:9/v"}
    return world, world.run("--find-links", str(world.folder), more=more)


class TestVerdict:
    def test_a_move_that_is_reproduced_passes(self, warm: World) -> None:
        done = warm.run()
        assert done.passes, done
        assert done.err == ""
        for shown in (warm.base, warm.target, "0 authored lines", "CERTIFIED", "5/5 lines traced"):
            assert shown in done.out

    def test_a_tampered_plan_differs(self, warm: World) -> None:
        warm.file.write_bytes(warm.bundle(PLAN.replace('["Money"]', '["Money", "pay"]')))
        done = warm.run()
        assert done.code == 1
        assert not done.passes
        assert "RESIDUAL" in done.out

    def test_a_plan_that_is_refused_is_not_judged(self, warm: World) -> None:
        warm.file.write_bytes(warm.bundle("format = 2\n"))
        done = warm.run()
        assert done.code == 2
        assert not done.passes

    def test_the_report_can_be_had_for_programs(self, warm: World) -> None:
        done = warm.run("--json", "../report.json")
        assert done.passes
        data = json.loads((warm.folder / "report.json").read_text())
        assert data["verdict"] == "holds"
        assert (data["base"], data["target"]) == (warm.base, warm.target)
        assert data["certificate"]["certificate"] == "CERTIFIED"
        assert data["replay"]["authored_lines"] == 0
        assert data["ancestry"]["traced"] == 5

    def test_a_dirty_tree_is_not_looked_at_and_not_changed(self, warm: World) -> None:
        folder = warm.clone.folder
        (folder / "shop" / "orders.py").write_text("broken(", encoding="utf-8")
        (folder / "new.py").touch()
        (folder / "till.py").unlink()
        before = warm.clone.git("status", "--porcelain")
        assert warm.run().passes
        assert warm.clone.git("status", "--porcelain") == before

    def test_a_bare_clone_does(self, warm: World) -> None:
        bare = warm.folder / "bare.git"
        warm.clone.git("clone", "--quiet", "--bare", ".", str(bare))
        assert warm.run("--repo", str(bare), cwd=warm.folder).passes


class TestWithoutInstalling:
    def test_the_certificate_needs_python_and_git_alone(self, world: World) -> None:
        done = world.run("--certify-only")
        assert done.code == 0
        assert done.out.endswith("CERTIFIED: nothing but the move.\n")
        assert "was not replayed" in done.out
        assert not done.passes
        assert not world.environment().exists()

    def test_every_interpreter_here_can(self, world: World, interpreters: dict[str, str]) -> None:
        for version, python in interpreters.items():
            done = world.run("--certify-only", python=python)
            assert (version, done.code, done.err) == (version, 0, "")

    def test_a_change_that_is_no_move_differs(self, written: World) -> None:
        written.target = written.clone.commit({**AFTER, "till.py": "print(1)\n"}, "More")
        written.file.write_bytes(written.bundle())
        done = written.run("--certify-only")
        assert done.code == 1
        assert "RESIDUAL" in done.out


class TestWhichCommits:
    def test_a_target_before_head_is_judged_and_what_follows_is_named(self, warm: World) -> None:
        warm.clone.commit({**AFTER, "more.py": ""}, "More")
        done = warm.run()
        assert done.passes
        assert "1 commit before HEAD; they are not judged here" in done.out

    def test_a_base_further_back_is_told(self, warm: World) -> None:
        base = warm.base
        warm.clone.git("checkout", "--quiet", base)
        warm.clone.commit({**AFTER, "x.py": ""}, "One")
        warm.target = warm.clone.commit(AFTER, "Two")
        warm.file.write_bytes(warm.bundle(base=base))
        done = warm.run()
        assert done.passes
        assert "2 commits before it" in done.out

    @pytest.fixture
    def elsewhere(self, warm: World) -> World:
        """The target is on a branch, and HEAD is not."""
        warm.clone.git("branch", "move")
        warm.clone.git("reset", "--quiet", "--hard", warm.base)
        return warm

    def test_a_target_that_head_does_not_hold_is_not_judged(self, elsewhere: World) -> None:
        done = elsewhere.run()
        assert done.code == 2
        assert not done.passes
        assert f"--target {elsewhere.target}" in done.err

    @pytest.mark.parametrize("how", ["branch", "id", "short id"])
    def test_unless_it_is_named(self, elsewhere: World, how: str) -> None:
        target = elsewhere.target
        named = {"branch": "move", "id": target, "short id": target[:10]}[how]
        assert elsewhere.run("--target", named).passes

    def test_another_commit_that_is_named_is_refused(self, elsewhere: World) -> None:
        done = elsewhere.run("--target", "HEAD")
        assert done.code == 2
        assert "other-target" in done.err

    def test_a_history_without_a_commit_yet(self, warm: World) -> None:
        warm.clone.git("checkout", "--quiet", "--orphan", "fresh")
        assert warm.run().code == 2

    def test_a_missing_base_comes_with_the_command_that_brings_it(self, written: World) -> None:
        """Before anything is installed."""
        other = written.folder / "other"
        subprocess.run(
            ["git", "clone", "--quiet", "--depth=1", written.clone.folder.as_uri(), str(other)],
            check=True,
        )
        done = written.run(cwd=other)
        assert done.code == 2
        assert not done.passes
        assert not written.environment().exists()
        command = f"git -C {other} fetch --unshallow origin {written.base}"
        assert command in done.err
        subprocess.run(command.split(), check=True, capture_output=True)
        written.warm()
        assert written.run(cwd=other).passes

    def test_a_target_that_was_not_fetched_too(self, written: World) -> None:
        """From the remote that is there, whatever its name."""
        written.clone.git("branch", "old", written.base)
        other = written.folder / "other clone"
        options = ["--branch=old", "--single-branch", "--origin=up", "--no-local"]
        clone = ["git", "clone", "--quiet", *options, str(written.clone.folder), str(other)]
        subprocess.run(clone, check=True)
        done = written.run(cwd=other)
        assert done.code == 2
        command = f"git -C '{other}' fetch up {written.target}"
        assert f"Bring it with: {command}\n" in done.err
        subprocess.run(shlex.split(command), check=True, capture_output=True)
        assert written.run("--certify-only", "--target", written.target, cwd=other).code == 0

    def test_a_branch_that_is_named_like_the_base_is_not_taken_for_it(self, written: World) -> None:
        other = written.folder / "other"
        subprocess.run(["git", "init", "--quiet", str(other)], check=True)
        git = ["git", "-C", str(other)]
        subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "x"], check=True)
        for name in (written.base, written.target):
            subprocess.run([*git, "update-ref", f"refs/heads/{name}", "HEAD"], check=True)
        done = written.run("--certify-only", cwd=other)
        assert done.code == 2
        assert "is not in this repository" in done.err

    def test_no_repository_is_told(self, written: World) -> None:
        done = written.run(cwd=written.folder)
        assert done.code == 2
        assert "no-repository" in done.err


class TestClone:
    """The clone may hold anything."""

    def test_its_modules_are_not_imported(self, warm: World) -> None:
        mark = littered(warm)
        assert warm.run().passes
        assert not mark.exists()

    def test_nor_those_beside_the_script_in_it(self, warm: World) -> None:
        mark = littered(warm)
        inside = warm.clone.folder / "check.py"
        inside.write_bytes(warm.file.read_bytes())
        assert warm.run(file=inside).passes
        assert not mark.exists()

    @pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
    def test_nor_those_where_it_is_piped_in(self, warm: World) -> None:
        mark = littered(warm)
        piped = f"{sys.executable} <(cat {warm.file})"
        done = finish(["bash", "-c", piped], warm.clone.folder, warm.variables())
        assert done.passes, done
        assert not mark.exists()

    def test_nor_those_where_it_comes_by_standard_input(self, warm: World) -> None:
        mark = littered(warm)
        data = warm.file.read_bytes()
        done = finish([sys.executable, "-"], warm.clone.folder, warm.variables(), data)
        assert done.passes, done
        assert not mark.exists()

    def test_nor_those_that_a_variable_names_for_what_follows_it(self, warm: World) -> None:
        """What Python itself imports as it starts is not in the script's hand: not these."""
        (warm.clone.folder / "libs").mkdir()
        mark = warm.folder / "mark"
        litter(warm.clone.folder / "libs", mark)
        for name in ("encodings", "site", "sitecustomize", "usercustomize", "os", "stat"):
            (warm.clone.folder / "libs" / f"{name}.py").unlink()
        for name in ("collections", "importlib", "re", "typing"):  # `site` may take these
            (warm.clone.folder / "libs" / f"{name}.py").unlink(missing_ok=True)
        done = warm.run(more={"PYTHONPATH": "libs"})
        assert done.passes, done
        assert not mark.exists()

    def test_its_settings_of_pip_have_no_say(self, without_wheels: tuple[World, Done]) -> None:
        """Nor those of variables: an index of nobody is asked only if the command line names it."""
        _, done = without_wheels
        assert done.code == 2
        assert "127.0.0.1" not in done.err
        assert "No matching distribution found for libcst" in done.err

    @pytest.mark.parametrize("variable", ["XDG_CACHE_HOME", "REPOT_CACHE"])
    def test_it_holds_no_cache(self, world: World, variable: str) -> None:
        done = world.run(more={variable: str(world.clone.folder / "cache")})
        assert done.code == 2
        assert "lies in the clone" in done.err
        assert not (world.clone.folder / "cache").exists()


class TestEnvironment:
    def test_without_an_index_it_says_what_is_needed(
        self, without_wheels: tuple[World, Done]
    ) -> None:
        world, done = without_wheels
        assert done.code == 2
        assert not done.passes
        for said in ("once", "libcst==", "--index-url", "--find-links", "--certify-only"):
            assert said in done.err
        assert not list(world.own.glob("new-*"))
        assert not world.environment().exists()

    def test_where_venv_is_missing_it_says_what_to_install(self, written: World) -> None:
        done = finish(without_venv(written), written.clone.folder, written.variables())
        assert done.code == 2
        assert "apt install python3-venv" in done.err

    def test_an_engine_that_was_changed_in_the_cache_is_written_anew(self, warm: World) -> None:
        assert warm.run().passes
        engine = warm.own / "engine"
        (engine / "transforms" / "engine.py").unlink()
        (engine / "transforms" / "engine.py").write_text(
            "raise SystemExit(100)\n", encoding="utf-8"
        )
        (engine / "json.py").write_text("raise SystemExit(100)\n", encoding="utf-8")
        assert warm.run().passes
        assert not (engine / "json.py").exists()

    def test_an_environment_that_was_not_finished_is_not_used(self, warm: World) -> None:
        """Another would be made: here none can be."""
        command = without_venv(warm)
        assert finish(command, warm.clone.folder, warm.variables()).passes
        (warm.environment() / "complete").unlink()
        done = finish(command, warm.clone.folder, warm.variables())
        assert done.code == 2
        assert "making an environment" in done.err
        assert not done.passes

    def test_what_others_can_write_to_is_not_used(self, warm: World) -> None:
        (warm.cache / "repot").chmod(0o777)
        done = warm.run()
        assert done.code == 2
        assert "Others can write" in done.err

    def test_a_cache_that_cannot_be_made_is_told(self, world: World) -> None:
        (world.folder / "file").touch()
        done = world.run(more={"REPOT_CACHE": str(world.folder / "file" / "cache")})
        assert done.code == 2
        assert "Set REPOT_CACHE to a folder that you can write to." in done.err

    def test_what_it_makes_is_for_the_user_alone(self, world: World) -> None:
        assert world.run("--certify-only", more={}).code == 0
        assert (world.cache / "repot").stat().st_mode & 0o777 == 0o700
        assert world.own.stat().st_mode & 0o777 == 0o700

    def test_two_runs_at_a_time_do_not_meet(self, warm: World) -> None:
        shutil.rmtree(warm.own / "engine", ignore_errors=True)
        command = [sys.executable, str(warm.file), "--certify-only"]
        runs = [
            subprocess.Popen(
                command, cwd=warm.clone.folder, env=warm.variables(), stdout=subprocess.PIPE
            )
            for _ in range(4)
        ]
        said = [run.communicate()[0] for run in runs]
        assert [run.returncode for run in runs] == [0, 0, 0, 0]
        assert len(set(said)) == 1


class TestCodes:
    """Nothing but a verdict of the engine looks like one."""

    @pytest.mark.parametrize(
        "code", ["raise SystemExit(0)", "raise SystemExit(1)", "1 / 0", "import os; os.abort()"]
    )
    def test_an_engine_that_breaks_off_is_a_fault(self, world: World, code: str) -> None:
        text = engine_files()["verify/bundle/inside.py"]
        (old,) = (line for line in text.splitlines() if line.startswith("def main()"))
        data = world.file.read_bytes().replace(old.encode(), f"{code}\n{old}".encode())
        world.file.write_bytes(data)
        done = world.run("--certify-only")
        assert done.code == 3
        assert "fault" in done.err

    def test_wrong_usage_is_not_judged(self, world: World) -> None:
        assert world.run("--tar", "HEAD").code == 2
        assert world.run("extra").code == 2

    def test_help_is_help(self, world: World) -> None:
        done = world.run("--help")
        assert done.code == 0
        assert world.target[:12] in done.out
        assert not (world.cache / "repot").exists()

    @pytest.mark.skipif(OLDER is None, reason="needs a Python that is too old")
    def test_a_python_that_is_too_old_is_told(self, world: World) -> None:
        assert OLDER is not None
        done = world.run(python=OLDER)
        assert done.code == 2
        assert (
            done.err
            == "This needs CPython 3.10 or newer, on Linux or macOS: python3.12 THIS_FILE\n"
        )

    def test_what_a_message_quotes_cannot_act_on_a_terminal(self, world: World) -> None:
        place = world.folder / "x\x1b[2J"
        place.mkdir()
        (place / "cache").symlink_to(world.clone.folder)
        done = world.run(more={"REPOT_CACHE": str(place / "cache")})
        assert done.code == 2
        assert "\x1b" not in done.err
        assert "\\x1b[2J" in done.err
