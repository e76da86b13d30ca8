"""Small packages made by chance, and moves of some of their symbols written by plain templates."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

from tests.verify.certificate.trees import Tree

HELPERS = ("help_a", "help_b", "help_c")
LIB = "\n\n".join(f"def {name}(value):\n    return value\n" for name in HELPERS)


@dataclass(frozen=True)
class Symbol:
    """A definition of `pkg/mono.py`: what it is, and what it refers to."""

    name: str
    kind: str
    uses: tuple[str, ...]
    helpers: tuple[str, ...]
    qualified: bool  # whether the user of the package reads it as an attribute of its module

    @property
    def text(self) -> str:
        calls = [f"{name}({index})" for index, name in enumerate(self.helpers)]
        names = [*calls, *self.uses] or ["0"]
        joined = ", ".join(names)
        if self.kind == "constant":
            return f"# About {self.name}.\n{self.name} = ({joined}, 1)\n"
        if self.kind == "class":
            return (
                f'class {self.name}:\n    """A class."""\n\n    size = {len(names)}\n\n'
                f"    def run(self, value=None):\n        # First things first.\n"
                f"        if value is None:\n            return [{joined}]\n"
                f"        return self.size + value\n"
            )
        return (
            f"def {self.name}(value=1, *rest):\n    total = [{joined}, value]\n"
            f"    for item in rest:\n        total.append(item)  # one by one\n    return total\n"
        )


@dataclass(frozen=True)
class Package:
    """Symbols in order, and which of them move."""

    symbols: tuple[Symbol, ...]
    moving: frozenset[str] = field(default_factory=frozenset)

    def before(self) -> Tree:
        return {
            **_COMMON,
            "pkg/mono.py": _module(self.symbols, {}, '"""Everything."""\n\n'),
            "pkg/user.py": _user(self.symbols, frozenset()),
        }

    def after(self) -> Tree:
        stay = tuple(s for s in self.symbols if s.name not in self.moving)
        gone = tuple(s for s in self.symbols if s.name in self.moving)
        return {
            **_COMMON,
            "pkg/mono.py": _module(
                stay, dict.fromkeys(self.moving, "pkg.core"), '"""Everything."""\n\n'
            ),
            "pkg/core.py": _module(gone, {}, ""),
            "pkg/user.py": _user(self.symbols, self.moving),
        }


_COMMON = {"pkg/__init__.py": "", "pkg/lib.py": LIB}


def _module(symbols: tuple[Symbol, ...], homes: dict[str, str], head: str) -> str:
    here = {symbol.name for symbol in symbols}
    needed = {name for symbol in symbols for name in symbol.uses} - here
    helpers = sorted({name for symbol in symbols for name in symbol.helpers})
    lines = [f"from {homes[name]} import {name}\n" for name in sorted(needed)]
    if helpers:
        lines.append(f"from pkg.lib import {', '.join(helpers)}\n")
    return head + "".join(lines) + "\n\n" + "\n\n".join(symbol.text for symbol in symbols)


def _user(symbols: tuple[Symbol, ...], moving: frozenset[str]) -> str:
    homes = {s.name: "core" if s.name in moving else "mono" for s in symbols}
    plain = [s.name for s in symbols if not s.qualified]
    modules = sorted({homes[s.name] for s in symbols if s.qualified})
    lines = [f"import pkg.{home}\n" for home in modules]
    lines += [f"from pkg.{homes[name]} import {name}\n" for name in plain]
    reads = [f"pkg.{homes[s.name]}.{s.name}" if s.qualified else s.name for s in symbols]
    return "".join(lines) + "\n\ndef main():\n" + "".join(f"    print({r})\n" for r in reads)


@st.composite
def packages(draw: st.DrawFn) -> Package:
    """Give a package of two to seven symbols, some of which move with all they refer to."""
    symbols: list[Symbol] = []
    for index in range(draw(st.integers(2, 7))):
        kind = draw(st.sampled_from(["constant", "function", "class"]))
        uses = (
            draw(st.lists(st.sampled_from([s.name for s in symbols]), unique=True, max_size=3))
            if symbols
            else []
        )
        helpers = draw(st.lists(st.sampled_from(HELPERS), unique=True, max_size=2))
        if kind == "constant":
            helpers = []  # what runs on import would have to be loaded still
        symbols.append(
            Symbol(f"{kind}_{index}", kind, tuple(uses), tuple(helpers), draw(st.booleans()))
        )
    moving = set(
        draw(st.lists(st.sampled_from([s.name for s in symbols]), min_size=1, unique=True))
    )
    for symbol in reversed(symbols):
        if symbol.name in moving:
            moving.update(symbol.uses)
    return Package(tuple(symbols), frozenset(moving))
