"""Code that asks an object which nobody knows where it stands, and does more than say it.

Whatever runs tells of whom it asks, as far as that is seen (`standing`). An object that comes out
of a container, that Python hands to a hook or that was caught may be one that moved. To say where
it stands, as a text to read or as a name in full, decides nothing; to compare that, to cut it
apart or to look something up by it does.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from verify.kernel.edits.needs import every, file_of
from verify.kernel.edits.spelled import Parts, Spelled, chain
from verify.kernel.pairs.both import Both
from verify.kernel.running.entries import is_script
from verify.kernel.trees.effects import PATCHING
from verify.kernel.trees.nodes import children, walk
from verify.kernel.trees.source import DEFINITIONS, Source, last
from verify.kernel.trees.tree import Tree
from verify.kernel.trees.words import raw, words
from verify.kernel.verdict import OPEN, Place

_LISTS = re.compile(rb"\b(?:vars|dir|globals|locals|getmembers|getattr)\(|__dict__|import \*")
MODULE = "its `__module__`"
_ASKS = re.compile(
    rb"__(?:module|globals)__|\bf_globals\b|\bco_f(?:ilename|irstlineno)\b|\bextract_tb\b|\bwalk_tb\b"
    rb"|\.id\(\)|TracebackException|\bfind_class\b|\bget(?:module|file|sourcefile|absfile)\b"
)
_PRINTS = re.compile(rb"\b(?:str|repr|ascii|format)\b|\bf[\"']|[\"']\s*%")
_SHOWN_BY_RECORDS = re.compile(rb"\.\s*(?:module|pathname|filename)\b")
_OF_FILES = words("getmodule getfile getsourcefile getabsfile")
_FRAMES = re.compile(rb"\bextract_tb\b|\bwalk_tb\b|\bTracebackException\b")
_RECORDS = re.compile(rb"\blogging\b|LogRecord|\brecord\b")
_OF_RECORDS = words("module pathname filename")
# What logging calls with records, and by which others have them.
_TAKES_RECORDS = words(
    """format filter emit handle formatTime formatMessage usesTime makeRecord prepare enqueue
    handleError acquire shouldFlush shouldRollover mapLogRecord __call__"""
)
_HAS_RECORDS = re.compile(
    rb"LogRecord|\b(?:add|set)(?:Filter|LogRecordFactory)\b|\brecords?\b|\bdictConfig\b"
    rb"|\b(?:Filter|Handler|Formatter|LoggerAdapter|emit)\b"
)
_LOGS = words("debug info warning warn error exception critical fatal log")
# Who shows a text, or keeps it for somebody to read.
_SHOWS = _LOGS | words("print write format_exception fail skip")
_JOINS = words("format join str repr escape")
_TYPES = words("get_type_hints FunctionType _eval_type ForwardRef")
_NAMES = words("__name__ __qualname__")
_SORTS = words("sorted sort min max groupby")
_TEXTS = words("str repr ascii format")
_OWN_TEXT = words("__str__ __repr__ __format__")
# What Python calls with objects of anybody.
_HOOKS = words(
    """__prepare__ __set_name__ __get__ __set__ __delete__ __instancecheck__ __subclasscheck__
    __subclasshook__ __getattr__ __getattribute__ __class_getitem__ __eq__ __lt__ __contains__"""
)
_GIVES_FRAMES = words("_getframe currentframe stack trace getouterframes")
_LOOKS_UP = words("import_module __import__ resolve_name locate import_string get pop")
# What hands a value on, maybe beside others.
_PUT_TOGETHER = (ast.JoinedStr, ast.FormattedValue, ast.BinOp, ast.Tuple, ast.List)
_MOST_VALUES = 64  # nodes of what a name is given
_MOST_NAMES = 4  # from one local name to the next
_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)
Above = Mapping[ast.AST, ast.AST]


def said_only(names: ModuleNames, tree: Tree, path: str, line: int) -> bool:
    """Tell whether what is asked for on a line is said for somebody to read, and no more.

    Or is put to a test that has the same answer for all that moved.
    """
    source = tree.readable(path)
    if source is None:
        return False
    asking = [node for node in walk(source.tree) if getattr(node, "attr", "") == "__module__"]
    here = [node for node in asking if getattr(node, "lineno", 0) == line]
    if not here:
        return False
    above = {child: node for node in walk(source.tree) for child in children(node)}
    use = _Use(above, known=True)
    return not any(use.decides(node) and not names.answer(node, above, path) for node in here)


class ModuleNames:
    """What the modules of definitions that moved are called, and were."""

    def __init__(self, both: Both) -> None:
        self._both = both

    def answer(self, node: ast.AST, above: Above, path: str) -> bool:
        """Tell whether the test that a module's name stands in has one answer for all of them."""
        own = {} if self._renamed(path) else {"__name__": self._both.name(path)}
        answers = [{tried(node, above, name, own) for name in names} for names in self._moved]
        return all(len(found) == 1 and None not in found for found in answers)

    def _renamed(self, path: str) -> bool:
        """Tell whether `__name__` may be another text in a file than the name of its module."""
        tree = self._both.target
        stem = raw(self._both.name(path).rpartition(".")[2])
        given = re.compile(rb"\b" + re.escape(stem) + rb"\s*\.\s*__name__\s*=(?!=)")
        source = tree.readable(path)
        return (
            source is None
            or any(map(_binds_name, walk(source.tree)))
            or any(given.search(tree.files[other]) for other in tree.python())
        )

    @cached_property
    def _moved(self) -> list[set[str]]:
        """Give the names that the module of each definition may have had, and has.

        A call may make a class, too, as that of `namedtuple` does.
        """
        both, found = self._both, []
        for base, target in both.pairing.moved():
            node = both.statement(both.base, base).node
            if isinstance(node, DEFINITIONS) or any(isinstance(p, ast.Call) for p in walk(node)):
                sides = (both.base, base[0]), (both.target, target[0])
                scripts = any(is_script(tree, path) for tree, path in sides)
                names = {tree.name(path) for tree, path in sides}
                found.append(names | ({"__main__"} if scripts else set()))
        return found


