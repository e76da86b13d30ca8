"""Generated programs that run: a module to split, and a caller that tells what its symbols give.

They are ours from the first letter to the last, so they may be run: before a move and after it,
and what they give must be equal.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import cast

from hypothesis import strategies as st

Draw = Callable[..., object]
IMPORTS = {
    "json": ("import json\n", "len(json.dumps({0}))"),
    "os": ("import os.path\n", "len(os.path.basename('a/b')) + {0}"),
    "ceil": ("from math import ceil\n", "ceil({0} / 2)"),
    "floor": ("from math import floor\n", "floor({0} / 2)"),
    "Dict": ("from typing import Dict\n", "len(Dict[str, int].__args__) + {0}"),
}
KINDS = (
    *("const", "const", "list", "change", "rebind", "leaf", "leaf", "caller", "caller", "class"),
    *("class", "decorator", "decorated", "counter", "branch", "registry", "handler"),
)


@dataclass
class Part:
    """One statement: what kind it is, the names it binds, and its text once written."""

    kind: str
    name: str
    names: tuple[str, ...]
    text: str = ""


@dataclass
class Program:
    """A module's text, its symbols in order, and for each an expression that shows its value."""

    text: str
    parts: list[Part]
    probes: dict[str, str] = field(default_factory=dict)

    @property
    def symbols(self) -> list[str]:
        return list(dict.fromkeys(name for part in self.parts for name in part.names))

    def caller(self, form: int) -> str:
        """A module that imports every symbol, in one of three ways, and shows what each gives."""
        symbols = [name for name in self.symbols if name in self.probes]
        head = {
            0: "from pkg.mono import (\n" + "".join(f"    {n},\n" for n in symbols) + ")\n",
            1: "import pkg.mono as m\n",
            2: "import pkg.mono\n",
        }[form]
        if not symbols:
            head = ""
        prefix = {0: "", 1: "m.", 2: "pkg.mono."}[form]
        lines = [f"        {self.probes[name].format(prefix + name)},\n" for name in symbols]
        return head + "\n\ndef results():\n    return [\n" + "".join(lines) + "    ]\n"


@st.composite
def programs(draw: Draw, most: int = 9, *, tight: bool = True) -> Program:
    """A module that can be imported; most of what it defines uses something else of it.

    `tight`: constants may stand line by line.
    """
    return _Writer(draw, most, tight).program()


