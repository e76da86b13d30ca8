"""A Python module as the mover sees it: its text, its syntax tree, and its statements as spans.

The text is never regenerated. Statements are located with `ast` and spliced as they stand, so line
endings, tabs, form feeds, odd spacing and the encoding of a file stay as they were.
"""

from __future__ import annotations

import ast
import bisect
import codecs
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from transforms.errors import Place, Refusal
from transforms.scopes.resolve import Scopes, resolve
from transforms.syntax.comments import header_length, is_banner, is_modeline
from transforms.syntax.kinds import is_future
from transforms.syntax.parsing import parse

_LINE_END = re.compile(r"\r\n|\r|\n")
_OFF = re.compile(r"(?m)^#[ \t]*(fmt|isort|yapf|autopep8):[ \t]*(?:off|disable)\b")
_ON = re.compile(r"#[ \t]*(fmt|isort|yapf|autopep8):[ \t]*(?:on|enable)\b")
_BLANK = re.compile(r"[ \t\f]*\Z")
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class Statement:
    """One top-level statement.

    `start` to `end` are character offsets of its own lines: decorators, body, trailing comment,
    without the final line end. `block_start` includes the comment block that touches it. `shared`
    says that another statement stands on the same line, behind a semicolon.
    """

    index: int
    node: ast.stmt
    block_start: int
    start: int
    end: int
    shared: bool = False

    @property
    def line(self) -> int:
        """The 1-based line of `def`, `class` or the statement itself, below its decorators."""
        return self.node.lineno

    @property
    def is_import(self) -> bool:
        """Whether it is an import, without a guard around it."""
        return isinstance(self.node, (ast.Import, ast.ImportFrom))

    @property
    def is_definition(self) -> bool:
        """Whether it is a function or a class."""
        return isinstance(self.node, _DEFINITIONS)

    @property
    def is_spaced(self) -> bool:
        """Whether blank lines of a definition stand around it: it is one, or branches hold some."""
        return self.is_definition or (
            isinstance(self.node, (ast.If, ast.Try, ast.With))
            and any(isinstance(child, _DEFINITIONS) for child in ast.walk(self.node))
        )


