"""The command `hicache`: a demonstration of the tiers, statistics, and a check of page files.

Exit codes: 0 it holds; 1 it does not; 2 it could not be judged, wrong usage and a missing extra
included; 3 a fault of the program; 130 interrupted.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hicache.demo import Demonstration
    from hicache.workload import Measurement, Request

# The extra that brings a module, where it is missing.
_EXTRAS = {
    "torch": "pool",
    "numpy": "pool",
    "psutil": "pool",
    "prometheus_client": "metrics",
}

_PROGRESS_S = 1.0  # between two lines that say how far a command is

HOLDS, DIFFERS, UNJUDGED, FAULT, INTERRUPTED = 0, 1, 2, 3, 130

HELP = """Keep keys and values of prompts in three tiers: device memory, host memory, files.

\b
Examples:
  hicache demo                        serve a prompt from each tier in turn
  hicache stats                       what serving some requests takes
  hicache check pages                 whether page files are whole
  hicache demo --help                 everything about one command
"""

DEMO_HELP = """Serve one prompt from each tier in turn and compare the tokens.

A small decoder with random weights runs on the CPU. Every run is held to what it should take
from where: hits and bytes of each tier. A damaged page file is refused and its page computed
again. At last one byte of a page in host memory is flipped, and the tokens must change: this
shows that the cache was read. The output is the same each time.

\b
Examples:
  hicache demo
  hicache demo --attention mla --dtype bfloat16
  hicache demo --layout page_first_direct --folder pages

\b
Exit codes:
  0  every run did what it should
  1  one did not: its line says what
  2  it could not be run: wrong usage, the extra `pool` missing, too little memory
"""

CHECK_HELP = """Check every page file in FOLDER: its name, format, length and checksum.

Nothing is changed. A cache that meets a bad file refuses it, and computes the page again.

\b
Examples:
  hicache demo --folder pages
  hicache check pages

\b
Exit codes:
  0  every file is a whole page
  1  some are not: each is listed with the reason
  2  there is no such folder, nothing in it, no way to read it, or the extra `pool` is missing
"""


STATS_HELP = """Serve requests and print what that took: of each tier, and of each kind of transfer.

The requests are those of a few conversations (`demo`), or read from a file with one JSON object
a line, such as {"tokens": [3, 14, 15], "new_tokens": 2}; tokens are numbers from 0 to 255, and
"extra_key" keeps pages apart. With --port the requests are served over and over until it is
interrupted, and Prometheus may scrape. Interrupted, it prints what was measured so far.

\b
Examples:
  hicache stats
  hicache stats --pages 32 --room 0.05 --json
  hicache stats --workload requests.jsonl --layout page_first_direct
  hicache stats --port 9400

\b
Exit codes:
  0  every request was served
  1  a transfer failed, a page was not written, or a page file was refused
  2  it could not be run: wrong usage, a missing extra, a port in use, too little memory, too few
     pages for a request
  130  it was interrupted (with --port that is its end: 0 or 1)
