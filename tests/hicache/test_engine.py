"""A request's tokens do not depend on what was cached, where, or what became of the files."""

from __future__ import annotations

import errno
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch

import pool_host
import pool_host.group as pools
from hicache.cache_controller import HiCacheController
from hicache.decoder import Decoder, DecoderConfig
from hicache.device_pools import MHATokenToKVPool, PagedTokenToKVPoolAllocator
from hicache.engine import Engine, OutOfPages
from hicache.host_pools import host_pool_for, io_backend_for
from hicache.radix_tree import HiRadixCache
from hicache.storage.base import PageFormat
from hicache.storage.file import HiCacheFile
from hicache.transfers import TransferError

PAGE = 4
NEW = 5
MODELS = {name: Decoder(DecoderConfig(name, layers=2)) for name in ("mha", "mla", "dsa")}


def prompt(length: int, seed: int = 0) -> list[int]:
    tokens = random.Random(seed)  # noqa: S311  a prompt, not a secret
    return [tokens.randrange(256) for _ in range(length)]


PROMPT = prompt(3 * PAGE + 2)


class Machine:
    """A decoder with fresh pools; `folder` is what stays of the machine before."""

    def __init__(
        self,
        decoder: Decoder,
        folder: Path | None = None,
        *,
        dtype: torch.dtype = torch.float32,
        layout: str = "page_first",
        pages: int = 8,
        ratio: float = 2.0,
    ) -> None:
        pool = decoder.device_pool(pages * PAGE, PAGE, dtype)
        self.allocator = PagedTokenToKVPoolAllocator(pool)
        self.host: pool_host.HostKVCache | pools.HostPoolGroup = host_pool_for(
            pool, layout=layout, ratio=ratio
        )
        page_format = PageFormat.of(self.host, decoder.config.name)
        self.storage = None if folder is None else HiCacheFile(folder, page_format)
        self.controller = HiCacheController(
            self.allocator, self.host, io_backend=io_backend_for(layout), storage=self.storage
        )
        self.cache = HiRadixCache(self.controller)
        self.engine = Engine(decoder, self.allocator, self.cache)

    def leaks(self) -> int:
        """Give the number of slots that are neither free nor in the tree."""
        self.cache.flush()
        device = self.allocator.size - self.allocator.available_size()
        host = self.host.size - self.host.available_size()
        return device + host - (self.cache.device.pages + self.cache.host.pages) * PAGE


@contextmanager
def machine(*args: object, **options: object) -> Iterator[Machine]:
    made = Machine(*args, **options)  # type: ignore[arg-type]
    try:
        yield made
        made.cache.flush()
    finally:
        made.controller.close()


def uncached(
    decoder: Decoder, tokens: list[int], dtype: torch.dtype = torch.float32
) -> tuple[int, ...]:
    pool = decoder.device_pool(16 * PAGE, PAGE, dtype)
    return Engine(decoder, PagedTokenToKVPoolAllocator(pool)).generate(tokens, NEW).tokens


KINDS = [
    ("mha", "layer_first", torch.float32),
    ("mha", "page_first", torch.bfloat16),
    ("mha", "page_first_direct", torch.float16),
    ("mha", "page_head", torch.float8_e4m3fn),
    ("mla", "layer_first", torch.bfloat16),
    ("mla", "page_first", torch.float8_e5m2),
    ("mla", "page_first_direct", torch.float32),
    ("dsa", "layer_first", torch.float32),
    ("dsa", "page_first", torch.bfloat16),
    ("dsa", "page_first_direct", torch.float16),
]


