"""Hostile input: what would take for ever elsewhere is judged in time, or said to be too much."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

from tests.verify.kernel.trees import judge
from verify.kernel import CERTIFIED, RESIDUAL, UNKNOWN, door

F = "def f():\n    return 1\n"
FROM = "from .{} import f\n\nf()\n"


def test_a_chain_of_guards_does_not_grow_beyond_its_length() -> None:
    base = {"m0.py": "x = 1\ny = 1\n"}
    for n in range(1, 30):
        source = f"m{n - 1}"
        base[f"m{n}.py"] = (
            f"try:\n    from {source} import x\nexcept ImportError:\n    from {source} import x\n"
        )
    target = {**base, "m0.py": "from q import x\n\ny = 1\n", "q.py": "x = 1\n"}
    assert judge(base, target).verdict == CERTIFIED


def test_many_questions_are_too_many_paths_and_still_an_answer() -> None:
    tests = "".join(f"if other.f{n}():\n    X{n} = 1\n" for n in range(20))
    text = f"import other\n\n\ndef all_of():\n    {tests.replace(chr(10), chr(10) + '    ')}\n"
    base = {"a.py": f"{text}\n\nall_of()\n\n\ndef f():\n    return 1\n"}
    target = {"a.py": f"{text}\n\nall_of()\n", "b.py": "def f():\n    return 1\n"}
    assert judge(base, target).verdict == CERTIFIED


def test_a_loop_without_end_is_not_followed() -> None:
    text = "def spin():\n    while True:\n        pass\n\n\nspin()\n"
    assert judge({"a.py": f"{text}X = 1\n"}, {"a.py": text, "b.py": "X = 1\n"}).verdict


def test_a_statement_that_nests_too_deeply_is_unknown() -> None:
    deep = "x = " + "-" * 30_000 + "1\n"
    assert judge({"a.py": "x = 1\n"}, {"a.py": deep}).verdict == UNKNOWN


def test_a_path_that_is_no_text_is_looked_at_like_any_other() -> None:
    place = "caf\udce9"
    user = f"{place}/u.py"
    lists = (
        'import os, importlib\nfor p in os.listdir("x"):\n    importlib.import_module("a." + p)\n'
    )
    base = {f"{place}/m.py": F + "\n\nX = 1\n", user: FROM.format("m"), f"{place}/w.py": lists}
    target = {**base, f"{place}/m.py": "X = 1\n", f"{place}/n.py": F}
    assert judge(base, target).verdict == RESIDUAL
    del base[f"{place}/w.py"], target[f"{place}/w.py"]
    assert judge(base, {**target, user: FROM.format("n")}).verdict == CERTIFIED


class Data:
    """The shared files of a tree that holds more data than code."""

    files = MappingProxyType(
        {f"data/{n}.bin": b"\0" * 100_000 for n in range(600)} | {"notes.txt": b"x" * 5_000}
    )

    def __init__(self) -> None:
        self.most = 0  # files that were asked for at once

    def paths(self) -> Collection[str]:
        return self.files.keys()

    def read_many(self, paths: Iterable[str]) -> Mapping[str, bytes]:
        wanted = list(paths)
        self.most = max(self.most, len(wanted))
        return {path: self.files[path] for path in wanted}

    def links(self) -> Mapping[str, bytes]:
        return {}


def test_of_shared_files_that_are_no_text_the_beginning_alone_is_kept() -> None:
    rest = Data()
    kept = door._shared(rest)
    assert kept.keys() == rest.files.keys()
    assert sum(map(len, kept.values())) == 600 * door.HEAD + 5_000
    assert rest.most == door.AT_ONCE
