"""isort: its options, its settings, and the one configuration it would find.

One decision of it is not reproduced: it also takes a module for first-party that is called like the
folder one cloned into, and where one clones is no property of a repository.
"""

from __future__ import annotations

import configparser
import io
import posixpath
import re
from collections.abc import Sequence
from typing import Any

from transforms.errors import Place
from transforms.formatters.arguments import options, read_arguments
from transforms.formatters.formatter import (
    Formatter,
    Function,
    Manifest,
    Namespaces,
    Option,
    Project,
    Stage,
    Tool,
    always,
)
from transforms.formatters.refusals import bad_configuration
from transforms.formatters.settings import (
    Configuration,
    Schema,
    Source,
    ancestors,
    inside,
    join,
    parse_toml,
    write_toml,
)
from transforms.paths import to_bytes

# In the order in which isort looks in one folder, with the sections it reads.
_SOURCES = {
    ".isort.cfg": ("settings", "isort"),
    "pyproject.toml": ("tool.isort",),
    "setup.cfg": ("isort", "tool:isort"),
    "tox.ini": ("isort", "tool:isort"),
    ".editorconfig": ("*", "*.py", "**.py", "*.{py}"),
}
_FALLBACK = ("isort", "tool:isort", "tool.isort")
_PARENTS = 25  # folders in which isort looks, upwards
_PROFILES = frozenset(
    {
        "black", "django", "pycharm", "google", "open_stack", "plone", "attrs", "hug", "wemake",
        "appnexus",
    }
)  # fmt: skip
_EDITOR_KEYS = frozenset({"indent_style", "indent_size", "tab_width", "max_line_length"})

_OUTSIDE = "reaches outside the repository"
_CODE = "runs code of a plugin"
_ENVIRONMENT = "makes the result depend on the environment it runs in"
SCHEMA = Schema(
    tool="isort",
    passed=frozenset(
        {
            "py_version", "force_to_top", "skip", "extend_skip", "skip_glob", "extend_skip_glob",
            "line_length", "wrap_length", "line_ending", "sections", "no_sections",
            "known_future_library", "known_third_party", "known_first_party", "known_local_folder",
            "known_standard_library", "extra_standard_library", "multi_line_output",
            "forced_separate", "indent", "comment_prefix", "length_sort", "length_sort_straight",
            "length_sort_sections", "add_imports", "remove_imports", "append_only",
            "reverse_relative", "force_single_line", "single_line_exclusions", "default_section",
            "balanced_wrapping", "use_parentheses", "order_by_type", "lines_before_imports",
            "lines_after_imports", "lines_between_sections", "lines_between_types",
            "combine_as_imports", "combine_star", "include_trailing_comma", "from_first",
            "force_adds", "force_alphabetical_sort_within_sections", "force_alphabetical_sort",
            "force_grid_wrap", "force_sort_within_sections", "lexicographical",
            "group_by_package", "ignore_whitespace", "no_lines_before", "no_inline_sort",
            "ignore_comments", "case_sensitive", "ensure_newline_before_comments", "profile",
            "honor_noqa", "src_paths", "remove_redundant_aliases", "float_to_top", "filter_files",
            "treat_comments_as_code", "treat_all_comments_as_code", "supported_extensions",
            "blocked_extensions", "constants", "classes", "variables", "dedup_headings",
            "only_sections", "only_modified", "combine_straight_imports",
            "auto_identify_namespace_packages", "namespace_packages", "indented_import_headings",
            "honor_case_in_force_sorted_sections", "sort_relative_in_force_sorted_sections",
            "reverse_sort", "star_first", "sort_order", "sort_reexports",
            "split_on_trailing_comma", "separate_packages",
        }
    ),
    ignored=frozenset(
        {
            # How it talks and writes.
            "verbose", "quiet", "color_output", "format_error", "format_success", "atomic",
            "overwrite_in_place", "follow_links",
            # It only skips files that git ignores; a file of a tree is tracked.
            "skip_gitignore",
            # isort itself drops these with a warning.
            "not_skip", "keep_direct_and_as_imports",
        }
    ),
    refused={
        "formatter": _CODE,
        "directory": _OUTSIDE,
        "virtual_env": _OUTSIDE,
        "conda_env": _OUTSIDE,
        "old_finders": _ENVIRONMENT,
        "magic_placement": _ENVIRONMENT,
    },
    prefixes=("known_", "import_heading_", "import_footer_"),
)  # fmt: skip

