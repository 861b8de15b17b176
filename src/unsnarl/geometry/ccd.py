"""When moving things meet: a point and a triangle, or two edges, whose vertices move in straight lines. Never misses.

Two things are apart while the set of differences between their points keeps away from the origin. For a point and a
triangle this set is a triangle, for two edges a parallelogram: a + v (b - a) + w (c - a), with corners that move
linearly in the time t from 0 to 1. Time is walked from 0 on, and only over intervals in which something proves that
the set keeps farther from the origin than the separation:

- a direction in which all corners are ahead at both ends of the interval, hence throughout: that to the nearest point.
  It says itself how far it holds, so things that only translate take one step (conservative advancement);
- a direction that turns, from the one at the beginning to that at the end of the interval: the heights of the corners
  are then quadratic in t, and their Bézier coefficients bound them;
- the normal of the set, quadratic in t: the volume that the set spans with the origin is cubic, bounded in the same
  way, and while it is not zero nothing meets.

Where the gap is down to the tolerance, they meet. Every way out that is not a proof, too many steps among them, is a
collision at the time up to which there is a proof: nothing is missed, and no time is too late. Inclusion by boxes in
(t, v, w) (Snyder 1992; Wang et al. 2021) looks at corners as well, but has to cut up v and w too, into very many boxes
where edges slide along each other; here only time is cut, since nearest points can be computed.

What seems to touch at a border of the set, where things may also pass each other at less than a rounding error, gets a
second look in pairs of doubles.
"""

from __future__ import annotations

import numpy as np

