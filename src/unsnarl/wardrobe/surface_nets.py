"""Surface nets: a mesh of the zero level of a distance, closed and manifold whatever the level looks like.

They put a vertex into each cell of a grid that the level passes through, and a quad across each edge of the grid whose
ends have different signs (Gibson 1998). That is the boundary of the inner points taken as cubes, so it is a manifold
where no two cubes meet only along an edge or in a corner: `well_composed` fills in where they do.
"""

from __future__ import annotations

import numpy as np

from unsnarl.jit import ints

_BLOCK = 4  # points along a block's side; blocks that the level does not come near are not looked into


def surface_nets(distance, low, high, cell: float) -> tuple[np.ndarray, np.ndarray]:
    """Vertices x (n, 3) and faces (m, 3) of the zero level of `distance`, outward normals where it grows.

    distance  : function from points (k, 3) to values (k,), negative inside
    low, high : corners of a box [m] that holds all of it
    cell      : side of a cell [m]
    """
    low, high = np.asarray(low, float), np.asarray(high, float)
    size = np.ceil((high - low) / cell).astype(int) + 1
    value = well_composed(_sampled(distance, low, size, cell))
    quads, crossings = [], []
    for axis in range(3):
        step, one, two = np.eye(3, dtype=int)[[axis, (axis + 1) % 3, (axis + 2) % 3]]
        at = np.argwhere(np.diff(value < 0, axis=axis))
        p, q = value[tuple(at.T)], value[tuple((at + step).T)]
        crossing = low + cell * at
        crossing[:, axis] += cell * p / (p - q)
        quad = np.stack([np.ravel_multi_index((at - s).T, size) for s in (0 * one, one, one + two, two)], axis=1)
        quad[p >= 0] = quad[p >= 0, ::-1]
        quads.append(quad)
        crossings.append(crossing)
    crossing = np.concatenate(crossings)
    cells, vertex = np.unique(np.concatenate(quads), return_inverse=True)
    quad = vertex.reshape(-1, 4)
    count = np.bincount(quad.ravel(), minlength=len(cells))
    x = np.stack([np.bincount(quad.ravel(), np.repeat(crossing[:, k], 4)) / count for k in range(3)], axis=1)
    one, other = (np.linalg.norm(x[quad[:, k]] - x[quad[:, k + 2]], axis=1) for k in (0, 1))
    faces = np.where((one <= other)[:, None], quad[:, [0, 1, 2, 0, 2, 3]], quad[:, [1, 2, 3, 1, 3, 0]])
    return x, ints(faces.reshape(-1, 3))


def well_composed(value: np.ndarray) -> np.ndarray:
    """The values (a, b, c) with some outer points made inner, so that surface nets are manifold.

    They are unless inner points, or outer ones, meet only across the diagonal of a square or of a cube of the grid
    (Latecki 1997). There the outer point that is nearest to the level becomes an inner one, until there is no such
    place.
    """
    value = value.copy()
    cube = np.array([(i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)])
    blocks = [cube[cube[:, axis] == 0] for axis in range(3)] + [cube]  # corner j is across from the j-th last
    while True:
        filled = 0
        for block in blocks:
            inner = value < 0
            low, high = np.zeros(3, int), np.array(value.shape) - block.max(axis=0)
            views = [inner[tuple(slice(a, b) for a, b in zip(low + c, high + c))] for c in block]
            across = np.ones(high, dtype=bool)
            for one, other in zip(views[: len(block) // 2], views[::-1]):
                across &= one == other
            mixed = views[0] != views[1]
            for view in views[2 : len(block) // 2]:
                mixed |= views[0] != view
            at = np.argwhere(across & mixed)
            at = at[np.isin(sum(v[tuple(at.T)].astype(int) for v in views), (2, len(block) - 2))]
            near = value[tuple((at[:, None] + block).reshape(-1, 3).T)].reshape(-1, len(block))
            at += block[np.where(near < 0, np.inf, near).argmin(axis=1)]
            value[tuple(at.T)] = -1e-9
            filled += len(at)
        if filled == 0:
            return value


def _sampled(distance, low, size, cell: float) -> np.ndarray:
    """`distance` on a grid of `size` points; in blocks that the level stays away from, only its sign is right."""
    blocks = -(-size // _BLOCK)
    middle = low + cell * (_BLOCK * np.indices(blocks).reshape(3, -1).T + 0.5 * (_BLOCK - 1))
    value = distance(middle)
    near = np.abs(value) < 1.5 * 0.5 * np.sqrt(3.0) * _BLOCK * cell
    inside = np.indices((_BLOCK,) * 3).reshape(3, -1).T
    full = np.repeat(value[:, None], len(inside), axis=1)
    points = (middle[near, None] + cell * (inside - 0.5 * (_BLOCK - 1))).reshape(-1, 3)
    full[near] = distance(points).reshape(-1, len(inside))
    full = full.reshape(*blocks, _BLOCK, _BLOCK, _BLOCK).transpose(0, 3, 1, 4, 2, 5).reshape(blocks * _BLOCK)
    return np.ascontiguousarray(full[: size[0], : size[1], : size[2]])
