"""Churn in SGLang's own cache controller, with its slots and with ours, in one run.

`python -m benchmarks.sglang` takes the wheel of a release from the package index; `--release` names
another, `--folder` a folder that holds the package. The host is filled, then nodes are evicted at
random as new ones are written. Times are CPU time of the pool's own `alloc` and `free`.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

BUDGETS = {"runs": 0.8, "alloc p50": 1.5, "free p50": 2.5}  # of SGLang's


def main() -> int:
    """Measure, print a table, and with `--check` hold it to the budgets."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--release", default="0.5.18")
    parser.add_argument("--folder", type=Path, help="holds the package `sglang`")
    parser.add_argument("--host-pages", type=int, default=48_918)
    parser.add_argument("--page-size", type=int, default=64)
    parser.add_argument("--largest", type=int, default=120, help="pages of a node, at most")
    parser.add_argument("--rounds", type=int, default=2_000, help="writes that are measured")
    parser.add_argument("--check", action="store_true", help="exit code 1 beyond a budget")
    options = parser.parse_args()
    if find_spec("torch") is None:
        print("left out: the pools need the extra `pool`, which brings torch")
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or _unpacked(options.release, Path(scratch))
        measured = _measured(folder, options)
    print(
        f"SGLang {options.folder or options.release}: {options.host_pages:,} pages of "
        f"{options.page_size} slots, nodes of 1 to {options.largest} pages; microseconds"
    )
    print(f"{'slots of':<10}" + "".join(f"{name:>12}" for name in measured["sglang"]))
    for name, figures in measured.items():
        print(f"{name:<10}" + "".join(f"{figure:>12,.2f}" for figure in figures.values()))
    failed = [
        f"{name}: {measured['pool_host'][name]:.2f}, more than {share} of SGLang's"
        for name, share in BUDGETS.items()
        if measured["pool_host"][name] > share * measured["sglang"][name]
    ]
    print("\n".join(failed) or "within the budgets")
    return 1 if failed and options.check else 0


def _unpacked(release: str, folder: Path) -> Path:
    from tests.registry import sglang_wheel

    with zipfile.ZipFile(sglang_wheel(release)) as wheel:
        wheel.extractall(folder, [name for name in wheel.namelist() if name.startswith("sglang/")])
    return folder


def _measured(folder: Path, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    import torch

    from pool_host.sglang import install, uninstall
    from tests.pool_host.sglang import world
    from tests.pool_host.sglang.stubs import make_up_what_is_missing

    torch.set_num_threads(1)
    make_up_what_is_missing(str(folder))
    importlib.import_module("sglang.srt.managers.cache_controller")
    world.give_bodies()
    measured = {}
    for name in ("sglang", "pool_host"):
        if name == "pool_host":
            install()
        tried = world.World(
            "layer_first", options.page_size, options.largest + 2, options.host_pages
        )
        while tried.write(options.largest // 2):
            pass
        tried.churn(options.rounds, 1, options.largest, check=False)  # it settles
        tried.alloc.times.clear()
        tried.free.times.clear()
        tried.runs = tried.transfers = 0
        tried.churn(options.rounds, 2, options.largest, check=False)
        figures = {}
        for kind, clocked in (("alloc", tried.alloc), ("free", tried.free)):
            times = sorted(clocked.times)
            for share in (50, 99):
                figures[f"{kind} p{share}"] = times[len(times) * share // 100] / 1000
        figures["runs"] = tried.runs / tried.transfers
        measured[name] = figures
        del tried
        gc.collect()
    uninstall()
    return measured


if __name__ == "__main__":
    sys.exit(main())
