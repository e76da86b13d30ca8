"""Git's plumbing in one repository, under an environment and configuration that nobody can change.

Here nothing is written, and GitPython is never given a judged repository. What was tried, with
GitPython 3.2.1:

- It opens a repository whose ids are SHA-256, and then reads no commit: `Failed to parse reference
  information`.
- It reads the repository's configuration itself, and follows `include.path` out of the repository:
  a name that stood in a file elsewhere was read as the repository's own.
- `is_dirty`, `untracked_files` and every `diff`, also of two commits, run the command that
  `core.fsmonitor` names; `index.commit` runs the repository's hooks.
- Whatever git it runs gets every variable that Repot got (`GIT_DIR`, `GIT_INDEX_FILE`,
  `GIT_CONFIG_COUNT`, ...), with no way to unset one, and its own code obeys `GIT_OBJECT_DIRECTORY`
  and `GIT_COMMON_DIR`. As it is imported it runs the `git` that PATH finds, the current folder
  included.

So it works where Repot writes, and `verify.history.made` shuts all this out: in repositories that
it made, and in the user's own, whose branch `repot carry` moves (`verify.history.own`).
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from transforms.errors import Place, Refusal, nearest

_OBJECT_ID = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_PIPE_BUFFER = 1 << 20

# Configuration in the repository is as hostile as any other: what could run a command, hide an
# object or change how files are listed is overridden, since `-c` wins over every file.
OVERRIDES = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    f"core.excludesFile={os.devnull}",
    f"core.attributesFile={os.devnull}",
    "core.useReplaceRefs=false",  # set to true, it outdoes GIT_NO_REPLACE_OBJECTS
    "core.commitGraph=false",  # a forged one could give a commit another tree
    "i18n.logOutputEncoding=UTF-8",
    "color.ui=false",
)
SHIELD = {
    "LC_ALL": "C",
    "HOME": os.devnull,  # no ~/.gitconfig, also for a git too old for GIT_CONFIG_GLOBAL
    "XDG_CONFIG_HOME": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",  # a partial clone stays partial ...
    "GIT_ALLOW_PROTOCOL": "",  # ... also under a git older than that variable: no transport works
}

_WHERE_CONFIGURATION_LIES = ("GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_GLOBAL")


class GitError(Exception):
    """A git command failed; the text is git's own message, its first line that is no hint."""


