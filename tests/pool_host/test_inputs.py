"""What a public method is not made for is refused by name, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from pool_host.base import SharedSlotPool
from pool_host.deepseek_v4 import DeepSeekV4StateHostPool
from tests.pool_host.device_pools import StatePool, raw
from tests.pool_host.families import (
    FAMILIES,
    Case,
    Family,
    make_mamba,
    make_mha,
    make_mla,
    make_state,
    transfer,
)

Refusal = tuple[Callable[[Case], Any], type[Exception], str]
TWO = torch.arange(8)
WITH_PAGES = [family for family in FAMILIES if family.name != "mamba"]  # whose pages are one slot
WITH_ROWS = [family for family in WITH_PAGES if family.make().unit == 1]


def contents(case: Case) -> list[Any]:
    """Give every byte and every slot of a host pool and its device pool."""
    host = case.host
    state = [raw(buffer) for buffer in host.get_hybrid_pool_buffer()]
    state += [raw(rows) for layers in case.rows for rows in layers]
    if not isinstance(host, SharedSlotPool):
        state += [raw(host.slot_used), raw(torch.cat([host.free_slots, *host.release_slots]))]
    return state


def full(family: Family) -> Case:
    """Make a pool that holds something on every page, of which two are allocated."""
    layout, backend = family.copies()[0]
    page_size = 1 if family.name == "mamba" else 4
    case = family.make(layout, page_size, family.dtypes[0])
    every = torch.arange(case.host.size)
    case.host.backup_from_device_all_layer(case.device, every, every, backend)
    if not isinstance(case.host, SharedSlotPool):
        case.host.alloc(2 * page_size)
    return case


def bad_slots(name: str, size: Callable[[Case], int]) -> Iterator[tuple[str, Any, Any, str]]:
    """Give what is no slots of an argument: in words, made from a case, error, message."""

    def two(case: Case) -> torch.Tensor:
        return torch.arange(2 * case.host.page_size)

    def twice(case: Case) -> torch.Tensor:
        page = torch.arange(case.host.page_size)
        return torch.cat([page, page])

    yield f"{name} a list", lambda c: two(c).tolist(), TypeError, f"{name} must be a tensor"
    yield f"{name} a number", lambda c: 0, TypeError, f"{name} must be a tensor"
    yield f"{name} fractions", lambda c: two(c).double(), TypeError, f"{name} must be of"
    yield f"{name} a mask", lambda c: two(c) >= 0, TypeError, f"{name} must be of"
    yield f"{name} bytes", lambda c: two(c).to(torch.uint8), TypeError, f"{name} must be of"
    yield f"{name} a table", lambda c: two(c).view(2, -1), ValueError, f"{name} must have 1 dim"
    yield f"{name} without data", lambda c: two(c).to("meta"), ValueError, f"{name} must be on"
    yield f"{name} negative", lambda c: two(c) - 1, ValueError, f"{name} must lie in 0"
    yield f"{name} past the end", lambda c: two(c) + size(c), ValueError, f"{name} must lie in 0"
    yield f"{name} twice the same", twice, ValueError, f"{name} must not repeat"


def host_size(case: Case) -> int:
    return int(case.host.size)


def device_size(case: Case) -> int:
    return int(case.rows[0][0].shape[0] * case.unit)


def transfers() -> Iterator[Any]:
    rows: list[tuple[str, str, Any, Any, str]] = []
    for name, size in (("host_indices", host_size), ("device_indices", device_size)):
        rows += [(words, name, *rest) for words, *rest in bad_slots(name, size)]
        rows.append(
            (
                f"{name} shorter",
                name,
                lambda c: torch.arange(c.host.page_size),
                ValueError,
                "transfer index size mismatch: host_indices and device_indices",
            )
        )
    io = "io_backend"
    rows += [
        ("io_backend unknown", io, lambda c: "kernl", ValueError, "Unsupported IO backend: kernl"),
        ("io_backend of Ascend", io, lambda c: "kernel_ascend", ValueError, "kernel_ascend"),
        ("io_backend no word", io, lambda c: None, TypeError, "IO backend must be a string"),
    ]
    for load in (False, True):
        for words, name, make, error, message in rows:
            kind = "load" if load else "backup"
            yield pytest.param(load, name, make, error, message, id=f"{kind}, {words}")
    for words, value, error in (
        ("past the end", 3, ValueError),
        ("negative", -1, ValueError),
        ("a fraction", 1.0, TypeError),
        ("true", True, TypeError),
        ("a word", "1", TypeError),
    ):
        made = pytest.param(
            True, "layer_id", lambda c, v=value: v, error, "layer_id must", id=f"layer_id {words}"
        )
        yield made
    yield pytest.param(True, "is_draft", lambda c: True, ValueError, "is_draft must", id="is_draft")


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
@pytest.mark.parametrize(("load", "name", "make", "error", "message"), list(transfers()))
def test_a_transfer_takes_what_it_is_made_for(
    family: Family, load: bool, name: str, make: Any, error: type[Exception], message: str
) -> None:
    case = full(family)
    before = contents(case)
    with pytest.raises(error, match=message):
        transfer(case, load=load, **{name: make(case)})
    assert contents(case) == before


@pytest.mark.parametrize("load", [False, True], ids=["backup", "load"])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_other_pair_of_layout_and_backend_is_refused(family: Family, load: bool) -> None:
    pairs = family.copies()
    for layout in family.host_class.layouts:
        for backend in family.host_class.io_layouts:
            if (layout, backend) in pairs:
                continue
            case = family.make(layout, 1 if family.name == "mamba" else 4, family.dtypes[0])
            before = contents(case)
            with pytest.raises(ValueError, match=f"Unsupported layout of io_backend {backend}"):
                transfer(case, load=load, io_backend=backend)
            assert contents(case) == before


BROKEN_PAGES = {
    "part of a page": [0, 1],
    "slots of two pages": [0, 1, 6, 7],
    "a page that starts elsewhere": [2, 3, 4, 5],
    "a page in another order": [1, 0, 2, 3],
    "a page and part of the next": [0, 1, 2, 3, 4],
    "two pages interleaved": [0, 4, 1, 5, 2, 6, 3, 7],
}


@pytest.mark.parametrize("load", [False, True], ids=["backup", "load"])
@pytest.mark.parametrize("words", BROKEN_PAGES)
@pytest.mark.parametrize("family", WITH_PAGES, ids=lambda family: family.name)
def test_pages_are_copied_whole(family: Family, words: str, load: bool) -> None:
    slots = torch.tensor(BROKEN_PAGES[words])
    whole = torch.arange(8)[: len(slots)]
    for layout, backend in family.copies():
        case = family.make(layout, 4, family.dtypes[0])
        before = contents(case)
        rows_are_pages = case.unit > 1
        if backend == "kernel" and not rows_are_pages:
            continue  # gathers rows one by one, wherever they lie
        with pytest.raises(ValueError, match="host_indices must be whole pages of 4"):
            transfer(case, load=load, host_indices=slots, device_indices=whole, io_backend=backend)
        if rows_are_pages and len(slots) % 4 == 0:
            with pytest.raises(ValueError, match="device_indices must be whole pages of 4"):
                transfer(
                    case, load=load, host_indices=whole, device_indices=slots, io_backend=backend
                )
        assert contents(case) == before


@pytest.mark.parametrize("words", BROKEN_PAGES)
@pytest.mark.parametrize("family", WITH_ROWS, ids=lambda family: family.name)
def test_rows_of_any_slots_go_where_they_belong(family: Family, words: str) -> None:
    """Where single rows are copied, and where the device's pages lie apart, order is no matter."""
    scattered = torch.tensor(BROKEN_PAGES[words])
    for layout, backend in family.copies():
        case = family.make(layout, 4, family.dtypes[0])
        if backend == "direct" and len(scattered) % 4:
            continue
        host, device = torch.arange(8, 8 + len(scattered)), scattered
        if backend == "kernel":
            host, device = scattered, host
        before = case.snapshot()
        transfer(case, load=False, host_indices=host, device_indices=device, io_backend=backend)
        case.empty_device()
        for layer in range(3):
            transfer(
                case,
                load=True,
                layer_id=layer,
                host_indices=host,
                device_indices=device,
                io_backend=backend,
            )
        for part, layers in enumerate(case.rows):
            for layer, rows in enumerate(layers):
                assert raw(rows[device]) == raw(before[part][layer][device])
                assert raw(case.host_rows(part, layer)[host]) == raw(rows[device])


