"""Closest points of a point and a triangle, and of two edges, on degenerate ones too.

Both are the distance of the origin from a set of differences: a triangle seen from the point, or the parallelogram of
the differences between two edges. Where the foot of the origin lies inside, one small linear system finds it; where
that system is nearly singular the foot is found by a longer way and the whole border is tried as well, so that parallel
edges and triangles without area come out right. The distance returned is always that of the weights returned.
"""

from __future__ import annotations

import numpy as np

from unsnarl.jit import inlined, kernel

# Squared sine of an angle below which the linear system is not trusted alone. Its weights are off by about 2^-53 over
# this, along a direction in which the distance changes by the angle: a distance of zero is off by 2^-53 over the angle,
# relative to the size, and a larger one by the square of that.
FLAT = 1e-10


@inlined
def dot(a, b):
    """a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def cross(a, b):
    """a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inlined
def minus(a, b):
    """a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@inlined
def between(x, i, j):
    """The vector from vertex i to vertex j; x : (n, 3)."""
    return x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]


@inlined
def along(a, b, s):
    """a + s b."""
    return a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]


@inlined
def combine(a, b, c, u, v):
    """a + u b + v c."""
    return a[0] + u * b[0] + v * c[0], a[1] + u * b[1] + v * c[1], a[2] + u * b[2] + v * c[2]


@inlined
def _share(part, whole):
    """part / whole, kept between 0 and 1; whole >= 0 may be zero."""
    return 0.0 if part <= 0.0 else (1.0 if part >= whole else part / whole)


@inlined
def _foot(a, e, g):
    """(v, w): a + v e + w g is the point of the plane nearest to the origin, e and g being nearly parallel.

    The component of each vector across the longer of e and g is taken first: the point is then off by about 2^-53 of
    their size, where a cross product or a determinant would lose that much over the angle between them.
    """
    swap = dot(g, g) > dot(e, e)
    long, short = (g, e) if swap else (e, g)
    square = dot(long, long)
    if square == 0.0:
        return 0.0, 0.0
    across = along(short, long, -dot(short, long) / square)
    height = dot(across, across)
    t = -dot(along(a, long, -dot(a, long) / square), across) / height if height > 0.0 else 0.0
    s = -dot(along(a, short, t), long) / square
    return (t, s) if swap else (s, t)


@inlined
def nearest_on_triangle(a, e, g):
    """(v, w): a + v e + w g is the point nearest to the origin, of those with v, w >= 0 and v + w <= 1."""
    n = cross(e, g)
    nn = dot(n, n)
    v, w = dot(n, cross(g, a)), dot(n, cross(a, e))
    ee, gg = dot(e, e), dot(g, g)
    fine = nn > FLAT * ee * gg
    inside = v > 0.0 and w > 0.0 and v + w < nn
    if inside and fine:
        return v / nn, w / nn
    best, best_v, best_w = np.inf, 0.0, 0.0
    if w <= 0.0 or not fine:  # the nearest point is on an edge that the foot is beyond
        best_v = _share(-dot(a, e), ee)
        r = along(a, e, best_v)
        best = dot(r, r)
    if v <= 0.0 or not fine:
        s = _share(-dot(a, g), gg)
        r = along(a, g, s)
        if dot(r, r) < best:
            best, best_v, best_w = dot(r, r), 0.0, s
    if v + w >= nn or not fine:
        b, f = along(a, e, 1.0), minus(g, e)
        s = _share(-dot(b, f), dot(f, f))
        r = along(b, f, s)
        if dot(r, r) < best:
            best, best_v, best_w = dot(r, r), 1.0 - s, s
    if not fine:
        v, w = _foot(a, e, g)
        if v > 0.0 and w > 0.0 and v + w < 1.0:
            r = combine(a, e, g, v, w)
            if dot(r, r) <= best:
                return v, w
    return best_v, best_w


@inlined
def nearest_on_parallelogram(a, e, g):
    """(v, w): a + v e + w g is the point nearest to the origin, of those with 0 <= v, w <= 1."""
    ee, gg, eg = dot(e, e), dot(g, g), dot(e, g)
    ae, ag = dot(a, e), dot(a, g)
    det = ee * gg - eg * eg
    v = _share(eg * ag - gg * ae, det)  # Ericson 2005, §5.1.9: on lines, kept on one edge, then on the other
    w = _share(-ag - v * eg, gg)
    v = _share(-ae - w * eg, ee)
    if det > FLAT * ee * gg:
        return v, w
    r = combine(a, e, g, v, w)
    best = dot(r, r)
    v1, w1 = _foot(a, e, g)  # not cancelled out as the determinant is: edges that cross at a tiny angle
    if v1 > 0.0 and w1 > 0.0 and v1 < 1.0 and w1 < 1.0:
        r = combine(a, e, g, v1, w1)
        d = dot(r, r)
        if d < best:
            best, v, w = d, v1, w1
    for corner in range(4):
        if corner < 2:
            w1 = float(corner)
            v1 = _share(-ae - w1 * eg, ee)
        else:
            v1 = float(corner - 2)
            w1 = _share(-ag - v1 * eg, gg)
        r = combine(a, e, g, v1, w1)
        d = dot(r, r)
        if d < best:
            best, v, w = d, v1, w1
    return v, w


@kernel
def point_triangle(x, p, a, b, c):
    """(distance squared, u, v, w): the point u a + v b + w c of a triangle nearest to vertex p; u + v + w = 1.

    x : (n, 3) float64, positions [m]; p, a, b, c : vertices.
    """
    first, e, g = between(x, p, a), between(x, a, b), between(x, a, c)
    v, w = nearest_on_triangle(first, e, g)
    r = combine(first, e, g, v, w)
    return dot(r, r), 1.0 - (v + w), v, w  # 0 on the edge b c: v and w add up to 1 there, rounded


@kernel
def edge_edge(x, a, b, c, d):
    """(distance squared, s, t): (1 - s) a + s b and (1 - t) c + t d are the nearest points of two edges.

    x : (n, 3) float64, positions [m]; a, b and c, d : vertices.
    """
    first, e, g = between(x, a, c), between(x, b, a), between(x, c, d)
    s, t = nearest_on_parallelogram(first, e, g)
    r = combine(first, e, g, s, t)
    return dot(r, r), s, t