"""


class Attention(str, Enum):
    """Kinds of attention: many heads, latent, or latent and sparse by an indexer."""

    MHA = "mha"
    MLA = "mla"
    DSA = "dsa"


class Layout(str, Enum):
    """Layouts of the host pool."""

    LAYER_FIRST = "layer_first"
    PAGE_FIRST = "page_first"
    PAGE_FIRST_DIRECT = "page_first_direct"
    PAGE_HEAD = "page_head"


class Dtype(str, Enum):
    """Types that keys and values are kept in."""

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"


# What commands that run a decoder have in common.
AttentionOption = Annotated[Attention, typer.Option(help="What the decoder attends with.")]
LayoutOption = Annotated[Layout, typer.Option(help="How the host pool orders its rows.")]
DtypeOption = Annotated[Dtype, typer.Option(help="What keys and values are kept in.")]


app = typer.Typer(
    name="hicache",
    help=HELP,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.callback(invoke_without_command=True)
def hicache(context: typer.Context) -> None:
    """Answer what needs no subcommand."""
    if context.invoked_subcommand is None:
        _say(context.get_help(), error=True)
        raise typer.Exit(UNJUDGED)


@app.command("demo", help=DEMO_HELP)
def demo(
    attention: AttentionOption = Attention.MHA,
    layout: LayoutOption = Layout.PAGE_FIRST,
    dtype: DtypeOption = Dtype.FLOAT32,
    folder: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep the page files here; new or empty."),
    ] = None,
) -> None:
    """Read the command line, then run the demonstration."""
    import torch

    from hicache.demo import demonstrate

    torch.set_num_threads(1)  # rows are too small to share out
    # What is refused is in the table; the paths that the log names differ each time.
    logging.getLogger("hicache").addHandler(logging.NullHandler())
    with _folder(folder) as place:
        try:
            shown = demonstrate(
                place, attention=attention.value, layout=layout.value, dtype=dtype.value
            )
        except ValueError as error:  # a layout that the family lacks, too little memory
            raise _Unjudged(str(error)) from error
    _show(shown)
    raise typer.Exit(HOLDS if shown.holds else DIFFERS)


@app.command("stats", help=STATS_HELP)
def stats(  # noqa: PLR0913, PLR0917  a command takes its options
    workload: Annotated[str, typer.Option(metavar="demo|FILE", help="What is served.")] = "demo",
    attention: AttentionOption = Attention.MHA,
    layout: LayoutOption = Layout.PAGE_FIRST_DIRECT,
    dtype: DtypeOption = Dtype.FLOAT32,
    pages: Annotated[
        int, typer.Option(min=2, max=1 << 32, help="Pages of 16 tokens on the device.")
    ] = 16,
    ratio: Annotated[float, typer.Option(min=0.1, help="Pages of the host to one of it.")] = 1.5,
    room: Annotated[
        float, typer.Option(min=0, max=0.5, help="Share of both tiers that evictions leave free.")
    ] = 0.1,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Serve metrics here; 0 for any port.")
    ] = None,
    address: Annotated[
        str, typer.Option(help="Serve them on this address, to whoever reaches it.")
    ] = "127.0.0.1",
) -> None:
    """Read the command line, then serve the requests."""
    import torch

    from hicache.decoder import Decoder, DecoderConfig
    from hicache.machine import Machine
    from hicache.room import FreeRoom
    from hicache.workload import Measurement

    torch.set_num_threads(1)
    decoder = Decoder(DecoderConfig(attention=attention.value))
    requests = _requests(workload, decoder.config.vocabulary, pages)
    with tempfile.TemporaryDirectory(prefix="hicache-") as name:
        with _options_named("--pages, --ratio, --layout or --room"):
            machine = Machine(
                decoder,
                layout.value,
                getattr(torch, dtype.value),
                Path(name),
                pages=pages,
                ratio=ratio,
                room=FreeRoom(device=room, host=room),
            )
        interrupted = False
        with closing(machine):
            measurement = Measurement(machine)
            if port is None:
                interrupted = _serve(measurement, requests)
            else:
                _serve_until_interrupted(measurement, requests, port, address)
            _say(measurement.as_json() if json else measurement.as_text())
    ended = HOLDS if measurement.holds else DIFFERS
    raise typer.Exit(INTERRUPTED if interrupted else ended)


def _requests(workload: str, vocabulary: int, pages: int) -> list[Request]:
    """Give the requests of a workload that a device of so many pages can serve; all of them."""
    from hicache.workload import demo_requests, read_requests

    if workload == "demo":
        requests = demo_requests(vocabulary)
    else:
        with _options_named("--workload"):
            requests = read_requests(Path(workload), vocabulary)
    number, longest = max(enumerate(requests, 1), key=lambda each: each[1].pages)
    if longest.pages > pages:
        raise _Unjudged(
            f"request {number} needs {longest.pages} pages on the device, which has {pages}: "
            f"use --pages {longest.pages} or more"
        )
    return requests


@contextmanager
def _options_named(options: str) -> Iterator[None]:
    """Turn what a user's options cannot have into an error that names them."""
    try:
        yield
    except (ValueError, MemoryError, OverflowError) as error:
        raise _Unjudged(f"{str(error) or 'too little memory'}\nchange {options}") from error
    except RuntimeError as error:
        # So torch says that there is not so much memory, or that a size is no size.
        if "memory" not in str(error) and "size" not in str(error):
            raise
        first = str(error).partition("\n")[0]
        raise _Unjudged(f"{first}\nchange {options}") from error


@app.command("check", help=CHECK_HELP)
def check(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="What a cache keeps files in.")],
) -> None:
    """Read the command line, then check."""
    from hicache.storage.file import page_files

    if not folder.is_dir():
        raise _Unjudged(f"{folder}: no such folder")
    whole, bad = 0, 0
    for path, fault in page_files(folder):
        if fault is None:
            whole += 1
        else:
            bad += 1
            _say(f"{path.relative_to(folder)}: {fault}")
    if not whole + bad:
        raise _Unjudged(f"{folder}: no page files in it, so nothing was checked")
    _say(f"{whole} whole, {bad} bad")
    raise typer.Exit(DIFFERS if bad else HOLDS)