def pages() -> Iterator[Any]:
    for words, index, error in (
        ("the end", lambda c: c.host.size, ValueError),
        ("a page past the end", lambda c: c.host.size + 4, ValueError),
        ("the last slot", lambda c: c.host.size - 1, ValueError),
        ("inside a page", lambda c: 1, ValueError),
        ("negative", lambda c: -4, ValueError),
        ("negative, in a tensor", lambda c: torch.tensor(-4), ValueError),
        ("two slots", lambda c: torch.tensor([0, 4]), ValueError),
        ("one slot with a dimension", lambda c: torch.tensor([0]), ValueError),
        ("a fraction", lambda c: 4.0, TypeError),
        ("a fraction, in a tensor", lambda c: torch.tensor(4.0), TypeError),
        ("true", lambda c: True, TypeError),
        ("a word", lambda c: "0", TypeError),
        ("nothing", lambda c: None, TypeError),
    ):
        yield pytest.param(index, error, id=words)


@pytest.mark.parametrize(("make", "error"), list(pages()))
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_page_is_named_by_its_first_slot(
    family: Family, make: Callable[[Case], Any], error: type[Exception]
) -> None:
    case = full(family)
    before = contents(case)
    index = make(case)
    if case.host.page_size == 1 and isinstance(index, int) and 0 <= index < case.host.size:
        return  # every slot starts a page
    with pytest.raises(error, match="index must"):
        case.host.get_data_page(index)
    with pytest.raises(error, match="index must"):
        case.host.set_from_flat_data_page(index, case.host.get_dummy_flat_data_page())
    assert contents(case) == before


