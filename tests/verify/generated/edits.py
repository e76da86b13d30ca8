"""One more edit beside a move: by oversight, by taste, or by a tool. Most may change behaviour."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable
from dataclasses import dataclass

from tests.verify.generated.moves import IMPORTS, Chunk, Files, Move, chunks, dotted, put


@dataclass(frozen=True)
class Edited:
    """A tree after an edit; `honest` if its text is still that of the move."""

    name: str
    files: Files
    honest: bool = False


Edit = Callable[[Files, Files, Move, random.Random], Edited | None]
EDITS: dict[str, Edit] = {}


def _edit(name: str) -> Callable[[Edit], Edit]:
    def keep(made: Edit) -> Edit:
        EDITS[name] = made
        return made

    return keep


def _path(base: Files, after: Files, draw: random.Random, *, far: float = 0.2) -> str:
    """Choose a module, mostly one that the move changes."""
    python = [p for p in sorted(after) if p.endswith(".py") and after[p]]
    near = [p for p in python if base.get(p) != after[p]]
    return draw.choice(python if draw.random() < far or not near else near)


def _with(files: Files, path: str, parts: list[str]) -> Edited:
    return Edited("", {**files, path: put(parts)})


def _is_import(chunk: Chunk) -> bool:
    return isinstance(chunk.node, IMPORTS) and "__future__" not in chunk.text


@_edit("two statements change places")
def _swap(base: Files, after: Files, move: Move, draw: random.Random) -> Edited | None:
    path = _path(base, after, draw)
    parts = [c.text for c in chunks(after[path])]
    if len(parts) < 2:
        return None
    at = draw.randrange(len(parts) - 1)
    parts[at], parts[at + 1] = parts[at + 1], parts[at]
    return _with(after, path, parts)


@_edit("two imports change places")
def _swap_imports(base: Files, after: Files, move: Move, draw: random.Random) -> Edited | None:
    path = _path(base, after, draw)
    cut = chunks(after[path])
    places = [n for n, c in enumerate(cut) if _is_import(c)]
    if len(places) < 2:
        return None
    one, two = draw.sample(places, 2)
    parts = [c.text for c in cut]
    parts[one], parts[two] = parts[two], parts[one]
    return _with(after, path, parts)


@_edit("imports are sorted")
def _sort(base: Files, after: Files, move: Move, draw: random.Random) -> Edited | None:
    path = _path(base, after, draw)
    cut = chunks(after[path])
    places = [n for n, c in enumerate(cut) if _is_import(c)]
    parts = [c.text for c in cut]
    for at, text in zip(places, sorted(parts[n] for n in places), strict=True):
        parts[at] = text
    return _with(after, path, parts)


@_edit("an import goes into the functions that use it")
def _lazy(base: Files, after: Files, move: Move, draw: random.Random) -> Edited | None:
    path = _path(base, after, draw)
    cut = chunks(after[path])
    choices = [c for c in cut if _is_import(c) and "*" not in c.text and "\n" not in c.text]
    draw.shuffle(choices)
    for chosen in choices:
        users = [c for c in cut if c is not chosen and c.reads & chosen.binds]
        plain = all(isinstance(c.node, ast.FunctionDef) for c in users)
        if plain:
            rest = [c for c in cut if c is not chosen]
            parts = [_inside(c, chosen.text) if c in users else c.text for c in rest]
            return _with(after, path, parts)
    return None


def _inside(chunk: Chunk, line: str) -> str:
    """Put a line at the top of a function."""
    assert isinstance(chunk.node, ast.FunctionDef)
    body = chunk.node.body
    documented = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    if documented and len(body) == 1:
        return chunk.text
    first = body[1 if documented else 0]
    lines = chunk.text.split("\n")
    at = len(lines) - ((chunk.node.end_lineno or 0) - first.lineno) - 1
    lines.insert(at, " " * first.col_offset + line)
    return "\n".join(lines)


@_edit("an import leaves its function for the top")
def _eager(base: Files, after: Files, move: Move, draw: random.Random) -> Edited | None:
    python = [p for p in sorted(after) if p.endswith(".py")]
    draw.shuffle(python)
    for path in python:
        for chunk in chunks(after[path]):
            if isinstance(chunk.node, ast.FunctionDef):
                found = re.search(r"^    +((?:import|from) .*)\n\n?", chunk.text, re.M)
                if found and len(chunk.node.body) > 1:
                    text = after[path].replace(found.group(), "", 1)
                    parts = [c.text for c in chunks(text)]
                    at = sum("__future__" in part for part in parts)
                    return _with(after, path, [*parts[:at], found[1], *parts[at:]])
    return None


@_edit("an import is lost")
def _drop_import(base: Files, after: Files, move: Move, draw: random.Random) -> Edited | None:
    path = _path(base, after, draw)
    cut = chunks(after[path])
    unused = [
        c for c in cut if _is_import(c) and not any(c.binds & o.reads for o in cut if o is not c)
    ]
    choices = unused if unused and draw.random() < 0.7 else [c for c in cut if _is_import(c)]
    if not choices:
        return None
    chosen = draw.choice(choices)
    return _with(after, path, [c.text for c in cut if c is not chosen])


@_edit("an import goes to the bottom")
def _bottom(base: Files, after: Files, move: Move, draw: random.Random) -> Edited | None:
    path = _path(base, after, draw)
    cut = chunks(after[path])
    choices = [c for c in cut if _is_import(c)]
    if not choices:
        return None
    chosen = draw.choice(choices)
    return _with(after, path, [*(c.text for c in cut if c is not chosen), chosen.text])


@_edit("an import is wrapped in a try")
def _try(base: Files, after: Files, move: Move, draw: random.Random) -> Edited | None:
    path = _path(base, after, draw)
    cut = chunks(after[path])
    choices = [c for c in cut if _is_import(c) and "\n" not in c.text and "*" not in c.text]
    if not choices:
        return None
    chosen = draw.choice(choices)
    wrapped = f"try:\n    {chosen.text}\nexcept ImportError:\n    pass"
    return _with(after, path, [wrapped if c is chosen else c.text for c in cut])


@_edit("a try of imports is parted")
def _part(base: Files, after: Files, move: Move, draw: random.Random) -> Edited | None:
    for path in sorted(after):
        if path.endswith(".py"):
            cut = chunks(after[path])
            for chunk in cut:
                node = chunk.node
                if isinstance(node, ast.Try) and len(node.body) > 1:
                    lines = chunk.text.split("\n")
                    tail = "\n".join(lines[len(node.body) + 1 :])
                    first, rest = lines[1], "\n".join(lines[2 : len(node.body) + 1])
                    parted = [f"try:\n{rest}\n{tail}", f"try:\n{first}\n{tail}"]
                    if draw.random() < 0.5:
                        parted.reverse()
                    return _with(
                        after, path, [t for c in cut for t in (parted if c is chunk else [c.text])]
                    )
    return None


@_edit("names become a star")
def _star(base: Files, after: Files, move: Move, draw: random.Random) -> Edited | None:
    path = _path(base, after, draw)
    cut = chunks(after[path])
    choices = [
        c
        for c in cut
        if _is_import(c)
        and c.text.startswith("from ")
        and " as " not in c.text
        and "*" not in c.text
    ]
    if not choices:
        return None
    chosen = draw.choice(choices)
    text = re.sub(r" import .*", " import *", chosen.text)
    return _with(after, path, [text if c is chosen else c.text for c in cut])


@_edit("a star becomes names")
def _unstar(base: Files, after: Files, move: Move, draw: random.Random) -> Edited | None:
    for path in sorted(after):
        if path.endswith(".py"):
            cut = chunks(after[path])
            for chunk in cut:
                if (
                    _is_import(chunk)
                    and "*" in chunk.text
                    and isinstance(chunk.node, ast.ImportFrom)
                ):
                    there = [
                        p
                        for p in sorted(after)
                        if p.endswith(".py") and dotted(p) == chunk.node.module
                    ]
                    reads = set().union(*(c.reads for c in cut))
                    names = sorted(
                        n for p in there for c in chunks(after[p]) for n in c.binds & reads
                    )
                    if names:
                        text = chunk.text.replace("*", ", ".join(dict.fromkeys(names)))
                        return _with(after, path, [text if c is chunk else c.text for c in cut])
    return None


@_edit("a star goes elsewhere")
def _star_place(base: Files, after: Files, move: Move, draw: random.Random) -> Edited | None:
    for path in sorted(after):
        if path.endswith(".py"):
            cut = chunks(after[path])
            stars = [c for c in cut if _is_import(c) and "*" in c.text]
            if stars and len(cut) > 1:
                rest = [c.text for c in cut if c is not stars[0]]
                rest.insert(draw.randint(0, len(rest)), stars[0].text)
                return _with(after, path, rest)
    return None


@_edit("a statement is lost")
def _drop(base: Files, after: Files, move: Move, draw: random.Random) -> Edited | None:
    path = _path(base, after, draw)
    cut = chunks(after[path])
    choices = [c for c in cut if not _is_import(c)]
    if not choices:
        return None
    chosen = draw.choice(choices)
    return _with(after, path, [c.text for c in cut if c is not chosen])


@_edit("a statement stays behind, too")
def _copy(base: Files, after: Files, move: Move, draw: random.Random) -> Edited | None:
    gone = [c.text for c in chunks(base[move.source]) if c.binds & set(move.names)]
    if move.source not in after or not gone:
        return None
    parts = [c.text for c in chunks(after[move.source])]
    return _with(after, move.source, [*parts, draw.choice(gone)])


@_edit("what a statement says is changed")
def _constant(base: Files, after: Files, move: Move, draw: random.Random) -> Edited | None:
    path = _path(base, after, draw)
    found = list(re.finditer(r"(?<![\w.])(\d)(?![\w.])", after[path]))
    if not found:
        return None
    at = draw.choice(found)
    text = after[path]
    return Edited("", {**after, path: f"{text[: at.start()]}{int(at[1]) + 1}{text[at.end() :]}"})


@_edit("a decorator is lost")
def _decorator(base: Files, after: Files, move: Move, draw: random.Random) -> Edited | None:
    path = _path(base, after, draw)
    found = list(re.finditer(r"^@.*\n", after[path], re.M))
    if not found:
        return None
    at = draw.choice(found)
    return Edited("", {**after, path: after[path][: at.start()] + after[path][at.end() :]})


@_edit("an import goes under TYPE_CHECKING")
def _type_checking(base: Files, after: Files, move: Move, draw: random.Random) -> Edited | None:
    path = _path(base, after, draw)
    cut = chunks(after[path])
    choices = [c for c in cut if _is_import(c) and "*" not in c.text]
    if not choices:
        return None
    chosen = draw.choice(choices)
    parts = []
    for chunk in cut:
        if chunk is chosen:
            parts += ["from typing import TYPE_CHECKING", f"if TYPE_CHECKING:\n    {chunk.text}"]
        else:
            parts.append(chunk.text)
    if draw.random() < 0.5 and "__future__" not in after[path]:
        parts.insert(0, "from __future__ import annotations")
    return _with(after, path, parts)


@_edit("annotations become text, or no longer are")
def _future(base: Files, after: Files, move: Move, draw: random.Random) -> Edited | None:
    path = _path(base, after, draw)
    line = "from __future__ import annotations\n"
    if line in after[path]:
        return Edited("", {**after, path: after[path].replace(line, "", 1)})
    return Edited("", {**after, path: line + after[path]})


@_edit("a caller is forgotten")
def _forget(base: Files, after: Files, move: Move, draw: random.Random) -> Edited | None:
    callers = [
        p
        for p in sorted(after)
        if p in base and base[p] != after[p] and p not in (move.source, move.destination)
    ]
    if not callers:
        return None
    path = draw.choice(callers)
    return Edited("", {**after, path: base[path]})


@_edit("a string does not follow, or follows wrongly")
def _string(base: Files, after: Files, move: Move, draw: random.Random) -> Edited | None:
    old, new = dotted(move.source), dotted(move.destination)
    flips = [(new, old), (old, new)]
    draw.shuffle(flips)
    for one, two in flips:
        for path in sorted(after):
            changed = re.sub(rf"(?<=[\"']){re.escape(one)}(?=[.:\"'])", two, after[path])
            if changed != after[path]:
                return Edited("", {**after, path: changed})
    return None


@_edit("the source hands the names on, lazily")
def _lazy_names(base: Files, after: Files, move: Move, draw: random.Random) -> Edited | None:
    if move.source not in after or "def __getattr__" in after[move.source]:
        return None
    table = ", ".join(f'"{n}"' for n in move.names)
    text = (
        f"\n\ndef __getattr__(name):\n    if name in ({table},):\n        import importlib\n\n"
        f'        return getattr(importlib.import_module("{dotted(move.destination)}"), name)\n'
        "    raise AttributeError(name)\n"
    )
    return Edited("", {**after, move.source: after[move.source] + text})


@_edit("the new module is called like another")
def _hide(base: Files, after: Files, move: Move, draw: random.Random) -> Edited | None:
    if move.destination in base or move.destination not in after:
        return None
    folder, _, file = move.destination.rpartition("/")
    bound = [
        n for c in chunks(base.get(f"{folder}/__init__.py", "") if folder else "") for n in c.binds
    ]
    name = draw.choice([*bound, *bound, "json", "textwrap", "functools", "importlib", *move.names])
    prefix = f"{folder}/" if folder else ""
    if f"{prefix}{name}.py" in after:
        return None
    old, new = dotted(move.destination), dotted(f"{prefix}{name}.py")
    last = file.removesuffix(".py")
    files = {p: _respelled(t, (old, last), (new, name)) for p, t in after.items()}
    files[f"{prefix}{name}.py"] = after[move.destination]
    del files[move.destination]
    return Edited("", dict(sorted(files.items())))


def _respelled(text: str, old: tuple[str, str], new: tuple[str, str]) -> str:
    """Spell a module otherwise wherever it is imported."""
    text = re.sub(rf"(?<![\w.]){re.escape(old[0])}\b", new[0], text)
    text = re.sub(rf"(from \.+){old[1]}\b", rf"\g<1>{new[1]}", text)
    return re.sub(rf"( import ){old[1]}( as |$)", rf"\g<1>{new[1]}\g<2>", text, flags=re.M)


@_edit("an __init__ is lost or gained")
def _init(base: Files, after: Files, move: Move, draw: random.Random) -> Edited | None:
    there = [p for p in sorted(after) if p.endswith("__init__.py")]
    if there and draw.random() < 0.6:
        gone = draw.choice(there)
        return Edited("", {p: t for p, t in after.items() if p != gone})
    folders = {p.rpartition("/")[0] for p in after if p.endswith(".py")} - {"", "src"}
    lacking = sorted(f for f in folders if f"{f}/__init__.py" not in after)
    if not lacking:
        stems = [p.removesuffix(".py") for p in sorted(after) if "/" not in p and p.endswith(".py")]
        return Edited("", {**after, f"{draw.choice(stems)}/__init__.py": ""}) if stems else None
    return Edited("", {**after, f"{draw.choice(lacking)}/__init__.py": ""})


@_edit("a relative import has another level")
def _level(base: Files, after: Files, move: Move, draw: random.Random) -> Edited | None:
    path = _path(base, after, draw)
    dots = list(re.finditer(r"^(\s*from )(\.+)(?=\w| )", after[path], re.M))
    if not dots:
        return None
    at = draw.choice(dots)
    fewer = at[2][1:] if len(at[2]) > 1 and draw.random() < 0.5 else at[2] + "."
    text = after[path]
    return Edited("", {**after, path: text[: at.start(2)] + fewer + text[at.end(2) :]})


@_edit("a name is taken from another module that has it")
def _provider(base: Files, after: Files, move: Move, draw: random.Random) -> Edited | None:
    python = [
        p for p in sorted(after) if p.endswith(".py") and not p.startswith(("tests/", "main"))
    ]
    bound = {p: set().union(*(c.binds for c in chunks(after[p]))) for p in python}
    path = _path(base, after, draw)
    for chunk in chunks(after[path]):
        node = chunk.node
        if isinstance(node, ast.ImportFrom) and len(node.names) == 1 and not node.level:
            others = [
                p
                for p in python
                if node.names[0].name in bound[p] and dotted(p) != node.module and p != path
            ]
            if others:
                line = re.sub(
                    r"from \S+", f"from {dotted(draw.choice(others))}", chunk.text, count=1
                )
                return Edited("", {**after, path: after[path].replace(chunk.text, line, 1)})
    return None


@_edit("a name hides another")
def _shadow(base: Files, after: Files, move: Move, draw: random.Random) -> Edited | None:
    path = move.destination if move.destination in after else move.source
    reads = sorted(set().union(*(c.reads for c in chunks(after[path])), set()))
    known = [n for n in reads if re.match(r"(len|max|sorted|str|list|tuple|range|open|json)$", n)]
    name = draw.choice(known or ["print", *move.names])
    line = draw.choice([f"{name} = None", f"def {name}(*args, **more):\n    return 'other'"])
    parts = [c.text for c in chunks(after[path])]
    future = sum("__future__" in part for part in parts)
    parts.insert(draw.choice([future, len(parts)]), line)
    return _with(after, path, parts)


@_edit("__all__ is lost or gained")
def _all(base: Files, after: Files, move: Move, draw: random.Random) -> Edited | None:
    path = _path(base, after, draw, far=0.5)
    cut = chunks(after[path])
    without = [c.text for c in cut if not c.text.startswith("__all__")]
    if len(without) < len(cut):
        return _with(after, path, without)
    bound = sorted(n for c in cut if not _is_import(c) for n in c.binds if not n.startswith("__"))
    kept = [f'"{n}"' for n in bound if draw.random() < 0.7]
    return _with(after, path, [*without, f"__all__ = [{', '.join(kept)}]"])


@_edit("a package lists its new module, or no longer does")
def _packages(base: Files, after: Files, move: Move, draw: random.Random) -> Edited | None:
    text = after.get("pyproject.toml", "")
    found = re.search(r"packages = \[(.*)\]", text)
    if not found:
        return None
    names = [n for n in found[1].split(", ") if n]
    new = '"' + dotted(move.destination).rpartition(".")[0] + '"'
    names = [n for n in names if n != new] if new in names else [*names, new]
    line = f"packages = [{', '.join(names)}]"
    return Edited("", {**after, "pyproject.toml": text.replace(found.group(), line)})


@_edit("a test file gets another name")
def _rename_test(base: Files, after: Files, move: Move, draw: random.Random) -> Edited | None:
    there = [p for p in sorted(after) if p.startswith("tests/") and p.endswith(".py")]
    if not there:
        return None
    path = draw.choice(there)
    names = [
        "tests/conftest.py",
        "tests/deep/conftest.py",
        "tests/test_renamed.py",
        "tests/helpers.py",
    ]
    new = draw.choice([n for n in names if n not in after])
    return Edited("", {new if p == path else p: t for p, t in after.items()})
