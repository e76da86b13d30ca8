"""Import statements found wherever they stand, and edited without touching their neighbours."""

from __future__ import annotations

import pytest

from transforms.imports.document import Document
from transforms.imports.statement import ImportedName
from transforms.source.imports import Site


def document(text: str, package: str = "shop") -> Document:
    return Document("shop/app.py", text.encode(), package, sorter=False)


def only_site(doc: Document, module: str) -> Site:
    return next(site for site in doc.editor.sites if site.target == module)


SITES = {
    "at the top": ("from a import b\n", ["import a"]),
    "plain": ("import a.b as c, d\n", ["import None"]),
    "by dots": (
        "from . import a\nfrom .b import c\nfrom .. import d\n",
        ["import shop", "import shop.b", "import "],
    ),
    "by too many dots": ("from .... import a\n", ["import None"]),
    "star": ("from a import *\n", ["star import a"]),
    "in a function": ("def f():\n    from a import b\n", ["local import a"]),
    "in a class": ("class C:\n    from a import b\n", ["local import a"]),
    "for type checkers": ("if TYPE_CHECKING:\n    from a import b\n", ["type-checking import a"]),
    "for type checkers, qualified": (
        "if t.TYPE_CHECKING:\n    from a import b\n",
        ["type-checking import a"],
    ),
    "for type checkers, with an else": (
        "if TYPE_CHECKING:\n    from a import b\nelse:\n    from c import d\n",
        ["guarded import a", "guarded import c"],
    ),
    "in all parts of a try": (
        "try:\n    from a import b\nexcept A:\n    from c import d\n"
        "else:\n    from e import f\nfinally:\n    from g import h\n",
        ["guarded import a", "guarded import c", "guarded import e", "guarded import g"],
    ),
    "in cases": (
        "match x:\n    case 1:\n        from a import b\n    case _:\n        from c import d\n",
        ["guarded import a", "guarded import c"],
    ),
}


@pytest.mark.parametrize(("text", "expected"), SITES.values(), ids=SITES.keys())
def test_sites_are_found_in_order(text: str, expected: list[str]) -> None:
    assert [f"{site.kind} {site.target}" for site in document(text).editor.sites] == expected


def test_a_chain_of_a_thousand_branches_is_no_recursion() -> None:
    text = "if a:\n    pass\n" + "elif b:\n    from a import b\n" * 80
    assert len(document(text).editor.sites) == 80


DELETED = {
    "the only statement of a suite": ("def f():\n    from m import a\n", "def f():\n    pass\n"),
    "the only one, with its comment": (
        "def f():\n    from m import a  # why\n",
        "def f():\n    pass  # why\n",
    ),
    "the first of a suite, and the gap behind it": (
        "def f():\n    from m import a\n\n    return a\n",
        "def f():\n    return a\n",
    ),
    "one below a docstring": (
        'def f():\n    """Doc."""\n\n    from m import a\n\n    return a\n',
        'def f():\n    """Doc."""\n\n    return a\n',
    ),
    "one in front of a semicolon": ("from m import a; x = 1\n", "x = 1\n"),
    "one behind a semicolon": ("x = 1; from m import a\n", "x = 1\n"),
    "one between semicolons": ("x = 1; from m import a; y = 2\n", "x = 1; y = 2\n"),
    "one before a last semicolon": ("x = 1; from m import a;\n", "x = 1;\n"),
    "one on the line of its suite": ("if x: from m import a\n", "if x: pass\n"),
    "one on the line of a longer suite": ("if x: from m import a; y = 1\n", "if x: y = 1\n"),
    "the whole file": ("from m import a\n", ""),
    "one without a line end": ("x = 1\nfrom m import a", "x = 1\n"),
    "one over several lines": ("from m import (\n    a,\n)\nx = 1\n", "x = 1\n"),
    "one with a backslash": ("from m \\\n    import a\nx = 1\n", "x = 1\n"),
}


@pytest.mark.parametrize(("before", "after"), DELETED.values(), ids=DELETED.keys())
def test_a_statement_that_lost_all_names_goes(before: str, after: str) -> None:
    doc = document(before)
    doc.editor.remove(only_site(doc, "m"), ImportedName("a"))
    assert doc.finish().decode() == after


def test_names_leave_join_and_change_their_module_in_one_edit() -> None:
    doc = document("from m import a, b, d  # why\n")
    site = only_site(doc, "m")
    doc.editor.remove(site, ImportedName("a"))
    doc.editor.add(site, "m", "m", ImportedName("c"), None)
    doc.editor.replace(site, ImportedName("b"), ImportedName("b", "e"))
    doc.editor.rename(site, "n", "n")
    assert doc.finish() == b"from n import b as e, c, d  # why\n"


def test_a_name_is_added_once() -> None:
    doc = document("from m import a\nfrom n import b\n")
    for _ in range(2):
        doc.editor.add(only_site(doc, "n"), "m", "m", ImportedName("c"), None)
        doc.editor.add(only_site(doc, "n"), "o", "o", ImportedName("d"), None)
        doc.editor.add_plain(only_site(doc, "n"), ImportedName("p"))
    assert doc.finish() == b"import p\nfrom m import a, c\nfrom n import b\nfrom o import d\n"


def test_a_new_statement_of_a_sorted_run_keeps_to_its_group() -> None:
    doc = document("import os\n\nfrom b import x\nfrom d import y\n\nfrom f import z\n")
    doc.editor.add(only_site(doc, "d"), "e", "e", ImportedName("w"), None)
    doc.editor.add(only_site(doc, "b"), "c", "c", ImportedName("v"), None)
    assert doc.finish().decode() == (
        "import os\n\nfrom b import x\nfrom c import v\nfrom d import y\nfrom e import w\n\n"
        "from f import z\n"
    )


def test_a_sorter_afterwards_makes_the_place_of_no_account() -> None:
    doc = Document("app.py", b"from b import x\nfrom d import y\n", "", sorter=True)
    doc.editor.add(only_site(doc, "d"), "a", "a", ImportedName("w"), None)
    assert doc.finish() == b"from b import x\nfrom d import y\nfrom a import w\n"


def test_the_marker_of_a_star_import_is_not_copied_for_its_star() -> None:
    doc = document("from m import *  # noqa: F401, F403\n")
    site = only_site(doc, "m")
    doc.editor.add(site, "n", "n", ImportedName("a"), site)
    assert doc.finish() == b"from m import *  # noqa: F401, F403\nfrom n import a  # noqa: F401\n"
