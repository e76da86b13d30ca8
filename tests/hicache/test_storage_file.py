from __future__ import annotations

import dataclasses
import errno
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
import torch

from hicache.device_pools import MLATokenToKVPool
from hicache.host_pools import host_pool_for
from hicache.pages import page_keys
from hicache.storage.base import PageFormat, digest_of_weights
from hicache.storage.envelope import encode
from hicache.storage.file import HiCacheFile, page_files
from tests.hicache.rig import Rig

if TYPE_CHECKING:
    import pool_host

FORMAT = PageFormat("model", "MHA-layer_first", "torch.float16", 64)
FIRST, SECOND = page_keys([1, 2, 3, 4], 2)


def page(number: int) -> torch.Tensor:
    return torch.full((64,), number, dtype=torch.uint8)


def read(storage: HiCacheFile, key: str) -> torch.Tensor | None:
    target = torch.zeros(64, dtype=torch.uint8)
    if storage.get(key, target):
        return target
    assert not target.any(), "a miss must leave the target as it was"
    return None


def formats_of(host: pool_host.HostKVCache, *shards: str) -> set[PageFormat]:
    return {PageFormat.of(host, "m", shard) for shard in shards}


@pytest.fixture
def storage(tmp_path: Path) -> HiCacheFile:
    storage = HiCacheFile(tmp_path, FORMAT)
    storage.set(FIRST, page(1))
    storage.set(SECOND, page(2))
    return storage


class TestPages:
    def test_what_was_set_is_read(self, storage: HiCacheFile) -> None:
        for key, number in ((FIRST, 1), (SECOND, 2)):
            found = read(storage, key)
            assert found is not None
            assert torch.equal(found, page(number))

    def test_it_is_read_into_memory_that_other_processes_share(self, storage: HiCacheFile) -> None:
        from pool_host.common import get_allocator_from_storage

        target = get_allocator_from_storage("shm").allocate((64,), torch.uint8)
        assert storage.get(SECOND, target)
        assert torch.equal(target, page(2))

    def test_what_was_not_set_is_a_miss(self, storage: HiCacheFile) -> None:
        (other,) = page_keys([9, 9], 2)
        assert read(storage, other) is None
        assert not storage.exists(other)
        assert storage.refused == 0

    def test_leading_pages_that_exist_are_counted(self, storage: HiCacheFile) -> None:
        (other,) = page_keys([9, 9], 2)
        assert storage.batch_exists([FIRST, SECOND]) == 2
        assert storage.batch_exists([FIRST, other, SECOND]) == 1
        assert storage.batch_exists([]) == 0

    def test_another_instance_reads_what_one_wrote(
        self, storage: HiCacheFile, tmp_path: Path
    ) -> None:
        found = read(HiCacheFile(tmp_path, FORMAT), FIRST)
        assert found is not None
        assert torch.equal(found, page(1))

    @pytest.mark.parametrize("key", ["", "../escape", "A" * 64, "0" * 63, "g" * 64])
    def test_a_name_that_is_no_key_is_refused(self, storage: HiCacheFile, key: str) -> None:
        with pytest.raises(ValueError, match="key: expected 64 hexadecimal digits"):
            storage.exists(key)

    @pytest.mark.parametrize(
        "wrong", [torch.zeros(63, dtype=torch.uint8), torch.zeros(64), torch.zeros(8, 8)]
    )
    def test_a_page_of_another_size_or_type_is_refused(
        self, storage: HiCacheFile, wrong: torch.Tensor
    ) -> None:
        with pytest.raises(ValueError, match=r"page: expected uint8 of shape \(64,\)"):
            storage.set(FIRST, wrong)
        with pytest.raises(ValueError, match=r"target: expected uint8 of shape \(64,\)"):
            storage.get(FIRST, wrong)