_FLAGS = {
    "dedup_headings": "--dedup-headings",
    "ignore_whitespace": "--ws --ignore-whitespace",
    "sort_reexports": "--srx --sort-reexports",
    "filter_files": "--filter-files",
    "append_only": "--append --append-only",
    "force_adds": "--af --force-adds",
    "float_to_top": "--float-to-top",
    "dont_float_to_top": "--dont-float-to-top",
    "combine_as_imports": "--ca --combine-as",
    "combine_star": "--cs --combine-star",
    "balanced_wrapping": "-e --balanced",
    "from_first": "--ff --from-first",
    "length_sort": "--ls --length-sort",
    "length_sort_straight": "--lss --length-sort-straight",
    "ensure_newline_before_comments": "-n --ensure-newline-before-comments",
    "no_inline_sort": "--nis --no-inline-sort",
    "order_by_type": "--ot --order-by-type",
    "dont_order_by_type": "--dt --dont-order-by-type",
    "reverse_relative": "--rr --reverse-relative",
    "reverse_sort": "--reverse-sort",
    "force_single_line": "--sl --force-single-line-imports",
    "include_trailing_comma": "--tc --trailing-comma",
    "use_parentheses": "--up --use-parentheses",
    "case_sensitive": "--case-sensitive",
    "remove_redundant_aliases": "--remove-redundant-aliases",
    "honor_noqa": "--honor-noqa",
    "treat_all_comments_as_code": "--treat-all-comment-as-code",
    "star_first": "--star-first",
    "split_on_trailing_comma": "--split-on-trailing-comma",
    "only_sections": "--only-sections --os",
    "no_sections": "--ds --no-sections",
    "force_alphabetical_sort": "--fas --force-alphabetical-sort",
    "force_sort_within_sections": "--fss --force-sort-within-sections",
    "honor_case_in_force_sorted_sections": "--hcss --honor-case-in-force-sorted-sections",
    "sort_relative_in_force_sorted_sections": "--srss --sort-relative-in-force-sorted-sections",
    "force_alphabetical_sort_within_sections": "--fass --force-alphabetical-sort-within-sections",
    "combine_straight_imports": "--combine-straight-imports --csi",
}
_VALUES = {
    "profile": "--profile",
    "skip": "-s --skip",
    "extend_skip": "--extend-skip",
    "skip_glob": "--sg --skip-glob",
    "extend_skip_glob": "--extend-skip-glob",
    "supported_extensions": "--ext --extension --supported-extension",
    "blocked_extensions": "--blocked-extension",
    "add_imports": "-a --add-import",
    "remove_imports": "--rm --remove-import",
    "forced_separate": "--fs --forced-separate",
    "indent": "-i --indent",
    "lines_before_imports": "--lbi --lines-before-imports",
    "lines_after_imports": "--lai --lines-after-imports",
    "lines_between_types": "--lbt --lines-between-types",
    "line_ending": "--le --line-ending",
    "multi_line_output": "-m --multi-line",
    "sort_order": "--sort-order",
    "single_line_exclusions": "--nsl --single-line-exclusions",
    "line_length": "-l -w --line-length --line-width",
    "wrap_length": "--wl --wrap-length",
    "treat_comments_as_code": "--treat-comment-as-code",
    "default_section": "--sd --section-default",
    "force_to_top": "-t --top",
    "no_lines_before": "--nlb --no-lines-before",
    "src_paths": "--src --src-path",
    "known_standard_library": "-b --builtin",
    "extra_standard_library": "--extra-builtin",
    "known_future_library": "-f --future",
    "known_third_party": "-o --thirdparty",
    "known_first_party": "-p --project",
    "known_local_folder": "--known-local-folder",
    "py_version": "--py --python-version",
}
_DROPPED = {
    "quiet": "-q --quiet",
    "verbose": "-v --verbose",
    "atomic": "--ac --atomic",
    "color_output": "--color",
    "overwrite_in_place": "--overwrite-in-place",
    "skip_gitignore": "--gitignore --skip-gitignore",
    "follow_links": "--dont-follow-links",
    # A hook that only checks passes when the files are formatted, so they are.
    "check": "-c --check-only --check",
    "show_diff": "--df --diff",
    # Of isort 4; later releases ignore them.
    "deprecated_flags": "--recursive -rc --dont-skip -ns --apply -k --keep-direct-and-as",
}
_CONFIGURED_BY = "--settings-path --sp --settings-file --settings"
OPTIONS = {
    **options(_FLAGS),
    **options(_VALUES, "value"),
    **options({"force_grid_wrap": "--fgw --force-grid-wrap"}, "number?"),
    **options(_DROPPED, effect="drop"),
    **options({"jobs": "-j --jobs"}, "number?", effect="drop"),
    **options({"settings": _CONFIGURED_BY}, "value", effect="path"),
    "--formatter": Option("formatter", effect="refuse", reason=_CODE),
    "--old-finders": Option("old_finders", effect="refuse", reason=_ENVIRONMENT),
    "--magic-placement": Option("old_finders", effect="refuse", reason=_ENVIRONMENT),
    "--virtual-env": Option("virtual_env", effect="refuse", reason=_OUTSIDE),
    "--conda-env": Option("conda_env", effect="refuse", reason=_OUTSIDE),
}


