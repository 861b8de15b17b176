"""When moving things meet: a point and a triangle, or two edges, whose vertices move in straight lines. Never misses.

Two things are apart while the set of differences between their points keeps away from the origin. For a point and a
triangle this set is a triangle, for two edges a parallelogram: a(t) + v e(t) + w g(t), with corners that move linearly
in the time t from 0 to 1. Time is walked from 0, and only over intervals in which something proves the set to keep
farther from the origin than the separation:

- a direction that has all corners beyond it at both ends of the interval, hence throughout: the way to the nearest
  point. It also says how far it holds, so that things which only translate need one step (conservative advancement);
- a direction that turns, from the one at the beginning to that at the end of the interval: projections are then
  quadratic in t, and their Bézier coefficients bound them;
- the normal of the set, e(t) x g(t): the volume a . (e x g) is cubic in t, and while it is not zero nothing meets.

Where no proof goes on and the gap is down to the tolerance, they meet. Inclusion by boxes in (t, v, w) [Snyder 1992;
Wang et al. 2021] proves the same, but has to cut up the parameters v and w as well, and most of all for edges that
slide along each other; here nearest points are found directly and only time is cut. Every way out that is not a proof
(tolerance, too many steps, NaN) is a collision at the time up to which there is a proof, so nothing is missed and the
time is never too late.
"""

from __future__ import annotations

import numpy as np

from unsnarl.geometry.distance import (
    between,
    combine,
    cross,
    dot,
    minus,
    nearest_on_parallelogram,
    nearest_on_triangle,
)
from unsnarl.geometry.expansions import two_product, two_sum
from unsnarl.jit import floats, inlined, kernel

NO_COLLISION = 2.0  # a time that never comes

# Rounding, with L the largest coordinate of a corner (a difference of two positions) and r = 2^-53. A corner is off by
# r L from the subtraction; at time t, that is a + t (b - a), by 5 r L more. For a unit vector n, |n_x| + |n_y| + |n_z|
# <= sqrt(3), so a projection is off by sqrt(3) (1 + 5) r L, and 3 sqrt(3) r L from the dot product. The time itself is
# rounded by at most r, in which a corner moves 2 L r. In all 20 r L; n is no longer than 1 + 4 r.
DIRECTION_BOUND = 64 * 2.0**-53
LENGTH_BOUND = 1.0 + 2.0**-50
# The volume: a, e, g are at most L, 2 L, 2 L and off by 6 r L, 15 r L, 15 r L. 6 products of three factors of at most
# 4 L^3, each off by 4 L^3 (6 + 7.5 + 7.5 + 4) r, and two means over the Bézier coefficients: below 700 r L^3.
VOLUME_BOUND = 1024 * 2.0**-53
UNDERFLOW = 1e-290  # much more than what numbers below the smallest double add to the above

TOLERANCE = 1e-13  # gap that counts as none, relative to L
STEPS = 2000  # after which the answer is a collision
CLEARLY = 1e-6  # share of an edge, or of L in speed, that makes a second look at a collision useless

# The second look is in pairs of doubles, with errors of at most 2^-103 of the larger operand in each sum or product.
# Corners are exact, and a projection |n|_1 L has fewer than 40 of those.
PAIR_BOUND = 2.0**-94
PAIR_STEPS = 100
_NEXT = np.array([[1, 2, 0, 0], [1, 3, 0, 2]])  # corners in their order around a triangle and a parallelogram


@inlined
def _extent(a):
    return max(abs(a[0]), abs(a[1]), abs(a[2]))


@inlined
def _lowest(n, a, b, c, d):
    return min(min(dot(n, a), dot(n, b)), min(dot(n, c), dot(n, d)))


@inlined
def _moved(a, b, t):
    """The point at time t between a and b."""
    return a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]), a[2] + t * (b[2] - a[2])


@inlined
def _unit(n):
    length = np.sqrt(dot(n, n))
    scale = 1.0 / length if length > 0.0 else 0.0
    return n[0] * scale, n[1] * scale, n[2] * scale


