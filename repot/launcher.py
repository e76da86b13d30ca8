"""Starts the engine in a process of its own, on whose path nothing of the user's stands before it.

A user may have packages named `transforms` and `verify`, in the current folder, on PYTHONPATH or
installed beside Repot. So the engine's folder comes first on the path; and where anything but an
installation may have been imported already, a fresh Python takes this one's place (the same
process id, terminal and exit code), without PYTHONPATH and without the current folder.
`repot mcp` is started in the same way; it is the server of this package, which starts engines.

Run before each command, so it imports only what every Python has loaded by then.
"""

from __future__ import annotations

import os
import sys

COMMAND = "verify.cli"
SERVER = "repot.server.start"
FAULT = 3  # the exit code

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_HOME = os.path.dirname(_PACKAGE)
_PRIVATE = os.path.join(_PACKAGE, "_engine")

# The folder that holds the engine's packages: a private one, or the top of the repository.
ENGINE = _PRIVATE if os.path.isdir(os.path.join(_PRIVATE, "verify")) else _HOME
_PACKAGES = {"transforms", "verify"}
_LETTERS = {
    "isolated": "-I",
    "ignore_environment": "-E",
    "no_user_site": "-s",
    "dont_write_bytecode": "-B",
}


def main() -> None:
    """Be the console script `repot`."""
    start(wanted(sys.argv[1:]))


def wanted(arguments: list[str]) -> str:
    """Give the module for these arguments: the server for `mcp` and its root, else the engine.

    The engine has the help of both, and words what is wrong with any other command line.
    """
    rest = arguments[1:]
    joined = len(rest) == 1 and rest[0].startswith("--root=")
    is_server = arguments[:1] == ["mcp"] and (joined or (len(rest) == 2 and rest[0] == "--root"))
    return SERVER if is_server else COMMAND


def start(module: str, *, by_name: bool = False) -> None:
    """Run `main` of a module of the engine with this process's arguments, and end with its code.

    `by_name` says that it is done for `python -m`, which looks in the current folder first.
    """
    if _is_untouched(by_name=by_name):
        _run(module, own_folder=not by_name)
    options = [f"-X{name}" if value is True else f"-X{name}={value}"
               for name, value in sys._xoptions.items()]  # fmt: skip
    options += [f"-W{rule}" for rule in sys.warnoptions]
    python, *rest = command(module, sys.argv[1:])
    os.execve(python, [python, *options, *rest], environment())  # noqa: S606 - no shell, as meant


def command(module: str, arguments: list[str]) -> list[str]:
    """Give the command line of a fresh Python that runs `main` of a module of the engine."""
    letters = [letter for flag, letter in _LETTERS.items() if getattr(sys.flags, flag)]
    return [sys.executable, *letters, os.path.join(_PACKAGE, "launcher.py"), module, *arguments]


def environment() -> dict[str, str]:
    """Give the environment variables of that Python: this process's, without PYTHONPATH."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def _is_untouched(*, by_name: bool) -> bool:
    """Whether all that was imported so far came from Python itself or from an installation."""
    if by_name and not _is_safe():
        return False
    return bool(sys.flags.ignore_environment) or not os.environ.get("PYTHONPATH")


def _is_safe() -> bool:
    """Whether Python was told to put no folder of its own choice before all others."""
    return bool(sys.flags.isolated or getattr(sys.flags, "safe_path", False))  # from 3.11


def _run(module: str, *, own_folder: bool) -> None:
    """Run a module in this process. `own_folder`: the path may begin with the script's folder."""
    path = sys.path[1:] if own_folder and not _is_safe() else sys.path
    sys.path[:] = [place for place in path if place]
    if module == SERVER and not _has_extra():
        module = COMMAND  # it says what is missing
    home = _PACKAGE if module == SERVER else ENGINE
    if module != SERVER:
        sys.path.insert(0, ENGINE)
    if _HOME not in sys.path:  # installed into a folder that only PYTHONPATH names
        sys.path.append(_HOME)
    for name in [name for name in sys.modules if name.partition(".")[0] in _PACKAGES]:
        del sys.modules[name]  # a `.pth` file or `sitecustomize` has imported the user's own
    os.environ.pop("PYTHONPATH", None)  # processes that this one starts
    try:
        __import__(module)
    except ImportError as error:  # Python's own end for it would be 1, which means "it differs"
        _fail(f"the engine in {home} cannot be loaded: {error}. Install Repot anew.")
    engine = sys.modules[module]
    found = os.path.abspath(str(engine.__file__))
    if not found.startswith(os.path.join(home, "")):
        # Neither path nor order decides where an import hook finds a module.
        _fail(
            f"`{module}` comes from {found}, not from {home}: something that is installed in "
            "this environment redirects the import. Install Repot into one of its own."
        )
    sys.exit(engine.main())


def _has_extra() -> bool:
    """Whether the SDK is installed that `repot mcp` needs."""
    from importlib.util import find_spec

    return find_spec("mcp") is not None


def _fail(message: str) -> None:
    sys.stderr.write(f"repot: {message}\n")
    sys.exit(FAULT)


if __name__ == "__main__":  # the fresh Python
    _run(sys.argv.pop(1), own_folder=True)
