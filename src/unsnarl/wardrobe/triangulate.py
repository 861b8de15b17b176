"""Flat panels cut into triangles for cloth: even inside, and exactly the outline's sides around.

The outline is first cut into triangles by clipping ears, which always succeeds on a simple polygon. Every later step
keeps a triangulation of the panel: a point is put into a face, an edge between two faces is flipped, or an inner vertex
is moved within its star. Points come from a triangular lattice that stays clear of the outline; where sides are shorter
or longer than the wanted edge, centres of circumcircles that are too large for the sides around them are added. Flips
make the triangulation constrained Delaunay (Lawson 1977). They are done only where the sign of the circle test is
certain, so that each one truly lowers the surface lifted to the paraboloid, and they end. Which side of a line a point
is on is decided exactly, so that no face is ever turned over.
"""

from __future__ import annotations

import numpy as np

from unsnarl.errors import BadInput
from unsnarl.geometry.predicates import ROUNDING, orient2d_exact
from unsnarl.jit import floats, kernel

_MOST = 2_000_000  # triangles
_MOST_SIDES = 50_000
_CIRCLE_BOUND = (10.0 + 96.0 * ROUNDING) * ROUNDING  # Shewchuk 1997, §4.4
_ROW = 0.5 * np.sqrt(3)  # between the rows of a lattice of spacing 1
_CLEAR = 0.3  # lattice points are so far from a side, times its length and the wanted edge together
_LARGE = 0.8  # of a circumradius, in wanted lengths there; 0.577 if all edges have the wanted length
_SHARP = 1.25  # of a circumradius, in shortest edges: angles below 24 degrees
_LEAST = 0.25  # but no edge shorter than so many wanted ones is made for that
_ROUNDS = 10  # of smoothing
_FAIR = 0.55  # quality of faces with which a chord may be replaced; 1 if equilateral
_GOOD = 0.8  # quality of a face that may get worse while its neighbours get better


def triangulate(outline: np.ndarray, edge: float) -> tuple[np.ndarray, np.ndarray]:
    """Cut a panel into triangles.

    outline : (k, 2) [m], a simple polygon, either way round. Its points become the first k points, bit for bit, and its
              sides the boundary edges: none is divided, since a side is sewn to another panel point by point
    edge    : wanted length of the edges inside [m]; sides may be about 0.3 to 2 times as long

    Returns points (n, 2) float64 [m], and faces (m, 3) int32, all counter-clockwise.
    """
    outline, edge, turned = _checked(outline, edge)
    k = len(outline)
    x = outline[::-1] if turned else outline
    low, high = x.min(axis=0), x.max(axis=0)
    half = np.ceil((high - low) / (edge * np.array([2, 2 * _ROW]))).astype(np.int64) + 1
    centre = low + 0.5 * (high - low)  # the lattice is as symmetric as the panel
    free = _lattice(floats(x), centre, half, edge)
    row, column = np.nonzero(free)
    inner = centre + edge * np.stack([column - half[0] + 0.5 * ((row - half[1]) % 2), (row - half[1]) * _ROW], axis=1)
    number = np.where(free, np.cumsum(free).reshape(free.shape) - 1 + k, -1)
    hint = np.maximum(number[row, column - 1], number[row - 1, column])  # a vertex nearby; none on the grid's rim

    room = k + 2 * len(inner) + 4 * k + 64
    points, size = np.empty((room, 2)), np.full(room, edge)
    points[:k], points[k : k + len(inner)] = x, inner
    side = np.linalg.norm(np.roll(x, -1, axis=0) - x, axis=1)
    size[:k] = np.maximum(0.5 * (side + np.roll(side, 1)), _LEAST * edge)
    faces, across = np.empty((2 * room, 3), dtype=np.int32), np.empty((2 * room, 3), dtype=np.int32)
    _ears(points, k, faces, across)
    n = _build(points, size, faces, across, k, k + len(inner), hint, edge)
    points, faces = points[:n].copy(), faces[: 2 * n - k - 2].copy()
    points[:k] = outline
    if turned:
        faces = np.where(faces < k, k - 1 - faces, faces).astype(np.int32)
    return points, faces