def of_callers(tree: Tree, path: str, line: int) -> bool:
    """Tell whether the frames that are taken on a line are those of callers, by their number."""
    calls = [
        node
        for node in walk(tree.source(path).tree)
        if isinstance(node, ast.Call) and node.lineno == line and last(node.func) == "_getframe"
    ]
    numbers = [call.args[0] if call.args else None for call in calls]
    return bool(calls) and all(
        isinstance(n, ast.Constant) and isinstance(n.value, int) and n.value > 0 for n in numbers
    )


def asks_own(method: ast.AST) -> bool:
    """Tell whether a method asks for the module of its object, or of its class."""
    above = {child: node for node in walk(method) for child in children(node)}
    given = _takes(method)[:1] if isinstance(method, _DEFS) else []
    for node in walk(method):
        name = getattr(node, "attr", "")
        owner = children(node)[0] if name == "__module__" else None
        if isinstance(node, ast.Call) and last(node.func) == "getattr" and len(node.args) > 1:
            said = node.args[1].value if isinstance(node.args[1], ast.Constant) else ""
            owner = node.args[0] if said == "__module__" else owner
        if owner is None:
            continue
        while _is_call(owner, "type") or last(owner) == "__class__":
            owner = owner.args[0] if isinstance(owner, ast.Call) else children(owner)[0]
        known = _values(owner.id, owner, above) if isinstance(owner, ast.Name) else None
        if not isinstance(owner, ast.Name) or owner.id in given or known:
            return True
    return False


def check(both: Both, near: Collection[str]) -> None:
    """Report such code, where definitions moved."""
    moved = [
        both.statement(both.base, base).node
        for base, target in both.pairing.moved()
        if both.base.name(base[0]) != both.target.name(target[0])
    ]
    definitions = [node for node in moved if isinstance(node, DEFINITIONS)]
    if definitions:
        _Whereabouts(both, near, definitions).check()


