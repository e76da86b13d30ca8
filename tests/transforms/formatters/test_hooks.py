"""Which formatters a repository's pre-commit configuration names."""

from __future__ import annotations

import pytest

from tests.transforms.formatters.trees import PRE_COMMIT, Link, MemoryTree, hooks, tree
from transforms.errors import Refusal
from transforms.formatters import no_formatters, repository_formatters
from transforms.formatters.document import LIMIT
from transforms.formatters.formatter import file_types
from transforms.formatters.hooks import read_hooks
from transforms.result.changes import EXECUTABLE, REGULAR, SUBMODULE, SYMLINK


def configured(text: str) -> MemoryTree:
    return MemoryTree({PRE_COMMIT: text, "package/module.py": ""})


def repo(url: str, rev: str, hook: str) -> str:
    return f"repos:\n- repo: {url}\n  rev: {rev}\n  hooks:\n  - {hook}\n"


NONE = {
    "there is no pre-commit configuration": {},
    "the configuration is empty": {PRE_COMMIT: ""},
    "the configuration is only a comment": {PRE_COMMIT: "# later\n"},
    "no repository is listed": {PRE_COMMIT: "repos: []\n"},
    "the configuration is a symbolic link": {PRE_COMMIT: Link("elsewhere.yaml")},
    "the other hooks do not format Python": {
        PRE_COMMIT: repo(
            "https://github.com/codespell-project/codespell", "v2.4.1", "id: codespell"
        )
    },
    "a local hook is left alone, whatever its name": {
        PRE_COMMIT: "repos:\n- repo: local\n  hooks:\n  - {id: black, entry: black, name: black, "
        "language: system}\n"
    },
    "a hook of pre-commit itself is left alone": {
        PRE_COMMIT: "repos:\n- repo: meta\n  hooks:\n  - {id: check-hooks-apply}\n"
    },
    "a hook that only runs by hand is left alone": {PRE_COMMIT: hooks("black, stages: [manual]")},
    "stages by default are only by hand": {
        PRE_COMMIT: hooks("black", top="default_stages: [manual]")
    },
    "ruff only complains": {PRE_COMMIT: hooks("ruff, args: [--select=F]")},
    "ruff only complains, since its arguments overrule its configuration": {
        PRE_COMMIT: hooks("ruff, args: [--no-fix]"),
        "ruff.toml": "fix = true\n",
    },
}


@pytest.mark.parametrize("files", NONE.values(), ids=NONE.keys())
def test_no_formatter_runs_where(files: dict[str, str]) -> None:
    formatters = repository_formatters(MemoryTree({"package/module.py": "", **files}))
    assert formatters.tools == ()
    same = formatters.format({"package/module.py": b"x = ( 1 )"}, MemoryTree(files))
    assert same["package/module.py"].data == b"x = ( 1 )"
    assert same["package/module.py"].changed_by == ()


NAMED = {
    "hooks in their order": (
        hooks("trailing-whitespace", "isort", "ruff, args: [--fix]", "black"),
        ["trailing-whitespace 6.0.0", "isort 7.0.0", "ruff 0.15.1", "black 26.1.0"],
    ),
    "ruff's formatter is named apart": (
        hooks("ruff-format", "ruff-check, args: [--fix]"),
        ["ruff format 0.15.1", "ruff 0.15.1"],
    ),
    "ruff only repairs": (hooks("ruff-check, args: [--fix-only]"), ["ruff 0.15.1"]),
    "a tag with a v": (
        repo("https://github.com/PyCQA/isort", "v7.0.0", "id: isort"),
        ["isort 7.0.0"],
    ),
    "a commit with its release beside it": (
        repo(
            "https://github.com/psf/black-pre-commit-mirror",
            "2892f1f81088477370d4fbc56545c05d33d2493f  # frozen: 25.1.0",
            "id: black",
        ),
        ["black 25.1.0"],
    ),
    "the notebook variant is black": (
        repo("https://github.com/psf/black", "26.1.0", "id: black-jupyter"),
        ["black 26.1.0"],
    ),
    "a former name, another case, a suffix": (
        repo("https://github.com/Timothycrosley/isort.git", "5.13.2", "id: isort"),
        ["isort 5.13.2"],
    ),
    "another way to clone": (
        repo("git@github.com:psf/black.git", "26.1.0", "id: black"),
        ["black 26.1.0"],
    ),
    "the former organisation of ruff": (
        repo(
            "https://github.com/charliermarsh/ruff-pre-commit/",
            "v0.0.292",
            "{id: ruff, args: [--fix]}",
        ),
        ["ruff 0.0.292"],
    ),
    "a hook that runs on push": (hooks("black, stages: [pre-push]"), ["black 26.1.0"]),
    "a hook whose own stages overrule the default": (
        hooks("black, stages: [commit]", top="default_stages: [manual]"),
        ["black 26.1.0"],
    ),
    "an anchor, an alias and a merge": (
        "shared: &shared {id: black, name: tidy}\nrepos:\n"
        "- repo: https://github.com/psf/black\n  rev: 26.1.0\n  hooks:\n  - <<: *shared\n"
        "    args: [--line-length=100]\n",
        ["black 26.1.0"],
    ),
    "whitespace fixers at a commit": (
        repo(
            "https://github.com/pre-commit/pre-commit-hooks",
            "3e8a8703264a2f4a69428a0aa4dcb512790b2c8c",
            "id: end-of-file-fixer",
        ),
        ["end-of-file-fixer 3e8a8703264a"],
    ),
    "keys that change nothing": (
        hooks(
            "black, name: tidy, language_version: python3, verbose: true, require_serial: true, "
            "language: python, pass_filenames: true, additional_dependencies: []"
        ),
        ["black 26.1.0"],
    ),
}


