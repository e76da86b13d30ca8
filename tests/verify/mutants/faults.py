"""One-fault copies of a move: each kind makes one small change to one file of the target.

A kind yields edits: the span of the text to replace, and what replaces it. Every edit is one that
a move could not have made; the few that might be harmless are proved so by `harmless`.
"""

from __future__ import annotations

import ast
import io
import random
import re
import tokenize
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

Edit = tuple[int, int, str]  # start and end offset, and the new text
Kind = Callable[["Text"], Iterator[Edit]]
KINDS: dict[str, Kind] = {}


@dataclass(frozen=True)
class Mutant:
    """A file of the target with one fault in it."""

    kind: str
    path: str
    line: int
    before: str
    after: str
    text: str


class Text:
    """A file that faults are put into."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)
        self.lines = text.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.nodes = list(ast.walk(self.tree))
        self.imports = [n for n in self.nodes if isinstance(n, (ast.Import, ast.ImportFrom))]
        within = {id(part) for node in self.imports for part in ast.walk(node)}
        self.code = [node for node in self.nodes if id(node) not in within]
        self.docstrings = {
            id(node.body[0].value)
            for node in self.nodes
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
            and node.body
            and isinstance(node.body[0], ast.Expr)
            and isinstance(node.body[0].value, ast.Constant)
        }
        self.formatted = {
            id(part)
            for node in self.nodes
            if isinstance(node, ast.JoinedStr)
            for part in ast.walk(node)
            if part is not node
        }

    def offset(self, line: int, column: int) -> int:
        row = self.lines[line - 1]
        return self.starts[line - 1] + len(row.encode()[:column].decode())

    def span(self, node: ast.AST) -> tuple[int, int]:
        return (
            self.offset(node.lineno, node.col_offset),  # type: ignore[attr-defined]
            self.offset(node.end_lineno, node.end_col_offset),  # type: ignore[attr-defined]
        )

    def of(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def each(self, *types: type) -> Iterator[ast.AST]:
        return (
            node for node in self.code if isinstance(node, types) and id(node) not in self.formatted
        )

    def tokens(self, kind: int) -> Iterator[tuple[int, int, str]]:
        for tok in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if tok.type == kind:
                start = self.starts[tok.start[0] - 1] + tok.start[1]
                yield start, start + len(tok.string), tok.string

    def indent(self, node: ast.stmt) -> str:
        return self.lines[node.lineno - 1][: node.col_offset]

    def whole(self, node: ast.stmt) -> tuple[int, int]:
        """Give the lines of a statement that has them to itself, line end included."""
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        return self.starts[first - 1], self.starts[node.end_lineno or node.lineno]


def kind(name: str) -> Callable[[Kind], Kind]:
    def enter(function: Kind) -> Kind:
        KINDS[name] = function
        return function

    return enter


def _between(text: Text, left: ast.AST, right: ast.AST, table: Mapping[str, str]) -> Iterator[Edit]:
    start, end = text.span(left)[1], text.span(right)[0]
    gap = text.text[start:end]
    for old, new in table.items():
        found = re.search(rf"(?<![\w*/<>=!]){re.escape(old)}(?![\w*/<>=])", gap)
        if found and "#" not in gap:
            yield start + found.start(), start + found.end(), new
            return


@kind("comparison")
def _comparison(text: Text) -> Iterator[Edit]:
    table = {
        "==": "!=",
        "!=": "==",
        "<=": "<",
        ">=": ">",
        "<": "<=",
        ">": ">=",
        "is not": "is",
        "not in": "in",
        "is": "is not",
        "in": "not in",
    }
    for node in text.each(ast.Compare):
        yield from _between(text, node.left, node.comparators[0], table)  # type: ignore[attr-defined]


@kind("arithmetic operator")
def _arithmetic(text: Text) -> Iterator[Edit]:
    table = {
        "+": "-",
        "-": "+",
        "**": "*",
        "*": "+",
        "//": "%",
        "/": "*",
        "%": "//",
        "|": "&",
        "&": "|",
    }
    for node in text.each(ast.BinOp):
        yield from _between(text, node.left, node.right, table)  # type: ignore[attr-defined]


@kind("augmented operator")
def _augmented(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.AugAssign):
        start, end = text.span(node.target)[1], text.span(node.value)[0]  # type: ignore[attr-defined]
        new = " -= " if "+=" in text.text[start:end] else " += "
        yield start, end, new


@kind("boolean operator")
def _boolean(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.BoolOp):
        yield from _between(text, node.values[0], node.values[1], {"and": "or", "or": "and"})  # type: ignore[attr-defined]


@kind("condition negated")
def _negated(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.If, ast.While, ast.IfExp, ast.Assert):
        start, end = text.span(node.test)  # type: ignore[attr-defined]
        yield start, end, f"not ({text.text[start:end]})"


@kind("number")
def _number(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.Constant):
        if type(node.value) in {int, float}:  # type: ignore[attr-defined]
            yield *text.span(node), f"{node.value + 1!r}"  # type: ignore[attr-defined]


@kind("number spelled otherwise")
def _spelled(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.Constant):
        if type(node.value) is int:  # type: ignore[attr-defined]
            yield *text.span(node), hex(node.value)  # type: ignore[attr-defined]


@kind("constant")
def _constant(text: Text) -> Iterator[Edit]:
    table = {True: "False", False: "True", None: "False"}
    for node in text.each(ast.Constant):
        value = node.value  # type: ignore[attr-defined]
        if value is None or isinstance(value, bool):
            yield *text.span(node), table[value]


@kind("string")
def _string(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.Constant):
        start, end = text.span(node)
        plain = text.text[start : start + 1] in {"'", '"'}
        if isinstance(node.value, str) and plain and id(node) not in text.docstrings:  # type: ignore[attr-defined]
            quote = 3 if text.text[start : start + 3] in {"'''", '"""'} else 1
            yield start + quote, start + quote, "x"


