"""Names that leave a statement, and what becomes of its layout and comments."""

from __future__ import annotations

from tests.transforms.imports.cases import (
    COMMENTED,
    EXPLODED,
    FILLED_GRID,
    KEEP,
    Case,
    check,
    table,
)


@table(
    Case("the only name", "from m import a  # noqa", None, out="a"),
    Case("every name of several lines", EXPLODED, None, out="a, b, c"),
    Case("a star", "from m import *", None, out="*"),
    Case("the first name of a line", "from m import a, b, c", "from m import b, c", out="a"),
    Case("the middle name", "from m import a, b, c", "from m import a, c", out="b"),
    Case("the last name", "from m import a, b, c", "from m import a, b", out="c"),
    Case("an aliased name", "from m import a as x, b", "from m import b", out="a as x"),
    Case("a name imported twice", "from m import a, b, a", "from m import b", out="a"),
    Case("tight commas stay tight", "from m import a,b,c", "from m import a,c", out="b"),
    Case("double blanks stay", "from m  import a,  b,  c", "from m  import a,  c", out="b"),
    Case("the comment stays", "from m import a, b  # noqa", "from m import b  # noqa", "a"),
    Case("one module of a plain import", "import a, b.c as d", "import b.c as d", out="a"),
    Case("the aliased module", "import a, b.c as d", "import a", out="b.c as d"),
    Case(
        "one of three dotted modules with one root",
        "import a.b, a.c, a.d  # all",
        "import a.b, a.d  # all",
        out="a.c",
    ),
    Case("a name with another alphabet", "from m import é, 名前", "from m import 名前", out="é"),
    Case("a name that Python normalizes", "from m import ﬁ, b", "from m import b", out="fi"),
    Case("parentheses with several stay", "from m import (a, b, c)", "from m import (b, c)", "a"),
    Case("parentheses around one name go", "from m import (a, b)", "from m import b", out="a"),
    Case(
        "parentheses around one name stay if the form is kept",
        "from m import (a, b,)",
        "from m import (b,)",
        out="a",
        shrink=KEEP,
    ),
    Case("no blank before the bracket", "from m import(a, b)", "from m import b", out="a"),
)  # fmt: skip
def test_names_leave_one_line(case: Case) -> None:
    check(case)


