"""Every family, layout, backend and dtype, from device to host and back, and by storage pages.

On a machine with a GPU the same tests run there as well.
"""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
import torch

from pool_host.base import HostBufferPool
from tests.pool_host.device_pools import DEVICES, raw, same
from tests.pool_host.families import DEVICE_PAGES, FAMILIES, Case, Family

HOST_PAGES = [3, 0, 4]
OTHER_PAGES = [1, 2]
DEVICE = [2, 5, 0]


def slots(pages: list[int], page_size: int) -> torch.Tensor:
    """Give the slots of pages in their order."""
    return torch.cat([torch.arange(page * page_size, (page + 1) * page_size) for page in pages])


def copies() -> list[Any]:
    found = []
    for family in FAMILIES:
        for layout, backend in family.copies():
            for dtype in family.dtypes:
                for page_size in family.page_sizes:
                    if family.name == "indexer" and backend == "kernel" and page_size == 1:
                        continue  # a row of 132 bytes is not of whole words
                    name = str(dtype).removeprefix("torch.")
                    words = f"{family.name}, {layout} by {backend}, {name}, pages of {page_size}"
                    found.append(pytest.param(family, layout, backend, dtype, page_size, id=words))
    return found


def settle(case: Case) -> None:
    if case.rows[0][0].is_cuda:
        torch.cuda.synchronize()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("family", "layout", "backend", "dtype", "page_size"), copies())
def test_rows_come_back_as_they_were(
    family: Family, layout: str, backend: str, dtype: torch.dtype, page_size: int, device: str
) -> None:
    case = family.make(layout, page_size, dtype, on=device)
    host, before = case.host, case.snapshot()
    host_indices, device_indices = slots(HOST_PAGES, page_size), slots(DEVICE, page_size)
    host.backup_from_device_all_layer(case.device, host_indices, device_indices, backend)
    settle(case)
    host_rows, device_rows = host_indices[:: case.unit], device_indices[:: case.unit]
    host_rows, device_rows = host_rows // case.unit, device_rows // case.unit
    for part, layers in enumerate(case.rows):
        for layer, rows in enumerate(layers):
            assert same(rows, before[part][layer])  # a backup leaves the device as it is
            found = case.host_rows(part, layer).clone().view(torch.uint8)
            assert torch.equal(found[host_rows], rows.cpu().view(torch.uint8)[device_rows])
            found[host_rows] = 0
            assert not found.any()  # nothing else was written

    case.empty_device()
    settle(case)
    wanted = case.snapshot()
    for layer in range(host.layer_num):
        host.load_to_device_per_layer(case.device, host_indices, device_indices, layer, backend)
        settle(case)
        for part, layers in enumerate(wanted):
            layers[layer][device_rows] = before[part][layer][device_rows]
            for found, expected in zip(case.rows[part], layers, strict=True):
                assert same(found, expected)  # of this layer these rows, and nothing else
    host.destroy()


def pages() -> list[Any]:
    found = []
    for family in FAMILIES:
        for layout in family.host_class.layouts:
            for dtype in family.dtypes:
                for page_size in family.page_sizes:
                    name = str(dtype).removeprefix("torch.")
                    words = f"{family.name}, {layout}, {name}, pages of {page_size}"
                    found.append(pytest.param(family, layout, dtype, page_size, id=words))
    return found


def filled(case: Case) -> Case:
    """Put something different on every page of the host pool."""
    host = case.host
    count = host.page_dtype.itemsize * host.page_numel
    for page in range(host.page_num):
        numbers = torch.arange(page * count, (page + 1) * count, dtype=torch.int64) % 251
        data = numbers.to(torch.uint8).view(host.page_dtype)
        host.set_from_flat_data_page(page * host.page_size, data)
    return case


