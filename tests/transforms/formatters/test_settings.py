"""What of a repository's configuration reaches a formatter: passed on, ignored or refused."""

from __future__ import annotations

import configparser
import io
import sys
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transforms.formatters.trees import PRE_COMMIT, Link, MemoryTree, hooks
from transforms.errors import Refusal
from transforms.formatters.formatter import Stage, Tool
from transforms.formatters.hooks import read_hooks
from transforms.formatters.settings import LIMIT, Configuration, write_toml

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MODULE = "python/pkg/module.py"


def prepare(hook: str, *paths: str, version: str = "", **files: str) -> Stage:
    """Make the one hook ready for `paths`; `__` in a file's name is `/`, `_dot_` is `.`."""
    named = {name.replace("__", "/").replace("_dot_", "."): text for name, text in files.items()}
    return prepare_in({MODULE: "", **named}, hook, *paths, version=version)


def prepare_in(files: dict[str, str], hook: str, *paths: str, version: str = "") -> Stage:
    tree = MemoryTree({PRE_COMMIT: hooks(hook), **files})
    (read,) = read_hooks(tree).hooks
    tool = Tool(replace(read, version=version or read.version))
    return tool.formatter.prepare(tool, Configuration(tree), paths or (MODULE,))


def parsed(stage: Stage, path: str) -> dict[str, Any]:
    """Read a written configuration back: of TOML the whole, else the settings of all sections."""
    text = stage.configs[path].decode()
    if path.endswith(".toml"):
        return tomllib.loads(text)
    parser = configparser.ConfigParser()
    parser.read_file(io.StringIO(text))
    return {key: value for section in parser.sections() for key, value in parser.items(section)}


# --- isort -------------------------------------------------------------------------------------

ISORT_FOUND = {
    "its own file": (
        {".isort.cfg": "[settings]\nprofile = black\nknown_first_party = a,b\n"},
        ".isort.cfg",
        {"profile": "black", "known_first_party": "a,b"},
    ),
    "its own file before pyproject.toml": (
        {".isort.cfg": "[isort]\nline_length=9\n", "pyproject.toml": "[tool.isort]\nline_length=8"},
        ".isort.cfg",
        {"line_length": "9"},
    ),
    "a pyproject.toml without its section is none": (
        {"pyproject.toml": "[tool.black]\n", "setup.cfg": "[isort]\nskip = a\n"},
        "setup.cfg",
        {"skip": "a"},
    ),
    "tox.ini last but one": (
        {"tox.ini": "[tool:isort]\natomic=1\nskip=b"},
        "tox.ini",
        {"skip": "b"},
    ),
    "the nearest folder": (
        {".isort.cfg": "[settings]\nskip=a\n", "python/setup.cfg": "[isort]\nskip=b\n"},
        "python/setup.cfg",
        {"skip": "b"},
    ),
    "the folder of the first file": (
        {"python/pkg/tox.ini": "[isort]\nskip=c\n", ".isort.cfg": "[settings]\nskip=a\n"},
        "python/pkg/tox.ini",
        {"skip": "c"},
    ),
    "a file it cannot read is none": (
        {"python/setup.cfg": "no section\n", "tox.ini": "[isort]\nskip=d"},
        "tox.ini",
        {"skip": "d"},
    ),
    "what an editor is told": (
        {".editorconfig": "root = true\n[*]\nend_of_line = lf\n[*.py]\nindent_size = 2\n"},
        ".editorconfig",
        {"indent_size": "2"},
    ),
    "a section for several endings": (
        {".editorconfig": "[*.{js, py}]\nmax_line_length = 99\n[*.{js}]\nmax_line_length = 1\n"},
        ".editorconfig",
        {"max_line_length": "99"},
    ),
    "what an editor is told, but not in a number": (
        {
            "python/.editorconfig": "[*]\nindent_style=space\nindent_size=unset\n",
            "tox.ini": "[isort]\nskip=f",
        },
        "tox.ini",
        {"skip": "f"},
    ),
    "a list over several lines": (
        {"setup.cfg": "[isort]\nskip =\n  a\n  b\n"},
        "setup.cfg",
        {"skip": "\na\nb"},
    ),
    "a percent sign": (
        {"setup.cfg": "[isort]\nimport_heading_stdlib = 100%% ours\n"},
        "setup.cfg",
        {"import_heading_stdlib": "100% ours"},
    ),
    "a link to it": ({".isort.cfg": Link("conf/isort"), "conf/isort": "[isort]\nskip=e"},
                     ".isort.cfg", {"skip": "e"}),
    "only what is ignored": ({".isort.cfg": "[isort]\nverbose=1\n"}, ".isort.cfg",
                             {"quiet": "False"}),
}  # fmt: skip