class Module:
    """A parsed module. `text` has no byte order mark; `encode` restores bytes exactly.

    `newer`: what turns a tool on again right below a statement belongs to what turns it off above.
    """

    def __init__(self, path: str, data: bytes, *, newer: bool = False) -> None:
        self.path = path
        self.newer = newer
        self.data = data
        self.bom = data.startswith(codecs.BOM_UTF8)
        self.encoding = _encoding(path, data)
        body = data[len(codecs.BOM_UTF8) :] if self.bom else data
        self.text = _decode(path, body, self.encoding)
        self.tree = parse(self.text if self.encoding != "utf-8" else body, path)

    def encode(self, text: str) -> bytes:
        """The bytes of a new text for this file. Refuses what its encoding cannot hold."""
        try:
            data = text.encode(self.encoding)
        except UnicodeEncodeError as error:
            line = text[: error.start].count("\n") + 1
            raise Refusal(
                "encoding",
                f"The text does not fit the encoding that the file declares ({self.encoding}).",
                next_step="Save the file as UTF-8 in a commit of its own first.",
                place=Place(self.path, line),
            ) from None
        return (codecs.BOM_UTF8 if self.bom else b"") + data

    @cached_property
    def line_starts(self) -> list[int]:
        """Offsets of the lines as the tokenizer counts them: LF, CRLF and a lone CR end a line."""
        return [0, *(found.end() for found in _LINE_END.finditer(self.text))]

    @cached_property
    def newline(self) -> str:
        """The line end that most lines of the file use; LF when it has none."""
        counts: dict[str, int] = {}
        for found in _LINE_END.finditer(self.text):
            counts[found[0]] = counts.get(found[0], 0) + 1
        return max(counts, key=lambda end: (counts[end], end)) if counts else "\n"

    @cached_property
    def scopes(self) -> Scopes:
        """What every name in the module finds."""
        return resolve(self.tree, source_text=self.text)

    def offset(self, line: int, column: int) -> int:
        """The character offset of a position of `ast`: a 1-based line and a UTF-8 byte column."""
        start = self.line_starts[line - 1]
        end = self.line_starts[line] if line < len(self.line_starts) else len(self.text)
        row = self.text[start:end]
        if row.isascii():
            return start + column
        return start + len(row.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "replace"))

    def span(self, node: ast.expr | ast.stmt | ast.alias) -> tuple[int, int]:
        """The offsets of a node, without decorators and comments."""
        return (
            self.offset(node.lineno, node.col_offset),
            self.offset(node.end_lineno or node.lineno, node.end_col_offset or 0),
        )

    def line_of(self, offset: int) -> int:
        """The 1-based line in which an offset lies."""
        return bisect.bisect_right(self.line_starts, offset)

    def line_start(self, offset: int) -> int:
        """The start of the line in which an offset lies."""
        return self.line_starts[self.line_of(offset) - 1]

    def line_text(self, line: int) -> str:
        """A line without its end."""
        start = self.line_starts[line - 1]
        found = _LINE_END.search(self.text, start)
        return self.text[start : found.start() if found else len(self.text)]

    def line_end(self, offset: int) -> int:
        """The end of the line that holds `offset`, before its line end."""
        found = _LINE_END.search(self.text, offset)
        return found.start() if found else len(self.text)

    def after_line(self, offset: int) -> int:
        """The start of the line after the one that holds `offset`."""
        found = _LINE_END.search(self.text, offset)
        return found.end() if found else len(self.text)

    def place(self, line: int) -> Place:
        """A line of this file, for a message."""
        return Place(self.path, line, None, self.line_text(line))

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """The top-level statements, in order."""
        return tuple(self._statements())

    @cached_property
    def definition_gap(self) -> int:
        """Blank lines that the module puts before a top-level definition; 2 if it does not say."""
        gaps = Counter(
            self.blank_lines_before(statement.block_start)
            for statement in self.statements[1:]
            if statement.is_definition and not statement.shared
        )
        gaps.pop(0, None)
        return max(gaps, key=lambda gap: (gaps[gap], gap)) if gaps else 2

    def _statements(self) -> Iterator[Statement]:
        body = self.tree.body
        previous_end = 0
        opening = True  # only strings and `__future__` imports stand above
        for index, node in enumerate(body):
            start = self.line_starts[first_line(node) - 1]
            limit = len(self.text)
            if index + 1 < len(body):
                limit = self.line_starts[first_line(body[index + 1]) - 1]
            end = self._end(node, max(limit, start))
            shared = start < previous_end or (
                index + 1 < len(body) and first_line(body[index + 1]) <= (node.end_lineno or 0)
            )
            block_start = start
            if start >= previous_end:
                block_start = self._block_start(start, previous_end)
                if opening:
                    block_start = self._without_header(block_start, start)
                end = self._after_switch(block_start, start, end) if self.newer else end
            yield Statement(index, node, block_start, start, end, shared)
            previous_end = max(previous_end, end)
            opening = opening and _opens(node)

    def _end(self, node: ast.stmt, limit: int) -> int:
        """The end of a statement's last line, including comments indented into its body.

        A comment block that touches the end of a definition, and nothing below it, is also its own.
        """
        _, own = self.span(node)
        end = self.line_end(own)
        while self.text[own:end].rstrip().endswith("\\") and "#" not in self.text[own:end]:
            following = self.after_line(end)
            if following >= len(self.text):
                break
            own, end = end, self.line_end(following)
        if not hasattr(node, "body"):
            return end
        position = self.after_line(end)
        while position < limit:
            line = self.text[position : self.line_end(position)]
            if line.lstrip(" \t\f").startswith("#") and line[0] in " \t":
                end = self.line_end(position)
            elif not _BLANK.match(line):
                break
            position = self.after_line(position)
        return self._after_comments(end, limit) if isinstance(node, _DEFINITIONS) else end

    def _after_comments(self, end: int, limit: int) -> int:
        """The end of the comment block right below `end`; `end` if it also touches what follows."""
        position, last = self.after_line(end), end
        while position < limit:
            line = self.text[position : self.line_end(position)]
            if not line.startswith("#"):
                return last if _BLANK.match(line) else end
            if is_banner(line) or is_modeline(line):
                return end
            last = self.line_end(position)
            position = self.after_line(position)
        return last if limit == len(self.text) else end

    def _after_switch(self, block_start: int, start: int, end: int) -> int:
        """The end of the line `# fmt: on` right below, if `# fmt: off` stands right above."""
        off = _OFF.findall(self.text, block_start, start)
        position = self.after_line(end)
        line = self.text[position : self.line_end(position)]
        on = _ON.match(line)
        return self.line_end(position) if off and on and on[1] == off[-1] else end

    def _block_start(self, start: int, lowest: int) -> int:
        """Where the comment block that touches a statement begins."""
        block = start
        while block > lowest:
            line = self.line_starts[self.line_of(block) - 2] if self.line_of(block) > 1 else block
            text = self.text[line:block]
            if line < lowest or not text.startswith("#"):
                break
            block = line
        return block

    def _without_header(self, block: int, start: int) -> int:
        """Where the comments of a file's first symbol begin, below those of the file itself."""
        first = self.line_of(block)
        lines = [self.line_text(line) for line in range(first, self.line_of(start))]
        return self.line_starts[first - 1 + header_length(lines)]

    def blank_lines_before(self, offset: int) -> int:
        """How many blank lines stand directly above the line that starts at `offset`."""
        count = 0
        line = self.line_of(offset)
        while line - 1 >= 1 and _BLANK.match(self.line_text(line - 1)):
            line -= 1
            count += 1
        return count

    def blank_lines_after(self, offset: int) -> int:
        """How many blank lines follow the line that holds `offset`."""
        count = 0
        line = self.line_of(offset) + 1
        while line <= len(self.line_starts):
            if line == len(self.line_starts) and self.line_starts[-1] == len(self.text):
                break  # nothing follows the last line end
            if not _BLANK.match(self.line_text(line)):
                break
            line += 1
            count += 1
        return count