@inlined
def _toward(triangle, a, b, c):
    """The unit vector from the origin to the nearest point of a triangle or parallelogram, and its (v, w).

    Inside, it is the normal; on a border, the part of the vector that is normal to that border: so the corners are at
    the right height even where the vector is so short that rounding has turned it.
    """
    e, g = minus(b, a), minus(c, a)
    if triangle:
        v, w = nearest_on_triangle(a, e, g)
        on_e, on_g = w == 0.0, v == 0.0
        across = v + w >= 1.0
    else:
        v, w = nearest_on_parallelogram(a, e, g)
        on_e, on_g = w == 0.0 or w == 1.0, v == 0.0 or v == 1.0
        across = False
    n = combine(a, e, g, v, w)
    if not (on_e or on_g or across):
        m = cross(e, g)
        if dot(m, m) > 1e-20 * dot(e, e) * dot(g, g):
            n = m if dot(m, a) > 0.0 else (-m[0], -m[1], -m[2])
    elif on_e + on_g + across == 1:
        f = e if on_e else (g if on_g else minus(g, e))
        ff = dot(f, f)
        if ff > 0.0:
            part = -dot(n, f) / ff
            n = combine(n, f, f, part, 0.0)
    return _unit(n), v, w


@inlined
def _coplanar_never(a, b, c, a1, b1, c1, size, separation):
    """Whether the plane of a triangle keeps farther than separation from the origin while its corners move."""
    e, g, e1, g1 = minus(b, a), minus(c, a), minus(b1, a1), minus(c1, a1)
    n, n2 = cross(e, g), cross(e1, g1)
    p, q = cross(e, g1), cross(e1, g)
    n1 = (0.5 * (p[0] + q[0]), 0.5 * (p[1] + q[1]), 0.5 * (p[2] + q[2]))
    h0, h3 = dot(a, n), dot(a1, n2)
    h1, h2 = (2.0 * dot(a, n1) + dot(a1, n)) / 3.0, (dot(a, n2) + 2.0 * dot(a1, n1)) / 3.0
    bound = VOLUME_BOUND * size * size * size + UNDERFLOW
    if separation > 0.0:
        longest = np.sqrt(max(dot(n, n), dot(n1, n1), dot(n2, n2))) + VOLUME_BOUND * size * size
        bound += separation * LENGTH_BOUND * longest
    return min(min(h0, h1), min(h2, h3)) > bound or max(max(h0, h1), max(h2, h3)) < -bound


