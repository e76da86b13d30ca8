"""What a pool cannot be made of is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from pool_host import HostKVCache
from pool_host.deepseek_v4 import DeepSeekV4PagedHostPool, DeepSeekV4StateHostPool, LogicalHostPool
from pool_host.dsa import DSAIndexerPoolHost
from pool_host.mha import MHATokenToKOnlyPoolHost
from pool_host.mla import MLATokenToKVPoolHost
from tests.pool_host.device_pools import MHAPool, MLAPool, StatePool, numbered
from tests.pool_host.families import (
    FAMILIES,
    Family,
    make_asymmetric,
    make_indexer,
    make_mamba,
    make_mha,
    make_mla,
    transfer,
)

TWO = torch.arange(8)


KV = {
    "host_to_device_ratio": 2.0,
    "host_size": 0,
    "page_size": 4,
    "layout": "page_first",
    "pin_memory": False,
    "device": "cpu",
    "allocator_type": "default",
}
BAD_OPTIONS: list[tuple[str, Any, type[Exception], str]] = [
    ("host_to_device_ratio", -1.0, ValueError, "host_to_device_ratio must be at least 0"),
    ("host_to_device_ratio", float("nan"), ValueError, "host_to_device_ratio must be at least 0"),
    ("host_to_device_ratio", float("inf"), ValueError, "host_to_device_ratio must be .*finite"),
    ("host_to_device_ratio", "2", TypeError, "host_to_device_ratio must be a number"),
    ("host_to_device_ratio", None, TypeError, "host_to_device_ratio must be a number"),
    ("host_to_device_ratio", 0, ValueError, "leave room for no slot"),
    ("host_to_device_ratio", 0.01, ValueError, "leave room for no slot"),
    ("host_size", -1, ValueError, "host_size must be at least 0"),
    ("host_size", "1", TypeError, "host_size must be a number"),
    ("host_size", True, TypeError, "host_size must be a number"),
    ("host_size", 1e-9, ValueError, "leave room for no slot"),
    ("host_size", 1e6, ValueError, "Not enough host memory"),
    ("page_size", 0, ValueError, "page_size must be at least 1"),
    ("page_size", -4, ValueError, "page_size must be at least 1"),
    ("page_size", 4.0, TypeError, "page_size must be an integer"),
    ("page_size", None, TypeError, "page_size must be an integer"),
    ("layout", "page_last", ValueError, "Unsupported layout: page_last"),
    ("layout", "page_unified", ValueError, "Unsupported layout: page_unified"),
    ("layout", "page_first_kv_split", ValueError, "Unsupported layout: page_first_kv_split"),
    ("layout", None, TypeError, "layout must be a string"),
    ("pin_memory", 1, TypeError, "pin_memory must be True or False"),
    ("pin_memory", "no", TypeError, "pin_memory must be True or False"),
    ("device", "cuda", ValueError, "Unsupported device: cuda"),
    ("device", None, TypeError, "device must be a string"),
    ("allocator_type", "tape", ValueError, "Unsupported allocator_type: tape"),
    ("allocator_type", None, TypeError, "allocator_type must be a string"),
]


@pytest.mark.parametrize(
    ("name", "value", "error", "message"),
    BAD_OPTIONS,
    ids=[f"{name} {value!r}" for name, value, _, _ in BAD_OPTIONS],
)
@pytest.mark.parametrize("make", [make_mha, make_asymmetric, make_mla, make_mamba])
def test_a_pool_is_made_of_what_it_needs(
    make: Any, name: str, value: Any, error: type[Exception], message: str
) -> None:
    case = make("page_first")
    options = {**KV, name: value}
    if make is make_mamba:  # which has pages of one slot
        del options["page_size"]
        error, message = (error, message) if name != "page_size" else (TypeError, "page_size")
        options = {**options, **({name: value} if name == "page_size" else {})}
    with pytest.raises(error, match=message):
        type(case.host)(case.device, **options)


@pytest.mark.parametrize("wrong", [None, 3, object()], ids=["nothing", "a number", "an object"])
@pytest.mark.parametrize("make", [make_mha, make_asymmetric, make_mla, make_mamba])
def test_a_pool_extends_a_device_pool(make: Any, wrong: Any) -> None:
    options = {**KV, "layout": "page_first"}
    if make is make_mamba:
        del options["page_size"]
    with pytest.raises(TypeError, match="device_pool must have what is read of it"):
        type(make("page_first").host)(wrong, **options)


@pytest.mark.parametrize("wrong", [None, 3, object()], ids=["nothing", "a number", "an object"])
@pytest.mark.parametrize("host_class", [MHATokenToKOnlyPoolHost, DSAIndexerPoolHost])
def test_a_side_pool_extends_a_device_pool_beside_another_pool(host_class: Any, wrong: Any) -> None:
    anchor = make_mla()
    device = make_mha().device if host_class is MHATokenToKOnlyPoolHost else anchor.device
    with pytest.raises(TypeError, match="device_pool must have what is read of it"):
        host_class(wrong, anchor.host, "layer_first")
    with pytest.raises(TypeError, match="anchor_host must have what is read of it"):
        host_class(device, wrong, "layer_first")


@pytest.mark.parametrize("name", ["layout", "pin_memory", "device", "allocator_type"])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_family_checks_its_options(family: Family, name: str) -> None:
    wrong = {"layout": "page_head_", "pin_memory": 1, "device": "gpu", "allocator_type": "tape"}
    value = wrong[name]
    options = {} if name == "layout" else {name: value}
    layout = value if name == "layout" else family.copies()[0][0]
    with pytest.raises((TypeError, ValueError), match=name):
        family.make(layout, **options)


def test_packed_rows_are_as_wide_as_on_the_device() -> None:
    packed = MLAPool(packed=656, size=8, page_size=4, dtype=torch.uint8)
    plain = MLAPool(size=8, page_size=4)
    host = MLATokenToKVPoolHost(packed, 2, 0, 4, "page_first", override_kv_cache_dim=656)
    assert (host.kv_cache_dim, host.size_per_token) == (656, 656 * 3)
    for pool, width, message in (
        (packed, None, "override_kv_cache_dim must be 656"),
        (packed, 576, "override_kv_cache_dim must be 656"),
        (plain, 656, "override_kv_cache_dim must be 16"),
        (plain, 0, "override_kv_cache_dim must be at least 1"),
    ):
        with pytest.raises(ValueError, match=message):
            MLATokenToKVPoolHost(pool, 2, 0, 4, "page_first", override_kv_cache_dim=width)


@pytest.mark.parametrize("name", ["k_scale_buffer", "v_scale_buffer", "kv_scale_buffer"])
def test_rows_that_need_scales_from_elsewhere_are_refused(name: str) -> None:
    makes: list[Callable[[], Any]] = []
    plain = MHAPool(size=8, page_size=4)
    setattr(plain, name, [torch.ones(1)])
    latent = MLAPool(size=8, page_size=4)
    setattr(latent, name, [torch.ones(1)])
    case = make_mha()
    if name != "kv_scale_buffer":
        asymmetric = make_asymmetric()
        setattr(asymmetric.device, name, [torch.ones(1)])
        makes += [
            lambda: type(case.host)(plain, 2, 0, 4, "layer_first"),
            lambda: type(asymmetric.host)(asymmetric.device, 2, 0, 4, "page_first"),
        ]
    if name == "k_scale_buffer":
        makes.append(lambda: MHATokenToKOnlyPoolHost(plain, case.host, "layer_first"))
    if name == "kv_scale_buffer":
        makes.append(lambda: MLATokenToKVPoolHost(latent, 2, 0, 4, "layer_first"))
    for make in makes:
        with pytest.raises(ValueError, match=f"device_pool has {name}"):
            make()


def test_one_stride_does_not_fit_keys_and_values_of_two_sizes() -> None:
    device = make_asymmetric().device
    with pytest.raises(ValueError, match="take AsymmetricMHATokenToKVPoolHost"):
        type(make_mha().host)(device, 2, 0, 4, "layer_first")


def test_kernels_move_whole_words() -> None:
    indexer = make_indexer(page_size=1)
    with pytest.raises(ValueError, match="words of 8 bytes, and a row has 132: use direct"):
        transfer(indexer, load=False, io_backend="kernel")
    transfer(indexer, load=False, io_backend="direct")
    device = MHAPool(head_num=1, head_dim=3, size=8, page_size=4)
    host: HostKVCache = type(make_mha().host)(device, 2, 0, 4, "layer_first")
    with pytest.raises(ValueError, match="words of 8 bytes, and a row has 6: use direct"):
        host.backup_from_device_all_layer(device, TWO, TWO, "kernel")
    host.backup_from_device_all_layer(device, TWO, TWO, "direct")


def test_an_indexer_has_scales_for_whole_blocks() -> None:
    anchor = make_mla()
    anchor.device.quant_block_size = 96
    with pytest.raises(ValueError, match="index_head_dim must be whole blocks of 96"):
        DSAIndexerPoolHost(anchor.device, anchor.host, "layer_first")


BYTES = numbered((4, 64), torch.uint8, 1)
BAD_PAGED: list[tuple[str, dict[str, Any], type[Exception], str]] = [
    ("no layers", {"device_buffers": []}, ValueError, "device_buffers must hold a buffer"),
    ("no tensors", {"device_buffers": [None]}, TypeError, r"device_buffers\[0\] must be a tensor"),
    ("halves", {"device_buffers": [BYTES, BYTES.half()]}, TypeError, r"device_buffers\[1\] must"),
    ("one dimension", {"device_buffers": [BYTES[0]]}, ValueError, r"device_buffers\[0\] must have"),
    ("narrow rows", {"device_buffers": [BYTES[:, 1:]]}, ValueError, "must have rows of 64 bytes"),
    ("other bytes", {"item_bytes": 63}, ValueError, "must have rows of 63 bytes"),
    ("no bytes", {"item_bytes": 0}, ValueError, "item_bytes must be at least 1"),
    ("no pages", {"num_host_pages": 0}, ValueError, "num_host_pages must be at least 1"),
    ("half pages", {"num_host_pages": 1.5}, TypeError, "num_host_pages must be an integer"),
    ("no slots", {"slot_page_size": 0}, ValueError, "slot_page_size must be at least 1"),
]


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [row[1:] for row in BAD_PAGED],
    ids=[row[0] for row in BAD_PAGED],
)
def test_paged_pools_are_made_of_pages(
    changed: dict[str, Any], error: type[Exception], message: str
) -> None:
    options: dict[str, Any] = {
        "pool_name": "c4",
        "device_buffers": [BYTES, BYTES],
        "item_bytes": 64,
        "num_host_pages": 3,
        "slot_page_size": 4,
    }
    assert DeepSeekV4PagedHostPool(**options).size == 12
    with pytest.raises(error, match=message):
        DeepSeekV4PagedHostPool(**{**options, **changed})


def states(**changed: Any) -> StatePool:
    pool = StatePool(4, 1)
    for name, value in changed.items():
        setattr(pool, name, value)
    return pool


BAD_STATES: list[tuple[str, list[Any], type[Exception], str]] = [
    ("no layers", [], ValueError, "state_pools must hold a buffer"),
    ("a ring of nothing", [states(ring_size=0)], ValueError, r"state_pools\[0\].ring_size must be"),
    ("rings in part", [states(ring_size=3)], ValueError, "with whole rings of 3"),
    ("another ring", [states(), states(ring_size=8)], ValueError, r"state_pools\[1\] must have"),
    (
        "states apart",
        [states(state_buffer=StatePool(8, 1).state_buffer[::2])],
        ValueError,
        r"state_pools\[0\].state_buffer must be contiguous",
    ),
]


@pytest.mark.parametrize(
    ("pools", "error", "message"),
    [row[1:] for row in BAD_STATES],
    ids=[row[0] for row in BAD_STATES],
)
def test_state_pools_are_made_of_rings(
    pools: list[Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        DeepSeekV4StateHostPool("state", pools, 3, 4)
    with pytest.raises(ValueError, match="swa_page_size must be at least 1"):
        DeepSeekV4StateHostPool("state", [states()], 3, 0)


def test_logical_pools_are_made_of_whole_pages() -> None:
    for size, page_size, layout, message in (
        (10, 4, "layer_first", "size must be a multiple of page_size 4"),
        (0, 4, "layer_first", "size must be at least 1"),
        (8, 0, "layer_first", "page_size must be at least 1"),
        (8, 4, "page_head", "Unsupported layout: page_head"),
    ):
        with pytest.raises(ValueError, match=message):
            LogicalHostPool(size, page_size, layout)
    pool = LogicalHostPool(8, 4)
    for index, wrong in ((8, ValueError), (2, ValueError), (-4, ValueError), ("0", TypeError)):
        with pytest.raises(wrong, match="index must"):
            pool.get_data_page(index)  # type: ignore[arg-type]
        with pytest.raises(wrong, match="index must"):
            pool.set_from_flat_data_page(index, pool.get_dummy_flat_data_page())  # type: ignore[arg-type]
    for page, error in ((torch.zeros(1, dtype=torch.uint8), ValueError), (None, TypeError)):
        with pytest.raises(error, match="data_page must be"):
            pool.set_from_flat_data_page(0, page)  # type: ignore[arg-type]
