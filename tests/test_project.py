"""What the project's own files promise to each other."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.imported import imports

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
# And what each may import of these and of torch.
PACKAGES = {
    "transforms": set[str](),
    "verify": {"transforms"},
    "hicache": {"torch"},
    "repot": set[str](),  # which is installed, and starts the engine without importing it
}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins() -> dict[str, set[str]]:
    """Give each pinned version by normalized name; several where markers choose."""
    found: dict[str, set[str]] = {}
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        requirement = line.partition("#")[0].partition(";")[0].strip()
        if requirement:
            name, version = requirement.split("==")
            found.setdefault(normal(name), set()).add(version)
    return found


def requirements() -> list[str]:
    project = PROJECT["project"]
    extras = project["optional-dependencies"].values()
    every = [*project["dependencies"], *(item for extra in extras for item in extra)]
    return [item for item in every if not item.startswith("repot[")]  # one extra brings another


def test_every_requirement_is_pinned() -> None:
    names = {normal(re.match(r"[\w.-]+", item)[0]) for item in requirements()}  # type: ignore[index]
    assert names <= set(pins())


def test_what_is_exact_in_the_project_is_the_same_in_the_constraints() -> None:
    exact = dict(item.split("==") for item in requirements() if re.fullmatch(r"[\w-]+==\S+", item))
    assert exact
    assert {name: {version} for name, version in exact.items()} == {
        name: pins()[name] for name in exact
    }


def test_pre_commit_runs_the_ruff_that_lint_runs() -> None:
    text = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert set(re.findall(r"rev: v(\S+)", text)) == pins()["ruff"]


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_import_one_way_and_only_the_cache_imports_torch(package: str) -> None:
    barred = {"torch", *PACKAGES} - {package} - PACKAGES[package]
    for path in sorted((ROOT / package).rglob("*.py")):
        for line, module, _ in imports(path):
            assert module.partition(".")[0] not in barred, f"{path.relative_to(ROOT)}:{line}"
