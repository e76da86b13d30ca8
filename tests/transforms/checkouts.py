"""Real repositories for tests, made by git itself, and what a directory holds."""

from __future__ import annotations

import os
import stat
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from transforms.paths import from_bytes, to_bytes
from transforms.result.changes import EXECUTABLE, SYMLINK, Blob
from transforms.tree.disk import Root

# Submodules come from folders; a machine that loses power loses the tests, too; and a commit starts
# no second process, which would look whether there is anything to tidy.
_OPTIONS = [
    part
    for setting in ("protocol.file.allow=always", "core.fsync=none", "maintenance.auto=false")
    for part in ("-c", setting)
]


def run_git(directory: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    """Run git as a person would, with the tests' quiet environment; fail loudly."""
    done = subprocess.run(
        ["git", *_OPTIONS, *arguments],
        cwd=directory,
        input=stdin,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


Kept = Mapping[str, bytes | None]


def kept(directory: Path) -> Kept:
    """Give what lies in a folder, to be laid out elsewhere; git's samples of hooks left out."""
    return {
        path.relative_to(directory).as_posix(): None if path.is_dir() else path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.suffix != ".sample"
    }


def lay_out_kept(directory: Path, files: Kept) -> None:
    """Lay out what was kept of another folder: plain files, and folders for `None`."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        if data is None:
            (directory / name).mkdir()
        else:
            (directory / name).write_bytes(data)


@cache
def _empty() -> Kept:
    """Give a fresh `.git` that git made."""
    with tempfile.TemporaryDirectory() as folder:
        run_git(Path(folder), "init", "--quiet", "--initial-branch=main")
        return kept(Path(folder))


def init(directory: Path) -> None:
    """Make a repository whose branch is `main`, as git does, without a process for each."""
    if not (directory / ".git").exists():
        lay_out_kept(directory, _empty())


def head(directory: Path) -> str:
    """Give the id of HEAD's commit, of a repository that has just committed."""
    told = directory / ".git" / "HEAD"
    if told.is_file():
        text = told.read_text(encoding="utf-8").strip()
        branch = told.parent / text.removeprefix("ref: ")
        if not text.startswith("ref: "):
            return text
        if branch.is_file():
            return branch.read_text(encoding="utf-8").strip()
    return run_git(directory, "rev-parse", "HEAD").decode().strip()


def lay_out(directory: Path, files: Mapping[str, Blob | bytes]) -> None:
    """Write files, with the modes that git would give them."""
    root = Root(directory)
    for path, content in files.items():
        blob = content if isinstance(content, Blob) else Blob(content)
        name = root.locate(path)
        os.makedirs(os.path.dirname(name), exist_ok=True)  # noqa: PTH103, PTH120 - bytes
        if blob.mode == SYMLINK:
            os.symlink(blob.data, name)  # noqa: PTH211 - bytes
            continue
        with open(name, "wb") as file:
            file.write(blob.data)
        os.chmod(name, 0o755 if blob.mode == EXECUTABLE else 0o644)  # noqa: PTH101 - bytes


def commit_all(directory: Path, message: str = "State") -> str:
    """Commit everything that lies there; give the commit's id."""
    run_git(directory, "add", "--all")
    run_git(directory, "commit", "--quiet", "--allow-empty", "--message", message)
    return head(directory)


def checkout(directory: Path, files: Mapping[str, Blob | bytes]) -> Path:
    """Make a repository whose one commit holds the files."""
    directory.mkdir(parents=True)
    init(directory)
    lay_out(directory, files)
    commit_all(directory)
    return directory


def snapshot(directory: Path) -> dict[str, tuple[int, bytes]]:
    """Give every file, link and directory outside `.git` with its permission bits and bytes."""
    found: dict[str, tuple[int, bytes]] = {}
    for folder, folders, names in os.walk(os.fsencode(directory)):
        folders[:] = [name for name in folders if name != b".git"]
        for name in [*folders, *names]:
            full = folder + b"/" + name
            status = os.lstat(full)
            path = from_bytes(full.removeprefix(os.fsencode(directory) + b"/"))
            if stat.S_ISLNK(status.st_mode):
                content = os.readlink(full)  # noqa: PTH115 - bytes
            elif stat.S_ISREG(status.st_mode):
                with open(full, "rb") as file:
                    content = file.read()
            else:
                content = b""
            found[path] = status.st_mode, content
    return dict(sorted(found.items(), key=lambda item: to_bytes(item[0])))
