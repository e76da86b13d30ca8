"""`python -m benchmarks.verify.carried`: public branches over SGLang's series, by three ways.

Each branch is one commit of a public branch that edits `memory_pool_host.py`, on the commit of main
that its branch was begun on. It is brought over the steps of the series that came later by `git
rebase`, by `git merge -Xfind-renames=20%` and by `repot carry` with the plans of this project.
Where one of them conflicts, the branch's side of each conflict is taken, and it goes on.

What is carried is then compared: each function or class that the branch changed stands in the
carried tree as the branch has it, or main changed it, too; and the modules of the series are
imported, with stand-ins for all else. REPOT_HISTORIES names the folder of the bare clones.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from transforms.tree import GitTree
from transforms.tree.git import GitError
from verify.carry.branch import read_branch
from verify.carry.job import Way, plan_job
from verify.carry.merging import Merge, Merges
from verify.carry.splits import read_splits
from verify.history.scratch import Scratch

PLANS = Path(__file__).parents[2] / "transforms/plans/sglang"
CLONE = "bytedance-iaas-sglang.git"
STEPS = {
    "1": "c06220159b", "2": "1af53f67b2", "3": "66076f2409", "5": "ff1fc1fbdf",
    "6": "108a183f6b", "7": "9dd57ef8c4", "8": "0077f84d37", "9": "8ff9c2b227",
}  # fmt: skip
# The public commits: where one came from, and the steps that came after it had been begun.
BRANCHES = {
    "budget": ("9b7e632cfb", "8 9"),
    "dsa": ("6965db8e91", "7 8 9"),
    "indices": ("4f4f9da1ac", "1 2 3 5 6 7 8 9"),
    "slots": ("d5ce62cd72", "1 2 3 5 6 7 8 9"),
    "pages": ("49a912c0a1", "1 2 3 5 6 7 8 9"),
}
FOLDER = "python/sglang/srt/mem_cache"
_MOVED = re.compile(rf"{FOLDER}/(memory_pool_host\.py|pool_host/|allocator)")
_HUNK = re.compile(rb"(?ms)^<<<<<<< .*?^>>>>>>> [^\n]*\n")


@dataclass
class Conflicts:
    """What one way left to a person: hunks and lines between markers, by file."""

    files: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, path: str, data: bytes | None) -> None:
        """Count a file; one that a side deleted is a hunk as long as the file."""
        hunks = _HUNK.findall(data or b"")
        lines = sum(hunk.count(b"\n") - 3 for hunk in hunks) or (data or b"").count(b"\n")
        before = self.files.get(path, (0, 0))
        self.files[path] = (before[0] + max(1, len(hunks)), before[1] + lines)

    def lines(self, *, moved: bool) -> int:
        """Count the lines between markers, in the files of the series or in the others."""
        found = self.files.items()
        return sum(count[1] for path, count in found if bool(_MOVED.match(path)) is moved)

    def words(self, *, moved: bool) -> str:
        """Word the files of the series, or the others: `2 files, 5 hunks, 80 lines`."""
        found = [c for path, c in self.files.items() if bool(_MOVED.match(path)) is moved]
        hunks, lines = sum(h for h, _ in found), sum(n for _, n in found)
        return f"{len(found)} files, {hunks} hunks, {lines} lines" if found else "none"


@dataclass(frozen=True)
class Outcome:
    """A branch by three ways, and what is said of the carried tree."""

    name: str
    rebase: Conflicts
    merge: Conflicts
    carry: Conflicts
    refused: int
    changed: int  # definitions that the branch changed
    standing: int  # of these: as the branch has them, in the carried tree
    by_main: int  # of these: changed by main, too
    imported: int  # modules of the series


def bare_clone(folder: Path) -> Path:
    """Make a repository over the public objects, with each branch as one commit."""
    histories = Path(os.environ["REPOT_HISTORIES"]) / CLONE
    subprocess.run(["git", "init", "--quiet", "--bare", str(folder)], check=True)
    (folder / "objects/info/alternates").write_text(f"{histories}/objects\n")
    git(folder, "update-ref", "refs/heads/main", git(folder, "rev-parse", STEPS["9"]))
    for name, (source, _) in BRANCHES.items():
        start = git(folder, "merge-base", "main", source)
        tree = git(folder, "rev-parse", f"{start}^{{tree}}")
        there = git(folder, "commit-tree", "-p", f"{source}^", "-m", "start", tree)
        both = git(folder, "merge-tree", "--write-tree", there, source)
        made = git(folder, "commit-tree", "-p", start, "-m", name, both)
        git(folder, "update-ref", f"refs/heads/{name}", made)
    return folder


def git(folder: Path, *arguments: str) -> str:
    """Run git in a bare repository."""
    who = {f"GIT_{w}_{k}": "x" for w in ("AUTHOR", "COMMITTER") for k in ("NAME", "EMAIL")}
    done = subprocess.run(
        ["git", "--git-dir", str(folder), *arguments],
        capture_output=True, check=True, text=True, env={**os.environ, **who},
    )  # fmt: skip
    return done.stdout.strip()


def measure(repo: Path, name: str) -> Outcome:
    """Bring one branch over its steps by the three ways."""
    steps = BRANCHES[name][1].split()
    overs, plans = [STEPS[step] for step in steps], [PLANS / f"{step}.toml" for step in steps]
    main, tip = GitTree(repo, "main"), GitTree(repo, name)
    job = plan_job((name, tip.commit), main, read_splits(repo, overs, plans), {})
    with Scratch(main.repository) as scratch:
        rebase = _rebase(scratch, main, tip)
        merge = _merge(repo, main.commit, tip.commit)
        way = Way(main.repository, job, scratch)
        progress, found, refused = way.start(), Conflicts(), 0
        while True:
            progress, halt = way.run(progress)
            if halt is None:
                break
            refused += halt.result.refusal is not None
            tree = _taken(scratch, halt.result.merge, found)
            progress = progress.stepped(way.ours(progress), tree)
        last = progress.chain[-1].tree if progress.chain else way.stages[-1].tree
        carried = way_tree(scratch, last)
        start = GitTree(repo, git(repo, "merge-base", "main", name))
        changed, standing, by_main = _compared(start, tip, main, carried)
        count = _imported(carried)
    return Outcome(name, rebase, merge, found, refused, changed, standing, by_main, count)


def way_tree(scratch: Scratch, tree: str) -> GitTree:
    """Open a tree of the scratch repository."""
    return Merges(scratch).tree(tree)


def _rebase(scratch: Scratch, main: GitTree, tip: GitTree) -> Conflicts:
    found, merges = Conflicts(), Merges(scratch)
    ours = scratch.repository.run("rev-parse", f"{main.commit}^{{tree}}").decode().strip()
    for own in read_branch("x", tip, [main.commit]).commits:
        ours = _taken(scratch, merges.as_git(own.base, ours, own.tree, "x"), found)
    return found


def _merge(repo: Path, main: str, tip: str) -> Conflicts:
    found = Conflicts()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "tree"
        git(repo, "worktree", "add", "--quiet", "--detach", str(folder), tip)
        here = ["git", "-C", str(folder), "-c", "user.name=x", "-c", "user.email=x"]
        merge = ["merge", "-Xfind-renames=20%", "--no-commit", "--no-ff", main]
        subprocess.run([*here, *merge], capture_output=True, check=False)
        unmerged = [*here, "diff", "--name-only", "--diff-filter=U", "-z"]
        listed = subprocess.run(unmerged, capture_output=True, check=True, text=True).stdout
        for path in sorted({*listed.split("\0")} - {""}):
            file = folder / path
            found.add(path, file.read_bytes() if file.is_file() else None)
        git(repo, "worktree", "remove", "--force", str(folder))
    return found


def _taken(scratch: Scratch, merge: Merge, found: Conflicts) -> str:
    """Take the branch's side of each conflict; gives the tree."""
    stages: dict[str, dict[str, str]] = {}
    for row in merge.stages:
        head, _, path = row.partition("\t")
        mode, name, stage = head.split(" ")
        stages.setdefault(path, {"mode": mode})[stage] = name
    rows = []
    for path, sides in stages.items():
        found.add(path, _blob(scratch, f"{merge.tree}:{path}"))
        rows.append(f"0 {'0' * 40}\t{path}\0".encode())
        side = sides.get("3") or sides.get("2")
        if {"1", "2", "3"} <= sides.keys():
            side = scratch.store("blob", _theirs(scratch, sides))
        if side:
            rows.append(f"{sides['mode']} {side}\t{path}\0".encode())
    scratch.repository.run("read-tree", merge.tree)
    scratch.repository.run("update-index", "-z", "--index-info", data=b"".join(rows))
    return scratch.repository.run("write-tree", "--missing-ok").decode().strip()