@table(
    Case("joined on one line", EXPLODED, "from m import b, c", out="a"),
    Case("kept though it fits", EXPLODED, "from m import (\n    b,\n    c,\n)", "a", shrink=KEEP),
    Case(
        "kept since it is too long",
        "from m import (\n    alpha_beta,\n    b,\n    gamma_delta,\n)",
        "from m import (\n    alpha_beta,\n    gamma_delta,\n)",
        out="b",
        width=36,
    ),
    Case(
        "joined to the last column",
        "from m import (\n    alpha_beta,\n    b,\n    gamma_delta,\n)",
        "from m import alpha_beta, gamma_delta",
        out="b",
        width=37,
    ),
    Case(
        "the indentation counts",
        "from m import (\n        a,\n        b,\n        c,\n    )",
        "from m import (\n        b,\n        c,\n    )",
        out="a",
        indent="    ",
        width=20,
    ),
    Case(
        "the comment at the end stays at the end",
        "from m import (\n    a,\n    b,\n)  # why",
        "from m import b  # why",
        out="a",
    ),
    Case(
        "the comment behind the bracket moves to the end",
        "from m import (  # noqa: F401\n    a,\n    b,\n)",
        "from m import b  # noqa: F401",
        out="a",
    ),
    Case(
        "two comments of the statement do not fit on one line",
        "from m import (  # noqa: F401\n    a,\n    b,\n)  # why",
        "from m import (  # noqa: F401\n    b,\n)  # why",
        out="a",
    ),
    Case(
        "a comment for tools does not count",
        "from m import (  # noqa: F401\n    a,\n    b,\n)",
        "from m import b  # noqa: F401",
        out="a",
        width=16,
    ),
    Case(
        "a comment for readers counts",
        "from m import (\n    a,\n    b,\n)  # the reason",
        "from m import (\n    b,\n)  # the reason",
        out="a",
        width=20,
    ),
    Case(
        "no trailing comma before, none after",
        "from m import (\n    a,\n    b,\n    c\n)",
        "from m import (\n    a,\n    b\n)",
        out="c",
        shrink=KEEP,
    ),
    Case(
        "the bracket stays glued to the last name",
        "from m import (\n    a,\n    b,\n    c)",
        "from m import (\n    a,\n    b)",
        out="c",
        shrink=KEEP,
    ),
    Case(
        "Windows line ends",
        "from m import (\r\n    a,\r\n    b,\r\n    c,\r\n)",
        "from m import (\r\n    b,\r\n    c,\r\n)",
        out="a",
        shrink=KEEP,
    ),
    Case(
        "tabs",
        "from m import (\n\ta,\n\tb,\n\tc,\n)",
        "from m import (\n\ta,\n\tc,\n)",
        out="b",
        shrink=KEEP,
    ),
    Case(
        "a form feed",
        "from m import (\n\x0c    a,\n    b,\n)",
        "from m import (\n    b,\n)",
        out="a",
        shrink=KEEP,
    ),
    Case(
        "leading commas",
        "from m import (\n    a\n  , b\n  , c\n)",
        "from m import (\n    b\n  , c\n)",
        out="a",
        shrink=KEEP,
    ),
    Case(
        "a comma on a line of its own",
        "from m import (\n    a\n    ,\n    b\n    ,\n    c\n)",
        "from m import (\n    b,\n    c\n)",
        out="a",
        shrink=KEEP,
    ),
    Case(
        "an alias broken over lines is joined with its name",
        "from m import (\n    a,\n    b as\n        x,\n)",
        "from m import b as x",
        out="a",
    ),
    Case(
        "the bracket on the next line after a backslash",
        "from m import \\\n    (a, b)",
        "from m import b",
        out="a",
    ),
)
def test_names_leave_an_exploded_statement(case: Case) -> None:
    check(case)


@table(
    Case(
        "the comment on its line goes with the name",
        COMMENTED,
        "from m import (\n    b,  # why b\n)",
        out="a",
    ),
    Case(
        "so it does on the last line",
        COMMENTED,
        "from m import (\n    a,  # why a\n)",
        out="b",
    ),
    Case(
        "a comment above the name goes with it",
        "from m import (\n    a,\n    # about b\n    b,\n)",
        "from m import a",
        out="b",
    ),
    Case(
        "a heading stays while a name of its group stays",
        "from m import (\n    a,\n    # helpers\n    b,\n    c,\n)",
        "from m import (\n    a,\n    # helpers\n    c,\n)",
        out="b",
    ),
    Case(
        "a heading goes with the last name of its group",
        "from m import (\n    a,\n    # helpers\n    b,\n    c,\n    # others\n    d,\n)",
        "from m import (\n    a,\n    # others\n    d,\n)",
        out="b, c",
    ),
    Case(
        "a comment that speaks of the leaving name only goes with it",
        "from m import (\n    # a is slow\n    a,\n    b,\n)",
        "from m import b",
        out="a",
    ),
    Case(
        "a comment at the end of the names stays",
        "from m import (\n    a,\n    b,\n    # more to come\n)",
        "from m import (\n    b,\n    # more to come\n)",
        out="a",
    ),
    Case(
        "a blank line between groups stays between groups",
        "from m import (\n    a,\n\n    b,\n    c,\n)",
        "from m import (\n    a,\n\n    c,\n)",
        out="b",
        shrink=KEEP,
    ),
    Case(
        "a blank line between groups goes with a group",
        "from m import (\n    a,\n\n    b,\n)",
        "from m import (\n    a,\n)",
        out="b",
        shrink=KEEP,
    ),
    Case(
        "no blank line is left at the top",
        "from m import (\n    a,\n\n    b,\n    c,\n)",
        "from m import (\n    b,\n    c,\n)",
        out="a",
        shrink=KEEP,
    ),
    Case(
        "a comment behind a glued bracket belongs to the last name if others have one",
        "from m import (\n    a,  # why a\n    b)  # why b",
        "from m import (\n    a)  # why a",
        out="b",
        shrink=KEEP,
    ),
    Case(
        "a comment for tools behind a glued bracket stays with the statement",
        "from m import (\n    a,  # why a\n    b)  # noqa: F401",
        "from m import (\n    a)  # why a  # noqa: F401",
        out="b",
        shrink=KEEP,
    ),
    Case(
        "a comment for tools on the first line stays there",
        "from m import (a,  # noqa: F401\n               b,\n               c)",
        "from m import (b,  # noqa: F401\n               c)",
        out="a",
        shrink=KEEP,
    ),
    Case(
        "a comment below the first name cannot stand behind the bracket",
        "from m import (a,\n    # about b\n    b)",
        "from m import (\n    # about b\n    b)",
        out="a",
    ),
    Case(
        "a line of several names keeps its comment",
        "from m import (\n    a, b,  # both\n    c,\n)",
        "from m import (\n    b,  # both\n    c,\n)",
        out="a",
    ),
)
def test_comments_when_names_leave(case: Case) -> None:
    check(case)


