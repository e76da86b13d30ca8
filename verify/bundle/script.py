# /// script
# requires-python = ">=3.10"
# dependencies = []
# ///
#
# A move of Python code, ready to be checked. Written by Repot @VERSION@.
#
# Type, in a clone of the repository, with git and CPython 3.10 or newer:
#
#     python3 THIS_FILE
#
# It reads the two commits below from git, makes the move again from the plan below, and compares
# every byte. It ends in `PASS: transform reproduces the commit exactly.`, or shows what differs.
# Nothing of the clone is run, and nothing is written to it. `python3 THIS_FILE --help` says more.
#
# What to read before: the plan, then the code after it down to `LOCK`. Below that are the hashes of
# what it installs, and the sources of Repot's engine, unchanged, as text.
#
# This file cannot vouch for itself. `repot bundle --check THIS_FILE`, with a Repot that you have
# from elsewhere, tells without running it whether all but the plan is what that Repot writes.

import sys

# From here on, modules come from Python's own library alone: a clone may hold a `json.py`. (Hence
# no `from __future__` either, which is an import.)
sys.path[:] = [
    place
    for place in sys.path
    if place
    in [
        f"{prefix}/{getattr(sys, 'platlibdir', 'lib')}/python3.{sys.version_info[1]}{part}"
        for prefix in (sys.base_prefix, sys.base_exec_prefix)
        for part in ("", "/lib-dynload")
    ]
]

# ---- what is checked -----------------------------------------------------------------------------

BASE = ""

TARGET = ""

PLAN = ""

# What is installed for the repository's own formatters, where it has any: by hash, as it is used.
FORMATTERS = ""

# ---- how -----------------------------------------------------------------------------------------

if sys.version_info < (3, 10) or not sys.path:
    sys.stderr.write("This needs CPython 3.10 or newer, on Linux or macOS: python3.12 THIS_FILE\n")
    sys.exit(2)

import argparse
import hashlib
import importlib.util
import json
import os
import re
import shutil
import stat
import subprocess
import tempfile
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

# What the process that judges ends with, so that no accident of Python's looks like a verdict:
# 0 it holds, 1 it differs, 2 it could not be judged, 3 a fault of Repot, 130 interrupted.
CODES = {100: 0, 101: 1, 102: 2, 103: 3, 130: 130}
JUDGE = "import sys; sys.path.insert(0, sys.argv[1]); from verify.bundle.inside import main; main()"
FROM_WHEEL = (
    "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); "
    "runpy.run_module('pip', run_name='__main__')"
)
INSTEAD = """\
With --certify-only nothing is installed: that tells whether the change is a move and nothing else,
but does not replay the plan."""


class Stop(Exception):
    """It cannot be judged; the text says why, and what to do."""


def main() -> int:
    """Run the command line and give its exit code."""
    options = arguments()
    try:
        folder = private(cache_folder(Path(options.repo).resolve()) / f"bundle-{digest()}")
        made(folder / "engine", write_engine, holds_engine)
        python, own = sys.executable, environment(folder)
        if not options.certify_only and not holds_environment(own):
            # First what needs nothing: are both commits here, and do they concern the reader?
            if code := judge(python, folder, options, step="look"):
                return code
            made(own, lambda fresh: install(fresh, folder, options), holds_environment)
        if not options.certify_only:
            python = str(own / "bin" / "python")
        return judge(python, folder, options, step="certify" if options.certify_only else "prove")
    except Stop as stop:
        say(f"{stop}\nNot judged.")
        return 2
    except OSError as error:
        say(f"{error}\nSet REPOT_CACHE to a folder that you can write to.\nNot judged.")
        return 2
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        say(f"{type(error).__name__}: {error}\nThis is a fault of Repot. Please report it.")
        return 3


