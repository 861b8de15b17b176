"""Rest shapes: a 2x2 matrix per triangle, whose columns are its two edges from corner 0, laid into a plane.

Two triangles with the same matrix up to a rotation have the same shape at rest.
"""

from __future__ import annotations

import numpy as np

from unsnarl.errors import BadInput


def rest_from_positions(x: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Rest shapes of triangles in space.

    x : (n, 3) positions [m]; faces : (m, 3). Returns (m, 2, 2) [m], upper triangular: the first
    column lies along +u. Zero-area faces give a singular matrix.
    """
    a = x[faces[:, 1]] - x[faces[:, 0]]
    b = x[faces[:, 2]] - x[faces[:, 0]]
    length = np.sqrt(np.einsum("ij,ij->i", a, a))
    along = np.divide(a, length[:, None], out=np.zeros_like(a), where=length[:, None] > 0)
    bu = np.einsum("ij,ij->i", along, b)
    across = b - bu[:, None] * along
    rest = np.zeros((len(faces), 2, 2))
    rest[:, 0, 0] = length
    rest[:, 0, 1] = bu
    rest[:, 1, 1] = np.sqrt(np.einsum("ij,ij->i", across, across))
    return rest


def rest_from_uv(uv: np.ndarray, face_uv: np.ndarray) -> np.ndarray:
    """Rest shapes of flat panels, as they lie.

    uv : (k, 2) [m]; face_uv : (m, 3) rows of uv. Returns (m, 2, 2) [m]; panels seen from behind have det < 0.
    """
    if (face_uv < 0).any():
        f = np.flatnonzero((face_uv < 0).any(axis=1))[0]
        raise BadInput(f"face {f} has no texture coordinates to take its rest shape from")
    p = uv[face_uv]
    return np.stack([p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]], axis=2)


def face_areas(x: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Areas of triangles in space: (m,) [m^2]."""
    a = x[faces[:, 1]] - x[faces[:, 0]]
    b = x[faces[:, 2]] - x[faces[:, 0]]
    return 0.5 * np.linalg.norm(np.cross(a, b), axis=1)
