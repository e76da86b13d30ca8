"""Import statements in every layout, for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from transforms.imports.statement import ImportedName, NameComments

WORDS = (
    "a", "b", "c10", "c2", "Klass", "Other", "CONST", "MAX_SIZE", "_private", "é", "straße", "名前",
    "a_rather_long_name_for_a_function", "AnotherLongNameForSomeClass",
)  # fmt: skip
MODULES = ("m", "pack.mod", "pack.mod.deeply.nested.module_name", ".", "..", ".sib", "..up.er")

names = st.builds(
    ImportedName, st.sampled_from(WORDS), st.sampled_from((None, None, None, "z", "Alias"))
)
name_lists = st.lists(names, min_size=1, max_size=7, unique=True)
comments = st.sampled_from(("# why", "# noqa: F401", "# type: ignore", "# about a", "#", "# (a, b"))
newlines = st.sampled_from(("\n", "\r\n", "\r"))
blanks = st.sampled_from((" ", " ", " ", "  ", "\t", ""))
indents = st.sampled_from(("    ", "  ", "\t", "        ", "\x0c    "))
name_comments = st.builds(
    NameComments,
    st.lists(comments, max_size=2).map(tuple),
    st.one_of(st.none(), comments),
)


def spelled(name: ImportedName) -> str:
    return str(name)


@st.composite
def plain(draw: st.DrawFn) -> str:
    """`import a.b, c as d`, on one line or with backslashes."""
    joint = draw(st.sampled_from((", ", ",", " , ", ", \\\n    ")))
    listed = [
        draw(st.sampled_from(("", "pack.", "pack.sub."))) + str(name) for name in draw(name_lists)
    ]
    return "import " + joint.join(listed) + draw(st.sampled_from(("", "  # noqa", " # why")))


@st.composite
def one_line(draw: st.DrawFn) -> str:
    joint = draw(st.sampled_from((", ", ",", " , ", ",  ")))
    body = joint.join(map(spelled, draw(name_lists)))
    if draw(st.booleans()):
        inner = draw(st.sampled_from(("", " ")))
        body = f"({inner}{body}{draw(st.sampled_from(('', ',', ' ,')))}{inner})"
    tail = draw(st.sampled_from(("", "", "  # noqa: F401", "  # why", " #x")))
    return f"from {draw(st.sampled_from(MODULES))} import {body}{tail}"


@st.composite
def backslashed(draw: st.DrawFn) -> str:
    newline = draw(newlines)
    parts = [f"from {draw(st.sampled_from(MODULES))} import"]
    parts.append(draw(st.sampled_from((" ", " \\" + newline + "    "))))
    listed = draw(name_lists)
    for number, name in enumerate(listed):
        parts.append(spelled(name))
        if number + 1 < len(listed):
            gap = draw(st.sampled_from((" ", " \\" + newline + "    ", "\\" + newline + "\t")))
            parts += [",", gap]
    return "".join(parts) + draw(st.sampled_from(("", "", "  # noqa", "  # why")))


@st.composite
def bracketed(draw: st.DrawFn) -> str:
    """Several lines in parentheses: exploded, grid, hanging, and whatever lies between."""
    newline = draw(newlines)
    indent = draw(indents)
    own_lines = st.lists(st.one_of(st.just(""), comments.map(lambda c: indent + c)), max_size=2)
    text = f"from {draw(st.sampled_from(MODULES))} import ("
    inline = draw(st.booleans())
    leading = draw(st.integers(0, 9)) == 0
    if not inline:
        text += draw(st.sampled_from(("", "", "  # noqa: F401", "  # opening"))) + newline
    listed = draw(name_lists)
    one_each = draw(st.booleans())
    at_start = not inline
    for number, name in enumerate(listed):
        last = number + 1 == len(listed)
        if at_start:
            text += "".join(line + newline for line in draw(own_lines))
            text += indent + (", " if leading and number else "")
        text += spelled(name)
        breaks = last or one_each or draw(st.booleans())
        if not (leading and breaks) and (not last or draw(st.booleans())):
            text += draw(st.sampled_from(("", "", " "))) + ","
        at_start = breaks
        if last:
            break
        if breaks:
            comment = draw(st.one_of(st.none(), st.none(), comments))
            text += (f"  {comment}" if comment else draw(st.sampled_from(("", "", " ")))) + newline
        else:
            text += draw(st.sampled_from((" ", " ", "")))
    if draw(st.booleans()):
        comment = draw(st.one_of(st.none(), comments))
        text += (f"  {comment}" if comment else "") + newline
        text += "".join(line + newline for line in draw(own_lines))
        text += draw(st.sampled_from(("", "", "    ")))
    return text + ")" + draw(st.sampled_from(("", "", "  # noqa", "  # last")))


statements = st.one_of(plain(), one_line(), backslashed(), bracketed(), bracketed())
from_statements = st.one_of(one_line(), backslashed(), bracketed(), bracketed())