from unsnarl.geometry.distance import (
    along,
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
# r L from the subtraction, and by 5 r L more at time t, where it is a + t (b - a). A unit vector has |n|_1 <= sqrt(3),
# so a height is off by 6 sqrt(3) r L, by 3 sqrt(3) r L from the dot product, and by sqrt(3) r L where two are averaged.
# The time is rounded by at most r, in which a corner moves by 2 sqrt(3) r L. In all 21 r L. A unit vector is at most
# 1 + 5 r long: the separation is multiplied by that.
HEIGHT_BOUND = 64 * 2.0**-53
LENGTH_BOUND = 1.0 + 2.0**-50
# The volume a . (e x g): the vectors are at most L, 2 L, 2 L and off by 6 r L, 15 r L, 15 r L in each coordinate. It is
# 6 products of at most 4 L^3, each off by 4 L^3 (6 + 7.5 + 7.5 + 5) r, or a mean of such volumes: below 700 r L^3.
VOLUME_BOUND = 1024 * 2.0**-53
UNDERFLOW = 1e-290  # much more than what numbers below the smallest double add to all this

TOLERANCE = 1e-13  # gap that counts as none, relative to L
STEPS = 400  # before giving up; about ten are usual
GUESS = 0.99  # of the time until the nearest points would meet, how much is tried first
CLEARLY = 1e-6  # share of an edge from its end, and speed relative to L, above which a collision needs no second look

# Pairs of doubles: sums are off by at most 3 r^2 of the result, products by 7 r^2 (Joldes, Muller and Popescu 2017).
# Corners at times 0 and 1 are exact; at time t they are off by 23 r^2 L, heights in direction n by 36 r^2 L |n|_1.
PAIR_BOUND = 2.0**-94
PAIR_TOLERANCE = 2.0**-72
PAIR_STEPS = 32
RELEASE = 1e-9  # gap relative to L from which on doubles do again
LOOKS = 4
_AROUND = np.array([[1, 2, 0, 0], [1, 3, 0, 2]])  # the next corner around a triangle, and around a parallelogram


def point_triangle_ccd_many(x0, x1, separation: float = 0.0) -> np.ndarray:
    """(k,) times of k queries as in `point_triangle_ccd`.

    x0, x1 : (k, 4, 3) positions [m] at times 0 and 1 of the point and of the triangle
    """
    return _many(True, floats(x0), floats(x1), float(separation))


def edge_edge_ccd_many(x0, x1, separation: float = 0.0) -> np.ndarray:
    """(k,) times of k queries as in `edge_edge_ccd`.

    x0, x1 : (k, 4, 3) positions [m] at times 0 and 1 of the ends of the first and of the second edge
    """
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


@kernel
def point_triangle_ccd(x0, x1, p, a, b, c, separation):
    """(t, v, w): when point p and triangle a b c come within separation, and where: (1 - v - w) a + v b + w c.

    x0, x1     : (n, 3) float64, positions [m] at times 0 and 1; in between, vertices move in straight lines
    p, a, b, c : vertices
    separation : [m], >= 0; zero is touching

    t is in [0, 1] and not later than the true time; it is NO_COLLISION only if there is none. There may be a collision
    that is none where the distance gets within 1e-13 of the size to the separation, or keeps too close for too long.
    """
    a0, b0, c0 = between(x0, p, a), between(x0, p, b), between(x0, p, c)
    a1, b1, c1 = between(x1, p, a), between(x1, p, b), between(x1, p, c)
    if _apart(a0, b0, c0, c0, a1, b1, c1, c1, separation):
        return NO_COLLISION, 0.0, 0.0
    t = v = w = 0.0
    for _ in range(LOOKS):
        t, v, w, done = _first_contact(True, a0, b0, c0, c0, a1, b1, c1, c1, separation, t)
        if not done:
            t, v, w, done = _first_touch(x0, x1, np.array([p, p, p]), np.array([a, b, c]), t)
        if done:
            break
    return t, v, w


@kernel
def edge_edge_ccd(x0, x1, a, b, c, d, separation):
    """(t, v, w): when edges a b and c d come within separation, and where: at (1 - v) a + v b and (1 - w) c + w d.

    Arguments and promises as in `point_triangle_ccd`.
    """
    a0, b0, c0, d0 = between(x0, a, c), between(x0, b, c), between(x0, a, d), between(x0, b, d)
    a1, b1, c1, d1 = between(x1, a, c), between(x1, b, c), between(x1, a, d), between(x1, b, d)
    if _apart(a0, b0, c0, d0, a1, b1, c1, d1, separation):
        return NO_COLLISION, 0.0, 0.0
    t = v = w = 0.0
    for _ in range(LOOKS):
        t, v, w, done = _first_contact(False, a0, b0, c0, d0, a1, b1, c1, d1, separation, t)
        if not done:
            t, v, w, done = _first_touch(x0, x1, np.array([a, b, a, b]), np.array([c, c, d, d]), t)
        if done:
            break
    return t, v, w


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


@inlined
def _least(a, b, c, d):
    return min(min(a, b), min(c, d))


@inlined
def _most(a, b, c, d):
    return max(max(a, b), max(c, d))


@inlined
def _lowest(n, a, b, c, d):
    return _least(dot(n, a), dot(n, b), dot(n, c), dot(n, d))


@inlined
def _extent(a):
    return max(abs(a[0]), abs(a[1]), abs(a[2]))


@inlined
def _size(a0, b0, c0, d0, a1, b1, c1, d1):
    return max(
        _most(_extent(a0), _extent(b0), _extent(c0), _extent(d0)),
        _most(_extent(a1), _extent(b1), _extent(c1), _extent(d1)),
    )


@inlined
def _moved(a, b, t):
    """Where a point is at time t on its way from a to b."""
    return a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]), a[2] + t * (b[2] - a[2])


@inlined
def _unit(n):
    """n at length 1, or zero (which proves nothing) where it is too short for that."""
    length = np.sqrt(dot(n, n))
    scale = 1.0 / length if length > 1e-140 else 0.0
    return n[0] * scale, n[1] * scale, n[2] * scale


