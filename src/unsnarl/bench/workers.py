"""Work done in several processes, each on one thread: what comes of it does not depend on how many there are."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

from unsnarl.io.whole import remove_unfinished
from unsnarl.jit import use_threads


def worked_on(work: Callable, jobs: Sequence, workers: int, warm_up: Callable[[], None]) -> Iterator:
    """Yields work(job) for each job, in the order in which they are done.

    workers : processes; with 1 no other one is started
    warm_up : called in each process before its first job: kernels are compiled and loaded, so that it does not count
    """
    with one_thread():
        warm_up()
    if workers == 1:
        for job in jobs:
            with one_thread():
                done = work(job)
            yield done
        return
    fresh = multiprocessing.get_context("spawn")  # a copy of this process could not use threads that it has begun
    with ProcessPoolExecutor(workers, fresh, _begin, (warm_up,)) as pool:
        futures = [pool.submit(_alone, work, job) for job in jobs]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def one_thread():
    """Everything in here runs on one thread; afterwards there are as many as before."""
    before = os.environ.get("UNSNARL_THREADS")
    os.environ["UNSNARL_THREADS"] = "1"
    try:
        use_threads()
        with threadpool_limits(1):
            yield
    finally:
        if before is None:
            del os.environ["UNSNARL_THREADS"]
        else:
            os.environ["UNSNARL_THREADS"] = before
        use_threads()


def _alone(work: Callable, job):
    with one_thread():
        return work(job)


def _begin(warm_up: Callable[[], None]) -> None:
    """At the start of a process: it ends when it is interrupted, and when the one that started it does."""

    def leave(*_) -> None:
        remove_unfinished()
        os._exit(1)

    def follow() -> None:
        multiprocessing.parent_process().join()
        leave()

    signal.signal(signal.SIGINT, leave)
    threading.Thread(target=follow, daemon=True).start()
    with one_thread():
        warm_up()
