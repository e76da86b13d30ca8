"""The runs that the statistics report are the copies that a transfer makes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tests.pool_host.families import make_mha, make_mla


class CopyCount(TorchDispatchMode):
    """Counts copies from one tensor to another."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.copies = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.copies += func is torch.ops.aten.copy_.default
        return func(*args, **(kwargs or {}))


TAKEN = {  # pages that others keep, of twelve, and the runs that five pages then come in
    "nothing": ([], 1),
    "every third": ([2, 5, 8, 11], 3),
    "every other": ([1, 3, 5, 7, 9], 4),
    "the middle": ([4, 5, 6, 7], 2),
    "all but the end": ([0, 1, 2, 3, 4, 5, 6], 1),
}


@pytest.mark.parametrize("make", [make_mla, make_mha])
@pytest.mark.parametrize("case", TAKEN)
def test_a_transfer_makes_a_copy_a_run(case: str, make: Any) -> None:
    kept, runs = TAKEN[case]
    made = make("layer_first", 4, pages=12)
    host, size = made.host, 4
    pages = host.alloc(12 * size).view(-1, size)
    host.free(torch.cat([pages[page] for page in range(12) if page not in kept]))
    before = host.stats().runs
    slots = host.alloc_contiguous_preferred(5 * size)
    assert host.stats().runs - before == runs
    rows = torch.arange(5 * size)
    buffers = len(host.get_hybrid_pool_buffer())
    with CopyCount() as load:
        host.load_to_device_per_layer(made.device, slots, rows, 0, "direct")
    with CopyCount() as backup:
        host.backup_from_device_all_layer(made.device, slots, rows, "direct")
    assert load.copies == runs * buffers
    assert backup.copies == runs * buffers * host.layer_num