@inlined
def _plane_keeps_away(a, b, c, a1, b1, c1, size, separation):
    """Whether the plane of the set keeps farther than separation from the origin while a, b, c move to a1, b1, c1."""
    e, g, e1, g1 = minus(b, a), minus(c, a), minus(b1, a1), minus(c1, a1)
    n0, n2 = cross(e, g), cross(e1, g1)
    p, q = cross(e, g1), cross(e1, g)
    n1 = (0.5 * (p[0] + q[0]), 0.5 * (p[1] + q[1]), 0.5 * (p[2] + q[2]))
    h0, h3 = dot(a, n0), dot(a1, n2)
    h1, h2 = (2.0 * dot(a, n1) + dot(a1, n0)) / 3.0, (dot(a, n2) + 2.0 * dot(a1, n1)) / 3.0
    bound = VOLUME_BOUND * size * size * (size + separation) + UNDERFLOW
    b0 = b1 = b2 = 0.0  # the length of the normal, in Bézier coefficients as well
    if separation > 0.0:
        scale = separation * LENGTH_BOUND
        b0, b1, b2 = scale * np.sqrt(dot(n0, n0)), scale * np.sqrt(dot(n1, n1)), scale * np.sqrt(dot(n2, n2))
    m1, m2 = (b0 + 2.0 * b1) / 3.0, (2.0 * b1 + b2) / 3.0
    return _least(h0 - b0, h1 - m1, h2 - m2, h3 - b2) > bound or _most(h0 + b0, h1 + m1, h2 + m2, h3 + b2) < -bound


@inlined
def _apart(a0, b0, c0, d0, a1, b1, c1, d1, separation):
    """Whether a coordinate axis, or the plane of the set, shows that the set keeps away from the origin.

    a0, b0, c0, d0 : corners at time 0, a1, ... at time 1; the fourth of a triangle is the third again.
    Along an axis this is exact: a rounded difference is above the separation only if the difference is.
    """
    apart = False
    for k in range(3):
        low = min(_least(a0[k], b0[k], c0[k], d0[k]), _least(a1[k], b1[k], c1[k], d1[k]))
        high = max(_most(a0[k], b0[k], c0[k], d0[k]), _most(a1[k], b1[k], c1[k], d1[k]))
        apart |= (low > separation) | (high < -separation)
    if apart:
        return True
    return _plane_keeps_away(a0, b0, c0, a1, b1, c1, _size(a0, b0, c0, d0, a1, b1, c1, d1), separation)


@inlined
def _level(n, f, at):
    """n without its part along the border f, unless the border goes up from a corner; at : 0 and 1 are its corners."""
    slope, square = dot(n, f), dot(f, f)
    up = (at == 0.0 and slope >= 0.0) or (at == 1.0 and slope <= 0.0)
    return n if up or square == 0.0 else along(n, f, -slope / square)


@inlined
def _nearest(triangle, a, b, c):
    """(n, v, w): the unit vector from the origin to the nearest point of the set, and that point's parameters.

    Inside, that is the normal, and on a border the part normal to it; at a corner, no border goes down from there: so
    the corners are at the right height even where the way is so short that rounding has turned it.
    """
    e, g = minus(b, a), minus(c, a)
    if triangle:
        v, w = nearest_on_triangle(a, e, g)
        on_e, on_g, across = w == 0.0, v == 0.0, v + w >= 1.0
    else:
        v, w = nearest_on_parallelogram(a, e, g)
        on_e, on_g, across = w == 0.0 or w == 1.0, v == 0.0 or v == 1.0, False
    n = combine(a, e, g, v, w)
    if not (on_e or on_g or across):
        m = cross(e, g)
        if dot(m, m) > 1e-20 * dot(e, e) * dot(g, g):
            n = m if dot(m, a) > 0.0 else (-m[0], -m[1], -m[2])
    else:
        f = minus(g, e)
        corner = on_e + on_g + across > 1
        if on_e:
            n = _level(n, e, v if corner else 0.5)
        if on_g:
            n = _level(n, g, w if corner else 0.5)
        if across:
            n = _level(n, f, w if corner else 0.5)
    return _unit(n), v, w


@inlined
def _from(p, q):
    return -q / p if p > 0.0 else 0.0


@inlined
def _until(p, q):
    return np.inf if p > 0.0 else (-q / p if p < 0.0 < q else 0.0)


