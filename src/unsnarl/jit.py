"""How kernels are compiled: the flags of every Numba function in the project, in one place.

Kernels take C-contiguous float64 / int32 / int64 arrays only, so each compiles for one signature and is cached on
disk. No `fastmath`: the exact predicates rely on IEEE rounding, and results have to be the same bit for bit.
"""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

# Threads of `prange` loops with nothing to do stay awake for this many turns, some microseconds, before they sleep. By
# default it is much longer, and takes the cores from other threads, ours among them.
os.environ.setdefault("GOMP_SPINCOUNT", "2000")

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

kernel = numba.njit(cache=True, nogil=True, error_model="numpy")
inlined = numba.njit(cache=True, nogil=True, error_model="numpy", forceinline=True)  # small, called in hot loops
parallel = numba.njit(cache=True, nogil=True, error_model="numpy", parallel=True)  # `prange` loops; slow to compile


def floats(a) -> np.ndarray:
    """`a` as a C-contiguous float64 array (copied only if it is not one already)."""
    return np.ascontiguousarray(a, dtype=np.float64)


def ints(a) -> np.ndarray:
    """`a` as a C-contiguous int32 array (copied only if it is not one already)."""
    return np.ascontiguousarray(a, dtype=np.int32)


def announce_compilation(say=None) -> None:
    """Say once, at the first kernel that is not in the cache, that compiling has begun.

    say : called with one line of text; by default it is written to stderr.
    """
    from numba.core import event

    say = say or (lambda line: sys.stderr and print(line, file=sys.stderr, flush=True))

    class FirstCompilation(event.Listener):
        said = False

        def on_start(self, event):
            if not self.said:
                self.said = True
                say("unsnarl: compiling kernels for this machine (under a minute; they are kept for the next time) ...")

        def on_end(self, event):
            pass

    event.register("numba:compile", FirstCompilation())


def thread_count() -> int:
    """Threads to use: UNSNARL_THREADS if it is 1 to 256, or as many as there are cores for this process."""
    try:
        wanted = int(os.environ.get("UNSNARL_THREADS", "0"))
    except ValueError:
        wanted = 0
    if 1 <= wanted <= 256:
        return wanted
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def use_threads() -> None:
    """Have `parallel` kernels run on `thread_count()` threads, or on as many as Numba was started with."""
    numba.set_num_threads(min(thread_count(), numba.config.NUMBA_NUM_THREADS))


_pools: dict[int, ThreadPoolExecutor] = {}  # by number of threads; kept, since starting threads takes a while
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pools.clear)  # a child process has none of the threads


def in_threads(function, parts: int) -> list:
    """[function(0), ..., function(parts - 1)], in that order, on all threads.

    For kernels: they run without Python's lock. What a part returns must not depend on the other parts.
    """
    threads = min(thread_count(), parts)
    if threads == 1:
        return [function(part) for part in range(parts)]
    if threads not in _pools:
        _pools[threads] = ThreadPoolExecutor(threads, thread_name_prefix="unsnarl")
    futures = [_pools[threads].submit(function, part) for part in range(parts)]
    try:
        return [future.result() for future in futures]
    finally:  # after an interruption, parts that have not begun need not
        for future in futures:
            future.cancel()


# --- threads that go through a kernel in step ---

_SPINS = 2000  # turns that a thread waits for the others before it lets other processes have the core
_yield = types.ExternalFunction("sched_yield", types.int32()) if hasattr(os, "sched_yield") else None
_one_team = threading.Lock()  # two teams at a time could wait for each other's threads


@intrinsic
def _count(typing, address):
    """Add 1 to the int64 at an address, at once for all threads; returns what it was."""

    def code(context, builder, signature, args):
        pointer = builder.inttoptr(args[0], ir.IntType(64).as_pointer())
        return builder.atomic_rmw("add", pointer, ir.Constant(ir.IntType(64), 1), "seq_cst")

    return types.int64(types.uintp), code


@intrinsic
def _look(typing, address):
    """The int64 at an address, as the other threads have left it."""

    def code(context, builder, signature, args):
        pointer = builder.inttoptr(args[0], ir.IntType(64).as_pointer())
        return builder.load_atomic(pointer, "seq_cst", 8)

    return types.int64(types.uintp), code


@kernel
def meet(team, threads):
    """Wait until all threads of a team have come to this place. False: the team has been called off.

    Waking a thread that sleeps takes longer than a pass over a large vector, so they stay awake.
    """
    if threads == 1:
        return True
    goal = (_count(team) // threads + 1) * threads
    spins = 0
    while _look(team) < goal:
        spins += 1
        if spins > _SPINS:
            if _look(team + 8) != 0:
                return False
            _rest()
    return True


if _yield is not None:

    @kernel
    def _rest():
        _yield()

else:

    @kernel
    def _rest():
        pass


def as_team(function, threads: int) -> list:
    """[function(member, team) for each member], all at the same time; kernels in it may `meet(team, threads)`."""
    state = np.zeros(2, np.int64)  # how often members have come to a meeting; whether it is called off
    team = np.uintp(state.ctypes.data)
    if threads == 1:
        return [function(0, team)]
    with _one_team:
        try:
            return in_threads(lambda member: function(member, team), threads)
        except BaseException:
            state[1] = 1
            _left.append(state)  # a member may still look at it
            raise


_left: list[np.ndarray] = []
