"""The style that a file's own import statements show."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields

import pytest

from transforms.imports.statement import ImportStyle
from transforms.imports.style import infer_style
from transforms.source.imports import find_sites
from transforms.source.module import Module

EXPLODED = "from m import (\n    a,\n    b,\n)\n"
GRID = "from module import (alpha, zeta,\n                    beta)\n"
HANGING = "from m import (\n    b, a,\n    c,\n)\n"
BACKSLASH = "from m import b, a, \\\n    c\n"
LONG_NAMES = ", ".join(f"quite_a_long_name_{letter}" for letter in "abc")  # 61 characters


def inferred(text: str, default: ImportStyle | None = None) -> ImportStyle:
    module = Module("app.py", text.encode())
    return infer_style(module, find_sites(module, ""), default)


def traits(style: ImportStyle) -> dict[str, object]:
    """The traits of a style that are not the default's."""
    default = ImportStyle()
    found = {field.name: getattr(style, field.name) for field in fields(style)}
    return {name: value for name, value in found.items() if value != getattr(default, name)}


@pytest.mark.parametrize(
    ("sentence", "text", "expected"),
    [
        ("an empty file shows nothing", "", {}),
        ("a file without imports shows nothing", "x = 1\n", {}),
        ("one line shows nothing", "from m import a, b\n", {}),
        ("one name a line", EXPLODED, {}),
        (
            "one name a line without trailing comma",
            "from m import (\n    a,\n    b\n)\n",
            {"trailing_comma": False},
        ),
        (
            "a glued bracket",
            "from m import (\n    a,\n    b)\n",
            {"trailing_comma": False, "closing_on_own_line": False},
        ),
        (
            "a grid",
            GRID,
            {
                "wrap": "grid",
                "trailing_comma": False,
                "closing_on_own_line": False,
                "sorted_names": False,
            },
        ),
        ("hanging rows", HANGING, {"wrap": "hanging", "sorted_names": False}),
        (
            "backslashes",
            BACKSLASH,
            {
                "wrap": "backslash",
                "trailing_comma": False,
                "closing_on_own_line": False,
                "sorted_names": False,
            },
        ),
        ("the most frequent wrap", EXPLODED + EXPLODED + GRID, {}),
        ("imports inside functions count", f"def f():\n  {BACKSLASH}\n", {
            "wrap": "backslash",
            "trailing_comma": False,
            "closing_on_own_line": False,
            "sorted_names": False,
            "indent_unit": "  ",
        }),
        ("names in no order", "from m import c, a, b\n", {"sorted_names": False}),
        (
            "names in code point order",
            "from m import AD, AZZ, Ab\nfrom n import Base, CONST, f\n",
            {"name_order": "case-sensitive"},
        ),
        (
            "names without regard to case",
            "from m import alpha, Beta, gamma\nfrom n import a, B\n",
            {"name_order": "case-insensitive"},
        ),
        (
            "one name a statement",
            "from m import a\nfrom m import b\nfrom m import c\n",
            {"one_name_per_statement": True},
        ),
        (
            "one name a statement, but for one",
            "from m import a\nfrom m import b\nfrom m import c\nfrom n import d, e\n",
            {},
        ),
        ("tabs", "def f():\n\treturn 1\n", {"indent_unit": "\t"}),
        ("two blanks", "if x:\n  y = 1\nclass A:\n  pass\n", {"indent_unit": "  "}),
        (
            "from-imports before others",
            "from a import x\nimport b\n",
            {"statement_order": "from first"},
        ),
        (
            "both kinds in one order",
            "import a\nfrom b import x\nimport c\nfrom d import y\n",
            {"statement_order": "by module"},
        ),
        ("capitals before others", "import B\nimport a\n", {"ignore_module_case": False}),
        (
            "statements in no order",
            "import z\nimport b\nimport m\n\nimport d\nimport c\n",
            {"sorted_statements": False},
        ),
        ("sections two lines apart", "import a\n\n\nimport b\n", {"section_gap": 2}),
        (
            "imports to column 100",
            f"from some_module_of_it import {LONG_NAMES}\n",
            {"width": 100},
        ),
        (
            "a grid filled to column 79",
            "from module import (alpha_function, beta_function, delta_function,\n"
            "                    epsilon_function, gamma_function, kappa_function,\n"
            "                    lambda_function)\n",
            {
                "wrap": "grid",
                "width": 79,
                "trailing_comma": False,
                "closing_on_own_line": False,
            },
        ),
        ("lines that end just below 80", f"{'x' * 75} = 1\n" * 6, {"width": 79}),
        ("many lines of 100", f"{'x' * 96} = 1\n" * 6, {"width": 100}),
        ("a few long lines", f"{'x' * 95} = 1\n" * 3 + "y = 1\n" * 400, {}),
    ],
)  # fmt: skip
def test_inferred(sentence: str, text: str, expected: dict[str, object]) -> None:
    assert traits(inferred(text)) == expected, sentence


def test_line_ends_are_python_s() -> None:
    text = (
        "# a form feed \x0c and a line separator \u2028 end no line\r\nfrom m import (b, \\\r  a)\r"
    )
    assert inferred(text).wrap == "grid"


def test_what_a_file_does_not_show_comes_from_its_neighbour() -> None:
    neighbour = ImportStyle(width=120, wrap="hanging", indent_unit="\t", section_gap=2)
    assert inferred("import a\n", neighbour) == neighbour


def test_a_name_of_thousands_of_parts_shows_what_any_other_does() -> None:
    text = "import a, \\\n    " + ".".join(["b"] * 3_000) + "\n"
    assert inferred(text).wrap == "backslash"


def test_what_is_looked_at_only_does_not_load_libcst() -> None:
    told = (
        "import sys\n"
        "from transforms.imports.document import Document\n"
        f"document = Document('app.py', {GRID!r}.encode(), '', sorter=False)\n"
        "assert document.style.wrap == 'grid'\n"
        "assert document.editor.look(document.editor.sites[0]).pragma is None\n"
        "assert 'libcst' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", told], check=True)