@pytest.mark.parametrize(("text", "labels"), NAMED.values(), ids=NAMED.keys())
def test_formatters_are_named_by(text: str, labels: list[str]) -> None:
    tools = repository_formatters(configured(text)).tools
    assert [tool.label for tool in tools] == labels
    assert [str(tool) for tool in tools] == labels


LOCK = """version = 1

[[package]]
name = "ruff"
version = "0.15.1"
source = { registry = "https://pypi.org/simple" }
"""
BY_UV = {
    "the linter that repairs": ("uv run ruff check --fix", ["ruff 0.15.1"], []),
    "the formatter, with options of uv": (
        "uv run --frozen -- ruff format",
        ["ruff format 0.15.1"],
        [],
    ),
    "a linter that only complains": ("uv run ruff check", [], []),
    "a folder of its own choice": ("uv run ruff format src", [], ["own"]),
    "another version beside the lock": ("uv run --with ruff==0.1.0 ruff format", [], []),
    "another program": ("uv run mypy", [], []),
    "a shell's command": ("bash -c 'uv run ruff format'", [], []),
    "a quote that is not closed": ("uv run 'ruff", [], []),
}


@pytest.mark.parametrize(("entry", "labels", "unrun"), BY_UV.values(), ids=BY_UV)
def test_a_local_hook_by_uv_takes_its_version_from_the_lock(
    entry: str, labels: list[str], unrun: list[str]
) -> None:
    hook = f"repos:\n- repo: local\n  hooks:\n  - id: own\n    name: own\n    entry: {entry}\n"
    hook += "    language: system\n    types: [python]\n"
    files = {PRE_COMMIT: hook, "uv.lock": LOCK, "a.py": ""}
    found = repository_formatters(MemoryTree(files))
    assert [tool.label for tool in found.tools] == labels
    assert [item.name for item in found.unrun] == unrun
    without = repository_formatters(MemoryTree({**files, "uv.lock": "version = 1\n"}))
    assert without.tools == ()
    newer = {**files, "uv.lock": LOCK.replace("0.15.1", "99.0.0")}
    if labels:
        with pytest.raises(Refusal, match=r"ruff 99\.0\.0 is not in Repot's table of versions"):
            repository_formatters(MemoryTree(newer))


def test_ruff_that_its_configuration_lets_repair_is_run() -> None:
    for path, text in (
        ("ruff.toml", "fix = true\n"),
        ("a/pyproject.toml", "[tool.ruff]\nfix = true"),
    ):
        files = {PRE_COMMIT: hooks("ruff"), "a/b.py": "", path: text}
        assert [tool.label for tool in repository_formatters(MemoryTree(files)).tools] == [
            "ruff 0.15.1"
        ]