@inlined
def _first_contact(triangle, a0, b0, c0, d0, a1, b1, c1, d1, separation):
    """(t, v, w, sure): when the set comes within the separation of the origin, and where; whether that is beyond doubt.

    a0, b0, c0, d0 : the corners at time 0, a1, ... at time 1; the fourth is the third again if it is a triangle.
    """
    size = max(max(_extent(a0), _extent(b0)), max(_extent(c0), _extent(d0)))
    size = max(size, max(max(_extent(a1), _extent(b1)), max(_extent(c1), _extent(d1))))
    enough = separation * LENGTH_BOUND + DIRECTION_BOUND * size + UNDERFLOW
    close = enough + TOLERANCE * size
    t = approach = 0.0
    a, b, c, d = a0, b0, c0, d0
    n, v, w = _toward(triangle, a, b, c)
    for _ in range(STEPS):
        ga, gb, gc, gd = dot(n, a), dot(n, b), dot(n, c), dot(n, d)
        low = min(min(ga, gb), min(gc, gd))
        if not low > close:
            break
        ha, hb, hc, hd = dot(n, a1), dot(n, b1), dot(n, c1), dot(n, d1)
        if min(min(ha, hb), min(hc, hd)) > enough:
            return NO_COLLISION, v, w, True
        sure = 1.0  # of the time that is left, the part for which n itself keeps them apart
        if ha < ga:
            sure = min(sure, (ga - enough) / (ga - ha))
        if hb < gb:
            sure = min(sure, (gb - enough) / (gb - hb))
        if hc < gc:
            sure = min(sure, (gc - enough) / (gc - hc))
        if hd < gd:
            sure = min(sure, (gd - enough) / (gd - hd))
        approach = (1.0 - v - w) * (ga - ha) + v * (gb - hb) + w * (gc - hc)
        part = 1.0 if approach <= low - enough else 0.9 * (low - enough) / approach
        left = 1.0 - t
        proved = False
        while part > 1.5 * sure:
            later = min(t + part * left, 1.0) if part < 1.0 else 1.0
            a2, b2, c2, d2 = _moved(a0, a1, later), _moved(b0, b1, later), _moved(c0, c1, later), _moved(d0, d1, later)
            m, v2, w2 = _toward(triangle, a2, b2, c2)
            if _lowest(m, a2, b2, c2, d2) > enough:
                mid = min(dot(m, a) + dot(n, a2), dot(m, b) + dot(n, b2))
                mid = min(mid, min(dot(m, c) + dot(n, c2), dot(m, d) + dot(n, d2)))
                proved = 0.5 * mid > enough or _coplanar_never(a, b, c, a2, b2, c2, size, separation)
                if proved:
                    break
            part *= 0.25
        if not proved:
            later = min(t + 0.999 * sure * left, 1.0)
            a2, b2, c2, d2 = _moved(a0, a1, later), _moved(b0, b1, later), _moved(c0, c1, later), _moved(d0, d1, later)
            m, v2, w2 = _toward(triangle, a2, b2, c2)
        elif later == 1.0:
            return NO_COLLISION, v2, w2, True
        if not later > t:
            break
        t, a, b, c, d, n, v, w = later, a2, b2, c2, d2, m, v2, w2
    if separation > 0.0:
        return t, v, w, True
    border = min(min(v, w), 1.0 - v - w if triangle else 1.0 - max(v, w))
    return t, v, w, border > CLEARLY and approach > CLEARLY * size


@kernel
def _plus(a, b):
    """a + b in pairs of doubles. (Joldes et al. 2017, algorithm 6)"""
    s, e = two_sum(a[0], b[0])
    f, g = two_sum(a[1], b[1])
    s, e = two_sum(s, e + f)
    return two_sum(s, e + g)


@kernel
def _times(a, b):
    """a * b in pairs of doubles. (algorithm 11)"""
    p, e = two_product(a[0], b[0])
    return two_sum(p, e + (a[0] * b[1] + a[1] * b[0]))


@kernel
def _less(a, b):
    """a - b in pairs of doubles."""
    return _plus(a, (-b[0], -b[1]))


@kernel
def _dot_pairs(a, b):
    """a . b of vectors of pairs, (3, 2)."""
    total = (0.0, 0.0)
    for k in range(3):
        total = _plus(total, _times((a[k, 0], a[k, 1]), (b[k, 0], b[k, 1])))
    return total


@kernel
def _cross_pairs(a, b, out):
    """a x b of vectors of pairs, (3, 2), into out."""
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        p = _times((a[i, 0], a[i, 1]), (b[j, 0], b[j, 1]))
        q = _times((a[j, 0], a[j, 1]), (b[i, 0], b[i, 1]))
        out[k, 0], out[k, 1] = _less(p, q)


@kernel
def _reach(n, now, end, size):
    """The part of the time from now to the end for which direction n keeps all corners beyond the origin; 0 if none.

    now, end : (m, 3, 2) corners, pairs of doubles.
    """
    bound = PAIR_BOUND * size * (abs(n[0, 0]) + abs(n[1, 0]) + abs(n[2, 0])) + UNDERFLOW
    part = 1.0
    for i in range(now.shape[0]):
        g, h = _dot_pairs(n, now[i])[0], _dot_pairs(n, end[i])[0]
        if not g > 2.0 * bound:
            return 0.0
        if not h > bound:
            part = min(part, 0.999 * (g - bound) / (g - h))
    return part