def prepare(tool: Tool, configuration: Configuration, paths: Sequence[str]) -> Stage:
    """Make isort ready. Like its hook it takes the configuration nearest to the first file."""
    argv: list[str] = []
    roots: set[str] = set()
    start = posixpath.dirname(min(paths, key=to_bytes))
    named: Source | None = None
    for argument in read_arguments(tool.hook):
        value = argument.value or ""
        if argument.option.effect == "path":
            start = inside("", value, argument.place)
            named = configuration.find(start)
            continue
        _check(argument.option.name, value, argument.place)
        argv += argument.argv()
        if argument.option.name == "src_paths":
            roots.add(inside("", value, argument.place))
    found = _search(configuration, start) if named is None else (named, _read(named))
    if found is None or not found[1]:
        argv += ["--settings-path", "."]
        return Stage(tool, frozenset(paths), tuple(argv), roots=frozenset(roots | {"", "src"}))
    source, settings = found
    vetted = _vet(source, settings)
    folder = source.folder
    globs: set[str] = set()
    for name in _items(vetted.get("src_paths")):
        root = inside(folder, name, source.place("src_paths"))
        (globs if "*" in root else roots).add(root)
    if "src_paths" not in vetted:
        roots |= {folder, join(folder, "src")}
    argv += ["--settings-path", source.path if named else folder or "."]
    configs = {source.path: _write(source, vetted)}
    return Stage(tool, frozenset(paths), tuple(argv), configs, frozenset(roots), frozenset(globs))


def _search(configuration: Configuration, start: str) -> tuple[Source, dict[str, Any]] | None:
    """Walk up as isort does, to the first file that configures it."""
    folders = [start, *ancestors(start)][:_PARENTS]
    configuration.preload(folders, _SOURCES)
    for folder in folders:
        for name in _SOURCES:
            source = configuration.find(join(folder, name))
            if source and (settings := _read(source)):
                return source, settings
    return None


def _sections(path: str) -> tuple[str, ...]:
    return _SOURCES.get(posixpath.basename(path), _FALLBACK)


def _read(source: Source) -> dict[str, Any]:
    """Collect the settings of one file as isort does. A file it cannot read configures nothing."""
    settings: dict[str, Any] = {}
    if source.path.endswith(".toml"):
        document = parse_toml(source)
        for section in _sections(source.path):
            table: Any = document
            for key in section.split("."):
                table = table.get(key, {}) if isinstance(table, dict) else {}
            settings.update(table if isinstance(table, dict) else {})
        return settings
    text = source.text
    if source.path.endswith(".editorconfig"):
        lines = text.splitlines(keepends=True)
        first = next((n for n, line in enumerate(lines) if "[" in line), len(lines))
        text = "".join(lines[first:])
    try:
        parser = configparser.ConfigParser(strict=False)
        parser.read_string(text)
        for section in _sections(source.path):
            for name in _matching(parser, section):
                settings.update(parser.items(name))
    except configparser.Error:
        return {}
    return {} if _unreadable(source, settings) else settings


