"""Names of moved modules in the strings and comments of a Python file.

Rewritten are strings that are looked up, those whose last names the module does define, and
references in comments and docstrings. What only may be a name is noted.
"""

from __future__ import annotations

import ast
import bisect
import io
import re
import tokenize
from collections.abc import Iterator

from transforms.callers.strings import (
    looked_up_strings,
    relative_lookups,
    standing_strings,
    strings_of,
)
from transforms.relocation.mentions import Mention, Mentions
from transforms.relocation.python import PythonFile
from transforms.result.outcome import Edit, Note
from transforms.syntax.called import called_name
from transforms.tree.names import relative_name, resolve_import

# Functions whose first argument is the name of a module: one that runs or names a logger, and
# those that read a package's data, which are called like many another unless dots tell them apart.
_NAMED_FIRST = frozenset({"getLogger", "get_logger", "find_spec", "run_module", "PackageLoader"})
_DATA_OF = frozenset(
    {"files", "open_text", "open_binary", "read_text",
     "read_binary", "contents", "is_resource", "get_data", "resource_filename", "resource_string",
     "resource_stream", "resource_exists", "resource_listdir", "find_loader", "get_loader"}
)  # fmt: skip
# Names at module level whose strings a framework imports.
_IMPORTED = frozenset({"pytest_plugins", "INSTALLED_APPS", "MIDDLEWARE", "ROOT_URLCONF"})
# Keywords of `setup()` whose strings name modules, packages and what they define.
_PACKAGING = frozenset(
    {"packages", "py_modules", "package_data", "exclude_package_data", "package_dir",
     "entry_points", "namespace_packages", "test_suite"}
)  # fmt: skip
_ENTRY = re.compile(r"\s*[\w.-]+\s*=\s*\Z")
# An import in code that stands in a string: what a test runs in a child process.
_IMPORT = re.compile(r"(?:\A|[\n;])[ \t>]*(?:from|import)[ \t]+\Z")
_WRITTEN_IMPORT = re.compile(r"[\n;\x22\x27][ \t>]*(?:from|import)[ \t]+\Z")