@kind("docstring")
def _docstring(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.Constant):
        if id(node) in text.docstrings and text.of(node).startswith('"""'):
            start, _ = text.span(node)
            yield start + 3, start + 3, "Not "


@kind("f-string")
def _fstring(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.JoinedStr):
        source = text.of(node)
        start, _ = text.span(node)
        found = re.match(r"[fFrR]+(\"\"\"|'''|\"|')", source)
        if found:
            yield start + found.end(), start + found.end(), "x"


@kind("attribute")
def _attribute(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.Attribute):
        _, end = text.span(node)
        yield end, end, "_x"


@kind("local name")
def _name(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.Name):
        if isinstance(node.ctx, ast.Load):  # type: ignore[attr-defined]
            _, end = text.span(node)
            yield end, end, "_x"


@kind("keyword argument")
def _keyword(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.keyword):
        if node.arg:  # type: ignore[attr-defined]
            start, _ = text.span(node)
            yield start, start + len(node.arg), f"{node.arg}_x"  # type: ignore[attr-defined]


@kind("argument dropped")
def _argument(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.Call):
        if len(node.args) > 1 and not node.keywords:  # type: ignore[attr-defined]
            yield text.span(node.args[-2])[1], text.span(node.args[-1])[1], ""  # type: ignore[attr-defined]


@kind("arguments swapped")
def _swapped(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.Call):
        if len(node.args) > 1 and text.of(node.args[0]) != text.of(node.args[1]):  # type: ignore[attr-defined]
            one, two = node.args[:2]  # type: ignore[attr-defined]
            start, end = text.span(one)[0], text.span(two)[1]
            gap = text.text[text.span(one)[1] : text.span(two)[0]]
            if (
                "#" not in gap
                and not isinstance(one, ast.Starred)
                and not isinstance(two, ast.Starred)
            ):
                yield start, end, text.of(two) + gap + text.of(one)


@kind("default")
def _default(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.FunctionDef, ast.AsyncFunctionDef):
        for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):  # type: ignore[attr-defined]
            yield *text.span(default), f"({text.of(default)}, 0)"


@kind("parameter renamed")
def _parameter(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.arg):
        start, _ = text.span(node)
        if node.arg not in {"self", "cls"}:  # type: ignore[attr-defined]
            yield start, start + len(node.arg), f"{node.arg}_x"  # type: ignore[attr-defined]


@kind("annotation")
def _annotation(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.arg, ast.AnnAssign):
        if node.annotation is not None:  # type: ignore[attr-defined]
            yield *text.span(node.annotation), "object"  # type: ignore[attr-defined]


@kind("decorator dropped")
def _undecorated(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef):
        for decorator in node.decorator_list:  # type: ignore[attr-defined]
            first, last = decorator.lineno, decorator.end_lineno or decorator.lineno
            yield text.starts[first - 1], text.starts[last], ""