class TestDamage:
    SIZES = (0, 1, 7, 8, 50, 111, 112, 113, 175)

    @pytest.mark.parametrize("size", SIZES)
    def test_a_file_that_was_cut_off_is_refused(self, storage: HiCacheFile, size: int) -> None:
        path = storage.path(FIRST)
        path.write_bytes(path.read_bytes()[:size])
        assert not storage.exists(FIRST)
        assert read(storage, FIRST) is None
        assert storage.refused == 1

    def test_a_whole_page_of_another_size_is_refused(self, storage: HiCacheFile) -> None:
        for size in (0, 63, 65):
            storage.path(FIRST).write_bytes(encode(FIRST, FORMAT.digest, bytes(size)))
            assert read(storage, FIRST) is None
        assert storage.refused == 3

    def test_a_file_that_grew_is_refused(self, storage: HiCacheFile) -> None:
        path = storage.path(FIRST)
        path.write_bytes(path.read_bytes() + b"\0")
        assert read(storage, FIRST) is None

    def test_a_file_with_any_bit_flipped_is_refused(self, storage: HiCacheFile) -> None:
        path = storage.path(FIRST)
        whole = path.read_bytes()
        for place in range(len(whole)):
            for bit in (0, 7):
                data = bytearray(whole)
                data[place] ^= 1 << bit
                path.write_bytes(data)
                assert read(storage, FIRST) is None, place

    def test_two_files_that_were_swapped_are_refused(self, storage: HiCacheFile) -> None:
        first, second = storage.path(FIRST), storage.path(SECOND)
        one, two = first.read_bytes(), second.read_bytes()
        first.write_bytes(two)
        second.write_bytes(one)
        assert read(storage, FIRST) is None
        assert read(storage, SECOND) is None
        assert storage.refused == 2

    def test_a_bad_file_is_removed_when_it_is_read_and_replaced_when_it_is_set(
        self, storage: HiCacheFile
    ) -> None:
        path = storage.path(FIRST)
        whole = path.read_bytes()
        path.write_bytes(whole[:-1] + b"?")
        assert storage.exists(FIRST)
        assert read(storage, FIRST) is None
        assert not storage.exists(FIRST)
        path.write_bytes(whole[:-1] + b"?")
        storage.set(FIRST, page(1))
        assert path.read_bytes() == whole

    @pytest.mark.parametrize(
        "change",
        [
            {"model": "m2"},
            {"weights": "w2"},
            {"pool": "MHA-page_first"},
            {"dtype": "torch.bfloat16"},
            {"shard": "1/2"},
        ],
        ids=lambda change: next(iter(change)),
    )
    def test_another_format_neither_sees_nor_believes_the_page(
        self, storage: HiCacheFile, tmp_path: Path, change: dict[str, Any]
    ) -> None:
        other = HiCacheFile(tmp_path, dataclasses.replace(FORMAT, **change))
        assert read(other, FIRST) is None
        other.path(FIRST).write_bytes(storage.path(FIRST).read_bytes())
        assert read(other, FIRST) is None
        assert other.refused == 1