class MissingObjectError(GitError):
    """An object is not in the repository. The text is its id where git named it, else empty."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository on disk. Reads only; nothing is fetched and no command it configures is run.

    `git_dir` is the `.git` directory, the `.git` file of a linked worktree, or a bare repository;
    `top` is the working tree's top level, `None` where `git_dir` itself was named. `index` is the
    file that is its index, where that is not its own.
    """

    git_dir: Path
    top: Path | None
    index: Path | None = None

    def run(self, *arguments: str, data: bytes = b"", codes: tuple[int, ...] = (0,)) -> bytes:
        """Give what one git command prints, fed `data`. Raises `GitError` with git's message.

        `codes`: how the command ends where it has answered.
        """
        finished = subprocess.run(
            self._command(arguments),
            input=data,
            capture_output=True,
            cwd=self.directory,
            env=environment() | ({"GIT_INDEX_FILE": str(self.index)} if self.index else {}),
            check=False,
        )
        if finished.returncode not in codes:
            raise _failure(finished.stderr)
        return finished.stdout

    def blobs(self, ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Stream each blob's id and bytes: see `objects`."""
        return self.objects(ids, "blob")

    def objects(self, ids: Iterable[str], kind: str) -> Iterator[tuple[str, bytes]]:
        """Stream each object's id and bytes, in order, from one process; no filter touches them.

        Raises `MissingObjectError` at the first that is not here, `GitError` for another kind.
        """
        wanted = list(ids)
        with tempfile.TemporaryFile() as request, tempfile.TemporaryFile() as errors:
            # A file, not a pipe: git could not take more requests while its answers wait for us.
            request.write("".join(f"{name}\n" for name in wanted).encode())
            request.seek(0)
            process = subprocess.Popen(
                self._command(("cat-file", "--batch", "--buffer")),
                stdin=request,
                stdout=subprocess.PIPE,
                stderr=errors,
                bufsize=_PIPE_BUFFER,
                cwd=self.directory,
                env=environment(),
            )
            given = 0
            with process:
                try:
                    for answer in _answers(process, kind):
                        given += 1
                        yield answer
                except BaseException:  # also where the reader wants no more
                    process.kill()
                    raise
            if process.returncode or given != len(wanted):
                errors.seek(0)
                raise _failure(errors.read())

    def resolve(self, rev: str) -> str:
        """Resolve a revision to a commit's full id. Raises `Refusal("unknown-revision")`."""
        if not rev or rev.startswith(("-", "^")) or any(ord(c) < 32 or c == "\x7f" for c in rev):
            raise _unknown(
                rev, f"`{rev!a}` is not a revision.", "Name a commit, a tag or a branch."
            )
        commit = rev if rev.startswith(":/") else f"{rev}^{{commit}}"  # `:/text` takes all as text
        try:
            printed = self.run(
                "rev-parse", "--verify", "--quiet", "--end-of-options", commit
            ).strip()
        except GitError:
            printed = b""
        if _OBJECT_ID.fullmatch(printed):
            return printed.decode()
        try:
            hint = self._hint(rev)
        except GitError as error:
            raise self._unreadable(error) from None
        raise _unknown(rev, f"No commit `{rev}` is in this repository.", hint)

    def settings(self, pattern: str) -> list[tuple[str, str]]:
        """List the repository's own settings whose name matches git's extended regex."""
        with contextlib.suppress(GitError):
            entries = self.run("config", "-z", "--get-regexp", pattern).split(b"\0")
            texts = [entry.decode("utf-8", "surrogateescape") for entry in entries if entry]
            return [(name, value) for name, _, value in (text.partition("\n") for text in texts)]
        return []

    def flag(self, name: str, *, default: bool) -> bool:
        """Give a true-or-false setting of the repository, its default where unset or malformed."""
        try:
            return self.run("config", "--type=bool", "--get", name).strip() == b"true"
        except GitError:
            return default

    def own_setting(self, name: str, kind: str = "") -> str | None:
        """Give a setting as the user's own git finds it: their files and the system's count, too.

        For what git would make of a working tree, which hangs on them; `kind` is a type that git
        reads it as, such as `path`. Reading a setting runs nothing.
        """
        typed = [f"--type={kind}"] if kind else []
        directories = [f"--git-dir={self.git_dir}", f"--work-tree={self.directory}"]
        finished = subprocess.run(
            [executable(), *directories, "config", "-z", *typed, "--get", name],
            capture_output=True,
            cwd=self.directory,
            env=_users_environment(),
            check=False,
        )
        if finished.returncode:
            return None
        return os.fsdecode(finished.stdout.removesuffix(b"\0"))

    def absolute_git_dir(self) -> Path:
        """Give the directory that holds this worktree's HEAD and index."""
        return Path(os.fsdecode(self.run("rev-parse", "--absolute-git-dir").removesuffix(b"\n")))

    def is_shallow(self) -> bool:
        """Tell whether a part of the history was left out when the repository was cloned."""
        return self.run("rev-parse", "--is-shallow-repository").strip() == b"true"

    def missing(self, what: str) -> Refusal:
        """Word the refusal for objects that a partial or shallow clone does not hold."""
        if self.is_shallow():
            return Refusal(
                "missing-object",
                f"{what} is not in this repository, which is a shallow clone.",
                next_step=f"Bring its history with `git -C {shlex.quote(str(self.directory))} "
                "fetch --unshallow`; Repot never fetches.",
                place=Place(str(self.directory)),
            )
        remotes = [name.split(".", 1)[1] for name, _ in self.settings(r"^remote\..*\.promisor$")]
        remote = remotes[0].removesuffix(".promisor") if remotes else "origin"
        return Refusal(
            "missing-object",
            f"{what} is not in this repository, which seems to be a partial clone.",
            next_step=f"Bring its objects with `git -C {shlex.quote(str(self.directory))} fetch "
            f"--refetch --no-filter {shlex.quote(remote)}`; Repot never fetches.",
            place=Place(str(self.directory)),
        )

    def _unreadable(self, error: GitError) -> Refusal:
        return Refusal(
            "malformed-repository",
            f"Git cannot read the repository: {str(error).removeprefix('fatal: ').rstrip('.')}.",
            next_step="Run `git status` in it: git says the same there.",
            place=Place(str(self.git_dir)),
        )

    @property
    def directory(self) -> Path:
        """Give the folder that names the repository: the checkout's, or the bare one's."""
        return self.top or self.git_dir

    def _command(self, arguments: Iterable[str]) -> list[str]:
        """Build a command line.

        Both directories are always given: `core.worktree` then has no say. With `--git-dir` git
        also omits its own check that the repository belongs to the user (`safe.directory`), which
        exists because configuration can run commands: here it cannot, and `find` applies the
        same check where the repository was not named by the user.
        """
        options = [option for override in OVERRIDES for option in ("-c", override)]
        directories = [f"--git-dir={self.git_dir}", f"--work-tree={self.directory}"]
        return [executable(), *options, *directories, "--literal-pathspecs", *arguments]

    def _hint(self, rev: str) -> str:
        names = self.run("for-each-ref", "--format=%(refname:short)").decode("utf-8", "replace")
        similar = nearest(rev, names.split())
        hints = []
        if similar:
            hints.append(f"Did you mean {' or '.join(f'`{name}`' for name in similar)}?")
        if self.is_shallow():
            hints.append(
                "The clone is shallow: `git fetch --unshallow` brings the rest of its history."
            )
        if hints:
            return " ".join(hints)
        return "Fetch it, or name a commit, a tag or a branch that is here."


def require(start: Path) -> Repository:
    """Find the repository that holds a directory. Raises `Refusal`, also where there is none."""
    found = find(start)
    if found is None:
        raise Refusal(
            "no-repository",
            "There is no git repository here.",
            next_step="Name one with `--repo`.",
            place=Place(str(start)),
        )
    return found


def find(start: Path) -> Repository | None:
    """Find the repository that holds a directory, or that the directory is; `None` for neither.

    One found above the directory must belong to the user, as git wants it too: anyone can put a
    `.git` into a shared parent such as /tmp. Raises `Refusal`.
    """
    start = directory(start)
    for place in (start, *start.parents):
        git_dir = place / ".git"
        if _is_worktree_link(git_dir) or _is_git_dir(git_dir):
            found = Repository(git_dir, place)
        elif _is_git_dir(place):
            found = Repository(place, None)
        else:
            continue
        if place != start and not _is_ours(found.git_dir):
            raise Refusal(
                "foreign-repository",
                f"The repository at {place} belongs to another user.",
                next_step=f"If you trust it, name it: `--repo {shlex.quote(str(place))}`.",
                place=Place(str(place)),
            )
        return found
    return None


def directory(path: Path) -> Path:
    """Give the real path of a directory. Raises `Refusal("no-such-directory")`."""
    if not path.is_dir():
        raise Refusal(
            "no-such-directory",
            "There is no such directory.",
            next_step="Name a repository or a directory with `--repo`.",
            place=Place(str(path)),
        )
    return path.resolve()


def _is_git_dir(path: Path) -> bool:
    return (path / "HEAD").is_file() and all((path / name).is_dir() for name in ("objects", "refs"))


def _is_worktree_link(path: Path) -> bool:
    """Tell whether this is the `.git` file of a linked worktree or a submodule."""
    try:
        return stat.S_ISREG(path.lstat().st_mode) and path.read_bytes().startswith(b"gitdir:")
    except OSError:
        return False


def _is_ours(path: Path) -> bool:
    owners = {os.geteuid()}
    if os.geteuid() == 0 and os.environ.get("SUDO_UID", "").isdecimal():
        owners.add(int(os.environ["SUDO_UID"]))
    return path.lstat().st_uid in owners


def environment() -> dict[str, str]:
    """Give the process's environment with every variable that speaks to git replaced by ours."""
    names = [name for name in os.environ if not name.startswith("GIT_")]  # others may come and go
    inherited = {name: os.environ[name] for name in names}
    inherited.pop("LANGUAGE", None)
    return {**inherited, **SHIELD}


def _users_environment() -> dict[str, str]:
    """Give an environment in which git finds the user's configuration, and nothing else is said."""
    found = environment()
    for name in (*_WHERE_CONFIGURATION_LIES, "HOME", "XDG_CONFIG_HOME"):
        found.pop(name, None)
        if name in os.environ:
            found[name] = os.environ[name]
    return found


def executable() -> str:
    """Find git on the absolute entries of PATH: never one that lies in the current directory."""
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    found = shutil.which("git", path=os.pathsep.join(e for e in entries if Path(e).is_absolute()))
    if found is None:
        raise Refusal(
            "no-git", "The command `git` was not found.", next_step="Install git 2.30 or newer."
        )
    return found


def _answers(process: subprocess.Popen[bytes], wanted: str) -> Iterator[tuple[str, bytes]]:
    """Parse what `git cat-file --batch` prints until it ends, or breaks off as git dies."""
    output = process.stdout
    while output and (header := output.readline()).endswith(b"\n"):
        name, kind, *size = header.decode("ascii").split()
        if kind == "missing":
            raise MissingObjectError(name)
        if kind != wanted:
            raise GitError(f"{name} is a {kind}, not a {wanted}")
        data = output.read(int(size[0]))
        if output.read(1) != b"\n":
            return
        yield name, data


def _failure(printed: bytes) -> GitError:
    """Turn git's message into an exception."""
    text = printed.decode("utf-8", "backslashreplace").strip()
    if "promisor remote" in text or "lazy fetching disabled" in text:
        found = re.search(r"[0-9a-f]{40,64}", text)
        return MissingObjectError(found.group() if found else "")
    told = [line for line in text.split("\n") if not line.startswith("hint:")]
    return GitError(next(filter(None, told), "git failed without a message"))


def _unknown(rev: str, cause: str, next_step: str) -> Refusal:
    return Refusal(
        "unknown-revision", cause, next_step=next_step, place=Place(rev) if rev else None
    )
