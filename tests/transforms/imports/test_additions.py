"""Names that come into a statement."""

from __future__ import annotations

from dataclasses import replace

from tests.transforms.imports.cases import (
    BACKSLASH,
    EXPLODED,
    FILLED_GRID,
    GRID,
    HANGING,
    Case,
    check,
    table,
)
from transforms.imports.statement import (
    ImportStyle,
    NameComments,
)


@table(
    Case("sorted into the line", "from m import a, c", "from m import a, b, c", into="b"),
    Case("before the first", "from m import b", "from m import a, b", into="a"),
    Case("appended to what is not sorted", "from m import c, a", "from m import c, a, b", into="b"),
    Case("by kind", "from m import MAX, Ab, x", "from m import MAX, MIN, Ab, x", into="MIN"),
    Case("plain code point order", "from m import A, C, b", "from m import A, B, C, b", into="B"),
    Case("without regard to case", "from m import a, B, c", "from m import a, B, b2, c", into="b2"),
    Case("numbers as numbers", "from m import a2, a10", "from m import a2, a3, a10", into="a3"),
    Case("before its alias", "from m import a as x", "from m import a, a as x", into="a"),
    Case(
        "at the end of its kind where kinds stand together",
        "from m import List, Any, cast, overload",
        "from m import List, Any, Dict, cast, overload",
        into="Dict",
    ),
    Case("tight commas stay tight", "from m import a,c", "from m import a,b,c", into="b"),
    Case("parentheses stay", "from m import (a, c)", "from m import (a, b, c)", into="b"),
    Case("the trailing comma stays", "from m import (a, c,)", "from m import (a, c, d,)", into="d"),
    Case("the comment stays at the end", "from m import a # x", "from m import a, b # x", into="b"),
    Case("a module of a plain import", "import a, c", "import a, b.d as e, c", into="b.d as e"),
    Case(
        "two names in a file that does not sort are in order by chance",
        "from m import a, c",
        "from m import a, c, b",
        into="b",
        style=ImportStyle(sorted_names=False),
    ),
    Case(
        "a line that becomes too long is exploded",
        "from m import alpha, gamma  # noqa",
        "from m import (  # noqa\n    alpha,\n    beta,\n    gamma,\n)",
        into="beta",
        width=30,
    ),
    Case(
        "a line that was too long before stays a line",
        "from m import alpha, gamma",
        "from m import alpha, beta, gamma",
        into="beta",
        width=20,
    ),
    Case(
        "wrapped inside a function",
        "from m import alpha, gamma",
        "from m import (\n        alpha,\n        beta,\n        gamma,\n    )",
        into="beta",
        indent="    ",
        width=34,
    ),
    Case(
        "wrapped as a grid",
        "from module.deeply.nested import alpha_function, beta_function",
        "from module.deeply.nested import (alpha_function, beta_function, gamma_function,\n"
        "                                  kappa)",
        into="gamma_function, kappa",
        style=replace(GRID, width=80),
    ),
    Case(
        "wrapped in hanging rows",
        "from module.deeply.nested import alpha_function, beta_function",
        "from module.deeply.nested import (\n"
        "    alpha_function, beta_function, gamma_function, kappa,\n)",
        into="gamma_function, kappa",
        style=HANGING,
    ),
    Case(
        "wrapped with a backslash",
        "from module.deeply.nested import alpha_function, beta_function",
        "from module.deeply.nested import alpha_function, beta_function, \\\n"
        "    gamma_function, kappa",
        into="gamma_function, kappa",
        style=BACKSLASH,
    ),
    Case(
        "a comment comes with its name",
        "from m import a, c",
        "from m import (\n    a,\n    b,  # why b\n    c,\n)",
        into="b",
        comments={"b": NameComments(trailing="# why b")},
    ),
)  # fmt: skip
def test_names_come_into_one_line(case: Case) -> None:
    check(case)


@table(
    Case(
        "a line of its own", EXPLODED, EXPLODED.replace("    c,\n", "    bb,\n    c,\n"), "", "bb"
    ),
    Case("the last line", EXPLODED, EXPLODED.replace("\n)", "\n    d,\n)"), into="d"),
    Case(
        "the last line without trailing comma",
        "from m import (\n    a,\n    b\n)",
        "from m import (\n    a,\n    b,\n    c\n)",
        into="c",
    ),
    Case(
        "the last line with a glued bracket",
        "from m import (\n    a,\n    b)",
        "from m import (\n    a,\n    b,\n    c)",
        into="c",
    ),
    Case(
        "the comment of the last name stays on its line",
        "from m import (\n    a,  # why a\n    b  # why b\n)",
        "from m import (\n    a,  # why a\n    b,  # why b\n    c\n)",
        into="c",
    ),
    Case(
        "leading commas",
        "from m import (\n    a\n  , c\n)",
        "from m import (\n    a\n  , b\n  , c\n)",
        into="b",
    ),
    Case(
        "first before leading commas",
        "from m import (\n    b\n  , c\n)",
        "from m import (\n    a\n  , b\n  , c\n)",
        into="a",
    ),
    Case(
        "before a comment that belongs to the next name",
        "from m import (\n    a,\n    # about c\n    c,\n)",
        "from m import (\n    a,\n    b,\n    # about c\n    c,\n)",
        into="b",
    ),
    Case(
        "below a heading of the whole list",
        "from m import (\n    # all of it\n    b,\n    c,\n)",
        "from m import (\n    # all of it\n    a,\n    b,\n    c,\n)",
        into="a",
    ),
    Case(
        "comments come with their name",
        EXPLODED,
        "from m import (\n    a,\n    b,\n    # about bb\n    bb,  # why\n    c,\n)",
        into="bb",
        comments={"bb": NameComments(("# about bb",), "# why")},
    ),
    Case(
        "Windows line ends",
        "from m import (\r\n    a,\r\n)",
        "from m import (\r\n    a,\r\n    b,\r\n)",
        into="b",
    ),
    Case(
        "a filled grid is filled again",
        FILLED_GRID,
        "from module import (alpha_function, beta_function, chi_function,\n"
        "                    delta_function, epsilon_function, gamma_function,\n"
        "                    kappa_function, lambda_function)",
        into="chi_function",
        width=79,
    ),
    Case(
        "a grid by hand gets the name in its last row",
        "from module import (zeta, alpha,\n                    beta)",
        "from module import (zeta, alpha,\n                    beta, gamma)",
        into="gamma",
    ),
    Case(
        "one name a row stays one name a row",
        "from module import (alpha,\n                    gamma)",
        "from module import (alpha,\n                    beta,\n                    gamma)",
        into="beta",
    ),
    Case(
        "a row that becomes too long hands its last name down",
        "from module import (\n    zeta, alpha_function,\n    beta_function)",
        "from module import (\n    zeta, alpha_function,\n    beta_function,\n    gamma_function)",
        into="gamma_function",
        width=30,
    ),
    Case(
        "a backslash form grows by a row",
        "from m import zeta, alpha, \\\n    beta_function",
        "from m import zeta, alpha, \\\n    beta_function, \\\n    gamma_function",
        into="gamma_function",
        width=30,
    ),
    Case(
        "a name with a comment breaks its row",
        "from module import (\n    alpha, gamma, delta,\n    zeta\n)",
        "from module import (\n    alpha, gamma, delta,\n    zeta,\n    beta  # why\n)",
        into="beta",
        comments={"beta": NameComments(trailing="# why")},
    ),
)
def test_names_come_into_several_lines(case: Case) -> None:
    check(case)
