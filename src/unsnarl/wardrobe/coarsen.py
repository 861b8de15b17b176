"""A closed surface in as many triangles as are asked for, well shaped.

In rounds, short edges are collapsed, where the link condition allows it, edges are flipped until they are Delaunay, and
vertices move along the surface to the middle of their neighbours. A collapse under the link condition and a flip to an
edge that is not there yet keep a closed manifold what it is, so every number of triangles will do.

Half-edge 3 f + k leaves corner k of face f: `origin` is the vertex it leaves, `twin` the half-edge that runs the other
way, and `out` one half-edge that leaves each vertex.
"""

from __future__ import annotations

import heapq

import numpy as np

from unsnarl.jit import floats, inlined, ints, kernel

_ROUND = 0.5  # share of the triangles that a round leaves


def coarsened(x: np.ndarray, faces: np.ndarray, triangles: int, onto_surface, size: np.ndarray):
    """The same surface, x (n, 3) and faces (m, 3), in at most so many well-shaped triangles.

    onto_surface : function from points (k, 3) to points on the surface and normals there
    size         : (n,) wanted lengths of edges, up to a common factor
    """
    x, origin, size = floats(x).copy(), ints(faces).ravel().copy(), floats(size).copy()
    twin = twins(origin)
    out = np.empty(len(x), dtype=np.int32)
    while True:
        out[origin] = np.arange(len(origin), dtype=np.int32)
        wanted = max(triangles, int(_ROUND * len(origin) / 3))
        left = _collapse(x, origin, twin, out, size, wanted) if wanted < len(origin) // 3 else len(origin) // 3
        x, origin, twin, out, size = _packed(x, origin, twin, size)
        x, normals = onto_surface(x, 2)
        for _ in range(6 if left <= triangles else 1):
            _flip(x, origin, twin, out)
            x, normals = _relaxed(x, normals, origin, twin, onto_surface)
        if left <= triangles:
            _flip(x, origin, twin, out)
            return onto_surface(x, 3)[0], origin.reshape(-1, 3)
        if left > wanted + 1:
            raise RuntimeError(f"no edge can be collapsed any more: {left} triangles, {triangles} wanted")


def twins(origin: np.ndarray) -> np.ndarray:
    """(h,) int32, the half-edge that runs the other way, for half-edges that leave the vertices origin (h,)."""
    to = origin.reshape(-1, 3)[:, [1, 2, 0]].ravel()
    n = int(origin.max()) + 1
    there, back = origin.astype(np.int64) * n + to, to.astype(np.int64) * n + origin
    order = np.argsort(there)
    found = order[np.minimum(np.searchsorted(there[order], back), len(order) - 1)]
    if not (there[found] == back).all() or (np.diff(there[order]) == 0).any():
        raise RuntimeError("the surface is not a closed manifold")
    return ints(found)


def _packed(x, origin, twin, size):
    """Without the faces that are gone (their origin is -1) and the vertices that no face has."""
    alive = origin >= 0
    number = np.cumsum(alive) - 1
    used, origin = np.unique(origin[alive], return_inverse=True)
    out = np.empty(len(used), dtype=np.int32)
    out[origin] = np.arange(len(origin), dtype=np.int32)
    return floats(x[used]), ints(origin), ints(number[twin[alive]]), out, floats(size[used])


def _relaxed(x, normals, origin, twin, onto_surface):
    """Vertices moved half-way to the middle of their neighbours, along the surface; and the normals there."""
    to = origin[twin]
    count = np.bincount(origin)
    move = np.stack([np.bincount(origin, x[to, k]) / count for k in range(3)], axis=1) - x
    move -= np.einsum("ij,ij->i", move, normals)[:, None] * normals
    return onto_surface(x + 0.5 * move, 1)


@inlined
def _next(h):
    return h - h % 3 + (h + 1) % 3


@inlined
def _last(h):
    return h - h % 3 + (h + 2) % 3


@inlined
def _minus(p, q):
    return p[0] - q[0], p[1] - q[1], p[2] - q[2]


@inlined
def _dot(p, q):
    return p[0] * q[0] + p[1] * q[1] + p[2] * q[2]


@inlined
def _length(p):
    return np.sqrt(_dot(p, p))


@inlined
def _normal(a, b, c):
    """Across the face (a, b, c), as long as twice its area."""
    p, q = _minus(b, a), _minus(c, a)
    return p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]


@inlined
def _at(x, i):
    return x[i, 0], x[i, 1], x[i, 2]


@kernel
def _priority(x, origin, size, h):
    a, b = origin[h], origin[_next(h)]
    return _length(_minus(_at(x, a), _at(x, b))) / (size[a] + size[b])


