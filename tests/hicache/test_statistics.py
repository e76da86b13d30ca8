from __future__ import annotations

import math
import random
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from hicache.cache_controller import HiCacheController
from hicache.device_pools import DSATokenToKVPool, MHATokenToKVPool, PagedTokenToKVPoolAllocator
from hicache.host_pools import host_pool_for, io_backend_for
from hicache.pages import page_slots
from hicache.statistics import KINDS, LatencyHistogram, Moved, TransferStats, count_runs
from hicache.transfers import Transfer
from tests.effort import examples
from tests.hicache.rig import HandWorker, Rig

PAGE = 4


class CountedCopies(TorchDispatchMode):
    """Counts what is copied into memory of given buffers: stretches, and rows by index."""

    def __init__(self, buffers: list[torch.Tensor]) -> None:
        super().__init__()
        self._ranges = [
            (buffer.untyped_storage().data_ptr(), buffer.untyped_storage().nbytes())
            for buffer in buffers
        ]
        self.stretches = self.gathers = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if args and isinstance(args[0], torch.Tensor) and self._is_ours(args[0]):
            self.stretches += func is torch.ops.aten.copy_.default
            self.gathers += func is torch.ops.aten.index_put_.default
        return func(*args, **(kwargs or {}))

    def _is_ours(self, tensor: torch.Tensor) -> bool:
        start = tensor.untyped_storage().data_ptr()
        return any(first <= start < first + size for first, size in self._ranges)


class Copies:
    """A device pool of a family and its host pool, whose copies are counted as they are made."""

    def __init__(self, family: str, layout: str, io_backend: str) -> None:
        size = 12 * PAGE
        self.device: MHATokenToKVPool | DSATokenToKVPool = (
            MHATokenToKVPool(size, PAGE, torch.float32, 2, 4, 3)
            if family == "mha"
            else DSATokenToKVPool(size, PAGE, torch.bfloat16, 16, 8, 3)
        )
        self.host = host_pool_for(self.device, layout=layout)
        self.workers: dict[str, HandWorker[Any]] = {}
        self.controller = HiCacheController(
            PagedTokenToKVPoolAllocator(self.device),
            self.host,
            io_backend=io_backend,
            worker=self._worker,
        )

    def _worker(self, name: str, handle: Any, ended: Any) -> HandWorker[Any]:
        self.workers[name.removeprefix("hicache-")] = HandWorker(name, handle, ended)
        return self.workers[name.removeprefix("hicache-")]

    def buffers(self, kind: str) -> list[torch.Tensor]:
        if kind == "write":
            pools = [entry.host_pool for entry in getattr(self.host, "entries", ())] or [self.host]
            return [buffer for pool in pools for _, buffer in pool.buffers.parts]
        names = ("k_buffer", "v_buffer", "kv_buffer", "index_k_with_scale_buffer")
        return [buffer for name in names for buffer in getattr(self.device, name, ())]

    def made(self, kind: str, host: list[int], device: list[int]) -> CountedCopies:
        """Make a transfer between chosen pages and count its copies."""
        transfer: Any
        host_indices, device_indices = page_slots(host, PAGE), page_slots(device, PAGE)
        if kind == "write":
            transfer = Transfer("write", host_indices, device_indices)
        else:
            from hicache.transfers import Load

            transfer = Load(host_indices, device_indices, self.device.layer_num)
        self.controller._start(self.workers[kind], transfer)
        counted = CountedCopies(self.buffers(kind))
        with counted:
            self.workers[kind].run()
        assert self.controller.finished() == [transfer]
        assert transfer.error is None
        return counted


PAGES = st.integers(1, 8).flatmap(
    lambda count: st.tuples(
        *(
            st.lists(st.integers(1, 12), min_size=count, max_size=count, unique=True)
            for _ in range(2)
        )
    )
)


