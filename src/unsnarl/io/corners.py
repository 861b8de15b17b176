"""Polygons corner by corner: what writers need of a mesh's polygons, and normals that belong to corners."""

from __future__ import annotations

import numpy as np

from unsnarl.mesh import TriMesh


def polygon_corners(mesh: TriMesh) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """The p polygons of a mesh (its triangles, if it was never cut), with c corners in all.

    Returns start (p + 1,), the vertex at each corner (c,), and the row of `mesh.uv` at each corner (c,), -1
    where there is none, or None without uv.
    """
    if mesh.polygons is None:
        start = np.arange(0, 3 * len(mesh.faces) + 1, 3)
        return start, mesh.faces.ravel(), None if mesh.uv is None else mesh.face_uv.ravel()
    uv_row = None
    if mesh.uv is not None:
        uv_row = np.full(len(mesh.polygons.vertices), -1, dtype=np.int32)
        uv_row[mesh.polygons.face_corner] = mesh.face_uv
    return mesh.polygons.start, mesh.polygons.vertices, uv_row


def face_polygon(mesh: TriMesh) -> np.ndarray:
    """(m,) the polygon that each triangle belongs to."""
    return np.arange(len(mesh.faces)) if mesh.polygons is None else mesh.polygons.face_polygon


def same_polygons(a: TriMesh, b: TriMesh) -> bool:
    """Do two meshes have the same vertices (but for where they are) and polygons?

    Polygons are compared before they are cut: how they are cut depends on the positions.
    """
    return a.x.shape == b.x.shape and all(
        np.array_equal(p, q) for p, q in zip(polygon_corners(a)[:2], polygon_corners(b)[:2])
    )


def new_normals(mesh: TriMesh, moved: np.ndarray, normal: np.ndarray, normals: int) -> np.ndarray:
    """Normals after some vertices have moved: the unit sum of the area vectors of their polygons.

    moved : (n,) bool; normal : (m, 3), the row of the normal at each triangle corner, -1 without one.
    Returns (normals, 3), NaN for rows that stay: no polygon that uses them has moved, or the sum is 0.
    """
    polygon = face_polygon(mesh)
    p = mesh.x[mesh.faces]
    with np.errstate(over="ignore", invalid="ignore"):
        area = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
        total = _sums(polygon, area, polygon[-1] + 1)[polygon]
        one_per_corner = _first_uses(polygon, normal) & (normal >= 0)
        face, corner = np.nonzero(one_per_corner)
        row = normal[face, corner]
        sums = _sums(row, total[face], normals)
        length = np.linalg.norm(sums, axis=1)
        touched = np.zeros(normals, dtype=bool)
        polygon_moved = np.zeros(polygon[-1] + 1, dtype=bool)
        polygon_moved[polygon[moved[mesh.faces].any(axis=1)]] = True
        touched[row[polygon_moved[polygon[face]]]] = True
        touched &= np.isfinite(length) & (length > 0)
        return np.where(touched[:, None], sums / length[:, None], np.nan)


def _sums(row: np.ndarray, values: np.ndarray, rows: int) -> np.ndarray:
    """(rows, 3): the sums of the values (k, 3) that go to each row, in order."""
    return np.stack([np.bincount(row, values[:, k], rows) for k in range(3)], axis=1)


def _first_uses(polygon: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """(m, 3) bool: the first corner of each polygon that uses a normal; a polygon counts once for each."""
    pair = polygon[:, None].astype(np.int64) * (int(normal.max()) + 2) + normal + 1
    first = np.zeros(pair.size, dtype=bool)
    first[np.unique(pair.ravel(), return_index=True)[1]] = True
    return first.reshape(pair.shape)
