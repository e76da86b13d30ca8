"""The formatters of a repository: which they are, and what they make of the files of a move."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from transforms.formatters.arguments import read_arguments
from transforms.formatters.environments import ensure
from transforms.formatters.firstparty import Stubs, find_stubs, words
from transforms.formatters.formatter import Stage, Tool
from transforms.formatters.hooks import Hooks, read_hooks
from transforms.formatters.others import Unrun
from transforms.formatters.running import match, run
from transforms.formatters.settings import Configuration
from transforms.formatters.store import Results, cache_folder
from transforms.formatters.versions import is_ours, needs, pins, require_known
from transforms.paths import to_bytes
from transforms.result.changes import REGULAR
from transforms.tree import Tree

_SHARE = 60_000  # bytes of source that are worth a second process
_PROCESSES = 8


@dataclass(frozen=True, slots=True)
class Formatted:
    """A file as the formatters leave it, and the labels of those that changed it, in order."""

    data: bytes
    changed_by: tuple[str, ...]


def repository_formatters(tree: Tree, *, say: Callable[[str], None] | None = None) -> Formatters:
    """Read which formatters a repository runs, from the pre-commit configuration of its base.

    `say` is told what takes long (an installation). A repository without such a configuration has
    no formatters. Raises `Refusal`: `formatter-configuration` for what cannot be followed,
    `formatter-version` for a version that is not in the table.
    """
    hooks = read_hooks(tree)
    configuration = Configuration(tree)
    kept = []
    for hook in hooks.hooks:
        if not hook.formatter.changes(hook, configuration):
            continue
        require_known(hook)
        read_arguments(hook)
        kept.append(Tool(hook, sorts=hook.formatter.sorts(hook, configuration)))
    return Formatters(tuple(kept), hooks, say)


def no_formatters() -> Formatters:
    """Give the formatters that leave every file as it is."""
    return Formatters((), Hooks(), None)


class Formatters:
    """The formatters of one repository in the order its hooks run."""

    def __init__(
        self, tools: tuple[Tool, ...], hooks: Hooks, say: Callable[[str], None] | None
    ) -> None:
        self.tools = tools
        self._hooks = hooks
        self._say = say or (lambda _: None)

    @property
    def installs(self) -> tuple[str, ...]:
        """All that is installed for the tools, sorted, each a project with its version."""
        tools = {(t.formatter.project.name, t.version) for t in self.tools if t.formatter.project}
        return tuple(sorted({" ".join(pair) for one in tools for pair in needs(*one).items()}))

    @property
    def unrun(self) -> tuple[Unrun, ...]:
        """Hooks that rewrite code and are not run."""
        return self._hooks.unrun

    def format(self, files: Mapping[str, bytes], tree: Tree) -> dict[str, Formatted]:
        """Format files, given by path, as the hooks would; the order of `files` is kept.

        `tree` is the tree after the move: it says what is first-party, and it holds the tools'
        configuration. Files that are not Python come back as they are. Raises `Refusal`:
        `formatter-configuration`, `formatter-failed`, `formatter-unavailable`, `formatter-cache`.
        """
        result = {path: Formatted(data, ()) for path, data in files.items()}
        entries = tree.entries()
        paths = sorted(
            (p for p in files if any(t.hook.takes(p, entries.get(p, REGULAR)) for t in self.tools)),
            key=to_bytes,
        )
        if not paths:
            return result
        folder = cache_folder()
        results = Results(folder / "results")
        stages = self._stages(paths, tree, results)
        given = frozenset().union(*(stage.selected for stage in stages))
        chosen = {path: files[path] for path in paths if path in given}
        if not chosen:
            return result
        stubs = _stubs(tree, stages, chosen)
        keys = _keys(stages, chosen, stubs)
        missing = {}
        for path, data in chosen.items():
            known = _load(results.get(keys[path]), data)
            if known is None:
                missing[path] = data
            else:
                result[path] = known
        if missing:
            made = self._run(stages, missing, stubs, folder)
            for path, formatted in made.items():
                results.put(keys[path], _dump(formatted, missing[path]))
            results.prune()
            result.update(made)
        return result

    def _stages(self, paths: list[str], tree: Tree, results: Results) -> list[Stage]:
        """Select each tool's files, then make each tool that has any ready."""
        hooks = [tool.hook for tool in self.tools]
        pairs = [(self._hooks.files, self._hooks.exclude), *((h.files, h.exclude) for h in hooks)]
        key = json.dumps(["match", pairs, paths])
        stored = results.get(key)
        if stored is None:
            matched = match(pairs, paths)
            results.put(key, json.dumps(matched).encode())
        else:
            matched = json.loads(stored)
        top, entries = set(matched[0]), tree.entries()
        configuration = Configuration(tree)
        stages = []
        for tool, passed in zip(self.tools, matched[1:], strict=True):
            mine = [p for p in passed if p in top and tool.hook.takes(p, entries.get(p, REGULAR))]
            if mine:
                stages.append(tool.formatter.prepare(tool, configuration, mine))
        return stages

    def _run(
        self, stages: list[Stage], files: Mapping[str, bytes], stubs: Stubs, folder: Path
    ) -> dict[str, Formatted]:
        tools = [stage.tool for stage in stages if not stage.selected.isdisjoint(files)]
        environments = self._install(tools, folder)
        shares = _shares(files)
        with ThreadPoolExecutor(max_workers=len(shares)) as pool:
            done = list(pool.map(lambda share: run(stages, share, stubs, environments), shares))
        merged = {path: outcome for share in done for path, outcome in share.items()}
        return {path: Formatted(*merged[path]) for path in files}

    def _install(self, tools: Sequence[Tool], folder: Path) -> dict[str, Path]:
        """Give each tool's environment by its label; what is not installed yet is, side by side."""
        pinned = {
            tool.label: pins(tool.formatter.project.name, tool.version)
            for tool in tools
            if tool.formatter.project
        }
        wanted = {those: label for label, those in pinned.items()}
        with ThreadPoolExecutor(max_workers=max(1, len(wanted))) as pool:
            found = dict(
                pool.map(
                    lambda those: (those, ensure(folder, wanted[those], those, self._say)), wanted
                )
            )
        return {label: found[those] for label, those in pinned.items()}


