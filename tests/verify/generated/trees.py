"""Small trees that hold every construct: groups of statements (`gadgets.txt`), drawn together.

A gadget brings statements for some roles. Each role falls to a module, often one that another
gadget fills too; fillers of every kind stand between.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

GADGETS = Path(__file__).with_name("gadgets.txt")
WORDS = [
    "amber",
    "basil",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grape",
    "hazel",
    "iris",
    "jade",
    "karma",
    "lemon",
    "maple",
    "nova",
    "olive",
    "pearl",
    "quartz",
    "raven",
    "sage",
    "topaz",
    "umbra",
    "velvet",
    "willow",
    "xenon",
    "yarrow",
    "zinc",
]
STEMS = ("orders", "store", "util", "core", "flags", "text", "shapes", "wire")
LAST = ("main", "test", "conftest", "pyproject")


@dataclass(frozen=True)
class Gadget:
    """A group of statements that is dangerous to move, by role."""

    kind: int
    name: str
    moves: tuple[str, ...]
    roles: dict[str, str]


@cache
def gadgets() -> tuple[Gadget, ...]:
    """Read all of them."""
    found = []
    for part in re.split(r"^=== ", GADGETS.read_text(encoding="utf-8"), flags=re.M)[1:]:
        head, *roles = re.split(r"^--- ", part, flags=re.M)
        title, _, moves = head.partition("\n")
        kind, _, name = title.partition(" ")
        texts = dict(role.split("\n", 1) for role in roles)
        names = tuple(moves.replace("move:", "").split())
        found.append(Gadget(int(kind), name, names, texts))
    return tuple(found)


# ruff: noqa: E501 - a table of texts
# Statements of every kind; `$a` to `$c` are drawn, `@@a` is a name that stands above (a value).
FILLERS = (
    "$a = 1",
    '$a = ("$a", 2)',
    "$a, $b = 1, [2]",
    '$a: int = 3\n"""What it is."""',
    "$a = $b = 4",
    "$a = [n * 2 for n in range(3) if n]",
    '$a = {"k": 1, **{"j": 2}}',
    "$a = lambda x=1: (x, '$a')",
    'def $a(x=1, *rest, key=None, **more):\n    """Say it."""\n    return "$a", x, rest, key, more',
    'def $a():\n    yield "$a"\n    yield from (1, 2)',
    'async def $a():\n    return "$a"',
    'def $a(n=3):\n    def inner(m):\n        return m + n\n\n    return "$a", inner(1)',
    'def $a(x=0):\n    try:\n        return "$a", 1 // x\n    except ZeroDivisionError as e:\n'
    "        return type(e).__name__\n    finally:\n        x = 1",
    'def $a(x=(1, 2)):\n    match x:\n        case [first, *_]:\n            return "$a", first\n'
    "        case _:\n            return None",
    'def $a():\n    import json\n\n    return "$a", json.dumps({"a": 1})',
    'def $a():\n    total = 0\n    for n in range(3):\n        if n == 1:\n            continue\n'
    '        total += n\n    else:\n        total += 10\n    return "$a", total',
    'def $a():\n    with open(__file__) as stream:\n        return "$a", bool(stream.read(1))',
    'class $a:\n    """A class."""\n\n    size = 1\n    both = size + 1\n\n    def get(self):\n'
    '        return "$a", self.size\n\n    @property\n    def twice(self):\n        return self.size * 2\n\n'
    "    @staticmethod\n    def make():\n        return $a()\n\n    @classmethod\n    def name(cls):\n"
    "        return cls.__name__",
    "class $a(Exception):\n    pass\n\n\ndef $b():\n    raise $a('$b')",
    'class $a:\n    class Inner:\n        x = "$a"\n\n    __slots__ = ("y",)\n\n    def __init__(self):\n'
    "        self.y = self.Inner.x",
    'import enum\n\n\nclass $a(enum.Enum):\n    ONE = 1\n    TWO = "$a"',
    'from dataclasses import dataclass, field\n\n\n@dataclass\nclass $a:\n    x: int = 1\n'
    "    y: list = field(default_factory=list)",
    'import abc\n\n\nclass $a(abc.ABC):\n    @abc.abstractmethod\n    def get(self): ...\n\n\n'
    'class $b($a):\n    def get(self):\n        return "$b"',
    "import functools\n\n\n@functools.lru_cache(maxsize=None)\ndef $a():\n    return '$a'",
    "import contextlib\n\n\n@contextlib.contextmanager\ndef $a():\n    yield '$a'\n\n\n"
    "def $b():\n    with $a() as x:\n        return x",
    "import re\n\n$a = re.compile('[a-z]+')\n\n\ndef $b(x='ab1'):\n    return $a.match(x).group()",
    "import logging\n\n$a = logging.getLogger(__name__)\n\n\ndef $b():\n    $a.debug('x')\n    return '$b'",
    "from typing import TypeVar\n\n$a = TypeVar('$a')\n\n\ndef $b(x: $a = 1) -> $a:\n    return x",
    "from collections import namedtuple\n\n$a = namedtuple('$a', 'x y', defaults=(1, 2))",
    "import sys\n\nif sys.version_info >= (3, 8):\n    def $a():\n        return 'new'\nelse:\n"
    "    def $a():\n        return 'old'",
    "try:\n    import tomllib as $a\nexcept ImportError:\n    $a = None",
    "try:\n    import nothing_$a as $a\nexcept ImportError:\n    $a = None\n\n\ndef $b():\n    return $a is None",
    "import os\n\n$a = os.environ.get('NOT_$a', 'x')",
    "$a = []\n$a.append(1)",
    "$a = {}\n$a['k'] = 2\n\n\ndef $b():\n    return sorted($a)",
    "$a = 1\n$a += 2",
    "$a = [1]\n\n\ndef $b():\n    $a.append(2)\n    return '$b', len($a)",
    "for $a in range(2):\n    pass",
    "while False:\n    $a = 1",
    "if ($a := 3) > 2:\n    $b = $a",
    "assert True, '$a'",
    "print('$a')",
    "$a = 1\ndel $a",
    "$a = 0\n\n\ndef $b():\n    global $a\n    $a += 1\n    return '$b', $a",
    "match 3:\n    case 3:\n        $a = 'three'\n    case _:\n        $a = 'other'",
    "$a = object()\n\n\ndef $b(x=$a):\n    return '$b', x is $a",
    "@lambda f: f\ndef $a():\n    return '$a'",
    "def $a():\n    return '$a', $b\n\n\n$b = 5",
    "def $a(x=@@a):\n    return '$a', x",
    "def $a():\n    return '$a', str(@@a)",
    "$a = @@a",
    "$a = (@@a, 1)",
    "def $a():\n    local = @@a\n    return '$a', [local for _ in range(2)]",
    "$a = str(@@a)",
    "class $a:\n    x = @@a\n\n    def get(self, y=@@a):\n        return '$a', y",
    "# A note about what follows.\n$a = 1  # and one behind",
)  # fmt: skip


@dataclass
class Module:
    """A module in the making."""

    dotted: str
    path: str
    head: list[str] = field(default_factory=list)
    chunks: list[str] = field(default_factory=list)
    spelled: dict[str, str] = field(default_factory=dict)
    values: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Put it together."""
        future = [line for line in dict.fromkeys(self.head) if "__future__" in line]
        rest = [line for line in dict.fromkeys(self.head) if "__future__" not in line]
        head = "\n".join([*future, *rest])
        return "\n\n\n".join(part for part in [head, *self.chunks] if part) + "\n"


