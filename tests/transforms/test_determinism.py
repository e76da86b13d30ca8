"""The same plan on the same tree gives the same bytes, whatever the machine and its owner prefer.

Everything that `repot apply` prints or writes is compared with one plain run: the patch, the JSON
report, and the files that `--write` leaves.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TypeVar

import pytest

from tests.documents import ROOT
from tests.effort import FULL
from tests.transforms.case import Case, MemoryTree, load_cases
from tests.transforms.checkouts import checkout, run_git
from tests.transforms.split_shop import FILES, PLAN, make_shop
from transforms.engine import apply
from transforms.errors import Refusal
from transforms.reading.load import parse_plan
from transforms.result.changes import Blob

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Item = TypeVar("Item")

SEEDS = 4
NUMBER = 5 if FULL else 3  # cases that are laid out as repositories

PROGRAM = Path(__file__).with_name("apply_all.py")
CASES = [case for case in load_cases() if case.after]
BASE = "e1955bf57ab39a4de7f7daf9a619e4f68f952ed9"
PROPOSED = ROOT / "transforms/plans/sglang/27273.toml"

HOSTILE_CONFIG = """\
[core]
	autocrlf = true
	safecrlf = true
	eol = crlf
	quotePath = false
	pager = false
	attributesFile = {attributes}
	excludesFile = {excludes}
	fsmonitor = {program}
[diff]
	noprefix = true
	mnemonicPrefix = true
	external = {program}
	renames = copies
	algorithm = patience
	context = 0
	suppressBlankEmpty = true
[diff "odd"]
	textconv = {program}
	command = {program}
[filter "odd"]
	clean = {program}
	smudge = {program}
	required = true
[color]
	ui = always
	diff = always
[apply]
	whitespace = error
[status]
	relativePaths = true
	showUntrackedFiles = no
[log]
	showSignature = true
[alias]
	ls-files = !{program}