@kind("decorator added")
def _decorated(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.FunctionDef, ast.ClassDef):
        start, _ = text.whole(node)  # type: ignore[arg-type]
        yield start, start, f"{text.indent(node)}@staticmethod\n"  # type: ignore[arg-type]


@kind("decorators swapped")
def _redecorated(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef):
        for one, two in zip(node.decorator_list, node.decorator_list[1:], strict=False):  # type: ignore[attr-defined]
            start, end = text.span(one)[0], text.span(two)[1]
            gap = text.text[text.span(one)[1] : text.span(two)[0]]
            yield start, end, text.of(two) + gap + text.of(one)


@kind("base dropped")
def _baseless(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.ClassDef):
        if len(node.bases) == 1 and not node.keywords:  # type: ignore[attr-defined]
            start, end = text.span(node.bases[0])  # type: ignore[attr-defined]
            yield start, end, "object"


@kind("bases swapped")
def _bases(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.ClassDef):
        if len(node.bases) > 1:  # type: ignore[attr-defined]
            one, two = node.bases[:2]  # type: ignore[attr-defined]
            start, end = text.span(one)[0], text.span(two)[1]
            yield start, end, f"{text.of(two)}, {text.of(one)}"


@kind("definition renamed")
def _renamed(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.FunctionDef, ast.ClassDef):
        start, end = text.span(node)
        found = re.compile(rf"\b{node.name}\b").search(text.text, start, end)  # type: ignore[attr-defined]
        if found:
            yield found.start(), found.end(), f"{node.name}_x"  # type: ignore[attr-defined]


@kind("made async")
def _async(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.FunctionDef):
        start, _ = text.span(node)
        yield start, start, "async "


def _bodies(text: Text) -> Iterator[list[ast.stmt]]:
    for node in text.code:
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                yield [s for s in body if not isinstance(s, (ast.Import, ast.ImportFrom))]


def _alone(text: Text, node: ast.stmt) -> bool:
    return (
        not text.indent(node).strip()
        and text.lines[(node.end_lineno or 0) - 1][
            len(text.lines[(node.end_lineno or 0) - 1].encode()[: node.end_col_offset].decode()) :
        ].strip()
        in {"", *()}
    ) or not text.indent(node).strip()


@kind("statements swapped")
def _order(text: Text) -> Iterator[Edit]:
    for body in _bodies(text):
        for one, two in zip(body, body[1:], strict=False):
            top = one in text.tree.body
            simple = (
                ast.Assign,
                ast.Expr,
                ast.AugAssign,
                ast.Return,
                ast.Assert,
                ast.Delete,
                ast.If,
            )
            if top or not isinstance(one, simple) or not isinstance(two, simple):
                continue
            if not text.indent(one).strip() and not text.indent(two).strip():
                (a, b), (c, d) = text.whole(one), text.whole(two)
                if text.text[a:b] != text.text[c:d] and b <= c:
                    yield a, d, text.text[c:d] + text.text[b:c] + text.text[a:b]


@kind("methods swapped")
def _methods(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.ClassDef):
        inside = [n for n in node.body if isinstance(n, ast.FunctionDef)]  # type: ignore[attr-defined]
        for one, two in zip(inside, inside[1:], strict=False):
            (a, b), (c, d) = text.whole(one), text.whole(two)
            yield a, d, text.text[c:d] + text.text[b:c] + text.text[a:b]


@kind("statement dropped")
def _dropped(text: Text) -> Iterator[Edit]:
    for body in _bodies(text):
        for node in body if len(body) > 1 else ():
            if not text.indent(node).strip():
                yield *text.whole(node), ""


@kind("statement repeated")
def _repeated(text: Text) -> Iterator[Edit]:
    for body in _bodies(text):
        for node in body:
            if not text.indent(node).strip() and isinstance(
                node, (ast.Assign, ast.Expr, ast.FunctionDef)
            ):
                start, end = text.whole(node)
                yield end, end, text.text[start:end]


@kind("statement added")
def _added(text: Text) -> Iterator[Edit]:
    for body in _bodies(text):
        for node in body:
            if not text.indent(node).strip():
                start, _ = text.whole(node)
                yield start, start, f"{text.indent(node)}print()\n"


@kind("pass added")
def _idle(text: Text) -> Iterator[Edit]:
    for body in _bodies(text):
        if not text.indent(body[-1]).strip() if body else False:
            _, end = text.whole(body[-1])
            yield end, end, f"{text.indent(body[-1])}pass\n"


