"""Polygons as they came: what a file had before it was cut into triangles, and is written back as.

Triangulation is by fans from the first corner where that is a proper cut (no triangle is flat or folds over),
else by clipping ears, the best-shaped first, in the coordinate plane that the polygon faces most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unsnarl.errors import BadInput
from unsnarl.jit import floats, ints, kernel

FLAT = 1e-14  # areas below this share of a polygon's squared extent are taken for zero


@dataclass(frozen=True, eq=False)
class Polygons:
    """p polygons with c corners in all.

    start       : (p + 1,) int32, the corners of polygon i are start[i] : start[i + 1]
    vertices    : (c,) int32, the vertex at each corner
    face_corner : (m, 3) int32, the polygon corner that each triangle corner stands for
    face_polygon: (m,) int32, the polygon that each triangle was cut from
    """

    start: np.ndarray
    vertices: np.ndarray
    face_corner: np.ndarray
    face_polygon: np.ndarray

    @property
    def all_triangles(self) -> bool:
        return bool((np.diff(self.start) == 3).all())


def triangulate(x: np.ndarray, start: np.ndarray, vertices: np.ndarray) -> tuple[np.ndarray, Polygons]:
    """Cut polygons into triangles that are wound as the polygon is.

    x : (n, 3) positions; start : (p + 1,); vertices : (c,).
    Returns faces (m, 3) int32, in polygon order, and the `Polygons` record.
    """
    x, start, vertices = floats(x), np.asarray(start), np.asarray(vertices)
    size = np.diff(start)
    if (size < 3).any():
        raise BadInput(f"polygon {np.flatnonzero(size < 3)[0]} has fewer than three corners")
    wrong = np.flatnonzero((vertices < 0) | (vertices >= len(x)))
    if len(wrong):
        i = np.searchsorted(start, wrong[0], side="right") - 1
        raise BadInput(f"polygon {i} names a vertex out of range ({vertices[wrong[0]]}, vertices: {len(x)})")

    _refuse_repeated(size, vertices)
    start, vertices = ints(start), ints(vertices)
    cuts = size - 2
    face_polygon = np.repeat(np.arange(len(size), dtype=np.int32), cuts)
    first_face = np.concatenate([[0], np.cumsum(cuts)])
    k = np.arange(first_face[-1]) - first_face[face_polygon]  # which triangle of its fan
    base = start[face_polygon]
    corner = np.stack([base, base + k + 1, base + k + 2], axis=1).astype(np.int32)

    for i in _not_fans(x, vertices, corner, face_polygon, size):
        ears = _clip_ears(_projected(x[vertices[start[i] : start[i + 1]]]))
        corner[first_face[i] : first_face[i + 1]] = ears + start[i]
    return vertices[corner], Polygons(start, vertices, corner, face_polygon)


def _refuse_repeated(size, vertices):
    """Raise `BadInput` where a polygon names a vertex twice."""
    polygon = np.repeat(np.arange(len(size)), size)
    order = np.lexsort((vertices, polygon))
    again = (np.diff(vertices[order]) == 0) & (np.diff(polygon[order]) == 0)
    if again.any():
        at = order[:-1][again].min()
        raise BadInput(f"polygon {polygon[at]} names a vertex twice ({vertices[at]})")


def _not_fans(x, vertices, corner, face_polygon, size):
    """The polygons in whose fan from corner 0 some triangle is flat, or faces against the whole."""
    cut = size[face_polygon] > 3
    face_polygon = face_polygon[cut]
    p = x[vertices[corner[cut]]]
    with np.errstate(invalid="ignore", over="ignore"):
        normal = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
        whole = np.stack([np.bincount(face_polygon, n, minlength=len(size)) for n in normal.T], axis=1)
        share = np.einsum("ij,ij->i", normal, whole[face_polygon])
        folded = share <= FLAT * np.einsum("ij,ij->i", whole, whole)[face_polygon]
    return np.unique(face_polygon[folded])


def _projected(p):
    """Corners (k, 2) of a polygon (k, 3) in the coordinate plane it faces most, turned counter-clockwise."""
    p = p - p[0]
    normal = np.cross(p[1:-1], p[2:]).sum(axis=0)
    drop = int(np.argmax(np.abs(normal)))
    q = floats(p[:, [(drop + 1) % 3, (drop + 2) % 3]])
    if normal[drop] < 0:
        q[:, 0] *= -1
    return q


@kernel
def _area(q, i, j, k):
    """Twice the signed area of a triangle."""
    return (q[j, 0] - q[i, 0]) * (q[k, 1] - q[i, 1]) - (q[j, 1] - q[i, 1]) * (q[k, 0] - q[i, 0])


@kernel
def _square(q, i, j):
    """The squared distance of two corners."""
    u, v = q[j, 0] - q[i, 0], q[j, 1] - q[i, 1]
    return u * u + v * v


@kernel
def _shape(q, i, j, k):
    """Signed area over squared edge lengths: large for round triangles, 0 for flat, negative for folded."""
    squares = _square(q, i, j) + _square(q, j, k) + _square(q, k, i)
    return _area(q, i, j, k) / squares if squares > 0 else 0.0


@kernel
def _ear(q, before, after, j, flat):
    """The shape of the ear at corner j; -1 if it is none: flat, folded, or with another corner in it."""
    i, k = before[j], after[j]
    if not _area(q, i, j, k) > flat:
        return -1.0
    o = after[k]
    while o != i:
        apart = _square(q, o, i) > 0 and _square(q, o, j) > 0 and _square(q, o, k) > 0
        if apart and min(_area(q, i, j, o), _area(q, j, k, o), _area(q, k, i, o)) >= -flat:
            return -1.0
        o = after[o]
    return _shape(q, i, j, k)


@kernel
def _clip_ears(q):
    """Triangles ((k - 2, 3) corners) of one counter-clockwise polygon with corners q (k, 2).

    Where corners coincide or edges cross there may be no ear; the best-shaped corner is then cut off instead.
    """
    n = len(q)
    after = (np.arange(n) + 1) % n
    before = (np.arange(n) + n - 1) % n
    extent = 0.0
    for c in range(n):
        extent = max(extent, abs(q[c, 0]), abs(q[c, 1]))
    flat = FLAT * extent * extent
    ear = np.empty(n)
    for j in range(n):
        ear[j] = _ear(q, before, after, j, flat)

    triangles = np.empty((n - 2, 3), np.int32)
    at = 0  # some corner that is left
    for t in range(n - 2):
        best = at
        for attempt in range(4):  # as known; all looked at anew; with no margin; whatever there is
            j = at
            for _ in range(n - t):
                if attempt == 1:
                    ear[j] = _ear(q, before, after, j, flat)
                elif attempt == 2:
                    ear[j] = _ear(q, before, after, j, 0.0)
                elif attempt == 3:
                    ear[j] = _shape(q, before[j], j, after[j])
                if ear[j] > ear[best]:
                    best = j
                j = after[j]
            if ear[best] > 0:
                break
        i, k = before[best], after[best]
        triangles[t] = (i, best, k)
        after[i], before[k] = k, i
        ear[i] = _ear(q, before, after, i, flat)
        ear[k] = _ear(q, before, after, k, flat)
        at = k
    return triangles