class _Whereabouts:
    """Looks through the files that run beside the change."""

    def __init__(self, both: Both, near: Collection[str], moved: Sequence[ast.stmt]) -> None:
        self.both = both
        self.near = near
        self._spelled = Spelled(both)
        self._names = ModuleNames(both)
        self._called: dict[str, bool] = {}
        self._classes = any(isinstance(node, ast.ClassDef) for node in moved)
        self._definitions = moved
        self._sites = {base for base, _ in both.pairing.moved()}
        self._logs = any(
            isinstance(inner, ast.Call) and last(inner.func) in _LOGS
            for node in moved
            for inner in walk(node)
        )

    @cached_property
    def _escapes(self) -> bool:
        """Tell whether something that moved may be an object that nobody knows."""
        return self._classes or any(map(self._given_away, self._definitions))

    def _asking(self) -> Iterator[str]:
        """List the files that say a word by which they may ask."""
        names = {raw(getattr(node, "name", "")) for node in self._definitions}
        said = re.compile(rb"\b(?:" + b"|".join(sorted(map(re.escape, names))) + rb")\b")
        for path in self.both.target.python():
            data = self.both.target.files[path]
            records = self._logs and _SHOWN_BY_RECORDS.search(data) and _RECORDS.search(data)
            if _ASKS.search(data) or records or (_PRINTS.search(data) and said.search(data)):
                yield path

    def check(self) -> None:
        """Look at each file that says such a word, and that a program with the change may load."""
        tree = self.both.target
        asking = [*self._asking()]
        loaded = self._loaded() if asking else set()
        for path in sorted(loaded.intersection(asking)):
            source = tree.readable(path)
            for what, line in self._found(source) if source else ():
                why = f"it asks what may have moved for {what}, and the move changes the answer"
                self.both.found.say(OPEN, self.both.name(path), why, Place(path, line))

    def _given_away(self, node: ast.stmt) -> bool:
        """Tell whether a function is more than called: decorated, handed on, or listed."""
        name = getattr(node, "name", "")
        tree = self.both.target
        said = re.compile(rb"\b" + re.escape(raw(name)) + rb"\b")
        if getattr(node, "decorator_list", ()) or isinstance(node, ast.ClassDef):
            return True
        for path in tree.python():
            data = tree.files[path]
            if _LISTS.search(data):
                return True
            source = tree.readable(path) if said.search(data) else None
            parts = walk(source.tree) if source else ()
            called = {id(p.func) for p in parts if isinstance(p, ast.Call)}
            called |= {id(d) for p in parts for d in getattr(p, "decorator_list", ())}
            for part in parts:
                if last(part) == name and id(part) not in called:
                    return True
        return False

    def _loaded(self) -> set[str]:
        """List the files that may be loaded where one is from which the change is reached."""
        tree = self.both.target
        found: set[str] = set()
        todo = [path for path in self.near if path in tree.files]
        while todo:
            path = todo.pop()
            if path not in found:
                found.add(path)
                todo += tree.imports(path)
        return found

    def _found(self, source: Source) -> Iterator[tuple[str, int]]:
        above = {child: node for node in walk(source.tree) for child in children(node)}
        data = self.both.target.files[source.path]
        frames, records = _FRAMES.search(data), self._logs and _RECORDS.search(data)
        for node in walk(source.tree):
            what = ""
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                what = self._attribute(source.path, node, above)
                if not what and node.attr == "filename" and frames:
                    what = "its file"
                elif not what and node.attr in _OF_RECORDS and records:
                    given = _given(node.value, above)
                    what = "its file" if given and not self._annotated(source, node, above) else ""
            elif isinstance(node, ast.Call):
                what = self._call(source.path, node, above)
                what = what or self._text(source.path, node, above)
                if (
                    not what
                    and last(node.func) in _SORTS
                    and self._by_text(source.path, node, above)
                ):
                    yield "its text", node.lineno
            elif isinstance(node, (ast.FormattedValue, ast.BinOp)):
                what = "its text" if self._put_in(source.path, node, above) else ""
            elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
                said = node.slice.value if isinstance(node.slice, ast.Constant) else None
                handed = self._classes and _of_another(node.value, above)
                what = MODULE if said == "__module__" and handed else ""
            elif isinstance(node, ast.FunctionDef) and node.name == "find_class":
                yield from _by_pickles(node)
            if what and _Use(above, known=False).decides(node):
                if what != MODULE or not self._names.answer(node, above, source.path):
                    yield what, getattr(node, "lineno", 1)

    def _annotated(self, source: Source, node: ast.Attribute, above: Above) -> bool:
        """Tell whether an object is said to be of a class of the tree, and is no record of a log.

        Records are handed to methods that logging knows by their names, and to functions that
        somebody hands on; where neither is so, and no caller has to do with records, it is none.
        """
        parameter = _parameter(node.value, above)
        function = next((f for f in _within(node, above) if parameter in _arguments(f)), None)
        if parameter is None or function is None or function.name in _TAKES_RECORDS:
            return False
        parts = _spelled_type(parameter.annotation)
        found = self._spelled.leads(self.both.target, source.path, parts) if parts else None
        own = self._blank(source, parts)
        if isinstance(found, tuple) and found[1:] == ((),) and isinstance(found[0], tuple):
            of = self.both.statement(self.both.base, found[0][0]).node
            bases = [last(base) for base in getattr(of, "bases", ())]
            own = isinstance(of, ast.ClassDef) and "LogRecord" not in bases
        return own and self._called_alone(function.name)

    def _blank(self, source: Source, parts: Parts) -> bool:
        """Tell whether a name comes from a file of the tree of which nothing is known."""
        tree = self.both.target
        return len(parts) == 1 and any(
            row.name == parts[0] and row.member and tree.is_blank(file_of(tree, row.module))
            for row in every(tree, source)
        )

    def _called_alone(self, name: str) -> bool:
        """Tell whether a function is never handed on, and called where nobody has records."""
        if name not in self._called:
            said = re.compile(rb"\b" + re.escape(raw(name)) + rb"\b")
            tree, alone = self.both.target, True
            for path in tree.python():
                data = tree.files[path]
                source = tree.readable(path) if said.search(data) else None
                if source is not None:
                    parts = walk(source.tree)
                    called = {part.func for part in parts if isinstance(part, ast.Call)}
                    kept = (p for p in parts if last(p) == name and p not in called)
                    texts = (getattr(p, "value", "") == name for p in parts)
                    alone &= not (_HAS_RECORDS.search(data) or any(kept) or any(texts))
            self._called[name] = alone
        return self._called[name]

    def _attribute(self, path: str, node: ast.Attribute, above: Above) -> str:
        """Tell what an attribute asks for, if its owner may be something that moved."""
        if node.attr in ("__module__", "__globals__"):
            may = self._escapes and self._may_be(path, node.value, above)
            return f"its `{node.attr}`" if may else ""
        if node.attr in ("co_filename", "co_firstlineno", "f_globals"):
            code = last(node.value) in ("f_code", "__code__")
            frame = children(node.value)[0] if code else node.value
            if isinstance(frame, (ast.Attribute, ast.Name, ast.Call)):
                own = _by_call(frame, above) and _function(node, above) not in _HOOKS
                return "" if own else f"its `{node.attr}`"
        return ""

    def _call(self, path: str, node: ast.Call, above: Above) -> str:
        if not node.args:
            return "the `id` of a test" if self._own_id(node, above) else ""
        if last(node.func) in ("get", "pop") and self._classes:
            said = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
            owner = node.func.value if isinstance(node.func, ast.Attribute) else node
            if said == "__module__" and _of_another(owner, above):
                return MODULE
        if last(node.func) == "getattr" and len(node.args) > 1:
            name = node.args[1]
            if isinstance(name, ast.Constant) and name.value in ("__module__", "__globals__"):
                known = not (self._escapes and self._may_be(path, node.args[0], above))
                return "" if known else f"its `{name.value}`"
        if (
            last(node.func) in _OF_FILES
            and self._escapes
            and self._may_be(path, node.args[0], above)
        ):
            return f"its file (`{last(node.func)}`)"
        return ""

    def _own_id(self, node: ast.Call, above: Above) -> bool:
        """Tell whether a test that moved asks what it is called in full."""
        of = node.func.value if isinstance(node.func, ast.Attribute) else None
        if last(node.func) != "id" or not isinstance(of, ast.Name) or not _own(of.id, of, above):
            return False
        moved = {getattr(one, "name", "") for one in self._definitions}
        at: ast.AST | None = node
        while at is not None and not isinstance(at, ast.ClassDef):
            at = above.get(at)
        return at is not None and at.name in moved and any("Test" in last(b) for b in at.bases)

    def _text(self, path: str, node: ast.Call, above: Above) -> str:
        """Tell whether a call gives what Python prints of something that moved."""
        if last(node.func) in _TEXTS and len(node.args) == 1 and isinstance(node.func, ast.Name):
            return "its text" if self._moved(path, node.args[0], above) else ""
        if last(node.func) == "format" and isinstance(node.func, ast.Attribute):
            given = (*node.args, *(word.value for word in node.keywords))
            return "its text" if any(self._moved(path, arg, above) for arg in given) else ""
        return ""

    def _put_in(self, path: str, node: ast.FormattedValue | ast.BinOp, above: Above) -> bool:
        """Tell whether what Python prints of something that moved is put into a text."""
        if isinstance(node, ast.FormattedValue):
            return self._moved(path, node.value, above)
        text = node.left.value if isinstance(node.left, ast.Constant) else None
        if not (isinstance(node.op, ast.Mod) and isinstance(text, str)):
            return False
        parts = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
        return any(self._moved(path, part, above) for part in parts)

    def _by_text(self, path: str, node: ast.Call, above: Above) -> bool:
        """Tell whether a call puts something that moved in order by what is printed of it."""
        keys = (word.value for word in node.keywords if word.arg == "key")
        if not any(last(key) in _TEXTS for key in keys):
            return False
        items = (item for arg in node.args for item in walk(arg))
        return any(isinstance(item, ast.Name) and self._moved(path, item, above) for item in items)

    def _moved(self, path: str, node: ast.AST, above: Above) -> bool:
        """Tell whether an expression is a definition that moved, or makes a plain object of it."""
        if _is_call(node, "type") or last(node) == "__class__":
            inner = node.args[0] if isinstance(node, ast.Call) else children(node)[0]
            return isinstance(inner, ast.Call) and self._moved(path, inner.func, above)
        made = isinstance(node, ast.Call)
        parts = chain(node.func if isinstance(node, ast.Call) else node)
        if parts and _values(parts[0], node, above) is not None:
            return False  # a local of its name
        found = self._spelled.leads(self.both.target, path, parts) if parts else None
        if not (isinstance(found, tuple) and found[1:] == ((),) and isinstance(found[0], tuple)):
            return False
        site = found[0][0]
        if site not in self._sites:
            return False
        of = self.both.statement(self.both.base, site).node
        if made:
            own = {getattr(part, "name", "") for part in getattr(of, "body", ())}
            return (
                isinstance(of, ast.ClassDef)
                and not (of.bases or of.decorator_list)
                and not (own & _OWN_TEXT)
            )
        return isinstance(of, DEFINITIONS)

    def _may_be(self, path: str, owner: ast.AST, above: Above) -> bool:
        """Tell whether nobody knows an object, and it is none that a method is called with."""
        if _is_call(owner, "type") or last(owner) == "__class__":
            inner = owner.args[0] if isinstance(owner, ast.Call) else children(owner)[0]
            return self._classes and self._may_be(path, inner, above)
        parts = chain(owner)
        if not parts:
            return not isinstance(owner, ast.Constant)
        if parts[-1] in ("__func__", "__wrapped__"):
            return True
        if len(parts) == 1:
            if _own(parts[0], owner, above):
                return False
            given = _values(parts[0], owner, above)
            if given is not None:
                return not given or any(self._may_be(path, value, above) for value in given)
        return self._spelled.leads(self.both.target, path, parts) is None


