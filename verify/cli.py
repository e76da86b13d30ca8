"""The command `repot`: what it is called with, and how it ends.

Exit codes: 0 it holds; 1 it differs; 2 it could not be judged, wrong usage included; 3 a fault of
Repot; 130 interrupted. Each subcommand is a module of `verify.commands`, added to `app` here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from verify.commands import (
    apply,
    blame,
    bundle,
    carry,
    certify,
    chain,
    infer,
    mcp,
    origin,
    plan,
    review,
    series,
    verify,
)
from verify.history.memory import collect_less_often
from verify.report.console import INTERRUPTED, Output, print_text
from verify.report.escape import visible_lines
from verify.report.report import Verdict, faulted

_COMPLETE = "_REPOT_COMPLETE"
HELP = """Move Python code into new modules, byte for byte, from a plan of a few lines.

\b
Examples:
  repot plan shop.orders -o split.toml
                                      a first plan: what hangs together in a module
  repot apply split.toml              what a plan would change here
  repot apply split.toml --write      make the move
  repot review main..HEAD             a change of somebody else's: only the lines to read
  repot verify split.toml --base main --target HEAD
                                      whether a commit is just that move
  repot certify main..HEAD            the same without a plan: what is not part of a move
  repot chain main..HEAD              every commit: claimed moves proved, the others listed
  repot infer main..HEAD -o split.toml
                                      the plan behind a change that came without one
  repot carry feature --over main~3   an open branch, over a split that main has made meanwhile
  repot origin shop/money.py          git blame that follows code through such moves
  repot bundle split.toml --base main --target HEAD -o check_split.py
                                      one file that proves it to anybody
  repot mcp --root .                  the same for agents: an MCP server over stdio
  repot apply --help                  everything about one command
"""

app = typer.Typer(
    name="repot",
    help=HELP,
    add_completion=False,
    rich_markup_mode=None,  # help and usage errors hold what the user typed: no markup is read
    pretty_exceptions_enable=False,  # faults are worded by the report
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
app.command(
    "plan",
    help=plan.HELP,
    short_help="Write a first plan for MODULE: what is in it, and what hangs together.",
)(plan.plan)
app.command("apply", help=apply.HELP)(apply.apply)
app.command(
    "review",
    help=review.HELP,
    short_help="Review a change: the verdict, what moved, the lines to read.",
)(review.review)
app.command(
    "verify",
    help=verify.HELP,
    short_help="Replay PLAN on the base commit and compare it with the target.",
)(verify.verify)
app.command(
    "certify",
    help=certify.HELP,
    short_help="Judge whether a change is a move and nothing else, without a plan.",
)(certify.certify)
app.command("chain", help=chain.HELP)(chain.chain)
app.command("infer", help=infer.HELP)(infer.infer)
app.command(
    "bundle", help=bundle.HELP, short_help="Write one Python file that checks a move in any clone."
)(bundle.bundle)
app.command(
    "carry", help=carry.HELP, short_help="Carry an open branch over a split that main has made."
)(carry.carry)
app.command(
    "origin", help=origin.HELP, short_help="Show where each line of FILE comes from, through moves."
)(origin.origin)
app.command("mcp", help=mcp.HELP, short_help="Serve the tools of a repository to agents (MCP).")(
    mcp.mcp
)
app.command("series", help=series.HELP)(series.series)
app.command("blame", help=blame.HELP)(blame.blame)


@app.callback(invoke_without_command=True)
def repot(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)
    ] = False,
) -> None:
    """Answer what needs no subcommand."""
    if version:
        from importlib.metadata import version as distribution_version

        print_text(f"repot {distribution_version('repot')}\n", sys.stdout)
        raise typer.Exit(0)
    if context.invoked_subcommand is None:
        print_text(context.get_help() + "\n", sys.stderr)
        raise typer.Exit(Verdict.UNJUDGED.exit_code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (`sys.argv` by default) and give its exit code. Prints all it has to."""
    if _COMPLETE in os.environ:  # a shell asks how it completes this command, or for words
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()
    try:
        code = app(args=arguments, prog_name="repot", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except typer.TyperException as error:
        print_text(_usage(error), sys.stderr)
        return Verdict.UNJUDGED.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # outside every command: still no traceback for the user
        report = faulted("", error)
        Output().show(report)
        return report.exit_code


def _usage(error: typer.TyperException) -> str:
    """Word a usage error: what was wrong, then where to read more."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "repot"
    return visible_lines(f"{error.format_message()}\nTry `{command} --help`.\n")


def main() -> None:
    """Be the console script."""
    collect_less_often()
    code = run()
    sys.stdout.flush()
    sys.exit(code)
