"""Vertices around which nothing crosses: a quick, certain test that spares most neighbours the exact one.

If all faces of a fan are seen from the same side along some direction, and turn around the vertex just once, the fan is
a graph over the plane across that direction: no two of its faces cross. The direction is the sum of the faces' normals,
taken as it comes out; only the volumes tested against it have rounding errors, and they have to be clearly positive.
"""

from __future__ import annotations

import numpy as np

from unsnarl.jit import in_threads, kernel, thread_count

# |computed - exact| < BOUND * |d| * L^2 for d . (a x b), with a and b differences of at most L in each coordinate: 6
# products of 3 factors, each with at most 6 roundings of 2^-53, and a factor of two to spare.
BOUND = 1e-14


def open_fans(x: np.ndarray, faces: np.ndarray, fan_start: np.ndarray, fan_faces: np.ndarray) -> np.ndarray:
    """(n,) bool, vertices with one fan none of whose faces cross; where it is False, they may or may not.

    x : (n, 3) `safe_positions`; the fans as in `mesh.topology.Topology`.
    """
    n = len(fan_start) - 1
    parts = 1 if n < 2000 else thread_count()
    out = np.zeros(n, dtype=np.bool_)
    in_threads(lambda k: _test(x, faces, fan_start, fan_faces, n * k // parts, n * (k + 1) // parts, out), parts)
    return out


@kernel
def _test(x, faces, fan_start, fan_faces, first, last, out):
    longest = 0
    for v in range(first, last):
        longest = max(longest, fan_start[v + 1] - fan_start[v])
    ring = np.empty((longest + 1, 3))  # the corners around the vertex, seen from it, in walking order
    for v in range(first, last):
        lo, hi = fan_start[v], fan_start[v + 1]
        if hi - lo >= 2:
            out[v] = _is_open(x, faces, fan_faces, v, lo, hi, ring)


@kernel
def _is_open(x, faces, fan_faces, v, lo, hi, ring):
    f, g = fan_faces[lo], fan_faces[lo + 1]
    k = 0 if faces[f, 0] == v else (1 if faces[f, 1] == v else 2)
    enter, leave = faces[f, (k + 1) % 3], faces[f, (k + 2) % 3]
    if leave != faces[g, 0] and leave != faces[g, 1] and leave != faces[g, 2]:
        enter, leave = leave, enter
    begin = enter
    size = 0.0
    for c in range(3):
        ring[0, c] = x[enter, c] - x[v, c]
        size = max(size, abs(ring[0, c]))
    d0 = d1 = d2 = 0.0
    for i in range(lo, hi):
        f = fan_faces[i]
        k = 0 if faces[f, 0] == v else (1 if faces[f, 1] == v else 2)
        p, q = faces[f, (k + 1) % 3], faces[f, (k + 2) % 3]
        if p == enter:
            leave = q
        elif q == enter:
            leave = p
        else:
            return False  # another fan begins here
        enter = leave
        j = i - lo
        for c in range(3):
            ring[j + 1, c] = x[leave, c] - x[v, c]
            size = max(size, abs(ring[j + 1, c]))
        d0 += ring[j, 1] * ring[j + 1, 2] - ring[j, 2] * ring[j + 1, 1]
        d1 += ring[j, 2] * ring[j + 1, 0] - ring[j, 0] * ring[j + 1, 2]
        d2 += ring[j, 0] * ring[j + 1, 1] - ring[j, 1] * ring[j + 1, 0]
    bound = BOUND * max(abs(d0), abs(d1), abs(d2)) * size * size
    beyond = False  # further than half a turn from the first corner
    for j in range(hi - lo):
        volume = (
            d0 * (ring[j, 1] * ring[j + 1, 2] - ring[j, 2] * ring[j + 1, 1])
            + d1 * (ring[j, 2] * ring[j + 1, 0] - ring[j, 0] * ring[j + 1, 2])
            + d2 * (ring[j, 0] * ring[j + 1, 1] - ring[j, 1] * ring[j + 1, 0])
        )
        if not volume > bound:
            return False
        if enter == begin and j == hi - lo - 1:
            break  # back at the first corner
        turn = (
            d0 * (ring[0, 1] * ring[j + 1, 2] - ring[0, 2] * ring[j + 1, 1])
            + d1 * (ring[0, 2] * ring[j + 1, 0] - ring[0, 0] * ring[j + 1, 2])
            + d2 * (ring[0, 0] * ring[j + 1, 1] - ring[0, 1] * ring[j + 1, 0])
        )
        if turn < -bound:
            beyond = True
        elif beyond and (turn > bound or enter != begin):
            return False  # a second turn, or (at a border) too near to a whole one
    return True
