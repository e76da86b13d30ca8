"""Where a new import goes in a file that no formatter sorts."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.import_runs import (
    STANDARD_LIBRARY,
    Lines,
    import_nodes,
    insertion_point,
    section_of,
    sorting_of,
    spelled,
    statement_text,
)
from transforms.style import ImportStyle, infer_style

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


@pytest.mark.parametrize(
    ("module", "marked", "before", "after"), [pytest.param(*row[1:], id=row[0]) for row in ROWS]
)
def test_insertion_point(module: str, marked: str, before: int, after: int) -> None:
    offset = marked.index("@")
    text = marked.replace("@", "", 1)
    tree = ast.parse(text)
    point = insertion_point(text, tree, module, infer_style(text, tree))
    assert (point.offset, point.blank_before, point.blank_after) == (offset, before, after)
    assert Lines(text).start(point.line) == offset


def test_a_plain_import_among_plain_imports() -> None:
    text = "import a\nimport c\nfrom b import x\n"
    point = insertion_point(text, ast.parse(text), "b", ImportStyle(), plain=True)
    assert point.line == 2


def test_first_party_modules_have_a_section_of_their_own() -> None:
    text = "import numpy\n\nimport ours\n"
    tree = ast.parse(text)
    mine = insertion_point(
        text, tree, "our_other", ImportStyle(), first_party=["ours", "our_other"]
    )
    third = insertion_point(text, tree, "torch", ImportStyle(), first_party=["ours"])
    assert (mine.line, third.line) == (4, 2)


def test_a_block_inside_a_function() -> None:
    text = "import z\n\ndef f():\n    from a import x\n    from c import y\n    return x, y\n"
    tree = ast.parse(text)
    function = tree.body[1]
    assert isinstance(function, ast.FunctionDef)
    point = insertion_point(text, tree, "b", ImportStyle(), block=function.body)
    assert point.line == 5


@pytest.mark.parametrize(
    ("module", "section"),
    [("__future__", 0), ("os.path", 1), ("tomllib", 1), ("distutils", 1), ("torch", 2), (".os", 4)],
)
def test_sections(module: str, section: int) -> None:
    assert section_of(module) == section
    assert section_of(module, ["torch"]) == (3 if module == "torch" else section)


def test_the_standard_library_is_that_of_every_supported_version() -> None:
    assert {"os", "asyncore", "imp", "tomllib", "telnetlib", "distutils"} <= STANDARD_LIBRARY


def test_texts_of_statements_have_their_comments() -> None:
    text = 'if é:\n\timport a, \\\n\t\tb  # why  \nx = "ü"; from m import (c); y = 1 # x\nimport d'
    lines = Lines(text)
    found = [statement_text(lines, node) for node in import_nodes(ast.parse(text))]
    assert found == [
        ("import a, \\\n\t\tb  # why", "\t"),
        ("from m import (c)", ""),
        ("import d", ""),
    ]


@given(st.lists(st.sampled_from(["a", "B", "c.d", ".e", "..f", "g10", "g9"]), max_size=6))
def test_a_statement_put_in_its_place_keeps_the_order(modules: list[str]) -> None:
    text = ""
    for module in modules:
        tree = ast.parse(text)
        point = insertion_point(text, tree, module, ImportStyle(section_gap=0))
        text = text[: point.offset] + f"from {module} import x\n" + text[point.offset :]
    nodes = list(import_nodes(ast.parse(text)))
    assert len(nodes) == len(modules)
    assert sorting_of(spelled(nodes), ImportStyle())