@pytest.mark.parametrize(("files", "path", "kept"), ISORT_FOUND.values(), ids=ISORT_FOUND.keys())
def test_isort_finds(files: dict[str, str], path: str, kept: dict[str, str]) -> None:
    stage = prepare_in({MODULE: "", **files}, "isort")
    assert list(stage.configs) == [path]
    assert parsed(stage, path) == kept
    folder = path.rpartition("/")[0]
    assert stage.argv == ("--filter-files", "--settings-path", folder or ".")


def test_isort_reads_toml_as_toml() -> None:
    text = '[tool.isort]\nprofile = "black"\nskip = ["a", "b"]\nquiet = true\nline_length = 100\n'
    stage = prepare("isort", pyproject_dot_toml=text)
    assert parsed(stage, "pyproject.toml") == {
        "tool": {"isort": {"profile": "black", "skip": ["a", "b"], "line_length": 100}}
    }


def test_isort_without_configuration_looks_from_the_top() -> None:
    stage = prepare("isort")
    assert stage.configs == {}
    assert stage.argv == ("--filter-files", "--settings-path", ".")
    assert stage.roots == {"", "src"}


def test_isort_takes_the_configuration_of_the_first_file_for_all() -> None:
    files = {"a/x.py": "", "b/y.py": "", "b/.isort.cfg": "[settings]\nskip=b\n"}
    assert prepare_in(files, "isort", "a/x.py", "b/y.py").configs == {}
    assert list(prepare_in(files, "isort", "b/y.py").configs) == ["b/.isort.cfg"]


def test_isort_looks_for_modules_where_it_is_told() -> None:
    default = prepare("isort", python___dot_isort_dot_cfg="[settings]\nskip=a\n")
    assert default.roots == {"python", "python/src"}
    told = prepare("isort", _dot_isort_dot_cfg="[settings]\nsrc_paths = python, libs/*/src\n")
    assert told.roots == {"python"}
    assert told.globs == {"libs/*/src"}
    assert "lib" in prepare("isort, args: [--src, lib]").roots


NAMED_SETTINGS = {
    "a file": ("--settings-file=conf/isort.cfg", "conf/isort.cfg"),
    "a folder": ("--sp=conf", "conf"),
}


@pytest.mark.parametrize(("argument", "path"), NAMED_SETTINGS.values(), ids=NAMED_SETTINGS.keys())
def test_isort_is_told_its_configuration_by(argument: str, path: str) -> None:
    files = {
        MODULE: "",
        "conf/isort.cfg": "[isort]\nskip=a\n",
        "conf/.isort.cfg": "[settings]\nskip=a",
    }
    stage = prepare_in(files, f"isort, args: ['{argument}']")
    assert stage.argv == ("--settings-path", path)
    assert [parsed(stage, config) for config in stage.configs] == [{"skip": "a"}]


# --- black -------------------------------------------------------------------------------------

BLACK = '[project]\nname = "x"\nrequires-python = ">=3.9"\n[tool.black]\nline_length = 99\n'


def test_black_gets_its_section_and_the_oldest_python() -> None:
    stage = prepare("black", pyproject_dot_toml=BLACK + 'exclude = "a"\nverbose = true\n')
    assert parsed(stage, "pyproject.toml") == {
        "project": {"requires-python": ">=3.9"},
        "tool": {"black": {"line-length": 99}},
    }
    assert stage.argv == ()


def test_black_takes_the_root_that_all_files_have_in_common() -> None:
    files = {
        "python/pyproject.toml": BLACK,
        "pyproject.toml": "[tool.black]\n",
        "a.py": "",
        MODULE: "",
    }
    assert list(prepare_in(files, "black", MODULE).configs) == ["python/pyproject.toml"]
    assert list(prepare_in(files, "black", MODULE, "a.py").configs) == ["pyproject.toml"]


def test_black_skips_a_project_that_does_not_configure_it_from_24_2_on() -> None:
    files = {"python/pyproject.toml": "[project]\n", "pyproject.toml": BLACK, MODULE: ""}
    assert list(prepare_in(files, "black", version="24.2.0").configs) == ["pyproject.toml"]
    assert list(prepare_in(files, "black", version="24.1.1").configs) == ["python/pyproject.toml"]