def _blob(scratch: Scratch, name: str) -> bytes | None:
    try:
        return scratch.repository.run("cat-file", "blob", name)
    except GitError:
        return None


def _theirs(scratch: Scratch, sides: dict[str, str]) -> bytes:
    with tempfile.TemporaryDirectory() as name:
        files = [Path(name) / stage for stage in "213"]
        for file in files:
            file.write_bytes(_blob(scratch, sides[file.name]) or b"")
        command = ["git", "merge-file", "-p", "-q", "--theirs", *map(str, files)]
        return subprocess.run(command, capture_output=True, check=False).stdout


# What became of the branch's own code


def _compared(
    start: GitTree, tip: GitTree, main: GitTree, carried: GitTree
) -> tuple[int, int, int]:
    """Count what the branch changed, what of it stands, and what main changed, too."""
    before, after = _definitions(start), _definitions(tip)
    there, here = _definitions(main), _definitions(carried)
    changed = {name for name, texts in after.items() if texts != before.get(name)}
    standing = {name for name in changed if after[name] <= here.get(name, set())}
    theirs = {name for name in changed - standing if before.get(name) != there.get(name)}
    return len(changed), len(standing), len(theirs)


def _definitions(tree: GitTree) -> dict[str, set[str]]:
    """Each function and each class without its methods, by name, as syntax, wherever it stands."""
    paths = [path for path in tree.entries() if _MOVED.match(path) and path.endswith(".py")]
    found: dict[str, set[str]] = {}
    for data in tree.read_many(paths).values():
        for name, text in _named(ast.parse(data).body, ""):
            found.setdefault(name, set()).add(text)
    return found


