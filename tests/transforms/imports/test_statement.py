"""Statements as a whole: layouts, comments, other modules, new statements, errors."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from tests.transforms.imports.cases import (
    BACKSLASH,
    COMMENTED,
    EXPLODE,
    EXPLODED,
    FILLED_GRID,
    GRID,
    HANGING,
    KEEP,
    Case,
    check,
    look_at,
    named,
    table,
)
from transforms.imports.rows import parse_body, render
from transforms.imports.statement import (
    ImportStatement,
    ImportStyle,
    Layout,
    NameComments,
    render_import,
)
from transforms.imports.tokens import read


@table(
    Case("no name of it leaves a line", "from m import a, b", "from m import a, b", out="x"),
    Case("no name of it leaves odd spacing", "from  m  import(a ,b)", "from  m  import(a ,b)", "x"),
    Case("an alias is another name", "from m import a as x", "from m import a as x", out="a"),
    Case("an exploded statement that fits", EXPLODED, EXPLODED, out="x"),
    Case("a name that it has comes", "from m import b,a", "from m import b,a", into="a"),
    Case("a star stays a star", "from m import*", "from m import*", out="a"),
    Case("the module is the same", "from . m import a", "from . m import a", module=".m"),
    Case("explode leaves a plain import", "import a, b", "import a, b", out="x", shrink=EXPLODE),
    Case("explode leaves what is exploded", EXPLODED, EXPLODED, out="x", shrink=EXPLODE),
)
def test_left_alone(case: Case) -> None:
    check(case)


@table(
    Case(
        "a line in brackets",
        "from m import a, b",
        "from m import (\n    a,\n)",
        out="b",
        shrink=EXPLODE,
    ),
    Case(
        "nothing leaves, and it is exploded all the same",
        "from m import a, b  # noqa",
        "from m import (  # noqa\n    a,\n    b,\n)",
        out="x",
        shrink=EXPLODE,
    ),
    Case(
        "a grid inside a function",
        "from m import (a,\n                   b)",
        "from m import (\n        a,\n        b,\n    )",
        out="x",
        indent="    ",
        shrink=EXPLODE,
    ),
    Case(
        "comments of rows stay with their first name",
        "from m import (\n    # first\n    a, b,  # both\n    c,\n    # end\n)",
        "from m import (\n    # first\n    a,  # both\n    b,\n    c,\n    # end\n)",
        out="x",
        shrink=EXPLODE,
    ),
    Case(
        "the bracket glued as the style has it",
        "from m import a, b",
        "from m import (\n    a,\n    b)",
        out="x",
        shrink=EXPLODE,
        style=ImportStyle(trailing_comma=False, closing_on_own_line=False),
    ),
    Case(
        "a backslash form",
        "from m import a, \\\n    b",
        "from m import (\n    a,\n    b,\n)",
        out="x",
        shrink=EXPLODE,
    ),
)
def test_exploded(case: Case) -> None:
    check(case)


@table(
    Case("a line", "from m import a  # noqa", "from n.o import a  # noqa", module="n.o"),
    Case("a star", "from m import *", "from n import *", module="n"),
    Case("absolute to relative", "from m import a", "from ..n import a", module="..n"),
    Case("relative to absolute", "from .m import a", "from n import a", module="n"),
    Case("from the package itself", "from . import a", "from .m import a", module=".m"),
    Case("no blanks around a relative module", "from.import a", "from m import a", module="m"),
    Case("into the package itself", "from .m import a", "from . import a", module="."),
    Case("brackets without a blank", "from m import(a)", "from n import(a)", module="n"),
    Case("exploded", EXPLODED, EXPLODED.replace(" m ", " n.o "), module="n.o"),
    Case("with comments", COMMENTED, COMMENTED.replace(" m ", " n.o "), module="n.o"),
    Case(
        "a line that becomes too long is wrapped",
        "from m import alpha, beta  # noqa",
        "from module.path import (  # noqa\n    alpha,\n    beta,\n)",
        module="module.path",
        width=30,
    ),
    Case(
        "a line that was too long stays a line",
        "from m import alpha, beta",
        "from module.path import alpha, beta",
        module="module.path",
        width=20,
    ),
    Case(
        "a grid stays aligned",
        "from m import (zeta, alpha,\n               # last\n               c)",
        "from mod import (zeta, alpha,\n                 # last\n                 c)",
        module="mod",
    ),
    Case(
        "a grid that was not aligned stays as it was",
        "from m import (zeta, alpha,\n    beta)",
        "from mod import (zeta, alpha,\n    beta)",
        module="mod",
    ),
    Case(
        "a filled grid is filled again",
        FILLED_GRID,
        "from package.module import (alpha_function, beta_function, delta_function,\n"
        "                            epsilon_function, gamma_function, kappa_function,\n"
        "                            lambda_function)",
        module="package.module",
        width=79,
    ),
    Case(
        "a grid by hand moves down what no longer fits",
        "from m import (zeta, alphabet,\n               b)",
        "from package.module import (zeta,\n                            alphabet, b)",
        module="package.module",
        width=42,
    ),
    Case(
        "a backslash form",
        "from m import zeta, \\\n    alpha",
        "from mod import zeta, \\\n    alpha",
        module="mod",
    ),
)  # fmt: skip
def test_renamed(case: Case) -> None:
    check(case)


@pytest.mark.parametrize(
    ("sentence", "text", "layout"),
    [
        ("one line", "from m import a, b", Layout.ONE_LINE),
        ("a plain import", "import a.b as c", Layout.ONE_LINE),
        ("one line in parentheses", "from m import (a)", Layout.PARENTHESIZED),
        ("one name a line", EXPLODED, Layout.EXPLODED),
        ("a glued bracket", "from m import (\n    a,\n    b)", Layout.EXPLODED),
        ("names behind the bracket", FILLED_GRID, Layout.GRID),
        ("several names a line", "from m import (\n    a, b,\n)", Layout.HANGING),
        ("backslashes", "from m import a, \\\n    b", Layout.BACKSLASH),
        ("a backslash before the names", "from m import \\\n    a", Layout.BACKSLASH),
        ("a backslash inside an alias", "from m import a as \\\n    b", Layout.BACKSLASH),
    ],
)
def test_layout(sentence: str, text: str, layout: Layout) -> None:
    assert ImportStatement.parse(text).layout is layout, sentence


@pytest.mark.parametrize(
    ("sentence", "text", "gone", "expected"),
    [
        ("a line's comment is the statement's", "from m import a, b  # noqa", "a", {}),
        ("the comment on its line", COMMENTED, "a", {"a": NameComments(trailing="# why a")}),
        (
            "comments above and behind",
            "from m import (\n    # one\n    # two\n    a,  # three\n    b,\n)",
            "a, b",
            {"a": NameComments(("# one", "# two"), "# three")},
        ),
        (
            "a heading that stays does not travel",
            "from m import (\n    # helpers\n    a,\n    b,\n)",
            "a",
            {},
        ),
        (
            "a comment for tools on a line of several is copied",
            "from m import (\n    a, b,  # noqa: F401\n    c,\n)",
            "a",
            {"a": NameComments(trailing="# noqa: F401")},
        ),
        (
            "a comment inside an alias",
            "from m import (\n    a as  # why x\n        x,\n    b,\n)",
            "a as x",
            {"a as x": NameComments(trailing="# why x")},
        ),
    ],
)
def test_comments_travel_with_their_names(
    sentence: str, text: str, gone: str, expected: dict[str, NameComments]
) -> None:
    statement = ImportStatement.parse(text)
    found = statement.removed_comments(list(map(named, gone.split(", "))))
    assert found == {named(name): comments for name, comments in expected.items()}, sentence


@pytest.mark.parametrize(
    ("text", "comment", "pragma"),
    [
        ("from m import a", None, None),
        ("from m import a  # why", "# why", None),
        ("from m import a  # noqa: F401", "# noqa: F401", "# noqa: F401"),
        ("from m import (  # noqa\n    a,\n)  # why", "# noqa  # why", "# noqa"),
        ("from m import (a,  # noqa\n    b)", None, "# noqa"),
        ("from m import a  # type: ignore", "# type: ignore", "# type: ignore"),
        ("import a  # isort: skip", "# isort: skip", "# isort: skip"),
        ("import a  # pylint: disable=C0411", "# pylint: disable=C0411", "# pylint: disable=C0411"),
    ],
)
def test_comment_of_the_statement(text: str, comment: str | None, pragma: str | None) -> None:
    statement = ImportStatement.parse(text)
    assert (statement.comment, look_at(text).pragma) == (comment, pragma)


@dataclass(frozen=True)
class New:
    """One new statement; its sentence is its id."""

    sentence: str
    module: str | None
    names: str
    text: str
    style: ImportStyle = field(default_factory=ImportStyle)
    indent: str = ""
    newline: str = "\n"
    comment: str | None = None
    comments: dict[str, NameComments] = field(default_factory=dict)


LONG = "alpha_function, beta_function, gamma_function, kappa_function"
WHY = NameComments(trailing="# why")
SINGLE = ImportStyle(one_name_per_statement=True)
NEW = (
    New("a line", "m", "b, a as x", "from m import a as x, b"),
    New("in the order given", "m", "b, a", "from m import b, a", ImportStyle(sorted_names=False)),
    New("a plain import", None, "a.b as c", "import a.b as c"),
    New("plain imports are a line each", None, "b, a", "import a\nimport b"),
    New("one name a statement", "m", "b, a", "from m import a\nfrom m import b", SINGLE),
    New(
        "one name a statement in a function of a Windows file",
        "m",
        "b, a",
        "from m import a  # noqa\r\n    from m import b  # noqa",
        SINGLE,
        indent="    ",
        newline="\r\n",
        comment="# noqa",
    ),
    New("relative", ".", "a", "from . import a"),
    New("a star", "m", "*", "from m import *"),
    New("with a comment", "m", "a", "from m import a  # noqa", comment="# noqa"),
    New("with its name's comment", "m", "a", "from m import a  # why", comments={"a": WHY}),
    New(
        "with a comment above its only name",
        "m",
        "a",
        "# about a\n    from m import a",
        indent="    ",
        comments={"a": NameComments(("# about a",))},
    ),
    New(
        "names with comments have a line each",
        "m",
        "a, b",
        "from m import (  # noqa\n    a,\n    # about b\n    b,  # why\n)",
        comment="# noqa",
        comments={"b": NameComments(("# about b",), "# why")},
    ),
    New(
        "exploded when it is too long",
        "module.deeply.nested.path",
        LONG,
        "from module.deeply.nested.path import (\n"
        "    alpha_function,\n    beta_function,\n    gamma_function,\n    kappa_function,\n)",
    ),
    New(
        "exploded without trailing comma, in a function indented by tabs",
        "module.deeply.nested.path",
        LONG,
        "from module.deeply.nested.path import (\n"
        "\t\talpha_function,\n\t\tbeta_function,\n\t\tgamma_function,\n\t\tkappa_function\n\t)",
        ImportStyle(trailing_comma=False, indent_unit="\t"),
        indent="\t",
    ),
    New(
        "a grid with its comment for tools on the first line",
        "module.deeply",
        LONG,
        "from module.deeply import (alpha_function, beta_function, gamma_function,  # noqa\n"
        "                           kappa_function)",
        GRID,
        comment="# noqa",
    ),
    New(
        "a grid with its comment for readers at the end",
        "module.deeply",
        LONG,
        "from module.deeply import (alpha_function, beta_function, gamma_function,\n"
        "                           kappa_function)  # why",
        GRID,
        comment="# why",
    ),
    New(
        "a grid without room behind the bracket hangs",
        "module.of.a.package.that.quite.a.long.name.that.takes.the.line",
        LONG,
        "from module.of.a.package.that.quite.a.long.name.that.takes.the.line import (\n"
        "    alpha_function, beta_function, gamma_function, kappa_function)",
        GRID,
    ),
    New(
        "hanging rows",
        "module.deeply.nested",
        LONG,
        "from module.deeply.nested import (\n"
        "    alpha_function, beta_function, gamma_function, kappa_function,\n)",
        HANGING,
    ),
    New(
        "backslashes",
        "module.deeply.nested",
        LONG,
        "from module.deeply.nested import alpha_function, beta_function, \\\n"
        "    gamma_function, kappa_function  # why",
        BACKSLASH,
        comment="# why",
    ),
)


@pytest.mark.parametrize("new", [pytest.param(new, id=new.sentence) for new in NEW])
def test_new_statements(new: New) -> None:
    text = render_import(
        new.module,
        list(map(named, new.names.split(", "))),
        style=new.style,
        indent=new.indent,
        newline=new.newline,
        comment=new.comment,
        comments={named(name): comments for name, comments in new.comments.items()},
    )
    assert text == new.text


def test_one_name_is_replaced_in_its_place() -> None:
    statement = ImportStatement.parse("import a.b, c as d, e  # all")
    assert (
        statement.replacing(named("c as d"), named("f.c as d")) == "import a.b, f.c as d, e  # all"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x = 1",
        "from m import class",
        "from m import (a",
        "from m import a\nimport b",
        "from m import a; import b",
        "# comment\nimport a",
        "import " + ".".join(["a"] * 5_000) + " ",
    ],
)
def test_other_text_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"import statement|more than the"):
        ImportStatement.parse(text)


def test_a_star_takes_no_other_name() -> None:
    with pytest.raises(ValueError, match="star import"):
        ImportStatement.parse("from m import *").with_names([named("a")])


def test_a_plain_import_has_no_module_to_rename() -> None:
    with pytest.raises(ValueError, match="not a from-import"):
        ImportStatement.parse("import a").renamed("b")


def test_a_statement_needs_a_name() -> None:
    with pytest.raises(ValueError, match="needs a name"):
        render_import("m", [], style=ImportStyle())


def test_an_edit_that_would_write_another_name_than_it_means_is_a_fault() -> None:
    body = parse_body("from m import a, b")
    (row,) = body.rows
    wrong = replace(row, cells=(replace(row.cells[0], text="c"), row.cells[1]))
    with pytest.raises(ValueError, match="not the names that were meant: 'from m import c, b'"):
        render(replace(body, rows=(wrong,)), "\n")


def test_a_text_is_read_once() -> None:
    text = "from m import once, twice"
    assert read(text) is read(text)
    assert ImportStatement.parse(text).without([named("twice")], KEEP) == "from m import once"
    misses = read.cache_info().misses
    ImportStatement.parse("from m import once")
    assert read.cache_info().misses == misses
