"""No edge gets much longer in one step: what the solve, linear as it is, stretches too far is drawn together again.

Where fine cloth falls onto something fast, a few edges turn so far within a step that their ends, moving in straight
lines, leave them much too long. Edge by edge these ends are moved towards each other, against their masses, so that
momentum is kept; constraints are kept too. [Provot 1995; Bridson, Fedkiw, Anderson 2002 §4.2] Where many edges are too
long, or it does not help, the step is too large for what happens in it: it fails.
"""

from __future__ import annotations

import numpy as np

from unsnarl.dynamics.pcg import Constraints
from unsnarl.jit import kernel

TEAR = 1.3  # times as long as it was, and as it is at rest, an edge gets in a step that does not fail
BACK = 1.05  # times as long it is made, where it is longer than that
FEW = 2e-3  # share of the edges that may be mended
SWEEPS = 30  # over the edges, at most


@kernel
def tears(x0, x1, edges, rest):
    """How many edges get more than TEAR times as long in one step as they were, and as they are at rest.

    x0, x1 : (n, 3) [m] before and after; edges : (e, 2) int32; rest : (e,) [m]
    """
    many = 0
    for e in range(edges.shape[0]):
        many += _square(x1, edges, e) > (TEAR * _allowed(x0, edges, rest, e)) ** 2
    return many


def mend(x0, x1, edges, rest, inverse_mass, constraints: Constraints) -> bool:
    """Change x1 (n, 3) so that it does not `tear`, moving nothing in the directions of its constraints.

    inverse_mass : (n,) [1/kg]. False: there are too many edges that are too long, or there still are some.
    """
    return _mend(x0, x1, edges, rest, inverse_mass, constraints.kept, constraints.free)


@kernel
def _square(x, edges, e):
    """The square of an edge's length."""
    i, j = edges[e, 0], edges[e, 1]
    return (x[i, 0] - x[j, 0]) ** 2 + (x[i, 1] - x[j, 1]) ** 2 + (x[i, 2] - x[j, 2]) ** 2


@kernel
def _allowed(x0, edges, rest, e):
    """The longer one of an edge's lengths before and at rest."""
    return max(rest[e], np.sqrt(_square(x0, edges, e)))


@kernel
def _mend(x0, x1, edges, rest, inverse_mass, kept, free):
    way = np.empty(3)
    ends = np.empty((2, 3))
    if tears(x0, x1, edges, rest) > FEW * edges.shape[0]:
        return False
    for _ in range(SWEEPS):
        done = True
        for e in range(edges.shape[0]):
            square = _square(x1, edges, e)
            limit = _allowed(x0, edges, rest, e)
            if square <= (TEAR * limit) ** 2:
                continue
            done = False
            length = np.sqrt(square)
            mobility = 0.0
            for k in range(2):
                v = edges[e, k]
                way[:] = (x1[edges[e, 1 - k]] - x1[v]) / length
                ends[k] = inverse_mass[v] * (free[v] @ way if kept[v] > 0 else way)
                mobility += ends[k] @ way
            if mobility <= 1e-9 * (inverse_mass[edges[e, 0]] + inverse_mass[edges[e, 1]]):
                return False  # neither end can be moved along the edge
            for k in range(2):
                x1[edges[e, k]] += ((length - BACK * limit) / mobility) * ends[k]
        if done:
            return True
    return False