@inlined
def _turns(n, a1, b1, c1, d1, m, a, b, c, d, enough):
    """Whether a direction that turns from n to m keeps the corners higher than `enough` on their way from a to a1, ...

    It does at both ends; the middle Bézier coefficients are left. m may have any length f > 0, which bounds the length
    on the way by a linear function: (p - enough) f + (q - enough) > 0 for the heights p of a over m and q of a1 over n.
    So a direction can be found that stays normal to an edge, however the edge turns and stretches.
    """
    pa, pb, pc, pd = dot(m, a) - enough, dot(m, b) - enough, dot(m, c) - enough, dot(m, d) - enough
    qa, qb, qc, qd = dot(n, a1) - enough, dot(n, b1) - enough, dot(n, c1) - enough, dot(n, d1) - enough
    if _least(pa + qa, pb + qb, pc + qc, pd + qd) > 0.0:
        return True
    low = _most(_from(pa, qa), _from(pb, qb), _from(pc, qc), _from(pd, qd))
    high = _least(_until(pa, qa), _until(pb, qb), _until(pc, qc), _until(pd, qd))
    if not low < high:
        return False
    f = min(0.5 * (low + high), 2.0 * low + 1.0)
    return _least(f * pa + qa, f * pb + qb, f * pc + qc, f * pd + qd) > 0.0


@inlined
def _holds(height, end, enough):
    """The share of the time that is left in which a corner gets from its height down to `enough`; end: its last."""
    return (height - enough) / (height - end) if end < enough else 1.0


@inlined
def _first_contact(triangle, a0, b0, c0, d0, a1, b1, c1, d1, separation, t):
    """(t, v, w, done): when the set comes within separation of the origin, and where; whether it is final.

    It is not where separation is 0 and they may as well pass each other closely.
    a0, b0, c0, d0 : corners at time 0, a1, ... at time 1; the fourth of a triangle is the third again
    t              : the time up to which there is a proof already
    """
    size = _size(a0, b0, c0, d0, a1, b1, c1, d1)
    enough = separation * LENGTH_BOUND + HEIGHT_BOUND * size + UNDERFLOW  # a height above this is above the separation
    close = enough + TOLERANCE * size
    longest, approach, given_up = 1.0, 0.0, True
    a, b, c, d = _moved(a0, a1, t), _moved(b0, b1, t), _moved(c0, c1, t), _moved(d0, d1, t)
    n, v, w = _nearest(triangle, a, b, c)
    for _ in range(STEPS):
        ga, gb, gc, gd = dot(n, a), dot(n, b), dot(n, c), dot(n, d)
        low = _least(ga, gb, gc, gd)
        if not low > close:
            given_up = False
            break
        ha, hb, hc, hd = dot(n, a1), dot(n, b1), dot(n, c1), dot(n, d1)
        left = 1.0 - t
        sure = _least(_holds(ga, ha, enough), _holds(gb, hb, enough), _holds(gc, hc, enough), _holds(gd, hd, enough))
        if sure == 1.0:
            return NO_COLLISION, v, w, True
        sure *= left  # for so long, n itself keeps them apart
        approach = (1.0 - v - w) * (ga - ha) + v * (gb - hb) + w * (gc - hc)
        gap = low - enough
        hope = min(left if approach <= gap else GUESS * left * gap / approach, longest)
        proved = False
        while hope > 1.5 * sure and not proved:
            later = t + hope if hope < left else 1.0
            a2, b2, c2, d2 = _moved(a0, a1, later), _moved(b0, b1, later), _moved(c0, c1, later), _moved(d0, d1, later)
            m, v2, w2 = _nearest(triangle, a2, b2, c2)
            if _lowest(m, a2, b2, c2, d2) > enough:
                proved = _turns(n, a2, b2, c2, d2, m, a, b, c, d, enough)
                proved = proved or _plane_keeps_away(a, b, c, a2, b2, c2, size, separation)
            if not proved:
                hope *= 0.25
        if not proved:
            hope = sure
            later = t + 0.999999 * sure
            a2, b2, c2, d2 = _moved(a0, a1, later), _moved(b0, b1, later), _moved(c0, c1, later), _moved(d0, d1, later)
            m, v2, w2 = _nearest(triangle, a2, b2, c2)
        elif later == 1.0:
            return NO_COLLISION, v2, w2, True
        if not later > t:
            given_up = False
            break
        longest = 8.0 * hope
        t, a, b, c, d, n, v, w = later, a2, b2, c2, d2, m, v2, w2
    inside = min(min(v, w), 1.0 - v - w if triangle else 1.0 - max(v, w))
    clear = inside > CLEARLY and approach > CLEARLY * size
    return t, v, w, given_up or separation > 0.0 or clear