def _checked(outline, edge) -> tuple[np.ndarray, float, bool]:
    """The outline and the edge as floats, and whether the outline runs clockwise; or BadInput."""
    try:
        outline = floats(outline)
    except (TypeError, ValueError):
        outline = np.empty(0)
    if outline.ndim != 2 or outline.shape[1] != 2 or not 3 <= len(outline) <= _MOST_SIDES:
        raise BadInput(f"an outline needs 3 to {_MOST_SIDES:,} points of 2 coordinates")
    if not np.isfinite(outline).all():
        raise BadInput(f"outline: point {np.flatnonzero(~np.isfinite(outline).all(axis=1))[0]} is not finite")
    extent = np.abs(outline)
    if (extent > 1e60).any() or ((extent < 1e-60) & (extent > 0)).any():
        raise BadInput("outline: coordinates must be zero or between 1e-60 and 1e60 m")
    if not (np.isscalar(edge) and np.isreal(edge) and np.isfinite(edge) and edge > 0):
        raise BadInput(f"edge must be a positive length, not {edge}")
    order = np.lexsort(outline.T)
    same = (outline[order[1:]] == outline[order[:-1]]).all(axis=1)
    if same.any():
        i = np.flatnonzero(same)[0]
        raise BadInput("outline: points {} and {} are the same".format(*sorted(order[i : i + 2].tolist())))
    width = np.linalg.svd(outline - outline.mean(axis=0), compute_uv=False)
    if width[1] <= 1e-12 * width[0]:
        raise BadInput("outline: its points lie on a line, it has no area")
    following = np.roll(outline, -1, axis=0)
    i, j = _first_crossing(outline, np.argsort(np.minimum(outline, following)[:, 0], kind="stable"))
    if i >= 0:
        raise BadInput(f"outline: the sides after points {min(i, j)} and {max(i, j)} touch or cross")
    if edge < 1e-9 * extent.max():
        raise BadInput(f"outline: edges of {edge:g} m are too short for coordinates of {extent.max():g} m")
    x, y = ((outline - outline[0]) / edge).T
    area = 0.5 * abs(np.sum(x * (np.roll(y, -1) - np.roll(y, 1))))
    if area > 0.5 * _ROW * _MOST or (np.ptp(x) + 4) * (np.ptp(y) + 4) > 10 * _MOST:
        raise BadInput(f"outline: edges of {edge:g} m make more than {_MOST:,} triangles")
    first = order[0]  # an extreme point, where the outline turns as it does on the whole
    p, q, r = outline[first - 1], outline[first], following[first]
    return outline, float(edge), orient2d_exact(p[0], p[1], q[0], q[1], r[0], r[1]) < 0


@kernel
def _turn(x, a, b, c):
    """The exact sign of the area of a, b, c."""
    return orient2d_exact(x[a, 0], x[a, 1], x[b, 0], x[b, 1], x[c, 0], x[c, 1])


@kernel
def _first_crossing(x, order):
    """Two sides of the closed polygon x that have a point in common which is not the end of both; or (-1, -1)."""
    k = len(x)
    for place in range(k):
        a = order[place]
        b = (a + 1) % k
        right = max(x[a, 0], x[b, 0])
        low, high = min(x[a, 1], x[b, 1]), max(x[a, 1], x[b, 1])
        for other in range(place + 1, k):
            c = order[other]
            d = (c + 1) % k
            if min(x[c, 0], x[d, 0]) > right:
                break
            if max(x[c, 1], x[d, 1]) < low or min(x[c, 1], x[d, 1]) > high:
                continue
            if b == c or d == a:  # neighbours: they have a point in common, and may not lie upon each other
                p, q, r = (a, b, d) if b == c else (c, d, b)
                back = (x[p, 0] - x[q, 0]) * (x[r, 0] - x[q, 0]) + (x[p, 1] - x[q, 1]) * (x[r, 1] - x[q, 1])
                if back > 0 and _turn(x, p, q, r) == 0:
                    return a, c
            elif _turn(x, a, b, c) * _turn(x, a, b, d) <= 0 and _turn(x, c, d, a) * _turn(x, c, d, b) <= 0:
                return a, c  # on one line too: the boxes meet
    return -1, -1