@table(
    Case(
        "a filled grid is filled again",
        FILLED_GRID,
        "from module import (alpha_function, delta_function, epsilon_function,\n"
        "                    gamma_function, kappa_function, lambda_function)",
        out="beta_function",
        width=79,
    ),
    Case(
        "a grid by hand loses the name from its row",
        "from module import (zeta, alpha_function,\n                    beta, gamma)",
        "from module import (alpha_function,\n                    beta, gamma)",
        out="zeta",
        shrink=KEEP,
    ),
    Case(
        "an empty row goes",
        "from module import (zeta,\n                    beta, gamma)",
        "from module import (beta, gamma)",
        out="zeta",
        shrink=KEEP,
    ),
    Case(
        "the last row of a grid goes",
        "from module import (zeta, beta,\n                    gamma)",
        "from module import (zeta, beta)",
        out="gamma",
        shrink=KEEP,
    ),
    Case(
        "a grid that fits on one line is joined",
        "from module import (zeta, beta,\n                    gamma)",
        "from module import zeta, gamma",
        out="beta",
    ),
    Case(
        "one name a row stays one name a row",
        "from module import (alpha,\n                    beta,\n                    gamma)",
        "from module import (alpha,\n                    gamma)",
        out="beta",
        shrink=KEEP,
    ),
    Case(
        "a hanging list by hand keeps its rows",
        "from module import (\n    zeta, alpha,\n    beta, gamma,\n    delta,\n)",
        "from module import (\n    zeta, alpha,\n    gamma,\n    delta,\n)",
        out="beta",
        shrink=KEEP,
    ),
    Case(
        "a hanging list that fits on one line is joined",
        "from module import (\n    alpha, beta, gamma,\n)",
        "from module import alpha, gamma",
        out="beta",
    ),
    Case(
        "backslashes stay while they are needed",
        "from m import zeta, \\\n    alpha, \\\n    beta",
        "from m import zeta, \\\n    beta",
        out="alpha",
        shrink=KEEP,
    ),
    Case(
        "the last row of a backslash form goes with its backslash",
        "from m import zeta, \\\n    alpha",
        "from m import zeta",
        out="alpha",
        shrink=KEEP,
    ),
    Case(
        "a backslash form joined",
        "from m import \\\n    zeta, \\\n    alpha, beta",
        "from m import zeta, beta",
        out="alpha",
    ),
    Case(
        "a backslash before the module is joined too",
        "from \\\n    m \\\n    import a, b",
        "from m import b",
        out="a",
    ),
    Case(
        "plain imports over several lines",
        "import a, \\\n       b, \\\n       c",
        "import a, c",
        out="b",
    ),
)
def test_names_leave_rows_of_several(case: Case) -> None:
    check(case)