class RelocatedStrings:
    """Finds and rewrites names in the strings and comments of one file."""

    def __init__(self, file: PythonFile, mentions: Mentions) -> None:
        self.file, self.mentions = file, mentions
        self.module = file.module
        self._names = mentions.searching()
        self._taken: list[tuple[int, int]] = sorted(file.rewritten)

    def rewrite(self) -> None:
        """Record the edits in the file's document, and the notes."""
        self._relative()
        self._note_taken()
        if not self._outside_imports():
            return
        called = {id(node) for node in self._called()}
        standing = {id(node) for node in standing_strings(self.module.tree)}
        annotations = {
            id(reference.node)
            for reference in self.module.scopes.references
            if reference.annotation == "string" and reference.owner is not None
        }
        for node in strings_of(self.module.tree):
            if isinstance(node, ast.JoinedStr):
                self._f_string(node)
            elif id(node) in annotations or not self._names(str(node.value)):
                continue
            elif id(node) in standing:
                self._documentation(*self.module.span(node))
            else:
                self._literal(node, is_called=id(node) in called)
        for start, end in self._comments():
            self._documentation(start, end)

    def _note_taken(self) -> None:
        """Note code in a string or a comment that takes a module from its package."""
        sites = [(site.start, site.end) for site in self.file.editor.sites]
        for at, dotted in self.mentions.taken_from_packages(self.module.text):
            if not any(start <= at < end for start, end in sites):
                place = self.module.place(self.module.line_of(at))
                new = self.file.targets.renames[dotted]
                message = f"Text that imports `{dotted}`, now `{new}`, from its package."
                self.file.notes.append(Note("string", place, message))

    def _outside_imports(self) -> bool:
        """Whether the text names what moves anywhere but in import statements and in code."""
        text = self.module.text
        if not self._names(text):
            return False
        taken = [(site.start, site.end) for site in self.file.editor.sites] + self._taken
        starts = dict(sorted(taken))
        places = sorted(starts)
        for mention in self.mentions.find(text):
            at = bisect.bisect_right(places, mention.start) - 1
            if at < 0 or starts[places[at]] <= mention.start:
                return True
        return False

    # Strings

    def _called(self) -> Iterator[ast.Constant]:
        """Literals that a call looks up, or that stand where a module is to be run."""
        for _, lookup in looked_up_strings(self.module.tree):
            yield from _first_literals(lookup.call)
        for node in ast.walk(self.module.tree):
            if isinstance(node, ast.Call):
                yield from _names_in_call(node)
            elif isinstance(node, ast.Assign) and _is_imported(node):
                yield from _strings_in(node.value)
            elif isinstance(node, ast.Dict):
                yield from _logger_names(node)
            elif isinstance(node, (ast.List, ast.Tuple)):
                yield from _run_modules(node)

    def _literal(self, node: ast.Constant, *, is_called: bool) -> None:
        value = str(node.value)
        for mention in self.mentions.find(value):
            if mention.kind == "path" and self._is_word(mention, value):
                continue
            if self._is_sure(mention, value, is_called=is_called):
                self._replace(node, mention)
            else:
                self._note(node, f"names `{mention.old}`, which moves; nothing shows who reads it")

    def _is_sure(self, mention: Mention, value: str, *, is_called: bool) -> bool:
        """Whether a string is looked up, is a path, or holds an import: no chance of a plain word.

        A dotted name that no call looks up must end in what the module does define.
        """
        before = value[: mention.start]
        if _IMPORT.search(before):
            return True
        if mention.kind == "path":
            return not before and ("/" in mention.old + mention.rest or "." in mention.old)
        ends = mention.end + (len(mention.rest) + 1 if mention.rest else 0)
        is_whole = not before and len(value) == ends
        is_entry = bool(mention.rest and _ENTRY.match(before))
        return is_called or ((is_whole or is_entry) and self._is_defined(mention))

    def _is_word(self, mention: Mention, value: str) -> bool:
        """Whether a folder of one word is found as a module, or stands in a sentence."""
        if "/" in mention.old + mention.rest or "." in mention.old:
            return False
        return mention.old in self.file.targets.renames or len(value) != len(mention.old)

    def _is_defined(self, mention: Mention) -> bool:
        first = mention.rest.partition(".")[0]
        return bool(first) and self.file.around.defines(mention.module, first)

    def _replace(self, node: ast.Constant, mention: Mention) -> None:
        start, end = self.module.span(node)
        text = self.module.text[start:end]
        found = [at for at in self.mentions.find(text) if at.old == mention.old]
        wanted = [at for at in self.mentions.find(str(node.value)) if at.old == mention.old]
        if len(found) != len(wanted):
            self._note(node, f"names `{mention.old}` in pieces; it was left alone")
            return
        at = found[wanted.index(mention)]
        self._put(start + at.start, start + at.end, mention.new, "string")

    def _f_string(self, node: ast.JoinedStr) -> None:
        """An import in code that an f-string holds follows; every other name in one is noted."""
        named = sum(
            len(list(self.mentions.find(part.value)))
            for part in node.values
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        )
        if not named:
            return
        start, end = self.module.span(node)
        written = [
            mention
            for mention in self.mentions.find(self.module.text, start, end)
            if _WRITTEN_IMPORT.search(self.module.text, start, mention.start)
        ]
        for mention in written:
            self._put(mention.start, mention.end, mention.new, "string")
        if len(written) != named:
            self._note(node, "an f-string names what moves; it was left alone")

    # Prose

    def _comments(self) -> Iterator[tuple[int, int]]:
        """Spans of comments, apart from those of import statements, which go with them."""
        sites = [(site.start, site.line_end) for site in self.file.editor.sites]
        reader = io.StringIO(self.module.text, newline="").readline
        for token in tokenize.generate_tokens(reader):
            if token.type == tokenize.COMMENT and self._names(token.string):
                start = self.module.line_starts[token.start[0] - 1] + token.start[1]
                if not any(first <= start < last for first, last in sites):
                    yield start, start + len(token.string)

    def _documentation(self, start: int, end: int) -> None:
        for mention in self.mentions.find(self.module.text, start, end):
            if (
                "." in mention.old
                or "/" in mention.old
                or (mention.rest and self._is_defined(mention))
            ):
                self._put(mention.start, mention.end, mention.new, "documentation")

    def _put(self, start: int, end: int, new: str, kind: str) -> None:
        if any(first < end and start < last for first, last in self._taken):
            return
        self._taken.append((start, end))
        old = self.module.text[start:end]
        self.file.document.edits.replace(start, end, new)
        self.file.edits.append(Edit(kind, self.module.line_of(start), old, new))

    # `import_module(".orders", __package__)`

    def _relative(self) -> None:
        if self.file.is_foreign or "import_module" not in self.module.text:
            return
        package, after = self.file.document.package, self.file.package
        for node, call in relative_lookups(self.module.tree):
            anchor = _anchor(call)
            if isinstance(anchor, ast.Name) and anchor.id in ("__package__", "__name__"):
                self._relative_lookup(node, package, after)
            elif isinstance(anchor, ast.Constant) and isinstance(anchor.value, str):
                self._relative_lookup(node, anchor.value, self.file.targets.renamed(anchor.value))
            elif (target := _absolute(package, str(node.value))) is not None:
                if self.file.targets.renamed(target) != target or package != after:
                    self._note(node, f"imports `{target}` by name; it was left alone")

    def _relative_lookup(self, node: ast.Constant, package: str, after: str) -> None:
        written = str(node.value)
        target = _absolute(package, written)
        if target is None:
            return
        spelled = relative_name(after, self.file.targets.renamed(target))
        if spelled is None:
            self._note(node, f"imports `{target}` by name; it was left alone")
        elif spelled != written:
            start, end = self.module.span(node)
            at = self.module.text.find(written, start, end)
            if at >= 0:
                self._put(at, at + len(written), spelled, "string")

    def _note(self, node: ast.expr, why: str) -> None:
        place = self.module.place(node.lineno)
        self.file.notes.append(Note("string", place, f"{why[0].upper()}{why[1:]}."))


