"""A hostile tree: nothing of it runs, nothing leads out of it, and the server stays up."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.listing import listing
from tests.verify.histories import AFTER, BEFORE, PLAN, PLAN_PATH, History

pytestmark = pytest.mark.system  # each call starts an engine, as it does for an agent: 12 s of CPU

# What the server, the engine, the SDK or Python itself import, standing in the tree.
NAMES = (
    "repot", "transforms", "verify", "mcp", "mcp_types", "anyio", "pydantic", "jsonschema", "json",
    "asyncio", "sitecustomize", "usercustomize", "subprocess", "tempfile", "typing", "importlib",
    "starlette", "opentelemetry", "typer", "libcst", "ruff", "black", "git", "conftest",
    "encodings",
)  # fmt: skip
SECRET = "hunter2-outside"  # what must not be read


class Hostile:
    """A repository full of traps, and a folder beside it that is nobody's business."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.canary = folder / "canary"
        self.history = History(folder / "repo")
        self.repo = self.history.folder
        self.outside = folder / "outside"
        self.outside.mkdir()
        (self.outside / "secret.py").write_text(f"PASSWORD = {SECRET!r}\n")
        (self.outside / "split.toml").write_text(f"{PLAN}# {SECRET}\n")
        trap = f"open({str(self.canary)!r}, 'a').write(__name__ + '\\n')\n"
        self.files = {f"{name}/__init__.py": trap for name in NAMES}
        self.files |= {f"{name}/__main__.py": trap for name in NAMES}
        self.files |= {"setup.py": trap, "x.pth": f"import os; {trap}", "pyvenv.cfg": "home = .\n"}
        self.history.commit({**BEFORE, **self.files, PLAN_PATH: PLAN}, "Plan it")
        self._programs(trap)

    def _programs(self, trap: str) -> None:
        """A `git` and a formatter of the tree's own, and settings of git that run a program."""
        program = self.repo / "bin" / "git"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\necho git >> {self.canary}\nexec /usr/bin/git "$@"\n')
        program.chmod(0o755)
        for name in ("ruff", "python", "repot"):
            (program.parent / name).symlink_to("git")
        keys = ("core.fsmonitor", "core.pager", "diff.external", "filter.x.clean", "core.editor",
                "filter.x.process", "core.sshCommand", "alias.log")  # fmt: skip
        for key in keys:
            self.history.git("config", key, str(program))
        (self.repo / ".git" / "info" / "attributes").write_text("* filter=x diff=x\n")
        for hook in ("pre-commit", "post-checkout", "post-index-change", "reference-transaction"):
            place = self.repo / ".git" / "hooks" / hook
            place.parent.mkdir(exist_ok=True)
            place.write_text(f"#!/bin/sh\necho {hook} >> {self.canary}\n")
            place.chmod(0o755)
        (self.repo / ".git" / "info" / "exclude").write_text("/bin/\n/huge.py\n/out\n/*.lnk.py\n")
        assert trap

    def serve(self, work: Callable[[Any], Awaitable[None]], **more: str) -> None:
        """Run a client session in the tree, with every variable that could lead astray."""
        from tests.repot.server.client import agent

        variables = {
            "PATH": f"{self.repo / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).resolve().parents[3])]),
            "GIT_DIR": str(self.outside / "git"),
            "GIT_WORK_TREE": str(self.outside),
            "GIT_INDEX_FILE": str(self.outside / "index"),
            "GIT_OBJECT_DIRECTORY": str(self.outside / "objects"),
            "GIT_EXTERNAL_DIFF": str(self.repo / "bin" / "git"),
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "core.fsmonitor",
            "GIT_CONFIG_VALUE_0": str(self.repo / "bin" / "git"),
            "GIT_EXEC_PATH": str(self.repo / "bin"),
            **more,
        }

        async def talk() -> None:
            async with agent(self.repo, self.folder, variables) as client:
                await work(client)

        anyio.run(talk)
        assert not self.canary.exists(), self.canary.read_text()


@pytest.fixture
def hostile(tmp_path: Path) -> Hostile:
    return Hostile(tmp_path)