def _binds_name(node: ast.AST) -> bool:
    """Tell whether a node binds `__name__`, says that as a text, or hands it over."""
    if isinstance(node, ast.Name):
        return node.id == "__name__" and not isinstance(node.ctx, ast.Load)
    said = (getattr(node, word, None) for word in ("arg", "value", "asname", "name"))
    return "__name__" in (text for text in said if isinstance(text, str))


def tried(node: ast.AST, above: Above, name: str, known: Mapping[str, str]) -> bool | None:
    """Answer the test that a module's name stands in for one name; nothing, where that is all.

    The name may be cut at its dots first, and is compared with texts, or names that are `known`.
    """
    value: object = name
    while (at := above.get(node)) is not None and not isinstance(at, ast.Compare):
        value, node = _step(value, node, at, above.get(at), known)
        if value is None or isinstance(value, bool):
            return value
    if at is None or len(at.ops) != 1:
        return None
    other = at.comparators[0] if at.left is node else at.left
    return _compared(at.ops[0], value, _text(other, known), asked=at.left is node)


def _step(
    value: object, node: ast.AST, at: ast.AST, call: ast.AST | None, known: Mapping[str, str]
) -> tuple[object, ast.AST]:
    """Give what becomes of a value in what it stands in, and what gives that; nothing, if unknown.

    `call` is what stands around: the call of a method.
    """
    if isinstance(at, ast.Attribute) and isinstance(call, ast.Call) and call.func is at:
        given = [_text(arg, known) for arg in call.args]
        if isinstance(value, str) and None not in given and not call.keywords:
            return _cut(value, at.attr, given), call
    if isinstance(at, ast.Subscript) and at.value is node and isinstance(at.slice, ast.Constant):
        index = at.slice.value
        if isinstance(value, (list, tuple)) and isinstance(index, int):
            return (value[index] if -len(value) <= index < len(value) else None), at
    return None, at