@kind("return value")
def _return(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.Return):
        if node.value is not None and text.of(node.value) != "None":  # type: ignore[attr-defined]
            yield *text.span(node.value), "None"  # type: ignore[attr-defined]


@kind("raise silenced")
def _silenced(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.Raise):
        yield *text.span(node), "pass"


@kind("branch moved")
def _branch(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.If):
        last = node.body[-1]  # type: ignore[attr-defined]
        if not node.orelse and len(node.body) > 1 and not text.indent(last).strip():  # type: ignore[attr-defined]
            start, end = text.whole(last)
            lines = text.text[start:end].split("\n")
            cut = len(text.indent(last)) - len(text.indent(node))  # type: ignore[arg-type]
            if not isinstance(last, (ast.Import, ast.ImportFrom)):
                yield start, end, "\n".join(line[cut:] for line in lines)


@kind("exception type")
def _exception(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.ExceptHandler):
        if node.type is not None:  # type: ignore[attr-defined]
            yield *text.span(node.type), "BaseException"  # type: ignore[attr-defined]


@kind("comment lost")
def _uncommented(text: Text) -> Iterator[Edit]:
    for start, end, _ in text.tokens(tokenize.COMMENT):
        line = text.text.rfind("\n", 0, start) + 1
        if text.text[line:start].strip():
            yield len(text.text[:start].rstrip(" ")), end, ""
        else:
            yield line, min(end + 1, len(text.text)), ""


@kind("comment changed")
def _commented(text: Text) -> Iterator[Edit]:
    for _, end, _ in text.tokens(tokenize.COMMENT):
        yield end, end, "x"


@kind("comment moved down")
def _comment_moved(text: Text) -> Iterator[Edit]:
    for start, end, comment in text.tokens(tokenize.COMMENT):
        line = text.text.rfind("\n", 0, start) + 1
        below = text.text.find("\n", end + 1)
        row = text.text[end + 1 : below]
        if not text.text[line:start].strip() and row.strip() and "#" not in row and below > 0:
            if len(row) - len(row.lstrip()) == start - line and not row.rstrip().endswith(
                ("(", "[", "{", "\\", ",", ":")
            ):
                if not re.match(r"\s*(import|from|[)\]}])", row):
                    yield line, below + 1, f"{row}\n{text.text[line:start]}{comment}\n"


@kind("suppression added")
def _suppressed(text: Text) -> Iterator[Edit]:
    for body in _bodies(text):
        for node in body:
            end = text.starts[node.end_lineno or node.lineno] - 1
            if "#" not in text.lines[(node.end_lineno or node.lineno) - 1]:
                yield end, end, "  # type: ignore"


@kind("look-alike letter")
def _alike(text: Text) -> Iterator[Edit]:
    for node in text.each(ast.FunctionDef, ast.ClassDef):
        start, end = text.span(node)
        found = re.compile(rf"\b{node.name}\b").search(text.text, start, end)  # type: ignore[attr-defined]
        if found and "a" in node.name:  # type: ignore[attr-defined]
            yield found.start(), found.end(), node.name.replace("a", "а", 1)  # type: ignore[attr-defined]


@kind("import dropped")
def _unimported(text: Text) -> Iterator[Edit]:
    for node in text.imports:
        if not text.indent(node).strip() and node in text.tree.body:
            yield *text.whole(node), ""


@kind("imported name dropped")
def _less(text: Text) -> Iterator[Edit]:
    for node in text.imports:
        for alias in node.names if len(node.names) > 1 else ():
            start, end = text.span(alias)
            comma = re.compile(r"\s*,").match(text.text, end)
            if comma:
                yield start, comma.end(), ""


@kind("import redirected")
def _redirected(text: Text) -> Iterator[Edit]:
    for node in text.imports:
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            for alias in node.names:
                name = alias.asname or alias.name
                if alias.name != "*":
                    yield *text.span(alias), f"{alias.name}_x as {name}"


@kind("import from elsewhere")
def _elsewhere(text: Text) -> Iterator[Edit]:
    for node in text.imports:
        if isinstance(node, ast.ImportFrom) and node.module and node.module != "__future__":
            start, end = text.span(node)
            found = text.text.index(node.module, start)
            yield found, found + len(node.module), f"{node.module}_x"


