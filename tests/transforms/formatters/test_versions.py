"""The table of versions is whole, and reading it by lines gives what TOML gives."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from transforms.errors import Refusal
from transforms.formatters.registry import projects
from transforms.formatters.versions import TABLE, beside, is_ours, known, needs, order, pins

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

WHOLE = tomllib.loads(TABLE.read_text(encoding="utf-8"))
RELEASES = [(project, version) for project in sorted(projects()) for version in known(project)]


def test_every_program_has_its_versions() -> None:
    needed = {name for tool in projects().values() for pins in tool.needs.values() for name in pins}
    assert set(WHOLE["wheels"]) == set(projects()) | needed
    for project, tool in projects().items():
        assert list(known(project)) == list(WHOLE["wheels"][project])
        assert list(known(project)) == sorted(known(project), key=order)
        assert order(known(project)[0]) >= order(tool.oldest)


@pytest.mark.parametrize(
    ("project", "version"),
    [("isort", "5.0.0"), ("isort", "5.10.1"), ("isort", "7.0.0"), ("isort", "9.0.0b1"),
     ("black", "22.1.0"), ("black", "24.1a1"), ("black", "26.1.0"),
     ("ruff", "0.1.15"), ("ruff", "0.15.1"), ("usort", "1.0.8.post1")],
)  # fmt: skip
def test_the_table_has(project: str, version: str) -> None:
    assert version in known(project)


def test_what_is_installed_has_a_hash_for_every_wheel() -> None:
    for project, version in RELEASES:
        found = {pin.project: pin for pin in pins(project, version)}
        assert next(iter(needs(project, version).items())) == (project, version)
        for name, pin in found.items():
            assert re.fullmatch(r"[0-9.]+((a|b|rc)\d+)?(post\d+)?", pin.version)
            wheels = WHOLE["wheels"][name][pin.version]
            assert sorted(pin.hashes) == sorted(wheels.values())
            assert all(re.fullmatch("[0-9a-f]{64}", value) for value in pin.hashes)


def test_what_a_version_needs_is_what_the_table_says_from_that_version_on() -> None:
    assert needs("isort", "7.0.0") == {"isort": "7.0.0"}
    assert "toml" in needs("isort", "5.0.0")
    assert "mypy-extensions" not in needs("isort", "9.0.0b1")
    assert "mypy-extensions" in needs("isort", "9.0.2")
    assert needs("black", "22.1.0")["click"] != needs("black", "22.3.0")["click"]
    assert "pytokens" not in needs("black", "25.1.0")
    assert "pytokens" in needs("black", "26.1.0")
    stated = {project: tool.needs for project, tool in projects().items() if tool.needs}
    assert WHOLE["needs"] == stated


def test_releases_are_in_order() -> None:
    assert order("1.0.8") < order("1.0.8.post1") < order("1.1.0")
    assert order("9.2.0") < order("22.1.0")
    assert order("0.0.292") < order("0.1.0")
    assert order("24.1a1") < order("24.1rc2") < order("24.1") == order("24.1.0") < order("24.2")


MINE = f"""
# Written by `python -m transforms.formatters.refresh`; one release is one line.

[needs.isort]
"99.0.0" = {{ "toml" = "0.10.2" }}

[wheels.isort]
"7.0.0" = {{ "py3-none-any" = "{"1" * 64}" }}
"99.0.0" = {{ "py3-none-any" = "{"2" * 64}" }}

[wheels.toml]
"0.10.2" = {{ "py2.py3-none-any" = "{"3" * 64}" }}
"""


def test_a_table_of_the_user_s_is_beside_ours_while_it_is_named(tmp_path: Path) -> None:
    table = tmp_path / "newer.toml"
    table.write_text(MINE, encoding="utf-8")
    ours = pins("isort", "7.0.0")
    with beside(table):
        assert "99.0.0" in known("isort")
        assert pins("isort", "7.0.0") == ours
        assert [(p.project, p.version, p.hashes) for p in pins("isort", "99.0.0")] == [
            ("isort", "99.0.0", ("2" * 64,)),
            ("toml", "0.10.2", ("3" * 64,)),
        ]
        assert (is_ours("isort", "7.0.0"), is_ours("isort", "99.0.0")) == (True, False)
    assert "99.0.0" not in known("isort")


@pytest.mark.parametrize(
    "text", ["", "[tool.x]\na = 1\n", '[wheels.isort]\n"99.0.0" = { "py3" = "https://x" }\n']
)
def test_another_file_is_no_table(text: str, tmp_path: Path) -> None:
    table = tmp_path / "other.toml"
    if text:
        table.write_text(text, encoding="utf-8")
    with pytest.raises(Refusal, match="refresh FILE"), beside(table):
        pass


def test_our_own_table_is_one() -> None:
    with beside(TABLE):
        assert known("isort")


def test_the_table_names_no_host() -> None:
    text = TABLE.read_text(encoding="utf-8")
    assert "://" not in text
    assert "@" not in text