def _text(node: ast.AST, known: Mapping[str, str]) -> object:
    """Give a text, a number or some of them, as they are written; nothing of anything else."""
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, int)):
        return node.value
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        items = [_text(item, known) for item in node.elts]
        return tuple(items) if all(isinstance(item, str) for item in items) else None
    return None


def _cut(
    name: str, method: str, given: Sequence[object]
) -> bool | list[str] | tuple[str, ...] | None:
    """Ask a method of texts: how a name begins or ends, or what stands between its dots."""
    if method in ("startswith", "endswith") and len(given) == 1:
        if isinstance(given[0], (str, tuple)):
            ends = name.startswith if method == "startswith" else name.endswith
            return ends(given[0])
    if method in ("split", "rsplit") and given[:1] == ["."]:
        most = given[1] if len(given) > 1 else -1
        parts = name.split if method == "split" else name.rsplit
        return parts(".", most) if isinstance(most, int) else None
    if method in ("partition", "rpartition") and given == ["."]:
        return name.partition(".") if method == "partition" else name.rpartition(".")
    return None


def _compared(op: ast.cmpop, value: object, other: object, *, asked: bool) -> bool | None:
    """Compare a name, or what it is cut into; nothing where the other side is not known."""
    if other is None or not isinstance(value, str):
        return None
    if isinstance(op, (ast.Eq, ast.NotEq)) and isinstance(other, str):
        return (value == other) is isinstance(op, ast.Eq)
    if isinstance(op, (ast.In, ast.NotIn)) and isinstance(other, (str, tuple)):
        found = value in other if asked else other in value if isinstance(other, str) else None
        return None if found is None else found is isinstance(op, ast.In)
    return None


