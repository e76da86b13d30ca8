"""Files other than Python: entry points and references of documentation are rewritten.

Every other place that names what moved is noted: configuration, notebooks, pickles, prose.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from transforms.callers.context import Readings, Surroundings
from transforms.callers.grammars import Grammar, grammar_of, settles
from transforms.callers.prompts import aliased
from transforms.callers.roles import Roles
from transforms.callers.written import Written
from transforms.errors import Place
from transforms.result.outcome import Edit, Note

CONFIGURATION = (".toml", ".cfg", ".ini")
DOCUMENTS = (".rst", ".md", ".txt")
OTHERS = (".ipynb", ".yaml", ".yml", ".json", ".sh", ".pyx", ".pxd")
PICKLES = (".pkl", ".pickle", ".joblib", ".pt", ".pth")
_NAMED = frozenset({"makefile", "dockerfile", "jenkinsfile", "procfile", "codeowners"})
_WHOLE = re.compile(r"[ \t]*(?:\.\.[ \t]+[\w:+-]+::|:::)[ \t]*~?\Z")
_INCLUDES = re.compile(r"(?:include::|--8<--|:::|@include)[^\n]*\Z")
_WHOLE_MODULE = "Is about"  # so begins a note that says less than one of a name
_EXCERPT = 200


def text_paths(paths: Iterable[str]) -> list[str]:
    """Files other than Python in which a name may stand that a tool looks up."""
    suffixes = CONFIGURATION + DOCUMENTS + OTHERS + PICKLES
    found = []
    for path in paths:
        name = posixpath.basename(path).lower()
        if name.endswith(suffixes) or name in _NAMED or grammar_of(path) is not None:
            found.append(path)
    return found


_PLAN = re.compile(r"(?ms)\A(?:#[^\n]*\n|\s)*format *= *[12]\b.*^\[\[source\]\]")


@dataclass(slots=True)
class TextResult:
    """The new bytes of a file, and what was done."""

    data: bytes
    edits: list[Edit] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    external: Readings = field(default_factory=dict)


class Texts:
    """Rewrites files that are not Python, for one move."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        names = sorted(around.sources, key=lambda name: (-len(name), name))
        joined = "|".join(map(re.escape, names))
        self._dotted = re.compile(rf"(?<![\w.])({joined})(?:([.:])([^\W\d]\w*))?(?!\w)")
        self._entry = re.compile(rf"(?<![\w.])({joined}):([^\W\d]\w*)")
        self._import = re.compile(rf"\bfrom[ \t]+({joined})[ \t]+import\b(.*)")
        self._roles = Roles(names)
        self._written = Written(around)
        files = {short_path(s.located.path): s for s in around.sources.values()}
        self._files = files
        self._file = re.compile(rf"(?<![\w.-])(?:[\w.-]+/){{0,40}}?({any_path(files)})(?!\w)")

    def rewrite(self, path: str, data: bytes) -> TextResult:
        """Give the file's new bytes; all that is not UTF-8 stays as it is."""
        result = TextResult(data)
        if path.lower().endswith(PICKLES):
            self._note_pickle(path, result)
            return result
        text = data.decode("utf-8", "surrogateescape")
        grammar = grammar_of(path)
        if self._around.move.plan.newer:
            listed: set[int] = set()
            new = self._written_anew(path, text, grammar, result, listed) if grammar else text
            result.notes += self._notes(path, new, listed)
            result.data = new.encode("utf-8", "surrogateescape")
            return result
        found: Iterator[re.Match[str]] = iter(())
        kind = "documentation"
        if path.lower().endswith(CONFIGURATION):
            kind, found = "entry point", self._entry.finditer(text)
        elif path.lower().endswith(DOCUMENTS):
            found = self._roles.find(text, markdown=path.lower().endswith(".md"))
        new = self._replaced(path, text, sorted(found, key=lambda m: m.start()), kind, result)
        result.notes += self._notes(path, new)
        result.data = new.encode("utf-8", "surrogateescape")
        return result

    def _written_anew(
        self, path: str, text: str, grammar: Grammar, result: TextResult, listed: set[int]
    ) -> str:
        """The text by the grammar of its file; what entry points still read is recorded.

        So are the lines on which it lists new modules beside the old.
        """
        if path.endswith(".toml") and _PLAN.search(text):
            return text
        if path.lower().endswith(CONFIGURATION):
            for found in self._entry.finditer(text):
                key = found[1], found[2]
                if key not in result.external and self._around.move.named(*key) in (None, key[0]):
                    line = text.count("\n", 0, found.start()) + 1
                    result.external[key] = place_in(path, text, line, found.start())
        parts: list[str] = []
        position = at = grown = 0
        line = 1
        for change in self._written.changes(path, text, grammar):
            parts += [text[position : change.start], change.new]
            position = change.end
            line, at = line + text.count("\n", at, change.start), change.start
            result.edits.append(Edit(change.kind, line, change.before, change.after))
            if change.start == change.end:
                listed.add(line + grown)
            grown += change.new.count("\n") - text.count("\n", change.start, change.end)
        return "".join([*parts, text[position:]])

    def _replaced(
        self, path: str, text: str, found: list[re.Match[str]], kind: str, result: TextResult
    ) -> str:
        parts: list[str] = []
        position = at = 0
        line = 1
        for match in found:
            dotted, name = match[1], match[2]
            line, at = line + text.count("\n", at, match.start()), match.start()
            home = self._around.move.named(dotted, name)
            if home is None or home == dotted:
                if home is None and kind == "entry point":
                    result.external.setdefault((dotted, name), place_in(path, text, line, at))
                continue
            parts += [text[position : match.start(1)], home]
            position = match.end(1)
            joint = match[0][len(dotted)]
            result.edits.append(Edit(kind, line, match[0], f"{home}{joint}{name}"))
        return "".join([*parts, text[position:]])

    def _notes(self, path: str, text: str, listed: Collection[int] = ()) -> Iterator[Note]:
        """At most one note a line. A plan names sources by its nature: nothing to look at."""
        if path.endswith(".toml") and _PLAN.search(text):
            return
        kind = "notebook" if path.lower().endswith(".ipynb") else "text"
        noted: dict[int, Note] = {}
        patterns = (self._dotted, self._import, self._file)
        mentions = [found for pattern in patterns for found in pattern.finditer(text)]
        line, at = 1, 0
        for found in sorted(mentions, key=lambda m: m.start()):
            line, at = line + text.count("\n", at, found.start()), found.start()
            if line in noted and not self._is_whole(noted[line]):
                continue
            why = "" if line in listed else self._why(path, text, found)
            if why and (line not in noted or not why.startswith(_WHOLE_MODULE)):
                noted[line] = Note(kind, place_in(path, text, line, at), why)
        if path.lower().endswith(DOCUMENTS) and ">>>" in text:
            for number, dotted, name in aliased(text, self._around.lost):
                message = f"An example reaches `{name}` through `{dotted}`, which no longer has it."
                noted.setdefault(number, Note(kind, Place(path, number), message))
        yield from noted.values()

    def _is_whole(self, note: Note) -> bool:
        return note.message.startswith(_WHOLE_MODULE)

    def _why(self, path: str, text: str, found: re.Match[str]) -> str:
        """What a person should know about a mention; "" if nothing."""
        if found.re is self._import:
            return self._why_import(found)
        if found.re is self._file:
            return self._why_file(path, found)
        dotted, name = found[1], found[3]
        if name:
            moved = self._moves(dotted, name)
            return f"Names `{name}` in its old module; it was left alone." if moved else ""
        if "." not in dotted and not _is_quoted(text, found):
            return ""  # a word of any language
        return self._why_whole(path, text, found)

    def _why_whole(self, path: str, text: str, found: re.Match[str]) -> str:
        """The same for a source that is named as a whole."""
        if self._around.sources[found[1]].spec.emptied == "delete":
            return f"Names `{found[1]}`, which is deleted; it was left alone."
        if self._around.move.offers_all(found[1]):
            return ""
        if path.lower().endswith(CONFIGURATION) or settles(path, "modules"):
            return f"Is about `{found[1]}` as a whole; it does not reach what moved."
        before = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
        if path.lower().endswith(DOCUMENTS) and _WHOLE.match(before):
            return f"Documents `{found[1]}` as a whole; what moved is no longer among it."
        return ""

    def _why_file(self, path: str, found: re.Match[str]) -> str:
        """A path, as settings for single files, owners and commands name it."""
        source = self._files[found[1]]
        if source.spec.emptied == "delete" or source.spec.becomes is not None:
            return f"Names `{source.located.path}`, which goes; it was left alone."
        line = found.string[found.string.rfind("\n", 0, found.start()) + 1 : found.start()]
        if path.lower().endswith(DOCUMENTS) and _INCLUDES.search(line):
            return f"Shows a part of `{source.located.path}`; what moved is no longer in it."
        about = path.lower().endswith((*CONFIGURATION, "codeowners")) or settles(path, "paths")
        return f"Is about `{source.located.path}`; it does not reach what moved." if about else ""

    def _why_import(self, found: re.Match[str]) -> str:
        names = re.findall(r"\w+", found[2].replace("\\n", " "))
        moved = [name for name in names if self._moves(found[1], name)]
        if moved:
            return f"Imports `{moved[0]}` from its old module; it was left alone."
        return "Imports from a source; it was left alone." if "(" in found[2] else ""

    def _moves(self, dotted: str, name: str) -> bool:
        return self._around.move.named(dotted, name) not in (None, dotted)

    def _note_pickle(self, path: str, result: TextResult) -> None:
        """A pickle names a class or function by module and name, close together."""
        for dotted, source in self._around.sources.items():
            if dotted.encode() not in result.data:
                continue
            names = sorted(name for name in source.moved if name.encode() in result.data)
            if names:
                result.notes.append(
                    Note(
                        "pickle",
                        Place(path),
                        f"Seems to hold a pickled `{dotted}.{names[0]}`; it loads only while "
                        f"`{dotted}` offers the name.",
                    )
                )


def short_path(path: str) -> str:
    """The end of a path by which texts name a file: its folder, if it has one, and its name."""
    return "/".join(path.split("/")[-2:])


def any_path(paths: Iterable[str]) -> str:
    """A pattern for any of the paths."""
    return "|".join(re.escape(path) for path in sorted(paths, key=lambda path: (-len(path), path)))


def _is_quoted(text: str, found: re.Match[str]) -> bool:
    before = text[max(0, found.start() - 1) : found.start()]
    after = text[found.end() : found.end() + 1]
    return before == after and before in ("'", '"')


def place_in(path: str, text: str, line: int, at: int) -> Place:
    """Where a mention stands, with the text of its line."""
    start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    row = text[start : end if end >= 0 else len(text)]
    return Place(path, line, None, row.rstrip("\r")[:_EXCERPT])