@dataclass(frozen=True)
class Made:
    """A tree, and what in it may move: the gadget's names by the module that they stand in."""

    kind: int
    gadget: str
    files: dict[str, str]
    movable: tuple[tuple[str, str], ...]  # path, name


class Builder:
    """One tree, drawn."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.words = [f"{a}_{b}" for a in WORDS for b in draw.sample(WORDS, 3)]
        draw.shuffle(self.words)
        self.package = draw.choice(["", "", "shop", "shop", "shop.base"])
        self.src = "src/" if self.package and draw.random() < 0.1 else ""
        self.modules = [self._module(stem) for stem in draw.sample(STEMS, draw.randint(2, 5))]
        self.last: dict[str, Module] = {}
        self.pyproject = ""

    def _module(self, stem: str) -> Module:
        package = self.package if self.draw.random() < 0.85 else self.package.split(".")[0]
        dotted = f"{package}.{stem}" if package else stem
        return Module(dotted, self.src + dotted.replace(".", "/") + ".py")

    def _place(self, role: str) -> Module:
        paths = {
            "main": "main.py",
            "test": f"tests/test_{self.words[-1]}.py",
            "conftest": "tests/conftest.py",
            "pyproject": "pyproject.toml",
        }
        return self.last.setdefault(role, Module(role, paths[role]))

    def add(self, gadget: Gadget) -> list[tuple[str, str]]:
        """Add a gadget; give what may move."""
        names = {n: self.words.pop() for n in _names("\n".join(gadget.roles.values()))}
        inner = [role for role in gadget.roles if role not in {*LAST, "init"}]
        numbers = sorted(self.draw.choices(range(len(self.modules)), k=len(inner)))
        if self.draw.random() < 0.8 and len(inner) <= len(self.modules):
            numbers = sorted(self.draw.sample(range(len(self.modules)), len(inner)))
        places = {role: self.modules[n] for role, n in zip(inner, numbers, strict=True)}
        if "init" in gadget.roles:
            places["init"] = self._init()
        places.update({role: self._place(role) for role in gadget.roles if role in LAST})
        for role, text in gadget.roles.items():
            self._fill(places[role], text, places, names)
        wanted = sorted({_named(name, names) for name in gadget.moves})
        found = []
        for module in {place.path: place for place in places.values()}.values():
            for name in wanted:
                made = rf"^(?:async )?(?:def|class) {name}\b|^{name}\b.*="
                if any(re.search(made, chunk, re.M) for chunk in module.chunks):
                    found.append((module.path, name))
        return found

    def _init(self) -> Module:
        dotted = self.package.split(".")[0] or "facade"
        path = f"{self.src}{dotted}/__init__.py"
        found = next((m for m in self.last.values() if m.path == path), None)
        return found or self.last.setdefault("init", Module(dotted, path))

    def _fill(
        self, module: Module, text: str, places: dict[str, Module], names: dict[str, str]
    ) -> None:
        dotted = {role: place.dotted for role, place in places.items()}
        packages = sorted({m.dotted.rpartition(".")[0] for m in self.modules} - {""})
        dotted["packages"] = ", ".join(f'"{name}"' for name in packages)
        for role, name in dotted.items():
            text = text.replace("{" + role + "}", name)
        text = re.sub(r"\$\w+", lambda found: _named(found.group(), names), text)
        if module.path.endswith(".toml"):
            self.pyproject += text
            return
        text = re.sub(
            r"@@(\w+)\.(\w+)", lambda found: self._read(module, places[found[1]], found[2]), text
        )
        self._take(module, text)

    def _take(self, module: Module, text: str) -> None:
        """Add statements: imports on top go to the head, the rest to a place among the others."""
        lines = text.strip("\n").split("\n")
        while lines and (re.match(r"(import|from) ", lines[0]) or not lines[0]):
            line = lines.pop(0)
            own = re.match(rf"from {re.escape(module.dotted)} import", line)
            module.head += [line] if line and not own else []
        if lines:
            module.chunks.append("\n".join(lines))

    def _read(self, module: Module, place: Module, name: str) -> str:
        """Read a name of another module, in some spelling."""
        if module is place:
            return name
        style = module.spelled.get(place.dotted)
        if style is None or self.draw.random() < 0.15:
            style = self.draw.choice(["from", "from", "from", "plain", "as", "package", "relative"])
            module.spelled[place.dotted] = style
        package, _, last = place.dotted.rpartition(".")
        if style == "plain":
            module.head.append(f"import {place.dotted}")
            return f"{place.dotted}.{name}"
        if style == "as":
            module.head.append(f"import {place.dotted} as {last}_module")
            return f"{last}_module.{name}"
        if style == "package" and package:
            module.head.append(f"from {package} import {last}")
            return f"{last}.{name}"
        here = module.dotted.rpartition(".")[0]
        if style == "relative" and package and here == package:
            module.head.append(f"from .{last} import {name}")
            return name
        module.head.append(f"from {place.dotted} import {name}")
        return name

    def filler(self, module: Module) -> None:
        """Add a statement of any kind."""
        text = self.draw.choice(FILLERS)
        values = [v for v in module.values if v]
        if "@@a" in text:
            if not values:
                return
            text = text.replace("@@a", self.draw.choice(values))
        names = {name: self.words.pop() for name in _names(text)}
        text = re.sub(r"\$\w+", lambda found: names[found.group()], text)
        self._take(module, text)
        found = re.match(r"(\w+) = (?!\[\]|\{\}|lambda)", text)
        if found and "del " not in text:
            module.values.append(found[1])

    def build(self, kind: int) -> Made:
        """Draw a tree around a gadget of a kind."""
        draw = self.draw
        main = draw.choice([g for g in gadgets() if g.kind == kind])
        others = draw.sample(gadgets(), draw.choice([0, 0, 1, 1, 2]))
        for module in self.modules:
            for _ in range(draw.choice([0, 0, 1])):
                self.filler(module)
        movable = self.add(main)
        for other in others:
            if other.name != main.name and "pyproject" not in other.roles:
                self.add(other)
        for module in self.modules:
            for _ in range(draw.choice([0, 1, 1, 2, 3])):
                self.filler(module)
        return Made(kind, main.name, self._files(), tuple(movable))

    def _files(self) -> dict[str, str]:
        files = {m.path: m.text() for m in [*self.modules, *self.last.values()]}
        for path in list(files):
            folder = path.rpartition("/")[0]
            while folder and folder not in ("src", "tests"):
                files.setdefault(f"{folder}/__init__.py", "")
                folder = folder.rpartition("/")[0]
        if self.pyproject:
            files["pyproject.toml"] = self.pyproject.lstrip("\n")
        elif "pyproject.toml" in files:
            del files["pyproject.toml"]
        if self.src:
            settings = '[tool.setuptools.packages.find]\nwhere = ["src"]\n'
            if "[tool" not in files.get("pyproject.toml", ""):
                files["pyproject.toml"] = files.get("pyproject.toml", "") + settings
            files["pyproject.toml"] += '\n[tool.pytest.ini_options]\npythonpath = ["src"]\n'
        elif any(path.startswith("tests/") for path in files):
            files.setdefault("pyproject.toml", "")
            files["pyproject.toml"] += '\n[tool.pytest.ini_options]\npythonpath = ["."]\n'
        return dict(sorted(files.items()))


def _names(text: str) -> list[str]:
    """List the placeholders of a text; `$_x` and `$do_x` keep what they begin with."""
    return list(dict.fromkeys(re.findall(r"\$\w+", text)))


def _named(placeholder: str, names: dict[str, str]) -> str:
    plain = re.match(r"\w*", placeholder.removeprefix("$"))
    text = plain.group() if plain else ""
    if "$" in placeholder[1:]:
        before, _, after = placeholder.partition("$")
        return before + names[f"${after}"]
    if not placeholder.startswith("$"):
        before, _, after = placeholder.partition("$")
        return before + names.get(f"${after}", after)
    for prefix in ("_", "do_", "test_"):
        if text.startswith(prefix):
            return prefix + names[placeholder]
    return names[placeholder]