def _is_call(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and last(node.func) == name and len(node.args) == 1


def _function(node: ast.AST, above: Above) -> str:
    """Give the name of the function that a node stands in."""
    at: ast.AST | None = node
    while at is not None and not isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef)):
        at = above.get(at)
    return at.name if at is not None else ""


def _within(node: ast.AST, above: Above) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Give the functions that a node stands in, from the inside."""
    at = above.get(node)
    while at is not None:
        if isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield at
        at = above.get(at)


def _takes(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    spec = function.args
    more = [arg for arg in (spec.vararg, spec.kwarg) if arg is not None]
    return [arg.arg for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *more)]


def _own(name: str, node: ast.AST, above: Above) -> bool:
    """Tell whether a name is the object or class whose method this is.

    A metaclass's methods are called with classes of anybody.
    """
    for function in _within(node, above):
        of = above.get(function)
        if isinstance(of, ast.ClassDef) and _takes(function)[:1] == [name]:
            meta = any("type" in last(b).lower() or "Meta" in last(b) for b in of.bases)
            return not meta and function.name not in ("__subclasshook__",)
    return False


def _values(name: str, node: ast.AST, above: Above) -> list[ast.AST] | None:
    """Give what a local name is given: nothing, of a parameter or what nobody knows."""
    for function in _within(node, above):
        if name in _takes(function):
            return []
        found: list[ast.AST] = []
        local = False
        for inner in walk(function):
            if isinstance(inner, ast.Assign):
                if any(isinstance(t, ast.Name) and t.id == name for t in inner.targets):
                    found.append(inner.value)
            if isinstance(inner, ast.Name) and inner.id == name:
                local |= isinstance(inner.ctx, ast.Store)
            elif isinstance(inner, ast.ExceptHandler):
                local |= inner.name == name
        if local:
            return [v for v in found if not (isinstance(v, ast.Name) and v.id == name)]
    return None


def _arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    spec = function.args
    return [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]


def _parameter(node: ast.AST, above: Above) -> ast.arg | None:
    """Give the parameter that a name is, of the nearest function that has a name of that spelling.

    Nothing, where that function binds it anew.
    """
    for function in _within(node, above) if isinstance(node, ast.Name) else ():
        for arg in _arguments(function):
            if arg.arg == node.id:  # type: ignore[attr-defined]
                names = (n for n in walk(function) if isinstance(n, ast.Name) and n.id == arg.arg)
                return None if any(isinstance(n.ctx, ast.Store) for n in names) else arg
    return None


def _spelled_type(annotation: ast.expr | None) -> tuple[str, ...]:
    """Give the names of an annotation, be it a text, that is one class or a module's."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        parts = annotation.value.split(".")
        return tuple(parts) if all(map(str.isidentifier, parts)) else ()
    return tuple(chain(annotation)) if annotation is not None else ()