class TestRuns:
    @pytest.mark.parametrize(
        ("sides", "runs"),
        [
            (([],), 0),
            (([], []), 0),
            (([7],), 1),
            (([1, 2, 3],), 1),
            (([3, 2, 1],), 3),
            (([1, 2, 5, 6], [4, 5, 6, 7]), 2),
            (([1, 2, 3, 4], [4, 5, 8, 9]), 2),
            (([1, 2, 4, 5], [1, 2, 3, 5]), 3),
        ],
    )
    def test_a_run_steps_by_one_on_every_side(self, sides: Any, runs: int) -> None:
        assert count_runs(*sides) == runs

    @pytest.mark.parametrize("kind", ["write", "load"])
    @pytest.mark.parametrize("layout", ["layer_first", "page_first", "page_first_direct"])
    @pytest.mark.parametrize("family", ["mha", "dsa"])
    def test_the_statistics_count_the_copies_that_are_made(
        self, family: str, layout: str, kind: str
    ) -> None:
        chance = random.Random(0)  # noqa: S311  pages, not secrets
        for io_backend in {io_backend_for(layout), "direct"} - (
            {"direct"} if layout == "page_first" else set()
        ):
            copies = Copies(family, layout, io_backend)
            before = 0
            for count in (1, 2, 5, 8):
                sides = [sorted(chance.sample(range(1, 13), count)) for _ in range(2)]
                chance.shuffle(sides[0])
                counted = copies.made(kind, *sides)
                made = counted.stretches if io_backend == "direct" else counted.gathers
                now = copies.controller.stats.summary()[kind].copies
                assert now - before == made > 0
                before = now
            copies.controller.close()
            copies.host.destroy()

    @settings(max_examples=examples(25))
    @given(PAGES)
    def test_one_layer_and_buffer_is_copied_by_as_many_copies_as_there_are_runs(
        self, sides: tuple[list[int], list[int]]
    ) -> None:
        copies = Copies("mha", "layer_first", "direct")
        for number, kind in enumerate(("write", "load"), 1):
            counted = copies.made(kind, *sides)
            runs = copies.controller.stats.summary()[kind].runs
            assert counted.stretches == runs * copies.device.layer_num * 2
            assert number == len(copies.controller.stats.moved)
        copies.host.destroy()

    def test_storage_is_handed_one_page_after_another(self) -> None:
        rig = Rig(host_pages=24)  # an eighth of them at once
        rig.add([1, 2, 3, 4, 5, 6])
        backup = rig.controller.stats.summary()["backup"]
        assert rig.storage is not None
        assert backup.pages == backup.copies == len(rig.storage.pages) == 3
        assert backup.runs == 1


class TestTimes:
    @given(st.lists(st.floats(0, 2000), min_size=1, max_size=60), st.sampled_from([0.5, 0.99, 1.0]))
    def test_a_quantile_is_never_too_low_and_at_most_a_ninth_too_high(
        self, times: list[float], share: float
    ) -> None:
        histogram = LatencyHistogram()
        for seconds in times:
            histogram.add(seconds)
        exact = sorted(times)[math.ceil(share * len(times)) - 1]
        found = histogram.quantile(share)
        assert exact * (1 - 1e-9) <= found <= max(exact * 2 ** (1 / 8) * (1 + 1e-9), 1e-6)
        assert histogram.max == max(times)
        assert math.isclose(histogram.total, sum(times))

    def test_without_times_all_is_nought(self) -> None:
        assert LatencyHistogram().quantile(0.99) == LatencyHistogram().max == 0

    def test_a_time_beyond_the_last_bucket_is_counted_in_it(self) -> None:
        histogram = LatencyHistogram()
        histogram.add(1e9)
        assert histogram.quantile(0.5) < histogram.max == 1e9
        assert [count for _, count in histogram.octaves()][-1] == 1

    def test_octaves_count_all_that_do_not_exceed_them(self) -> None:
        histogram = LatencyHistogram()
        times = [1e-7, 1e-6, 1.5e-6, 3e-6, 1e-3, 2.0]
        for seconds in times:
            histogram.add(seconds)
        edges = list(histogram.octaves())
        assert [count for _, count in edges] == sorted(count for _, count in edges)
        for edge, count in edges:
            assert count == sum(seconds <= edge * (1 + 1e-9) for seconds in times)

    def test_a_negative_time_is_refused(self) -> None:
        with pytest.raises(ValueError, match="seconds: expected 0 or more"):
            LatencyHistogram().add(-1e-9)

    def test_what_is_kept_does_not_grow(self) -> None:
        stats = TransferStats()
        sizes = set()
        for number in range(2000):
            stats.record("write", Moved(1, 1, 1, 8), number * 1e-4)
            if number % 500 == 0:
                sizes.add(len(stats.summary()["write"].octaves))
        assert len(sizes) == 1

    def test_a_transfer_knows_how_long_it_took(self) -> None:
        rig = Rig(storage=False)
        transfer = rig.controller.write(rig.compute([1, 2]))
        assert transfer is not None
        assert transfer.seconds == 0
        rig.run_all()
        assert rig.controller.finished() == [transfer]
        summary = rig.controller.stats.summary()["write"]
        assert 0 < transfer.seconds == summary.max == summary.seconds
        assert summary.p50 == summary.p99 == summary.max


class TestKinds:
    def test_all_are_there_from_the_start(self) -> None:
        summary = TransferStats().summary()
        assert tuple(summary) == KINDS
        assert not any(any(list(entry.as_dict().values())) for entry in summary.values())

    def test_what_failed_arrived_nowhere(self) -> None:
        rig = Rig(storage=False)
        rig.controller.write(rig.compute([1, 2]))
        rig.workers["write"].run(failing=True)
        rig.controller.finished()
        summary = rig.controller.stats.summary()["write"]
        assert (summary.transfers, summary.failed, summary.pages, summary.copies) == (1, 1, 0, 0)

    def test_a_prefetch_counts_the_pages_that_arrived(self) -> None:
        rig = Rig()
        rig.add([1, 2, 3, 4])
        assert rig.storage is not None
        keys = [*rig.storage.pages, "0" * 64]
        rig.controller.prefetch(keys)
        rig.run_all()
        rig.controller.finished()
        summary = rig.controller.stats.summary()["prefetch"]
        assert summary.pages == summary.copies == 2
        assert summary.bytes == 2 * 2 * rig.host.size_per_token