def _serve(measurement: Measurement, requests: Sequence[Request]) -> bool:
    """Serve requests; say how far it is, and whether it was interrupted."""
    last = time.monotonic()

    def told(served: int) -> None:
        nonlocal last
        if time.monotonic() - last > _PROGRESS_S:
            last = time.monotonic()
            _say(f"{served:,} of {len(requests):,} requests", error=True)

    try:
        measurement.serve(requests, told)
    except KeyboardInterrupt:
        _say(f"interrupted after {measurement.served.requests:,} requests", error=True)
        return True
    return False


def _serve_until_interrupted(
    measurement: Measurement, requests: Sequence[Request], port: int, address: str
) -> None:
    """Serve requests over and over, and their statistics to Prometheus."""
    from hicache.metrics import serve

    with closing(serve(measurement.summary, port, address)) as endpoint:
        _say(f"metrics on {endpoint.url} until interrupted", error=True)
        with suppress(KeyboardInterrupt):
            while True:
                measurement.serve(requests)


class _Unjudged(Exception):
    """What was asked cannot be done; the message says why."""


@contextmanager
def _folder(wanted: Path | None) -> Iterator[Path]:
    """Give the folder for page files: the wanted one if it is new or empty, else one for now."""
    if wanted is None:
        with tempfile.TemporaryDirectory(prefix="hicache-") as name:
            yield Path(name)
        return
    if wanted.exists() and (not wanted.is_dir() or any(wanted.iterdir())):
        raise _Unjudged(f"--folder {wanted}: expected a new or empty folder")
    yield wanted


def _show(shown: Demonstration) -> None:
    """Print what every run took from where, then the tokens, then the verdict."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("run", no_wrap=True)
    for heading in ("device", "host", "files", "computed", "refused", "loaded B", "read B"):
        table.add_column(heading, justify="right")
    table.add_column("tokens")
    first = shown.runs[0].tokens
    for run in shown.runs:
        taken = run.taken
        numbers = (taken.device, taken.host, taken.files, taken.computed, taken.refused)
        sizes = (taken.loaded_bytes, taken.read_bytes)
        same = "the same" if run.tokens == first else "others"
        table.add_row(run.name, *map(str, numbers), *(f"{size:,}" for size in sizes), same)
    console = Console(width=100, highlight=False, markup=False, emoji=False)  # the same anywhere
    _say(f"{shown.model}, pages of {shown.page_bytes:,} bytes\n")
    with console.capture() as captured:
        console.print(table)
    _say("\n".join(line.rstrip() for line in captured.get().splitlines()))
    _say(f"\ntokens:          {' '.join(map(str, first))}")
    _say(f"after the flip:  {' '.join(map(str, shown.runs[-1].tokens))}\n")
    for run in shown.runs:
        if (fault := shown.fault(run)) is not None:
            _say(f"FAIL: {run.name}: {fault}")
    if shown.holds:
        _say("PASS: the same tokens from every tier, and others once the cache was changed.")


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (`sys.argv` by default) and give its exit code."""
    try:
        code = app(args=arguments, prog_name="hicache", standalone_mode=False)
        return code if isinstance(code, int) else HOLDS
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "hicache"
        _say(f"{error.format_message()}\nTry `{command} --help`.", error=True)
        return UNJUDGED
    except ModuleNotFoundError as error:
        if error.name not in _EXTRAS:
            raise
        extra = _EXTRAS[error.name]
        _say(
            f"hicache needs {error.name}, which is not installed here. It comes with the extra "
            f"`{extra}`:\n  pip install 'repot[{extra}]'",
            error=True,
        )
        return UNJUDGED
    except (_Unjudged, OSError) as error:
        _say(str(error), error=True)
        return UNJUDGED
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # no traceback for the user, but what is needed to report it
        _say(f"a fault of hicache: {type(error).__name__}: {error}", error=True)
        return FAULT


def _say(text: str, *, error: bool = False) -> None:
    """Print to stdout or stderr; a reader who has left changes no exit code."""
    try:
        typer.echo(text, err=error)
    except BrokenPipeError:
        # What follows goes nowhere, also what is flushed at the interpreter's exit.
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, (sys.stderr if error else sys.stdout).fileno())
        os.close(null)


def main() -> None:
    """Be the console script."""
    sys.exit(run())