BAD_PAGES: dict[str, tuple[Callable[[torch.Tensor], Any], type[Exception], str]] = {
    "a list": (lambda page: page.tolist(), TypeError, "data_page must be a tensor"),
    "bytes": (raw, TypeError, "data_page must be a tensor"),
    "another dtype": (lambda page: page.double(), TypeError, "data_page must be of"),
    "the same bytes of a dtype": (
        lambda page: page.view(torch.int8),
        TypeError,
        "data_page must be of",
    ),
    "two dimensions": (lambda page: page.view(2, -1), ValueError, "data_page must have 1 dim"),
    "too short": (lambda page: page[1:], ValueError, "data_page must have .* elements"),
    "too long": (
        lambda page: torch.cat([page, page[:1]]),
        ValueError,
        "data_page must have .* elements",
    ),
    "empty": (lambda page: page[:0], ValueError, "data_page must have .* elements"),
    "without data": (lambda page: page.to("meta"), ValueError, "data_page must be on a device"),
}


@pytest.mark.parametrize("words", BAD_PAGES)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_page_is_of_the_size_and_dtype_of_the_pool(family: Family, words: str) -> None:
    make, error, message = BAD_PAGES[words]
    case = full(family)
    before = contents(case)
    page = case.host.get_data_page(0)
    with pytest.raises(error, match=message):
        case.host.set_from_flat_data_page(case.host.page_size, make(page))
    assert contents(case) == before


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_page_of_another_format_is_refused(family: Family) -> None:
    case = full(family)
    before = contents(case)
    page = case.host.get_data_page(0)
    for other in FAMILIES:
        for layout in other.host_class.layouts:
            tag = other.make(layout, dtype=other.dtypes[-1]).host.storage_format_tag
            if tag == case.host.storage_format_tag:
                continue
            with pytest.raises(ValueError, match=r"format_tag must be .*, not"):
                case.host.set_from_flat_data_page(case.host.page_size, page, tag)
    assert contents(case) == before


def meta_calls() -> Iterator[Any]:
    for words, make, error, message in bad_slots("indices", host_size):
        yield pytest.param(make, error, message, id=words)
    for words, slots in BROKEN_PAGES.items():
        made = pytest.param(
            lambda c, s=slots: torch.tensor(s), ValueError, "indices must be whole pages", id=words
        )
        yield made


@pytest.mark.parametrize(("make", "error", "message"), list(meta_calls()))
@pytest.mark.parametrize("family", WITH_PAGES, ids=lambda family: family.name)
def test_page_buffers_are_of_whole_pages(
    family: Family, make: Callable[[Case], Any], error: type[Exception], message: str
) -> None:
    case = full(family)
    with pytest.raises(error, match=message):
        case.host.get_page_buffer_meta(make(case))


def test_page_buffers_of_states_are_of_slots() -> None:
    case = make_mamba("page_first")
    for _, make, error, message in bad_slots("indices", host_size):
        with pytest.raises(error, match=message):
            case.host.get_page_buffer_meta(make(case))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_direct_io_has_a_size(family: Family) -> None:
    host = family.make().host
    for size, error in ((0, ValueError), (-1, ValueError), (4096.0, TypeError), (None, TypeError)):
        with pytest.raises(error, match="page_size_bytes must be"):
            host.is_stride_page_aligned(size)


