"""ruff, as linter that fixes and as formatter: its options, its settings, and what they extend."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from transforms.errors import Refusal
from transforms.formatters.arguments import Argument, options, read_arguments
from transforms.formatters.formatter import (
    Formatter,
    Hook,
    Manifest,
    Option,
    Program,
    Project,
    Stage,
    Tool,
)
from transforms.formatters.refusals import bad_configuration
from transforms.formatters.settings import (
    Configuration,
    Schema,
    Source,
    ancestors,
    inside,
    join,
    parse_toml,
    table_of,
    write_toml,
)

_NAMES = (".ruff.toml", "ruff.toml", "pyproject.toml")  # in ruff's order
_CHAIN = 20  # files that extend one another

_LINTERS = frozenset(
    {
        "isort", "mccabe", "pep8-naming", "pycodestyle", "pydoclint", "pydocstyle", "pyflakes",
        "pylint", "pyupgrade", "ruff",
    }
)  # fmt: skip
_LINT = frozenset(
    {
        "allowed-confusables", "builtins", "dummy-variable-rgx", "explicit-preview-rules",
        "extend-fixable", "extend-ignore", "extend-per-file-ignores", "extend-safe-fixes",
        "extend-select", "extend-unfixable", "extend-unsafe-fixes", "external", "fixable", "ignore",
        "ignore-init-module-imports", "logger-objects", "per-file-ignores", "select", "task-tags",
        "typing-modules", "unfixable",
    }
)  # fmt: skip
_FILES = "names or replaces files itself"
_ELSEWHERE = "writes files elsewhere"
SCHEMA = Schema(
    tool="ruff",
    passed=_LINT | _LINTERS | {
        "builtins", "exclude", "extend", "extend-exclude", "extension", "fix", "fix-only",
        "force-exclude", "format", "indent-width", "line-length", "lint", "namespace-packages",
        "per-file-target-version", "preview", "required-version", "src", "tab-size",
        "target-version", "unsafe-fixes",
    },
    ignored=frozenset(
        {
            # They choose among the files of a folder; a hook names every file.
            "include", "extend-include", "respect-gitignore",
            # How it talks.
            "output-format", "output-prefer-rule-codes", "show-fixes", "show-source",
            "update-check", "analyze",
            # It runs without a cache. One outside the repository is refused before this.
            "cache-dir",
        }
    ),
    prefixes=("flake8-",),
)  # fmt: skip
LINT_SCHEMA = Schema(
    tool="ruff",
    passed=_LINT | _LINTERS | {"exclude", "future-annotations", "preview", "typing-extensions"},
    prefixes=("flake8-",),
)
FORMAT_SCHEMA = Schema(
    tool="ruff",
    passed=frozenset(
        {
            "docstring-code-format", "docstring-code-line-length", "exclude", "indent-style",
            "line-ending", "nested-string-quote-style", "preview", "quote-style",
            "skip-magic-trailing-comma",
        }
    ),
)  # fmt: skip

_COMMON = {
    **options(
        {
            name: f"--{name} --no-{name}"
            for name in ("preview", "force-exclude", "respect-gitignore")
        }
        | {"isolated": "--isolated"}
    ),
    **options(
        {name: f"--{name}" for name in ("target-version", "line-length", "exclude", "extension")},
        "value",
    ),
    **options({"config": "--config"}, "value", effect="path"),
    **options(
        {"quiet": "-q --quiet", "verbose": "-v --verbose", "silent": "-s --silent",
         "no-cache": "-n --no-cache", "exit": "--exit-non-zero-on-fix --exit-non-zero-on-format"},
        effect="drop",
    ),
    **options({"output-format": "--output-format --format", "color": "--color"}, "value",
              effect="drop"),
    **{
        flag: Option(flag, effect="refuse", reason=reason)
        for flag, reason in {
            "--cache-dir": _ELSEWHERE,
            "--output-file": _ELSEWHERE,
            "-o": _ELSEWHERE,
            "--stdin-filename": _FILES,
            "--range": "formats a part of a file",
            "--watch": "does not end",
            "-w": "does not end",
            "--add-noqa": "silences complaints instead of repairing them",
            "--add-ignore": "silences complaints instead of repairing them",
        }.items()
    },
}  # fmt: skip
_SELECTORS = (
    "select", "ignore", "extend-select", "extend-ignore", "fixable", "unfixable", "extend-fixable",
    "extend-unfixable", "per-file-ignores", "extend-per-file-ignores", "extend-exclude",
    "dummy-variable-rgx",
)  # fmt: skip
CHECK_OPTIONS = {
    **_COMMON,
    **options({name: f"--{name} --no-{name}" for name in ("fix", "fix-only", "unsafe-fixes")}),
    **options({"ignore-noqa": "--ignore-noqa"}),
    **options({name: f"--{name}" for name in _SELECTORS}, "value"),
    **options(
        {
            "show-fixes": "--show-fixes --no-show-fixes",
            "show-source": "--show-source --no-show-source",
            "statistics": "--statistics",
            "exit-zero": "-e --exit-zero",
        },
        effect="drop",
    ),
    "--diff": Option("diff", effect="refuse", reason="only shows what it would change"),
}
# A hook that only checks passes when the files are formatted, so they are.
FORMAT_OPTIONS = {**_COMMON, **options({"check": "--check", "diff": "--diff"}, effect="drop")}


def prepare_check(tool: Tool, configuration: Configuration, paths: Sequence[str]) -> Stage:
    """Make the linter ready. Complaints may be left: then it exits with 1."""
    return _prepare("check", tool, configuration, paths, accepts=frozenset({0, 1}))


def prepare_format(tool: Tool, configuration: Configuration, paths: Sequence[str]) -> Stage:
    """Make the formatter ready."""
    return _prepare("format", tool, configuration, paths, accepts=frozenset({0}))


def _prepare(
    verb: str,
    tool: Tool,
    configuration: Configuration,
    paths: Sequence[str],
    *,
    accepts: frozenset[int],
) -> Stage:
    """Collect the configuration nearest to each file, and what that extends."""
    argv = [verb, "--force-exclude", "--no-cache"]
    collected = _Collected(configuration)
    hierarchical = True
    for argument in read_arguments(tool.hook):
        if argument.option.effect == "path":
            hierarchical &= not collected.add_named(argument)
        elif argument.option.name == "isolated":
            hierarchical = False
        argv += argument.argv()
    if hierarchical:
        configuration.preload({f for path in paths for f in ancestors(path)}, _NAMES)
        for folder in dict.fromkeys(posixpath.dirname(path) for path in paths):
            collected.add_nearest(folder)
        collected.add_required_pythons({f for path in paths for f in ancestors(path)})
    return Stage(
        tool,
        frozenset(paths),
        tuple(argv),
        collected.configs,
        frozenset(collected.roots | {"", "src"}),
        frozenset(collected.globs),
        accepts,
    )


def fixes(hook: Hook, configuration: Configuration) -> bool:
    """Tell whether `ruff check` changes files: by its arguments, or by any configuration."""
    names = {argument.flag for argument in read_arguments(hook)}
    if not names.isdisjoint({"--fix", "--fix-only"}):
        return True
    if "--no-fix" in names:
        return False
    tables = _tables(configuration, "fix")
    return any(table.get("fix") is True or table.get("fix-only") is True for table in tables)


def sorts(hook: Hook, configuration: Configuration) -> bool:
    """Tell whether `ruff check` sorts imports, by its arguments or by any configuration."""
    arguments = read_arguments(hook)
    chosen = [a for a in arguments if a.option.name in {"select", "extend-select"}]
    rules = [rule for a in chosen for rule in (a.value or "").split(",")]
    if not any(argument.option.name == "select" for argument in chosen):
        for table in _tables(configuration, "select"):
            lint = table.get("lint")
            for section in (table, lint if isinstance(lint, dict) else {}):
                for listed in (section.get("select"), section.get("extend-select")):
                    rules += map(str, listed if isinstance(listed, list) else [])
    return any(
        rule == "ALL" or (rule and "I001".startswith(rule)) for rule in map(str.strip, rules)
    )


def _tables(configuration: Configuration, word: str) -> Iterator[dict[str, Any]]:
    """Give ruff's table of every configuration in the tree that holds the word.

    One that cannot be read is passed over: only those that govern a formatted file must be sound.
    """
    paths = [path for path in configuration.entries if path.rpartition("/")[2] in _NAMES]
    configuration.preload(sorted({posixpath.dirname(path) for path in paths}), _NAMES)
    for path in paths:
        with suppress(Refusal):
            source = configuration.find(path)
            if source and word in source.text:
                yield _table(configuration.toml(path) or {}, source) or {}


def _table(document: dict[str, Any], source: Source) -> dict[str, Any] | None:
    if posixpath.basename(source.path) != "pyproject.toml":
        return document
    return table_of(document, "tool", "ruff", source=source)


class _Collected:
    """The configuration files that ruff will read, vetted, and where they look for modules."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.configs: dict[str, bytes] = {}
        self.roots: set[str] = set()
        self.globs: set[str] = set()

    def add_nearest(self, folder: str) -> None:
        """Add the configuration that governs the files of one folder, if there is one."""
        for candidate in [folder, *ancestors(folder)]:
            for name in _NAMES:
                source = self.configuration.find(join(candidate, name))
                if source and _table(self._document(source), source) is not None:
                    self._add(source, named=False)
                    return

    def add_named(self, argument: Argument) -> bool:
        """Add what `--config` gives: a file (then true), or settings written in the argument."""
        value = argument.value or ""
        if "=" in value:
            source = Source(argument.place.path, value, argument.place.line)
            settings = self._vet(parse_toml(source), source, "")
            if "extend" in settings:
                raise bad_configuration("`--config` extends a file; name it.", argument.place)
            return False
        path = inside("", value, argument.place)
        found = self.configuration.find(path)
        if found is None:
            raise bad_configuration(f"There is no file `{path}`.", argument.place)
        self._add(found, named=True)
        return True

    def add_required_pythons(self, folders: Iterable[str]) -> None:
        """Add the pyproject.toml files that name the oldest Python and do not configure ruff."""
        for folder in folders:
            path = join(folder, "pyproject.toml")
            source = self.configuration.find(path)
            if source and path not in self.configs:
                required = _required_python(self._document(source))
                if required:
                    self.configs[path] = write_toml(required)

    def _add(self, source: Source, *, named: bool) -> None:
        """Add one file and what it extends; paths in a named one are relative to the tree."""
        chain: list[str] = []
        current: Source | None = source
        while current is not None:
            if current.path in chain or len(chain) == _CHAIN:
                way = " extends ".join(f"`{path}`" for path in [*chain, current.path])
                place = current.place("extend")
                raise bad_configuration(f"ruff's `extend` does not end: {way}.", place)
            chain.append(current.path)
            document = self._document(current)
            base = "" if named else current.folder
            table = self._vet(_table(document, current) or {}, current, base)
            if posixpath.basename(current.path) == "pyproject.toml":
                tables = {**_required_python(document), "tool.ruff": table}
            else:
                tables = {"": table}
            self.configs[current.path] = write_toml(tables)
            current = self._extended(table, current)

    def _extended(self, table: dict[str, Any], source: Source) -> Source | None:
        if "extend" not in table:
            return None
        place = source.place("extend")
        if not isinstance(table["extend"], str):
            raise bad_configuration("ruff's `extend` is no path.", place)
        path = inside(source.folder, table["extend"], place)
        found = self.configuration.find(path)
        if found is None:
            raise bad_configuration(f"There is no file `{path}`, which is extended.", place)
        return found

    def _vet(self, table: dict[str, Any], source: Source, base: str) -> dict[str, Any]:
        if isinstance(table.get("cache-dir"), str):
            inside(source.folder, table["cache-dir"], source.place("cache-dir"))
        vetted = SCHEMA.vet(table, source)
        if isinstance(vetted.get("format"), str):
            del vetted["format"]  # until 0.1 this was the format of what it prints
        for key, schema in {"lint": LINT_SCHEMA, "format": FORMAT_SCHEMA}.items():
            section = table_of(vetted, key, source=source)
            if section is not None:
                vetted[key] = schema.vet(section, source, f"{key}.")
        src = vetted.get("src")
        for name in src if isinstance(src, list) else []:
            root = inside(base, str(name), source.place("src"))
            (self.globs if "*" in root else self.roots).add(root)
        if "src" not in vetted:
            self.roots |= {base, join(base, "src")}
        return vetted

    def _document(self, source: Source) -> dict[str, Any]:
        return self.configuration.toml(source.path) or {}