REFUSED = {
    "a version that is not in the table": (
        repo("https://github.com/PyCQA/isort", "5.13.99", "id: isort"),
        "formatter-version",
        5,
        "The nearest is 5.13.2",
    ),
    "a version older than the table": (
        repo("https://github.com/psf/black", "19.10.0", "id: black"),
        "formatter-version",
        5,
        "The nearest is 22.1.0",
    ),
    "a pre-release that has no wheel": (
        repo("https://github.com/PyCQA/isort", "9.0.0b9", "id: isort"),
        "formatter-version",
        5,
        "isort 9.0.0b9 is not in",
    ),
    "a branch": (
        repo("https://github.com/psf/black", "stable", "id: black"),
        "formatter-version",
        3,
        "names no release",
    ),
    "a commit without its release": (
        repo(
            "https://github.com/psf/black", "2892f1f81088477370d4fbc56545c05d33d2493f", "id: black"
        ),
        "formatter-version",
        3,
        "frozen: VERSION",
    ),
    "a repository without a version": (
        "repos:\n- repo: https://github.com/psf/black\n  hooks:\n  - id: black\n",
        "formatter-configuration",
        2,
        "no `rev`",
    ),
    "a version that YAML takes for a number": (
        repo("https://github.com/psf/black", "23.1", "id: black"),
        "formatter-configuration",
        3,
        "Quote it",
    ),
    "a fork": (
        repo("https://github.com/someone/black", "26.1.0", "id: black"),
        "formatter-configuration",
        5,
        "does not know",
    ),
    "additional dependencies": (
        hooks("isort, additional_dependencies: [toml]"),
        "formatter-configuration",
        5,
        "(toml)",
    ),
    "another entry": (
        hooks("black, entry: ./black.sh"),
        "formatter-configuration",
        5,
        "sets `entry`",
    ),
    "another language": (
        hooks("black, language: script"),
        "formatter-configuration",
        5,
        "another language",
    ),
    "no file names": (
        hooks("isort, pass_filenames: false"),
        "formatter-configuration",
        5,
        "not given the changed files",
    ),
    "an unknown argument": (
        repo(
            "https://github.com/psf/black", "26.1.0", "id: black\n    args:\n    - --linelength=9"
        ),
        "formatter-configuration",
        7,
        "Did you mean `--line-length`?",
    ),
    "a hook without a name": (
        repo("https://github.com/psf/black", "26.1.0", "name: black"),
        "formatter-configuration",
        5,
        "lacks `id`",
    ),
    "a list in the place of the whole": ("- repo: x\n", "formatter-configuration", 1, "mapping"),
    "text in the place of the repositories": ("repos: x\n", "formatter-configuration", 1, "list"),
    "arguments that are one text": (
        hooks("black, args: --fast"),
        "formatter-configuration",
        5,
        "no list",
    ),
    "an argument that is a number": (
        hooks("black, args: [--line-length, 100]"),
        "formatter-configuration",
        5,
        "no text",
    ),
    "what is not YAML": ("repos:\n- [\n", "formatter-configuration", 3, "not YAML"),
    "a key that is a list": ("? [a]\n: b\n", "formatter-configuration", 1, "A key is no text"),
    "an alias of nothing": ("repos: *gone\n", "formatter-configuration", 1, ""),
}


@pytest.mark.parametrize(("text", "kind", "line", "cause"), REFUSED.values(), ids=REFUSED.keys())
def test_refused_is(text: str, kind: str, line: int, cause: str) -> None:
    with pytest.raises(Refusal) as refused:
        repository_formatters(configured(text))
    assert refused.value.kind == kind
    assert refused.value.place is not None
    assert (refused.value.place.path, refused.value.place.line) == (PRE_COMMIT, line)
    assert cause in str(refused.value)
    assert "`--formatters none`" in refused.value.next_step


BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
HOSTILE = {
    "aliases that multiply": BOMB,
    "merges that multiply": "a: &a {x: 1}\n"
    + "".join(
        f"{name}: &{name} {{<<: [{', '.join([f'*{before}'] * 10)}]}}\n"
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    ),
    "lists within lists": "repos: " + "[" * 100_000,
    "mappings within mappings": "a: " * 100_000,
    "a list of itself": "repos: &a [*a]\n",
    "a file of two megabytes": "#" * (2 << 20),
    "an object of Python": "repos: !!python/object/apply:os.system [exit]\n",
    "a control character": "repos: \x07\n",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_yaml_is_refused(text: str) -> None:
    with pytest.raises(Refusal) as refused:
        read_hooks(configured(text))
    assert refused.value.kind == "formatter-configuration"


def test_bytes_that_are_no_text_are_refused_with_their_line() -> None:
    with pytest.raises(Refusal, match="not UTF-8") as refused:
        read_hooks(MemoryTree({PRE_COMMIT: b"repos:\n- \xff\n"}))
    assert refused.value.place is not None
    assert refused.value.place.line == 2


def test_a_file_at_the_limit_is_read() -> None:
    assert read_hooks(configured("#" * (LIMIT - 1) + "\n")).hooks == ()


def test_a_byte_order_mark_is_no_text() -> None:
    assert (
        len(read_hooks(MemoryTree({PRE_COMMIT: b"\xef\xbb\xbf" + hooks("isort").encode()})).hooks)
        == 1
    )


def test_manifest_defaults_fill_in_what_a_hook_leaves_out() -> None:
    (hook,) = read_hooks(tree("isort")).hooks
    assert hook.args == (("--filter-files", 5),)
    assert hook.types == ("file",)
    assert "python" in hook.types_or
    (own,) = read_hooks(tree("isort, args: [--profile=black]")).hooks
    assert own.args == (("--profile=black", 5),)


TYPES = {
    "a module": ("a.py", REGULAR, {"file", "text", "python", "non-executable"}),
    "a program": ("a.py", EXECUTABLE, {"file", "text", "python", "executable"}),
    "a stub file is no Python": ("a.pyi", REGULAR, {"file", "text", "pyi", "non-executable"}),
    "a notebook is not formatted": ("a.ipynb", REGULAR, set()),
    "a page is not formatted": ("a.md", REGULAR, set()),
    "a link is not formatted": ("a.py", SYMLINK, set()),
    "a submodule is not formatted": ("a.py", SUBMODULE, set()),
    "what is not there is not formatted": ("a.py", None, set()),
}


@pytest.mark.parametrize(("path", "mode", "expected"), TYPES.values(), ids=TYPES.keys())
def test_types_of(path: str, mode: int | None, expected: set[str]) -> None:
    assert file_types(path, mode) == expected


TAKEN = {
    "by default": ("", True, True),
    "only stub files": (", types_or: [pyi]", False, True),
    "no stub files": (", exclude_types: [pyi]", True, False),
    "only programs": (", types: [executable]", False, False),
    "only Python": (", types: [python]", True, False),
    "nothing has both": (", types: [python, pyi]", False, False),
}


@pytest.mark.parametrize(("keys", "module", "stub"), TAKEN.values(), ids=TAKEN.keys())
def test_a_hook_takes(keys: str, module: bool, stub: bool) -> None:
    (hook,) = read_hooks(tree(f"black{keys}")).hooks
    assert hook.takes("a.py", REGULAR) is module
    assert hook.takes("a.pyi", REGULAR) is stub


def test_no_formatters_leave_every_file_as_it_is() -> None:
    same = no_formatters().format({"a.py": b"x=1"}, MemoryTree({"a.py": "x=1"}))
    assert same["a.py"].data == b"x=1"


SORTERS = {
    "isort": (hooks("isort"), {}, True),
    "usort": (hooks("usort"), {}, True),
    "not black": (hooks("black"), {}, False),
    "not ruff's formatter": (hooks("ruff-format"), {"ruff.toml": "lint.select = ['I']"}, False),
    "not ruff as it is by default": (hooks("ruff, args: [--fix]"), {}, False),
    "ruff by its arguments": (hooks("ruff, args: [--fix, '--select=F401,I']"), {}, True),
    "ruff by its configuration": (
        hooks("ruff, args: [--fix]"),
        {"pyproject.toml": "[tool.ruff.lint]\nextend-select = ['I001']"},
        True,
    ),
    "ruff by its configuration of old": (
        hooks("ruff, args: [--fix]"),
        {"ruff.toml": "select = ['ALL']"},
        True,
    ),
    "not ruff whose arguments overrule its configuration": (
        hooks("ruff, args: [--fix, --select, F401]"),
        {"ruff.toml": "lint.select = ['I']"},
        False,
    ),
    "not ruff with another rule of that letter": (
        hooks("ruff, args: [--fix, --select, 'INP,ICN']"),
        {},
        False,
    ),
}


@pytest.mark.parametrize(("text", "files", "expected"), SORTERS.values(), ids=SORTERS.keys())
def test_imports_are_sorted_by(text: str, files: dict[str, str], expected: bool) -> None:
    (tool,) = repository_formatters(MemoryTree({PRE_COMMIT: text, **files})).tools
    assert tool.sorts is expected


def test_a_broken_configuration_elsewhere_in_the_tree_is_passed_over() -> None:
    files: dict[str, str | bytes] = {
        PRE_COMMIT: hooks("ruff"),
        "tests/data/pyproject.toml": "[tool.ruff\nfix = true",
        "tests/data/ruff.toml": b"fix = \xff",
        "ruff.toml": "fix = true",
    }
    assert len(repository_formatters(MemoryTree(files)).tools) == 1


def test_hooks_that_rewrite_code_and_are_not_run_are_named_with_their_lines() -> None:
    text = """repos:
  - repo: https://github.com/asottile/pyupgrade
    rev: v3.20.0
    hooks: [{id: pyupgrade}]
  - repo: https://github.com/omnilib/ufmt
    rev: v2.8.0
    hooks:
      - id: ufmt
        additional_dependencies: ["black == 24.4.2"]
  - repo: https://github.com/PyCQA/flake8
    rev: 7.0.0
    hooks: [{id: flake8}]
  - repo: https://github.com/google/yapf
    rev: v0.43.0
    hooks: [{id: yapf, stages: [manual]}]
"""
    formatters = repository_formatters(MemoryTree({".pre-commit-config.yaml": text}))
    assert [(hook.name, hook.place.line) for hook in formatters.unrun] == [
        ("pyupgrade", 4),
        ("ufmt", 8),
    ]
