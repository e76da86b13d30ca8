"""Hooks that rewrite Python code and are not run: a person runs them on what a move touched."""

from __future__ import annotations

from dataclasses import dataclass

from transforms.errors import Place

# By the ids of their hooks, wherever these come from. Hooks that only check are not among them.
REWRITING = frozenset(
    {
        "absolufy-imports", "add-trailing-comma", "autoflake", "autopep8", "blacken-docs", "blue",
        "com2ann", "darker", "django-upgrade", "docformatter", "double-quote-string-fixer",
        "fix-encoding-pragma", "fixit-fix", "flynt", "insert-license", "licenseheaders",
        "mixed-line-ending", "pyupgrade", "pybetter", "pycln", "pydocstringformatter", "pyink",
        "pyment", "reorder-python-imports", "shed", "ssort", "ufmt", "unify", "yapf", "yesqa",
        "zimports",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Unrun:
    """A hook that rewrites code and was not run: its id, and where it is configured."""

    name: str
    place: Place
