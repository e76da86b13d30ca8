"""Which arguments of a hook are passed on, dropped or refused."""

from __future__ import annotations

import pytest

from tests.transforms.formatters.trees import PRE_COMMIT, MemoryTree, hooks
from transforms.errors import Refusal
from transforms.formatters import repository_formatters
from transforms.formatters.arguments import read_arguments
from transforms.formatters.formatter import Formatter, Option
from transforms.formatters.hooks import read_hooks
from transforms.formatters.registry import FORMATTERS


def passed_on(hook: str, arguments: str) -> list[str]:
    """Give the arguments that a tool would get for those of a hook."""
    tree = MemoryTree({PRE_COMMIT: hooks(f"{hook}, args: [{arguments}]")})
    (read,) = read_hooks(tree).hooks
    found = read_arguments(read)
    return [part for argument in found for part in argument.argv()]


PASSED = {
    "a flag": ("black", "--preview", ["--preview"]),
    "a value behind an equals sign": ("black", "--line-length=99", ["--line-length=99"]),
    "a value in the next argument": ("black", "--line-length, '99'", ["--line-length=99"]),
    "a short flag": ("black", "-S", ["-S"]),
    "a short flag with its value": ("black", "-l99", ["-l", "99"]),
    "a short flag and its value in one argument": ("black", "-l 99", ["-l", "99"]),
    "a short flag and its value in two": ("black", "-l, '99'", ["-l", "99"]),
    "the same option twice": ("black", "-t, py310, -t, py311", ["-t", "py310", "-t", "py311"]),
    "a value with an equals sign": ("ruff", "--fix, '--per-file-ignores=a.py:F401,b=c.py:E'",
                                    ["--fix", "--per-file-ignores=a.py:F401,b=c.py:E"]),
    "isort's profile": ("isort", "--profile, black", ["--profile=black"]),
    "isort's filter": ("isort", "--filter-files", ["--filter-files"]),
    "isort's grid without a number": ("isort", "--fgw, --tc", ["--fgw", "--tc"]),
    "isort's grid with a number": ("isort", "--fgw, '2'", ["--fgw=2"]),
    "isort's short names": ("isort", "-l100, -e, -p, mine", ["-l", "100", "-e", "-p", "mine"]),
    "ruff's rules": ("ruff", "--fix, '--select=F401,F821'", ["--fix", "--select=F401,F821"]),
    "ruff's negations": ("ruff", "--fix, --no-unsafe-fixes", ["--fix", "--no-unsafe-fixes"]),
    "ruff's formatter": ("ruff-format", "--line-length, '99'", ["--line-length=99"]),
}  # fmt: skip


@pytest.mark.parametrize(("hook", "arguments", "expected"), PASSED.values(), ids=PASSED.keys())
def test_passed_on_is(hook: str, arguments: str, expected: list[str]) -> None:
    assert passed_on(hook, arguments) == expected


DROPPED = {
    "how black talks": ("black", "-q, --verbose, --color"),
    "how many processes black takes": ("black", "-W, '4', --workers=2"),
    "which files black finds by itself": ("black", "--exclude=a, --extend-exclude, b"),
    "that black only checks": ("black", "--check, --diff"),
    "that isort only checks": ("isort", "--check-only, --diff, -c"),
    "how isort writes": ("isort", "--atomic, --overwrite-in-place, --jobs=4, -j, '2', --jobs"),
    "what isort 4 knew": ("isort", "-rc, --apply"),
    "how ruff talks": ("ruff", "-q, --output-format=github, --show-fixes, --exit-non-zero-on-fix"),
    "that ruff has no cache": ("ruff", "--no-cache, -n"),
    "that ruff's formatter only checks": ("ruff-format", "--check, --diff"),
    "what is about Markdown": ("trailing-whitespace", "--markdown-linebreak-ext=md"),
}


@pytest.mark.parametrize(("hook", "arguments"), DROPPED.values(), ids=DROPPED.keys())
def test_dropped_is(hook: str, arguments: str) -> None:
    assert passed_on(hook, arguments) == []


REFUSED = {
    "a file": ("black", "src", "names `src` itself"),
    "a file after two dashes": ("black", "--, src", "no black argument"),
    "code": ("black", "--code=x", "no black argument"),
    "a part of a file": ("black", "--line-ranges=1-2", "a part of a file"),
    "a cache of black's": ("black", "--cache-dir=/tmp", "writes files elsewhere"),
    "a file that ruff writes": ("ruff", "--fix, --output-file=x", "writes files elsewhere"),
    "the same by its short name": ("ruff", "-o, x", "writes files elsewhere"),
    "a cache of ruff's": ("ruff-format", "--cache-dir=.", "writes files elsewhere"),
    "ruff without an end": ("ruff", "--watch", "does not end"),
    "comments that silence ruff": ("ruff", "--add-noqa", "silences"),
    "what ruff would change": ("ruff", "--fix, --diff", "only shows"),
    "a range of ruff's formatter": ("ruff-format", "--range=1-2", "a part of a file"),
    "a rule to ruff's formatter": ("ruff-format", "--select=F", "no ruff format argument"),
    "a plugin of isort's": ("isort", "--formatter=x", "runs code of a plugin"),
    "an environment to isort": ("isort", "--virtual-env=/x", "reaches outside"),
    "an abbreviation": ("isort", "--prof=black", "Did you mean `--profile`?"),
    "a value that is missing": ("black", "--line-length", "lacks its value"),
    "a value too many": ("black", "--preview=yes", "takes no value"),
    "anything to usort": ("usort", "--debug", "no usort argument"),
    "anything to the end-of-file fixer": ("end-of-file-fixer", "--x", "no end-of-file-fixer"),
}


@pytest.mark.parametrize(("hook", "arguments", "cause"), REFUSED.values(), ids=REFUSED.keys())
def test_refused_is(hook: str, arguments: str, cause: str) -> None:
    text = hooks(f"{hook}, args: [{arguments}]")
    with pytest.raises(Refusal) as refused:
        repository_formatters(MemoryTree({PRE_COMMIT: text}))
    assert refused.value.kind == "formatter-configuration"
    assert cause in refused.value.cause + refused.value.next_step
    assert str(refused.value.place) == f"{PRE_COMMIT}:5"


@pytest.mark.parametrize("formatter", FORMATTERS, ids=lambda formatter: formatter.name)
def test_every_option_has_a_reason_where_it_is_refused(formatter: Formatter) -> None:
    for flag, option in formatter.options.items():
        assert isinstance(option, Option)
        assert flag.startswith("-")
        assert bool(option.reason) == (option.effect == "refuse")
