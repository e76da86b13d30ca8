"""No configuration, environment or object of a repository changes a verdict or runs anything."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.listing import listing
from tests.verify.histories import AFTER
from tests.verify.hostile.world import World

Setting = Callable[[World, str, str], "dict[str, str] | None"]


def config(world: World, **settings: str) -> None:
    """Set keys; a double underscore is a dot."""
    for name, value in settings.items():
        key = name.replace("__", ".")
        world.history.git("config", "--file", str(world.repo / ".git/config"), key, value)


def attributes_and_filters(world: World, base: str, target: str) -> None:
    trap = world.trap()
    (world.repo / ".git/info/attributes").write_text(
        "* filter=trap diff=trap merge=trap text eol=crlf ident working-tree-encoding=UTF-16\n"
    )
    config(
        world, filter__trap__clean=trap, filter__trap__smudge=trap, filter__trap__process=trap,
        filter__trap__required="true", merge__trap__driver=trap, core__autocrlf="true",
    )  # fmt: skip


def textconv(world: World, base: str, target: str) -> None:
    (world.repo / ".git/info/attributes").write_text("*.py diff=trap\n")
    config(world, diff__trap__textconv=world.trap(), diff__trap__cachetextconv="true")


def external_diff(world: World, base: str, target: str) -> dict[str, str]:
    trap = world.trap()
    config(world, diff__external=trap, diff__trap__command=trap)
    return {"GIT_EXTERNAL_DIFF": trap}


def hooks(world: World, base: str, target: str) -> None:
    trap = Path(world.trap())
    for folder in (world.repo / ".git/hooks", world.folder / "hooks"):
        folder.mkdir(exist_ok=True)
        for name in (
            "post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc",
            "fsmonitor-watchman", "post-rewrite", "pre-commit", "proc-receive", "update",
        ):  # fmt: skip
            (folder / name).write_bytes(trap.read_bytes())
            (folder / name).chmod(0o755)
    config(world, core__hooksPath=str(world.folder / "hooks"))


def fsmonitor(world: World, base: str, target: str) -> None:
    config(world, core__fsmonitor=world.trap(), core__untrackedCache="true")


def pagers_and_aliases(world: World, base: str, target: str) -> dict[str, str]:
    trap = world.trap()
    config(
        world, core__pager=trap, pager__blame=trap, alias__blame=f"!{trap}", core__editor=trap,
        core__askPass=trap, gpg__program=trap, log__showSignature="true", credential__helper=trap,
    )  # fmt: skip
    return {"GIT_PAGER": trap, "PAGER": trap, "GIT_EDITOR": trap, "GIT_ASKPASS": trap}


def transports(world: World, base: str, target: str) -> None:
    trap = world.trap()
    config(
        world, core__sshCommand=trap, core__gitProxy=trap, remote__origin__url="ssh://h/r",
        remote__origin__uploadpack=trap, remote__origin__receivepack=trap,
        uploadpack__packObjectsHook=trap, core__alternateRefsCommand=trap,
    )  # fmt: skip


def blame_configuration(world: World, base: str, target: str) -> None:
    (world.folder / "revs").write_text(f"{target}\n{base}\n")
    config(
        world, blame__ignoreRevsFile=str(world.folder / "revs"), blame__markIgnoredLines="true",
        blame__markUnblamableLines="true", blame__showEmail="true", blame__blankBoundary="true",
        blame__coloring="highlightRecent", diff__algorithm="patience", diff__renames="false",
        diff__noprefix="true", color__ui="always", core__quotePath="false",
    )  # fmt: skip


def another_worktree(world: World, base: str, target: str) -> None:
    other = world.folder / "other"
    other.mkdir()
    (other / "till.py").write_text("evil = 1\n")
    config(world, core__worktree=str(other), core__bare="false", core__sparseCheckout="true")


def says_it_is_bare(world: World, base: str, target: str) -> None:
    config(world, core__bare="true")


def included_configuration(world: World, base: str, target: str) -> None:
    trap = world.trap()
    evil = world.folder / "evil.config"
    evil.write_text(
        f"[core]\n\tfsmonitor = {trap}\n\thooksPath = {world.folder}\n\tpager = {trap}\n"
        f"[diff]\n\texternal = {trap}\n[blame]\n\tignoreRevsFile = /nowhere\n"
    )
    config(world, include__path=str(evil))
    name = f"includeIf.gitdir:{world.folder}/.path"
    world.history.git("config", "--file", str(world.repo / ".git/config"), name, str(evil))


def worktree_configuration(world: World, base: str, target: str) -> None:
    config(world, extensions__worktreeConfig="true")
    (world.repo / ".git/config.worktree").write_text(
        f"[core]\n\tfsmonitor = {world.trap()}\n\tworktree = {world.folder}\n"
    )


def replaced_objects(world: World, base: str, target: str) -> None:
    world.history.git("replace", target, base)
    blob = world.history.git("rev-parse", f"{base}:till.py")
    world.history.git("replace", blob, world.history.git("rev-parse", f"{base}:shop/orders.py"))
    config(world, core__useReplaceRefs="true")


def grafts(world: World, base: str, target: str) -> None:
    (world.repo / ".git/info/grafts").write_text(f"{target}\n{base} {target}\n")


def alternates(world: World, base: str, target: str) -> None:
    (world.repo / ".git/objects/info/alternates").write_text(
        f'{world.folder}/nowhere\n# a comment\n/dev/null\n"{world.folder}\\n"\n../objects\n'
    )


def forged_commit_graph(world: World, base: str, target: str) -> None:
    world.history.git("commit-graph", "write", "--reachable")
    graph = world.repo / ".git/objects/info/commit-graph"
    data = graph.read_bytes()
    trees = [bytes.fromhex(world.history.git("rev-parse", f"{c}^{{tree}}")) for c in (base, target)]
    for one, other in (trees, reversed(trees)):
        data = data.replace(one, b"\1" * 20 if one == trees[0] else other)
    assert data != graph.read_bytes()
    graph.chmod(0o644)
    graph.write_bytes(data)
    config(world, core__commitGraph="true", commitGraph__readChangedPaths="true")


def misleading_names(world: World, base: str, target: str) -> None:
    for name in ("main", "HEAD", base, f"{base}^{{tree}}"[:40], target[:12]):
        path = world.repo / ".git/refs/tags" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{base}\n")


def locks_left_behind(world: World, base: str, target: str) -> None:
    for name in ("index.lock", "HEAD.lock", "config.lock", "packed-refs.lock", "shallow.lock"):
        (world.repo / ".git" / name).touch()


def environment(world: World, base: str, target: str) -> dict[str, str]:
    trap = world.trap()
    return {
        "GIT_DIR": "/nowhere", "GIT_WORK_TREE": "/nowhere",
        "GIT_OBJECT_DIRECTORY": "/nowhere", "GIT_ALTERNATE_OBJECT_DIRECTORIES": "/nowhere",
        "GIT_COMMON_DIR": "/nowhere", "GIT_NAMESPACE": "evil", "GIT_EXEC_PATH": str(world.folder),
        "GIT_SSH_COMMAND": trap, "GIT_PROXY_COMMAND": trap, "GIT_SHALLOW_FILE": "/nowhere",
        "GIT_REPLACE_REF_BASE": "refs/heads/", "GIT_ATTR_SOURCE": "HEAD", "GIT_TRACE": "2",
        "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": trap,
        "GIT_CONFIG_PARAMETERS": f"'core.fsmonitor={trap}'", "GIT_TEMPLATE_DIR": str(world.folder),
        "GIT_TRACE2_EVENT": str(world.canary), "GIT_DEFAULT_HASH": "sha256",
        "GIT_ICASE_PATHSPECS": "1", "GIT_LITERAL_PATHSPECS": "0", "GIT_ALLOW_PROTOCOL": "file:ext",
        "GIT_NO_LAZY_FETCH": "0", "GIT_NO_REPLACE_OBJECTS": "0", "GIT_GRAFT_FILE": "/nowhere",
    }  # fmt: skip


def another_git(world: World, base: str, target: str) -> dict[str, str]:
    (world.repo / "git").write_bytes(Path(world.trap()).read_bytes())
    (world.repo / "git").chmod(0o755)
    return {"PATH": f".:{os.environ['PATH']}"}


HOSTILE: dict[str, Setting] = {
    setting.__name__.replace("_", " "): setting
    for setting in (
        attributes_and_filters, textconv, external_diff, hooks, fsmonitor, pagers_and_aliases,
        transports, blame_configuration, another_worktree, says_it_is_bare, included_configuration,
        worktree_configuration, replaced_objects, grafts, alternates, forged_commit_graph,
        misleading_names, locks_left_behind, environment, another_git,
    )
}  # fmt: skip


@pytest.mark.parametrize("setting", HOSTILE.values(), ids=HOSTILE)
def test_no_verdict_changes_by(
    world: World, monkeypatch: pytest.MonkeyPatch, setting: Setting
) -> None:
    base, target = world.moved()
    for name, value in (setting(world, base, target) or {}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(world.repo)
    before = listing(world.repo)
    world.assert_proved(world.chain(f"{base}..{target}"))
    assert listing(world.repo) == before


# What git would do, or look at, because of a working tree or an index.
OF_THE_WORKING_TREE = (
    attributes_and_filters, hooks, fsmonitor, pagers_and_aliases, another_worktree, says_it_is_bare,
    included_configuration, worktree_configuration, locks_left_behind, environment, another_git,
)  # fmt: skip


@pytest.mark.parametrize("setting", OF_THE_WORKING_TREE, ids=lambda setting: setting.__name__)
def test_nothing_runs_where_the_working_tree_is_judged(
    world: World, monkeypatch: pytest.MonkeyPatch, setting: Setting
) -> None:
    base, target = world.moved()
    world.history.git("checkout", "--quiet", "--detach", base)
    for path, text in AFTER.items():
        (world.repo / path).write_text(text)
    world.history.git("add", "till.py")
    for name, value in (setting(world, base, target) or {}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(world.repo)
    before = listing(world.repo)
    answer = world.repot("certify")
    if setting is attributes_and_filters:
        named = {item["path"] for item in answer.data["range"]["not_judged"]}
        assert named == {"shop/money.py", "shop/orders.py"}  # git has till.py as it lies there
        assert answer.code != 0
    else:
        assert (answer.code, answer.data["certificate"]) == (0, "CERTIFIED"), answer.err
    assert world.repot("certify", "--staged").data["range"]["place"] == "index"
    assert listing(world.repo) == before
    assert not world.canary.exists()
