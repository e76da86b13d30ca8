"""Runs formatters over files in a scratch tree: cut off from the user, the repository and time."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from transforms.errors import Place
from transforms.formatters import registry
from transforms.formatters.firstparty import Stubs
from transforms.formatters.formatter import HOOKS_FILE, BuiltIn, Function, Program, Stage
from transforms.formatters.refusals import bad_configuration, failed
from transforms.paths import contained, to_bytes

_HERE = Path(__file__).parent
LIMIT = 120  # seconds for one run of one tool
_MATCH_LIMIT = 10  # seconds for all patterns
_ROUNDS = 5  # in which the formatters come to agree; two are the rule
_COMMAND = 100_000  # bytes of paths on one command line
_PYTHON = [sys.executable, "-I", "-S", "-B", "-X", "utf8"]


def match(pairs: Sequence[tuple[str, str]], paths: Sequence[str]) -> list[list[str]]:
    """Select, for each pair of patterns, the paths that pre-commit would. Refused if it hangs."""
    request = json.dumps({"pairs": list(pairs), "paths": list(paths)}).encode()
    try:
        done = subprocess.run(
            [*_PYTHON, str(_HERE / "match_paths.py")],
            input=request,
            capture_output=True,
            timeout=_MATCH_LIMIT,
            check=True,
        )
        answer = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise bad_configuration(
            f"Its patterns (`files`, `exclude`) take more than {_MATCH_LIMIT} seconds to match.",
            Place(HOOKS_FILE),
        ) from None
    except (subprocess.CalledProcessError, ValueError):
        raise bad_configuration(
            "Its patterns (`files`, `exclude`) cannot be matched.", Place(HOOKS_FILE)
        ) from None
    if "bad" in answer:
        raise bad_configuration(
            f"`{answer['bad']}` is no regular expression: {answer['error']}.", Place(HOOKS_FILE)
        )
    return [[paths[number] for number in numbers] for numbers in answer["passed"]]


def run(
    stages: Sequence[Stage],
    files: Mapping[str, bytes],
    stubs: Stubs,
    environments: Mapping[str, Path],
) -> dict[str, tuple[bytes, tuple[str, ...]]]:
    """Run every stage in order, and again those that a later one gave something new to see.

    A commit passes its hooks only when none of them changes anything any more. Gives each file's
    bytes and who changed it. `environments` has an installed folder by tool label. Raises
    `Refusal("formatter-failed")`.
    """
    current = dict(files)
    changed: dict[str, dict[str, None]] = {path: {} for path in files}  # labels in order
    left: list[dict[str, bytes]] = [{} for _ in stages]  # what each stage last made of each file
    with _scratch() as (top, home):
        _lay_out(top, current, stubs)
        for _ in range(_ROUNDS):
            for stage, made in zip(stages, left, strict=True):
                given = [p for p in current if p in stage.selected and made.get(p) != current[p]]
                if given:
                    paths = sorted(given, key=to_bytes)
                    made.update(_apply(stage, paths, current, environments, top, home))
                    for path in paths:
                        if made[path] != current[path]:
                            changed[path][stage.tool.label] = None
                            current[path] = made[path]
            unsettled = {p for made in left for p, data in made.items() if data != current[p]}
            if not unsettled:
                return {path: (data, tuple(changed[path])) for path, data in current.items()}
    path = min(unsettled)
    raise failed(
        f"The formatters undo one another's changes: {', '.join(changed[path])}.", Place(path)
    )


def _apply(
    stage: Stage,
    paths: list[str],
    current: Mapping[str, bytes],
    environments: Mapping[str, Path],
    top: str,
    home: str,
) -> dict[str, bytes]:
    """Run one stage over files as they lie in the scratch tree; give what it leaves."""
    runs = stage.tool.formatter.runs
    if isinstance(runs, BuiltIn):
        fixed = {path: runs.fix(stage, current[path]) for path in paths}
        for path, data in fixed.items():
            if data != current[path]:
                _at(top, path).write_bytes(data)
        return fixed
    with _configured(top, stage.configs):
        _run_entry(runs.entry, stage, paths, environments[stage.tool.label], top, home)
    return {path: _at(top, path).read_bytes() for path in paths}


@contextmanager
def _scratch() -> Iterator[tuple[str, str]]:
    # A name that no module can have: it may be compared, as a source root's, with modules.
    with tempfile.TemporaryDirectory(prefix="repot-") as temporary:
        real = Path(temporary).resolve()
        for folder in real.parents:
            for name in registry.searched():
                if (folder / name).exists():
                    raise failed(
                        f"`{folder / name}` lies above the temporary folder, and formatters "
                        "would read it. Set TMPDIR to another place.",
                        None,
                    )
        top, home = real / "scratch-tree", real / "empty-home"
        home.mkdir()
        (top / ".git").mkdir(parents=True)  # where most stop looking upwards
        yield str(top), str(home)


def _at(top: str, path: str) -> Path:
    return Path(top, os.fsdecode(to_bytes(contained(path))))


def _lay_out(top: str, files: Mapping[str, bytes], stubs: Stubs) -> None:
    for path, data in files.items():
        target = _at(top, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    for folder in stubs.folders:
        with suppress(OSError):  # a name too long for this disk, or a clash of cases
            _at(top, folder).mkdir(parents=True, exist_ok=True)
    for path, data in stubs.files.items():
        if path not in files:
            with suppress(OSError):
                target = _at(top, path)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)


@contextmanager
def _configured(top: str, configs: Mapping[str, bytes]) -> Iterator[None]:
    written = [(_at(top, path), data) for path, data in configs.items()]
    for path, data in written:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    try:
        yield
    finally:
        for path, _ in written:
            path.unlink(missing_ok=True)


def _run_entry(
    entry: Function | Program,
    stage: Stage,
    paths: list[str],
    environment: Path,
    top: str,
    home: str,
) -> None:
    names = [str(_at("", path)) for path in paths]
    if isinstance(entry, Program):
        name = f"{entry.name}.exe" if sys.platform == "win32" else entry.name
        binary = environment / "bin" / name
        for batch in _batches(names):
            _spawn(stage, [str(binary), *stage.argv, "--", *batch], None, top, home, paths)
        return
    command = [*_PYTHON, str(_HERE / "drive.py"), str(environment)]
    request = {"entry": asdict(entry), "argv": list(stage.argv), "paths": names}
    _spawn(stage, command, json.dumps(request).encode(), top, home, paths)


def _batches(names: list[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for name in names:
        if batch and size + len(name) > _COMMAND:
            yield batch
            batch, size = [], 0
        batch.append(name)
        size += len(name) + 1
    yield batch


def _spawn(
    stage: Stage, command: list[str], request: bytes | None, top: str, home: str, paths: list[str]
) -> None:
    with tempfile.TemporaryFile(dir=home) as log:
        try:
            done = subprocess.run(
                command,
                cwd=top,
                env=_environment(home, stage.tool.formatter.environment),
                input=request,
                stdin=subprocess.DEVNULL if request is None else None,
                stdout=log if stage.accepts == {0} else subprocess.DEVNULL,
                stderr=log,
                timeout=LIMIT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            where = Place(paths[0]) if len(paths) == 1 else None
            raise failed(f"{stage.tool.label} ran for more than {LIMIT} seconds.", where) from None
        if done.returncode in stage.accepts:
            return
        log.seek(max(0, log.seek(0, os.SEEK_END) - 4000))
        said = log.read().decode("utf-8", "replace")
    raise _failure(stage.tool.label, done.returncode, said.replace(f"{top}/", ""), paths)


def _environment(home: str, own: Mapping[str, str]) -> dict[str, str]:
    kept = ("SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")  # what the interpreter needs
    return {
        **{name: os.environ[name] for name in kept if name in os.environ},
        "PATH": os.defpath,
        "HOME": home,
        "USERPROFILE": home,
        "APPDATA": home,
        "LOCALAPPDATA": home,
        "XDG_CONFIG_HOME": home,
        "XDG_CACHE_HOME": home,
        "XDG_DATA_HOME": home,
        "TMPDIR": home,
        "TEMP": home,
        "TMP": home,
        "NO_COLOR": "1",
        "LC_ALL": "C.UTF-8",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": "0",
        **{name: value.format(home=home) for name, value in own.items()},
    }


def _failure(label: str, code: int, said: str, paths: list[str]) -> Exception:
    """Say what a tool said, and where, as far as it tells."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "")
    place = None
    for path in sorted(paths, key=len, reverse=True):
        if path in said or len(paths) == 1:
            at = re.search(rf"{re.escape(path)}\D{{0,60}}?(\d+):\d+", said)
            place = Place(path, int(at[1]) if at else None, excerpt=telling[:200] or None)
            break
    how = f"was stopped by signal {-code}" if code < 0 else f"failed with exit code {code}"
    if place is None:
        how += f" on one of {len(paths)} files ({paths[0]}, ...)"
    detail = f": {telling[:300]}" if telling else ""
    return failed(f"{label} {how}{detail}".rstrip(".") + ".", place)
