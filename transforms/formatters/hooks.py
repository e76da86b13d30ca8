"""Reads `.pre-commit-config.yaml`: which formatters run, at which version, on which files.

Only the formatters of the registry are run, from the repositories that they are known to come from,
or at the version of a lock. Every other hook is left alone, local ones included: none of them can
be run without running the repository's choice of code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from transforms.errors import Place
from transforms.formatters import registry
from transforms.formatters.document import Item, read_yaml
from transforms.formatters.formatter import HOOKS_FILE, BuiltIn, Formatter, Hook, Manifest
from transforms.formatters.locked import command_of, locked_version
from transforms.formatters.others import REWRITING, Unrun
from transforms.formatters.refusals import bad_configuration, unknown_version
from transforms.formatters.settings import is_regular
from transforms.tree import Tree

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
class Hooks:
    """The formatters of one repository in the order they run; `unrun` rewrite code, and do not."""

    files: str = ""
    exclude: str = "^$"
    hooks: tuple[Hook, ...] = ()
    unrun: tuple[Unrun, ...] = ()


def read_hooks(tree: Tree) -> Hooks:
    """Read the tree's pre-commit configuration. Raises `Refusal` for what cannot be followed."""
    if not is_regular(tree.entries().get(HOOKS_FILE)):
        return Hooks()
    data = tree.read(HOOKS_FILE)
    top = read_yaml(HOOKS_FILE, data).table("this file")
    lines = data.decode("utf-8-sig").splitlines()
    stages = top["default_stages"].texts("default_stages") if "default_stages" in top else None
    found: list[Hook] = []
    unrun: list[Unrun] = []
    for repo in top["repos"].items("repos") if "repos" in top else []:
        found += _hooks_of(repo, stages, lines, unrun)
        found += _by_lock(repo, stages, tree, unrun)
    return Hooks(
        files=top["files"].text("files") if "files" in top else "",
        exclude=top["exclude"].text("exclude") if "exclude" in top else "^$",
        hooks=tuple(found),
        unrun=tuple(unrun),
    )


def _hooks_of(
    repo: Item, stages: list[str] | None, lines: list[str], unrun: list[Unrun]
) -> Iterator[Hook]:
    """The hooks of a repository that are run; what rewrites code otherwise goes to `unrun`."""
    table = repo.table("repo")
    if "repo" not in table or "hooks" not in table:
        raise bad_configuration("A repository lacks `repo` or `hooks`.", repo.place)
    url = table["repo"].text("repo")
    remote = _REMOTE.fullmatch(url)
    known = registry.hooks_of(remote[1].lower() if remote else url)
    telling = registry.telling_ids()
    for item in table["hooks"].items("hooks"):
        hook = item.table("hook")
        if "id" not in hook:
            raise bad_configuration("A hook lacks `id`.", item.place)
        identity = hook["id"].text("id")
        if not known and url not in {"local", "meta"} and identity in telling:
            raise bad_configuration(
                f"The hook `{identity}` comes from `{url}`, which Repot does not know.",
                hook["id"].place,
            )
        if not _runs(hook, stages):
            continue
        if identity not in known:
            if identity in REWRITING:
                unrun.append(Unrun(identity, hook["id"].place))
            continue
        formatter, manifest = known[identity]
        version = _version(formatter, table.get("rev"), repo, lines, url)
        yield _hook(formatter, version, hook, manifest)


def _by_lock(
    repo: Item, stages: list[str] | None, tree: Tree, unrun: list[Unrun]
) -> Iterator[Hook]:
    """Local hooks that run a formatter by `uv run`; what cannot be followed of them is not run."""
    table = repo.table("repo")
    if table["repo"].text("repo") != "local":
        return
    for item in table["hooks"].items("hooks"):
        hook = item.table("hook")
        entry = hook["entry"].value if "entry" in hook else None
        command = command_of(entry) if isinstance(entry, str) else None
        if command is None or not _runs(hook, stages):
            continue
        formatter, words = command
        version = locked_version(tree, formatter.project.name) if formatter.project else None
        plain = "pass_filenames" not in hook or hook["pass_filenames"].is_true()
        if version is None or not plain or any(not word.startswith("-") for word in words):
            unrun.append(Unrun(hook["id"].text("id"), hook["id"].place))
            continue
        rest = {key: value for key, value in hook.items() if key not in ("entry", "language")}
        yield _hook(formatter, version, rest, Manifest(ids=(), args=words))


def _runs(hook: dict[str, Item], default: list[str] | None) -> bool:
    stages = hook["stages"].texts("stages") if "stages" in hook else default
    return stages is None or not _AUTOMATIC.isdisjoint(stages)


def _version(formatter: Formatter, rev: Item | None, repo: Item, lines: list[str], url: str) -> str:
    if rev is None:
        raise bad_configuration(f"The repository `{url}` has no `rev`.", repo.place)
    text = rev.text("rev")
    if release := _RELEASE.fullmatch(text):
        return release[1]
    if isinstance(formatter.runs, BuiltIn):
        return text[:12]  # it does the same in every version
    line = lines[rev.line - 1] if rev.line <= len(lines) else ""
    if _COMMIT.fullmatch(text) and (frozen := _FROZEN.search(line)):
        return frozen[1]
    what = "is a commit" if _COMMIT.fullmatch(text) else "names no release"
    raise unknown_version(
        f"`rev: {text}` of `{url}` {what}, so its version is not known.",
        Place(HOOKS_FILE, rev.line, excerpt=line.strip()),
        remedy="Name a release there, or add the comment `# frozen: VERSION` to that line",
    )


def _hook(formatter: Formatter, version: str, hook: dict[str, Item], manifest: Manifest) -> Hook:
    _refuse_overrides(formatter.name, hook)

    def texts(key: str, default: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(hook[key].texts(key)) if key in hook else default

    line = hook["id"].line
    args = tuple((arg, line) for arg in manifest.args)
    if "args" in hook:
        own = tuple((item.text("args item"), item.line) for item in hook["args"].items("args"))
        args = own if manifest.ids else args + own
    return Hook(
        formatter=formatter,
        version=version,
        args=args,
        files=hook["files"].text("files") if "files" in hook else "",
        exclude=hook["exclude"].text("exclude") if "exclude" in hook else "^$",
        types=texts("types", manifest.types),
        types_or=texts("types_or", manifest.types_or),
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
