"""Tables of names by which a package loads its modules late, and texts that spell `module:Name`.

`{"orders": ["Money", "Order"]}`, `{"Money": ".orders"}`, `{"Money": ("orders", "Money")}`,
`table["orders"].append("Money")`, and `".orders:Money"`: literal, and in one place, so they follow
what moved. Nothing is known of tables that are put together; they are noted by
`transforms.callers.strings`.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterable, Sequence

from transforms.callers.context import Caller
from transforms.callers.written import beside, modules_listed
from transforms.move.state import SourceState
from transforms.result.outcome import Edit

# What shows that a package gives names late.
_LATE = re.compile(r"\b(?:__getattr__|attach|attach_stub|import_module|\w*LazyModule)\b")
_SPEC = re.compile(r"(\.{0,1}(?:[^\W\d]\w*)(?:\.[^\W\d]\w*)*):([^\W\d]\w*)(?:\.[\w.]+)?")
_NEAR = 200  # characters of space beside an element that are looked over
_Listed = ast.List | ast.Tuple | ast.Set


def _piece(node: ast.stmt) -> tuple[ast.Constant, list[ast.Constant], bool] | None:
    """The key of `table["orders"].append("Money")`, with the names that its entry gets.

    And whether they are added to an entry that has to be there.
    """
    target: ast.expr | None = None
    value: ast.expr | None = None
    adds = True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and node.value.args:
        function, (value, *_) = node.value.func, node.value.args
        if isinstance(function, ast.Attribute) and function.attr in ("append", "extend"):
            target = function.value
    elif isinstance(node, ast.Assign) and len(node.targets) == 1:
        target, value, adds = node.targets[0], node.value, False
    elif isinstance(node, ast.AugAssign):
        target, value = node.target, node.value
    if not isinstance(target, ast.Subscript) or not isinstance(target.slice, ast.Constant):
        return None
    elements = value.elts if isinstance(value, _Listed) else [value]
    names = [e for e in elements if isinstance(e, ast.Constant) and isinstance(e.value, str)]
    if len(names) != len(elements) or not names or not isinstance(target.slice.value, str):
        return None
    return target.slice, names, adds


class Tables:
    """Rewrites the tables and specs of one file. `done` are the literals that were seen to."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.module = caller.document.module
        self.done: set[ast.AST] = set()
        self.followed: set[ast.AST] = set()  # names that a table has by their new home now
        self._entries: set[str] = set()  # modules that a table has an entry of

    def rewrite(self) -> None:
        """Record the edits in the document."""
        late = self.module.path.endswith("/__init__.py") and _LATE.search(self.module.text)
        for node in ast.walk(self.module.tree) if late else ():
            if isinstance(node, ast.Dict) and not self.caller.is_frozen(node):
                self._table(node)
        for node in ast.walk(self.module.tree) if late else ():
            piece = _piece(node) if isinstance(node, ast.stmt) else None
            if piece is not None and not self.caller.is_frozen(node):
                self._piece(*piece)
        if posixpath.basename(self.module.path) == "setup.py":
            self._setup()
        for node in ast.walk(self.module.tree) if self._has_specs() else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                if node not in self.done and not self.caller.is_frozen(node):
                    self._spec(node, node.value)

    def _has_specs(self) -> bool:
        """Whether the file may have a spec at all: told by its text, since most have none."""
        lasts = "|".join(re.escape(source.located.last) for source in self.caller.sources.values())
        return (
            re.search(rf"['\"]\.?(?:[\w.]{{1,200}}\.)?(?:{lasts}):\w", self.module.text) is not None
        )

    def _source_of(self, spelled: str) -> SourceState | None:
        """The source that a package names as `orders`, `.orders` or in full."""
        package = self.caller.dotted
        for dotted, source in self.caller.sources.items():
            if spelled == dotted:
                return source
            inside = dotted.startswith(package + ".") and dotted[len(package) + 1 :]
            if inside and spelled in (inside, f".{inside}"):
                return source
        return None

    def _spelled(self, like: str, home: str) -> str | None:
        """A new module, named as `like` names the old one; None if that cannot be."""
        package = self.caller.dotted
        if like in self.caller.sources:
            return home
        if not home.startswith(package + "."):
            return None
        return ("." if like.startswith(".") else "") + home[len(package) + 1 :]

    def _home(self, source: SourceState, name: str) -> str | None:
        home = self.caller.move.named(source.located.dotted, name)
        return None if home == source.located.dotted else home

    # Tables

    def _table(self, table: ast.Dict) -> None:
        self._entries |= {str(k.value) for k in table.keys if isinstance(k, ast.Constant)}
        for key, value in zip(table.keys, table.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                continue
            if isinstance(value, (ast.List, ast.Tuple, ast.Set)) and self._source_of(key.value):
                self._names_of_module(table, key, value)
            else:
                self._module_of_name(key, value)

    def _module_of_name(self, key: ast.Constant, value: ast.expr) -> None:
        """`{"Money": ".orders"}`, `{"Money": ("orders", "Money")}`."""
        first, name, named = value, str(key.value), {key}
        if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == 2:
            first, second = value.elts
            if isinstance(second, ast.Constant):
                name, named = str(second.value), {key, second}
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            source = self._source_of(first.value)
            home = self._home(source, name) if source is not None else None
            new = self._spelled(first.value, home) if home is not None else None
            if source is not None and home is None:
                self.done.add(first)  # it is right as it is
            elif new is not None:
                self._replace(first, first.value, new)
                self.followed |= named

    def _names_of_module(self, table: ast.Dict, key: ast.Constant, value: _Listed) -> None:
        """`{"orders": ["Money", "Order"]}`: names go to an entry of their new module."""
        source = self._source_of(str(key.value))
        names = [e.value for e in value.elts if isinstance(e, ast.Constant)]
        if source is None or len(names) != len(value.elts):
            return
        homes: dict[str, list[ast.expr]] = {}
        for element, name in zip(value.elts, names, strict=True):
            home = self._home(source, str(name))
            if home is not None:
                homes.setdefault(home, []).append(element)
        spelled = {home: self._spelled(str(key.value), home) for home in homes}
        if not homes or None in spelled.values():
            return
        others = {
            other.value: at
            for other, at in zip(table.keys, table.values, strict=True)
            if isinstance(other, ast.Constant)
        }
        plain = self._is_plain(value) and self._text(key)[1:-1] == key.value
        if any(new in others for new in spelled.values()) or not plain:
            return
        leaving = [element for elements in homes.values() for element in elements]
        self._entries |= {str(new) for new in spelled.values()}
        self.followed |= set(leaving)
        if len(homes) == 1 and len(leaving) == len(value.elts):
            self._replace(key, str(key.value), str(next(iter(spelled.values()))))
            return
        self.done.add(key)
        self._take_out(value, leaving)
        self._add_entries(table, key, value, [(str(spelled[h]), homes[h]) for h in sorted(homes)])

    def _piece(self, key: ast.Constant, names: Sequence[ast.Constant], adds: bool) -> None:
        """`table["orders"].append("Money")`: the key follows where all that it gets went to one."""
        source = self._source_of(str(key.value))
        found = [self._home(source, str(name.value)) for name in names] if source else []
        homes = set(found)
        home = homes.pop() if len(homes) == 1 else None
        new = self._spelled(str(key.value), home) if home is not None else None
        if new is not None and (new in self._entries or not adds):
            self._replace(key, str(key.value), new)
            self._entries.add(new)
            self.followed |= set(names)

    def _is_plain(self, value: _Listed) -> bool:
        """Whether a list stands on one line, or has a line for each of its elements.

        And whether an entry can follow it: brackets around it would be in the way.
        """
        if not self._is_followed_by(",}", self.module.span(value)[1]):
            return False
        lines = [element.lineno for element in value.elts]
        one = value.lineno == value.end_lineno
        each = len(set(lines)) == len(lines) and value.lineno not in lines
        bare = not any("#" in self.module.line_text(line) for line in lines)
        return one or (each and bare)

    def _is_followed_by(self, signs: str, offset: int) -> bool:
        rest = self.module.text[offset : offset + _NEAR].lstrip()
        return rest[:1] in signs and bool(rest)

    def _take_out(self, value: _Listed, leaving: Sequence[ast.expr]) -> None:
        edits, module = self.caller.document.edits, self.module
        if value.lineno == value.end_lineno:
            start, end = module.span(value)
            kept = [element for element in value.elts if element not in leaving]
            comma = "," if isinstance(value, ast.Tuple) and len(kept) == 1 else ""
            inner = ", ".join(self._text(element) for element in kept) + comma
            edits.replace(start + 1, end - 1, inner)
            return
        for element in leaving:
            start, end = module.span(element)
            edits.delete_lines(module.line_start(start), module.after_line(end))

    def _add_entries(
        self,
        table: ast.Dict,
        key: ast.Constant,
        value: _Listed,
        entries: Iterable[tuple[str, Sequence[ast.expr]]],
    ) -> None:
        module = self.module
        quote = self._text(key)[:1]
        own_line = not module.text[module.line_start(module.span(key)[0]) : module.span(key)[0]]
        own_line = own_line or table.lineno != key.lineno
        first = module.span(key)[0]
        indent = module.text[module.line_start(first) : first]
        joint = f",{module.newline}{indent}" if own_line else ", "
        text = self._text(value)
        opening, closing = text[0], text[-1]
        for name, elements in entries:
            comma = "," if isinstance(value, ast.Tuple) and len(elements) == 1 else ""
            inner = ", ".join(self._text(element) for element in elements) + comma
            entry = f"{quote}{name}{quote}: {opening}{inner}{closing}"
            self.caller.document.edits.insert(module.span(value)[1], joint + entry)
            self._log(key, "", entry)

    def _setup(self) -> None:
        """`setup(py_modules=["orders"], packages=["shop"])`: new ones stand beside the old."""
        listed = list(modules_listed(self.caller.around))
        for node in ast.walk(self.module.tree):
            if not isinstance(node, ast.keyword) or node.arg not in ("py_modules", "packages"):
                continue
            elements = node.value.elts if isinstance(node.value, (ast.List, ast.Tuple)) else []
            values = {e.value: e for e in elements if isinstance(e, ast.Constant)}
            for old, new in listed:
                is_package = self._is_package(old)
                if old in values and new not in values and is_package == (node.arg == "packages"):
                    start, end = self.module.span(values[old])
                    plain = self.module.text[start + 1 : end - 1] == old
                    before = self.module.text[max(0, start - _NEAR) : start].rstrip()[-1:]
                    opens = "[," if isinstance(node.value, ast.List) else "(,"
                    if not (plain and before in opens and self._is_followed_by(",])", end)):
                        continue
                    change = beside(self.module.text, start + 1, end - 1, [new])
                    self.caller.document.edits.insert(change.start, change.new)
                    self._log(node.value, change.before, change.after)

    def _is_package(self, dotted: str) -> bool:
        return (self.caller.around.names.path_of(dotted) or "").endswith("__init__.py")

    # Specs

    def _spec(self, node: ast.Constant, value: str) -> None:
        """`".orders:Money"` from the package that holds it, `"shop.orders:Money"` from anywhere."""
        found = _SPEC.fullmatch(value)
        if found is None:
            return
        package = self.caller.document.package
        relative = found[1].startswith(".")
        dotted = f"{package}{found[1]}" if relative and package else found[1]
        source = self.caller.sources.get(dotted)
        home = self._home(source, found[2]) if source is not None else None
        if home is None or (relative and not home.startswith(package + ".")):
            return
        new = home[len(package) :] if relative else home
        self._replace(node, found[1], new)

    def _replace(self, node: ast.Constant, old: str, new: str) -> None:
        """Replace a name within a literal that is written in one piece."""
        start, end = self.module.span(node)
        text = self.module.text[start:end]
        at = text.find(old)
        if at > 0 and text.count(old) == 1:
            self.done.add(node)
            self.caller.document.edits.replace(start + at, start + at + len(old), new)
            self._log(node, str(node.value), str(node.value).replace(old, new, 1))

    def _text(self, node: ast.expr) -> str:
        start, end = self.module.span(node)
        return self.module.text[start:end]

    def _log(self, node: ast.expr, before: str, after: str) -> None:
        self.caller.result.edits.append(Edit("string", node.lineno, before, after))
