"""Names inside the strings and comments of a Python file.

Rewritten are strings that a call looks up (`patch` and its kin), entry points of a `setup.py` and
references of documentation. Everything else that names what moved is noted.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from transforms.callers.context import Caller, kept_by
from transforms.callers.detours import is_ours
from transforms.callers.lookups import PATCH_OPTIONS
from transforms.callers.prompts import aliased
from transforms.callers.roles import PartialRoles, Roles
from transforms.callers.tables import Tables
from transforms.callers.written import Written
from transforms.move.state import SourceState
from transforms.result.outcome import Edit
from transforms.syntax.called import called_name, last_name

# Called with a dotted name that is imported and looked up: unittest.mock, pytest's monkeypatch.
_PATCHES = frozenset({"patch", "setattr", "delattr"})
# pkgutil, Django and Werkzeug, pydoc: only read.
_LOOKUPS = frozenset({"resolve_name", "import_string", "locate"})
_MODULE_LOOKUPS = frozenset({"import_module", "importorskip", "__import__", "run_module"})
_RELATIVE = re.compile(rf"\b(?:{'|'.join(sorted(_MODULE_LOOKUPS))})\s*\(\s*['\"]\.")
_SETUP = re.compile(r"(?:.*/)?setup\.py\Z")


@dataclass(frozen=True, slots=True)
class Lookup:
    """A call that looks a string up. `kind` is one of `patch`, `read`, `module`, `multiple`."""

    kind: str
    call: ast.Call


class Strings:
    """Finds and rewrites names in the strings of one file."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.document = caller.document
        self.module = caller.document.module
        self.edits = caller.document.edits
        names = sorted(caller.sources, key=lambda name: (-len(name), name))
        joined = "|".join(map(re.escape, names))
        self._dotted = re.compile(rf"(?<![\w.])({joined})(?:([.:])([^\W\d]\w*))?(?!\w)")
        self._module_only = re.compile(rf"({joined})[.:]?\Z")
        self._entry = re.compile(rf"(?<![\w.])({joined})(:)([^\W\d]\w*)")
        self._import = re.compile(rf"\bfrom[ \t]+({joined})[ \t]+import\b([^\r\n]*)")
        self._own = Tables(caller)
        self._roles, self._partial = Roles(names), PartialRoles(caller.move)

    def rewrite(self) -> None:
        """Record the edits in the document, and the notes."""
        if self.caller.move.plan.newer:
            self._own.rewrite()
        if self._outside_imports():
            self._literals()
            self._documentation()
        if self.caller.move.plan.newer:
            self._doctests()
        self._examples()
        self._relative_imports()
        self._shortened()
        self._files()
        self._tables()

    def _outside_imports(self) -> bool:
        """Whether the text names a source anywhere but on the line of an import statement."""
        text = self.module.text
        for found in self._dotted.finditer(text):
            line = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
            if line.strip() not in ("from", "import"):
                return True
        return False

    def _moves(self, dotted: str, name: str | None) -> bool:
        return bool(name) and self.caller.move.named(dotted, name or "") not in (None, dotted)

    # String literals

    def _literals(self) -> None:
        lookups = dict(looked_up_strings(self.module.tree))
        spared: set[ast.AST] = set(standing_strings(self.module.tree))
        spared |= {
            reference.node
            for reference in self.module.scopes.references
            if reference.annotation == "string" and reference.owner is not None
        }
        is_setup = _SETUP.match(self.module.path) is not None
        for node in strings_of(self.module.tree):
            if isinstance(node, ast.JoinedStr):
                self._f_string(node)
            elif (
                node in spared or node in self._own.done or not self._dotted.search(str(node.value))
            ):
                continue
            elif self.caller.is_frozen(node):
                self._note_names(node, str(node.value))
            else:
                self._literal(node, lookups.get(node), is_setup=is_setup)

    def _literal(self, node: ast.Constant, lookup: Lookup | None, *, is_setup: bool) -> None:
        found = self._dotted.match(str(node.value))
        if lookup is not None and found is not None:
            self._looked_up(node, lookup, found)
        elif is_setup and self._entry.search(str(node.value)):
            self._entry_points(node)
        else:
            self._note_names(node, str(node.value))

    def _note_names(self, node: ast.expr, value: str) -> None:
        """Note a string that names what moved, or a source as a whole, for readers unknown."""
        found = self._module_only.match(value)
        if found and "." in found[1]:  # else it is a word of any language
            self.caller.note(
                "string", node.lineno, f"Names a source; {self.caller.through(found[1])}"
            )
            return
        for found in self._dotted.finditer(value):
            if self._moves(found[1], found[3]):
                self._note(node, "names what moved; nothing shows who reads it")
                return
        for found in self._dotted.finditer(value):
            named = [
                name for name in self.caller.around.lost.get(found[1], ()) if _has(value, name)
            ]
            if named and "." in found[1]:
                self._note(node, f"names `{found[1]}`, and `{named[0]}`, which it no longer has")
                return
        for found in self._import.finditer(value):
            names = re.findall(r"\w+", found[2])
            if found[2].strip() == "(" or any(self._moves(found[1], name) for name in names):
                self._note(node, "holds code that imports from a source")
                return

    def _looked_up(self, node: ast.Constant, lookup: Lookup, found: re.Match[str]) -> None:
        dotted, name, line = found[1], found[3], node.lineno
        if not name:
            if lookup.kind == "multiple":
                self._multiple(node, lookup.call, dotted)
                return
            self.caller.read(dotted, "", line)
            if lookup.kind == "module":
                self.caller.note(
                    "dynamic import",
                    line,
                    f"Imports a source by name; {self.caller.through(dotted)}",
                )
            return
        exact = found.end() == len(str(node.value))
        module = self._patched(dotted, name, line) if lookup.kind == "patch" and exact else None
        if lookup.kind != "patch" or not exact:
            module = self.caller.move.named(dotted, name)
            if module is None:
                self.caller.read(dotted, name, line)
        if module is not None and module != dotted:
            if self.caller.around.hides(module):
                raise self.caller.unreachable(line, module)
            self._replace(node, f"{dotted}{found[2]}{name}", f"{module}{found[2]}{name}")

    def _patched(self, dotted: str, name: str, line: int) -> str | None:
        patch = self.caller.around.patches.of(dotted, name)
        if patch.kind:
            self.caller.note(patch.kind, line, patch.message)
        if patch.module is None:
            self.caller.read(dotted, name, line)
        return patch.module

    def _multiple(self, node: ast.Constant, call: ast.Call, dotted: str) -> None:
        """`patch.multiple("source", X=..., Y=...)`: all names must go to one module."""
        names = [k.arg for k in call.keywords if k.arg and k.arg not in PATCH_OPTIONS]
        modules = {self.caller.around.patches.of(dotted, name).module for name in names}
        if len(modules) == 1:
            for name in names:
                self._patched(dotted, name, node.lineno)
            module = modules.pop()
            if module is not None:
                self._replace(node, dotted, module)
            return
        for name in names:
            self.caller.read(dotted, name, node.lineno)
        self._note(node, "names a source whose patched names are now in several modules")

    def _entry_points(self, node: ast.Constant) -> None:
        """`"name = source:NAME"` in a `setup.py`."""
        start, end = self.module.span(node)
        for found in self._entry.finditer(self.module.text, start, end):
            home = self.caller.move.named(found[1], found[3])
            line = self.module.line_of(found.start())
            if home is None:
                self.caller.read(found[1], found[3], line)
            elif home != found[1]:
                self.edits.replace(found.start(1), found.end(1), home)
                self._log("entry point", line, found[0], f"{home}:{found[3]}")

    def _replace(self, node: ast.Constant, old: str, new: str) -> None:
        """Replace a dotted name within a literal; noted if it is not written in one piece."""
        start, end = self.module.span(node)
        text = self.module.text[start:end]
        if text.count(old) != 1:
            self._note(node, "names what moved, in pieces; it was left alone")
            return
        at = start + text.index(old)
        self.edits.replace(at, at + len(old), new)
        value = str(node.value)
        self._log("string", node.lineno, repr(value), repr(value.replace(old, new, 1)))

    def _f_string(self, node: ast.JoinedStr) -> None:
        for part in node.values:
            if not isinstance(part, ast.Constant) or not isinstance(part.value, str):
                continue
            for found in self._dotted.finditer(part.value):
                rest = part.value[found.end() :]
                if self._moves(found[1], found[3]) or (not found[3] and rest in (".", ":", "")):
                    self._note(node, "an f-string names a source; it was left alone")
                    return

    # Documentation

    def _documentation(self) -> None:
        """References in comments and in strings that stand alone; other strings are no prose."""
        found = list(self._roles.find(self.module.text))
        if not found:
            return
        standing = [self.module.span(node) for node in standing_strings(self.module.tree)]
        strings = [self.module.span(node) for node in strings_of(self.module.tree)]
        for match in found:
            at = match.start()
            if _within(at, strings) and not _within(at, standing):
                continue
            home = self.caller.move.named(match[1], match[2])
            line = self.module.line_of(at)
            if home is None or home == match[1]:
                continue
            if self.caller.is_frozen(ast.Pass(lineno=line, col_offset=0)):
                self.caller.note("string", line, "Code that moves refers to its old module here.")
                continue
            self.edits.replace(match.start(1), match.end(1), home)
            self._log("documentation", line, match[0], f"{home}.{match[2]}")

    def _doctests(self) -> None:
        """Imports of examples, and references that leave packages out."""
        text = self.module.text
        if ">>>" not in text and ":`" not in text:
            return
        written = Written(self.caller.around)
        found = [(c.start, c.end, c.new) for c in written.imports(text, "", doctests=True)]
        found += self._partial.find(text)
        standing = [
            self.module.span(node) for node in (standing_strings(self.module.tree) if found else ())
        ]
        for start, end, new in sorted(found):
            line = self.module.line_of(start)
            inside = _within(start, standing) or self._is_comment(start)
            if inside and not self.caller.is_frozen(ast.Pass(lineno=line, col_offset=0)):
                self.edits.replace(start, end, new)
                self._log("documentation", line, text[start:end], " ".join(new.split()))

    def _examples(self) -> None:
        """`>>> shop.orders.Money`: an example that reaches what moved through its old module."""
        if ">>>" not in self.module.text:
            return
        for number, dotted, name in aliased(self.module.text, self.caller.around.lost):
            message = f"An example reaches `{name}` through `{dotted}`, which no longer has it."
            self.caller.note("doctest", number, message)
        for found in self._dotted.finditer(self.module.text):
            line = self.module.line_of(found.start())
            example = self.module.line_text(line).lstrip(" \t").startswith((">>>", "..."))
            if example and found[3] in self.caller.around.lost.get(found[1], ()):
                message = f"An example reaches `{found[3]}` through its old module."
                self.caller.note("doctest", line, message)

    def _is_comment(self, offset: int) -> bool:
        start = self.module.line_start(offset)
        return self.module.text[start:offset].lstrip(" \t\f").startswith("#")

    # What is only noted

    def _relative_imports(self) -> None:
        """`import_module(".source", __package__)`."""
        if not _RELATIVE.search(self.module.text):
            return
        for node, lookup in relative_lookups(self.module.tree):
            name = str(node.value)
            anchor = self._anchor(lookup)
            level = len(name) - len(name.lstrip("."))
            parts = anchor.split(".") if anchor else []
            if anchor is None or level > len(parts):
                continue
            base = parts[: len(parts) - (level - 1)]
            dotted = ".".join([*base, name.lstrip(".")])
            if dotted in self.caller.sources and not self.caller.is_foreign:
                self.caller.read(dotted, "", node.lineno)
                self.caller.note(
                    "dynamic import",
                    node.lineno,
                    f"Imports a source by name; {self.caller.through(dotted)}",
                )

    def _anchor(self, call: ast.Call) -> str | None:
        """The package that a relative dynamic import starts from; None if it cannot be told."""
        named = {keyword.arg: keyword.value for keyword in call.keywords}
        node = call.args[1] if len(call.args) > 1 else named.get("package")
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        if isinstance(node, ast.Name) and node.id in ("__package__", "__name__"):
            return self.document.package
        return None

    def _shortened(self) -> None:
        """`"app.source.NAME"`: a string that reaches a source through another module."""
        for source in self.caller.sources.values():
            last, dotted = source.located.last, source.located.dotted
            end = rf"\.{re.escape(last)}\.([^\W\d]\w*)\b"
            self._by_dots(source)
            # One character stands for all before: more would be tried from each of them.
            if not re.search(rf"[\w.]{end}", self.module.text):
                continue
            pattern = re.compile(rf"[\w.]+{end}")
            for node in strings_of(self.module.tree):
                if not isinstance(node, ast.Constant):
                    continue
                found = pattern.match(str(node.value))
                if not found or str(node.value).startswith(dotted + "."):
                    continue
                other = found[0].rpartition(".")[0]
                known = self.caller.around.names.path_of(other) is not None
                ours = is_ours(self.caller, other.partition(".")[0])
                if self._moves(dotted, found[1]) and ours and not known:
                    self._note(node, f"may reach `{dotted}` through another module")

    def _by_dots(self, source: SourceState) -> None:
        """`".source:NAME"`: a string that names what moved by dots, in a file of any package."""
        named = rf"\.+(?:\w+\.)*{re.escape(source.located.last)}[.:]([^\W\d]\w*)"
        if not re.search(rf"['\"]{named}['\"]", self.module.text):
            return
        spec = re.compile(rf"{named}\Z")
        for node in strings_of(self.module.tree):
            found = spec.match(str(node.value)) if isinstance(node, ast.Constant) else None
            if (
                found
                and node not in self._own.done
                and self._moves(source.located.dotted, found[1])
            ):
                self._note(
                    node,
                    f"may name `{source.located.dotted}.{found[1]}` by dots; "
                    f"{kept_by(found[1]).removesuffix('.')}",
                )

    def _files(self) -> None:
        """`"shop/orders.py"`: the file of a source, for a tool or to be read."""
        files = {s.located.path: s for s in self.caller.sources.values() if "/" in s.located.path}
        if not any(path in self.module.text for path in files):
            return
        for node in strings_of(self.module.tree):
            value = str(node.value) if isinstance(node, ast.Constant) else ""
            if value.removeprefix("./") in files and not self.caller.is_frozen(node):
                self._note(node, f"names `{value}`, which no longer has what moved")

    def _tables(self) -> None:
        """A package that may load its modules lazily: `{"source": ["NAME"]}`."""
        if not self.module.path.endswith("/__init__.py"):
            return
        for dotted, source in self.caller.sources.items():
            last = source.located.last
            inside = dotted.rpartition(".")[0] == self.caller.dotted
            if not inside or not re.search(rf"""['"]\.?{re.escape(last)}['"]""", self.module.text):
                continue
            literals = [
                node for node in strings_of(self.module.tree) if isinstance(node, ast.Constant)
            ]
            named = {str(node.value) for node in literals if node not in self._own.followed}
            moved = sorted(name for name in named if self._moves(dotted, name))
            for node in literals if moved else ():
                if node.value in (last, f".{last}") and node not in self._own.done:
                    self._note(
                        node,
                        f"a table names `{dotted}`, and elsewhere `{moved[0]}`, which moved from "
                        f'it; `reexports = ["{moved[0]}"]` in the [[source]] keeps it there',
                    )

    def _note(self, node: ast.expr, why: str) -> None:
        self.caller.note("string", node.lineno, f"{why[0].upper()}{why[1:]}.")

    def _log(self, kind: str, line: int, before: str, after: str) -> None:
        self.caller.result.edits.append(Edit(kind, line, before, after))