def test_heads_are_split_evenly_in_the_layout_that_keeps_them_apart() -> None:
    host = make_mha("page_head").host
    for factor, error in ((0, ValueError), (3, ValueError), (-2, ValueError), (1.0, TypeError)):
        with pytest.raises(error, match="split_factor must"):
            host.get_split_heads_page_buffer_meta(TWO, factor)
    with pytest.raises(ValueError, match="indices must be whole pages"):
        host.get_split_heads_page_buffer_meta(TWO[:2], 2)
    for layout in ("layer_first", "page_first", "page_first_direct"):
        other = make_mha(layout).host
        with pytest.raises(ValueError, match=f"Unsupported layout for split heads: {layout}"):
            other.get_split_heads_page_buffer_meta(TWO, 2)


def test_layers_lie_together_in_one_layout_alone() -> None:
    for layout in ("page_first", "page_first_direct"):
        host = make_mla(layout).host
        with pytest.raises(ValueError, match=f"Unsupported layout for contiguous .*: {layout}"):
            host.get_contiguous_buf_infos()


# Device pools that do not fit.


def other_device(family: Family, case: Case, layer: int) -> Iterator[tuple[Any, str]]:
    """Give device pools one of whose layers is not what the host pool holds."""
    name = {"mla": "kv_buffer", "indexer": "index_k_with_scale_buffer"}.get(family.name, "k_buffer")
    rows: torch.Tensor = getattr(case.device, name)[layer]
    wider = torch.cat([rows, rows], dim=-1)
    for wrong in (wider, rows.double(), rows.view(torch.uint8).view(torch.int8)):
        yield {name: wrong}, "device_pool must have rows of"
    yield {name: None}, f"device_pool.{name} must hold a tensor for layer {layer}"


@pytest.mark.parametrize("load", [False, True], ids=["backup", "load"])
@pytest.mark.parametrize(
    "family", [f for f in FAMILIES if f.make().device is not None], ids=lambda family: family.name
)
def test_a_device_pool_holds_rows_like_the_host_pool(family: Family, load: bool) -> None:
    case = full(family)
    if family.name == "mamba":
        states = case.device.mamba_cache
        wrong: Any = SimpleNamespace(
            mamba_cache=SimpleNamespace(conv=states.conv, temporal=states.temporal.half())
        )
        with pytest.raises(ValueError, match="device_pool must have rows of"):
            transfer(case, load=load, device_pool=wrong)
        return
    before = contents(case)
    for changed, message in other_device(family, case, 1):
        for name, rows in changed.items():
            layers = list(getattr(case.device, name))
            layers[1] = rows
            fields = {**vars(case.device), name: layers}
            with pytest.raises(ValueError, match=message):
                transfer(case, load=load, device_pool=SimpleNamespace(**fields))
    with pytest.raises(TypeError, match="device_pool must have"):
        transfer(case, load=load, device_pool=object())
    assert contents(case) == before


def test_a_list_that_starts_above_the_first_layer_is_refused() -> None:
    """A list of the whole model's layers has nothing where this stage's layers do not begin."""
    case = make_mha()
    case.device.k_buffer[:0] = [None, None]
    with pytest.raises(ValueError, match=r"device_pool\.k_buffer must hold a tensor for layer 0"):
        transfer(case, load=False)
    state = StatePool(4, 1)
    with pytest.raises(ValueError, match="state_pools must not hold None, as for layer 0"):
        DeepSeekV4StateHostPool("state", [None, None, state], 2, 4)


def test_no_slots_may_be_none_where_a_cache_has_nothing_to_move() -> None:
    case = make_state("page_first")
    before = contents(case)
    for load in (False, True):
        transfer(case, load=load, host_indices=None, device_indices=None)
        with pytest.raises(ValueError, match="state transfer index size mismatch"):
            transfer(case, load=load, host_indices=None)
    assert contents(case) == before


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_destroyed_pool_moves_nothing(family: Family) -> None:
    case = family.make()
    host = case.host
    page = host.get_dummy_flat_data_page()
    host.destroy()
    calls: list[Callable[[], Any]] = [
        lambda: transfer(case, load=True),
        lambda: transfer(case, load=False),
        lambda: host.get_data_page(0),
        host.get_dummy_flat_data_page,
        lambda: host.set_from_flat_data_page(0, page),
    ]
    if family.name != "mamba":
        calls.append(lambda: host.get_page_buffer_meta(torch.arange(4)))
    for call in calls:
        with pytest.raises(RuntimeError, match="was destroyed"):
            call()