class TestFormat:
    def test_it_tells_layouts_and_dtypes_of_one_model_apart(self) -> None:
        formats = {
            PageFormat.of(Rig(layout=layout).host, "m") for layout in ("layer_first", "page_first")
        }
        assert len({found.digest for found in formats}) == 2
        assert len({found.page_bytes for found in formats}) == 1

    def test_it_tells_two_kinds_of_fp8_apart_that_are_stored_alike(self) -> None:
        rig = Rig()
        rig.device.dtype = torch.float8_e4m3fn
        one = PageFormat.of(rig.host, "m")
        rig.device.dtype = torch.float8_e5m2
        assert PageFormat.of(rig.host, "m").digest != one.digest

    def test_it_is_the_same_for_every_rank_that_names_the_same_shard(self) -> None:
        assert formats_of(Rig().host, "") == formats_of(Rig().host, "")
        assert len(formats_of(Rig().host, "0/2", "1/2")) == 2

    def test_a_rank_that_names_no_shard_has_its_own(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("RANK", raising=False)
        assert PageFormat.of(Rig().host, "m").shard == "0/1"
        found = set()
        for rank in range(3):
            monkeypatch.setenv("RANK", str(rank))
            monkeypatch.setenv("WORLD_SIZE", "3")
            found |= {PageFormat.of(Rig().host, "m"), PageFormat("m", "p", "d", 1)}
        assert len({one.digest for one in found}) == 6
        with (
            mock.patch("torch.distributed.is_initialized", return_value=True),
            mock.patch("torch.distributed.get_rank", return_value=5),
            mock.patch("torch.distributed.get_world_size", return_value=8),
        ):
            assert PageFormat.of(Rig().host, "m").shard == "5/8"

    def test_ranks_share_the_pages_that_each_keeps_whole(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pool = MLATokenToKVPool(16, 4, torch.float32, 8, 4, 2)
        formats = set()
        for rank in range(2):
            monkeypatch.setenv("RANK", str(rank))
            formats.add(PageFormat.of(host_pool_for(pool), "m"))
        assert len(formats) == 1
        assert PageFormat.of(host_pool_for(pool), "m", "0/2") not in formats

    def test_it_tells_weights_of_one_model_apart(self) -> None:
        weights = {"w": torch.zeros(2, 3, dtype=torch.bfloat16), "b": torch.tensor(1.5)}
        name = digest_of_weights(weights)
        assert digest_of_weights(dict(reversed(weights.items()))) == name
        others: list[dict[str, torch.Tensor]] = [
            {**weights, "b": torch.tensor(2.5)},
            {**weights, "w": torch.zeros(3, 2, dtype=torch.bfloat16)},
            {**weights, "w": torch.zeros(2, 3, dtype=torch.float16)},
            {"w": weights["w"], "c": weights["b"]},
        ]
        names = {digest_of_weights(other) for other in others}
        assert len(names | {name}) == 5
        host = Rig().host
        formats = {PageFormat.of(host, "m", weights=one).digest for one in names}
        assert len(formats) == 4


class TestWriting:
    def test_a_full_disk_leaves_no_file_behind(self, storage: HiCacheFile) -> None:
        (key,) = page_keys([5, 5], 2)
        before = sorted(storage.folder.iterdir())
        with (
            mock.patch.object(Path, "replace", side_effect=OSError(28, "No space left")),
            pytest.raises(OSError, match="No space left"),
        ):
            storage.set(key, page(5))
        assert sorted(storage.folder.iterdir()) == before

    def test_old_drafts_are_swept_and_fresh_ones_left(self, tmp_path: Path) -> None:
        folder = HiCacheFile(tmp_path, FORMAT).folder
        old, fresh = folder / "old.tmp", folder / "fresh.tmp"
        old.touch()
        fresh.touch()
        os.utime(old, (0, 0))
        HiCacheFile(tmp_path, FORMAT)
        assert not old.exists()
        assert fresh.exists()

    def test_what_the_format_is_can_be_read(self, storage: HiCacheFile) -> None:
        table = json.loads((storage.folder / "format.json").read_bytes())
        assert PageFormat(**table) == FORMAT


class TestFaultsOfTheFolder:
    """What stands in place of a page, or happens to its folder, while a cache is at work."""

    def test_no_descriptor_is_left_open_by_what_is_no_file(
        self, storage: HiCacheFile, tmp_path: Path
    ) -> None:
        storage.path(FIRST).unlink()
        storage.path(FIRST).mkdir()
        opened = Path("/proc/self/fd")
        if not opened.is_dir():
            pytest.skip("this system does not say which descriptors are open")
        before = len(list(opened.iterdir()))
        for _ in range(5):
            assert read(storage, FIRST) is None
            list(page_files(tmp_path))
        assert len(list(opened.iterdir())) == before

    def test_what_is_no_file_is_a_miss_at_once(
        self, storage: HiCacheFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(storage.folder)  # the name of a socket must be short

        def socket_at(path: Path) -> None:
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(path.name)

        kinds: dict[str, Callable[[Path], None]] = {
            "pipe": os.mkfifo,
            "folder": Path.mkdir,
            "ring of links": lambda path: path.symlink_to(path.name),
            "link to a device": lambda path: path.symlink_to("/dev/zero"),
            "link to a folder": lambda path: path.symlink_to(tmp_path),
            "socket": socket_at,
        }
        for number, make in enumerate(kinds.values(), 1):
            path = storage.path(FIRST)
            path.unlink(missing_ok=True)
            make(path)
            assert not storage.exists(FIRST)
            assert read(storage, FIRST) is None
            assert storage.refused == number
            if path.is_dir():  # it is left, and refused each time
                path.rmdir()
            storage.set(FIRST, page(1))
            assert read(storage, FIRST) is not None

    def test_a_link_to_a_page_is_believed_as_the_page(
        self, storage: HiCacheFile, tmp_path: Path
    ) -> None:
        elsewhere = tmp_path / "elsewhere"
        storage.path(FIRST).rename(elsewhere)
        storage.path(FIRST).symlink_to(elsewhere)
        assert storage.exists(FIRST)
        assert read(storage, FIRST) is not None
        elsewhere.write_bytes(storage.path(SECOND).read_bytes())
        assert read(storage, FIRST) is None
        assert elsewhere.exists()  # it is the link that is removed

    def test_of_a_file_that_is_longer_than_a_page_no_more_is_read(
        self, storage: HiCacheFile
    ) -> None:
        os.truncate(storage.path(FIRST), 1 << 40)  # with a hole: it takes no room
        assert not storage.exists(FIRST)
        assert read(storage, FIRST) is None
        assert storage.refused == 1

    @pytest.mark.parametrize("limit", [None, 100_000])
    def test_a_folder_that_was_removed_is_made_again(
        self, tmp_path: Path, limit: int | None
    ) -> None:
        storage = HiCacheFile(tmp_path, FORMAT, limit_bytes=limit)
        storage.set(FIRST, page(1))
        shutil.rmtree(storage.folder)
        assert not storage.exists(FIRST)
        assert read(storage, FIRST) is None
        storage.set(FIRST, page(3))
        found = read(storage, FIRST)
        assert found is not None
        assert torch.equal(found, page(3))
        assert all(fault is None for _, fault in page_files(tmp_path))
        assert storage.refused == 0

    @pytest.mark.parametrize("limit", [None, 100_000])
    def test_where_all_of_it_was_removed_writing_fails_and_reading_misses(
        self, tmp_path: Path, limit: int | None
    ) -> None:
        storage = HiCacheFile(tmp_path / "disk", FORMAT, limit_bytes=limit)
        storage.set(FIRST, page(1))
        shutil.rmtree(tmp_path / "disk")  # or nothing is mounted there any more
        assert read(storage, FIRST) is None
        with pytest.raises(FileNotFoundError):
            storage.set(FIRST, page(1))
        assert not (tmp_path / "disk").exists()

    def test_a_draft_that_another_process_swept_is_written_again(
        self, storage: HiCacheFile, tmp_path: Path
    ) -> None:
        (key,) = page_keys([5, 5], 2)
        real = Path.replace
        jumped: list[Path] = []

        def after_a_jump_of_the_clock(draft: Path, target: Path) -> Path:
            if not jumped:
                jumped.append(draft)
                with mock.patch("time.time", return_value=time.time() + 7200):
                    HiCacheFile(tmp_path, FORMAT)
                assert not draft.exists()
            return real(draft, target)

        with mock.patch.object(Path, "replace", after_a_jump_of_the_clock):
            storage.set(key, page(5))
        assert read(storage, key) is not None
        assert not list(storage.folder.glob("*.tmp"))

    def test_drafts_that_cannot_be_swept_are_left(self, tmp_path: Path) -> None:
        folder = HiCacheFile(tmp_path, FORMAT).folder
        (folder / "folder.tmp").mkdir()
        (folder / "ring.tmp").symlink_to("ring.tmp")
        os.utime(folder / "folder.tmp", (0, 0))
        HiCacheFile(tmp_path, FORMAT).set(FIRST, page(1))
        assert (folder / "folder.tmp").exists()

    @pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.ENOSPC])
    def test_the_first_fault_is_told_where_the_draft_cannot_be_removed_either(
        self, storage: HiCacheFile, number: int
    ) -> None:
        whole = storage.path(FIRST).read_bytes()
        with (
            mock.patch.object(Path, "replace", side_effect=OSError(number, "the first")),
            mock.patch.object(Path, "unlink", side_effect=OSError(errno.EROFS, "the second")),
            pytest.raises(OSError, match="the first"),
        ):
            storage.set(FIRST, page(7))
        assert storage.path(FIRST).read_bytes() == whole

    @pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.ESTALE])
    def test_a_page_that_cannot_be_read_is_no_miss_and_stays(
        self, storage: HiCacheFile, number: int
    ) -> None:
        target = torch.zeros(64, dtype=torch.uint8)
        with (
            mock.patch("os.open", side_effect=OSError(number, "fault")),
            pytest.raises(OSError, match="fault"),
        ):
            storage.get(FIRST, target)
        assert not target.any()
        assert storage.refused == 0
        assert read(storage, FIRST) is not None


