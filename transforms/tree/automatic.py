"""Where machines run what they find: no plan writes there.

A reviewer who reads the words "a move" does not expect a workflow, a hook or a filter in it. Such
files are changed by a commit of their own, which claims nothing.
"""

from __future__ import annotations

import re

from transforms.errors import Place, Refusal
from transforms.paths import as_on_any_disk

# By the last name of a path, wherever it lies: a folder may become a repository of its own.
_FILES = frozenset(
    {
        ".gitattributes", ".gitmodules", ".gitconfig", ".lfsconfig",
        ".gitlab-ci.yml", ".gitlab-ci.yaml", ".travis.yml", ".cirrus.yml", ".drone.yml",
        ".woodpecker.yml", ".woodpecker.yaml", ".appveyor.yml", "appveyor.yml",
        "bitbucket-pipelines.yml", "azure-pipelines.yml", "azure-pipelines.yaml", "jenkinsfile",
        "cloudbuild.yaml", "cloudbuild.yml", "buildspec.yml", ".readthedocs.yml",
        ".readthedocs.yaml", "dependabot.yml", "action.yml", "action.yaml",
        ".pre-commit-config.yaml", ".pre-commit-hooks.yaml", "lefthook.yml", ".lefthook.yml",
        ".envrc", "sitecustomize.py", "usercustomize.py",
    }
)  # fmt: skip
# By a folder, anywhere in the path.
_FOLDERS = (
    (".github", "workflows"), (".github", "actions"), (".gitea", "workflows"),
    (".forgejo", "workflows"), (".gitlab",), (".circleci",), (".buildkite",), (".azure-pipelines",),
    (".woodpecker",), (".husky",), (".githooks",), (".devcontainer",), (".vscode",),
)  # fmt: skip
# A file that Python runs at each start, from any folder of packages.
_START = ".pth"
# The short name that Windows gives: up to six characters, a tilde and a digit.
_SHORT = re.compile(r"([^.]{1,6})~\d")


def refuse_automatic(path: str, place: Place) -> None:
    """Refuse a path that a plan would write to, if a machine would run or obey what lies there."""
    names = [as_on_any_disk(segment) for segment in path.split("/")]
    folders = names[:-1]
    if (
        names[-1].endswith(_START)
        or any(_is(names[-1], file) for file in _FILES)
        or any(_leads_into(folders, wanted) for wanted in _FOLDERS)
    ):
        raise Refusal(
            "runs-by-itself",
            f"`{path}` lies where machines run or obey what they find (hooks, workflows, filters).",
            next_step="Change that file in a commit of its own, which claims no move.",
            place=place,
        )


def _leads_into(folders: list[str], wanted: tuple[str, ...]) -> bool:
    ends = range(len(wanted), len(folders) + 1)
    return any(all(map(_is, folders[end - len(wanted) : end], wanted)) for end in ends)


def _is(name: str, known: str) -> bool:
    short = _SHORT.match(name)
    return name == known or bool(short and known.replace(".", "").startswith(short[1]))