def test_black_is_told_its_configuration() -> None:
    files = {
        "conf/black.toml": "[tool.black]\npreview = true\n",
        "pyproject.toml": BLACK,
        MODULE: "",
    }
    stage = prepare_in(files, "black, args: [--config, conf/black.toml]")
    assert stage.argv == ("--config", "conf/black.toml")
    assert list(stage.configs) == ["conf/black.toml"]


def test_black_without_configuration_has_none() -> None:
    assert prepare("black").configs == {}


# --- ruff --------------------------------------------------------------------------------------


def test_ruff_gets_the_configuration_nearest_to_each_file() -> None:
    files = {
        "ruff.toml": "line-length = 1\n",
        "a/.ruff.toml": "line-length = 2\n",
        "a/ruff.toml": "line-length = 3\n",
        "a/b/pyproject.toml": "[tool.ruff.lint]\nselect = ['I']\n",
        "a/c/pyproject.toml": "[project]\nrequires-python = '>=3.10'\n",
        "d/ruff.toml": "unknown = 1\n",
    }
    paths = ("a/b/x.py", "a/c/y.py", "z.py")
    stage = prepare_in(dict.fromkeys(paths, "") | files, "ruff-format", *paths)
    assert {path: parsed(stage, path) for path in stage.configs} == {
        "a/b/pyproject.toml": {"tool": {"ruff": {"lint": {"select": ["I"]}}}},
        "a/.ruff.toml": {"line-length": 2},
        "ruff.toml": {"line-length": 1},
        "a/c/pyproject.toml": {"project": {"requires-python": ">=3.10"}},
    }
    assert stage.argv == ("format", "--force-exclude", "--no-cache")


def test_ruff_gets_what_its_configuration_extends() -> None:
    files = {
        "python/ruff.toml": "extend = '../base.toml'\n",
        "base.toml": "extend = 'conf/pyproject.toml'\nsrc = ['python']\n",
        "conf/pyproject.toml": "[tool.ruff]\nsrc = ['lib']\n[tool.other]\n",
        MODULE: "",
    }
    stage = prepare_in(files, "ruff, args: [--fix]")
    assert set(stage.configs) == set(files) - {MODULE}
    assert parsed(stage, "conf/pyproject.toml") == {"tool": {"ruff": {"src": ["lib"]}}}
    assert {"python", "conf/lib"} <= stage.roots
    assert stage.argv == ("check", "--force-exclude", "--no-cache", "--fix")


def test_ruff_is_told_its_configuration() -> None:
    files = {"conf/r.toml": "src = ['lib']\n", "ruff.toml": "unknown = 1\n", MODULE: ""}
    stage = prepare_in(files, "ruff-format, args: [--config=conf/r.toml]")
    assert set(stage.configs) == {"conf/r.toml"}
    assert "lib" in stage.roots  # paths in it are relative to where ruff runs
    assert stage.argv[3:] == ("--config=conf/r.toml",)


def test_ruff_is_told_settings_in_its_arguments() -> None:
    hook = "ruff-format, args: [--config, 'format.quote-style = \"single\"']"
    stage = prepare(hook, ruff_dot_toml="line-length = 9\n")
    assert list(stage.configs) == ["ruff.toml"]
    assert stage.argv[3:] == ('--config=format.quote-style = "single"',)


def test_ruff_on_its_own_reads_no_configuration() -> None:
    assert prepare("ruff-format, args: [--isolated]", ruff_dot_toml="unknown = 1\n").configs == {}


def test_ruff_of_old_names_its_output_format_in_the_formatters_place() -> None:
    stage = prepare("ruff, args: [--fix]", ruff_dot_toml="format = 'grouped'\nselect = ['F']\n")
    assert parsed(stage, "ruff.toml") == {"select": ["F"]}


# --- usort -------------------------------------------------------------------------------------


def test_usort_gets_the_nearest_project_of_each_file() -> None:
    files = {
        "pyproject.toml": "[tool.usort]\nmerge_imports = false\n[tool.black]\nline-length = 99\n",
        "a/pyproject.toml": "[tool.other]\n",
        "a/x.py": "",
        "y.py": "",
    }
    stage = prepare_in(files, "usort", "a/x.py", "y.py")
    assert parsed(stage, "a/pyproject.toml") == {}
    assert parsed(stage, "pyproject.toml") == {
        "tool": {"usort": {"merge_imports": False}, "black": {"line-length": 99}}
    }


# --- refusals ----------------------------------------------------------------------------------