"""

READ_BY = re.compile(rb"read by Python [\d.]+")


@dataclass(frozen=True)
class Variation:
    """What a run changes about its surroundings; the output may not change."""

    environment: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    umask: int = 0o022
    elsewhere: bool = False
    one_core: bool = False
    hostile: str = ""  # `user` or `repository`: whose git configuration is hostile


# Several things at once: a run costs a second, and what differs names itself.
VARIATIONS = {
    "the C locale, a zone ahead, a umask that hides all, another folder, hash seed 1": Variation(
        {"PYTHONHASHSEED": "1", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "TZ": "Asia/Kathmandu"},
        options=("-X", "utf8=0"),
        umask=0o077,
        elsewhere=True,
    ),
    "a zone behind, one core, no assertions, hash seed 2": Variation(
        {"PYTHONHASHSEED": "2", "LC_ALL": "C", "TZ": "America/St_Johns"},
        options=("-O",),
        one_core=True,
    ),
    "the user's hostile git configuration, hash seed 3": Variation(
        {"PYTHONHASHSEED": "3", "LANGUAGE": "de"}, hostile="user"
    ),
    "the repository's hostile git configuration too": Variation(hostile="repository"),
}


@dataclass(frozen=True)
class Job:
    """Plans, the repositories that they are applied to, and in which ways."""

    arguments: tuple[str, ...]
    repositories: tuple[Path, ...] = ()


def hostile_config(folder: Path) -> str:
    """A configuration whose programs fail and tell, if git ever runs one."""
    folder.mkdir()
    program = folder / "program"
    program.write_text(f"#!/bin/sh\necho ran >> {folder}/ran\nexit 1\n")
    program.chmod(0o755)
    (folder / "attributes").write_text("* diff=odd filter=odd text eol=crlf ident\n")
    (folder / "excludes").write_text("*.py\n")
    return HOSTILE_CONFIG.format(
        program=program, attributes=folder / "attributes", excludes=folder / "excludes"
    )


def run_job(
    job: Job, variation: Variation, folder: Path, python: Path | str = sys.executable,
    path: str = "",
) -> dict[str, bytes]:  # fmt: skip
    """Run the program in these surroundings; give each file that it made."""
    out, home = folder / "out", folder / "home"
    for made in (out, home):
        made.mkdir(parents=True)
    environment = {
        name: os.environ[name]
        for name in ("PATH", "REPOT_CACHE", "XDG_CACHE_HOME")
        if name in os.environ
    }
    environment.setdefault("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    environment |= {
        "HOME": str(home),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), path])),
        "PYTHONHASHSEED": "0",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "GIT_CONFIG_NOSYSTEM": "1",
        **variation.environment,
    }
    restore: list[tuple[Path, bytes]] = []
    if variation.hostile:
        config = hostile_config(folder / "hostile")
        (home / ".gitconfig").write_text(config)
        if variation.hostile == "repository":
            for repository in job.repositories:
                own = repository / ".git" / "config"
                restore.append((own, own.read_bytes()))
                own.write_bytes(own.read_bytes() + config.encode())
    command = [str(python), *variation.options, str(PROGRAM), str(out), *job.arguments]
    try:
        done = subprocess.run(
            command,
            cwd=home if variation.elsewhere else ROOT,
            env=environment,
            capture_output=True,
            check=False,
            preexec_fn=partial(_surround, variation),
        )
    finally:
        for own, data in restore:
            own.write_bytes(data)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    assert done.stderr == b""
    assert not (folder / "hostile" / "ran").exists()
    found = {file.name: file.read_bytes() for file in sorted(out.iterdir())}
    assert found
    return found


def _surround(variation: Variation) -> None:
    os.umask(variation.umask)
    if variation.one_core and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])


def assert_same(found: Mapping[str, bytes], expected: Mapping[str, bytes]) -> None:
    assert found.keys() == expected.keys()
    for name, data in expected.items():
        assert found[name] == data, name


def case_repository(case: Case, folder: Path) -> list[str]:
    """Lay a case out; give the program's arguments for it."""
    head = "" if case.plan.startswith("format") else "format = 1\n"
    if "formatters" not in case.plan:
        head += 'formatters = "none"\n'
    plan = folder.with_suffix(".toml")
    plan.write_bytes((head + case.plan).encode())
    checkout(folder, case.before)
    return [str(plan), str(folder), "at=HEAD"]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """The built-in repository and cases from all over the table."""
    folder = tmp_path_factory.mktemp("small")
    shop = make_shop(folder / "shop")
    arguments = [str(shop.with_suffix(".toml")), str(shop), "at=HEAD,tree,write"]
    chosen = CASES[:: max(1, len(CASES) // NUMBER)][:NUMBER]
    for number, case in enumerate(chosen):
        arguments += case_repository(case, folder / f"case{number}")
    return Job(tuple(arguments), tuple(Path(repo) for repo in arguments[1::3]))


@pytest.fixture(scope="module")
def plain(small: Job, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return run_job(small, Variation(), tmp_path_factory.mktemp("plain"))


def test_the_built_in_repository_shows_every_kind_of_edit_and_note(plain: dict[str, bytes]) -> None:
    report = json.loads(plain["0-at.json"])
    assert {"import", "local import", "qualified name", "entry point", "documentation"} <= set(
        report["edits_by_kind"]
    )
    assert {"text", "string", "dynamic import"} <= {note["kind"] for note in report["notes"]}
    assert len(report["files"]) > 10
    assert plain["0-at.diff"] == plain["0-tree.diff"]


@pytest.mark.parametrize("variation", VARIATIONS.values(), ids=VARIATIONS.keys())
def test_every_byte_is_the_same_with(
    variation: Variation, small: Job, plain: dict[str, bytes], tmp_path: Path
) -> None:
    assert_same(run_job(small, variation, tmp_path), plain)


def test_the_patch_is_the_one_that_git_would_print(
    small: Job, plain: dict[str, bytes], tmp_path: Path
) -> None:
    shop = tmp_path / "shop"
    shutil.copytree(small.repositories[0], shop)
    run_git(shop, "reset", "--quiet", "--hard")  # the index knows the copies
    run_git(shop, "apply", "--index", "-", stdin=plain["0-at.diff"])
    printed = run_git(shop, "diff", "--cached", "--full-index", "--no-renames")
    assert printed == plain["0-at.diff"]


# The order in which things are given


class ShuffledTree(MemoryTree):
    """A tree that lists and streams its files in an order of its own."""

    def __init__(self, files: Mapping[str, Blob], seed: int) -> None:
        super().__init__(files)
        self._random = random.Random(seed)  # noqa: S311 - no secret

    def entries(self) -> Mapping[str, int]:
        return dict(self._shuffled(super().entries().items()))

    def _stream(self, paths: list[str]) -> Iterator[tuple[str, bytes]]:
        yield from self._shuffled(super()._stream(paths))

    def _shuffled(self, items: Iterable[Item]) -> list[Item]:
        found = list(items)
        self._random.shuffle(found)
        return found


def outcome_of(plan: str, tree: MemoryTree) -> str:
    """Everything an outcome says, as text; or the refusal."""
    try:
        outcome = apply(parse_plan(plan.encode(), "plan.toml"), tree)
    except Refusal as refusal:
        return str(refusal)
    parts = (
        outcome.sources,
        outcome.destinations,
        outcome.callers,
        outcome.authored,
        outcome.notes,
    )
    return "\n".join([outcome.changes.diff().decode("latin-1"), *map(repr, parts)])


@cache
def in_order() -> tuple[str, ...]:
    """What the built-in repository gives, and each case."""
    cases = [outcome_of(plan_of(case), MemoryTree(case.before)) for case in CASES]
    return outcome_of(PLAN, MemoryTree(FILES)), *cases


def plan_of(case: Case) -> str:
    return f'format = 1\nformatters = "none"\n{case.plan}'


@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_order_of_files_changes_nothing(seed: int) -> None:
    """In CI each case in four orders; elsewhere each in one, and the built-in one in four."""
    built_in, *expected = in_order()
    assert outcome_of(PLAN, ShuffledTree(FILES, seed)) == built_in
    pairs = list(zip(CASES, expected, strict=True))
    for case, outcome in pairs if FULL else pairs[seed::SEEDS]:
        found = outcome_of(plan_of(case), ShuffledTree(case.before, seed))
        assert found == outcome, case.id


def _reordered(plan: str, arrange: Callable[[list[str]], list[str]]) -> str:
    """The plan with its tables in another order; the first source stays the first."""
    head, *tables = plan.replace("\n[", "\n\0[").split("\0")
    first = next(table for table in tables if table.startswith("[[source]]"))
    tables.remove(first)
    return "".join([head, first, *arrange(tables)])


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_a_plan_s_tables_changes_no_file(seed: int) -> None:
    def shuffled(tables: list[str]) -> list[str]:
        random.Random(seed).shuffle(tables)  # noqa: S311 - no secret
        return tables

    def diff_of(plan: str) -> bytes:
        return apply(parse_plan(plan.encode(), "plan.toml"), MemoryTree(FILES)).changes.diff()

    again = _reordered(PLAN, shuffled)
    assert again != PLAN
    assert diff_of(again) == diff_of(PLAN)


# Other interpreters


def interpreter(version: str) -> Path | None:
    """An interpreter of one minor version: on the path, or where pyenv keeps them."""
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    on_path = shutil.which(f"python{version}")
    candidates = [Path(on_path)] if on_path else []
    for candidate in [*candidates, *sorted(root.glob(f"{version}.*/bin/python"))]:
        asked = [str(candidate), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        if done.stdout.strip() == version:
            return candidate
    return None


def environment_of(python: Path, version: str) -> Path:
    """An interpreter's own environment with the base install's dependencies, made once."""
    constraints = (ROOT / "constraints.txt").read_bytes()
    with (ROOT / "pyproject.toml").open("rb") as file:
        wanted: list[str] = tomllib.load(file)["project"]["dependencies"]
    key = hashlib.sha256(constraints + repr(wanted).encode()).hexdigest()[:16]
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "repot"
    place = base / "test-environments" / f"{version}-{key}"
    if not (place / "done").exists():
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run([str(python), "-m", "venv", str(place)], check=True)
        pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        pip += ["--disable-pip-version-check", "-c", str(ROOT / "constraints.txt"), *wanted]
        subprocess.run(pip, check=True)
        (place / "done").touch()
    return place / "bin" / "python"


OTHERS = [
    version
    for version in ("3.10", "3.11", "3.12", "3.13")
    if version != f"{sys.version_info[0]}.{sys.version_info[1]}"
]


@pytest.fixture(scope="module", params=OTHERS)
def other(request: pytest.FixtureRequest) -> Path:
    found = interpreter(request.param)
    if found is None:
        pytest.skip(f"Python {request.param} is not installed")
    return environment_of(found, request.param)


@pytest.mark.registry
def test_every_byte_is_the_same_under_another_interpreter(
    other: Path, small: Job, plain: dict[str, bytes], tmp_path: Path
) -> None:
    found = run_job(small, Variation(), tmp_path, other)
    assert_same(unread(found), unread(plain))


def unread(found: Mapping[str, bytes]) -> dict[str, bytes]:
    """Leave out by which Python the files were read, which a verdict names."""
    return {name: READ_BY.sub(b"", data) for name, data in found.items()}


# The real thing


@pytest.fixture(scope="module")
def proposed() -> Job:
    clone = Path(os.environ["REPOT_HISTORIES"]) / "alphabetc1-sglang.git"
    return Job((str(PROPOSED), str(clone), f"at={BASE}"))


@pytest.fixture(scope="module")
def proposed_plain(proposed: Job, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return run_job(proposed, Variation(), tmp_path_factory.mktemp("proposed"))


@pytest.mark.history
@pytest.mark.parametrize("variation", VARIATIONS.values(), ids=VARIATIONS.keys())
def test_the_real_split_is_the_same_to_the_byte_with(
    variation: Variation, proposed: Job, proposed_plain: dict[str, bytes], tmp_path: Path
) -> None:
    assert_same(run_job(proposed, variation, tmp_path), proposed_plain)


@pytest.mark.history
def test_the_real_split_is_the_same_when_no_result_was_kept(
    proposed: Job, proposed_plain: dict[str, bytes], tmp_path: Path
) -> None:
    """Formatted anew, on one core and on all, it is what the cache of results would give."""
    own = os.environ.get("REPOT_CACHE")
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "repot"
    installed = (Path(own) if own else base) / "formatters" / "installed"
    for one_core in (False, True):
        cache = tmp_path / f"cache{one_core}"
        (cache / "formatters").mkdir(parents=True, mode=0o700)
        (cache / "formatters" / "installed").symlink_to(installed)
        anew = Variation({"REPOT_CACHE": str(cache)}, one_core=one_core)
        assert_same(run_job(proposed, anew, tmp_path / f"run{one_core}"), proposed_plain)


@pytest.mark.history
@pytest.mark.registry
def test_the_real_split_is_the_same_under_another_interpreter(
    other: Path, proposed: Job, proposed_plain: dict[str, bytes], tmp_path: Path
) -> None:
    found = run_job(proposed, Variation(), tmp_path, other)
    assert_same(unread(found), unread(proposed_plain))
