"""Reads `.pre-commit-config.yaml`: which formatters run, at which version, on which files.

Only formatters are run: isort, black, ruff and usort from their own repositories, and the two
whitespace fixers of pre-commit's. Every other hook is left alone, local ones included: none of
them can be run without running the repository's choice of code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from transforms.changes import EXECUTABLE
from transforms.errors import Place
from transforms.formatters.document import Item, read_yaml
from transforms.formatters.refusals import bad_configuration, unknown_version
from transforms.formatters.settings import is_regular
from transforms.tree import Tree

PATH = ".pre-commit-config.yaml"

_RUFF_IDS = {"ruff": "ruff", "ruff-check": "ruff", "ruff-format": "ruff format"}
_BLACK_IDS = {"black": "black", "black-jupyter": "black"}
_WHITESPACE_IDS = {name: name for name in ("trailing-whitespace", "end-of-file-fixer")}
# Repository on GitHub -> hook id -> program. Former names of the same repository are listed too.
_REPOSITORIES: Mapping[str, Mapping[str, str]] = {
    "pycqa/isort": {"isort": "isort"},
    "timothycrosley/isort": {"isort": "isort"},
    "pre-commit/mirrors-isort": {"isort": "isort"},
    "psf/black": _BLACK_IDS,
    "python/black": _BLACK_IDS,
    "ambv/black": _BLACK_IDS,
    "psf/black-pre-commit-mirror": _BLACK_IDS,
    "astral-sh/ruff-pre-commit": _RUFF_IDS,
    "charliermarsh/ruff-pre-commit": _RUFF_IDS,
    "facebook/usort": {"usort": "usort"},
    "facebookexperimental/usort": {"usort": "usort"},
    "pre-commit/pre-commit-hooks": _WHITESPACE_IDS,
}
_IDS = {"isort", "usort", *_RUFF_IDS, *_BLACK_IDS}
_PYTHON = ("python", "pyi")
# What the hooks' own manifests say where the repository does not.
_TYPES_OR = {
    "isort": ("cython", *_PYTHON),
    "black": (*_PYTHON, "jupyter"),
    "ruff": (*_PYTHON, "jupyter"),
    "ruff format": (*_PYTHON, "jupyter"),
    "usort": _PYTHON,
}
_TYPES = {"trailing-whitespace": ("text",), "end-of-file-fixer": ("text",)}
_ARGS = {"isort": ("--filter-files",)}
_MIRROR = "pre-commit/mirrors-isort"  # its manifest: types [python], no arguments
# Stages of a commit or push; a formatter that only runs by hand does not shape a landed commit.
_AUTOMATIC = frozenset(
    {"pre-commit", "commit", "pre-merge-commit", "merge-commit", "pre-push", "push"}
)
_HARMLESS = frozenset(
    {
        "id", "name", "alias", "args", "files", "exclude", "types", "types_or", "exclude_types",
        "stages", "additional_dependencies", "language", "language_version", "pass_filenames",
        "description", "verbose", "fail_fast", "require_serial", "always_run", "log_file",
        "minimum_pre_commit_version", "priority",
    }
)  # fmt: skip
_REMOTE = re.compile(
    r"(?:(?:https?|git|ssh)://(?:[\w.-]+@)?|[\w.-]+@)?github\.com[/:]([\w.-]+/[\w.-]+?)(?:\.git)?/?",
    re.IGNORECASE,
)
_NUMBER = r"v?(\d+(?:\.\d+)+(?:(?:a|b|rc)\d+)?(?:\.post\d+)?)"
_RELEASE = re.compile(_NUMBER)
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_FROZEN = re.compile(rf"#\s*frozen:\s*{_NUMBER}\s*$")


@dataclass(frozen=True, slots=True)
class Hook:
    """One hook that runs a formatter, with its manifest's defaults filled in."""

    program: str  # isort, black, ruff, `ruff format`, usort, trailing-whitespace, end-of-file-fixer
    version: str
    args: tuple[tuple[str, int], ...]  # each with its line in the file
    files: str  # regular expressions, searched in the path
    exclude: str
    types: tuple[str, ...]
    types_or: tuple[str, ...]
    exclude_types: tuple[str, ...]
    line: int

    def takes(self, path: str, mode: int | None) -> bool:
        """Tell whether the types let a file through; `files` and `exclude` are judged elsewhere."""
        tags = file_types(path, mode)
        return (
            bool(tags)
            and tags.issuperset(self.types)
            and (not self.types_or or not tags.isdisjoint(self.types_or))
            and tags.isdisjoint(self.exclude_types)
        )


@dataclass(frozen=True, slots=True)
class Hooks:
    """The formatters of one repository in the order they run."""

    files: str = ""
    exclude: str = "^$"
    hooks: tuple[Hook, ...] = ()


def file_types(path: str, mode: int | None) -> frozenset[str]:
    """Give pre-commit's tags of a Python file; none for a link, or a file of another kind."""
    kind = {"py": "python", "pyi": "pyi"}.get(path.rpartition(".")[2])
    if kind is None or not is_regular(mode):
        return frozenset()
    return frozenset(
        {"file", "text", kind, "executable" if mode == EXECUTABLE else "non-executable"}
    )