@kernel
def _ears(x, k, faces, across):
    """Cut the simple counter-clockwise polygon of the first k points into k - 2 faces.

    An ear is a convex point whose triangle with its neighbours has no other point in it or on its rim; if there is one,
    then one that is not convex. A simple polygon always has an ear, and without it is simple again.
    across : (m, 3) gets the face across the side opposite to each corner, -1 if there is none
    """
    before, after = np.arange(-1, k - 1) % k, np.arange(1, k + 1) % k
    beyond = np.full(k, -1)  # the face across the side from each point to the next
    convex = np.empty(k, np.bool_)
    for b in range(k):
        convex[b] = _turn(x, before[b], b, after[b]) > 0
    blunt = np.flatnonzero(~convex)
    b = 0
    for f in range(k - 2):
        while not (convex[b] and _is_ear(x, before[b], b, after[b], convex, blunt)):
            b = after[b]
        a, c = before[b], after[b]
        faces[f, 0], faces[f, 1], faces[f, 2] = a, b, c
        across[f, 0], across[f, 1], across[f, 2] = beyond[b], beyond[c] if f == k - 3 else -1, beyond[a]
        for g in across[f]:
            if g >= 0:
                across[g, 1] = f
        beyond[a], after[a], before[c] = f, c, a
        convex[a], convex[c] = _turn(x, before[a], a, c) > 0, _turn(x, a, c, after[c]) > 0
        b = after[c]


@kernel
def _is_ear(x, a, b, c, convex, blunt):
    """Whether no point that is not convex lies in a, b, c or on its rim."""
    left, right = min(x[a, 0], x[b, 0], x[c, 0]), max(x[a, 0], x[b, 0], x[c, 0])
    for p in blunt:
        near = left <= x[p, 0] <= right and not convex[p] and p not in (a, c)
        if near and _turn(x, a, b, p) >= 0 and _turn(x, b, c, p) >= 0 and _turn(x, c, a, p) >= 0:
            return False
    return True


@kernel
def _lattice(x, centre, half, edge):
    """Which points of a triangular lattice are inside the polygon x and clear of its sides: (rows, columns) bool.

    Row j is at centre + (j - half[1]) rows, column i at (i - half[0]) edges, and half an edge further in odd rows.
    """
    row = _ROW * edge
    rows, columns = 2 * half[1] + 1, 2 * half[0] + 1
    inside, close = np.zeros((rows, columns), np.bool_), np.zeros((rows, columns), np.bool_)
    for a in range(len(x)):
        b = (a + 1) % len(x)
        ux, uy = x[b, 0] - x[a, 0], x[b, 1] - x[a, 1]
        clear = _CLEAR * (edge + np.hypot(ux, uy))
        low, high = min(x[a, 1], x[b, 1]) - clear, max(x[a, 1], x[b, 1]) + clear
        left, right = min(x[a, 0], x[b, 0]) - clear, max(x[a, 0], x[b, 0]) + clear
        j0, j1 = int((low - centre[1]) / row) + half[1] - 1, int((high - centre[1]) / row) + half[1] + 1
        for j in range(max(0, j0), min(rows, j1 + 1)):
            y = centre[1] + (j - half[1]) * row
            start = centre[0] + edge * (0.5 * ((j - half[1]) % 2) - half[0])
            if (x[a, 1] <= y) != (x[b, 1] <= y):
                i = int(np.ceil((x[a, 0] + (y - x[a, 1]) / uy * ux - start) / edge))
                if i < columns:
                    inside[j, max(i, 0)] ^= True
            i0, i1 = int((left - start) / edge) - 1, int((right - start) / edge) + 1
            for i in range(max(0, i0), min(columns, i1 + 1)):
                close[j, i] |= _distance(x, a, b, start + i * edge, y) < clear
    for j in range(rows):
        for i in range(1, columns):
            inside[j, i] ^= inside[j, i - 1]
    return inside & ~close


