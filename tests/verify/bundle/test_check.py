"""`repot bundle` and `--check`: what is written, and that any byte but the plan's is told."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given, settings

from tests.effort import examples
from tests.verify.bundle.rig import World
from tests.verify.bundle.test_quoting import TEXTS
from tests.verify.histories import PLAN
from verify import cli
from verify.bundle.build import Subject, build
from verify.bundle.check import Checked, check
from verify.bundle.engine import engine_digest


def run(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    capfd.readouterr()
    code = cli.run(["bundle", *arguments])
    printed = capfd.readouterr()
    return code, printed.out + printed.err


class TestWriting:
    def arguments(self, world: World, *, target: str = "HEAD") -> list[str]:
        plan = world.folder / "split.toml"
        plan.write_text(PLAN, encoding="utf-8")
        repo = ["--repo", str(world.clone.folder)]
        return [str(plan), "--base", "HEAD^", "--target", target, *repo]

    def test_writes_the_file_and_says_what_it_is(
        self, world: World, capfd: pytest.CaptureFixture[str]
    ) -> None:
        out, data = world.folder / "out.py", world.folder / "report.json"
        code, said = run(
            capfd, *self.arguments(world), "-o", str(out), "--json", str(data)
        )  # fmt: skip
        assert code == 0
        assert out.read_bytes() == world.file.read_bytes()
        digest = hashlib.sha256(out.read_bytes()).hexdigest()
        assert digest in said
        assert engine_digest() in said
        assert "0 authored lines" in said
        assert json.loads(data.read_text())["sha256"] == digest

    def test_a_plan_with_other_line_ends_gives_the_same_file(
        self, world: World, capfd: pytest.CaptureFixture[str]
    ) -> None:
        arguments = self.arguments(world)
        Path(arguments[0]).write_bytes(PLAN.replace("\n", "\r\n").encode())
        out = world.folder / "out.py"
        assert run(capfd, *arguments, "-o", str(out))[0] == 0
        assert out.read_bytes() == world.file.read_bytes()

    def test_a_plan_that_would_not_pass_is_not_written(
        self, world: World, capfd: pytest.CaptureFixture[str]
    ) -> None:
        out = world.folder / "out.py"
        arguments = self.arguments(world)
        Path(arguments[0]).write_text(PLAN.replace('"Money"', '"pay"'), encoding="utf-8")
        code, said = run(capfd, *arguments, "-o", str(out))
        assert code == 1
        assert not out.exists()
        assert "was not written" in said

    def test_a_place_that_cannot_be_written_is_refused(
        self, world: World, capfd: pytest.CaptureFixture[str]
    ) -> None:
        code, said = run(capfd, *self.arguments(world), "-o", str(world.folder))
        assert code == 2
        assert "unwritable-bundle" in said

    @pytest.mark.parametrize(
        "arguments",
        [[], ["split.toml"], ["split.toml", "--check", "x.py"], ["--check", "x", "--base", "HEAD"]],
        ids=["nothing", "a plan alone", "a plan and a check", "a check and a base"],
    )
    def test_options_that_do_not_go_together_are_told(
        self, arguments: list[str], capfd: pytest.CaptureFixture[str]
    ) -> None:
        code, said = run(capfd, *arguments)
        assert code == 2
        assert "repot bundle --help" in said


def line_of(data: bytes, text: bytes) -> int:
    return data[: data.rindex(text)].count(b"\n") + 1


def replaced(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    return lambda data: data.replace(old, new, 1)


# Each row: what is done to the file, the text whose line is named, and the part that it is in.
TAMPERED: dict[str, tuple[Callable[[bytes], bytes], bytes, str]] = {
    "a byte of the engine": (
        replaced(b"return not self.hunks", b"return not self.hunkz"),
        b"return not self.hunkz",
        "the engine's verify/proofs/replay.py",
    ),
    "a comment": (
        replaced(b"def main() -> int:\n", b"# All is well.\ndef main() -> int:\n"),
        b"# All is well.",
        "the code that runs",
    ),
    "a statement after the end": (
        lambda data: data + b'print("PASS")\n',
        b'print("PASS")',
        "the code that runs",
    ),
    "a statement between two files of the engine": (
        replaced(b'    "transforms/engine.py": ', b'    print(): "", "transforms/engine.py": '),
        b'    print(): "", ',
        "the engine's transforms/engine.py",
    ),
    "a dependency in the header": (
        replaced(b"# dependencies = []", b'# dependencies = ["x"]'),
        b'# dependencies = ["x"]',
        "the head",
    ),
    "another hash in the lock": (
        replaced(b"--hash=sha256:", b"--hash=sha256:zz"),
        b"--hash=sha256:zz",
        "the lock",
    ),
    "a file more in the engine": (
        replaced(
            b'    "transforms/engine.py": ', b'    "json.py": "",\n    "transforms/engine.py": '
        ),
        b'    "json.py": ""',
        "the engine's transforms/engine.py",
    ),
    "a second plan": (
        replaced(b"# ---- how ", b'PLAN = ""\n# ---- how '),
        b'PLAN = ""\n# ----',
        "the code that runs",
    ),
    "a plan that is quoted in another way": (
        replaced(b'BASE = "', b"BASE =  \""),
        b"BASE =  ",
        "the base",
    ),
    "a formatter that its table does not hold": (
        replaced(b'FORMATTERS = ""', b'FORMATTERS = "black 22.1.0"'),
        b"one release is one line.",
        "the engine's transforms/formatters/versions.toml",
    ),
    "a formatter that nobody knows": (
        replaced(b'FORMATTERS = ""', b'FORMATTERS = "black 0.0"'),
        b'FORMATTERS = "black 0.0"',
        "the formatters",
    ),
    "a carriage return": (
        replaced(b"import sys\n", b"import sys\r\n"),
        b"import sys\r",
        "the head",
    ),
    "a coding line": (lambda data: b"# coding: utf-8\n" + data, b"# coding", "the head"),
    "a byte order mark": (lambda data: b"\xef\xbb\xbf" + data, b"\xef\xbb\xbf", "the head"),
    "no last line feed": (lambda data: data[:-1], b"    sys.exit(main())", "the code that runs"),
}  # fmt: skip


@given(TEXTS)
@settings(max_examples=examples(12))
def test_any_plan_comes_out_as_it_went_in(
    tmp_path_factory: pytest.TempPathFactory, plan: str
) -> None:
    path = tmp_path_factory.mktemp("bundle") / "file.py"
    subject = Subject(plan, "0" * 40, "1" * 40)
    path.write_bytes(build(subject))
    assert check(path) == Checked(subject, ())


def test_one_with_formatters_is_known_by_what_it_lists(tmp_path: Path) -> None:
    path = tmp_path / "file.py"
    subject = Subject(PLAN, "0" * 40, "1" * 40, ("isort 5.12.0", "ruff 0.11.0"))
    path.write_bytes(build(subject))
    assert check(path) == Checked(subject, ())


class TestChecking:
    def test_the_file_as_written_holds_and_its_plan_is_shown(
        self, world: World, capfd: pytest.CaptureFixture[str]
    ) -> None:
        code, said = run(capfd, "--check", str(world.file))
        assert code == 0
        assert "byte for byte" in said
        for shown in (world.base, world.target, engine_digest(), 'symbols = ["Money"]'):
            assert shown in said

    @pytest.mark.parametrize(("change", "text", "part"), TAMPERED.values(), ids=TAMPERED.keys())
    def test_whatever_else_is_in_it_differs(
        self,
        world: World,
        capfd: pytest.CaptureFixture[str],
        change: Callable[[bytes], bytes],
        text: bytes,
        part: str,
    ) -> None:
        data = change(world.file.read_bytes())
        world.file.write_bytes(data)
        code, said = run(capfd, "--check", str(world.file))
        assert code == 1
        # Where a stretch begins that differs may be a line before or after what was put there.
        line = line_of(data, text)
        assert any(f"{world.file}:{line + near}: {part}" in said for near in (0, 1, -1)), said
        assert "DIFFERS" in said
        assert "byte for byte" not in said

    def test_another_plan_is_shown_and_is_no_difference(
        self, world: World, capfd: pytest.CaptureFixture[str]
    ) -> None:
        plan = PLAN.replace('"Money"', '"pay"') + "# \u202e hidden\n"
        world.file.write_bytes(world.bundle(plan))
        code, said = run(capfd, "--check", str(world.file))
        assert code == 0
        assert 'symbols = ["pay"]' in said
        assert "# <U+202E> hidden" in said

    def test_nothing_in_it_is_run(self, world: World, capfd: pytest.CaptureFixture[str]) -> None:
        mark = world.folder / "mark"
        evil = f"import pathlib; pathlib.Path({str(mark)!r}).touch()\n".encode()
        world.file.write_bytes(evil + world.file.read_bytes())
        assert run(capfd, "--check", str(world.file))[0] == 1
        assert not mark.exists()

    FOREIGN: ClassVar = {
        "no Python": b"{",
        "no plan": b"x = 1\n",
        "a plan that is computed": b'PLAN = open("x").read()\nBASE = TARGET = "0"\n',
        "commits that are no ids": b'PLAN = ""\nBASE = "main"\nTARGET = "HEAD"\n',
        "nothing": b"",
        "brackets without end": b"(" * 100_000,
        "bytes": b"\xff\xfe\x00",
    }

    @pytest.mark.parametrize("data", FOREIGN.values(), ids=FOREIGN.keys())
    def test_what_is_no_bundle_is_refused(
        self, data: bytes, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        path = tmp_path / "file.py"
        path.write_bytes(data)
        code, said = run(capfd, "--check", str(path))
        assert code == 2
        assert "refused" in said

    def test_a_file_that_is_not_there_is_refused(
        self, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        code, said = run(capfd, "--check", str(tmp_path / "none.py"))
        assert code == 2
        assert "no-bundle" in said