@kernel
def _plus(a, b):
    """a + b of pairs of doubles. (Joldes et al., algorithm 6)"""
    s, e = two_sum(a[0], b[0])
    f, g = two_sum(a[1], b[1])
    s, e = two_sum(s, e + f)
    return two_sum(s, e + g)


@kernel
def _less(a, b):
    """a - b of pairs of doubles."""
    return _plus(a, (-b[0], -b[1]))


@kernel
def _times(a, b):
    """a * b of pairs of doubles. (algorithm 10)"""
    p, e = two_product(a[0], b[0])
    return two_sum(p, e + (a[0] * b[1] + a[1] * b[0]))


@kernel
def _minus_pairs(a, b, out):
    """a - b of vectors of pairs, (3, 2), into out."""
    for k in range(3):
        out[k, 0], out[k, 1] = _less((a[k, 0], a[k, 1]), (b[k, 0], b[k, 1]))


@kernel
def _dot_pairs(a, b):
    """a . b of vectors of pairs, (3, 2)."""
    p, q = _times((a[0, 0], a[0, 1]), (b[0, 0], b[0, 1])), _times((a[1, 0], a[1, 1]), (b[1, 0], b[1, 1]))
    return _plus(_plus(p, q), _times((a[2, 0], a[2, 1]), (b[2, 0], b[2, 1])))


@kernel
def _cross_pairs(a, b, out):
    """a x b of vectors of pairs, (3, 2), into out."""
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        p = _times((a[i, 0], a[i, 1]), (b[j, 0], b[j, 1]))
        out[k, 0], out[k, 1] = _less(p, _times((a[j, 0], a[j, 1]), (b[i, 0], b[i, 1])))


@kernel
def _way(feature, at, spare, n):
    """The way from the origin to the point, line or plane of one feature, of any length, into n (3, 2).

    feature : a corner; m + a corner: the border from there; 2 m: the plane
    at      : (m, 3, 2) corners
    """
    m = at.shape[0]
    e, g = spare[0], spare[1]
    if feature < m:
        n[:] = at[feature]
    elif feature < 2 * m:
        c = feature - m
        _minus_pairs(at[_AROUND[m - 3, c]], at[c], e)
        _cross_pairs(at[c], e, g)
        _cross_pairs(e, g, n)
    else:
        _minus_pairs(at[1], at[0], e)
        _minus_pairs(at[2], at[0], g)
        _cross_pairs(e, g, n)
        if _dot_pairs(n, at[0])[0] < 0.0:
            n *= -1.0


@kernel
def _share(n, now, last, size, v, w):
    """(share, expected, low): for which share of the time that is left direction n keeps the corners ahead, 0 if not at
    all; for which it would if only the point (v, w) of the set mattered; and how far ahead they are, relative to size.

    now, last : (m, 3, 2) corners now and at time 1
    """
    length = abs(n[0, 0]) + abs(n[1, 0]) + abs(n[2, 0])
    bound = PAIR_BOUND * size * length
    share, low, approach = 1.0, np.inf, 0.0
    for c in range(now.shape[0]):
        height, end = _dot_pairs(n, now[c])[0], _dot_pairs(n, last[c])[0]
        if not height > PAIR_TOLERANCE * size * length:
            return 0.0, 0.0, 0.0
        if not end > bound:
            share = min(share, (1.0 - 2.0**-40) * (height - bound) / (height - end))
        low = min(low, height)
        approach += (1.0 - v - w if c == 0 else (v if c == 1 else (w if c == 2 else 0.0))) * (height - end)
    return share, 1.0 if approach <= low else low / approach, low / (size * length)