@kernel
def _build(x, size, faces, across, k, n, hint, edge):
    """Put vertices k to n into the triangulated outline, then more where faces are large, and smooth. Returns n.

    x, size : (room, 2), (room,) positions and wanted lengths [m]; faces, across : (2 room, 3); hint : (n - k,)
    """
    at = np.zeros(len(x), np.int32)  # a face of each vertex
    queue, queued = np.empty(3 * len(faces), np.int32), np.zeros(3 * len(faces), np.bool_)
    m = k - 2
    _settle(x, faces, across, at, m, queue, queued)
    for v in range(k, n):
        f = at[hint[v - k]] if hint[v - k] >= 0 else at[v - 1]
        f = _locate(x, faces, across, f, m, x[v, 0], x[v, 1])
        if f < 0:
            for f in range(m):
                if _corner_outside(x, faces, f, x[v, 0], x[v, 1]) < 0:
                    break
        _insert(x, faces, across, at, m, v, f, queue, queued)
        m += 2
    for rounds in range(_ROUNDS):
        if rounds < 4:
            n = _refine(x, size, faces, across, at, k, n, edge, queue, queued)
            m = 2 * n - k - 2
        _smooth(x, faces, across, at, k, n)
        _settle(x, faces, across, at, m, queue, queued)
    _flip_chords(x, faces, across, at, k, m)
    for _ in range(2):
        _smooth(x, faces, across, at, k, n)
    return n


@kernel
def _corner_outside(x, faces, f, px, py):
    """A corner of face f, such that p is beyond the side opposite to it; -1 if p is in the face or on its rim."""
    for i in range(3):
        a, b = faces[f, (i + 1) % 3], faces[f, (i + 2) % 3]
        if orient2d_exact(x[a, 0], x[a, 1], x[b, 0], x[b, 1], px, py) < 0:
            return i
    return -1


@kernel
def _locate(x, faces, across, f, m, px, py):
    """The face with point p in it or on its rim, walking from face f; -1 if the way leaves the panel."""
    for _ in range(m):
        i = _corner_outside(x, faces, f, px, py)
        if i < 0:
            return f
        f = across[f, i]
        if f < 0:
            return -1
    return -1


@kernel
def _replace(across, f, old, new):
    """Tell face f that its neighbour `old` is now `new`."""
    if f >= 0:
        for i in range(3):
            if across[f, i] == old:
                across[f, i] = new


@kernel
def _push(slot, queue, queued, top):
    if not queued[slot]:
        queue[top], queued[slot] = slot, True
        return top + 1
    return top


@kernel
def _insert(x, faces, across, at, m, v, f, queue, queued):
    """Put vertex v into face f, which becomes f, m and m + 1; then flip around it."""
    a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
    fa, fb, fc = across[f, 0], across[f, 1], across[f, 2]
    for g, p, q, gp, gq, gv in ((f, a, b, m, m + 1, fc), (m, b, c, m + 1, f, fa), (m + 1, c, a, f, m, fb)):
        faces[g, 0], faces[g, 1], faces[g, 2] = p, q, v
        across[g, 0], across[g, 1], across[g, 2] = gp, gq, gv
        at[p] = at[v] = g
    _replace(across, fa, f, m)
    _replace(across, fb, f, m + 1)
    top = 0
    for g in (f, m, m + 1):
        other = g
        if _turn(x, faces[g, 0], faces[g, 1], v) == 0:  # v is on an inner edge, which has to go
            other = across[g, 2]
            _flip(faces, across, at, g, 2)
        for i in range(3):
            top = _push(3 * g + i, queue, queued, top)
            top = _push(3 * other + i, queue, queued, top)
    _work_off(x, faces, across, at, queue, queued, top)


@kernel
def _flip(faces, across, at, f, i):
    """Replace the side opposite to corner i of face f by the other diagonal of its two faces."""
    g = across[f, i]
    j = 0 if across[g, 0] == f else (1 if across[g, 1] == f else 2)
    p, a, b, d = faces[f, i], faces[f, (i + 1) % 3], faces[f, (i + 2) % 3], faces[g, j]
    fa, fb = across[f, (i + 1) % 3], across[f, (i + 2) % 3]
    gb, ga = across[g, (j + 1) % 3], across[g, (j + 2) % 3]
    faces[f, 0], faces[f, 1], faces[f, 2] = p, a, d
    across[f, 0], across[f, 1], across[f, 2] = gb, g, fb
    faces[g, 0], faces[g, 1], faces[g, 2] = p, d, b
    across[g, 0], across[g, 1], across[g, 2] = ga, fa, f
    _replace(across, gb, g, f)
    _replace(across, fa, f, g)
    at[p] = at[a] = at[d] = f
    at[b] = g