class _Writer:
    def __init__(self, draw: Draw, most: int, tight: bool) -> None:
        self._draw, self._tight = draw, tight
        kinds = draw(st.lists(st.sampled_from(KINDS), min_size=2, max_size=most))
        self.parts: list[Part] = []
        self.used: set[str] = set()
        for number, kind in enumerate(cast("list[str]", kinds)):
            self.parts += self._named(kind, number)

    def pick(self, options: Sequence[str]) -> str:
        return self._draw(st.sampled_from(list(options)))  # type: ignore[return-value]

    def chance(self, percent: int) -> bool:
        return self._draw(st.integers(0, 99)) < percent  # type: ignore[operator]

    def _named(self, kind: str, number: int) -> list[Part]:
        """A part of the kind, if what it needs is there."""
        earlier = [part for part in self.parts if part.kind == NEEDS.get(kind)]
        if kind in NEEDS and not earlier:
            return []
        if kind in ("change", "rebind"):
            target = self.pick([part.name for part in earlier])
            return [Part(kind, target, (target,))]
        name = {"class": "K", "const": "C", "list": "L"}.get(kind, kind) + str(number)
        if kind == "counter":
            return [Part("counter", f"_n{number}", (f"_n{number}",)), Part("bump", name, (name,))]
        if kind == "registry":
            return [
                Part("table", f"R{number}", (f"R{number}",)),
                Part("registry", f"reg{number}", (f"reg{number}",)),
            ]
        return [Part(kind, name, (name,))]

    def program(self) -> Program:
        future = self.chance(30)
        body = ""
        probes: dict[str, str] = {}
        for index, part in enumerate(self.parts):
            part.text = self._text(index, part)
            body += self._gap(index, part) + self._comment(part) + part.text
            probe = PROBES.get(part.kind)
            if probe:
                probes[part.name] = probe
        head = '"""Generated."""\n' if self.chance(30) else ""
        head += "from __future__ import annotations\n" if future else ""
        imports = [IMPORTS[name][0] for name in IMPORTS if name in self.used]
        block = _sorted_imports(imports)
        text = "\n".join(filter(None, [head, block]))
        if text and body:
            text += "\n" if self.parts[0].kind in (*FLAT, "branch") else "\n\n"
        return Program(text + body.lstrip("\n"), self.parts, probes)

    def _gap(self, index: int, part: Part) -> str:
        if index == 0:
            return ""
        if part.kind in FLAT and self.parts[index - 1].kind in FLAT:
            return "" if self._tight and self.chance(60) else "\n"
        return "\n\n"

    def _comment(self, part: Part) -> str:
        if self.chance(15) and part.kind not in ("change", "rebind"):
            return f"# About {part.name}.\n"
        return ""

    # Values: those above are read at import, any may be read later.

    def _above(self, index: int, *kinds: str) -> list[str]:
        return [part.name for part in self.parts[:index] if part.kind in kinds]

    def _anywhere(self, *kinds: str) -> list[str]:
        return [part.name for part in self.parts if part.kind in kinds]

    def _eager(self, index: int) -> str:
        """An integer, read when the module is imported."""
        options = ["1", "2", "7"]
        options += self._above(index, "const", "const") * 2
        options += [f"len({name})" for name in self._above(index, "list", "table")]
        options += [f"{name}(2)" for name in self._above(index, "leaf", "caller", "decorated")]
        options += [f"{name}.a" for name in self._above(index, "class")]
        return self._wrapped(self.pick(options))

    def _later(self, index: int, part: Part) -> str:
        """An integer, read when a function runs."""
        options = ["3", *self._anywhere("const")]
        options += [f"len({name})" for name in self._anywhere("list", "table")]
        if part.kind != "leaf":
            options += [f"{name}(x)" for name in self._anywhere("leaf", "branch")] * 2
            options += [f"{name}().m(x)" for name in self._anywhere("class")]
        return self._wrapped(self.pick(options))

    def _wrapped(self, value: str) -> str:
        if not self.chance(25):
            return value
        name = self.pick(list(IMPORTS))
        self.used.add(name)
        return IMPORTS[name][1].format(value)

    def _text(self, index: int, part: Part) -> str:
        return getattr(self, f"_{part.kind}")(index, part)  # type: ignore[no-any-return]

    def _const(self, index: int, part: Part) -> str:
        value = self._eager(index)
        form = self.pick(["plain", "plain", "annotated", "lines", "trailing", "documented"])
        if form == "lines":
            return f"{part.name} = (\n    {value}\n    + 1  # one more\n)\n"
        if form == "documented":
            return f'{part.name} = {value}\n"""Documented."""\n'
        annotation = ": int" if form == "annotated" else ""
        return f"{part.name}{annotation} = {value}" + ("  # odd\n" if form == "trailing" else "\n")

    def _list(self, index: int, part: Part) -> str:
        return f"{part.name} = [{self._eager(index)}]\n"

    def _change(self, index: int, part: Part) -> str:
        value = self._eager(index)
        return self.pick([f"{part.name}.append({value})\n", f"{part.name} += [{value}]\n"])

    def _rebind(self, index: int, part: Part) -> str:
        return f"{part.name} = {part.name} + {self._eager(index)}\n"

    def _leaf(self, index: int, part: Part) -> str:
        default = f"={self._eager(index)}" if self.chance(30) else ""
        return f"def {part.name}(x{default}):\n    return x + {self._later(index, part)}\n"

    def _caller(self, index: int, part: Part) -> str:
        local = ""
        symbols = self._anywhere("const", "list")
        if symbols and self.chance(15):
            name = self.pick(symbols)
            local = f"    from pkg.mono import {name} as late\n\n    repr(late)\n"
        value = f"{self._later(index, part)} + {self._later(index, part)}"
        return f'def {part.name}(x):\n    """Calls."""\n{local}    return x + {value}\n'

    def _class(self, index: int, part: Part) -> str:
        bases = self._above(index, "class")
        base = f"({self.pick(bases)})" if bases and self.chance(40) else ""
        annotated = self._above(index, "class")
        hint = f": {self.pick(annotated)}" if annotated and self.chance(30) else ""
        leaf = Part("leaf", "", ())
        return (
            f"class {part.name}{base}:\n    a = {self._eager(index)}\n\n"
            f"    def m(self, x{hint}):\n        return self.a + {self._later(index, leaf)}\n"
        )

    def _decorator(self, index: int, part: Part) -> str:
        return f"def {part.name}(function):\n    return lambda x: function(x) + 1\n"

    def _decorated(self, index: int, part: Part) -> str:
        decorator = self.pick(self._above(index, "decorator"))
        leaf = Part("leaf", "", ())
        return f"@{decorator}\ndef {part.name}(x):\n    return x + {self._later(index, leaf)}\n"

    def _counter(self, index: int, part: Part) -> str:
        return f"{part.name} = 0\n"

    def _bump(self, index: int, part: Part) -> str:
        name = self.parts[index - 1].name
        return f"def {part.name}(x):\n    global {name}\n    {name} += x\n    return {name}\n"

    def _branch(self, index: int, part: Part) -> str:
        leaf = Part("leaf", "", ())
        return (
            f"if {self._eager(index)} > 2:\n\n    def {part.name}(x):\n"
            f"        return x + {self._later(index, leaf)}\n\nelse:\n\n"
            f"    def {part.name}(x):\n        return x\n"
        )

    def _table(self, index: int, part: Part) -> str:
        return f"{part.name} = {{}}\n"

    def _registry(self, index: int, part: Part) -> str:
        table = self.parts[index - 1].name
        return (
            f"def {part.name}(function):\n    {table}[function.__name__] = function\n"
            "    return function\n"
        )

    def _handler(self, index: int, part: Part) -> str:
        return f"@{self.pick(self._above(index, 'registry'))}\ndef {part.name}(x):\n    return x\n"


