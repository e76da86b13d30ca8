"""What configuration files say about imports."""

from __future__ import annotations

import pytest

from tests.transforms.test_style import traits
from transforms.imports import ImportStyle
from transforms.style_config import configured


@pytest.mark.parametrize(
    ("sentence", "name", "text", "width", "expected"),
    [
        ("nothing", "pyproject.toml", "", None, {}),
        ("Black's default", "pyproject.toml", "[tool.black]\n", 88, {}),
        ("Black's line length", "pyproject.toml", "[tool.black]\nline-length = 99\n", 99, {}),
        ("Ruff's default", "ruff.toml", "line-length = 110\n", 110, {}),
        ("Ruff's table", "pyproject.toml", "[tool.ruff]\nline-length = 120\n", 120, {}),
        (
            "isort goes before Black",
            "pyproject.toml",
            "[tool.black]\nline-length = 99\n[tool.isort]\nline_length = 79\n",
            79,
            {},
        ),
        ("isort in its own file", ".isort.cfg", "[settings]\nline_length=79\n", 79, {}),
        ("isort in setup.cfg", "setup.cfg", "[tool:isort]\nline_length=100\n", 100, {}),
        ("isort in tox.ini", "tox.ini", "[isort]\nline_length=100\n", 100, {}),
        ("flake8", ".flake8", "[flake8]\nmax-line-length = 100\n", 100, {}),
        ("yapf", ".style.yapf", "[style]\ncolumn_limit = 80\n", 80, {}),
        ("EditorConfig", ".editorconfig", "root = true\n[*.py]\nmax_line_length = 90\n", 90, {}),
        ("EditorConfig of others", ".editorconfig", "[*.md]\nmax_line_length = 90\n", None, {}),
        ("a length that is none", "setup.cfg", "[flake8]\nmax-line-length = off\n", None, {}),
        ("a length beyond sense", "setup.cfg", "[flake8]\nmax-line-length = 99999\n", None, {}),
        (
            "a grid",
            "setup.cfg",
            "[isort]\nmulti_line_output = 0\n",
            None,
            {"wrap": "grid", "trailing_comma": False},
        ),
        (
            "hanging rows with a glued bracket",
            "setup.cfg",
            "[isort]\nmulti_line_output = 4\n",
            None,
            {"wrap": "hanging", "trailing_comma": False, "closing_on_own_line": False},
        ),
        (
            "a trailing comma",
            "setup.cfg",
            "[isort]\nmulti_line_output = 5\ninclude_trailing_comma = True\n",
            None,
            {"wrap": "hanging"},
        ),
        (
            "one name a statement, in Ruff",
            "pyproject.toml",
            "[tool.ruff.lint.isort]\nforce-single-line = true\n",
            88,
            {"one_name_per_statement": True},
        ),
        (
            "the orders",
            "pyproject.toml",
            "[tool.isort]\norder_by_type = false\nforce_sort_within_sections = true\n",
            None,
            {"name_order": "case-insensitive", "statement_order": "by module"},
        ),
        (
            "Google's profile",
            "pyproject.toml",
            '[tool.isort]\nprofile = "google"\n',
            None,
            {"one_name_per_statement": True, "statement_order": "by module"},
        ),
        ("broken TOML", "pyproject.toml", "[tool.black\nline-length = 99\n", None, {}),
        ("broken INI", "setup.cfg", "line_length = 3\n[isort\n", None, {}),
        ("a table that is none", "pyproject.toml", "tool = 3\n", None, {}),
        ("a value that is none", "pyproject.toml", "[tool]\nblack = [1]\nruff = 2\n", None, {}),
        ("no text", "setup.cfg", "\x00\xff[", None, {}),
    ],
)
def test_configured(
    sentence: str, name: str, text: str, width: int | None, expected: dict[str, object]
) -> None:
    found = configured({name: text.encode("latin-1")}, ImportStyle())
    assert (found.width, traits(found.style)) == (width, expected), sentence