@kernel
def _first_touch(x0, x1, i, j, t):
    """The time from t on, up to which things are proved not to touch; by conservative advancement in pairs of doubles.

    For things that pass at less than a rounding error. Of the directions to the planes, lines and points of all
    faces, edges and corners of the set, the one that holds longest is followed.
    i, j : (3,) or (4,) vertices, between which the corners of the set are differences.
    """
    m = i.shape[0]
    start, end, now = np.empty((m, 3, 2)), np.empty((m, 3, 2)), np.empty((m, 3, 2))
    e, g, n = np.empty((3, 2)), np.empty((3, 2)), np.empty((3, 2))
    size = 0.0
    for c in range(m):
        for k in range(3):
            start[c, k, 0], start[c, k, 1] = two_sum(x0[j[c], k], -x0[i[c], k])
            end[c, k, 0], end[c, k, 1] = two_sum(x1[j[c], k], -x1[i[c], k])
            size = max(size, abs(start[c, k, 0]), abs(end[c, k, 0]))
    if not 1e-60 < size < 1e60:
        return t
    time = (t, 0.0)
    for _ in range(PAIR_STEPS):
        for c in range(m):
            for k in range(3):
                p = (start[c, k, 0], start[c, k, 1])
                now[c, k, 0], now[c, k, 1] = _plus(p, _times(time, _less((end[c, k, 0], end[c, k, 1]), p)))
        part = 0.0
        for c in range(m):
            part = max(part, _reach(now[c], now, end, size))
            other = _NEXT[m - 3, c]
            for k in range(3):
                e[k, 0], e[k, 1] = _less((now[other, k, 0], now[other, k, 1]), (now[c, k, 0], now[c, k, 1]))
            _cross_pairs(now[c], e, g)
            _cross_pairs(e, g, n)
            part = max(part, _reach(n, now, end, size))
        for k in range(3):
            p = (now[0, k, 0], now[0, k, 1])
            e[k, 0], e[k, 1] = _less((now[1, k, 0], now[1, k, 1]), p)
            g[k, 0], g[k, 1] = _less((now[2, k, 0], now[2, k, 1]), p)
        _cross_pairs(e, g, n)
        if _dot_pairs(n, now[0])[0] < 0.0:
            n *= -1.0
        part = max(part, _reach(n, now, end, size))
        if part == 1.0:
            return NO_COLLISION
        if part == 0.0:
            break
        time = _plus(time, _times((part, 0.0), _less((1.0, 0.0), time)))
    return time[0] if time[1] >= 0.0 else max(t, time[0] - 2.0**-53)


@inlined
def _apart(a0, b0, c0, d0, a1, b1, c1, d1, separation):
    """Whether a coordinate axis, or the normal at time 0, keeps the set farther than separation from the origin.

    Along an axis this is exact: a rounded difference is above the separation only if the difference is.
    """
    for k in range(3):
        if min(min(min(a0[k], b0[k]), min(c0[k], d0[k])), min(min(a1[k], b1[k]), min(c1[k], d1[k]))) > separation:
            return True
        if max(max(max(a0[k], b0[k]), max(c0[k], d0[k])), max(max(a1[k], b1[k]), max(c1[k], d1[k]))) < -separation:
            return True
    n = _unit(cross(minus(b0, a0), minus(c0, a0)))
    size = max(max(_extent(a0), _extent(b0)), max(_extent(c0), _extent(d0)))
    size = max(size, max(max(_extent(a1), _extent(b1)), max(_extent(c1), _extent(d1))))
    enough = separation * LENGTH_BOUND + DIRECTION_BOUND * size + UNDERFLOW
    if dot(n, a0) < 0.0:
        n = (-n[0], -n[1], -n[2])
    return min(_lowest(n, a0, b0, c0, d0), _lowest(n, a1, b1, c1, d1)) > enough