REFUSED = {
    "isort: a formatter that is a plugin": (
        "isort",
        {".isort.cfg": "[settings]\n\nformatter = evil\n"},
        ".isort.cfg:3",
        "runs code of a plugin",
    ),
    "isort: a profile that is a plugin": (
        "isort",
        {"pyproject.toml": "[tool.isort]\nprofile = 'evil'\n"},
        "pyproject.toml:2",
        "profile `evil` is a plugin's",
    ),
    "isort: an order that is a plugin": (
        "isort",
        {"setup.cfg": "[isort]\nsort_order = evil\n"},
        "setup.cfg:2",
        "sort order `evil` is a plugin's",
    ),
    "isort: an environment": (
        "isort",
        {"setup.cfg": "[isort]\nvirtual_env = /venv\n"},
        "setup.cfg:2",
        "reaches outside",
    ),
    "isort: another folder": (
        "isort",
        {"setup.cfg": "[isort]\ndirectory = ..\n"},
        "setup.cfg:2",
        "reaches outside",
    ),
    "isort: what is installed": (
        "isort",
        {"tox.ini": "[isort]\nold_finders = true\n"},
        "tox.ini:2",
        "depend on the environment",
    ),
    "isort: the running interpreter": (
        "isort",
        {"tox.ini": "[isort]\npy_version = auto\n"},
        "tox.ini:2",
        "follows the interpreter",
    ),
    "isort: source folders elsewhere": (
        "isort",
        {"tox.ini": "[isort]\nsrc_paths = ../other\n"},
        "tox.ini:2",
        "leads out of the repository",
    ),
    "isort: modules of a folder on disk": (
        "isort",
        {"tox.ini": "[isort]\nknown_first_party = /usr/lib/\n"},
        "tox.ini:2",
        "names a folder",
    ),
    "isort: a misspelled setting": (
        "isort",
        {"tox.ini": "[isort]\nline_lenght = 9\n"},
        "tox.ini:2",
        "Did you mean `line_length`?",
    ),
    "isort: a plugin in what an editor is told": (
        "isort",
        {".editorconfig": "[*.py]\nformatter = evil\n"},
        ".editorconfig:2",
        "runs code of a plugin",
    ),
    "isort: a project that is not TOML": (
        "isort",
        {"pyproject.toml": "[tool\n"},
        "pyproject.toml:1",
        "not TOML",
    ),
    "isort: a profile that is a plugin, as an argument": (
        "isort, args: [--profile=evil]",
        {},
        f"{PRE_COMMIT}:5",
        "is a plugin's",
    ),
    "isort: settings elsewhere, as an argument": (
        "isort, args: [--sp, /etc/isort.cfg]",
        {},
        f"{PRE_COMMIT}:5",
        "leads out of the repository",
    ),
    "isort: source folders elsewhere, as an argument": (
        "isort, args: [--src=..]",
        {},
        f"{PRE_COMMIT}:5",
        "leads out of the repository",
    ),
    "black: a part of a file": (
        "black",
        {"pyproject.toml": "[tool.black]\nline-ranges = ['1-2']\n"},
        "pyproject.toml:2",
        "a part of a file",
    ),
    "black: notebooks": (
        "black",
        {"pyproject.toml": "[tool.black]\nipynb = true\n"},
        "pyproject.toml:2",
        "notebooks",
    ),
    "black: a misspelled setting": (
        "black",
        {"pyproject.toml": "[tool.black]\ntarget-versions = ['py310']\n"},
        "pyproject.toml:2",
        "Did you mean `target-version`?",
    ),
    "black: a section that is none": (
        "black",
        {"pyproject.toml": "[tool]\nblack = 1\n"},
        "pyproject.toml:2",
        "is no table",
    ),
    "black: a date": (
        "black",
        {"pyproject.toml": "[tool.black]\nline-length = 2024-01-01\n"},
        "pyproject.toml:2",
        "is a date",
    ),
    "black: a configuration elsewhere": (
        "black, args: [--config=../black.toml]",
        {},
        f"{PRE_COMMIT}:5",
        "leads out of the repository",
    ),
    "black: a configuration that is not there": (
        "black, args: [--config=black.toml]",
        {},
        f"{PRE_COMMIT}:5",
        "There is no file `black.toml`",
    ),
    "ruff: an extension elsewhere": (
        "ruff, args: [--fix]",
        {"ruff.toml": "line-length = 9\nextend = '../../ruff.toml'\n"},
        "ruff.toml:2",
        "leads out of the repository",
    ),
    "ruff: an extension in the home folder": (
        "ruff, args: [--fix]",
        {"ruff.toml": "extend = '~/ruff.toml'\n"},
        "ruff.toml:1",
        "leads out of the repository",
    ),
    "ruff: an extension named by a variable": (
        "ruff, args: [--fix]",
        {"ruff.toml": "extend = '$HOME/ruff.toml'\n"},
        "ruff.toml:1",
        "leads out of the repository",
    ),
    "ruff: an extension that is not there": (
        "ruff, args: [--fix]",
        {"ruff.toml": "extend = 'base.toml'\n"},
        "ruff.toml:1",
        "There is no file `base.toml`",
    ),
    "ruff: an extension of an extension, elsewhere": (
        "ruff, args: [--fix]",
        {"ruff.toml": "extend = 'base.toml'\n", "base.toml": "extend = '/etc/ruff.toml'\n"},
        "base.toml:1",
        "leads out of the repository",
    ),
    "ruff: an extension in a circle": (
        "ruff, args: [--fix]",
        {"ruff.toml": "extend = 'base.toml'\n", "base.toml": "extend = 'ruff.toml'\n"},
        "ruff.toml:1",
        "does not end",
    ),
    "ruff: a cache elsewhere": (
        "ruff, args: [--fix]",
        {"pyproject.toml": "[tool.ruff]\ncache-dir = '/var/cache'\n"},
        "pyproject.toml:2",
        "leads out of the repository",
    ),
    "ruff: source folders elsewhere": (
        "ruff, args: [--fix]",
        {"ruff.toml": "src = ['..']\n"},
        "ruff.toml:1",
        "leads out of the repository",
    ),
    "ruff: an unknown setting": (
        "ruff, args: [--fix]",
        {"ruff.toml": "[lint]\nplugins = ['evil']\n"},
        "ruff.toml:2",
        "`lint.plugins` is no ruff setting",
    ),
    "ruff: a misspelled setting of its formatter": (
        "ruff-format",
        {"ruff.toml": "[format]\nquote_style = 'single'\n"},
        "ruff.toml:2",
        "Did you mean `quote-style`?",
    ),
    "ruff: an unknown setting, as an argument": (
        "ruff-format, args: [--config, 'formater.x = 1']",
        {},
        f"{PRE_COMMIT}:5",
        "no ruff setting",
    ),
    "ruff: an extension, as an argument": (
        "ruff-format, args: [--config, 'extend = \"base.toml\"']",
        {},
        f"{PRE_COMMIT}:5",
        "extends a file",
    ),
    "usort: an unknown setting": (
        "usort",
        {"pyproject.toml": "[tool.usort]\nplugin = 'x'\n"},
        "pyproject.toml:2",
        "no usort setting",
    ),
    "a link out of the repository": (
        "isort",
        {".isort.cfg": Link("/etc/passwd")},
        ".isort.cfg",
        "leads out of the repository",
    ),
    "a file of more than a megabyte": (
        "isort",
        {".isort.cfg": "#" * (LIMIT + 1)},
        ".isort.cfg",
        "configuration is read up to",
    ),
    "tables within tables": (
        "ruff-format",
        {"ruff.toml": "x = " + "[" * 50_000},
        "ruff.toml",
        "",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("hook", "files", "place", "cause"), REFUSED.values(), ids=REFUSED.keys())
def test_refused_is(hook: str, files: dict[str, str], place: str, cause: str) -> None:
    with pytest.raises(Refusal) as refused:
        prepare_in({MODULE: "", **files}, hook)
    assert refused.value.kind == "formatter-configuration"
    assert str(refused.value.place) == place
    assert cause in str(refused.value)
    assert "`--formatters none`" in refused.value.next_step


def test_a_cache_inside_the_repository_is_ignored() -> None:
    assert prepare("ruff-format", ruff_dot_toml="cache-dir = '.cache/ruff'\n").configs == {
        "ruff.toml": b""
    }


def test_links_that_lead_in_a_circle_are_no_configuration() -> None:
    files = {MODULE: "", ".isort.cfg": Link("other"), "other": Link(".isort.cfg")}
    assert prepare_in(files, "isort").configs == {}


PLAIN = st.recursive(
    st.text(st.characters(exclude_categories=["Cs"]))
    | st.integers(-(2**63), 2**63 - 1)
    | st.booleans(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), PLAIN))
def test_what_is_written_reads_back_the_same(table: dict[str, Any]) -> None:
    text = write_toml({"": {"top": table}, "tool.x": table}).decode("utf-8", "surrogatepass")
    assert tomllib.loads(text) == {"top": table, "tool": {"x": table}}