def test_nothing_of_the_tree_runs_and_nothing_beside_it_is_touched(hostile: Hostile) -> None:
    before = listing(hostile.outside)
    inside = listing(hostile.repo)

    async def work(client: Any) -> None:
        await client.call("symbols", module="shop.orders")
        assert (await client.call("apply", plan=PLAN_PATH))["verdict"] == "holds"
        await client.refused("certify")

    hostile.serve(work)
    assert listing(hostile.outside) == before
    assert listing(hostile.repo) == inside
    beside = {path.name for path in hostile.folder.iterdir()}
    assert beside <= {"repo", "outside", "cache", "bin"}
    assert not list((hostile.folder / "cache" / "calls").iterdir())


def test_a_move_is_written_and_runs_nothing(hostile: Hostile) -> None:
    async def work(client: Any) -> None:
        assert (await client.call("apply", plan=PLAN_PATH, write=True))["head"]["written"]

    hostile.serve(work)
    assert (hostile.repo / "shop/money.py").read_text() == AFTER["shop/money.py"]


def test_no_path_leads_out(hostile: Hostile) -> None:
    (hostile.repo / "out").symlink_to(hostile.outside)
    (hostile.repo / "secret.lnk.py").symlink_to(hostile.outside / "secret.py")
    (hostile.repo / "plans" / "link.toml").symlink_to(hostile.outside / "split.toml")
    wrong = PLAN.replace('"shop.orders"', '"{}"')
    authored = '\n[[author]]\nfile = "{}"\ntext = "x = 1\\n"\n'

    async def work(client: Any) -> None:
        for path in ("out/split.toml", "plans/link.toml", "../outside/split.toml", "/etc/passwd"):
            assert (await client.refused("plan", plan=path))["kind"] == "outside-root"
        modules = ("/etc/passwd.py", "../outside/secret.py", "out/secret.py", "secret.lnk.py")
        files = ("/etc/repot.py", "../outside/new.py", ".git/hooks/pre-push")
        texts = [wrong.format(module) for module in modules]
        texts += [PLAN + authored.format(path) for path in files]
        said = [await client.refused("plan", text=text) for text in texts]
        assert SECRET not in json.dumps(said)

    hostile.serve(work)
    assert {path.name for path in hostile.outside.iterdir()} == {"secret.py", "split.toml"}


def test_nothing_is_written_through_a_link(hostile: Hostile) -> None:
    (hostile.repo / "out").symlink_to(hostile.outside)
    plan = f'{PLAN}\n[[author]]\nfile = "out/new.py"\ntext = "x = 1\\n"\n'
    hostile.history.git("config", "--unset-all", "filter.x.clean")
    hostile.history.git("config", "--unset-all", "filter.x.process")
    (hostile.repo / PLAN_PATH).write_text(plan)
    hostile.history.git("commit", "--quiet", "--no-verify", "-am", "Plan")

    async def work(client: Any) -> None:
        assert (await client.refused("apply", plan=PLAN_PATH, write=True))["kind"] == "symlink"

    hostile.canary.unlink(missing_ok=True)  # git itself ran hooks for that commit
    hostile.serve(work)
    assert not (hostile.outside / "new.py").exists()
    assert not (hostile.repo / "shop/money.py").exists()


def test_files_beyond_all_bounds(hostile: Hostile) -> None:
    """Of a gigabyte, of a depth that no parser bears, and names that are no text."""
    with (hostile.repo / "huge.py").open("wb") as stream:
        stream.truncate(1 << 30)
    (hostile.repo / "deep.py").write_text("x = " + "(" * 50_000 + ")" * 50_000 + "\n")
    (hostile.repo / "wide.py").write_text(f"def f():\n    return {'x' * 3_000_000!r}\n")
    name = os.fsencode(hostile.repo) + b"/no\xfftext\x1b[2J.py"
    with open(name, "wb") as stream:
        stream.write(b"from shop.orders import Money\n")
    os.mkfifo(hostile.repo / "pipe.py")

    async def work(client: Any) -> None:
        await client.refused("symbols", module="huge.py")  # git ignores it: no part of the tree
        assert (await client.refused("symbols", module="deep.py"))["kind"] == "deep-input"
        assert len(json.dumps(await client.call("symbols", module="wide.py"))) < 100_000
        assert "\\udcff" in (await client.refused("certify"))["cause"]
        await client.refused("symbols", module="pipe.py")
        assert (await client.call("symbols", module="till.py"))["verdict"] == "holds"

    hostile.serve(work)
