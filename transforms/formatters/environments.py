"""Installs formatters: wheels only, each by its hash, once for a version and an interpreter.

pip fetches them from wherever the user's pip fetches; with the hashes pinned it does not matter
from where. The repository under judgement has no say: pip runs in an empty folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from transforms.formatters import registry
from transforms.formatters.refusals import not_to_be_installed, unavailable
from transforms.formatters.versions import Pin

_MARK = "repot.json"
_LIMIT = 300  # seconds for one pip
_FROM_WHEEL = (
    "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); "
    "runpy.run_module('pip', run_name='__main__')"
)
# What a user's own settings may say about where packages come from, and nothing else of them.
_KEPT = (
    "PATH", "HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR",
    "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_CACHE_HOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy",
    "all_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    "PIP_CONFIG_FILE", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX",
    "PIP_TRUSTED_HOST", "PIP_CERT", "PIP_CLIENT_CERT", "PIP_PROXY", "PIP_CACHE_DIR",
    "PIP_DEFAULT_TIMEOUT", "PIP_TIMEOUT", "PIP_RETRIES", "PIP_KEYRING_PROVIDER",
)  # fmt: skip


def ensure(folder: Path, label: str, pins: tuple[Pin, ...], say: Callable[[str], None]) -> Path:
    """Give the folder that holds these pins, installed if need be. `label` names it to the reader.

    Made beside its place and moved there whole, so that runs at the same time do not meet. Raises
    `Refusal("formatter-unavailable")`, under REPOT_OFFLINE=1 for whatever is not there yet.
    """
    own = _own(pins)
    if own is not None:
        return own
    wanted = json.dumps(
        {
            "python": f"{sys.implementation.cache_tag}-{sysconfig.get_platform()}",
            "pins": [[pin.project, pin.version, *pin.hashes] for pin in pins],
        }
    )
    name = f"{pins[0].project}-{pins[0].version}-{hashlib.sha256(wanted.encode()).hexdigest()[:16]}"
    place = folder / "installed" / name
    if _holds(place, wanted):
        return place
    if os.environ.get("REPOT_OFFLINE") == "1":
        raise not_to_be_installed(label)
    say(f"installing {label}")
    place.parent.mkdir(mode=0o700, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix="new-") as temporary:
        made = Path(temporary) / "made"
        _install(label, pins, made, Path(temporary))
        (made / _MARK).write_text(wanted, encoding="utf-8")
        if place.exists() and not _holds(place, wanted):
            shutil.rmtree(place, ignore_errors=True)
        try:
            made.rename(place)
        except OSError:  # another run was first
            if not _holds(place, wanted):
                raise
    return place


def _own(pins: tuple[Pin, ...]) -> Path | None:
    """Give the environment that Repot itself runs in, if it holds this very version of a program.

    One that is a dependency of Repot lies beside it: then no index is needed.
    """
    name = registry.program_of(pins[0].project) if len(pins) == 1 else None
    scripts = Path(sysconfig.get_path("scripts"))
    if name is None or scripts.name != "bin" or not (scripts / name).is_file():
        return None
    return scripts.parent if _says(scripts / name) == (name, pins[0].version) else None


@cache
def _says(binary: Path) -> tuple[str, ...]:
    """Give the words of a program's `--version`; asked once, though formatters run often."""
    try:
        done = subprocess.run(
            [str(binary), "--version"], capture_output=True, timeout=_LIMIT, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return tuple(done.stdout.decode("utf-8", "replace").split())


def _holds(place: Path, wanted: str) -> bool:
    try:
        return (place / _MARK).read_text(encoding="utf-8") == wanted
    except (OSError, ValueError):
        return False


def _install(label: str, pins: tuple[Pin, ...], target: Path, empty: Path) -> None:
    requirements, constraints = empty / "requirements.txt", empty / "constraints.txt"
    requirements.write_text("".join(map(_requirement, pins)), encoding="utf-8")
    constraints.write_text("", encoding="utf-8")
    work = empty / "work"
    work.mkdir()
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    environment |= {
        "PIP_CONSTRAINT": str(constraints),  # instead of the machine's own
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INPUT": "1",
        "PIP_REQUIRE_VIRTUALENV": "0",
        "PIP_USER": "0",
    }
    command = [
        *_pip(), "install", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes",
        "--retries=2", "--target", str(target), "--requirement", str(requirements),
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command,
            cwd=work,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise unavailable(f"pip did not install {label} within {_LIMIT} seconds.") from None
    if done.returncode:
        raise unavailable(f"{label} is not installed, and pip could not: {_complaint(done.stderr)}")


def _requirement(pin: Pin) -> str:
    hashes = "".join(f" --hash=sha256:{value}" for value in pin.hashes)
    return f"{pin.project}=={pin.version}{hashes}\n"


def _pip() -> list[str]:
    """Give the command that runs pip: this interpreter's, or the one that it brings along."""
    if find_spec("pip") is not None:
        return [sys.executable, "-I", "-m", "pip"]
    if find_spec("ensurepip") is not None:
        import ensurepip

        bundled = Path(ensurepip.__file__).parent / "_bundled"
        for wheel in sorted(bundled.glob("pip-*.whl"), reverse=True):
            return [sys.executable, "-I", "-c", _FROM_WHEEL, str(wheel)]
    raise unavailable("Formatters are installed by pip, and this interpreter has none.")


def _complaint(stderr: bytes) -> str:
    """Give the last line in which pip says what is wrong."""
    lines = [line.strip() for line in stderr.decode("utf-8", "replace").splitlines()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    said = errors or [line for line in lines if line] or ["it does not say why"]
    return said[-1].rstrip(".")[:300] + "."