@pytest.mark.parametrize(("model", "layout", "dtype"), KINDS)
def test_tokens_are_the_same_off_on_evicted_and_restarted(
    tmp_path: Path, model: str, layout: str, dtype: torch.dtype
) -> None:
    decoder = MODELS[model]
    expected = uncached(decoder, PROMPT, dtype)
    with machine(decoder, tmp_path, dtype=dtype, layout=layout) as first:
        runs = [first.engine.generate(PROMPT, NEW) for _ in range(2)]
        first.cache.flush()
        first.cache.evict(100)
        runs.append(first.engine.generate(PROMPT, NEW))
        assert first.leaks() == 0
    with machine(decoder, tmp_path, dtype=dtype, layout=layout) as second:
        runs.append(second.engine.generate(PROMPT, NEW))
    assert [run.tokens for run in runs] == [expected] * 4
    cached = 3 * PAGE
    assert [(run.device, run.host, run.storage) for run in runs] == [
        (0, 0, 0),
        (cached, 0, 0),
        (0, cached, 0),
        (0, 0, cached),
    ]
    assert all(run.device + run.host + run.storage + run.computed == len(PROMPT) for run in runs)


def cut_off(path: Path, other: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def emptied(path: Path, other: Path) -> None:
    path.write_bytes(b"")


def swapped(path: Path, other: Path) -> None:
    one, two = path.read_bytes(), other.read_bytes()
    path.write_bytes(two)
    other.write_bytes(one)


def removed(path: Path, other: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("damage", [cut_off, emptied, swapped, removed])
@pytest.mark.parametrize("number", range(3))
def test_tokens_are_the_same_after_damage_to_any_file(
    tmp_path: Path, damage: Callable[[Path, Path], None], number: int
) -> None:
    decoder = MODELS["mha"]
    with machine(decoder, tmp_path) as first:
        expected = first.engine.generate(PROMPT, NEW)
    assert first.storage is not None
    keys = [node.key for node in sorted(first.cache.nodes(), key=lambda node: node.number)]
    damage(first.storage.path(keys[number]), first.storage.path(keys[(number + 1) % 3]))
    with machine(decoder, tmp_path) as second:
        again = second.engine.generate(PROMPT, NEW)
        assert second.leaks() == 0
    with machine(decoder, tmp_path) as third:
        repaired = third.engine.generate(PROMPT, NEW)
    assert again.tokens == repaired.tokens == expected.tokens
    first_bad = 0 if damage is swapped and number == 2 else number
    assert again.storage == first_bad * PAGE
    assert repaired.storage == 3 * PAGE


@pytest.mark.parametrize(
    ("model", "layout", "dtype"),
    [
        pytest.param("mha", "page_first_direct", torch.float32, id="another layout"),
        pytest.param("mha", "page_first", torch.bfloat16, id="another dtype"),
        pytest.param("mla", "page_first", torch.float32, id="another family"),
    ],
)
def test_tokens_are_the_same_beside_files_of(
    tmp_path: Path, model: str, layout: str, dtype: torch.dtype
) -> None:
    with machine(MODELS["mha"], tmp_path) as first:
        first.engine.generate(PROMPT, NEW)
    with machine(MODELS[model], tmp_path, dtype=dtype, layout=layout) as second:
        assert first.storage is not None
        assert second.storage is not None
        for node in first.cache.nodes():  # also where they have no business to be
            data = first.storage.path(node.key).read_bytes()
            second.storage.path(node.key).write_bytes(data)
        done = second.engine.generate(PROMPT, NEW)
    assert done.tokens == uncached(MODELS[model], PROMPT, dtype)
    assert done.storage == 0


def test_tokens_are_the_same_beside_files_of_other_weights(tmp_path: Path) -> None:
    other = Decoder(DecoderConfig("mha", layers=2, seed=3))
    with machine(MODELS["mha"], tmp_path) as first:
        first.engine.generate(PROMPT, NEW)
    with machine(other, tmp_path) as second:
        done = second.engine.generate(PROMPT, NEW)
    assert done.storage == 0
    assert done.tokens == uncached(other, PROMPT)


@pytest.mark.parametrize("length", [1, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE])
def test_the_last_token_of_a_prompt_is_always_computed(length: int) -> None:
    with machine(MODELS["mha"]) as one:
        runs = [one.engine.generate(PROMPT[:length], NEW) for _ in range(2)]
        assert one.leaks() == 0
    assert runs[0].tokens == runs[1].tokens == uncached(MODELS["mha"], PROMPT[:length])
    assert runs[1].device == (length - 1) // PAGE * PAGE
    assert runs[1].computed == length - runs[1].device


@pytest.mark.parametrize("model", MODELS)
def test_many_requests_through_small_tiers_leak_nothing(tmp_path: Path, model: str) -> None:
    decoder = MODELS[model]
    shared = prompt(2 * PAGE, seed=9)
    requests = [
        (shared if number % 2 else []) + prompt(1 + number % 11, seed=number % 5)
        for number in range(20)
    ]
    with machine(decoder, tmp_path, pages=6, ratio=0.5) as small:
        for tokens in requests:
            done = small.engine.generate(tokens, NEW)
            assert done.tokens == uncached(decoder, tokens)
        assert small.leaks() == 0
        assert (
            small.controller.stats.failed.total() == 0
            if hasattr(small.controller.stats.failed, "total")
            else not any(small.controller.stats.failed.values())
        )


class TestAborts:
    def test_a_request_without_room_leaves_nothing(self) -> None:
        with machine(MODELS["mha"], pages=4) as small:
            small.engine.generate(PROMPT[: 2 * PAGE], 1)
            with pytest.raises(OutOfPages, match="more slots are needed"):
                small.engine.generate(prompt(5 * PAGE), NEW)
            assert small.leaks() == 0
            assert small.engine.generate(PROMPT[:5], 1).computed

    def test_a_fault_of_the_model_leaves_nothing(self) -> None:
        with machine(MODELS["mha"]) as one:
            one.engine.generate(PROMPT, NEW)
            one.cache.flush()
            one.cache.evict(100)
            with (
                mock.patch.object(Decoder, "forward", side_effect=ArithmeticError("no")),
                pytest.raises(ArithmeticError),
            ):
                one.engine.generate(PROMPT, NEW)
            assert one.leaks() == 0
            assert not any(node.device.locks for node in one.cache.nodes())
            assert one.engine.generate(PROMPT, NEW).device == 3 * PAGE

    def test_a_failed_load_surfaces_and_leaves_nothing(self) -> None:
        with machine(MODELS["mha"]) as one:
            expected = one.engine.generate(PROMPT, NEW)
            one.cache.flush()
            one.cache.evict(100)
            with (
                mock.patch.object(one.host, "load_to_device_per_layer", side_effect=OSError("x")),
                pytest.raises(TransferError, match="the load failed: x"),
            ):
                one.engine.generate(PROMPT, NEW)
            assert one.leaks() == 0
            again = one.engine.generate(PROMPT, NEW)
            assert (again.tokens, again.host) == (expected.tokens, 3 * PAGE)

    def test_failed_files_are_misses(self, tmp_path: Path) -> None:
        with machine(MODELS["mha"], tmp_path) as first:
            expected = first.engine.generate(PROMPT, NEW)
        with machine(MODELS["mha"], tmp_path) as second:
            with mock.patch.object(HiCacheFile, "get", side_effect=OSError(5, "I/O error")):
                done = second.engine.generate(PROMPT, NEW)
            assert (done.tokens, done.storage) == (expected.tokens, 0)
            assert second.controller.stats.failed["prefetch"] == 1
            assert second.leaks() == 0

    @pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
    def test_files_that_cannot_be_written_are_computed_again(
        self, tmp_path: Path, code: int
    ) -> None:
        fault = OSError(code, "chosen to fail")
        with machine(MODELS["mha"], tmp_path) as first:
            with mock.patch.object(HiCacheFile, "_write", side_effect=fault):
                expected = first.engine.generate(PROMPT, NEW)
                first.cache.flush()
            assert first.controller.stats.failed["backup"] == 1
            assert first.leaks() == 0
        with machine(MODELS["mha"], tmp_path) as second:
            done = second.engine.generate(PROMPT, NEW)
            assert (done.tokens, done.storage) == (expected.tokens, 0)

    def test_files_that_do_not_answer_are_not_waited_for(self, tmp_path: Path) -> None:
        with machine(MODELS["mha"], tmp_path) as first:
            expected = first.engine.generate(PROMPT, NEW)
        with machine(MODELS["mha"], tmp_path) as second:
            gate = threading.Event()
            get, exists = HiCacheFile.get, HiCacheFile.batch_exists
            second.engine.storage_limit = second.controller.ask_limit = 0.1

            def late(function: Any) -> Any:
                def call(*args: Any) -> Any:
                    assert gate.wait(30)
                    return function(*args)

                return call

            with mock.patch.object(HiCacheFile, "get", late(get)):
                done = second.engine.generate(PROMPT, NEW)
                assert (done.tokens, done.storage) == (expected.tokens, 0)
            gate.set()
            second.cache.flush()
            assert second.leaks() == 0
            gate.clear()
            second.cache.reset()
            with mock.patch.object(HiCacheFile, "batch_exists", late(exists)):
                done = second.engine.generate(PROMPT, NEW)
                assert (done.tokens, done.storage) == (expected.tokens, 0)
            gate.set()
            assert second.leaks() == 0


def test_a_forward_pass_begins_while_later_layers_are_loading() -> None:
    with machine(MODELS["mha"]) as one:
        expected = one.engine.generate(PROMPT, NEW)
        one.cache.flush()
        one.cache.evict(100)
        read, copy = one.engine.pool.get_key_buffer, one.host.load_to_device_per_layer
        first_was_read = threading.Event()

        def reading(layer: int) -> torch.Tensor:
            keys = read(layer)
            first_was_read.set()
            return keys

        def loading(*args: Any) -> None:
            if args[3] == 1:
                assert first_was_read.wait(30), "layer 0 was not read before layer 1 was there"
            copy(*args)

        with (
            mock.patch.object(one.engine.pool, "get_key_buffer", reading),
            mock.patch.object(one.host, "load_to_device_per_layer", loading),
        ):
            done = one.engine.generate(PROMPT, NEW)
    assert (done.tokens, done.host) == (expected.tokens, 3 * PAGE)


@pytest.mark.parametrize(
    ("tokens", "new"), [([], 1), ([1], 0), ([1], -1)], ids=["no prompt", "none new", "less"]
)
def test_a_request_for_nothing_is_refused(tokens: list[int], new: int) -> None:
    pool = MODELS["mha"].device_pool(PAGE, PAGE, torch.float32)
    engine = Engine(MODELS["mha"], PagedTokenToKVPoolAllocator(pool))
    with pytest.raises(ValueError, match="prompt, new_tokens: expected at least one"):
        engine.generate(tokens, new)


class TestDecoder:
    @pytest.mark.parametrize("model", MODELS)
    def test_rows_are_the_same_bit_for_bit_however_they_are_computed(self, model: str) -> None:
        decoder = MODELS[model]

        def rows(steps: list[int]) -> list[torch.Tensor]:
            pool = decoder.device_pool(16, 4, torch.float32)
            slots = torch.arange(4, 4 + len(PROMPT))
            done = 0
            for step in steps:
                decoder.forward(PROMPT[done : done + step], pool, slots[: done + step])
                done += step
            if isinstance(pool, MHATokenToKVPool):
                return [*pool.k_buffer, *pool.v_buffer]
            return pool.kv_buffer

        whole, parts = rows([14]), rows([1, 6, 4, 3])
        assert all(map(torch.equal, whole, parts))
        assert any(buffer.any() for buffer in whole)

    def test_its_name_tells_weights_and_sizes_apart(self) -> None:
        configs = [
            DecoderConfig(),
            DecoderConfig(seed=1),
            DecoderConfig(layers=4),
            DecoderConfig("mla"),
        ]
        assert len({config.name for config in configs}) == 4

    def test_it_refuses_what_it_cannot_attend_with(self) -> None:
        with pytest.raises(ValueError, match="attention: expected mha, mla or dsa, got 'linear'"):
            Decoder(DecoderConfig("linear"))
        pool = MODELS["mla"].device_pool(4, 4, torch.float32)
        with pytest.raises(TypeError, match="pool: expected a MHATokenToKVPool, got a MLA"):
            MODELS["mha"].forward([1], pool, torch.tensor([4]))
