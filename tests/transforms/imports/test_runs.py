"""Import statements as they stand in a module."""

from __future__ import annotations

from transforms.imports.runs import statement_text
from transforms.source.imports import find_sites
from transforms.source.module import Module


def test_texts_of_statements_have_their_comments() -> None:
    text = 'if é:\n\timport a, \\\n\t\tb  # why  \nx = "ü"; from m import (c); y = 1 # x\nimport d'
    module = Module("app.py", text.encode())
    found = [statement_text(module, site.node) for site in find_sites(module, "")]
    assert found == [
        ("import a, \\\n\t\tb  # why", "\t"),
        ("from m import (c)", ""),
        ("import d", ""),
    ]
