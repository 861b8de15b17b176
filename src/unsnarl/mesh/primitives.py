"""Meshes made by rule: sheets, planes, boxes and spheres, around the origin. Lengths in metres.

A sheet has its flat shape as uv and rest shape. Boxes and spheres are closed, with outward normals. How finely a thing
is divided is said by `resolution`, squares along each side, or `edge`, the length that a square's sides come near.
"""

from __future__ import annotations

import numpy as np

from unsnarl.errors import BadInput
from unsnarl.mesh.rest import rest_from_uv
from unsnarl.mesh.tri_mesh import TriMesh

_MOST = 20_000_000  # triangles
_LAID = {"x": ((0, 1, 0), (0, 0, 1)), "y": ((1, 0, 0), (0, 0, -1)), "z": ((1, 0, 0), (0, 1, 0))}  # u and v, by up axis


def flat_grid(u: np.ndarray, v: np.ndarray, *, alternating: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """The grid over the coordinates u (a,) and v (b,): uv (a b, 2), u running fastest, and faces (m, 3).

    alternating : neighbouring squares are cut along different diagonals, so that no direction is preferred
    """
    uu, vv = np.meshgrid(u, v)
    number = np.arange(uu.size).reshape(len(v), len(u))
    a, b = number[:-1, :-1].ravel(), number[:-1, 1:].ravel()
    c, d = number[1:, 1:].ravel(), number[1:, :-1].ravel()
    faces = np.stack([a, b, c, a, c, d], axis=1)
    if alternating:
        row, column = np.divmod(np.arange(len(a)), len(u) - 1)
        odd = (row + column) % 2 == 1
        faces[odd] = np.stack([a, b, d, b, c, d], axis=1)[odd]
    return np.stack([uu.ravel(), vv.ravel()], axis=1), faces.reshape(-1, 3)


def sheet(
    size, resolution=None, *, edge: float | None = None, alternating: bool = True, up: str = "z", name: str = "sheet"
) -> TriMesh:
    """A flat sheet across the `up` axis, its normals along it.

    size       : (width, height) [m]
    resolution : (a, b) squares along width and height
    """
    width, height = _lengths(size, 2, name)
    across, along = squares((width, height), resolution, edge, name)
    uv, faces = flat_grid(
        np.linspace(-0.5 * width, 0.5 * width, across + 1),
        np.linspace(-0.5 * height, 0.5 * height, along + 1),
        alternating=alternating,
    )
    x = uv @ np.array(_LAID[up], dtype=np.float64)
    return TriMesh(x, faces, name=name, uv=uv, face_uv=faces, rest=rest_from_uv(uv, faces))


def sheet_corners(resolution) -> np.ndarray:
    """(4,) int32, the vertices at the corners of a sheet of (a, b) squares."""
    a, b = resolution
    return np.array([0, a, b * (a + 1), (b + 1) * (a + 1) - 1], dtype=np.int32)


def box(size, resolution=None, *, edge: float | None = None, name: str = "box") -> TriMesh:
    """A closed box of size (a, b, c) [m], with resolution (i, j, k) squares along its sides."""
    size = _lengths(size, 3, name)
    parts = squares(size, resolution, edge, name)
    points, faces = [], []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        grid, own = flat_grid(np.arange(parts[u] + 1), np.arange(parts[v] + 1))
        for side in (0, parts[axis]):
            corner = np.empty((len(grid), 3), dtype=np.int64)  # whole numbers, so that seams are found exactly
            corner[:, u], corner[:, v], corner[:, axis] = grid[:, 0], grid[:, 1], side
            faces.append((own if side else own[:, ::-1]) + sum(map(len, points)))
            points.append(corner)
    corners, vertex = np.unique(np.concatenate(points), axis=0, return_inverse=True)
    x = (corners / parts - 0.5) * size
    return TriMesh(x, vertex.ravel()[np.concatenate(faces)], name=name)


def sphere(radius: float, triangles: int = 1280, *, name: str = "sphere") -> TriMesh:
    """A closed sphere: an icosahedron, each face cut into equal parts, blown up. About so many triangles: 20 k^2."""
    if not (np.isfinite(radius) and radius > 0):
        raise BadInput(f"{name}: radius must be a positive number, not {radius}")
    if not 20 <= triangles <= _MOST:
        raise BadInput(f"{name}: triangles must be 20 to {_MOST:,}, not {triangles}")
    parts = max(1, round(float(np.sqrt(triangles / 20))))
    tips, sides = _icosahedron()
    i, j = (a.ravel() for a in np.meshgrid(np.arange(parts + 1), np.arange(parts + 1), indexing="ij"))
    i, j = i[i + j <= parts], j[i + j <= parts]
    weights = np.stack([parts - i - j, i, j], axis=1)  # of the three tips, in parts
    number = np.full((parts + 2, parts + 2), -1)
    number[i, j] = np.arange(len(i))
    first, upper = i + j < parts, i + j < parts - 1
    one = np.stack([number[i, j], number[i + 1, j], number[i, j + 1]], axis=1)[first]
    two = np.stack([number[i + 1, j], number[i + 1, j + 1], number[i, j + 1]], axis=1)[upper]
    own = np.concatenate([one, two])
    # a point is known by how much it has of each of the twelve tips: whole numbers, the same from every side
    share = np.zeros((len(sides), len(i), 12), dtype=np.int64)
    for s, side in enumerate(sides):
        share[s][:, side] = weights
    shares, vertex = np.unique(share.reshape(-1, 12), axis=0, return_inverse=True)
    x = shares @ tips
    x *= radius / np.linalg.norm(x, axis=1)[:, None]
    faces = (own[None] + len(i) * np.arange(len(sides))[:, None, None]).reshape(-1, 3)
    return TriMesh(x, vertex.ravel()[faces], name=name)


def _icosahedron() -> tuple[np.ndarray, np.ndarray]:
    """Tips (12, 3) and sides (20, 3), counter-clockwise from outside."""
    g = 0.5 * (1 + np.sqrt(5))
    square = np.array([[-1, g], [1, g], [-1, -g], [1, -g]])
    tips = np.zeros((12, 3))
    tips[0:4, :2], tips[4:8, 1:], tips[8:12, 2], tips[8:12, 0] = square, square, square[:, 0], square[:, 1]
    sides = [0, 11, 5, 0, 5, 1, 0, 1, 7, 0, 7, 10, 0, 10, 11, 1, 5, 9, 5, 11, 4, 11, 10, 2, 10, 7, 6, 7, 1, 8]
    sides += [3, 9, 4, 3, 4, 2, 3, 2, 6, 3, 6, 8, 3, 8, 9, 4, 9, 5, 2, 4, 11, 6, 2, 10, 8, 6, 7, 9, 8, 1]
    return tips, np.array(sides).reshape(-1, 3)


def _lengths(size, count: int, name: str) -> np.ndarray:
    try:
        size = np.asarray(size, dtype=np.float64)
    except (TypeError, ValueError):
        size = np.empty(0)
    if size.shape != (count,) or not (np.isfinite(size).all() and (size > 0).all()):
        raise BadInput(f"{name}: size must be {count} positive numbers")
    return size


def squares(size, resolution=None, edge: float | None = None, name: str = "sheet") -> np.ndarray:
    """Squares along each side: as told, or so that their sides come near `edge` [m]."""
    if (resolution is None) == (edge is None):
        raise BadInput(f"{name}: give its resolution or its edge, one of the two")
    if edge is not None:
        if not (np.isfinite(edge) and edge > 0):
            raise BadInput(f"{name}: edge must be a positive number, not {edge}")
        found = np.maximum(1, np.round(np.minimum(np.asarray(size) / edge, _MOST))).astype(np.int64)
    else:
        found = np.asarray(resolution)
        if found.shape != (len(size),) or found.dtype.kind not in "iu" or (found < 1).any():
            raise BadInput(f"{name}: resolution must be {len(size)} whole numbers from 1 on")
    if 2 * float(np.prod(np.sort(found.astype(float))[-2:])) > _MOST:
        raise BadInput(f"{name}: that makes more than {_MOST:,} triangles")
    return found