@kernel
def _work_off(x, faces, across, at, queue, queued, top):
    """Flip the first `top` edges of the queue, and those around them, until all are Delaunay. An edge is 3 f + i."""
    while top > 0:
        top -= 1
        slot = queue[top]
        queued[slot] = False
        f, i = slot // 3, slot % 3
        g = across[f, i]
        if g < 0:
            continue
        j = 0 if across[g, 0] == f else (1 if across[g, 1] == f else 2)
        p, a, b, d = faces[f, i], faces[f, (i + 1) % 3], faces[f, (i + 2) % 3], faces[g, j]
        px, py = x[p, 0] - x[d, 0], x[p, 1] - x[d, 1]
        ax, ay = x[a, 0] - x[d, 0], x[a, 1] - x[d, 1]
        bx, by = x[b, 0] - x[d, 0], x[b, 1] - x[d, 1]
        pp, aa, bb = px * px + py * py, ax * ax + ay * ay, bx * bx + by * by
        det = pp * (ax * by - bx * ay) + aa * (bx * py - px * by) + bb * (px * ay - ax * py)
        bound = pp * (abs(ax * by) + abs(bx * ay)) + aa * (abs(bx * py) + abs(px * by))
        bound += bb * (abs(px * ay) + abs(ax * py))
        if det > _CIRCLE_BOUND * bound:  # d is within the circle of p, a, b: then the four are convex too
            _flip(faces, across, at, f, i)
            for s in (3 * f, 3 * f + 2, 3 * g, 3 * g + 1):
                top = _push(s, queue, queued, top)


@kernel
def _settle(x, faces, across, at, m, queue, queued):
    """Make the first m faces constrained Delaunay."""
    top = 0
    for f in range(m):
        for i in range(3):
            at[faces[f, i]] = f
            if across[f, i] > f:
                top = _push(3 * f + i, queue, queued, top)
    _work_off(x, faces, across, at, queue, queued, top)


@kernel
def _refine(x, size, faces, across, at, k, n, edge, queue, queued):
    """Add the centres of circumcircles that are too large for the lengths wanted there. Returns the new n."""
    f = -1
    while f + 1 < 2 * n - k - 2 and n < len(x):
        f += 1
        m = 2 * n - k - 2
        a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
        bx, by, cx, cy = x[b, 0] - x[a, 0], x[b, 1] - x[a, 1], x[c, 0] - x[a, 0], x[c, 1] - x[a, 1]
        double = 2.0 * (bx * cy - by * cx)
        bb, cc = bx * bx + by * by, cx * cx + cy * cy
        ux, uy = (cy * bb - by * cc) / double, (bx * cc - cx * bb) / double
        radius = np.hypot(ux, uy)
        wanted = (size[a] + size[b] + size[c]) / 3.0
        wanted += min(0.5 * radius, abs(edge - wanted)) * np.sign(edge - wanted)
        shortest = np.sqrt(min(bb, cc, (bx - cx) ** 2 + (by - cy) ** 2))
        large = radius > _LARGE * wanted or radius > max(_SHARP * shortest, _LEAST * edge)
        if large and radius < 1e3 * edge:  # beyond, its centre is not a place in the panel
            px, py = x[a, 0] + ux, x[a, 1] + uy
            g = _locate(x, faces, across, f, m, px, py)
            if g >= 0 and _is_clear(x, faces, across, g, px, py, 0.5 * radius):
                x[n, 0], x[n, 1], size[n] = px, py, wanted
                _insert(x, faces, across, at, m, n, g, queue, queued)
                n += 1
    return n


