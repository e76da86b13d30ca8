"""Page files under a size limit, with several writers, and with writers that die at any moment."""

from __future__ import annotations

import errno
import os
import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch

from hicache.pages import page_keys
from hicache.storage.base import PageFormat
from hicache.storage.envelope import HEADER_BYTES
from hicache.storage.file import HiCacheFile, page_files
from hicache.storage.folder_limit import FolderLimit

SIZE = 1000
FILE = SIZE + HEADER_BYTES
FORMAT = PageFormat("model", "limit", "torch.uint8", SIZE)
KEYS = page_keys(list(range(400)), 2)


def page(number: int) -> torch.Tensor:
    return torch.full((SIZE,), number % 256, dtype=torch.uint8)


def bytes_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*/*.page"))


def fill(storage: HiCacheFile, count: int) -> None:
    for number, key in enumerate(KEYS[:count]):
        storage.set(key, page(number))
        stamp = 10**18 + number * 10**9  # the clock of files is coarse
        os.utime(storage.path(key), ns=(stamp, stamp))


def prompt(number: int, pages: int) -> tuple[str, ...]:
    """Give the keys of a prompt that shares nothing with those of other numbers, or `KEYS`."""
    return page_keys([1000 + number] * 2 * pages, 2)


def set_in_order(storage: HiCacheFile, keys: Sequence[str], stamp: int) -> None:
    for number, key in enumerate(keys):
        storage.set(key, page(number))
        os.utime(storage.path(key), ns=(stamp + number, stamp + number))


def refuse_what_is_not_ours(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """Let nobody change or remove a file, as where it is another user's."""

    def refusing(call: Any) -> Any:
        def refused(given: Any, *others: Any, **more: Any) -> Any:
            if str(given) == path:
                raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), path)
            return call(given, *others, **more)

        return refused

    for name in ("utime", "unlink"):
        monkeypatch.setattr(os, name, refusing(getattr(os, name)))


def kept(storage: HiCacheFile) -> list[int]:
    return [number for number, key in enumerate(KEYS) if storage.exists(key)]


class TestLimit:
    def test_it_is_never_exceeded(self, tmp_path: Path) -> None:
        storage = HiCacheFile(tmp_path, FORMAT, limit_bytes=40 * FILE)
        for number, key in enumerate(KEYS):
            storage.set(key, page(number))
            assert bytes_of(tmp_path) <= 40 * FILE
        assert len(kept(storage)) >= 30

    def test_what_was_read_lately_stays(self, tmp_path: Path) -> None:
        storage = HiCacheFile(tmp_path, FORMAT, limit_bytes=32 * FILE)
        talks = [prompt(number, 4) for number in range(7)]
        for number, talk in enumerate(talks):
            set_in_order(storage, talk, 10**18 + number * 10**10)
        target = torch.zeros(SIZE, dtype=torch.uint8)
        assert all(storage.get(key, target) for key in talks[0])
        new = prompt(7, 8)
        for key in new:
            storage.set(key, page(0))
        assert storage.batch_exists(talks[0]) == 4
        assert storage.batch_exists(talks[1]) == 0
        assert storage.batch_exists(new) == 8

    def test_of_a_prefix_the_last_page_goes_first(self, tmp_path: Path) -> None:
        storage = HiCacheFile(tmp_path, FORMAT, limit_bytes=64 * FILE)
        long = prompt(0, 64)
        set_in_order(storage, long, 10**18)
        storage.set(prompt(1, 1)[0], page(1))
        left = sum(map(storage.exists, long))
        assert 50 <= left < 64
        assert storage.batch_exists(long) == left

    @pytest.mark.parametrize("seed", range(6))
    def test_whatever_was_written_and_read_all_that_is_left_can_be_used(
        self, tmp_path: Path, seed: int
    ) -> None:
        chance = random.Random(seed)  # noqa: S311
        storage = HiCacheFile(tmp_path, FORMAT, limit_bytes=48 * FILE)
        shared = [chance.randrange(9) for _ in range(8)]
        talks = [
            page_keys(shared[: chance.choice((0, 4, 8))] + [9 + number] * 30, 2)
            for number in range(12)
        ]
        target = torch.zeros(SIZE, dtype=torch.uint8)
        for _ in range(60):
            talk = chance.choice(talks)
            held = storage.batch_exists(talk)
            for key in talk[: chance.randint(0, held)]:
                storage.get(key, target)
            for number, key in enumerate(talk[held : held + chance.randint(0, 6)], held):
                if number and not storage.exists(talk[number - 1]):
                    break
                storage.set(key, page(number))
            names = {path.stem for path in tmp_path.glob("*/*.page")}
            used = {key for talk in talks for key in talk[: storage.batch_exists(talk)]}
            assert names == used
            assert bytes_of(tmp_path) <= 48 * FILE

    def test_a_prefix_longer_than_the_limit_keeps_its_head(self, tmp_path: Path) -> None:
        storage = HiCacheFile(tmp_path, FORMAT, limit_bytes=20 * FILE)
        for number, key in enumerate(KEYS):
            storage.set(key, page(number))
        left = kept(storage)
        assert left == list(range(len(left)))
        assert len(left) >= 16

    def test_a_page_whose_head_is_not_there_is_not_written(self, tmp_path: Path) -> None:
        storage = HiCacheFile(tmp_path, FORMAT, limit_bytes=20 * FILE)
        fill(storage, 3)
        storage.set(KEYS[4], page(4))
        assert kept(storage) == [0, 1, 2]
        HiCacheFile(tmp_path, FORMAT).set(KEYS[3], page(3))  # by another process, say
        storage.set(KEYS[4], page(4))
        assert kept(storage) == [0, 1, 2, 3, 4]

    def test_pages_whose_head_is_gone_are_removed(self, tmp_path: Path) -> None:
        fill(HiCacheFile(tmp_path, FORMAT), 12)
        storage = HiCacheFile(tmp_path, FORMAT, limit_bytes=100 * FILE)
        storage.path(KEYS[5]).unlink()
        storage.set(prompt(1, 1)[0], page(1))
        assert kept(storage) == list(range(5))

    def test_keys_that_follow_each_other_in_a_ring_end(self, tmp_path: Path) -> None:
        folder = HiCacheFile(tmp_path, FORMAT).folder
        one, two = "1" * 16, "2" * 16
        for own, parent in ((one, two), (two, one)):
            (folder / f"{own}{'a' * 32}{parent}.page").write_bytes(b"")
        storage = HiCacheFile(tmp_path, FORMAT, limit_bytes=4 * FILE)
        storage.set(KEYS[0], page(0))
        assert [path.stem for path in folder.glob("*.page")] == [KEYS[0]]

    def test_files_whose_names_begin_and_end_like_a_page_count_as_well(
        self, tmp_path: Path
    ) -> None:
        storage = HiCacheFile(tmp_path, FORMAT, limit_bytes=40 * FILE)
        fill(storage, 10)
        for number in range(60):  # pages after any of them would name them alike
            name = KEYS[3][:16] + f"{number:032x}" + KEYS[3][-16:]
            (storage.folder / f"{name}.page").write_bytes(bytes(FILE + number))
            os.utime(storage.folder / f"{name}.page", ns=(number, number))
        again = HiCacheFile(tmp_path, FORMAT, limit_bytes=40 * FILE)
        again.set(KEYS[10], page(10))
        assert bytes_of(tmp_path) <= 40 * FILE
        assert kept(again) == list(range(11))
        assert again.limit is not None
        assert again.limit.removed == 60

    def test_links_count_as_themselves(self, tmp_path: Path) -> None:
        storage = HiCacheFile(tmp_path / "folder", FORMAT, limit_bytes=40 * FILE)
        elsewhere = tmp_path / "elsewhere"
        elsewhere.write_bytes(bytes(100 * FILE))
        for number, target in enumerate([str(elsewhere), "nowhere", f"{'2' * 64}.page"]):
            (storage.folder / f"{str(number) * 64}.page").symlink_to(target)
        fill(storage, 20)
        assert kept(storage) == list(range(20))

    def test_a_folder_that_is_removed_while_it_is_counted_is_empty(self, tmp_path: Path) -> None:
        storage = HiCacheFile(tmp_path, FORMAT, limit_bytes=40 * FILE)
        other = HiCacheFile(tmp_path, PageFormat("other", "limit", "torch.uint8", SIZE))
        fill(other, 2)
        real = os.scandir

        def vanishing(path: Any) -> Any:
            if str(path) == str(other.folder) and other.folder.exists():
                shutil.rmtree(other.folder)
                raise FileNotFoundError(errno.ENOENT, "gone", str(path))
            return real(path)

        with mock.patch("os.scandir", vanishing):
            fill(storage, 3)
        assert kept(storage) == [0, 1, 2]

    def test_one_count_serves_a_sixteenth_of_the_limit(self, tmp_path: Path) -> None:
        storage = HiCacheFile(tmp_path, FORMAT, limit_bytes=160 * FILE)
        with mock.patch("os.scandir", side_effect=os.scandir) as counted:
            fill(storage, 100)
        assert counted.call_count == 10

    def test_pages_of_other_formats_go_first_if_they_are_older(self, tmp_path: Path) -> None:
        old = HiCacheFile(tmp_path, PageFormat("old", "limit", "torch.uint8", SIZE))
        fill(old, 20)
        new = HiCacheFile(tmp_path, FORMAT, limit_bytes=24 * FILE)
        for number in range(20):
            new.set(KEYS[number], page(number))
        assert bytes_of(tmp_path) <= 24 * FILE
        assert kept(new) == list(range(20))

    def test_a_folder_that_is_too_large_when_it_is_opened_shrinks(self, tmp_path: Path) -> None:
        fill(HiCacheFile(tmp_path, FORMAT), 50)
        HiCacheFile(tmp_path, FORMAT, limit_bytes=16 * FILE).set(KEYS[60], page(60))
        assert bytes_of(tmp_path) <= 16 * FILE

    def test_a_page_larger_than_the_limit_is_refused(self, tmp_path: Path) -> None:
        storage = HiCacheFile(tmp_path, FORMAT, limit_bytes=FILE - 1)
        with pytest.raises(OSError, match="more than the folder's limit"):
            storage.set(KEYS[0], page(0))
        assert not kept(storage)

    def test_a_limit_that_is_none_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="limit: expected a number of bytes, got 0"):
            HiCacheFile(tmp_path, FORMAT, limit_bytes=0)

    def test_files_that_vanish_meanwhile_count_as_removed(self, tmp_path: Path) -> None:
        storage = HiCacheFile(tmp_path, FORMAT, limit_bytes=16 * FILE)
        fill(storage, 16)
        unlink = os.unlink

        def twice(path: Any) -> None:
            unlink(path)
            unlink(path)

        with mock.patch("os.unlink", twice):
            storage.set(prompt(1, 1)[0], page(20))
        assert storage.exists(prompt(1, 1)[0])

    def test_files_of_another_user_are_read_and_stay(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        storage = HiCacheFile(tmp_path, FORMAT, limit_bytes=16 * FILE)
        theirs, ours = prompt(1, 6), prompt(2, 8)
        set_in_order(storage, theirs, 10**18)
        set_in_order(storage, ours, 10**18 + 100)
        foreign = str(storage.path(theirs[-1]))
        refuse_what_is_not_ours(monkeypatch, foreign)
        target = torch.zeros(SIZE, dtype=torch.uint8)
        assert storage.get(theirs[-1], target)
        assert target.tolist() == page(5).tolist()
        for number, key in enumerate(prompt(3, 6)):
            storage.set(key, page(number))
        assert bytes_of(tmp_path) <= 16 * FILE
        assert all(map(storage.exists, theirs)), "what their last page follows stays, too"
        assert storage.batch_exists(prompt(3, 6)) > 2
        storage.path(theirs[-1]).write_bytes(b"nothing of ours")
        assert not storage.get(theirs[-1], target)
        assert storage.refused == 1

    def test_threads_share_it(self, tmp_path: Path) -> None:
        limit = FolderLimit(tmp_path, 1600)

        def write() -> None:
            for _ in range(200):
                limit.make_room(1)

        threads = [threading.Thread(target=write) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert 0 <= limit._may_write < 100


class TestFullDisk:
    @pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
    @pytest.mark.parametrize("call", ["write", "replace"])
    def test_what_cannot_be_written_leaves_all_as_it_was(
        self, tmp_path: Path, call: str, code: int
    ) -> None:
        storage = HiCacheFile(tmp_path, FORMAT)
        fill(storage, 2)
        before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        fault = OSError(code, os.strerror(code))
        target = "pathlib.Path.replace" if call == "replace" else "hicache.storage.file.open"
        failing: Any = mock.MagicMock(side_effect=fault)
        if call == "write":
            failing = mock.mock_open()
            failing.return_value.write.side_effect = fault
        with mock.patch(target, failing, create=True), pytest.raises(OSError, match=fault.strerror):
            storage.set(KEYS[0], page(9))
        after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        assert after == before


# Each child writes a page over another, and dies at the n-th thing it does to the file system. The
# write of the bytes is cut into pieces, and the limit makes it remove files as well.
DYING = """\
import io, os, sys, torch
from pathlib import Path
from hicache.storage import file
from hicache.storage.base import PageFormat

folder, keys = sys.argv[1], sys.argv[2].split()
size = 1000
page_format = PageFormat("model", "limit", "torch.uint8", size)
page = torch.full((size,), 7, dtype=torch.uint8)
step = 0

def count():
    global step
    step += 1
    if step == last:
        os._exit(9)

class Pieces(io.FileIO):
    def write(self, data):
        for start in range(0, len(data), 300):
            count()
            super().write(data[start : start + 300])

def watched(event, args):
    if event in ("open", "os.rename", "os.remove", "os.utime", "os.scandir", "os.mkdir"):
        count()

file.open = lambda path, mode: Pieces(path, mode.replace("b", ""))
last = 0
ends = []
for last in range(1, 200):
    child = os.fork()
    if not child:
        sys.addaudithook(watched)
        storage = file.HiCacheFile(folder, page_format, limit_bytes=12 * (size + 112))
        for key in keys:
            storage.set(key, page)
        storage.get(keys[0], page)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    ends.append(code)
    for path, fault in file.page_files(Path(folder)):
        assert fault is None, (last, path, fault)
    if code == 0:
        break
print(len(ends), set(ends))
"""


def test_a_process_killed_between_any_two_writes_leaves_whole_pages(tmp_path: Path) -> None:
    storage = HiCacheFile(tmp_path, FORMAT)
    fill(storage, 12)
    command = [sys.executable, "-c", DYING, str(tmp_path), " ".join(KEYS[10:14])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    steps, *codes = done.stdout.split(maxsplit=1)
    assert int(steps) > 20
    assert codes == ["{0, 9}\n"]
    target = torch.zeros(SIZE, dtype=torch.uint8)
    for number, key in enumerate(KEYS[:20]):
        if storage.get(key, target):
            assert target.unique().tolist() in ([number], [7])
    assert storage.refused == 0


WRITER = """\
import sys, torch
from hicache.pages import page_keys
from hicache.storage.base import PageFormat
from hicache.storage.file import HiCacheFile

storage = HiCacheFile(
    sys.argv[1], PageFormat("model", "limit", "torch.uint8", 1000), limit_bytes=64 * 1112
)
target = torch.zeros(1000, dtype=torch.uint8)
hits = 0
for turn in range(3):
    for number, key in enumerate(page_keys(list(range(400)), 2)):
        if storage.get(key, target):
            hits += 1
            assert (target == number % 256).all()
        else:
            storage.set(key, torch.full((1000,), number % 256, dtype=torch.uint8))
assert storage.refused == 0
print(hits)
"""


def test_two_writers_share_a_folder_and_its_limit(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for writer in writers:
        _, err = writer.communicate(timeout=120)
        assert writer.returncode == 0, err
    assert bytes_of(tmp_path) <= 64 * FILE * (1 + 1 / 16)
    faults = [fault for _, fault in page_files(tmp_path)]
    assert faults
    assert not any(faults)
    assert not list(tmp_path.glob("*/*.tmp"))
