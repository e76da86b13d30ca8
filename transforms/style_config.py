"""Import style as configuration files state it: isort, Ruff, Black, flake8, yapf, EditorConfig.

The files are data of unknown origin: what cannot be read counts as not there.
"""

from __future__ import annotations

import configparser
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from transforms.import_types import ImportStyle, Wrap

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# isort's `multi_line_output`, by number and by name.
_ISORT_WRAPS: dict[str, Wrap] = {
    "0": "grid",
    "grid": "grid",
    "1": "grid",
    "vertical": "grid",
    "2": "hanging",
    "hanging_indent": "backslash",
    "3": "exploded",
    "vertical_hanging_indent": "exploded",
    "4": "hanging",
    "vertical_grid": "hanging",
    "5": "hanging",
    "vertical_grid_grouped": "hanging",
}
_TRUE = frozenset({"1", "true", "yes", "on"})
_SENSIBLE = range(40, 401)


@dataclass(frozen=True, slots=True)
class Configured:
    """A style with what the configuration states; `width` is None if it states no line length."""

    style: ImportStyle
    width: int | None


def configured(config: Mapping[str, bytes], style: ImportStyle) -> Configured:
    """What configuration files, given by name, say over `style`. isort goes before other tools."""
    tables = _Tables(config)
    isort = tables.first("isort")
    width = _width(tables)
    wrap = _ISORT_WRAPS.get(str(isort.get("multi_line_output", "")).lower())
    if isort.get("profile") == "google":
        style = replace(style, one_name_per_statement=True, statement_order="by module")
    if wrap is not None:
        style = replace(style, wrap=wrap, trailing_comma=False)
        style = replace(style, closing_on_own_line=str(isort.get("multi_line_output")) != "4")
    if "include_trailing_comma" in isort:
        style = replace(style, trailing_comma=_true(isort["include_trailing_comma"]))
    if _true(isort.get("force_single_line", False)):
        style = replace(style, one_name_per_statement=True)
    if _true(isort.get("force_sort_within_sections", False)):
        style = replace(style, statement_order="by module")
    elif _true(isort.get("from_first", False)):
        style = replace(style, statement_order="from first")
    if not _true(isort.get("order_by_type", True)):
        sensitive = _true(isort.get("case_sensitive", False))
        style = replace(style, name_order="case-sensitive" if sensitive else "case-insensitive")
    return Configured(style, width)


def _width(tables: _Tables) -> int | None:
    isort = tables.first("isort")
    lengths = [
        isort.get("line_length"),
        79 if isort.get("profile") == "pycharm" else None,
        tables.first("ruff").get("line_length"),
        tables.first("black").get("line_length"),
        tables.first("yapf").get("column_limit"),
        tables.first("flake8").get("max_line_length"),
        tables.first("pycodestyle").get("max_line_length"),
        tables.first("editorconfig").get("max_line_length"),
    ]
    for length in lengths:
        number = str(length)
        if number.isascii() and number.isdecimal() and len(number) < 4 and int(number) in _SENSIBLE:
            return int(number)
    if "black" in tables.names or isort.get("profile") == "black" or "ruff" in tables.names:
        return 88
    return None


def _true(value: object) -> bool:
    return value is True or str(value).lower() in _TRUE


class _Tables:
    """Each tool's table, keys in snake case, from whichever file holds it."""

    def __init__(self, config: Mapping[str, bytes]) -> None:
        self.names: set[str] = set()
        self._tables: dict[str, dict[str, Any]] = {}
        for path in sorted(config):
            text = config[path].decode("utf-8", "replace")
            name = path.rpartition("/")[2]
            if name.endswith(".toml"):
                self._read_toml(name, text)
            else:
                self._read_ini(name, text)

    def first(self, tool: str) -> dict[str, Any]:
        return self._tables.get(tool, {})

    def _add(self, tool: str, table: object) -> None:
        if not isinstance(table, dict):
            return
        self.names.add(tool)
        known = self._tables.setdefault(tool, {})
        for key, value in table.items():
            known.setdefault(str(key).replace("-", "_").lower(), value)

    def _read_toml(self, name: str, text: str) -> None:
        try:
            data = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError, ValueError):
            return
        tools = {"ruff": data} if name in ("ruff.toml", ".ruff.toml") else data.get("tool", {})
        if not isinstance(tools, dict):
            return
        for tool in ("isort", "black", "ruff", "yapf", "flake8", "pycodestyle"):
            self._add(tool, tools.get(tool))
        ruff = tools.get("ruff")
        lint = ruff.get("lint", ruff) if isinstance(ruff, dict) else None
        self._add("isort", lint.get("isort") if isinstance(lint, dict) else None)

    def _read_ini(self, name: str, text: str) -> None:
        parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
        if name == ".editorconfig":
            text = "[*]\n" + text
        try:
            parser.read_string(text)
        except configparser.Error:
            return
        for section in parser.sections():
            tool = section.removeprefix("tool:")
            if name == ".editorconfig":
                if re.search(r"\*\Z|\bpy\b", section):
                    self._add("editorconfig", dict(parser[section]))
            elif tool in ("settings", "isort") and name != ".style.yapf":
                self._add("isort", dict(parser[section]))
            elif tool == "style" and name == ".style.yapf":
                self._add("yapf", dict(parser[section]))
            elif tool in ("yapf", "flake8", "pycodestyle", "black"):
                self._add(tool, dict(parser[section]))
