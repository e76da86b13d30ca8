"""Files other than Python that name what moves: settings, packaging, documentation, commands.

What a tool would look up is rewritten. What no plan writes (workflows, hooks), what tells of the
past, and what may be a plain word is noted, with the line.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

from transforms.callers.grammars import NAMES, grammar_of
from transforms.callers.texts import CONFIGURATION, DOCUMENTS, PICKLES, place_in, text_paths
from transforms.errors import Place, Refusal
from transforms.relocation.around import Around, FileResult
from transforms.relocation.mentions import Mention, Mentions
from transforms.result.outcome import Edit, Note
from transforms.tree.automatic import refuse_automatic

# Settings that list modules, packages or folders of them: one word there is a name. By key.
_KEYS = frozenset(
    {
        "packages", "py-modules", "py_modules", "modules", "module", "package", "source", "omit",
        "include", "known_first_party", "known-first-party", "known_local_folder", "first_party",
        "files", "exclude", "testpaths", "where", "root_package", "root_packages", "from", "cov",
        "package-data", "package_data", "include-package-data", "source_pkgs", "addopts",
    }
)  # fmt: skip
_SETTINGS = frozenset(
    {".gitignore", ".dockerignore", ".coveragerc", ".importlinter", "manifest.in", "tox.ini",
     ".flake8", "makefile", "justfile", "noxfile", "dockerfile", "procfile", "codeowners",
     ".env", "meson.build", "build", "tach.yml"}
)  # fmt: skip
_HISTORY = re.compile(r"(?i)\A(?:change|history|news|release|whatsnew)")
_KEY = re.compile(r"""(?m)^[ \t]*["']?([\w.-]+)["']?[ \t]*=""")
_TABLE = re.compile(r"(?m)^[ \t]*\[+([^\]\n]+)\]+")
_RUN = re.compile(r"(?:-m|--module)[ =\t]+\Z")
# A line of an example: one word there is a module. Prose that begins so goes on otherwise.
_IMPORTED = re.compile(
    r"[ \t]*(?:>>> |\.\.\. )?(?:import +[\w.]+(?: as \w+)?[ \t]*(?:#.*)?$|from +[\w.]+ +import\b)",
    re.MULTILINE,
)
_PLAN = re.compile(r"(?ms)\A(?:#[^\n]*\n|\s)*format *= *\d\b.*^\[\[(?:source|move)\]\]")


def relocated_texts(paths: Iterable[str]) -> list[str]:
    """Files other than Python in which a module may be named."""
    paths = list(paths)
    found = dict.fromkeys(text_paths(paths))
    for path in paths:
        name = posixpath.basename(path).lower()
        if name in _SETTINGS or name.endswith((".in", ".mk", ".bazel", ".bzl", ".service")):
            found[path] = None
    return list(found)


class RelocatedTexts:
    """Rewrites files that are not Python, for one plan."""

    def __init__(self, around: Around, mentions: Mentions, *, newer: bool) -> None:
        self._around, self._mentions, self._newer = around, mentions, newer

    def rewrite(self, path: str, data: bytes) -> FileResult:
        """Give the file's new bytes; all that is not UTF-8 stays as it is."""
        result = FileResult(data)
        text = data.decode("utf-8", "surrogateescape")
        name = posixpath.basename(path).lower()
        if path.lower().endswith(PICKLES):
            self._note_pickle(path, text, result)
            return result
        if path.endswith(".toml") and _PLAN.search(text):
            return result  # a plan names what moves by its nature, and is kept as it was
        why = self._left_alone(path, name)
        parts: list[str] = []
        position = at = 0
        line, noted = 1, 0
        for mention in self._mentions.find(text):
            line, at = line + text.count("\n", at, mention.start), mention.start
            reason = self._doubt(path, text, mention)
            if reason == "word":
                continue
            reason = why or reason
            if reason and noted == line:
                continue  # one note a line is enough
            if reason:
                noted = line
                place = place_in(path, text, line, mention.start)
                message = f"Names `{mention.old}`, now `{mention.new}`{reason}"
                result.notes.append(Note("text", place, message))
                continue
            parts += [text[position : mention.start], mention.new]
            position = mention.end
            kind = "documentation" if name.endswith(DOCUMENTS) else "configuration"
            result.edits.append(Edit(kind, line, mention.old, mention.new))
        new = "".join([*parts, text[position:]])
        result.data = new.encode("utf-8", "surrogateescape")
        if self._newer:
            self._note_taken(path, new, result)
        return result

    def _note_taken(self, path: str, text: str, result: FileResult) -> None:
        """Note `from shop import orders`, which one would have to take apart."""
        for at, dotted in self._mentions.taken_from_packages(text):
            place = place_in(path, text, text.count("\n", 0, at) + 1, at)
            new = self._around.targets.renames[dotted]
            message = f"Takes `{dotted}`, now `{new}`, from its package; it was left alone."
            result.notes.append(Note("text", place, message))

    def _left_alone(self, path: str, name: str) -> str:
        """Why a file is never written; "" if it may be."""
        try:
            refuse_automatic(path, Place(path))
        except Refusal:
            return ": no plan writes here, change the line by hand."
        if name.endswith(DOCUMENTS) and _HISTORY.match(name):
            return "; what tells of the past was left alone."
        settings = name in _SETTINGS or name.endswith((".in", ".mk", ".bazel", ".bzl", ".sh"))
        settings = settings or "." not in name  # a script, known by its first line
        if settings or name.endswith((*CONFIGURATION, *DOCUMENTS)):
            return ""
        grammar = grammar_of(path) if self._newer else None
        if grammar is not None and NAMES in grammar.forms:
            return ""  # data, settings and templates that name what to load
        return "; it was left alone."

    def _doubt(self, path: str, text: str, mention: Mention) -> str:
        """Why one place is left alone; "" for a name beyond doubt, `word` for any word."""
        settles = path.lower().endswith(CONFIGURATION)
        if mention.kind == "path":
            sets = settles or posixpath.basename(path).lower() in _SETTINGS
            is_file = "." in mention.rest.rpartition("/")[2]  # `client/server` is prose
            names = "/" in mention.old or sets or is_file
            return "" if names and self._is_whole_path(text, mention) else "word"
        if "." in mention.old or self._is_looked_up(text, mention):
            return ""
        if _IMPORTED.match(text, text.rfind("\n", 0, mention.start) + 1):
            return ""
        if mention.rest or not settles:
            return "word"
        if self._key(text, mention.start) in _KEYS:
            return ""
        is_quoted = text[mention.start - 1 : mention.start] in ("'", '"')
        return "; it was left alone." if is_quoted else "word"

    def _is_looked_up(self, text: str, mention: Mention) -> bool:
        """Whether one word is a module beyond doubt: it defines the next name, or it is run."""
        if mention.rest:
            return self._around.defines(mention.module, mention.rest.partition(".")[0])
        return _RUN.search(text, max(0, mention.start - 12), mention.start) is not None

    @staticmethod
    def _is_whole_path(text: str, mention: Mention) -> bool:
        """A folder of one word is a path where a slash or a quote says so."""
        if "/" in mention.old or mention.rest:
            return True
        around = text[mention.start - 1 : mention.start] + text[mention.end : mention.end + 1]
        return around in ("''", '""')

    @staticmethod
    def _key(text: str, at: int) -> str:
        """The key of the setting in which an offset lies, in TOML and in INI files alike."""
        start = text.rfind("\n", 0, at) + 1
        row = text[start:at]
        found = _KEY.match(row)
        if found:
            return found[1].rpartition(".")[2]
        before = list(_KEY.finditer(text, 0, start))
        tables = list(_TABLE.finditer(text, 0, at))
        if tables and (not before or tables[-1].start() > before[-1].start()):
            return tables[-1][1].rpartition(".")[2].strip(" '\"")
        return before[-1][1].rpartition(".")[2] if before else ""

    def _note_pickle(self, path: str, text: str, result: FileResult) -> None:
        for old in sorted(self._around.targets.renames, key=len, reverse=True):
            if "." in old and old in text:
                message = (
                    f"Seems to hold a pickled object of `{old}`; it loads only while that is there."
                )
                result.notes.append(Note("pickle", Place(path), message))
                return
