"""Processes that share work, started so that nothing in the current folder can run in them."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import TypeVar

from verify.history.memory import collect_less_often

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def shared(
    work: Callable[[_Item], _Result],
    items: Sequence[_Item],
    jobs: int,
    say: Callable[[int, int], None] | None = None,
) -> list[_Result]:
    """Give the result for each item, in order; `jobs` processes share them, one a core for 0.

    `work` is a module's function, or a partial of one. Paths in it should be absolute. `say` is
    told how many of how many are done.
    """
    workers = min(jobs or os.cpu_count() or 1, len(items))
    if workers <= 1:
        return list(_counted(map(work, items), len(items), say))
    here = Path.cwd()
    with (
        tempfile.TemporaryDirectory(prefix="repot-") as empty,
        _standing_in(empty, here),
        _processes(workers, here) as pool,
    ):
        return list(_counted(pool.map(work, items), len(items), say))


def _counted(
    results: Iterator[_Result], number: int, say: Callable[[int, int], None] | None
) -> Iterator[_Result]:
    for done in range(number):
        if say is not None:
            say(done, number)
        yield next(results)


@contextmanager
def meanwhile(
    work: Callable[[_Item], _Result], item: _Item, *, first: bool = False
) -> Iterator[Future[_Result]]:
    """Do `work` beside the block, in a process of its own where there is a core for one.

    Where there is none, or this process is itself one of several that share work, it is done first:
    a thread would gain nothing, and two threads that parse at once confuse CPython's parser
    (python/cpython#106905). So is work that is done sooner than a process has begun: `first`.
    """
    if first or parent_process() is not None or (os.cpu_count() or 1) == 1:
        yield _done(work, item)
        return
    here = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="repot-") as empty:
        with _standing_in(empty, here):  # the process begins when it is given its first work
            pool = _processes(1, here)
            result = pool.submit(work, item)
        with pool:
            yield result


def _done(work: Callable[[_Item], _Result], item: _Item) -> Future[_Result]:
    """Do it now; what it raises is raised by whoever asks for the result."""
    future: Future[_Result] = Future()
    try:
        future.set_result(work(item))
    except Exception as error:
        future.set_exception(error)
    return future


def _processes(count: int, folder: Path) -> ProcessPoolExecutor:
    """Fresh processes: a fork would share this one's threads and open pipes."""
    return ProcessPoolExecutor(count, get_context("spawn"), _begin, (folder,))


def _begin(folder: Path) -> None:
    """Stand where the work is, and end without a word when the person interrupts it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.chdir(folder)
    collect_less_often()


@contextmanager
def _standing_in(empty: str, here: Path) -> Iterator[None]:
    """Stand in an empty folder while processes begin.

    Each begins as `python -c ...`, which looks for modules in the current folder before all others:
    a judged repository with a `multiprocessing.py` at its top would run. So does the process that
    keeps track of semaphores, which may start at any time. They go to the folder once more before
    their work, so it must outlast them.
    """
    os.chdir(empty)
    try:
        yield
    finally:
        os.chdir(here)
