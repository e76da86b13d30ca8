"""Reads a hook's arguments by its formatter's options: passed on, dropped or refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from transforms.errors import Place, nearest
from transforms.formatters.formatter import HOOKS_FILE, Hook, Option
from transforms.formatters.refusals import bad_configuration


@dataclass(frozen=True, slots=True)
class Argument:
    """One option of a hook as it was read."""

    option: Option
    flag: str
    value: str | None
    place: Place

    def argv(self) -> tuple[str, ...]:
        """Spell it for the tool."""
        if self.value is None:
            return (self.flag,)
        if self.flag.startswith("--"):
            return (f"{self.flag}={self.value}",)
        return (self.flag, self.value)


def options(rows: Mapping[str, str], takes: str = "", **common: str) -> dict[str, Option]:
    """Make a table from rows of a setting's name and its flags, separated by spaces."""
    return {
        flag: Option(name, takes, **common)
        for name, flags in rows.items()
        for flag in flags.split()
    }


def read_arguments(hook: Hook) -> list[Argument]:
    """Read all arguments in their order. Raises `Refusal` with file and line."""
    table = hook.formatter.options
    found = []
    pending = list(hook.args)
    while pending:
        text, line = pending.pop(0)
        place = Place(HOOKS_FILE, line, excerpt=text)
        flag, value = _split(text, table)
        option = table.get(flag)
        if option is None:
            raise _unknown(hook, text, flag, place)
        if option.effect == "refuse":
            raise bad_configuration(f"The {hook.program} argument `{flag}` {option.reason}.", place)
        if value is None and _wants_next(option, pending):
            value = pending.pop(0)[0]
        if value is None and option.takes == "value":
            raise bad_configuration(f"The {hook.program} argument `{flag}` lacks its value.", place)
        if value is not None and not option.takes:
            raise bad_configuration(f"The {hook.program} argument `{flag}` takes no value.", place)
        if option.effect != "drop":
            found.append(Argument(option, flag, value, place))
    return found


def _split(text: str, table: Mapping[str, Option]) -> tuple[str, str | None]:
    """Part `--flag=value`, `-f value` and `-fvalue`."""
    if text.startswith("--"):
        flag, equals, value = text.partition("=")
        return flag, value if equals else None
    if text in table or len(text) < 3 or text[:2] not in table:
        return text, None
    return text[:2], text[2:].strip()


def _wants_next(option: Option, pending: list[tuple[str, int]]) -> bool:
    if not pending:
        return False
    if option.takes == "number?":
        return re.fullmatch(r"\d+", pending[0][0]) is not None
    return option.takes == "value"


def _unknown(hook: Hook, text: str, flag: str, place: Place) -> Exception:
    if not text.startswith("-"):
        return bad_configuration(
            f"The {hook.program} hook names `{text}` itself; Repot formats what the move touches.",
            place,
            remedy="Remove it",
        )
    near = nearest(flag, hook.formatter.options)
    remedy = f"Did you mean `{near[0]}`? Change it" if near else "Remove it"
    return bad_configuration(
        f"`{flag}` is no {hook.program} argument that Repot passes on.", place, remedy=remedy
    )