def arguments() -> Namespace:
    """Read the command line; argparse itself ends with 2 for one that it does not understand."""
    parser = argparse.ArgumentParser(
        prog="python3 THIS_FILE",
        description=f"Check that commit {TARGET[:12]} is {BASE[:12]} plus a move, and no more.",
        epilog="Exit codes: 0 PASS; 1 it differs; 2 it could not be judged; 3 a fault of Repot.",
        allow_abbrev=False,
    )
    texts = {
        "--repo=DIR": "the clone; the current folder by default",
        "--target=REV": "a revision that is the target: judge it, though HEAD does not hold it",
        "--index-url=URL": "the package index; https://pypi.org/simple by default",
        "--find-links=DIR": "a folder of wheels, instead of an index",
        "--json=FILE": "write the report as JSON, too",
    }
    for option, text in texts.items():
        name, _, value = option.partition("=")
        parser.add_argument(name, metavar=value, help=text)
    parser.add_argument("--certify-only", action="store_true", help=INSTEAD)
    parser.set_defaults(repo=".")
    options = parser.parse_args()
    for name in ("repo", "find_links", "json"):  # the processes run elsewhere
        if getattr(options, name) not in (None, "-"):
            setattr(options, name, str(Path(getattr(options, name)).absolute()))
    return options


def say(text: str) -> None:
    """Tell the reader on stderr; a character that could act on a terminal is not passed on."""
    shown = "".join(c if " " <= c <= "~" or c == "\n" else ascii(c)[1:-1] for c in f"{text}\n")
    sys.stderr.write(shown)
    sys.stderr.flush()


def digest() -> str:
    """Give the SHA-256 of the lock and the engine."""
    whole = hashlib.sha256()
    for name, text in {"": LOCK, **ENGINE}.items():
        data = text.encode()
        whole.update(f"{name}\0{len(data)}\0".encode() + data)
    return whole.hexdigest()


def cache_folder(repo: Path) -> Path:
    """Give the cache folder of Repot, which is the user's own; never one in the clone."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    above = Path(base) if base.startswith("/") else Path.home() / ".cache"
    if sys.platform == "darwin":
        above = Path.home() / "Library" / "Caches"
    chosen = os.environ.get("REPOT_CACHE")
    cache = Path(chosen).absolute() if chosen else above / "repot"
    tops = [p for p in (repo, *repo.parents) if (p / ".git").exists() or (p / "HEAD").is_file()]
    if tops and cache.resolve().is_relative_to(tops[0]):
        raise Stop(f"The cache folder {cache} lies in the clone. Set REPOT_CACHE to another.")
    cache.parent.mkdir(parents=True, exist_ok=True)
    return private(cache)


def private(folder: Path) -> Path:
    """Give a folder that nobody else can write to, made if need be."""
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.stat()
    if found.st_uid != os.getuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise Stop(f"Others can write to {folder}. Set REPOT_CACHE to a folder of your own.")
    return folder


def made(place: Path, make: Callable[[Path], None], holds: Callable[[Path], bool]) -> None:
    """Leave a folder as it is if it holds; else make it beside its place and put it there whole."""
    if holds(place):
        return
    with tempfile.TemporaryDirectory(dir=place.parent, prefix="new-") as scratch:
        fresh = Path(scratch) / "made"
        make(fresh)
        if place.exists() and not holds(place):
            shutil.rmtree(place)
        try:
            fresh.rename(place)
        except OSError:  # another run was first
            if not holds(place):
                raise


def write_engine(place: Path) -> None:
    """Write the engine's sources."""
    for name, text in ENGINE.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def holds_engine(place: Path) -> bool:
    """Tell whether a folder holds the engine's sources, all of them and nothing else."""
    found = {p.relative_to(place).as_posix(): p for p in place.rglob("*") if not p.is_dir()}
    return found.keys() == ENGINE.keys() and all(
        not path.is_symlink() and path.read_bytes() == ENGINE[name].encode()
        for name, path in found.items()
    )


def environment(folder: Path) -> Path:
    """Name the folder of this Python's environment, which holds what the lock names."""
    identity = f"{sys.version} {os.path.realpath(sys.executable)}"
    name = hashlib.sha256(identity.encode()).hexdigest()[:16]
    return folder / f"{sys.implementation.cache_tag}-{name}"


def holds_environment(place: Path) -> bool:
    """Tell whether an environment was made to its end, and its Python is still there."""
    return (place / "complete").exists() and os.access(place / "bin" / "python", os.X_OK)