@kernel
def _is_clear(x, faces, across, f, px, py, clear):
    """Whether p in face f is clear of the corners of f, and of outline sides of f and of the faces around it."""
    for i in range(3):
        if np.hypot(px - x[faces[f, i], 0], py - x[faces[f, i], 1]) < clear:
            return False
    for turn in range(4):
        g = f if turn == 3 else across[f, turn]
        for i in range(3):
            if g >= 0 and across[g, i] < 0:
                a, b = faces[g, (i + 1) % 3], faces[g, (i + 2) % 3]
                if _distance(x, a, b, px, py) < max(clear, 0.5 * np.hypot(x[b, 0] - x[a, 0], x[b, 1] - x[a, 1])):
                    return False
    return True


@kernel
def _distance(x, a, b, px, py):
    """From p to the side from a to b."""
    ux, uy, vx, vy = x[b, 0] - x[a, 0], x[b, 1] - x[a, 1], px - x[a, 0], py - x[a, 1]
    s = min(1.0, max(0.0, (vx * ux + vy * uy) / (ux * ux + uy * uy)))
    return np.hypot(vx - s * ux, vy - s * uy)


@kernel
def _flip_chords(x, faces, across, at, k, m):
    """Flip inner edges between two outline points, at corners mostly, if the faces stay well-shaped.

    A chord that both of two panels have, with its ends sewn together, would be one edge with four faces.
    """
    for f in range(m):
        for i in range(3):
            g, p, a, b = across[f, i], faces[f, i], faces[f, (i + 1) % 3], faces[f, (i + 2) % 3]
            if g >= 0 and a < k and b < k:
                d = faces[g, 0] + faces[g, 1] + faces[g, 2] - a - b
                if (p >= k or d >= k) and min(_quality(x, p, a, d), _quality(x, p, d, b)) > _FAIR:
                    _flip(faces, across, at, f, i)
                    break


@kernel
def _quality(x, a, b, c):
    """1 if equilateral, 0 if flat, negative if turned over."""
    ux, uy, vx, vy = x[b, 0] - x[a, 0], x[b, 1] - x[a, 1], x[c, 0] - x[a, 0], x[c, 1] - x[a, 1]
    return 4.0 * _ROW * (ux * vy - uy * vx) / (ux * ux + uy * uy + vx * vx + vy * vy + (ux - vx) ** 2 + (uy - vy) ** 2)


@kernel
def _smooth(x, faces, across, at, k, n):
    """Move each inner vertex to the centroid of its star, or nearer, unless a face is turned over or badly shaped."""
    goal = np.empty((n, 2))
    for v in range(k, n):
        goal[v, 0], goal[v, 1], _ = _star(x, faces, across, at[v], v)
    for v in range(k, n):
        ox, oy = x[v, 0], x[v, 1]
        _, _, old = _star(x, faces, across, at[v], v)
        for step in (1.0, 0.5, 0.25, 0.0):
            x[v, 0], x[v, 1] = ox + step * (goal[v, 0] - ox), oy + step * (goal[v, 1] - oy)
            _, _, new = _star(x, faces, across, at[v], v)
            if new >= min(old, _GOOD):
                break


@kernel
def _star(x, faces, across, first, v):
    """Of the faces around inner vertex v: the centroid x and y, and the worst quality, -1 if one is turned over."""
    sx, sy, total, worst = 0.0, 0.0, 0.0, 1.0
    f = first
    while True:
        i = 0 if faces[f, 0] == v else (1 if faces[f, 1] == v else 2)
        a, b = faces[f, (i + 1) % 3], faces[f, (i + 2) % 3]
        ax, ay, bx, by = x[a, 0] - x[v, 0], x[a, 1] - x[v, 1], x[b, 0] - x[v, 0], x[b, 1] - x[v, 1]
        area = ax * by - ay * bx
        sx, sy, total = sx + area * (ax + bx), sy + area * (ay + by), total + area
        worst = min(worst, _quality(x, v, a, b) if _turn(x, v, a, b) > 0 else -1.0)
        f = across[f, (i + 1) % 3]
        if f == first:
            break
    return x[v, 0] + sx / (3.0 * total), x[v, 1] + sy / (3.0 * total), worst