def _required_python(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    project = document.get("project")
    if isinstance(project, dict) and isinstance(project.get("requires-python"), str):
        return {"project": {"requires-python": project["requires-python"]}}
    return {}


_REPOSITORIES = ("astral-sh/ruff-pre-commit", "charliermarsh/ruff-pre-commit")
_TYPES = ("python", "pyi", "jupyter")
_PROJECT = Project("ruff", oldest="0.0.287", entry=Program("ruff"))
_ENVIRONMENT = {"RUFF_NO_CACHE": "true"}
_SEARCHED = ("pyproject.toml", "ruff.toml", ".ruff.toml")
CHECK = Formatter(
    name="ruff",
    repositories=dict.fromkeys(
        _REPOSITORIES, Manifest(ids=("ruff", "ruff-check"), types_or=_TYPES)
    ),
    options=CHECK_OPTIONS,
    runs=_PROJECT,
    prepare=prepare_check,
    changes=fixes,
    sorts=sorts,
    environment=_ENVIRONMENT,
    searched=_SEARCHED,
    commands=(("ruff", "check"),),
)
FORMAT = Formatter(
    name="ruff format",
    repositories=dict.fromkeys(_REPOSITORIES, Manifest(ids=("ruff-format",), types_or=_TYPES)),
    options=FORMAT_OPTIONS,
    runs=_PROJECT,
    prepare=prepare_format,
    environment=_ENVIRONMENT,
    searched=_SEARCHED,
    commands=(("ruff", "format"),),
)