def _given(node: ast.AST, above: Above) -> bool:
    """Tell whether an object is one that a function is handed."""
    if not isinstance(node, ast.Name):
        return False
    if any(node.id in _takes(f)[1:] or [node.id] == _takes(f) for f in _within(node, above)):
        return True
    at: ast.AST | None = node
    while at is not None and not isinstance(at, ast.Lambda):
        at = above.get(at)
    return isinstance(at, ast.Lambda) and node.id in [arg.arg for arg in at.args.args]


def _of_another(node: ast.AST, above: Above) -> bool:
    """Tell whether a table is one that a function is handed, or what an object has."""
    return _given(node, above) or not isinstance(node, ast.Name)


def _by_call(node: ast.AST, above: Above) -> bool:
    """Tell whether a frame is one of those that run, whose functions are seen."""
    todo, seen = [node], set[ast.AST]()
    while todo and len(seen) < _MOST_VALUES:
        for part in walk(todo.pop()):
            if part in seen:
                continue
            seen.add(part)
            if isinstance(part, ast.Call) and last(part.func) in _GIVES_FRAMES:
                return True
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
                todo += _values(part.id, part, above) or ()
    return False


@dataclass(frozen=True)
class _Use:
    """How a value is used: by what it is asked for, by whom, and what stands around it."""

    above: Above
    known: bool  # whether it is that of something that moved
    names: int = 0  # that it went through

    def decides(self, node: ast.AST) -> bool:
        """Tell whether anything hangs on a value but what is said for somebody to read."""
        full, child, at = False, node, self.above.get(node)
        while at is not None:
            if isinstance(at, _PUT_TOGETHER) and not self.known:
                full = full or any(getattr(part, "attr", "") in _NAMES for part in walk(at))
            found = self._at(at, child, full=full)
            if found is not None:
                return found
            child, at = at, self.above.get(at)
        return False

    def _at(  # noqa: PLR0911 - a table of kinds
        self, at: ast.AST, child: ast.AST, *, full: bool
    ) -> bool | None:
        """Tell it by one node around, or nothing if that hands the value on."""
        if isinstance(at, (*_PUT_TOGETHER, ast.BoolOp)):
            return None
        if isinstance(at, (ast.Expr, ast.Raise)):
            return False
        if isinstance(at, ast.Attribute):
            return None if at.attr in _JOINS else True
        if isinstance(at, ast.Call):
            return self._call(at, full=full)
        if isinstance(at, ast.keyword):
            return False if at.arg in ("module", "__module__") else None
        if isinstance(at, ast.Dict):
            return child not in at.values and not full
        if isinstance(at, (ast.Assign, ast.AnnAssign)):
            return not full and self._kept(at)
        if isinstance(at, ast.IfExp):
            return True if child is at.test else None
        if isinstance(at, (ast.Lambda, ast.GeneratorExp, ast.ListComp)):
            return not full or _sorts(at, self.above)
        return not full or isinstance(at, ast.Compare)

    def _call(self, at: ast.Call, *, full: bool) -> bool | None:
        name = last(at.func)
        if name in _SHOWS or name in _TYPES or name.endswith(("Error", "Exception", "Warning")):
            return False
        if name in _JOINS:
            return None
        return not full or name in _LOOKS_UP or name in PATCHING

    def _kept(self, node: ast.Assign | ast.AnnAssign) -> bool:
        """Tell whether anything hangs on what an assignment keeps."""
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return any(self._by(target, node) for target in targets if not _tells(target))

    def _by(self, target: ast.expr, node: ast.stmt) -> bool:
        """Tell whether anything hangs on a name that is given a value."""
        function = next(_within(node, self.above), None)
        if not isinstance(target, ast.Name) or function is None or self.names >= _MOST_NAMES:
            return True
        use = replace(self, names=self.names + 1)
        return any(
            use.decides(inner)
            for inner in walk(function)
            if isinstance(inner, ast.Name)
            and inner.id == target.id
            and isinstance(inner.ctx, ast.Load)
        )


def _tells(target: ast.expr) -> bool:
    """Tell whether an object is told that it stands where another one does."""
    if isinstance(target, ast.Subscript):
        return isinstance(target.slice, ast.Constant) and "module" in str(target.slice.value)
    return isinstance(target, ast.Attribute) and target.attr in ("__module__", "module")


def _sorts(node: ast.AST, above: Above) -> bool:
    """Tell whether something is the key or the items of what is put into an order."""
    at: ast.AST | None = above.get(node)
    while isinstance(at, ast.keyword):
        at = above.get(at)
    return isinstance(at, ast.Call) and last(at.func) in _SORTS


def _by_pickles(node: ast.FunctionDef) -> Iterator[tuple[str, int]]:
    """Tell whether who loads pickles minds the module that they name, but hands it on."""
    given = _takes(node)[1:2]
    if not given:
        return
    passed = {
        id(arg)
        for call in walk(node)
        if isinstance(call, ast.Call) and last(call.func) in ("find_class", "import_module")
        for arg in call.args
    }
    for inner in walk(node):
        if isinstance(inner, ast.Name) and inner.id == given[0] and id(inner) not in passed:
            if isinstance(inner.ctx, ast.Load):
                yield "the module that a pickle of it names", inner.lineno
                return
