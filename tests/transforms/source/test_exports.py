"""What `__all__` is read as, without running the module."""

from __future__ import annotations

import pytest

from transforms.source.exports import dunder_all
from transforms.syntax.parsing import parse


def _rows(*rows: tuple) -> list:
    return [pytest.param(*row[1:], id=row[0]) for row in rows]


READ = _rows(
    ("a list", "__all__ = ['a', 'b']", "a b", False),
    ("a tuple of one", "__all__ = ('a',)", "a", False),
    ("a tuple without parentheses", "__all__ = 'a', 'b'", "a b", False),
    ("an empty list", "__all__ = []", "", False),
    ("an annotated list", "__all__: list[str] = ['a']", "a", False),
    ("an augmented one", "__all__ = ['a']\n__all__ += ['b', 'c']", "a b c", False),
    ("an extended one", "__all__ = ['a']\n__all__.extend(['b'])", "a b", False),
    ("an appended one", "__all__ = []\n__all__.append('a')", "a", False),
    ("an inserted one", "__all__ = ['b']\n__all__.insert(0, 'a')", "b a", False),
    ("a sorted one", "__all__ = ['b']\n__all__.sort()", "b", False),
    ("two lists added", "__all__ = ['a'] + ['b']", "a b", False),
    ("itself and a list", "__all__ = ['a']\n__all__ = __all__ + ['b']", "a b", False),
    ("a copy", "__all__ = sorted(['b', 'a'])", "b a", False),
    ("within if", "if x:\n __all__ = ['a']\nelse:\n __all__ = ['b']", "a b", False),
    ("within try", "try: __all__ = ['a']\nexcept E: __all__ += ['b']", "a b", False),
    ("another module's as well", "__all__ = ['a'] + m.__all__", "a", True),
    ("another module's by +=", "__all__ = ['a']\n__all__ += m.__all__", "a", True),
    ("a comprehension", "__all__ = [n for n in dir()]", "", True),
    ("a name", "__all__ = names + ['a']", "a", True),
    ("one is removed", "__all__ = ['a', 'b']\n__all__.remove('a')", "a b", True),
    ("a starred one", "__all__ = [*m.__all__, 'a']", "a", True),
    ("a value in a list", "__all__ = [f.__name__, 'a']", "a", True),
)


@pytest.mark.parametrize(("source", "names", "dynamic"), READ)
def test_dunder_all_is_read(source: str, names: str, dynamic: bool) -> None:
    found = dunder_all(parse(source, "m.py"))
    assert found is not None
    assert " ".join(name for name, _ in found.names) == names
    assert found.dynamic is dynamic


@pytest.mark.parametrize(
    "source",
    ["a = 1", "def f():\n __all__ = ['a']", "class C:\n __all__ = ['a']", "m.__all__ = ['a']"],
)
def test_module_without_dunder_all_has_none(source: str) -> None:
    assert dunder_all(parse(source, "m.py")) is None


def test_names_keep_their_nodes_and_statements() -> None:
    found = dunder_all(parse("__all__ = [\n    'a',\n]\n__all__ += ['b']\n", "m.py"))
    assert found is not None
    assert [node.lineno for _, node in found.names] == [2, 4]
    assert [statement.lineno for statement in found.statements] == [1, 4]
    assert "a" in found
    assert "c" not in found
