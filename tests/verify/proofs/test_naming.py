"""Words are found where they stand whole, and a file is read once for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from verify.certificate import Held
from verify.proofs.naming import Naming

REGULAR = 0o100644


class Counting(Held):
    """Shared files that count how often each is read."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        super().__init__({path: (data, REGULAR) for path, data in files.items()})
        self.asked: list[str] = []

    def read_many(self, paths: Iterable[str]) -> Mapping[str, bytes]:
        wanted = list(paths)
        self.asked += wanted
        return super().read_many(wanted)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("from shop import Money", {"Money"}),
        ("'shop.Money:parse'", {"Money"}),
        ("Moneybag = _Money = Money2 = 1", set()),
        ("café = übermoney = 1", {"café"}),
        ("# siehe→Money", {"Money"}),
        ("x = *y", set()),
        ("Money(); café; Money()", {"Money", "café"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_words_are_found_whole(text: str, said: set[str]) -> None:
    rest = Counting({"a.py": text.encode()})
    found = {path: names for path, _, names in Naming({"Money", "café"}).among(rest, ["a.py"])}
    assert found.get("a.py", set()) == said


def test_a_file_is_read_once_and_given_in_order_with_its_bytes() -> None:
    rest = Counting({"b.py": b"two one", "a.py": b"one", "c.py": b"three"})
    found = list(Naming(["one", "two"]).among(rest, ["a.py", "b.py", "c.py"]))
    assert found == [
        ("a.py", b"one", frozenset({"one"})),
        ("b.py", b"two one", frozenset({"one", "two"})),
    ]
    assert rest.asked == ["a.py", "b.py", "c.py"]