@kind("import shadowed")
def _shadowed(text: Text) -> Iterator[Edit]:
    for node in text.imports:
        if node in text.tree.body and getattr(node, "module", "") != "__future__":
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                _, end = text.whole(node)
                yield end, end, f"from string import digits as {name}\n"


@kind("import for its effect")
def _effect(text: Text) -> Iterator[Edit]:
    for node in text.imports:
        if not text.indent(node).strip() and getattr(node, "module", "") != "__future__":
            _, end = text.whole(node)
            yield end, end, f"{text.indent(node)}import antigravity\n"


@kind("unused name imported")
def _unused(text: Text) -> Iterator[Edit]:
    for node in text.imports:
        if node in text.tree.body and getattr(node, "module", "") != "__future__":
            _, end = text.whole(node)
            yield end, end, "from string import digits as unused_digits\n"


@kind("import repeated")
def _twice(text: Text) -> Iterator[Edit]:
    for node in text.imports:
        if node in text.tree.body and getattr(node, "module", "") != "__future__":
            start, end = text.whole(node)
            yield end, end, text.text[start:end]


@kind("import for types only")
def _typing(text: Text) -> Iterator[Edit]:
    if "TYPE_CHECKING" not in text.text:
        return
    for node in text.imports:
        if node in text.tree.body and getattr(node, "module", "") not in {"__future__", "typing"}:
            start, end = text.whole(node)
            inner = "".join(f"    {line}\n" for line in text.text[start : end - 1].split("\n"))
            yield start, end, f"if TYPE_CHECKING:\n{inner}"


@kind("import guarded")
def _guarded(text: Text) -> Iterator[Edit]:
    for node in text.imports:
        if node in text.tree.body and getattr(node, "module", "") != "__future__":
            start, end = text.whole(node)
            inner = "".join(f"    {line}\n" for line in text.text[start : end - 1].split("\n"))
            yield start, end, f"try:\n{inner}except ImportError:\n    pass\n"


@kind("guard negated")
def _guard(text: Text) -> Iterator[Edit]:
    for node in text.tree.body:
        if isinstance(node, ast.If) and all(
            isinstance(n, (ast.Import, ast.ImportFrom)) for n in node.body
        ):
            yield *text.span(node.test), f"not ({text.of(node.test)})"


@kind("else behind a guard")
def _else(text: Text) -> Iterator[Edit]:
    for node in text.tree.body:
        if isinstance(node, ast.If) and not node.orelse:
            _, end = text.whole(node)
            yield end, end, "else:\n    import antigravity\n"


@kind("definition shadowed")
def _redefined(text: Text) -> Iterator[Edit]:
    for node in text.tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield len(text.text), len(text.text), f"\n\ndef {node.name}(*_):\n    pass\n"


@kind("definition rebound")
def _rebound(text: Text) -> Iterator[Edit]:
    for node in text.tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield len(text.text), len(text.text), f"\n{node.name} = {node.name}\n"


@kind("name deleted")
def _deleted(text: Text) -> Iterator[Edit]:
    for node in text.tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield len(text.text), len(text.text), f"\ndel {node.name}\n"


@kind("star import")
def _star(text: Text) -> Iterator[Edit]:
    for node in text.imports:
        if node in text.tree.body and getattr(node, "module", "") != "__future__":
            _, end = text.whole(node)
            yield end, end, "from string import *\n"


@kind("future dropped")
def _future(text: Text) -> Iterator[Edit]:
    for node in text.imports:
        if getattr(node, "module", "") == "__future__":
            yield *text.whole(node), ""


@kind("export changed")
def _export(text: Text) -> Iterator[Edit]:
    for node in text.tree.body:
        if isinstance(node, ast.Assign) and text.of(node.targets[0]) == "__all__":
            for element in node.value.elts:  # type: ignore[attr-defined]
                yield *text.span(element), '"unknown"'


def mutants(
    path: str, text: str, chance: random.Random, each: int, only: str | None = None
) -> Iterator[Mutant]:
    """Give up to `each` mutants of every kind of one file, in an order that `chance` decides."""
    held = Text(text)
    for name, make in KINDS.items() if only is None else [(only, KINDS[only])]:
        edits = list(make(held))
        chance.shuffle(edits)
        made = 0
        for start, end, new in edits:
            changed = text[:start] + new + text[end:]
            if made >= each:
                break
            if changed == text or not _parses(changed):
                continue
            made += 1
            line = text.count("\n", 0, start) + 1
            yield Mutant(name, path, line, text[start:end][:80], new[:80], changed)


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True
