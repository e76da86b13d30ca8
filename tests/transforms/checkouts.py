"""Real repositories for tests, made by git itself, and what a directory holds."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path

from transforms.paths import from_bytes, to_bytes
from transforms.result.changes import EXECUTABLE, SYMLINK, Blob
from transforms.tree.disk import Root


def run_git(directory: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    """Run git as a person would, with the tests' quiet environment; fail loudly."""
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", "-c", "core.fsync=none", *arguments],
        cwd=directory,
        input=stdin,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


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
    return run_git(directory, "rev-parse", "HEAD").decode().strip()


def checkout(directory: Path, files: Mapping[str, Blob | bytes]) -> Path:
    """Make a repository whose one commit holds the files."""
    directory.mkdir(parents=True)
    run_git(directory, "init", "--quiet", "--initial-branch=main")
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
