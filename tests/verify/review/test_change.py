"""What a change says of itself, and how large it is as git counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.verify.histories import AFTER, BEFORE, History
from transforms.tree import GitTree
from verify.review.change import about_change, repository_name, size_of, trailer_of


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "shop")


def trees(history: History, base: str, target: str) -> tuple[GitTree, GitTree]:
    return GitTree(history.folder, base), GitTree(history.folder, target)


def test_the_size_is_what_git_shows_and_no_setting_changes_it(history: History) -> None:
    base, target = history.commit(BEFORE), history.commit(AFTER)
    shown = history.git("diff", "--color=always", "--color-moved", base, target).split("\n")
    plain = [line for line in shown if line.startswith(("\x1b[31m-", "\x1b[32m+"))]
    found = size_of(*trees(history, base, target))
    assert (found.changed, found.uncoloured) == (15, len(plain))
    for name, value in {
        "color.diff.new": "blue", "color.diff.oldMoved": "red", "diff.colorMoved": "no",
        "diff.external": "false", "diff.algorithm": "patience", "diff.noprefix": "true",
    }.items():  # fmt: skip
        history.git("config", name, value)
    (history.folder / ".gitattributes").write_text("* -diff\n")
    assert size_of(*trees(history, base, target)) == found


def test_a_change_says_who_made_it_and_of_how_many_commits(history: History) -> None:
    base, first = history.commit(BEFORE), history.commit(AFTER, "Move Money")
    said = about_change(*trees(history, base, first))
    assert str(said) == "Move Money, by Repot tests, in shop"
    last = history.commit(BEFORE, "Move it back")
    said = about_change(*trees(history, base, last))
    assert said.subject == "2 commits, the last: Move it back"


def test_a_range_claims_only_what_its_one_commit_does(history: History) -> None:
    base = history.commit(BEFORE)
    first = history.commit(AFTER, "Move\n\nMechanical-Move: p.toml")
    assert trailer_of(*trees(history, base, first)).path == "p.toml"
    last = history.commit(BEFORE, "Back\n\nMechanical-Move: p.toml")
    assert not trailer_of(*trees(history, base, last)).claims


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://user:secret@example.org/owner/shop.git", "owner/shop"),
        ("https://example.org/owner/shop/", "owner/shop"),
        ("git@example.org:owner/shop.git", "owner/shop"),
        ("ssh://git@example.org:22/group/owner/shop.git", "owner/shop"),
        ("/srv/git/other.git", "shop"),
        ("../other", "shop"),
        ("", "shop"),
    ],
)
def test_a_repository_is_named_without_what_stands_before_its_path(
    history: History, url: str, name: str
) -> None:
    commit = history.commit(BEFORE)
    if url:
        history.git("config", "remote.origin.url", url)
    assert repository_name(GitTree(history.folder, commit).repository) == name