FLAT = ("const", "list", "change", "rebind", "counter", "table")
NEEDS = {
    "change": "list",
    "rebind": "const",
    "decorated": "decorator",
    "handler": "registry",
}
PROBES = {
    "const": "{0}",
    "list": "list({0})",
    "leaf": "{0}(5)",
    "caller": "{0}(5)",
    "class": "({0}.a, {0}().m(4))",
    "decorated": "{0}(5)",
    "bump": "{0}(2)",
    "branch": "{0}(5)",
    "table": "sorted({0})",
    "handler": "{0}(5)",
}


def _sorted_imports(statements: Sequence[str]) -> str:
    """As isort would: plain imports first, names of one module together."""
    plain = sorted(line for line in statements if line.startswith("import"))
    taken: dict[str, list[str]] = {}
    for line in statements:
        if line.startswith("from"):
            _, module, _, name = line.split()
            taken.setdefault(module, []).append(name)
    lines = [
        f"from {module} import {', '.join(sorted(taken[module]))}\n" for module in sorted(taken)
    ]
    return "".join([*plain, *lines])


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports modules from a mapping of paths to texts."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        stem = fullname.replace(".", "/")
        if f"{stem}/__init__.py" in self.files:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        if f"{stem}.py" in self.files:
            return importlib.machinery.ModuleSpec(fullname, self)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        stem = module.__name__.replace(".", "/")
        path = f"{stem}.py" if f"{stem}.py" in self.files else f"{stem}/__init__.py"
        exec(compile(self.files[path], path, "exec", dont_inherit=True), module.__dict__)  # noqa: S102


@contextmanager
def _importable(files: Mapping[str, bytes]) -> Iterator[None]:
    finder = _Finder(files)
    tops = {path.partition("/")[0].removesuffix(".py") for path in files}

    def forget() -> None:
        for name in [name for name in sys.modules if name.partition(".")[0] in tops]:
            del sys.modules[name]

    forget()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        forget()


def run(files: Mapping[str, bytes], module: str = "app") -> object:
    """Import a module of a tree, and give what its `results` give, if it has any."""
    with _importable(files):
        imported = importlib.import_module(module)
        results = getattr(imported, "results", None)
        return results() if results is not None else None