@pytest.mark.parametrize(("family", "layout", "dtype", "page_size"), pages())
def test_pages_come_back_as_they_were(
    family: Family, layout: str, dtype: torch.dtype, page_size: int
) -> None:
    case = filled(family.make(layout, page_size, dtype))
    host: HostBufferPool = case.host
    before = [host.get_data_page(page * page_size) for page in range(host.page_num)]
    assert len({raw(page) for page in before}) == host.page_num
    dummy = host.get_dummy_flat_data_page()
    assert (dummy.shape, dummy.dtype) == (before[0].shape, before[0].dtype)
    dummy.copy_(before[3])
    host.set_from_flat_data_page(torch.tensor(page_size), dummy, host.storage_format_tag)
    for page, expected in enumerate([before[0], before[3], *before[2:]]):
        assert same(host.get_data_page(page * page_size), expected)
    host.destroy()


@pytest.mark.parametrize(("family", "layout", "dtype", "page_size"), pages())
def test_page_buffers_hold_just_the_rows_of_their_pages(
    family: Family, layout: str, dtype: torch.dtype, page_size: int
) -> None:
    case = filled(family.make(layout, page_size, dtype))
    host = case.host
    if family.name == "mamba" and layout == "layer_first":
        with pytest.raises(ValueError, match="layout for page buffers"):
            host.get_page_buffer_meta(torch.tensor([3]))
        return
    for order in ([4, 0, 2], [2], []):
        indices = slots(order, page_size) if order else torch.empty(0, dtype=torch.int64)
        addresses, lengths = host.get_page_buffer_meta(indices)
        each = len(addresses) // len(order) if order else 0
        for turn, page in enumerate(order):
            found = sorted(
                ctypes.string_at(address, length)
                for address, length in zip(
                    addresses[turn * each : (turn + 1) * each],
                    lengths[turn * each : (turn + 1) * each],
                    strict=True,
                )
            )
            assert sorted(stretches(case, page)) == found
    host.destroy()


def stretches(case: Case, page: int) -> list[bytes]:
    """Give the bytes of a page as they lie together: of a buffer's layer, or of all its layers."""
    flat = case.host.get_data_page(page * case.host.page_size)
    data = raw(flat)
    found, start = [], 0
    for part, layers in enumerate(case.rows):
        row = layers[0][0].nbytes * case.host.page_size // case.unit
        pieces = (
            [row] * len(layers) if case.buffers[part][0] == "layer_first" else [row * len(layers)]
        )
        for length in pieces:
            found.append(data[start : start + length])
            start += length
    assert start == len(data)
    return found


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_there_may_be_fewer_pages_than_layers(family: Family) -> None:
    for layout, backend in family.copies():
        page_size = 1 if family.name == "mamba" else 4
        case = family.make(layout, page_size, family.dtypes[0], layers=5, pages=2)
        assert case.host.page_num == 2 < case.host.layer_num
        before = case.snapshot()
        host_indices, device_indices = slots([1, 0], page_size), slots([3, 1], page_size)
        case.host.backup_from_device_all_layer(case.device, host_indices, device_indices, backend)
        case.empty_device()
        case.host.load_to_device_per_layer(case.device, host_indices, device_indices, 4, backend)
        rows = (device_indices[:: case.unit] // case.unit).tolist()
        for part, layers in enumerate(case.rows):
            assert same(layers[4][rows], before[part][4][rows])
        case.host.destroy()


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_transfer_of_nothing_changes_nothing(family: Family) -> None:
    nothing = torch.empty(0, dtype=torch.int64)
    for layout, backend in family.copies():
        page_size = 1 if family.name == "mamba" else 4
        case = filled(family.make(layout, page_size, family.dtypes[0]))
        before = case.snapshot()
        pages = [case.host.get_data_page(page * page_size) for page in range(DEVICE_PAGES - 1)]
        case.host.backup_from_device_all_layer(case.device, nothing, nothing, backend)
        case.host.load_to_device_per_layer(case.device, nothing, nothing, 0, backend)
        for part, layers in enumerate(case.rows):
            assert all(map(same, layers, before[part]))
        for page, expected in enumerate(pages):
            assert same(case.host.get_data_page(page * page_size), expected)
        case.host.destroy()