def _named(body: Iterable[ast.stmt], outer: str) -> Iterator[tuple[str, str]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _named(node.body, f"{outer}{node.name}.")
            rest = [n for n in node.body if not isinstance(n, (ast.FunctionDef, ast.ClassDef))]
            yield f"{outer}{node.name}", "".join(map(ast.dump, [*rest, *node.bases]))
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield f"{outer}{node.name}", ast.dump(node)


_IMPORT = """
import importlib, importlib.abc, importlib.machinery, os, sys
from unittest.mock import MagicMock
root, names = sys.argv[1], sys.argv[2:]
sys.path.insert(0, root)
class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        file = os.path.join(root, *name.split("."))
        if name.partition(".")[0] in sys.stdlib_module_names or os.path.exists(file + ".py"):
            return None
        if os.path.exists(os.path.join(file, "__init__.py")):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)
    def create_module(self, spec):
        made = MagicMock(name=spec.name)
        made.__path__, made.__name__, made.__spec__ = [], spec.name, spec
        return made
    def exec_module(self, module):
        pass
sys.meta_path.insert(0, StandIns())
for name in names:
    module = importlib.import_module(name)
    assert not isinstance(module, MagicMock), name
"""


def _imported(tree: GitTree) -> int:
    """Import the modules of the series, with stand-ins for all that is not among them."""
    names = []
    with tempfile.TemporaryDirectory() as folder:
        for path in tree.entries():
            if not path.endswith(".py") or not _MOVED.match(path):
                continue
            file = Path(folder) / path.removeprefix("python/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(tree.read(path))
            names.append(".".join(Path(path).with_suffix("").parts[1:]).removesuffix(".__init__"))
        for package in ("sglang", "sglang/srt", "sglang/srt/mem_cache"):
            (Path(folder) / package / "__init__.py").touch()
        command = [sys.executable, "-I", "-c", _IMPORT, folder, *names]
        subprocess.run(command, check=True)
    return len(names)


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("branches", nargs="*", default=list(BRANCHES), metavar="BRANCH")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        repo = bare_clone(Path(name) / "sglang.git")
        print("| branch | where | `git rebase` | `git merge` | `repot carry` |")
        print("|---|---|---|---|---|")
        for branch in options.branches:
            found = measure(repo, branch)
            for where, moved in (("moved code", True), ("elsewhere", False)):
                ways = (found.rebase, found.merge, found.carry)
                cells = " | ".join(way.words(moved=moved) for way in ways)
                print(f"| {branch} | {where} | {cells} |", flush=True)
            print(
                f"{branch}: {found.changed} definitions changed, {found.standing} as the branch "
                f"has them, {found.by_main} changed by main, too; {found.imported} modules "
                f"imported; {found.refused} refused",
                file=sys.stderr, flush=True,
            )  # fmt: skip


if __name__ == "__main__":
    main()