@inlined
def apart_point_triangle(x0, x1, p, a, b, c, separation):
    """True only if point p and triangle a b c certainly stay farther apart than separation: the cheap tests alone.

    Arguments as in `point_triangle_ccd`.
    """
    a0, b0, c0 = between(x0, p, a), between(x0, p, b), between(x0, p, c)
    a1, b1, c1 = between(x1, p, a), between(x1, p, b), between(x1, p, c)
    return _apart(a0, b0, c0, c0, a1, b1, c1, c1, separation)


@inlined
def apart_edge_edge(x0, x1, a, b, c, d, separation):
    """True only if edges a b and c d certainly stay farther apart than separation: the cheap tests alone.

    Arguments as in `edge_edge_ccd`.
    """
    a0, b0, c0, d0 = between(x0, a, c), between(x0, b, c), between(x0, a, d), between(x0, b, d)
    a1, b1, c1, d1 = between(x1, a, c), between(x1, b, c), between(x1, a, d), between(x1, b, d)
    return _apart(a0, b0, c0, d0, a1, b1, c1, d1, separation)


@kernel
def point_triangle_ccd(x0, x1, p, a, b, c, separation):
    """(t, v, w): when point p and triangle a b c first come within separation, and the point (1 - v - w) a + v b + w c.

    x0, x1     : (n, 3) float64, positions [m] at times 0 and 1, between which vertices move in straight lines
    p, a, b, c : vertices
    separation : [m], >= 0; zero is touching

    t is in [0, 1] and not later than the true time, or NO_COLLISION, which is never wrong. A collision is false only
    where they come within about 1e-13 of their size of the separation, or get too close for too long to decide.
    """
    a0, b0, c0 = between(x0, p, a), between(x0, p, b), between(x0, p, c)
    a1, b1, c1 = between(x1, p, a), between(x1, p, b), between(x1, p, c)
    if _apart(a0, b0, c0, c0, a1, b1, c1, c1, separation):
        return NO_COLLISION, 0.0, 0.0
    t, v, w, sure = _first_contact(True, a0, b0, c0, c0, a1, b1, c1, c1, separation)
    if not sure:
        t = _first_touch(x0, x1, np.array([p, p, p]), np.array([a, b, c]), t)
    return t, v, w


@kernel
def edge_edge_ccd(x0, x1, a, b, c, d, separation):
    """(t, s, r): when edges a b and c d first come within separation, at (1 - s) a + s b and (1 - r) c + r d.

    Arguments and promises as in `point_triangle_ccd`.
    """
    a0, b0, c0, d0 = between(x0, a, c), between(x0, b, c), between(x0, a, d), between(x0, b, d)
    a1, b1, c1, d1 = between(x1, a, c), between(x1, b, c), between(x1, a, d), between(x1, b, d)
    if _apart(a0, b0, c0, d0, a1, b1, c1, d1, separation):
        return NO_COLLISION, 0.0, 0.0
    t, s, r, sure = _first_contact(False, a0, b0, c0, d0, a1, b1, c1, d1, separation)
    if not sure:
        t = _first_touch(x0, x1, np.array([a, b, a, b]), np.array([c, c, d, d]), t)
    return t, s, r


def point_triangle_ccd_many(x0, x1, separation: float = 0.0) -> np.ndarray:
    """Times of k queries, (k,): x0, x1 : (k, 4, 3) positions [m] of the point and the triangle, as `point_triangle_ccd`."""
    return _many(True, floats(x0), floats(x1), float(separation))


def edge_edge_ccd_many(x0, x1, separation: float = 0.0) -> np.ndarray:
    """Times of k queries, (k,): x0, x1 : (k, 4, 3) positions [m] of the ends of two edges, as `edge_edge_ccd`."""
    return _many(False, floats(x0), floats(x1), float(separation))


@kernel
def _many(triangle, x0, x1, separation):
    out = np.empty(x0.shape[0])
    for i in range(x0.shape[0]):
        if triangle:
            out[i] = point_triangle_ccd(x0[i], x1[i], 0, 1, 2, 3, separation)[0]
        else:
            out[i] = edge_edge_ccd(x0[i], x1[i], 0, 1, 2, 3, separation)[0]
    return out