def _opens(node: ast.stmt) -> bool:
    """Whether what follows still heads the file: a docstring, a `__future__` import."""
    return is_future(node) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def first_line(node: ast.stmt) -> int:
    """Give the line that a statement begins on, its decorators included."""
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(int(item.lineno) for item in decorators)])


def _encoding(path: str, data: bytes) -> str:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError as error:
        raise Refusal(
            "encoding",
            f"The file's encoding cannot be told: {error}.",
            next_step="Correct its coding line, or list the file under `leave`.",
            place=Place(path, 1),
        ) from None
    return "utf-8" if encoding == "utf-8-sig" else encoding


def _decode(path: str, body: bytes, encoding: str) -> str:
    try:
        text = body.decode(encoding)
        # Some encodings write one text in several ways: what is read must be what is written.
        is_plain = encoding in ("utf-8", "iso-8859-1") or text.encode(encoding) == body
    except (LookupError, UnicodeEncodeError):
        is_plain = False
    except UnicodeDecodeError as error:
        line = body[: error.start].count(b"\n") + 1
        raise Refusal(
            "encoding",
            f"The file is not valid {encoding}: byte {body[error.start]:#04x}.",
            next_step="Declare its encoding or save it as UTF-8, or list the file under `leave`.",
            place=Place(path, line),
        ) from None
    if not is_plain:
        raise Refusal(
            "encoding",
            f"The file cannot be read as {encoding} and written again as it is.",
            next_step="Save it as UTF-8, or list the file under `leave`.",
            place=Place(path, 1),
        )
    return text
