"""Parsing that always ends in a tree or a refusal, never in a crash of the interpreter."""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NoReturn, TypeVar

from transforms.errors import Place, Refusal
from transforms.syntax.depth import CHAIN_LIMIT, DEPTH_LIMIT, longest_chain, too_deep

_Tree = TypeVar("_Tree")
_Made = TypeVar("_Made")

_EXCERPT_WIDTH = 120
_TYPE_COMMENT = re.compile(rb"#[ \t]*type:[ \t]*(?!ignore\b)")
_BOM = b"\xef\xbb\xbf"

# What the parser says when it gives up on depth.
_TOO_DEEP = ("too many nested", "nested too deeply", "too many levels of indentation")

# Syntax that one interpreter reads and an older one does not, told by the line it fails on.
_NEWER_SYNTAX: tuple[tuple[tuple[int, int], re.Pattern[str], str], ...] = (
    ((3, 11), re.compile(r"^\s*except\s*\*"), "`except*`"),
    ((3, 12), re.compile(r"^\s*type\s+\w+\s*(\[.*\]\s*)?="), "a `type` statement"),
    ((3, 12), re.compile(r"^\s*(async\s+)?(def|class)\s+\w+\s*\["), "type parameters"),
    ((3, 12), re.compile(r"\b[rR]?[fF][rR]?(\"[^\"]*\{|'[^']*\{)"), "a quote within an f-string"),
    ((3, 14), re.compile(r"^\s*except\s+[\w.]+\s*,"), "`except` of several without parentheses"),
    ((3, 14), re.compile(r"\b[rR]?[tT][rR]?[\"']"), "a template string"),
)


_kept: ContextVar[dict[Hashable, Any] | None] = ContextVar("what is parsed", default=None)


@contextmanager
def parsed_once() -> Iterator[None]:
    """Parse each file once within the block, however often it is asked for.

    For work that goes over the same files again and again; they all stay in memory. A block within
    such a block shares what that one keeps.
    """
    if _kept.get() is not None:
        yield
        return
    token = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(token)


def once(key: Hashable, make: Callable[[], _Made]) -> _Made:
    """Make something that nobody changes, or within `parsed_once` give what was made before."""
    kept = _kept.get()
    if kept is None:
        return make()
    if key not in kept:
        kept[key] = make()
    made: _Made = kept[key]
    return made


def parse(data: bytes | str, path: str) -> ast.Module:
    """Parse a module; `path` is only for messages.

    `# type:` comments are attached to their nodes where all of them stand as the parser wants.
    Raises `Refusal`: `syntax-error`, or `deep-input` for what nests more than `DEPTH_LIMIT`
    levels or too many brackets. Both name the place where it is known.
    """
    return once((ast, data, path), lambda: _parse_anew(data, path))


def _parse_anew(data: bytes | str, path: str) -> ast.Module:
    raw = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
    if sys.version_info < (3, 11):
        longest, chain_line = longest_chain(raw)
        if longest > CHAIN_LIMIT:
            _refuse_depth(raw, path, chain_line)
    if b"\0" in raw:
        line = raw.count(b"\n", 0, raw.index(b"\0")) + 1
        raise Refusal(
            "syntax-error",
            "The file is not Python source: it holds a null byte.",
            next_step="Save it as UTF-8 if it is text in another encoding, or leave it out.",
            place=Place(path, line, None, _excerpt(raw, line)),
        )
    try:
        source = data if isinstance(data, bytes) else data.removeprefix("\ufeff")
        tree = _parse(source, path, comments=_TYPE_COMMENT.search(raw) is not None)
    except SyntaxError as error:
        _refuse_syntax(error, raw, path)
    except ValueError as error:  # text that UTF-8 cannot hold
        raise Refusal(
            "syntax-error",
            f"The file is not Python source: {error}.",
            next_step="Correct the file, or leave it out.",
            place=Place(path),
        ) from None
    except (RecursionError, MemoryError):
        longest, chain_line = longest_chain(raw, DEPTH_LIMIT)
        _refuse_depth(raw, path, chain_line if longest else None)
    deep = too_deep(tree, raw.splitlines(keepends=True))
    if deep is not None:
        _refuse_depth(raw, path, deep.lineno)
    return tree


def parse_expression(text: str) -> ast.expr | None:
    """Read the expression that a string annotation holds, or None if it holds none.

    It is read as if in parentheses, as type checkers do: columns on the first line are one more.
    """
    tree = _attempt(lambda: ast.parse(f"({text}\n)", mode="eval").body, text)
    if isinstance(tree, ast.Tuple) and not tree.elts and not text.lstrip().startswith("("):
        return None  # only the parentheses
    return tree


def parse_function_type(text: str) -> ast.FunctionType | None:
    """Read the signature that a `# type: (...) -> ...` comment holds, or None."""
    return _attempt(lambda: ast.parse(text, mode="func_type"), text)


def _attempt(read: Callable[[], _Tree], text: str) -> _Tree | None:
    if len(text) > DEPTH_LIMIT:
        return None  # no type is that long, and a chain in it could be too deep
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read()
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _parse(data: bytes | str, path: str, *, comments: bool) -> ast.Module:
    # Warnings about the source are not ours to print; raised as errors they would fail the parse.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if comments:
            try:
                return ast.parse(data, filename=path, type_comments=True)
            except SyntaxError:  # perhaps only because a type comment stands where none may
                pass
        return ast.parse(data, filename=path)


def _refuse_syntax(error: SyntaxError, raw: bytes, path: str) -> NoReturn:
    message = (error.msg or "invalid syntax").rstrip(".")
    line = error.lineno or None
    if any(words in message for words in _TOO_DEEP):
        _refuse_depth(raw, path, line)
    excerpt = _excerpt(raw, line)
    cause = f"The file does not parse: {message}."
    next_step = "Correct the file, or leave it out."
    newer = _newer_syntax(error.text or excerpt or "", message)
    if newer is not None:
        version, what = newer
        wanted = ".".join(map(str, version))
        running = ".".join(map(str, sys.version_info[:3]))
        cause = f"The file uses {what}, which Python {wanted} brought; this is Python {running}."
        next_step = f"Run Repot on Python {wanted} or newer."
    column = error.offset if line and error.offset and error.offset > 0 else None
    place = Place(path, line, column, excerpt)
    raise Refusal("syntax-error", cause, next_step=next_step, place=place) from None


def _newer_syntax(text: str, message: str) -> tuple[tuple[int, int], str] | None:
    """Tell which newer Python brought what `text` fails on, if that can be known."""
    for version, pattern, what in _NEWER_SYNTAX:
        if sys.version_info >= version or not pattern.search(text):
            continue
        if what.endswith("f-string") and "f-string" not in message:
            continue
        return version, what
    return None


def _refuse_depth(raw: bytes, path: str, line: int | None) -> NoReturn:
    raise Refusal(
        "deep-input",
        f"The file nests too deeply to be read: more than {DEPTH_LIMIT} levels, or more brackets"
        " or blocks than Python allows.",
        next_step="Break the longest chain or the deepest nesting up, or leave the file out.",
        place=Place(path, line, None, _excerpt(raw, line)),
    ) from None


def _excerpt(raw: bytes, line: int | None) -> str | None:
    """Give the text of a line, cut to what a message can hold."""
    if line is None:
        return None
    lines = raw.removeprefix(_BOM).splitlines()
    if not 1 <= line <= len(lines):
        return None
    text = lines[line - 1].decode("utf-8", "replace").strip()
    return text if len(text) <= _EXCERPT_WIDTH else text[:_EXCERPT_WIDTH] + "..."
