"""Repositories of every shape, and history that is not all there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.listing import listing
from tests.transforms.checkouts import run_git
from tests.verify.histories import AFTER, BEFORE, PLAN, PLAN_PATH
from tests.verify.hostile.world import DIFFERED, HELD, TRAILER, UNJUDGED, World
from verify import cli


def git(*arguments: str, data: bytes | None = None, cwd: Path | None = None) -> str:
    return run_git(cwd or Path(), *arguments, stdin=data or b"").decode().strip()


def clone(world: World, *options: str, name: str = "clone") -> Path:
    """Clone over git's own transport, which honours depth and filters."""
    world.history.git("config", "uploadpack.allowFilter", "true")
    world.history.git("config", "uploadpack.allowAnySHA1InWant", "true")
    target = world.folder / name
    git("clone", "--quiet", *options, f"file://{world.repo}", str(target))
    return target


def assert_untouched(folder: Path, before: dict[str, tuple[object, ...]]) -> None:
    assert listing(folder) == before


@pytest.mark.parametrize(
    "name",
    ["with space", "line\nbreak", "per%cent", '"quoted"', "#comment", "tab\tback\\slash", "né"],
)
def test_a_folder_may_have_any_name(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    world = World(tmp_path, capfd, repo=f"{name}/repo")
    base, target = world.moved()
    world.assert_proved(world.chain(f"{base}..{target}"))


def test_a_linked_worktree_is_judged_like_its_repository(world: World) -> None:
    base, target = world.moved()
    linked = world.folder / "linked"
    world.history.git("worktree", "add", "--quiet", "--detach", str(linked), base)
    assert (linked / ".git").is_file()
    before = listing(world.folder / "repo"), listing(linked)
    world.assert_moved(world.judge(base, target, linked))
    assert (listing(world.folder / "repo"), listing(linked)) == before


def test_a_submodule_is_judged_as_the_repository_that_it_is(world: World) -> None:
    base, target = world.moved()
    outer = world.folder / "outer"
    git("init", "--quiet", str(outer))
    git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(world.repo), "sub",
        cwd=outer)  # fmt: skip
    assert (outer / "sub/.git").is_file()
    world.assert_moved(world.judge(base, target, outer / "sub"))


def test_a_bare_clone_is_judged_like_a_checkout(world: World) -> None:
    base, target = world.moved()
    bare = clone(world, "--bare")
    before = listing(bare)
    world.assert_moved(world.judge(base, target, bare))
    assert_untouched(bare, before)


def test_a_partial_clone_runs_no_transport_and_says_what_to_fetch(world: World) -> None:
    base, target = world.moved()
    partial = clone(world, "--bare", "--filter=blob:none")
    trap = world.trap()
    for key, value in (
        ("remote.origin.uploadpack", trap),
        ("remote.origin.url", f"ext::{trap}"),
        ("core.sshCommand", trap),
        ("protocol.allow", "always"),
        ("protocol.ext.allow", "always"),
        ("fetch.writeCommitGraph", "true"),
    ):
        git("config", key, value, cwd=partial)
    before = listing(partial)
    for answer in world.judge(base, target, partial).values():
        assert answer.code == UNJUDGED
        assert "fetch" in answer.out + answer.err
    git("config", "remote.origin.url", str(world.repo), cwd=partial)
    before = listing(partial)
    for answer in world.judge(base, target, partial).values():
        assert answer.code == UNJUDGED
        assert "git -C" in answer.err + answer.out or "git fetch" in answer.err + answer.out
    assert_untouched(partial, before)
    assert not world.canary.exists()


def test_a_shallow_clone_says_how_to_bring_its_history(world: World) -> None:
    base, target = world.moved()
    shallow = clone(world, "--depth=1")
    for answer in world.judge(base, target, shallow).values():
        assert answer.code == UNJUDGED
        assert "git fetch --unshallow" in answer.err
    for answer in world.judge("HEAD^", "HEAD", shallow).values():
        assert answer.code == UNJUDGED
        assert "git fetch --unshallow" in answer.err


def test_a_shallow_edge_hides_no_commit_of_a_chain(world: World) -> None:
    base, _ = world.moved()
    world.history.git("checkout", "--quiet", "-b", "side", base)
    world.history.commit({**BEFORE, PLAN_PATH: PLAN, "evil.py": "x = 1\n"}, "hidden")
    edge = world.history.commit({**BEFORE, PLAN_PATH: PLAN, "evil.py": "x = 2\n"}, "edge")
    world.history.git("checkout", "--quiet", "main")
    world.history.git("merge", "--quiet", "--no-edit", "side")
    whole = world.chain(f"{base}..HEAD")
    assert len(whole.data["commits"]) == 4
    (world.repo / ".git/shallow").write_text(f"{edge}\n")
    answer = world.chain(f"{base}..HEAD")
    assert (answer.code, answer.refusal) == (UNJUDGED, "missing-object")
    assert "--unshallow" in answer.err


