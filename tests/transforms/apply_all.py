"""Run as a program: apply plans as `repot apply` does, and keep every byte that comes out.

    python apply_all.py OUT PLAN REPO WAYS [PLAN REPO WAYS ...]

WAYS are joined by commas: `at=REV` (a commit), `tree` (the working tree), `write` (a copy of the
working tree is written, whatever the verdict on it). OUT gets numbered files: the patch, the JSON
report, and for a written copy each path with its executable bit and hash.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import shutil
import sys
import tempfile
from pathlib import Path


def main(out: Path, jobs: list[str]) -> None:
    from verify.cli import run

    for number, (plan, repo, ways) in enumerate(zip(*[iter(jobs)] * 3, strict=True)):
        for way in ways.split(","):
            name = f"{number}-{way.partition('=')[0]}"
            if way == "write":
                (out / f"{name}.txt").write_text(_written(plan, Path(repo)), "utf-8")
                continue
            command = ["apply", plan, "--repo", repo, "--diff", "--json", str(out / f"{name}.json")]
            if way.startswith("at="):
                command += ["--at", way[3:]]
            stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
            stderr = io.StringIO()
            with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
                code = run(command)
            said = stderr.getvalue()
            plain = said.startswith(("Verdict: ", "Judged in part, ")) and said.count("\n") == 1
            if code != 0 or not plain:
                sys.exit(f"{plan}: exit code {code}\n{said}")
            (out / f"{name}.diff").write_bytes(stdout.buffer.getvalue())


def _written(plan: str, repo: Path) -> str:
    """Write the move into a copy; give every file of the result."""
    from transforms import engine, formatters
    from transforms.reading.load import load_plan
    from transforms.tree import WorkingTree
    from transforms.write import journal

    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "copy"
        shutil.copytree(repo, copy, symlinks=True)
        tree, read = WorkingTree(copy), load_plan(Path(plan))
        if read.formatters == "none":
            chosen = formatters.no_formatters()
        else:
            chosen = formatters.repository_formatters(tree)
        journal.write(tree, engine.apply(read, tree, formatters=chosen).changes)
        lines = []
        for path in sorted(copy.rglob("*"), key=os.fsencode):
            name = os.fsencode(path.relative_to(copy))
            if path.is_file() and not name.startswith(b".git/"):
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                lines.append(f"{name!r} {os.access(path, os.X_OK)} {digest}\n")
        return "".join(lines)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