def strings_of(tree: ast.Module) -> Iterator[ast.Constant | ast.JoinedStr]:
    """Every string literal, and every f-string as a whole; not what stands inside one."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str)
        ):
            yield node
        else:
            waiting += reversed(list(ast.iter_child_nodes(node)))


def looked_up_strings(tree: ast.Module) -> Iterator[tuple[ast.AST, Lookup]]:
    """String constants that a call looks up: its first argument, or `target=`."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        named = {keyword.arg: keyword.value for keyword in node.keywords}
        first = node.args[0] if node.args else named.get("target", named.get("name"))
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            kind = _lookup_kind(node)
            if kind:
                yield first, Lookup(kind, node)


def _lookup_kind(node: ast.Call) -> str:
    called = called_name(node)
    if called in _MODULE_LOOKUPS:
        return "module"
    if called in _PATCHES:
        return "patch"
    if called in _LOOKUPS:
        return "read"
    if isinstance(node.func, ast.Attribute) and called in ("dict", "multiple"):
        if last_name(node.func.value) == "patch":
            return "multiple" if called == "multiple" else "read"
    return ""


def relative_lookups(tree: ast.Module) -> Iterator[tuple[ast.Constant, ast.Call]]:
    """Dynamic imports of a module by dots: the literal and the call."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and called_name(node) in _MODULE_LOOKUPS:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                if first.value.startswith("."):
                    yield first, node


def standing_strings(tree: ast.Module) -> Iterator[ast.Constant]:
    """Strings that stand alone as statements: docstrings, and those that document attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if isinstance(node.value.value, str):
                yield node.value


def _has(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _within(offset: int, spans: list[tuple[int, int]]) -> bool:
    return any(start <= offset < end for start, end in spans)
