from __future__ import annotations

import contextlib
import hashlib
import re
import stat
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.errors import Refusal
from transforms.result.changes import EXECUTABLE, REGULAR
from transforms.tree import WheelTree, wheel

FILES = {"pkg/__init__.py": b"", "pkg/module.py": b"import old\n", "pkg-1.dist-info/RECORD": b"x"}


def member(name: str, mode: int = 0o644, kind: int = stat.S_IFREG) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (kind | mode) << 16
    return info


def build(path: Path, members: list[tuple[zipfile.ZipInfo, bytes]]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for info, data in members:
            archive.writestr(info, data, zipfile.ZIP_DEFLATED)
    return path


def good(tmp_path: Path) -> Path:
    members = [(member(name), data) for name, data in FILES.items()]
    members.append((member("pkg-1.data/scripts/run", 0o755), b"#!python\n"))
    members.append((member("pkg/", 0o755, stat.S_IFDIR), b""))
    return build(tmp_path / "pkg-1-py3-none-any.whl", members)


def test_a_wheel_is_a_tree(tmp_path: Path) -> None:
    path = good(tmp_path)
    with WheelTree(path, hashlib.sha256(path.read_bytes()).hexdigest().upper()) as tree:
        assert tree.label == "pkg-1-py3-none-any.whl"
        assert dict(tree.entries()) == {
            "pkg-1.data/scripts/run": EXECUTABLE,
            "pkg-1.dist-info/RECORD": REGULAR,
            "pkg/__init__.py": REGULAR,
            "pkg/module.py": REGULAR,
        }
        assert list(tree.entries()) == sorted(tree.entries())
        assert tree.read_many(FILES) == FILES
        assert tree.search(re.compile(rb"import old")) == ["pkg/module.py"]
        with pytest.raises(Refusal, match="no such file"):
            tree.read("pkg/")


def test_another_hash_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="SHA-256") as caught:
        WheelTree(good(tmp_path), "0" * 64)
    assert caught.value.kind == "wrong-hash"


NAMES = {
    "climbs": "../evil.py",
    "climbs inside": "pkg/../../evil.py",
    "is absolute": "/etc/evil.py",
    "has a backslash": "pkg\\..\\evil.py",
    "is in the repository": ".git/hooks/post-checkout",
    "has an escape sequence": "pkg/\x1b[2J.py",
    "has an empty segment": "pkg//evil.py",
    "is a folder that climbs": "../evil/",
    "hides behind a NUL": "pkg/good.py\0/../../evil",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_name_is_refused_that(tmp_path: Path, name: str) -> None:
    info = member("placeholder")
    info.filename = info.orig_filename = name
    path = build(tmp_path / "w.whl", [(info, b"")])
    with pytest.raises(Refusal) as caught:
        WheelTree(path)
    assert caught.value.kind == "unsafe-path"


BAD_MEMBERS = {
    "stands in it twice": [(member("a.py"), b"1"), (member("a.py"), b"2")],
    "is a file and a directory": [(member("a"), b"1"), (member("a/b.py"), b"2")],
    "is a symbolic link": [(member("a.py", 0o777, stat.S_IFLNK), b"/etc/passwd")],
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(("cause", "members"), BAD_MEMBERS.items(), ids=BAD_MEMBERS)
def test_a_member_is_refused_that(tmp_path: Path, cause: str, members: list) -> None:
    with pytest.raises(Refusal, match=cause) as caught:
        WheelTree(build(tmp_path / "w.whl", members))
    assert caught.value.kind == "bad-archive"


def encrypt(data: bytes) -> bytes:
    at = data.index(b"PK\x01\x02")
    return data[: at + 8] + b"\x01" + data[at + 9 :]


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def garble(data: bytes) -> bytes:
    at = data.index(b"pkg/module.py") + len(b"pkg/module.py") + 2
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


def be_text(_data: bytes) -> bytes:
    return b"<html>404</html>"


def be_empty(_data: bytes) -> bytes:
    return b""


DAMAGE = {
    "encrypted": encrypt,
    "cut short": cut,
    "garbled": garble,
    "not an archive": be_text,
    "empty": be_empty,
}


def read_all(path: Path) -> None:
    with WheelTree(path) as tree:
        tree.read_many(tree.entries())


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_wheel_is_refused_that_is(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    path = good(tmp_path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(Refusal) as caught:
        read_all(path)
    assert caught.value.kind == "bad-archive"


def test_a_wheel_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="No such file") as caught:
        WheelTree(tmp_path / "none.whl")
    assert caught.value.kind == "no-such-file"


LIMITS = {"MOST_FILES": 2, "MOST_FILE_BYTES": 8, "MOST_BYTES": 16}


@pytest.mark.parametrize(("name", "limit"), LIMITS.items(), ids=LIMITS)
def test_a_bomb_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, limit: int
) -> None:
    monkeypatch.setattr(wheel, name, limit)
    with pytest.raises(Refusal) as caught:
        read_all(good(tmp_path))
    assert caught.value.kind == "too-large"


def test_a_member_that_is_larger_than_it_says_is_refused(tmp_path: Path) -> None:
    path = build(tmp_path / "w.whl", [(member("bomb.py"), b"0" * 1_000_000)])
    raw = bytearray(path.read_bytes())
    at = raw.index(b"PK\x01\x02")
    raw[at + 24 : at + 28] = (10).to_bytes(4, "little")
    path.write_bytes(bytes(raw))
    with pytest.raises(Refusal) as caught:
        read_all(path)
    assert caught.value.kind == "bad-archive"


def test_an_unusual_compression_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "w.whl", "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("a.py", b"x" * 100)
    with pytest.raises(Refusal, match="unusual way"):
        WheelTree(tmp_path / "w.whl")


@pytest.mark.filterwarnings("ignore:Duplicate name")
@given(st.lists(st.tuples(st.integers(0), st.integers(0, 255)), min_size=1, max_size=8))
def test_damage_is_refused_and_never_a_fault(damage: list[tuple[int, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = good(Path(folder))
        data = bytearray(path.read_bytes())
        for at, byte in damage:
            data[at % len(data)] = byte
        path.write_bytes(bytes(data))
        with contextlib.suppress(Refusal):
            read_all(path)


def test_nothing_is_unpacked(tmp_path: Path) -> None:
    path = good(tmp_path)
    read_all(path)
    assert list(tmp_path.iterdir()) == [path]
