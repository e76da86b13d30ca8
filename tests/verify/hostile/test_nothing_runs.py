"""Nothing of a judged repository is ever executed, as people run the commands: inside it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.listing import listing
from tests.verify.histories import AFTER, BEFORE, PLAN, PLAN_PATH
from tests.verify.hostile.world import TRAILER, World

ROOT = Path(__file__).parents[3]

# Modules that Python, Repot, git's wrappers or worker processes import, standing in the tree.
NAMES = (
    "multiprocessing", "concurrent", "sitecustomize", "usercustomize", "encodings", "json",
    "signal", "runpy", "typing", "importlib", "subprocess", "tempfile", "ast", "tokenize", "verify",
    "transforms", "typer", "rich", "click", "libcst", "yaml", "tomli", "tomllib", "ruff", "black",
    "isort", "usort", "pip", "conftest", "antigravity", "site", "io", "os", "re",
)  # fmt: skip


def evil_tree(world: World) -> dict[str, str]:
    """A tree in which whatever is imported leaves the canary."""
    trap = world.python_trap()
    files = {f"{name}/__init__.py": trap for name in NAMES}
    files |= {f"{name}/__main__.py": trap for name in NAMES}
    files |= {
        "__init__.py": trap, "__main__.py": trap, "setup.py": trap, "x.pth": f"import os; {trap}",
        "pyvenv.cfg": "home = .\n", "pytest.ini": "[pytest]\naddopts = -p evil\n", "evil.py": trap,
        "tox.ini": "[testenv]\ncommands = evil\n", "Makefile": "all:\n\ttouch canary\n",
        ".envrc": "touch canary\n", ".python-version": "evil\n", "noxfile.py": trap,
    }  # fmt: skip
    return {**files, PLAN_PATH: PLAN}


def script(world: World) -> list[str]:
    """The console script as an installation writes it: its own folder comes first on the path."""
    file = world.folder / "bin/repot"
    file.parent.mkdir(exist_ok=True)
    file.write_text("from repot.launcher import main\nif __name__ == '__main__':\n    main()\n")
    return [sys.executable, str(file)]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_by_a_command_that_is_run_inside_the_repository(world: World, jobs: str) -> None:
    evil = evil_tree(world)
    base = world.history.commit({**BEFORE, **evil})
    moved = {**AFTER, **evil, "shop/orders.py": BEFORE["shop/orders.py"].split("\n\n\n")[-1]}
    target = world.history.commit(moved, TRAILER)
    world.history.commit({**moved, "note.txt": "x\n"}, "two")
    head = world.history.commit({**moved, "note.txt": "y\n"}, "three")
    plan = ["--base", base, "--target", target]
    commands = {
        "verify": [str(world.plan), *plan],
        "certify": [f"{base}..{target}"],
        "blame": [f"{base}..{target}"],
        "origin": ["shop/money.py"],
        "chain": [f"{base}..{head}", "--jobs", jobs],
    }
    if jobs == "2":  # the others start no process of Python's
        commands = {"chain": commands["chain"]}
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    before = listing(world.repo)
    for name, arguments in commands.items():
        done = subprocess.run(
            [*script(world), name, *arguments],
            cwd=world.repo,
            env=environment,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        assert not world.canary.exists(), world.canary.read_text()
    assert listing(world.repo) == before
    outside = {path.name for path in world.folder.iterdir()}
    assert outside <= {"repo", "cache", "bin", "split.toml"}


def test_by_a_plan(world: World) -> None:
    """A plan is data: names that Python would call or import are names."""
    evil = evil_tree(world)
    world.plan.write_text(
        PLAN.replace(
            "[[source]]", 'roots = ["."]\ntitle = "{0.__class__} ${HOME} $(touch x)"\n[[source]]'
        )
    )
    base = world.history.commit({**BEFORE, **evil})
    target = world.history.commit({**AFTER, **evil})
    before = listing(world.repo)
    assert world.verify(base, target).code == 0
    world.repot("apply", str(world.plan), "--at", base)
    assert listing(world.repo) == before
    assert not world.canary.exists()


def test_by_apply_in_a_working_tree(world: World) -> None:
    evil = evil_tree(world)
    world.history.commit({**BEFORE, **evil})
    trap = world.trap()
    for key in ("core.fsmonitor", "core.pager", "diff.external", "filter.x.clean", "core.editor"):
        world.history.git("config", "--file", str(world.repo / ".git/config"), key, trap)
    (world.repo / ".git/info/attributes").write_text("* filter=x\n")
    answer = world.repot("apply", str(world.plan), "--write")
    assert answer.code == 0, answer.err
    assert (world.repo / "shop/money.py").read_text() == AFTER["shop/money.py"]
    assert not world.canary.exists()