def test_a_parent_that_git_does_not_count_is_none(world: World) -> None:
    base, target = world.moved()
    raw = git("cat-file", "commit", target, cwd=world.repo).encode()
    head, _, message = raw.partition(b"\n\n")
    forged = head + f"\nparent {base}\n\n".encode() + message + b"\n"
    commit = git("hash-object", "-t", "commit", "-w", "--literally", "--stdin", data=forged,
                 cwd=world.repo)  # fmt: skip
    answer = world.chain(f"{base}..{commit}")
    assert [found["verdict"] for found in answer.data["commits"]] == ["proved"]


@pytest.mark.parametrize(
    "revision", ["-x", "--upload-pack=touch canary", "--output=canary", "-", "^main", "a\nb", ""]
)
def test_a_revision_that_is_none_is_refused(world: World, revision: str) -> None:
    base, _ = world.moved()
    before = listing(world.repo)
    plan, named = str(world.plan), revision or "..."
    for command, arguments in (
        ("verify", [f"--base={base}", f"--target={revision}", plan]),
        ("verify", [f"--base={revision}", f"--target={base}", plan]),
        ("certify", ["--", f"{base}..{named}"]),
        ("blame", ["--", f"{named}..{base}"]),
        ("chain", ["--", f"{named}..{base}"]),
    ):
        assert cli.run([command, "--repo", str(world.repo), *arguments]) == UNJUDGED, command
    assert_untouched(world.repo, before)
    assert not (world.repo / "canary").exists()


DAMAGE = {
    "config that does not parse": ("config", "[core\n"),
    "a format of the future": ("config", "[core]\n\trepositoryformatversion = 99\n"),
    "an extension nobody knows": (
        "config",
        "[core]\n\trepositoryformatversion = 1\n[extensions]\n\trefStorage = reftable\n",
    ),
    "a HEAD that is none": ("HEAD", "nothing\n"),
    "packed references that are none": ("packed-refs", "garbage\n"),
}


@pytest.mark.parametrize(("file", "text"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_repository_is_refused_and_no_fault(world: World, file: str, text: str) -> None:
    base, target = world.moved()
    (world.repo / ".git" / file).write_text(text)
    for answer in world.judge(base, target).values():
        assert answer.code in (HELD, UNJUDGED), answer.err
        if answer.code == UNJUDGED:
            assert answer.refusal
    for answer in world.judge("no-such", "other").values():
        assert (answer.code, bool(answer.refusal)) == (UNJUDGED, True), answer.err


def test_a_damaged_object_is_refused(world: World) -> None:
    base, target = world.moved()
    name = world.history.git("rev-parse", f"{target}:shop/money.py")
    file = world.repo / ".git/objects" / name[:2] / name[2:]
    file.chmod(0o644)
    file.write_bytes(b"garbage")
    for answer in world.judge(base, target).values():
        assert answer.code == UNJUDGED, answer.err


def test_a_tree_that_lists_a_name_twice_is_refused(world: World) -> None:
    base, target = world.moved()
    raw = run_git(world.repo, "cat-file", "tree", f"{target}^{{tree}}")
    entry = raw[raw.index(b"100644 till.py") :]
    evil = bytes.fromhex(git("hash-object", "-w", "--stdin", data=b"evil\n", cwd=world.repo))
    twice = raw[: -len(entry)] + b"100644 till.py\0" + evil + entry
    tree = git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", data=twice,
               cwd=world.repo)  # fmt: skip
    commit = git("commit-tree", "-p", base, "-m", TRAILER, tree, cwd=world.repo)
    for name, answer in world.judge(base, commit).items():
        assert answer.code == UNJUDGED, (name, answer.out)


def test_paths_that_differ_by_case_alone_are_told_apart(world: World) -> None:
    base = world.history.commit({**BEFORE, PLAN_PATH: PLAN, "Till.py": "x = 1\n"})
    target = world.history.commit({**AFTER, PLAN_PATH: PLAN, "Till.py": "x = 2\n"}, TRAILER)
    answers = world.judge(base, target)
    assert answers["verify"].code == DIFFERED
    assert "Till.py" in answers["verify"].out
    assert answers["chain"].code == DIFFERED


def test_a_repository_that_is_a_link_is_read_and_not_written(world: World) -> None:
    base, target = world.moved()
    moved = world.folder / "elsewhere"
    shutil.move(world.repo, moved)
    world.repo.symlink_to(moved)
    before = listing(moved)
    world.assert_moved(world.judge(base, target))
    assert_untouched(moved, before)
