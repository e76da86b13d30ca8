"""What `install` puts in SGLang's place, what it refuses, and how it is taken out again."""

from __future__ import annotations

import functools
import gc
import logging
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import pool_host.sglang
from pool_host.buffers import SlotError
from pool_host.sglang import AdapterError, install, installation, uninstall
from pool_host.sglang.family import digest_of_modules, read_family, record_of
from tests.pool_host.interrupts import interrupted
from tests.pool_host.sglang import standin

VERSION = "7.0"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The stand-in, as a release that was tested."""
    caches = standin.write(tmp_path / "plain", VERSION)
    record = record_of(read_family(standin.CACHES, caches))
    monkeypatch.setattr(installation, "RECORDS", {VERSION: record})
    with standin.importable(tmp_path / "plain"):
        yield tmp_path
        gc.collect()
        uninstall()


@pytest.fixture
def pools(folder: Path) -> Any:
    return standin.pools()


def slots(*each: int) -> torch.Tensor:
    return torch.tensor(each, dtype=torch.int64)


class TestPutIn:
    def test_nothing_of_sglang_is_imported_before(self, folder: Path) -> None:
        assert not [name for name in sys.modules if name.partition(".")[0] == "sglang"]
        install()
        assert "sglang.srt.mem_cache.memory_pool_host" in sys.modules

    @pytest.mark.parametrize("kind", ["HostKVCache", "RowsPool", "LogicalHostPool"])
    def test_pools_made_after_it_have_our_slots(self, pools: Any, kind: str) -> None:
        install()
        pool = getattr(pools, kind)(32, 4)
        assert pool.alloc(8).tolist() == [*range(8)]
        assert pool.alloc(36) is None
        assert pool.free(slots(3, 1, 2, 0)) == 4
        assert pool.available_size() == 28
        assert pool.free_slots.tolist() == [*range(4), *range(8, 32)]
        assert pool.slot_used.tolist() == [False] * 4 + [True] * 4 + [False] * 24
        assert (pool.release_slots, pool.num_release_slots) == ([], 0)
        assert (pool.stats().allocations, pool.stats().released_pages) == (1, 1)
        pool.clear()
        assert pool.available_size() == 32
        assert pool.mem_state.tolist() == [0] * 32

    def test_callers_see_the_slots_of_all_ranks_that_share_a_row(self, pools: Any) -> None:
        install()
        pool = pools.RowsPool(32, 4, dcp_size=2)
        assert pool.available_size() == len(pool.slot_used) == 64
        assert pool.alloc(8).tolist() == [*range(8)]
        with pytest.raises(SlotError):
            pool.alloc(4)

    def test_packed_pages_are_given_whole(self, pools: Any) -> None:
        install()
        pool = pools.DeepSeekV4PagedHostPool(8, 4)
        assert pool.alloc(5).tolist() == [*range(8)]
        assert pool.free(slots(*range(4))) == 4

    def test_states_are_single_slots(self, pools: Any) -> None:
        install()
        pool = pools.MambaPoolHost(8, 1)
        assert pool.alloc(3).tolist() == [0, 1, 2]
        assert pool.free(slots(1)) == 1
        assert pool.alloc(1).tolist() == [1]

    def test_what_sglang_takes_is_taken(self, pools: Any) -> None:
        install()
        pool = pools.LogicalHostPool(32, 4)
        assert pool.free(torch.empty(0)) == 0
        assert pool.alloc(torch.tensor(8)).tolist() == [*range(8)]
        assert pool.free(slots(*range(8)).view(2, 4)) == 8
        assert pool.alloc(0).numel() == 0

    @pytest.mark.parametrize(
        ("released", "words"),
        [
            (slots(0, 1, 2, 3, 8, 9, 10, 11), r"Double-free.*\[8, 9, 10, 11\]"),
            (slots(1, 2, 3, 8), r"Double-free.*\[8\]"),
            (slots(1, 2, 3), "whole pages"),
            (slots(0, 0, 1, 1), "repeat"),
        ],
    )
    def test_what_corrupts_is_refused(self, pools: Any, released: torch.Tensor, words: str) -> None:
        install()
        pool = pools.RowsPool(32, 4)
        pool.alloc(8)
        with pytest.raises(AssertionError, match=words):
            pool.free(released)
        assert pool.available_size() == 24

    def test_a_list_that_is_set_is_checked(self, pools: Any) -> None:
        install()
        pool = pools.RowsPool(32, 4)
        pool.alloc(8)
        pool.free_slots = torch.cat([slots(1), pool.free_slots])
        with pytest.raises(AssertionError, match=r"Double-alloc.*\[1\]"):
            pool.alloc(4)
        with pytest.raises(AttributeError, match="alloc and free"):
            pool.release_slots = [slots(1)]

    def test_an_interrupted_call_loses_nothing(self, pools: Any) -> None:
        install()
        for line in range(1_000):
            pool = pools.RowsPool(32, 4)
            held = [pool.alloc(8)]
            stopped, got = interrupted(functools.partial(pool.alloc, 4), line)
            held += [] if got is None else [got]
            used = torch.cat(held)
            assert pool.available_size() == 32 - len(used)
            assert sorted([*used.tolist(), *pool.free_slots.tolist()]) == [*range(32)]
            if not stopped:
                break
        assert line > 10


class TestWhatStays:
    def test_pools_made_before_keep_theirs(self, pools: Any) -> None:
        made = [pools.RowsPool(8, 1), pools.LogicalHostPool(8, 1), pools.MambaPoolHost(8, 1)]
        lists = [pool.free_slots for pool in made]
        install()
        for pool, listed in zip(made, lists, strict=True):
            assert pool.free_slots is listed
            assert isinstance(pool.alloc(2), list)
            pool.free(slots(1, 2))
            assert pool.available_size() == 8
            pool.clear()
            assert pool.free_slots == [*range(8)]
            with pytest.raises(RuntimeError, match="SGLang keeps"):
                pool.stats()

    def test_a_class_with_a_way_of_its_own_keeps_it(
        self, pools: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        class Loud(pools.RowsPool):  # type: ignore[misc]
            def alloc(self, need_size: int) -> Any:
                return super().alloc(need_size)

        install()
        with caplog.at_level(logging.WARNING):
            made = [Loud(8, 1), Loud(8, 1)]
        assert isinstance(made[0].alloc(1), list)
        assert [record.message for record in caplog.records] == [
            f"{Loud.__qualname__} keeps its slots itself: it has its own alloc"
        ]

    def test_attributes_that_are_not_set_are_missing(self, pools: Any) -> None:
        install()
        pool = pools.HostKVCache.__new__(pools.HostKVCache)
        with pytest.raises(AttributeError, match="free_slots"):
            _ = pool.free_slots


class TestTakenOut:
    def test_classes_are_as_they_were(self, pools: Any) -> None:
        kinds = [each for each in vars(pools).values() if isinstance(each, type)]
        before = [dict(vars(kind)) for kind in kinds]
        install()
        install()  # twice is once
        assert [dict(vars(kind)) for kind in kinds] != before
        uninstall()
        uninstall()
        assert [dict(vars(kind)) for kind in kinds] == before

    def test_living_pools_refuse_it(self, pools: Any) -> None:
        install()
        made = [pools.RowsPool(8, 1), pools.RowsPool(8, 1), pools.LogicalHostPool(8, 1)]
        with pytest.raises(AdapterError, match="1 LogicalHostPool, 2 RowsPool"):
            uninstall()
        assert made[0].alloc(1).tolist() == [0]
        made[0].itself = made[0]  # garbage only for the collector
        seen = weakref.ref(made[0])
        del made
        uninstall()
        assert seen() is None

    def test_what_was_replaced_since_refuses_it(self, pools: Any) -> None:
        install()
        ours = pools.RowsPool.alloc
        pools.HostKVCache.alloc = functools.wraps(ours)(functools.partial(ours))
        with pytest.raises(AdapterError, match=r"HostKVCache\.alloc has been replaced since"):
            uninstall()
        pools.HostKVCache.alloc = ours

    def test_an_interrupted_install_is_done_by_the_next(
        self, pools: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = dict(vars(pools.HostKVCache))
        install()
        put = [*vars(pools.HostKVCache)]
        uninstall()
        family = read_family(standin.CACHES, Path(pools.__file__).parent)
        monkeypatch.setattr(installation, "_read", lambda: family)  # its lines change nothing
        end = next(line for line in range(0, 10_000, 60) if not interrupted(install, line)[0])
        uninstall()
        for line in range(end - 160, end + 1, 3):
            interrupted(install, line)
            assert dict(vars(pools.HostKVCache)) == before or installation._installed is not None
            install()
            assert [*vars(pools.HostKVCache)] == put
            uninstall()
            assert dict(vars(pools.HostKVCache)) == before

    def test_an_interrupted_uninstall_is_done_by_the_next(self, pools: Any) -> None:
        before = dict(vars(pools.HostKVCache))
        for line in range(1_000):
            install()
            stopped, _ = interrupted(uninstall, line)
            uninstall()
            assert dict(vars(pools.HostKVCache)) == before
            if not stopped:
                break
        assert line > 30


class TestReleases:
    def change(
        self, folder: Path, version: str | None, old: str = "", new: str = "", name: str = "other"
    ) -> Path:
        base, whole = (text.replace(old, new) if old else text for text in _SOURCES)
        standin.write(folder / name, version, base, whole)
        return folder / name

    def test_another_is_refused_with_those_that_were_tested(self, folder: Path) -> None:
        with standin.importable(self.change(folder, "7.1")):
            with pytest.raises(AdapterError, match=r"7\.1 was not tested.*0\.5\.18"):
                install()
            install(untested=True)
            assert standin.pools().RowsPool(8, 1).alloc(2).tolist() == [0, 1]
            gc.collect()
            uninstall()

    @pytest.mark.parametrize("version", [VERSION, "7.1"])
    @pytest.mark.parametrize(
        ("old", "new", "words"),
        [
            ("+= self.release_slots", "+= [*self.release_slots]", "_merge_release_slots has an"),
            ("def free(self, indices)", "def free(self, indices, now=True)", "free takes"),
            ("def destroy(self):", "def destroy(self, f=lambda s: s.slot_used):", "destroy touch"),
            ("def logical_size", "def size_of_all", "logical_size is missing"),
            ("    def clear", "    @staticmethod\n    def clear", "clear has another body"),
        ],
        ids=["a body", "a signature", "one more", "one less", "a decorator"],
    )
    def test_one_that_differs_is_refused(
        self, folder: Path, version: str, old: str, new: str, words: str
    ) -> None:
        changed = self.change(folder, version, old, new)
        with standin.importable(changed), pytest.raises(AdapterError, match=words):
            install(untested=True)

    def test_a_checkout_is_known_by_its_modules(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for version in (None, "0.0.0.dev0", "7.2.dev5+gabc"):
            name = str(version)
            with standin.importable(self.change(folder, version, name=name)):
                with pytest.raises(AdapterError, match="was not tested"):
                    install()
                caches = folder / name / "sglang" / "srt" / "mem_cache"
                digest = digest_of_modules(standin.CACHES, caches)
                with monkeypatch.context() as patch:
                    patch.setattr(installation, "REVISIONS", {"abc": digest})
                    install()
                uninstall()

    def test_one_that_somebody_else_patched_is_refused(self, pools: Any) -> None:
        own = pools.HostKVCache.alloc
        pools.HostKVCache.alloc = functools.partialmethod(own)
        with pytest.raises(AdapterError, match="something else has replaced it"):
            install()

    def test_without_sglang_it_says_so(self, tmp_path: Path) -> None:
        (tmp_path / "sglang").mkdir()
        with standin.importable(tmp_path), pytest.raises(ImportError, match="sglang"):
            install()

    def test_what_would_be_hidden_refuses_it(self, folder: Path) -> None:
        changed = self.change(folder, VERSION, "def destroy", "def stats")
        with standin.importable(changed), pytest.raises(AdapterError, match="`stats` of its own"):
            install()


_SOURCES = (standin.BASE, standin.WHOLE)


def test_what_it_says_it_was_tested_with() -> None:
    assert pool_host.sglang.TESTED == ("0.5.13.post1", "0.5.18", "8ff9c2b227")
