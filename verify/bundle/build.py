"""A bundle, put together from a plan and two commits: the same bytes for everybody."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from transforms.errors import Place, Refusal
from verify.bundle import VERSION
from verify.bundle.engine import carried_files, lock_text
from verify.bundle.quoting import quoted

_SCRIPT = Path(__file__).with_name("script.py")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_ENGINE = "ENGINE: dict[str, str]"


@dataclass(frozen=True, slots=True)
class Subject:
    """All that differs between two bundles of one release. The commits are given by full ids."""

    plan: str
    base: str
    target: str
    installs: tuple[str, ...] = ()  # for the formatters: each project with its version

    def __post_init__(self) -> None:
        if not all(_COMMIT.fullmatch(name) for name in (self.base, self.target)):
            raise ValueError("a commit of a bundle is named by its full id")


def build(subject: Subject) -> bytes:
    """Give the file."""
    return "".join(text for _, text in pieces(subject)).encode()


def pieces(subject: Subject) -> Iterator[tuple[str, str]]:
    """Give the file in pieces of whole lines, each with the name of the part that it belongs to."""
    head, between_ids, before_plan, before_formatters, code, before_engine, end = _script()
    yield "the head", head
    yield "the base", f'BASE = "{subject.base}"\n'
    yield "the head", between_ids
    yield "the target", f'TARGET = "{subject.target}"\n'
    yield "the head", before_plan
    yield "the plan", f"PLAN = {quoted(subject.plan, strict=True)}\n"
    yield "the head", before_formatters
    yield "the formatters", f'FORMATTERS = "{", ".join(subject.installs)}"\n'
    yield "the code that runs", code
    yield "the lock", f"LOCK = {quoted(lock_text(), strict=False)}\n"
    yield "the code that runs", before_engine
    yield "the engine", f"{_ENGINE} = {{\n"
    yield from _engine(subject.installs)
    yield "the engine", "}\n"
    yield "the code that runs", end


@cache
def _engine(installs: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (f"the engine's {path}", f'    "{path}": {quoted(text, strict=False)},\n')
        for path, text in carried_files(installs).items()
    )


@cache
def _script() -> tuple[str, ...]:
    """Give the script in pieces, without its empty constants."""
    rest = _SCRIPT.read_bytes().decode("utf-8").replace("@VERSION@", VERSION)
    found = []
    names = ("BASE", "TARGET", "PLAN", "FORMATTERS", "LOCK")
    for empty in (*(f'{name} = ""' for name in names), f"{_ENGINE} = {{}}"):
        before, line, rest = rest.partition(f"\n{empty}\n")
        if not line:
            raise ValueError(f"script.py has no line `{empty}`")
        found.append(f"{before}\n")
    return (*found, rest)


def write(data: bytes, path: Path) -> None:
    """Write a file. Raises `Refusal` if that cannot be done."""
    try:
        path.write_bytes(data)
    except OSError as error:
        raise Refusal(
            "unwritable-bundle",
            f"The file cannot be written: {error.strerror}.",
            next_step="Name a file in a folder that exists and that you may write to.",
            place=Place(str(path)),
        ) from None