def _is_imported(node: ast.Assign) -> bool:
    return any(isinstance(item, ast.Name) and item.id in _IMPORTED for item in node.targets)


def _logger_names(node: ast.Dict) -> Iterator[ast.Constant]:
    """The keys below `loggers`, as `logging.config.dictConfig` reads them."""
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant) and key.value == "loggers" and isinstance(value, ast.Dict):
            yield from (
                name
                for name in value.keys
                if isinstance(name, ast.Constant) and isinstance(name.value, str)
            )


def _strings_in(value: ast.expr) -> Iterator[ast.Constant]:
    for part in ast.walk(value):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part


def _names_in_call(node: ast.Call) -> Iterator[ast.Constant]:
    """Literals that name modules to what is called: by its place, or under a packaging keyword."""
    called = called_name(node)
    if called in _NAMED_FIRST:
        yield from _first_literals(node)
    elif called in _DATA_OF:
        yield from (item for item in _first_literals(node) if "." in str(item.value))
    elif called == "setup":
        listed = [item.value for item in node.keywords if item.arg in _PACKAGING]
        yield from (part for value in listed for part in _strings_in(value))


def _run_modules(node: ast.List | ast.Tuple) -> Iterator[ast.Constant]:
    """What stands behind `-m` in a command."""
    for before, after in zip(node.elts, node.elts[1:], strict=False):
        if isinstance(before, ast.Constant) and before.value == "-m":
            if isinstance(after, ast.Constant):
                yield after


def _first_literals(call: ast.Call) -> Iterator[ast.Constant]:
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    first = call.args[0] if call.args else named.get("target", named.get("name"))
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        yield first


def _anchor(call: ast.Call) -> ast.expr | None:
    """The package in which a relative name starts."""
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    return call.args[1] if len(call.args) > 1 else named.get("package")


def _absolute(package: str, written: str) -> str | None:
    """What a relative name means in a package; None where it climbs above the top."""
    name = written.lstrip(".")
    return resolve_import(package, len(written) - len(name), name) or None
