"""Where output goes: results to stdout, progress to stderr, colour only on a terminal.

A closed pipe (`repot apply PLAN | head`) ends the output quietly and changes no exit code.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TextIO

from transforms.errors import Place, Refusal
from verify.report import report as reports
from verify.report.escape import visible_lines
from verify.report.report import Piece, Report, Style

STDOUT = "-"
INTERRUPTED = 130  # the exit code of Ctrl-C, by the convention of shells

_LOOK = {
    Style.PLAIN: "",
    Style.TITLE: "bold",
    Style.PATH: "cyan",
    Style.ADDED: "green",
    Style.REMOVED: "red",
    Style.QUIET: "dim",
    Style.GOOD: "bold green",
    Style.OPEN: "bold yellow",
    Style.BAD: "bold red",
}


def _only_json(form: str, report: Report) -> str:
    raise TypeError(f"a report of {report.command} cannot be written as {form} here")


@dataclass(frozen=True, slots=True)
class Output:
    """How a command was asked to show its report.

    `files` has the file of each form (`json`, `markdown`, ...) that was asked for: a path, or `-`
    for stdout, in place of the text; one of them at most. `verbose` adds seconds by phase,
    `traceback` adds Python's own traceback to a fault. `aside`: stdout holds the command's own
    result, and the words go to stderr. `render` makes each form but JSON; it is
    given, since a bundle, which shows reports too, does not carry those forms.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    verbose: bool = False
    traceback: bool = False
    aside: bool = False
    render: Callable[[str, Report], str] = _only_json

    @property
    def stdout(self) -> str | None:
        """Which rendering goes to stdout, if one does."""
        return next((name for name, file in self.files.items() if file == STDOUT), None)

    def without_files(self) -> Output:
        """Give the same with the text alone."""
        return replace(self, files={})

    def show(self, report: Report) -> None:
        """Print the report, and write the files that were asked for.

        What holds or differs is a result and goes to stdout; a refusal or a fault goes to stderr.
        """
        if self.stdout is None:
            judged = report.verdict in {reports.Verdict.HOLDS, reports.Verdict.DIFFERS}
            lines = reports.to_lines(report, timings=self.verbose)
            print_lines(lines, sys.stdout if judged and not self.aside else sys.stderr)
        self.write(report)

    def show_traceback(self, error: BaseException) -> None:
        """Print Python's traceback to stderr where that was asked for."""
        if self.traceback:
            text = "".join(traceback.format_exception(error))
            print_text(visible_lines(text), sys.stderr)

    def check(self) -> None:
        """Raise `Refusal` if a file cannot be written: better before the work than after."""
        for name, file in self.files.items():
            if file == STDOUT:
                continue
            path = Path(file)
            target = path if path.exists() else path.parent
            if not target.is_dir() and target != path:
                raise _unwritable(name, file, "there is no such folder")
            if path.is_dir() or not os.access(target, os.W_OK):
                raise _unwritable(name, file, "it is a folder, or you may not write to it")

    def write(self, report: Report) -> None:
        """Write the files alone, or the one on stdout. Raises `Refusal` if one cannot be."""
        for name, file in self.files.items():
            text = self._rendered(name, report)
            if file == STDOUT:
                print_text(text, sys.stdout)
                continue
            try:
                Path(file).write_bytes(text.encode("utf-8", "backslashreplace"))
            except OSError as error:
                cause = error.strerror or type(error).__name__
                raise _unwritable(name, file, cause) from error

    def _rendered(self, name: str, report: Report) -> str:
        if name == "json":
            return reports.to_json(report, timings=self.verbose)
        return self.render(name, report)


_NAMES = {
    "json": "JSON report",
    "markdown": "Markdown report",
    "html": "page",
    "github": "list of annotations",
    "gitlab": "list of annotations",
}


def _unwritable(name: str, file: str, cause: str) -> Refusal:
    return Refusal(
        "unwritable-report",
        f"The {_NAMES[name]} cannot be written: {cause}.",
        next_step="Name a file in a folder that exists and that you may write to.",
        place=Place(file),
    )


def is_colourful(stream: TextIO) -> bool:
    """Tell whether colour may be used: on a terminal that has it, and nobody objects."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def print_lines(lines: Iterable[tuple[Piece, ...]], stream: TextIO) -> None:
    """Print lines of styled pieces. Without colour the bytes are the same everywhere."""
    if not is_colourful(stream):
        print_text("".join("".join(text for text, _ in line) + "\n" for line in lines), stream)
        return
    from rich.console import Console  # loading Rich takes longer than most reports
    from rich.text import Text

    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    with _quiet_if_closed(stream):
        for line in lines:
            text = Text.assemble(*((piece, _LOOK[style]) for piece, style in line))
            console.print(text, soft_wrap=True)


def print_text(text: str, stream: TextIO) -> None:
    """Print text that is already escaped; a character that the stream lacks is escaped too."""
    with _quiet_if_closed(stream):
        encoding = stream.encoding or "utf-8"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()


def print_exactly(text: str, stream: TextIO) -> None:
    """Print text that another program will read: its bytes in UTF-8, whatever the stream speaks."""
    with _quiet_if_closed(stream):
        stream.flush()
        stream.buffer.write(text.encode("utf-8"))
        stream.buffer.flush()


def print_diff(diff: bytes, stream: TextIO) -> None:
    """Print a unified diff: byte for byte into a pipe or file, escaped on a terminal."""
    if not stream.isatty():
        with _quiet_if_closed(stream):
            stream.flush()
            stream.buffer.write(diff)
            stream.buffer.flush()
        return
    text = diff.decode("utf-8", "surrogateescape")
    print_lines((_diff_line(line) for line in text.split("\n")[:-1]), stream)


def print_rows(rows: Iterable[tuple[bytes, bytes]], stream: TextIO) -> None:
    """Print lines that a file has: as they are into a pipe or file, escaped on a terminal.

    Each is what stands before the line, and the line with its end. A terminal is not shown the
    carriage return before an end.
    """
    if not stream.isatty():
        with _quiet_if_closed(stream):
            stream.flush()
            stream.buffer.write(b"".join(head + text for head, text in rows))
            stream.buffer.flush()
        return
    print_lines(map(_file_line, rows), stream)


def _file_line(row: tuple[bytes, bytes]) -> tuple[Piece, ...]:
    head, text = (part.decode("utf-8", "surrogateescape") for part in row)
    return (
        (visible_lines(head), Style.QUIET),
        (visible_lines(text.removesuffix("\n").removesuffix("\r")), Style.PLAIN),
    )


def _diff_line(line: str) -> tuple[Piece, ...]:
    style = Style.PLAIN
    if line.startswith("@@"):
        style = Style.PATH
    elif line.startswith(("diff --git ", "+++ ", "--- ")):
        style = Style.TITLE
    elif line.startswith("+"):
        style = Style.ADDED
    elif line.startswith("-"):
        style = Style.REMOVED
    return ((visible_lines(line), style),)


@contextmanager
def _quiet_if_closed(stream: TextIO) -> Iterator[None]:
    """Let a reader leave early: what follows goes nowhere, also at the interpreter's exit."""
    try:
        yield
        stream.flush()
    except BrokenPipeError:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