@kernel
def _placed(x, origin, twin, h):
    """Where the edge is collapsed to: its middle or an end, whichever is nearest to the planes of the faces around."""
    a, b = _at(x, origin[h]), _at(x, origin[_next(h)])
    middle = 0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1]), 0.5 * (a[2] + b[2])
    at_middle, at_a, at_b = 0.0, 0.0, 0.0
    for start in (np.int64(h), np.int64(twin[h])):
        g = start
        while True:
            corner = _at(x, origin[g])
            normal = _normal(corner, _at(x, origin[_next(g)]), _at(x, origin[_last(g)]))
            area = _length(normal) + 1e-30
            at_middle += _dot(normal, _minus(middle, corner)) ** 2 / area
            at_a += _dot(normal, _minus(a, corner)) ** 2 / area
            at_b += _dot(normal, _minus(b, corner)) ** 2 / area
            g = np.int64(twin[_last(g)])
            if g == start:
                break
    if at_middle <= 1.5 * min(at_a, at_b):
        return middle
    return a if at_a <= at_b else b


@kernel
def _may_collapse(x, origin, twin, h, middle, seen, stamp):
    """The link condition, that the ends have two neighbours in common; and no face around may turn by 45 degrees."""
    back = np.int64(twin[h])
    common, around = 0, 0
    g = h
    while True:  # half-edges that leave one end
        seen[origin[_next(g)]] = stamp
        around += 1
        g = np.int64(twin[_last(g)])
        if g == h:
            break
    g = back
    while True:  # and those that leave the other
        common += seen[origin[_next(g)]] == stamp
        around += 1
        g = np.int64(twin[_last(g)])
        if g == back:
            break
    if common != 2 or around > 14:  # 4 less are left
        return False
    for start in (h, back):
        far = origin[twin[start]]
        g = start
        while True:
            i, j = origin[_next(g)], origin[_last(g)]
            if i != far and j != far:
                p, q = _at(x, i), _at(x, j)
                old, new = _normal(_at(x, origin[g]), p, q), _normal(middle, p, q)
                if not _dot(old, new) > 0.7 * _length(old) * _length(new):
                    return False
                longest = max(_length(_minus(middle, p)), _length(_minus(middle, q)), _length(_minus(p, q)))
                if _length(new) < 0.2 * longest * longest:  # a sliver
                    return False
            g = np.int64(twin[_last(g)])
            if g == start:
                break
    return True


@kernel
def _collapse(x, origin, twin, out, size, wanted):
    """Collapse edges, the shortest for their size first, until there are so many triangles; how many there are."""
    left = len(origin) // 3
    seen = np.full(len(x), -1, dtype=np.int64)
    heap = [(_priority(x, origin, size, h), h) for h in range(len(origin)) if h < twin[h]]
    heapq.heapify(heap)
    stamp = 0
    while left > wanted and len(heap) > 0:
        length, h = heapq.heappop(heap)
        if origin[h] < 0 or length != _priority(x, origin, size, h):
            continue
        a, b = origin[h], origin[_next(h)]
        middle = _placed(x, origin, twin, h)
        stamp += 1
        if not _may_collapse(x, origin, twin, h, middle, seen, stamp):
            continue
        start = np.int64(twin[h])
        g = start
        while True:  # b becomes a
            origin[g] = a
            g = np.int64(twin[_last(g)])
            if g == start:
                break
        x[a, 0], x[a, 1], x[a, 2] = middle
        size[a] = 0.5 * (size[a] + size[b])
        for k in (h, start):
            left -= 1
            p, q = twin[_next(k)], twin[_last(k)]
            twin[p], twin[q] = q, p
            out[origin[p]], out[origin[q]] = p, q
            origin[k] = origin[_next(k)] = origin[_last(k)] = -1
        start = np.int64(out[a])
        g = start
        while True:
            heapq.heappush(heap, (_priority(x, origin, size, g), g))
            g = np.int64(twin[_last(g)])
            if g == start:
                break
    return left


@kernel
def _flip(x, origin, twin, out):
    """Flip edges whose opposite angles are together above 180 degrees, where the surface is not bent much."""
    for _ in range(10):
        flips = 0
        for h in range(len(origin)):
            k = np.int64(twin[h])
            if h > k:
                continue
            h1, h2, k1, k2 = _next(h), _last(h), _next(k), _last(k)
            a, b, c, d = origin[h], origin[k], origin[h2], origin[k2]
            p, q, r, s = _at(x, a), _at(x, b), _at(x, c), _at(x, d)
            one, two = _normal(p, q, r), _normal(q, p, s)
            cotangents = _dot(_minus(p, r), _minus(q, r)) / _length(one) + _dot(_minus(p, s), _minus(q, s)) / _length(
                two
            )
            if cotangents > -1e-9:
                continue
            old = one[0] + two[0], one[1] + two[1], one[2] + two[2]
            new, other = _normal(p, s, r), _normal(q, r, s)
            if min(_dot(old, new) / _length(new), _dot(old, other) / _length(other)) < 0.7 * _length(old):
                continue
            start = np.int64(out[c])
            g = start
            there = False
            while True:
                there = there or origin[_next(g)] == d
                g = np.int64(twin[_last(g)])
                if g == start:
                    break
            if there:
                continue
            t, u = twin[h1], twin[k1]
            origin[h1], origin[k1] = d, c  # faces become (a, d, c) and (b, c, d)
            twin[h], twin[u], twin[k], twin[t], twin[h1], twin[k1] = u, h, t, k, k1, h1
            out[a], out[b], out[c], out[d] = h, k, h2, k2
            flips += 1
        if flips == 0:
            break
