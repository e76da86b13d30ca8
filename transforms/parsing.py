"""Parsing that always ends in a tree or a refusal, never in a crash of the interpreter."""

from __future__ import annotations

import ast
import warnings

from transforms.errors import Place, Refusal


def parse(data: bytes | str, path: str) -> ast.Module:
    """Parse a module. Refused, with the line, if it is not Python or nested too deeply."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(data, filename=path)
    except SyntaxError as error:
        place = Place(path, error.lineno, error.offset, error.text)
        raise Refusal(
            "syntax-error",
            f"The file does not parse: {error.msg}.",
            next_step="Correct the file, or leave it out of the plan.",
            place=place,
        ) from None
    except ValueError as error:
        raise Refusal(
            "syntax-error",
            f"The file does not parse: {error}.",
            next_step="Correct the file, or leave it out of the plan.",
            place=Place(path),
        ) from None
    except (RecursionError, MemoryError):
        raise Refusal(
            "deep-input",
            "The file nests expressions or statements too deeply to be read.",
            next_step="Split the deepest statement, or leave the file out of the plan.",
            place=Place(path),
        ) from None


def parse_expression(text: str) -> ast.expr | None:
    """Read the expression that a string annotation holds, or None if it holds none.

    It is read as if in parentheses, as type checkers do: columns on the first line are one more.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(f"({text}\n)", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def parse_function_type(text: str) -> ast.FunctionType | None:
    """Read the signature that a `# type: (...) -> ...` comment holds, or None."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text, mode="func_type")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
