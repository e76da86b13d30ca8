"""The two whitespace fixers of pre-commit's own repository, in Python: they need no environment."""

from __future__ import annotations

from collections.abc import Sequence

from transforms.formatters.arguments import options, read_arguments
from transforms.formatters.formatter import BuiltIn, Formatter, Manifest, Stage, Tool
from transforms.formatters.refusals import bad_configuration
from transforms.formatters.settings import Configuration

_REPOSITORY = "pre-commit/pre-commit-hooks"
OPTIONS = {
    # About Markdown files, which are not formatted here.
    **options({"markdown": "--markdown-linebreak-ext"}, "value", effect="drop"),
    **options({"markdown": "--no-markdown-linebreak-ext"}, effect="drop"),
    **options({"chars": "--chars"}, "value"),
}


def prepare(tool: Tool, configuration: Configuration, paths: Sequence[str]) -> Stage:
    """Make a fixer ready; its one option is the characters to strip."""
    del configuration  # it has none
    chars = []
    for argument in read_arguments(tool.hook):
        if not (argument.value or "").isascii():
            raise bad_configuration("`--chars` is not ASCII.", argument.place)
        chars.append(argument.value or "")
    return Stage(tool, frozenset(paths), tuple(chars[-1:]))


def _strip(stage: Stage, data: bytes) -> bytes:
    return strip_lines(data, stage.argv[0].encode() if stage.argv and stage.argv[0] else None)


def strip_lines(data: bytes, chars: bytes | None = None) -> bytes:
    """Strip the end of every line, white space by default; line endings stay."""
    *lines, last = data.split(b"\n")
    stripped = [
        line[:-1].rstrip(chars) + b"\r" if line.endswith(b"\r") else line.rstrip(chars)
        for line in lines
    ]
    return b"\n".join([*stripped, last.rstrip(chars)])


def end_with_newline(data: bytes) -> bytes:
    """End a file that is not empty with one line ending; one of only line endings becomes empty."""
    body = data.rstrip(b"\r\n")
    if not body:
        return b""
    rest = data[len(body) :]
    ending = next((e for e in (b"\r\n", b"\n", b"\r") if rest.startswith(e)), b"\n")
    return body + ending


TRAILING = Formatter(
    name="trailing-whitespace",
    repositories={_REPOSITORY: Manifest(ids=("trailing-whitespace",), types=("text",))},
    options=OPTIONS,
    runs=BuiltIn(_strip),
    prepare=prepare,
)
ENDING = Formatter(
    name="end-of-file-fixer",
    repositories={_REPOSITORY: Manifest(ids=("end-of-file-fixer",), types=("text",))},
    options={},
    runs=BuiltIn(lambda _, data: end_with_newline(data)),
    prepare=prepare,
)
