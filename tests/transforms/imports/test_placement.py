"""Where a new import goes in a file that no formatter sorts."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.imports.names import ImportStyle
from transforms.imports.order import sorting_of
from transforms.imports.placement import insertion_point
from transforms.imports.runs import spelled
from transforms.imports.style import infer_style
from transforms.source.imports import find_sites
from transforms.source.module import Module

# Rows: a sentence, the module, the text with `@` where the new statement goes, and the blank lines
# to put before and after it.
ROWS = [
    ("sorted", "b", "from a import x\n@from c import y\n", 0, 0),
    ("first", "a", "@from b import x\nfrom c import y\n", 0, 0),
    ("last", "d", "from b import x\nfrom c import y\n@x = 1\n", 0, 0),
    ("without regard to case", "B", "from a import x\n@from C import y\nfrom d import z\n", 0, 0),
    ("behind plain imports", "a", "import b\nimport c\n@from d import x\n", 0, 0),
    ("by module", "b", "import a\n@from c import x\nimport d\n", 0, 0),
    ("in no order: behind its own", "os.path", "import re\nimport os\n@\nimport zzz\n", 0, 0),
    ("the nearest", "p.b", "from z import y\nfrom p.a import x\n@from k import z\n", 0, 0),
    ("in no order, near none", "q", "@from .z import y\nfrom .p import x\ny = 1\n", 0, 1),
    ("undivided sections", "b", "import a\nimport c\n@from . import d\nfrom .b import e\n", 0, 0),
    ("its section", "json", "import os\n@\nimport torch\n\nfrom .a import b\n", 0, 0),
    ("third party", "torch", "import os\n\nimport numpy\n@\nfrom .a import b\n", 0, 0),
    ("third party before first party", "a", "@from b import x\n\nfrom httpx import y\n", 0, 0),
    ("relative", ".b", "import os\n\nimport numpy\n\nfrom .a import b\n@", 0, 0),
    ("farther relatives first", "..a", "import os\n\n@from .a import b\nfrom .b import c\n", 0, 0),
    ("a new first section", "os", "@import numpy\nimport torch\n", 0, 1),
    ("a new section between", "numpy", "import os\n@\nfrom .a import b\n", 1, 0),
    ("a new last section", ".a", "import os\n@\nx = 1\n", 1, 0),
    ("sections two lines apart", "numpy", "import os\n@\n\nfrom .a import b\n", 2, 0),
    ("undivided", "json", "from abc import a\n@from numpy import b\nfrom os import c\n", 0, 0),
    ("below a docstring", "os", '"""Doc."""\n@\nx = 1\n', 1, 0),
    ("below `__future__`", "os", '"""D."""\nfrom __future__ import annotations\n@\nx = 1\n', 1, 0),
    ("not among `__future__`", "a", "from __future__ import x\n\n@from b import y\n", 0, 0),
    ("below a licence", "os", "# licence\n\n@x = 1\n", 0, 1),
    ("two lines before a definition", "os", "@def f():\n    pass\n", 0, 2),
    ("above a decorator", "os", "@@a\ndef f():\n    pass\n", 0, 2),
    ("an empty file", "os", "@", 0, 0),
    ("below a section's heading", "a", "# Third party\n@from b import x\nfrom c import y\n", 0, 0),
    ("above a comment", "a", "@# b is slow\nfrom b import x\nfrom c import y\n", 0, 0),
    ("below a shebang", "a", "#!/usr/bin/python\n@from b import x\nfrom c import y\n", 0, 0),
    ("behind several lines", "b", "from a import (\n    x,\n)\n@from c import y\n", 0, 0),
    ("behind a semicolon", "b", "import a; x = (\n    1)\n@", 0, 0),
    ("before a semicolon", "a", "@x = (\n    1); from b import y; from c import z\n", 0, 0),
    ("behind a backslash", "b", "from a import x\\\n\n@from c import y\n", 0, 0),
    ("no line end at the end", "b", "from a import x@", 0, 0),
    ("at the head, not below", "b", "from a import x\n@\ny = 1\n\nfrom b import z\n", 0, 0),
    ("not at the head", "b", "y = 1\n\nfrom b import z\n@", 0, 0),
    (
        "in the nearest run of the head",
        "b",
        "from a import x\n\nif x:\n    from q import y\n\n@from b.c import z\n",
        0,
        0,
    ),
    ("Windows line ends", "b", "from a import x\r\n@from c import y\r\n", 0, 0),
    ("a form feed is no line end", "b", "# \x0c \u2028\nfrom a import x\n@from c import y\n", 0, 0),
]


def parsed(text: str) -> Module:
    return Module("app.py", text.encode())


@pytest.mark.parametrize(
    ("module", "marked", "before", "after"), [pytest.param(*row[1:], id=row[0]) for row in ROWS]
)
def test_insertion_point(module: str, marked: str, before: int, after: int) -> None:
    offset = marked.index("@")
    found = parsed(marked.replace("@", "", 1))
    style = infer_style(found, find_sites(found, ""))
    point = insertion_point(found, module, style)
    assert (point.offset, point.blank_before, point.blank_after) == (offset, before, after)
    assert [*found.line_starts, len(found.text)][point.line - 1] == offset


def test_a_plain_import_among_plain_imports() -> None:
    found = parsed("import a\nimport c\nfrom b import x\n")
    point = insertion_point(found, "b", ImportStyle(), plain=True)
    assert point.line == 2


def test_first_party_modules_have_a_section_of_their_own() -> None:
    found = parsed("import numpy\n\nimport ours\n")
    mine = insertion_point(found, "our_other", ImportStyle(), first_party=["ours", "our_other"])
    third = insertion_point(found, "torch", ImportStyle(), first_party=["ours"])
    assert (mine.line, third.line) == (4, 2)


def test_a_block_inside_a_function() -> None:
    text = "import z\n\ndef f():\n    from a import x\n    from c import y\n    return x, y\n"
    found = parsed(text)
    function = found.tree.body[1]
    assert isinstance(function, ast.FunctionDef)
    point = insertion_point(found, "b", ImportStyle(), block=function.body)
    assert point.line == 5


@given(st.lists(st.sampled_from(["a", "B", "c.d", ".e", "..f", "g10", "g9"]), max_size=6))
def test_a_statement_put_in_its_place_keeps_the_order(modules: list[str]) -> None:
    text = ""
    for module in modules:
        point = insertion_point(parsed(text), module, ImportStyle(section_gap=0))
        text = text[: point.offset] + f"from {module} import x\n" + text[point.offset :]
    nodes = [site.node for site in find_sites(parsed(text), "")]
    assert len(nodes) == len(modules)
    assert sorting_of(spelled(nodes), ImportStyle())