def install(fresh: Path, folder: Path, options: Namespace) -> None:
    """Make an environment: wheels alone, each by its hash, from one place that nobody else sets."""
    wanted = [line.rstrip(" \\") for line in LOCK.split("\n") if "==" in line]
    place = options.find_links or options.index_url or "https://pypi.org/simple"
    place = re.sub("//[^/@]*@", "//", place)  # not the password
    say(f"repot: making an environment below {folder}, once: pip installs, by hash, from {place}")
    say("".join(f"  {line}\n" for line in wanted).rstrip("\n"))
    for module in ("venv", "ensurepip"):
        if importlib.util.find_spec(module) is None:
            raise Stop(f"This Python has no `{module}`. On Debian and Ubuntu it comes with: "
                       f"apt install python3-venv\n{INSTEAD}")  # fmt: skip
    where = []
    if options.find_links:
        where += ["--no-index", "--find-links", options.find_links]
    if options.index_url:
        where += ["--index-url", options.index_url]
    if "SSL_CERT_FILE" in os.environ:
        where += ["--cert", os.environ["SSL_CERT_FILE"]]
    needed = (
        f"Needed once: access to {place}, or to an index that you name with --index-url URL, or a "
        f"folder with the wheels above: --find-links DIR.\n{INSTEAD}"
    )
    python, lock = str(fresh / "bin" / "python"), fresh / "lock.txt"
    import ensurepip

    # Installing pip takes longer than all else: the one that Python brings along runs as it is.
    wheels = sorted(Path(ensurepip.__file__).parent.glob("_bundled/pip-*.whl"))
    pip = [python, "-I", *(["-c", FROM_WHEEL, str(wheels[-1])] if wheels else ["-m", "pip"])]
    bare = ["--without-pip"] if wheels else []
    run([sys.executable, "-I", "-m", "venv", *bare, str(fresh)], folder, options, needed)
    lock.write_bytes(LOCK.encode())
    quiet = ["--isolated", "--no-input", "--disable-pip-version-check"]
    # What is compiled lies beside the environment: see `judge`.
    wheel = ["--no-compile", "--only-binary", ":all:", "--require-hashes"]
    what = [*where, *wheel, "--requirement", str(lock)]
    run([*pip, *quiet, "install", "--quiet", "--retries=2", *what], folder, options, needed)
    (fresh / "complete").touch()


def run(command: list[str], folder: Path, options: Namespace, needed: str) -> None:
    """Run venv or pip; stop where it fails, with what it said and what it needs."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=surroundings(options),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode:
        lines = done.stdout.decode("utf-8", "replace").strip().splitlines()
        errors = [line for line in lines if line.startswith("ERROR")] or lines
        raise Stop("\n".join(["The environment could not be made.", *errors[-3:], needed]))


def surroundings(options: Namespace) -> dict[str, str]:
    """Give the variables of the processes: none that tells Python, pip or git what to do.

    The engine installs a repository's own formatters, by hash and with pip, from the same place.
    """
    told = ("PYTHON", "PIP_", "GIT_", "__PYVENV")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(told)}
    kept |= {"PIP_CONFIG_FILE": os.devnull, "NO_COLOR": "1"}
    if options.find_links:
        kept |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": options.find_links}
    if options.index_url:
        kept["PIP_INDEX_URL"] = options.index_url
    if "SSL_CERT_FILE" in kept:
        kept["PIP_CERT"] = kept["SSL_CERT_FILE"]
    return kept


def judge(python: str, folder: Path, options: Namespace, *, step: str) -> int:
    """Let the engine take a step, in a process of its own, and give the exit code."""
    request = {
        "step": step,
        "base": BASE,
        "target": TARGET,
        "plan": PLAN,
        "repo": options.repo,
        "named": options.target,
        "json": options.json,
    }
    # With -I neither the current folder nor a variable adds to what can be imported; -S leaves out
    # what is installed beside a Python that is not our own.
    flags = ["-I", "-X", f"pycache_prefix={folder / 'compiled'}"]
    if step != "prove":
        flags.append("-S")
    done = subprocess.run(
        [python, *flags, "-c", JUDGE, str(folder / "engine")],
        input=json.dumps(request).encode(),
        cwd=folder,
        env=surroundings(options),
        check=False,
    )
    if done.returncode not in CODES:
        say("The engine broke off. This is a fault of Repot, not of your input: please report it.")
    return CODES.get(done.returncode, 3)


# ---- what is installed ---------------------------------------------------------------------------

LOCK = ""

# ---- Repot's engine ------------------------------------------------------------------------------

ENGINE: dict[str, str] = {}

if __name__ == "__main__":
    sys.exit(main())