def _stubs(tree: Tree, stages: list[Stage], files: Mapping[str, bytes]) -> Stubs:
    roots = frozenset().union(*(stage.roots for stage in stages))
    globs = frozenset().union(*(stage.globs for stage in stages))
    configured = [data for stage in stages for data in stage.configs.values()]
    arguments = [" ".join(stage.argv).encode() for stage in stages]
    return find_stubs(tree, roots, globs, words([*files.values(), *configured, *arguments]), files)


def _keys(stages: list[Stage], files: Mapping[str, bytes], stubs: Stubs) -> dict[str, str]:
    """Name all that decides each file's result: its bytes and path, the tools, the stubs."""
    facts = hashlib.sha256(json.dumps(stubs.facts()).encode()).hexdigest()
    digests = [(stage, [stage.digest(), _installed_for(stage.tool)]) for stage in stages]
    return {
        path: json.dumps(
            [
                "format",
                sys.implementation.cache_tag,
                path,
                hashlib.sha256(data).hexdigest(),
                facts,
                [digest for stage, digest in digests if path in stage.selected],
            ]
        )
        for path, data in files.items()
    }


def _installed_for(tool: Tool) -> dict[str, str]:
    """Give the versions by project; with hashes where the user's own table has them."""
    project = tool.formatter.project
    if project is None:
        return {}
    found = needs(project.name, tool.version)
    if is_ours(project.name, tool.version):
        return found
    hashes = sorted(value for pin in pins(project.name, tool.version) for value in pin.hashes)
    return {**found, "": hashlib.sha256(" ".join(hashes).encode()).hexdigest()}


def _shares(files: Mapping[str, bytes]) -> list[dict[str, bytes]]:
    """Part the files among processes, the largest first, each to the share with the least."""
    total = sum(map(len, files.values()))
    count = max(1, min(_PROCESSES, _usable_processors(), len(files), total // _SHARE))
    shares: list[dict[str, bytes]] = [{} for _ in range(count)]
    sizes = [0] * count
    for path in sorted(files, key=lambda path: (-len(files[path]), path)):
        least = sizes.index(min(sizes))
        shares[least][path] = files[path]
        sizes[least] += len(files[path])
    return shares


def _usable_processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _dump(formatted: Formatted, before: bytes) -> bytes:
    head = {"by": formatted.changed_by, "same": formatted.data == before}
    return json.dumps(head).encode() + b"\n" + (b"" if head["same"] else formatted.data)


def _load(stored: bytes | None, before: bytes) -> Formatted | None:
    if stored is None:
        return None
    head, _, data = stored.partition(b"\n")
    facts = json.loads(head)
    return Formatted(before if facts["same"] else data, tuple(facts["by"]))
