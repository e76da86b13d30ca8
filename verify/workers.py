"""Processes that share work, started so that nothing in the current folder can run in them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def shared(work: Callable[[_Item], _Result], items: Sequence[_Item], jobs: int) -> list[_Result]:
    """Give the result for each item, in order; `jobs` processes share them, one a core for 0.

    `work` is a module's function, or a partial of one. Paths in it should be absolute.
    """
    workers = min(jobs or os.cpu_count() or 1, len(items))
    if workers <= 1:
        return list(map(work, items))
    here = Path.cwd()
    # Fresh processes: a fork would share this one's threads and open pipes.
    context = get_context("spawn")
    with _elsewhere(here), ProcessPoolExecutor(workers, context, os.chdir, (here,)) as pool:
        return list(pool.map(work, items))


@contextmanager
def _elsewhere(here: Path) -> Iterator[None]:
    """Stand in an empty folder while there are processes.

    Each begins as `python -c ...`, which looks for modules in the current folder before all others:
    a judged repository with a `multiprocessing.py` at its top would run. So does the process that
    keeps track of semaphores, which may start at any time.
    """
    with tempfile.TemporaryDirectory(prefix="repot-") as empty:
        os.chdir(empty)
        try:
            yield
        finally:
            os.chdir(here)
