"""Polygons as they came: what a file had before it was cut into triangles, and is written back as.

Triangulation is by fans from the first corner where that is a proper cut, else by clipping ears in the polygon's
best-fitting plane. It depends on the positions only for polygons with more than three corners.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unsnarl.jit import ints


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
    """Cut polygons into triangles.

    x : (n, 3) positions; start : (p + 1,); vertices : (c,). Every polygon has at least 3 corners.
    Returns faces (m, 3) int32, in polygon order, and the `Polygons` record.
    """
    start, vertices = ints(start), ints(vertices)
    size = np.diff(start)
    cuts = size - 2
    face_polygon = np.repeat(np.arange(len(size), dtype=np.int32), cuts)
    first_face = np.concatenate([[0], np.cumsum(cuts)])
    k = np.arange(first_face[-1]) - first_face[face_polygon]  # which triangle of its fan
    base = start[face_polygon]
    corner = np.stack([base, base + k + 1, base + k + 2], axis=1).astype(np.int32)

    for i in _not_fans(x, vertices, corner, face_polygon, len(size)):
        local = _clip_ears(x[vertices[start[i] : start[i + 1]]])
        corner[first_face[i] : first_face[i + 1]] = local + start[i]
    return vertices[corner], Polygons(start, vertices, corner, face_polygon)


def _not_fans(x, vertices, corner, face_polygon, polygons):
    """The polygons whose fan from corner 0 folds over: some triangle's normal is against the polygon's own."""
    p = x[vertices[corner]]
    with np.errstate(invalid="ignore", over="ignore"):
        normal = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
        whole = np.zeros((polygons, 3))
        np.add.at(whole, face_polygon, normal)
        folded = np.einsum("ij,ij->i", normal, whole[face_polygon]) < 0
    return np.unique(face_polygon[folded])


def _clip_ears(p: np.ndarray) -> np.ndarray:
    """Triangles ((k - 2, 3) local corners) of one polygon with corners p (k, 3)."""
    normal = np.cross(p, np.roll(p, -1, axis=0)).sum(axis=0)
    drop = int(np.argmax(np.abs(normal)))
    q = np.delete(p, drop, axis=1)
    turn = 1.0 if (normal[drop] >= 0) == (drop != 1) else -1.0

    def area(i, j, k):
        a, b = q[j] - q[i], q[k] - q[i]
        return turn * (a[0] * b[1] - a[1] * b[0])

    left = list(range(len(p)))
    triangles = []
    while len(left) > 3:
        best = 0
        for at in range(len(left)):
            i, j, k = left[at - 1], left[at], left[(at + 1) % len(left)]
            if area(i, j, k) <= 0:
                continue
            if all(
                not (area(i, j, o) >= 0 and area(j, k, o) >= 0 and area(k, i, o) >= 0)
                for o in left
                if o not in (i, j, k)
            ):
                best = at
                break
        triangles.append((left[best - 1], left[best], left[(best + 1) % len(left)]))
        del left[best]
    triangles.append(tuple(left))
    return np.array(triangles, dtype=np.int32)