@kernel
def _turns_pairs(n, now, m, then, size):
    """`_turns` for separation 0, from n with all corners ahead now to m."""
    for_n = PAIR_BOUND * size * (abs(n[0, 0]) + abs(n[1, 0]) + abs(n[2, 0]))
    for_m = PAIR_BOUND * size * (abs(m[0, 0]) + abs(m[1, 0]) + abs(m[2, 0]))
    low, high = 0.0, np.inf
    for c in range(now.shape[0]):
        if not _dot_pairs(m, then[c])[0] > for_m:
            return False
        p, q = _dot_pairs(m, now[c])[0] - for_m, _dot_pairs(n, then[c])[0] - for_n
        low, high = max(low, _from(p, q)), min(high, _until(p, q))
    return low < (1.0 - 2.0**-40) * high


@kernel
def _corners(first, last, time, out):
    """The corners (m, 3, 2) at a time, a pair of doubles, into out."""
    for c in range(first.shape[0]):
        for k in range(3):
            p = (first[c, k, 0], first[c, k, 1])
            out[c, k, 0], out[c, k, 1] = _plus(p, _times(time, _less((last[c, k, 0], last[c, k, 1]), p)))


@kernel
def _rounded(a):
    """The nearest doubles to a vector of pairs."""
    return a[0, 0], a[1, 0], a[2, 0]


@kernel
def _first_touch(x0, x1, i, j, t):
    """(t, v, w, done) as `_first_contact` for separation 0, in pairs of doubles, until they are apart again.

    Of the ways to all corners, borders and the plane of the set, the one that keeps the corners ahead for longest is
    taken, and followed as it turns.
    i, j : (3,) or (4,) vertices; the corners of the set are the differences between them.
    """
    m = i.shape[0]
    first, last, now, then = np.empty((m, 3, 2)), np.empty((m, 3, 2)), np.empty((m, 3, 2)), np.empty((m, 3, 2))
    n, turned, spare = np.empty((3, 2)), np.empty((3, 2)), np.empty((2, 3, 2))
    size = 0.0
    for c in range(m):
        for k in range(3):
            first[c, k, 0], first[c, k, 1] = two_sum(x0[j[c], k], -x0[i[c], k])
            last[c, k, 0], last[c, k, 1] = two_sum(x1[j[c], k], -x1[i[c], k])
            size = max(size, abs(first[c, k, 0]), abs(last[c, k, 0]))
    time = (t, 0.0)
    v = w = 0.0
    feature = 0
    for _ in range(PAIR_STEPS):
        _corners(first, last, time, now)
        a, b, c = _rounded(now[0]), _rounded(now[1]), _rounded(now[2])
        if m == 3:
            v, w = nearest_on_triangle(a, minus(b, a), minus(c, a))
        else:
            v, w = nearest_on_parallelogram(a, minus(b, a), minus(c, a))
        left = _less((1.0, 0.0), time)
        _way(feature, now, spare, n)
        share, expected, low = _share(n, now, last, size, v, w)
        if low > RELEASE:
            return max(t, time[0] - 2.0**-53), v, w, False
        if share < 0.5 * expected:
            later = _plus(time, _times((0.999 * expected, 0.0), left)) if expected < 1.0 else (1.0, 0.0)
            _corners(first, last, later, then)
            _way(feature, then, spare, turned)
            if _turns_pairs(n, now, turned, then, size):
                if expected == 1.0:
                    return NO_COLLISION, v, w, True
                time = later
                continue
        if share < 0.5 * expected or share == 0.0:
            for f in range(2 * m + 1):
                _way(f, now, spare, n)
                other = _share(n, now, last, size, v, w)[0]
                if other > share:
                    feature, share = f, other
        if share == 1.0:
            return NO_COLLISION, v, w, True
        if share == 0.0 or not 1e-60 < size < 1e60:
            break
        time = _plus(time, _times((share, 0.0), left))
    return max(t, time[0] if time[1] >= 0.0 else time[0] - 2.0**-53), v, w, True
