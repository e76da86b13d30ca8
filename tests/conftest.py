"""What every test run shares: which tests it leaves out and says so, and a quiet environment."""

from __future__ import annotations

import gc
import importlib.util
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

LEFT_OUT = pytest.StashKey[Counter[str]]()

HAS_TORCH = importlib.util.find_spec("torch") is not None

# What takes longest and does not hang on the interpreter: CI runs it on one of them.
THOROUGH = tuple(
    f"tests/{path}"
    for path in (
        "benchmarks/",
        "test_conftest.py",
        "hicache/test_radix_tree_machine.py",
        "pool_host/test_round_trips.py",
        "pool_host/test_slot_machine.py",
        "transforms/callers/test_run.py",
        "transforms/test_determinism.py",
        "transforms/formatters/",
        "transforms/imports/test_properties.py",
        "transforms/write/",
        "transforms/test_release_files.py",
        "transforms/test_whole_moves.py",
        "verify/bundle/test_script.py",
        "verify/bundle/test_build.py::test_every_interpreter_here_builds_the_same",
        "verify/bundle/test_build.py::test_is_the_same_under",
        "verify/bundle/test_releases.py",
        "verify/certificate/test_properties.py",
        "verify/carry/",
        "verify/ci/",
        "verify/hostile/test_contents.py",
        "verify/hostile/test_git.py",
        "verify/hostile/test_metamorphic.py",
        "verify/hostile/test_nothing_runs.py",
        "verify/hostile/test_proofs.py",
        "verify/hostile/test_repositories.py",
        "verify/mutants/",
        "verify/report/page/",
        "verify/ancestry/test_measure.py",
        "verify/proofs/test_certified_moves.py",
        "verify/inference/test_inferred_moves.py",
        "verify/origin/test_properties.py",
        "verify/ancestry/test_origins.py",
        "verify/review/test_review.py",
    )
)

# A run inside a git hook would otherwise act on the repository that runs the hook, and a person's
# own configuration would decide what tests see.
_GIT_PLACES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX")
_QUIET = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_AUTHOR_NAME": "Repot tests",
    "GIT_AUTHOR_EMAIL": "tests@repot.invalid",
    "GIT_COMMITTER_NAME": "Repot tests",
    "GIT_COMMITTER_EMAIL": "tests@repot.invalid",
}

# Machines are shared and slow at times: no deadline. CI repeats itself; elsewhere chance explores,
# with a third of the examples (`tests.effort` has those of tests that name their number).
settings.register_profile("local", deadline=None, max_examples=33)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LEFT_OUT] = Counter()
    for name in (*_GIT_PLACES, "NO_COLOR", "FORCE_COLOR", "REPOT_TRACEBACK"):
        os.environ.pop(name, None)
    os.environ.update(_QUIET)
    # What pip installs for one test is imported once, and not the whole of it.
    os.environ["PIP_COMPILE"] = "0"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what this machine cannot run, counted by reason; begin with what takes long."""
    reasons: dict[str, str | None] = {}
    kept, left_out = [], []
    for item in items:
        if item.nodeid.startswith(THOROUGH):
            item.add_marker("thorough")
        marks = [name for name in _NEEDS if item.get_closest_marker(name)]
        for name in marks:
            if name not in reasons:
                reasons[name] = _NEEDS[name]()
        missing = next((name for name in marks if reasons[name]), None)
        if missing is None:
            kept.append(item)
        else:
            left_out.append(item)
            config.stash[LEFT_OUT][f"{missing} ({reasons[missing]})"] += 1
    if left_out:
        config.hook.pytest_deselected(items=left_out)
    # Modules that install are the longest, and wait for the index: first, and whole, since they
    # share what they install. So nobody who shares the tests is left with one of them at the end.
    installing = {item.path for item in kept if item.get_closest_marker("registry")}
    items[:] = sorted(kept, key=lambda item: item.path not in installing)


def pytest_collection_finish() -> None:
    """Spare every later search for garbage the modules and tests that stay to the end."""
    gc.collect()
    gc.freeze()


def without_torch(path: Path, config: pytest.Config, package: str) -> bool | None:
    """Leave out, and count, a module of a package's tests where there is no torch."""
    if HAS_TORCH or not path.name.startswith("test_"):
        return None
    config.stash[LEFT_OUT][f"modules of {package} (torch is not installed)"] += 1
    return True


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell the process that reports, where several share the tests."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        counts = session.config.stash[LEFT_OUT]
        output["left out"] = dict(counts)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what one process left out: each collects all the tests."""
    config: pytest.Config = node.config
    told: dict[str, int] = getattr(node, "workeroutput", {}).get("left out", {})
    for reason, number in told.items():
        config.stash[LEFT_OUT][reason] = number


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    counts = config.stash[LEFT_OUT]
    if counts:
        words = ", ".join(f"{number} {reason}" for reason, number in sorted(counts.items()))
        terminalreporter.write_line(f"left out: {words}")


def _history() -> str | None:
    folder = os.environ.get("REPOT_HISTORIES")
    if not folder:
        return "REPOT_HISTORIES not set"
    if not Path(folder).is_dir():
        raise pytest.UsageError(f"REPOT_HISTORIES={folder} is no folder")
    return None


def _registry() -> str | None:
    """Ask the index for one small file, unless REPOT_REGISTRY says yes (1) or no (0)."""
    wanted = os.environ.get("REPOT_REGISTRY")
    if wanted is not None:
        return None if wanted == "1" else f"REPOT_REGISTRY={wanted}"
    command = [sys.executable, "-m", "pip", "index", "versions", "iniconfig"]
    options = ["--disable-pip-version-check", "--no-input", "--timeout=3", "--retries=0"]
    try:
        done = subprocess.run([*command, *options], capture_output=True, timeout=10, check=False)
    except subprocess.TimeoutExpired:
        return "the package index is slow"
    return "the package index does not answer" if done.returncode else None


def _system() -> str | None:
    return None if os.environ.get("REPOT_SYSTEM") == "1" else "REPOT_SYSTEM not set"


def _thorough() -> str | None:
    return "REPOT_THOROUGH=0" if os.environ.get("REPOT_THOROUGH") == "0" else None


_NEEDS: dict[str, Callable[[], str | None]] = {
    "history": _history,
    "registry": _registry,
    "system": _system,
    "thorough": _thorough,
}
