"""Which files other than Python name symbols, modules and their files, and in what grammar.

One table for all tools: a row says which files it is about, what is rewritten in them, and shows
it. What is literal and means one thing is rewritten; the rest is noted with its line.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from dataclasses import dataclass

# What may be rewritten. NAMES: `pkg.module.Name` and `pkg.module:Name`. IMPORTS: a line, or a part
# of one, that imports by name. DOCTESTS: the same behind `>>>`. REFERENCES: roles and directives
# that a documentation tool looks up, and parts of files that it includes by name. LISTS: a list of
# files that is to have every module, and so the new ones beside the old.
NAMES, IMPORTS, DOCTESTS, REFERENCES, LISTS = "names", "imports", "doctests", "references", "lists"


@dataclass(frozen=True, slots=True)
class Grammar:
    """A row: files by patterns of their names (lower case) or paths, and what is rewritten there.

    `example` is a line of such a file, and the same after `shop.orders.Money` moved to
    `shop.money`; equal where it is noted only. `tables`: in such a file lists count only there.
    `settles`: it says what holds of the `modules` or the `paths` that it names as a whole.
    """

    files: tuple[str, ...]
    forms: frozenset[str]
    example: tuple[str, str]
    tables: tuple[str, ...] = ()
    settles: tuple[str, ...] = ()


def _row(
    files: str, forms: Iterable[str], before: str, after: str = "",
    tables: tuple[str, ...] = (), settles: tuple[str, ...] = (),
) -> Grammar:  # fmt: skip
    example = (before, after or before)
    return Grammar(tuple(files.split()), frozenset(forms), example, tables, settles)


# The first row that fits a file counts.
GRAMMARS = (
    # What tells of the past stays as it was.
    _row("change* history* news* release* whatsnew* *.lock", (), "1.0: add shop.orders.Money"),
    # What no plan writes.
    _row(
        ".github/* .gitlab-ci.yml .circleci/* azure-pipelines*.yml .travis.yml jenkinsfile"
        " .pre-commit-config.yaml .pre-commit-hooks.yaml",
        (),
        '- run: python -c "from shop.orders import Money"',
    ),
    # Lists of the files that are built or shipped.
    _row(
        "manifest.in",
        (LISTS,),
        "include shop/orders.py",
        "include shop/orders.py\ninclude shop/money.py",
    ),
    _row(
        "meson.build build build.bazel *.bzl *.bazel",
        (LISTS, NAMES),
        "py.install_sources(['shop/orders.py'])",
        "py.install_sources(['shop/orders.py', 'shop/money.py'])",
    ),
    _row(
        "cmakelists.txt *.cmake",
        (LISTS,),
        "install(FILES shop/orders.py)",
        "install(FILES shop/orders.py shop/money.py)",
    ),
    _row(
        "pyproject.toml",
        (LISTS, NAMES),
        '[tool.hatch.build]\ninclude = ["shop/orders.py"]',
        '[tool.hatch.build]\ninclude = ["shop/orders.py", "shop/money.py"]',
        tables=("setuptools", "hatch", "flit", "poetry", "pdm", "scikit-build", "uv"),
    ),
    _row(
        "setup.cfg",
        (LISTS, NAMES),
        "[options]\npy_modules =\n    shop.orders",
        "[options]\npy_modules =\n    shop.orders\n    shop.money",
        tables=("options",),
        settles=("modules", "paths"),
    ),
    # Documents: what a tool looks up or runs; prose is noted.
    _row(
        "*.rst *.md *.txt *.markdown",
        (REFERENCES, DOCTESTS),
        ">>> from shop.orders import Money",
        ">>> from shop.money import Money",
    ),
    _row(
        "*.ipynb *.pyx *.pxd *.sql *.csv *.tsv *.svg *.xml", (), '"from shop.orders import Money"'
    ),
    # Settings, data that names what to load, templates, commands.
    _row(
        "*.toml *.cfg *.ini *.conf *.properties .coveragerc .importlinter .pylintrc .flake8",
        (NAMES,),
        "handler = shop.orders:Money",
        "handler = shop.money:Money",
        settles=("modules", "paths"),
    ),
    _row(
        "*.yaml *.yml *.json *.env .env .env.* *.tf *.service",
        (NAMES,),
        "_target_: shop.orders.Money",
        "_target_: shop.money.Money",
        settles=("paths",),
    ),
    _row(
        "*.py.tmpl *.py.tpl *.py.template *.py.j2 *.py.jinja *.py.jinja2 *.py.mako *.py-tpl",
        (NAMES, IMPORTS),
        "from shop.orders import Money",
        "from shop.money import Money",
    ),
    _row(
        "*.html *.jinja *.jinja2 *.j2 *.tmpl *.tpl *.template *.mako",
        (NAMES,),
        '{{ load("shop.orders.Money") }}',
        '{{ load("shop.money.Money") }}',
    ),
    _row(
        "makefile *.mk justfile procfile *.sh *.bash *.bat *.ps1",
        (NAMES, IMPORTS),
        'python -c "from shop.orders import Money; Money()"',
        'python -c "from shop.money import Money; Money()"',
    ),
    _row(
        "dockerfile* containerfile*",  # what is copied into an image is listed by its file
        (NAMES, IMPORTS),
        'CMD ["gunicorn", "shop.orders:Money"]',
        'CMD ["gunicorn", "shop.money:Money"]',
        settles=("paths",),
    ),
    # Settings for single files and folders: noted, since what holds of one may not of the other.
    _row(
        "codeowners .gitattributes *.rc .dockerignore .gitignore",
        (),
        "shop/orders.py @shop",
        settles=("paths",),
    ),
    _row("*.spec", (NAMES,), 'hidden = ["shop.orders"]', settles=("modules", "paths")),
)


def grammar_of(path: str) -> Grammar | None:
    """The row for a file; None if nothing is known of it."""
    low = path.lower()
    name = low.rpartition("/")[2]
    found = [_BY_NAME.get(name), _BY_SUFFIX.get(name[name.rfind(".") :] if "." in name else "")]
    found += [row for pattern, row in _BY_PATTERN if pattern.match(name)]
    found += [row for folder, row in _BY_FOLDER if low.startswith(folder)]
    rows = [row for row in found if row is not None]
    return GRAMMARS[min(rows)] if rows else None


def _indexed() -> tuple[
    dict[str, int], dict[str, int], list[tuple[re.Pattern[str], int]], list[tuple[str, int]]
]:
    """The rows by whole names, suffixes, other patterns and folders, for each file is asked."""
    names: dict[str, int] = {}
    suffixes: dict[str, int] = {}
    patterns: dict[int, list[str]] = {}
    folders: list[tuple[str, int]] = []
    for index, row in enumerate(GRAMMARS):
        for pattern in row.files:
            if pattern.endswith("/*"):
                folders.append((pattern[:-1], index))
            elif "*" not in pattern:
                names.setdefault(pattern, index)
            elif re.fullmatch(r"\*\.\w+", pattern):
                suffixes.setdefault(pattern[1:], index)
            else:
                patterns.setdefault(index, []).append(fnmatch.translate(pattern))
    joined = [(re.compile("|".join(found)), index) for index, found in patterns.items()]
    return names, suffixes, joined, folders


_BY_NAME, _BY_SUFFIX, _BY_PATTERN, _BY_FOLDER = _indexed()


def is_list(path: str) -> bool:
    """Whether a file lists the files that are built or shipped."""
    grammar = grammar_of(path)
    return grammar is not None and LISTS in grammar.forms


def settles(path: str, what: str) -> bool:
    """Whether a file says what holds of a module or of a file: `what` is `modules` or `paths`."""
    grammar = grammar_of(path)
    return grammar is not None and what in grammar.settles