WRITER = """\
import sys, torch
from hicache.pages import page_keys
from hicache.storage.base import PageFormat
from hicache.storage.file import HiCacheFile

storage = HiCacheFile(sys.argv[1], PageFormat("model", "big", "torch.uint8", 1 << 16))
print("ready", flush=True)
while True:
    for number, key in enumerate(page_keys(list(range(40)), 2)):
        storage.path(key).unlink(missing_ok=True)
        storage.set(key, torch.full((1 << 16,), number, dtype=torch.uint8))
"""


def test_two_processes_share_a_folder_and_one_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    keys = page_keys(list(range(40)), 2)
    target, hits = torch.zeros(1 << 16, dtype=torch.uint8), 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        storage = HiCacheFile(tmp_path, PageFormat("model", "big", "torch.uint8", 1 << 16))
        stop = time.monotonic() + 0.5
        while time.monotonic() < stop:
            for number, key in enumerate(keys):
                if storage.get(key, target):
                    hits += 1
                    assert (target == number).all()
                elif number % 2:
                    storage.set(key, torch.full((1 << 16,), number, dtype=torch.uint8))
        writer.kill()
    assert hits
    assert storage.refused == 0
    assert all(fault is None for _, fault in page_files(tmp_path))


class TestOddEntries:
    def test_each_is_named_and_the_rest_is_checked(
        self, storage: HiCacheFile, tmp_path: Path
    ) -> None:
        folder = storage.folder
        (tmp_path / "notes.page").write_text("no folder")
        (folder / f"{'1' * 64}.page").mkdir()
        (folder / f"{'2' * 64}.page").symlink_to("nowhere")
        os.mkfifo(folder / f"{'3' * 64}.page")
        (folder / "name.page").write_bytes(b"")
        for number, text in enumerate(
            ["", "[]", "{}", '{"page_bytes": "many"}', "[" * 100_000, "\udcff"]
        ):
            other = tmp_path / f"other{number}"
            other.mkdir()
            (other / "format.json").write_bytes(text.encode("utf-8", "surrogateescape"))
            (other / f"{'4' * 64}.page").write_bytes(b"")
        (tmp_path / "without").mkdir()
        (tmp_path / "without" / f"{'5' * 64}.page").write_bytes(b"")
        (tmp_path / "odd").mkdir()
        (tmp_path / "odd" / "format.json").mkdir()
        (tmp_path / "odd" / f"{'5' * 64}.page").write_bytes(b"")
        faults = {
            str(path.relative_to(folder.parent)): fault for path, fault in page_files(tmp_path)
        }
        own = {
            name.partition("/")[2][:4]: fault
            for name, fault in faults.items()
            if folder.name in name
        }
        assert own["1111"] == "cannot be read: Is a directory"
        assert own["2222"] == "a link that leads nowhere"
        assert own["3333"] == "cannot be read: no regular file"
        assert own["name"] == "not named by a key"
        assert list(faults.values()).count(None) == 2
        assert sum("format.json" in (fault or "") for fault in faults.values()) == 8

    def test_what_cannot_be_read_is_a_fault_of_its_own(
        self, storage: HiCacheFile, tmp_path: Path
    ) -> None:
        real = os.open

        def refusing(path: Any, *args: Any) -> int:
            if str(path) == str(storage.path(FIRST)):
                raise PermissionError(13, "Permission denied")
            return real(path, *args)

        with mock.patch("os.open", refusing):
            faults = dict(page_files(tmp_path))
        assert faults == {
            storage.path(FIRST): "cannot be read: Permission denied",
            storage.path(SECOND): None,
        }

    def test_a_file_that_is_longer_than_a_page_is_not_read_whole(
        self, storage: HiCacheFile, tmp_path: Path
    ) -> None:
        os.truncate(storage.path(FIRST), 1 << 40)  # with a hole: it takes no room
        faults = dict(page_files(tmp_path))
        assert faults == {storage.path(FIRST): "65 bytes of 64", storage.path(SECOND): None}

    def test_a_folder_that_nobody_may_write_to_is_checked_and_left_as_it_is(
        self, storage: HiCacheFile, tmp_path: Path
    ) -> None:
        paths = [tmp_path, storage.folder, *storage.folder.iterdir()]
        before = [(path, path.stat().st_mtime_ns) for path in paths]
        modes = {path: path.stat().st_mode for path in paths}
        for path in reversed(paths):
            path.chmod(0o555 if path.is_dir() else 0o444)
        try:
            assert all(fault is None for _, fault in page_files(tmp_path))
            assert [(path, path.stat().st_mtime_ns) for path in paths] == before
        finally:
            for path in paths:
                path.chmod(modes[path])