def _unreadable(source: Source, settings: dict[str, Any]) -> bool:
    """Tell whether isort stumbles over what an editor is told, and so takes the file for none."""
    if not source.path.endswith(".editorconfig"):
        return False
    size = settings.get("indent_size", "").strip()
    if size == "tab":
        size = settings.get("tab_width", "").strip()
    indents = settings.get("indent_style", "").strip() in {"space", "tab"}
    return indents and bool(size) and not size.isdecimal()


def _matching(parser: configparser.ConfigParser, section: str) -> list[str]:
    if not section.startswith("*.{"):
        return [section] if parser.has_section(section) else []
    braced = [name for name in parser if name.startswith("*.{") and name.endswith("}")]
    return [name for name in braced if "py" in (part.strip() for part in name[3:-1].split(","))]


def _vet(source: Source, settings: dict[str, Any]) -> dict[str, Any]:
    if source.path.endswith(".editorconfig"):
        # It configures editors too: what isort does not know there, it ignores itself.
        known = SCHEMA.passed | SCHEMA.refused.keys()
        kept = {k: v for k, v in settings.items() if k in known or k.startswith("known_")}
        editor = {k: v for k, v in settings.items() if k in _EDITOR_KEYS}
        vetted = {**editor, **SCHEMA.vet(kept, source)}
    else:
        vetted = SCHEMA.vet(settings, source)
    for key, value in vetted.items():
        _check(key, value, source.place(key))
    # An empty file would count as none, and isort would look for its folder elsewhere.
    return vetted or {"quiet": False}


def _check(key: str, value: Any, place: Place) -> None:
    """Refuse the values that run a plugin, look at the disk, or depend on the interpreter."""
    if key == "profile" and value and value not in _PROFILES:
        raise bad_configuration(f"The isort profile `{value}` is a plugin's.", place)
    if key == "sort_order" and value not in {"natural", "native"}:
        raise bad_configuration(f"The isort sort order `{value}` is a plugin's.", place)
    if key == "py_version" and value == "auto":
        raise bad_configuration("isort's `py_version = auto` follows the interpreter.", place)
    if key.startswith("known_") and any(item.endswith(("/", "\\")) for item in _items(value)):
        raise bad_configuration(f"isort's `{key}` names a folder; name its modules.", place)


def _items(value: Any) -> list[str]:
    if isinstance(value, list):
        return [str(item).strip() for item in value]
    parts = str(value or "").replace("\n", ",").split(",")
    return [part.strip() for part in parts if part.strip()]


def _write(source: Source, settings: dict[str, Any]) -> bytes:
    section = _sections(source.path)[0]
    if source.path.endswith(".toml"):
        header = "tool.isort" if section == "isort" else section
        return write_toml({header: settings})
    parser = configparser.ConfigParser(interpolation=None)
    # A percent sign was resolved in reading; isort resolves again.
    parser[section] = {key: str(value).replace("%", "%%") for key, value in settings.items()}
    text = io.StringIO()
    parser.write(text)
    return text.getvalue().encode("utf-8")


_MANIFEST = Manifest(ids=("isort",), types_or=("cython", "python", "pyi"), args=("--filter-files",))
FORMATTER = Formatter(
    name="isort",
    repositories={
        "pycqa/isort": _MANIFEST,
        "timothycrosley/isort": _MANIFEST,
        "pre-commit/mirrors-isort": Manifest(ids=("isort",), types=("python",)),
    },
    options=OPTIONS,
    runs=Project(
        "isort",
        oldest="5.0.0",
        entry=Function("isort.main", "main", given="arguments"),
        needs={
            "5.0.0": {"toml": "0.10.2"},
            "5.1.0": {},
            "9.0.0b3": {"mypy-extensions": "1.1.0"},
        },
    ),
    prepare=prepare,
    sorts=always,
    namespaces=Namespaces(
        prevented_by=frozenset({"setup.cfg", "pyproject.toml"}),
        declared=re.compile(
            rb"""__import__\((['"])pkg_resources\1\)\.declare_namespace\(__name__\)"""
            rb"""|__path__ = __import__\((['"])pkgutil\2\)\.extend_path\(__path__, __name__\)"""
        ),
        declaration=b"__import__('pkg_resources').declare_namespace(__name__)\n",
    ),
)
