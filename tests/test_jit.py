"""Teams of threads: they meet, they do not wait for those who do not come, and two teams do not get into each other."""

import threading
from functools import partial

import numpy as np
import pytest

from unsnarl.jit import as_team, kernel, meet


@kernel
def _in_step(me, team, threads, rounds, board):
    """How often another member was not where this one is, or -1 if it was called off."""
    wrong = 0
    for k in range(rounds):
        board[me] = k
        if not meet(team, threads):
            return -1
        for other in range(threads):
            wrong += board[other] != k
        if not meet(team, threads):
            return -1
    return wrong


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_all_are_in_step(monkeypatch, threads):
    monkeypatch.setenv("UNSNARL_THREADS", str(threads))
    board = np.zeros(threads, np.int64)
    assert as_team(lambda me, team: _in_step(me, team, threads, 300, board), threads) == [0] * threads


def test_a_member_that_fails_calls_the_team_off(monkeypatch):
    monkeypatch.setenv("UNSNARL_THREADS", "2")
    board, came = np.zeros(2, np.int64), []

    def part(me, team):
        if me == 0:
            raise RuntimeError("not today")
        came.append(_in_step(me, team, 2, 10, board))
        done.set()

    done = threading.Event()
    with pytest.raises(RuntimeError, match="not today"):
        as_team(part, 2)
    assert done.wait(20), "the other one still waits"
    assert came == [-1]
    assert as_team(lambda me, team: _in_step(me, team, 2, 10, board), 2) == [0, 0]


def test_two_teams_at_a_time(monkeypatch):
    monkeypatch.setenv("UNSNARL_THREADS", "2")
    found = []

    def run(board):
        for _ in range(20):
            found.append(as_team(lambda me, team: _in_step(me, team, 2, 50, board), 2))

    callers = [threading.Thread(target=partial(run, np.zeros(2, np.int64)), daemon=True) for _ in range(3)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
    assert not any(caller.is_alive() for caller in callers)
    assert found == [[0, 0]] * 60
