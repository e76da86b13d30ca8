"""What has nothing to do with a change moves no byte of its reports."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.verify.histories import AFTER, BEFORE, PLAN, PLAN_PATH
from tests.verify.hostile.world import TRAILER, World

ROOT = Path(__file__).parents[3]
ALL_FOUR = """\
import os, sys
from verify.cli import run
os.umask(int(sys.argv[1], 8))
plan, repo, base, target, head, out = sys.argv[2:]
options = ["--repo", repo, "--json"]
os.mkdir(out)
run(["verify", plan, "--base", base, "--target", target, *options, f"{out}/verify"])
run(["certify", f"{base}..{head}", *options, f"{out}/certify"])
run(["blame", f"{base}..{head}", *options, f"{out}/blame"])
run(["chain", f"{base}..{head}", "--no-cache", "--jobs", "1", *options, f"{out}/chain"])
"""


def reports(
    world: World, repo: Path, commits: tuple[str, str, str], umask: str, **environment: str
) -> dict[str, bytes]:
    """Run all four commands in a process of their own; give their JSON reports."""
    out = world.folder / f"reports{len(list(world.folder.glob('reports*')))}"
    arguments = [umask, str(world.plan), str(repo), *commits, str(out)]
    done = subprocess.run(
        [sys.executable, "-c", ALL_FOUR, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    found = {path.name: path.read_bytes() for path in out.iterdir()}
    assert len(found) == 4, done.stderr.decode()
    return found


def test_no_byte_changes_by_place_settings_or_unrelated_history(world: World) -> None:
    history = world.history
    base = history.commit({**BEFORE, PLAN_PATH: PLAN})
    target = history.commit({**AFTER, PLAN_PATH: PLAN}, TRAILER)
    again = {**AFTER, PLAN_PATH: PLAN}
    money = again.pop("shop/money.py")
    files = {**again, "shop/n\u00e9.py": money, "notes \U0001f600.txt": "x\n"}
    head = history.commit(files, "Add caf\u00e9")
    commits = base, target, head
    plain = reports(world, world.repo, commits, "022", PYTHONHASHSEED="0", TZ="UTC")
    assert b'"traced": 5' in plain["blame"]

    clone = world.folder / "elsewhere" / "na me"
    history.git("clone", "--quiet", "--no-local", str(world.repo), str(clone))
    other = reports(
        world, clone, commits, "077", PYTHONHASHSEED="1", TZ="Asia/Kathmandu",
        LC_ALL="C", LANG="C", LANGUAGE="de", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0",
    )  # fmt: skip
    assert other == plain

    history.git("checkout", "--quiet", "-b", "unrelated", base)
    history.commit({"zzz.py": "import shop.orders\n", PLAN_PATH: ""}, TRAILER)
    history.git("checkout", "--quiet", "main")
    history.commit({**files, "later.py": "from shop.orders import Money\n"}, "later")
    history.git("tag", "v1")
    history.git("repack", "-adfq", "--depth=50")
    history.git("pack-refs", "--all")
    history.git("commit-graph", "write", "--reachable")
    (world.repo / "untracked.py").write_text("from shop.orders import Money\n")
    (world.repo / "till.py").write_text("dirty = True\n")
    assert reports(world, world.repo, commits, "022", PYTHONHASHSEED="2") == plain
