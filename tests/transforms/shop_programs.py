"""Small programs with every spelling of an import, made from a seed, and a way to run them.

A program is a package `shop` with a source `shop.store`, and modules that use it. Running one gives
what each module recorded: the values that its names had.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.util
import random
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

SYMBOLS = ("alpha", "beta", "gamma", "delta", "LIMIT", "_private")
CALLERS = ("app.py", "shop/till.py", "shop/inner/deep.py", "shop/inner/__init__.py")


class Maker:
    """Makes the files of one program, and a plan that moves some of its symbols."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 - programs, not secrets
        self.files: dict[str, str] = {}

    def some(self, items: Sequence[str], least: int = 1) -> list[str]:
        return self.random.sample(list(items), self.random.randint(least, len(items)))

    def chance(self, one_in: int) -> bool:
        return self.random.randrange(one_in) == 0

    def program(self) -> dict[str, str]:
        self.files["shop/store.py"] = self.store()
        self.files["shop/cellar/__init__.py"] = ""
        self.files["shop/__init__.py"] = self.init()
        for path in CALLERS:
            self.files[path] = self.caller(path)
        return self.files

    def store(self) -> str:
        lines = ["import json", "import os"]
        if self.chance(3):
            lines += ["", f"__all__ = {self.some(SYMBOLS)!r}"]
        lines += ["", "LIMIT = 3", "_private = 'p'"]
        for name in SYMBOLS[:4]:
            body = [f"'{name}'"]
            if self.chance(4):
                body.append("json.dumps(1)")
            if self.chance(4):
                body.append("os.sep")
            if self.chance(4):
                body.append("LIMIT")
            if self.chance(3) and name != "alpha":
                body.append("beta()[0]" if name > "beta" and self.chance(2) else "alpha()[0]")
            lines += ["", "", f"def {name}():", f"    return ({', '.join(body)},)"]
        return "\n".join(lines) + "\n"

    def init(self) -> str:
        forms = [
            "from shop.store import alpha, beta",
            "from .store import gamma as gamma  # noqa: F401",
            "from . import store",
            "from .store import *  # noqa: F403",
            "import shop.store",
            "from .store import LIMIT",
        ]
        return "\n".join(self.some(forms, 0)) + "\n"

    def caller(self, path: str) -> str:
        package = path.rpartition("/")[0].replace("/", ".")
        lines = ["import sys", "out = []"] if self.chance(2) else ["out = []"]
        local: list[str] = []
        for number in range(self.random.randint(1, 5)):
            imports, uses = self.block(number, package)
            where = self.random.randrange(6)
            if where < 3:
                at = 0 if where == 0 else len(lines)
                lines[at:at] = imports
                lines += uses
            elif where == 3:
                lines += ["if out is not None:", *indented(imports), *uses]
            elif where == 4 and not any("*" in line for line in imports):
                local += [f"def local{number}():", *indented(imports), *indented(uses), ""]
            elif not any("*" in line for line in imports):
                lines += ["try:", *indented(imports), "except ImportError:", "    pass", *uses]
        called = [f"    {line[4:-3]}()" for line in local if line.startswith("def ")]
        return "\n".join([*lines, "", *local, "def run():", *called, "    return out"]) + "\n"

    def block(self, number: int, package: str) -> tuple[list[str], list[str]]:
        """An import, and lines that record what it gives."""
        names = self.some(SYMBOLS[:5] if self.chance(2) else SYMBOLS)
        dots = {"shop": ".", "shop.inner": ".."}.get(package)
        relative = dots is not None and self.chance(2)
        module = f"{dots}store" if relative else "shop.store"
        parent = str(dots) if relative else "shop"
        form = self.random.randrange(11)
        if form < 3:
            return self.names(form, number, module, names)
        if form < 6:
            return self.module(form, number, parent, names)
        if form == 6:
            return [f"from {module} import *"], []
        return self.patch(form, number, parent, names)

    def names(
        self, form: int, number: int, module: str, names: Sequence[str]
    ) -> tuple[list[str], list[str]]:
        """Names imported from the source."""
        if form == 0:
            return [f"from {module} import {', '.join(names)}"], [record(n) for n in names]
        if form == 1:
            listed = "".join(f"    {name},\n" for name in names)
            return f"from {module} import (\n{listed})".split("\n"), [record(n) for n in names]
        aliased = ", ".join(f"{name} as {name}{number}" for name in names)
        return [f"from {module} import {aliased}"], [record(f"{n}{number}") for n in names]

    def module(
        self, form: int, number: int, parent: str, names: Sequence[str]
    ) -> tuple[list[str], list[str]]:
        """The source imported as a module."""
        if form == 3:
            alias = self.random.choice(["store", f"st{number}"])
            spelled = "store" if alias == "store" else f"store as {alias}"
            return [f"from {parent} import {spelled}"], [record(f"{alias}.{n}") for n in names]
        if form == 4:
            return ["import shop.store"], [record(f"shop.store.{n}") for n in names]
        shortened = [f"out.append(f'{{sto{number}.{name}}}'[:3])" for name in names]
        plain = [record(f"sto{number}.{name}") for name in names]
        return [f"import shop.store as sto{number}"], shortened if self.chance(4) else plain

    def patch(
        self, form: int, number: int, parent: str, names: Sequence[str]
    ) -> tuple[list[str], list[str]]:
        """A global of the source replaced from outside, and what its functions then give."""
        name = self.random.choice(names)
        fake = "9" if name == "LIMIT" else "'q'" if name == "_private" else "lambda: ('fake',)"
        held = f"held{number}"
        calls = [record(f"{held}.{other}") for other in self.some(SYMBOLS)]
        imports = ["from unittest.mock import patch", f"from {parent} import store as {held}"]
        if form == 7:
            return imports, [f"with patch('shop.store.{name}', {fake}):", *indented(calls)]
        if form == 8:
            return imports, [f"with patch.object({held}, '{name}', {fake}):", *indented(calls)]
        if form == 9:
            return imports, [f"setattr({held}, '{name}', {fake})", *calls]
        return imports, [f"{held}.{name} = {fake}", *calls]

    def plan(self) -> str:
        moved = self.some(SYMBOLS)
        routes = [name for name in moved if self.chance(4) and not name.startswith("_")]
        text = "format = 1\nformatters = 'none'\n"
        if routes:
            text += "[import_from]\n" + "".join(f"{name} = 'shop'\n" for name in routes)
        text += "[[source]]\nmodule = 'shop.store'\n"
        if len(moved) == len(SYMBOLS):
            text += "emptied = 'delete'\n"
        homes = ["shop.basket", "shop.cellar.crate"] if self.chance(3) else ["shop.basket"]
        for number, home in enumerate(homes):
            part = moved[number :: len(homes)]
            if part:
                text += f"[[destination]]\nmodule = '{home}'\nsymbols = {part!r}\n"
        if routes:
            text += f"[[package]]\nmodule = 'shop'\nexports = {routes!r}\nall = false\n"
        return text


def indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines] or ["    pass"]


def record(expression: str) -> str:
    return f"out.append({expression} if not callable({expression}) else {expression}())"


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports modules from a mapping of files."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = files

    def find_spec(
        self, name: str, path: object = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        stem = name.replace(".", "/")
        for file in (f"{stem}/__init__.py", f"{stem}.py"):
            if file in self.files:
                package = file.endswith("__init__.py")
                return importlib.util.spec_from_loader(name, self, origin=file, is_package=package)
        return None

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        path = str(module.__spec__.origin)
        code = compile(ast.parse(self.files[path], path), path, "exec", dont_inherit=True)
        exec(code, module.__dict__)  # noqa: S102 - a program that this module wrote


def run(files: Mapping[str, str]) -> dict[str, object]:
    """What each caller recorded, or the name of the exception that it ended with."""
    return {path: run_one(files, path) for path in CALLERS}


def run_one(files: Mapping[str, str], path: str) -> object:
    """Run one caller in a world of its own."""
    finder = _Finder(files)
    tops = {file.partition("/")[0].removesuffix(".py") for file in files}
    before = dict(sys.modules)
    sys.meta_path.insert(0, finder)
    name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    try:
        return importlib.import_module(name).run()
    except Exception as error:
        return type(error).__name__
    finally:
        sys.meta_path.remove(finder)
        for module in set(sys.modules) - set(before):
            if module.partition(".")[0] in tops:
                del sys.modules[module]