def read_hooks(tree: Tree) -> Hooks:
    """Read the tree's pre-commit configuration. Raises `Refusal` for what cannot be followed."""
    if not is_regular(tree.entries().get(PATH)):
        return Hooks()
    data = tree.read(PATH)
    top = read_yaml(PATH, data).table("this file")
    lines = data.decode("utf-8-sig").splitlines()
    stages = top["default_stages"].texts("default_stages") if "default_stages" in top else None
    found: list[Hook] = []
    for repo in top["repos"].items("repos") if "repos" in top else []:
        found += _hooks_of(repo, stages, lines)
    return Hooks(
        files=top["files"].text("files") if "files" in top else "",
        exclude=top["exclude"].text("exclude") if "exclude" in top else "^$",
        hooks=tuple(found),
    )


def _hooks_of(repo: Item, stages: list[str] | None, lines: list[str]) -> Iterator[Hook]:
    table = repo.table("repo")
    if "repo" not in table or "hooks" not in table:
        raise bad_configuration("A repository lacks `repo` or `hooks`.", repo.place)
    url = table["repo"].text("repo")
    remote = _REMOTE.fullmatch(url)
    name = remote[1].lower() if remote else url
    programs = _REPOSITORIES.get(name)
    for item in table["hooks"].items("hooks"):
        hook = item.table("hook")
        if "id" not in hook:
            raise bad_configuration("A hook lacks `id`.", item.place)
        identity = hook["id"].text("id")
        if programs is None and url not in {"local", "meta"} and identity in _IDS:
            raise bad_configuration(
                f"The hook `{identity}` comes from `{url}`, which Repot does not know.",
                hook["id"].place,
            )
        program = (programs or {}).get(identity)
        if program is None or not _runs(hook, stages):
            continue
        version = _version(program, table.get("rev"), repo, lines, url)
        yield _hook(program, version, hook, mirrored=name == _MIRROR)


def _runs(hook: dict[str, Item], default: list[str] | None) -> bool:
    stages = hook["stages"].texts("stages") if "stages" in hook else default
    return stages is None or not _AUTOMATIC.isdisjoint(stages)


def _version(program: str, rev: Item | None, repo: Item, lines: list[str], url: str) -> str:
    if rev is None:
        raise bad_configuration(f"The repository `{url}` has no `rev`.", repo.place)
    text = rev.text("rev")
    if release := _RELEASE.fullmatch(text):
        return release[1]
    if program in _WHITESPACE_IDS:
        return text[:12]  # they do the same in every version
    line = lines[rev.line - 1] if rev.line <= len(lines) else ""
    if _COMMIT.fullmatch(text) and (frozen := _FROZEN.search(line)):
        return frozen[1]
    what = "is a commit" if _COMMIT.fullmatch(text) else "names no release"
    raise unknown_version(
        f"`rev: {text}` of `{url}` {what}, so its version is not known.",
        Place(PATH, rev.line, excerpt=line.strip()),
        remedy="Name a release there, or add the comment `# frozen: VERSION` to that line",
    )


def _hook(program: str, version: str, hook: dict[str, Item], *, mirrored: bool) -> Hook:
    _refuse_overrides(program, hook)

    def texts(key: str, default: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(hook[key].texts(key)) if key in hook else default

    line = hook["id"].line
    default_args = () if mirrored else _ARGS.get(program, ())
    args = tuple((arg, line) for arg in default_args)
    if "args" in hook:
        args = tuple((item.text("args item"), item.line) for item in hook["args"].items("args"))
    return Hook(
        program=program,
        version=version,
        args=args,
        files=hook["files"].text("files") if "files" in hook else "",
        exclude=hook["exclude"].text("exclude") if "exclude" in hook else "^$",
        types=texts("types", ("python",) if mirrored else _TYPES.get(program, ("file",))),
        types_or=texts("types_or", () if mirrored else _TYPES_OR.get(program, ())),
        exclude_types=texts("exclude_types", ()),
        line=line,
    )


def _refuse_overrides(program: str, hook: dict[str, Item]) -> None:
    """Refuse what makes the hook run anything but its own formatter on the files it is given."""
    for key, item in hook.items():
        if key not in _HARMLESS:
            raise bad_configuration(f"The {program} hook sets `{key}`.", item.place)
    extra = hook.get("additional_dependencies")
    if extra and extra.items("additional_dependencies"):
        named = ", ".join(extra.texts("additional_dependencies"))
        raise bad_configuration(
            f"The {program} hook installs additional dependencies ({named}), which Repot does not.",
            extra.place,
        )
    if "language" in hook and hook["language"].text("language") != "python":
        raise bad_configuration(
            f"The {program} hook runs in another language.", hook["language"].place
        )
    if "pass_filenames" in hook and not hook["pass_filenames"].is_true():
        raise bad_configuration(
            f"The {program} hook is not given the changed files.", hook["pass_filenames"].place
        )
